// SPDX-License-Identifier: GPL-2.0
/*
 * What a program may pass by mistake: NULL, sizes, flags, numbers out of range, files that
 * are no snapshots. Each is an errno with a text; nothing crashes, and nothing is printed.
 */
#include "lib.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>

#define DRAWN 60u

/* Each call that should have been refused, and was not or not so. */
static char wrong[4096];

static void refused_at(int line, int64_t got, int want)
{
	size_t at = strlen(wrong);

	if (got != want || !*libepf_error() || strchr(libepf_error(), '\n'))
		snprintf(wrong + at, sizeof(wrong) - at, " line %d: %lld '%s'", line,
			 (long long)got, libepf_error());
}
#define refused(call, want) refused_at(__LINE__, call, want)

static struct libepf_plan good_plan(void)
{
	return (struct libepf_plan){ .size = sizeof(struct libepf_plan),
				     .window_keys = 1000,
				     .hash_key = HASH_KEY };
}

/* ---------------------------------------------------------------- plans ---- */

static int try_plan(const struct libepf_plan *p)
{
	struct libepf_filter *f = (struct libepf_filter *)&f;
	int err = libepf_filter_new(p, 0, &f);

	if (!err)
		libepf_filter_free(f);
	return err && f ? 1 : err;
}

#define PLAN(error, member, value)                   \
	do {                                         \
		struct libepf_plan p_ = good_plan(); \
                                                     \
		p_.member = value;                   \
		refused(try_plan(&p_), error);       \
	} while (0)

/* The errors that a kind is planned for, at both ends. */
static void errors(void)
{
	static const struct {
		const char *kind;
		double least;
	} rows[] = { { "lanes", 1e-9 },
		     { "ge", 1e-9 },
		     { "gebl", 1e-9 },
		     { "dict", 1e-9 },
		     { "elastic", 1e-5 } };
	struct libepf_size size = { .size = sizeof(size) };
	struct libepf_plan p = good_plan();
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		p.kind = rows[i].kind;
		p.error = rows[i].least * (1 - 1e-9);
		refused(libepf_plan_size(&p, &size), -EINVAL);
		p.error = 0.5 * (1 + 1e-9);
		refused(libepf_plan_size(&p, &size), -EINVAL);
		p.error = 0.5;
		if (libepf_plan_size(&p, &size))
			strcat(wrong, libepf_error());
		p.error = rows[i].least;
		if (libepf_plan_size(&p, &size))
			strcat(wrong, libepf_error());
	}
}

