/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Cooperative groups, emulated: tiles of a block, which move one by one. */
#ifndef EPF_EMU_COOPERATIVE_GROUPS_H
#define EPF_EMU_COOPERATIVE_GROUPS_H

#include "emu.h"

namespace cooperative_groups
{

struct thread_block {
};

static inline struct thread_block this_thread_block(void)
{
	return {};
}

template <unsigned int size> struct thread_block_tile {
	unsigned int thread_rank() const
	{
		return threadIdx.x % size;
	}

	template <typename value_t> value_t shfl(value_t v, int from) const
	{
		return (value_t)emu_meet(EMU_SHUFFLE, mask(), v,
					 first() + (unsigned int)from % size);
	}

	template <typename value_t> value_t shfl_xor(value_t v, unsigned int with) const
	{
		return (value_t)emu_meet(EMU_SHUFFLE, mask(), v,
					 first() + (thread_rank() ^ with) % size);
	}

	void sync() const
	{
		emu_meet(EMU_SYNCWARP, mask(), 0, 0);
	}

      private:
	unsigned int first() const
	{
		return threadIdx.x % EMU_WARP / size * size;
	}

	unsigned int mask() const
	{
		return (unsigned int)((1ULL << size) - 1) << first();
	}
};

template <unsigned int size>
static inline struct thread_block_tile<size> tiled_partition(const struct thread_block &) {
	return {};
}

} /* namespace cooperative_groups */

#endif /* EPF_EMU_COOPERATIVE_GROUPS_H */
