// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See live.h: the beginning and the end of runs, and the promise. */
#include "cluster/live.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "cluster/idle.h"
#include "cluster/live_own.h"
#include "common/clock.h"
#include "common/error.h"
#include "records/rec_error.h"

#include "epf/bucket.h"

#define STACK_BYTES (1u << 20)
#define SHUT_LOOKS 10u             /* without a step, and then again after as many */
#define PEER_RATE_UNKNOWN 1000000u /* of a filter whose memory follows the rate */
#define STOP_TICK_NS 10000000L
#define STOP_SHUT_TICKS 100u
#define STOP_TICKS 3000u

bool live_wait(const struct cluster *c, __u64 ns)
{
	const struct timespec t = {
		.tv_sec = (time_t)(ns / NS_PER_SEC),
		.tv_nsec = (long)(ns % NS_PER_SEC),
	};
	struct pollfd p = { .fd = c->end, .events = POLLIN };

	return ppoll(&p, 1, &t, NULL) <= 0;
}

bool live_over(struct cluster *c)
{
	return __atomic_load_n(&c->over, __ATOMIC_ACQUIRE) || !live_wait(c, 0);
}

void live_say(struct cluster *c, const struct rec_error *e)
{
	bool news;

	pthread_mutex_lock(&c->lock);
	news = strcmp(c->trouble.text, e ? e->text : "");
	c->trouble = e ? *e : (struct rec_error){ "" };
	pthread_mutex_unlock(&c->lock);
	if (news && e)
		warn("cluster '%s': %s", c->conf->name, e->text);
	else if (news)
		log_info("cluster '%s': joined", c->conf->name);
}

/* The promise */

/* Why there is none: the first host that is not covered. Call it with the lock. */
static void missing(struct cluster *c, __u64 now, char *text, size_t room)
{
	struct coverage_host h;
	unsigned int i;

	for (i = 0; i < coverage_hosts(c->coverage); i++) {
		coverage_host(c->coverage, i, &c->clock, now, &h);
		if (h.why == COVERAGE_COVERED)
			continue;
		snprintf(text, room, "host '%s': %s", h.name, coverage_why_name(h.why));
		return;
	}
	snprintf(text, room, "cluster time is not known");
}

/* Log changes, but no more than one a second. Call it with the lock. */
static void note_cover(struct cluster *c, bool covered, __u64 now)
{
	char text[192];

	if (covered == c->covered || (c->changed_ns && now - c->changed_ns < NS_PER_SEC))
		return;
	c->covered = covered;
	c->changed_ns = now;
	if (covered) {
		log_info("cluster '%s': all hosts are covered", c->conf->name);
		return;
	}
	missing(c, now, text, sizeof(text));
	warn("cluster '%s': not covered: %s", c->conf->name, text);
}

/* The filters had one hash key when they were looked at last. Whoever replaces the contents of one
 * after that makes programs wait for a window (epf/cluster.h). So a promise that ends a window
 * after the look is about the filters that were looked at, however late the next look is.
 */
static __u64 live_until(const struct cluster *c, __u64 until)
{
	__u64 last = c->checked_ns + c->map->window_ns;

	return (until < last ? until : last) - EPF_CLUSTER_TICK_NS;
}

void live_promise(struct cluster *c)
{
	__u64 now, until;
	bool covered;

	pthread_mutex_lock(&c->lock);
	now = now_ns();
	covered = coverage_until(c->coverage, &c->clock, now, &until);
	c->until_ns = covered ? live_until(c, until) : 0;
	cover_map_promise(c->map, c->until_ns);
	note_cover(c, covered, now);
	pthread_mutex_unlock(&c->lock);
}

/* Runs */

/* Programs compare a promise with the kernel's clock. */
static int check_clock(struct rec_error *e)
{
	return epf_clock_known() ?
		       0 :
		       rec_error_set(e, -EINVAL,
				     "the clock of packet programs is not known, because "
				     "/proc does not tell the time namespace of this "
				     "agent: mount it");
}

static int open_map(struct cluster *c, struct rec_error *e)
{
	struct epf_cluster_cover of;
	int ret = cover_map_of(c->conf->local, c->conf->all, &of);

	if (!ret)
		ret = cover_map_open(c->conf->name, &of, &c->map, &c->map_fd);
	if (ret == -EXDEV)
		return rec_error_set(e, ret,
				     "filters '%s' and '%s' have different backends: create both "
				     "in one",
				     c->conf->local, c->conf->all);
	if (ret)
		return rec_error_set(e, ret, "cover map: %s", strerror(-ret));
	cover_map_promise(c->map, 0);
	return 0;
}

