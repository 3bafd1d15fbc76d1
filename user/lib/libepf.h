/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libepf: filters that tell whether a key was seen inside a sliding window.
 *
 * A key inserted inside the window is always found. A key that was never inserted is
 * found with a small probability, which the program chooses.
 *
 *   libepf_filter_*    filters in the memory of the program; no kernel support needed
 *   libepf_kernel_*    named filters in the kernel, of the module or of pure BPF
 *   libepf_list_*      all of them, one after the other
 *   libepf_hold_*      the program ends the epochs of filters that are pure BPF
 *   libepf_snapshot_*  files with the contents of a filter: tests and audits
 *   libepf_merge()     one snapshot of several
 *
 * Conventions. A function that can fail returns a negative errno; libepf_error() then has
 * one line of text. The library prints nothing, ends no process, and handles no signals.
 * Times and durations are in ns. Rates of error are probabilities, 0 to 1.
 *
 * Options and results are structs that begin with their size: set all to zero, then @size to
 * sizeof. A struct of an older program is shorter and gets the defaults for what is missing;
 * one of a newer program than the library is -E2BIG unless the rest is zero.
 *
 * Threads. Every function may be called by any thread at any time, with two exceptions: a
 * handle must not be in use by another thread when it is freed or closed, and the arrays and
 * structs that are passed belong to the call until it returns. Calls on one filter in
 * memory take turns; calls on one filter of the kernel or on one snapshot run side by side.
 */
#ifndef LIBEPF_PUBLIC_H
#define LIBEPF_PUBLIC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LIBEPF_API __attribute__((visibility("default")))
#else
#define LIBEPF_API
#endif

#define LIBEPF_KEY_MAX 256u /* bytes of a key */
#define LIBEPF_NAME_MAX 31u /* characters of a filter's name */
#define LIBEPF_AGES 254u    /* ages 0 .. 253, in epochs; the last stands for older ones */
#define LIBEPF_AGE_UNKNOWN 254u
#define LIBEPF_AGE_ABSENT 255u
#define LIBEPF_TIME_MAX (UINT64_C(1) << 61) /* 73 years, in ns */
#define LIBEPF_NOW UINT64_MAX               /* as a time: the clock's, now */

/* ------------------------------------------------------------- general ---- */

/**
 * libepf_version() - the version of the library, such as "0.1.0"
 *
 * Return: text that lives as long as the program.
 */
LIBEPF_API const char *libepf_version(void);

/**
 * libepf_error() - why the last call of this thread that failed did so
 *
 * Return: one line without a newline; "" if none has failed. It lives until the next call
 * of this thread that fails.
 */
LIBEPF_API const char *libepf_error(void);

/**
 * libepf_kind() - the names of the kinds of filters
 * @i: 0 and up
 *
 * Return: the name of kind @i; kind 0 is "lanes", the default. NULL: there are no more.
 */
LIBEPF_API const char *libepf_kind(unsigned int i);

/**
 * libepf_engine() - the names of the engines of audits that this machine can run
 * @i: 0 and up
 *
 * Return: the name of engine @i, slowest first; NULL: there are no more.
 */
LIBEPF_API const char *libepf_engine(unsigned int i);

/**
 * struct libepf_keys - an array of keys, one after another without gaps
 * @data: the bytes of all keys
 * @lens: length of each key, 1 .. LIBEPF_KEY_MAX; NULL: all have @len bytes
 * @n: number of keys; with 0 the rest does not matter
 * @len: 1 .. LIBEPF_KEY_MAX, or 0 with @lens
 */
struct libepf_keys {
	const void *data;
	const uint16_t *lens;
	size_t n;
	size_t len;
};

#define LIBEPF_FIRST_SEEN (1u << 0) /* a repeat does not restart the window of its key */
#define LIBEPF_EITHER (1u << 1)     /* an epoch ends with the first of two boundaries */
#define LIBEPF_BOTH (1u << 2)       /* an epoch ends with the last of two boundaries */
#define LIBEPF_ALIGN (1u << 3)      /* epochs end by the wall clock, for libepf_merge() */

