/* SPDX-License-Identifier: GPL-2.0 */
/* The socket where clients come. */
#ifndef EPFAGENT_LISTEN_H
#define EPFAGENT_LISTEN_H

#include <stdbool.h>

#include "epfagent/conf.h"

/**
 * listen_open() - the service manager's socket, else one of our own
 * @conf: path and group
 * @own: set: it is ours, to be unlinked at the end
 *
 * Mode 0660. A socket that nobody listens on any more is replaced.
 *
 * Return: descriptor; -1: an error is printed.
 */
int listen_open(const struct conf *conf, bool *own);

#endif /* EPFAGENT_LISTEN_H */
