// SPDX-License-Identifier: GPL-2.0
/*
 * The cases. Threads are A, B, C and so on, in the order in which they stand.
 */
#include "cases.h"
#include "search.h"

#define A (1 << 0)
#define B (1 << 1)
#define C (1 << 2)
#define EMPTY (1 << BEFORE_EMPTY)
#define STALE (1 << BEFORE_STALE)
#define CURRENT (1 << BEFORE_CURRENT)
#define ANY (EMPTY | STALE | CURRENT)

/* key, n, batch, await */
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
#define REPLACE { ACT_REPLACE, 0, 0, 0, 0 }
#define SWAP { ACT_SWAP, 0, 0, 0, 0 }
#define COME_ROUND(key) { ACT_COME_ROUND, key, 1, 0, 0 }
#define FILTER_INSERT(key, filter) { ACT_FILTER_INSERT, key, filter, 0, 0 }
#define FILTER_TEST(key, filter, await) \
	{ ACT_FILTER_TEST, key, filter, 0, await }

#define PUT(key, n) { ACT_PUT, key, n, 0, 0 }
#define FOLLOW(n, await) { ACT_FOLLOW, 0, n, 0, await }

#define SCENE(name, grace, full, nr, ...) \
	{ name, 0, BEFORE_EMPTY, grace, full, { __VA_ARGS__ }, nr, 0, 0 }
#define LINE(name, epoch, nr, ...) \
	{ name, 0, BEFORE_EMPTY, false, 0, { __VA_ARGS__ }, nr, epoch, 0 }
#define RING(name, slots, nr, ...) \
	{ name, 0, BEFORE_EMPTY, false, 0, { __VA_ARGS__ }, nr, 0, slots }
#define SWEPT 255     /* a line of kind elastic, at the end of this epoch */
#define NOT_SWEPT 300 /* nor soon */

