// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Output: errors in one line, JSON, and numbers for people. */
#include "common/output.h"

#include "common/array.h"
#include "common/clock.h"
#include "common/progress.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libepf/epf.h"

#define COLUMNS 80u

enum out_mode out_mode = OUT_TEXT;
static bool out_of_memory; /* some of the output is missing */

/* Levels of syslog, which sd-daemon(3) expects at the beginning of a line. */
enum level { LEVEL_ERROR = 3, LEVEL_WARNING = 4, LEVEL_INFO = 6 };

static bool levels; /* lines begin with their level */
static bool json_errors;
static const char *at_verb;
static __thread const char *stands_at; /* read by its thread only; see out_at() */

void out_verb(const char *verb)
{
	at_verb = verb;
}

void out_at(const char *at)
{
	stands_at = at;
}

static void (*noted)(const char *kind, const char *line);

void out_notes(void (*note)(const char *kind, const char *line))
{
	noted = note;
}

void out_json_errors(bool on)
{
	json_errors = on;
}

/**
 * struct report - one line for standard error
 * @level: of the line
 * @kind: "error", "warning", or NULL for neither
 * @status: exit status that follows an error; 0: none does
 * @err: errno of an error; 0: none
 */
struct report {
	enum level level;
	const char *kind;
	int status;
	int err;
};

/* Print one object on one line, on standard error. */
static void say_json(const struct report *r, const char *line)
{
	const char *name = r->err ? strerrorname_np(r->err) : NULL;
	json_t *o = json_pack("{so ss* ss* ss*}", r->kind, json_path(line), "errno", name, "verb",
			      at_verb, "at", stands_at);
	char *text;

	if (o && r->status)
		json_object_set_new(o, "status", json_integer(r->status));
	text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	if (text)
		fprintf(stderr, "%s\n", text);
	else
		fprintf(stderr, "{\"%s\":\"out of memory\"}\n", r->kind);
	free(text);
	json_decref(o);
}

static void output_note(const char *kind, const char *line)
{
	char whole[2048];

	if (!stands_at) {
		noted(kind, line);
		return;
	}
	snprintf(whole, sizeof(whole), "%.1000s: %.1023s", stands_at, line);
	noted(kind, whole);
}

/* Is it a byte of a control character, also of U+0080 to U+009F, alone or in UTF-8? Terminals
 * obey both. Bytes that continue another character are none.
 */
static bool is_control(const char *line, const char *c)
{
	unsigned char byte = (unsigned char)c[0], next = (unsigned char)c[1];
	bool first = c == line || !(c[-1] & 0x80);

	return byte < ' ' || byte == 0x7f || (byte >= 0x80 && byte < 0xa0 && first) ||
	       (byte == 0xc2 && next >= 0x80 && next < 0xa0);
}

/* Print one line, whatever the names in it contain. */
static void output_say(const struct report *r, const char *fmt, va_list ap)
{
	char line[1024];
	char *c;

	errno = r->err;
	vsnprintf(line, sizeof(line), fmt, ap);
	for (c = line; *c; c++)
		if (is_control(line, c))
			*c = '?';
	fflush(stdout);
	if (r->kind && noted)
		output_note(r->kind, line);
	if (r->kind && (json_errors || out_mode != OUT_TEXT)) {
		say_json(r, line);
		return;
	}
	if (levels)
		fprintf(stderr, "<%d>", r->level);
	if (r->kind)
		fprintf(stderr, "%s: ", r->kind);
	if (r->kind && stands_at)
		fprintf(stderr, "%s: ", stands_at);
	fprintf(stderr, "%s\n", line);
}

void out_levels(void)
{
	const char *journal = getenv("JOURNAL_STREAM");
	unsigned long long dev, inode;
	struct stat st;

	levels = journal && sscanf(journal, "%llu:%llu", &dev, &inode) == 2 &&
		 !fstat(STDERR_FILENO, &st) && st.st_dev == dev && st.st_ino == inode;
}

static void say_error(int status, int err, const char *fmt, va_list ap)
{
	const struct report r = { LEVEL_ERROR, "error", status, err < 0 ? -err : err };

	output_say(&r, fmt, ap);
}

/* A failure after a signal ends with the status of that, see main(). */
static int fail_status(void)
{
	return interrupted ? EXIT_SIGNAL + interrupted : EXIT_FAIL;
}

int fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_error(fail_status(), 0, fmt, ap);
	va_end(ap);
	return EXIT_FAIL;
}

int fail_errno(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_error(fail_status(), err, fmt, ap);
	va_end(ap);
	return EXIT_FAIL;
}

int fail_as(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_error(status, 0, fmt, ap);
	va_end(ap);
	return status;
}

void warn(const char *fmt, ...)
{
	const struct report r = { LEVEL_WARNING, "warning", 0, 0 };
	va_list ap;

	va_start(ap, fmt);
	output_say(&r, fmt, ap);
	va_end(ap);
}

void log_info(const char *fmt, ...)
{
	const struct report r = { LEVEL_INFO, NULL, 0, 0 };
	va_list ap;

	va_start(ap, fmt);
	output_say(&r, fmt, ap);
	va_end(ap);
}

/* Memory for Jansson, which silently leaves out values that it gets none for. */
static void *json_alloc(size_t bytes)
{
	void *at = malloc(bytes);

	out_of_memory |= !at;
	return at;
}

