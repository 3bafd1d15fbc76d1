// SPDX-License-Identifier: GPL-2.0
/* The course of a simulated cluster: events in the order of true time, faults, the oracle's end. */
#include "sim_own.h"

#include <stdlib.h>
#include <string.h>

#include "epf/hash.h"

__u64 draw(__u64 *state, __u64 below)
{
	return epf_word(++*state, 1) % below;
}

__u64 sim_draw(struct sim *s, __u64 below)
{
	return draw(&s->random, below);
}

/* The host's clock, which begins near 0 when it starts. */
__u64 sim_own(const struct sim *s, const struct host *h, __u64 at)
{
	__s64 past = (__s64)(at - h->born);

	(void)s;
	return (__u64)(5000 * (__s64)MS + past + past * h->ppm / 1000000);
}

static void event_swap(struct event *a, struct event *b)
{
	struct event c = *a;

	*a = *b;
	*b = c;
}

void sim_event(struct sim *s, __u64 at, enum event_kind kind, unsigned int host, __u32 message,
	       __u64 stamp)
{
	__u32 i = s->events++;

	if (i == s->room) {
		s->room = s->room ? 2 * s->room : 4096;
		s->heap = realloc(s->heap, s->room * sizeof(*s->heap));
		if (!s->heap)
			abort();
	}
	s->heap[i] =
		(struct event){ at, stamp, message, s->host[host].life, (__u8)kind, (__u8)host };
	for (; i && s->heap[(i - 1) / 2].at > at; i = (i - 1) / 2)
		event_swap(&s->heap[i], &s->heap[(i - 1) / 2]);
}

static struct event event_next(struct sim *s)
{
	struct event first = s->heap[0];
	__u32 i = 0, child;

	s->heap[0] = s->heap[--s->events];
	while ((child = 2 * i + 1) < s->events) {
		if (child + 1 < s->events && s->heap[child + 1].at < s->heap[child].at)
			child++;
		if (s->heap[i].at <= s->heap[child].at)
			break;
		event_swap(&s->heap[i], &s->heap[child]);
		i = child;
	}
	return first;
}

/* Is the fault there now? For those of a host: @host. */
bool sim_fault(const struct sim *s, enum fault_kind kind, unsigned int host)
{
	const struct fault *f = s->plan->fault;
	unsigned int i;

	for (i = 0; i < s->plan->faults; i++)
		if (f[i].kind == kind && s->now >= f[i].begin && s->now < f[i].end &&
		    (kind == BROKER_DOWN || f[i].host == host))
			return true;
	return false;
}

static void fault_begins(struct sim *s, const struct fault *f)
{
	struct host *h = &s->host[f->host];

	if (f->kind == AGENT_DIES || f->kind == AGENT_ANEW)
		host_agent_dies(h);
	else if (f->kind == HOST_DIES)
		host_dies(h);
	else if (f->kind == AGENT_STOPS)
		h->stopped = true;
	else if (f->kind == BROKER_DOWN)
		s->stored = 0;
	else if (f->kind == CLOCK_JUMPS)
		s->jump += sim_draw(s, 2) ? sim_draw(s, 1 + (3000 * MS >> sim_draw(s, 12))) :
					    0 - sim_draw(s, 1 + (3000 * MS >> sim_draw(s, 12)));
}

static void fault_ends(struct sim *s, const struct fault *f)
{
	struct host *h = &s->host[f->host];

	if ((f->kind == AGENT_DIES || f->kind == AGENT_ANEW) && h->up && !h->alive)
		host_agent(s, f->host, f->kind == AGENT_ANEW);
	else if (f->kind == HOST_DIES && !h->up)
		host_begin(s, f->host);
	else if (f->kind == AGENT_STOPS)
		h->stopped = false;
}

/* Two faults of one host may overlap: each ends what it finds. */
static void faults_now(struct sim *s, struct fault *f)
{
	unsigned int i;

	for (i = 0; i < s->plan->faults; i++, f++) {
		if (f->happened == 0 && s->now >= f->begin) {
			f->happened = 1;
			fault_begins(s, f);
		}
		if (f->happened == 1 && s->now >= f->end) {
			f->happened = 2;
			fault_ends(s, f);
		}
	}
}

static void event_do(struct sim *s, const struct event *e)
{
	struct host *h = &s->host[e->host];
	bool runs = h->alive && e->life == h->life;

	if (e->kind == INSERT)
		host_insert(s, e->host);
	else if (e->kind == ARRIVE)
		net_arrive(s, e);
	else if (e->kind == PUBLISH && runs)
		host_publish(s, e->host);
	else if (e->kind == READ && runs)
		host_read(s, e->host);
	else if (e->kind == TICK_DUE && runs)
		host_tick(s, e->host);
	else if (e->kind == DELIVER && runs)
		host_deliver(s, e);
	else if (e->kind == ACKNOWLEDGE && runs)
		host_acknowledge(h, e->message);
}

static void begin(struct sim *s)
{
	unsigned int i;

	for (i = 0; i < s->plan->hosts; i++) {
		struct host *h = &s->host[i];

		memcpy(h->name, "host-0", 7);
		h->name[5] += (char)i;
		s->roster[i] = h->name;
	}
	for (i = 0; i < s->plan->hosts; i++) {
		host_begin(s, i);
		sim_event(s, s->now + sim_draw(s, 50 * MS), INSERT, i, 0, 0);
	}
}

static void end(struct sim *s)
{
	unsigned int i;

	s->out->whole_ns = 0;
	for (i = 0; i < s->plan->hosts; i++) {
		struct host *h = &s->host[i];

		if (h->covered_since > s->out->whole_ns)
			s->out->whole_ns = h->covered_since;
		host_agent_dies(h);
	}
}

void sim_run(const struct plan *plan, struct outcome *out)
{
	static struct sim s;
	struct fault fault[FAULTS_MAX];
	struct event *heap = s.heap;
	__u32 room = s.room;

	memset(&s, 0, sizeof(s));
	memset(out, 0, sizeof(*out));
	memcpy(fault, plan->fault, sizeof(fault));
	s.plan = plan;
	s.out = out;
	s.heap = heap;
	s.room = room;
	s.random = plan->seed << 24;
	s.now = 1000000 * MS;
	s.jump = 3600 * 1000 * MS;
	begin(&s);
	while (s.events && s.heap[0].at < plan->end && s.keys < KEYS_MAX &&
	       s.messages < MESSAGES_MAX && s.stored < STORED_MAX) {
		struct event e = event_next(&s);

		s.now = e.at;
		faults_now(&s, fault);
		event_do(&s, &e);
	}
	end(&s);
}
