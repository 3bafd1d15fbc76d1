// SPDX-License-Identifier: GPL-2.0
/*
 * The in-process filter of libepf against exact bookkeeping: every verdict with
 * its age, in every mode, over pauses of all lengths; saturation; refusals.
 */
#include "../core/tap.h"
#include "../params.h"
#include "epf.h"

#include <epf/capacity.h>
#include <epf/window.h>

#include <errno.h>
#include <stdlib.h>

#include "draw.h"

#define KEYS 3000
#define STEPS 30000
#define NEVER (~0ULL)

/* When a key was last inserted; epochs are numbered from 0. */
struct sight {
	__u64 epoch;
	__u64 insert;
	__u64 ns;
};

/**
 * struct model - what the filter must remember
 * @length: insertions in an epoch
 * @span: duration of an epoch, ns
 * @start_ns: start of the current epoch
 * @count: insertions in the current epoch
 * @inserts: insertions in total
 * @by_hand: epochs are also ended explicitly, which shortens the window
 */
struct model {
	struct epf_params p;
	__u64 length, span;
	__u64 epoch, start_ns, count, inserts;
	bool by_hand;
	struct sight last[KEYS];
};

static struct epf_params params(__u32 mode, __u32 refresh, __u64 w, __u64 t)
{
	struct epf_params p = {
		.mode = mode,
		.refresh = refresh,
		.window_ns = t,
		PARAMS(8192, 4, 28, w),
	};

	return p;
}

static void next_epoch(struct model *m, __u64 start_ns)
{
	m->epoch++;
	m->start_ns = start_ns;
	m->count = 0;
}

static void pass_time(struct model *m, __u64 now)
{
	__u64 over;

	if (m->p.mode == EPF_MODE_BOTH && m->count >= m->length && now - m->start_ns >= m->span)
		next_epoch(m, now);
	if (m->p.mode != EPF_MODE_TIME && m->p.mode != EPF_MODE_EITHER)
		return;
	over = (now - m->start_ns) / m->span;
	if (!over)
		return;
	m->epoch += over;
	m->start_ns += over * m->span;
	m->count = 0;
}

static int model_test(const struct model *m, __u32 key)
{
	__u64 age = m->epoch - m->last[key].epoch;

	return m->last[key].epoch != NEVER && age < EPF_EPOCHS ? 1 + (int)age : 0;
}

static void model_insert(struct model *m, __u32 key, __u64 now)
{
	m->last[key] = (struct sight){ m->epoch, ++m->inserts, now };
	m->count++;
	if (m->p.mode == EPF_MODE_TIME || m->count < m->length)
		return;
	if (m->p.mode != EPF_MODE_BOTH || now - m->start_ns >= m->span)
		next_epoch(m, now);
}

static struct model *model_new(const struct epf_params *p)
{
	struct model *m = calloc(1, sizeof(*m));
	__u32 i;

	if (!m)
		abort();
	m->p = *p;
	m->length = (p->window_inserts + 6) / 7;
	m->span = (p->window_ns + 6) / 7;
	for (i = 0; i < KEYS; i++)
		m->last[i].epoch = NEVER;
	return m;
}

/* The guarantees in terms of W and T, without epochs: does @verdict keep them? */
static bool lawful(const struct model *m, __u32 key, __u64 now, int verdict)
{
	const struct sight *s = &m->last[key];
	__u64 inserts = m->inserts - s->insert, ns = now - s->ns;
	bool in_w = inserts < m->p.window_inserts;
	bool in_t = ns <= m->p.window_ns;
	bool out_w = m->length && inserts >= 8 * m->length;
	bool out_t = m->span && ns > 8 * m->span;

	if (s->epoch == NEVER)
		return !verdict;
	switch (m->p.mode) {
	case EPF_MODE_COUNT:
		return verdict ? !out_w : !in_w;
	case EPF_MODE_TIME:
		return verdict ? !out_t : !in_t;
	case EPF_MODE_EITHER:
		return !verdict || (!out_w && !out_t); /* the error is bounded */
	default:
		return verdict || (!in_w && !in_t); /* the coverage is bounded */
	}
}

