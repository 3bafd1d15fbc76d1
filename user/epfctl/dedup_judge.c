// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Both methods, and the choice between them. The table of all keys has no errors, and for
 * a file its speed does not matter. So the table is used if the keys of a window fit into
 * the memory limit.
 *
 * Its keys are digests of 128 bits under keys that are drawn for this run
 * (dedup_digest.h). The author of a capture does not know these keys. So two different
 * packets have equal digests with a probability below 2^-125 (one bit is spent, see
 * dedup_exact.h). Of a billion packets in a window of a billion, 2e-20 are expected to be
 * removed wrongly, whether an attacker chose them or not.
 */
#include "dedup_judge.h"

#include <epf/packet.h>
#include <epf/window.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a packet with its record; they bound the number of packets in a file. */
#define RECORD_MIN_BYTES 16
#define RECORD_MAX_BYTES (256u << 10)
#define METER_EVERY 4096 /* packets; a power of two */
/* A window in time may get more packets than it was sized for. The filter fails open above
 * this multiple of its budget. A window in packets cannot get more.
 */
#define LIMIT_FACTOR 10
/* Packets, a power of two. In a stream, no packet is expected with a stamp lower than those
 * of the last so many packets.
 */
#define STREAM_STRETCH 8192

/* Are frames compared as they were captured, with the number of bytes that were not? */
static bool compares_frames(const struct dedup_ask *ask)
{
	return ask->key.key == EPF_PKT_FRAME && !ask->key.flags && !ask->key.max_bytes &&
	       !ask->inner && !ask->masks && !ask->ignore;
}

bool judge_takes(const struct dedup_ask *ask, const struct item *item)
{
	if (!ask->after_ns && !ask->before_ns)
		return true;
	return item->has_ns && item->ns >= ask->after_ns &&
	       (!ask->before_ns || item->ns < ask->before_ns);
}

/* Can the input be read twice? */
static bool is_file(const struct judge *j, const struct source *in)
{
	return S_ISREG(in->stat.st_mode) && strcmp(j->ask->in, "-");
}

/* The number of packets in the input at most; 0: unknown. */
static __u64 most_packets(const struct judge *j, const struct source *in)
{
	if (j->survey)
		return j->survey->packets;
	return source_packed(in) ? 0 : source_all_bytes(in) / RECORD_MIN_BYTES;
}

/* Read the file once. Damage and signals are reported by the second reading. */
static int survey(struct judge *j, struct meter *m)
{
	__u64 epoch_ns = (j->ask->time_ns + EPF_LIVE_EPOCHS - 1) / EPF_LIVE_EPOCHS;
	struct source in;
	struct item item;
	__u64 ns = 0;

	if (j->survey)
		return 0;
	j->survey = malloc(sizeof(*j->survey));
	if (!j->survey)
		return fail("out of memory");
	if (source_open(&in, j->ask->in))
		return fail("%s: %s", j->ask->in, in.why);
	survey_begin(j->survey, epoch_ns);
	while (!interrupted && source_next(&in, &item) > 0) {
		if (!item.is_packet || !judge_takes(j->ask, &item))
			continue;
		ns = item.has_ns ? item.ns : ns;
		survey_packet(j->survey, ns);
		if (!(j->survey->packets & (METER_EVERY - 1)))
			meter_update(m, source_done_bytes(&in), source_all_bytes(&in));
	}
	survey_end(j->survey);
	source_close(&in);
	return 0;
}

static bool exact_fits(const struct judge *j, __u64 keys)
{
	return exact_bytes_for(keys) <= j->ask->max_bytes;
}

/* The number of keys that the table holds at once at most; 0: unknown. */
static __u64 keys_at_once(const struct judge *j, const struct source *in)
{
	const struct dedup_ask *ask = j->ask;
	__u64 packets = most_packets(j, in);

	if (!ask->window && j->survey)
		return survey_held(j->survey, ask->time_ns);
	if (!ask->window)
		return packets;
	return packets && packets < ask->window ? packets : ask->window;
}

