// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The filter of attachments that have a rule. A filter of the module is held by one
 * reference, which stays in its map as long as the attachment exists. The programs pass the
 * map to the module's functions.
 */
#include "xdp.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "ebpf/ebpf.h"

/* Since Linux 6.9 programs can pass maps to functions of a module. */
static bool kernel_can(const struct xdp_want *want)
{
	struct utsname kernel;
	unsigned int major, minor;

	uname(&kernel);
	if (sscanf(kernel.release, "%u.%u", &major, &minor) != 2 || major > 6 ||
	    (major == 6 && minor >= 9))
		return true;
	fail("'%s' is a filter of the module, which needs Linux 6.9 for this, and this is "
	     "%s: use a filter made by 'epfctl --backend bpf create'",
	     want->filter, kernel.release);
	return false;
}

/* Hold filter @id, @filter by name, in a map that is pinned as @pin. */
static int xdp_held_take(struct bpf_object *obj, const char *ifname, __u32 id, const char *filter,
			 const char *pin)
{
	struct epf_xdp_bind arg = { .id = id };
	int err = bpf_object__load(obj);

	if (err)
		return xdp_fail_load(err);
	err = xdp_call(obj, "epf_hold", &arg);
	if (err == -ENOENT)
		fail_call(err, "opening", filter);
	else if (err)
		fail_errno(-err, "cannot give the filter to the programs: %m");
	return err ? err :
		     xdp_pin_fd(bpf_object__find_map_fd_by_name(obj, "epf_held"), ifname, pin);
}

static int xdp_held_one(const char *ifname, __u32 id, const char *filter, const char *pin)
{
	struct bpf_object *obj = xdp_obj_open(XDP_OBJ_HOLD);
	int err;

	if (!obj)
		return -EINVAL;
	err = xdp_held_take(obj, ifname, id, filter, pin);
	bpf_object__close(obj);
	return err;
}

int xdp_hold(const struct xdp_want *want)
{
	int err;

	if (want->bpf)
		return 0;
	if (!kernel_can(want))
		return -EOPNOTSUPP;
	err = xdp_held_one(want->ifname, want->id, want->filter, EPF_XDP_PIN_HELD);
	if (!err && want->cluster)
		err = xdp_held_one(want->ifname, want->cover.all_id, want->cover.all,
				   EPF_XDP_PIN_ALL_HELD);
	return err;
}

static void let_go_of(const char *ifname, const char *pin)
{
	int fd = xdp_pin_open(ifname, pin), err;
	struct bpf_object *obj;

	if (fd < 0) /* pure BPF, or the reference is in a slot */
		return;
	obj = xdp_obj_open(XDP_OBJ_HOLD);
	if (obj) {
		err = bpf_map__reuse_fd(bpf_object__find_map_by_name(obj, "epf_held"), fd);
		if (!err)
			err = bpf_object__load(obj);
		if (!err)
			err = xdp_call(obj, "epf_let_go", NULL);
		if (err)
			warn("cannot release the filter at once: %s%s%s", strerror(-err),
			     *xdp_obj_complaint() ? ": " : "", xdp_obj_complaint());
		bpf_object__close(obj);
	}
	close(fd);
}

void xdp_let_go(const char *ifname)
{
	let_go_of(ifname, EPF_XDP_PIN_HELD);
	let_go_of(ifname, EPF_XDP_PIN_ALL_HELD);
}

int xdp_use(const struct xdp_want *want, struct bpf_object *obj)
{
	int err = want->bpf ? ebpf_reuse_maps(obj, want->filter) :
			      xdp_map_reuse(obj, "epf_held", want->ifname, EPF_XDP_PIN_HELD);

	return err ? err : cluster_use(want, obj);
}
