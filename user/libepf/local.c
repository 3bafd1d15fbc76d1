// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Filters of the locked kinds in this process: the core over memory of the heap, for one
 * thread.
 *
 * The module's worker (kmod/kinds/locked.c) does its work behind the packets, and keeps the
 * lock for short times. Here the call that finds work due does it inline, and whole: it
 * ends the epoch, sweeps, allocates and frees, and estimates the error. So an epoch ends
 * exactly when it is due, or with the next call after that.
 */
#define EPF_PRIVATE /* one thread: nothing of a filter is shared */

#include "local.h"
#include "due.h"
#include "snap_image.h"
#include "snap_state.h"

#include <epf/estimate.h>
#include <epf/image.h>
#include <epf/kinds.h>
#include <epf/params.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define PAST EPF_SNAP_PAST
#define SCAN_LINES (1u << 20) /* of one call; the scan goes on until nothing is due */

/**
 * struct epf_local - a filter
 * @core: filter and row
 * @state: epoch, and its insertions; of a resizable kind the latter stay 0
 * @window: when an epoch of a fixed-size kind ends
 * @hash: keyed hash
 * @params: as the creator gave them
 * @stats: counters; "delayed" stays 0
 * @base_inserts: insertions before the snapshot that it was loaded from
 * @created_ns: on the caller's clock
 * @last_ns: time of the latest call
 * @skew_ns: how far the clock of a resizable kind is ahead of the caller's, modulo 2^64;
 *	1 and up in a new filter, since its times are not 0
 * @skewed_ns: when @skew_ns last changed, on the caller's clock
 * @tend_ns: when a resizable kind is to be looked after again
 * @turns: epochs of a resizable kind that have been seen to end
 * @begun: keys it had taken at the last of these ends
 * @bytes: memory of a resizable kind, its reserve too
 * @most: what that may be
 * @waits: failed allocations
 * @starved: there was no memory; insertions do not ask again before @tend_ns
 * @step: insertions after which the error is estimated again
 * @estimate_at: that, as a number of insertions since creation
 * @drawn: samples taken
 * @saturated: the error was above the limit at the last estimate, or the count reached it
 * @past: history; epoch e is at e mod PAST
 */
struct epf_local {
	struct epf_locked core;
	struct epf_state state;
	struct epf_window window;
	struct epf_hash hash;
	struct epf_params params;
	struct epf_stats stats;
	__u64 base_inserts;
	__u64 created_ns;
	__u64 last_ns;
	__u64 skew_ns;
	__u64 skewed_ns;
	__u64 tend_ns;
	__u64 turns;
	__u64 begun;
	__u64 bytes;
	__u64 most;
	__u32 waits;
	bool starved;
	__u64 step;
	__u64 estimate_at;
	__u64 drawn;
	bool saturated;
	struct epf_past past[PAST];
};

static const struct epf_resizable_ops *resizable(const struct epf_local *l)
{
	return l->core.ops->resizable;
}

/* The time that operations of the core get. */
static __u64 clock_of(const struct epf_local *l)
{
	return l->last_ns + l->skew_ns;
}

/* ------------------------------------------------------------ memory ---- */

static __u64 line_bytes(__u64 words)
{
	return (words * sizeof(__u64) + EPF_LINE_BYTES - 1) & ~(__u64)(EPF_LINE_BYTES - 1);
}

static __u64 *words_new(__u64 words)
{
	size_t bytes = line_bytes(words);
	void *word;

	if (words > SIZE_MAX / sizeof(__u64) - EPF_LINE_BYTES)
		return NULL;
	word = aligned_alloc(EPF_LINE_BYTES, bytes);
	return word ? memset(word, 0, bytes) : NULL;
}

