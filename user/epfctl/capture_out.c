// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "capture_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define WRITE_BYTES (128u << 10)
#define MAGIC_US 0xa1b2c3d4
#define MAGIC_NS 0xa1b23c4d
#define NS_PER_S 1000000000ULL
#define SECTION_LENGTH_AT 16                  /* in a section header, 8 bytes */
#define SNAPLEN_AT 16                         /* in the header of pcap, 4 bytes */
#define NG_SNAPLEN_AT (NG_SECTION_BYTES + 12) /* in that of pcapng */

static int capture_out_fails(struct capture_out *out, int err)
{
	snprintf(out->why, sizeof(out->why), "%s", epf_file_why(-err));
	capture_discard(out);
	return -1;
}

static int open_out(struct capture_out *out, const char *path)
{
	int fd;

	if (!strcmp(path, "-"))
		return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	if (epf_file_is_stream(path))
		return open(path, O_WRONLY | O_CLOEXEC);
	fd = epf_file_open(&out->file, path, EPF_FILE_SHARED);
	if (fd < 0)
		errno = -fd;
	return fd;
}

/* The output is open while it has a buffer. */
static int make_buffer(struct capture_out *out)
{
	out->buffer = malloc(WRITE_BYTES);
	if (out->buffer)
		return 0;
	close(out->fd);
	errno = ENOMEM;
	return -1;
}

int capture_create(struct capture_out *out, const char *path, enum capture_format format,
		   const struct source *like)
{
	memset(out, 0, sizeof(*out));
	out->format = format;
	out->like = like;
	out->fd = open_out(out, path);
	if (out->fd < 0 || make_buffer(out))
		return capture_out_fails(out, errno);
	return 0;
}

/* Write once, and leave out of @v what is written. Return: 0, or -1 with errno set. */
static int write_piece(int fd, struct iovec v[2])
{
	ssize_t n = writev(fd, v, 2);
	int i;

	if (n <= 0) {
		errno = n ? errno : EIO;
		return -1;
	}
	for (i = 0; i < 2; i++) {
		size_t part = (size_t)n < v[i].iov_len ? (size_t)n : v[i].iov_len;

		v[i].iov_base = (char *)v[i].iov_base + part;
		v[i].iov_len -= part;
		n -= (ssize_t)part;
	}
	return 0;
}

/* Write the buffer, then @len bytes from where they are. */
static int write_all(struct capture_out *out, const void *bytes, size_t len)
{
	struct iovec v[2] = { { out->buffer, out->used }, { (void *)bytes, len } };

	out->used = 0;
	while (v[0].iov_len || v[1].iov_len) {
		if (!write_piece(out->fd, v))
			continue;
		out->failed = true;
		snprintf(out->why, sizeof(out->why), "%s", strerror(errno));
		return -1;
	}
	return 0;
}

/* What is long is not copied to the buffer. */
static int capture_out_put(struct capture_out *out, const void *bytes, size_t len)
{
	if (len >= WRITE_BYTES / 2 || len > WRITE_BYTES - out->used)
		return write_all(out, bytes, len);
	memcpy(out->buffer + out->used, bytes, len);
	out->used += len;
	return 0;
}

/* Readers cut packets to the snap length of the header, or refuse them. Interfaces may be
 * described after the header is written, and packets may be longer than it says. So a file gets
 * the largest snap length of all at the end. A stream made from pcapng begins with the largest
 * that its link type may have, as in wiretap.
 */
static __u32 first_snaplen(const struct capture_out *out)
{
	__u32 all = snaplen_of_all(out->link);

	if (out->file.temp || out->like->snaplen > all)
		return out->like->snaplen;
	return all;
}

static int mend_snaplen(struct capture_out *out)
{
	__u32 snaplen = out->like->snaplen;
	bool plain = out->format == FORMAT_PCAP;

	if ((!plain && out->like->is_ng) || !out->file.temp)
		return 0;
	return epf_file_write_at(out->fd, &snaplen, sizeof(snaplen),
				 plain ? SNAPLEN_AT : NG_SNAPLEN_AT);
}

/* Also for a link type that libpcap can read but does not write, and for several types. */
static int begin_pcap(struct capture_out *out)
{
	const struct source *like = out->like;
	struct pcap_file_header hdr = {
		.magic = out->nano ? MAGIC_NS : MAGIC_US,
		.version_major = PCAP_VERSION_MAJOR,
		.version_minor = PCAP_VERSION_MINOR,
		.snaplen = first_snaplen(out),
		.linktype = out->link,
	};

	if (!like->is_ng) {
		memcpy(&hdr, like->header, sizeof(hdr));
		hdr.snaplen = like->snaplen;
	}
	return capture_out_put(out, &hdr, sizeof(hdr));
}

static int begin_ng(struct capture_out *out)
{
	unsigned char head[NG_HEAD_BYTES];

	ng_put_head(head, out->link, out->like->snaplen, out->nano);
	return capture_out_put(out, head, sizeof(head));
}

/* Write the header, from what is known before the first packet. */
static int capture_out_begin(struct capture_out *out, __u32 link)
{
	if (out->begun)
		return 0;
	out->begun = true;
	out->link = link;
	out->nano = out->like->nano;
	return out->format == FORMAT_PCAP ? begin_pcap(out) : begin_ng(out);
}

