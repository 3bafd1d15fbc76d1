// SPDX-License-Identifier: GPL-2.0
/* Lemma 1 and Proposition 1, checked in filters that are large enough to have no false
 * positives.
 */
#define EPF_PRIVATE

#include "ge.h"

#define SEED 4242u
#define BITS 4096.0 /* per key: no false positives */

/**
 * struct span - how long keys are found, over every phase
 * @least: number of insertions, including its own, after which every key was still found
 * @most: number of insertions after which some key was still found
 */
struct span {
	__u64 least, most;
};

static __u64 last_seen(enum structure kind, __u64 window, __u64 before)
{
	struct filter f;
	__u64 n, seen = 0;

	filter_make(&f, kind, window, BITS, EPF_GE_SEGMENTS);
	for (n = 0; n < before; n++)
		filter_insert(&f, key_digest(n, SEED));
	for (; n < before + 3 * window; n++) {
		filter_insert(&f, key_digest(n, SEED));
		if (filter_test(&f, key_digest(before, SEED)))
			seen = n - before + 1;
	}
	filter_free(&f);
	return seen;
}

/* For keys at every position in an epoch. */
static struct span span(enum structure kind, __u64 window)
{
	struct span s = { ~0ULL, 0 };
	__u64 before;

	for (before = 2 * window; before < 3 * window; before++) {
		__u64 seen = last_seen(kind, window, before);

		s.least = seen < s.least ? seen : s.least;
		s.most = seen > s.most ? seen : s.most;
	}
	return s;
}

static void lemma(const struct paper *p, enum structure kind, __u64 window)
{
	__u64 r = structure_epochs(kind), l = (window + r - 1) / r;
	struct span s = span(kind, window);
	char item[128], note[128];

	snprintf(note, sizeof(note), "W=%llu; a key is found for %llu to %llu insertions", window,
		 s.least, s.most);
	snprintf(item, sizeof(item), "%s: every key of the last W is found (Lemma 1)",
		 structure_name[kind]);
	paper_row(p, "Laws", item, "", "law", note, "%d", s.least >= window);
	snprintf(item, sizeof(item), "%s: no key is found beyond W + l (Proposition 1)",
		 structure_name[kind]);
	paper_row(p, "Laws", item, "", "law", note, "%d", s.most <= window + l);
}

void ge_laws(const struct paper *p)
{
	int kind;

	for (kind = GE4; kind <= BLOCKED; kind++)
		lemma(p, kind, p->quick ? 40 : 200);
	paper_row(p, "Laws", "GE r=4 W=18: longest retention in insertions", "23", "misprint:25",
		  "W + l holds where r divides W; the bound is (r+1) l <= W + l + r - 1", "%llu",
		  span(GE4, 18).most);
}
