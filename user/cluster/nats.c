// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See nats.h. The calls are those that libnats 3.4 and 3.10 both have. */
#include "cluster/nats.h"

#include <errno.h>
#include <nats/nats.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/nats_why.h"
#include "cluster/secret.h"
#include "common/clock.h"
#include "records/rec_error.h"

#define PING_MS 1000 /* two that are not answered end the connection */
#define PINGS_OUT 2
#define WRITE_MS 2000
#define API_MS 3000
#define HEARTBEAT_NS NS_PER_SEC
#define PENDING_MAX 4096 /* more than a publisher has under way */
#define CLOSE_TICK_NS 10000000L
#define CLOSE_TICKS 300u
#define ERR_STREAM_NOT_FOUND 10059 /* JSStreamNotFoundErr */
#define ERR_REPLICAS 10074         /* JSStreamReplicasNotSupportedErr: one server alone */
#define REPLICAS 3
/* Not Nats-Msg-Id: the server drops a message whose id of that name any message of the stream had
 * before, whoever sent that, and ids can be guessed.
 */
#define ID_HEADER "Epf-Id"

/**
 * struct cluster_nats - a transport
 * @conf: parameters
 * @nc: connection
 * @js: its JetStream context
 * @sub: consumer; NULL: none
 * @subject: this host's
 * @subjects: all hosts'
 * @pending: atomic: messages whose acknowledgement or failure was not told yet
 * @closed: atomic: the connection is lost or was ended, and calls nothing any more
 * @lock: held while the caller is told of an acknowledgement
 * @deaf: with @lock: the caller is told nothing any more
 */
struct cluster_nats {
	struct cluster_nats_conf conf;
	natsConnection *nc;
	jsCtx *js;
	natsSubscription *sub;
	char subject[192];
	char subjects[192];
	unsigned int pending;
	bool closed;
	pthread_mutex_t lock;
	bool deaf;
};

static int nats_errno(natsStatus s)
{
	if (s == NATS_NO_MEMORY)
		return -ENOMEM;
	return s == NATS_TIMEOUT ? -ETIMEDOUT : -EIO;
}

/* The text of libnats for the last call, which failed. It begins with its place in the source. */
static const char *nats_text(natsStatus s)
{
	natsStatus of = NATS_OK;
	const char *text = nats_GetLastError(&of), *place;

	place = text ? strstr(text, "): ") : NULL;
	text = place ? place + 3 : text;
	return text && *text && of == s ? text : natsStatus_GetText(s);
}

/* It may end with a newline. */
static int nats_fault(struct rec_error *e, const char *what, natsStatus s)
{
	const char *text = nats_text(s);

	return rec_error_set(e, nats_errno(s), "%s: %.*s", what, (int)strcspn(text, "\r\n"), text);
}

static int connect_fault(const struct cluster_nats *n, natsStatus s, struct rec_error *e)
{
	return nats_fault(e, nats_why(n->conf.login, n->conf.server, nats_text(s)), s);
}

/* A request that the server does not permit has no answer; it says so in another message. */
static int stream_fault(const struct cluster_nats *n, natsStatus s, struct rec_error *e)
{
	const char *said = NULL;
	char what[512];

	if (s == NATS_TIMEOUT)
		natsConnection_GetLastError(n->nc, &said);
	snprintf(what, sizeof(what), "stream %s%s%.300s%s", n->conf.stream,
		 said && *said ? " (" : "", said ? said : "", said && *said ? ")" : "");
	return nats_fault(e, what, s);
}

/* Connection */

static void nats_over(natsConnection *nc, void *ctx)
{
	struct cluster_nats *n = ctx;

	(void)nc;
	__atomic_store_n(&n->closed, true, __ATOMIC_RELEASE);
}

/* Faults of the consumer: its messages are missed, and live.c joins again. */
static void nats_erred(natsConnection *nc, natsSubscription *sub, natsStatus err, void *ctx)
{
	(void)nc;
	(void)sub;
	(void)err;
	(void)ctx;
}

static void nats_acked(jsCtx *js, natsMsg *msg, jsPubAck *ack, jsPubAckErr *fault, void *ctx)
{
	struct cluster_nats *n = ctx;
	const char *id = NULL;

	(void)js;
	(void)ack;
	pthread_mutex_lock(&n->lock);
	if (!n->deaf && natsMsgHeader_Get(msg, ID_HEADER, &id) == NATS_OK && id)
		n->conf.acknowledged(n->conf.ctx, id, fault ? -EIO : 0);
	pthread_mutex_unlock(&n->lock);
	natsMsg_Destroy(msg);
	__atomic_sub_fetch(&n->pending, 1, __ATOMIC_RELEASE);
}

