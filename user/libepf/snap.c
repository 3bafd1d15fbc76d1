// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshot files: struct epf_snap_header, struct epf_key_desc if it is known
 * what the keys are made of, then the lines, little-endian; of an owned kind
 * struct epf_snap_owned, then its words.
 *
 * A save is complete or absent (atomic_file.h). Checksums are XXH3-64 (xxHash)
 * without a seed.
 */
#include "snap.h"
#include "atomic_file.h"
#include "copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "audit/kinds.h"
#include "epf/keydesc.h"
#include "epf/window.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "snapshots are written as they lie in memory: little-endian only"
#endif

#define CHUNK_BYTES (1u << 20)
#define NS_PER_SEC 1000000000ULL
#define SNAP_WORDS_MAX (1ULL << 42) /* more than any filter has */

/* Hold rotation as long as a copy at 256 MiB/s takes, and a second. */
static __u64 pin_ns(__u64 lines_bytes)
{
	__u64 ns = NS_PER_SEC + lines_bytes / (256u << 20) * NS_PER_SEC;

	return ns < EPF_PIN_MAX_NS ? ns : EPF_PIN_MAX_NS;
}

/* The beginning of a file; @desc is there where @h.header_bytes says so. */
struct head {
	struct epf_snap_header h;
	struct epf_key_desc desc;
};

static __u64 header_sum(const struct epf_snap_header *h,
			const struct epf_key_desc *desc)
{
	struct head copy = { *h, *desc };

	copy.h.header_xxh3 = 0;
	return XXH3_64bits(&copy, h->header_bytes);
}

void epf_snap_describe(struct epf_snap_header *h,
		       const struct epf_key_desc *desc)
{
	bool known = desc->kind != EPF_KEYS_UNKNOWN;

	h->version = known ? EPF_SNAP_VERSION_DESC : EPF_SNAP_VERSION;
	h->header_bytes = known ? sizeof(struct head) : sizeof(*h);
}

static __u64 lines_bytes(const struct epf_params *p)
{
	return p->nr_lines * EPF_LINE_BYTES;
}

/**
 * struct copy - memory on its way into a file, or into other memory
 * @filter: descriptor
 * @lines: the live filter, mapped, changing underneath; NULL: an owned kind
 * @state: of that; NULL: lanes
 * @header: of the file, as far as its size is concerned
 * @desc: what the keys are made of
 * @bytes: of memory
 * @ahead: before them, behind the header: the state's
 * @fd: file, where there is no @to
 * @to: memory: as behind the header of a file; NULL: into the file
 * @to_bytes: of it
 * @progress: or NULL
 * @ctx: for @progress
 * @sum: set to the checksum of what was written
 */
struct copy {
	int filter;
	const char *lines;
	struct epf_snap_owned *state;
	struct epf_snap_header header;
	struct epf_key_desc desc;
	__u64 bytes;
	size_t ahead;
	int fd;
	char *to;
	size_t to_bytes;
	epf_progress_fn progress;
	void *ctx;
	__u64 sum;
};

/* @flags: of struct epf_snap_read. A signal is looked at between chunks. */
static int read_owned(int filter, __u32 flags, __u64 at, void *to, __u64 bytes)
{
	struct epf_snap_read r = { .size = sizeof(r), .flags = flags,
				   .offset = at, .bytes = bytes,
				   .data = (__u64)(uintptr_t)to };

	while (ioctl(filter, EPF_IOC_SNAP_READ, &r))
		if (errno != EINTR)
			return -errno;
	return 0;
}

static int fetch(const struct copy *c, __u64 done, void *buf, size_t n)
{
	if (!c->lines)
		return read_owned(c->filter, 0, done, buf, n);
	epf_copy_words(buf, c->lines + done, n);
	return 0;
}

static int put(struct copy *c, const void *data, size_t n, __u64 at)
{
	if (!c->to)
		return epf_file_write_at(c->fd, data, n,
				 (off_t)(c->header.header_bytes + at));
	memcpy(c->to + at, data, n);
	return 0;
}

/* A chunk is copied out before it is summed and written: what is summed is
 * what is written, although insertions go on. Lanes in memory are summed when
 * rotation is not held any more.
 */
static int copy_chunk(struct copy *c, __u64 done, __u64 *buf, size_t n,
		      XXH3_state_t *sum)
{
	int ret;

	if (c->to && c->lines) {
		epf_copy_away(c->to + done, c->lines + done, n);
		return 0;
	}
	ret = fetch(c, done, buf, n);
	if (ret)
		return ret;
	XXH3_64bits_update(sum, buf, n);
	return put(c, buf, n, c->ahead + done);
}

