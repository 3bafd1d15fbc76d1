// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Format of snapshot files: struct epf_snap_header; struct epf_key_desc if it
 * is known what the keys are made of; then the lines, little-endian. A locked
 * kind has struct epf_snap_locked and then its words in place of lines.
 *
 * A save is complete or absent (atomic_file.h). Checksums are XXH3-64 (xxHash)
 * without a seed.
 */
#include "snap.h"
#include "atomic_file.h"
#include "order.h"
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "query/kinds.h"
#include "epf/keydesc.h"
#include "epf/params.h"
#include "backend.h"

#define SNAP_WORDS_MAX (1ULL << 42) /* more than any filter has */

/* The beginning of a file; @desc exists only if @h.header_bytes includes it. */
struct head {
	struct epf_snap_header h;
	struct epf_key_desc desc;
};

static void order_head(struct head *head)
{
	epf_order_header(&head->h);
	epf_order_desc(&head->desc);
}

__u64 epf_snap_header_sum(const struct epf_snap_header *h, const struct epf_key_desc *desc)
{
	struct head copy = { *h, *desc };

	copy.h.header_xxh3 = 0;
	order_head(&copy);
	return XXH3_64bits(&copy, h->header_bytes);
}

void epf_snap_describe(struct epf_snap_header *h, const struct epf_key_desc *desc)
{
	bool known = desc->kind != EPF_KEYS_UNKNOWN;

	h->version = known ? EPF_SNAP_VERSION_DESC : EPF_SNAP_VERSION;
	h->header_bytes = known ? sizeof(struct head) : sizeof(*h);
}

int epf_snap_reserve(int fd, const struct epf_snap_header *h)
{
	return epf_file_reserve(fd, (off_t)(h->header_bytes + epf_snap_lines_bytes(&h->params)));
}

static int put_bytes(int fd, XXH3_state_t *sum, const void *data, size_t bytes, __u64 at)
{
	XXH3_64bits_update(sum, data, bytes);
	return fd < 0 ? 0 : epf_file_write_at(fd, data, bytes, (off_t)at);
}

int epf_snap_put(int fd, XXH3_state_t *sum, const void *words, size_t bytes, __u64 at)
{
	__u64 piece[512];
	size_t done, n;
	int ret = 0;

	if (!EPF_ORDER_SWAPS)
		return put_bytes(fd, sum, words, bytes, at);
	for (done = 0; done < bytes && !ret; done += n) {
		n = bytes - done < sizeof(piece) ? bytes - done : sizeof(piece);
		epf_order_words(piece, (const char *)words + done, n);
		ret = put_bytes(fd, sum, piece, n, at + done);
	}
	return ret;
}

int epf_snap_put_state(int fd, XXH3_state_t *sum, const struct epf_snap_locked *state,
		       const struct epf_snap_header *h)
{
	struct epf_snap_locked copy = *state;

	epf_order_locked(&copy, h->params.kind);
	return put_bytes(fd, sum, &copy, sizeof(copy), h->header_bytes);
}

