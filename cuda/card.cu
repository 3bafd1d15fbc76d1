// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A card: its properties, error messages, streams, memory and cache. */
#include "engine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pid_t process; /* the process that uses CUDA; 0: none yet */
/* Of the driver; both or none. */
static CUresult (*get_context)(CUcontext *context);
static CUresult (*set_context)(CUcontext context);

#define NAME_BYTES (sizeof(((struct epf_cuda_device *)0)->name))

int card_wrong(struct epf_cuda_error *e, int err, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	vsnprintf(e->text, sizeof(e->text), what, args);
	va_end(args);
	return err;
}

/* Every error that is not listed means that the card or the driver has failed. */
static int errno_of(cudaError_t err)
{
	switch (err) {
	case cudaSuccess:
		return 0;
	case cudaErrorMemoryAllocation:
		return -ENOMEM;
	case cudaErrorSystemNotReady:
		return -EAGAIN;
	case cudaErrorNoDevice:
	case cudaErrorInsufficientDriver:
	case cudaErrorInitializationError:
	case cudaErrorSystemDriverMismatch:
	case cudaErrorNoKernelImageForDevice:
	case cudaErrorUnsupportedPtxVersion:
	case cudaErrorDevicesUnavailable:
		return -ENODEV;
	default:
		return -EIO;
	}
}

static const char *words_of(cudaError_t err)
{
	switch (err) {
	case cudaErrorInsufficientDriver:
		return "there is no driver, or this library needs a newer one";
	case cudaErrorNoKernelImageForDevice:
		return "the GPU is older than sm_80";
	case cudaErrorUnsupportedPtxVersion:
		return "this library needs a newer driver: update the driver";
	case cudaErrorSystemNotReady:
		return "not ready yet (is nvidia-fabricmanager running?)";
	case cudaErrorECCUncorrectable:
		return "uncorrectable memory error: reset the GPU, then restart";
	default:
		return cudaGetErrorString(err);
	}
}

int card_fails(struct epf_cuda_error *e, cudaError_t err, const char *what, ...)
{
	char text[sizeof(e->text)];
	va_list args;

	va_start(args, what);
	vsnprintf(text, sizeof(text), what, args);
	va_end(args);
	cudaGetLastError(); /* clears it; a persistent error shows again */
	return card_wrong(e, errno_of(err), "%.60s: %.90s", text, words_of(err));
}

__u64 card_setting(const char *name, __u64 otherwise)
{
	const char *s = getenv(name);
	__u64 v = s ? strtoull(s, NULL, 0) : 0;

	return v ? v : otherwise;
}

size_t card_buffer(void)
{
	return card_setting("EPF_CUDA_BUFFER", BUFFER_BYTES);
}

bool card_is_forked(void)
{
	pid_t user = __atomic_load_n(&process, __ATOMIC_RELAXED);

	return user && user != getpid();
}

int card_claim(struct epf_cuda_error *e)
{
	if (card_is_forked())
		return card_wrong(e, -ENODEV,
				  "this process was forked from one "
				  "that uses the GPU: start a new program instead");
	__atomic_store_n(&process, getpid(), __ATOMIC_RELAXED);
	return 0;
}

/* Find both functions or none; they exist once the runtime has loaded a driver.
 * Threads that look at once find the same.
 */
static bool find_driver(void)
{
	void *get, *set;

	if (__atomic_load_n(&set_context, __ATOMIC_ACQUIRE))
		return true;
	get = EPF_DRIVER(cuCtxGetCurrent);
	set = get ? EPF_DRIVER(cuCtxSetCurrent) : NULL;
	__atomic_store_n((void **)&get_context, get, __ATOMIC_RELAXED);
	__atomic_store_n((void **)&set_context, set, __ATOMIC_RELEASE);
	return set;
}

cudaError_t card_borrow(struct borrowed *theirs, int device)
{
	cudaError_t err;

	theirs->device = device;
	theirs->context = NULL;
	err = cudaGetDevice(&theirs->device);
	if (find_driver())
		get_context(&theirs->context);
	return err ? err : cudaSetDevice(device);
}

void card_return(const struct borrowed *theirs, int device)
{
	if (theirs->device != device && cudaSetDevice(theirs->device))
		cudaGetLastError();
	if (find_driver())
		set_context(theirs->context);
}

/* A card that another process has exclusively, or for which there is no code,
 * fails only when it is used.
 */
static cudaError_t try_card(void)
{
	cudaStream_t stream = NULL;
	cudaError_t err = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);

	if (!err)
		err = epf_cu_nothing(stream);
	if (!err)
		err = cudaStreamSynchronize(stream);
	if (stream)
		cudaStreamDestroy(stream);
	return err;
}

int card_probe(const struct card *c, struct epf_cuda_device *device, struct epf_cuda_error *e)
{
	struct cudaDeviceProp prop;
	cudaError_t err;
	int n = 0, ret;

	memset(device, 0, sizeof(*device));
	err = cudaGetDeviceCount(&n);
	if (!err && !n)
		err = cudaErrorNoDevice;
	if (!err)
		err = cudaGetDeviceProperties(&prop, c->device);
	if (!err)
		err = try_card();
	if (err) {
		ret = card_fails(e, err, "no GPU");
		return ret == -EAGAIN ? ret : -ENODEV;
	}
	snprintf(device->name, sizeof(device->name), "%.*s", (int)NAME_BYTES - 1, prop.name);
	device->bytes = prop.totalGlobalMem;
	device->major = (__u32)prop.major;
	device->minor = (__u32)prop.minor;
	device->number = c->device;
	return 0;
}

