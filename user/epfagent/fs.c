// SPDX-License-Identifier: GPL-2.0
/* File systems whose files are taken. */
#include "epfagent/fs.h"

#include <linux/magic.h>
#include <stddef.h>
#include <sys/vfs.h>

#include "epfctl/cmd.h"

/* Those that <linux/magic.h> has not, or not everywhere. */
#define XFS_MAGIC 0x58465342
#define BCACHEFS_MAGIC 0xca451a4e
#define ZFS_MAGIC 0x2fc12fc1

/* Not those that are a program of some user's (FUSE), nor what has one below it
 * (overlayfs, which anybody may mount in a namespace of his own), nor those where
 * a write is an order, whose rights are asked of the writer (proc, sysfs, cgroup
 * and the like). tmpfs: memfds too. A server of NFS is not a user's choice.
 */
static const unsigned int taken[] = {
	EXT4_SUPER_MAGIC, XFS_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
	BCACHEFS_MAGIC, ZFS_MAGIC, TMPFS_MAGIC, RAMFS_MAGIC, NFS_SUPER_MAGIC,
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
