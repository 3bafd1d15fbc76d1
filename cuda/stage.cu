// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Copies into and out of pinned memory, by threads that live as long as the
 * process, because a single thread is slower than the link. Threads take chunks
 * in the order in which copies were begun, so the next copy proceeds while one
 * is waited for.
 */
#include "engine.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#ifdef __x86_64__
#include <emmintrin.h>
#endif

#define THREADS 16u /* the most that copy; the caller is one of them */
#define CHUNK_BYTES (256u << 10)
#define CACHE_LINE 64u

/**
 * struct pool - the threads and their work
 * @begun: number of threads, without the caller
 * @wanted: number of threads that may copy; the others wait
 * @chunk: bytes of a chunk, a multiple of CACHE_LINE
 * @first: list of copies with chunks that no thread has taken
 * @last: end of that list
 */
/* clang-format off */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t todo;
	pthread_cond_t done;
	__u32 begun;
	__u32 wanted;
	size_t chunk;
	struct stage *first;
	struct stage **last;
} pool = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
	   PTHREAD_COND_INITIALIZER, 0, 0, 0, NULL, NULL };
/* clang-format on */

/* Copy past the caches, because the CPU does not read the copy. Return: bytes
 * copied, which are whole cache lines. @to is aligned to 16.
 */
static size_t copy_past(char *to, const char *from, size_t bytes)
{
	size_t at = 0;

#ifdef __x86_64__
	for (; at + CACHE_LINE <= bytes; at += CACHE_LINE) {
		const __m128i *source = (const __m128i *)(const void *)(from + at);
		__m128i *dest = (__m128i *)(void *)(to + at);
		__m128i a = _mm_loadu_si128(source);
		__m128i b = _mm_loadu_si128(source + 1);
		__m128i c = _mm_loadu_si128(source + 2);
		__m128i d = _mm_loadu_si128(source + 3);

		_mm_stream_si128(dest, a);
		_mm_stream_si128(dest + 1, b);
		_mm_stream_si128(dest + 2, c);
		_mm_stream_si128(dest + 3, d);
	}
#endif
	return at;
}

static void word_past(__u64 *to, __u64 v)
{
#ifdef __x86_64__
	_mm_stream_si64((long long *)to, (long long)v);
#else
	*to = v;
#endif
}

static void words_past(char *to, const char *from, size_t bytes)
{
	const __u64 *source = (const __u64 *)(const void *)from;
	__u64 *dest = (__u64 *)(void *)to;
	size_t i;

	for (i = 0; i < bytes / sizeof(*dest); i++)
		word_past(&dest[i], epf_load(&source[i]));
}

/* Order the stores past the caches before all later stores. */
static void all_past(void)
{
#ifdef __x86_64__
	_mm_sfence();
#endif
}

static void copy(const struct stage *s, size_t at, size_t bytes)
{
	const char *from = s->from + at;
	char *to = s->to + at;
	size_t past = 0;

	if (s->sort == STAGE_LINES) {
		words_past(to, from, bytes);
		past = bytes;
	} else if (s->sort == STAGE_KEYS) {
		past = copy_past(to, from, bytes);
	}
	memcpy(to + past, from + past, bytes - past);
	all_past();
}

/* Copy one chunk. The caller holds the lock, which is released during the copy.
 * Return: false if there was none.
 */
static bool copy_chunk(void)
{
	struct stage *s = pool.first;
	size_t at, n;

	if (!s)
		return false;
	at = s->taken;
	n = s->bytes - at < pool.chunk ? s->bytes - at : pool.chunk;
	s->taken += n;
	if (s->taken == s->bytes)
		pool.first = s->next;
	pthread_mutex_unlock(&pool.lock);
	copy(s, at, n);
	pthread_mutex_lock(&pool.lock);
	s->left -= n;
	if (!s->left)
		pthread_cond_broadcast(&pool.done);
	return true;
}

static void *work(void *arg)
{
	__u32 number = (__u32)(uintptr_t)arg;

	pthread_mutex_lock(&pool.lock);
	for (;;)
		if (number >= pool.wanted || !copy_chunk())
			pthread_cond_wait(&pool.todo, &pool.lock);
	return NULL;
}

/* Start a thread with all signals blocked, so that the program's signals go
 * elsewhere.
 */
static bool begin_thread(__u32 number)
{
	sigset_t all, before;
	pthread_t thread;
	bool begun;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	begun = !pthread_create(&thread, NULL, work, (void *)(uintptr_t)number);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (begun)
		pthread_detach(thread);
	return begun;
}

/* Return: the number of threads besides the caller. */
static __u32 threads_for(__u32 want)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	__u32 most = (__u32)card_setting("EPF_CUDA_THREADS", THREADS);
	__u32 n = want ? want : cpus < 1 ? 1 : (__u32)cpus;

	return (n < most ? n : most) - 1;
}

static void append(struct stage *s, __u32 threads)
{
	pthread_mutex_lock(&pool.lock);
	pool.wanted = threads_for(threads);
	while (pool.begun < pool.wanted && begin_thread(pool.begun))
		pool.begun++;
	if (!pool.first)
		pool.last = &pool.first;
	*pool.last = s;
	pool.last = &s->next;
	pthread_cond_broadcast(&pool.todo);
	pthread_mutex_unlock(&pool.lock);
}

/* Threads of several cards may come first at the same time. */
static void begin_pool(void)
{
	pthread_mutex_lock(&pool.lock);
	if (!pool.chunk)
		pool.chunk = (card_setting("EPF_CUDA_CHUNK", CHUNK_BYTES) + CACHE_LINE - 1) &
			     ~(size_t)(CACHE_LINE - 1);
	pthread_mutex_unlock(&pool.lock);
}

void stage_begin(struct stage *s, void *to, const void *from, size_t bytes, enum stage_sort sort,
		 __u32 threads)
{
	begin_pool();
	stage_end(s);
	s->to = (char *)to;
	s->from = (const char *)from;
	s->bytes = bytes;
	s->taken = 0;
	s->left = bytes;
	s->sort = sort;
	s->next = NULL;
	if (bytes > pool.chunk) {
		append(s, threads);
	} else {
		copy(s, 0, bytes);
		s->left = 0;
	}
}

void stage_end(struct stage *s)
{
	pthread_mutex_lock(&pool.lock);
	while (s->left)
		if (!copy_chunk())
			pthread_cond_wait(&pool.done, &pool.lock);
	pthread_mutex_unlock(&pool.lock);
}
