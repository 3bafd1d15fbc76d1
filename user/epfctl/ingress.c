// SPDX-License-Identifier: GPL-2.0
/* Attach and read back --admit and --log-new of one interface. */
#include "ingress.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ebpf/ebpf.h"

/* Maps of the programs, by the names that they have there. */
static const struct {
	const char *name;
	const char *pin;
	__u32 type;
	__u32 bytes;
} maps[] = {
	{ "epf_rule", EPF_INGRESS_PIN_RULE, BPF_MAP_TYPE_ARRAY,
	  sizeof(struct epf_ingress_rule) },
	{ "epf_shared", EPF_INGRESS_PIN_SHARED, BPF_MAP_TYPE_ARRAY,
	  sizeof(struct epf_ingress_shared) },
	{ "epf_counts", EPF_INGRESS_PIN_COUNTS, BPF_MAP_TYPE_PERCPU_ARRAY,
	  sizeof(struct epf_ingress_counts) },
	{ "epf_ring", EPF_INGRESS_PIN_RING, BPF_MAP_TYPE_RINGBUF,
	  EPF_INGRESS_RING_BYTES },
};

/* The ring is the last of them. */
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

enum xdp_obj ingress_object(__u32 action)
{
	return action == EPF_XDP_LOG ? XDP_OBJ_LOG_NEW : XDP_OBJ_ADMIT;
}

int ingress_maps(const struct xdp_want *want, struct bpf_object *obj)
{
	int err = 0;
	size_t i;

	for (i = 0; i < nr_maps(want->action) && !err; i++) {
		int fd = xdp_pin_open(want->ifname, maps[i].pin);

		if (fd < 0)
			return fd;
		err = bpf_map__reuse_fd(
			bpf_object__find_map_by_name(obj, maps[i].name), fd);
		close(fd);
	}
	return err ? err : ebpf_reuse_maps(obj, want->filter);
}

/* What the rule needs to know of this machine. */
static struct epf_ingress_rule rule_here(const struct xdp_want *want)
{
	struct epf_ingress_rule rule = want->ingress->rule;
	int cpus = libbpf_num_possible_cpus();

	rule.slice = epf_meter_slice(&rule.rate, cpus > 0 ? (__u32)cpus : 1);
	return rule;
}

static int make_map(size_t i)
{
	int fd;

	if (maps[i].type != BPF_MAP_TYPE_RINGBUF)
		return xdp_map_make(maps[i].type, maps[i].name, maps[i].bytes);
	fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, maps[i].name, 0, 0,
			    maps[i].bytes, NULL);
	return fd < 0 ? -errno : fd;
}

static int pin_map(const struct xdp_want *want, size_t i)
{
	struct epf_ingress_rule rule = rule_here(want);
	int fd = make_map(i), err = 0;
	__u32 zero = 0;

	if (fd < 0)
		return xdp_fail_load(fd);
	if (!strcmp(maps[i].pin, EPF_INGRESS_PIN_RULE))
		err = bpf_map_update_elem(fd, &zero, &rule, BPF_ANY);
	if (err)
		xdp_fail_load(err);
	else
		err = xdp_pin_fd(fd, want->ifname, maps[i].pin);
	close(fd);
	return err;
}

static int note(int fd, const struct epf_xdp_conf *conf)
{
	__u32 zero = 0;
	int err = bpf_map_update_elem(fd, &zero, conf, BPF_ANY);

	if (err)
		fail("noting what was attached: %s", strerror(-err));
	return err;
}

/* The program, and what it is, in the pinned map @fd. */
static int attach(const struct xdp_want *want, int fd, struct epf_xdp_conf *conf)
{
	int err = xdp_pin_fd(fd, want->ifname, EPF_XDP_PIN_CONF);

	if (!err)
		err = xdp_attach_prog(want, -1, conf);
	if (err)
		return err;
	err = note(fd, conf);
	if (err)
		xdp_detach_prog(conf, want->ifname);
	return err;
}

int ingress_attach(const struct xdp_want *want, struct epf_xdp_conf *conf)
{
	int fd, err = 0;
	size_t i;

	for (i = 0; i < nr_maps(want->action) && !err; i++)
		err = pin_map(want, i);
	if (err)
		return err;
	fd = xdp_map_make(BPF_MAP_TYPE_ARRAY, "epf_conf", sizeof(*conf));
	if (fd < 0)
		return xdp_fail_load(fd);
	err = attach(want, fd, conf);
	close(fd);
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
		rule.rate.limit = ~0ULL; /* nothing is above */
		bpf_map_update_elem(fd, &zero, &rule, BPF_ANY);
	}
	close(fd);
}

static int read_counts(int fd, struct epf_ingress_counts *sum)
{
	int cpus = libbpf_num_possible_cpus(), side, i, j, err;
	struct epf_ingress_counts *values;
	__u32 zero = 0;

	if (cpus < 0)
		return cpus;
	values = calloc((size_t)cpus, sizeof(*values));
	if (!values)
		return -ENOMEM;
	err = bpf_map_lookup_elem(fd, &zero, values);
	for (i = 0; !err && i < cpus; i++)
		for (side = 0; side < EPF_INGRESS_SIDES; side++)
			for (j = 0; j < EPF_INGRESS_REASONS; j++) {
				struct epf_xdp_count *c = &sum->side[side][j];

				c->packets += values[i].side[side][j].packets;
				c->bytes += values[i].side[side][j].bytes;
			}
	free(values);
	return err;
}

int ingress_read(const char *ifname, struct xdp_state *state)
{
	int counts = xdp_pin_open(ifname, EPF_INGRESS_PIN_COUNTS);
	int rule = xdp_pin_open(ifname, EPF_INGRESS_PIN_RULE);
	int err = counts < 0 ? counts : rule < 0 ? rule : 0;
	__u32 zero = 0;

	if (!err)
		err = bpf_map_lookup_elem(rule, &zero, &state->ingress);
	if (!err)
		err = read_counts(counts, &state->ingress_counts);
	state->here = !strchr(ifname, '@');
	state->live = !err && state->here && xdp_prog_live(&state->conf);
	if (counts >= 0)
		close(counts);
	if (rule >= 0)
		close(rule);
	return err;
}
