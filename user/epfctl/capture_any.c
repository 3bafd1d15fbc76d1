// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "capture_any.h"

#include <linux/epochfilter.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/progress.h"
#include "records/wiretap.h"

/* Values of tcpdump.org/linktypes.html. libpcap has values of its own for some, which differ
 * from system to system.
 */
enum linktype {
	LINK_ETHER = 1,
	LINK_RAW_OLD = 12,
	LINK_RAW = 101,
	LINK_SLL = 113,
	LINK_IPV4 = 228,
	LINK_IPV6 = 229,
	LINK_DBUS = 231,
	LINK_USBPCAP = 249,
	LINK_SLL2 = 276,
	LINK_EBHSCR = 279,
};
#define HEADER_LINK_AT 20      /* in the header of a savefile */
#define SNAPLEN_MAX 0x7fffffff /* libpcap takes a larger value as no limit */

static int fails(struct source *s, const char *why)
{
	snprintf(s->why, sizeof(s->why), "%s", why);
	return -1;
}

/* The header of an output, and the link type as it is in files, which libpcap only gives
 * in a header.
 */
static int learn_link(struct source *s)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int err = f ? capture_header(f, &s->pcap) : -1;

	if (f && fclose(f))
		err = -1;
	if (!err && len >= sizeof(s->header)) {
		memcpy(s->header, text, sizeof(s->header));
		memcpy(&s->link, s->header + HEADER_LINK_AT, 4);
		s->link &= 0xffff; /* above it, how frames are checked */
	} else {
		err = fails(s, "out of memory");
	}
	free(text);
	return err;
}

static int capture_any_open_pcap(struct source *s, const unsigned char *head, size_t len)
{
	if (capture_attach(&s->pcap, s->stream, head, len))
		return fails(s, s->pcap.why);
	s->snaplen = s->pcap.snaplen;
	s->nano = s->pcap.nano;
	s->interfaces = 1;
	if (!learn_link(s))
		return 0;
	capture_close(&s->pcap);
	return -1;
}

/* Read as much of the head as it takes to recognize pcapng. */
static ssize_t capture_any_read_head(struct source *s, unsigned char *head, size_t room)
{
	size_t len = 0;

	while (len < 4) {
		ssize_t n = stream_read(s->stream, head + len, room - len);

		if (n < 0)
			return fails(s, stream_why(s->stream));
		if (!n)
			break;
		len += n;
	}
	return (ssize_t)len;
}

/* Sources: libpcap, max_snaplen_for_dlt(); wiretap, wtap_max_snaplen_for_encap(). */
__u32 snaplen_of_all(__u32 link)
{
	switch (link) {
	case LINK_DBUS:
	case LINK_USBPCAP:
		return 128u << 20;
	case LINK_EBHSCR:
		return 8u << 20;
	}
	return 262144;
}

/* Without a first section there is nothing to copy. */
static int open_ng(struct source *s, const unsigned char *head, size_t len)
{
	if (ng_open(&s->ng, s->stream, head, len))
		return fails(s, "out of memory");
	s->link = LINK_ETHER; /* if no interface is described */
	s->snaplen = snaplen_of_all(s->link);
	s->held = ng_next(&s->ng, &s->block) > 0;
	if (s->held)
		return 0;
	snprintf(s->why, sizeof(s->why), "is not a readable capture: %s", s->ng.why);
	ng_close(&s->ng);
	return -1;
}

/* libpcap does not know the format. */
static int fails_other(struct source *s)
{
	size_t len = strlen(s->why);

	snprintf(s->why + len, sizeof(s->why) - len, "%s", WIRETAP_ADVICE);
	return -1;
}

/* Let epf-wiretap print a file of another format as pcapng, and read its head. */
static ssize_t other_format(struct source *s, unsigned char *head, size_t len, size_t room)
{
	struct child_file f = { s->fd, &s->stream, head, len, true, &interrupted };
	struct rec_error e;

	if (child_start(&s->child, &wiretap, &f, &e))
		return fails(s, e.text);
	return capture_any_read_head(s, head, room);
}

static int capture_any_begin(struct source *s)
{
	unsigned char head[CAPTURE_HEAD_BYTES];
	ssize_t len = capture_any_read_head(s, head, sizeof(head));
	bool other = len > 0 && wiretap_wanted(head, (size_t)len);

	if (other && wiretap_there())
		len = other_format(s, head, (size_t)len, sizeof(head));
	else if (other)
		return capture_any_open_pcap(s, head, (size_t)len) ? fails_other(s) : 0;

	if (len < 0)
		return -1;
	s->is_ng = ng_is(head, len);
	return s->is_ng ? open_ng(s, head, len) : capture_any_open_pcap(s, head, len);
}

