// SPDX-License-Identifier: GPL-2.0
/*
 * Kind elastic: the initial state of its scenes, and the programs of the threads.
 *
 * All keys have the same line. SCENE_OLD has the bucket of key 0; key 1 has the
 * remainder of key 0 and a later bucket. A reader of a torn line takes one for the
 * other. Key 2 has an earlier bucket, so it moves the items of all of them.
 */
#include "elastic.h"

#define FILL_SEED 99
#define FILL_MAX 64

static struct mc_elastic *const line = &mc_world.elastic;
static __u64 digests[MC_KEYS];

static struct epf_elastic_key place_of(__u64 digest)
{
	struct epf_elastic_key key;

	epf_elastic_locate(&line->f, digest, &key);
	return key;
}

static bool has_bucket(const struct epf_elastic_key *a, int key)
{
	return a->bucket == place_of(digests[key]).bucket;
}

/* Is @digest suitable for @key? The digests of lower keys are chosen already. */
static bool fits(int key, __u64 digest)
{
	struct epf_elastic_key first = place_of(digests[0]);
	struct epf_elastic_key k = place_of(digest);
	int i;

	if (key == SCENE_OLD)
		return k.bucket == first.bucket &&
		       (k.remainder ^ first.remainder) >> (EPF_ELASTIC_WIDTH_MAX - 1);
	if (key == 1)
		return k.bucket > first.bucket && k.remainder == first.remainder;
	for (i = 0; i < key; i++)
		if (has_bucket(&k, i))
			return false;
	return key != 2 || k.bucket < first.bucket;
}

static void choose_digests(void)
{
	__u64 n;
	int key;

	for (key = 0; key < MC_KEYS; key++) {
		n = 1;
		do
			digests[key] = epf_word(n++, (__u32)key);
		while (!fits(key, digests[key]));
	}
}

__u64 elastic_digest(int key)
{
	return digests[key];
}

/**
 * elastic_begin() - is @key in the line at the beginning?
 * @key: key that a property is about
 * @epoch: set to the epoch of its last insertion
 */
int elastic_begin(int key, __u64 *epoch)
{
	*epoch = mc.scene->elastic;
	if (mc.scene->before == BEFORE_STALE)
		*epoch -= ELASTIC_EPOCHS;
	return key == SCENE_OLD && mc.scene->before != BEFORE_EMPTY;
}

/* Would one more item make the remainders narrower? */
static bool is_full(void)
{
	struct mc_elastic before = *line;
	__u64 *head = &line->line[line->f.shape.line_words >> 3];
	__u64 widths = *head & EPF_ELASTIC_WIDTHS;
	bool full;

	epf_elastic_insert(&line->f, digests[0]);
	full = (*head & EPF_ELASTIC_WIDTHS) != widths;
	*line = before;
	return full;
}

/* Fill the line with items of other digests, none of them in the bucket of a key. */
static void fill(void)
{
	struct epf_elastic_key k;
	__u64 n, digest;
	int key;

	for (n = 1; n < FILL_MAX && !is_full(); n++) {
		digest = epf_word(n, FILL_SEED);
		k = place_of(digest);
		for (key = 0; key < MC_KEYS && !has_bucket(&k, key); key++)
			;
		if (key == MC_KEYS)
			epf_elastic_insert(&line->f, digest);
	}
}

/**
 * elastic_set_up() - set up the memory, which is zeroed
 * @s: scene; L = 1 for a line of 64 bytes, 2 for one of 128
 */
void elastic_set_up(const struct mc_scene *s)
{
	struct epf_elastic_shape shape = { 1, 8u * s->parts, ELASTIC_EPOCHS };

	line->f.word = line->line;
	epf_elastic_init(&line->f, &shape);
	choose_digests();
	line->f.phase = 2 * (s->elastic - ELASTIC_EPOCHS);
	if (s->before != BEFORE_EMPTY)
		epf_elastic_insert(&line->f, digests[SCENE_OLD]);
	line->f.phase += 2 * ELASTIC_EPOCHS;
	if (s->before != BEFORE_CURRENT)
		return;
	epf_elastic_insert(&line->f, digests[SCENE_OLD]);
	fill();
}

/* ---- programs ---- */

static void insert(int key)
{
	mc_note(MC_STARTS, key, 0, 0, 0);
	epf_elastic_insert(&line->f, digests[key]);
	mc_note(MC_INSERTED, key, 0, 0, 0);
}

static void sight(int key, bool keep)
{
	int verdict;

	mc_note(MC_STARTS, key, 0, 0, 0);
	verdict = epf_elastic_test_and_insert(&line->f, digests[key], keep);
	mc_note(MC_SIGHTED, key, 0, verdict, !(verdict && keep));
}

static void test(int key)
{
	int verdict;

	mc_note(MC_STARTS, key, 0, -1, 0);
	verdict = epf_elastic_test(&line->f, digests[key]);
	mc_note(MC_TESTED, key, 0, verdict, mc_noted.sure);
}

/* From BEFORE_STALE on: sweep the line, and fill it again when its stamp repeats.
 * Epochs in which nothing happens are left out.
 */
static void come_round(int key)
{
	struct epf_elastic *f = &line->f;
	__u64 epoch = mc.scene->elastic - ELASTIC_EPOCHS + EPF_ELASTIC_STAMPS;

	epf_elastic_rotate(f);
	epf_store_release(&f->phase, 2 * epoch);
	insert(key);
}

void elastic_run(const struct scene_role *r)
{
	int i;

	switch (r->act) {
	case ACT_INSERT:
		insert(r->key);
		break;
	case ACT_SIGHT:
	case ACT_SIGHT_FIRST:
		sight(r->key, r->act == ACT_SIGHT_FIRST);
		break;
	case ACT_TEST:
		for (i = 0; i < r->n; i++)
			test(r->key);
		break;
	case ACT_ROTATE:
		for (i = 0; i < r->n; i++)
			epf_elastic_rotate(&line->f);
		break;
	case ACT_COME_ROUND:
		come_round(r->key);
		break;
	default:
		break;
	}
}
