/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lookup in lines: which of the eight lanes have a key in each of its lines?
 * For epf_ref.cuh and the kernels; programs include the former.
 *
 * Four threads form a tile. Each has a key of its own, and they load the four
 * quarters of a line for each other's keys in turn: round r serves the key of
 * neighbour r, and a request reads the 64 bytes of one line. All lines are
 * loaded before any mask is made and before any line is compared: a sync() is
 * between, which loads do not cross. Neighbours exchange their results once, for
 * all lines of a key.
 *
 * A tile is what cooperative_groups::tiled_partition<4>() returns, or any type
 * with the same thread_rank(), shfl(), shfl_xor() and sync().
 */
#ifndef EPF_LOOK_CUH
#define EPF_LOOK_CUH

#include <epf/lanes.h>

namespace epf_look
{

enum { QUARTERS = 4u }; /* of a line, two lanes each; and threads of a tile */

/* Return: the latest epoch, up to @epoch, that uses lane @i. */
__device__ __forceinline__ __u64 lane_epoch(__u64 epoch, __u32 i)
{
	return epoch - ((epoch - i) & (EPF_LANES - 1));
}

/* Return: the age of the youngest lane in @hits, a non-zero bit mask of lanes:
 * the first bit set, reading from the lane of @epoch downwards and round.
 */
__device__ __forceinline__ __u32 age_of(__u32 hits, __u64 epoch)
{
	return (__u32)__clz((int)(hits * 0x01010101u << (7 - (epoch & 7))));
}

/**
 * struct view - a thread's view of the lines
 * @quarter: the quarter of line 0 that this thread loads of each line
 * @geom: shape
 * @epoch: for each of the two lanes of a quarter, the latest epoch that uses it
 */
struct view {
	const ulonglong2 *quarter;
	struct epf_geom geom;
	__u64 epoch[2];
};

template <typename tile_t>
__device__ __forceinline__ struct view view_of(const tile_t &tile, const struct epf_line *line,
					       const struct epf_geom *geom, __u64 epoch)
{
	__u32 at = (__u32)tile.thread_rank();
	struct view v;

	v.quarter = (const ulonglong2 *)line + at;
	v.epoch[0] = lane_epoch(epoch, 2 * at);
	v.epoch[1] = lane_epoch(epoch, 2 * at + 1);
	v.geom = *geom;
	v.geom.part_lines = (__u32)v.geom.part_lines; /* EPF_PART_LINES_MAX */
	return v;
}

/* Load this thread's quarter of line @at and of its neighbours' lines. __ldcg()
 * bypasses L1, because no line is loaded twice, and is one load, while nvcc
 * 13.0 splits a plain load.
 *
 * Return: the line of the last round.
 */
template <typename tile_t>
__device__ __forceinline__ __u32 fetch(const tile_t &tile, const struct view *v, __u32 at,
				       ulonglong2 quarter[QUARTERS])
{
	__u32 r, line = 0;

	EPF_UNROLL
	for (r = 0; r < QUARTERS; r++) {
		line = tile.shfl(at, (int)r);
		quarter[r] = __ldcg(v->quarter + (__u64)QUARTERS * line);
	}
	return line;
}

__device__ __forceinline__ __u32 either_half(__u64 v)
{
	return (__u32)v | (__u32)(v >> 32);
}

/* Add to @lacks, for both lanes in each round, the bits of @mask that the lane
 * lacks.
 */
template <typename tile_t>
__device__ __forceinline__ void compare(const tile_t &tile, const struct view *v, __u64 mask,
					const ulonglong2 quarter[QUARTERS],
					__u32 lacks[QUARTERS][2])
{
	__u32 r;

	EPF_UNROLL
	for (r = 0; r < QUARTERS; r++) {
		__u64 m = tile.shfl(mask, (int)r);

		lacks[r][0] |= either_half(epf_lane_differs(quarter[r].x, m, v->epoch[0]));
		lacks[r][1] |= either_half(epf_lane_differs(quarter[r].y, m, v->epoch[1]));
	}
}

/* Return: bit i is set if lane i lacks no bit of this thread's key. */
template <typename tile_t>
__device__ __forceinline__ __u32 exchange(const tile_t &tile, const __u32 lacks[QUARTERS][2])
{
	__u32 at = (__u32)tile.thread_rank(), hits = 0, r;

	EPF_UNROLL
	for (r = 0; r < QUARTERS; r++) {
		hits |= lacks[r][0] ? 0 : 1u << 8 * r;
		hits |= lacks[r][1] ? 0 : 2u << 8 * r;
	}
	hits <<= 2 * at;
	/* byte r belongs to the key of neighbour r; each thread has two bits of it */
	hits |= tile.shfl_xor(hits, 1);
	hits |= tile.shfl_xor(hits, 2);
	return hits >> 8 * at & 0xff;
}

/**
 * look() - find the lanes that have a key in all its lines
 * @tile: four threads, which call this together
 * @v: from view_of()
 * @digest: digest of this thread's key
 *
 * A filter has L lines per key and N fields in each. With N = 0 the number of fields is
 * read from @v, else the compiler knows it.
 *
 * Return: bit i is set if lane i has the key.
 */
template <int L, int N, typename tile_t>
__device__ __forceinline__ __u32 look(const tile_t &tile, const struct view *v, __u64 digest)
{
	ulonglong2 quarter[L][QUARTERS];
	__u32 lacks[QUARTERS][2] = {};
	struct epf_geom g = v->geom;
	__u64 w[L], mask[L];
	__u32 last = 0, still;
	int j;

	if (N)
		epf_geom_set_bits(&g, N);
	EPF_UNROLL
	for (j = 0; j < L; j++) {
		w[j] = epf_lane_word(digest, j);
		last = fetch(tile, v, (__u32)epf_word_line(&g, w[j], j), quarter[j]);
	}
	tile.sync();
	/* Bit 31 of a line number is 0 (EPF_LINES_MAX), so @still is 0 and
	 * changes no word. nvcc 13.0 does not know that, so it makes no mask
	 * before the last load.
	 */
	still = (__u32)((int)last >> 31);
	EPF_UNROLL
	for (j = 0; j < L; j++)
		mask[j] = epf_word_mask(&g, w[j] ^ still);
	EPF_UNROLL
	for (j = 0; j < L; j++)
		compare(tile, v, mask[j], quarter[j], lacks);
	return exchange(tile, lacks);
}

/* The same for one thread alone, which loads the lines one after another. */
__device__ __forceinline__ __u32 look_alone(const struct epf_line *line, const struct epf_geom *g,
					    __u64 epoch, __u64 digest)
{
	__u32 hits = (1u << EPF_LANES) - 1, j, i;

	for (j = 0; j < g->parts && hits; j++) {
		__u64 w = epf_lane_word(digest, j), mask = epf_word_mask(g, w);
		const ulonglong2 *quarter = (const ulonglong2 *)(line + epf_word_line(g, w, j));

		EPF_UNROLL
		for (i = 0; i < QUARTERS; i++) {
			ulonglong2 two = __ldcg(quarter + i);

			if (epf_lane_differs(two.x, mask, lane_epoch(epoch, 2 * i)))
				hits &= ~(1u << 2 * i);
			if (epf_lane_differs(two.y, mask, lane_epoch(epoch, 2 * i + 1)))
				hits &= ~(2u << 2 * i);
		}
	}
	return hits;
}

} /* namespace epf_look */

#endif /* EPF_LOOK_CUH */
