// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Copies of live filters, into files and into memory, in steps. */
#include "atomic_file.h"
#include "copy.h"
#include "snap.h"
#include "work.h"
#include "backend.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

#define NS_PER_SEC 1000000000ULL

/* Hold rotation for one second plus the time of a copy at 256 MiB/s. */
static __u64 pin_ns(__u64 lines_bytes)
{
	__u64 ns = NS_PER_SEC + lines_bytes / (256u << 20) * NS_PER_SEC;

	return ns < EPF_PIN_MAX_NS ? ns : EPF_PIN_MAX_NS;
}

enum phase { COPY_BEGIN, COPY_LINES, COPY_END, COPY_SUM };

/**
 * struct copy - copy of a live filter into a file or into memory
 * @work: @done of @all bytes are copied, not counting a locked kind's state
 * @phase: what the next step does
 * @filter: descriptor; a snapshot of it is under way from the end of COPY_BEGIN
 *	to the end of COPY_END
 * @pin_ns: how long rotation is held; 0: COPY_BEGIN computes it
 * @again: this is the second try
 * @lines: lines of the live filter, mapped; they change during the copy.
 *	NULL: a locked kind
 * @state: state of a locked kind; NULL: lanes
 * @header: header of the file; only its version, size and kind are set
 * @desc: what the keys are made of
 * @ahead: bytes of state between header and lines or words
 * @fd: file; -1: copy into memory
 * @to: memory, laid out like a file behind its header
 * @to_bytes: size of @to
 * @buf: buffer of one step
 * @sum: checksum of what was written
 * @summed: bytes of @to that COPY_SUM has summed
 * @copied: header, set when the snapshot has ended
 * @file: result of a copy into memory
 */
struct copy {
	struct epf_work work;
	enum phase phase;
	int filter;
	__u64 pin_ns;
	bool again;
	void *lines;
	struct epf_snap_locked *state;
	struct epf_snap_header header;
	struct epf_key_desc desc;
	size_t ahead;
	int fd;
	char *to;
	size_t to_bytes;
	__u64 *buf;
	XXH3_state_t *sum;
	__u64 summed;
	struct epf_snap_header copied;
	struct epf_snap_file *file;
};

/* @flags: those of struct epf_snap_read. After EINTR the call is repeated; the
 * caller's progress function decides between chunks whether to stop.
 */
static int read_locked(int filter, __u32 flags, __u64 at, void *to, __u64 bytes)
{
	struct epf_snap_read r = {
		.size = sizeof(r),
		.flags = flags,
		.offset = at,
		.bytes = bytes,
		.data = (__u64)(uintptr_t)to,
	};
	int ret;

	do
		ret = epf_call(filter, EPF_IOC_SNAP_READ, &r);
	while (ret == -EINTR);
	return ret;
}

/* ---- the beginning ---- */

