// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See idle.h. */
#include "cluster/idle.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT_USUAL 4222

/* Of "nats://HOST:PORT", where the port may be missing and the host be "[ADDRESS]". */
static int idle_port_of(const char *url)
{
	const char *host = strstr(url, "://"), *end, *colon;

	host = host ? host + 3 : url;
	end = strrchr(host, ']');
	colon = strrchr(end ? end : host, ':');
	return colon ? atoi(colon + 1) : PORT_USUAL;
}

static bool is_server(const struct cluster_login *l, int port)
{
	unsigned int i;

	for (i = 0; i < l->nr_servers; i++)
		if (idle_port_of(l->servers[i]) == port)
			return true;
	return false;
}

/* Return: 0: not a TCP connection. */
static int peer_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = { .any.sa_family = AF_UNSPEC };
	socklen_t bytes = sizeof(at);

	if (getpeername(fd, &at.any, &bytes))
		return 0;
	if (at.any.sa_family == AF_INET)
		return ntohs(at.v4.sin_port);
	return at.any.sa_family == AF_INET6 ? ntohs(at.v6.sin6_port) : 0;
}

static bool is_idle(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t bytes = sizeof(info);

	return !getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) &&
	       info.tcpi_last_data_recv >= IDLE_MS;
}

/* By a descriptor of its own: another thread may close @number, and open something else there. */
static bool shut_one(const struct cluster_login *l, int number)
{
	int fd = fcntl(number, F_DUPFD_CLOEXEC, 0);
	bool shut;

	if (fd < 0)
		return false;
	shut = is_server(l, peer_port(fd)) && is_idle(fd) && !shutdown(fd, SHUT_RDWR);
	close(fd);
	return shut;
}

unsigned int idle_shut(const struct cluster_login *l)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *d;
	unsigned int shut = 0;

	while (dir && (d = readdir(dir)))
		shut += d->d_name[0] != '.' && shut_one(l, atoi(d->d_name));
	if (dir)
		closedir(dir);
	return shut;
}
