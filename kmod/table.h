/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A table: the lines of a filter and all the state that belongs to them.
 *
 * Lifetime. A table is published by one filter (filter.h), which holds one
 * reference; each mapping and each snapshot under way holds one more. Packet
 * paths hold none: they find the table under RCU, and it is freed a grace period
 * after its last reference is dropped. Retiring a table ends rotation and scan;
 * its lines stay readable for those that still map them.
 *
 * Shared words beside those of lanes.h and window.h:
 *
 *   lock       Protects rotation, the scan and each field below that says so.
 *              Packet paths of lanes only try the lock; those of the locked kinds
 *              take it (kinds/locked.h). It is a raw lock, taken with interrupts off
 *              and held for microseconds.
 *   retry      A CPU that wants to rotate sets it before it tries the lock; the
 *              holder reads it after releasing the lock (full barriers on both
 *              sides). So a due rotation never waits for the next insertion.
 *   trigger    Packed like state.count: the count at which an inserter leaves
 *              the fast path and calls epf_table_look(). Written under the lock
 *              by a rotation, and by inserters with cmpxchg; the epoch in it
 *              keeps a slow writer from overwriting the trigger of a later epoch.
 *              A stale value makes an inserter look too early, which is harmless.
 *   batch, group_batch   How much CPUs and groups keep. Raised under the lock only,
 *              with the trigger set after that; inserters lower them with cmpxchg.
 *              Nothing is ordered by them. Whoever lowers one counts the keys
 *              after a full barrier, so keys kept by the previous value are either
 *              in that count or one for each CPU (rotate.c).
 *   group->pending   Written by CAS, by the CPUs of one group; read by statistics.
 *              It carries its epoch. No ordering: only the numbers matter.
 *   late       The epoch whose rotation is overdue. Written under the lock; read
 *              without it as a hint.
 *   cpu->*     Written by their own CPU with single instructions, read by all
 *              CPUs as statistics.
 *   answer     What is reported for a key that is present. Opened (set to fail
 *              open) by the inserter whose key brings its epoch to capacity
 *              (capacity.c), and by the worker. Only the worker closes it, with
 *              cmpxchg: each opening has a number, so the worker cannot revert
 *              an opening that it has not seen. Packet paths read it once for
 *              each operation, so that a key reported absent has been inserted;
 *              an operation under way may still use the previous value.
 *   keys_before, room   See capacity.c.
 *   retired    Set once. Read as a hint; references protect the memory.
 *   journal, plain   See journal.h.
 */
#ifndef EPF_TABLE_H
#define EPF_TABLE_H

#include "limits.h"

#include <epf/estimate.h>
#include <epf/capacity.h>
#include <epf/keydesc.h>
#include <epf/lanes.h>
#include <epf/packet.h>
#include <epf/window.h>

#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct epf_filter;
struct epf_journal;
struct epf_locked_state;
struct epf_table_ops;

/**
 * struct epf_cpu - counters of one CPU
 * @pending: insertions not yet in state.count, see epf_pending_add()
 * @verdicts: [0]: absent, [1]: present
 * @inserts: keys inserted; [0]: the key set no bits in the lanes of its epoch,
 *	[1]: it did (all keys of a locked kind)
 * @failed_open: operations that returned -ENOSPC because of saturation
 */
struct epf_cpu {
	u64 pending;
	u64 verdicts[2];
	u64 inserts[2];
	u64 failed_open;
};

/**
 * struct epf_group - what EPF_GROUP_CPUS CPUs have passed on
 * @pending: insertions not yet in state.count, as of a CPU; changed by CAS, by the
 *	CPUs of the group alone, on a line of its own. With it the CPUs of a large
 *	machine seldom write the same line: selftests/core/touches
 */
struct epf_group {
	u64 pending;
} ____cacheline_aligned_in_smp;

