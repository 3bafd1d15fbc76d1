// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * IPFIX files: RFC 7011 messages, one after another. Everything is checked here
 * before libfixbuf decodes it, because libfixbuf does not detect all damage, and
 * crashes or hangs after some of it. The check also makes it possible to read on
 * after damage.
 *
 * What a file makes libfixbuf remember is bounded: templates, by their fields;
 * unknown elements; observation domains.
 */
#include "records/ipfix_sets.h"
#include "records/reader.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include <fixbuf/public.h>

/* Bounds for what libfixbuf remembers of a file, some 5 MiB. Each template counts as
 * TEMPLATE_FIELDS fields in addition to its own.
 */
#define FIELDS_MAX (1u << 14)
#define TEMPLATE_FIELDS 8
#define ELEMENTS_MAX (1u << 12)
#define DOMAINS_MAX 256

/* Work in units of REC_WORK: for a part of a message, for a field of a template, and
 * for a field of a record.
 */
#define PART_WORK 32
#define DEFINE_WORK 128
#define FIELD_WORK 8

/* Later time stamps in ms are impossible. */
#define MS_END ((1ULL << 62) / 1000000)

/* The longest text of a record, with its newline. */
#define LINE_BYTES 256
#define PROLOGUE "ts,te,sa,da,sp,dp,pr,ipkt,ibyt\n"

/* A record as libfixbuf writes it for us, with integers in host byte order. */
struct flow {
	__u64 start_ms;
	__u64 end_ms;
	__u64 packets;
	__u64 octets;
	__u8 src6[16];
	__u8 dst6[16];
	__u32 src4;
	__u32 dst4;
	__u16 sport;
	__u16 dport;
	__u16 icmp4;
	__u16 icmp6;
	__u8 type4;
	__u8 code4;
	__u8 type6;
	__u8 code6;
	__u8 proto;
	__u8 padding[3];
};

enum element {
	START,
	END,
	PACKETS,
	OCTETS,
	SRC6,
	DST6,
	SRC4,
	DST4,
	SPORT,
	DPORT,
	ICMP4,
	ICMP6,
	TYPE4,
	CODE4,
	TYPE6,
	CODE6,
	PROTO,
	PADDING,
	ELEMENTS
};

#define HAS(e) (1u << (e))

static const fbInfoElementSpec_t spec[ELEMENTS + 1] = {
	[START] = { "flowStartMilliseconds", 8, 0 }, [END] = { "flowEndMilliseconds", 8, 0 },
	[PACKETS] = { "packetDeltaCount", 8, 0 },    [OCTETS] = { "octetDeltaCount", 8, 0 },
	[SRC6] = { "sourceIPv6Address", 16, 0 },     [DST6] = { "destinationIPv6Address", 16, 0 },
	[SRC4] = { "sourceIPv4Address", 4, 0 },      [DST4] = { "destinationIPv4Address", 4, 0 },
	[SPORT] = { "sourceTransportPort", 2, 0 },   [DPORT] = { "destinationTransportPort", 2, 0 },
	[ICMP4] = { "icmpTypeCodeIPv4", 2, 0 },      [ICMP6] = { "icmpTypeCodeIPv6", 2, 0 },
	[TYPE4] = { "icmpTypeIPv4", 1, 0 },          [CODE4] = { "icmpCodeIPv4", 1, 0 },
	[TYPE6] = { "icmpTypeIPv6", 1, 0 },          [CODE6] = { "icmpCodeIPv6", 1, 0 },
	[PROTO] = { "protocolIdentifier", 1, 0 },    [PADDING] = { "paddingOctets", 3, 0 },
};

LIST_HEAD(known_list, known);

/**
 * struct ipfix - a reader
 * @model: all known information elements
 * @fbuf: libfixbuf's reader, which owns @session
 * @session: templates
 * @number: element numbers of the members of struct flow
 * @fields: sum of the fields of all known templates
 * @elements: number of elements in @model at the beginning
 * @domain: observation domains seen so far
 * @domains: how many
 * @here: index in @domain of the current message's domain
 * @known: templates of each domain; second index: options templates
 * @message: length of the current message, which begins the input; 0: none
 * @messages: number of messages so far
 * @at: offset of the next set in the message
 * @set: offset of the current set
 * @template: offset of the next template in the message
 * @templates_end: end of the last template of the set
 * @in_set: libfixbuf is decoding a set
 * @left: records of the set that are not decoded yet
 * @one: message that holds only this set
 * @text: text of records
 * @used: bytes used of @text
 */
