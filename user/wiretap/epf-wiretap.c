// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * usage: epf-wiretap [--magic] FILE
 *
 * Prints a capture of any format that Wireshark's libwiretap reads, as pcapng with the
 * packets, their link types and their times. It is a program of its own, so that epfctl and
 * epfagent neither need the library nor trust it with their rights.
 *
 * --magic: the file may be no capture. It is one only if it begins with the magic number of
 * a binary format; else nothing is printed. libwiretap recognizes other formats by
 * heuristics, some of which take texts and other files for captures.
 *
 * Exit: 0; 1: an error is the one line on standard error. Records that are not packets are
 * left out; a line that begins with "note: " then has their number.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <wiretap/wtap.h>
#include <wiretap/pcap-encap.h>

#include "records/ng_put.h"

#define LINKS 512     /* LINKTYPE_* are below */
#define IFACES_MAX 64 /* link types of one file */
#define NO_LINK 0xffffffff
#define NS_PER_S 1000000000ULL
#define SECONDS_MAX (~0ULL / NS_PER_S)

/* Values of tcpdump.org/linktypes.html. */
enum { LINK_ETHER = 1, LINK_TOKEN_RING = 6, LINK_FDDI = 10, LINK_RAW = 101 };
/* Below and above this range, numbers are the same on every system. */
enum { LINK_VARIES_FIRST = 11, LINK_VARIES_LAST = 98, LINK_PPP_HDLC = 50, LINK_PPP_ETHER = 51 };

/* Types of ERF records. Source: Endace, "Extensible Record Format", "Types". */
enum {
	ERF_ETH = 2,
	ERF_COLOR_ETH = 11,
	ERF_DSM_COLOR_ETH = 16,
	ERF_COLOR_HASH_ETH = 20,
	ERF_IPV4 = 22,
	ERF_IPV6 = 23,
	ERF_META = 27,
	ERF_PAD = 48,
};

/**
 * struct tap - the capture
 * @w: libwiretap's
 * @nano: its times are, or may be, finer than microseconds
 * @links: the link types so far, by the number of their interfaces
 * @nr_links: how many
 * @packets: so far
 * @skipped: records so far that are not packets
 */
struct tap {
	wtap *w;
	bool nano;
	__u32 links[IFACES_MAX];
	__u32 nr_links;
	unsigned long long packets;
	unsigned long long skipped;
};

/* libwiretap writes what it likes to standard error, so that is elsewhere. */
static FILE *errors;

static int __attribute__((format(printf, 1, 2))) fails(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(errors, fmt, ap);
	va_end(ap);
	fputc('\n', errors);
	return -1;
}

static bool put(const void *data, size_t len)
{
	return fwrite(data, 1, len, stdout) == len;
}

static int cannot_write(void)
{
	return fails("cannot write: %s", strerror(errno));
}

/* The frame behind an ERF header, of which libwiretap leaves none in the data. */
static __u32 link_of_erf(const wtap_rec *rec)
{
	switch (rec->rec_header.packet_header.pseudo_header.erf.phdr.type & 0x7f) {
	case ERF_ETH:
	case ERF_COLOR_ETH:
	case ERF_DSM_COLOR_ETH:
	case ERF_COLOR_HASH_ETH:
		return LINK_ETHER;
	case ERF_IPV4:
	case ERF_IPV6:
		return LINK_RAW;
	}
	return NO_LINK;
}

static bool varies(__u32 link)
{
	return link >= LINK_VARIES_FIRST && link <= LINK_VARIES_LAST && link != LINK_PPP_HDLC &&
	       link != LINK_PPP_ETHER;
}

/* LINKTYPE_* of a packet, whose pseudo-header is not kept. */
static __u32 link_of(const wtap_rec *rec)
{
	int encap = rec->rec_header.packet_header.pkt_encap;
	__u32 link;

	switch (encap) {
	case WTAP_ENCAP_ERF:
		return link_of_erf(rec);
	case WTAP_ENCAP_NETTL_ETHERNET:
		return LINK_ETHER;
	case WTAP_ENCAP_NETTL_TOKEN_RING:
		return LINK_TOKEN_RING;
	case WTAP_ENCAP_NETTL_FDDI:
		return LINK_FDDI;
	case WTAP_ENCAP_NETTL_RAW_IP:
		return LINK_RAW;
	}
	for (link = 0; link < LINKS && !wtap_encap_requires_phdr(encap); link++)
		if (!varies(link) && wtap_pcap_encap_to_wtap_encap((int)link) == encap)
			return link;
	return NO_LINK;
}

static bool is_packet(const wtap_rec *rec)
{
	const wtap_packet_header *h = &rec->rec_header.packet_header;
	int type;

	if (rec->rec_type != REC_TYPE_PACKET)
		return false;
	if (h->pkt_encap != WTAP_ENCAP_ERF)
		return true;
	type = h->pseudo_header.erf.phdr.type & 0x7f;
	return type != ERF_META && type != ERF_PAD;
}

/* The interface of a link type, described where it is new. Return: its number; -1. */
static int interface_of(struct tap *t, __u32 link)
{
	unsigned char block[NG_INTERFACE_BYTES];
	__u32 i;

	for (i = 0; i < t->nr_links; i++)
		if (t->links[i] == link)
			return (int)i;
	if (i == IFACES_MAX)
		return fails("packet %llu: more than %d link types", t->packets, IFACES_MAX);
	t->links[t->nr_links++] = link;
	ng_put_interface(block, link, 0, t->nano);
	return put(block, sizeof(block)) ? (int)i : cannot_write();
}

