// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Checksums of bitmaps. */
#include "jobs/sum.h"

#include <errno.h>
#include <unistd.h>

#include "jobs/job.h"

#define PIECE_BYTES (32u << 10)

int sum_bits(int fd, __u64 at, __u64 n, XXH3_state_t *sum)
{
	unsigned char piece[PIECE_BYTES];
	ssize_t got;

	for (; n; n -= (__u64)got, at += (__u64)got) {
		got = pread(fd, piece, n < sizeof(piece) ? n : sizeof(piece), (off_t)at);
		if (got <= 0)
			return -EINVAL;
		XXH3_64bits_update(sum, piece, (size_t)got);
	}
	return 0;
}

int sum_read_tail(int fd, __u64 keys, unsigned char *tail)
{
	*tail = 0;
	if (keys % 8 && pread(fd, tail, 1, (off_t)(keys / 8)) != 1)
		return -EINVAL;
	*tail &= (unsigned char)((1u << keys % 8) - 1);
	return 0;
}

__u64 sum_end(XXH3_state_t *sum, __u64 keys, unsigned char tail)
{
	if (keys % 8)
		XXH3_64bits_update(sum, &tail, 1);
	return XXH3_64bits_digest(sum);
}

int job_bitmap_sum(int fd, __u64 keys, __u64 *sum)
{
	XXH3_state_t *state = XXH3_createState();
	unsigned char tail = 0;
	int ret;

	if (!state)
		return -ENOMEM;
	XXH3_64bits_reset(state);
	ret = sum_bits(fd, 0, keys / 8, state);
	if (!ret)
		ret = sum_read_tail(fd, keys, &tail);
	*sum = sum_end(state, keys, tail);
	XXH3_freeState(state);
	return ret;
}
