// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mirrors: a copy of the lines to which the records of the journal are applied.
 *
 * Why the mirror equals the filter. Let x be one of the eight retained epochs.
 * A bit in a lane of epoch x was set by an insertion. If the insertion's record
 * lies below the position at which the copy began, the bit was set before the
 * copy (J3 of epf/journal.h) and is in the copy. Otherwise the record is
 * applied, and it names the lane. Applying a record twice does no harm. The
 * copy keeps the lanes of the eight epochs up to the one that was current at
 * the end of SNAP_BEGIN: an insertion into a later epoch came after that and
 * has a record. If a record arrives so late that its lane belongs to a younger
 * epoch by now, its own epoch has ended its retention, in the filter as well.
 *
 * Stale lanes are emptied as in the module, a sixteenth of the lines in each
 * epoch, so that no tag comes round. This happens before the next record is
 * applied, in steps like everything else.
 */
#include "mirror.h"
#include "clock.h"
#include "query/engine.h"
#include "copy.h"
#include "rings.h"
#include "work.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "epf/journal.h"
#include "epf/window.h"
#include "backend.h"

#define NS_PER_SEC 1000000000ULL
#define CHUNK_LINES 1024u /* copied and cleaned of stale lanes at a time */
#define TRAIL_SHARE 4u    /* the delta log takes 1/4 of the lines' memory */
#define COPIES 4          /* tries to copy before the journal wraps */

/* What the next step does. */
enum phase { MIRROR_STILL, MIRROR_JOURNAL, MIRROR_BEGIN, MIRROR_COPY, MIRROR_FOLLOW };

/**
 * struct ring - the reader's state for one ring
 * @ring: the ring
 * @next: position that is read next
 * @end: this pass applies the records before this position
 * @lost: the ring's counter of lost records when the copy began
 * @counted: records from this position on are not in the header's counts
 */
struct ring {
	struct epf_journal_ring ring;
	__u64 next;
	__u64 end;
	__u64 lost;
	__u64 counted;
};

/**
 * struct epf_mirror - see above
 * @filter: descriptor
 * @order: of a new journal
 * @shards: likewise
 * @journal: NULL: there is none
 * @rings: reader's state for each ring
 * @header: of the copy; its epochs and insertions are in @state and @inserts
 * @lanes: shape and lines
 * @state: of the mirror; records increment @ring[].inserts of an epoch until
 *	@final has it
 * @final: bit mask of epochs modulo 8 whose final count the filter has reported
 * @inserts: since the filter was made
 * @fault: 0; -EOVERFLOW, -ESTALE: the mirror is out of date
 * @phase: what the next step does
 * @journals: tries left to begin a journal
 * @copies: tries left to copy
 * @from: the filter's lines, mapped; a snapshot is under way
 * @copied: lines of it that are copied
 * @ring: the ring that MIRROR_FOLLOW reads
 * @applied: records that MIRROR_FOLLOW has applied
 * @stale: the first line whose stale lanes are still to be emptied
 * @stale_end: the end of these lines
 * @serial: serial number of this copy of the lines
 * @version: records applied to this copy
 * @delta_log: the last of these (delta log), for views; @delta_log.record is @records
 * @records: room for @records_max; NULL: no view wants a delta log
 */
struct epf_mirror {
	int filter;
	__u32 order, shards;
	struct epf_rings *journal;
	struct ring *rings;
	struct epf_snap_header header;
	struct epf_lanes lanes;
	struct epf_state state;
	__u32 final;
	__u64 inserts;
	int fault;
	enum phase phase;
	int journals;
	int copies;
	const struct epf_line *from;
	__u64 copied;
	__u32 ring;
	long applied;
	__u64 stale;
	__u64 stale_end;
	__u64 serial;
	__u64 version;
	struct epf_delta_log delta_log;
	struct epf_journal_record *records;
	__u64 records_max;
};

/* ---- applying records ---- */

/* Empty the stale lanes of at most @bytes of lines. Return: bytes of lines done. */
static __u64 empty_some(struct epf_mirror *m, __u64 bytes)
{
	__u64 first = m->stale, end = m->stale_end;

	if (end - first > bytes / EPF_LINE_BYTES)
		end = first + bytes / EPF_LINE_BYTES;
	epf_lanes_scan(&m->lanes, first, end - first);
	m->stale = end;
	return (end - first) * EPF_LINE_BYTES;
}

