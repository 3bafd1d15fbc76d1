/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mutants for the stress test. The module includes epf/estimate.h before any other
 * header of the core, and finds this file in its place. It compiles epf/lanes.h over
 * primitives that stall at random, and some of which can be disabled while the module
 * runs. The rest of the module is unchanged, except for the grace period that a rotation
 * asks for.
 *
 * An attempt to insert begins with an acquire load of the epoch and ends with the ordered
 * load. The result of the first is remembered for each CPU, separately for threads and
 * for softirqs, as there is no other place to keep it. Lanes lie in vmalloc memory,
 * epochs do not; that tells them apart.
 */
#ifndef EPF_TORTURE_BROKEN_H
#define EPF_TORTURE_BROKEN_H

#include <epf/geometry.h>

#include <linux/delay.h>
#include <linux/epochfilter.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#define EPF_BROKEN
#define BROKEN_STALL (1u << 0)     /* nothing is disabled, but slow */
#define BROKEN_CAS (1u << 1)       /* a stale lane is replaced by a store */
#define BROKEN_OR (1u << 2)        /* bits are set by load, OR, store */
#define BROKEN_REREAD (1u << 3)    /* O2: the second load of the epoch */
#define BROKEN_GRACE (1u << 4)     /* O3: the grace period */
#define BROKEN_SEES_SELF (1u << 5) /* the OR returns the new word */
#define BROKEN_LEAK (1u << 6)      /* kfree() frees nothing */
#define BROKEN_AHEAD (1u << 7)     /* swept before it is retired */
#define BROKEN_EXPIRED (1u << 8)   /* a slice is freed before it expires */
#define BROKEN_NEVER (1u << 9)     /* no grace period ends */
#define BROKEN_IDLE (1u << 10)     /* the worker never runs */
#define BROKEN_HASTY (1u << 11)    /* callers do not wait for rotations */
#define BROKEN_HALF (1u << 12)     /* a sweep never gets past its first words */
#define BROKEN_LATER (1u << 13)    /* the clock is ahead by more than a pin */
#define BROKEN_LINE (1u << 14)     /* insertions do not lock their line */
#define BROKEN_LOCKED (BROKEN_AHEAD | BROKEN_EXPIRED | BROKEN_LINE)

extern unsigned int epf_broken;

static DEFINE_PER_CPU(u64[2], broken_begun); /* 0: no insert under way */

static inline void broken_stall(void)
{
	u32 r;

	if (!(epf_broken & BROKEN_STALL))
		return;
	r = get_random_u32();
	if (r % 256)
		return;
	/* Up to 16 ms, in which eight epochs may pass. */
	for (r = 1u << (r >> 8) % 15; r > 100; r -= 100)
		udelay(100);
	udelay(r);
}

static inline bool broken_is_epoch(const __u64 *p)
{
	return !is_vmalloc_addr(p);
}

static inline __u64 broken_begin(void)
{
	return this_cpu_read(broken_begun[!!in_serving_softirq()]);
}

static inline void broken_set_begun(__u64 e)
{
	this_cpu_write(broken_begun[!!in_serving_softirq()], e);
}

static inline __u64 broken_load_acquire(const __u64 *p)
{
	__u64 v;

	broken_stall();
	v = epf_load_acquire(p);
	if (broken_is_epoch(p))
		broken_set_begun(v);
	return v;
}

static inline __u64 broken_load_ordered(const __u64 *p)
{
	__u64 e = broken_begin();

	broken_stall();
	broken_set_begun(0);
	return epf_broken & BROKEN_REREAD ? e : epf_load_ordered(p);
}

/* Only the scan stores zero; its CAS stays. */
static inline bool broken_cas(__u64 *p, __u64 *old, __u64 v)
{
	broken_stall();
	if (!(epf_broken & BROKEN_CAS) || !v)
		return epf_cas(p, old, v);
	*p = v; /* a plain store, for KCSAN to detect */
	return true;
}

