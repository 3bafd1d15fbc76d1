/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP connections of this process to servers of NATS on which nothing comes any more.
 *
 * libnats asks an established connection for a sign of life, but up to version 3.10 it does not
 * limit the time that a TLS handshake takes, and before 3.8 not that of the first answer after it.
 * If the server has gone without a trace then, a thread of libnats waits for ever with the lock of
 * the connection, and no other connection is tried. It goes on when its connection is shut down.
 */
#ifndef CLUSTER_IDLE_H
#define CLUSTER_IDLE_H

#include "cluster/nats.h"

#define IDLE_MS 6000u /* libnats ends an established connection sooner, a server a handshake */

/* Shut down those to a port of @l that have received nothing for IDLE_MS. Return: how many. */
unsigned int idle_shut(const struct cluster_login *l);

#endif /* CLUSTER_IDLE_H */
