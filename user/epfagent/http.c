// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The metrics endpoint: libmicrohttpd on a socket that is opened here. */
#include "epfagent/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "records/rec_error.h"
#include "metrics/metrics.h"
#include "libepf/backend.h"
#include "libepf/epf.h"

#define SOCKET_MODE 0660
#define OPENMETRICS "application/openmetrics-text"
#define LOOPBACK_INDEX 1 /* of the interface lo, in each network namespace */
#define UNKNOWN_USER ((uid_t)-1)

/* The address to listen at. */
struct place {
	struct sockaddr_storage addr;
	socklen_t len;
};

/**
 * struct client - a connection
 * @fd: its socket
 * @ns: its deadline; 0: unused entry
 * @user: of the client; UNKNOWN_USER
 * @refused: @user has too many; it is shut down
 */
struct client {
	int fd;
	__u64 ns;
	uid_t user;
	bool refused;
};

/**
 * struct metrics - an endpoint
 * @daemon: libmicrohttpd's handle
 * @stats: counters, owned by the caller
 * @head_ns: time limit of a request's head
 * @request_ns: time limit of the rest of it, and of its reply
 * @client: each connection; used by @thread only
 * @ended: a connection has ended since the last timeout()
 * @thread: thread that does all of the library's work
 * @stop: eventfd: @thread must end
 * @place: address; also the socket to remove at the end
 * @where: address as text
 */
struct metrics {
	struct MHD_Daemon *daemon;
	const struct agent_stats *stats;
	__u64 head_ns;
	__u64 request_ns;
	struct client client[HTTP_CONNECTIONS_MAX];
	bool ended;
	pthread_t thread;
	int stop;
	struct place place;
	char where[sizeof(struct sockaddr_un) + 32];
};

/* Return: the port, a number up to 65535; -1: invalid. */
static int http_port_of(const char *text)
{
	size_t len = strlen(text);
	int port;

	if (!len || len > 5 || strspn(text, "0123456789") != len)
		return -1;
	port = atoi(text);
	return port <= 65535 ? port : -1;
}

/* Accept literal addresses only, so that no resolver decides what "this machine" is. */
static int place_tcp(struct place *p, const char *listen, struct rec_error *e)
{
	static const char four[] = "127.0.0.1:", six[] = "[::1]:";
	bool is_six = !strncmp(listen, six, strlen(six));
	int port;

	if (!is_six && strncmp(listen, four, strlen(four)))
		return rec_error_set(e, -EINVAL,
				     "'%s': only 127.0.0.1:PORT, [::1]:PORT "
				     "or the path of a socket is allowed",
				     listen);
	port = http_port_of(listen + strlen(is_six ? six : four));
	if (port < 0)
		return rec_error_set(e, -EINVAL, "'%s': a port is a number from 0 to 65535",
				     listen);
	if (is_six) {
		struct sockaddr_in6 *to = (struct sockaddr_in6 *)&p->addr;

		to->sin6_family = AF_INET6;
		to->sin6_port = htons((uint16_t)port);
		to->sin6_addr = in6addr_loopback;
		p->len = sizeof(*to);
	} else {
		struct sockaddr_in *to = (struct sockaddr_in *)&p->addr;

		to->sin_family = AF_INET;
		to->sin_port = htons((uint16_t)port);
		to->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		p->len = sizeof(*to);
	}
	return 0;
}

static int http_place_of(struct place *p, const char *listen, struct rec_error *e)
{
	struct sockaddr_un *to = (struct sockaddr_un *)&p->addr;

	memset(p, 0, sizeof(*p));
	if (*listen != '/')
		return place_tcp(p, listen, e);
	if (strlen(listen) >= sizeof(to->sun_path))
		return rec_error_set(e, -EINVAL,
				     "'%.40s...': the path of a socket has at "
				     "most %zu bytes",
				     listen, sizeof(to->sun_path) - 1);
	to->sun_family = AF_UNIX;
	strcpy(to->sun_path, listen);
	p->len = sizeof(*to);
	return 0;
}

