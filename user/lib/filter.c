// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Filters in the memory of the program. */
#include "lib.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "epf/keydesc.h"
#include "epf/window.h"
#include "libepf/clock.h"
#include "libepf/local.h"

#define RESTORE_FIRST LIB_FIRST(libepf_restore, flags)
#define RESTORE_FLAGS (LIBEPF_RESTORE_SAME | LIBEPF_RESTORE_ELAPSED)

_Static_assert(LIBEPF_TIME_MAX == EPF_LOCAL_NS_MAX, "the times that locked kinds take");

/**
 * struct libepf_filter - a filter
 * @turn: held during calls
 * @mem: of kind lanes, or NULL
 * @local: of another kind, or NULL
 * @params: its parameters
 * @shape: its shape, of a kind that has one
 * @now: its clock is LIBEPF_NOW, not the program's own; never changes
 * @last_ns: time of the latest call
 * @jumps: how often the program's own clock jumped by a window or more
 * @align: epochs end by the wall clock
 * @ahead_ns: how far that was ahead of the filter's clock in the latest call, if @align
 * @desc: what its keys are made of
 * @described: @desc includes the bytes that programs insert
 */
struct libepf_filter {
	pthread_mutex_t turn;
	struct epf_mem *mem;
	struct epf_local *local;
	struct epf_params params;
	struct epf_shape shape;
	bool now;
	uint64_t last_ns;
	uint64_t jumps;
	bool align;
	uint64_t ahead_ns;
	struct epf_key_desc desc;
	bool described;
};

/* Take the time of a call. Return: 0, or -EINVAL. */
static int take_time(uint64_t *ns)
{
	if (*ns == LIBEPF_NOW)
		*ns = epf_clock_ns();
	return *ns <= LIBEPF_TIME_MAX ? 0 :
					lib_fail(-EINVAL, "a time is 0 to %llu ns",
						 (unsigned long long)LIBEPF_TIME_MAX);
}

/* The filter's clock is CLOCK_MONOTONIC, or that of the program: ns since 1970. */
static void filter_ahead(struct libepf_filter *f)
{
	f->ahead_ns = f->now ? epf_wall_ns() - epf_clock_ns() : 0;
	epf_mem_ahead(f->mem, f->ahead_ns);
}

/* The two clocks differ by years: one call with the wrong one would end the window of all keys,
 * and then time would stand still. Return: 0, or -EINVAL.
 */
static int filter_clock(const struct libepf_filter *f, uint64_t ns)
{
	if (!f)
		return lib_fail(-EINVAL, "no filter: NULL");
	if (f->now == (ns == LIBEPF_NOW))
		return 0;
	return lib_fail(-EINVAL, f->now ? "the filter goes by LIBEPF_NOW since it was made: "
					  "no other time" :
					  "the filter goes by the program's own time since it was "
					  "made: not LIBEPF_NOW");
}

/* The latest call was at @f->last_ns, and this one is at @ns. */
static void filter_jump(struct libepf_filter *f, uint64_t ns)
{
	const struct epf_params *p = &f->params;
	bool timed = p->mode == EPF_MODE_TIME || p->mode == EPF_MODE_EITHER;

	f->jumps += !f->now && timed && ns - f->last_ns >= p->window_ns;
}

/* Begin a call at @ns, which becomes the filter's time. */
static int filter_begin(struct libepf_filter *f, uint64_t *ns)
{
	int err = filter_clock(f, *ns);

	if (!err)
		err = take_time(ns);
	if (err)
		return err;
	pthread_mutex_lock(&f->turn);
	if (*ns < f->last_ns)
		*ns = f->last_ns;
	filter_jump(f, *ns);
	f->last_ns = *ns;
	if (f->align)
		filter_ahead(f);
	return 0;
}

static void filter_end(struct libepf_filter *f)
{
	pthread_mutex_unlock(&f->turn);
}

static int make(struct libepf_filter *f, const struct lib_planned *p)
{
	const struct epf_params *params = &p->planned.params;
	const __u64 *key = p->has_key ? p->key : NULL;
	int err = 0;

	if (params->kind == EPF_KIND_LANES)
		f->mem = epf_mem_new(params, key, f->last_ns, &err);
	else
		f->local = epf_local_new(params, &p->planned.shape, key, f->last_ns, &err);
	f->params = *params;
	f->shape = p->planned.shape;
	f->align = p->align;
	if (!err && f->align)
		err = epf_mem_align(f->mem);
	return err == -ENOMEM ? lib_no_memory() : err ? lib_errno(err, "making a filter") : 0;
}

int libepf_filter_new(const struct libepf_plan *plan, uint64_t time_ns,
		      struct libepf_filter **filter)
{
	struct libepf_filter *f;
	struct lib_planned p;
	bool now;
	int err;

