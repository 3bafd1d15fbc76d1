/* SPDX-License-Identifier: GPL-2.0 */
/* Processes with fewer privileges; dropped privileges cannot be regained. */
#ifndef EPF_TEST_LESSER_H
#define EPF_TEST_LESSER_H

#include <grp.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534

static inline bool become_nobody(void)
{
	return !setgroups(0, NULL) && !setresgid(NOBODY, NOBODY, NOBODY) &&
	       !setresuid(NOBODY, NOBODY, NOBODY);
}

/* Drop one capability of root. */
static inline bool drop_net_admin(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d))
		return false;
	d[0].effective &= ~(1u << CAP_NET_ADMIN);
	d[0].permitted &= ~(1u << CAP_NET_ADMIN);
	return !syscall(SYS_capset, &h, d);
}

#endif /* EPF_TEST_LESSER_H */