static void plans(void)
{
	struct libepf_size size = { .size = sizeof(size) };
	struct libepf_plan p = good_plan();
	struct libepf_filter *f;
	unsigned char larger[sizeof(p) + 8] = { 0 };

	refused(try_plan(NULL), -EINVAL);
	refused(libepf_filter_new(&p, 0, NULL), -EINVAL);
	refused(libepf_filter_new(&p, LIBEPF_TIME_MAX + 1, &f), -EINVAL);
	PLAN(-EINVAL, size, 0);
	PLAN(-EINVAL, size, sizeof(p) - 1);
	PLAN(-EINVAL, flags, 1u << 31);
	PLAN(-EINVAL, flags, LIBEPF_EITHER);
	PLAN(-EINVAL, flags, LIBEPF_EITHER | LIBEPF_BOTH);
	PLAN(-EINVAL, window_keys, 0);
	PLAN(-EINVAL, window_keys, 1ULL << 40);
	PLAN(-EINVAL, window_ns, 1);
	PLAN(-EINVAL, window_ns, UINT64_MAX);
	PLAN(-EINVAL, kind, "no such kind, and a name that is rather long for one of them");
	PLAN(-EINVAL, name, "");
	PLAN(-EINVAL, name, ".hidden");
	PLAN(-EINVAL, name, "a/b");
	PLAN(-EINVAL, name, "a name that is longer than the names of filters may be");
	PLAN(-EINVAL, error, -1);
	PLAN(-EINVAL, error, NAN);
	PLAN(-EINVAL, error, INFINITY);
	PLAN(-EINVAL, error, 0.6);
	PLAN(-EINVAL, error, 1e-10);
	PLAN(-EINVAL, limit, NAN);
	PLAN(-EINVAL, limit, 1e-5);
	PLAN(-EINVAL, limit, 2);
	PLAN(-EINVAL, rate, -1);
	PLAN(-EINVAL, rate, NAN);
	PLAN(-EINVAL, rate, INFINITY);
	PLAN(-ENOSPC, slack, 0.01);
	PLAN(-EINVAL, slack, NAN);
	PLAN(-EINVAL, max_bytes, 1);
	p.name = "31-characters-are-a-name-of-31.";
	if (strlen(p.name) != LIBEPF_NAME_MAX || try_plan(&p))
		strcat(wrong, " a name of 31 characters is refused");
	PLAN(-EINVAL, name, "32-characters-are-longer-than-31");
	p.name = NULL;
	p.window_keys = 1000000;
	p.max_bytes = 4096;
	refused(try_plan(&p), -ENOSPC);
	p.max_bytes = 0;
	p.window_keys = (1ULL << 40) - 1;
	p.error = 1e-9;
	refused(try_plan(&p), -E2BIG);
	errors();
	p = good_plan();
	refused(libepf_plan_size(&p, NULL), -EINVAL);
	size.size = 8;
	refused(libepf_plan_size(&p, &size), -EINVAL);
	memcpy(larger, &p, sizeof(p));
	*(uint32_t *)larger = sizeof(larger);
	if (try_plan((struct libepf_plan *)larger))
		strcat(wrong, " a longer plan of zeros is refused");
	larger[sizeof(larger) - 1] = 1;
	refused(try_plan((struct libepf_plan *)larger), -E2BIG);
}

/* Plans drawn at random: each is refused, or makes a filter that works. */
static void drawn_plans(void)
{
	static const double rates[] = { 0, 1e-9, 1e-4, 0.5, 1, 3, 1e9, -0.0 };
	static const uint64_t windows[] = { 0, 1, 7, 1000, 1u << 20, 1ULL << 61 };
	uint64_t state = 5, r, key = 1;
	struct libepf_keys keys = keys_of(&key, 1);
	struct libepf_filter *f;
	unsigned int i;
	uint8_t age;

	for (i = 0; i < DRAWN; i++) {
		struct libepf_plan p = { .size = sizeof(p), .max_bytes = 1u << 26 };

		r = draw(&state);
		p.kind = libepf_kind(r & 7);
		p.flags = r >> 3 & 7;
		p.window_keys = windows[(r >> 8 & 255) % 5];
		p.window_ns = windows[(r >> 16 & 255) % 6];
		p.rate = rates[r >> 24 & 7];
		p.error = rates[r >> 28 & 3];
		p.limit = rates[r >> 32 & 3];
		p.slack = r >> 36 & 7 ? 0 : rates[r >> 40 & 7];
		if (libepf_filter_new(&p, r >> 50, &f))
			continue;
		libepf_filter_test_and_insert(f, &keys, r >> 50, NULL);
		libepf_filter_test(f, &keys, r >> 50, &age);
		if (age == LIBEPF_AGE_ABSENT)
			snprintf(wrong, sizeof(wrong), " plan %u loses a key", i);
		libepf_filter_test(f, &keys, LIBEPF_TIME_MAX, &age);
		libepf_filter_rotate(f, 0);
		libepf_filter_insert(f, &keys, 5);
		libepf_filter_free(f);
	}
}

/* ----------------------------------------------------------------- keys ---- */

