/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ring of a journal: any number of writers, none of which waits, and a
 * reader that can only look.
 *
 * A record has a position, which grows by one from record to record and never
 * comes again; it lies in the slot that is its position modulo the size. The
 * first position is the size itself, so that slots of zeros are older than all.
 *
 * Shared words, and who orders what:
 *
 *   next   Position that is reserved next. Added to by writers, before they
 *          touch the slot; read by the reader.
 *   seq    Of a slot: position << EPF_JOURNAL_KIND_BITS | kind. From the CAS
 *          that makes it EPF_JOURNAL_BUSY to the store that ends this the slot
 *          is its writer's alone. A writer leaves alone a slot that is busy (an
 *          older writer has been held up for a whole lap) or of a later
 *          position (it has been held up itself), and its record is lost. So
 *          nobody writes into a slot that another has, however late he comes.
 *          Cases: claim, claim-store.
 *   epoch, value, more   Of a slot: written by who has it, read by anybody.
 *   lost   Records that found no slot. Added to by writers, after they
 *          reserved; the reader compares it with what it was when he began.
 *          Case: quiet.
 *
 *   J1  The words of a record before the seq that says they are there: release
 *       store, acquire load. Cases: put-order, get-seq-order.
 *   J2  The CAS before the words that overwrite others (release stores); the
 *       reader loads them with acquire, then seq again: if he has seen a word
 *       of a later lap he sees that the slot has been taken for it. Cases:
 *       once, word-order, get-order.
 *   J3  What the writer did before epf_journal_put() is seen by who sees its
 *       position reserved (full barrier, acquire load). So a copy of the lines
 *       that begins after a look at @next has all that is recorded below it.
 *       Case: lines-order.
 *   J4  The addition to @next before that to @lost (full barrier); the reader
 *       who begins loads @lost with acquire, then @next. So what is lost
 *       without his noticing lies below the position where he begins. Case:
 *       lost-order.
 *
 * Cases are those of selftests/explore; case claim-order there shows that the
 * CAS need not order anything.
 *
 * A reader that goes from position to position gets each record as it was put,
 * or is told: by -EOVERFLOW where a later lap has come over the one it wants; by
 * @lost where the record found no slot.
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
 * @mask: how many there are, a power of two, less one
 */
struct epf_journal_ring {
	struct epf_journal_shard *shard;
	struct epf_journal_record *record;
	__u64 mask;
};

/* Of zeroed memory that nobody else has yet. */
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

/**
 * epf_journal_put() - write a record
 * @r: ring
 * @kind: EPF_JOURNAL_INSERT, EPF_JOURNAL_ROTATE
 * @epoch: see struct epf_journal_record; so @value and @more
 *
 * Context: any; never waits, takes the same few steps always. Who is
 * interrupted between the first and the last holds up the reader, so
 * preemption had better be off.
 */
EPF_FN void epf_journal_put(const struct epf_journal_ring *r, __u64 kind,
			    __u64 epoch, __u64 value, __u64 more)
{
	__u64 position = epf_fetch_add(&r->shard->next, 1); /* J3 */
	struct epf_journal_record *rec = &r->record[position & r->mask];
	__u64 seq = epf_load(&rec->seq);
	__u64 mine = position << EPF_JOURNAL_KIND_BITS;

	/* A CAS that fails lost against a writer of another lap. */
	if (!epf_journal_free(seq, position) ||
	    !epf_cas(&rec->seq, &seq, mine | EPF_JOURNAL_BUSY)) {
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
 * @position: of the record: all before it have been read
 * @rec: result
 *
 * Return: 1; 0: it is not there yet, or was lost: see @lost; -EOVERFLOW: it
 * is not there any more.
 */
EPF_FN int epf_journal_get(const struct epf_journal_ring *r, __u64 position,
			   struct epf_journal_record *rec)
{
	const struct epf_journal_record *slot =
		&r->record[position & r->mask];

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
