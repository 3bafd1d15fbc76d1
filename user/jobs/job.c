// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One audit. Keys come as a column, which engines read where it is mapped, or as
 * batches of records. In both cases answers pass through buffers for one step, so
 * memory does not depend on the number of keys.
 */
#include "jobs/job.h"
#include "jobs/sum.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/clock.h"
#include "atomic_file.h"
#include "desc.h"
#include "epf/keydesc.h"
#include "records/rec_error.h"

#define STEP_MAX (16u << 20)  /* keys of one call of an engine */
#define STEP_FAR (128u << 20) /* likewise of a GPU, which must be kept busy */
#define STEP_FAR_AGES (32u << 20)
#define OUT_BYTES (1u << 20)   /* records buffered before they are written */
#define PIECE_BYTES (4u << 20) /* read buffer of a job whose column is not mapped */
#define SUM_BYTES (4u << 20)   /* of an old bitmap, summed in one step */
#define CHUNK_FIRST 8192u      /* keys of the first chunk of a job; the chunk */
#define CHUNK_NS 5000000ULL    /* doubles until one takes this long */

/**
 * struct job - an audit in progress
 * @choice: choice of the engine, unless one was requested
 * @fallen: see struct job_state
 * @lost: GPUs that had failed before, while others went on
 * @column: keys, or
 * @piece: keys of a step, if the column is not mapped
 * @source: source of records
 * @batch: current batch of @source
 * @room: number of keys that @bitmap and @ages have room for
 * @bitmap: bits of a step, and one byte more
 * @ages: ages of a step; NULL: not needed
 * @tail: the last @mark.keys mod 8 bits, which do not fill a byte yet
 * @sum: checksum of the full bytes of the bitmap
 * @old: bytes of the bitmap of an interrupted audit that are not summed yet
 * @end: room for a copy of @sum
 * @out: records that are not written yet
 * @out_len: bytes of them
 * @known: records still to be skipped, which the interrupted audit looked up
 * @prologue: the prologue of @records_fd is not written yet
 * @chunk: keys of a column looked up between two checks of the pace
 * @ended: there are no more keys
 */
struct job {
	const struct epf_view *view;
	struct job_spec spec;
	struct job_state state;
	struct epf_choice choice;
	char fallen[EPF_WHY_LEN];
	__u64 lost;
	struct epf_column column;
	unsigned char *piece;
	struct rec_source *source;
	struct rec_batch *batch;
	__u64 room;
	unsigned char *bitmap;
	unsigned char *ages;
	unsigned char tail;
	XXH3_state_t *sum;
	__u64 old;
	XXH3_state_t *end;
	unsigned char *out;
	size_t out_len;
	__u64 known;
	bool prologue;
	__u64 chunk;
	bool ended;
};

/* Only present keys have an age, so the counts by age add up to @present. */
bool job_checkpoint_sound(const struct job_checkpoint *m)
{
	__u64 rest = m->present;
	unsigned int i;

	for (i = 0; i < EPF_AGES_MAX; i++) {
		if (m->ages_of[i] > rest)
			return false;
		rest -= m->ages_of[i];
	}
	return !rest && m->present <= m->keys;
}

/* Output */

static int job_out_fails(const char *what, int err, struct rec_error *e)
{
	return rec_error_set(e, err, "cannot write the %s: %s", what, strerror(-err));
}

static int flush_records(struct job *j, struct rec_error *e)
{
	int ret = epf_file_write(j->spec.records_fd, j->out, j->out_len);

	j->out_len = 0;
	return ret ? job_out_fails("records", ret, e) : 0;
}

/* Buffer a record, or write it directly if it is larger than the buffer. */
static int job_put_record(struct job *j, const struct rec_raw *raw, struct rec_error *e)
{
	int ret = 0;

	if (j->out_len + raw->len > OUT_BYTES)
		ret = flush_records(j, e);
	if (ret)
		return ret;
	j->state.mark.record_bytes += raw->len;
	if (raw->len > OUT_BYTES) {
		ret = epf_file_write(j->spec.records_fd, raw->data, raw->len);
		return ret ? job_out_fails("records", ret, e) : 0;
	}
	memcpy(j->out + j->out_len, raw->data, raw->len);
	j->out_len += raw->len;
	return 0;
}

/* @bitmap holds the bits of @n keys from bit 0 on: shift them behind the tail.
 * Return: the number of bytes then; the last one may be the new tail.
 */
