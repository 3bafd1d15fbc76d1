// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The listening socket. */
#include "epfagent/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "common/error.h"

#define BACKLOG 64

static int listen_failed(const char *path, int fd)
{
	fail("%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Does somebody listen there? If not, remove a socket that was left behind. */
static bool in_use(int fd, const struct sockaddr_un *at)
{
	struct stat st;

	if (!connect(fd, (const struct sockaddr *)at, sizeof(*at)) || errno == EAGAIN) {
		fail("%s: another agent is listening there", at->sun_path);
		return true;
	}
	if (errno == ECONNREFUSED && !lstat(at->sun_path, &st) && S_ISSOCK(st.st_mode))
		unlink(at->sun_path);
	return false;
}

static bool give_to_group(const char *path, const char *name)
{
	const struct group *gr = name ? getgrnam(name) : NULL;

	if (!name)
		return true;
	if (!gr) {
		fail("group '%s': there is no such group", name);
		return false;
	}
	if (!chown(path, (uid_t)-1, gr->gr_gid))
		return true;
	fail("%s: group '%s': %s", path, name, strerror(errno));
	return false;
}

static int own_socket(const struct conf *conf)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int type = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
	int fd, ret;
	mode_t mask;

	if (strlen(conf->socket) >= sizeof(at.sun_path)) {
		errno = ENAMETOOLONG;
		return listen_failed(conf->socket, -1);
	}
	strcpy(at.sun_path, conf->socket);
	fd = socket(AF_UNIX, type, 0);
	if (fd < 0)
		return listen_failed(conf->socket, -1);
	if (in_use(fd, &at)) {
		close(fd);
		return -1;
	}
	mask = umask(0117);
	ret = bind(fd, (struct sockaddr *)&at, sizeof(at));
	umask(mask);
	if (ret)
		return listen_failed(conf->socket, fd);
	if (!give_to_group(conf->socket, conf->group))
		close(fd);
	else if (!listen(fd, BACKLOG))
		return fd;
	else
		listen_failed(conf->socket, fd);
	unlink(conf->socket);
	return -1;
}

int listen_open(const struct conf *conf, bool *own)
{
	const int fd = SD_LISTEN_FDS_START;
	int nr = sd_listen_fds(1);

	*own = nr <= 0;
	if (*own)
		return own_socket(conf);
	if (nr == 1 && sd_is_socket_unix(fd, SOCK_SEQPACKET, 1, NULL, 0) > 0 &&
	    !fcntl(fd, F_SETFL, O_NONBLOCK))
		return fd;
	fail("the service manager did not pass exactly one SOCK_SEQPACKET socket");
	return -1;
}
