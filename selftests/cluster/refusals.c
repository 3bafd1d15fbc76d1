// SPDX-License-Identifier: GPL-2.0
/*
 * Coverage, step by step: which messages are taken, which are refused and why, what holes do, and
 * what status says. laws.c has the promise as a whole.
 */
#include "../core/tap.h"

#include <string.h>

#include <epf/bucket.h>

#include "cluster/coverage.h"

#define MS 1000000ULL
#define WINDOW (10000 * MS)
#define LAG (1000 * MS)
#define EPOCH (1ULL << 50) /* cluster time at own time 0 */

static const char *const roster[] = { "c", "a", "b" };
static struct rec_error error;
static struct cluster_clock clock_of;
static struct coverage *cov;
static __u64 now;

static struct coverage_conf conf_good(void)
{
	return (struct coverage_conf){ .roster = roster,
				       .hosts = 3,
				       .self = "a",
				       .check = { 7, 8 },
				       .hash_kind = 1,
				       .window_ns = WINDOW,
				       .lag_ns = LAG,
				       .replay_ns = 3000 * MS,
				       .peer_rate = 1000,
				       .peer_burst = 5000 };
}

/* Own time @ms. The clock is exact: an echo that took no time. */
static void at(__u64 ms)
{
	now = ms * MS;
	cluster_clock_echo(&clock_of, now, now, EPOCH + now);
}

static void begin_with(const struct coverage_conf *conf)
{
	coverage_free(cov);
	memset(&clock_of, 0, sizeof(clock_of));
	cov = coverage_new(conf, &error);
	if (!cov)
		abort();
	coverage_own(cov, 0);
	at(20000);
}

static void begin(void)
{
	struct coverage_conf conf = conf_good();

	begin_with(&conf);
}

/* A message of @host over @from to @to, in own ms. */
static struct cluster_msg msg(const char *host, __u64 seq, __u64 from, __u64 to)
{
	struct cluster_msg m = { .check = { 7, 8 },
				 .hash_kind = 1,
				 .window_ns = WINDOW,
				 .incarnation = 1,
				 .seq = seq,
				 .from = EPOCH + from * MS,
				 .to = EPOCH + to * MS };

	strcpy(m.host, host);
	return m;
}

static enum coverage_take offer(const struct cluster_msg *m, const char *subject)
{
	return coverage_offer(cov, m, subject, EPOCH + now, &clock_of, now, &error);
}

/* Offered, and applied if it is to be. */
static enum coverage_take take(const struct cluster_msg *m)
{
	enum coverage_take how = offer(m, m->host);

	if (how == COVERAGE_APPLY)
		coverage_applied(cov, m, EPOCH + now);
	return how;
}

static enum coverage_take sends(const char *host, __u64 seq, __u64 from, __u64 to)
{
	struct cluster_msg m = msg(host, seq, from, to);

	return take(&m);
}

static struct coverage_host status(unsigned int i)
{
	struct coverage_host h;

	coverage_host(cov, i, &clock_of, now, &h);
	return h;
}

static bool covered(void)
{
	__u64 until;

	return coverage_until(cov, &clock_of, now, &until);
}

/* Hosts b and c are known from the beginning on, to the present. */
static void fill(void)
{
	begin();
	sends("b", 1, 1, now / MS);
	sends("c", 1, 1, now / MS);
}

static bool conf_refused(struct coverage_conf conf, const char *words)
{
	struct coverage *c = coverage_new(&conf, &error);

	coverage_free(c);
	return !c && strstr(error.text, words);
}

/* Is a roster of so many hosts taken? */
static bool hosts_taken(__u32 nr)
{
	static char names[COVERAGE_HOSTS_MAX + 1][8];
	static const char *all[COVERAGE_HOSTS_MAX + 1];
	struct coverage_conf conf = conf_good();
	struct coverage *c;
	__u32 i;

	for (i = 0; i < nr; i++) {
		snprintf(names[i], sizeof(names[i]), "h%u", i);
		all[i] = names[i];
	}
	conf.roster = all;
	conf.hosts = nr;
	conf.self = "h7";
	c = coverage_new(&conf, &error);
	coverage_free(c);
	return c;
}