static __u64 pause_ns(const struct model *m)
{
	__u64 unit = m->span ? m->span : 1000;

	switch (draw(400)) {
	case 0:
		return unit * draw(30);
	case 1:
		return unit * draw(1000000000); /* very long */
	case 2:
		return unit * 7;
	case 3:
		return unit;
	default:
		return draw(2) ? 0 : draw(unit / 20 + 2);
	}
}

static bool step(struct epf_mem *mem, struct model *m, __u64 now)
{
	__u32 key = (__u32)(draw(2) ? draw(KEYS) : draw(KEYS / 100));
	__u64 digest = epf_mem_digest(mem, &key, sizeof(key));
	__u64 what = draw(4);
	int want, got = -1;

	pass_time(m, now);
	want = model_test(m, key);
	if (what == 0)
		got = epf_mem_test(mem, digest, now);
	else if (what == 1)
		epf_mem_insert(mem, digest, now);
	else
		got = epf_mem_test_and_insert(mem, digest, now);
	if (got >= 0 && (got != want || (!m->by_hand && !lawful(m, key, now, got)))) {
		printf("# key %u at %llu: %d, not %d\n", key, now, got, want);
		return false;
	}
	if (what == 1 || (what > 1 && !(want && m->p.refresh)))
		model_insert(m, key, now);
	if (m->by_hand && !draw(500)) {
		epf_mem_rotate(mem, now);
		next_epoch(m, now);
	}
	return true;
}

static bool same_info(struct epf_mem *mem, const struct model *m, __u64 now)
{
	struct epf_info info;

	epf_mem_info(mem, now, &info);
	return info.stats.inserts == m->inserts && info.epochs[0].inserts == m->count &&
	       info.epochs[0].age_ns == now - m->start_ns &&
	       info.memory_bytes >= m->p.nr_lines * 64 && !info.stats.failed_open &&
	       info.covered_inserts <= m->inserts;
}

static void follow(const char *name, struct epf_params p, bool by_hand)
{
	struct model *m = model_new(&p);
	__u64 now = 5000000000ULL;
	struct epf_mem *mem;
	bool good;
	int err, i;

	m->start_ns = now;
	m->by_hand = by_hand;
	mem = epf_mem_new(&p, NULL, now, &err);
	good = mem;
	for (i = 0; good && i < STEPS; i++) {
		now += pause_ns(m);
		good = step(mem, m, now);
	}
	tap_ok(good, "%s, %s, W %llu, T %llu%s: %d verdicts with their ages", name,
	       p.refresh ? "first-seen" : "refresh", p.window_inserts, p.window_ns,
	       by_hand ? ", rotated by hand" : "", i);
	if (good)
		pass_time(m, now);
	tap_ok(good && same_info(mem, m, now), "... and the reported information");
	epf_mem_free(mem);
	free(m);
}

/* With far more keys than fit, the filter fails open, reports it, and recovers when the
 * keys are gone.
 */
static void saturate(void)
{
	struct epf_params p = params(EPF_MODE_TIME, EPF_REFRESH, 0, 7000);
	struct epf_info info;
	struct epf_mem *mem;
	__u64 i, open = 0;
	int err;

	p.nr_lines = 64;
	p.budget_ppt = 1000000; /* 1e-6 */
	p.limit_ppt = 2000000;
	mem = epf_mem_new(&p, NULL, 0, &err);
	for (i = 0; i < 5000; i++)
		epf_mem_insert(mem, epf_mem_digest(mem, &i, 8), 1);
	epf_mem_info(mem, 1, &info);
	tap_ok(info.flags & EPF_INFO_SATURATED && info.stats.saturations == 1 &&
		       info.fpr_ppt > p.limit_ppt,
	       "saturation is noticed in the epoch");
	for (i = 0; i < 5000; i++)
		open += epf_mem_test(mem, epf_mem_digest(mem, &i, 8), 1) == -ENOSPC;
	epf_mem_info(mem, 1, &info);
	tap_ok(open == 5000 && info.stats.failed_open == 5000 && info.stats.misses == 5000 &&
		       !info.stats.hits,
	       "every verdict is \"do not know\", and is counted");
	i = 77;
	epf_mem_insert(mem, epf_mem_digest(mem, &i, 8), 9000);
	epf_mem_info(mem, 9000, &info);
	tap_ok(!(info.flags & EPF_INFO_SATURATED) &&
		       epf_mem_test(mem, epf_mem_digest(mem, &i, 8), 9001) == 1,
	       "it recovers when the keys are out of the window");
	epf_mem_free(mem);
}

