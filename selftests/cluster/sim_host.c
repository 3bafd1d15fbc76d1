// SPDX-License-Identifier: GPL-2.0
/* A host of a simulated cluster: filters, journal, publisher and receiver. */
#include "sim_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Filters keep a key for the window, on the clock of the host. The promise is shorter by the error
 * of the clock.
 */
#define PROMISED (WINDOW - WINDOW / 5000 - 1)

static __u64 own_now(const struct sim *s, const struct host *h)
{
	return sim_own(s, h, s->now);
}

/* Is key @i promised at true time @at? If the broker's clock may be set: by either clock, give or
 * take the width of the bounds.
 */
static bool promised(const struct sim *s, __u32 i, __u64 at)
{
	__u64 slack = s->plan->jumps ? 2 * s->plan->delay + 10 * MS : 0;
	__u64 low = PROMISED - slack, high = LAG + slack;
	__u64 age = at - s->returned[i], stamped = at + s->jump - s->stamped[i];

	return age < low && age >= high && stamped < low && stamped >= high;
}

/* The oracle: is each key that any host inserted in (at - W, at - D] in a filter of @h? */
static void judge(struct sim *s, const struct host *h, __u64 at)
{
	__u64 own = sim_own(s, h, at);
	__u32 i;

	for (i = s->keys; i-- > 0 && s->returned[i] + PROMISED > at;) {
		if (!promised(s, i, at))
			continue;
		s->out->keys++;
		if (!h->seen[i] || own - h->seen[i] > WINDOW)
			s->out->wrong++;
	}
}

/* The last true time at which the clock of @h shows @own. */
static __u64 true_time(const struct sim *s, const struct host *h, __u64 own)
{
	__s64 past = (__s64)(own - sim_own(s, h, h->born));
	__u64 at = h->born + (__u64)(past * 1000000 / (1000000 + h->ppm));

	while (sim_own(s, h, at + 1) <= own)
		at++;
	while (sim_own(s, h, at) > own)
		at--;
	return at;
}

static void agent_conf(const struct sim *s, const struct host *h, struct coverage_conf *conf)
{
	*conf = (struct coverage_conf){
		.roster = s->roster,
		.hosts = s->plan->hosts,
		.self = h->name,
		.check = { 1, 2 },
		.hash_kind = 1,
		.window_ns = WINDOW,
		.lag_ns = LAG,
		.replay_ns = WINDOW / 3,
		.peer_rate = PEER_RATE,
		.peer_burst = PEER_BURST,
	};
}

static struct coverage *coverage_begin(const struct sim *s, const struct host *h)
{
	struct coverage_conf conf;
	struct coverage *c;
	struct rec_error e;

	agent_conf(s, h, &conf);
	c = coverage_new(&conf, &e);
	if (!c) {
		puts(e.text);
		abort();
	}
	coverage_own(c, sim_own(s, h, h->born));
	return c;
}

/* Start the agent. @anew: it does not know where the last one stood. */
void host_agent(struct sim *s, unsigned int host, bool anew)
{
	struct host *h = &s->host[host];

	h->alive = true;
	h->life++;
	h->queued = 0;
	memset(&h->clock, 0, sizeof(h->clock));
	h->coverage = coverage_begin(s, h);
	h->without = coverage_begin(s, h);
	h->replay_from = h->covered_since = ~0ULL;
	h->restarts = 0;
	if (anew) {
		h->incarnation = 1 + sim_draw(s, ~0ULL);
		h->seq = h->from = h->lost = 0;
	}
	sim_event(s, s->now + sim_draw(s, INTERVAL), PUBLISH, host, 0, 0);
	sim_event(s, s->now + sim_draw(s, TICK), TICK_DUE, host, 0, 0);
}

static void add_up(struct sim *s, const struct coverage *c, struct cluster_clock *k, __u64 now)
{
	struct coverage_host host;
	unsigned int i, r;

	for (i = 0; i < coverage_hosts(c); i++) {
		coverage_host(c, i, k, now, &host);
		s->out->gaps += host.gaps;
		for (r = 0; r < COVERAGE_REFUSALS; r++)
			s->out->refused[r] += host.refused[r];
	}
}

void host_agent_dies(struct host *h)
{
	h->alive = false;
	coverage_free(h->coverage);
	coverage_free(h->without);
	h->coverage = h->without = NULL;
	h->covered_since = ~0ULL;
}

void host_dies(struct host *h)
{
	host_agent_dies(h);
	h->up = false;
	h->until = 0;
	memset(h->seen, 0, sizeof(h->seen));
	h->written = h->tail = 0;
}

