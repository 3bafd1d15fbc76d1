// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Engine "cuda": lines are copied to a GPU once, or to several, and lookups run there. All code
 * for the GPU is in libepf_cuda.so (epf_cuda.h), which is loaded if it is found.
 * Without it, or without a driver or a GPU, the engine is not usable, which is no
 * error.
 *
 * Copied lines stay on the GPU for views with the same serial, until the memory
 * is needed. Lines of a mirror are updated with the records that were applied to
 * it (struct epf_delta_log), and copied again if there are too many records. Columns
 * with a serial stay as well, from their second audit on.
 */
#include "engine.h"
#include "clock.h"

#include <dlfcn.h>
#include <epf_cuda.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#ifndef EPF_LIBDIR
#define EPF_LIBDIR "/usr/local/lib/epochfilter"
#endif
#define LIBRARY "libepf_cuda.so"
#define KEPT 8u
#define COLUMNS 8u
#ifndef CARD_KEYS            /* to measure with; an emulated card would take its time */
#define CARD_KEYS (1u << 22) /* 16 pieces of 2 MiB: they overlap (flow.cu) */
#endif
#define MEASURE_LINES (1ULL << 20)
#define RETRY_MS 30000u /* until a card that was not ready is probed again */

/**
 * struct kept - lines on the GPU
 * @held: the copy; NULL: none
 * @serial: of the view
 * @version: of the view
 * @epoch: of the view
 * @geom: of the view
 * @hash: of the view
 * @used: order of the last use; higher is later
 */
struct kept {
	struct epf_cuda_held *held;
	__u64 serial;
	__u64 version;
	__u64 epoch;
	struct epf_geom geom;
	struct epf_hash hash;
	__u64 used;
};

/**
 * struct column - keys on the GPU, or seen once
 * @there: the copy on the GPU, or NULL
 * @never: not copied again: it did not fit, or left no room for anything else
 * @serial: of the column; 0: none
 * @len: of its keys
 * @used: order of the last use; higher is later
 */
struct column {
	struct epf_cuda_column *there;
	bool never;
	__u64 serial;
	__u32 len;
	__u64 used;
};

/* @lock protects everything; it is held while the GPU works, which does one thing
 * at a time.
 * Callers that must not wait for the GPU read without the lock: @tried (stored
 * with release after the others are set), @fit, @again_ms, @use.
 * @tried: the library was looked for
 * @ops: functions of the library, or NULL
 * @fit: there is a GPU, and it has not failed
 * @again_ms: when a GPU that was not ready is probed again, monotonic; 0: never
 * @named: epf_gpu_devices() has set @devices
 * @devices: of epf_cuda_ops.probe
 * @found: the devices
 * @why: the last error
 */
static struct {
	pthread_mutex_t lock;
	bool tried;
	const struct epf_cuda_ops *ops;
	bool fit;
	__u64 again_ms;
	bool named;
	__u32 devices;
	struct epf_cuda_devices found;
	struct epf_cuda_error why;
	struct kept kept[KEPT];
	struct column columns[COLUMNS];
	__u64 clock;
	struct epf_gpu_use use;
} gpu = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- the library ---- */

__attribute__((format(printf, 1, 2))) static void because(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(gpu.why.text, sizeof(gpu.why.text), fmt, args);
	va_end(args);
}

static void *open_library(void)
{
	const char *named = secure_getenv("EPF_CUDA_LIBRARY");
	void *lib;

	if (named && *named) {
		lib = dlopen(named, RTLD_NOW | RTLD_LOCAL);
		if (!lib)
			because("%s", dlerror());
		return lib;
	}
	if (!access(EPF_LIBDIR "/" LIBRARY, F_OK))
		lib = dlopen(EPF_LIBDIR "/" LIBRARY, RTLD_NOW | RTLD_LOCAL);
	else
		lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		because(LIBRARY " is not installed: 'make' builds it where nvcc "
				"is");
	return lib;
}

static const struct epf_cuda_ops *find_ops(void *lib)
{
	epf_cuda_ops_fn get;
	const struct epf_cuda_ops *ops;

	*(void **)&get = dlsym(lib, EPF_CUDA_SYMBOL);
	ops = get ? get() : NULL;
	if (ops && ops->version == EPF_CUDA_VERSION && ops->size == sizeof(*ops))
		return ops;
	because(LIBRARY " is of another version than this program: install both "
			"from one source");
	return NULL;
}

static __u64 now_ms(void)
{
	return epf_clock_ns() / 1000000;
}