__u64 live_replay_ns(const struct cluster *c)
{
	const struct apply_filters *f = &c->filters;

	return 2 * f->all_window_ns / (f->all_epochs ? f->all_epochs : 1);
}

/* What the keys are made of is left out: a filter learns it with its first attachment or insertion,
 * on one host sooner than on another.
 */
static void live_check(const struct cluster *c, __u64 check[2])
{
	const struct epf_params *p = &c->filters.of.params;

	cluster_check(check, c->filters.key, p->hash, NULL, p->window_ns);
}

/* What the filter of all can take of each other host, unless the settings have a rate. */
static __u64 live_peer_rate(const struct cluster *c)
{
	__u64 all = c->filters.all_rate, peers = c->conf->nr_roster - 1, rate = c->conf->peer_rate;

	if (rate && all && rate > all / peers)
		warn("cluster '%s': %llu hosts of peer-rate %llu saturate filter '%s', which takes %llu "
		     "keys a second",
		     c->conf->name, peers, rate, c->conf->all, all);
	if (!rate)
		rate = all ? all / peers : PEER_RATE_UNKNOWN;
	return rate < EPF_BUCKET_RATE_MAX ? rate + !rate : EPF_BUCKET_RATE_MAX;
}

static int open_coverage(struct cluster *c, struct rec_error *e)
{
	const struct epf_params *p = &c->filters.of.params;
	struct coverage_conf conf = {
		.roster = (const char *const *)c->conf->roster,
		.hosts = c->conf->nr_roster,
		.self = c->conf->host,
		.hash_kind = p->hash,
		.window_ns = p->window_ns,
		.lag_ns = c->conf->lag_ns,
		.replay_ns = live_replay_ns(c),
		.peer_rate = live_peer_rate(c),
	};
	struct coverage *coverage;

	live_check(c, conf.check);
	coverage = coverage_new(&conf, e);
	if (!coverage)
		return -EINVAL;
	pthread_mutex_lock(&c->lock);
	c->coverage = coverage;
	c->clock = (struct cluster_clock){ 0 };
	c->covered = false;
	c->changed_ns = 0;
	c->rated_ns = 0;
	c->saturated = false;
	memset(c->share, 0, sizeof(c->share));
	memset(c->seen, 0, sizeof(c->seen));
	pthread_mutex_unlock(&c->lock);
	return 0;
}

static int open_publisher(struct cluster *c, struct rec_error *e)
{
	const struct epf_params *p = &c->filters.of.params;
	struct publish_conf conf = {
		.head = { .hash_kind = p->hash, .window_ns = p->window_ns },
		.buffer = c->conf->buffer,
		.send = live_publish,
		.ctx = c,
	};
	struct publisher *publisher;

	live_check(c, conf.head.check);
	snprintf(conf.head.host, sizeof(conf.head.host), "%s", c->conf->host);
	if (getrandom(&conf.head.incarnation, sizeof(conf.head.incarnation), 0) < 0)
		return rec_error_set(e, -errno, "random number: %s", strerror(errno));
	publisher = publish_new(&conf);
	pthread_mutex_lock(&c->lock);
	c->publisher = publisher;
	pthread_mutex_unlock(&c->lock);
	return publisher ? 0 : rec_error_set(e, -ENOMEM, "out of memory");
}

static int live_open(struct cluster *c, struct rec_error *e)
{
	int ret;

	c->checked_ns = now_ns();
	ret = apply_open(&c->filters, c->conf->local, c->conf->all, c->conf->threads, e);
	if (!ret)
		ret = check_clock(e);
	if (!ret)
		ret = open_map(c, e);
	if (!ret)
		ret = open_coverage(c, e);
	if (!ret)
		ret = open_publisher(c, e);
	c->link.server = (unsigned int)(now_ns() % c->conf->login.nr_servers);
	c->link.again_ns = 0;
	return ret;
}

