// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Directories of filters in the BPF file system, and locks on them. */
#include "ebpf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define BPFFS "/sys/fs/bpf"

/* The BPF file system does not allow '.', and names of filters have no ':'. */
static void pins_exchange(char *name, char from, char to)
{
	for (; *name; name++)
		if (*name == from)
			*name = to;
}

bool ebpf_name_valid(const char name[EPF_NAME_LEN])
{
	size_t len = strnlen(name, EPF_NAME_LEN);

	return len && len < EPF_NAME_LEN && name[0] != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789._-") == len;
}

struct ebpf_path ebpf_path(const char *name, const char *what)
{
	char dir[EPF_NAME_LEN + 8];
	struct ebpf_path p;

	snprintf(dir, sizeof(dir), "%s", name);
	pins_exchange(dir, '.', ':');
	snprintf(p.text, sizeof(p.text), EPF_BPF_PINS "/%s%s%s", dir, what ? "/" : "",
		 what ? what : "");
	return p;
}

static bool is_bpffs(const char *path)
{
	struct statfs st;

	return !statfs(path, &st) && (unsigned long)st.f_type == BPF_FS_MAGIC;
}

/* The number of the mount namespace of process @pid; 0: it cannot be read. */
static ino_t mounts_of(int pid)
{
	struct stat st;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	return stat(path, &st) ? 0 : st.st_ino;
}

/* 0: it has none here, or it cannot be read. */
static int parent_of(int pid)
{
	char path[32], line[256];
	int parent = 0;
	const char *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	end = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	if (end && sscanf(end, ") %*c %d", &parent) != 1)
		parent = 0;
	fclose(f);
	return parent;
}

/* Process 1 may be hidden, so all ancestors are asked. */
bool ebpf_own_mounts(void)
{
	int pid = getpid(), tries;
	ino_t own = mounts_of(pid), its;

	for (tries = 0; own && pid > 0 && tries < 1000; tries++) {
		its = mounts_of(pid);
		if (its && its != own)
			return true;
		pid = parent_of(pid);
	}
	return false;
}

/* systemd mounts it. Without systemd, its first user does, as bpftool and ip do; but not where
 * the mount would end with this command, as under 'ip netns exec'.
 */
static bool mount_bpffs(void)
{
	return !ebpf_own_mounts() &&
	       !mount("bpf", BPFFS, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700");
}

int ebpf_pins_open(void)
{
	int fd;

	if (!is_bpffs(BPFFS) && !mount_bpffs())
		return -ENOTSUP;
	if (mkdir(EPF_BPF_PINS, 0700) && errno != EEXIST)
		return -errno;
	fd = open(EPF_BPF_PINS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int ebpf_lock(int fd, unsigned int wait_ms)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	for (;;) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (!wait_ms--)
			return -ETIMEDOUT;
		nanosleep(&ms, NULL);
	}
}

void ebpf_unlock(int fd)
{
	flock(fd, LOCK_UN);
}

/* Is @name the directory of a filter, not of an interface or of an incomplete filter? */
static bool is_filter(const char *name)
{
	return name[0] != '.' && strlen(name) < EPF_NAME_LEN && !strpbrk(name, "~@") &&
	       !access(ebpf_path(name, "table").text, F_OK);
}

static int pins_add_name(char ***names, int nr, const char *name)
{
	char **all = reallocarray(*names, (size_t)nr + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	*names = all;
	all[nr] = strdup(name);
	if (!all[nr])
		return -ENOMEM;
	pins_exchange(all[nr], ':', '.');
	return nr + 1;
}

static void free_names(char **names, int nr)
{
	while (nr-- > 0)
		free(names[nr]);
	free(names);
}

int ebpf_pins_list(char ***names)
{
	DIR *dir = opendir(EPF_BPF_PINS);
	struct dirent *d;
	int nr = 0, ret = 0;

	*names = NULL;
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while (ret >= 0 && (d = readdir(dir))) {
		if (!is_filter(d->d_name))
			continue;
		ret = pins_add_name(names, nr, d->d_name);
		nr = ret < 0 ? nr : ret;
	}
	closedir(dir);
	if (ret >= 0)
		return nr;
	free_names(*names, nr);
	*names = NULL;
	return ret;
}