/* EPF_CUDA_RETRY_MS is for tests. */
static __u64 retry_ms(void)
{
	const char *s = secure_getenv("EPF_CUDA_RETRY_MS");

	return s && *s ? strtoull(s, NULL, 0) : RETRY_MS;
}

/* A GPU that has failed stays unusable in this process; one that is not ready may
 * become usable.
 */
static int cuda_failed(int err)
{
	if (err == -EAGAIN)
		__atomic_store_n(&gpu.again_ms, now_ms() + retry_ms(), __ATOMIC_RELAXED);
	if (err == -EIO || err == -ENODEV || err == -EAGAIN)
		__atomic_store_n(&gpu.fit, false, __ATOMIC_RELAXED);
	return err;
}

/* ---- devices ---- */

/* Add the device with the number at *@text to @devices, and step behind it. */
static bool take_device(const char **text, __u32 *devices)
{
	char *end;
	unsigned long number = strtoul(*text, &end, 10);

	if (**text < '0' || **text > '9' || number >= EPF_CUDA_DEVICES || *devices >> number & 1)
		return false;
	*devices |= 1u << number;
	*text = end;
	return true;
}

static int parse_devices(const char *text, __u32 *devices)
{
	*devices = 0;
	if (!strcmp(text, "all")) {
		*devices = EPF_CUDA_ALL;
		return 0;
	}
	while (take_device(&text, devices)) {
		if (!*text)
			return 0;
		if (*text++ != ',')
			break;
	}
	return -EINVAL;
}

int epf_gpu_devices(const char *text)
{
	__u32 devices;
	int ret = parse_devices(text, &devices);

	if (ret)
		return ret;
	pthread_mutex_lock(&gpu.lock);
	gpu.named = true;
	gpu.devices = devices;
	pthread_mutex_unlock(&gpu.lock);
	return 0;
}

/* Return: can the setting of the environment be read, if it counts? */
static bool read_devices(void)
{
	const char *text = secure_getenv("EPF_CUDA_DEVICES");

	if (gpu.named || !text || !*text || !parse_devices(text, &gpu.devices))
		return true;
	because("EPF_CUDA_DEVICES is '%.40s': give all, or different numbers from 0 to %u with "
		"commas between",
		text, EPF_CUDA_DEVICES - 1);
	return false;
}

/* A device that has failed is told of once, as @why; the others go on. */
static void cuda_note_lost(void)
{
	struct epf_cuda_error e;
	__u32 nr = gpu.found.nr > 1 ? gpu.ops->lost(&e) : 0;

	if (nr <= gpu.use.lost)
		return;
	gpu.why = e;
	__atomic_store_n(&gpu.use.lost, nr, __ATOMIC_RELAXED);
}

static void cuda_probe(void)
{
	int err;

	__atomic_store_n(&gpu.again_ms, 0, __ATOMIC_RELAXED);
	err = gpu.ops->probe(gpu.devices, &gpu.found, &gpu.why);
	__atomic_store_n(&gpu.use.devices, gpu.found.nr, __ATOMIC_RELAXED);
	__atomic_store_n(&gpu.fit, !err, __ATOMIC_RELAXED);
	cuda_failed(err);
}

static void cuda_load(void)
{
	void *lib = open_library();

	if (!lib)
		return;
	gpu.ops = find_ops(lib);
	if (!gpu.ops)
		dlclose(lib);
	else if (read_devices())
		cuda_probe();
}

static bool is_probe_due(void)
{
	__u64 again = __atomic_load_n(&gpu.again_ms, __ATOMIC_RELAXED);

	return again && now_ms() >= again;
}

/* The library is looked for once; what is loaded stays. */
static void cuda_look(void)
{
	if (!gpu.tried)
		cuda_load();
	else if (is_probe_due())
		cuda_probe();
	__atomic_store_n(&gpu.tried, true, __ATOMIC_RELEASE);
}

static bool cuda_usable(void)
{
	if (!__atomic_load_n(&gpu.tried, __ATOMIC_ACQUIRE) || is_probe_due()) {
		pthread_mutex_lock(&gpu.lock);
		cuda_look();
		pthread_mutex_unlock(&gpu.lock);
	}
	return __atomic_load_n(&gpu.fit, __ATOMIC_RELAXED);
}

static void cuda_count(__u64 *word, __u64 n)
{
	__atomic_fetch_add(word, n, __ATOMIC_RELAXED);
}

const char *epf_engine_why(const struct epf_engine *e)
{
	static __thread struct epf_cuda_error kept;

	if (!epf_engine_far(e))
		return e->usable() ? "" : "this CPU lacks its instructions";
	cuda_usable();
	pthread_mutex_lock(&gpu.lock);
	kept = gpu.why;
	pthread_mutex_unlock(&gpu.lock);
	return kept.text;
}

