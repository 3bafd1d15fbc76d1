/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * epochfilter: sliding-window membership filters in the kernel.
 *
 * A filter answers "was this key inserted recently?". A key inserted inside the
 * window is always found. A key never inserted is reported present with a small
 * probability: the budget given at creation.
 *
 * The device
 *
 *   open("/dev/epochfilter") returns a control descriptor. Its commands:
 *
 *     EPF_IOC_CREATE   make a filter                    CAP_NET_ADMIN
 *     EPF_IOC_DESTROY  remove it by name or id          CAP_NET_ADMIN
 *     EPF_IOC_LIST     ids of all filters
 *     EPF_IOC_OPEN     a filter descriptor, by name or id
 *     EPF_IOC_SWAP     exchange the contents of two     CAP_NET_ADMIN
 *
 *   Commands of a filter descriptor:
 *
 *     EPF_IOC_INFO     parameters, state, statistics
 *     EPF_IOC_TEST     look up a batch of keys or digests
 *     EPF_IOC_INSERT   insert a batch                   CAP_NET_ADMIN
 *     EPF_IOC_TEST_AND_INSERT  both                     CAP_NET_ADMIN
 *     EPF_IOC_ROTATE   end epochs now                   CAP_NET_ADMIN
 *     EPF_IOC_CLEAR    forget everything; EPF_KIND_TLBF and _CHAIN are
 *                      replaced by an empty filter      CAP_NET_ADMIN
 *     EPF_IOC_KEY      read the hash key                CAP_NET_ADMIN
 *     EPF_IOC_DESCRIBE say what keys are made of        CAP_NET_ADMIN
 *     EPF_IOC_SNAP_BEGIN, EPF_IOC_SNAP_END              CAP_NET_ADMIN
 *     EPF_IOC_SNAP_READ  between the two, for locked kinds: read memory,
 *                      which lanes allow to map         CAP_NET_ADMIN
 *     EPF_IOC_RESTORE  replace the contents             CAP_NET_ADMIN
 *     EPF_IOC_JOURNAL  begin or end a journal: a ring that records insertions
 *                      and ends of epochs, for one reader  CAP_NET_ADMIN
 *     mmap(2)          the lines, read-only, shared; offset 0. Writable or
 *                      executable: EACCES. The mapping is not memory of the
 *                      process (RSS); calls that pin pages cannot use it
 *                      (O_DIRECT, vmsplice(2), process_vm_readv(2)), and
 *                      madvise(2) returns EINVAL. From offset
 *                      EPF_MMAP_JOURNAL on the descriptor's journal
 *                                                       CAP_NET_ADMIN
 *     poll(2)          EPOLLIN: an epoch ended since the last EPF_IOC_INFO on
 *                      this descriptor; EPOLLPRI: the filter became saturated,
 *                      or recovered, since then; EPOLLHUP: destroyed by force
 *
 *   Capabilities are checked at the call, against the initial user namespace; a
 *   descriptor opened by somebody else grants nothing more.
 *
 * Conventions
 *
 *   Every struct begins with its size, which the caller sets to sizeof. A
 *   smaller struct (older program) is extended with zeros; a larger one (newer
 *   program) must have zeros beyond what the kernel knows, otherwise the call
 *   returns E2BIG. Unknown flags and non-zero reserved fields return EINVAL.
 *   Times are ns of CLOCK_MONOTONIC, also in a time namespace that of the initial
 *   one, or durations in ns. That clock stands still while the system is suspended,
 *   so a window in time then reaches back further. Rates are in parts per 10^12
 *   (ppt). User pointers are __u64. Text is NUL-terminated.
 *
 * Errors (all interfaces)
 *
 *   EINVAL  a number out of its range, an unknown flag, a reserved field set, a
 *           name with characters other than [A-Za-z0-9._-] or starting with
 *           '.', wrong size
 *   E2BIG   struct tail not understood; batch or filter above the limit
 *   EFAULT  a pointer that cannot be read or written. CREATE and SNAP_BEGIN
 *           have then done nothing. What INSERT, TEST_AND_INSERT, ROTATE and
 *           SNAP_END did before the fault stays done, and INFO counts as read
 *   EPERM   CAP_NET_ADMIN is needed
 *   ENOENT  no filter of that name or id
 *   EEXIST  the name is taken
 *   EBUSY   destroy: descriptors, mappings, BPF programs or rules of iptables
 *           hold the filter;
 *           snapshot: another one is under way and its pin is not over, or the
 *           descriptor already has one;
 *           rotate: rotation is pinned, or was pinned meanwhile: some epochs
 *           may have ended;
 *           journal: the filter, or the descriptor, already has one
 *   ENOSPC  the limits on number or total memory of filters are reached; from a
 *           kfunc: "do not know": the filter is saturated and fails open
 *   ENOMEM  no memory, or the memory control group's limit
 *   ENODEV  the filter was destroyed by force while this reference was held;
 *           from a kfunc: "do not know" as well
 *   EINTR   a signal arrived; a batch reports how many keys are done
 *   ENOTTY  unknown command
 *   EOVERFLOW  rotate: the clock of a filter of EPF_KIND_TLBF or EPF_KIND_CHAIN
 *              cannot advance any further
 *   ESTALE  a snapshot of a locked kind took longer than its pin, and an epoch
 *           ended or memory moved meanwhile: the snapshot is over and useless
 *   EOPNOTSUPP a kind of filter that this kernel module does not know, or
 *              whose module (epochfilter_kinds) cannot be loaded; a mapping or
 *              a journal of a locked kind; SNAP_READ of EPF_KIND_LANES
 *   EBADMSG restore: header, geometry, state or memory do not fit; a packet
 *           kfunc: malformed
 *   ENODATA a packet kfunc: truncated
 *   EPROTO  a packet kfunc: not IP, and the options say to pass such packets
 */