static const char *path_of(const struct place *p)
{
	return p->addr.ss_family == AF_UNIX ? ((const struct sockaddr_un *)&p->addr)->sun_path :
					      NULL;
}

/* Remove a socket that nobody listens on; leave anything else. */
static void remove_stale(const struct place *p)
{
	const char *path = path_of(p);
	struct stat st;
	int fd;

	if (!path || lstat(path, &st) || !S_ISSOCK(st.st_mode))
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (const struct sockaddr *)&p->addr, p->len) && errno == ECONNREFUSED)
		unlink(path);
	close(fd);
}

/* The socket has mode 0 until listen() has succeeded, so nobody can connect before the
 * final mode is set.
 */
static int bind_to(int fd, const struct place *p)
{
	const char *path = path_of(p);
	int one = 1;

	if (!path)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	else if (fchmod(fd, 0))
		return -errno;
	if (bind(fd, (const struct sockaddr *)&p->addr, p->len))
		return -errno;
	if (listen(fd, (int)HTTP_CONNECTIONS_MAX) || (path && chmod(path, SOCKET_MODE))) {
		int err = -errno;

		if (path)
			unlink(path);
		return err;
	}
	return 0;
}

/* Return: a listening descriptor, or a negative errno. */
static int open_place(struct place *p)
{
	int fd, err;

	remove_stale(p);
	fd = socket(p->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	err = bind_to(fd, p);
	if (!err && getsockname(fd, (struct sockaddr *)&p->addr, &p->len))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static void say_where(struct metrics *m)
{
	const void *addr = &m->place.addr;
	const struct sockaddr_in6 *six = addr;
	const struct sockaddr_in *four = addr;
	const char *path = path_of(&m->place);

	if (path)
		snprintf(m->where, sizeof(m->where), "%s", path);
	else if (four->sin_family == AF_INET)
		snprintf(m->where, sizeof(m->where), "http://127.0.0.1:%u/metrics",
			 ntohs(four->sin_port));
	else
		snprintf(m->where, sizeof(m->where), "http://[::1]:%u/metrics",
			 ntohs(six->sin6_port));
}

static enum MHD_Result http_answer(struct MHD_Connection *c, unsigned int status, const char *type,
				   struct MHD_Response *r)
{
	enum MHD_Result ret;

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, "Content-Type", type);
	MHD_add_response_header(r, "Cache-Control", "no-store");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, "Allow", "GET, HEAD");
	ret = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return ret;
}