/* Write the first device, and how many there are, to @text. */
static void tell_devices(char *text)
{
	const struct epf_cuda_device *d = &gpu.found.device[0];
	int n = snprintf(text, EPF_WHY_LEN, "%s, %llu MiB, compute capability %u.%u", d->name,
			 d->bytes >> 20, d->major, d->minor);

	if (gpu.found.nr > 1)
		snprintf(text + n, EPF_WHY_LEN - (size_t)n, " (device %d, the first of %u)",
			 d->number, gpu.found.nr);
}

bool epf_gpu_there(char *text)
{
	bool fit = cuda_usable();

	pthread_mutex_lock(&gpu.lock);
	if (fit)
		tell_devices(text);
	else
		snprintf(text, EPF_WHY_LEN, "%s", gpu.why.text);
	pthread_mutex_unlock(&gpu.lock);
	return fit;
}

void epf_gpu_use(struct epf_gpu_use *use)
{
	use->uploads = __atomic_load_n(&gpu.use.uploads, __ATOMIC_RELAXED);
	use->upload_bytes = __atomic_load_n(&gpu.use.upload_bytes, __ATOMIC_RELAXED);
	use->reuses = __atomic_load_n(&gpu.use.reuses, __ATOMIC_RELAXED);
	use->columns = __atomic_load_n(&gpu.use.columns, __ATOMIC_RELAXED);
	use->column_asks = __atomic_load_n(&gpu.use.column_asks, __ATOMIC_RELAXED);
	use->records = __atomic_load_n(&gpu.use.records, __ATOMIC_RELAXED);
	use->devices = __atomic_load_n(&gpu.use.devices, __ATOMIC_RELAXED);
	use->lost = epf_gpu_lost();
}

__u64 epf_gpu_lost(void)
{
	return __atomic_load_n(&gpu.use.lost, __ATOMIC_RELAXED);
}

/* ---- lines on the GPU ---- */

static void cuda_drop(struct kept *k)
{
	gpu.ops->release(k->held);
	memset(k, 0, sizeof(*k));
}

static void drop_column(struct column *c)
{
	if (c->there)
		gpu.ops->unload(c->there);
	memset(c, 0, sizeof(*c));
}

/* The column is not copied again: each time it would evict what took its room. */
static void cuda_refuse(struct column *c)
{
	if (c->there)
		gpu.ops->unload(c->there);
	c->there = NULL;
	c->never = true;
}

/* Drops columns too: without them keys are copied at each query, nothing worse. */
static void drop_others(const struct kept *but)
{
	unsigned int i;

	for (i = 0; i < COLUMNS; i++)
		cuda_refuse(&gpu.columns[i]);
	for (i = 0; i < KEPT; i++)
		if (gpu.kept[i].held && &gpu.kept[i] != but)
			cuda_drop(&gpu.kept[i]);
}

static struct kept *cuda_find(const struct epf_view *v)
{
	unsigned int i;

	for (i = 0; v->serial && i < KEPT; i++)
		if (gpu.kept[i].held && gpu.kept[i].serial == v->serial &&
		    !memcmp(&gpu.kept[i].geom, &v->geom, sizeof(v->geom)) &&
		    !memcmp(&gpu.kept[i].hash, &v->hash, sizeof(v->hash)))
			return &gpu.kept[i];
	return NULL;
}

/* An empty slot, or the least recently used one. */
static struct kept *cuda_oldest(void)
{
	struct kept *k = &gpu.kept[0];
	unsigned int i;

	for (i = 1; i < KEPT; i++)
		if (gpu.kept[i].used < k->used)
			k = &gpu.kept[i];
	if (k->held)
		cuda_drop(k);
	return k;
}

/* Update the lines to the version of the view. Return: did it succeed? */
static bool brought_on(struct kept *k, const struct epf_view *v)
{
	const struct epf_delta_log *t = v->delta_log;
	__u64 n;

	if (k->version == v->version)
		return k->epoch == v->epoch;
	if (!t || k->version < t->first || v->version != t->first + t->nr ||
	    k->version > v->version)
		return false;
	n = v->version - k->version;
	if (gpu.ops->apply(k->held, t->record + (k->version - t->first), n, v->epoch, &gpu.why))
		return false;
	cuda_count(&gpu.use.records, n);
	k->version = v->version;
	k->epoch = v->epoch;
	return true;
}

