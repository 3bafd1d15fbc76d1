// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lists of audits, and their end on request. */
#include "epfagent/control.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/output.h"
#include "epfagent/watch.h"
#include "records/rec_error.h"

/* The last error or warning; @lock protects it. */
static struct {
	pthread_mutex_t lock;
	const char *kind;
	__u64 time_ns; /* CLOCK_REALTIME */
	char text[512];
} last = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool sees_all(uid_t peer)
{
	return !peer || peer == geteuid();
}

static uid_t whose(uid_t peer)
{
	return sees_all(peer) ? TASK_NOBODY : peer;
}

static json_t *percent_json(const struct job_state *s)
{
	if (s->keys_all)
		return json_real(100.0 * (double)s->mark.keys / (double)s->keys_all);
	if (s->bytes_all)
		return json_real(100.0 * (double)s->bytes / (double)s->bytes_all);
	return NULL;
}

static json_t *job_json(const struct sched_job *j)
{
	const struct job_state *s = &j->state;
	const struct task *t = j->task;
	json_t *o = json_pack("{sI sI sb sI so* ss*}", "job", (json_int_t)t->id, "age_ns",
			      (json_int_t)(now_ns() - t->added_ns), "running", s->engine != NULL,
			      "keys", (json_int_t)s->mark.keys, "percent", percent_json(s),
			      "engine", s->engine ? s->engine->name : NULL);

	if (t->request.filter[0])
		json_object_set_new(o, "filter", json_string(t->request.filter));
	if (t->uid == TASK_NOBODY)
		json_object_set_new(o, "file", watch_file_json(t));
	else
		json_object_update_new(o, json_pack("{sI si}", "uid", (json_int_t)t->uid, "pid",
						    (int)t->pid));
	return o;
}

json_t *control_jobs(struct sched *s, uid_t peer, json_t *request, struct rec_error *e)
{
	struct sched_job jobs[CONTROL_JOBS];
	json_int_t after = 0;
	unsigned int nr, i;
	const char *op;
	json_t *list;

	if (json_unpack_ex(request, NULL, JSON_STRICT, "{ss s?I}", "op", &op, "after", &after) ||
	    after < 0) {
		rec_error_set(e, -EINVAL,
			      "jobs takes 'after', the number of a job, and "
			      "nothing else");
		return NULL;
	}
	nr = sched_jobs(s, whose(peer), (__u64)after, jobs, CONTROL_JOBS);
	list = json_array();
	for (i = 0; i < nr; i++)
		json_array_append_new(list, job_json(&jobs[i]));
	return json_pack("{so sb}", "jobs", list, "more", nr == CONTROL_JOBS);
}

json_t *control_cancel(struct sched *s, uid_t peer, json_t *request, int *err, struct rec_error *e)
{
	json_int_t job = 0;
	const char *op;

	if (json_unpack_ex(request, NULL, JSON_STRICT, "{ss sI}", "op", &op, "job", &job) ||
	    job < 1) {
		*err = rec_error_set(e, -EINVAL,
				     "cancel takes 'job', the number of a job, "
				     "and nothing else");
		return NULL;
	}
	*err = sched_cancel_job(s, whose(peer), (__u64)job);
	if (*err) {
		rec_error_set(e, *err, "there is no job %lld", (long long)job);
		return NULL;
	}
	return json_pack("{sI}", "cancelled", job);
}

void control_note(const char *kind, const char *line)
{
	pthread_mutex_lock(&last.lock);
	last.kind = kind;
	last.time_ns = epf_wall_ns();
	snprintf(last.text, sizeof(last.text), "%s", line);
	pthread_mutex_unlock(&last.lock);
}

void control_status(json_t *status, uid_t peer)
{
	if (!sees_all(peer))
		return;
	pthread_mutex_lock(&last.lock);
	json_object_set_new(status, "last_error",
			    !last.kind ? json_null() :
					 json_pack("{ss so sI}", "kind", last.kind, "text",
						   json_path(last.text), "ago_ns",
						   (json_int_t)(epf_wall_ns() - last.time_ns)));
	pthread_mutex_unlock(&last.lock);
}
