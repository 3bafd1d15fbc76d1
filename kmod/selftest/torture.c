// SPDX-License-Identifier: GPL-2.0
/*
 * DOC: torture
 *
 * Stress test: everything that may happen to a filter, all at once, in the contexts in
 * which it happens, with an exact oracle (oracle.c). It is built only into a module of
 * its own (EPF_TORTURE=y, see selftests/torture), from the same sources as the regular
 * one. Threads and softirqs of the module reach states that no system call does, such
 * as an insert in a softirq in the middle of a thread's insert. They also know which
 * table and which epoch an operation used, which a caller of ioctls does not know while
 * filters are swapped; that makes the oracle exact.
 *
 * Each CPU has two actors: a thread, and a timer in softirq context that interrupts it.
 * Actors insert keys of their own, which nobody else uses, test them, and test-and-insert
 * keys in pairs. One more thread, the mover, inserts and tests too. It also forces
 * rotations, clears, swaps, replaces contents, destroys and recreates filters, and takes
 * snapshots.
 *
 * Writing a number of steps to the parameter "torture" runs it; reading the parameter
 * returns the result of the last run.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "filter.h"
#include "compat.h"

#include <linux/completion.h>
#include <linux/ktime.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "oracle.c"

#define SLOTS 7
#define SOFT_STEPS 4 /* in one run of the timer */
#define SOFT_NS (200 * NSEC_PER_USEC)
#define LINES 2048u
#define LINES_BROKEN 128u             /* few, so that one lane wrongly replaced has many keys */
#define FLUID_NS (70 * NSEC_PER_MSEC) /* T */

/* Shapes of the filters, used in turn; the first SLOTS of them always are. Each has room
 * for FLOOD times the keys of the windows below.
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
	{ EPF_KIND_ELASTIC, { .elastic = {
		.lines = 512, .line_words = 16, .epochs = 5,
	} } },
	{ EPF_KIND_LANES },
	{ EPF_KIND_DICT, { .dict = {
		.buckets = 800, .yard = 80, .generations = 5, .tag_bits = 5,
		.rem_bits = 40, .slots = 8, .lines = 1,
	} } },
	{ EPF_KIND_TLBF, { .tlbf = {
		.words_first = 512, .words_min = 512, .words_max = 1 << 16,
		.k = 12, .l = 7,
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
		.lines_first = 512, .lines_min = 512, .lines_max = 1 << 14,
		.load = 1024, .lines_per_key = 2, .bits_per_key = 16,
	} } },
};

static DECLARE_COMPLETION(finished);
static u32 slots[SLOTS];      /* ids of filters */
static u32 made;              /* filters */
static struct epf_line *copy; /* LINES */
static atomic_t working;
static bool stop;
static u64 steps;
static u64 totals[SUMS];

/* May @t be used? If its rotation is overdue, only a locked kind may, and mostly without
 * waiting. @wait: wait for the rotation afterwards.
 */
static bool usable(struct actor *a, struct epf_table *t, bool *wait)
{
	bool late = epf_table_late(t);

	*wait = late && (!t->locked || !draw(a, 4));
	return !late || t->locked;
}

/* Look up the table of a slot, as programs do by id, and call @use on it in an RCU
 * section. Return: a table whose rotation is to be waited for, by reference, or NULL.
 */
static struct epf_table *with_table(struct actor *a, u32 slot,
				    void (*use)(struct actor *a, struct epf_table *t))
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

/* One step of an actor. Return: a table whose rotation is overdue, by reference, or
 * NULL.
 */
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

/* A step that leaves an overdue rotation to others. */
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

/* Rest as long as the steps took: threads and workers need the CPU too. */
static enum hrtimer_restart soft_tick(struct hrtimer *timer)
{
	struct actor *a = container_of(timer, struct actor, timer)->soft;
	u64 began = ktime_get_ns(), now;
	int i;

	for (i = 0; i < SOFT_STEPS; i++)
		unhurried_step(a);
	now = ktime_get_ns();
	hrtimer_set_expires(timer, ns_to_ktime(now + max_t(u64, now - began, SOFT_NS)));
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

	hrtimer_start(&a->timer, ns_to_ktime(SOFT_NS), HRTIMER_MODE_REL_PINNED_SOFT);
	for (i = 0; i < steps && !READ_ONCE(stop); i++) {
		thread_step(a);
		cond_resched();
	}
	hrtimer_cancel(&a->timer);
	actor_ends();
	return 0;
}

/* Only lanes if a protection is disabled that only they have. */
static const struct shape *next_shape(void)
{
	if (epf_broken & ~(BROKEN_STALL | BROKEN_LOCKED))
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
	static const u8 modes[] = { EPF_MODE_COUNT, EPF_MODE_COUNT, EPF_MODE_EITHER,
				    EPF_MODE_BOTH };

	if (p->kind == EPF_KIND_TLBF || p->kind == EPF_KIND_CHAIN) {
		p->mode = EPF_MODE_TIME;
		p->window_ns = FLUID_NS;
		return;
	}
	p->mode = modes[draw(a, ARRAY_SIZE(modes))];
	p->window_inserts = windows[draw(a, ARRAY_SIZE(windows))];
	if (p->mode != EPF_MODE_COUNT)
		p->window_ns = EPF_LIVE_EPOCHS * 20 * NSEC_PER_MSEC;
}

