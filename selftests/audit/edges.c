// SPDX-License-Identifier: GPL-2.0
/*
 * Every length and alignment of the keys asked; no access outside the memory given;
 * invalid arguments; files; cancellation.
 *
 * usage: edges [--small]    (--small: nothing beyond 4 GiB)
 */
#include "sim.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CANARY 0xa5
#define PAGE 4096u
#define BATCH 65536u

static struct sim sim;
static struct epf_view view;

static const struct epf_engine *fast(void)
{
	struct epf_choice c;

	epf_audit_choose(&c, &view, BATCH, false, 0, NULL);
	return c.engine;
}

static __u64 key_number(__u64 i)
{
	return i % 3 ? sim_digest(&sim, sim.epoch - i % 11, i % sim.per_epoch) : epf_word(i, 1);
}

struct fenced {
	unsigned char *map;
	size_t bytes;
	unsigned char *data;
};

/* Return: @n digests that end @off bytes before an inaccessible page. */
static void fence(struct fenced *f, const __u64 *digest, __u64 n, unsigned int off)
{
	size_t bytes = n * sizeof(*digest);

	f->bytes = ((bytes + off + PAGE - 1) & ~(size_t)(PAGE - 1)) + PAGE;
	f->map = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f->map == MAP_FAILED)
		abort();
	f->data = f->map + f->bytes - PAGE - off - bytes;
	if (bytes)
		memcpy(f->data, digest, bytes);
	mprotect(f->map + f->bytes - PAGE, PAGE, PROT_NONE);
}

static bool canary_lives(const unsigned char *p)
{
	int i;

	for (i = 0; i < 64; i++)
		if (p[i] != CANARY)
			return false;
	return true;
}

static const char *ask(const struct epf_engine *e, const struct expected *x, const void *data,
		       unsigned int threads)
{
	size_t bytes = (x->n + 7) / 8;
	struct epf_answer a = {
		.bitmap = must(malloc(bytes + 64)),
		.ages = must(malloc(x->n + 64)),
		.threads = threads,
	};
	struct epf_keys keys = { .data = data, .n = x->n };
	const char *broken;

	memset(a.bitmap, CANARY, bytes + 64);
	memset(a.ages, CANARY, x->n + 64);
	broken = e->query(&view, &keys, &a) ? "error" : differs(x, &a);
	if (!canary_lives(a.bitmap + bytes) || !canary_lives(a.ages + x->n))
		broken = "written behind the end";
	free(a.bitmap);
	free(a.ages);
	return broken;
}

static void length(const __u64 *digest, __u64 n, unsigned int off, unsigned int threads,
		   const char **broken)
{
	const struct epf_engine *e;
	struct expected x;
	struct fenced f;
	unsigned int i;

	fence(&f, digest, n, off);
	expect(&x, &sim, digest, n);
	for (i = 0; (e = epf_engine_at(i)); i++)
		if (!broken[i] && e->usable())
			broken[i] = ask(e, &x, f.data, threads);
	expect_free(&x);
	munmap(f.map, f.bytes);
}

static void lengths(void)
{
	static const __u64 large[] = { 4095, 4096, 4097, 65535, 65536, 65537, 131073, 200003 };
	const char *broken[ENGINES_MAX] = { NULL };
	__u64 *digest = must(malloc(200003 * sizeof(*digest)));
	unsigned int i, off;
	__u64 n;

	for (i = 0; i < 200003; i++)
		digest[i] = key_number(i);
	for (off = 0; off < 8; off++)
		for (n = 0; n <= 200; n++)
			length(digest + n, n, off, 0, broken);
	claim_engines(broken, "0..200 digests at every alignment");
	for (i = 0; i < 8; i++)
		for (off = 0; off < 8; off += 3)
			length(digest, large[i], off, 1 + i % 4, broken);
	claim_engines(broken, "about a step, a chunk and more, 1 to 4 threads");
	free(digest);
}

/* ------------------------------------------------------------- keys ---- */

static void hashed(void)
{
	static const __u32 lens[] = { 1, 2, 7, 8, 9, 13, 16, 31, 37, 256 };
	const char *broken[ENGINES_MAX] = { NULL };
	unsigned char *bytes = must(malloc(1000 * 256 + 1));
	__u64 digest[1000];
	unsigned int l, i;

	for (i = 0; i < 1000 * 256 + 1; i++)
		bytes[i] = (unsigned char)epf_word(i, 5);
	for (l = 0; l < 2 * sizeof(lens) / sizeof(lens[0]); l++) {
		__u32 len = lens[l / 2];
		struct epf_keys keys = { .data = bytes + 1, .n = 1000, .len = len };
		struct epf_answer a = { .bitmap = must(malloc(125)) };
		const struct epf_engine *e;
		struct expected x;

		view.hash.kind = l % 2;
		for (i = 0; i < 1000; i++) {
			digest[i] = epf_digest(&view.hash, bytes + 1 + i * len, len);
			if (i % 2)
				sim_insert(&sim, digest[i]);
		}
		view.serial = epf_view_serial(); /* the view now has other lines */
		expect(&x, &sim, digest, 1000);
		for (i = 0; (e = epf_engine_at(i)); i++)
			if (!broken[i] && e->usable())
				broken[i] = e->query(&view, &keys, &a) ? "error" : differs(&x, &a);
		expect_free(&x);
		free(a.bitmap);
	}
	view.hash.kind = 0;
	claim_engines(broken, "keys of 1..256 bytes, both hashes, no ages");
	free(bytes);
}