static natsStatus use_tls(natsOptions *o, const struct cluster_login *l)
{
	natsStatus s = natsOptions_SetSecure(o, true);

	if (s == NATS_OK)
		s = natsOptions_LoadCATrustedCertificates(o, l->tls_ca);
	if (s == NATS_OK && l->tls_cert)
		s = natsOptions_LoadCertificatesChain(o, l->tls_cert, l->tls_key);
	return s;
}

static int use_password(natsOptions *o, const char *path, struct rec_error *e)
{
	char text[512], *password;
	int ret = secret_read(path, text, sizeof(text), e);
	natsStatus s;

	if (ret)
		return ret;
	text[strcspn(text, "\r\n")] = 0;
	password = strchr(text, ':');
	if (!password)
		return rec_error_set(e, -EINVAL, "%s: not one line USER:PASSWORD", path);
	*password++ = 0;
	s = natsOptions_SetUserInfo(o, text, password);
	explicit_bzero(text, sizeof(text));
	return s == NATS_OK ? 0 : nats_fault(e, path, s);
}

/* libnats reads the seed from the file again whenever it connects; the public key stays. */
static int use_nkey(natsOptions *o, const char *path, struct rec_error *e)
{
	char text[512], *line, *rest = text;
	const char *public = NULL;
	int ret = secret_read(path, text, sizeof(text), e);
	natsStatus s;

	if (ret)
		return ret;
	while ((line = strsep(&rest, "\r\n")))
		if (*line == 'U')
	public = line;
	if (!public)
		return rec_error_set(e, -EINVAL,
				     "%s: a line with the public key, U..., is missing: 'nk "
				     "-gen user -pubout' writes both",
				     path);
	s = natsOptions_SetNKeyFromSeed(o, public, path);
	explicit_bzero(text, sizeof(text));
	return s == NATS_OK ? 0 : nats_fault(e, path, s);
}

/* Each secret is of root or the caller, and nobody else can read it. */
static int log_in(natsOptions *o, const struct cluster_login *l, struct rec_error *e)
{
	int ret = l->tls_key ? secret_check(l->tls_key, e) : 0;
	natsStatus s;

	if (!ret && l->tls_ca) {
		s = use_tls(o, l);
		ret = s == NATS_OK ? 0 : nats_fault(e, "TLS", s);
	}
	if (!ret && l->credentials)
		ret = secret_check(l->credentials, e);
	if (!ret && l->credentials) {
		s = natsOptions_SetUserCredentialsFromFiles(o, l->credentials, NULL);
		ret = s == NATS_OK ? 0 : nats_fault(e, l->credentials, s);
	}
	if (!ret && l->nkey)
		ret = use_nkey(o, l->nkey, e);
	if (!ret && l->password)
		ret = use_password(o, l->password, e);
	return ret;
}

/* A lost connection ends. The library makes no other one: it would not read the files again. */
static natsStatus stay(natsOptions *o, struct cluster_nats *n)
{
	natsStatus s = natsOptions_SetURL(o, n->conf.server);

	if (s == NATS_OK)
		s = natsOptions_SetName(o, n->conf.host);
	if (s == NATS_OK)
		s = natsOptions_SetAllowReconnect(o, false);
	if (s == NATS_OK)
		s = natsOptions_SetPingInterval(o, PING_MS);
	if (s == NATS_OK)
		s = natsOptions_SetMaxPingsOut(o, PINGS_OUT);
	if (s == NATS_OK)
		s = natsOptions_SetWriteDeadline(o, WRITE_MS);
	if (s == NATS_OK)
		s = natsOptions_SetTimeout(o, API_MS);
	return s;
}

/* Answers come to an inbox of this host's own, so that the server can keep others out of it. */
static natsStatus own_inbox(natsOptions *o, const struct cluster_nats *n)
{
	char prefix[CLUSTER_HOST_BYTES + 8];

	snprintf(prefix, sizeof(prefix), "_INBOX_%s", n->conf.host);
	return natsOptions_SetCustomInboxPrefix(o, prefix);
}

static natsStatus listen_to(natsOptions *o, struct cluster_nats *n)
{
	natsStatus s = natsOptions_SetClosedCB(o, nats_over, n);

	if (s == NATS_OK)
		s = natsOptions_SetErrorHandler(o, nats_erred, n);
	return s;
}

