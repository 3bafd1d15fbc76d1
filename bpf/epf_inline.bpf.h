/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A filter without the module: the core's lanes, in the program. The maps are those of
 * epf/bpf.h; libepf replaces them with a filter's maps before the program is loaded.
 *
 * All of this must run within one section that the grace period waits for. XDP, tc,
 * cgroup_skb, socket and netfilter programs are such sections; a program that may sleep is
 * not, and must not include this. epf.bpf.h, for users' own programs, makes the verifier
 * reject those.
 *
 * Verdicts are those of epf_kfunc.bpf.h, and
 *
 *   -ETIME   do not know: nobody ends the filter's epochs (epfctl hold, epfagent)
 */
#ifndef EPF_INLINE_BPF_H
#define EPF_INLINE_BPF_H

#ifndef __VMLINUX_H__
#include <linux/bpf.h>
#include <linux/types.h>
#endif
#include <linux/errno.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

/* The line pointer of struct epf_lanes holds the map of lines here. */
#define epf_line_at(f, n)                                                        \
	({                                                                       \
		__u32 epf_line_nr = (__u32)(n);                                  \
		(struct epf_line *)bpf_map_lookup_elem((f)->line, &epf_line_nr); \
	})

/* The record pointer of struct epf_journal_ring holds the map of its slots. */
#define epf_journal_slot(r, position)                                                        \
	({                                                                                   \
		__u32 epf_slot_nr = (__u32)((r)->first + ((position) & (r)->mask));          \
		(struct epf_journal_record *)bpf_map_lookup_elem((r)->record, &epf_slot_nr); \
	})

#include <epf/bpf.h>
#include <epf/journal.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_bpf_filter);
} epf_table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, EPF_BPF_SLOTS);
	__type(key, __u32);
	/* clang-format off */
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_ARRAY);
		__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
		__uint(max_entries, 1);
		__uint(key_size, sizeof(__u32));
		__uint(value_size, sizeof(struct epf_line));
	});
	/* clang-format on */
} epf_lines SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_bpf_cpu);
} epf_cpus SEC(".maps");

/* A loader that leaves this map out gets an empty one: what should be recorded is counted. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, EPF_BPF_SLOTS);
	__type(key, __u32);
	/* clang-format off */
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_ARRAY);
		__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
		__uint(max_entries, 1);
		__uint(key_size, sizeof(__u32));
		__uint(value_size, EPF_BPF_JOURNAL_BYTES);
	});
	/* clang-format on */
} epf_journals SEC(".maps");

/**
 * struct epf_inline - a filter's contents, for one section
 * @slot: words
 * @cpu: those of this CPU
 * @lanes: the core's view; @line is the map of lines
 */
struct epf_inline {
	struct epf_bpf_slot *slot;
	struct epf_bpf_cpu *cpu;
	struct epf_lanes lanes;
};

/* Slot of the contents of the filter with this @map "table". Return: EPF_BPF_SLOTS: destroyed,
 * or nothing in it.
 */
static __always_inline __u32 epf_inline_slot_in(void *map, struct epf_bpf_slot **slot)
{
	__u32 zero = 0, active;
	struct epf_bpf_filter *table = bpf_map_lookup_elem(map, &zero);

	if (!table || table->gone)
		return EPF_BPF_SLOTS;
	active = *(volatile __u32 *)&table->active; /* read once */
	if (active >= EPF_BPF_SLOTS)
		return EPF_BPF_SLOTS;
	*slot = &table->slot[active];
	return active;
}

