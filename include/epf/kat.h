/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Known answers: the core against the vectors of the reference model.
 *
 * Every result is compared with its vector and folded into the sum of its section, s' =
 * epf_word(s + result, 1) from s = 0. The sums of the sections are folded likewise into the
 * total: one number that is EPF_KAT_TOTAL on every platform. A platform that cannot run all
 * sections compares those it runs.
 *
 *   hash    the digest
 *   nh      the digest of long keys by EPF_HASH_NH
 *   geom    the line and the mask of each part in turn
 *   filter  as struct epf_kat_op says; each script runs on a filter of its own
 *   packet  the digest, or the error code; the frame is given whole and in three segments,
 *           and both results must be equal
 *
 * For testing only; any context, a few ms in all.
 */
#ifndef EPF_KAT_H
#define EPF_KAT_H

#include "lanes.h"
#include "packet.h"
#include "vectors.h"
#include "window.h"

enum epf_kat_section {
	EPF_KAT_HASH,
	EPF_KAT_NH,
	EPF_KAT_GEOM,
	EPF_KAT_FILTER,
	EPF_KAT_PACKET,
	EPF_KAT_SECTIONS
};

#define EPF_KAT_LEN(table) ((__u32)(sizeof(table) / sizeof((table)[0])))

/**
 * struct epf_kat_fold - results of one section
 * @sum: folded
 * @done: results so far
 * @bad: number of the first wrong result, from 1; 0: none
 */
struct epf_kat_fold {
	__u64 sum;
	__u32 done;
	__u32 bad;
};

EPF_FN void epf_kat_note(struct epf_kat_fold *f, __u64 got, __u64 want)
{
	f->sum = epf_word(f->sum + got, 1);
	f->done++;
	if (got != want && !f->bad)
		f->bad = f->done;
}

EPF_FN void epf_kat_hash_key(struct epf_hash *h, __u32 kind)
{
	epf_hash_init(h, EPF_KAT_KEY0, EPF_KAT_KEY1, kind);
}

/* Vector @i of section hash for a kind of hash; @i, below EPF_KAT_LENGTHS, is its length. */
EPF_FN void epf_kat_hash(struct epf_kat_fold *f, const struct epf_hash *h, __u32 i)
{
	epf_kat_note(f, epf_digest(h, epf_kat_key, i),
		     epf_kat_digest[h->kind * EPF_KAT_LENGTHS + i]);
}

/* Vector @i of section nh; the kind of @h is EPF_HASH_NH. */
EPF_FN void epf_kat_long(struct epf_kat_fold *f, const struct epf_hash *h, __u32 i)
{
	epf_kat_note(f, epf_digest(h, epf_kat_key, epf_kat_nh_len[i]), epf_kat_nh[i]);
}

/* Vector @i of section geom, for the given shape. */
EPF_FN void epf_kat_geometry(struct epf_kat_fold *f, const struct epf_kat_shape *s, __u32 i)
{
	const struct epf_kat_geom *v = &epf_kat_geom[i];
	struct epf_geom g;
	__u32 j;

	if (epf_geom_init(&g, s->nr_lines, s->parts, s->k)) {
		epf_kat_note(f, 0, ~0ULL);
		return;
	}
	for (j = 0; j < g.parts; j++) {
		epf_kat_note(f, epf_geom_line(&g, v->digest, j), v->line[j]);
		epf_kat_note(f, epf_geom_mask(&g, v->digest, j), v->mask[j]);
	}
}

/**
 * struct epf_kat_filter - a script's filter, without its lines
 * @state: changing part
 * @window: of the script
 * @hash: likewise
 * @now_ns: its clock
 */
struct epf_kat_filter {
	struct epf_state state;
	struct epf_window window;
	struct epf_hash hash;
	__u64 now_ns;
};

/* Return: 0, or -EINVAL: the vector is out of range. */
EPF_FN int epf_kat_begin(struct epf_kat_filter *f, const struct epf_kat_script *s)
{
	f->now_ns = 0;
	epf_state_init(&f->state, 0);
	epf_kat_hash_key(&f->hash, s->strict);
	return epf_window_init(&f->window, s->mode, s->first_seen, s->inserts, s->ns);
}

