// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Views of live filters. */
#include "audit.h"
#include "backend.h"
#include "clock.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define TRIES 16

/**
 * struct moment - information on a filter, and when it was read
 * @before: time before the call, on the clock that the module uses
 * @after: time after the call
 */
struct moment {
	struct epf_info info;
	__u64 before, after;
};

static int live_look(int filter, struct moment *m)
{
	int ret;

	m->before = epf_clock_ns();
	ret = epf_filter_info(filter, &m->info);
	m->after = epf_clock_ns();
	return ret;
}

/* Was it the same table both times? Then both moments give the same creation
 * time, to within the duration of a call, and the epoch has not gone back.
 */
static bool same_table(const struct moment *a, const struct moment *b)
{
	return !memcmp(&a->info.params, &b->info.params, sizeof(a->info.params)) &&
	       a->info.epoch <= b->info.epoch &&
	       a->before - a->info.age_ns <= b->after - b->info.age_ns &&
	       b->before - b->info.age_ns <= a->after - a->info.age_ns;
}

/* Key and mapping belong to one table if the information read before and after
 * agrees.
 */
static int try_view_by(struct epf_view *v, int filter, bool keyed, struct moment *begun,
		       __u64 key[2])
{
	const struct epf_params *p = &begun->info.params;
	struct moment ended;
	size_t bytes;
	void *map;
	int ret = live_look(filter, begun);

	if (!ret && p->kind != EPF_KIND_LANES)
		ret = -EOPNOTSUPP;
	if (!ret && keyed)
		ret = epf_filter_key(filter, key);
	if (ret)
		return ret;
	bytes = p->nr_lines * EPF_LINE_BYTES;
	map = epf_map(filter, bytes, 0);
	ret = map == MAP_FAILED ? -errno : live_look(filter, &ended);
	if (!ret && !same_table(begun, &ended))
		ret = -EAGAIN;
	if (!ret)
		ret = epf_view_init(v, map, p, key, begun->info.epoch);
	if (!ret) {
		v->desc = ended.info.desc;
		v->own = map;
		v->own_bytes = bytes;
	} else if (map != MAP_FAILED) {
		munmap(map, bytes);
	}
	return ret;
}

static int try_view(struct epf_view *v, int filter, bool keyed, struct moment *begun)
{
	__u64 key[2] = { 0 };
	int ret = try_view_by(v, filter, keyed, begun, key);

	explicit_bzero(key, sizeof(key));
	return ret;
}

int epf_view_filter(struct epf_view *v, int filter, bool keyed, struct epf_info *info)
{
	struct moment begun;
	int ret, i;

	memset(v, 0, sizeof(*v));
	/* EINVAL: fewer lines to be mapped than info has told just before */
	for (i = 0; i < TRIES; i++) {
		ret = try_view(v, filter, keyed, &begun);
		if (ret != -EAGAIN && ret != -EINVAL)
			break;
	}
	if (ret)
		return ret == -EAGAIN ? -EBUSY : ret;
	if (info)
		*info = begun.info;
	return 0;
}
