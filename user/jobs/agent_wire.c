// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The messages between epfagent and its clients, as JSON. Input is untrusted: each
 * member is checked for type and range, and unknown members are refused.
 */
#include "jobs/agent.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "epf/keydesc.h"
#include "records/rec_error.h"

const char *const agent_fd_names[AGENT_FDS] = {
	"keys", "bitmap", "ages", "records", "snapshot",
};

/* Numbers */

static json_t *agent_wire_ages_json(const __u64 *ages)
{
	json_t *list = json_array();
	unsigned int i;

	for (i = 0; i < EPF_AGES_MAX; i++)
		json_array_append_new(list, json_integer((json_int_t)ages[i]));
	return list;
}

static bool ages_parse(__u64 *ages, json_t *list)
{
	unsigned int i;

	if (!json_is_array(list) || json_array_size(list) != EPF_AGES_MAX)
		return false;
	for (i = 0; i < EPF_AGES_MAX; i++) {
		json_t *v = json_array_get(list, i);

		if (!json_is_integer(v) || json_integer_value(v) < 0)
			return false;
		ages[i] = (__u64)json_integer_value(v);
	}
	return true;
}

/* Is each of @n numbers from 0 to @max? */
static bool agent_wire_in_range(const json_int_t *v, size_t n, json_int_t max)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (v[i] < 0 || v[i] > max)
			return false;
	return true;
}

/* Is it UTF-8's first byte of a control character U+0080 to U+009F? Terminals obey these, too. */
static bool is_c1(const char *c)
{
	return (unsigned char)c[0] == 0xc2 && (unsigned char)c[1] < 0xa0;
}

/* Every text of a peer is kept by this function: it is one line, for any terminal. */
static bool text_fits(const char *text, char *to, size_t room)
{
	size_t len = strlen(text), i;

	for (i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f || is_c1(text + i))
			return false;
	if (len >= room)
		return false;
	memcpy(to, text, len + 1);
	return true;
}

/* Requests */

static json_t *mark_json(const struct job_checkpoint *m)
{
	return json_pack("{sI sI so sI}", "keys", (json_int_t)m->keys, "present",
			 (json_int_t)m->present, "ages", agent_wire_ages_json(m->ages_of),
			 "record_bytes", (json_int_t)m->record_bytes);
}

static json_t *agent_wire_records_json(const struct rec_spec *r, const char *fields)
{
	json_t *o = json_pack("{ss sb sb sb sb si si si si si sI sb sb}", "format",
			      rec_format_name(r->format), "digest", r->digest, "hex", r->hex,
			      "header", r->header, "skip_bad", r->skip_bad, "separator",
			      (int)(unsigned char)r->separator, "joint",
			      (int)(unsigned char)r->joint, "key", (int)r->pkt.key, "link",
			      (int)r->pkt.link, "flags", (int)r->pkt.flags, "max_bytes",
			      (json_int_t)r->pkt.max_bytes, "as_filter", r->as_filter, "any_keys",
			      r->any_keys);

	if (o && fields[0])
		json_object_set_new(o, "fields", json_string(fields));
	if (o && r->multiline)
		json_object_set_new(o, "multiline", json_true());
	return o;
}

/* The names of the descriptors, in the order in which they are sent. */
static json_t *fds_json(const struct agent_request *r)
{
	const int place[AGENT_FDS] = { r->spec.keys_fd, r->spec.bitmap_fd, r->spec.ages_fd,
				       r->spec.records_fd, r->snapshot };
	json_t *list = json_array();
	int at, i;

	for (at = 0; at < AGENT_FDS; at++)
		for (i = 0; i < AGENT_FDS; i++)
			if (place[i] == at)
				json_array_append_new(list, json_string(agent_fd_names[i]));
	return list;
}

json_t *agent_request_json(const struct agent_request *r)
{
	json_t *o = json_pack("{ss so so si sb si so}", "op", "audit", "fds", fds_json(r),
			      "records", agent_wire_records_json(&r->spec.records, r->fields),
			      "key_len", (int)r->spec.key_len, "absent", r->spec.absent, "threads",
			      (int)r->spec.threads, "from", mark_json(&r->spec.from));

	if (o && r->filter[0])
		json_object_set_new(o, "filter", json_string(r->filter));
	if (o && r->engine[0])
		json_object_set_new(o, "engine", json_string(r->engine));
	return o;
}

