// SPDX-License-Identifier: GPL-2.0
/*
 * mkaudit DIR N [KEY]: makes a snapshot, N keys in every format, and the expected
 * result from plain bookkeeping of the insertions. KEY is the first half of the hash
 * key. In DIR:
 *
 *   snap                 the snapshot
 *   snap.KIND            the same, which says that its keys are made so:
 *                        frame, packet, flow, bytes, address, digest, mixed
 *   digests, column      N digests; N keys of KEY_LEN bytes
 *   keys.csv, keys.json  the same keys, the second field; member "key"
 *   keys.pcap            N frames, key i in frame i
 *   bitmap, ages         the answer
 *
 * Key i was inserted i % EPOCHS epochs before the last one; keys with i % EPOCHS ==
 * NEVER were not inserted. The filter is so large that no false positive is expected;
 * those there are stay the same in each run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <linux/epochfilter.h>

#include "epf/lanes.h"
#include "epf/packet.h"

#define KEY_LEN 12u
#define FRAME_LEN 60u
#define EPOCHS 12u /* more than a filter retains */
#define NEVER 11u
#define LAST 40u
#define LINES_PER_KEYS 4u /* lines: one per so many keys */

static struct epf_hash hash = { .key = { 11, 12 } };

/**
 * struct maker - the snapshot being made
 * @f: filter
 * @epoch: its epoch
 * @n: number of keys
 * @dir: directory of the files
 */
struct maker {
	struct epf_lanes f;
	__u64 epoch;
	__u32 n;
	const char *dir;
};