#ifndef _UAPI_LINUX_EPOCHFILTER_H
#define _UAPI_LINUX_EPOCHFILTER_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif
#include <linux/ioctl.h>
#include <linux/epochfilter_journal.h>
#include <linux/epochfilter_keys.h>

#define EPF_DEVICE "/dev/epochfilter"
#define EPF_NAME_LEN 32               /* including the NUL */
#define EPF_KEY_MAX 256               /* bytes of one key */
#define EPF_BATCH_MAX (1 << 20)       /* keys of one batch */
#define EPF_RATE_ONE 1000000000000ULL /* certainty, in ppt */
#define EPF_AGE_ABSENT 0xff
#define EPF_AGE_UNKNOWN 0xfe /* with EPF_BATCH_UNKNOWN: the filter does not know */
#define EPF_EPOCHS 8         /* retained epochs: current, 6 complete, guard */

/* The construction; docs/THEORY.md. All kinds but lanes are locked kinds: operations take a
 * lock, a worker ends epochs, and there is no mapping.
 */
enum epf_kind {
	EPF_KIND_LANES = 0,   /* guarded epochs in one line per key; lock-free */
	EPF_KIND_GE = 1,      /* guarded epochs */
	EPF_KIND_GEBL = 2,    /* guarded epochs, blocked */
	EPF_KIND_APBF = 3,    /* age-partitioned */
	EPF_KIND_APBBF = 4,   /* age-partitioned, blocked */
	EPF_KIND_TLBF = 5,    /* time-limited; EPF_MODE_TIME only */
	EPF_KIND_DICT = 6,    /* dictionary of short-lived fingerprints */
	EPF_KIND_CHAIN = 7,   /* time-limited chain of lanes tables; EPF_MODE_TIME only */
	EPF_KIND_ELASTIC = 8, /* lines of fingerprints; locks one line, and only to insert */
	EPF_KIND_MAX = EPF_KIND_ELASTIC,
};

enum epf_hash_id {
	EPF_HASH_SIPHASH13 = 0,
	EPF_HASH_SIPHASH24 = 1,
	EPF_HASH_NH = 2, /* as EPF_HASH_SIPHASH13, but keys over 64 bytes are compressed by NH
			  * first */
	EPF_HASH_MAX = EPF_HASH_NH,
};

/* Which boundary ends an epoch. The window is 7 epochs; locked kinds choose
 * their own number.
 */
enum epf_mode {
	EPF_MODE_COUNT = 0,  /* W insertions */
	EPF_MODE_TIME = 1,   /* T ns */
	EPF_MODE_EITHER = 2, /* whichever comes first: error bounded; a key is certainly found
			      * while insertions/W + time/T <= 1 */
	EPF_MODE_BOTH = 3,   /* whichever comes last: coverage bounded */
	EPF_MODE_MAX = EPF_MODE_BOTH,
};

/* The effect of test-and-insert on a key that is present. */
enum epf_refresh {
	EPF_REFRESH = 0,    /* its window restarts; every occurrence counts */
	EPF_FIRST_SEEN = 1, /* none: the window runs from the first one */
};

