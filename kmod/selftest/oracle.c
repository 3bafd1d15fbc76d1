// SPDX-License-Identifier: GPL-2.0
/*
 * The oracle of torture.c, which includes this: actors insert keys, ask for
 * them and sight them, and what they are told is held against the laws.
 *
 * Laws, for a key whose insert began at epoch low and was over at epoch high:
 *   - while the current epoch is at most low + 7 the key is present, its age
 *     at most current - low; so it is in a copy of the lines;
 *   - while at most W insertions came after it, and no forced rotation, it is
 *     present; not in mode either, which promises less;
 *   - after high + 7 it is absent, and it is no younger than high: ghosts,
 *     which are false positives, are counted;
 *   - of two sightings of one key at least one is told absent, and exactly one
 *     when both began and ended in the same epoch.
 * Nobody inserts into lanes where a rotation is late: then an epoch never has
 * many more keys than it should, and ghosts are as rare as its geometry makes
 * them.
 *
 * Half of the filters are of owned kinds, where 7 is the epochs of the window,
 * less one while the oldest is retiring; both are read under the lock after the
 * test. Their rotations are always late, for the worker ends epochs, and
 * operations go on meanwhile, until the epoch has FLOOD times its keys. Ages of
 * the aged kinds may be too young by chance: there a ghost is a key that is gone.
 * For fluid kinds, the first law is that a key is present until T ns after its
 * insert began, by their own clock, and the second and third say nothing.
 */
#include "owned.h"

#include <linux/hrtimer.h>

#ifndef EPF_BROKEN /* selftests/torture/broken: what is taken out */
#define epf_broken 0u
#define BROKEN_STALL 0u
#define BROKEN_OWNED 0u
#endif

#define RECENT 256u	/* own keys that an actor remembers */
#define TALLIES 64u
#define PAIRS_MAX (1u << 18)
#define FLOOD 4u
#define FLUID_KEYS 500u	/* of an epoch of a fluid kind */
#define SAID_MAX 10	/* violations told one by one */

/* Insertions begun and over, and beginnings and ends of forced rotation, of the
 * tables whose serial is the index modulo TALLIES. Where two share one, more
 * insertions seem to follow a key than do: the law of W is claimed less often.
 */
struct tally {
	atomic64_t begun, over, forced;
};

/**
 * struct insertion - one of them
 * @digest: of nobody else
 * @serial: of the table; 0: none
 * @kind: of the table
 * @low: epoch before
 * @high: epoch after
 * @over_before: tally.over before
 * @forced: tally.forced before
 * @start_ns: before, on the clock of a fluid kind
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
 * struct answer - to a test
 * @verdict: as told
 * @first: epoch before
 * @last: epoch after
 * @kept: epochs before @last whose keys must be there
 * @now_ns: after, on the clock of a fluid kind
 */
struct answer {
	int verdict;
	u64 first, last;
	u64 kept;
	u64 now_ns;
};

/* Sums over all actors; those from ROTATIONS to COPIED of the mover only. LOST
 * are violations that no false positive can feign; RETIRING are tests that ended
 * while the worker emptied an epoch; then inserts by kind.
 */
enum sum {
	INSERTS, TESTS, WITHIN_W, GONE, PAIRS, GHOSTS, VIOLATIONS, LOST,
	SOFT_INSERTS, ROTATIONS, CLEARS, SWAPS, REPLACED, DESTROYED, BUSY,
	SNAPSHOTS, COPIED, RETIRING, IN_KIND, SUMS = IN_KIND + EPF_KIND_CHAIN + 1
};

static const char *const sum_names[SUMS] = {
	"inserts", "tests", "within_w", "gone", "pairs", "ghosts", "violations",
	"lost", "soft_inserts", "rotations", "clears", "swaps", "replaced",
	"destroyed", "busy", "snapshots", "copied", "retiring",
	[IN_KIND + EPF_KIND_LANES] = "in_lanes",
	[IN_KIND + EPF_KIND_GE] = "in_ge",
	[IN_KIND + EPF_KIND_GEBL] = "in_gebl",
	[IN_KIND + EPF_KIND_APBF] = "in_apbf",
	[IN_KIND + EPF_KIND_APBBF] = "in_apbbf",
	[IN_KIND + EPF_KIND_TLBF] = "in_tlbf",
	[IN_KIND + EPF_KIND_DICT] = "in_dict",
	[IN_KIND + EPF_KIND_CHAIN] = "in_chain",
};