static int nats_connect(struct cluster_nats *n, struct rec_error *e)
{
	natsOptions *o = NULL;
	natsStatus s = natsOptions_Create(&o);
	int ret;

	if (s == NATS_OK)
		s = stay(o, n);
	if (s == NATS_OK)
		s = own_inbox(o, n);
	if (s == NATS_OK)
		s = listen_to(o, n);
	ret = s == NATS_OK ? log_in(o, n->conf.login, e) : nats_fault(e, "settings", s);
	if (!ret) {
		s = natsConnection_Connect(&n->nc, o);
		ret = s == NATS_OK ? 0 : connect_fault(n, s, e);
	}
	natsOptions_Destroy(o);
	return ret;
}

static int open_stream(struct cluster_nats *n, struct rec_error *e)
{
	jsOptions o;
	natsStatus s;

	jsOptions_Init(&o);
	o.Wait = API_MS;
	o.PublishAsync.MaxPending = PENDING_MAX;
	o.PublishAsync.AckHandler = nats_acked;
	o.PublishAsync.AckHandlerClosure = n;
	o.PublishAsync.StallWait = CLUSTER_ACK_MS;
	s = natsConnection_JetStream(&n->js, n->nc, &o);
	return s == NATS_OK ? 0 : nats_fault(e, "JetStream", s);
}

int cluster_nats_open(struct cluster_nats **result, const struct cluster_nats_conf *conf,
		      struct rec_error *e)
{
	struct cluster_nats *n = calloc(1, sizeof(*n));
	int ret;

	*result = NULL;
	if (!n)
		return rec_error_set(e, -ENOMEM, "out of memory");
	n->conf = *conf;
	pthread_mutex_init(&n->lock, NULL);
	snprintf(n->subject, sizeof(n->subject), "%s.d.%s", conf->prefix, conf->host);
	snprintf(n->subjects, sizeof(n->subjects), "%s.d.*", conf->prefix);
	ret = nats_connect(n, e);
	if (!ret)
		ret = open_stream(n, e);
	if (ret)
		cluster_nats_close(n);
	else
		*result = n;
	return ret;
}

/* Wait until all callbacks have been called. Return: were they? */
static bool settled(struct cluster_nats *n)
{
	const struct timespec tick = { 0, CLOSE_TICK_NS };
	unsigned int ticks;

	for (ticks = CLOSE_TICKS; ticks && __atomic_load_n(&n->pending, __ATOMIC_ACQUIRE); ticks--)
		nanosleep(&tick, NULL);
	natsConnection_Close(n->nc);
	for (ticks = CLOSE_TICKS; ticks && !__atomic_load_n(&n->closed, __ATOMIC_ACQUIRE); ticks--)
		nanosleep(&tick, NULL);
	return !__atomic_load_n(&n->pending, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&n->closed, __ATOMIC_ACQUIRE);
}