static int upload(struct kept *k, const struct epf_view *v, unsigned int threads)
{
	const struct epf_cuda_lines lines = { v->lines, v->geom, v->hash, v->epoch };
	int ret = gpu.ops->hold(&lines, threads, &k->held, &gpu.why);

	if (ret == -ENOMEM) {
		drop_others(k);
		ret = gpu.ops->hold(&lines, threads, &k->held, &gpu.why);
	}
	if (ret)
		return cuda_failed(ret);
	/* an epoch that the caller reads now is not older than a lane copied */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	cuda_count(&gpu.use.uploads, 1);
	cuda_count(&gpu.use.upload_bytes, epf_geom_lines(&v->geom) * EPF_LINE_BYTES);
	k->serial = v->serial;
	k->version = v->version;
	k->epoch = v->epoch;
	k->geom = v->geom;
	k->hash = v->hash;
	return 0;
}

/* Put the lines of the view on the GPU, as *@kept. Return: 0, or a negative errno. */
static int carry(const struct epf_view *v, unsigned int threads, struct kept **kept)
{
	struct kept *k = cuda_find(v);
	int ret = 0;

	if (v->asked)
		return -EOPNOTSUPP;
	cuda_look();
	if (!gpu.fit)
		return -ENODEV;
	if (k && brought_on(k, v)) {
		cuda_count(&gpu.use.reuses, 1);
	} else {
		if (k)
			cuda_drop(k);
		k = cuda_oldest();
		ret = upload(k, v, threads);
	}
	if (!ret)
		k->used = ++gpu.clock;
	if (!ret && v->delta_log) {
		v->delta_log->wanted = true;
		v->delta_log->taken = v->version;
	}
	*kept = k;
	return ret;
}

/* End the use of @k; @ret: result of that use. Lines that may differ at the next
 * query are dropped.
 */
static int put_down(struct kept *k, const struct epf_view *v, int ret)
{
	if (k->held && (!v->serial || !gpu.fit))
		cuda_drop(k);
	return ret;
}

void epf_cuda_forget(__u64 serial)
{
	unsigned int i;

	if (!serial)
		return;
	pthread_mutex_lock(&gpu.lock);
	for (i = 0; i < KEPT; i++)
		if (gpu.kept[i].held && gpu.kept[i].serial == serial)
			cuda_drop(&gpu.kept[i]);
	for (i = 0; i < COLUMNS; i++)
		if (gpu.columns[i].serial == serial)
			drop_column(&gpu.columns[i]);
	pthread_mutex_unlock(&gpu.lock);
}

/* ---- keys on the GPU ---- */

/* The slot of @k; if it has none, the least recently used slot becomes its own. */
static struct column *column_of(const struct epf_column *k)
{
	struct column *c = &gpu.columns[0];
	unsigned int i;

	for (i = 0; i < COLUMNS; i++) {
		struct column *o = &gpu.columns[i];

		if (o->serial == k->serial && o->len == k->keys.len)
			return o;
		if (o->used < c->used)
			c = o;
	}
	drop_column(c);
	c->serial = k->serial;
	c->len = k->keys.len;
	return c;
}

/* A column that is begun for the second time stays on the GPU, if it fits.
 * Return: NULL: the keys must be copied for this query.
 */
static const struct column *cuda_stays(const struct epf_keys *keys, unsigned int threads)
{
	const struct epf_column *k = keys->of;
	struct epf_cuda_keys all;
	struct column *c;

	if (!k || !k->serial)
		return NULL;
	c = column_of(k);
	all = (struct epf_cuda_keys){ k->keys.data, k->keys.n, k->keys.len, 0 };
	if (!c->there && !c->never && c->used && keys->data == k->keys.data) {
		c->never = gpu.ops->load(&all, threads, &c->there, &gpu.why);
		cuda_count(&gpu.use.columns, !c->never);
	}
	c->used = ++gpu.clock;
	return c->there ? c : NULL;
}

/* ---- queries ---- */

static int ask_card(struct kept *k, const struct epf_keys *keys, struct epf_cuda_answer *a)
{
	const struct epf_cuda_keys there = { keys->data, keys->n, keys->len, 0 };
	const struct column *c = cuda_stays(keys, a->threads);
	size_t bytes = keys->len ? keys->len : sizeof(__u64);
	__u64 first;

	if (!c)
		return gpu.ops->query(k->held, &there, a, &gpu.why);
	first = (__u64)((const char *)keys->data - (const char *)keys->of->keys.data) / bytes;
	cuda_count(&gpu.use.column_asks, 1);
	return gpu.ops->query_column(k->held, c->there, first, keys->n, a, &gpu.why);
}

