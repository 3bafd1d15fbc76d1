// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The backend: it knows its own descriptors, and implements the calls on them. The
 * descriptor of a filter is that of its directory. If a descriptor number was closed and
 * reused, the inode of the directory tells the two apart.
 *
 * One lock protects the table of descriptors. Each filter has a lock of its own, because
 * its struct is for one thread at a time.
 */
#include "calls.h"

#include <epf/keydesc.h>

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libepf/backend.h"

#define OPEN_MAX_FDS 4096
#define LOOK_MS 20

/**
 * struct own - a descriptor of this backend
 * @dev: device number of its directory
 * @ino: inode of its directory
 * @filter: filter; NULL: the control descriptor
 * @turn: lock held during calls
 */
struct own {
	dev_t dev;
	ino_t ino;
	struct ebpf_filter *filter;
	pthread_mutex_t turn;
};

static struct own *locked[OPEN_MAX_FDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_of(const struct own *o, int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_dev == o->dev && st.st_ino == o->ino;
}

static void calls_forget(struct own *o)
{
	if (o && o->filter) {
		o->filter->dir = -1; /* closed already */
		ebpf_close(o->filter);
	}
	free(o);
}

/* Return: NULL: not one of ours, or not any more. */
static struct own *own_of(int fd)
{
	struct own *o;

	if (fd < 0 || fd >= OPEN_MAX_FDS)
		return NULL;
	pthread_mutex_lock(&lock);
	o = locked[fd];
	pthread_mutex_unlock(&lock);
	return o && is_of(o, fd) ? o : NULL;
}

static int calls_add(int fd, struct ebpf_filter *f)
{
	struct own *o;
	struct stat st;

	if (fd >= OPEN_MAX_FDS)
		return -EMFILE;
	if (fstat(fd, &st))
		return -errno;
	o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->dev = st.st_dev;
	o->ino = st.st_ino;
	o->filter = f;
	pthread_mutex_init(&o->turn, NULL);
	pthread_mutex_lock(&lock);
	calls_forget(locked[fd]);
	locked[fd] = o;
	pthread_mutex_unlock(&lock);
	return fd;
}

static bool backend_owns(int fd)
{
	return own_of(fd);
}

/* Closing the descriptor ends a snapshot in progress. */
static void calls_end_snapshot(struct ebpf_filter *f)
{
	struct epf_snap s = { 0 };

	if (f && f->snap_pin)
		ebpf_snap_end(f, &s);
	explicit_bzero(&s, sizeof(s)); /* with the hash key */
}

static void backend_close(int fd)
{
	struct own *o = own_of(fd);

	if (o) {
		calls_end_snapshot(o->filter);
		pthread_mutex_lock(&lock);
		locked[fd] = NULL;
		pthread_mutex_unlock(&lock);
	}
	close(fd);
	calls_forget(o);
}

int ebpf_control_open(void)
{
	int fd = ebpf_pins_open(), ret;

	if (fd < 0)
		return fd;
	ret = calls_add(fd, NULL);
	if (ret < 0)
		close(fd);
	return ret;
}

/* ---- on the control ---- */

/* Find the name of the filter with this id. */
static int find_id(__u32 id, char name[EPF_NAME_LEN])
{
	char **names;
	int nr = ebpf_pins_list(&names), ret = -ENOENT, i;

	for (i = 0; i < nr; i++) {
		struct ebpf_filter *f;
		__u32 its;

		if (ret && !ebpf_open(names[i], &f)) {
			if (!ebpf_id(f, &its) && its == id) {
				strcpy(name, f->name);
				ret = 0;
			}
			ebpf_close(f);
		}
		free(names[i]);
	}
	free(names);
	return nr < 0 ? nr : ret;
}

static int calls_find(struct epf_name *name)
{
	if (name->reserved)
		return -EINVAL;
	if (name->id)
		return find_id(name->id, name->name);
	return ebpf_name_valid(name->name) ? 0 : -EINVAL;
}

static int do_open(struct epf_ref_args *a)
{
	struct ebpf_filter *f;
	int ret = calls_find(&a->name);

	if (!ret)
		ret = ebpf_open(a->name.name, &f);
	if (ret)
		return ret;
	f->seen_epoch = ebpf_slot(f)->state.epoch;
	ret = calls_add(f->dir, f);
	if (ret < 0)
		ebpf_close(f);
	return ret;
}

static int do_destroy(struct epf_ref_args *a)
{
	return calls_find(&a->name) ?: ebpf_destroy(a->name.name, a->flags & EPF_DESTROY_FORCE);
}

static int do_swap(struct epf_swap *a)
{
	return calls_find(&a->a) ?: calls_find(&a->b) ?: ebpf_swap(a);
}

static int do_list(struct epf_list *l)
{
	__u32 *ids = (__u32 *)(uintptr_t)l->ids;
	__u32 room = l->count, its;
	char **names;
	int nr = ebpf_pins_list(&names), i;
	struct ebpf_filter *f;

	l->count = 0;
	for (i = 0; i < nr; i++) {
		if (!ebpf_open(names[i], &f)) {
			if (!ebpf_id(f, &its) && l->count++ < room)
				ids[l->count - 1] = its;
			ebpf_close(f);
		}
		free(names[i]);
	}
	free(names);
	return nr < 0 ? nr : 0;
}

static int call_control(unsigned long cmd, void *arg)
{
	struct epf_create *c = arg;

	switch (cmd) {
	case EPF_IOC_CREATE:
		return ebpf_create(c, &c->id);
	case EPF_IOC_DESTROY:
		return do_destroy(arg);
	case EPF_IOC_LIST:
		return do_list(arg);
	case EPF_IOC_OPEN:
		return do_open(arg);
	case EPF_IOC_SWAP:
		return do_swap(arg);
	default:
		return -ENOTTY;
	}
}

/* ---- on a filter ---- */

static int do_info(struct ebpf_filter *f, struct epf_info *info)
{
	int ret;

	/* Name and id are set even if the rest fails. */
	memcpy(info->params.name, f->name, sizeof(f->name));
	ret = ebpf_id(f, &info->id) ?: ebpf_begin(f);
	if (ret)
		return ret;
	if (ebpf_timed(f)) /* a timer takes no samples */
		ret = ebpf_estimate(f);
	ebpf_info(f, info);
	ebpf_end(f);
	if (ret)
		return ret;
	f->seen_epoch = info->epoch;
	f->seen_saturations = info->flags & EPF_INFO_SATURATED;
	return 0;
}

static int do_describe(struct ebpf_filter *f, struct epf_describe *a)
{
	int ret = epf_key_desc_check(&a->desc) ?: ebpf_begin(f);
	struct epf_bpf_slot *s;

	if (ret)
		return ret;
	s = ebpf_slot(f); /* under the lock: a swap changes which it is */
	s->desc = epf_key_desc_join(&s->desc, &a->desc);
	a->desc = s->desc;
	ebpf_end(f);
	return 0;
}

static int do_rotate(struct ebpf_filter *f, struct epf_rotate_args *a)
{
	if (!a->count || a->count > EPF_EPOCHS)
		return -EINVAL;
	return ebpf_rotate_now(f, a->count, &a->epoch);
}

static int do_key(struct ebpf_filter *f, struct epf_key_args *a)
{
	memcpy(a->key, ebpf_slot(f)->hash.key, sizeof(a->key));
	return 0;
}

static int call_filter(struct ebpf_filter *f, unsigned long cmd, void *arg)
{
	if (f->shared->gone)
		return -ENODEV;
	switch (cmd) {
	case EPF_IOC_INFO:
		return do_info(f, arg);
	case EPF_IOC_TEST:
		return ebpf_batch(f, arg, EPF_BPF_TEST);
	case EPF_IOC_INSERT:
		return ebpf_batch(f, arg, EPF_BPF_INSERT);
	case EPF_IOC_TEST_AND_INSERT:
		return ebpf_batch(f, arg, EPF_BPF_TEST_AND_INSERT);
	case EPF_IOC_ROTATE:
		return do_rotate(f, arg);
	case EPF_IOC_CLEAR:
		return ebpf_rotate_now(f, EPF_LANES, NULL);
	case EPF_IOC_KEY:
		return do_key(f, arg);
	case EPF_IOC_DESCRIBE:
		return do_describe(f, arg);
	case EPF_IOC_SNAP_BEGIN:
		return ebpf_snap_begin(f, arg);
	case EPF_IOC_SNAP_END:
		return ebpf_snap_end(f, arg);
	case EPF_IOC_RESTORE:
		return ebpf_restore(f, arg);
	case EPF_IOC_JOURNAL:
		return ebpf_journal(f, arg);
	case EPF_IOC_SNAP_READ:
		return -EOPNOTSUPP;
	default:
		return -ENOTTY;
	}
}

static int backend_call(int fd, unsigned long cmd, void *arg)
{
	struct own *o = own_of(fd);
	int ret;

	if (!o)
		return -EBADF;
	if (!o->filter)
		return call_control(cmd, arg);
	pthread_mutex_lock(&o->turn);
	ret = call_filter(o->filter, cmd, arg);
	pthread_mutex_unlock(&o->turn);
	return ret;
}

/* The journal can be written, because its reader stores in it how far it has read. */
static void *map_journal(const struct ebpf_filter *f, size_t bytes)
{
	if (f->journal_fd < 0) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->journal_fd, 0);
}

