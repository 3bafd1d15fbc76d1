// SPDX-License-Identifier: GPL-2.0
/*
 * The receiving thread of an agent and the threads that insert with it: a peer is known through a
 * message only when all digests of the message are inserted. The transport, the filters and the
 * promise are stubs; live_receive.c, apply_pool.c and coverage.c are the agent's. Also built with
 * -fsanitize=thread: the stub of the filter is plain memory, so an insertion that the law could
 * miss is a race, too.
 */
#include "../core/tap.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "cluster/live_own.h"
#include "common/clock.h"
#include "records/rec_error.h"

#include "epf/hash.h"

#define PEERS 2u
#define MESSAGES 24u /* of each peer */
#define DIGESTS_MAX (6 * APPLY_CHUNK)
#define EPOCH (1ULL << 50) /* cluster time at own time 0 */
#define YIELDS 300
#define YIELDS_MAX 10000 /* if the caller never has what it waits for */
#define WINDOW (10 * NS_PER_SEC)

static const char *const roster[] = { "self", "p0", "p1" };

/**
 * struct run - one run of the receiving thread
 * @c: cluster
 * @next: message that comes next, of all
 * @count: digests of each message
 * @inserted: how often each digest was inserted; the digest tells its place
 * @taken: digests of each message that were given to a thread
 * @through: messages of each peer that the law was checked for
 * @fail: message of which a chunk cannot be inserted; ~0: none
 * @fail_helper: a chunk of another thread than the first
 * @failed: that has happened
 * @users: calls of the insertion that each thread is in
 * @promised: messages after which the promise was moved on
 * @helped: a thread but the first has a chunk of this message
 * @crowd: the first thread waits for that
 * @steps: that the receiving thread still takes without a connection; 0: there is one
 * @late: joining has no answer
 * @quiet: waits in which no message comes, before the first one
 * @joins: how often the stream was joined
 * @local_ns, @all_ns: for how long the filters have kept all, if not for a window
 * @left: how often that was when the connection was ended
 * @fault: what is wrong
 */
struct run {
	struct cluster c;
	unsigned int next;
	__u32 count[MESSAGES * PEERS];
	unsigned char inserted[MESSAGES * PEERS][DIGESTS_MAX];
	__u32 taken[MESSAGES * PEERS];
	unsigned int through[PEERS];
	unsigned int fail;
	bool fail_helper;
	bool failed;
	int users[APPLY_THREADS_MAX];
	unsigned int promised;
	bool helped[MESSAGES * PEERS];
	bool crowd;
	unsigned int steps;
	bool late;
	unsigned int quiet;
	unsigned int joins;
	__u64 local_ns, all_ns;
	unsigned int left;
	const char *fault;
};

static struct run run;
static unsigned char data[CLUSTER_HEAD_BYTES + 8 * DIGESTS_MAX];

/* Message i is of peer i % PEERS and has number i / PEERS + 1. */
static __u64 end_of(unsigned int i)
{
	return EPOCH + (i / PEERS + 1) * 1000;
}

/* The law */

static void wrong(const char *fault)
{
	__atomic_store_n(&run.fault, fault, __ATOMIC_RELAXED);
}

static bool whole(unsigned int message)
{
	__u32 i;

	for (i = 0; i < run.count[message]; i++)
		if (run.inserted[message][i] != 1)
			return false;
	return true;
}

/* Call it with the lock of the cluster. */
static void check_peer(unsigned int peer)
{
	struct coverage_host h;
	unsigned int message = run.through[peer] * PEERS + peer;

	coverage_host(run.c.coverage, peer, &run.c.clock, now_ns(), &h);
	for (; message < MESSAGES * PEERS && h.through >= end_of(message); message += PEERS) {
		if (!whole(message))
			wrong("a message counts whose digests are not all inserted");
		run.through[peer]++;
	}
}

static void check_law(void)
{
	unsigned int i;

	pthread_mutex_lock(&run.c.lock);
	for (i = 0; i < PEERS; i++)
		check_peer(i);
	pthread_mutex_unlock(&run.c.lock);
}

