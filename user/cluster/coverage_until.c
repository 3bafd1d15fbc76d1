// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What follows from the messages: what is covered, what is missing, what to read again. */
#include "cluster/coverage_own.h"

#include <string.h>

/* A window by any clock. */
static __u64 long_window(const struct coverage *c)
{
	return c->conf.window_ns + cluster_rate_error(c->conf.window_ns);
}

/* By the own clock, which may be fast by CLUSTER_CLOCK_PPM: that is a W by any clock. */
static bool own_complete(const struct coverage *c, __u64 now_ns)
{
	return c->own_since_ns <= now_ns && now_ns - c->own_since_ns >= c->conf.window_ns;
}

/* Is all known that the peer inserted in the window that ends now? @low: of cluster time */
static bool coverage_until_filled(const struct coverage *c, const struct peer *p, __u64 low)
{
	__u64 since = p->spans[0].since;

	return since <= low && low - since >= c->conf.window_ns;
}

/* Why a peer is not covered now, in cluster time @low to @high. */
static enum coverage_why peer_why(const struct coverage *c, const struct peer *p, __u64 low,
				  __u64 high)
{
	if (!p->nr_spans)
		return COVERAGE_NEVER;
	if (p->spans[0].to + c->conf.lag_ns < high)
		return p->nr_spans > 1 ? COVERAGE_GAP : COVERAGE_SILENT;
	return coverage_until_filled(c, p, low) ? COVERAGE_COVERED : COVERAGE_FILLING;
}

static void give_up_old(const struct coverage *c, struct peer *p, __u64 now_ns)
{
	while (p->nr_spans > 1 && now_ns > p->spans[1].at &&
	       now_ns - p->spans[1].at > COVERAGE_GAP_LAGS * c->conf.lag_ns)
		coverage_give_up(p);
}

/* A message that was taken before cluster time was known may be of another clock. */
static void drop_future(struct peer *p, __u64 high)
{
	if (p->newest > high || (p->nr_spans && p->spans[p->nr_spans - 1].to > high))
		coverage_forget(p);
}

bool coverage_until(struct coverage *c, struct cluster_clock *k, __u64 now_ns, __u64 *until_ns)
{
	__u64 low, high, end;
	bool covered;
	unsigned int i;

	if (!cluster_clock_low(k, now_ns, &low) || !cluster_clock_high(k, now_ns, &high))
		return false;
	covered = own_complete(c, now_ns) && c->restarts == k->restarts;
	end = high;
	for (i = 0; i < c->conf.hosts; i++) {
		struct peer *p = &c->peer[i];

		if (i == c->self)
			continue;
		give_up_old(c, p, now_ns);
		drop_future(p, high);
		if (peer_why(c, p, low, high) != COVERAGE_COVERED)
			covered = false;
		else if (p->spans[0].to < end)
			end = p->spans[0].to;
	}
	return covered && cluster_clock_until(k, now_ns, end + c->conf.lag_ns, until_ns);
}

/* Is a hole of the peer old enough to read the stream again? */
static bool hole_to_ask(const struct coverage *c, const struct peer *p, __u64 now_ns)
{
	return p->nr_spans > 1 && now_ns > p->spans[1].at &&
	       now_ns - p->spans[1].at >= c->conf.lag_ns;
}

/* From which stamp on the messages of a window come again. */
static __u64 window_begin(const struct coverage *c, struct cluster_clock *k, __u64 now_ns)
{
	__u64 back = long_window(c) + c->conf.replay_ns, low;

	return cluster_clock_low(k, now_ns, &low) && low > back ? low - back : 0;
}

