// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Attach duplicate removal to one interface, detach it, and read it back. */
#include "ingress.h"
#include "reflex.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd.h"
#include "ebpf/ebpf.h"
#include "outcome.h"

#define TCX_INGRESS 46 /* BPF_TCX_INGRESS of Linux 6.6 */

bool xdp_denied(int err, bool tc)
{
	return err == -EPERM && (caps_token_denied("loading BPF programs", tc) ||
				 !caps_ok("loading BPF programs", CAPS_PROGRAMS));
}

int xdp_fail_load(int err)
{
	if (!xdp_denied(err, false))
		fail_errno(-err, "loading the BPF programs: %s: %s", strerror(-err),
			   xdp_obj_complaint());
	return err;
}

static int xdp_map_fd(struct bpf_object *obj, const char *name)
{
	return bpf_object__find_map_fd_by_name(obj, name);
}

/* Open @which with the slot map @slot; if that is negative, loading makes the map. */
static struct bpf_object *open_on(enum xdp_obj which, int slot)
{
	struct bpf_object *obj = xdp_obj_open(which);
	int err;

	if (!obj || slot < 0)
		return obj;
	err = bpf_map__reuse_fd(bpf_object__find_map_by_name(obj, "epf_slot"), slot);
	if (!err)
		return obj;
	xdp_fail_load(err);
	bpf_object__close(obj);
	return NULL;
}

int xdp_call(struct bpf_object *obj, const char *name, struct epf_xdp_bind *arg)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, name);
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = arg, .ctx_size_in = arg ? sizeof(*arg) : 0);
	int err = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);

	return err ? err : (int)opts.retval;
}

static int bind_filter(struct bpf_object *bind, const struct xdp_want *want, __u32 id,
		       const char *filter)
{
	struct epf_xdp_bind arg = { .id = id, .opts = want->opts };
	int err = bpf_object__load(bind);

	if (err)
		return xdp_fail_load(err);
	err = xdp_call(bind, "epf_bind", &arg);
	if (!err)
		return 0;
	if (err == -ENOENT)
		fail_call(err, "opening", filter);
	else
		fail_errno(-err, "cannot give the filter to the programs: %m");
	xdp_call(bind, "epf_unbind", NULL);
	return err;
}

/* The pin keeps the link alive, and the link keeps the program. */
static int attach_mark(const struct xdp_want *want, __u32 ifindex)
{
	const struct epf_xdp_marks marks = { want->mark, want->mark_mask };
	struct bpf_object *obj = xdp_obj_open(XDP_OBJ_TC_MARK);
	struct bpf_program *prog;
	int link, err;

	if (!obj)
		return -EINVAL;
	prog = bpf_object__find_program_by_name(obj, "tc_mark");
	err = bpf_map__set_initial_value(bpf_object__find_map_by_name(obj, ".rodata"), &marks,
					 sizeof(marks));
	if (!err)
		err = bpf_object__load(obj);
	if (err) {
		if (!xdp_denied(err, true))
			xdp_fail_load(err);
		goto out;
	}
	link = bpf_link_create(bpf_program__fd(prog), (int)ifindex,
			       (enum bpf_attach_type)TCX_INGRESS, NULL);
	if (link < 0) {
		err = -errno;
		fail_errno(errno, "--action mark: attaching at tc ingress of '%s': %s%s",
			   want->ifname, strerror(errno),
			   err == -EINVAL ? " (Linux 6.6 is needed)" : "");
		goto out;
	}
	err = xdp_pin_fd(link, want->ifname, EPF_XDP_PIN_MARK);
	close(link);
out:
	bpf_object__close(obj);
	return err;
}

static const char *program_for(__u32 action)
{
	if (action == EPF_XDP_REFLEX)
		return "reflex_ask";
	if (ingress_is(action))
		return ingress_program(action);
	return action == EPF_XDP_MARK ? "xdp_dedup_mark" : "xdp_dedup";
}

struct bpf_program *xdp_choose(struct bpf_object *obj, const char *name)
{
	struct bpf_program *prog, *chosen = NULL;

	bpf_object__for_each_program(prog, obj) {
		bool is = !strcmp(bpf_program__name(prog), name);

		bpf_program__set_autoload(prog, is);
		if (is)
			chosen = prog;
	}
	return chosen;
}

