// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Output of 'nfdump -o csv': a header that names the columns (short names up to
 * nfdump 1.7.3, long ones since), flows, and a summary. In concatenated outputs
 * the next header ends the summary. Nothing is quoted, so a record is a line; libcsv
 * splits it.
 */
#include "records/reader.h"
#include "records/stamp.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <csv.h>

enum column { SRC, DST, SRC_PORT, DST_PORT, PROTO, FIRST, LAST, DURATION, COLUMNS };

static const char *const names[COLUMNS][2] = {
	[SRC] = { "sa", "srcAddr" },      [DST] = { "da", "dstAddr" },
	[SRC_PORT] = { "sp", "srcPort" }, [DST_PORT] = { "dp", "dstPort" },
	[PROTO] = { "pr", "proto" },      [FIRST] = { "ts", "firstSeen" },
	[LAST] = { "te", "lastSeen" },    [DURATION] = { "td", "duration" },
};

/* Protocol names of nfdump 1.7.1, from protocol 0; NULL: printed as a number. 35 and 38
 * are both "IDPR", so that name is not accepted.
 */
static const char *const protos[] = {
	NULL,    "ICMP",  "IGMP",  "GGP",   "IPIP",  "ST",    "TCP",   "CBT",   "EGP",   "IGP",
	"BBN",   "NVPII", "PUP",   "ARGUS", "ENCOM", "XNET",  "CHAOS", "UDP",   "MUX",   "DCN",
	"HMP",   "PRM",   "XNS",   "Trnk1", "Trnk2", "Leaf1", "Leaf2", "RDP",   "IRTP",  "ISO-4",
	"NETBK", "MFESP", "MEINP", "DCCP",  "3PC",   NULL,    "XTP",   "DDP",   NULL,    "TP++",
	"IL",    "IPv6",  "SDRP",  "Rte6",  "Frag6", "IDRP",  "RSVP",  "GRE",   "MHRP",  "BNA",
	"ESP",   "AH",    "INLSP", "SWIPE", "NARP",  "MOBIL", "TLSP",  "SKIP",  "ICMP6", "NOHE6",
	"OPTS6", "HOST",  "CFTP",  "NET",   "SATNT", "KLAN",  "RVD",   "IPPC",  "FS",    "SATM",
	"VISA",  "IPCV",  "CPNX",  "CPHB",  "WSN",   "PVP",   "BSATM", "SUNND", "WBMON", "WBEXP",
	"ISOIP", "VMTP",  "SVMTP", "VINES", "TTP",   "NSIGP", "DGP",   "TCF",   "EIGRP", "OSPF",
	"S-RPC", "LARP",  "MTP",   "AX.25", "OS",    "MICP",  "SCCSP", "ETHIP", "ENCAP", NULL,
	"GMTP",  "IFMP",  "PNNI",  "PIM",   "ARIS",  "SCPS",  "QNX",   "A/N",   "IPcmp", "SNP",
	"CpqPP", "IPXIP", "VRRP",  "PGM",   "0hop",  "L2TP",  "DDX",   "IATP",  "STP",   "SRP",
	"UTI",   "SMP",   "SM",    "PTP",   "ISIS4", "FIRE",  "CRTP",  "CRUDP", NULL,    "IPLT",
	"SPS",   "PIPE",  "SCTP",  "FC",    NULL,    "MHEAD", "UDP-L", "MPLS",
};

#define TEXT_BYTES 48 /* longest relevant text of a column, and a NUL */

/**
 * struct nfdump - a reader
 * @p: libcsv's parser
 * @column: index of each column, from 0; -1: missing
 * @summary: inside a summary: lines are not flows
 * @fields: fields seen in the current line
 * @ends: ends of a line that libcsv reported in it
 * @named: of the current line: index of the field that names each column; -1: none
 * @text: of the current line: text of each column. A text longer than the room cannot
 *	be a valid one, and is empty
 */
struct nfdump {
	struct csv_parser p;
	int column[COLUMNS];
	bool summary;
	int fields;
	int ends;
	int named[COLUMNS];
	char text[COLUMNS][TEXT_BYTES];
};

static bool is_name(const char *name, const void *text, size_t len)
{
	return strlen(name) == len && !memcmp(name, text, len);
}

/* Is the current field the name of a column? */
static void compare_names(struct nfdump *nf, const void *text, size_t len)
{
	int i;

	for (i = 0; i < COLUMNS; i++)
		if (nf->named[i] < 0 &&
		    (is_name(names[i][0], text, len) || is_name(names[i][1], text, len)))
			nf->named[i] = nf->fields;
}

