// SPDX-License-Identifier: GPL-2.0
/*
 * Reading: libpcap scales time stamps to the precision it is opened with and
 * does not tell the file's own, so the beginning of the file is read ahead and
 * given to libpcap again through a stream of our own.
 *
 * Formats: pcap(5) savefile; pcapng, IETF draft-ietf-opsawg-pcapng, sections
 * 4.1 (section header), 4.2 (interface description, if_tsresol).
 */
#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STREAM_BYTES (1u << 20)

#define MAGIC_US 0xa1b2c3d4
#define MAGIC_NS 0xa1b23c4d

/* The header of a packet in a savefile. */
struct record {
	__u32 sec;
	__u32 frac; /* us, or ns */
	__u32 captured;
	__u32 length;
};

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
#define NG_INTERFACE_OPTIONS 16 /* their offset in the block */
#define NG_IF_TSRESOL 9

static __u32 get(const unsigned char *p, unsigned int bytes, bool big)
{
	__u32 v = 0;
	unsigned int i;

	for (i = 0; i < bytes; i++)
		v |= (__u32)p[i] << 8 * (big ? bytes - 1 - i : i);
	return v;
}

/* Does the interface block of @len bytes have stamps finer than 1 us? */
static bool ng_is_finer(const unsigned char *block, size_t len, bool big)
{
	size_t at = NG_INTERFACE_OPTIONS;

	while (at + 8 <= len) { /* an option, or the block's last 4 bytes */
		__u32 code = get(block + at, 2, big);
		__u32 bytes = get(block + at + 2, 2, big);
		unsigned char resol = block[at + 4];

		if (!code)
			break;
		if (code == NG_IF_TSRESOL && bytes)
			return resol & 0x80 ? (resol & 0x7f) > 19 : resol > 6;
		at += 4 + (bytes + 3) / 4 * 4;
	}
	return false;
}

/* By the interface blocks before the first packet. */
static enum precision ng_precision(const unsigned char *p, size_t len)
{
	bool big = false;
	size_t at = 0;

	while (at + NG_BLOCK_MIN <= len) {
		__u32 type, bytes;

		if (get(p + at, 4, false) == NG_SECTION)
			big = !memcmp(p + at + 8, NG_ORDER_BIG, 4);
		type = get(p + at, 4, big);
		bytes = get(p + at + 4, 4, big);
		if (type == NG_PACKET || type == NG_PACKET_SIMPLE ||
		    type == NG_PACKET_OLD || bytes < NG_BLOCK_MIN)
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
	if (get(p, 4, false) == NG_SECTION)
		return ng_precision(p, len);
	if (get(p, 4, false) == MAGIC_NS || get(p, 4, true) == MAGIC_NS)
		return PRECISION_NS;
	return PRECISION_US;
}

/* Read until the precision is known. A file that keeps it undecided gets ns,
 * which loses nothing.
 */
static int read_head(struct capture_in *in)
{
	enum precision precision;

	while ((precision = head_precision(in->head, in->head_len)) ==
	       PRECISION_UNDECIDED) {
		ssize_t n = read(in->fd, in->head + in->head_len,
				 sizeof(in->head) - in->head_len);

		if (n < 0) {
			snprintf(in->why, sizeof(in->why), "%s",
				 strerror(errno));
			return -1;
		}
		if (!n)
			break; /* at the end, or no room */
		in->head_len += n;
	}
	in->nano = precision != PRECISION_US;
	return 0;
}

static const char *not_a_capture(const struct capture_in *in)
{
	if (!in->head_len)
		return "is empty, not a capture";
	if (in->head_len >= 4 && (!memcmp(in->head, "\x1f\x8b", 2) ||
				  !memcmp(in->head, "\x28\xb5\x2f\xfd", 4) ||
				  !memcmp(in->head, "\xfd" "7zX", 4)))
		return "is compressed; unpack it into a pipe and read '-'";
	return NULL;
}

static ssize_t stream_read(void *cookie, char *to, size_t room)
{
	struct capture_in *in = cookie;
	size_t held = in->head_len - in->head_at;
	ssize_t n;

	if (held) {
		n = held < room ? held : room;
		memcpy(to, in->head + in->head_at, n);
		in->head_at += n;
	} else {
		n = read(in->fd, to, room);
	}
	if (n > 0)
		in->done_bytes += n;
	return n;
}

static int stream_close(void *cookie)
{
	struct capture_in *in = cookie;

	return close(in->fd);
}

static int start_pcap(struct capture_in *in)
{
	cookie_io_functions_t io = { .read = stream_read,
				     .close = stream_close };
	char text[PCAP_ERRBUF_SIZE] = "";
	FILE *stream = fopencookie(in, "r", io);

	if (!stream) {
		snprintf(in->why, sizeof(in->why), "%s", strerror(errno));
		close(in->fd);
		return -1;
	}
	setvbuf(stream, NULL, _IOFBF, STREAM_BYTES);
	in->pcap = pcap_fopen_offline_with_tstamp_precision(
		stream,
		in->nano ? PCAP_TSTAMP_PRECISION_NANO :
			   PCAP_TSTAMP_PRECISION_MICRO,
		text);
	if (in->pcap)
		return 0;
	snprintf(in->why, sizeof(in->why), "is not a readable capture: %s",
		 text);
	fclose(stream);
	return -1;
}

int capture_open(struct capture_in *in, const char *path)
{
	const char *other;

	memset(in, 0, sizeof(*in));
	in->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) :
				     fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	if (in->fd < 0 || fstat(in->fd, &in->stat)) {
		snprintf(in->why, sizeof(in->why), "%s", strerror(errno));
		goto err_close;
	}
	if (read_head(in))
		goto err_close;
	other = not_a_capture(in);
	if (other) {
		snprintf(in->why, sizeof(in->why), "%s", other);
		goto err_close;
	}
	return start_pcap(in);

err_close:
	if (in->fd >= 0)
		close(in->fd);
	return -1;
}