/* What a late callback could still use is not freed, but the caller is told nothing more. */
void cluster_nats_close(struct cluster_nats *n)
{
	bool quiet;

	if (!n)
		return;
	quiet = !n->nc || settled(n);
	pthread_mutex_lock(&n->lock);
	n->deaf = true;
	pthread_mutex_unlock(&n->lock);
	if (!quiet)
		return;
	natsSubscription_Destroy(n->sub);
	jsCtx_Destroy(n->js);
	natsConnection_Destroy(n->nc);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

bool cluster_nats_connected(const struct cluster_nats *n)
{
	return !__atomic_load_n(&n->closed, __ATOMIC_ACQUIRE);
}

/* Stream */

static void stream_wanted(struct cluster_nats *n, const char **subjects, jsStreamConfig *c)
{
	jsStreamConfig_Init(c);
	subjects[0] = n->subjects;
	c->Name = n->conf.stream;
	c->Subjects = subjects;
	c->SubjectsLen = 1;
	c->Storage = js_MemoryStorage;
	c->Discard = js_DiscardOld;
	c->MaxAge = (int64_t)n->conf.max_age_ns;
	c->MaxBytes = (int64_t)n->conf.max_bytes;
	c->MaxConsumers = n->conf.max_consumers;
	c->Replicas = REPLICAS;
}

/* A mirror, of a leaf node, has no subjects; its messages have the stamps of its origin. */
static int mirror_compare(const jsStreamSource *of, const char *name, struct rec_error *e)
{
	if (!of->Name || strcmp(of->Name, name))
		return rec_error_set(e, -EINVAL, "stream %s mirrors %s, not the hub's %s", name,
				     of->Name ? of->Name : "nothing", name);
	if (of->OptStartSeq || of->OptStartTime || (of->FilterSubject && *of->FilterSubject))
		return rec_error_set(e, -EINVAL, "stream %s mirrors some messages only", name);
	return 0;
}

/* Name the first setting by which the stream would lose messages, or stall. */
static int stream_compare(const jsStreamConfig *is, const jsStreamConfig *want, struct rec_error *e)
{
	const char *name = want->Name;
	int err = is->Mirror ? mirror_compare(is->Mirror, name, e) : 0;

	if (err)
		return err;
	if (!is->Mirror && (is->SubjectsLen != 1 || strcmp(is->Subjects[0], want->Subjects[0])))
		return rec_error_set(e, -EINVAL, "stream %s has subject '%s', not '%s'", name,
				     is->SubjectsLen ? is->Subjects[0] : "", want->Subjects[0]);
	if (is->Storage != want->Storage)
		return rec_error_set(e, -EINVAL, "stream %s is stored in files, not in memory",
				     name);
	if (is->Discard != want->Discard || is->Retention != want->Retention)
		return rec_error_set(e, -EINVAL, "stream %s does not discard its oldest messages",
				     name);
	if (is->MaxAge && is->MaxAge < want->MaxAge)
		return rec_error_set(e, -EINVAL,
				     "stream %s keeps messages for %lld ns; the window needs %lld",
				     name, (long long)is->MaxAge, (long long)want->MaxAge);
	if (is->MaxBytes >= 0 && is->MaxBytes < want->MaxBytes)
		return rec_error_set(e, -EINVAL,
				     "stream %s keeps %lld bytes, fewer than stream-bytes, %lld",
				     name, (long long)is->MaxBytes, (long long)want->MaxBytes);
	if (is->MaxMsgs > 0 || is->MaxMsgsPerSubject > 0)
		return rec_error_set(e, -EINVAL, "stream %s limits the number of messages", name);
	if (is->MaxConsumers > 0 && is->MaxConsumers < want->MaxConsumers / CLUSTER_CONSUMERS)
		return rec_error_set(e, -EINVAL,
				     "stream %s allows %lld consumers, fewer than there are hosts",
				     name, (long long)is->MaxConsumers);
	if (is->AllowRollup)
		return rec_error_set(e, -EINVAL, "stream %s lets any host remove all messages",
				     name);
	return 0;
}

/* With a copy in three servers, where there are so many: one of them may die. */
static natsStatus stream_add(struct cluster_nats *n, jsStreamInfo **info, jsStreamConfig *want,
			     jsErrCode *code)
{
	natsStatus s = js_AddStream(info, n->js, want, NULL, code);

	if (s == NATS_OK || *code != ERR_REPLICAS)
		return s;
	want->Replicas = 1;
	return js_AddStream(info, n->js, want, NULL, code);
}

static int stream_ensure(struct cluster_nats *n, struct rec_error *e)
{
	const char *subjects[1];
	jsStreamInfo *info = NULL;
	jsStreamConfig want;
	jsErrCode code = 0;
	natsStatus s;
	int ret;

	stream_wanted(n, subjects, &want);
	s = js_GetStreamInfo(&info, n->js, n->conf.stream, NULL, &code);
	if (s == NATS_NOT_FOUND || code == ERR_STREAM_NOT_FOUND)
		s = stream_add(n, &info, &want, &code);
	if (s != NATS_OK)
		return stream_fault(n, s, e);
	ret = stream_compare(info->Config, &want, e);
	jsStreamInfo_Destroy(info);
	return ret;
}

/* The reading thread of libnats before 3.6.1 finds a subscription, and locks and uses it, without
 * holding it. It may be doing so when the subscription ends, and whoever frees that then makes the
 * process abort. So nats_free() comes when it has read the answer to a request that was sent after
 * nats_leave(). (Not to a ping: pongs are counted, and wrong after some losses of a connection.)
 */
static void nats_leave(struct cluster_nats *n)
{
	if (n->sub)
		natsSubscription_Unsubscribe(n->sub);
}

static void nats_free(struct cluster_nats *n)
{
	natsSubscription_Destroy(n->sub);
	n->sub = NULL;
}

/* Not an ordered consumer, which the library makes anew in a thread of its own after each
 * connection, while live.c joins again.
 */
static void consumer_wanted(const struct cluster_nats *n, __u64 from, jsSubOptions *o)
{
	jsSubOptions_Init(o);
	o->Stream = n->conf.stream;
	o->Config.AckPolicy = js_AckNone;
	o->Config.FlowControl = true;
	o->Config.Heartbeat = HEARTBEAT_NS;
	o->Config.MemoryStorage = true;
	o->Config.Replicas = 1;
	o->Config.DeliverPolicy = from ? js_DeliverByStartTime : js_DeliverAll;
	o->Config.OptStartTime = (int64_t)from;
}

int cluster_nats_join(struct cluster_nats *n, __u64 from, struct rec_error *e)
{
	jsSubOptions o;
	natsStatus s;
	int ret;

	nats_leave(n);
	ret = stream_ensure(n, e);
	if (ret)
		return ret;
	nats_free(n);
	consumer_wanted(n, from, &o);
	s = js_SubscribeSync(&n->sub, n->js, n->subjects, NULL, &o, NULL);
	return s == NATS_OK ? 0 : stream_fault(n, s, e);
}

/* libnats does not tell the version of a server. */
bool cluster_nats_evadable(struct cluster_nats *n)
{
	const struct cluster_login *l = n->conf.login;
	char subject[128], info[8192];
	natsMsg *msg = NULL;

	if (!l->tls_cert || l->nkey || l->credentials || l->password)
		return false;
	snprintf(subject, sizeof(subject), "$JS.API.STREAM.INFO.%s", n->conf.stream);
	if (natsConnection_RequestString(&msg, n->nc, subject, "", API_MS) != NATS_OK)
		return false;
	snprintf(info, sizeof(info), "%.*s", natsMsg_GetDataLength(msg), natsMsg_GetData(msg));
	natsMsg_Destroy(msg);
	return nats_evadable(info);
}

/* Messages */

/* The time stamp of a message is in the subject that it could be acknowledged on. */
static bool nats_take(natsMsg *msg, struct cluster_nats_msg *m)
{
	const char *host = strrchr(natsMsg_GetSubject(msg), '.');
	const char *id = NULL;
	jsMsgMetaData *meta = NULL;

	if (!host || natsMsg_GetMetaData(&meta, msg) != NATS_OK)
		return false;
	m->stamp = (__u64)meta->Timestamp;
	jsMsgMetaData_Destroy(meta);
	natsMsgHeader_Get(msg, ID_HEADER, &id);
	snprintf(m->host, sizeof(m->host), "%s", host + 1);
	snprintf(m->id, sizeof(m->id), "%s", id ? id : "");
	m->data = natsMsg_GetData(msg);
	m->bytes = (size_t)natsMsg_GetDataLength(msg);
	m->own = msg;
	return true;
}

int cluster_nats_next(struct cluster_nats *n, unsigned int wait_ms, struct cluster_nats_msg *m)
{
	natsMsg *msg = NULL;
	natsStatus s = n->sub ? natsSubscription_NextMsg(&msg, n->sub, wait_ms) :
				NATS_INVALID_SUBSCRIPTION;

	if (s == NATS_OK && nats_take(msg, m))
		return 0;
	natsMsg_Destroy(msg);
	return s == NATS_OK || s == NATS_TIMEOUT ? -EAGAIN : -EIO;
}

void cluster_nats_done(struct cluster_nats_msg *m)
{
	natsMsg_Destroy(m->own);
	m->own = NULL;
}

int cluster_nats_publish(struct cluster_nats *n, const char *id, const void *data, size_t bytes)
{
	natsMsg *msg = NULL;
	jsPubOptions o;
	natsStatus s;

	if (!cluster_nats_connected(n))
		return -ENOTCONN;
	jsPubOptions_Init(&o);
	o.MaxWait = CLUSTER_ACK_MS;
	s = natsMsg_Create(&msg, n->subject, NULL, data, (int)bytes);
	if (s == NATS_OK)
		s = natsMsgHeader_Set(msg, ID_HEADER, id);
	if (s != NATS_OK) {
		natsMsg_Destroy(msg);
		return -EIO;
	}
	__atomic_add_fetch(&n->pending, 1, __ATOMIC_RELAXED);
	s = js_PublishMsgAsync(n->js, &msg, &o);
	if (s != NATS_OK)
		__atomic_sub_fetch(&n->pending, 1, __ATOMIC_RELEASE);
	natsMsg_Destroy(msg); /* NULL if it was sent */
	return s == NATS_OK ? 0 : -EIO;
}
