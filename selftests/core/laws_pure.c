// SPDX-License-Identifier: GPL-2.0
/* Properties of the pure functions: digests, geometry, packet keys, range checks. */
#include <epf/kat.h>

#include "tap.h"

#include <math.h>
#include <stdlib.h>

static __u64 drawn;

static __u64 draw(__u64 below)
{
	return epf_word(0x5eed, (__u32)++drawn) % below;
}

/* Sanitizers look at memory and at overflows, which take fewer draws. */
#ifdef __SANITIZE_ADDRESS__
#define SHARE 10
#else
#define SHARE 1
#endif

static __u64 draw64(void)
{
	return epf_word(0x64, (__u32)++drawn);
}

static bool cut_digest(const struct epf_hash *h, const __u8 *data, __u32 len)
{
	struct epf_sip sip;
	__u32 at = 0;

	epf_sip_init(&sip, h, len);
	while (at < len) {
		__u32 n = (__u32)draw(20);

		if (n > len - at)
			n = len - at;
		epf_sip_update(&sip, h, data + at, n);
		at += n;
	}
	return epf_sip_final(&sip, h) == epf_digest(h, data, len);
}

static void digests_do_not_see_cuts(void)
{
	struct epf_hash h[3];
	__u8 data[1100];
	bool good = true;
	__u32 i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (__u8)draw(256);
	for (i = 0; i < 3; i++)
		epf_hash_init(&h[i], 1, 2, i);
	for (i = 0; i < 6 * sizeof(data); i++)
		good &= cut_digest(&h[i % 3], data, i / 6);
	tap_ok(good, "a digest does not depend on how the message is cut");
}

/* An unaligned key, right before a byte that must not change its digest. */
static void digests_of_unaligned_keys(void)
{
	struct epf_hash h;
	__u8 room[300], copy[300];
	bool good = true;
	__u32 at, len;

	for (at = 0; at < 8; at++)
		for (len = 0; len <= EPF_KEY_MAX; len++) {
			__u64 a, b;

			epf_hash_init(&h, 3, 4, (at + len) % 3);
			memset(room, (int)len, sizeof(room));
			memset(copy, ~(int)len, sizeof(copy));
			memset(copy, (int)len, len);
			a = epf_digest(&h, room + at, len);
			b = epf_digest(&h, copy, len);
			good &= a == b;
		}
	tap_ok(good, "a digest depends on its bytes only, aligned or not");
}

/* Long multiplication in base 2^32. */
static __u64 long_mulhi(__u64 a, __u64 b)
{
	__u64 digit[4] = { 0 };
	int i, j;

	for (i = 0; i < 2; i++) {
		__u64 carry = 0;

		for (j = 0; j < 2; j++) {
			__u64 sum = (a >> 32 * i & 0xffffffff) * (b >> 32 * j & 0xffffffff);

			sum += digit[i + j] + carry;
			digit[i + j] = sum & 0xffffffff;
			carry = sum >> 32;
		}
		digit[i + 2] = carry;
	}
	return digit[3] << 32 | digit[2];
}

static bool scale_is_exact(__u64 word, __u64 n)
{
	__u64 got = epf_mulhi(word, n);

	return got == long_mulhi(word, n) && (!n || got < n);
}

static void scale(void)
{
	static const __u64 words[] = { 0,         1,    0xffffffff, 1ULL << 32, 0xffffffff00000000,
				       ~0ULL - 1, ~0ULL };
	static const __u64 lines[] = { 0,          1,    16,         63,
				       64,         65,   1ULL << 29, (1ULL << 31) - 1,
				       1ULL << 31, ~0ULL };
	bool good = true;
	int i, j;

	for (i = 0; i < 7; i++)
		for (j = 0; j < 10; j++)
			good &= scale_is_exact(words[i], lines[j]);
	for (i = 0; i < 1000000; i++)
		good &= scale_is_exact(draw64(), draw64() >> draw(64));
	tap_ok(good, "scaling a word to 0 .. n-1 is floor(word * n / 2^64)");
}