/**
 * enum epf_answer - how operations treat a key that is present
 * @EPF_ANSWER: report it; test-and-insert inserts it
 * @EPF_ANSWER_SKIP: report it; test-and-insert does not insert it (first-seen)
 * @EPF_ANSWER_OPEN: the filter is saturated: report "do not know" (-ENOSPC),
 *	which fails open; test-and-insert inserts it
 */
enum epf_answer { EPF_ANSWER, EPF_ANSWER_SKIP, EPF_ANSWER_OPEN };

/**
 * union epf_answer_word - the current policy and the number of openings
 * @now: enum epf_answer, the only part that packet paths read
 * @openings: times an inserter set EPF_ANSWER_OPEN, even if it was set already
 * @word: both
 */
union epf_answer_word {
	struct {
		u8 now;
		u8 unused[3];
		u32 openings;
	};
	u64 word;
};

/**
 * struct epf_table - see above
 * @lanes: shape and lines; without parts if @locked is set. With @cpu and the
 *	beginning of @hash it makes the first cache line. That line and the line of
 *	@answer are all that most packets read here
 * @cpu: per-CPU counters
 * @hash: keyed digest; its key words of EPF_HASH_NH have lines of their own
 * @batch: insertions that a CPU collects before it passes them on, see
 *	epf_pace_batch(). Written by rotations and by inserters, a few times an
 *	epoch. Every value is correct; a smaller one costs more and is more precise
 * @answer: see above
 * @retired: no longer published
 * @plain: EPF_PARTS_MAX lines a key and no journal: all that the fast path checks
 * @journal: journal of this table, or NULL
 * @locked: state of a locked kind (kinds/locked.h); NULL: lanes. Constant
 * @group_batch: as @batch, for a group of CPUs
 * @pace: determines both batches and @trigger
 * @group: what each group of CPUs keeps; as many as @pace says; NULL: no groups
 * @limited: there is an error limit, so @capacity is in use
 * @capacity: the error of an epoch as a function of its keys; lanes only
 * @ops: what differs between kinds (kind.h). Constant
 * @epochs: complete epochs in the window. Constant
 * @words: size of the memory that it keeps for its whole life. Constant
 * @window: the window that is promised
 * @params: as requested by the caller; the name in it is not used
 * @serial: different from that of every other table
 * @bytes: memory charged against the limits. For a resizable kind the worker adds
 *	and subtracts, and so does the caller that begins a snapshot (it subtracts)
 * @created_ns: monotonic
 * @base_inserts: insertions before a restore
 * @owner: the filter that publishes it
 * @owner_id: id of @owner, for tracing
 * @refs: references
 * @free_work: frees the table after a grace period
 * @timer: ends epochs by time
 * @work: scans, estimates, notifies, and retries overdue rotations
 * @moved: woken whenever the worker has made progress
 * @cover: hit probabilities, for the estimate
 * @trigger: see above; on one cache line with the count
 * @state: current epoch and count
 * @lock: see above
 * @retry: see above
 * @late: see above
 * @rotations: epochs ended; @lock
 * @delayed: epochs that ended late; @lock
 * @saturations: times the table became saturated
 * @flips: times the table became saturated or stopped being so
 * @told_flips: value of @flips that the worker has last notified; worker only
 * @scanned_lines: lines scanned; @lock
 * @estimated_epoch: epoch of @est; written under @lock
 * @estimated_ns: time of @est; written under @lock
 * @pinned: a snapshot blocks rotation; @lock
 * @pins: number of pins so far, and thus the number of the latest one; @lock
 * @pin_until_ns: when the latest pin expires; @lock
 * @cookie: grace-period cookies, taken when epoch e was left, by e modulo 8; @lock
 * @est: estimates; @lock
 * @share: error of each epoch that is over, computed from its keys, q56, by epoch
 *	modulo 8; @lock
 * @keys_before: keys counted before the current epoch; written under @lock
 * @room: keys that the current epoch may take, or EPF_NO_LIMIT; written under @lock
 * @desc: how the keys are made; @lock
 */