/* Time in ns since 1970; 0: the packet has none. */
static int time_of(const struct tap *t, const wtap_rec *rec, __u64 *ns)
{
	*ns = 0;
	if (!(rec->presence_flags & WTAP_HAS_TS))
		return 0;
	if (rec->ts.secs < 0 || (__u64)rec->ts.secs >= SECONDS_MAX || rec->ts.nsecs < 0)
		return fails("packet %llu: its time is before 1970 or after 2554", t->packets);
	*ns = (__u64)rec->ts.secs * NS_PER_S + (__u64)rec->ts.nsecs;
	return 0;
}

static int put_packet(struct tap *t, const wtap_rec *rec, const void *data)
{
	const wtap_packet_header *h = &rec->rec_header.packet_header;
	unsigned char head[NG_PACKET_HEAD_BYTES], tail[8];
	__u32 link = link_of(rec);
	__u64 ns;
	size_t n;
	int i;

	t->packets++;
	if (link == NO_LINK)
		return fails("packet %llu: pcapng has no number for link type '%s'", t->packets,
			     wtap_encap_description(h->pkt_encap));
	i = interface_of(t, link);
	if (i < 0 || time_of(t, rec, &ns))
		return -1;
	n = ng_put_packet(head, tail, (__u32)i, ns, t->nano, h->caplen,
			  h->len < h->caplen ? h->caplen : h->len);
	if (!put(head, sizeof(head)) || !put(data, h->caplen) || !put(tail, n))
		return cannot_write();
	return 0;
}

/* Why libwiretap has failed. @info, which may be NULL, is more of it. */
static int cannot_read(int err, const char *info)
{
	const char *sep = info && *info ? ": " : "";

	if (err == WTAP_ERR_FILE_UNKNOWN_FORMAT)
		return fails("is no capture that it knows");
	return fails("%s%s%s", wtap_strerror(err), sep, *sep ? info : "");
}

static int put_all(struct tap *t)
{
	char *info = NULL;
	int err = 0, ret = 0;
	gint64 at;
	wtap_rec rec;
	Buffer data;

	wtap_rec_init(&rec);
	ws_buffer_init(&data, WTAP_MAX_PACKET_SIZE_STANDARD);
	while (!ret && wtap_read(t->w, &rec, &data, &err, &info, &at)) {
		if (is_packet(&rec))
			ret = put_packet(t, &rec, ws_buffer_start_ptr(&data));
		else
			t->skipped++;
		wtap_rec_reset(&rec);
	}
	if (!ret && err)
		ret = cannot_read(err, info);
	wtap_rec_cleanup(&rec);
	ws_buffer_free(&data);
	g_free(info);
	return ret;
}

static int print(struct tap *t)
{
	unsigned char section[NG_SECTION_BYTES];
	int precision = wtap_file_tsprec(t->w);

	t->nano = precision == WTAP_TSPREC_PER_PACKET || precision == WTAP_TSPREC_UNKNOWN ||
		  precision > WTAP_TSPREC_USEC;
	ng_put_section(section);
	if (!put(section, sizeof(section)))
		return cannot_write();
	if (put_all(t) || (!t->nr_links && interface_of(t, LINK_ETHER) < 0))
		return -1; /* readers expect one interface at least */
	if (fflush(stdout))
		return cannot_write();
	if (t->skipped)
		fails("note: %llu records that are not packets are left out", t->skipped);
	return 0;
}

static bool set_errors_apart(void)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	errors = fd < 0 ? NULL : fdopen(fd, "w");
	return errors && null >= 0 && dup2(null, STDERR_FILENO) >= 0;
}

/* Is it a binary format of captures that has a magic number? */
static bool is_magic(const struct open_info *format)
{
	/* texts that libwiretap counts as such, and files without packets */
	static const char *const others[] = {
		"DBS Etherwatch (VMS)",
		"Catapult DCT2000 trace (.out format)",
		"3GPP TS 32.423 Trace format",
		"Gammu DCT3 trace",
		"RFC 7468 files",
		"Ericsson eNode-B raw log",
		"MIME Files Format",
		"Transport-Neutral Encapsulation Format",
		"MP4 media file",
	};
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(format->name, others[i]))
			return false;
	return format->type == OPEN_INFO_MAGIC;
}

/* Return: NULL: @err is WTAP_ERR_FILE_UNKNOWN_FORMAT if it has none of these formats. */
static wtap *open_magic(const char *path, int *err, char **info)
{
	wtap *w = NULL;
	unsigned int i;

	*err = WTAP_ERR_FILE_UNKNOWN_FORMAT;
	for (i = 0; !w && open_routines[i].name && *err == WTAP_ERR_FILE_UNKNOWN_FORMAT; i++)
		if (is_magic(&open_routines[i]))
			w = wtap_open_offline(path, i + 1, err, info, false);
	return w;
}

int main(int argc, char **argv)
{
	bool magic = argc == 3 && !strcmp(argv[1], "--magic");
	const char *path = argv[magic ? 2 : 1];
	struct tap t = { .w = NULL };
	char *info = NULL;
	int err = 0, ret = 0;

	if ((argc != 2 && !magic) || !set_errors_apart()) {
		fputs("usage: epf-wiretap [--magic] FILE\n", stderr);
		return 1;
	}
	wtap_init(false);
	t.w = magic ? open_magic(path, &err, &info) :
		      wtap_open_offline(path, WTAP_TYPE_AUTO, &err, &info, false);
	if (t.w)
		ret = print(&t);
	else if (!magic || err != WTAP_ERR_FILE_UNKNOWN_FORMAT)
		ret = cannot_read(err, info);
	g_free(info);
	if (t.w)
		wtap_close(t.w);
	wtap_cleanup();
	return ret ? 1 : 0;
}