void capture_close(struct capture_in *in)
{
	if (in->pcap)
		pcap_close(in->pcap);
	in->pcap = NULL;
}

int capture_next(struct capture_in *in, struct pcap_pkthdr **hdr,
		 const unsigned char **data)
{
	switch (pcap_next_ex(in->pcap, hdr, data)) {
	case 1:
		return 1;
	case PCAP_ERROR_BREAK:
		return 0;
	default:
		snprintf(in->why, sizeof(in->why), "%s",
			 pcap_geterr(in->pcap));
		return -1;
	}
}

__u64 capture_ns(const struct capture_in *in, const struct pcap_pkthdr *hdr)
{
	return (__u64)hdr->ts.tv_sec * 1000000000 +
	       (__u64)hdr->ts.tv_usec * (in->nano ? 1 : 1000);
}

static int out_fails(struct capture_out *out, int err)
{
	snprintf(out->why, sizeof(out->why), "%s", strerror(err));
	capture_discard(out);
	return -1;
}

/* The mode @path has, or that a new file gets. */
static mode_t file_mode(const char *path)
{
	struct stat st;
	mode_t mask;

	if (!stat(path, &st))
		return st.st_mode & 0777;
	mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

/* @path with its directory (of an existing file: itself) free of links. */
static char *resolve(const char *path)
{
	char *full = realpath(path, NULL);
	char *copy[2] = { strdup(path), strdup(path) };
	char *dir;

	if (!full && copy[0] && copy[1]) {
		dir = realpath(dirname(copy[0]), NULL);
		if (dir && asprintf(&full, "%s/%s", dir, basename(copy[1])) < 0)
			full = NULL;
		free(dir);
	}
	free(copy[0]);
	free(copy[1]);
	return full;
}

/* A temporary file beside @path. Return: descriptor, or -1 with errno. */
static int open_beside(struct capture_out *out, const char *path)
{
	int fd;

	if (!access(path, F_OK) && access(path, W_OK))
		return -1;
	out->path = resolve(path);
	if (!out->path)
		return -1;
	if (asprintf(&out->tmp, "%s.XXXXXX", out->path) < 0) {
		out->tmp = NULL;
		return -1;
	}
	fd = mkostemp(out->tmp, O_CLOEXEC);
	if (fd < 0) {
		free(out->tmp);
		out->tmp = NULL;
		return -1;
	}
	fchmod(fd, file_mode(out->path));
	return fd;
}

static int open_out(struct capture_out *out, const char *path)
{
	struct stat st;

	if (!strcmp(path, "-"))
		return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return -1;
	}
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return open(path, O_WRONLY | O_CLOEXEC);
	return open_beside(out, path);
}

/* For a link type that libpcap can read but will not write. */
static int write_header(FILE *stream, struct capture_in *like)
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

int capture_create(struct capture_out *out, const char *path,
		   struct capture_in *like)
{
	int fd;

	memset(out, 0, sizeof(*out));
	fd = open_out(out, path);
	if (fd < 0)
		return out_fails(out, errno);
	out->stream = fdopen(fd, "w");
	if (!out->stream) {
		close(fd);
		return out_fails(out, errno);
	}
	setvbuf(out->stream, NULL, _IOFBF, STREAM_BYTES);
	/* The file header is libpcap's, the records are ours. */
	if (!pcap_dump_fopen(like->pcap, out->stream) &&
	    write_header(out->stream, like))
		return out_fails(out, errno);
	return 0;
}

int capture_put(struct capture_out *out, const struct pcap_pkthdr *hdr,
		const unsigned char *data)
{
	struct record rec = {
		.sec = (__u32)hdr->ts.tv_sec,
		.frac = (__u32)hdr->ts.tv_usec,
		.captured = hdr->caplen,
		.length = hdr->len,
	};

	if (fwrite_unlocked(&rec, sizeof(rec), 1, out->stream) == 1 &&
	    fwrite_unlocked(data, 1, hdr->caplen, out->stream) == hdr->caplen)
		return 0;
	snprintf(out->why, sizeof(out->why), "%s", strerror(errno));
	return -1;
}

int capture_commit(struct capture_out *out)
{
	FILE *stream = out->stream;

	if (fflush(stream) || ferror(stream))
		return out_fails(out, errno);
	out->stream = NULL;
	if (fclose(stream))
		return out_fails(out, errno);
	if (out->tmp && rename(out->tmp, out->path))
		return out_fails(out, errno);
	free(out->tmp);
	out->tmp = NULL;
	capture_discard(out);
	return 0;
}

void capture_discard(struct capture_out *out)
{
	if (out->stream)
		fclose(out->stream);
	if (out->tmp)
		unlink(out->tmp);
	free(out->tmp);
	free(out->path);
	out->tmp = out->path = NULL;
	out->stream = NULL;
}