static void check(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

static void key_of(__u32 i, char key[KEY_LEN + 1])
{
	snprintf(key, KEY_LEN + 1, "%012llx",
		 (unsigned long long)(i * 0x9e3779b97f4aULL & 0xffffffffffffULL));
}

static void frame_of(__u32 i, unsigned char frame[FRAME_LEN])
{
	memset(frame, 0, FRAME_LEN);
	frame[12] = 0x88; /* EtherType: for experiments, IEEE 802 */
	frame[13] = 0xb5;
	memcpy(frame + 14, &i, sizeof(i));
}

static __u64 key_digest(__u32 i)
{
	char key[KEY_LEN + 1];

	key_of(i, key);
	return epf_digest(&hash, key, KEY_LEN);
}

static __u64 frame_digest(__u32 i)
{
	struct epf_pkt_opts opts = { .key = EPF_PKT_FRAME };
	unsigned char frame[FRAME_LEN];
	struct epf_seg seg = { .data = frame, .len = FRAME_LEN };
	struct epf_pkt pkt = { .seg = &seg, .nr_segs = 1, .len = FRAME_LEN };
	__u64 digest = 0;

	frame_of(i, frame);
	check(!epf_pkt_digest(&hash, &pkt, &opts, &digest), "frame");
	return digest;
}

static void insert(struct maker *m, __u64 digest)
{
	struct epf_probe p;

	epf_probe(&m->f, digest, &p);
	epf_lanes_insert(&m->f, &p);
}

static void fill(struct maker *m)
{
	__u32 back = EPOCHS, i;

	while (back--) {
		m->epoch = LAST - back;
		for (i = back; back != NEVER && i < m->n; i += EPOCHS) {
			insert(m, key_digest(i));
			insert(m, frame_digest(i));
		}
	}
}

static FILE *begin(const struct maker *m, const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", m->dir, name);
	f = fopen(path, "w");
	check(!!f, path);
	return f;
}

static void end(FILE *f)
{
	check(!ferror(f) && !fclose(f), "writing");
}

static void write_snap(const struct maker *m, __u64 lines, const char *name,
		       struct epf_key_desc desc)
{
	struct epf_snap_header h = {
		.magic = EPF_SNAP_MAGIC,
		.version = EPF_SNAP_VERSION,
		.header_bytes = sizeof(h),
		.params = {
			.name = "made",
			.mode = EPF_MODE_TIME,
			.lines_per_key = 2,
			.bits_per_key = 20,
			.nr_lines = lines,
			.window_ns = 70000000000ULL,
			.budget_ppt = 100000000,
			.limit_ppt = 200000000,
		},
		.key = { hash.key[0], hash.key[1] },
		.epoch_begin = LAST,
		.epoch_end = LAST,
		.inserts = 2ULL * m->n,
		.realtime_ns = 1700000000000000000ULL,
	};
	size_t bytes = lines * EPF_LINE_BYTES;
	FILE *f = begin(m, name);
	struct {
		struct epf_snap_header h;
		struct epf_key_desc desc;
	} head;
	__u32 age;

	for (age = 0; age < EPF_EPOCHS; age++)
		h.epochs[(LAST - age) % EPF_EPOCHS].age_ns = age * 10000000000ULL + 5000000000ULL;
	h.lines_xxh3 = XXH3_64bits(m->f.line, bytes);
	if (desc.kind) {
		h.version = EPF_SNAP_VERSION_DESC;
		h.header_bytes = sizeof(head);
	}
	memcpy(&head.h, &h, sizeof(h));
	head.desc = desc;
	head.h.header_xxh3 = XXH3_64bits(&head, h.header_bytes);
	fwrite(&head, h.header_bytes, 1, f);
	fwrite(m->f.line, bytes, 1, f);
	end(f);
}

static void write_snaps(const struct maker *m, __u64 lines)
{
	static const struct {
		const char *name;
		struct epf_key_desc desc;
	} all[] = {
		{ "snap", { EPF_KEYS_UNKNOWN, 0, 0, 0 } },
		{ "snap.frame", { EPF_KEYS_PACKET, EPF_PKT_FRAME, 0, 0 } },
		{ "snap.packet", { EPF_KEYS_PACKET, EPF_PKT_PACKET, EPF_PKT_NO_MAC, 64 } },
		{ "snap.flow", { EPF_KEYS_PACKET, EPF_PKT_FLOW, 0, 0 } },
		{ "snap.bytes", { EPF_KEYS_BYTES, 0, 0, 0 } },
		{ "snap.address", { EPF_KEYS_ADDRESS, 0, 0, 0 } },
		{ "snap.digest", { EPF_KEYS_DIGEST, 0, 0, 0 } },
		{ "snap.mixed", { EPF_KEYS_MIXED, 0, 0, 0 } },
	};
	unsigned int i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		write_snap(m, lines, all[i].name, all[i].desc);
}

static void write_columns(const struct maker *m)
{
	FILE *digests = begin(m, "digests"), *column = begin(m, "column");
	char key[KEY_LEN + 1];
	__u32 i;

	for (i = 0; i < m->n; i++) {
		__u64 digest = key_digest(i);

		key_of(i, key);
		fwrite(&digest, sizeof(digest), 1, digests);
		fwrite(key, KEY_LEN, 1, column);
	}
	end(digests);
	end(column);
}

static void write_texts(const struct maker *m)
{
	FILE *csv = begin(m, "keys.csv"), *json = begin(m, "keys.json");
	char key[KEY_LEN + 1];
	__u32 i;

	fprintf(csv, "row,key,remark\n");
	for (i = 0; i < m->n; i++) {
		key_of(i, key);
		fprintf(csv, "%u,%s,\"a, b\"\n", i, key);
		fprintf(json, "{\"row\": %u, \"key\": \"%s\"}\n", i, key);
	}
	end(csv);
	end(json);
}

/* pcap(5), Ethernet. */
static void write_pcap(const struct maker *m)
{
	const __u32 header[] = { 0xa1b2c3d4, 4u << 16 | 2, 0, 0, 65535, 1 };
	FILE *f = begin(m, "keys.pcap");
	unsigned char frame[FRAME_LEN];
	__u32 i;

	fwrite(header, sizeof(header), 1, f);
	for (i = 0; i < m->n; i++) {
		const __u32 record[] = { i, 0, FRAME_LEN, FRAME_LEN };

		frame_of(i, frame);
		fwrite(record, sizeof(record), 1, f);
		fwrite(frame, FRAME_LEN, 1, f);
	}
	end(f);
}

static void write_answer(const struct maker *m)
{
	FILE *bitmap = begin(m, "bitmap"), *ages = begin(m, "ages");
	unsigned int bits = 0;
	__u32 i;

	for (i = 0; i < m->n; i++) {
		__u32 age = i % EPOCHS;

		fputc(age < EPF_LANES ? (int)age : EPF_AGE_ABSENT, ages);
		bits |= (age < EPF_LANES) << i % 8;
		if (i % 8 == 7 || i == m->n - 1) {
			fputc((int)bits, bitmap);
			bits = 0;
		}
	}
	end(bitmap);
	end(ages);
}

int main(int argc, char **argv)
{
	struct maker m = { .epoch = LAST };
	__u64 lines;

	if (argc != 3 && argc != 4)
		return 2;
	if (argc == 4)
		hash.key[0] = strtoull(argv[3], NULL, 0);
	m.dir = argv[1];
	m.n = (__u32)atoi(argv[2]);
	lines = (m.n / LINES_PER_KEYS + 64) & ~1ULL;
	m.f.line = aligned_alloc(EPF_LINE_BYTES, lines * EPF_LINE_BYTES);
	check(m.f.line && !epf_geom_init(&m.f.geom, lines, 2, 20), "lines");
	memset(m.f.line, 0, lines * EPF_LINE_BYTES);
	m.f.epoch = &m.epoch;
	fill(&m);
	write_snaps(&m, lines);
	write_columns(&m);
	write_texts(&m);
	write_pcap(&m);
	write_answer(&m);
	return 0;
}
