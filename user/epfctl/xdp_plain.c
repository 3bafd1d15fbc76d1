// SPDX-License-Identifier: GPL-2.0
/* One program alone on an interface, by libbpf. */
#include "xdp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"

int xdp_modes(enum xdp_mode mode, int (*attach)(void *ctx, __u32 mode),
	      void *ctx, __u32 *used)
{
	int err;

	*used = mode == XDP_GENERIC ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	err = attach(ctx, *used);
	/* What another mode cannot mend is not tried there. */
	if (!err || mode != XDP_AUTO || err == -EPERM || err == -ENODEV)
		return err;
	*used = XDP_FLAGS_SKB_MODE;
	return attach(ctx, *used);
}

struct plain {
	int ifindex;
	int prog;
};

static int attach_one(void *ctx, __u32 mode)
{
	const struct plain *p = ctx;

	return bpf_xdp_attach(p->ifindex, p->prog,
			      XDP_FLAGS_UPDATE_IF_NOEXIST | mode, NULL);
}

/* The program on the interface in @mode, 0: none. */
static __u32 prog_on(__u32 ifindex, __u32 mode)
{
	__u32 id = 0;

	if (bpf_xdp_query_id((int)ifindex, (int)mode, &id))
		return 0;
	return id;
}

int plain_attach(struct bpf_object *obj, struct bpf_program *prog,
		 const struct xdp_want *want, struct epf_xdp_conf *conf)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	struct plain p = { .ifindex = (int)conf->ifindex };
	int err;

	if (prog_on(conf->ifindex, 0)) {
		fail("'%s' has an XDP program already, and without a dispatcher "
		     "only one fits: detach that one, or both use libxdp",
		     want->ifname);
		return -EBUSY;
	}
	err = bpf_object__load(obj);
	if (!err) {
		p.prog = bpf_program__fd(prog);
		err = bpf_obj_get_info_by_fd(p.prog, &info, &len);
	}
	if (!err)
		err = xdp_modes(want->mode, attach_one, &p, &conf->mode);
	if (err) {
		fail("attaching to '%s': %s%s%s", want->ifname, strerror(-err),
		     *xdp_obj_complaint() ? ": " : "", xdp_obj_complaint());
		return err;
	}
	conf->prog_id = info.id;
	return 0;
}

int plain_detach(const struct epf_xdp_conf *conf)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts);
	int prog = bpf_prog_get_fd_by_id(conf->prog_id);
	int err;

	if (prog < 0)
		return -errno;
	opts.old_prog_fd = prog;
	err = bpf_xdp_detach((int)conf->ifindex, conf->mode, &opts);
	close(prog);
	return err;
}

bool plain_live(const struct epf_xdp_conf *conf)
{
	return conf->prog_id && prog_on(conf->ifindex, conf->mode) ==
					conf->prog_id;
}
