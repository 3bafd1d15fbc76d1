// SPDX-License-Identifier: GPL-2.0
/*
 * Properties of the emulation itself: threads of a warp exchange the right values,
 * operations that a card leaves undefined end the program with one line, and code that
 * is right in only one order of threads fails in another order.
 */
#include <emu/emu.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "../core/tap.h"

#define ALL 0xffffffffu
#define BLOCKS 5u
#define THREADS 128u
#define SEEDS 50u

typedef unsigned int __u32;

static __u32 out[BLOCKS * THREADS];

static __u32 number(void)
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}

static bool all_out(__u32 (*want)(__u32 thread))
{
	__u32 i;

	for (i = 0; i < BLOCKS * THREADS; i++)
		if (out[i] != want(i))
			return false;
	return true;
}

/* ------------------------------------------------------ what is right ---- */

static __global__ void places(void)
{
	out[number()] = threadIdx.x + 1000 * blockIdx.x + 100000 * blockDim.x +
			100000000 * gridDim.x;
}

static __u32 want_places(__u32 i)
{
	return i % THREADS + 1000 * (i / THREADS) + 100000 * THREADS + 100000000 * BLOCKS;
}

/* Odd threads and, alone, those of the second half. */
static __global__ void ballots(void)
{
	__u32 lane = threadIdx.x % 32, upper;

	out[number()] = __ballot_sync(ALL, lane % 2);
	if (lane < 16)
		return;
	upper = __ballot_sync(0xffff0000, lane != 20);
	out[number()] ^= upper;
}

static __u32 want_ballots(__u32 i)
{
	return i % 32 < 16 ? 0xaaaaaaaa : 0xaaaaaaaa ^ 0xffef0000;
}

static __global__ void shuffles(void)
{
	__u32 lane = threadIdx.x % 32;
	unsigned long long big = (unsigned long long)lane << 40;

	out[number()] = __shfl_sync(ALL, lane, 3, 4) + 100 * __shfl_xor_sync(ALL, lane, 2) +
			10000 * (__u32)(__shfl_sync(ALL, big, (int)lane + 1) >> 40);
}

static __u32 want_shuffles(__u32 i)
{
	__u32 lane = i % 32;

	return (lane / 4 * 4 + 3) + 100 * (lane ^ 2) + 10000 * ((lane + 1) % 32);
}

static __global__ void atomics(__u32 *sum, unsigned long long *bits)
{
	atomicAdd(sum, threadIdx.x);
	atomicOr(bits, 1ULL << threadIdx.x % 64);
}

/* Exchange through shared memory with the thread from the other end. */
static __global__ void mirrors(bool synced)
{
	__shared__ __u32 mine[THREADS];

	mine[threadIdx.x] = number();
	if (synced)
		__syncthreads();
	out[number()] = mine[THREADS - 1 - threadIdx.x];
	if (synced)
		__syncthreads();
}

static __u32 want_mirrors(__u32 i)
{
	return i / THREADS * THREADS + THREADS - 1 - i % THREADS;
}

static void claim_right(void)
{
	unsigned long long bits = 0;
	__u32 sum = 0;

	emu_run(BLOCKS, THREADS, places);
	tap_ok(all_out(want_places), "threads know where they are");
	emu_run(BLOCKS, THREADS, ballots);
	tap_ok(all_out(want_ballots), "ballots, of a warp and of half of one");
	emu_run(BLOCKS, THREADS, shuffles);
	tap_ok(all_out(want_shuffles), "shuffles, of 32 and 64 bits");
	emu_run(BLOCKS, THREADS, [&] { atomics(&sum, &bits); });
	tap_ok(sum == BLOCKS * (THREADS - 1) * THREADS / 2 && bits == ~0ULL, "atomics");
	emu_run(BLOCKS, THREADS, [] { mirrors(true); });
	tap_ok(all_out(want_mirrors), "shared memory");
}

/* ---------------------------------------------------- what is wrong ---- */

static __global__ void one_gone(void)
{
	if (threadIdx.x != 37)
		__ballot_sync(ALL, 1);
}

static __global__ void other_mask(void)
{
	__ballot_sync(threadIdx.x == 5 ? 0x3fu : ALL, 1);
}

static __global__ void not_in_mask(void)
{
	__syncwarp(0xfffffffe);
}

