/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libepf: sizing, filters in this process, filters in the kernel, snapshots.
 *
 * Functions return 0 (or a count, or a descriptor) or a negative errno unless
 * they say otherwise, print nothing, and keep no global state.
 */
#ifndef LIBEPF_EPF_H
#define LIBEPF_EPF_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/epochfilter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* size.c: geometry from promises */

/**
 * struct epf_size_req - requirements of a filter
 * @keys_per_window: most distinct keys in the window: W, or T times the rate; 1
 *	and up
 * @budget: false-positive rate at the worst phase, 1e-9 .. 0.5
 * @max_bytes: memory limit; 0: none
 * @lines_per_key: L: 1, 2, 4; 0: any of them
 */
struct epf_size_req {
	double keys_per_window;
	double budget;
	__u64 max_bytes;
	unsigned int lines_per_key;
};

/**
 * struct epf_size - a geometry
 * @nr_lines: of 64 bytes
 * @lines_per_key: L
 * @bits_per_key: k
 * @fpr: predicted rate at the worst phase, all eight epochs full
 */
struct epf_size {
	__u64 nr_lines;
	unsigned int lines_per_key;
	unsigned int bits_per_key;
	double fpr;
};

/**
 * epf_size_fpr() - predicted false-positive rate
 * @nr_lines: lines
 * @lines_per_key: L
 * @bits_per_key: k
 * @keys: distinct keys in each of the eight epochs
 */
double epf_size_fpr(__u64 nr_lines, unsigned int lines_per_key, unsigned int bits_per_key,
		    double keys);

/**
 * epf_size() - the geometry with the least memory, then the fewest lines a key,
 *	then the fewest positions (within 1.5 per cent of the memory)
 * @req: requirements
 * @size: result; with -ENOSPC the most accurate one within @req->max_bytes
 *
 * Return: 0; -EINVAL: a number is out of range; -ENOSPC: the memory limit
 * does not allow the budget; -E2BIG: more lines than a filter may have.
 */
int epf_size(const struct epf_size_req *req, struct epf_size *size);

/* mem.c: a filter in this process, used by one thread */

struct epf_mem;

/**
 * epf_mem_new() - make a filter
 * @params: as for EPF_IOC_CREATE; the name may be empty
 * @key: hash key, or NULL for a random one
 * @now_ns: on the clock that all later calls use, which never goes back; in
 *	mode time the first epoch begins here and the others follow without gaps
 * @err: set to a negative errno on failure: -EINVAL, -ENOMEM, -EOPNOTSUPP
 *
 * Return: the filter, or NULL.
 */
struct epf_mem *epf_mem_new(const struct epf_params *params, const __u64 key[2], __u64 now_ns,
			    int *err);
void epf_mem_free(struct epf_mem *m);

/* The digest of @len bytes under the filter's hash key. */
__u64 epf_mem_digest(const struct epf_mem *m, const void *key, __u32 len);

/**
 * epf_mem_pkt_digest() - the digest of a captured frame
 *
 * Return: 0; -EINVAL: bad options; -ENODATA, -EBADMSG, -EPROTO as the packet
 * kfunc.
 */
int epf_mem_pkt_digest(const struct epf_mem *m, const void *frame, __u32 len,
		       const struct epf_pkt_opts *opts, __u64 *digest);

/* Return: 0: absent; 1 + age: present; -ENOSPC: do not know, a saturated filter has
 * found the key. A caller that removes repeats fails open: it takes a key as new
 * unless the result is above 0.
 */
int epf_mem_test(struct epf_mem *m, __u64 digest, __u64 now_ns);
int epf_mem_test_and_insert(struct epf_mem *m, __u64 digest, __u64 now_ns);
void epf_mem_insert(struct epf_mem *m, __u64 digest, __u64 now_ns);

/* End the epochs whose time is over, as every call above does. */
void epf_mem_advance(struct epf_mem *m, __u64 now_ns);

/* End epochs at fixed times of the wall clock, so that the snapshot can be merged with
 * others: all calls then pass ns since 1970, unless epf_mem_ahead() says otherwise. Call it
 * before the first insertion, or after epf_mem_load(). Return: 0; -EINVAL: not in mode time.
 */
int epf_mem_align(struct epf_mem *m);

/* Until the next call of it, the wall clock is ahead of the filter's clock by @ahead_ns,
 * modulo 2^64. However it changes, no key is lost: see epf/window.h.
 */
void epf_mem_ahead(struct epf_mem *m, __u64 ahead_ns);

/* End the current epoch now. */
void epf_mem_rotate(struct epf_mem *m, __u64 now_ns);

