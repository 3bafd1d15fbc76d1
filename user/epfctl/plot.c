// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Pictures by gnuplot: a script goes in, a picture comes out. */
#include "plot.h"
#include "cmd.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libepf/atomic_file.h"

#define ENDING 4 /* length of ".svg" */

static const struct {
	const char *ending;
	const char *terminal;
} formats[] = {
	{ ".svg", "svg size 840,560 font 'sans-serif,13' background rgb 'white'" },
	{ ".png", "pngcairo size 840,560 font 'sans,12'" },
};

/* Without enhanced text, whose signs would change names. Blue and vermilion can be told
 * apart without seeing red and green (Okabe and Ito).
 */
static const char style[] = "set encoding utf8\n"
			    "set linetype 1 lc rgb '#0072b2' lw 2 pt 7 ps 0.6\n"
			    "set linetype 2 lc rgb '#d55e00' lw 2 pt 7 ps 1.4\n"
			    "set border 3 lc rgb '#444444'\n"
			    "set tics nomirror out\n"
			    "set grid lc rgb '#dddddd' lw 1\n";

static const char *terminal_of(const char *path)
{
	size_t len = strlen(path), i;

	for (i = 0; len >= ENDING && i < ARRAY_SIZE(formats); i++)
		if (!strcmp(path + len - ENDING, formats[i].ending))
			return formats[i].terminal;
	return NULL;
}

bool plot_named(const char *path)
{
	if (terminal_of(path))
		return true;
	fail("--plot '%s': the name must end in .svg or .png", path);
	return false;
}

/* Script, picture and messages are in memory, so that no pipe can block. */
static FILE *memory(void)
{
	int fd = memfd_create("plot", MFD_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w+");

	if (!f && fd >= 0)
		close(fd);
	if (!f)
		fail_errno(errno, "--plot: %m");
	return f;
}

FILE *plot_begin(const char *path)
{
	FILE *script = memory();

	if (script)
		fprintf(script, "set terminal %s noenhanced\n%s", terminal_of(path), style);
	return script;
}

void plot_text(FILE *script, const char *text)
{
	json_t *utf8 = json_path(text);
	const char *c = utf8 ? json_string_value(utf8) : "";

	fputc('\'', script);
	for (; *c; c++) {
		if (*c == '\'')
			fputc('\'', script); /* twice: one that does not end the string */
		fputc((unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c, script);
	}
	fputc('\'', script);
	json_decref(utf8);
}

/**
 * struct run - one run of gnuplot
 * @script: read
 * @picture: written
 * @messages: written
 */
struct run {
	FILE *script;
	FILE *picture;
	FILE *messages;
};

/* Return: 0, or a negative errno. */
static int plot_start(const struct run *r, pid_t *pid)
{
	char name[] = "gnuplot", defaults[] = "-d";
	char *const argv[] = { name, defaults, NULL };
	posix_spawn_file_actions_t to;
	int err = posix_spawn_file_actions_init(&to);

	if (err)
		return -err;
	err = posix_spawn_file_actions_adddup2(&to, fileno(r->script), STDIN_FILENO);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&to, fileno(r->picture), STDOUT_FILENO);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&to, fileno(r->messages), STDERR_FILENO);
	if (!err)
		err = posix_spawnp(pid, name, &to, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&to);
	return -err;
}

/* Return: the wait status, or a negative errno. */
static int plot_await(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
		if (interrupted)
			kill(pid, SIGTERM);
	}
	return status;
}

/* The first line of the messages that is not empty. */
static void first_message(FILE *messages, char text[256])
{
	size_t skip;

	rewind(messages);
	while (fgets(text, 256, messages)) {
		skip = strspn(text, " \t\r\n");
		memmove(text, text + skip, strlen(text + skip) + 1);
		text[strcspn(text, "\r\n")] = 0;
		if (*text)
			return;
	}
	*text = 0;
}

static int plot_told(const struct run *r, const char *what, int status)
{
	char text[256];

	if (!status)
		return 0;
	if (interrupted)
		return fail("%s: interrupted while gnuplot ran", what);
	if (status == -ENOENT)
		return fail("%s: gnuplot is missing: apt install gnuplot-nox", what);
	if (status < 0)
		return fail_errno(status, "%s: gnuplot: %m", what);
	if (WIFSIGNALED(status))
		return fail("%s: signal %d ended gnuplot", what, WTERMSIG(status));
	first_message(r->messages, text);
	return fail("%s: gnuplot failed with status %d%s%s", what, WEXITSTATUS(status),
		    *text ? ": " : "", text);
}

/* The process shares the offset of the script, which must be at its begin. */
static int run_gnuplot(const struct run *r, const char *what)
{
	pid_t pid;
	int ret;

	if (fflush(r->script) || lseek(fileno(r->script), 0, SEEK_SET))
		return fail_errno(errno, "%s: %m", what);
	ret = plot_start(r, &pid);
	return plot_told(r, what, ret ?: plot_await(pid));
}

/* gnuplot does not notice that a disk is full; this does. */
static int copy(const struct run *r, const char *path, int fd)
{
	int from = fileno(r->picture), err;
	struct stat st;
	void *at;

	if (fstat(from, &st))
		return fail_errno(errno, "%s: %m", path);
	if (!st.st_size)
		return fail("%s: gnuplot drew nothing", path);
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, from, 0);
	if (at == MAP_FAILED)
		return fail_errno(errno, "%s: %m", path);
	err = epf_file_write(fd, at, (size_t)st.st_size);
	munmap(at, (size_t)st.st_size);
	return err ? fail_write(path, err, false) : 0;
}

/* @path: NULL: nothing has to come out. */
static int run_script(FILE *script, const char *path, int fd)
{
	struct run r = { script, memory(), NULL };
	int ret = EXIT_FAIL;

	if (r.picture)
		r.messages = memory();
	if (r.messages)
		ret = run_gnuplot(&r, path ?: "--plot");
	if (!ret && path)
		ret = copy(&r, path, fd);
	if (r.messages)
		fclose(r.messages);
	if (r.picture)
		fclose(r.picture);
	fclose(script);
	return ret;
}

int plot_ready(void)
{
	FILE *nothing = memory();

	return nothing ? run_script(nothing, NULL, -1) : EXIT_FAIL;
}

int plot_draw(FILE *script, const char *path, int fd)
{
	return run_script(script, path, fd);
}

int plot_file(FILE *script, const char *path)
{
	struct epf_file file;
	int fd = epf_file_open(&file, path, EPF_FILE_SHARED);
	int ret, err;

	if (fd < 0) {
		fclose(script);
		return fail_write(path, fd, false);
	}
	ret = plot_draw(script, path, fd);
	err = epf_file_sync(fd);
	if (close(fd) && !err)
		err = -errno;
	if (!ret && !err)
		err = epf_file_commit(&file);
	if (!ret && err)
		ret = fail_write(path, err, file.renamed);
	epf_file_discard(&file);
	return ret;
}
