// SPDX-License-Identifier: GPL-2.0
/*
 * The core's primitives as accesses of the machine, with the changes of the current
 * variant. Which protection an access belongs to follows from its function.
 */
#include "machine.h"
#include "laws.h"
#include "scene.h"

#define LOCKED (1ULL << EPF_ELASTIC_LOCK)

static bool is(const char *where, const char *function)
{
	return !strcmp(where, function);
}

/* Does the variant disable @what? Not in accesses of the properties. */
static bool out(__u64 what)
{
	return mc_running() >= 0 && mc.out & what;
}

/* Does the function set bits in a lane and return what it found there? */
static bool by_setter(const char *where)
{
	return is(where, "epf_lane_set") || is(where, "epf_lane_take");
}

/* Does the address of the lane depend on the epoch in this function? */
static bool by_epoch(const char *where)
{
	return by_setter(where) || is(where, "epf_lane_add") || is(where, "epf_lanes_sight_set") ||
	       is(where, "epf_probe_holds") || is(where, "epf_probe_holds_all") ||
	       is(where, "epf_probe_first_lacking");
}

static struct mc_answer access_word(enum mc_kind kind, const __u64 *p, __u64 value, __u64 old,
				    bool order, const char *where)
{
	struct mc_op op = {
		.kind = kind,
		.word = mc_word(p),
		.value = value,
		.old = old,
		.order = order,
		.where = where,
	};

	op.depends = (mc.scene->bpf && by_epoch(where)) || is(where, "epf_state_since") ||
		     is(where, "since_ask");
	return mc_access(&op);
}

/* A thread that waits for the lock of a line sleeps instead of spinning. */
static __u64 load_unlocked(const __u64 *p, const char *where)
{
	struct mc_op op = {
		.kind = MC_LOAD, .word = mc_word(p), .without = LOCKED, .where = where
	};

	if (out(MC_EARLY_PHASE))
		mc_noted.begun = access_word(MC_LOAD, mc_epoch_word(0), 0, 0, false, where).value;
	return mc_access(&op).value;
}

/* Load of the phase: by an insert, or the second one of a test. */
static __u64 load_phase(const __u64 *p, const char *where)
{
	bool tests = is(where, "epf_elastic_test");
	__u64 v;

	if (out(tests ? MC_TEST_LONG : MC_EARLY_PHASE))
		return mc_noted.begun;
	v = access_word(MC_LOAD, p, 0, 0, false, where).value;
	if (tests)
		mc_noted.sure &= !((v ^ mc_noted.begun) >> 1);
	else
		mc_noted.begun = v;
	return v;
}

/* Load of the head of a line: by a test, which loads it twice in a try. */
static __u64 load_head(const __u64 *p, const char *where)
{
	__u64 v = access_word(MC_ACQUIRE, p, 0, 0, !out(MC_RLX_HEAD), where).value;

	if (out(MC_TEST_BLIND))
		v &= ~LOCKED;
	mc_noted.head = v;
	mc_noted.sure = false;
	return v;
}

static __u64 load_head_again(const __u64 *p, const char *where)
{
	__u64 v = mc_noted.head;

	if (!out(MC_TEST_ONCE))
		v = access_word(MC_LOAD, p, 0, 0, false, where).value;
	if (out(MC_TEST_BLIND))
		v &= ~LOCKED;
	mc_noted.sure = v == mc_noted.head;
	return v;
}

/* ---- the ring of a journal ---- */

static bool in_journal(const __u64 *p)
{
	return p >= (const __u64 *)&mc_world.journal && p < (const __u64 *)(&mc_world.journal + 1);
}

static bool by_writer(const char *where)
{
	return is(where, "epf_journal_put") || is(where, "epf_journal_claim");
}

/* Load of seq: by a writer, or the second one of the reader. */
static __u64 load_slot(const __u64 *p, const char *where)
{
	if (by_writer(where) && out(MC_SLOT_BLIND))
		return 0;
	if (is(where, "epf_journal_get") && out(MC_SLOT_ONCE))
		return mc_noted.head;
	return access_word(MC_LOAD, p, 0, 0, false, where).value;
}

static bool is_seq(const __u64 *p)
{
	return p == &mc_world.journal.record[0].seq || p == &mc_world.journal.record[1].seq;
}