/* Choose the table or the filter. For a stream without a bound the table is tried. */
static int dedup_judge_choose(struct judge *j, const struct source *in, struct meter *m,
			      bool *exact)
{
	const struct dedup_ask *ask = j->ask;
	__u64 keys;

	*exact = ask->method != METHOD_FILTER;
	if (!*exact)
		return 0;
	if (is_file(j, in) && (!ask->window || !exact_fits(j, keys_at_once(j, in))) && survey(j, m))
		return EXIT_FAIL;
	keys = keys_at_once(j, in);
	if (exact_fits(j, keys))
		return 0;
	if (ask->method == METHOD_EXACT)
		return fail("--exact: up to %llu packets at once take %s, more "
			    "than --memory %s: raise it, or use --filter",
			    keys, fmt_bytes(exact_bytes_for(keys)).s, fmt_bytes(ask->max_bytes).s);
	*exact = false;
	return 0;
}

static int make_exact(struct judge *j)
{
	const struct dedup_ask *ask = j->ask;
	struct exact_ask table = {
		.reach = ask->window ? ask->window : ask->time_ns,
		.grows = ask->window,
		.first_seen = ask->first_seen,
		.max_bytes = ask->max_bytes,
	};
	int err = digest_keys_draw(&j->digest, ask->strict ? EPF_HASH_SIPHASH24 : EPF_HASH_NH);

	if (err)
		return fail_errno(-err, "cannot draw a random hash key: %m");
	j->least_ns[0] = j->least_ns[1] = ~0ULL;
	j->exact = exact_new(&table);
	return j->exact ? 0 :
			  fail("not enough memory for a table of keys: raise "
			       "--memory, or use --filter");
}

/* Limit a window that is longer than the file to the packets that the file has. */
static int clip_window(struct judge *j, const struct source *in, struct meter *m, __u64 *window)
{
	__u64 most;

	*window = j->ask->window;
	if (!source_all_bytes(in) || *window <= source_all_bytes(in) / RECORD_MAX_BYTES)
		return 0;
	if (is_file(j, in) && survey(j, m))
		return EXIT_FAIL;
	most = most_packets(j, in);
	if ((j->survey || most) && *window > most)
		*window = most;
	*window += !*window;
	return 0;
}

/* The window and the rate for which the filter is sized. */
static int set_window(struct judge *j, const struct source *in, struct meter *m,
		      struct epf_plan_request *p)
{
	const struct dedup_ask *ask = j->ask;
	__u64 most;

	if (ask->window)
		return clip_window(j, in, m, &p->window);
	p->time_ns = ask->time_ns;
	p->pps = ask->pps;
	if (p->pps > 0)
		return 0;
	if (!is_file(j, in))
		return fail("%s is not a regular file and cannot be read twice: "
			    "-w with --filter needs --rate",
			    ask->in);
	if (survey(j, m))
		return EXIT_FAIL;
	most = j->survey->busiest ? j->survey->busiest : 1;
	p->pps = (double)(most * EPF_LIVE_EPOCHS) * NS_PER_SEC / (double)p->time_ns;
	return 0;
}

static int dedup_judge_make_filter(struct judge *j, const struct source *in, struct meter *m,
				   struct dedup_result *r)
{
	const struct dedup_ask *ask = j->ask;
	double limit = ask->budget * LIMIT_FACTOR;
	struct epf_plan_request plan_request = {
		.budget = ask->budget,
		.limit = ask->window || limit > 1 ? 1 : limit,
		.max_bytes = ask->max_bytes,
	};
	struct epf_params *p = &r->planned.params;
	int err;

	if (set_window(j, in, m, &plan_request) || !plan_geometry(&plan_request, &r->planned))
		return EXIT_FAIL;
	p->hash = ask->strict ? EPF_HASH_SIPHASH24 : EPF_HASH_NH;
	p->refresh = ask->first_seen ? EPF_FIRST_SEEN : EPF_REFRESH;
	j->clock.reach_ns = (ask->time_ns + EPF_LIVE_EPOCHS - 1) / EPF_LIVE_EPOCHS * EPF_EPOCHS;
	j->mem = epf_mem_new(p, NULL, 0, &err);
	if (!j->mem)
		return fail_errno(-err, "cannot make a filter of %s: %m",
				  fmt_bytes(p->nr_lines * EPF_LINE_BYTES).s);
	return 0;
}

static void tell_fallback(const struct judge *j, const struct source *in)
{
	__u64 keys = keys_at_once(j, in);

	warn("up to %llu packets at once take %s, more than --memory %s: a "
	     "filter is used, which makes errors",
	     keys, fmt_bytes(exact_bytes_for(keys)).s, fmt_bytes(j->ask->max_bytes).s);
}

