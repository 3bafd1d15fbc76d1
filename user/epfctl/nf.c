// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Attach a program to one netfilter hook, detach it, and read it back. */
#include "nf.h"
#include "outcome.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/netfilter.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PROG_TYPE_NETFILTER 32 /* BPF_PROG_TYPE_NETFILTER of Linux 6.4 */
#define ATTACH_NETFILTER 45    /* BPF_NETFILTER */

const char *const nf_family_names[NF_FAMILIES] = { "ip", "ip6" };

static const char *const link_pins[NF_FAMILIES] = { EPF_NF_PIN_IP, EPF_NF_PIN_IP6 };

/* The part of union bpf_attr that BPF_LINK_CREATE takes (Linux 6.4). */
struct link_attr {
	__u32 prog_fd;
	__u32 target_fd;
	__u32 attach_type;
	__u32 flags;
	__u32 family;
	__u32 hook;
	__s32 prio;
	__u32 nf_flags;
};

/* Does this kernel have BPF programs at netfilter hooks? If not, prints an error. */
static bool has_netfilter(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)ATTACH_NETFILTER);
	static const struct bpf_insn accept[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = NF_ACCEPT },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load((enum bpf_prog_type)PROG_TYPE_NETFILTER, "accept", "Dual BSD/GPL",
			       accept, ARRAY_SIZE(accept), &opts);
	int major = 0, minor = 0;
	struct utsname kernel;

	if (fd >= 0)
		close(fd);
	if (fd >= 0 || errno != EINVAL)
		return true; /* other errors are reported when our program is loaded */
	uname(&kernel);
	sscanf(kernel.release, "%d.%d", &major, &minor);
	if (major < 6 || (major == 6 && minor < 4))
		fail("--hook needs Linux 6.4 or newer, for BPF programs at netfilter hooks: "
		     "this is %s",
		     kernel.release);
	else
		fail("--hook needs a kernel with CONFIG_NETFILTER_BPF_LINK, which this one "
		     "was built without");
	return false;
}

static const struct xdp_map rule_map = { "nf_rule", EPF_NF_PIN_RULE, BPF_MAP_TYPE_ARRAY,
					 sizeof(struct epf_nf_rule) };

static int nf_make_maps(const struct xdp_want *want, const struct nf_want *nf,
			const struct epf_xdp_conf *conf)
{
	const char *hook = want->ifname;
	int err;

	err = xdp_map_pin(hook, &rule_map, &nf->rule);
	if (!err)
		err = xdp_map_pin(hook, &outcome_map, NULL);
	if (!err)
		err = xdp_conf_pin(hook, conf);
	return err ? err : xdp_hold(want);
}

/* Load the program, with the pinned maps and those of the filter. */
static int nf_load(const struct xdp_want *want, struct bpf_object **obj)
{
	struct bpf_program *prog;
	int err;

	*obj = xdp_obj_open(want->bpf ? XDP_OBJ_NF : XDP_OBJ_NF_MODULE);
	if (!*obj)
		return -EINVAL;
	/* libbpf before 1.2 does not know the section. */
	prog = bpf_object__find_program_by_name(*obj, "nf_look");
	bpf_program__set_type(prog, (enum bpf_prog_type)PROG_TYPE_NETFILTER);
	bpf_program__set_expected_attach_type(prog, (enum bpf_attach_type)ATTACH_NETFILTER);
	err = xdp_map_reuse(*obj, "nf_rule", want->ifname, EPF_NF_PIN_RULE);
	if (!err)
		err = xdp_map_reuse(*obj, outcome_map.name, want->ifname, outcome_map.pin);
	if (!err)
		err = xdp_use(want, *obj);
	if (!err)
		err = bpf_object__load(*obj);
	if (!err)
		return 0;
	if (xdp_obj_refused())
		xdp_explain_refused(want, "nf_look");
	else if (!xdp_denied(err, false))
		xdp_fail_load(err);
	bpf_object__close(*obj);
	return err;
}

static int explain_link(const struct nf_hook *hook, int family, int err)
{
	if (err == -EBUSY)
		fail("'%s': priority %d of this hook of %s is taken by a chain of nftables, "
		     "conntrack or another program, and a BPF program cannot share "
		     "it: choose another",
		     hook->name, hook->prio, nf_family_names[family]);
	else
		fail_errno(-err, "attaching at '%s' for %s: %m", hook->name,
			   nf_family_names[family]);
	return err;
}

/* The pin keeps the link alive, and the link keeps the program. */
static int nf_make_link(int prog, const struct nf_hook *hook, int family)
{
	static const __u32 families[] = { NFPROTO_IPV4, NFPROTO_IPV6 };
	struct link_attr attr = {
		.prog_fd = (__u32)prog,
		.attach_type = ATTACH_NETFILTER,
		.family = families[family],
		.hook = hook->hook,
		.prio = hook->prio,
	};
	int link = (int)syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)), err;

	if (link < 0)
		return explain_link(hook, family, -errno);
	err = xdp_pin_fd(link, hook->name, link_pins[family]);
	close(link);
	return err;
}