/* The state of an owned kind, which is to be read last. */
static int copy_state(struct copy *c, XXH3_state_t *sum)
{
	int ret;

	if (!c->state)
		return 0;
	ret = read_owned(c->filter, EPF_SNAP_STATE, 0, c->state,
			 sizeof(*c->state));
	if (ret)
		return ret;
	XXH3_64bits_update(sum, c->state, sizeof(*c->state));
	return put(c, c->state, sizeof(*c->state), 0);
}

static int copy_chunks(struct copy *c, __u64 *buf, XXH3_state_t *state)
{
	__u64 done;
	int ret;

	for (done = 0; done < c->bytes;) {
		__u64 left = c->bytes - done;
		size_t n = left < CHUNK_BYTES ? left : CHUNK_BYTES;

		ret = copy_chunk(c, done, buf, n, state);
		if (ret)
			return ret;
		done += n;
		if (c->progress && c->progress(c->ctx, done, c->bytes))
			return -ECANCELED;
	}
	ret = copy_state(c, state);
	c->sum = XXH3_64bits_digest(state);
	return ret;
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

/* Huge pages, if there are any to be had. */
static int make_room(struct copy *c)
{
	void *to;

	if (c->to)
		munmap(c->to, c->to_bytes);
	c->to = NULL;
	c->to_bytes = c->ahead + c->bytes;
	to = mmap(NULL, c->to_bytes, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (to == MAP_FAILED)
		return -errno;
	madvise(to, c->to_bytes, MADV_HUGEPAGE);
	c->to = to;
	return 0;
}

/* A mapping made between begin and end is of the lines that the snapshot is
 * of, whatever is swapped or restored meanwhile.
 */
static int copy_mapped(struct copy *c)
{
	void *map = mmap(NULL, c->bytes, PROT_READ, MAP_SHARED, c->filter, 0);
	int ret;

	if (map == MAP_FAILED)
		return -errno;
	c->lines = map;
	ret = copy_lines(c);
	munmap(map, c->bytes);
	return ret;
}

static int copy_owned(struct copy *c)
{
	c->lines = NULL;
	return copy_lines(c);
}

/* How much there is to copy, and to where. */
static int set_out(struct copy *c, const struct epf_params *params)
{
	int ret;

	c->ahead = 0;
	c->bytes = lines_bytes(params);
	free(c->state); /* of the try before, maybe of another kind */
	c->state = NULL;
	if (params->kind == EPF_KIND_LANES)
		return 0;
	c->state = malloc(sizeof(*c->state));
	if (!c->state)
		return -ENOMEM;
	ret = read_owned(c->filter, EPF_SNAP_STATE, 0, c->state,
			 sizeof(*c->state));
	c->ahead = sizeof(*c->state);
	c->bytes = c->state->words * sizeof(__u64);
	return ret;
}

/* Between begin and end. */
static int copy_all(struct copy *c, const struct epf_params *params)
{
	int ret = set_out(c, params);

	if (!ret)
		ret = c->fd < 0 ? make_room(c) :
				  reserve(c->fd, c->header.header_bytes +
						 c->ahead + c->bytes);
	if (ret)
		return ret;
	return params->kind == EPF_KIND_LANES ? copy_mapped(c) : copy_owned(c);
}

static int copy_pinned(struct copy *c, __u64 ns, struct epf_snap_header *h)
{
	struct epf_snap snap = { .size = sizeof(snap), .pin_ns = ns };
	int ret;

	if (ioctl(c->filter, EPF_IOC_SNAP_BEGIN, &snap))
		return -errno;
	c->desc = snap.desc;
	epf_snap_describe(&c->header, &c->desc);
	ret = copy_all(c, &snap.header.params);
	snap = (struct epf_snap){ .size = sizeof(snap) };
	if (ioctl(c->filter, EPF_IOC_SNAP_END, &snap) && !ret)
		ret = -errno;
	*h = snap.header;
	explicit_bzero(snap.header.key, sizeof(snap.header.key));
	/* what nobody had said when the copy began has no room in the file */
	if (c->desc.kind != EPF_KEYS_UNKNOWN)
		c->desc = snap.desc;
	return ret;
}

/* From begin to end; what it made for it stays the caller's. An owned kind has
 * to be held for the whole copy: if need be, as long as it can be.
 */
static int copy_filter(struct copy *c, struct epf_snap_header *h)
{
	struct epf_info info;
	int ret;

	ret = epf_filter_info(c->filter, &info);
	if (ret)
		return ret;
	ret = copy_pinned(c, pin_ns(info.params.kind ?
					    info.memory_bytes :
					    lines_bytes(&info.params)), h);
	if (ret == -ESTALE)
		ret = copy_pinned(c, EPF_PIN_MAX_NS, h);
	h->lines_xxh3 = c->sum;
	return ret;
}

int epf_snap_copy(int filter, struct epf_snap_file *file,
		  epf_progress_fn progress, void *ctx)
{
	struct copy c = { .filter = filter, .fd = -1, .progress = progress,
			  .ctx = ctx };
	int ret;

	memset(file, 0, sizeof(*file));
	ret = copy_filter(&c, &file->header);
	if (!ret) {
		file->lines = file->map = c.to;
		file->map_bytes = c.to_bytes;
		if (c.state)
			file->owned = file->lines;
		else
			file->header.lines_xxh3 = XXH3_64bits(c.to, c.bytes);
		file->desc = c.desc;
		file->header.header_xxh3 = header_sum(&file->header,
						      &file->desc);
	} else if (c.to) {
		munmap(c.to, c.to_bytes);
	}
	free(c.state);
	return ret;
}

int epf_snap_reserve(int fd, const struct epf_snap_header *h)
{
	return reserve(fd, h->header_bytes + lines_bytes(&h->params));
}

int epf_snap_put(int fd, const struct epf_snap_header *h, const void *lines,
		 size_t bytes, __u64 at)
{
	return epf_file_write_at(fd, lines, bytes, (off_t)(h->header_bytes + at));
}

int epf_snap_finish(int fd, struct epf_snap_header *h,
		    const struct epf_key_desc *desc)
{
	struct head head;
	int ret;

	h->header_xxh3 = header_sum(h, desc);
	head = (struct head){ *h, *desc };
	ret = epf_file_write_at(fd, &head, h->header_bytes, 0);
	if (!ret && fsync(fd))
		ret = -errno;
	return ret;
}

/* An epf_snap_fill_fn: of a live filter. */
static int save_into(void *ctx, int fd, struct epf_snap_header *h)
{
	struct copy *c = ctx;
	int ret;

	c->fd = fd;
	ret = copy_filter(c, h);
	free(c->state);
	epf_snap_describe(h, &c->desc);
	return ret ? ret : epf_snap_finish(fd, h, &c->desc);
}

int epf_snap_write(const char *path, epf_snap_fill_fn fill, void *ctx,
		   struct epf_snap_header *header)
{
	struct epf_snap_header h;
	struct epf_file file;
	int fd, ret;

	if (header)
		memset(header, 0, sizeof(*header));
	fd = epf_file_open(&file, path, EPF_FILE_SECRET);
	if (fd < 0)
		return fd;
	ret = fill(ctx, fd, &h);
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret)
		ret = epf_file_commit(&file);
	if (header && file.renamed)
		*header = h;
	epf_file_discard(&file);
	return ret;
}

int epf_snap_save(int filter, const char *path, epf_progress_fn progress,
		  void *ctx, struct epf_snap_header *header)
{
	struct copy c = { .filter = filter, .progress = progress, .ctx = ctx };

	return epf_snap_write(path, save_into, &c, header);
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

/* Lanes have a shape in the parameters, owned kinds one of their own. */
static bool kind_sound(const struct epf_params *p)
{
	struct epf_geom g;

	if (p->kind == EPF_KIND_LANES)
		return !epf_geom_init(&g, p->nr_lines, p->lines_per_key,
				      p->bits_per_key);
	if ((p->kind == EPF_KIND_TLBF || p->kind == EPF_KIND_CHAIN) &&
	    p->mode != EPF_MODE_TIME)
		return false;
	return p->kind <= EPF_KIND_MAX && !p->nr_lines && !p->lines_per_key &&
	       !p->bits_per_key;
}

static bool params_sound(const struct epf_params *p)
{
	struct epf_window w;

	return kind_sound(p) && p->hash <= EPF_HASH_SIPHASH24 &&
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

static bool version_known(const struct epf_snap_header *h)
{
	return (h->version == EPF_SNAP_VERSION &&
		h->header_bytes == sizeof(*h)) ||
	       (h->version == EPF_SNAP_VERSION_DESC &&
		h->header_bytes == sizeof(struct head));
}

/* Nothing is written where nothing is known. */
static bool desc_sound(const struct head *head)
{
	return head->h.version == EPF_SNAP_VERSION ||
	       (!epf_key_desc_check(&head->desc) &&
		head->desc.kind != EPF_KEYS_UNKNOWN);
}

/* A prefix that is a snapshot's but too short is truncated, not foreign. */
static enum epf_snap_fault check_header(const struct head *head, size_t got)
{
	const struct epf_snap_header *h = &head->h;

	if (got < sizeof(h->magic) || h->magic != EPF_SNAP_MAGIC)
		return EPF_SNAP_NOT_ONE;
	if (got < offsetof(struct epf_snap_header, params))
		return EPF_SNAP_TRUNCATED;
	if (!version_known(h))
		return EPF_SNAP_VERSION_UNKNOWN;
	if (got < h->header_bytes)
		return EPF_SNAP_TRUNCATED;
	if (h->header_xxh3 != header_sum(h, &head->desc))
		return EPF_SNAP_HEADER_SUM;
	if (!params_sound(&h->params) || !epochs_sound(h))
		return EPF_SNAP_GEOMETRY;
	if (!desc_sound(head))
		return EPF_SNAP_BAD_KEYS;
	return EPF_SNAP_OK;
}

static enum epf_snap_fault check_size(__u64 file_bytes, __u64 want)
{
	if (file_bytes < want)
		return EPF_SNAP_TRUNCATED;
	return file_bytes > want ? EPF_SNAP_LONGER : EPF_SNAP_OK;
}

/* As long as header and state say? Return: 0, or -EIO. */
static int check_owned_size(int fd, const struct epf_snap_header *h,
			    __u64 file_bytes, enum epf_snap_fault *fault)
{
	__u64 before = h->header_bytes + sizeof(struct epf_snap_owned);
	struct epf_snap_owned head; /* its beginning */
	size_t bytes = offsetof(struct epf_snap_owned, shape);

	*fault = check_size(file_bytes, before);
	if (*fault == EPF_SNAP_TRUNCATED)
		return 0;
	if (pread(fd, &head, bytes, h->header_bytes) != (ssize_t)bytes)
		return -EIO;
	if (head.words > SNAP_WORDS_MAX)
		*fault = EPF_SNAP_BAD_STATE;
	else
		*fault = check_size(file_bytes,
				    before + head.words * sizeof(__u64));
	return 0;
}

static int check_length(int fd, const struct epf_snap_header *h,
			__u64 file_bytes, enum epf_snap_fault *fault)
{
	if (h->params.kind != EPF_KIND_LANES)
		return check_owned_size(fd, h, file_bytes, fault);
	*fault = check_size(file_bytes,
			    h->header_bytes + lines_bytes(&h->params));
	return 0;
}

/* Of an owned kind in the order in which a save reads it: memory first. */
static int sum_lines(const struct epf_snap_file *f, epf_progress_fn progress,
		     void *ctx, __u64 *sum)
{
	__u64 first = f->owned ? sizeof(*f->owned) : 0;
	__u64 bytes = f->map_bytes - f->header.header_bytes - first;
	const char *from = (const char *)f->lines + first;
	XXH3_state_t *state = XXH3_createState();
	__u64 done;
	size_t n;
	int ret = 0;

	if (!state)
		return -ENOMEM;
	XXH3_64bits_reset(state);
	for (done = 0; done < bytes && !ret; done += n) {
		n = bytes - done < CHUNK_BYTES ? bytes - done : CHUNK_BYTES;
		XXH3_64bits_update(state, from + done, n);
		if (progress && progress(ctx, done + n, bytes))
			ret = -ECANCELED;
	}
	XXH3_64bits_update(state, f->lines, first);
	*sum = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	return ret;
}

/* Return: a fault or none, or -ENOMEM. */
static int check_owned(const struct epf_snap_file *f)
{
	struct epf_asked *a = calloc(1, sizeof(*a));
	const struct epf_snap_owned *s = f->owned;
	int ret = EPF_SNAP_OK;

	if (!a)
		return -ENOMEM;
	if (s->epoch < f->header.epoch_begin || s->epoch > f->header.epoch_end ||
	    epf_asked_init(a, &f->header.params, s))
		ret = EPF_SNAP_BAD_STATE;
	else if (!epf_asked_place(a, (__u64 *)(uintptr_t)(s + 1))) /* read */
		ret = EPF_SNAP_BAD_MEMORY;
	free(a);
	return ret;
}

static int check_contents(const struct epf_snap_file *f,
			  epf_progress_fn progress, void *ctx,
			  enum epf_snap_fault *fault)
{
	__u64 sum;
	int ret = sum_lines(f, progress, ctx, &sum);

	if (ret)
		return ret;
	if (sum != f->header.lines_xxh3)
		ret = EPF_SNAP_LINES_SUM;
	else if (f->owned)
		ret = check_owned(f);
	if (ret < 0)
		return ret;
	*fault = (enum epf_snap_fault)ret;
	return ret ? -EBADMSG : 0;
}

/* Return: bytes, fewer where the file ends; -1: errno. */
static ssize_t read_at(int fd, void *to, size_t len, off_t at)
{
	size_t got = 0;
	ssize_t n = 1;

	while (got < len && n) {
		n = pread(fd, (char *)to + got, len - got, at + (off_t)got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

/* As epf_snap_head(); *@bytes: of the file. */
static int read_head(int fd, struct head *head, __u64 *bytes,
		     enum epf_snap_fault *fault)
{
	struct stat st;
	ssize_t got;
	int ret = 0;

	*fault = EPF_SNAP_IO;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -ESPIPE;
	memset(head, 0, sizeof(*head));
	got = read_at(fd, head, sizeof(*head), 0);
	if (got < 0)
		return -errno;
	*bytes = (__u64)st.st_size;
	*fault = check_header(head, (size_t)got);
	if (head->h.version == EPF_SNAP_VERSION) /* they are lines */
		head->desc = epf_key_desc_plain(EPF_KEYS_UNKNOWN);
	if (!*fault)
		ret = check_length(fd, &head->h, *bytes, fault);
	return *fault ? -EBADMSG : ret;
}

int epf_snap_head(int fd, struct epf_snap_header *header,
		  struct epf_key_desc *desc, enum epf_snap_fault *fault)
{
	struct head head;
	__u64 bytes;
	int ret = read_head(fd, &head, &bytes, fault);

	*header = head.h;
	*desc = head.desc;
	return ret;
}

/* Accepted: a file that another program truncates while it is mapped ends
 * this one with SIGBUS, as every mapping of a file does.
 */
static int open_fd(int fd, struct epf_snap_file *f, epf_progress_fn progress,
		   void *ctx, enum epf_snap_fault *fault)
{
	struct head head;
	__u64 bytes = 0;
	int ret;

	ret = read_head(fd, &head, &bytes, fault);
	f->header = head.h;
	f->desc = head.desc;
	if (ret)
		return ret;
	*fault = EPF_SNAP_IO;
	f->map_bytes = bytes;
	f->map = mmap(NULL, f->map_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (f->map == MAP_FAILED)
		return -errno;
	madvise(f->map, f->map_bytes, MADV_SEQUENTIAL);
	f->lines = (const char *)f->map + f->header.header_bytes;
	if (f->header.params.kind != EPF_KIND_LANES)
		f->owned = f->lines;
	ret = check_contents(f, progress, ctx, fault);
	if (ret)
		munmap(f->map, f->map_bytes);
	return ret;
}

int epf_snap_open_fd(int fd, struct epf_snap_file *file,
		     epf_progress_fn progress, void *ctx,
		     enum epf_snap_fault *fault)
{
	int ret;

	memset(file, 0, sizeof(*file));
	ret = open_fd(fd, file, progress, ctx, fault);
	if (ret) { /* after a failed open, closing is harmless */
		file->map = NULL;
		file->owned = NULL;
	}
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
	ret = epf_snap_open_fd(fd, file, progress, ctx, fault);
	close(fd);
	return ret;
}

void epf_snap_close(struct epf_snap_file *file)
{
	if (file->map)
		munmap(file->map, file->map_bytes);
	explicit_bzero(file, sizeof(*file)); /* with the hash key */
}

int epf_snap_restore(int filter, const struct epf_snap_file *file)
{
	struct epf_restore r = { .size = sizeof(r),
				 .header = file->header,
				 .lines = (__u64)(uintptr_t)file->lines,
				 .desc = file->desc };
	int err;

	r.header.version = EPF_SNAP_VERSION;
	r.header.header_bytes = sizeof(r.header);
	err = ioctl(filter, EPF_IOC_RESTORE, &r) ? -errno : 0;
	explicit_bzero(r.header.key, sizeof(r.header.key));
	return err;
}