	if (!filter)
		return lib_fail(-EINVAL, "no place for the filter: NULL");
	*filter = NULL;
	now = time_ns == LIBEPF_NOW;
	err = take_time(&time_ns);
	if (!err)
		err = lib_plan(plan, &p);
	if (err)
		return err;
	f = calloc(1, sizeof(*f));
	if (!f)
		return lib_no_memory();
	f->now = now;
	f->last_ns = time_ns;
	f->desc = epf_key_desc_plain(EPF_KEYS_BYTES);
	f->described = true;
	err = make(f, &p);
	explicit_bzero(p.key, sizeof(p.key));
	if (err) {
		epf_mem_free(f->mem);
		free(f);
		return err;
	}
	pthread_mutex_init(&f->turn, NULL);
	*filter = f;
	return 0;
}

void libepf_filter_free(struct libepf_filter *f)
{
	if (!f)
		return;
	epf_mem_free(f->mem);
	epf_local_free(f->local);
	pthread_mutex_destroy(&f->turn);
	free(f);
}

enum op { TEST, INSERT, TEST_AND_INSERT };

static int one_mem(struct epf_mem *m, enum op op, const void *key, uint32_t len, uint64_t ns)
{
	__u64 digest = epf_mem_digest(m, key, len);

	if (op == TEST)
		return epf_mem_test(m, digest, ns);
	if (op == TEST_AND_INSERT)
		return epf_mem_test_and_insert(m, digest, ns);
	epf_mem_insert(m, digest, ns);
	return 0;
}

static int one_local(struct epf_local *l, enum op op, const void *key, uint32_t len, uint64_t ns)
{
	__u64 digest = epf_local_digest(l, key, len);

	if (op == TEST)
		return epf_local_test(l, digest, ns);
	if (op == TEST_AND_INSERT)
		return epf_local_test_and_insert(l, digest, ns);
	epf_local_insert(l, digest, ns);
	return 0;
}

/* Keys of a program are inserted into a filter that was restored. */
static void filter_describe(struct libepf_filter *f)
{
	struct epf_key_desc bytes = epf_key_desc_plain(EPF_KEYS_BYTES);

	if (!f->described)
		f->desc = epf_key_desc_join(&f->desc, &bytes);
	f->described = true;
}

static int64_t filter_batch(struct libepf_filter *f, enum op op, const struct libepf_keys *keys,
			    uint64_t ns, uint8_t *ages)
{
	int err = lib_keys(keys), verdict;
	struct lib_walk w;
	int64_t present = 0;
	const void *key;
	uint32_t len;

	if (!err)
		err = filter_begin(f, &ns);
	if (err)
		return err;
	if (op != TEST && keys->n)
		filter_describe(f);
	w = lib_walk(keys);
	while ((key = lib_next(&w, &len))) {
		verdict = f->mem ? one_mem(f->mem, op, key, len, ns) :
				   one_local(f->local, op, key, len, ns);
		present += verdict > 0;
		if (ages)
			ages[w.i - 1] = lib_age(verdict);
	}
	filter_end(f);
	return present;
}

int libepf_filter_insert(struct libepf_filter *f, const struct libepf_keys *keys, uint64_t time_ns)
{
	return (int)filter_batch(f, INSERT, keys, time_ns, NULL);
}

int64_t libepf_filter_test(struct libepf_filter *f, const struct libepf_keys *keys,
			   uint64_t time_ns, uint8_t *ages)
{
	return filter_batch(f, TEST, keys, time_ns, ages);
}

int64_t libepf_filter_test_and_insert(struct libepf_filter *f, const struct libepf_keys *keys,
				      uint64_t time_ns, uint8_t *ages)
{
	return filter_batch(f, TEST_AND_INSERT, keys, time_ns, ages);
}

int libepf_filter_rotate(struct libepf_filter *f, uint64_t time_ns)
{
	int err = filter_begin(f, &time_ns);

	if (err)
		return err;
	if (f->mem)
		epf_mem_rotate(f->mem, time_ns);
	else
		epf_local_rotate(f->local, time_ns);
	filter_end(f);
	return 0;
}

int libepf_filter_info(struct libepf_filter *f, uint64_t time_ns, struct libepf_info *info)
{
	struct epf_info now = { 0 };
	struct libepf_info out;
	uint64_t jumps;
	int err = lib_out(info, LIB_INFO_FIRST);

	if (!err)
		err = filter_begin(f, &time_ns);
	if (err)
		return err;
	if (f->mem) {
		epf_mem_advance(f->mem, time_ns);
		epf_mem_info(f->mem, time_ns, &now);
		now.window_epochs = EPF_LIVE_EPOCHS;
	} else {
		epf_local_info(f->local, time_ns, &now);
	}
	now.desc = f->desc;
	jumps = f->jumps;
	filter_end(f);
	lib_info(&out, &now);
	out.jumps = jumps;
	lib_give(info, &out, sizeof(out));
	return 0;
}

int libepf_filter_save(struct libepf_filter *f, const char *path, uint64_t time_ns,
		       uint64_t wall_ns)
{
	bool now = wall_ns == LIBEPF_NOW;
	int err = path ? 0 : lib_fail(-EINVAL, "no path: NULL");
	struct epf_save_opts opts = { 0 };

	if (now)
		wall_ns = epf_wall_ns();
	if (!err)
		err = filter_begin(f, &time_ns);
	if (err)
		return err;
	opts.now_ns = time_ns;
	opts.wall_ns = now && f->align ? time_ns + f->ahead_ns : wall_ns;
	opts.desc = f->desc;
	err = f->mem ? epf_mem_save(f->mem, &opts, path, NULL) :
		       epf_local_save(f->local, &opts, path, NULL);
	filter_end(f);
	return err ? lib_errno(err, path) : 0;
}

