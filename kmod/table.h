/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A table: the lines of a filter and all the state that belongs to them.
 *
 * Lifetime. A table is published by one filter (filter.h), which holds one reference; each mapping
 * and each snapshot under way holds one more. Packet paths hold none: they find the table under
 * RCU, and it is freed a grace period after its last reference is dropped. Retiring a table ends
 * rotation and scan; its lines stay readable for those that still map them.
 *
 * Shared words beside those of lanes.h, window.h, journal.h and capacity.c:
 *
 *   lock       Protects rotation, the scan and the fields after it. Packet paths of lanes only try
 *              it; those of the locked kinds take it (kinds/locked.h). It is a raw lock,
 *              taken with interrupts off and held for microseconds.
 *   retry      A CPU that wants to rotate sets it before it tries the lock; the holder reads it
 *              after releasing the lock (full barriers on both sides). So a due rotation never
 *              waits for the next insertion.
 *   trigger    Packed like state.count: the count at which an inserter leaves the fast path and
 *              calls epf_table_look(). Written under the lock by a rotation, and by inserters with
 *              cmpxchg; the epoch in it keeps a slow writer from overwriting the trigger of a later
 *              epoch. A stale value makes an inserter look too early, which is harmless.
 *   mark       Packed likewise: up to this count the keys of the epoch need not be summed
 *              (epf_pace_mark()). Whoever has summed them stores it; each value is right while its
 *              epoch lasts, and that of another epoch only makes the next look sum again.
 *   batch, group_batch  How much CPUs and groups keep. Raised under the lock only, with the trigger
 *              set after that; inserters lower them with cmpxchg. Nothing is ordered by them.
 *              Whoever lowers one beyond the mark counts the keys after a full barrier, so keys
 *              kept by the previous value are either in that count or one for each CPU (rotate.c).
 *   group->pending   Written by CAS, by the CPUs of one group; it carries its epoch. No ordering:
 *              only the numbers matter.
 *   late       The epoch whose rotation is overdue. Read without the lock as a hint.
 *   cpu->*     Written by their own CPU with single instructions, read by all as statistics.
 *   answer     What is reported for a key that is present. Opened (set to fail open) by the
 *              inserter whose key brings its epoch to capacity (capacity.c), and by the worker.
 *              Only the worker closes it, with cmpxchg: each opening has a number, so the worker
 *              cannot revert an opening that it has not seen. Packet paths read it once for each
 *              operation, so that a key reported absent has been inserted; an operation under way
 *              may still use the previous value.
 *   retired    Set once. Read as a hint; references protect the memory.
 */
#ifndef EPF_TABLE_H
#define EPF_TABLE_H

#include "memory.h"

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

/* Counters of one CPU, which it alone writes, for each packet: all on one line. */
struct epf_cpu {
	u64 pending;     /* insertions not yet in state.count, see epf_pending_add() */
	u64 verdicts[2]; /* absent, present */
	/* [1]: the key set bits in the lanes of its epoch (locked: any); by that epoch modulo 2 */
	u64 inserts[2][2];
	u64 failed_open; /* operations that returned -ENOSPC because of saturation */
} ____cacheline_aligned_in_smp;

/* What EPF_GROUP_CPUS CPUs have passed on, and is not yet in state.count, on a line of its own.
 * With it the CPUs of a large machine seldom write the same line: selftests/core/touches.
 */
struct epf_group {
	u64 pending;
} ____cacheline_aligned_in_smp;

/* How operations treat a key that is present. */
enum epf_answer {
	EPF_ANSWER,      /* report it; test-and-insert inserts it */
	EPF_ANSWER_SKIP, /* report it; test-and-insert does not insert it (first-seen) */
	EPF_ANSWER_OPEN, /* saturated: report "do not know" (-ENOSPC); test-and-insert inserts it */
};

/* The current policy and the number of openings. */
union epf_answer_word {
	struct {
		u8 now; /* enum epf_answer, the only part that packet paths read */
		u8 unused[3];
		u32 openings; /* times an inserter opened, even if it was open already */
	};
	u64 word;
};

/* With @cpu and the beginning of @hash, @lanes makes the first cache line, which is constant. That
 * line and the line of epoch and @answer are all that most packets read here. The key words of
 * EPF_HASH_NH have lines of their own. What follows @lock is written under it, except for atomics
 * and @told_flips. Some of that is also read without it (READ_ONCE), and is a hint then.
 */
struct epf_table {
	struct epf_lanes lanes; /* shape and lines; without parts if @locked is set */
	struct epf_cpu __percpu *cpu;
	struct epf_hash hash; /* keyed digest */

