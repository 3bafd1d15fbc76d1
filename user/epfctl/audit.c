// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Audits, from the files that are named to the files that are written. */
#include "cmd_audit.h"
#include "plot.h"

#include "common/torn.h"
#include "jobs/agent.h"
#include "records/rec_error.h"
#include "desc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP_FIRST (64u << 10)    /* keys in the first step; then twice as many, */
#define STEP_NS (NS_PER_SEC / 10) /* until a step takes this long */
#define STEP_MOST (1ULL << 32)    /* or has this many */
#define SAVE_NS (5 * NS_PER_SEC)  /* from one saved state to the next */

/**
 * struct asked - the filter or snapshot that the keys of all files are looked up in
 * @ask: the command
 * @keys: approximate number of keys in all files
 * @agent: epfagent is asked first; if it cannot, the audit is done here
 * @snapshot_fd: for the agent
 * @t: as much as is known of it; its lines only if @open
 * @open: it is open here, with its lines
 * @fpr: estimated error; negative: unknown
 * @met: see struct audit_result
 */
struct asked {
	const struct audit_ask *ask;
	__u64 keys;
	bool agent;
	int snapshot_fd;
	struct target t;
	bool open;
	double fpr;
	struct epf_met met;
};

/**
 * struct auditing - the audit of one file of keys
 * @asked: what the keys are looked up in
 * @keys_fd: the file
 * @keys: its status
 * @out: the outputs
 * @state_path: where the state is saved; NULL: this audit cannot be resumed
 * @state: the state that was saved last
 * @saved: a state was saved, or was there before
 * @saved_ns: when
 * @r: the result
 */
struct auditing {
	const struct audit_ask *ask;
	struct asked *asked;
	int keys_fd;
	struct stat keys;
	struct audit_out out[AUDIT_OUTS];
	char *state_path;
	struct audit_state state;
	bool saved;
	__u64 saved_ns;
	struct meter meter;
	struct rec_error early;
	struct audit_result r;
};

/* Input */

__u64 audit_keys_of(const struct audit_ask *ask, const struct stat *st)
{
	__u32 len = ask->spec.key_len ? ask->spec.key_len : sizeof(__u64);

	if (!S_ISREG(st->st_mode))
		return JOB_KEYS_UNKNOWN;
	if (ask->spec.records.format != REC_COLUMN)
		len = JOB_RECORD_BYTES;
	return (__u64)st->st_size / len;
}

/* The files that an audit makes: an output, its name while it is incomplete, answers that are to be
 * joined, and the state beside a bitmap.
 */
static const char *const made_suffixes[] = { "", AUDIT_PARTIAL, AUDIT_PARTS, AUDIT_STATE,
					     AUDIT_STATE AUDIT_MARKS };

#define MADE_MAX (AUDIT_OUTS * AUDIT_KEYS_MAX * (int)ARRAY_SIZE(made_suffixes))

struct made {
	char *path[MADE_MAX];
	int nr;
};

static int add_made(struct made *m, int what, const char *name)
{
	char *path = epf_file_resolve(name);
	size_t i;

	/* if there is no path, opening the output reports why */
	for (i = 0; path && i < ARRAY_SIZE(made_suffixes); i++) {
		if (what != OUT_BITMAP && strstr(made_suffixes[i], AUDIT_STATE) &&
		    strcmp(made_suffixes[i], AUDIT_PARTS))
			continue;
		if (asprintf(&m->path[m->nr], "%s%s", path, made_suffixes[i]) < 0) {
			free(path);
			return fail("out of memory");
		}
		m->nr++;
	}
	free(path);
	return 0;
}

static int check_made(const struct audit_ask *ask, const struct made *m, int at)
{
	const char *path = m->path[at];
	bool lost = epf_file_same(path, ask->target);
	int i;

	for (i = 0; i < ask->nr_keys; i++)
		lost |= epf_file_same(path, ask->keys[i]);
	if (lost)
		return fail("%s would be overwritten: give the output another "
			    "name",
			    path);
	for (i = 0; i < at; i++)
		if (!strcmp(path, m->path[i]) || epf_file_same(path, m->path[i]))
			return fail("%s would be written twice: give each "
				    "output a name of its own",
				    path);
	return 0;
}

