/* SPDX-License-Identifier: GPL-2.0 */
#ifndef EPFAGENT_FS_H
#define EPFAGENT_FS_H

#include <stdbool.h>

/**
 * fs_taken() - is what lies there data, and at hand?
 * @fd: descriptor of a file or a directory
 *
 * Context: of a file system of some user's it takes as long as that likes.
 *
 * Return: true: reads and writes wait for no user, and a write is one: nothing
 * that a file of the kernel takes for an order of the agent's.
 */
bool fs_taken(int fd);

#endif /* EPFAGENT_FS_H */
