// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libpcap scales time stamps to the precision that it is opened with and does not
 * report the file's own precision. The beginning of the file is therefore read
 * first, and passed to libpcap again through a custom stream.
 *
 * Some programs write records that are longer than the snap length of the file's header, and
 * libpcap would cut these. So it reads a header without a snap length, which stands for the
 * largest of the link type.
 *
 * Formats: pcap(5) savefile; pcapng, IETF draft-ietf-opsawg-pcapng, sections
 * 4.1 (section header), 4.2 (interface description, if_tsresol).
 */
#include "records/capture.h"

#include <linux/epochfilter.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_BYTES (128u << 10)
#define PLAIN_ROOM (512u << 10) /* the longest packet of most link types is 256 KiB */
#define PLAIN_SNAPLEN_AT 16     /* in the header of a file */

#define MAGIC_US 0xa1b2c3d4
#define MAGIC_NS 0xa1b23c4d

enum precision { PRECISION_UNDECIDED, PRECISION_US, PRECISION_NS };

enum ng_block {
	NG_SECTION = 0x0a0d0d0a, /* the same in either byte order */
	NG_INTERFACE = 1,
	NG_PACKET_OLD = 2,
	NG_PACKET_SIMPLE = 3,
	NG_PACKET = 6,
};
#define NG_ORDER_BIG "\x1a\x2b\x3c\x4d"
#define NG_BLOCK_MIN 12
#define NG_INTERFACES_MAX (1u << 16) /* in a section */
#define NG_BLOCK_MAX (1u << 20)      /* bytes of a block that is passed to libpcap */
#define NG_PIECE (64u << 10)         /* bytes of one read() */
#define NG_QUEUE_MAX (2u << 20)
#define NG_OPEN_BYTES (64u << 20) /* limit of the search for the first interface */
#define NG_INTERFACE_OPTIONS 16   /* offset of the options in the block */
#define NG_IF_TSRESOL 9

static __u32 capture_get(const unsigned char *p, unsigned int bytes, bool big)
{
	__u32 v = 0;
	unsigned int i;

	for (i = 0; i < bytes; i++)
		v |= (__u32)p[i] << 8 * (big ? bytes - 1 - i : i);
	return v;
}

/* Does the interface block of @len bytes declare time stamps finer than 1 us? */
static bool ng_is_finer(const unsigned char *block, size_t len, bool big)
{
	size_t at = NG_INTERFACE_OPTIONS;

	while (at + 8 <= len) { /* an option, or the block's last 4 bytes */
		__u32 code = capture_get(block + at, 2, big);
		__u32 bytes = capture_get(block + at + 2, 2, big);
		unsigned char resol = block[at + 4];

		if (!code)
			break;
		if (code == NG_IF_TSRESOL && bytes)
			return resol & 0x80 ? (resol & 0x7f) > 19 : resol > 6;
		at += 4 + (bytes + 3) / 4 * 4;
	}
	return false;
}

/* The precision that the interface blocks before the first packet declare. */
static enum precision ng_precision(const unsigned char *p, size_t len)
{
	bool big = false;
	size_t at = 0;

	while (at + NG_BLOCK_MIN <= len) {
		__u32 type, bytes;

		if (capture_get(p + at, 4, false) == NG_SECTION)
			big = !memcmp(p + at + 8, NG_ORDER_BIG, 4);
		type = capture_get(p + at, 4, big);
		bytes = capture_get(p + at + 4, 4, big);
		if (type == NG_PACKET || type == NG_PACKET_SIMPLE || type == NG_PACKET_OLD ||
		    bytes < NG_BLOCK_MIN)
			return PRECISION_US;
		if (type == NG_INTERFACE && bytes > len - at)
			break;
		if (type == NG_INTERFACE && ng_is_finer(p + at, bytes, big))
			return PRECISION_NS;
		at += bytes;
	}
	return PRECISION_UNDECIDED;
}

static enum precision head_precision(const unsigned char *p, size_t len)
{
	if (len < 4)
		return PRECISION_UNDECIDED;
	if (capture_get(p, 4, false) == NG_SECTION)
		return ng_precision(p, len);
	if (len < sizeof(struct pcap_file_header))
		return PRECISION_UNDECIDED;
	if (capture_get(p, 4, false) == MAGIC_NS || capture_get(p, 4, true) == MAGIC_NS)
		return PRECISION_NS;
	return PRECISION_US;
}

/* Read until the precision, or the header of a plain file, is known. If the head does not decide
 * it, assume ns, which loses nothing.
 */