/* Only the keys beyond 4 GiB are not zero; pages never written take no memory. */
static void huge(bool small)
{
	const __u64 n = (1u << 24) + 1000;
	const size_t bytes = n * 256;
	struct epf_answer a = { .bitmap = must(calloc(1, n / 8 + 1)) };
	struct epf_keys keys = { .n = n, .len = 256 };
	unsigned char *map;
	__u64 i, lost = 0;

	map = small ? MAP_FAILED :
		      mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED) {
		tap_ok(true, "keys beyond 4 GiB # SKIP %s", small ? "--small" : "no address space");
		free(a.bitmap);
		return;
	}
	for (i = n - 1000; i < n; i++) {
		memcpy(map + i * 256, &i, sizeof(i));
		sim_insert(&sim, epf_digest(&view.hash, map + i * 256, 256));
	}
	keys.data = map;
	if (fast()->query(&view, &keys, &a))
		lost = n;
	for (i = n - 1000; i < n; i++)
		lost += !(a.bitmap[i / 8] >> i % 8 & 1);
	tap_ok(!lost && a.present < n, "keys beyond 4 GiB");
	munmap(map, bytes);
	free(a.bitmap);
}

/* ------------------------------------------------------------ errors ---- */

static void empty(void)
{
	const char *broken[ENGINES_MAX] = { NULL };
	const struct epf_engine *e;
	unsigned int i;

	for (i = 0; (e = epf_engine_at(i)); i++) {
		struct epf_answer a = { .bitmap = NULL, .present = 7 };
		struct epf_keys none = { 0 };

		if (e->usable() && (e->query(&view, &none, &a) || a.present ||
				    a.bitmap_xxh3 != XXH3_64bits("", 0)))
			broken[i] = "not so";
	}
	claim_engines(broken, "no keys: no memory needed, nothing present");
}

static bool refuses(struct epf_keys keys, struct epf_answer a)
{
	const struct epf_engine *e;
	unsigned int i;

	for (i = 0; (e = epf_engine_at(i)); i++)
		if (e->usable() && e->query(&view, &keys, &a) != -EINVAL)
			return false;
	return true;
}

static void bad_queries(void)
{
	unsigned char buf[512] = { 0 };
	struct epf_answer a = { .bitmap = buf };
	struct epf_answer many = { .bitmap = buf, .threads = EPF_AUDIT_THREADS_MAX + 1 };

	tap_ok(refuses((struct epf_keys){ .data = buf, .n = 1, .len = EPF_KEY_MAX + 1 }, a),
	       "keys above the maximum length: EINVAL");
	tap_ok(refuses((struct epf_keys){ .data = buf, .n = ~0ULL / 8 + 1 }, a) &&
		       refuses((struct epf_keys){ .data = buf, .n = ~0ULL / 100, .len = 256 }, a),
	       "more bytes of keys than memory can have: EINVAL");
	tap_ok(refuses((struct epf_keys){ .data = buf, .n = 1 }, (struct epf_answer){ 0 }) &&
		       refuses((struct epf_keys){ .n = 1 }, a),
	       "no bitmap, no keys: EINVAL");
	tap_ok(refuses((struct epf_keys){ .data = buf, .n = 1 }, many), "too many threads: EINVAL");
}

static int view_of(const void *lines, __u32 kind, __u64 nr_lines, __u64 epoch)
{
	struct epf_params p = sim.params;
	struct epf_view v;

	p.kind = kind;
	p.nr_lines = nr_lines;
	return epf_view_init(&v, lines, &p, NULL, epoch);
}

