// SPDX-License-Identifier: GPL-2.0
/*
 * An attacker who chooses keys and sees every verdict, but does not know the hash key,
 * does no better than with the same number of random keys: after eight full epochs of
 * attack, keys of others are reported present no more often.
 *
 * Keys of one filter share its lines, so the filters are the sample, not the keys: an
 * attack is better when the mean of FILTERS filters is above that of random keys by
 * more than the 99.9% interval of the difference. Seeds are fixed. To show that the
 * attacks are real, each also runs with the hash key known, and then succeeds.
 */
#include "owner.h"
#include "tap.h"

#include <cover.h>
#include <epf.h>

#include <math.h>

#define FILTERS 32
#define T_999 3.455  /* Student's t, 62 degrees of freedom, 0.9995 */
#define KEYS 21000.0 /* keys of the window */
#define BUDGET 1e-2
#define QUERIES 60000u
#define POOL 256u
#define CHOICE 8u /* candidates for each crafted key */

/* What an attacker can choose, for example the bytes of a flow. */
struct key {
	__u64 word[2];
};

/**
 * struct arena - a filter under attack
 * @target: the filter
 * @hash: its hash, secret
 * @shadow: the attacker's own copy of the filter
 * @guess: the hash that the attacker computes with
 * @pool: keys that were answered present
 * @pooled: number of keys in @pool
 * @seed: seed of the attacker's random numbers
 * @drawn: random words used, below 2^32
 * @nr: number of keys sent
 */
struct arena {
	struct owner target;
	struct epf_hash hash;
	struct owner shadow;
	struct epf_hash guess;
	struct key pool[POOL];
	__u32 pooled;
	__u64 seed;
	__u64 drawn;
	__u64 nr;
};

typedef struct key (*attack_fn)(struct arena *a);

static __u64 draw(struct arena *a)
{
	return epf_word(a->seed, (__u32)a->drawn++);
}

static __u64 digest(const struct epf_hash *h, const struct key *k)
{
	return epf_digest(h, k, sizeof(*k));
}

static bool answered_present(const struct arena *a, const struct key *k)
{
	return owner_test(&a->target, digest(&a->hash, k)) != EPF_ABSENT;
}

static struct key random_key(struct arena *a)
{
	struct key k;

	k.word[0] = draw(a);
	k.word[1] = draw(a);
	return k;
}

static struct key sequential(struct arena *a)
{
	struct key k = { { a->nr, 0 } };

	return k;
}

/* Each key differs from the one before in one bit. */
static struct key one_bit(struct arena *a)
{
	struct key k = { { a->nr ^ a->nr >> 1, 0 } };

	return k;
}

/* All keys in the first sixteenth of the lines, by the attacker's hash. */
static struct key few_lines(struct arena *a)
{
	const struct epf_geom *g = &a->shadow.lanes.geom;
	struct key k;

	do
		k = random_key(a);
	while (epf_geom_line(g, digest(&a->guess, &k), 0) >= g->part_lines / 16);
	return k;
}

/* Return: positions of @k that no key has set in the current epoch, by the attacker's
 * hash.
 */
static int new_positions(const struct arena *a, const struct key *k)
{
	const struct owner *o = &a->shadow;
	struct epf_probe p;
	int nr = 0;
	__u32 j;

	epf_probe(&o->lanes, digest(&a->guess, k), &p);
	for (j = 0; j < p.parts; j++) {
		__u64 v = p.line[j]->lane[o->state.epoch & 7];

		if ((v & EPF_TAG_MASK) != epf_tag(o->state.epoch))
			v = 0;
		nr += __builtin_popcountll(p.mask[j] & ~v);
	}
	return nr;
}

/* Of several keys, the one that sets most positions, by the attacker's hash. */
static struct key polluting(struct arena *a)
{
	struct key best = random_key(a);
	int most = new_positions(a, &best);
	__u32 i;

	for (i = 1; i < CHOICE; i++) {
		struct key k = random_key(a);
		int nr = new_positions(a, &k);

		if (nr > most) {
			most = nr;
			best = k;
		}
	}
	owner_insert(&a->shadow, digest(&a->guess, &best));
	return best;
}

/* A neighbour of a key that was answered present. Keys answered present are kept. */
static struct key near_present(struct arena *a)
{
	struct key k;
	__u32 i;

	for (i = 0; i < CHOICE; i++) {
		k = random_key(a);
		if (a->pooled > POOL / 2) {
			k = a->pool[draw(a) % (a->pooled < POOL ? a->pooled : POOL)];
			k.word[draw(a) & 1] ^= 1ULL << (draw(a) & 63);
			k.word[draw(a) & 1] ^= 1ULL << (draw(a) & 63);
		}
		if (!answered_present(a, &k))
			continue;
		a->pool[a->pooled++ % POOL] = k;
		break;
	}
	return k;
}

/* Insert only keys that were answered absent, because only they certainly set a
 * position.
 */
static struct key only_absent(struct arena *a)
{
	struct key k;