/* Detach at once. If only the pin were removed, the kernel would choose the time. This
 * works from any network namespace.
 */
static int break_link(const char *hook, int family)
{
	int fd = xdp_pin_open(hook, link_pins[family]), err;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	err = bpf_link_detach(fd) ? -errno : 0;
	close(fd);
	if (err)
		fail_errno(-err, "detaching from '%s' of %s: %m", hook, nf_family_names[family]);
	return err;
}

static int break_links(const char *hook)
{
	int family, err = 0;

	for (family = 0; family < NF_FAMILIES; family++)
		err = break_link(hook, family) ?: err;
	return err;
}

static __u32 nf_prog_id(int fd)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

/* Make everything below the directory of pins; on error the caller unpins. */
static int epfctl_nf_attach(const struct xdp_want *want, const struct nf_want *nf,
			    struct epf_xdp_conf *conf)
{
	int err = nf_make_maps(want, nf, conf), family, prog;
	struct bpf_object *obj;

	err = err ?: nf_load(want, &obj);
	if (err)
		return err;
	prog = bpf_program__fd(bpf_object__find_program_by_name(obj, "nf_look"));
	/* Note it before the program is attached: this process may end in between. */
	conf->prog_id = nf_prog_id(prog);
	err = xdp_conf_note(want->ifname, conf);
	for (family = 0; !err && family < NF_FAMILIES; family++)
		if (nf->hook.family[family])
			err = nf_make_link(prog, &nf->hook, family);
	if (err)
		break_links(want->ifname);
	bpf_object__close(obj);
	return err;
}

static bool nf_any_live(const struct nf_state *s)
{
	return s->live[0] || s->live[1];
}

/* Release what belongs to a program that is not attached, or no longer. */
static void nf_give_up(const char *hook)
{
	xdp_let_go(hook);
	xdp_unpin(hook);
}

/* Remove what an interrupted attach left. */
static int nf_clear_stale(const char *hook)
{
	struct nf_state state;

	if (!nf_read(hook, &state) && nf_any_live(&state)) {
		fail("'%s' already has a filter: run 'epfctl detach %s' first, or use "
		     "another priority",
		     hook, hook);
		return -EBUSY;
	}
	nf_give_up(hook);
	return xdp_pin_dir(hook);
}

int nf_attach(const struct xdp_want *want, const struct nf_want *nf)
{
	struct epf_xdp_conf conf = {
		.id = want->id,
		.opts = want->opts,
		.action = EPF_XDP_NETFILTER,
		.backend = want->bpf ? EPF_XDP_BPF : EPF_XDP_MODULE,
	};
	int err, lock;

	if (!want->bpf && !xdp_obj_possible())
		return -ENOENT;
	snprintf(conf.filter, sizeof(conf.filter), "%s", want->filter);
	if (!caps_ok("attaching", CAPS_PROGRAMS))
		return -EPERM;
	err = cluster_note(want, &conf);
	if (err)
		return err;
	xdp_obj_quiet();
	if (!has_netfilter())
		return -EOPNOTSUPP;
	lock = xdp_pin_lock();
	if (lock < 0)
		return lock;
	err = xdp_pin_dir(want->ifname);
	if (err == -EEXIST)
		err = nf_clear_stale(want->ifname);
	if (!err) {
		err = epfctl_nf_attach(want, nf, &conf);
		if (err)
			nf_give_up(want->ifname);
	}
	close(lock);
	return err;
}

int nf_detach(const char *name)
{
	int lock, err;

	if (!caps_ok("detaching", CAPS_NET))
		return -EPERM;
	lock = xdp_pin_lock();
	if (lock < 0)
		return lock;
	xdp_obj_quiet();
	err = break_links(name);
	if (!err)
		nf_give_up(name);
	close(lock);
	return err;
}

int nf_read(const char *name, struct nf_state *state)
{
	int family, fd, err;

	memset(state, 0, sizeof(*state));
	err = xdp_map_read(name, EPF_XDP_PIN_CONF, &state->conf);
	if (!err)
		err = xdp_map_read(name, EPF_NF_PIN_RULE, &state->rule);
	if (!err)
		err = outcome_read(name, &state->counts);
	if (err)
		return err;
	state->here = !strchr(name, '@');
	for (family = 0; family < NF_FAMILIES; family++) {
		fd = xdp_pin_open(name, link_pins[family]);
		state->live[family] = fd >= 0;
		if (fd >= 0)
			close(fd);
	}
	return 0;
}
