// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory that has the same bytes in all ranks: one copy for each node, or one for each rank.
 * A window that the ranks share has pages of 4 KiB on most machines, private memory has huge
 * pages, which random access needs. So each rank gets a copy where the node has plenty
 * of memory.
 */
#include "common/ranks.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "ranks_mpi.h"

#define LINE_BYTES 64u
#define HUGE_BYTES (2u << 20)
#define SHARE_OF_FREE 4 /* all copies together take at most a quarter */

static MPI_Win window;
static bool have_window;

/* The number after @name in a file of "name number" lines, or the first number if @name is
 * "". Return: UINT64_MAX: there is none, as in "max".
 */
static __u64 number_in(const char *path, const char *name)
{
	FILE *file = fopen(path, "re");
	unsigned long long n = UINT64_MAX;
	char line[128];

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, strlen(name)))
			continue;
		if (sscanf(line + strlen(name), "%llu", &n) != 1)
			n = UINT64_MAX;
		break;
	}
	if (file)
		fclose(file);
	return n;
}

/* What the control group @path may still take. Return: UINT64_MAX: it has no limit. */
static __u64 free_in_group(const char *path)
{
	char name[512];
	__u64 max, used;

	snprintf(name, sizeof(name), "/sys/fs/cgroup%.400s/memory.max", path);
	max = number_in(name, "");
	snprintf(name, sizeof(name), "/sys/fs/cgroup%.400s/memory.current", path);
	used = number_in(name, "");
	if (max == UINT64_MAX || used == UINT64_MAX)
		return UINT64_MAX;
	return max > used ? max - used : 0;
}

/* The path of this process's control group, version 2; "": unknown. */
static void find_group(char *path, size_t bytes)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[400];

	*path = '\0';
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "0::/", 4))
			snprintf(path, bytes, "%s", line + 3);
	}
	if (file)
		fclose(file);
}

/* Bytes that this node can spare: of the machine, and of the control groups around. 0: unknown. */
static __u64 free_bytes(void)
{
	__u64 kib = number_in("/proc/meminfo", "MemAvailable:"), least, n;
	char path[400], *end;

	if (kib == UINT64_MAX)
		return 0;
	least = kib * 1024;
	find_group(path, sizeof(path));
	while ((end = strrchr(path, '/'))) {
		n = free_in_group(path);
		least = n < least ? n : least;
		*end = '\0';
	}
	return least;
}

enum ranks_copy ranks_copy_choose(enum ranks_copy asked, size_t bytes)
{
	int nr, copy = asked;

	MPI_Comm_size(comms.node, &nr);
	if (asked == RANKS_COPY_AUTO)
		copy = nr == 1 || bytes <= free_bytes() / SHARE_OF_FREE / (unsigned int)nr ?
			       RANKS_COPY_OWN :
			       RANKS_COPY_SHARED;
	ranks_tell_comm(&copy, sizeof(copy), comms.node);
	return (enum ranks_copy)copy;
}

static void *own_memory(size_t bytes)
{
	char *map = mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		return NULL;
	map += -(size_t)map & (HUGE_BYTES - 1);
	madvise(map, bytes, MADV_HUGEPAGE); /* else small ones will do */
	return map;
}

/* Room to align is asked for, too: the mappings of all ranks begin at page boundaries, so
 * that the aligned address has the same offset in each.
 */
static void *shared_memory(size_t bytes)
{
	MPI_Aint size;
	char *base;
	int unit, on_node;

	MPI_Comm_rank(comms.node, &on_node);
	MPI_Win_allocate_shared(on_node ? 0 : (MPI_Aint)(bytes + LINE_BYTES), 1, MPI_INFO_NULL,
				comms.node, &base, &window);
	have_window = true;
	MPI_Win_shared_query(window, 0, &size, &unit, &base);
	return base + (-(size_t)base & (LINE_BYTES - 1));
}

void *ranks_memory(size_t bytes, enum ranks_copy copy)
{
	return copy == RANKS_COPY_OWN ? own_memory(bytes) : shared_memory(bytes);
}

void ranks_tell_nodes(void *data, size_t bytes)
{
	if (comms.leaders != MPI_COMM_NULL)
		ranks_tell_comm(data, bytes, comms.leaders);
	if (have_window)
		MPI_Win_fence(0, window);
	else
		ranks_tell_comm(data, bytes, comms.node);
}

void ranks_memory_end(void)
{
	if (have_window)
		MPI_Win_free(&window);
}
