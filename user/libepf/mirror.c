// SPDX-License-Identifier: GPL-2.0
/*
 * Mirrors: a copy of the lines, and the records of the journal applied to it.
 *
 * Why it comes out equal. A bit of a lane of epoch x, x one of the eight that
 * are retained, was set by an insertion. If its record lies below the position
 * at which the copy began, the bit was there before (J3 of epf/journal.h) and is
 * in the copy; else the record is applied, and names the lane. What is applied
 * twice is there once. Of lanes the copy keeps those of the eight epochs up to
 * the one that was current at the end of SNAP_BEGIN: whatever is of a later one
 * came after, and has a record. A record that comes late, when its lane is a
 * younger epoch's, is of an epoch that has gone; so it is in the filter.
 *
 * What is stale is emptied as by the module, a sixteenth of the lines for each
 * epoch, so that no tag comes round.
 */
#include "mirror.h"
#include "audit/engine.h"
#include "copy.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#include "epf/journal.h"
#include "epf/window.h"

#define NS_PER_SEC 1000000000ULL
#define CHUNK_LINES 1024u /* copied, and emptied of what is stale, at a time */
#define TRAIL_SHARE 4u	  /* a trail is so much smaller than the lines */
#define COPIES 4	  /* tries to copy faster than the journal comes round */

/**
 * struct ring - where the reader is in one of the rings
 * @ring: the ring
 * @next: position that is read next
 * @lost: of the ring, when the copy began
 * @counted: records from here on were not counted when the copy began
 */
struct ring {
	struct epf_journal_ring ring;
	__u64 next;
	__u64 lost;
	__u64 counted;
};

/**
 * struct epf_mirror - see above
 * @filter: descriptor
 * @journal: as begun; its size is 0 where there is none
 * @map: rings and their counters
 * @rings: of each where we are
 * @header: of the copy; its epochs and insertions are in @state and @inserts
 * @lanes: shape and lines
 * @state: of the mirror; @ring[].inserts of an epoch grow by its records until
 *	@final has it
 * @final: epochs whose insertions the filter has told, as bits, modulo 8
 * @inserts: since the filter was made
 * @fault: 0; -EOVERFLOW, -ESTALE: it is behind
 * @serial: of the lines, since they were copied
 * @version: records applied since then
 * @trail: the last of these, for views; @trail.record is @records
 * @records: room for @records_max; NULL: nobody wants them
 */
struct epf_mirror {
	int filter;
	struct epf_journal_args journal;
	void *map;
	struct ring *rings;
	struct epf_snap_header header;
	struct epf_lanes lanes;
	struct epf_state state;
	__u32 final;
	__u64 inserts;
	int fault;
	__u64 serial;
	__u64 version;
	struct epf_trail trail;
	struct epf_journal_record *records;
	__u64 records_max;
};

static __u64 now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (__u64)ts.tv_sec * NS_PER_SEC + (__u64)ts.tv_nsec;
}

static int call(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) ? -errno : 0;
}

/* ---- what records do ---- */

/* The next epoch has begun. */
static void step(struct epf_mirror *m)
{
	struct epf_state *s = &m->state;
	__u64 first, end;

	s->epoch++;
	s->ring[s->epoch & 7].inserts = 0;
	s->ring[s->epoch & 7].start_ns = s->ring[(s->epoch - 1) & 7].start_ns;
	m->final &= ~(1u << (s->epoch & 7));
	epf_scan_chunk(s, epf_geom_lines(&m->lanes.geom), &first, &end);
	epf_scan(&m->lanes, first, end - first);
	s->scanned++;
}

static void go_to(struct epf_mirror *m, __u64 epoch)
{
	while (m->state.epoch < epoch)
		step(m);
}

static bool retained(const struct epf_mirror *m, __u64 epoch)
{
	return epoch + EPF_LANES > m->state.epoch;
}

static void rotated(struct epf_mirror *m, const struct epf_journal_record *r)
{
	struct epf_state *s = &m->state;
	__u64 before = r->epoch - 1;

	go_to(m, r->epoch);
	if (retained(m, before)) {
		s->ring[before & 7].inserts = r->value;
		m->final |= 1u << (before & 7);
	}
	if (retained(m, r->epoch))
		s->ring[r->epoch & 7].start_ns = r->more;
}

