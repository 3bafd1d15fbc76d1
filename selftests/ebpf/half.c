// SPDX-License-Identifier: GPL-2.0
/*
 * usage: half A B
 *
 * Swap two existing filters in a process that dies between the two changes of "active"
 * (death.h).
 */
#include "death.h"

static struct epf_swap args;
static struct ebpf_filter *filter[2];
static __u32 active[2];

static int swap(void)
{
	return ebpf_swap(&args);
}

/* Both slots have the swap word, and one has changed. */
static void die_between(const void *at)
{
	const struct epf_bpf_filter *a = filter[0]->shared;
	const struct epf_bpf_filter *b = filter[1]->shared;

	if (a->half && b->half && (a->active != active[0]) != (b->active != active[1]))
		death.at = death.steps;
}

int main(int argc, char **argv)
{
	int i;

	for (i = 0; argc == 3 && i < 2; i++) {
		if (ebpf_open(argv[1 + i], &filter[i]))
			return 2;
		active[i] = filter[i]->shared->active;
	}
	if (i < 2)
		return 2;
	strncpy(args.a.name, argv[1], EPF_NAME_LEN - 1);
	strncpy(args.b.name, argv[2], EPF_NAME_LEN - 1);
	death.meanwhile = die_between;
	return dies(swap, 0) ? 0 : 1;
}
