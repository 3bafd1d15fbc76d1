// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl: sliding-window membership filters. The table of verbs. */
#include "cmd.h"
#include "ebpf/calls.h"

#include <stdlib.h>
#include <string.h>

#ifndef EPF_VERSION
#define EPF_VERSION "unknown"
#endif

struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *brief;
};

static const struct verb verbs[] = {
	{ "plan", cmd_plan, "size a filter, without making it" },
	{ "create", cmd_create, "make a filter" },
	{ "list", cmd_list, "list filters" },
	{ "show", cmd_show, "show a filter, or a snapshot file" },
	{ "destroy", cmd_destroy, "remove a filter" },
	{ "insert", cmd_insert, "insert keys" },
	{ "test", cmd_test, "look keys up" },
	{ "rotate", cmd_rotate, "end epochs now" },
	{ "clear", cmd_clear, "remove all keys from a filter" },
	{ "swap", cmd_swap, "exchange the contents of two filters" },
	{ "save", cmd_save, "write a snapshot file" },
	{ "restore", cmd_restore, "fill a filter from a snapshot file" },
	{ "merge", cmd_merge, "merge several snapshot files into one" },
	{ "audit", cmd_audit, "look many keys up in a snapshot or a filter" },
	{ "watch", cmd_watch, "report rotations and saturation" },
	{ "metrics", cmd_metrics, "print what Prometheus collects" },
	{ "attach", cmd_attach, "drop repeated packets on an interface" },
	{ "detach", cmd_detach, "undo attach, or remove a pinned program" },
	{ "status", cmd_status, "show attached interfaces and counters" },
	{ "log", cmd_log, "print each flow of an interface once" },
	{ "pin", cmd_pin, "pin an iptables match that uses a pure BPF filter" },
	{ "hold", cmd_hold, "end the epochs of pure BPF filters" },
	{ "build", cmd_build, "make a snapshot file of logs, flows or captures" },
	{ "dedup", cmd_dedup, "remove repeated packets from a capture file" },
	{ "doctor", cmd_doctor, "check this machine and say what to do" },
	{ "agent", cmd_agent, "show or cancel the work of epfagent" },
	{ "cluster", cmd_cluster, "show which hosts of a cluster are covered" },
	{ "batch", cmd_batch, "run the commands of a file" },
	{ "apply", cmd_apply, "make what the configuration declares" },
	{ "export", cmd_export, "print what there is, as a configuration" },
};

/* May the verb run? */
static bool main_offered(const char *verb)
{
	return !ranks || !strcmp(verb, "audit") || !strcmp(verb, "merge");
}

static void print_help(void)
{
	size_t i;

	printf("usage: %s [-j | -p] VERB [options] ...\n"
	       "Sliding-window membership filters: was this key seen lately?\n"
	       "\nverbs:\n",
	       ranks ? "mpirun -n N epfmpi" : "epfctl");
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		if (main_offered(verbs[i].name))
			printf("  %-8s  %s\n", verbs[i].name, verbs[i].brief);
	printf("\noptions of all verbs:\n"
	       "  -j, --json      JSON on one line\n"
	       "  -p, --pretty    JSON, indented\n"
	       "      --progress  progress on stderr, even if it is not a "
	       "terminal\n"
	       "      --backend auto|module|bpf\n"
	       "                  which filters to use; auto: the module's\n"
	       "                  if it is loaded, else pure BPF\n"
	       "  -h, --help      help on the verb\n"
	       "  -V, --version   version, before the verb\n"
	       "\nexit status: 0 done or all present, 1 definitely absent, "
	       "2 failure,\n"
	       "3 not known (saturated), 128 + N interrupted by signal N\n"
	       "See '%s VERB --help' and %s for more.\n",
	       program_name(), ranks ? "epfmpi(1)" : "epfctl(8)");
}

