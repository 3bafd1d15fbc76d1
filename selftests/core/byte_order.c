// SPDX-License-Identifier: GPL-2.0
/*
 * A snapshot file is little-endian on every CPU. A filter of each kind, with the same keys at the
 * same times, gives the same bytes, here known by their checksum; so does a merge. Read back, it
 * gives the same answers.
 *
 * In byte_order_swapped libepf is compiled to take the order of this CPU as foreign. It writes
 * files in the other order: on a little-endian CPU by the conversions that a big-endian one uses,
 * and on that, as they are in memory. Their checksums are known too, so no field is forgotten.
 */
#include <epf.h>
#include <audit.h>
#include <local.h>
#include <merge.h>
#include <order.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "../locked.h"
#include "tap.h"

#define SEC 1000000000ULL
#define WINDOW (70 * SEC)
#define BEGIN (1700000000 * SEC)
#define KEYS 1500u
#define EACH (WINDOW / 1000) /* between two keys */
#define ASKED 3000u
#define KEY_LEN 12u

enum { LITTLE, BIG };
#define FILES ((__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) == !EPF_ORDER_SWAPS ? LITTLE : BIG)

/* XXH3-64 of a file in each order, and of the ages of the asked keys. */
struct sums {
	__u64 file[2];
	__u64 ages;
};

static const struct sums known[EPF_KIND_MAX + 1] = {
	[EPF_KIND_LANES] = { { 0x930b2ba2deb90e50ULL, 0xb633e6fd8370441aULL },
			     0xb11a1ca6381b1444ULL },
	[EPF_KIND_GE] = { { 0x9ce0b482ee6be0a9ULL, 0xeea0729328fead2eULL }, 0x73d1f9b96197406eULL },
	[EPF_KIND_GEBL] = { { 0x0946b3afdee5853dULL, 0x75a9afeb83a48640ULL },
			    0x2a6235ad79ad0d4dULL },
	[EPF_KIND_APBF] = { { 0xf6e18408f624de1aULL, 0x1d2018680bc6ba5fULL },
			    0x6a7f67959b37bca9ULL },
	[EPF_KIND_APBBF] = { { 0x5c969d6e79228fc2ULL, 0x0286dc5e21b5b823ULL },
			     0x724457085fc3de54ULL },
	[EPF_KIND_TLBF] = { { 0xf169f134ef75987fULL, 0xe506b1b67d381eddULL },
			    0x261cfb3ffdf47d8dULL },
	[EPF_KIND_DICT] = { { 0x504b832bf7a98a4aULL, 0x2aa911de058add53ULL },
			    0xd2e8d9eb0c33078bULL },
	[EPF_KIND_CHAIN] = { { 0x9d3cdc47258cf11aULL, 0x88fcb56d749e6c51ULL },
			     0x165d05c6f2e6f84fULL },
	[EPF_KIND_ELASTIC] = { { 0xde48a60ace9171b5ULL, 0x5e01eadbdc0b50e8ULL },
			       0x24f11d554c937e14ULL },
};
static const struct sums known_merge = { { 0xb08f8cf40aa00e2eULL, 0x81cb83296f1e3daaULL },
					 0x7dfc81664d812ecfULL };

static const __u64 hash_key[2] = { 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL };
static const struct epf_save_opts save_opts = {
	.now_ns = BEGIN + KEYS * EACH,
	.wall_ns = BEGIN + KEYS * EACH,
	.desc = { EPF_KEYS_PACKET, EPF_PKT_PACKET, EPF_PKT_NO_MAC, 0x01020304 },
};
static char path[] = "/tmp/epf-order-XXXXXX";

static struct epf_params params_of(__u8 kind)
{
	struct epf_params p = {
		.name = "order",
		.kind = kind,
		.mode = EPF_MODE_TIME,
		.window_ns = WINDOW,
		.budget_ppt = EPF_RATE_ONE,
		.limit_ppt = EPF_RATE_ONE,
	};

	if (kind == EPF_KIND_LANES) {
		p.nr_lines = 128;
		p.lines_per_key = 2;
		p.bits_per_key = 10;
	}
	return p;
}

static void key_of(__u32 i, char key[KEY_LEN + 1])
{
	snprintf(key, KEY_LEN + 1, "%012u", i);
}