	struct epf_locked_state *locked; /* of a locked kind; NULL: lanes. Constant */
	struct epf_journal __rcu *journal;
	bool retired;
	bool limited;                    /* there is an error limit, so @capacity is in use */
	struct epf_group *group;         /* as many as @pace says; NULL: no groups */
	struct epf_pace pace;            /* determines both batches and @trigger */
	const struct epf_table_ops *ops; /* what differs between kinds. Constant */
	u64 words;  /* size of the memory that it keeps for its whole life. Constant */
	u32 epochs; /* complete epochs in the window. Constant */
	struct epf_window window; /* the window that is promised */
	struct epf_params params; /* as requested by the caller; the name in it is not used */
	u64 serial;               /* different from that of every other table */
	atomic64_t bytes;         /* charged; grown and shrunk by the worker and by SNAP_BEGIN */
	u64 most;                 /* @bytes that it may have by its shape; 0: no such limit */
	/* Memory control group of the process that made it, by reference; charged for all lines. */
	struct mem_cgroup *creator;
	u64 created_ns;   /* monotonic */
	u64 began_ns;     /* @began of epf_state_since(); written under @replacing of filter.h */
	u64 base_inserts; /* insertions before a restore */
	struct epf_filter __rcu *owner; /* the filter that publishes it */
	u32 owner_id;                   /* its id, for tracing */
	refcount_t refs;
	struct rcu_work free_work;
	struct hrtimer timer;     /* ends epochs by time */
	struct delayed_work work; /* scans, estimates, notifies, and retries overdue rotations */
	wait_queue_head_t moved;  /* woken whenever the worker has made progress */
	struct epf_cover cover;   /* hit probabilities, for the estimate */
	struct epf_capacity capacity; /* the error of an epoch as a function of its keys; lanes */

	u64 trigger ____cacheline_aligned_in_smp; /* on one cache line with the count */
	u64 mark;
	union {
		struct epf_state state;
		/* In @state.apart: beside the count what else is written there, and beside the
		 * epoch what packets read with it, and what changes as seldom.
		 */
		struct {
			u64 apart_count;
			u32 group_batch; /* as @batch, for a group of CPUs */
			u32 apart[9];
			union epf_answer_word answer;
			/* Keys that a CPU keeps (epf_pace_batch()); fewer: more cost, more
			 * precision.
			 */
			u32 batch;
			/* EPF_PARTS_MAX lines a key and no journal: what the fast path checks */
			bool plain;
		};
	};

	raw_spinlock_t lock ____cacheline_aligned_in_smp;
	u32 retry;
	u64 late;
	u64 rotations;          /* epochs ended */
	u64 delayed;            /* epochs that ended late */
	atomic64_t saturations; /* times the table became saturated */
	atomic64_t flips;       /* times it became saturated or stopped being so */
	u64 told_flips;         /* value of @flips that the worker has last notified; worker only */
	u64 scanned_lines;
	u64 estimated_epoch; /* of @est */
	u64 estimated_ns;    /* time of @est */
	bool pinned;         /* a snapshot blocks rotation */
	u64 pins;            /* number of pins so far, and thus the number of the latest one */
	u64 pin_until_ns;    /* when the latest pin expires */
	unsigned long cookie[EPF_LANES]; /* of the grace period since epoch e ended, by e mod 8 */
	struct epf_estimates est;
	u64 share[EPF_LANES]; /* error of each epoch that is over, by its keys, q56, by e mod 8 */
	u64 keys_before;      /* keys counted before the current epoch; see capacity.c */
	u64 keys_ended;       /* of them, those of the last epoch, of the third last, and so on */
	u64 room;             /* keys that the current epoch may take, or EPF_NO_LIMIT */
	struct epf_key_desc desc; /* how the keys are made */
};

/* Inserters change the count and read the trigger. These writes must not take the cache line of the
 * epoch, nor that of the lock, from CPUs that only test.
 */
#define EPF_TABLE_LINE(member) (offsetof(struct epf_table, member) / SMP_CACHE_BYTES)
#if defined(CONFIG_SMP) && SMP_CACHE_BYTES == 64
static_assert(EPF_TABLE_LINE(lanes) == EPF_TABLE_LINE(cpu));
static_assert(EPF_TABLE_LINE(lanes) == EPF_TABLE_LINE(hash.kind));
static_assert(EPF_TABLE_LINE(state.count) == EPF_TABLE_LINE(trigger));
static_assert(EPF_TABLE_LINE(state.epoch) == EPF_TABLE_LINE(answer));
static_assert(EPF_TABLE_LINE(state.epoch) == EPF_TABLE_LINE(batch));
static_assert(EPF_TABLE_LINE(state.epoch) == EPF_TABLE_LINE(plain));
static_assert(EPF_TABLE_LINE(state.epoch) > EPF_TABLE_LINE(lanes));
static_assert(EPF_TABLE_LINE(state.count) == EPF_TABLE_LINE(group_batch));
static_assert(offsetofend(struct epf_table, plain) <= offsetof(struct epf_table, state.epoch));
static_assert(EPF_TABLE_LINE(state.epoch) != EPF_TABLE_LINE(state.count));
static_assert(EPF_TABLE_LINE(state.epoch) != EPF_TABLE_LINE(lock));
static_assert(EPF_TABLE_LINE(state.epoch) != EPF_TABLE_LINE(cover));
static_assert(sizeof(struct epf_group) == SMP_CACHE_BYTES);
static_assert(sizeof(struct epf_cpu) == SMP_CACHE_BYTES);
#endif