/* Edits (insert, delete, replace) between a word and a verb. */
static size_t distance(const char *a, const char *b)
{
	size_t row[32], len = strlen(b), i, j;

	for (j = 0; j <= len; j++)
		row[j] = j;
	for (i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (j = 1; j <= len; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[len];
}

static int unknown_verb(const char *word)
{
	const struct verb *best = NULL;
	size_t best_edits = 3; /* more are no typing error */
	size_t i;

	for (i = 0; i < ARRAY_SIZE(verbs); i++) {
		size_t edits = distance(word, verbs[i].name);

		if (edits < best_edits) {
			best_edits = edits;
			best = &verbs[i];
		}
	}
	if (best)
		return fail("unknown verb '%s': did you mean '%s'?", word, best->name);
	return fail("unknown verb '%s': '%s --help' lists them", word, program_name());
}

static int run_verb(int argc, char **argv)
{
	static char list[] = "list";
	size_t i;

	if (!strcmp(argv[0], "ls"))
		argv[0] = list;
	for (i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(argv[0], verbs[i].name))
			continue;
		out_verb(verbs[i].name);
		if (!main_offered(argv[0]))
			return fail("'%s' does not run under MPI: use epfctl; epfmpi has "
				    "'audit' and 'merge'",
				    argv[0]);
		if (!verbs[i].run)
			return fail("this epfctl was built without '%s': install "
				    "the library that the build named as missing, "
				    "and rebuild",
				    argv[0]);
		return verbs[i].run(argc, argv);
	}
	return unknown_verb(argv[0]);
}

/* The exit status. If a signal interrupted the work, it is that of a shell. */
static int main_ended(int code)
{
	if (help_was_printed())
		code = EXIT_YES;
	code = out_finish(code);
	if (code == EXIT_FAIL && interrupted)
		return EXIT_SIGNAL + interrupted;
	return code;
}

/* Is JSON asked for, before or after the verb, which may be unknown? */
static bool json_word(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "-j") || !strcmp(argv[i], "--json") ||
		    !strcmp(argv[i], "-p") || !strcmp(argv[i], "--pretty"))
			return true;
	return false;
}

/* "help" is --help, "help VERB" is VERB --help. */
static int help_on(int argc, char **argv)
{
	static char option[] = "--help";
	char *asked[] = { argc > 1 ? argv[1] : NULL, option, NULL };

	if (argc > 2)
		return fail("'%s' is one argument too many: usage: %s help "
			    "[VERB]",
			    argv[2], program_name());
	if (argc == 2)
		return run_verb(2, asked);
	print_help();
	return EXIT_YES;
}

/* "json" is the number of the JSON's version, see epfctl(8). */
static void print_version(void)
{
	if (out_mode == OUT_TEXT)
		printf("%s %s\n", program_name(), EPF_VERSION);
	else
		out_json(json_pack("{ss si}", "version", EPF_VERSION, "json", JSON_VERSION));
}

static int run_words(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	static const struct spec spec = {
		.usage = NULL,
		.shorts = "V",
		.longs = longs,
	};
	int opt;

	while ((opt = next_option(argc, argv, &spec)) >= 0) {
		if (opt == 'h')
			print_help();
		else if (opt == 'V')
			print_version();
		return opt == '?' ? EXIT_FAIL : EXIT_YES;
	}
	argc -= optind;
	argv += optind;
	if (!argc)
		return fail("no verb given: '%s --help' lists them", program_name());
	if (!strcmp(argv[0], "help"))
		return help_on(argc, argv);
	return run_verb(argc, argv);
}

int run_command(int argc, char **argv)
{
	out_verb(NULL);
	out_json_errors(json_word(argc, argv));
	return main_ended(run_words(argc, argv));
}

int main(int argc, char **argv)
{
	const char *backend = getenv("EPF_BACKEND");
	int ret = EXIT_FAIL;

	out_init();
	if (ranks_begin)
		ranks = ranks_begin(&argc, &argv);
	out_json_errors(json_word(argc, argv));
	if (ebpf_backend_add)
		ebpf_backend_add();
	if (!backend || choose_backend("EPF_BACKEND", backend))
		ret = run_command(argc, argv);
	if (ranks)
		ranks_end();
	return ret;
}