static bool probe_is_sound(const struct epf_geom *g, __u64 digest)
{
	__u32 j;

	for (j = 0; j < g->parts; j++) {
		__u64 mask = epf_geom_mask(g, digest, j);
		__u64 line = epf_geom_line(g, digest, j);

		if (mask >> EPF_LANE_BITS || epf_popcount(mask) > g->bits)
			return false;
		if (line / g->part_lines != j)
			return false;
	}
	return true;
}

static void masks(void)
{
	static const __u64 part_lines[] = { 64, 65, 1000001, EPF_PART_LINES_MAX - 1,
					    EPF_PART_LINES_MAX };
	struct epf_geom g = { 0 };
	bool good = true;
	__u32 parts, n, i;

	for (parts = 1; parts <= EPF_PARTS_MAX; parts *= 2)
		for (n = 1; n <= EPF_PART_BITS_MAX; n++)
			for (i = 0; i < 2000; i++) {
				good &= !epf_geom_init(&g, parts * part_lines[i % 5], parts,
						       parts * n);
				good &= probe_is_sound(&g, draw64());
			}
	tap_ok(good, "masks have k/L positions below 62 at the most, lines lie in their part");
}

#define SAMPLE 1000000
#define MASKS (SAMPLE / SHARE)
#define SIGMAS 6 /* exceeded by chance less than once in 10^8; seeds are fixed */

/* Chi-square in standard deviations: Wilson and Hilferty, "The distribution of
 * chi-square", PNAS 17, 1931.
 */
static double sigmas(double chi_square, double freedom)
{
	double var = 2 / (9 * freedom);

	return (cbrt(chi_square / freedom) - (1 - var)) / sqrt(var);
}

/* Return: how far the counts of @cells cells are off; all cells are equally likely if @chance is
 * NULL. Cells expected less than ten times count as one.
 */
static double off_by(const __u32 *count, const double *chance, __u32 cells, double all)
{
	double sum = 0, few = 0, few_want = 0, want;
	__u32 i, used = 0;

	for (i = 0; i < cells; i++) {
		want = all * (chance ? chance[i] : 1. / cells);
		if (want < 10) {
			few += count[i];
			few_want += want;
			continue;
		}
		sum += (count[i] - want) * (count[i] - want) / want;
		used++;
	}
	if (few_want > 0)
		sum += (few - few_want) * (few - few_want) / few_want;
	used += few_want > 0;
	return sigmas(sum, used - 1);
}

/* Return: digests, random where @free is set, else equal to one constant. */
static __u64 digest_of(__u64 free)
{
	return (draw64() & free) | (0x9ddfea08eb382d69 & ~free);
}

/* Compute the probabilities of 0 .. n distinct positions for n fields. */
static void distinct_chances(double *chance, __u32 n)
{
	__u32 i, u;

	memset(chance, 0, sizeof(*chance) * (EPF_PART_BITS_MAX + 1));
	chance[0] = 1;
	for (i = 0; i < n; i++)
		for (u = i + 1; u--;) {
			double more = chance[u] * (EPF_LANE_BITS - u) / EPF_FIELDS;

			chance[u] -= more;
			chance[u + 1] += more;
		}
}

/* Return: chi-square of each position, and of the number of positions of a key, in part @j. A
 * position is set by at least one of n fields; with one field, all of its 64 values are seen, two
 * of which set no position.
 */
static double masks_off_by(const struct epf_geom *g, __u32 j, __u64 free)
{
	__u32 set[EPF_LANE_BITS] = { 0 }, nr[EPF_PART_BITS_MAX + 1] = { 0 };
	double chance[EPF_PART_BITS_MAX + 1], sum = 0, one, worst;
	__u32 i, p;

	for (i = 0; i < MASKS; i++) {
		__u64 mask = epf_geom_mask(g, digest_of(free), j);

		nr[epf_popcount(mask)]++;
		for (p = 0; p < EPF_LANE_BITS; p++)
			set[p] += mask >> p & 1;
	}
	one = 1 - pow(1 - 1. / EPF_FIELDS, g->bits);
	for (p = 0; p < EPF_LANE_BITS; p++)
		sum += pow(set[p] - MASKS * one, 2) / (MASKS * one * (1 - one));
	worst = sigmas(sum, EPF_LANE_BITS);
	distinct_chances(chance, g->bits);
	return fmax(worst, off_by(nr, chance, g->bits + 1, MASKS));
}