int epf_snap_finish(int fd, struct epf_snap_header *h, const struct epf_key_desc *desc)
{
	struct head head;
	int ret;

	h->header_xxh3 = epf_snap_header_sum(h, desc);
	head = (struct head){ *h, *desc };
	order_head(&head);
	ret = epf_file_write_at(fd, &head, h->header_bytes, 0);
	return ret ? ret : epf_file_sync(fd);
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

/* Accept only names that the module accepts, so that a name printed from a file
 * is as harmless as any filter name.
 */
static bool name_sound(const char *name)
{
	static const char good[] = "0123456789._-"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "abcdefghijklmnopqrstuvwxyz";
	size_t len = strnlen(name, EPF_NAME_LEN);

	return len && len < EPF_NAME_LEN && name[0] != '.' && strspn(name, good) == len;
}

static bool params_sound(const struct epf_params *p)
{
	const struct epf_kind_ops *ops = epf_kind_ops(p->kind);

	if (!name_sound(p->name))
		return false;
	if (p->kind == EPF_KIND_LANES)
		return !epf_params_check_lanes(p);
	return ops && (!ops->resizable || p->mode == EPF_MODE_TIME) && !epf_params_check_locked(p);
}

static bool epochs_sound(const struct epf_snap_header *h)
{
	return h->epoch_begin >= EPF_EPOCH_FIRST && h->epoch_begin <= h->epoch_end;
}

bool epf_snap_header_sound(const struct epf_snap_header *h)
{
	return params_sound(&h->params) && epochs_sound(h);
}

static bool version_known(const struct epf_snap_header *h)
{
	return (h->version == EPF_SNAP_VERSION && h->header_bytes == sizeof(*h)) ||
	       (h->version == EPF_SNAP_VERSION_DESC && h->header_bytes == sizeof(struct head));
}

/* A file whose keys are unknown has no description. */
static bool desc_sound(const struct head *head)
{
	return head->h.version == EPF_SNAP_VERSION ||
	       (!epf_key_desc_check(&head->desc) && head->desc.kind != EPF_KEYS_UNKNOWN);
}

/* A file that begins like a snapshot but is too short counts as truncated, not
 * as another format.
 */
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
	if (h->header_xxh3 != epf_snap_header_sum(h, &head->desc))
		return EPF_SNAP_HEADER_SUM;
	if (!epf_snap_header_sound(h))
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

/* Check the file's length against header and state, into @fault.
 * Return: 0, or -EIO.
 */
static int check_locked_size(int fd, const struct epf_snap_header *h, __u64 file_bytes,
			     enum epf_snap_fault *fault)
{
	__u64 before = h->header_bytes + sizeof(struct epf_snap_locked);
	struct epf_snap_locked head; /* only the fields before @shape are read */
	size_t bytes = offsetof(struct epf_snap_locked, shape);
	__u64 words;

	*fault = check_size(file_bytes, before);
	if (*fault == EPF_SNAP_TRUNCATED)
		return 0;
	if (pread(fd, &head, bytes, h->header_bytes) != (ssize_t)bytes)
		return -EIO;
	words = epf_order_u64(head.words);
	if (words > SNAP_WORDS_MAX)
		*fault = EPF_SNAP_BAD_STATE;
	else
		*fault = check_size(file_bytes, before + words * sizeof(__u64));
	return 0;
}

static int snap_check_length(int fd, const struct epf_snap_header *h, __u64 file_bytes,
			     enum epf_snap_fault *fault)
{
	if (h->params.kind != EPF_KIND_LANES)
		return check_locked_size(fd, h, file_bytes, fault);
	*fault = check_size(file_bytes, h->header_bytes + epf_snap_lines_bytes(&h->params));
	return 0;
}

/* Return: bytes read, fewer at the end of the file; -1: error in errno. */
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

/* Like epf_snap_head(); *@bytes is set to the size of the file. */
static int snap_read_head(int fd, struct head *head, __u64 *bytes, enum epf_snap_fault *fault)
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
	order_head(head);
	*bytes = (__u64)st.st_size;
	*fault = check_header(head, (size_t)got);
	if (head->h.version == EPF_SNAP_VERSION) /* has none */
		head->desc = epf_key_desc_plain(EPF_KEYS_UNKNOWN);
	if (!*fault)
		ret = snap_check_length(fd, &head->h, *bytes, fault);
	return *fault ? -EBADMSG : ret;
}

int epf_snap_head(int fd, struct epf_snap_header *header, struct epf_key_desc *desc,
		  enum epf_snap_fault *fault)
{
	struct head head;
	__u64 bytes;
	int ret = snap_read_head(fd, &head, &bytes, fault);

	*header = head.h;
	*desc = head.desc;
	return ret;
}

