/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libepf_cuda: filters on NVIDIA GPUs, asked about keys in memory of the device, in the
 * program's streams. C and C++; no header of CUDA is needed.
 *
 *	struct libepf_lines lines = { .size = sizeof(lines) };
 *	libepf_snapshot_lines(snapshot, &lines);           (libepf.h)
 *	libepf_cuda_load(&lines, NULL, 0, &filter);
 *	libepf_cuda_query(filter, &query);
 *
 * Kernels of programs use <epf_ref.cuh>; libepf_cuda_ref() makes the reference.
 *
 * Functions return 0 or a negative errno; libepf_cuda_error() then has one line of text:
 *
 *   -EINVAL: a number out of its range, a pointer that is missing, not aligned, or not to
 *	memory that the device can access
 *   -E2BIG: the struct has members that this library does not know, and they are not zero
 *   -ENODEV: no such device, no driver for it, or the filter was not loaded there; or the
 *	process was forked from one that uses a device
 *   -ENOMEM: not enough memory on the device or the host
 *   -EAGAIN: the device is not ready yet
 *   -EIO: the device has failed; CUDA wants the process to be started again
 *
 * Threads. Any thread may call any function at any time, except that a filter must not be
 * freed while another thread passes it. The library takes no lock, and restores the current
 * device and context of the thread.
 *
 * Several devices. A filter may be loaded to several; each has a copy of all lines and
 * answers for the keys in its memory. So a program shards its keys, and asks each device in
 * a stream of that device.
 */
#ifndef LIBEPF_CUDA_PUBLIC_H
#define LIBEPF_CUDA_PUBLIC_H

#include <libepf.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LIBEPF_CUDA_DEVICES 16u /* devices of a filter */

struct libepf_cuda;
struct CUstream_st; /* cudaStream_t is a pointer to it */
struct epf_ref;     /* <epf_ref.cuh> */

/**
 * libepf_cuda_error() - why the last call of this thread that failed did so
 *
 * Return: one line without a newline; "" if none has failed. It lives until the next call
 * of this thread that fails.
 */
LIBEPF_API const char *libepf_cuda_error(void);

/**
 * libepf_cuda_load() - copy the lines of a filter to devices
 * @lines: of a snapshot or of other memory; it may be freed after the call
 * @devices: numbers of devices, each once; NULL: device 0 alone
 * @nr: how many; up to LIBEPF_CUDA_DEVICES. 0 with NULL
 * @filter: result; NULL on failure
 *
 * The call waits until the lines are there. It does not wait for other work of the device.
 *
 * Return: 0; -EINVAL, -E2BIG, -ENODEV, -ENOMEM, -EAGAIN, -EIO: see above.
 */
LIBEPF_API int libepf_cuda_load(const struct libepf_lines *lines, const int *devices, uint32_t nr,
				struct libepf_cuda **filter);

/**
 * libepf_cuda_free() - free a filter
 * @filter: filter, or NULL
 *
 * The call waits for all work of its devices, so that queries under way end first.
 */
LIBEPF_API void libepf_cuda_free(struct libepf_cuda *filter);

/**
 * struct libepf_cuda_query - keys, and where the answers go; all pointers are to memory of
 * the device, or to pinned memory that it can access
 * @size: sizeof
 * @device: number of the device that has the keys and answers
 * @keys: keys, one after another without gaps, any alignment; aligned to 8 is faster.
 *	Digests are words in the byte order of the device
 * @n: number of keys
 * @key_len: bytes of a key, 1 .. LIBEPF_KEY_MAX; 0: digests of eight bytes
 * @reserved: 0
 * @bitmap: (@n + 31) / 32 words: bit i mod 32 of word i / 32 is set if key i is present;
 *	the bits after the last key are zero
 * @ages: @n bytes, or NULL: age of each key in epochs, 0 .. 7; LIBEPF_AGE_ABSENT: not
 *	inserted inside the window
 * @count: eight words, or NULL: the number of present keys of each age is added to them
 * @stream: a stream of @device; NULL: the default stream
 */
struct libepf_cuda_query {
	uint32_t size;
	int32_t device;
	const void *keys;
	uint64_t n;
	uint32_t key_len;
	uint32_t reserved;
	uint32_t *bitmap;
	uint8_t *ages;
	unsigned long long *count;
	struct CUstream_st *stream;
};

/**
 * libepf_cuda_query() - look up keys, asynchronously
 * @filter: filter
 * @query: keys and answers; the struct may be freed after the call
 *
 * The kernel runs after everything that is in the stream already, and reads and writes
 * nothing before. It is the only work: no copies, no allocation, no waiting, so the call may
 * be captured into a CUDA graph. An error of the running kernel shows on the stream.
 *
 * Return: 0: it is in the stream; -EINVAL, -E2BIG, -ENODEV, -EIO: see above, and nothing was
 * put into the stream.
 */
LIBEPF_API int libepf_cuda_query(const struct libepf_cuda *filter,
				 const struct libepf_cuda_query *query);

/**
 * libepf_cuda_ref() - a reference for kernels of the program
 * @filter: filter
 * @device: number of the device whose kernels use it
 * @ref: result
 * @size: sizeof(struct epf_ref): a program that was compiled with another <epf_ref.cuh>
 *	than the library is refused
 *
 * Return: 0; -EINVAL: @size, or @ref is NULL; -ENODEV: the filter was not loaded there.
 */
LIBEPF_API int libepf_cuda_ref(const struct libepf_cuda *filter, int device, struct epf_ref *ref,
			       size_t size);

/**
 * libepf_cuda_alloc() - memory of a device, for programs that do not call CUDA themselves
 * @device: number of the device
 * @bytes: 1 and up
 * @memory: result, all zeros, aligned to 256; NULL on failure
 *
 * Return: 0; -EINVAL, -ENODEV, -ENOMEM, -EAGAIN, -EIO: see above.
 */
LIBEPF_API int libepf_cuda_alloc(int device, size_t bytes, void **memory);

/**
 * libepf_cuda_fetch() - copy results to the host, and wait for them
 * @device: number of the device
 * @stream: the copy comes after everything in this stream; NULL: the default stream
 * @to: memory of the host, @bytes
 * @from: memory of the device, @bytes
 * @bytes: how many
 *
 * Return: 0; -EINVAL, -ENODEV, -EIO: see above; -EIO also if a kernel in the stream failed.
 */
LIBEPF_API int libepf_cuda_fetch(int device, struct CUstream_st *stream, void *to, const void *from,
				 size_t bytes);

/**
 * libepf_cuda_device() - which device has this memory?
 * @memory: any address
 *
 * Return: the number of the device; -EINVAL: it is not memory of a device; -ENODEV, -EAGAIN,
 * -EIO: see above.
 */
LIBEPF_API int libepf_cuda_device(const void *memory);

/**
 * libepf_cuda_release() - free memory of libepf_cuda_alloc()
 * @device: number of the device
 * @memory: the memory, or NULL
 *
 * The call waits for all work of the device.
 */
LIBEPF_API void libepf_cuda_release(int device, void *memory);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_CUDA_PUBLIC_H */
