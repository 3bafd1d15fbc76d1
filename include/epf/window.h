/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Windows: when an epoch ends, what it counted, and the pace of the scan.
 *
 * An epoch lasts for ceil(W/r) insertions or ceil(T/r) ns, r = 7. A key is retained for at
 * least W insertions (T ns) and, by rotation alone, for at most (r+1) * ceil(W/r) (likewise
 * in time); guarded epochs, Proposition 1, whose W + l holds only where r divides W. A late
 * rotation lengthens both.
 *
 * Aligned windows, in mode time: epochs end at the multiples of a pitch on the wall clock.
 * A key is retained by the r epochs that follow its own, so the first epoch of all may be
 * short; no other epoch is shorter than ceil(T/r) on the owner's clock. The pitch is a
 * little longer than that: an epoch that begins late by less than the difference, as all
 * do, still ends on time. (With equal lengths, every boundary would be later than the one
 * before.) An epoch that begins later than that, or after the wall clock was set, ends as
 * soon as it may if that is near a multiple, otherwise at the multiple after the next: it
 * is longer by less than one pitch.
 *
 * Shared words:
 *
 *   epoch   see lanes.h. Written under the rotation lock.
 *   count   An epoch above EPF_COUNT_BITS bits of a number of insertions. Inserters add to
 *           it with CAS, the rotator resets it with a plain store: a CAS that started
 *           before the store fails after it, and an addition that names another epoch is
 *           dropped. So it never exceeds the insertions of its epoch: under-counting
 *           lengthens retention, over-counting would break the guarantee (explore:
 *           count-on, late-flush, late-pending). The CAS keeps the pace, not the guarantee
 *           (count-store).
 *   ring    Written under the rotation lock; a reader without the lock re-reads the epoch
 *           to know that it saw a consistent state.
 *   scanned Written under the rotation lock.
 */
#ifndef EPF_WINDOW_H
#define EPF_WINDOW_H

#include "lanes.h"

#include <linux/epochfilter.h>

/**
 * struct epf_window - the guaranteed window
 * @epoch_inserts: ceil(W/r); 0 in mode time
 * @epoch_ns: ceil(T/r); 0 in mode count
 * @mode: enum epf_mode
 * @first_seen: insert and count only absent keys; otherwise every occurrence of a key
 * @align_ns: the pitch of an aligned window; 0: the window is not aligned
 */
struct epf_window {
	__u64 epoch_inserts;
	__u64 epoch_ns;
	__u64 align_ns;
	__u32 mode;
	__u32 first_seen;
};

/* The low bits count insertions; the bits above hold the epoch. */
#define EPF_COUNT_BITS 40
#define EPF_COUNT_MASK ((1ULL << EPF_COUNT_BITS) - 1)
#define EPF_INSERTS_MAX EPF_COUNT_MASK
#define EPF_NS_MAX (1ULL << 62)    /* T: 146 years */
#define EPF_EPOCH_MAX (1ULL << 60) /* more is impossible: so many rotations */

/**
 * struct epf_past - one retained epoch
 * @inserts: insertions counted in it, final once it is over
 * @start_ns: when it became current, on the owner's clock
 */
struct epf_past {
	__u64 inserts;
	__u64 start_ns;
};

/**
 * struct epf_state - the changing part of a filter
 * @count: packed (epoch, insertions); all CPUs change it
 * @apart: keeps @count off the cache line of @epoch, which every operation reads; after
 *	epf_state_init() the owner may keep words of its own there
 * @epoch: current epoch, from EPF_EPOCH_FIRST
 * @scanned: chunks scanned, on the scale of @epoch
 * @ring: epoch e is at e mod 8
 */
struct epf_state {
	__u64 count;
	__u64 apart[7];
	__u64 epoch;
	__u64 scanned;
	struct epf_past ring[EPF_LANES];
};

