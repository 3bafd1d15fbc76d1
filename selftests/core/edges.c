// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that decide by one comparison, at the values on both sides of it. A filter
 * that is used as usual seldom arrives there.
 */
#include <epf/batch.h>
#include <epf/bpf_rotate.h>
#include <epf/room.h>
#include <epf/snapshot.h>
#include <epf/window.h>

#include <errno.h>

#include "tap.h"

#define E 100u /* an epoch */
#define CREATED_NS 1000u

/* The grace period, the scan and a pin of pure BPF, each at its limit. */
static void may_rotate(void)
{
	static const struct {
		__u64 quiet, pin_until_ns;
		int want;
	} rows[] = {
		{ E - 6, 0, 0 }, { E - 7, 0, -EAGAIN }, { E, 0, 0 },
		{ E, 50, 0 },    { E, 51, -EBUSY },
	};
	struct epf_bpf_slot s = { 0 };
	__u32 i, wrong = 0;

	s.state.epoch = s.state.scanned = E;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		s.quiet = rows[i].quiet;
		s.pin_until_ns = rows[i].pin_until_ns;
		wrong += epf_bpf_may_rotate(&s, 50) != rows[i].want;
	}
	tap_ok(!wrong,
	       "an epoch may end when nobody reads e - 7, and at the moment when a pin ends: %u wrong",
	       wrong);
}

static void open_at(void)
{
	static const struct {
		__u64 before, room, saturated, kept, want;
	} rows[] = {
		{ 7, 10, 0, 5, 12 },
		{ 7, 10, 0, 17, 0 },
		{ 7, 10, 0, 18, 0 },
		{ 7, 10, 1, 5, 0 },
		{ 0, EPF_BPF_NO_LIMIT, 0, 5, EPF_BPF_NO_LIMIT },
		{ 0, EPF_BPF_NO_LIMIT, 1, 5, 0 },
	};
	struct epf_bpf_slot s = { 0 };
	__u32 i, wrong = 0;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		s.keys_before = rows[i].before;
		s.room = rows[i].room;
		s.saturated = rows[i].saturated;
		epf_bpf_set_open_at(&s, rows[i].kept);
		wrong += s.open_at != rows[i].want;
	}
	tap_ok(!wrong, "the keys at which a filter opens: %u wrong", wrong);
}

static void room(void)
{
	static const struct {
		__u64 share, to, most;
	} rows[] = { { 10, 11, 1 }, { 10, 10, 0 }, { 10, 5, 0 }, { 0, 5, 5 } };
	struct epf_room r = { 0 };
	__u32 i, wrong = 0;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		r.share[1] = rows[i].share;
		r.grown = 3;
		epf_room_set(&r, 1, rows[i].to);
		wrong += r.most != rows[i].most || r.grown;
		wrong += epf_room_full(&r) != !rows[i].most;
	}
	tap_ok(!wrong, "a place that holds more than it may has no room: %u wrong", wrong);
}

/* A filter covers no more than its life, and 7 epochs before the current one. */
static void covered(void)
{
	__u64 inserts, ns, now = CREATED_NS, e, wrong = 0;
	struct epf_state s;

	epf_state_init(&s, CREATED_NS);
	for (e = 0; e < 20; e++) {
		epf_state_covered(&s, now + 1, &inserts, &ns);
		wrong += ns != 1 + 10 * (e < EPF_LIVE_EPOCHS ? e : EPF_LIVE_EPOCHS);
		now += 10;
		s.scanned = s.epoch;
		epf_state_rotate(&s, now);
	}
	tap_ok(!wrong,
	       "what is covered begins with the filter, then with its oldest epoch: %llu wrong",
	       wrong);
}

/* An epoch that seems to begin later than now has lasted for no time. */
static void due(void)
{
	static const struct {
		__u64 ns;
		bool want;
	} rows[] = { { 0, false },     { 9, false },          { 10, true },
		     { ~0ULL, false }, { 1ULL << 63, false }, { (1ULL << 63) - 1, true } };
	struct epf_window w = { .mode = EPF_MODE_TIME, .epoch_ns = 10 };
	__u32 i, wrong = 0;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		wrong += epf_window_due(&w, 0, rows[i].ns) != rows[i].want;
	tap_ok(!wrong, "an epoch is due after its length, not before its beginning: %u wrong",
	       wrong);
}

/* An age has a byte, and two of its values have another meaning. */
static void ages(void)
{
	static const struct {
		__u32 flags;
		int verdict, want;
	} rows[] = { { 0, EPF_ABSENT, 255 },
		     { 0, -EBUSY, 255 },
		     { 0, EPF_PRESENT, 0 },
		     { 0, EPF_PRESENT + 254, 254 },
		     { 0, EPF_PRESENT + 255, 254 },
		     { EPF_BATCH_UNKNOWN, EPF_ABSENT, 255 },
		     { EPF_BATCH_UNKNOWN, -EBUSY, 254 },
		     { EPF_BATCH_UNKNOWN, EPF_PRESENT, 0 },
		     { EPF_BATCH_UNKNOWN, EPF_PRESENT + 253, 253 },
		     { EPF_BATCH_UNKNOWN, EPF_PRESENT + 254, 253 } };
	__u32 i, wrong = 0;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		wrong += epf_batch_age(rows[i].flags, rows[i].verdict) != rows[i].want;
	tap_ok(!wrong, "an age above all that are told is the oldest of them: %u wrong", wrong);
}

static void header(void)
{
	struct epf_snap_header h = {
		.magic = EPF_SNAP_MAGIC,
		.version = EPF_SNAP_VERSION,
		.header_bytes = sizeof(h),
		.epoch_begin = EPF_EPOCH_FIRST,
		.epoch_end = EPF_EPOCH_MAX,
	};
	bool taken = epf_snap_sound(&h, EPF_EPOCH_MAX);

	h.epoch_end++;
	tap_ok(taken && !epf_snap_sound(&h, EPF_EPOCH_MAX), "a header may end with the last epoch");
}

int main(void)
{
	tap_plan(7);
	may_rotate();
	open_at();
	room();
	covered();
	due();
	ages();
	header();
	return tap_end();
}
