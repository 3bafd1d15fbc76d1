/* SPDX-License-Identifier: GPL-2.0 */
/* What ebpf_bench and its BPF programs share. */
#ifndef EBPF_BENCH_H
#define EBPF_BENCH_H

/**
 * struct bench_keys - which keys a program makes, one a run
 * @first: number of the first
 * @runs: since it was set
 * @cycle: so many keys over and over; 0: ever new ones
 * @found: verdicts "present"
 * @unknown: "do not know"
 */
struct bench_keys {
	unsigned long long first;
	unsigned long long runs;
	unsigned long long cycle;
	unsigned long long found;
	unsigned long long unknown;
};

#endif /* EBPF_BENCH_H */