/* Begin the next epoch. The stale lanes of the epoch before are all emptied. */
static void next_epoch(struct epf_mirror *m)
{
	struct epf_state *s = &m->state;

	s->epoch++;
	s->ring[s->epoch & 7].inserts = 0;
	s->ring[s->epoch & 7].start_ns = s->ring[(s->epoch - 1) & 7].start_ns;
	m->final &= ~(1u << (s->epoch & 7));
	epf_scan_chunk(s, epf_geom_lines(&m->lanes.geom), &m->stale, &m->stale_end);
	s->scanned++;
}

static bool retained(const struct epf_mirror *m, __u64 epoch)
{
	return epoch + EPF_LANES > m->state.epoch;
}

static void rotated(struct epf_mirror *m, const struct epf_journal_record *r)
{
	struct epf_state *s = &m->state;
	__u64 before = r->epoch - 1;

	if (retained(m, before)) {
		s->ring[before & 7].inserts = r->value;
		m->final |= 1u << (before & 7);
	}
	if (retained(m, r->epoch))
		s->ring[r->epoch & 7].start_ns = r->more;
}

static void mirror_count(struct epf_mirror *m, __u64 epoch)
{
	m->inserts++;
	if (retained(m, epoch) && !(m->final >> (epoch & 7) & 1))
		m->state.ring[epoch & 7].inserts++;
}

/* Set the key in each lane that the insertion wrote, except in lanes of epochs
 * that are no longer retained, because a younger epoch uses these.
 */
static void inserted(struct epf_mirror *m, const struct epf_journal_record *r)
{
	struct epf_probe p;
	__u64 x;
	__u32 age, j;

	epf_probe(&m->lanes, r->value, &p);
	for (age = 0; age < EPF_LANES; age++) {
		x = r->epoch - age;
		if (!(r->more >> (x & 7) & 1) || !retained(m, x))
			continue;
		for (j = 0; j < p.parts; j++)
			epf_lane_set(&p.line[j]->lane[x & 7], p.mask[j], x);
	}
}

/* Begin the delta log anew: a view has all its records, or the next one is missing. */
static void cut_delta_log(struct epf_mirror *m)
{
	m->delta_log.first = m->version;
	m->delta_log.nr = 0;
}

static void end_delta_log(struct epf_mirror *m)
{
	epf_cuda_forget(m->serial);
	free(m->records);
	m->records = NULL;
	memset(&m->delta_log, 0, sizeof(m->delta_log));
}

/* Allocate the delta log. It may be small: for a reader that lags further
 * behind, copying the lines is faster.
 */
static void begin_delta_log(struct epf_mirror *m)
{
	__u64 lines = epf_geom_lines(&m->lanes.geom);

	m->records_max = lines * EPF_LINE_BYTES / TRAIL_SHARE / sizeof(*m->records);
	m->records = malloc(m->records_max * sizeof(*m->records));
	m->delta_log.record = m->records;
	cut_delta_log(m);
}

/* Add @rec to the delta log, before it is applied. */
static void mirror_keep(struct epf_mirror *m, const struct epf_journal_record *rec)
{
	if (m->delta_log.wanted && !m->records)
		begin_delta_log(m);
	if (m->records && m->delta_log.taken == m->version)
		cut_delta_log(m);
	m->version++;
	if (!m->records || m->delta_log.nr == m->records_max)
		cut_delta_log(m);
	else
		m->records[m->delta_log.nr++] = *rec;
}

/* Apply @rec, whose epoch has begun in the mirror. */
static void mirror_apply(struct epf_mirror *m, const struct ring *r,
			 const struct epf_journal_record *rec)
{
	mirror_keep(m, rec);
	if ((rec->seq & EPF_JOURNAL_KIND_MASK) == EPF_JOURNAL_ROTATE) {
		rotated(m, rec);
		return;
	}
	inserted(m, rec);
	/* Insertions that the header counts were recorded before it was taken. */
	if (r->next >= r->counted || rec->epoch > m->header.epoch_end)
		mirror_count(m, rec->epoch);
}

