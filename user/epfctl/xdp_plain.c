// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Attach one program alone to an interface, by libbpf. */
#include "xdp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

/* The program on the interface in @mode; 0: none. */
static __u32 prog_on(__u32 ifindex, __u32 mode)
{
	__u32 id = 0;

	if (bpf_xdp_query_id((int)ifindex, (int)mode, &id))
		return 0;
	return id;
}

int plain_attach(struct bpf_object *obj, struct bpf_program *prog, struct epf_xdp_conf *conf)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	int err, fd;

	if (prog_on(conf->ifindex, 0))
		return -EBUSY;
	if (xdp_frags(conf))
		bpf_program__set_flags(prog, BPF_F_XDP_HAS_FRAGS);
	err = bpf_object__load(obj);
	if (err)
		return err;
	fd = bpf_program__fd(prog);
	err = bpf_obj_get_info_by_fd(fd, &info, &len);
	if (err)
		return err;
	conf->prog_id = info.id;
	return bpf_xdp_attach((int)conf->ifindex, fd, XDP_FLAGS_UPDATE_IF_NOEXIST | conf->mode,
			      NULL);
}

/* Without CAP_SYS_ADMIN there is no descriptor of the program. Then a program that replaces
 * it between the check and the call is detached instead.
 */
int plain_detach(const struct epf_xdp_conf *conf)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts);
	int prog = bpf_prog_get_fd_by_id(conf->prog_id);
	int err;

	if (prog < 0 && (errno != EPERM || !plain_live(conf)))
		return -errno;
	if (prog >= 0)
		opts.old_prog_fd = prog;
	err = bpf_xdp_detach((int)conf->ifindex, conf->mode, &opts);
	if (prog >= 0)
		close(prog);
	return err;
}

bool plain_live(const struct epf_xdp_conf *conf)
{
	return conf->prog_id && prog_on(conf->ifindex, conf->mode) == conf->prog_id;
}