/* Save a filter with keys @first and up. */
static int save_lanes(__u32 first, const char *to)
{
	struct epf_params p = params_of(EPF_KIND_LANES);
	struct epf_mem *m;
	char key[KEY_LEN + 1];
	int err = 0;
	__u32 i;

	m = epf_mem_new(&p, hash_key, BEGIN, &err);
	if (!m || epf_mem_align(m))
		return -1;
	for (i = 0; i < KEYS; i++) {
		key_of(first + i, key);
		epf_mem_insert(m, epf_mem_digest(m, key, KEY_LEN), BEGIN + i * EACH);
	}
	err = epf_mem_save(m, &save_opts, to, NULL);
	epf_mem_free(m);
	return err;
}

static int save_locked(__u8 kind)
{
	struct epf_params p = params_of(kind);
	struct epf_shape shape = locked_shape(kind);
	struct epf_local *l;
	char key[KEY_LEN + 1];
	int err = 0;
	__u32 i;

	l = epf_local_new(&p, &shape, hash_key, BEGIN, &err);
	if (!l)
		return -1;
	for (i = 0; i < KEYS; i++) {
		key_of(i, key);
		epf_local_insert(l, epf_local_digest(l, key, KEY_LEN), BEGIN + i * EACH);
	}
	err = epf_local_save(l, &save_opts, path, NULL);
	epf_local_free(l);
	return err;
}

/* XXH3-64 of a whole file; 0: it cannot be read. */
static __u64 sum_of_file(const char *name)
{
	static char data[1 << 20];
	FILE *f = fopen(name, "r");
	size_t n = f ? fread(data, 1, sizeof(data), f) : 0;

	if (f)
		fclose(f);
	return n && n < sizeof(data) ? XXH3_64bits(data, n) : 0;
}

static __u64 sum_of_ages(const struct epf_snap_file *file)
{
	static char keys[ASKED * KEY_LEN + 1];
	static unsigned char bitmap[(ASKED + 7) / 8], ages[ASKED];
	struct epf_answer a = { .bitmap = bitmap, .ages = ages, .threads = 1 };
	struct epf_view v;
	__u32 i;
	int err;

	for (i = 0; i < ASKED; i++)
		key_of(i, keys + i * KEY_LEN);
	if (epf_view_snap(&v, file))
		return 0;
	err = epf_engine_find("scalar")->query(
		&v, &(struct epf_keys){ .data = keys, .n = ASKED, .len = KEY_LEN }, &a);
	epf_view_close(&v);
	return err ? 0 : XXH3_64bits(ages, sizeof(ages));
}

static void check(const char *what, const char *name, const struct sums *want)
{
	struct sums got = { .file[FILES] = sum_of_file(name) };
	struct epf_snap_file file;
	enum epf_snap_fault fault;
	int err = epf_snap_open(name, &file, NULL, NULL, &fault);

	if (!err)
		got.ages = sum_of_ages(&file);
	tap_ok(got.file[FILES] == want->file[FILES], "%s: the file is known: %016llx", what,
	       got.file[FILES]);
	tap_ok(!err && got.ages == want->ages, "%s: its answers are known: %s, %016llx", what,
	       epf_snap_fault_text(fault), got.ages);
	if (!err)
		epf_snap_close(&file);
}

static void check_kind(__u8 kind)
{
	int err = kind ? save_locked(kind) : save_lanes(0, path);

	if (err)
		abort();
	check(locked_name(kind), path, &known[kind]);
}

static void check_merge(void)
{
	struct epf_snap_file file[2];
	struct epf_merge m = { .file = file, .nr = 2 };
	enum epf_snap_fault fault;
	bool saved;
	__u32 i;

	for (i = 0; i < 2; i++)
		if (save_lanes(i * KEYS / 2, path) ||
		    epf_snap_open(path, &file[i], NULL, NULL, &fault))
			abort();
	if (epf_merge_plan(&m) || epf_merge_save(&m, path, &saved))
		abort();
	for (i = 0; i < 2; i++)
		epf_snap_close(&file[i]);
	check("merge", path, &known_merge);
}

int main(void)
{
	int fd = mkstemp(path);
	__u8 kind;

	if (fd < 0)
		abort();
	close(fd);
	tap_plan(2 * (EPF_KIND_MAX + 2));
	for (kind = 0; kind <= EPF_KIND_MAX; kind++)
		check_kind(kind);
	check_merge();
	unlink(path);
	return tap_end();
}
