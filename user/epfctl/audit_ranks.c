// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An audit by all ranks of an MPI job. The work is cut into units: some million keys of a
 * column, lines (audit_lines.c), or a whole file of other records. Ranks take one unit after
 * another (ranks_next()), look its keys up in lines that each has, or that those of a node
 * share, and write the answers where they belong. Rank 0 gives the files their names when all
 * units are done.
 *
 * A unit that is done gets a mark (audit_marks.c), which has the sum of its answers. So
 * --resume after the death of a rank or of a machine repeats the units whose mark or
 * answers are not there, whatever of them reached the disk.
 */
#include "audit_ranks.h"

#include "common/torn.h"
#include "desc.h"
#include "jobs/sum.h"
#include "libepf/snap.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

/* Keys of a unit, without --unit: multiples of 8, so that units share no byte of a bitmap. By the
 * column's size alone, so that --resume takes the same units with any number of ranks.
 */
#define USUAL_MIN (4ULL << 20)
#define USUAL_MAX (64ULL << 20)
#define UNITS_WANTED 256u    /* so that ranks end at nearly the same time */
#define STEP_KEYS (4u << 20) /* between two calls of ranks_serve() */
#define SUM_BYTES (1u << 20)

/**
 * struct shared - the audit, as one rank sees it
 * @t: snapshot, of which only rank 0 has the file, unless it is of a locked kind
 * @copy: copies of its lines; automatic: it is of a locked kind
 * @fpr: estimated error, in rank 0
 * @engine: engine of this rank
 * @choice: reasons for it
 * @part: by file of keys
 * @mark: by file: what this rank has answered
 * @began_ns: when the first unit was taken
 */
struct shared {
	const struct audit_ask *ask;
	struct target t;
	enum ranks_copy copy;
	double fpr;
	const struct epf_engine *engine;
	struct epf_choice choice;
	struct part *part;
	struct audit_mark *mark;
	__u64 began_ns;
	struct meter meter;
};

/* Only rank 0 */

static char *name_beside(const char *name, const char *suffix)
{
	char *path = epf_file_resolve(name), *made = NULL;

	if (path && asprintf(&made, "%s%s", path, suffix) < 0)
		made = NULL;
	free(path);
	return made;
}

static int left_over(const char *path)
{
	return fail("%s is left of an interrupted audit: repeat the command with --resume, or "
		    "remove it to begin again",
		    path);
}

static int open_outputs(struct shared *s, int nr)
{
	struct part *p = &s->part[nr];
	bool known = !access(p->state_path, F_OK);
	int i;

	if (known && !s->ask->resume)
		return left_over(p->state_path);
	for (i = 0; i < AUDIT_ANSWERS; i++)
		if (audit_out_open(&p->out[i], i, s->ask->nr_out[i] ? s->ask->out[i][nr] : NULL,
				   true, known)) {
			while (i--)
				p->out[i].kept &= known;
			return EXIT_FAIL;
		}
	audit_state_of(&p->state, s->ask, &s->t, &p->st, p->out);
	job_bitmap_sum(p->out[OUT_BITMAP].fd, 0, &p->state.bitmap);
	p->fresh = !known;
	if (known && audit_state_load(&p->state, p->state_path, p->out))
		return EXIT_FAIL;
	if (!known && audit_state_save(&p->state, p->state_path, p->out))
		return fail("%s: cannot be written", p->state_path);
	p->marks = audit_marks_make(p->state_path, known);
	return p->marks < 0 ? fail_errno(-p->marks, "%s" AUDIT_MARKS ": %m", p->state_path) : 0;
}

static int open_snapshot_file(struct shared *s)
{
	struct meter meter = { .what = "reading the snapshot" };
	const struct target_ask what = {
		.name = s->ask->target,
		.digests = s->ask->digests,
		.far = true, /* the copy is made here */
		.threads = s->ask->spec.threads,
		.progress = meter_update,
		.ctx = &meter,
	};
	struct rec_error e;
	int ret = target_open(&s->t, &what, &e);

	meter_end(&meter);
	if (ret)
		return fail("%s", e.text);
	if (s->t.place != TARGET_FILE)
		return fail("'%s' is a filter of this machine: save it, and audit the snapshot",
			    s->ask->target);
	return 0;
}