/* As in the module: what the shape allows, and never more than half of the RAM. */
static __u64 local_most(const struct epf_locked *f)
{
	__u64 ram = (__u64)sysconf(_SC_PHYS_PAGES) * (__u64)sysconf(_SC_PAGESIZE) / 2;
	__u64 slices, words, most;

	slices = f->ops->resizable->most(f, &words);
	most = slices * line_bytes(words);
	return most < ram ? most : ram;
}

/* More memory of a resizable kind. Return: NULL: above the limit, or there is none. */
static __u64 *local_grow(struct epf_local *l, __u64 words)
{
	__u64 bytes = line_bytes(words), *word;

	if (bytes > l->most || l->bytes > l->most - bytes)
		return NULL;
	word = words_new(words);
	l->bytes += word ? bytes : 0;
	return word;
}

static void local_shrink(struct epf_local *l, __u64 *word, __u64 words)
{
	l->bytes -= word ? line_bytes(words) : 0;
	free(word);
}

/* Give a resizable kind the memory that it needs next. Return: false: it needs none, or
 * there is none.
 */
static bool local_supply(struct epf_local *l)
{
	__u64 words = resizable(l)->plan(&l->core, clock_of(l));
	__u64 *word = words ? local_grow(l, words) : NULL;

	l->waits += words && !word;
	if (!word)
		return false;
	if (resizable(l)->add(&l->core, clock_of(l), word, words))
		return true;
	local_shrink(l, word, words);
	return false;
}

static int first_memory(struct epf_local *l)
{
	if (!resizable(l)) {
		l->core.word = words_new(l->core.words);
		return l->core.word ? 0 : -ENOMEM;
	}
	while (!resizable(l)->ready(&l->core))
		if (!local_supply(l))
			return -ENOMEM;
	l->turns = resizable(l)->turns(&l->core, 0);
	return 0;
}

static void free_memory(struct epf_local *l)
{
	__u64 *word, words;

	if (!resizable(l))
		free(l->core.word);
	else
		while ((word = resizable(l)->take(&l->core, &words)))
			free(word);
}

/* ---------------------------------------------------------- creation ---- */

static int init_core(struct epf_local *l, const struct epf_shape *shape)
{
	const struct epf_params *p = &l->params;
	const struct epf_kind_ops *ops = epf_kind_row(p->kind);

	if (!ops)
		return -EOPNOTSUPP;
	if (epf_params_check_locked(p) || epf_locked_begin(&l->core, ops, p, shape, clock_of(l)))
		return -EINVAL;
	if (ops->resizable)
		l->most = local_most(&l->core);
	return epf_window_init_epochs(&l->window, p->mode, p->refresh, p->window_inserts,
				      p->window_ns, l->core.epochs);
}

/* Count if there is a limit, as the module does. */
static int local_init_limit(struct epf_local *l)
{
	struct epf_locked *f = &l->core;
	void *work = NULL;
	int err;

	if (l->params.limit_ppt >= EPF_RATE_ONE)
		return 0;
	f->room = calloc(1, sizeof(*f->room));
	if (f->ops->count_bytes)
		work = malloc(f->ops->count_bytes);
	if (!f->room || (f->ops->count_bytes && !work)) {
		free(work);
		return -ENOMEM;
	}
	f->room->limit_q56 = epf_ppt_to_q56(l->params.limit_ppt);
	err = f->ops->count(f, work);
	free(work);
	return err;
}

static int local_init_key(struct epf_local *l, const __u64 key[2])
{
	__u64 random[2];

	if (!key && getrandom(random, sizeof(random), 0) != sizeof(random))
		return -errno;
	key = key ? key : random;
	epf_hash_init(&l->hash, key[0], key[1], l->params.hash);
	explicit_bzero(random, sizeof(random));
	return 0;
}

/* Insertions from one estimate to the next: more than a step of the fill where the estimate
 * would be most of the work.
 */
static __u64 fill_step(const struct epf_local *l)
{
	__u64 step = epf_locked_step(l->core.words, l->core.epochs);

	return step > EPF_ESTIMATOR_SAMPLES ? step : EPF_ESTIMATOR_SAMPLES;
}