static void keys(void)
{
	static unsigned char bytes[1000];
	uint16_t lens[] = { 1, 256, 257 }, zero[] = { 0 };
	struct libepf_keys good = { bytes, NULL, 3, 8 }, none = { NULL, NULL, 0, 0 };
	struct libepf_keys most = { bytes, NULL, 1, LIBEPF_KEY_MAX }, each = { bytes, lens, 2, 0 };
	struct libepf_keys bad[] = {
		{ NULL, NULL, 1, 8 },
		{ bytes, NULL, 1, 0 },
		{ bytes, NULL, 1, 257 },
		{ bytes, NULL, SIZE_MAX, 8 },
		{ bytes, NULL, SIZE_MAX, SIZE_MAX },
		{ bytes, lens, 3, 0 },
		{ bytes, lens, 1, 8 },
		{ bytes, zero, 1, 0 },
	};
	struct libepf_plan p = good_plan();
	struct libepf_info info = { .size = 16 };
	struct libepf_filter *f;
	size_t i;

	if (libepf_filter_new(&p, 0, &f)) {
		strcat(wrong, " no filter");
		return;
	}
	if (libepf_filter_insert(f, &most, 0) || libepf_filter_test(f, &each, 0, NULL) != 1)
		strcat(wrong, " a key of 256 bytes is refused");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		refused(libepf_filter_insert(f, &bad[i], 0), -EINVAL);
		refused(libepf_filter_test(f, &bad[i], 0, NULL), -EINVAL);
		refused(libepf_filter_test_and_insert(f, &bad[i], 0, NULL), -EINVAL);
	}
	refused(libepf_filter_insert(f, NULL, 0), -EINVAL);
	refused(libepf_filter_insert(NULL, &good, 0), -EINVAL);
	refused(libepf_filter_test(NULL, &good, 0, NULL), -EINVAL);
	refused(libepf_filter_insert(f, &good, LIBEPF_TIME_MAX + 1), -EINVAL);
	refused(libepf_filter_rotate(NULL, 0), -EINVAL);
	refused(libepf_filter_rotate(f, UINT64_MAX - 1), -EINVAL);
	refused(libepf_filter_info(f, 0, NULL), -EINVAL);
	refused(libepf_filter_info(f, 0, &info), -EINVAL);
	refused(libepf_filter_save(f, NULL, 0, 0), -EINVAL);
	refused(libepf_filter_save(f, "/", 0, 0), -EISDIR);
	refused(libepf_filter_save(f, temp_path("no/x"), 0, 0), -ENOENT);
	refused(libepf_filter_save(NULL, temp_path("x"), 0, 0), -EINVAL);
	if (libepf_filter_insert(f, &none, 0) || libepf_filter_test(f, &none, 0, NULL))
		strcat(wrong, " no keys are refused");
	if (info_of(f, 0).inserts != 1)
		strcat(wrong, " a refused batch inserts");
	if (libepf_filter_insert(f, &good, LIBEPF_TIME_MAX))
		strcat(wrong, " the last time is refused");
	libepf_filter_free(f);
	libepf_filter_free(NULL);
}

/* ------------------------------------------------------------ snapshots ---- */

static char *read_file(const char *path, size_t *bytes)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	char *data;

	if (fd < 0 || fstat(fd, &st))
		abort();
	*bytes = (size_t)st.st_size;
	data = malloc(*bytes + 1);
	if (!data || read(fd, data, *bytes) != (ssize_t)*bytes)
		abort();
	close(fd);
	return data;
}

/* Gets the contents of sound files, and keeps them when others are refused. */
static struct libepf_filter *victim;

static int open_bytes(const char *data, size_t bytes)
{
	const char *path = temp_path("hostile.epf");
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct libepf_snapshot *s = (struct libepf_snapshot *)&fd;
	int err;

	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		abort();
	close(fd);
	err = libepf_snapshot_open(path, 0, &s);
	if (!err)
		libepf_snapshot_close(s);
	if (err != libepf_filter_restore(victim, path, 0, NULL))
		return 2;
	return err && s ? 1 : err;
}