static int begin_first(struct shared *s)
{
	int ret = open_snapshot_file(s), i;

	if (ret)
		return ret;
	s->fpr = audit_error_of(&s->t, s->ask->spec.threads);
	audit_warn_of(&s->t, s->fpr);
	for (i = 0; i < s->ask->nr_keys && !ret; i++)
		ret = open_outputs(s, i);
	return ret;
}

/* All ranks */

static __u64 usual_unit(__u64 keys)
{
	__u64 unit = (keys / UNITS_WANTED + USUAL_MIN) & ~(USUAL_MIN - 1);

	return unit < USUAL_MAX ? unit : USUAL_MAX;
}

static void audit_ranks_cut_column(struct part *p, const struct audit_ask *ask)
{
	__u64 bytes = ask->spec.key_len ? ask->spec.key_len : sizeof(__u64);
	__u64 keys = (__u64)p->st.st_size / bytes;

	p->unit = ask->unit_keys ? ask->unit_keys : usual_unit(keys);
	p->units = (keys + p->unit - 1) / p->unit;
}

static int open_keys(struct shared *s)
{
	const struct audit_ask *ask = s->ask;
	int i;

	for (i = 0; i < ask->nr_keys; i++) {
		struct part *p = &s->part[i];

		p->fd = open_input(ask->keys[i], &p->st);
		if (p->fd < 0)
			return EXIT_FAIL;
		if (!S_ISREG(p->st.st_mode))
			return fail("%s is not a regular file: epfmpi reads regular files only",
				    ask->keys[i]);
		p->units = 1;
		p->unit = 0;
		if (ask->spec.records.format == REC_COLUMN)
			audit_ranks_cut_column(p, ask);
	}
	return 0;
}

static int name_outputs(struct shared *s)
{
	const struct audit_ask *ask = s->ask;
	int i, k;

	for (k = 0; k < ask->nr_keys; k++) {
		struct part *p = &s->part[k];
		char *bitmap = epf_file_resolve(ask->out[OUT_BITMAP][k]);
		bool named = bitmap && asprintf(&p->state_path, "%s" AUDIT_STATE, bitmap) >= 0;

		free(bitmap);
		if (!named)
			return fail_errno(errno, "%s: %m", ask->out[OUT_BITMAP][k]);
		for (i = 0; i < AUDIT_ANSWERS; i++) {
			if (!ask->nr_out[i])
				continue;
			p->path[i] = name_beside(ask->out[i][k], AUDIT_PARTIAL);
			p->piece[i] = name_beside(ask->out[i][k], AUDIT_PARTS);
			if (!p->path[i] || !p->piece[i])
				return fail_errno(errno, "%s: %m", ask->out[i][k]);
		}
	}
	return 0;
}

/* Ranks with other files under the same names would write the answers of other keys. All
 * files are compared, because all ranks have to make the same calls.
 */
static int same_keys(struct shared *s)
{
	int i, ret = 0;

	for (i = 0; i < s->ask->nr_keys; i++) {
		struct part *p = &s->part[i];
		off_t size = p->st.st_size;

		ranks_tell(&size, sizeof(size));
		ranks_tell(&p->state, sizeof(p->state));
		if (size != p->st.st_size)
			ret = fail("%s has %lld bytes here and %lld in rank 0", s->ask->keys[i],
				   (long long)p->st.st_size, (long long)size);
	}
	return ret;
}