/* All but the memory. */
static int init(struct epf_local *l, const struct epf_shape *shape, const __u64 key[2])
{
	int err = init_core(l, shape);

	if (!err)
		err = local_init_limit(l);
	if (!err)
		err = local_init_key(l, key);
	l->step = l->estimate_at = fill_step(l);
	return err;
}

/* Return: NULL: out of memory. */
static struct epf_local *local_begin(const struct epf_params *params, __u64 now_ns)
{
	struct epf_local *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->params = *params;
	l->created_ns = l->last_ns = l->skewed_ns = l->tend_ns = now_ns;
	l->skew_ns = 1;
	return l;
}

struct epf_local *epf_local_new(const struct epf_params *params, const struct epf_shape *shape,
				const __u64 key[2], __u64 now_ns, int *err)
{
	struct epf_local *l = local_begin(params, now_ns);

	*err = -ENOMEM;
	if (!l)
		return NULL;
	epf_state_init(&l->state, now_ns);
	l->past[EPF_EPOCH_FIRST] = l->state.ring[EPF_EPOCH_FIRST % EPF_LANES];
	*err = now_ns > EPF_LOCAL_NS_MAX ? -EINVAL : init(l, shape, key);
	if (!*err)
		*err = first_memory(l);
	if (!*err)
		return l;
	epf_local_free(l);
	return NULL;
}

void epf_local_free(struct epf_local *l)
{
	if (!l)
		return;
	if (l->core.ops)
		free_memory(l);
	free(l->core.room);
	explicit_bzero(&l->hash, sizeof(l->hash));
	free(l);
}

__u64 epf_local_digest(const struct epf_local *l, const void *key, __u32 len)
{
	return epf_digest(&l->hash, key, len);
}

/* ------------------------------------------------------------- error ---- */

static void local_saturate(struct epf_local *l, bool saturated)
{
	l->stats.saturations += saturated && !l->saturated;
	l->saturated = saturated;
}

/* May the error be at the limit, by count? */
static bool full(struct epf_local *l)
{
	struct epf_room *r = l->core.room;

	if (r && r->stale)
		l->core.ops->set_room(&l->core);
	return r && epf_room_full(r);
}

static void take_samples(struct epf_local *l)
{
	__u32 i;

	memset(&l->core.estimator, 0, sizeof(l->core.estimator));
	for (i = 0; i < EPF_ESTIMATOR_SAMPLES; i++, l->drawn++)
		l->core.ops->sample(&l->core, epf_digest(&l->hash, &l->drawn, sizeof(l->drawn)),
				    clock_of(l));
}

/* Estimate the error if that is due. The count alone opens the filter in time; estimates
 * close it again.
 */
static void local_estimate(struct epf_local *l)
{
	if (!l->core.room || (!l->saturated && l->stats.inserts < l->estimate_at))
		return;
	l->estimate_at = l->stats.inserts + l->step;
	take_samples(l);
	local_saturate(l, epf_q56_to_ppt(l->core.ops->rate(&l->core, clock_of(l))) >
					  l->params.limit_ppt ||
				  full(l));
}

/* ------------------------------------------------------------ epochs ---- */

/* The core has ended the current epoch. */
static void note_end(struct epf_local *l, __u64 at_ns)
{
	__u64 e = l->state.epoch;
	__u64 begun;

	epf_state_rotate(&l->state, at_ns);
	if (resizable(l)) {
		begun = resizable(l)->begun(&l->core);
		l->state.ring[e % EPF_LANES].inserts = begun - l->begun;
		l->begun = begun;
	}
	l->past[e % PAST] = l->state.ring[e % EPF_LANES];
	l->past[(e + 1) % PAST] = l->state.ring[(e + 1) % EPF_LANES];
	l->stats.rotations++;
}

