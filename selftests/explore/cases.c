// SPDX-License-Identifier: GPL-2.0
/*
 * The cases. Threads are called A, B, C and so on, in the order of their roles.
 */
#include "cases.h"
#include "search.h"
#include "since.h"

#define A (1 << 0)
#define B (1 << 1)
#define C (1 << 2)
#define EMPTY (1 << BEFORE_EMPTY)
#define STALE (1 << BEFORE_STALE)
#define CURRENT (1 << BEFORE_CURRENT)
#define ANY (EMPTY | STALE | CURRENT)

/* key, n, batch, await */
/* clang-format off */
#define INSERT(key) { ACT_INSERT, key, 1, 0, 0 }
#define SIGHT(key) { ACT_SIGHT, key, 1, 0, 0 }
#define SIGHT_AFTER(key, await) { ACT_SIGHT, key, 1, 0, await }
#define SIGHT_FIRST(key) { ACT_SIGHT_FIRST, key, 1, 0, 0 }
#define TEST(key, await) { ACT_TEST, key, 1, 0, await }
#define TEST_TWICE(key) { ACT_TEST, key, 2, 0, 0 }
#define ROTATE(n) { ACT_ROTATE, 0, n, 0, 0 }
#define ROTATE_AFTER(n, await) { ACT_ROTATE, 0, n, 0, await }
#define COUNT(key, n, batch) { ACT_COUNT, key, n, batch, 0 }
#define COUNT_SHARED(key, batch) { ACT_COUNT_SHARED, key, 1, batch, 0 }
#define COUNT_ROTATE(key, n) { ACT_COUNT_ROTATE, key, n, 1, 0 }
#define ROTATE_FULL(n) { ACT_ROTATE_FULL, 0, n, 0, 0 }
#define SCAN { ACT_SCAN, 0, 1, 0, 0 }
#define WRAP { ACT_WRAP, 0, 1, 0, 0 }
#define TURN(n) { ACT_TURN, 0, n, 0, 0 }
#define TICK(n) { ACT_TICK, 0, n, 0, 0 }
#define REPLACE { ACT_REPLACE, 0, 0, 0, 0 }
#define SWAP { ACT_SWAP, 0, 0, 0, 0 }
#define COME_ROUND(key) { ACT_COME_ROUND, key, 1, 0, 0 }
#define FILTER_INSERT(key, filter) { ACT_FILTER_INSERT, key, filter, 0, 0 }
#define FILTER_TEST(key, filter, await) \
	{ ACT_FILTER_TEST, key, filter, 0, await }

#define PUT(key, n) { ACT_PUT, key, n, 0, 0 }
#define FOLLOW(n, await) { ACT_FOLLOW, 0, n, 0, await }

#define PUT_NEW(key) { ACT_PUT_NEW, key, 1, 0, 0 }
#define TAIL(await) { ACT_TAIL, 0, 0, 0, await }

#define MIRROR(n, await) { ACT_MIRROR, 0, n, 0, await }
#define MIRROR_NEW(n, await) { ACT_MIRROR_NEW, 0, n, 0, await }
#define SINCE(key, await) { ACT_SINCE, key, 0, 0, await }
#define SINCE_INSIDE(key, await) { ACT_SINCE, key, 1, 0, await }
#define CHANGE { ACT_CHANGE, 0, 0, 0, 0 }
#define ESTIMATE { ACT_ESTIMATE, 0, 0, 0, 0 }

#define SCENE(name, grace, full, nr, ...) \
	{ name, 0, BEFORE_EMPTY, grace, full, { __VA_ARGS__ }, nr, 0, 0, 0, \
	  false, false }
#define LINE(name, epoch, nr, ...) \
	{ name, 0, BEFORE_EMPTY, false, 0, { __VA_ARGS__ }, nr, epoch, 0, 0, \
	  false, false }
#define RING(name, slots, nr, ...) \
	{ name, 0, BEFORE_EMPTY, false, 0, { __VA_ARGS__ }, nr, 0, slots, 0, \
	  false, false }
