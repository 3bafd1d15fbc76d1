// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Information on filters and snapshots, as programs get it. */
#include "lib.h"

#include <stdio.h>
#include <string.h>

#include "libepf/desc.h"
#include "libepf/kinds/compare.h"

double lib_share(__u64 ppt)
{
	return (double)ppt / (double)EPF_RATE_ONE;
}

void lib_info_params(struct libepf_info *to, const struct epf_params *p,
		     const struct epf_key_desc *desc)
{
	const char *kind = epf_kind_name(p->kind);

	memset(to, 0, sizeof(*to));
	to->flags = p->refresh == EPF_FIRST_SEEN ? LIBEPF_INFO_FIRST_SEEN : 0;
	snprintf(to->name, sizeof(to->name), "%s", p->name);
	snprintf(to->kind, sizeof(to->kind), "%s", kind ? kind : "unknown");
	epf_key_desc_text(desc, to->keys);
	to->window_keys = p->window_inserts;
	to->window_ns = p->window_ns;
	to->error = lib_share(p->budget_ppt);
	to->limit = lib_share(p->limit_ppt);
}

void lib_info(struct libepf_info *to, const struct epf_info *from)
{
	lib_info_params(to, &from->params, &from->desc);
	to->flags |= from->flags & EPF_INFO_SATURATED ? LIBEPF_INFO_SATURATED : 0;
	to->flags |= from->flags & EPF_INFO_ALIGNED ? LIBEPF_INFO_ALIGNED : 0;
	to->estimate = lib_share(from->fpr_ppt);
	to->epochs = from->window_epochs;
	to->epoch = from->epoch;
	to->memory_bytes = from->memory_bytes;
	to->covered_keys = from->covered_inserts;
	to->covered_ns = from->covered_ns;
	to->inserts = from->stats.inserts;
	to->hits = from->stats.hits;
	to->misses = from->stats.misses;
	to->unknown = from->stats.failed_open;
	to->rotations = from->stats.rotations;
	to->id = from->id;
}