/* The header and the lines of rank 0, for the ranks that have no file. */
static int share_lines(struct shared *s)
{
	struct target *t = &s->t;
	struct epf_key_desc desc = t->view.desc;
	struct epf_snap_header *h = &t->header;
	size_t bytes = epf_snap_lines_bytes(&h->params);
	void *lines;
	int err;

	s->copy = ranks_copy_choose(s->ask->copy, bytes);
	lines = ranks_memory(bytes, s->copy);
	if (ranks_failed(!lines))
		return lines ? EXIT_FAIL : fail("no memory for a copy of the snapshot");
	if (!ranks->rank) {
		memcpy(lines, t->view.lines, bytes);
		epf_view_close(&t->view);
		epf_snap_close(&t->file);
	}
	if (ranks_failed(torn_file()))
		return torn_file() ? audit_fails_torn(s->ask->keys[0]) : EXIT_FAIL;
	ranks_tell(&desc, sizeof(desc));
	ranks_tell_nodes(lines, bytes);
	err = epf_view_init(&t->view, lines, &h->params, h->key, h->epoch_end);
	if (err)
		return fail_errno(-err, "the snapshot of rank 0: %m");
	t->view.serial = epf_view_serial();
	t->view.desc = desc;
	return 0;
}

static int share_snapshot(struct shared *s)
{
	struct target *t = &s->t;

	ranks_tell(&t->header, sizeof(t->header));
	ranks_tell(&t->mtime_ns, sizeof(t->mtime_ns));
	if (t->header.params.kind == EPF_KIND_LANES) {
		t->place = TARGET_FILE;
		return share_lines(s);
	}
	return ranks->rank ? open_snapshot_file(s) : 0;
}

/* A rank that may use all CPUs leaves their share to the others of its node. */
static unsigned int audit_ranks_threads_of(const struct audit_ask *ask)
{
	cpu_set_t set;
	int cpus = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	if (ask->spec.threads)
		return ask->spec.threads;
	if (cpus >= sysconf(_SC_NPROCESSORS_ONLN))
		cpus /= ranks->nr_on_node;
	return cpus > 1 ? (unsigned int)cpus : 1;
}

/* What each rank has to look up, if all get as much. */
static __u64 keys_of_rank(const struct shared *s)
{
	__u64 all = 0;
	int i;

	for (i = 0; i < s->ask->nr_keys; i++)
		all += audit_keys_of(s->ask, &s->part[i].st);
	return all / (unsigned int)ranks->nr;
}

static void choose(struct shared *s, unsigned int threads)
{
	s->engine = s->ask->spec.engine;
	if (s->engine)
		return;
	epf_audit_choose(&s->choice, &s->t.view, keys_of_rank(s), false, threads, NULL);
	s->engine = s->choice.engine;
}

int audit_open_shared(struct ranks_file **file, const char *path)
{
	int err = ranks_open(file, path);

	if (err)
		fail("%s: %s", path, ranks_why());
	return ranks_failed(err) ? EXIT_FAIL : 0;
}

/* Where units write their answers. */
static const char *answers_path(const struct part *p, int what)
{
	return p->lines ? p->piece[what] : p->path[what];
}

static int open_files(struct shared *s)
{
	int i, k;

	for (k = 0; k < s->ask->nr_keys; k++) {
		struct part *p = &s->part[k];

		for (i = OUT_BITMAP; i <= OUT_AGES; i++)
			if (p->path[i] && audit_open_shared(&p->file[i], answers_path(p, i)))
				return EXIT_FAIL;
		if (ranks->rank)
			p->marks = audit_marks_open(p->state_path);
		if (ranks_failed(p->marks < 0))
			return p->marks < 0 ? fail_errno(-p->marks, "%s" AUDIT_MARKS ": %m",
							 p->state_path) :
					      EXIT_FAIL;
		ranks_tell(&p->fresh, sizeof(p->fresh));
	}
	return 0;
}

/* A unit failed, so the job ends; --resume can use parts of which a unit is done. A unit that
 * another rank ends meanwhile may be forgotten: that costs its work.
 */
static void forget_unanswered(const struct shared *s)
{
	const struct part *p;
	struct stat st;
	int i;

	for (p = s->part; p < s->part + s->ask->nr_keys; p++) {
		if (!p->fresh || fstat(p->marks, &st) || st.st_size)
			continue;
		audit_forget(p);
		for (i = 0; i < AUDIT_ANSWERS; i++)
			if (p->path[i])
				unlink(p->path[i]);
	}
}