/* With up to @most fields, for each number of fields that there are bits for. */
static void fields_are_even(const char *what, __u64 free, __u32 most)
{
	static const __u32 ns[] = { 1, 4, 5, 6, 10, 15 };
	struct epf_geom g = { 0 };
	double worst = 0;
	__u32 i, j;

	for (i = 0; i < 6 && ns[i] <= most; i++)
		for (j = 0; j < EPF_PARTS_MAX; j++) {
			epf_geom_init(&g, 64, EPF_PARTS_MAX, EPF_PARTS_MAX * ns[i]);
			worst = fmax(worst, masks_off_by(&g, j, free));
		}
	tap_ok(worst < SIGMAS,
	       "%s: every value of a field is as likely, fields are independent: %.1f sigma", what,
	       worst);
}

#define FEW 16u /* lines of a part */

/* Lines of the parts from @from on: each combination is equally likely, so the probability that
 * two keys share the lines of all parts is the product of those of each part.
 */
static void lines_are_even(const char *what, __u64 free, __u32 from)
{
	static __u32 count[FEW * FEW * FEW * FEW];
	struct epf_geom g = { 0 };
	__u32 cells = 1, cell, i, j;
	double worst;

	epf_geom_init(&g, EPF_PARTS_MAX * FEW, EPF_PARTS_MAX, EPF_PARTS_MAX);
	for (j = from; j < EPF_PARTS_MAX; j++)
		cells *= FEW;
	memset(count, 0, sizeof(count));
	for (i = 0; i < SAMPLE; i++) {
		__u64 digest = digest_of(free);

		for (j = from, cell = 0; j < EPF_PARTS_MAX; j++)
			cell = cell * FEW + (__u32)(epf_geom_line(&g, digest, j) - j * FEW);
		count[cell]++;
	}
	worst = off_by(count, NULL, cells, SAMPLE);
	tap_ok(worst < SIGMAS, "%s: lines of %u parts are even and independent: %.1f sigma", what,
	       EPF_PARTS_MAX - from, worst);
}

/* The joint distribution of part @j's line and part @i's field, if any. */
static double joint_off_by(__u32 j, __u32 i)
{
	static __u32 count[FEW * EPF_FIELDS];
	static double chance[FEW * EPF_FIELDS];
	struct epf_geom g = { 0 };
	__u32 n, at;

	epf_geom_init(&g, EPF_PARTS_MAX * FEW, EPF_PARTS_MAX, EPF_PARTS_MAX);
	memset(count, 0, sizeof(count));
	for (at = 0; at < FEW * EPF_FIELDS; at++)
		chance[at] = 1. / (FEW * EPF_FIELDS);
	for (n = 0; n < SAMPLE; n++) {
		__u64 digest = draw64();
		__u64 mask = epf_geom_mask(&g, digest, i);
		__u32 line = (__u32)(epf_geom_line(&g, digest, j) - j * FEW);

		/* a key without a position counts for two values by turns */
		count[line * EPF_FIELDS +
		      (mask ? (__u32)__builtin_ctzll(mask) : EPF_LANE_BITS + n % 2)]++;
	}
	return off_by(count, chance, FEW * EPF_FIELDS, SAMPLE);
}

static void lines_tell_no_fields(void)
{
	double worst = 0;
	__u32 i, j;

	for (j = 0; j < EPF_PARTS_MAX; j++)
		for (i = 0; i < EPF_PARTS_MAX; i++)
			worst = fmax(worst, joint_off_by(j, i));
	tap_ok(worst < SIGMAS, "a line and a field are independent, of any two parts: %.1f sigma",
	       worst);
}

#define LOW 0xffffffffULL