struct epf_table {
	struct epf_lanes lanes;
	struct epf_cpu __percpu *cpu;
	struct epf_hash hash;

	union epf_answer_word answer ____cacheline_aligned_in_smp;
	u32 batch;
	bool retired;
	bool plain;
	struct epf_locked_state *locked;
	struct epf_journal __rcu *journal;
	u32 group_batch;
	bool limited;
	struct epf_group *group;
	struct epf_pace pace;
	const struct epf_table_ops *ops;
	u64 words;
	u32 epochs;
	struct epf_window window;
	struct epf_params params;
	u64 serial;
	atomic64_t bytes;
	u64 created_ns;
	u64 base_inserts;
	struct epf_filter __rcu *owner;
	u32 owner_id;
	refcount_t refs;
	struct rcu_work free_work;
	struct hrtimer timer;
	struct delayed_work work;
	wait_queue_head_t moved;
	struct epf_cover cover;
	struct epf_capacity capacity;

	u64 trigger ____cacheline_aligned_in_smp;
	struct epf_state state;

	raw_spinlock_t lock ____cacheline_aligned_in_smp;
	u32 retry;
	u64 late;
	u64 rotations;
	u64 delayed;
	atomic64_t saturations;
	atomic64_t flips;
	u64 told_flips;
	u64 scanned_lines;
	u64 estimated_epoch;
	u64 estimated_ns;
	bool pinned;
	u64 pins;
	u64 pin_until_ns;
	unsigned long cookie[EPF_LANES];
	struct epf_estimates est;
	u64 share[EPF_LANES];
	u64 keys_before;
	u64 room;
	struct epf_key_desc desc;
};

/* Inserters change the count and read the trigger. These writes must not take the
 * cache line of the epoch, nor that of the lock, from CPUs that only test.
 */
#define EPF_TABLE_LINE(member) (offsetof(struct epf_table, member) / SMP_CACHE_BYTES)
#if defined(CONFIG_SMP) && SMP_CACHE_BYTES == 64
static_assert(EPF_TABLE_LINE(lanes) == EPF_TABLE_LINE(cpu));
static_assert(EPF_TABLE_LINE(lanes) == EPF_TABLE_LINE(hash.kind));
static_assert(EPF_TABLE_LINE(state.count) == EPF_TABLE_LINE(trigger));
static_assert(EPF_TABLE_LINE(state.epoch) != EPF_TABLE_LINE(state.count));
static_assert(EPF_TABLE_LINE(state.epoch) != EPF_TABLE_LINE(lock));
static_assert(EPF_TABLE_LINE(state.epoch) != EPF_TABLE_LINE(cover));
static_assert(sizeof(struct epf_group) == SMP_CACHE_BYTES);
#endif

/**
 * struct epf_pin - a pin, by which a snapshot blocks rotation
 * @nr: number of the pin; after it has expired another snapshot may pin the table
 * @epoch: current epoch when the pin began
 * @moves: for a locked kind: @moves of struct epf_locked_state at that time
 */
struct epf_pin {
	u64 nr;
	u64 epoch;
	u64 moves;
};

#define EPF_NO_LIMIT U64_MAX

/* Words that the worker scans or sweeps in one hold of the lock: 1 KiB, which are 3 us if
 * each cache line is a miss. Interrupts are off meanwhile.
 */
#define EPF_HOLD_WORDS 128u

enum op { OP_TEST, OP_INSERT, OP_TEST_AND_INSERT };

/* table.c: */
struct epf_table *epf_table_new(const struct epf_params *params, const struct epf_shape *shape,
				const u64 key[2]);
void epf_table_start(struct epf_table *t, struct epf_filter *owner, u32 id);
void epf_table_retire(struct epf_table *t);
void epf_table_put(struct epf_table *t);
void epf_table_stats(struct epf_table *t, struct epf_stats *stats);
void epf_table_info(struct epf_table *t, struct epf_info *info);
void epf_table_describe(struct epf_table *t, struct epf_key_desc *desc);

