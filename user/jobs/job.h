/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One audit, in steps: it looks up the keys of a column or of records in a view and
 * writes the answers. epfctl runs it in its own process; epfagent takes turns among
 * the jobs of its clients.
 *
 * Unless documented otherwise, functions return 0 or a negative errno. They print
 * nothing: struct rec_error has the error as one line.
 */
#ifndef JOBS_JOB_H
#define JOBS_JOB_H

#include "audit.h"
#include "records/records.h"

/* Assumed number of keys if it is unknown. */
#define JOB_KEYS_UNKNOWN (1u << 20)
#define JOB_RECORD_BYTES 64 /* guessed length of a record */

/**
 * struct job_checkpoint - the progress of an audit
 * @keys: keys looked up
 * @present: those of them that were present
 * @ages_of: present keys by age
 * @record_bytes: bytes of records written, including the prologue
 */
struct job_checkpoint {
	__u64 keys;
	__u64 present;
	__u64 ages_of[EPF_AGES_MAX];
	__u64 record_bytes;
};

/* Can an audit have this progress? Marks come from files and from agents. */
bool job_checkpoint_sound(const struct job_checkpoint *m);

/**
 * struct job_sink - where answers go that are not written to files of this process
 * @bits: @bytes of the bitmap for its offset @at; the last byte may come again,
 *	with more bits
 * @ages: likewise of the ages, without repetition
 * @ctx: of both, which return 0 or a negative errno
 */
struct job_sink {
	int (*bits)(void *ctx, const void *data, size_t bytes, __u64 at);
	int (*ages)(void *ctx, const void *data, size_t bytes, __u64 at);
	void *ctx;
};

/**
 * struct job_spec - the parameters of an audit
 * @keys_fd: keys, positioned at the beginning: a regular file, or a pipe if it has
 *	records
 * @records: how to read @keys_fd; REC_COLUMN: as a column
 * @key_len: key length of a column, as in struct epf_keys
 * @serial: of the column, as in struct epf_column
 * @copy: read a column piece by piece in place of mapping it, because others may
 *	truncate it meanwhile
 * @bitmap_fd: -1, or a regular file, written by position: bit i is key i
 * @ages_fd: likewise: byte i is the age of key i
 * @records_fd: -1, or the output for records that are present
 * @absent: @records_fd gets the absent records instead
 * @engine: NULL: the fastest
 * @threads: as in struct epf_answer
 * @from: where an audit of the same keys and view was interrupted; zeros: start at
 *	the beginning. What the files have beyond it is overwritten
 * @first: without @from: the number of the first key, a multiple of 8. Marks count from
 *	there, outputs are written where the key belongs. A column is looked up from there on;
 *	of records, those of @records.part are
 * @nr: of a column: how many keys from there on; 0: all
 * @sink: takes the answers for @bitmap_fd and @ages_fd, which are then only asked
 *	whether they are -1; NULL: they are written to these
 *
 * The caller owns the descriptors and keeps them open until job_close().
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
	struct job_checkpoint from;
	__u64 first;
	__u64 nr;
	const struct job_sink *sink;
};

/**
 * struct job_state - the state of an audit
 * @mark: progress
 * @keys_all: number of all keys; 0: unknown until the end
 * @bytes: bytes of the input read so far
 * @bytes_all: size of the input in bytes; 0: unknown
 * @keyless: records without a key
 * @bad: records that could not be read
 * @left_out: records of a capture that are not packets, where a program reads it; 0 until
 *	the end
 * @spanning: records of more than one line
 * @bitmap_xxh3: XXH3-64 of the bitmap up to @mark, also without a @bitmap_fd; unused
 *	bits of the last byte count as zero. For a resumed audit it is valid once
 *	@mark has moved or the audit has ended
 * @format: format of the input
 * @engine: engine in use
 * @why: reason for the choice of @engine
 * @fallen: NULL, or one line that says why the previous engine, one with memory of
 *	its own, failed, or one of its devices
 */
struct job_state {
	struct job_checkpoint mark;
	__u64 keys_all;
	__u64 bytes;
	__u64 bytes_all;
	__u64 keyless;
	__u64 bad;
	__u64 left_out;
	__u64 spanning;
	__u64 bitmap_xxh3;
	enum rec_format format;
	const struct epf_engine *engine;
	const char *why;
	const char *fallen;
};

struct job;

/**
 * struct job_pace - conditions that end a step before all its keys are looked up
 * @until_ns: deadline by CLOCK_MONOTONIC; 0: none
 * @stop: atomic words, or NULL; if one is not 0, the step ends at once
 */
struct job_pace {
	__u64 until_ns;
	const int *stop[2];
};

/* Must the step end now? Reads the clock. */
bool job_pace_over(const struct job_pace *pace);

/**
 * job_open() - start an audit
 * @job: result; NULL on failure
 * @view: view to look keys up in; the caller owns it and keeps it until job_close()
 * @spec: copied
 * @e: set to the error text on failure
 *
 * Return: 0; -EINVAL: bad parameters, or keys made of something else than those of
 * @view; -EBADMSG: bad input; -ENOMEM; other errors of system calls.
 */
int job_open(struct job **job, const struct epf_view *view, const struct job_spec *spec,
	     struct rec_error *e);

/**
 * job_step() - look up some more keys
 * @job: audit
 * @keys: approximate number of keys, at least a whole batch of records. No key is
 *	looked up while the long bitmap of an interrupted audit is read again
 * @pace: may end the step early, though not before some progress; NULL: no limit
 * @e: set to the error text on failure
 *
 * If an engine fails because of its GPU, it is replaced and the same keys are looked
 * up again: see @fallen.
 *
 * When it returns, outputs are complete up to the mark but not synced.
 *
 * Return: 1: there is more to do; 0: the audit has ended; a negative errno.
 */
int job_step(struct job *job, __u64 keys, const struct job_pace *pace, struct rec_error *e);

/* Were there keys, but none was present? Then they may be of another sort than the
 * filter's. Valid when the audit has ended.
 */
static inline bool job_none_present(const struct job_state *s)
{
	return s->mark.keys && !s->mark.present;
}

void job_state(const struct job *job, struct job_state *state);
void job_close(struct job *job);

/* sum.c: job_state.bitmap_xxh3 of the first @keys keys of the bitmap @fd. Return: 0; -EINVAL:
 * it has fewer; -ENOMEM.
 */
int job_bitmap_sum(int fd, __u64 keys, __u64 *sum);

#endif /* JOBS_JOB_H */
