// SPDX-License-Identifier: GPL-2.0
/* The broker of a simulated cluster, and the network between it and the hosts. */
#include "sim_own.h"

#include <string.h>

/* Time that a message takes between @host and the broker. */
static __u64 way(struct sim *s, unsigned int host)
{
	__u64 most = sim_fault(s, SLOW, host) ? 400 * MS : s->plan->delay;

	return 1000 + sim_draw(s, 1 + most);
}

static bool cut(const struct sim *s, unsigned int host)
{
	return sim_fault(s, CUT, host) || sim_fault(s, BROKER_DOWN, 0);
}

static bool lost(struct sim *s, unsigned int host)
{
	return cut(s, host) || (sim_fault(s, LOSSY, host) && !sim_draw(s, 5));
}

void net_send(struct sim *s, __u32 message)
{
	unsigned int host = s->message[message].host;

	if (!lost(s, host))
		sim_event(s, s->now + way(s, host), ARRIVE, host, message, 0);
}

static void deliver(struct sim *s, unsigned int to, __u32 message)
{
	__u64 stamp = s->message[message].stamp;

	if (!s->host[to].alive)
		return;
	if (!lost(s, to))
		sim_event(s, s->now + way(s, to), DELIVER, to, message, stamp);
	if (sim_fault(s, DOUBLED, to) && sim_draw(s, 2))
		sim_event(s, s->now + way(s, to) + sim_draw(s, 3000 * MS), DELIVER, to, message,
			  stamp);
}

/* A message that is sent again is stored once, as JetStream does by its id; but not if the broker
 * has forgotten the first.
 */
static bool stored(const struct sim *s, __u32 message)
{
	__u32 i;

	for (i = s->stored; i-- > 0 && i + 64 > s->stored;)
		if (s->stream[i] == message)
			return true;
	return false;
}

void net_arrive(struct sim *s, const struct event *e)
{
	struct message *m = &s->message[e->message];
	unsigned int i;

	if (cut(s, e->host))
		return;
	if (!stored(s, e->message)) {
		m->stamp = s->now + s->jump;
		s->stream[s->stored++] = e->message;
		for (i = 0; i < s->plan->hosts; i++)
			deliver(s, i, e->message);
	}
	if (m->life == s->host[m->host].life && !lost(s, e->host))
		sim_event(s, s->now + way(s, e->host), ACKNOWLEDGE, m->host, e->message, 0);
}

/* Begin the replay that the host wants, if the broker can be reached. */
void net_replay(struct sim *s, unsigned int host)
{
	struct host *h = &s->host[host];
	__u64 at = s->now + way(s, host);
	__u32 i;

	if (cut(s, host))
		return;
	for (i = 0; i < s->stored; i++) {
		const struct message *m = &s->message[s->stream[i]];

		if (m->stamp >= h->replay_from && !lost(s, host))
			sim_event(s, at += 2000, DELIVER, host, s->stream[i], m->stamp);
	}
	h->replay_from = ~0ULL;
	s->out->replays++;
}

/* A message with the name of @host that nobody may take: each has another fault. */
void net_stranger(struct sim *s, unsigned int host)
{
	struct message *m = &s->message[s->messages];
	const struct host *h = &s->host[host];
	__u64 now = s->now + s->jump;
	struct cluster_msg msg = { .check = { 1, 2 },
				   .hash_kind = 1,
				   .window_ns = WINDOW,
				   .incarnation = h->incarnation,
				   .seq = h->seq + 1,
				   .from = h->from,
				   .to = h->from + LAG / 2 };

	memcpy(msg.host, h->name, sizeof(msg.host));
	switch (sim_draw(s, 5)) {
	case 0:
		msg.check[sim_draw(s, 2)] ^= 1ULL << sim_draw(s, 64);
		break;
	case 1:
		msg.hash_kind = 2;
		break;
	case 2:
		msg.window_ns++;
		break;
	case 3:
		memcpy(msg.host, "foreign", 8);
		break;
	default:
		msg.to = now + LAG;
	}
	m->len = cluster_msg_put(&msg, m->bytes, sizeof(m->bytes));
	m->host = host;
	m->life = h->life + 1000; /* no echo, no acknowledgement */
	if (m->len)
		sim_event(s, s->now + 1000, ARRIVE, host, s->messages++, 0);
}