/* The filter of all */

/* Has the caller no chunk of this message to insert any more? After an error it takes none. */
static bool caller_done(unsigned int message)
{
	if (__atomic_load_n(&run.failed, __ATOMIC_RELAXED))
		return true;
	return __atomic_load_n(&run.taken[message], __ATOMIC_RELAXED) >= run.count[message] &&
	       !__atomic_load_n(&run.users[0], __ATOMIC_RELAXED);
}

/* Give a caller that does not wait the time to go on without this chunk. */
static void linger(unsigned int message)
{
	int i, done = 0;

	for (i = 0; i < YIELDS_MAX && done < YIELDS &&
		    __atomic_load_n(&run.promised, __ATOMIC_RELAXED) <= message;
	     i++) {
		sched_yield();
		done += caller_done(message);
	}
}

/* On @threads: wait until another one has a chunk. */
static void meet(unsigned int message, unsigned int thread)
{
	if (thread)
		__atomic_store_n(&run.helped[message], true, __ATOMIC_RELAXED);
	while (!thread && run.crowd && !__atomic_load_n(&run.helped[message], __ATOMIC_RELAXED))
		sched_yield();
}

/* A caller that does not wait takes the digests away. */
static void insert_one(__u64 digest, unsigned int message)
{
	if (digest / DIGESTS_MAX == message)
		run.inserted[message][digest % DIGESTS_MAX]++;
	else
		wrong("the digests changed meanwhile");
}

/* Can this chunk be inserted? */
static int verdict(unsigned int message, unsigned int thread)
{
	if (message != run.fail || run.fail_helper != !!thread)
		return 0;
	__atomic_store_n(&run.failed, true, __ATOMIC_RELAXED);
	return -EIO;
}

static int insert(void *ctx, unsigned int thread, const __u64 *digest, __u32 count)
{
	unsigned int message = (unsigned int)(*digest / DIGESTS_MAX) % (MESSAGES * PEERS);
	int ret;
	__u32 i;

	if (__atomic_fetch_add(&run.users[thread], 1, __ATOMIC_RELAXED))
		wrong("a thread's descriptor is used twice at a time");
	__atomic_fetch_add(&run.taken[message], count, __ATOMIC_RELAXED);
	if (run.count[message] > APPLY_CHUNK)
		meet(message, thread);
	check_law();
	if (thread)
		linger(message);
	ret = verdict(message, thread);
	for (i = 0; i < count - !!ret; i++)
		insert_one(digest[i], message);
	__atomic_fetch_sub(&run.users[thread], 1, __ATOMIC_RELAXED);
	return ret;
}

int apply_insert(const struct apply_filters *f, const __u64 *digest, __u32 count)
{
	return apply_pool_insert(f->pool, digest, count);
}

int apply_kept(const struct apply_filters *f, __u64 *local_ns, __u64 *all_ns, bool *saturated)
{
	*saturated = false;
	*local_ns = run.local_ns ?: WINDOW;
	*all_ns = run.all_ns ?: WINDOW;
	return 0;
}

/* The transport */

int live_connect(struct cluster *c, struct rec_error *e)
{
	c->link.connections = 1;
	return run.late || !run.steps ? 0 : -EAGAIN;
}

void live_disconnect(struct cluster *c)
{
	run.left = run.joins;
	run.steps = 1;
}

void live_look_secrets(struct cluster *c)
{
}

int cluster_nats_join(struct cluster_nats *n, __u64 from, struct rec_error *e)
{
	run.joins++;
	if (run.late)
		rec_error_set(e, -ETIMEDOUT, "no answer");
	return run.late ? -ETIMEDOUT : 0;
}

bool cluster_nats_evadable(struct cluster_nats *n)
{
	return false;
}