static __u64 acquire_slot(const __u64 *p, const char *where)
{
	bool order = true;
	__u64 v;

	if (is(where, "epf_journal_get"))
		order = !out(is_seq(p) ? MC_RLX_GET_SEQ : MC_RLX_GET);
	v = access_word(MC_ACQUIRE, p, 0, 0, order, where).value;
	if (is_seq(p))
		mc_noted.head = v;
	return v;
}

static bool claim_slot(__u64 *p, __u64 *old, __u64 v, const char *where)
{
	struct mc_answer a;

	if (out(MC_SLOT_BLIND | MC_SLOT_STORE)) {
		access_word(MC_STORE, p, v, 0, true, where);
		return true;
	}
	a = access_word(MC_CAS, p, v, *old, !out(MC_RLX_CLAIM), where);
	if (!a.good)
		*old = a.value;
	return a.good;
}

/* Addition to a word "inside": when a section begins or ends. */
static __u64 add_inside(__u64 *p, __u64 v, const char *where)
{
	return access_word(MC_ADD, p, v, 0, v == 1 || !out(MC_RLX_UNLOCK), where).value;
}

__u64 mc_fetch_add(__u64 *p, __u64 v, const char *where)
{
	bool lost = p == &mc_world.journal.shard.lost;

	if (mc.scene->bpf && !in_journal(p))
		return add_inside(p, v, where);
	if (lost && out(MC_SLOT_QUIET))
		return 0;
	return access_word(MC_ADD, p, v, 0, !out(lost ? MC_RLX_LOST : MC_RLX_NEXT), where).value;
}

/* ---- the core's primitives ---- */

__u64 mc_load(const __u64 *p, const char *where)
{
	__u64 v;

	if (in_journal(p))
		return load_slot(p, where);
	if (is(where, "epf_elastic_lock"))
		return load_unlocked(p, where);
	if (mc.scene->elastic && mc_epoch_of(mc_word(p)) >= 0)
		return load_phase(p, where);
	if (is(where, "epf_elastic_test"))
		return load_head_again(p, where);
	v = access_word(MC_LOAD, p, 0, 0, false, where).value;
	if (out(MC_SCAN_ALL) && v && is(where, "epf_lanes_scan_line") &&
	    mc_epoch_of(mc_word(p)) < 0) {
		mc_noted.scanned = v;
		v ^= 1ULL << EPF_TAG_SHIFT;
	}
	return v;
}

__u64 mc_load_acquire(const __u64 *p, const char *where)
{
	bool epoch = mc_epoch_of(mc_word(p)) >= 0;
	__u64 relaxed = MC_RLX_HOLDS, v;

	if (in_journal(p))
		return acquire_slot(p, where);
	if (epoch)
		relaxed = MC_RLX_BEGIN;
	else if (is(where, "epf_elastic_test"))
		return load_head(p, where);
	else if (mc.scene->elastic)
		relaxed = MC_RLX_WORDS;
	else if (by_setter(where))
		relaxed = MC_RLX_LANE;
	v = access_word(MC_ACQUIRE, p, 0, 0, !out(relaxed) && !mc.scene->bpf, where).value;
	if (epoch)
		mc_noted.begun = v;
	return v;
}

__u64 mc_load_ordered(const __u64 *p, const char *where)
{
	if (out(MC_NO_REREAD))
		return mc_noted.begun;
	return access_word(MC_ORDERED, p, 0, 0, !out(MC_RLX_ORDERED), where).value;
}

__u64 mc_load_later(const __u64 *p, const char *where)
{
	struct mc_op op = {
		.kind = MC_LOAD, .word = mc_word(p), .later = !out(MC_RLX_LATER), .where = where
	};

	return mc_access(&op).value;
}

/* Store the epoch, and after it the start that should have been stored before. */
static void store_start_late(__u64 *epoch, __u64 v, const char *where)
{
	struct mc_table *t = &mc_world.table[mc_epoch_of(mc_word(epoch))];

	access_word(MC_STORE, epoch, v, 0, true, where);
	access_word(MC_STORE, &t->state.ring[v & 7].start_ns, mc_noted.late, 0, false, where);
}

