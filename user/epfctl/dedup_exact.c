// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Open addressing with linear probing (Knuth, The Art of Computer Programming, volume 3,
 * section 6.4, algorithm L). The table doubles when half of its slots hold entries that
 * cannot be forgotten.
 *
 * If places only grow, a key needs one entry, with its last place. Otherwise an entry
 * belongs to a key and a *span* of places, which is as long as the reach. It holds the
 * first and the last place of the key in that span. All places of one span are near each
 * other. A place in the previous span is near if the last one there is, a place in the
 * next span if the first one there is, and no other place can be. So three lookups decide
 * exactly, however places jump, and no entry belongs to more than one key.
 */
#include "dedup_exact.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SLOTS_FIRST 1024
#define SLOTS_LAST (1ULL << 40)
#define HUGE_PAGE_BYTES (2u << 20)
#define USED 1                       /* the lowest bit of digest[0] */
#define SPREAD 0x9e3779b97f4a7c15ULL /* 2^64 / golden ratio */

/**
 * struct entry - a key in a span; 32 bytes
 * @digest: of the key, with USED set; an empty slot is all zero
 * @first: the lowest place at which the key was seen
 * @last: the highest one
 */
struct entry {
	__u64 digest[2];
	__u64 first;
	__u64 last;
};

/**
 * struct exact - a table
 * @ask: the request
 * @slots: the slots
 * @nr: their number, a power of two
 * @held: number of used slots
 * @oldest: no lower place comes any more
 * @forgotten: the highest place that was forgotten
 * @forgets: a place was forgotten
 * @most_bytes: the most memory that was used at once
 */
struct exact {
	struct exact_ask ask;
	struct entry *slots;
	__u64 nr;
	__u64 held;
	__u64 oldest;
	__u64 forgotten;
	bool forgets;
	__u64 most_bytes;
};

static __u64 dedup_exact_bytes_of(__u64 slots)
{
	return slots * sizeof(struct entry);
}

static __u64 plus(__u64 a, __u64 b)
{
	return a + b < a ? ~0ULL : a + b;
}

static struct entry *new_slots(__u64 nr)
{
	void *map = mmap(NULL, dedup_exact_bytes_of(nr), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return NULL;
	if (dedup_exact_bytes_of(nr) >= HUGE_PAGE_BYTES)
		madvise(map, dedup_exact_bytes_of(nr), MADV_HUGEPAGE); /* it may fail */
	return map;
}

struct exact *exact_new(const struct exact_ask *ask)
{
	struct exact *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->ask = *ask;
	e->nr = SLOTS_FIRST;
	e->most_bytes = dedup_exact_bytes_of(e->nr);
	if (e->most_bytes <= ask->max_bytes)
		e->slots = new_slots(e->nr);
	if (e->slots)
		return e;
	free(e);
	return NULL;
}

void exact_free(struct exact *e)
{
	if (!e)
		return;
	munmap(e->slots, dedup_exact_bytes_of(e->nr));
	free(e);
}

/* If places only grow, all of them belong to one span. */
static __u64 span_of(const struct exact *e, __u64 place)
{
	return e->ask.grows ? 0 : place / plus(e->ask.reach, 1);
}

static __u64 home(const struct exact *e, const __u64 digest[2], __u64 span)
{
	return (digest[1] + span * SPREAD) & (e->nr - 1);
}

/* The slot of the key in the span, or the empty slot for it. */
static struct entry *dedup_exact_find(const struct exact *e, const __u64 digest[2], __u64 span)
{
	__u64 i = home(e, digest, span);

