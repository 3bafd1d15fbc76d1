// SPDX-License-Identifier: GPL-2.0
/*
 * In place of libepf, for the example "join" where libepf cannot be built: a "snapshot"
 * whose keys are the numbers below the argument, each as eight bytes.
 */
#include "device.h"

#include <libepf.h>

#define LINES 8191ULL /* of each of two parts: absent keys are rare */
#define HASH_0 0x1234
#define HASH_1 0x5678

struct libepf_snapshot {
	struct epf_lanes f;
	__u64 epoch;
};

const char *libepf_error(void)
{
	return "the snapshot of a test";
}

int libepf_snapshot_open(const char *path, uint32_t, struct libepf_snapshot **snapshot)
{
	struct libepf_snapshot *s = (struct libepf_snapshot *)calloc(1, sizeof(*s));
	__u64 n = strtoull(path, NULL, 10), i;
	struct epf_hash hash;
	struct epf_probe p;

	epf_hash_init(&hash, HASH_0, HASH_1, EPF_HASH_SIPHASH13);
	if (!s || epf_geom_init(&s->f.geom, 2 * LINES, 2, 12))
		return -1;
	s->epoch = EPF_EPOCH_FIRST;
	s->f.epoch = &s->epoch;
	s->f.line = (struct epf_line *)host_memory(2 * LINES * EPF_LINE_BYTES);
	memset(s->f.line, 0, 2 * LINES * EPF_LINE_BYTES);
	for (i = 0; i < n; i++) {
		epf_probe(&s->f, epf_digest(&hash, &i, sizeof(i)), &p);
		epf_lanes_insert(&s->f, &p);
		s->epoch += i == n / 2;
	}
	*snapshot = s;
	return 0;
}

int libepf_snapshot_lines(const struct libepf_snapshot *s, struct libepf_lines *lines)
{
	lines->parts = s->f.geom.parts;
	lines->fields = s->f.geom.bits;
	lines->hash = EPF_HASH_SIPHASH13;
	lines->key[0] = HASH_0;
	lines->key[1] = HASH_1;
	lines->data = s->f.line;
	lines->nr = epf_geom_lines(&s->f.geom);
	lines->epoch = s->epoch;
	return 0;
}

void libepf_snapshot_close(struct libepf_snapshot *s)
{
	free(s->f.line);
	free(s);
}