static void geometry_is_even(void)
{
	fields_are_even("random digests", ~0ULL, 15);
	fields_are_even("the low half is random", LOW, 5);
	fields_are_even("the high half is random", ~LOW, 5);
	lines_are_even("random digests", ~0ULL, 0);
	lines_are_even("the low half is random", LOW, 1);
	lines_are_even("the high half is random", ~LOW, 0);
	lines_tell_no_fields();
}

static void shapes_are_checked(void)
{
	struct epf_geom g = { 0 };
	bool good = true;
	__u32 parts;

	for (parts = 0; parts <= 9; parts++) {
		bool known = parts == 1 || parts == 2 || parts == 4;

		good &= !epf_geom_init(&g, 64, parts, parts) == known;
		if (!known)
			continue;
		good &= !epf_geom_init(&g, 64, parts, 15 * parts);
		good &= epf_geom_init(&g, 64, parts, 16 * parts) < 0;
		good &= epf_geom_init(&g, 64, parts, parts - 1) < 0;
		good &= epf_geom_init(&g, 64, parts, 0) < 0;
		good &= !epf_geom_init(&g, 64, parts, parts + 1) == (parts == 1);
		good &= !epf_geom_init(&g, 64, parts, parts + 2) == (parts <= 2);
		good &= epf_geom_init(&g, 64 - parts, parts, parts) < 0;
		good &= epf_geom_init(&g, 0, parts, parts) < 0;
		good &= !epf_geom_init(&g, parts * EPF_PART_LINES_MAX, parts, parts);
		good &= epf_geom_init(&g, parts * (EPF_PART_LINES_MAX + 1), parts, parts) < 0;
		good &= !epf_geom_init(&g, 65, parts, parts) == (parts == 1);
		good &= !epf_geom_init(&g, 66, parts, parts) == (parts <= 2);
	}
	tap_ok(good, "geometry: ranges are checked at 0, ends and beyond");
}

static void windows_are_checked(void)
{
	struct epf_window w;
	bool good = true;

	good &= !epf_window_init(&w, EPF_MODE_COUNT, 0, 1, 0);
	good &= !epf_window_init(&w, EPF_MODE_COUNT, 1, EPF_INSERTS_MAX, 0);
	good &= epf_window_init(&w, EPF_MODE_COUNT, 0, EPF_INSERTS_MAX + 1, 0) < 0;
	good &= epf_window_init(&w, EPF_MODE_COUNT, 0, 0, 0) < 0;
	good &= epf_window_init(&w, EPF_MODE_COUNT, 0, 1, 1) < 0;
	good &= epf_window_init(&w, EPF_MODE_COUNT, 2, 1, 0) < 0;
	good &= !epf_window_init(&w, EPF_MODE_TIME, 0, 0, 1);
	good &= !epf_window_init(&w, EPF_MODE_TIME, 0, 0, EPF_NS_MAX);
	good &= epf_window_init(&w, EPF_MODE_TIME, 0, 0, EPF_NS_MAX + 1) < 0;
	good &= epf_window_init(&w, EPF_MODE_TIME, 0, 0, 0) < 0;
	good &= epf_window_init(&w, EPF_MODE_TIME, 0, 1, 1) < 0;
	good &= !epf_window_init(&w, EPF_MODE_EITHER, 0, 1, 1);
	good &= epf_window_init(&w, EPF_MODE_EITHER, 0, 0, 1) < 0;
	good &= epf_window_init(&w, EPF_MODE_BOTH, 0, 1, 0) < 0;
	good &= epf_window_init(&w, EPF_MODE_MAX + 1, 0, 1, 1) < 0;
	tap_ok(good, "window: ranges are checked at 0, ends and beyond");
}