struct ipfix {
	fbInfoModel_t *model;
	fBuf_t *fbuf;
	fbSession_t *session;
	__u16 number[PADDING];
	__u64 fields;
	guint elements;
	__u32 domain[DOMAINS_MAX];
	unsigned int domains;
	unsigned int here;
	struct known_list known[DOMAINS_MAX][2];
	size_t message;
	__u64 messages;
	size_t at;
	size_t set;
	size_t template;
	size_t templates_end;
	bool in_set;
	__u64 left;
	__u8 one[MESSAGE_MAX];
	char *text;
	size_t used;
};

/* What is recorded about a template. Its fields count as long as it lives. */
struct known {
	struct ipfix *p;
	LIST_ENTRY(known) link;
	__u16 id;
	__u32 fields;
	__u32 has;
	bool options;
};

/* Is the length of the element supported? Addresses must have their full length;
 * integers may be shorter (RFC 7011, section 6.2).
 */
static bool ipfix_fits(const fbInfoElement_t *ie, unsigned int i)
{
	bool address = i == SRC4 || i == DST4 || i == SRC6 || i == DST6;

	return address ? ie->len == spec[i].len_override :
			 ie->len && ie->len <= spec[i].len_override;
}

static __u32 find_elements(const struct ipfix *p, fbTemplate_t *t)
{
	__u32 n = fbTemplateCountElements(t), has = 0;
	__u32 i, j;

	for (i = 0; i < n; i++) {
		const fbInfoElement_t *ie = fbTemplateGetIndexedIE(t, i);

		for (j = 0; j < PADDING; j++)
			if (!ie->ent && !ie->midx && ie->num == p->number[j] && ipfix_fits(ie, j))
				has |= HAS(j);
	}
	return has;
}

static void forget_template(void *ctx, void *app)
{
	struct known *k = ctx;

	(void)app;
	k->p->fields -= k->fields;
	LIST_REMOVE(k, link);
	free(k);
}

static void new_template(fbSession_t *session, uint16_t id, fbTemplate_t *t, void *app, void **ctx,
			 fbTemplateCtxFree_fn *free_fn)
{
	struct known *k = calloc(1, sizeof(*k));
	struct ipfix *p = app;

	(void)session;
	if (!k)
		return; /* records of this template will have no key */
	k->p = p;
	k->id = id;
	k->fields = fbTemplateCountElements(t) + TEMPLATE_FIELDS;
	k->has = find_elements(app, t);
	k->options = fbTemplateGetOptionsScope(t);
	p->fields += k->fields;
	LIST_INSERT_HEAD(&p->known[p->here][k->options], k, link);
	*ctx = k;
	*free_fn = forget_template;
}

static void ipfix_put16(__u8 *to, __u32 v)
{
	to[0] = (__u8)(v >> 8);
	to[1] = (__u8)v;
}

/* Withdraw template @id if it is an options template or not, as @options says. */
static void ipfix_withdraw(struct ipfix *p, bool options, __u16 id)
{
	fbTemplate_t *t = fbSessionGetTemplate(p->session, FALSE, id, NULL);

	if (t && !fbTemplateGetOptionsScope(t) == !options)
		fbSessionRemoveTemplate(p->session, FALSE, id, NULL);
}

/* Withdraw all templates of this domain and kind. libfixbuf may still hold a
 * template whose number already belongs to a successor; such an entry is skipped,
 * because the successor has an entry of its own.
 */
static void withdraw_all(struct ipfix *p, bool options)
{
	struct known *k, *next;

	for (k = LIST_FIRST(&p->known[p->here][options]); k; k = next) {
		fbTemplate_t *t = fbSessionGetTemplate(p->session, FALSE, k->id, NULL);

		next = LIST_NEXT(k, link);
		if (t && fbTemplateGetContext(t) == k)
			fbSessionRemoveTemplate(p->session, FALSE, k->id, NULL);
	}
}

/* Check a set of templates or withdrawals, and carry out the withdrawals. Return:
 * NULL: @n is set to the bytes without padding that libfixbuf must read, or 0; else
 * what is wrong.
 */
