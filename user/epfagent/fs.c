// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* File systems whose files the agent accepts. */
#include "epfagent/fs.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/array.h"

/* Magic numbers that <linux/magic.h> lacks, or lacks in some versions. */
#define XFS_MAGIC 0x58465342
#define BCACHEFS_MAGIC 0xca451a4e
#define ZFS_MAGIC 0x2fc12fc1

/* Excluded are file systems that are a user's program (FUSE), those that may have one
 * below (overlayfs, which any user may mount in a user namespace; but see own_mount()), and
 * those where a write is a command checked against the rights of the writer (proc, sysfs,
 * cgroup and the like). tmpfs includes memfds. NFS is included because users do not choose
 * the server.
 */
static const unsigned int taken[] = {
	EXT4_SUPER_MAGIC, XFS_MAGIC,   BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, BCACHEFS_MAGIC,
	ZFS_MAGIC,        TMPFS_MAGIC, RAMFS_MAGIC,       NFS_SUPER_MAGIC,
};

/* The mount by which a file was opened; -1: unknown. Nobody else's program is asked. */
static int mount_of(int fd)
{
	char path[40], text[128];
	const char *line;
	ssize_t n;
	int info, id;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return -1;
	n = read(info, text, sizeof(text) - 1);
	close(info);
	text[n > 0 ? n : 0] = 0;
	line = strstr(text, "mnt_id:");
	return line && sscanf(line, "mnt_id: %d", &id) == 1 ? id : -1;
}

/* Is it one of the mounts that this process sees? Users make mounts in namespaces of their own
 * only, which do not propagate to this one. The numbers of mounts are unique in the system,
 * and the descriptor keeps its mount. So an overlayfs here is as the administrator made
 * it, as in a container.
 */
static bool own_mount(int fd)
{
	FILE *all = fopen("/proc/self/mountinfo", "re");
	int want = mount_of(fd), id;
	bool found = false;
	char *line = NULL;
	size_t room = 0;

	while (all && want >= 0 && !found && getline(&line, &room, all) > 0)
		found = sscanf(line, "%d", &id) == 1 && id == want;
	free(line);
	if (all)
		fclose(all);
	return found;
}

bool fs_taken(int fd)
{
	struct statfs fs;
	size_t i;

	if (fstatfs(fd, &fs))
		return false;
	for (i = 0; i < ARRAY_SIZE(taken); i++)
		if ((unsigned int)fs.f_type == taken[i])
			return true;
	return (unsigned int)fs.f_type == OVERLAYFS_SUPER_MAGIC && own_mount(fd);
}