/* selftest/core.c: */
int epf_selftest(void);

static inline void epf_table_get(struct epf_table *t)
{
	refcount_inc(&t->refs);
}

/* rotate.c: */
void epf_table_lock(struct epf_table *t, unsigned long *flags);
void epf_table_unlock(struct epf_table *t, unsigned long flags);
void epf_table_end_epoch(struct epf_table *t, u64 now_ns);
void epf_table_look(struct epf_table *t, u64 e, u64 sum);
bool epf_table_try_rotate(struct epf_table *t);
int epf_table_rotate_now(struct epf_table *t, u64 *e);
int epf_table_rotate(struct epf_table *t, u32 count);
int epf_table_clear(struct epf_table *t);
bool epf_table_full(const struct epf_table *t);
int epf_table_settle(struct epf_table *t);
int epf_table_pin(struct epf_table *t, u64 pin_ns, struct epf_pin *pin);
void epf_table_unpin(struct epf_table *t, const struct epf_pin *pin);
bool epf_table_pinned(const struct epf_table *t, u64 now_ns);
void epf_table_after_pin(struct epf_table *t);
void epf_table_reset_trigger(struct epf_table *t);
enum hrtimer_restart epf_table_tick(struct hrtimer *timer);
u64 epf_table_epoch_tick_ns(const struct epf_table *t);

/* capacity.c: */
int epf_table_set_limit(struct epf_table *t);
u64 epf_table_keys(const struct epf_table *t);
u64 epf_table_left(const struct epf_table *t);
void epf_table_open(struct epf_table *t, u64 e);
void epf_table_next_room(struct epf_table *t, u64 before);
void epf_table_measured_room(struct epf_table *t);
bool epf_table_judge(struct epf_table *t);

/* worker.c: */
void epf_table_work(struct work_struct *work);
void epf_table_estimate(struct epf_table *t);

/* kfunc.c: */
struct xdp_buff;
int epf_table_op(struct epf_table *t, u64 digest, enum op op);
int epf_xdp_digest(const struct epf_hash *h, struct xdp_buff *xdp, const struct epf_pkt_opts *opts,
		   u64 *digest);
void bpf_epf_release_dtor(void *f);

/* record.c, documented there: */
void epf_journal_inserted(const struct epf_journal *j, u64 digest, u64 e, u64 lanes);

/* skb_key.c: */
struct sk_buff;
int epf_skb_digest(const struct epf_table *t, const struct sk_buff *skb, u32 at, u32 iface,
		   const struct epf_pkt_opts *opts, u64 *digest);

/* Is the rotation of the current epoch overdue? A hint. */
static inline bool epf_table_late(const struct epf_table *t)
{
	return READ_ONCE(t->late) == epf_load(&t->state.epoch);
}

/* Give @n insertions of epoch @e to the CPU's group. Return: those to count now.
 * If the CPU changes meanwhile, another group has them.
 */
static inline u64 epf_table_join(struct epf_table *t, u64 e, u64 n)
{
	u64 *pending, old, new, flush;

	if (!t->group)
		return n;
	pending = &t->group[raw_smp_processor_id() / EPF_GROUP_CPUS].pending;
	old = READ_ONCE(*pending);
	do {
		new = epf_pending_join(old, e, n, READ_ONCE(t->group_batch), &flush);
	} while (!try_cmpxchg(pending, &old, new));
	return flush;
}

/* Pass on @n insertions of epoch @e; end the epoch when they are the last.
 * Out of line, and gives @ret back, so that packets that need not do it need
 * no stack frame.
 */
static noinline __maybe_unused int epf_table_flush(struct epf_table *t, u64 e, u64 n, int ret)
{
	u64 sum;

	n = epf_table_join(t, e, n);
	if (!n)
		return ret;
	sum = epf_count_add(&t->state, e, n);
	if (!sum || (s64)(epf_count_pack(e, sum) - READ_ONCE(t->trigger)) >= 0)
		epf_table_look(t, e, sum);
	return ret;
}

