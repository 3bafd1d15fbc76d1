// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots of the locked kinds: an audit of the file gives the filter's own answers,
 * byte by byte; a restored filter continues like the original; what a pin prevents, and
 * what invalidates a copy; what is refused.
 */
#include "sized.h"

#include "audit.h"
#include "kinds/compare.h"

#include <epf/dict.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define NAME "mod-image"
#define AGAIN "mod-image-new"
#define FILE_NAME "/tmp/mod-image.snap"
#define WINDOW 20000u
#define ASKED_MAX 160000u   /* keys asked for, of each kind */
#define SPAN (360000 * SEC) /* its timer fires once an hour at most */

/* A copy as the device returns it. */
struct image {
	struct epf_snap_header header;
	struct epf_snap_locked *locked; /* followed by its words */
	__u64 bytes;
};

static __u64 digests[ASKED_MAX];
static __u32 asked;

/**
 * Verdicts for all digests.
 */
struct answer {
	unsigned char bitmap[ASKED_MAX / 8];
	unsigned char ages[ASKED_MAX];
};

static struct answer live, filed;

static struct epf_compared sized(__u32 kind)
{
	return test_sized(kind, WINDOW, 1e-3);
}

static struct epf_params params(__u32 kind, const char *name)
{
	struct epf_params p = test_locked_params(name, kind, WINDOW);

	if (test_is_resizable(kind))
		test_set_span(&p, SPAN);
	return p;
}

static int make(const struct epf_compared *c, const char *name)
{
	struct epf_params p = params(c->number, name);

	return test_make_kind(&p, &c->shape);
}

/* Fill up to some point of the fourth window. */
static void fill(int fd, const struct epf_compared *c)
{
	__u64 each = WINDOW / c->epochs, i;

	if (!test_is_resizable(c->number)) {
		test_insert(fd, 1, 0, 3 * WINDOW + each / 2);
		return;
	}
	for (i = 0; i < c->epochs + 3; i++) {
		test_insert(fd, 1, i * each, each);
		test_demand(!epf_filter_rotate(fd, 1, NULL));
	}
	test_insert(fd, 1, i * each, each / 2);
}

/* Half of them have been inserted, but not all recently. */
static void draw_digests(void)
{
	__u32 step, i;

	asked = test_rounds(ASKED_MAX / 40, ASKED_MAX);
	step = ASKED_MAX / asked;

	for (i = 0; i < asked; i++)
		digests[i] = test_digest(i < asked / 2 ? 1 : 2, i * step);
}

static void ask(int fd, struct answer *a)
{
	struct epf_batch b = test_batch(digests, asked);

	b.bitmap = (uintptr_t)a->bitmap;
	b.ages = (uintptr_t)a->ages;
	test_demand(!epf_filter_batch(fd, EPF_IOC_TEST, &b));
}

static __u32 different_ages(const struct answer *a)
{
	__u8 seen[256] = { 0 };
	__u32 i, n = 0;

	for (i = 0; i < asked; i++)
		seen[a->ages[i]] = 1;
	for (i = 0; i < EPF_AGE_ABSENT; i++)
		n += seen[i];
	return n;
}

static struct epf_snap_file saved(int fd)
{
	enum epf_snap_fault fault;
	struct epf_snap_file file;
	int err = epf_snap_save(fd, FILE_NAME, NULL, NULL, NULL);

	if (!err)
		err = epf_snap_open(FILE_NAME, &file, NULL, NULL, &fault);
	if (err)
		printf("# save: %d, fault %d\n", err, fault);
	test_demand(!err);
	return file;
}

/* The engines compute histogram and checksum themselves: audit/engines. */
static void audit(const struct epf_snap_file *file, struct answer *a, const char *engine, int want)
{
	struct epf_keys keys = { .data = digests, .n = asked };
	struct epf_answer got = { .bitmap = a->bitmap, .ages = a->ages };
	struct epf_view v;

	test_demand(!epf_view_snap(&v, file));
	test_demand(epf_engine_find(engine)->query(&v, &keys, &got) == want);
	test_demand(epf_engine_serves(epf_engine_find(engine), &v) == !want);
	epf_view_close(&v);
}