/**
 * struct epf_params - the parameters of a filter
 * @name: [A-Za-z0-9._-], not starting with '.'
 * @kind: enum epf_kind
 * @hash: enum epf_hash_id; epfctl uses EPF_HASH_NH by default
 * @mode: enum epf_mode
 * @refresh: enum epf_refresh
 * @lines_per_key: L: 1, 2 or 4. Locked kinds have 0 here and in the next two
 *	fields; their numbers are in struct epf_shape
 * @bits_per_key: k: L .. 15 L
 * @nr_lines: of 64 bytes; 64 .. 2^31, a multiple of L
 * @window_inserts: W: 1 .. 2^40-1; 0 in EPF_MODE_TIME
 * @window_ns: T: 1 .. 2^62; 0 in EPF_MODE_COUNT
 * @budget_ppt: the requested false-positive rate; 1 .. EPF_RATE_ONE
 * @limit_ppt: above this rate the filter is saturated and fails open;
 *	@budget_ppt .. EPF_RATE_ONE; EPF_RATE_ONE: never. It is checked by
 *	count, with the very key that exceeds it, and by estimate
 */
struct epf_params {
	char name[EPF_NAME_LEN];
	__u8 kind;
	__u8 hash;
	__u8 mode;
	__u8 refresh;
	__u16 lines_per_key;
	__u16 bits_per_key;
	__u64 nr_lines;
	__u64 window_inserts;
	__u64 window_ns;
	__u64 budget_ppt;
	__u64 limit_ppt;
};

/* The shapes of locked kinds: see struct epf_shape. */
struct epf_shape_ge {
	__u64 segment_bits;
	__u32 epochs;
	__u32 bits;
	__u32 layout;
	__u32 reserved;
};

struct epf_shape_gebl {
	__u64 blocks;
	__u32 block_bits;
	__u32 epochs;
	__u32 bits;
	__u32 offsets;
};

struct epf_shape_apbf {
	__u64 slice_bits;
	__u32 k;
	__u32 l;
};

struct epf_shape_apbbf {
	__u64 blocks;
	__u32 k;
	__u32 l;
	__u32 block_bits;
	__u32 bits;
};

struct epf_shape_tlbf {
	__u64 words_first;
	__u64 words_min;
	__u64 words_max;
	__u32 k;
	__u32 l;
};

struct epf_shape_dict {
	__u64 buckets;
	__u64 yard;
	__u32 generations;
	__u32 tag_bits;
	__u32 rem_bits;
	__u32 slots;
	__u32 lines;
	__u32 reserved;
};

struct epf_shape_chain {
	__u64 lines_first;
	__u64 lines_min;
	__u64 lines_max;
	__u32 load;
	__u32 lines_per_key;
	__u32 bits_per_key;
	__u32 reserved;
};

struct epf_shape_elastic {
	__u64 lines;
	__u32 line_words;
	__u32 epochs;
};

/**
 * struct epf_shape - the shape of a locked kind
 * @ge: segments of segment_bits (64 .. 2^40) for epochs (r, 2 .. 31) complete epochs and
 *	the current one; bits (k, 1 .. 64) of a key in each. layout: 0 transposed, 1
 *	segment after segment
 * @gebl: segments of blocks (1 .. 2^34) blocks of block_bits (64, 128, 256, 512); epochs
 *	and bits (1 .. 20) as in @ge. offsets: 0 distinct, 1 by double hashing
 * @apbf: k + l (at most 128) slices of slice_bits (64 .. 2^38), a key in k of them; the
 *	window is l generations
 * @apbbf: slices have so many blocks of block_bits (64, 128, 256, 512); a key has bits
 *	(a power of two, at most block_bits / 2) positions in one of them
 * @tlbf: slices of words_first 64-bit words at first, later of words_min .. words_max
 *	(2^32) by the rate, all within k + l + 2 of the largest; words_min for k keys at
 *	least; the window is l generations of a steady rate
 * @dict: buckets (1 .. 2^30) and a backyard of yard (1 .. 2^30) buckets of lines (1, 2)
 *	lines; the window is generations (2 .. 2^tag_bits - 2) generations of tag_bits (2
 *	.. 8); rem_bits (1 .. 40) of a remainder, slots (1 and up) of a bucket
 * @chain: tables of lines_first lines at first, later of lines_min .. lines_max (64 ..
 *	2^31) by the rate, all powers of two, all within two of the largest; an epoch may
 *	bring load (1 .. 2^20) keys for each 1024 lines, which is at least one key for
 *	lines_min; lines_per_key and bits_per_key as in struct epf_params
 * @elastic: lines (1 .. 2^31) lines of line_words (8, 16) 64-bit words for epochs (2 ..
 *	7) complete epochs and the current one
 * @all: zero beyond what the kind uses; all zero for EPF_KIND_LANES
 *
 * Memory is within the module's limits.
 */
