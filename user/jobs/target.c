// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Opening snapshots and filters of the kernel for audits. */
#include "jobs/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "epf.h"
#include "kinds/compare.h"
#include "records/rec_error.h"
#include "libepf/backend.h"
#include "libepf/clock.h"

static int kind_fails(const struct target_ask *ask, __u8 kind, struct rec_error *e)
{
	return rec_error_set(e, -EOPNOTSUPP,
			     "'%s' is of kind %s, which can only "
			     "be audited from a copy",
			     ask->name, epf_kind_name(kind));
}

static void set_why(struct target *t, const char *why)
{
	snprintf(t->why, sizeof(t->why), "%s", why);
}

/* Return: whether a copy in our memory is the fastest way for that many keys. */
static bool target_choose(struct target *t, const struct target_ask *ask)
{
	struct epf_choice c;

	if (ask->far) {
		set_why(t, "as asked");
		return false;
	}
	epf_audit_choose(&c, &t->view, ask->keys, true, ask->threads, NULL);
	t->engine = c.engine;
	set_why(t, c.why);
	return c.settle && !epf_engine_far(c.engine);
}

static int file_fails(const char *name, int err, enum epf_snap_fault fault, struct rec_error *e)
{
	if (err == -ECANCELED)
		return rec_error_set(e, err, "%s: stopped while checking", name);
	if (err == -ESPIPE)
		return rec_error_set(e, err, "%s is not a regular file", name);
	if (fault == EPF_SNAP_IO)
		return rec_error_set(e, err, "%s: %s", name, strerror(-err));
	return rec_error_set(e, err, "%s %s: %s", name, epf_snap_fault_text(fault),
			     epf_snap_fault_advice(fault));
}

static __u64 target_mtime_ns(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return 0;
	return (__u64)st.st_mtim.tv_sec * 1000000000ULL + (__u64)st.st_mtim.tv_nsec;
}

static int filter_fails(const struct target_ask *ask, int err, struct rec_error *e)
{
	if (err == -ECANCELED)
		return rec_error_set(e, err, "'%s': stopped while copying", ask->name);
	if (err == -EBUSY)
		return rec_error_set(e, err,
				     "another snapshot of '%s' is in "
				     "progress: try again when it is done, or use "
				     "--place live",
				     ask->name);
	if (err == -EPERM)
		return rec_error_set(e, err,
				     "a copy of '%s' needs CAP_NET_ADMIN: "
				     "run as root, or audit digests with --place live",
				     ask->name);
	if (err == -ENODEV)
		return rec_error_set(e, err, "'%s' was destroyed by force", ask->name);
	if (err == -EUCLEAN)
		return rec_error_set(e, err, "'%s': " EPF_HALF_SWAPPED, ask->name);
	return rec_error_set(e, err, "'%s': %s", ask->name, strerror(-err));
}

/* Stages: check a file, or copy a filter; make a view of it; estimate the error of a file, and
 * settle its view if that pays.
 */
enum stage { STAGE_READ, STAGE_VIEW, STAGE_RATE, STAGE_SETTLE };

static int begin_view(struct target *t, const struct target_ask *ask, struct rec_error *e)
{
	int ret = epf_view_snap_begin(&t->view, &t->file, &t->work);

	t->stage = STAGE_VIEW;
	if (ret)
		return rec_error_set(e, ret, "'%s': %s", ask->name, strerror(-ret));
	t->header = t->file.header;
	return 1;
}

/* Of a filter, its backend has estimated the error. */
static int begin_rating(struct target *t, const struct target_ask *ask, struct rec_error *e)
{
	int ret;

	t->stage = STAGE_RATE;
	if (t->place != TARGET_FILE)
		return 0;
	ret = epf_view_rate_begin(&t->view, &t->fpr_ppt, &t->work);
	return ret ? rec_error_set(e, ret, "'%s': %s", ask->name, strerror(-ret)) : 1;
}

