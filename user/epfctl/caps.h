/* SPDX-License-Identifier: GPL-2.0 */
/* Capabilities. */
#ifndef EPFCTL_CAPS_H
#define EPFCTL_CAPS_H

#include <stdbool.h>

/* For maps; for XDP and tc; for programs of ours and what they need. */
enum { CAPS_MAPS = 1, CAPS_NET = 2 };
#define CAPS_PROGRAMS (CAPS_MAPS | CAPS_NET)
/* Has this process all of @mask? Else an error that names what is missing for @doing. */
bool caps_ok(const char *doing, unsigned int mask);
/* The kernel has refused it: an error that tells why. Return: EXIT_FAIL. */
int caps_denied(const char *doing);
/* If the BPF token lacks what create and attach need, and @mark what --action mark
 * needs: an error that names it. Return: false: nothing was printed.
 */
bool caps_token_denied(const char *doing, bool mark);
/* Has this process capability @nr of linux/capability.h? And CAP_SYS_ADMIN, outside of
 * user namespaces?
 */
bool caps_has(unsigned int nr);
bool caps_admin(void);
/* Does the verifier leave mispredicted branches alone for this process? */
bool caps_perfmon(void);

#endif /* EPFCTL_CAPS_H */
