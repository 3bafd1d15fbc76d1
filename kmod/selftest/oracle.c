// SPDX-License-Identifier: GPL-2.0
/*
 * The oracle of torture.c, which includes this file: actors insert keys, test them, and
 * test-and-insert keys in pairs, and the results are checked against the properties
 * below.
 *
 * Properties of a key whose insert began in epoch low and ended in epoch high:
 *   - while the current epoch is at most low + 7 the key is present, its age is at
 *     most current - low, and it is in a copy of the lines;
 *   - while at most W insertions came after it, and no forced rotation, it is present;
 *     not in mode either, which promises less;
 *   - after high + 7 it is absent, and its age is at least current - high; exceptions,
 *     which are false positives, are counted as ghosts;
 *   - of two test-and-inserts of one key at least one gets "absent", and exactly one if
 *     both began and ended in the same epoch.
 * No actor inserts into lanes whose rotation is overdue. So an epoch never has many more
 * keys than it should, and ghosts are as rare as the geometry makes them.
 *
 * Half of the filters are of locked kinds. There 7 is replaced by the epochs of the
 * window, less one while the oldest is retiring; both are read under the lock after the
 * test. Their rotations are always overdue, because the worker ends epochs; operations
 * go on meanwhile, until the epoch has FLOOD times its keys. Ages of the aged kinds may
 * be too young by chance; there a ghost is a key that should be gone. For resizable
 * kinds the first property is that a key is present until T ns after its insert began,
 * by their own clock, and the second and third do not apply.
 */
#include "kinds/locked.h"

#include <linux/hrtimer.h>

#ifndef EPF_BROKEN /* selftests/torture/broken defines what is disabled */
#define epf_broken 0u
#define BROKEN_STALL 0u
#define BROKEN_LOCKED 0u
#endif

#define RECENT 256u /* own keys that an actor remembers */
#define TALLIES 64u
#define PAIRS_MAX (1u << 18)
#define FLOOD 4u
#define FLUID_KEYS 500u /* of an epoch of a resizable kind */
#define SAID_MAX 10     /* violations that are logged one by one */

/* Insertions begun and ended, and beginnings and ends of forced rotations, of the tables
 * whose serial is the index modulo TALLIES. If two tables share a tally, more insertions
 * seem to follow a key than do, so the property of W is checked less often.
 */
struct tally {
	atomic64_t begun, over, forced;
};

/**
 * struct insertion - an insertion
 * @digest: of a key that no other actor uses
 * @serial: of the table; 0: none
 * @kind: of the table
 * @low: epoch before
 * @high: epoch after
 * @over_before: tally.over before
 * @forced: tally.forced before
 * @start_ns: time before, on the clock of a resizable kind
 */
struct insertion {
	u64 digest;
	u64 serial;
	u32 kind;
	u64 low, high;
	u64 over_before, forced;
	u64 start_ns;
};

/**
 * struct answer - result of a test
 * @verdict: as returned
 * @first: epoch before
 * @last: epoch after
 * @kept: number of epochs before @last whose keys must be present
 * @now_ns: time after, on the clock of a resizable kind
 */
struct answer {
	int verdict;
	u64 first, last;
	u64 kept;
	u64 now_ns;
};

/* Sums over all actors; those from ROTATIONS to COPIED are of the mover only. LOST
 * counts violations that no false positive can hide; RETIRING counts tests that ended
 * while the worker emptied an epoch. Then inserts by kind.
 */
enum sum {
	INSERTS,
	TESTS,
	WITHIN_W,
	GONE,
	PAIRS,
	GHOSTS,
	VIOLATIONS,
	LOST,
	SOFT_INSERTS,
	ROTATIONS,
	CLEARS,
	SWAPS,
	REPLACED,
	DESTROYED,
	BUSY,
	SNAPSHOTS,
	COPIED,
	RETIRING,
	IN_KIND,
	SUMS = IN_KIND + EPF_KIND_MAX + 1
};

/* clang-format off */
static const char *const sum_names[SUMS] = {
	"inserts", "tests", "within_w", "gone", "pairs", "ghosts", "violations",
	"lost", "soft_inserts", "rotations", "clears", "swaps", "replaced",
	"destroyed", "busy", "snapshots", "copied", "retiring",
	[IN_KIND + EPF_KIND_LANES] = "in_lanes",
#define IN_NAME(number, name) [IN_KIND + number] = "in_" #name,
	EPF_LOCKED_KINDS(IN_NAME)
#undef IN_NAME
};
/* clang-format on */

struct actor {
	struct task_struct *task;
	struct hrtimer timer; /* of the thread's CPU */
	struct actor *soft;   /* the actor of the timer */
	u32 id;
	u64 rng;
	u64 nr; /* keys */
	u64 sums[SUMS];
	struct insertion recent[RECENT];
};

