// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The cache of copies, and the accounting of memory. A copy of a file is in a memfd of
 * the agent, so that code which maps files can map it. Entries in use are not dropped;
 * of the others the least recently used one goes first.
 */
#include "epfagent/cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "records/rec_error.h"
#include "libepf/atomic_file.h"
#include "libepf/backend.h"

#define CHUNK_BYTES (1u << 20)
#define SETTLED_NS (2 * NS_PER_SEC)
#define ENTRIES_MAX 256u /* limit of unused entries: each may have a descriptor */

/* The identity of a file and its state. */
struct ident {
	uid_t uid;
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed;
};

/**
 * struct cache_entry - a copy
 * @link: in order of use
 * @kind: what was copied
 * @ident: identity of a file
 * @id: of a filter, see filter_id()
 * @made_ns: CLOCK_MONOTONIC: when copying the filter began
 * @bytes: accounted memory
 * @filled: bytes of the file copied so far
 * @refs: number of audits that use it
 * @once: must not be found by other audits
 * @fd: memfd of a file, else -1
 * @serial: serial number of its bytes
 * @open: @target is open
 * @making: @target is being opened, in steps
 * @target: of a snapshot or a filter
 * @mirror: mirror whose lines @target uses, or NULL
 */
struct cache_entry {
	TAILQ_ENTRY(cache_entry)
	link;
	enum cache_kind kind;
	struct ident ident;
	__u64 id;
	__u64 made_ns;
	__u64 bytes;
	__u64 filled;
	unsigned int refs;
	bool once;
	int fd;
	__u64 serial;
	bool open;
	bool making;
	struct target target;
	struct mirror *mirror;
};

/* @lock protects @conf and @news (@conf has changed); only the worker uses the rest. */
struct cache {
	pthread_mutex_t lock;
	struct cache_conf conf;
	bool news;
	struct mirrors *mirrors;
	struct agent_stats *stats;
	__u64 bytes;
	unsigned int nr;
	TAILQ_HEAD(, cache_entry)
	entries;
};

static struct cache_conf limits(struct cache *w)
{
	struct cache_conf c;

	pthread_mutex_lock(&w->lock);
	c = w->conf;
	pthread_mutex_unlock(&w->lock);
	return c;
}

static void cache_drop(struct cache *w, struct cache_entry *e)
{
	TAILQ_REMOVE(&w->entries, e, link);
	w->bytes -= e->bytes;
	w->nr--;
	stats_sub(&w->stats->cache_bytes, e->bytes);
	if (e->mirror)
		e->target.view.serial = 0; /* a GPU keeps the lines of a mirror */
	if (e->open || e->making)
		target_close(&e->target);
	if (e->mirror)
		mirror_put(e->mirror);
	if (e->fd >= 0)
		close(e->fd);
	epf_column_forget(e->serial);
	free(e);
}

/* Return: bytes that cannot be dropped. */
static __u64 bytes_in_use(const struct cache *w)
{
	const struct cache_entry *e;
	__u64 bytes = w->bytes;

	TAILQ_FOREACH(e, &w->entries, link)
	if (!e->refs)
		bytes -= e->bytes;
	return bytes;
}

/* Drop unused entries until @bytes more fit, but none if they would not fit even then.
 * Return: whether they fit.
 */
static bool cache_make_room(struct cache *w, __u64 bytes)
{
	__u64 limit = limits(w).bytes;
	struct cache_entry *e = TAILQ_FIRST(&w->entries);

	if (bytes > limit || bytes_in_use(w) > limit - bytes)
		return false;
	while (e && (w->bytes > limit - bytes || w->nr >= ENTRIES_MAX)) {
		struct cache_entry *next = TAILQ_NEXT(e, link);

		if (!e->refs)
			cache_drop(w, e);
		e = next;
	}
	return true;
}

int cache_reserve(struct cache *w, __u64 bytes)
{
	if (!cache_make_room(w, bytes))
		return -ENOSPC;
	w->bytes += bytes;
	stats_add(&w->stats->cache_bytes, bytes);
	return 0;
}

void cache_release(struct cache *w, __u64 bytes)
{
	w->bytes -= bytes;
	stats_sub(&w->stats->cache_bytes, bytes);
}

static struct cache_entry *cache_add(struct cache *w, enum cache_kind kind, __u64 bytes)
{
	struct cache_entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->kind = kind;
	e->bytes = bytes;
	e->fd = -1;
	e->serial = epf_view_serial();
	e->refs = 1;
	w->bytes += bytes;
	w->nr++;
	stats_add(&w->stats->cache_bytes, bytes);
	TAILQ_INSERT_TAIL(&w->entries, e, link);
	return e;
}

