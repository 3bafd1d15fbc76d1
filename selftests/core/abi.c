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

#define F(type, name) \
	{ #type, #name, offsetof(struct type, name), sizeof(((struct type *)0)->name) },
#define END(type, bytes) { #type, NULL, sizeof(struct type), bytes },

/* clang-format off */
static const struct field fields[] = {
	F(epf_params, name) F(epf_params, kind) F(epf_params, hash)
	F(epf_params, mode) F(epf_params, refresh)
	F(epf_params, lines_per_key) F(epf_params, bits_per_key)
	F(epf_params, nr_lines) F(epf_params, window_inserts)
	F(epf_params, window_ns) F(epf_params, budget_ppt)
	F(epf_params, limit_ppt) END(epf_params, 80)

	F(epf_create, size) F(epf_create, flags) F(epf_create, params)
	F(epf_create, key) F(epf_create, id) F(epf_create, reserved)
	F(epf_create, shape) END(epf_create, 176)

	F(epf_key_desc, kind) F(epf_key_desc, key) F(epf_key_desc, flags)
	F(epf_key_desc, max_bytes) END(epf_key_desc, 8)
	F(epf_describe, size) F(epf_describe, flags) F(epf_describe, desc)
	END(epf_describe, 16)

	F(epf_shape, all) END(epf_shape, 64)

	F(epf_shape_ge, segment_bits) F(epf_shape_ge, epochs)
	F(epf_shape_ge, bits) F(epf_shape_ge, layout) F(epf_shape_ge, reserved)
	END(epf_shape_ge, 24)
	F(epf_shape_gebl, blocks) F(epf_shape_gebl, block_bits)
	F(epf_shape_gebl, epochs) F(epf_shape_gebl, bits)
	F(epf_shape_gebl, offsets) END(epf_shape_gebl, 24)
	F(epf_shape_apbf, slice_bits) F(epf_shape_apbf, k) F(epf_shape_apbf, l)
	END(epf_shape_apbf, 16)
	F(epf_shape_apbbf, blocks) F(epf_shape_apbbf, k) F(epf_shape_apbbf, l)
	F(epf_shape_apbbf, block_bits) F(epf_shape_apbbf, bits)
	END(epf_shape_apbbf, 24)
	F(epf_shape_tlbf, words_first) F(epf_shape_tlbf, words_min)
	F(epf_shape_tlbf, words_max) F(epf_shape_tlbf, k) F(epf_shape_tlbf, l)
	END(epf_shape_tlbf, 32)
	F(epf_shape_dict, buckets) F(epf_shape_dict, yard)
	F(epf_shape_dict, generations) F(epf_shape_dict, tag_bits)
	F(epf_shape_dict, rem_bits) F(epf_shape_dict, slots)
	F(epf_shape_dict, lines) F(epf_shape_dict, reserved)
	END(epf_shape_dict, 40)
	F(epf_shape_chain, lines_first) F(epf_shape_chain, lines_min)
	F(epf_shape_chain, lines_max) F(epf_shape_chain, load)
	F(epf_shape_chain, lines_per_key) F(epf_shape_chain, bits_per_key)
	F(epf_shape_chain, reserved) END(epf_shape_chain, 40)
	F(epf_shape_elastic, lines) F(epf_shape_elastic, line_words)
	F(epf_shape_elastic, epochs) END(epf_shape_elastic, 16)

	F(epf_name, name) F(epf_name, id) F(epf_name, reserved)
	END(epf_name, 40)

	F(epf_ref_args, size) F(epf_ref_args, flags) F(epf_ref_args, name)
	END(epf_ref_args, 48)

	F(epf_swap, size) F(epf_swap, flags) F(epf_swap, a) F(epf_swap, b)
	END(epf_swap, 88)

	F(epf_list, size) F(epf_list, flags) F(epf_list, ids)
	F(epf_list, count) F(epf_list, reserved) END(epf_list, 24)

	F(epf_epoch_info, epoch) F(epf_epoch_info, inserts)
	F(epf_epoch_info, age_ns) F(epf_epoch_info, fill_ppt)
	F(epf_epoch_info, fpr_ppt) END(epf_epoch_info, 40)

	F(epf_stats, inserts) F(epf_stats, hits) F(epf_stats, misses)
	F(epf_stats, rotations) F(epf_stats, delayed)
	F(epf_stats, saturations) F(epf_stats, failed_open)
	F(epf_stats, scanned) END(epf_stats, 64)

	F(epf_info, size) F(epf_info, flags) F(epf_info, id)
	F(epf_info, users) F(epf_info, params) F(epf_info, epoch)
	F(epf_info, memory_bytes) F(epf_info, covered_inserts)
	F(epf_info, covered_ns) F(epf_info, fpr_ppt) F(epf_info, age_ns)
	F(epf_info, stats) F(epf_info, epochs) F(epf_info, shape)
	F(epf_info, needs) F(epf_info, window_epochs) F(epf_info, slices)
	F(epf_info, waits) F(epf_info, desc) END(epf_info, 616)

	F(epf_batch, size) F(epf_batch, flags) F(epf_batch, count)
	F(epf_batch, key_len) F(epf_batch, keys) F(epf_batch, lens)
	F(epf_batch, bitmap) F(epf_batch, ages) F(epf_batch, done)
	F(epf_batch, present) END(epf_batch, 56)

	F(epf_rotate_args, size) F(epf_rotate_args, flags)
	F(epf_rotate_args, count) F(epf_rotate_args, reserved)
	F(epf_rotate_args, epoch) END(epf_rotate_args, 24)

	F(epf_key_args, size) F(epf_key_args, flags) F(epf_key_args, key)
	END(epf_key_args, 24)

	F(epf_snap_epoch, inserts) F(epf_snap_epoch, age_ns)
	END(epf_snap_epoch, 16)

	F(epf_snap_header, magic) F(epf_snap_header, version)
	F(epf_snap_header, header_bytes) F(epf_snap_header, params)
	F(epf_snap_header, key) F(epf_snap_header, epoch_begin)
	F(epf_snap_header, epoch_end) F(epf_snap_header, inserts)
	F(epf_snap_header, realtime_ns) F(epf_snap_header, epochs)
	F(epf_snap_header, lines_xxh3) F(epf_snap_header, header_xxh3)
	END(epf_snap_header, 288)

	F(epf_snap, size) F(epf_snap, flags) F(epf_snap, pin_ns)
	F(epf_snap, header) F(epf_snap, journal)
	F(epf_snap, now_ns) F(epf_snap, desc) END(epf_snap, 328)

	F(epf_snap_slice, words) F(epf_snap_slice, begin_ns)
	F(epf_snap_slice, since) F(epf_snap_slice, until)
	F(epf_snap_slice, last_ns) F(epf_snap_slice, fn)
	END(epf_snap_slice, 48)
	F(epf_snap_table, words) F(epf_snap_table, last)
	F(epf_snap_table, keys) END(epf_snap_table, 80)
	F(epf_snap_locked, size) F(epf_snap_locked, nr) F(epf_snap_locked, words)
	F(epf_snap_locked, shape) F(epf_snap_locked, epoch)
	F(epf_snap_locked, now) F(epf_snap_locked, steady_ns)
	F(epf_snap_locked, taken) F(epf_snap_locked, last_ns)
	F(epf_snap_locked, turn) F(epf_snap_locked, start_ns)
	F(epf_snap_locked, begun) F(epf_snap_locked, past)
	F(epf_snap_locked, slice) END(epf_snap_locked, 16528)
	F(epf_snap_read, size) F(epf_snap_read, flags)
	F(epf_snap_read, offset) F(epf_snap_read, bytes)
	F(epf_snap_read, data) END(epf_snap_read, 32)

	F(epf_restore, size) F(epf_restore, flags) F(epf_restore, header)
	F(epf_restore, lines) F(epf_restore, desc) END(epf_restore, 312)

	F(epf_journal_args, size) F(epf_journal_args, flags)
	F(epf_journal_args, order) F(epf_journal_args, shards)
	F(epf_journal_args, bytes) F(epf_journal_args, records)
	F(epf_journal_args, serial) END(epf_journal_args, 40)
	F(epf_journal_head, over) F(epf_journal_head, reserved)
	END(epf_journal_head, 64)
	F(epf_journal_shard, next) F(epf_journal_shard, lost)
	F(epf_journal_shard, reserved) END(epf_journal_shard, 64)
	F(epf_journal_record, seq) F(epf_journal_record, epoch)
	F(epf_journal_record, value) F(epf_journal_record, more)
	END(epf_journal_record, 32)

	F(epf_pkt_opts, key) F(epf_pkt_opts, link) F(epf_pkt_opts, flags)
	F(epf_pkt_opts, max_bytes) END(epf_pkt_opts, 8)
	F(epf_pkt_scope, iface) F(epf_pkt_scope, mark) END(epf_pkt_scope, 8)
};
/* clang-format on */

static const struct {
	const char *name;
	unsigned long got, want;
} numbers[] = {
	{ "EPF_IOC_CREATE", EPF_IOC_CREATE, 0xc0b0ef00 },
	{ "EPF_IOC_DESTROY", EPF_IOC_DESTROY, 0x4030ef01 },
	{ "EPF_IOC_LIST", EPF_IOC_LIST, 0xc018ef02 },
	{ "EPF_IOC_OPEN", EPF_IOC_OPEN, 0x4030ef03 },
	{ "EPF_IOC_SWAP", EPF_IOC_SWAP, 0x4058ef04 },
	{ "EPF_IOC_INFO", EPF_IOC_INFO, 0xc268ef10 },
	{ "EPF_IOC_TEST", EPF_IOC_TEST, 0xc038ef11 },
	{ "EPF_IOC_INSERT", EPF_IOC_INSERT, 0xc038ef12 },
	{ "EPF_IOC_TEST_AND_INSERT", EPF_IOC_TEST_AND_INSERT, 0xc038ef13 },
	{ "EPF_IOC_ROTATE", EPF_IOC_ROTATE, 0xc018ef14 },
	{ "EPF_IOC_CLEAR", EPF_IOC_CLEAR, 0xef15 },
	{ "EPF_IOC_KEY", EPF_IOC_KEY, 0xc018ef16 },
	{ "EPF_IOC_SNAP_BEGIN", EPF_IOC_SNAP_BEGIN, 0xc148ef17 },
	{ "EPF_IOC_SNAP_END", EPF_IOC_SNAP_END, 0xc148ef18 },
	{ "EPF_IOC_RESTORE", EPF_IOC_RESTORE, 0x4138ef19 },
	{ "EPF_IOC_JOURNAL", EPF_IOC_JOURNAL, 0xc028ef1a },
	{ "EPF_MMAP_JOURNAL", EPF_MMAP_JOURNAL, 1UL << 40 },
	{ "EPF_JOURNAL_INSERT", EPF_JOURNAL_INSERT, 1 },
	{ "EPF_JOURNAL_ROTATE", EPF_JOURNAL_ROTATE, 2 },
	{ "EPF_IOC_SNAP_READ", EPF_IOC_SNAP_READ, 0x4020ef1b },
	{ "EPF_IOC_DESCRIBE", EPF_IOC_DESCRIBE, 0xc010ef1c },
	{ "EPF_MODE_COUNT", EPF_MODE_COUNT, 0 },
	{ "EPF_MODE_TIME", EPF_MODE_TIME, 1 },
	{ "EPF_MODE_EITHER", EPF_MODE_EITHER, 2 },
	{ "EPF_MODE_BOTH", EPF_MODE_BOTH, 3 },
	{ "EPF_HASH_SIPHASH13", EPF_HASH_SIPHASH13, 0 },
	{ "EPF_HASH_SIPHASH24", EPF_HASH_SIPHASH24, 1 },
	{ "EPF_HASH_NH", EPF_HASH_NH, 2 },
	{ "EPF_KIND_LANES", EPF_KIND_LANES, 0 },
	{ "EPF_KIND_GE", EPF_KIND_GE, 1 },
	{ "EPF_KIND_GEBL", EPF_KIND_GEBL, 2 },
	{ "EPF_KIND_APBF", EPF_KIND_APBF, 3 },
	{ "EPF_KIND_APBBF", EPF_KIND_APBBF, 4 },
	{ "EPF_KIND_TLBF", EPF_KIND_TLBF, 5 },
	{ "EPF_KIND_DICT", EPF_KIND_DICT, 6 },
	{ "EPF_KIND_CHAIN", EPF_KIND_CHAIN, 7 },
	{ "EPF_KIND_ELASTIC", EPF_KIND_ELASTIC, 8 },
	{ "EPF_REFRESH", EPF_REFRESH, 0 },
	{ "EPF_FIRST_SEEN", EPF_FIRST_SEEN, 1 },
	{ "EPF_PKT_FRAME", EPF_PKT_FRAME, 0 },
	{ "EPF_PKT_PACKET", EPF_PKT_PACKET, 1 },
	{ "EPF_PKT_FLOW", EPF_PKT_FLOW, 2 },
	{ "EPF_PKT_CONVERSATION", EPF_PKT_CONVERSATION, 3 },
	{ "EPF_PKT_PEER", EPF_PKT_PEER, 4 },
	{ "EPF_PKT_PEER_PORT", EPF_PKT_PEER_PORT, 5 },
	{ "EPF_PKT_PASS_CONTROL", EPF_PKT_PASS_CONTROL, 8 },
	{ "EPF_PKT_REVERSE", EPF_PKT_REVERSE, 16 },
	{ "EPF_PKT_ERRORS", EPF_PKT_ERRORS, 32 },
	{ "EPF_PKT_FIRST", EPF_PKT_FIRST, 64 },
	{ "EPF_PKT_VLAN", EPF_PKT_VLAN, 128 },
	{ "EPF_PKT_IFACE", EPF_PKT_IFACE, 256 },
	{ "EPF_PKT_MARK", EPF_PKT_MARK, 512 },
	{ "EPF_PKT_ZONE", EPF_PKT_ZONE, 1024 },
	{ "EPF_PKT_IN_ZONE(65535)", EPF_PKT_IN_ZONE(65535), 0xffff0000 },
	{ "EPF_PKT_PREFIX(24, 64)", EPF_PKT_PREFIX(24, 64), 0x4018 },
	{ "EPF_PKT_PREFIX(32, 128)", EPF_PKT_PREFIX(32, 128), 0 },
	{ "EPF_CONTROL", EPF_CONTROL, 4096 },
	{ "EPF_CONTROL_RESERVED_MAC", EPF_CONTROL_RESERVED_MAC, 1 },
	{ "EPF_CONTROL_ND", EPF_CONTROL_ND, 2 },
	{ "EPF_CONTROL_GROUP_MEMBER", EPF_CONTROL_GROUP_MEMBER, 3 },
	{ "EPF_CONTROL_DHCP", EPF_CONTROL_DHCP, 4 },
	{ "EPF_CONTROL_BFD", EPF_CONTROL_BFD, 5 },
	{ "EPF_CONTROL_OSPF", EPF_CONTROL_OSPF, 6 },
	{ "EPF_CONTROL_VRRP", EPF_CONTROL_VRRP, 7 },
	{ "EPF_CONTROL_LOCAL_GROUP", EPF_CONTROL_LOCAL_GROUP, 8 },
	{ "EPF_LINK_ETHER", EPF_LINK_ETHER, 0 },
	{ "EPF_LINK_IP", EPF_LINK_IP, 1 },
	{ "EPF_LINK_SLL", EPF_LINK_SLL, 2 },
	{ "EPF_LINK_SLL2", EPF_LINK_SLL2, 3 },
	{ "EPF_SNAP_VERSION", EPF_SNAP_VERSION, 3 },
	{ "EPF_SNAP_VERSION_DESC", EPF_SNAP_VERSION_DESC, 4 },
	{ "EPF_KEYS_UNKNOWN", EPF_KEYS_UNKNOWN, 0 },
	{ "EPF_KEYS_BYTES", EPF_KEYS_BYTES, 1 },
	{ "EPF_KEYS_PACKET", EPF_KEYS_PACKET, 2 },
	{ "EPF_KEYS_ADDRESS", EPF_KEYS_ADDRESS, 3 },
	{ "EPF_KEYS_DIGEST", EPF_KEYS_DIGEST, 4 },
	{ "EPF_KEYS_MIXED", EPF_KEYS_MIXED, 5 },
};

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