struct actor {
	struct task_struct *task;
	struct hrtimer timer; /* of the thread's CPU */
	struct actor *soft;   /* what the timer does */
	u32 id;
	u64 rng;
	u64 nr;		      /* keys */
	u64 sums[SUMS];
	struct insertion recent[RECENT];
};

/* One key, sighted by the actors that drew its two tickets. */
struct sight {
	atomic_t done;
	u64 serial[2];
	u64 epoch[2]; /* 0: it ended meanwhile, or is of no fixed length */
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

static void violation(struct actor *a, const char *law,
		      const struct insertion *k, const struct answer *r)
{
	a->sums[VIOLATIONS]++;
	if (atomic_inc_return(&said) <= SAID_MAX)
		pr_err("torture: %s: actor %u, table %llu of kind %u, inserted %llu..%llu, verdict %d at %llu..%llu\n",
		       law, a->id, k->serial, k->kind, k->low, k->high,
		       r->verdict, r->first, r->last);
}

static u64 epochs_of(const struct epf_table *t)
{
	return t->owned ? t->owned->epochs : EPF_LIVE_EPOCHS;
}

/* On the clock of a fluid kind, which rotations let jump; else 0. */
static u64 clock_of(struct epf_table *t)
{
	u64 ns;

	if (!epf_is_fluid(t))
		return 0;
	epf_table_lock(t);
	ns = epf_owned_now(t->owned);
	epf_table_unlock(t);
	return ns;
}

static int put(struct epf_table *t, u64 digest, bool sight)
{
	struct epf_probe p;

	if (t->owned)
		return sight ? epf_owned_test_and_insert(t, digest) :
			       epf_owned_insert(t, digest);
	epf_probe(&t->lanes, digest, &p);
	return sight ? epf_table_test_and_insert(t, &p, NULL, 0) :
		       epf_table_insert(t, &p, NULL, 0);
}

static int ask(struct epf_table *t, u64 digest)
{
	struct epf_probe p;

	if (t->owned)
		return epf_owned_test(t, digest);
	epf_probe(&t->lanes, digest, &p);
	return epf_table_test(t, &p);
}

/* Nobody floods an epoch whose end is late, or told by a clock as well. */
static bool has_room(const struct epf_table *t)
{
	u64 e = epf_load(&t->state.epoch);
	u64 keys = epf_count_of(epf_load(&t->state.count), e);

	if (!t->owned && t->window.mode != EPF_MODE_BOTH)
		return true;
	return keys < (epf_is_fluid(t) ? FLUID_KEYS :
				     FLOOD * t->window.epoch_inserts);
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
	atomic64_inc_return(&tally->begun); /* a full barrier, as below */
	k->low = epf_load(&t->state.epoch);
	verdict = put(t, k->digest, !(a->nr & 1));
	atomic64_inc_return(&tally->over);
	k->high = epf_load(&t->state.epoch);
	a->sums[INSERTS]++;
	a->sums[IN_KIND + t->params.kind]++;
	if (verdict == EPF_ABSENT)
		return;
	a->sums[GHOSTS]++;
	k->serial = 0; /* a first-seen filter has not inserted it */
}

/* What must be there by epochs or, of a fluid kind, by time. */
static bool is_live(const struct epf_table *t, const struct insertion *k,
		    const struct answer *r)
{
	return epf_is_fluid(t) ? r->now_ns - k->start_ns <= t->params.window_ns :
			     r->last - k->low <= r->kept;
}

/* Among the last W, by count alone. */
static bool is_inside(const struct epf_table *t, const struct insertion *k)
{
	const struct tally *tally = tally_of(t);

	return t->window.mode != EPF_MODE_EITHER && !(k->forced & 1) &&
	       atomic64_read(&tally->forced) == k->forced &&
	       atomic64_read(&tally->begun) - k->over_before <=
		       t->params.window_inserts;
}

/* That it is present, and so old, is by chance. */
static bool is_ghost(const struct epf_table *t, const struct insertion *k,
		     const struct answer *r, bool gone)
{
	s64 age = r->verdict - EPF_PRESENT;

	if (t->owned)
		return r->verdict && gone;
	return r->verdict && age < (s64)(r->first - k->high);
}

static void judge(struct actor *a, struct epf_table *t,
		  const struct insertion *k, const struct answer *r)
{
	bool gone = !epf_is_fluid(t) && r->first > k->high + epochs_of(t);
	bool live = is_live(t, k, r), inside = is_inside(t, k);
	s64 age = r->verdict - EPF_PRESENT;

	a->sums[TESTS]++;
	a->sums[WITHIN_W] += inside;
	a->sums[GONE] += gone;
	a->sums[RETIRING] += r->kept < epochs_of(t);
	a->sums[LOST] += !r->verdict && (inside || live);
	a->sums[GHOSTS] += is_ghost(t, k, r, gone);
	if (live && !r->verdict)
		violation(a, "a live epoch", k, r);
	else if (inside && !r->verdict)
		violation(a, "the last W", k, r);
	else if (!epf_is_fluid(t) && age > (s64)(r->last - k->low))
		violation(a, "age", k, r);
}

/* With what is known of @t after the test. */
static void see(struct epf_table *t, struct answer *r)
{
	const struct epf_owned *o = t->owned;

	r->kept = EPF_LIVE_EPOCHS;
	if (!o) {
		smp_rmb(); /* nothing of the test is after this */
		r->last = epf_load(&t->state.epoch);
		return;
	}
	epf_table_lock(t);
	r->last = t->state.epoch;
	r->kept = o->epochs - o->retiring;
	r->now_ns = epf_owned_now(o);
	epf_table_unlock(t);
}

/* Ask for one of the own keys, if @t is where it was put. */
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
	smp_rmb(); /* nothing of the test is before this */
	r.verdict = ask(t, k->digest);
	see(t, &r);
	judge(a, t, k, &r);
}