static void local_end_epoch(struct epf_local *l, __u64 at_ns)
{
	epf_locked_rotate(&l->core);
	note_end(l, at_ns);
	local_estimate(l);
}

/* Note the epochs that a resizable kind has ended by itself. */
static void see(struct epf_local *l)
{
	__u64 turns = resizable(l)->turns(&l->core, l->turns);

	for (; l->turns != turns; l->turns++)
		note_end(l, l->last_ns);
	l->core.slices = resizable(l)->slices(&l->core);
}

/* What the worker does for a resizable kind. */
static void local_tend(struct epf_local *l)
{
	__u64 *word, words;

	while ((word = resizable(l)->expired(&l->core, clock_of(l), &words)))
		local_shrink(l, word, words);
	local_supply(l);
	l->starved = false;
	while (resizable(l)->scan && resizable(l)->scan(&l->core, SCAN_LINES))
		;
	see(l);
	local_estimate(l);
	l->tend_ns = l->last_ns + l->window.epoch_ns / l->core.ops->ticks + 1;
}

static __u64 local_epoch_start(const struct epf_local *l)
{
	return l->state.ring[l->state.epoch % EPF_LANES].start_ns;
}

static __u64 local_epoch_inserts(const struct epf_local *l)
{
	return resizable(l) ? resizable(l)->taken(&l->core) - l->begun :
			      epf_count_of(l->state.count, l->state.epoch);
}

static struct epf_due local_due_of(const struct epf_local *l, __u64 last_ns)
{
	return epf_ends_due(&l->window, &l->state, local_epoch_inserts(l), last_ns, l->last_ns, 0,
			    l->core.slices);
}

/* End the epochs of a fixed-size kind that are over. @last_ns: see epf_ends_due(). */
static void end_due(struct epf_local *l, __u64 last_ns)
{
	struct epf_due due = local_due_of(l, last_ns);

	for (; due.nr; due = local_due_of(l, last_ns))
		for (; due.nr; due.nr--, due.at_ns += due.every_ns)
			local_end_epoch(l, due.at_ns);
}

/* Do what is due at the beginning of a call. */
static void local_catch_up(struct epf_local *l, __u64 now_ns)
{
	__u64 last_ns = l->last_ns;

	if (now_ns > l->last_ns)
		l->last_ns = now_ns < EPF_LOCAL_NS_MAX ? now_ns : EPF_LOCAL_NS_MAX;
	if (!resizable(l))
		end_due(l, last_ns);
	else if (l->last_ns >= l->tend_ns)
		local_tend(l);
}

void epf_local_rotate(struct epf_local *l, __u64 now_ns)
{
	local_catch_up(l, now_ns);
	if (!resizable(l)) {
		local_end_epoch(l, l->last_ns);
		return;
	}
	if ((__s64)l->skew_ns > (__s64)(EPF_LOCAL_NS_MAX - l->window.epoch_ns))
		return; /* the clock cannot go further */
	l->skew_ns += l->window.epoch_ns;
	l->skewed_ns = l->last_ns;
	local_tend(l);
}

/* -------------------------------------------------------- operations ---- */

static int local_look(const struct epf_local *l, __u64 digest)
{
	return l->core.ops->test(&l->core, digest, clock_of(l));
}

/* Count the verdict. Return: what the caller gets: under saturation -ENOSPC in place of
 * a hit.
 */
static int local_answer(struct epf_local *l, int verdict)
{
	bool unknown = verdict && l->saturated;

	l->stats.failed_open += unknown;
	if (verdict && !unknown)
		l->stats.hits++;
	else
		l->stats.misses++;
	return unknown ? -ENOSPC : verdict;
}