static size_t job_join_bits(struct job *j, __u64 n)
{
	unsigned int shift = j->state.mark.keys % 8;
	size_t bytes = (n + 7) / 8, i;
	unsigned int held = j->tail;

	if (!shift)
		return bytes;
	for (i = 0; i < bytes; i++) {
		held |= (unsigned int)j->bitmap[i] << shift;
		j->bitmap[i] = (unsigned char)held;
		held >>= 8;
	}
	j->bitmap[bytes] = (unsigned char)held;
	return (shift + n + 7) / 8;
}

/* Write @bytes of the bitmap or of the ages, if there is an output for them. */
static int job_put(const struct job *j, int fd, const void *data, size_t bytes, __u64 at)
{
	const struct job_sink *s = j->spec.sink;

	if (fd < 0)
		return 0;
	if (s)
		return (data == j->ages ? s->ages : s->bits)(s->ctx, data, bytes, at);
	return epf_file_write_at(fd, data, bytes, (off_t)at);
}

/* Write what the engine left in the buffers, and advance the mark. */
static int put_answer(struct job *j, const struct epf_answer *a, __u64 n, struct rec_error *e)
{
	struct job_checkpoint *m = &j->state.mark;
	size_t bytes = job_join_bits(j, n);
	__u64 full = (m->keys + n) / 8 - m->keys / 8;
	unsigned int age;
	__u64 at = j->spec.first + m->keys; /* of all keys of the column */
	int ret = job_put(j, j->spec.bitmap_fd, j->bitmap, bytes, at / 8);

	if (ret)
		return job_out_fails("bitmap", ret, e);
	ret = job_put(j, j->spec.ages_fd, j->ages, n, at);
	if (ret)
		return job_out_fails("ages", ret, e);
	XXH3_64bits_update(j->sum, j->bitmap, full);
	j->tail = full < bytes ? j->bitmap[full] : 0;
	m->keys += n;
	m->present += a->present;
	for (age = 0; age < EPF_AGES_MAX; age++)
		m->ages_of[age] += a->ages_of[age];
	return 0;
}

/* If the GPU failed, the CPU takes over. Return: whether it does. */
static bool fall_back(struct job *j, int err)
{
	const struct epf_engine *near = epf_engine_near();

	if (!epf_engine_far(j->state.engine) || err == -ECANCELED || err == -EINVAL ||
	    err == -EOPNOTSUPP)
		return false;
	snprintf(j->fallen, sizeof(j->fallen), "engine %s: %.100s; continuing with %s",
		 j->state.engine->name, epf_engine_why(j->state.engine), near->name);
	j->state.fallen = j->state.why = j->fallen;
	j->state.engine = near;
	return true;
}

/* Say so if a GPU has failed and others did its part. */
static void job_note_lost(struct job *j)
{
	__u64 lost = epf_engine_far(j->state.engine) ? epf_gpu_lost() : j->lost;

	if (lost == j->lost)
		return;
	j->lost = lost;
	snprintf(j->fallen, sizeof(j->fallen), "engine %s: %.100s; the other devices continue",
		 j->state.engine->name, epf_engine_why(j->state.engine));
	j->state.fallen = j->state.why = j->fallen;
}

static int job_ask(struct job *j, const struct epf_keys *keys, struct epf_answer *a,
		   struct rec_error *e)
{
	int ret;

	a->bitmap = j->bitmap;
	a->ages = j->ages;
	a->threads = j->spec.threads;
	ret = j->state.engine->query(j->view, keys, a);
	if (ret && fall_back(j, ret))
		ret = j->state.engine->query(j->view, keys, a);
	if (ret)
		return rec_error_set(e, ret, "engine %s: %s", j->state.engine->name,
				     strerror(-ret));
	job_note_lost(j);
	return 0;
}

/* Columns */

static int column_truncated(struct rec_error *e)
{
	return rec_error_set(e, -EBADMSG, "truncated while being read");
}

/* Read @keys->n keys from key @first on. */
static int read_piece(struct job *j, struct epf_keys *keys, __u64 first, size_t bytes,
		      struct rec_error *e)
{
	size_t want = keys->n * bytes, got = 0;