/* ---- following ---- */

static bool mirror_lost(const struct ring *r)
{
	return epf_load_acquire(&r->ring.shard->lost) != r->lost;
}

/* Begin a pass over the records that exist now. */
static void follow_begin(struct epf_mirror *m)
{
	__u32 i;

	for (i = 0; i < m->journal->args.shards; i++)
		m->rings[i].end = epf_load_acquire(&m->rings[i].ring.shard->next);
	m->ring = 0;
	m->applied = 0;
	m->phase = MIRROR_FOLLOW;
}

/* Approximate bytes that a step reads and writes for one record. */
static __u64 record_bytes(const struct epf_mirror *m)
{
	return sizeof(struct epf_journal_record) + m->lanes.geom.parts * EPF_LINE_BYTES;
}

/* Read and apply the next record of @r. If it does not exist yet, its writer is
 * running or interrupted, or the record is lost.
 * Return: bytes of work done; 0: not there yet; a negative errno.
 */
static long read_record(struct epf_mirror *m, struct ring *r)
{
	struct epf_journal_record rec;
	int got = epf_journal_get(&r->ring, r->next, &rec);

	if (got < 0)
		return got;
	if (!got)
		return mirror_lost(r) ? -EOVERFLOW : 0;
	if (rec.epoch > m->state.epoch) {
		next_epoch(m); /* the record is read again */
		return sizeof(rec);
	}
	mirror_apply(m, r, &rec);
	r->next++;
	m->applied++;
	return (long)record_bytes(m);
}

/* Do a piece of work of at most @bytes. Return: like read_record(); -ENOENT:
 * nothing is left to do.
 */
static long follow_some(struct epf_mirror *m, __u64 bytes)
{
	if (m->stale < m->stale_end)
		return (long)empty_some(m, bytes);
	while (m->ring < m->journal->args.shards && m->rings[m->ring].next >= m->rings[m->ring].end)
		m->ring++;
	if (m->ring == m->journal->args.shards)
		return -ENOENT;
	return read_record(m, &m->rings[m->ring]);
}

static int follow_step(struct epf_mirror *m)
{
	__u64 left = EPF_STEP_BYTES;
	long n;

	while (left >= record_bytes(m)) {
		n = follow_some(m, left);
		if (n == -ENOENT)
			return epf_rings_over(m->journal) ? -ESTALE : 0;
		if (n < 0)
			return (int)n;
		if (!n) {
			sched_yield();
			break;
		}
		left -= (__u64)n;
	}
	return 1;
}

/* ---- copying ---- */

static void drop_lines(struct epf_mirror *m)
{
	if (m->lanes.line)
		munmap(m->lanes.line, epf_geom_lines(&m->lanes.geom) * EPF_LINE_BYTES);
	m->lanes.line = NULL;
}

