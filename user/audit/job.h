/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One audit, in steps: keys of a column or of records, asked of a view, and
 * what is written of the answer. epfctl does it in its own process, epfagent
 * takes turns among those of its clients.
 *
 * Functions return 0 or a negative errno unless they say otherwise, and print
 * nothing: what was wrong is one line in struct rec_error.
 */
#ifndef AUDIT_JOB_H
#define AUDIT_JOB_H

#include "audit.h"
#include "records.h"

/* Taken for the number of keys where it is not known. */
#define JOB_KEYS_UNKNOWN (1u << 20)

/**
 * struct job_mark - how far an audit is
 * @keys: asked for
 * @present: of those
 * @ages_of: of those, by age
 * @record_bytes: written of records, with the prologue
 */
struct job_mark {
	__u64 keys;
	__u64 present;
	__u64 ages_of[EPF_AGES_MAX];
	__u64 record_bytes;
};

/**
 * struct job_spec - what is to be done
 * @keys_fd: keys: regular file; a pipe for records only. At its beginning
 * @records: how to read it; REC_COLUMN: as a column
 * @key_len: of a column: as in struct epf_keys
 * @serial: of the column, as in struct epf_column
 * @copy: read a column piece by piece in place of mapping it: others may
 *	truncate it meanwhile
 * @bitmap_fd: -1, or a regular file, written by position: bit i is key i
 * @ages_fd: likewise: byte i is the age of key i
 * @records_fd: -1, or where records go that are present
 * @absent: @records_fd takes those that are absent instead
 * @engine: NULL: the fastest
 * @threads: as in struct epf_answer
 * @from: where an audit of the same keys and view was interrupted; zeros: at
 *	the beginning. What the files have beyond it is written again
 *
 * Descriptors stay the caller's, open until job_close().
 */
struct job_spec {
	int keys_fd;
	struct rec_spec records;
	__u32 key_len;
	__u64 serial;
	bool copy;
	int bitmap_fd;
	int ages_fd;
	int records_fd;
	bool absent;
	const struct epf_engine *engine;
	unsigned int threads;
	struct job_mark from;
};

/**
 * struct job_state - what is known of an audit
 * @mark: how far it is
 * @keys_all: keys there are; 0: not known before the end
 * @bytes: of the input, read so far
 * @bytes_all: there are; 0: not known
 * @keyless: records without a key
 * @bad: records that could not be read
 * @bitmap_xxh3: XXH3-64 of the bitmap up to @mark, with a @bitmap_fd or
 *	without; the bits of its last byte that are of no key are zero. Not
 *	before @mark has gone beyond where the audit goes on, or it has ended
 * @format: what was read
 * @engine: who answers
 * @why: why that one
 * @fallen: NULL, or what befell the one before, which had memory of its own:
 *	one line
 */
struct job_state {
	struct job_mark mark;
	__u64 keys_all;
	__u64 bytes;
	__u64 bytes_all;
	__u64 keyless;
	__u64 bad;
	__u64 bitmap_xxh3;
	enum rec_format format;
	const struct epf_engine *engine;
	const char *why;
	const char *fallen;
};

struct job;

/**
 * struct job_pace - when a step is to end before it has asked for all its keys
 * @until_ns: CLOCK_MONOTONIC; 0: never
 * @stop: atomic words; one that is not 0: at once; or NULL
 */
struct job_pace {
	__u64 until_ns;
	const int *stop[2];
};

/* Is it time to end? Looks at the clock. */
bool job_pace_over(const struct job_pace *pace);

/**
 * job_open() - begin
 * @job: result; NULL on failure
 * @view: what is asked; stays the caller's until job_close()
 * @spec: copied
 * @e: what is wrong, on failure
 *
 * Return: 0; -EINVAL: also keys that are made of something else than those of
 * @view; -EBADMSG: the input; -ENOMEM; what the calls to the system say.
 */
int job_open(struct job **job, const struct epf_view *view,
	     const struct job_spec *spec, struct rec_error *e);

/**
 * job_step() - ask some more
 * @job: audit
 * @keys: about so many; a whole batch at least; none while a long bitmap that
 *	it goes on with is read again
 * @pace: fewer if it says so, but some keys or some of the input; NULL: all
 * @e: what is wrong, on failure
 *
 * An engine that fails for want of a GPU is replaced, and the same keys asked
 * again: see @fallen.
 *
 * Outputs are complete up to the mark when it returns, though not synced.
 *
 * Return: 1: there is more; 0: that was the end; a negative errno.
 */
int job_step(struct job *job, __u64 keys, const struct job_pace *pace,
	     struct rec_error *e);

/* Were there keys, and was none of them present? Then they may be others than
 * the filter's. At the end.
 */
static inline bool job_none_present(const struct job_state *s)
{
	return s->mark.keys && !s->mark.present;
}

void job_state(const struct job *job, struct job_state *state);
void job_close(struct job *job);

/**
 * job_bitmap_sum() - what @bitmap_xxh3 was when a bitmap had so many keys
 * @fd: bitmap
 * @keys: so many
 * @sum: result
 *
 * Return: 0; -EINVAL: there are fewer; -ENOMEM.
 */
int job_bitmap_sum(int fd, __u64 keys, __u64 *sum);

#endif /* AUDIT_JOB_H */
