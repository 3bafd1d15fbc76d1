// SPDX-License-Identifier: GPL-2.0
/*
 * The table of all keys (user/epfctl/dedup_exact.c) against lists of places: every
 * verdict, with places that grow, jump and repeat, while the table forgets and grows;
 * its memory, to the byte; the error when memory is refused.
 */
#include "../core/tap.h"
#include "epfctl/dedup_exact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"

#define KEYS 64
#define STEPS 6000
#define ENTRY_BYTES 32ULL
#define SLOTS_FIRST 1024ULL

/* Make a key whose digest clusters with others, because the word that selects its home
 * slot takes few values. The lowest bit of the first word is not used.
 */
static void digest_of(__u64 key, __u64 digest[2])
{
	digest[0] = (key + 1) << 1 | draw(2);
	digest[1] = key % 7 * (KEYS / 2);
}

/* The places of one key, in order of insertion. */
struct places {
	__u64 at[STEPS];
	__u32 nr;
};

static struct places model[KEYS];

static bool seen_near(const struct places *p, __u64 place, __u64 reach)
{
	__u32 i;

	for (i = p->nr; i-- > 0;) {
		__u64 apart = p->at[i] > place ? p->at[i] - place : place - p->at[i];

		if (apart <= reach)
			return true;
	}
	return false;
}

static bool model_seen(__u64 key, __u64 place, const struct exact_ask *ask)
{
	struct places *p = &model[key];
	bool seen = seen_near(p, place, ask->reach);

	if (!seen || !ask->first_seen)
		p->at[p->nr++] = place;
	return seen;
}

/* Return: the next place, mostly further on, or anywhere at or above @floor. */
static __u64 next_place(__u64 last, __u64 floor, bool grows, __u64 reach)
{
	if (grows)
		return last + 1;
	switch (draw(8)) {
	case 0:
		return floor + draw(1 + 3 * reach);
	case 1:
		return last;
	case 2:
		return last + reach + draw(3);
	default:
		return last + draw(2 + reach / 8);
	}
}

static bool follows_model(struct exact_ask ask, __u64 begin)
{
	struct exact *e = exact_new(&ask);
	__u64 place = begin, floor = begin, i;

	memset(model, 0, sizeof(model));
	for (i = 0; i < STEPS; i++) {
		__u64 key = draw(KEYS), digest[2];
		int want, got;

		place = next_place(place, floor, ask.grows, ask.reach);
		if (!draw(50))
			floor = place > floor + ask.reach ? place - ask.reach : floor;
		if (place < floor)
			place = floor;
		exact_forget(e, ask.grows ? place : floor);
		digest_of(key, digest);
		want = model_seen(key, place, &ask);
		got = exact_seen(e, digest, place);
		if (got != want) {
			printf("# reach %llu, step %llu, place %llu: %d, not "
			       "%d\n",
			       ask.reach, i, place, got, want);
			exact_free(e);
			return false;
		}
		if (!got && exact_is_unsure(e, place)) {
			printf("# step %llu is unsure, above the floor\n", i);
			exact_free(e);
			return false;
		}
	}
	exact_free(e);
	return true;
}

static bool all_reaches(bool grows, bool first_seen, __u64 begin)
{
	static const __u64 reaches[] = { 0,  1,  2,    3,      7,          8,         63,
					 64, 65, 1000, 100000, 1ULL << 40, 1ULL << 62 };
	size_t i;

	for (i = 0; i < sizeof(reaches) / sizeof(reaches[0]); i++) {
		struct exact_ask ask = {
			.reach = reaches[i],
			.grows = grows,
			.first_seen = first_seen,
			.max_bytes = ~0ULL,
		};

		if (!follows_model(ask, begin))
			return false;
	}
	return true;
}

static int put(struct exact *e, __u64 key, __u64 place)
{
	__u64 digest[2] = { key << 1, key * 0x9e3779b97f4a7c15ULL };

	return exact_seen(e, digest, place);
}

/* Insert @keys distinct keys, at growing places. */
static struct exact *filled(struct exact_ask ask, __u64 keys)
{
	struct exact *e = exact_new(&ask);
	__u64 i;

	for (i = 0; i < keys; i++) {
		exact_forget(e, i);
		if (put(e, i, i))
			break;
	}
	return e;
}

/* Return: does a window of so many keys take the slots that the rule in the header
 * gives?
 */
static bool memory_of_windows(void)
{
	static const __u64 reaches[] = {
		0, 1, 254, 255, 256, 511, 512, 767, 1000, 1023, 1024, 5000
	};
	size_t i;

	for (i = 0; i < sizeof(reaches) / sizeof(reaches[0]); i++) {
		struct exact_ask ask = { .reach = reaches[i], .grows = true, .max_bytes = ~0ULL };
		struct exact *e = filled(ask, 40000);
		__u64 slots = SLOTS_FIRST, most;

		while (slots / 2 < reaches[i])
			slots *= 2;
		most = slots == SLOTS_FIRST ? slots : slots / 2 * 3;
		if (exact_bytes(e) != slots * ENTRY_BYTES ||
		    exact_most_bytes(e) != most * ENTRY_BYTES ||
		    exact_bytes_for(reaches[i]) != most * ENTRY_BYTES) {
			printf("# reach %llu: %llu bytes, %llu at most, %llu "
			       "foretold\n",
			       reaches[i], exact_bytes(e), exact_most_bytes(e),
			       exact_bytes_for(reaches[i]));
			return false;
		}
		exact_free(e);
	}
	return true;
}

