/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lanes filter: guarded epochs over 64-byte lines of self-tagged lanes.
 *
 * Guarded epochs: Alpay and Sarioglu, "Guarded Epoch Bloom Filters for Sliding-Window
 * Membership", 2026, Algorithm 1, with r = 7. Only the layout differs: the r+1 segments are
 * interleaved, so lane i of every line belongs to the epochs that are i modulo 8, and a
 * segment is not cleared before it is reused. Instead each lane carries the tag (epoch / 8)
 * mod 4 of the epoch that wrote it, and a lane whose tag is not the expected one is empty.
 *
 * Shared words, and who orders what:
 *
 *   *epoch  Written only by the rotator (one at a time, see epf_state_rotate in window.h); read
 *           by everybody. Grows by one.
 *   lane    Written by inserters (OR, or CAS) and by the scan (CAS of a stale value to
 *           zero); read by everybody. Within one epoch bits only go from 0 to 1.
 *
 *   O1  Lane load (acquire) in epf_lane_set and epf_lane_take: orders O2 where the lane was
 *       already complete and nothing is written. Case: complete-order.
 *   O2  OR or CAS of the lanes (a full barrier, or for epf_lane_add an OR that the re-read
 *       waits for) before the epoch re-read (epf_load_ordered) that ends an insert; the
 *       re-read is the linearisation point. If it still returns e, the bits were visible
 *       while e was current. Pairs with the rotator's release store of the epoch. Cases:
 *       reread, ordered, or-order, cas-order. The OR of epf_lane_add is also before the CAS
 *       of the deciding lane, which needs no wait. If other keys complete the deciding
 *       lane, there is no such CAS. (No case has such keys.)
 *   O3  A lane is reused for epoch e+8 only after every section that could have read epoch
 *       e has ended (the owner's grace period). So whatever a section finds in the lane of
 *       its epoch e belongs to e or to an older epoch, and replacing an older value loses
 *       nothing; if the lane changed since, the CAS fails. Cases: grace, grace-wrap (the
 *       very word that a CAS expects comes back after 32 epochs).
 *
 * Cases are those of selftests/explore: each removes what it is named after, and prints a
 * schedule that breaks a property (explore --trace CASE).
 *
 * Bounds. Where EPF_VERIFIED, every loop has a bound. O3 implies that no bound is exceeded,
 * and each bound is exact (cases bound-stale, bound-moves):
 *
 *   EPF_STALE_TRIES   Until its section ends, an insert that read epoch e finds words of e
 *                     or older in the lane of e. An older word changes at most twice: the
 *                     scan makes it zero (once, because it leaves zero alone), and an
 *                     inserter makes it a word of e. So at most two CAS fail, and after two
 *                     the lane belongs to e. The lane must be loaded after the epoch, or
 *                     the loads may return words from before the last grace period. The
 *                     acquire load ensures this; in BPF on arm64, where it is a plain load,
 *                     the address of the lane depends on the epoch (case bpf-address).
 *   EPF_INSERT_TRIES  Each try begins in a later epoch than the one before, and a section
 *                     that read epoch e ends before e+8 begins. So the eighth try, which
 *                     begins in e+7, does not fail.
 *
 * A bound is exceeded only if the owner breaks O3. Then epf_lanes_insert_into() returns 0, and
 * the verdict is EPF_UNKNOWN: the key may be missing, and bits that were set cause at most
 * false positives.
 *
 * A test needs no ordering: it reads the epoch once, then lanes, and judges every hit by a
 * single word. If a lane was reused meanwhile, it held an epoch that had already left the
 * window by then, so "absent" is right as of that rotation. If a lane gained bits
 * meanwhile, they came from an insert that was not finished.
 */
#ifndef EPF_LANES_H
#define EPF_LANES_H

#include "geometry.h"

/* Epochs start here. All-zero lanes carry tag 0 and epochs 8..15 expect tag 1, so fresh
 * memory is stale everywhere, and epochs before the first are empty.
 */
#define EPF_EPOCH_FIRST 8ULL

#define EPF_STALE_TRIES 2u         /* CAS over a stale lane: see Bounds */
#define EPF_INSERT_TRIES EPF_LANES /* tries of one insert */

/* Line @n of @f. A program whose lines are in a BPF map, and not in an array in memory,
 * defines this before it includes this file; the program then chooses the meaning of
 * @f->line. Where EPF_VERIFIED, the result may be NULL.
 */
#ifndef epf_line_at
#define epf_line_at(f, n) ((f)->line + (n))
#endif

/* Must a loop of at most @most rounds stop before round @round, counted from 0? */
#ifndef epf_beyond
#define epf_beyond(round, most) (EPF_VERIFIED && (round) >= (most))
#endif

/**
 * struct epf_lanes - a filter, by reference; trivially copyable
 * @line: epf_geom_lines(&geom) lines, 64-byte aligned, owned by the caller
 * @epoch: the current epoch
 * @geom: shape
 */
struct epf_lanes {
	struct epf_line *line;
	__u64 *epoch;
	struct epf_geom geom;
};

/**
 * struct epf_probe - where one digest lives
 * @line: its line in each part
 * @mask: the bits to compare in that line: its positions, and the two bits of the tag
 * @parts: number of entries set in both arrays. It is 0 only where EPF_VERIFIED, if a line
 *	is missing: every operation on the probe then answers EPF_UNKNOWN
 */
struct epf_probe {
	struct epf_line *line[EPF_PARTS_MAX];
	__u64 mask[EPF_PARTS_MAX];
	__u32 parts;
};

/**
 * enum epf_verdict - answer of test and test-and-insert
 * @EPF_ABSENT: certainly not inserted inside the window
 * @EPF_PRESENT: 1 + age; age in epochs, 0..7, since the key was last inserted
 * @EPF_UNKNOWN: only where EPF_VERIFIED: a line is missing, or a bound was exceeded
 */
enum epf_verdict { EPF_UNKNOWN = -1, EPF_ABSENT = 0, EPF_PRESENT = 1 };

EPF_FN __u64 epf_tag(__u64 epoch)
{
	return epoch >> 3 << EPF_TAG_SHIFT;
}

/* The lane word of @epoch that has all positions. */
EPF_FN __u64 epf_lane_whole(__u64 epoch)
{
	return epf_tag(epoch) | ~EPF_TAG_MASK;
}

/* The bits of @mask, a probe's, in which @v differs from a lane word of @epoch that has all
 * of the probe's positions.
 */
EPF_FN __u64 epf_lane_differs(__u64 v, __u64 mask, __u64 epoch)
{
	return (v ^ epf_lane_whole(epoch)) & mask;
}

EPF_FN bool epf_lane_holds(__u64 v, __u64 mask, __u64 epoch)
{
	return !epf_lane_differs(v, mask, epoch);
}

EPF_FN __u64 epf_lane_positions(__u64 mask)
{
	return mask & ~EPF_TAG_MASK;
}

/* L. Where EPF_VERIFIED, the result is a constant on each path that a verifier follows,
 * because the verifier of Linux 6.1 does not learn the bounds of a number that is on the
 * stack; 0: @parts is no valid L. Elsewhere this tells compilers that there are no more
 * lines than struct epf_probe has room for.
 */
EPF_FN __u32 epf_parts(__u32 parts)
{
	if (!EPF_VERIFIED || epf_is_constant(parts))
		return parts < EPF_PARTS_MAX ? parts : EPF_PARTS_MAX;
	if (parts == 1)
		return epf_opaque(1);
	if (parts == 2)
		return epf_opaque(2);
	return parts == EPF_PARTS_MAX ? epf_opaque(EPF_PARTS_MAX) : 0;
}

/* Adds the positions that only shapes with many fields have. The caller checks once whether
 * there are any, not for each line.
 */
EPF_FN void epf_probe_more(const struct epf_lanes *f, __u64 digest, struct epf_probe *p,
			   __u32 parts)
{
	__u64 w = digest;
	__u32 j;

	EPF_UNROLL_PARTS
	for (j = 0; j < parts; j++, w *= EPF_WORD_STEP)
		p->mask[j] |= epf_more_fields(w, f->geom.bits);
}

/**
 * epf_probe() - find the lines of a digest
 * @f: filter
 * @digest: of the key
 * @p: result; its lines are prefetched
 */
EPF_FN void epf_probe(const struct epf_lanes *f, __u64 digest, struct epf_probe *p)
{
	__u32 parts = epf_parts(f->geom.parts), j = 0;
	__u64 w = digest; /* epf_lane_word(digest, j) */

	if (!EPF_VERIFIED && !epf_is_constant(parts))
		memset(p, 0, sizeof(*p)); /* else compilers warn of lines beyond L */
	EPF_UNROLL_PARTS
	do {
		p->line[j] = epf_line_at(f, epf_word_line(&f->geom, w, j));
		if (EPF_VERIFIED && !p->line[j]) {
			p->parts = 0;
			return;
		}
		epf_prefetch(p->line[j]);
		p->mask[j] = epf_word_fields(&f->geom, w, EPF_TAG_MASK);
		w *= EPF_WORD_STEP;
	} while (++j < parts);
	if (epf_geom_has_more(&f->geom))
		epf_probe_more(f, digest, p, parts);
	p->parts = parts;
}

/* L of @p. Only verifiers profit from knowing that it is a result of epf_parts(). Compilers
 * do not know that, and would generate code for a fifth line.
 */
EPF_FN __u32 epf_probe_parts(const struct epf_probe *p)
{
	return EPF_VERIFIED || p->parts < EPF_PARTS_MAX ? p->parts : EPF_PARTS_MAX;
}

/* Is a line of @p missing? */
EPF_FN bool epf_probe_missing(const struct epf_probe *p)
{
	return EPF_VERIFIED && !p->parts;
}

/* Does every lane lack one of @positions, whatever its tag? An absent key takes none of
 * these eight branches, and they wait for less of the line than one branch over all lanes
 * would. So more tests overlap where lines come from memory.
 */
EPF_FN bool epf_line_lacks(const struct epf_line *line, __u64 positions)
{
	__u32 i;

	EPF_UNROLL
	for (i = 0; i < EPF_LANES; i++)
		if (!(~epf_load(&line->lane[i]) & positions))
			return false;
	return true;
}

/* Acquire: orders O2 for a key that is already present (case holds-order). */
EPF_FN bool epf_probe_holds(const struct epf_probe *p, __u64 epoch)
{
	__u32 j;

	EPF_UNROLL_PARTS
	for (j = 0; j < epf_probe_parts(p); j++)
		if (!epf_lane_holds(epf_load_acquire(&p->line[j]->lane[epoch & 7]), p->mask[j],
				    epoch))
			return false;
	return true;
}

/* The same with one branch for all lines: fewer instructions if the answer is yes. */
EPF_FN bool epf_probe_holds_all(const struct epf_probe *p, __u32 parts, __u64 epoch)
{
	__u64 differs = 0;
	__u32 j;

	EPF_UNROLL_PARTS
	for (j = 0; j < parts; j++)
		differs |= epf_lane_differs(epf_load_acquire(&p->line[j]->lane[epoch & 7]),
					    p->mask[j], epoch);
	return !differs;
}

/* The verdict at @epoch, from lanes of age @age and up. Positions alone rule out nearly
 * every absent key.
 */
EPF_FN int epf_lanes_look(const struct epf_probe *p, __u64 epoch, __u32 age)
{
	__u32 j;

	EPF_UNROLL_PARTS
	for (j = 0; j < epf_probe_parts(p); j++)
		if (epf_line_lacks(p->line[j], epf_lane_positions(p->mask[j])))
			return EPF_ABSENT;
	EPF_UNROLL_VERIFIED /* else Linux 6.1 rejects the code of clang 14 */
	for (; age < EPF_LANES; age++)
		if (epf_probe_holds(p, epoch - age))
			return EPF_PRESENT + (int)age;
	return EPF_ABSENT;
}

/**
 * epf_lanes_test() - was the digest inserted inside the window?
 * @f: filter
 * @p: probe of the digest
 *
 * Context: any; never waits, never stores.
 * Return: EPF_ABSENT, or EPF_PRESENT + age; or EPF_UNKNOWN.
 */
EPF_FN int epf_lanes_test(const struct epf_lanes *f, const struct epf_probe *p)
{
	if (epf_probe_missing(p))
		return EPF_UNKNOWN;
	return epf_lanes_look(p, epf_load(f->epoch), 0);
}

/* What an insert found in the deciding lane before it set its bits there. EPF_MOVED: the
 * epoch has changed since the insert began, or a bound was exceeded.
 */
enum epf_was { EPF_WAS_LACKING, EPF_WAS_COMPLETE, EPF_MOVED };

/* Set the positions of @mask in @lane, the lane of epoch @e. */
EPF_FN enum epf_was epf_lane_set(__u64 *lane, __u64 mask, __u64 e)
{
	__u64 tag = epf_tag(e);
	__u32 tries = 0;
	__u64 v;

	v = epf_load_acquire(lane); /* O1 */
	while ((v & EPF_TAG_MASK) != tag) {
		if (epf_beyond(tries++, EPF_STALE_TRIES))
			return EPF_MOVED;
		if (epf_cas(lane, &v, tag | epf_lane_positions(mask))) /* O3 */
			return EPF_WAS_LACKING;
		v = epf_load_acquire(lane); /* O1: the CAS failed unordered */
	}
	if (epf_lane_holds(v, mask, e))
		return EPF_WAS_COMPLETE;
	v = epf_fetch_or(lane, epf_lane_positions(mask));
	return epf_lane_holds(v, mask, e) ? EPF_WAS_COMPLETE : EPF_WAS_LACKING;
}

/* epf_lane_set() out of line, for callers that use it several times. A verifier forbids
 * arithmetic on a pointer passed to a separate function, so callers pass the lane and not
 * the line.
 */
EPF_FN_RARE_APART enum epf_was epf_lane_set_apart(__u64 *lane, __u64 mask, __u64 e)
{
	if (EPF_VERIFIED && !lane) /* never NULL, but the verifier requires the check */
		return EPF_MOVED;
	return epf_lane_set(lane, mask, e);
}

/* epf_lane_set() for callers that do not need to know what was there. What follows all
 * parts orders the OR: the CAS of epf_lane_take(), or O2.
 */
EPF_FN bool epf_lane_add(__u64 *lane, __u64 mask, __u64 e)
{
	if ((epf_load(lane) & EPF_TAG_MASK) != epf_tag(e))
		return epf_lane_set_apart(lane, mask, e) != EPF_MOVED;
	epf_or(lane, epf_lane_positions(mask));
	return true;
}

/* epf_lane_set() for a lane that was seen lacking bits. Without a concurrent change, one
 * CAS both gives the lane the tag of @e and sets the bits.
 */
EPF_FN enum epf_was epf_lane_take(__u64 *lane, __u64 mask, __u64 e)
{
	__u64 v = epf_load_acquire(lane); /* O1 */
	__u64 held = (v & EPF_TAG_MASK) == epf_tag(e) ? v : epf_tag(e);

	if (epf_lane_holds(v, mask, e))
		return EPF_WAS_COMPLETE;
	if (epf_cas(lane, &v, held | epf_lane_positions(mask))) /* O3 */
		return EPF_WAS_LACKING;
	return epf_lane_set_apart(lane, mask, e);
}

/* Try once to insert at epoch @e; set *@grew if that set bits. Part 0 comes last. Return:
 * what part 0 was; or EPF_MOVED: try again.
 */
EPF_FN enum epf_was epf_lanes_set(const struct epf_lanes *f, const struct epf_probe *p, __u64 e,
				  bool *grew)
{
	enum epf_was was;
	__u32 j;

	for (j = 1; j < epf_probe_parts(p); j++) {
		was = epf_lane_set_apart(&p->line[j]->lane[e & 7], p->mask[j], e);
		*grew |= was == EPF_WAS_LACKING;
		if (EPF_VERIFIED && was == EPF_MOVED)
			return EPF_MOVED;
	}
	was = epf_lane_set_apart(&p->line[0]->lane[e & 7], p->mask[0], e);
	*grew |= was == EPF_WAS_LACKING;
	if (epf_load_ordered(f->epoch) != e) /* O2 */
		return EPF_MOVED;
	return was;
}

/* The same, but part @last comes after all others. The first part waits for its turn, and
 * once that comes @last waits instead. So if @p->parts is a constant, every access has a
 * constant index.
 */
EPF_FN enum epf_was epf_lanes_set_last(const struct epf_lanes *f, const struct epf_probe *p,
				       __u64 e, __u32 last)
{
	__u64 *wait = &p->line[0]->lane[e & 7], mask = p->mask[0];
	enum epf_was was;
	__u32 j;

	EPF_UNROLL_PARTS
	for (j = 1; j < epf_probe_parts(p); j++) {
		bool swap = j == last;
		__u64 *lane = &p->line[j]->lane[e & 7];

		was = epf_lane_set_apart(swap ? wait : lane, swap ? mask : p->mask[j], e);
		if (EPF_VERIFIED && was == EPF_MOVED)
			return EPF_MOVED;
		if (swap) {
			wait = lane;
			mask = p->mask[j];
		}
	}
	was = epf_lane_set_apart(wait, mask, e);
	if (epf_load_ordered(f->epoch) != e) /* O2 */
		return EPF_MOVED;
	return was;
}

/* The first part that lacks bits in the lane of @epoch; if none does, the last part. */
EPF_FN __u32 epf_probe_first_lacking(const struct epf_probe *p, __u64 epoch)
{
	__u32 j;

	EPF_UNROLL_VERIFIED
	for (j = 0; j + 1 < epf_probe_parts(p) && j + 1 < EPF_PARTS_MAX; j++)
		if (!epf_lane_holds(epf_load(&p->line[j]->lane[epoch & 7]), p->mask[j], epoch))
			break;
	return j;
}

/* The same if part 0 was not seen lacking bits. */
EPF_FN_RARE enum epf_was epf_lanes_set_other(const struct epf_lanes *f, const struct epf_probe *p,
					     __u64 e)
{
	return epf_lanes_set_last(f, p, e, epf_probe_first_lacking(p, e));
}

/* Pass copies, so that @f and @p can stay in registers because nobody takes their address.
 * A verifier gets the originals, because it knows less about copies.
 */
EPF_FN enum epf_was epf_lanes_set_copy(const struct epf_lanes *f, const struct epf_probe *p,
				       __u64 e)
{
	struct epf_lanes lanes = *f;
	struct epf_probe probe = *p;

	return EPF_VERIFIED ? epf_lanes_set_other(f, p, e) : epf_lanes_set_other(&lanes, &probe, e);
}

/* Try once to insert, at epoch @e, a digest whose part 0 was seen lacking bits. */
EPF_FN enum epf_was epf_lanes_set_first(const struct epf_lanes *f, const struct epf_probe *p,
					__u64 e)
{
	enum epf_was was;
	__u32 j;

	EPF_UNROLL_PARTS
	for (j = 1; j < epf_probe_parts(p); j++)
		if (!epf_lane_add(&p->line[j]->lane[e & 7], p->mask[j], e) && EPF_VERIFIED)
			return EPF_MOVED;
	was = epf_lane_take(&p->line[0]->lane[e & 7], p->mask[0], e);
	if (epf_load_ordered(f->epoch) != e) /* O2 */
		return EPF_MOVED;
	return was;
}

/**
 * epf_lanes_insert_into() - insert a digest
 * @f: filter
 * @p: probe of the digest
 * @lanes: bit e mod 8 is added for each epoch e whose lanes now have the key: the epoch
 *	that holds it, and those that ended during the insert, at most seven older (O3)
 * @grew: set to true if the insert set bits, unchanged if all were already set
 *
 * Context: any that the owner's grace period covers (O3); lock-free: a retry means that a
 * rotation took place.
 * Return: the epoch that holds the key, for counting; or 0 (EPF_UNKNOWN): perhaps none
 * does.
 */
EPF_FN __u64 epf_lanes_insert_into(const struct epf_lanes *f, const struct epf_probe *p,
				   __u64 *lanes, bool *grew)
{
	__u64 tries = 0; /* 8 bytes, so it can share a stack slot with a pointer */
	__u64 e;

	if (epf_probe_missing(p))
		return 0;
	do {
		if (epf_beyond(tries++, EPF_INSERT_TRIES))
			return 0;
		e = epf_load_acquire(f->epoch);
		*lanes |= 1ULL << (e & 7);
	} while (epf_lanes_set(f, p, e, grew) == EPF_MOVED);
	return e;
}

/* epf_lanes_insert_into() after a rotation overtook the first try. */
EPF_FN_RARE __u64 epf_lanes_insert_anew(const struct epf_lanes *f, const struct epf_probe *p,
					__u64 *lanes)
{
	bool grew = false;

	return epf_lanes_insert_into(f, p, lanes, &grew);
}

/* See epf_lanes_set_copy(). */
EPF_FN __u64 epf_lanes_insert_copy(const struct epf_lanes *f, const struct epf_probe *p,
				   __u64 *lanes)
{
	struct epf_lanes lanes_copy = *f;
	struct epf_probe probe = *p;

	return EPF_VERIFIED ? epf_lanes_insert_anew(f, p, lanes) :
			      epf_lanes_insert_anew(&lanes_copy, &probe, lanes);
}

/* epf_lanes_insert_into() for callers that need neither @lanes nor @grew. */
EPF_FN __u64 epf_lanes_insert(const struct epf_lanes *f, const struct epf_probe *p)
{
	__u64 lanes = 0;
	bool grew = false;

	return epf_lanes_insert_into(f, p, &lanes, &grew);
}

/*
 * The steps of epf_lanes_test_and_insert_into(), for callers that make a decision in between.
 */

/* Does the current lane have the digest? *@e: the current epoch. This comes first, because
 * most repeats follow soon.
 */
EPF_FN bool epf_lanes_in_current(const struct epf_lanes *f, const struct epf_probe *p, __u64 *e)
{
	__u32 parts = epf_probe_parts(p); /* before the acquire, so it may stay a constant */

	*e = epf_load_acquire(f->epoch);
	return epf_probe_holds_all(p, parts, *e);
}

/* The verdict before the insert. *@e: the epoch it applies to. */
EPF_FN int epf_lanes_first_lookup(const struct epf_lanes *f, const struct epf_probe *p, __u64 *e)
{
	return epf_lanes_in_current(f, p, e) ? EPF_PRESENT : epf_lanes_look(p, *e, 1);
}

/* Try to insert, at epoch @e, a digest that had @verdict then. EPF_MOVED: insert it again. */
EPF_FN enum epf_was epf_lanes_insert_after(const struct epf_lanes *f, const struct epf_probe *p,
					   int verdict, __u64 e)
{
	if (verdict != EPF_PRESENT) {
		if (!epf_lane_holds(epf_load(&p->line[0]->lane[e & 7]), p->mask[0], e))
			return epf_lanes_set_first(f, p, e);
		return epf_lanes_set_copy(f, p, e);
	}
	/* all bits are there already, and were loaded with acquire */
	return epf_load_ordered(f->epoch) == e ? EPF_WAS_COMPLETE : /* O2 */
						 EPF_MOVED;
}

/* The verdict to report after a successful try. */
EPF_FN int epf_lanes_final_verdict(int verdict, enum epf_was was)
{
	if (!verdict && was == EPF_WAS_COMPLETE)
		return EPF_PRESENT; /* a concurrent insert of the key came first */
	return verdict;
}

/**
 * epf_lanes_test_and_insert_into() - the verdict before, and the insert, as one
 * @f: filter
 * @p: probe of the digest
 * @first_seen: insert absent keys only
 * @e: set to the epoch that holds the key, or to 0 when nothing was inserted
 * @lanes: as epf_lanes_insert_into()
 *
 * When several CPUs see a new key at once, at least one of them gets "absent", and exactly
 * one does if no rotation falls between them. The first line that lacks bits decides: it is
 * written last. So a CPU that finds it complete finds all lines complete, and of the CPUs
 * that complete it only the first finds bits lacking. After a retry, the bits found may be
 * our own, so the answer is absent.
 *
 * Accepted: if a third key completes the deciding line between our load and our OR, the
 * answer is present; that is a false positive of this line.
 *
 * Context: as epf_lanes_insert().
 * Return: EPF_ABSENT, or EPF_PRESENT + age; or EPF_UNKNOWN, with *@e 0. Unless a rotation
 * overtakes it, an insertion that returns EPF_PRESENT has set no bits with L = 1. With
 * larger L it may have set some, in lines other than the deciding one, which another
 * insertion completed meanwhile: if that insertion was of this key, it returned EPF_ABSENT
 * and counts for both.
 */
EPF_FN int epf_lanes_test_and_insert_into(const struct epf_lanes *f, const struct epf_probe *p,
					  bool first_seen, __u64 *e, __u64 *lanes)
{
	enum epf_was was;
	__u64 later = 0;
	int verdict;

	if (epf_probe_missing(p))
		goto unknown;
	verdict = epf_lanes_first_lookup(f, p, e);
	if (verdict && first_seen) {
		*e = 0;
		return verdict;
	}
	*lanes |= 1ULL << (*e & 7);
	was = epf_lanes_insert_after(f, p, verdict, *e);
	if (was == EPF_MOVED) {
		*e = epf_lanes_insert_copy(f, p, &later);
		*lanes |= later;
		if (EPF_VERIFIED && !*e)
			goto unknown;
		return verdict;
	}
	return epf_lanes_final_verdict(verdict, was);
unknown:
	*e = 0;
	return EPF_UNKNOWN;
}

/* epf_lanes_test_and_insert_into() for callers that do not need @lanes. */
EPF_FN int epf_lanes_test_and_insert(const struct epf_lanes *f, const struct epf_probe *p,
				     bool first_seen, __u64 *e)
{
	__u64 lanes = 0;

	return epf_lanes_test_and_insert_into(f, p, first_seen, e, &lanes);
}

/* The tag of lane @i if its epoch is one of @epoch-7 .. @epoch. */
EPF_FN __u64 epf_lane_tag(__u64 epoch, __u32 i)
{
	return epf_tag(i <= (epoch & 7) ? epoch : epoch - 8);
}

/**
 * epf_lane_retag() - translate a lane word from one epoch to another
 * @v: word
 * @from: the epoch it is read at
 * @to: the epoch to translate it to
 *
 * Return: its positions with the tag of @to; 0 if the word is not of @from. A word of @from
 * without positions keeps a tag, because that is enough for a key whose fields select no
 * position.
 */
EPF_FN __u64 epf_lane_retag(__u64 v, __u64 from, __u64 to)
{
	if ((v & EPF_TAG_MASK) != epf_tag(from))
		return 0;
	return (v & ~EPF_TAG_MASK) | epf_tag(to);
}

/* Empty the lanes of @line that are stale in epoch @e. */
EPF_FN void epf_lanes_scan_line(struct epf_line *line, __u64 e)
{
	__u32 i;

	for (i = 0; i < EPF_LANES; i++) {
		__u64 *lane = &line->lane[i];
		__u64 v = epf_load(lane);

		if (v && (v & EPF_TAG_MASK) != epf_lane_tag(e, i))
			epf_cas(lane, &v, 0);
	}
}

/**
 * epf_lanes_scan() - empty the stale lanes of some lines
 * @f: filter
 * @first: index of a line
 * @nr: number of lines; @first + @nr <= lines of the filter
 *
 * The scan keeps stale tags from becoming valid again (a tag repeats after 32 epochs). Its
 * CAS fails if an inserter changed the lane. Cases: scan-all, scan-store, scan-unlocked.
 *
 * Context: the caller excludes rotation, so that "stale" cannot become "current" between
 * the load and the CAS.
 */
EPF_FN void epf_lanes_scan(const struct epf_lanes *f, __u64 first, __u64 nr)
{
	__u64 e = epf_load(f->epoch);
	__u64 n;

	for (n = first; n < first + nr; n++)
		epf_lanes_scan_line(&f->line[n], e);
}

#endif /* EPF_LANES_H */
