// SPDX-License-Identifier: GPL-2.0
/*
 * Names and directories of pure BPF filters: two processes create a filter at once,
 * stopped when one has made a directory but not yet locked it; names that no filter may
 * have; the last descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <epf.h>

#include "../params.h"
#include "backend.h"
#include "drive.h"

#define LAST_FD 4095

static int stops; /* how many more locks of a directory wait for another creator */
static char other[EPF_NAME_LEN];

static struct epf_params params(void)
{
	struct epf_params p = { PARAMS(64, 2, 10, 70) };

	return p;
}

/* Make and destroy a filter in another process, which first removes leftovers. */
static bool create_other(void)
{
	struct epf_params p = params();
	pid_t pid = drive_fork();
	int status;

	if (!pid)
		_exit(drive_create(other, &p) || ebpf_destroy(other, true));
	return waitpid(pid, &status, 0) == pid && !status;
}

int __real_flock(int fd, int op);
int __wrap_flock(int fd, int op);
int __wrap_flock(int fd, int op)
{
	if (stops && op == (LOCK_EX | LOCK_NB)) {
		stops--;
		if (!create_other())
			return -1;
	}
	return __real_flock(fd, op);
}

static void try_creators(int times)
{
	struct epf_params p = params();
	char name[EPF_NAME_LEN];
	int err;

	drive_name(name, "names");
	stops = times;
	err = drive_create(name, &p);
	tap_ok(!err && !stops && !ebpf_destroy(name, true),
	       "another process creates before the directory is locked, %d times: %s", times,
	       strerror(-err));
	stops = 0;
}

/* A process of another namespace with the same process id makes a filter, too. */
static void try_same_number(void)
{
	struct epf_params p = params();
	char name[EPF_NAME_LEN], dir[16];
	int fd, err;

	snprintf(dir, sizeof(dir), "~%d", getpid());
	drive_name(name, "names");
	do /* the common directory goes with the last filter, maybe at any moment */
		mkdir(EPF_BPF_PINS, 0700);
	while (mkdir(ebpf_path(dir, NULL).text, 0700) && errno == ENOENT);
	fd = open(ebpf_path(dir, NULL).text, O_RDONLY | O_DIRECTORY);
	flock(fd, LOCK_EX);
	err = drive_create(name, &p);
	tap_ok(fd >= 0 && !err && !ebpf_destroy(name, true),
	       "another process with the same number is making a filter: %s", strerror(-err));
	rmdir(ebpf_path(dir, NULL).text);
	rmdir(EPF_BPF_PINS);
	close(fd);
}

/* An ended child has left a filter, which is removed; that of this process stays. */
static void try_sweep(void)
{
	struct epf_params p = params();
	char name[EPF_NAME_LEN];
	char **names;
	pid_t pid = drive_fork();
	bool own = false, dead = false;
	int nr, i;

	if (!pid) {
		drive_name(name, "dead");
		_exit(drive_create(name, &p) ? 1 : 0);
	}
	waitpid(pid, NULL, 0);
	drive_name(name, "own");
	drive_create(name, &p);
	drive_sweep();
	nr = ebpf_pins_list(&names);
	for (i = 0; i < nr; i++) {
		own |= !strcmp(names[i], name);
		dead |= !strncmp(names[i], DRIVE_PREFIX "dead-", 13) && atoi(names[i] + 13) == pid;
	}
	tap_ok(own && !dead && !ebpf_destroy(name, true),
	       "leftovers of an ended test are removed, and nothing else");
}

/* If the filter exists in the file system, each of these paths leads to files, if any
 * does.
 */
static void try_names(void)
{
	static const char *const wrong[] = {
		"", ".", "..", "a/b", "a:b", "~1", "@v0", "a b", "./names", "names/../names",
	};
	int dev = epf_dev_open(), fd;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		fd = epf_dev_filter(dev, wrong[i]);
		tap_ok(fd == -EINVAL && epf_dev_destroy(dev, wrong[i], true) == -EINVAL,
		       "'%s' names no filter", wrong[i]);
	}
	epf_close(dev);
}

/* The last descriptor that is known, and the first that is not. */
static void try_descriptors(void)
{
	const struct rlimit most = { 8192, 8192 };
	int last, err, fd = setrlimit(RLIMIT_NOFILE, &most);

	while (fd >= 0 && fd < LAST_FD - 1)
		fd = dup(0);
	last = epf_dev_open();
	err = epf_dev_open();
	tap_ok(last == LAST_FD && epf_dev_find(last, "none") == -ENOENT && err == -EMFILE,
	       "descriptor %d is taken, the next one refused: %d, %s", LAST_FD, last,
	       strerror(-err));
}

int main(void)
{
	if (!drive_possible())
		return TAP_SKIPPED;
	drive_name(other, "other");
	epf_backend_choose(EPF_BACKEND_OTHER);
	ebpf_backend_add();
	tap_plan(15);
	try_creators(1);
	try_creators(3);
	try_same_number();
	try_names();
	try_sweep();
	try_descriptors(); /* which leaves none */
	return tap_end();
}
