// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One audit of a client or of a watched file, in steps. */
#include "epfagent/task.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "records/child.h"
#include "records/rec_error.h"
#include "records/stream.h"

struct task *task_new(void)
{
	struct task *t = calloc(1, sizeof(*t));
	int i;

	for (i = 0; t && i < AGENT_FDS; i++)
		t->fd[i] = -1;
	return t;
}

static void task_close_all(struct task *t)
{
	int i;

	for (i = 0; i < AGENT_FDS; i++) {
		if (t->fd[i] >= 0)
			close(t->fd[i]);
		t->fd[i] = -1;
	}
}

void task_free(struct task *t)
{
	if (t)
		task_close_all(t);
	free(t);
}

void task_finish(struct task *t, struct cache *cache)
{
	job_close(t->job);
	t->job = NULL;
	cache_put(cache, t->keys);
	cache_put(cache, t->target);
	t->keys = t->target = NULL;
	task_close_all(t);
}

/* Keep the reason of a fallback, and log it once. */
static void keep_fall(struct task *t)
{
	if (!t->fallen[0]) {
		snprintf(t->fallen, sizeof(t->fallen), "%s", t->state.fallen);
		warn("%s", t->fallen);
	}
	t->state.fallen = t->fallen;
}

const struct job_state *task_state(struct task *t)
{
	if (t->job) {
		job_state(t->job, &t->state);
		if (t->state.fallen)
			keep_fall(t);
		t->state.why = t->state.fallen ? t->fallen : t->why;
	}
	return &t->state;
}

static int no_room(struct task *t, int err, const char *what)
{
	if (err == -ENOSPC)
		return rec_error_set(&t->error, -EOPNOTSUPP,
				     "%s is larger than "
				     "the agent's free memory",
				     what);
	return rec_error_set(&t->error, err, "%s: %s", what, strerror(-err));
}

static int task_find_filter(struct task *t, struct cache *cache, const struct job_pace *pace)
{
	int ret;

	if (!t->since_ns)
		t->since_ns = now_ns();
	ret = cache_filter(cache, t->request.filter, t->since_ns, pace, &t->target, &t->error);
	if (!ret)
		t->phase = TASK_KEYS;
	/* a client may do the audit without the agent */
	return ret == -ENOSPC ? -EOPNOTSUPP : ret;
}

static int find_target(struct task *t, struct cache *cache, const struct job_pace *pace)
{
	int ret;

	if (t->request.snapshot < 0)
		return task_find_filter(t, cache, pace);
	t->phase = TASK_TARGET_FILL;
	ret = cache_file(cache, t->fd[t->request.snapshot], t->uid, WARM_SNAPSHOT, &t->target);
	return ret ? no_room(t, ret, "the snapshot") : 0;
}

/* Account for the reader's memory. -ENOSPC is temporary: readers of other audits have
 * the memory and will release it. A file that becomes a compressed one, or one
 * for another program, only now is refused, because that memory is not accounted for.
 */
static int task_find_reader(struct task *t, struct cache *cache)
{
	struct rec_spec *spec = &t->request.spec.records;
	int fd = t->fd[t->request.spec.keys_fd];
	bool packed = stream_begins_packed(fd), child = rec_needs_child(fd, spec->format);
	__u64 bytes = REC_MEMORY + (packed ? STREAM_WINDOW_SMALL + STREAM_MEMORY : 0) +
		      (child ? CHILD_MEMORY : 0);
	int ret = cache_reader(cache, bytes, t->uid, &t->keys);

	spec->child = child ? REC_CHILD_DIRECT : REC_CHILD_NONE;
	spec->window_max = packed ? STREAM_WINDOW_SMALL : STREAM_WINDOW_LEAST;
	if (ret == -ENOSPC)
		return rec_error_set(&t->error, -EBUSY,
				     "the agent has no memory "
				     "left to read records for this user: try "
				     "again later, or use --no-agent");
	if (ret == -EFBIG)
		return rec_error_set(&t->error, -EOPNOTSUPP,
				     "reading records "
				     "needs %llu MiB, more than the agent's 'memory'",
				     bytes >> 20);
	return ret ? no_room(t, ret, "the reader") : 0;
}

