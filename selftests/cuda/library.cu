// SPDX-License-Identifier: GPL-2.0
/*
 * Property: the library for programs gives the core's answers: for keys at device pointers,
 * in the caller's streams, from many threads, on each of several devices; so does the
 * reference in kernels, for one thread and for tiles.
 *
 * usage: library [KEYS]    (10 million; 20,000 under emulation)
 *
 * Exit 4: no card.
 */
#include "device.h"

#include <cooperative_groups.h>
#include <epf_ref.cuh>
#include <errno.h>
#include <libepf_cuda.h>
#include <pthread.h>
#include <string.h>
#include <type_traits>

#ifndef KEYS
#define KEYS 10000000ULL
#endif
#define EPOCH 43 /* any */
#define THREADS 256u
#define ASKERS 4u
#define FULL 100 /* initial value of the counters */
#define CLAIMS 6
#define CLAIMS_ONCE 4

static_assert(std::is_trivially_copyable<struct epf_ref>::value, "kernels take it by value");

/**
 * struct side - the core's side
 * @filter: the same filter, on the devices
 * @hash: hash of the keys
 */
struct side : core {
	struct libepf_cuda *filter;
	struct epf_hash hash;
};

/* End the program if a call fails. */
static void well(int ret)
{
	if (!ret)
		return;
	printf("Bail out! %s\n", libepf_cuda_error());
	exit(1);
}

/* Fill lanes half, some of them stale. */
static void noise(void *self, __u64 first, __u64 n)
{
	struct side *s = (struct side *)self;
	__u64 *word = s->f.line->lane, i;

	for (i = first; i < first + n; i++) {
		word[i] = (epf_word(i, 1) & ~EPF_TAG_MASK) | epf_lane_tag(EPOCH, i % EPF_LANES);
		if (epf_word(i, 2) % 16 == 0)
			word[i] ^= 1ULL << EPF_TAG_SHIFT;
	}
}

static struct libepf_lines lines_of(const struct side *s)
{
	struct libepf_lines l = {};

	l.size = sizeof(l);
	l.parts = s->f.geom.parts;
	l.fields = s->f.geom.bits;
	l.hash = (uint32_t)s->hash.kind;
	l.key[0] = s->hash.key[0];
	l.key[1] = s->hash.key[1];
	l.data = s->f.line;
	l.nr = epf_geom_lines(&s->f.geom);
	l.epoch = s->epoch;
	return l;
}

static void make(struct side *s, unsigned int shape, __u64 n, const int *devices, __u32 nr)
{
	__u32 parts = shapes[shape].parts;
	__u64 lines = (n / 100 | 1) * parts, i;
	struct libepf_lines l;

	memset(s, 0, sizeof(*s));
	if (epf_geom_init(&s->f.geom, lines, parts, shapes[shape].k))
		abort();
	epf_hash_init(&s->hash, 7, 11, shape);
	s->n = n;
	s->epoch = EPOCH;
	s->f.epoch = &s->epoch;
	s->f.line = (struct epf_line *)host_memory(bytes_of(s));
	s->digest = (__u64 *)host_memory(n * sizeof(*s->digest));
	s->age = (__u8 *)host_memory(n);
	in_parallel(noise, s, lines * EPF_LANES);
	for (i = 0; i < n; i++)
		s->digest[i] = epf_word(i, 3);
	core_answer(s, n);
	l = lines_of(s);
	well(libepf_cuda_load(&l, devices, nr, &s->filter));
}

static void drop(struct side *s)
{
	libepf_cuda_free(s->filter);
	free(s->f.line);
	free(s->digest);
	free(s->age);
}

/* ---- device pointers, in a stream ---- */

/**
 * struct asked - a query under way: memory of the device, and copies of it, which the stream
 * makes
 * @key: keys on the device
 * @bytes: of all keys
 */
struct asked {
	struct libepf_cuda_query q;
	void *key;
	size_t bytes;
	__u32 *bitmap;
	__u8 *ages;
	unsigned long long count[EPF_LANES];
};

static size_t bitmap_bytes(__u64 n)
{
	return (n + 31) / 32 * sizeof(__u32);
}

/* Put everything into @stream, and wait for nothing: keys come from @key by a copy of the
 * stream, so that an answer which does not wait for them is wrong.
 */
