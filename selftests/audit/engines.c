// SPDX-License-Identifier: GPL-2.0
/*
 * Property: every engine gives the core's bitmap, ages, histogram and checksum.
 *
 * usage: engines [KEYS]    (10 million over all shapes and phases)
 *
 * Tested at each of the eight phases of rotation, in three ranges of the epoch (the
 * first epochs; after tags wrapped once; after many wraps), on filters that the core
 * filled, and on lines of arbitrary words with arbitrary tags. Keys are new, from the
 * window, and from epochs long gone whose lanes no scan has emptied.
 */
#include "sim.h"

#define PHASES 8

static const struct {
	__u32 parts, k;
} shapes[] = {
	{ 1, 1 }, { 1, 2 }, { 1, 5 },  { 1, 7 },  { 1, 8 },  { 1, 9 },  { 1, 12 }, { 1, 15 },
	{ 2, 2 }, { 2, 4 }, { 2, 6 },  { 2, 10 }, { 2, 12 }, { 2, 18 }, { 2, 28 }, { 2, 30 },
	{ 4, 4 }, { 4, 8 }, { 4, 16 }, { 4, 20 }, { 4, 24 }, { 4, 32 }, { 4, 40 }, { 4, 60 },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static const __u64 places[] = { EPF_EPOCH_FIRST, EPF_EPOCH_FIRST + 32, EPF_EPOCH_FIRST + 72 };
/* alignment of the lines: aligned; as in a snapshot; arbitrary */
static const __u32 shifts[] = { 0, 32, 8 };

static __u64 came_round; /* keys present although their epoch is gone */

/* Return: an epoch to take a key from; 0: none. */
static __u64 key_epoch(const struct sim *s, __u64 r)
{
	__u64 back = r / 8;

	switch (r % 4) {
	case 0:
		return 0;
	case 1:
		back %= 40;
		break;
	default:
		back %= EPF_LANES;
	}
	return back + EPF_EPOCH_FIRST > s->epoch ? 0 : s->epoch - back;
}

static void make_keys(const struct sim *s, __u64 *digest, __u64 n)
{
	__u64 i;

	for (i = 0; i < n; i++) {
		__u64 r = epf_word(s->seed ^ s->epoch << 32, (__u32)i + 1);
		__u64 epoch = key_epoch(s, r);

		digest[i] = epoch ? sim_digest(s, epoch, (r >> 20) % s->per_epoch) : r;
		came_round += s->epoch - epoch == 32 && sim_age(s, digest[i]) != EPF_AGE_ABSENT;
	}
}

/* Overwrite the outputs, so that an engine that skips a key does not show the previous
 * engine's result.
 */
static void clobber(void)
{
	volatile unsigned char stack[1 << 17];
	unsigned int i;

	for (i = 0; i < sizeof(stack); i++)
		stack[i] = 0x55;
}

static void ask(const struct sim *s, const __u64 *digest, __u64 n, const char **broken)
{
	struct epf_keys keys = { .data = digest, .n = n };
	struct epf_view v = sim_view(s);
	const struct epf_engine *e;
	struct expected x;
	struct epf_answer a = { .bitmap = must(malloc(n / 8 + 1)), .ages = must(malloc(n)) };
	unsigned int i;

	expect(&x, s, digest, n);
	for (i = 0; (e = epf_engine_at(i)); i++) {
		if (broken[i] || !e->usable())
			continue;
		clobber();
		broken[i] = e->query(&v, &keys, &a) ? "error" : differs(&x, &a);
	}
	expect_free(&x);
	free(a.bitmap);
	free(a.ages);
}

static void one(unsigned int shape, unsigned int phase, __u64 n, const char **broken)
{
	__u32 parts = shapes[shape].parts;
	__u64 *digest = must(malloc(n * sizeof(*digest)));
	struct sim s;

	sim_init(&s, parts * (997 + 2 * phase), parts, shapes[shape].k,
		 shifts[(shape + phase) % 3]);
	s.per_epoch = 40 + 300 * parts / shapes[shape].k;
	if (shape % 4 == 3)
		sim_noise(&s, places[shape % 3] + phase);
	else
		sim_stream(&s, places[shape % 3] + phase);
	make_keys(&s, digest, n);
	ask(&s, digest, n, broken);
	free(digest);
	sim_free(&s);
}

int main(int argc, char **argv)
{
	__u64 keys = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	__u64 n = keys / (SHAPES * PHASES) + 1;
	unsigned int shape, phase;

	tap_plan(3 * engines() + 1);
	for (shape = 0; shape < SHAPES; shape++) {
		static const char *broken[ENGINES_MAX];
		static __u64 asked;
		char claim[100];

		for (phase = 0; phase < PHASES; phase++) {
			one(shape, phase, n + phase, broken);
			asked += n + phase;
		}
		if (shape % 8 < 7)
			continue;
		snprintf(claim, sizeof(claim),
			 "L=%u: the core's answers, 8 shapes, 8 phases, %llu keys",
			 shapes[shape].parts, asked);
		claim_engines(broken, claim);
		memset(broken, 0, sizeof(broken));
		asked = 0;
	}
	tap_ok(came_round > 0, "keys whose tags came round were among them");
	return tap_end();
}
