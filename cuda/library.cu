// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The library for programs (libepf_cuda.h). Lines are copied to each device once;
 * a query is one launch in the stream of the caller, and changes nothing here.
 * So there is no lock.
 */
#include "engine.h"
#include "epf_ref.cuh"

#include <errno.h>
#include <libepf_cuda.h>
#include <stdlib.h>
#include <string.h>

#define SINK_BYTES (EPF_LANES * sizeof(unsigned long long))
/* The sizes of structs when first published. */
#define LINES_FIRST (offsetof(struct libepf_lines, epoch) + sizeof(__u64))
#define QUERY_FIRST (offsetof(struct libepf_cuda_query, stream) + sizeof(void *))

/**
 * struct copy - lines on a device
 * @device: its number
 * @lines: the lines
 * @sink: counters behind the lines, for queries that count nothing
 */
struct copy {
	int device;
	struct epf_cu_lines lines;
	unsigned long long *sink;
};

/**
 * struct libepf_cuda - a filter
 * @hash: hash of the keys
 * @nr: number of copies
 */
struct libepf_cuda {
	struct epf_hash hash;
	__u32 nr;
	struct copy copy[LIBEPF_CUDA_DEVICES];
};

static thread_local struct epf_cuda_error why;

const char *libepf_cuda_error(void)
{
	return why.text;
}

/* Make @device current. Unless this fails, card_return() follows. */
static int enter(struct borrowed *theirs, int device)
{
	cudaError_t err;
	int ret = card_claim(&why), nr;

	if (ret)
		return ret;
	/* asked first: a call with a wrong number is an error for compute-sanitizer */
	if (!cudaGetDeviceCount(&nr) && (device < 0 || device >= nr))
		return card_wrong(&why, -ENODEV, "there is no device %d", device);
	err = card_borrow(theirs, device);
	if (!err)
		return 0;
	card_return(theirs, device);
	return card_fails(&why, err, "device %d cannot be used", device);
}

/* Take a struct of options that begins with its size, of @first bytes when first published. */
static int take(void *to, __u32 known, __u32 first, const void *from)
{
	const unsigned char *bytes = (const unsigned char *)from;
	__u32 size, i;

	memset(to, 0, known);
	if (!from)
		return card_wrong(&why, -EINVAL, "an argument is NULL");
	memcpy(&size, from, sizeof(size));
	if (size < first)
		return card_wrong(&why, -EINVAL, "a struct of %u bytes: set its size", size);
	for (i = known; i < size; i++)
		if (bytes[i])
			return card_wrong(&why, -E2BIG, "this library knows no such option");
	memcpy(to, from, size < known ? size : known);
	return 0;
}

/* ---- loading ---- */

/* @from is read once: the caller's memory may change. */
static int lines_of(const struct libepf_lines *from, struct epf_cu_lines *to, struct epf_hash *hash)
{
	struct libepf_lines l;
	int ret = take(&l, sizeof(l), LINES_FIRST, from);

	if (ret)
		return ret;
	to->line = (struct epf_line *)(uintptr_t)l.data;
	to->epoch = l.epoch;
	if (!l.data || (uintptr_t)l.data % sizeof(__u64) || l.epoch < EPF_EPOCH_FIRST ||
	    l.hash > EPF_HASH_MAX || l.parts > EPF_PARTS_MAX || l.fields > EPF_PART_BITS_MAX ||
	    epf_geom_init(&to->geom, l.nr, l.parts, l.parts * l.fields))
		return card_wrong(&why, -EINVAL, "no filter has these lines");
	epf_hash_init(hash, l.key[0], l.key[1], l.hash);
	return 0;
}

static size_t bytes_of(const struct epf_cu_lines *f)
{
	return epf_geom_lines(&f->geom) * EPF_LINE_BYTES;
}

/* Copy, or set to zero if @from is NULL, in a stream of its own, which does not wait for
 * others; wait for it.
 */
static cudaError_t carry(void *to, const void *from, size_t bytes)
{
	cudaStream_t stream;
	cudaError_t err = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);

	if (err)
		return err;
	if (from)
		err = cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream);
	else
		err = cudaMemsetAsync(to, 0, bytes, stream);
	if (!err)
		err = cudaStreamSynchronize(stream);
	cudaStreamDestroy(stream);
	return err;
}