static int begin_settling(struct target *t, const struct target_ask *ask)
{
	t->stage = STAGE_SETTLE;
	t->saturated = t->fpr_ppt > t->header.params.limit_ppt;
	if (!target_choose(t, ask) || epf_view_settle_begin(&t->view, &t->work))
		return 0;
	return 1;
}

static int step_fails(const struct target *t, const struct target_ask *ask, int err,
		      struct rec_error *e)
{
	if (t->stage == STAGE_SETTLE)
		return 0; /* the view is used as it is */
	if (t->stage != STAGE_READ)
		return rec_error_set(e, err, "'%s': %s", ask->name, strerror(-err));
	return t->place == TARGET_FILE ? file_fails(ask->name, err, t->fault, e) :
					 filter_fails(ask, err, e);
}

static int next_stage(struct target *t, const struct target_ask *ask, struct rec_error *e)
{
	if (t->stage == STAGE_READ)
		return begin_view(t, ask, e);
	if (t->stage == STAGE_VIEW)
		return begin_rating(t, ask, e);
	if (t->stage == STAGE_RATE)
		return begin_settling(t, ask);
	epf_snap_close(&t->file); /* the settled view has its own lines */
	return 0;
}

/* Like target_step(), but leaves @t open on failure. @ret: of the work step. */
static int stepped(struct target *t, int ret, const struct target_ask *ask, struct rec_error *e)
{
	if (ret > 0)
		return ret;
	epf_work_end(t->work);
	t->work = NULL;
	return ret ? step_fails(t, ask, ret, e) : next_stage(t, ask, e);
}

/* Do all steps; only the first stage reports progress. */
static int target_all_steps(struct target *t, const struct target_ask *ask, struct rec_error *e)
{
	struct epf_work *work;
	int ret;

	do {
		work = t->work;
		ret = epf_work_step(work);
		if (ret > 0 && t->stage == STAGE_READ && ask->progress && work->done &&
		    ask->progress(ask->ctx, work->done, work->all))
			ret = -ECANCELED;
		ret = stepped(t, ret, ask, e);
	} while (ret > 0);
	return ret;
}

/* The filter may have become saturated while it was opened. */
static void target_look_again(struct target *t)
{
	struct epf_info info;

	if (!epf_filter_info(t->filter, &info))
		t->saturated |= info.flags & EPF_INFO_SATURATED;
}

/* A copy does not need the filter any more. */
static void target_let_go(struct target *t)
{
	epf_close(t->filter);
	t->filter = -1;
}

int target_step(struct target *t, const struct target_ask *ask, struct rec_error *e)
{
	int ret = stepped(t, epf_work_step(t->work), ask, e);

	if (ret < 0)
		target_close(t);
	if (!ret && t->filter >= 0) {
		target_look_again(t);
		target_let_go(t);
	}
	return ret;
}

/* Files */

int target_begin_fd(struct target *t, int fd, const struct target_ask *ask, struct rec_error *e)
{
	int ret;

	memset(t, 0, sizeof(*t));
	t->filter = -1;
	if (ask->place != TARGET_AUTO)
		return rec_error_set(e, -EINVAL,
				     "%s is a snapshot: --place is for "
				     "filters only",
				     ask->name);
	t->place = TARGET_FILE;
	t->stage = STAGE_READ;
	t->mtime_ns = target_mtime_ns(fd);
	ret = epf_snap_check_begin(fd, &t->file, &t->fault, &t->work);
	if (!ret)
		return 0;
	ret = file_fails(ask->name, ret, t->fault, e);
	target_close(t);
	return ret;
}

int target_open_fd(struct target *t, int fd, const struct target_ask *ask, struct rec_error *e)
{
	int ret = target_begin_fd(t, fd, ask, e);

	if (ret)
		return ret;
	ret = target_all_steps(t, ask, e);
	if (ret)
		target_close(t);
	return ret;
}