static __global__ void something_else(void)
{
	if (threadIdx.x % 2)
		__ballot_sync(ALL, 1);
	else
		__syncwarp();
}

static __global__ void nobody_there(void)
{
	if (threadIdx.x % 32 < 8)
		__shfl_sync(0xff, threadIdx.x, 8);
}

static __global__ void block_not_full(void)
{
	if (threadIdx.x != 3)
		__syncthreads();
}

static __global__ void warp_in_block(void)
{
	if (threadIdx.x == 9)
		__syncthreads();
	else
		__syncwarp();
	__syncthreads();
}

/* In a child: does it end by abort(), and is @line all it prints? */
static bool dies(void (*kernel)(void), const char *line)
{
	char said[1000] = "";
	int fd[2], status;
	ssize_t n;
	pid_t pid;

	fflush(stdout);
	if (pipe(fd) || (pid = fork()) < 0)
		abort();
	if (!pid) {
		dup2(fd[1], 2);
		emu_run(1, 64, kernel);
		_exit(0);
	}
	close(fd[1]);
	n = read(fd[0], said, sizeof(said) - 1);
	close(fd[0]);
	waitpid(pid, &status, 0);
	if (n > 0 && strstr(said, line) && strchr(said, '\n') == said + n - 1 &&
	    WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
		return true;
	printf("# status %x, said: %s\n", (unsigned int)status, said);
	return false;
}

static void claim_wrong(void)
{
	tap_ok(dies(one_gone, "warp 1: ballot of lanes ffffffff: these never came: 00000020"),
	       "a ballot that a lane does not come to");
	tap_ok(dies(other_mask, "others have"), "a ballot with two masks");
	tap_ok(dies(not_in_mask, "syncwarp of lanes fffffffe: not of them is 00000001"),
	       "a lane that is not in its mask");
	tap_ok(dies(something_else, "at something else are"),
	       "a ballot while others are at a __syncwarp()");
	tap_ok(dies(nobody_there, "shuffle of lanes 000000ff: asked is 00000100"),
	       "a shuffle that asks a lane outside the mask");
	tap_ok(dies(block_not_full, "syncthreads of 64 threads: 63 came"),
	       "a __syncthreads() that a thread does not come to");
	tap_ok(dies(warp_in_block, "syncwarp of lanes ffffffff: these never came: 00000200"),
	       "a lane at __syncthreads() while its warp is at a __syncwarp()");
}

/* -------------------------------------------------------- the order ---- */

static void claim_order(void)
{
	unsigned int seed, right = 0, wrong = 0, first[SEEDS], same = 0;
	static __u32 last;

	for (seed = 0; seed < SEEDS; seed++) {
		emu_seed(seed);
		emu_run(BLOCKS, THREADS, [] { mirrors(true); });
		right += all_out(want_mirrors);
		emu_run(BLOCKS, THREADS, [] { mirrors(false); });
		wrong += !all_out(want_mirrors);
		emu_run(1, THREADS, [] { last = threadIdx.x; });
		first[seed] = last;
		same += seed && last == first[seed - 1];
	}
	tap_ok(right == SEEDS, "in any order it is right with __syncthreads()");
	tap_ok(wrong == SEEDS, "without, it is wrong");
	tap_ok(same < SEEDS / 4, "each seed has an order of its own");
}

/* Two host threads at a time have their own blocks. */
static void claim_threads(void)
{
	unsigned long long sum[2] = { 0, 0 };
	unsigned int i;

	auto work = [&](unsigned int who) {
		unsigned int n;

		for (n = 0; n < 50; n++)
			emu_run(3, THREADS, [&] {
				__shared__ __u32 mine[THREADS];

				mine[threadIdx.x] = who + 1;
				__syncthreads();
				atomicAdd(&sum[who],
					  (unsigned long long)mine[THREADS - 1 - threadIdx.x]);
				__syncthreads();
			});
	};
	std::thread other(work, 1);
	work(0);
	other.join();
	for (i = 0; i < 2; i++)
		if (sum[i] != 50ULL * 3 * THREADS * (i + 1))
			break;
	tap_ok(i == 2, "two host threads at a time");
}

int main(void)
{
	tap_plan(5 + 7 + 3 + 1);
	claim_right();
	claim_wrong();
	claim_order();
	claim_threads();
	return tap_end();
}
