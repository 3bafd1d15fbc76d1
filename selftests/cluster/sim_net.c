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

/* A message that is sent again is stored again: it has no id that the broker knows. */
static void store(struct sim *s, __u32 message)
{
	struct message *m = &s->message[message];
	unsigned int i;

	m->stamp = s->now + s->jump;
	s->stream[s->stored++] = (struct stored){ message, m->stamp };
	for (i = 0; i < s->plan->hosts; i++)
		deliver(s, i, message);
}

void net_arrive(struct sim *s, const struct event *e)
{
	const struct message *m = &s->message[e->message];

	if (cut(s, e->host))
		return;
	store(s, e->message);
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
		const struct stored *was = &s->stream[i];

		if (was->stamp >= h->replay_from && !lost(s, host))
			sim_event(s, at += 2000, DELIVER, host, was->message, was->stamp);
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

/* A message on its own subject of a host that may write anything into it: the bytes of another
 * message, the name of another host, any incarnation, number and interval, or no message at all.
 */
void net_forge(struct sim *s, unsigned int host)
{
	struct message *m = &s->message[s->messages];
	const struct message *of = &s->message[s->messages ? sim_draw(s, s->messages) : 0];
	const struct host *like = &s->host[sim_draw(s, s->plan->hosts)];
	__u64 now = s->now + s->jump, digest = s->keys ? sim_draw(s, s->keys) : 0;
	struct cluster_msg msg = { .check = { 1, 2 },
				   .hash_kind = 1,
				   .window_ns = WINDOW,
				   .incarnation = sim_draw(s, 4) ? like->incarnation :
								   sim_draw(s, 8),
				   .seq = like->seq + sim_draw(s, 64),
				   .from = now - sim_draw(s, 2 * WINDOW),
				   .to = now - sim_draw(s, LAG),
				   .lost = !sim_draw(s, 8),
				   .count = s->keys && sim_draw(s, 2),
				   .digest = &digest };

	memcpy(msg.host, sim_draw(s, 4) ? s->host[host].name : like->name, sizeof(msg.host));
	m->len = cluster_msg_put(&msg, m->bytes, sizeof(m->bytes));
	if (!m->len || !sim_draw(s, 4)) {
		m->len = of->len;
		memcpy(m->bytes, of->bytes, of->len);
	}
	m->host = host;
	m->life = s->host[host].life + 1000; /* no echo, no acknowledgement */
	sim_event(s, s->now + 1000, ARRIVE, host, s->messages++, 0);
}