struct epf_shape {
	union {
		struct epf_shape_ge ge;
		struct epf_shape_gebl gebl;
		struct epf_shape_apbf apbf;
		struct epf_shape_apbbf apbbf;
		struct epf_shape_tlbf tlbf;
		struct epf_shape_dict dict;
		struct epf_shape_chain chain;
		struct epf_shape_elastic elastic;
		__u64 all[8];
	};
};

#define EPF_CREATE_KEY (1u << 0) /* use @key instead of a random one */
/* Epochs end by the wall clock. EPF_KIND_LANES in EPF_MODE_TIME only, otherwise
 * EINVAL.
 */
#define EPF_CREATE_ALIGN (1u << 1)
#define EPF_CREATE_MASK (EPF_CREATE_KEY | EPF_CREATE_ALIGN)

/**
 * struct epf_create - EPF_IOC_CREATE
 * @size: sizeof
 * @flags: EPF_CREATE_*
 * @params: of the new filter
 * @key: hash key, with EPF_CREATE_KEY; otherwise zero
 * @id: out: never 0, not reused before 2^31 creations
 * @reserved: zero
 * @shape: of a locked kind; otherwise zero
 *
 * If the struct cannot be written back (EFAULT), the filter is destroyed again,
 * by force: a process that has opened it meanwhile gets ENODEV.
 *
 * EPF_CREATE_ALIGN. With E = ceil(T / 7), epochs end at the multiples of P = E
 * + floor(E / 64) + 1 ns of CLOCK_REALTIME, as far as timers are on time. So
 * filters of several hosts, or of one, have the same epochs. The guarantees are
 * unchanged, in CLOCK_MONOTONIC: the first epoch may be short, no later one is
 * shorter than E. An epoch that begins late by at most P / 8 ends as soon as it
 * may, and the next ones catch up by E / 64 each. An epoch that begins at any
 * other time (the clock was set, EPF_IOC_ROTATE, a long snapshot, a restore)
 * ends with the multiple after the next, so it is longer by less than P. It
 * then holds the keys of up to two epochs, and its error rises accordingly.
 * Swap moves the alignment along with the contents; clear keeps it; a restored
 * snapshot in EPF_MODE_TIME is aligned if the contents that it replaces are.
 */
struct epf_create {
	__u32 size;
	__u32 flags;
	struct epf_params params;
	__u64 key[2];
	__u32 id;
	__u32 reserved;
	struct epf_shape shape;
};

/* Names a filter by @id or, if that is 0, by @name. */
struct epf_name {
	char name[EPF_NAME_LEN];
	__u32 id;
	__u32 reserved;
};

#define EPF_DESTROY_FORCE (1u << 0) /* even if references are held */
#define EPF_DESTROY_MASK EPF_DESTROY_FORCE

/**
 * struct epf_ref_args - EPF_IOC_DESTROY and EPF_IOC_OPEN
 * @size: sizeof
 * @flags: EPF_DESTROY_*; 0 for open
 * @name: of the filter
 *
 * EPF_IOC_OPEN returns the descriptor (close-on-exec).
 */
struct epf_ref_args {
	__u32 size;
	__u32 flags;
	struct epf_name name;
};

/**
 * struct epf_swap - EPF_IOC_SWAP: exchange the contents of two filters
 * @size: sizeof
 * @flags: 0
 * @a: keeps its name, id, descriptors and programs; gets the lines, the
 *	parameters, the hash key, the state and the statistics of @b
 * @b: the same with those of @a
 */
struct epf_swap {
	__u32 size;
	__u32 flags;
	struct epf_name a;
	struct epf_name b;
};

/**
 * struct epf_list - EPF_IOC_LIST
 * @size: sizeof
 * @flags: 0
 * @ids: pointer to @count __u32
 * @count: in: room; out: number of filters, which may be greater
 * @reserved: zero
 */