static bool same(const char *what)
{
	__u32 i;

	for (i = 0; i < asked; i++)
		if (live.ages[i] != filed.ages[i]) {
			printf("# %s: key %u: age %u, %u\n", what, i, live.ages[i], filed.ages[i]);
			return false;
		}
	return !memcmp(live.bitmap, filed.bitmap, sizeof(live.bitmap));
}

/* Both filters continue alike: later keys, and the end of each epoch. */
static bool go_on_alike(int fd, int other, const struct epf_compared *c)
{
	__u32 i;

	for (i = 0; i <= c->epochs + 1; i++) {
		test_insert(fd, 3, i * 100, 100);
		test_insert(other, 3, i * 100, 100);
		test_demand(!epf_filter_rotate(fd, 1, NULL));
		test_demand(!epf_filter_rotate(other, 1, NULL));
		if (i % (c->epochs / 2) && i < c->epochs)
			continue;
		ask(fd, &live);
		ask(other, &filed);
		if (!same("later"))
			return false;
	}
	return true;
}

/* The number of slices depends on later keys, so only keys that must be present are
 * asked for.
 */
static bool go_on(int other, const struct epf_compared *c)
{
	__u32 i;

	for (i = 0; i <= 2 * c->epochs; i++) {
		test_insert(other, 3, i * 100, 100);
		if (test_count(other, 3, i > 5 ? (i - 5) * 100 : 0, 100) != 100)
			return false;
		test_demand(!epf_filter_rotate(other, 1, NULL));
	}
	return test_count(other, 1, 0, ASKED_MAX / 2) < ASKED_MAX / 20;
}

#define ALIKE_POINTS 8
static void alike(__u32 kind)
{
	struct epf_compared c = sized(kind);
	const char *name = epf_kind_name(kind);
	int fd = make(&c, NAME), other;
	struct epf_info info, old;
	struct epf_snap_file file;

	fill(fd, &c);
	file = saved(fd);
	ask(fd, &live);
	audit(&file, &filed, "scalar", 0);
	tap_ok(same(name), "%s: an audit of the file: %u keys, %u ages, as the filter says", name,
	       asked, different_ages(&live));
	test_insert(fd, 3, 0, 1000);
	audit(&file, &filed, "scalar", 0);
	tap_ok(same("still"), "and still when keys have come to the filter");
	audit(&file, &filed, "ring", -EOPNOTSUPP);
	tap_ok(different_ages(&live) > c.epochs / 2, "%u ages are told", different_ages(&live));
	close(fd);

	fd = make(&c, NAME);
	test_demand(!epf_snap_restore(fd, &file));
	old = test_info(fd);
	ask(fd, &filed);
	tap_ok(same("restored"), "%s: restored, all answers and ages are equal", name);
	epf_snap_close(&file);
	file = saved(fd);
	other = make(&c, AGAIN);
	test_insert(other, 4, 0, 1000);
	test_demand(!epf_snap_restore(other, &file));
	info = test_info(other);
	tap_ok(info.epoch == old.epoch && info.epoch == file.header.epoch_end &&
		       info.covered_inserts == old.covered_inserts &&
		       info.covered_ns >= old.covered_ns &&
		       info.stats.inserts == old.stats.inserts &&
		       !memcmp(&info.shape, &old.shape, sizeof(info.shape)),
	       "so are epoch, insertions, what is covered: %llu, and shape", info.covered_inserts);
	test_is(test_count(other, 4, 0, 1000) > 100, 0, "what it held before is gone");
	if (test_is_resizable(kind))
		tap_ok(go_on(fd, &c), "it goes on, and forgets");
	else
		tap_ok(go_on_alike(fd, other, &c),
		       "it goes on as another one does for all its epochs");
	epf_snap_close(&file);
	close(other);
	other = test_make_plain(AGAIN, 1000);
	file = saved(fd);
	tap_ok(!epf_snap_restore(other, &file) && test_info(other).params.kind == kind &&
		       test_count(other, 3, 100 * c.epochs, 100) ==
			       test_count(fd, 3, 100 * c.epochs, 100),
	       "also a filter of lanes");
	epf_snap_close(&file);
	close(other);
	close(fd);
}

