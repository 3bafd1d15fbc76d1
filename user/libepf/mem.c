// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Filters in this process: the core over anonymous memory, for one thread.
 *
 * The kernel module's worker does its work behind the packets. Here the call
 * that finds the work due does it inline: rotation, one chunk of the scan for
 * each rotation, and the estimate that decides on saturation. So the scan never
 * lags, and O3 of epf/lanes.h holds because nobody else is inside a call.
 *
 * The clock is the caller's. In the modes with a time, epochs without an
 * insertion end too: each call first performs the rotations whose time has
 * passed, so a key is never retained longer than eight epochs.
 */
#define EPF_PRIVATE /* one thread: nothing of a filter is shared */

#include "epf.h"
#include "due.h"
#include "snap_state.h"

#include <epf/capacity.h>
#include <epf/estimate.h>
#include <epf/packet.h>
#include <epf/params.h>
#include <epf/window.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>

/**
 * struct epf_mem - a filter
 * @lanes: the lines, and a pointer to @state.epoch
 * @state: epoch, counts, scan
 * @window: when an epoch ends
 * @hash: keyed hash
 * @cover: hit probabilities for this geometry
 * @params: as the creator gave them
 * @stats: counters; "delayed" stays 0: a rotation here never waits
 * @created_ns: on the caller's clock
 * @last_ns: time of the latest call, or of the snapshot that it was loaded from
 * @ahead_ns: how far the wall clock is ahead of the caller's; of an aligned window
 * @base_inserts: insertions before the snapshot that it was loaded from
 * @capacity: number of insertions that fill about an eighth of the positions in
 *	the lanes of one epoch; a new estimate is due after this many
 * @estimate_at: the next estimate is due at this many insertions of the current
 *	epoch
 * @saturated: the last estimate was above params.limit_ppt, or @keys reached
 *	@room
 * @limits: false-positive rate of an epoch as a function of its keys
 * @share: false-positive rate of each ended epoch, q56, by epoch modulo 8
 * @keys: keys of the current epoch that set bits
 * @room: the most that @keys may be
 */
struct epf_mem {
	struct epf_lanes lanes;
	struct epf_state state;
	struct epf_window window;
	struct epf_hash hash;
	struct epf_cover cover;
	struct epf_params params;
	struct epf_stats stats;
	__u64 created_ns;
	__u64 last_ns;
	__u64 ahead_ns;
	__u64 base_inserts;
	__u64 capacity;
	__u64 estimate_at;
	bool saturated;
	struct epf_capacity limits;
	__u64 share[EPF_LANES];
	__u64 keys;
	__u64 room;
};

#define FILL_EIGHTH 8
#define HUGE_PAGE_BYTES (2u << 20)

static int init_shape(struct epf_mem *m, const struct epf_params *p)
{
	int err = epf_params_check_lanes(p);

	if (err)
		return err;
	epf_geom_init(&m->lanes.geom, p->nr_lines, p->lines_per_key, p->bits_per_key);
	epf_window_init(&m->window, p->mode, p->refresh, p->window_inserts, p->window_ns);
	m->params = *p;
	m->capacity = 1 + p->nr_lines * EPF_LANE_BITS / (FILL_EIGHTH * p->bits_per_key);
	m->estimate_at = m->capacity;
	epf_cover_init(&m->cover, &m->lanes.geom);
	return 0;
}

/* Compute the room of the current epoch from the seven epochs before it. */
static void mem_set_room(struct epf_mem *m)
{
	m->keys = 0;
	m->room = epf_capacity_room_of(&m->limits, m->share, m->state.epoch);
}

static int mem_init_limit(struct epf_mem *m)
{
	struct epf_capacity_work *work;

	m->room = ~0ULL;
	if (m->params.limit_ppt == EPF_RATE_ONE)
		return 0;
	work = malloc(sizeof(*work));
	if (!work)
		return -ENOMEM;
	epf_capacity_init(&m->limits, &m->lanes.geom, epf_ppt_to_q56(m->params.limit_ppt), work);
	free(work);
	mem_set_room(m);
	return 0;
}