/* @text must have static storage. */
static enum MHD_Result answer_text(struct MHD_Connection *c, unsigned int status, const char *type,
				   const char *text)
{
	return http_answer(c, status, type,
			   MHD_create_response_from_buffer(strlen(text), (void *)text,
							   MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result answer_error(struct MHD_Connection *c, unsigned int status, const char *text)
{
	return answer_text(c, status, "text/plain; charset=utf-8", text);
}

/* Content negotiation */

/* Return: a number such as "0.75" in thousandths; 0: invalid. */
static unsigned int thousandths(const char *text, const char *end)
{
	unsigned int n = 0, unit = 1000;

	for (; text < end && unit; text++) {
		if (*text == '.' && unit == 100)
			continue;
		if (*text < '0' || *text > '9')
			return 0;
		n += (unsigned int)(*text - '0') * unit;
		unit /= 10;
	}
	return n;
}

/* The weight of a media range: its parameter q, 1000 by default. */
static unsigned int weight(const char *range, const char *end)
{
	const char *p = range;

	while ((p = memchr(p, ';', (size_t)(end - p)))) {
		p++;
		p += strspn(p, " \t");
		if (end - p >= 2 && (*p == 'q' || *p == 'Q') && p[1] == '=')
			return thousandths(p + 2, p + 2 + strcspn(p + 2, " \t;,"));
	}
	return 1000;
}

/* Return: the greatest weight that @accept gives to @type by name; 0: not named. */
static unsigned int accepted(const char *accept, const char *type)
{
	size_t len = strlen(type);
	unsigned int most = 0, q;
	const char *end;

	for (; *accept; accept = *end ? end + 1 : end) {
		end = accept + strcspn(accept, ",");
		accept += strspn(accept, " \t");
		if (strncasecmp(accept, type, len) || !strchr(";, \t", accept[len]))
			continue;
		q = weight(accept, end);
		most = q > most ? q : most;
	}
	return most;
}

/* OpenMetrics if the client names it and does not prefer the older format. */
static enum metrics_format format_for(struct MHD_Connection *c)
{
	const char *accept = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept");
	unsigned int q = accept ? accepted(accept, OPENMETRICS) : 0;

	return q && q >= accepted(accept, "text/plain") ? METRICS_OPENMETRICS : METRICS_TEXT;
}

/* Return: the text, which the caller frees; NULL: failure. */
static char *page_of(const struct metrics *m, enum metrics_format format, size_t *len)
{
	int dev = epf_dev_open();
	char *text = NULL;
	FILE *out = open_memstream(&text, len);
	bool good = out && !metrics_write(out, format, dev, m->stats);

	if (dev >= 0)
		epf_close(dev);
	good = out && !fclose(out) && good;
	if (good)
		return text;
	free(text);
	return NULL;
}

static enum MHD_Result answer_metrics(struct MHD_Connection *c, const struct metrics *m)
{
	enum metrics_format format = format_for(c);
	struct MHD_Response *r;
	size_t len;
	char *text = page_of(m, format, &len);

	if (!text)
		return answer_error(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "cannot read the filters\n");
	r = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
	if (!r)
		free(text);
	return http_answer(c, MHD_HTTP_OK,
			   format == METRICS_OPENMETRICS ?
				   OPENMETRICS "; version=1.0.0; charset=utf-8" :
				   "text/plain; version=0.0.4; charset=utf-8",
			   r);
}

/* Connections */

static int fd_of(struct MHD_Connection *c)
{
	return MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static struct client *http_client_of(struct MHD_Connection *c)
{
	return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* The client's end of a TCP connection: the source is its own address. */
static bool client_end(struct inet_diag_req_v2 *r, int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} here, there;
	socklen_t len = sizeof(here), to = sizeof(there);

	if (getsockname(fd, &here.any, &len) || getpeername(fd, &there.any, &to))
		return false;
	r->sdiag_family = (__u8)here.any.sa_family;
	r->id.idiag_sport = there.four.sin_port;
	r->id.idiag_dport = here.four.sin_port;
	if (here.any.sa_family == AF_INET) {
		memcpy(r->id.idiag_src, &there.four.sin_addr, sizeof(there.four.sin_addr));
		memcpy(r->id.idiag_dst, &here.four.sin_addr, sizeof(here.four.sin_addr));
	} else {
		memcpy(r->id.idiag_src, &there.six.sin6_addr, sizeof(there.six.sin6_addr));
		memcpy(r->id.idiag_dst, &here.six.sin6_addr, sizeof(here.six.sin6_addr));
	}
	return true;
}

/* The user of the client's socket, by sock_diag(7): the kernel answers before send() returns.
 * Return: root if there is no socket to ask by, so that nobody is refused then; UNKNOWN_USER, which
 * all such clients share, if the kernel does not tell.
 */
static uid_t tcp_user(int fd)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 diag;
	} ask = {
		.head = { .nlmsg_len = sizeof(ask),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.diag = { .sdiag_protocol = IPPROTO_TCP,
			  .idiag_states = ~0U,
			  .id = { .idiag_if = LOOPBACK_INDEX,
				  .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};
	struct {
		struct nlmsghdr head;
		struct inet_diag_msg diag;
	} said = { .head = { 0 } };
	int diag = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	bool known;

	if (diag < 0)
		return 0;
	known = client_end(&ask.diag, fd) && send(diag, &ask, sizeof(ask), 0) == sizeof(ask) &&
		recv(diag, &said, sizeof(said), MSG_DONTWAIT) == sizeof(said) &&
		said.head.nlmsg_type == SOCK_DIAG_BY_FAMILY;
	close(diag);
	return known ? said.diag.idiag_uid : UNKNOWN_USER;
}

static uid_t http_user_of(const struct metrics *m, int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (!path_of(&m->place))
		return tcp_user(fd);
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ? UNKNOWN_USER : peer.uid;
}

/* Do others of the same user leave no room for this connection? Root ends the agent anyway. */
static bool too_many(const struct metrics *m, const struct client *new)
{
	const struct client *p;
	unsigned int n = 0;

	for (p = m->client; p < m->client + HTTP_CONNECTIONS_MAX; p++)
		n += p->ns && !p->refused && p->user == new->user;
	return n > HTTP_USER_CONNECTIONS_MAX && new->user;
}

/* The library has at most HTTP_CONNECTIONS_MAX connections, so one entry is free. */
static void on_connection(void *ctx, struct MHD_Connection *c, void **slot,
			  enum MHD_ConnectionNotificationCode code)
{
	struct metrics *m = ctx;
	struct client *p = m->client;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		m->ended = true;
		if (*slot)
			((struct client *)*slot)->ns = 0;
		return;
	}
	while (p < m->client + HTTP_CONNECTIONS_MAX - 1 && p->ns)
		p++;
	*p = (struct client){ .fd = fd_of(c), .ns = now_ns() + m->head_ns };
	p->user = http_user_of(m, p->fd);
	p->refused = too_many(m, p);
	if (p->refused)
		shutdown(p->fd, SHUT_RDWR);
	*slot = p;
}

/* The head is there. What a client sent before it was refused is not answered. */
static enum MHD_Result begin_request(const struct metrics *m, struct MHD_Connection *c)
{
	struct client *p = http_client_of(c);

	if (!p || p->refused)
		return MHD_NO;
	p->ns = now_ns() + m->request_ns;
	return MHD_YES;
}

/* The next request of the connection may begin. */
static void on_completed(void *ctx, struct MHD_Connection *c, void **seen,
			 enum MHD_RequestTerminationCode code)
{
	const struct metrics *m = ctx;
	struct client *p = http_client_of(c);

	(void)seen;
	(void)code;
	if (p && p->ns)
		p->ns = now_ns() + m->head_ns;
}

/* libmicrohttpd calls it after the headers, for each part of a body, and at the end of
 * the request. Only the last call replies; a body is ignored.
 */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *body,
				  size_t *body_bytes, void **seen)
{
	(void)version;
	(void)body;
	if (!*seen) {
		*seen = ctx;
		return begin_request(ctx, c);
	}
	if (*body_bytes) {
		*body_bytes = 0;
		return MHD_YES;
	}
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return answer_error(c, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only\n");
	if (!strcmp(url, "/metrics"))
		return answer_metrics(c, ctx);
	if (!strcmp(url, "/"))
		return answer_text(c, MHD_HTTP_OK, "text/html; charset=utf-8",
				   "<!doctype html><title>epochfilter</title>"
				   "<p><a href=\"/metrics\">Metrics</a>\n");
	return answer_error(c, MHD_HTTP_NOT_FOUND, "see /metrics\n");
}

/* Shut down connections whose deadline has passed; the library then closes them. @seen: when
 * the library began to read all that had arrived: it may have written replies for long since
 * then, and what arrived meanwhile is in time.
 * Return: ms until the next deadline; -1: none.
 */
static int end_late(struct metrics *m, __u64 seen)
{
	__u64 now = now_ns(), next = 0;
	struct client *p;

	for (p = m->client; p < m->client + HTTP_CONNECTIONS_MAX; p++) {
		if (p->ns && p->ns <= seen) {
			shutdown(p->fd, SHUT_RDWR);
			p->ns = now + m->request_ns; /* try again if that had no effect */
		}
		if (p->ns && (!next || p->ns < next))
			next = p->ns;
	}
	if (!next)
		return -1;
	return next > now ? (int)((next - now) / 1000000) + 1 : 0;
}

/* Return: ms until MHD_run() must be called even without an event; -1: never. At its
 * limit of connections the library stops to accept new ones, and resumes only in the
 * call after the one that closed some, so @ended asks for another call at once.
 */
static int timeout(struct metrics *m, __u64 seen)
{
	MHD_UNSIGNED_LONG_LONG wanted;
	int ms = end_late(m, seen);

	if (m->ended)
		ms = 0;
	m->ended = false;
	if (MHD_get_timeout(m->daemon, &wanted) == MHD_YES && (ms < 0 || wanted < (unsigned int)ms))
		ms = (int)wanted;
	return ms;
}

static void *http_run(void *arg)
{
	struct metrics *m = arg;
	struct pollfd fds[2] = {
		{ .fd = MHD_get_daemon_info(m->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
		  .events = POLLIN },
		{ .fd = m->stop, .events = POLLIN },
	};

	__u64 seen = 0;

	while (!(fds[1].revents & POLLIN)) {
		poll(fds, 2, timeout(m, seen));
		seen = now_ns();
		MHD_run(m->daemon);
	}
	return NULL;
}

/* The new thread inherits the signal mask, so all signals are blocked in it. */
static int start_thread(struct metrics *m)
{
	sigset_t all, old;
	int err;

	m->stop = eventfd(0, EFD_CLOEXEC);
	if (m->stop < 0)
		return -errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&m->thread, NULL, http_run, m);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		close(m->stop);
	return err;
}

static int start_daemon(struct metrics *m, int fd)
{
	int err;

	m->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, m,
				     MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
				     HTTP_CONNECTIONS_MAX, MHD_OPTION_NOTIFY_CONNECTION,
				     on_connection, m, MHD_OPTION_NOTIFY_COMPLETED, on_completed, m,
				     MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				     (size_t)HTTP_REQUEST_BYTES_MAX, MHD_OPTION_END);
	if (!m->daemon) {
		close(fd);
		return -ENOMEM;
	}
	err = start_thread(m);
	if (err)
		MHD_stop_daemon(m->daemon); /* closes the socket */
	return err;
}

static int http_start(struct metrics *m, const char *listen, struct rec_error *e)
{
	int err = http_place_of(&m->place, listen, e);
	int fd;

	if (err)
		return err;
	fd = open_place(&m->place);
	if (fd < 0)
		return rec_error_set(e, fd, "'%s': %s", listen, strerror(-fd));
	say_where(m);
	err = start_daemon(m, fd);
	if (!err)
		return 0;
	if (path_of(&m->place))
		unlink(path_of(&m->place));
	return rec_error_set(e, err, "'%s': cannot start the thread", listen);
}

int metrics_start(struct metrics **m, const struct metrics_conf *conf, struct rec_error *e)
{
	int err;

	*m = calloc(1, sizeof(**m));
	if (!*m)
		return rec_error_set(e, -ENOMEM, "out of memory");
	(*m)->stats = conf->stats;
	(*m)->head_ns = (conf->head_ms ? conf->head_ms : HTTP_HEAD_MS) * 1000000ULL;
	(*m)->request_ns = (conf->request_ms ? conf->request_ms : HTTP_REQUEST_MS) * 1000000ULL;
	err = http_start(*m, conf->listen, e);
	if (err) {
		free(*m);
		*m = NULL;
	}
	return err;
}

const char *metrics_where(const struct metrics *m)
{
	return m->where;
}

void metrics_stop(struct metrics *m)
{
	if (!m)
		return;
	if (path_of(&m->place))
		unlink(path_of(&m->place));
	eventfd_write(m->stop, 1);
	pthread_join(m->thread, NULL);
	MHD_stop_daemon(m->daemon); /* closes the socket */
	close(m->stop);
	free(m);
}