int source_open(struct source *s, const char *path)
{
	memset(s, 0, sizeof(*s));
	s->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) :
				    fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	if (s->fd < 0 || fstat(s->fd, &s->stat)) {
		fails(s, strerror(errno));
	} else {
		s->stream = stream_open(s->fd, STREAM_WINDOW_MAX);
		if (s->stream && !capture_any_begin(s))
			return 0;
		if (!s->stream)
			fails(s, "out of memory");
	}
	stream_close(s->stream);
	child_close(s->child);
	if (s->fd >= 0)
		close(s->fd);
	return -1;
}

void source_close(struct source *s)
{
	if (s->is_ng)
		ng_close(&s->ng);
	else
		capture_close(&s->pcap);
	stream_close(s->stream);
	child_close(s->child);
	close(s->fd);
}

static void capture_any_learn_snaplen(struct source *s, __u32 snaplen)
{
	if (snaplen > s->snaplen)
		s->snaplen = snaplen;
}

static int next_pcap(struct source *s, struct item *item)
{
	struct pcap_pkthdr *hdr;
	int got = 1;

	item->raw = capture_raw(&s->pcap, &item->record);
	if (item->raw) {
		item->data = item->raw + sizeof(item->record);
	} else {
		got = capture_next(&s->pcap, &hdr, &item->data);
		if (got > 0)
			item->record = capture_record(hdr);
	}
	if (got <= 0)
		return got ? fails(s, s->pcap.why) : 0;
	item->is_packet = item->has_stamp = item->has_ns = true;
	item->captured = item->record.captured;
	item->length = item->record.length;
	item->link = s->link;
	item->ns = capture_ns(&s->pcap, &item->record);
	capture_any_learn_snaplen(s, item->captured);
	return 1;
}

static void learn_interface(struct source *s, const struct ng_if *i)
{
	bool limited = i->snaplen && i->snaplen <= SNAPLEN_MAX;

	if (!s->interfaces++) {
		s->link = i->link;
		s->snaplen = 0;
	}
	capture_any_learn_snaplen(s, limited ? i->snaplen : snaplen_of_all(i->link));
	s->nano |= ng_is_nano(i);
}

static int next_ng(struct source *s, struct item *item)
{
	const struct ng_block *b = &s->block;
	int got = s->held ? 1 : ng_next(&s->ng, &s->block);

	s->held = false;
	if (got < 0)
		return fails(s, s->ng.why);
	if (!got)
		return 0;
	item->block = b;
	if (b->kind == NG_IS_INTERFACE)
		learn_interface(s, b->iface);
	if (b->kind != NG_IS_PACKET)
		return 1;
	capture_any_learn_snaplen(s, b->captured);
	item->is_packet = true;
	item->data = b->data;
	item->captured = b->captured;
	item->length = b->length;
	item->link = b->iface->link;
	item->has_stamp = b->has_stamp;
	item->has_ns = b->has_ns;
	item->ns = b->ns;
	return 1;
}

int source_next(struct source *s, struct item *item)
{
	int got;

	memset(item, 0, sizeof(*item));
	got = s->is_ng ? next_ng(s, item) : next_pcap(s, item);
	if (item->is_packet)
		item->number = ++s->packets;
	return got;
}

const char *source_note(const struct source *s)
{
	return s->child ? stream_why(s->stream) : "";
}

void source_on_move(struct source *s, void (*move)(void *ctx), void *ctx)
{
	if (!s->is_ng)
		capture_on_move(&s->pcap, move, ctx);
}

__u64 source_done_bytes(const struct source *s)
{
	if (source_packed(s))
		return stream_taken(s->stream);
	return s->is_ng ? s->ng.done_bytes : s->pcap.done_bytes;
}

bool source_packed(const struct source *s)
{
	return stream_packed(s->stream);
}

__u64 source_all_bytes(const struct source *s)
{
	return S_ISREG(s->stat.st_mode) && !s->child ? (__u64)s->stat.st_size : 0;
}

int link_of(__u32 link)
{
	switch (link) {
	case LINK_ETHER:
		return EPF_LINK_ETHER;
	case LINK_RAW:
	case LINK_RAW_OLD:
	case LINK_IPV4:
	case LINK_IPV6:
		return EPF_LINK_IP;
	case LINK_SLL:
		return EPF_LINK_SLL;
	case LINK_SLL2:
		return EPF_LINK_SLL2;
	}
	return -1;
}

const char *link_name(__u32 link)
{
	const char *name = pcap_datalink_val_to_name(link == LINK_RAW ? DLT_RAW : (int)link);

	return name ? name : "unknown";
}
