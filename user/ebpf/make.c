// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Creating and destroying filters. The directory of a filter is created under a temporary
 * name and renamed when it is complete. What a killed process left is removed when the next
 * filter is created.
 */
#include "ebpf.h"
#include "common/clock.h"

#include <epf/params.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Limit of the keys that a CPU counts before it adds them to the filter's count. */
#define KEYS_STEP_MAX 64u
/* Keys not added yet may make the filter fail open too early, by at most this fraction (1/n)
 * of an epoch.
 */
#define KEYS_STEP_PART 64u

/* Limit of the attempts to create a directory that others remove meanwhile. */
#define MAKE_TRIES 100

static const char *const whats[] = {
	"table",  "lines", "lines0", "lines1",   "cpus",     "ops",
	"limits", "timer", "tick",   "journals", "journal0", "journal1"
};

int ebpf_make_inner(const char *name, __u32 bytes, __u64 nr)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(__u32), bytes, (__u32)nr, &o);

	return fd < 0 ? -errno : fd;
}

int ebpf_make_lines(__u64 nr)
{
	return ebpf_make_inner("epf_line", EPF_LINE_BYTES, nr);
}

static int make_array(const char *name, size_t bytes, __u32 nr)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(__u32), (__u32)bytes, nr, &o);

	return fd < 0 ? -errno : fd;
}

static int make_outer(const char *name, int inner)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .inner_map_fd = (__u32)inner);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, name, sizeof(__u32), sizeof(__u32),
				EPF_BPF_SLOTS, &o);

	return fd < 0 ? -errno : fd;
}

/* A timer cannot align epochs, because BPF programs do not know the wall clock. */
static int check_flags(__u32 flags)
{
	if (!(flags & EPF_BPF_CREATE_TIMER))
		return 0;
	return flags & EPF_CREATE_ALIGN ? -EINVAL : ebpf_timer_possible();
}

static __u32 keys_step(const struct ebpf_filter *f, __u64 room)
{
	__u32 step = 1;

	while (step < KEYS_STEP_MAX && 2ULL * step * f->shared->cpus * KEYS_STEP_PART <= room)
		step *= 2;
	return step;
}

/* The room for keys of an empty filter. Its limits are not those of the active slot. */
static int first_room(const struct epf_params *p, const struct epf_geom *g, __u64 *room)
{
	static const __u64 none[EPF_LIVE_EPOCHS];
	struct epf_capacity_work *work;
	struct epf_capacity *c;

	*room = ~0ULL;
	if (p->limit_ppt == EPF_RATE_ONE)
		return 0;
	work = malloc(sizeof(*work) + sizeof(*c));
	if (!work)
		return -ENOMEM;
	c = (struct epf_capacity *)(work + 1);
	epf_capacity_init(c, g, epf_ppt_to_q56(p->limit_ppt), work);
	*room = epf_capacity_room(c, none);
	free(work);
	return 0;
}

static int make_set_key(struct epf_bpf_slot *s, const __u64 *key)
{
	__u64 random[2];

	if (!key && getrandom(random, sizeof(random), 0) != sizeof(random))
		return -errno;
	key = key ? key : random;
	epf_hash_init(&s->hash, key[0], key[1], s->params.hash);
	explicit_bzero(random, sizeof(random));
	if (getrandom(&s->serial, sizeof(s->serial), 0) != sizeof(s->serial))
		return -errno;
	s->serial |= 1; /* never 0 */
	return 0;
}

int ebpf_fill_slot(struct ebpf_filter *f, __u32 slot, const struct epf_params *p, const __u64 *key)
{
	struct epf_bpf_slot *s = &f->shared->slot[slot];
	int ret = epf_params_check_lanes(p);

	if (ret)
		return ret;
	memset(&f->cpu[slot * f->shared->cpus], 0, f->shared->cpus * sizeof(*f->cpu));
	memset(s, 0, sizeof(*s));
	epf_geom_init(&s->geom, p->nr_lines, p->lines_per_key, p->bits_per_key);
	s->params = *p;
	s->first_seen = p->refresh == EPF_FIRST_SEEN;
	ret = first_room(p, &s->geom, &s->room);
	if (!ret)
		ret = make_set_key(s, key);
	s->keys_step = keys_step(f, s->room);
	s->open_at = s->room; /* the first epoch may use all of it */
	if (s->room != ~0ULL)
		s->open_at -= (__u64)f->shared->cpus * (s->keys_step - 1);
	s->created_ns = now_ns();
	epf_state_init(&s->state, s->created_ns);
	s->began = s->created_ns;
	s->dated = s->state.epoch;
	s->quiet = EPF_EPOCH_FIRST;
	return ret ?: ebpf_timer_adopt(f, slot);
}

