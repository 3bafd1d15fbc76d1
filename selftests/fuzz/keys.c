// SPDX-License-Identifier: GPL-2.0
/*
 * Key files of any format. Accepted input means the same however it is split into
 * reads, and printed in another format it gives the same keys again.
 *
 * Input: format, end of line and digests in one byte; size of the pieces that
 * the text is read in; the rest is the text.
 */
#include <unistd.h>

static ssize_t piece(int fd, void *to, size_t room);

#include "records/keytext.c"

#define read piece
#include "records/stream.c"
#undef read
#include "epfctl/keys.c"
#include "epfctl/cmd_test.c"

#include "sink.h"
#include "snapshot.h"

/* Replaces the tool's function (ld --wrap), because signals are for libFuzzer. */
void __wrap_catch_signals(void);
void __wrap_catch_signals(void)
{
}

#define TEXT_MAX 8192

/* The rest of the file being read: @text_left bytes, in pieces. */
static const char *text_at;
static size_t text_left, text_piece;

static ssize_t piece(int fd, void *to, size_t room)
{
	size_t n = text_left < text_piece ? text_left : text_piece;

	if (n > room)
		n = room;
	memcpy(to, text_at, n);
	text_at += n;
	text_left -= n;
	return (ssize_t)n;
}

/**
 * struct got - keys that were read
 * @bytes: without gaps
 * @used: number of bytes
 * @len: length of each key
 * @count: number of keys
 * @ret: result of keys_read()
 */
struct got {
	__u8 bytes[TEXT_MAX];
	size_t used;
	__u16 len[TEXT_MAX];
	__u32 count;
	int ret;
};

/* A key takes more bytes of text than it has itself. */
static int collect(void *ctx, const struct keys *keys)
{
	struct got *g = ctx;
	const __u8 *key = keys->bytes;
	__u32 i;

	law(keys->count > 0, "no empty batch");
	for (i = 0; i < keys->count; key += keys->lens[i++]) {
		law(keys->lens[i] >= 1 && keys->lens[i] <= EPF_KEY_MAX, "a key has 1 to 256 bytes");
		memcpy(g->bytes + g->used, key, keys->lens[i]);
		g->used += keys->lens[i];
		g->len[g->count++] = keys->lens[i];
	}
	return 0;
}

static void read_text(struct got *g, const struct key_input *how, const char *text, size_t len,
		      size_t pieces)
{
	const char *files[] = { "-" };
	struct key_input in = *how;
	char *copy = (char *)exactly(text, len);

	in.files = files;
	in.nr_files = 1;
	text_at = copy;
	text_left = len;
	text_piece = pieces;
	g->used = g->count = 0;
	sink_clear();
	g->ret = keys_read(&in, collect, g);
	law(!g->ret || g->ret == EXIT_FAIL, "done, or failed");
	sink_judge(g->ret);
	free(copy);
}

static bool same(const struct got *a, const struct got *b)
{
	return a->ret == b->ret && a->count == b->count && a->used == b->used &&
	       !memcmp(a->bytes, b->bytes, a->used) &&
	       !memcmp(a->len, b->len, a->count * sizeof(a->len[0]));
}

/* A batch with a bad key is dropped, so the keys before it may be missing at the end. */
static bool begins(const struct got *part, const struct got *whole)
{
	return part->count <= whole->count && part->used <= whole->used &&
	       !memcmp(part->bytes, whole->bytes, part->used);
}

/* Plain text consists of its own keys. */
static void lines_are_keys(const struct got *g, const char *text, size_t len, char end)
{
	size_t at = 0, used = 0;
	__u32 i;

	for (i = 0; i < g->count; i++) {
		law(len - at >= g->len[i] && !memcmp(text + at, g->bytes + used, g->len[i]),
		    "a line is a key");
		used += g->len[i];
		at += g->len[i];
		law(at == len || text[at++] == end, "and a key is a line");
	}
	law(at == len, "every line is one");
}

/* Print one key in another format. Return: bytes. */
static size_t print_key(char *to, const __u8 *key, size_t len, bool json)
{
	static const struct key_input text = { .format = KEYS_TEXT };
	static const struct testing t = { .in = &text };
	size_t i, n = 0;
	json_t *o;

	if (json) {
		o = key_json(&t, key, len);
		n = json_dumpb(o, to, 8 * EPF_KEY_MAX, JSON_COMPACT);
		json_decref(o);
	} else {
		for (i = 0; i < len; i++, n += 2)
			sprintf(to + n, "%02x", key[i]);
	}
	to[n++] = '\n';
	return n;
}

static void printed_again(const struct got *g, bool json)
{
	struct key_input how = { .format = json ? KEYS_JSON : KEYS_HEX };
	static char text[(TEXT_MAX + 1) * 32];
	static struct got again;
	size_t n = 0, used = 0;
	__u32 i;

	for (i = 0; i < g->count; used += g->len[i++])
		n += print_key(text + n, g->bytes + used, g->len[i], json);
	read_text(&again, &how, text, n, n + 1);
	law(same(g, &again), "printed and read again, keys are the same");
}

/* Digests printed with 16 digits give the same numbers again. */
static void digests_again(const struct got *g)
{
	struct key_input how = { .format = KEYS_TEXT, .digests = true };
	static char text[TEXT_MAX * 3];
	static struct got again;
	size_t n = 0;
	__u32 i;

	for (i = 0; i < g->count; i++)
		n += (size_t)sprintf(text + n, "%016llx\n", digest_at(g->bytes + 8 * i));
	read_text(&again, &how, text, n, n + 1);
	law(same(g, &again), "printed and read again, digests are the same");
}

/* The same keys as arguments: those without NUL, one at a time. */
static void as_argument(const struct key_input *how, const char *text, size_t len,
			const struct got *g)
{
	char *arg = malloc(len + 1), *args[] = { arg };
	static struct got again;
	struct key_input in = *how;

	if (!arg)
		abort();
	memcpy(arg, text, len);
	arg[len] = 0;
	in.args = args;
	in.nr_args = 1;
	again.used = again.count = 0;
	sink_clear();
	again.ret = keys_read(&in, collect, &again);
	law(same(g, &again), "an argument is a key as a line is");
	free(arg);
}

int LLVMFuzzerTestOneInput(const __u8 *data, size_t size)
{
	static struct got whole, part;
	struct input in = { data, size };
	__u8 mode = take(&in);
	size_t pieces = take(&in) + 1u;
	struct key_input how = { .format = mode % 3, .nul = mode & 8, .digests = mode & 16 };
	const char *text = (const char *)in.p;

	if (in.left > TEXT_MAX)
		return 0;
	read_text(&whole, &how, text, in.left, TEXT_MAX);
	read_text(&part, &how, text, in.left, pieces);
	law(whole.ret == part.ret, "pieces do not matter to what is refused");
	law(whole.ret ? begins(&whole, &part) : same(&whole, &part), "nor to the keys");
	if (in.left && !memchr(text, how.nul ? 0 : '\n', in.left) && !memchr(text, 0, in.left) &&
	    (in.left != 1 || text[0] != '-'))
		as_argument(&how, text, in.left, &whole);
	if (whole.ret)
		return 0;
	if (how.digests) {
		digests_again(&whole);
		return 0;
	}
	if (how.format == KEYS_TEXT)
		lines_are_keys(&whole, text, in.left, how.nul ? 0 : '\n');
	printed_again(&whole, false);
	printed_again(&whole, true);
	return 0;
}