static void count(struct epf_mirror *m, __u64 epoch)
{
	m->inserts++;
	if (retained(m, epoch) && !(m->final >> (epoch & 7) & 1))
		m->state.ring[epoch & 7].inserts++;
}

/* Into each lane that the insertion wrote; of those of epochs that have gone
 * another epoch has made use.
 */
static void inserted(struct epf_mirror *m, const struct epf_journal_record *r)
{
	struct epf_probe p;
	__u64 x;
	__u32 age, j;

	go_to(m, r->epoch);
	epf_probe(&m->lanes, r->value, &p);
	for (age = 0; age < EPF_LANES; age++) {
		x = r->epoch - age;
		if (!(r->more >> (x & 7) & 1) || !retained(m, x))
			continue;
		for (j = 0; j < p.parts; j++)
			epf_lane_set(p.line[j], p.mask[j], x);
	}
}

/* Those that were kept are of no use without the next. */
static void cut_trail(struct epf_mirror *m)
{
	m->trail.first = m->version;
	m->trail.nr = 0;
}

static void end_trail(struct epf_mirror *m)
{
	epf_cuda_forget(m->serial);
	free(m->records);
	m->records = NULL;
	memset(&m->trail, 0, sizeof(m->trail));
}

/* A reader that has not been there for so long copies the lines sooner. */
static void begin_trail(struct epf_mirror *m)
{
	__u64 lines = epf_geom_lines(&m->lanes.geom);

	m->records_max = lines * EPF_LINE_BYTES / TRAIL_SHARE /
			 sizeof(*m->records);
	m->records = malloc(m->records_max * sizeof(*m->records));
	m->trail.record = m->records;
	cut_trail(m);
}

/* Before it is applied. */
static void keep(struct epf_mirror *m, const struct epf_journal_record *rec)
{
	if (m->trail.wanted && !m->records)
		begin_trail(m);
	if (m->records && m->trail.taken == m->version)
		cut_trail(m);
	m->version++;
	if (!m->records || m->trail.nr == m->records_max)
		cut_trail(m);
	else
		m->records[m->trail.nr++] = *rec;
}

static void apply(struct epf_mirror *m, const struct ring *r,
		  const struct epf_journal_record *rec)
{
	keep(m, rec);
	if ((rec->seq & EPF_JOURNAL_KIND_MASK) == EPF_JOURNAL_ROTATE) {
		rotated(m, rec);
		return;
	}
	inserted(m, rec);
	/* What was counted in the header had been recorded before it. */
	if (r->next >= r->counted || rec->epoch > m->header.epoch_end)
		count(m, rec->epoch);
}

/* ---- following ---- */

static bool over(const struct epf_mirror *m)
{
	const struct epf_journal_head *head = m->map;

	return epf_load_acquire(&head->over);
}

static bool lost(const struct ring *r)
{
	return epf_load_acquire(&r->ring.shard->lost) != r->lost;
}

/* Read up to @end. A record that is not there yet is being written, by somebody
 * who is running or interrupted; or it is lost.
 */
static long read_ring(struct epf_mirror *m, struct ring *r, __u64 end)
{
	struct epf_journal_record rec;
	long n = 0;
	int got;

	while (r->next < end) {
		got = epf_journal_get(&r->ring, r->next, &rec);
		if (got < 0)
			return got;
		if (!got && lost(r))
			return -EOVERFLOW;
		if (!got) {
			sched_yield();
			continue;
		}
		apply(m, r, &rec);
		r->next++;
		n++;
	}
	return n;
}

static long follow(struct epf_mirror *m)
{
	long n, sum = 0;
	__u32 i;

	for (i = 0; i < m->journal.shards; i++) {
		struct ring *r = &m->rings[i];

		n = read_ring(m, r, epf_load_acquire(&r->ring.shard->next));
		if (n < 0)
			return n;
		sum += n;
	}
	return over(m) ? -ESTALE : sum;
}

long epf_mirror_follow(struct epf_mirror *m)
{
	long n;

	if (m->fault)
		return m->fault;
	n = follow(m);
	if (n < 0)
		m->fault = (int)n;
	return n;
}

/* ---- copying ---- */

static void drop_lines(struct epf_mirror *m)
{
	if (m->lanes.line)
		munmap(m->lanes.line, epf_geom_lines(&m->lanes.geom) *
				      EPF_LINE_BYTES);
	m->lanes.line = NULL;
}