/* One key, and the results of its two test-and-inserts, whose tickets two actors drew. */
struct sight {
	atomic_t done;
	u64 serial[2];
	u64 epoch[2]; /* 0: it ended meanwhile, or has no fixed length */
	int verdict[2];
};

static struct tally tallies[TALLIES];
static struct sight *sights; /* PAIRS_MAX */
static atomic_t tickets, said;

static u64 draw(struct actor *a, u64 sides)
{
	return epf_word(++a->rng, 1) % sides;
}

static struct tally *tally_of(const struct epf_table *t)
{
	return &tallies[t->serial % TALLIES];
}

static void violation(struct actor *a, const char *law, const struct insertion *k,
		      const struct answer *r)
{
	a->sums[VIOLATIONS]++;
	if (atomic_inc_return(&said) <= SAID_MAX)
		pr_err("torture: %s: actor %u, table %llu of kind %u, inserted %llu..%llu, verdict %d at %llu..%llu\n",
		       law, a->id, k->serial, k->kind, k->low, k->high, r->verdict, r->first,
		       r->last);
}

static u64 epochs_of(const struct epf_table *t)
{
	return t->epochs;
}

/* Time on the clock of a resizable kind, which rotations advance; else 0. */
static u64 clock_of(struct epf_table *t)
{
	unsigned long flags;
	u64 ns;

	if (!epf_is_resizable(t))
		return 0;
	epf_table_lock(t, &flags);
	ns = epf_locked_now(t->locked);
	epf_table_unlock(t, flags);
	return ns;
}

static int put(struct epf_table *t, u64 digest, bool sight)
{
	struct epf_probe p;

	if (t->locked)
		return t->ops->op[sight ? OP_TEST_AND_INSERT : OP_INSERT](t, digest);
	epf_probe(&t->lanes, digest, &p);
	return sight ? epf_table_test_and_insert(t, &p, NULL, 0) : epf_table_insert(t, &p, NULL, 0);
}

static int ask(struct epf_table *t, u64 digest)
{
	struct epf_probe p;

	if (t->locked)
		return t->ops->op[OP_TEST](t, digest);
	epf_probe(&t->lanes, digest, &p);
	return epf_table_test(t, &p);
}

/* May actors insert? They do not flood an epoch that ends late, or by a clock too. */
static bool has_room(const struct epf_table *t)
{
	u64 e = epf_load(&t->state.epoch);
	u64 keys = epf_count_of(epf_load(&t->state.count), e);

	if (!t->locked && t->window.mode != EPF_MODE_BOTH)
		return true;
	return keys < (epf_is_resizable(t) ? FLUID_KEYS : FLOOD * t->window.epoch_inserts);
}

static void insert_into(struct actor *a, struct epf_table *t)
{
	struct insertion *k = &a->recent[a->nr % RECENT];
	struct tally *tally = tally_of(t);
	int verdict;

	if (!has_room(t))
		return;
	k->digest = epf_word((u64)a->id << 48 | ++a->nr, 2);
	k->serial = t->serial;
	k->kind = t->params.kind;
	k->start_ns = clock_of(t);
	k->forced = atomic64_read(&tally->forced);
	k->over_before = atomic64_read(&tally->over);
	atomic64_inc_return(&tally->begun); /* a full barrier, as the one below */
	k->low = epf_load(&t->state.epoch);
	verdict = put(t, k->digest, !(a->nr & 1));
	atomic64_inc_return(&tally->over);
	k->high = epf_load(&t->state.epoch);
	a->sums[INSERTS]++;
	a->sums[IN_KIND + t->params.kind]++;
	if (verdict == EPF_ABSENT)
		return;
	a->sums[GHOSTS]++;
	k->serial = 0; /* a first-seen filter did not insert it */
}

/* Must the key be present by its epoch or, for a resizable kind, by time? */
static bool is_live(const struct epf_table *t, const struct insertion *k, const struct answer *r)
{
	return epf_is_resizable(t) ? r->now_ns - k->start_ns <= t->params.window_ns :
				     r->last - k->low <= r->kept;
}

/* Is the key among the last W, going by the count alone? */
static bool is_inside(const struct epf_table *t, const struct insertion *k)
{
	const struct tally *tally = tally_of(t);

	return t->window.mode != EPF_MODE_EITHER && !(k->forced & 1) &&
	       atomic64_read(&tally->forced) == k->forced &&
	       atomic64_read(&tally->begun) - k->over_before <= t->params.window_inserts;
}

/* Is the key present, or so young, only by chance? */
static bool is_ghost(const struct epf_table *t, const struct insertion *k, const struct answer *r,
		     bool gone)
{
	s64 age = r->verdict - EPF_PRESENT;

	if (t->locked)
		return r->verdict && gone;
	return r->verdict && age < (s64)(r->first - k->high);
}