static int audit_check_names(const struct audit_ask *ask)
{
	struct made m = { .nr = 0 };
	int what, i, ret = 0;

	for (what = 0; what < AUDIT_OUTS; what++)
		for (i = 0; i < ask->nr_out[what] && !ret; i++)
			ret = add_made(&m, what, ask->out[what][i]);
	for (i = 0; i < m.nr && !ret; i++)
		ret = check_made(ask, &m, i);
	while (m.nr--)
		free(m.path[m.nr]);
	return ret;
}

/* Resume */

/* Can this audit be resumed after an interruption? */
static bool resumable(const struct auditing *a)
{
	const struct audit_out *records = &a->out[OUT_RECORDS];

	return a->asked->t.place == TARGET_FILE && S_ISREG(a->keys.st_mode) &&
	       a->out[OUT_BITMAP].file.temp && (!records->name || records->file.temp);
}

/* The first answers of an agent may be from before the mark from which it continues.
 * Only a later mark comes with a sum of the bitmap.
 */
static bool came_further(const struct auditing *a)
{
	return a->r.state.mark.keys > a->state.mark.keys;
}

static int audit_save_state(struct auditing *a)
{
	struct audit_state next = a->state;
	int err;

	if (!came_further(a))
		return 0;
	next.mark = a->r.state.mark;
	next.bitmap = a->r.state.bitmap_xxh3;
	err = audit_out_sum(&a->out[OUT_AGES], next.mark.keys, &next.ages);
	if (!err)
		err = audit_out_sum(&a->out[OUT_RECORDS], next.mark.record_bytes, &next.records);
	if (!err)
		err = audit_state_save(&next, a->state_path, a->out);
	if (!err)
		a->state = next;
	a->saved |= !err;
	a->saved_ns = now_ns();
	return err;
}

/* Cut the unfinished files to the length that the state records. */
static int cut(const struct auditing *a)
{
	const struct job_checkpoint *m = &a->state.mark;
	const off_t bytes[AUDIT_ANSWERS] = {
		[OUT_BITMAP] = (off_t)((m->keys + 7) / 8),
		[OUT_AGES] = (off_t)m->keys,
		[OUT_RECORDS] = (off_t)m->record_bytes,
	};
	int i;

	for (i = 0; i < AUDIT_ANSWERS; i++)
		if (a->out[i].fd >= 0 && ftruncate(a->out[i].fd, bytes[i]))
			return fail_errno(errno, "%s: %m", a->out[i].file.temp);
	return 0;
}

/* This runs before the outputs are opened, because files that a state describes must not
 * be removed, whatever fails.
 */
static int name_state(struct auditing *a)
{
	char *bitmap = a->r.out[OUT_BITMAP] ? epf_file_resolve(a->r.out[OUT_BITMAP]) : NULL;

	if (!bitmap)
		return 0; /* if it cannot be opened, that is reported later */
	if (asprintf(&a->state_path, "%s" AUDIT_STATE, bitmap) < 0)
		a->state_path = NULL;
	free(bitmap);
	if (!a->state_path)
		return fail("out of memory");
	a->saved = a->ask->resume && !access(a->state_path, F_OK);
	return 0;
}

static int find_state(struct auditing *a)
{
	if (!resumable(a)) {
		free(a->state_path);
		a->state_path = NULL;
		if (a->ask->resume)
			return fail("--resume needs a snapshot, keys in a "
				    "regular file, and --bitmap FILE");
		return 0;
	}
	audit_state_of(&a->state, a->ask, &a->asked->t, &a->keys, a->out);
	if (!a->ask->resume)
		return 0;
	if (audit_state_load(&a->state, a->state_path, a->out))
		return EXIT_FAIL;
	a->saved_ns = now_ns();
	a->r.resumed = a->state.mark.keys;
	return cut(a);
}

