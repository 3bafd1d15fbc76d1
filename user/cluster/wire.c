// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cluster/wire.h"

#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <isa-l/crc.h>

#include "epf/hash.h"
#include "epf/keydesc.h"
#include "records/rec_error.h"

#define MAGIC "EPFC"
#define VERSION 1

/* All words little-endian. */
struct head {
	char magic[4];
	__u16 version;
	__u16 head_bytes;
	__u64 check[2];
	__u32 hash_kind;
	__u32 count;
	__u64 window_ns;
	char host[CLUSTER_HOST_BYTES];
	__u64 incarnation;
	__u64 seq;
	__u64 from;
	__u64 to;
	__u64 lost;
	__u32 crc;
	__u32 zero;
};

_Static_assert(sizeof(struct head) == CLUSTER_HEAD_BYTES, "without gaps");

bool cluster_host_valid(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

	return n && n < CLUSTER_HOST_BYTES && !name[n];
}

void cluster_check(__u64 check[2], const __u64 key[2], __u32 hash_kind,
		   const struct epf_key_desc *desc, __u64 window_ns)
{
	struct {
		char text[32];
		__u64 number;
		__u64 window_ns;
		__u32 hash_kind;
		__u32 described;
		__u32 kind, key, flags, max_bytes;
	} of = { .text = "epochfilter cluster check 1" };
	struct epf_hash h;
	__u64 i;

	of.window_ns = htole64(window_ns);
	of.hash_kind = htole32(hash_kind);
	if (desc) {
		of.described = htole32(1);
		of.kind = htole32(desc->kind);
		of.key = htole32(desc->key);
		of.flags = htole32((__u32)desc->flags & ~EPF_KEY_DESC_WAYS);
		of.max_bytes = htole32(desc->max_bytes);
	}
	epf_hash_init(&h, key[0], key[1], EPF_HASH_SIPHASH24);
	for (i = 0; i < 2; i++) {
		of.number = htole64(i);
		check[i] = epf_digest(&h, &of, sizeof(of));
	}
}

size_t cluster_msg_bytes(__u32 count)
{
	return CLUSTER_HEAD_BYTES + 8 * (size_t)count;
}

/* The library takes bytes that are not const, and does not write to them. */
static __u32 crc_more(__u32 crc, const void *bytes, size_t len)
{
	return crc32_iscsi((unsigned char *)(uintptr_t)bytes, (int)len, crc);
}

/* CRC32C (Castagnoli; RFC 3720, section 12.1) of a message without its field "crc". */
static __u32 crc_of(const void *msg, size_t bytes)
{
	const size_t at = offsetof(struct head, crc), after = at + sizeof(__u32);
	__u32 crc = crc_more(~0u, msg, at);

	return ~crc_more(crc, (const char *)msg + after, bytes - after);
}

/* What is wrong with the fields that a publisher chooses; NULL: nothing. */
static const char *msg_fault(const struct cluster_msg *m)
{
	if (!cluster_host_valid(m->host))
		return "the host name is none";
	if (m->seq == ~0ULL)
		return "sequence number out of range";
	if (m->to < m->from)
		return "it ends before it begins";
	if (!m->seq && (m->to || m->count || m->lost))
		return "no sequence number, but contents";
	if (m->seq && !m->to)
		return "a sequence number, but no time";
	return NULL;
}

static void head_make(struct head *h, const struct cluster_msg *m)
{
	memset(h, 0, sizeof(*h));
	memcpy(h->magic, MAGIC, sizeof(h->magic));
	h->version = htole16(VERSION);
	h->head_bytes = htole16(CLUSTER_HEAD_BYTES);
	h->check[0] = htole64(m->check[0]);
	h->check[1] = htole64(m->check[1]);
	h->hash_kind = htole32(m->hash_kind);
	h->count = htole32(m->count);
	h->window_ns = htole64(m->window_ns);
	memcpy(h->host, m->host, strlen(m->host));
	h->incarnation = htole64(m->incarnation);
	h->seq = htole64(m->seq);
	h->from = htole64(m->from);
	h->to = htole64(m->to);
	h->lost = htole64(m->lost);
}

