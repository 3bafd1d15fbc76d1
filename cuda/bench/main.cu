// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * epf_bench_gpu: measure, and print records, a line of JSON each. gpu.sh runs it.
 *
 * usage: epf_bench_gpu [--emulated] [PART]...
 *
 * Exit: 0; 1: an error, or a property does not hold; 4: no card.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NR_KEYS (1ULL << 27)
#define WARM_ROUNDS 10       /* passes over all lines, tenths of a second */
#define RESERVE (6ULL << 30) /* for all insertions of the paper's run, and results */

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "gathers", run_gathers }, { "queries", run_queries }, { "paper", run_paper },
	{ "rivals", run_rivals },   { "whole", run_whole },     { "link", run_link },
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

/* Return: why there is no card; NULL: there is one. */
static const char *no_card(void)
{
	int devices = 0;
	cudaError_t err = cudaGetDeviceCount(&devices);

	if (err != cudaSuccess)
		return cudaGetErrorString(err);
	return devices ? NULL : "no device";
}

static void take_memory(void)
{
	size_t left = 0, all = 0;
	bool small;

	must(cudaMemGetInfo(&left, &all), "the card's memory");
	small = left <= 2 * RESERVE;
	bench.nr_keys = bench.emulated ? 1u << 13 : small ? NR_KEYS / 2 : NR_KEYS;
	bench.room = bench.emulated ? 1u << 20 : 70400 * MB;
	if (!bench.emulated && bench.room + RESERVE > left)
		bench.room = small ? left / 2 : left - RESERVE;
	bench.lines = card_memory(bench.room, "filters");
	bench.keys = (__u64 *)card_memory(bench.nr_keys * 8, "keys");
	bench.bitmap = (__u32 *)card_memory(bench.nr_keys / 8, "answers");
	bench.ages = (__u8 *)card_memory(bench.nr_keys, "ages");
	bench.count = (unsigned long long *)card_memory(EPF_LANES * sizeof(*bench.count), "counts");
}

static void describe(void)
{
	struct cudaDeviceProp prop;
	int sms = 1, l2 = 0;

	must(cudaGetDeviceProperties(&prop, 0), "the card's name");
	must(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), "multiprocessors");
	must(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0), "the L2");
	bench.sms = (__u32)sms;
	record("card", "s:card d:bytes d:sms d:l2_bytes d:room s:emulated", prop.name,
	       (double)prop.totalGlobalMem, (double)sms, (double)l2, (double)bench.room,
	       bench.emulated ? "yes" : "no");
}

/* Write all memory before measuring ceilings, because reads of zeros may be
 * cheaper, and let the card's clocks rise.
 */
static void warm(void)
{
	struct epf_line *line = (struct epf_line *)bench.lines;
	int i;

	for (i = 0; i < (bench.emulated ? 1 : WARM_ROUNDS); i++)
		must(lines_noise(line, bench.room / EPF_LINE_BYTES, EPF_EPOCH_FIRST), "noise");
	must(cudaStreamSynchronize(bench.stream), "noise");
}

static bool wanted(const char *name, int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++)
		if (!strcmp(name, argv[i]))
			return true;
	return !argc;
}

int main(int argc, char **argv)
{
	const char *why;
	unsigned int i;

	/* Load all kernels before any timing; otherwise each is loaded at its
	 * first launch.
	 */
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	why = no_card();
	if (why) {
		fprintf(stderr, "bench-gpu: no card: %s\n", why);
		return 4;
	}
	argv++, argc--;
	if (argc && !strcmp(argv[0], "--emulated")) {
		bench.emulated = true;
		argv++, argc--;
	}
	must(cudaStreamCreateWithFlags(&bench.stream, cudaStreamNonBlocking), "a stream");
	take_memory();
	describe();
	warm();
	for (i = 0; i < PARTS; i++)
		if (wanted(parts[i].name, argc, argv))
			parts[i].run();
	record("end", "s:end", "whole");
	return 0;
}
