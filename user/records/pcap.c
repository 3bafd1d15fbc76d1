// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Captures. A record is a packet in savefile format; the prologue is the savefile
 * header. Records of pcapng files have the same format.
 */
#include "records/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "records/capture.h"

/* Bytes of the packets of a batch, including those without a key. A batch ends before
 * the first packet that does not fit.
 */
#define ROOM_BYTES (2u << 20)

#define PACKET_WORK 64 /* work of a packet in addition to its bytes */
#define LATER 2

/**
 * struct pcap_reader - a reader
 * @in: the capture
 * @hdr: header of a packet that was read but not put into a batch; NULL: none
 * @data: its bytes
 * @room: memory for the records of a batch
 * @used: bytes used of @room
 */
struct pcap_reader {
	struct capture_in in;
	struct pcap_pkthdr *hdr;
	const unsigned char *data;
	__u8 *room;
	size_t used;
};

/* Keep the file header. capture_header() writes it to a stream. */
static int keep_header(struct rec_source *s, const struct capture_in *in, struct rec_error *e)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int err;

	if (!f)
		return rec_error_set(e, -ENOMEM, "out of memory");
	err = capture_header(f, in);
	if (fclose(f) || err)
		err = rec_error_set(e, -ENOMEM, "out of memory");
	else
		err = rec_keep_prologue(s, text, len, e);
	free(text);
	return err;
}

static int pcap_begin(struct rec_source *s, struct rec_error *e)
{
	bool other = wiretap_wanted && wiretap_wanted(s->in.buf, s->in.end);
	bool by_wiretap = other && wiretap_there();
	struct pcap_reader *p = calloc(1, sizeof(*p));
	int link, ret;

	if (!p)
		return rec_error_set(e, -ENOMEM, "out of memory");
	s->own = p;
	p->room = malloc(ROOM_BYTES);
	if (!p->room)
		return rec_error_set(e, -ENOMEM, "out of memory");
	ret = by_wiretap ? rec_input_child(s, &wiretap, e) : 0;
	if (ret)
		return ret;
	if (capture_attach(&p->in, s->in.stream, s->in.buf, s->in.end))
		return rec_error_set(e, -EBADMSG, "%.120s%s", p->in.why,
				     other && !by_wiretap ? WIRETAP_ADVICE : "");
	s->in.at = s->in.end;
	s->in.eof = true; /* libpcap reads the rest */
	link = capture_link(&p->in);
	if (link < 0 && s->spec.pkt.key != EPF_PKT_FRAME)
		return rec_error_set(e, -EINVAL,
				     "link type %.40s: only --key frame "
				     "works with it",
				     capture_link_name(&p->in));
	s->spec.pkt.link = link < 0 ? EPF_LINK_ETHER : (__u8)link;
	return keep_header(s, &p->in, e);
}

static struct rec_raw keep_packet(struct pcap_reader *p, const struct capture_record *rec)
{
	struct rec_raw raw = { p->room + p->used, sizeof(*rec) + rec->captured };

	memcpy(p->room + p->used, rec, sizeof(*rec));
	memcpy(p->room + p->used + sizeof(*rec), p->data, rec->captured);
	p->used += raw.len;
	return raw;
}

/* libpcap gives time 0 to packets of pcapng that have none. Return: as rec_bad(). */
static int put_packet(struct rec_source *s, struct rec_batch *b, struct rec_error *e)
{
	struct pcap_reader *p = s->own;
	struct capture_record rec = capture_record(p->hdr);
	struct epf_seg seg = { p->data, rec.captured };
	struct epf_pkt pkt = { &seg, 1, seg.len };
	__u64 digest;
	int err = 0;

	s->ns = capture_ns(&p->in, &rec);
	if (epf_pkt_digest(&s->hash, &pkt, &s->spec.pkt, &digest))
		s->count.keyless++;
	else if (s->spec.stamps && !s->ns)
		err = rec_bad(s, e, "packet %llu has no time stamp",
			      s->count.records + s->count.keyless + 1);
	else
		rec_put(s, b, digest, keep_packet(p, &rec));
	p->hdr = NULL;
	return err;
}

/* Everything read on the way to a packet counts as work. capture_next() sets @p->hdr
 * even at the end of the file, so it is cleared again. Return: as capture_next();
 * LATER: the bound of the call is reached.
 */
static int next_packet(struct rec_source *s)
{
	struct pcap_reader *p = s->own;
	__u64 before = p->in.done_bytes;
	bool ready;
	int ret;

	if (p->hdr)
		return 1;
	ready = capture_ready(&p->in, s->until - s->count.work);
	s->count.work += p->in.done_bytes - before;
	if (!ready)
		return LATER;
	ret = capture_next(&p->in, &p->hdr, &p->data);
	if (ret > 0)
		s->count.work += p->hdr->caplen + PACKET_WORK;
	else
		p->hdr = NULL;
	return ret;
}

static int pcap_take(struct rec_source *s, struct rec_batch *b, struct rec_error *e)
{
	struct pcap_reader *p = s->own;
	size_t packets, bytes = 0;
	int ret = 1;

	p->used = 0;
	for (packets = 0; packets < REC_BATCH && rec_goes_on(s, b); packets++) {
		size_t len;

		ret = next_packet(s);
		if (ret != 1)
			break;
		len = sizeof(struct capture_record) + p->hdr->caplen;
		if (len > ROOM_BYTES)
			return rec_error_set(e, -EBADMSG, "packet %llu is too long: %u bytes",
					     s->count.records + s->count.keyless + 1,
					     p->hdr->caplen);
		bytes += len;
		if (bytes > ROOM_BYTES)
			break;
		ret = put_packet(s, b, e);
		if (ret < 0)
			return ret;
		ret = 1;
	}
	s->more = ret > 0;
	s->in.before = p->in.done_bytes - s->in.at;
	return ret < 0 ? rec_error_set(e, -EBADMSG, "after packet %llu: %.150s",
				       s->count.records + s->count.keyless, p->in.why) :
			 0;
}

static void pcap_end(struct rec_source *s)
{
	struct pcap_reader *p = s->own;

	if (!p)
		return;
	capture_close(&p->in);
	free(p->room);
	free(p);
}

const struct rec_reader rec_pcap = {
	.open = pcap_begin,
	.take = pcap_take,
	.close = pcap_end,
};
