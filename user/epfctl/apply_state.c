// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The state of filters in files, which outlives a boot.
 *
 * NAME.epf is a snapshot. NAME.boot, written after it, tells in which boot it was made and
 * when by CLOCK_BOOTTIME, and names the snapshot by its time. If the power fails between the
 * two, NAME.boot is one of an older snapshot and counts for nothing.
 *
 * A window goes on while the machine is off. So the age of a snapshot is by CLOCK_BOOTTIME in
 * the boot that made it, whatever was done to the wall clock, and in a later boot by the
 * wall clock, but at least the time since the boot.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply.h"
#include "epf/window.h"
#include "libepf/atomic_file.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define ID_BYTES 40
#define SAVE_LEAST_NS (60 * NS_PER_SEC)  /* windows of less are not saved unless asked for */
#define SAVE_COUNT_NS (600 * NS_PER_SEC) /* of a window of insertions */

/**
 * struct moment - when a snapshot was made
 * @boot_id: of that boot
 * @boot_ns: CLOCK_BOOTTIME
 * @wall_ns: CLOCK_REALTIME, as in its header
 */
struct moment {
	char boot_id[ID_BYTES];
	unsigned long long boot_ns;
	unsigned long long wall_ns;
};

static void now(struct moment *m)
{
	FILE *f = fopen(BOOT_ID, "re");

	if (!f || fscanf(f, "%39s", m->boot_id) != 1)
		m->boot_id[0] = 0;
	if (f)
		fclose(f);
	m->boot_ns = epf_boot_ns();
	m->wall_ns = epf_wall_ns();
}

static void path_of(char path[PATH_MAX], const char *dir, const char *name, const char *suffix)
{
	snprintf(path, PATH_MAX, "%s/%s.%s", dir, name, suffix);
}

int state_lock(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	while (fd >= 0 && flock(fd, LOCK_EX) && errno == EINTR && !interrupted)
		;
	return fd;
}

/* Saving */

static int write_moment(const char *path, const struct moment *m)
{
	char text[160];
	struct epf_file f;
	int fd = epf_file_open(&f, path, EPF_FILE_SECRET), err;

	if (fd < 0)
		return fd;
	snprintf(text, sizeof(text), "%s %llu %llu\n", m->boot_id, m->boot_ns, m->wall_ns);
	err = epf_file_write(fd, text, strlen(text)) ?: epf_file_sync(fd);
	close(fd);
	err = err ?: epf_file_commit(&f);
	epf_file_discard(&f);
	return err;
}

/* Another process may be saving the filter. One that was killed is no longer in the way. */
static int save_patiently(int filter, const char *path, struct meter *meter,
			  struct epf_snap_header *header)
{
	const struct timespec step = { .tv_nsec = 50000000 };
	__u64 until = now_ns() + EPF_PIN_MAX_NS;
	int err;

	while ((err = epf_snap_save(filter, path, meter_update, meter, header)) == -EBUSY &&
	       now_ns() < until && !interrupted)
		nanosleep(&step, NULL);
	return err;
}

static int apply_state_save(int filter, const char *name, const char *dir)
{
	struct meter meter = { .what = "saving" };
	char path[PATH_MAX], boot[PATH_MAX];
	struct epf_snap_header header;
	struct moment m;
	int err;

	path_of(path, dir, name, "epf");
	path_of(boot, dir, name, "boot");
	err = save_patiently(filter, path, &meter, &header);
	meter_end(&meter);
	if (err)
		return save_failed(err, name, path, header.magic);
	now(&m);
	/* the moment of the snapshot, not of now */
	m.boot_ns -= m.wall_ns - header.realtime_ns;
	m.wall_ns = header.realtime_ns;
	err = write_moment(boot, &m);
	return err ? fail_write(boot, err, false) : EXIT_YES;
}