/* The promise is withdrawn first, and the transport closed before what its callbacks use. */
static void live_close(struct cluster *c)
{
	struct coverage *coverage;
	struct publisher *publisher;

	if (c->map) {
		cover_map_promise(c->map, 0);
		cover_map_close(c->map, c->map_fd);
	}
	c->map = NULL;
	live_disconnect(c);
	pthread_mutex_lock(&c->lock);
	coverage = c->coverage;
	publisher = c->publisher;
	c->coverage = NULL;
	c->publisher = NULL;
	c->covered = c->joined = false;
	c->until_ns = 0;
	pthread_mutex_unlock(&c->lock);
	coverage_free(coverage);
	publish_free(publisher);
	apply_close(&c->filters);
}

static int live_start(pthread_t *thread, void *(*run)(void *arg), struct cluster *c)
{
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	err = pthread_create(thread, &attr, run, c);
	pthread_attr_destroy(&attr);
	return -err;
}

static int live_once(struct cluster *c, struct rec_error *e)
{
	int ret = live_open(c, e);

	__atomic_store_n(&c->over, false, __ATOMIC_RELAXED);
	__atomic_store_n(&c->begun, false, __ATOMIC_RELAXED);
	c->sender_error = (struct rec_error){ "" };
	c->last_stamp = c->all_since = 0;
	if (!ret) {
		beat_step(&c->beat[LIVE_SENDER]);
		ret = live_start(&c->sender, live_send, c);
		if (ret) {
			beat_end(&c->beat[LIVE_SENDER]);
			rec_error_set(e, ret, "thread: %s", strerror(-ret));
		}
	}
	if (!ret) {
		ret = live_receive(c, e);
		__atomic_store_n(&c->over, true, __ATOMIC_RELEASE);
		pthread_join(c->sender, NULL);
		if (!ret && c->sender_error.text[0]) {
			*e = c->sender_error;
			ret = -EIO;
		}
	}
	live_close(c);
	return ret;
}

static void *live_run(void *arg)
{
	struct cluster *c = arg;
	struct rec_error e;

	do {
		beat_step(&c->beat[LIVE_MAIN]);
		e = (struct rec_error){ "" };
		if (live_once(c, &e) && e.text[0])
			live_say(c, &e);
	} while (live_wait(c, LIVE_AGAIN_NS));
	return NULL;
}

int cluster_start(struct cluster **result, const struct cluster_conf *conf)
{
	struct cluster *c = calloc(1, sizeof(*c));
	int ret;

	*result = NULL;
	if (!c)
		return -ENOMEM;
	c->conf = conf;
	c->filters.local = c->filters.all = c->map_fd = -1;
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->link.lock, NULL);
	snprintf(c->link.stream, sizeof(c->link.stream), "epf-%s", conf->name);
	snprintf(c->trouble.text, sizeof(c->trouble.text), "starting");
	c->end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = c->end < 0 ? -errno : live_start(&c->thread, live_run, c);
	if (!ret) {
		*result = c;
		return 0;
	}
	if (c->end >= 0)
		close(c->end);
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->link.lock);
	free(c);
	return ret;
}

/* Return: false: the main thread does not end. */
static bool live_join(struct cluster *c)
{
	const struct timespec tick = { 0, STOP_TICK_NS };
	unsigned int ticks = 0;

	while (pthread_tryjoin_np(c->thread, NULL)) {
		if (++ticks > STOP_TICKS)
			return false;
		if (!(ticks % STOP_SHUT_TICKS))
			idle_shut(&c->conf->login);
		nanosleep(&tick, NULL);
	}
	return true;
}

bool cluster_stop(struct cluster *c)
{
	if (!c)
		return true;
	eventfd_write(c->end, 1);
	if (!live_join(c))
		return false;
	close(c->end);
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->link.lock);
	free(c);
	return true;
}

void cluster_reopen(struct cluster *c)
{
	__atomic_store_n(&c->reopen, true, __ATOMIC_RELAXED);
}

bool cluster_look(struct cluster *c)
{
	unsigned int i, looks, most = 0;

	for (i = 0; i < sizeof(c->beat) / sizeof(c->beat[0]); i++) {
		looks = beat_look(&c->beat[i]);
		most = looks > most ? looks : most;
	}
	if (most && !(most % SHUT_LOOKS) && idle_shut(&c->conf->login))
		warn("cluster '%s': nothing has come from a server: its connection is ended",
		     c->conf->name);
	return most < CLUSTER_LOOKS_MAX * c->conf->login.nr_servers;
}
