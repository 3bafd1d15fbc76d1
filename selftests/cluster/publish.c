// SPDX-License-Identifier: GPL-2.0
/*
 * The publisher's queue, beside a network that refuses and loses messages, and tells of it late,
 * in any order and twice: the stream gets every message in the end, and each insertion is in one
 * or counted.
 */
#include "../core/tap.h"

#include <errno.h>
#include <string.h>

#include "cluster/publish.h"
#include "records/rec_error.h"

#include "epf/hash.h"

#define RUNS 200
#define STEPS 400
#define AIR 256 /* sendings whose end is not told yet; more than the publisher has under way */
#define SEQS 4096
#define BUFFER 20000
#define SENTS 4096 /* that a publisher remembers */

static __u64 seed;

static __u64 draw(__u64 below)
{
	return epf_word(++seed, 1) % below;
}

/**
 * struct world - a publisher, and what the stream has of it
 * @air: identifiers of sendings
 * @fate: 0 or an error, of each
 * @flying: number of them
 * @most: largest number of them
 * @sent: number of sendings
 * @faults: sendings may be refused or lost
 * @count: digests of a message that the stream has, plus one; 0: it has not
 * @lost: insertions that those messages count as lost
 * @from: where the interval of each begins; and @to, where it ends
 * @added: insertions
 * @bad: a message was not what it should be
 */
struct world {
	struct publisher *p;
	char air[AIR][CLUSTER_ID_BYTES];
	int fate[AIR];
	unsigned int flying;
	unsigned int most;
	__u64 sent;
	bool faults;
	__u32 count[SEQS];
	__u64 lost[SEQS];
	__u64 from[SEQS];
	__u64 to[SEQS];
	__u64 added;
	bool bad;
};

static __u64 digests[CLUSTER_DIGESTS_MAX];

static void arrive(struct world *w, const void *data, size_t bytes)
{
	struct rec_error e;
	struct cluster_msg m;

	if (cluster_msg_get(&m, data, bytes, digests, &e) || m.seq >= SEQS ||
	    (w->count[m.seq] && w->count[m.seq] != m.count + 1)) {
		w->bad = true;
		return;
	}
	w->count[m.seq] = m.count + 1;
	w->lost[m.seq] = m.lost;
	w->from[m.seq] = m.from;
	w->to[m.seq] = m.to;
}

/* A fifth is refused at once, a fifth lost; of a tenth only the acknowledgement is. */
static int sending(void *ctx, const char *id, const void *data, size_t bytes)
{
	struct world *w = ctx;
	__u64 luck = w->faults ? draw(10) : 9;

	w->sent++;
	if (luck < 2)
		return -EIO;
	if (w->flying == AIR) {
		w->bad = true;
		return -EIO;
	}
	if (luck > 3)
		arrive(w, data, bytes);
	strcpy(w->air[w->flying], id);
	w->fate[w->flying++] = luck < 5 ? -ETIMEDOUT : 0;
	w->most = w->flying > w->most ? w->flying : w->most;
	return 0;
}

/* The end of a sending is told, of any one, and perhaps twice. */
static void tell(struct world *w)
{
	unsigned int i = (unsigned int)draw(w->flying);
	char id[CLUSTER_ID_BYTES];
	int fate = w->fate[i];

	strcpy(id, w->air[i]);
	w->flying--;
	strcpy(w->air[i], w->air[w->flying]);
	w->fate[i] = w->fate[w->flying];
	publish_acknowledged(w->p, id, fate);
	if (!fate && !draw(8))
		publish_acknowledged(w->p, id, 0);
}

static void add(struct world *w, __u64 to)
{
	__u64 many[40] = { 0 };
	__u32 count = (__u32)draw(40);

	publish_add(w->p, many, count, 0, to);
	w->added += count;
}

/* In every second hundred of steps nothing is told, so the queue fills. */
static void step(struct world *w, __u64 now)
{
	unsigned int messages = (unsigned int)draw(4);

	while (messages--)
		add(w, draw(4) ? now : 0);
	if (draw(2))
		publish_send(w->p, now);
	while (now / 100 % 2 && w->flying && draw(8))
		tell(w);
}

static void send_all(struct world *w)
{
	struct publish_state s;
	int rounds = 1000;

	do {
		publish_send(w->p, STEPS + 1);
		while (w->flying)
			tell(w);
		publish_state(w->p, &s);
	} while (s.waiting && --rounds);
}

