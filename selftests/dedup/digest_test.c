// SPDX-License-Identifier: GPL-2.0
/*
 * The digests of the exact table (user/epfctl/dedup_digest.c) against their definition in
 * docs/DEDUP.md, computed in another way. All keys are drawn with a fixed seed.
 */
#include "../core/tap.h"
#include "epfctl/dedup_digest.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"

#define LONGEST 1100u
#define SLOTS 1024u
/* The fullest of 1,024 slots has 13 of 1,024 random keys with a probability of 6e-8. */
#define FULLEST 12

typedef unsigned __int128 number;

static __u64 draw_word(void)
{
	return draw(1ULL << 32) << 32 | draw(1ULL << 32);
}

static void draw_keys(struct digest_keys *k, __u32 kind)
{
	__u64 *word = &k->fold[0][0][0];
	size_t i;

	for (i = 0; i < 2; i++)
		epf_hash_init(&k->hash[i], draw_word(), draw_word(), kind);
	for (i = 0; i < sizeof(k->fold) / sizeof(*word); i++)
		word[i] = draw_word();
}

static void digest_of(const struct digest_keys *k, const __u8 *frame, __u32 len, __u64 digest[2])
{
	struct epf_seg seg = { .data = frame, .len = len };
	struct epf_pkt pkt = { .seg = &seg, .nr_segs = 1, .len = len };
	struct epf_pkt_opts frames = { .key = EPF_PKT_FRAME };

	if (digest_packet(k, &pkt, &frames, digest))
		abort();
}

static __u64 word_at(const __u8 *frame, __u32 len, __u32 at)
{
	__u64 word = 0;
	__u32 i;

	for (i = 0; i < 8 && at + i < len; i++)
		word |= (__u64)frame[at + i] << 8 * i;
	return word;
}

static __u64 folded(const struct digest_keys *k, int which, const __u8 *frame, __u32 len)
{
	const __u64(*f)[2] = k->fold[which];
	const __u64 *nh = k->hash[which].nh;
	number sum = 0, word[4] = { 0, 0, len, 1 }, all = 0;
	__u32 at;
	int i;

	for (at = 0; at < len; at += 16)
		sum += (number)(word_at(frame, len, at) + nh[at / 8]) *
		       (word_at(frame, len, at + 8) + nh[at / 8 + 1]);
	word[0] = (__u64)sum;
	word[1] = sum >> 64;
	for (i = 0; i < 4; i++)
		all += ((number)f[i][1] << 64 | f[i][0]) * word[i];
	return all >> 64;
}

static bool is_defined(const struct digest_keys *k, const __u8 *frame, __u32 len)
{
	__u64 digest[2];
	int i;

	digest_of(k, frame, len, digest);
	if (len < 16 || len > 512 || k->hash[0].kind != EPF_HASH_NH) {
		for (i = 0; i < 2; i++)
			if (digest[i] != epf_digest(&k->hash[i], frame, len))
				return false;
		return true;
	}
	return digest[0] == folded(k, 0, frame, len) &&
	       digest[1] == epf_word(folded(k, 1, frame, len), 1);
}

/* Every length, at every offset from a word; the memory ends with the frame. */
static bool every_length(__u32 kind)
{
	static const __u8 edges[] = { 0, 0xff, 0x80 };
	struct digest_keys k;
	__u32 len, i;
	bool ok = true;

	draw_keys(&k, kind);
	for (len = 0; len <= LONGEST; len++) {
		__u32 off = len % 8;
		__u8 *room = malloc(off + len + !(off + len));

		for (i = 0; i < off + len; i++)
			room[i] = len % 5 ? (__u8)draw(256) : edges[len / 5 % 3];
		ok &= is_defined(&k, room + off, len);
		free(room);
	}
	return ok;
}

/* Every bit of a frame and its length change both digests. */
static bool every_bit_counts(void)
{
	static const __u32 lens[] = { 1, 15, 16, 17, 31, 60, 64, 511, 512, 513, 1024 };
	__u8 frame[LONGEST] = { 0 };
	struct digest_keys k;
	__u64 was[2], is[2];
	size_t n;
	__u32 i;
	bool ok = true;

	draw_keys(&k, EPF_HASH_NH);
	for (n = 0; n < sizeof(lens) / sizeof(*lens); n++) {
		digest_of(&k, frame, lens[n], was);
		for (i = 0; i < 8 * lens[n]; i++) {
			frame[i / 8] ^= 1 << i % 8;
			digest_of(&k, frame, lens[n], is);
			frame[i / 8] ^= 1 << i % 8;
			ok &= is[0] != was[0] && is[1] != was[1];
		}
		digest_of(&k, frame, lens[n] + 1, is);
		ok &= is[0] != was[0] && is[1] != was[1];
	}
	return ok;
}

/* How many of 1,024 frames, in which one word counts in steps, have the fullest slot? */
static __u32 fullest(const struct digest_keys *k, __u32 at, __u64 step)
{
	static __u32 held[SLOTS];
	__u8 frame[64] = { 0 };
	__u32 most = 0, i;
	__u64 digest[2], word;

	memset(held, 0, sizeof(held));
	for (i = 0; i < SLOTS; i++) {
		word = htole64(i * step);
		memcpy(frame + at, &word, sizeof(word));
		digest_of(k, frame, sizeof(frame), digest);
		if (++held[digest[1] % SLOTS] > most)
			most = held[digest[1] % SLOTS];
	}
	return most;
}

static bool slots_fill_evenly(void)
{
	struct digest_keys k;
	__u32 at, shift;
	bool ok = true;

	for (shift = 0; shift < 56; shift += 4) {
		draw_keys(&k, EPF_HASH_NH);
		for (at = 0; at < 64; at += 8)
			ok &= fullest(&k, at, 1ULL << shift) <= FULLEST;
	}
	return ok;
}

/* Two draws share no word, and within one the two functions share none. */
static bool keys_are_drawn(void)
{
	struct digest_keys k[2] = { 0 };
	__u64 *a = &k[0].fold[0][0][0], *b = &k[1].fold[0][0][0];
	size_t i, half = sizeof(k[0].fold[0]) / sizeof(*a);
	bool ok = true;

	for (i = 0; i < 2; i++)
		ok &= !digest_keys_draw(&k[i], EPF_HASH_NH) &&
		      k[i].hash[0].key[0] != k[i].hash[1].key[0] &&
		      k[i].hash[0].key[1] != k[i].hash[1].key[1];
	ok &= k[0].hash[0].key[0] != k[1].hash[0].key[0];
	for (i = 0; i < 2 * half; i++)
		ok &= a[i] != b[i];
	for (i = 0; i < half; i++)
		ok &= a[i] != a[half + i];
	return ok;
}

int main(void)
{
	tap_plan(5);
	tap_ok(every_length(EPF_HASH_NH), "digests of 0 to 1,100 bytes");
	tap_ok(every_length(EPF_HASH_SIPHASH24), "the same, SipHash-2-4");
	tap_ok(every_bit_counts(), "every bit counts, and the length");
	tap_ok(slots_fill_evenly(), "frames that differ in one word fill the slots evenly");
	tap_ok(keys_are_drawn(), "keys are drawn, and independent");
	return tap_end();
}