/* A table at its memory limit holds what it reported it can hold, indefinitely. */
static bool within_limit(void)
{
	struct exact_ask ask = { .reach = 2048, .grows = true };
	struct exact *e;
	bool ok;

	ask.max_bytes = exact_bytes_for(ask.reach);
	e = filled(ask, 100000);
	ok = exact_held(e) >= ask.reach && !put(e, 1000000, 100000) &&
	     put(e, 1000000, 100000 + ask.reach) == 1;
	exact_free(e);
	return ok;
}

/* Above the limit it reports the error, when three quarters of its slots are used and
 * no key can be forgotten; what it has stays, and is found.
 */
static bool above_limit(void)
{
	struct exact_ask ask = {
		.reach = 1ULL << 40,
		.grows = true,
		.max_bytes = 3 * SLOTS_FIRST * ENTRY_BYTES,
	};
	struct exact *e = filled(ask, 1000000);
	__u64 held = exact_held(e);
	bool ok = held == 2 * SLOTS_FIRST / 4 * 3 && put(e, 5000000, 1) == -ENOMEM &&
		  exact_held(e) == held;

	while (held--)
		ok &= put(e, held, 2000000) == 1;
	exact_free(e);
	return ok;
}

/* With one byte less than old and new table take together, the table does not grow. */
static bool a_byte_less(void)
{
	struct exact_ask ask = { .reach = 1ULL << 40, .grows = true };
	struct exact *e;
	bool ok;

	ask.max_bytes = 3 * SLOTS_FIRST * ENTRY_BYTES - 1;
	e = filled(ask, 10000);
	ok = exact_held(e) == SLOTS_FIRST / 4 * 3 && exact_bytes(e) == SLOTS_FIRST * ENTRY_BYTES;
	exact_free(e);
	return ok;
}

static bool no_room_at_all(void)
{
	struct exact_ask ask = {
		.reach = 1,
		.grows = true,
		.max_bytes = SLOTS_FIRST * ENTRY_BYTES - 1,
	};

	return !exact_new(&ask);
}

/* Reports forgotten keys where they could have mattered, to the unit. */
static bool tells_unsure(void)
{
	struct exact_ask ask = { .reach = 10, .max_bytes = ~0ULL };
	struct exact *e = exact_new(&ask);
	__u64 i;
	bool ok = true;

	for (i = 0; i < SLOTS_FIRST / 4 * 3; i++)
		ok &= !put(e, i, 1000);
	exact_forget(e, 1011);
	ok &= !exact_is_unsure(e, 990);
	ok &= !put(e, 5000, 1011); /* this sweeps the table */
	ok &= exact_held(e) == 1;
	ok &= exact_is_unsure(e, 1010) && !exact_is_unsure(e, 1011);
	exact_free(e);
	return ok;
}

/* One unit further, and no key may be forgotten. */
static bool forgets_no_sooner(void)
{
	struct exact_ask ask = { .reach = 10, .max_bytes = ~0ULL };
	struct exact *e = exact_new(&ask);
	__u64 i;
	bool ok = true;

	for (i = 0; i < SLOTS_FIRST / 4 * 3; i++)
		ok &= !put(e, i, 1000);
	exact_forget(e, 1010);
	ok &= !put(e, 5000, 1010);
	ok &= exact_held(e) == SLOTS_FIRST / 4 * 3 + 1;
	ok &= put(e, 7, 1010) == 1 && !exact_is_unsure(e, 0);
	exact_free(e);
	return ok;
}

int main(void)
{
	rng_state += tap_seed();
	tap_plan(12);
	tap_ok(all_reaches(true, false, 0), "places that grow");
	tap_ok(all_reaches(true, true, 0), "places that grow, first seen");
	tap_ok(all_reaches(false, false, 0), "places that jump");
	tap_ok(all_reaches(false, true, 0), "places that jump, first seen");
	tap_ok(all_reaches(false, false, ~0ULL - (1ULL << 50)), "places near the largest number");
	tap_ok(memory_of_windows(), "memory of a window, to the byte");
	tap_ok(within_limit(), "what fits the limit stays in it");
	tap_ok(above_limit(), "above the limit it says so and keeps all");
	tap_ok(a_byte_less(), "a byte less, and it does not grow");
	tap_ok(no_room_at_all(), "no room at all");
	tap_ok(tells_unsure(), "places with forgotten keys are reported");
	tap_ok(forgets_no_sooner(), "nothing is forgotten a unit too early");
	return tap_end();
}