struct epf_list {
	__u32 size;
	__u32 flags;
	__u64 ids;
	__u32 count;
	__u32 reserved;
};

/**
 * struct epf_epoch_info - one retained epoch
 * @epoch: its number; 0: no epoch at this place yet
 * @inserts: insertions counted in it
 * @age_ns: since it began
 * @fill_ppt: fraction of positions that are set, sampled
 * @fpr_ppt: its share of the estimated error
 */
struct epf_epoch_info {
	__u64 epoch;
	__u64 inserts;
	__u64 age_ns;
	__u64 fill_ppt;
	__u64 fpr_ppt;
};

/**
 * struct epf_stats - counters since creation; of TLBF and CHAIN since EPF_IOC_CLEAR, but @inserts
 * @inserts: keys inserted
 * @hits: verdicts "present"
 * @misses: verdicts "absent"
 * @rotations: epochs ended
 * @delayed: times a rotation was due and had to wait (for the grace period, the
 *	scan, or a snapshot; with most locked kinds always, for the worker)
 * @saturations: times the filter became saturated
 * @failed_open: verdicts "absent" given only because it was saturated
 * @scanned: stale lines scanned
 */
struct epf_stats {
	__u64 inserts;
	__u64 hits;
	__u64 misses;
	__u64 rotations;
	__u64 delayed;
	__u64 saturations;
	__u64 failed_open;
	__u64 scanned;
};

#define EPF_INFO_SATURATED (1u << 0)
#define EPF_INFO_PINNED (1u << 1)  /* a snapshot pins rotation */
#define EPF_INFO_JOURNAL (1u << 2) /* a journal is kept */
#define EPF_INFO_ALIGNED (1u << 3) /* EPF_CREATE_ALIGN */

#define EPF_NEEDS_LOCK (1u << 0)   /* operations take a lock: of the filter, or of a line */
#define EPF_NEEDS_WORKER (1u << 1) /* epochs end some time after they are due */
#define EPF_NEEDS_MEMORY (1u << 2) /* memory grows and shrinks with the rate */

/**
 * struct epf_info - EPF_IOC_INFO
 * @size: sizeof
 * @flags: out: EPF_INFO_*
 * @id: out: number of the filter
 * @params: out: as created
 * @users: out: descriptors, mappings and BPF references
 * @epoch: out: current epoch
 * @memory_bytes: out: lines and what belongs to them
 * @covered_inserts: out: the last so many insertions are all retained
 * @covered_ns: out: all insertions of the last so many ns are retained
 * @fpr_ppt: out: false-positive rate as last estimated, from samples
 * @age_ns: out: since creation
 * @stats: out
 * @epochs: out: by age, current first; of a locked kind with more the youngest
 * @shape: out: of a locked kind, otherwise zero
 * @needs: out: of a locked kind EPF_NEEDS_*, otherwise zero
 * @window_epochs: out: number of complete epochs in the window
 * @slices: out: segments, slices or generations that have memory
 * @waits: out: times memory was needed and could not be allocated
 * @desc: out: what the keys are made of
 * @kept_ns: out: as @covered_ns, but not from before a swap or a restore
 */
struct epf_info {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 users;
	struct epf_params params;
	__u64 epoch;
	__u64 memory_bytes;
	__u64 covered_inserts;
	__u64 covered_ns;
	__u64 fpr_ppt;
	__u64 age_ns;
	struct epf_stats stats;
	struct epf_epoch_info epochs[EPF_EPOCHS];
	struct epf_shape shape;
	__u32 needs;
	__u32 window_epochs;
	__u32 slices;
	__u32 waits;
	struct epf_key_desc desc;
	__u64 kept_ns;
};

#define EPF_BATCH_DIGESTS (1u << 0) /* @keys are __u64 digests */
#define EPF_BATCH_UNKNOWN (1u << 1) /* distinguish "do not know" from "absent" in @ages */
#define EPF_BATCH_MASK (EPF_BATCH_DIGESTS | EPF_BATCH_UNKNOWN)
#define EPF_BATCH_SATURATED (1u << 31) /* out: some verdicts failed open */

