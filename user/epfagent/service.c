// SPDX-License-Identifier: GPL-2.0
/* Notifications to systemd; they do nothing if systemd did not start the agent. */
#include "epfagent/service.h"

#include <errno.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <time.h>

int service_socket(void)
{
	int n = sd_listen_fds(1);

	if (n <= 0)
		return -1;
	if (n > 1 || sd_is_socket_unix(SD_LISTEN_FDS_START, SOCK_SEQPACKET, 1,
				       NULL, 0) <= 0)
		return -EINVAL;
	return SD_LISTEN_FDS_START;
}

void service_ready(void)
{
	sd_notify(0, "READY=1");
}

/* systemd needs the time to distinguish this reload from an earlier one. */
void service_reloading(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld",
		   ts.tv_sec * 1000000LL + ts.tv_nsec / 1000);
}

void service_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}