static void *calls_map_lines(struct ebpf_filter *f, size_t bytes)
{
	struct epf_lanes lanes;
	int ret = ebpf_lines(f, &lanes);

	if (!ret)
		return mmap(NULL, bytes, PROT_READ, MAP_SHARED, f->line_fd, 0);
	errno = -ret;
	return MAP_FAILED;
}

static void *backend_map(int fd, size_t bytes, off_t at)
{
	struct own *o = own_of(fd);
	void *map = MAP_FAILED;

	if (!o || !o->filter || (at && at != (off_t)EPF_MMAP_JOURNAL)) {
		errno = EINVAL;
		return map;
	}
	pthread_mutex_lock(&o->turn);
	map = at ? map_journal(o->filter, bytes) : calls_map_lines(o->filter, bytes);
	pthread_mutex_unlock(&o->turn);
	return map;
}

/* The events since the last info, as poll(2) reports them for filters of the module. */
static int events(const struct ebpf_filter *f)
{
	const struct epf_bpf_slot *s = ebpf_slot(f);
	bool open = epf_load(&s->keys) >= epf_load(&s->open_at);

	if (f->shared->gone)
		return POLLHUP | POLLIN | POLLPRI;
	return (epf_load(&s->state.epoch) != f->seen_epoch ? POLLIN : 0) |
	       (open != !!f->seen_saturations ? POLLPRI : 0);
}

static int backend_wait(int fd, int ms)
{
	struct own *o = own_of(fd);
	int got, part;

	if (!o || !o->filter)
		return -EBADF;
	for (;;) {
		got = events(o->filter);
		if (got || !ms)
			return got;
		part = ms < 0 || ms > LOOK_MS ? LOOK_MS : ms;
		if (poll(NULL, 0, part) < 0)
			return -errno;
		ms -= ms < 0 ? 0 : part;
	}
}

void ebpf_backend_add(void)
{
	static const struct epf_backend backend = {
		.open = ebpf_control_open,
		.owns = backend_owns,
		.call = backend_call,
		.map = backend_map,
		.wait = backend_wait,
		.close = backend_close,
	};

	epf_backend_add(&backend);
}
