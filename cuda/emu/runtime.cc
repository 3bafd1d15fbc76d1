// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The CUDA runtime, emulated so that errors of its caller show:
 *
 *   Nothing runs before a call waits. A stream is a queue. A call that waits runs
 *   operations one by one, from any stream that can proceed, in an order drawn from
 *   a seed. So an event that is not waited for, or a pinned buffer written during a
 *   copy of it, yields wrong results. NULL is a queue as well (the legacy stream):
 *   it and blocking streams wait for each other; non-blocking streams do not.
 *
 *   Memory of the device is separate from that of the host. Only kernels and copies
 *   can access it (at other times its pages have no rights). Each piece has a page
 *   without rights behind it and begins with garbage, and a write between its end
 *   and that page is detected when it is freed. Freeing or unregistering pinned
 *   memory during a copy is detected as well.
 *
 *   A kernel runs on the current device of its thread: streams of another device are
 *   refused, and memory of another device cannot be accessed.
 *
 *   A wrong direction, an unknown pointer or a copy beyond a piece ends the program
 *   with one line, because these are faults of the caller, not of a card.
 *
 * One lock protects everything; the thread that waits does the work.
 */
#include "machine.h"

#include <stdint.h>
#include <stdlib.h>
#include <string>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u
#define ALIGN 256u /* alignment of cudaMalloc() */
#define RUBBISH 0xa5
#define ANY (-1)
/* Linux puts heaps, stacks and mappings of a process between these addresses. */
#define ADDRESS_MIN ((uintptr_t)5 << 44)
#define ADDRESS_MAX ((uintptr_t)1 << 47)
#define PADDED_MAX (1u << 20)

/* ---- memory ---- */

/* Return: bytes in whole pages, with a page behind them that has no rights. */
static size_t span(size_t bytes)
{
	return (bytes + PAGE) / PAGE * PAGE;
}

/* Set the rights of the memory of @device; ANY: of all devices. */
static void rights(int prot, int device)
{
	pieces::iterator i;

	for (i = emu.device.begin(); i != emu.device.end(); i++)
		if ((device == ANY || emu.home[i->first] == device) &&
		    mprotect(i->first, span(i->second), prot))
			emu_die("mprotect");
}

/* Find the piece that contains @p, @at bytes into it; returns the end if there
 * is none.
 */
static pieces::iterator find(pieces &all, const void *p, size_t *at)
{
	pieces::iterator i = all.upper_bound((char *)(uintptr_t)p);

	if (i == all.begin())
		return all.end();
	i--;
	*at = (size_t)((const char *)p - i->first);
	return *at < span(i->second) ? i : all.end();
}

static bool of_device(const void *p)
{
	return (const char *)p >= emu.arena && (const char *)p < emu.arena + ARENA_BYTES;
}

static void check_device(const void *p, size_t bytes, const char *what)
{
	size_t at;
	pieces::iterator i = find(emu.device, p, &at);

	if (i == emu.device.end() || at > i->second || bytes > i->second - at)
		emu_die("%s: %zu bytes at %p are not of a piece of the device", what, bytes, p);
}

static void check_host(const void *p, size_t bytes, const char *what)
{
	if (of_device(p) || !p)
		emu_die("%s: %zu bytes at %p are not of the host", what, bytes, p);
}

cudaError_t cudaMalloc(void **p, size_t bytes)
{
	char *to;

	ENTER();
	if (!bytes || bytes > emu.memory - emu.used[emu_device] ||
	    span(bytes) + PAGE > ARENA_BYTES - emu.next)
		return emu_told(cudaErrorMemoryAllocation);
	to = emu.arena + emu.next;
	emu.next += span(bytes) + PAGE;
	emu.used[emu_device] += bytes;
	if (mprotect(to, span(bytes), PROT_READ | PROT_WRITE))
		emu_die("mprotect");
	memset(to, RUBBISH, span(bytes));
	mprotect(to, span(bytes), PROT_NONE);
	emu.device[to] = bytes;
	emu.home[to] = emu_device;
	*p = to;
	emu.mallocs++;
	return cudaSuccess;
}

__attribute__((visibility("default"))) unsigned long emu_mallocs(void)
{
	return emu.mallocs;
}

