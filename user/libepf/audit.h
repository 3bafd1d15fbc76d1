/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libepf: audits. An audit tells which of many keys a filter holds, and how old
 * they are. It reads a snapshot of any kind or, in place, the mapped lines of a
 * live filter of kind lanes.
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

/* query/view.c: the memory that an audit reads */

struct epf_asked;

/**
 * struct epf_delta_log - the latest changes of the lines of a view
 * @record: journal records, applied to the lines in this order
 * @first: version of the lines before the first record
 * @nr: records; the lines are now at version @first + @nr
 * @wanted: set by a reader that prefers these records to reading all lines again
 * @taken: version that this reader has; it needs no older records
 *
 * Only the querying thread uses it. The lines change between its queries.
 */
struct epf_delta_log {
	const struct epf_journal_record *record;
	__u64 first;
	__u64 nr;
	bool wanted;
	__u64 taken;
};

/**
 * struct epf_view - lines, and the epoch at which they are read
 * @lines: 8-byte aligned; with 64, as mappings and settled views have them, a
 *	test touches one cache line less
 * @geom: shape
 * @hash: key hash; not used for digests
 * @epoch: current epoch of the answer
 * @own: memory that the view owns, or NULL
 * @own_bytes: size of @own
 * @asked: filter of a locked kind, which has no lines and no geometry; else NULL
 * @serial: unique number of these lines; 0: they may have changed at any time.
 *	Engines with memory of their own copy lines that have a serial at the
 *	first query. To see later insertions into lines that change, make a new
 *	view
 * @version: version of lines that change between audits
 * @delta_log: latest changes of such lines, or NULL
 * @desc: what the keys are made of, as far as it is known
 *
 * A view of lines that change during the audit (a live filter, mapped) keeps
 * the window property if @epoch was read before the audit began. A key that was
 * inserted before that, and is still in the window when the audit ends, is
 * present with its age at @epoch or a younger one. A key that is present was
 * inserted in the epoch that its age tells, except for false positives. If 25
 * or more epochs end during the audit, tags repeat, and only the first half holds.
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
	struct epf_delta_log *delta_log;
	struct epf_key_desc desc;
};

/* Return: a serial that no view and no column has had. */
__u64 epf_view_serial(void);

/**
 * epf_view_init() - a view of lines in memory
 * @v: result; it refers to @lines
 * @lines: @params->nr_lines lines, 8-byte aligned
 * @params: only kind, hash, nr_lines, lines_per_key and bits_per_key are used
 * @key: hash key, or NULL if only digests are looked up
 * @epoch: EPF_EPOCH_FIRST and up
 *
 * Return: 0; -EOPNOTSUPP: not of kind lanes; -EINVAL: a number is out of range,
 * or @lines is not aligned.
 */
int epf_view_init(struct epf_view *v, const void *lines, const struct epf_params *params,
		  const __u64 key[2], __u64 epoch);

/**
 * epf_view_locked() - a view of the copied memory of a filter of a locked kind
 * @v: result; it owns a copy of all words, 64-byte aligned, in huge pages
 * @params: only kind, hash and window_ns are used
 * @key: as for epf_view_init()
 * @state: state of the copied filter; need not be valid
 * @words: @state->words words
 *
 * Return: 0; -EOPNOTSUPP: not a locked kind; -EINVAL: no filter can have this
 * state or memory; -ENOMEM.
 */
int epf_view_locked(struct epf_view *v, const struct epf_params *params, const __u64 key[2],
		    const struct epf_snap_locked *state, const void *words);

/* A view of a checked snapshot, at the epoch when its copy ended. For kind lanes
 * the view refers to @file. Returns as epf_view_init() and epf_view_locked().
 */
int epf_view_snap(struct epf_view *v, const struct epf_snap_file *file);

/**
 * epf_view_filter() - a view of a live filter, in place
 * @v: result; it has a mapping of its own, which holds the filter
 * @filter: descriptor without a snapshot under way; may be closed afterwards
 * @keyed: take the hash key too, which needs CAP_NET_ADMIN
 * @info: out: information on the filter when the view began; or NULL
 *
 * The epoch is read before the mapping is made. So the window property of struct
 * epf_view holds, if the epoch is read again when the audit has ended. Swap and
 * restore do not change the view.
 *
 * Return: 0; -EOPNOTSUPP: not of kind lanes; -EPERM: no right to read the key;
 * -EBUSY: the contents were exchanged at each try; -ENODEV: destroyed by force;
 * an error of mmap().
 */
int epf_view_filter(struct epf_view *v, int filter, bool keyed, struct epf_info *info);

/**
 * epf_view_settle() - copy the lines into huge pages, 64-byte aligned
 * @v: view, which no longer refers to the old lines; a view of a locked kind
 *	is always settled
 *
 * For snapshots: in the file a line lies across two cache lines.
 * epf_audit_choose() tells when the copy pays. For lines that change, the window
 * property of struct epf_view still holds: the audit begins before the copy and
 * ends with it.
 *
 * Return: 0; -ENOMEM: the view is unchanged.
 */