static const char *save(const char *kind)
{
	const char *path = temp_path(kind);
	struct libepf_plan p = good_plan();
	struct libepf_filter *f;
	uint64_t key;
	struct libepf_keys keys = keys_of(&key, 1);

	p.kind = kind;
	if (!strcmp(kind, "tlbf") || !strcmp(kind, "chain")) {
		p.window_keys = 0;
		p.window_ns = 1000000;
		p.rate = 1e6;
	}
	if (libepf_filter_new(&p, 0, &f))
		abort();
	for (key = 0; key < 500; key++)
		libepf_filter_insert(f, &keys, key * 1000);
	if (libepf_filter_save(f, path, 500000, 1))
		abort();
	libepf_filter_free(f);
	return path;
}

/* A snapshot of each kind, cut off at many lengths, longer, and with changed bytes. */
static void files(void)
{
	uint64_t state = 3;
	unsigned int i, n;
	size_t bytes, at;
	const char *kind;
	struct libepf_plan p = good_plan();
	struct libepf_info info;
	char *data;

	if (libepf_filter_new(&p, 0, &victim))
		abort();
	for (i = 0; (kind = libepf_kind(i)); i++) {
		data = read_file(save(kind), &bytes);
		if (open_bytes(data, bytes))
			strcat(wrong, " a sound snapshot is refused");
		for (n = 0; n < 40; n++) {
			at = n < 20 ? n * 40 : draw(&state) % bytes;
			refused(open_bytes(data, at), -EBADMSG);
		}
		data[bytes] = 0;
		refused(open_bytes(data, bytes + 1), -EBADMSG);
		for (n = 0; n < 200; n++) {
			at = n < 100 ? draw(&state) % 400 : draw(&state) % bytes;
			data[at] ^= (char)(1u << (draw(&state) & 7));
			refused(open_bytes(data, bytes), -EBADMSG);
			free(data);
			data = read_file(temp_path(kind), &bytes);
		}
		free(data);
		info = info_of(victim, 0);
		if (strcmp(info.kind, kind) || info.inserts != 500 || strcmp(info.name, "libepf"))
			strcat(wrong, " a refused file changes a filter");
	}
	libepf_filter_free(victim);
}

static void restores(void)
{
	struct {
		struct libepf_restore o;
		uint32_t more[2];
	} longer = { .o.size = sizeof(longer) };
	struct libepf_restore o = { .size = sizeof(o) };
	const char *path = save("lanes");
	struct libepf_plan p = good_plan();
	struct libepf_filter *f;

	if (libepf_filter_new(&p, 0, &f)) {
		strcat(wrong, " no filter");
		return;
	}
	refused(libepf_filter_restore(NULL, path, 0, NULL), -EINVAL);
	refused(libepf_filter_restore(f, NULL, 0, NULL), -EINVAL);
	refused(libepf_filter_restore(f, path, LIBEPF_TIME_MAX + 1, NULL), -EINVAL);
	refused(libepf_filter_restore(f, temp_path("none"), 0, NULL), -ENOENT);
	refused(libepf_filter_restore(f, "/", 0, NULL), -EISDIR);
	refused(libepf_filter_restore(f, "/dev/null", 0, NULL), -ESPIPE);
	o.flags = 1u << 2;
	refused(libepf_filter_restore(f, path, 0, &o), -EINVAL);
	o.size = 4;
	refused(libepf_filter_restore(f, path, 0, &o), -EINVAL);
	longer.more[1] = 1;
	refused(libepf_filter_restore(f, path, 0, &longer.o), -E2BIG);
	if (info_of(f, 0).inserts)
		strcat(wrong, " a refused restore changes the filter");
	longer.more[1] = 0;
	if (libepf_filter_restore(f, path, 0, &longer.o) || info_of(f, 0).inserts != 500)
		strcat(wrong, " longer options of zeros are refused");
	libepf_filter_free(f);
}