static int stopped(struct auditing *a)
{
	int i, err = 0;
	bool known;

	if (!a->state_path || !(a->state.mark.keys || came_further(a)))
		return fail("%s: stopped; nothing was written", a->r.keys);
	known = !access(a->state_path, F_OK);
	for (i = 0; i < AUDIT_ANSWERS && !err; i++)
		err = audit_out_keep(&a->out[i], known);
	if (!err)
		err = audit_save_state(a);
	if (err)
		return fail_errno(-err,
				  "%s: stopped, but the answers so far cannot be kept: "
				  "%s",
				  a->r.keys, strerror(-err));
	return fail("%s: stopped after %llu keys; repeat the command with --resume "
		    "to continue from there",
		    a->r.keys, a->state.mark.keys);
}

/* Work */

/* Return: non-zero: stop. */
static int audit_tell(struct auditing *a)
{
	const struct job_state *s = &a->r.state;

	if (a->ask->resume && now_ns() - a->saved_ns > SAVE_NS)
		audit_save_state(a); /* if it fails, the next one may succeed */
	if (a->meter.unit)
		return meter_update(&a->meter, s->mark.keys, s->keys_all);
	return meter_update(&a->meter, s->bytes, s->bytes_all);
}

static void keep_why(struct auditing *a, const char *why)
{
	snprintf(a->r.why, sizeof(a->r.why), "%s", why ? why : "");
}

/* Warn once of each failure: a step that was repeated by another engine, or by other
 * devices, has the same answers.
 */
static void tell_fall(struct auditing *a)
{
	const char *now = a->r.state.fallen;

	if (!now || (a->r.fallen && !strcmp(now, a->r.why)))
		return;
	warn("%s: %s", a->r.keys, now);
	keep_why(a, now);
	a->r.fallen = true;
}

int audit_fails_torn(const char *keys)
{
	return fail("%s, or the snapshot, was truncated or could not be read while it was audited",
		    keys);
}

/* A pipe cannot be read again: where a signal, or damage of what it brought, ends it, the answers
 * before that are written. Return: whether it is so.
 */
static bool ends_early(struct auditing *a, int more, const struct rec_error *e)
{
	bool signalled = interrupted && (more > 0 || more == -EINTR);

	if (S_ISREG(a->keys.st_mode) || !(signalled || more == -EBADMSG))
		return false;
	if (interrupted)
		rec_error_set(&a->early, 0, "interrupted");
	else
		a->early = *e;
	return true;
}

/* Report that the outputs have only what came before. */
static int audit_ended_early(const struct auditing *a)
{
	return *a->early.text ? fail("%s: %s: the answers to %llu keys before it are written",
				     a->r.keys, a->early.text, a->r.state.mark.keys) :
				0;
}

static int ask_all(struct auditing *a, struct job *job)
{
	__u64 step = STEP_FIRST, began;
	struct rec_error e;
	int more;

	do {
		began = now_ns();
		more = job_step(job, step, NULL, &e);
		if (ends_early(a, more, &e)) {
			job_state(job, &a->r.state);
			return 0;
		}
		if (more == -EINTR && interrupted)
			return stopped(a);
		if (more < 0)
			return fail("%s: %s", a->r.keys, e.text);
		if (torn_file())
			return audit_fails_torn(a->r.keys);
		if (now_ns() - began < STEP_NS && step < STEP_MOST)
			step *= 2;
		job_state(job, &a->r.state);
		tell_fall(a);
		if (more && audit_tell(a))
			return stopped(a);
	} while (more);
	return 0;
}

/* Anything that fails before an output has its name leaves the state valid for another
 * try. After that the state describes more than is left, and is refused. So the state is
 * removed last, when everything that it was for is done.
 */
static int commit(struct auditing *a)
{
	if (audit_outs_commit(a->out))
		return EXIT_FAIL;
	if (a->saved)
		unlink(a->state_path);
	return 0;
}

/* Do the audit in this process. */
static int ask_here(struct auditing *a, struct job_spec *spec)
{
	const struct target *t = &a->asked->t;
	struct rec_error e;
	struct job *job;
	int ret;

	if (!a->ask->spec.engine)
		spec->engine = t->engine;
	if (job_open(&job, &t->view, spec, &e))
		return fail("%s: %s", a->r.keys, e.text);
	job_state(job, &a->r.state);
	audit_tell(a);
	ret = ask_all(a, job);
	keep_why(a, spec->engine && !a->ask->spec.engine && !a->r.fallen ? t->why : a->r.state.why);
	job_close(job);
	a->r.epoch = target_epoch(t);
	return ret;
}

