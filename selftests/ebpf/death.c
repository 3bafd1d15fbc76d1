// SPDX-License-Identifier: GPL-2.0
/* See death.h. The function names are those of gcc's instrumentation, and of the
 * linker's --wrap.
 */
#include "death.h"

#include <sys/mman.h>

#define DIED 77

struct death death;

static struct area {
	const char *at;
	size_t bytes;
} areas[64];
#define NR_AREAS (sizeof(areas) / sizeof(areas[0]))

static void step(const void *at)
{
	if (!death.counts)
		return;
	death.counts = false; /* what is called meanwhile is no step */
	death.steps++;
	if (death.meanwhile)
		death.meanwhile(at);
	if (death.steps == death.at)
		_exit(DIED);
	death.counts = true;
}

/* Can other processes see it? */
static bool seen(const void *at)
{
	size_t i;

	for (i = 0; i < NR_AREAS; i++)
		if ((size_t)((const char *)at - areas[i].at) < areas[i].bytes)
			return true;
	return false;
}

static void store_to(const void *at)
{
	if (death.counts && seen(at))
		step(at);
}

void *__real_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t off)
{
	void *map = __real_mmap(at, bytes, prot, flags, fd, off);
	size_t i = 0;

	while (i < NR_AREAS - 1 && areas[i].bytes)
		i++;
	areas[i] = (struct area){ map, bytes };
	return map;
}

int __real_munmap(void *at, size_t bytes);
int __wrap_munmap(void *at, size_t bytes)
{
	size_t i;

	for (i = 0; i < NR_AREAS; i++)
		if (areas[i].at == at)
			areas[i].bytes = 0;
	return __real_munmap(at, bytes);
}

#define STORE(name)           \
	void name(void *at)   \
	{                     \
		store_to(at); \
	}
STORE(__tsan_write1)
STORE(__tsan_write2)
STORE(__tsan_write4)
STORE(__tsan_write8)
STORE(__tsan_write16)
STORE(__tsan_unaligned_write2)
STORE(__tsan_unaligned_write4)
STORE(__tsan_unaligned_write8)
STORE(__tsan_unaligned_write16)

#define NOTHING(name)       \
	void name(void *at) \
	{                   \
		(void)at;   \
	}
NOTHING(__tsan_read1)
NOTHING(__tsan_read2)
NOTHING(__tsan_read4)
NOTHING(__tsan_read8)
NOTHING(__tsan_read16)
NOTHING(__tsan_unaligned_read2)
NOTHING(__tsan_unaligned_read4)
NOTHING(__tsan_unaligned_read8)
NOTHING(__tsan_unaligned_read16)
NOTHING(__tsan_func_entry)
NOTHING(__tsan_func_exit)

void __tsan_init(void)
{
}

void __tsan_read_range(void *at, size_t bytes)
{
}

void __tsan_write_range(void *at, size_t bytes)
{
	store_to(at);
}

__u64 __tsan_atomic64_load(const __u64 *p, int order)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

__u32 __tsan_atomic32_load(const __u32 *p, int order)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

void __tsan_atomic64_store(__u64 *p, __u64 v, int order)
{
	store_to(p);
	__atomic_store_n(p, v, __ATOMIC_SEQ_CST);
}

void __tsan_atomic32_store(__u32 *p, __u32 v, int order)
{
	store_to(p);
	__atomic_store_n(p, v, __ATOMIC_SEQ_CST);
}

__u64 __tsan_atomic64_fetch_add(__u64 *p, __u64 v, int order)
{
	store_to(p);
	return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}

bool __tsan_atomic64_compare_exchange_strong(__u64 *p, __u64 *old, __u64 v, int order, int other)
{
	static int scanned; /* of many similar stores only the first counts */

	if (death.counts && scanned++ < 3)
		store_to(p);
	return __atomic_compare_exchange_n(p, old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void __tsan_atomic_thread_fence(int order)
{
	__sync_synchronize();
}

static void waits(void)
{
	step(NULL);
	if (death.asked)
		__atomic_store_n(death.asked, 1, __ATOMIC_SEQ_CST);
}

int __real_bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags);
int __wrap_bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	waits();
	if (death.halt)
		raise(SIGSTOP);
	return death.alone ? 0 : __real_bpf_map_update_elem(fd, key, value, flags);
}

int __real_bpf_map_delete_elem(int fd, const void *key);
int __wrap_bpf_map_delete_elem(int fd, const void *key)
{
	waits();
	return __real_bpf_map_delete_elem(fd, key);
}

int __real_bpf_obj_pin(int fd, const char *path);
int __wrap_bpf_obj_pin(int fd, const char *path)
{
	step(NULL);
	return __real_bpf_obj_pin(fd, path);
}

int __real_unlink(const char *path);
int __wrap_unlink(const char *path)
{
	step(NULL);
	return __real_unlink(path);
}

/* A copy that other processes see has two steps: nothing copied yet, and half of it
 * copied.
 */
void *__real_memcpy(void *to, const void *from, size_t bytes);
void *__wrap_memcpy(void *to, const void *from, size_t bytes)
{
	size_t half = bytes / 2;

	if (death.copies && bytes > 4096)
		death.copies();
	if (!death.counts || !seen(to))
		return __real_memcpy(to, from, bytes);
	step(to);
	__real_memcpy(to, from, half);
	step(to);
	__real_memcpy((char *)to + half, (const char *)from + half, bytes - half);
	return to;
}

void *__real_memset(void *at, int v, size_t bytes);
void *__wrap_memset(void *at, int v, size_t bytes)
{
	store_to(at);
	return __real_memset(at, v, bytes);
}

bool dies(int (*act)(void), __u64 n)
{
	pid_t pid = drive_fork();
	int status;

	if (!pid) {
		death.at = n;
		death.steps = 0;
		death.counts = true;
		_exit(act() ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	if (WEXITSTATUS(status) == DIED)
		return true;
	if (status)
		printf("# step %llu: status %x\n", n, (unsigned int)status);
	return false;
}

pid_t death_release(struct drive *d)
{
	pid_t pid = drive_fork();

	if (!pid) {
		while (!__atomic_load_n(death.asked, __ATOMIC_SEQ_CST))
			sched_yield();
		drive_sleep(50000000);
		d->prog->bss->hold = 0;
		_exit(0);
	}
	return pid;
}

void *death_page(void)
{
	return __real_mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}
