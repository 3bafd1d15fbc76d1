// SPDX-License-Identifier: GPL-2.0
/* Messages of a cluster: what is encoded is decoded; anything else is refused, by name. */
#include "../core/tap.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "cluster/nats_why.h"
#include "cluster/wire.h"
#include "common/array.h"

#include "epf/hash.h"

static __u8 bytes[CLUSTER_MSG_BYTES_MAX + 8];
static __u64 sent[CLUSTER_DIGESTS_MAX], got[CLUSTER_DIGESTS_MAX + 1];
static struct rec_error error;

static struct cluster_msg sample(__u32 count)
{
	struct cluster_msg m = {
		.check = { 0x1122334455667788ULL, 2 },
		.hash_kind = 1,
		.window_ns = 60000000000ULL,
		.host = "host-A_9",
		.incarnation = 77,
		.seq = 5,
		.from = 1000,
		.to = 2000,
		.lost = 3,
		.count = count,
		.digest = sent,
	};
	return m;
}

/* CRC32C bit by bit, from RFC 3720's polynomial, reflected. */
static __u32 crc_bitwise(const __u8 *p, size_t n)
{
	__u32 crc = ~0u;
	size_t i;
	int bit;

	for (i = 0; i < n; i++) {
		if (i >= 144 && i < 148)
			continue;
		crc ^= p[i];
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static void seal(size_t n)
{
	__u32 crc = htole32(crc_bitwise(bytes, n));

	memcpy(bytes + 144, &crc, 4);
}

static bool same(const struct cluster_msg *a, const struct cluster_msg *b)
{
	return !memcmp(a->check, b->check, sizeof(a->check)) && a->hash_kind == b->hash_kind &&
	       a->window_ns == b->window_ns && !memcmp(a->host, b->host, sizeof(a->host)) &&
	       a->incarnation == b->incarnation && a->seq == b->seq && a->from == b->from &&
	       a->to == b->to && a->lost == b->lost && a->count == b->count &&
	       !memcmp(a->digest, b->digest, 8 * (size_t)a->count);
}

static bool there_and_back(__u32 count)
{
	struct cluster_msg m = sample(count), back;
	size_t n = cluster_msg_put(&m, bytes, sizeof(bytes));

	return n == cluster_msg_bytes(count) && n == 152 + 8 * (size_t)count &&
	       !cluster_msg_get(&back, bytes, n, got, &error) && same(&m, &back);
}

/* Bytes as docs/CLUSTER.md lists them. */
static bool layout(void)
{
	struct cluster_msg m = sample(1);
	__u64 word, at104[5] = { 77, 5, 1000, 2000, 3 };
	__u32 crc;
	size_t n = cluster_msg_put(&m, bytes, sizeof(bytes));
	int i;

	for (i = 0; i < 5; i++) {
		memcpy(&word, bytes + 104 + 8 * i, 8);
		if (le64toh(word) != at104[i])
			return false;
	}
	memcpy(&crc, bytes + 144, 4);
	memcpy(&word, bytes + 152, 8);
	return n == 160 && !memcmp(bytes, "EPFC\1\0\230\0\210\167\146\125\104\63\42\21", 16) &&
	       bytes[24] == 1 && bytes[28] == 1 && !strcmp((char *)bytes + 40, "host-A_9") &&
	       le32toh(crc) == crc_bitwise(bytes, n) && le64toh(word) == sent[0];
}

/* Every change of one bit, and every other length, is refused. */
static bool damaged(void)
{
	struct cluster_msg m = sample(9), back;
	size_t n = cluster_msg_put(&m, bytes, sizeof(bytes)), i;
	int bit;

	for (i = 0; i < n; i++)
		for (bit = 0; bit < 8; bit++) {
			bytes[i] ^= (__u8)(1 << bit);
			if (!cluster_msg_get(&back, bytes, n, got, &error))
				return false;
			bytes[i] ^= (__u8)(1 << bit);
		}
	for (i = 0; i < n + 64; i++)
		if (i != n && cluster_msg_get(&back, bytes, i, got, &error) != -EMSGSIZE)
			return false;
	return !cluster_msg_get(&back, bytes, n, got, &error);
}

/* Store @value of @size bytes at @at of a sound message, seal it again: it is refused with @err. */
static bool refuses(size_t at, __u64 value, size_t size, int err, const char *words)
{
	__u64 pair[2] = { htole64(value), 0 };
	struct cluster_msg m = sample(2), back;
	size_t n = cluster_msg_put(&m, bytes, sizeof(bytes));

	memcpy(bytes + at, pair, size);
	seal(n);
	return cluster_msg_get(&back, bytes, n, got, &error) == err && strstr(error.text, words);
}

static void refusals(void)
{
	tap_ok(refuses(0, 0, 1, -EBADMSG, "not a message"), "another magic");
	tap_ok(refuses(4, 2, 2, -EPROTO, "version 2, not 1"), "another version");
	tap_ok(refuses(6, 160, 2, -EPROTO, "a header of 160"), "another header");
	tap_ok(refuses(28, 65537, 4, -EMSGSIZE, "65537 digests"), "too many digests");
	tap_ok(refuses(28, 0xffffffff, 4, -EMSGSIZE, "digests"), "a count that overflows 32 bits");
	tap_ok(refuses(28, 0x20000002, 4, -EMSGSIZE, "digests"),
	       "a count that wraps to the same size");
	tap_ok(refuses(28, 1, 4, -EMSGSIZE, "but 1 digests"), "a count that is not the length");
	tap_ok(refuses(148, 1, 4, -EPROTO, "unknown field"), "an unknown field");
	tap_ok(refuses(40, 0, 1, -EINVAL, "host name"), "no host name");
	tap_ok(refuses(44, '.', 1, -EINVAL, "host name"), "a host name of two tokens");
	tap_ok(refuses(44, '*', 1, -EINVAL, "host name"), "a host name with a wildcard");
	tap_ok(refuses(103, 'x', 1, -EINVAL, "host name"), "bytes behind the host name");
	tap_ok(refuses(112, ~0ULL, 8, -EINVAL, "out of range"),
	       "a sequence number that would wrap");
	tap_ok(refuses(128, 999, 8, -EINVAL, "ends before"),
	       "an interval that ends before it begins");
	tap_ok(refuses(112, 0, 8, -EINVAL, "but contents"), "contents without a sequence number");
	tap_ok(refuses(120, 0, 16, -EINVAL, "no time"), "a sequence number without a time");
}

/* A digest more than fits, and all bytes are there. */
static bool too_many(void)
{
	struct cluster_msg m = sample(CLUSTER_DIGESTS_MAX), back;
	__u32 count = htole32(CLUSTER_DIGESTS_MAX + 1);

	cluster_msg_put(&m, bytes, sizeof(bytes));
	memcpy(bytes + 28, &count, 4);
	seal(sizeof(bytes));
	return cluster_msg_get(&back, bytes, sizeof(bytes), got, &error) == -EMSGSIZE;
}

/* A name of 64 bytes has no end. */
static bool endless_name(void)
{
	struct cluster_msg m = sample(0), back;
	size_t n = cluster_msg_put(&m, bytes, sizeof(bytes));

	memset(bytes + 40, 'a', 64);
	seal(n);
	return cluster_msg_get(&back, bytes, n, got, &error) == -EINVAL;
}

/* What would be refused is not sent either. */
static bool not_sent(void)
{
	struct cluster_msg m[6];
	unsigned int i;

	for (i = 0; i < 6; i++)
		m[i] = sample(1);
	m[0].count = CLUSTER_DIGESTS_MAX + 1;
	m[1].host[0] = '.';
	m[2].to = m[2].from - 1;
	m[3].seq = 0;
	m[4].seq = ~0ULL;
	m[5].from = m[5].to = 0;
	for (i = 0; i < 6; i++)
		if (cluster_msg_put(&m[i], bytes, sizeof(bytes)))
			return false;
	m[0] = sample(1);
	return !cluster_msg_put(&m[0], bytes, 159) && cluster_msg_put(&m[0], bytes, 160) == 160;
}

static bool heartbeat(void)
{
	struct cluster_msg m = sample(0), back;
	size_t n;

	m.seq = m.from = m.to = m.lost = 0;
	n = cluster_msg_put(&m, bytes, sizeof(bytes));
	return n == 152 && !cluster_msg_get(&back, bytes, n, got, &error) && same(&m, &back);
}

/* Each parameter changes the check; how a key is found does not. */
static bool checks(void)
{
	struct epf_key_desc desc = { .kind = EPF_KEYS_PACKET, .key = EPF_PKT_FLOW }, other = desc;
	__u64 key[2] = { 3, 4 }, key2[2] = { 3, 5 }, c[7][2];
	int i, j;

	other.max_bytes = 9;
	cluster_check(c[0], key, 1, &desc, 100);
	cluster_check(c[1], key2, 1, &desc, 100);
	cluster_check(c[2], key, 2, &desc, 100);
	cluster_check(c[3], key, 1, &other, 100);
	cluster_check(c[4], key, 1, NULL, 100);
	cluster_check(c[5], key, 1, &desc, 101);
	for (i = 0; i < 6; i++)
		for (j = 0; j < i; j++)
			if (c[i][0] == c[j][0] || c[i][1] == c[j][1])
				return false;
	desc.flags |= EPF_PKT_REVERSE;
	cluster_check(c[6], key, 1, &desc, 100);
	return !memcmp(c[6], c[0], sizeof(c[0])) && c[0][0] != c[0][1];
}

/* By ../model/hashes.py, of little-endian words: the same on every CPU. */
static bool check_known(void)
{
	struct epf_key_desc desc = { .kind = EPF_KEYS_PACKET, .key = EPF_PKT_FLOW };
	__u64 key[2] = { 3, 4 }, c[2];

	cluster_check(c, key, 1, &desc, 100);
	return c[0] == 0xe6c387eea98fba46ULL && c[1] == 0x1e7ccc7d6ec49768ULL;
}

/* CVE-2026-33248 is mended in 2.11.15 and 2.12.6. */
static bool evadable(void)
{
	static const struct {
		const char *version;
		bool evadable;
	} of[] = { { "2.10.99", true }, { "2.11.14", true }, { "2.11.15", false },
		   { "2.12.0", true },  { "2.12.5", true },  { "2.12.6", false },
		   { "2.13.0", false }, { "1.99.99", true }, { "3.0.0", false },
		   { "2.11", true },    { "", true } };
	char info[128];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(of); i++) {
		snprintf(info, sizeof(info),
			 "{\"config\":{\"name\":\"s\",\"metadata\":{\"_nats.ver\":\"%s\"}}}",
			 of[i].version);
		if (nats_evadable(info) != of[i].evadable)
			return false;
	}
	return nats_evadable("{\"config\":{\"name\":\"s\"}}") && !nats_evadable("{\"error\":{}}");
}

int main(void)
{
	__u32 i;

	for (i = 0; i < CLUSTER_DIGESTS_MAX; i++)
		sent[i] = epf_word(i, 1);
	tap_plan(26);
	tap_ok(there_and_back(0) && there_and_back(1) && there_and_back(CLUSTER_DIGESTS_MAX),
	       "0, 1 and 65536 digests, there and back");
	tap_ok(layout(), "each field is where the document has it, and the sum is CRC32C");
	tap_ok(damaged(), "each bit that changes, and each other length, is noticed");
	refusals();
	tap_ok(too_many(), "65537 digests that are there");
	tap_ok(endless_name(), "a host name without an end");
	tap_ok(not_sent(), "what would be refused is not encoded");
	tap_ok(heartbeat(), "a heartbeat without a time");
	tap_ok(check_known(), "the check is that of the model, in any byte order");
	tap_ok(checks(), "the check tells key, hash, window and kind of keys apart");
	tap_ok(evadable(), "versions of nats-server whose verify_and_map can be evaded");
	return tap_end();
}