/* Create and pin the lines of the first contents, in slot 0. */
static int pin_lines(const char *dir, int outer, __u64 nr)
{
	int fd = ebpf_make_lines(nr), ret = 0;
	__u32 slot = 0;

	if (fd < 0)
		return fd;
	if (bpf_map_update_elem(outer, &slot, &fd, BPF_ANY) ||
	    bpf_obj_pin(fd, ebpf_path(dir, "lines0").text))
		ret = -errno;
	close(fd);
	return ret;
}

static int make_pin(const char *dir, const char *what, int fd)
{
	int ret = fd;

	if (fd < 0)
		return fd;
	ret = bpf_obj_pin(fd, ebpf_path(dir, what).text) ? -errno : 0;
	close(fd);
	return ret;
}

static int pin_outer(const char *dir, __u64 nr)
{
	int some = ebpf_make_lines(1), outer, ret;

	if (some < 0)
		return some;
	outer = make_outer("epf_lines", some);
	close(some);
	if (outer < 0)
		return outer;
	ret = pin_lines(dir, outer, nr);
	if (ret)
		close(outer);
	return ret ?: make_pin(dir, "lines", outer);
}

/* Create "journals", which is empty. */
static int pin_journals(const char *dir)
{
	int some = ebpf_make_inner("epf_journal", EPF_BPF_JOURNAL_BYTES, 1), outer;

	if (some < 0)
		return some;
	outer = make_outer("epf_journals", some);
	close(some);
	return make_pin(dir, "journals", outer);
}

/* Create "table" with only the beginning that ebpf_open() needs. */
static int pin_table(const char *dir, bool timed)
{
	struct epf_bpf_filter *head = calloc(1, sizeof(*head));
	int fd = make_array("epf_table", sizeof(*head), 1);
	__u32 zero = 0;
	int ret = 0;

	if (!head || fd < 0) {
		free(head);
		return fd < 0 ? fd : -ENOMEM;
	}
	head->magic = EPF_BPF_MAGIC;
	head->bytes = sizeof(*head);
	head->cpus = (__u32)libbpf_num_possible_cpus();
	head->earlier = 1;
	head->rotate = timed ? EPF_BPF_ROTATE_KERNEL : EPF_BPF_ROTATE_PROCESS;
	if (bpf_map_update_elem(fd, &zero, head, BPF_ANY))
		ret = -errno;
	free(head);
	if (ret)
		close(fd);
	return ret ?: make_pin(dir, "table", fd);
}

static int pin_maps(const char *dir, const struct epf_params *p, bool timed)
{
	int cpus = libbpf_num_possible_cpus();
	int ret = cpus < 0 ? cpus : pin_table(dir, timed);

	if (!ret)
		ret = make_pin(dir, "cpus",
			       make_array("epf_cpus", sizeof(struct epf_bpf_cpu),
					  EPF_BPF_SLOTS * (__u32)cpus));
	if (!ret)
		ret = pin_outer(dir, p->nr_lines) ?: pin_journals(dir);
	return !ret && timed ? ebpf_timer_load(dir) : ret;
}

static int fill_new(const char *dir, const struct epf_create *a, __u32 *id)
{
	struct ebpf_filter *f;
	int ret = ebpf_open(dir, &f);

	if (ret)
		return ret;
	ret = ebpf_fill_slot(f, 0, &a->params, a->flags & EPF_CREATE_KEY ? a->key : NULL);
	if (!ret && a->flags & EPF_CREATE_ALIGN)
		f->shared->slot[0].align_ns = epf_align_pitch(
			(a->params.window_ns + EPF_LIVE_EPOCHS - 1) / EPF_LIVE_EPOCHS);
	if (!ret)
		ret = ebpf_id(f, id);
	ebpf_close(f);
	return ret;
}

/* Remove a directory, even if it is incomplete. */
static int remove_dir(const char *dir)
{
	size_t i;

	for (i = 0; i < sizeof(whats) / sizeof(whats[0]); i++)
		unlink(ebpf_path(dir, whats[i]).text);
	rmdir(ebpf_path(dir, "rotator").text);
	return rmdir(ebpf_path(dir, NULL).text) ? -errno : 0;
}

static int start_timer(const char *dir)
{
	struct ebpf_filter *f;
	int ret = ebpf_open(dir, &f);

	if (ret)
		return ret;
	ret = ebpf_timer_start(f);
	ebpf_close(f);
	return ret;
}