/**
 * epf_window_init_epochs() - check and set a window of any number of epochs
 * @w: result
 * @mode: enum epf_mode
 * @first_seen: 0 or 1
 * @inserts: W, 1 .. EPF_INSERTS_MAX; 0 in mode time
 * @ns: T, 1 .. EPF_NS_MAX; 0 in mode count
 * @epochs: r, the number of complete epochs in the window, 1 and up
 *
 * Return: 0, or -EINVAL when a number is out of its range.
 */
EPF_FN int epf_window_init_epochs(struct epf_window *w, __u32 mode, __u32 first_seen, __u64 inserts,
				  __u64 ns, __u32 epochs)
{
	if (mode > EPF_MODE_MAX || first_seen > 1 || !epochs)
		return -EINVAL;
	if (inserts > EPF_INSERTS_MAX || ns > EPF_NS_MAX)
		return -EINVAL;
	if (!inserts != (mode == EPF_MODE_TIME) || !ns != (mode == EPF_MODE_COUNT))
		return -EINVAL;
	w->epoch_inserts = (inserts + epochs - 1) / epochs;
	w->epoch_ns = (ns + epochs - 1) / epochs;
	w->align_ns = 0;
	w->mode = mode;
	w->first_seen = first_seen;
	return 0;
}

/* The window of lanes: epf_window_init_epochs() with seven epochs. */
EPF_FN int epf_window_init(struct epf_window *w, __u32 mode, __u32 first_seen, __u64 inserts,
			   __u64 ns)
{
	return epf_window_init_epochs(w, mode, first_seen, inserts, ns, EPF_LIVE_EPOCHS);
}

/* The pitch of an aligned window: 1/64 more than the shortest epoch. */
EPF_FN __u64 epf_align_pitch(__u64 epoch_ns)
{
	return epoch_ns + (epoch_ns >> 6) + 1;
}

/* A time that is no farther than this from a multiple of the pitch counts as the multiple. */
EPF_FN __u64 epf_align_near(__u64 pitch)
{
	return pitch >> 3;
}

/* Make epochs end by the wall clock. Return: 0; -EINVAL: not in mode time. */
EPF_FN int epf_window_align(struct epf_window *w)
{
	if (w->mode != EPF_MODE_TIME)
		return -EINVAL;
	w->align_ns = epf_align_pitch(w->epoch_ns);
	return 0;
}

/**
 * epf_window_lasts() - how long an epoch lasts by time
 * @w: window
 * @wall_ns: when it began, on the wall clock as now set; only for an aligned window
 * @first: it is the first of all
 *
 * Return: ns, at least @w->epoch_ns unless it is the first.
 */
EPF_FN __u64 epf_window_lasts(const struct epf_window *w, __u64 wall_ns, bool first)
{
	__u64 pitch = w->align_ns;
	__u64 past = pitch ? wall_ns % pitch : 0;

	if (!pitch)
		return w->epoch_ns;
	if (first)
		return pitch - past;
	if (past > epf_align_near(pitch))
		return 2 * pitch - past;
	return pitch - past > w->epoch_ns ? pitch - past : w->epoch_ns;
}

/* Must an epoch that counted @inserts and lasted @ns end? A clock that two CPUs read almost at once
 * may say that the epoch has not begun yet, @ns is then negative: it has lasted for no time.
 */
EPF_FN bool epf_window_due(const struct epf_window *w, __u64 inserts, __u64 ns)
{
	bool full = inserts >= w->epoch_inserts;
	/* epoch_ns <= ns < 2^63, in one comparison for the verifier */
	bool old = ns - w->epoch_ns < (1ULL << 63) - w->epoch_ns;

	switch (w->mode) {
	case EPF_MODE_COUNT:
		return full;
	case EPF_MODE_TIME:
		return old;
	case EPF_MODE_EITHER:
		return full || old;
	default:
		return full && old;
	}
}

EPF_FN __u64 epf_count_pack(__u64 epoch, __u64 inserts)
{
	return epoch << EPF_COUNT_BITS | inserts;
}