static const char *check_templates(struct ipfix *p, const __u8 *set, size_t *n)
{
	__u32 kind = epf_be16(set), id;
	size_t at = SET_HEADER, defined = 0, withdrawn = 0;
	const char *why;

	while (*n - at >= 4 && (id = epf_be16(set + at))) {
		size_t len = 4;

		if (epf_be16(set + at + 2)) {
			len = template_length(set + at, *n - at, template_head(kind), &why);
			if (!len)
				return why;
			defined++;
		} else {
			if (id == kind) /* RFC 7011, section 8.1 */
				withdraw_all(p, kind == OPTIONS_SET);
			else
				ipfix_withdraw(p, kind == OPTIONS_SET, (__u16)id);
			withdrawn++;
		}
		at += len;
	}
	if (defined && withdrawn)
		return "a set mixes templates and withdrawals";
	*n = defined ? at : 0;
	return NULL;
}

/* Return: the end of the record at @at; 0: it exceeds the @n bytes of the set. A
 * field of variable length begins with its length (section 7).
 */
static size_t record_end(fbTemplate_t *t, const __u8 *set, size_t n, size_t at)
{
	__u32 i, count = fbTemplateCountElements(t);

	for (i = 0; i < count && at <= n; i++) {
		size_t len = fbTemplateGetIndexedIE(t, i)->len;

		if (len == FB_IE_VARLEN && at < n) {
			len = set[at++];
			if (len == 255 && n - at >= 2) {
				len = epf_be16(set + at);
				at += 2;
			} else if (len == 255) {
				return 0;
			}
		}
		at += len;
	}
	return at <= n ? at : 0;
}

/* The minimum length of a record. Fewer bytes at the end of a set are padding. */
static size_t record_least(fbTemplate_t *t)
{
	__u32 i, count = fbTemplateCountElements(t);
	size_t least = 0;

	for (i = 0; i < count; i++) {
		size_t len = fbTemplateGetIndexedIE(t, i)->len;

		least += len == FB_IE_VARLEN ? 1 : len;
	}
	return least;
}

/* Check a data set. Return: NULL: it is sound and has @p->left records; else what is
 * wrong.
 */
static const char *check_data(struct ipfix *p, const __u8 *set, size_t n)
{
	fbTemplate_t *t = fbSessionGetTemplate(p->session, FALSE, (uint16_t)epf_be16(set), NULL);
	size_t least, at = SET_HEADER;

	if (!t)
		return "a data set without a template";
	least = record_least(t);
	while (n - at >= least) {
		at = record_end(t, set, n, at);
		if (!at)
			return "a record is cut off";
		p->left++;
	}
	return NULL;
}

static bool know_domain(struct ipfix *p, __u32 domain)
{
	unsigned int i;

	for (i = 0; i < p->domains && p->domain[i] != domain; i++)
		;
	if (i == DOMAINS_MAX)
		return false;
	p->domain[i] = domain;
	p->domains += i == p->domains;
	p->here = i;
	return true;
}

/* Report damage after which the next message cannot be found. */
static int broken(const struct ipfix *p, const char *why, struct rec_error *e)
{
	return rec_error_set(e, -EBADMSG, "message %llu: %s", (unsigned long long)p->messages, why);
}

static int bad_part(struct rec_source *s, const char *why, struct rec_error *e)
{
	const struct ipfix *p = s->own;

	return rec_bad(s, e, "message %llu: %.150s", (unsigned long long)p->messages, why);
}

/* Move past the message. */
static void end_message(struct rec_source *s)
{
	struct ipfix *p = s->own;

	s->in.at += p->message;
	p->message = 0;
}

static int begin_message(struct rec_source *s, size_t len, struct rec_error *e)
{
	__u8 *m = s->in.buf + s->in.at;
	struct ipfix *p = s->own;
	const char *why;

	if (!know_domain(p, be32(m + 12)))
		return broken(p, "more than 256 observation domains", e);
	fbSessionSetDomain(p->session, be32(m + 12));
	p->message = len;
	p->at = MESSAGE_HEADER;
	why = check_sets(m, len);
	if (!why)
		return 0;
	end_message(s);
	return bad_part(s, why, e);
}

/* Return: 1: a complete message is there, or was skipped; 0: none is complete; a
 * negative errno.
 */
