// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "dedup_clock.h"

static void go(struct clock *c, __u64 ns)
{
	c->now_ns += ns - c->latest_ns;
	c->latest_ns = ns;
}

/* Is @ns nearer to the jump than to the time before it? */
static bool follows(const struct clock *c, __u64 ns)
{
	return ns >= c->jump_ns || (ns >= c->latest_ns && c->jump_ns - ns <= ns - c->latest_ns);
}

/* The first packet alone is not trusted either. If the second packet is further back than
 * the filter remembers, time begins at the second.
 */
static void check_first(struct clock *c, __u64 ns)
{
	if (ns >= c->latest_ns || c->latest_ns - ns <= c->reach_ns)
		return;
	c->latest_ns = ns;
	c->ahead++;
}

bool clock_settles(struct clock *c, __u64 ns)
{
	bool waits = c->jumped;

	if (c->packets == 1)
		check_first(c, ns);
	c->jumped = false;
	if (waits && follows(c, ns))
		go(c, c->jump_ns);
	else
		c->ahead += waits;
	return waits;
}

bool clock_jumps(struct clock *c, __u64 ns)
{
	if (!c->packets++)
		c->latest_ns = ns;
	if (ns >= c->latest_ns && ns - c->latest_ns <= c->reach_ns) {
		go(c, ns);
		return false;
	}
	if (ns > c->latest_ns) {
		c->jumped = true;
		c->jump_ns = ns;
		return true;
	}
	c->back++;
	if (c->latest_ns - ns > c->back_ns)
		c->back_ns = c->latest_ns - ns;
	return false;
}
