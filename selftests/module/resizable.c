// SPDX-License-Identifier: GPL-2.0
/*
 * Resizable kinds in the kernel: the window property in time, slices of a tlbf and
 * tables of a chain that follow the rate, failing allocations, and refused parameters.
 * The properties hold however slow the machine is: the test waits for everything that
 * may be late.
 */
#include "epftest.h"

#include <fcntl.h>
#include <sys/stat.h>

#define NAME "mod-resizable"
#define SPAN (700 * MS) /* T */
#define K 5u
#define L 7u
#define TOTAL_MIB "/sys/module/epochfilter/parameters/max_total_mib"

/**
 * struct resizable - a kind
 * @kind: enum epf_kind
 * @name: its name in test names
 * @first: slices of a new filter, and of one without keys
 */
static const struct resizable {
	__u8 kind;
	const char *name;
	__u32 first;
} resizables[] = {
	{ EPF_KIND_TLBF, "tlbf", K },
	{ EPF_KIND_CHAIN, "chain", 1 },
};

static struct epf_params params(const struct resizable *of, __u64 span_ns)
{
	struct epf_params p = test_locked_params(NAME, of->kind, 0);

	test_set_span(&p, span_ns);
	return p;
}

/* Return: a shape of slices of 128 bytes, or tables of 4 KiB, for at most @bytes. */
static struct epf_shape shape(const struct resizable *of, __u64 bytes)
{
	struct epf_shape s = { 0 };

	if (of->kind == EPF_KIND_TLBF) {
		s.tlbf.words_first = 16;
		s.tlbf.words_min = 16;
		s.tlbf.words_max = bytes / 8;
		s.tlbf.k = K;
		s.tlbf.l = L;
	} else {
		s.chain.lines_first = 64;
		s.chain.lines_min = 64;
		s.chain.lines_max = bytes / 64;
		s.chain.load = 4 * 1024; /* keys per line and epoch */
		s.chain.lines_per_key = 2;
		s.chain.bits_per_key = 10;
	}
	return s;
}

static int make(const struct resizable *of, __u64 span_ns, __u64 bytes)
{
	struct epf_params p = params(of, span_ns);
	struct epf_shape s = shape(of, bytes);

	return test_make_kind(&p, &s);
}

/**
 * struct stream - keys inserted at a rate, in groups
 * @of: kind of the filter
 * @fd: filter
 * @groups: groups inserted so far
 * @size: keys in a group
 * @lost: lost keys that were younger than T
 * @oldest: oldest group that may still be asked for
 * @at: end of the insertion of each group
 */
struct stream {
	const struct resizable *of;
	int fd;
	__u32 groups;
	__u32 size;
	__u64 lost;
	__u32 oldest;
	__u64 at[4096];
};

/* Check all groups that are younger than T even after they have been looked up. */
static void check_window(struct stream *s)
{
	__u32 g;

	for (g = s->groups; g-- > s->oldest;) {
		long n = test_count(s->fd, 1, g * 1000ULL, s->size);

		if (test_now() - s->at[g] > SPAN) {
			s->oldest = g + 1;
			return;
		}
		s->lost += s->size - (__u64)n;
	}
}

/* For @ns insert groups of @size keys, one each ms or as fast as possible. */
static void run(struct stream *s, __u64 ns, __u32 size)
{
	__u64 end = test_now() + ns;

	s->size = size;
	s->oldest = s->groups;
	while (test_now() < end && s->groups < ARRAY_LEN(s->at)) {
		s->at[s->groups] = test_now();
		test_insert(s->fd, 1, s->groups * 1000ULL, size);
		s->groups++;
		if (s->groups % 16 == 0)
			check_window(s);
		test_sleep(MS);
	}
	check_window(s);
}

static bool settled(void *arg)
{
	struct stream *s = arg;
	struct epf_info info = test_info(s->fd);

	return info.slices <= s->of->first + 1 && !info.covered_inserts;
}

static bool nothing_left(void *arg)
{
	struct stream *s = arg;

	return !test_count(s->fd, 1, (s->groups - 1) * 1000ULL, s->size);
}

static void begin(struct stream *s, const struct resizable *of, __u64 bytes)
{
	memset(s, 0, sizeof(*s));
	s->of = of;
	s->fd = make(of, SPAN, bytes);
}

/**
 * struct growth - the growth to wait for
 * @fd: filter
 * @bytes: the memory must exceed this
 * @keys: keys inserted so far
 */
struct growth {
	int fd;
	__u64 bytes;
	__u64 keys;
};