static void configurations(void)
{
	static const char *const twice[] = { "a", "b", "b" }, *const dotted[] = { "a", "b.c", "d" };
	struct coverage_conf c[9];
	unsigned int i;

	for (i = 0; i < 9; i++)
		c[i] = conf_good();
	c[0].hosts = 0;
	c[2].roster = twice;
	c[3].roster = dotted;
	c[4].self = "d";
	c[5].lag_ns = 0;
	c[6].lag_ns = WINDOW;
	c[7].peer_rate = 0;
	c[1].peer_rate = EPF_BUCKET_RATE_MAX;
	c[8].peer_rate = EPF_BUCKET_RATE_MAX + 1;
	tap_ok(conf_refused(c[0], "0 hosts") && hosts_taken(COVERAGE_HOSTS_MAX) &&
		       !hosts_taken(COVERAGE_HOSTS_MAX + 1) && strstr(error.text, "1025 hosts"),
	       "a roster's size");
	tap_ok(conf_refused(c[2], "'b' is twice"), "a host that is twice in the roster");
	tap_ok(conf_refused(c[3], "'b.c'"), "a name that is no token");
	tap_ok(conf_refused(c[4], "'d', is not in"), "an own host that is not in the roster");
	tap_ok(conf_refused(c[5], "lag") && conf_refused(c[6], "lag"), "lags");
	tap_ok(conf_refused(c[7], "rate") && !conf_refused(c[1], "") && conf_refused(c[8], "rate"),
	       "rates");
}

/* A message that differs in one field is refused for it, and changes nothing. */
static bool refused(struct cluster_msg m, const char *subject, enum coverage_refusal why)
{
	struct coverage_host h;

	fill();
	if (offer(&m, subject) != COVERAGE_REFUSE ||
	    !strstr(error.text, coverage_refusal_name(why)))
		return false;
	h = status(1);
	return h.refused[why] == 1 && h.refusal == why && h.through == EPOCH + 20000 * MS &&
	       covered();
}

static void refusals(void)
{
	struct cluster_msg m[7];
	unsigned int i;

	for (i = 0; i < 7; i++)
		m[i] = msg("b", 2, 20000, 20000);
	strcpy(m[0].host, "c");
	m[1].hash_kind = 2;
	m[2].window_ns--;
	m[3].check[0]++;
	m[4].check[1]++;
	m[5].to += MS;
	tap_ok(refused(m[0], "b", COVERAGE_REFUSED_SUBJECT), "the subject of another host");
	tap_ok(refused(m[1], "b", COVERAGE_REFUSED_KIND), "another hash");
	tap_ok(refused(m[2], "b", COVERAGE_REFUSED_WINDOW), "another window");
	tap_ok(refused(m[3], "b", COVERAGE_REFUSED_CHECK) &&
		       refused(m[4], "b", COVERAGE_REFUSED_CHECK),
	       "another key, in either word");
	tap_ok(refused(m[5], "b", COVERAGE_REFUSED_FUTURE), "an end after the stamp");
	fill();
	tap_ok(coverage_offer(cov, &m[6], "b", EPOCH + now + 2 * MS, &clock_of, now, &error) ==
			       COVERAGE_REFUSE &&
		       status(1).refused[COVERAGE_REFUSED_STAMP] == 1,
	       "a stamp after now");
	coverage_damaged(cov, "b");
	tap_ok(status(1).refused[COVERAGE_REFUSED_DAMAGED] == 1, "a message that is damaged");
}

static bool stranger(void)
{
	struct cluster_msg m = msg("x", 1, 1, 2);

	fill();
	coverage_damaged(cov, "y");
	return take(&m) == COVERAGE_REFUSE &&
	       strstr(error.text, "'x', which is not in the roster") &&
	       coverage_strangers(cov) == 2 && covered();
}

/* 5000 digests at once, then 1000 a second by the stamps; a repeated message costs nothing. */
static bool rate(void)
{
	struct cluster_msg m = msg("b", 2, 20000, 20000);

	fill();
	m.count = 5000;
	if (take(&m) != COVERAGE_APPLY || take(&m) != COVERAGE_KNOWN)
		return false;
	at(20900);
	sends("c", 2, 20000, 20900);
	m = msg("b", 3, 20000, 20900);
	m.count = 901;
	if (take(&m) != COVERAGE_REFUSE || status(1).refused[COVERAGE_REFUSED_RATE] != 1 ||
	    covered() || status(1).why != COVERAGE_FILLING || status(1).since != EPOCH + 20900 * MS)
		return false;
	m.seq = 4;
	m.count = 900;
	return take(&m) == COVERAGE_APPLY;
}