/* Without faults. The last message finds room, and has what others had none for. */
static void settle(struct world *w)
{
	w->faults = false;
	send_all(w);
	publish_add(w->p, NULL, 0, 0, STEPS + 1);
	send_all(w);
}

static void live(struct world *w)
{
	const struct publish_conf conf = {
		.head = { .hash_kind = 1, .window_ns = 1000, .host = "a", .incarnation = seed + 1 },
		.buffer = BUFFER,
		.send = sending,
		.ctx = w,
	};
	__u64 now;

	memset(w, 0, sizeof(*w));
	w->faults = true;
	w->p = publish_new(&conf);
	publish_begin(w->p, 1);
	for (now = 2; now <= STEPS; now++)
		step(w, now);
	settle(w);
}

/* Messages 1 to the last one, without a gap, intervals one after another. */
static bool complete(const struct world *w, const struct publish_state *s)
{
	__u64 seq, in = 0, end = 1, lost = 0;

	for (seq = 1; seq <= s->messages; seq++) {
		if (!w->count[seq] || w->from[seq] != end || w->to[seq] < end)
			return false;
		in += w->count[seq] - 1;
		lost += w->lost[seq];
		end = w->to[seq];
	}
	return !w->bad && in + lost == w->added && lost == s->lost && end == STEPS + 1;
}

/* Identifiers that differ from the right one anywhere, or in length, acknowledge nothing. */
static bool foreign(struct world *w)
{
	static const char *const none[] = { "", ".", "a", "a.0.1" };
	char id[CLUSTER_ID_BYTES], other[CLUSTER_ID_BYTES + 1];
	struct publish_state s;
	unsigned int i;

	publish_add(w->p, NULL, 0, 0, STEPS + 2);
	publish_send(w->p, STEPS + 2);
	strcpy(id, w->air[0]);
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		publish_acknowledged(w->p, none[i], 0);
	for (i = 0; id[i]; i++) {
		strcpy(other, id);
		other[i]++;
		publish_acknowledged(w->p, other, 0);
		other[i] = '\0';
		publish_acknowledged(w->p, other, 0);
	}
	snprintf(other, sizeof(other), "%s ", id);
	publish_acknowledged(w->p, other, 0);
	publish_state(w->p, &s);
	if (s.waiting != 1)
		return false;
	publish_acknowledged(w->p, id, 0);
	publish_state(w->p, &s);
	return !s.waiting;
}

static int taking(void *ctx, const char *id, const void *data, size_t bytes)
{
	(void)data;
	(void)bytes;
	strcpy(ctx, id);
	return 0;
}

/* Sendings are remembered until SENTS later ones. */
static bool remembered(void)
{
	char first[CLUSTER_ID_BYTES], id[CLUSTER_ID_BYTES];
	const struct publish_conf conf = { .head = { .host = "a" }, .send = taking, .ctx = id };
	struct publisher *p = publish_new(&conf);
	__u64 ns, sent;
	bool known;

	publish_hello(p, 1);
	strcpy(first, id);
	for (ns = 2; ns <= SENTS; ns++)
		publish_hello(p, ns);
	known = publish_sent_ns(p, first, &sent) && sent == 1;
	publish_hello(p, ns);
	known &= !publish_sent_ns(p, first, &sent) && publish_sent_ns(p, id, &sent) && sent == ns;
	publish_free(p);
	return known;
}

int main(void)
{
	static struct world w;
	bool all = true, quiet = true, alone = true, exact = true;
	__u64 lost = 0, resent = 0;
	struct publish_state s;
	unsigned int run, most = 0;

	tap_plan(6);
	seed = tap_seed() << 32;
	for (run = 0; run < RUNS; run++) {
		live(&w);
		publish_state(w.p, &s);
		all &= complete(&w, &s);
		quiet &= !s.waiting && !s.bytes;
		exact &= s.resent == w.sent - s.messages;
		lost += s.lost;
		resent += s.resent;
		most = w.most > most ? w.most : most;
		alone &= foreign(&w);
		publish_free(w.p);
	}
	tap_ok(all, "each message comes in the end, and each insertion is in one or counted");
	tap_ok(quiet, "then nothing waits");
	tap_ok(alone, "identifiers of others acknowledge nothing");
	tap_ok(exact, "a message is counted as sent again once for each sending but the first");
	tap_ok(lost && resent && most == 64,
	       "%llu messages sent again, %llu insertions lost, %u messages under way at most",
	       (unsigned long long)resent, (unsigned long long)lost, most);
	tap_ok(remembered(), "the last %d sendings are remembered", SENTS);
	return tap_end();
}