/* The insertions of @epoch in @count; 0 if @count is for another epoch. */
EPF_FN __u64 epf_count_of(__u64 count, __u64 epoch)
{
	if ((count ^ epf_count_pack(epoch, 0)) & ~EPF_COUNT_MASK)
		return 0;
	return count & EPF_COUNT_MASK;
}

/**
 * epf_count_add() - count insertions of one epoch
 * @s: state
 * @e: the epoch that holds them
 * @n: how many
 *
 * Context: any; lock-free.
 * Return: insertions counted in epoch @e so far, 0 when @e is over.
 */
EPF_FN __u64 epf_count_add(struct epf_state *s, __u64 e, __u64 n)
{
	__u64 old = epf_load(&s->count);
	__u64 sum;

	do {
		if ((old ^ epf_count_pack(e, 0)) & ~EPF_COUNT_MASK)
			return 0; /* late flush of an epoch that is over */
		sum = (old & EPF_COUNT_MASK) + n;
		if (sum > EPF_INSERTS_MAX)
			sum = EPF_INSERTS_MAX;
	} while (!epf_cas(&s->count, &old, epf_count_pack(e, sum)));
	return sum;
}

/*
 * The functions of the pace compute and have no shared words: callable in any context,
 * in any order.
 */

/* What is kept back by CPUs, and by groups of CPUs where there are more than one
 * group. All of a level together keep at most 1/EPF_KEEP_SHARE of an epoch, so that
 * an epoch ends late by no more than that for each level, even if every CPU stops
 * inserting at the worst moment. Less than EPF_KEEP_LEAST is not worth keeping.
 */
#define EPF_KEEP_SHARE 16u
#define EPF_KEEP_LEAST 8u
#define EPF_KEEP_MAX 256u
#define EPF_GROUP_CPUS 8u

enum epf_level { EPF_LEVEL_CPU, EPF_LEVEL_GROUP, EPF_LEVELS };

/**
 * struct epf_pace - how far the count may fall behind, and when to look at it
 * @step: insertions after which an inserter looks in any case, 1 and up
 * @full_at: count that ends the epoch; beyond all counts where none does
 * @keepers: CPUs, and groups of them; no groups: CPUs add to the count themselves
 * @keep_max: insertions that one of them keeps at most, with the one that it
 *	passes on: 1 .. EPF_KEEP_MAX
 */
struct epf_pace {
	__u64 step;
	__u64 full_at;
	__u32 keepers[EPF_LEVELS];
	__u32 keep_max[EPF_LEVELS];
};

/**
 * epf_pace_init() - the pace of a filter
 * @p: result
 * @step: see struct epf_pace
 * @full_at: likewise
 * @epoch: insertions that an epoch has at most before it is full or the error is
 *	at its limit
 * @cpus: that may insert, 1 and up
 */
EPF_FN void epf_pace_init(struct epf_pace *p, __u64 step, __u64 full_at, __u64 epoch, __u32 cpus)
{
	__u32 groups = (cpus + EPF_GROUP_CPUS - 1) / EPF_GROUP_CPUS;
	__u32 i;

	p->step = step;
	p->full_at = full_at;
	p->keepers[EPF_LEVEL_CPU] = cpus;
	p->keepers[EPF_LEVEL_GROUP] = groups > 1 ? groups : 0;
	for (i = 0; i < EPF_LEVELS; i++) {
		__u32 n = p->keepers[i];
		__u64 most = n ? epoch / EPF_KEEP_SHARE / n : 0;

		if (most < EPF_KEEP_LEAST)
			most = 1;
		p->keep_max[i] = most < EPF_KEEP_MAX ? (__u32)most : EPF_KEEP_MAX;
	}
}

/* Insertions until the epoch is full, or the filter opens; ~0: neither by count.
 * An epoch that is full already ends as soon as it can, and no count matters.
 */
EPF_FN __u64 epf_pace_rest(const struct epf_pace *p, __u64 sum, __u64 left)
{
	__u64 rest = left ? left : ~0ULL; /* 0: it is open */

	if (sum < p->full_at && p->full_at - sum < rest)
		rest = p->full_at - sum;
	return rest;
}