static void judge(struct actor *a, struct epf_table *t, const struct insertion *k,
		  const struct answer *r)
{
	bool gone = !epf_is_resizable(t) && r->first > k->high + epochs_of(t);
	bool live = is_live(t, k, r), inside = is_inside(t, k);
	s64 age = r->verdict - EPF_PRESENT;

	a->sums[TESTS]++;
	a->sums[WITHIN_W] += inside;
	a->sums[GONE] += gone;
	a->sums[RETIRING] += r->kept < epochs_of(t);
	a->sums[LOST] += !r->verdict && (inside || live);
	a->sums[GHOSTS] += is_ghost(t, k, r, gone);
	if (live && !r->verdict)
		violation(a, "a key of a live epoch is absent", k, r);
	else if (inside && !r->verdict)
		violation(a, "a key among the last W is absent", k, r);
	else if (!epf_is_resizable(t) && age > (s64)(r->last - k->low))
		violation(a, "the age is too old", k, r);
}

/* Record the state of @t after the test. */
static void see(struct epf_table *t, struct answer *r)
{
	const struct epf_locked_state *o = t->locked;
	unsigned long flags;

	r->kept = EPF_LIVE_EPOCHS;
	if (!o) {
		smp_rmb(); /* the test is complete before this */
		r->last = epf_load(&t->state.epoch);
		return;
	}
	epf_table_lock(t, &flags);
	r->last = t->state.epoch;
	r->kept = o->core.epochs - o->retiring;
	r->now_ns = epf_locked_now(o);
	epf_table_unlock(t, flags);
}

/* Test one of the actor's own keys, if it was inserted into @t. */
static void test_in(struct actor *a, struct epf_table *t)
{
	u64 nr = min_t(u64, a->nr, RECENT);
	const struct insertion *k;
	struct answer r;

	if (!nr)
		return;
	k = &a->recent[(a->nr - 1 - draw(a, nr)) % RECENT];
	if (k->serial != t->serial)
		return;
	r.first = epf_load(&t->state.epoch);
	smp_rmb(); /* the test begins after this */
	r.verdict = ask(t, k->digest);
	see(t, &r);
	judge(a, t, k, &r);
}

static void judge_pair(struct actor *a, const struct sight *s, u32 kind)
{
	bool same = s->epoch[0] && s->epoch[0] == s->epoch[1];
	const struct insertion k = {
		.serial = s->serial[0], .kind = kind, .low = s->epoch[0], .high = s->epoch[1]
	};
	const struct answer r = { .verdict = s->verdict[0] };

	if (!s->serial[0] || s->serial[0] != s->serial[1])
		return;
	a->sums[PAIRS]++;
	if (s->verdict[0] && s->verdict[1])
		violation(a, "no caller got absent", &k, &r);
	if (same && !s->verdict[0] && !s->verdict[1])
		violation(a, "both callers got absent", &k, &r);
}

static void sight_in(struct actor *a, struct epf_table *t)
{
	struct sight *s;
	u32 ticket;
	u64 e;

	if (!has_room(t))
		return;
	ticket = atomic_inc_return(&tickets) - 1;
	if (ticket / 2 >= PAIRS_MAX) {
		atomic_dec(&tickets);
		return;
	}
	s = &sights[ticket / 2];
	s->serial[ticket & 1] = t->serial;
	atomic64_inc_return(&tally_of(t)->begun);
	e = epf_load(&t->state.epoch);
	s->verdict[ticket & 1] = put(t, epf_word(ticket / 2, 3), true);
	atomic64_inc_return(&tally_of(t)->over);
	if (epf_is_resizable(t) || epf_load(&t->state.epoch) != e)
		e = 0;
	s->epoch[ticket & 1] = e;
	if (atomic_inc_return(&s->done) == 2)
		judge_pair(a, s, t->params.kind);
}

/* Check the recent keys in @copy, a copy of the lines of @t read at @epoch. */
static void check_copy(struct actor *a, const struct epf_table *t, struct epf_line *copy, u64 epoch)
{
	struct epf_lanes lanes = { .line = copy, .epoch = &epoch, .geom = t->lanes.geom };
	const struct answer r = { .first = epoch, .last = epoch };
	struct epf_probe p;
	u32 i;

	for (i = 0; i < RECENT; i++) {
		const struct insertion *k = &a->recent[i];

		if (k->serial != t->serial || epoch - k->low > EPF_LIVE_EPOCHS)
			continue;
		epf_probe(&lanes, k->digest, &p);
		a->sums[COPIED]++;
		if (epf_lanes_test(&lanes, &p))
			continue;
		violation(a, "a key is missing in a snapshot", k, &r);
		a->sums[LOST]++;
	}
}