const struct case_scene case_scenes[] = {
	{ "insert", SCENE("2 inserters, rotator, reader", false, 0, 4,
		INSERT(0), INSERT(1), ROTATE(2), TEST(0, A)),
	  1, ANY, SEARCH_ALL, SEARCH_ALL },
	{ "insert-wide", SCENE("2 inserters, 1 rotation, reader", false, 0, 4,
		INSERT(0), INSERT(1), ROTATE(1), TEST(0, A)),
	  2 | 4, STALE | CURRENT, SEARCH_ALL, SEARCH_ALL },
	{ "same", SCENE("2 inserters of one key, rotator, reader", false, 0, 4,
		INSERT(0), INSERT(0), ROTATE(2), TEST(0, A)),
	  1 | 2, ANY, SEARCH_ALL, SEARCH_ALL },
	{ "sight", SCENE("2 sightings, rotator", false, 0, 3,
		SIGHT(0), SIGHT(0), ROTATE(2)),
	  1 | 2, ANY, SEARCH_ALL, SEARCH_ALL },
	{ "sight-wide", SCENE("2 sightings, 1 rotation", false, 0, 3,
		SIGHT(0), SIGHT(0), ROTATE(1)), 4, STALE, 3, SEARCH_ALL },
	{ "first", SCENE("2 sightings, present keys not inserted, rotator",
		false, 0, 3, SIGHT_FIRST(0), SIGHT_FIRST(0), ROTATE(2)),
	  1 | 2, ANY, SEARCH_ALL, SEARCH_ALL },
	{ "sights", SCENE("3 sightings, rotator", false, 0, 4,
		SIGHT(0), SIGHT(0), SIGHT(0), ROTATE(1)),
	  1 | 2, STALE, SEARCH_ALL, SEARCH_ALL },
	{ "mixed", SCENE("2 sightings, inserter of another key, rotator",
		false, 0, 4, SIGHT(0), SIGHT(0), INSERT(1), ROTATE(1)),
	  1, ANY, SEARCH_ALL, SEARCH_ALL },
	{ "mixed-wide", SCENE("sighting, inserter of another key, rotator",
		false, 0, 3, SIGHT(0), INSERT(1), ROTATE(1)),
	  2, ANY, SEARCH_ALL, SEARCH_ALL },
	{ "again", SCENE("inserter, later sighting, 7 rotations", false, 0, 3,
		INSERT(0), SIGHT_AFTER(0, A), ROTATE(7)),
	  1, STALE, 2, 3 },
	{ "grace", SCENE("2 inserters, 9 rotations, grace periods", true, 0, 3,
		INSERT(0), INSERT(1), ROTATE(9)), 1, ANY, 2, 4 },
	{ "grace-sight", SCENE("2 sightings, 9 rotations, grace periods", true,
		0, 3, SIGHT(0), SIGHT(0), ROTATE(9)), 1, STALE, 2, 3 },
	{ "wrap", SCENE("2 inserters while a tag comes round, grace periods",
		true, 0, 3, INSERT(0), INSERT(SCENE_OLD), WRAP), 1, STALE, 2, 3 },
	{ "clear", SCENE("inserter, clear, reader; inserter meanwhile", true, 0,
		4, INSERT(0), ROTATE_AFTER(8, A), TEST(0, A | B), INSERT(1)),
	  1 | 2, STALE, 3, 4 },
	{ "gone", SCENE("inserter, 16 rotations, reader", false, 0, 3,
		INSERT(0), ROTATE_AFTER(16, A), TEST(0, A | B)),
	  1 | 2 | 4, STALE, SEARCH_ALL, SEARCH_ALL },
	{ "count", SCENE("2 CPUs with batches of 2, rotator", false, 0, 3,
		COUNT(0, 2, 2), COUNT(2, 2, 2), ROTATE(2)),
	  1, STALE, SEARCH_ALL, SEARCH_ALL },
	{ "cpu", SCENE("2 threads of a CPU with a batch of 2, rotator", false,
		0, 3, COUNT_SHARED(0, 2), COUNT_SHARED(1, 2), ROTATE(2)),
	  1, STALE, SEARCH_ALL, SEARCH_ALL },
	{ "full", SCENE("2 inserters count, rotator of full epochs", false, 2,
		3, COUNT(0, 2, 1), COUNT(2, 2, 1), ROTATE_FULL(3)),
	  1, STALE, SEARCH_ALL, SEARCH_ALL },
	{ "inline", SCENE("2 inserters count and end full epochs", true, 1, 2,
		COUNT_ROTATE(0, 2), COUNT_ROTATE(1, 2)),
	  1, STALE, SEARCH_ALL, SEARCH_ALL },
	{ "scan", SCENE("scan, 2 inserters, rotator", false, 0, 4,
		SCAN, INSERT(0), INSERT(1), ROTATE(1)),
	  1, ANY, SEARCH_ALL, SEARCH_ALL },
	{ "scan-wide", SCENE("scan, inserter, rotator", false, 0, 3,
		SCAN, INSERT(0), ROTATE(1)), 2, ANY, SEARCH_ALL, SEARCH_ALL },
	{ "scan-stalls", SCENE("scan, inserter, a tag comes round", false, 0, 3,
		SCAN, INSERT(SCENE_OLD), ROTATE(24)), 1, STALE, 1, 2 },
	{ "replace", SCENE("table replaced and freed, 2 inserters, reader",
		true, 0, 4, REPLACE, FILTER_INSERT(0, 0), FILTER_INSERT(1, 0),
		FILTER_TEST(0, 0, B)),
	  1 | 2, EMPTY, SEARCH_ALL, SEARCH_ALL },
	{ "swap", SCENE("2 filters swapped, inserters, readers of both", true,
		0, 5, SWAP, FILTER_INSERT(0, 0), FILTER_INSERT(1, 1),
		FILTER_TEST(0, 0, A | B), FILTER_TEST(0, 1, A | B)),
	  1 | 2, STALE, SEARCH_ALL, SEARCH_ALL },
	{ "line", LINE("elastic: 2 inserters, reader of an old key", NOT_SWEPT,
		3, INSERT(0), INSERT(2), TEST(SCENE_OLD, 0)),
	  1 | 2, ANY, SEARCH_ALL, SEARCH_ALL },
	{ "line-new", LINE("elastic: 2 inserters, reader of a new key", NOT_SWEPT,
		3, INSERT(0), INSERT(2), TEST(0, A)),
	  1 | 2, ANY, SEARCH_ALL, SEARCH_ALL },
	{ "line-never", LINE("elastic: 2 inserters, reader of a key never there",
		NOT_SWEPT, 3, INSERT(SCENE_OLD), INSERT(1), TEST(0, 0)),
	  1, ANY, SEARCH_ALL, SEARCH_ALL },
	{ "line-rotate", LINE("elastic: inserter, 2 rotations, reader", NOT_SWEPT,
		3, INSERT(0), ROTATE(2), TEST(0, A)),
	  1, ANY, SEARCH_ALL, SEARCH_ALL },
	{ "line-2-rotate", LINE("elastic: 2 inserters, 1 rotation", NOT_SWEPT,
		3, INSERT(0), INSERT(2), ROTATE(1)),
	  1, STALE | CURRENT, SEARCH_ALL, SEARCH_ALL },
	{ "line-sweep", LINE("elastic: inserter, sweep, reader of the new key",
		SWEPT, 3, INSERT(0), ROTATE(1), TEST(0, A)),
	  1 | 2, ANY, SEARCH_ALL, SEARCH_ALL },
	{ "line-swept", LINE("elastic: inserter, sweep, reader of an old key",
		SWEPT, 3, INSERT(0), ROTATE(1), TEST(SCENE_OLD, 0)),
	  1, STALE, SEARCH_ALL, SEARCH_ALL },
	{ "line-round", LINE("elastic: a stamp comes round, reader", SWEPT, 2,
		COME_ROUND(1), TEST(0, 0)), 1, STALE, SEARCH_ALL, SEARCH_ALL },
	{ "line-late", LINE("elastic: a stamp comes round, 2 tests of an old key",
		SWEPT, 2, COME_ROUND(1), TEST_TWICE(SCENE_OLD)),
	  1, STALE, SEARCH_ALL, SEARCH_ALL },
	{ "ring", RING("journal: 2 writers, room for both, reader", 2, 3,
		PUT(0, 1), PUT(1, 1), FOLLOW(2, A | B)),
	  1, EMPTY, SEARCH_ALL, SEARCH_ALL },
	{ "ring-again", RING("journal: a writer goes round, reader", 1, 2,
		PUT(0, 3), FOLLOW(2, A)),
	  1, EMPTY, SEARCH_ALL, SEARCH_ALL },
	{ "ring-lap", RING("journal: 2 writers in one slot, reader", 1, 3,
		PUT(0, 1), PUT(1, 2), FOLLOW(2, A | B)),
	  1, EMPTY, SEARCH_ALL, SEARCH_ALL },
	{ "ring-wide", RING("journal: 2 writers go round 2 slots, reader", 2, 3,
		PUT(0, 1), PUT(1, 2), FOLLOW(3, A | B)),
	  1, EMPTY, 3, SEARCH_ALL },
	{ "ring-three", RING("journal: 3 writers in one slot, reader", 1, 4,
		PUT(0, 1), PUT(1, 1), PUT(2, 1), FOLLOW(2, A | B | C)),
	  1, EMPTY, 1, 3 },
};
const int case_nr_scenes = sizeof(case_scenes) / sizeof(case_scenes[0]);

