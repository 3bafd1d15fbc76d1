// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cluster/stamp.h"

#define PART (1000000u / CLUSTER_CLOCK_PPM) /* the error of a duration is one PARTth of it */

/* Numbers that a server or a clock never reaches; sums of two stay below 2^64. */
#define TIME_END (1ULL << 63)

static __u64 echo_low(const struct cluster_clock *c, __u64 now_ns)
{
	__u64 past = now_ns - c->received;

	return c->stamp + past -
	       (past < cluster_rate_error(past) ? past : cluster_rate_error(past));
}

static __u64 echo_high(const struct cluster_clock *c, __u64 now_ns)
{
	__u64 past = now_ns - c->sent;

	return c->stamp + past + cluster_rate_error(past);
}

static bool usable(const struct cluster_clock *c, __u64 now_ns)
{
	return c->known && now_ns >= c->received && now_ns - c->sent <= CLUSTER_CLOCK_OLD_NS;
}

/* The least that one clock shows when a message sent at @sent_ns is stamped. The message in use may
 * have been stamped after that one, if the two were under way together.
 */
static __u64 least_stamp(const struct cluster_clock *c, __u64 sent_ns)
{
	__u64 back;

	if (sent_ns >= c->received)
		return echo_low(c, sent_ns);
	back = c->received - sent_ns;
	back += cluster_rate_error(back);
	return c->stamp > back ? c->stamp - back : 0;
}

/* Would the bound that was told be above all that the new echo allows? That of a message which was
 * under way for long allows much, so the one before does not tell.
 */
static bool below_floor(const struct cluster_clock *c, __u64 sent_ns, __u64 received_ns,
			__u64 stamp)
{
	__u64 later = c->floor_ns > received_ns ? c->floor_ns : received_ns;

	return stamp + (later - sent_ns) + cluster_rate_error(later - sent_ns) < c->floor;
}

static bool one_clock(const struct cluster_clock *c, __u64 sent_ns, __u64 received_ns, __u64 stamp)
{
	return stamp >= least_stamp(c, sent_ns) && stamp <= echo_high(c, received_ns) &&
	       !below_floor(c, sent_ns, received_ns, stamp);
}

static void take_echo(struct cluster_clock *c, __u64 sent_ns, __u64 received_ns, __u64 stamp)
{
	c->known = true;
	c->stamp = stamp;
	c->sent = sent_ns;
	c->received = received_ns;
	c->echoes++;
}

void cluster_clock_echo(struct cluster_clock *c, __u64 sent_ns, __u64 received_ns, __u64 stamp)
{
	if (received_ns < sent_ns || received_ns >= TIME_END || stamp >= TIME_END || !stamp)
		return;
	if (sent_ns < c->after || (c->known && sent_ns <= c->sent))
		return;
	if (c->known && !one_clock(c, sent_ns, received_ns, stamp)) {
		c->restarts++;
		c->floor = 0;
		c->after = sent_ns;
	}
	take_echo(c, sent_ns, received_ns, stamp);
}

bool cluster_clock_low(struct cluster_clock *c, __u64 now_ns, __u64 *t)
{
	__u64 low;

	if (!usable(c, now_ns))
		return false;
	low = echo_low(c, now_ns);
	if (low > c->floor) {
		c->floor = low;
		c->floor_ns = now_ns;
	}
	*t = c->floor;
	return true;
}

bool cluster_clock_high(const struct cluster_clock *c, __u64 now_ns, __u64 *t)
{
	if (!usable(c, now_ns))
		return false;
	*t = echo_high(c, now_ns);
	return true;
}

bool cluster_clock_until(const struct cluster_clock *c, __u64 now_ns, __u64 t, __u64 *until_ns)
{
	const __u64 most = CLUSTER_CLOCK_OLD_NS + cluster_rate_error(CLUSTER_CLOCK_OLD_NS);
	__u64 high, left;

	if (!cluster_clock_high(c, now_ns, &high) || high > t)
		return false;
	left = t - c->stamp < most ? t - c->stamp : most;
	/* the greatest d, or one less, for which d + cluster_rate_error(d) <= left */
	*until_ns = c->sent + (left - 1) * PART / (PART + 1);
	return *until_ns >= now_ns;
}
