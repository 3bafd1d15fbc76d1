/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Captures the tool's output: stdout and stderr go to memory, where a target can check
 * them. The reports of libFuzzer and the sanitizers do not.
 */
#ifndef EPF_FUZZ_SINK_H
#define EPF_FUZZ_SINK_H

#include "fuzz.h"

#define SINK_BYTES (1u << 16)

/**
 * struct sink - a stream's text
 * @text: the first bytes, NUL-terminated
 * @len: number of bytes
 */
struct sink {
	char text[SINK_BYTES + 1];
	size_t len;
};

static struct sink sink_out, sink_err;

static inline ssize_t sink_write(void *cookie, const char *from, size_t n)
{
	struct sink *s = cookie;
	size_t room = SINK_BYTES - s->len;

	memcpy(s->text + s->len, from, n < room ? n : room);
	s->len += n < room ? n : room;
	s->text[s->len] = 0;
	return (ssize_t)n;
}

static inline FILE *sink_open(struct sink *s)
{
	cookie_io_functions_t io = { .write = sink_write };
	FILE *f = fopencookie(s, "w", io);

	if (!f)
		abort();
	return f;
}

/* Discard the output so far; the first call starts capturing. */
static inline void sink_clear(void)
{
	static bool open;

	if (!open) {
		stdout = sink_open(&sink_out);
		stderr = sink_open(&sink_err);
		setvbuf(stderr, NULL, _IONBF, 0);
		open = true;
	}
	fflush(stdout);
	sink_out.len = sink_err.len = 0;
	sink_out.text[0] = sink_err.text[0] = 0;
}

/* Does a line on stderr begin with this? Text quoted in a line does not count. */
static inline bool sink_says(const char *begin)
{
	const char *c = sink_err.text;

	while (c && strncmp(c, begin, strlen(begin))) {
		c = strchr(c, '\n');
		c = c && c[1] ? c + 1 : NULL;
	}
	return c;
}

static inline bool sink_failed(void)
{
	return sink_says("error: ") || sink_says("{\"error\":\"");
}

/* Failures print errors, each of one line without control characters. */
static inline void sink_judge(bool failed)
{
	const char *c;

	law(failed == sink_failed(), "an error is printed where something failed, and only there");
	for (c = sink_err.text; *c; c++)
		law(*c == '\n' || (*c >= ' ' && *c != 0x7f) || *c < 0,
		    "errors have no control characters");
	for (c = sink_err.text; *c; c = strchr(c, '\n') + 1)
		law((!strncmp(c, "error: ", 7) || !strncmp(c, "warning: ", 9) ||
		     !strncmp(c, "{\"error\":\"", 10) || !strncmp(c, "{\"warning\":\"", 12)) &&
			    strchr(c, '\n'),
		    "each line is an error or a warning");
}

#endif /* EPF_FUZZ_SINK_H */
