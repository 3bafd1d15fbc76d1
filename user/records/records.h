/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads keys from files of records: CSV, JSON lines, nfdump's CSV, IPFIX, captures, by
 * other programs those of nfcapd and further captures (child.h); also compressed ones (stream.h).
 * A record has at most one key; keys become digests under a filter's hash key.
 *
 * Unless documented otherwise, functions return 0 or a negative errno. They print
 * nothing: struct rec_error has the error as one line.
 */
#ifndef RECORDS_RECORDS_H
#define RECORDS_RECORDS_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/epochfilter.h>

#include "epf/hash.h"

enum rec_format {
	REC_AUTO,   /* detect it from the first bytes */
	REC_COLUMN, /* fixed length, without gaps: not read here, see struct epf_column */
	REC_CSV,    /* RFC 4180, a record a line */
	REC_JSON,   /* one JSON text per line */
	REC_NFDUMP, /* nfdump -o csv */
	REC_IPFIX,  /* RFC 7011 messages, one after another */
	REC_PCAP,   /* pcap, pcapng */
};

/* Limit of the fields that make one key. */
#define REC_FIELDS_MAX 16
/* Limit of the fields that make one time stamp. */
#define REC_STAMP_MAX 4
#define REC_PARTS_MAX (REC_FIELDS_MAX + REC_STAMP_MAX)
/* Limit of the bytes of a line; a longer line is an error, which bounds memory. */
#define REC_LINE_MAX (1u << 20)
/* Limit of the records of a batch. */
#define REC_BATCH 4096u
/* Limit of the work of one rec_next(), which only its last record or template may
 * exceed. A unit is a byte of the input, or something that takes about as long.
 */
#define REC_WORK (1u << 19)
/* How files that a program has to print (child.h) may be read. */
enum rec_child {
	REC_CHILD_ANY,    /* copied if it cannot open them */
	REC_CHILD_DIRECT, /* without a copy, which takes time */
	REC_CHILD_NONE,   /* not at all */
};

/**
 * struct rec_part - a part of a file, see rec_may_be_cut(): its lines that begin there
 * @from: offset in the file
 * @to: offset of the end; 0: that of the file
 */
struct rec_part {
	__u64 from;
	__u64 to;
};

/* Approximate memory of a reader, independent of the input. A compressed input takes its
 * window in addition.
 */
#define REC_MEMORY (8u << 20)

/**
 * struct rec_spec - how to read records
 * @format: enum rec_format
 * @digest: CSV, JSON: the one field is a digest of 16 hex digits
 * @hex: CSV, JSON: fields are bytes in hex, joined without a separator
 * @header: CSV: the first line names the fields and is not a record
 * @separator: CSV: separator of fields; 0: a comma
 * @joint: CSV, JSON: byte between the fields of a key; 0: a comma
 * @skip_bad: count and skip records that cannot be read
 * @multiline: CSV by comma, with @fields: quoted fields may have ends of lines, as in RFC 4180
 * @fields: comma-separated list. CSV: column numbers from 1, or names with @header;
 *	JSON: names of members, "a.b" for member b of a; NULL: the whole line
 * @stamps: records must have time stamps. Captures, nfdump and IPFIX have stamps of
 *	their own: of a flow it is that of its end. CSV and JSON need @stamp
 * @stamp: CSV, JSON: the fields that make the stamp, joined by blanks, as @fields
 * @stamp_form: its format, see stamp_parse(); NULL: detect it
 * @pkt: nfdump, IPFIX, captures: which key is made from a packet. The first two
 *	support keys of flows only. The capture determines its @link
 * @as_filter: @pkt was not requested: use the filter's packet key, or flows if the
 *	format supports nothing else
 * @window_max: refuse compressed input with a longer window, see stream_open();
 *	0: STREAM_WINDOW_MAX
 * @child: whether a program may run that prints the file
 * @part: zeros: all of it. Each part has the prologue, and counts of its own
 * @stop: a word that a signal sets: a copy for a program that prints the file then ends; or NULL
 * @any_keys: look keys up even if the filter's are made of something else
 */