/* ------------------------------------------------------------- pins ---- */

static struct image take(int fd)
{
	static struct epf_snap_locked s;
	struct epf_snap ended;
	struct image i = { 0 };

	test_demand(!test_snap_begin(fd, EPF_PIN_MAX_NS, NULL));
	test_demand(!test_snap_read(fd, EPF_SNAP_STATE, 0, sizeof(s), &s));
	i.bytes = sizeof(s) + s.words * 8;
	i.locked = malloc(i.bytes);
	test_demand(i.locked);
	test_demand(!test_snap_read(fd, 0, 0, s.words * 8, i.locked + 1));
	test_demand(!test_snap_read(fd, EPF_SNAP_STATE, 0, sizeof(s), i.locked));
	test_demand(!test_snap_end(fd, &ended));
	i.header = ended.header;
	return i;
}

/* End epoch @e. A window in time would end it hours later, so rotate explicitly. */
static void end_epoch(int fd, const struct epf_compared *c, __u64 e)
{
	if (test_is_resizable(c->number))
		test_demand(!epf_filter_rotate(fd, 2, NULL));
	else
		test_demand(test_wait_epoch(fd, e + 1));
}

/* In the tables of a chain the words record their epoch. */
static int void_by_epoch(__u32 kind)
{
	return kind == EPF_KIND_CHAIN ? 0 : -ESTALE;
}

/* An epoch ends during a snapshot whose pin is a millisecond. A chain with many recent
 * keys adds a table, which soon ends.
 */
static void outlives(int fd, const struct epf_compared *c, __u64 keys)
{
	int want = void_by_epoch(c->number), tries, read, begun, over;
	bool passed;
	char buf[64];

	for (tries = 0; tries < 20; tries++) {
		__u64 e = test_info(fd).epoch;

		begun = test_snap_begin(fd, MS, NULL);
		if (want)
			test_insert(fd, 2, 0, keys);
		passed = test_wait(test_unpinned, &fd);
		end_epoch(fd, c, e);
		read = test_snap_read(fd, 0, 0, sizeof(buf), buf);
		over = test_snap_end(fd, NULL);
		if (want || (!read && !over))
			break;
	}
	tap_ok(!begun && passed, "BEGIN for a millisecond, which passes");
	test_is(read, want, "an epoch has ended: READ: %s",
		want ? "ESTALE" : "tables are what they were");
	tap_ok(over == want && test_snap_end(fd, NULL) == -EINVAL, "END: likewise, and it is over");
}