/* Fill @c from lines of the host; its device is current. */
static int fill(struct copy *c, const struct epf_cu_lines *host)
{
	size_t bytes = bytes_of(host);
	cudaError_t err;
	void *to;
	int ret = card_alloc(&to, bytes + SINK_BYTES, "lines", &why);

	if (ret)
		return ret;
	err = carry(to, host->line, bytes);
	if (err) {
		cudaFree(to);
		return card_fails(&why, err, "copying lines to device %d", c->device);
	}
	c->lines = *host;
	c->lines.line = (struct epf_line *)to;
	c->sink = (unsigned long long *)(void *)((char *)to + bytes);
	return 0;
}

static int place(struct copy *c, int device, const struct epf_cu_lines *host)
{
	struct borrowed theirs;
	int ret = enter(&theirs, device);

	if (ret)
		return ret;
	c->device = device;
	ret = fill(c, host);
	card_return(&theirs, device);
	return ret;
}

static const struct copy *find_copy(const struct libepf_cuda *f, int device)
{
	__u32 i;

	for (i = 0; f && i < f->nr; i++)
		if (f->copy[i].device == device)
			return &f->copy[i];
	return NULL;
}

/* Likewise; NULL is an error. */
static const struct copy *copy_on(const struct libepf_cuda *f, int device)
{
	const struct copy *c = find_copy(f, device);

	if (!c)
		card_wrong(&why, -ENODEV, "the filter was not loaded to device %d", device);
	return c;
}

static int place_all(struct libepf_cuda *f, const struct epf_cu_lines *host, const int *devices,
		     __u32 nr)
{
	int ret = 0;

	while (f->nr < nr && !ret) {
		int device = devices[f->nr];

		if (find_copy(f, device))
			return card_wrong(&why, -EINVAL, "device %d is named twice", device);
		ret = place(&f->copy[f->nr], device, host);
		f->nr += !ret;
	}
	return ret;
}

int libepf_cuda_load(const struct libepf_lines *lines, const int *devices, uint32_t nr,
		     struct libepf_cuda **filter)
{
	static const int first = CARD;
	struct epf_cu_lines host;
	struct libepf_cuda *f;
	struct epf_hash hash;
	int ret;

	if (!filter)
		return card_wrong(&why, -EINVAL, "an argument is NULL");
	*filter = NULL;
	if (devices ? !nr || nr > LIBEPF_CUDA_DEVICES : nr)
		return card_wrong(&why, -EINVAL, "%u devices: 1 to %u", nr, LIBEPF_CUDA_DEVICES);
	ret = lines_of(lines, &host, &hash);
	if (ret)
		return ret;
	f = (struct libepf_cuda *)calloc(1, sizeof(*f));
	if (f)
		f->hash = hash;
	explicit_bzero(&hash, sizeof(hash));
	if (!f)
		return card_wrong(&why, -ENOMEM, "out of memory");
	ret = place_all(f, &host, devices ? devices : &first, devices ? nr : 1);
	if (ret)
		libepf_cuda_free(f);
	else
		*filter = f;
	return ret;
}

void libepf_cuda_free(struct libepf_cuda *f)
{
	struct epf_cuda_error kept = why;
	__u32 i;

	for (i = 0; f && i < f->nr; i++)
		libepf_cuda_release(f->copy[i].device, f->copy[i].lines.line);
	if (f)
		explicit_bzero(&f->hash, sizeof(f->hash));
	free(f);
	why = kept;
}

/* ---- lookups ---- */

/* Is this memory of @device, or managed, or pinned? A kernel that reads that of another
 * device fails, unless the program has allowed it, and then the process is lost for CUDA.
 */
static bool accessible(const void *p, int device)
{
	struct cudaPointerAttributes a;

	if (!cudaPointerGetAttributes(&a, p))
		return a.type == cudaMemoryTypeDevice ? a.device == device :
							a.type != cudaMemoryTypeUnregistered;
	cudaGetLastError();
	return false;
}

static int check(const struct libepf_cuda_query *q)
{
	if (q->key_len > EPF_KEY_MAX || q->reserved)
		return card_wrong(&why, -EINVAL, "keys of %u bytes: at most %u", q->key_len,
				  EPF_KEY_MAX);
	if (q->n > PTRDIFF_MAX / (q->key_len ? q->key_len : sizeof(__u64)))
		return card_wrong(&why, -EINVAL, "too many keys");
	if (!accessible(q->keys, q->device))
		return card_wrong(&why, -EINVAL, "the keys are not in memory of the device");
	if (!accessible(q->bitmap, q->device) || (uintptr_t)q->bitmap % sizeof(__u32))
		return card_wrong(&why, -EINVAL,
				  "the bitmap is not in memory of the device, or "
				  "not aligned to 4");
	if (q->ages && !accessible(q->ages, q->device))
		return card_wrong(&why, -EINVAL, "the ages are not in memory of the device");
	if (q->count &&
	    (!accessible(q->count, q->device) || (uintptr_t)q->count % sizeof(*q->count)))
		return card_wrong(&why, -EINVAL,
				  "the counters are not in memory of the device, "
				  "or not aligned to 8");
	return 0;
}

