// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The emulated machine: its properties and the errors of its calls.
 * Environment:
 *
 * EPF_EMU_SEED=N     seed of the order
 * EPF_EMU_DEVICES=N  number of cards; 0: none. Several differ in memory and streams only
 * EPF_EMU_MEMORY=N   bytes of memory of each card
 * EPF_EMU_L2=N       bytes of cache that may be reserved
 * EPF_EMU_FAIL=N     the Nth call fails, once (EPF_EMU_ERROR=N: with that error)
 * EPF_EMU_UNFIT=N    using the card fails with that error; querying it does not
 * EPF_EMU_NOT_READY=N  the first N calls fail: the machine is not ready yet
 * EPF_EMU_LOST=N     all calls from the Nth on fail, and do nothing
 * EPF_EMU_FAULTY=D   FAIL, UNFIT and LOST count and concern only calls while device D is current
 *
 * The first call reads them.
 */
#include "machine.h"

#include <chrono>
#include <condition_variable>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MEMORY (8ULL << 30)
#define ANY (-1)
#define NOWHERE (-2)
#define FETCH_BYTES 64u /* default of another limit; has no effect here */

struct emu emu;
thread_local int emu_device;
thread_local size_t emu_context;

void emu_die(const char *fmt, ...)
{
	va_list args;

	fputs("emulated card: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

static unsigned long setting(const char *name, unsigned long otherwise)
{
	const char *s = getenv(name);

	return s && *s ? strtoul(s, NULL, 0) : otherwise;
}

static void begin(void)
{
	emu.begun = true;
	emu.legacy = new CUstream_st();
	emu.streams.push_back(emu.legacy);
	emu.seed = setting("EPF_EMU_SEED", 1);
	emu.devices = (int)setting("EPF_EMU_DEVICES", 1);
	emu.faulty = (int)setting("EPF_EMU_FAULTY", (unsigned long)ANY);
	emu.memory = setting("EPF_EMU_MEMORY", MEMORY);
	emu.l2 = setting("EPF_EMU_L2", 32u << 20);
	if (emu.devices > EMU_DEVICES)
		emu_die("more than %d devices", EMU_DEVICES);
	emu.unfit = (cudaError_t)setting("EPF_EMU_UNFIT", cudaSuccess);
	emu.not_ready = setting("EPF_EMU_NOT_READY", 0);
	emu.fail = setting("EPF_EMU_FAIL", 0);
	emu.lost = setting("EPF_EMU_LOST", 0);
	emu.fail_with = (cudaError_t)setting("EPF_EMU_ERROR", cudaErrorUnknown);
	emu.arena = (char *)mmap(NULL, ARENA_BYTES, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (emu.arena == MAP_FAILED)
		emu_die("no room for its memory");
}

bool emu_faulty(void)
{
	return emu.faulty == ANY || emu.faulty == emu_device;
}

bool emu_lost(void)
{
	return emu_faulty() && emu.lost && emu.calls >= emu.lost;
}

/* What a lost device had still to do is never done. */
static void forget_work(void)
{
	size_t i;

	for (i = 0; i < emu.streams.size(); i++)
		if (emu.faulty == emu.streams[i]->device)
			emu.streams[i]->queue.clear();
}

__attribute__((visibility("default"))) void emu_lose(int device)
{
	guard g(emu.lock);

	emu.faulty = device;
	emu.lost = emu.calls = 1;
}

cudaError_t emu_told(cudaError_t err)
{
	if (err != cudaSuccess && err != cudaErrorNotReady)
		emu.last = err;
	return err;
}

cudaError_t emu_enter(void)
{
	if (!emu.begun)
		begin();
	if (!emu.devices)
		return emu_told(cudaErrorNoDevice);
	if (!emu_faulty())
		return emu_told(cudaSuccess);
	emu.calls++;
	if (emu.calls <= emu.not_ready)
		return emu_told(cudaErrorSystemNotReady);
	if (emu_lost()) {
		forget_work();
		return emu_told(cudaErrorDevicesUnavailable);
	}
	return emu_told(emu.calls == emu.fail ? emu.fail_with : cudaSuccess);
}

/* SplitMix64. */
unsigned long emu_draw(void)
{
	unsigned long x = emu.seed += 0x9e3779b97f4a7c15UL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9UL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebUL;
	return x ^ x >> 31;
}

/* ---- properties of the card ---- */

cudaError_t cudaGetDeviceCount(int *count)
{
	ENTER();
	*count = emu.devices;
	return cudaSuccess;
}

/* Begin a call that concerns @device, and not the current one. */
static cudaError_t enter_for(int device)
{
	const int current = emu_device;
	cudaError_t err;

	guard g(emu.lock);
	emu_device = device;
	err = emu_enter();
	emu_device = current;
	return err;
}

/* Tests call these two as well. A device that has failed can be left. */
__attribute__((visibility("default"))) cudaError_t cudaGetDevice(int *device)
{
	cudaError_t err = enter_for(NOWHERE);

	*device = emu_device;
	return err;
}

__attribute__((visibility("default"))) cudaError_t cudaSetDevice(int device)
{
	cudaError_t err = enter_for(device);

	if (err)
		return err;
	if (device < 0 || device >= emu.devices)
		return emu_told(cudaErrorInvalidDevice);
	emu_device = device;
	emu_context = (size_t)device + 1;
	return cudaSuccess;
}

/* The driver's interface; tests call it as well. */
__attribute__((visibility("default"))) CUresult cuCtxGetCurrent(CUcontext *context)
{
	*context = (CUcontext)emu_context;
	return 0;
}

__attribute__((visibility("default"))) CUresult cuCtxSetCurrent(CUcontext context)
{
	emu_context = (size_t)context;
	return 0;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	ENTER();
	(void)device;
	memset(prop, 0, sizeof(*prop));
	snprintf(prop->name, sizeof(prop->name), "emulated card");
	prop->totalGlobalMem = emu.memory;
	prop->major = 9;
	return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
	ENTER();
	(void)device;
	switch (attr) {
	case cudaDevAttrMultiProcessorCount:
		*value = 4;
		return cudaSuccess;
	case cudaDevAttrL2CacheSize:
	case cudaDevAttrMaxPersistingL2CacheSize:
	case cudaDevAttrMaxAccessPolicyWindowSize:
		*value = (int)emu.l2;
		return cudaSuccess;
	}
	return emu_told(cudaErrorInvalidValue);
}

/* A limit of the process; tests call it as well. */
__attribute__((visibility("default"))) cudaError_t cudaDeviceGetLimit(size_t *value,
								      enum cudaLimit limit)
{
	ENTER();
	*value = limit == cudaLimitPersistingL2CacheSize ? emu.limit[emu_device] : FETCH_BYTES;
	return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	ENTER();
	if (value > emu.l2)
		return emu_told(cudaErrorInvalidValue);
	if (limit == cudaLimitPersistingL2CacheSize)
		emu.limit[emu_device] = value;
	return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *total)
{
	ENTER();
	*left = emu.memory - emu.used[emu_device];
	*total = emu.memory;
	return cudaSuccess;
}

cudaError_t cudaCtxResetPersistingL2Cache(void)
{
	ENTER();
	return cudaSuccess;
}

/* ---- devices that work at the same time ---- */

/**
 * struct gathering - see emu_together()
 * @wanted: devices that are waited for
 * @nr: those that have come
 * @here: which
 * @lose: device that is lost when all have come
 */
static struct {
	std::mutex lock;
	std::condition_variable all;
	int wanted, nr;
	bool here[EMU_DEVICES];
	int lose;
} gathering;

__attribute__((visibility("default"))) void emu_together(int devices, int lose)
{
	std::lock_guard<std::mutex> g(gathering.lock);

	gathering.wanted = devices;
	gathering.nr = 0;
	memset(gathering.here, 0, sizeof(gathering.here));
	gathering.lose = lose;
}

void emu_gather(int device)
{
	std::unique_lock<std::mutex> g(gathering.lock);

	if (gathering.nr >= gathering.wanted || gathering.here[device])
		return;
	gathering.here[device] = true;
	if (++gathering.nr < gathering.wanted) {
		gathering.all.wait_for(g, std::chrono::minutes(1),
				       [] { return gathering.nr >= gathering.wanted; });
		return;
	}
	if (gathering.lose >= 0)
		emu_lose(gathering.lose);
	gathering.all.notify_all();
}

/* ---- errors ---- */

cudaError_t cudaPeekAtLastError(void)
{
	guard g(emu.lock);

	return emu.last;
}

cudaError_t cudaGetLastError(void)
{
	guard g(emu.lock);
	cudaError_t err = emu.last;

	if (!emu_lost())
		emu.last = cudaSuccess;
	return err;
}

const char *cudaGetErrorName(cudaError_t err)
{
	switch (err) {
	case cudaSuccess:
		return "cudaSuccess";
	case cudaErrorMemoryAllocation:
		return "cudaErrorMemoryAllocation";
	case cudaErrorDevicesUnavailable:
		return "cudaErrorDevicesUnavailable";
	case cudaErrorNoDevice:
		return "cudaErrorNoDevice";
	case cudaErrorUnknown:
		return "cudaErrorUnknown";
	default:
		return "cudaError";
	}
}

const char *cudaGetErrorString(cudaError_t err)
{
	return err == cudaSuccess               ? "no error" :
	       err == cudaErrorMemoryAllocation ? "out of memory" :
	       err == cudaErrorNoDevice         ? "no CUDA-capable device is detected" :
	       err == cudaErrorDevicesUnavailable ?
					  "CUDA-capable device(s) is/are busy or unavailable" :
					  "emulated error";
}