/* ---- streams and events ---- */

static void end_slot(struct slot *s)
{
	if (s->up)
		cudaEventDestroy(s->up);
	if (s->run)
		cudaEventDestroy(s->run);
	if (s->down)
		cudaEventDestroy(s->down);
	s->up = s->run = s->down = NULL;
}

static void end_card(struct card *c)
{
	__u32 i;

	for (i = 0; i < SLOTS; i++)
		end_slot(&c->slot[i]);
	if (c->up)
		cudaStreamDestroy(c->up);
	if (c->run)
		cudaStreamDestroy(c->run);
	if (c->down)
		cudaStreamDestroy(c->down);
	c->up = c->run = c->down = NULL;
}

static cudaError_t begin_slot(struct slot *s)
{
	const unsigned int flags = cudaEventDisableTiming;
	cudaError_t err = cudaEventCreateWithFlags(&s->up, flags);

	if (!err)
		err = cudaEventCreateWithFlags(&s->run, flags);
	return err ? err : cudaEventCreateWithFlags(&s->down, flags);
}

static cudaError_t begin_streams(struct card *c)
{
	const unsigned int flags = cudaStreamNonBlocking;
	cudaError_t err = cudaStreamCreateWithFlags(&c->up, flags);
	__u32 i;

	if (!err)
		err = cudaStreamCreateWithFlags(&c->run, flags);
	if (!err)
		err = cudaStreamCreateWithFlags(&c->down, flags);
	for (i = 0; i < SLOTS && !err; i++)
		err = begin_slot(&c->slot[i]);
	return err;
}

/* Return: bytes of the L2 cache that may be reserved, limited by the largest
 * access policy window.
 */
static size_t find_persisting(int device)
{
	int aside = 0, window = 0;

	if (cudaDeviceGetAttribute(&aside, cudaDevAttrMaxPersistingL2CacheSize, device) ||
	    cudaDeviceGetAttribute(&window, cudaDevAttrMaxAccessPolicyWindowSize, device)) {
		cudaGetLastError();
		return 0;
	}
	return (size_t)(aside < window ? aside : window);
}

int card_begin(struct card *c, struct epf_cuda_error *e)
{
	cudaError_t err;

	if (c->begun)
		return 0;
	err = begin_streams(c);
	if (err) {
		end_card(c);
		return card_fails(e, err, "the GPU cannot be used");
	}
	c->persisting = find_persisting(c->device);
	if (cudaDeviceGetLimit(&c->limit, cudaLimitPersistingL2CacheSize)) {
		cudaGetLastError();
		c->persisting = 0;
	}
	c->begun = true;
	return 0;
}

void card_quiet(struct card *c)
{
	cudaStreamSynchronize(c->up);
	cudaStreamSynchronize(c->run);
	cudaStreamSynchronize(c->down);
	cudaGetLastError();
}

int card_alloc(void **p, size_t bytes, const char *what, struct epf_cuda_error *e)
{
	cudaError_t err = cudaMalloc(p, bytes);

	if (!err)
		return 0;
	*p = NULL;
	return card_fails(e, err, "allocating %zu MiB on the GPU for %s", bytes >> 20, what);
}

int card_grow(char **p, size_t *have, size_t want, const char *what, struct epf_cuda_error *e)
{
	void *to;
	int ret;

	if (*have >= want)
		return 0;
	if (*p)
		cudaFree(*p);
	*p = NULL;
	*have = 0;
	ret = card_alloc(&to, want, what, e);
	if (ret)
		return ret;
	*p = (char *)to;
	*have = want;
	return 0;
}

/* ---- L2 cache ---- */

static void set_window(struct card *c, void *at, size_t bytes)
{
	cudaLaunchAttributeValue value;
	struct cudaAccessPolicyWindow *w = &value.accessPolicyWindow;

	memset(&value, 0, sizeof(value));
	w->base_ptr = at;
	w->num_bytes = bytes;
	w->hitRatio = 1;
	w->hitProp = bytes ? cudaAccessPropertyPersisting : cudaAccessPropertyNormal;
	w->missProp = bytes ? cudaAccessPropertyStreaming : cudaAccessPropertyNormal;
	cudaStreamSetAttribute(c->run, cudaLaunchAttributeAccessPolicyWindow, &value);
}

void card_keep(struct card *c, const struct epf_cu_lines *lines)
{
	size_t bytes = lines ? epf_geom_lines(&lines->geom) * EPF_LINE_BYTES : 0;
	bool fits = bytes && bytes <= c->persisting;

	if (c->kept == (fits ? lines->line : NULL))
		return;
	if (c->kept) {
		set_window(c, NULL, 0);
		cudaCtxResetPersistingL2Cache();
		cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, c->limit);
	}
	c->kept = fits ? lines->line : NULL;
	if (fits && !cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, bytes))
		set_window(c, lines->line, bytes);
	cudaGetLastError();
}
