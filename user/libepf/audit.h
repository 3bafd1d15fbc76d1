/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libepf: audits. Which of many keys does a filter hold, and how old are they?
 * Asked of a snapshot of any kind or, in place, of the mapped lines of a live
 * filter of kind lanes.
 *
 * All engines that serve a view give the same bytes for it. Functions return
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

struct epf_asked;

/**
 * struct epf_trail - how lines came from what they were before
 * @record: of a journal, applied to them one after another
 * @first: version that the lines had before the first of these
 * @nr: how many: @first + @nr is their version now
 * @wanted: set by who would rather read these than all lines again,
 * @taken: and the version that he has: older records are of no use
 *
 * For the thread that asks; whoever changes the lines does so in between.
 */
struct epf_trail {
	const struct epf_journal_record *record;
	__u64 first;
	__u64 nr;
	bool wanted;
	__u64 taken;
};

/**
 * struct epf_view - lines, and what they are to be read at
 * @lines: 8-byte aligned; with 64, as mappings and settled views have them, a
 *	test touches one cache line less
 * @geom: shape
 * @hash: of keys; not used for digests
 * @epoch: current epoch of the answer
 * @own: memory of the view itself, or NULL
 * @own_bytes: of it
 * @asked: of an owned kind, which has no lines and no geometry; else NULL
 * @serial: of these lines, like that of no others; 0: nobody knows what they
 *	were a moment ago. Engines with memory of their own copy what has one when
 *	it is asked first: for what is inserted later into lines that change, a
 *	new view is to be made
 * @version: of lines that change between audits
 * @trail: of those, or NULL
 * @desc: what the keys are made of, as far as it is known
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
	struct epf_asked *asked;
	__u64 serial;
	__u64 version;
	struct epf_trail *trail;
	struct epf_key_desc desc;
};

/* A serial that no view has had, nor a column. */
__u64 epf_view_serial(void);

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

/**
 * epf_view_owned() - a view of the copied memory of a filter of an owned kind
 * @v: result; it has a copy of all, 64-byte aligned, in huge pages
 * @params: kind, hash, window_ns count
 * @key: as for epf_view_init()
 * @state: of the copy; anything
 * @words: @state->words words
 *
 * Return: 0; -EOPNOTSUPP: not of an owned kind; -EINVAL: no filter can be so;
 * -ENOMEM.
 */
int epf_view_owned(struct epf_view *v, const struct epf_params *params,
		   const __u64 key[2], const struct epf_snap_owned *state,
		   const void *words);

/* A view of a checked snapshot, at the epoch when its copy ended; of kind lanes
 * it refers to @file. Returns as epf_view_init() and epf_view_owned().
 */
int epf_view_snap(struct epf_view *v, const struct epf_snap_file *file);

/**
 * epf_view_filter() - a view of a live filter, in place
 * @v: result; it has a mapping of its own, which holds the filter
 * @filter: descriptor without a snapshot under way; may be closed afterwards
 * @keyed: take the hash key too, for which CAP_NET_ADMIN is needed
 * @info: what the filter was when the view began; or NULL
 *
 * The epoch is read before the mapping is made: the law of struct epf_view
 * holds, with the epoch read again when the audit has ended. Swap and restore
 * leave the view what it is.
 *
 * Return: 0; -EOPNOTSUPP: not of kind lanes; -EPERM: the key; -EBUSY: contents
 * were exchanged each time it was tried; -ENODEV: destroyed by force; what mmap
 * says.
 */
int epf_view_filter(struct epf_view *v, int filter, bool keyed,
		    struct epf_info *info);

/**
 * epf_view_settle() - copy the lines into huge pages, 64-byte aligned
 * @v: the old lines are not referred to any more; one of an owned kind is
 *	settled
 *
 * For snapshots: in the file a line lies across two cache lines. When it pays,
 * epf_audit_choose() says. Of lines that change the law of struct epf_view holds
 * on: the audit has begun before, and has ended when the copy has.
 *
 * Return: 0; -ENOMEM: the view is as it was.
 */
int epf_view_settle(struct epf_view *v);

/* Give back what settle took. A view of zeros may be closed. */
void epf_view_close(struct epf_view *v);