/* As EPF_IOC_INFO; id and users are 0. */
void epf_mem_info(const struct epf_mem *m, __u64 now_ns, struct epf_info *info);

struct epf_state;

/**
 * struct epf_mem_parts - what a snapshot of a filter is made of; valid until the next
 *	call
 * @params: as the creator gave them
 * @key: hash key, two words
 * @state: epochs
 * @lines: the lines
 * @bytes: their size
 * @inserts: insertions since creation
 */
struct epf_mem_parts {
	const struct epf_params *params;
	const __u64 *key;
	const struct epf_state *state;
	const void *lines;
	__u64 bytes;
	__u64 inserts;
};
void epf_mem_parts(struct epf_mem *m, __u64 now_ns, struct epf_mem_parts *p);

/* mem_save.c: */

/* Called at times during long work; a non-zero return ends the work (-ECANCELED). */
typedef int (*epf_progress_fn)(void *ctx, __u64 done_bytes, __u64 all_bytes);

/**
 * struct epf_save_opts - how to write a filter of this process into a file
 * @now_ns: the time, as in all calls
 * @wall_ns: the same moment on the wall clock
 * @desc: what the keys are made of
 * @progress: or NULL
 * @ctx: for @progress
 */
struct epf_save_opts {
	__u64 now_ns;
	__u64 wall_ns;
	struct epf_key_desc desc;
	epf_progress_fn progress;
	void *ctx;
};

/**
 * epf_mem_save() - write the filter into a snapshot file
 * @m: filter, whose name is not empty
 * @opts: options
 * @path: as for epf_snap_save()
 * @header: likewise
 *
 * Return: as epf_snap_save().
 */
int epf_mem_save(struct epf_mem *m, const struct epf_save_opts *opts, const char *path,
		 struct epf_snap_header *header);

/* dev.c: filters in the kernel; thin wrappers of the ioctls */

int epf_dev_open(void); /* the device; -ENOENT: module not loaded */
int epf_dev_create(int dev, const struct epf_params *params, const __u64 key[2], __u32 *id);

/**
 * struct epf_create_opts - options of epf_dev_create_opts()
 * @size: sizeof
 * @flags: as in struct epf_create; @key sets EPF_CREATE_KEY
 * @shape: that of a locked kind; NULL for lanes
 * @key: hash key, two words; NULL: a random one
 */
struct epf_create_opts {
	__u32 size;
	__u32 flags;
	const struct epf_shape *shape;
	const __u64 *key;
};

/**
 * epf_dev_create_opts() - create a filter of any kind
 * @dev: device
 * @params: parameters
 * @opts: options
 * @id: result; or NULL
 *
 * Return: 0; -EINVAL: also a wrong size of @opts; -E2BIG: also unknown options; an
 * error of EPF_IOC_CREATE.
 */
int epf_dev_create_opts(int dev, const struct epf_params *params,
			const struct epf_create_opts *opts, __u32 *id);
int epf_dev_destroy(int dev, const char *name, bool force);
int epf_dev_list(int dev, __u32 **ids);        /* count; caller frees *ids */
int epf_dev_filter(int dev, const char *name); /* descriptor */
int epf_dev_filter_id(int dev, __u32 id);      /* descriptor */
/* The same; @name may also be an id, unless it is the name of a filter. */
int epf_dev_find(int dev, const char *name);
/* Likewise, in the backend of @dev alone. */
int epf_dev_find_in(int dev, const char *name);
/* The meaning of -EUCLEAN from any call on a filter of the BPF backend. */
#define EPF_HALF_SWAPPED                                                 \
	"a swap was killed half-way, so the filter refuses everything: " \
	"'epfctl destroy' it and create it again"
/* Why a filter whose epochs a timer ends cannot be aligned. */
#define EPF_TIMER_NO_CLOCK "a BPF timer does not know the wall clock"
/* -EOPNOTSUPP of the BPF backend: EPF_TIMER_NO_CLOCK, one is aligned and the other has a timer. */
int epf_dev_swap(int dev, const char *a, const char *b);
int epf_filter_info(int filter, struct epf_info *info);
/* @cmd: EPF_IOC_TEST, EPF_IOC_INSERT or EPF_IOC_TEST_AND_INSERT. Splits
 * batches above EPF_BATCH_MAX and resumes after EINTR. With EPF_BATCH_UNKNOWN
 * ages tell "do not know" from "absent".
 */
int epf_filter_batch(int filter, unsigned long cmd, struct epf_batch *batch);
int epf_filter_rotate(int filter, __u32 count, __u64 *epoch);
int epf_filter_clear(int filter);
int epf_filter_key(int filter, __u64 key[2]);
/* Tell what the keys to be inserted are made of; @desc is set to the description
 * of all keys of the filter.
 */
