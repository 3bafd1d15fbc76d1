// SPDX-License-Identifier: GPL-2.0
/*
 * A key inserted inside the window is found after a restore, whatever epoch it was in: the law of
 * restored contents, for every kind and backend.
 *
 * A snapshot can say of its current epoch that it is over: its owner rotated late, since a snapshot
 * pinned it or a worker had to empty memory first; or it is a merge, whose epochs are longer. Here
 * the file of a filter is given such an epoch, with right sums, and restored. The newest key was
 * inserted at the moment of the snapshot.
 *
 * In memory the clock is the test's, and so the oracle exact. Filters of the kernel have its clock:
 * a key that an answer calls absent although the window after its insertion was not over when the
 * answer had come is lost. A slow machine asks later, and loses nothing by that.
 */
#include "lib.h"

#include <epf/snapshot.h>

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <xxhash.h>

#define S UINT64_C(1000000000)
#define T (7 * S) /* the window: seven epochs of a second, before alignment */
#define AT (1000 * S)
#define WALL (UINT64_C(1700000000) * S)
#define NAME "lib_overdue"
#define WINDOW (S * 7 / 2) /* of the kernel's filters; doubled for a slow machine */

/* ------------------------------------------------------------ snapshots ---- */

struct image {
	struct epf_snap_header h;
	struct epf_key_desc desc;
};

static int save_age(int fd, struct image *m, uint64_t late_ns)
{
	bool described = m->h.version == EPF_SNAP_VERSION_DESC;
	struct epf_snap_locked s;
	off_t at = m->h.header_bytes;
	XXH3_state_t *sum;
	char *data;
	off_t end = lseek(fd, 0, SEEK_END);

	m->h.epochs[m->h.epoch_end % EPF_EPOCHS].age_ns += late_ns;
	if (m->h.params.kind != EPF_KIND_LANES) {
		if (pread(fd, &s, sizeof(s), at) != sizeof(s))
			return -EIO;
		s.past[0].age_ns += late_ns;
		if (pwrite(fd, &s, sizeof(s), at) != sizeof(s))
			return -EIO;
		at += sizeof(s);
		data = malloc((size_t)(end - at));
		sum = XXH3_createState();
		if (!data || !sum || pread(fd, data, (size_t)(end - at), at) != end - at)
			return -EIO;
		XXH3_64bits_reset(sum);
		XXH3_64bits_update(sum, data, (size_t)(end - at));
		XXH3_64bits_update(sum, &s, sizeof(s));
		m->h.lines_xxh3 = XXH3_64bits_digest(sum);
		XXH3_freeState(sum);
		free(data);
	}
	m->h.header_xxh3 = 0;
	m->h.header_xxh3 = XXH3_64bits(m, described ? sizeof(*m) : sizeof(m->h));
	return pwrite(fd, m, m->h.header_bytes, 0) == (ssize_t)m->h.header_bytes ? 0 : -EIO;
}

/* Make the current epoch of the snapshot @path older by @late_ns. */
static int make_late(const char *path, uint64_t late_ns)
{
	int fd = open(path, O_RDWR), err = -EIO;
	struct image m;

	if (fd < 0)
		return -errno;
	if (pread(fd, &m, sizeof(m), 0) >= (ssize_t)sizeof(m.h))
		err = save_age(fd, &m, late_ns);
	close(fd);
	return err;
}

/* --------------------------------------------------------------- memory ---- */

static int restore(struct libepf_filter *f, const char *path, uint64_t now)
{
	struct libepf_restore o = { .size = sizeof(o) };

	return libepf_filter_restore(f, path, now, &o);
}

static uint8_t age_of(struct libepf_filter *f, uint64_t key, uint64_t now)
{
	struct libepf_keys keys = keys_of(&key, 1);
	uint8_t age = 77;

	libepf_filter_test(f, &keys, now, &age);
	return age;
}

static int insert(struct libepf_filter *f, uint64_t key, uint64_t now)
{
	struct libepf_keys keys = keys_of(&key, 1);

	return libepf_filter_insert(f, &keys, now);
}