/**
 * struct libepf_plan - what a filter has to do; 0 or NULL: the default
 * @size: sizeof
 * @flags: LIBEPF_FIRST_SEEN. If both windows are given, one of LIBEPF_EITHER (the error is
 *	bounded, a key may leave before one of the windows is over) and LIBEPF_BOTH (a key
 *	stays until both are over). LIBEPF_ALIGN: of kind lanes with a window of time alone:
 *	epochs end at the multiples of E + E / 64 + 1 ns since 1970, E being a seventh of the
 *	window, rounded up; so those of several filters and hosts end together
 * @kind: see libepf_kind(); default "lanes"
 * @name: of the filter in snapshots: [A-Za-z0-9._-], not beginning with '.', at most
 *	LIBEPF_NAME_MAX; default "libepf". A filter of the kernel has the name that
 *	libepf_kernel_create() gets
 * @window_keys: remember the last so many insertions, up to 2^40 - 1
 * @window_ns: remember the insertions of the last so many ns, up to LIBEPF_TIME_MAX. At
 *	least one of the two windows is given
 * @rate: insertions a second that @window_ns is sized for; needed with it, except with
 *	LIBEPF_EITHER
 * @error: share of absent keys that may be found, at the worst moment: 1e-9 .. 0.5; default
 *	1e-4
 * @limit: above this error, which more keys than planned cause, the filter does not know
 *	whether a key that it finds was inserted: @error .. 1; default twice the error; 1: it
 *	always says that it does
 * @slack: keys may stay at most this share of the window after they have left it; default:
 *	as long as the kind keeps them
 * @max_bytes: limit for the memory: what is planned, and what a kind that grows takes later
 *	(default: half of the RAM), above which its error grows instead
 * @hash_key: 16 bytes; whoever knows them can make false positives. Default: random ones.
 *	Snapshots to be merged need the same
 */
struct libepf_plan {
	uint32_t size;
	uint32_t flags;
	const char *kind;
	const char *name;
	uint64_t window_keys;
	uint64_t window_ns;
	double rate;
	double error;
	double limit;
	double slack;
	uint64_t max_bytes;
	const unsigned char *hash_key;
};

/**
 * struct libepf_size - what a plan takes
 * @size: sizeof
 * @epochs: complete epochs in the window
 * @bytes: memory
 * @error: predicted share of absent keys that are found, at the worst moment
 * @slack: how long a key stays after the window at most, as a share of it
 */
struct libepf_size {
	uint32_t size;
	uint32_t epochs;
	uint64_t bytes;
	double error;
	double slack;
};

/**
 * libepf_plan_size() - what a filter would take; nothing is made
 * @plan: plan
 * @size: result; its member size is set
 *
 * Takes up to some seconds for some kinds.
 *
 * Return: 0; -EINVAL: a number or a name is out of its range, or the plan contradicts
 * itself; -ENOSPC: the kind or @max_bytes do not allow the error; -E2BIG: more memory than
 * a filter may have, or unknown options; -ENOMEM.
 */
LIBEPF_API int libepf_plan_size(const struct libepf_plan *plan, struct libepf_size *size);

#define LIBEPF_INFO_SATURATED (1u << 0) /* the error is above the limit */
#define LIBEPF_INFO_BPF (1u << 1)       /* of the kernel, and pure BPF */
#define LIBEPF_INFO_FIRST_SEEN (1u << 2)
#define LIBEPF_INFO_ALIGNED (1u << 3) /* epochs end by the wall clock; not told of snapshots */

/**
 * struct libepf_info - a filter or a snapshot
 * @size: sizeof
 * @flags: LIBEPF_INFO_*
 * @name: name
 * @kind: name of the kind
 * @keys: what the keys are made of, as a phrase: "text or bytes"
 * @window_keys: as planned; 0: a window of time alone
 * @window_ns: as planned; 0: a window of insertions alone
 * @error: error for which it was sized
 * @limit: see struct libepf_plan
 * @estimate: error now, of a snapshot when it was saved
 * @epochs: complete epochs in the window
 * @reserved: 0
 * @epoch: number of the current epoch; they begin with 8
 * @memory_bytes: memory
 * @covered_keys: the last so many insertions are all remembered
 * @covered_ns: all insertions of the last so many ns are remembered. This and the counters
 *	below are 0 for a snapshot, but for @inserts
 * @inserts: insertions since creation
 * @hits: answers "present"
 * @misses: answers "absent", and those that were not known
 * @unknown: answers that were not known
 * @rotations: epochs ended
 * @wall_ns: of a snapshot: ns since 1970 when it was saved; else 0
 * @id: number of a filter of the kernel, unique in its backend; else 0
 * @jumps: calls that ended all of a window of time, by the program's own clock; else 0
 */
