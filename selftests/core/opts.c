// SPDX-License-Identifier: GPL-2.0
/*
 * Options of libepf's functions, which are structs that begin with their size: from an
 * older program, from a newer one, and from one whose options this library does not
 * know. No device is needed: the descriptor is invalid, which is noticed only after the
 * options are checked.
 */
#include <epf.h>

#include <errno.h>

#include "tap.h"

struct newer {
	struct epf_create_opts o;
	__u64 more;
};

static int create(struct newer *n, __u32 size)
{
	const struct epf_params p = { .name = "opts" };

	n->o.size = size;
	return epf_dev_create_opts(-1, &p, &n->o, NULL);
}

/* Was the kernel asked? An emulator of programs (qemu-aarch64) that does not know the
 * ioctl says ENOSYS before it looks at the descriptor.
 */
static bool asked(int ret)
{
	return ret == -EBADF || ret == -ENOSYS;
}

int main(void)
{
	struct newer n = { .more = 0 };

	tap_plan(6);
	tap_ok(asked(create(&n, sizeof(n.o))), "the size of this library");
	tap_ok(create(&n, 0) == -EINVAL, "no size: EINVAL");
	tap_ok(create(&n, 23) == -EINVAL, "a byte less than the first: EINVAL");
	tap_ok(asked(create(&n, sizeof(n))), "zeros behind what is known");
	n.more = 1ULL << 63;
	tap_ok(create(&n, sizeof(n)) == -E2BIG, "options not known: E2BIG");
	tap_ok(asked(create(&n, sizeof(n.o))), "what is behind its size is not read");
	return tap_end();
}