/* In BPF it is a fence and then a plain store, which order at least as much. */
void mc_store_release(__u64 *p, __u64 v, const char *where)
{
	bool late = out(MC_START_LATE) && mc.scene->dates && is(where, "epf_state_rotate");
	__u64 relaxed = MC_RLX_TABLE;

	if (late && mc_in_ring(mc_word(p))) {
		mc_noted.late = v;
		return;
	}
	if (late && mc_epoch_of(mc_word(p)) >= 0) {
		store_start_late(p, v, where);
		return;
	}
	if (p == &mc_world.journal.kept)
		relaxed = MC_RLX_END;
	else if (in_journal(p))
		relaxed = is_seq(p) ? MC_RLX_SEQ : MC_RLX_REC;
	else if (mc_epoch_of(mc_word(p)) >= 0)
		relaxed = MC_RLX_EPOCH;
	else if (mc.scene->elastic)
		relaxed = MC_RLX_WRITES;
	else if (mc_is_count(mc_word(p)))
		relaxed = MC_RLX_COUNT;
	if (out(MC_COUNT_ON) && relaxed == MC_RLX_COUNT)
		v |= access_word(MC_LOAD, p, 0, 0, false, where).value & EPF_COUNT_MASK;
	access_word(MC_STORE, p, v, 0, !out(relaxed), where);
}

/* Relaxed; only the ordered load is ordered after it. */
void mc_or(__u64 *p, __u64 v, const char *where)
{
	struct mc_op op = {
		.kind = MC_OR, .word = mc_word(p), .value = v, .awaited = true, .where = where
	};

	mc_access(&op);
}

__u64 mc_fetch_or(__u64 *p, __u64 v, const char *where)
{
	__u64 old;

	if (out(MC_NO_ATOMIC_OR)) {
		old = access_word(MC_LOAD, p, 0, 0, false, where).value;
		access_word(MC_STORE, p, old | v, 0, true, where);
	} else {
		old = access_word(MC_OR, p, v, 0, !out(MC_RLX_OR), where).value;
	}
	if (out(MC_OR_SEES_SELF))
		return old | v;
	return out(MC_OR_SEES_NONE) ? 0 : old;
}

static bool cas(__u64 *p, __u64 *old, __u64 v, bool order, const char *where)
{
	struct mc_answer a = access_word(MC_CAS, p, v, *old, order, where);

	if (!a.good)
		*old = a.value;
	return a.good;
}

static bool store(__u64 *p, __u64 v, const char *where)
{
	access_word(MC_STORE, p, v, 0, true, where);
	return true;
}

static bool lock_line(__u64 *p, __u64 *old, __u64 v, const char *where)
{
	if (out(MC_SWEEP_LOOSE) && scene_rotates(mc_running()))
		return true;
	if (out(MC_LOCK_STORE))
		return store(p, v, where);
	return cas(p, old, v, !out(MC_RLX_LOCK), where);
}

static bool unlock_line(__u64 *p, __u64 *old, __u64 v, const char *where)
{
	__u64 stamp = (EPF_ELASTIC_STAMPS - 1ULL) << EPF_ELASTIC_STAMP;

	if (out(MC_NO_UNLOCK))
		return true;
	if (out(MC_OLD_STAMP))
		v = (v & ~stamp) | (*old & stamp);
	if (out(MC_SWEEP_LOOSE) && scene_rotates(mc_running()))
		return store(p, v, where);
	return cas(p, old, v, !out(MC_RLX_UNLOCK), where);
}

bool mc_cas(__u64 *p, __u64 *old, __u64 v, const char *where)
{
	__u64 relaxed = MC_RLX_ADD, as_store = MC_COUNT_STORE;

	if (by_writer(where))
		return claim_slot(p, old, v, where);
	if (is(where, "epf_elastic_lock"))
		return lock_line(p, old, v, where);
	if (is(where, "epf_elastic_unlock"))
		return unlock_line(p, old, v, where);
	if (by_setter(where)) {
		relaxed = MC_RLX_CAS;
		as_store = MC_NO_CAS;
	} else if (is(where, "epf_lanes_scan_line")) {
		relaxed = MC_RLX_SCAN;
		as_store = MC_SCAN_STORE;
		if (out(MC_SCAN_ALL))
			*old = mc_noted.scanned;
	}
	if (out(as_store))
		return store(p, v, where);
	return cas(p, old, v, !out(relaxed), where);
}

/* A loop exceeds its bound. core/bounds tests what the core does then. */
bool mc_beyond(__u32 round, __u32 most, const char *where)
{
	if (mc_running() < 0 || round < most - !!out(MC_TIGHT))
		return false;
	law_broken(is(where, "epf_lane_set") ? "bounds: a stale lane changes too often" :
					       "bounds: the epoch moves too often");
	return true;
}