struct libepf_info {
	uint32_t size;
	uint32_t flags;
	char name[32];
	char kind[16];
	char keys[128];
	uint64_t window_keys;
	uint64_t window_ns;
	double error;
	double limit;
	double estimate;
	uint32_t epochs;
	uint32_t reserved;
	uint64_t epoch;
	uint64_t memory_bytes;
	uint64_t covered_keys;
	uint64_t covered_ns;
	uint64_t inserts;
	uint64_t hits;
	uint64_t misses;
	uint64_t unknown;
	uint64_t rotations;
	uint64_t wall_ns;
	uint64_t id;
	uint64_t jumps;
};

/* ---------------------------------------------------- filters in memory ---- */

/*
 * The clock belongs to the program: each call gets the time, 0 .. LIBEPF_TIME_MAX, or
 * LIBEPF_NOW for that of CLOCK_MONOTONIC. A time before that of an earlier call counts as
 * that one. A filter keeps to the clock that it was made with: the other one is -EINVAL.
 * Of a filter with LIBEPF_ALIGN the program's own time is ns since 1970. With LIBEPF_NOW the
 * filter sees with each call how far CLOCK_REALTIME is ahead; setting that loses no key.
 */
struct libepf_filter;

/**
 * libepf_filter_new() - make a filter in memory
 * @plan: plan
 * @time_ns: now; the first epoch begins. LIBEPF_NOW or not decides the clock of @filter
 * @filter: result; NULL on failure
 *
 * Return: 0; as libepf_plan_size(); -ENOMEM.
 */
LIBEPF_API int libepf_filter_new(const struct libepf_plan *plan, uint64_t time_ns,
				 struct libepf_filter **filter);

/**
 * libepf_filter_free() - free a filter
 * @filter: filter, or NULL
 */
LIBEPF_API void libepf_filter_free(struct libepf_filter *filter);

/**
 * libepf_filter_insert() - insert keys
 * @filter: filter
 * @keys: keys; each counts, whether it is present or not
 * @time_ns: now
 *
 * The call that finds an epoch over ends it, in a time in proportion to the memory or a part of it.
 *
 * Return: 0; -EINVAL: a length or the time is out of its range; then no key was inserted.
 */
LIBEPF_API int libepf_filter_insert(struct libepf_filter *filter, const struct libepf_keys *keys,
				    uint64_t time_ns);

/**
 * libepf_filter_test() - were keys inserted inside the window?
 * @filter: filter
 * @keys: keys
 * @time_ns: now
 * @ages: @keys->n bytes, or NULL: the age of each key in epochs, at most LIBEPF_AGES - 1;
 *	LIBEPF_AGE_ABSENT: certainly not inserted inside the window; LIBEPF_AGE_UNKNOWN: the
 *	filter is saturated and has found the key
 *
 * Return: how many are present; -EINVAL: as libepf_filter_insert().
 */
LIBEPF_API int64_t libepf_filter_test(struct libepf_filter *filter, const struct libepf_keys *keys,
				      uint64_t time_ns, uint8_t *ages);

/**
 * libepf_filter_test_and_insert() - test each key, then insert it
 * @filter: filter; with LIBEPF_FIRST_SEEN it does not insert keys that are present
 * @keys: keys, in order: a key that is in the array twice is present the second time
 * @time_ns: now
 * @ages: as in libepf_filter_test(): before the insertion
 *
 * Return: as libepf_filter_test().
 */
LIBEPF_API int64_t libepf_filter_test_and_insert(struct libepf_filter *filter,
						 const struct libepf_keys *keys, uint64_t time_ns,
						 uint8_t *ages);

