// SPDX-License-Identifier: GPL-2.0
/*
 * Unprivileged callers cannot keep packets from a filter of a locked kind, whose lock
 * packets need: of all callers with batches, and of those that ask for the state (INFO),
 * at most one waits for or holds the lock, for one key at a time. The module of the stress
 * test counts both (broken/epf/estimate.h); promise.sh loads it. A kind with locks of its
 * own needs that lock for no key.
 */
#include "../locked.h"
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

static unsigned long command = EPF_IOC_TEST;
static bool some_ask; /* every second caller asks for the state instead, once for eight keys */

static void *call(void *arg)
{
	struct caller *c = arg;
	struct epf_batch b = test_batch(c->keys, KEYS);
	int i;

	for (i = 0; i < CALLS; i++)
		test_demand(!epf_filter_batch(c->fd, command, &b));
	return NULL;
}

static void *ask(void *arg)
{
	const struct caller *c = arg;
	__u32 i;

	for (i = 0; i < CALLS * KEYS / 8; i++)
		test_info(c->fd);
	return NULL;
}

/* All callers at once. Return: how often the lock was taken. */
static long long hold_count(int fd)
{
	static struct caller callers[CALLERS];
	long long holds;
	__u32 n;
	int i;

	for (i = 0; i < CALLERS; i++) {
		callers[i].fd = fd;
		for (n = 0; n < KEYS; n++)
			callers[i].keys[n] = test_digest(i, n);
	}
	test_demand(!test_write(PARAMETERS "most_inside", "0"));
	holds = number("holds");
	for (i = 0; i < CALLERS; i++)
		test_demand(!pthread_create(&callers[i].thread, NULL,
					    some_ask && i % 2 ? ask : call, &callers[i]));
	for (i = 0; i < CALLERS; i++)
		pthread_join(callers[i].thread, NULL);
	return number("holds") - holds;
}

static void try_kind(__u32 kind, const char *name)
{
	struct epf_params p = test_locked_params("mod-turns", kind, 1000000);
	struct epf_shape shape = locked_shape(kind);
	int fd = test_make_kind(&p, &shape);
	long long holds = hold_count(fd), most = number("most_inside");

	tap_ok(most == 1, "%s: %d callers, %lld of them at the lock at a time", name, CALLERS,
	       most);
	tap_ok(holds >= CALLERS * CALLS * (long long)KEYS,
	       "%s: %u keys asked for in %lld holds of it", name, CALLERS * CALLS * KEYS, holds);
	some_ask = true;
	hold_count(fd);
	some_ask = false;
	most = number("most_inside");
	tap_ok(most == 1, "%s: half of the callers ask for its state, %lld at the lock at a time",
	       name, most);
	close(fd);
}

/* Each key is asked for and inserted; two epochs end meanwhile. */
static void try_line_locks(void)
{
	const __u64 keys = CALLERS * CALLS * KEYS;
	struct epf_params p = test_locked_params("mod-turns", EPF_KIND_ELASTIC, keys * 2);
	struct epf_shape shape = locked_shape(EPF_KIND_ELASTIC);
	long long holds;
	int fd;

	shape.elastic.lines = 8192;
	p.mode = EPF_MODE_COUNT;
	fd = test_make_kind(&p, &shape);
	command = EPF_IOC_TEST_AND_INSERT;
	holds = hold_count(fd);
	tap_ok(holds < (long long)keys / 100 && test_info(fd).stats.inserts == keys,
	       "elastic: %llu keys tested and inserted in %lld holds of the lock", keys, holds);
	close(fd);
}

int main(void)
{
	test_begin(7);
	try_kind(EPF_KIND_GE, "ge");
	try_kind(EPF_KIND_DICT, "dict");
	try_line_locks();
	return test_end();
}