static void ask(struct asked *a, const struct side *s, const void *key, __u64 n, __u32 len,
		int device, cudaStream_t stream)
{
	unsigned long long full[EPF_LANES];
	__u32 i;

	for (i = 0; i < EPF_LANES; i++)
		full[i] = FULL;
	memset(a, 0, sizeof(*a));
	a->bytes = n * (len ? len : sizeof(__u64));
	a->q.size = sizeof(a->q);
	a->q.device = device;
	a->q.keys = a->key = there(a->bytes);
	a->q.n = n;
	a->q.key_len = len;
	a->q.bitmap = (__u32 *)there(bitmap_bytes(n));
	a->q.ages = (__u8 *)there(n);
	a->q.count = (unsigned long long *)copied(full, sizeof(full));
	a->q.stream = stream;
	a->bitmap = (__u32 *)host_memory(bitmap_bytes(n));
	a->ages = (__u8 *)host_memory(n);
	must(cudaDeviceSynchronize());
	must(cudaMemcpyAsync(a->key, key, a->bytes, cudaMemcpyHostToDevice, stream));
	well(libepf_cuda_query(s->filter, &a->q));
	must(cudaMemcpyAsync(a->bitmap, a->q.bitmap, bitmap_bytes(n), cudaMemcpyDeviceToHost,
			     stream));
	must(cudaMemcpyAsync(a->ages, a->q.ages, n, cudaMemcpyDeviceToHost, stream));
	must(cudaMemcpyAsync(a->count, a->q.count, sizeof(a->count), cudaMemcpyDeviceToHost,
			     stream));
}

/* Wait for @a and free it. Return: NULL, or what differs from @age. */
static const char *told(struct asked *a, const __u8 *age)
{
	unsigned long long want[256] = { 0 };
	const char *wrong = NULL;
	__u64 i, n = a->q.n;

	must(cudaStreamSynchronize(a->q.stream));
	for (i = 0; i < n; i++)
		want[age[i]]++;
	for (i = 0; i < EPF_LANES; i++)
		if (a->count[i] != want[i] + FULL)
			wrong = "other counts";
	for (i = 0; i < bitmap_bytes(n) * 8 && !wrong; i++)
		if ((a->bitmap[i / 32] >> i % 32 & 1) != (i < n && age[i] != EPF_AGE_ABSENT))
			wrong = "another bitmap";
	if (!wrong && memcmp(a->ages, age, n))
		wrong = "other ages";
	cudaFree(a->key);
	cudaFree(a->q.bitmap);
	cudaFree(a->q.ages);
	cudaFree(a->q.count);
	free(a->bitmap);
	free(a->ages);
	return wrong;
}

static cudaStream_t stream_new(void)
{
	cudaStream_t stream;

	must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	return stream;
}

static const char *in_stream(const struct side *s)
{
	cudaStream_t stream = stream_new();
	struct asked a;
	const char *wrong;

	ask(&a, s, s->digest, s->n, 0, 0, stream);
	wrong = told(&a, s->age);
	ask(&a, s, s->digest, s->n, 0, 0, NULL);
	if (!wrong)
		wrong = told(&a, s->age);
	cudaStreamDestroy(stream);
	return wrong;
}

/* Two streams have work at the same time. */
static const char *two_streams(const struct side *s)
{
	static const __u64 sizes[] = { 1, 31, 33, 257, 1025 };
	const __u64 half = s->n / 2;
	cudaStream_t stream[2] = { stream_new(), stream_new() };
	const char *wrong[2];
	struct asked a[2];
	__u32 i;

	ask(&a[0], s, s->digest, half, 0, 0, stream[0]);
	ask(&a[1], s, s->digest + half, s->n - half, 0, 0, stream[1]);
	wrong[1] = told(&a[1], s->age + half);
	wrong[0] = told(&a[0], s->age);
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes) && !wrong[0]; i++) {
		ask(&a[0], s, s->digest + i, sizes[i], 0, 0, stream[i % 2]);
		wrong[0] = told(&a[0], s->age + i);
	}
	cudaStreamDestroy(stream[0]);
	cudaStreamDestroy(stream[1]);
	return wrong[0] ? wrong[0] : wrong[1];
}

