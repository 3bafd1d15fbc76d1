// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * False-positive rates: expected, from the positions set in all lanes, and
 * measured, with keys that nobody can have inserted.
 *
 * The contribution of a lane depends only on its number n of positions set. So
 * one pass over the lines counts the lanes of each n. That is exact, needs no
 * division, and estimate.h can compute from all lines what it computes from samples.
 * Locked kinds have an estimator of their own, which takes samples.
 */
#include "engine.h"
#include "opts.h"
#include "epf/estimate.h"
#include "work.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define PIECE_LINES 4096u
#define FRESH_KEYS (1u << 20)
#define FAR_KEYS (1ULL << 30)
#define SUM_LINES (1u << 19) /* the chances of so many fit into a sum */

/**
 * struct tally - numbers of lanes by part, index in the line, and positions set
 */
struct tally {
	__u64 nr[EPF_PARTS_MAX][EPF_LANES][EPF_LANE_BITS + 1];
};

/* Stale lanes are counted as empty ones. */
EPF_FN void count_lines(__u64 nr[EPF_LANES][EPF_LANE_BITS + 1], const struct epf_line *line,
			__u64 n, const __u64 tag[EPF_LANES])
{
	__u32 l;

	for (; n--; line++) {
		EPF_UNROLL
		for (l = 0; l < EPF_LANES; l++) {
			__u64 v = epf_load(&line->lane[l]);
			__u32 set = epf_popcount(v & ~EPF_TAG_MASK);

			nr[l][(v & EPF_TAG_MASK) == tag[l] ? set : 0]++;
		}
	}
}

typedef void (*count_fn)(__u64 nr[EPF_LANES][EPF_LANE_BITS + 1], const struct epf_line *line,
			 __u64 n, const __u64 tag[EPF_LANES]);

static void count_anywhere(__u64 nr[EPF_LANES][EPF_LANE_BITS + 1], const struct epf_line *line,
			   __u64 n, const __u64 tag[EPF_LANES])
{
	count_lines(nr, line, n, tag);
}

/* Zen 4, one thread, from memory: 9 GB/s instead of 3. One AVX-512 instruction for
 * all lanes of a line gains little more, because the counting takes the time.
 */
#if defined(__x86_64__)
__attribute__((target("popcnt"))) static void count_popcnt(__u64 nr[EPF_LANES][EPF_LANE_BITS + 1],
							   const struct epf_line *line, __u64 n,
							   const __u64 tag[EPF_LANES])
{
	count_lines(nr, line, n, tag);
}
#endif

static count_fn estimate_counter(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("popcnt"))
		return count_popcnt;
#endif
	return count_anywhere;
}

/**
 * struct pass - one pass over the lines
 * @tag: expected in each lane
 */
struct pass {
	const struct epf_view *view;
	count_fn count;
	__u64 tag[EPF_LANES];
};

struct worker {
	const struct pass *pass;
	struct tally tally;
};

/* A piece may span two parts. */
static void count_piece(void *self, __u64 first, __u64 n)
{
	struct worker *w = self;
	const struct epf_view *v = w->pass->view;
	__u64 end = first + n, at, next;

	for (at = first; at < end; at = next) {
		__u64 part = at / v->geom.part_lines;

		next = (part + 1) * v->geom.part_lines;
		next = next < end ? next : end;
		w->pass->count(w->tally.nr[part], v->lines + at, next - at, w->pass->tag);
	}
}

static void estimate_add_up(struct tally *sum, const struct tally *t)
{
	__u64 *to = &sum->nr[0][0][0];
	const __u64 *from = &t->nr[0][0][0];
	size_t i;

	for (i = 0; i < sizeof(*t) / sizeof(*to); i++)
		to[i] += from[i];
}

static struct pass pass_of(const struct epf_view *v)
{
	struct pass pass = { .view = v, .count = estimate_counter() };
	__u32 i;

	for (i = 0; i < EPF_LANES; i++)
		pass.tag[i] = epf_lane_tag(v->epoch, i);
	return pass;
}

