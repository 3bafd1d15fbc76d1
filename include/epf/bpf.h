/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A filter of lanes without the module: the words that BPF programs and user space share,
 * and their protocol. No functions.
 *
 * A filter is a directory below EPF_BPF_PINS with its maps:
 *
 *   table    one struct epf_bpf_filter, mapped by user space
 *   lines    array of two maps, one for each slot; their values are lines. Writing it is
 *            the grace period: the kernel then waits for all programs
 *            (bpf_map_update_elem() of a map of maps; measured for XDP, tc, cgroup_skb and
 *            socket filters, not for programs that may sleep)
 *   lines0, lines1    these maps, for user space to map; a slot without contents has none
 *   cpus     struct epf_bpf_cpu by slot and CPU, mapped by user space
 *   journals array of two maps, one for each slot: the ring of its journal (journal.h), if
 *            it has one. A program whose loader left this map out works nevertheless
 *   journal0, journal1    these maps, for user space to map. Their values are 32 bytes, and
 *            in order they are what linux/epochfilter_journal.h says of a mapping
 *   ops      program that user space runs to test and insert
 *   rotator  a directory: the process that holds a lock (flock) on it ends epochs
 *   limits   struct epf_capacity by slot, mapped by user space; like the next two only with
 *            EPF_BPF_ROTATE_KERNEL in @rotate
 *   timer    one BPF timer. It ends with the last file of this map
 *   tick     program that user space runs to start the timer, or to do the timer's work
 *
 * Programs work on slot @active; the other is for swap and restore, which fill it, change
 * @active, and leave the old one alone for a grace period.
 *
 * A process that changes words of a slot that do not belong to the programs holds a lock
 * (flock) on the filter's directory, for at most some grace periods. A timer that ends
 * epochs instead takes the word @ticking, and does nothing while @changing is set.
 *
 * Failing open. The programs do this themselves, from words that were written before;
 * nothing waits for user space:
 *
 *   keys     Inserted keys that set bits, since creation. Programs add to the word of their
 *            CPU, and to the slot's word each time the CPU's has grown by @keys_step. So
 *            the slot's word lacks fewer than @keys_step for each CPU.
 *   open_at  The number of keys at which the current epoch has as many as the filter's
 *            error limit allows (capacity.h), minus what @keys may lack. It is raised after
 *            an epoch has begun, never before: the process that ends epochs may stop at any
 *            step, and then the filter fails open too early, not too late. It is 0 in the
 *            middle of a swap.
 *   until    The time (jiffies) from which the end of epochs is overdue. With a window in
 *            time the epoch should have ended some time before; with a window in insertions
 *            the process that ends epochs moves it on several times a second. It belongs to
 *            the filter: swap and restore leave it, or set it to a second from then if that
 *            is sooner.
 *
 * From either limit on, a key that is found is "do not know", and is inserted.
 *
 *   began    Since when the filter has these contents (epf_state_since()). A swap or a
 *            restore stores EPF_BEGAN_NEVER before it changes @active, and the time after
 *            the grace period, because until then programs insert into the old contents. A
 *            program that finds other contents than before therefore also finds that they
 *            are new. A process that is killed in between leaves EPF_BEGAN_NEVER to the one
 *            that repairs the filter.
 */
#ifndef EPF_BPF_H
#define EPF_BPF_H

#include "window.h"

#define EPF_BPF_PINS "/sys/fs/bpf/epochfilter"
#define EPF_BPF_MAGIC 0x3345545041465045ULL /* "EPFAPTE3" */
#define EPF_BPF_SLOTS 2u

/**
 * struct epf_bpf_cpu - counters of one CPU for one slot
 * @pending: insertions, see epf_pending_add(); plain stores: a program that interrupts
 *	another one may have its additions undone, so that fewer are counted, never more,
 *	and keys are retained for longer (window.h)
 * @keys: see above; atomic additions
 * @inserts: all insertions
 * @absent: verdicts
 * @present: verdicts
 * @open: verdicts "do not know": the error would be above the limit
 * @overdue: verdicts "do not know": nobody ends epochs
 *
 * @inside: sections on this CPU that may use lanes, where a timer ends epochs. Atomic,
 *	because tasks that preempt one another end in any order. Migration is disabled in
 *	programs, so a section ends on the CPU where it began
 *
 * The verdicts and @inserts are statistics: plain additions, which may lose one if a
 * program interrupts another.
 */
struct epf_bpf_cpu {
	__u64 pending;
	__u64 keys;
	__u64 inserts;
	__u64 absent;
	__u64 present;
	__u64 open;
	__u64 overdue;
	__u64 inside;
};
EPF_ASSERT(sizeof(struct epf_bpf_cpu) == 64, "of a CPU, so a cache line");