static int capture_read_head(struct capture_in *in)
{
	enum precision precision;

	while ((precision = head_precision(in->head, in->head_len)) == PRECISION_UNDECIDED) {
		ssize_t n = stream_read(in->stream, in->head + in->head_len,
					sizeof(in->head) - in->head_len);

		if (n < 0) {
			snprintf(in->why, sizeof(in->why), "%s", stream_why(in->stream));
			return -1;
		}
		if (!n)
			break; /* end of the file, or @head is full */
		in->head_len += n;
	}
	in->nano = precision != PRECISION_US;
	return 0;
}

/* Keep the snap length for the caller, and take it out of what libpcap reads. */
static void hide_snaplen(struct capture_in *in)
{
	unsigned char *at = in->head + PLAIN_SNAPLEN_AT;

	if (in->head_len < sizeof(struct pcap_file_header) ||
	    capture_get(in->head, 4, false) == NG_SECTION)
		return;
	in->snaplen = capture_get(at, 4, in->head[0] == 0xa1); /* all magic numbers begin so */
	memset(at, 0, 4);
}

/* As libpcap reads it: none, or one that is no int, is the largest. */
static void capture_learn_snaplen(struct capture_in *in)
{
	__u32 most = (__u32)pcap_snapshot(in->pcap);

	if (!in->snaplen || in->snaplen > INT_MAX)
		in->snaplen = most;
	in->plain.longest = in->snaplen > most ? in->snaplen : most;
}

static const char *not_a_capture(const struct capture_in *in)
{
	if (!in->head_len)
		return "is empty, not a capture";
	if (in->head_len >= 4 &&
	    (!memcmp(in->head, "\x1f\x8b", 2) || !memcmp(in->head, "\x28\xb5\x2f\xfd", 4) ||
	     !memcmp(in->head,
		     "\xfd"
		     "7zX",
		     4)))
		return "is compressed twice; unpack it once into a pipe and read '-'";
	return NULL;
}

/* Read the file from its beginning: @head first, then the stream. Return: bytes; 0: the
 * end; -1: see errno and @failed.
 */
static ssize_t capture_read_file(struct capture_in *in, void *to, size_t room)
{
	size_t held = in->head_len - in->head_at;
	ssize_t n;

	if (held) {
		n = (ssize_t)(held < room ? held : room);
		memcpy(to, in->head + in->head_at, (size_t)n);
		in->head_at += (size_t)n;
	} else {
		n = stream_read(in->stream, to, room);
	}
	if (n >= 0) {
		in->done_bytes += (__u64)n;
		return n;
	}
	errno = -(int)n;
	in->failed = errno != EINTR;
	return -1;
}

static bool ng_fault(struct ng_feed *f, const char *text)
{
	f->fault = text;
	f->ended = true;
	return false;
}

static bool ng_put(struct ng_feed *f, const void *data, size_t len)
{
	memcpy(f->queue + f->end, data, len);
	f->end += len;
	return true;
}

/* Make room for all that one piece of the input can add to the queue. */
static bool ng_make_room(struct ng_feed *f)
{
	size_t held = f->end - f->at;
	unsigned char *more;

	memmove(f->queue, f->queue + f->at, held);
	f->at = 0;
	f->end = held;
	if (held + NG_PIECE + sizeof(f->head) <= f->room)
		return true;
	if (f->room >= NG_QUEUE_MAX)
		return ng_fault(f, "more than 2 MiB of sections and interfaces "
				   "without a packet");
	more = realloc(f->queue, 2 * f->room);
	if (!more)
		return ng_fault(f, "out of memory");
	f->queue = more;
	f->room *= 2;
	return true;
}

/* Skip @n bytes of a block that is not passed to libpcap. A block ends with its
 * length again, so at its end compare the last four bytes with the length at the
 * beginning.
 */
static bool ng_skip(struct ng_feed *f, const unsigned char *p, __u32 n)
{
	__u32 keep = n < sizeof(f->tail) ? n : sizeof(f->tail);

	memmove(f->tail, f->tail + keep, sizeof(f->tail) - keep);
	memcpy(f->tail + sizeof(f->tail) - keep, p + n - keep, keep);
	if (!f->left && memcmp(f->tail, f->head + 4, sizeof(f->tail)))
		return ng_fault(f, "the two lengths of a block differ");
	return true;
}

/* The head of a block is complete. If it is damaged, pass the head and then the end
 * of the file to libpcap, which reports the damage.
 */
