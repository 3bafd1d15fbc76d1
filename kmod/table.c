// SPDX-License-Identifier: GPL-2.0
/* Tables: making, freeing, and statistics. */
#include "filter.h"
#include "compat.h"
#include "journal.h"
#include "kind.h"

#include <linux/memcontrol.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

static atomic64_t last_serial;

/* Compute how many insertions CPUs keep, and when inserters call epf_table_look(). */
static void epf_table_set_pace(struct epf_table *t)
{
	u64 step = max_t(u64, t->ops->fill_step(t), 1);
	u64 full_at = t->window.mode == EPF_MODE_TIME ? EPF_INSERTS_MAX + 1 :
							t->window.epoch_inserts;

	epf_pace_init(&t->pace, step, full_at, min3(full_at, 16 * step, t->room), nr_cpu_ids);
}

/* Groups of CPUs, rounded up so that kmalloc() aligns them; 0: CPUs add to the count themselves. */
static u32 epf_table_groups_of_cpus(void)
{
	u32 groups = DIV_ROUND_UP(nr_cpu_ids, EPF_GROUP_CPUS);

	return groups > 1 ? roundup_pow_of_two(groups) : 0;
}

/* The module of the operations may be unloaded when its reference is gone, so that is last. */
static void epf_free_table(struct epf_table *t)
{
	const struct epf_table_ops *ops = t->ops;

	if (ops->free)
		ops->free(t);
	vfree(t->lanes.line);
	free_percpu(t->cpu);
	kfree(t->group);
	epf_uncharge(atomic64_read(&t->bytes));
	mem_cgroup_put(t->creator);
	kfree_sensitive(t); /* contains the hash key */
	epf_kind_put(ops);
}

/* Runs after the grace period. No packet path has the table any more, and the timer is cancelled or
 * was never started, so only the work itself can requeue the work.
 */
static void epf_free_table_work(struct work_struct *work)
{
	struct epf_table *t = container_of(to_rcu_work(work), struct epf_table, free_work);

	cancel_delayed_work_sync(&t->work);
	epf_free_table(t);
}

static void epf_init_table(struct epf_table *t, const struct epf_params *params, const u64 key[2])
{
	int i;

	t->created_ns = ktime_get_ns();
	epf_state_init(&t->state, t->created_ns); /* first: some fields are in its gap */
	t->params = *params;
	memset(t->params.name, 0, sizeof(t->params.name));
	t->plain = t->lanes.geom.parts == EPF_PARTS_MAX;
	epf_window_init_epochs(&t->window, params->mode, params->refresh, params->window_inserts,
			       params->window_ns, t->epochs);
	epf_hash_init(&t->hash, key[0], key[1], params->hash);
	t->answer.now = epf_table_usual_answer(t);
	t->began_ns = t->created_ns;
	t->serial = atomic64_inc_return(&last_serial);
	t->lanes.epoch = &t->state.epoch;
	refcount_set(&t->refs, 1);
	raw_spin_lock_init(&t->lock);
	init_waitqueue_head(&t->moved);
	INIT_RCU_WORK(&t->free_work, epf_free_table_work);
	INIT_DELAYED_WORK(&t->work, epf_table_work);
	epf_timer_setup(&t->timer, epf_table_tick);
	for (i = 0; i < EPF_LANES; i++)
		t->cookie[i] = get_completed_synchronize_rcu();
	t->room = EPF_NO_LIMIT;
}

/* Allocate all that a table owns, except the state of its kind. Return: 0, -ENOMEM, -EINTR. */
static int epf_fill_table(struct epf_table *t, u64 lines_bytes)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NOWARN;
	u32 groups = epf_table_groups_of_cpus();

	t->cpu = alloc_percpu_gfp(struct epf_cpu, gfp);
	if (groups)
		t->group = kcalloc(groups, sizeof(*t->group), gfp);
	if (!t->cpu || (groups && !t->group))
		return -ENOMEM;
	if (lines_bytes)
		t->lanes.line = epf_alloc_lines(t, lines_bytes);
	if (fatal_signal_pending(current))
		return -EINTR;
	return lines_bytes && !t->lanes.line ? -ENOMEM : 0;
}

static int epf_table_fill_and_begin(struct epf_table *t, const struct epf_params *params,
				    const u64 key[2])
{
	u64 lines_bytes = PAGE_ALIGN(t->words * sizeof(u64));
	u64 bytes = lines_bytes + sizeof(struct epf_table) +
		    num_possible_cpus() * sizeof(struct epf_cpu) +
		    epf_table_groups_of_cpus() * sizeof(struct epf_group) + t->ops->state_bytes;
	int err = epf_charge(bytes);

	if (err)
		return err;
	atomic64_set(&t->bytes, bytes);
	if (t->most)
		t->most += bytes;
	err = epf_fill_table(t, lines_bytes);
	if (err)
		return err;
	epf_init_table(t, params, key);
	err = t->ops->fill(t);
	if (err)
		return err;
	epf_table_set_pace(t);
	epf_table_reset_trigger(t);
	return 0;
}