__attribute__((visibility("default"))) unsigned long emu_kernels(int device)
{
	guard g(emu.lock);

	return emu.kernels[device];
}

static void run_all(void);

cudaError_t cudaFree(void *p)
{
	pieces::iterator i;
	size_t n, bytes;
	char *at;

	guard g(emu.lock);
	cudaError_t err = emu_enter();
	if (!p)
		return err;
	i = emu.device.find((char *)p);
	if (i == emu.device.end())
		emu_die("free of %p, which is no piece of the device", p);
	run_all();
	at = i->first;
	bytes = i->second;
	mprotect(at, span(bytes), PROT_READ);
	for (n = bytes; n < span(bytes); n++)
		if ((unsigned char)at[n] != RUBBISH)
			emu_die("something was written %zu bytes behind the %zu of %p", n - bytes,
				bytes, p);
	emu.device.erase(i);
	emu.used[emu.home[at]] -= bytes;
	madvise(at, span(bytes), MADV_DONTNEED);
	mprotect(at, span(bytes), PROT_NONE);
	return err;
}

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned int flags)
{
	ENTER();
	(void)flags;
	*p = bytes ? malloc(bytes) : NULL;
	if (!*p)
		return emu_told(cudaErrorMemoryAllocation);
	memset(*p, RUBBISH, bytes);
	emu.pinned[(char *)*p] = bytes;
	return cudaSuccess;
}

cudaError_t cudaMallocManaged(void **p, size_t bytes)
{
	return cudaHostAlloc(p, bytes, cudaHostAllocDefault);
}

cudaError_t cudaMallocHost(void **p, size_t bytes)
{
	return cudaHostAlloc(p, bytes, cudaHostAllocDefault);
}

/* Return: does a queued operation use this memory? */
static bool awaited(const char *p, size_t bytes)
{
	size_t i, j;

	for (i = 0; i < emu.streams.size(); i++)
		for (j = 0; j < emu.streams[i]->queue.size(); j++) {
			const struct emu_op &op = emu.streams[i]->queue[j];

			if (op.host && op.host < p + bytes && p < op.host + op.host_bytes)
				return true;
		}
	return false;
}

static void unpin(void *p, const char *what)
{
	pieces::iterator i = emu.pinned.find((char *)p);

	if (i == emu.pinned.end())
		emu_die("%s of %p, which is not pinned", what, p);
	if (!emu_lost() && awaited(i->first, i->second))
		emu_die("%s of %p, while a copy is under way", what, p);
	emu.pinned.erase(i);
}

cudaError_t cudaFreeHost(void *p)
{
	guard g(emu.lock);
	cudaError_t err = emu_enter();

	if (!p)
		return err;
	unpin(p, "free");
	free(p);
	return err;
}

__attribute__((visibility("default"))) cudaError_t cudaHostRegister(void *p, size_t bytes,
								    unsigned int flags)
{
	ENTER();
	(void)flags;
	check_host(p, bytes, "register");
	emu.pinned[(char *)p] = bytes;
	return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *p)
{
	guard g(emu.lock);
	cudaError_t err = emu_enter();

	unpin(p, "unregister");
	return err;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p)
{
	pieces::iterator i;
	size_t at;

	ENTER();
	i = find(emu.pinned, p, &at);
	a->type = i != emu.pinned.end() && at < i->second ? cudaMemoryTypeHost :
							    cudaMemoryTypeUnregistered;
	i = find(emu.device, p, &at);
	a->device = emu_device;
	if (i != emu.device.end() && at < i->second) {
		a->type = cudaMemoryTypeDevice;
		a->device = emu.home[i->first];
	}
	return cudaSuccess;
}

/* ---- queues ---- */

static bool can_go(const struct CUstream_st *s)
{
	const struct emu_op *op;

	if (s->queue.empty())
		return false;
	op = &s->queue.front();
	return !op->wait.event || op->wait.event->done >= op->wait.nr;
}

/* Return: the stream whose turn it is. Ranks are redrawn now and then. */
static struct CUstream_st *turn(void)
{
	struct CUstream_st *best = NULL;
	size_t i;