/**
 * libepf_filter_rotate() - end the current epoch now; the window becomes shorter by one
 * @filter: filter
 * @time_ns: now
 *
 * Return: 0; -EINVAL: the time is out of its range, or of the other clock.
 */
LIBEPF_API int libepf_filter_rotate(struct libepf_filter *filter, uint64_t time_ns);

/**
 * libepf_filter_info() - parameters and state
 * @filter: filter
 * @time_ns: now
 * @info: result; its member size is set
 *
 * Return: 0; -EINVAL: the size or the time is out of its range, or the time is of the other clock.
 */
LIBEPF_API int libepf_filter_info(struct libepf_filter *filter, uint64_t time_ns,
				  struct libepf_info *info);

/**
 * libepf_filter_save() - write a snapshot file
 * @filter: filter
 * @path: a regular file, which is replaced when the new one is complete, or a new one; only
 *	the owner may read it, because it contains the hash key
 * @time_ns: now
 * @wall_ns: the same moment, in ns since 1970; LIBEPF_NOW: as the system's clock has it, or,
 *	of a filter with LIBEPF_ALIGN, as @time_ns tells
 *
 * The file can be tested, audited, merged, and restored into a filter of any place.
 *
 * Return: 0; -EINVAL; -ENOMEM; an error of a file.
 */
LIBEPF_API int libepf_filter_save(struct libepf_filter *filter, const char *path, uint64_t time_ns,
				  uint64_t wall_ns);

#define LIBEPF_RESTORE_SAME (1u << 0)    /* only if the plan was the same */
#define LIBEPF_RESTORE_ELAPSED (1u << 1) /* time has passed since it was saved */

/**
 * struct libepf_restore - options of libepf_filter_restore(); 0: the default
 * @size: sizeof
 * @flags: LIBEPF_RESTORE_SAME: refuse a snapshot of another kind, window, error, limit, size or
 *	shape than the filter has. LIBEPF_RESTORE_ELAPSED: the time since it was saved, by
 *	CLOCK_REALTIME, counts for the window; without it, time goes on as if it had been
 *	saved at @time_ns
 */
struct libepf_restore {
	uint32_t size;
	uint32_t flags;
};

/**
 * libepf_filter_restore() - replace the contents by those of a snapshot file
 * @filter: filter; it keeps its name and takes kind, window, error, hash key and counts from
 *	the file. An aligned filter stays so if the snapshot can be aligned
 * @path: snapshot of a filter in memory or in the kernel
 * @time_ns: now
 * @options: options, or NULL
 *
 * A key of the snapshot is found until its window is over, on the clock of @filter.
 *
 * Return: 0; as libepf_snapshot_open(); -EINVAL: another plan (LIBEPF_RESTORE_SAME), a file
 * from the future (LIBEPF_RESTORE_ELAPSED), or an argument out of its range; -ESTALE: its window
 * is over (LIBEPF_RESTORE_ELAPSED); -E2BIG. After an error the old contents stay.
 */
LIBEPF_API int libepf_filter_restore(struct libepf_filter *filter, const char *path,
				     uint64_t time_ns, const struct libepf_restore *options);

/* ------------------------------------------------ filters of the kernel ---- */

struct libepf_kernel;

enum {
	LIBEPF_BACKEND_ANY, /* create: the module where it is loaded, else pure BPF; open:
				* the first that has the name */
	LIBEPF_BACKEND_MODULE,
	LIBEPF_BACKEND_BPF,
};

#define LIBEPF_KERNEL_TIMER (1u << 0) /* pure BPF: a timer of the kernel ends epochs */
#define LIBEPF_KERNEL_ALIGN (1u << 1) /* as LIBEPF_ALIGN in the plan; not with a timer */

/**
 * struct libepf_kernel_options - options of libepf_kernel_create(); 0: the default
 * @size: sizeof
 * @backend: LIBEPF_BACKEND_*
 * @flags: LIBEPF_KERNEL_*. Without LIBEPF_KERNEL_TIMER a filter that is pure BPF knows
 *	nothing until somebody ends its epochs: libepf_hold_open(), 'epfctl hold' or epfagent
 * @reserved: 0
 */
struct libepf_kernel_options {
	uint32_t size;
	uint32_t backend;
	uint32_t flags;
	uint32_t reserved;
};

