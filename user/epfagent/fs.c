// SPDX-License-Identifier: GPL-2.0
/* File systems whose files the agent accepts. */
#include "epfagent/fs.h"

#include <linux/magic.h>
#include <stddef.h>
#include <sys/vfs.h>

#include "common/array.h"

/* Magic numbers that <linux/magic.h> lacks, or lacks in some versions. */
#define XFS_MAGIC 0x58465342
#define BCACHEFS_MAGIC 0xca451a4e
#define ZFS_MAGIC 0x2fc12fc1

/* Excluded are file systems that are a user's program (FUSE), those that may have one
 * below (overlayfs, which any user may mount in a user namespace), and those where a
 * write is a command checked against the rights of the writer (proc, sysfs, cgroup
 * and the like). tmpfs includes memfds. NFS is included because users do not choose
 * the server.
 */
static const unsigned int taken[] = {
	EXT4_SUPER_MAGIC, XFS_MAGIC,   BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, BCACHEFS_MAGIC,
	ZFS_MAGIC,        TMPFS_MAGIC, RAMFS_MAGIC,       NFS_SUPER_MAGIC,
};

bool fs_taken(int fd)
{
	struct statfs fs;
	size_t i;

	if (fstatfs(fd, &fs))
		return false;
	for (i = 0; i < ARRAY_SIZE(taken); i++)
		if ((unsigned int)fs.f_type == taken[i])
			return true;
	return false;
}
