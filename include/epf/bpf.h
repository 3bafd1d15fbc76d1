/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A filter of lanes without the module: what BPF programs and user space share.
 * Words and their protocol; no functions.
 *
 * A filter is a directory below EPF_BPF_PINS with its maps:
 *
 *   table    one struct epf_bpf_filter, mapped by user space
 *   lines    array of two maps, one for each slot; their values are lines.
 *            To write it is the grace period: the kernel waits for all programs
 *            then (bpf_map_update_elem() of a map of maps; measured for XDP, tc,
 *            cgroup_skb and socket filters, not for programs that may sleep)
 *   lines0, lines1   these maps, for user space to map; a slot without contents
 *            has none
 *   cpus     struct epf_bpf_cpu by slot and CPU, mapped by user space
 *   ops      program that user space runs to test and insert
 *   rotator  a directory: who holds a lock (flock) on it ends epochs
 *   limits   struct epf_capacity by slot, mapped by user space; with @rotate
 *            EPF_BPF_ROTATE_KERNEL only, as the next two
 *   timer    one BPF timer. It ends with the last file of this map
 *   tick     program that user space runs to start the timer, or to do what it does
 *
 * Programs work on slot @active; the other is for swap and restore, which fill
 * it, change @active, and leave the old one alone for a grace period.
 *
 * Whoever changes words of a slot that are not the programs' holds a lock (flock)
 * on the filter's directory: for some grace periods at most. Where a timer ends epochs
 * it takes the word @ticking instead, and does nothing while @changing is set.
 *
 * Failing open. The programs see to it themselves, with what has been written
 * before; nothing waits for user space:
 *
 *   keys     Inserted keys that set bits, since ever. Programs add to the word of
 *            their CPU, and to the slot's each time that has grown by
 *            @keys_step. So the slot's lacks fewer than @keys_step for each CPU.
 *   open_at  The number of keys at which the current epoch has as many as the
 *            filter's error allows (capacity.h), less what @keys may lack. Raised
 *            after an epoch has begun, never before: who ends epochs may stop
 *            at any step, and then the filter opens too early, not too late.
 *            0 in the middle of a swap.
 *   until    When who ends epochs is overdue (jiffies). In a window of time the
 *            epoch should have ended some time before; in one of insertions he
 *            moves it on several times a second. It is the filter's: swap and
 *            restore leave it, or make it a second from then if that is sooner.
 *
 * A key that is found is "do not know" from either on, and is inserted.
 */
#ifndef EPF_BPF_H
#define EPF_BPF_H

#include "window.h"

#define EPF_BPF_PINS "/sys/fs/bpf/epochfilter"
#define EPF_BPF_MAGIC 0x3145545041465045ULL /* "EPFAPTE1" */
#define EPF_BPF_SLOTS 2u

/**
 * struct epf_bpf_cpu - what one CPU counts, of one slot
 * @pending: insertions, see epf_pending_add(); plain stores: a program that
 *	interrupts another one may have its additions undone, so that fewer are
 *	counted, never more, and keys are retained for longer (window.h)
 * @keys: see above; atomic additions
 * @inserts: all insertions
 * @absent: verdicts
 * @present: verdicts
 * @open: verdicts "do not know": the error would be above the limit
 * @overdue: likewise: nobody ends epochs
 *
 * @inside: sections on this CPU that may use lanes, where a timer ends epochs. Atomic,
 *	as tasks that preempt one another end in any order. Migration is disabled in
 *	programs, so a section ends on the CPU where it began
 *
 * The verdicts and @inserts are statistics: plain additions, which may lose one
 * where a program interrupts another.
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
 * struct epf_bpf_slot - contents of a filter, but for lines and CPUs' words
 * @geom: shape
 * @first_seen: sightings insert absent keys only
 * @keys_step: see above; a power of two
 * @timed: sections count themselves (@inside): a timer ends epochs
 * @hash: keyed digest
 * @open_at: see above; read-mostly, as @until
 * @until: see above
 * @keys: see above; programs'
 * @state: epoch, counts; programs read the epoch, and add to the count what no
 *	longer fits a CPU's word
 * @params: as created; the name is the filter's
 * @quiet: an epoch: every section that has read an earlier one is over
 * @keys_before: keys of all CPUs before the current epoch
 * @room: keys that it may take; ~0: any number
 * @share: error of each epoch that is over by its keys, q56, by epoch modulo 8
 * @fpr: error as last sampled, ppt; and of each lane, by epoch modulo 8:
 * @lane_fill: positions set of all, ppt
 * @lane_fpr: its share of @fpr
 * @estimated: epoch of these; 0: none
 * @saturated: the last sample was above the limit
 * @created_ns: monotonic
 * @base_inserts: insertions before a restore
 * @base_keys: keys beside those of the CPUs' words: from before a swap
 * @rotations, @delayed, @saturations, @scanned: as in struct epf_stats
 * @late: epoch whose end was due and had to wait
 * @align_ns: pitch, of a filter aligned to the wall clock
 * @pin_until_ns: a snapshot holds epochs until then; 0: none
 * @pins: how many snapshots there were
 * @serial: unlike that of any other contents
 * @grace_epoch: the timer's: of which epoch its grace period is
 * @grace_cpu: CPUs below this one had no section since that began
 * @scan_at: lines of the chunk @state.scanned that have been scanned
 * @look_ns: when the insertions were summed last
 * @look_epoch: then
 * @look_inserts: likewise
 * @open: it was open when it was looked at last
 * @desc: what the keys are made of
 */