static inline __u64 broken_fetch_or(__u64 *p, __u64 v)
{
	__u64 old;

	broken_stall();
	if (epf_broken & BROKEN_OR) {
		old = READ_ONCE(*p);
		broken_stall();
		WRITE_ONCE(*p, old | v);
	} else {
		old = epf_fetch_or(p, v);
	}
	return epf_broken & BROKEN_SEES_SELF ? old | v : old;
}

#define epf_load_acquire(p) broken_load_acquire(p)
#define epf_load_ordered(p) broken_load_ordered(p)
#define epf_cas(p, old, v) broken_cas(p, old, v)
#define epf_fetch_or(p, v) broken_fetch_or(p, v)
#include <epf/lanes.h>
#undef epf_load_acquire
#undef epf_load_ordered
#undef epf_cas
#undef epf_fetch_or

/* A change of a line of kind elastic: locked by a CAS that sets bit 0, unlocked by one that
 * clears it. The stall of the second one is inside. The filters have no error limit, so
 * nothing else of that kind uses CAS.
 */
static inline bool broken_line_cas(__u64 *p, __u64 *old, __u64 v)
{
	broken_stall();
	if (!(epf_broken & BROKEN_LINE))
		return epf_cas(p, old, v);
	if (!(v & 1))
		WRITE_ONCE(*p, v);
	return true;
}

#define epf_cas(p, old, v) broken_line_cas(p, old, v)
#include <epf/elastic.h>
#undef epf_cas

static inline bool broken_grace_over(unsigned long cookie)
{
	return (epf_broken & BROKEN_GRACE) ||
	       (!(epf_broken & BROKEN_NEVER) && poll_state_synchronize_rcu(cookie));
}

#define poll_state_synchronize_rcu(cookie) broken_grace_over(cookie)

static inline bool broken_queue(struct workqueue_struct *wq, struct delayed_work *work,
				unsigned long delay)
{
	return !(epf_broken & BROKEN_IDLE) && queue_delayed_work(wq, work, delay);
}

static inline bool broken_mod(struct workqueue_struct *wq, struct delayed_work *work,
			      unsigned long delay)
{
	return !(epf_broken & BROKEN_IDLE) && mod_delayed_work(wq, work, delay);
}

/* Processes that hold the lock of a table or spin for it now, their maximum, and the
 * number of holds; without the worker.
 */
extern atomic_t broken_inside;
extern unsigned int broken_most;
extern unsigned long broken_holds;

static inline bool broken_is_caller(void)
{
	return in_task() && current->mm;
}

static inline void broken_enter(void)
{
	unsigned int inside;

	if (!broken_is_caller())
		return;
	inside = atomic_inc_return(&broken_inside);
	if (inside > READ_ONCE(broken_most))
		WRITE_ONCE(broken_most, inside);
}

static inline void broken_lock(raw_spinlock_t *lock, unsigned long *flags)
{
	broken_enter();
	raw_spin_lock_irqsave(lock, *flags);
}

static inline bool broken_trylock(raw_spinlock_t *lock, unsigned long *flags)
{
	if (!raw_spin_trylock_irqsave(lock, *flags))
		return false;
	broken_enter();
	return true;
}

/* Count before the unlock, because the next process may take the lock at once. */
static inline void broken_unlock(raw_spinlock_t *lock, unsigned long flags)
{
	if (broken_is_caller()) {
		broken_holds++;
		atomic_dec(&broken_inside);
	}
	raw_spin_unlock_irqrestore(lock, flags);
}

#undef raw_spin_lock_irqsave
#undef raw_spin_trylock_irqsave
#undef raw_spin_unlock_irqrestore
#define raw_spin_lock_irqsave(lock, flags) broken_lock(lock, &(flags))
#define raw_spin_trylock_irqsave(lock, flags) broken_trylock(lock, &(flags))
#define raw_spin_unlock_irqrestore(lock, flags) broken_unlock(lock, flags)

