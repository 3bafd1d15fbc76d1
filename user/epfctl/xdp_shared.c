// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One program among others on an interface, by libxdp's dispatcher. */
#include "xdp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <xdp/libxdp.h>

static int xdp_shared_keep(enum libxdp_print_level level, const char *fmt, va_list ap)
{
	return level == LIBXDP_WARN ? xdp_obj_keep(fmt, ap) : 0;
}

static enum xdp_attach_mode xdp_shared_mode_of(const struct epf_xdp_conf *conf)
{
	return conf->mode == XDP_FLAGS_SKB_MODE ? XDP_MODE_SKB : XDP_MODE_NATIVE;
}

/* The program that the interface has. Return: 0: none; -1: unknown. */
static __s64 main_id(const struct epf_xdp_conf *conf)
{
	__u32 id = 0;

	return bpf_xdp_query_id((int)conf->ifindex, (int)conf->mode, &id) ? -1 : (__s64)id;
}

/* Does the interface have a dispatcher, by the name that the kernel has? */
static bool dispatched(const struct epf_xdp_conf *conf)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	__s64 id = main_id(conf);
	int fd, err;

	if (id <= 0)
		return id < 0;
	fd = bpf_prog_get_fd_by_id((__u32)id);
	if (fd < 0)
		return true; /* unknown */
	err = bpf_obj_get_info_by_fd(fd, &info, &len);
	close(fd);
	return err || !strcmp(info.name, "xdp_dispatcher");
}

/* Is our program among those of the interface? If the kernel cannot chain programs, it is
 * there alone. A dispatcher that libxdp could not read this time looks like a program that
 * is alone, or like a dispatcher without programs; and a program in it that could not be
 * read has no id.
 */
static bool has_prog(const struct xdp_multiprog *mp, const struct epf_xdp_conf *conf)
{
	const struct xdp_program *p = NULL;
	__u32 id = conf->prog_id;

	if (xdp_multiprog__is_legacy(mp))
		return xdp_program__id(xdp_multiprog__main_prog(mp)) == id || dispatched(conf);
	if (!xdp_multiprog__next_prog(NULL, mp))
		return dispatched(conf);
	while ((p = xdp_multiprog__next_prog(p, mp)))
		if (xdp_program__id(p) == id || !xdp_program__id(p))
			return true;
	return false;
}

/* What cannot be read counts as live: detaching it then fails and says why. libxdp's error
 * is the same if nothing is there.
 */
bool shared_live(const struct epf_xdp_conf *conf)
{
	struct xdp_multiprog *mp;
	bool live;

	libxdp_set_print(xdp_shared_keep);
	if (!conf->prog_id)
		return false;
	mp = xdp_multiprog__get_from_ifindex((int)conf->ifindex);
	if (libxdp_get_error(mp))
		return main_id(conf) != 0;
	live = has_prog(mp, conf);
	xdp_multiprog__close(mp);
	return live;
}

/* Undo an attachment that libxdp does not find again. If a probe of libbpf failed because
 * memory was short, programs get no names, but libxdp recognizes its dispatcher by the name.
 * @alone: the dispatcher contains no program of others.
 */
static int take_back(const struct epf_xdp_conf *conf, bool alone)
{
	if (alone) {
		bpf_xdp_detach((int)conf->ifindex, conf->mode, NULL);
		libxdp_clean_references((int)conf->ifindex);
	}
	return -ENOMEM;
}

int shared_attach(struct bpf_object *obj, struct bpf_program *prog, struct epf_xdp_conf *conf)
{
	DECLARE_LIBXDP_OPTS(xdp_program_opts, opts, .obj = obj,
			    .prog_name = bpf_program__name(prog));
	bool alone = !main_id(conf);
	struct xdp_program *p;
	int err;

	libxdp_set_print(xdp_shared_keep);
	p = xdp_program__create(&opts);
	err = (int)libxdp_get_error(p);
	if (err)
		return err;
	err = xdp_program__set_run_prio(p, conf->prio);
	if (!err)
		err = xdp_program__set_xdp_frags_support(p, xdp_frags(conf));
	if (!err)
		err = xdp_program__attach(p, (int)conf->ifindex, xdp_shared_mode_of(conf), 0);
	conf->prog_id = xdp_program__id(p);
	xdp_program__close(p);
	if (!err && !shared_live(conf))
		err = take_back(conf, alone);
	return err;
}

int shared_detach(const struct epf_xdp_conf *conf)
{
	struct xdp_program *prog = xdp_program__from_id(conf->prog_id);
	int err = (int)libxdp_get_error(prog);

	if (err)
		return err;
	err = xdp_program__detach(prog, (int)conf->ifindex, xdp_shared_mode_of(conf), 0);
	xdp_program__close(prog);
	return err ? err : shared_live(conf) ? -EAGAIN : 0;
}

void shared_clean(const struct epf_xdp_conf *conf)
{
	libxdp_set_print(xdp_shared_keep);
	libxdp_clean_references((int)conf->ifindex);
}