static void options_are_checked(void)
{
	struct epf_pkt_opts o = { EPF_PKT_FRAME, 0, 0, 0 };
	bool good = !epf_pkt_opts_check(&o);

	o.flags = EPF_PKT_NO_MAC;
	good &= epf_pkt_opts_check(&o) < 0;
	o.key = EPF_PKT_PACKET;
	good &= !epf_pkt_opts_check(&o);
	o.flags = EPF_PKT_NONIP_FRAME;
	good &= epf_pkt_opts_check(&o) < 0;
	o.key = EPF_PKT_FLOW;
	good &= !epf_pkt_opts_check(&o);
	o.max_bytes = 1;
	good &= epf_pkt_opts_check(&o) < 0;
	o.max_bytes = 0;
	o.flags = EPF_PKT_NONIP_FRAME | EPF_PKT_PASS_CONTROL;
	good &= epf_pkt_opts_check(&o) < 0;
	o.flags = EPF_PKT_PASS_CONTROL;
	for (o.key = EPF_PKT_FRAME; o.key < EPF_PKT_KEYS; o.key++)
		good &= !epf_pkt_opts_check(&o);
	o.key = EPF_PKT_FLOW;
	o.flags = EPF_PKT_MASK + 1;
	good &= epf_pkt_opts_check(&o) < 0;
	o.flags = 0;
	o.key = EPF_PKT_KEYS;
	good &= epf_pkt_opts_check(&o) < 0;
	o.key = EPF_PKT_FLOW;
	o.link = EPF_LINK_SLL2 + 1;
	good &= epf_pkt_opts_check(&o) < 0;
	tap_ok(good, "packet options: what is unknown or useless is refused");
}

#define SEGS_MAX 9

/* Digest a frame in @nr segments, some of them empty. Each is copied to its own memory, so that a
 * sanitizer sees a read beyond one.
 */
static int segmented(const struct epf_hash *h, const __u8 *frame, __u32 len, __u32 nr,
		     const struct epf_pkt_opts *o, __u64 *digest)
{
	struct epf_seg seg[SEGS_MAX];
	struct epf_pkt pkt = { seg, nr, len };
	__u32 at = 0, i;
	int err;

	for (i = 0; i < nr; i++) {
		__u32 left = len - at;
		__u32 n = i + 1 == nr ? left : (__u32)draw(draw(3) ? 30 : 300);
		__u8 *copy;

		n = n < left ? n : left;
		copy = (__u8 *)malloc(n + !n);
		memcpy(copy, frame + at, n);
		seg[i].data = copy;
		seg[i].len = n;
		at += n;
	}
	err = epf_pkt_digest(h, &pkt, o, digest);
	for (i = 0; i < nr; i++)
		free((void *)(size_t)seg[i].data);
	return err;
}

static bool cuts_do_not_matter(const __u8 *frame, __u32 len, const struct epf_pkt_opts *o)
{
	__u64 whole = 0, cut = 0;
	struct epf_hash h;
	int err, err_cut;

	epf_hash_init(&h, 5, 6, (__u32)draw(3));
	err = segmented(&h, frame, len, 1, o, &whole);
	err_cut = segmented(&h, frame, len, 2 + (__u32)draw(SEGS_MAX - 1), o, &cut);
	return err == err_cut && (err || whole == cut);
}

/* The frames of the vectors, with random bytes changed and random lengths cut off. */
static void packets_do_not_see_cuts(void)
{
	bool good = true;
	__u32 i, n, done = 0;

	for (n = 0; n < 100; n++)
		for (i = 0; i < EPF_KAT_LEN(epf_kat_pkt); i++) {
			const struct epf_kat_pkt *v = &epf_kat_pkt[i];
			struct epf_pkt_opts o = { v->key, v->link, v->flags, v->max_bytes };
			__u32 len = v->len - (__u32)(draw(4) ? 0 : draw(v->len + 1u));
			__u8 frame[512];

			memcpy(frame, epf_kat_frame + v->at, len);
			if (len && draw(3))
				frame[draw(len)] ^= 1u << draw(8);
			good &= cuts_do_not_matter(frame, len, &o);
			done++;
		}
	tap_ok(good, "a packet's digest or error does not depend on its segments: %u frames", done);
}

