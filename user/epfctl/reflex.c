// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Attach the reflexive programs to one interface, detach them, and read them back. */
#include "reflex.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ebpf/ebpf.h"
#include "outcome.h"

static const struct xdp_map rule_map = { "epf_rule", EPF_REFLEX_PIN_RULE, BPF_MAP_TYPE_ARRAY,
					 sizeof(struct epf_reflex_rule) };

int reflex_maps(const struct xdp_want *want, struct bpf_object *obj)
{
	int err = xdp_map_reuse(obj, "epf_rule", want->ifname, EPF_REFLEX_PIN_RULE);

	if (!err)
		err = xdp_map_reuse(obj, outcome_map.name, want->ifname, outcome_map.pin);
	return err ? err : xdp_use(want, obj);
}

static int reflex_make_maps(const struct xdp_want *want, const struct epf_xdp_conf *conf)
{
	const char *ifname = want->ifname;
	int err;

	err = xdp_map_pin(ifname, &rule_map, &want->reflex->rule);
	if (!err)
		err = xdp_map_pin(ifname, &outcome_map, NULL);
	if (!err)
		err = xdp_conf_pin(ifname, conf);
	return err ? err : xdp_hold(want);
}

static const char *reflex_prog_of(enum epf_reflex_side side)
{
	return side == EPF_REFLEX_LEARN ? "reflex_learn" : "reflex_ask";
}

static enum xdp_obj tc_object(const struct xdp_want *want)
{
	if (!want->bpf)
		return XDP_OBJ_REFLEX_TC_MODULE;
	return caps_perfmon() ? XDP_OBJ_REFLEX_TC : XDP_OBJ_REFLEX_TC_BARE;
}

/* Load the program of @side. */
static int load_tc(const struct xdp_want *want, enum epf_reflex_side side, struct bpf_object **obj)
{
	int err;

	*obj = xdp_obj_open(tc_object(want));
	if (!*obj)
		return -EINVAL;
	xdp_choose(*obj, reflex_prog_of(side));
	err = reflex_maps(want, *obj) ?: bpf_object__load(*obj);
	if (!err)
		return 0;
	if (xdp_obj_refused())
		xdp_explain_refused(want, reflex_prog_of(side));
	else if (!xdp_denied(err, true))
		xdp_fail_load(err);
	bpf_object__close(*obj);
	return err;
}

static int attach_tc(const struct xdp_want *want, enum epf_reflex_side side,
		     struct epf_xdp_conf *conf)
{
	struct bpf_object *obj;
	int fd, err = load_tc(want, side, &obj);

	if (err)
		return err;
	xdp_obj_quiet();
	fd = bpf_program__fd(bpf_object__find_program_by_name(obj, reflex_prog_of(side)));
	err = tc_attach(fd, want->ifname, side, want->reflex->clsact, conf);
	bpf_object__close(obj);
	if (err)
		fail_errno(-err, "attaching at tc %s of '%s': %s%s%s",
			   side == EPF_REFLEX_LEARN ? "egress" : "ingress", want->ifname,
			   strerror(-err), *xdp_obj_complaint() ? ": " : "", xdp_obj_complaint());
	return err ? err : xdp_conf_note(want->ifname, conf);
}

static int attach_ask(const struct xdp_want *want, struct epf_xdp_conf *conf)
{
	int err;

	if (want->reflex->ask_tc)
		return attach_tc(want, EPF_REFLEX_ASK, conf);
	err = xdp_attach_prog(want, -1, conf);
	return err ? err : xdp_conf_note(want->ifname, conf);
}

/* If it fails, prints an error. */
static int stop_tc(const char *ifname, enum epf_reflex_side side, const struct epf_xdp_conf *conf)
{
	int err = tc_detach(ifname, side, conf);

	if (err)
		fail_errno(-err, "detaching from tc %s of '%s': %m",
			   side == EPF_REFLEX_LEARN ? "egress" : "ingress", ifname);
	return err;
}

static int stop_ask(const char *ifname, const struct epf_xdp_conf *conf)
{
	if (conf->tc[EPF_REFLEX_ASK].prog_id)
		return stop_tc(ifname, EPF_REFLEX_ASK, conf);
	if (xdp_prog_live(conf))
		return xdp_detach_prog(conf, ifname);
	if (conf->prio && shared_clean)
		shared_clean(conf);
	return 0;
}

/* Stop asking first: while a program asks, learning must go on. */
static int stop(const char *ifname, const struct epf_xdp_conf *conf)
{
	int err = stop_ask(ifname, conf);

	if (!err && conf->tc[EPF_REFLEX_LEARN].prog_id)
		err = stop_tc(ifname, EPF_REFLEX_LEARN, conf);
	if (!err && conf->qdisc_made)
		tc_unmake(conf);
	return err;
}

int reflex_attach(const struct xdp_want *want, struct epf_xdp_conf *conf)
{
	int err;

	err = reflex_make_maps(want, conf);
	if (err)
		return err;
	err = attach_tc(want, EPF_REFLEX_LEARN, conf) ?: attach_ask(want, conf);
	if (err) {
		stop(want->ifname, conf); /* the caller unpins */
		xdp_let_go(want->ifname);
	}
	return err;
}

/* Let the asking program pass everything from now on, because nothing more is learnt. From
 * another network namespace the programs cannot be detached.
 */
static void disarm(const char *ifname, struct xdp_state *state)
{
	int fd = xdp_pin_open(ifname, EPF_REFLEX_PIN_RULE);
	__u32 zero = 0;

	memset(state->rule.act, 0, sizeof(state->rule.act));
	if (fd < 0)
		return;
	bpf_map_update_elem(fd, &zero, &state->rule, BPF_ANY);
	close(fd);
	warn("'%s' is in another network namespace: its program passes everything "
	     "until it is detached there",
	     ifname);
}

int reflex_detach(const char *ifname, struct xdp_state *state)
{
	int err = 0;

	if (!state->here)
		disarm(ifname, state);
	else
		err = stop(ifname, &state->conf);
	if (!err) {
		xdp_let_go(ifname);
		xdp_unpin(ifname);
	}
	return err;
}

int reflex_read(const char *ifname, struct xdp_state *state)
{
	const struct epf_xdp_conf *conf = &state->conf;
	int err = xdp_map_read(ifname, EPF_REFLEX_PIN_RULE, &state->rule) ?:
			  outcome_read(ifname, &state->counts);

	state->here = !strchr(ifname, '@');
	if (!err && state->here) {
		state->learns = tc_live(ifname, EPF_REFLEX_LEARN, conf);
		state->asks = conf->tc[EPF_REFLEX_ASK].prog_id ?
				      tc_live(ifname, EPF_REFLEX_ASK, conf) :
				      xdp_prog_live(conf);
	}
	state->live = state->asks && state->learns;
	return err;
}