/* Lines that are on a GPU are counted there. */
static int tally(const struct epf_view *v, unsigned int threads, struct tally *sum)
{
	struct epf_par par = {
		.work = count_piece,
		.step = PIECE_LINES,
		.n = epf_geom_lines(&v->geom),
	};
	struct pass pass = pass_of(v);
	unsigned int nr = epf_par_threads(threads, par.n, par.step), i;
	struct worker *w;

	memset(sum, 0, sizeof(*sum));
	if (!epf_cuda_tally(v, &sum->nr[0][0][0]))
		return 0;
	w = calloc(nr, sizeof(*w));
	if (!w)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		w[i].pass = &pass;
	epf_par_run(&par, w, sizeof(*w), nr);
	for (i = 0; i < nr; i++)
		estimate_add_up(sum, &w[i].tally);
	free(w);
	return 0;
}

/* The sum of the hit probabilities of one lane over @lines lines, scaled to
 * SUM_LINES.
 */
static __u64 sum_chances(const __u64 nr[EPF_LANE_BITS + 1], const __u64 *q56, __u64 lines)
{
	unsigned __int128 sum = 0;
	__u32 n;

	for (n = 0; n <= EPF_LANE_BITS; n++)
		sum += (unsigned __int128)nr[n] * q56[n];
	return (__u64)((sum >> EPF_FILL_SHIFT) * SUM_LINES / lines);
}

static __u64 estimate_sum_bits(const __u64 nr[EPF_LANE_BITS + 1])
{
	__u64 sum = 0;
	__u32 n;

	for (n = 0; n <= EPF_LANE_BITS; n++)
		sum += n * nr[n];
	return sum;
}

/* Fill in what estimate.h takes from samples. */
static void fill_of(struct epf_fill *f, const struct tally *t, const struct epf_geom *g)
{
	struct epf_cover cover;
	__u32 j, l;

	memset(f, 0, sizeof(*f));
	f->lines = SUM_LINES;
	epf_cover_init(&cover, g);
	for (j = 0; j < g->parts; j++)
		for (l = 0; l < EPF_LANES; l++) {
			f->chance[j][l] = sum_chances(t->nr[j][l], cover.q56, g->part_lines);
			f->bits[l] += estimate_sum_bits(t->nr[j][l]);
		}
}

int epf_view_estimate(const struct epf_view *v, unsigned int threads, struct epf_estimate *e)
{
	__u64 positions = epf_geom_lines(&v->geom) * EPF_LANE_BITS;
	struct epf_fill fill;
	struct tally sum;
	__u32 age;
	int ret;

	memset(e, 0, sizeof(*e));
	if (threads > EPF_AUDIT_THREADS_MAX)
		return -EINVAL;
	if (v->asked)
		return -EOPNOTSUPP;
	ret = tally(v, threads, &sum);
	if (ret)
		return ret;
	fill_of(&fill, &sum, &v->geom);
	e->fpr = ldexp((double)epf_fill_q56(&fill, v->geom.parts), -56);
	for (age = 0; age < EPF_LANES; age++) {
		__u32 l = (v->epoch - age) & 7;

		e->fpr_of[age] = ldexp((double)epf_fill_lane_q56(&fill, v->geom.parts, l), -56);
		e->bits_of[age] = fill.bits[l];
		e->fill_of[age] = (double)fill.bits[l] / (double)positions;
	}
	return 0;
}

/* ------------------------------------------------ any kind, in steps ---- */

/**
 * struct rating - an estimate under way
 * @work: @done of @all bytes are counted
 * @v: what is counted
 * @fpr_ppt: result
 */
struct rating {
	struct epf_work work;
	const struct epf_view *v;
	__u64 *fpr_ppt;
	struct pass pass;
	struct worker worker;
};

static int rate_step(struct epf_work *work)
{
	struct rating *r = (struct rating *)work;
	__u64 first = work->done / EPF_LINE_BYTES, n = work->all / EPF_LINE_BYTES - first;
	struct epf_fill fill;

	if (r->v->asked) {
		*r->fpr_ppt = epf_q56_to_ppt(epf_asked_rate_q56(r->v->asked, &r->v->hash));
		return 0;
	}
	n = n < EPF_STEP_BYTES / EPF_LINE_BYTES ? n : EPF_STEP_BYTES / EPF_LINE_BYTES;
	count_piece(&r->worker, first, n);
	work->done += n * EPF_LINE_BYTES;
	if (work->done < work->all)
		return 1;
	fill_of(&fill, &r->worker.tally, &r->v->geom);
	*r->fpr_ppt = epf_q56_to_ppt(epf_fill_q56(&fill, r->v->geom.parts));
	return 0;
}