/* Return: keys that a lane of an empty filter may take. */
static __u64 room_of(const struct epf_params *p)
{
	static struct epf_capacity_work work;
	__u64 none[EPF_LIVE_EPOCHS] = { 0 };
	struct epf_capacity c;
	struct epf_geom g;

	if (epf_geom_init(&g, p->nr_lines, p->lines_per_key, p->bits_per_key))
		abort();
	epf_capacity_init(&c, &g, epf_ppt_to_q56(p->limit_ppt), &work);
	return epf_capacity_room(&c, none);
}

/* The filter opens at exactly that key, long before it would sample again. */
static void open_by_count(void)
{
	struct epf_params p = params(EPF_MODE_TIME, EPF_REFRESH, 0, 7000);
	__u64 i, keys = 0, late = 0;
	struct epf_info info;
	struct epf_mem *mem;
	int err, verdict = 0;

	p.nr_lines = 1024;
	p.lines_per_key = 1;
	p.bits_per_key = 12;
	p.budget_ppt = p.limit_ppt = EPF_RATE_ONE / 300;
	mem = epf_mem_new(&p, NULL, 0, &err);
	for (i = 0; i < 20000; i++) {
		verdict = epf_mem_test_and_insert(mem, epf_mem_digest(mem, &i, 8), 1);
		epf_mem_info(mem, 1, &info);
		if (info.flags & EPF_INFO_SATURATED)
			late += verdict > 0;
		else
			keys += verdict != EPF_PRESENT;
	}
	tap_ok(keys + 1 == room_of(&p), "open by count at key %llu, room %llu", keys + 1,
	       room_of(&p));
	tap_ok(!late && info.flags & EPF_INFO_SATURATED && verdict <= 0,
	       "then nothing is present, at ten times the keys");
	epf_mem_free(mem);
}

/* An estimate is due whenever the insertions of an epoch may have filled another eighth
 * of its positions. Return: how often one was above the limit while there was room left
 * by count; *@missed: how often such an estimate did not open the filter.
 */
static __u32 estimates_of(__u64 seed, __u32 *missed)
{
	struct epf_params p = params(EPF_MODE_COUNT, EPF_REFRESH, 7 * 1000, 0);
	const __u64 key[2] = { seed, 1 };
	__u64 i, eighth, room;
	__u32 above = 0;
	struct epf_info info;
	struct epf_mem *mem;
	int err;

	p.nr_lines = 64;
	p.lines_per_key = 1;
	p.bits_per_key = 4;
	p.limit_ppt = EPF_RATE_ONE / 26; /* room for slightly more than 4 eighths */
	eighth = 1 + p.nr_lines * 62 / (8 * p.bits_per_key);
	room = room_of(&p);
	mem = epf_mem_new(&p, key, 0, &err);
	for (i = 0; i < 1000; i++) /* an epoch that repeats one key */
		epf_mem_insert(mem, 77, 0);
	for (i = 1; i < room && !above; i++) {
		epf_mem_insert(mem, epf_mem_digest(mem, &i, 8), 0);
		epf_mem_info(mem, 0, &info);
		if (i % eighth || info.fpr_ppt <= p.limit_ppt)
			continue;
		above++;
		*missed += !(info.flags & EPF_INFO_SATURATED);
	}
	epf_mem_free(mem);
	return above;
}