	for (i = 0; i < emu.streams.size(); i++) {
		struct CUstream_st *s = emu.streams[i];

		if (!(emu_draw() & 3))
			s->rank = emu_draw();
		if (can_go(s) && (!best || s->rank > best->rank))
			best = s;
	}
	return best;
}

static void forget_empty(void)
{
	size_t i;

	for (i = emu.streams.size(); i--;)
		if (emu.streams[i]->left && emu.streams[i]->queue.empty()) {
			delete emu.streams[i];
			emu.streams.erase(emu.streams.begin() + (long)i);
		}
}

/* Run one operation. Return: false if none can run. */
static bool run_one(void)
{
	struct CUstream_st *s = turn();

	if (!s)
		return false;
	if (s->queue.front().work)
		s->queue.front().work();
	s->queue.pop_front();
	forget_empty();
	return true;
}

/* Return: do streams of sorts up to @last have operations? */
static bool any_left(enum sort last)
{
	size_t i;

	for (i = 0; i < emu.streams.size(); i++)
		if (emu.streams[i]->sort <= last && !emu.streams[i]->queue.empty())
			return true;
	return false;
}

static void run_up_to(enum sort last)
{
	while (!emu_lost() && any_left(last))
		if (!run_one())
			emu_die("streams wait for one another");
}

static void run_all(void)
{
	run_up_to(APART);
}

static cudaError_t put(cudaStream_t s, const struct emu_op &op)
{
	if (!s || s == cudaStreamLegacy)
		s = emu.legacy;
	if (s->sort < APART)
		run_up_to(s->sort == LEGACY ? BLOCKING : LEGACY);
	s->queue.push_back(op);
	return cudaSuccess;
}

static void with_rights(int device, const std::function<void()> &work)
{
	rights(PROT_READ | PROT_WRITE, device);
	work();
	rights(PROT_NONE, device);
}

static struct emu_op op_of(const std::function<void()> &work)
{
	struct emu_op op = { work, { NULL, 0 }, NULL, 0 };

	return op;
}

cudaError_t emu_launch(cudaStream_t stream, unsigned int blocks, unsigned int threads,
		       std::function<void()> kernel)
{
	const int device = emu_device;

	emu_gather(device);
	ENTER();
	if (!blocks || !threads || threads > 1024)
		return emu_told(cudaErrorInvalidValue);
	if (stream && stream != cudaStreamLegacy && stream->device != device)
		return emu_told(cudaErrorInvalidResourceHandle);
	emu.kernels[device]++;
	return put(stream,
		   op_of([=] { with_rights(device, [&] { emu_run(blocks, threads, kernel); }); }));
}

static bool pinned(const void *p)
{
	size_t at;

	return find(emu.pinned, p, &at) != emu.pinned.end();
}

/* Check words that look like addresses of this process's memory. A number of 32 bits and what
 * was left in its padding may look like one near a multiple of 4 GiB, where the heap of a thread
 * may begin.
 */
void emu_argument(const void *arg, size_t bytes)
{
	uintptr_t word;
	unsigned char there;
	size_t i;

	for (i = 0; i + sizeof(word) <= bytes; i += sizeof(word)) {
		guard g(emu.lock);
		if (emu.device.empty())
			return;
		memcpy(&word, (const char *)arg + i, sizeof(word));
		if (word < ADDRESS_MIN || word >= ADDRESS_MAX || (uint32_t)word < PADDED_MAX ||
		    of_device((void *)word))
			continue;
		if (pinned((void *)word) ||
		    mincore((void *)(word & ~(uintptr_t)(PAGE - 1)), 1, &there))
			continue;
		emu_die("a kernel is given %p, which is memory of the host", (void *)word);
	}
}

/* A copy from memory that is not pinned: like cudaMemcpy(), read it now, write
 * it later.
 */
static struct emu_op staged(void *to, const void *from, size_t bytes)
{
	std::string now((const char *)from, bytes);