static int mem_init_key(struct epf_mem *m, const __u64 key[2])
{
	__u64 random[2];

	if (!key && getrandom(random, sizeof(random), 0) != sizeof(random))
		return -errno;
	key = key ? key : random;
	epf_hash_init(&m->hash, key[0], key[1], m->params.hash);
	explicit_bzero(random, sizeof(random));
	return 0;
}

static size_t lines_bytes(const struct epf_mem *m)
{
	return m->params.nr_lines * sizeof(struct epf_line);
}

static int init_lines(struct epf_mem *m)
{
	void *map = mmap(NULL, lines_bytes(m), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);

	if (map == MAP_FAILED)
		return -errno;
	if (lines_bytes(m) >= HUGE_PAGE_BYTES)
		madvise(map, lines_bytes(m), MADV_HUGEPAGE); /* a hint; may fail */
	m->lanes.line = map;
	m->lanes.epoch = &m->state.epoch;
	return 0;
}

struct epf_mem *epf_mem_new(const struct epf_params *params, const __u64 key[2], __u64 now_ns,
			    int *err)
{
	struct epf_mem *m = calloc(1, sizeof(*m));

	if (!m) {
		*err = -ENOMEM;
		return NULL;
	}
	*err = init_shape(m, params);
	epf_state_init(&m->state, now_ns);
	if (!*err)
		*err = mem_init_limit(m);
	if (!*err)
		*err = mem_init_key(m, key);
	if (!*err)
		*err = init_lines(m);
	if (*err) {
		free(m);
		return NULL;
	}
	m->created_ns = m->last_ns = now_ns;
	return m;
}

void epf_mem_free(struct epf_mem *m)
{
	if (!m)
		return;
	munmap(m->lanes.line, lines_bytes(m));
	explicit_bzero(&m->hash, sizeof(m->hash));
	free(m);
}

__u64 epf_mem_digest(const struct epf_mem *m, const void *key, __u32 len)
{
	return epf_digest(&m->hash, key, len);
}

int epf_mem_pkt_digest(const struct epf_mem *m, const void *frame, __u32 len,
		       const struct epf_pkt_opts *opts, __u64 *digest)
{
	struct epf_seg seg = { .data = frame, .len = len };
	struct epf_pkt pkt = { .seg = &seg, .nr_segs = 1, .len = len };
	int err = epf_pkt_opts_check(opts);

	return err ? err : epf_pkt_digest(&m->hash, &pkt, opts, digest);
}

/* Under a keyed hash all lines have the same distribution, so a run of adjacent
 * lines is as good a sample as any. Each epoch samples a different run.
 */
static void mem_sample(const struct epf_mem *m, struct epf_fill *fill)
{
	__u64 all = m->lanes.geom.part_lines;
	__u64 nr = all < EPF_FILL_SAMPLES ? all : EPF_FILL_SAMPLES;
	__u64 i = m->state.epoch * nr % all;

	memset(fill, 0, sizeof(*fill));
	while (nr--) {
		epf_fill_add(fill, &m->cover, &m->lanes, i);
		i = i + 1 < all ? i + 1 : 0;
	}
}

static void mem_saturate(struct epf_mem *m, bool saturated)
{
	m->stats.saturations += saturated && !m->saturated;
	m->saturated = saturated;
}

static void mem_estimate(struct epf_mem *m)
{
	struct epf_fill fill;

	if (m->params.limit_ppt == EPF_RATE_ONE)
		return;
	mem_sample(m, &fill);
	mem_saturate(m, epf_q56_to_ppt(epf_fill_q56(&fill, m->lanes.geom.parts)) >
					m->params.limit_ppt ||
				m->keys >= m->room);
}

static void scan_chunk(struct epf_mem *m)
{
	__u64 first, end;

	epf_scan_chunk(&m->state, m->params.nr_lines, &first, &end);
	epf_lanes_scan(&m->lanes, first, end - first);
	m->state.scanned++;
	m->stats.scanned += end - first;
}

static void mem_end_epoch(struct epf_mem *m, __u64 now_ns)
{
	if (m->params.limit_ppt < EPF_RATE_ONE)
		m->share[m->state.epoch % EPF_LANES] = epf_capacity_q56(&m->limits, m->keys);
	epf_state_rotate(&m->state, now_ns);
	if (m->params.limit_ppt < EPF_RATE_ONE)
		mem_set_room(m);
	m->stats.rotations++;
	scan_chunk(m);
	mem_estimate(m);
	m->estimate_at = m->capacity;
}