/* A burst that is not set has room for a whole message and ten seconds, and no more. */
static bool default_burst(void)
{
	struct cluster_msg m = msg("b", 2, 20000, 20000);
	struct coverage_conf conf = conf_good();

	conf.peer_burst = 0;
	begin_with(&conf);
	m.count = CLUSTER_DIGESTS_MAX;
	if (take(&m) != COVERAGE_APPLY)
		return false;
	m.seq = 3;
	m.count = 10 * 1000 + 1;
	if (take(&m) != COVERAGE_REFUSE)
		return false;
	m.seq = 4;
	m.count--;
	return take(&m) == COVERAGE_APPLY;
}

/* Replayed messages are judged by their stamps; old ones count as those of now. */
static bool rate_of_stamps(void)
{
	struct cluster_msg m;
	__u64 i;

	begin();
	for (i = 1; i <= 15; i++) {
		m = msg("b", i, i * 1000, i * 1000 + 1000);
		m.count = i == 1 ? 5000 : 1000;
		if (coverage_offer(cov, &m, "b", m.to, &clock_of, now, &error) != COVERAGE_APPLY)
			return false;
		coverage_applied(cov, &m, m.to);
	}
	m = msg("b", 17, 1000, 1000);
	m.count = 5000;
	return coverage_offer(cov, &m, "b", m.to, &clock_of, now, &error) == COVERAGE_REFUSE;
}

/* Until D after the end of the peer that is least far, on the own clock. */
static bool until(void)
{
	__u64 t;

	fill();
	at(20400);
	sends("c", 2, 20000, 20300);
	if (!coverage_until(cov, &clock_of, now, &t) || t > 21000 * MS || t < 20999 * MS)
		return false;
	at(20999);
	if (!covered() || status(1).why != COVERAGE_COVERED)
		return false;
	at(21001);
	return !covered() && status(1).why == COVERAGE_SILENT && status(1).behind_ns >= 1001 * MS &&
	       status(2).why == COVERAGE_COVERED;
}

static bool whys(void)
{
	begin();
	if (covered() || status(1).why != COVERAGE_NEVER || status(1).through || status(0).why)
		return false;
	sends("b", 1, 10001, 20000);
	sends("c", 1, 1, 20000);
	return !covered() && status(1).why == COVERAGE_FILLING && status(1).wait_ns <= 2 * MS &&
	       status(2).why == COVERAGE_COVERED;
}

/* An echo that took 500 ms leaves cluster time open by as much. The beginning is judged by the
 * lower bound, the end by the upper one.
 */
static bool wide_clock(void)
{
	struct coverage_host h;
	__u64 t;

	begin();
	sends("b", 1, 10100, 20000);
	sends("c", 1, 1, 20000);
	now += 500 * MS;
	cluster_clock_echo(&clock_of, now - 500 * MS + 1, now, EPOCH + now - 480 * MS);
	h = status(1); /* from 20020 to 20520 ms */
	if (covered() || h.why != COVERAGE_FILLING || h.behind_ns < 519 * MS)
		return false;
	sends("b", 2, 20000, 20010);
	now += 100 * MS;
	return coverage_until(cov, &clock_of, now, &t) && t > now + 379 * MS && t < now + 380 * MS;
}

/* A window by the own clock: that is W, since W is less by what the clock may be fast. */
static bool own(void)
{
	fill();
	coverage_own(cov, 10001 * MS);
	if (covered() || status(0).why != COVERAGE_OWN || !status(0).self ||
	    status(0).wait_ns > 2 * MS || status(0).wait_ns < 1 * MS)
		return false;
	coverage_own(cov, 9999 * MS);
	return covered() && status(0).why == COVERAGE_COVERED;
}

static bool no_clock(void)
{
	fill();
	now += CLUSTER_CLOCK_OLD_NS + 1;
	return !covered() && status(0).why == COVERAGE_NO_CLOCK &&
	       status(1).why == COVERAGE_NO_CLOCK;
}

/* A heartbeat without a time, and own messages, do nothing; but the host was heard. */
static bool nothing(void)
{
	begin();
	return sends("b", 0, 0, 0) == COVERAGE_KNOWN && sends("a", 1, 1, 2) == COVERAGE_KNOWN &&
	       status(1).heard_ns == now && status(1).why == COVERAGE_NEVER;
}