/* Turn a packet into a control packet, or nearly into one. */
static void to_control(__u8 *f)
{
	static const __u16 port[] = { 66, 67, 68, 69, 3783, 3784, 3785, 3786, 4784, 6784, 7784 };
	__u32 at = 34 + 2 * (__u32)draw(2), which = (__u32)draw(11);

	switch (draw(4)) {
	case 0: /* 01:80:c2:00:00:00 to 1f */
		memcpy(f, "\x01\x80\xc2\0\0", 5);
		f[5] = (__u8)draw(32);
		break;
	case 1: /* 224.0.0.0/23 */
		memcpy(f + 30, "\xe0\0", 2);
		f[32] = (__u8)draw(2);
		break;
	default:
		f[23] = draw(4) ? 17 : 6;
		f[at] = (__u8)(port[which] >> 8);
		f[at + 1] = (__u8)port[which];
	}
}

/* Make an Ethernet frame without tags and a whole IPv4 packet without options, of a protocol with
 * ports, at times with padding behind it. Return: length.
 */
static __u32 plain_packet(__u8 *f)
{
	static const __u8 protos[] = { 6, 17, 33, 132, 136 };
	__u32 total = 24 + (__u32)draw(draw(2) ? 40 : 1400), i;

	for (i = 0; i < 14 + total + 30; i++)
		f[i] = (__u8)draw(256);
	f[12] = 0x08;
	f[13] = 0x00;
	f[14] = 0x45;
	f[16] = (__u8)(total >> 8);
	f[17] = (__u8)total;
	f[20] &= 0xc0; /* the reserved bit and "don't fragment" do not matter */
	f[21] = 0;
	f[23] = protos[draw(5)];
	if (!draw(4))
		to_control(f);
	return 14 + total + (__u32)(draw(2) ? draw(30) : 0);
}

#define PLAIN_MAX (14 + 24 + 1400 + 30)
#define CONTROL 64

/* Return: which fast paths take the packet: 1 epf_flow_plain(), 2 epf_packet_plain(), both added;
 * a wrong key counts as both and more. A packet whose first segment is too short for them takes
 * the slow path. A control packet that is to be passed has no key, and both paths must then say
 * the same.
 */
static int fast_paths(const __u8 *f, __u32 len, const struct epf_pkt_opts *o)
{
	struct epf_hash h;
	struct epf_seg seg[3] = { { f, len }, { f, 13 }, { f + 13, len - 13 } };
	struct epf_pkt whole = { seg, 1, len }, cut = { seg + 1, 2, len };
	__u64 first, tail, fast = 0, slow = 0;
	int err, took = 0;

	epf_hash_init(&h, 9, 10, (__u32)draw(3));
	err = epf_pkt_digest(&h, &cut, o, &slow);
	if (epf_pkt_digest(&h, &whole, o, &fast) != err || fast != slow)
		return 16;
	if (epf_flow_plain(f, len, o, &first, &tail))
		took = !err && epf_digest_words(&h, first, tail, 14) == slow ? 1 : 4;
	if (epf_packet_plain(&h, f, len, o, &fast))
		took |= !err && fast == slow ? 2 : 8;
	if (err < -EPF_CONTROL)
		return took ? 32 : CONTROL;
	return took;
}

static void fast_paths_take_plain_packets(void)
{
	struct epf_pkt_opts flow = { EPF_PKT_FLOW, EPF_LINK_ETHER, 0, 0 };
	struct epf_pkt_opts packet = { EPF_PKT_PACKET, EPF_LINK_ETHER, 0, 0 };
	__u8 f[PLAIN_MAX];
	bool good = true;
	__u32 i, len;

	for (i = 0; i < 200000 / SHARE && good; i++) {
		len = plain_packet(f);
		flow.flags = draw(2) ? EPF_PKT_NONIP_FRAME : 0;
		packet.flags = (__u16)draw(4);
		good &= fast_paths(f, len, &flow) == 1;
		good &= fast_paths(f, len, &packet) == 2;
	}
	tap_ok(good, "epf_flow_plain, epf_packet_plain: plain packets, same key as the long way");
}

/* Some 6 % of the packets are control packets, which have a key with the flag only. A correct
 * generator draws fewer than 2,000 of them with a probability below 1e-100.
 */