/* By epfagent */

static int agent_tells(void *ctx, const struct job_state *state)
{
	struct auditing *a = ctx;

	a->r.state = *state;
	return audit_tell(a);
}

/* Is this error of the agent one that the audit in this process may not have? */
static bool agent_declines(const struct auditing *a, int err)
{
	switch (err) {
	case -ENOENT:
	case -ECONNREFUSED:
	case -EOPNOTSUPP:
	case -EACCES:
	case -EPERM:
	case -EBADF: /* open for appending */
	case -EBUSY:
	case -ENOSPC:
	case -EPROTO:
	case -E2BIG: /* a window of compressed keys that is too long for the agent */
		return !a->ask->agent;
	}
	return false;
}

static void audit_learn(struct asked *s, const struct agent_about *about)
{
	s->t.place = about->place;
	s->t.header = about->header;
	s->t.view.epoch = about->header.epoch_end;
	s->t.view.desc = about->desc;
	s->t.saturated = about->saturated;
	s->t.fpr_ppt = about->fpr_ppt;
	/* the agent knows that of a file, but does not tell it: see tell_about() there */
	s->fpr = about->place == TARGET_FILE ? -1 : ppt_to_rate(about->fpr_ppt);
}

void audit_warn_of(const struct target *t, double fpr)
{
	if (t->saturated)
		warn("'%s' is saturated: what is absent here is absent for "
		     "certain, but more of the present keys may be wrong than "
		     "the limit of %s allows%s%s%s",
		     t->header.params.name, fmt_ppt(t->header.params.limit_ppt).s,
		     fpr < 0 ? "" : " (estimated: ", fpr < 0 ? "" : fmt_rate(fpr).s,
		     fpr < 0 ? "" : ")");
	if (t->header.epoch_end - t->header.epoch_begin >= 24)
		warn("'%s' changed so fast during the copy that keys may be present "
		     "which left the window long ago",
		     t->header.params.name);
}

/* An agent shares the descriptors, and thus their file offsets. What it left unfinished is
 * read again from offset @keys, and written again from offset @records, in a file of
 * @bytes; negative: the file has no offset.
 */
struct places {
	off_t keys;
	off_t records;
	off_t bytes;
};

static struct places places_of(const struct auditing *a)
{
	int fd = a->out[OUT_RECORDS].fd;
	struct stat st = { 0 };

	fstat(fd, &st);
	return (struct places){ lseek(a->keys_fd, 0, SEEK_CUR), lseek(fd, 0, SEEK_CUR),
				st.st_size };
}

static int go_back(const struct auditing *a, const struct places *p)
{
	int fd = a->out[OUT_RECORDS].fd;
	struct stat st;

	if (p->keys >= 0 && lseek(a->keys_fd, p->keys, SEEK_SET) < 0)
		return fail_errno(errno, "%s: %m", a->r.keys);
	if (p->records < 0 || a->state.mark.keys)
		return 0; /* job_open() cuts the records */
	if (lseek(fd, p->records, SEEK_SET) < 0 || fstat(fd, &st) ||
	    (st.st_size > p->bytes && ftruncate(fd, p->bytes)))
		return fail_errno(errno, "%s: %m", a->out[OUT_RECORDS].name);
	return 0;
}

/* Return: 0; EXIT_FAIL with an error printed; -1: it must be done in this process. */
static int ask_agent(struct auditing *a, const struct job_spec *spec)
{
	struct asked *s = a->asked;
	struct agent_about about = { .place = s->t.place, .header = s->t.header };
	struct places places = places_of(a);
	struct job_state state;
	struct rec_error e;
	int err;

	audit_tell(a);
	err = agent_audit(a->ask->agent, s->snapshot_fd < 0 ? a->ask->target : NULL, s->snapshot_fd,
			  spec, &state, &about, agent_tells, a, &e);
	if (err == -ECANCELED && interrupted)
		return stopped(a);
	if (agent_declines(a, err))
		return go_back(a, &places) ? EXIT_FAIL : -1;
	if (err)
		return fail("%s: %s", a->r.keys, e.text);
	a->r.state = state;
	a->r.by_agent = true;
	tell_fall(a);
	keep_why(a, state.why);
	audit_learn(s, &about);
	audit_warn_of(&s->t, s->fpr);
	a->r.fpr = s->fpr;
	a->r.epoch = s->t.view.epoch;
	return 0;
}