static bool ng_block(struct ng_feed *f)
{
	__u32 type, bytes;

	if (capture_get(f->head, 4, false) == NG_SECTION) {
		f->big = !memcmp(f->head + 8, NG_ORDER_BIG, 4);
		f->interfaces = 0;
	}
	type = capture_get(f->head, 4, f->big);
	bytes = capture_get(f->head + 4, 4, f->big);
	f->have = 0;
	f->left = bytes - NG_BLOCK_MIN;
	f->wanted = type == NG_SECTION || type == NG_INTERFACE || type == NG_PACKET ||
		    type == NG_PACKET_SIMPLE || type == NG_PACKET_OLD;
	f->packets += f->wanted && type != NG_SECTION && type != NG_INTERFACE;
	f->opened |= f->wanted && type != NG_SECTION;
	f->interfaces += type == NG_INTERFACE;
	if (f->interfaces > NG_INTERFACES_MAX)
		return ng_fault(f, "a section has more than 65536 interfaces");
	if (bytes < NG_BLOCK_MIN || bytes % 4) {
		f->ended = true;
		return ng_put(f, f->head, sizeof(f->head));
	}
	if (!f->wanted)
		return f->left || ng_skip(f, f->head + 8, 4);
	if (bytes > NG_BLOCK_MAX)
		return ng_fault(f, "a block is longer than 1 MiB");
	return ng_put(f, f->head, sizeof(f->head));
}

/* Return: false: libpcap gets no more. */
static bool ng_feed(struct ng_feed *f, const unsigned char *p, size_t len)
{
	while (len && !f->ended) {
		__u32 want = f->left ? f->left : NG_BLOCK_MIN - f->have;
		__u32 n = len < want ? (__u32)len : want;

		if (!f->left) {
			memcpy(f->head + f->have, p, n);
			f->have += n;
			if (f->have == NG_BLOCK_MIN)
				ng_block(f);
		} else {
			f->left -= n;
			if (f->wanted)
				ng_put(f, p, n);
			else
				ng_skip(f, p, n);
		}
		p += n;
		len -= n;
	}
	return !f->ended;
}

/* The file has ended. If it ends inside a block, libpcap must see that: pass on the
 * incomplete head, or that of a skipped block.
 */
static void ng_end(struct ng_feed *f)
{
	f->ended = true;
	if (f->have)
		ng_put(f, f->head, f->have);
	else if (f->left && !f->wanted)
		ng_put(f, f->head, sizeof(f->head));
}

/* Is what libpcap needs next in the queue, or will it never be? */
static bool ng_ready(const struct capture_in *in)
{
	const struct ng_feed *f = &in->feed;

	return f->ended || (in->pcap ? f->packets > f->taken : f->opened);
}

/* Queue what the next piece of the file has for libpcap. */
static void ng_read(struct capture_in *in)
{
	struct ng_feed *f = &in->feed;
	ssize_t n;

	if (!ng_make_room(f))
		return;
	n = capture_read_file(in, f->raw, NG_PIECE);
	if (n > 0) {
		ng_feed(f, f->raw, (size_t)n);
	} else if (!n) {
		ng_end(f);
	} else {
		f->error = errno; /* EINTR, too: the caller decides whether to stop */
		f->ended = true;
	}
}

/* Read about @bytes of the file at most. Return: as ng_ready(). */
static bool ng_look(struct capture_in *in, size_t bytes)
{
	__u64 until = in->done_bytes + bytes;

	while (!ng_ready(in) && in->done_bytes < until)
		ng_read(in);
	return ng_ready(in);
}

static bool capture_ng_open(struct capture_in *in)
{
	struct ng_feed *f = &in->feed;

	f->on = in->head_len >= 4 && capture_get(in->head, 4, false) == NG_SECTION;
	if (!f->on)
		return true;
	f->room = 4 * NG_PIECE;
	f->queue = malloc(f->room);
	f->raw = malloc(NG_PIECE);
	if (!f->queue || !f->raw)
		return ng_fault(f, "out of memory");
	if (!ng_look(in, NG_OPEN_BYTES))
		return ng_fault(f, "no interface in the first 64 MiB");
	return true;
}

static void capture_ng_close(struct ng_feed *f)
{
	free(f->queue);
	free(f->raw);
	memset(f, 0, sizeof(*f));
}

/* The queue is empty here if capture_ready() was not called or libpcap reads ahead. */
static ssize_t ng_take(struct capture_in *in, char *to, size_t room)
{
	struct ng_feed *f = &in->feed;
	size_t n;

	while (f->at == f->end && !f->ended)
		ng_read(in);
	n = f->end - f->at < room ? f->end - f->at : room;
	memcpy(to, f->queue + f->at, n);
	f->at += n;
	if (n || (!f->fault && !f->error))
		return (ssize_t)n;
	errno = f->fault ? EIO : f->error;
	return -1;
}