/* The bytes of digests serve as keys. */
static const char *hashed(const struct side *s, __u32 len)
{
	struct side h = *s;
	cudaStream_t stream = stream_new();
	const unsigned char *bytes = (const unsigned char *)s->digest;
	const char *wrong;
	struct asked a;
	__u64 i;

	h.n = s->n * sizeof(__u64) / len / 4;
	h.digest = (__u64 *)host_memory(h.n * sizeof(*h.digest));
	h.age = (__u8 *)host_memory(h.n);
	for (i = 0; i < h.n; i++)
		h.digest[i] = epf_digest(&h.hash, bytes + i * len, len);
	core_answer(&h, h.n);
	ask(&a, s, bytes, h.n, len, 0, stream);
	wrong = told(&a, h.age);
	free(h.digest);
	free(h.age);
	cudaStreamDestroy(stream);
	return wrong;
}

static const char *keys(const struct side *s)
{
	const char *wrong = hashed(s, 8);

	if (!wrong)
		wrong = hashed(s, 13);
	return wrong ? wrong : hashed(s, 80);
}

/* ---- the reference ---- */

static __global__ void alone(struct epf_ref seen, const __u64 *digest, __u32 n, __u8 *age)
{
	__u32 i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		age[i] = (__u8)seen.age(seen.lanes(digest[i]));
}

/* Tiles whose threads all lack a key leave, and the others stay. */
static __global__ void in_tiles(struct epf_ref seen, const __u64 *digest, __u32 n, __u8 *age)
{
	auto tile = cooperative_groups::tiled_partition<4>(cooperative_groups::this_thread_block());
	__u32 i = blockIdx.x * blockDim.x + threadIdx.x, lanes;

	if (i - tile.thread_rank() >= n)
		return;
	lanes = seen.lanes(tile, digest[i < n ? i : n - 1]);
	if (i < n)
		age[i] = (__u8)seen.age(lanes);
}

static __global__ void present(struct epf_ref seen, const __u8 *key, __u32 n, __u8 *found)
{
	auto tile = cooperative_groups::tiled_partition<4>(cooperative_groups::this_thread_block());
	__u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	__u64 digest = seen.digest(key + 8 * (i < n ? i : 0), 8);
	bool both = seen.contains(digest);

	if (seen.contains(tile, digest) != both)
		found[0] = 9;
	else if (i < n)
		found[i] = both;
}

typedef void (*kernel_fn)(struct epf_ref seen, const __u64 *digest, __u32 n, __u8 *age);

static const char *by_kernel(const struct side *s, kernel_fn kernel)
{
	const __u32 n = (__u32)s->n, blocks = (n + THREADS - 1) / THREADS;
	__u64 *digest = (__u64 *)copied(s->digest, n * sizeof(*digest));
	__u8 *age = (__u8 *)there(n), *got = (__u8 *)host_memory(n);
	struct epf_ref seen;
	bool same;

	well(libepf_cuda_ref(s->filter, 0, &seen, sizeof(seen)));
	must(EPF_LAUNCH(kernel, blocks, THREADS, NULL, seen, (const __u64 *)digest, n, age));
	must(cudaDeviceSynchronize());
	to_host(got, age, n);
	same = !memcmp(got, s->age, n);
	cudaFree(digest);
	cudaFree(age);
	free(got);
	return same ? NULL : "other ages";
}

static const char *by_keys(const struct side *s)
{
	struct side h = *s;
	const __u32 n = (__u32)s->n / 4, blocks = (n + THREADS - 1) / THREADS;
	__u8 *key = (__u8 *)copied(s->digest, n * sizeof(__u64)), *there_found = (__u8 *)there(n);
	__u8 *found = (__u8 *)host_memory(n);
	const char *wrong = NULL;
	struct epf_ref seen;
	__u32 i;

	h.digest = (__u64 *)host_memory(n * sizeof(*h.digest));
	h.age = (__u8 *)host_memory(n);
	for (i = 0; i < n; i++)
		h.digest[i] = epf_digest(&h.hash, s->digest + i, 8);
	core_answer(&h, n);
	well(libepf_cuda_ref(s->filter, 0, &seen, sizeof(seen)));
	must(EPF_LAUNCH(present, blocks, THREADS, NULL, seen, (const __u8 *)key, n, there_found));
	must(cudaDeviceSynchronize());
	to_host(found, there_found, n);
	for (i = 0; i < n && !wrong; i++)
		if (found[i] != (h.age[i] != EPF_AGE_ABSENT))
			wrong = found[i] > 1 ? "a tile and a thread differ" : "other answers";
	cudaFree(key);
	cudaFree(there_found);
	free(found);
	free(h.digest);
	free(h.age);
	return wrong;
}

