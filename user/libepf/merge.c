// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Merging snapshots: maps their epochs to those of the result and ORs the lines. */
#include "merge.h"
#include "snap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "epf/estimate.h"
#include "epf/keydesc.h"

#define CHUNK_LINES (1u << 14) /* 1 MiB */
/* The first number for which all eight epochs of the result have valid numbers. */
#define EPOCH_LEAST (EPF_EPOCH_FIRST + EPF_LIVE_EPOCHS)

/**
 * struct grid - intervals of the wall clock
 * @pitch: length of one
 * @near: tolerance: how far an epoch may extend into the next interval
 * @epoch_ns: minimum length of an epoch
 * @now: interval of the youngest epoch of all snapshots
 */
struct grid {
	__u64 pitch;
	__u64 near;
	__u64 epoch_ns;
	__u64 now;
};

static const struct epf_snap_header *header(const struct epf_merge *m, __u32 i)
{
	return &m->file[i].header;
}

/* The oldest epoch that snapshot @h retains. */
static __u64 merge_oldest(const struct epf_snap_header *h)
{
	return h->epoch_end < EPF_EPOCH_FIRST + EPF_LIVE_EPOCHS ? EPF_EPOCH_FIRST :
								  h->epoch_end - EPF_LIVE_EPOCHS;
}

/* When epoch @x of @h began, on the wall clock of its host. */
static __u64 began(const struct epf_snap_header *h, __u64 x)
{
	return h->realtime_ns - h->epochs[x % EPF_EPOCHS].age_ns;
}

/* No key of epoch @x was inserted later. */
static __u64 merge_ended(const struct epf_snap_header *h, __u64 x)
{
	return x == h->epoch_end ? h->realtime_ns : began(h, x + 1);
}

static bool times_sound(const struct epf_snap_header *h)
{
	__u64 before = h->realtime_ns;
	__u64 x;

	if (h->realtime_ns > EPF_NS_MAX || h->epoch_end > EPF_EPOCH_MAX)
		return false;
	for (x = merge_oldest(h); x <= h->epoch_end; x++) {
		__u64 age = h->epochs[x % EPF_EPOCHS].age_ns;

		if (age > before || h->epochs[x % EPF_EPOCHS].inserts > EPF_INSERTS_MAX)
			return false;
		before = age;
	}
	return true;
}

/* Return: can @h be merged at all? */
static enum epf_merge_fault check_one(const struct epf_snap_header *h)
{
	if (h->params.kind != EPF_KIND_LANES)
		return EPF_MERGE_KIND;
	if (h->params.mode != EPF_MODE_TIME)
		return EPF_MERGE_MODE;
	return times_sound(h) ? EPF_MERGE_OK : EPF_MERGE_TIMES;
}

/* Return: do the lines of @h mean the same as those of @a? */
static enum epf_merge_fault check_two(const struct epf_snap_header *h,
				      const struct epf_snap_header *a)
{
	const struct epf_params *p = &h->params, *q = &a->params;

	if (p->nr_lines != q->nr_lines || p->lines_per_key != q->lines_per_key ||
	    p->bits_per_key != q->bits_per_key)
		return EPF_MERGE_GEOMETRY;
	if (p->window_ns != q->window_ns)
		return EPF_MERGE_WINDOW;
	if (p->hash != q->hash)
		return EPF_MERGE_HASH;
	if (memcmp(h->key, a->key, sizeof(h->key)))
		return EPF_MERGE_KEY;
	return EPF_MERGE_OK;
}

/* Add snapshot @i to the description of the result. Snapshots whose keys are
 * made of different things cannot be merged. If one snapshot does not say what
 * its keys are, neither does the result.
 */
static enum epf_merge_fault join_desc(struct epf_merge *m, __u32 i)
{
	const struct epf_key_desc *d = &m->file[i].desc;
	__u32 j;

	if (d->kind == EPF_KEYS_UNKNOWN)
		m->desc = *d;
	if (m->desc.kind != EPF_KEYS_UNKNOWN)
		m->desc = epf_key_desc_join(&m->desc, d);
	if (d->kind == EPF_KEYS_UNKNOWN || d->kind == EPF_KEYS_MIXED)
		return EPF_MERGE_OK;
	for (j = 0; j < i; j++) {
		const struct epf_key_desc *other = &m->file[j].desc;

		if (other->kind == EPF_KEYS_UNKNOWN || other->kind == EPF_KEYS_MIXED ||
		    epf_key_desc_equal(d, other))
			continue;
		m->with = j;
		return EPF_MERGE_DESC;
	}
	return EPF_MERGE_OK;
}

