// SPDX-License-Identifier: GPL-2.0
/*
 * Cluster time: bounds are right for every rate within 200 ppm and every way of the echoes, which
 * come late, repeatedly and out of order; the clock begins anew where stamps are not of one clock.
 */
#include "../core/tap.h"

#include "cluster/stamp.h"

#include "epf/hash.h"

#define MS 1000000ULL
#define RUNS 300
#define ECHOES 400

static __u64 seed;

static __u64 draw(__u64 below)
{
	return epf_word(++seed, 1) % below;
}

/**
 * struct world - two clocks
 * @start: stamp clock at own time 0
 * @ppm: how much faster the stamp clock is
 */
struct world {
	__u64 start;
	int ppm;
};

static __u64 stamp_at(const struct world *w, __u64 own)
{
	return w->start + own + (__u64)((__s64)own * w->ppm / 1000000);
}

struct echo {
	__u64 sent, received, stamp;
};

static struct echo draw_echo(const struct world *w, __u64 now)
{
	__u64 there = draw(1 + (50 * MS >> draw(12))), back = draw(1 + (50 * MS >> draw(12)));
	struct echo e = { now, now + there + back, stamp_at(w, now + there) };

	return e;
}

static bool bounds(struct cluster_clock *c, const struct world *w, __u64 now, __u64 *last)
{
	__u64 low, high, until;

	if (!cluster_clock_low(c, now, &low) || !cluster_clock_high(c, now, &high))
		return now < c->received || !c->known || now - c->sent > CLUSTER_CLOCK_OLD_NS;
	if (low > stamp_at(w, now) || high < stamp_at(w, now) || low < *last)
		return false;
	*last = low;
	if (!cluster_clock_until(c, now, high + 250 * MS, &until))
		return false;
	/* neither too late, nor useless */
	return stamp_at(w, until) <= high + 250 * MS &&
	       (until + 5 * MS > now + 250 * MS || until + MS > c->sent + CLUSTER_CLOCK_OLD_NS);
}

/* Echoes of messages sent every 0 to 200 ms, handed over in a drawn order, some of them twice. */
static bool one_clock(void)
{
	struct world w = { (1ULL << 60) + draw(1ULL << 60), (int)draw(401) - 200 };
	struct cluster_clock c = { 0 };
	struct echo kept[4] = { 0 };
	__u64 now = 1 + draw(1ULL << 50), last = 0, asked = 0;
	int i;

	for (i = 0; i < ECHOES; i++) {
		struct echo e = draw_echo(&w, now), *other = &kept[draw(4)];

		cluster_clock_echo(&c, e.sent, e.received, e.stamp);
		asked = asked > e.received ? asked : e.received;
		asked += draw(100 * MS);
		if (!bounds(&c, &w, asked, &last))
			return false;
		if (other->stamp)
			cluster_clock_echo(&c, other->sent, other->received, other->stamp);
		*other = e;
		now += draw(200 * MS);
		if (!draw(50))
			now += draw(20000 * MS);
	}
	return !c.restarts;
}

/* After a step of the stamps by more than the ways of two echoes the clock begins anew, and bounds
 * are those of the new one. An echo of the old one that comes late changes nothing.
 */
static bool clock_set(void)
{
	struct world w = { 1ULL << 60, (int)draw(401) - 200 };
	struct cluster_clock c = { 0 };
	__u64 now = 1000 * MS, last = 0, step = 300 * MS + draw(1ULL << 40);
	struct echo old = draw_echo(&w, now), late = draw_echo(&w, now + 50 * MS), e;

	cluster_clock_echo(&c, old.sent, old.received, old.stamp);
	w.start += draw(2) ? step : 0 - step;
	e = draw_echo(&w, now + 100 * MS);
	cluster_clock_echo(&c, e.sent, e.received, e.stamp);
	if (c.restarts != 1 || !bounds(&c, &w, e.received + draw(MS), &last))
		return false;
	cluster_clock_echo(&c, late.sent, late.received, late.stamp);
	return c.restarts == 1 && bounds(&c, &w, e.received + 2 * MS, &last);
}

static bool all(bool (*law)(void))
{
	int i;

	for (i = 0; i < RUNS; i++)
		if (!law())
			return false;
	return true;
}

static bool unknown(void)
{
	struct cluster_clock c = { 0 };
	__u64 t;

	if (cluster_clock_low(&c, 5, &t) || cluster_clock_high(&c, 5, &t) ||
	    cluster_clock_until(&c, 5, 100, &t))
		return false;
	cluster_clock_echo(&c, 100, 99, 1000);        /* back before it was sent */
	cluster_clock_echo(&c, 100, 101, 0);          /* no stamp */
	cluster_clock_echo(&c, 100, 101, 1ULL << 63); /* no time */
	cluster_clock_echo(&c, 100, 1ULL << 63, 1000);
	return !c.known;
}

static bool old(void)
{
	struct cluster_clock c = { 0 };
	__u64 t;

	cluster_clock_echo(&c, 100, 200, 1000);
	return cluster_clock_low(&c, 200, &t) && !cluster_clock_low(&c, 199, &t) &&
	       cluster_clock_high(&c, 100 + CLUSTER_CLOCK_OLD_NS, &t) &&
	       !cluster_clock_high(&c, 101 + CLUSTER_CLOCK_OLD_NS, &t) &&
	       !cluster_clock_low(&c, 101 + CLUSTER_CLOCK_OLD_NS, &t) &&
	       !cluster_clock_until(&c, 200, 1000, &t);
}

int main(void)
{
	seed = 1000000 * tap_seed();
	tap_plan(4);
	tap_ok(all(one_clock), "bounds hold, and the lower one never decreases");
	tap_ok(all(clock_set), "stamps of another clock begin a new one");
	tap_ok(unknown(), "without an echo, or with one that cannot be, time is not known");
	tap_ok(old(), "an old echo is none");
	return tap_end();
}