	do
		k = random_key(a);
	while (answered_present(a, &k));
	return k;
}

static void shape(struct owner *o, unsigned int parts)
{
	struct epf_size_req req = { KEYS, BUDGET, 0, parts };
	struct epf_size size;

	if (epf_size(&req, &size))
		abort();
	owner_init(o, size.nr_lines, parts, size.bits_per_key);
}

static void arena_init(struct arena *a, unsigned int parts, __u64 seed, bool knows)
{
	memset(a, 0, sizeof(*a));
	a->hash.key[0] = epf_word(seed, 1);
	a->hash.key[1] = epf_word(seed, 2);
	a->guess = a->hash;
	if (!knows)
		a->guess.key[1] ^= 1;
	a->seed = epf_word(seed, 3);
	shape(&a->target, parts);
	shape(&a->shadow, parts);
}

static void arena_free(struct arena *a)
{
	owner_free(&a->target);
	owner_free(&a->shadow);
}

/* Attack with eight full epochs of keys of @attack. */
static void flood(struct arena *a, attack_fn attack)
{
	__u64 keys = (__u64)ceil(KEYS / EPF_LIVE_EPOCHS);
	__u32 e, i;

	for (e = 0; e < EPF_LANES; e++) {
		owner_rotate(&a->target);
		owner_rotate(&a->shadow);
		for (i = 0; i < keys; i++, a->nr++) {
			struct key k = attack(a);

			owner_insert(&a->target, digest(&a->hash, &k));
		}
	}
}

/* Return: the share of keys never inserted that are present; @hits: stores them, or
 * NULL.
 */
static double measure(struct arena *a, struct key *hits, __u32 *nr_hits)
{
	__u32 i, nr = 0;

	for (i = 0; i < QUERIES; i++) {
		struct key k = random_key(a);

		if (!answered_present(a, &k))
			continue;
		if (hits)
			hits[nr] = k;
		nr++;
	}
	if (nr_hits)
		*nr_hits = nr;
	return (double)nr / QUERIES;
}

/* The rates of all filters: mean, and variance of the mean. */
struct rate {
	double mean, var;
};

static struct rate rate_of(const double r[FILTERS])
{
	struct rate s = { 0, 0 };
	int i;

	for (i = 0; i < FILTERS; i++)
		s.mean += r[i] / FILTERS;
	for (i = 0; i < FILTERS; i++)
		s.var += (r[i] - s.mean) * (r[i] - s.mean);
	s.var /= (FILTERS - 1.0) * FILTERS;
	return s;
}

static double margin(const struct rate *a, const struct rate *b)
{
	return T_999 * sqrt(a->var + b->var);
}

static struct rate flooded(unsigned int parts, attack_fn attack, bool knows)
{
	double r[FILTERS];
	struct arena a;
	__u64 i;

	for (i = 0; i < FILTERS; i++) {
		arena_init(&a, parts, epf_word(parts * 1000 + i, 50), knows);
		flood(&a, attack);
		r[i] = measure(&a, NULL, NULL);
		arena_free(&a);
	}
	return rate_of(r);
}

static const struct {
	const char *name;
	attack_fn attack;
} attacks[] = {
	{ "sequential keys", sequential },
	{ "keys that differ in one bit", one_bit },
	{ "keys for few lines under another hash key", few_lines },
	{ "keys that pollute most under another hash key", polluting },
	{ "neighbours of keys answered present", near_present },
	{ "keys answered absent only", only_absent },
};

#define NR_ATTACKS (int)(sizeof(attacks) / sizeof(attacks[0]))

static void compare(unsigned int parts, const struct rate *honest)
{
	struct rate r;
	int i;

	for (i = 0; i < NR_ATTACKS; i++) {
		r = flooded(parts, attacks[i].attack, false);
		tap_ok(r.mean - honest->mean <= margin(&r, honest),
		       "L=%u: %s: %.5f, random keys %.5f, +- %.5f", parts, attacks[i].name, r.mean,
		       honest->mean, margin(&r, honest));
	}
	/* With one line per key, overfull lines are what raises the error. */
	r = flooded(parts, parts == 1 ? few_lines : polluting, true);
	tap_ok(r.mean > 2 * honest->mean, "L=%u: the same attack with the hash key known: %.5f",
	       parts, r.mean);
}

/**
 * struct masks - classes of keys by the number of positions they have in a line
 * @share: of all keys
 * @covered: probability that a full epoch has all of them set
 */
struct masks {
	double share[EPF_PART_BITS_MAX + 1];
	double covered[EPF_PART_BITS_MAX + 1];
};

static void masks_of(struct masks *m, const struct epf_geom *g)
{
	double load = ceil(KEYS / EPF_LIVE_EPOCHS) / (double)g->part_lines;
	struct epf_cover_fields c;
	struct epf_cover_row hit;
	__u32 u;

	epf_cover_fields_init(&c, EPF_FIELDS, EPF_LANE_BITS, g->bits);
	hit = epf_cover_fields(&c, load);
	for (u = 0; u <= g->bits; u++) {
		m->share[u] = c.own.at[u];
		m->covered[u] = hit.at[u];
	}
}