static int mark_parse(struct job_checkpoint *m, json_t *o, struct rec_error *e)
{
	json_int_t v[3] = { 0 };
	json_error_t why;
	json_t *ages;

	if (json_unpack_ex(o, &why, JSON_STRICT, "{sI sI so sI}", "keys", &v[0], "present", &v[1],
			   "ages", &ages, "record_bytes", &v[2]))
		return rec_error_set(e, -EINVAL, "from: %s", why.text);
	if (!agent_wire_in_range(v, 3, INT64_MAX) || !ages_parse(m->ages_of, ages))
		return rec_error_set(e, -EINVAL, "from: a number is out of range");
	m->keys = (__u64)v[0];
	m->present = (__u64)v[1];
	m->record_bytes = (__u64)v[2];
	if (job_checkpoint_sound(m))
		return 0;
	return rec_error_set(e, -EINVAL,
			     "from: ages must add up to present, and "
			     "present must not exceed keys");
}

/* @v: separator, joint, key, link, flags, max_bytes */
static bool records_ranges(struct rec_spec *r, const json_int_t *v)
{
	if (!agent_wire_in_range(v, 2, 127) || !agent_wire_in_range(v + 2, 2, UINT8_MAX) ||
	    !agent_wire_in_range(v + 4, 1, UINT16_MAX) ||
	    !agent_wire_in_range(v + 5, 1, UINT32_MAX))
		return false;
	r->separator = (char)v[0];
	r->joint = (char)v[1];
	r->pkt.key = (__u8)v[2];
	r->pkt.link = (__u8)v[3];
	r->pkt.flags = (__u16)v[4];
	r->pkt.max_bytes = (__u32)v[5];
	return !epf_pkt_opts_check(&r->pkt);
}

static int records_parse(struct agent_request *r, json_t *o, struct rec_error *e)
{
	int digest = 0, hex = 0, header = 0, skip_bad = 0;
	int as_filter = 0, any_keys = 0, multiline = 0;
	struct rec_spec *to = &r->spec.records;
	const char *format, *fields = "";
	json_int_t v[6] = { 0 };
	json_error_t why;

	if (json_unpack_ex(o, &why, JSON_STRICT,
			   "{ss s?b s?b s?b s?b s?I s?I s?I s?I s?I s?I s?s "
			   "s?b s?b s?b}",
			   "format", &format, "digest", &digest, "hex", &hex, "header", &header,
			   "skip_bad", &skip_bad, "separator", &v[0], "joint", &v[1], "key", &v[2],
			   "link", &v[3], "flags", &v[4], "max_bytes", &v[5], "fields", &fields,
			   "as_filter", &as_filter, "any_keys", &any_keys, "multiline", &multiline))
		return rec_error_set(e, -EINVAL, "records: %s", why.text);
	if (!rec_format_named(format, &to->format))
		return rec_error_set(e, -EINVAL, "records: unknown format");
	if (!records_ranges(to, v) || !text_fits(fields, r->fields, sizeof(r->fields)))
		return rec_error_set(e, -EINVAL, "records: a member is out of range");
	to->digest = digest;
	to->hex = hex;
	to->header = header;
	to->skip_bad = skip_bad;
	to->as_filter = as_filter;
	to->any_keys = any_keys;
	to->multiline = multiline;
	to->fields = r->fields[0] ? r->fields : NULL;
	return 0;
}

static int *agent_wire_place_of(struct agent_request *r, const char *name)
{
	int *const to[AGENT_FDS] = { &r->spec.keys_fd, &r->spec.bitmap_fd, &r->spec.ages_fd,
				     &r->spec.records_fd, &r->snapshot };
	int i;

	for (i = 0; i < AGENT_FDS; i++)
		if (!strcmp(name, agent_fd_names[i]))
			return to[i];
	return NULL;
}

static int fds_parse(struct agent_request *r, json_t *list, unsigned int nr, struct rec_error *e)
{
	size_t i;

	if (!json_is_array(list) || json_array_size(list) != nr)
		return rec_error_set(e, -EINVAL,
				     "fds: must name each of the %u "
				     "descriptors that came with the request",
				     nr);
	for (i = 0; i < nr; i++) {
		const char *name = json_string_value(json_array_get(list, i));
		int *place = name ? agent_wire_place_of(r, name) : NULL;

		if (!place || *place >= 0)
			return rec_error_set(e, -EINVAL,
					     "fds: unknown or repeated "
					     "name");
		*place = (int)i;
	}
	return 0;
}

