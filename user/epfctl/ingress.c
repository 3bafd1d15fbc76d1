// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Attach --admit and --log-new to one interface, and read them back. */
#include "ingress.h"
#include "outcome.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The maps of the programs, with their names there. */
enum { RULE, SHARED, COUNTS, RING };

static const struct xdp_map maps[] = {
	[RULE] = { "epf_rule", EPF_INGRESS_PIN_RULE, BPF_MAP_TYPE_ARRAY,
		   sizeof(struct epf_ingress_rule) },
	[SHARED] = { "epf_shared", EPF_INGRESS_PIN_SHARED, BPF_MAP_TYPE_ARRAY,
		     sizeof(struct epf_ingress_shared) },
	[COUNTS] = { "epf_counts", EPF_XDP_PIN_COUNTS, BPF_MAP_TYPE_PERCPU_ARRAY,
		     sizeof(struct epf_counts) },
	[RING] = { "epf_ring", EPF_INGRESS_PIN_RING, BPF_MAP_TYPE_RINGBUF, EPF_INGRESS_RING_BYTES },
};

/* The ring is the last one; only --log-new has it. */
static size_t nr_maps(__u32 action)
{
	return ARRAY_SIZE(maps) - (action != EPF_XDP_LOG);
}

bool ingress_is(__u32 action)
{
	return action == EPF_XDP_ADMIT || action == EPF_XDP_LOG;
}

const char *ingress_program(__u32 action)
{
	return action == EPF_XDP_LOG ? "xdp_log_new" : "xdp_admit";
}

enum xdp_obj ingress_object(const struct xdp_want *want)
{
	if (want->bpf)
		return want->action == EPF_XDP_LOG ? XDP_OBJ_LOG_NEW : XDP_OBJ_ADMIT;
	return want->action == EPF_XDP_LOG ? XDP_OBJ_LOG_NEW_MODULE : XDP_OBJ_ADMIT_MODULE;
}

int ingress_maps(const struct xdp_want *want, struct bpf_object *obj)
{
	int err = 0;
	size_t i;

	for (i = 0; i < nr_maps(want->action) && !err; i++)
		err = xdp_map_reuse(obj, maps[i].name, want->ifname, maps[i].pin);
	return err ? err : xdp_use(want, obj);
}

/* The rule, completed with what depends on this machine. */
static struct epf_ingress_rule rule_here(const struct xdp_want *want)
{
	struct epf_ingress_rule rule = want->ingress->rule;
	int cpus = libbpf_num_possible_cpus();

	rule.slice = epf_meter_slice(&rule.rate, cpus > 0 ? (__u32)cpus : 1);
	return rule;
}

static int ingress_make_maps(const struct xdp_want *want, const struct epf_xdp_conf *conf)
{
	struct epf_ingress_rule rule = rule_here(want);
	int err = 0;
	size_t i;

	for (i = 0; i < nr_maps(want->action) && !err; i++)
		err = xdp_map_pin(want->ifname, &maps[i], i == RULE ? &rule : NULL);
	return err ?: xdp_conf_pin(want->ifname, conf) ?: xdp_hold(want);
}

int ingress_attach(const struct xdp_want *want, struct epf_xdp_conf *conf)
{
	int err = ingress_make_maps(want, conf) ?: xdp_attach_prog(want, -1, conf);

	if (!err) {
		err = xdp_conf_note(want->ifname, conf);
		if (err)
			xdp_detach_prog(conf, want->ifname);
	}
	if (err)
		xdp_let_go(want->ifname); /* the caller unpins */
	return err;
}

void ingress_disarm(const char *ifname)
{
	int fd = xdp_pin_open(ifname, EPF_INGRESS_PIN_RULE);
	struct epf_ingress_rule rule;
	__u32 zero = 0;

	if (fd < 0)
		return;
	if (!bpf_map_lookup_elem(fd, &zero, &rule)) {
		rule.rate.limit = ~0ULL; /* no rate is above it */
		bpf_map_update_elem(fd, &zero, &rule, BPF_ANY);
	}
	close(fd);
}

int ingress_read(const char *ifname, struct xdp_state *state)
{
	int err = xdp_map_read(ifname, EPF_INGRESS_PIN_RULE, &state->ingress) ?:
			  outcome_read(ifname, &state->counts);

	state->here = !strchr(ifname, '@');
	state->live = !err && state->here && xdp_prog_live(&state->conf);
	return err;
}
