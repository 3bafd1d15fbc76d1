// SPDX-License-Identifier: GPL-2.0
/* Copies into and out of pinned memory: one thread is slower than the link. */
#include "engine.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 8u
#define PIECE_BYTES (4u << 20) /* for less no thread is begun */

/**
 * struct part - of one thread
 */
struct part {
	char *to;
	const char *from;
	size_t bytes;
	bool words;
	pthread_t thread;
};

static void copy_words(char *to, const char *from, size_t bytes)
{
	const __u64 *source = (const __u64 *)(const void *)from;
	__u64 *dest = (__u64 *)(void *)to;
	size_t i;

	for (i = 0; i < bytes / sizeof(*dest); i++)
		dest[i] = epf_load(&source[i]);
}

static void *copy(void *arg)
{
	const struct part *p = (const struct part *)arg;

	if (p->words)
		copy_words(p->to, p->from, p->bytes);
	else
		memcpy(p->to, p->from, p->bytes);
	return NULL;
}

static __u32 threads_for(size_t bytes, __u32 want)
{
	size_t most = bytes / PIECE_BYTES + 1;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	__u32 n = want ? want : cpus < 1 ? 1 : (__u32)cpus;

	if (n > THREADS_MAX)
		n = THREADS_MAX;
	return n < most ? n : (__u32)most;
}

void stage_copy(void *to, const void *from, size_t bytes, bool words,
		__u32 threads)
{
	struct part part[THREADS_MAX];
	__u32 n = threads_for(bytes, threads), i;
	size_t each = (bytes / n + 63) & ~(size_t)63, at = 0;
	bool begun[THREADS_MAX] = { false };

	for (i = 0; i < n; i++) {
		struct part *p = &part[i];

		p->to = (char *)to + at;
		p->from = (const char *)from + at;
		p->bytes = bytes - at < each || i + 1 == n ? bytes - at : each;
		p->words = words;
		at += p->bytes;
		begun[i] = i + 1 < n &&
			   !pthread_create(&p->thread, NULL, copy, p);
		if (!begun[i])
			copy(p);
	}
	for (i = 0; i < n; i++)
		if (begun[i])
			pthread_join(part[i].thread, NULL);
}
