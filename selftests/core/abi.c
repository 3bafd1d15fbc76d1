// SPDX-License-Identifier: GPL-2.0
/*
 * The binary interface, written down a second time, so that a changed size, offset or
 * command fails here. No struct has padding, inside or at its end: every byte that
 * crosses the boundary belongs to a field.
 */
#include <linux/epochfilter.h>

#include <stddef.h>

#include "tap.h"

struct field {
	const char *type;
	const char *name; /* NULL: the end of the struct, at its size */
	size_t at;
	size_t bytes;
};

/* clang-format off */
/* F(type, field, ...): their rows; the expansion is rescanned once for each field. */
#define F(type, name, ...)						     \
	{ #type, #name, offsetof(struct type, name),			     \
	  sizeof(((struct type *)0)->name) },				     \
	__VA_OPT__(AGAIN PARENS (type, __VA_ARGS__))
#define AGAIN() F
#define PARENS ()
#define SCAN(...) SCAN2(SCAN2(SCAN2(SCAN2(__VA_ARGS__))))
#define SCAN2(...) SCAN3(SCAN3(SCAN3(SCAN3(__VA_ARGS__))))
#define SCAN3(...) __VA_ARGS__
/* STRUCT(type, bytes, fields): a row for each field, and one for the end. */
#define STRUCT(type, bytes, ...)					     \
	SCAN(F(type, __VA_ARGS__)) { #type, NULL, sizeof(struct type), bytes },

static const struct field fields[] = {
	STRUCT(epf_params, 80, name, kind, hash, mode, refresh, lines_per_key, bits_per_key,
	       nr_lines, window_inserts, window_ns, budget_ppt, limit_ppt)
	STRUCT(epf_create, 176, size, flags, params, key, id, reserved, shape)
	STRUCT(epf_key_desc, 8, kind, key, flags, max_bytes)
	STRUCT(epf_describe, 16, size, flags, desc)
	STRUCT(epf_shape, 64, all)
	STRUCT(epf_shape_ge, 24, segment_bits, epochs, bits, layout, reserved)
	STRUCT(epf_shape_gebl, 24, blocks, block_bits, epochs, bits, offsets)
	STRUCT(epf_shape_apbf, 16, slice_bits, k, l)
	STRUCT(epf_shape_apbbf, 24, blocks, k, l, block_bits, bits)
	STRUCT(epf_shape_tlbf, 32, words_first, words_min, words_max, k, l)
	STRUCT(epf_shape_dict, 40, buckets, yard, generations, tag_bits, rem_bits, slots,
	       lines, reserved)
	STRUCT(epf_shape_chain, 40, lines_first, lines_min, lines_max, load, lines_per_key,
	       bits_per_key, reserved)
	STRUCT(epf_shape_elastic, 16, lines, line_words, epochs)
	STRUCT(epf_name, 40, name, id, reserved)
	STRUCT(epf_ref_args, 48, size, flags, name)
	STRUCT(epf_swap, 88, size, flags, a, b)
	STRUCT(epf_list, 24, size, flags, ids, count, reserved)
	STRUCT(epf_epoch_info, 40, epoch, inserts, age_ns, fill_ppt, fpr_ppt)
	STRUCT(epf_stats, 64, inserts, hits, misses, rotations, delayed, saturations,
	       failed_open, scanned)
	STRUCT(epf_info, 624, size, flags, id, users, params, epoch, memory_bytes,
	       covered_inserts, covered_ns, fpr_ppt, age_ns, stats, epochs, shape, needs,
	       window_epochs, slices, waits, desc, kept_ns)
	STRUCT(epf_batch, 56, size, flags, count, key_len, keys, lens, bitmap, ages, done,
	       present)
	STRUCT(epf_rotate_args, 24, size, flags, count, reserved, epoch)
	STRUCT(epf_key_args, 24, size, flags, key)
	STRUCT(epf_snap_epoch, 16, inserts, age_ns)
	STRUCT(epf_snap_header, 288, magic, version, header_bytes, params, key, epoch_begin,
	       epoch_end, inserts, realtime_ns, epochs, lines_xxh3, header_xxh3)
	STRUCT(epf_snap, 328, size, flags, pin_ns, header, journal, now_ns, desc)
	STRUCT(epf_snap_slice, 48, words, begin_ns, since, until, last_ns, fn)
	STRUCT(epf_snap_table, 80, words, last, keys)
	STRUCT(epf_snap_locked, 16528, size, nr, words, shape, epoch, now, steady_ns, taken,
	       last_ns, turn, start_ns, begun, past, slice)
	STRUCT(epf_snap_read, 32, size, flags, offset, bytes, data)
	STRUCT(epf_restore, 312, size, flags, header, lines, desc)
	STRUCT(epf_journal_args, 40, size, flags, order, shards, bytes, records, serial)
	STRUCT(epf_journal_head, 64, over, unrecorded, read_unrecorded, note, reserved)
	STRUCT(epf_journal_shard, 64, next, lost, read, reserved)
	STRUCT(epf_journal_record, 32, seq, epoch, value, more)
	STRUCT(epf_pkt_opts, 8, key, link, flags, max_bytes)
	STRUCT(epf_pkt_scope, 8, iface, mark)
};

#define N(number, was) { #number, number, was },

static const struct {
	const char *name;
	unsigned long got, want;
} numbers[] = {
	N(EPF_IOC_CREATE, 0xc0b0ef00) N(EPF_IOC_DESTROY, 0x4030ef01) N(EPF_IOC_LIST, 0xc018ef02)
	N(EPF_IOC_OPEN, 0x4030ef03) N(EPF_IOC_SWAP, 0x4058ef04) N(EPF_IOC_INFO, 0xc270ef10)
	N(EPF_IOC_TEST, 0xc038ef11) N(EPF_IOC_INSERT, 0xc038ef12)
	N(EPF_IOC_TEST_AND_INSERT, 0xc038ef13) N(EPF_IOC_ROTATE, 0xc018ef14)
	N(EPF_IOC_CLEAR, 0xef15) N(EPF_IOC_KEY, 0xc018ef16) N(EPF_IOC_SNAP_BEGIN, 0xc148ef17)
	N(EPF_IOC_SNAP_END, 0xc148ef18) N(EPF_IOC_RESTORE, 0x4138ef19)
	N(EPF_IOC_JOURNAL, 0xc028ef1a) N(EPF_MMAP_JOURNAL, 1UL << 40) N(EPF_JOURNAL_INSERT, 1)
	N(EPF_JOURNAL_ROTATE, 2) N(EPF_IOC_SNAP_READ, 0x4020ef1b) N(EPF_IOC_DESCRIBE, 0xc010ef1c)
	N(EPF_MODE_COUNT, 0) N(EPF_MODE_TIME, 1) N(EPF_MODE_EITHER, 2) N(EPF_MODE_BOTH, 3)
	N(EPF_HASH_SIPHASH13, 0) N(EPF_HASH_SIPHASH24, 1) N(EPF_HASH_NH, 2) N(EPF_KIND_LANES, 0)
	N(EPF_KIND_GE, 1) N(EPF_KIND_GEBL, 2) N(EPF_KIND_APBF, 3) N(EPF_KIND_APBBF, 4)
	N(EPF_KIND_TLBF, 5) N(EPF_KIND_DICT, 6) N(EPF_KIND_CHAIN, 7) N(EPF_KIND_ELASTIC, 8)
	N(EPF_REFRESH, 0) N(EPF_FIRST_SEEN, 1) N(EPF_PKT_FRAME, 0) N(EPF_PKT_PACKET, 1)
	N(EPF_PKT_FLOW, 2) N(EPF_PKT_CONVERSATION, 3) N(EPF_PKT_PEER, 4) N(EPF_PKT_PEER_PORT, 5)
	N(EPF_PKT_PASS_CONTROL, 8) N(EPF_PKT_REVERSE, 16) N(EPF_PKT_ERRORS, 32)
	N(EPF_PKT_FIRST, 64) N(EPF_PKT_VLAN, 128) N(EPF_PKT_IFACE, 256) N(EPF_PKT_MARK, 512)
	N(EPF_PKT_ZONE, 1024) N(EPF_PKT_IN_ZONE(65535), 0xffff0000)
	N(EPF_PKT_PREFIX(24, 64), 0x4018) N(EPF_PKT_PREFIX(32, 128), 0) N(EPF_CONTROL, 4096)
	N(EPF_CONTROL_RESERVED_MAC, 1) N(EPF_CONTROL_ND, 2) N(EPF_CONTROL_GROUP_MEMBER, 3)
	N(EPF_CONTROL_DHCP, 4) N(EPF_CONTROL_BFD, 5) N(EPF_CONTROL_OSPF, 6)
	N(EPF_CONTROL_VRRP, 7) N(EPF_CONTROL_LOCAL_GROUP, 8) N(EPF_LINK_ETHER, 0)
	N(EPF_LINK_IP, 1) N(EPF_LINK_SLL, 2) N(EPF_LINK_SLL2, 3) N(EPF_SNAP_VERSION, 3)
	N(EPF_SNAP_VERSION_DESC, 4) N(EPF_KEYS_UNKNOWN, 0) N(EPF_KEYS_BYTES, 1)
	N(EPF_KEYS_PACKET, 2) N(EPF_KEYS_ADDRESS, 3) N(EPF_KEYS_DIGEST, 4) N(EPF_KEYS_MIXED, 5)
};
/* clang-format on */

/* Each field begins where the previous one ends. */
static void structs_have_no_holes(void)
{
	size_t i, end = 0;
	bool good = true, sizes = true;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct field *f = &fields[i];

		if (f->at != end) {
			printf("# struct %s: hole or unlisted field before %s\n", f->type,
			       f->name ? f->name : "its end");
			good = false;
		}
		end = f->name ? f->at + f->bytes : 0;
		if (!f->name && f->at != f->bytes) {
			printf("# struct %s: %zu bytes, was %zu\n", f->type, f->at, f->bytes);
			sizes = false;
		}
	}
	tap_ok(good, "structs are the listed fields, without holes");
	tap_ok(sizes, "structs have their sizes");
}

static void numbers_stay(void)
{
	bool good = true;
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (numbers[i].got == numbers[i].want)
			continue;
		printf("# %s: %#lx, was %#lx\n", numbers[i].name, numbers[i].got, numbers[i].want);
		good = false;
	}
	tap_ok(good, "commands and enumerations have their numbers");
}

int main(void)
{
	tap_plan(3);
	structs_have_no_holes();
	numbers_stay();
	return tap_end();
}