static void claim_shape(unsigned int shape, __u64 n)
{
	struct side s;
	char name[16];

	snprintf(name, sizeof(name), "L=%u k=%u", shapes[shape].parts, shapes[shape].k);
	make(&s, shape, n, NULL, 0);
	claim(in_stream(&s), name, "digests at a device pointer, in the caller's stream");
	claim(two_streams(&s), name, "two streams; few keys");
	claim(keys(&s), name, "keys at a device pointer");
	claim(by_kernel(&s, alone), name, "the reference, one thread");
	claim(by_kernel(&s, in_tiles), name, "the reference, tiles");
	claim(by_keys(&s), name, "the reference, keys");
	drop(&s);
}

/* ---- threads and devices ---- */

struct asker {
	const struct side *s;
	const char *wrong;
	__u64 first, n;
};

static void *asks(void *arg)
{
	struct asker *k = (struct asker *)arg;
	cudaStream_t stream = stream_new();
	struct asked a;
	int i;

	for (i = 0; i < 3 && !k->wrong; i++) {
		ask(&a, k->s, k->s->digest + k->first, k->n, 0, 0, stream);
		k->wrong = told(&a, k->s->age + k->first);
	}
	cudaStreamDestroy(stream);
	return NULL;
}

static void claim_threads(__u64 n)
{
	const char *wrong = NULL;
	struct asker k[ASKERS];
	pthread_t thread[ASKERS];
	struct side s;
	__u32 i;

	make(&s, 0, n, NULL, 0);
	for (i = 0; i < ASKERS; i++) {
		k[i] = { &s, NULL, i * (n / ASKERS), n / ASKERS };
		if (pthread_create(&thread[i], NULL, asks, &k[i]))
			abort();
	}
	for (i = 0; i < ASKERS; i++) {
		pthread_join(thread[i], NULL);
		wrong = wrong ? wrong : k[i].wrong;
	}
	tap_sound(wrong, "many threads, each in its own stream");
	drop(&s);
}

/* Each device answers for its share of the keys, and device 0 stays the current one. */
static const char *sharded(const struct side *s)
{
	const __u64 half = s->n / 2 / 32 * 32;
	cudaStream_t stream[2];
	struct libepf_cuda_query again;
	const char *wrong[2];
	struct asked a[2];
	int i, now = -1;

	for (i = 0; i < 2; i++) {
		must(cudaSetDevice(i));
		stream[i] = stream_new();
		ask(&a[i], s, s->digest + i * half, i ? s->n - half : half, 0, i, stream[i]);
	}
	must(cudaSetDevice(0));
	again = a[1].q;
	again.count = NULL; /* as a[1] counts once */
	well(libepf_cuda_query(s->filter, &again));
	must(cudaGetDevice(&now));
	for (i = 0; i < 2; i++)
		wrong[i] = told(&a[i], s->age + i * half);
	if (now)
		return "another device is current";
	cudaStreamDestroy(stream[0]);
	cudaStreamDestroy(stream[1]);
	return wrong[0] ? wrong[0] : wrong[1];
}

/* A kernel that reads another device's memory would end CUDA in this process. */
static const char *refused_memory(const struct side *s)
{
	struct libepf_cuda_query q = { sizeof(q) };
	void *here = NULL, *there = NULL;
	const char *fault = NULL;

	well(libepf_cuda_alloc(0, 4096, &here));
	well(libepf_cuda_alloc(1, 4096, &there));
	q.n = 4;
	q.keys = there;
	q.bitmap = (__u32 *)here;
	if (libepf_cuda_query(s->filter, &q) != -EINVAL || !strstr(libepf_cuda_error(), "keys"))
		fault = "keys of another device";
	q.keys = here;
	q.bitmap = (__u32 *)there;
	if (libepf_cuda_query(s->filter, &q) != -EINVAL)
		fault = "a bitmap of another device";
	libepf_cuda_release(0, here);
	libepf_cuda_release(1, there);
	return fault;
}

static const char *two_devices(const struct side *s)
{
	const char *fault = *libepf_cuda_error() ? "an error was told, and none was" : sharded(s);

	return fault ? fault : refused_memory(s);
}

static void claim_devices(__u64 n)
{
	static const int devices[] = { 1, 0 };
	struct side s;
	int cards = 0;

	must(cudaGetDeviceCount(&cards));
	if (cards < 2) {
		tap_ok(true, "keys sharded over two devices # SKIP one card");
		return;
	}
	make(&s, 1, n, devices, 2);
	tap_sound(two_devices(&s), "keys sharded over two devices");
	drop(&s);
}

/* ---- what is refused ---- */

