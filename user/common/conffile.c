// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Configuration files. */
#include "common/conffile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/error.h"

/* libinih cuts longer names of sections off. */
#define WHERE_BYTES (PATH_MAX + 16)

/**
 * struct reading - a file that is being read
 * @in: the file
 * @path: its name
 * @line: number of the last line read
 * @nr: number of the section
 * @filled: the section has a setting
 * @bad: an error is printed
 * @header: where the section begins
 * @where: the last line read
 * @fn: takes the settings
 * @ctx: for @fn
 */
struct reading {
	FILE *in;
	const char *path;
	unsigned int line;
	unsigned int nr;
	bool filled;
	bool bad;
	char header[WHERE_BYTES];
	char where[WHERE_BYTES];
	conf_line_fn fn;
	void *ctx;
};

static bool bad_line(struct reading *r, const char *where, const char *why)
{
	fail("%s: %s", where, why);
	r->bad = true;
	return false;
}

/* A section without settings is no section for libinih, and would be lost. */
static bool section_ended(struct reading *r)
{
	return !r->nr || r->filled || bad_line(r, r->header, "the section has no settings");
}

/* Is the line, of @len bytes with its newline, one that libinih reads whole? */
static bool line_ok(struct reading *r, const char *line, size_t len, int room)
{
	char why[64];

	if (strlen(line) != len)
		return bad_line(r, r->where, "a NUL byte: this is no text file");
	if (line[len - 1] != '\n')
		return bad_line(r, r->where, "the last line has no end: the file is truncated");
	if (len < (size_t)room)
		return true;
	snprintf(why, sizeof(why), "the line is longer than %d bytes", room - 2);
	return bad_line(r, r->where, why);
}

static bool note_header(struct reading *r, const char *text)
{
	if (*text != '[')
		return true;
	if (!strchr(text, ']'))
		return bad_line(r, r->where, "the section has no ']'");
	if (!section_ended(r))
		return false;
	r->nr++;
	r->filled = false;
	strcpy(r->header, r->where);
	return true;
}

/* A reader of libinih, as fgets(). Without leading blanks no line continues another one. */
static char *conffile_next_line(char *to, int room, void *stream)
{
	struct reading *r = stream;
	char *line = NULL, *text, *got = NULL;
	size_t bytes = 0;
	ssize_t len = r->bad ? -1 : getline(&line, &bytes, r->in);

	if (len > 0) {
		snprintf(r->where, sizeof(r->where), "%s:%u", r->path, ++r->line);
		text = line + strspn(line, " \t");
		if (line_ok(r, line, (size_t)len, room) && note_header(r, text))
			got = strcpy(to, text);
	}
	free(line);
	return got;
}

/* A handler of libinih. Return: 0: an error is printed. */
static int conffile_take(void *user, const char *section, const char *name, const char *value)
{
	struct reading *r = user;
	const struct conf_line line = {
		.where = r->where,
		.header = r->header,
		.section = section,
		.nr = r->nr,
		.name = name,
		.value = value ?: "",
	};

	r->filled = true;
	if (r->bad)
		return 0;
	if (strlen(section) > CONFFILE_SECTION_MOST)
		return bad_line(r, r->header, "the name of the section is too long");
	if (!*name)
		return bad_line(r, r->where, "there is no key before '='");
	r->bad = !r->fn(r->ctx, &line);
	return !r->bad;
}

/* May its text decide what root does? /dev/null is an empty file; other devices may never end. */
static bool trusted(const char *path, const struct stat *st)
{
	if (S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3))
		return true;
	if (!S_ISREG(st->st_mode))
		fail("%s: not a regular file", path);
	else if (st->st_uid && st->st_uid != geteuid())
		fail("%s: belongs to user %u: root must own it ('chown root')", path, st->st_uid);
	else if (st->st_mode & 022)
		fail("%s: others may write it, mode %o: 'chmod go-w' it", path,
		     st->st_mode & 07777);
	else if (st->st_size > CONFFILE_BYTES_MAX)
		fail("%s: larger than %u bytes", path, CONFFILE_BYTES_MAX);
	else
		return true;
	return false;
}

static void conffile_parse(struct reading *r)
{
	int line = ini_parse_stream(conffile_next_line, r, conffile_take, r);

	if (r->bad)
		return;
	if (line > 0)
		snprintf(r->where, sizeof(r->where), "%s:%d", r->path, line);
	if (line)
		bad_line(r, r->where, "neither 'key = value' nor '[section]'");
	else if (ferror(r->in))
		bad_line(r, r->path, "read error");
	else
		section_ended(r);
}

bool conffile_read(const char *path, bool must, conf_line_fn fn, void *ctx)
{
	/* O_NONBLOCK: a FIFO is refused, not waited for */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct reading r = { .path = path, .fn = fn, .ctx = ctx };
	struct stat st;

	if (fd < 0 && errno == ENOENT && !must)
		return true;
	if (fd < 0 || fstat(fd, &st) || !(r.in = fdopen(fd, "r"))) {
		fail_errno(errno, "%s: %m", path);
		if (fd >= 0)
			close(fd);
		return false;
	}
	if (trusted(path, &st))
		conffile_parse(&r);
	else
		r.bad = true;
	fclose(r.in);
	return !r.bad;
}

static int is_conf(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return e->d_name[0] != '.' && len > 5 && !strcmp(e->d_name + len - 5, ".conf");
}

/* alphasort() goes by the locale. */
static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

bool conffile_read_all(const char *path, conf_line_fn fn, void *ctx)
{
	char file[PATH_MAX];
	struct dirent **all;
	struct stat st;
	bool good = true;
	int i, nr;

	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return conffile_read(path, true, fn, ctx);
	if ((st.st_uid && st.st_uid != geteuid()) || (st.st_mode & 022)) {
		fail("%s: root must own the directory, and nobody else may write it", path);
		return false;
	}
	nr = scandir(path, &all, is_conf, by_bytes);
	if (nr < 0) {
		fail_errno(errno, "%s: %m", path);
		return false;
	}
	for (i = 0; i < nr; i++) {
		if ((size_t)snprintf(file, sizeof(file), "%s/%s", path, all[i]->d_name) >=
		    sizeof(file))
			good = false;
		good = good && conffile_read(file, true, fn, ctx);
		free(all[i]);
	}
	free(all);
	return good;
}