/* What comes behind a missing message waits for it, and counts once it is there. */
static bool hole_filled(void)
{
	fill();
	at(20500);
	sends("b", 4, 20200, 20400);
	sends("b", 3, 20100, 20200);
	if (status(1).through != EPOCH + 20000 * MS || status(1).pending != 1)
		return false;
	sends("b", 2, 20000, 20100);
	return status(1).through == EPOCH + 20400 * MS && !status(1).pending &&
	       status(1).since == EPOCH + MS && !status(1).gaps;
}

/* After four lags the hole is given up: known since the stamp of the message behind it. */
static bool hole_given_up(void)
{
	fill();
	at(20500);
	sends("b", 3, 20100, 20400);
	at(24500);
	sends("b", 4, 20400, 24500);
	covered();
	if (status(1).gaps || status(1).why != COVERAGE_GAP)
		return false;
	at(24501);
	covered();
	return status(1).gaps == 1 && status(1).since == EPOCH + 20500 * MS &&
	       status(1).through == EPOCH + 24500 * MS && status(1).why == COVERAGE_FILLING &&
	       sends("b", 2, 20000, 20100) == COVERAGE_APPLY &&
	       status(1).since == EPOCH + 20500 * MS;
}

/* Of 65 runs behind holes the oldest hole is given up. */
static bool many_holes(void)
{
	__u64 i;

	fill();
	for (i = 1; i < COVERAGE_SPANS_MAX; i++)
		sends("b", 1 + 2 * i, 20000, 20000);
	if (status(1).pending != COVERAGE_SPANS_MAX - 1 || status(1).gaps)
		return false;
	sends("b", 1 + 2 * i, 20000, 20000);
	return status(1).pending == COVERAGE_SPANS_MAX - 1 && status(1).gaps == 1 &&
	       sends("b", 2 * i, 20000, 20000) == COVERAGE_APPLY &&
	       status(1).pending == COVERAGE_SPANS_MAX - 2 &&
	       sends("b", 3, 20000, 20000) == COVERAGE_KNOWN;
}

/* Lost keys, and a message that does not begin where the last one ended, are holes. */
static bool lost(void)
{
	struct cluster_msg m = msg("b", 2, 20000, 20000);

	fill();
	m.lost = 4;
	take(&m);
	if (status(1).since != EPOCH + 20000 * MS || status(1).lost != 4 || covered())
		return false;
	fill();
	at(20200);
	sends("b", 2, 20001, 20100);
	return status(1).since == EPOCH + 20200 * MS;
}

/* A new incarnation is known since its beginning; late messages of the old one change nothing. */
static bool incarnations(void)
{
	struct cluster_msg m = msg("b", 1, 20100, 20200), late = msg("b", 2, 20000, 20050);

	fill();
	at(20300);
	m.incarnation = 2;
	if (take(&m) != COVERAGE_APPLY || status(1).since != m.from || status(1).through != m.to ||
	    status(1).incarnation != 2 || status(1).incarnations != 2)
		return false;
	return take(&late) == COVERAGE_APPLY && status(1).since == m.from &&
	       status(1).through == m.to && status(1).incarnation == 2;
}

/* The first message that is seen, of an incarnation that began before. */
static bool middle(void)
{
	begin();
	sends("b", 9, 1, 19000);
	return status(1).since == EPOCH + 20000 * MS && status(1).through == EPOCH + 19000 * MS;
}

/* What was offered but not applied is missing. */
static bool not_applied(void)
{
	struct cluster_msg m = msg("b", 2, 20000, 20100);

	fill();
	at(20200);
	if (offer(&m, "b") != COVERAGE_APPLY || status(1).through != EPOCH + 20000 * MS)
		return false;
	return offer(&m, "b") == COVERAGE_APPLY;
}

static bool replays(void)
{
	__u64 from;

	begin();
	if (!coverage_wants_replay(cov, &clock_of, now, &from) || from < EPOCH + 6990 * MS ||
	    from > EPOCH + 7000 * MS || coverage_wants_replay(cov, &clock_of, now, &from))
		return false;
	sends("b", 1, 1, 20000);
	at(22500);
	sends("b", 3, 20100, 22400);
	if (coverage_wants_replay(cov, &clock_of, now, &from))
		return false;
	at(23500);
	if (!coverage_wants_replay(cov, &clock_of, now, &from) || from != EPOCH + 20000 * MS)
		return false;
	at(25499);
	if (coverage_wants_replay(cov, &clock_of, now, &from))
		return false;
	coverage_reset(cov);
	at(25500);
	return status(1).why == COVERAGE_NEVER && coverage_wants_replay(cov, &clock_of, now, &from);
}