/* Insert as fast as possible. */
static struct epf_info insert_more(struct growth *g)
{
	test_insert(g->fd, 3, g->keys, 2000);
	g->keys += 2000;
	return test_info(g->fd);
}

static bool has_grown(void *arg)
{
	struct growth *g = arg;

	return insert_more(g).memory_bytes > g->bytes;
}

static bool has_waited(void *arg)
{
	return insert_more(arg).waits;
}

#define RATE_POINTS 9
static void follows_the_rate(const struct resizable *of)
{
	static struct stream s;
	struct epf_info few, many;
	struct growth more = { 0 };

	begin(&s, of, 1 << 20);
	few = test_info(s.fd);
	tap_ok(few.slices == of->first && few.window_epochs == L &&
		       few.needs == (EPF_NEEDS_LOCK | EPF_NEEDS_WORKER | EPF_NEEDS_MEMORY),
	       "%s: made: %u slices, %llu bytes", of->name, few.slices, few.memory_bytes);
	run(&s, 3 * SPAN, 4);
	few = test_info(s.fd);
	test_is((long long)s.lost, 0,
		"a low rate: no key of the last T is lost, "
		"of %u groups",
		s.groups);
	run(&s, 3 * SPAN, 900);
	many = test_info(s.fd);
	test_is((long long)s.lost, 0, "two hundred times as much: none is lost");
	more.fd = s.fd;
	more.bytes = few.memory_bytes;
	tap_ok(test_wait(has_grown, &more), "%u slices, %llu bytes become more", few.slices,
	       few.memory_bytes);
	many = test_info(s.fd);
	tap_ok(many.covered_ns >= SPAN && many.covered_inserts > 0,
	       "covered: %llu ms, %llu insertions", many.covered_ns / MS, many.covered_inserts);
	tap_ok(many.fpr_ppt && many.fpr_ppt < EPF_RATE_ONE, "estimated error: %.3g",
	       (double)many.fpr_ppt / EPF_RATE_ONE);
	tap_ok(test_wait(nothing_left, &s), "silence: the keys go");
	tap_ok(test_wait(settled, &s), "and so does the memory");
	many = test_info(s.fd);
	test_is(test_count(s.fd, 1, 0, 1000), 0, "%u slices are left, empty", many.slices);
	close(s.fd);
}

#define TURN_POINTS 8
static void turns(const struct resizable *of)
{
	struct epf_key_desc desc = { .kind = EPF_KEYS_ADDRESS };
	int fd = make(of, 3600 * SEC, 1 << 20);
	struct epf_info info = test_info(fd);

	tap_ok(info.covered_ns == info.age_ns && !info.covered_inserts,
	       "%s: all of a new one's time is covered", of->name);
	test_insert(fd, 2, 0, 100);
	test_is(test_count(fd, 2, 0, 100), 100, "%s of an hour: all there", of->name);
	test_demand(!epf_filter_rotate(fd, L - 1, NULL));
	test_is(test_count(fd, 2, 0, 100), 100, "an hour less one generation on: still there");
	test_demand(!epf_filter_describe(fd, &desc));
	test_demand(!epf_filter_clear(fd));
	test_is(test_count(fd, 2, 0, 100), 0, "cleared: gone");
	info = test_info(fd);
	test_is((long long)info.stats.inserts, 100, "but counted among all insertions");
	test_is(info.desc.kind, EPF_KEYS_ADDRESS, "and still said to be addresses");
	tap_ok(!info.covered_inserts && info.covered_ns < 3600 * SEC,
	       "and covered is nothing before that");
	close(fd);
	fd = make(of, 1ULL << 62, 1 << 20);
	test_demand(!epf_filter_rotate(fd, 8, NULL));
	test_is(epf_filter_rotate(fd, 8, NULL), -EOVERFLOW,
		"two windows of 146 years on: its clock cannot go further");
	close(fd);
}

/* Filters of the maximum size, one after another: each waits until the one before is
 * freed.
 */
#define AGAIN_POINTS 1
static void again_and_again(const struct resizable *of)
{
	long long before = test_number(TOTAL_MIB, "");
	struct epf_params p = params(of, SPAN);
	struct epf_shape s = shape(of, 1 << 22);
	const struct epf_create_opts o = { .size = sizeof(o), .shape = &s };
	int i, failed = 0;
	char text[32];

	test_destroy(NAME, EPF_DESTROY_FORCE);
	if (of->kind == EPF_KIND_TLBF)
		s.tlbf.words_first = (600 << 10) / 8; /* K of the slices */
	else
		s.chain.lines_first = (2 << 20) / 64;
	test_demand(!test_write(TOTAL_MIB, "4"));
	for (i = 0; i < 6; i++) {
		failed += !!epf_dev_create_opts(test_dev, &p, &o, NULL);
		test_destroy(NAME, EPF_DESTROY_FORCE);
	}
	snprintf(text, sizeof(text), "%lld", before);
	test_demand(!test_write(TOTAL_MIB, text));
	test_is(failed, 0, "%s: made again at once, %d times, where one has room", of->name, i);
}

