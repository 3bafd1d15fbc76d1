// SPDX-License-Identifier: GPL-2.0
/* The core's answers, as a library for device_arrays.py. */
#include <epf/lanes.h>
#include <libepf.h>

/* The ages of @n keys of @len bytes in @l. */
void core_ages(const struct libepf_lines *l, const unsigned char *key, __u64 n, __u32 len,
	       __u8 *age)
{
	struct epf_lanes f = { .line = (struct epf_line *)(void *)(unsigned long)l->data };
	struct epf_hash hash;
	struct epf_probe p;
	__u64 i;
	int verdict;

	epf_geom_init(&f.geom, l->nr, l->parts, l->parts * l->fields);
	epf_hash_init(&hash, l->key[0], l->key[1], l->hash);
	for (i = 0; i < n; i++) {
		epf_probe(&f, epf_digest(&hash, key + i * len, len), &p);
		verdict = epf_lanes_look(&p, l->epoch, 0);
		age[i] = verdict ? (__u8)(verdict - EPF_PRESENT) : (__u8)EPF_AGE_ABSENT;
	}
}