/* When the stamps' clock is set, all is forgotten, and the stream is not read again. */
static bool another_clock(void)
{
	__u64 from;

	fill();
	coverage_wants_replay(cov, &clock_of, now, &from);
	now += 100 * MS;
	cluster_clock_echo(&clock_of, now, now, 2 * EPOCH);
	if (covered())
		return false;
	sends("c", 0, 0, 0);
	return status(1).why == COVERAGE_NEVER && status(2).why == COVERAGE_NEVER &&
	       !coverage_wants_replay(cov, &clock_of, now + 3 * LAG, &from);
}

/* What was taken before cluster time was known, and lies in its future, is of another clock. */
static bool before_the_clock(void)
{
	struct cluster_msg m = msg("b", 1, 1, 90000);

	begin();
	memset(&clock_of, 0, sizeof(clock_of));
	coverage_offer(cov, &m, "b", EPOCH + 90000 * MS, &clock_of, now, &error);
	coverage_applied(cov, &m, EPOCH + 90000 * MS);
	at(20001);
	return !covered() && status(1).why == COVERAGE_NEVER &&
	       sends("b", 5, 19000, 20000) == COVERAGE_APPLY &&
	       status(1).through == EPOCH + 20000 * MS;
}

static bool names(void)
{
	int i;

	for (i = 0; i < COVERAGE_WHYS; i++)
		if (!coverage_why_name((enum coverage_why)i))
			return false;
	for (i = 0; i < COVERAGE_REFUSALS; i++)
		if (!coverage_refusal_name((enum coverage_refusal)i))
			return false;
	return !strcmp(coverage_why_name((enum coverage_why)99), "unknown") &&
	       !strcmp(coverage_refusal_name(COVERAGE_REFUSALS), "none");
}

/* A cluster of one host is covered by its own filter. */
static bool alone(void)
{
	struct coverage_conf conf = conf_good();
	__u64 t;

	begin();
	coverage_free(cov);
	conf.roster = &roster[1];
	conf.hosts = 1;
	cov = coverage_new(&conf, &error);
	if (!cov || covered())
		return false; /* the age of the own filter is not known */
	coverage_own(cov, 1);
	return coverage_until(cov, &clock_of, now, &t) && t <= now + LAG && t > now + LAG - MS;
}

int main(void)
{
	tap_plan(35);
	configurations();
	refusals();
	tap_ok(stranger(), "a host that is not in the roster");
	tap_ok(rate(), "more digests than a peer may send: refused, and a hole");
	tap_ok(default_burst(), "a burst that is not set takes a whole message");
	tap_ok(rate_of_stamps(), "the rate is that of the stamps, so a replay passes");
	tap_ok(until(), "covered until the lag after the end of the peer that is least far");
	tap_ok(whys(), "a peer that was never heard; one that is known for too short");
	tap_ok(wide_clock(), "bounds that are wide: each is used where it is safe");
	tap_ok(own(), "an own filter that is too young");
	tap_ok(no_clock(), "no cluster time");
	tap_ok(nothing(), "heartbeats without a time and own messages");
	tap_ok(hole_filled(), "a missing message that comes later");
	tap_ok(hole_given_up(), "a missing message that does not come");
	tap_ok(many_holes(), "more holes than are kept");
	tap_ok(lost(), "keys that the publisher lost; an interval that is missing");
	tap_ok(incarnations(), "a new incarnation, and late messages of the old one");
	tap_ok(middle(), "messages that begin in the middle");
	tap_ok(not_applied(), "a message whose digests could not be inserted");
	tap_ok(replays(), "replays: at first, for a hole, not too often");
	tap_ok(another_clock(), "the stamps' clock was set");
	tap_ok(before_the_clock(), "messages of another clock, taken before the time was known");
	tap_ok(names(), "all words are there");
	tap_ok(alone(), "a cluster of one host");
	coverage_free(cov);
	return tap_end();
}