const struct case_variant case_variants[] = {
	{ "store", "a stale lane replaced by a store, not a CAS",
	  MC_NO_CAS, "insert", FATE_SC },
	{ "or", "an OR that is not atomic",
	  MC_NO_ATOMIC_OR, "insert", FATE_SC },
	{ "reread", "no look at the epoch after the OR (O2)",
	  MC_NO_REREAD, "insert", FATE_SC },
	{ "ordered", "that look with a relaxed load: no barrier (O2)",
	  MC_RLX_ORDERED, "insert", FATE_WEAK },
	{ "or-order", "a relaxed OR: no barrier (O2)",
	  MC_RLX_OR, "insert", FATE_WEAK },
	{ "cas-order", "a relaxed CAS of a lane: no barrier (O2)",
	  MC_RLX_CAS, "insert", FATE_WEAK },
	{ "complete-order", "a complete lane seen with a relaxed load",
	  MC_RLX_LANE, "same", FATE_WEAK },
	{ "holds-order", "a present key seen with relaxed loads",
	  MC_RLX_HOLDS, "sight", FATE_WEAK },
	{ "grace", "no grace period before a lane is used again (O3)",
	  MC_NO_GRACE, "grace", FATE_SC },
	{ "grace-wrap", "the same while a tag comes round (O3)",
	  MC_NO_GRACE, "wrap", FATE_SC },
	{ "sees-self", "an OR that tells the word afterwards",
	  MC_OR_SEES_SELF, "sight", FATE_SC },
	{ "sees-none", "an OR that tells nothing",
	  MC_OR_SEES_NONE, "sight", FATE_SC },
	{ "count-on", "counts that go on over the epochs",
	  MC_COUNT_ON, "count", FATE_SC },
	{ "late-flush", "a late addition counted for the epoch it arrives in",
	  MC_LATE_FLUSH, "count", FATE_SC },
	{ "late-pending", "a CPU that keeps insertions of an older epoch",
	  MC_LATE_PENDING, "count", FATE_SC },
	{ "count-store", "counts added by a store, not a CAS",
	  MC_COUNT_STORE, "count", FATE_NONE },
	{ "scan-all", "a scan that does not look at the tag",
	  MC_SCAN_ALL, "scan", FATE_SC },
	{ "scan-store", "a scan that stores, without CAS",
	  MC_SCAN_STORE, "scan", FATE_SC },
	{ "scan-unlocked", "a scan that does not hold rotation",
	  MC_SCAN_UNLOCKED, "scan-stalls", FATE_SC },
	{ "tag", "a tag of 1 bit", MC_TAG_1, "gone", FATE_SC },
	{ "free", "a replaced table freed without a grace period",
	  MC_FREE_NOW, "replace", FATE_SC },
	{ "publish", "a table published by a relaxed store",
	  MC_RLX_TABLE, "replace", FATE_WEAK },
	{ "begin-order", "a relaxed first load of the epoch",
	  MC_RLX_BEGIN, "insert", FATE_NONE },
	{ "epoch-order", "a relaxed store of the epoch",
	  MC_RLX_EPOCH, "insert", FATE_NONE },
	{ "count-order", "a relaxed reset of the count",
	  MC_RLX_COUNT, "count", FATE_NONE },
	{ "add-order", "a relaxed CAS of the count",
	  MC_RLX_ADD, "count", FATE_NONE },
	{ "scan-order", "a relaxed CAS of the scan",
	  MC_RLX_SCAN, "scan", FATE_NONE },
	{ "line-lock", "elastic: the lock of a line taken by a store",
	  MC_LOCK_STORE, "line", FATE_SC },
	{ "line-unlock", "elastic: the lock of a line not given back",
	  MC_NO_UNLOCK, "line", FATE_SC },
	{ "line-stamp", "elastic: a change that leaves the stamp",
	  MC_OLD_STAMP, "line", FATE_SC },
	{ "line-early", "elastic: an insert that reads the phase, then locks (E1)",
	  MC_EARLY_PHASE, "line-2-rotate", FATE_SC },
	{ "line-lock-order", "elastic: a relaxed locking CAS (E1)",
	  MC_RLX_LOCK, "line", FATE_WEAK },
	{ "line-unlock-order", "elastic: a relaxed unlocking CAS (E1)",
	  MC_RLX_UNLOCK, "line", FATE_WEAK },
	{ "line-reread", "elastic: no look at the phase after an insert (E2)",
	  MC_NO_REREAD, "line-rotate", FATE_SC },
	{ "line-ordered", "elastic: that look with a relaxed load (E2)",
	  MC_RLX_ORDERED, "line-rotate", FATE_WEAK },
	{ "line-blind", "elastic: a test that does not see the lock (E3)",
	  MC_TEST_BLIND, "line", FATE_SC },
	{ "line-once", "elastic: a test that looks at the head once (E3)",
	  MC_TEST_ONCE, "line", FATE_SC },
	{ "line-long", "elastic: a test that does not see epochs end (E3)",
	  MC_TEST_LONG, "line-round", FATE_SC },
	{ "line-head-order", "elastic: the head seen with a relaxed load (E3)",
	  MC_RLX_HEAD, "line", FATE_WEAK },
	{ "line-words-order", "elastic: the words seen with relaxed loads (E3)",
	  MC_RLX_WORDS, "line", FATE_WEAK },
	{ "line-write-order", "elastic: the words written by relaxed stores (E3)",
	  MC_RLX_WRITES, "line", FATE_WEAK },
	{ "line-sweep-lock", "elastic: a sweep that does not lock",
	  MC_SWEEP_LOOSE, "line-sweep", FATE_SC },
	{ "line-begin-order", "elastic: the phase seen with a relaxed load (E3)",
	  MC_RLX_BEGIN, "line-late", FATE_WEAK },
	{ "line-epoch-order", "elastic: a relaxed store of the phase (E3)",
	  MC_RLX_EPOCH, "line-late", FATE_WEAK },
	{ "claim", "journal: a writer that takes whatever slot",
	  MC_SLOT_BLIND, "ring-lap", FATE_SC },
	{ "claim-store", "journal: a slot taken by a store, not a CAS",
	  MC_SLOT_STORE, "ring-lap", FATE_SC },
	{ "quiet", "journal: lost records that are not counted",
	  MC_SLOT_QUIET, "ring-lap", FATE_SC },
	{ "once", "journal: a reader that looks at seq once (J2)",
	  MC_SLOT_ONCE, "ring-again", FATE_SC },
	{ "put-order", "journal: a relaxed store of seq (J1)",
	  MC_RLX_SEQ, "ring", FATE_WEAK },
	{ "get-seq-order", "journal: seq seen with a relaxed load (J1)",
	  MC_RLX_GET_SEQ, "ring", FATE_WEAK },
	{ "word-order", "journal: the words written by relaxed stores (J2)",
	  MC_RLX_REC, "ring-again", FATE_WEAK },
	{ "get-order", "journal: the words seen with relaxed loads (J2)",
	  MC_RLX_GET, "ring-again", FATE_WEAK },
	{ "lines-order", "journal: a relaxed addition that reserves (J3)",
	  MC_RLX_NEXT, "ring", FATE_WEAK },
	{ "claim-order", "journal: a relaxed CAS of seq",
	  MC_RLX_CLAIM, "ring-lap", FATE_NONE },
	{ "lost-order", "journal: a relaxed addition of what is lost (J4)",
	  MC_RLX_LOST, "ring-lap", FATE_WEAK },
};
const int case_nr_variants =
	sizeof(case_variants) / sizeof(case_variants[0]);
