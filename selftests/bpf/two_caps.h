/* SPDX-License-Identifier: GPL-2.0 */
/* Load programs as a process would that has CAP_BPF and CAP_NET_ADMIN only. */
#ifndef TWO_CAPS_H
#define TWO_CAPS_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

struct caps {
	struct __user_cap_header_struct head;
	struct __user_cap_data_struct data[2];
};

/* Keep only those two effective. @all: the previous capabilities. */
static inline bool two_caps_leave(struct caps *all)
{
	struct caps two;

	all->head.version = _LINUX_CAPABILITY_VERSION_3;
	all->head.pid = 0;
	if (syscall(SYS_capget, &all->head, all->data))
		return false;
	two = *all;
	two.data[0].effective &= 1U << CAP_NET_ADMIN;
	two.data[1].effective &= 1U << (CAP_BPF - 32);
	return !syscall(SYS_capset, &two.head, two.data);
}

static inline bool two_caps_restore(struct caps *all)
{
	return !syscall(SYS_capset, &all->head, all->data);
}

/* Kernels before 6.18 may require CAP_PERFMON. */
static inline bool two_caps_may_fail(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname u;

	return !uname(&u) && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	       (major < 6 || (major == 6 && minor < 18));
}

#endif /* TWO_CAPS_H */
