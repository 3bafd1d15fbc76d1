/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The metrics by HTTP, for this machine only: GET /metrics, and a page at /
 * that says so. OpenMetrics 1.0.0 where the client accepts it, as Prometheus
 * does, else the text format 0.0.4.
 *
 * One thread of the endpoint's own answers, one request after another, with
 * all signals blocked, and ends connections that take too long. It reads the
 * caller's counters as struct agent_stats says, opens the device anew each time
 * (the module may come and go), and shares nothing else.
 *
 * Without libmicrohttpd these functions are NULL.
 */
#ifndef EPFAGENT_HTTP_H
#define EPFAGENT_HTTP_H

#include "audit/records.h"
#include "epfagent/stats.h"

/* Above this new connections wait. From the beginning of a connection, or the end
 * of the answer before, a client has so long for all of a request and to take all
 * of its answer, however it spends that time.
 */
#define HTTP_CONNECTIONS_MAX 16u
#define HTTP_REQUEST_MS 5000u
#define HTTP_REQUEST_BYTES_MAX 16384u

/**
 * struct metrics_conf - an endpoint
 * @listen: "127.0.0.1:PORT", "[::1]:PORT", or the absolute path of a socket,
 *	which is made with mode 0660 and removed at the end; a socket that is
 *	there and nobody listens on is replaced. Port 0: any that is free
 * @stats: the caller's, until metrics_stop(); NULL: none
 * @request_ms: in place of HTTP_REQUEST_MS; 0: that
 */
struct metrics_conf {
	const char *listen;
	const struct agent_stats *stats;
	unsigned int request_ms;
};

struct metrics;

/**
 * metrics_start() - listen, and answer from now on
 * @m: result; NULL on failure
 * @conf: where, and what of
 * @e: what is wrong, on failure
 *
 * Return: 0; -EINVAL: not one of the addresses above; -EADDRINUSE; -ENOMEM;
 * what the calls to the system say.
 */
int metrics_start(struct metrics **m, const struct metrics_conf *conf,
		  struct rec_error *e) __attribute__((weak));

/* "http://127.0.0.1:9464/metrics", or the path of the socket. */
const char *metrics_where(const struct metrics *m) __attribute__((weak));

/* Waits for the request that is being answered. @m may be NULL. */
void metrics_stop(struct metrics *m) __attribute__((weak));

#endif /* EPFAGENT_HTTP_H */
