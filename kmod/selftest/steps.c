// SPDX-License-Identifier: GPL-2.0
/*
 * What selftests/module/steps.sh links with the built kfunc.o and kfunc_held.o into a process, to
 * count the instructions of their calls: it makes a filter of lanes in the memory of that process.
 * Not part of any module.
 */
#include "filter.h"
#include "kind.h"

#include <epf/params.h>
#include <linux/bpf.h>
#include <net/xdp.h>

struct steps_sizes {
	u64 table, filter, xdp, map;
};

/* An array map whose value is a reference to a filter. */
struct steps_map {
	struct bpf_array array;
	struct epf_filter *held; /* @array.value, at an offset that @record has */
	union {
		struct btf_record record;
		u8 room[sizeof(struct btf_record) + sizeof(struct btf_field)];
	};
};

__diag_push();
__diag_ignore_all("-Wmissing-prototypes", "a process calls them, which cannot include this");

void steps_sizes(struct steps_sizes *s)
{
	s->table = sizeof(struct epf_table);
	s->filter = sizeof(struct epf_filter);
	s->xdp = sizeof(struct xdp_buff);
	s->map = sizeof(struct steps_map);
}

void steps_map(struct steps_map *m, struct epf_filter *f)
{
	m->array.map.map_type = BPF_MAP_TYPE_ARRAY;
	m->array.map.record = &m->record;
	m->record.cnt = 1;
	m->record.fields[0].type = BPF_KPTR_REF;
	m->record.fields[0].offset = (u8 *)&m->held - (u8 *)m->array.value;
	m->record.fields[0].kptr.dtor = bpf_epf_release_dtor;
	m->held = f;
}

/* Four lines and 16 positions a key, as for the default budget; zeroed memory. */
void steps_filter(struct epf_table *t, struct epf_filter *f, struct epf_line *line, u64 nr_lines,
		  void *cpu)
{
	epf_state_init(&t->state, 1); /* first: see epf_init_table() */
	t->lanes.line = line;
	epf_geom_init(&t->lanes.geom, nr_lines, EPF_PARTS_MAX, 16);
	t->plain = true;
	t->cpu = (struct epf_cpu __percpu __force *)cpu;
	t->epochs = EPF_LIVE_EPOCHS;
	epf_window_init(&t->window, EPF_MODE_COUNT, EPF_REFRESH, 1000000, 0);
	epf_hash_init(&t->hash, 0x1234, 0x5678, EPF_HASH_NH);
	t->lanes.epoch = &t->state.epoch;
	t->batch = 256;
	RCU_INIT_POINTER(f->table, t);
}

/* Begin an epoch whose keys reach no trigger. */
void steps_epoch(struct epf_table *t, u64 e)
{
	t->state.epoch = e;
	t->state.count = epf_count_pack(e, 0);
	t->trigger = epf_count_pack(e, EPF_COUNT_MASK);
}

static void steps_ended(struct epf_table *t, u64 e)
{
}

/* From now on the error has a limit, and there are @cpus possible CPUs. */
void steps_limit(struct epf_table *t, u32 cpus)
{
	static const struct epf_table_ops ops = { .ended = steps_ended };
	static struct epf_capacity_work work;
	u64 full_at = t->window.epoch_inserts;

	t->ops = &ops;
	t->limited = true;
	epf_capacity_init(&t->capacity, &t->lanes.geom, EPF_Q56_ONE / 100, &work);
	t->room = epf_capacity_room(&t->capacity, t->share);
	epf_pace_init(&t->pace, full_at / 8, full_at, full_at, cpus);
}

/* As an inserter in the middle of an epoch. */
void steps_look(struct epf_table *t)
{
	epf_table_look(t, t->state.epoch, t->pace.full_at / 2);
}

void steps_packet(struct xdp_buff *xdp, void *data, u64 bytes)
{
	xdp->data = data;
	xdp->data_end = data + bytes;
	xdp->data_meta = data;
	xdp->data_hard_start = data;
}

__diag_pop();