/* Room for lines as the header has them. */
static int room_for_lines(struct epf_mirror *m)
{
	const struct epf_params *p = &m->header.params;
	void *at;

	drop_lines(m);
	end_trail(m);
	m->serial = epf_view_serial();
	m->version = 0;
	if (epf_geom_init(&m->lanes.geom, p->nr_lines, p->lines_per_key,
			  p->bits_per_key))
		return -EPROTO; /* not what the ABI promises */
	at = mmap(NULL, p->nr_lines * EPF_LINE_BYTES, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return -ENOMEM;
	madvise(at, p->nr_lines * EPF_LINE_BYTES, MADV_HUGEPAGE);
	m->lanes.line = at;
	m->lanes.epoch = &m->state.epoch;
	return 0;
}

/* As they were at @now. */
static void take_state(struct epf_mirror *m, __u64 now)
{
	const struct epf_snap_header *h = &m->header;
	__u32 i;

	m->state.epoch = h->epoch_end;
	m->state.scanned = h->epoch_end;
	for (i = 0; i < EPF_LANES; i++) {
		m->state.ring[i].inserts = h->epochs[i].inserts;
		m->state.ring[i].start_ns =
			h->epochs[i].age_ns ? now - h->epochs[i].age_ns : 0;
	}
	m->final = 0xff & ~(1u << (h->epoch_end & 7));
	m->inserts = h->inserts;
}

/* A few at a time, so that what is stale is emptied while it is in the cache. */
static int copy_lines(struct epf_mirror *m)
{
	__u64 lines = epf_geom_lines(&m->lanes.geom), i, n;
	const struct epf_line *from;

	from = mmap(NULL, lines * EPF_LINE_BYTES, PROT_READ, MAP_SHARED,
		    m->filter, 0);
	if (from == MAP_FAILED)
		return -errno;
	for (i = 0; i < lines; i += n) {
		n = lines - i < CHUNK_LINES ? lines - i : CHUNK_LINES;
		epf_copy_words(m->lanes.line + i, from + i, n * EPF_LINE_BYTES);
		epf_scan(&m->lanes, i, n);
	}
	munmap((void *)(uintptr_t)from, lines * EPF_LINE_BYTES);
	return 0;
}

/* Where the journal is now, before anything is copied: @lost first, so that
 * whatever is lost later has a position above.
 */
static void note_positions(struct epf_mirror *m)
{
	__u32 i;

	for (i = 0; i < m->journal.shards; i++) {
		struct ring *r = &m->rings[i];

		r->lost = epf_load_acquire(&r->ring.shard->lost);
		r->next = epf_load_acquire(&r->ring.shard->next);
	}
}

static void note_counted(struct epf_mirror *m)
{
	__u32 i;

	for (i = 0; i < m->journal.shards; i++)
		m->rings[i].counted =
			epf_load_acquire(&m->rings[i].ring.shard->next);
}

/* One copy, and what came meanwhile. The pin is none: that epochs end during
 * the copy is no harm.
 */
static int copy(struct epf_mirror *m)
{
	struct epf_snap s = { .size = sizeof(s), .pin_ns = 1 };
	struct epf_snap end = { .size = sizeof(end) };
	int ret;

	note_positions(m);
	ret = call(m->filter, EPF_IOC_SNAP_BEGIN, &s);
	if (ret)
		return ret;
	note_counted(m);
	m->header = s.header;
	explicit_bzero(s.header.key, sizeof(s.header.key));
	ret = s.journal == m->journal.serial ? room_for_lines(m) : -ESTALE;
	if (!ret) {
		take_state(m, s.now_ns);
		ret = copy_lines(m);
	}
	call(m->filter, EPF_IOC_SNAP_END, &end);
	explicit_bzero(end.header.key, sizeof(end.header.key));
	return ret;
}

static int catch_up(struct epf_mirror *m)
{
	long n = -EOVERFLOW;
	int i, ret;

	for (i = 0; i < COPIES && n == -EOVERFLOW; i++) {
		ret = copy(m);
		if (ret)
			return ret;
		n = follow(m);
	}
	return n < 0 ? (int)n : 0;
}

/* ---- the journal ---- */

static void end_journal(struct epf_mirror *m)
{
	struct epf_journal_args a = { .size = sizeof(a),
				      .flags = EPF_JOURNAL_END };

	free(m->rings);
	m->rings = NULL;
	if (m->map)
		munmap(m->map, m->journal.bytes);
	m->map = NULL;
	if (m->journal.size)
		call(m->filter, EPF_IOC_JOURNAL, &a);
	m->journal.size = 0;
}

static void find_rings(struct epf_mirror *m, __u32 order)
{
	struct epf_journal_shard *shard =
		(void *)((char *)m->map + EPF_JOURNAL_SHARD_BYTES);
	struct epf_journal_record *record =
		(void *)((char *)m->map + m->journal.records);
	__u32 i;

	for (i = 0; i < m->journal.shards; i++) {
		struct epf_journal_ring *r = &m->rings[i].ring;

		r->shard = shard + i;
		r->record = record + ((size_t)i << order);
		r->mask = (1ULL << order) - 1;
	}
}

static int begin_journal(struct epf_mirror *m, __u32 order, __u32 shards)
{
	struct epf_journal_args a = { .size = sizeof(a), .order = order,
				      .shards = shards };
	int ret = call(m->filter, EPF_IOC_JOURNAL, &a);

	if (ret)
		return ret;
	m->journal = a;
	m->rings = calloc(a.shards, sizeof(*m->rings));
	if (!m->rings)
		return -ENOMEM;
	m->map = mmap(NULL, a.bytes, PROT_READ, MAP_SHARED, m->filter,
		      (off_t)EPF_MMAP_JOURNAL);
	if (m->map == MAP_FAILED) {
		m->map = NULL;
		return -errno;
	}
	find_rings(m, order);
	return 0;
}

int epf_mirror_renew(struct epf_mirror *m)
{
	__u32 order = m->journal.order, shards = m->journal.shards;
	int i, ret = -ESTALE;

	if (m->map && !over(m))
		ret = catch_up(m);
	for (i = 0; i < COPIES && ret == -ESTALE; i++) {
		end_journal(m);
		ret = begin_journal(m, order, shards);
		if (!ret)
			ret = catch_up(m);
	}
	m->fault = ret && ret != -EOVERFLOW ? -ESTALE : ret;
	return ret;
}

int epf_mirror_open(int filter, __u32 order, __u32 shards,
		    struct epf_mirror **m)
{
	int ret = -ENOMEM;

	*m = calloc(1, sizeof(**m));
	if (!*m)
		return ret;
	(*m)->filter = filter;
	(*m)->journal.order = order;
	(*m)->journal.shards = shards;
	ret = epf_mirror_renew(*m);
	if (ret) {
		epf_mirror_close(*m);
		*m = NULL;
	}
	return ret;
}

void epf_mirror_close(struct epf_mirror *m)
{
	if (!m)
		return;
	end_journal(m);
	drop_lines(m);
	end_trail(m);
	explicit_bzero(&m->header, sizeof(m->header));
	free(m);
}

/* ---- what it is ---- */

/* Nothing is said by asking; a module that does not know the call tells none. */
static struct epf_key_desc desc_of(const struct epf_mirror *m)
{
	struct epf_key_desc desc = { .kind = EPF_KEYS_UNKNOWN };

	if (epf_filter_describe(m->filter, &desc))
		desc.kind = EPF_KEYS_UNKNOWN;
	return desc;
}

void epf_mirror_view(const struct epf_mirror *m, struct epf_view *v)
{
	memset(v, 0, sizeof(*v));
	v->lines = m->lanes.line;
	v->geom = m->lanes.geom;
	v->hash.strict = m->header.params.hash == EPF_HASH_SIPHASH24;
	memcpy(v->hash.key, m->header.key, sizeof(v->hash.key));
	v->epoch = m->state.epoch;
	v->serial = m->serial;
	v->version = m->version;
	v->trail = (struct epf_trail *)(uintptr_t)&m->trail;
	v->desc = desc_of(m);
}

void epf_mirror_header(const struct epf_mirror *m, struct epf_snap_header *h)
{
	const struct epf_state *s = &m->state;
	__u64 now = now_ns(CLOCK_MONOTONIC);
	__u32 i;

	*h = m->header;
	h->epoch_begin = h->epoch_end = s->epoch;
	h->inserts = m->inserts;
	h->realtime_ns = now_ns(CLOCK_REALTIME);
	for (i = 0; i < EPF_LANES; i++) {
		h->epochs[i].inserts = s->ring[i].inserts;
		h->epochs[i].age_ns =
			s->ring[i].start_ns ? now - s->ring[i].start_ns : 0;
	}
}