#define PIN_POINTS 13
static void pins(__u32 kind)
{
	struct epf_compared c = sized(kind);
	const char *name = epf_kind_name(kind);
	__u64 each = (WINDOW + c.epochs - 1) / c.epochs, e;
	int fd = make(&c, NAME), fd2 = test_open(NAME);
	static struct epf_snap_locked s;

	test_is(test_snap_read(fd, EPF_SNAP_STATE, 0, sizeof(s), &s), -EINVAL,
		"%s: READ without BEGIN: EINVAL", name);
	test_insert(fd, 1, 0, each / 2);
	e = test_info(fd).epoch;
	test_is(test_snap_begin(fd, EPF_PIN_MAX_NS, NULL), 0, "BEGIN");
	tap_ok(test_pinned(fd2) && test_snap_begin(fd2, SEC, NULL) == -EBUSY,
	       "one at a time: EBUSY");
	test_is(test_snap_read(fd2, EPF_SNAP_STATE, 0, sizeof(s), &s), -EINVAL,
		"READ on another descriptor: EINVAL");
	test_is(epf_filter_rotate(fd, 1, NULL), -EBUSY, "ROTATE: EBUSY");
	test_insert(fd, 1, each / 2, 2 * each);
	tap_ok(test_info(fd).epoch == e && test_count(fd, 1, 0, 2 * each) == (long)(2 * each),
	       "an epoch takes keys for two, all are found");
	test_is(test_snap_read(fd, EPF_SNAP_STATE, 0, sizeof(s), &s), 0, "READ");
	test_is(test_snap_end(fd, NULL), 0, "END");
	end_epoch(fd, &c, e);
	tap_ok(test_info(fd).epoch > e, "then the epoch ends");

	test_demand(!test_snap_begin(fd2, EPF_PIN_MAX_NS, NULL));
	close(fd2);
	tap_ok(!test_pinned(fd) && !epf_filter_rotate(fd, 1, NULL),
	       "closing the descriptor ends a snapshot");

	outlives(fd, &c, 2 * each);
	close(fd);
}

/* ----------------------------------------------- copies that are void ---- */

static bool hurried; /* all pins last at most a millisecond */

/* Replaces the ioctl() of the library, too. */
int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (hurried && request == EPF_IOC_SNAP_BEGIN)
		((struct epf_snap *)arg)->pin_ns = MS;
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

static bool has_moved(int fd, const struct epf_compared *c, const struct epf_info *old)
{
	struct epf_info info = test_info(fd);

	return c->number == EPF_KIND_CHAIN ? info.memory_bytes != old->memory_bytes :
					     info.epoch > old->epoch;
}

/* For chain a table comes or goes; for the others an epoch ends. How many keys a table
 * has room for depends on when the worker made it.
 */
static void move_on(int fd, const struct epf_compared *c)
{
	struct epf_info old = test_info(fd);
	__u64 nr = WINDOW / 2;

	do {
		test_insert(fd, 6, 0, nr);
		end_epoch(fd, c, old.epoch);
		nr *= 2;
	} while (!has_moved(fd, c, &old) && nr < 64 * WINDOW);
	test_demand(has_moved(fd, c, &old));
}

/**
 * struct meanwhile - the change made during a copy
 * @fd: filter that is copied
 * @c: its configuration
 * @copies: number of copies
 */
struct meanwhile {
	int fd;
	const struct epf_compared *c;
	int copies;
};

/* An epf_progress_fn called when all memory has been copied, but not the state. */
static int pass(void *ctx, __u64 done, __u64 all)
{
	struct meanwhile *m = ctx;

	if (done < all)
		return 0;
	m->copies++;
	if (hurried) {
		test_demand(test_wait(test_unpinned, &m->fd));
		move_on(m->fd, m->c);
	}
	return 0;
}

/* The pin expires during both attempts to copy, and the filter changes. */
#define VOID_POINTS 3
static void voids(__u32 kind)
{
	struct epf_compared c = sized(kind);
	const char *name = epf_kind_name(kind);
	struct meanwhile m = { make(&c, NAME), &c, 0 };
	struct epf_snap_locked s;

	unlink(FILE_NAME);
	test_insert(m.fd, 1, 0, 100);
	hurried = true;
	test_is(epf_snap_save(m.fd, FILE_NAME, pass, &m, NULL), -ESTALE,
		"%s: the filter moves on during a copy: ESTALE", name);
	tap_ok(m.copies == 2 && access(FILE_NAME, F_OK) && !test_pinned(m.fd),
	       "after another try, without a file");
	test_demand(!test_snap_begin(m.fd, MS, NULL));
	test_demand(test_wait(test_unpinned, &m.fd));
	move_on(m.fd, &c);
	tap_ok(test_snap_read(m.fd, 0, 0, 64, &s) == -ESTALE &&
		       test_snap_read(m.fd, EPF_SNAP_STATE, 0, sizeof(s), &s) == -ESTALE &&
		       test_snap_end(m.fd, NULL) == -ESTALE && test_snap_end(m.fd, NULL) == -EINVAL,
	       "nor can memory be read, or the state, or the copy be ended well");
	hurried = false;
	test_demand(!epf_snap_save(m.fd, FILE_NAME, pass, &m, NULL));
	close(m.fd);
}