static int target_open_file(struct target *t, const struct target_ask *ask, struct rec_error *e)
{
	int fd = open(ask->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int ret;

	if (fd < 0)
		return rec_error_set(e, -errno, "%s: %s", ask->name, strerror(errno));
	ret = target_open_fd(t, fd, ask, e);
	close(fd);
	return ret;
}

/* Filters */

static int target_begin_copy(struct target *t, const struct target_ask *ask, struct rec_error *e)
{
	int ret = epf_snap_copy_begin(t->filter, &t->file, &t->work);

	t->place = TARGET_COPY;
	t->stage = STAGE_READ;
	return ret ? filter_fails(ask, ret, e) : 0;
}

static int open_copy(struct target *t, const struct target_ask *ask, struct rec_error *e)
{
	int ret = target_begin_copy(t, ask, e);

	return ret ? ret : target_all_steps(t, ask, e);
}

/* Fill in what is known of a live filter. */
static void header_of(struct epf_snap_header *h, const struct epf_info *info)
{
	unsigned int i;

	h->params = info->params;
	h->realtime_ns = epf_wall_ns();
	for (i = 0; i < EPF_EPOCHS; i++) {
		const struct epf_epoch_info *e = &info->epochs[i];

		if (e->epoch)
			h->epochs[e->epoch % EPF_EPOCHS].age_ns = e->age_ns;
	}
}

static int open_live(struct target *t, const struct target_ask *ask, struct rec_error *e)
{
	struct epf_info info;
	int ret = epf_view_filter(&t->view, t->filter, true, &info);

	if (ret == -EPERM && ask->digests)
		ret = epf_view_filter(&t->view, t->filter, false, &info);
	if (ret == -EPERM)
		return rec_error_set(e, ret,
				     "the hash key of '%s' needs "
				     "CAP_NET_ADMIN: run as root, or audit "
				     "digests",
				     ask->name);
	if (ret)
		return filter_fails(ask, ret, e);
	t->place = TARGET_LIVE;
	header_of(&t->header, &info);
	return 0;
}

/* Open in place, unless a copy is faster for that many keys. */
static int open_best(struct target *t, const struct target_ask *ask, struct rec_error *e)
{
	struct epf_view live;
	int ret = open_live(t, ask, e);

	if (ret || !target_choose(t, ask))
		return ret;
	live = t->view;
	memset(&t->view, 0, sizeof(t->view));
	ret = open_copy(t, ask, e);
	if (!ret || ret == -ECANCELED) {
		epf_view_close(&live);
		return ret;
	}
	epf_snap_close(&t->file);
	t->view = live;
	t->place = TARGET_LIVE;
	set_why(t, "it cannot be copied now");
	return 0;
}

static int open_at(struct target *t, const struct target_ask *ask, enum target_place place,
		   struct rec_error *e)
{
	set_why(t, "as asked");
	if (place == TARGET_AUTO)
		return open_best(t, ask, e);
	return place == TARGET_LIVE ? open_live(t, ask, e) : open_copy(t, ask, e);
}

/* Return: 1: the filter is of a locked kind; 0: it is of kind lanes; a negative errno. */
static int target_look_at(struct target *t, const struct target_ask *ask, struct rec_error *e)
{
	struct epf_info info;
	int ret = epf_filter_info(t->filter, &info);

	if (ret)
		return filter_fails(ask, ret, e);
	t->saturated = info.flags & EPF_INFO_SATURATED;
	t->fpr_ppt = info.fpr_ppt;
	if (info.params.kind == EPF_KIND_LANES)
		return 0;
	return ask->place == TARGET_LIVE ? kind_fails(ask, info.params.kind, e) : 1;
}

#define WHY_LOCKED "its kind can only be audited from a copy"

static int target_open_live(struct target *t, const struct target_ask *ask, struct rec_error *e)
{
	int locked = target_look_at(t, ask, e), ret;

	if (locked < 0)
		return locked;
	ret = open_at(t, ask, locked ? TARGET_COPY : ask->place, e);
	if (ret)
		return ret;
	target_look_again(t);
	if (locked)
		set_why(t, WHY_LOCKED);
	return 0;
}

/* Return: descriptor; -ENOENT: no filter has this name; an errno of opening the device. */
static int target_find_filter(const char *name)
{
	int dev, filter;

	if (strchr(name, '/') || strlen(name) >= EPF_NAME_LEN)
		return -ENOENT;
	dev = epf_dev_open();
	if (dev < 0)
		return dev;
	filter = epf_dev_find(dev, name);
	epf_close(dev);
	return filter;
}

static int none_found(const char *name, int err, struct rec_error *e)
{
	if (err == -EACCES || err == -EPERM)
		return rec_error_set(e, err,
				     EPF_DEVICE " may not be opened by this "
						"user, and '%s' is not a file: run as root, or "
						"join the group that owns the device",
				     name);
	if (err == -ENOENT)
		return rec_error_set(e, err,
				     "'%s' is neither a filter nor a file: "
				     "'epfctl list' shows the filters",
				     name);
	return rec_error_set(e, err, "'%s' is not a file, and " EPF_DEVICE ": %s", name,
			     strerror(-err));
}

int target_open_filter(struct target *t, int filter, const struct target_ask *ask,
		       struct rec_error *e)
{
	int ret;

	memset(t, 0, sizeof(*t));
	t->filter = filter;
	ret = target_open_live(t, ask, e);
	if (ret)
		target_close(t);
	else if (t->place == TARGET_COPY)
		target_let_go(t);
	return ret;
}

int target_begin_filter(struct target *t, int filter, const struct target_ask *ask,
			struct rec_error *e)
{
	int ret;

	memset(t, 0, sizeof(*t));
	t->filter = filter;
	ret = target_look_at(t, ask, e);
	if (ret >= 0) {
		set_why(t, ret ? WHY_LOCKED : "as asked");
		ret = target_begin_copy(t, ask, e);
	}
	if (ret)
		target_close(t);
	return ret;
}

int target_open(struct target *t, const struct target_ask *ask, struct rec_error *e)
{
	int filter = target_find_filter(ask->name);

	if (filter >= 0)
		return target_open_filter(t, filter, ask, e);
	memset(t, 0, sizeof(*t));
	t->filter = -1;
	if (strchr(ask->name, '/') || !access(ask->name, F_OK))
		return target_open_file(t, ask, e);
	return none_found(ask->name, filter, e);
}

int target_peek(struct target *t, int *fd, const char *name, struct rec_error *e)
{
	int filter = target_find_filter(name), ret;
	enum epf_snap_fault fault;

	memset(t, 0, sizeof(*t));
	t->filter = -1;
	t->place = TARGET_COPY;
	*fd = -1;
	if (filter >= 0)
		epf_close(filter);
	if (filter >= 0 || (!strchr(name, '/') && access(name, F_OK)))
		return 0;
	*fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0)
		return rec_error_set(e, -errno, "%s: %s", name, strerror(errno));
	t->place = TARGET_FILE;
	t->mtime_ns = target_mtime_ns(*fd);
	ret = epf_snap_head(*fd, &t->header, &t->view.desc, &fault);
	if (!ret)
		return 0;
	close(*fd);
	*fd = -1;
	return file_fails(name, ret, fault, e);
}

void target_hide_key(struct epf_snap_header *h)
{
	memset(h->key, 0, sizeof(h->key));
	h->lines_xxh3 = h->header_xxh3 = 0;
}

__u64 target_epoch(const struct target *t)
{
	struct epf_info info;

	if (t->place != TARGET_LIVE || epf_filter_info(t->filter, &info))
		return t->view.epoch;
	return info.epoch;
}

const char *target_place_name(enum target_place place)
{
	static const char *const names[] = { "auto", "copy", "live", "snapshot" };

	return names[place];
}

void target_close(struct target *t)
{
	epf_work_end(t->work);
	epf_view_close(&t->view);
	epf_snap_close(&t->file);
	if (t->filter >= 0)
		epf_close(t->filter);
	memset(t, 0, sizeof(*t));
	t->filter = -1;
}
