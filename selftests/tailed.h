/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests of tails (libepf/tail.h) that are the same for both backends. Key n has a digest of its
 * own; @seen says how often each was handed out.
 */
#ifndef EPF_TAILED_H
#define EPF_TAILED_H

#include "core/tap.h"

#include <epf/hash.h>

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "backend.h"
#include "epf.h"
#include "tail.h"

#define ORDER 14u
#define ROUNDS 64u
#define EACH 128u /* keys of a round */
#define KEYS (ROUNDS * EACH)

static __u8 seen[KEYS]; /* how often each key was handed out */
static __u64 lost, foreign;
static __u64 room[2 * KEYS];

static inline __u64 tailed_key(__u32 n)
{
	return epf_word(n + 1, 1);
}

/* The number of @digest, or KEYS. */
static inline __u32 tailed_number(__u64 digest)
{
	static __u64 table[1 << 15];
	static __u32 number[1 << 15], i;
	__u32 at;

	for (; i < KEYS; i++) {
		for (at = (__u32)(tailed_key(i) >> 49); table[at]; at = (at + 1) & 0x7fff)
			;
		table[at] = tailed_key(i);
		number[at] = i;
	}
	for (at = (__u32)(digest >> 49); table[at] && table[at] != digest; at = (at + 1) & 0x7fff)
		;
	return table[at] == digest ? number[at] : KEYS;
}

static inline bool tailed_insert(int filter, unsigned long cmd, __u32 first, __u32 count)
{
	__u64 digests[EACH];
	struct epf_batch b = { .size = sizeof(b) };
	__u32 i;

	for (; count; count -= b.count, first += b.count) {
		b.count = count < EACH ? count : EACH;
		for (i = 0; i < b.count; i++)
			digests[i] = tailed_key(first + i);
		b.keys = (__u64)(uintptr_t)digests;
		b.flags = EPF_BATCH_DIGESTS;
		b.done = b.present = 0;
		if (epf_call(filter, cmd, &b))
			return false;
	}
	return true;
}

/* Read to the end. Return: digests; or an error. */
static inline long tailed_read_all(struct epf_tail *t, size_t at_once)
{
	long sum = 0, n, i;

	do {
		n = epf_tail_read(t, room, at_once, &lost);
		if (n < 0)
			return n;
		for (i = 0; i < n; i++) {
			__u32 k = tailed_number(room[i]);

			if (k < KEYS)
				seen[k]++;
			else
				foreign++;
		}
		sum += n;
	} while ((size_t)n == at_once);
	return sum;
}

static inline void tailed_forget(void)
{
	memset(seen, 0, sizeof(seen));
	lost = foreign = 0;
}

/* Were keys @first .. @first + @count - 1 handed out, @least .. @most times each? */
static inline bool tailed_handed(__u32 first, __u32 count, __u8 least, __u8 most)
{
	__u32 i;

	for (i = first; i < first + count; i++)
		if (seen[i] < least || seen[i] > most) {
			printf("# key %u: %u times\n", i, seen[i]);
			return false;
		}
	return true;
}

/* Insert keys twice, and again in the next epoch. TAILED_NEW test points. */
#define TAILED_NEW 3
static inline void tailed_new(int fd, struct epf_tail *t, __u32 parts, unsigned long cmd,
			      const char *what)
{
	bool good = fd >= 0 && t && tailed_insert(fd, cmd, 0, 1000) &&
		    tailed_read_all(t, 2 * KEYS) == 1000;

	tap_ok(good && tailed_handed(0, 1000, 1, 1) && !lost, "L = %u, %s: each key, once", parts,
	       what);
	good = good && tailed_insert(fd, cmd, 0, 1000) && !tailed_read_all(t, 2 * KEYS);
	tap_ok(good && !lost, "L = %u, %s: no repeat in the same epoch", parts, what);
	good = good && !epf_filter_rotate(fd, 1, NULL) && tailed_insert(fd, cmd, 0, 1500) &&
	       tailed_read_all(t, 100) == 1500;
	tap_ok(good && tailed_handed(0, 1000, 2, 2) && tailed_handed(1000, 500, 1, 1) && !lost &&
		       !foreign,
	       "L = %u, %s: in the next epoch again, in small pieces", parts, what);
}

/* The second thread: its descriptor, whether it runs, and whether all went well. */
static struct tailed_other {
	int fd;
	unsigned int start;
	bool good;
} other;

static inline void *tailed_insert_too(void *arg)
{
	__u32 i;

	(void)arg;
	__atomic_store_n(&other.start, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < ROUNDS; i++)
		if (!tailed_insert(other.fd, EPF_IOC_TEST_AND_INSERT, i * EACH, EACH))
			other.good = false;
	return NULL;
}

/* Two insert the same keys at once. After each round, what had been inserted has been handed
 * out, whichever of the two set the bits. TAILED_RACE test points.
 */
#define TAILED_RACE 2
static inline void tailed_race(int fd, int second, struct epf_tail *t)
{
	bool good = fd >= 0 && t, all = true;
	pthread_t thread;
	__u32 i;

	other = (struct tailed_other){ .fd = second, .good = second >= 0 };
	if (good && !pthread_create(&thread, NULL, tailed_insert_too, NULL)) {
		while (!__atomic_load_n(&other.start, __ATOMIC_SEQ_CST))
			sched_yield();
		for (i = 0; i < ROUNDS && good; i++) {
			good = tailed_insert(fd, EPF_IOC_TEST_AND_INSERT, i * EACH, EACH) &&
			       tailed_read_all(t, 2 * KEYS) >= 0;
			all = all && tailed_handed(i * EACH, EACH, 1, 2);
		}
		pthread_join(thread, NULL);
	}
	tap_ok(good && other.good && all,
	       "two insert the same keys: what has returned is handed out");
	good = good && tailed_read_all(t, 2 * KEYS) >= 0;
	tap_ok(good && tailed_handed(0, KEYS, 1, 2) && !lost && !foreign,
	       "and all, with nothing lost");
}

/* More records than the rings, of 16 records each, have. TAILED_OVERRUN test points. */
#define TAILED_OVERRUN 2
static inline void tailed_overrun(int fd, struct epf_tail *t)
{
	bool good = fd >= 0 && t && tailed_insert(fd, EPF_IOC_INSERT, 0, 1000);
	long n = good ? tailed_read_all(t, 64) : -1;

	tap_ok(n > 0 && n < 1000 && (__u64)n + lost == 1000 && !foreign,
	       "records that were overwritten are counted as lost, exactly");
	tailed_forget();
	good = n > 0 && tailed_insert(fd, EPF_IOC_INSERT, 1000, 10) && tailed_read_all(t, 64) == 10;
	tap_ok(good && tailed_handed(1000, 10, 1, 1) && !lost, "after that nothing is lost");
}

#endif /* EPF_TAILED_H */
