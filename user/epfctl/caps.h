/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Capabilities. */
#ifndef EPFCTL_CAPS_H
#define EPFCTL_CAPS_H

#include <stdbool.h>

/* Capabilities for maps; for XDP and tc; for our programs and what they need. */
enum { CAPS_MAPS = 1, CAPS_NET = 2 };
#define CAPS_PROGRAMS (CAPS_MAPS | CAPS_NET)
/* Has this process all of @mask? If not, prints what is missing for @doing. */
bool caps_ok(const char *doing, unsigned int mask);
/* Print why the kernel refused @doing. Return: EXIT_FAIL. */
int caps_denied(const char *doing);
/* Does the BPF token lack what create and attach need, or, with @mark, what --action
 * mark needs? If so, prints an error that names it. Return: false: nothing was printed.
 */
bool caps_token_denied(const char *doing, bool mark);
/* Has this process capability @nr of linux/capability.h? */
bool caps_has(unsigned int nr);
/* Has it CAP_SYS_ADMIN outside of user namespaces? */
bool caps_admin(void);
/* Does the verifier skip the check of mispredicted branches for this process? */
bool caps_perfmon(void);

#endif /* EPFCTL_CAPS_H */