/* How old a saved state may get; 0: it is not saved. */
static __u64 period(const struct declared *d, const struct epf_params *p)
{
	__u64 epoch = p->window_ns / EPF_LIVE_EPOCHS;

	if (d->save_ns)
		return d->save_ns;
	if (p->mode == EPF_MODE_COUNT)
		return SAVE_COUNT_NS;
	if (p->window_ns < SAVE_LEAST_NS)
		return 0;
	return epoch > SAVE_LEAST_NS ? epoch : SAVE_LEAST_NS;
}

/* Is the file older than @ns, missing, or from the future? */
static bool is_due(const char *dir, const char *name, __u64 ns)
{
	__u64 wall = epf_wall_ns(), saved;
	char path[PATH_MAX];
	struct stat st;

	path_of(path, dir, name, "epf");
	if (stat(path, &st))
		return true;
	saved = (__u64)st.st_mtim.tv_sec * NS_PER_SEC + (__u64)st.st_mtim.tv_nsec;
	return saved > wall || wall - saved >= ns;
}

static int save_declared(const struct declared *d, const char *dir, bool due, json_t *saved)
{
	int filter = open_filter(d->name), ret = EXIT_YES;
	struct epf_info info;
	__u64 ns;

	if (filter < 0)
		return EXIT_ABSENT;
	if (epf_filter_info(filter, &info))
		ret = fail("reading '%s'", d->name);
	ns = ret ? 0 : period(d, &info.params);
	if (ns && (!due || is_due(dir, d->name, ns))) {
		ret = apply_state_save(filter, d->name, dir);
		if (!ret && saved)
			json_array_append_new(saved, json_string(d->name));
		else if (!ret)
			printf("saved %s: %llu insertions\n", d->name, info.stats.inserts);
	}
	epf_close(filter);
	return ret;
}

int state_save(const struct declarations *d, const char *dir, bool due)
{
	json_t *saved = out_mode == OUT_TEXT ? NULL : json_array();
	int ret = EXIT_YES, one, lock;
	size_t i;

	if (mkdir(dir, 0700) && errno != EEXIST) {
		json_decref(saved);
		return fail_errno(errno, "%s: %m", dir);
	}
	lock = state_lock(dir);
	for (i = 0; i < d->nr && !interrupted; i++) {
		if (d->all[i].type != DECLARED_FILTER || !d->all[i].saves)
			continue;
		one = save_declared(&d->all[i], dir, due, saved);
		ret = one > ret ? one : ret;
	}
	if (lock >= 0)
		close(lock);
	if (saved)
		out_json(json_pack("{so}", "saved", saved));
	return interrupted ? EXIT_FAIL : ret;
}

/* Restoring */

/* When snapshot @h was made; false: unknown. */
static bool read_moment(const char *path, const struct epf_snap_header *h, struct moment *m)
{
	FILE *f = fopen(path, "re");
	bool good = f && fscanf(f, "%39s %llu %llu", m->boot_id, &m->boot_ns, &m->wall_ns) == 3;

	if (f)
		fclose(f);
	return good && m->wall_ns == h->realtime_ns;
}

/* Return: false: the age cannot be known. */
static bool apply_state_age_of(const char *boot_path, const struct epf_snap_header *h, __u64 *age)
{
	struct moment then, here;
	bool told = read_moment(boot_path, h, &then);

	now(&here);
	if (told && !strcmp(then.boot_id, here.boot_id) && then.boot_ns <= here.boot_ns) {
		*age = here.boot_ns - then.boot_ns;
		return true;
	}
	if (here.wall_ns < h->realtime_ns)
		return false;
	*age = here.wall_ns - h->realtime_ns;
	if (told && *age < here.boot_ns)
		*age = here.boot_ns;
	return true;
}

/* Does time end the window? */
static bool by_time(const struct epf_params *p)
{
	return p->mode == EPF_MODE_TIME || p->mode == EPF_MODE_EITHER;
}

/* Is it a state of the filter as declared? Its key may be another one unless a file has it. */
static bool apply_state_fits(const struct epf_info *info, const struct epf_params *saved)
{
	struct epf_params p = *saved;

	memcpy(p.name, info->params.name, sizeof(p.name));
	return !memcmp(&p, &info->params, sizeof(p));
}