static int find_message(struct rec_source *s, struct rec_error *e)
{
	const __u8 *m = s->in.buf + s->in.at;
	size_t left = s->in.end - s->in.at;
	struct ipfix *p = s->own;
	size_t len = MESSAGE_HEADER;
	int err;

	if (p->message)
		return 1;
	if (left >= MESSAGE_HEADER)
		len = epf_be16(m + 2);
	if (left < len && !(left && s->in.eof))
		return 0;
	p->messages++;
	if (left < len)
		return broken(p, "the file ends inside it", e);
	if (epf_be16(m) != 10 || len < MESSAGE_HEADER)
		return broken(p, "not an IPFIX message", e);
	err = begin_message(s, len, e);
	return err ? err : 1;
}

/* Pass a data set, or one template of a set, to libfixbuf as a message of its own.
 * It must be sound, because libfixbuf is not reliable after an error. Templates are
 * passed one by one, because many of them may take long.
 */
static void give(struct rec_source *s, const __u8 *set, const __u8 *data, size_t n)
{
	const __u8 *m = s->in.buf + s->in.at;
	struct ipfix *p = s->own;

	memcpy(p->one, m, MESSAGE_HEADER);
	ipfix_put16(p->one + 2, (__u32)(MESSAGE_HEADER + SET_HEADER + n));
	memcpy(p->one + MESSAGE_HEADER, set, 2);
	ipfix_put16(p->one + MESSAGE_HEADER + 2, (__u32)(SET_HEADER + n));
	memcpy(p->one + MESSAGE_HEADER + SET_HEADER, data, n);
	fBufSetBuffer(p->fbuf, p->one, MESSAGE_HEADER + SET_HEADER + n);
	p->in_set = true;
}

/* The templates of the set were checked before. */
static void begin_template(struct rec_source *s)
{
	struct ipfix *p = s->own;
	const __u8 *set = s->in.buf + s->in.at + p->set;
	const __u8 *t = s->in.buf + s->in.at + p->template;
	size_t n = fields_end(t, p->templates_end - p->template, template_head(epf_be16(set)));

	p->template += n;
	s->count.work += DEFINE_WORK * epf_be16(t + 2);
	give(s, set, t, n);
}

/* Return: as bad_part(). */
static int begin_set(struct rec_source *s, struct rec_error *e)
{
	struct ipfix *p = s->own;
	const __u8 *set = s->in.buf + s->in.at + p->at;
	bool templates = epf_be16(set) < FIRST_DATA_SET;
	size_t n = epf_be16(set + 2);
	const char *why;

	s->count.work += n;
	p->set = p->at;
	p->at += n;
	p->left = 0;
	why = templates ? check_templates(p, set, &n) : check_data(p, set, n);
	if (why)
		return bad_part(s, why, e);
	if (templates && n) {
		p->template = p->set + SET_HEADER;
		p->templates_end = p->set + n;
	} else if (n) {
		give(s, set, set + SET_HEADER, n - SET_HEADER);
	}
	return 0;
}

/* Does libfixbuf remember more than the bounds allow? */
static bool ipfix_too_much(const struct ipfix *p)
{
	return p->fields > FIELDS_MAX ||
	       fbInfoModelCountElements(p->model) - p->elements > ELEMENTS_MAX;
}

/* libfixbuf returned no further record of the set. */
static int end_set(struct rec_source *s, const GError *error, struct rec_error *e)
{
	struct ipfix *p = s->own;

	p->in_set = false;
	if (ipfix_too_much(p))
		return broken(p,
			      "more templates or unknown elements than the "
			      "reader's limit",
			      e);
	return p->left ? bad_part(s, error ? error->message : "", e) : 0;
}

/* Decode the next record of the set. Return: 1; 0: there is none; a negative errno. */
static int next_flow(struct rec_source *s, struct flow *f, const struct known **known,
		     struct rec_error *e)
{
	struct ipfix *p = s->own;
	size_t len = sizeof(*f);
	GError *error = NULL;
	fbTemplate_t *t;
	int ret;

	t = fBufNextCollectionTemplate(p->fbuf, NULL, &error);
	if (t && fBufNext(p->fbuf, (uint8_t *)f, &len, &error)) {
		*known = fbTemplateGetContext(t);
		p->left--;
		s->count.work += FIELD_WORK * (__u64)fbTemplateCountElements(t);
		return 1;
	}
	ret = end_set(s, error, e);
	g_clear_error(&error);
	return ret;
}

