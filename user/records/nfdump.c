// SPDX-License-Identifier: GPL-2.0
/*
 * Output of 'nfdump -o csv': a header that names the columns (short names up to
 * nfdump 1.7.3, long ones since), flows, and a summary. In concatenated outputs
 * the next header ends the summary. Nothing is quoted.
 */
#include "reader.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum column { SRC, DST, SRC_PORT, DST_PORT, PROTO, COLUMNS };

static const char *const names[COLUMNS][2] = {
	[SRC] = { "sa", "srcAddr" },	   [DST] = { "da", "dstAddr" },
	[SRC_PORT] = { "sp", "srcPort" },  [DST_PORT] = { "dp", "dstPort" },
	[PROTO] = { "pr", "proto" },
};

/* Protocol names of nfdump 1.7.1, from protocol 0; NULL: printed as a number. 35 and 38
 * are both "IDPR", so that name is not accepted.
 */
static const char *const protos[] = {
	NULL,	 "ICMP",  "IGMP",  "GGP",   "IPIP",  "ST",    "TCP",   "CBT",
	"EGP",	 "IGP",	  "BBN",   "NVPII", "PUP",   "ARGUS", "ENCOM", "XNET",
	"CHAOS", "UDP",	  "MUX",   "DCN",   "HMP",   "PRM",   "XNS",   "Trnk1",
	"Trnk2", "Leaf1", "Leaf2", "RDP",   "IRTP",  "ISO-4", "NETBK", "MFESP",
	"MEINP", "DCCP",  "3PC",   NULL,    "XTP",   "DDP",   NULL,    "TP++",
	"IL",	 "IPv6",  "SDRP",  "Rte6",  "Frag6", "IDRP",  "RSVP",  "GRE",
	"MHRP",	 "BNA",	  "ESP",   "AH",    "INLSP", "SWIPE", "NARP",  "MOBIL",
	"TLSP",	 "SKIP",  "ICMP6", "NOHE6", "OPTS6", "HOST",  "CFTP",  "NET",
	"SATNT", "KLAN",  "RVD",   "IPPC",  "FS",    "SATM",  "VISA",  "IPCV",
	"CPNX",	 "CPHB",  "WSN",   "PVP",   "BSATM", "SUNND", "WBMON", "WBEXP",
	"ISOIP", "VMTP",  "SVMTP", "VINES", "TTP",   "NSIGP", "DGP",   "TCF",
	"EIGRP", "OSPF",  "S-RPC", "LARP",  "MTP",   "AX.25", "OS",    "MICP",
	"SCCSP", "ETHIP", "ENCAP", NULL,    "GMTP",  "IFMP",  "PNNI",  "PIM",
	"ARIS",	 "SCPS",  "QNX",   "A/N",   "IPcmp", "SNP",   "CpqPP", "IPXIP",
	"VRRP",	 "PGM",	  "0hop",  "L2TP",  "DDX",   "IATP",  "STP",   "SRP",
	"UTI",	 "SMP",	  "SM",	   "PTP",   "ISIS4", "FIRE",  "CRTP",  "CRUDP",
	NULL,	 "IPLT",  "SPS",   "PIPE",  "SCTP",  "FC",    NULL,    "MHEAD",
	"UDP-L", "MPLS",
};

#define TEXT_BYTES 48 /* longest relevant text of a column, and a NUL */

/**
 * struct nfdump - a reader
 * @column: index of each column, from 0; -1: missing
 * @summary: inside a summary: lines are not flows
 */
struct nfdump {
	int column[COLUMNS];
	bool summary;
};

/* A line being split at its commas. */
struct cut {
	const char *at;
	size_t left;
	bool more;
};

static struct cut cut_begin(const void *text, size_t len)
{
	struct cut c = { text, len, true };
	const char *lf = memchr(text, '\n', len);

	if (lf)
		c.left = (size_t)(lf - c.at);
	if (c.left && c.at[c.left - 1] == '\r')
		c.left--;
	return c;
}

/* Copy the next column without surrounding blanks. A text longer than @room cannot be a
 * valid one, and becomes empty. Return: false: there are no more columns.
 */
static bool cut_next(struct cut *c, char room[TEXT_BYTES])
{
	const char *comma = memchr(c->at, ',', c->left);
	size_t len = comma ? (size_t)(comma - c->at) : c->left;
	const char *text = c->at;

	if (!c->more)
		return false;
	c->more = comma;
	c->at += len + !!comma;
	c->left -= len + !!comma;
	while (len && *text == ' ')
		text++, len--;
	while (len && text[len - 1] == ' ')
		len--;
	if (len >= TEXT_BYTES)
		len = 0;
	memcpy(room, text, len);
	room[len] = 0;
	return true;
}