/* Insert and count a key; end the epoch if that is due. */
static void local_put(struct epf_local *l, __u64 digest)
{
	__u64 inserts;

	l->core.ops->insert(&l->core, digest, clock_of(l));
	l->stats.inserts++;
	if (full(l))
		local_saturate(l, true);
	if (resizable(l)) {
		if (!l->starved && resizable(l)->needs_memory(&l->core))
			l->starved = !local_supply(l);
		see(l);
		return;
	}
	inserts = epf_count_add(&l->state, l->state.epoch, 1);
	if (epf_window_due(&l->window, inserts, l->last_ns - local_epoch_start(l)))
		local_end_epoch(l, l->last_ns);
	else if (l->stats.inserts >= l->estimate_at)
		local_estimate(l);
}

int epf_local_test(struct epf_local *l, __u64 digest, __u64 now_ns)
{
	local_catch_up(l, now_ns);
	return local_answer(l, local_look(l, digest));
}

void epf_local_insert(struct epf_local *l, __u64 digest, __u64 now_ns)
{
	local_catch_up(l, now_ns);
	local_put(l, digest);
}

/* A first-seen filter that is saturated inserts what it finds: the caller treats such a
 * key as new.
 */
int epf_local_test_and_insert(struct epf_local *l, __u64 digest, __u64 now_ns)
{
	int verdict;
	bool skip;

	local_catch_up(l, now_ns);
	verdict = local_look(l, digest);
	skip = verdict && l->window.first_seen && !l->saturated;
	verdict = local_answer(l, verdict);
	if (!skip)
		local_put(l, digest);
	return verdict;
}

/* ------------------------------------------------------------ status ---- */

/* Insertions and time since the oldest epoch that counts began. */
static void covered(const struct epf_local *l, __u64 *inserts, __u64 *ns)
{
	__u64 e = l->state.epoch, back = e - EPF_EPOCH_FIRST, steady, x;

	if (back > l->core.epochs)
		back = l->core.epochs;
	x = e - back;
	*ns = l->last_ns - l->past[x % PAST].start_ns;
	*inserts = local_epoch_inserts(l);
	for (; x < e; x++)
		*inserts += l->past[x % PAST].inserts;
	if (!resizable(l))
		return;
	steady = l->last_ns - l->skewed_ns; /* starts are seen late; the promise is T */
	if (steady > l->params.window_ns)
		steady = l->params.window_ns;
	if (*ns < steady)
		*ns = steady;
}

static void local_epoch_info(const struct epf_local *l, __u32 age, struct epf_epoch_info *info)
{
	__u64 e = l->state.epoch - age, fill;

	if (e < EPF_EPOCH_FIRST || age > l->core.epochs)
		return;
	info->epoch = e;
	info->inserts = age ? l->past[e % PAST].inserts : local_epoch_inserts(l);
	info->age_ns = l->last_ns - l->past[e % PAST].start_ns;
	info->fpr_ppt = epf_q56_to_ppt(l->core.ops->layer(&l->core, age, clock_of(l), &fill));
	info->fill_ppt = epf_q56_to_ppt(fill);
}

static __u64 memory_bytes(const struct epf_local *l)
{
	__u64 all = sizeof(*l) + (l->core.room ? sizeof(*l->core.room) : 0);
	__u64 *word, words;
	__u32 i;

	for (i = 0; (words = l->core.ops->piece(&l->core, i, &word)); i++)
		all += words * sizeof(__u64);
	return all;
}

void epf_local_info(struct epf_local *l, __u64 now_ns, struct epf_info *info)
{
	const struct epf_locked *f = &l->core;
	__u32 age;

	local_catch_up(l, now_ns);
	take_samples(l);
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->flags = l->saturated ? EPF_INFO_SATURATED : 0;
	info->params = l->params;
	info->epoch = l->state.epoch;
	info->memory_bytes = memory_bytes(l);
	if (resizable(l) && resizable(l)->covered)
		resizable(l)->covered(f, clock_of(l), l->last_ns - l->skewed_ns,
				      &info->covered_inserts, &info->covered_ns);
	else
		covered(l, &info->covered_inserts, &info->covered_ns);
	info->kept_ns = info->covered_ns;
	info->fpr_ppt = epf_q56_to_ppt(f->ops->rate(f, clock_of(l)));
	info->age_ns = l->last_ns - l->created_ns;
	info->stats = l->stats;
	info->stats.inserts += l->base_inserts;
	info->shape = f->shape;
	info->needs = f->ops->needs;
	info->window_epochs = f->epochs;
	info->slices = f->slices;
	info->waits = l->waits;
	for (age = 0; age < EPF_EPOCHS; age++)
		local_epoch_info(l, age, &info->epochs[age]);
}

