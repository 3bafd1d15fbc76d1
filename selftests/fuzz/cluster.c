// SPDX-License-Identifier: GPL-2.0
/*
 * Messages of a cluster, and what a host knows after them. A message that is accepted is what
 * its encoding is, byte for byte; whatever peers send, and in whatever order, a host that says it
 * is covered has reasons for it that status shows, and not for longer than the lag.
 *
 * Input: operations, each a byte and its arguments, see step().
 */
#include "fuzz.h"

#include <endian.h>

#include <isa-l/crc.h>

#include "cluster/coverage_until.c"

#define MS 1000000ULL
#define WINDOW (2000 * MS)
#define LAG (300 * MS)
#define CRC_AT 144u

static const char *const roster[] = { "own", "a", "b", "c" };
#define HOSTS 4u

/**
 * struct run - state of an input
 * @c: coverage
 * @k: clock
 * @now: own time
 * @offset: cluster time is that much later
 * @seq: the last sequence number of each host
 */
struct run {
	struct coverage *c;
	struct cluster_clock k;
	__u64 now, offset;
	__u64 seq[HOSTS];
};

static __u64 digests[CLUSTER_DIGESTS_MAX];

static void begin(struct run *r)
{
	struct coverage_conf conf = { .roster = roster,
				      .hosts = HOSTS,
				      .self = "own",
				      .check = { 1, 2 },
				      .hash_kind = 1,
				      .window_ns = WINDOW,
				      .lag_ns = LAG,
				      .replay_ns = WINDOW / 3,
				      .peer_rate = 100000,
				      .peer_burst = 100000 };
	struct rec_error e;

	memset(r, 0, sizeof(*r));
	r->c = coverage_new(&conf, &e);
	if (!r->c)
		abort();
	r->now = 10000 * MS;
	r->offset = 1ULL << 60;
	coverage_own(r->c, 0);
}

static void one_line(const struct rec_error *e)
{
	size_t n = strnlen(e->text, sizeof(e->text));

	law(n && n < sizeof(e->text) && !memchr(e->text, '\n', n), "an error is one line");
}

/* Decode @bytes, which end where a sanitizer looks. Return: accepted? */
static bool decode(const __u8 *bytes, size_t n, struct cluster_msg *m)
{
	__u8 *copy = exactly(bytes, n), *again;
	struct rec_error e;
	int err;

	memset(&e, 'x', sizeof(e));
	err = cluster_msg_get(m, copy, n, digests, &e);
	if (err) {
		one_line(&e);
	} else {
		again = exactly(copy, n);
		memset(again, 0, n);
		law(cluster_msg_put(m, again, n) == n, "what is accepted can be encoded");
		law(!memcmp(again, copy, n), "a message has one encoding");
		free(again);
	}
	free(copy);
	return !err;
}

static void offer(struct run *r, const struct cluster_msg *m, const char *subject, __u64 stamp,
		  bool apply)
{
	struct rec_error e;
	enum coverage_take how;

	memset(&e, 'x', sizeof(e));
	how = coverage_offer(r->c, m, subject, stamp, &r->k, r->now, &e);
	if (how == COVERAGE_REFUSE)
		one_line(&e);
	else if (how == COVERAGE_APPLY && apply)
		coverage_applied(r->c, m, stamp);
	law(how != COVERAGE_APPLY || m->to <= stamp, "an end is not after the stamp");
	law(how != COVERAGE_APPLY || !strcmp(m->host, subject), "a host speaks for itself");
}

/* A message that was made: most fields as an honest host has them. */
static void made(struct run *r, struct input *in)
{
	unsigned int host = take(in) % HOSTS, how = take(in);
	__u64 now = r->now + r->offset;
	struct cluster_msg m = { .check = { 1, 2 }, .hash_kind = 1, .window_ns = WINDOW }, got;
	__u8 bytes[CLUSTER_HEAD_BYTES + 8 * 15];
	size_t n;

	strcpy(m.host, how & 1 && how & 2 ? "foreign" : roster[host]);
	m.incarnation = how >> 6;
	m.seq = r->seq[host] += take(in) % 5 - 1;
	m.to = now + (how & 4 && how & 8 ? MS : 0) - take(in) * MS;
	m.from = m.to - take16(in) % 5000 * MS;
	m.lost = !(take(in) % 16);
	m.check[1] += how & 16 && how & 32;
	m.count = take(in) % 16;
	m.digest = digests;
	n = cluster_msg_put(&m, bytes, sizeof(bytes));
	if (n && decode(bytes, n, &got))
		offer(r, &got, roster[host], now - take(in) % 4 * 100 * MS, !(how & 1));
}

