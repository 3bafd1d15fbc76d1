// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots of the locked kinds, copied piece by piece with insertions between the
 * pieces: every key inserted before the copy is found, with its age or a younger one.
 * Also hostile input: arbitrary states and memory are either refused or answer queries,
 * without any bad access (run with sanitizers).
 */
#define EPF_PRIVATE
#include "../locked.h"
#include "../core/tap.h"

#include "audit.h"
#include "query/kinds.h"

#include <stdint.h>

#define EPOCH 70u /* insertions of an epoch; for five epochs there are 300 in a window */
#define KEYS 2000u
#define ROUNDS 300u
#define EACH 70u /* insertions during a copy, in some tests up to four times as many */
#define STATES 20000u

static __u64 drawn;

static __u64 draw(__u64 sides)
{
	return epf_word(++drawn, 1) % sides;
}

/**
 * struct sim - a filter and its contents
 * @o: filter
 * @words: size of its memory, in words
 * @epoch: current epoch
 * @count: insertions in that epoch
 * @last: epoch of the last insertion of each key; 0: never
 */
struct sim {
	struct locked o;
	struct epf_shape shape;
	__u64 words;
	__u64 epoch;
	__u32 count;
	__u64 last[KEYS];
};

static void put(struct sim *s, bool rotates)
{
	__u32 key = (__u32)draw(KEYS);

	locked_insert(&s->o, epf_word(key, 2));
	s->last[key] = s->epoch;
	if (!rotates || ++s->count < EPOCH)
		return;
	locked_rotate(&s->o);
	s->epoch++;
	s->count = 0;
}

static void save(struct sim *s, struct epf_snap_locked *to)
{
	memset(to, 0, sizeof(*to));
	to->size = sizeof(*to);
	to->shape = s->shape;
	to->epoch = s->epoch;
	s->o.f.ops->save(&s->o.f, to, 0);
}

/* A shape without false positives for so few keys, but still with few words. */
static struct epf_shape roomy(__u32 kind)
{
	struct epf_shape s = locked_shape(kind);

	if (kind == EPF_KIND_DICT)
		s.dict = (struct epf_shape_dict){ 60, 6, 5, 3, 20, 8, 1, 0 };
	else
		s.all[0] *= 20; /* every kind has its size at this place */
	return s;
}

static void start(struct sim *s, __u32 kind, bool is_roomy)
{
	struct epf_snap_locked state;

	memset(s, 0, sizeof(*s));
	s->shape = is_roomy ? roomy(kind) : locked_shape(kind);
	s->epoch = EPF_EPOCH_FIRST;
	if (!locked_init(&s->o, kind, &s->shape))
		abort();
	save(s, &state);
	s->words = state.words;
}

/**
 * Results of looking up keys in copies.
 */
struct tally {
	__u64 live, lost, old, ghosts;
};

static void judge(const struct sim *s, const __u64 *last, const struct epf_snap_locked *state,
		  const __u64 *copy, struct tally *t)
{
	struct epf_asked a = { 0 };
	struct epf_params p = { .kind = (__u8)s->o.kind };
	unsigned char age;
	__u32 i;

	if (epf_asked_init(&a, &p, state) || !epf_asked_place(&a, (__u64 *)(uintptr_t)copy)) {
		t->lost++;
		return;
	}
	for (i = 0; i < KEYS; i++) {
		age = epf_asked_age(&a, epf_word(i, 2));
		if (last[i] && last[i] + s->o.epochs >= s->epoch) {
			t->live++;
			t->lost += age == EPF_AGE_ABSENT;
			t->old += age != EPF_AGE_ABSENT && age > s->epoch - last[i];
		} else {
			t->ghosts += age != EPF_AGE_ABSENT;
		}
	}
}

/* Copy in pieces of @piece words, the first or the last piece first, and insert keys
 * between them.
 * @rotates: epochs may end during the copy.
 */
static void copy_and_judge(struct sim *s, __u64 piece, bool rotates, struct tally *t)
{
	__u64 *copy = aligned_alloc(64, s->words * sizeof(*copy));
	__u64 n = s->words / piece, i;
	struct epf_snap_locked state;
	__u64 last[KEYS];
	bool down = draw(2);

	if (!copy)
		abort();
	memcpy(last, s->last, sizeof(last));
	for (i = 0; i < n; i++) {
		__u64 at = (down ? n - 1 - i : i) * piece;

		if (s->o.f.ops->copy)
			s->o.f.ops->copy(&s->o.f, 0, at, copy + at, piece);
		else
			memcpy(copy + at, s->o.f.word + at, piece * sizeof(*copy));
		for (__u64 more = draw(EACH * 8 / n + 2); more; more--)
			put(s, rotates);
	}
	save(s, &state);
	judge(s, last, &state, copy, t);
	free(copy);
}