/* ---------------------------------------------------------- refused ---- */

#define READ_POINTS 9
static void reads(void)
{
	struct epf_compared c = sized(EPF_KIND_GE);
	int fd = make(&c, NAME), lanes = test_make_plain(AGAIN, 1000);
	static char to[PAGE];
	static struct epf_snap_locked s;
	__u64 bytes;

	test_demand(!test_snap_begin(fd, EPF_PIN_MAX_NS, NULL));
	test_demand(!test_snap_read(fd, EPF_SNAP_STATE, 0, sizeof(s), &s));
	bytes = s.words * 8;
	test_is(test_snap_read(fd, 0, 64, 64, to), -EINVAL, "READ inside a piece");
	test_is(test_snap_read(fd, 0, 0, 0, to), -EINVAL, "READ of nothing");
	test_is(test_snap_read(fd, 0, bytes & -PAGE, bytes % PAGE + 8, to), -EINVAL,
		"READ beyond the end");
	test_is(test_snap_read(fd, 0, -PAGE, PAGE, to), -EINVAL, "at the end of numbers");
	test_is(test_snap_read(fd, EPF_SNAP_STATE, 0, sizeof(s) - 8, &s), -EINVAL,
		"READ of some of the state");
	test_is(test_snap_read(fd, 2, 0, 64, to), -EINVAL, "READ with an unknown flag");
	test_is(test_snap_read(fd, 0, 0, 64, NULL), -EFAULT, "READ to NULL: EFAULT");
	tap_ok(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EOPNOTSUPP,
	       "no mapping: EOPNOTSUPP");
	test_demand(!test_snap_end(fd, NULL));
	test_demand(!test_snap_begin(lanes, SEC, NULL));
	test_is(test_snap_read(lanes, 0, 0, 64, to), -EOPNOTSUPP, "lanes: EOPNOTSUPP");
	close(lanes);
	close(fd);
}

/* Change the number at @off of the state to @value. */
struct spoil {
	const char *claim;
	size_t off;
	size_t bytes;
	__u64 value;
};

#define S(claim, field, value)                                              \
	{                                                                   \
		claim, offsetof(struct epf_snap_locked, field),             \
			sizeof(((struct epf_snap_locked *)0)->field), value \
	}

static const struct spoil any_spoils[] = {
	S("another size", size, 8),
	S("an epoch before the first", epoch, 7),
	S("an epoch to come", epoch, 1ULL << 59),
	S("2^40 insertions", past[3].inserts, 1ULL << 40),
	S("older than time", past[255].age_ns, -1ULL),
	S("more slices", nr, 300),
	S("words of none", words, 1ULL << 40),
	S("no words", words, 0),
	S("another now", now, -1ULL),
	S("keys of none", taken, 1ULL << 61),
	S("something behind", slice[255].fn, 1),
	S("shape of none", shape.all[0], -1ULL),
	S("shape beyond", shape.all[7], 1),
};

static const struct spoil tlbf_spoils[] = {
	S("slices too few", nr, 1),
	S("time 0", now, 0),
	S("time of chains", turn, 8),
	S("last key to come", last_ns, 1ULL << 60),
	S("a slice of no words", slice[2].words, 0),
	S("another function", slice[1].fn, 77),
	S("a function twice", slice[1].fn, 0),
	S("begun to come", slice[0].begin_ns, 1ULL << 60),
	S("begun before it was", slice[2].begin_ns, 1ULL << 60),
	S("more keys than there were", slice[0].since, 1ULL << 60),
	S("keys after they came", slice[30].since, 1ULL << 60),
};

