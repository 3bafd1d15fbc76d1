// SPDX-License-Identifier: GPL-2.0
/*
 * The loop bounds of lanes.h, as BPF has them, with an owner that violates O3: an epoch
 * ends at every load of an insertion, and the stale word of a lane can never be
 * replaced. No operation loops forever, and none returns a verdict it cannot know.
 */
#include <epf/shim.h>

#undef EPF_VERIFIED
#define EPF_VERIFIED 1

static __u64 moves;       /* epochs that end, one before each ordered load */
static __u64 tries;       /* ordered loads */
static const __u64 *held; /* a lane whose compare-and-swap fails ... */
static __u64 refusals;    /* ... this often */
static __u64 refused;

static __u64 load_ordered(__u64 *p)
{
	tries++;
	if (moves) {
		moves--;
		++*p;
	}
	return *p;
}

static bool cas(__u64 *p, __u64 *old, __u64 v)
{
	if (p == held && refused < refusals) {
		refused++;
		*old = *p;
		return false;
	}
	*p = v;
	return true;
}

#define epf_load_ordered(p) load_ordered(p)
#define epf_cas(p, old, v) cas(p, old, v)

#include <epf/lanes.h>

#include "tap.h"

#define FOREVER (~0ULL)
#define LINES 64

static struct epf_line lines[LINES];
static __u64 epoch;

static struct epf_lanes begin(__u32 parts, struct epf_probe *p)
{
	struct epf_lanes f = { lines, &epoch, { 0, 0, 0, 0 } };

	memset(lines, 0, sizeof(lines));
	epoch = EPF_EPOCH_FIRST;
	tries = refused = moves = refusals = 0;
	held = NULL;
	epf_geom_init(&f.geom, LINES, parts, 2 * parts);
	epf_probe(&f, 0x5eed, p);
	return f;
}

static void an_epoch_that_moves(__u32 parts)
{
	struct epf_probe p;
	struct epf_lanes f = begin(parts, &p);
	int verdict;
	__u64 e;

	moves = EPF_INSERT_TRIES - 1;
	e = epf_lanes_insert(&f, &p);
	tap_ok(e == EPF_EPOCH_FIRST + EPF_INSERT_TRIES - 1 && tries == EPF_INSERT_TRIES &&
		       epf_lanes_test(&f, &p) == EPF_PRESENT,
	       "L = %u: seven epochs end during an insertion: inserted", parts);
	f = begin(parts, &p);
	moves = FOREVER;
	e = epf_lanes_insert(&f, &p);
	tap_ok(!e && tries == EPF_INSERT_TRIES,
	       "L = %u: epochs end all the time: not inserted after %llu tries", parts, tries);
	f = begin(parts, &p);
	moves = FOREVER;
	verdict = epf_lanes_test_and_insert(&f, &p, true, &e);
	tap_ok(verdict == EPF_UNKNOWN && !e && tries == EPF_INSERT_TRIES + 1,
	       "L = %u: the verdict is unknown after %llu tries", parts, tries);
}

/* Insert a key again that is present. */
static void a_present_key(__u32 parts)
{
	struct epf_probe p;
	struct epf_lanes f = begin(parts, &p);
	int verdict;
	__u64 e;

	epf_lanes_insert(&f, &p);
	moves = FOREVER;
	verdict = epf_lanes_test_and_insert(&f, &p, false, &e);
	tap_ok(verdict == EPF_UNKNOWN && !e,
	       "L = %u: and it is unknown if the key was present but not kept", parts);
}

/* The lane in line @j of the key refuses to change. */
static void a_lane_that_refuses(__u32 parts, __u32 j)
{
	struct epf_probe p;
	struct epf_lanes f = begin(parts, &p);
	int verdict;
	__u64 e;

	held = &p.line[j]->lane[EPF_EPOCH_FIRST & 7];
	refusals = EPF_STALE_TRIES - 1;
	e = epf_lanes_insert(&f, &p);
	tap_ok(e == EPF_EPOCH_FIRST && epf_lanes_test(&f, &p) == EPF_PRESENT,
	       "L = %u: line %u refuses once: inserted", parts, j);
	f = begin(parts, &p);
	held = &p.line[j]->lane[EPF_EPOCH_FIRST & 7];
	refusals = FOREVER;
	e = epf_lanes_insert(&f, &p);
	tap_ok(!e && refused == EPF_STALE_TRIES * EPF_INSERT_TRIES,
	       "L = %u: line %u always refuses: not inserted after %llu", parts, j, refused);
	verdict = epf_lanes_test_and_insert(&f, &p, true, &e);
	tap_ok(verdict == EPF_UNKNOWN && !e,
	       "L = %u: line %u always refuses: the verdict is unknown", parts, j);
}

int main(void)
{
	__u32 parts, j;

	tap_plan(3 * 4 + 3 * (1 + 2 + 4));
	for (parts = 1; parts <= EPF_PARTS_MAX; parts *= 2) {
		an_epoch_that_moves(parts);
		a_present_key(parts);
		for (j = 0; j < parts; j++)
			a_lane_that_refuses(parts, j);
	}
	return tap_end();
}
