/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Private to the readers of records, which share the input and the processing of a
 * record. Users of the readers include records.h.
 */
#ifndef RECORDS_READER_H
#define RECORDS_READER_H

#include "epf/packet.h"

#include "records/child.h"
#include "records/keytext.h"
#include "records/records.h"
#include "records/rec_error.h"
#include "records/stream.h"
#include "records/wiretap.h"

/* Bytes read to detect the format; at most CAPTURE_HEAD_BYTES. */
#define REC_HEAD_BYTES 4096
#define REC_NFCAPD_ADVICE                                           \
	"a file of nfcapd, which nfdump reads: install it, or let " \
	"'nfdump -r FILE -o csv' write into a pipe, and read '-'"

/* Step by which libcsv's memory for a field grows. */
#define REC_FIELD_BYTES (64u << 10)

/**
 * struct rec_input - input that was read but not consumed
 * @fd: file that @stream was opened with
 * @stream: input
 * @child: program that prints it; NULL: none
 * @aligned: blanks in it are there to align columns, and are left out
 * @eof: the end of the input was read
 * @buf: buffer of INPUT_BYTES
 * @at: offset of the first byte that is not consumed
 * @end: end of the bytes in @buf
 * @before: consumed bytes that are not in @buf any more
 * @line: number of the last line consumed, from @origin
 * @origin: offset where lines are counted from: of a part
 * @limit: no line begins here or behind; 0: none
 */
struct rec_input {
	int fd;
	struct stream *stream;
	struct child *child;
	bool aligned;
	bool eof;
	__u8 *buf;
	size_t at;
	size_t end;
	__u64 before;
	__u64 line;
	__u64 origin;
	__u64 limit;
};

/**
 * struct rec_reader - one format
 * @open: called when the beginning of the input is in the buffer
 * @take: put records into the batch while rec_goes_on() returns true and there is
 *	input. With @eof set it must consume everything unless it sets @more
 * @close: NULL: nothing to do
 */
struct rec_reader {
	int (*open)(struct rec_source *s, struct rec_error *e);
	int (*take)(struct rec_source *s, struct rec_batch *b, struct rec_error *e);
	void (*close)(struct rec_source *s);
};

/* Readers that need a library are NULL if it was missing at build time. */
extern const struct rec_reader rec_text, rec_json;
extern const struct rec_reader rec_csv __attribute__((weak));
extern const struct rec_reader rec_nfdump __attribute__((weak));
extern const struct rec_reader rec_ipfix __attribute__((weak));
extern const struct rec_reader rec_pcap __attribute__((weak));

/**
 * struct rec_source - an open input
 * @in: its input
 * @spec: as given, with the detected @format
 * @hash: hash function of digests
 * @count: counts so far; rec_count() fills in @bytes
 * @field: names in @spec.fields, then those in @spec.stamp
 * @nr_fields: how many there are in @spec.fields
 * @nr_parts: how many in both
 * @fields: memory of the text of the former
 * @stamps: memory of the text of the latter
 * @ns: time stamp of the record that is put next, if records have one
 * @reader: reader of the format
 * @prologue: see rec_prologue(); the source owns its memory
 * @own: private data of the reader
 * @more: there are more records to take, though the batch may be empty
 * @until: value of @count.work at which a call ends
 * @late: error that follows the records returned last; reported by the next call
 * @late_error: its text
 */
struct rec_source {
	struct rec_input in;
	struct rec_spec spec;
	struct epf_hash hash;
	struct rec_count count;
	char *field[REC_PARTS_MAX];
	unsigned int nr_fields;
	unsigned int nr_parts;
	char *fields;
	char *stamps;
	__u64 ns;
	const struct rec_reader *reader;
	struct rec_raw prologue;
	void *own;
	bool more;
	__u64 until;
	int late;
	struct rec_error late_error;
};

/* input.c */

/* @window_max: as for stream_open(). Return: 0; -ENOMEM: close it all the same. */
int rec_input_open(struct rec_input *in, int fd, size_t window_max);
void rec_input_close(struct rec_input *in);

/* Set the error text of a failed read of the input. Return: @err. */
int rec_input_failed(const struct rec_input *in, int err, struct rec_error *e);

/* Read more input, after dropping consumed bytes from the buffer. Return: 0; an errno
 * of stream_read().
 */
int rec_input_more(struct rec_input *in);

/* Read enough to detect the format. Return: as rec_input_more(). */
int rec_input_head(struct rec_input *in);