/* Let the programs of @obj do @action, and use the maps of filter @inline_of. */
static int prepare(struct bpf_object *obj, __u32 action, const char *inline_of)
{
	int err = bpf_map__set_initial_value(bpf_object__find_map_by_name(obj, ".rodata"), &action,
					     sizeof(action));

	return !err && inline_of ? ebpf_reuse_maps(obj, inline_of) : err;
}

/* Without CAP_PERFMON the verifier accepts only another form of the programs that make keys. */
static enum xdp_obj reflex_object(const struct xdp_want *want)
{
	if (!want->bpf)
		return XDP_OBJ_REFLEX_MODULE;
	return caps_perfmon() ? XDP_OBJ_REFLEX : XDP_OBJ_REFLEX_BARE;
}

static enum xdp_obj object_for(const struct xdp_want *want)
{
	if (want->reflex)
		return reflex_object(want);
	if (want->ingress)
		return ingress_object(want);
	if (!want->bpf)
		return XDP_OBJ_DEDUP;
	return caps_perfmon() ? XDP_OBJ_DEDUP_INLINE : XDP_OBJ_DEDUP_BARE;
}

/* Try once, in the mode of @conf. Prints no errors. */
static int try_xdp(const struct xdp_want *want, int slot, struct epf_xdp_conf *conf)
{
	struct bpf_object *obj = open_on(object_for(want), slot);
	struct bpf_program *prog;
	int err;

	if (!obj)
		return -EINVAL;
	xdp_obj_quiet();
	prog = xdp_choose(obj, program_for(want->action));
	err = want->reflex  ? reflex_maps(want, obj) :
	      want->ingress ? ingress_maps(want, obj) :
	      prepare(obj, want->action, want->bpf ? want->filter : NULL) ?:
									    cluster_use(want, obj);
	if (!err && want->prio)
		err = shared_attach(obj, prog, conf);
	else if (!err)
		err = plain_attach(obj, prog, conf);
	bpf_object__close(obj);
	return err;
}

void xdp_explain_refused(const struct xdp_want *want, const char *name)
{
	struct utsname kernel;

	if (xdp_obj_needs_perfmon("attaching"))
		return;
	uname(&kernel);
	fail("'%s': the verifier of Linux %s refuses program %s, so packets pass: %s", want->ifname,
	     kernel.release, name, xdp_obj_complaint());
}

static void explain_busy(const struct xdp_want *want)
{
	char who[512];

	xdp_link_tell(if_nametoindex(want->ifname), who, sizeof(who));
	if (want->prio)
		fail("'%s' has an XDP program that does not share the interface, or that "
		     "runs in another mode: %s: detach it ('ip link set dev %s xdp off', or of a "
		     "link 'bpftool link detach'), or leave --mode out",
		     want->ifname, who, want->ifname);
	else
		fail("'%s' already has an XDP program, and without a dispatcher only "
		     "one can be attached: %s: detach it ('ip link set dev %s xdp off', or of a "
		     "link 'bpftool link detach'), or use libxdp for both",
		     want->ifname, who, want->ifname);
}

static void xdp_explain(const struct xdp_want *want, int err)
{
	const char *said = xdp_obj_complaint();

	if (err == -EBUSY)
		explain_busy(want);
	else if (strstr(said, "xdp-dispatcher.o"))
		fail("libxdp does not find its xdp-dispatcher.o: install the "
		     "package of libxdp, or give --no-dispatcher");
	else if (strstr(said, "changes packet data"))
		fail("--action mark: the dispatcher of this libxdp is too old: "
		     "install libxdp 1.5.5, or give --no-dispatcher");
	else if (xdp_obj_refused())
		xdp_explain_refused(want, program_for(want->action));
	else if (xdp_denied(err, false))
		return;
	else
		fail_errno(-err, "attaching to '%s': %s%s%s", want->ifname, strerror(-err),
			   *said ? ": " : "", said);
}

int xdp_attach_prog(const struct xdp_want *want, int slot, struct epf_xdp_conf *conf)
{
	int err;

	conf->mode = want->mode == XDP_GENERIC ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	err = try_xdp(want, slot, conf);
	/* Errors that another mode cannot avoid are not tried there. */
	if (want->mode == XDP_AUTO && err && err != -EPERM) {
		conf->mode = XDP_FLAGS_SKB_MODE;
		err = try_xdp(want, slot, conf);
	}
	if (err)
		xdp_explain(want, err);
	return err;
}