static int cuda_ask(struct kept *k, const struct epf_keys *keys, struct epf_answer *a)
{
	struct epf_cuda_answer answer = {
		.bitmap = a->bitmap,
		.ages = a->ages,
		.threads = a->threads,
		.progress = a->progress,
		.ctx = a->ctx,
	};
	int ret = ask_card(k, keys, &answer);
	unsigned int age;

	if (ret == -ENOMEM) { /* their room may be what lacks */
		drop_others(k);
		ret = ask_card(k, keys, &answer);
	}
	if (ret)
		return cuda_failed(ret);
	memset(a->ages_of, 0, sizeof(a->ages_of));
	a->present = 0;
	for (age = 0; age < EPF_LANES; age++) {
		a->ages_of[age] = answer.ages_of[age];
		a->present += answer.ages_of[age];
	}
	a->bitmap_xxh3 = XXH3_64bits(a->bitmap, (keys->n + 7) / 8);
	return 0;
}

static int cuda_query(const struct epf_view *v, const struct epf_keys *keys, struct epf_answer *a)
{
	struct kept *k;
	int ret;

	if (!epf_audit_sound(keys, a))
		return -EINVAL;
	pthread_mutex_lock(&gpu.lock);
	ret = carry(v, a->threads, &k);
	if (!ret)
		ret = put_down(k, v, cuda_ask(k, keys, a));
	if (!ret)
		cuda_note_lost();
	pthread_mutex_unlock(&gpu.lock);
	return ret;
}

int epf_cuda_tally(const struct epf_view *v, __u64 *nr)
{
	struct kept *k;
	int ret = -ENOENT;

	pthread_mutex_lock(&gpu.lock);
	k = cuda_find(v);
	if (k && gpu.fit && k->version == v->version && k->epoch == v->epoch)
		ret = put_down(k, v, cuda_failed(gpu.ops->tally(k->held, nr, &gpu.why)));
	pthread_mutex_unlock(&gpu.lock);
	return ret;
}

int epf_cuda_chance(const struct epf_view *v, __u64 seed, __u64 n, __u64 *found)
{
	struct kept *k;
	int ret;

	pthread_mutex_lock(&gpu.lock);
	ret = carry(v, 0, &k);
	if (!ret)
		ret = put_down(k, v,
			       cuda_failed(gpu.ops->chance(k->held, seed, n, found, &gpu.why)));
	pthread_mutex_unlock(&gpu.lock);
	return ret;
}

/* ---- rates ---- */

static double seconds(void)
{
	return (double)epf_clock_ns() * 1e-9;
}

/* Times the second run: the first one allocates buffers and wakes the GPU. */
static double seconds_of(const struct epf_view *v, const struct epf_keys *keys,
			 struct epf_answer *a)
{
	double start;

	if (cuda_query(v, keys, a))
		return 0;
	start = seconds();
	return cuda_query(v, keys, a) ? 0 : seconds() - start;
}

/* Measure the copy of a part of the lines, and lookups of keys of the host. */
static void cuda_measure(const struct epf_view *v, unsigned int threads, __u64 *digest,
			 unsigned char *bitmap, struct epf_rates *r)
{
	const struct epf_keys keys = { .data = digest, .n = CARD_KEYS };
	const struct epf_keys none = { .data = digest };
	struct epf_answer a = { .bitmap = bitmap, .threads = threads };
	struct epf_view piece = *v;
	__u64 lines = epf_geom_lines(&v->geom);
	double asked, carried;

	lines = lines < MEASURE_LINES ? lines : MEASURE_LINES;
	piece.geom.part_lines = lines / v->geom.parts;
	piece.delta_log = NULL;
	piece.serial = 0;
	carried = seconds_of(&piece, &none, &a);
	piece.serial = epf_view_serial();
	asked = seconds_of(&piece, &keys, &a);
	epf_cuda_forget(piece.serial);
	if (carried > 0 && asked > 0) {
		r->carry = (double)(lines * EPF_LINE_BYTES) / carried;
		r->there = CARD_KEYS / asked;
	}
}

static void rates(const struct epf_engine *e, const struct epf_view *v, unsigned int threads,
		  struct epf_rates *r)
{
	__u64 *digest = malloc(CARD_KEYS * sizeof(*digest));
	unsigned char *bitmap = malloc(CARD_KEYS / 8);
	__u32 i;

	(void)e;
	memset(r, 0, sizeof(*r));
	for (i = 0; digest && i < CARD_KEYS; i++)
		digest[i] = epf_word(i, 1);
	if (digest && bitmap)
		cuda_measure(v, threads, digest, bitmap, r);
	free(bitmap);
	free(digest);
}

const struct epf_engine epf_engine_cuda = { "cuda", cuda_usable, cuda_query, rates };
