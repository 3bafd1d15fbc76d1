// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl agent: the state of epfagent, its audits, and their end. */
#include "cmd.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/agent.h"
#include "records/rec_error.h"

enum { OPT_AGENT = OPT_LONG };

/* Print the error of @err, a negative errno. */
static int fail_agent(int err, const struct rec_error *e)
{
	if (err == -ESRCH)
		return fail_errno(err, "%s: 'epfctl agent jobs' lists them", e->text);
	if (err == -ENOENT || err == -ECONNREFUSED)
		return fail_errno(err, "%s: is epfagent running?", e->text);
	return fail_errno(err, "%s", e->text);
}

json_t *agent_ask_for(const char *socket, json_t *request, const char *member)
{
	struct rec_error e = { "" };
	json_t *reply;
	int err = agent_ask(socket, request, &reply, &e);

	if (err) {
		fail_agent(err, &e);
		return NULL;
	}
	if (json_object_get(reply, member))
		return reply;
	json_decref(reply);
	fail_errno(EPROTO, "invalid reply from the agent: is epfagent of this version?");
	return NULL;
}

static __u64 agent_number(const json_t *o, const char *name)
{
	return (__u64)json_integer_value(json_object_get(o, name));
}

const char *agent_text(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));
	static char safe[1024];
	char *c;

	snprintf(safe, sizeof(safe), "%s", text ? text : "");
	for (c = safe; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return safe;
}

/* status */

static void print_last(const json_t *status)
{
	const json_t *last = json_object_get(status, "last_error");

	if (json_is_object(last))
		print_wrapped(15, "  last message %s (%s ago)", agent_text(last, "text"),
			      fmt_ns(agent_number(last, "ago_ns")).s);
	else if (json_is_null(last))
		printf("  last message none\n");
}

static void print_watches(const json_t *list)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *w = json_array_get(list, i);

		printf("  watching     %s", agent_text(w, "dir"));
		printf(" for %s\n", agent_text(w, "filter"));
	}
}

static void print_filters(const json_t *list)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *f = json_array_get(list, i);

		printf("  filter       %s: %s\n", agent_text(f, "name"),
		       json_is_true(json_object_get(f, "held")) ? "its epochs are ended here" :
								  "not held");
	}
}

static void print_status(const json_t *s)
{
	printf("  version      %s\n", agent_text(s, "version"));
	printf("  up for       %s\n", fmt_ns(agent_number(s, "uptime_ns")).s);
	printf("  audits       %llu queued, %llu done, %llu failed, %llu cancelled\n",
	       agent_number(s, "queue"), agent_number(s, "audits_done"),
	       agent_number(s, "audits_failed"), agent_number(s, "audits_cancelled"));
	printf("  keys         %s looked up, %s present\n",
	       fmt_count(agent_number(s, "keys_asked")).s,
	       fmt_count(agent_number(s, "keys_present")).s);
	printf("  files        %llu done\n", agent_number(s, "files_done"));
	printf("  filters      %llu held, %llu mirrored\n", agent_number(s, "holds"),
	       agent_number(s, "mirrors"));
	printf("  copies       %s\n", fmt_bytes(agent_number(s, "cache_bytes")).s);
	printf("  clients      %llu, %llu requests refused\n", agent_number(s, "clients"),
	       agent_number(s, "requests_refused"));
	print_filters(json_object_get(s, "filters"));
	print_watches(json_object_get(s, "watches"));
	print_last(s);
}

static int agent_status(const char *socket)
{
	json_t *reply = agent_ask_for(socket, json_pack("{ss}", "op", "status"), "status");
	json_t *s = json_object_get(reply, "status");

	if (!reply)
		return EXIT_FAIL;
	if (out_mode == OUT_TEXT)
		print_status(s);
	else
		out_json(json_incref(s));
	json_decref(reply);
	return EXIT_YES;
}

/* jobs */

static const char *owner(const json_t *job, char *text, size_t room)
{
	const struct passwd *pw;

	if (!json_object_get(job, "uid"))
		return "watch";
	pw = getpwuid((uid_t)agent_number(job, "uid"));
	if (pw)
		return pw->pw_name;
	snprintf(text, room, "%llu", agent_number(job, "uid"));
	return text;
}

