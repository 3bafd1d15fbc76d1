/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mapped files that another program truncates, or that cannot be read. */
#ifndef EPF_COMMON_TORN_H
#define EPF_COMMON_TORN_H

#include <stdbool.h>

/* From here on a page of a mapped file that is not there any more reads as zeros, and sets
 * torn_file, in place of ending the process by SIGBUS. Whoever reads a mapping has to look at
 * torn_file behind the reads and before their result is used. It is never cleared.
 */
void catch_torn(void);
bool torn_file(void);

#endif /* EPF_COMMON_TORN_H */