/* One unit */

/**
 * struct unit - a unit being answered
 * @s: the audit
 * @p: its file
 * @file: number of that
 * @nr: its number among those of the file
 * @first: its first key, or of lines its first byte
 * @keys: number of keys, of a column
 * @records: where its records begin
 * @ages: sum of its ages
 * @records_fd: its records; -1: none
 */
struct unit {
	struct shared *s;
	struct part *p;
	int file;
	__u64 nr;
	__u64 first;
	__u64 keys;
	__u64 records;
	XXH3_state_t *ages;
	int records_fd;
};

static int put_bits(void *ctx, const void *data, size_t bytes, __u64 at)
{
	const struct unit *u = ctx;

	return ranks_write(u->p->file[OUT_BITMAP], data, bytes, at);
}

static int put_ages(void *ctx, const void *data, size_t bytes, __u64 at)
{
	const struct unit *u = ctx;

	XXH3_64bits_update(u->ages, data, bytes);
	return ranks_write(u->p->file[OUT_AGES], data, bytes, at);
}

/* The sum of what a file has there. Return: false: it has less. */
static bool sum_there(struct ranks_file *file, __u64 at, __u64 bytes, __u64 *sum)
{
	XXH3_state_t *state = XXH3_createState();
	unsigned char *piece = malloc(SUM_BYTES);
	bool whole = state && piece;
	__u64 n;

	if (state)
		XXH3_64bits_reset(state);
	for (; whole && bytes; at += n, bytes -= n) {
		n = bytes < SUM_BYTES ? bytes : SUM_BYTES;
		whole = ranks_read(file, piece, n, at) == (long long)n;
		if (whole)
			XXH3_64bits_update(state, piece, n);
	}
	*sum = whole ? XXH3_64bits_digest(state) : 0;
	XXH3_freeState(state);
	free(piece);
	return whole;
}

/* The same of the records, which may lie behind a hole that another rank has left. */
static bool sum_records(const struct unit *u, __u64 bytes, __u64 *sum)
{
	XXH3_state_t *state = XXH3_createState();
	bool whole = state && !XXH3_64bits_reset(state) &&
		     !sum_bits(u->records_fd, u->records, bytes, state);

	*sum = whole ? XXH3_64bits_digest(state) : 0;
	XXH3_freeState(state);
	return whole;
}

/* Did an interrupted audit answer the unit, and are the answers there? */
static bool unit_done(const struct unit *u, struct audit_mark *m)
{
	__u64 sum;

	if (!u->s->ask->resume || !audit_marks_get(u->p->marks, u->nr, u->p->unit, &u->p->state, m))
		return false;
	if (u->keys && u->keys != m->mark.keys)
		return false;
	if (!sum_there(u->p->file[OUT_BITMAP], u->first / 8, (m->mark.keys + 7) / 8, &sum) ||
	    sum != m->bitmap)
		return false;
	if (u->p->file[OUT_AGES] &&
	    (!sum_there(u->p->file[OUT_AGES], u->first, m->mark.keys, &sum) || sum != m->ages))
		return false;
	return u->records_fd < 0 ||
	       (sum_records(u, m->mark.record_bytes, &sum) && sum == m->records);
}

/* A reader takes what was cut off for the end of its part. */
static bool shrunk(const struct unit *u)
{
	struct stat st;

	return fstat(u->p->fd, &st) || st.st_size < u->p->st.st_size;
}