static int whole_ok(const struct agent_request *r, struct rec_error *e)
{
	const struct job_spec *s = &r->spec;

	if (s->keys_fd < 0)
		return rec_error_set(e, -EINVAL, "fds: 'keys' is missing");
	if ((r->snapshot >= 0) == !!r->filter[0])
		return rec_error_set(e, -EINVAL,
				     "give either a filter or a "
				     "snapshot");
	if (s->key_len > EPF_KEY_MAX)
		return rec_error_set(e, -EINVAL,
				     "a column's keys must have 1 to %u "
				     "bytes",
				     EPF_KEY_MAX);
	if (s->threads > EPF_AUDIT_THREADS_MAX)
		return rec_error_set(e, -EINVAL, "threads: at most %u", EPF_AUDIT_THREADS_MAX);
	return 0;
}

static int audit_parse(struct agent_request *r, json_t *json, unsigned int nr_fds,
		       struct rec_error *e)
{
	const char *op, *filter = "", *engine = "";
	json_t *fds, *records, *from = NULL;
	json_int_t v[2] = { 0 };
	json_error_t why;
	int absent = 0, ret;

	if (json_unpack_ex(json, &why, JSON_STRICT, "{ss so so s?I s?b s?I s?o s?s s?s}", "op", &op,
			   "fds", &fds, "records", &records, "key_len", &v[0], "absent", &absent,
			   "threads", &v[1], "from", &from, "filter", &filter, "engine", &engine))
		return rec_error_set(e, -EINVAL, "%s", why.text);
	if (!agent_wire_in_range(v, 2, UINT32_MAX) ||
	    !text_fits(filter, r->filter, sizeof(r->filter)) ||
	    !text_fits(engine, r->engine, sizeof(r->engine)))
		return rec_error_set(e, -EINVAL, "a member is out of range");
	r->spec.key_len = (__u32)v[0];
	r->spec.threads = (unsigned int)v[1];
	r->spec.absent = absent;
	ret = fds_parse(r, fds, nr_fds, e);
	if (!ret)
		ret = records_parse(r, records, e);
	if (!ret && from)
		ret = mark_parse(&r->spec.from, from, e);
	return ret;
}

