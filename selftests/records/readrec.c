// SPDX-License-Identifier: GPL-2.0
/*
 * usage: readrec HASH-KEY FORMAT [OPTION]... < FILE
 *
 * Prints what the readers read from standard input: each record as its digest and its
 * bytes in hex, then the counts, or the error. Options: fields=TEXT, separator=C,
 * joint=C, key=frame|packet|flow, part=FROM-TO, strict, digest, hex, header, skip-bad,
 * multiline, quiet (counts only), drip (each read() returns one byte), eintr=N (read() number
 * N fails with EINTR), stop (as after a signal that came before).
 *
 * Exit: 0; 1: an error was printed; 3: a guarantee of records.h was violated.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "records.h"

#define HEX "0123456789abcdef"

static bool quiet;
static bool drip;
static volatile int stop = 1;
static unsigned long eintr; /* reads until the one that fails; 0: none */

ssize_t __real_read(int fd, void *to, size_t room);
ssize_t __wrap_read(int fd, void *to, size_t room);

ssize_t __wrap_read(int fd, void *to, size_t room)
{
	if (eintr && !--eintr) {
		errno = EINTR;
		return -1;
	}
	return __real_read(fd, to, drip && room > 1 ? 1 : room);
}

static const char *value(const char *arg, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(arg, name, len) && arg[len] == '=' ? arg + len + 1 : NULL;
}

static __u8 packet_key(const char *name)
{
	static const char *const names[] = { "frame",        "packet", "flow",
					     "conversation", "peer",   "peer-port" };
	__u8 key = 0;

	while (strcmp(name, names[key]))
		key++;
	return key;
}

static void option(const char *arg, struct rec_spec *spec, struct epf_hash *hash)
{
	const char *v;

	if ((v = value(arg, "fields")))
		spec->fields = v;
	else if ((v = value(arg, "separator")))
		spec->separator = *v;
	else if ((v = value(arg, "joint")))
		spec->joint = *v;
	else if ((v = value(arg, "part")))
		sscanf(v, "%llu-%llu", &spec->part.from, &spec->part.to);
	else if ((v = value(arg, "key")))
		spec->pkt.key = packet_key(v);
	else if ((v = value(arg, "flags")))
		spec->pkt.flags = (__u16)atoi(v);
	else if ((v = value(arg, "eintr")))
		eintr = strtoul(v, NULL, 10);
	else if ((v = value(arg, "most")))
		spec->pkt.max_bytes = (__u32)atoi(v);
	else if (!strcmp(arg, "stop"))
		spec->stop = &stop;
	spec->digest |= !strcmp(arg, "digest");
	spec->hex |= !strcmp(arg, "hex");
	spec->header |= !strcmp(arg, "header");
	spec->skip_bad |= !strcmp(arg, "skip-bad");
	spec->multiline |= !strcmp(arg, "multiline");
	hash->kind |= !strcmp(arg, "strict");
	quiet |= !strcmp(arg, "quiet");
	drip |= !strcmp(arg, "drip");
}

static void print_raw(const struct rec_raw *raw)
{
	const unsigned char *p = raw->data;
	size_t i;

	for (i = 0; i < raw->len; i++) {
		putchar_unlocked(HEX[p[i] >> 4]);
		putchar_unlocked(HEX[p[i] & 15]);
	}
	putchar_unlocked('\n');
}

static void print_batch(const struct rec_batch *b)
{
	unsigned int i;

	for (i = 0; i < b->n && !quiet; i++) {
		printf("%016llx ", (unsigned long long)b->digest[i]);
		print_raw(&b->raw[i]);
	}
}

static void print_count(struct rec_count c)
{
	printf("count %llu %llu %llu %llu %llu\n", (unsigned long long)c.records,
	       (unsigned long long)c.keyless, (unsigned long long)c.bad,
	       (unsigned long long)c.bytes, (unsigned long long)c.spanning);
}

/* An error is one line, and one of the errors that the header documents. */
static int failed(int err, const struct rec_error *e)
{
	const char *c = e->text;

	while ((unsigned char)*c >= ' ' && *c != 0x7f)
		c++;
	printf("error %d %s\n", -err, e->text);
	return *c || c == e->text || err >= 0 ? 3 : 1;
}

/* Limit of input in one call: a buffer, and what libpcap has read ahead. */
#define CALL_BYTES (4u << 20)
/* Limit beyond REC_WORK: a line, a block or a template, which is not divided. */
#define CALL_WORK (2u << 20)

static int read_all(struct rec_source *source)
{
	static struct rec_batch batch;
	struct rec_error e = { "" };
	__u64 n = 0, bytes = 0, work = 0, calls = 0;
	int err;

	while (!(err = rec_next(source, &batch, &e)) && !batch.end) {
		if (rec_count(source).bytes - bytes > CALL_BYTES ||
		    rec_count(source).work - work > REC_WORK + CALL_WORK)
			return 3;
		bytes = rec_count(source).bytes;
		work = rec_count(source).work;
		calls++;
		print_batch(&batch);
		fflush(stdout);
		n += batch.n;
	}
	printf("calls %llu\n", (unsigned long long)calls);
	print_count(rec_count(source));
	if (n != rec_count(source).records)
		return 3;
	if (!err)
		return 0;
	if (rec_next(source, &batch, &e) != err)
		return 3;
	return failed(err, &e);
}

int main(int argc, char **argv)
{
	struct rec_spec spec = { .format = REC_AUTO };
	struct epf_hash hash = { { 0, 0 }, 0, { 0 } };
	struct rec_source *source;
	struct rec_error e = { "" };
	struct rec_raw prologue;
	int err, i;

	if (argc < 3 || !rec_format_named(argv[2], &spec.format) ||
	    sscanf(argv[1], "%llx,%llx", &hash.key[0], &hash.key[1]) != 2)
		return 2;
	for (i = 3; i < argc; i++)
		option(argv[i], &spec, &hash);
	err = rec_open(&source, STDIN_FILENO, &spec, &hash, &e);
	if (err)
		return source ? 3 : failed(err, &e);
	printf("format %s\n", rec_format_name(rec_source_format(source)));
	prologue = rec_prologue(source);
	printf("prologue ");
	print_raw(&prologue);
	err = read_all(source);
	rec_close(source);
	return err;
}