static int ask_unit(struct unit *u, struct job *job, struct audit_mark *m)
{
	struct job_state state;
	struct rec_error e;
	int more, err;

	do {
		more = job_step(job, STEP_KEYS, NULL, &e);
		if (more < 0)
			return fail("%s: %s", u->s->ask->keys[u->file], e.text);
		if (torn_file())
			return audit_fails_torn(u->s->ask->keys[u->file]);
		ranks_serve();
		if (interrupted)
			return 0;
	} while (more);
	if (shrunk(u))
		return fail("%s: truncated while being read", u->s->ask->keys[u->file]);
	job_state(job, &state);
	m->mark = state.mark;
	m->keyless = state.keyless;
	m->bad = state.bad;
	m->left_out = state.left_out;
	m->spanning = state.spanning;
	m->format = state.format;
	m->bitmap = state.bitmap_xxh3;
	m->ages = XXH3_64bits_digest(u->ages);
	err = u->records_fd >= 0 ? epf_file_sync(u->records_fd) : 0;
	if (!err && u->records_fd >= 0 && !sum_records(u, m->mark.record_bytes, &m->records))
		err = -EIO;
	if (err)
		return fail_errno(err, "%s: %m", answers_path(u->p, OUT_RECORDS));
	err = audit_marks_put(u->p->marks, u->nr, u->p->unit, &u->p->state, m);
	return err ? fail_errno(err, "%s" AUDIT_MARKS ": %m", u->p->state_path) : 0;
}

static struct rec_part part_of(const struct unit *u)
{
	__u64 end = (__u64)u->p->st.st_size, to = u->first + u->p->unit;

	return (struct rec_part){ u->first, to < end ? to : end };
}

/* Return: 0; -1 with errno set. */
static int place_records(const struct unit *u)
{
	if (u->p->lines)
		return lseek(u->records_fd, (off_t)u->records, SEEK_SET) < 0 ? -1 : 0;
	return ftruncate(u->records_fd, 0);
}

static int answer_unit(struct unit *u, struct audit_mark *m)
{
	const struct job_sink sink = { .bits = put_bits, .ages = put_ages, .ctx = u };
	struct job_spec spec = u->s->ask->spec;
	struct rec_error e;
	struct job *job;
	int ret;

	spec.keys_fd = u->p->fd;
	spec.bitmap_fd = 0;
	spec.ages_fd = u->p->file[OUT_AGES] ? 0 : -1;
	spec.records_fd = u->records_fd;
	spec.engine = u->s->engine;
	spec.threads = audit_ranks_threads_of(u->s->ask);
	spec.first = u->first;
	spec.nr = u->keys;
	spec.sink = &sink;
	if (u->p->lines)
		spec.records.part = part_of(u);
	if (u->records_fd >= 0 && place_records(u))
		return fail_errno(errno, "%s: %m", answers_path(u->p, OUT_RECORDS));
	if (lseek(u->p->fd, 0, SEEK_SET) || job_open(&job, &u->s->t.view, &spec, &e))
		return fail("%s: %s", u->s->ask->keys[u->file], e.text);
	ret = ask_unit(u, job, m);
	job_close(job);
	return ret;
}

static int do_unit(struct unit *u)
{
	struct audit_mark m = { 0 };
	const char *records = answers_path(u->p, OUT_RECORDS);
	int ret = 0;

	u->records_fd = records ? open(records, O_RDWR | O_NOFOLLOW | O_CLOEXEC) : -1;
	if (records && u->records_fd < 0)
		return fail_errno(errno, "%s: %m", records);
	u->ages = XXH3_createState();
	if (!u->ages)
		ret = fail("out of memory");
	else if (XXH3_64bits_reset(u->ages), unit_done(u, &m))
		m.resumed = m.mark.keys;
	else
		ret = answer_unit(u, &m);
	XXH3_freeState(u->ages);
	if (u->records_fd >= 0 && close(u->records_fd) && !ret)
		ret = fail_errno(errno, "%s: %m", records);
	audit_mark_add(&u->s->mark[u->file], &m);
	if (u->p->lines) {
		u->p->count[u->nr] = m.mark.keys;
		u->p->count[u->p->units + u->nr] = m.mark.record_bytes;
	}
	return ret;
}

