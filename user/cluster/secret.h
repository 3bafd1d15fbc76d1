/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files with keys and passwords. They belong to root or to the caller, and nobody else can
 * read or write them.
 */
#ifndef EPF_CLUSTER_SECRET_H
#define EPF_CLUSTER_SECRET_H

#include <stddef.h>

#include "cluster/nats.h"
#include "records/records.h"

/* Return: 0; a negative errno: there is none, or others can read it; @e says so. */
int secret_check(const char *path, struct rec_error *e);

/* Read a text file of less than @room bytes, too. Return: as above; -EFBIG. */
int secret_read(const char *path, char *text, size_t room, struct rec_error *e);

/* A number that changes when a file of a login does. */
__u64 secret_stamp(const struct cluster_login *l);

/* The end of the first certificate in a file, s since 1970. Return: 0: it is not known. */
__u64 secret_cert_end(const char *path);

#endif /* EPF_CLUSTER_SECRET_H */