/* Every call with @other, a time of the clock that is not the filter's, is refused. */
static void other_clock(struct libepf_filter *f, uint64_t other)
{
	struct libepf_keys good = { "abcdefgh", NULL, 1, 8 };
	struct libepf_info info = { .size = sizeof(info) };
	const struct {
		const char *call;
		int64_t got;
	} calls[] = {
		{ "insert", libepf_filter_insert(f, &good, other) },
		{ "test", libepf_filter_test(f, &good, other, NULL) },
		{ "test_and_insert", libepf_filter_test_and_insert(f, &good, other, NULL) },
		{ "rotate", libepf_filter_rotate(f, other) },
		{ "info", libepf_filter_info(f, other, &info) },
		{ "save", libepf_filter_save(f, temp_path("other.epf"), other, 1) },
		{ "restore", libepf_filter_restore(f, temp_path("lanes"), other, NULL) },
	};
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].got != -EINVAL) {
			strcat(wrong, " ");
			strcat(wrong, calls[i].call);
		}
	if (!access(temp_path("other.epf"), F_OK))
		strcat(wrong, " a refused save leaves a file");
}

/* A filter on LIBEPF_NOW, and one on the program's clock, of kinds with and without locks. */
static void clocks(void)
{
	static const char *const kinds[] = { "lanes", "ge" };
	struct libepf_keys good = { "abcdefgh", NULL, 1, 8 };
	struct libepf_plan p = good_plan();
	struct libepf_filter *f;
	unsigned int i;

	save("lanes");
	for (i = 0; i < 4; i++) {
		uint64_t own = i % 2 ? LIBEPF_NOW : 0, other = i % 2 ? 0 : LIBEPF_NOW;

		p.kind = kinds[i / 2];
		if (libepf_filter_new(&p, own, &f) || libepf_filter_insert(f, &good, own))
			abort();
		other_clock(f, other);
		if (libepf_filter_test(f, &good, own, NULL) != 1 || info_of(f, own).inserts != 1)
			strcat(wrong, " a refused call changes the filter");
		libepf_filter_free(f);
	}
}

static void snapshots(void)
{
	struct libepf_keys good = { "abcdefgh", NULL, 1, 8 };
	struct libepf_audit a = { .size = sizeof(a) };
	struct libepf_info info = { .size = sizeof(info) };
	struct libepf_lines lines = { .size = sizeof(lines) };
	const char *lanes = save("lanes"), *ge = save("ge");
	struct libepf_snapshot *s, *locked;

	refused(libepf_snapshot_open(NULL, 0, &s), -EINVAL);
	refused(libepf_snapshot_open(lanes, 0, NULL), -EINVAL);
	refused(libepf_snapshot_open(lanes, 1u << 7, &s), -EINVAL);
	refused(libepf_snapshot_open(temp_path("none"), 0, &s), -ENOENT);
	refused(libepf_snapshot_open("/", 0, &s), -EISDIR);
	refused(libepf_snapshot_open("/dev/null", 0, &s), -ESPIPE);
	refused(libepf_snapshot_take(NULL, &s), -EINVAL);
	if (libepf_snapshot_open(lanes, LIBEPF_SNAPSHOT_COPY, &s) ||
	    libepf_snapshot_open(ge, LIBEPF_SNAPSHOT_COPY, &locked)) {
		strcat(wrong, " no snapshot");
		return;
	}
	refused(libepf_snapshot_audit(s, &good, NULL), -EINVAL);
	refused(libepf_snapshot_audit(NULL, &good, &a), -EINVAL);
	refused(libepf_snapshot_audit(s, NULL, &a), -EINVAL);
	refused(libepf_snapshot_test(s, NULL, NULL), -EINVAL);
	refused(libepf_snapshot_test(NULL, &good, NULL), -EINVAL);
	refused(libepf_snapshot_info(NULL, &info), -EINVAL);
	refused(libepf_snapshot_info(s, NULL), -EINVAL);
	refused(libepf_snapshot_lines(NULL, &lines), -EINVAL);
	refused(libepf_snapshot_lines(s, NULL), -EINVAL);
	refused(libepf_snapshot_lines(locked, &lines), -EOPNOTSUPP);
	lines.size = 4;
	refused(libepf_snapshot_lines(s, &lines), -EINVAL);
	a.threads = 1024;
	if (libepf_snapshot_audit(s, &good, &a))
		strcat(wrong, " 1024 threads are refused");
	a.threads = 1025;
	refused(libepf_snapshot_audit(s, &good, &a), -EINVAL);
	a.threads = 0;
	a.engine = "warp";
	refused(libepf_snapshot_audit(s, &good, &a), -ENOENT);
	a.engine = "ring";
	refused(libepf_snapshot_audit(locked, &good, &a), -EOPNOTSUPP);
	a.size = 4;
	refused(libepf_snapshot_audit(s, &good, &a), -EINVAL);
	libepf_snapshot_close(s);
	libepf_snapshot_close(locked);
	libepf_snapshot_close(NULL);
}

