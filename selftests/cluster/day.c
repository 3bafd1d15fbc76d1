// SPDX-License-Identifier: GPL-2.0
/*
 * To be preloaded into an agent: its clock of the day is wrong by as many nanoseconds as are
 * in the file EPF_DAY, a word that others may change at any time. Deadlines by that clock
 * are translated when they are passed to the C library.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SEC 1000000000LL
#define SLICE_NS (SEC / 100)
#define DAYS_FROM_SEC 1000000000LL /* a deadline below this is one by CLOCK_MONOTONIC */

static const long long *wrong_by;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("EPF_DAY");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map = mmap(NULL, sizeof(*wrong_by), PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		abort();
	wrong_by = map;
}

static void shift(struct timespec *ts, long long by)
{
	long long ns = ts->tv_sec * SEC + ts->tv_nsec + by;

	ts->tv_sec = ns / SEC;
	ts->tv_nsec = ns % SEC;
}

static long long now_wrong_by(void)
{
	return wrong_by ? __atomic_load_n(wrong_by, __ATOMIC_RELAXED) : 0;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int ret = (int)syscall(SYS_clock_gettime, id, ts);

	if (!ret && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		shift(ts, now_wrong_by());
	return ret;
}

int gettimeofday(struct timeval *tv, void *zone)
{
	struct timespec ts;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &ts);
	*tv = (struct timeval){ ts.tv_sec, ts.tv_nsec / 1000 };
	return 0;
}

time_t time(time_t *to)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (to)
		*to = ts.tv_sec;
	return ts.tv_sec;
}

static bool before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* Slices by a clock that nobody sets, because the wrong one may jump meanwhile. */
static int wait_wrong(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *until)
{
	struct timespec ts;
	int ret;

	clock_gettime(CLOCK_REALTIME, &ts);
	while (before(&ts, until)) {
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
		shift(&ts, SLICE_NS);
		ret = pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, &ts);
		if (ret != ETIMEDOUT)
			return ret;
		clock_gettime(CLOCK_REALTIME, &ts);
	}
	return ETIMEDOUT;
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
			   const struct timespec *until)
{
	if (until->tv_sec < DAYS_FROM_SEC)
		return pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, until);
	return wait_wrong(cond, lock, until);
}