static void use(struct cache *w, struct cache_entry *e)
{
	e->refs++;
	stats_add(&w->stats->cache_hits, 1);
	TAILQ_REMOVE(&w->entries, e, link);
	TAILQ_INSERT_TAIL(&w->entries, e, link);
}

/* Files */

static int ident_of(struct ident *id, int fd, uid_t uid)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	memset(id, 0, sizeof(*id)); /* padding too */
	id->uid = uid;
	id->dev = st.st_dev;
	id->ino = st.st_ino;
	id->size = st.st_size;
	id->changed = st.st_ctim;
	return 0;
}

static bool cache_settled(const struct ident *id)
{
	__u64 changed = (__u64)id->changed.tv_sec * NS_PER_SEC + (__u64)id->changed.tv_nsec;

	return changed + SETTLED_NS < epf_wall_ns();
}

static struct cache_entry *find_file(struct cache *w, const struct ident *id, enum cache_kind kind)
{
	struct cache_entry *e;

	TAILQ_FOREACH(e, &w->entries, link)
	if (!e->once && e->kind == kind && !memcmp(&e->ident, id, sizeof(*id)))
		return e;
	return NULL;
}

/* Memory of a copy. A snapshot may be settled, during which its lines exist twice. */
static __u64 cost(const struct ident *id, enum cache_kind kind)
{
	return (__u64)id->size * (kind == WARM_SNAPSHOT ? 2 : 1);
}

int cache_file(struct cache *w, int fd, uid_t uid, enum cache_kind kind, struct cache_entry **entry)
{
	struct cache_entry *e;
	struct ident id;
	int ret = ident_of(&id, fd, uid);

	if (ret)
		return ret;
	*entry = find_file(w, &id, kind);
	if (*entry) {
		use(w, *entry);
		return 0;
	}
	if (!cache_make_room(w, cost(&id, kind)))
		return -ENOSPC;
	e = cache_add(w, kind, cost(&id, kind));
	if (!e)
		return -ENOMEM;
	stats_add(&w->stats->cache_misses, 1);
	e->ident = id;
	e->once = !cache_settled(&id);
	e->fd = memfd_create("epfagent", MFD_CLOEXEC);
	if (e->fd < 0) {
		ret = -errno;
		cache_drop(w, e);
		return ret;
	}
	*entry = e;
	return 0;
}

int cache_reader(struct cache *w, __u64 bytes, uid_t uid, struct cache_entry **entry)
{
	__u64 limit = limits(w).bytes, others = 0;
	struct cache_entry *e;

	TAILQ_FOREACH(e, &w->entries, link)
	if (e->kind == WARM_READER && e->ident.uid == uid)
		others += e->bytes;
	if (bytes > limit)
		return -EFBIG;
	if ((others && others + bytes > limit / 2) || !cache_make_room(w, bytes))
		return -ENOSPC;
	e = cache_add(w, WARM_READER, bytes);
	if (!e)
		return -ENOMEM;
	e->ident.uid = uid;
	e->once = true;
	*entry = e;
	return 0;
}

/* Return: bytes copied; 0: the file ends there; a negative errno. */
static ssize_t cache_copy_chunk(struct cache_entry *e, int fd, char *buf)
{
	__u64 left = (__u64)e->ident.size - e->filled;
	size_t want = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
	ssize_t got = pread(fd, buf, want, (off_t)e->filled);

	if (got <= 0)
		return got ? -errno : 0;
	if (epf_file_write_at(e->fd, buf, (size_t)got, (off_t)e->filled))
		return -ENOMEM; /* tmpfs is out of memory */
	e->filled += (__u64)got;
	return got;
}

static int cache_copy_some(struct cache_entry *e, int fd, const struct job_pace *pace,
			   struct rec_error *err)
{
	char *buf = malloc(CHUNK_BYTES);
	ssize_t got = buf ? 1 : -ENOMEM;

	while (got > 0 && e->filled < (__u64)e->ident.size) {
		got = cache_copy_chunk(e, fd, buf);
		if (job_pace_over(pace))
			break;
	}
	free(buf);
	if (got < 0 && got != -EINTR)
		return rec_error_set(err, (int)got, "read error: %s", strerror((int)-got));
	if (!got)
		return rec_error_set(err, -EBADMSG,
				     "truncated while being "
				     "read");
	return e->filled < (__u64)e->ident.size;
}

/* Do not reuse the copy if the file has changed since the first byte was read. */
static void cache_look_again(struct cache_entry *e, int fd)
{
	struct ident now;

	if (ident_of(&now, fd, e->ident.uid) || memcmp(&now, &e->ident, sizeof(now)))
		e->once = true;
}

