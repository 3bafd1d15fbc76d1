/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * epochfilter: journals, which record what is inserted into a filter and when
 * its epochs end. A part of linux/epochfilter.h, which has the conventions and
 * errors.
 */
#ifndef _UAPI_LINUX_EPOCHFILTER_JOURNAL_H
#define _UAPI_LINUX_EPOCHFILTER_JOURNAL_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define EPF_JOURNAL_END (1u << 0)  /* end the journal */
#define EPF_JOURNAL_SYNC (1u << 1) /* wait for insertions under way */
#define EPF_JOURNAL_MASK (EPF_JOURNAL_END | EPF_JOURNAL_SYNC)
#define EPF_JOURNAL_ORDER_MAX 24u
#define EPF_JOURNAL_SHARDS_MAX 1024u
#define EPF_MMAP_JOURNAL (1ULL << 40) /* mmap offset of a descriptor's journal */

/**
 * struct epf_journal_args - EPF_IOC_JOURNAL
 * @size: sizeof
 * @flags: EPF_JOURNAL_*; with one of them all else is 0
 * @order: a ring has 2^@order records; 1 .. EPF_JOURNAL_ORDER_MAX
 * @shards: number of rings: a power of two up to EPF_JOURNAL_SHARDS_MAX; CPU c
 *	writes to ring c mod @shards. 0: enough for each CPU to have its own.
 *	out: the number chosen
 * @bytes: out: size of the mapping at EPF_MMAP_JOURNAL; counts as memory within
 *	the limits
 * @records: out: offset of the first ring's records in it
 * @serial: out: different from that of any other journal
 *
 * From the return of this call until the journal ends, every insertion writes a
 * record after its bits are set and before it returns, and every epoch that
 * ends writes one. The mapping has a struct epf_journal_head; from
 * EPF_JOURNAL_SHARD_BYTES on a struct epf_journal_shard for each ring; from
 * @records on the rings, 2^@order struct epf_journal_record each.
 *
 * How to follow a filter. For each ring read @lost, then @next. Then copy the
 * lines between EPF_IOC_SNAP_BEGIN and EPF_IOC_SNAP_END, which return the
 * @serial of the journal if the lines are still those it is about. In the copy,
 * empty the lanes that are not of the eight epochs up to the @epoch_end that
 * SNAP_BEGIN returned: later ones are in the journal. Then repeatedly continue
 * from the @next read before, and insert each record's digest into the lanes it
 * names; ignore a record whose epoch is older than the latest one seen by eight
 * or more, because its lanes have been reused. The order in which rings are
 * read makes no difference. If a record has been overwritten or @lost has
 * changed, the reader was too slow: it begins with a new copy. All this is in
 * include/epf/journal.h and user/libepf/mirror.h.
 *
 * Insertions meet. One finds the bits of its key set by another that has not written its
 * record yet, and returns. With EPF_JOURNAL_SYNC the call returns when every insertion that
 * had begun before it is over, and has its record. A reader that wants only new keys
 * (EPF_JOURNAL_NEW) makes this call first; then what is recorded below the @next that it
 * reads is all that had returned before.
 *
 * CLEAR and ROTATE are recorded as epochs that end. SWAP and RESTORE give the
 * filter other lines, DESTROY by force none: the journal of the old lines is
 * then over, as struct epf_journal_head says, and must be ended and begun
 * again. Closing the descriptor also ends it. A mapping stays readable.
 *
 * A filter without the module (user/ebpf) differs. Insertions that find all bits of their key
 * set in the current epoch write no record. The ends of epochs are not recorded. The journal
 * stays when the descriptor is closed; the call then returns the one that there is, with
 * its geometry, to the next reader. The mapping can be written, for what the reader
 * stores.
 */
struct epf_journal_args {
	__u32 size;
	__u32 flags;
	__u32 order;
	__u32 shards;
	__u64 bytes;
	__u64 records;
	__u64 serial;
};

#define EPF_JOURNAL_SHARD_BYTES 64u

/**
 * struct epf_journal_head - at the beginning of the mapping
 * @over: not 0: the journal is over and nothing more is written
 * @unrecorded: without the module: insertions that could not be recorded, as of the last
 *	EPF_JOURNAL_SYNC, by programs that were loaded without the map of the journal
 * @read_unrecorded: without the module: as many of them as the reader has told of
 * @note: without the module: words of the reader, for the next one
 * @reserved: zero
 */
struct epf_journal_head {
	__u64 over;
	__u64 unrecorded;
	__u64 read_unrecorded;
	__u64 note[4];
	__u64 reserved;
};

/**
 * struct epf_journal_shard - counters of a ring
 * @next: position of the next record to be written; the first is 2^order
 * @lost: records that could not be written
 * @read: without the module: the reader stores there the position up to which it needs no
 *	record any more; the next reader begins there. 0: none was stored
 * @reserved: zero
 */
struct epf_journal_shard {
	__u64 next;
	__u64 lost;
	__u64 read;
	__u64 reserved[5];
};

/* In @more of an insertion: the lanes of the epoch lacked the key before. */
#define EPF_JOURNAL_NEW (1ULL << 8)
#define EPF_JOURNAL_LANES 0xffULL

enum epf_journal_kind {
	EPF_JOURNAL_NONE = 0,   /* a slot that has not been used yet */
	EPF_JOURNAL_INSERT = 1, /* a key was inserted */
	EPF_JOURNAL_ROTATE = 2, /* an epoch ended */
	EPF_JOURNAL_BUSY = 3,   /* the record is being written */
};

/**
 * struct epf_journal_record - at its position modulo 2^order
 * @seq: position * 4 + enum epf_journal_kind; the other words belong to this
 *	record if @seq is the same before and after they are read
 * @epoch: insert: the epoch that holds the key; rotate: the epoch that has
 *	begun
 * @value: insert: digest; rotate: insertions counted in the epoch before
 * @more: insert: the lanes that got the key, as bits: @epoch modulo 8, and
 *	those of epochs that ended meanwhile, at most seven older; and
 *	EPF_JOURNAL_NEW; rotate: when the new epoch began, ns of CLOCK_MONOTONIC
 */
struct epf_journal_record {
	__u64 seq;
	__u64 epoch;
	__u64 value;
	__u64 more;
};

#endif /* _UAPI_LINUX_EPOCHFILTER_JOURNAL_H */