static void field_of_line(void *text, size_t len, void *ctx)
{
	bool fits = len && len < TEXT_BYTES;
	struct nfdump *nf = ctx;
	int i;

	for (i = 0; i < COLUMNS; i++)
		if (fits && nf->column[i] == nf->fields) {
			memcpy(nf->text[i], text, len);
			nf->text[i][len] = 0;
		}
	if (len && islower(*(unsigned char *)text)) /* as all names begin */
		compare_names(nf, text, len);
	nf->fields++;
}

static void end_of_line(int end, void *ctx)
{
	struct nfdump *nf = ctx;

	(void)end;
	nf->ends++;
}

/* The quote is a byte that is in no line, so nothing is quoted. */
static void nfdump_start(struct nfdump *nf)
{
	int i;

	csv_init(&nf->p, 0);
	csv_set_quote(&nf->p, '\n');
	csv_set_blk_size(&nf->p, REC_FIELD_BYTES);
	for (i = 0; i < COLUMNS; i++)
		nf->column[i] = -1;
}

/* Split the line at the beginning of @text. Return: NULL, or what is wrong. */
static const char *nfdump_split(struct nfdump *nf, const void *text, size_t len)
{
	const char *line = text, *lf = memchr(line, '\n', len);
	int i;

	if (lf)
		len = (size_t)(lf - line);
	if (len && line[len - 1] == '\r')
		len--;
	nf->fields = nf->ends = 0;
	for (i = 0; i < COLUMNS; i++) {
		nf->named[i] = -1;
		nf->text[i][0] = 0;
	}
	if (csv_parse(&nf->p, line, len, field_of_line, end_of_line, nf) < len ||
	    csv_fini(&nf->p, field_of_line, end_of_line, nf))
		return csv_strerror(csv_error(&nf->p));
	return NULL;
}

/* Is the line that was split a header? */
static bool is_header(const struct nfdump *nf)
{
	return nf->named[SRC] >= 0 && nf->named[DST] >= 0 && nf->named[PROTO] >= 0;
}

bool rec_nfdump_begins(const void *text, size_t len)
{
	struct nfdump nf;
	bool begins;

	if (!memchr(text, '\n', len))
		return false;
	nfdump_start(&nf);
	begins = !nfdump_split(&nf, text, len) && is_header(&nf);
	csv_free(&nf.p);
	return begins;
}

/* A number from 0 to @max, followed by @stop or the end of the text. Return: -1: it is
 * not one.
 */
static long nfdump_number(const char *text, char stop, long max)
{
	char *end;
	long v = strtol(text, &end, 10);

	if (*text < '0' || *text > '9' || (*end && *end != stop) || v > max)
		return -1;
	return v;
}

static int read_proto(const char *text)
{
	size_t i;

	for (i = 0; i < sizeof(protos) / sizeof(protos[0]); i++)
		if (protos[i] && !strcmp(text, protos[i]))
			return (int)i;
	return (int)nfdump_number(text, 0, 255);
}

static void nfdump_put16(__u8 *to, long v)
{
	to[0] = (__u8)(v >> 8);
	to[1] = (__u8)v;
}

/* The ICMP type and code are "type.code", or the port 256 * type + code. */
static bool read_icmp(const char *text, __u8 id[4])
{
	const char *dot = strchr(text, '.');
	long both = nfdump_number(text, '.', dot ? 255 : 65535);
	long code = dot ? nfdump_number(dot + 1, 0, 255) : 0;

	if (both < 0 || code < 0)
		return false;
	nfdump_put16(id, dot ? both << 8 | code : both);
	return true;
}

static bool read_address(const char *text, __u8 addr[16], __u8 *version)
{
	*version = 4;
	if (inet_pton(AF_INET, text, addr) == 1)
		return true;
	*version = 6;
	return inet_pton(AF_INET6, text, addr) == 1;
}

static bool read_ports(const char text[COLUMNS][TEXT_BYTES], __u8 id[4])
{
	long src = *text[SRC_PORT] ? nfdump_number(text[SRC_PORT], 0, 65535) : 0;
	long dst = *text[DST_PORT] ? nfdump_number(text[DST_PORT], 0, 65535) : 0;

	if (src < 0 || dst < 0)
		return false;
	nfdump_put16(id, src);
	nfdump_put16(id + 2, dst);
	return true;
}