static void merges(void)
{
	const char *lanes = save("lanes"), *out = temp_path("out.epf");
	const char *same[] = { lanes, lanes }, *null[] = { lanes, NULL }, *gone[] = { "/none" };
	struct libepf_merge m = { .size = sizeof(m) };

	refused(libepf_merge(NULL, 1, out, NULL), -EINVAL);
	refused(libepf_merge(same, 0, out, NULL), -EINVAL);
	refused(libepf_merge(same, 257, out, NULL), -EINVAL);
	refused(libepf_merge(null, 2, out, NULL), -EINVAL);
	refused(libepf_merge(same, 1, NULL, NULL), -EINVAL);
	refused(libepf_merge(same, 1, lanes, NULL), -EINVAL);
	refused(libepf_merge(gone, 1, out, NULL), -ENOENT);
	refused(libepf_merge(same, 1, out, NULL), -EINVAL); /* a window of insertions */
	m.flags = 8;
	refused(libepf_merge(same, 1, out, &m), -EINVAL);
	m.flags = 0;
	m.limit = NAN;
	refused(libepf_merge(same, 1, out, &m), -EINVAL);
	m.size = 2;
	refused(libepf_merge(same, 1, out, &m), -EINVAL);
	if (!access(out, F_OK))
		strcat(wrong, " a refused merge leaves a file");
}

/* --------------------------------------------------------------- kernel ---- */

static void kernels(void)
{
	struct libepf_kernel_options o = { .size = sizeof(o) };
	struct libepf_keys good = { "abcdefgh", NULL, 1, 8 };
	struct libepf_info info = { .size = sizeof(info) };
	struct libepf_plan p = good_plan();
	struct libepf_kernel *k;

	refused(libepf_kernel_open(NULL, 0, &k), -EINVAL);
	refused(libepf_kernel_open("a", 0, NULL), -EINVAL);
	refused(libepf_kernel_open("a", 9, &k), -EINVAL);
	refused(libepf_kernel_open("a/b", 0, &k), -EINVAL);
	refused(libepf_kernel_create(NULL, &p, NULL, &k), -EINVAL);
	refused(libepf_kernel_create("a", NULL, NULL, &k), -EINVAL);
	refused(libepf_kernel_create("../a", &p, NULL, &k), -EINVAL);
	o.flags = LIBEPF_KERNEL_ALIGN;
	refused(libepf_kernel_create("a", &p, &o, &k), -EINVAL);
	o.flags = 1u << 9;
	refused(libepf_kernel_create("a", &p, &o, &k), -EINVAL);
	o.flags = 0;
	o.backend = 3;
	refused(libepf_kernel_create("a", &p, &o, &k), -EINVAL);
	o.size = 1;
	refused(libepf_kernel_create("a", &p, &o, &k), -EINVAL);
	refused(libepf_kernel_destroy(NULL, 0, 0), -EINVAL);
	refused(libepf_kernel_destroy("a", 9, 0), -EINVAL);
	refused(libepf_kernel_insert(NULL, &good), -EINVAL);
	refused(libepf_kernel_test(NULL, &good, NULL), -EINVAL);
	refused(libepf_kernel_test_and_insert(NULL, &good, NULL), -EINVAL);
	refused(libepf_kernel_info(NULL, &info), -EINVAL);
	refused(libepf_kernel_clear(NULL), -EINVAL);
	refused(libepf_kernel_save(NULL, "/tmp/x"), -EINVAL);
	refused(libepf_kernel_restore(NULL, "/tmp/x"), -EINVAL);
	refused(libepf_kernel_rotate(NULL, 1), -EINVAL);
	refused(libepf_kernel_swap(NULL, "a", 0), -EINVAL);
	refused(libepf_kernel_swap("a", NULL, 0), -EINVAL);
	refused(libepf_kernel_swap("a", "a", 0), -EINVAL);
	refused(libepf_kernel_swap("a", "b", 3), -EINVAL);
	refused(libepf_kernel_swap("a", "b/c", 0), -EINVAL);
	libepf_kernel_close(NULL);
}

