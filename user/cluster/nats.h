/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Transport of a cluster: a NATS connection, a JetStream stream in memory, and a consumer of it, by
 * libnats. It ends with its connection; live_connect.c makes another one.
 *
 * Each message is published on PREFIX.d.HOST and stored in the stream; its server gives it
 * a time stamp. Messages may come twice, in another order, or never; coverage.h copes with
 * all of that, so nothing here has to be exact but the stamp and the subject.
 *
 * Two threads may use a transport: one calls cluster_nats_publish(), the other one
 * everything else. Callbacks run in threads of libnats and must not block.
 *
 * Without libnats these functions are NULL.
 */
#ifndef EPF_CLUSTER_NATS_H
#define EPF_CLUSTER_NATS_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#include "cluster/publish.h"

#define CLUSTER_SERVERS_MAX 8
/* Consumers of a host, at most: one, and those that the server still keeps of lost connections. */
#define CLUSTER_CONSUMERS 4u

/**
 * struct cluster_login - how the servers and this host know each other; NULL: not used
 * @servers: URLs, "nats://HOST:PORT" or "tls://HOST:PORT"
 * @nr_servers: how many
 * @tls_ca: file with the certificates that may sign those of servers
 * @tls_cert: file with this host's certificate
 * @tls_key: file with its key
 * @nkey: file with a seed and its public key, one a line
 * @credentials: file with a JWT and a seed
 * @password: file with USER:PASSWORD
 */
struct cluster_login {
	char *servers[CLUSTER_SERVERS_MAX];
	unsigned int nr_servers;
	char *tls_ca;
	char *tls_cert;
	char *tls_key;
	char *nkey;
	char *credentials;
	char *password;
};

/**
 * struct cluster_nats_conf - parameters of a transport; the caller owns what they point to
 * @login: see there
 * @server: which of its servers
 * @stream: name of the stream
 * @prefix: of all subjects
 * @host: last token of the subject that this host publishes on
 * @max_age_ns: the stream keeps messages at least this long
 * @max_bytes: and at least so many bytes of them
 * @max_consumers: that the stream may have: CLUSTER_CONSUMERS for each host
 * @acknowledged: a message was stored (@err 0), or not; @id: as published
 * @ctx: for @acknowledged
 */
struct cluster_nats_conf {
	const struct cluster_login *login;
	const char *server;
	const char *stream;
	const char *prefix;
	const char *host;
	__u64 max_age_ns;
	__u64 max_bytes;
	unsigned int max_consumers;
	void (*acknowledged)(void *ctx, const char *id, int err);
	void *ctx;
};

/**
 * struct cluster_nats_msg - a message that was received
 * @host: last token of its subject
 * @id: identifier, as published; or ""
 * @stamp: time that the server of the stream gave it, ns since 1970
 * @data: contents
 * @bytes: their length
 */
struct cluster_nats_msg {
	char host[CLUSTER_HOST_BYTES];
	char id[CLUSTER_ID_BYTES];
	__u64 stamp;
	const void *data;
	size_t bytes;
	void *own; /* of nats.c */
};

struct cluster_nats;

/**
 * cluster_nats_open() - connect
 * @n: result; NULL on failure
 * @conf: parameters; valid until cluster_nats_close()
 * @e: set to the error text on failure
 *
 * The files of the login are read.
 *
 * Context: waits for the server, some seconds at most, unless it is silent in a handshake (idle.h).
 *
 * Return: 0; -EINVAL: a file of the login is not usable; -ENOMEM; -EIO: anything else.
 */
int cluster_nats_open(struct cluster_nats **n, const struct cluster_nats_conf *conf,
		      struct rec_error *e) __attribute__((weak));
/* Waits for callbacks. @n may be NULL. */
void cluster_nats_close(struct cluster_nats *n) __attribute__((weak));

/* Is there still a connection? Context: any thread. */
bool cluster_nats_connected(const struct cluster_nats *n) __attribute__((weak));

/**
 * cluster_nats_join() - make sure that the stream exists, and receive what it has
 * @n: transport, connected
 * @from: stamp to begin with; 0: the oldest message
 * @e: set to the error text on failure
 *
 * Replaces the consumer of an earlier call.
 *
 * Context: waits for the server, some seconds at most.
 *
 * Return: 0; -EINVAL: the stream has other settings; -ETIMEDOUT: the server does not answer; -EIO:
 * anything else.
 */
int cluster_nats_join(struct cluster_nats *n, __u64 from, struct rec_error *e)
	__attribute__((weak));

/**
 * cluster_nats_evadable() - can others log in to the server as this host?
 * @n: transport that has joined
 *
 * Context: waits for the server, some seconds at most.
 *
 * Return: true: it logged in by its certificate alone, and the server that has the stream is too
 * old to be sure of that; false also if the server does not answer.
 */
bool cluster_nats_evadable(struct cluster_nats *n) __attribute__((weak));

/**
 * cluster_nats_next() - receive one message
 * @n: transport that has joined
 * @wait_ms: time limit
 * @m: result, to be freed by cluster_nats_done()
 *
 * Return: 0; -EAGAIN: none came; -EIO: join again.
 */
int cluster_nats_next(struct cluster_nats *n, unsigned int wait_ms, struct cluster_nats_msg *m)
	__attribute__((weak));
void cluster_nats_done(struct cluster_nats_msg *m) __attribute__((weak));

/**
 * cluster_nats_publish() - send a message of this host
 * @n: transport
 * @id: identifier, for @acknowledged and for cluster_nats_next(). The server ignores it, and
 *	stores a message again that is sent again
 * @data: contents; copied
 * @bytes: their length
 *
 * Unless it fails, @acknowledged is called for it once, within CLUSTER_ACK_MS or so.
 *
 * Return: 0; -ENOTCONN; -EIO: not sent.
 */
int cluster_nats_publish(struct cluster_nats *n, const char *id, const void *data, size_t bytes)
	__attribute__((weak));
#define CLUSTER_ACK_MS 1000

#endif /* EPF_CLUSTER_NATS_H */