/* Without memory for a buffer libpcap reads the records, too. */
static void plain_open(struct capture_in *in)
{
	struct pcap_file_header hdr;

	if (in->head_len < sizeof(hdr))
		return;
	memcpy(&hdr, in->head, sizeof(hdr));
	if ((hdr.magic != MAGIC_US && hdr.magic != MAGIC_NS) ||
	    hdr.version_major != PCAP_VERSION_MAJOR || hdr.version_minor != PCAP_VERSION_MINOR)
		return;
	in->plain.buffer = malloc(PLAIN_ROOM);
	in->plain.on = in->plain.buffer;
	in->plain.header = in->plain.on ? sizeof(hdr) : 0;
}

/* Read a piece behind what is left. Return: false: the file ended, or an error. */
static bool plain_read(struct capture_in *in)
{
	struct plain_feed *f = &in->plain;
	ssize_t n;

	if (f->move)
		f->move(f->ctx);
	memmove(f->buffer, f->buffer + f->at, f->end - f->at);
	f->end -= f->at;
	f->at = 0;
	n = capture_read_file(in, f->buffer + f->end,
			      PLAIN_ROOM - f->end < STREAM_BYTES ? PLAIN_ROOM - f->end :
								   STREAM_BYTES);
	if (n < 0)
		f->error = errno;
	else
		f->end += (size_t)n;
	return n > 0;
}

/* Return: the next record as a whole; NULL: libpcap takes over. */
static const unsigned char *plain_record(struct capture_in *in, struct capture_record *rec)
{
	struct plain_feed *f = &in->plain;
	size_t want = sizeof(*rec);

	for (;;) {
		if (f->end - f->at >= sizeof(*rec)) {
			memcpy(rec, f->buffer + f->at, sizeof(*rec));
			want = sizeof(*rec) + rec->captured;
			if (rec->captured > f->longest || want > PLAIN_ROOM)
				return NULL;
		}
		if (f->end - f->at >= want)
			return f->buffer + f->at;
		if (!plain_read(in))
			return NULL;
	}
}

const unsigned char *capture_raw(struct capture_in *in, struct capture_record *rec)
{
	struct plain_feed *f = &in->plain;
	const unsigned char *p = f->on ? plain_record(in, rec) : NULL;

	if (p)
		f->at += sizeof(*rec) + rec->captured;
	else
		f->on = false;
	return p;
}

static bool plain_next(struct capture_in *in, struct pcap_pkthdr **hdr, const unsigned char **data)
{
	struct plain_feed *f = &in->plain;
	struct capture_record rec;
	const unsigned char *p = capture_raw(in, &rec);

	if (!p)
		return false;
	f->hdr.ts.tv_sec = rec.sec;
	f->hdr.ts.tv_usec = rec.frac;
	f->hdr.caplen = rec.captured;
	f->hdr.len = rec.length;
	*hdr = &f->hdr;
	*data = p + sizeof(rec);
	return true;
}

/* For libpcap: no more than the header while records are read here, then what is left. */
static ssize_t plain_take(struct capture_in *in, char *to, size_t room)
{
	struct plain_feed *f = &in->plain;
	size_t n = f->end - f->at < room ? f->end - f->at : room;

	if (f->on && !f->header)
		return 0;
	if (f->on) {
		ssize_t got = capture_read_file(in, to, f->header < room ? f->header : room);

		f->header -= got > 0 ? (__u32)got : 0;
		return got;
	}
	memcpy(to, f->buffer + f->at, n);
	f->at += n;
	if (n)
		return (ssize_t)n;
	if (!f->error)
		return capture_read_file(in, to, room);
	errno = f->error;
	return -1;
}

static ssize_t cookie_read(void *cookie, char *to, size_t room)
{
	struct capture_in *in = cookie;

	if (in->plain.buffer)
		return plain_take(in, to, room);
	return in->feed.on ? ng_take(in, to, room) : capture_read_file(in, to, room);
}

/* libpcap's error text, unless the fault was found here. */
static const char *capture_why(const struct capture_in *in, const char *text)
{
	if (in->failed)
		return stream_why(in->stream);
	return in->feed.fault ? in->feed.fault : text;
}

static pcap_t *capture_open_pcap(const struct capture_in *in, FILE *stream, char *text)
{
	u_int precision = in->nano ? PCAP_TSTAMP_PRECISION_NANO : PCAP_TSTAMP_PRECISION_MICRO;

	return pcap_fopen_offline_with_tstamp_precision(stream, precision, text);
}

