/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The checksum of answers: of full bytes, and at the end of what is left of a bitmap. */
#ifndef JOBS_SUM_H
#define JOBS_SUM_H

#include <linux/types.h>
#include <xxhash.h>

/* Add @n bytes of file @fd, from offset @at on. Return: 0; -EINVAL: not so many can be read. */
int sum_bits(int fd, __u64 at, __u64 n, XXH3_state_t *sum);
/* Read the last byte of a bitmap of @keys keys, if it is not full; else 0. Return: likewise. */
int sum_read_tail(int fd, __u64 keys, unsigned char *tail);
/* The final checksum, including the tail of @keys mod 8 bits. */
__u64 sum_end(XXH3_state_t *sum, __u64 keys, unsigned char tail);

#endif /* JOBS_SUM_H */