/**
 * struct epf_batch - EPF_IOC_TEST, EPF_IOC_INSERT, EPF_IOC_TEST_AND_INSERT
 * @size: sizeof
 * @flags: EPF_BATCH_*
 * @count: keys, 0 .. EPF_BATCH_MAX
 * @key_len: bytes of every key, 1 .. EPF_KEY_MAX; 0: see @lens; with
 *	EPF_BATCH_DIGESTS 0
 * @keys: pointer to the keys, one after another without gaps
 * @lens: pointer to @count __u16 lengths, each 1 .. EPF_KEY_MAX; 0 when
 *	@key_len is set or with EPF_BATCH_DIGESTS
 * @bitmap: pointer to (@count + 7) / 8 bytes, or 0; bit i mod 8 of byte i / 8
 *	is set when key i is present
 * @ages: pointer to @count bytes, or 0: age in epochs, above 254 as 254, or
 *	EPF_AGE_ABSENT; with EPF_BATCH_UNKNOWN above 253 as 253, or
 *	EPF_AGE_UNKNOWN, or EPF_AGE_ABSENT
 * @done: out: keys processed; less than @count only with an error; with EINTR a
 *	multiple of 8
 * @present: out: how many of them were present
 *
 * A saturated filter does not know whether the keys it finds were inserted. It
 * sets EPF_BATCH_SATURATED if this applies to any key. Without
 * EPF_BATCH_UNKNOWN such keys look like absent ones, with it they have
 * EPF_AGE_UNKNOWN. Either way they are not in @bitmap and @present. With that
 * flag a key with EPF_AGE_ABSENT is certainly absent, even while the filter is
 * saturated. A module older than the flag returns EINVAL.
 *
 * Keys are processed in order. @bitmap, @ages and @present report the verdict
 * before the insert; EPF_IOC_INSERT requires @bitmap and @ages to be 0.
 * EPF_IOC_INSERT inserts and counts every key, in a first-seen filter too:
 * "first seen" applies only to EPF_IOC_TEST_AND_INSERT. Lengths are checked
 * some hundred keys at a time: with EINVAL, the @done keys before the faulty
 * group are processed.
 *
 * If an insertion ends an epoch and the rotation has to wait, the batch waits
 * for it (some ms), unless a snapshot pins it: bulk loading keeps the window's
 * pace. BPF programs go on inserting meanwhile.
 */
struct epf_batch {
	__u32 size;
	__u32 flags;
	__u32 count;
	__u32 key_len;
	__u64 keys;
	__u64 lens;
	__u64 bitmap;
	__u64 ages;
	__u32 done;
	__u32 present;
};

/**
 * struct epf_rotate_args - EPF_IOC_ROTATE
 * @size: sizeof
 * @flags: 0
 * @count: epochs to end, 1 .. 8; the window shrinks by as many
 * @reserved: zero
 * @epoch: out: current epoch afterwards
 */
struct epf_rotate_args {
	__u32 size;
	__u32 flags;
	__u32 count;
	__u32 reserved;
	__u64 epoch;
};

/**
 * struct epf_key_args - EPF_IOC_KEY
 * @size: sizeof
 * @flags: 0
 * @key: out: the hash key: anybody who knows it can craft false positives
 */
struct epf_key_args {
	__u32 size;
	__u32 flags;
	__u64 key[2];
};

#define EPF_SNAP_MAGIC 0x00504e5346504545ULL /* "EEPFSNP\0" */
#define EPF_SNAP_VERSION 3                   /* 1 and 2 had another geometry of lines */
#define EPF_SNAP_VERSION_DESC 4              /* a file with a struct epf_key_desc */

/**
 * struct epf_snap_epoch - one retained epoch in a snapshot
 * @inserts: counted
 * @age_ns: since it began, at the time of the snapshot
 */
struct epf_snap_epoch {
	__u64 inserts;
	__u64 age_ns;
};

/**
 * struct epf_snap_header - the description of a copy of the lines
 * @magic: EPF_SNAP_MAGIC
 * @version: EPF_SNAP_VERSION
 * @header_bytes: sizeof; the lines follow
 * @params: of the filter
 * @key: hash key
 * @epoch_begin: epoch when the copy began
 * @epoch_end: epoch when it ended: the epoch to read the lines at
 * @inserts: insertions since creation, when it ended
 * @realtime_ns: CLOCK_REALTIME when it ended
 * @epochs: by epoch modulo 8
 * @lines_xxh3: XXH3-64 of the lines; for a locked kind of its words, then of
 *	its state; set and checked by user space
 * @header_xxh3: XXH3-64 of this header with this field zero; likewise
 *
 * A file is this header, then nr_lines lines, little-endian; for a locked kind
 * struct epf_snap_locked and its words. If it is known what the keys are made
 * of, the file has EPF_SNAP_VERSION_DESC and a struct epf_key_desc right after
 * the header, which counts for header_bytes and header_xxh3. In calls the
 * header always has EPF_SNAP_VERSION, and the description has a field there.
 * A copy taken during insertions is valid: either words describe themselves, or
 * no epoch ends. It holds every key inserted before the copy began that is
 * still live at @epoch_end. A copy of EPF_KIND_LANES during which 24 epochs
 * ended may also hold keys that expired long ago.
 */