/* Count one insertion of epoch @e; @grew: the key set bits. Return: @ret. */
static __always_inline int epf_table_count(struct epf_table *t, u64 e, bool grew, int ret)
{
	u32 batch = READ_ONCE(t->batch);
	u64 old, new, n;

	this_cpu_inc(t->cpu->inserts[grew]);
	/* The steps may run on different CPUs: only the values matter, and if an
	 * interrupt inserts in between, the exchange fails.
	 */
	do {
		old = this_cpu_read(t->cpu->pending);
		new = epf_pending_add(old, e, batch, &n);
	} while (unlikely(this_cpu_cmpxchg(t->cpu->pending, old, new) != old));
	return likely(!n) ? ret : epf_table_flush(t, e, n, ret);
}

static inline bool epf_table_saturated(const struct epf_table *t)
{
	return READ_ONCE(t->answer.now) == EPF_ANSWER_OPEN;
}

/* The result to report for @verdict; fails open while saturated. */
static __always_inline int epf_table_verdict(struct epf_table *t, int verdict, u8 answer)
{
	if (verdict && unlikely(answer == EPF_ANSWER_OPEN)) {
		this_cpu_inc(t->cpu->failed_open);
		return -ENOSPC;
	}
	this_cpu_inc(t->cpu->verdicts[verdict != EPF_ABSENT]);
	return verdict;
}

/* The lanes of @t. The assignment tells the compiler where the epoch is. */
static __always_inline struct epf_lanes epf_table_lanes(struct epf_table *t)
{
	struct epf_lanes lanes = t->lanes;

	lanes.epoch = &t->state.epoch;
	return lanes;
}

/* The journal of @t or NULL; valid in the RCU section of the caller. */
static __always_inline const struct epf_journal *epf_table_journal(const struct epf_table *t)
{
	return rcu_dereference_check(t->journal, rcu_read_lock_bh_held());
}

/*
 * The three operations on a probe. The caller has been in an RCU read-side section
 * since before it loaded the table: this is the section of O3 in lanes.h. @j is
 * what epf_table_journal() returned, or NULL if @t->plain says that there is
 * none; @digest is only for the journal.
 *
 * Return: EPF_ABSENT, EPF_PRESENT + age, or -ENOSPC: do not know, fail open.
 */
static __always_inline int epf_table_test(struct epf_table *t, const struct epf_probe *p)
{
	struct epf_lanes lanes = epf_table_lanes(t);

	return epf_table_verdict(t, epf_lanes_test(&lanes, p), READ_ONCE(t->answer.now));
}

static __always_inline int epf_table_insert(struct epf_table *t, const struct epf_probe *p,
					    const struct epf_journal *j, u64 digest)
{
	struct epf_lanes lanes = epf_table_lanes(t);
	bool grew = false;
	u64 into = 0;
	u64 e = epf_lanes_insert_into(&lanes, p, &into, &grew);

	if (j)
		epf_journal_inserted(j, digest, e, into);
	return epf_table_count(t, e, grew, EPF_ABSENT);
}

static __always_inline int epf_table_test_and_insert(struct epf_table *t, const struct epf_probe *p,
						     const struct epf_journal *j, u64 digest)
{
	struct epf_lanes lanes = epf_table_lanes(t);
	u8 answer = READ_ONCE(t->answer.now);
	u64 into = 0;
	int verdict;
	bool grew;
	u64 e;

	verdict = epf_lanes_test_and_insert_into(&lanes, p, answer == EPF_ANSWER_SKIP, &e, &into);
	if (j && e)
		epf_journal_inserted(j, digest, e, into);
	grew = verdict != EPF_PRESENT;
	verdict = epf_table_verdict(t, verdict, answer);
	return e ? epf_table_count(t, e, grew, verdict) : verdict;
}

#endif /* EPF_TABLE_H */