/* All lines are counted if they have been read already. */
double audit_error_of(const struct target *t, unsigned int threads)
{
	struct epf_estimate e;

	if (t->place != TARGET_COPY)
		return ppt_to_rate(t->fpr_ppt);
	return epf_view_estimate(&t->view, threads, &e) ? -1 : e.fpr;
}

/* This works for a live filter, too: random keys do not depend on what changes meanwhile. */
static int audit_probe(struct asked *s)
{
	const struct audit_ask *ask = s->ask;
	struct meter meter = { .what = "asking random keys", .unit = "keys" };
	const struct epf_probe_opts probe = {
		.size = sizeof(probe),
		.threads = ask->spec.threads,
		.keys = ask->probe,
		.progress = meter_update,
		.ctx = &meter,
	};
	struct epf_choice c;
	int err;

	epf_audit_choose(&c, &s->t.view, ask->probe, false, ask->spec.threads, NULL);
	if (ask->spec.engine && epf_engine_serves(ask->spec.engine, &s->t.view) &&
	    ask->spec.engine->usable())
		c.engine = ask->spec.engine;
	err = epf_view_probe(&s->t.view, c.engine, &probe, &s->met);
	meter_end(&meter);
	if (!err && s->met.engine != c.engine)
		warn("--probe: engine %s: %s; engine %s looked the keys up instead", c.engine->name,
		     epf_engine_why(c.engine), s->met.engine->name);
	if (err == -ECANCELED)
		return fail("interrupted while random keys were looked up");
	return err ? fail_errno(-err, "--probe: %m") : 0;
}

static bool asked_far(const struct audit_ask *ask)
{
	const struct epf_engine *e = ask->spec.engine;

	return e && epf_engine_far(e) && e->usable();
}

static int open_here(struct asked *s)
{
	struct meter meter = { .what = "reading the filter" };
	const struct target_ask what = {
		.name = s->ask->target,
		.place = s->ask->place,
		.keys = s->keys,
		.digests = s->ask->digests,
		.far = asked_far(s->ask),
		.threads = s->ask->spec.threads,
		.progress = meter_update,
		.ctx = &meter,
	};
	struct rec_error e;
	int ret;

	if (s->open)
		return 0;
	ret = target_open(&s->t, &what, &e);
	meter_end(&meter);
	if (ret)
		return fail("%s", e.text);
	s->open = true;
	s->agent = false;
	s->fpr = audit_error_of(&s->t, s->ask->spec.threads);
	audit_warn_of(&s->t, s->fpr);
	return s->ask->probe ? audit_probe(s) : 0;
}

static int audit_draw(const struct auditing *a)
{
	const struct audit_out *o = &a->out[OUT_PLOT];
	FILE *script;

	if (!o->name)
		return 0;
	script = plot_begin(o->name);
	if (!script)
		return EXIT_FAIL;
	audit_script(script, &a->asked->t, &a->r);
	return plot_draw(script, o->name, o->fd);
}

static int do_job(struct auditing *a)
{
	struct job_spec spec = a->ask->spec;
	__u64 began = now_ns();
	int ret = -1;

	spec.keys_fd = a->keys_fd;
	spec.bitmap_fd = a->out[OUT_BITMAP].fd;
	spec.ages_fd = a->out[OUT_AGES].fd;
	spec.records_fd = a->out[OUT_RECORDS].fd;
	spec.from = a->state.mark;
	if (a->asked->agent)
		ret = ask_agent(a, &spec);
	if (ret < 0) {
		ret = open_here(a->asked);
		a->r.fpr = a->asked->fpr;
		a->r.met = a->asked->met;
		began = now_ns();
		spec.from = a->state.mark; /* an agent may have advanced it */
		if (!ret)
			ret = ask_here(a, &spec);
	}
	meter_end(&a->meter);
	a->r.took_ns = now_ns() - began;
	if (!ret)
		ret = audit_draw(a);
	if (!ret)
		ret = commit(a);
	if (!ret)
		ret = audit_ended_early(a);
	if (!ret)
		audit_report(&a->asked->t, &a->r);
	return ret;
}