/* End the epoch; the scan follows at once. */
EPF_FN void epf_kat_rotate(const struct epf_lanes *lanes, struct epf_kat_filter *f)
{
	__u64 first, end;
	__u32 i;

	epf_state_rotate(&f->state, f->now_ns);
	epf_scan_chunk(&f->state, EPF_KAT_LINES, &first, &end);
	for (i = 0; i < EPF_KAT_LINES / EPF_SCAN_CHUNKS; i++)
		epf_lanes_scan(lanes, first + i, 1);
	f->state.scanned++;
}

EPF_FN void epf_kat_advance(const struct epf_lanes *lanes, struct epf_kat_filter *f, __u64 ns)
{
	struct epf_state *s = &f->state;
	__u64 inserts = epf_count_of(epf_load(&s->count), s->epoch);

	f->now_ns += ns;
	if (epf_window_due(&f->window, inserts, f->now_ns - s->ring[s->epoch & 7].start_ns))
		epf_kat_rotate(lanes, f);
}

/* The epoch does not change here; a copy makes that visible to a BPF compiler. */
EPF_FN __u64 epf_kat_on_key(const struct epf_lanes *lanes, struct epf_kat_filter *f,
			    const struct epf_kat_op *op)
{
	__u8 key[4] = { (__u8)op->key, (__u8)(op->key >> 8), 0, 0 };
	__u64 epoch = epf_load(lanes->epoch);
	struct epf_lanes still = *lanes;
	struct epf_probe p;
	int verdict;
	__u64 e;

	still.epoch = &epoch;
	epf_probe(&still, epf_digest(&f->hash, key, sizeof(key)), &p);
	if (op->op == EPF_KAT_TEST)
		return (__u64)epf_lanes_test(&still, &p);
	if (op->op == EPF_KAT_INSERT) {
		e = epf_lanes_insert(&still, &p);
		epf_count_add(&f->state, e, 1);
		return e;
	}
	verdict = epf_lanes_test_and_insert(&still, &p, f->window.first_seen, &e);
	if (e)
		epf_count_add(&f->state, e, 1);
	return (__u64)verdict;
}

/* One operation of a script. Return: its result. */
EPF_FN __u64 epf_kat_step(const struct epf_lanes *lanes, struct epf_kat_filter *f,
			  const struct epf_kat_op *op)
{
	__u64 inserts, ns;

	epf_kat_advance(lanes, f, op->dt);
	switch (op->op) {
	case EPF_KAT_ROTATE:
		epf_kat_rotate(lanes, f);
		return f->state.epoch;
	case EPF_KAT_COVERED_INSERTS:
		epf_state_covered(&f->state, f->now_ns, &inserts, &ns);
		return inserts;
	case EPF_KAT_COVERED_NS:
		epf_state_covered(&f->state, f->now_ns, &inserts, &ns);
		return ns;
	}
	return epf_kat_on_key(lanes, f, op);
}

/* Script @i of section filter, on @f and EPF_KAT_LINES lines at @line. */
EPF_FN_BIG void epf_kat_filter(struct epf_kat_fold *fold, __u32 i, struct epf_kat_filter *f,
			       struct epf_line *line)
{
	const struct epf_kat_script *s = &epf_kat_script[i];
	struct epf_lanes lanes;
	__u32 n;

	memset(line, 0, EPF_KAT_LINES * sizeof(*line));
	lanes.line = line;
	lanes.epoch = &f->state.epoch;
	if (epf_geom_init(&lanes.geom, EPF_KAT_LINES, s->parts, s->k) || epf_kat_begin(f, s)) {
		epf_kat_note(fold, 0, ~0ULL);
		return;
	}
	for (n = 0; n < EPF_KAT_OPS; n++) {
		const struct epf_kat_op *op = &epf_kat_op[i * EPF_KAT_OPS + n];

		epf_kat_note(fold, epf_kat_step(&lanes, f, op), op->result);
	}
}