/* Sum over the masks of @parts more lines, for keys that a whole epoch matches with
 * probability @all: add the probability of a false positive, and its square, to @sum.
 */
static void sum_errors(const struct masks *m, __u32 bits, __u32 parts, double share, double all,
		       double sum[2])
{
	double error = all < 1 ? -expm1(EPF_LANES * log1p(-all)) : 1;
	__u32 u;

	for (u = 0; parts && u <= bits; u++)
		sum_errors(m, bits, parts - 1, share * m->share[u], all * m->covered[u], sum);
	if (parts)
		return;
	sum[0] += share * error;
	sum[1] += share * error * error;
}

/* Return: the probability that a key is a false positive again after it was one in an
 * earlier window. It is higher than for other keys, because keys with few positions err
 * more.
 */
static double error_again(const struct epf_geom *g)
{
	double sum[2] = { 0, 0 };
	struct masks m;

	masks_of(&m, g);
	sum_errors(&m, g->bits, g->parts, 1, 1, sum);
	return sum[1] / sum[0];
}

/* Keys that the attacker saw collide are, after the window, worth no more than their
 * masks tell.
 */
static void replay(unsigned int parts)
{
	static struct key hits[QUERIES];
	double inside[FILTERS], after[FILTERS];
	struct rate before, later, again = { 0, 0 };
	struct arena a;
	__u32 n, nr;
	__u64 i;

	for (i = 0; i < FILTERS; i++) {
		arena_init(&a, parts, epf_word(parts * 1000 + i, 60), false);
		again.mean = error_again(&a.target.lanes.geom);
		flood(&a, random_key);
		measure(&a, hits, &nr);
		for (inside[i] = 0, n = 0; n < nr; n++)
			inside[i] += answered_present(&a, &hits[n]);
		inside[i] /= nr;
		flood(&a, random_key);
		for (after[i] = 0, n = 0; n < nr; n++)
			after[i] += answered_present(&a, &hits[n]);
		after[i] /= nr;
		arena_free(&a);
	}
	before = rate_of(inside);
	later = rate_of(after);
	tap_ok(before.mean == 1, "L=%u: a collision seen holds within the window", parts);
	tap_ok(fabs(later.mean - again.mean) <= margin(&later, &again),
	       "L=%u: a window later known collisions recur as predicted: %.5f, %.5f +- %.5f",
	       parts, later.mean, again.mean, margin(&later, &again));
}

/* Does the key of @p set a missing position of @victim, by the attacker's hash? */
static bool helps(const struct arena *a, const struct epf_probe *p, const struct epf_probe *victim)
{
	__u64 e = a->shadow.state.epoch;
	__u32 j;

	for (j = 0; j < p->parts; j++) {
		__u64 v = victim->line[j]->lane[e & 7];

		if (p->line[j] == victim->line[j] && p->mask[j] & victim->mask[j] & ~v)
			return true;
	}
	return false;
}

/* Make @victim present with as few keys as possible. Return: their number. */
static __u32 fill_lines(struct arena *a, const struct key *victim)
{
	const struct epf_lanes *f = &a->shadow.lanes;
	struct epf_probe v, p;
	__u32 nr;

	epf_probe(f, digest(&a->guess, victim), &v);
	for (nr = 0; epf_lanes_test(f, &v) == EPF_ABSENT; nr++) {
		struct key k;

		do {
			k = random_key(a);
			epf_probe(f, digest(&a->guess, &k), &p);
		} while (!helps(a, &p, &v));
		owner_insert(&a->shadow, digest(&a->guess, &k));
		owner_insert(&a->target, digest(&a->hash, &k));
	}
	return nr;
}

#define VICTIMS 200
static int victims_hit(unsigned int parts, bool knows, double *keys)
{
	struct arena a;
	struct key victim;
	int hit = 0;
	__u64 i;

	for (*keys = 0, i = 0; i < VICTIMS; i++) {
		arena_init(&a, parts, epf_word(parts * 1000 + i, 70), knows);
		victim = random_key(&a);
		*keys += (double)fill_lines(&a, &victim) / VICTIMS;
		hit += answered_present(&a, &victim);
		arena_free(&a);
	}
	return hit;
}

static void target(unsigned int parts)
{
	double keys;
	int hit = victims_hit(parts, true, &keys);

	tap_ok(hit == VICTIMS, "L=%u: with the hash key, %.0f keys make a victim present", parts,
	       keys);
	hit = victims_hit(parts, false, &keys);
	tap_ok(!hit, "L=%u: without it as many keys do so in %d of %d cases", parts, hit, VICTIMS);
}

int main(void)
{
	unsigned int parts;

	tap_plan(3 * (NR_ATTACKS + 5));
	for (parts = 1; parts <= EPF_PARTS_MAX; parts *= 2) {
		struct rate honest = flooded(parts, random_key, false);

		compare(parts, &honest);
		replay(parts);
		target(parts);
	}
	return tap_end();
}