/* End the epochs that are over since the snapshot, so that no key stays for longer than it
 * would have without the gap. A key is kept for seven epochs after its own, of which at
 * most @age have passed; so none is lost (selftests/ebpf/apply.py).
 */
static __u32 skip_epochs(int filter, const struct epf_info *info, __u64 age)
{
	const struct epf_params *p = &info->params;
	struct epf_window w = { 0 };
	__u64 epoch, over;

	if (p->kind || !by_time(p) ||
	    epf_window_init(&w, p->mode, p->window_inserts, 0, p->window_ns) || !w.epoch_ns)
		return 0;
	epoch = info->flags & EPF_INFO_ALIGNED ? epf_align_pitch(w.epoch_ns) : w.epoch_ns;
	over = age / epoch;
	if (over > EPF_LIVE_EPOCHS)
		over = EPF_LIVE_EPOCHS;
	if (over && epf_filter_rotate(filter, (__u32)over, NULL))
		return 0;
	return (__u32)over;
}

static void not_restored(struct state_told *told, const char *fmt, const char *a, const char *b)
{
	snprintf(told->text, sizeof(told->text), fmt, a, b);
}

/* @has_key: the declared key */
static void apply_state_fill(int filter, const struct epf_snap_file *file, const char *boot,
			     const __u64 *has_key, struct state_told *told)
{
	const struct epf_params *p = &file->header.params;
	struct epf_info info;
	__u64 age;
	__u32 over;
	int err = epf_filter_info(filter, &info);

	if (err || !apply_state_fits(&info, p)) {
		not_restored(told, "%s%s", "it was saved with other parameters", "");
	} else if (has_key && memcmp(has_key, file->header.key, sizeof(file->header.key))) {
		not_restored(told, "%s%s", "it was saved with another hash key", "");
	} else if (!apply_state_age_of(boot, &file->header, &age)) {
		told->future = true;
	} else if (by_time(p) && age >= p->window_ns) {
		not_restored(told, "saved %s ago, which is longer than its window of %s",
			     fmt_ns(age).s, fmt_ns(p->window_ns).s);
	} else {
		err = epf_snap_restore(filter, file);
		if (err) {
			not_restored(told, "%s%s", strerror(-err), "");
			return;
		}
		over = skip_epochs(filter, &info, age);
		told->restored = true;
		told->age_ns = age;
		snprintf(told->text, sizeof(told->text), "saved %s ago, %llu insertions%s",
			 fmt_ns(age).s, file->header.inserts,
			 over ? "; epochs that are over meanwhile are ended" : "");
	}
}

/* Keep a state from the future, of which the clock may be at fault. */
static void keep_future(const char *name, const char *dir, struct state_told *told)
{
	char path[PATH_MAX], kept[PATH_MAX];

	path_of(path, dir, name, "epf");
	path_of(kept, dir, name, "future");
	if (rename(path, kept))
		snprintf(kept, sizeof(kept), "%s", path);
	snprintf(told->text, sizeof(told->text),
		 "it is from the future by the clock of this machine: if the clock is at fault, "
		 "'epfctl restore --existing %s %.150s'",
		 name, kept);
}

void state_restore(const char *name, const char *dir, const __u64 *key, struct state_told *told)
{
	char path[PATH_MAX], boot[PATH_MAX];
	enum epf_snap_fault fault;
	struct epf_snap_file file;
	int filter, err;

	memset(told, 0, sizeof(*told));
	path_of(path, dir, name, "epf");
	path_of(boot, dir, name, "boot");
	err = epf_snap_open(path, &file, NULL, NULL, &fault);
	if (err == -ENOENT)
		return not_restored(told, "there is no %.200s%s", path, "");
	if (err)
		return not_restored(told, "%.200s %s", path,
				    fault == EPF_SNAP_IO ? strerror(-err) :
							   epf_snap_fault_text(fault));
	filter = open_filter(name);
	if (filter >= 0) {
		apply_state_fill(filter, &file, boot, key, told);
		epf_close(filter);
	}
	epf_snap_close(&file);
	if (told->future)
		keep_future(name, dir, told);
}
