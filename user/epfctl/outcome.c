// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "outcome.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "xdp.h"

const struct xdp_map outcome_map = { "epf_counts", EPF_XDP_PIN_COUNTS, BPF_MAP_TYPE_PERCPU_ARRAY,
				     sizeof(struct epf_counts) };

const char *const outcome_names[EPF_OUTCOMES] = {
#define X(NAME, name, err) #name,
	EPF_OUTCOME_LIST(X)
#undef X
};

static const char *const effect_names[EPF_EFFECTS] = {
	[EPF_EFFECT_UNMARKED] = "unmarked",
	[EPF_EFFECT_RING_FULL] = "ring_full",
};

int outcome_sum(int fd, size_t bytes, size_t at, struct epf_counts *sum)
{
	int cpus = libbpf_num_possible_cpus(), i, err;
	__u64 *to = (__u64 *)sum;
	__u32 zero = 0;
	char *values;
	size_t j;

	if (cpus < 0)
		return cpus;
	values = calloc((size_t)cpus, bytes);
	if (!values)
		return -ENOMEM;
	err = bpf_map_lookup_elem(fd, &zero, values);
	for (i = 0; !err && i < cpus; i++) {
		const __u64 *from = (void *)(values + (size_t)i * bytes + at);

		for (j = 0; j < sizeof(*sum) / sizeof(*to); j++)
			to[j] += from[j];
	}
	free(values);
	return err;
}

int outcome_read(const char *ifname, struct epf_counts *sum)
{
	int fd = xdp_pin_open(ifname, EPF_XDP_PIN_COUNTS), err;

	if (fd < 0)
		return fd;
	err = outcome_sum(fd, sizeof(*sum), 0, sum);
	close(fd);
	return err;
}

__u32 outcome_possible(bool asks, bool control, bool clustered)
{
	__u32 set = OUTCOME(FRAGMENT) | OUTCOME(TRUNCATED) | OUTCOME(MALFORMED) |
		    OUTCOME(NO_FILTER) | OUTCOME(ERROR);

	if (control)
		set |= EPF_OUT_SET_CONTROL;
	if (asks)
		set |= OUTCOME(RECENT) | OUTCOME(ABSENT) | OUTCOME(SATURATED) | OUTCOME(OVERDUE);
	return asks && clustered ? set | OUTCOME(UNCOVERED) : set;
}

static unsigned int sides(const struct outcome_view *v)
{
	return v->side ? EPF_COUNT_SIDES : 1;
}

void outcome_print(const struct outcome_view *v)
{
	unsigned int side, i;

	for (side = 0; side < sides(v); side++)
		for (i = 0; i < EPF_OUTCOMES; i++) {
			const struct epf_count *c = &v->counts->by[side][i];

			if (!c->packets)
				continue;
			if (v->side)
				printf("  %-5s", v->side[side]);
			printf("  %-12s %-8s %12llu packets %16llu bytes\n", outcome_names[i],
			       v->verdict(v->of, side, i), c->packets, c->bytes);
		}
	for (i = 0; i < EPF_EFFECTS; i++)
		if (v->counts->effect[i])
			printf("  %-12s %-8s %12llu packets\n", effect_names[i], "",
			       v->counts->effect[i]);
}

static json_t *side_json(const struct outcome_view *v, unsigned int side)
{
	json_t *o = json_object();
	unsigned int i;

	for (i = 0; i < EPF_OUTCOMES; i++) {
		const struct epf_count *c = &v->counts->by[side][i];

		if (c->packets || v->possible[side] >> i & 1)
			json_object_set_new(o, outcome_names[i],
					    json_pack("{s:s, s:I, s:I}", "verdict",
						      v->verdict(v->of, side, i), "packets",
						      (json_int_t)c->packets, "bytes",
						      (json_int_t)c->bytes));
	}
	return o;
}

json_t *outcome_json(const struct outcome_view *v)
{
	json_t *all;
	unsigned int side;

	if (!v->side)
		return side_json(v, 0);
	all = json_object();
	for (side = 0; side < sides(v); side++)
		json_object_set_new(all, v->side[side], side_json(v, side));
	return all;
}

json_t *outcome_effects(const struct epf_counts *counts)
{
	json_t *o = json_object();
	unsigned int i;

	for (i = 0; i < EPF_EFFECTS; i++)
		json_object_set_new(o, effect_names[i],
				    json_integer((json_int_t)counts->effect[i]));
	return o;
}