static void fast_paths_pass_control(void)
{
	struct epf_pkt_opts flow = { EPF_PKT_FLOW, EPF_LINK_ETHER, EPF_PKT_PASS_CONTROL, 0 };
	struct epf_pkt_opts packet = { EPF_PKT_PACKET, EPF_LINK_ETHER, EPF_PKT_PASS_CONTROL, 0 };
	__u32 i, len, passed = 0;
	bool good = true;
	__u8 f[PLAIN_MAX];
	int a, b;

	for (i = 0; i < 200000 / SHARE && good; i++) {
		len = plain_packet(f);
		a = fast_paths(f, len, &flow);
		b = fast_paths(f, len, &packet);
		good &= (a == 1 && b == 2) || (a == CONTROL && b == CONTROL);
		passed += a == CONTROL;
	}
	tap_ok(good && passed > 2000 / SHARE, "control packets have no key by any path: %u of them",
	       passed);
}

/* Make the packet not plain in the way @way. Return: the fast paths that must still take it, as
 * fast_paths() returns them.
 */
static int spoil(__u8 *f, __u32 *len, int way)
{
	__u32 total = (__u32)f[16] << 8 | f[17];

	switch (way) {
	case 0: /* EtherType: a random one, or that of a tag */
		f[12] = draw(2) ? 0x81 : (__u8)(9 + draw(247));
		return 3;
	case 1:
		f[13] = (__u8)(1 + draw(255));
		return 3;
	case 2: /* version or options */
		f[14] ^= (__u8)(1 + draw(255));
		return 3;
	case 3: /* a total length too short for the header, or for the ports */
		total = (__u32)draw(24);
		f[16] = 0;
		f[17] = (__u8)total;
		return total < 20 ? 3 : 1;
	case 4: /* more fragments, or a fragment offset */
		f[20] |= (__u8)(1 + draw(63));
		return 1;
	case 5:
		f[21] = (__u8)(1 + draw(255));
		return 1;
	case 6: /* no ports: ICMP, GRE, ESP */
		f[23] = (__u8[]){ 1, 47, 50 }[draw(3)];
		return 1;
	default: /* cut off: in the headers, or in the data */
		*len = 13 + (__u32)draw(1 + total);
		return 2 | (*len < 38);
	}
}

static void fast_paths_leave_others(void)
{
	struct epf_pkt_opts flow = { EPF_PKT_FLOW, EPF_LINK_ETHER, 0, 0 };
	struct epf_pkt_opts packet = { EPF_PKT_PACKET, EPF_LINK_ETHER, 0, 0 };
	struct epf_pkt_opts other[4] = { packet, packet, flow, flow };
	bool good = true;
	__u8 f[PLAIN_MAX];
	__u32 i, len;
	int not ;

	other[0].max_bytes = 5000;
	other[1].link = EPF_LINK_SLL;
	other[2].link = EPF_LINK_SLL2;
	other[3].flags = EPF_PKT_NONIP_FRAME | EPF_PKT_PASS_CONTROL;
	for (i = 0; i < 200000 / SHARE && good; i++) {
		len = plain_packet(f);
		good &= !(fast_paths(f, len, &other[i % 4]) & ~CONTROL);
		not = spoil(f, &len, (int)i % 8);
		good &= fast_paths(f, len, &flow) == (1 & ~not );
		good &= fast_paths(f, len, &packet) == (2 & ~not );
	}
	tap_ok(good, "epf_flow_plain, epf_packet_plain: other packets and options are left alone");
}

/* Some fields change when a packet is forwarded, and others do not. */
static __u64 packet_key(const __u8 *frame, __u32 len, int *err)
{
	struct epf_hash h = { { 7, 8 }, 0, { 0 } };
	struct epf_seg seg = { frame, len };
	struct epf_pkt pkt = { &seg, 1, len };
	struct epf_pkt_opts o = { EPF_PKT_PACKET, EPF_LINK_ETHER, EPF_PKT_NO_MAC, 0 };
	__u64 digest = 0;

	*err = epf_pkt_digest(&h, &pkt, &o, &digest);
	return digest;
}