static int launch(const struct libepf_cuda *f, const struct copy *c,
		  const struct libepf_cuda_query *q)
{
	const struct epf_cu_keys keys = { q->keys, q->n, q->key_len, f->hash };
	int ret = check(q);
	cudaError_t err;

	if (ret)
		return ret;
	err = epf_cu_query(&c->lines, &keys, q->bitmap, q->ages, q->count ? q->count : c->sink,
			   q->stream);
	return err ? card_fails(&why, err, "a query on device %d", c->device) : 0;
}

int libepf_cuda_query(const struct libepf_cuda *filter, const struct libepf_cuda_query *query)
{
	struct libepf_cuda_query q;
	struct borrowed theirs;
	const struct copy *c;
	int ret = take(&q, sizeof(q), QUERY_FIRST, query);

	if (ret)
		return ret;
	c = copy_on(filter, q.device);
	if (!c)
		return -ENODEV;
	if (!q.n)
		return 0;
	ret = enter(&theirs, q.device);
	if (ret)
		return ret;
	ret = launch(filter, c, &q);
	card_return(&theirs, q.device);
	return ret;
}

int libepf_cuda_ref(const struct libepf_cuda *filter, int device, struct epf_ref *ref, size_t size)
{
	const struct copy *c;

	if (!ref || size != sizeof(*ref))
		return card_wrong(&why, -EINVAL, "this epf_ref.cuh is of another version");
	c = copy_on(filter, device);
	if (!c)
		return -ENODEV;
	ref->line = c->lines.line;
	ref->geom = c->lines.geom;
	ref->epoch = c->lines.epoch;
	ref->hash = filter->hash;
	return 0;
}

/* ---- memory ---- */

static int zeros(void **memory, size_t bytes)
{
	int ret = card_alloc(memory, bytes, "a program", &why);
	cudaError_t err;

	if (ret)
		return ret;
	err = carry(*memory, NULL, bytes);
	if (!err)
		return 0;
	cudaFree(*memory);
	*memory = NULL;
	return card_fails(&why, err, "clearing memory of a device");
}

int libepf_cuda_alloc(int device, size_t bytes, void **memory)
{
	struct borrowed theirs;
	int ret;

	if (!memory || !bytes)
		return card_wrong(&why, -EINVAL, "no bytes, or no place for the result");
	*memory = NULL;
	ret = enter(&theirs, device);
	if (ret)
		return ret;
	ret = zeros(memory, bytes);
	card_return(&theirs, device);
	return ret;
}

int libepf_cuda_fetch(int device, struct CUstream_st *stream, void *to, const void *from,
		      size_t bytes)
{
	struct borrowed theirs;
	cudaError_t err;
	int ret = enter(&theirs, device);

	if (ret)
		return ret;
	if (!to || !accessible(from, device)) {
		ret = card_wrong(&why, -EINVAL, "no memory of the device, or none of the host");
	} else {
		err = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream);
		if (!err)
			err = cudaStreamSynchronize(stream);
		if (err)
			ret = card_fails(&why, err, "copying from device %d", device);
	}
	card_return(&theirs, device);
	return ret;
}

int libepf_cuda_device(const void *memory)
{
	struct cudaPointerAttributes a;
	int ret = card_claim(&why);
	cudaError_t err;

	if (ret)
		return ret;
	err = cudaPointerGetAttributes(&a, memory);
	if (err && err != cudaErrorInvalidValue)
		return card_fails(&why, err, "no device can be used");
	if (err || a.type == cudaMemoryTypeUnregistered) {
		cudaGetLastError();
		return card_wrong(&why, -EINVAL, "%p is not memory of a device", memory);
	}
	return a.device;
}

void libepf_cuda_release(int device, void *memory)
{
	struct borrowed theirs;

	if (!memory || enter(&theirs, device))
		return;
	if (cudaFree(memory))
		cudaGetLastError();
	card_return(&theirs, device);
}