/* A pin, by which a snapshot blocks rotation. */
struct epf_pin {
	u64 nr;    /* its number; after it has expired another snapshot may pin the table */
	u64 epoch; /* current when it began */
	u64 moves; /* for a locked kind: of struct epf_locked_state at that time */
};

#define EPF_NO_LIMIT U64_MAX

/* Words that the worker scans or sweeps in one hold of the lock: 1 KiB, which are 3 us if each
 * cache line is a miss. Interrupts are off meanwhile.
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
void epf_table_unlock(struct epf_table *t, unsigned long flags) __releases(&t->lock);
void epf_table_end_epoch(struct epf_table *t, u64 now_ns);
void epf_table_look(struct epf_table *t, u64 e, u64 sum);
bool epf_table_try_rotate(struct epf_table *t);
int epf_table_rotate_now(struct epf_table *t, u64 *e);
bool epf_table_full(const struct epf_table *t);
int epf_table_settle(struct epf_table *t);
int epf_table_pin(struct epf_table *t, u64 pin_ns, struct epf_pin *pin);
void epf_table_unpin(struct epf_table *t, const struct epf_pin *pin);
void epf_table_after_pin(struct epf_table *t);
void epf_table_reset_trigger(struct epf_table *t);
void epf_table_recount(struct epf_table *t);
bool epf_table_at_limit(struct epf_table *t);
enum hrtimer_restart epf_table_tick(struct hrtimer *timer);
u64 epf_table_epoch_tick_ns(const struct epf_table *t);

/* capacity.c: */
int epf_table_set_limit(struct epf_table *t);
u64 epf_table_left(const struct epf_table *t);
void epf_table_open(struct epf_table *t, u64 e);
u64 epf_table_next_room(struct epf_table *t);
void epf_table_measured_room(struct epf_table *t);
bool epf_table_judge(struct epf_table *t);

/* worker.c: */
void epf_table_work(struct work_struct *work);
void epf_table_estimate(struct epf_table *t);

/* kfunc.c: */
struct xdp_buff;
int epf_table_op(struct epf_table *t, u64 digest, enum op op);
u64 epf_table_since(struct epf_table *t);
int epf_xdp_digest(const struct epf_hash *h, struct xdp_buff *xdp, const struct epf_pkt_opts *opts,
		   u64 *digest);
void bpf_epf_release_dtor(void *f);

/* record.c, documented there: */
void epf_journal_inserted(const struct epf_journal *j, u64 digest, u64 e, u64 lanes, bool grew);

/* skb_key.c: */
struct sk_buff;
int epf_skb_digest(const struct epf_table *t, const struct sk_buff *skb, u32 at, u32 iface,
		   const struct epf_pkt_opts *opts, u64 *digest);

/* Take the lock, which blocks rotation. Not from a packet path, except those of the locked kinds.
 *
 * Packet paths take the lock in softirqs, and netpoll does so with interrupts disabled. Hence no
 * caller may leave softirqs enabled, nor enable interrupts that were disabled. The holder of a raw
 * lock with interrupts disabled is not preempted on a real-time kernel either, so that no CPU spins
 * for longer than a section takes: microseconds, see EPF_HOLD_WORDS.
 */
static inline void epf_table_lock(struct epf_table *t, unsigned long *flags) __acquires(&t->lock)
{
	raw_spin_lock_irqsave(&t->lock, *flags);
}

/* Does a snapshot block rotation? Unless @t is locked the result is a hint. */
static inline bool epf_table_pinned(const struct epf_table *t, u64 now_ns)
{
	return READ_ONCE(t->pinned) && now_ns < READ_ONCE(t->pin_until_ns);
}

/* Is the rotation of the current epoch overdue? A hint. */
static inline bool epf_table_late(const struct epf_table *t)
{
	return READ_ONCE(t->late) == epf_load(&t->state.epoch);
}

/* Give @n insertions of epoch @e to a group of CPUs. Return: those to count now. */
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

/* Pass on @n insertions of epoch @e; end the epoch when they are the last. Out of line, and gives
 * @ret back, so that packets that need not do it need no stack frame.
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

	this_cpu_inc(t->cpu->inserts[grew][e & 1]);
	/* The steps may run on different CPUs; the exchange fails if an interrupt inserts. */
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

/* The answer of a filter that is not saturated. */
static inline u8 epf_table_usual_answer(const struct epf_table *t)
{
	return t->window.first_seen ? EPF_ANSWER_SKIP : EPF_ANSWER;
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
 * The three operations on a probe. The caller has been in an RCU read-side section since before it
 * loaded the table: this is the section of O3 in lanes.h. @j is what epf_table_journal() returned,
 * or NULL if @t->plain says that there is none; @digest is only for the journal.
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
		epf_journal_inserted(j, digest, e, into, grew);
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
	grew = verdict != EPF_PRESENT;
	if (j && e)
		epf_journal_inserted(j, digest, e, into, grew);
	verdict = epf_table_verdict(t, verdict, answer);
	return e ? epf_table_count(t, e, grew, verdict) : verdict;
}

#endif /* EPF_TABLE_H */