/* The ICMP type and code come from two elements, from a combined one, or, with
 * exporters that descend from NetFlow, from the destination port.
 */
static bool icmp_of(const struct flow *f, __u32 has, bool v4, __u8 id[4])
{
	__u32 both = v4 ? f->icmp4 : f->icmp6;

	if (has & HAS(v4 ? TYPE4 : TYPE6))
		both = v4 ? f->type4 << 8 | f->code4 : f->type6 << 8 | f->code6;
	else if (!(has & HAS(v4 ? ICMP4 : ICMP6)))
		both = f->dport;
	ipfix_put16(id, both);
	return has &
	       (v4 ? HAS(TYPE4) | HAS(ICMP4) | HAS(DPORT) : HAS(TYPE6) | HAS(ICMP6) | HAS(DPORT));
}

/* The IP version of the flow. If the template has addresses of both versions, the
 * one that is not zero counts. Return: 4; 6; 0: neither.
 */
static __u8 version_of(const struct flow *f, __u32 has)
{
	const __u32 v4 = HAS(SRC4) | HAS(DST4), v6 = HAS(SRC6) | HAS(DST6);

	if ((has & v4) == v4 && (f->src4 || f->dst4 || (has & v6) != v6))
		return 4;
	return (has & v6) == v6 ? 6 : 0;
}

/* Return: whether the flow has everything that a key needs. */
static bool ipfix_flow_of(const struct flow *f, __u32 has, struct epf_flow_rec *r)
{
	__u32 src = htonl(f->src4), dst = htonl(f->dst4);

	memset(r, 0, sizeof(*r));
	r->version = version_of(f, has);
	r->proto = f->proto;
	if (!r->version || !(has & HAS(PROTO)))
		return false;
	if (r->version == 4) {
		memcpy(r->src, &src, 4);
		memcpy(r->dst, &dst, 4);
	} else {
		memcpy(r->src, f->src6, 16);
		memcpy(r->dst, f->dst6, 16);
	}
	if (r->proto == (r->version == 4 ? 1 : 58))
		return icmp_of(f, has, r->version == 4, r->id);
	ipfix_put16(r->id, f->sport);
	ipfix_put16(r->id + 2, f->dport);
	return true;
}

/* Print a time as nfdump does, but in UTC and with milliseconds. */
static int print_time(char *to, __u64 ms)
{
	time_t sec = (time_t)(ms / 1000);
	struct tm tm;

	if (!ms || ms > 253402300799999ULL || !gmtime_r(&sec, &tm))
		return sprintf(to, ",");
	return sprintf(to, "%04d-%02d-%02d %02d:%02d:%02d.%03u,", tm.tm_year + 1900, tm.tm_mon + 1,
		       tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (unsigned int)(ms % 1000));
}

/* Print a line with the columns of PROLOGUE. REC_NFDUMP reads the same key from it. */
static struct rec_raw print_flow(struct ipfix *p, const struct flow *f,
				 const struct epf_flow_rec *r)
{
	int family = r->version == 4 ? AF_INET : AF_INET6;
	bool icmp = r->proto == (r->version == 4 ? 1 : 58);
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
	char *text = p->text + p->used, *to = text;
	struct rec_raw raw;

	inet_ntop(family, r->src, src, sizeof(src));
	inet_ntop(family, r->dst, dst, sizeof(dst));
	to += print_time(to, f->start_ms);
	to += print_time(to, f->end_ms);
	to += sprintf(to, "%s,%s,%u,%u,%u,%llu,%llu\n", src, dst, icmp ? 0 : epf_be16(r->id),
		      epf_be16(icmp ? r->id : r->id + 2), r->proto, f->packets, f->octets);
	raw.data = text;
	raw.len = (size_t)(to - text);
	p->used += raw.len;
	return raw;
}

/* When the flow ended; if the record does not say so, when it began or, in seconds, when
 * the exporter sent it.
 */
static __u64 end_of(const struct rec_source *s, const struct flow *f)
{
	__u64 ms = f->end_ms ? f->end_ms : f->start_ms;

	if (ms && ms < MS_END)
		return ms * 1000000;
	return be32(s->in.buf + s->in.at + 4) * 1000000000ULL;
}

