/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * epochfilter: journals, of what is inserted into a filter and when its epochs
 * end. A part of linux/epochfilter.h, which has the conventions and errors.
 */
#ifndef _UAPI_LINUX_EPOCHFILTER_JOURNAL_H
#define _UAPI_LINUX_EPOCHFILTER_JOURNAL_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define EPF_JOURNAL_END (1u << 0) /* end it */
#define EPF_JOURNAL_MASK EPF_JOURNAL_END
#define EPF_JOURNAL_ORDER_MAX 24u
#define EPF_JOURNAL_SHARDS_MAX 1024u
#define EPF_MMAP_JOURNAL (1ULL << 40) /* offset in a descriptor */

/**
 * struct epf_journal_args - EPF_IOC_JOURNAL
 * @size: sizeof
 * @flags: EPF_JOURNAL_*; with EPF_JOURNAL_END all else is 0
 * @order: a ring has 2^@order records; 1 .. EPF_JOURNAL_ORDER_MAX
 * @shards: rings: a power of two up to EPF_JOURNAL_SHARDS_MAX; CPU c writes to
 *	ring c mod @shards. 0: enough for each CPU to have its own. out: how
 *	many
 * @bytes: out: of the mapping at EPF_MMAP_JOURNAL; memory within the limits
 * @records: out: offset of the first ring's records in it
 * @serial: out: unlike that of any other journal
 *
 * From the return of this call until the journal ends, every insertion writes a
 * record after its bits are set and before it returns, and every epoch that
 * ends writes one. The mapping has a struct epf_journal_head; from
 * EPF_JOURNAL_SHARD_BYTES on a struct epf_journal_shard for each ring; from
 * @records on the rings, 2^@order struct epf_journal_record each.
 *
 * How to follow a filter. Of each ring read @lost, then @next, then copy the
 * lines between EPF_IOC_SNAP_BEGIN and EPF_IOC_SNAP_END, which tell the
 * @serial of the journal if the lines are still those it is about. Empty in the
 * copy what is not of the eight epochs up to @epoch_end as SNAP_BEGIN has told
 * it: what came later is in the journal. Then go on from the @next read before, again and
 * again: each record's digest into the lanes it names; whose epoch is older
 * than the latest seen by eight or more into none, for these have gone. The
 * order in which rings are read makes no difference. Where a record has been
 * overwritten or @lost has changed, the reader was too slow: it begins with a new
 * copy. All this is in include/epf/journal.h and user/libepf/mirror.h.
 *
 * CLEAR and ROTATE are epochs that end. SWAP and RESTORE give the filter other
 * lines, DESTROY by force none: the journal of the old ones is over, as
 * struct epf_journal_head then says, and has to be ended and begun anew.
 * Closing the descriptor ends it, too. A mapping stays readable.
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
 * @over: not 0: nothing is written any more
 * @reserved: zero
 */
struct epf_journal_head {
	__u64 over;
	__u64 reserved[7];
};

/**
 * struct epf_journal_shard - counters of a ring
 * @next: position of the record that is written next; the first is 2^order
 * @lost: records that could not be written
 * @reserved: zero
 */
struct epf_journal_shard {
	__u64 next;
	__u64 lost;
	__u64 reserved[6];
};

enum epf_journal_kind {
	EPF_JOURNAL_NONE = 0,	/* a slot that has not been used yet */
	EPF_JOURNAL_INSERT = 1, /* a key was inserted */
	EPF_JOURNAL_ROTATE = 2, /* an epoch ended */
	EPF_JOURNAL_BUSY = 3,	/* the record is being written */
};

/**
 * struct epf_journal_record - at its position modulo 2^order
 * @seq: position * 4 + enum epf_journal_kind; the other words are the record's
 *	while this is the same before and after they are read
 * @epoch: insert: that holds the key; rotate: that has begun
 * @value: insert: digest; rotate: insertions counted in the epoch before
 * @more: insert: the lanes that have got the key, as bits: @epoch modulo 8, and
 *	those of epochs that ended meanwhile, at most seven older; rotate: when
 *	it began, ns of CLOCK_MONOTONIC
 */
struct epf_journal_record {
	__u64 seq;
	__u64 epoch;
	__u64 value;
	__u64 more;
};

#endif /* _UAPI_LINUX_EPOCHFILTER_JOURNAL_H */