#define RING_BPF(name, grace, slots, nr, ...) \
	{ name, 0, BEFORE_EMPTY, grace, 0, { __VA_ARGS__ }, nr, 0, slots, 0, \
	  true, false }
#define KEPT(name, grace, slots, nr, ...) \
	{ name, 0, BEFORE_EMPTY, grace, 0, { __VA_ARGS__ }, nr, 0, 0, slots, \
	  false, false }
#define IN_BPF(name, grace, nr, ...) \
	{ name, 0, BEFORE_EMPTY, grace, 0, { __VA_ARGS__ }, nr, 0, 0, 0, true, \
	  false }
#define DATED(name, grace, bpf, nr, ...) \
	{ name, 0, BEFORE_EMPTY, grace, 0, { __VA_ARGS__ }, nr, 0, 0, 0, bpf, \
	  true }
#define SWEPT 255     /* a line of kind elastic is swept at the end of this epoch */
#define NOT_SWEPT 300 /* it is not swept soon */

#define ALL SEARCH_ALL, SEARCH_ALL, 0 /* depths of the search, and nothing is thorough */

const struct case_scene case_scenes[] = {
	{ "insert", SCENE("2 inserters, rotator, reader", false, 0, 4,
		INSERT(0), INSERT(1), ROTATE(2), TEST(0, A)), 1, ANY, ALL },
	{ "insert-wide", SCENE("2 inserters, 1 rotation, reader", false, 0, 4,
		INSERT(0), INSERT(1), ROTATE(1), TEST(0, A)), 2 | 4, STALE | CURRENT, ALL },
	{ "same", SCENE("2 inserters of one key, rotator, reader", false, 0, 4,
		INSERT(0), INSERT(0), ROTATE(2), TEST(0, A)), 1 | 2, ANY, ALL },
	{ "sight", SCENE("2 sightings, rotator", false, 0, 3,
		SIGHT(0), SIGHT(0), ROTATE(2)), 1 | 2, ANY, ALL },
	{ "sight-wide", SCENE("2 sightings, 1 rotation", false, 0, 3,
		SIGHT(0), SIGHT(0), ROTATE(1)), 4, STALE, 3, SEARCH_ALL, 0 },
	{ "first", SCENE("2 sightings, present keys not inserted, rotator", false, 0, 3,
		SIGHT_FIRST(0), SIGHT_FIRST(0), ROTATE(2)), 1 | 2, ANY, ALL },
	{ "sights", SCENE("3 sightings, rotator", false, 0, 4,
		SIGHT(0), SIGHT(0), SIGHT(0), ROTATE(1)), 1 | 2, STALE, SEARCH_ALL, SEARCH_ALL, 2 },
	{ "mixed", SCENE("2 sightings, inserter of another key, rotator", false, 0, 4,
		SIGHT(0), SIGHT(0), INSERT(1), ROTATE(1)), 1, ANY, ALL },
	{ "mixed-wide", SCENE("sighting, inserter of another key, rotator", false, 0, 3,
		SIGHT(0), INSERT(1), ROTATE(1)), 2, ANY, ALL },
	{ "again", SCENE("inserter, later sighting, 7 rotations", false, 0, 3,
		INSERT(0), SIGHT_AFTER(0, A), ROTATE(7)), 1, STALE, 2, 3, 0 },
	{ "grace", SCENE("2 inserters, 9 rotations, grace periods", true, 0, 3,
		INSERT(0), INSERT(1), ROTATE(9)), 1, ANY, 2, 4, 0 },
	{ "grace-sight", SCENE("2 sightings, 9 rotations, grace periods", true, 0, 3,
		SIGHT(0), SIGHT(0), ROTATE(9)), 1, STALE, 2, 3, 0 },
	{ "wrap", SCENE("2 inserters while a tag comes round, grace periods", true, 0, 3,
		INSERT(0), INSERT(SCENE_OLD), WRAP), 1, STALE, 2, 3, 0 },
	{ "clear", SCENE("inserter, clear, reader; inserter meanwhile", true, 0, 4,
		INSERT(0), ROTATE_AFTER(8, A), TEST(0, A | B), INSERT(1)), 1 | 2, STALE, 3, 4, 0 },
	{ "gone", SCENE("inserter, 16 rotations, reader", false, 0, 3,
		INSERT(0), ROTATE_AFTER(16, A), TEST(0, A | B)), 1 | 2 | 4, STALE, ALL },
	{ "count", SCENE("2 CPUs with batches of 2, rotator", false, 0, 3,
		COUNT(0, 2, 2), COUNT(2, 2, 2), ROTATE(2)), 1, STALE, ALL },
	{ "cpu", SCENE("2 threads of a CPU with a batch of 2, rotator", false, 0, 3,
		COUNT_SHARED(0, 2), COUNT_SHARED(1, 2), ROTATE(2)), 1, STALE, ALL },
	{ "full", SCENE("2 inserters count, rotator of full epochs", false, 2, 3,
		COUNT(0, 2, 1), COUNT(2, 2, 1), ROTATE_FULL(3)), 1, STALE, ALL },
	{ "inline", SCENE("2 inserters count and end full epochs", true, 1, 2,
		COUNT_ROTATE(0, 2), COUNT_ROTATE(1, 2)), 1, STALE, ALL },
	{ "scan", SCENE("scan, 2 inserters, rotator", false, 0, 4,
		SCAN, INSERT(0), INSERT(1), ROTATE(1)), 1, ANY, ALL },
	{ "scan-wide", SCENE("scan, inserter, rotator", false, 0, 3,
		SCAN, INSERT(0), ROTATE(1)), 2, ANY, ALL },
	{ "scan-stalls", SCENE("scan, inserter, a tag comes round", false, 0, 3,
		SCAN, INSERT(SCENE_OLD), ROTATE(24)), 1, STALE, 1, 2, 0 },
	{ "replace", SCENE("table replaced and freed, 2 inserters, reader", true, 0, 4,
		REPLACE, FILTER_INSERT(0, 0), FILTER_INSERT(1, 0), FILTER_TEST(0, 0, B)), 1 | 2,
		EMPTY, ALL },
	{ "swap", SCENE("2 filters swapped, inserters, readers of both", true, 0, 5,
		SWAP, FILTER_INSERT(0, 0), FILTER_INSERT(1, 1), FILTER_TEST(0, 0, A | B),
		FILTER_TEST(0, 1, A | B)), 1 | 2, STALE, ALL },
	{ "bpf", IN_BPF("BPF: 2 inserters, rotator, reader", false, 4,
		INSERT(0), INSERT(1), ROTATE(2), TEST(0, A)), 1, ANY, ALL },
	{ "bpf-same", IN_BPF("BPF: 2 inserters of one key, rotator, reader", false, 4,
		INSERT(0), INSERT(0), ROTATE(2), TEST(0, A)), 1 | 2, STALE, ALL },
	{ "bpf-sight", IN_BPF("BPF: 2 sightings, rotator", false, 3,
		SIGHT(0), SIGHT(0), ROTATE(2)), 1, ANY, ALL },
	{ "bpf-first", IN_BPF("BPF: 2 sightings, present keys not inserted, rotator", false, 3,
		SIGHT_FIRST(0), SIGHT_FIRST(0), ROTATE(2)), 1 | 2, STALE, ALL },
	{ "bpf-moves", IN_BPF("BPF: inserter, 8 rotations, grace periods", true, 2,
		INSERT(0), ROTATE(8)), 1, STALE, ALL },
	{ "bpf-turn", IN_BPF("BPF: 2 inserters, 9 rotations, 2 scans, grace periods", true, 3,
		INSERT(0), INSERT(1), TURN(9)), 1, STALE, 2, 3, 0 },
	{ "bpf-tick", IN_BPF("BPF: 2 inserters, 9 rotations by a timer, 2 scans", true, 3,
		INSERT(0), INSERT(1), TICK(9)), 1, STALE, 2, 3, 0 },
	{ "line", LINE("elastic: 2 inserters, reader of an old key", NOT_SWEPT, 3,
		INSERT(0), INSERT(2), TEST(SCENE_OLD, 0)), 1 | 2, ANY, ALL },
	{ "line-new", LINE("elastic: 2 inserters, reader of a new key", NOT_SWEPT, 3,
		INSERT(0), INSERT(2), TEST(0, A)), 1 | 2, ANY, ALL },
	{ "line-never", LINE("elastic: 2 inserters, reader of a key never there", NOT_SWEPT, 3,
		INSERT(SCENE_OLD), INSERT(1), TEST(0, 0)), 1, ANY, ALL },
	{ "line-rotate", LINE("elastic: inserter, 2 rotations, reader", NOT_SWEPT, 3,
		INSERT(0), ROTATE(2), TEST(0, A)), 1, ANY, ALL },
	{ "line-2-rotate", LINE("elastic: 2 inserters, 1 rotation", NOT_SWEPT, 3,
		INSERT(0), INSERT(2), ROTATE(1)), 1, STALE | CURRENT, ALL },
	{ "line-sight", LINE("elastic: 2 sightings of a new key, inserter", NOT_SWEPT, 3,
		SIGHT(0), SIGHT(0), INSERT(2)), 1 | 2, ANY, ALL },
	{ "line-first", LINE("elastic: 2 sightings, present keys not inserted, rotation, reader", NOT_SWEPT, 4,
		SIGHT_FIRST(0), SIGHT_FIRST(0), ROTATE(1), TEST(0, A | B)), 1, ANY, ALL },
	{ "line-sweep", LINE("elastic: inserter, sweep, reader of the new key", SWEPT, 3,
		INSERT(0), ROTATE(1), TEST(0, A)), 1 | 2, ANY, ALL },
	{ "line-swept", LINE("elastic: inserter, sweep, reader of an old key", SWEPT, 3,
		INSERT(0), ROTATE(1), TEST(SCENE_OLD, 0)), 1, STALE, ALL },
	{ "line-round", LINE("elastic: a stamp comes round, reader", SWEPT, 2,
		COME_ROUND(1), TEST(0, 0)), 1, STALE, ALL },
	{ "line-late", LINE("elastic: a stamp comes round, 2 tests of an old key", SWEPT, 2,
		COME_ROUND(1), TEST_TWICE(SCENE_OLD)), 1, STALE, ALL },
	{ "ring", RING("journal: 2 writers, room for both, reader", 2, 3,
		PUT(0, 1), PUT(1, 1), FOLLOW(2, A | B)), 1, EMPTY, ALL },
	{ "ring-again", RING("journal: a writer goes round, reader", 1, 2,
		PUT(0, 3), FOLLOW(2, A)), 1, EMPTY, ALL },
	{ "ring-lap", RING("journal: 2 writers in one slot, reader", 1, 3,
		PUT(0, 1), PUT(1, 2), FOLLOW(2, A | B)), 1, EMPTY, ALL },
	{ "ring-wide", RING("journal: 2 writers go round 2 slots, reader", 2, 3,
		PUT(0, 1), PUT(1, 2), FOLLOW(3, A | B)), 1, EMPTY, 3, SEARCH_ALL, 0 },
	{ "ring-three", RING("journal: 3 writers in one slot, reader", 1, 4,
		PUT(0, 1), PUT(1, 1), PUT(2, 1), FOLLOW(2, A | B | C)), 1, EMPTY, 1, 3, 0 },
	{ "bpf-ring", RING_BPF("BPF: journal: 2 writers, room for both, reader", false, 2, 3,
		PUT(0, 1), PUT(1, 1), FOLLOW(2, A | B)), 1, EMPTY, ALL },
	{ "bpf-ring-again", RING_BPF("BPF: journal: a writer goes round, reader", false, 1, 2,
		PUT(0, 3), FOLLOW(2, A)), 1, EMPTY, ALL },
	{ "bpf-ring-lap", RING_BPF("BPF: journal: 2 writers in one slot, reader", false, 1, 3,
		PUT(0, 1), PUT(1, 2), FOLLOW(2, A | B)), 1, EMPTY, ALL },
	{ "tail", RING_BPF("BPF: journal: 2 writers of one key, a tail after the second", true, 2, 3,
		PUT_NEW(0), PUT_NEW(0), TAIL(B)), 1, EMPTY, ALL },
	{ "mirror", KEPT("mirror: inserter, rotation, reader", false, 2, 3,
		FILTER_INSERT(0, 0), ROTATE(1), MIRROR(2, A | B)), 1, EMPTY | STALE, ALL },
	{ "mirror-two", KEPT("mirror: 2 inserters, rotation, reader", false, 2, 4,
		FILTER_INSERT(0, 0), FILTER_INSERT(1, 0), ROTATE(1), MIRROR(3, A | B | C)), 1,
		STALE, 2, 3, 0 },
	{ "mirror-begin", KEPT("mirror: a journal begins, inserter, rotation", true, 2, 3,
		FILTER_INSERT(0, 0), ROTATE(1), MIRROR_NEW(2, A | B)), 1, STALE, ALL },
	{ "mirror-swap", KEPT("mirror: inserter, a swap ends the journal, reader", false, 2, 3,
		FILTER_INSERT(0, 0), SWAP, MIRROR(1, A)), 1, EMPTY, ALL },
	{ "mirror-swap-begin", KEPT("mirror: inserter, swap, a journal begins", true, 2, 3,
		FILTER_INSERT(0, 0), SWAP, MIRROR_NEW(1, A)), 1, EMPTY, ALL },
	{ "estimate", SCENE("estimate, inserter, 2 rotations", false, 0, 3,
		ESTIMATE, INSERT(0), ROTATE(2)), 1, ANY, ALL },
	{ "since", DATED("inserter, 2 rotations, since when is all retained?", false, false, 3,
		INSERT(0), ROTATE(2), SINCE(SINCE_PAST, 0)), 1 | 2, EMPTY, ALL },
	{ "bpf-since", DATED("BPF: inserter, 2 rotations, since when?", false, true, 3,
		INSERT(0), ROTATE(2), SINCE(SINCE_PAST, 0)), 1 | 2, EMPTY, ALL },
	{ "since-window", DATED("inserter, 8 rotations, since when?", true, false, 3,
		INSERT(0), ROTATE(8), SINCE(0, A)), 1, EMPTY, 2, 3, 0 },
	{ "date", DATED("inserter, 2 rotations, starts of epochs", false, false, 2,
		INSERT(0), ROTATE(2)), 1, EMPTY, ALL },
	{ "since-change", DATED("inserter, other contents, since when?", true, false, 3,
		FILTER_INSERT(0, 0), CHANGE, SINCE_INSIDE(0, A)), 1 | 2, EMPTY, ALL },
	{ "bpf-since-change", DATED("BPF: inserter, other contents, since when?", true, true, 3,
		FILTER_INSERT(0, 0), CHANGE, SINCE_INSIDE(0, A)), 1 | 2, EMPTY, ALL },
};
/* clang-format on */
const int case_nr_scenes = sizeof(case_scenes) / sizeof(case_scenes[0]);

