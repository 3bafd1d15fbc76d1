// SPDX-License-Identifier: GPL-2.0
/* One program among others on an interface, by libxdp's dispatcher. */
#include "xdp.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <string.h>
#include <xdp/libxdp.h>

#include "cmd.h"

static int keep(enum libxdp_print_level level, const char *fmt, va_list ap)
{
	return level == LIBXDP_WARN ? xdp_obj_keep(fmt, ap) : 0;
}

struct shared {
	int ifindex;
	struct xdp_program *prog;
};

static int attach_one(void *ctx, __u32 mode)
{
	const struct shared *s = ctx;

	return xdp_program__attach(s->prog, s->ifindex,
				   mode == XDP_FLAGS_SKB_MODE ? XDP_MODE_SKB :
								XDP_MODE_NATIVE,
				   0);
}

static int explain(int err, const struct xdp_want *want)
{
	const char *said = xdp_obj_complaint();

	if (err == -EBUSY)
		return fail("'%s' has an XDP program that shares it with none: "
			    "detach that one first", want->ifname);
	if (strstr(said, "xdp-dispatcher.o"))
		return fail("libxdp does not find its xdp-dispatcher.o: install "
			    "the package of libxdp, or give --no-dispatcher");
	if (strstr(said, "changes packet data"))
		return fail("--action mark: the dispatcher of this libxdp is too "
			    "old for it (1.5.5 does): give --no-dispatcher");
	return fail("attaching to '%s': %s%s%s", want->ifname, strerror(-err),
		    *said ? ": " : "", said);
}

int shared_attach(struct bpf_object *obj, struct bpf_program *prog,
		  const struct xdp_want *want, struct epf_xdp_conf *conf)
{
	DECLARE_LIBXDP_OPTS(xdp_program_opts, opts, .obj = obj,
			    .prog_name = bpf_program__name(prog));
	struct shared s = { .ifindex = (int)conf->ifindex };
	int err;

	libxdp_set_print(keep);
	s.prog = xdp_program__create(&opts);
	err = (int)libxdp_get_error(s.prog);
	if (err) {
		explain(err, want);
		return err;
	}
	/* libbpf makes the flag of the section's name only when it loads. */
	err = xdp_program__set_run_prio(s.prog, want->prio) ?:
	      xdp_program__set_xdp_frags_support(s.prog, true);
	if (!err)
		err = xdp_modes(want->mode, attach_one, &s, &conf->mode);
	if (err)
		explain(err, want);
	conf->prog_id = xdp_program__id(s.prog);
	xdp_program__close(s.prog);
	return err;
}

/* Ours among the programs of the interface; on it alone where the kernel could
 * not chain programs.
 */
static bool has_prog(const struct xdp_multiprog *mp, __u32 id)
{
	const struct xdp_program *p = NULL;

	if (xdp_multiprog__is_legacy(mp))
		return xdp_program__id(xdp_multiprog__main_prog(mp)) == id;
	while ((p = xdp_multiprog__next_prog(p, mp)))
		if (xdp_program__id(p) == id)
			return true;
	return false;
}

bool shared_live(const struct epf_xdp_conf *conf)
{
	struct xdp_multiprog *mp;
	bool live;

	libxdp_set_print(keep);
	if (!conf->prog_id)
		return false;
	mp = xdp_multiprog__get_from_ifindex((int)conf->ifindex);
	if (libxdp_get_error(mp))
		return false;
	live = has_prog(mp, conf->prog_id);
	xdp_multiprog__close(mp);
	return live;
}

int shared_detach(const struct epf_xdp_conf *conf)
{
	struct xdp_program *prog = xdp_program__from_id(conf->prog_id);
	int err = (int)libxdp_get_error(prog);

	if (err)
		return err;
	err = xdp_program__detach(prog, (int)conf->ifindex,
				  conf->mode == XDP_FLAGS_SKB_MODE ?
					  XDP_MODE_SKB : XDP_MODE_NATIVE, 0);
	xdp_program__close(prog);
	return err;
}

void shared_clean(const struct epf_xdp_conf *conf)
{
	libxdp_set_print(keep);
	libxdp_clean_references((int)conf->ifindex);
}