/**
 * struct epf_bpf_slot - contents of a filter, without lines and per-CPU words
 * @geom: shape
 * @first_seen: test-and-insert inserts absent keys only
 * @keys_step: see above; a power of two
 * @timed: sections count themselves (@inside), because a timer ends epochs
 * @journal: what has a journal: EPF_BPF_JOURNAL() of its ring; 0: nothing. It and the map
 *	in "journals" change only while no program can see one without the other
 * @hash: keyed digest
 * @open_at: see above; read-mostly, like @until
 * @until: see above
 * @began: see above
 * @dated: the epoch whose start was stored after it began (epf_state_date()); another one than
 *	@state.epoch: whoever stored that epoch was killed, and the next lock holder stores it
 * @keys: see above; written by programs
 * @unrecorded: insertions that should be in the journal, by programs without its map;
 *	user space takes them to the ring's head
 * @state: epoch, counts; programs read the epoch, and add to the count what no longer fits
 *	a CPU's word
 * @params: as created; the name is the filter's
 * @quiet: an epoch: every section that has read an earlier one is over
 * @keys_before: keys of all CPUs before the current epoch
 * @room: keys that the current epoch may take; ~0: any number
 * @share: error of each finished epoch as computed from its keys, q56, by epoch modulo 8
 * @fpr: error as last sampled, ppt; and for each lane, by epoch modulo 8:
 * @lane_fill: fraction of positions that are set, ppt
 * @lane_fpr: its share of @fpr
 * @estimated: epoch of these estimates; 0: none
 * @saturated: the last sample was above the limit
 * @created_ns: monotonic
 * @base_inserts: insertions before a restore
 * @base_keys: keys that are not in the CPUs' words: from before a swap
 * @rotations, @delayed, @saturations, @scanned: as in struct epf_stats
 * @late: epoch whose end was due and had to wait
 * @align_ns: pitch of a filter aligned to the wall clock
 * @pin_until_ns: a snapshot keeps the epoch from ending until then; 0: none
 * @pins: number of snapshots so far
 * @serial: different from that of any other contents
 * @journal_serial: different from that of any other journal; while there is one
 * @grace_epoch: the timer's: the epoch that its grace period is for
 * @grace_cpu: CPUs below this one had no section since the grace period began
 * @scan_at: lines of the chunk @state.scanned that have been scanned
 * @look_ns: when the insertions were last summed
 * @look_epoch: the epoch at that time
 * @look_inserts: the insertions at that time
 * @open: whether the filter was failing open when last checked
 * @desc: what the keys are made of
 */
struct epf_bpf_slot {
	struct epf_geom geom; /* from here to @hash.kind: the first cache line */
	__u32 first_seen;
	__u32 keys_step;
	__u64 timed;
	__u64 journal;
	struct epf_hash hash;

	__u64 open_at;
	__u64 until;
	__u64 began;
	__u64 dated;
	__u64 apart1[4];

	__u64 keys;
	__u64 unrecorded;
	__u64 apart2[6];

	struct epf_state state;
	__u64 apart3[6];

	struct epf_params params;
	__u64 quiet;
	__u64 keys_before;
	__u64 room;
	__u64 share[EPF_LANES];
	__u64 fpr;
	__u64 lane_fill[EPF_LANES];
	__u64 lane_fpr[EPF_LANES];
	__u64 estimated;
	__u64 saturated;
	__u64 created_ns;
	__u64 base_inserts;
	__u64 base_keys;
	__u64 rotations;
	__u64 delayed;
	__u64 saturations;
	__u64 scanned;
	__u64 late;
	__u64 align_ns;
	__u64 pin_until_ns;
	__u64 pins;
	__u64 serial;
	__u64 journal_serial;
	__u64 grace_epoch;
	__u64 grace_cpu;
	__u64 scan_at;
	__u64 look_ns;
	__u64 look_epoch;
	__u64 look_inserts;
	__u64 open;
	struct epf_key_desc desc;
};
EPF_ASSERT(__builtin_offsetof(struct epf_bpf_slot, hash.kind) < 64, "first line");
EPF_ASSERT(__builtin_offsetof(struct epf_bpf_slot, open_at) % 64 == 0, "a line's");
EPF_ASSERT(__builtin_offsetof(struct epf_bpf_slot, keys) % 64 == 0, "a line's");
EPF_ASSERT(__builtin_offsetof(struct epf_bpf_slot, state) % 64 == 0, "a line's");

/*
 * The geometry of a journal: 2^@order records in each of 2^@shards rings, of elements of
 * EPF_BPF_JOURNAL_BYTES. Ring n has its counters in element EPF_BPF_JOURNAL_SHARD(n), and
 * its first record is n << order elements after EPF_BPF_JOURNAL_FIRST().
 */