/* Unit @nr of all. Return: false: there are not so many. */
static bool find_unit(struct shared *s, __u64 nr, struct unit *u)
{
	const struct audit_ask *ask = s->ask;
	__u64 bytes = ask->spec.key_len ? ask->spec.key_len : sizeof(__u64), all;

	*u = (struct unit){ .s = s };
	for (; u->file < ask->nr_keys && nr >= s->part[u->file].units; u->file++)
		nr -= s->part[u->file].units;
	if (u->file == ask->nr_keys)
		return false;
	u->p = &s->part[u->file];
	u->nr = nr;
	u->first = nr * u->p->unit;
	if (u->p->lines) {
		u->records = audit_records_at(u->p, nr);
	} else if (u->p->unit) {
		all = (__u64)u->p->st.st_size / bytes;
		u->keys = all - u->first < u->p->unit ? all - u->first : u->p->unit;
	}
	return true;
}

static void do_units(struct shared *s)
{
	__u64 all = 0;
	struct unit u;
	int i;

	for (i = 0; i < s->ask->nr_keys; i++)
		all += s->part[i].units;
	while (!interrupted) {
		__u64 nr = ranks_next();

		if (!find_unit(s, nr, &u))
			break;
		if (do_unit(&u)) {
			forget_unanswered(s);
			ranks_give_up(EXIT_FAIL);
		}
		if (!ranks->rank)
			meter_update(&s->meter, nr + 1, all);
	}
}

/* Results, in rank 0 */

static const char *copy_text(const struct shared *s)
{
	return s->copy == RANKS_COPY_SHARED ? "one copy for each node" : "one copy for each rank";
}

static enum rec_format audit_ranks_format_of(const struct shared *s, int nr)
{
	if (s->ask->spec.records.format == REC_COLUMN)
		return REC_COLUMN;
	return s->part[nr].lines ? s->part[nr].format : (enum rec_format)s->mark[nr].format;
}

static int end_part(struct shared *s, int nr)
{
	struct part *p = &s->part[nr];
	const struct audit_mark *m = &s->mark[nr];
	struct audit_result r = {
		.keys = s->ask->keys[nr],
		.state = { .mark = m->mark,
			   .keyless = m->keyless,
			   .bad = m->bad,
			   .left_out = m->left_out,
			   .spanning = m->spanning,
			   .format = audit_ranks_format_of(s, nr),
			   .engine = s->engine },
		.epoch = s->t.view.epoch,
		.fpr = s->fpr,
		.resumed = m->resumed,
		.took_ns = now_ns() - s->began_ns,
	};
	int i;

	snprintf(r.why, sizeof(r.why), "%d ranks, %s; %.100s", ranks->nr, copy_text(s),
		 s->ask->spec.engine ? "as asked" : s->choice.why);
	for (i = 0; i < AUDIT_ANSWERS; i++)
		r.out[i] = s->ask->nr_out[i] ? s->ask->out[i][nr] : NULL;
	if (job_bitmap_sum(p->out[OUT_BITMAP].fd, m->mark.keys, &r.state.bitmap_xxh3))
		return fail("%s is shorter than its answers", p->path[OUT_BITMAP]);
	if (audit_outs_commit(p->out))
		return EXIT_FAIL;
	audit_forget(p); /* also pieces of an interrupted audit that had other units */
	audit_report(&s->t, &r);
	return 0;
}

/* All units are done, or an interrupted rank has left some. */
static int finish(struct shared *s)
{
	bool stopped = ranks_failed(interrupted);
	int i, k, ret = 0;

	for (k = 0; k < s->ask->nr_keys; k++)
		for (i = OUT_BITMAP; i <= OUT_AGES; i++)
			if (s->part[k].file[i] && ranks_close(s->part[k].file[i]) && !ret)
				ret = fail("%s: %s", s->part[k].path[i], ranks_why());
	if (ranks_failed(ret))
		return EXIT_FAIL;
	ranks_add((__u64 *)s->mark, (size_t)s->ask->nr_keys * sizeof(*s->mark) / sizeof(__u64));
	for (k = 0; k < s->ask->nr_keys && !stopped; k++)
		if (s->part[k].lines && audit_join_lines(&s->part[k]))
			return EXIT_FAIL;
	if (ranks->rank)
		return stopped ? EXIT_FAIL : 0;
	if (stopped)
		return fail("stopped; repeat the command with --resume to continue");
	for (k = 0; k < s->ask->nr_keys && !ret; k++)
		ret = end_part(s, k);
	return ret;
}