static struct libepf_filter *filter_new(const char *kind, bool align, uint64_t now)
{
	struct libepf_plan p = { .size = sizeof(p),
				 .kind = kind,
				 .flags = align ? LIBEPF_ALIGN : 0,
				 .error = 1e-4,
				 .limit = 1,
				 .window_ns = T,
				 .rate = 100,
				 .hash_key = HASH_KEY };
	struct libepf_filter *f;

	return libepf_filter_new(&p, now, &f) ? NULL : f;
}

/* The newest key of @path is found for a window after it was inserted. It leaves within another
 * window and the @late_ns that its epoch is late. At each time a fresh filter is asked, because
 * each call ends epochs, and one that is asked at all times.
 */
static const char *stays(const char *path, bool align, uint64_t late_ns)
{
	struct libepf_filter *g = filter_new("lanes", align, AT + 1), *fresh;
	const char *wrong = NULL;
	uint64_t ns;

	if (!g || restore(g, path, AT + 1))
		wrong = libepf_error();
	for (ns = 0; ns < T && !wrong; ns += S / 2) {
		fresh = filter_new("lanes", align, AT + 1);
		if (!fresh || restore(fresh, path, AT + 1))
			wrong = libepf_error();
		else if (age_of(fresh, 2, AT + 1 + ns) >= LIBEPF_AGE_UNKNOWN)
			wrong = "a key leaves early when nothing is asked before";
		libepf_filter_free(fresh);
		if (!wrong && age_of(g, 2, AT + 1 + ns) >= LIBEPF_AGE_UNKNOWN)
			wrong = "a key leaves early";
	}
	if (!wrong && age_of(g, 2, AT + T) >= LIBEPF_AGE_UNKNOWN)
		wrong = "a key leaves 1 ns early";
	if (!wrong && age_of(g, 2, AT + 2 * T + late_ns) != LIBEPF_AGE_ABSENT)
		wrong = "a key stays";
	libepf_filter_free(g);
	return wrong;
}

enum way { SAVED, LATE, MERGED, WAYS };

/* Save @f, which has a key of the moment @AT, and make it a snapshot of this way. */
static const char *saved(struct libepf_filter *f, const char *path, const char *out, enum way way,
			 uint64_t late_ns)
{
	struct libepf_merge loose = { .size = sizeof(loose), .flags = LIBEPF_MERGE_LOOSE };

	if (libepf_filter_save(f, path, AT, WALL))
		return libepf_error();
	if (way == LATE && make_late(path, late_ns))
		return "the snapshot could not be changed";
	return way == MERGED && (libepf_merge(&path, 1, out, &loose) || rename(out, path)) ?
		       libepf_error() :
		       NULL;
}

/* @empty: snapshot of a filter without keys; planning one of some kinds takes a second. */
static const char *law(const char *empty, enum way way, bool from, bool to)
{
	static const uint64_t begins[] = { 1, S - 1, 3 * S + S / 2, 7 * S - S / 10 };
	static const uint64_t lates[] = { S / 100, S, 9 * S };
	const unsigned int nr = way == LATE ? sizeof(lates) / sizeof(lates[0]) : 1;
	const char *path = temp_path("late.epf"), *out = temp_path("merged.epf"), *wrong = NULL;
	unsigned int i, k;

	for (i = 0; i < sizeof(begins) / sizeof(begins[0]) && !wrong; i++) {
		struct libepf_filter *f = filter_new("lanes", from, AT - begins[i]);

		if (!f || restore(f, empty, AT - begins[i]) || insert(f, 1, AT - begins[i]) ||
		    insert(f, 2, AT))
			wrong = libepf_error();
		for (k = 0; k < nr && !wrong; k++) {
			wrong = saved(f, path, out, way, lates[k]);
			wrong = wrong ? wrong : stays(path, to, way == LATE ? lates[k] : S);
		}
		libepf_filter_free(f);
	}
	return wrong;
}

static void check(const char *what, const char *how, const char *wrong, long printed)
{
	tap_ok(!wrong && !printed, "%s: %s%s%s", what, how, wrong || printed ? ": " : "",
	       wrong   ? wrong :
	       printed ? "the library prints" :
			 "");
}