struct epf_bpf_slot {
	struct epf_geom geom; /* and up to @hash.kind: the first cache line */
	__u32 first_seen;
	__u32 keys_step;
	__u64 timed;
	struct epf_hash hash;
	__u64 apart0;

	__u64 open_at;
	__u64 until;
	__u64 apart1[6];

	__u64 keys;
	__u64 apart2[7];

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

/* Who ends epochs. */
enum epf_bpf_rotate {
	EPF_BPF_ROTATE_PROCESS, /* who has the lock on "rotator" */
	EPF_BPF_ROTATE_KERNEL, /* a BPF timer */
};

/* A flag of struct epf_create: EPF_BPF_ROTATE_KERNEL. The module does not know it. */
#define EPF_BPF_CREATE_TIMER (1u << 31)

/**
 * struct epf_bpf_filter - the one value of map "table"
 * @magic: EPF_BPF_MAGIC
 * @bytes: sizeof
 * @cpus: possible CPUs: words of slot s, CPU c are at s * @cpus + c
 * @active: slot of the contents; EPF_BPF_SLOTS: none any more, -ENODEV
 * @gone: destroyed: -ENODEV
 * @half: a swap is under way. Who gets the lock and finds it set knows that the one
 *	who swapped was killed: both filters may have the same lines then
 * @yields: whoever holds it does so for all filters: it may be destroyed
 * @changing: a swap or a restore is under way. Who gets the lock and finds it set knows
 *	that the one who did it was killed: keys of the contents may have been counted
 *	for nobody, and the other slot may have lines
 * @rotate: enum epf_bpf_rotate; as created
 * @hz: jiffies a second
 * @ticking: 1 while a program ends epochs, a timer's or one that user space runs: it
 *	took the word by a CAS. Programs cannot be killed, so it is always given back
 * @ticked_ns: when what was due was done last, monotonic
 * @wait_ns: until it comes again
 * @slot: contents
 */
struct epf_bpf_filter {
	__u64 magic;
	__u32 bytes;
	__u32 cpus;
	__u32 active;
	__u32 gone;
	__u32 half;
	__u32 yields;
	__u32 changing;
	__u32 rotate;
	__u32 hz;
	__u32 apart[5];
	__u64 ticking;
	__u64 ticked_ns;
	__u64 wait_ns;
	__u64 apart1[5];
	struct epf_bpf_slot slot[EPF_BPF_SLOTS];
};
EPF_ASSERT(sizeof(struct epf_bpf_filter) <= 4096, "one page");

/* What the program "ops" is given as a packet, and gives back. */
#define EPF_BPF_OPS_MAX 400u

enum epf_bpf_op {
	EPF_BPF_TEST,
	EPF_BPF_INSERT,
	EPF_BPF_TEST_AND_INSERT,
	EPF_BPF_STALE, /* out: other contents, nothing was done */
};

/**
 * struct epf_bpf_ops - keys to be tested or inserted
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

/* What the program "tick" is asked. */
enum epf_bpf_tick_op {
	EPF_BPF_TICK_STEP, /* what is due */
	EPF_BPF_TICK_END, /* the epoch ends, due or not */
	EPF_BPF_TICK_START, /* the timer starts, or starts anew */
	EPF_BPF_TICK_STOP,
};

/**
 * struct epf_bpf_tick - the packet of "tick"
 * @op: enum epf_bpf_tick_op
 * @ret: out: 1: an epoch has ended; 0: none was due; -EAGAIN: scan or grace period;
 *	-EBUSY: a snapshot holds it; -EALREADY: another one is at it, or it is changed;
 *	-ENODEV; of the timer 0, or what the kernel says
 */
struct epf_bpf_tick {
	__u32 op;
	__s32 ret;
	__u64 apart[3];
};

#endif /* EPF_BPF_H */
