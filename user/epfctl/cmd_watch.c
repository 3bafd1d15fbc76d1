// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl watch: print a line for every rotation, saturation and recovery; on a terminal a view. */
#include "cmd.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OPT_INTERVAL = OPT_LONG, OPT_PLAIN };

/**
 * struct watching - a running watch
 * @filter: descriptor
 * @name: of the filter
 * @left: events until the end; 0: no end
 * @interval_ns: time between reports of numbers; 0: none
 * @next_ns: when the next report is due
 * @epoch: as last seen
 * @saturated: as last seen
 */
struct watching {
	int filter;
	const char *name;
	__u64 left;
	__u64 interval_ns;
	__u64 next_ns;
	__u64 epoch;
	bool saturated;
};

static void when(char *text, size_t room)
{
	__u64 now = epf_wall_ns();
	time_t s = (time_t)(now / NS_PER_SEC);
	struct tm tm;
	size_t n;

	gmtime_r(&s, &tm);
	n = strftime(text, room, "%FT%T", &tm);
	snprintf(text + n, room - n, ".%03lluZ", now % NS_PER_SEC / 1000000);
}

static void print_event(const struct watching *w, const char *at, const char *what,
			const struct epf_info *i)
{
	print_wrapped(4, "%s %s %s: epoch %llu, error %s", at, w->name, what, i->epoch,
		      fmt_ppt(i->fpr_ppt).s);
	printf("    %s insertions, %s hits; covered: %s insertions, %s\n",
	       fmt_count(i->stats.inserts).s, fmt_count(i->stats.hits).s,
	       fmt_count(i->covered_inserts).s, fmt_ns(i->covered_ns).s);
	if (i->needs & EPF_NEEDS_MEMORY)
		printf("    %u slices of %s\n", i->slices, fmt_bytes(i->memory_bytes).s);
}

static json_t *event_json(const struct watching *w, const char *at, const char *what,
			  const struct epf_info *i)
{
	return json_pack("{ss ss ss sI sI sI sI sI sI sf sb sI sI}", "time", at, "name", w->name,
			 "event", what, "epoch", (json_int_t)i->epoch, "inserts",
			 (json_int_t)i->stats.inserts, "hits", (json_int_t)i->stats.hits, "misses",
			 (json_int_t)i->stats.misses, "covered_inserts",
			 (json_int_t)i->covered_inserts, "covered_ns", (json_int_t)i->covered_ns,
			 "fpr", ppt_to_rate(i->fpr_ppt), "saturated",
			 !!(i->flags & EPF_INFO_SATURATED), "slices", (json_int_t)i->slices,
			 "memory_bytes", (json_int_t)i->memory_bytes);
}

/* Report an event. Return: false: it was the last one to report. */
static bool event(struct watching *w, const char *what, const struct epf_info *i)
{
	char at[40];

	when(at, sizeof(at));
	if (out_mode == OUT_TEXT)
		print_event(w, at, what, i);
	else
		out_json(event_json(w, at, what, i));
	fflush(stdout);
	return !w->left || --w->left;
}

/* Report what changed since the last call. Return: false: stop. */
static bool watch_look(struct watching *w, const struct epf_info *i)
{
	bool saturated = i->flags & EPF_INFO_SATURATED;
	bool go_on = true;

	if (i->epoch != w->epoch)
		go_on = event(w, "rotated", i);
	if (go_on && saturated != w->saturated)
		go_on = event(w, saturated ? "saturated" : "recovered", i);
	w->epoch = i->epoch;
	w->saturated = saturated;
	if (go_on && w->interval_ns && now_ns() >= w->next_ns) {
		w->next_ns += w->interval_ns;
		go_on = event(w, "stats", i);
	}
	return go_on;
}

static int wait_ms(const struct watching *w)
{
	__u64 now = now_ns();
	__u64 ms;

	if (!w->interval_ns)
		return -1;
	if (now >= w->next_ns)
		return 0;
	ms = (w->next_ns - now + 999999) / 1000000;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* Return: an exit code; -1: continue. */
static int watch_step(struct watching *w)
{
	int got = epf_wait(w->filter, wait_ms(w));
	struct epf_info info;
	int err;

	if (got < 0)
		return got == -EINTR ? -1 : fail_errno(-got, "poll: %m");
	err = epf_filter_info(w->filter, &info);
	if (got & POLLHUP || err == -ENODEV)
		return fail("'%s' was destroyed", w->name);
	if (got & (POLLERR | POLLNVAL))
		return fail("'%s' cannot be watched: its module does not support poll", w->name);
	if (err)
		return fail_call(err, "watching", w->name);
	return watch_look(w, &info) && !ferror(stdout) ? -1 : EXIT_YES;
}

static int watch(struct watching *w)
{
	struct epf_info info = { 0 };
	int ret = -1;
	int err;

	w->filter = open_filter(w->name);
	if (w->filter < 0)
		return EXIT_FAIL;
	err = epf_filter_info(w->filter, &info);
	if (err)
		ret = fail_call(err, "watching", w->name);
	w->epoch = info.epoch;
	w->saturated = info.flags & EPF_INFO_SATURATED;
	w->next_ns = now_ns() + w->interval_ns;
	catch_signals();
	while (ret < 0 && !interrupted)
		ret = watch_step(w);
	epf_close(w->filter);
	return ret < 0 ? EXIT_FAIL : ret; /* a signal: main() says which */
}

int cmd_watch(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "count", required_argument, NULL, 'n' },
		{ "interval", required_argument, NULL, OPT_INTERVAL },
		{ "plain", no_argument, NULL, OPT_PLAIN },
		{ 0 },
	};
	static const struct spec spec = {
		.usage = "watch [NAME] [--plain] [--count N] [--interval DURATION]",
		.help = "On a terminal: a view of the filter, or of all; q ends it, j and k choose.\n"
			"Otherwise a line for each event.\n"
			"      --plain              lines on a terminal, too\n"
			"  -n, --count N            lines, until N events\n"
			"      --interval DURATION  also report the numbers every 10s, 500ms, ...; of a\n"
			"                           view, the time between pictures\n",
		.shorts = "n:",
		.longs = longs,
	};
	struct watching w = { 0 };
	bool good = true, plain = false;
	int opt;

	while (good && (opt = next_option(argc, argv, &spec)) >= 0) {
		if (opt == 'n')
			good = parse_count("--count", optarg, 1ULL << 62, &w.left);
		else if (opt == OPT_INTERVAL)
			good = parse_ns("--interval", optarg, &w.interval_ns);
		else if (opt == OPT_PLAIN)
			plain = true;
		else
			good = false;
	}
	plain |= w.left || out_mode != OUT_TEXT || !watch_view || !view_possible();
	if (!good || !operands(argc, argv, plain, 1, &spec))
		return EXIT_FAIL;
	w.name = argv[optind];
	if (!plain)
		return watch_view(w.name, w.interval_ns);
	return watch(&w);
}