void epf_mem_rotate(struct epf_mem *m, __u64 now_ns)
{
	mem_end_epoch(m, now_ns);
}

static __u64 mem_epoch_start(const struct epf_mem *m)
{
	return m->state.ring[m->state.epoch % EPF_LANES].start_ns;
}

static __u64 mem_epoch_inserts(const struct epf_mem *m)
{
	return epf_count_of(m->state.count, m->state.epoch);
}

static struct epf_due mem_due_of(const struct epf_mem *m, __u64 now_ns)
{
	return epf_ends_due(&m->window, &m->state, mem_epoch_inserts(m), m->last_ns, now_ns,
			    m->ahead_ns, EPF_LANES);
}

/* End all epochs that are over. After a long pause eight ends forget all keys. */
static void mem_catch_up(struct epf_mem *m, __u64 now_ns)
{
	struct epf_due due = mem_due_of(m, now_ns);

	for (; due.nr; due = mem_due_of(m, now_ns))
		for (; due.nr; due.nr--, due.at_ns += due.every_ns)
			mem_end_epoch(m, due.at_ns);
	if ((__s64)(now_ns - m->last_ns) > 0)
		m->last_ns = now_ns;
}

void epf_mem_advance(struct epf_mem *m, __u64 now_ns)
{
	mem_catch_up(m, now_ns);
}

int epf_mem_align(struct epf_mem *m)
{
	return epf_window_align(&m->window);
}

void epf_mem_ahead(struct epf_mem *m, __u64 ahead_ns)
{
	m->ahead_ns = ahead_ns;
}

/* @grew: the insertion set bits; see kmod/capacity.c. */
static void mem_count_insert(struct epf_mem *m, __u64 epoch, bool grew, __u64 now_ns)
{
	__u64 inserts = epf_count_add(&m->state, epoch, 1);

	m->stats.inserts++;
	m->keys += grew;
	if (m->keys >= m->room)
		mem_saturate(m, true);
	if (m->window.mode != EPF_MODE_TIME && /* mem_catch_up() ends those epochs */
	    epf_window_due(&m->window, inserts, now_ns - mem_epoch_start(m))) {
		mem_end_epoch(m, now_ns);
	} else if (inserts >= m->estimate_at) {
		m->estimate_at = inserts + m->capacity;
		mem_estimate(m);
	}
}

/* Count the verdict and return what the caller gets: under saturation -ENOSPC
 * in place of a hit.
 */
static int mem_answer(struct epf_mem *m, int verdict)
{
	bool unknown = verdict && m->saturated;

	m->stats.failed_open += unknown;
	if (verdict && !unknown)
		m->stats.hits++;
	else
		m->stats.misses++;
	return unknown ? -ENOSPC : verdict;
}

int epf_mem_test(struct epf_mem *m, __u64 digest, __u64 now_ns)
{
	struct epf_probe probe;

	mem_catch_up(m, now_ns);
	epf_probe(&m->lanes, digest, &probe);
	return mem_answer(m, epf_lanes_test(&m->lanes, &probe));
}

/* In first-seen mode a key is inserted even if saturation turned the answer
 * into "unknown", because the caller treats such a key as new.
 */
int epf_mem_test_and_insert(struct epf_mem *m, __u64 digest, __u64 now_ns)
{
	struct epf_probe probe;
	__u64 epoch;
	int verdict;
	bool grew;

	mem_catch_up(m, now_ns);
	epf_probe(&m->lanes, digest, &probe);
	verdict = epf_lanes_test_and_insert(&m->lanes, &probe,
					    m->window.first_seen && !m->saturated, &epoch);
	grew = verdict != EPF_PRESENT;
	verdict = mem_answer(m, verdict);
	if (epoch)
		mem_count_insert(m, epoch, grew, now_ns);
	return verdict;
}

void epf_mem_insert(struct epf_mem *m, __u64 digest, __u64 now_ns)
{
	struct epf_probe probe;
	bool grew = false;
	__u64 epoch, lanes = 0;

	mem_catch_up(m, now_ns);
	epf_probe(&m->lanes, digest, &probe);
	epoch = epf_lanes_insert_into(&m->lanes, &probe, &lanes, &grew);
	mem_count_insert(m, epoch, grew, now_ns);
}