/* jansson's error texts quote names of members, which may hold control characters. */
static void agent_wire_one_line(struct rec_error *e)
{
	char *c;

	for (c = e->text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
}

int agent_request_parse(struct agent_request *r, json_t *json, unsigned int nr_fds,
			struct rec_error *e)
{
	int ret;

	memset(r, 0, sizeof(*r));
	r->snapshot = r->spec.keys_fd = r->spec.bitmap_fd = -1;
	r->spec.ages_fd = r->spec.records_fd = -1;
	ret = audit_parse(r, json, nr_fds, e);
	if (!ret)
		ret = whole_ok(r, e);
	if (ret)
		agent_wire_one_line(e);
	return ret;
}

/* Answers */

json_t *agent_state_json(const struct job_state *s)
{
	char sum[20];

	snprintf(sum, sizeof(sum), "%016llx", (unsigned long long)s->bitmap_xxh3);
	return json_pack("{so sI sI sI sI sI sI sI ss ss ss ss ss*}", "mark", mark_json(&s->mark),
			 "keys_all", (json_int_t)s->keys_all, "bytes", (json_int_t)s->bytes,
			 "bytes_all", (json_int_t)s->bytes_all, "keyless", (json_int_t)s->keyless,
			 "bad", (json_int_t)s->bad, "left_out", (json_int_t)s->left_out, "spanning",
			 (json_int_t)s->spanning, "bitmap_xxh3", sum, "format",
			 rec_format_name(s->format), "engine", s->engine ? s->engine->name : "",
			 "why", s->why ? s->why : "", "fallen", s->fallen);
}

static bool sum_parse(__u64 *sum, const char *text)
{
	char *end;

	*sum = strtoull(text, &end, 16);
	return end == text + 16 && !*end;
}

int agent_state_parse(struct job_state *s, json_t *json)
{
	static __thread char kept[EPF_WHY_LEN];
	const char *sum, *format, *engine, *why, *fallen = NULL;
	struct rec_error unused;
	json_int_t v[7] = { 0 }; /* an older agent sends no "left_out" and "spanning" */
	json_t *mark;

	memset(s, 0, sizeof(*s));
	if (json_unpack(json, "{so sI sI sI sI sI s?I s?I ss ss ss ss s?s}", "mark", &mark,
			"keys_all", &v[0], "bytes", &v[1], "bytes_all", &v[2], "keyless", &v[3],
			"bad", &v[4], "left_out", &v[5], "spanning", &v[6], "bitmap_xxh3", &sum,
			"format", &format, "engine", &engine, "why", &why, "fallen", &fallen) ||
	    !agent_wire_in_range(v, 7, INT64_MAX) || mark_parse(&s->mark, mark, &unused) ||
	    !sum_parse(&s->bitmap_xxh3, sum) || !rec_format_named(format, &s->format) ||
	    (fallen && !text_fits(fallen, kept, sizeof(kept))) ||
	    !text_fits(why, kept, sizeof(kept)))
		return -EPROTO;
	s->keys_all = (__u64)v[0];
	s->bytes = (__u64)v[1];
	s->bytes_all = (__u64)v[2];
	s->keyless = (__u64)v[3];
	s->bad = (__u64)v[4];
	s->left_out = (__u64)v[5];
	s->spanning = (__u64)v[6];
	s->engine = epf_engine_find(engine);
	if (s->keys_all && s->mark.keys > s->keys_all)
		return -EPROTO;
	s->why = kept;
	s->fallen = fallen ? kept : NULL; /* the agent sends the same text as @why */
	return 0;
}

static json_t *agent_wire_desc_json(const struct epf_key_desc *d)
{
	return json_pack("[iiiI]", d->kind, d->key, d->flags, (json_int_t)d->max_bytes);
}

/* An older agent sends no description: @list is NULL. */
static bool desc_parse(struct epf_key_desc *d, json_t *list)
{
	json_int_t v[4] = { 0 };

	if (list && json_unpack(list, "[I I I I]", &v[0], &v[1], &v[2], &v[3]))
		return false;
	if (!agent_wire_in_range(v, 2, UINT8_MAX) || !agent_wire_in_range(v + 2, 1, UINT16_MAX) ||
	    !agent_wire_in_range(v + 3, 1, UINT32_MAX))
		return false;
	d->kind = (__u8)v[0];
	d->key = (__u8)v[1];
	d->flags = (__u16)v[2];
	d->max_bytes = (__u32)v[3];
	return !epf_key_desc_check(d);
}

json_t *agent_about_json(const struct agent_about *a)
{
	char hex[2 * sizeof(a->header) + 1];
	struct epf_snap_header h = a->header;
	size_t i;

	target_hide_key(&h);
	for (i = 0; i < sizeof(h); i++)
		snprintf(hex + 2 * i, 3, "%02x", ((const __u8 *)&h)[i]);
	return json_pack("{ss sb sI ss so}", "place", target_place_name(a->place), "saturated",
			 a->saturated, "fpr_ppt", (json_int_t)a->fpr_ppt, "header", hex, "desc",
			 agent_wire_desc_json(&a->desc));
}

/* Return: whether it is exactly @len bytes. */
static bool hex_parse(__u8 *to, size_t len, const char *hex)
{
	size_t i;

	if (strlen(hex) != 2 * len)
		return false;
	for (i = 0; i < len; i++)
		if (sscanf(hex + 2 * i, "%2hhx", &to[i]) != 1)
			return false;
	return true;
}

int agent_about_parse(struct agent_about *a, json_t *json)
{
	const char *place, *hex;
	json_t *desc = NULL;
	int saturated;
	json_int_t fpr;

	memset(a, 0, sizeof(*a));
	if (json_unpack(json, "{ss sb sI ss s?o}", "place", &place, "saturated", &saturated,
			"fpr_ppt", &fpr, "header", &hex, "desc", &desc) ||
	    !desc_parse(&a->desc, desc) || fpr < 0 || fpr > (json_int_t)EPF_RATE_ONE ||
	    !hex_parse((__u8 *)&a->header, sizeof(a->header), hex) ||
	    !epf_snap_header_sound(&a->header))
		return -EPROTO;
	a->place = !strcmp(place, target_place_name(TARGET_FILE)) ? TARGET_FILE : TARGET_COPY;
	a->saturated = saturated;
	a->fpr_ppt = (__u64)fpr;
	return 0;
}