/* The contents of slot @at of the filter with these maps. Return: 0, or -ENODEV. */
static __always_inline int epf_inline_get_in(struct epf_inline *f, __u32 at, void *map, void *lines,
					     void *cpus)
{
	__u32 zero = 0, cpu;
	struct epf_bpf_filter *table = bpf_map_lookup_elem(map, &zero);
	struct epf_bpf_slot *slot;

	if (!table || at >= EPF_BPF_SLOTS)
		return -ENODEV;
	slot = &table->slot[at];
	__asm__("" : "+r"(slot)); /* else compilers add up the address again for each use */
	f->slot = slot;
	cpu = at * table->cpus + bpf_get_smp_processor_id();
	f->cpu = bpf_map_lookup_elem(cpus, &cpu);
	f->lanes.line = bpf_map_lookup_elem(lines, &at);
	if (!f->cpu || !f->lanes.line)
		return -ENODEV;
	f->lanes.epoch = &f->slot->state.epoch;
	f->lanes.geom = f->slot->geom;
	return 0;
}

/* The same for the filter of the program. */
static __always_inline __u32 epf_inline_slot(struct epf_bpf_slot **slot)
{
	return epf_inline_slot_in(&epf_table, slot);
}

static __always_inline int epf_inline_get(struct epf_inline *f, __u32 at)
{
	return epf_inline_get_in(f, at, &epf_table, &epf_lines, &epf_cpus);
}

/*
 * A section of a filter whose epochs a timer ends. It lasts from before it reads the epoch
 * until it is done with lanes. The timer may run on any CPU, and interrupt the section
 * anywhere:
 *
 *   section  inside + 1; full barrier; load epoch; lanes; full barrier; inside - 1
 *   timer    store epoch e (release); in a later tick, which begins with a full barrier:
 *            load inside of each CPU, once or until it is 0; then @quiet = e
 *
 * A section that has read an epoch before e did so before that store, so its addition comes
 * before the timer's load: the timer finds at least 1 until the section has ended. If the
 * timer finds 0 after that, then by the barrier before the subtraction all of the section's
 * stores to lanes came first. Sections that begin later read e, and may keep the word from
 * becoming 0 for a while: that delays the end of an epoch, which is safe. Explored:
 * bpf-tick; without either barrier before a load, or with a relaxed subtraction, properties
 * break (cases tick-enter, tick-look, tick-leave).
 */
static __always_inline void epf_inline_enter(const struct epf_inline *f)
{
	if (!epf_load(&f->slot->timed))
		return;
	epf_fetch_add(&f->cpu->inside, 1);
	epf_bpf_fence();
}

static __always_inline void epf_inline_leave(const struct epf_inline *f)
{
	if (epf_load(&f->slot->timed)) /* same as at the start; the verifier forgets that */
		epf_fetch_add(&f->cpu->inside, ~0ULL);
}

/* Returns @v, -62 .. 61, in a form that hides its value from the verifier, so that it reads
 * the code that follows once, and not once for each value of @v. The verifier does not
 * track single bytes of the stack, except zeroes and those at a multiple of eight. (A call
 * would do the same, but where CPUs must not predict returns, each call is a
 * misprediction.) This is in assembly because compilers reduce a stack slot without other
 * use to one byte.
 */
static __always_inline int epf_inline_any(int v)
{
	__u64 stack, byte = (__u64)(v + 64);

	__asm__ volatile("*(u8 *)(%1 + 3) = %0\n\t"
			 "%0 = *(u8 *)(%1 + 3)"
			 : "+r"(byte)
			 : "r"(&stack));
	return (int)byte - 64;
}

/* May the filter report a key that it finds? Return: 0, or why not: the error may be above
 * the limit; nobody ends epochs.
 */
static __always_inline int epf_inline_knows(const struct epf_inline *f)
{
	if (epf_load(&f->slot->keys) >= epf_load(&f->slot->open_at))
		return -ENOSPC;
	if (bpf_jiffies64() >= epf_load(&f->slot->until))
		return -ETIME;
	return 0;
}

/* Count one. The address of each counter is computed separately, because a verifier that
 * follows mispredicted branches rejects one addition to a selected pointer.
 */
static __always_inline void epf_inline_one(__u64 *counter)
{
	__asm__ volatile("" : "+r"(counter));
	++*counter;
}