static struct tally copies(__u32 kind, bool is_roomy, __u64 piece, bool rotates)
{
	struct tally t = { 0 };
	struct sim s;
	__u32 i;

	start(&s, kind, is_roomy);
	for (i = 0; i < ROUNDS; i++) {
		for (__u64 more = draw(300); more; more--)
			put(&s, true);
		copy_and_judge(&s, piece, rotates, &t);
	}
	locked_free(&s.o);
	return t;
}

#define LAW_POINTS 2
static void law(__u32 kind)
{
	struct tally t = copies(kind, false, 8, false);

	tap_ok(t.live > 10000 && !t.lost, "%s: %llu keys asked for in %u copies, %llu lost",
	       locked_name(kind), t.live, ROUNDS, t.lost);
	tap_ok(!t.old, "%llu reported older than they are", t.old);
}

/* Without the pin, or without copying in one pass, the check must fail. */
#define NOTICED_POINTS 3
static void noticed(void)
{
	struct tally held, free_running, words;

	words = copies(EPF_KIND_DICT, true, 1, false);
	tap_ok(words.lost, "noticed: a dictionary copied word by word: %llu lost", words.lost);
	held = copies(EPF_KIND_GE, true, 8, false);
	free_running = copies(EPF_KIND_GE, true, 8, true);
	tap_ok(free_running.ghosts > 2 * held.ghosts,
	       "noticed: epochs of ge end meanwhile: %llu keys that are gone found, else %llu",
	       free_running.ghosts, held.ghosts);
	held = copies(EPF_KIND_APBF, true, 8, false);
	free_running = copies(EPF_KIND_APBF, true, 8, true);
	tap_ok(free_running.lost + free_running.ghosts > 2 * (held.lost + held.ghosts),
	       "noticed: those of apbf: %llu, else %llu", free_running.lost + free_running.ghosts,
	       held.lost + held.ghosts);
}

/* ---------------------------------------------------------- hostile ---- */

/* Return: a valid state of @kind with little memory. */
static void sound_state(struct epf_snap_locked *s, struct epf_params *p, __u32 kind)
{
	struct sim sim;
	__u32 i;

	memset(p, 0, sizeof(*p));
	memset(s, 0, sizeof(*s));
	p->kind = (__u8)kind;
	p->window_ns = 7000;
	if (locked_is_fixed(kind)) {
		start(&sim, kind, false);
		save(&sim, s);
		locked_free(&sim.o);
		return;
	}
	s->size = sizeof(*s);
	s->epoch = 40;
	s->now = 100000;
	s->taken = 1000;
	if (kind == EPF_KIND_TLBF) {
		s->shape.tlbf = (struct epf_shape_tlbf){ 16, 16, 32, 4, 6 };
		s->nr = 7;
		s->last_ns = 99000;
		for (i = 0; i < s->nr; i++)
			s->slice[i] = (struct epf_snap_slice){ 16 + i,
							       99000 - i * 1000,
							       1000 - i * 10,
							       i < 4 ? 0 : 1000 - i * 10 + 10,
							       i < 4 ? 0 : 99000 - i * 1000,
							       (6 - i) % 4 };
	} else {
		s->shape.chain = (struct epf_shape_chain){ 64, 64, 256, 2048, 2, 10, 0 };
		s->nr = 3;
		s->turn = 77;
		s->start_ns = 99500;
		for (i = 0; i < s->nr; i++) {
			s->table[i].words = 8 * (64u << i);
			s->table[i].last = 77 - i;
		}
	}
	for (i = 0; i < s->nr; i++)
		s->words += kind == EPF_KIND_TLBF ? s->slice[i].words : s->table[i].words;
}

/* Return: a number near @was, or far from anything. */
static __u64 odd(__u64 was)
{
	switch (draw(6)) {
	case 0:
		return was + 1;
	case 1:
		return was - 1;
	case 2:
		return 1ULL << draw(64);
	case 3:
		return -1ULL;
	case 4:
		return draw(300);
	default:
		return 0;
	}
}

static void spoil(struct epf_snap_locked *s)
{
	size_t head = offsetof(struct epf_snap_locked, past) / 8;
	size_t behind = offsetof(struct epf_snap_locked, slice) / 8;
	size_t at = draw(2) ? draw(head) : behind + draw(60);
	__u64 v;

	memcpy(&v, (char *)s + at * 8, 8);
	v = draw(2) ? odd(v) : (v & ~0xffffffffULL) | (odd(v) & 0xffffffff);
	memcpy((char *)s + at * 8, &v, 8);
}

