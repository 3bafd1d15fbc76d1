// SPDX-License-Identifier: GPL-2.0
#include "capture_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STREAM_BYTES (1u << 20)

static int out_fails(struct capture_out *out, int err)
{
	snprintf(out->why, sizeof(out->why), "%s", strerror(err));
	capture_discard(out);
	return -1;
}

static int open_out(struct capture_out *out, const char *path)
{
	struct stat st;
	int fd;

	if (!strcmp(path, "-"))
		return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return -1;
	}
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return open(path, O_WRONLY | O_CLOEXEC);
	fd = beside_open(&out->file, path);
	if (fd < 0)
		errno = -fd;
	return fd;
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
	if (capture_header(out->stream, like))
		return out_fails(out, errno);
	return 0;
}

int capture_put(struct capture_out *out, const struct pcap_pkthdr *hdr,
		const unsigned char *data)
{
	struct capture_record rec = capture_record(hdr);

	if (fwrite_unlocked(&rec, sizeof(rec), 1, out->stream) == 1 &&
	    fwrite_unlocked(data, 1, hdr->caplen, out->stream) == hdr->caplen)
		return 0;
	snprintf(out->why, sizeof(out->why), "%s", strerror(errno));
	return -1;
}

int capture_commit(struct capture_out *out)
{
	FILE *stream = out->stream;
	int err = 0;

	if (fflush(stream) || ferror(stream))
		return out_fails(out, errno);
	out->stream = NULL;
	if (fclose(stream))
		return out_fails(out, errno);
	if (out->file.temp)
		err = beside_commit(&out->file);
	return err ? out_fails(out, -err) : 0;
}

void capture_discard(struct capture_out *out)
{
	if (out->stream)
		fclose(out->stream);
	beside_discard(&out->file);
	out->stream = NULL;
}
