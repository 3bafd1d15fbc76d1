// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a live cluster tells about itself. */
#include <string.h>

#include "cluster/live_own.h"
#include "common/clock.h"

static json_t *live_number(__u64 n)
{
	return json_integer((json_int_t)(n >> 63 ? ~0ULL >> 1 : n));
}

static json_t *ago(__u64 ns, __u64 now)
{
	return ns ? live_number(now - ns) : json_null();
}

static json_t *refusals_json(const struct coverage_host *h)
{
	json_t *o = json_object();
	unsigned int i;

	for (i = 0; i < COVERAGE_REFUSALS; i++)
		if (h->refused[i])
			json_object_set_new(o, coverage_refusal_name(i),
					    live_number(h->refused[i]));
	return o;
}

static json_t *host_json(struct cluster *c, unsigned int i, __u64 now)
{
	struct coverage_host h;

	coverage_host(c->coverage, i, &c->clock, now, &h);
	return json_pack("{ss sb sb ss so so so so so so so so so so so so}", "host", h.name,
			 "self", h.self, "covered", h.why == COVERAGE_COVERED, "why",
			 coverage_why_name(h.why), "behind_ns",
			 h.through ? live_number(h.behind_ns) : json_null(), "wait_ns",
			 live_number(h.wait_ns), "heard_ago_ns", ago(h.heard_ns, now), "messages",
			 live_number(h.messages), "digests", live_number(h.digests), "rate",
			 live_number(c->rate[i]), "repeats", live_number(h.repeats), "incarnations",
			 live_number(h.incarnations), "gaps", live_number(h.gaps), "lost",
			 live_number(h.lost), "pending", live_number(h.pending), "refused",
			 refusals_json(&h));
}

/* Of hosts @first and later; an empty list while there is no run. */
static json_t *hosts_json(struct cluster *c, unsigned int first, unsigned int most, __u64 now)
{
	json_t *list = json_array();
	unsigned int nr = c->coverage ? c->conf->nr_roster : 0, i;

	for (i = first; i < nr && i - first < most; i++)
		json_array_append_new(list, host_json(c, i, now));
	return list;
}

static json_t *published_json(struct cluster *c)
{
	struct publish_state s = { 0 };

	if (c->publisher)
		publish_state(c->publisher, &s);
	return json_pack("{so so so so so so}", "messages", live_number(s.messages), "digests",
			 live_number(s.digests), "lost", live_number(s.lost), "waiting",
			 live_number(s.waiting), "waiting_bytes", live_number(s.bytes), "resent",
			 live_number(s.resent));
}

static json_t *clock_json(struct cluster *c, __u64 now)
{
	struct cluster_clock k = c->clock;
	__u64 low = 0, high = 0;
	bool known = cluster_clock_low(&k, now, &low) && cluster_clock_high(&k, now, &high);

	return json_pack("{sb so so so}", "known", known, "now_ns",
			 known ? live_number(low) : json_null(), "uncertain_ns",
			 known ? live_number(high - low) : json_null(), "restarts",
			 live_number(k.restarts));
}

/* Whose keys the filter of all has most of. */
static json_t *largest_json(struct cluster *c, __u64 now)
{
	struct coverage_host h;
	unsigned int percent, i = live_largest(c, &percent);

	if (!c->coverage || !percent)
		return json_null();
	coverage_host(c->coverage, i, &c->clock, now, &h);
	return json_pack("{ss si}", "host", h.name, "percent", percent);
}

json_t *cluster_json(struct cluster *c, unsigned int first, unsigned int most)
{
	const struct cluster_conf *conf = c->conf;
	__u64 now;
	json_t *o;

	pthread_mutex_lock(&c->lock);
	now = now_ns();
	o = json_pack("{ss ss ss ss so so so sb sb sb so so so so so so so}", "name", conf->name,
		      "host", conf->host, "filter", conf->local, "all", conf->all, "lag_ns",
		      live_number(conf->lag_ns), "window_ns",
		      live_number(c->coverage ? c->filters.of.params.window_ns : 0),
		      "covered_for_ns", live_number(c->until_ns > now ? c->until_ns - now : 0),
		      "covered", c->until_ns > now && !c->saturated, "saturated", c->saturated,
		      "joined", c->joined, "largest", largest_json(c, now), "trouble",
		      c->trouble.text[0] ? json_string(c->trouble.text) : json_null(),
		      "certificate_end", c->cert_end ? live_number(c->cert_end) : json_null(),
		      "strangers", live_number(c->coverage ? coverage_strangers(c->coverage) : 0),
		      "clock", clock_json(c, now), "published", published_json(c), "hosts",
		      hosts_json(c, first, most, now));
	pthread_mutex_unlock(&c->lock);
	if (o)
		json_object_set_new(o, "nr_hosts", live_number(conf->nr_roster));
	return o;
}

static __u64 all_refused(const struct coverage_host *h)
{
	__u64 n = 0;
	unsigned int i;

	for (i = 0; i < COVERAGE_REFUSALS; i++)
		n += h->refused[i];
	return n;
}

static void peer_stats(struct cluster *c, unsigned int i, __u64 now, struct stats_peer *p)
{
	struct coverage_host h;

	coverage_host(c->coverage, i, &c->clock, now, &h);
	snprintf(p->cluster, sizeof(p->cluster), "%s", c->conf->name);
	snprintf(p->host, sizeof(p->host), "%s", h.name);
	p->covered = h.why == COVERAGE_COVERED;
	p->behind_ns = h.through ? h.behind_ns : 0;
	p->digests = h.digests;
	p->messages = h.messages;
	p->gaps = h.gaps;
	p->lost = h.lost;
	p->refused = all_refused(&h);
}

unsigned int cluster_stats(struct cluster *c, struct stats_cluster *all, struct stats_peer *peers)
{
	struct publish_state s = { 0 };
	unsigned int nr = 0, i;
	__u64 now;

	pthread_mutex_lock(&c->lock);
	now = now_ns();
	if (c->publisher)
		publish_state(c->publisher, &s);
	snprintf(all->cluster, sizeof(all->cluster), "%s", c->conf->name);
	all->covered = c->until_ns > now && !c->saturated;
	all->saturated = c->saturated;
	all->joined = c->joined;
	all->cert_end_ns = c->cert_end < ~0ULL / NS_PER_SEC ? c->cert_end * NS_PER_SEC : ~0ULL;
	all->digests = s.digests;
	all->messages = s.messages;
	all->lost = s.lost;
	all->waiting_bytes = s.bytes;
	for (i = 0; c->coverage && i < c->conf->nr_roster; i++)
		if (strcmp(c->conf->roster[i], c->conf->host))
			peer_stats(c, i, now, &peers[nr++]);
	pthread_mutex_unlock(&c->lock);
	return nr;
}