/* name, what is wrong, MC_..., scene, FATE_... */
/* clang-format off */
#define V(name, text, flag, scene, fate) { name, text, MC_##flag, scene, FATE_##fate },

const struct case_variant case_variants[] = {
	V("store", "a stale lane replaced by a store, not a CAS", NO_CAS, "insert", SC)
	V("or", "an OR that is not atomic", NO_ATOMIC_OR, "insert", SC)
	V("reread", "no look at the epoch after the OR (O2)", NO_REREAD, "insert", SC)
	V("ordered", "that look with a relaxed load: no barrier (O2)", RLX_ORDERED, "insert", WEAK)
	V("or-order", "a relaxed OR: no barrier (O2)", RLX_OR, "insert", WEAK)
	V("cas-order", "a relaxed CAS of a lane: no barrier (O2)", RLX_CAS, "insert", WEAK)
	V("complete-order", "a complete lane seen with a relaxed load", RLX_LANE, "same", WEAK)
	V("holds-order", "a present key seen with relaxed loads", RLX_HOLDS, "sight", WEAK)
	V("grace", "no grace period before a lane is used again (O3)", NO_GRACE, "grace", SC)
	V("grace-wrap", "the same while a tag comes round (O3)", NO_GRACE, "wrap", SC)
	V("sees-self", "an OR that tells the word afterwards", OR_SEES_SELF, "mixed", SC)
	V("sees-none", "an OR that tells nothing", OR_SEES_NONE, "mixed", SC)
	V("take-store", "the bits that decide set by a store, not a CAS", NO_CAS, "sight", SC)
	V("take-order", "a relaxed CAS that decides", RLX_CAS, "sight", WEAK)
	V("count-on", "counts that go on over the epochs", COUNT_ON, "count", SC)
	V("late-flush", "a late addition counted for the epoch it arrives in",
	  LATE_FLUSH, "count", SC)
	V("late-pending", "a CPU that keeps insertions of an older epoch",
	  LATE_PENDING, "count", SC)
	V("count-store", "counts added by a store, not a CAS", COUNT_STORE, "count", NONE)
	V("scan-all", "a scan that does not look at the tag", SCAN_ALL, "scan", SC)
	V("scan-store", "a scan that stores, without CAS", SCAN_STORE, "scan", SC)
	V("scan-unlocked", "a scan that does not hold rotation", SCAN_UNLOCKED, "scan-stalls", SC)
	V("tag", "a tag of 1 bit", TAG_1, "gone", SC)
	V("free", "a replaced table freed without a grace period", FREE_NOW, "replace", SC)
	V("publish", "a table published by a relaxed store", RLX_TABLE, "replace", WEAK)
	V("begin-order", "a relaxed first load of the epoch", RLX_BEGIN, "insert", NONE)
	V("epoch-order", "a relaxed store of the epoch", RLX_EPOCH, "insert", NONE)
	V("count-order", "a relaxed reset of the count", RLX_COUNT, "count", NONE)
	V("add-order", "a relaxed CAS of the count", RLX_ADD, "count", NONE)
	V("scan-order", "a relaxed CAS of the scan", RLX_SCAN, "scan", NONE)
	V("bpf-order", "BPF: no further atomic before that look (O2)", RLX_ORDERED, "bpf", WEAK)
	V("bpf-same-order", "BPF: the same of a complete lane", RLX_ORDERED, "bpf-same", WEAK)
	V("bpf-sight-order", "BPF: the same of a present key", RLX_ORDERED, "bpf-sight", WEAK)
	V("bpf-grace", "BPF: no grace period before a lane is used again (O3)",
	  NO_GRACE, "bpf-turn", SC)
	V("bpf-address", "BPF: an address that does not depend on the epoch",
	  RLX_BEGIN, "bpf-turn", WEAK)
	V("tick-grace", "BPF: a timer that does not look who is inside", NO_GRACE, "bpf-tick", SC)
	V("tick-enter", "BPF: no barrier when a section begins", RLX_LOCK, "bpf-tick", WEAK)
	V("tick-leave", "BPF: a relaxed subtraction when a section ends",
	  RLX_UNLOCK, "bpf-tick", WEAK)
	V("tick-look", "BPF: no barrier before the timer looks", RLX_HEAD, "bpf-tick", WEAK)
	V("bound-stale", "bound: 1 CAS over a stale lane", TIGHT, "bpf-turn", SC)
	V("bound-moves", "bound: 7 tries of an insert", TIGHT, "bpf-moves", SC)
	V("line-lock", "elastic: the lock of a line taken by a store", LOCK_STORE, "line", SC)
	V("line-unlock", "elastic: the lock of a line not given back", NO_UNLOCK, "line", SC)
	V("line-stamp", "elastic: a change that leaves the stamp", OLD_STAMP, "line", SC)
	V("line-early", "elastic: an insert that reads the phase, then locks (E1)",
	  EARLY_PHASE, "line-2-rotate", SC)
	V("line-lock-order", "elastic: a relaxed locking CAS (E1)", RLX_LOCK, "line", WEAK)
	V("line-unlock-order", "elastic: a relaxed unlocking CAS (E1)", RLX_UNLOCK, "line", WEAK)
	V("line-reread", "elastic: no look at the phase after an insert (E2)",
	  NO_REREAD, "line-rotate", SC)
	V("line-ordered", "elastic: that look with a relaxed load (E2)",
	  RLX_ORDERED, "line-rotate", WEAK)
	V("line-blind", "elastic: a test that does not see the lock (E3)", TEST_BLIND, "line", SC)
	V("line-once", "elastic: a test that looks at the head once (E3)", TEST_ONCE, "line", SC)
	V("line-long", "elastic: a test that does not see epochs end (E3)",
	  TEST_LONG, "line-round", SC)
	V("line-head-order", "elastic: the head seen with a relaxed load (E3)",
	  RLX_HEAD, "line", WEAK)
	V("line-words-order", "elastic: the words seen with relaxed loads (E3)",
	  RLX_WORDS, "line", WEAK)
	V("line-write-order", "elastic: the words written by relaxed stores (E3)",
	  RLX_WRITES, "line", WEAK)
	V("line-sweep-lock", "elastic: a sweep that does not lock", SWEEP_LOOSE, "line-sweep", SC)
	V("line-begin-order", "elastic: the phase seen with a relaxed load (E3)",
	  RLX_BEGIN, "line-late", WEAK)
	V("line-epoch-order", "elastic: a relaxed store of the phase (E3)",
	  RLX_EPOCH, "line-late", WEAK)
	V("claim", "journal: a writer that takes whatever slot", SLOT_BLIND, "ring-lap", SC)
	V("claim-store", "journal: a slot taken by a store, not a CAS", SLOT_STORE, "ring-lap", SC)
	V("quiet", "journal: lost records that are not counted", SLOT_QUIET, "ring-lap", SC)
	V("bpf-claim-store", "BPF: journal: a slot taken by a store, not a CAS", SLOT_STORE,
	  "bpf-ring-lap", SC)
	V("bpf-put-order", "BPF: journal: no fence before the store of seq (J1)", RLX_SEQ,
	  "bpf-ring", WEAK)
	V("bpf-word-order", "BPF: journal: no fences before the words (J2)", RLX_REC,
	  "bpf-ring-again", WEAK)
	V("bpf-lines-order", "BPF: journal: a relaxed addition that reserves (J3)", RLX_NEXT,
	  "bpf-ring", WEAK)
	V("bpf-lost-order", "BPF: journal: a relaxed addition of what is lost (J4)", RLX_LOST,
	  "bpf-ring-lap", WEAK)
	V("tail-sync", "journal: a tail that does not wait for writers under way", NO_GRACE,
	  "tail", SC)
	V("once", "journal: a reader that looks at seq once (J2)", SLOT_ONCE, "ring-again", SC)
	V("put-order", "journal: a relaxed store of seq (J1)", RLX_SEQ, "ring", WEAK)
	V("get-seq-order", "journal: seq seen with a relaxed load (J1)", RLX_GET_SEQ, "ring", WEAK)
	V("word-order", "journal: the words written by relaxed stores (J2)",
	  RLX_REC, "ring-again", WEAK)
	V("get-order", "journal: the words seen with relaxed loads (J2)",
	  RLX_GET, "ring-again", WEAK)
	V("lines-order", "journal: a relaxed addition that reserves (J3)", RLX_NEXT, "ring", WEAK)
	V("claim-order", "journal: a relaxed CAS of seq", RLX_CLAIM, "ring-lap", NONE)
	V("lost-order", "journal: a relaxed addition of what is lost (J4)",
	  RLX_LOST, "ring-lap", WEAK)
	V("mirror-late", "mirror: positions noted after the copy", MIRROR_LATE, "mirror", SC)
	V("mirror-one", "mirror: a record applied to the lane of its epoch only",
	  MIRROR_ONE, "mirror", SC)
	V("mirror-quiet", "mirror: rotations without a record", ROTATE_QUIET, "mirror", SC)
	V("mirror-now", "mirror: no grace period before the copy", JOURNAL_NOW, "mirror-begin", SC)
	V("mirror-lines-order", "mirror: a relaxed addition that reserves (J3)",
	  RLX_NEXT, "mirror", WEAK)
	V("swap-late", "swap: the journal ends after the filter has its table",
	  SWAP_LATE, "mirror-swap", SC)
	V("swap-loose", "swap: a journal may begin between its end and the swap",
	  SWAP_LOOSE, "mirror-swap-begin", SC)
	V("end-late", "swap: the reader is told after insertions find no journal",
	  END_LATE, "mirror-swap", SC)
	V("end-order", "swap: the journal taken away by a relaxed store",
	  RLX_END, "mirror-swap", WEAK)
	V("swap-order", "swap: the other table published by a relaxed store",
	  RLX_TABLE, "mirror-swap", WEAK)
	V("estimate-keep", "estimate: stored for lanes that began meanwhile, too",
	  ESTIMATE_KEEP, "estimate", SC)
	V("estimate-late", "estimate: the epoch loaded after the sample",
	  ESTIMATE_LATE, "estimate", SC)
	V("estimate-loose", "estimate: stored without the lock", ESTIMATE_LOOSE, "estimate", SC)
	V("estimate-off", "estimate: that of the current epoch dropped, too",
	  ESTIMATE_OFF, "estimate", SC)
	V("estimate-rotate", "estimate: a rotation leaves it as it is",
	  ESTIMATE_ROTATE, "estimate", SC)
	V("since-early", "since: asked before the answer", SINCE_EARLY, "since", SC)
	V("since-order", "since: the epoch seen with a plain load", RLX_LATER, "since", WEAK)
	V("bpf-since-order", "BPF: since: no fence before the epoch", RLX_LATER,
	  "bpf-since", WEAK)
	V("since-epoch-order", "since: a relaxed store of the epoch", RLX_EPOCH,
	  "since-window", WEAK)
	V("since-date", "since: starts by a clock that is read before the epoch is stored",
	  DATE_EARLY, "since-window", SC)
	V("since-start", "since: the start stored after the epoch", START_LATE,
	  "since-window", NONE)
	V("since-late", "since: other contents visible before the filter has none for certain",
	  BEGAN_LATE, "since-change", SC)
	V("since-now", "since: no grace period before other contents count", NO_GRACE,
	  "since-change", SC)
	V("bpf-since-late", "BPF: since: other contents visible before it has none for certain",
	  BEGAN_LATE, "bpf-since-change", SC)
	V("bpf-since-now", "BPF: since: no grace period before other contents count", NO_GRACE,
	  "bpf-since-change", SC)
	V("since-change-order", "since: other contents made visible by a relaxed store",
	  RLX_TABLE, "since-change", WEAK)
	V("date-early", "date: the clock read before the epoch is stored", DATE_EARLY, "date", SC)
	V("date-order", "date: no barrier before the clock is read", DATE_LOOSE, "date", WEAK)
};
/* clang-format on */
const int case_nr_variants = sizeof(case_variants) / sizeof(case_variants[0]);