static void estimate_in_time(void)
{
	__u32 seed, above = 0, missed = 0;

	for (seed = 0; seed < 200; seed++)
		above += estimates_of(seed, &missed);
	tap_ok(above > 10 && !missed,
	       "an estimate opens it with room left, in the second epoch too: %u, %u not", above,
	       missed);
}

/* First-seen mode: a key told absent is inserted, and counts for saturation too. */
static void saturate_first_seen(void)
{
	struct epf_params p = params(EPF_MODE_TIME, EPF_FIRST_SEEN, 0, 7000);
	struct epf_info before, after;
	struct epf_mem *mem;
	int err, verdict;
	__u64 i;

	p.nr_lines = 64;
	p.limit_ppt = 1000000;
	mem = epf_mem_new(&p, NULL, 0, &err);
	for (i = 0; i < 5000; i++)
		epf_mem_insert(mem, epf_mem_digest(mem, &i, 8), 1);
	epf_mem_info(mem, 1, &before);
	i = 1;
	verdict = epf_mem_test_and_insert(mem, epf_mem_digest(mem, &i, 8), 1);
	epf_mem_info(mem, 1, &after);
	tap_ok(verdict == -ENOSPC && after.stats.failed_open == 1 &&
		       after.stats.inserts == before.stats.inserts + 1,
	       "first-seen inserts keys with an open verdict");
	epf_mem_free(mem);
}

static int refusal(struct epf_params p)
{
	int err = 0;
	struct epf_mem *mem = epf_mem_new(&p, NULL, 0, &err);

	epf_mem_free(mem);
	return mem ? 0 : err;
}

static void refuse(void)
{
	const struct epf_params good = params(EPF_MODE_COUNT, 0, 7, 0);
	struct {
		const char *what;
		struct epf_params p;
		int err;
	} bad[] = {
		{ "kind", good, -EOPNOTSUPP },
		{ "hash", good, -EINVAL },
		{ "mode", good, -EINVAL },
		{ "refresh", good, -EINVAL },
		{ "lines per key", good, -EINVAL },
		{ "bits", good, -EINVAL },
		{ "lines", good, -EINVAL },
		{ "window", good, -EINVAL },
		{ "time in mode count", good, -EINVAL },
		{ "budget 0", good, -EINVAL },
		{ "limit below budget", good, -EINVAL },
		{ "limit above one", good, -EINVAL },
	};
	size_t i;

	bad[0].p.kind = 1;
	bad[1].p.hash = EPF_HASH_MAX + 1;
	bad[2].p.mode = 4;
	bad[3].p.refresh = 2;
	bad[4].p.lines_per_key = 3;
	bad[5].p.bits_per_key = 64;
	bad[6].p.nr_lines = 63;
	bad[7].p.window_inserts = 0;
	bad[8].p.window_ns = 1;
	bad[9].p.budget_ppt = 0;
	bad[10].p.budget_ppt = EPF_RATE_ONE;
	bad[10].p.limit_ppt = 5;
	bad[11].p.limit_ppt = EPF_RATE_ONE + 1;
	tap_ok(!refusal(good), "good parameters are taken");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(refusal(bad[i].p) == bad[i].err, "refused: %s", bad[i].what);
}

/* ---------------------------------------------------- the wall clock ---- */

#define E 1000u            /* an epoch at least */
#define P (E + E / 64 + 1) /* the pitch */
#define CALM 10u           /* epochs that catch up an eighth of a pitch, by E / 64 each */
#define WALL_KEYS 4096u    /* remembered; a window has fewer */
#define WALL_STEPS 2000000u
#define WALL 1700000000000000000ULL

/**
 * struct wall - an aligned filter while the wall clock is set
 * @mem: filter
 * @now: on its clock
 * @ahead: of the wall clock
 * @at: when key i was inserted, at i modulo WALL_KEYS
 * @keys: how many
 * @oldest: the oldest one that must be present
 * @epoch: the current one
 * @start: when it began
 * @calm: epochs that have begun since the clock was set
 * @again: steps until it is set once more; 0: it is not
 */