	return op_of([=] { with_rights(ANY, [&] { memcpy(to, now.data(), bytes); }); });
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
			    cudaStream_t stream)
{
	struct emu_op op;

	ENTER();
	if (!bytes)
		return cudaSuccess;
	op = op_of([=] { with_rights(ANY, [=] { memcpy(to, from, bytes); }); });
	if (kind == cudaMemcpyHostToDevice) {
		check_device(to, bytes, "copy to the device");
		check_host(from, bytes, "copy to the device");
		op.host = (const char *)from;
		if (!stream && !pinned(from))
			op = staged(to, from, bytes);
	} else if (kind == cudaMemcpyDeviceToHost) {
		check_device(from, bytes, "copy from the device");
		check_host(to, bytes, "copy from the device");
		op.host = (const char *)to;
	} else if (kind == cudaMemcpyDeviceToDevice) {
		check_device(to, bytes, "copy");
		check_device(from, bytes, "copy");
	} else {
		emu_die("a copy of a kind that is not emulated");
	}
	op.host_bytes = op.host ? bytes : 0;
	return put(stream, op);
}

__attribute__((visibility("default"))) cudaError_t cudaMemcpy(void *to, const void *from,
							      size_t bytes,
							      enum cudaMemcpyKind kind)
{
	cudaError_t err = cudaMemcpyAsync(to, from, bytes, kind, NULL);

	guard g(emu.lock);
	if (!err && (kind == cudaMemcpyDeviceToHost || pinned(from)))
		run_up_to(LEGACY);
	return err;
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream)
{
	ENTER();
	if (!bytes)
		return cudaSuccess;
	check_device(to, bytes, "set");
	return put(stream, op_of([=] { with_rights(ANY, [=] { memset(to, byte, bytes); }); }));
}

cudaError_t cudaMemset(void *to, int byte, size_t bytes)
{
	return cudaMemsetAsync(to, byte, bytes, NULL);
}

/* ---- streams and events ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
	ENTER();
	if (emu.unfit && emu_faulty())
		return emu_told(emu.unfit);
	*stream = new CUstream_st();
	(*stream)->device = emu_device;
	(*stream)->sort = flags & cudaStreamNonBlocking ? APART : BLOCKING;
	(*stream)->rank = emu_draw();
	emu.streams.push_back(*stream);
	return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	guard g(emu.lock);
	cudaError_t err = emu_enter();

	stream->left = true;
	if (emu_lost())
		stream->queue.clear();
	forget_empty();
	return err;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	ENTER();
	if (stream == cudaStreamLegacy)
		stream = NULL;
	while (stream && !stream->queue.empty())
		if (!run_one())
			emu_die("streams wait for one another");
	if (!stream)
		run_up_to(BLOCKING);
	return cudaSuccess;
}

__attribute__((visibility("default"))) cudaError_t cudaDeviceSynchronize(void)
{
	ENTER();
	run_all();
	return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	struct emu_op op = op_of(nullptr);

	ENTER();
	(void)flags;
	op.wait.event = event;
	op.wait.nr = event->recorded;
	return put(stream, op);
}

cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID id,
				   const cudaLaunchAttributeValue *value)
{
	const struct cudaAccessPolicyWindow *w = &value->accessPolicyWindow;

	ENTER();
	(void)stream;
	if (id != cudaLaunchAttributeAccessPolicyWindow || w->num_bytes > emu.l2 ||
	    w->hitRatio < 0 || w->hitRatio > 1)
		return emu_told(cudaErrorInvalidValue);
	if (w->num_bytes)
		check_device(w->base_ptr, w->num_bytes, "window");
	return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	ENTER();
	(void)flags;
	*event = new CUevent_st();
	return cudaSuccess;
}

static bool event_awaited(cudaEvent_t event)
{
	size_t i, j;

	for (i = 0; i < emu.streams.size(); i++)
		for (j = 0; j < emu.streams[i]->queue.size(); j++)
			if (emu.streams[i]->queue[j].wait.event == event)
				return true;
	return event->done < event->recorded;
}

/* An event that is awaited stays until then, as in the real runtime. */
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	guard g(emu.lock);
	cudaError_t err = emu_enter();

	if (!event_awaited(event))
		delete event;
	return err;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	unsigned long nr;

	ENTER();
	nr = ++event->recorded;
	return put(stream, op_of([=] { event->done = nr; }));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	ENTER();
	while (event->done < event->recorded)
		if (!run_one())
			emu_die("an event that never comes");
	return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
	ENTER();
	if (event->done < event->recorded)
		run_one();
	return event->done < event->recorded ? cudaErrorNotReady : cudaSuccess;
}