/* Nothing is open yet. */
static void audit_ranks_begin_part(struct part *p)
{
	int i;

	p->fd = p->marks = -1;
	for (i = 0; i < AUDIT_OUTS; i++)
		p->out[i].fd = -1;
}

/* @began: units may have been answered, which --resume can use. */
static void close_part(struct part *p, bool began)
{
	int i;

	if (p->fresh && !began)
		audit_forget(p);
	for (i = 0; i < AUDIT_ANSWERS; i++) {
		p->out[i].kept &= !p->fresh || began;
		if (p->out[i].name)
			audit_out_close(&p->out[i]);
		free(p->path[i]);
		free(p->piece[i]);
	}
	free(p->count);
	free(p->state_path);
	if (p->marks >= 0)
		close(p->marks);
	if (p->fd >= 0)
		close(p->fd);
}

static int begin(struct shared *s)
{
	int ret = open_keys(s);

	if (!ret)
		ret = name_outputs(s);
	return ret || ranks->rank ? ret : begin_first(s);
}

static int cut_lines(struct shared *s)
{
	int i, ret = 0;

	for (i = 0; i < s->ask->nr_keys && !ret; i++)
		ret = audit_cut_lines(&s->part[i], s->ask, &s->t);
	return ret;
}

/* Each step ends when all ranks have done it. Rank 0 begins, so that what all find wrong is
 * said once.
 */
static int audit_shared(struct shared *s)
{
	if (ranks_failed(!ranks->rank && begin(s)))
		return EXIT_FAIL;
	ranks_speak();
	if (ranks_failed(ranks->rank && begin(s)))
		return EXIT_FAIL;
	if (ranks_failed(same_keys(s)) || ranks_failed(share_snapshot(s)))
		return EXIT_FAIL;
	choose(s, audit_ranks_threads_of(s->ask));
	if (cut_lines(s) || ranks_failed(open_files(s)))
		return EXIT_FAIL;
	s->began_ns = now_ns();
	do_units(s);
	meter_end(&s->meter);
	return finish(s);
}

static int audit_not_offered(const struct audit_ask *ask)
{
	int i;

	if (ask->agent || ask->probe || ask->nr_out[OUT_PLOT] || ask->place != TARGET_AUTO)
		return fail(
			"--agent, --probe, --plot and --place do not run under MPI: use epfctl");
	if (!ask->nr_out[OUT_BITMAP])
		return fail("under MPI each KEYS needs a --bitmap FILE");
	for (i = 0; i < ask->nr_out[OUT_RECORDS]; i++)
		if (!strcmp(ask->out[OUT_RECORDS][i], "-") ||
		    epf_file_is_stream(ask->out[OUT_RECORDS][i]))
			return fail("--records %s: under MPI records need a regular file",
				    ask->out[OUT_RECORDS][i]);
	return 0;
}

int audit_by_ranks(const struct audit_ask *ask, int ret)
{
	struct shared s = { .ask = ask, .meter = { .what = "asking", .unit = "units" } };
	int i;

	ret = ret && !ranks->rank ? ret : audit_not_offered(ask);
	s.part = calloc((size_t)ask->nr_keys, sizeof(*s.part));
	s.mark = calloc((size_t)ask->nr_keys, sizeof(*s.mark));
	if (!ret && (!s.part || !s.mark))
		ret = fail("out of memory");
	for (i = 0; s.part && i < ask->nr_keys; i++)
		audit_ranks_begin_part(&s.part[i]);
	if (!ranks_failed(ret))
		ret = audit_shared(&s);
	else
		ret = EXIT_FAIL;
	for (i = 0; s.part && i < ask->nr_keys; i++)
		close_part(&s.part[i], s.began_ns != 0);
	free(s.part);
	free(s.mark);
	return ret;
}
