// SPDX-License-Identifier: GPL-2.0
/*
 * Duplicate removal: size a filter for the window, then ask it for every
 * packet. With W packets a repeat at most W back is always found; nothing more
 * than 8 * ceil(W/7) back is ever taken for one but by the error rate.
 */
#include "dedup.h"

#include <epf/window.h>

#include <errno.h>
#include <string.h>

/* Least bytes of a packet with its record: bounds the packets of a file. */
#define RECORD_MIN_BYTES 16
#define METER_EVERY 4096 /* packets; a power of two */
/* A window in time may get more packets than it was sized for: above so many
 * times its budget the filter fails open. A window in packets cannot.
 */
#define LIMIT_FACTOR 10

/**
 * struct clock - the packets' time, made to never go back
 * @now_ns: latest time stamp so far
 * @started: there was one
 */
struct clock {
	__u64 now_ns;
	bool started;
};

/* Return: ns that @ns lies behind the latest one, which stays. */
static __u64 clock_set(struct clock *c, __u64 ns)
{
	if (c->started && ns < c->now_ns)
		return c->now_ns - ns;
	c->now_ns = ns;
	c->started = true;
	return 0;
}

/**
 * struct dedup - a run
 * @ask: what is asked
 * @r: what came of it so far
 * @in: capture being read
 * @out: being written
 * @removed: being written, where asked for
 * @mem: the filter
 * @clock: of the packets
 * @meter: progress
 */
struct dedup {
	struct dedup_ask *ask;
	struct dedup_result *r;
	struct capture_in in;
	struct capture_out out;
	struct capture_out removed;
	struct epf_mem *mem;
	struct clock clock;
	struct meter meter;
};

/* 0, or EXIT_FAIL: packet and flow keys need to know the link type. */
static int set_link(struct dedup *d)
{
	struct epf_pkt_opts *key = &d->ask->key;
	int link = capture_link(&d->in);

	if (key->key == EPF_PKT_FRAME)
		return 0;
	if (link < 0)
		return fail("%s: link type %d (%s): only --key frame works on it",
			    d->ask->in, pcap_datalink(d->in.pcap),
			    capture_link_name(&d->in));
	key->link = (__u8)link;
	return 0;
}

/* Show progress now and then. Return: stop? */
static bool meter(struct dedup *d, const struct capture_in *in, __u64 packets)
{
	__u64 all = S_ISREG(in->stat.st_mode) ? in->stat.st_size : 0;

	if (packets & (METER_EVERY - 1))
		return false;
	return meter_update(&d->meter, in->done_bytes, all);
}

/**
 * struct busiest - packets of the fullest epoch
 * @first_ns: where the first epoch begins
 * @epoch: the one that @here counts
 * @here: packets in it
 * @most: in any
 */
struct busiest {
	__u64 first_ns;
	__u64 epoch;
	__u64 here;
	__u64 most;
};

static void busiest_add(struct busiest *b, __u64 ns, __u64 epoch_ns)
{
	__u64 epoch = (ns - b->first_ns) / epoch_ns;

	if (epoch != b->epoch)
		b->here = 0;
	b->epoch = epoch;
	b->here++;
	if (b->here > b->most)
		b->most = b->here;
}

/* Read the file once to count the packets of its busiest epoch. Epochs of the
 * filter begin at the first time stamp and follow without gaps (mem.c), so the
 * count is exact. Damage and signals are left for the second reading to report.
 * Return: at least 1; 0: an error is printed.
 */
static __u64 count_busiest(struct dedup *d)
{
	__u64 epoch_ns = (d->ask->time_ns + EPF_LIVE_EPOCHS - 1) /
			 EPF_LIVE_EPOCHS;
	const unsigned char *data;
	struct pcap_pkthdr *hdr;
	struct busiest b = { 0 };
	struct clock clock = { 0 };
	struct capture_in in;
	__u64 packets = 0;

	if (capture_open(&in, d->ask->in)) {
		fail("%s: %s", d->ask->in, in.why);
		return 0;
	}
	while (!interrupted && capture_next(&in, &hdr, &data) > 0) {
		clock_set(&clock, capture_ns(&in, hdr));
		if (!packets)
			b.first_ns = clock.now_ns;
		busiest_add(&b, clock.now_ns, epoch_ns);
		meter(d, &in, ++packets);
	}
	capture_close(&in);
	return b.most ? b.most : 1;
}

/* What the filter is to promise. A window longer than the file is clipped. */
static int set_window(struct dedup *d, struct promise *p)
{
	const struct dedup_ask *ask = d->ask;
	bool file = S_ISREG(d->in.stat.st_mode);
	__u64 bound = d->in.stat.st_size / RECORD_MIN_BYTES + 1;
	__u64 most;

	if (ask->window) {
		p->window = file && ask->window > bound ? bound : ask->window;
		return 0;
	}
	p->time_ns = ask->time_ns;
	p->pps = ask->pps;
	if (p->pps > 0)
		return 0;
	if (!file)
		return fail("%s is no regular file and cannot be read twice: "
			    "-w needs --rate", ask->in);
	most = count_busiest(d);
	if (!most)
		return EXIT_FAIL;
	p->pps = (double)(most * EPF_LIVE_EPOCHS) * NS_PER_SEC /
		 (double)p->time_ns;
	return 0;
}