/**
 * epf_table_new() - make an empty table
 * @params: checked parameters
 * @shape: for a locked kind, unchecked; unused for lanes
 * @key: hash key
 *
 * The lines use huge pages if possible, follow the caller's memory policy (numactl), and are
 * charged to its memory control group, also those by which the table grows later. The allocation
 * fails rather than wake the OOM killer. After a fatal signal it fails, though not at once: vmalloc
 * falls back from huge pages to small ones, and completes that pass first.
 *
 * Context: process; sleeps, for seconds if the table has many GiB.
 * Return: the table with one reference, or an error pointer: -EINVAL: bad shape; -E2BIG, -ENOSPC:
 * limits; -ENOMEM; -EINTR; -EOPNOTSUPP: as epf_params_check().
 */
struct epf_table *epf_table_new(const struct epf_params *params, const struct epf_shape *shape,
				const u64 key[2])
{
	const struct epf_table_ops *ops = epf_kind_get(params->kind);
	struct epf_table *t;
	int err;

	if (IS_ERR(ops))
		return ERR_CAST(ops);
	t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	if (!t) {
		epf_kind_put(ops);
		return ERR_PTR(-ENOMEM);
	}
	t->ops = ops;
	t->creator = get_mem_cgroup_from_mm(current->mm);
	err = ops->make(t, params, shape) ?: epf_table_fill_and_begin(t, params, key);
	if (!err)
		return t;
	epf_free_table(t);
	return ERR_PTR(err);
}
EPF_EXPORT(epf_table_new);

/**
 * epf_table_start() - start the clock of a table
 * @t: table, about to be published
 * @owner: its filter
 * @id: number of that
 *
 * Context: process.
 */
void epf_table_start(struct epf_table *t, struct epf_filter *owner, u32 id)
{
	t->owner_id = id;
	rcu_assign_pointer(t->owner, owner);
	if (t->window.mode != EPF_MODE_COUNT)
		hrtimer_start(&t->timer, ns_to_ktime(t->ops->tick_ns(t)), HRTIMER_MODE_REL_SOFT);
}

/**
 * epf_table_retire() - drop the publication and its reference
 * @t: table
 *
 * Context: process; sleeps.
 */
void epf_table_retire(struct epf_table *t)
{
	unsigned long flags;

	WRITE_ONCE(t->retired, true);
	rcu_assign_pointer(t->owner, NULL);
	hrtimer_cancel(&t->timer);
	epf_table_lock(t, &flags);
	epf_journal_over_locked(t);
	epf_table_unlock(t, flags);
	wake_up_all(&t->moved);
	epf_table_put(t);
}

/**
 * epf_table_put() - drop a reference
 * @t: table
 *
 * After the last one a worker frees the table, a grace period later: packet paths may still be
 * using it, and freeing many GiB takes long.
 *
 * Context: any.
 */
void epf_table_put(struct epf_table *t)
{
	if (refcount_dec_and_test(&t->refs))
		queue_rcu_work(epf_wq, &t->free_work);
}
EPF_EXPORT(epf_table_put);

/* Insertions of epoch @e, the current one, with those that groups and CPUs still keep. They go from
 * CPU to group to count; this reads in the opposite order, so it counts none twice.
 */
static u64 epf_table_inserts_now(const struct epf_table *t, u64 e)
{
	u64 sum = epf_count_of(epf_load(&t->state.count), e);
	u32 i, groups = epf_table_groups_of_cpus();
	int cpu;

	smp_rmb(); /* pairs with the CAS of epf_count_add() */
	for (i = 0; i < groups; i++)
		sum += epf_pending_of(READ_ONCE(t->group[i].pending), e);
	smp_rmb(); /* pairs with the CAS of epf_table_join() */
	for_each_possible_cpu(cpu)
		sum += epf_pending_of(READ_ONCE(per_cpu_ptr(t->cpu, cpu)->pending), e);
	return sum;
}

static void epf_table_read_locked_stats(const struct epf_table *t, struct epf_stats *stats)
{
	lockdep_assert_held(&t->lock);
	stats->rotations = t->rotations;
	stats->delayed = t->delayed;
	stats->saturations = atomic64_read(&t->saturations);
	stats->scanned = t->scanned_lines;
}