/**
 * epf_pace_batch() - how many insertions to pass on at once
 * @p: pace
 * @level: who keeps them
 * @rest: see epf_pace_rest()
 *
 * CPUs together keep at most a quarter of what is left, groups at most half: so
 * those who go on inserting meet the end exactly. Halving what is left costs
 * 1.4 additions to the count for each group.
 *
 * Return: 1: pass on each.
 */
EPF_FN __u32 epf_pace_batch(const struct epf_pace *p, __u32 level, __u64 rest)
{
	__u64 n = (__u64)p->keepers[level] * (level == EPF_LEVEL_CPU ? 4 : 2);

	if (p->keep_max[level] == 1 || rest < 2 * n)
		return 1;
	if (rest / n < p->keep_max[level])
		return (__u32)(rest / n);
	return p->keep_max[level];
}

/* Insertions that may be kept back at all levels, with those passed on. */
EPF_FN __u64 epf_pace_kept(const struct epf_pace *p, __u64 rest)
{
	__u64 sum = 0;
	__u32 i, batch;

	for (i = 0; i < EPF_LEVELS; i++) {
		batch = epf_pace_batch(p, i, rest);
		if (batch > 1)
			sum += (__u64)p->keepers[i] * batch;
	}
	return sum;
}

/**
 * epf_next_look() - at which count an inserter has to look
 * @p: pace
 * @sum: the count, at most EPF_INSERTS_MAX
 * @left: keys that may come before the filter opens, 0: it is open, or ~0: it does
 *	not by count
 *
 * By then no more has been inserted than what was left, with what is kept.
 *
 * Return: a count above @sum (if that is below EPF_COUNT_MASK), at most EPF_COUNT_MASK.
 */
EPF_FN __u64 epf_next_look(const struct epf_pace *p, __u64 sum, __u64 left)
{
	__u64 rest = epf_pace_rest(p, sum, left);
	__u64 more = rest - epf_pace_kept(p, rest);

	if (p->step < more)
		more = p->step;
	return more < EPF_COUNT_MASK - sum ? sum + more : EPF_COUNT_MASK;
}

/**
 * epf_pace_mark() - up to which count nobody has to know how many keys came
 * @p: pace
 * @sum: a count, at most EPF_INSERTS_MAX
 * @left: keys that might come after it, as for epf_next_look(), but 0 too if it is open
 *
 * While the count is below the mark fewer than @left keys have come since, even if all were
 * new and everybody keeps as much as ever: batches may rise and fall meanwhile.
 *
 * Return: a count, at most EPF_COUNT_MASK; 0: there is none.
 */
EPF_FN __u64 epf_pace_mark(const struct epf_pace *p, __u64 sum, __u64 left)
{
	__u64 kept = epf_pace_kept(p, ~0ULL);

	if (left <= kept)
		return 0;
	return left - kept < EPF_COUNT_MASK - sum ? sum + left - kept : EPF_COUNT_MASK;
}

/*
 * Are there insertions in @pending, of a later epoch than @e? Callers are late by less than eight
 * (O3 of lanes.h). Without any its epoch says nothing: a CPU begins with 0.
 */
EPF_FN bool epf_pending_later(__u64 pending, __u64 e)
{
	return (__u32)pending && (__u32)((pending >> 32) - e - 1) < EPF_LIVE_EPOCHS;
}

/**
 * epf_pending_add() - add an insertion to those that one CPU keeps
 * @pending: what the CPU keeps: a number of insertions, above it the low 32 bits of an
 *	epoch
 * @e: the epoch that holds the insertion
 * @batch: keep fewer than so many, 1 .. 2^31
 * @flush: set to the number to pass to epf_count_add() for @e now, or to 0
 *
 * Insertions kept for an earlier epoch are dropped: under-counting is safe. A late caller does
 * not drop what is kept for a later epoch than @e, but its own insertion.
 *
 * Return: what the CPU keeps from now on.
 */