/* --------------------------------------------------------- snapshots ---- */

/* As the module does, see kmod/kinds/image.c. */
static void local_save_state(struct epf_local *l, struct epf_snap_locked *s)
{
	__u64 e = l->state.epoch, *word, words = 0;
	__u32 age;

	memset(s, 0, sizeof(*s));
	s->size = sizeof(*s);
	if (resizable(l)) {
		word = resizable(l)->spare(&l->core, &words);
		local_shrink(l, word, words); /* a snapshot has no reserve */
	}
	l->core.ops->save(&l->core, s, clock_of(l));
	if (resizable(l)) {
		see(l);
		s->steady_ns = l->last_ns - l->skewed_ns;
		e = l->state.epoch;
	}
	s->shape = l->core.shape;
	s->epoch = e;
	for (age = 0; age <= l->core.epochs && age <= e - EPF_EPOCH_FIRST && age < PAST; age++) {
		s->past[age].inserts = l->past[(e - age) % PAST].inserts;
		s->past[age].age_ns = l->last_ns - l->past[(e - age) % PAST].start_ns;
	}
	s->past[0].inserts = local_epoch_inserts(l);
}

static const void *core_piece(void *ctx, __u32 i, __u64 *bytes)
{
	struct epf_local *l = ctx;
	__u64 *word = NULL;

	*bytes = l->core.ops->piece(&l->core, i, &word) * sizeof(__u64);
	return word;
}

int epf_local_save(struct epf_local *l, const struct epf_save_opts *opts, const char *path,
		   struct epf_snap_header *header)
{
	struct epf_snap_image image = { .opts = opts, .piece = core_piece, .ctx = l };
	struct epf_snap_locked *s = malloc(sizeof(*s));
	int ret;

	if (!s)
		return -ENOMEM;
	local_catch_up(l, opts->now_ns);
	local_save_state(l, s);
	image.state = s;
	epf_snap_image_header(&image, &l->params, l->hash.key, l->base_inserts + l->stats.inserts);
	epf_snap_image_epochs(&image, &l->state, l->last_ns);
	image.header.epochs[l->state.epoch % EPF_EPOCHS].inserts = local_epoch_inserts(l);
	ret = epf_snap_image_save(&image, path, header);
	explicit_bzero(&image, sizeof(image)); /* it holds the hash key */
	free(s);
	return ret;
}

/* ----------------------------------------------------------- loading ---- */

/* Copy the state, which others can change in the file, and check the copy. */
static int local_copy_state(const struct epf_snap_file *file, struct epf_snap_locked *s)
{
	const struct epf_snap_header *h = &file->header;
	size_t room = file->map_bytes -
		      (size_t)((const char *)file->lines - (const char *)file->map);

	memcpy(s, file->locked, sizeof(*s));
	return s->words == (room - sizeof(*s)) / sizeof(__u64) && epf_image_sound(s) &&
			       s->epoch >= h->epoch_begin && s->epoch <= h->epoch_end ?
		       0 :
		       -EBADMSG;
}