/* Another filter has all available memory except this. */
#define ROOM (64u << 10)
#define OTHER_LINES (((1u << 20) - ROOM) / 64)
#define SHORT_POINTS 4
static void short_of_memory(const struct resizable *of)
{
	static struct stream s;
	struct epf_params other = test_params("mod-resizable-other", OTHER_LINES, 1, 5, 1000);
	long long before = test_number(TOTAL_MIB, "");
	struct growth more = { .bytes = ROOM };
	char text[32];
	struct epf_info info;

	close(test_make(&other));
	begin(&s, of, 1ULL << 32);
	test_demand(!test_write(TOTAL_MIB, "1"));
	more.fd = s.fd;
	test_demand(test_wait(has_waited, &more));
	run(&s, 2 * SPAN, 1000);
	info = test_info(s.fd);
	tap_ok(info.memory_bytes <= ROOM && info.waits,
	       "%s: %llu bytes within 64 KiB, %u times no more", of->name, info.memory_bytes,
	       info.waits);
	test_is((long long)s.lost, 0, "no key is lost");
	snprintf(text, sizeof(text), "%lld", before);
	test_demand(!test_write(TOTAL_MIB, text));
	run(&s, 3 * SPAN, 1000);
	test_is((long long)s.lost, 0, "nor when there is memory again");
	tap_ok(test_wait(has_grown, &more), "which it takes: %llu bytes",
	       test_info(s.fd).memory_bytes);
	close(s.fd);
	test_demand(!test_destroy("mod-resizable-other", 0));
}

/* ------------------------------------------------------- its own limit ---- */

/* Its shape allows so many slices or tables of the largest size: the least step that was left is
 * less than one.
 */
#define CAP_PIECE (64u << 10)
#define CAP_POINTS 2
static void stops_at_its_limit(const struct resizable *of)
{
	__u64 most = CAP_PIECE * (of->kind == EPF_KIND_TLBF ? K + L + 2 : 2);
	struct growth more = { .fd = make(of, 3600 * SEC, CAP_PIECE) };
	struct epf_info info = test_info(more.fd);
	__u64 least = info.memory_bytes - of->first * PAGE;
	bool refused = test_wait(has_waited, &more);
	__u64 keys = more.keys + 200000;

	while (more.keys < keys)
		info = insert_more(&more);
	tap_ok(refused && info.memory_bytes <= least + most &&
		       info.memory_bytes + CAP_PIECE > least + most,
	       "%s: %llu bytes of at most %llu, %u times refused more", of->name, info.memory_bytes,
	       least + most, info.waits);
	test_is(test_count(more.fd, 3, 0, keys), (long long)keys, "no key is lost");
	close(more.fd);
	test_demand(!test_destroy(NAME, 0));
}

/* ---------------------------------------------------- who is charged ---- */

#define GROUPS "/sys/fs/cgroup"

/* Return: how much more the group has when this process, of another, has filled a pipe of 1 MiB. */
static long long more_by_a_pipe(const char *current)
{
	static const char text[1 << 20];
	long long before = test_number(current, "");
	int fd[2];

	test_demand(!pipe(fd) && fcntl(fd[1], F_SETPIPE_SZ, sizeof(text)) == sizeof(text));
	test_demand(write(fd[1], text, sizeof(text)) == sizeof(text));
	before = test_number(current, "") - before;
	close(fd[0]);
	close(fd[1]);
	return before;
}