void host_begin(struct sim *s, unsigned int host)
{
	struct host *h = &s->host[host];

	h->up = true;
	h->born = s->now;
	h->ppm = (int)sim_draw(s, 399) - 199;
	host_agent(s, host, true);
}

static void insert(struct sim *s, struct host *h)
{
	if (s->keys == KEYS_MAX)
		return;
	s->returned[s->keys] = s->now;
	s->stamped[s->keys] = s->now + s->jump;
	h->seen[s->keys] = own_now(s, h);
	h->journal[h->written++] = s->keys++;
}

void host_insert(struct sim *s, unsigned int host)
{
	unsigned int i, n = sim_fault(s, FLOOD, host) ? 20 : 1;

	for (i = 0; i < n && s->host[host].up; i++)
		insert(s, &s->host[host]);
	sim_event(s, s->now + sim_draw(s, 160 * MS), INSERT, host, 0, 0);
}

static __u32 message_new(struct sim *s, unsigned int host, const struct cluster_msg *msg)
{
	struct host *h = &s->host[host];
	struct message *m = &s->message[s->messages];

	m->len = cluster_msg_put(msg, m->bytes, sizeof(m->bytes));
	if (!m->len)
		abort();
	m->host = host;
	m->life = h->life;
	m->sent = m->again = own_now(s, h);
	return s->messages++;
}

static void msg_begin(const struct host *h, struct cluster_msg *m)
{
	*m = (struct cluster_msg){ .check = { 1, 2 },
				   .hash_kind = 1,
				   .window_ns = WINDOW,
				   .incarnation = h->incarnation };
	memcpy(m->host, h->name, sizeof(m->host));
}

/* Cluster time is not known: ask for an echo. */
static void heartbeat(struct sim *s, unsigned int host)
{
	struct cluster_msg m;

	msg_begin(&s->host[host], &m);
	net_send(s, message_new(s, host, &m));
}

/* A message with @n keys from the journal, of which the last of a reading ends at @to. What the
 * queue cannot take is lost, and is told with the next one that it takes.
 */
static void message_out(struct sim *s, unsigned int host, __u32 n, __u64 to)
{
	struct host *h = &s->host[host];
	__u64 digest[BATCH_MAX];
	struct cluster_msg m;
	__u32 i;

	for (i = 0; i < n; i++)
		digest[i] = h->journal[h->tail++];
	if (h->queued == QUEUE_MAX) {
		h->lost += n;
		return;
	}
	msg_begin(h, &m);
	m.seq = ++h->seq;
	m.from = h->from;
	m.to = h->from = to;
	m.lost = h->lost;
	m.count = n;
	m.digest = digest;
	h->lost = 0;
	h->queue[h->queued] = message_new(s, host, &m);
	net_send(s, h->queue[h->queued++]);
}

void host_read(struct sim *s, unsigned int host)
{
	struct host *h = &s->host[host];
	__u32 left;

	if (h->stopped) {
		sim_event(s, s->now + INTERVAL, READ, host, 0, 0);
		return;
	}
	sim_event(s, s->now + INTERVAL / 2 + sim_draw(s, INTERVAL), PUBLISH, host, 0, 0);
	if (h->written - h->tail > JOURNAL_KEYS) {
		h->lost += h->written - h->tail - JOURNAL_KEYS;
		h->tail = h->written - JOURNAL_KEYS;
	}
	while ((left = h->written - h->tail) > BATCH_MAX)
		message_out(s, host, BATCH_MAX, h->from);
	message_out(s, host, left, h->low);
}

/* A new incarnation covers what is inserted from now on. */
static void incarnate(struct sim *s, struct host *h)
{
	h->incarnation = 1 + sim_draw(s, ~0ULL);
	h->seq = h->lost = h->queued = 0;
	h->restarts = h->clock.restarts;
	h->tail = h->written;
	if (!cluster_clock_high(&h->clock, own_now(s, h), &h->from))
		abort();
}

static void send_again(struct sim *s, struct host *h)
{
	__u64 now = own_now(s, h);
	__u32 i;

	for (i = 0; i < h->queued; i++) {
		struct message *m = &s->message[h->queue[i]];

		if (now - m->again < RESEND)
			continue;
		m->again = now;
		net_send(s, h->queue[i]);
	}
}

void host_publish(struct sim *s, unsigned int host)
{
	struct host *h = &s->host[host];
	bool known = !h->stopped && cluster_clock_low(&h->clock, own_now(s, h), &h->low);

	if (sim_fault(s, STRANGER, host))
		net_stranger(s, host);
	if (s->plan->forger == host + 1)
		net_forge(s, host);
	if (known && (!h->from || h->restarts != h->clock.restarts))
		incarnate(s, h);
	if (known && h->low >= h->from) {
		send_again(s, h);
		sim_event(s, s->now + sim_draw(s, 3 * MS), READ, host, 0, 0);
		return;
	}
	if (!h->stopped)
		heartbeat(s, host);
	sim_event(s, s->now + INTERVAL, PUBLISH, host, 0, 0);
}