static void mem_epoch_info(const struct epf_mem *m, const struct epf_estimates *est, __u32 age,
			   __u64 now_ns, struct epf_epoch_info *info)
{
	__u64 e = m->state.epoch - age;
	__u32 l = e % EPF_LANES;

	if (e < EPF_EPOCH_FIRST)
		return;
	info->epoch = e;
	info->inserts = age ? m->state.ring[l].inserts : mem_epoch_inserts(m);
	info->age_ns = now_ns - m->state.ring[l].start_ns;
	info->fill_ppt = est->lane_fill[l];
	info->fpr_ppt = est->lane_fpr[l];
}

void epf_mem_info(const struct epf_mem *m, __u64 now_ns, struct epf_info *info)
{
	struct epf_estimates est;
	struct epf_fill fill;
	__u32 age;

	mem_sample(m, &fill);
	epf_fill_estimates(&fill, m->lanes.geom.parts, &est);
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->flags = (m->saturated ? EPF_INFO_SATURATED : 0) |
		      (m->window.align_ns ? EPF_INFO_ALIGNED : 0);
	info->params = m->params;
	info->epoch = m->state.epoch;
	info->memory_bytes = lines_bytes(m) + sizeof(*m);
	epf_state_covered(&m->state, now_ns, &info->covered_inserts, &info->covered_ns);
	info->kept_ns = info->covered_ns;
	info->fpr_ppt = est.fpr;
	info->age_ns = now_ns - m->created_ns;
	info->stats = m->stats;
	info->stats.inserts += m->base_inserts;
	for (age = 0; age < EPF_EPOCHS; age++)
		mem_epoch_info(m, &est, age, now_ns, &info->epochs[age]);
}

void epf_mem_parts(struct epf_mem *m, __u64 now_ns, struct epf_mem_parts *p)
{
	mem_catch_up(m, now_ns);
	*p = (struct epf_mem_parts){ &m->params,     m->hash.key,
				     &m->state,      m->lanes.line,
				     lines_bytes(m), m->base_inserts + m->stats.inserts };
}

/* ---------------------------------------------------------- loading ---- */

#define COPY_LINES 4096u

/* Each piece is scanned while it is in the cache, so that nothing stale is left. */
static void load_lines(struct epf_mem *m, const struct epf_line *from)
{
	__u64 all = m->params.nr_lines, i, nr;

	for (i = 0; i < all; i += nr) {
		nr = all - i < COPY_LINES ? all - i : COPY_LINES;
		memcpy(m->lanes.line + i, from + i, nr * sizeof(*from));
		epf_lanes_scan(&m->lanes, i, nr);
	}
}

/* The room is that of what the lanes are measured to hold, see kmod/capacity.c. */
static void measure(struct epf_mem *m)
{
	__u64 e = m->state.epoch;
	struct epf_estimates est;
	struct epf_fill fill;
	__u32 i;

	m->estimate_at = mem_epoch_inserts(m) + m->capacity;
	if (m->params.limit_ppt == EPF_RATE_ONE)
		return;
	mem_sample(m, &fill);
	epf_fill_estimates(&fill, m->lanes.geom.parts, &est);
	for (i = 0; i < EPF_LANES; i++)
		m->share[i] = epf_ppt_to_q56(est.lane_fpr[i]);
	m->keys = epf_capacity_keys(&m->limits, m->share[e % EPF_LANES]);
	m->room = epf_capacity_room_of(&m->limits, m->share, e);
	mem_estimate(m);
}

struct epf_mem *epf_mem_load(const struct epf_snap_file *file, __u64 taken_ns, int *err)
{
	const struct epf_snap_header *h = &file->header;
	struct epf_mem *m = epf_mem_new(&h->params, h->key, taken_ns, err);

	if (!m)
		return NULL;
	*err = epf_snap_state(h, &m->state, taken_ns);
	if (*err) {
		epf_mem_free(m);
		return NULL;
	}
	m->base_inserts = h->inserts;
	load_lines(m, file->lines);
	measure(m);
	return m;
}
