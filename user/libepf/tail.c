// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tails: reading the insertions of a journal.
 *
 * A pass first waits for all insertions under way, then notes where each ring ends, then reads
 * up to there. Let an insertion return before the pass begins. If it set bits, its record is
 * below the end of its ring. If it found them all set in the same epoch, others had set them,
 * each in an insertion that had begun; so after the wait their records are below the ends, too.
 * A call that finds a pass unfinished finishes it and begins another, because insertions may
 * have returned since.
 *
 * A position below the end whose record is not there belongs to a writer that is at it, or was
 * lost. The second wait tells which: after it no writer is left that reserved the position.
 */
#include "tail.h"
#include "rings.h"
#include "backend.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define YIELDS 8 /* for a writer that is at it, before waiting for all */

/**
 * struct tail_ring - the reader's state for one ring
 * @next: position that is read next
 * @end: the pass reads the records before this position
 * @start: @next when the call began
 */
struct tail_ring {
	__u64 next, end, start;
};

/**
 * struct tail_mark - what had been handed out
 * @later: the next mark
 * @number: of the mark
 * @unrecorded: as the tail's
 * @next: position of each ring
 */
struct tail_mark {
	struct tail_mark *later;
	__u64 number;
	__u64 unrecorded;
	__u64 next[];
};

/**
 * struct epf_tail - see above
 * @filter: descriptor to begin journals by; -1: none
 * @order: of new journals
 * @rings: the journal; NULL: there is none since a renewal failed
 * @ring: state for each ring
 * @at: ring that the pass reads; @rings->args.shards: no pass is under way
 * @unrecorded: as many of these have been counted as lost
 * @number: of the last mark
 * @first: marks, the oldest one first
 * @last: where the next one is linked
 */
struct epf_tail {
	int filter;
	__u32 order;
	struct epf_rings *rings;
	struct tail_ring *ring;
	__u32 at;
	__u64 unrecorded;
	__u64 number;
	struct tail_mark *first, **last;
};

/* Can the reader store in the mapping? */
static bool tail_keeps(const struct epf_tail *t)
{
	return t->rings && t->rings->keep;
}

/* ---- a pass ---- */

static int tail_begin(struct epf_tail *t, __u64 *lost)
{
	const struct epf_rings *r = t->rings;
	__u64 unrecorded;
	__u32 i;
	int ret = epf_rings_sync(t->rings);

	if (ret)
		return ret == -ENODEV || epf_rings_over(r) ? -ESTALE : ret;
	unrecorded = epf_load_acquire(&epf_rings_head(r)->unrecorded);
	*lost += unrecorded - t->unrecorded;
	t->unrecorded = unrecorded;
	for (i = 0; i < r->args.shards; i++)
		t->ring[i].end = epf_load_acquire(&r->ring[i].shard->next);
	t->at = 0;
	return 0;
}

/* Get the next record of the ring, waiting for its writer. Return: 1; 0: it was lost;
 * -EOVERFLOW; another error.
 */
static int tail_get(struct epf_tail *t, struct epf_journal_record *rec)
{
	const struct epf_journal_ring *ring = &t->rings->ring[t->at];
	__u64 next = t->ring[t->at].next;
	int got = epf_journal_get(ring, next, rec), i;

	for (i = 0; !got && i < YIELDS; i++) {
		sched_yield();
		got = epf_journal_get(ring, next, rec);
	}
	if (got)
		return got;
	return epf_rings_sync(t->rings) ?: epf_journal_get(ring, next, rec);
}

/* Skip what has been overwritten. Return: how many. */
static __u64 tail_skip(struct epf_tail *t)
{
	const struct epf_journal_ring *ring = &t->rings->ring[t->at];
	struct tail_ring *r = &t->ring[t->at];
	__u64 before = r->next, oldest = epf_load_acquire(&ring->shard->next) - ring->mask - 1;

	r->next = oldest > before ? oldest : before + 1;
	return r->next - before;
}

/* Hand out the next record, if it is a new key. Return: how many; a negative errno. */
static int tail_one(struct epf_tail *t, __u64 *digest, __u64 *lost)
{
	struct epf_journal_record rec = { 0 };
	int got = tail_get(t, &rec);

	if (got < 0 && got != -EOVERFLOW)
		return got;
	if (got <= 0) {
		*lost += got ? tail_skip(t) : 1;
		t->ring[t->at].next += !got;
		return 0;
	}
	t->ring[t->at].next++;
	if ((rec.seq & EPF_JOURNAL_KIND_MASK) != EPF_JOURNAL_INSERT ||
	    !(rec.more & EPF_JOURNAL_NEW))
		return 0;
	*digest = rec.value;
	return 1;
}

/* Go on with the pass. Return: digests, with less than @room the pass is over; an error. */
static long tail_pass(struct epf_tail *t, __u64 *digest, size_t room, __u64 *lost)
{
	size_t n = 0;
	int got;

	for (; t->at < t->rings->args.shards; t->at++)
		while (t->ring[t->at].next < t->ring[t->at].end) {
			if (n == room)
				return (long)n;
			got = tail_one(t, digest + n, lost);
			if (got < 0)
				return got;
			n += (size_t)got;
		}
	return (long)n;
}

static bool tail_passing(const struct epf_tail *t)
{
	return t->at < t->rings->args.shards;
}

