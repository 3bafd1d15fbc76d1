// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshot files: struct epf_snap_header, then the lines, little-endian.
 *
 * A save is complete or absent: a temporary file beside the target is filled,
 * synced and renamed over it, and the directory is synced. Checksums are
 * XXH3-64 (xxHash) without a seed.
 */
#include "epf.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "epf/window.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "snapshots are written as they lie in memory: little-endian only"
#endif

#define CHUNK_BYTES (1u << 20)
#define NS_PER_SEC 1000000000ULL
#define TEMP_SUFFIX ".XXXXXX"

/* Hold rotation as long as a copy at 256 MiB/s takes, and a second. */
static __u64 pin_ns(__u64 lines_bytes)
{
	__u64 ns = NS_PER_SEC + lines_bytes / (256u << 20) * NS_PER_SEC;

	return ns < EPF_PIN_MAX_NS ? ns : EPF_PIN_MAX_NS;
}

static __u64 header_sum(const struct epf_snap_header *h)
{
	struct epf_snap_header copy = *h;

	copy.header_xxh3 = 0;
	return XXH3_64bits(&copy, sizeof(copy));
}

static __u64 lines_bytes(const struct epf_params *p)
{
	return p->nr_lines * EPF_LINE_BYTES;
}

static int write_all(int fd, const void *data, size_t len, off_t at)
{
	const char *p = data;

	while (len) {
		ssize_t n = pwrite(fd, p, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		p += n;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/**
 * struct copy - lines on their way into a file
 * @lines: the live filter, changing underneath
 * @bytes: of lines
 * @fd: file; lines go behind the header
 * @progress: or NULL
 * @ctx: for @progress
 * @sum: set to the checksum of what was written
 */
struct copy {
	const char *lines;
	__u64 bytes;
	int fd;
	epf_progress_fn progress;
	void *ctx;
	__u64 sum;
};

/* A chunk is copied out before it is summed and written: what is summed is
 * what is written, although insertions go on. Words are loaded whole.
 */
static void copy_words(__u64 *to, const char *from, size_t bytes)
{
	const __u64 *word = (const __u64 *)(const void *)from;
	size_t i;

	for (i = 0; i < bytes / sizeof(*to); i++)
		to[i] = epf_load(&word[i]);
}

static int copy_chunks(struct copy *c, __u64 *buf, XXH3_state_t *state)
{
	__u64 done;

	for (done = 0; done < c->bytes;) {
		__u64 left = c->bytes - done;
		size_t n = left < CHUNK_BYTES ? left : CHUNK_BYTES;
		int ret;

		copy_words(buf, c->lines + done, n);
		XXH3_64bits_update(state, buf, n);
		ret = write_all(c->fd, buf, n,
				(off_t)(sizeof(struct epf_snap_header) + done));
		if (ret)
			return ret;
		done += n;
		if (c->progress && c->progress(c->ctx, done, c->bytes))
			return -ECANCELED;
	}
	c->sum = XXH3_64bits_digest(state);
	return 0;
}

static int copy_lines(struct copy *c)
{
	XXH3_state_t *state = XXH3_createState();
	__u64 *buf = malloc(CHUNK_BYTES);
	int ret = -ENOMEM;

	if (state && buf) {
		XXH3_64bits_reset(state);
		ret = copy_chunks(c, buf, state);
	}
	free(buf);
	XXH3_freeState(state);
	return ret;
}

/* Ask for the room first: a full disk is then found before the long copy. */
static int reserve(int fd, __u64 bytes)
{
	if (!fallocate(fd, 0, 0, (off_t)bytes))
		return 0;
	return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -errno;
}

/* A mapping made between begin and end is of the lines that the snapshot is
 * of, whatever is swapped or restored meanwhile.
 */
static int copy_mapped(int filter, struct copy *c)
{
	void *map;
	int ret;

	ret = reserve(c->fd, sizeof(struct epf_snap_header) + c->bytes);
	if (ret)
		return ret;
	map = mmap(NULL, c->bytes, PROT_READ, MAP_SHARED, filter, 0);
	if (map == MAP_FAILED)
		return -errno;
	c->lines = map;
	ret = copy_lines(c);
	munmap(map, c->bytes);
	return ret;
}

static int snap_begin(int filter, struct copy *c)
{
	struct epf_snap snap = { .size = sizeof(snap) };
	struct epf_info info;
	int ret;

	ret = epf_filter_info(filter, &info);
	if (ret)
		return ret;
	snap.pin_ns = pin_ns(lines_bytes(&info.params));
	if (ioctl(filter, EPF_IOC_SNAP_BEGIN, &snap))
		return -errno;
	c->bytes = lines_bytes(&snap.header.params);
	return 0;
}

/* Write lines and header. On failure the caller drops the file. */
static int save_into(int filter, struct copy *c, struct epf_snap_header *h)
{
	struct epf_snap snap = { .size = sizeof(snap) };
	int ret;

	ret = snap_begin(filter, c);
	if (ret)
		return ret;
	ret = copy_mapped(filter, c);
	if (ioctl(filter, EPF_IOC_SNAP_END, &snap) && !ret)
		ret = -errno;
	if (ret)
		return ret;
	*h = snap.header;
	h->lines_xxh3 = c->sum;
	h->header_xxh3 = header_sum(h);
	ret = write_all(c->fd, h, sizeof(*h), 0);
	if (!ret && fsync(c->fd))
		ret = -errno;
	return ret;
}

/* The directory of @path, to be synced: a negative errno before anything is
 * done rather than after.
 */
static int open_dir(const char *path)
{
	char *copy = strdup(path);
	int fd;

	if (!copy)
		return -ENOMEM;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	free(copy);
	return fd;
}

/* Make the rename durable. Some file systems cannot sync a directory and need
 * not.
 */
static int sync_dir(int fd)
{
	return fsync(fd) && errno != EINVAL ? -errno : 0;
}

/* Only a regular file is ever replaced: not a device, a pipe, a directory. */
static int may_replace(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return S_ISREG(st.st_mode) ? 0 : -EINVAL;
}

/* Write a temporary file and rename it over @path. @temp: room for its name. */
static int save_beside(int filter, const char *path, char *temp,
		       struct copy *c, struct epf_snap_header *h)
{
	int ret;

	strcat(strcpy(temp, path), TEMP_SUFFIX);
	c->fd = mkostemp(temp, O_CLOEXEC); /* mode 0600 */
	if (c->fd < 0)
		return -errno;
	ret = save_into(filter, c, h);
	if (close(c->fd) && !ret)
		ret = -errno;
	if (!ret && rename(temp, path))
		ret = -errno;
	if (ret)
		unlink(temp);
	return ret;
}

int epf_snap_save(int filter, const char *path, epf_progress_fn progress,
		  void *ctx, struct epf_snap_header *header)
{
	struct copy c = { .progress = progress, .ctx = ctx };
	struct epf_snap_header h;
	int dir, ret;
	char *temp;

	if (header)
		memset(header, 0, sizeof(*header));
	ret = may_replace(path);
	if (ret)
		return ret;
	dir = open_dir(path);
	if (dir < 0)
		return dir;
	temp = malloc(strlen(path) + sizeof(TEMP_SUFFIX));
	ret = temp ? save_beside(filter, path, temp, &c, &h) : -ENOMEM;
	free(temp);
	if (!ret) {
		if (header)
			*header = h;
		ret = sync_dir(dir);
	}
	close(dir);
	return ret;
}

const char *epf_snap_fault_text(enum epf_snap_fault fault)
{
	switch (fault) {
	case EPF_SNAP_OK:
		return "sound";
	case EPF_SNAP_IO:
		return "cannot be read";
	case EPF_SNAP_TRUNCATED:
		return "is truncated";
	case EPF_SNAP_NOT_ONE:
		return "is not a snapshot";
	case EPF_SNAP_VERSION_UNKNOWN:
		return "is of a version this program does not know";
	case EPF_SNAP_HEADER_SUM:
		return "has a corrupt header (checksum)";
	case EPF_SNAP_GEOMETRY:
		return "has parameters that no filter can have";
	case EPF_SNAP_LINES_SUM:
		return "has corrupt lines (checksum)";
	case EPF_SNAP_LONGER:
		return "is longer than its header says";
	}
	return "has an unknown fault";
}

/* The names the module takes: what is shown of a file cannot do more harm than
 * a name does.
 */
static bool name_sound(const char *name)
{
	static const char good[] = "0123456789._-"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "abcdefghijklmnopqrstuvwxyz";
	size_t len = strnlen(name, EPF_NAME_LEN);

	return len && len < EPF_NAME_LEN && name[0] != '.' &&
	       strspn(name, good) == len;
}

static bool params_sound(const struct epf_params *p)
{
	struct epf_window w;
	struct epf_geom g;

	return p->kind == EPF_KIND_LANES && p->hash <= EPF_HASH_SIPHASH24 &&
	       !epf_geom_init(&g, p->nr_lines, p->lines_per_key,
			      p->bits_per_key) &&
	       !epf_window_init(&w, p->mode, p->refresh, p->window_inserts,
				p->window_ns) &&
	       p->budget_ppt && p->budget_ppt <= p->limit_ppt &&
	       p->limit_ppt <= EPF_RATE_ONE && name_sound(p->name);
}

static bool epochs_sound(const struct epf_snap_header *h)
{
	return h->epoch_begin >= EPF_EPOCH_FIRST &&
	       h->epoch_begin <= h->epoch_end;
}

/* A prefix that is a snapshot's but too short is truncated, not foreign. */
static enum epf_snap_fault check_header(const struct epf_snap_header *h,
					size_t got)
{
	if (got < sizeof(h->magic) || h->magic != EPF_SNAP_MAGIC)
		return EPF_SNAP_NOT_ONE;
	if (got < offsetof(struct epf_snap_header, params))
		return EPF_SNAP_TRUNCATED;
	if (h->version != EPF_SNAP_VERSION || h->header_bytes != sizeof(*h))
		return EPF_SNAP_VERSION_UNKNOWN;
	if (got < sizeof(*h))
		return EPF_SNAP_TRUNCATED;
	if (h->header_xxh3 != header_sum(h))
		return EPF_SNAP_HEADER_SUM;
	if (!params_sound(&h->params) || !epochs_sound(h))
		return EPF_SNAP_GEOMETRY;
	return EPF_SNAP_OK;
}

static enum epf_snap_fault check_size(const struct epf_snap_header *h,
				      __u64 file_bytes)
{
	__u64 want = sizeof(*h) + lines_bytes(&h->params);

	if (file_bytes < want)
		return EPF_SNAP_TRUNCATED;
	return file_bytes > want ? EPF_SNAP_LONGER : EPF_SNAP_OK;
}

static int sum_lines(const struct epf_snap_file *f, epf_progress_fn progress,
		     void *ctx, __u64 *sum)
{
	__u64 bytes = lines_bytes(&f->header.params);
	XXH3_state_t *state = XXH3_createState();
	__u64 done;
	size_t n;
	int ret = 0;

	if (!state)
		return -ENOMEM;
	XXH3_64bits_reset(state);
	for (done = 0; done < bytes && !ret; done += n) {
		n = bytes - done < CHUNK_BYTES ? bytes - done : CHUNK_BYTES;
		XXH3_64bits_update(state, (const char *)f->lines + done, n);
		if (progress && progress(ctx, done + n, bytes))
			ret = -ECANCELED;
	}
	*sum = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	return ret;
}

/* Accepted: a file that another program truncates while it is mapped ends
 * this one with SIGBUS, as every mapping of a file does.
 */
static int open_fd(int fd, struct epf_snap_file *f, epf_progress_fn progress,
		   void *ctx, enum epf_snap_fault *fault)
{
	struct stat st;
	ssize_t got;
	__u64 sum;
	int ret;

	*fault = EPF_SNAP_IO;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -ESPIPE;
	got = pread(fd, &f->header, sizeof(f->header), 0);
	if (got < 0)
		return -errno;
	*fault = check_header(&f->header, (size_t)got);
	if (!*fault)
		*fault = check_size(&f->header, (__u64)st.st_size);
	if (*fault)
		return -EBADMSG;
	*fault = EPF_SNAP_IO;
	f->map_bytes = (size_t)st.st_size;
	f->map = mmap(NULL, f->map_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (f->map == MAP_FAILED)
		return -errno;
	madvise(f->map, f->map_bytes, MADV_SEQUENTIAL);
	f->lines = (const char *)f->map + sizeof(f->header);
	ret = sum_lines(f, progress, ctx, &sum);
	if (!ret && sum != f->header.lines_xxh3) {
		*fault = EPF_SNAP_LINES_SUM;
		ret = -EBADMSG;
	}
	if (ret)
		munmap(f->map, f->map_bytes);
	else
		*fault = EPF_SNAP_OK;
	return ret;
}

int epf_snap_open(const char *path, struct epf_snap_file *file,
		  epf_progress_fn progress, void *ctx,
		  enum epf_snap_fault *fault)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int ret;

	memset(file, 0, sizeof(*file));
	*fault = EPF_SNAP_IO;
	if (fd < 0)
		return -errno;
	ret = open_fd(fd, file, progress, ctx, fault);
	close(fd);
	if (ret) /* after a failed open, closing is harmless */
		file->map = NULL;
	return ret;
}

void epf_snap_close(struct epf_snap_file *file)
{
	if (file->map)
		munmap(file->map, file->map_bytes);
	memset(file, 0, sizeof(*file));
}

int epf_snap_restore(int filter, const struct epf_snap_file *file)
{
	struct epf_restore r = { .size = sizeof(r),
				 .header = file->header,
				 .lines = (__u64)(uintptr_t)file->lines };

	return ioctl(filter, EPF_IOC_RESTORE, &r) ? -errno : 0;
}
