/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ring of a journal: any number of writers, none of which waits, and a reader that only
 * reads.
 *
 * A record has a position, which grows by one from record to record and is never reused.
 * The record is in slot (position modulo size). The first position is the size itself, so
 * zeroed slots are older than every record.
 *
 * Shared words, and who orders what:
 *
 *   next   The next position to be reserved. Writers add to it before they touch the slot;
 *          the reader reads it.
 *   seq    Of a slot: position << EPF_JOURNAL_KIND_BITS | kind. From the CAS that makes it
 *          EPF_JOURNAL_BUSY to the store that ends this, its writer owns the slot. A writer
 *          does not touch a slot that is busy (an older writer was delayed for a whole lap)
 *          or has a later position (this writer was itself delayed); its record is then
 *          lost. So no writer writes into a slot that another owns, however late it is.
 *          Cases: claim, claim-store.
 *   epoch, value, more
 *          Of a slot: written by its owner, read by anybody.
 *   lost   Records that found no slot. Writers add to it after they reserved a position;
 *          the reader compares it with the value it had when the reader began. Case: quiet.
 *
 *   J1   The words of a record come before the seq that announces them: release store,
 *        acquire load. Cases: put-order, get-seq-order.
 *   J2   The CAS comes before the words that overwrite the old record (release stores). The
 *        reader loads them with acquire, then seq again: if it has seen a word of a later
 *        lap, it sees that the slot has been taken for that lap. Cases: once, word-order,
 *        get-order.
 *   J3   A reader that sees a writer's position reserved also sees what the writer did
 *        before epf_journal_put() (full barrier, acquire load). So a copy of the lines that
 *        begins after a read of @next has everything that is recorded below it. Case:
 *        lines-order.
 *   J4   The addition to @next comes before the addition to @lost (full barrier). A reader
 *        that begins loads @lost with acquire, then @next. So a loss that the reader does
 *        not notice is below the position where it begins. Case: lost-order.
 *
 * In BPF a store-release is a fence and a store (shim.h), which order at least as much; the
 * additions and the CAS are full barriers there too. Cases: bpf-put-order, bpf-word-order,
 * bpf-lines-order, bpf-lost-order.
 *
 * A reader that wants new keys only, each once, must wait for insertions under way before it
 * reads @next: one that finds a key there may return before the record of the one that
 * inserted it is reserved. Case: tail-sync.
 *
 * Cases are those of selftests/explore; case claim-order there shows that the CAS need not
 * order anything.
 *
 * A reader that goes from position to position gets each record as it was written, or an
 * error: -EOVERFLOW if a later lap has overwritten the record; a change of @lost if the
 * record found no slot.
 */
#ifndef EPF_JOURNAL_H
#define EPF_JOURNAL_H

#include "shim.h"

#include <linux/epochfilter.h>

#define EPF_JOURNAL_KIND_BITS 2
#define EPF_JOURNAL_KIND_MASK ((1ULL << EPF_JOURNAL_KIND_BITS) - 1)

/**
 * struct epf_journal_ring - one ring, by reference
 * @shard: its counters
 * @record: its slots
 * @mask: number of slots, a power of two, minus one
 * @first: only where slots are in a BPF map: number of the ring's first slot there
 */
struct epf_journal_ring {
	struct epf_journal_shard *shard;
	struct epf_journal_record *record;
	__u64 mask;
	__u64 first;
};

/* The slot of @position in ring @r. A program whose slots are in a BPF map defines this
 * before it includes this file. Where EPF_VERIFIED, the result may be NULL.
 */
#ifndef epf_journal_slot
#define epf_journal_slot(r, position) ((r)->record + ((position) & (r)->mask))
#endif

/* The memory is zeroed, and no one else has it yet. */
EPF_FN void epf_journal_init(const struct epf_journal_ring *r)
{
	r->shard->next = r->mask + 1;
}

/* May the writer at @position take a slot that has @seq? */
EPF_FN bool epf_journal_free(__u64 seq, __u64 position)
{
	return (seq & EPF_JOURNAL_KIND_MASK) != EPF_JOURNAL_BUSY &&
	       seq >> EPF_JOURNAL_KIND_BITS < position;
}

/* Take the slot for @position. If the CAS fails, a writer of another lap has won it. */
EPF_FN bool epf_journal_claim(struct epf_journal_record *rec, __u64 position)
{
	__u64 seq = epf_load(&rec->seq);

	return epf_journal_free(seq, position) &&
	       epf_cas(&rec->seq, &seq, position << EPF_JOURNAL_KIND_BITS | EPF_JOURNAL_BUSY);
}

/**
 * epf_journal_put() - write a record
 * @r: ring
 * @kind: EPF_JOURNAL_INSERT, EPF_JOURNAL_ROTATE
 * @epoch: see struct epf_journal_record
 * @value: likewise
 * @more: likewise
 *
 * Context: any; never waits, always takes the same few steps. A writer that is interrupted
 * between the first and the last step delays the reader, so preemption should be off.
 */
EPF_FN void epf_journal_put(const struct epf_journal_ring *r, __u64 kind, __u64 epoch, __u64 value,
			    __u64 more)
{
	__u64 position = epf_fetch_add(&r->shard->next, 1); /* J3 */
	struct epf_journal_record *rec = epf_journal_slot(r, position);
	__u64 mine = position << EPF_JOURNAL_KIND_BITS;

	if ((EPF_VERIFIED && !rec) || !epf_journal_claim(rec, position)) {
		epf_fetch_add(&r->shard->lost, 1);
		return;
	}
	epf_store_release(&rec->epoch, epoch); /* J2 */
	epf_store_release(&rec->value, value);
	epf_store_release(&rec->more, more);
	epf_store_release(&rec->seq, mine | kind); /* J1 */
}

/**
 * epf_journal_get() - read a record
 * @r: ring
 * @position: of the record; all records before it have been read
 * @rec: result
 *
 * Return: 1; 0: the record is not there yet, or was lost: see @lost; -EOVERFLOW: it has
 * been overwritten.
 */
EPF_FN int epf_journal_get(const struct epf_journal_ring *r, __u64 position,
			   struct epf_journal_record *rec)
{
	const struct epf_journal_record *slot = epf_journal_slot(r, position);

	rec->seq = epf_load_acquire(&slot->seq); /* J1 */
	if (rec->seq >> EPF_JOURNAL_KIND_BITS > position)
		return -EOVERFLOW;
	if (epf_journal_free(rec->seq, position) ||
	    (rec->seq & EPF_JOURNAL_KIND_MASK) == EPF_JOURNAL_BUSY)
		return 0;
	rec->epoch = epf_load_acquire(&slot->epoch); /* J2 */
	rec->value = epf_load_acquire(&slot->value);
	rec->more = epf_load_acquire(&slot->more);
	return epf_load(&slot->seq) == rec->seq ? 1 : -EOVERFLOW;
}

#endif /* EPF_JOURNAL_H */