int cluster_nats_next(struct cluster_nats *n, unsigned int wait_ms, struct cluster_nats_msg *m)
{
	static __u64 digest[DIGESTS_MAX];
	unsigned int i = run.next;
	struct cluster_msg msg = { .check = { 7, 8 },
				   .hash_kind = 1,
				   .window_ns = WINDOW,
				   .incarnation = 1,
				   .seq = i / PEERS + 1,
				   .from = end_of(i) - 1000,
				   .to = end_of(i),
				   .count = run.count[i],
				   .digest = digest };
	__u32 j;

	if (run.quiet && run.quiet--)
		return -EAGAIN;
	run.next++;
	for (j = 0; j < msg.count; j++)
		digest[j] = (__u64)i * DIGESTS_MAX + j;
	strcpy(msg.host, roster[1 + i % PEERS]);
	strcpy(m->host, msg.host);
	m->stamp = end_of(i) + 500;
	m->data = data;
	m->bytes = cluster_msg_put(&msg, data, sizeof(data));
	return 0;
}

void cluster_nats_done(struct cluster_nats_msg *m)
{
}

bool publish_sent_ns(struct publisher *p, const char *id, __u64 *sent_ns)
{
	return false;
}

/* The rest of the agent */

int cover_map_of(const char *local, const char *all, struct epf_cluster_cover *of)
{
	return 0;
}

bool cover_map_same(const struct epf_cluster_cover *a, const struct epf_cluster_cover *b)
{
	return true;
}

bool live_wait(const struct cluster *c, __u64 ns)
{
	return true;
}

bool live_over(struct cluster *c)
{
	return run.steps ? !--run.steps : run.next == MESSAGES * PEERS;
}

void live_say(struct cluster *c, const struct rec_error *e)
{
}

void log_info(const char *fmt, ...)
{
}

void live_promise(struct cluster *c)
{
	__atomic_store_n(&run.promised, run.next, __ATOMIC_RELAXED);
	check_law();
}

/* Runs */

static void begin(const struct cluster_conf *conf, unsigned int threads)
{
	struct coverage_conf coverage = { .roster = roster,
					  .hosts = 1 + PEERS,
					  .self = roster[0],
					  .check = { 7, 8 },
					  .hash_kind = 1,
					  .window_ns = WINDOW,
					  .lag_ns = NS_PER_SEC,
					  .replay_ns = NS_PER_SEC,
					  .peer_rate = 100000000 };
	struct rec_error e;
	unsigned int i;

	memset(&run, 0, sizeof(run));
	run.c.conf = conf;
	run.c.filters.all_window_ns = WINDOW;
	run.fail = ~0u;
	run.crowd = threads > 1;
	pthread_mutex_init(&run.c.lock, NULL);
	run.c.coverage = coverage_new(&coverage, &e);
	if (!run.c.coverage || apply_pool_new(&run.c.filters.pool, threads, insert, NULL))
		abort();
	for (i = 0; i < MESSAGES * PEERS; i++)
		run.count[i] = i % 5 ? (__u32)(epf_word(i + tap_seed(), 1) % DIGESTS_MAX) : 0;
	run.count[1] = DIGESTS_MAX;
}

static int receive(void)
{
	struct rec_error e = { "" };
	int ret = live_receive(&run.c, &e);

	return ret && !e.text[0] ? -EBADMSG : ret;
}

static void end(void)
{
	apply_pool_free(run.c.filters.pool);
	coverage_free(run.c.coverage);
	pthread_mutex_destroy(&run.c.lock);
}

static const char *good_run(const struct cluster_conf *conf, unsigned int threads)
{
	unsigned int i;

	begin(conf, threads);
	if (receive())
		wrong("it fails");
	for (i = 0; i < PEERS && !run.fault; i++)
		if (run.through[i] != MESSAGES)
			wrong("not all messages count in the end");
	if (run.helped[1] != (threads > 1))
		wrong("other threads do not insert, or should not");
	end();
	return run.fault;
}

/* A chunk of message @message cannot be inserted. @helper: one of another thread */
static const char *bad_run(const struct cluster_conf *conf, unsigned int threads,
			   unsigned int message, bool helper)
{
	begin(conf, threads);
	run.count[message] = DIGESTS_MAX;
	run.fail = message;
	run.fail_helper = helper;
	if (receive() != -EIO)
		wrong("the error is lost");
	check_law();
	if (run.next != message + 1 || run.through[message % PEERS] != message / PEERS)
		wrong("it goes on after the error");
	end();
	return run.fault;
}