/* audit/column.c: what is asked for */

struct epf_column;

/**
 * struct epf_keys - keys, one after another without gaps
 * @data: any alignment; digests are little-endian
 * @n: how many; @n times their bytes fit into a size_t
 * @len: bytes of each, 1 .. EPF_KEY_MAX; 0: digests of eight bytes
 * @of: the column that they are a piece of, or NULL
 */
struct epf_keys {
	const void *data;
	__u64 n;
	__u32 len;
	const struct epf_column *of;
};

/**
 * struct epf_column - a file of keys, mapped read-only
 * @serial: of its bytes, like that of no others, given by who will have them
 *	asked for again; 0: nobody. Engines with memory of their own keep what has
 *	one, from the second audit on
 */
struct epf_column {
	struct epf_keys keys;
	void *map;
	size_t map_bytes;
	__u64 serial;
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
/* Likewise of an open file, which stays the caller's and may be closed. */
int epf_column_open_fd(struct epf_column *c, int fd, __u32 len);
void epf_column_close(struct epf_column *c);
/* Nobody asks for the bytes of that serial again. */
void epf_column_forget(__u64 serial);

/* audit/engine.c: who answers */

/* Ages, 0 .. 254, older ones told as 254: EPF_AGE_ABSENT is none. */
#define EPF_AGES_MAX 255u

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
	__u64 ages_of[EPF_AGES_MAX];
	__u64 present;
	__u64 bitmap_xxh3;
};

#define EPF_AUDIT_THREADS_MAX 1024u

/**
 * struct epf_rates - how fast an engine is; 0: it cannot, or nobody knows
 * @here: keys a second, of a view as it is
 * @carry: bytes a second, to where @there is
 * @there: keys a second, of a settled view; or in the memory of a device
 */
struct epf_rates {
	double here;
	double carry;
	double there;
};

/**
 * struct epf_engine - one way to answer
 * @name: for command lines
 * @usable: does this machine have what it takes?
 * @query: answer; only where it is usable
 * @rates: measure for some ten milliseconds, with @threads as in struct
 *	epf_answer; only where it is usable; what fails is 0
 *
 * @query returns 0; -EINVAL: a number out of its range, or no bitmap;
 * -EOPNOTSUPP: it does not serve the view, see epf_engine_serves();
 * -ECANCELED: as @progress wished; engines that are more than the CPU: what
 * befell them. A CPU without memory for threads does the work with fewer.
 */
struct epf_engine {
	const char *name;
	bool (*usable)(void);
	int (*query)(const struct epf_view *v, const struct epf_keys *keys,
		     struct epf_answer *a);
	void (*rates)(const struct epf_engine *e, const struct epf_view *v,
		      unsigned int threads, struct epf_rates *r);
};

#define EPF_ENGINES_MAX 16u

/* All that were compiled in, slowest first; NULL from the end on. */
const struct epf_engine *epf_engine_at(unsigned int i);

/* Of what the CPU does, the fastest that is usable. Serves all but owned kinds. */
const struct epf_engine *epf_engine_near(void);

/* Has it memory of its own, to which it copies the lines itself? Then a query
 * may fail, and is to be asked of epf_engine_near() instead.
 */
bool epf_engine_far(const struct epf_engine *e);

/* One line: why it is not usable, or what befell it last; "": nothing. Lives as
 * long as the thread.
 */
const char *epf_engine_why(const struct epf_engine *e);

/* By name; NULL: there is none, which is not to say that it is not usable. */
const struct epf_engine *epf_engine_find(const char *name);

/* Does it answer for such a view? For owned kinds scalar alone does. */
bool epf_engine_serves(const struct epf_engine *e, const struct epf_view *v);

/* audit/cuda.c: the GPU */

/**
 * struct epf_gpu_use - what went to the card
 * @uploads: times that lines were copied there
 * @upload_bytes: of these
 * @reuses: queries of lines that were there already
 * @columns: times that a column was copied there, to stay
 * @column_asks: queries of keys of these
 * @records: of journals that were applied there
 */
struct epf_gpu_use {
	__u64 uploads;
	__u64 upload_bytes;
	__u64 reuses;
	__u64 columns;
	__u64 column_asks;
	__u64 records;
};

