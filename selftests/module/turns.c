// SPDX-License-Identifier: GPL-2.0
/*
 * Unprivileged callers cannot keep packets from a filter of a locked kind, whose lock
 * packets need: of all callers with batches at most one waits for or holds the lock,
 * for one key at a time. The module of the stress test counts both
 * (broken/epf/estimate.h); promise.sh loads it.
 */
#include "../owned.h"
#include "epftest.h"

#include <pthread.h>
#include <stdlib.h>

#define PARAMETERS "/sys/module/epochfilter/parameters/"
#define CALLERS 6
#define CALLS 12
#define KEYS 4096u

struct caller {
	pthread_t thread;
	int fd;
	__u64 keys[KEYS];
};

static long long number(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	return test_number(path, "");
}

static void *call(void *arg)
{
	struct caller *c = arg;
	struct epf_batch b = { .size = sizeof(b), .count = KEYS,
			       .flags = EPF_BATCH_DIGESTS,
			       .keys = (uintptr_t)c->keys };
	int i;

	for (i = 0; i < CALLS; i++)
		test_demand(!epf_filter_batch(c->fd, EPF_IOC_TEST, &b));
	return NULL;
}

static void try_kind(__u32 kind, const char *name)
{
	static struct caller callers[CALLERS];
	struct epf_params p = test_owned_params("mod-turns", kind, 1000000);
	struct epf_shape shape = owned_shape(kind);
	int i, fd = test_make_kind(&p, &shape);
	long long holds, most;
	__u32 n;

	for (i = 0; i < CALLERS; i++) {
		callers[i].fd = fd;
		for (n = 0; n < KEYS; n++)
			callers[i].keys[n] = test_digest(i, n);
	}
	test_demand(!test_write(PARAMETERS "most_inside", "0"));
	holds = number("holds");
	for (i = 0; i < CALLERS; i++)
		test_demand(!pthread_create(&callers[i].thread, NULL, call,
					    &callers[i]));
	for (i = 0; i < CALLERS; i++)
		pthread_join(callers[i].thread, NULL);
	most = number("most_inside");
	holds = number("holds") - holds;
	tap_ok(most == 1, "%s: %d callers, %lld of them at the lock at a time",
	       name, CALLERS, most);
	tap_ok(holds >= CALLERS * CALLS * (long long)KEYS,
	       "%s: %u keys asked for in %lld holds of it", name,
	       CALLERS * CALLS * KEYS, holds);
	close(fd);
}

int main(void)
{
	test_begin(4);
	try_kind(EPF_KIND_GE, "ge");
	try_kind(EPF_KIND_DICT, "dict");
	return test_end();
}
