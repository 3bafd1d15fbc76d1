// SPDX-License-Identifier: GPL-2.0
/*
 * Everything at once, for some seconds: writers that must never miss a key of theirs,
 * while others rotate, swap, snapshot, restore, map, create and destroy, and read
 * everything readable.
 *
 * The oracle is exact. Before any process inserts n keys or ends an epoch, it adds n,
 * or an epoch's worth, to a shared budget. A key must be present until the budget has
 * grown by W since the moment before its insertion. Swaps move contents between two
 * filters, so a miss counts only if no swap came between the two lookups; a counter
 * that is odd during a swap tells.
 */
#include "epftest.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>

#define RUN_NS (test_rounds(3, 8) * SEC)
#define CHECKED_MIN 100u
#define WINDOW 70000u
#define EPOCH (WINDOW / 7)
#define BATCH 64u /* bits of one bitmap word */
#define BATCHES_MAX 200000u

/**
 * struct shared - memory shared by all processes
 * @budget: see above
 * @swaps: see above
 * @stop: all must end
 * @checked: batches looked up that had to be present
 * @lost: of these, batches not found
 * @rounds: rounds of each process
 */
static struct shared {
	atomic_ullong budget;
	atomic_ullong swaps;
	atomic_bool stop;
	atomic_ullong checked;
	atomic_ullong lost;
	atomic_ullong rounds[16];
} * shared;

static const char *const names[2] = { "mod-smoke-a", "mod-smoke-b" };
static int filters[2];

/* Which keys of the batch are present? */
static __u64 look(int fd, __u64 s, __u64 batch)
{
	__u64 keys[BATCH], bitmap = 0;
	struct epf_batch b = test_batch(keys, BATCH);

	b.bitmap = (uintptr_t)&bitmap;
	test_draw(keys, s, batch * BATCH, BATCH);
	test_demand(!test_ioctl(fd, EPF_IOC_TEST, &b));
	return bitmap;
}

/* Is each key of the batch in one of the two? */
static bool found(__u64 s, __u64 batch)
{
	return (look(filters[0], s, batch) | look(filters[1], s, batch)) == -1ULL;
}

static void check(__u64 s, __u64 batch, __u64 born)
{
	__u64 swaps = shared->swaps;
	bool good = found(s, batch);

	if (shared->budget - born > WINDOW)
		return;
	if (!good && (swaps & 1 || swaps != shared->swaps))
		return;
	shared->checked++;
	if (good)
		return;
	shared->lost++;
	printf("# stream %llu, batch %llu is lost\n", s, batch);
}

static void writer(__u32 me)
{
	__u64 *born = calloc(BATCHES_MAX, sizeof(*born));
	__u64 n, oldest = 0;
	int fd;

	test_demand(born);
	for (n = 0; n < BATCHES_MAX && !shared->stop;) {
		fd = filters[epf_word(me, n + 1) & 1];
		born[n] = atomic_fetch_add(&shared->budget, BATCH);
		test_demand(test_digests(fd, n & 1 ? EPF_IOC_INSERT : EPF_IOC_TEST_AND_INSERT, me,
					 n * BATCH, BATCH) >= 0);
		n++;
		while (oldest < n - 1 && shared->budget - born[oldest] > WINDOW)
			oldest++;
		check(me, n - 1, born[n - 1]);
		check(me, oldest, born[oldest]);
		shared->rounds[me]++;
	}
}

static void rotator(__u32 me)
{
	int err;

	while (!shared->stop) {
		shared->budget += EPOCH + 1;
		err = epf_filter_rotate(filters[me & 1], 1, NULL);
		test_demand(!err || err == -EBUSY); /* pinned */
		shared->rounds[me]++;
		test_sleep(400 * MS);
	}
}

static void swapper(__u32 me)
{
	while (!shared->stop) {
		shared->swaps++;
		test_demand(!epf_dev_swap(test_dev, names[0], names[1]));
		shared->swaps++;
		shared->rounds[me]++;
		test_sleep(50 * MS);
	}
}

