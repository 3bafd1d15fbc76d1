/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults in allocations and in copies from and to user space, in this thread and in the
 * kernel's workers: the n-th one fails, and with make-it-fail set all later slab
 * allocations too.
 */
#ifndef INJECT_H
#define INJECT_H

#include "epftest.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>

#define FAIL_NTH "/proc/thread-self/fail-nth"
#define MAKE_IT_FAIL "/proc/thread-self/make-it-fail"
#define DEBUG "/sys/kernel/debug/"
#define WORKERS 256u

static int fail_nth;     /* FAIL_NTH, kept open because opening it allocates */
static int make_it_fail; /* likewise */

/* Set up all kinds of faults, without log output. Return: false if this kernel has
 * none.
 */
static bool arm(void)
{
	static const char *const kinds[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
	char path[128];
	size_t i;

	fail_nth = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	make_it_fail = open(MAKE_IT_FAIL, O_RDWR | O_CLOEXEC);
	if (fail_nth < 0 || make_it_fail < 0)
		return false;
	for (i = 0; i < ARRAY_LEN(kinds); i++) {
		snprintf(path, sizeof(path), DEBUG "%s/verbose", kinds[i]);
		test_write(path, "0");
	}
	test_write(DEBUG "fail_page_alloc/ignore-gfp-highmem", "N");
	test_write(DEBUG "fail_page_alloc/min-order", "0");
	test_write(DEBUG "failslab/times", "-1");
	test_write(DEBUG "failslab/task-filter", "Y");
	return !test_write(DEBUG "failslab/ignore-gfp-wait", "N") &&
	       !test_write(DEBUG "fail_page_alloc/ignore-gfp-wait", "N") &&
	       !test_write(DEBUG "failslab/probability", "100");
}

static bool put_number(int fd, int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	return pwrite(fd, text, len, 0) == len;
}

/* Disarm. Return: has the fault struck? This reads and writes through copies that the
 * fault may hit instead.
 */
static bool struck(void)
{
	char text[16] = "";
	bool yes;

	yes = pread(fail_nth, text, sizeof(text) - 1, 0) > 0 && !atoi(text);
	while (!put_number(make_it_fail, 0))
		;
	while (!put_number(fail_nth, 0))
		;
	return yes;
}

/* The kernel's workers, one of which serves this module. */
static struct worker {
	int fail_nth, make_it_fail;
} workers[WORKERS];
static size_t nr_workers;

static int open_of(const char *pid, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	return open(path, O_RDWR | O_CLOEXEC);
}

static bool is_worker(const char *pid)
{
	char name[32] = "";
	int fd = open_of(pid, "comm");

	if (fd < 0)
		return false;
	(void)!read(fd, name, sizeof(name) - 1);
	close(fd);
	return !strncmp(name, "kworker/u", 9);
}

static void arm_workers(int n)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	struct worker w;

	test_demand(dir);
	while ((d = readdir(dir)) && nr_workers < WORKERS) {
		if (atoi(d->d_name) <= 0 || !is_worker(d->d_name))
			continue;
		w.fail_nth = open_of(d->d_name, "fail-nth");
		w.make_it_fail = open_of(d->d_name, "make-it-fail");
		put_number(w.fail_nth, n); /* it may have ended */
		put_number(w.make_it_fail, 1);
		workers[nr_workers++] = w;
	}
	closedir(dir);
}

/* Disarm. Return: has one of them met its fault? */
static bool workers_struck(void)
{
	bool yes = false;

	while (nr_workers) {
		struct worker *w = &workers[--nr_workers];
		char text[16] = "";

		put_number(w->make_it_fail, 0);
		yes |= pread(w->fail_nth, text, sizeof(text) - 1, 0) > 0 && !atoi(text);
		put_number(w->fail_nth, 0);
		close(w->make_it_fail);
		close(w->fail_nth);
	}
	return yes;
}

#endif /* INJECT_H */