static void bad_views(void)
{
	const char *lines = (const char *)sim.f.line;
	__u64 nr = sim.params.nr_lines;

	tap_ok(!view_of(lines, EPF_KIND_LANES, nr, EPF_EPOCH_FIRST) &&
		       !view_of(lines + 8, EPF_KIND_LANES, nr, EPF_EPOCH_FIRST),
	       "views are made, aligned or not");
	tap_ok(view_of(lines, EPF_KIND_GE, nr, 8) == -EOPNOTSUPP, "another kind: EOPNOTSUPP");
	tap_ok(view_of(lines, EPF_KIND_LANES, nr, EPF_EPOCH_FIRST - 1) == -EINVAL &&
		       view_of(lines, EPF_KIND_LANES, EPF_LINES_MIN - 1, 8) == -EINVAL &&
		       view_of(lines + 4, EPF_KIND_LANES, nr, 8) == -EINVAL,
	       "an epoch or a geometry that cannot be, words not aligned: EINVAL");
}

static void settled(void)
{
	struct epf_snap_file file = { .lines = sim.f.line };
	const char *broken = NULL;
	struct epf_view v, kept = view;
	struct expected x;
	__u64 digest[3000];
	unsigned int i;

	for (i = 0; i < 3000; i++)
		digest[i] = key_number(i);
	file.header.params = sim.params;
	memcpy(file.header.key, sim.key, sizeof(sim.key));
	file.header.epoch_begin = file.header.epoch_end = sim.epoch;
	expect(&x, &sim, digest, 3000);
	if (epf_view_snap(&v, &file) || epf_view_settle(&v) || v.lines == sim.f.line ||
	    (__u64)v.lines % EPF_LINE_BYTES)
		broken = "not settled";
	view = v;
	if (!broken)
		broken = ask(fast(), &x, digest, 0);
	view = kept;
	epf_view_close(&v);
	epf_view_close(&v);
	expect_free(&x);
	tap_sound(broken, "a snapshot, settled, gives the same");
}

static bool column_is(const char *path, __u32 len, int ret, __u64 n)
{
	struct epf_column c;
	int got = epf_column_open(&c, path, len);
	bool good = got == ret && (got || (c.keys.n == n && c.keys.len == len));

	epf_column_close(&c);
	return good;
}

static void columns(void)
{
	const char *in = getenv("TMPDIR");
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%.200s/epf-column-XXXXXX", in ? in : "/tmp");
	fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, 0))
		abort();
	tap_ok(column_is(path, 0, 0, 0), "a column without keys");
	if (ftruncate(fd, 1040))
		abort();
	tap_ok(column_is(path, 0, 0, 130) && column_is(path, 13, 0, 80) &&
		       column_is(path, 1, 0, 1040),
	       "columns of digests and of keys");
	tap_ok(column_is(path, 17, -EBADMSG, 0) && column_is(path, 257, -EINVAL, 0) &&
		       column_is("/tmp", 0, -EISDIR, 0) && column_is("/dev/null", 0, -ESPIPE, 0) &&
		       column_is("/tmp/epf-column-none", 0, -ENOENT, 0),
	       "a cut column, a wrong length, no regular file: an error");
	close(fd);
	unlink(path);
}

/* --------------------------------------------------------- progress ---- */

struct told {
	__u64 last, calls, stop_at;
	bool forward;
};

static int tell(void *ctx, __u64 done, __u64 all)
{
	struct told *t = ctx;

	t->forward &= done > t->last && done <= all;
	t->last = done;
	return ++t->calls == t->stop_at;
}

static void progress(void)
{
	const __u64 n = 5 * BATCH + 1;
	__u64 *digest = must(calloc(n, sizeof(*digest)));
	struct told all = { .forward = true }, some = { .stop_at = 2 };
	struct epf_answer a = {
		.bitmap = must(malloc(n / 8 + 1)), .threads = 1, .progress = tell, .ctx = &all
	};
	struct epf_keys keys = { .data = digest, .n = n };
	const struct epf_engine *e = fast();

	tap_ok(!e->query(&view, &keys, &a) && all.forward && all.last == n && all.calls > 2,
	       "progress goes forward to the end");
	a.ctx = &some;
	tap_ok(e->query(&view, &keys, &a) == -ECANCELED && some.calls == 2,
	       "a callback of progress cancels it: ECANCELED");
	free(a.bitmap);
	free(digest);
}

static void names(void)
{
	const struct epf_engine *e = fast();

	tap_ok(e->usable() && epf_engine_find(e->name) == e && !epf_engine_find("abacus"),
	       "engines are found by name, others are not");
}

int main(int argc, char **argv)
{
	tap_plan(4 * engines() + 15);
	sim_init(&sim, 4096, 2, 12, 0);
	sim.per_epoch = 300;
	sim_stream(&sim, 45);
	sim_insert(&sim, 0); /* the key just after the last one */
	view = sim_view(&sim);
	lengths();
	hashed();
	empty();
	huge(argc > 1 && !strcmp(argv[1], "--small"));
	bad_queries();
	bad_views();
	settled();
	columns();
	progress();
	names();
	sim_free(&sim);
	return tap_end();
}