EPF_FN __u64 epf_pending_add(__u64 pending, __u64 e, __u64 batch, __u64 *flush)
{
	__u64 none = e << 32;
	__u64 n = pending - none; /* 2^32 and up for another epoch */

	*flush = 0;
	if (n < batch - 1)
		return pending + 1;
	if (epf_pending_later(pending, e))
		return pending;
	n = n >> 32 ? 1 : n + 1;
	if (n < batch)
		return none + n;
	*flush = n;
	return none;
}

/* As epf_pending_add(), for @n insertions, 1 .. 2^31: what a group of CPUs keeps. */
EPF_FN __u64 epf_pending_join(__u64 pending, __u64 e, __u64 n, __u64 batch, __u64 *flush)
{
	__u64 none = e << 32;
	__u64 sum = pending - none; /* of another epoch: 2^32 and up */

	*flush = 0;
	if (epf_pending_later(pending, e))
		return pending;
	sum = sum >> 32 ? n : sum + n;
	*flush = sum < batch ? 0 : sum;
	return sum < batch ? none + sum : none;
}

/* Insertions of epoch @e among those that one CPU keeps. */
EPF_FN __u64 epf_pending_of(__u64 pending, __u64 e)
{
	return (pending ^ e << 32) >> 32 ? 0 : pending & 0xffffffff;
}

EPF_FN void epf_state_init(struct epf_state *s, __u64 now_ns)
{
	memset(s, 0, sizeof(*s));
	s->epoch = EPF_EPOCH_FIRST;
	s->scanned = EPF_EPOCH_FIRST;
	s->count = epf_count_pack(s->epoch, 0);
	s->ring[s->epoch & 7].start_ns = now_ns;
}

/* The scan visits one of 16 chunks of lines per rotation and may lag by 8. So it visits any
 * lane at least once in every 24 successive epochs, which is how long a stale tag neither
 * is live nor becomes valid again (epochs x+8 .. x+31 for a lane of epoch x).
 */
#define EPF_SCAN_CHUNKS 16u
#define EPF_SCAN_LAG 8u

/* Has the scan come far enough for the epoch to end? */
EPF_FN bool epf_scan_keeps_up(const struct epf_state *s)
{
	return epf_load(&s->epoch) - epf_load(&s->scanned) < EPF_SCAN_LAG;
}

/* Lines of the chunk that is due next: its first line, and the line after its last. */
EPF_FN void epf_scan_chunk(const struct epf_state *s, __u64 nr_lines, __u64 *first, __u64 *end)
{
	__u64 c = s->scanned % EPF_SCAN_CHUNKS;

	*first = c * nr_lines / EPF_SCAN_CHUNKS;
	*end = (c + 1) * nr_lines / EPF_SCAN_CHUNKS;
}

/**
 * epf_state_rotate() - end the current epoch and begin the next
 * @s: state
 * @now_ns: on the owner's clock
 *
 * Nothing is cleared. O2 of lanes.h pairs with the release store.
 *
 * Context: one rotator at a time; the scan keeps up; the grace period of O3
 * in lanes.h is over. Delaying a rotation is always safe.
 */
EPF_FN void epf_state_rotate(struct epf_state *s, __u64 now_ns)
{
	__u64 e = s->epoch;

	s->ring[e & 7].inserts = epf_count_of(epf_load(&s->count), e);
	s->ring[(e + 1) & 7].inserts = 0;
	epf_store_release(&s->ring[(e + 1) & 7].start_ns, now_ns);
	epf_store_release(&s->count, epf_count_pack(e + 1, 0));
	epf_store_release(&s->epoch, e + 1);
}