/* Any bytes, with a sum that is right if they begin with an odd one. */
static void raw(struct run *r, struct input *in)
{
	__u8 bytes[700] = { 0 };
	size_t n = take16(in) % sizeof(bytes), i;
	struct cluster_msg m;
	__u32 crc;

	for (i = 0; i < n; i++)
		bytes[i] = take(in);
	if (n >= CLUSTER_HEAD_BYTES && bytes[0] & 1) {
		crc = crc32_iscsi(bytes, CRC_AT, ~0u);
		crc = htole32(~crc32_iscsi(bytes + CRC_AT + 4, (int)(n - CRC_AT - 4), crc));
		memcpy(bytes + CRC_AT, &crc, 4);
	}
	if (decode(bytes, n, &m))
		offer(r, &m, m.host, r->now + r->offset, true);
	else
		coverage_damaged(r->c, roster[1]);
}

/* What status says of a host agrees with itself. Return: is it covered? */
static bool host_sound(struct run *r, unsigned int i, __u64 low, __u64 high, __u64 *least)
{
	struct coverage_host h;

	coverage_host(r->c, i, &r->k, r->now, &h);
	law(h.why < COVERAGE_WHYS && h.refusal <= COVERAGE_REFUSALS, "a reason that has a name");
	law(h.pending < COVERAGE_SPANS_MAX, "no more holes than there is room for");
	if (h.self || h.why != COVERAGE_COVERED)
		return h.why == COVERAGE_COVERED;
	law(h.since <= low && low - h.since >= WINDOW, "covered: known for a window");
	law(h.through + LAG >= high && h.through <= high, "covered: known to the lag");
	if (h.through < *least)
		*least = h.through;
	return true;
}

static void tick(struct run *r)
{
	__u64 until, low, high, from, t, least = ~0ULL;
	bool covered = coverage_until(r->c, &r->k, r->now, &until), all = true;
	unsigned int i;

	if (!cluster_clock_low(&r->k, r->now, &low) || !cluster_clock_high(&r->k, r->now, &high)) {
		law(!covered, "no time, no cover");
		return;
	}
	for (i = 0; i < HOSTS; i++)
		if (!host_sound(r, i, low, high, &least))
			all = false;
	law(!covered || all, "covered: every host is");
	if (covered) {
		law(until >= r->now && until <= r->now + LAG, "for no longer than the lag");
		law(!cluster_clock_high(&r->k, until, &t) || t <= least + LAG,
		    "nor after the lag of the peer that is least far");
	}
	coverage_wants_replay(r->c, &r->k, r->now, &from);
}

static void step(struct run *r, struct input *in)
{
	__u64 sent = r->now;

	switch (take(in) % 8) {
	case 0:
		r->now += take16(in) % 4000 * MS;
		break;
	case 1:
		r->now += take(in) * MS / 4;
		cluster_clock_echo(&r->k, sent, r->now, r->offset + sent);
		break;
	case 2:
		tick(r);
		break;
	case 3:
		raw(r, in);
		break;
	case 4:
		if (take(in) > 250)
			r->offset += (__u64)((__s64)take16(in) - 32768) * MS;
		else if (take(in) > 250)
			coverage_reset(r->c);
		break;
	default:
		made(r, in);
	}
}

int LLVMFuzzerTestOneInput(const __u8 *data, size_t size)
{
	struct input in = { data, size };
	struct run r;

	begin(&r);
	while (in.left)
		step(&r, &in);
	tick(&r);
	coverage_free(r.c);
	return 0;
}
