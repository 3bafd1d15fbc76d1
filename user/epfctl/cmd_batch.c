// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl batch: run the command lines of a file, in one process. */
#include "cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_FORCE = OPT_LONG };

#define AT_BYTES 4200

/**
 * struct batch - a running batch
 * @path: of the file, as errors show it
 * @in: the file
 * @standard: it was standard input
 * @force: go on after errors
 * @at: "FILE:LINE" of the command
 * @code: exit status so far
 */
struct batch {
	const char *path;
	FILE *in;
	bool standard;
	bool force;
	char at[AT_BYTES];
	int code;
};

/* Commands find an empty standard input, since the batch has the real one. */
static FILE *take_standard(void)
{
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int empty = open("/dev/null", O_RDONLY | O_CLOEXEC);
	FILE *in = NULL;

	if (fd >= 0 && empty >= 0 && dup2(empty, STDIN_FILENO) >= 0)
		in = fdopen(fd, "r");
	if (empty >= 0)
		close(empty);
	if (fd >= 0 && !in)
		close(fd);
	return in;
}

/* A failure counts more than "not known", that more than "absent", and that more than 0. */
static void batch_note(struct batch *b, int code)
{
	static const int rank[] = {
		[EXIT_YES] = 0, [EXIT_ABSENT] = 1, [EXIT_UNKNOWN] = 2, [EXIT_FAIL] = 3
	};

	if (rank[code] > rank[b->code])
		b->code = code;
}

static bool reads_standard(const struct batch *b, const struct words *w)
{
	int i;

	for (i = 1; b->standard && i < w->nr; i++)
		if (!strcmp(w->word[i], "-"))
			return true;
	return false;
}

static int run_line(const struct batch *b, struct words *w)
{
	struct settings kept;
	int code;

	if (reads_standard(b, w))
		return fail("'-' is the batch itself: name a file");
	kept = settings_begin();
	code = run_command(w->nr, w->word);
	settings_restore(&kept);
	return code >= EXIT_SIGNAL ? EXIT_FAIL : code;
}

/* Return: whether the batch goes on. */
static bool batch_next_line(struct batch *b, struct words *w)
{
	int got = words_read(b->in, w), err = errno;
	int code = EXIT_FAIL;

	if (!got)
		return false;
	snprintf(b->at, sizeof(b->at), "%s:%llu", b->path, w->line);
	out_at(b->at);
	out_verb("batch");
	if (interrupted)
		fail("stopped before this line");
	else if (got == -2)
		fail_errno(err, "%m");
	else if (got == -1)
		fail("%s", w->why);
	else
		code = run_line(b, w);
	batch_note(b, code);
	if (code == EXIT_FAIL && (interrupted || got == -2))
		return false;
	return code != EXIT_FAIL || b->force;
}

static int batch(struct batch *b)
{
	static struct words w;

	b->standard = !strcmp(b->path, "-");
	b->in = b->standard ? take_standard() : fopen(b->path, "re");
	if (!b->in)
		return fail_errno(errno, "%s: %m", b->path);
	if (b->standard)
		b->path = "standard input";
	w.word[0] = w.text;
	catch_signals();
	while (batch_next_line(b, &w))
		;
	out_at(NULL);
	out_verb("batch");
	fclose(b->in);
	return b->code;
}

int cmd_batch(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "force", no_argument, NULL, OPT_FORCE },
		{ 0 },
	};
	static const struct spec spec = {
		.usage = "batch [--force] FILE | -",
		.help = "Run the commands of a file, or of standard input: one a line, without 'epfctl'.\n"
			"Blanks separate words; '...', \"...\" and backslash quote, as in a shell; a word\n"
			"that begins with # is a comment. The first command that fails ends the batch.\n"
			"      --force  go on after commands that fail\n"
			"exit status: 2 if a command failed, else 3 if one did not know a key, else 1 if\n"
			"one found something absent, else 0\n",
		.shorts = "",
		.longs = longs,
	};
	struct batch b = { .code = EXIT_YES };
	static bool running;
	int opt;

	while ((opt = next_option(argc, argv, &spec)) >= 0) {
		if (opt != OPT_FORCE)
			return EXIT_FAIL;
		b.force = true;
	}
	if (!operands(argc, argv, 1, 1, &spec))
		return EXIT_FAIL;
	if (running)
		return fail("a batch cannot run another batch");
	running = true;
	b.path = argv[optind];
	return batch(&b);
}