static void judge_pair(struct actor *a, const struct sight *s, u32 kind)
{
	bool same = s->epoch[0] && s->epoch[0] == s->epoch[1];
	const struct insertion k = { .serial = s->serial[0], .kind = kind,
				     .low = s->epoch[0], .high = s->epoch[1] };
	const struct answer r = { .verdict = s->verdict[0] };

	if (!s->serial[0] || s->serial[0] != s->serial[1])
		return;
	a->sums[PAIRS]++;
	if (s->verdict[0] && s->verdict[1])
		violation(a, "nobody was told absent", &k, &r);
	if (same && !s->verdict[0] && !s->verdict[1])
		violation(a, "both were told absent", &k, &r);
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
	if (epf_is_fluid(t) || epf_load(&t->state.epoch) != e)
		e = 0;
	s->epoch[ticket & 1] = e;
	if (atomic_inc_return(&s->done) == 2)
		judge_pair(a, s, t->params.kind);
}

/* @copy: of the lines of @t, to be read at @epoch. */
static void check_copy(struct actor *a, const struct epf_table *t,
		       struct epf_line *copy, u64 epoch)
{
	struct epf_lanes lanes = { .line = copy, .epoch = &epoch,
				   .geom = t->lanes.geom };
	const struct answer r = { .first = epoch, .last = epoch };
	struct epf_probe p;
	u32 i;

	for (i = 0; i < RECENT; i++) {
		const struct insertion *k = &a->recent[i];

		if (k->serial != t->serial ||
		    epoch - k->low > EPF_LIVE_EPOCHS)
			continue;
		epf_probe(&lanes, k->digest, &p);
		a->sums[COPIED]++;
		if (epf_test(&lanes, &p))
			continue;
		violation(a, "snapshot", k, &r);
		a->sums[LOST]++;
	}
}