/* Allocate @to, with huge pages if possible. */
static int snap_copy_make_room(struct copy *c)
{
	void *to;

	if (c->to)
		munmap(c->to, c->to_bytes);
	c->to = NULL;
	c->to_bytes = c->ahead + c->work.all;
	to = mmap(NULL, c->to_bytes, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (to == MAP_FAILED)
		return -errno;
	madvise(to, c->to_bytes, MADV_HUGEPAGE);
	c->to = to;
	return 0;
}

/* A mapping made between begin and end maps the lines of the snapshot, even if
 * the filter is swapped or restored meanwhile.
 */
static int snap_copy_map_lines(struct copy *c)
{
	void *map = epf_map(c->filter, c->work.all, 0);

	if (map == MAP_FAILED)
		return -errno;
	c->lines = map;
	return 0;
}

static int begin_state(struct copy *c)
{
	int ret;

	c->state = malloc(sizeof(*c->state));
	if (!c->state)
		return -ENOMEM;
	ret = read_locked(c->filter, EPF_SNAP_STATE, 0, c->state, sizeof(*c->state));
	c->ahead = sizeof(*c->state);
	c->work.all = c->state->words * sizeof(__u64);
	return ret;
}

/* Determine how much to copy, from where and to where. */
static int set_out(struct copy *c, const struct epf_params *params)
{
	bool lanes = params->kind == EPF_KIND_LANES;
	int ret = 0;

	c->ahead = 0;
	c->work.done = 0;
	c->work.all = epf_snap_lines_bytes(params);
	c->header.params.kind = params->kind;
	free(c->state); /* from the first try, perhaps of another kind */
	c->state = NULL;
	XXH3_64bits_reset(c->sum);
	if (!lanes)
		ret = begin_state(c);
	if (!ret)
		ret = c->fd < 0 ? snap_copy_make_room(c) :
				  epf_file_reserve(c->fd, (off_t)(c->header.header_bytes +
								  c->ahead + c->work.all));
	return !ret && lanes ? snap_copy_map_lines(c) : ret;
}

static int first_pin(struct copy *c)
{
	struct epf_info info;
	int ret = epf_filter_info(c->filter, &info);

	if (!ret)
		c->pin_ns = pin_ns(info.params.kind ? info.memory_bytes :
						      epf_snap_lines_bytes(&info.params));
	return ret;
}

/* ---- the end ---- */

static int snap_copy_end_snapshot(struct copy *c, struct epf_snap_header *h,
				  struct epf_key_desc *desc)
{
	struct epf_snap snap = { .size = sizeof(snap) };
	int ret;

	if (c->lines)
		munmap(c->lines, c->work.all);
	c->lines = NULL;
	ret = epf_call(c->filter, EPF_IOC_SNAP_END, &snap);
	*h = snap.header;
	*desc = snap.desc;
	explicit_bzero(snap.header.key, sizeof(snap.header.key));
	return ret;
}

static void abandon(struct copy *c)
{
	struct epf_snap_header h;
	struct epf_key_desc desc;

	snap_copy_end_snapshot(c, &h, &desc);
	explicit_bzero(&h, sizeof(h));
}

/* The snapshot has ended with @err. A locked kind must be held for the whole
 * copy, so after the first -ESTALE the copy begins again with the longest hold
 * allowed.
 */
static int snap_copy_failed(struct copy *c, int err)
{
	c->phase = COPY_BEGIN;
	c->work.done = 0;
	if (err != -ESTALE || c->again)
		return err;
	c->pin_ns = EPF_PIN_MAX_NS;
	c->again = true;
	return 1;
}

static int snap_copy_give_up(struct copy *c, int err)
{
	abandon(c);
	return snap_copy_failed(c, err);
}

static int begin_snapshot(struct copy *c)
{
	struct epf_snap snap = { .size = sizeof(snap) };
	int ret = c->pin_ns ? 0 : first_pin(c);

	if (ret)
		return ret;
	snap.pin_ns = c->pin_ns;
	ret = epf_call(c->filter, EPF_IOC_SNAP_BEGIN, &snap);
	if (ret)
		return snap_copy_failed(c, ret);
	explicit_bzero(snap.header.key, sizeof(snap.header.key));
	c->desc = snap.desc;
	epf_snap_describe(&c->header, &c->desc);
	ret = set_out(c, &snap.header.params);
	if (ret)
		return snap_copy_give_up(c, ret);
	c->phase = c->work.all ? COPY_LINES : COPY_END;
	return 1;
}

/* ---- between ---- */

static int fetch(const struct copy *c, __u64 done, void *buf, size_t n)
{
	if (!c->lines)
		return read_locked(c->filter, 0, done, buf, n);
	epf_copy_words(buf, (char *)c->lines + done, n);
	return 0;
}

/* A chunk is first copied to @buf, then summed and written, so that the
 * checksum is that of the written bytes although insertions go on. Lanes in
 * memory are summed later, when rotation is no longer held.
 */
static int snap_copy_chunk(struct copy *c, size_t n)
{
	__u64 done = c->work.done;
	int ret;

	if (c->fd < 0 && c->lines) {
		epf_copy_away(c->to + done, (char *)c->lines + done, n);
		return 0;
	}
	ret = fetch(c, done, c->buf, n);
	if (ret)
		return ret;
	if (c->to)
		memcpy(c->to + c->ahead + done, c->buf, n);
	return epf_snap_put(c->fd, c->sum, c->buf, n, c->header.header_bytes + c->ahead + done);
}

static int snap_copy_some(struct copy *c)
{
	__u64 left = c->work.all - c->work.done;
	size_t n = left < EPF_STEP_BYTES ? left : EPF_STEP_BYTES;
	int ret = snap_copy_chunk(c, n);

	if (ret)
		return snap_copy_give_up(c, ret);
	c->work.done += n;
	if (c->work.done == c->work.all)
		c->phase = COPY_END;
	return 1;
}

/* Sum lanes in memory; everything else has been summed already. */
static int sum_memory(struct copy *c)
{
	__u64 left = c->to_bytes - c->summed;
	size_t n = left < EPF_STEP_BYTES ? left : EPF_STEP_BYTES;

	if (c->fd < 0 && !c->state && n) {
		epf_snap_put(-1, c->sum, c->to + c->summed, n, 0);
		c->summed += n;
		return 1;
	}
	c->copied.lines_xxh3 = XXH3_64bits_digest(c->sum);
	return 0;
}

/* Copy the state of a locked kind. The module requires that it is read last. */
static int snap_copy_state(struct copy *c)
{
	int ret;

	if (!c->state)
		return 0;
	ret = read_locked(c->filter, EPF_SNAP_STATE, 0, c->state, sizeof(*c->state));
	if (ret)
		return ret;
	if (c->to)
		memcpy(c->to, c->state, sizeof(*c->state));
	return epf_snap_put_state(c->fd, c->sum, c->state, &c->header);
}

static int end_copy(struct copy *c)
{
	struct epf_key_desc desc;
	int ret = snap_copy_state(c);

	if (ret)
		return snap_copy_give_up(c, ret);
	ret = snap_copy_end_snapshot(c, &c->copied, &desc);
	if (ret)
		return snap_copy_failed(c, ret);
	/* the file has room for a description only if there was one at the beginning */
	if (c->desc.kind != EPF_KEYS_UNKNOWN)
		c->desc = desc;
	c->phase = COPY_SUM;
	return sum_memory(c);
}

static int snap_copy_step(struct copy *c)
{
	switch (c->phase) {
	case COPY_BEGIN:
		return begin_snapshot(c);
	case COPY_LINES:
		return snap_copy_some(c);
	case COPY_END:
		return end_copy(c);
	default:
		return sum_memory(c);
	}
}

static bool copy_init(struct copy *c)
{
	c->buf = malloc(EPF_STEP_BYTES);
	c->sum = XXH3_createState();
	return c->buf && c->sum;
}

static void copy_free(struct copy *c)
{
	if (c->phase == COPY_LINES || c->phase == COPY_END)
		abandon(c);
	if (c->to)
		munmap(c->to, c->to_bytes);
	free(c->state);
	free(c->buf);
	XXH3_freeState(c->sum);
	explicit_bzero(&c->copied, sizeof(c->copied));
}

/* ---- into memory ---- */

/* Give memory and header to the result. */
static void hand_over(struct copy *c)
{
	struct epf_snap_file *file = c->file;

	file->header = c->copied;
	file->desc = c->desc;
	file->lines = file->map = c->to;
	file->map_bytes = c->to_bytes;
	if (c->state)
		file->locked = file->lines;
	file->header.header_xxh3 = epf_snap_header_sum(&file->header, &file->desc);
	c->to = NULL;
}

static int memory_step(struct epf_work *work)
{
	struct copy *c = (struct copy *)work;
	int ret = snap_copy_step(c);

	if (!ret)
		hand_over(c);
	return ret;
}

static void memory_end(struct epf_work *work)
{
	copy_free((struct copy *)work);
	free(work);
}

int epf_snap_copy_begin(int filter, struct epf_snap_file *file, struct epf_work **work)
{
	struct copy *c = calloc(1, sizeof(*c));

	memset(file, 0, sizeof(*file));
	*work = NULL;
	if (!c)
		return -ENOMEM;
	c->work = (struct epf_work){ .step = memory_step, .end = memory_end };
	c->filter = filter;
	c->fd = -1;
	c->file = file;
	if (!copy_init(c)) {
		memory_end(&c->work);
		return -ENOMEM;
	}
	*work = &c->work;
	return 0;
}

int epf_snap_copy(int filter, struct epf_snap_file *file, epf_progress_fn progress, void *ctx)
{
	struct epf_work *work;
	int ret = epf_snap_copy_begin(filter, file, &work);

	return ret ? ret : epf_work_run(work, progress, ctx);
}

/* ---- into a file ---- */

static int file_step(struct epf_work *work)
{
	return snap_copy_step((struct copy *)work);
}

/* save_into() frees what the copy allocated. */
static void file_end(struct epf_work *work)
{
	(void)work;
}

/**
 * struct save - a copy into a file, with its progress function
 */
struct save {
	struct copy copy;
	epf_progress_fn progress;
	void *ctx;
};

/* An epf_snap_fill_fn that copies a live filter. */
static int save_into(void *ctx, int fd, struct epf_snap_header *h)
{
	struct save *s = ctx;
	int ret = -ENOMEM;

	s->copy.fd = fd;
	if (copy_init(&s->copy))
		ret = epf_work_run(&s->copy.work, s->progress, s->ctx);
	*h = s->copy.copied;
	copy_free(&s->copy);
	epf_snap_describe(h, &s->copy.desc);
	return ret ? ret : epf_snap_finish(fd, h, &s->copy.desc);
}

int epf_snap_save(int filter, const char *path, epf_progress_fn progress, void *ctx,
		  struct epf_snap_header *header)
{
	struct save s = {
		.copy = { .work = { .step = file_step, .end = file_end }, .filter = filter },
		.progress = progress,
		.ctx = ctx,
	};

	return epf_snap_write(path, save_into, &s, header);
}