/* A column that does not fit into memory is read piece by piece. */
static int find_keys(struct task *t, struct cache *cache)
{
	int ret;

	t->phase = TASK_BEGIN;
	t->request.spec.copy = true;
	if (t->request.spec.records.format != REC_COLUMN)
		return task_find_reader(t, cache);
	ret = cache_file(cache, t->fd[t->request.spec.keys_fd], t->uid, WARM_COLUMN, &t->keys);
	if (ret == -ENOSPC)
		return 0;
	t->phase = TASK_KEYS_FILL;
	return ret ? no_room(t, ret, "the column") : 0;
}

/* Guessed length of a record. */
#define RECORD_BYTES 64

static __u64 about_keys(const struct task *t)
{
	const struct job_spec *s = &t->request.spec;
	__u64 bytes = s->key_len ? s->key_len : sizeof(__u64);
	struct stat st;

	if (s->records.format != REC_COLUMN)
		bytes = RECORD_BYTES;
	return fstat(t->fd[s->keys_fd], &st) ? 0 : (__u64)st.st_size / bytes;
}

static int task_fill(struct task *t, struct cache *cache, struct cache_entry *entry, int place,
		     enum task_phase next, const struct job_pace *pace)
{
	int ret = cache_fill(cache, entry, t->fd[place], about_keys(t), pace, &t->error);

	if (!ret)
		t->phase = next;
	return ret < 0 ? ret : 0;
}

static int task_choose_engine(struct task *t, struct job_spec *spec)
{
	if (!t->request.engine[0])
		return 0;
	spec->engine = epf_engine_find(t->request.engine);
	if (spec->engine)
		return 0;
	return rec_error_set(&t->error, -EINVAL, "there is no engine '%s'", t->request.engine);
}

static int place_fd(const struct task *t, int place)
{
	return place < 0 ? -1 : t->fd[place];
}

/* The error of a file depends on which bits its hash key chose, as its checksums do: whoever may
 * read the answer, but not the file, could test guesses of the key. Whether it is above the limit
 * is one bit, which depends on the number of keys.
 */
static void tell_about(struct task *t)
{
	const struct target *target = cache_target(t->target);

	t->about.place = target->place;
	t->about.saturated = target->saturated;
	t->about.fpr_ppt = target->place == TARGET_FILE ? 0 : target->fpr_ppt;
	t->about.header = target->header;
	t->about.desc = target->view.desc;
}

/* Threads of an audit: never more than the setting, or than CPUs. */
static unsigned int so_many(unsigned int asked, unsigned int threads)
{
	unsigned int most = threads ? threads : (unsigned int)get_nprocs();

	return asked > most ? most : asked ? asked : threads;
}

static int task_begin(struct task *t, unsigned int threads)
{
	struct job_spec spec = t->request.spec;
	int ret = task_choose_engine(t, &spec);

	if (ret)
		return ret;
	spec.keys_fd = place_fd(t, spec.keys_fd);
	spec.bitmap_fd = place_fd(t, spec.bitmap_fd);
	spec.ages_fd = place_fd(t, spec.ages_fd);
	spec.records_fd = place_fd(t, spec.records_fd);
	if (t->keys && spec.records.format == REC_COLUMN) {
		spec.keys_fd = cache_fd(t->keys);
		spec.serial = cache_serial(t->keys);
		spec.copy = false;
	}
	spec.threads = so_many(spec.threads, threads);
	tell_about(t);
	t->phase = TASK_ASK;
	ret = job_open(&t->job, &cache_target(t->target)->view, &spec, &t->error);
	if (ret)
		return ret;
	job_state(t->job, &t->state);
	snprintf(t->why, sizeof(t->why), "%s", t->state.why);
	return 0;
}

int task_step(struct task *t, struct cache *cache, __u64 keys, unsigned int threads,
	      const struct job_pace *pace)
{
	int ret = 0;

	switch (t->phase) {
	case TASK_TARGET:
		ret = find_target(t, cache, pace);
		break;
	case TASK_TARGET_FILL:
		ret = task_fill(t, cache, t->target, t->request.snapshot, TASK_KEYS, pace);
		break;
	case TASK_KEYS:
		ret = find_keys(t, cache);
		break;
	case TASK_KEYS_FILL:
		ret = task_fill(t, cache, t->keys, t->request.spec.keys_fd, TASK_BEGIN, pace);
		break;
	case TASK_BEGIN:
		ret = task_begin(t, threads);
		break;
	case TASK_ASK:
		return job_step(t->job, keys, pace, &t->error);
	}
	return ret ? ret : 1;
}