/* Return: random words; for a dictionary such as pass its checks. */
static __u64 *wild_memory(__u64 words)
{
	__u64 *word = aligned_alloc(64, (words * 8 + 63) & ~63ULL);
	__u64 i;

	if (!word)
		abort();
	for (i = 0; i < words; i++)
		word[i] = draw(3) ? epf_word(++drawn, 3) : 0;
	return word;
}

/* Lines of kind elastic that were filled, with some bits wrong. */
static void bend(struct epf_asked *a, __u64 *word)
{
	struct sim sim;
	__u64 i;

	start(&sim, EPF_KIND_ELASTIC, false);
	for (i = draw(600); i; i--)
		put(&sim, true);
	if (sim.words == a->f.words) {
		memcpy(word, sim.o.f.word, a->f.words * sizeof(*word));
		a->f.elastic.phase = sim.o.f.elastic.phase;
		for (i = draw(20); i; i--)
			word[draw(a->f.words)] ^= 1ULL << draw(64);
	}
	locked_free(&sim.o);
}

static void tame(struct epf_asked *a)
{
	__u64 bucket = a->f.ops->copy ? a->f.elastic.shape.line_words : 8 * a->f.dict.shape.lines,
	      at;

	for (at = 0; at < a->f.words; at += bucket)
		if (!a->f.ops->sound(&a->f, 0, at, bucket))
			memset(a->f.word + at, 0, bucket * sizeof(__u64));
}

/* Insert, then end an epoch or let some time pass. */
static void use(struct epf_asked *a)
{
	__u32 i;

	for (i = 0; i < 40; i++) {
		epf_asked_age(a, epf_word(++drawn, 4));
		if (a->f.ops->resizable)
			a->now_ns += draw(500);
		a->f.ops->insert(&a->f, epf_word(drawn, 4), a->now_ns);
		if (!a->f.ops->resizable && !draw(20))
			epf_locked_rotate(&a->f);
	}
}

#define HOSTILE_POINTS 1
static void hostile(__u32 kind, __u32 states)
{
	__u32 i, taken = 0, sound = 0;
	struct epf_snap_locked s;
	struct epf_params p;

	for (i = 0; i < states; i++) {
		struct epf_asked a = { 0 };
		__u64 *word;

		sound_state(&s, &p, kind);
		for (__u64 n = draw(4); n; n--)
			spoil(&s);
		if (epf_asked_init(&a, &p, &s) || s.words > 1 << 16)
			continue;
		word = wild_memory(s.words);
		if (kind == EPF_KIND_ELASTIC && draw(2))
			bend(&a, word);
		sound += epf_asked_place(&a, word);
		if (a.f.ops->sound)
			tame(&a);
		use(&a);
		free(word);
		taken++;
	}
	tap_ok(taken > states / 10 && taken < states &&
		       (epf_kind_row(kind)->sound ? sound < taken : sound == taken),
	       "%s: %u states, %u accepted, with %u random memories", locked_name(kind), states,
	       taken, sound);
}

static bool takes(__u64 epoch, __u64 taken, __u64 turn)
{
	struct epf_asked a = { 0 };
	struct epf_snap_locked s;
	struct epf_params p;
	__u32 i;

	sound_state(&s, &p, EPF_KIND_CHAIN);
	s.epoch = epoch;
	s.taken = taken;
	s.turn = turn;
	for (i = 0; i < s.nr; i++)
		s.table[i].last = turn - i;
	return !epf_asked_init(&a, &p, &s);
}

static void limits(void)
{
	const __u64 e = EPF_EPOCH_MAX, keys = EPF_IMAGE_KEYS_MAX;

	tap_ok(takes(e, keys, e) && !takes(e + 1, keys, e) && !takes(e, keys + 1, e) &&
		       !takes(e, keys, e + 1),
	       "epochs and keys of a state are taken up to their limits");
}

int main(int argc, char **argv)
{
	__u32 states = argc > 1 ? (__u32)atoi(argv[1]) : STATES;
	__u32 kinds[EPF_KIND_MAX], kind;

	tap_plan((int)locked_fixed_kinds(kinds) * LAW_POINTS + NOTICED_POINTS +
		 EPF_KIND_MAX * HOSTILE_POINTS + 1);
	for (kind = 1; kind <= EPF_KIND_MAX; kind++)
		if (locked_is_fixed(kind))
			law(kind);
	noticed();
	for (kind = 1; kind <= EPF_KIND_MAX; kind++)
		hostile(kind, states);
	limits();
	return tap_end();
}