#define EPF_BPF_JOURNAL_BYTES 32u
#define EPF_BPF_JOURNAL(order, shards) ((order) | (shards) << 8)
#define EPF_BPF_JOURNAL_ORDER(word) ((__u32)(word)&0x1f)
#define EPF_BPF_JOURNAL_SHARDS(word) ((__u32)((word) >> 8) & 0xf)
#define EPF_BPF_JOURNAL_SHARD(n) (2 * (n) + 2)
/* The records begin on a page; pages of 64 KiB are the largest that there are. */
#define EPF_BPF_JOURNAL_FIRST(shards) ((EPF_BPF_JOURNAL_SHARD(1u << (shards)) + 2047u) & ~2047u)

/* What ends epochs. */
enum epf_bpf_rotate {
	EPF_BPF_ROTATE_PROCESS, /* the process that has the lock on "rotator" */
	EPF_BPF_ROTATE_KERNEL,  /* a BPF timer */
};

/* A flag of struct epf_create: EPF_BPF_ROTATE_KERNEL. The module does not know this flag. */
#define EPF_BPF_CREATE_TIMER (1u << 31)

/**
 * struct epf_bpf_filter - the one value of map "table"
 * @magic: EPF_BPF_MAGIC
 * @bytes: sizeof
 * @cpus: possible CPUs: words of slot s, CPU c are at s * @cpus + c
 * @active: slot of the contents; EPF_BPF_SLOTS: there are none any more, -ENODEV
 * @earlier: 1. Programs that include a header of before journals read "destroyed" here.
 *	They would find other words where they look, and record nothing
 * @half: a swap is under way. If a process gets the lock and finds this set, the process
 *	that swapped was killed: both filters may have the same lines then
 * @yields: the process that holds the filter does so for all filters, so the filter may be
 *	destroyed
 * @changing: a swap or a restore is under way. If a process gets the lock and finds this
 *	set, the process that did it was killed: keys of the contents may be counted
 *	nowhere, and the other slot may have lines
 * @rotate: enum epf_bpf_rotate; as created
 * @hz: jiffies a second
 * @gone: destroyed: -ENODEV
 * @ticking: 1 while a program ends epochs, run by the timer or by user space: it took the
 *	word by a CAS. Programs cannot be killed, so it is always given back
 * @ticked_ns: when due work was last done, monotonic
 * @wait_ns: time until the next tick
 * @slot: contents
 */
struct epf_bpf_filter {
	__u64 magic;
	__u32 bytes;
	__u32 cpus;
	__u32 active;
	__u32 earlier;
	__u32 half;
	__u32 yields;
	__u32 changing;
	__u32 rotate;
	__u32 hz;
	__u32 gone;
	__u32 apart[4];
	__u64 ticking;
	__u64 ticked_ns;
	__u64 wait_ns;
	__u64 apart1[5];
	struct epf_bpf_slot slot[EPF_BPF_SLOTS];
};
EPF_ASSERT(sizeof(struct epf_bpf_filter) <= 4096, "one page");
EPF_ASSERT(__builtin_offsetof(struct epf_bpf_filter, earlier) == 20, "where gone was");

/* The packet of the program "ops": its input and its output. */
#define EPF_BPF_OPS_MAX 400u

enum epf_bpf_op {
	EPF_BPF_TEST,
	EPF_BPF_INSERT,
	EPF_BPF_TEST_AND_INSERT,
	EPF_BPF_STALE, /* out: the contents changed; nothing was done */
};

/**
 * struct epf_bpf_ops - keys to test or insert
 * @op: enum epf_bpf_op
 * @count: 0 .. EPF_BPF_OPS_MAX
 * @serial: of the contents that the digests are of
 * @jiffies: out: the kernel's
 * @now_ns: out: monotonic, at the same time
 * @word: digests; out: verdicts
 */
struct epf_bpf_ops {
	__u32 op;
	__u32 count;
	__u64 serial;
	__u64 jiffies;
	__u64 now_ns;
	__u64 word[EPF_BPF_OPS_MAX];
};

/* Requests to the program "tick". */
enum epf_bpf_tick_op {
	EPF_BPF_TICK_STEP,  /* do what is due */
	EPF_BPF_TICK_END,   /* end the epoch, due or not */
	EPF_BPF_TICK_START, /* start or restart the timer */
	EPF_BPF_TICK_STOP,
};

/**
 * struct epf_bpf_tick - the packet of "tick"
 * @op: enum epf_bpf_tick_op
 * @ret: out: 1: an epoch has ended; 0: none was due; -EAGAIN: scan or grace period; -EBUSY:
 *	a snapshot keeps the epoch from ending; -EALREADY: another program is at work, or
 *	the contents are being changed; -ENODEV; for the timer 0, or the kernel's error
 */
struct epf_bpf_tick {
	__u32 op;
	__s32 ret;
	__u64 apart[3];
};

#endif /* EPF_BPF_H */
