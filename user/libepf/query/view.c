// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Views: lines of a snapshot or of a live filter, with their epoch; or the memory
 * of a locked kind, with its state.
 */
#include "audit.h"
#include "engine.h"
#include "copy.h"
#include "work.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_BYTES (2u << 20)

__u64 epf_view_serial(void)
{
	static __u64 last;

	return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

int epf_view_init(struct epf_view *v, const void *lines, const struct epf_params *params,
		  const __u64 key[2], __u64 epoch)
{
	memset(v, 0, sizeof(*v));
	if (params->kind != EPF_KIND_LANES)
		return -EOPNOTSUPP;
	if (params->hash > EPF_HASH_MAX || epoch < EPF_EPOCH_FIRST ||
	    (uintptr_t)lines % sizeof(__u64) ||
	    epf_geom_init(&v->geom, params->nr_lines, params->lines_per_key, params->bits_per_key))
		return -EINVAL;
	v->lines = lines;
	v->epoch = epoch;
	v->serial = epf_view_serial();
	epf_hash_init(&v->hash, key ? key[0] : 0, key ? key[1] : 0, params->hash);
	return 0;
}

/* Allocate @bytes in huge pages. Return: NULL: no memory. */
static void *view_make_room(struct epf_view *v, size_t bytes)
{
	size_t all = bytes + HUGE_BYTES;
	void *own = mmap(NULL, all, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	void *to;

	if (own == MAP_FAILED)
		return NULL;
	to = (void *)(((uintptr_t)own + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1));
	madvise(to, bytes, MADV_HUGEPAGE); /* else small ones will do */
	v->own = own;
	v->own_bytes = all;
	return to;
}

/**
 * struct making - a view that gets memory of its own
 * @work: @done of @all bytes are copied
 * @v: result
 * @from: source of the copy
 * @to: destination of the copy; owned by @new until all is copied
 * @new: for lines: the view that replaces @v
 * @nr: for a locked kind: as in epf_asked_check()
 */
struct making {
	struct epf_work work;
	struct epf_view *v;
	const char *from;
	char *to;
	struct epf_view new;
	__u64 nr;
};

static struct making *making_new(struct epf_view *v, const void *from, __u64 bytes,
				 int (*step)(struct epf_work *), void (*end)(struct epf_work *))
{
	struct making *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->work = (struct epf_work){ .step = step, .end = end, .all = bytes };
	m->v = v;
	m->from = from;
	return m;
}

static size_t next_bytes(const struct making *m)
{
	__u64 left = m->work.all - m->work.done;

	return left < EPF_STEP_BYTES ? left : EPF_STEP_BYTES;
}

/* Locked kinds */

/* Memory is copied before it is checked, because the file may change meanwhile. */
static int locked_step(struct epf_work *work)
{
	struct making *m = (struct making *)work;
	size_t n = next_bytes(m);
	int ret;

	if (n) {
		memcpy(m->to + work->done, m->from + work->done, n);
		work->done += n;
		return 1;
	}
	ret = epf_asked_check(m->v->asked, &m->nr);
	if (!ret)
		m->v = NULL; /* the caller's */
	return ret;
}

static void locked_end(struct epf_work *work)
{
	struct making *m = (struct making *)work;

	if (m->v)
		epf_view_close(m->v);
	free(m);
}

static int locked_begin(struct making *m, const struct epf_params *params,
			const struct epf_snap_locked *s)
{
	int ret = epf_asked_init(m->v->asked, params, s);

	if (ret)
		return ret;
	m->to = view_make_room(m->v, m->work.all);
	if (!m->to)
		return -ENOMEM;
	epf_asked_at(m->v->asked, (__u64 *)m->to);
	return 0;
}

/* On failure *@work is NULL and @v is closed. */
static int view_locked_begin(struct epf_view *v, const struct epf_params *params,
			     const __u64 key[2], const struct epf_snap_locked *state,
			     const void *words, struct epf_work **work)
{
	struct epf_snap_locked *s = malloc(sizeof(*s));
	struct making *m = NULL;
	int ret = -ENOMEM;

	memset(v, 0, sizeof(*v));
	v->asked = calloc(1, sizeof(*v->asked));
	if (s && v->asked) {
		memcpy(s, state, sizeof(*s));
		m = making_new(v, words, s->words * sizeof(__u64), locked_step, locked_end);
	}
	if (m) {
		v->epoch = s->epoch;
		epf_hash_init(&v->hash, key ? key[0] : 0, key ? key[1] : 0, params->hash);
		ret = params->hash > EPF_HASH_MAX ? -EINVAL : locked_begin(m, params, s);
	}
	free(s);
	*work = ret ? NULL : &m->work;
	if (ret) {
		epf_view_close(v);
		free(m);
	}
	return ret;
}

int epf_view_locked(struct epf_view *v, const struct epf_params *params, const __u64 key[2],
		    const struct epf_snap_locked *state, const void *words)
{
	struct epf_work *work;
	int ret = view_locked_begin(v, params, key, state, words, &work);

	return ret ? ret : epf_work_run(work, NULL, NULL);
}

int epf_view_snap_begin(struct epf_view *v, const struct epf_snap_file *file,
			struct epf_work **work)
{
	const struct epf_snap_header *h = &file->header;
	int ret;

	*work = NULL;
	if (file->locked)
		ret = view_locked_begin(v, &h->params, h->key, file->locked, file->locked + 1,
					work);
	else
		ret = epf_view_init(v, file->lines, &h->params, h->key, h->epoch_end);
	if (!ret)
		v->desc = file->desc;
	return ret;
}

int epf_view_snap(struct epf_view *v, const struct epf_snap_file *file)
{
	struct epf_work *work;
	int ret = epf_view_snap_begin(v, file, &work);

	return ret ? ret : epf_work_run(work, NULL, NULL);
}

/* Settling lines */

static void view_settled(struct making *m)
{
	/* an epoch that the caller reads now is not older than a lane copied */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	epf_view_close(m->v);
	*m->v = m->new;
	m->v->lines = (const struct epf_line *)m->to;
	m->v->serial = epf_view_serial();
	m->v->delta_log = NULL;
	m->v = NULL;
}

static int settle_step(struct epf_work *work)
{
	struct making *m = (struct making *)work;
	size_t n = next_bytes(m);

	if (!n) {
		view_settled(m);
		return 0;
	}
	if ((uintptr_t)m->from % 16)
		epf_copy_words(m->to + work->done, m->from + work->done, n);
	else
		epf_copy_away(m->to + work->done, m->from + work->done, n);
	work->done += n;
	return 1;
}

/* A view that could not be settled is unchanged. */
static void settle_end(struct epf_work *work)
{
	struct making *m = (struct making *)work;

	if (m->v)
		munmap(m->new.own, m->new.own_bytes);
	explicit_bzero(m, sizeof(*m));
	free(m);
}

int epf_view_settle_begin(struct epf_view *v, struct epf_work **work)
{
	struct making *m;

	*work = NULL;
	if (v->asked)
		return 0;
	m = making_new(v, v->lines, epf_geom_lines(&v->geom) * EPF_LINE_BYTES, settle_step,
		       settle_end);
	if (!m)
		return -ENOMEM;
	m->new = *v;
	m->to = view_make_room(&m->new, m->work.all);
	if (!m->to) {
		free(m);
		return -ENOMEM;
	}
	*work = &m->work;
	return 0;
}

int epf_view_settle(struct epf_view *v)
{
	struct epf_work *work;
	int ret = epf_view_settle_begin(v, &work);

	return ret ? ret : epf_work_run(work, NULL, NULL);
}

void epf_view_close(struct epf_view *v)
{
	if (v->own)
		munmap(v->own, v->own_bytes);
	free(v->asked);
	epf_cuda_forget(v->serial);
	explicit_bzero(&v->hash, sizeof(v->hash));
	v->own = NULL;
	v->asked = NULL;
	v->lines = NULL;
	v->serial = 0;
}