size_t cluster_msg_put(const struct cluster_msg *m, void *buf, size_t room)
{
	size_t bytes = cluster_msg_bytes(m->count);
	char *digests = (char *)buf + CLUSTER_HEAD_BYTES;
	struct head h;
	__u32 i;

	if (m->count > CLUSTER_DIGESTS_MAX || bytes > room || msg_fault(m))
		return 0;
	head_make(&h, m);
	memcpy(buf, &h, sizeof(h));
	for (i = 0; i < m->count; i++) {
		__u64 word = htole64(m->digest[i]);

		memcpy(digests + 8 * (size_t)i, &word, 8);
	}
	h.crc = htole32(crc_of(buf, bytes));
	memcpy((char *)buf + offsetof(struct head, crc), &h.crc, sizeof(h.crc));
	return bytes;
}

static void msg_take(struct cluster_msg *m, const struct head *h)
{
	m->check[0] = le64toh(h->check[0]);
	m->check[1] = le64toh(h->check[1]);
	m->hash_kind = le32toh(h->hash_kind);
	m->window_ns = le64toh(h->window_ns);
	memcpy(m->host, h->host, sizeof(m->host));
	m->incarnation = le64toh(h->incarnation);
	m->seq = le64toh(h->seq);
	m->from = le64toh(h->from);
	m->to = le64toh(h->to);
	m->lost = le64toh(h->lost);
	m->count = le32toh(h->count);
}

/* Is the rest of the name zero? A message has one encoding only. */
static bool padded(const char host[CLUSTER_HOST_BYTES])
{
	size_t i = strnlen(host, CLUSTER_HOST_BYTES);

	if (i == CLUSTER_HOST_BYTES)
		return false;
	for (; i < CLUSTER_HOST_BYTES; i++)
		if (host[i])
			return false;
	return true;
}

/* Check all that does not depend on the meaning of the fields. */
static int head_check(const struct head *h, const void *buf, size_t bytes, struct rec_error *e)
{
	__u32 count = le32toh(h->count);

	if (memcmp(h->magic, MAGIC, sizeof(h->magic)))
		return rec_error_set(e, -EBADMSG, "not a message of a cluster");
	if (le16toh(h->version) != VERSION)
		return rec_error_set(e, -EPROTO, "version %u, not %u: another epochfilter",
				     le16toh(h->version), VERSION);
	if (le16toh(h->head_bytes) != CLUSTER_HEAD_BYTES)
		return rec_error_set(e, -EPROTO, "a header of %u bytes, not %u",
				     le16toh(h->head_bytes), CLUSTER_HEAD_BYTES);
	if (count > CLUSTER_DIGESTS_MAX)
		return rec_error_set(e, -EMSGSIZE, "%u digests, at most %u are allowed", count,
				     CLUSTER_DIGESTS_MAX);
	if (bytes != cluster_msg_bytes(count))
		return rec_error_set(e, -EMSGSIZE, "%zu bytes, but %u digests take %zu", bytes,
				     count, cluster_msg_bytes(count));
	if (le32toh(h->crc) != crc_of(buf, bytes))
		return rec_error_set(e, -EBADMSG, "damaged: the checksum differs");
	if (h->zero)
		return rec_error_set(e, -EPROTO, "an unknown field is set");
	if (!padded(h->host))
		return rec_error_set(e, -EINVAL, "the host name is none");
	return 0;
}

int cluster_msg_get(struct cluster_msg *m, const void *buf, size_t bytes, __u64 *digests,
		    struct rec_error *e)
{
	const char *from = (const char *)buf + CLUSTER_HEAD_BYTES, *fault;
	struct head h;
	__u32 i;
	int err;

	if (bytes < CLUSTER_HEAD_BYTES)
		return rec_error_set(e, -EMSGSIZE, "%zu bytes, a header has %u", bytes,
				     CLUSTER_HEAD_BYTES);
	memcpy(&h, buf, sizeof(h));
	err = head_check(&h, buf, bytes, e);
	if (err)
		return err;
	msg_take(m, &h);
	fault = msg_fault(m);
	if (fault)
		return rec_error_set(e, -EINVAL, "%s", fault);
	for (i = 0; i < m->count; i++) {
		memcpy(&digests[i], from + 8 * (size_t)i, 8);
		digests[i] = le64toh(digests[i]);
	}
	m->digest = digests;
	return 0;
}