struct epf_snap_header {
	__u64 magic;
	__u32 version;
	__u32 header_bytes;
	struct epf_params params;
	__u64 key[2];
	__u64 epoch_begin;
	__u64 epoch_end;
	__u64 inserts;
	__u64 realtime_ns;
	struct epf_snap_epoch epochs[EPF_EPOCHS];
	__u64 lines_xxh3;
	__u64 header_xxh3;
};

#define EPF_SNAP_PIECE 4096 /* bytes that are copied at one moment */
#define EPF_SNAP_PAST 256
#define EPF_SNAP_SLICES 256
#define EPF_SNAP_TABLES 8

/**
 * struct epf_snap_slice - a slice of EPF_KIND_TLBF in a snapshot
 * @words: its size
 * @begin_ns: when it began to take keys, on the filter's clock
 * @since: keys the filter had taken then
 * @until: keys the filter had taken when the slice took its last; 0 while it
 *	takes keys
 * @last_ns: time of its last key; 0 while it takes keys
 * @fn: number of its hash function
 */
struct epf_snap_slice {
	__u64 words;
	__u64 begin_ns;
	__u64 since;
	__u64 until;
	__u64 last_ns;
	__u64 fn;
};

/**
 * struct epf_snap_table - a table of EPF_KIND_CHAIN in a snapshot
 * @words: its size, 8 a line
 * @last: epoch of its last insertion
 * @keys: in the lanes of epoch e, at e mod 8
 */
struct epf_snap_table {
	__u64 words;
	__u64 last;
	__u64 keys[8];
};

/**
 * struct epf_snap_locked - the state of a locked kind in a snapshot
 * @size: sizeof
 * @nr: slices or tables; 0 for other kinds
 * @words: of all memory, which follows; slices or tables with the youngest
 *	first
 * @shape: as created
 * @epoch: current epoch
 * @now: EPF_KIND_GE, _GEBL: segment of the current epoch; _APBF, _APBBF: place of the
 *	youngest slice; _DICT: tag of the current generation; _ELASTIC: current epoch mod
 *	1024; _TLBF, _CHAIN: time on the filter's clock, used by all times below; 1 .. 2^62
 * @steady_ns: _TLBF, _CHAIN: since that clock jumped, or since creation
 * @taken: _TLBF, _CHAIN: keys inserted. For other kinds this and all fields
 *	below are 0
 * @last_ns: _TLBF: time of the last key; 0: none
 * @turn: _CHAIN: number of the current epoch in the lanes
 * @start_ns: _CHAIN: when it began, or some epochs later
 * @begun: _CHAIN: keys inserted before it
 * @past: epochs by age, the current one first; zero where there was none yet
 * @slice: _TLBF: the youngest first; zero beyond @nr
 * @table: _CHAIN: likewise
 */
struct epf_snap_locked {
	__u32 size;
	__u32 nr;
	__u64 words;
	struct epf_shape shape;
	__u64 epoch;
	__u64 now;
	__u64 steady_ns;
	__u64 taken;
	__u64 last_ns;
	__u64 turn;
	__u64 start_ns;
	__u64 begun;
	struct epf_snap_epoch past[EPF_SNAP_PAST];
	union {
		struct epf_snap_slice slice[EPF_SNAP_SLICES];
		struct epf_snap_table table[EPF_SNAP_TABLES];
	};
};

#define EPF_SNAP_STATE (1u << 0) /* read the state instead of memory */
#define EPF_SNAP_READ_MASK EPF_SNAP_STATE

/**
 * struct epf_snap_read - EPF_IOC_SNAP_READ
 * @size: sizeof
 * @flags: EPF_SNAP_STATE
 * @offset: in memory, a multiple of EPF_SNAP_PIECE; 0 for the state
 * @bytes: 1 and up, within memory; sizeof(struct epf_snap_locked) for the state
 * @data: pointer to so many bytes
 *
 * Between SNAP_BEGIN and SNAP_END, on the same descriptor; otherwise EINVAL.
 * The state in a file must be the one read after all memory.
 */
