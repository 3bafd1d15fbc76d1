/* SPDX-License-Identifier: GPL-2.0 */
/* The service manager. Without libsystemd these functions are NULL. */
#ifndef EPFAGENT_SERVICE_H
#define EPFAGENT_SERVICE_H

/* Return: the listening socket that was handed over; -1: none; -EINVAL: that is
 * no listening SOCK_SEQPACKET socket.
 */
int service_socket(void) __attribute__((weak));

void service_ready(void) __attribute__((weak));
void service_reloading(void) __attribute__((weak));
void service_stopping(void) __attribute__((weak));

#endif /* EPFAGENT_SERVICE_H */