/* Make a filter: kinds in turn, windows and modes at random. The broken module makes no
 * first-seen filters: it would take a test-and-insert that inserts nothing for one that
 * is under way.
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

/* Call @use on the table of a random slot, by reference. */
static void with_ref(struct actor *a, void (*use)(struct actor *a, struct epf_table *t))
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
	if (count == all && !epf_is_resizable(t))
		t->ops->rotate(t, t->ops->turnover(t));
	else
		t->ops->rotate(t, count);
	atomic64_inc_return(&tally_of(t)->forced);
	a->sums[ROTATIONS] += count;
	a->sums[CLEARS] += count == all;
}

/* Take a snapshot as user space does through a mapping. Some pins expire before the copy
 * is complete.
 */
static void snapshot(struct actor *a, struct epf_table *t)
{
	u64 *to = copy->lane;
	const u64 *from = t->lanes.line->lane;
	struct epf_pin pin;
	u64 epoch;
	u32 i;

	if (t->locked) /* has no lines to copy */
		return;
	if (epf_table_pin(t, 1 + draw(a, 5 * NSEC_PER_MSEC), &pin))
		return;
	for (i = 0; i < t->params.nr_lines * EPF_LANES; i++)
		to[i] = READ_ONCE(from[i]);
	smp_rmb(); /* the copy before the epoch at which it is read */
	epoch = epf_load(&t->state.epoch);
	epf_table_unpin(t, &pin);
	check_copy(a, t, copy, epoch);
	a->sums[SNAPSHOTS]++;
}

static void swap_two(struct actor *a)
{
	u32 slot = draw(a, SLOTS);
	struct epf_swap s = { .a = name_of(slot), .b = name_of((slot + 1) % SLOTS) };

	a->sums[SWAPS] += !epf_filter_swap(&s);
}

/* Replace the contents of a filter that stays, as restore does. */
static void replace(struct actor *a, struct epf_table *t)
{
	struct epf_name name = name_of(draw(a, SLOTS));
	const u64 key[2] = { draw(a, ~0ULL), draw(a, ~0ULL) };
	struct epf_table *new = epf_table_new(&t->params, t->ops->shape ? t->ops->shape(t) : NULL,
					      key);
	struct epf_filter *f = epf_filter_find(&name);

	if (!IS_ERR(new) && !IS_ERR(f) && !epf_filter_replace(f, new, NULL))
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

/* Start actor @id on CPU @cpu, or the mover if @cpu is -1. */
static struct actor *start(u32 id, int cpu)
{
	struct actor *a = actor_new(id);

	if (!a)
		return NULL;
	a->soft = cpu < 0 ? NULL : actor_new(id + 1);
	if (cpu >= 0 && !a->soft)
		goto err_free;
	epf_timer_setup(&a->timer, soft_tick);
	a->task = kthread_create(cpu < 0 ? mover : thread, a, "epf_torture/%u", id);
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

/* Wait until a thread has exited completely: the module's code may be unloaded next. */
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
	for (i = nr; i-- > 0;) /* the mover last */
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

/* Start all actors, the mover first. Return: the number started. */
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
	copy = vzalloc(LINES * sizeof(*copy)); /* vmalloc, as for the lines of a table */
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

/* Runs are serialized by the lock of the module's parameters. */
static int torture_set(const char *val, const struct kernel_param *kp)
{
	int err = kstrtoull(val, 0, &steps);

	if (err)
		return err;
	if (!epf_wq)
		return -EPERM; /* the module is still loading */
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
		len += scnprintf(buffer + len, PAGE_SIZE - len, "%s %llu\n", sum_names[i],
				 totals[i]);
	return len;
}

static const struct kernel_param_ops torture_ops = {
	.set = torture_set,
	.get = torture_get,
};

module_param_cb(torture, &torture_ops, NULL, 0600);
MODULE_PARM_DESC(torture,
		 "write: number of steps to run on each CPU; read: result of the last run");

#ifdef EPF_BROKEN
unsigned int epf_broken;
module_param_named(broken, epf_broken, uint, 0600);
MODULE_PARM_DESC(broken, "protections to disable, a mask of BROKEN_*");
atomic_t broken_inside;
unsigned int broken_most;
unsigned long broken_holds;
/* to the kinds */
EPF_EXPORT(epf_broken);
EPF_EXPORT(broken_inside);
EPF_EXPORT(broken_most);
EPF_EXPORT(broken_holds);
module_param_named(most_inside, broken_most, uint, 0600);
MODULE_PARM_DESC(most_inside, "maximum number of processes at the lock of one table at a time");
module_param_named(holds, broken_holds, ulong, 0400);
MODULE_PARM_DESC(holds, "number of times that one of them held it");
unsigned long broken_halves;
EPF_EXPORT(broken_halves);
module_param_named(halves, broken_halves, ulong, 0600);
MODULE_PARM_DESC(halves, "number of sweep calls that did not continue");
#endif