	keys->data = j->piece;
	while (got < want) {
		ssize_t n = pread(j->spec.keys_fd, j->piece + got, want - got,
				  (off_t)(first * bytes + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rec_error_set(e, -errno, "%s", strerror(errno));
		if (!n)
			return column_truncated(e);
		got += (size_t)n;
	}
	return 0;
}

/* Behind the end of a file its last page is mapped as zeros. What lies in later pages is the
 * business of whoever handles SIGBUS.
 */
static int check_column(const struct job *j, struct rec_error *e)
{
	struct stat st;

	if (j->column.map && !fstat(j->spec.keys_fd, &st) &&
	    (__u64)st.st_size < j->column.map_bytes)
		return column_truncated(e);
	return 0;
}

static int ask_column(struct job *j, __u64 n, struct rec_error *e)
{
	const struct epf_keys *all = &j->column.keys;
	size_t bytes = all->len ? all->len : sizeof(__u64);
	__u64 done = j->state.mark.keys;
	struct epf_keys keys = { .len = all->len, .of = &j->column, .little = true };
	struct epf_answer a = { 0 };
	int ret;

	n = n < 8 ? 8 : n & ~7ULL;
	n = n < j->room ? n : j->room;
	keys.n = all->n - done < n ? all->n - done : n;
	if (all->data)
		keys.data = (const char *)all->data + done * bytes;
	if (keys.n) {
		ret = j->piece ? read_piece(j, &keys, j->spec.first + done, bytes, e) : 0;
		if (!ret)
			ret = job_ask(j, &keys, &a, e);
		if (!ret)
			ret = check_column(j, e);
		if (!ret)
			ret = put_answer(j, &a, keys.n, e);
		if (ret)
			return ret;
	}
	j->state.bytes = j->state.mark.keys * bytes;
	j->ended = j->state.mark.keys == all->n;
	return 0;
}

/* Look up one chunk after another and check the pace in between, because the time per
 * key depends on the kind of filter and is not known.
 */
static int column_step(struct job *j, __u64 n, const struct job_pace *pace, struct rec_error *e)
{
	__u64 until = j->state.mark.keys + n;
	int ret = 0;

	if (!pace)
		return ask_column(j, n, e);
	do {
		__u64 left = until - j->state.mark.keys, began = now_ns();

		ret = ask_column(j, left < j->chunk ? left : j->chunk, e);
		if (now_ns() - began < CHUNK_NS && j->chunk < j->room)
			j->chunk *= 2;
	} while (!ret && !j->ended && j->state.mark.keys < until && !job_pace_over(pace));
	return ret;
}

static int column_fails(const struct job_spec *spec, int err, struct rec_error *e)
{
	struct stat st = { 0 };
	__u32 len = spec->key_len ? spec->key_len : sizeof(__u64);

	fstat(spec->keys_fd, &st);
	switch (err) {
	case -EBADMSG:
		return rec_error_set(e, err,
				     "truncated, or not a column of "
				     "%u-byte keys: %llu bytes are left over",
				     len, (unsigned long long)st.st_size % len);
	case -ESPIPE:
		return rec_error_set(e, err,
				     "not a regular file, which a column "
				     "must be");
	case -EINVAL:
		return rec_error_set(e, err, "a column's keys must have 1 to %u bytes",
				     EPF_KEY_MAX);
	default:
		return rec_error_set(e, err, "%s", strerror(-err));
	}
}

/* Use read() in place of the mapping: if somebody truncates the file, a read() comes up
 * short, while access to a mapping would raise SIGBUS.
 */
static int unmap_column(struct job *j)
{
	size_t bytes = j->spec.key_len ? j->spec.key_len : sizeof(__u64);
	struct epf_column c = j->column;
	__u64 most = PIECE_BYTES / bytes & ~7ULL;

	epf_column_close(&j->column);
	j->column.keys.n = c.keys.n;
	j->column.keys.len = c.keys.len;
	j->column.serial = 0;
	j->room = j->room < most ? j->room : most;
	j->piece = malloc(j->room * bytes + 1);
	return j->piece ? 0 : -ENOMEM;
}

/* Leave only the keys of the specification; the mapping stays whole. */
static int job_cut_column(struct job *j, struct rec_error *e)
{
	struct epf_keys *keys = &j->column.keys;
	size_t bytes = keys->len ? keys->len : sizeof(__u64);

	if (j->spec.first % 8 || j->spec.first > keys->n || j->spec.nr > keys->n - j->spec.first)
		return rec_error_set(e, -EINVAL, "fewer keys than the part to look up has");
	if (keys->data)
		keys->data = (const char *)keys->data + j->spec.first * bytes;
	keys->n = j->spec.nr ? j->spec.nr : keys->n - j->spec.first;
	return 0;
}

static int open_column(struct job *j, struct rec_error *e)
{
	int ret = epf_column_open_fd(&j->column, j->spec.keys_fd, j->spec.key_len);
	__u64 n;

	if (ret)
		return column_fails(&j->spec, ret, e);
	ret = job_cut_column(j, e);
	if (ret)
		return ret;
	n = j->column.keys.n;
	j->column.serial = j->spec.serial;
	if (j->state.mark.keys > n)
		return rec_error_set(e, -EINVAL,
				     "fewer keys than the interrupted "
				     "audit has looked up");
	j->state.keys_all = n;
	j->state.bytes_all = j->column.map_bytes;
	j->room = n < STEP_MAX ? n : STEP_MAX;
	if (j->spec.copy && unmap_column(j))
		return rec_error_set(e, -ENOMEM, "out of memory");
	return 0;
}

/* Records */

static int put_records(struct job *j, unsigned int first, struct rec_error *e)
{
	unsigned int i;
	int ret = 0;

	if (j->spec.records_fd < 0)
		return 0;
	for (i = first; i < j->batch->n && !ret; i++) {
		bool absent = j->ages[i - first] == EPF_AGE_ABSENT;

		if (absent == j->spec.absent)
			ret = job_put_record(j, &j->batch->raw[i], e);
	}
	return ret;
}

static void count_records(struct job *j)
{
	struct rec_count c = rec_count(j->source);

	j->state.bytes = c.bytes;
	j->state.keyless = c.keyless;
	j->state.bad = c.bad;
	j->state.left_out = c.left_out;
	j->state.spanning = c.spanning;
}

/* Look up the records of the batch from @first on. */
static int ask_batch(struct job *j, unsigned int first, struct rec_error *e)
{
	struct epf_keys keys = { .data = j->batch->digest + first, .n = j->batch->n - first };
	struct epf_answer a = { 0 };
	int ret = job_ask(j, &keys, &a, e);

	if (!ret)
		ret = put_records(j, first, e);
	return ret ? ret : put_answer(j, &a, keys.n, e);
}

static int next_batch(struct job *j, struct rec_error *e)
{
	int ret = rec_next(j->source, j->batch, e);

	if (!ret)
		count_records(j);
	return ret;
}

static int write_prologue(struct job *j, struct rec_error *e)
{
	struct rec_raw raw = rec_prologue(j->source);

	j->prologue = false;
	return j->spec.records_fd < 0 || !raw.len ? 0 : job_put_record(j, &raw, e);
}

static int few_records(struct rec_error *e)
{
	return rec_error_set(e, -EINVAL, "fewer records than the interrupted audit has looked up");
}

/* Records that the interrupted audit looked up are read again and skipped. */
static int job_batch_step(struct job *j, __u64 *got, struct rec_error *e)
{
	int ret = next_batch(j, e);
	unsigned int known;

	if (ret)
		return ret;
	known = j->known < j->batch->n ? (unsigned int)j->known : j->batch->n;
	j->known -= known;
	*got += j->batch->n;
	j->ended = j->batch->end;
	return known < j->batch->n ? ask_batch(j, known, e) : 0;
}

/* A step also ends when it has done the work that @n records usually take without
 * finding as many keys, and when its pace is over, which is checked after each batch.
 */
static int records_step(struct job *j, __u64 n, const struct job_pace *pace, struct rec_error *e)
{
	__u64 from = rec_count(j->source).work, got = 0;
	int ret = j->prologue ? write_prologue(j, e) : 0;

	if (ret)
		return ret;
	do
		ret = job_batch_step(j, &got, e);
	while (!ret && !j->ended && got < n &&
	       (rec_count(j->source).work - from) / JOB_RECORD_BYTES < n && !job_pace_over(pace));
	if (!ret && j->ended && j->known)
		return few_records(e);
	if (j->out_len) { /* also what came before an error */
		struct rec_error other;
		int err = flush_records(j, ret ? &other : e);

		ret = ret ? ret : err;
	}
	return ret;
}

static int open_records(struct job *j, struct rec_error *e)
{
	struct stat st = { 0 };
	int ret = rec_open(&j->source, j->spec.keys_fd, &j->spec.records, &j->view->hash, e);

	if (ret)
		return ret;
	j->state.format = rec_source_format(j->source);
	if (!rec_by_child(j->source) && !fstat(j->spec.keys_fd, &st) && S_ISREG(st.st_mode))
		j->state.bytes_all = (__u64)st.st_size;
	/* each record has at least one byte */
	if (S_ISREG(st.st_mode) && !rec_packed(j->source) && j->spec.from.keys > j->state.bytes_all)
		return few_records(e);
	j->room = REC_BATCH;
	j->prologue = !j->spec.from.keys && !j->spec.from.record_bytes &&
		      !j->spec.records.part.from;
	return 0;
}

/* Descriptions of keys */

/* Keys in hex, or of a column with the length of an address, may be addresses. */
static bool job_may_be_addresses(const struct job *j)
{
	if (j->source)
		return j->spec.records.hex;
	return j->spec.key_len == 4 || j->spec.key_len == 16;
}

static struct epf_key_desc asked_desc(const struct job *j)
{
	__u8 kind = j->spec.key_len ? EPF_KEYS_BYTES : EPF_KEYS_DIGEST;
	struct epf_key_desc d;

	d = j->source ? rec_source_desc(j->source) : epf_key_desc_plain(kind);
	if (d.kind == EPF_KEYS_BYTES && job_may_be_addresses(j) &&
	    j->view->desc.kind == EPF_KEYS_ADDRESS)
		d.kind = EPF_KEYS_ADDRESS;
	return d;
}

/* Refuse keys that are made of something else than the filter's: they are never
 * present.
 */
static int check_desc(const struct job *j, struct rec_error *e)
{
	struct epf_key_desc asked = asked_desc(j);
	char there[EPF_DESC_TEXT], wanted[EPF_DESC_TEXT];

	if (j->spec.records.as_filter && asked.kind == EPF_KEYS_PACKET &&
	    (asked.flags & EPF_PKT_ZONE))
		return rec_error_set(e, -EINVAL,
				     "the filter's keys include a zone: give "
				     "--key, --scope and so on, and the zone's number");
	if (j->spec.records.any_keys || epf_key_desc_serves(&j->view->desc, &asked))
		return 0;
	epf_key_desc_text(&j->view->desc, there);
	epf_key_desc_text(&asked, wanted);
	return rec_error_set(e, -EINVAL,
			     "the filter's keys are %s, those of the "
			     "input %s; use --any-keys to audit anyway",
			     there, wanted);
}

/* If no packet key was requested, use the filter's. */
static void settle_desc(struct job *j)
{
	if (j->spec.records.as_filter && j->view->desc.kind == EPF_KEYS_PACKET)
		j->spec.records.pkt = epf_key_desc_opts(&j->view->desc);
}

/* The job */

static int not_usable(const struct epf_engine *engine, struct rec_error *e)
{
	if (!epf_engine_far(engine))
		return rec_error_set(e, -EINVAL,
				     "engine %s needs instructions that "
				     "this CPU lacks: leave out --engine",
				     engine->name);
	return rec_error_set(e, -EINVAL,
			     "engine %s: %s; leave out --engine to use "
			     "the CPU",
			     engine->name, epf_engine_why(engine));
}

static int job_choose_engine(struct job *j, struct rec_error *e)
{
	__u64 n = j->source ? j->state.bytes_all / JOB_RECORD_BYTES : j->column.keys.n;

	if (j->source && !n)
		n = JOB_KEYS_UNKNOWN;
	j->lost = epf_gpu_lost();
	j->state.engine = j->spec.engine;
	j->state.why = "as asked";
	if (!j->spec.engine) {
		epf_audit_choose(&j->choice, j->view, n, false, j->spec.threads, NULL);
		j->state.engine = j->choice.engine;
		j->state.why = j->choice.why;
	} else if (!j->spec.engine->usable()) {
		return not_usable(j->spec.engine, e);
	} else if (!epf_engine_serves(j->spec.engine, j->view)) {
		return rec_error_set(e, -EOPNOTSUPP,
				     "engine %s supports only filters "
				     "of kind lanes: use --engine scalar",
				     j->spec.engine->name);
	}
	return 0;
}

static int job_make_room(struct job *j, struct rec_error *e)
{
	bool ages = j->spec.ages_fd >= 0 || j->spec.records_fd >= 0;

	j->sum = XXH3_createState();
	j->end = XXH3_createState();
	j->bitmap = malloc(j->room / 8 + 2);
	j->ages = ages ? malloc(j->room + 1) : NULL;
	j->batch = j->source ? malloc(sizeof(*j->batch)) : NULL;
	j->out = j->spec.records_fd >= 0 ? malloc(OUT_BYTES) : NULL;
	if (!j->sum || !j->end || !j->bitmap || (ages && !j->ages) || (j->source && !j->batch) ||
	    (j->spec.records_fd >= 0 && !j->out))
		return rec_error_set(e, -ENOMEM, "out of memory");
	XXH3_64bits_reset(j->sum);
	return 0;
}

static int short_bitmap(struct rec_error *e)
{
	return rec_error_set(e, -EINVAL,
			     "the bitmap is shorter than the interrupted audit left it");
}

static int job_sum_some(struct job *j, struct rec_error *e)
{
	__u64 n = j->old < SUM_BYTES ? j->old : SUM_BYTES;
	__u64 at = j->spec.from.keys / 8 - j->old;

	if (sum_bits(j->spec.bitmap_fd, at, n, j->sum))
		return short_bitmap(e);
	j->old -= n;
	return 0;
}

/* Resume from a mark: check the bitmap, and cut the records off at the mark. */
static int job_go_on(struct job *j, struct rec_error *e)
{
	const struct job_checkpoint *m = &j->spec.from;
	off_t records = (off_t)m->record_bytes;
	struct stat st;

	if (!m->keys)
		return 0;
	if (j->spec.bitmap_fd < 0)
		return rec_error_set(e, -EINVAL, "resuming needs the bitmap");
	if (fstat(j->spec.bitmap_fd, &st) || (__u64)st.st_size < m->keys / 8 ||
	    sum_read_tail(j->spec.bitmap_fd, m->keys, &j->tail))
		return short_bitmap(e);
	j->old = m->keys / 8;
	if (j->spec.records_fd >= 0 && (ftruncate(j->spec.records_fd, records) ||
					lseek(j->spec.records_fd, records, SEEK_SET) < 0))
		return job_out_fails("records", -errno, e);
	j->known = j->source ? m->keys : 0;
	return 0;
}

/* Larger steps for a GPU, if the column is mapped. */
static void take_more(struct job *j)
{
	__u64 most = j->spec.ages_fd >= 0 ? STEP_FAR_AGES : STEP_FAR;
	__u64 n = j->column.keys.n;

	if (!j->piece)
		j->room = n < most ? n : most;
}

static int job_set_up(struct job *j, struct rec_error *e)
{
	int ret;

	settle_desc(j);
	if (j->spec.records.format == REC_COLUMN)
		ret = open_column(j, e);
	else
		ret = open_records(j, e);
	if (!ret)
		ret = check_desc(j, e);
	if (!ret)
		ret = job_choose_engine(j, e);
	if (!ret && !j->source && epf_engine_far(j->state.engine))
		take_more(j);
	if (!ret)
		ret = job_make_room(j, e);
	return ret ? ret : job_go_on(j, e);
}

int job_open(struct job **job, const struct epf_view *view, const struct job_spec *spec,
	     struct rec_error *e)
{
	struct job *j;
	int ret;

	*job = NULL;
	if (spec->records.format == REC_COLUMN && spec->records_fd >= 0)
		return rec_error_set(e, -EINVAL,
				     "a column has no records: use "
				     "the bitmap");
	j = calloc(1, sizeof(*j));
	if (!j)
		return rec_error_set(e, -ENOMEM, "out of memory");
	j->view = view;
	j->spec = *spec;
	j->state.mark = spec->from;
	j->state.format = spec->records.format;
	j->chunk = CHUNK_FIRST;
	ret = job_set_up(j, e);
	if (ret)
		job_close(j);
	else
		*job = j;
	return ret;
}

int job_step(struct job *job, __u64 keys, const struct job_pace *pace, struct rec_error *e)
{
	int ret = job->old ? job_sum_some(job, e) : 0;

	if (ret)
		return ret;
	if (job->old)
		return 1;
	if (job->ended)
		return 0;
	ret = job->source ? records_step(job, keys, pace, e) : column_step(job, keys, pace, e);
	if (ret)
		return ret;
	if (!job->ended)
		return 1;
	job->state.keys_all = job->state.mark.keys;
	return 0;
}

void job_state(const struct job *job, struct job_state *state)
{
	*state = job->state;
	XXH3_copyState(job->end, job->sum);
	state->bitmap_xxh3 = sum_end(job->end, state->mark.keys, job->tail);
}

void job_close(struct job *job)
{
	if (!job)
		return;
	if (job->source)
		rec_close(job->source);
	epf_column_close(&job->column);
	XXH3_freeState(job->sum);
	XXH3_freeState(job->end);
	free(job->batch);
	free(job->piece);
	free(job->bitmap);
	free(job->ages);
	free(job->out);
	free(job);
}