static void free_buffers(struct capture_in *in)
{
	free(in->buffer);
	in->buffer = NULL;
	free(in->plain.buffer);
	memset(&in->plain, 0, sizeof(in->plain));
	capture_ng_close(&in->feed);
}

static int start_pcap(struct capture_in *in)
{
	cookie_io_functions_t io = { .read = cookie_read };
	char text[PCAP_ERRBUF_SIZE] = "";
	FILE *stream = fopencookie(in, "r", io);

	if (!stream) {
		snprintf(in->why, sizeof(in->why), "%s", strerror(errno));
		return -1;
	}
	/* without a buffer, glibc ignores the requested size */
	in->buffer = malloc(STREAM_BYTES);
	if (in->buffer)
		setvbuf(stream, in->buffer, _IOFBF, STREAM_BYTES);
	plain_open(in);
	if (capture_ng_open(in))
		in->pcap = capture_open_pcap(in, stream, text);
	if (in->pcap) {
		capture_learn_snaplen(in);
		return 0;
	}
	snprintf(in->why, sizeof(in->why), "is not a readable capture: %s", capture_why(in, text));
	fclose(stream);
	free_buffers(in);
	return -1;
}

int capture_attach(struct capture_in *in, struct stream *stream, const void *head, size_t len)
{
	const char *other;

	memset(in, 0, sizeof(*in));
	memcpy(in->head, head, len);
	in->head_len = len;
	in->stream = stream;
	if (capture_read_head(in))
		return -1;
	other = not_a_capture(in);
	if (!other) {
		hide_snaplen(in);
		return start_pcap(in);
	}
	snprintf(in->why, sizeof(in->why), "%s", other);
	return -1;
}

void capture_close(struct capture_in *in)
{
	if (in->pcap)
		pcap_close(in->pcap);
	in->pcap = NULL;
	free_buffers(in);
}

bool capture_ready(struct capture_in *in, size_t bytes)
{
	return !in->feed.on || ng_look(in, bytes);
}

int capture_next(struct capture_in *in, struct pcap_pkthdr **hdr, const unsigned char **data)
{
	if (plain_next(in, hdr, data))
		return 1;
	switch (pcap_next_ex(in->pcap, hdr, data)) {
	case 1:
		in->feed.taken++;
		return 1;
	case PCAP_ERROR_BREAK:
		return 0;
	default:
		snprintf(in->why, sizeof(in->why), "%s", capture_why(in, pcap_geterr(in->pcap)));
		return -1;
	}
}

int capture_link(const struct capture_in *in)
{
	switch (pcap_datalink(in->pcap)) {
	case DLT_EN10MB:
		return EPF_LINK_ETHER;
	case DLT_RAW:
	case DLT_IPV4:
	case DLT_IPV6:
		return EPF_LINK_IP;
	case DLT_LINUX_SLL:
		return EPF_LINK_SLL;
	case DLT_LINUX_SLL2:
		return EPF_LINK_SLL2;
	}
	return -1;
}

const char *capture_link_name(const struct capture_in *in)
{
	const char *name = pcap_datalink_val_to_name(pcap_datalink(in->pcap));

	return name ? name : "unknown";
}

/* For a link type that libpcap can read but refuses to write. */
static int write_header(FILE *stream, const struct capture_in *like)
{
	struct pcap_file_header hdr = {
		.magic = like->nano ? MAGIC_NS : MAGIC_US,
		.version_major = PCAP_VERSION_MAJOR,
		.version_minor = PCAP_VERSION_MINOR,
		.snaplen = (__u32)pcap_snapshot(like->pcap),
		.linktype = (__u32)pcap_datalink(like->pcap),
	};

	return fwrite(&hdr, sizeof(hdr), 1, stream) == 1 ? 0 : -1;
}

int capture_header(FILE *stream, const struct capture_in *like)
{
	return pcap_dump_fopen(like->pcap, stream) ? 0 : write_header(stream, like);
}

struct capture_record capture_record(const struct pcap_pkthdr *hdr)
{
	struct capture_record rec = {
		.sec = (__u32)hdr->ts.tv_sec,
		.frac = (__u32)hdr->ts.tv_usec,
		.captured = hdr->caplen,
		.length = hdr->len,
	};

	return rec;
}

void capture_on_move(struct capture_in *in, void (*move)(void *ctx), void *ctx)
{
	in->plain.move = move;
	in->plain.ctx = ctx;
}