static int make_all(const char *dir, const struct epf_create *a, __u32 *id)
{
	bool timed = a->flags & EPF_BPF_CREATE_TIMER;
	int ret = pin_maps(dir, &a->params, timed);

	if (!ret && mkdir(ebpf_path(dir, "rotator").text, 0700))
		ret = -errno;
	if (!ret)
		ret = fill_new(dir, a, id);
	if (!ret)
		ret = make_pin(dir, "ops", ebpf_ops_load(dir));
	if (!ret && timed)
		ret = start_timer(dir);
	if (!ret && renameat2(AT_FDCWD, ebpf_path(dir, NULL).text, AT_FDCWD,
			      ebpf_path(a->params.name, NULL).text, RENAME_NOREPLACE))
		ret = -errno;
	return ret;
}

/* Lock @dir, and check that the name still belongs to that directory: another process may
 * have removed or renamed it between open and lock. While the lock is held nobody does.
 * Return: descriptor; -ESTALE: the name is gone or belongs to another directory; another
 * negative errno.
 */
static int lock_dir(const char *dir)
{
	struct ebpf_path path = ebpf_path(dir, NULL);
	int fd = open(path.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat own, now;
	int ret = 0;

	if (fd < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) || fstat(fd, &own))
		ret = -errno;
	else if (stat(path.text, &now) || own.st_ino != now.st_ino)
		ret = -ESTALE;
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

/* Remove incomplete directories of processes that have died, which released their locks. */
static void make_sweep(void)
{
	DIR *dir = opendir(EPF_BPF_PINS);
	struct dirent *d;
	int fd;

	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] != '~')
			continue;
		fd = lock_dir(d->d_name);
		if (fd < 0)
			continue;
		remove_dir(d->d_name);
		close(fd);
	}
	if (dir)
		closedir(dir);
}

/* EPF_BPF_PINS is removed with its last entry, so it may vanish at any moment: retry. */
static int make_dir(const char *dir)
{
	int root, tries;

	for (tries = 0; tries < MAKE_TRIES; tries++) {
		root = ebpf_pins_open();
		if (root < 0 && root != -ENOENT)
			return root;
		if (root >= 0)
			close(root);
		if (!mkdir(ebpf_path(dir, NULL).text, 0700))
			return 0;
		if (errno != ENOENT)
			return -errno;
	}
	return -ENOENT;
}

/* Create a directory and lock it. Before it is locked another process may sweep it away;
 * then create it again. Return: descriptor; a negative errno.
 */
static int make_own(const char *dir)
{
	int ret, tries;

	for (tries = 0; tries < MAKE_TRIES; tries++) {
		ret = make_dir(dir);
		if (!ret)
			ret = lock_dir(dir);
		if (ret != -ESTALE && ret != -EWOULDBLOCK && ret != -EEXIST)
			return ret;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return ret;
}

/* The temporary name of a new filter. The process id alone is not unique: a process of
 * another PID namespace, or another thread, may have the same.
 */
static int draft_name(char dir[24])
{
	__u32 random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -errno;
	snprintf(dir, 24, "~%d-%08x", getpid(), random);
	return 0;
}

int ebpf_create(const struct epf_create *a, __u32 *id)
{
	char dir[24];
	int own, ret;

	if (!ebpf_name_valid(a->params.name))
		return -EINVAL;
	ret = epf_params_check_lanes(&a->params) ?: check_flags(a->flags);
	if (ret)
		return ret;
	make_sweep();
	if (!access(ebpf_path(a->params.name, NULL).text, F_OK))
		return -EEXIST;
	ret = draft_name(dir);
	if (ret)
		return ret;
	own = make_own(dir);
	if (own < 0)
		return own;
	ret = make_all(dir, a, id);
	if (ret)
		remove_dir(dir);
	close(own);
	return ret;
}

/* Does a process hold this filter by name, and not just because it holds all filters? */
static bool needed(const struct ebpf_filter *f)
{
	return !ebpf_timed(f) && ebpf_held(f->name) &&
	       !__atomic_load_n(&f->shared->yields, __ATOMIC_RELAXED);
}

int ebpf_destroy(const char *name, bool force)
{
	struct ebpf_filter *f;
	int ret;

	ret = ebpf_open(name, &f);
	if (ret)
		return ret;
	ret = !force && needed(f) ? -EBUSY : ebpf_lock(f->dir, EBPF_LOCK_MS);
	if (!ret) {
		ebpf_journal_over(f); /* fails if the filter has no contents any more */
		__atomic_store_n(&f->shared->gone, 1, __ATOMIC_SEQ_CST);
		ret = remove_dir(name);
		rmdir(EPF_BPF_PINS); /* with the last */
	}
	ebpf_close(f);
	return ret;
}