/* The answer for @verdict, counted as that answer. */
static __always_inline int epf_inline_tell(const struct epf_inline *f, int verdict, int knows)
{
	if (!verdict) {
		epf_inline_one(&f->cpu->absent);
		return 0;
	}
	if (!knows && verdict > 0) {
		epf_inline_one(&f->cpu->present);
		return verdict;
	}
	if (knows == -ETIME) {
		epf_inline_one(&f->cpu->overdue);
		return knows;
	}
	epf_inline_one(&f->cpu->open);
	return -ENOSPC;
}

/* Add what no longer fits a CPU's word to the count. If the count changes meanwhile it is
 * dropped, which is safe (window.h).
 */
static __always_inline void epf_inline_flush(const struct epf_inline *f, __u64 e, __u64 n)
{
	__u64 old = epf_load(&f->slot->state.count);

	if (!((old ^ epf_count_pack(e, 0)) & ~EPF_COUNT_MASK) &&
	    (old & EPF_COUNT_MASK) + n < EPF_INSERTS_MAX)
		epf_cas(&f->slot->state.count, &old, old + n);
}

/* Count an insertion of epoch @e; @grew: it set bits. */
static __always_inline void epf_inline_count(const struct epf_inline *f, __u64 e, bool grew)
{
	struct epf_bpf_cpu *cpu = f->cpu;
	__u64 old = epf_load(&cpu->pending), n;
	__u64 step = f->slot->keys_step;
	__u64 new = epf_pending_add(old, e, 1ULL << 31, &n);

	cpu->inserts++;
	*(volatile __u64 *)&cpu->pending = new;
	if (n)
		epf_inline_flush(f, e, n);
	if (!grew)
		return;
	if (!((epf_fetch_add(&cpu->keys, 1) + 1) & (step - 1)))
		epf_fetch_add(&f->slot->keys, step);
}

/* Look a digest up. Return: the answer. */
static __always_inline int epf_inline_look(struct epf_inline *f, __u64 digest)
{
	struct epf_probe p;
	int verdict;

	epf_inline_enter(f);
	epf_probe(&f->lanes, digest, &p);
	verdict = epf_inline_any(epf_lanes_test(&f->lanes, &p));
	epf_inline_leave(f);
	return epf_inline_tell(f, verdict, epf_inline_knows(f));
}

/*
 * Journals. A key is recorded after its bits are set and before the operation returns. An
 * insertion that finds all bits of its key set writes nothing: the one that set them does,
 * or is about to (EPF_JOURNAL_SYNC).
 *
 * A function that inserts has no stack left for this. So if the filter has a journal it
 * returns a code for its caller, who records: EPF_INLINE_SET, plus the epoch modulo 8 times
 * EPF_INLINE_EPOCH, plus the answer and EPF_INLINE_ANSWER.
 *
 * @journal of the slot and the map of its ring belong together in a section, because user
 * space waits for all programs between any two changes of them (user/ebpf/journal.c).
 */
#define EPF_INLINE_SET 4096
#define EPF_INLINE_EPOCH 256
#define EPF_INLINE_ANSWER 128

/* The code for an insertion of epoch @e, if there is a journal; else @answer. */
static __always_inline int epf_inline_code(const struct epf_inline *f, __u64 e, int answer)
{
	if (!epf_load(&f->slot->journal))
		return answer;
	return EPF_INLINE_SET + (int)(e & 7) * EPF_INLINE_EPOCH + EPF_INLINE_ANSWER + answer;
}

/* Find the ring of this CPU. Return: false: this program has no map of it. */
static __always_inline bool epf_inline_ring(__u32 at, __u64 word, struct epf_journal_ring *r)
{
	__u32 order = EPF_BPF_JOURNAL_ORDER(word), shards = EPF_BPF_JOURNAL_SHARDS(word);
	__u32 n = bpf_get_smp_processor_id() & ((1u << shards) - 1);
	__u32 nr = EPF_BPF_JOURNAL_SHARD(n);

	r->record = bpf_map_lookup_elem(&epf_journals, &at);
	if (!r->record)
		return false;
	r->shard = bpf_map_lookup_elem(r->record, &nr);
	r->mask = (1ULL << order) - 1;
	r->first = EPF_BPF_JOURNAL_FIRST(shards) + ((__u64)n << order);
	return r->shard;
}