void out_init(void)
{
	json_set_alloc_funcs(json_alloc, free);
}

json_t *json_path(const char *path)
{
	json_t *v = json_string(path); /* NULL: not UTF-8 */
	char *text, *to;

	if (v)
		return v;
	text = to = json_alloc(3 * strlen(path) + 1);
	if (!text)
		return NULL;
	for (; *path; path++)
		if (*path & 0x80)
			to = stpcpy(to, "\xef\xbf\xbd"); /* U+FFFD */
		else
			*to++ = *path;
	*to = 0;
	v = json_string(text);
	free(text);
	return v;
}

/* Print the whole text or nothing. */
void out_json(json_t *value)
{
	size_t flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION(6);
	char *text;

	flags |= out_mode == OUT_PRETTY ? JSON_INDENT(2) : JSON_COMPACT;
	text = json_dumps(value, flags);
	if (text && !out_of_memory)
		puts(text);
	out_of_memory |= !text;
	free(text);
	json_decref(value);
}

int out_finish(int code)
{
	bool incomplete = out_of_memory;

	out_of_memory = false;
	if (fflush(stdout) || ferror(stdout))
		return fail_errno(errno, "cannot write the output: %m");
	if (incomplete && code != EXIT_FAIL)
		return fail("out of memory for the output");
	return code;
}

void print_wrapped(int indent, const char *fmt, ...)
{
	char line[1024], *text = line;
	size_t room = COLUMNS;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	while (strlen(text) > room) {
		size_t cut = room;

		while (cut && text[cut] != ' ')
			cut--;
		if (!cut) /* a single word */
			cut = strcspn(text, " ");
		printf("%.*s\n%*s", (int)cut, text, indent, "");
		text += cut + strspn(text + cut, " ");
		room = COLUMNS - (size_t)indent;
	}
	printf("%s\n", text);
}

static struct text scaled(double value, const char *const *units, double step)
{
	struct text t;

	while (value >= step && units[1]) {
		value /= step;
		units++;
	}
	snprintf(t.s, sizeof(t.s), "%.4g %s", value, *units);
	return t;
}

struct text fmt_count(__u64 count)
{
	static const char *const units[] = { "k", "M", "G", "T", "P", "E" };
	double value = (double)count / 1000;
	struct text t;
	size_t i = 0;

	if (count < 1000000) {
		snprintf(t.s, sizeof(t.s), "%llu", count);
		return t;
	}
	for (; value >= 999.95; i++) /* which %.4g would make 1000 */
		value /= 1000;
	snprintf(t.s, sizeof(t.s), "%.4g%s", value, units[i]);
	return t;
}

struct text fmt_bytes(__u64 bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", NULL };

	return scaled((double)bytes, units, 1024);
}

struct text fmt_utc(__u64 wall_ns)
{
	time_t s = (time_t)(wall_ns / NS_PER_SEC);
	struct text t;
	struct tm tm;
	size_t n;

	gmtime_r(&s, &tm);
	n = strftime(t.s, sizeof(t.s), "%FT%T", &tm);
	snprintf(t.s + n, sizeof(t.s) - n, ".%06lluZ", wall_ns % NS_PER_SEC / 1000);
	return t;
}

struct text fmt_ns(__u64 ns)
{
	static const char *const below[] = { "ns", "us", "ms", "s", NULL };
	double s = (double)ns / NS_PER_SEC;
	struct text t;

	if (s < 120)
		return scaled((double)ns, below, 1000);
	if (s < 2 * 3600)
		snprintf(t.s, sizeof(t.s), "%.4g min", s / 60);
	else if (s < 2 * 86400)
		snprintf(t.s, sizeof(t.s), "%.4g h", s / 3600);
	else
		snprintf(t.s, sizeof(t.s), "%.4g d", s / 86400);
	return t;
}

struct text fmt_rate(double rate)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%.3g", rate);
	return t;
}

struct text fmt_ppt(__u64 ppt)
{
	return fmt_rate(ppt_to_rate(ppt));
}

double ppt_to_rate(__u64 ppt)
{
	return (double)ppt / (double)EPF_RATE_ONE;
}

static const char *output_name_of(const char *const *names, size_t nr, __u32 i)
{
	return i < nr ? names[i] : "unknown";
}

const char *mode_name(__u32 mode)
{
	static const char *const names[] = { "count", "time", "either", "both" };

	return output_name_of(names, ARRAY_SIZE(names), mode);
}

static const char *const hash_names[] = { "siphash13", "siphash24", "nh" };

bool parse_hash(const char *what, const char *text, __u8 *hash)
{
	__u8 i;

	for (i = 0; i < ARRAY_SIZE(hash_names); i++)
		if (!strcmp(text, hash_names[i])) {
			*hash = i;
			return true;
		}
	fail("%s: '%s': siphash13, siphash24 or nh", what, text);
	return false;
}

const char *hash_name(__u32 hash)
{
	return output_name_of(hash_names, ARRAY_SIZE(hash_names), hash);
}

const char *refresh_name(__u32 refresh)
{
	static const char *const names[] = { "refresh", "first-seen" };

	return output_name_of(names, ARRAY_SIZE(names), refresh);
}
