/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libepf: audits. Which of many keys does a lanes filter hold, and how old are
 * they? Asked of a snapshot or, in place, of the mapped lines of a live filter.
 *
 * All engines give the same bytes for the same view and keys. Functions return
 * 0 or a negative errno unless they say otherwise, and print nothing.
 */
#ifndef LIBEPF_AUDIT_H
#define LIBEPF_AUDIT_H

#include "epf.h"
#include "epf/lanes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* audit/view.c: what is asked */

/**
 * struct epf_view - lines, and what they are to be read at
 * @lines: 8-byte aligned; with 64, as mappings and settled views have them, a
 *	test touches one cache line less
 * @geom: shape
 * @hash: of keys; not used for digests
 * @epoch: current epoch of the answer
 * @own: memory of the view itself, or NULL
 * @own_bytes: of it
 *
 * A view of lines that change meanwhile (a live filter, mapped) keeps the
 * window law where @epoch was read before the audit began: what was inserted
 * before that and is still of the window when the audit ends is present, with
 * its age at @epoch or a younger one; what is present was inserted in the epoch
 * that its age tells, but for false positives. Where 25 epochs or more end
 * during the audit, tags come round, and only the first half is true.
 */
struct epf_view {
	const struct epf_line *lines;
	struct epf_geom geom;
	struct epf_hash hash;
	__u64 epoch;
	void *own;
	size_t own_bytes;
};

/**
 * epf_view_init() - a view of lines in memory
 * @v: result; it refers to @lines
 * @lines: @params->nr_lines lines, 8-byte aligned
 * @params: kind, hash, nr_lines, lines_per_key, bits_per_key count
 * @key: hash key, or NULL where only digests are asked for
 * @epoch: EPF_EPOCH_FIRST and up
 *
 * Return: 0; -EOPNOTSUPP: not of kind lanes; -EINVAL: a number out of its
 * range, or @lines not aligned.
 */
int epf_view_init(struct epf_view *v, const void *lines,
		  const struct epf_params *params, const __u64 key[2],
		  __u64 epoch);

/* A view of a checked snapshot, at the epoch when its copy ended; it refers to
 * @file. Returns as epf_view_init().
 */
int epf_view_snap(struct epf_view *v, const struct epf_snap_file *file);

/**
 * epf_view_settle() - copy the lines into huge pages, 64-byte aligned
 * @v: of lines that do not change; the old ones are not referred to any more
 *
 * For snapshots: in the file a line lies across two cache lines. It pays from
 * about one key a line on.
 *
 * Return: 0; -ENOMEM: the view is as it was.
 */
int epf_view_settle(struct epf_view *v);

/* Give back what settle took. A view of zeros may be closed. */
void epf_view_close(struct epf_view *v);

/* audit/column.c: what is asked for */

/**
 * struct epf_keys - keys, one after another without gaps
 * @data: any alignment; digests are little-endian
 * @n: how many; @n times their bytes fit into a size_t
 * @len: bytes of each, 1 .. EPF_KEY_MAX; 0: digests of eight bytes
 */
struct epf_keys {
	const void *data;
	__u64 n;
	__u32 len;
};

/**
 * struct epf_column - a file of keys, mapped read-only
 */
struct epf_column {
	struct epf_keys keys;
	void *map;
	size_t map_bytes;
};

/**
 * epf_column_open() - map a file of keys
 * @c: result; zeros on failure
 * @path: regular file
 * @len: as in struct epf_keys
 *
 * Accepted: a file that another program truncates while it is mapped ends this
 * one with SIGBUS, as every mapping of a file does.
 *
 * Return: 0; -EINVAL: @len out of its range; -EBADMSG: the file is no multiple
 * of a key; -EISDIR, -ESPIPE: not a regular file; what open and mmap say.
 */
int epf_column_open(struct epf_column *c, const char *path, __u32 len);
void epf_column_close(struct epf_column *c);

/* audit/engine.c: who answers */

/**
 * struct epf_answer - what is wanted, and the answer
 * @bitmap: (n + 7) / 8 bytes: bit i mod 8 of byte i / 8 is set when key i is
 *	present; the bits after the last key are zero
 * @ages: n bytes, or NULL: age in epochs, or EPF_AGE_ABSENT
 * @threads: at most so many, EPF_AUDIT_THREADS_MAX at most; 0: one for each
 *	CPU that this process may use
 * @progress: or NULL; in the calling thread, counting keys instead of bytes
 * @ctx: for @progress
 * @ages_of: out: how many keys are present at each age
 * @present: out: how many keys are present
 * @bitmap_xxh3: out: XXH3-64 of the bitmap
 *
 * After an error nothing of it is to be used.
 */
struct epf_answer {
	unsigned char *bitmap;
	unsigned char *ages;
	unsigned int threads;
	epf_progress_fn progress;
	void *ctx;
	__u64 ages_of[EPF_LANES];
	__u64 present;
	__u64 bitmap_xxh3;
};

#define EPF_AUDIT_THREADS_MAX 1024u

/**
 * struct epf_engine - one way to answer
 * @name: for command lines
 * @usable: does this machine have what it takes?
 * @query: answer; only where it is usable
 *
 * @query returns 0; -EINVAL: a number out of its range, or no bitmap;
 * -ECANCELED: as @progress wished; engines that are more than the CPU: what
 * befell them. A CPU without memory for threads does the work with fewer.
 */
struct epf_engine {
	const char *name;
	bool (*usable)(void);
	int (*query)(const struct epf_view *v, const struct epf_keys *keys,
		     struct epf_answer *a);
};

/* All that were compiled in, slowest first; NULL from the end on. */
const struct epf_engine *epf_engine_at(unsigned int i);

/* By name; NULL: there is none, which is not to say that it is not usable. */
const struct epf_engine *epf_engine_find(const char *name);

/**
 * epf_engine_auto() - the fastest usable one for so many keys
 * @n: keys
 * @why: set to a phrase that gives the reason, or NULL
 */
const struct epf_engine *epf_engine_auto(__u64 n, const char **why);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_AUDIT_H */
