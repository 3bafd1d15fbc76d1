/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Host interface of the kernels, for C and C++.
 *
 * All launches are asynchronous on @stream and take their structs by value: a
 * struct may be freed as soon as the function has returned. The memory that it
 * points to must stay until the stream has reached that point. All pointers in
 * the structs are to memory of the device or mapped there.
 *
 * All functions return cudaSuccess; cudaErrorInvalidValue: a number out of its
 * range, a pointer missing or not aligned, and nothing was launched; or the
 * runtime's error of the launch. Errors of a running kernel show on the stream
 * later. With @n = 0 nothing is launched, and pointers may be NULL.
 *
 * Results equal those of the core, bit by bit.
 */
#ifndef EPF_CUDA_KERNELS_H
#define EPF_CUDA_KERNELS_H

#include <epf/lanes.h>
#include <linux/epochfilter.h>

#include "launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct epf_cu_lines - a filter in memory of the device
 * @line: epf_geom_lines(&geom) lines, 64-byte aligned
 * @geom: shape, set by epf_geom_init()
 * @epoch: current epoch; EPF_EPOCH_FIRST and up
 *
 * Lines are settled if every lane is zero or has the tag of one of the eight epochs
 * up to @epoch. Zeroed lines are settled, and a copy is after epf_cu_settle().
 * epf_cu_clear(), epf_cu_insert() and epf_cu_apply() keep lines settled, and the
 * latter two need it: they add to a lane by OR alone, which would mix two epochs in a
 * stale lane. epf_cu_query() takes any lines.
 */
struct epf_cu_lines {
	struct epf_line *line;
	struct epf_geom geom;
	__u64 epoch;
};

/**
 * struct epf_cu_keys - keys, one after another without gaps
 * @data: any alignment; digests are little-endian. If it is aligned to 8, digests and
 *	keys of eight bytes are one load each
 * @n: number of keys
 * @len: bytes per key, 1 .. EPF_KEY_MAX; 0: digests of eight bytes
 * @hash: hash of the keys; not used for digests
 */
struct epf_cu_keys {
	const void *data;
	__u64 n;
	__u32 len;
	struct epf_hash hash;
};

/* ready.cu: */

/**
 * epf_cu_nothing() - run a kernel that does nothing
 * @stream: stream of the launch
 *
 * If there is no code for the card, or another process has it exclusively, the launch
 * fails, or waiting for @stream does.
 */
cudaError_t epf_cu_nothing(cudaStream_t stream);

/* query.cu: */

/**
 * epf_cu_query() - look up keys and their ages
 * @f: lines
 * @k: keys
 * @bitmap: (n + 31) / 32 words: bit i mod 32 of word i / 32 is set if key i is
 *	present, so bytes are as in struct epf_answer; bits after the last key
 *	are zero
 * @ages: n bytes: age in epochs, 0 .. 7, or EPF_AGE_ABSENT; NULL: none
 * @count: eight counters of present keys by age; the kernel adds to them
 * @stream: stream of the launch
 */
cudaError_t epf_cu_query(const struct epf_cu_lines *f, const struct epf_cu_keys *k, __u32 *bitmap,
			 __u8 *ages, unsigned long long *count, cudaStream_t stream);

/* rotate.cu: */

/**
 * epf_cu_settle() - empty the stale lanes, like epf_lanes_scan() over all lines
 * @f: lines; nothing may be added to them meanwhile
 * @stream: stream of the launch
 */
cudaError_t epf_cu_settle(const struct epf_cu_lines *f, cudaStream_t stream);

/**
 * epf_cu_clear() - begin an epoch: empty its lane in every line
 * @f: lines, without keys of @epoch
 * @epoch: the epoch that begins. The caller then increments @f->epoch
 * @stream: stream of the launch
 *
 * To advance by several epochs, call it for each of them, or epf_cu_settle() for the
 * last.
 */
cudaError_t epf_cu_clear(const struct epf_cu_lines *f, __u64 epoch, cudaStream_t stream);

/* insert.cu: */

/**
 * epf_cu_insert() - insert keys
 * @f: settled lines
 * @k: keys to insert
 * @epoch: epoch to insert into, one of the eight up to @f->epoch; its lanes were
 *	cleared when it began
 * @stream: stream of the launch
 *
 * The kernel uses atomics of the device: the CPU must not write to the lines
 * meanwhile.
 */
cudaError_t epf_cu_insert(const struct epf_cu_lines *f, const struct epf_cu_keys *k, __u64 epoch,
			  cudaStream_t stream);

/**
 * epf_cu_apply() - apply records of a journal
 * @f: settled lines; no record has a later epoch than @f->epoch
 * @record: @n records, as they were read from the rings, in any order
 * @n: number of records
 * @stream: stream of the launch
 *
 * The digest of an insertion goes into the lanes that the record names, except lanes
 * of epochs that are no longer retained; see user/libepf/mirror.c. Other records are
 * skipped. Before the call, the caller clears for each new epoch and sets @f->epoch.
 */
cudaError_t epf_cu_apply(const struct epf_cu_lines *f, const struct epf_journal_record *record,
			 __u64 n, cudaStream_t stream);

/* tally.cu: */

#define EPF_CU_TALLY (EPF_PARTS_MAX * EPF_LANES * (EPF_LANE_BITS + 1))

/**
 * epf_cu_tally() - count lanes by part, lane index and number of set positions
 * @f: lines; stale lanes count as empty
 * @nr: EPF_CU_TALLY counters, [part][lane][positions]; the kernel adds to them
 * @stream: stream of the launch
 */
cudaError_t epf_cu_tally(const struct epf_cu_lines *f, unsigned long long *nr, cudaStream_t stream);

/* probe.cu: */

/**
 * epf_cu_probe() - look up digests that the kernel generates
 * @f: lines
 * @seed: digest i is epf_word(@seed + i, 1)
 * @n: number of digests
 * @found: one counter of present digests; the kernel adds to it
 * @stream: stream of the launch
 */
cudaError_t epf_cu_probe(const struct epf_cu_lines *f, __u64 seed, __u64 n,
			 unsigned long long *found, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* EPF_CUDA_KERNELS_H */
