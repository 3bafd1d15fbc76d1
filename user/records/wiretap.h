/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Captures in the formats of Wireshark, which epf-wiretap (user/wiretap) prints as pcapng.
 * It is a program and package of its own, which may be missing.
 */
#ifndef RECORDS_WIRETAP_H
#define RECORDS_WIRETAP_H

#include <stdbool.h>
#include <stddef.h>

#include "records/child.h"

#define WIRETAP_ADVICE "; epochfilter-wiretap reads the formats of Wireshark"

extern const struct child_program wiretap;
/* Prints nothing of a file that lacks the magic number of a binary format. */
extern const struct child_program wiretap_magic;

/* Do the first @len bytes of a file rule out that libpcap reads it? */
bool wiretap_wanted(const void *head, size_t len);

/* Is epf-wiretap installed? */
bool wiretap_there(void);

#endif /* RECORDS_WIRETAP_H */