static enum epf_merge_fault check_all(struct epf_merge *m)
{
	enum epf_merge_fault fault = EPF_MERGE_OK;
	__u32 i, j;

	m->desc = m->file[0].desc;
	for (i = 0; i < m->nr && !fault; i++) {
		m->which = i;
		m->with = 0;
		fault = check_one(header(m, i));
		if (!fault)
			fault = check_two(header(m, i), header(m, 0));
		if (!fault)
			fault = join_desc(m, i);
		for (j = 0; j < i && !fault; j++)
			if (header(m, j)->header_xxh3 == header(m, i)->header_xxh3) {
				m->with = j;
				fault = EPF_MERGE_TWICE;
			}
	}
	return fault;
}

static bool near_multiple(const struct grid *g, __u64 wall_ns)
{
	__u64 past = wall_ns % g->pitch;

	return past <= g->near || g->pitch - past <= g->near;
}

/* The interval that the keys of epoch @x go to. The current epoch has not ended
 * yet: if it began with an interval, its keys belong to that interval from the
 * start.
 */
static __u64 interval(const struct grid *g, const struct epf_snap_header *h, __u64 x)
{
	__u64 end = merge_ended(h, x);
	__u64 i = end > g->near ? (end - g->near) / g->pitch : 0;
	__u64 least = (began(h, x) + g->near) / g->pitch;

	return x == h->epoch_end && x > merge_oldest(h) && i < least &&
			       near_multiple(g, began(h, x)) ?
		       least :
		       i;
}

static void find_now(const struct epf_merge *m, struct grid *g)
{
	__u32 i;

	g->now = 0;
	for (i = 0; i < m->nr; i++) {
		__u64 last = interval(g, header(m, i), header(m, i)->epoch_end);

		if (last > g->now)
			g->now = last;
	}
}

/* The age of the interval of epoch @x of @h; ages of EPF_EPOCHS and up are dropped. */
static __u64 merge_age_of(const struct grid *g, const struct epf_snap_header *h, __u64 x)
{
	return g->now - interval(g, h, x);
}

static void map_source(struct epf_merge *m, const struct grid *g, __u32 i)
{
	const struct epf_snap_header *h = header(m, i);
	struct epf_merge_source *s = &m->source[i];
	__u64 x;

	memset(s, 0, sizeof(*s));
	for (x = merge_oldest(h); x <= h->epoch_end; x++) {
		__u64 age = merge_age_of(g, h, x);
		__u64 to = m->header.epoch_end - age;

		if (age >= EPF_EPOCHS)
			continue;
		s->from[x % EPF_EPOCHS] = x;
		s->to[x % EPF_EPOCHS] = to;
		s->epochs++;
		m->header.epochs[to % EPF_EPOCHS].inserts += h->epochs[x % EPF_EPOCHS].inserts;
	}
}

/* Return: does every ended epoch that is kept end where its interval ends? */
static bool merge_aligned(const struct grid *g, const struct epf_snap_header *h)
{
	__u64 x;

	for (x = merge_oldest(h); x < h->epoch_end; x++)
		if (merge_age_of(g, h, x) < EPF_EPOCHS && !near_multiple(g, merge_ended(h, x)))
			return false;
	return true;
}

/* The last end of the epochs of interval @age and of older intervals. */
static __u64 last_end(const struct epf_merge *m, const struct grid *g, __u64 age)
{
	__u64 x, last = 0;
	__u32 i;

	for (i = 0; i < m->nr; i++) {
		const struct epf_snap_header *h = header(m, i);

		for (x = merge_oldest(h); x <= h->epoch_end; x++)
			if (merge_age_of(g, h, x) >= age && merge_ended(h, x) > last)
				last = merge_ended(h, x);
	}
	return last;
}