static void print_job(const json_t *job)
{
	const json_t *percent = json_object_get(job, "percent");
	char done[16] = "-", user[24];

	if (percent)
		snprintf(done, sizeof(done), "%.0f%%", json_real_value(percent));
	printf("%-6llu  %-10.10s  %-8s  %5s  %-9s", agent_number(job, "job"),
	       owner(job, user, sizeof(user)), fmt_count(agent_number(job, "keys")).s, done,
	       fmt_ns(agent_number(job, "age_ns")).s);
	printf("  %s", json_object_get(job, "filter") ? agent_text(job, "filter") : "(snapshot)");
	if (json_object_get(job, "file"))
		printf(" %s", agent_text(job, "file"));
	printf("\n");
}

static void print_jobs(const json_t *all)
{
	size_t i;

	if (json_array_size(all))
		printf("%-6s  %-10s  %-8s  %5s  %-9s  %s\n", "JOB", "USER", "KEYS", "DONE", "AGE",
		       "FILTER, FILE");
	for (i = 0; i < json_array_size(all); i++)
		print_job(json_array_get(all, i));
}

/* Append the jobs of a reply to @all. Return: whether there are more, after *@after. */
static bool take_jobs(json_t *all, const json_t *reply, __u64 *after)
{
	json_t *some = json_object_get(reply, "jobs");
	__u64 before = *after;

	json_array_extend(all, some);
	*after = agent_number(json_array_get(some, json_array_size(some) - 1), "job");
	return json_is_true(json_object_get(reply, "more")) && *after > before;
}

static int jobs(const char *socket)
{
	json_t *all = json_array(), *reply;
	__u64 after = 0;
	bool more = true;

	while (more) {
		reply = agent_ask_for(socket,
				      json_pack("{ss sI}", "op", "jobs", "after",
						(json_int_t)after),
				      "jobs");
		if (!reply) {
			json_decref(all);
			return EXIT_FAIL;
		}
		more = take_jobs(all, reply, &after);
		json_decref(reply);
	}
	if (out_mode == OUT_TEXT)
		print_jobs(all);
	else
		out_json(json_incref(all));
	json_decref(all);
	return EXIT_YES;
}

/* cancel */

static int cancel(const char *socket, const char *arg)
{
	json_t *reply;
	__u64 job;

	if (!parse_count("JOB", arg, 1ULL << 62, &job))
		return EXIT_FAIL;
	reply = agent_ask_for(socket, json_pack("{ss sI}", "op", "cancel", "job", (json_int_t)job),
			      "cancelled");
	if (!reply)
		return EXIT_FAIL;
	if (out_mode != OUT_TEXT)
		out_json(json_incref(reply));
	json_decref(reply);
	return EXIT_YES;
}

int cmd_agent(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "agent", required_argument, NULL, OPT_AGENT },
		{ 0 },
	};
	static const struct spec spec = {
		.usage = "agent status | jobs | cancel JOB [--agent SOCKET]",
		.help = "  status            what the agent does and has done, and its last message\n"
			"  jobs              audits that wait or run; root sees those of all users\n"
			"  cancel JOB        end one of them, by its number\n"
			"      --agent SOCKET  of the agent\n",
		.shorts = "",
		.longs = longs,
	};
	const char *socket = NULL, *what;
	int opt;

	while ((opt = next_option(argc, argv, &spec)) >= 0) {
		if (opt != OPT_AGENT)
			return EXIT_FAIL;
		socket = optarg;
	}
	if (!operands(argc, argv, 1, 2, &spec))
		return EXIT_FAIL;
	what = argv[optind];
	if (!strcmp(what, "cancel"))
		return operands(argc, argv, 2, 2, &spec) ? cancel(socket, argv[optind + 1]) :
							   EXIT_FAIL;
	if (strcmp(what, "status") && strcmp(what, "jobs"))
		return fail("'%s' is none of status, jobs, cancel", what);
	if (!operands(argc, argv, 1, 1, &spec))
		return EXIT_FAIL;
	return strcmp(what, "jobs") ? agent_status(socket) : jobs(socket);
}
