// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl cluster: what epfagent knows of the other hosts of a cluster. */
#include "cmd.h"

#include <stdlib.h>
#include <string.h>

enum { OPT_AGENT = OPT_LONG };

static __u64 cluster_number(const json_t *o, const char *name)
{
	return (__u64)json_integer_value(json_object_get(o, name));
}

static bool cluster_is(const json_t *o, const char *name)
{
	return json_is_true(json_object_get(o, name));
}

static __u64 sum_of(const json_t *counts)
{
	const char *name;
	json_t *value;
	__u64 sum = 0;

	json_object_foreach((json_t *)counts, name, value) sum += (__u64)json_integer_value(value);
	return sum;
}

/* Text */

static const char *time_or(const json_t *o, const char *name, char *text, size_t room)
{
	const json_t *v = json_object_get(o, name);

	snprintf(text, room, "%s",
		 json_is_integer(v) ? fmt_ns((__u64)json_integer_value(v)).s : "-");
	return text;
}

static void print_refused(const json_t *host)
{
	const char *name;
	json_t *value;

	json_object_foreach(json_object_get(host, "refused"), name, value)
		printf("  refused %lld of %s: %s\n", (long long)json_integer_value(value),
		       agent_text(host, "host"), name);
}

static void print_host(const json_t *host)
{
	char behind[48], why[80];
	bool filling = cluster_number(host, "wait_ns");

	snprintf(why, sizeof(why), "%s", agent_text(host, "why"));
	printf("  %-16s  %-9s  %9s  %8s  %5llu  %6llu  %s%s%s\n", agent_text(host, "host"),
	       time_or(host, "behind_ns", behind, sizeof(behind)),
	       fmt_count(cluster_number(host, "rate")).s,
	       fmt_count(cluster_number(host, "digests")).s, cluster_number(host, "gaps"),
	       sum_of(json_object_get(host, "refused")), why, filling ? ", for another " : "",
	       filling ? fmt_ns(cluster_number(host, "wait_ns")).s : "");
}

static void print_hosts(const json_t *hosts)
{
	size_t i;

	if (!json_array_size(hosts))
		return;
	printf("  %-16s  %-9s  %9s  %8s  %5s  %6s  %s\n", "HOST", "BEHIND", "DIGESTS/S", "DIGESTS",
	       "GAPS", "REFUSED", "STATE");
	for (i = 0; i < json_array_size(hosts); i++)
		if (cluster_is(json_array_get(hosts, i), "self"))
			printf("  %-16s  %-9s  %9s  %8s  %5s  %6s  %s\n",
			       agent_text(json_array_get(hosts, i), "host"), "-", "-", "-", "-",
			       "-",
			       cluster_is(json_array_get(hosts, i), "covered") ?
				       "this host" :
				       "this host; its filter is younger than the window");
		else
			print_host(json_array_get(hosts, i));
	for (i = 0; i < json_array_size(hosts); i++)
		print_refused(json_array_get(hosts, i));
}

static void print_saturated(const json_t *c)
{
	const json_t *largest = json_object_get(c, "largest");

	printf("  saturated    filter of all %s", agent_text(c, "all"));
	if (largest)
		printf(": %llu %% of its keys are of ", cluster_number(largest, "percent"));
	printf("%s\n", largest ? agent_text(largest, "host") : "");
}

static void print_cluster(const json_t *c)
{
	const json_t *published = json_object_get(c, "published");

	printf("%s: ", agent_text(c, "name"));
	printf("%s\n", cluster_is(c, "covered") ? "covered" : "not covered");
	if (cluster_is(c, "saturated"))
		print_saturated(c);
	if (json_is_string(json_object_get(c, "trouble")))
		print_wrapped(15, "  trouble      %s", agent_text(c, "trouble"));
	printf("  filters      %s of this host, ", agent_text(c, "filter"));
	printf("%s of all others\n", agent_text(c, "all"));
	printf("  window       %s, up to %s ago\n", fmt_ns(cluster_number(c, "window_ns")).s,
	       fmt_ns(cluster_number(c, "lag_ns")).s);
	printf("  published    %s digests in %s messages, %s lost; %s waiting (%s)\n",
	       fmt_count(cluster_number(published, "digests")).s,
	       fmt_count(cluster_number(published, "messages")).s,
	       fmt_count(cluster_number(published, "lost")).s,
	       fmt_count(cluster_number(published, "waiting")).s,
	       fmt_bytes(cluster_number(published, "waiting_bytes")).s);
	if (cluster_number(c, "strangers"))
		printf("  strangers    %llu messages of hosts that are not in the roster\n",
		       cluster_number(c, "strangers"));
	print_hosts(json_object_get(c, "hosts"));
}