static const char *bad_runs(const struct cluster_conf *conf, unsigned int threads)
{
	const char *fault = bad_run(conf, threads, 5, false);

	if (!fault && threads > 1)
		fault = bad_run(conf, threads, 8, true);
	return fault;
}

/* So many waits bring nothing: is the stream joined again? */
static const char *quiet_run(const struct cluster_conf *conf, unsigned int waits, bool again)
{
	begin(conf, 1);
	run.quiet = waits;
	if (receive())
		wrong("it fails");
	if (run.joins != 1u + again)
		wrong(again ? "it is not joined again" : "it is joined again too soon");
	end();
	return run.fault;
}

static const char *quiet_runs(const struct cluster_conf *conf)
{
	const char *fault = quiet_run(conf, 59, false);

	return fault ? fault : quiet_run(conf, 60, true);
}

/* The filters have kept all for these times: the younger one tells what may be missing. */
static const char *young_run(const struct cluster_conf *conf, __u64 local_ns, __u64 all_ns)
{
	__u64 began = now_ns(), most = WINDOW - (local_ns < all_ns ? local_ns : all_ns);
	struct coverage_host h;

	begin(conf, 1);
	run.local_ns = local_ns;
	run.all_ns = all_ns;
	if (receive())
		wrong("it fails");
	coverage_host(run.c.coverage, PEERS, &run.c.clock, now_ns(), &h);
	if (!h.self || h.why != COVERAGE_OWN || h.wait_ns > most ||
	    h.wait_ns + (now_ns() - began) < most)
		wrong("the older filter counts");
	end();
	return run.fault;
}

static const char *young_runs(const struct cluster_conf *conf)
{
	const char *fault = young_run(conf, NS_PER_SEC, 3 * NS_PER_SEC);

	return fault ? fault : young_run(conf, 3 * NS_PER_SEC, NS_PER_SEC);
}

/* A server that answers pings, but no requests: the connection ends. */
static const char *late_run(const struct cluster_conf *conf)
{
	begin(conf, 1);
	run.late = true;
	run.steps = 100;
	if (receive() || run.left != 5)
		wrong("it does not end after five of them");
	end();
	return run.fault;
}

/* Looks at a thread: before it starts, while it makes steps or none, and at its end. */
static const char *looks(void)
{
	struct beat b = { 0 };
	bool good = !beat_look(&b) && !beat_look(&b);

	beat_step(&b);
	good = good && !beat_look(&b) && beat_look(&b) == 1 && beat_look(&b) == 2;
	beat_step(&b);
	good = good && !beat_look(&b) && beat_look(&b) == 1;
	beat_end(&b);
	return good && !beat_look(&b) && !beat_look(&b) ? NULL : "other looks count";
}

int main(void)
{
	static char *names[] = { "self", "p0", "p1" };
	static struct cluster_conf conf = { .host = "self", .nr_roster = 1 + PEERS };
	static const unsigned int threads[] = { 1, 2, 3, 8 };
	unsigned int i;

	memcpy(conf.roster, names, sizeof(names));
	tap_plan(12);
	for (i = 0; i < 4; i++)
		tap_sound(good_run(&conf, threads[i]),
			  "%u threads: a message counts when all its digests are inserted, once",
			  threads[i]);
	for (i = 0; i < 4; i++)
		tap_sound(
			bad_runs(&conf, threads[i]),
			"%u threads: an error of any chunk ends the run, and the message does not count",
			threads[i]);
	tap_sound(quiet_runs(&conf), "60 waits without a message are a silence");
	tap_sound(late_run(&conf), "joins without an answer end the connection");
	tap_sound(young_runs(&conf), "keys are complete from when the younger of both filters is");
	tap_sound(looks(), "a thread stands still if a look finds no new step");
	return tap_end();
}
