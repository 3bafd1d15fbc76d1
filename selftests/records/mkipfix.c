// SPDX-License-Identifier: GPL-2.0
/*
 * usage: mkipfix < FLOWS > FILE
 *
 * Writes IPFIX with libfixbuf's exporter. A line is a flow: version, protocol, source
 * and destination port, type and code of ICMP, source, destination, and how ICMP is
 * encoded: "own" (icmpTypeCode), "two" (icmpType and icmpCode) or "port". Each kind of
 * flow has its own template, some with elements that a reader ignores: of variable
 * length, of an enterprise, reverse ones.
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fixbuf/public.h>

enum { IP4 = 1, IP6 = 2, PORTS = 4, OWN = 8, TWO = 16, EXTRA = 32 };

struct flow {
	uint64_t start_ms;
	uint64_t packets;
	uint64_t reverse_packets;
	fbVarfield_t name;
	uint8_t src6[16];
	uint8_t dst6[16];
	uint32_t src4;
	uint32_t dst4;
	uint16_t sport;
	uint16_t dport;
	uint16_t icmp4;
	uint16_t icmp6;
	uint8_t type4;
	uint8_t code4;
	uint8_t type6;
	uint8_t code6;
	uint8_t proto;
	uint8_t padding[7];
};

/* Internal template: all elements. External templates: those whose flags match. */
static fbInfoElementSpec_t spec[] = { { "flowStartMilliseconds", 8, 0 },
				      { "packetDeltaCount", 8, 0 },
				      { "reversePacketDeltaCount", 8, EXTRA },
				      { "interfaceName", FB_IE_VARLEN, EXTRA },
				      { "sourceIPv6Address", 16, IP6 },
				      { "destinationIPv6Address", 16, IP6 },
				      { "sourceIPv4Address", 4, IP4 },
				      { "destinationIPv4Address", 4, IP4 },
				      { "sourceTransportPort", 2, PORTS },
				      { "destinationTransportPort", 2, PORTS },
				      { "icmpTypeCodeIPv4", 2, IP4 | OWN },
				      { "icmpTypeCodeIPv6", 2, IP6 | OWN },
				      { "icmpTypeIPv4", 1, IP4 | TWO },
				      { "icmpCodeIPv4", 1, IP4 | TWO },
				      { "icmpTypeIPv6", 1, IP6 | TWO },
				      { "icmpCodeIPv6", 1, IP6 | TWO },
				      { "protocolIdentifier", 1, 0 },
				      { "paddingOctets", 7, IP4 | IP6 },
				      FB_IESPEC_NULL };

static void check(gboolean good, GError *error)
{
	if (good)
		return;
	fprintf(stderr, "mkipfix: %s\n", error ? error->message : "failed");
	exit(1);
}

static uint16_t template_of(fbSession_t *session, fbInfoModel_t *model, bool internal, uint16_t id,
			    uint32_t flags)
{
	fbTemplate_t *t = fbTemplateAlloc(model);
	GError *error = NULL;

	check(fbTemplateAppendSpecArray(t, spec, flags, &error), error);
	id = fbSessionAddTemplate(session, internal, id, t, &error);
	check(id, error);
	return id;
}

static uint32_t read_flow(const char *line, struct flow *f)
{
	unsigned int version, proto, sport, dport, type, code;
	char src[48], dst[48], how[8];

	memset(f, 0, sizeof(*f));
	if (sscanf(line, "%u %u %u %u %u %u %47s %47s %7s", &version, &proto, &sport, &dport, &type,
		   &code, src, dst, how) != 9)
		exit(2);
	f->start_ms = 1700000000123ULL;
	f->packets = 7;
	f->reverse_packets = 9;
	f->name.buf = (uint8_t *)"a name";
	f->name.len = sport % 6;
	f->sport = (uint16_t)sport;
	f->dport = (uint16_t)(*how == 'p' ? type << 8 | code : dport);
	f->icmp4 = f->icmp6 = (uint16_t)(type << 8 | code);
	f->type4 = f->type6 = (uint8_t)type;
	f->code4 = f->code6 = (uint8_t)code;
	f->proto = (uint8_t)proto;
	if (version == 6) {
		inet_pton(AF_INET6, src, f->src6);
		inet_pton(AF_INET6, dst, f->dst6);
	} else {
		inet_pton(AF_INET, src, &f->src4);
		inet_pton(AF_INET, dst, &f->dst4);
		f->src4 = ntohl(f->src4);
		f->dst4 = ntohl(f->dst4);
	}
	return (version == 4 ? IP4 : IP6) | (sport & 1 ? EXTRA : 0) |
	       (*how == 'o' ? OWN :
		*how == 't' ? TWO :
			      PORTS);
}

int main(void)
{
	static bool known[64];
	fbInfoModel_t *model = fbInfoModelAlloc();
	fbSession_t *session = fbSessionAlloc(model);
	fBuf_t *fbuf = fBufAllocForExport(session, fbExporterAllocFP(stdout));
	uint16_t internal = template_of(session, model, true, FB_TID_AUTO, UINT32_MAX);
	GError *error = NULL;
	struct flow f;
	char line[256];

	while (fgets(line, sizeof(line), stdin)) {
		uint32_t flags = read_flow(line, &f);
		uint16_t id = (uint16_t)(256 + flags);

		if (!known[flags])
			template_of(session, model, false, id, flags);
		known[flags] = true;
		check(fBufSetInternalTemplate(fbuf, internal, &error), error);
		check(fBufSetExportTemplate(fbuf, id, &error), error);
		check(fBufAppend(fbuf, (uint8_t *)&f, sizeof(f), &error), error);
	}
	check(fBufEmit(fbuf, &error), error);
	fBufFree(fbuf);
	fbInfoModelFree(model);
	return 0;
}