/* The worker, which belongs to no group, allocates what the filter grows by. */
#define CHARGED_POINTS 2
static void charged_to_its_maker(const struct resizable *of)
{
	struct growth more = { .bytes = 1 << 20 };
	long long charged;
	char procs[128], stat[128], current[128];
	struct epf_info info;

	snprintf(stat, sizeof(stat), GROUPS "/" NAME "-%s", of->name);
	if (test_write(GROUPS "/cgroup.subtree_control", "+memory") ||
	    (mkdir(stat, 0755) && errno != EEXIST)) {
		test_skip(of->name, "no memory control groups at " GROUPS);
		test_skip(of->name, "no memory control groups at " GROUPS);
		return;
	}
	snprintf(stat, sizeof(stat), GROUPS "/" NAME "-%s/memory.stat", of->name);
	snprintf(procs, sizeof(procs), GROUPS "/" NAME "-%s/cgroup.procs", of->name);
	test_demand(!test_write(procs, "0"));
	snprintf(current, sizeof(current), GROUPS "/" NAME "-%s/memory.current", of->name);
	more.fd = make(of, 3600 * SEC, 1 << 22);
	test_demand(!test_write(GROUPS "/cgroup.procs", "0"));
	charged = more_by_a_pipe(current);
	tap_ok(charged < 1 << 19, "%s: not what its maker allocates later, in another group: %lld",
	       of->name, charged);
	test_demand(test_wait(has_grown, &more));
	info = test_info(more.fd);
	charged = test_number(stat, "vmalloc");
	tap_ok(charged >= (long long)info.memory_bytes / 10 * 9,
	       "%s: of %llu bytes that it grew to, %lld are charged to the group that made it",
	       of->name, info.memory_bytes, charged);
	close(more.fd);
	test_demand(!test_destroy(NAME, 0));
}

/* Return: the result of EPF_IOC_CREATE, with a free name. */
static int try(struct epf_params *p, const struct epf_shape *s)
{
	const struct epf_create_opts o = { .size = sizeof(o), .shape = s };

	strcpy(p->name, "mod-resizable-bad");
	return epf_dev_create_opts(test_dev, p, &o, NULL);
}

#define BAD_POINTS 15
static void refused_slices(void)
{
	static const struct {
		const char *what;
		__u64 first, min, max;
		__u32 k, l;
	} bad[] = {
		{ "no slice a key", 16, 16, 64, 0, 7 },
		{ "no generation", 16, 16, 64, 5, 0 },
		{ "too many slices", 16, 16, 64, 64, 65 },
		{ "first below min", 15, 16, 64, 5, 7 },
		{ "first above max", 65, 16, 64, 5, 7 },
		{ "slices too large", 16, 16, (1ULL << 32) + 1, 5, 7 },
		{ "min below k keys", 1, 0, 64, 5, 7 },
	};
	struct epf_params p = params(&resizables[0], SPAN);
	struct epf_shape s;
	size_t i;

	for (i = 0; i < ARRAY_LEN(bad); i++) {
		memset(&s, 0, sizeof(s));
		s.tlbf.words_first = bad[i].first;
		s.tlbf.words_min = bad[i].min;
		s.tlbf.words_max = bad[i].max;
		s.tlbf.k = bad[i].k;
		s.tlbf.l = bad[i].l;
		test_is(try(&p, &s), -EINVAL, "refused: %s", bad[i].what);
	}
}

static void refused_tables(void)
{
	static const struct {
		const char *what;
		struct epf_shape_chain c;
	} bad[] = {
		{ "too few lines", { 32, 32, 64, 4096, 1, 5, 0 } },
		{ "too many lines", { 64, 64, 1ULL << 32, 4096, 1, 5, 0 } },
		{ "no power of two", { 96, 64, 128, 4096, 1, 5, 0 } },
		{ "no keys", { 64, 64, 128, 15, 1, 5, 0 } },
		{ "three lines a key", { 64, 64, 128, 4096, 3, 6, 0 } },
		{ "something reserved", { 64, 64, 128, 4096, 1, 5, 1 } },
	};
	struct epf_params p = params(&resizables[1], SPAN);
	struct epf_shape s = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_LEN(bad); i++) {
		s.chain = bad[i].c;
		test_is(try(&p, &s), -EINVAL, "refused: %s", bad[i].what);
	}
}

static void refused_counts(void)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(resizables); i++) {
		struct epf_params p = params(&resizables[i], 0);
		struct epf_shape s = shape(&resizables[i], 1 << 20);

		p.mode = EPF_MODE_COUNT;
		p.window_inserts = 100;
		test_is(try(&p, &s), -EINVAL, "refused: %s of a window of insertions",
			resizables[i].name);
	}
}

int main(void)
{
	size_t i;

	test_begin(ARRAY_LEN(resizables) * (RATE_POINTS + TURN_POINTS + AGAIN_POINTS +
					    SHORT_POINTS + CAP_POINTS + CHARGED_POINTS) +
		   BAD_POINTS);
	for (i = 0; i < ARRAY_LEN(resizables); i++) {
		follows_the_rate(&resizables[i]);
		turns(&resizables[i]);
		again_and_again(&resizables[i]);
		short_of_memory(&resizables[i]);
		stops_at_its_limit(&resizables[i]);
		charged_to_its_maker(&resizables[i]);
	}
	refused_slices();
	refused_tables();
	refused_counts();
	return test_end();
}