/* Find the columns that @line names. Return: whether it is a header. */
static bool find_columns(int column[COLUMNS], const void *line, size_t len)
{
	struct cut c = cut_begin(line, len);
	char text[TEXT_BYTES];
	int i, n;

	for (i = 0; i < COLUMNS; i++)
		column[i] = -1;
	for (n = 0; cut_next(&c, text); n++)
		for (i = 0; i < COLUMNS; i++)
			if (column[i] < 0 && (!strcmp(text, names[i][0]) ||
					      !strcmp(text, names[i][1])))
				column[i] = n;
	return column[SRC] >= 0 && column[DST] >= 0 && column[PROTO] >= 0;
}

bool rec_nfdump_begins(const void *text, size_t len)
{
	int column[COLUMNS];

	return memchr(text, '\n', len) && find_columns(column, text, len);
}

/* A number from 0 to @max, followed by @stop or the end of the text. Return: -1: it is
 * not one.
 */
static long number(const char *text, char stop, long max)
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
	return (int)number(text, 0, 255);
}

static void put16(__u8 *to, long v)
{
	to[0] = (__u8)(v >> 8);
	to[1] = (__u8)v;
}

/* The ICMP type and code are "type.code", or the port 256 * type + code. */
static bool read_icmp(const char *text, __u8 id[4])
{
	const char *dot = strchr(text, '.');
	long both = number(text, '.', dot ? 255 : 65535);
	long code = dot ? number(dot + 1, 0, 255) : 0;

	if (both < 0 || code < 0)
		return false;
	put16(id, dot ? both << 8 | code : both);
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

static bool read_ports(char text[COLUMNS][TEXT_BYTES], __u8 id[4])
{
	long src = *text[SRC_PORT] ? number(text[SRC_PORT], 0, 65535) : 0;
	long dst = *text[DST_PORT] ? number(text[DST_PORT], 0, 65535) : 0;

	if (src < 0 || dst < 0)
		return false;
	put16(id, src);
	put16(id + 2, dst);
	return true;
}

/* Return: NULL, or what is wrong. */
static const char *read_flow(char text[COLUMNS][TEXT_BYTES],
			     struct epf_flow_rec *f)
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
		return read_icmp(text[DST_PORT], f->id) ?
			       NULL : "not an ICMP type and code";
	if (epf_has_ports(f->proto) && !read_ports(text, f->id))
		return "not a port";
	return NULL;
}

/* Split a line. Return: whether it has all columns that the header names. */
static bool cut_line(const struct nfdump *nf, struct rec_raw line,
		     char text[COLUMNS][TEXT_BYTES])
{
	struct cut c = cut_begin(line.data, line.len);
	char one[TEXT_BYTES];
	int missing = 0;
	int i, n;

	for (i = 0; i < COLUMNS; i++) {
		text[i][0] = 0;
		missing += nf->column[i] >= 0;
	}
	for (n = 0; missing && cut_next(&c, one); n++)
		for (i = 0; i < COLUMNS; i++)
			if (nf->column[i] == n) {
				memcpy(text[i], one, TEXT_BYTES);
				missing--;
			}
	return !missing;
}

static int put_flow(struct rec_source *s, struct rec_batch *b,
		    struct rec_raw line, struct rec_error *e)
{
	const struct nfdump *nf = s->own;
	char text[COLUMNS][TEXT_BYTES];
	struct epf_flow_rec flow;
	const char *why;
	__u64 digest;

	if (!cut_line(nf, line, text))
		return rec_bad(s, e, "line %llu: too few columns",
			       (unsigned long long)s->in.line);
	why = read_flow(text, &flow);
	if (why)
		return rec_bad(s, e, "line %llu: %s",
			       (unsigned long long)s->in.line, why);
	if (rec_flow(s, &flow, &digest))
		rec_put(s, b, digest, line);
	return 0;
}

static bool begins(struct rec_raw line, const char *with)
{
	size_t len = strlen(with);

	return line.len >= len && !memcmp(line.data, with, len);
}

/* Return: whether the line is not a flow: a header, a summary or empty. */
static bool skip(struct nfdump *nf, struct rec_raw line)
{
	int column[COLUMNS];

	if (find_columns(column, line.data, line.len)) {
		memcpy(nf->column, column, sizeof(column));
		nf->summary = false;
		return true;
	}
	if (begins(line, "Summary"))
		nf->summary = true;
	return nf->summary || begins(line, "No match") ||
	       begins(line, "\n") || begins(line, "\r\n");
}

static int nfdump_take(struct rec_source *s, struct rec_batch *b,
		       struct rec_error *e)
{
	struct rec_raw line;
	int ret = 0;

	while (rec_goes_on(s, b) && (ret = rec_line(s, &line, e)) > 0) {
		ret = skip(s->own, line) ? 0 : put_flow(s, b, line, e);
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
		return audit_wrong(e, -ENOMEM, "out of memory");
	s->own = nf;
	err = rec_first_line(s, &line, e);
	if (!err && !find_columns(nf->column, line.data, line.len))
		err = audit_wrong(e, -EBADMSG, "line 1: not the header of "
				  "nfdump -o csv");
	return err;
}

static void nfdump_close(struct rec_source *s)
{
	free(s->own);
}

const struct rec_reader rec_nfdump = {
	.open = nfdump_open,
	.take = nfdump_take,
	.close = nfdump_close,
};