#define queue_delayed_work(wq, work, delay) broken_queue(wq, work, delay)
#define mod_delayed_work(wq, work, delay) broken_mod(wq, work, delay)

/* Batches of keys wait for an overdue rotation, packets do not. */
#undef wait_event_interruptible_timeout
#define wait_event_interruptible_timeout(head, condition, timeout)                            \
	({                                                                                    \
		long __ret = timeout;                                                         \
		if (epf_broken & BROKEN_HASTY)                                                \
			__ret = -ERESTARTSYS;                                                 \
		else if (!___wait_cond_timeout(condition))                                    \
			__ret = __wait_event_interruptible_timeout(head, condition, timeout); \
		__ret;                                                                        \
	})

#undef wait_event_interruptible
#define wait_event_interruptible(head, condition)                            \
	({                                                                   \
		int __ret = 0;                                               \
		if (epf_broken & BROKEN_HASTY)                               \
			__ret = -ERESTARTSYS;                                \
		else if (!(condition))                                       \
			__ret = __wait_event_interruptible(head, condition); \
		__ret;                                                       \
	})

static inline void broken_kfree(const void *p)
{
	if (!(epf_broken & BROKEN_LEAK))
		kfree(p);
}

#define kfree(p) broken_kfree(p)

#include <epf/apbbf.h>
#include <epf/apbf.h>
#include <epf/dict.h>
#include <epf/ge.h>
#include <epf/gebl.h>
#include <epf/tlbf.h>

/* The worker empties the oldest epoch as soon as the youngest has begun, but retires it
 * only when that is due.
 */
#define BROKEN_ADVANCE(kind)                                             \
	static inline void broken_##kind##_advance(struct epf_##kind *f) \
	{                                                                \
		struct epf_##kind ahead;                                 \
                                                                         \
		epf_##kind##_advance(f);                                 \
		if (!(epf_broken & BROKEN_AHEAD))                        \
			return;                                          \
		ahead = *f;                                              \
		epf_##kind##_retire(&ahead);                             \
		epf_##kind##_sweep(&ahead, 0, ~0ULL);                    \
	}

BROKEN_ADVANCE(ge)
BROKEN_ADVANCE(gebl)
BROKEN_ADVANCE(apbf)
BROKEN_ADVANCE(apbbf)
BROKEN_ADVANCE(dict)

#define epf_ge_advance(f) broken_ge_advance(f)
#define epf_gebl_advance(f) broken_gebl_advance(f)
#define epf_apbf_advance(f) broken_apbf_advance(f)
#define epf_apbbf_advance(f) broken_apbbf_advance(f)
#define epf_dict_advance(f) broken_dict_advance(f)

/* Calls of a sweep that did not continue. */
extern unsigned long broken_halves;

static inline bool broken_half(__u64 at)
{
	if (!at || !(epf_broken & BROKEN_HALF))
		return false;
	broken_halves++;
	return true;
}

#define epf_ge_sweep(f, at, n) (broken_half(at) ? (at) : epf_ge_sweep(f, at, n))

static inline u64 broken_now(void)
{
	return ktime_get_ns() + (epf_broken & BROKEN_LATER ? 2 * EPF_PIN_MAX_NS : 0);
}

#define ktime_get_ns() broken_now()

/* Expire slices as if T were half as long. */
static inline __u64 *broken_tlbf_expired(struct epf_tlbf *f, __u64 now_ns, __u64 *words)
{
	__u64 span_ns = f->shape.span_ns;
	__u64 *word;

	if (epf_broken & BROKEN_EXPIRED)
		f->shape.span_ns /= 2;
	word = epf_tlbf_expired(f, now_ns, words);
	f->shape.span_ns = span_ns;
	return word;
}

#define epf_tlbf_expired(f, now_ns, words) broken_tlbf_expired(f, now_ns, words)

#include_next <epf/estimate.h>

#endif /* EPF_TORTURE_BROKEN_H */