/**
 * epf_state_date() - say when the epoch that epf_state_rotate() has begun did begin
 * @s: state
 * @now_ns: the owner's clock, read after a full barrier that follows epf_state_rotate()
 *
 * An owner with concurrent inserters may lose its CPU between reading the clock and storing
 * the epoch. Keys still go into the epoch before, which would be over too early by that time.
 *
 *   rotator   store epoch e + 1; full barrier; read the clock; store the start
 *   inserter  begin; load epoch e
 *
 * So whoever still finds e began before the start that is stored here. A later start only
 * delays the next rotation, which is always safe. Cases: date-early, date-order (explore).
 */
EPF_FN void epf_state_date(struct epf_state *s, __u64 now_ns)
{
	struct epf_past *past = &s->ring[s->epoch & 7];

	if ((__s64)(now_ns - past->start_ns) > 0)
		epf_store_release(&past->start_ns, now_ns);
}

/**
 * epf_state_covered() - how far back the filter is certain to remember
 * @s: state; the caller keeps it from changing, or re-reads the epoch
 * @now_ns: on the owner's clock
 * @inserts: set to the number of most recent insertions that are all retained
 * @ns: set to the time since the oldest retained epoch began
 */
EPF_FN void epf_state_covered(const struct epf_state *s, __u64 now_ns, __u64 *inserts, __u64 *ns)
{
	__u64 e = s->epoch;
	__u64 x = e - EPF_LIVE_EPOCHS;
	__u32 i;

	if (x < EPF_EPOCH_FIRST)
		x = EPF_EPOCH_FIRST;
	*ns = now_ns - s->ring[x & 7].start_ns;
	*inserts = epf_count_of(epf_load(&s->count), e);
	for (i = 0; i < EPF_LIVE_EPOCHS && x < e; i++, x++)
		*inserts += s->ring[x & 7].inserts;
}

/* @began of a filter that changes its contents just now: nothing is certain. */
#define EPF_BEGAN_NEVER (~0ULL >> 1)

/**
 * epf_state_since() - since when does the filter retain every key?
 * @s: state
 * @began: when the filter got these contents, on the owner's clock: when it was created, or
 *	when the last operation on other contents was over after a swap or a restore;
 *	EPF_BEGAN_NEVER until then
 *
 * To be called after an answer "absent", which then holds for all keys whose insertion into
 * this filter began later than that. Epochs that were ended early, clearing and an epoch of
 * insertions that was short show in the start of the oldest retained epoch; swap and restore
 * show in @began.
 *
 *   rotator   store start of epoch e + 1 over that of e - 7; store epoch e + 1 (release)
 *   inserter  load epoch e + 1; reuse a lane of epoch e - 7 (CAS, full barrier)
 *   this      load lanes; then load epoch (epf_load_later); load the start (address dependency)
 *
 * If the answer missed a key because a lane was reused or its epoch was over, then this load
 * of the epoch finds e + 1 or later, and so a start that is later than the key. The start of
 * another epoch may be found in its place only if that is a later one. Starts only increase,
 * so whatever is found is no earlier than what the answer used. Cases: since-early,
 * since-order, bpf-since-order, since-epoch-order, since-date; for @began since-late, since-now,
 * since-change-order (explore). That the start of an epoch is stored before the epoch does not
 * matter here (since-start): the one that is read was stored seven rotations ago. It matters
 * to an owner that may die in between.
 *
 * Return: time, on the owner's clock. Compare it as signed: a restored epoch may have begun
 * before the clock's zero.
 */
EPF_FN __u64 epf_state_since(const struct epf_state *s, __u64 began)
{
	__u64 e = epf_load_later(&s->epoch);
	__u64 start = epf_load(&s->ring[(e + 1) & 7].start_ns); /* of e - 7; 0: no such epoch */

	return (__s64)start > (__s64)began ? start : began;
}

/* The same as a duration until @now_ns; 0: nothing is certain. */
EPF_FN __u64 epf_state_kept(const struct epf_state *s, __u64 began, __u64 now_ns)
{
	__u64 since = epf_state_since(s, began);

	return (__s64)since < (__s64)now_ns ? now_ns - since : 0;
}

#endif /* EPF_WINDOW_H */
