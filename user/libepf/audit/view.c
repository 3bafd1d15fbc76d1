// SPDX-License-Identifier: GPL-2.0
/* Views: lines of a snapshot or of a live filter, and their epoch. */
#include "audit.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_BYTES (2u << 20)

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
	v->hash.strict = params->hash == EPF_HASH_SIPHASH24;
	if (key)
		memcpy(v->hash.key, key, sizeof(v->hash.key));
	return 0;
}

int epf_view_snap(struct epf_view *v, const struct epf_snap_file *file)
{
	const struct epf_snap_header *h = &file->header;

	return epf_view_init(v, file->lines, &h->params, h->key, h->epoch_end);
}

int epf_view_settle(struct epf_view *v)
{
	size_t bytes = epf_geom_lines(&v->geom) * EPF_LINE_BYTES;
	size_t all = bytes + HUGE_BYTES;
	void *own = mmap(NULL, all, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	void *to;

	if (own == MAP_FAILED)
		return -ENOMEM;
	to = (void *)(((uintptr_t)own + HUGE_BYTES - 1) &
		      ~(uintptr_t)(HUGE_BYTES - 1));
	madvise(to, bytes, MADV_HUGEPAGE); /* else small ones will do */
	memcpy(to, v->lines, bytes);
	epf_view_close(v);
	v->lines = to;
	v->own = own;
	v->own_bytes = all;
	return 0;
}

void epf_view_close(struct epf_view *v)
{
	if (v->own)
		munmap(v->own, v->own_bytes);
	v->own = NULL;
	v->lines = NULL;
}
