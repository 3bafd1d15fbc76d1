// SPDX-License-Identifier: GPL-2.0
/* Run the core on all CPUs, and collect its answers. */
#include "device.h"

#include <pthread.h>
#include <unistd.h>

#define THREADS_MAX 64
#define PIECE (1u << 16)

/**
 * struct job - work in pieces
 * @next: first item that no thread has taken
 */
struct job {
	void (*work)(void *self, __u64 first, __u64 n);
	void *self;
	__u64 n;
	__u64 next;
};

static void *run(void *arg)
{
	struct job *j = (struct job *)arg;
	__u64 first;

	for (;;) {
		first = epf_fetch_add(&j->next, PIECE);
		if (first >= j->n)
			return NULL;
		j->work(j->self, first, j->n - first < PIECE ? j->n - first : PIECE);
	}
}

void in_parallel(void (*work)(void *self, __u64 first, __u64 n), void *self, __u64 n)
{
	struct job j = { work, self, n, 0 };
	pthread_t thread[THREADS_MAX];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int begun = 0;

	while (begun < THREADS_MAX && begun + 1 < cpus && (__u64)(begun + 1) * PIECE < n &&
	       !pthread_create(&thread[begun], NULL, run, &j))
		begun++;
	run(&j);
	while (begun)
		pthread_join(thread[--begun], NULL);
}

static void answer(void *self, __u64 first, __u64 n)
{
	struct core *c = (struct core *)self;
	struct epf_probe p;
	int verdict;
	__u64 i;

	for (i = first; i < first + n; i++) {
		epf_probe(&c->f, c->digest[i], &p);
		verdict = epf_lanes_look(&p, c->epoch, 0);
		c->age[i] = verdict ? (__u8)(verdict - EPF_PRESENT) : (__u8)EPF_AGE_ABSENT;
	}
}

void core_answer(struct core *c, __u64 n)
{
	in_parallel(answer, c, n);
}