/* Digest of a frame in the segments that end at @a, @b and @v->len. */
EPF_FN_BIG __u64 epf_kat_frame_result(const struct epf_kat_pkt *v, __u32 a, __u32 b)
{
	const struct epf_pkt_scope scope = { EPF_KAT_IFACE, EPF_KAT_MARK };
	const __u8 *frame = epf_kat_frame + v->at;
	struct epf_pkt_opts o;
	struct epf_seg seg[3];
	struct epf_pkt pkt;
	struct epf_hash h;
	__u64 digest = 0;
	int err;

	seg[0].data = frame;
	seg[0].len = a;
	seg[1].data = frame + a;
	seg[1].len = b - a;
	seg[2].data = frame + b;
	seg[2].len = v->len - b;
	pkt.seg = seg;
	pkt.nr_segs = a < v->len ? 3 : 1;
	pkt.len = v->len;
	memset(&o, 0, sizeof(o));
	o.key = v->key;
	o.link = v->link;
	o.flags = v->flags;
	o.max_bytes = v->max_bytes;
	epf_kat_hash_key(&h, 0);
	err = epf_pkt_opts_check(&o);
	if (!err)
		err = epf_pkt_digest_in(&h, &pkt, &o, &scope, &digest);
	switch (err) {
	case 0:
		return digest;
	case -ENODATA:
		return 1;
	case -EBADMSG:
		return 2;
	case -EPROTO:
		return 3;
	case -ENOMSG:
		return 4;
	}
	return err < -EPF_CONTROL ? 16 + (__u64)(-err - EPF_CONTROL) : 5;
}

/* Vector @i of section packet. */
EPF_FN_BIG void epf_kat_packet(struct epf_kat_fold *f, __u32 i)
{
	const struct epf_kat_pkt *v = &epf_kat_pkt[i];
	__u32 a = i % (v->len + 1u);
	__u32 b = a + i * 7 % (v->len - a + 1u);
	__u64 whole = epf_kat_frame_result(v, v->len, v->len);

	if (epf_kat_frame_result(v, a, b) != whole)
		whole = ~whole;
	epf_kat_note(f, whole, v->ret ? v->ret : v->digest);
}

/**
 * struct epf_kat - results of all sections
 * @fold: by section
 * @total: EPF_KAT_TOTAL if all results are right
 * @hash: scratch
 * @filter: likewise
 */
struct epf_kat {
	struct epf_kat_fold fold[EPF_KAT_SECTIONS];
	__u64 total;
	struct epf_hash hash;
	struct epf_kat_filter filter;
};

EPF_FN const char *epf_kat_name(__u32 section)
{
	switch (section) {
	case EPF_KAT_HASH:
		return "hash";
	case EPF_KAT_NH:
		return "nh";
	case EPF_KAT_GEOM:
		return "geom";
	case EPF_KAT_FILTER:
		return "filter";
	}
	return "packet";
}

/**
 * epf_kat_run() - run all vectors
 * @kat: result
 * @line: EPF_KAT_LINES lines of scratch memory
 *
 * Return: -1 if all results are right, otherwise the section of the first wrong result,
 * which is number fold[section].bad - 1 there.
 */
EPF_FN_BIG int epf_kat_run(struct epf_kat *kat, struct epf_line *line)
{
	int first = -1;
	__u32 i;

	memset(kat, 0, sizeof(*kat));
	for (i = 0; i < EPF_KAT_LEN(epf_kat_digest); i++) {
		if (!(i % EPF_KAT_LENGTHS))
			epf_kat_hash_key(&kat->hash, i / EPF_KAT_LENGTHS);
		epf_kat_hash(&kat->fold[EPF_KAT_HASH], &kat->hash, i % EPF_KAT_LENGTHS);
	}
	epf_kat_hash_key(&kat->hash, EPF_HASH_NH);
	for (i = 0; i < EPF_KAT_LEN(epf_kat_nh); i++)
		epf_kat_long(&kat->fold[EPF_KAT_NH], &kat->hash, i);
	for (i = 0; i < EPF_KAT_LEN(epf_kat_geom); i++)
		epf_kat_geometry(&kat->fold[EPF_KAT_GEOM], &epf_kat_shape[i / EPF_KAT_PER_SHAPE],
				 i);
	for (i = 0; i < EPF_KAT_LEN(epf_kat_script); i++)
		epf_kat_filter(&kat->fold[EPF_KAT_FILTER], i, &kat->filter, line);
	for (i = 0; i < EPF_KAT_LEN(epf_kat_pkt); i++)
		epf_kat_packet(&kat->fold[EPF_KAT_PACKET], i);
	for (i = 0; i < EPF_KAT_SECTIONS; i++) {
		const struct epf_kat_fold *f = &kat->fold[i];

		kat->total = epf_word(kat->total + f->sum, 1);
		if (first < 0 && (f->bad || f->sum != epf_kat_sum[i]))
			first = (int)i;
	}
	return first;
}

#endif /* EPF_KAT_H */