/* Record the insertion that @code is of. Return: its answer. The epoch is one of the last eight:
 * a program ends before lanes are reused that it has used (O3). A timer does not wait for
 * this part of it: if eight epochs end meanwhile, the record has a later epoch.
 */
EPF_FN_APART int epf_inline_record(__u64 digest, __u32 at, int code)
{
	__u64 e, lane = (__u32)code / EPF_INLINE_EPOCH & 7, word;
	struct epf_journal_ring ring;
	struct epf_inline f;
	int ret = epf_inline_get(&f, at);

	if (ret)
		return ret;
	e = epf_load(&f.slot->state.epoch);
	e -= (e - lane) & 7;
	word = epf_load(&f.slot->journal); /* 0: the journal has ended since */
	if (word && epf_inline_ring(at, word, &ring))
		epf_journal_put(&ring, EPF_JOURNAL_INSERT, e, digest,
				EPF_JOURNAL_NEW | 1ULL << lane);
	else if (word)
		epf_fetch_add(&f.slot->unrecorded, 1);
	return (code & (EPF_INLINE_EPOCH - 1)) - EPF_INLINE_ANSWER;
}

/*
 * The three operations on slot @at, whose contents @digest must belong to. They are
 * separate functions, so the verifier reads each once, whoever calls it and how often.
 */
EPF_FN_APART int epf_inline_test(__u64 digest, __u32 at)
{
	struct epf_inline f;
	int ret = epf_inline_get(&f, at);

	return ret ? ret : epf_inline_look(&f, digest);
}

/* Insert as epf_lanes_insert_into(). Return: the epoch that holds the key; 0: perhaps none. */
static __always_inline __u64 epf_inline_put(const struct epf_inline *f, __u64 digest, bool *grew)
{
	struct epf_probe p;
	__u64 lanes = 0, e;

	epf_inline_enter(f);
	epf_probe(&f->lanes, digest, &p);
	e = epf_lanes_insert_into(&f->lanes, &p, &lanes, grew);
	epf_inline_leave(f);
	return e;
}

/* Count an insertion of epoch @e. A function of its own for a loader without CAP_PERFMON,
 * whose verifier would otherwise read it again for each path through the insertion.
 */
EPF_FN_SPLIT int epf_inline_counted(__u32 at, __u64 e, int grew)
{
	struct epf_inline f;
	int ret = epf_inline_get(&f, at);

	if (ret)
		return ret;
	epf_inline_count(&f, e, grew);
	return grew ? epf_inline_code(&f, e, 0) : 0;
}

EPF_FN_APART int epf_inline_insert_only(__u64 digest, __u32 at)
{
	struct epf_inline f;
	bool grew = false;
	int ret = epf_inline_get(&f, at);
	__u64 e;

	if (ret)
		return ret;
	e = epf_inline_put(&f, digest, &grew);
	return e ? epf_inline_counted(at, e, grew) : -ENODEV;
}

static __always_inline int epf_inline_insert(__u64 digest, __u32 at)
{
	int ret = epf_inline_insert_only(digest, at);

	return ret >= EPF_INLINE_SET ? epf_inline_record(digest, at, ret) : ret;
}

/* Neither a verdict nor an error: the epoch moved, and the verdict was EPF_INLINE_MOVED
 * minus this.
 */
#define EPF_INLINE_MOVED (-16384)

/* Count the insertion, and return the answer for @verdict. */
EPF_FN_APART int epf_inline_settle(__u32 at, __u64 e, int verdict)
{
	struct epf_inline f;
	int ret = epf_inline_get(&f, at);

	if (ret)
		return ret;
	epf_inline_count(&f, e, verdict != EPF_PRESENT);
	return epf_inline_code(&f, e, epf_inline_tell(&f, verdict, epf_inline_knows(&f)));
}