static void ipfix_put_flow(struct rec_source *s, struct rec_batch *b, const struct flow *f,
			   const struct known *known)
{
	struct ipfix *p = s->own;
	struct epf_flow_rec r;
	__u64 digest;

	if (known && known->options)
		return; /* an options record describes the exporter */
	s->ns = end_of(s, f);
	if (!known || !ipfix_flow_of(f, known->has, &r))
		s->count.keyless++;
	else if (rec_flow(s, &r, &digest))
		rec_put(s, b, digest, print_flow(p, f, &r));
}

static int ipfix_take(struct rec_source *s, struct rec_batch *b, struct rec_error *e)
{
	struct ipfix *p = s->own;
	int ret = 0;

	p->used = 0;
	while (rec_goes_on(s, b) && (ret = find_message(s, e)) > 0) {
		const struct known *known = NULL;
		struct flow f;

		ret = 0;
		s->count.work += PART_WORK;
		if (p->in_set)
			ret = next_flow(s, &f, &known, e);
		else if (p->template <p->templates_end)
			begin_template(s);
		else if (p->at < p->message)
			ret = begin_set(s, e);
		else
			end_message(s);
		if (ret < 0)
			break;
		if (ret)
			ipfix_put_flow(s, b, &f, known);
	}
	return ret < 0 ? ret : 0;
}

/* Discard libfixbuf's log messages: errors are reported through struct rec_error. */
static void quiet(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer ctx)
{
	(void)domain;
	(void)level;
	(void)message;
	(void)ctx;
}

/* Log handlers belong to the process and each call adds one: call it only once. */
static void silence(void)
{
	g_log_set_handler(NULL, G_LOG_LEVEL_MASK, quiet, NULL);
	g_log_set_handler("libfixbuf", G_LOG_LEVEL_MASK, quiet, NULL);
}

static bool ipfix_set_up(struct ipfix *p)
{
	GError *error = NULL; /* libfixbuf requires one */
	fbTemplate_t *t;
	uint16_t id;
	int i;

	p->model = fbInfoModelAlloc();
	p->elements = fbInfoModelCountElements(p->model);
	for (i = 0; i < PADDING; i++)
		p->number[i] = fbInfoModelGetElementByName(p->model, spec[i].name)->num;
	p->session = fbSessionAlloc(p->model);
	fbSessionAddNewTemplateCallback(p->session, new_template, p);
	t = fbTemplateAlloc(p->model);
	if (!fbTemplateAppendSpecArray(t, (fbInfoElementSpec_t *)(size_t)spec, UINT32_MAX,
				       &error)) {
		g_clear_error(&error);
		fbTemplateFreeUnused(t);
		fbSessionFree(p->session);
		return false;
	}
	id = fbSessionAddTemplate(p->session, TRUE, FB_TID_AUTO, t, &error);
	g_clear_error(&error);
	p->fbuf = fBufAllocForCollection(p->session, NULL);
	fBufSetAutomaticMode(p->fbuf, FALSE);
	return id && fBufSetInternalTemplate(p->fbuf, id, NULL);
}

static int ipfix_open(struct rec_source *s, struct rec_error *e)
{
	static pthread_once_t silenced = PTHREAD_ONCE_INIT;
	struct ipfix *p = calloc(1, sizeof(*p));

	if (!p)
		return rec_error_set(e, -ENOMEM, "out of memory");
	s->own = p;
	p->text = malloc((size_t)REC_BATCH * LINE_BYTES);
	if (!p->text)
		return rec_error_set(e, -ENOMEM, "out of memory");
	pthread_once(&silenced, silence);
	if (!ipfix_set_up(p))
		return rec_error_set(e, -EOPNOTSUPP,
				     "libfixbuf lacks an element of flow records: "
				     "install a newer one");
	return rec_keep_prologue(s, PROLOGUE, strlen(PROLOGUE), e);
}

static void ipfix_close(struct rec_source *s)
{
	struct ipfix *p = s->own;

	if (!p)
		return;
	if (p->fbuf)
		fBufFree(p->fbuf);
	if (p->model)
		fbInfoModelFree(p->model);
	free(p->text);
	free(p);
}

const struct rec_reader rec_ipfix = {
	.open = ipfix_open,
	.take = ipfix_take,
	.close = ipfix_close,
};
