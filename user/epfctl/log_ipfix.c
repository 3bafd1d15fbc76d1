// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Write records of --log-new as a file of IPFIX messages (RFC 7011), by libfixbuf. */
#include "log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "epf/flow.h"

#include <fixbuf/public.h>

/* A record as libfixbuf takes it; integers are in this machine's byte order. */
struct flow {
	__u64 start_ms;
	__u64 end_ms;
	__u64 packets;
	__u64 octets;
	__u8 src6[16];
	__u8 dst6[16];
	__u32 src4;
	__u32 dst4;
	__u32 iface;
	__u16 sport;
	__u16 dport;
	__u16 icmp4;
	__u16 icmp6;
	__u16 vlan;
	__u8 proto;
	__u8 padding;
};
EPF_ASSERT(sizeof(struct flow) == 88, "what the template says");

/* The elements that a template has in addition to those of all templates. */
enum { IP4 = 1, IP6 = 2, PORTS = 4, ICMP = 8, INTERNAL = 16 };

static const fbInfoElementSpec_t spec[] = { { "flowStartMilliseconds", 8, 0 },
					    { "flowEndMilliseconds", 8, 0 },
					    { "packetDeltaCount", 8, 0 },
					    { "octetDeltaCount", 8, 0 },
					    { "sourceIPv6Address", 16, IP6 },
					    { "destinationIPv6Address", 16, IP6 },
					    { "sourceIPv4Address", 4, IP4 },
					    { "destinationIPv4Address", 4, IP4 },
					    { "ingressInterface", 4, 0 },
					    { "sourceTransportPort", 2, PORTS },
					    { "destinationTransportPort", 2, PORTS },
					    { "icmpTypeCodeIPv4", 2, IP4 | ICMP },
					    { "icmpTypeCodeIPv6", 2, IP6 | ICMP },
					    { "vlanId", 2, 0 },
					    { "protocolIdentifier", 1, 0 },
					    { "paddingOctets", 1, INTERNAL },
					    FB_IESPEC_NULL };

#define INTERNAL_ID 300

/* The id of the template with the elements of @flags. */
static __u16 template_id(__u32 flags)
{
	return (__u16)(256 + (flags & (IP6 | PORTS | ICMP)));
}

/**
 * struct log_ipfix - a file
 * @path: its path
 * @file: the open file
 * @model: libfixbuf's information model
 * @fbuf: libfixbuf's writer, which owns the session
 */
struct log_ipfix {
	const char *path;
	FILE *file;
	fbInfoModel_t *model;
	fBuf_t *fbuf;
};

/* Print the error. Return: false, which the caller returns. */
static bool log_ipfix_failed(const struct log_ipfix *to, GError *error)
{
	fail_errno(errno, "%s: %s", to->path, error ? error->message : strerror(errno));
	g_clear_error(&error);
	return false;
}

static bool log_ipfix_add(const struct log_ipfix *to, fbSession_t *session, bool internal, __u16 id,
			  __u32 flags, GError **error)
{
	fbTemplate_t *t = fbTemplateAlloc(to->model);

	return fbTemplateAppendSpecArray(t, (fbInfoElementSpec_t *)(size_t)spec, flags, error) &&
	       fbSessionAddTemplate(session, internal, id, t, error);
}

/* Add all templates: each IP version, with ports, with ICMP or with neither. */
static bool add_templates(const struct log_ipfix *to, fbSession_t *session, GError **error)
{
	static const __u32 kinds[] = { PORTS, ICMP, 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!log_ipfix_add(to, session, false, template_id(IP4 | kinds[i]), IP4 | kinds[i],
				   error) ||
		    !log_ipfix_add(to, session, false, template_id(IP6 | kinds[i]), IP6 | kinds[i],
				   error))
			return false;
	return log_ipfix_add(to, session, true, INTERNAL_ID, ~0u, error);
}

static bool log_ipfix_begin(struct log_ipfix *to)
{
	fbSession_t *session;
	GError *error = NULL;

	to->file = fopen(to->path, "wbe");
	if (!to->file)
		return log_ipfix_failed(to, NULL);
	to->model = fbInfoModelAlloc();
	session = fbSessionAlloc(to->model);
	to->fbuf = fBufAllocForExport(session, fbExporterAllocFP(to->file));
	if (add_templates(to, session, &error) && fbSessionExportTemplates(session, &error) &&
	    fBufSetInternalTemplate(to->fbuf, INTERNAL_ID, &error))
		return true;
	return log_ipfix_failed(to, error);
}

static void log_ipfix_end(struct log_ipfix *to)
{
	if (to->fbuf)
		fBufFree(to->fbuf);
	if (to->model)
		fbInfoModelFree(to->model);
	free(to);
}

struct log_ipfix *log_ipfix_open(const char *path)
{
	struct log_ipfix *to = calloc(1, sizeof(*to));

	if (!to) {
		fail("out of memory");
		return NULL;
	}
	to->path = path;
	if (log_ipfix_begin(to))
		return to;
	if (to->file)
		fclose(to->file);
	log_ipfix_end(to);
	return NULL;
}

static __u32 log_ipfix_kind_of(const struct epf_ingress_record *r)
{
	__u32 version = r->version == 4 ? IP4 : IP6;

	if (r->fragment)
		return version;
	if (epf_has_ports(r->proto))
		return version | PORTS;
	return r->proto == (r->version == 4 ? 1 : 58) ? version | ICMP : version;
}

static struct flow log_ipfix_flow_of(const struct log_source *from,
				     const struct epf_ingress_record *r)
{
	__u32 type_code = epf_be16(r->id), src4, dst4;
	struct flow f = {
		.start_ms = (r->time_ns + from->ahead_ns) / 1000000,
		.packets = 1,
		.octets = r->bytes,
		.iface = from->ifindex,
		.sport = (__u16)type_code,
		.dport = (__u16)epf_be16(r->id + 2),
		.icmp4 = (__u16)type_code,
		.icmp6 = (__u16)type_code,
		.vlan = r->vids & 0xfff,
		.proto = r->proto,
	};

	f.end_ms = f.start_ms;
	memcpy(f.src6, r->src, 16);
	memcpy(f.dst6, r->dst, 16);
	memcpy(&src4, r->src, 4);
	memcpy(&dst4, r->dst, 4);
	f.src4 = ntohl(src4);
	f.dst4 = ntohl(dst4);
	return f;
}

bool log_ipfix_put(struct log_ipfix *to, const struct log_source *from,
		   const struct epf_ingress_record *r)
{
	struct flow f = log_ipfix_flow_of(from, r);
	GError *error = NULL;

	if (fBufSetExportTemplate(to->fbuf, template_id(log_ipfix_kind_of(r)), &error) &&
	    fBufAppend(to->fbuf, (uint8_t *)&f, sizeof(f), &error))
		return true;
	return log_ipfix_failed(to, error);
}

bool log_ipfix_flush(struct log_ipfix *to)
{
	GError *error = NULL;

	if (!fBufEmit(to->fbuf, &error))
		return log_ipfix_failed(to, error);
	return !fflush(to->file) || log_ipfix_failed(to, NULL);
}

bool log_ipfix_close(struct log_ipfix *to)
{
	bool good = log_ipfix_flush(to);

	if (fclose(to->file) && good)
		good = log_ipfix_failed(to, NULL);
	log_ipfix_end(to);
	return good;
}
