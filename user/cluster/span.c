// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cluster/span.h"

struct span span_of(const struct cluster_msg *m, bool missing, __u64 stamp, __u64 now_ns)
{
	struct span s = {
		.first = m->seq,
		.last = m->seq,
		.from = m->from,
		.to = m->to,
		.since = stamp,
		.at = now_ns,
		.whole = !missing && !m->lost,
	};

	if (s.whole && m->seq == 1)
		s.since = m->from; /* an incarnation has no keys before that */
	return s;
}

void span_join(struct span *a, const struct span *b)
{
	bool follows = b->whole && b->from <= a->to;

	if (!follows)
		a->since = b->since;
	a->whole = a->whole && follows;
	a->last = b->last;
	if (b->to > a->to)
		a->to = b->to;
	if (b->at < a->at)
		a->at = b->at;
}