	for (;; i = (i + 1) & (e->nr - 1)) {
		struct entry *s = &e->slots[i];

		if (!s->digest[0])
			return s;
		if (s->digest[0] == digest[0] && s->digest[1] == digest[1] &&
		    span_of(e, s->last) == span)
			return s;
	}
}

static bool is_dead(const struct exact *e, const struct entry *s)
{
	return plus(s->last, e->ask.reach) < e->oldest;
}

/* Put an entry that was taken out of its slot back, unless it can be forgotten. */
static void put_back(struct exact *e, const struct entry *s)
{
	if (!is_dead(e, s)) {
		*dedup_exact_find(e, s->digest, span_of(e, s->last)) = *s;
		e->held++;
		return;
	}
	if (!e->forgets || s->last > e->forgotten)
		e->forgotten = s->last;
	e->forgets = true;
}

/* Forget what can be forgotten. Each entry is taken out and put back, beginning behind an
 * empty slot, so its new slot is never behind its old one.
 */
static void dedup_exact_sweep(struct exact *e)
{
	__u64 begin = 0, n;

	while (e->slots[begin].digest[0])
		begin++;
	e->held = 0;
	for (n = 1; n <= e->nr; n++) {
		struct entry *s = &e->slots[(begin + n) & (e->nr - 1)];
		struct entry was = *s;

		if (!was.digest[0])
			continue;
		s->digest[0] = 0;
		put_back(e, &was);
	}
}

/* Double the slots. Return: 0 or -ENOMEM. */
static int dedup_exact_grow(struct exact *e)
{
	struct entry *old = e->slots;
	__u64 nr = e->nr, n;

	if (nr >= SLOTS_LAST || dedup_exact_bytes_of(3 * nr) > e->ask.max_bytes)
		return -ENOMEM;
	e->slots = new_slots(2 * nr);
	if (!e->slots) {
		e->slots = old;
		return -ENOMEM;
	}
	e->nr = 2 * nr;
	e->held = 0;
	e->most_bytes = dedup_exact_bytes_of(3 * nr);
	for (n = 0; n < nr; n++)
		if (old[n].digest[0])
			put_back(e, &old[n]);
	munmap(old, dedup_exact_bytes_of(nr));
	return 0;
}

/* At most three quarters of the slots are used. */
static bool dedup_exact_is_full(const struct exact *e)
{
	return e->held >= e->nr / 4 * 3;
}

/* Make room for one more. A table that may not grow continues while an eighth of it is
 * free, so that the next sweep is worth its cost.
 */
static int dedup_exact_make_room(struct exact *e)
{
	dedup_exact_sweep(e);
	if (e->held <= e->nr / 2 || !dedup_exact_grow(e))
		return 0;
	return e->held <= e->nr / 8 * 5 ? 0 : -ENOMEM;
}

/* Is the slot an entry that is near @place? */
static bool is_near(const struct exact *e, const struct entry *s, __u64 place)
{
	return s->digest[0] && plus(s->last, e->ask.reach) >= place &&
	       s->first <= plus(place, e->ask.reach);
}

/* Is an entry of the key in the span before or behind @span near @place? */
static bool near_beside(const struct exact *e, const __u64 digest[2], __u64 span, __u64 place)
{
	if (e->ask.grows)
		return false;
	return (span && is_near(e, dedup_exact_find(e, digest, span - 1), place)) ||
	       is_near(e, dedup_exact_find(e, digest, span + 1), place);
}

static int dedup_exact_enter(struct exact *e, struct entry *s, const __u64 digest[2], __u64 span,
			     __u64 place)
{
	if (s->digest[0]) {
		s->first = place < s->first ? place : s->first;
		s->last = place > s->last ? place : s->last;
		return 0;
	}
	if (dedup_exact_is_full(e)) {
		if (dedup_exact_make_room(e))
			return -ENOMEM;
		s = dedup_exact_find(e, digest, span); /* entries have moved */
	}
	s->digest[0] = digest[0];
	s->digest[1] = digest[1];
	s->first = s->last = place;
	e->held++;
	return 0;
}

int exact_seen(struct exact *e, const __u64 digest[2], __u64 place)
{
	__u64 key[2] = { digest[0] | USED, digest[1] };
	__u64 span = span_of(e, place);
	struct entry *s = dedup_exact_find(e, key, span);
	bool seen = is_near(e, s, place) || near_beside(e, key, span, place);

	if ((!seen || !e->ask.first_seen) && dedup_exact_enter(e, s, key, span, place))
		return -ENOMEM;
	return seen;
}

void exact_forget(struct exact *e, __u64 oldest)
{
	e->oldest = oldest;
}

bool exact_is_unsure(const struct exact *e, __u64 place)
{
	return e->forgets && place <= plus(e->forgotten, e->ask.reach);
}

__u64 exact_bytes(const struct exact *e)
{
	return dedup_exact_bytes_of(e->nr);
}

__u64 exact_most_bytes(const struct exact *e)
{
	return e->most_bytes;
}

__u64 exact_held(const struct exact *e)
{
	return e->held;
}

__u64 exact_bytes_for(__u64 keys)
{
	__u64 nr = SLOTS_FIRST;

	while (nr / 2 < keys && nr < SLOTS_LAST)
		nr *= 2;
	return nr == SLOTS_FIRST ? dedup_exact_bytes_of(nr) : dedup_exact_bytes_of(nr + nr / 2);
}