/* Allocate lines for the header's geometry. */
static int room_for_lines(struct epf_mirror *m)
{
	const struct epf_params *p = &m->header.params;
	void *at;

	drop_lines(m);
	end_delta_log(m);
	m->serial = epf_view_serial();
	m->version = 0;
	if (epf_geom_init(&m->lanes.geom, p->nr_lines, p->lines_per_key, p->bits_per_key))
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

/* Take epochs and counts from the header, as they were at @now. */
static void take_state(struct epf_mirror *m, __u64 now)
{
	const struct epf_snap_header *h = &m->header;
	__u32 i;

	m->state.epoch = h->epoch_end;
	m->state.scanned = h->epoch_end;
	for (i = 0; i < EPF_LANES; i++) {
		m->state.ring[i].inserts = h->epochs[i].inserts;
		m->state.ring[i].start_ns = h->epochs[i].age_ns ? now - h->epochs[i].age_ns : 0;
	}
	m->final = 0xff & ~(1u << (h->epoch_end & 7));
	m->inserts = h->inserts;
}

/* Copy a few lines at a time, so that their stale lanes are emptied while they
 * are in the cache.
 */
static void mirror_copy_lines(struct epf_mirror *m, __u64 lines)
{
	__u64 end = m->copied + lines, n;

	for (; m->copied < end; m->copied += n) {
		n = end - m->copied < CHUNK_LINES ? end - m->copied : CHUNK_LINES;
		epf_copy_words(m->lanes.line + m->copied, m->from + m->copied, n * EPF_LINE_BYTES);
		epf_lanes_scan(&m->lanes, m->copied, n);
	}
}

/* Note the journal's positions before anything is copied. @lost is read first,
 * so that a record that is lost later has a position above @next.
 */
static void note_positions(struct epf_mirror *m)
{
	__u32 i;

	for (i = 0; i < m->journal->args.shards; i++) {
		struct ring *r = &m->rings[i];

		r->lost = epf_load_acquire(&r->ring.shard->lost);
		r->next = epf_load_acquire(&r->ring.shard->next);
	}
}

static void note_counted(struct epf_mirror *m)
{
	__u32 i;

	for (i = 0; i < m->journal->args.shards; i++)
		m->rings[i].counted = epf_load_acquire(&m->rings[i].ring.shard->next);
}

static void copy_end(struct epf_mirror *m)
{
	struct epf_snap end = { .size = sizeof(end) };

	if (m->from)
		munmap((void *)(uintptr_t)m->from, epf_geom_lines(&m->lanes.geom) * EPF_LINE_BYTES);
	m->from = NULL;
	epf_call(m->filter, EPF_IOC_SNAP_END, &end);
	explicit_bzero(end.header.key, sizeof(end.header.key));
}

static int copy_from(struct epf_mirror *m, const struct epf_snap *s)
{
	__u64 bytes;
	void *at;
	int ret = s->journal == m->journal->args.serial ? room_for_lines(m) : -ESTALE;

	if (ret)
		return ret;
	take_state(m, s->now_ns);
	m->stale = m->stale_end = 0;
	m->copied = 0;
	bytes = epf_geom_lines(&m->lanes.geom) * EPF_LINE_BYTES;
	at = epf_map(m->filter, bytes, 0);
	if (at == MAP_FAILED)
		return -errno;
	m->from = at;
	return 0;
}

/* Begin to copy. The pin is as short as possible (1 ns), because epochs may end
 * during the copy.
 */
static int copy_begin(struct epf_mirror *m)
{
	struct epf_snap s = { .size = sizeof(s), .pin_ns = 1 };
	int ret;

	note_positions(m);
	ret = epf_call(m->filter, EPF_IOC_SNAP_BEGIN, &s);
	if (ret)
		return ret;
	note_counted(m);
	m->copies--;
	m->header = s.header;
	explicit_bzero(s.header.key, sizeof(s.header.key));
	ret = copy_from(m, &s);
	if (ret)
		copy_end(m);
	else
		m->phase = MIRROR_COPY;
	return ret ? ret : 1;
}

/* Copy some lines; after the last, follow the journal. */
static int mirror_copy_step(struct epf_mirror *m)
{
	__u64 left = epf_geom_lines(&m->lanes.geom) - m->copied;
	__u64 most = EPF_STEP_BYTES / EPF_LINE_BYTES;

	mirror_copy_lines(m, left < most ? left : most);
	if (left <= most) {
		copy_end(m);
		follow_begin(m);
	}
	return 1;
}

/* ---- the journal ---- */

static void end_journal(struct epf_mirror *m)
{
	free(m->rings);
	m->rings = NULL;
	if (m->journal)
		epf_rings_put(m->journal);
	m->journal = NULL;
}

static int begin_journal(struct epf_mirror *m)
{
	__u32 i;
	int ret;

	if (!epf_is_module(m->filter))
		return -EOPNOTSUPP; /* the ends of epochs are not recorded */
	ret = epf_rings_get(m->filter, m->order, m->shards, &m->journal);
	if (ret) {
		m->journal = NULL;
		return ret;
	}
	m->rings = calloc(m->journal->args.shards, sizeof(*m->rings));
	if (!m->rings)
		return -ENOMEM;
	for (i = 0; i < m->journal->args.shards; i++)
		m->rings[i].ring = m->journal->ring[i];
	return 0;
}

static int journal_again(struct epf_mirror *m)
{
	int ret;

	m->journals--;
	end_journal(m);
	ret = begin_journal(m);
	m->copies = COPIES;
	m->phase = MIRROR_BEGIN;
	return ret ? ret : 1;
}

/* ---- steps ---- */

/* Handle @err: try again unless all tries are used up. */
static int mirror_failed(struct epf_mirror *m, int err)
{
	if (err == -EOVERFLOW && m->copies) {
		m->phase = MIRROR_BEGIN;
		return 1;
	}
	if (err == -ESTALE && m->journals) {
		m->phase = MIRROR_JOURNAL;
		return 1;
	}
	m->phase = MIRROR_STILL;
	m->fault = err == -EOVERFLOW ? err : -ESTALE;
	return err;
}

int epf_mirror_step(struct epf_mirror *m)
{
	int ret = 0;

	switch (m->phase) {
	case MIRROR_STILL:
		return m->fault;
	case MIRROR_JOURNAL:
		ret = journal_again(m);
		break;
	case MIRROR_BEGIN:
		ret = copy_begin(m);
		break;
	case MIRROR_COPY:
		ret = mirror_copy_step(m);
		break;
	case MIRROR_FOLLOW:
		ret = follow_step(m);
		break;
	}
	if (ret < 0)
		return mirror_failed(m, ret);
	if (!ret) {
		m->phase = MIRROR_STILL;
		m->fault = 0;
	}
	return ret;
}

static int mirror_all_steps(struct epf_mirror *m)
{
	int ret;

	do
		ret = epf_mirror_step(m);
	while (ret > 0);
	return ret;
}

int epf_mirror_follow_begin(struct epf_mirror *m)
{
	if (m->fault)
		return m->fault;
	m->journals = m->copies = 0;
	follow_begin(m);
	return 0;
}

long epf_mirror_follow(struct epf_mirror *m)
{
	int ret = epf_mirror_follow_begin(m);

	if (!ret)
		ret = mirror_all_steps(m);
	return ret ? ret : m->applied;
}

void epf_mirror_renew_begin(struct epf_mirror *m)
{
	if (m->phase == MIRROR_COPY)
		copy_end(m);
	m->copies = m->journals = COPIES;
	m->phase = m->rings && !epf_rings_over(m->journal) ? MIRROR_BEGIN : MIRROR_JOURNAL;
}

int epf_mirror_renew(struct epf_mirror *m)
{
	epf_mirror_renew_begin(m);
	return mirror_all_steps(m);
}

int epf_mirror_begin(int filter, __u32 order, __u32 shards, struct epf_mirror **m)
{
	*m = calloc(1, sizeof(**m));
	if (!*m)
		return -ENOMEM;
	(*m)->filter = filter;
	(*m)->order = order;
	(*m)->shards = shards;
	epf_mirror_renew_begin(*m);
	return 0;
}

int epf_mirror_open(int filter, __u32 order, __u32 shards, struct epf_mirror **m)
{
	int ret = epf_mirror_begin(filter, order, shards, m);

	if (!ret)
		ret = mirror_all_steps(*m);
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
	if (m->phase == MIRROR_COPY)
		copy_end(m);
	end_journal(m);
	drop_lines(m);
	end_delta_log(m);
	explicit_bzero(&m->header, sizeof(m->header));
	free(m);
}

/* ---- views and headers ---- */

/* Query the description. The argument "unknown" changes nothing, and an old
 * module without this call yields "unknown".
 */
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
	epf_hash_init(&v->hash, m->header.key[0], m->header.key[1], m->header.params.hash);
	v->epoch = m->state.epoch;
	v->serial = m->serial;
	v->version = m->version;
	v->delta_log = (struct epf_delta_log *)(uintptr_t)&m->delta_log;
	v->desc = desc_of(m);
}

void epf_mirror_header(const struct epf_mirror *m, struct epf_snap_header *h)
{
	const struct epf_state *s = &m->state;
	__u64 now = epf_clock_ns();
	__u32 i;

	*h = m->header;
	h->epoch_begin = h->epoch_end = s->epoch;
	h->inserts = m->inserts;
	h->realtime_ns = epf_wall_ns();
	for (i = 0; i < EPF_LANES; i++) {
		h->epochs[i].inserts = s->ring[i].inserts;
		h->epochs[i].age_ns = s->ring[i].start_ns ? now - s->ring[i].start_ns : 0;
	}
}