/* Finish the pass that is under way, if any, then do another. */
static long tail_passes(struct epf_tail *t, __u64 *digest, size_t room, __u64 *lost)
{
	long before = 0, n;
	int ret;

	if (tail_passing(t)) {
		before = tail_pass(t, digest, room, lost);
		if (before < 0 || tail_passing(t))
			return before;
	}
	ret = tail_begin(t, lost);
	if (ret)
		return ret;
	n = tail_pass(t, digest + before, room - (size_t)before, lost);
	return n < 0 ? n : before + n;
}

long epf_tail_read(struct epf_tail *t, __u64 *digest, size_t room, __u64 *lost)
{
	__u32 i;
	long n;

	if (!t->rings)
		return -ESTALE;
	for (i = 0; i < t->rings->args.shards; i++)
		t->ring[i].start = t->ring[i].next;
	n = tail_passes(t, digest, room, lost);
	if (epf_rings_over(t->rings))
		return -ESTALE;
	for (i = 0; n < 0 && i < t->rings->args.shards; i++)
		t->ring[i].next = t->ring[i].start; /* the caller has nothing of this */
	return n;
}

/* ---- marks ---- */

static void tail_drop_mark(struct epf_tail *t)
{
	struct tail_mark *m = t->first;

	t->first = m->later;
	if (!t->first)
		t->last = &t->first;
	free(m);
}

int epf_tail_mark(struct epf_tail *t, __u64 *mark)
{
	__u32 shards = t->rings ? t->rings->args.shards : 0, i;
	struct tail_mark *m = calloc(1, sizeof(*m) + shards * sizeof(m->next[0]));

	if (!m)
		return -ENOMEM;
	for (i = 0; i < shards; i++)
		m->next[i] = t->ring[i].next;
	m->unrecorded = t->unrecorded;
	*mark = m->number = ++t->number;
	*t->last = m;
	t->last = &m->later;
	return 0;
}

static void tail_store(const struct epf_tail *t, const struct tail_mark *m)
{
	__u32 i;

	epf_store_release(&epf_rings_head(t->rings)->read_unrecorded, m->unrecorded);
	for (i = 0; i < t->rings->args.shards; i++)
		epf_store_release(&t->rings->ring[i].shard->read, m->next[i]);
}

void epf_tail_acked(struct epf_tail *t, __u64 mark, const __u64 *note)
{
	bool keeps = tail_keeps(t);
	__u32 i;

	if (!t->first || t->first->number > mark)
		return;
	for (i = 0; keeps && note && i < EPF_TAIL_NOTE; i++)
		epf_store_release(&epf_rings_head(t->rings)->note[i], note[i]);
	while (t->first && t->first->number <= mark) {
		if (keeps && (!t->first->later || t->first->later->number > mark))
			tail_store(t, t->first);
		tail_drop_mark(t);
	}
}

void epf_tail_note(const struct epf_tail *t, __u64 note[EPF_TAIL_NOTE])
{
	__u32 i;

	for (i = 0; i < EPF_TAIL_NOTE; i++)
		note[i] = t->rings ? epf_load_acquire(&epf_rings_head(t->rings)->note[i]) : 0;
}

/* ---- the journal ---- */

/* Where to begin: a journal without the module says it; else now. */
static __u64 tail_first(const struct epf_journal_ring *r, bool keeps)
{
	__u64 read = epf_load_acquire(&r->shard->read);

	if (!keeps)
		return epf_load_acquire(&r->shard->next);
	return read ? read : r->mask + 1;
}

static int tail_journal(struct epf_tail *t)
{
	const struct epf_rings *r;
	__u32 i;
	int ret = epf_rings_get(t->filter, t->order, 0, &t->rings);

	if (ret) {
		t->rings = NULL;
		return ret;
	}
	t->rings->keep = !epf_is_module(t->rings->filter);
	r = t->rings;
	free(t->ring);
	t->ring = calloc(r->args.shards, sizeof(*t->ring));
	if (!t->ring) {
		epf_rings_put(t->rings);
		t->rings = NULL;
		return -ENOMEM;
	}
	for (i = 0; i < r->args.shards; i++)
		t->ring[i].next = tail_first(&r->ring[i], r->keep);
	t->unrecorded = epf_load_acquire(&epf_rings_head(r)->read_unrecorded);
	t->at = r->args.shards;
	return 0;
}

int epf_tail_renew(struct epf_tail *t)
{
	while (t->first)
		tail_drop_mark(t);
	if (t->rings)
		epf_rings_put(t->rings);
	t->rings = NULL;
	return tail_journal(t);
}

__u64 epf_tail_serial(const struct epf_tail *t)
{
	return t->rings ? t->rings->args.serial : 0;
}

int epf_tail_open(int filter, __u32 order, struct epf_tail **tail)
{
	struct epf_tail *t = calloc(1, sizeof(*t));
	int ret;

	*tail = NULL;
	if (!t)
		return -ENOMEM;
	t->order = order;
	t->last = &t->first;
	t->filter = epf_rings_reopen(filter);
	ret = t->filter < 0 ? t->filter : tail_journal(t);
	if (ret)
		epf_tail_close(t);
	else
		*tail = t;
	return ret;
}

void epf_tail_close(struct epf_tail *t)
{
	if (!t)
		return;
	while (t->first)
		tail_drop_mark(t);
	if (t->rings)
		epf_rings_put(t->rings);
	if (t->filter >= 0)
		epf_close(t->filter);
	free(t->ring);
	free(t);
}

void epf_tail_end(struct epf_tail *t)
{
	if (t && t->rings)
		t->rings->keep = false;
	epf_tail_close(t);
}
