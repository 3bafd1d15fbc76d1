/* SPDX-License-Identifier: GPL-2.0 */
/* The service manager. */
#ifndef EPFAGENT_SERVICE_H
#define EPFAGENT_SERVICE_H

/* Return: the listening socket that was passed; -1: none; -EINVAL: it is not exactly one
 * listening SOCK_SEQPACKET socket.
 */
int service_socket(void);

void service_ready(void);
void service_reloading(void);
void service_stopping(void);

#endif /* EPFAGENT_SERVICE_H */
