/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the readers of records share: the input, and what becomes of a record.
 * Private to them; who reads records includes records.h.
 */
#ifndef AUDIT_READER_H
#define AUDIT_READER_H

#include "epf/packet.h"

#include "keytext.h"
#include "records.h"
#include "wrong.h"

/* Read to tell the format; no more than a capture takes back. */
#define REC_HEAD_BYTES 4096

/**
 * struct rec_input - bytes that were read and not taken
 * @fd: where from
 * @eof: there is no more
 * @buf: of INPUT_BYTES
 * @at: the first byte not taken
 * @end: behind the last one
 * @before: bytes that are gone from @buf
 * @line: number of the last line that was taken
 */
struct rec_input {
	int fd;
	bool eof;
	__u8 *buf;
	size_t at;
	size_t end;
	__u64 before;
	__u64 line;
};

/**
 * struct rec_reader - one format
 * @open: the beginning of the input is there
 * @take: put records of the input while rec_goes_on(), or until the input is
 *	used up: with @eof set, all of it, but for what @more is set for
 * @close: NULL: nothing to do
 */
struct rec_reader {
	int (*open)(struct rec_source *s, struct rec_error *e);
	int (*take)(struct rec_source *s, struct rec_batch *b,
		    struct rec_error *e);
	void (*close)(struct rec_source *s);
};

/* Those of libraries may be absent. */
extern const struct rec_reader rec_text, rec_json, rec_nfdump;
extern const struct rec_reader rec_csv __attribute__((weak));
extern const struct rec_reader rec_ipfix __attribute__((weak));
extern const struct rec_reader rec_pcap __attribute__((weak));

/**
 * struct rec_source - a reader at work
 * @in: its input
 * @spec: as given, with the @format that was found
 * @hash: of digests
 * @count: so far; @bytes is filled in when asked for
 * @field: what @spec.fields names
 * @nr_fields: how many
 * @fields: their text
 * @reader: of the format
 * @prologue: as rec_prologue(); its memory is the source's
 * @own: the reader's own
 * @more: there is more to take, though the batch may be empty
 * @until: value of @count.work at which a call ends
 * @late: an error behind records that were still given
 * @late_error: its text
 */
struct rec_source {
	struct rec_input in;
	struct rec_spec spec;
	struct epf_hash hash;
	struct rec_count count;
	char *field[REC_FIELDS_MAX];
	unsigned int nr_fields;
	char *fields;
	const struct rec_reader *reader;
	struct rec_raw prologue;
	void *own;
	bool more;
	__u64 until;
	int late;
	struct rec_error late_error;
};

/* input.c */

int rec_input_open(struct rec_input *in, int fd);
void rec_input_close(struct rec_input *in);

/* Read some more; what was taken is gone then. Return: 0, or what read() says. */
int rec_input_more(struct rec_input *in);

/* Read what a format can be told by. Return: as rec_input_more(). */
int rec_input_head(struct rec_input *in);

/* By the first eight bytes, in which formats that are no text have a NUL. */
bool rec_is_text(const struct rec_input *in);

/* Take a byte order mark of UTF-8 that may be there at the beginning. */
void rec_skip_mark(struct rec_input *in);

/**
 * rec_line() - take a line
 * @s: reader
 * @line: result, with its newline; the last one may have none
 * @e: what is wrong
 *
 * Return: 1; 0: none that is whole; -EBADMSG: it is too long.
 */
int rec_line(struct rec_source *s, struct rec_raw *line, struct rec_error *e);

/* Take the first line, which a file of some records has to begin with.
 * Return: 0; -EBADMSG: there is none, or it is too long; what read() says.
 */
int rec_first_line(struct rec_source *s, struct rec_raw *line,
		   struct rec_error *e);

/* Copy what a file of some records has to begin with. Return: 0, or -ENOMEM. */
int rec_keep_prologue(struct rec_source *s, const void *data, size_t len,
		      struct rec_error *e);

/* A line of REC_LINE_MAX bytes and more. Return: -EBADMSG. */
int rec_too_long(const struct rec_source *s, struct rec_error *e);

/* May this call take another record? Else there is more for the next one. */
bool rec_goes_on(struct rec_source *s, const struct rec_batch *b);

/* record.c: what becomes of a record */

void rec_put(struct rec_source *s, struct rec_batch *b, __u64 digest,
	     struct rec_raw raw);

void rec_put_key(struct rec_source *s, struct rec_batch *b, struct rec_raw raw,
		 const struct keytext *key);

/* Return: 0 where those are passed over; else -EBADMSG. */
int rec_bad(struct rec_source *s, struct rec_error *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * rec_key() - a record whose key is text
 * @s: reader
 * @b: batch, with room
 * @raw: the record
 * @part: of the key, @s->nr_fields, or one where none were named
 * @e: what is wrong
 *
 * Return: as rec_bad().
 */
int rec_key(struct rec_source *s, struct rec_batch *b, struct rec_raw raw,
	    const struct rec_raw *part, struct rec_error *e);

/**
 * rec_flow() - the key of a flow
 * @s: reader
 * @flow: with ports of zero where they were not told
 * @digest: result
 *
 * Return: whether it has one; else it is counted.
 */
bool rec_flow(struct rec_source *s, const struct epf_flow_rec *flow,
	      __u64 *digest);

/* nfdump.c */

/* Is this how nfdump's CSV begins? */
bool rec_nfdump_begins(const void *text, size_t len);

#endif /* AUDIT_READER_H */