int epf_filter_describe(int filter, struct epf_key_desc *desc);

/* snap.c: snapshot files */

/**
 * epf_snap_save() - copy a live filter into a file
 * @filter: descriptor
 * @path: a regular file, replaced as atomic_file.h tells, or a new one; mode 0600
 *	at most, since it contains the hash key
 * @progress: or NULL
 * @ctx: for @progress
 * @header: set to the header that was written, or to zeros; or NULL
 *
 * Return: 0, or a negative errno. After an error the file at @path is unchanged,
 * unless @header is set: then the new file is there, but its directory could not
 * be synced, so that a power cut may bring the old one back. -ESTALE: rotation of
 * a locked kind could not be held for the whole copy.
 */
int epf_snap_save(int filter, const char *path, epf_progress_fn progress, void *ctx,
		  struct epf_snap_header *header);

/**
 * enum epf_snap_fault - what is wrong with a snapshot file
 */
enum epf_snap_fault {
	EPF_SNAP_OK,
	EPF_SNAP_IO,
	EPF_SNAP_TRUNCATED,
	EPF_SNAP_NOT_ONE, /* magic */
	EPF_SNAP_VERSION_UNKNOWN,
	EPF_SNAP_HEADER_SUM,
	EPF_SNAP_GEOMETRY,
	EPF_SNAP_LINES_SUM,
	EPF_SNAP_LONGER,     /* bytes after the last line */
	EPF_SNAP_BAD_STATE,  /* of a locked kind: no core comes to it */
	EPF_SNAP_BAD_MEMORY, /* likewise */
	EPF_SNAP_BAD_KEYS,   /* what they are made of */
};
const char *epf_snap_fault_text(enum epf_snap_fault fault);
/* What to do about it. */
const char *epf_snap_fault_advice(enum epf_snap_fault fault);

/**
 * struct epf_snap_file - a checked snapshot, mapped read-only
 */
struct epf_snap_file {
	struct epf_snap_header header;
	struct epf_key_desc desc;             /* what its keys are made of */
	const void *lines;                    /* or what a locked kind has behind the header */
	const struct epf_snap_locked *locked; /* that; NULL: lanes */
	void *map;
	size_t map_bytes;
};

/**
 * epf_snap_open() - map a snapshot file and check all of it
 * @path: regular file
 * @file: result
 * @progress: or NULL
 * @ctx: for @progress
 * @fault: out: what is wrong; set on every return
 *
 * Return: 0; -EBADMSG: not a sound snapshot, see @fault; -ECANCELED; any
 * other negative errno with EPF_SNAP_IO.
 */
int epf_snap_open(const char *path, struct epf_snap_file *file, epf_progress_fn progress, void *ctx,
		  enum epf_snap_fault *fault);
/* Likewise of an open one, which stays the caller's and may be closed. */
int epf_snap_open_fd(int fd, struct epf_snap_file *file, epf_progress_fn progress, void *ctx,
		     enum epf_snap_fault *fault);
/* Read and check only the header and the description of the keys. Returns as
 * epf_snap_open().
 */
int epf_snap_head(int fd, struct epf_snap_header *header, struct epf_key_desc *desc,
		  enum epf_snap_fault *fault);
/* Are the parameters of a header, the name among them, and its first and last epoch possible?
 * Any context.
 */
bool epf_snap_header_sound(const struct epf_snap_header *h);
void epf_snap_close(struct epf_snap_file *file);

/**
 * epf_snap_copy() - copy a live filter into memory
 * @filter: descriptor
 * @file: result, like an opened file; its lines are 64-byte aligned
 * @progress: or NULL
 * @ctx: for @progress
 *
 * Return: 0, or a negative errno; @file may then be closed.
 */
int epf_snap_copy(int filter, struct epf_snap_file *file, epf_progress_fn progress, void *ctx);

/**
 * epf_mem_load() - make a filter in this process of a snapshot
 * @file: of kind lanes; may be closed afterwards
 * @taken_ns: when it was taken, on the clock that all later calls use; modulo 2^64, if that
 *	was before its zero. The next call ends the epochs that are over since then
 * @err: set to a negative errno on failure: as epf_mem_new(); -EBADMSG: not sound
 *
 * It is not aligned, and counts insertions on from those of the snapshot.
 *
 * Return: the filter, or NULL.
 */
struct epf_mem *epf_mem_load(const struct epf_snap_file *file, __u64 taken_ns, int *err);

/* Replace the contents of a filter with those of a snapshot. */
int epf_snap_restore(int filter, const struct epf_snap_file *file);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_EPF_H */