/* NULL where children were left out of the build. */
int child_start(struct child **c, const struct child_program *p, const struct child_file *f,
		struct rec_error *e) __attribute__((weak));
void child_close(struct child *c) __attribute__((weak));

extern const struct child_program wiretap __attribute__((weak));
extern const struct child_program wiretap_magic __attribute__((weak));
bool wiretap_wanted(const void *head, size_t len) __attribute__((weak));
bool wiretap_there(void) __attribute__((weak));

/* Let the program print the input, which is read instead. Return: 0; -EOPNOTSUPP: not here; an
 * errno of child_start().
 */
int rec_input_child(struct rec_source *s, const struct child_program *p, struct rec_error *e);

/* Is it text? All binary formats have a NUL in their first eight bytes. */
bool rec_is_text(const struct rec_input *in);

/* Skip a UTF-8 byte order mark at the beginning. */
void rec_skip_mark(struct rec_input *in);

/**
 * rec_line() - take a line
 * @s: source
 * @line: result, with its newline; the last one may have none
 * @e: set to the error text on failure
 *
 * Return: 1; 0: no complete line is in the buffer; -EBADMSG: the line is too long.
 */
int rec_line(struct rec_source *s, struct rec_raw *line, struct rec_error *e);

/* Take the first line, which becomes the prologue. Return: 0; -EBADMSG: there is none,
 * or it is too long; -ENOMEM; an errno of stream_read().
 */
int rec_first_line(struct rec_source *s, struct rec_raw *line, struct rec_error *e);

/* Set the prologue to a copy of @data. Return: 0; -ENOMEM. */
int rec_keep_prologue(struct rec_source *s, const void *data, size_t len, struct rec_error *e);

/* Report a line longer than REC_LINE_MAX. Return: -EBADMSG. */
int rec_too_long(const struct rec_source *s, struct rec_error *e);

/* May this call take another record? If not, sets @more for the next call. */
bool rec_goes_on(struct rec_source *s, const struct rec_batch *b);

/* part.c: a part of a file */

/* Leave only the part of an input whose prologue was read. Return: 0; an errno of stream_read(). */
int rec_input_part(struct rec_input *in, const struct rec_part *part);
/* End the input behind the last line of the part, if it is there. */
void rec_input_limit(struct rec_input *in);
/* The number of the last line consumed. Of a part, all that is before it is read to count. */
unsigned long long rec_input_line(const struct rec_input *in);
/* The same for rec_bad(); where bad records are skipped nobody reads it, and nothing is counted. */
unsigned long long rec_line_nr(const struct rec_source *s);

/* record.c: processing of a record */

void rec_put(struct rec_source *s, struct rec_batch *b, __u64 digest, struct rec_raw raw);

void rec_put_key(struct rec_source *s, struct rec_batch *b, struct rec_raw raw,
		 const struct keytext *key);

/* Report a bad record. Return: 0: bad records are skipped; else -EBADMSG. */
int rec_bad(struct rec_source *s, struct rec_error *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * rec_key() - put a record whose key is text
 * @s: source
 * @b: batch, with room
 * @raw: the record
 * @part: parts of the key: @s->nr_fields of them, or one if no fields were named
 * @e: set to the error text on failure
 *
 * Return: as rec_bad().
 */
int rec_key(struct rec_source *s, struct rec_batch *b, struct rec_raw raw,
	    const struct rec_raw *part, struct rec_error *e);

/**
 * rec_stamp() - set the time stamp of the record that is put next
 * @s: source
 * @part: parts of the stamp, behind those of the key; there may be none
 *
 * Return: NULL, or what is wrong.
 */
const char *rec_stamp(struct rec_source *s, const struct rec_raw *part);

/**
 * rec_flow() - compute the key of a flow
 * @s: source
 * @flow: flow; unknown ports are zero
 * @digest: result
 *
 * Return: whether the flow has a key; if not, it is counted as keyless.
 */
bool rec_flow(struct rec_source *s, const struct epf_flow_rec *flow, __u64 *digest);

/* nfdump.c */

/* Does @text begin like nfdump's CSV? NULL: as a reader. */
bool rec_nfdump_begins(const void *text, size_t len) __attribute__((weak));

/* nfcapd.c */

/* Let nfdump read the input; its text is then read. NULL: as a reader. Return: as
 * rec_input_child(), or an errno of stream_read().
 */
int nfcapd_start(struct rec_source *s, struct rec_error *e) __attribute__((weak));

#endif /* RECORDS_READER_H */