static void memory(const char *kind)
{
	static const char *const how[] = { "saved", "saved late", "merged" };
	bool lanes = !strcmp(kind, "lanes");
	struct libepf_filter *f = filter_new(kind, false, 0);
	char path[128]; /* temp_path() soon returns the same bytes again */
	const char *wrong;
	enum way way;
	int i;

	snprintf(path, sizeof(path), "%s", temp_path("empty.epf"));
	for (way = SAVED; way < (lanes ? WAYS : MERGED); way++) {
		silent_begin();
		wrong = f && !libepf_filter_save(f, path, 0, WALL) ? NULL : libepf_error();
		for (i = 0; i < (lanes ? 4 : 1) && !wrong; i++)
			wrong = law(path, way, i & 1, i >> 1);
		check(kind, how[way], wrong, silent_end());
	}
	libepf_filter_free(f);
}

/* --------------------------------------------------------------- kernel ---- */

static uint64_t clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * S + (uint64_t)t.tv_nsec;
}

#define CASES 4u /* of each kind */
#define FILTERS (16 * CASES)
#define PAUSE_NS 2000000 /* between two rounds of questions: what is lost stays lost */

/**
 * struct held - a filter of the kernel with one key
 * @kind: of which kind
 * @k: handle
 * @other: if the contents come by a swap, the filter that they come from
 * @until_ns: the key is in the window at least until then
 * @asked: answers that came before that
 */
struct held {
	const char *kind;
	struct libepf_kernel *k, *other;
	uint64_t until_ns;
	unsigned int asked;
};

static const uint64_t late_halves[CASES] = { 0, 1, 7, 7 }; /* half epochs */

static struct libepf_keys the_key(void)
{
	static const uint64_t key = 7;

	return keys_of(&key, 1);
}

static const char *name_of(unsigned int i, bool other)
{
	static char name[2][32];

	snprintf(name[other], sizeof(name[0]), NAME "%u%s", i, other ? "_other" : "");
	return name[other];
}

static int kernel_new(unsigned int i, bool other, const char *kind, uint32_t backend,
		      uint64_t window_ns, struct libepf_kernel **k)
{
	struct libepf_kernel_options o = { .size = sizeof(o),
					   .backend = backend,
					   .flags = LIBEPF_KERNEL_TIMER };
	struct libepf_plan p = { .size = sizeof(p),
				 .kind = kind,
				 .error = 1e-4,
				 .limit = 1,
				 .window_ns = window_ns,
				 .rate = 100,
				 .hash_key = HASH_KEY };

	return libepf_kernel_create(name_of(i, other), &p, &o, k);
}

static uint64_t epoch_of(struct libepf_kernel *k)
{
	struct libepf_info info = { .size = sizeof(info) };

	return libepf_kernel_info(k, &info) ? 0 : info.epoch;
}

/* Insert, save, make the epoch late, restore; every other filter gets the contents by a swap. If an
 * epoch ends before the copy is made, the key is in the one before the late one, which would then
 * have ended before the key came: once more.
 */
static const char *fill(struct held *h, unsigned int i, uint32_t backend, uint64_t window_ns)
{
	const char *path = temp_path("kernel.epf");
	struct libepf_keys key = the_key();
	unsigned int tries = 0;
	uint64_t epoch;

	do {
		epoch = epoch_of(h->k);
		h->until_ns = clock_now() + window_ns;
		if (libepf_kernel_insert(h->k, &key) || libepf_kernel_save(h->k, path))
			return libepf_error();
	} while (epoch_of(h->k) != epoch && ++tries < 20);
	if (make_late(path, late_halves[i % CASES] * window_ns / 14))
		return "the snapshot could not be changed";
	if (libepf_kernel_clear(h->k) || libepf_kernel_restore(h->other ? h->other : h->k, path))
		return libepf_error();
	if (h->other && libepf_kernel_swap(name_of(i, true), name_of(i, false), backend))
		return libepf_error();
	return NULL;
}

/* Ask @h whether it still has its key. */
static const char *ask(struct held *h, unsigned int i)
{
	static char text[128];
	struct libepf_keys key = the_key();
	uint8_t age = LIBEPF_AGE_UNKNOWN;
	uint64_t now;

	if (libepf_kernel_test(h->k, &key, &age) < 0)
		return libepf_error();
	now = clock_now();
	if (now >= h->until_ns)
		return NULL;
	h->asked++;
	if (age != LIBEPF_AGE_ABSENT)
		return NULL;
	snprintf(text, sizeof(text), "%s, %llu / 14 windows late%s: a key leaves %llu ms early",
		 h->kind, (unsigned long long)late_halves[i % CASES], h->other ? ", by swap" : "",
		 (unsigned long long)(h->until_ns - now) / 1000000);
	return text;
}