/* Asking */

/* Return: cluster @nr with all its hosts, a new reference; NULL: an error is printed, or
 * *@count says that there is none.
 */
static json_t *ask_cluster(const char *socket, json_int_t nr, json_int_t *count)
{
	json_t *cluster = NULL, *reply, *part;
	size_t hosts = 0, before;

	do {
		before = hosts;
		reply = agent_ask_for(socket,
				      json_pack("{ss sI sI}", "op", "cluster", "nr", nr, "host",
						(json_int_t)hosts),
				      "clusters");
		if (!reply) {
			json_decref(cluster);
			*count = -1;
			return NULL;
		}
		*count = json_integer_value(json_object_get(reply, "clusters"));
		part = json_object_get(reply, "cluster");
		if (!cluster)
			cluster = json_is_object(part) ? json_incref(part) : NULL;
		else
			json_array_extend(json_object_get(cluster, "hosts"),
					  json_object_get(part, "hosts"));
		hosts = json_array_size(json_object_get(cluster, "hosts"));
		json_decref(reply);
	} while (hosts > before && hosts < cluster_number(cluster, "nr_hosts"));
	return cluster;
}

/* Return: the clusters, or the one that is called @name; NULL: an error is printed. */
static json_t *ask_clusters(const char *socket, const char *name)
{
	json_t *list = json_array(), *c;
	json_int_t nr, count = 1;

	for (nr = 0; nr < count; nr++) {
		c = ask_cluster(socket, nr, &count);
		if (c && (!name || !strcmp(name, agent_text(c, "name"))))
			json_array_append(list, c);
		json_decref(c);
	}
	if (count >= 0 && json_array_size(list))
		return list;
	if (count >= 0 && name)
		fail("epfagent has no cluster '%s'", name);
	else if (count >= 0)
		fail("epfagent has no clusters: a section [cluster NAME] of its configuration "
		     "makes one");
	json_decref(list);
	return NULL;
}

static int cluster_status(const char *socket, const char *name)
{
	json_t *list = ask_clusters(socket, name);
	int ret = EXIT_YES;
	size_t i;

	if (!list)
		return EXIT_FAIL;
	for (i = 0; i < json_array_size(list); i++) {
		if (!cluster_is(json_array_get(list, i), "covered"))
			ret = EXIT_UNKNOWN;
		if (out_mode == OUT_TEXT)
			print_cluster(json_array_get(list, i));
	}
	if (out_mode != OUT_TEXT)
		out_json(json_incref(list));
	json_decref(list);
	return ret;
}

int cmd_cluster(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "agent", required_argument, NULL, OPT_AGENT },
		{ 0 },
	};
	static const struct spec spec = {
		.usage = "cluster status [NAME] [--agent SOCKET]",
		.help = "  status            which hosts are covered, and how far they are behind; exits\n"
			"                    with 3 unless \"absent\" is an answer for the whole cluster\n"
			"      --agent SOCKET  of epfagent\n",
		.shorts = "",
		.longs = longs,
	};
	const char *socket = NULL;
	int opt;

	while ((opt = next_option(argc, argv, &spec)) >= 0) {
		if (opt != OPT_AGENT)
			return EXIT_FAIL;
		socket = optarg;
	}
	if (!operands(argc, argv, 1, 2, &spec))
		return EXIT_FAIL;
	if (strcmp(argv[optind], "status"))
		return fail("'%s' is not status", argv[optind]);
	return cluster_status(socket, argc - optind > 1 ? argv[optind + 1] : NULL);
}
