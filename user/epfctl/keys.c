// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Keys from arguments, standard input and files, which may be compressed.
 *
 * A batch is what one read returned, up to the last whole line. So keys that
 * trickle through a pipe are not held back, and a file goes in large batches.
 * A batch with an invalid key is not passed on.
 */
#include "cmd.h"

#include "records/keytext.h"
#include "records/stream.h"
#include "desc.h"
#include "epf/keydesc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES (1u << 20) /* also the longest line */

/* clang-format off */
const char keys_help[] =
"  KEY                   a key, or - for standard input\n"
"  -f, --file FILE       take keys from a file; may be given again\n"
"      --format FORMAT   text: a key a line (default); hex: hex digits;\n"
"                        json: a string, or an object with \"key\" or \"hex\"\n"
"  -0, --null            NUL ends a line in place of newline\n"
"      --digest          16 hex digits of a ready digest in place of a key\n";
/* clang-format on */

static bool keys_parse_format(struct key_input *in, const char *arg)
{
	static const char *const names[] = { "text", "hex", "json" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(arg, names[i])) {
			in->format = (enum key_format)i;
			return true;
		}
	fail("--format '%s' is none of text, hex, json", arg);
	return false;
}

bool keys_option(struct key_input *in, int opt, const char *arg)
{
	switch (opt) {
	case 'f':
		if (in->nr_files == KEY_FILES_MAX) {
			fail("more than %d files: run the command again for the others, "
			     "or pipe them to -",
			     KEY_FILES_MAX);
			return false;
		}
		in->files[in->nr_files++] = arg;
		return true;
	case '0':
		in->nul = true;
		return true;
	case OPT_FORMAT:
		return keys_parse_format(in, arg);
	case OPT_DIGEST:
		in->digests = true;
		return true;
	}
	return false; /* next_option() has printed why */
}

/**
 * struct reader - one source of keys
 * @in: where the keys come from
 * @name: of the source, for errors
 * @line: number of the current line or argument, from 1
 * @keys: the batch
 * @sent: number of keys in earlier batches
 */
struct reader {
	const struct key_input *in;
	const char *name;
	__u64 line;
	struct keys keys;
	__u64 sent;
};

static bool keys_bad(const struct reader *r, const char *why)
{
	if (r->sent)
		fail("%s:%llu: %s (the %llu keys before this batch are done, "
		     "those of the batch are not)",
		     r->name, r->line, why, r->sent);
	else
		fail("%s:%llu: %s", r->name, r->line, why);
	return false;
}

/* Room for one more key of any length. */
static bool keys_grow(struct keys *k)
{
	if (k->room - k->used < EPF_KEY_MAX) {
		size_t room = 2 * k->room + 4096;
		__u8 *bytes = realloc(k->bytes, room);

		if (!bytes)
			return false;
		k->bytes = bytes;
		k->room = room;
	}
	if (k->count == k->slots) {
		__u32 slots = 2 * k->slots + 256;
		__u16 *lens = realloc(k->lens, slots * sizeof(*lens));

		if (!lens)
			return false;
		k->lens = lens;
		k->slots = slots;
	}
	return true;
}

static bool add_bytes(struct reader *r, const void *key, size_t len)
{
	const char *why = keytext_length(len);
	struct keys *k = &r->keys;

	if (why)
		return keys_bad(r, why);
	if (!keys_grow(k))
		return keys_bad(r, "out of memory");
	memcpy(k->bytes + k->used, key, len);
	k->used += len;
	k->lens[k->count++] = (__u16)len;
	return true;
}

static bool add_key(struct reader *r, const struct keytext *key, const char *why)
{
	return why ? keys_bad(r, why) : add_bytes(r, key->bytes, key->len);
}

static bool keys_add(struct reader *r, const char *text, size_t len)
{
	struct keytext key;

	if (r->in->format == KEYS_JSON)
		return add_key(r, &key, keytext_json(&key, text, len, r->in->digests));
	if (r->in->digests)
		return add_key(r, &key, keytext_digest(&key, text, len));
	if (r->in->format == KEYS_HEX)
		return add_key(r, &key, keytext_hex(&key, text, len));
	return add_bytes(r, text, len);
}

static int send(struct reader *r, keys_fn fn, void *ctx)
{
	struct keys *k = &r->keys;
	int ret;

	if (!k->count)
		return 0;
	k->digests = r->in->digests;
	ret = fn(ctx, k);
	r->sent += k->count;
	k->count = 0;
	k->used = 0;
	return ret;
}

/* Add the whole lines of @buf. Return: bytes taken; -1: an invalid line. */
static ssize_t take_lines(struct reader *r, const char *buf, size_t len, bool eof)
{
	const char end = r->in->nul ? '\0' : '\n';
	size_t done = 0;

	while (done < len) {
		const char *stop = memchr(buf + done, end, len - done);
		size_t n = stop ? (size_t)(stop - buf) - done : len - done;

		if (!stop && !eof)
			break;
		r->line++;
		if (!keys_add(r, buf + done, n))
			return -1;
		done += n + !!stop;
	}
	return (ssize_t)done;
}