/**
 * libepf_kernel_create() - make a filter in the kernel; it outlives the program
 * @name: as in struct libepf_plan
 * @plan: plan; its name is not used. Pure BPF has kind lanes only
 * @options: options, or NULL
 * @kernel: handle of the new filter; NULL: none is wanted
 *
 * Needs CAP_NET_ADMIN; for pure BPF CAP_BPF too, and on most kernels CAP_PERFMON.
 *
 * Return: 0; as libepf_plan_size(); -EEXIST: there is a filter of that name; -ENOENT: the
 * module is not loaded; -EPERM; -EINVAL: pure BPF with a timer and aligned epochs, because a
 * BPF timer does not know the wall clock; -EOPNOTSUPP: the backend or the kernel does not have
 * it; -ENOMEM.
 */
LIBEPF_API int libepf_kernel_create(const char *name, const struct libepf_plan *plan,
				    const struct libepf_kernel_options *options,
				    struct libepf_kernel **kernel);

/**
 * libepf_kernel_open() - a handle of an existing filter
 * @name: its name or, if no filter has that name, its id
 * @backend: LIBEPF_BACKEND_*
 * @kernel: result; NULL on failure
 *
 * Return: 0; -ENOENT: there is none, or no such backend; -EPERM, -EACCES: no right;
 * -EINVAL; -EOPNOTSUPP: the library was built without the backend.
 */
LIBEPF_API int libepf_kernel_open(const char *name, uint32_t backend,
				  struct libepf_kernel **kernel);

/**
 * libepf_kernel_close() - close a handle; the filter stays
 * @kernel: handle, or NULL
 */
LIBEPF_API void libepf_kernel_close(struct libepf_kernel *kernel);

/**
 * libepf_kernel_destroy() - remove a filter from the kernel
 * @name: its name
 * @backend: LIBEPF_BACKEND_*
 * @force: not 0: also one that is in use
 *
 * Return: 0; -ENOENT; -EBUSY: it is in use; -EPERM; -EINVAL.
 */
LIBEPF_API int libepf_kernel_destroy(const char *name, uint32_t backend, int force);

/**
 * libepf_kernel_swap() - two filters exchange their contents at once
 * @a: name of one
 * @b: name of the other
 * @backend: LIBEPF_BACKEND_*; both are of one backend
 *
 * Each keeps its name, id and users, and gets contents, parameters, key and counters of the other.
 *
 * Return: 0; -ENOENT: one of them does not exist, which the text names; -EINVAL: a name is
 * not valid, or both are the same; -EPERM; -EOPNOTSUPP: a timer cannot end aligned epochs.
 */
LIBEPF_API int libepf_kernel_swap(const char *a, const char *b, uint32_t backend);

/**
 * libepf_kernel_insert() - insert keys
 * @kernel: filter
 * @keys: keys; each counts
 *
 * The keys of the filter are described as bytes, if nothing else has described them. Needs
 * CAP_NET_ADMIN (module) or the right to write to the filter's files (pure BPF).
 *
 * Return: 0; -EINVAL: a length is out of its range; -EPERM, -EACCES; -ENODEV: the filter was
 * destroyed by force; -EUCLEAN: it can only be destroyed, since a swap was killed half-way.
 * After an error some keys may be inserted.
 */
LIBEPF_API int libepf_kernel_insert(struct libepf_kernel *kernel, const struct libepf_keys *keys);

/**
 * libepf_kernel_test() - were keys inserted inside the window?
 * @kernel: filter
 * @keys: keys
 * @ages: as in libepf_filter_test(); LIBEPF_AGE_UNKNOWN also if nobody ends the epochs of a
 *	filter that is pure BPF
 *
 * Return: how many are present; or as libepf_kernel_insert().
 */
LIBEPF_API int64_t libepf_kernel_test(struct libepf_kernel *kernel, const struct libepf_keys *keys,
				      uint8_t *ages);

/**
 * libepf_kernel_test_and_insert() - test each key, then insert it
 * @kernel: filter
 * @keys: keys
 * @ages: as in libepf_kernel_test(): before the insertion
 *
 * Return: as libepf_kernel_test().
 */
