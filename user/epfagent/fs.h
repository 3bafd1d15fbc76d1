/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef EPFAGENT_FS_H
#define EPFAGENT_FS_H

#include <stdbool.h>

/**
 * fs_taken() - does the agent accept files of this file system?
 * @fd: descriptor of a file or a directory
 *
 * Context: if a user implements the file system, the call may block as long as that
 * user likes.
 *
 * Return: true: reads and writes never wait for a user, and a write only stores data
 * (it is not a command to the kernel). Of overlayfs, only by a mount that the agent sees, too.
 */
bool fs_taken(int fd);

#endif /* EPFAGENT_FS_H */
