// SPDX-License-Identifier: GPL-2.0
/*
 * The one reference by which a reflexive attachment holds a filter of the module. It
 * stays in its map for as long as the attachment; the programs pass the map.
 */
#include "reflex.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Passing maps to functions of a module came with Linux 6.9. */
static bool kernel_can(void)
{
	struct utsname kernel;
	unsigned int major, minor;

	uname(&kernel);
	if (sscanf(kernel.release, "%u.%u", &major, &minor) != 2 ||
	    major > 6 || (major == 6 && minor >= 9))
		return true;
	fail("--reflexive with a filter of the module needs Linux 6.9, and this is %s: "
	     "'epfctl --backend bpf create' makes a filter for it", kernel.release);
	return false;
}

static int take(struct bpf_object *obj, const struct xdp_want *want)
{
	struct epf_xdp_bind arg = { .id = want->id };
	int err = bpf_object__load(obj);

	if (err)
		return xdp_fail_load(err);
	err = xdp_call(obj, "epf_hold", &arg);
	if (err == -ENOENT)
		fail_call(err, "opening", want->filter);
	else if (err)
		fail("giving the filter to the programs: %s", strerror(-err));
	return err ? err :
		     xdp_pin_fd(bpf_object__find_map_fd_by_name(obj, "epf_held"),
				want->ifname, EPF_REFLEX_PIN_HELD);
}

int reflex_hold(const struct xdp_want *want)
{
	struct bpf_object *obj;
	int err;

	if (!kernel_can())
		return -EOPNOTSUPP;
	obj = xdp_obj_open(XDP_OBJ_HOLD);
	if (!obj)
		return -EINVAL;
	err = take(obj, want);
	bpf_object__close(obj);
	return err;
}

void reflex_let_go(const char *ifname)
{
	int fd = xdp_pin_open(ifname, EPF_REFLEX_PIN_HELD), err;
	struct bpf_object *obj;

	if (fd < 0) /* pure BPF */
		return;
	obj = xdp_obj_open(XDP_OBJ_HOLD);
	if (obj) {
		err = bpf_map__reuse_fd(bpf_object__find_map_by_name(obj, "epf_held"),
					fd) ?:
		      bpf_object__load(obj) ?:
		      xdp_call(obj, "epf_let_go", NULL);
		if (err)
			warn("cannot give the filter back at once: %s%s%s",
			     strerror(-err), *xdp_obj_complaint() ? ": " : "",
			     xdp_obj_complaint());
		bpf_object__close(obj);
	}
	close(fd);
}
