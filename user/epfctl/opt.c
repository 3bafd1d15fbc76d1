// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Options: getopt_long() with the options that every verb has, and our own errors. */
#include "cmd.h"

#include <stdlib.h>
#include <string.h>

const struct ranks *ranks;

const char *program_name(void)
{
	return ranks ? "epfmpi" : "epfctl";
}

#define LONGS_MAX 48

static const struct option common[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "pretty", no_argument, NULL, 'p' },
	{ "progress", no_argument, NULL, OPT_PROGRESS },
	{ "backend", required_argument, NULL, OPT_BACKEND },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static size_t append(struct option *to, size_t n, const struct option *from)
{
	for (; from->name && n < LONGS_MAX; from++)
		to[n++] = *from;
	return n;
}

/* "epfctl test --help", or "epfctl --help" before the verb. */
static const char *help_command(const struct spec *spec)
{
	static char text[64];
	int len = spec->usage ? (int)strcspn(spec->usage, " ") : 0;

	snprintf(text, sizeof(text), "epfctl %.*s%s--help", len, spec->usage ? spec->usage : "",
		 len ? " " : "");
	return text;
}

static void bad_option(char **argv, const struct spec *spec, int how)
{
	const char *word = argv[optind - 1];
	char letter[3] = { '-', (char)optopt, 0 };

	/* optopt is 0 for an unknown long option and the letter for a short one.
	 * It is the option's value if an argument is missing or superfluous.
	 */
	if (how == '?' && optopt > 0 && optopt < OPT_LONG && strncmp(word, "--", 2))
		word = letter;
	if (how == ':')
		fail("%s needs a value: see '%s'", word, help_command(spec));
	else if (optopt && !strncmp(word, "--", 2))
		fail("%s takes no value: see '%s'", word, help_command(spec));
	else
		fail("unknown option %s: see '%s'", word, help_command(spec));
}

static bool help_printed;
static const struct spec *current; /* whose options getopt is reading */
static enum epf_backend_choice backend;
static char *const *places; /* of the words, or NULL */

void options_from(char *const *where)
{
	places = where;
}

static void print_usage(const struct spec *spec)
{
	print_wrapped(14, "usage: %s %s", program_name(), spec->usage);
	printf("%s", spec->help);
	help_printed = true;
}

struct settings settings_begin(void)
{
	const struct settings s = { out_mode, progress_forced, backend };

	help_printed = false;
	current = NULL;
	return s;
}

void settings_restore(const struct settings *s)
{
	out_mode = s->out_mode;
	progress_forced = s->progress;
	backend = s->backend;
	epf_backend_choose(backend);
}

bool help_was_printed(void)
{
	return help_printed;
}

/* Does the command line ask for JSON, even after an error in it? getopt permutes the
 * array, which the real run must not see, so this takes a copy.
 */
static bool json_asked(int argc, char **argv, const char *shorts, const struct option *longs)
{
	char **copy = calloc((size_t)argc + 1, sizeof(*copy));
	bool asked = false;
	int opt;

	if (!copy)
		return false;
	memcpy(copy, argv, (size_t)argc * sizeof(*copy));
	while ((opt = getopt_long(argc, copy, shorts, longs, NULL)) >= 0)
		asked |= opt == 'j' || opt == 'p';
	free(copy);
	optind = 0;
	return asked;
}

bool choose_backend(const char *what, const char *name)
{
	static const char *const names[] = { "auto", "module", "bpf" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i])) {
			backend = (enum epf_backend_choice)i;
			epf_backend_choose(backend);
			return true;
		}
	fail("%s takes auto, module or bpf, not '%s'", what, name);
	return false;
}

int next_option(int argc, char **argv, const struct spec *spec)
{
	struct option longs[LONGS_MAX + 1];
	char shorts[64];
	size_t n;
	bool first = current != spec; /* the first call for this argv */
	int opt;

	n = append(longs, 0, spec->longs);
	n = append(longs, n, common);
	memset(&longs[n], 0, sizeof(longs[n]));
	/* '+' stops at the verb; ':' makes a missing value an error of its own. */
	snprintf(shorts, sizeof(shorts), "%s:%sjph", spec->usage ? "" : "+", spec->shorts);
	opterr = 0;
	if (first) {
		current = spec;
		optind = 0;
		if (spec->usage)
			out_json_errors(json_asked(argc, argv, shorts, longs));
	}
	for (;;) {
		opt = getopt_long(argc, argv, shorts, longs, NULL);
		if (places)
			out_at(places[opt < 0 ? 0 : optind - 1]);
		if (opt == 'j')
			out_mode = OUT_JSON;
		else if (opt == 'p')
			out_mode = OUT_PRETTY;
		else if (opt == OPT_PROGRESS)
			progress_forced = true;
		else if (opt == OPT_BACKEND && !choose_backend("--backend", optarg))
			return '?';
		else if (opt == OPT_BACKEND)
			;
		else
			break;
	}
	if (opt == 'h' && spec->usage) {
		print_usage(spec);
		return '?';
	}
	if (opt == '?' || opt == ':') {
		bad_option(argv, spec, opt);
		return '?';
	}
	return opt;
}

bool operands(int argc, char **argv, int min, int max, const struct spec *spec)
{
	int n = argc - optind;

	if (n >= min && n <= max)
		return true;
	if (n > max)
		fail("'%s' is one argument too many: usage: %s %s", argv[optind + max],
		     program_name(), spec->usage);
	else
		fail("too few arguments: usage: %s %s", program_name(), spec->usage);
	return false;
}
