/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of the runtime's emulation: the machine, and the
 * beginning of each call.
 */
#ifndef EPF_EMU_MACHINE_H
#define EPF_EMU_MACHINE_H

#include "emu.h"

#include <deque>
#include <map>
#include <mutex>
#include <vector>

#define ARENA_BYTES (1ULL << 36)
#define EMU_DEVICES 32

/* An event as it was when it was recorded for the @nr-th time. */
struct moment {
	cudaEvent_t event;
	unsigned long nr;
};

/**
 * struct emu_op - a queued operation
 * @work: performs it
 * @wait: it waits for this moment; @wait.event NULL: for none
 * @host: memory of the host that must stay until it is done
 */
struct emu_op {
	std::function<void()> work;
	struct moment wait;
	const char *host;
	size_t host_bytes;
};

/* How streams wait for each other: LEGACY and BLOCKING ones do, APART ones do not. */
enum sort { LEGACY, BLOCKING, APART };

/**
 * struct CUstream_st - a queue
 * @sort: LEGACY is the one that NULL names
 * @device: the device that was current when it was made
 * @rank: random; of all streams that can proceed, the highest does
 * @left: destroyed by the program; it is deleted when it is empty
 */
struct CUstream_st {
	std::deque<struct emu_op> queue;
	enum sort sort;
	int device;
	unsigned long rank;
	bool left;
};

/**
 * struct CUevent_st - an event: @done of its @recorded recordings have completed
 */
struct CUevent_st {
	unsigned long recorded;
	unsigned long done;
};

typedef std::map<char *, size_t> pieces;

/**
 * struct emu - the machine
 * @device: allocated pieces of @arena, by address, with their requested bytes
 * @home: the device of each piece
 * @pinned: pinned memory of the host
 * @mallocs: allocations of device memory so far
 * @kernels: kernels that were given to each device so far
 * @limit: limit for the cache that may be reserved, of each device
 * @used: bytes allocated on each device
 * @unfit: the error of using the card; querying it does not fail
 * @not_ready: the first so many calls fail, because the machine is not ready
 * @faulty: the device to which @unfit, @fail and @lost apply; -1: to all
 * @calls: calls so far, of the faulty device if there is one
 * @next: first unused byte of @arena; freed memory is not used again
 * @legacy: the stream that NULL names
 */
struct emu {
	std::recursive_mutex lock;
	bool begun;
	unsigned long seed;
	int devices;
	size_t memory, l2, limit[EMU_DEVICES];
	unsigned long mallocs, not_ready;
	cudaError_t unfit;
	size_t used[EMU_DEVICES];
	int faulty;
	unsigned long calls, fail, lost;
	unsigned long kernels[EMU_DEVICES];
	cudaError_t fail_with, last;
	char *arena;
	size_t next;
	pieces device, pinned;
	std::map<char *, int> home;
	std::vector<struct CUstream_st *> streams;
	struct CUstream_st *legacy;
};

extern struct emu emu;
extern thread_local int emu_device; /* the current one */
/* The current context of a thread. 0: none; n + 1: the runtime's context for
 * device n; any other number: a context that a program has made itself.
 */
extern thread_local size_t emu_context;

typedef std::lock_guard<std::recursive_mutex> guard;

/* machine.cc: */

/* Report a fault of the caller in one line and abort. */
__attribute__((format(printf, 1, 2), noreturn)) void emu_die(const char *fmt, ...);

/* Return: do all calls for the current device fail from now on? */
bool emu_lost(void);

/* Return: do the settings for failures concern the current device? */
bool emu_faulty(void);

/* Wait as emu_together() has it, for a kernel of @device. */
void emu_gather(int device);

/* Record @err as the last error and return it. */
cudaError_t emu_told(cudaError_t err);

/* Begin a call. Return: the error that it must fail with, or cudaSuccess. */
cudaError_t emu_enter(void);

#define ENTER()                         \
	guard g(emu.lock);              \
	cudaError_t err_ = emu_enter(); \
	if (err_ != cudaSuccess)        \
	return err_

/* Return: a pseudo-random number. */
unsigned long emu_draw(void);

#endif /* EPF_EMU_MACHINE_H */