struct rec_spec {
	enum rec_format format;
	bool digest;
	bool hex;
	bool header;
	bool skip_bad;
	bool multiline;
	char separator;
	char joint;
	const char *fields;
	bool stamps;
	const char *stamp;
	const char *stamp_form;
	struct epf_pkt_opts pkt;
	bool as_filter;
	bool any_keys;
	const volatile int *stop;
	size_t window_max;
	enum rec_child child;
	struct rec_part part;
};

/* One line without a newline: position and error ("line 17: ..."). */
struct rec_error {
	char text[200];
};

/* A record as it is in the input, with its end of line; for IPFIX, a line as nfdump
 * would print it. Valid until the next call.
 */
struct rec_raw {
	const void *data;
	size_t len;
};

/**
 * struct rec_batch - records with a key, in the order of the input
 * @n: number of records; may be 0 if none was found within REC_WORK
 * @end: there are no more records, and none in this batch
 * @digest: digest of each record's key
 * @raw: bytes of each record
 * @ns: with @stamps: time stamp of each record, since 1970
 */
struct rec_batch {
	unsigned int n;
	bool end;
	__u64 digest[REC_BATCH];
	struct rec_raw raw[REC_BATCH];
	__u64 ns[REC_BATCH];
};

/* Counts so far. */
struct rec_count {
	__u64 records;  /* records with a key */
	__u64 keyless;  /* records without: not IP, a missing member */
	__u64 bad;      /* with skip_bad: records that could not be read */
	__u64 left_out; /* by a child, which tells at its end: records that are not packets */
	__u64 spanning; /* with multiline: records of more than one line */
	__u64 bytes;    /* of the input, as it is in the file; of a child's output */
	__u64 work;     /* in units of REC_WORK */
};

struct rec_source;

/**
 * rec_format_named() - find a format by its command-line name ("csv", "json", ...)
 *
 * Return: whether it exists.
 */
bool rec_format_named(const char *name, enum rec_format *format);
const char *rec_format_name(enum rec_format format);

/**
 * rec_open() - open an input
 * @source: result; NULL on failure
 * @fd: regular file or pipe, positioned at its beginning. The caller owns it and
 *	keeps it open until rec_close()
 * @spec: how to read it; copied
 * @hash: hash function of digests
 * @e: set to the error text on failure
 *
 * Return: 0; -EINVAL: @spec is inconsistent, or asks for a part where there is none;
 * -EBADMSG: not of this format, or REC_AUTO cannot detect it; -EOPNOTSUPP: built without the
 * library, or @spec->child forbids it; -ENOMEM; an errno of stream_read().
 */
int rec_open(struct rec_source **source, int fd, const struct rec_spec *spec,
	     const struct epf_hash *hash, struct rec_error *e);

/* The format, as detected for REC_AUTO. */
enum rec_format rec_source_format(const struct rec_source *source);

/* "gzip", "xz" or "zstd"; NULL: it is not compressed. */
const char *rec_packed(const struct rec_source *source);

/* Is it read from a program that prints the file? Then that is as long as it may be. */
bool rec_by_child(const struct rec_source *source);

/* What is to be said of an input that was read to its end; "": nothing. */
const char *rec_note(const struct rec_source *source);

/* Has a regular file to be printed by a program, which takes CHILD_MEMORY? Its position does
 * not matter, and stays.
 */
bool rec_needs_child(int fd, enum rec_format format);

/* May a file be read in parts? Not if it is compressed, printed by a program, or its records are
 * not lines.
 */
bool rec_may_be_cut(const struct rec_source *source);

/* The description of its keys. */
struct epf_key_desc rec_source_desc(const struct rec_source *source);

/* The beginning that a file with some of its records needs: a CSV header, a pcap
 * header. It may be empty.
 */
struct rec_raw rec_prologue(const struct rec_source *source);

/**
 * rec_next() - read the next records that have a key, within REC_WORK
 * @source: source
 * @batch: result
 * @e: set to the error text on failure
 *
 * Return: 0; -EBADMSG: a record cannot be read (without skip_bad), or nothing can be
 * read after the damage; an errno of stream_read(). After an error only rec_close() is
 * allowed.
 */
int rec_next(struct rec_source *source, struct rec_batch *batch, struct rec_error *e);

struct rec_count rec_count(const struct rec_source *source);
void rec_close(struct rec_source *source);

#endif /* RECORDS_RECORDS_H */