static void forwarding_keeps_packets(void)
{
	const struct epf_kat_pkt *v = &epf_kat_pkt[0]; /* Ethernet, IPv4, TCP */
	__u8 frame[512];
	bool good = true;
	__u64 before, after;
	__u32 i;
	int err;

	memcpy(frame, epf_kat_frame + v->at, v->len);
	before = packet_key(frame, v->len, &err);
	for (i = 0; i < v->len && !err; i++) {
		bool forwarding = i < 12 || i == 22 || i == 24 || i == 25;
		bool shape = i == 12 || i == 13 || i == 14 || i == 16 || i == 17;

		if (shape) /* other EtherType, version or length: another packet */
			continue;
		frame[i] ^= 0x40;
		after = packet_key(frame, v->len, &err);
		good &= (before == after) == forwarding;
		frame[i] ^= 0x40;
	}
	tap_ok(good && !err, "packet keys change with every byte but MACs, TTL, checksum");
}

/* Make a UDP flow in a frame of @len bytes whose IP header claims @says bytes. */
static int flow_of_length(bool six, __u32 len, __u32 says, __u64 *digest)
{
	struct epf_hash h = { { 7, 8 }, 0, { 0 } };
	struct epf_pkt_opts o = { EPF_PKT_FLOW, EPF_LINK_ETHER, 0, 0 };
	__u8 *frame = (__u8 *)calloc(1, len), *ip = frame + 14;
	struct epf_seg seg = { frame, len };
	struct epf_pkt pkt = { &seg, 1, len };
	int err;

	memcpy(frame + 12, six ? "\x86\xdd" : "\x08\x00", 2);
	ip[0] = six ? 0x60 : 0x45;
	ip[six ? 6 : 9] = 17;
	ip[six ? 4 : 2] = (__u8)(says >> 8);
	ip[six ? 5 : 3] = (__u8)says;
	memcpy(ip + (six ? 40 : 20), "\x12\x34\x00\x35", 4);
	err = epf_pkt_digest(&h, &pkt, &o, digest);
	free(frame);
	return err;
}

/* A length that fits no field, because GSO has not cut the packet yet, is 0. */
static void lengths_that_no_header_tells(void)
{
	bool good = true;
	__u64 some = 0, all = 0;
	int six;

	for (six = 0; six < 2; six++) {
		__u32 counted = six ? 14 + 40 : 14; /* bytes before the counted ones */

		good &= !flow_of_length(six, counted + 100, 100, &some);
		good &= !flow_of_length(six, counted + 65536, 0, &all);
		good &= some == all;
		good &= flow_of_length(six, counted + 65535, 0, &all) == -EBADMSG;
	}
	tap_ok(good, "flows of packets that are longer than a header can tell");
}

/* What a merge does with a lane. Keys without positions ask for the lane's tag alone; where the
 * epoch's tag is 0, memory never written already has it.
 */
static void lanes_of_other_numbers(void)
{
	__u64 masks_of[] = { EPF_TAG_MASK, EPF_TAG_MASK | 5 }, from, to, v;
	bool kept = true, strange = false;
	unsigned int i;

	for (i = 0; i < 2; i++)
		for (from = EPF_EPOCH_FIRST; from < EPF_EPOCH_FIRST + 64; from++)
			for (to = EPF_EPOCH_FIRST; to < EPF_EPOCH_FIRST + 64; to++) {
				v = epf_tag(from) | epf_lane_positions(masks_of[i]);
				kept &= epf_lane_holds(epf_lane_retag(v, from, to), masks_of[i],
						       to);
				strange |= epf_lane_retag(v, from + 8, to);
			}
	tap_ok(kept && !strange, "a lane of another number has its keys, those of no position too");
}

int main(void)
{
	tap_plan(21);
	digests_do_not_see_cuts();
	digests_of_unaligned_keys();
	scale();
	masks();
	geometry_is_even();
	lanes_of_other_numbers();
	shapes_are_checked();
	windows_are_checked();
	options_are_checked();
	packets_do_not_see_cuts();
	fast_paths_take_plain_packets();
	fast_paths_pass_control();
	fast_paths_leave_others();
	forwarding_keeps_packets();
	lengths_that_no_header_tells();
	return tap_end();
}
