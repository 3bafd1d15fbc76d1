// SPDX-License-Identifier: GPL-2.0
/*
 * DOC: torture
 *
 * Everything that may happen to a filter at once, in the contexts where it
 * happens, with an exact oracle. Built into a module of its own kind only
 * (EPF_TORTURE=y, see selftests/torture), from the very text of the others.
 * Threads and softirqs of the module itself reach what no system call does, an
 * insert in a softirq in the middle of a thread's insert; and they know which
 * table and which epoch an operation was in, which a caller of ioctls does not
 * while filters are swapped, so that the oracle is exact.
 *
 * On each CPU there are two actors: a thread, and a timer in softirq context
 * that comes in between. Actors insert keys of their own, which nobody else
 * has, ask for them, and sight keys in pairs. One more thread, the mover,
 * which inserts and asks too, meanwhile forces rotations, clears, swaps,
 * replaces contents, destroys and makes anew, and takes snapshots.
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
 * operations go on meanwhile. Ages of the aged kinds may be too young by
 * chance: there a ghost is a key that is gone. For fluid kinds, the first law
 * is that a key is present until T ns after its insert began, by their own
 * clock, and the second and third say nothing.
 *
 * Writing a number of steps to the parameter "torture" runs it, reading the
 * parameter gives what came of the last run.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "filter.h"
#include "compat.h"
#include "owned.h"

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#ifndef EPF_BROKEN /* selftests/torture/broken: what is taken out */
#define epf_broken 0u
#define BROKEN_STALL 0u
#define BROKEN_OWNED 0u
#endif

#define SLOTS 6
#define RECENT 256u	/* own keys that an actor remembers */
#define TALLIES 64u
#define PAIRS_MAX (1u << 18)
#define SOFT_STEPS 4	/* of one timer */
#define SOFT_NS (200 * NSEC_PER_USEC)
#define LINES 2048u
#define LINES_BROKEN 128u /* where one lane wrongly replaced has many keys */
#define FLUID_NS (70 * NSEC_PER_MSEC) /* T */
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

/* What filters are made of, one after the other; the first SLOTS of them always.
 * Each has room for several times the keys of the windows below.
 */