LIBEPF_API int64_t libepf_kernel_test_and_insert(struct libepf_kernel *kernel,
						 const struct libepf_keys *keys, uint8_t *ages);

/**
 * libepf_kernel_info() - parameters and state
 * @kernel: filter
 * @info: result; its member size is set
 *
 * Return: 0; -EINVAL: the size; -ENODEV, -EUCLEAN: as libepf_kernel_insert().
 */
LIBEPF_API int libepf_kernel_info(struct libepf_kernel *kernel, struct libepf_info *info);

/**
 * libepf_kernel_clear() - forget all keys
 * @kernel: filter
 *
 * Return: 0; -EPERM; -EBUSY: a snapshot is under way; -ENODEV, -EUCLEAN.
 */
LIBEPF_API int libepf_kernel_clear(struct libepf_kernel *kernel);

#define LIBEPF_ROTATE_MAX 8u /* epochs */

/**
 * libepf_kernel_rotate() - end epochs now; each makes the window shorter by one
 * @kernel: filter
 * @epochs: how many, 1 .. LIBEPF_ROTATE_MAX
 *
 * Return: 0; -EINVAL; -EPERM; -EBUSY: a snapshot is under way; -ENODEV, -EUCLEAN: as
 * libepf_kernel_insert(). After an error some epochs may have ended.
 */
LIBEPF_API int libepf_kernel_rotate(struct libepf_kernel *kernel, uint32_t epochs);

/**
 * libepf_kernel_save() - write a snapshot file
 * @kernel: filter, which goes on working meanwhile
 * @path: as for libepf_filter_save()
 *
 * Return: 0; -EPERM; -EBUSY: another snapshot is under way; -ESTALE: a filter of a kind with
 * a lock was too fast; an error of a file.
 */
LIBEPF_API int libepf_kernel_save(struct libepf_kernel *kernel, const char *path);

/**
 * libepf_kernel_restore() - replace the contents by those of a snapshot file
 * @kernel: filter; it keeps its name and takes everything else from the file
 * @path: snapshot
 *
 * Return: 0; as libepf_snapshot_open(); -EPERM; -ENOSPC: a limit of the module; -EOPNOTSUPP:
 * not a kind of the backend. After an error the old contents stay.
 */
LIBEPF_API int libepf_kernel_restore(struct libepf_kernel *kernel, const char *path);

struct libepf_list;

/**
 * libepf_list_open() - begin to list the filters of the kernel
 * @backend: LIBEPF_BACKEND_*; LIBEPF_BACKEND_ANY: of both
 * @list: result; NULL on failure
 *
 * Return: 0; -ENOENT: there is no such backend; -EPERM, -EACCES; -EINVAL; -ENOMEM.
 */
LIBEPF_API int libepf_list_open(uint32_t backend, struct libepf_list **list);

/**
 * libepf_list_next() - the next filter
 * @list: list; filters that are destroyed before their turn are left out
 * @info: result; its member size is set
 *
 * Return: 1: @info has the next filter; 0: there are no more; -EUCLEAN: as
 * libepf_kernel_insert(), and @info has the name; -EINVAL: the size; another error. After an
 * error the list goes on behind that filter.
 */
LIBEPF_API int libepf_list_next(struct libepf_list *list, struct libepf_info *info);

/**
 * libepf_list_close() - end a list
 * @list: list, or NULL
 */
LIBEPF_API void libepf_list_close(struct libepf_list *list);

/* -------------------------------------------------------------- holding ---- */

/*
 * A filter that is pure BPF and has no timer needs a process that ends its epochs. While there
 * is none, it forgets nothing and soon does not know (LIBEPF_AGE_UNKNOWN). One at a time holds
 * a filter; when it dies, the next one goes on. A child of fork() keeps the hold, too.
 */
struct libepf_hold;

/**
 * libepf_hold_open() - end the epochs of a filter from now on
 * @name: its name
 * @hold: result; NULL on failure. While it is open, the filter is in use
 *
 * The caller makes the steps. Needs the right to write to the filter's files.
 *
 * Return: 0; -EBUSY: it is held already; -ENOENT: there is no such filter of pure BPF;
 * -EOPNOTSUPP: a timer ends its epochs, or the library was built without libbpf; -EINVAL; -EPERM,
 * -EACCES; -EUCLEAN: as libepf_kernel_insert(); -ETIMEDOUT: others keep it locked; -ENOMEM.
 */