int epf_view_settle(struct epf_view *v);

/* Free the memory of the view. A view of zeros may be closed. */
void epf_view_close(struct epf_view *v);

/* query/column.c: the keys that are looked up */

struct epf_column;

/**
 * struct epf_keys - keys, one after another without gaps
 * @data: any alignment
 * @n: number of keys; @n times the bytes of a key fits into a size_t
 * @len: bytes of each, 1 .. EPF_KEY_MAX; 0: digests of eight bytes
 * @of: the column that the keys are a piece of, or NULL
 * @little: digests are little-endian, as in files; otherwise in the byte order of this CPU
 */
struct epf_keys {
	const void *data;
	__u64 n;
	__u32 len;
	const struct epf_column *of;
	bool little;
};

/**
 * struct epf_column - a file of keys, mapped read-only
 * @serial: unique number of its bytes, set by a caller that will look them up
 *	again; 0: none. Engines with memory of their own keep a column that has a
 *	serial, from the second audit on
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
 * Return: 0; -EINVAL: @len is out of range; -EBADMSG: the file size is no
 * multiple of the key size; -EISDIR, -ESPIPE: not a regular file; an error of
 * open() or mmap().
 */
int epf_column_open(struct epf_column *c, const char *path, __u32 len);
/* The same for an open file, which stays the caller's and may be closed. */
int epf_column_open_fd(struct epf_column *c, int fd, __u32 len);
void epf_column_close(struct epf_column *c);
/* Drop copies of the column: nobody looks up the bytes of that serial again. */
void epf_column_forget(__u64 serial);

/* query/engine.c: the engines */

/* Number of ages in answers. An older key than all that calls tell has age 253. EPF_AGE_ABSENT is
 * no age.
 */
#define EPF_AGES_MAX 255u

/**
 * struct epf_answer - parameters of a query, and its answer
 * @bitmap: (n + 7) / 8 bytes: bit i mod 8 of byte i / 8 is set when key i is
 *	present; the bits after the last key are zero
 * @ages: n bytes, or NULL: age in epochs, or EPF_AGE_ABSENT
 * @threads: most threads to use, at most EPF_AUDIT_THREADS_MAX; 0: one for each
 *	CPU that this process may use
 * @progress: called in the calling thread, with keys instead of bytes; or NULL
 * @ctx: for @progress
 * @ages_of: out: how many keys are present at each age
 * @present: out: how many keys are present
 * @bitmap_xxh3: out: XXH3-64 of the bitmap
 *
 * After an error the whole answer is undefined.
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
 * struct epf_rates - speed of an engine; 0: unsupported or unknown
 * @here: keys a second, looked up in place
 * @carry: bytes a second, copied to where @there is measured
 * @there: keys a second, in a settled view or in the memory of a device
 */
struct epf_rates {
	double here;
	double carry;
	double there;
};

/**
 * struct epf_engine - one implementation of queries
 * @name: for command lines
 * @usable: can this machine run the engine?
 * @query: answer a query; only if the engine is usable
 * @rates: measure for some ten milliseconds, with @threads as in struct
 *	epf_answer; only if the engine is usable; a rate that cannot be measured
 *	is 0
 *
 * @query returns 0; -EINVAL: a number is out of range, or there is no bitmap;
 * -EOPNOTSUPP: the engine does not serve the view, see epf_engine_serves();
 * -ECANCELED: @progress asked for it; an engine of a device also returns the
 * errors of the device. If memory for threads is lacking, fewer do the work.
 */
struct epf_engine {
	const char *name;
	bool (*usable)(void);
	int (*query)(const struct epf_view *v, const struct epf_keys *keys, struct epf_answer *a);
	void (*rates)(const struct epf_engine *e, const struct epf_view *v, unsigned int threads,
		      struct epf_rates *r);
};

#define EPF_ENGINES_MAX 16u

/* The engines that were compiled in, slowest first; NULL past the last. */
const struct epf_engine *epf_engine_at(unsigned int i);

/* The fastest usable engine of the CPU. It serves all but locked kinds. */
const struct epf_engine *epf_engine_near(void);

/* Does the engine have memory of its own, to which it copies the lines? Then a
 * query may fail, and the caller repeats it with epf_engine_near().
 */
bool epf_engine_far(const struct epf_engine *e);

/* One line: why the engine is not usable, or its last error; "": none. The text
 * lives as long as the thread.
 */
const char *epf_engine_why(const struct epf_engine *e);

/* Find an engine by name; NULL: there is none. The result need not be usable. */
const struct epf_engine *epf_engine_find(const char *name);

/* Does the engine serve this view? Only scalar serves locked kinds. */
bool epf_engine_serves(const struct epf_engine *e, const struct epf_view *v);

/* query/cuda.c: the GPU */