static const struct shape {
	u8 kind;
	struct epf_shape shape;
} shapes[] = {
	{ EPF_KIND_GE, { .ge = {
		.segment_bits = 1 << 16, .epochs = 5, .bits = 10,
	} } },
	{ EPF_KIND_LANES },
	{ EPF_KIND_APBBF, { .apbbf = {
		.blocks = 256, .k = 6, .l = 5, .block_bits = 512, .bits = 4,
	} } },
	{ EPF_KIND_LANES },
	{ EPF_KIND_DICT, { .dict = {
		.buckets = 200, .yard = 20, .generations = 5, .tag_bits = 3,
		.rem_bits = 30, .slots = 8, .lines = 1,
	} } },
	{ EPF_KIND_TLBF, { .tlbf = {
		.words_first = 128, .words_min = 128, .words_max = 1 << 16,
		.k = 20, .l = 7,
	} } },
	{ EPF_KIND_LANES },
	{ EPF_KIND_GEBL, { .gebl = {
		.blocks = 256, .block_bits = 512, .epochs = 3, .bits = 12,
	} } },
	{ EPF_KIND_LANES },
	{ EPF_KIND_APBF, { .apbf = {
		.slice_bits = 1 << 16, .k = 12, .l = 9,
	} } },
	{ EPF_KIND_LANES },
	{ EPF_KIND_CHAIN, { .chain = {
		.lines_first = 128, .lines_min = 64, .lines_max = 1 << 14,
		.load = 1024, .lines_per_key = 2, .bits_per_key = 16,
	} } },
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

static DECLARE_COMPLETION(finished);
static struct tally tallies[TALLIES];
static u32 slots[SLOTS];      /* ids of filters */
static u32 made;	      /* filters */
static struct sight *sights;  /* PAIRS_MAX */
static struct epf_line *copy; /* LINES */
static atomic_t tickets, working;
static bool stop;
static u64 steps;
static u64 totals[SUMS];
static atomic_t said;

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

static bool is_fluid(const struct epf_table *t)
{
	return t->owned && t->owned->ops->fluid;
}

static u64 epochs_of(const struct epf_table *t)
{
	return t->owned ? t->owned->epochs : EPF_LIVE_EPOCHS;
}

/* On the clock of a fluid kind, which rotations let jump; else 0. */
static u64 clock_of(struct epf_table *t)
{
	u64 ns;

	if (!is_fluid(t))
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
	return sight ? epf_table_test_and_insert(t, &p) :
		       epf_table_insert(t, &p);
}

static int ask(struct epf_table *t, u64 digest)
{
	struct epf_probe p;

	if (t->owned)
		return epf_owned_test(t, digest);
	epf_probe(&t->lanes, digest, &p);
	return epf_table_test(t, &p);
}

static void insert_into(struct actor *a, struct epf_table *t)
{
	struct insertion *k = &a->recent[a->nr % RECENT];
	struct tally *tally = tally_of(t);
	int verdict;

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

/* Where a rotation is late, only one of an owned kind is used, and mostly not
 * waited for.
 */
static bool usable(struct actor *a, struct epf_table *t, bool *wait)
{
	bool late = epf_table_late(t);

	*wait = late && (!t->owned || !draw(a, 4));
	return !late || t->owned;
}

/* The table of a slot is looked up anew each time, as programs do by id; it is
 * @use'd in an RCU section. Return: one to wait for, by reference, or NULL.
 */
static struct epf_table *with_table(struct actor *a, u32 slot,
				    void (*use)(struct actor *a,
						struct epf_table *t))
{
	struct epf_filter *f = epf_filter_get_id(READ_ONCE(slots[slot]));
	struct epf_table *late = NULL;
	struct epf_table *t;
	bool wait = false;

	if (!f)
		return NULL;
	rcu_read_lock();
	t = rcu_dereference(f->table);
	if (t && usable(a, t, &wait))
		use(a, t);
	if (wait && refcount_inc_not_zero(&t->refs))
		late = t;
	rcu_read_unlock();
	epf_filter_put(f);
	return late;
}

/* What must be there by epochs or, of a fluid kind, by time. */
static bool is_live(const struct epf_table *t, const struct insertion *k,
		    const struct answer *r)
{
	return is_fluid(t) ? r->now_ns - k->start_ns <= t->params.window_ns :
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
	bool gone = !is_fluid(t) && r->first > k->high + epochs_of(t);
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
	else if (!is_fluid(t) && age > (s64)(r->last - k->low))
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
	u32 ticket = atomic_inc_return(&tickets) - 1;
	struct sight *s = &sights[ticket / 2];
	u64 e;

	if (ticket / 2 >= PAIRS_MAX) {
		atomic_dec(&tickets);
		return;
	}
	s->serial[ticket & 1] = t->serial;
	atomic64_inc_return(&tally_of(t)->begun);
	e = epf_load(&t->state.epoch);
	s->verdict[ticket & 1] = put(t, epf_word(ticket / 2, 3), true);
	atomic64_inc_return(&tally_of(t)->over);
	if (is_fluid(t) || epf_load(&t->state.epoch) != e)
		e = 0;
	s->epoch[ticket & 1] = e;
	if (atomic_inc_return(&s->done) == 2)
		judge_pair(a, s, t->params.kind);
}

/* Return: a table that waits for its rotation, by reference, or NULL. */
static struct epf_table *step(struct actor *a)
{
	struct epf_table *late;
	u32 slot = draw(a, SLOTS);
	int i;

	late = with_table(a, slot, draw(a, 8) ? insert_into : sight_in);
	for (i = 0; i < 2 * SLOTS && !late; i++)
		late = with_table(a, i % SLOTS, test_in);
	return late;
}

/* Somebody else sees to a late rotation. */
static void unhurried_step(struct actor *a)
{
	struct epf_table *late = step(a);

	if (late)
		epf_table_put(late);
}

static void thread_step(struct actor *a)
{
	struct epf_table *late = step(a);

	if (late) {
		epf_table_settle(late);
		epf_table_put(late);
	}
}

static enum hrtimer_restart soft_tick(struct hrtimer *timer)
{
	struct actor *a = container_of(timer, struct actor, timer)->soft;
	int i;

	for (i = 0; i < SOFT_STEPS; i++)
		unhurried_step(a);
	hrtimer_forward_now(timer, ns_to_ktime(SOFT_NS));
	return HRTIMER_RESTART;
}

static void actor_ends(void)
{
	if (atomic_dec_and_test(&working))
		complete(&finished);
}

static int thread(void *arg)
{
	struct actor *a = arg;
	u64 i;

	hrtimer_start(&a->timer, ns_to_ktime(SOFT_NS),
		      HRTIMER_MODE_REL_PINNED_SOFT);
	for (i = 0; i < steps && !READ_ONCE(stop); i++) {
		thread_step(a);
		cond_resched();
	}
	hrtimer_cancel(&a->timer);
	actor_ends();
	return 0;
}

/* Lanes alone where something is taken out that only they have. */
static const struct shape *next_shape(void)
{
	if (epf_broken & ~(BROKEN_STALL | BROKEN_OWNED))
		return &shapes[1];
	return &shapes[made++ % ARRAY_SIZE(shapes)];
}

static void set_lanes(struct actor *a, struct epf_params *p)
{
	p->lines_per_key = 1 << draw(a, 3);
	p->bits_per_key = 8 + 4 * p->lines_per_key;
	p->nr_lines = epf_broken > BROKEN_STALL ? LINES_BROKEN : LINES;
}

static void set_window(struct actor *a, struct epf_params *p)
{
	static const u16 windows[] = { 70, 350, 700 };
	static const u8 modes[] = { EPF_MODE_COUNT, EPF_MODE_COUNT,
				    EPF_MODE_EITHER, EPF_MODE_BOTH };

	if (epf_kind_ops(p->kind) && epf_kind_ops(p->kind)->fluid) {
		p->mode = EPF_MODE_TIME;
		p->window_ns = FLUID_NS;
		return;
	}
	p->mode = modes[draw(a, ARRAY_SIZE(modes))];
	p->window_inserts = windows[draw(a, ARRAY_SIZE(windows))];
	if (p->mode != EPF_MODE_COUNT)
		p->window_ns = EPF_LIVE_EPOCHS * 20 * NSEC_PER_MSEC;
}

/* Kinds in turn, windows and modes as they come. First-seen filters not in the
 * broken module, which would take a sighting that inserts nothing for one under
 * way.
 */
static int make(struct actor *a, u32 slot)
{
	const struct shape *s = next_shape();
	struct epf_create c = {
		.params = {
			.kind = s->kind,
			.refresh = !epf_broken && draw(a, 2),
			.budget_ppt = 1,
			.limit_ppt = EPF_RATE_ONE,
		},
		.shape = s->shape,
	};
	u32 id;
	int err;

	if (s->kind == EPF_KIND_LANES)
		set_lanes(a, &c.params);
	set_window(a, &c.params);
	snprintf(c.params.name, sizeof(c.params.name), "torture-%u", slot);
	err = epf_filter_create(&c, &id);
	if (!err)
		WRITE_ONCE(slots[slot], id);
	return err;
}

static struct epf_name name_of(u32 slot)
{
	return (struct epf_name){ .id = slots[slot] };
}

/* @with the table of a slot, by reference. */
static void with_ref(struct actor *a, void (*use)(struct actor *a,
						  struct epf_table *t))
{
	struct epf_name name = name_of(draw(a, SLOTS));
	struct epf_filter *f = epf_filter_find(&name);
	struct epf_table *t;

	if (IS_ERR(f))
		return;
	t = epf_filter_table(f);
	if (t) {
		use(a, t);
		epf_table_put(t);
	}
	epf_filter_put(f);
}

static void force(struct actor *a, struct epf_table *t)
{
	u32 all = epochs_of(t) + 1;
	u32 count = 1 + draw(a, all);

	atomic64_inc_return(&tally_of(t)->forced);
	epf_table_rotate(t, count);
	atomic64_inc_return(&tally_of(t)->forced);
	a->sums[ROTATIONS] += count;
	a->sums[CLEARS] += count == all;
}

static void check_copy(struct actor *a, const struct epf_table *t, u64 epoch)
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

/* As user space takes it from a mapping; some pins end before the copy does. */
static void snapshot(struct actor *a, struct epf_table *t)
{
	u64 *to = copy->lane;
	const u64 *from = t->lanes.line->lane;
	u64 epoch;
	u32 i;

	if (t->owned) /* has none */
		return;
	if (epf_table_pin(t, 1 + draw(a, 5 * NSEC_PER_MSEC), &epoch))
		return;
	for (i = 0; i < t->params.nr_lines * EPF_LANES; i++)
		to[i] = READ_ONCE(from[i]);
	smp_rmb(); /* the copy before the epoch it is read at */
	epoch = epf_load(&t->state.epoch);
	epf_table_unpin(t);
	check_copy(a, t, epoch);
	a->sums[SNAPSHOTS]++;
}

static void swap_two(struct actor *a)
{
	u32 slot = draw(a, SLOTS);
	struct epf_swap s = { .a = name_of(slot),
			      .b = name_of((slot + 1) % SLOTS) };

	a->sums[SWAPS] += !epf_filter_swap(&s);
}

/* Contents go while the filter stays, as by a restore. */
static void replace(struct actor *a, struct epf_table *t)
{
	struct epf_name name = name_of(draw(a, SLOTS));
	const u64 key[2] = { draw(a, ~0ULL), draw(a, ~0ULL) };
	const struct epf_shape *shape = t->owned ? &t->owned->shape : NULL;
	struct epf_table *new = epf_table_new(&t->params, shape, key);
	struct epf_filter *f = epf_filter_find(&name);

	if (!IS_ERR(new) && !IS_ERR(f) && !epf_filter_replace(f, new))
		a->sums[REPLACED]++;
	else if (!IS_ERR(new))
		epf_table_put(new);
	if (!IS_ERR(f))
		epf_filter_put(f);
}

static void recreate(struct actor *a)
{
	u32 slot = draw(a, SLOTS);
	struct epf_name name = name_of(slot);
	int err = epf_filter_destroy(&name, draw(a, 2));

	a->sums[BUSY] += err == -EBUSY;
	if (err)
		return;
	a->sums[DESTROYED]++;
	while (make(a, slot) && !READ_ONCE(stop))
		cond_resched();
}

static void move(struct actor *a)
{
	u64 what = draw(a, 32);

	unhurried_step(a);
	if (what < 8)
		with_ref(a, snapshot);
	else if (what < 12)
		swap_two(a);
	else if (what < 14)
		with_ref(a, force);
	else if (what < 15)
		with_ref(a, replace);
	else if (what < 16)
		recreate(a);
}

static int mover(void *arg)
{
	struct actor *a = arg;

	while (atomic_read(&working) > 1) {
		move(a);
		cond_resched();
	}
	actor_ends();
	return 0;
}

static struct actor *actor_new(u32 id)
{
	struct actor *a = kvzalloc(sizeof(*a), GFP_KERNEL);

	if (a) {
		a->id = id;
		a->rng = (u64)id << 40;
	}
	return a;
}

static void actor_free(struct actor *a)
{
	u32 i;

	for (i = 0; a && i < SUMS; i++)
		totals[i] += a->sums[i];
	kvfree(a);
}

/* Actor @id on CPU @cpu, or the mover where @cpu is -1. */
static struct actor *start(u32 id, int cpu)
{
	struct actor *a = actor_new(id);

	if (!a)
		return NULL;
	a->soft = cpu < 0 ? NULL : actor_new(id + 1);
	if (cpu >= 0 && !a->soft)
		goto err_free;
	epf_timer_setup(&a->timer, soft_tick);
	a->task = kthread_create(cpu < 0 ? mover : thread, a, "epf_torture/%u",
				 id);
	if (IS_ERR(a->task))
		goto err_free;
	if (cpu >= 0)
		kthread_bind(a->task, cpu);
	get_task_struct(a->task);
	atomic_inc(&working);
	return a;

err_free:
	kvfree(a->soft);
	kvfree(a);
	return NULL;
}

/* Wait until a thread is gone altogether: the module's text may go next. */
static void finish(struct actor *a)
{
	kthread_stop(a->task);
	put_task_struct(a->task);
	if (a->soft) {
		a->soft->sums[SOFT_INSERTS] = a->soft->sums[INSERTS];
		actor_free(a->soft);
	}
	actor_free(a);
}

static void play(struct actor **actors, u32 nr)
{
	u32 i;

	for (i = 0; i < SLOTS; i++)
		if (make(actors[0], i))
			return;
	for (i = 0; i < nr; i++)
		wake_up_process(actors[i]->task);
	if (wait_for_completion_interruptible(&finished)) {
		WRITE_ONCE(stop, true);
		wait_for_completion(&finished);
	}
}

static void drop_filters(void)
{
	struct epf_name name;
	u32 i;

	for (i = 0; i < SLOTS; i++) {
		name = name_of(i);
		if (name.id)
			epf_filter_destroy(&name, true);
		slots[i] = 0;
	}
}

/* The first one is the mover. Return: how many could be made. */
static u32 start_all(struct actor **actors)
{
	u32 nr = 0;
	int cpu;

	actors[nr] = start(0, -1);
	nr += !!actors[nr];
	for_each_online_cpu(cpu) {
		actors[nr] = start(2 * nr, cpu);
		if (!actors[nr])
			break;
		nr++;
	}
	return nr;
}

static int torture(void)
{
	u32 all = 1 + num_online_cpus();
	struct actor **actors = kcalloc(all, sizeof(*actors), GFP_KERNEL);
	u32 i, nr = 0;

	sights = kvcalloc(PAIRS_MAX, sizeof(*sights), GFP_KERNEL);
	copy = vzalloc(LINES * sizeof(*copy)); /* as the lines of a table */
	if (actors && sights && copy)
		nr = start_all(actors);
	if (nr == all)
		play(actors, nr);
	for (i = 0; i < nr; i++)
		finish(actors[i]);
	drop_filters();
	vfree(copy);
	kvfree(sights);
	kfree(actors);
	return nr == all ? 0 : -ENOMEM;
}

/* One at a time: under the lock of the module's parameters. */
static int torture_set(const char *val, const struct kernel_param *kp)
{
	int err = kstrtoull(val, 0, &steps);

	if (err)
		return err;
	if (!epf_wq)
		return -EPERM; /* not while the module is loaded */
	memset(totals, 0, sizeof(totals));
	memset(tallies, 0, sizeof(tallies));
	atomic_set(&tickets, 0);
	atomic_set(&working, 0);
	atomic_set(&said, 0);
	reinit_completion(&finished);
	made = 0;
	stop = false;
	return torture();
}

static int torture_get(char *buffer, const struct kernel_param *kp)
{
	int i, len = 0;

	for (i = 0; i < SUMS; i++)
		len += scnprintf(buffer + len, PAGE_SIZE - len, "%s %llu\n",
				 sum_names[i], totals[i]);
	return len;
}

static const struct kernel_param_ops torture_ops = {
	.set = torture_set,
	.get = torture_get,
};

module_param_cb(torture, &torture_ops, NULL, 0600);
MODULE_PARM_DESC(torture, "write: run so many steps on each CPU; read: what came of it");

#ifdef EPF_BROKEN
unsigned int epf_broken;
module_param_named(broken, epf_broken, uint, 0600);
MODULE_PARM_DESC(broken, "protections taken out, BROKEN_*");
#endif