LIBEPF_API int libepf_hold_open(const char *name, struct libepf_hold **hold);

/**
 * libepf_hold_step() - end the epoch if it is over, and do what else is due
 * @hold: hold
 * @wait_ns: set to the time until the next step is due, at most 250 ms; or NULL. If that is
 *	late by a second, the filter does not know
 *
 * If others have locked the filter, work is left for the next step, which is due soon.
 *
 * Return: 0; -ENODEV: the filter was destroyed; -EINVAL; another error: try again.
 */
LIBEPF_API int libepf_hold_step(struct libepf_hold *hold, uint64_t *wait_ns);

/**
 * libepf_hold_fd() - a descriptor for poll(): it can be read when a step is due
 * @hold: hold
 *
 * Return: the descriptor, which the library sets and closes; -EINVAL.
 */
LIBEPF_API int libepf_hold_fd(const struct libepf_hold *hold);

/**
 * libepf_hold_close() - let a filter go
 * @hold: hold, or NULL
 */
LIBEPF_API void libepf_hold_close(struct libepf_hold *hold);

/* ------------------------------------------------------------ snapshots ---- */

struct libepf_snapshot;

#define LIBEPF_SNAPSHOT_COPY (1u << 0) /* copy into memory */

/**
 * libepf_snapshot_open() - open a snapshot file and check all of it
 * @path: regular file
 * @flags: LIBEPF_SNAPSHOT_COPY: answers many keys faster. Without it a file of kind lanes
 *	stays mapped: if another program truncates it, this one gets SIGBUS
 * @snapshot: result; NULL on failure
 *
 * Return: 0; -EBADMSG: not a sound snapshot; -EINVAL: unknown flags; -ENOMEM; -EISDIR,
 * -ESPIPE: not a regular file; another error of open().
 */
LIBEPF_API int libepf_snapshot_open(const char *path, uint32_t flags,
				    struct libepf_snapshot **snapshot);

/**
 * libepf_snapshot_take() - a snapshot of a filter of the kernel, in memory
 * @kernel: filter, which goes on working meanwhile
 * @snapshot: result; NULL on failure
 *
 * Return: as libepf_kernel_save(), without files; -ENOMEM.
 */
LIBEPF_API int libepf_snapshot_take(struct libepf_kernel *kernel,
				    struct libepf_snapshot **snapshot);

/**
 * libepf_snapshot_close() - close a snapshot
 * @snapshot: snapshot, or NULL
 */
LIBEPF_API void libepf_snapshot_close(struct libepf_snapshot *snapshot);

/**
 * libepf_snapshot_info() - parameters and state
 * @snapshot: snapshot
 * @info: result; its member size is set
 *
 * Return: 0; -EINVAL: the size.
 */
LIBEPF_API int libepf_snapshot_info(const struct libepf_snapshot *snapshot,
				    struct libepf_info *info);

/**
 * struct libepf_lines - the memory of a filter of kind lanes, for other processors
 * @size: sizeof
 * @parts: lines of a key
 * @fields: positions of a key in each line, at most
 * @hash: how keys become digests, with @key: a number of the snapshot format
 * @key: the hash key. It is a secret of the filter
 * @data: the lines, of 64 bytes each; aligned to 8
 * @nr: how many lines
 * @epoch: the epoch at which they are read
 */
struct libepf_lines {
	uint32_t size;
	uint32_t parts;
	uint32_t fields;
	uint32_t hash;
	uint64_t key[2];
	const void *data;
	uint64_t nr;
	uint64_t epoch;
};

/**
 * libepf_snapshot_lines() - the lines of a snapshot, for libepf_cuda_load()
 * @snapshot: snapshot
 * @lines: result; its member size is set. It is valid until the snapshot is closed
 *
 * Return: 0; -EOPNOTSUPP: the filter is of another kind than lanes; -EINVAL: the size.
 */