static __u64 later(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

/* Set the time of the result and the beginning of its epochs. The seven epochs
 * after its own retain a key. So no epoch begins before the keys of the epochs
 * before it were inserted, and none is shorter than the minimum.
 */
static void set_times(struct epf_merge *m, const struct grid *g)
{
	struct epf_snap_header *h = &m->header;
	__u64 start[EPF_EPOCHS];
	__u64 age;
	__u32 i;

	for (i = 0; i < m->nr; i++)
		h->realtime_ns = later(h->realtime_ns, header(m, i)->realtime_ns);
	for (age = EPF_EPOCHS; age--;) {
		start[age] = later(g->now > age ? (g->now - age) * g->pitch : 0,
				   last_end(m, g, age + 1));
		if (age + 1 < EPF_EPOCHS)
			start[age] = later(start[age], start[age + 1] + g->epoch_ns);
	}
	h->realtime_ns = later(h->realtime_ns, start[0]);
	for (age = 0; age < EPF_EPOCHS; age++)
		h->epochs[(h->epoch_end - age) % EPF_EPOCHS].age_ns = h->realtime_ns - start[age];
}

static void set_header(struct epf_merge *m)
{
	struct epf_snap_header *h = &m->header;
	__u32 i;

	*h = *header(m, 0);
	epf_snap_describe(h, &m->desc);
	memset(h->epochs, 0, sizeof(h->epochs));
	h->realtime_ns = 0;
	h->inserts = 0;
	h->epoch_end = EPOCH_LEAST;
	for (i = 0; i < m->nr; i++) {
		h->epoch_end = later(h->epoch_end, header(m, i)->epoch_end);
		h->inserts += header(m, i)->inserts;
	}
	h->epoch_begin = h->epoch_end;
}

enum epf_merge_fault epf_merge_plan(struct epf_merge *m)
{
	enum epf_merge_fault fault = check_all(m);
	struct epf_window w = { 0 };
	struct grid g;
	__u32 i, e;

	if (fault)
		return fault;
	epf_window_init(&w, EPF_MODE_TIME, 0, 0, header(m, 0)->params.window_ns);
	g.epoch_ns = w.epoch_ns;
	g.pitch = epf_align_pitch(w.epoch_ns);
	g.near = epf_align_near(g.pitch);
	find_now(m, &g);
	set_header(m);
	for (i = 0; i < m->nr; i++) {
		m->which = i;
		if (!m->loose && !merge_aligned(&g, header(m, i)))
			return EPF_MERGE_UNALIGNED;
		map_source(m, &g, i);
	}
	for (e = 0; e < EPF_EPOCHS; e++)
		if (m->header.epochs[e].inserts > EPF_INSERTS_MAX)
			m->header.epochs[e].inserts = EPF_INSERTS_MAX;
	set_times(m, &g);
	return EPF_MERGE_OK;
}

/**
 * struct work - state of writing the merged lines
 * @m: the merge
 * @fd: output file; -1: another process writes it
 * @line: one chunk
 * @sum: checksum of what was written
 * @done: bytes read
 * @lanes: histogram of set positions, for each part and lane index
 */
struct work {
	struct epf_merge *m;
	int fd;
	struct epf_line *line;
	XXH3_state_t *sum;
	__u64 done;
	__u64 lanes[EPF_PARTS_MAX][EPF_LANES][EPF_LANE_BITS + 1];
};

/* The lines of a file follow its header, so they are only 8-byte aligned. */
static void add_lines(struct epf_line *line, const __u64 *word, __u64 n,
		      const struct epf_merge_source *s)
{
	__u64 i;
	__u32 l;

	for (l = 0; l < EPF_LANES; l++) {
		__u64 from = s->from[l], to = s->to[l];

		if (!to)
			continue;
		for (i = 0; i < n; i++)
			line[i].lane[to % EPF_LANES] |= epf_lane_retag(word[i * EPF_LANES + l],
								       from, to);
	}
}

static void count_lanes(struct work *w, __u64 first, __u64 n)
{
	const struct epf_params *p = &w->m->header.params;
	__u64 part_lines = p->nr_lines / p->lines_per_key;
	__u64 i;
	__u32 l;

	for (i = 0; i < n; i++) {
		__u64 j = (first + i) / part_lines;

		for (l = 0; l < EPF_LANES; l++)
			w->lanes[j][l][epf_popcount(w->line[i].lane[l] & ~EPF_TAG_MASK)]++;
	}
}

static __u64 lines_here(const struct epf_merge *m)
{
	__u64 nr = 0;
	__u32 i;

	for (i = 0; i < m->nr; i++)
		nr += m->file[i].lines ? m->header.params.nr_lines : 0;
	return nr;
}

/* Merge a chunk from the files of this process. */
static int merge_here(struct work *w, __u64 first, __u64 n)
{
	struct epf_merge *m = w->m;
	__u64 all = lines_here(m) * EPF_LINE_BYTES;
	size_t bytes = n * EPF_LINE_BYTES;
	size_t at = first * EPF_LINE_BYTES;
	__u32 i;

	memset(w->line, 0, bytes);
	for (i = 0; i < m->nr; i++) {
		const struct epf_snap_file *f = &m->file[i];

		if (!f->lines)
			continue;
		add_lines(w->line, (const __u64 *)((const char *)f->lines + at), n, &m->source[i]);
		epf_snap_let_go(f, f->header.header_bytes + at,
				f->header.header_bytes + at + bytes);
		w->done += bytes;
		if (m->progress && m->progress(m->ctx, w->done, all))
			return -ECANCELED;
	}
	return 0;
}

static int merge_chunk(struct work *w, __u64 first, __u64 n)
{
	const struct epf_merge *m = w->m;
	int ret = merge_here(w, first, n);

	if (m->combine)
		ret = m->combine(w->line->lane, n * EPF_LANES, ret);
	if (ret || w->fd < 0)
		return ret;
	count_lanes(w, first, n);
	ret = epf_snap_put(w->fd, w->sum, w->line, n * EPF_LINE_BYTES,
			   m->header.header_bytes + first * EPF_LINE_BYTES);
	return ret && m->combine && first + n < m->header.params.nr_lines ?
		       m->combine(NULL, 0, ret) :
		       ret;
}

/* The probability that a key never inserted is found, from the histograms. */
static double error_of(const struct work *w)
{
	const struct epf_params *p = &w->m->header.params;
	double part_lines = (double)p->nr_lines / p->lines_per_key;
	struct epf_geom g = { 0 };
	double none = 1;
	__u32 l, j, n;

	epf_geom_init(&g, p->nr_lines, p->lines_per_key, p->bits_per_key);
	for (l = 0; l < EPF_LANES; l++) {
		double all = 1;

		for (j = 0; j < g.parts; j++) {
			double sum = 0;

			for (n = 0; n <= EPF_LANE_BITS; n++)
				sum += (double)w->lanes[j][l][n] * (double)epf_cover_q56(n, g.bits);
			all *= sum / part_lines / (double)EPF_Q56_ONE;
		}
		none *= 1 - all;
	}
	return 1 - none;
}

static int merge_lines(struct work *w)
{
	__u64 lines = w->m->header.params.nr_lines;
	__u64 first, n;
	int ret = 0;

	for (first = 0; first < lines && !ret; first += n) {
		n = lines - first < CHUNK_LINES ? lines - first : CHUNK_LINES;
		ret = merge_chunk(w, first, n);
	}
	return ret;
}

static void work_end(struct work *w)
{
	if (!w)
		return;
	XXH3_freeState(w->sum);
	free(w->line);
	free(w);
}

static struct work *work_begin(struct epf_merge *m, int fd)
{
	struct work *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->m = m;
	w->fd = fd;
	w->line = malloc(CHUNK_LINES * sizeof(*w->line));
	w->sum = XXH3_createState();
	if (w->line && w->sum && !XXH3_64bits_reset(w->sum))
		return w;
	work_end(w);
	return NULL;
}

/**
 * struct filling - the file of a merge
 * @m: the merge
 * @begun: the file could be made, so that the other processes have been told of errors
 */
struct filling {
	struct epf_merge *m;
	bool begun;
};

static int merge_fill(void *ctx, int fd, struct epf_snap_header *h)
{
	struct filling *f = ctx;
	struct epf_merge *m = f->m;
	struct work *w = work_begin(m, fd);
	int ret = w ? epf_snap_reserve(fd, &m->header) : -ENOMEM;

	f->begun = true;
	if (ret && m->combine)
		ret = m->combine(NULL, 0, ret);
	if (!ret)
		ret = merge_lines(w);
	if (!ret) {
		m->header.lines_xxh3 = XXH3_64bits_digest(w->sum);
		m->fpr = error_of(w);
		*h = m->header;
		ret = epf_snap_finish(fd, h, &m->desc);
	}
	work_end(w);
	return ret;
}

int epf_merge_share(struct epf_merge *m)
{
	struct work *w = work_begin(m, -1);
	int ret = w ? merge_lines(w) : m->combine(NULL, 0, -ENOMEM);

	work_end(w);
	return ret;
}

int epf_merge_save(struct epf_merge *m, const char *path, bool *saved)
{
	struct filling f = { .m = m };
	struct epf_snap_header h;
	int ret = epf_snap_write(path, merge_fill, &f, &h);

	if (!f.begun && m->combine)
		m->combine(NULL, 0, ret);
	*saved = h.magic;
	return ret;
}
