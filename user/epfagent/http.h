/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The metrics over HTTP, for this machine only: GET /metrics, and a page at / that
 * links to it. The format is OpenMetrics 1.0.0 if the client accepts it, as Prometheus
 * does, else the text format 0.0.4.
 *
 * The endpoint has one thread, which serves one request after another with all signals
 * blocked, and ends connections that take too long. It reads the caller's counters as
 * struct agent_stats says and shares nothing else. It opens the device anew for each
 * request, because the module may come and go.
 *
 * Without libmicrohttpd these functions are NULL.
 */
#ifndef EPFAGENT_HTTP_H
#define EPFAGENT_HTTP_H

#include "records/records.h"
#include "metrics/stats.h"

/* At HTTP_CONNECTIONS_MAX further connections wait; at HTTP_USER_CONNECTIONS_MAX further ones
 * of the same user are shut down, unless it is root. The user of a TCP connection is that of
 * the client's socket. HTTP_HEAD_MS limits the time for the head of a request, counted from
 * the beginning of the connection or the end of the previous reply; HTTP_REQUEST_MS that for
 * the rest of it and the transfer of its reply.
 */
#define HTTP_CONNECTIONS_MAX 16u
#define HTTP_USER_CONNECTIONS_MAX (HTTP_CONNECTIONS_MAX / 2)
#define HTTP_HEAD_MS 1000u
#define HTTP_REQUEST_MS 5000u
#define HTTP_REQUEST_BYTES_MAX 16384u

/**
 * struct metrics_conf - parameters of an endpoint
 * @listen: "127.0.0.1:PORT", "[::1]:PORT", or the absolute path of a socket, which
 *	is created with mode 0660 and removed at the end. An existing socket that
 *	nobody listens on is replaced. Port 0: any free port
 * @stats: counters, owned by the caller and valid until metrics_stop(); NULL: none
 * @head_ms: time limit of a request's head; 0: HTTP_HEAD_MS
 * @request_ms: time limit of the rest; 0: HTTP_REQUEST_MS
 */
struct metrics_conf {
	const char *listen;
	const struct agent_stats *stats;
	unsigned int head_ms;
	unsigned int request_ms;
};

struct metrics;

/**
 * metrics_start() - start an endpoint
 * @m: result; NULL on failure
 * @conf: parameters
 * @e: set to the error text on failure
 *
 * Return: 0; -EINVAL: not one of the addresses above; -EADDRINUSE; -ENOMEM; other errors
 * of system calls.
 */
int metrics_start(struct metrics **m, const struct metrics_conf *conf, struct rec_error *e)
	__attribute__((weak));

/* "http://127.0.0.1:9464/metrics", or the path of the socket. */
const char *metrics_where(const struct metrics *m) __attribute__((weak));

/* Waits for the request being served. @m may be NULL. */
void metrics_stop(struct metrics *m) __attribute__((weak));

#endif /* EPFAGENT_HTTP_H */