LIBEPF_API int libepf_snapshot_lines(const struct libepf_snapshot *snapshot,
				     struct libepf_lines *lines);

/**
 * libepf_snapshot_test() - were keys in the window when the snapshot was taken?
 * @snapshot: snapshot
 * @keys: keys
 * @ages: as in libepf_filter_test(): LIBEPF_AGE_UNKNOWN with LIBEPF_INFO_SATURATED
 *
 * One thread; libepf_snapshot_audit() is for many keys, and gives ages in any case.
 *
 * Return: how many are present; -EINVAL: a length is out of its range; -ENOMEM.
 */
LIBEPF_API int64_t libepf_snapshot_test(const struct libepf_snapshot *snapshot,
					const struct libepf_keys *keys, uint8_t *ages);

/**
 * struct libepf_audit - options and results of an audit; 0 or NULL: the default
 * @size: sizeof
 * @threads: most threads, up to 1024; default: one for each CPU
 * @engine: see libepf_engine(); default: the fastest for this snapshot and so many keys
 * @bitmap: (@keys->n + 7) / 8 bytes, or NULL: bit i mod 8 of byte i / 8 is set if key i is
 *	present
 * @ages: @keys->n bytes, or NULL: as in libepf_snapshot_test()
 * @ages_of: LIBEPF_AGES numbers, or NULL: how many keys are present at each age
 * @progress: called in the calling thread now and then; a return other than 0 ends the
 *	audit. Or NULL
 * @context: for @progress
 * @present: out: how many keys are present
 * @used: out: the engine that answered
 */
struct libepf_audit {
	uint32_t size;
	uint32_t threads;
	const char *engine;
	uint8_t *bitmap;
	uint8_t *ages;
	uint64_t *ages_of;
	int (*progress)(void *context, uint64_t done_keys, uint64_t all_keys);
	void *context;
	uint64_t present;
	const char *used;
};

/**
 * libepf_snapshot_audit() - look up many keys
 * @snapshot: snapshot
 * @keys: keys; those of one length are fastest
 * @audit: options and results
 *
 * Return: 0; -EINVAL: a length, the threads or the size are out of range; -E2BIG: unknown
 * options; -ENOENT: no such engine; -EOPNOTSUPP: the machine or the kind of the snapshot
 * does not allow it; -ECANCELED: @progress asked for it; -ENOMEM. After an error the results
 * are undefined.
 */
LIBEPF_API int libepf_snapshot_audit(const struct libepf_snapshot *snapshot,
				     const struct libepf_keys *keys, struct libepf_audit *audit);

#define LIBEPF_MERGE_LOOSE (1u << 0)
#define LIBEPF_MERGE_MAX 256u /* files */

/**
 * struct libepf_merge - options and results of a merge; 0 or NULL: the default
 * @size: sizeof
 * @flags: LIBEPF_MERGE_LOOSE: accept epochs that did not end by the wall clock; keys then
 *	stay up to one epoch longer
 * @limit: limit of the result; default: that of the first file
 * @progress: as in struct libepf_audit, in bytes
 * @context: for @progress
 * @error: out: share of absent keys that the result finds; above @limit it does not know them
 * @inserts: out: insertions of all files
 */
struct libepf_merge {
	uint32_t size;
	uint32_t flags;
	double limit;
	int (*progress)(void *context, uint64_t done_bytes, uint64_t all_bytes);
	void *context;
	double error;
	uint64_t inserts;
};

/**
 * libepf_merge() - one snapshot that holds the keys of several
 * @paths: snapshots of kind lanes, of the same plan with a window of time alone, with the
 *	same hash key
 * @n: how many; 1 .. LIBEPF_MERGE_MAX
 * @out: as for libepf_filter_save(); not one of @paths
 * @merge: options and results, or NULL
 *
 * Return: 0; as libepf_snapshot_open() for any of the files; -EINVAL: they do not fit
 * together, or an option is out of its range; -ECANCELED; -ENOMEM; an error of a file. After
 * an error there is no new file, except that -EIO and the like of the last sync may come
 * after it.
 */
LIBEPF_API int libepf_merge(const char *const *paths, size_t n, const char *out,
			    struct libepf_merge *merge);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_PUBLIC_H */