/* The remaining work in that case. */
EPF_FN_APART int epf_inline_moved(__u64 digest, __u32 at, int verdict)
{
	struct epf_inline f;
	bool grew = false;
	int ret = epf_inline_get(&f, at);
	__u64 e;

	if (ret)
		return ret;
	e = epf_inline_put(&f, digest, &grew);
	return e ? epf_inline_settle(at, e, verdict) : epf_inline_tell(&f, EPF_UNKNOWN, 0);
}

/* epf_inline_both() for a key that the lanes of the current epoch @e hold. The answer is
 * the same as on the other path, in fewer instructions.
 */
static __always_inline int epf_inline_again(const struct epf_inline *f, __u64 e)
{
	int knows = epf_inline_knows(f);
	bool inserts = knows || !f->slot->first_seen;
	bool moved = inserts && epf_load_ordered(f->lanes.epoch) != e; /* O2 */

	epf_inline_leave(f);
	if (moved)
		return EPF_INLINE_MOVED - EPF_PRESENT;
	if (inserts)
		epf_inline_count(f, e, false);
	return epf_inline_tell(f, EPF_PRESENT, knows);
}

/* epf_lanes_test_and_insert_into() with a constant L. Whether a key that is found may be reported
 * is checked only once it is found.
 */
static __always_inline int epf_inline_both(struct epf_inline *f, __u64 digest, __u32 parts)
{
	struct epf_probe p;
	int verdict, knows = 0;
	enum epf_was was;
	__u64 e;

	f->lanes.geom.parts = parts;
	epf_inline_enter(f);
	epf_probe(&f->lanes, digest, &p);
	if (epf_probe_missing(&p)) {
		epf_inline_leave(f);
		return epf_inline_tell(f, EPF_UNKNOWN, 0);
	}
	p.parts = parts; /* or the compiler reads it again for each line */
	if (epf_lanes_in_current(&f->lanes, &p, &e))
		return epf_inline_again(f, e);
	verdict = epf_inline_any(epf_lanes_look(&p, e, 1));
	if (verdict) {
		knows = epf_inline_any(epf_inline_knows(f));
		if (f->slot->first_seen && !knows) {
			epf_inline_leave(f);
			return epf_inline_tell(f, verdict, 0);
		}
	}
	was = epf_inline_any(epf_lanes_insert_after(&f->lanes, &p, EPF_ABSENT, e));
	epf_inline_leave(f);
	if (was == EPF_MOVED)
		return EPF_INLINE_MOVED - verdict;
	verdict = epf_lanes_final_verdict(verdict, was);
	epf_inline_count(f, e, verdict != EPF_PRESENT);
	return epf_inline_code(f, e, epf_inline_tell(f, verdict, knows));
}

EPF_FN_APART int epf_inline_once(__u64 digest, __u32 at)
{
	struct epf_inline f;
	int ret = epf_inline_get(&f, at);

	if (ret)
		return ret;
	switch (f.slot->geom.parts) {
	case 1:
		return epf_inline_both(&f, digest, 1);
	case 2:
		return epf_inline_both(&f, digest, 2);
	case EPF_PARTS_MAX:
		return epf_inline_both(&f, digest, EPF_PARTS_MAX);
	}
	return -ENODEV;
}

/* The rare case is a function of its own, because a program and all that it calls have 512
 * bytes of stack.
 */
static __always_inline int epf_inline_test_and_insert(__u64 digest, __u32 at)
{
	int ret = epf_inline_once(digest, at);

	if (ret <= EPF_INLINE_MOVED)
		ret = epf_inline_moved(digest, at, EPF_INLINE_MOVED - ret);
	return ret >= EPF_INLINE_SET ? epf_inline_record(digest, at, ret) : ret;
}

#endif /* EPF_INLINE_BPF_H */