static int open_outs(struct auditing *a, int nr)
{
	int i;

	for (i = 0; i < AUDIT_OUTS; i++)
		a->r.out[i] = a->ask->nr_out[i] ? a->ask->out[i][nr] : NULL;
	if (name_state(a))
		return EXIT_FAIL;
	for (i = 0; i < AUDIT_OUTS; i++)
		if (audit_out_open(&a->out[i], i, a->r.out[i], a->ask->resume && i < AUDIT_ANSWERS,
				   a->saved))
			return EXIT_FAIL;
	return 0;
}

/* An unfinished output without a state is of no use, so it is not kept. */
static void close_outs(struct auditing *a)
{
	int i;

	for (i = 0; i < AUDIT_OUTS; i++) {
		a->out[i].kept &= a->saved;
		audit_out_close(&a->out[i]);
	}
	free(a->state_path);
}

static int audit_file(struct asked *asked, int nr, int keys_fd)
{
	const struct audit_ask *ask = asked->ask;
	bool column = ask->spec.records.format == REC_COLUMN;
	struct auditing a = {
		.ask = ask,
		.asked = asked,
		.keys_fd = keys_fd,
		.out = { { .fd = -1 }, { .fd = -1 }, { .fd = -1 }, { .fd = -1 } },
		.meter = { .what = "asking" },
		.r = { .keys = input_name(ask->keys[nr]) },
	};
	int ret = fstat(keys_fd, &a.keys) ? fail_errno(errno, "%s: %m", a.r.keys) : 0;

	if (column || !S_ISREG(a.keys.st_mode))
		a.meter.unit = "keys";
	if (!ret)
		ret = open_outs(&a, nr);
	if (!ret)
		ret = find_state(&a);
	if (!ret)
		ret = do_job(&a);
	close_outs(&a);
	return ret;
}

/* Could an agent do this audit? */
static bool try_agent(const struct audit_ask *ask)
{
	return !ask->no_agent && !ask->devices && !ask->probe && ask->place == TARGET_AUTO &&
	       (ask->agent || !access(AGENT_SOCKET, F_OK));
}

static int audit_files(const struct audit_ask *ask, const int *fds, __u64 keys)
{
	struct asked s = {
		.ask = ask,
		.keys = keys,
		.snapshot_fd = -1,
		.t.filter = -1,
		.agent = try_agent(ask),
	};
	struct rec_error e;
	int ret = 0, i;

	if (!s.agent)
		ret = open_here(&s);
	else if (target_peek(&s.t, &s.snapshot_fd, ask->target, &e))
		ret = fail("%s", e.text);
	for (i = 0; i < ask->nr_keys && !ret; i++)
		ret = audit_file(&s, i, fds[i]);
	if (s.open)
		target_close(&s.t);
	if (s.snapshot_fd >= 0)
		close(s.snapshot_fd);
	return ret;
}

int audit_run(const struct audit_ask *ask)
{
	int fds[AUDIT_KEYS_MAX] = { 0 };
	struct stat st;
	__u64 keys = 0;
	int nr, ret;

	ret = audit_check_names(ask);
	if (ranks)
		return audit_by_ranks(ask, ret);
	if (!ret && ask->nr_out[OUT_PLOT])
		ret = plot_ready(); /* before long work */
	for (nr = 0; !ret && nr < ask->nr_keys; nr++) {
		fds[nr] = open_input(ask->keys[nr], &st);
		if (fds[nr] < 0)
			ret = EXIT_FAIL;
		else
			keys += audit_keys_of(ask, &st);
	}
	if (!ret)
		ret = audit_files(ask, fds, keys);
	while (nr--)
		if (fds[nr] >= 0)
			close(fds[nr]);
	return ret;
}
