/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the runtime's emulation shares: the machine, and how each call begins.
 */
#ifndef EPF_EMU_MACHINE_H
#define EPF_EMU_MACHINE_H

#include "emu.h"

#include <deque>
#include <map>
#include <mutex>
#include <vector>

#define ARENA_BYTES (1ULL << 36)

/* An event as it was when it was recorded for the @nr-th time. */
struct moment {
	cudaEvent_t event;
	unsigned long nr;
};

/**
 * struct emu_op - something to be done
 * @work: do it
 * @wait: not before that; or of no event
 * @host: memory that must stay until it is done
 */
struct emu_op {
	std::function<void()> work;
	struct moment wait;
	const char *host;
	size_t host_bytes;
};

/* Who waits for whom: those before APART for one another. */
enum sort { LEGACY, BLOCKING, APART };

/**
 * struct CUstream_st - a queue
 * @sort: LEGACY is the one that NULL names
 * @device: that was current when it was made
 * @rank: drawn; of all that can go on the highest does
 * @left: destroyed; it goes when it is empty
 */
struct CUstream_st {
	std::deque<struct emu_op> queue;
	enum sort sort;
	int device;
	unsigned long rank;
	bool left;
};

/**
 * struct CUevent_st - @done of @recorded times
 */
struct CUevent_st {
	unsigned long recorded;
	unsigned long done;
};

typedef std::map<char *, size_t> pieces;

/**
 * struct emu - the machine
 * @device: pieces of @arena, by address, with the bytes asked for
 * @home: of each of them, the device
 * @pinned: of the host
 * @mallocs: of memory of the device, so far
 * @limit: of the cache that may be set aside
 * @unfit: what using the card fails with; asking what it is does not
 * @not_ready: so many calls fail at first, as the machine is not ready
 * @next: of the arena, never used before: what was freed is not used again
 * @legacy: of @streams the one that NULL names
 */
struct emu {
	std::recursive_mutex lock;
	bool begun;
	unsigned long seed;
	int devices;
	size_t memory, l2, limit;
	unsigned long mallocs, not_ready;
	cudaError_t unfit;
	size_t used;
	unsigned long calls, fail, lost;
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
/* The current context of a thread: 0: none; that of the runtime for device n is
 * n + 1, any other number is one that a program has made itself.
 */
extern thread_local size_t emu_context;

typedef std::lock_guard<std::recursive_mutex> guard;

/* machine.cc: */

/* A fault of the caller: one line, and the end. */
__attribute__((format(printf, 1, 2), noreturn))
void emu_die(const char *fmt, ...);

/* All calls fail from now on. */
bool emu_lost(void);

/* @err, which is the last error now. */
cudaError_t emu_told(cudaError_t err);

/* Each call begins so. Return: what it has to fail with. */
cudaError_t emu_enter(void);

#define ENTER()                         \
	guard g(emu.lock);              \
	cudaError_t err_ = emu_enter(); \
	if (err_ != cudaSuccess)        \
		return err_

/* Of no other use than to be different each time. */
unsigned long emu_draw(void);

#endif /* EPF_EMU_MACHINE_H */