int judge_begin(struct judge *j, const struct dedup_ask *ask, const struct source *in,
		struct meter *meter, struct dedup_result *r)
{
	bool exact;

	j->ask = ask;
	j->frames = compares_frames(ask);
	if (dedup_judge_choose(j, in, meter, &exact))
		return EXIT_FAIL;
	r->exact = exact;
	if (exact ? make_exact(j) : dedup_judge_make_filter(j, in, meter, r))
		return EXIT_FAIL;
	if (!exact && ask->method == METHOD_ANY)
		tell_fallback(j, in);
	return 0;
}

/* Does the packet have a key? If not, it is counted. */
static bool has_key(int err, struct dedup_result *r)
{
	if (!err)
		return true;
	if (err == -ENODATA)
		r->truncated++;
	else if (err == -EPROTO)
		r->not_ip++;
	else if (err == -ENOMSG)
		r->fragments++;
	else
		r->malformed++;
	return false;
}

/**
 * struct subject - a packet in the form in which it is compared
 * @seg: the captured bytes that count
 * @pkt: that segment
 * @key: options of the key
 * @unseen: number of bytes that the packet had on the wire behind @seg, which is part of
 *	the key; 0 for IP under keys packet and flow, because a datagram has its length in
 *	its header and padding does not count. With SHORT: a frame without the bytes that
 *	--ignore leaves out
 */
struct subject {
	struct epf_seg seg;
	struct epf_pkt pkt;
	struct epf_pkt_opts key;
	__u64 unseen;
};

#define SHORT (1ULL << 32) /* above the number of bytes */

static bool is_ip(const struct subject *s)
{
	struct epf_l3 l3;

	return !epf_l3_find(&s->pkt, s->key.link, &l3) &&
	       (l3.type == EPF_ETH_IP4 || l3.type == EPF_ETH_IP6);
}

/* With --bytes, everything behind these bytes of a frame counts as unseen, captured or not.
 * So a frame equals a copy of itself that was cut at another length.
 */
static void set_subject(struct subject *s, const struct judge *j, const struct view *v)
{
	__u32 len = v->len;

	s->key = j->ask->key;
	s->key.link = v->link < 0 ? EPF_LINK_ETHER : (__u8)v->link;
	if (s->key.key == EPF_PKT_FRAME) {
		if (s->key.max_bytes && s->key.max_bytes < len)
			len = s->key.max_bytes;
		s->key.max_bytes = 0;
	}
	s->seg = (struct epf_seg){ .data = v->data, .len = len };
	s->pkt = (struct epf_pkt){ .seg = &s->seg, .nr_segs = 1, .len = len };
	s->unseen = v->length - len;
	if (s->unseen && s->key.key != EPF_PKT_FRAME && is_ip(s))
		s->unseen = 0;
}

static void set_frame(struct subject *s, const struct judge *j, const struct item *item)
{
	s->key = j->ask->key;
	s->seg = (struct epf_seg){ .data = item->data, .len = item->captured };
	s->pkt = (struct epf_pkt){ .seg = &s->seg, .nr_segs = 1, .len = item->captured };
	s->unseen = item->length - item->captured;
}

/* What of the packet is compared. Return: 0, or -1 with an error printed. */
static int view(struct judge *j, const struct item *item, struct subject *s, struct dedup_result *r)
{
	const struct dedup_ask *ask = j->ask;
	struct view v = { item->data, item->captured, item->length, link_of(item->link) };
	bool is_short;

	if (v.link < 0 && ask->key.key != EPF_PKT_FRAME) {
		fail("%s: packet %llu has link type %u (%s), which only --key "
		     "frame supports",
		     ask->in, item->number, item->link, link_name(item->link));
		return -1;
	}
	if (ask->inner)
		r->inner += view_inner(&v);
	if (ask->masks && view_mask(&v, ask->masks, &j->room)) {
		fail("out of memory");
		return -1;
	}
	is_short = ask->ignore && !view_ignore(&v, ask->ignore);
	set_subject(s, j, &v);
	s->unseen |= is_short ? SHORT : 0;
	return 0;
}