static const struct spoil chain_spoils[] = {
	S("no tables", nr, 0),
	S("nine tables", nr, 9),
	S("time 0", now, 0),
	S("an epoch of tables to come", turn, 1ULL << 61),
	S("epochs ahead", turn, 1ULL << 40),
	S("a last key to come", table[0].last, 1ULL << 40),
	S("a last key in no epoch", table[0].last, 0),
	S("a table of three lines", table[0].words, 24),
	S("a table of no lines", table[0].words, 0),
	S("2^40 keys", table[0].keys[3], 1ULL << 40),
	S("begun to come", start_ns, 1ULL << 60),
	S("begun long ago", start_ns, 0),
	S("more begun than taken", begun, 1ULL << 59),
};

static __u32 refused(int fd, const struct image *i, const struct spoil *s, size_t n)
{
	struct epf_snap_locked old = *i->locked;
	__u32 wrong = 0;

	for (; n; n--, s++) {
		memcpy((char *)i->locked + s->off, &s->value, s->bytes);
		long ret = test_restore(fd, &i->header, i->locked);

		if (ret != -EBADMSG) {
			printf("# %s: %ld\n", s->claim, ret);
			wrong++;
		}
		*i->locked = old;
	}
	return wrong;
}

/* A line with one number of its head changed. Items, and the marks that end buckets, begin
 * at bit 48 of the head.
 */
static __u32 odd_lines(int fd, const struct image *i)
{
	static const struct {
		const char *claim;
		__u64 flip;
	} spoils[] = {
		{ "a locked line", 1 },
		{ "no epoch is accepted whole", 1 << 1 },
		{ "a stamp to come", 512 << 2 },
		{ "255 items", 255ULL << 12 },
		{ "one item more or less", 1ULL << 12 },
		{ "wider than 15 bits", 15ULL << 20 },
		{ "a bucket more or less", 1ULL << 48 },
	};
	__u32 line = i->locked->shape.elastic.line_words, wrong = 0, s;
	__u64 *head = (__u64 *)(i->locked + 1) + 5 * line + line / 8, keep = *head;

	for (s = 0; s < ARRAY_LEN(spoils); s++) {
		*head = s == 3 || s == 5 ? keep | spoils[s].flip : keep ^ spoils[s].flip;
		long ret = test_restore(fd, &i->header, i->locked);

		if (ret != -EBADMSG) {
			printf("# %s: %ld\n", spoils[s].claim, ret);
			wrong++;
		}
	}
	*head = keep;
	return wrong;
}

/* Set all bits of a bucket: more cells than there is room for. */
static __u32 full_buckets(int fd, const struct image *i)
{
	__u64 *word = (__u64 *)(i->locked + 1), keep = word[800];
	long ret;

	if (i->header.params.kind == EPF_KIND_ELASTIC)
		return odd_lines(fd, i);
	if (i->header.params.kind != EPF_KIND_DICT)
		return 0;
	memset(word + 800, 0xff, 64);
	ret = test_restore(fd, &i->header, i->locked);
	if (ret != -EBADMSG)
		printf("# a full map: %ld\n", ret);
	word[800] = keep;
	return ret != -EBADMSG;
}