static int put_block(struct capture_out *out, const struct ng_block *b)
{
	static const char unknown[8] = "\xff\xff\xff\xff\xff\xff\xff\xff";
	__u32 at = SECTION_LENGTH_AT;

	if (b->kind != NG_IS_SECTION)
		return capture_out_put(out, b->bytes, b->len);
	if (capture_out_put(out, b->bytes, at) || capture_out_put(out, unknown, sizeof(unknown)))
		return -1;
	at += sizeof(unknown);
	return capture_out_put(out, b->bytes + at, b->len - at);
}

static int put_ng_packet(struct capture_out *out, const struct item *item)
{
	unsigned char head[NG_PACKET_HEAD_BYTES], tail[8];
	size_t n = ng_put_packet(head, tail, 0, item->ns, out->nano, item->captured, item->length);

	if (capture_out_put(out, head, sizeof(head)) ||
	    capture_out_put(out, item->data, item->captured))
		return -1;
	return capture_out_put(out, tail, n);
}

/* Write the run. */
static int end_run(struct capture_out *out)
{
	size_t n = out->run_bytes;

	out->run_bytes = 0;
	return n ? capture_out_put(out, out->run, n) : 0;
}

/* Records that are kept one after another are one run, which is written at once. */
static int put_raw(struct capture_out *out, const struct item *item)
{
	if (!out->run_bytes || item->raw != out->run + out->run_bytes) {
		if (end_run(out))
			return -1;
		out->run = item->raw;
	}
	out->run_bytes += sizeof(item->record) + item->captured;
	return 0;
}

static int put_pcap_packet(struct capture_out *out, const struct item *item)
{
	__u32 frac = (__u32)(item->ns % NS_PER_S);
	struct capture_record rec = {
		.sec = (__u32)(item->ns / NS_PER_S),
		.frac = out->nano ? frac : frac / 1000,
		.captured = item->captured,
		.length = item->length,
	};

	if (!out->like->is_ng)
		rec = item->record;
	else
		out->loss.stamps += !out->nano && frac % 1000;
	if (end_run(out) || capture_out_put(out, &rec, sizeof(rec)))
		return -1;
	return capture_out_put(out, item->data, item->captured);
}

/* pcap has unsigned 32-bit seconds. */
static bool fits_pcap(const struct item *item)
{
	return !item->has_stamp || (item->has_ns && item->ns / NS_PER_S <= 0xffffffff);
}

static int other_time(struct capture_out *out, const struct item *item)
{
	snprintf(out->why, sizeof(out->why),
		 "the time stamp of packet %llu is before 1970 or after 2106, "
		 "which pcap cannot hold: use --format pcapng",
		 item->number);
	return -1;
}

static int other_link(struct capture_out *out, __u32 link)
{
	snprintf(out->why, sizeof(out->why),
		 "packets of link types %s and %s do not fit into one pcap "
		 "file: use --format pcapng",
		 link_name(out->link), link_name(link));
	return -1;
}

void capture_settle(struct capture_out *out)
{
	if (out->buffer && !out->failed)
		end_run(out);
}

void capture_flush(struct capture_out *out)
{
	capture_settle(out);
	if (out->buffer && !out->failed)
		write_all(out, out->buffer, 0);
}

int capture_put(struct capture_out *out, const struct item *item)
{
	const struct ng_block *b = item->block;

	if (out->failed)
		return -1;
	if (out->format == FORMAT_PCAPNG && b)
		return put_block(out, b);
	if (b) {
		out->loss.options += b->options;
		out->loss.blocks += b->kind == NG_IS_OTHER;
	}
	if (!item->is_packet)
		return 0;
	if (capture_out_begin(out, item->link))
		return -1;
	if (out->format == FORMAT_PCAP && item->raw)
		return put_raw(out, item);
	if (out->format == FORMAT_PCAPNG)
		return put_ng_packet(out, item);
	if (item->link != out->link)
		return other_link(out, item->link);
	if (!fits_pcap(item))
		return other_time(out, item);
	return put_pcap_packet(out, item);
}

static bool needs_header(const struct capture_out *out)
{
	return out->format == FORMAT_PCAP || !out->like->is_ng;
}

int capture_commit(struct capture_out *out)
{
	int err;

	if (needs_header(out))
		capture_out_begin(out, out->like->link);
	capture_flush(out);
	if (out->failed) {
		capture_discard(out);
		return -1;
	}
	err = mend_snaplen(out);
	if (!err && out->file.temp)
		err = epf_file_sync(out->fd);
	free(out->buffer);
	out->buffer = NULL;
	if (close(out->fd) && !err)
		err = -errno;
	if (!err && out->file.temp)
		err = epf_file_commit(&out->file);
	return err ? capture_out_fails(out, -err) : 0;
}

void capture_discard(struct capture_out *out)
{
	if (out->buffer && !out->file.temp)
		capture_flush(out); /* nobody can take back what was written before */
	if (out->buffer)
		close(out->fd);
	free(out->buffer);
	epf_file_discard(&out->file);
	out->buffer = NULL;
}