static void epf_table_read_cpu_stats(const struct epf_table *t, struct epf_stats *stats)
{
	int cpu;

	stats->inserts = t->base_inserts;
	for_each_possible_cpu(cpu) {
		const struct epf_cpu *c = per_cpu_ptr(t->cpu, cpu);

		stats->inserts += READ_ONCE(c->inserts[0][0]) + READ_ONCE(c->inserts[0][1]) +
				  READ_ONCE(c->inserts[1][0]) + READ_ONCE(c->inserts[1][1]);
		stats->hits += READ_ONCE(c->verdicts[1]);
		stats->misses += READ_ONCE(c->verdicts[0]) + READ_ONCE(c->failed_open);
		stats->failed_open += READ_ONCE(c->failed_open);
	}
}

/**
 * epf_table_stats() - add the counters of a table
 * @t: table, by reference or under RCU
 * @stats: zeroed
 *
 * Context: any.
 */
void epf_table_stats(struct epf_table *t, struct epf_stats *stats)
{
	unsigned long flags;

	epf_table_lock(t, &flags);
	epf_table_read_locked_stats(t, stats);
	epf_table_unlock(t, flags);
	epf_table_read_cpu_stats(t, stats);
}

/* Insertions into one epoch. */
struct epf_table_inserts {
	u64 epoch;
	u64 inserts;
};

/* Report the retained epochs, the current one first, at most eight. @now: the insertions into the
 * epoch that was current before the lock was taken. If another one is, it has begun since, and only
 * those that came after that are left out: what CPUs and groups keep of them.
 */
static void epf_table_read_epochs(const struct epf_table *t, u64 now_ns,
				  const struct epf_table_inserts *now, struct epf_epoch_info *info)
{
	u64 older = min(t->epochs, EPF_LIVE_EPOCHS);
	u64 e = t->state.epoch;
	u64 x;

	lockdep_assert_held(&t->lock);
	for (x = e; x >= e - older && x >= EPF_EPOCH_FIRST; x--, info++) {
		info->epoch = x;
		info->inserts = t->state.ring[x & 7].inserts;
		if (x == e)
			info->inserts = e == now->epoch ?
						now->inserts :
						epf_count_of(epf_load(&t->state.count), e);
		info->age_ns = now_ns - t->state.ring[x & 7].start_ns;
		info->fill_ppt = t->est.lane_fill[x & 7];
		info->fpr_ppt = t->est.lane_fpr[x & 7];
	}
}

/* How long everything has been retained; 0: not for any time. */
static u64 epf_table_kept(const struct epf_table *t, u64 now_ns)
{
	u64 since = t->ops->since(t);

	lockdep_assert_held(&t->lock);
	return (s64)since < (s64)now_ns ? now_ns - since : 0;
}

/**
 * epf_table_info() - describe a table
 * @t: table, by reference or under RCU
 * @info: zeroed; all but id, users and name is set
 *
 * What is summed over CPUs is summed without the lock, for which packets of a locked kind wait.
 *
 * Context: process; takes the lock.
 */
void epf_table_info(struct epf_table *t, struct epf_info *info)
{
	u64 e = epf_load_acquire(&t->state.epoch);
	const struct epf_table_inserts inserts = { e, epf_table_inserts_now(t, e) };
	unsigned long flags;
	u64 now;

	info->params = t->params;
	info->memory_bytes = atomic64_read(&t->bytes);
	info->window_epochs = t->epochs;
	epf_table_lock(t, &flags);
	now = ktime_get_ns();
	info->epoch = t->state.epoch;
	info->fpr_ppt = t->est.fpr;
	info->age_ns = now - t->created_ns;
	info->desc = t->desc;
	info->flags = (epf_table_saturated(t) ? EPF_INFO_SATURATED : 0) |
		      (epf_table_pinned(t, now) ? EPF_INFO_PINNED : 0) |
		      (rcu_access_pointer(t->journal) ? EPF_INFO_JOURNAL : 0) |
		      (t->window.align_ns ? EPF_INFO_ALIGNED : 0);
	epf_table_read_epochs(t, now, &inserts, info->epochs);
	t->ops->info(t, now, info);
	info->kept_ns = epf_table_kept(t, now);
	epf_table_read_locked_stats(t, &info->stats);
	epf_table_unlock(t, flags);
	epf_table_read_cpu_stats(t, &info->stats);
}

/**
 * epf_table_describe() - record how the keys of coming insertions are made
 * @t: table, by reference
 * @desc: valid; set to the description that covers all keys of the table
 *
 * Context: process; takes the lock.
 */
void epf_table_describe(struct epf_table *t, struct epf_key_desc *desc)
{
	unsigned long flags;

	epf_table_lock(t, &flags);
	t->desc = epf_key_desc_join(&t->desc, desc);
	*desc = t->desc;
	epf_table_unlock(t, flags);
}
EPF_EXPORT(epf_table_describe);