#define REFUSE_POINTS 5
static void refuses(__u32 kind)
{
	struct epf_compared c = sized(kind);
	const char *name = epf_kind_name(kind);
	int fd = make(&c, NAME);
	struct epf_snap_header h;
	struct image i;
	char *room;
	__u32 wrong;

	fill(fd, &c);
	i = take(fd);
	ask(fd, &live);
	wrong = refused(fd, &i, any_spoils, ARRAY_LEN(any_spoils));
	if (kind == EPF_KIND_TLBF)
		wrong += refused(fd, &i, tlbf_spoils, ARRAY_LEN(tlbf_spoils));
	if (kind == EPF_KIND_CHAIN)
		wrong += refused(fd, &i, chain_spoils, ARRAY_LEN(chain_spoils));
	test_is(wrong, 0, "%s: RESTORE of what cannot be: EBADMSG", name);
	h = i.header;
	h.params.kind = kind % EPF_KIND_MAX + 1;
	h.params.mode = EPF_MODE_COUNT;
	test_is(test_restore(fd, &h, i.locked), -EBADMSG, "as another kind");
	room = test_guarded((i.bytes + PAGE - 1) / PAGE);
	room += -i.bytes % PAGE;
	memcpy(room, i.locked, i.bytes);
	test_is(test_restore(fd, &i.header, (char *)i.locked + 64), -EBADMSG,
		"another place: EBADMSG");
	tap_ok(test_restore(fd, &i.header, NULL) == -EFAULT &&
		       test_restore(fd, &i.header, (void *)-4096L) == -EFAULT,
	       "no place: EFAULT");
	memcpy(room + PAGE, i.locked, i.bytes - PAGE);
	tap_ok(test_restore(fd, &i.header, room + PAGE) == -EFAULT && !full_buckets(fd, &i),
	       "some words missing: EFAULT");
	ask(fd, &filed);
	test_demand(same("refused")); /* the old contents are unchanged */
	free(i.locked);
	close(fd);
}

/* With arbitrary bits the filter answers, and continues. */
#define WILD_POINTS 1
static void wild(__u32 kind)
{
	struct epf_compared c = sized(kind);
	int fd = make(&c, NAME);
	struct image i;
	__u64 *word, n;
	bool good;

	fill(fd, &c);
	i = take(fd);
	word = (__u64 *)(i.locked + 1);
	for (n = 0; n < i.locked->words; n++) {
		/* some maps of a dictionary are then too full */
		if (kind == EPF_KIND_DICT && n % 8 < 5)
			continue;
		/* of a line, remainders may be anything */
		if (kind == EPF_KIND_ELASTIC && (n + 1) % i.locked->shape.elastic.line_words)
			continue;
		word[n] = epf_word(n, 7);
	}
	good = !test_restore(fd, &i.header, i.locked);
	ask(fd, &live);
	test_insert(fd, 5, 0, 2 * WINDOW);
	good = good && test_count(fd, 5, 2 * WINDOW - 100, 100) == 100;
	if (!test_is_resizable(kind))
		good = good && !epf_filter_clear(fd) && !test_count(fd, 5, 0, 2 * WINDOW);
	tap_ok(good, "%s: memory of anything is taken, and goes with its epochs",
	       epf_kind_name(kind));
	free(i.locked);
	close(fd);
}

/* Bits after the end of a slice are not read: one of 65 bits takes two words. */
#define BEHIND_POINTS 1
static void behind(void)
{
	struct epf_compared c = {
		.number = EPF_KIND_APBF,
		.epochs = 4,
		.shape.apbf = { .slice_bits = 65, .k = 4, .l = 4 },
	};
	int fd = make(&c, NAME);
	struct image i = take(fd);

	memset(i.locked + 1, 0xff, i.locked->words * 8);
	test_demand(!test_restore(fd, &i.header, i.locked));
	test_is(test_info(fd).fpr_ppt / 1000000, 1000000,
		"an error of 1 is told of memory that is full");
	free(i.locked);
	close(fd);
}

int main(void)
{
	__u32 kind;

	test_begin(EPF_KIND_MAX *
			   (ALIKE_POINTS + PIN_POINTS + VOID_POINTS + REFUSE_POINTS + WILD_POINTS) +
		   READ_POINTS + BEHIND_POINTS + 1);
	draw_digests();
	reads();
	behind();
	for (kind = 1; kind <= EPF_KIND_MAX; kind++) {
		alike(kind);
		pins(kind);
		voids(kind);
		refuses(kind);
		wild(kind);
	}
	unlink(FILE_NAME);
	tap_ok(test_kernel_calm(), "the kernel has not complained");
	return test_end();
}