struct epf_snap_read {
	__u32 size;
	__u32 flags;
	__u64 offset;
	__u64 bytes;
	__u64 data;
};

#define EPF_PIN_MAX_NS 60000000000ULL

/**
 * struct epf_snap - EPF_IOC_SNAP_BEGIN and EPF_IOC_SNAP_END
 * @size: sizeof
 * @flags: 0
 * @pin_ns: begin: rotation is pinned for at most so long, 1 .. EPF_PIN_MAX_NS;
 *	a slower copy of lanes is still valid, but older at its end; a copy of a
 *	locked kind may end with ESTALE. end: 0
 * @header: out, without the checksums; begin: as far as it is known then
 * @journal: out: serial of the journal that is kept of these lines, or 0
 * @now_ns: out: CLOCK_MONOTONIC when the header was true
 * @desc: out: what the keys are made of
 *
 * One snapshot at a time: another descriptor may begin one when this one's pin
 * is over, or when it has ended; closing the descriptor ends it. A mapping made
 * in between shows the lines that the snapshot is about, whatever swap and
 * restore do.
 */
struct epf_snap {
	__u32 size;
	__u32 flags;
	__u64 pin_ns;
	struct epf_snap_header header;
	__u64 journal;
	__u64 now_ns;
	struct epf_key_desc desc;
};

/**
 * struct epf_restore - EPF_IOC_RESTORE
 * @size: sizeof
 * @flags: 0
 * @header: of the snapshot; the filter takes its geometry, window, budget and
 *	hash key, and keeps its own name
 * @lines: pointer to header.params.nr_lines lines; for a locked kind to its
 *	struct epf_snap_locked, which its words follow
 * @desc: what the keys of the snapshot are made of
 *
 * All or nothing: on any error the old contents stay.
 */
struct epf_restore {
	__u32 size;
	__u32 flags;
	struct epf_snap_header header;
	__u64 lines;
	struct epf_key_desc desc;
};

#define EPF_IOC_MAGIC 0xEF
#define EPF_IOC_CREATE _IOWR(EPF_IOC_MAGIC, 0x00, struct epf_create)
#define EPF_IOC_DESTROY _IOW(EPF_IOC_MAGIC, 0x01, struct epf_ref_args)
#define EPF_IOC_LIST _IOWR(EPF_IOC_MAGIC, 0x02, struct epf_list)
#define EPF_IOC_OPEN _IOW(EPF_IOC_MAGIC, 0x03, struct epf_ref_args)
#define EPF_IOC_SWAP _IOW(EPF_IOC_MAGIC, 0x04, struct epf_swap)
#define EPF_IOC_INFO _IOWR(EPF_IOC_MAGIC, 0x10, struct epf_info)
#define EPF_IOC_TEST _IOWR(EPF_IOC_MAGIC, 0x11, struct epf_batch)
#define EPF_IOC_INSERT _IOWR(EPF_IOC_MAGIC, 0x12, struct epf_batch)
#define EPF_IOC_TEST_AND_INSERT _IOWR(EPF_IOC_MAGIC, 0x13, struct epf_batch)
#define EPF_IOC_ROTATE _IOWR(EPF_IOC_MAGIC, 0x14, struct epf_rotate_args)
#define EPF_IOC_CLEAR _IO(EPF_IOC_MAGIC, 0x15)
#define EPF_IOC_KEY _IOWR(EPF_IOC_MAGIC, 0x16, struct epf_key_args)
#define EPF_IOC_SNAP_BEGIN _IOWR(EPF_IOC_MAGIC, 0x17, struct epf_snap)
#define EPF_IOC_SNAP_END _IOWR(EPF_IOC_MAGIC, 0x18, struct epf_snap)
#define EPF_IOC_RESTORE _IOW(EPF_IOC_MAGIC, 0x19, struct epf_restore)
#define EPF_IOC_JOURNAL _IOWR(EPF_IOC_MAGIC, 0x1a, struct epf_journal_args)
#define EPF_IOC_SNAP_READ _IOW(EPF_IOC_MAGIC, 0x1b, struct epf_snap_read)
#define EPF_IOC_DESCRIBE _IOWR(EPF_IOC_MAGIC, 0x1c, struct epf_describe)

#include <linux/epochfilter_packet.h>

#endif /* _UAPI_LINUX_EPOCHFILTER_H */
