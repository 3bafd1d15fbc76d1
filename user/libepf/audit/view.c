// SPDX-License-Identifier: GPL-2.0
/* Views: lines of a snapshot or of a live filter, and their epoch; or an owned
 * kind's memory, and its state.
 */
#include "audit.h"
#include "engine.h"
#include "copy.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_BYTES (2u << 20)

__u64 epf_view_serial(void)
{
	static __u64 last;

	return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

int epf_view_init(struct epf_view *v, const void *lines,
		  const struct epf_params *params, const __u64 key[2],
		  __u64 epoch)
{
	memset(v, 0, sizeof(*v));
	if (params->kind != EPF_KIND_LANES)
		return -EOPNOTSUPP;
	if (params->hash > EPF_HASH_SIPHASH24 || epoch < EPF_EPOCH_FIRST ||
	    (uintptr_t)lines % sizeof(__u64) ||
	    epf_geom_init(&v->geom, params->nr_lines, params->lines_per_key,
			  params->bits_per_key))
		return -EINVAL;
	v->lines = lines;
	v->epoch = epoch;
	v->serial = epf_view_serial();
	v->hash.strict = params->hash == EPF_HASH_SIPHASH24;
	if (key)
		memcpy(v->hash.key, key, sizeof(v->hash.key));
	return 0;
}

/* @bytes of room in huge pages. Return: NULL: none. */
static void *make_room(struct epf_view *v, size_t bytes)
{
	size_t all = bytes + HUGE_BYTES;
	void *own = mmap(NULL, all, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	void *to;

	if (own == MAP_FAILED)
		return NULL;
	to = (void *)(((uintptr_t)own + HUGE_BYTES - 1) &
		      ~(uintptr_t)(HUGE_BYTES - 1));
	madvise(to, bytes, MADV_HUGEPAGE); /* else small ones will do */
	v->own = own;
	v->own_bytes = all;
	return to;
}

/* Memory is copied before it is looked at: a file may be written meanwhile. */
static int settle_owned(struct epf_view *v, const struct epf_params *params,
			const struct epf_snap_owned *s, const void *words)
{
	size_t bytes = s->words * sizeof(__u64);
	int ret = epf_asked_init(v->asked, params, s);
	void *to;

	if (ret)
		return ret;
	to = make_room(v, bytes);
	if (!to)
		return -ENOMEM;
	memcpy(to, words, bytes);
	return epf_asked_place(v->asked, to) ? 0 : -EINVAL;
}

int epf_view_owned(struct epf_view *v, const struct epf_params *params,
		   const __u64 key[2], const struct epf_snap_owned *state,
		   const void *words)
{
	struct epf_snap_owned *s = malloc(sizeof(*s));
	int ret = -ENOMEM;

	memset(v, 0, sizeof(*v));
	v->asked = calloc(1, sizeof(*v->asked));
	if (s && v->asked) {
		memcpy(s, state, sizeof(*s));
		v->epoch = s->epoch;
		v->hash.strict = params->hash == EPF_HASH_SIPHASH24;
		if (key)
			memcpy(v->hash.key, key, sizeof(v->hash.key));
		ret = params->hash > EPF_HASH_SIPHASH24 ?
			      -EINVAL : settle_owned(v, params, s, words);
	}
	free(s);
	if (ret)
		epf_view_close(v);
	return ret;
}

int epf_view_snap(struct epf_view *v, const struct epf_snap_file *file)
{
	const struct epf_snap_header *h = &file->header;

	int ret;

	if (file->owned)
		ret = epf_view_owned(v, &h->params, h->key, file->owned,
				     file->owned + 1);
	else
		ret = epf_view_init(v, file->lines, &h->params, h->key,
				    h->epoch_end);
	if (!ret)
		v->desc = file->desc;
	return ret;
}

int epf_view_settle(struct epf_view *v)
{
	size_t bytes = epf_geom_lines(&v->geom) * EPF_LINE_BYTES;
	struct epf_view new = *v;
	void *to;

	if (v->asked)
		return 0;
	to = make_room(&new, bytes);
	if (!to)
		return -ENOMEM;
	if ((uintptr_t)v->lines % 16)
		epf_copy_words(to, v->lines, bytes);
	else
		epf_copy_away(to, v->lines, bytes);
	/* an epoch that the caller reads now is not older than a lane copied */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	epf_view_close(v);
	*v = new;
	v->lines = to;
	v->serial = epf_view_serial();
	v->trail = NULL;
	return 0;
}

void epf_view_close(struct epf_view *v)
{
	if (v->own)
		munmap(v->own, v->own_bytes);
	free(v->asked);
	epf_cuda_forget(v->serial);
	explicit_bzero(v->hash.key, sizeof(v->hash.key));
	v->own = NULL;
	v->asked = NULL;
	v->lines = NULL;
	v->serial = 0;
}