/* Do steps of opening a target, until the pace is over. Return: as cache_fill(). */
static int make_some(struct cache_entry *e, const struct target_ask *ask,
		     const struct job_pace *pace, struct rec_error *err)
{
	int ret;

	do
		ret = target_step(&e->target, ask, err);
	while (ret > 0 && !job_pace_over(pace));
	e->making = ret > 0;
	e->open = !ret;
	return ret;
}

static int check_some(struct cache *w, struct cache_entry *e, __u64 keys,
		      const struct job_pace *pace, struct rec_error *err)
{
	struct target_ask ask = {
		.name = "the snapshot",
		.threads = limits(w).threads,
		.keys = keys,
	};
	int ret;

	if (!e->making) {
		ret = target_begin_fd(&e->target, e->fd, &ask, err);
		e->making = !ret;
		return ret ? ret : 1;
	}
	return make_some(e, &ask, pace, err);
}

int cache_fill(struct cache *w, struct cache_entry *e, int fd, __u64 keys,
	       const struct job_pace *pace, struct rec_error *err)
{
	bool whole = e->filled == (__u64)e->ident.size;
	int ret = whole ? 0 : cache_copy_some(e, fd, pace, err);

	if (!ret && !e->making)
		cache_look_again(e, fd);
	if (!ret && e->kind == WARM_SNAPSHOT && !e->open)
		ret = check_some(w, e, keys, pace, err);
	if (ret < 0)
		e->once = true;
	return ret;
}

/* Filters */

int cache_look_up(const char *name, struct epf_info *info, struct rec_error *e)
{
	int dev = epf_dev_open();
	int filter, ret;

	if (dev < 0)
		return rec_error_set(e, dev, "%s: %s", EPF_DEVICE, strerror(-dev));
	filter = epf_dev_find(dev, name);
	epf_close(dev);
	if (filter < 0)
		return rec_error_set(e, filter, "'%s': %s", name,
				     filter == -ENOENT ? "there is no such filter" :
							 strerror(-filter));
	ret = epf_filter_info(filter, info);
	if (!ret)
		return filter;
	epf_close(filter);
	return rec_error_set(e, ret, "'%s': %s", name, strerror(-ret));
}

/* The two backends number their filters independently, so bit 32 tells them apart. */
static __u64 filter_id(int filter, const struct epf_info *info)
{
	return info->id | (__u64)!epf_is_module(filter) << 32;
}

static struct cache_entry *cache_find_filter(struct cache *w, __u64 id, __u64 fresh_ns)
{
	__u64 now = now_ns();
	struct cache_entry *e;

	TAILQ_FOREACH(e, &w->entries, link)
	if (!e->once && e->kind == WARM_FILTER && e->id == id && now - e->made_ns < fresh_ns)
		return e;
	return NULL;
}

/* A filter has one snapshot at a time. */
static bool being_copied(const struct cache *w, __u64 id)
{
	const struct cache_entry *e;

	TAILQ_FOREACH(e, &w->entries, link)
	if (e->kind == WARM_FILTER && e->making && e->id == id)
		return true;
	return false;
}

/* Retire copies of filters that are too old. */
static void age_filters(struct cache *w, __u64 fresh_ns)
{
	__u64 now = now_ns();
	struct cache_entry *e = TAILQ_FIRST(&w->entries);

	while (e) {
		struct cache_entry *next = TAILQ_NEXT(e, link);

		if (e->kind == WARM_FILTER && now - e->made_ns >= fresh_ns) {
			e->once = true;
			if (!e->refs)
				cache_drop(w, e);
		}
		e = next;
	}
}

/* Filters of locked kinds have no lines. Their copy needs the memory that the module
 * reports twice: as received, and as it is looked up in.
 */
static __u64 cost_of_copy(const struct epf_info *info)
{
	if (info->params.kind != EPF_KIND_LANES)
		return 2 * info->memory_bytes;
	return info->params.nr_lines * EPF_LINE_BYTES;
}

/* Takes over @filter: the target closes it, or this function on failure. */
static int cache_begin_copy(struct cache *w, int filter, const struct epf_info *info,
			    const struct target_ask *ask, struct cache_entry **entry,
			    struct rec_error *err)
{
	__u64 bytes = cost_of_copy(info);
	struct cache_entry *e = NULL;
	int ret;

