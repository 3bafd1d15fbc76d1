/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernels, as host code sees them. C and C++.
 *
 * All launches are asynchronous on @stream and take their structs by value: a
 * struct may go as soon as the function has returned, what it points to may not
 * before the stream has come so far. All pointers inside are to memory of the
 * device, or mapped there.
 *
 * All functions return cudaSuccess; cudaErrorInvalidValue: a number out of its
 * range, a pointer missing or not aligned, and nothing was launched; else what
 * the runtime says of the launch. What a kernel does wrong later, the stream says.
 * With @n of 0 nothing is launched, and pointers may be NULL.
 *
 * Answers are those of the core, bit by bit.
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
 * @geom: shape, as epf_geom_init() made it
 * @epoch: current epoch; EPF_EPOCH_FIRST and up
 *
 * Lines are settled when every lane is zero or has the tag of one of the eight
 * epochs up to @epoch. Zeros are; a copy is after epf_cu_settle(), and
 * epf_cu_clear(), epf_cu_insert() and epf_cu_apply() keep it so. A lane that is
 * added to by OR alone would else be of two epochs. Questions take any lines.
 */
struct epf_cu_lines {
	struct epf_line *line;
	struct epf_geom geom;
	__u64 epoch;
};

/**
 * struct epf_cu_keys - keys, one after another without gaps
 * @data: any alignment; digests are little-endian. With 8, digests and keys of
 *	eight bytes are one load each
 * @n: how many
 * @len: bytes of each, 1 .. EPF_KEY_MAX; 0: digests of eight bytes
 * @hash: of keys; not used for digests
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
 * @stream: to be launched on
 *
 * Fails, at the latest when @stream is waited for, where the card has no code or
 * is another process's alone.
 */
cudaError_t epf_cu_nothing(cudaStream_t stream);

/* query.cu: */

/**
 * epf_cu_query() - which keys are inside the window, and how old?
 * @f: lines
 * @k: keys
 * @bitmap: (n + 31) / 32 words: bit i mod 32 of word i / 32 is set when key i is
 *	present, so bytes are as in struct epf_answer; bits after the last key
 *	are zero
 * @ages: n bytes: age in epochs, 0 .. 7, or EPF_AGE_ABSENT; NULL: not wanted
 * @count: eight, present keys by age: added to
 * @stream: to be launched on
 */
cudaError_t epf_cu_query(const struct epf_cu_lines *f,
			 const struct epf_cu_keys *k, __u32 *bitmap, __u8 *ages,
			 unsigned long long *count, cudaStream_t stream);

/* rotate.cu: */

/**
 * epf_cu_settle() - empty the stale lanes, as epf_scan() of all lines does
 * @f: lines, which nobody else adds to meanwhile
 * @stream: to be launched on
 */
cudaError_t epf_cu_settle(const struct epf_cu_lines *f, cudaStream_t stream);

/**
 * epf_cu_clear() - an epoch begins: empty its lane in every line
 * @f: lines; of @epoch no key is in them yet
 * @epoch: that begins. The caller counts @f->epoch up for what comes after
 * @stream: to be launched on
 *
 * Whoever goes over several epochs clears for each of them, or settles at the
 * last.
 */
cudaError_t epf_cu_clear(const struct epf_cu_lines *f, __u64 epoch,
			 cudaStream_t stream);

/* insert.cu: */

/**
 * epf_cu_insert() - insert keys
 * @f: settled lines
 * @k: keys
 * @epoch: to insert into, whose lanes were cleared; one of the eight up to
 *	@f->epoch
 * @stream: to be launched on
 *
 * By atomics of the device: the CPU must not write to the lines meanwhile.
 */
cudaError_t epf_cu_insert(const struct epf_cu_lines *f,
			  const struct epf_cu_keys *k, __u64 epoch,
			  cudaStream_t stream);

/**
 * epf_cu_apply() - do what a journal has recorded
 * @f: settled lines; no record is of a later epoch than @f->epoch
 * @record: @n records, as they were read from the rings, in any order
 * @n: how many
 * @stream: to be launched on
 *
 * Of insertions, the digest goes into the lanes that the record names, but for
 * those of epochs that have gone; see user/libepf/mirror.c. Other records are
 * passed over. The caller clears for each epoch before, and counts.
 */
cudaError_t epf_cu_apply(const struct epf_cu_lines *f,
			 const struct epf_journal_record *record, __u64 n,
			 cudaStream_t stream);

/* tally.cu: */

#define EPF_CU_TALLY (EPF_PARTS_MAX * EPF_LANES * (EPF_LANE_BITS + 1))

/**
 * epf_cu_tally() - count lanes by part, place in the line, and positions set
 * @f: lines; stale lanes are counted as empty ones
 * @nr: EPF_CU_TALLY counters, [part][lane][positions], added to
 * @stream: to be launched on
 */
cudaError_t epf_cu_tally(const struct epf_cu_lines *f, unsigned long long *nr,
			 cudaStream_t stream);

/* probe.cu: */

/**
 * epf_cu_probe() - ask for digests that are made on the way
 * @f: lines
 * @seed: digest i is epf_word(@seed + i, 1)
 * @n: how many
 * @found: one counter: of those present, added to
 * @stream: to be launched on
 */
cudaError_t epf_cu_probe(const struct epf_cu_lines *f, __u64 seed, __u64 n,
			 unsigned long long *found, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* EPF_CUDA_KERNELS_H */