static const char *refused_queries(const struct side *s, struct libepf_cuda_query q)
{
	__u64 digest[4] = { 0 };
	struct libepf_cuda_query w = q;
	struct {
		struct libepf_cuda_query q;
		__u64 more;
	} longer = { q, 1 };

	if (libepf_cuda_query(NULL, &q) != -ENODEV || libepf_cuda_query(s->filter, NULL) != -EINVAL)
		return "NULL";
	w.size = 8;
	if (libepf_cuda_query(s->filter, &w) != -EINVAL)
		return "a short struct";
	longer.q.size = sizeof(longer);
	if (libepf_cuda_query(s->filter, &longer.q) != -E2BIG)
		return "an unknown option";
	w = q;
	w.device = 5;
	if (libepf_cuda_query(s->filter, &w) != -ENODEV || !strstr(libepf_cuda_error(), "device 5"))
		return "another device";
	w = q;
	w.keys = digest;
	if (libepf_cuda_query(s->filter, &w) != -EINVAL || !strstr(libepf_cuda_error(), "keys"))
		return "keys of the host";
	w = q;
	w.bitmap = NULL;
	if (libepf_cuda_query(s->filter, &w) != -EINVAL)
		return "no bitmap";
	w = q;
	w.count = (unsigned long long *)((char *)q.bitmap + 4);
	if (libepf_cuda_query(s->filter, &w) != -EINVAL)
		return "counters that are not aligned";
	w = q;
	w.key_len = EPF_KEY_MAX + 1;
	if (libepf_cuda_query(s->filter, &w) != -EINVAL)
		return "long keys";
	w = q;
	w.n = 0;
	w.keys = NULL;
	return libepf_cuda_query(s->filter, &w) ? "no keys" : NULL;
}

static const char *refused_lines(const struct side *s)
{
	static const int twice[] = { 0, 0 }, gone[] = { 99 };
	struct libepf_cuda *filter = s->filter;
	struct libepf_lines l = lines_of(s), w = l;
	struct epf_ref ref;

	if (libepf_cuda_load(&l, twice, 2, &filter) != -EINVAL || filter)
		return "a device named twice";
	if (libepf_cuda_load(&l, gone, 1, &filter) != -ENODEV || filter)
		return "a device that is not there";
	w.parts = 3;
	if (libepf_cuda_load(&w, NULL, 0, &filter) != -EINVAL)
		return "three lines of a key";
	w = l;
	w.epoch = EPF_EPOCH_FIRST - 1;
	if (libepf_cuda_load(&w, NULL, 0, &filter) != -EINVAL)
		return "an epoch that cannot be";
	w = l;
	w.data = (const char *)l.data + 4;
	if (libepf_cuda_load(&w, NULL, 0, &filter) != -EINVAL)
		return "lines that are not aligned";
	if (libepf_cuda_ref(s->filter, 0, &ref, sizeof(ref) - 8) != -EINVAL ||
	    libepf_cuda_ref(s->filter, 7, &ref, sizeof(ref)) != -ENODEV)
		return "a reference of another size or device";
	return NULL;
}

static void claim_refused(__u64 n)
{
	struct libepf_cuda_query q = {};
	void *memory = NULL;
	struct side s;

	make(&s, 0, n, NULL, 0);
	well(libepf_cuda_alloc(0, 4096, &memory));
	q.size = sizeof(q);
	q.keys = memory;
	q.n = 4;
	q.bitmap = (__u32 *)memory + 64;
	tap_sound(refused_queries(&s, q), "queries that cannot be");
	tap_sound(refused_lines(&s), "lines and devices that cannot be");
	libepf_cuda_release(0, memory);
	libepf_cuda_release(0, NULL);
	libepf_cuda_free(NULL);
	drop(&s);
}

int main(int argc, char **argv)
{
	__u64 n = argc > 1 ? strtoull(argv[1], NULL, 10) : KEYS;
	unsigned int i;

	setenv("EPF_EMU_DEVICES", "2", 0); /* of the emulation */
	if (no_card())
		return TAP_SKIPPED;
	if (n < 10000) /* enough for the smallest lines */
		n = 10000;
	n |= 5; /* a bitmap that does not end at a byte */
	tap_plan(CLAIMS * SHAPES + CLAIMS_ONCE);
	for (i = 0; i < SHAPES; i++)
		claim_shape(i, n);
	claim_threads(n);
	claim_devices(n);
	claim_refused(n);
	return tap_end();
}
