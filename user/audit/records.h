/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Keys out of files of records: CSV, JSON lines, nfdump's CSV, IPFIX, captures.
 * A record has one key or none; keys become digests under a filter's hash key.
 *
 * Functions return 0 or a negative errno unless they say otherwise, and print
 * nothing: what was wrong is one line in struct rec_error.
 */
#ifndef AUDIT_RECORDS_H
#define AUDIT_RECORDS_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/epochfilter.h>

#include "epf/hash.h"

enum rec_format {
	REC_AUTO,   /* by what the file begins with; else an error */
	REC_COLUMN, /* fixed length, without gaps: not read here, see struct epf_column */
	REC_CSV,    /* RFC 4180 */
	REC_JSON,   /* a JSON text a line */
	REC_NFDUMP, /* nfdump -o csv */
	REC_IPFIX,  /* RFC 7011 messages, one after another */
	REC_PCAP,   /* pcap, pcapng */
};

/* Fields that make one key at most. */
#define REC_FIELDS_MAX 16
/* Bytes of a line at most; a longer one is an error, not memory. */
#define REC_LINE_MAX (1u << 20)
/* Records of a batch at most. */
#define REC_BATCH 4096u
/* Work of one rec_next() at most, but for its last record or template; a unit is
 * a byte of the input, or what takes about as long.
 */
#define REC_WORK (1u << 19)
/* Memory that a reader takes, about, whatever the input is. */
#define REC_MEMORY (8u << 20)

/**
 * struct rec_spec - how to read them
 * @format: enum rec_format
 * @digest: CSV, JSON: the one field is a digest of 16 hex digits
 * @hex: CSV, JSON: fields are hex bytes; joined without anything between
 * @header: CSV: the first line names the fields, and is no record
 * @separator: CSV: between fields; 0: a comma
 * @joint: CSV, JSON: between the fields of a key; 0: a comma
 * @skip_bad: records that cannot be read are counted and passed over
 * @fields: CSV: numbers from 1, or names with @header; JSON: names of members,
 *	"a.b" for b of a; as given, comma-separated; NULL: the whole line
 * @pkt: what of a packet is the key: nfdump, IPFIX, captures; flows only for
 *	the first two; its @link is what the capture says
 * @as_filter: nobody asked for @pkt: take the packet keys that the filter has,
 *	and flows where there is no other choice
 * @any_keys: ask although the filter holds keys of something else
 */
struct rec_spec {
	enum rec_format format;
	bool digest;
	bool hex;
	bool header;
	bool skip_bad;
	char separator;
	char joint;
	const char *fields;
	struct epf_pkt_opts pkt;
	bool as_filter;
	bool any_keys;
};

/* One line without a newline: what is wrong, where ("line 17: ..."). */
struct rec_error {
	char text[200];
};

/* A record as it lies in the input, with its end of line; for IPFIX, a line as
 * nfdump would print it. Good until the next call.
 */
struct rec_raw {
	const void *data;
	size_t len;
};

/**
 * struct rec_batch - records with a key, in the order of the input
 * @n: how many; 0 also where none was found with REC_WORK
 * @end: there are no more, nor in this
 * @digest: of each
 * @raw: of each
 */
struct rec_batch {
	unsigned int n;
	bool end;
	__u64 digest[REC_BATCH];
	struct rec_raw raw[REC_BATCH];
};

/* What has been met so far. */
struct rec_count {
	__u64 records; /* with a key */
	__u64 keyless; /* without: not IP, a member that is missing */
	__u64 bad;     /* with skip_bad: that could not be read */
	__u64 bytes;   /* of the input */
	__u64 work;    /* units, see REC_WORK */
};

struct rec_source;

/**
 * rec_format_named() - by the word of a command line ("csv", "json", ...)
 *
 * Return: whether there is one.
 */
bool rec_format_named(const char *name, enum rec_format *format);
const char *rec_format_name(enum rec_format format);

/**
 * rec_open() - begin to read
 * @source: result; NULL on failure
 * @fd: of a regular file or a pipe, at its beginning; stays the caller's, who
 *	keeps it open until rec_close()
 * @spec: how; copied
 * @hash: of digests
 * @e: what is wrong, on failure
 *
 * Return: 0; -EINVAL: @spec makes no sense; -EBADMSG: not of this format, or
 * REC_AUTO cannot tell; -EOPNOTSUPP: built without the library; -ENOMEM; what
 * read() says.
 */
int rec_open(struct rec_source **source, int fd, const struct rec_spec *spec,
	     const struct epf_hash *hash, struct rec_error *e);

/* The format that was found, for REC_AUTO. */
enum rec_format rec_source_format(const struct rec_source *source);

/* What its keys are made of. */
struct epf_key_desc rec_source_desc(const struct rec_source *source);

/* What a file of some of its records has to begin with (a CSV header, a pcap
 * header): may be empty.
 */
struct rec_raw rec_prologue(const struct rec_source *source);

/**
 * rec_next() - the next records that have a key, as far as REC_WORK goes
 * @source: reader
 * @batch: result
 * @e: what is wrong, on failure
 *
 * Return: 0; -EBADMSG: a record that cannot be read (without skip_bad), or
 * whatever nothing can be read behind; what read() says. After an error only
 * rec_close().
 */
int rec_next(struct rec_source *source, struct rec_batch *batch,
	     struct rec_error *e);

struct rec_count rec_count(const struct rec_source *source);
void rec_close(struct rec_source *source);

#endif /* AUDIT_RECORDS_H */