/* ------------------------------------------------------------ restoring ---- */

/* Is the snapshot one of the same plan? The name may differ. */
static int restore_same(const struct libepf_filter *f, const char *path,
			const struct epf_snap_file *file)
{
	const struct epf_params *p = &f->params, *q = &file->header.params;
	const char *what = NULL;

	if (p->kind != q->kind)
		what = "is of another kind than the filter";
	else if (p->mode != q->mode || p->refresh != q->refresh || p->window_ns != q->window_ns ||
		 p->window_inserts != q->window_inserts)
		what = "has another window than the filter";
	else if (p->budget_ppt != q->budget_ppt || p->limit_ppt != q->limit_ppt)
		what = "has another error or limit than the filter";
	else if (p->nr_lines != q->nr_lines || p->lines_per_key != q->lines_per_key ||
		 p->bits_per_key != q->bits_per_key || p->hash != q->hash ||
		 (file->locked && memcmp(&f->shape, &file->locked->shape, sizeof(f->shape))))
		what = "has another size or shape than the filter";
	return what ? lib_fail(-EINVAL, "%s %s", path, what) : 0;
}

/* How long ago the snapshot was saved. */
static int restore_age(const char *path, const struct epf_snap_header *h, uint64_t *age_ns)
{
	const struct epf_params *p = &h->params;
	uint64_t now = epf_wall_ns();
	bool timed = p->mode == EPF_MODE_TIME || p->mode == EPF_MODE_EITHER;

	if (h->realtime_ns > now)
		return lib_fail(-EINVAL, "%s was saved %llu s from now: one of the clocks is wrong",
				path, (unsigned long long)(h->realtime_ns - now) / 1000000000u);
	*age_ns = now - h->realtime_ns;
	if (*age_ns > LIBEPF_TIME_MAX)
		*age_ns = LIBEPF_TIME_MAX;
	if (!timed || *age_ns < p->window_ns)
		return 0;
	return lib_fail(-ESTALE, "%s was saved %llu s ago, and its window of %llu s is over", path,
			(unsigned long long)*age_ns / 1000000000u, p->window_ns / 1000000000u);
}

/* Replace the contents by those of @file, saved @age_ns ago. */
static int restore_load(struct libepf_filter *f, const struct epf_snap_file *file, uint64_t age_ns)
{
	uint64_t taken_ns = f->last_ns - age_ns;
	struct epf_local *local = NULL;
	struct epf_mem *mem = NULL;
	int err = 0;

	if (file->locked)
		local = epf_local_load(file, taken_ns, f->last_ns, &err);
	else
		mem = epf_mem_load(file, taken_ns, &err);
	if (err)
		return err;
	f->align = f->align && mem && !epf_mem_align(mem);
	if (f->align)
		epf_mem_ahead(mem, f->ahead_ns);
	epf_mem_free(f->mem);
	epf_local_free(f->local);
	f->mem = mem;
	f->local = local;
	f->params = file->header.params;
	f->shape = file->locked ? file->locked->shape : (struct epf_shape){ 0 };
	f->desc = file->desc;
	f->described = false;
	return 0;
}

/* The filter keeps its name. */
static int filter_restore(struct libepf_filter *f, const char *path, struct epf_snap_file *file,
			  uint32_t flags)
{
	uint64_t age_ns = 0;
	int err = 0;

	if (flags & LIBEPF_RESTORE_SAME)
		err = restore_same(f, path, file);
	if (!err && flags & LIBEPF_RESTORE_ELAPSED)
		err = restore_age(path, &file->header, &age_ns);
	if (err)
		return err;
	memcpy(file->header.params.name, f->params.name, sizeof(f->params.name));
	err = restore_load(f, file, age_ns);
	return err ? lib_snap_fail(err, path, EPF_SNAP_BAD_STATE) : 0;
}

int libepf_filter_restore(struct libepf_filter *f, const char *path, uint64_t time_ns,
			  const struct libepf_restore *options)
{
	enum epf_snap_fault fault = EPF_SNAP_IO;
	struct epf_snap_file file;
	struct libepf_restore o;
	int err = lib_options(&o, sizeof(o), RESTORE_FIRST, options, false);

	if (!err && (!path || o.flags & ~RESTORE_FLAGS))
		err = lib_fail(-EINVAL, path ? "unknown flags of a restore" : "no path: NULL");
	if (!err && !f)
		err = lib_fail(-EINVAL, "no filter: NULL");
	if (err)
		return err;
	err = epf_snap_open(path, &file, NULL, NULL, &fault);
	if (err)
		return lib_snap_fail(err, path, fault);
	err = filter_begin(f, &time_ns);
	if (!err) {
		err = filter_restore(f, path, &file, o.flags);
		filter_end(f);
	}
	epf_snap_close(&file);
	return err;
}