/* Copy to another filter. */
static void copier(__u32 me)
{
	struct epf_params p = test_params("mod-smoke-copy", 64, 1, 2, 10);
	int copy = test_make(&p);

	while (!shared->stop) {
		int fd = test_open(names[epf_word(me, shared->swaps) & 1]);

		test_demand(fd >= 0);
		test_copy(fd, copy);
		close(fd);
		shared->rounds[me]++;
	}
}

/* Create, use, close, destroy; every other time while it is held. */
static void churner(__u32 me)
{
	char name[32];
	__u64 i;

	snprintf(name, sizeof(name), "mod-smoke-%u", me);
	for (i = 0; !shared->stop; i++) {
		struct epf_params p = test_params(name, 64 << i % 8, 2, 10, 70);
		int fd = test_make(&p);
		void *at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

		test_demand(at != MAP_FAILED);
		test_insert(fd, i, 0, 200);
		test_demand(test_count(fd, i, 130, 70) == 70);
		if (i % 2)
			test_demand(!test_destroy(name, EPF_DESTROY_FORCE));
		munmap(at, PAGE);
		close(fd);
		shared->rounds[me]++;
	}
}

/* List, open every filter by id, show, poll. */
static void reader(__u32 me)
{
	struct epf_info info;
	__u32 *ids;
	int i, nr;

	while (!shared->stop) {
		nr = epf_dev_list(test_dev, &ids);
		test_demand(nr >= 2);
		for (i = 0; i < nr; i++) {
			struct pollfd p = { .events = POLLIN | POLLPRI };
			int err;

			p.fd = epf_dev_filter_id(test_dev, ids[i]);
			if (p.fd < 0)
				continue;
			poll(&p, 1, 1);
			err = epf_filter_info(p.fd, &info);
			test_demand(!err || err == -ENODEV);
			test_demand(err || info.epoch >= 8);
			close(p.fd);
		}
		free(ids);
		shared->rounds[me]++;
	}
}

static const struct {
	const char *name;
	void (*play)(__u32 me);
} players[] = {
	{ "writer", writer },   { "writer", writer },   { "writer", writer },
	{ "rotator", rotator }, { "swapper", swapper }, { "copier", copier },
	{ "churner", churner }, { "churner", churner }, { "reader", reader },
};

static bool all_played(void *arg)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(players); i++)
		if (!shared->rounds[i])
			return false;
	return shared->checked > CHECKED_MIN;
}

static void setup(void)
{
	struct epf_params p = test_params(names[0], 1 << 15, 2, 14, WINDOW);

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	test_demand(shared != MAP_FAILED);
	filters[0] = test_make(&p);
	strcpy(p.name, names[1]);
	p.refresh = EPF_FIRST_SEEN;
	filters[1] = test_make(&p);
}

int main(void)
{
	pid_t pids[ARRAY_LEN(players)];
	bool exited[ARRAY_LEN(players)];
	size_t i;
	int status;

	test_begin(ARRAY_LEN(players) + 3);
	setup();
	fflush(stdout);
	for (i = 0; i < ARRAY_LEN(players); i++) {
		pids[i] = fork();
		test_demand(pids[i] >= 0);
		if (!pids[i]) {
			players[i].play(i);
			exit(0);
		}
	}
	test_sleep(RUN_NS);
	test_wait(all_played, NULL);
	shared->stop = true;
	for (i = 0; i < ARRAY_LEN(players); i++) {
		test_demand(waitpid(pids[i], &status, 0) == pids[i]);
		exited[i] = WIFEXITED(status) && !WEXITSTATUS(status);
	}
	for (i = 0; i < ARRAY_LEN(players); i++)
		tap_ok(exited[i] && shared->rounds[i], "%s: %llu rounds", players[i].name,
		       shared->rounds[i]);
	tap_ok(shared->checked > CHECKED_MIN, "%llu batches of %u keys were due", shared->checked,
	       BATCH);
	test_is(shared->lost, 0, "none was lost");
	tap_ok(test_kernel_calm(), "the kernel has not complained");
	return test_end();
}
