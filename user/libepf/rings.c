// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Journals of this process. One that is over makes room for the next of its filter when
 * somebody asks for that; who still reads the old one keeps its mapping.
 */
#include "rings.h"
#include "backend.h"
#include "epf.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

static struct epf_rings *rings_list;
static pthread_mutex_t rings_lock = PTHREAD_MUTEX_INITIALIZER;

static void rings_unlist(const struct epf_rings *r)
{
	struct epf_rings **at = &rings_list;

	while (*at && *at != r)
		at = &(*at)->next;
	if (*at)
		*at = r->next;
}

static void rings_end(struct epf_rings *r)
{
	struct epf_journal_args a = { .size = sizeof(a), .flags = EPF_JOURNAL_END };

	if (r->args.size)
		epf_call(r->filter, EPF_IOC_JOURNAL, &a);
	r->args.size = 0;
}

static void rings_free(struct epf_rings *r)
{
	if (r->map)
		munmap(r->map, r->args.bytes);
	if (!r->keep)
		rings_end(r);
	if (r->filter >= 0)
		epf_close(r->filter);
	free(r->ring);
	free(r);
}

static void rings_find(struct epf_rings *r)
{
	struct epf_journal_shard *shard = (void *)((char *)r->map + EPF_JOURNAL_SHARD_BYTES);
	struct epf_journal_record *record = (void *)((char *)r->map + r->args.records);
	__u32 i;

	for (i = 0; i < r->args.shards; i++) {
		r->ring[i].shard = shard + i;
		r->ring[i].record = record + ((size_t)i << r->args.order);
		r->ring[i].mask = (1ULL << r->args.order) - 1;
	}
}

/* A descriptor of the filter that @filter is one of. */
static int rings_open(int filter, __u32 id)
{
	int dev = epf_backend_open_of(epf_is_module(filter) ? EPF_BACKEND_MODULE :
							      EPF_BACKEND_OTHER);
	int fd = dev < 0 ? dev : epf_dev_filter_id(dev, id);

	if (dev >= 0)
		epf_close(dev);
	return fd;
}

int epf_rings_reopen(int filter)
{
	struct epf_info info = { .size = sizeof(info) };
	int ret = epf_filter_info(filter, &info);

	return ret ? ret : rings_open(filter, info.id);
}

static int rings_begin(struct epf_rings *r, __u32 order, __u32 shards)
{
	struct epf_journal_args a = { .size = sizeof(a), .order = order, .shards = shards };
	int ret = epf_call(r->filter, EPF_IOC_JOURNAL, &a);

	if (ret)
		return ret;
	r->args = a;
	r->ring = calloc(a.shards, sizeof(*r->ring));
	if (!r->ring)
		return -ENOMEM;
	r->map = epf_map(r->filter, a.bytes, (off_t)EPF_MMAP_JOURNAL);
	if (r->map == MAP_FAILED) {
		r->map = NULL;
		return -errno;
	}
	rings_find(r);
	return 0;
}

static int rings_new(int filter, __u32 id, __u32 order, __u32 shards, struct epf_rings **rings)
{
	struct epf_rings *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return -ENOMEM;
	r->id = id;
	r->users = 1;
	r->filter = rings_open(filter, id);
	ret = r->filter < 0 ? r->filter : rings_begin(r, order, shards);
	if (ret) {
		rings_free(r);
		return ret;
	}
	r->next = rings_list;
	rings_list = r;
	*rings = r;
	return 0;
}

/* The journal of filter @id that goes on. One that is over is ended. */
static struct epf_rings *rings_listed(bool module, __u32 id)
{
	struct epf_rings *r;

	for (r = rings_list; r; r = r->next)
		if (r->id == id && epf_is_module(r->filter) == module)
			break;
	if (!r || !epf_rings_over(r))
		return r;
	rings_unlist(r);
	rings_end(r); /* so that the next one can begin */
	return NULL;
}

int epf_rings_get(int filter, __u32 order, __u32 shards, struct epf_rings **r)
{
	struct epf_info info = { .size = sizeof(info) };
	int ret = epf_filter_info(filter, &info);

	if (ret)
		return ret;
	pthread_mutex_lock(&rings_lock);
	*r = rings_listed(epf_is_module(filter), info.id);
	if (*r)
		(*r)->users++;
	else
		ret = rings_new(filter, info.id, order, shards, r);
	pthread_mutex_unlock(&rings_lock);
	return ret;
}

void epf_rings_put(struct epf_rings *r)
{
	pthread_mutex_lock(&rings_lock);
	if (!--r->users) {
		rings_unlist(r);
		rings_free(r);
	}
	pthread_mutex_unlock(&rings_lock);
}

int epf_rings_sync(struct epf_rings *r)
{
	struct epf_journal_args a = { .size = sizeof(a), .flags = EPF_JOURNAL_SYNC };

	return epf_call(r->filter, EPF_IOC_JOURNAL, &a);
}
