/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The core with instrumented primitives: another thread may run before each of them,
 * and each protection of the protocol in epf/lanes.h can be disabled separately. The
 * source of the protocol is the same; only epf_load() and the like differ.
 *
 * This header must be included before any other header of the core.
 */
#ifndef EPF_TEST_RACE_H
#define EPF_TEST_RACE_H

#include <epf/shim.h>

/* Protections that may be disabled. */
#define RACE_NO_CAS (1u << 0)       /* a stale lane is replaced by a store */
#define RACE_NO_ATOMIC_OR (1u << 1) /* bits are set by load, OR, store */
#define RACE_NO_REREAD (1u << 2)    /* violates O2: the insert does not load the epoch again */
#define RACE_OR_SEES_SELF (1u << 3) /* the OR returns the new word */
#define RACE_OR_SEES_NONE (1u << 4) /* the OR returns 0 */
#define RACE_PLAIN (1u << 5)        /* the replacements of CAS and OR are not atomic */
#define RACE_NO_RELEASE (1u << 6)   /* the epoch is stored relaxed */

/**
 * struct race_self - one thread, or a simulated one
 * @epoch_word: the filter's epoch
 * @begun: epoch that the current insertion read at its beginning
 * @inserting: an insertion is under way
 * @rng: state of race_dice()
 */
struct race_self {
	const __u64 *epoch_word;
	__u64 begun;
	bool inserting;
	__u64 rng;
};

static __thread struct race_self *race_self;
static unsigned int race_out;     /* RACE_*; set while no thread runs */
static void (*race_point)(void);  /* another thread may run here */
static void (*race_reread)(void); /* before an insertion loads the epoch again */

static inline __u64 race_load_acquire(const __u64 *p)
{
	__u64 v;

	race_point();
	v = epf_load_acquire(p);
	if (p == race_self->epoch_word)
		race_self->begun = v;
	return v;
}

static inline __u64 race_load_ordered(const __u64 *p)
{
	race_point();
	race_reread();
	if (race_out & RACE_NO_REREAD)
		return race_self->begun;
	return epf_load_ordered(p);
}

static inline void race_store(__u64 *p, __u64 v)
{
	if (race_out & RACE_PLAIN)
		*p = v;
	else
		epf_store_release(p, v);
}

static inline void race_store_release(__u64 *p, __u64 v)
{
	if (race_out & RACE_NO_RELEASE)
		__atomic_store_n(p, v, __ATOMIC_RELAXED);
	else
		epf_store_release(p, v);
}

static inline bool race_cas(__u64 *p, __u64 *old, __u64 v)
{
	bool done;

	race_point();
	if (!race_self->inserting)
		return epf_cas(p, old, v);
	if (race_out & RACE_NO_CAS) {
		race_store(p, v);
		return true;
	}
	done = epf_cas(p, old, v);
	if (race_out & RACE_OR_SEES_NONE && !done)
		epf_fetch_or(p, v);
	return (done || race_out & RACE_OR_SEES_NONE) && !(race_out & RACE_OR_SEES_SELF);
}

static inline __u64 race_fetch_or(__u64 *p, __u64 v)
{
	__u64 old;

	race_point();
	if (race_out & RACE_NO_ATOMIC_OR) {
		old = epf_load(p);
		race_point();
		race_store(p, old | v);
	} else {
		old = epf_fetch_or(p, v);
	}
	if (race_out & RACE_OR_SEES_SELF)
		return old | v;
	return race_out & RACE_OR_SEES_NONE ? 0 : old;
}

#define epf_load_acquire(p) race_load_acquire(p)
#define epf_load_ordered(p) race_load_ordered(p)
#define epf_store_release(p, v) race_store_release(p, v)
#define epf_cas(p, old, v) race_cas(p, old, v)
#define epf_or(p, v) ((void)race_fetch_or(p, v))
#define epf_fetch_or(p, v) race_fetch_or(p, v)

#include <epf/window.h>

#include <sched.h>
#include <time.h>

static inline __u64 race_dice(__u64 sides)
{
	return epf_word(++race_self->rng, 1) % sides;
}

/* A point at which the thread sometimes yields or sleeps, for up to 1 ms. */
static inline void race_stall(void)
{
	struct timespec nap = { 0, 0 };

	if (race_dice(32))
		return;
	if (race_dice(8)) {
		sched_yield();
	} else {
		nap.tv_nsec = 1000L << race_dice(11);
		nanosleep(&nap, NULL);
	}
}

static inline __u64 race_insert(const struct epf_lanes *f, const struct epf_probe *p)
{
	__u64 e;

	race_self->inserting = true;
	e = epf_lanes_insert(f, p);
	race_self->inserting = false;
	return e;
}

static inline int race_sight(const struct epf_lanes *f, const struct epf_probe *p, bool first_seen,
			     __u64 *e)
{
	int verdict;

	race_self->inserting = true;
	verdict = epf_lanes_test_and_insert(f, p, first_seen, e);
	race_self->inserting = false;
	return verdict;
}

#endif /* EPF_TEST_RACE_H */
