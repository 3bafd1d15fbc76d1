/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lanes filter: guarded epochs over 64-byte lines of self-tagged lanes.
 *
 * Guarded epochs: Alpay and Sarioglu, "Guarded Epoch Bloom Filters for
 * Sliding-Window Membership", 2026, Algorithm 1, with r = 7. What differs is
 * the layout: the r+1 segments are interleaved, lane i of every line belonging
 * to the epochs that are i modulo 8, and a segment is not cleared when it is
 * taken into use again: each lane carries the tag (epoch / 8) mod 4 of the
 * epoch that wrote it, and a lane whose tag is not the expected one is empty.
 *
 * Shared words, and who orders what:
 *
 *   *epoch  Written by the rotator only (one at a time, see epf_rotate in
 *           window.h); read by everybody. Grows by one.
 *   lane    Written by inserters (OR, or CAS) and by the
 *           scan (CAS of a stale value to zero); read by everybody. Within
 *           one epoch bits only go from 0 to 1.
 *
 *   O1  lane load (acquire) in lane_set and lane_take: orders O2 where the lane was
 *       complete and nothing is written. Case: complete-order.
 *   O2  OR or CAS of the lanes (full barrier, or for lane_add one that the re-read
 *       waits for) before the epoch re-read (epf_load_ordered) that ends an insert:
 *       the linearisation point. Still e there: the bits were visible while e was
 *       current. Pairs with the release store of the epoch by the rotator. Cases:
 *       reread, ordered, or-order, cas-order. The OR of lane_add is before the CAS that
 *       decides, too, and that needs no wait; but where other keys complete the lane
 *       that decides, there is none. (No case has such keys.)
 *   O3  A lane is taken into use by epoch e+8 only after every section that
 *       could have read epoch e has ended (the owner's grace period). So what
 *       a section finds in the lane of its epoch e is e's or older, and to
 *       replace what is older loses nothing; if the lane changed since, the
 *       CAS fails. Cases: grace, grace-wrap (the very word that a CAS expects
 *       comes back after 32 epochs).
 *
 * Cases are those of selftests/explore: each takes out what it is named after,
 * and prints a schedule that breaks a law (explore --trace CASE).
 *
 * Bounds. Where EPF_VERIFIED, every loop has one. O3 implies that none is passed,
 * and each is exact (cases bound-stale, bound-moves):
 *
 *   EPF_STALE_TRIES   Until its section ends, an insert that read epoch e finds
 *                     words of e or older in the lane of e. An older word changes
 *                     at most twice: the scan makes it zero (once, because it
 *                     leaves zero alone), and an inserter makes it a word of e.
 *                     So at most two CAS fail, and after two the lane is e's. The
 *                     lane must be loaded after the epoch, or the loads may answer
 *                     words of before the last grace period. The acquire load sees
 *                     to it; in BPF on arm64, where it is a plain load, it is that
 *                     the epoch tells the address of the lane (case bpf-address).
 *   EPF_INSERT_TRIES  Each try begins in a later epoch than the one before, and
 *                     a section that read epoch e ends before e+8 begins. So the
 *                     eighth try, which begins in e+7, does not fail.
 *
 * Only an owner that breaks O3 sees a bound passed. Then epf_insert_into() returns
 * 0, and the verdict is EPF_UNKNOWN: the key may not be in, and bits that were set
 * are at most false positives.
 *
 * A test needs no order: it reads the epoch once, then lanes, and every lane
 * it counts as a hit is judged by one word. A lane that was reused meanwhile
 * held an epoch already out of the window then, so "absent" is right after that
 * rotation; a lane gaining bits meanwhile was gaining them from an insert not
 * yet finished.
 */
#ifndef EPF_LANES_H
#define EPF_LANES_H

#include "geometry.h"

/* Epochs start here: all-zero lanes carry tag 0, epochs 8..15 expect tag 1,
 * so fresh memory is stale everywhere, and epochs before the first are empty.
 */
#define EPF_EPOCH_FIRST 8ULL

#define EPF_STALE_TRIES 2u	   /* CAS over a stale lane: see Bounds */
#define EPF_INSERT_TRIES EPF_LANES /* tries of one insert */

/* Line @n of @f. A program whose lines are not an array in memory, but in a BPF map,
 * defines this before it includes this file; @f->line then means what the program
 * wants. Where EPF_VERIFIED, the result may be NULL.
 */
#ifndef epf_line_at
#define epf_line_at(f, n) ((f)->line + (n))
#endif

/* Is @round, from 0, one that a loop of at most @most rounds must not begin? */
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
 * @mask: its positions there, and the two bits of the tag: what is to be looked at
 * @parts: how many of the two are set; 0, only where EPF_VERIFIED: a line is missing,
 *	so the answer to whatever is asked of the probe is EPF_UNKNOWN
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
 * @EPF_UNKNOWN: only where EPF_VERIFIED: a line is missing, or a bound was passed
 */
enum epf_verdict { EPF_UNKNOWN = -1, EPF_ABSENT = 0, EPF_PRESENT = 1 };

EPF_FN __u64 epf_tag(__u64 epoch)
{
	return epoch >> 3 << EPF_TAG_SHIFT;
}

/* The lane word of @epoch that has all positions. */
EPF_FN __u64 epf_whole(__u64 epoch)
{
	return epf_tag(epoch) | ~EPF_TAG_MASK;
}

/* In which bits of @mask, that of a probe, does @v differ from a lane word of @epoch that
 * has its positions?
 */
EPF_FN __u64 epf_differs(__u64 v, __u64 mask, __u64 epoch)
{
	return (v ^ epf_whole(epoch)) & mask;
}

EPF_FN bool epf_holds(__u64 v, __u64 mask, __u64 epoch)
{
	return !epf_differs(v, mask, epoch);
}

EPF_FN __u64 epf_positions(__u64 mask)
{
	return mask & ~EPF_TAG_MASK;
}

/* L, and where EPF_VERIFIED a constant on each path that a verifier follows: that
 * of Linux 6.1 does not learn the bounds of a number that is on the stack. 0: no L.
 * Elsewhere compilers learn that there are no more lines than @epf_probe has room for.
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

/* The positions that only shapes of many fields have: asked once, not for each line. */
EPF_FN void epf_probe_more(const struct epf_lanes *f, __u64 digest,
			   struct epf_probe *p, __u32 parts)
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
EPF_FN void epf_probe(const struct epf_lanes *f, __u64 digest,
		      struct epf_probe *p)
{
	__u32 parts = epf_parts(f->geom.parts), j = 0;
	__u64 w = digest; /* epf_lane_word(digest, j) */

	if (!EPF_VERIFIED && !epf_is_constant(parts))
		memset(p, 0, sizeof(*p)); /* or compilers warn of lines beyond L */
	EPF_UNROLL_PARTS
	do {
		p->line[j] = epf_line_at(f, epf_word_line(&f->geom, w, j));
		if (EPF_VERIFIED && !p->line[j])
			break;
		epf_prefetch(p->line[j]);
		p->mask[j] = epf_word_fields(&f->geom, w, EPF_TAG_MASK);
		w *= EPF_WORD_STEP;
	} while (++j < parts);
	if (epf_geom_has_more(&f->geom))
		epf_probe_more(f, digest, p, j);
	p->parts = EPF_VERIFIED && j != parts ? 0 : parts;
}

/* L of @p. Where no verifier wants to know that it is what epf_parts() told, compilers do not
 * know it, and would make something of a fifth line.
 */
EPF_FN __u32 epf_probe_parts(const struct epf_probe *p)
{
	return EPF_VERIFIED || p->parts < EPF_PARTS_MAX ? p->parts :
							  EPF_PARTS_MAX;
}

/* Is a line of @p missing? */
EPF_FN bool epf_probe_missing(const struct epf_probe *p)
{
	return EPF_VERIFIED && !p->parts;
}

/* Has no lane all @positions, whatever its tag? Eight branches, none of which an
 * absent key takes, wait for less of the line than one over all lanes would: so
 * more tests are under way at a time where the line comes from memory.
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

/* Acquire: orders O2 of a key that is present already (case holds-order). */
EPF_FN bool epf_probe_holds(const struct epf_probe *p, __u64 epoch)
{
	__u32 j;

	EPF_UNROLL_PARTS
	for (j = 0; j < epf_probe_parts(p); j++)
		if (!epf_holds(epf_load_acquire(&p->line[j]->lane[epoch & 7]),
			       p->mask[j], epoch))
			return false;
	return true;
}

/* The same with one branch for all lines: fewer instructions where the answer is yes. */
EPF_FN bool epf_probe_holds_all(const struct epf_probe *p, __u32 parts,
				__u64 epoch)
{
	__u64 differs = 0;
	__u32 j;

	EPF_UNROLL_PARTS
	for (j = 0; j < parts; j++)
		differs |= epf_differs(
			epf_load_acquire(&p->line[j]->lane[epoch & 7]),
			p->mask[j], epoch);
	return !differs;
}

/* Verdict at @epoch, from lanes of age @age and up. The positions alone rule
 * out nearly every absent key.
 */
EPF_FN int epf_look(const struct epf_probe *p, __u64 epoch, __u32 age)
{
	__u32 j;

	EPF_UNROLL_PARTS
	for (j = 0; j < epf_probe_parts(p); j++)
		if (epf_line_lacks(p->line[j], epf_positions(p->mask[j])))
			return EPF_ABSENT;
	EPF_UNROLL_VERIFIED /* or Linux 6.1 refuses what clang 14 makes of this */
	for (; age < EPF_LANES; age++)
		if (epf_probe_holds(p, epoch - age))
			return EPF_PRESENT + (int)age;
	return EPF_ABSENT;
}

/**
 * epf_test() - was the digest inserted inside the window?
 * @f: filter
 * @p: probe of the digest
 *
 * Context: any; never waits, never stores.
 * Return: EPF_ABSENT, or EPF_PRESENT + age; or EPF_UNKNOWN.
 */
EPF_FN int epf_test(const struct epf_lanes *f, const struct epf_probe *p)
{
	if (epf_probe_missing(p))
		return EPF_UNKNOWN;
	return epf_look(p, epf_load(f->epoch), 0);
}

/* What an insert found in the deciding lane before it set the bits there.
 * EPF_MOVED: the epoch is no longer the one it began in, or a bound was passed.
 */
enum epf_was { EPF_WAS_LACKING, EPF_WAS_COMPLETE, EPF_MOVED };

/* Set the positions of @mask in @lane, that of epoch @e. */
EPF_FN enum epf_was epf_lane_set(__u64 *lane, __u64 mask, __u64 e)
{
	__u64 tag = epf_tag(e);
	__u32 tries = 0;
	__u64 v;

	v = epf_load_acquire(lane); /* O1 */
	while ((v & EPF_TAG_MASK) != tag) {
		if (epf_beyond(tries++, EPF_STALE_TRIES))
			return EPF_MOVED;
		if (epf_cas(lane, &v, tag | epf_positions(mask))) /* O3 */
			return EPF_WAS_LACKING;
		v = epf_load_acquire(lane); /* O1: the CAS failed unordered */
	}
	if (epf_holds(v, mask, e))
		return EPF_WAS_COMPLETE;
	v = epf_fetch_or(lane, epf_positions(mask));
	return epf_holds(v, mask, e) ? EPF_WAS_COMPLETE : EPF_WAS_LACKING;
}

/* epf_lane_set(), for where it is one of many. A verifier lets nothing be added to what a
 * function of its own is passed, so that is the lane and not the line.
 */
EPF_FN_RARE_APART enum epf_was epf_lane_set_apart(__u64 *lane, __u64 mask, __u64 e)
{
	if (EPF_VERIFIED && !lane) /* never; the verifier asks for it */
		return EPF_MOVED;
	return epf_lane_set(lane, mask, e);
}

/* As epf_lane_set(), for those who need not know what was there. The OR is ordered by what
 * comes after all parts: the CAS of epf_lane_take(), or O2.
 */
EPF_FN bool epf_lane_add(__u64 *lane, __u64 mask, __u64 e)
{
	if ((epf_load(lane) & EPF_TAG_MASK) != epf_tag(e))
		return epf_lane_set_apart(lane, mask, e) != EPF_MOVED;
	epf_or(lane, epf_positions(mask));
	return true;
}

/* As epf_lane_set(), for a lane that was seen lacking: where nobody comes between, one CAS
 * makes it a lane of @e and sets the bits.
 */
EPF_FN enum epf_was epf_lane_take(__u64 *lane, __u64 mask, __u64 e)
{
	__u64 v = epf_load_acquire(lane); /* O1 */
	__u64 held = (v & EPF_TAG_MASK) == epf_tag(e) ? v : epf_tag(e);

	if (epf_holds(v, mask, e))
		return EPF_WAS_COMPLETE;
	if (epf_cas(lane, &v, held | epf_positions(mask))) /* O3 */
		return EPF_WAS_LACKING;
	return epf_lane_set_apart(lane, mask, e);
}

/* One try to insert at epoch @e; *@grew is set where that set bits. Return: what part 0,
 * which comes last, was; or EPF_MOVED: try again.
 */
EPF_FN enum epf_was epf_set(const struct epf_lanes *f,
			    const struct epf_probe *p, __u64 e, bool *grew)
{
	enum epf_was was;
	__u32 j;

	for (j = 1; j < epf_probe_parts(p); j++) {
		was = epf_lane_set_apart(&p->line[j]->lane[e & 7], p->mask[j],
					 e);
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

/* The same, part @last after all others. The first part waits for its turn, and @last
 * waits from its own on: so where @p->parts is a constant, each is found by constants.
 */
EPF_FN enum epf_was epf_set_last(const struct epf_lanes *f,
				 const struct epf_probe *p, __u64 e, __u32 last)
{
	__u64 *wait = &p->line[0]->lane[e & 7], mask = p->mask[0];
	enum epf_was was;
	__u32 j;

	EPF_UNROLL_PARTS
	for (j = 1; j < epf_probe_parts(p); j++) {
		bool swap = j == last;
		__u64 *lane = &p->line[j]->lane[e & 7];

		was = epf_lane_set_apart(swap ? wait : lane,
					 swap ? mask : p->mask[j], e);
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

/* The first part that lacks bits in the lane of @epoch, or the last part. */
EPF_FN __u32 epf_first_lacking(const struct epf_probe *p, __u64 epoch)
{
	__u32 j;

	EPF_UNROLL_VERIFIED
	for (j = 0; j + 1 < epf_probe_parts(p) && j + 1 < EPF_PARTS_MAX; j++)
		if (!epf_holds(epf_load(&p->line[j]->lane[epoch & 7]),
			       p->mask[j], epoch))
			break;
	return j;
}

/* The same where it is not part 0 that is seen lacking. */
EPF_FN_RARE enum epf_was epf_set_other(const struct epf_lanes *f,
				       const struct epf_probe *p, __u64 e)
{
	return epf_set_last(f, p, e, epf_first_lacking(p, e));
}

/* It gets copies, so that no address keeps @f and @p out of registers. A verifier knows
 * less of copies.
 */
EPF_FN enum epf_was epf_set_aside(const struct epf_lanes *f,
				  const struct epf_probe *p, __u64 e)
{
	struct epf_lanes lanes = *f;
	struct epf_probe probe = *p;

	return EPF_VERIFIED ? epf_set_other(f, p, e) :
			      epf_set_other(&lanes, &probe, e);
}

/* One try to insert at epoch @e what part 0 was seen lacking. */
EPF_FN enum epf_was epf_set_first(const struct epf_lanes *f,
				  const struct epf_probe *p, __u64 e)
{
	enum epf_was was;
	__u32 j;

	EPF_UNROLL_PARTS
	for (j = 1; j < epf_probe_parts(p); j++)
		if (!epf_lane_add(&p->line[j]->lane[e & 7], p->mask[j], e) &&
		    EPF_VERIFIED)
			return EPF_MOVED;
	was = epf_lane_take(&p->line[0]->lane[e & 7], p->mask[0], e);
	if (epf_load_ordered(f->epoch) != e) /* O2 */
		return EPF_MOVED;
	return was;
}

/**
 * epf_insert_into() - insert a digest
 * @f: filter
 * @p: probe of the digest
 * @lanes: bit e mod 8 is added for each epoch e whose lanes now have the key:
 *	of the epoch that holds it, and of those that ended under way, at most
 *	seven older (O3)
 * @grew: set to true where that set bits, left alone where all were set
 *
 * Context: any that the owner's grace period covers (O3); lock-free: a retry
 * means that a rotation took place.
 * Return: the epoch that holds the key, for counting; or 0 (EPF_UNKNOWN): perhaps
 * none does.
 */
EPF_FN __u64 epf_insert_into(const struct epf_lanes *f,
			     const struct epf_probe *p, __u64 *lanes,
			     bool *grew)
{
	__u64 tries = 0; /* 8 bytes: it may be kept where a pointer was */
	__u64 e;

	if (epf_probe_missing(p))
		return 0;
	do {
		if (epf_beyond(tries++, EPF_INSERT_TRIES))
			return 0;
		e = epf_load_acquire(f->epoch);
		*lanes |= 1ULL << (e & 7);
	} while (epf_set(f, p, e, grew) == EPF_MOVED);
	return e;
}

/* As epf_insert_into(), where a rotation overtook the first try. */
EPF_FN_RARE __u64 epf_insert_anew(const struct epf_lanes *f,
				  const struct epf_probe *p, __u64 *lanes)
{
	bool grew = false;

	return epf_insert_into(f, p, lanes, &grew);
}

/* See epf_set_aside(). */
EPF_FN __u64 epf_insert_aside(const struct epf_lanes *f,
			      const struct epf_probe *p, __u64 *lanes)
{
	struct epf_lanes lanes_copy = *f;
	struct epf_probe probe = *p;

	return EPF_VERIFIED ? epf_insert_anew(f, p, lanes) :
			      epf_insert_anew(&lanes_copy, &probe, lanes);
}

/* As epf_insert_into(), for those who need to know neither. */
EPF_FN __u64 epf_insert(const struct epf_lanes *f, const struct epf_probe *p)
{
	__u64 lanes = 0;
	bool grew = false;

	return epf_insert_into(f, p, &lanes, &grew);
}

/*
 * The steps of epf_test_and_insert_into(), for those who decide in between.
 */

/* Does the current lane hold it? *@e: the current epoch. This is asked first, because most
 * repeats follow soon.
 */
EPF_FN bool epf_sight_current(const struct epf_lanes *f,
			      const struct epf_probe *p, __u64 *e)
{
	__u32 parts = epf_probe_parts(p); /* read before the acquire: it may be a constant */

	*e = epf_load_acquire(f->epoch);
	return epf_probe_holds_all(p, parts, *e);
}

/* The verdict before. *@e: the epoch that it is of. */
EPF_FN int epf_sight(const struct epf_lanes *f, const struct epf_probe *p,
		     __u64 *e)
{
	return epf_sight_current(f, p, e) ? EPF_PRESENT : epf_look(p, *e, 1);
}

/* Try to insert at epoch @e what had @verdict then; EPF_MOVED: insert it anew. */
EPF_FN enum epf_was epf_sight_set(const struct epf_lanes *f,
				  const struct epf_probe *p, int verdict,
				  __u64 e)
{
	if (verdict != EPF_PRESENT) {
		if (!epf_holds(epf_load(&p->line[0]->lane[e & 7]), p->mask[0],
			       e))
			return epf_set_first(f, p, e);
		return epf_set_aside(f, p, e);
	}
	/* all there already, loaded with acquire */
	return epf_load_ordered(f->epoch) == e ? EPF_WAS_COMPLETE : /* O2 */
						 EPF_MOVED;
}

/* The verdict that is told where that try did it. */
EPF_FN int epf_sight_verdict(int verdict, enum epf_was was)
{
	if (!verdict && was == EPF_WAS_COMPLETE)
		return EPF_PRESENT; /* a concurrent sighting came first */
	return verdict;
}

/**
 * epf_test_and_insert_into() - the verdict before, and the insert, as one
 * @f: filter
 * @p: probe of the digest
 * @first_seen: insert absent keys only
 * @e: set to the epoch that holds the key, or to 0 when nothing was inserted
 * @lanes: as epf_insert_into()
 *
 * Of concurrent sightings of one new key at least one is told absent, and
 * exactly one when no rotation falls between them. The first line lacking
 * bits decides: it is written last, so whoever finds it complete finds all
 * lines complete, and of those who complete it only the first finds bits
 * lacking. After a retry the bits seen may be our own: the answer is absent.
 *
 * Accepted: a third key that completes the deciding line between our look and
 * our OR makes the answer present; that is a false positive of this line.
 *
 * Context: as epf_insert().
 * Return: EPF_ABSENT, or EPF_PRESENT + age; or EPF_UNKNOWN, *@e being 0. Unless a
 * rotation overtakes it, an insertion that returns EPF_PRESENT has set no bits with
 * L = 1. With more it may have set some, in lines other than the deciding one, which
 * another insertion completed meanwhile: that one returned EPF_ABSENT and counts for
 * both, if it was of this key.
 */
EPF_FN int epf_test_and_insert_into(const struct epf_lanes *f,
				    const struct epf_probe *p, bool first_seen,
				    __u64 *e, __u64 *lanes)
{
	enum epf_was was;
	__u64 later = 0;
	int verdict;

	if (epf_probe_missing(p))
		goto unknown;
	verdict = epf_sight(f, p, e);
	if (verdict && first_seen) {
		*e = 0;
		return verdict;
	}
	*lanes |= 1ULL << (*e & 7);
	was = epf_sight_set(f, p, verdict, *e);
	if (was == EPF_MOVED) {
		*e = epf_insert_aside(f, p, &later);
		*lanes |= later;
		if (EPF_VERIFIED && !*e)
			goto unknown;
		return verdict;
	}
	return epf_sight_verdict(verdict, was);
unknown:
	*e = 0;
	return EPF_UNKNOWN;
}

/* As epf_test_and_insert_into(), for those who need not know into which. */
EPF_FN int epf_test_and_insert(const struct epf_lanes *f,
			       const struct epf_probe *p, bool first_seen,
			       __u64 *e)
{
	__u64 lanes = 0;

	return epf_test_and_insert_into(f, p, first_seen, e, &lanes);
}

/* The tag that lane @i carries if its epoch is one of @epoch-7 .. @epoch. */
EPF_FN __u64 epf_lane_tag(__u64 epoch, __u32 i)
{
	return epf_tag(i <= (epoch & 7) ? epoch : epoch - 8);
}

/**
 * epf_retag() - a lane word of one epoch as that of another
 * @v: word
 * @from: the epoch it is read at
 * @to: the other
 *
 * Return: its positions with the tag of @to; 0: it is not of @from. One of @from without
 * positions keeps its tag: a key whose fields name none needs no more.
 */
EPF_FN __u64 epf_retag(__u64 v, __u64 from, __u64 to)
{
	if ((v & EPF_TAG_MASK) != epf_tag(from))
		return 0;
	return (v & ~EPF_TAG_MASK) | epf_tag(to);
}

/* Empty the lanes of @line that are stale in epoch @e. */
EPF_FN void epf_scan_line(struct epf_line *line, __u64 e)
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
 * epf_scan() - empty the stale lanes of some lines
 * @f: filter
 * @first: index of a line
 * @nr: lines, @first + @nr <= number of lines
 *
 * Keeps stale tags from coming round again (a tag repeats after 32 epochs).
 * The CAS loses against any inserter that changed the lane. Cases: scan-all,
 * scan-store, scan-unlocked.
 *
 * Context: rotation is excluded by the caller, so that "stale" cannot turn
 * into "current" between the load and the CAS.
 */
EPF_FN void epf_scan(const struct epf_lanes *f, __u64 first, __u64 nr)
{
	__u64 e = epf_load(f->epoch);
	__u64 n;

	for (n = first; n < first + nr; n++)
		epf_scan_line(&f->line[n], e);
}

#endif /* EPF_LANES_H */