static void lists_and_holds(void)
{
	struct libepf_list *list = (struct libepf_list *)&list;
	struct libepf_hold *hold = (struct libepf_hold *)&hold;
	struct libepf_info info = { .size = sizeof(info) };
	uint64_t wait_ns;

	refused(libepf_list_open(0, NULL), -EINVAL);
	refused(libepf_list_open(3, &list), -EINVAL);
	refused(libepf_list_next(NULL, &info), -EINVAL);
	if (list)
		strcat(wrong, " a refused list is left");
	if (!libepf_list_open(LIBEPF_BACKEND_ANY, &list)) {
		refused(libepf_list_next(list, NULL), -EINVAL);
		info.size = 16;
		refused(libepf_list_next(list, &info), -EINVAL);
	}
	libepf_list_close(list);
	libepf_list_close(NULL);
	/* Without libbpf, as in the sanitized program, a name is not looked at. */
	if (libepf_hold_open("a/b", &hold) != -EOPNOTSUPP)
		refused(libepf_hold_open("a/b", &hold), -EINVAL);
	if (libepf_hold_open(NULL, &hold) != -EOPNOTSUPP)
		refused(libepf_hold_open(NULL, &hold), -EINVAL);
	if (hold)
		strcat(wrong, " a refused hold is left");
	refused(libepf_hold_open("a", NULL), -EINVAL);
	refused(libepf_hold_step(NULL, &wait_ns), -EINVAL);
	refused(libepf_hold_fd(NULL), -EINVAL);
	libepf_hold_close(NULL);
}

static void check(const char *what, void (*run)(void))
{
	long printed;

	*wrong = 0;
	silent_begin();
	run();
	printed = silent_end();
	tap_ok(!*wrong && !printed, "%s%s%s%s", what, *wrong ? ":" : "", wrong,
	       printed ? ": the library prints" : "");
}

int main(void)
{
	tap_plan(11);
	tap_ok(!*libepf_error() && *libepf_version(), "no error yet, and a version");
	check("plans out of range are refused", plans);
	check("drawn plans are refused or work", drawn_plans);
	check("keys, handles and times out of range are refused", keys);
	check("a filter keeps to one clock: the other kind of time is refused", clocks);
	check("files that are no sound snapshots are refused, of all kinds", files);
	check("restores out of range are refused, and change nothing", restores);
	check("audits out of range are refused", snapshots);
	check("merges that do not fit are refused", merges);
	check("calls on filters of the kernel out of range are refused", kernels);
	check("lists and holds out of range are refused", lists_and_holds);
	temp_gone();
	return tap_end();
}
