/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The socket that clients connect to. */
#ifndef EPFAGENT_LISTEN_H
#define EPFAGENT_LISTEN_H

#include <stdbool.h>

#include "epfagent/conf.h"

/**
 * listen_open() - take the service manager's socket, or create one
 * @conf: path and group
 * @own: set to whether it was created here and must be unlinked at the end
 *
 * The mode is 0660. A socket that nobody listens on any more is replaced.
 *
 * Return: descriptor; -1: an error was printed.
 */
int listen_open(const struct conf *conf, bool *own);

#endif /* EPFAGENT_LISTEN_H */
