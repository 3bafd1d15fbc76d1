// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* plan --cluster: what a live cluster takes: memory, bandwidth, CPU time, the stream. */
#include "cmd.h"

#include <math.h>

/* Measured: CPU time of an agent for a digest that it inserts into a filter of all that is pure
 * BPF (docs/CLUSTER.md, "What it costs").
 */
#define INSERT_SECONDS 440e-9
/* The part of it that one thread does, whatever the number of threads that insert. */
#define RECEIVE_SECONDS 40e-9
#define MESSAGE_HEAD 152.0
#define MESSAGE_DIGESTS 65536.0
#define MESSAGES_SECOND 10.0 /* at least, of a host */
#define DIGEST 8.0

/**
 * struct cluster_plan - per second, by host or broker
 * @publish: bytes that a host sends
 * @receive: bytes that it receives
 * @broker: bytes that one broker sends to all hosts
 * @leaves: leaf nodes, of which each serves as many hosts as there are leaf nodes
 * @leaf: bytes that a leaf node, or the broker behind them, sends
 * @cores: CPUs that insert what comes
 * @threads: threads of the agent that insert
 * @stream: bytes of the stream: a window and two epochs
 * @own_bytes: memory of the own filter
 * @keys: new keys per second of the cluster
 */
struct cluster_plan {
	double publish, receive, broker, leaf, cores, stream, keys;
	__u64 own_bytes, leaves, threads;
};

const char plan_cluster_help[] =
	"      --cluster HOSTS     for a live cluster in which --rate new keys per second\n"
	"                          come to all HOSTS together: also bandwidth, CPU time\n"
	"                          and the stream\n";

/* Each host has an equal share of the new keys. Return: false: an error is printed. */
static bool own_filter(const struct epf_plan_request *asked, __u64 hosts, __u64 *bytes)
{
	struct epf_plan_request own = *asked;
	struct epf_planned plan;

	own.pps /= (double)hosts;
	if (!plan_geometry(&own, &plan))
		return false;
	*bytes = plan.bytes;
	return true;
}

/* How many threads insert @rate digests a second, on a CPU each? The first one also receives. */
static __u64 plan_cluster_threads_of(double rate)
{
	double busy = RECEIVE_SECONDS * rate;

	return (__u64)ceil(fmax(1, (INSERT_SECONDS - RECEIVE_SECONDS) * rate / (1 - busy)));
}

static void compute(struct cluster_plan *c, const struct epf_plan_request *asked, __u64 hosts)
{
	double n = (double)hosts, each = asked->pps / n;
	double messages = fmax(MESSAGES_SECOND, each / MESSAGE_DIGESTS);

	c->keys = asked->pps;
	c->publish = DIGEST * each + MESSAGE_HEAD * messages;
	/* also what it publishes itself, whose echo is its clock */
	c->receive = n * c->publish;
	c->broker = n * c->receive;
	c->leaves = (__u64)ceil(sqrt(n));
	c->leaf = (double)c->leaves * c->receive;
	c->cores = INSERT_SECONDS * (asked->pps - each);
	c->threads = plan_cluster_threads_of(asked->pps - each);
	c->stream = c->receive * (double)asked->time_ns * 1e-9 * 9 / 7;
}

/* Is it a cluster that can be? */
static bool cluster_check(const struct epf_plan_request *p)
{
	if (p->window || !p->time_ns || !(p->pps > 0)) {
		fail("--cluster takes a window of --time and a --rate, that of all hosts together");
		return false;
	}
	if (p->nr_lines || p->max_bytes) {
		fail("--cluster sizes the filters by --rate: leave out --lines and --memory");
		return false;
	}
	if (p->pps > PLAN_CLUSTER_RATE_MAX) {
		fail("--cluster: %.4g new keys per second are above the %.4g that each host can "
		     "follow: take coarser keys (prefixes, peers, longer repeats), or steer packets "
		     "so that each key comes to one host only, which needs no cluster",
		     p->pps, PLAN_CLUSTER_RATE_MAX);
		return false;
	}
	return true;
}

bool plan_cluster(const struct epf_plan_request *asked, __u64 hosts, struct cluster_plan **result)
{
	static struct cluster_plan c;

	if (!cluster_check(asked) || !own_filter(asked, hosts, &c.own_bytes))
		return false;
	compute(&c, asked, hosts);
	*result = &c;
	return true;
}

json_t *plan_cluster_json(const struct cluster_plan *c, __u64 hosts)
{
	return json_pack("{sI sf sI sf sf sf sI sf sf sI sf}", "hosts", (json_int_t)hosts,
			 "new_keys_s", c->keys, "own_memory_bytes", (json_int_t)c->own_bytes,
			 "publish_bytes_s", c->publish, "receive_bytes_s", c->receive,
			 "broker_bytes_s", c->broker, "leaf_nodes", (json_int_t)c->leaves,
			 "leaf_bytes_s", c->leaf, "cpus", c->cores, "threads",
			 (json_int_t)c->threads, "stream_bytes", c->stream);
}

static struct text megabits(double bytes)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%.3g Mbit/s", bytes * 8e-6);
	return t;
}

void plan_cluster_print(const struct cluster_plan *c, __u64 hosts)
{
	printf("cluster of %llu hosts; above is the filter of all, which each host has\n", hosts);
	printf("  %-12s %s, of each host's own keys\n", "own filter", fmt_bytes(c->own_bytes).s);
	printf("  %-12s publishes %s, receives %s\n", "each host", megabits(c->publish).s,
	       megabits(c->receive).s);
	printf("  %-12s %.2g CPUs for insertions", "", c->cores);
	if (c->threads > 1)
		printf(": set threads = %llu in its agent's [cluster]", c->threads);
	printf("\n");
	printf("  %-12s sends %s", "one broker", megabits(c->broker).s);
	if (c->leaves > 1)
		printf("; with %llu leaf nodes each sends %s", c->leaves, megabits(c->leaf).s);
	printf("\n  %-12s %s\n", "stream", fmt_bytes((__u64)c->stream).s);
}