	if (cache_make_room(w, bytes))
		e = cache_add(w, WARM_FILTER, bytes);
	if (!e) {
		epf_close(filter);
		return rec_error_set(err, -ENOSPC,
				     "'%s' is larger than the "
				     "agent's free memory",
				     ask->name);
	}
	stats_add(&w->stats->cache_misses, 1);
	e->id = filter_id(filter, info);
	e->made_ns = now_ns();
	e->once = true; /* until it is complete */
	ret = target_begin_filter(&e->target, filter, ask, err);
	e->making = !ret;
	if (ret)
		cache_drop(w, e);
	else
		*entry = e;
	return ret ? ret : 1;
}

static int copy_filter(struct cache_entry *e, const struct target_ask *ask,
		       const struct job_pace *pace, struct rec_error *err)
{
	int ret = make_some(e, ask, pace, err);

	if (!ret)
		e->once = false;
	return ret;
}

/* Make an entry for this audit if a mirror can be used. Return: 1: the mirror is not up
 * to date yet; 0.
 */
static int find_mirror(struct cache *w, const struct epf_info *info, const struct mirrors_ask *ask,
		       struct cache_entry **entry)
{
	struct cache_entry *e;
	struct mirror *m;
	int ret = mirrors_look(w->mirrors, info, ask, &m);

	if (ret || !m)
		return ret;
	e = cache_add(w, WARM_FILTER, 0);
	if (!e)
		return 0; /* as if there were no mirror */
	e->once = true;
	e->open = true;
	e->mirror = m;
	mirror_use(m, info, &e->target);
	stats_add(&w->stats->cache_hits, 1);
	*entry = e;
	return 0;
}

/* Return: 0: @entry is set, or the filter must be copied; 1, WARM_WAIT: call again. */
static int find_warm(struct cache *w, int filter, const struct epf_info *info,
		     const struct mirrors_ask *ask, struct cache_entry **entry)
{
	__u64 id = filter_id(filter, info);
	int ret = epf_is_module(filter) ? find_mirror(w, info, ask, entry) : 0;

	if (ret || *entry)
		return ret;
	*entry = cache_find_filter(w, id, ask->fresh_ns);
	if (*entry)
		use(w, *entry);
	else if (being_copied(w, id))
		return WARM_WAIT;
	return 0;
}

int cache_filter(struct cache *w, const char *name, __u64 since_ns, const struct job_pace *pace,
		 struct cache_entry **entry, struct rec_error *e)
{
	struct cache_conf conf = limits(w);
	struct target_ask ask = { .name = name, .place = TARGET_COPY, .threads = conf.threads };
	struct mirrors_ask mirrors = { since_ns, conf.fresh_ns, pace };
	struct epf_info info;
	int filter, ret;

	if (*entry)
		return copy_filter(*entry, &ask, pace, e);
	filter = cache_look_up(name, &info, e);
	if (filter < 0)
		return filter;
	age_filters(w, conf.fresh_ns);
	ret = find_warm(w, filter, &info, &mirrors, entry);
	if (!ret && !*entry)
		return cache_begin_copy(w, filter, &info, &ask, entry, e);
	epf_close(filter);
	return ret;
}

/* All */

int cache_fd(const struct cache_entry *entry)
{
	return entry->fd;
}

__u64 cache_serial(const struct cache_entry *entry)
{
	return entry->serial;
}

const struct target *cache_target(const struct cache_entry *entry)
{
	return &entry->target;
}

void cache_put(struct cache *w, struct cache_entry *e)
{
	if (e && !--e->refs && e->once)
		cache_drop(w, e);
}

void cache_limit(struct cache *w, const struct cache_conf *conf)
{
	pthread_mutex_lock(&w->lock);
	w->conf = *conf;
	w->news = true;
	pthread_mutex_unlock(&w->lock);
}

__u64 cache_tick(struct cache *w, const struct job_pace *pace)
{
	struct cache_conf conf;
	bool news;

	pthread_mutex_lock(&w->lock);
	conf = w->conf;
	news = w->news;
	w->news = false;
	pthread_mutex_unlock(&w->lock);
	if (news)
		mirrors_set(w->mirrors, &conf.mirrors);
	return mirrors_tick(w->mirrors, pace);
}

struct cache *cache_new(const struct cache_conf *conf, struct agent_stats *stats)
{
	struct cache *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->mirrors = mirrors_new(w, stats);
	if (!w->mirrors) {
		free(w);
		return NULL;
	}
	pthread_mutex_init(&w->lock, NULL);
	w->conf = *conf;
	w->news = true;
	w->stats = stats;
	TAILQ_INIT(&w->entries);
	return w;
}

void cache_free(struct cache *w)
{
	while (!TAILQ_EMPTY(&w->entries))
		cache_drop(w, TAILQ_FIRST(&w->entries));
	mirrors_free(w->mirrors);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
