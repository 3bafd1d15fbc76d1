// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The worker, and the order of turns. */
#include "epfagent/sched.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>

#include "common/clock.h"
#include "records/rec_error.h"

/* Length of a turn. An audit of few keys needs one turn, so it waits for at most one
 * turn of each other user.
 */
#define SLICE_NS (NS_PER_SEC / 20)

TAILQ_HEAD(tasks, task);

/**
 * struct user - a user who has tasks
 * @link: in order of turns
 * @uid: user, or TASK_NOBODY
 * @nr: number of tasks, including the running one
 * @tasks: waiting tasks, in order of turns
 */
struct user {
	TAILQ_ENTRY(user) link;
	uid_t uid;
	unsigned int nr;
	struct tasks tasks;
};

/**
 * struct sched - the scheduler; @lock protects everything that changes
 * @some: signalled when there is something to do
 * @users: users with tasks; the head has the next turn
 * @all: tasks that have not ended, in the order of their numbers
 * @last_id: number of the newest task
 * @ended: tasks that have ended
 * @nr: number of tasks, without those of TASK_NOBODY
 * @news: limits have changed: call cache_tick() before waiting
 * @stop: do no more steps; atomic
 */
struct sched {
	pthread_mutex_t lock;
	pthread_cond_t some;
	pthread_t worker;
	struct sched_conf conf;
	struct cache *cache;
	struct agent_stats *stats;
	int wake;
	TAILQ_HEAD(, user) users;
	struct tasks all;
	__u64 last_id;
	struct tasks ended;
	unsigned int nr;
	bool news;
	int stop;
};