/* Starts wrap around if they are before the clock's zero: only differences count. */
static void load_past(struct epf_local *l, const struct epf_snap_locked *s, __u64 taken_ns)
{
	__u64 e = s->epoch;
	__u32 age;

	l->state.epoch = l->state.scanned = e;
	for (age = 0; age < PAST && age <= e - EPF_EPOCH_FIRST; age++) {
		struct epf_past *p = &l->past[(e - age) % PAST];

		p->inserts = s->past[age].inserts;
		p->start_ns = taken_ns - s->past[age].age_ns;
		if (age < EPF_LANES)
			l->state.ring[(e - age) % EPF_LANES] = *p;
	}
	l->state.count = epf_count_pack(e, resizable(l) ? 0 : s->past[0].inserts);
}

static void load_clock(struct epf_local *l, const struct epf_snap_locked *s, __u64 taken_ns)
{
	l->skew_ns = s->now - taken_ns;
	l->skewed_ns = taken_ns - s->steady_ns;
	l->turns = resizable(l)->turns(&l->core, 0);
	l->begun = resizable(l)->begun(&l->core);
	l->core.slices = resizable(l)->slices(&l->core);
}

/* Copy piece @i, check the copy, and empty what is stale in it. */
static int load_piece(struct epf_local *l, __u32 i, const __u64 *from, __u64 words)
{
	const struct epf_kind_ops *ops = l->core.ops;
	__u64 *word = words_new(words);

	if (!word)
		return -ENOMEM;
	l->bytes += line_bytes(words); /* a file has whatever its owner's limit was */
	memcpy(word, from, words * sizeof(__u64));
	ops->place(&l->core, i, word);
	if (ops->sound && !ops->sound(&l->core, i, 0, words))
		return -EBADMSG;
	if (ops->tidy)
		ops->tidy(&l->core, i, 0, words);
	return 0;
}

/* From the oldest piece on: free_memory() begins there, too, and stops at the first without
 * memory. The file begins with the youngest.
 */
static int load_memory(struct epf_local *l, const struct epf_snap_locked *s, const __u64 *from)
{
	__u64 *word, words;
	__u32 nr = 0;
	int err = 0;

	while (l->core.ops->piece(&l->core, nr, &word))
		nr++;
	for (from += s->words; nr-- && !err;) {
		words = l->core.ops->piece(&l->core, nr, &word);
		from -= words;
		err = load_piece(l, nr, from, words);
	}
	return err;
}

/* Count from what is measured, as the module does. */
static void local_measure(struct epf_local *l)
{
	if (!l->core.room)
		return;
	take_samples(l);
	l->core.ops->set_shares(&l->core);
	l->estimate_at = 0;
	local_estimate(l);
}

static int local_load(struct epf_local *l, const struct epf_snap_file *file,
		      struct epf_snap_locked *s, __u64 taken_ns)
{
	int err = epf_snap_state(&file->header, &l->state, taken_ns);

	if (!err)
		err = local_copy_state(file, s);
	if (!err)
		err = init(l, &s->shape, file->header.key);
	if (err || l->core.ops->load(&l->core, s))
		return err == -ENOMEM ? err : -EBADMSG;
	load_past(l, s, taken_ns);
	err = load_memory(l, s, (const __u64 *)(file->locked + 1));
	if (err)
		return err;
	if (resizable(l))
		load_clock(l, s, taken_ns);
	l->base_inserts = file->header.inserts;
	local_measure(l);
	if (!resizable(l))
		end_due(l, taken_ns);
	return 0;
}

struct epf_local *epf_local_load(const struct epf_snap_file *file, __u64 taken_ns, __u64 now_ns,
				 int *err)
{
	struct epf_snap_locked *s = malloc(sizeof(*s));
	struct epf_local *l = s ? local_begin(&file->header.params, now_ns) : NULL;

	if (!l)
		*err = -ENOMEM;
	else if (now_ns > EPF_LOCAL_NS_MAX || !file->locked)
		*err = -EINVAL;
	else
		*err = local_load(l, file, s, taken_ns);
	free(s);
	if (!*err)
		return l;
	epf_local_free(l);
	return NULL;
}