/**
 * struct check - a file whose contents are being checked
 * @work: @done of @all bytes are summed, not counting a locked kind's state
 * @file: result; mapped
 * @fault: result
 * @sum: checksum of the contents so far; NULL: complete, and it matches
 * @own: contents in the order of this CPU, if that is not the order of the file; otherwise NULL
 * @asked: state of a locked kind, once the checksum matches
 * @nr: progress of epf_asked_check()
 */
struct check {
	struct epf_work work;
	struct epf_snap_file *file;
	enum epf_snap_fault *fault;
	XXH3_state_t *sum;
	char *own;
	struct epf_asked *asked;
	__u64 nr;
};

static int unsound(struct check *c, enum epf_snap_fault fault)
{
	*c->fault = fault;
	return -EBADMSG;
}

/* Sum a locked kind in the order in which a save reads it: memory first, then
 * state.
 */
static int snap_sum_some(struct check *c)
{
	const struct epf_snap_file *f = c->file;
	__u64 first = f->locked ? sizeof(*f->locked) : 0;
	__u64 left = c->work.all - c->work.done;
	size_t n = left < EPF_STEP_BYTES ? left : EPF_STEP_BYTES;
	size_t at = first + c->work.done;

	XXH3_64bits_update(c->sum, (const char *)f->lines + at, n);
	if (c->own)
		epf_order_words(c->own + at, (const char *)f->lines + at, n);
	c->work.done += n;
	return 1;
}

static size_t contents_bytes(const struct epf_snap_file *f)
{
	return f->map_bytes - f->header.header_bytes;
}