static int is_set(const int *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* Users: with the lock held */

static struct user *user_of(struct sched *s, uid_t uid)
{
	struct user *u;

	TAILQ_FOREACH(u, &s->users, link)
	if (u->uid == uid)
		return u;
	return NULL;
}

static struct user *user_new(struct sched *s, uid_t uid)
{
	struct user *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->uid = uid;
	TAILQ_INIT(&u->tasks);
	TAILQ_INSERT_TAIL(&s->users, u, link);
	return u;
}

static void user_left(struct sched *s, struct user *u)
{
	if (--u->nr)
		return;
	TAILQ_REMOVE(&s->users, u, link);
	free(u);
}

/* The worker */

/* Take the first task of the first user, and move that user to the end. */
static struct task *pick(struct sched *s, struct user **whose)
{
	struct user *u = TAILQ_FIRST(&s->users);
	struct task *t = TAILQ_FIRST(&u->tasks);

	TAILQ_REMOVE(&u->tasks, t, link);
	TAILQ_REMOVE(&s->users, u, link);
	TAILQ_INSERT_TAIL(&s->users, u, link);
	*whose = u;
	return t;
}

static void sched_count(struct sched *s, const struct task *t)
{
	struct agent_stats *stats = s->stats;
	__u64 from = t->request.spec.from.keys, all = t->state.mark.keys;

	stats_add(t->ret == 0          ? &stats->audits_done :
		  t->ret == -ECANCELED ? &stats->audits_cancelled :
					 &stats->audits_failed,
		  1);
	stats_add(&stats->audits_fallen, t->fallen[0] != 0);
	stats_add(&stats->keys_asked, all > from ? all - from : 0);
	stats_add(&stats->keys_present,
		  all > from ? t->state.mark.present - t->request.spec.from.present : 0);
}

static int one_step(struct sched *s, struct task *t, const struct sched_conf *conf,
		    const struct job_pace *pace)
{
	if (is_set(&s->stop))
		return rec_error_set(&t->error, -ECANCELED, "the agent is stopping");
	if (is_set(&t->stop))
		return rec_error_set(&t->error, -ECANCELED,
				     is_set(&t->stop) == TASK_CANCELLED ?
					     "the audit was cancelled" :
					     "the client is gone");
	return task_step(t, s->cache, conf->step_keys, conf->threads, pace);
}

/* One turn: all steps before keys are looked up and one that looks keys up, if there is
 * time.
 */
static int steps(struct sched *s, struct task *t, const struct sched_conf *conf)
{
	__u64 begin = now_ns();
	const struct job_pace pace = {
		.until_ns = begin + SLICE_NS,
		.stop = { &t->stop, &s->stop },
	};
	bool asks;
	int ret;

	do {
		asks = t->phase == TASK_ASK;
		ret = one_step(s, t, conf, &pace);
	} while (ret == 1 && !asks && !job_pace_over(&pace));
	task_state(t);
	if (ret <= 0) {
		t->ret = t->end ? t->end(t, ret) : ret;
		task_finish(t, s->cache);
	}
	stats_add(&s->stats->busy_ns, now_ns() - begin);
	return ret;
}

/* Called with the lock held; releases it meanwhile. */
static void turn(struct sched *s)
{
	struct sched_conf conf = s->conf;
	struct user *u;
	struct task *t = pick(s, &u);
	int ret;

	pthread_mutex_unlock(&s->lock);
	ret = steps(s, t, &conf);
	pthread_mutex_lock(&s->lock);
	t->shown = t->state;
	t->news = t->phase == TASK_ASK;
	if (ret > 0) {
		TAILQ_INSERT_TAIL(&u->tasks, t, link);
	} else {
		sched_count(s, t);
		stats_sub(&s->stats->queue, 1);
		s->nr -= t->uid != TASK_NOBODY;
		TAILQ_REMOVE(&s->all, t, in_all);
		TAILQ_INSERT_TAIL(&s->ended, t, link);
		user_left(s, u);
	}
	eventfd_write(s->wake, 1);
}

/* Called with the lock held; releases it meanwhile. */
static __u64 sched_tend(struct sched *s)
{
	const struct job_pace pace = { .until_ns = now_ns() + SLICE_NS, .stop = { &s->stop } };
	__u64 ns;

	s->news = false;
	pthread_mutex_unlock(&s->lock);
	ns = cache_tick(s->cache, &pace);
	pthread_mutex_lock(&s->lock);
	return ns;
}

/* Wait for something to do, at most @ns; 0: without a limit. */
static void wait_some(struct sched *s, __u64 ns)
{
	struct timespec ts = epf_clock_after(ns);

	if (ns)
		pthread_cond_timedwait(&s->some, &s->lock, &ts);
	else
		pthread_cond_wait(&s->some, &s->lock);
}

static void *work(void *arg)
{
	struct sched *s = arg;
	__u64 ns;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		ns = s->stop ? 0 : sched_tend(s);
		if (!TAILQ_EMPTY(&s->users))
			turn(s);
		else if (s->stop)
			break;
		else if (!s->news)
			wait_some(s, ns);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* The event loop's side */

static int queue_up(struct sched *s, struct task *t)
{
	struct user *u = user_of(s, t->uid);
	bool limited = t->uid != TASK_NOBODY;

	if (limited && s->nr >= s->conf.jobs)
		return rec_error_set(&t->error, -EBUSY,
				     "the agent has too many "
				     "audits (%u): try again later",
				     s->nr);
	if (limited && u && u->nr >= s->conf.jobs_per_user)
		return rec_error_set(&t->error, -EBUSY,
				     "too many audits of this "
				     "user (%u): try again later",
				     u->nr);
	if (!u)
		u = user_new(s, t->uid);
	if (!u)
		return rec_error_set(&t->error, -ENOMEM, "out of memory");
	u->nr++;
	s->nr += limited;
	t->id = ++s->last_id;
	t->added_ns = now_ns();
	TAILQ_INSERT_TAIL(&s->all, t, in_all);
	stats_add(&s->stats->queue, 1);
	TAILQ_INSERT_TAIL(&u->tasks, t, link);
	pthread_cond_signal(&s->some);
	return 0;
}

int sched_add(struct sched *s, struct task *t)
{
	int ret;

	pthread_mutex_lock(&s->lock);
	ret = queue_up(s, t);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

void sched_cancel(struct task *t)
{
	__atomic_store_n(&t->stop, TASK_CLIENT_GONE, __ATOMIC_RELAXED);
}

static bool may_see(const struct task *t, uid_t uid)
{
	return uid == TASK_NOBODY || t->uid == uid;
}

unsigned int sched_jobs(struct sched *s, uid_t uid, __u64 after, struct sched_job *jobs,
			unsigned int max)
{
	unsigned int nr = 0;
	struct task *t;

	pthread_mutex_lock(&s->lock);
	TAILQ_FOREACH(t, &s->all, in_all)
	{
		if (nr == max)
			break;
		if (t->id <= after || !may_see(t, uid))
			continue;
		jobs[nr].task = t;
		jobs[nr++].state = t->shown;
	}
	pthread_mutex_unlock(&s->lock);
	return nr;
}

int sched_cancel_job(struct sched *s, uid_t uid, __u64 id)
{
	struct task *t;

	pthread_mutex_lock(&s->lock);
	TAILQ_FOREACH(t, &s->all, in_all)
	if (t->id == id && may_see(t, uid))
		break;
	if (t)
		__atomic_store_n(&t->stop, TASK_CANCELLED, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&s->lock);
	return t ? 0 : -ESRCH;
}

bool sched_look(struct sched *s, struct task *t, struct job_state *state)
{
	bool news;

	pthread_mutex_lock(&s->lock);
	*state = t->shown;
	news = t->news;
	t->news = false;
	pthread_mutex_unlock(&s->lock);
	return news;
}

struct task *sched_take(struct sched *s)
{
	struct task *t;

	pthread_mutex_lock(&s->lock);
	t = TAILQ_FIRST(&s->ended);
	if (t)
		TAILQ_REMOVE(&s->ended, t, link);
	pthread_mutex_unlock(&s->lock);
	return t;
}

void sched_limit(struct sched *s, const struct sched_conf *conf)
{
	pthread_mutex_lock(&s->lock);
	s->conf = *conf;
	s->news = true;
	pthread_cond_signal(&s->some);
	pthread_mutex_unlock(&s->lock);
}

/* Timed waits use the clock of epf_clock_after(). */
static void init_cond(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, EPF_CLOCK_OWN);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

int sched_start(struct sched **sched, const struct sched_conf *conf, struct cache *cache,
		struct agent_stats *stats, int wake)
{
	struct sched *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	init_cond(&s->some);
	TAILQ_INIT(&s->users);
	TAILQ_INIT(&s->all);
	TAILQ_INIT(&s->ended);
	s->conf = *conf;
	s->cache = cache;
	s->stats = stats;
	s->wake = wake;
	ret = pthread_create(&s->worker, NULL, work, s);
	if (ret)
		free(s);
	else
		*sched = s;
	return -ret;
}

void sched_stop(struct sched *s)
{
	pthread_mutex_lock(&s->lock);
	__atomic_store_n(&s->stop, 1, __ATOMIC_RELAXED);
	pthread_cond_signal(&s->some);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->worker, NULL);
}

void sched_free(struct sched *s)
{
	pthread_cond_destroy(&s->some);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