/* Let the table forget keys that are near no packet that is still to come. */
static void dedup_judge_forget(struct judge *j)
{
	__u64 i = j->packets;

	if (j->ask->window) {
		exact_forget(j->exact, i);
	} else if (j->survey) {
		if (!(i & (j->survey->each - 1)))
			exact_forget(j->exact, survey_oldest(j->survey, i));
	} else {
		if (i && !(i & (STREAM_STRETCH - 1))) {
			exact_forget(j->exact, j->least_ns[0] < j->least_ns[1] ? j->least_ns[0] :
										 j->least_ns[1]);
			j->least_ns[0] = j->least_ns[1];
			j->least_ns[1] = ~0ULL;
		}
		if (j->ns < j->least_ns[1])
			j->least_ns[1] = j->ns;
	}
}

static int exact_packet(struct judge *j, const struct subject *s, struct dedup_result *r)
{
	__u64 place = j->ask->window ? j->packets : j->ns;
	__u64 digest[2];
	int seen;

	dedup_judge_forget(j);
	if (!has_key(digest_packet(&j->digest, &s->pkt, &s->key, digest), r))
		return 0;
	digest[1] ^= s->unseen; /* so all bits of it are compared */
	seen = exact_seen(j->exact, digest, place);
	if (seen < 0) {
		fail("packet %llu: not enough memory for more keys (%s are used, "
		     "--memory is %s): raise it, or use --filter",
		     j->number, fmt_bytes(exact_bytes(j->exact)).s, fmt_bytes(j->ask->max_bytes).s);
		return -1;
	}
	r->unsure += !seen && !j->ask->window && exact_is_unsure(j->exact, place);
	return seen;
}

static int filter_digest(const struct judge *j, const struct subject *s, __u64 *digest)
{
	__u64 both[2] = { 0, s->unseen };
	int err = epf_mem_pkt_digest(j->mem, s->seg.data, s->seg.len, &s->key, &both[0]);

	if (err)
		return err;
	*digest = s->unseen ? epf_mem_digest(j->mem, both, sizeof(both)) : both[0];
	return 0;
}

static int filter_packet(struct judge *j, const struct subject *s, struct dedup_result *r)
{
	bool jumps = false;
	__u64 digest;

	if (j->ask->time_ns) {
		if (clock_settles(&j->clock, j->ns) && j->waits)
			epf_mem_test_and_insert(j->mem, j->waiting, j->clock.now_ns);
		j->waits = false;
		jumps = clock_jumps(&j->clock, j->ns);
	}
	if (!has_key(filter_digest(j, s, &digest), r))
		return 0;
	if (!jumps)
		return epf_mem_test_and_insert(j->mem, digest, j->clock.now_ns) > 0;
	j->waiting = digest;
	j->waits = true;
	return 0;
}

static void set_time(struct judge *j, const struct item *item, struct dedup_result *r)
{
	__u64 before = j->ns;

	if (item->has_ns)
		j->ns = item->ns;
	if (j->ns >= before)
		return;
	r->clock_back++;
	if (before - j->ns > r->clock_back_ns)
		r->clock_back_ns = before - j->ns;
}

/* A stamp that does not fit into 64 bits of ns is near no other stamp. */
static bool is_undated(const struct judge *j, const struct item *item)
{
	return j->ask->time_ns && item->has_stamp && !item->has_ns;
}

int judge_packet(struct judge *j, const struct item *item, struct dedup_result *r)
{
	struct subject s;
	int seen = 0;

	j->number = item->number;
	if (j->frames)
		set_frame(&s, j, item);
	else if (view(j, item, &s, r))
		return -1;
	set_time(j, item, r);
	r->cut += item->captured < item->length;
	if (is_undated(j, item))
		r->undated++;
	else if (j->exact)
		seen = exact_packet(j, &s, r);
	else
		seen = filter_packet(j, &s, r);
	j->packets++;
	return seen;
}

void judge_tell(const struct judge *j, struct dedup_result *r)
{
	if (j->exact) {
		r->held = exact_held(j->exact);
		r->bytes = exact_most_bytes(j->exact);
		return;
	}
	if (j->ask->time_ns) {
		r->clock_back = j->clock.back;
		r->clock_back_ns = j->clock.back_ns;
		r->clock_ahead = j->clock.ahead;
	}
	epf_mem_info(j->mem, j->clock.now_ns, &r->info);
	r->bytes = r->info.memory_bytes;
}

void judge_end(struct judge *j)
{
	exact_free(j->exact);
	epf_mem_free(j->mem);
	free(j->survey);
	view_room_free(&j->room);
	explicit_bzero(&j->digest, sizeof(j->digest));
}