/* Of this process so far. */
void epf_gpu_use(struct epf_gpu_use *use);

/* Is there one, and which? @text: one line, EPF_WHY_LEN bytes. */
bool epf_gpu_there(char *text);

/* audit/auto.c: which engine, and where */

#define EPF_WHY_LEN 160u

/**
 * struct epf_choice - what is to be done
 * @engine: usable
 * @settle: ask a copy: of epf_view_settle(), or of epf_snap_copy(); an engine
 *	with memory of its own makes it itself
 * @even: so many keys and more are asked sooner of a copy; UINT64_MAX: none are,
 *	or it is not known
 * @why: a phrase
 */
struct epf_choice {
	const struct epf_engine *engine;
	bool settle;
	__u64 even;
	char why[EPF_WHY_LEN];
};

/**
 * epf_audit_measure() - the rates of the two fastest usable engines of the CPU,
 * and of those with memory of their own
 * @v: what will be asked
 * @threads: as in struct epf_answer
 * @rates: EPF_ENGINES_MAX of them, by epf_engine_at(); zeros of the others
 *
 * What was measured is kept, for views of the same shape, as long as the
 * process lives.
 */
void epf_audit_measure(const struct epf_view *v, unsigned int threads,
		       struct epf_rates *rates);

/**
 * epf_audit_choose() - engine and place for an audit
 * @c: result
 * @v: what will be asked
 * @n: about so many keys
 * @copy: a copy may be made, in memory of the host
 * @threads: as in struct epf_answer
 * @rates: of all engines; NULL: they are measured, if there are keys enough for
 *	that to pay
 *
 * The least of n / here and bytes / carry + n / there. For the best of each a
 * copy pays from bytes / carry / (1 / here - 1 / there) keys on.
 */
void epf_audit_choose(struct epf_choice *c, const struct epf_view *v, __u64 n,
		      bool copy, unsigned int threads,
		      const struct epf_rates *rates);

/* audit/estimate.c: how often answers are wrong */

/**
 * struct epf_estimate - the error to be expected, from all lines
 * @fpr: chance that a key never inserted is found
 * @fpr_of: by age: in that epoch's lanes alone
 * @bits_of: by age: positions set
 * @fill_of: by age: of all positions
 *
 * As the module estimates it (epf/estimate.h), with all lines for samples.
 */
struct epf_estimate {
	double fpr;
	double fpr_of[EPF_LANES];
	__u64 bits_of[EPF_LANES];
	double fill_of[EPF_LANES];
};

/**
 * epf_view_estimate() - count all positions set, in one pass
 * @v: view
 * @threads: as in struct epf_answer
 * @e: result
 *
 * Return: 0; -EINVAL: too many threads; -ENOMEM; -EOPNOTSUPP: an owned kind,
 * for which epf_view_probe() is.
 */
int epf_view_estimate(const struct epf_view *v, unsigned int threads,
		      struct epf_estimate *e);

/**
 * struct epf_met - the error that was met
 * @keys: asked for, none of which was ever inserted
 * @found: of these
 * @seed: where the keys came from
 * @rate: @found / @keys
 * @low: the rate of this filter is between this
 * @high: and this, in 999 of 1000 measurements
 * @engine: who was asked; another one than wished, where that one failed
 */
struct epf_met {
	__u64 keys;
	__u64 found;
	__u64 seed;
	double rate, low, high;
	const struct epf_engine *engine;
};

/**
 * epf_view_probe() - ask for random keys
 * @v: view
 * @engine: who is asked; usable
 * @threads: as in struct epf_answer
 * @keys: how many; 1 and up
 * @seed: of them; NULL: a random one
 * @m: result
 * @progress: or NULL; counting keys instead of bytes
 * @ctx: for @progress
 *
 * Return: 0; -EINVAL: no keys; -ENOMEM; -ECANCELED: as @progress wished; what
 * the engine and getrandom say.
 */
int epf_view_probe(const struct epf_view *v, const struct epf_engine *engine,
		   unsigned int threads, __u64 keys, const __u64 *seed,
		   struct epf_met *m, epf_progress_fn progress, void *ctx);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_AUDIT_H */