/**
 * struct epf_gpu_use - counts of copies to the GPU and of their use
 * @uploads: copies of lines to the GPU
 * @upload_bytes: bytes of these copies
 * @reuses: queries of lines that were on the GPU already
 * @columns: copies of columns that stay on the GPU
 * @column_asks: queries of keys in these columns
 * @records: journal records that were applied on the GPU
 * @devices: GPUs that are used; lines that go to all of them count once
 * @lost: of these, GPUs that failed while others went on
 */
struct epf_gpu_use {
	__u64 uploads;
	__u64 upload_bytes;
	__u64 reuses;
	__u64 columns;
	__u64 column_asks;
	__u64 records;
	__u64 devices;
	__u64 lost;
};

/* The counts of this process so far. */
void epf_gpu_use(struct epf_gpu_use *use);

/* How many GPUs have failed while others went on: @lost of these counts. */
__u64 epf_gpu_lost(void);

/* Use the GPUs @text: "all", or their numbers with commas between. Before the first use of
 * the engine; without this call EPF_CUDA_DEVICES says which, or GPU 0 is used.
 * Return: 0; -EINVAL: @text is neither.
 */
int epf_gpu_devices(const char *text);

/* Is there a GPU? @text: one line that names it or says why not, EPF_WHY_LEN bytes. */
bool epf_gpu_there(char *text);

/* query/auto.c: which engine, in place or on a copy */

#define EPF_WHY_LEN 160u

/**
 * struct epf_choice - how to run an audit
 * @engine: a usable engine
 * @settle: query a copy, made by epf_view_settle() or epf_snap_copy(); an engine
 *	with memory of its own makes the copy itself
 * @even: break-even: from this number of keys on a copy is faster; UINT64_MAX:
 *	never, or unknown
 * @why: the reason, as a phrase
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
 * @v: view to be audited
 * @threads: as in struct epf_answer
 * @rates: out: EPF_ENGINES_MAX rates, in the order of epf_engine_at(); zeros for
 *	the other engines
 *
 * Rates are kept for views of the same shape as long as the process lives.
 */
void epf_audit_measure(const struct epf_view *v, unsigned int threads, struct epf_rates *rates);

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
 * The choice with the shorter time: n / here in place, or bytes / carry + n / there
 * on a copy. Between the best of each, a copy pays from
 * bytes / carry / (1 / here - 1 / there) keys on.
 */
void epf_audit_choose(struct epf_choice *c, const struct epf_view *v, __u64 n, bool copy,
		      unsigned int threads, const struct epf_rates *rates);

/* query/estimate.c: false-positive rates */

/**
 * struct epf_estimate - the expected false-positive rate, from all lines
 * @fpr: probability that a key never inserted is found
 * @fpr_of: by age: the same in the lanes of that epoch alone
 * @bits_of: by age: positions set
 * @fill_of: by age: share of all positions that are set
 *
 * The module estimates in the same way (epf/estimate.h), but from samples.
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
 * Return: 0; -EINVAL: too many threads; -ENOMEM; -EOPNOTSUPP: a locked kind, use
 * epf_view_probe().
 */
int epf_view_estimate(const struct epf_view *v, unsigned int threads, struct epf_estimate *e);

/**
 * epf_view_rate() - the expected false-positive rate of a view of any kind
 * @v: view
 * @fpr_ppt: result: of kind lanes from all lines, in this thread; of a locked kind from samples
 *
 * A filter with these contents is saturated if this is above @limit_ppt of its parameters.
 *
 * Return: 0; -ENOMEM.
 */
int epf_view_rate(const struct epf_view *v, __u64 *fpr_ppt);

/**
 * struct epf_met - the measured false-positive rate
 * @keys: keys looked up, none of which was ever inserted
 * @found: keys that were found present
 * @seed: seed of the keys
 * @rate: @found / @keys
 * @low: lower bound of the rate; holds with @high in 999 of 1000 measurements
 * @high: upper bound of the rate
 * @engine: engine that answered; not the requested one if that one failed
 */
struct epf_met {
	__u64 keys;
	__u64 found;
	__u64 seed;
	double rate, low, high;
	const struct epf_engine *engine;
};

/**
 * struct epf_probe_opts - options of epf_view_probe()
 * @size: sizeof
 * @threads: as in struct epf_answer
 * @keys: number of keys; 1 and up
 * @seed: seed of the keys; NULL: a random one
 * @progress: called with keys instead of bytes; or NULL
 * @ctx: for @progress
 */
struct epf_probe_opts {
	__u32 size;
	__u32 threads;
	__u64 keys;
	const __u64 *seed;
	epf_progress_fn progress;
	void *ctx;
};

/**
 * epf_view_probe() - look up random keys
 * @v: view
 * @engine: a usable engine
 * @opts: options
 * @m: result
 *
 * Return: 0; -EINVAL: no keys, or a wrong size of @opts; -E2BIG: unknown options;
 * -ENOMEM; -ECANCELED: the progress function asked for it; an error of the engine or
 * of getrandom().
 */
int epf_view_probe(const struct epf_view *v, const struct epf_engine *engine,
		   const struct epf_probe_opts *opts, struct epf_met *m);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_AUDIT_H */