struct wall {
	struct epf_mem *mem;
	__u64 now, ahead;
	__u64 at[WALL_KEYS], keys, oldest;
	__u64 epoch, start;
	__u32 calm, again;
};

/* Every epoch but the first lasts for E, and for less than two pitches; some time after the
 * clock was set they begin with the multiples.
 */
static const char *wall_epoch(struct wall *w)
{
	struct epf_mem_parts parts;
	__u64 lasted, before = w->start, epoch;

	epf_mem_parts(w->mem, w->now, &parts);
	epoch = parts.state->epoch;
	if (epoch == w->epoch)
		return NULL;
	w->start = parts.state->ring[epoch % EPF_LANES].start_ns;
	lasted = w->start - before;
	if (epoch != w->epoch + 1)
		return "an epoch is left out";
	if (w->epoch > EPF_EPOCH_FIRST && (lasted < E || lasted >= 2 * P + 8))
		return "an epoch is too short or too long";
	w->epoch = epoch;
	w->calm++;
	return w->calm > CALM && (w->start + w->ahead) % P ? "an epoch is not aligned" : NULL;
}

/* Insert a key; ask for the oldest of the last 7 E, on the clock that nobody sets. */
static const char *wall_keys(struct wall *w)
{
	epf_mem_insert(w->mem, epf_mem_digest(w->mem, &w->keys, 8), w->now);
	w->at[w->keys++ % WALL_KEYS] = w->now;
	while (w->now - w->at[w->oldest % WALL_KEYS] > 7 * E)
		w->oldest++;
	return epf_mem_test(w->mem, epf_mem_digest(w->mem, &w->oldest, 8), w->now) ?
		       NULL :
		       "a key is lost";
}

/* Forward or back, by up to some pitches, and often once more in the same epoch: in some parts
 * of the test, so that epochs become aligned in the others.
 */
static void set_wall(struct wall *w, __u32 i)
{
	bool again = w->again && !--w->again;

	if (!again && (i / 20000 % 2 || draw(3000)))
		return;
	w->ahead += draw(8 * P);
	w->ahead -= draw(8 * P);
	w->calm = 0;
	w->again = again ? 0 : draw(P / 2);
}

static void wall_is_set(void)
{
	static struct wall w = { .ahead = WALL, .epoch = EPF_EPOCH_FIRST };
	struct epf_params p = params(EPF_MODE_TIME, EPF_REFRESH, 0, 7 * E);
	const char *wrong = NULL;
	int err;
	__u32 i;

	w.mem = epf_mem_new(&p, NULL, 0, &err);
	if (!w.mem || epf_mem_align(w.mem))
		wrong = "no filter";
	for (i = 0; i < WALL_STEPS && !wrong; i++) {
		w.now += 1 + draw(4);
		set_wall(&w, i);
		epf_mem_ahead(w.mem, w.ahead);
		wrong = wall_keys(&w);
		wrong = wrong ? wrong : wall_epoch(&w);
	}
	epf_mem_free(w.mem);
	tap_ok(!wrong, "aligned epochs while the wall clock is set%s%s", wrong ? ": " : "",
	       wrong ? wrong : "");
}

int main(void)
{
	rng_state += tap_seed();
	static const __u64 windows[] = { 1, 7, 50, 1000 };
	__u32 i, first, hand;

	tap_plan(4 * 2 * 2 * 4 * 2 + 5 + 16);
	for (i = 0; i < 4 * 2 * 2; i++) {
		__u64 w = windows[i / 4], t = 1000 * w + i;

		first = i % 2;
		hand = i / 2 % 2;
		follow("count", params(EPF_MODE_COUNT, first, w, 0), hand);
		follow("time", params(EPF_MODE_TIME, first, 0, t), hand);
		follow("either", params(EPF_MODE_EITHER, first, w, t), hand);
		follow("both", params(EPF_MODE_BOTH, first, w, t), hand);
	}
	saturate();
	open_by_count();
	estimate_in_time();
	saturate_first_seen();
	wall_is_set();
	refuse();
	return tap_end();
}