void host_acknowledge(struct host *h, __u32 message)
{
	__u32 i, kept = 0;

	for (i = 0; i < h->queued; i++)
		if (h->queue[i] != message)
			h->queue[kept++] = h->queue[i];
	h->queued = kept;
}

static void apply(struct sim *s, unsigned int host, const struct cluster_msg *m, __u64 stamp,
		  bool forged)
{
	struct host *h = &s->host[host];
	__u32 i;

	if (sim_fault(s, FAILS, host) && sim_draw(s, 2))
		return;
	for (i = 0; i < m->count; i++)
		h->seen[m->digest[i]] = own_now(s, h);
	coverage_applied(h->coverage, m, stamp);
	if (!forged)
		coverage_applied(h->without, m, stamp);
}

void host_deliver(struct sim *s, const struct event *e)
{
	static __u64 digests[CLUSTER_DIGESTS_MAX];
	struct host *h = &s->host[e->host];
	const struct message *m = &s->message[e->message];
	const char *subject = s->host[m->host].name;
	bool forged = s->plan->forger == m->host + 1;
	enum coverage_take take;
	__u8 bytes[MESSAGE_BYTES];
	struct cluster_msg msg;
	struct rec_error error;

	if (h->stopped) { /* it waits in the socket */
		sim_event(s, s->now + TICK, DELIVER, e->host, e->message, e->stamp);
		return;
	}
	memcpy(bytes, m->bytes, m->len);
	if (sim_fault(s, DAMAGED, e->host) && !sim_draw(s, 5))
		bytes[sim_draw(s, m->len)] ^= (__u8)(1 + sim_draw(s, 255));
	if (cluster_msg_get(&msg, bytes, m->len, digests, &error)) {
		coverage_damaged(h->coverage, subject);
		if (!forged)
			coverage_damaged(h->without, subject);
		return;
	}
	if (m->host == e->host && m->life == h->life)
		cluster_clock_echo(&h->clock, m->sent, own_now(s, h), e->stamp);
	take = coverage_offer(h->coverage, &msg, subject, e->stamp, &h->clock, own_now(s, h),
			      &error);
	s->out->forged += forged;
	if (!forged)
		s->out->changed += take != coverage_offer(h->without, &msg, subject, e->stamp,
							  &h->clock, own_now(s, h), &error);
	if (take == COVERAGE_APPLY)
		apply(s, e->host, &msg, e->stamp, forged);
}

/* The law of forgers: is all that is known of the other hosts known without their messages? */
static bool unchanged(const struct sim *s, const struct host *h, struct cluster_clock *k, __u64 now)
{
	struct coverage_host with, without;
	unsigned int i;

	for (i = 0; i < s->plan->hosts; i++) {
		memset(&with, 0, sizeof(with));
		memset(&without, 0, sizeof(without));
		coverage_host(h->coverage, i, k, now, &with);
		coverage_host(h->without, i, k, now, &without);
		without.name = with.name;
		if (i + 1 != s->plan->forger && memcmp(&with, &without, sizeof(with)))
			return false;
	}
	return true;
}

void host_tick(struct sim *s, unsigned int host)
{
	struct host *h = &s->host[host];
	__u64 own = own_now(s, h), ignored;

	sim_event(s, s->now + TICK / 2 + sim_draw(s, TICK), TICK_DUE, host, 0, 0);
	if (h->stopped) {
		h->covered_since = ~0ULL;
		return;
	}
	if (!coverage_until(h->coverage, &h->clock, own, &h->until))
		h->until = 0;
	coverage_until(h->without, &h->clock, own, &ignored);
	s->out->changed += !unchanged(s, h, &h->clock, own);
	s->out->ticks++;
	if (h->until) {
		s->out->claims++;
		judge(s, h, s->now);
		/* the word stays until then if the agent dies now */
		judge(s, h, true_time(s, h, h->until));
	}
	if (!h->until)
		h->covered_since = ~0ULL;
	else if (h->covered_since == ~0ULL)
		h->covered_since = s->now;
	if (h->replay_from != ~0ULL ||
	    coverage_wants_replay(h->coverage, &h->clock, own, &h->replay_from))
		net_replay(s, host);
	if (s->now > s->plan->end - TICK)
		add_up(s, h->coverage, &h->clock, own);
}
