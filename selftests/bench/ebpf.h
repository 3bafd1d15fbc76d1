/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by ebpf_bench and its BPF programs. */
#ifndef EBPF_BENCH_H
#define EBPF_BENCH_H

/* Instructions before each key in the programs NAME_apart; a multiple of 4. The shortest
 * program of a table takes some 300 (LRU hash map, with the test run's own). With as many
 * again the next load of memory is farther away than current CPUs look ahead, which is 320
 * to 512 instructions. So waits for memory of two keys do not overlap.
 */
#define APART 300

/**
 * struct bench_keys - the keys that a program makes, one per run
 * @first: number of the first key
 * @runs: runs since @first was set
 * @mask: 2^b - 1: the first 2^b keys, once each and in disorder; 0: one after another
 * @half: b / 2
 * @found: verdicts "present"
 * @unknown: "do not know"
 */
struct bench_keys {
	unsigned long long first;
	unsigned long long runs;
	unsigned long long mask;
	unsigned long long half;
	unsigned long long found;
	unsigned long long unknown;
};

#endif /* EBPF_BENCH_H */
