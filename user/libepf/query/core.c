// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Engines that call the core. One takes a key after another; every other engine
 * must give the same answers. The other one works in a ring, for CPUs without an
 * engine of their own: it prefetches the lines of a block while it tests the
 * block before.
 */
#include "engine.h"

static bool always(void)
{
	return true;
}

/* With a constant @parts the compiler unrolls the loop over parts. */
EPF_FN struct epf_lanes of_parts(const struct epf_lens *l, __u32 parts)
{
	struct epf_lanes f = l->f;

	f.geom.parts = parts;
	return f;
}

EPF_FN unsigned char age_of(const struct epf_probe *p, __u64 epoch)
{
	int verdict = epf_lanes_look(p, epoch, 0);

	return verdict ? (unsigned char)(verdict - EPF_PRESENT) : EPF_AGE_ABSENT;
}

EPF_FN void scalar_parts(__u32 parts, const struct epf_lens *l, const unsigned char *digest,
			 __u32 n, unsigned char *age)
{
	struct epf_lanes f = of_parts(l, parts);
	struct epf_probe p;
	__u32 i;

	for (i = 0; i < n; i++) {
		epf_probe(&f, epf_get_le64(digest + i * sizeof(__u64)), &p);
		age[i] = age_of(&p, l->epoch);
	}
}

static void scalar_look(const struct epf_lens *l, const unsigned char *digest, __u32 n,
			unsigned char *age)
{
	EPF_BY_PARTS(l->f.geom.parts, scalar_parts, l, digest, n, age);
}

static void asked_look(const struct epf_lens *l, const unsigned char *digest, __u32 n,
		       unsigned char *age)
{
	__u32 i;

	for (i = 0; i < n; i++)
		age[i] = epf_asked_age(l->asked, epf_get_le64(digest + i * sizeof(__u64)));
}

static int scalar_query(const struct epf_view *v, const struct epf_keys *keys, struct epf_answer *a)
{
	return epf_audit_run_any(v->asked ? asked_look : scalar_look, v, keys, a);
}

const struct epf_engine epf_engine_scalar = {
	"scalar",
	always,
	scalar_query,
	epf_cpu_rates,
};

EPF_FN void ring_probe(const struct epf_lanes *f, const unsigned char *digest, struct epf_probe *p)
{
	__u32 i;

	for (i = 0; i < EPF_BLOCK_KEYS; i++)
		epf_probe(f, epf_get_le64(digest + i * sizeof(__u64)), &p[i]);
}

EPF_FN void ring_parts(__u32 parts, const struct epf_lens *l, const unsigned char *digest, __u32 n,
		       unsigned char *age)
{
	struct epf_lanes f = of_parts(l, parts);
	struct epf_probe p[2][EPF_BLOCK_KEYS];
	__u32 at, i;

	ring_probe(&f, digest, p[0]);
	for (at = 0; at < n; at += EPF_BLOCK_KEYS) {
		__u32 now = at / EPF_BLOCK_KEYS % 2;
		__u32 next = at + EPF_BLOCK_KEYS;

		if (next < n)
			ring_probe(&f, digest + next * sizeof(__u64), p[!now]);
		for (i = 0; i < EPF_BLOCK_KEYS; i++)
			age[at + i] = age_of(&p[now][i], l->epoch);
	}
}

static void ring_look(const struct epf_lens *l, const unsigned char *digest, __u32 n,
		      unsigned char *age)
{
	EPF_BY_PARTS(l->f.geom.parts, ring_parts, l, digest, n, age);
}

static int ring_query(const struct epf_view *v, const struct epf_keys *keys, struct epf_answer *a)
{
	return epf_audit_run(ring_look, v, keys, a);
}

const struct epf_engine epf_engine_ring = {
	"ring",
	always,
	ring_query,
	epf_cpu_rates,
};