/* Without libxdp it is unknown here where its programs are attached. */
static bool xdp_exists(__u32 prog_id)
{
	int fd = bpf_prog_get_fd_by_id(prog_id);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool xdp_prog_live(const struct epf_xdp_conf *conf)
{
	if (!conf->prio)
		return plain_live(conf);
	return shared_live ? shared_live(conf) : xdp_exists(conf->prog_id);
}

/* Release the filter now, not when the kernel frees the map. Packets that are processed
 * may hold it: the barrier waits for those.
 */
static void unbind(int slot)
{
	struct bpf_object *bind = open_on(XDP_OBJ_BIND, slot);

	if (!bind)
		return;
	syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	if (bpf_object__load(bind))
		warn("cannot release the filter at once: %s", xdp_obj_complaint());
	else
		xdp_call(bind, "epf_unbind", NULL);
	bpf_object__close(bind);
}

/* The same for the map that was pinned, if there is one. @module: its filter is the module's. */
static void unbind_pinned(int slot, bool module)
{
	if (slot < 0)
		return;
	if (module)
		unbind(slot);
	close(slot);
}

int xdp_detach_prog(const struct epf_xdp_conf *conf, const char *ifname)
{
	int err = conf->prio && shared_detach ? shared_detach(conf) : plain_detach(conf);

	if (err)
		fail_errno(-err, "detaching from '%s': %s%s%s", ifname, strerror(-err),
			   *xdp_obj_complaint() ? ": " : "", xdp_obj_complaint());
	return err;
}

/* Switch the offloads on again that an attachment switched off. */
static void vlan_restore(const struct epf_xdp_conf *conf, const char *ifname)
{
	int err = 0;

	if (conf->vlan_off && if_nametoindex(ifname) == conf->ifindex)
		err = vlan_switch(ifname, conf->vlan_off, true);
	if (err)
		warn("cannot switch the VLAN offload of '%s' on again: %s: run "
		     "'ethtool -K %s rxvlan on'",
		     ifname, strerror(-err), ifname);
}

static int detach(const char *ifname)
{
	int slot = xdp_pin_open(ifname, EPF_XDP_PIN_SLOT);
	struct xdp_state state;
	int err = xdp_read(ifname, &state);

	if (err == -EPERM || err == -EACCES) {
		fail("this user may not read what belongs to '%s': run as root, or "
		     "as the user who attached it",
		     ifname);
		return err;
	}
	if (err && err != -ENOENT) { /* ENOENT: an attach was interrupted */
		fail("cannot read what is attached to '%s': %s", ifname, xdp_pin_why(err));
		return err;
	}
	if (!err && state.conf.prio && !shared_detach) {
		fail("'%s' was attached through libxdp, which this epfctl was "
		     "built without: use one with libxdp",
		     ifname);
		return -EOPNOTSUPP;
	}
	if (!err && state.conf.action == EPF_XDP_REFLEX)
		return reflex_detach(ifname, &state);
	if (!err && state.live) {
		err = xdp_detach_prog(&state.conf, ifname);
		if (err)
			return err;
	} else if (!err && state.here && state.conf.prio) {
		shared_clean(&state.conf);
	} else if (!err && !state.here) {
		ingress_disarm(ifname);
		warn("'%s' is in another network namespace: its program passes "
		     "everything until it is detached there",
		     ifname);
	}
	if (!err && state.here)
		vlan_restore(&state.conf, ifname);
	xdp_let_go(ifname);
	unbind_pinned(slot, err || state.conf.backend == EPF_XDP_MODULE);
	unbind_pinned(xdp_pin_open(ifname, EPF_XDP_PIN_ALL_SLOT), true);
	xdp_unpin(ifname);
	return 0;
}

static const char *xdp_kind_of(const struct epf_xdp_conf *conf)
{
	switch (conf->action) {
	case EPF_XDP_REFLEX:
		return "a reflexive attachment";
	case EPF_XDP_ADMIT:
		return "an attachment by --admit";
	case EPF_XDP_LOG:
		return "an attachment by --log-new";
	default:
		return "duplicate removal";
	}
}

/* Remove what is left of an interface that disappeared with its program. */
static int xdp_clear_stale(const char *ifname)
{
	struct xdp_state state;

	if (!xdp_read(ifname, &state) && state.live) {
		fail("'%s' has %s already: run 'epfctl detach %s' first", ifname,
		     xdp_kind_of(&state.conf), ifname);
		return -EBUSY;
	}
	return detach(ifname);
}

/* Switch the VLAN offload off. Note it first: if this process ends in between, detach
 * switches it on again.
 */
static int vlan_release(const struct xdp_want *want, int conf_fd, struct epf_xdp_conf *conf,
			__u32 on)
{
	__u32 zero = 0;
	int err;

	conf->vlan_off = on;
	err = bpf_map_update_elem(conf_fd, &zero, conf, BPF_ANY);
	if (!err)
		err = vlan_switch(want->ifname, on, false);
	if (err) {
		vlan_restore(conf, want->ifname);
		fail_errno(-err, "--vlan-offload off: '%s': %s", want->ifname,
			   err == -EOPNOTSUPP ? "its driver cannot switch it off: "
						"use --no-vlan or --key flow" :
						strerror(-err));
	}
	return err;
}

/* Make sure that the program sees the tags that are part of the key. */
static int vlan_ready(const struct xdp_want *want, int conf_fd, struct epf_xdp_conf *conf)
{
	__u32 on;
	int err = vlan_offloads(want->ifname, &on);

	if (err) {
		fail_errno(-err, "cannot read the VLAN offload of '%s': %m", want->ifname);
		return err;
	}
	if (on && want->vlan_off)
		return vlan_release(want, conf_fd, conf, on);
	if (!on || !vlan_counts(&want->opts))
		return 0;
	fail("'%s' takes VLAN tags off packets, but they are part of the key: run "
	     "'ethtool -K %s rxvlan off', or give --vlan-offload off or --no-vlan",
	     want->ifname, want->ifname);
	return -EADDRNOTAVAIL;
}

/* Everything after the slots are filled. On error the caller unpins. */
static int attach_bound(const struct xdp_want *want, int slot, int conf_fd,
			struct epf_xdp_conf *conf)
{
	__u32 zero = 0;
	int err;

	err = xdp_pin_fd(slot, want->ifname, EPF_XDP_PIN_SLOT);
	if (!err)
		err = xdp_pin_fd(conf_fd, want->ifname, EPF_XDP_PIN_CONF);
	if (!err)
		err = vlan_ready(want, conf_fd, conf);
	if (err)
		return err;
	if (want->action == EPF_XDP_MARK)
		err = attach_mark(want, conf->ifindex);
	if (!err)
		err = xdp_attach_prog(want, slot, conf);
	if (err) {
		vlan_restore(conf, want->ifname);
		return err;
	}
	err = bpf_map_update_elem(conf_fd, &zero, conf, BPF_ANY);
	if (err) {
		fail_errno(-err, "cannot note what was attached: %m");
		xdp_detach_prog(conf, want->ifname);
		vlan_restore(conf, want->ifname);
	}
	return err;
}

static int attach_inline(const struct xdp_want *want, struct epf_xdp_conf *conf)
{
	int slot, conf_fd, err = xdp_maps_make(&want->opts, &slot, &conf_fd);

	if (err)
		return xdp_fail_load(err);
	err = attach_bound(want, slot, conf_fd, conf);
	close(slot);
	close(conf_fd);
	return err;
}

/* Fill and pin the slots of the filter of all of a cluster, if there is one. */
static int bind_all(const struct xdp_want *want)
{
	struct bpf_object *bind;
	int err;

	if (!want->cluster)
		return 0;
	bind = open_on(XDP_OBJ_BIND, -1);
	if (!bind)
		return -EINVAL;
	err = bind_filter(bind, want, want->cover.all_id, want->cover.all);
	if (!err) {
		err = xdp_pin_fd(xdp_map_fd(bind, "epf_slot"), want->ifname, EPF_XDP_PIN_ALL_SLOT);
		if (err)
			xdp_call(bind, "epf_unbind", NULL);
	}
	bpf_object__close(bind);
	return err;
}

/* Fill the slots, then attach. On error the caller unpins. */
static int attach_module(const struct xdp_want *want, struct epf_xdp_conf *conf)
{
	struct bpf_object *bind = open_on(XDP_OBJ_BIND, -1);
	int err;

	if (!bind)
		return -EINVAL;
	err = bind_filter(bind, want, want->id, want->filter);
	if (!err) {
		err = bind_all(want) ?:
				       attach_bound(want, xdp_map_fd(bind, "epf_slot"),
						    xdp_map_fd(bind, "epf_conf"), conf);
		if (err) {
			xdp_call(bind, "epf_unbind", NULL);
			unbind_pinned(xdp_pin_open(want->ifname, EPF_XDP_PIN_ALL_SLOT), true);
		}
	}
	bpf_object__close(bind);
	return err;
}

int xdp_attach(const struct xdp_want *want)
{
	struct epf_xdp_conf conf = {
		.id = want->id,
		.opts = want->opts,
		.action = want->action,
		.mark = want->mark,
		.mark_mask = want->mark_mask,
		.prio = want->prio,
		.ifindex = if_nametoindex(want->ifname),
		.backend = want->bpf ? EPF_XDP_BPF : EPF_XDP_MODULE,
		.made = want->made,
		.holder = want->holder,
	};
	int err, lock;

	if (!conf.ifindex) {
		fail("there is no interface '%s': 'ip link' shows all interfaces", want->ifname);
		return -ENODEV;
	}
	if (!xdp_has_ether(want->ifname))
		return -EPROTONOSUPPORT;
	if (!want->bpf && !xdp_obj_possible())
		return -ENOENT;
	snprintf(conf.filter, sizeof(conf.filter), "%s", want->filter);
	if (!caps_ok("attaching", want->bpf ? CAPS_PROGRAMS : CAPS_MAPS | CAPS_NET))
		return -EPERM;
	err = cluster_note(want, &conf);
	if (err)
		return err;
	lock = xdp_pin_lock();
	if (lock < 0)
		return lock;
	xdp_obj_quiet();
	err = xdp_pin_dir(want->ifname);
	if (err == -EEXIST)
		err = xdp_clear_stale(want->ifname) ?: xdp_pin_dir(want->ifname);
	if (!err) {
		err = want->reflex  ? reflex_attach(want, &conf) :
		      want->ingress ? ingress_attach(want, &conf) :
		      want->bpf     ? attach_inline(want, &conf) :
				      attach_module(want, &conf);
		if (err)
			xdp_unpin(want->ifname);
	}
	close(lock);
	return err;
}

int xdp_detach(const char *ifname)
{
	int lock, err;

	if (!caps_ok("detaching", CAPS_NET))
		return -EPERM;
	lock = xdp_pin_lock();
	if (lock < 0)
		return lock;
	xdp_obj_quiet();
	err = detach(ifname);
	close(lock);
	return err;
}

static bool blind(const char *ifname, const struct epf_xdp_conf *conf)
{
	__u32 on;

	return vlan_counts(&conf->opts) && !vlan_offloads(ifname, &on) && on;
}

static int read_conf(const char *ifname, struct epf_xdp_conf *conf)
{
	int fd = xdp_pin_open(ifname, EPF_XDP_PIN_CONF), err;
	__u32 zero = 0;

	memset(conf, 0, sizeof(*conf));
	if (fd < 0)
		return fd;
	err = bpf_map_lookup_elem(fd, &zero, conf);
	close(fd);
	return err;
}

int xdp_read(const char *ifname, struct xdp_state *state)
{
	int slot, err;

	memset(state, 0, sizeof(*state));
	err = read_conf(ifname, &state->conf);
	if (err)
		return err;
	if (state->conf.action == EPF_XDP_REFLEX)
		return reflex_read(ifname, state);
	if (ingress_is(state->conf.action))
		return ingress_read(ifname, state);
	slot = xdp_pin_open(ifname, EPF_XDP_PIN_SLOT);
	err = slot < 0 ? slot :
			 outcome_sum(slot, sizeof(struct epf_xdp_slot),
				     offsetof(struct epf_xdp_slot, counts), &state->counts);
	if (!err) {
		state->here = !strchr(ifname, '@');
		state->live = state->here && xdp_prog_live(&state->conf);
		state->blind = state->live && blind(ifname, &state->conf);
	}
	if (slot >= 0)
		close(slot);
	return err;
}