/* Return: NULL, or what is wrong. */
static const char *read_flow(const char text[COLUMNS][TEXT_BYTES], struct epf_flow_rec *f)
{
	int proto = read_proto(text[PROTO]);
	__u8 version;

	if (!read_address(text[SRC], f->src, &f->version) ||
	    !read_address(text[DST], f->dst, &version))
		return "not an address";
	if (f->version != version)
		return "one address is IPv4, the other IPv6";
	if (proto < 0)
		return "not a protocol";
	f->proto = (__u8)proto;
	memset(f->id, 0, sizeof(f->id));
	if (proto == (version == 4 ? 1 : 58))
		return read_icmp(text[DST_PORT], f->id) ? NULL : "not an ICMP type and code";
	if (epf_has_ports(f->proto) && !read_ports(text, f->id))
		return "not a port";
	return NULL;
}

/* Does the line have all columns that the header names? */
static bool is_whole(const struct nfdump *nf)
{
	int i;

	for (i = 0; i < COLUMNS; i++)
		if (nf->column[i] >= nf->fields)
			return false;
	return true;
}

static bool read_time(const char *text, const char *form, __u64 *ns)
{
	return *text && stamp_parse(text, strlen(text), form, ns);
}

/* When the flow ended. A duration is in seconds, and 0 is no stamp for read_time(). */
static const char *read_end(const char text[COLUMNS][TEXT_BYTES], __u64 *ns)
{
	__u64 lasts = 0;

	if (read_time(text[LAST], NULL, ns))
		return NULL;
	if (!read_time(text[FIRST], NULL, ns))
		return "not a time stamp";
	read_time(text[DURATION], "s", &lasts);
	*ns += lasts;
	return NULL;
}

static int nfdump_put_flow(struct rec_source *s, struct rec_batch *b, struct rec_raw line,
			   struct rec_error *e)
{
	const struct nfdump *nf = s->own;
	struct epf_flow_rec flow;
	const char *why;
	__u64 digest;

	if (nf->ends > 1)
		why = "a carriage return before the end of the line";
	else
		why = is_whole(nf) ? read_flow(nf->text, &flow) : "too few columns";
	if (!why && s->spec.stamps)
		why = read_end(nf->text, &s->ns);
	if (why)
		return rec_bad(s, e, "line %llu: %s", rec_line_nr(s), why);
	if (rec_flow(s, &flow, &digest))
		rec_put(s, b, digest, line);
	return 0;
}

static bool begins(struct rec_raw line, const char *with)
{
	size_t len = strlen(with);

	return line.len >= len && !memcmp(line.data, with, len);
}

/* Return: whether the line is not a flow: a header, a summary, "No matching flows", perhaps
 * without its blanks (nfcapd_squeeze()), or empty.
 */
static bool nfdump_skip(struct nfdump *nf, struct rec_raw line)
{
	if (is_header(nf)) {
		memcpy(nf->column, nf->named, sizeof(nf->column));
		nf->summary = false;
		return true;
	}
	if (begins(line, "Summary"))
		nf->summary = true;
	return nf->summary || begins(line, "No match") || begins(line, "Nomatch") ||
	       begins(line, "\n") || begins(line, "\r\n");
}

static int nfdump_take_line(struct rec_source *s, struct rec_batch *b, struct rec_raw line,
			    struct rec_error *e)
{
	const char *why = nfdump_split(s->own, line.data, line.len);

	if (why)
		return rec_bad(s, e, "line %llu: %s", rec_line_nr(s), why);
	return nfdump_skip(s->own, line) ? 0 : nfdump_put_flow(s, b, line, e);
}

static int nfdump_take(struct rec_source *s, struct rec_batch *b, struct rec_error *e)
{
	struct rec_raw line;
	int ret = 0;

	while (rec_goes_on(s, b) && (ret = rec_line(s, &line, e)) > 0) {
		ret = nfdump_take_line(s, b, line, e);
		if (ret)
			break;
	}
	return ret;
}

static int nfdump_open(struct rec_source *s, struct rec_error *e)
{
	struct nfdump *nf = calloc(1, sizeof(*nf));
	struct rec_raw line;
	int err;

	if (!nf)
		return rec_error_set(e, -ENOMEM, "out of memory");
	s->own = nf;
	nfdump_start(nf);
	err = rec_first_line(s, &line, e);
	if (!err && (nfdump_split(nf, line.data, line.len) || !is_header(nf)))
		err = rec_error_set(e, -EBADMSG,
				    "line 1: not the header of "
				    "nfdump -o csv");
	memcpy(nf->column, nf->named, sizeof(nf->column));
	return err;
}

static void nfdump_close(struct rec_source *s)
{
	struct nfdump *nf = s->own;

	if (!nf)
		return;
	csv_free(&nf->p);
	free(nf);
}

const struct rec_reader rec_nfdump = {
	.open = nfdump_open,
	.take = nfdump_take,
	.close = nfdump_close,
};