bool coverage_wants_replay(struct coverage *c, struct cluster_clock *k, __u64 now_ns,
			   __u64 *from_stamp)
{
	__u64 from = SPAN_NEVER;
	unsigned int i;

	if (c->began && now_ns - c->replayed_ns < 2 * c->conf.lag_ns)
		return false;
	if (!c->began)
		from = window_begin(c, k, now_ns);
	for (i = 0; i < c->conf.hosts && c->began; i++) {
		const struct peer *p = &c->peer[i];

		if (hole_to_ask(c, p, now_ns) && p->spans[0].to < from)
			from = p->spans[0].to;
	}
	if (from == SPAN_NEVER)
		return false;
	c->began = true;
	c->replayed_ns = now_ns;
	*from_stamp = from;
	return true;
}

unsigned int coverage_hosts(const struct coverage *c)
{
	return c->conf.hosts;
}

__u64 coverage_strangers(const struct coverage *c)
{
	return c->strangers;
}

static void own_host(const struct coverage *c, bool clock, __u64 now_ns, struct coverage_host *out)
{
	__u64 age = c->own_since_ns <= now_ns ? now_ns - c->own_since_ns : 0;

	out->why = own_complete(c, now_ns) ? COVERAGE_COVERED : COVERAGE_OWN;
	if (out->why == COVERAGE_OWN)
		out->wait_ns = c->conf.window_ns - age;
	else if (!clock)
		out->why = COVERAGE_NO_CLOCK;
}

static void other_host(const struct coverage *c, const struct peer *p, __u64 low, __u64 high,
		       struct coverage_host *out)
{
	__u64 since = out->since;

	out->why = peer_why(c, p, low, high);
	out->behind_ns = high > out->through ? high - out->through : 0;
	if (out->why == COVERAGE_FILLING)
		out->wait_ns = c->conf.window_ns - (since <= low ? low - since : 0);
}

void coverage_host(const struct coverage *c, unsigned int i, struct cluster_clock *k, __u64 now_ns,
		   struct coverage_host *out)
{
	const struct peer *p = &c->peer[i];
	__u64 low, high;
	bool clock = cluster_clock_low(k, now_ns, &low) && cluster_clock_high(k, now_ns, &high);

	*out = p->n;
	out->name = p->name;
	out->self = i == c->self;
	out->incarnation = p->incarnation;
	out->since = p->nr_spans ? p->spans[0].since : SPAN_NEVER;
	out->through = p->nr_spans ? p->spans[0].to : 0;
	out->pending = p->nr_spans ? p->nr_spans - 1 : 0;
	if (out->self)
		own_host(c, clock, now_ns, out);
	else if (clock)
		other_host(c, p, low, high, out);
	else
		out->why = COVERAGE_NO_CLOCK;
}

const char *coverage_why_name(enum coverage_why why)
{
	static const char *const name[] = {
		[COVERAGE_COVERED] = "covered",       [COVERAGE_NO_CLOCK] = "no cluster time",
		[COVERAGE_OWN] = "a filter is young", [COVERAGE_NEVER] = "never heard",
		[COVERAGE_SILENT] = "silent",         [COVERAGE_GAP] = "message missing",
		[COVERAGE_FILLING] = "filling",
	};

	return why < COVERAGE_WHYS ? name[why] : "unknown";
}

const char *coverage_refusal_name(enum coverage_refusal refusal)
{
	static const char *const name[] = {
		[COVERAGE_REFUSED_SUBJECT] = "its subject is that of another host",
		[COVERAGE_REFUSED_KIND] = "its hash is another one",
		[COVERAGE_REFUSED_WINDOW] = "its window is another one",
		[COVERAGE_REFUSED_CHECK] =
			"its hash key, or what its keys are made of, is another one",
		[COVERAGE_REFUSED_FUTURE] = "its end is in the future",
		[COVERAGE_REFUSED_STAMP] = "its stamp is in the future",
		[COVERAGE_REFUSED_RATE] = "more keys than a peer may send",
		[COVERAGE_REFUSED_DAMAGED] = "it is damaged",
	};

	return refusal < COVERAGE_REFUSALS ? name[refusal] : "none";
}