static const char *ask_all(struct held *h, unsigned int nr)
{
	const char *wrong = NULL;
	unsigned int i;

	for (i = 0; i < nr && !wrong; i++)
		wrong = ask(&h[i], i);
	return wrong;
}

/* Make the filters of each kind that the backend has. Return: how many. */
static unsigned int kernel_all(struct held *h, uint32_t backend, uint64_t window_ns,
			       const char **wrong)
{
	unsigned int i, nr = 0, end;
	const char *kind;

	for (i = 0; (kind = libepf_kind(i)) && !*wrong; i++) {
		if (!strcmp(kind, "elastic") && !getenv("EPF_THOROUGH"))
			continue; /* planning takes a minute in an emulated guest */
		if (nr + CASES > FILTERS)
			*wrong = "more kinds than this test has room for";
		else if (kernel_new(nr, false, kind, backend, window_ns, &h[nr].k))
			continue;
		for (end = nr + CASES; nr < end && !*wrong; nr++) {
			h[nr].kind = kind;
			if ((!h[nr].k &&
			     kernel_new(nr, false, kind, backend, window_ns, &h[nr].k)) ||
			    (nr % 2 &&
			     kernel_new(nr, true, kind, backend, window_ns, &h[nr].other)))
				*wrong = libepf_error();
		}
	}
	return nr;
}

/* All kinds share one window. Return: NULL; "": the machine was too slow for it; what is wrong. */
static const char *kernel_window(uint32_t backend, uint64_t window_ns, unsigned int *kinds)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct held h[FILTERS] = { { NULL } };
	const char *wrong = NULL;
	unsigned int i, nr = kernel_all(h, backend, window_ns, &wrong);

	*kinds = nr / CASES;
	for (i = 0; i < nr && !wrong; i++) {
		wrong = fill(&h[i], i, backend, window_ns);
		wrong = wrong ? wrong : ask_all(h, i + 1);
	}
	while (nr && !wrong && clock_now() < h[nr - 1].until_ns) {
		wrong = ask_all(h, nr);
		nanosleep(&pause, NULL);
	}
	for (i = 0; i < nr; i++) {
		if (!wrong && !h[i].asked)
			wrong = "";
		libepf_kernel_close(h[i].k);
		libepf_kernel_close(h[i].other);
		libepf_kernel_destroy(name_of(i, false), backend, 1);
		libepf_kernel_destroy(name_of(i, true), backend, 1);
	}
	return wrong;
}

static void kernel(uint32_t backend, const char *what)
{
	const char *wrong;
	uint64_t window_ns = WINDOW;
	unsigned int kinds;
	char how[64];
	long printed;

	silent_begin();
	do {
		wrong = kernel_window(backend, window_ns, &kinds);
		window_ns *= 2;
	} while (wrong && !*wrong);
	printed = silent_end();
	printf("# %s: a window of %llu ms\n", what, (unsigned long long)window_ns / 2000000);
	snprintf(how, sizeof(how), "%u kinds, restored or swapped, late or not", kinds);
	if (kinds)
		check(what, how, wrong, printed);
	else
		tap_ok(true, "%s # SKIP %s", what, libepf_error());
}

/* usage: overdue [KIND|kernel], or that in EPF_OVERDUE */
int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : getenv("EPF_OVERDUE"), *kind;
	unsigned int i, cases = 0;

	for (i = 0; (kind = libepf_kind(i)); i++)
		if (!only || !strcmp(only, kind))
			cases += strcmp(kind, "lanes") ? MERGED : WAYS;
	tap_plan((int)cases + (!only || !strcmp(only, "kernel") ? 2 : 0));
	for (i = 0; (kind = libepf_kind(i)); i++)
		if (!only || !strcmp(only, kind))
			memory(kind);
	if (!only || !strcmp(only, "kernel")) {
		kernel(LIBEPF_BACKEND_BPF, "pure BPF");
		kernel(LIBEPF_BACKEND_MODULE, "the module");
	}
	temp_gone();
	return tap_end();
}