static void rate_end(struct epf_work *work)
{
	free(work);
}

int epf_view_rate_begin(const struct epf_view *v, __u64 *fpr_ppt, struct epf_work **work)
{
	struct rating *r = calloc(1, sizeof(*r));

	*work = r ? &r->work : NULL;
	if (!r)
		return -ENOMEM;
	r->work = (struct epf_work){ .step = rate_step, .end = rate_end };
	r->v = v;
	r->fpr_ppt = fpr_ppt;
	if (!v->asked) {
		r->work.all = epf_geom_lines(&v->geom) * EPF_LINE_BYTES;
		r->pass = pass_of(v);
		r->worker.pass = &r->pass;
	}
	return 0;
}

int epf_view_rate(const struct epf_view *v, __u64 *fpr_ppt)
{
	struct epf_work *work;
	int ret = epf_view_rate_begin(v, fpr_ppt, &work);

	return ret ? ret : epf_work_run(work, NULL, NULL);
}

/* ------------------------------------------------- keys never inserted ---- */

/* The GPU makes the keys itself. */
static int ask_far(const struct epf_view *v, const struct epf_probe_opts *o, struct epf_met *m)
{
	__u64 done, n, found;
	int ret = 0;

	for (done = 0; done < m->keys && !ret; done += n) {
		n = m->keys - done < FAR_KEYS ? m->keys - done : FAR_KEYS;
		ret = epf_cuda_chance(v, m->seed + done, n, &found);
		if (ret)
			return ret;
		m->found += found;
		if (o->progress && o->progress(o->ctx, done + n, m->keys))
			ret = -ECANCELED;
	}
	return ret;
}

static int estimate_ask(const struct epf_view *v, const struct epf_probe_opts *o, __u64 *digest,
			struct epf_answer *a, struct epf_met *m)
{
	__u64 done, i;
	int ret = 0;

	for (done = 0; done < m->keys && !ret; done += FRESH_KEYS) {
		__u64 left = m->keys - done;
		struct epf_keys keys = { .data = digest, .n = left };

		if (left > FRESH_KEYS)
			keys.n = FRESH_KEYS;
		for (i = 0; i < keys.n; i++)
			digest[i] = epf_word(m->seed + done + i, 1);
		ret = m->engine->query(v, &keys, a);
		m->found += a->present;
		if (!ret && o->progress && o->progress(o->ctx, done + keys.n, m->keys))
			ret = -ECANCELED;
	}
	return ret;
}

/* Look up in memory of the host. */
static int ask_near(const struct epf_view *v, const struct epf_probe_opts *o, struct epf_met *m)
{
	__u64 room = m->keys < FRESH_KEYS ? m->keys : FRESH_KEYS;
	__u64 *digest = malloc(room * sizeof(*digest));
	struct epf_answer a = { .bitmap = malloc(room / 8 + 1), .threads = o->threads };
	int ret = digest && a.bitmap ? estimate_ask(v, o, digest, &a, m) : -ENOMEM;

	free(a.bitmap);
	free(digest);
	return ret;
}

int epf_view_probe(const struct epf_view *v, const struct epf_engine *engine,
		   const struct epf_probe_opts *opts, struct epf_met *m)
{
	struct epf_probe_opts o;
	int ret = epf_opts_copy(&o, sizeof(o), 40, opts);

	memset(m, 0, sizeof(*m));
	if (ret)
		return ret;
	if (!o.keys)
		return -EINVAL;
	m->keys = o.keys;
	m->engine = engine;
	if (o.seed)
		m->seed = *o.seed;
	else if (getrandom(&m->seed, sizeof(m->seed), 0) != sizeof(m->seed))
		return -errno;
	if (epf_engine_far(engine))
		ret = ask_far(v, &o, m);
	if (ret && ret != -ECANCELED) {
		m->found = 0;
		m->engine = epf_engine_near();
	}
	if (!epf_engine_far(m->engine))
		ret = ask_near(v, &o, m);
	if (!ret) {
		m->rate = (double)m->found / (double)m->keys;
		epf_interval((double)m->found, (double)m->keys, &m->low, &m->high);
	}
	return ret;
}
