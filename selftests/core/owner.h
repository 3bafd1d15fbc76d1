/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The owner of a filter in a test: memory, clock, rotation, scan. One thread.
 *
 * A due epoch ends at the next operation, one epoch at a time. The scan is @lag epochs
 * behind the rotation.
 */
#ifndef EPF_TEST_OWNER_H
#define EPF_TEST_OWNER_H

#include <epf/window.h>

#include <stdlib.h>

struct owner {
	struct epf_lanes lanes;
	struct epf_state state;
	struct epf_window window;
	__u64 now_ns;
	__u32 lag; /* 0 .. EPF_SCAN_LAG; OWNER_NO_SCAN */
};

#define OWNER_NO_SCAN 1000u

static inline void owner_init(struct owner *o, __u64 nr_lines, __u32 parts, __u32 k)
{
	memset(o, 0, sizeof(*o));
	if (epf_geom_init(&o->lanes.geom, nr_lines, parts, k))
		abort();
	o->lanes.line = (struct epf_line *)aligned_alloc(EPF_LINE_BYTES,
							 nr_lines * sizeof(struct epf_line));
	if (!o->lanes.line)
		abort();
	memset(o->lanes.line, 0, nr_lines * sizeof(struct epf_line));
	o->lanes.epoch = &o->state.epoch;
	epf_state_init(&o->state, 0);
}

static inline void owner_window(struct owner *o, __u32 mode, __u32 first_seen, __u64 inserts,
				__u64 ns)
{
	if (epf_window_init(&o->window, mode, first_seen, inserts, ns))
		abort();
}

static inline void owner_free(struct owner *o)
{
	free(o->lanes.line);
}

static inline void owner_rotate(struct owner *o)
{
	__u64 first, end;

	while (o->lag != OWNER_NO_SCAN && o->state.epoch - o->state.scanned >= o->lag + !o->lag) {
		epf_scan_chunk(&o->state, epf_geom_lines(&o->lanes.geom), &first, &end);
		epf_lanes_scan(&o->lanes, first, end - first);
		o->state.scanned++;
	}
	epf_state_rotate(&o->state, o->now_ns);
}

static inline void owner_advance(struct owner *o, __u64 ns)
{
	const struct epf_state *s = &o->state;
	__u64 start = s->ring[s->epoch % EPF_LANES].start_ns;

	o->now_ns += ns;
	if (epf_window_due(&o->window, epf_count_of(s->count, s->epoch), o->now_ns - start))
		owner_rotate(o);
}

static inline int owner_test(const struct owner *o, __u64 digest)
{
	struct epf_probe p;

	epf_probe(&o->lanes, digest, &p);
	return epf_lanes_test(&o->lanes, &p);
}

static inline void owner_insert(struct owner *o, __u64 digest)
{
	struct epf_probe p;

	epf_probe(&o->lanes, digest, &p);
	epf_count_add(&o->state, epf_lanes_insert(&o->lanes, &p), 1);
}

/* Set *@inserted to whether the key was inserted and counted. */
static inline int owner_sight(struct owner *o, __u64 digest, bool *inserted)
{
	struct epf_probe p;
	int verdict;
	__u64 e;

	epf_probe(&o->lanes, digest, &p);
	verdict = epf_lanes_test_and_insert(&o->lanes, &p, o->window.first_seen, &e);
	*inserted = e != 0;
	if (e)
		epf_count_add(&o->state, e, 1);
	return verdict;
}

#endif /* EPF_TEST_OWNER_H */