static int read_chunks(struct reader *r, struct stream *s, char *buf, keys_fn fn, void *ctx)
{
	size_t held = 0;
	ssize_t got, taken;
	int ret;

	do {
		got = stream_read(s, buf + held, READ_BYTES - held);
		if (got == -EINTR && !interrupted)
			continue;
		if (got < 0 && got != -EINTR)
			return fail_errno((int)-got, "%s: %s", r->name, stream_why(s));
		if (interrupted)
			return fail("%s: stopped after line %llu", r->name, r->line);
		held += (size_t)got;
		taken = take_lines(r, buf, held, !got);
		if (taken < 0)
			return EXIT_FAIL;
		held -= (size_t)taken;
		memmove(buf, buf + taken, held);
		if (held == READ_BYTES) {
			r->line++;
			keys_bad(r, "the line is longer than 1 MiB");
			return EXIT_FAIL;
		}
		ret = send(r, fn, ctx);
		if (ret)
			return ret;
	} while (got);
	return 0;
}

static int keys_read_file(struct reader *r, const char *path, keys_fn fn, void *ctx)
{
	bool standard = !strcmp(path, "-");
	struct stream *s;
	char *buf;
	int fd, ret;

	r->name = standard ? "standard input" : path;
	r->line = 0;
	fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail_errno(errno, "%s: %m", path);
	s = stream_open(fd, STREAM_WINDOW_MAX);
	buf = malloc(READ_BYTES);
	ret = s && buf ? read_chunks(r, s, buf, fn, ctx) : fail("%s: out of memory", path);
	free(buf);
	stream_close(s);
	if (!standard)
		close(fd);
	return ret;
}

void keys_describe(int filter, const char *name, const struct epf_info *info, bool digests)
{
	struct epf_key_desc desc = {
		.kind = digests ? EPF_KEYS_DIGEST : EPF_KEYS_BYTES,
	};
	char text[EPF_DESC_TEXT];

	epf_filter_describe(filter, &desc);
	if (desc.kind != EPF_KEYS_MIXED || info->desc.kind == EPF_KEYS_MIXED ||
	    info->desc.kind == EPF_KEYS_BYTES || info->desc.kind == EPF_KEYS_DIGEST)
		return;
	epf_key_desc_text(&info->desc, text);
	warn("the keys of '%s' are %s: from now on they are of several kinds", name, text);
}

/* May the keys be addresses? Bytes of an address's length may; text is never one. */
static bool keys_may_be_addresses(const struct keys *k, enum key_format format)
{
	__u32 i;

	for (i = 0; i < k->count; i++)
		if (k->lens[i] != 4 && k->lens[i] != 16)
			return false;
	return format != KEYS_TEXT;
}

void keys_check(const char *name, const struct epf_info *info, const struct keys *keys,
		enum key_format format)
{
	struct epf_key_desc asked = {
		.kind = keys->digests ? EPF_KEYS_DIGEST : EPF_KEYS_BYTES,
	};
	char there[EPF_DESC_TEXT], wanted[EPF_DESC_TEXT];
	static bool told;

	if (!keys->digests && info->desc.kind == EPF_KEYS_ADDRESS &&
	    keys_may_be_addresses(keys, format))
		return;
	if (told || epf_key_desc_serves(&info->desc, &asked))
		return;
	told = true;
	epf_key_desc_text(&info->desc, there);
	epf_key_desc_text(&asked, wanted);
	warn("the keys of '%s' are %s, but those looked up are %s: none of them can "
	     "be present, except as a false positive",
	     name, there, wanted);
}

/* Arguments are one batch, except around a "-". */
static int read_args(struct reader *r, keys_fn fn, void *ctx)
{
	int ret = 0;
	int i;

	for (i = 0; i < r->in->nr_args && !ret; i++) {
		const char *arg = r->in->args[i];

		r->name = "argument";
		r->line = (__u64)i + 1;
		if (strcmp(arg, "-")) {
			if (!keys_add(r, arg, strlen(arg)))
				return EXIT_FAIL;
			continue;
		}
		ret = send(r, fn, ctx);
		if (!ret)
			ret = keys_read_file(r, arg, fn, ctx);
	}
	return ret ? ret : send(r, fn, ctx);
}

int keys_read(const struct key_input *in, keys_fn fn, void *ctx)
{
	struct reader r = { .in = in };
	int ret, i;

	if (!in->nr_args && !in->nr_files)
		return fail("no keys given: name them, or - to read standard "
			    "input, or --file");
	catch_signals();
	ret = read_args(&r, fn, ctx);
	for (i = 0; i < in->nr_files && !ret; i++)
		ret = keys_read_file(&r, in->files[i], fn, ctx);
	free(r.keys.bytes);
	free(r.keys.lens);
	return ret;
}
