// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "records/reader.h"
#include "records/stamp.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void rec_put(struct rec_source *s, struct rec_batch *b, __u64 digest, struct rec_raw raw)
{
	b->digest[b->n] = digest;
	b->ns[b->n] = s->ns;
	b->raw[b->n++] = raw;
	s->count.records++;
}

int rec_bad(struct rec_source *s, struct rec_error *e, const char *fmt, ...)
{
	va_list ap;

	if (s->spec.skip_bad) {
		s->count.bad++;
		return 0;
	}
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

/* @k is empty. */
static const char *join_hex(struct keytext *k, const struct rec_raw *part, unsigned int n)
{
	struct keytext one;
	unsigned int i;

	for (i = 0; i < n; i++) {
		const char *why = NULL;

		one.len = 0;
		if (part[i].len)
			why = keytext_hex(&one, part[i].data, part[i].len);
		if (why)
			return why;
		if (k->len + one.len > EPF_KEY_MAX)
			return keytext_length(k->len + one.len);
		memcpy(k->bytes + k->len, one.bytes, one.len);
		k->len += one.len;
	}
	return NULL;
}

static const char *join_text(struct keytext *k, const struct rec_raw *part, unsigned int n,
			     char joint)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		size_t len = part[i].len + !!i;

		if (len > EPF_KEY_MAX - k->len)
			return keytext_length(EPF_KEY_MAX + 1);
		if (i)
			k->bytes[k->len] = (__u8)joint;
		if (part[i].len)
			memcpy(k->bytes + k->len + !!i, part[i].data, part[i].len);
		k->len += len;
	}
	return NULL;
}

void rec_put_key(struct rec_source *s, struct rec_batch *b, struct rec_raw raw,
		 const struct keytext *key)
{
	__u64 digest;

	if (s->spec.digest)
		memcpy(&digest, key->bytes, sizeof(digest));
	else
		digest = epf_digest(&s->hash, key->bytes, (__u32)key->len);
	rec_put(s, b, digest, raw);
}

/* A record with an empty key counts as keyless, not as bad. */
int rec_key(struct rec_source *s, struct rec_batch *b, struct rec_raw raw,
	    const struct rec_raw *part, struct rec_error *e)
{
	unsigned int n = s->nr_fields ? s->nr_fields : 1;
	struct keytext key = { .len = 0 };
	const char *why = NULL;

	if (s->spec.hex)
		why = join_hex(&key, part, n);
	else if (!s->spec.digest)
		why = join_text(&key, part, n, s->spec.joint);
	else if (part->len)
		why = keytext_digest(&key, part->data, part->len);
	if (why)
		return rec_bad(s, e, "line %llu: %s", rec_line_nr(s), why);
	if (key.len)
		rec_put_key(s, b, raw, &key);
	else
		s->count.keyless++;
	return 0;
}

const char *rec_stamp(struct rec_source *s, const struct rec_raw *part)
{
	unsigned int n = s->nr_parts - s->nr_fields;
	struct keytext text = { .len = 0 };

	if (!n)
		return NULL;
	if (join_text(&text, part, n, ' ') ||
	    !stamp_parse((const char *)text.bytes, text.len, s->spec.stamp_form, &s->ns))
		return "its time stamp cannot be read: see --stamp and --stamp-format";
	return NULL;
}

bool rec_flow(struct rec_source *s, const struct epf_flow_rec *flow, __u64 *digest)
{
	const struct epf_pkt_opts *o = &s->spec.pkt;
	static const __u8 none[4];

	if ((!epf_has_ports(flow->proto) || memcmp(flow->id, none, 4) || o->key == EPF_PKT_PEER) &&
	    !epf_flow_rec_digest(&s->hash, flow, o, digest))
		return true;
	s->count.keyless++;
	return false;
}