static int make_filter(struct dedup *d)
{
	const struct dedup_ask *ask = d->ask;
	double limit = ask->budget * LIMIT_FACTOR;
	struct promise promise = {
		.budget = ask->budget,
		.limit = ask->window || limit > 1 ? 1 : limit,
		.max_bytes = ask->max_bytes,
	};
	struct epf_params *p = &d->r->planned.params;
	int err;

	if (set_window(d, &promise) ||
	    !promise_plan(&promise, &d->r->planned))
		return EXIT_FAIL;
	p->hash = ask->strict ? EPF_HASH_SIPHASH24 : EPF_HASH_SIPHASH13;
	p->refresh = ask->first_seen ? EPF_FIRST_SEEN : EPF_REFRESH;
	d->mem = epf_mem_new(p, NULL, d->clock.now_ns, &err);
	if (!d->mem)
		return fail("no filter of %s: %s",
			    fmt_bytes(p->nr_lines * EPF_LINE_BYTES).s,
			    strerror(-err));
	return 0;
}

/* Was the packet seen inside the window? What has no key was not. */
static bool is_repeat(struct dedup *d, const struct pcap_pkthdr *hdr,
		      const unsigned char *data)
{
	__u64 digest;

	switch (epf_mem_pkt_digest(d->mem, data, hdr->caplen, &d->ask->key,
				   &digest)) {
	case 0:
		return epf_mem_test_and_insert(d->mem, digest,
					       d->clock.now_ns);
	case -ENODATA:
		d->r->truncated++;
		return false;
	case -EPROTO:
		d->r->not_ip++;
		return false;
	default:
		d->r->malformed++;
		return false;
	}
}

static void set_clock(struct dedup *d, const struct pcap_pkthdr *hdr)
{
	__u64 back = clock_set(&d->clock, capture_ns(&d->in, hdr));

	if (!back)
		return;
	d->r->clock_back++;
	if (back > d->r->clock_back_ns)
		d->r->clock_back_ns = back;
}

static int write_to(struct capture_out *out, const char *name,
		    const struct pcap_pkthdr *hdr, const unsigned char *data)
{
	if (!capture_put(out, hdr, data))
		return 0;
	return interrupted ? EXIT_FAIL : fail("%s: %s", name, out->why);
}

static int one_packet(struct dedup *d, const struct pcap_pkthdr *hdr,
		      const unsigned char *data)
{
	struct dedup_result *r = d->r;

	r->read++;
	if (is_repeat(d, hdr, data)) {
		r->repeats++;
		if (d->removed.stream)
			return write_to(&d->removed, d->ask->removed, hdr,
					data);
		if (!d->ask->count_only)
			return 0;
	}
	r->kept++;
	return write_to(&d->out, d->ask->out, hdr, data);
}

/* What to do where the capture breaks off. */
static int damaged(struct dedup *d)
{
	snprintf(d->r->damaged, sizeof(d->r->damaged), "%s", d->in.why);
	if (d->ask->keep_going)
		return 0;
	return fail("%s: damaged after packet %llu (%s): --keep-going keeps "
		    "what can be read", d->ask->in, d->r->read, d->in.why);
}

/* All packets; the first is read before the filter is made, which begins at its
 * time.
 */
static int all_packets(struct dedup *d)
{
	const unsigned char *data;
	struct pcap_pkthdr *hdr;
	int got = capture_next(&d->in, &hdr, &data);
	int err;

	if (got > 0)
		set_clock(d, hdr);
	err = make_filter(d);
	while (got > 0 && !err && !meter(d, &d->in, d->r->read)) {
		set_clock(d, hdr);
		err = one_packet(d, hdr, data);
		if (!err)
			got = capture_next(&d->in, &hdr, &data);
	}
	meter_end(&d->meter);
	if (interrupted)
		return fail("interrupted: %s is not written", d->ask->out);
	if (!err && got < 0)
		err = damaged(d);
	return err;
}

static bool same_file(const struct stat *a, const char *path)
{
	struct stat b;

	return strcmp(path, "-") && !stat(path, &b) && S_ISREG(b.st_mode) &&
	       a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

static int create_outputs(struct dedup *d)
{
	const struct dedup_ask *ask = d->ask;

	if (same_file(&d->in.stat, ask->out) ||
	    (ask->removed && same_file(&d->in.stat, ask->removed)))
		return fail("%s would be overwritten: give the output another "
			    "name", ask->in);
	if (capture_create(&d->out, ask->out, &d->in))
		return fail("%s: %s", ask->out, d->out.why);
	if (!ask->removed)
		return 0;
	if (capture_create(&d->removed, ask->removed, &d->in))
		return fail("%s: %s", ask->removed, d->removed.why);
	if (d->out.file.path && d->removed.file.path &&
	    !strcmp(d->out.file.path, d->removed.file.path))
		return fail("OUT and --removed are both %s: give them two "
			    "names", ask->out);
	return 0;
}

/* The repeats first: OUT under its name says that all is done. */
static int commit_outputs(struct dedup *d)
{
	if (d->removed.stream && capture_commit(&d->removed))
		return fail("%s: %s", d->ask->removed, d->removed.why);
	if (capture_commit(&d->out))
		return fail("%s: %s", d->ask->out, d->out.why);
	return 0;
}

int dedup_run(struct dedup_ask *ask, struct dedup_result *result)
{
	struct dedup d = { .ask = ask, .r = result,
			   .meter = { .what = "dedup" } };
	__u64 start_ns = now_ns();
	int err;

	if (capture_open(&d.in, ask->in))
		return fail("%s: %s", ask->in, d.in.why);
	err = set_link(&d);
	if (!err)
		err = create_outputs(&d);
	if (!err)
		err = all_packets(&d);
	if (!err)
		err = commit_outputs(&d);
	if (!err)
		epf_mem_info(d.mem, d.clock.now_ns, &result->info);
	capture_discard(&d.removed);
	capture_discard(&d.out);
	epf_mem_free(d.mem);
	capture_close(&d.in);
	result->took_ns = now_ns() - start_ns;
	return err;
}