static bool snap_make_own(struct check *c)
{
	void *own = mmap(NULL, contents_bytes(c->file), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (own != MAP_FAILED)
		c->own = own;
	return c->own;
}

/* Everything but a locked kind's state is in @own already, and its checksum matches. */
static void use_own(struct check *c)
{
	struct epf_snap_file *f = c->file;
	size_t bytes = contents_bytes(f);

	if (f->locked) {
		struct epf_snap_locked *s = memcpy(c->own, f->locked, sizeof(*s));

		epf_order_locked(s, f->header.params.kind);
		f->locked = s;
	}
	munmap(f->map, f->map_bytes);
	f->lines = f->map = c->own;
	f->map_bytes = bytes;
	c->own = NULL;
}

static int load_state(struct check *c)
{
	const struct epf_snap_file *f = c->file;
	const struct epf_snap_locked *s = f->locked;

	c->asked = calloc(1, sizeof(*c->asked));
	if (!c->asked)
		return -ENOMEM;
	if (s->epoch < f->header.epoch_begin || s->epoch > f->header.epoch_end ||
	    epf_asked_init(c->asked, &f->header.params, s))
		return unsound(c, EPF_SNAP_BAD_STATE);
	epf_asked_at(c->asked, (__u64 *)(uintptr_t)(s + 1)); /* only read */
	return 1;
}

static int compare_sum(struct check *c)
{
	const struct epf_snap_file *f = c->file;
	bool same;

	XXH3_64bits_update(c->sum, f->lines, f->locked ? sizeof(*f->locked) : 0);
	same = XXH3_64bits_digest(c->sum) == f->header.lines_xxh3;
	XXH3_freeState(c->sum);
	c->sum = NULL;
	if (!same)
		return unsound(c, EPF_SNAP_LINES_SUM);
	if (c->own)
		use_own(c);
	return f->locked ? load_state(c) : 0;
}

static int check_step(struct epf_work *work)
{
	struct check *c = (struct check *)work;
	int ret;

	if (work->done < work->all)
		return snap_sum_some(c);
	ret = c->sum ? compare_sum(c) : epf_asked_check(c->asked, &c->nr);
	if (ret == -EINVAL)
		return unsound(c, EPF_SNAP_BAD_MEMORY);
	if (!ret) {
		*c->fault = EPF_SNAP_OK;
		c->file = NULL; /* now owned by the caller */
	}
	return ret;
}

static void unmap(struct epf_snap_file *file)
{
	munmap(file->map, file->map_bytes);
	file->map = NULL;
	file->locked = NULL;
}

/* After a failed check the caller may still call epf_snap_close(). */
static void check_end(struct epf_work *work)
{
	struct check *c = (struct check *)work;

	if (c->own)
		munmap(c->own, contents_bytes(c->file));
	if (c->file)
		unmap(c->file);
	XXH3_freeState(c->sum);
	free(c->asked);
	free(c);
}

/* Known limitation: if another program truncates the file while it is mapped,
 * this process gets SIGBUS, as with every mapping of a file (see also common/torn.h).
 */
static int map_file(int fd, struct epf_snap_file *f, enum epf_snap_fault *fault)
{
	struct head head;
	__u64 bytes = 0;
	int ret;

	ret = snap_read_head(fd, &head, &bytes, fault);
	f->header = head.h;
	f->desc = head.desc;
	if (ret)
		return ret;
	*fault = EPF_SNAP_IO;
	f->map_bytes = bytes;
	f->map = mmap(NULL, f->map_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (f->map == MAP_FAILED) {
		f->map = NULL;
		return -errno;
	}
	madvise(f->map, f->map_bytes, MADV_SEQUENTIAL);
	f->lines = (const char *)f->map + f->header.header_bytes;
	if (f->header.params.kind != EPF_KIND_LANES)
		f->locked = f->lines;
	return 0;
}

int epf_snap_check_begin(int fd, struct epf_snap_file *file, enum epf_snap_fault *fault,
			 struct epf_work **work)
{
	struct check *c;
	int ret;

	memset(file, 0, sizeof(*file));
	*work = NULL;
	ret = map_file(fd, file, fault);
	if (ret)
		return ret;
	c = calloc(1, sizeof(*c));
	if (!c) {
		unmap(file);
		return -ENOMEM;
	}
	c->file = file;
	c->fault = fault;
	c->sum = XXH3_createState();
	if (!c->sum || (EPF_ORDER_SWAPS && !snap_make_own(c))) {
		check_end(&c->work);
		return -ENOMEM;
	}
	XXH3_64bits_reset(c->sum);
	c->work = (struct epf_work){ .step = check_step,
				     .end = check_end,
				     .all = file->map_bytes - file->header.header_bytes -
					    (file->locked ? sizeof(*file->locked) : 0) };
	*work = &c->work;
	return 0;
}

int epf_snap_open_fd(int fd, struct epf_snap_file *file, epf_progress_fn progress, void *ctx,
		     enum epf_snap_fault *fault)
{
	struct epf_work *work;
	int ret = epf_snap_check_begin(fd, file, fault, &work);

	return ret ? ret : epf_work_run(work, progress, ctx);
}

int epf_snap_open(const char *path, struct epf_snap_file *file, epf_progress_fn progress, void *ctx,
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

void epf_snap_let_go(const struct epf_snap_file *f, size_t from, size_t to)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!f->map || f->lines == f->map)
		return; /* memory that is not mapped from a file: nothing could read it again */
	from = from / page * page;
	to = to == f->map_bytes ? to : to / page * page;
	if (to > from)
		madvise((char *)f->map + from, to - from, MADV_DONTNEED);
}

void epf_snap_close(struct epf_snap_file *file)
{
	if (file->map)
		munmap(file->map, file->map_bytes);
	explicit_bzero(file, sizeof(*file)); /* it holds the hash key */
}

int epf_snap_restore(int filter, const struct epf_snap_file *file)
{
	struct epf_restore r = {
		.size = sizeof(r),
		.header = file->header,
		.lines = (__u64)(uintptr_t)file->lines,
		.desc = file->desc,
	};
	int err;

	r.header.version = EPF_SNAP_VERSION;
	r.header.header_bytes = sizeof(r.header);
	err = epf_call(filter, EPF_IOC_RESTORE, &r);
	explicit_bzero(r.header.key, sizeof(r.header.key));
	return err;
}
