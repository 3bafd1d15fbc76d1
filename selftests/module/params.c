// SPDX-License-Identifier: GPL-2.0
/* Valid names and shapes of filters, and the limits, which also hold when many threads
 * create filters at once.
 */
#include "epftest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#define PARAMETERS "/sys/module/epochfilter/parameters/"

/* Create and, if that works, destroy. */
static long create(const struct epf_params *p)
{
	long ret = epf_dev_create(test_dev, p, NULL, NULL);

	if (!ret)
		test_demand(!test_destroy(p->name, 0));
	return ret;
}

static const struct {
	const char *claim;
	char name[EPF_NAME_LEN + 1];
	int want;
} names[] = {
	{ "one letter", "m", 0 },
	{ "all kinds of characters", "mod-_A.Z09-", 0 },
	{ "a hyphen first", "-mod", 0 },
	{ "31 characters", "mod-567890123456789012345678901", 0 },
	{ "32 characters, no NUL", "mod-5678901234567890123456789012", -EINVAL },
	{ "empty", "", -EINVAL },
	{ "a dot first", ".mod", -EINVAL },
	{ "'.'", ".", -EINVAL },
	{ "'..'", "..", -EINVAL },
	{ "a slash", "mod/a", -EINVAL },
	{ "a slash alone", "/", -EINVAL },
	{ "a blank", "mod a", -EINVAL },
	{ "a line feed", "mod\n", -EINVAL },
	{ "an escape", "mod\033", -EINVAL },
	{ "UTF-8", "mod-\xc3\xa4", -EINVAL },
	{ "a byte above 127", "mod\xff", -EINVAL },
	{ "a percent sign", "mod%s", -EINVAL },
};

#define NAME_POINTS (ARRAY_LEN(names) + 4)
static void try_names(void)
{
	struct epf_ref_args a = { .size = sizeof(a) };
	struct epf_params p;
	size_t i;

	for (i = 0; i < ARRAY_LEN(names); i++) {
		p = test_params("", 64, 1, 5, 700);
		memcpy(p.name, names[i].name, EPF_NAME_LEN);
		test_is(create(&p), names[i].want, "name: %s: %s", names[i].claim,
			names[i].want ? "EINVAL" : "taken");
	}
	close(test_make_plain("mod-twice", 700));
	p = test_params("mod-twice", 64, 1, 5, 700);
	test_is(epf_dev_create(test_dev, &p, NULL, NULL), -EEXIST, "a name twice: EEXIST");
	memset(a.name.name, 'm', EPF_NAME_LEN);
	tap_ok(test_ioctl(test_dev, EPF_IOC_OPEN, &a) == -EINVAL &&
		       test_ioctl(test_dev, EPF_IOC_DESTROY, &a) == -EINVAL,
	       "OPEN and DESTROY of a name without NUL: EINVAL");
	tap_ok(test_open("mod-none") == -ENOENT && test_destroy("mod-none", 0) == -ENOENT,
	       "OPEN and DESTROY of a name unknown: ENOENT");
	a.name.id = 0xffffffff;
	tap_ok(test_ioctl(test_dev, EPF_IOC_OPEN, &a) == -ENOENT &&
		       test_ioctl(test_dev, EPF_IOC_DESTROY, &a) == -ENOENT,
	       "OPEN and DESTROY of an id unknown: ENOENT");
}

struct change {
	size_t off;
	size_t bytes;
	__u64 value;
};

#define F(field, value)                                                                            \
	{                                                                                          \
		offsetof(struct epf_params, field), sizeof(((struct epf_params *)0)->field), value \
	}

/* Each row changes L = 2, k = 10, 64 lines, W = 700. */
static const struct {
	const char *claim;
	int want;
	struct change changes[4];
} shapes[] = {
	{ "an unknown kind", -EOPNOTSUPP, { F(kind, EPF_KIND_MAX + 1) } },
	{ "kind 255", -EOPNOTSUPP, { F(kind, 255) } },
	{ "SipHash-2-4", 0, { F(hash, 1) } },
	{ "NH", 0, { F(hash, 2) } },
	{ "hash 3", -EINVAL, { F(hash, 3) } },
	{ "first-seen", 0, { F(refresh, 1) } },
	{ "refresh 2", -EINVAL, { F(refresh, 2) } },
	{ "L = 0", -EINVAL, { F(lines_per_key, 0) } },
	{ "L = 3", -EINVAL, { F(lines_per_key, 3), F(nr_lines, 66) } },
	{ "L = 4, k = 12", 0, { F(lines_per_key, 4), F(bits_per_key, 12) } },
	{ "L = 4, k = 10", -EINVAL, { F(lines_per_key, 4) } },
	{ "L = 2, k = 11", -EINVAL, { F(bits_per_key, 11) } },
	{ "L = 5", -EINVAL, { F(lines_per_key, 5), F(nr_lines, 65) } },
	{ "L = 8", -EINVAL, { F(lines_per_key, 8) } },
	{ "L = 65535", -EINVAL, { F(lines_per_key, 65535) } },
	{ "k = 0", -EINVAL, { F(bits_per_key, 0) } },
	{ "k = L - 1", -EINVAL, { F(bits_per_key, 1) } },
	{ "k = L", 0, { F(bits_per_key, 2) } },
	{ "k = 15 L", 0, { F(bits_per_key, 30) } },
	{ "k = 16 L", -EINVAL, { F(bits_per_key, 32) } },
	{ "L = 4, k = 60", 0, { F(lines_per_key, 4), F(bits_per_key, 60) } },
	{ "L = 4, k = 64", -EINVAL, { F(lines_per_key, 4), F(bits_per_key, 64) } },
	{ "k = 65535", -EINVAL, { F(bits_per_key, 65535) } },
	{ "0 lines", -EINVAL, { F(nr_lines, 0) } },
	{ "1 line", -EINVAL, { F(nr_lines, 1) } },
	{ "63 lines, L = 1", -EINVAL, { F(nr_lines, 63), F(lines_per_key, 1) } },
	{ "62 lines", -EINVAL, { F(nr_lines, 62) } },
	{ "65 lines, L = 1", 0, { F(nr_lines, 65), F(lines_per_key, 1) } },
	{ "65 lines, L = 2", -EINVAL, { F(nr_lines, 65) } },
	{ "66 lines, L = 4", -EINVAL, { F(nr_lines, 66), F(lines_per_key, 4) } },
	{ "2^30 + 2 lines, L = 2", -EINVAL, { F(nr_lines, (1ULL << 30) + 2) } },
	{ "2^31 + 4 lines, L = 4",
	  -EINVAL,
	  { F(nr_lines, (1ULL << 31) + 4), F(lines_per_key, 4), F(bits_per_key, 12) } },
	{ "2^58 lines, whose bytes are 0 modulo 2^64", -EINVAL, { F(nr_lines, 1ULL << 58) } },
	{ "2^63 lines", -EINVAL, { F(nr_lines, 1ULL << 63) } },
	{ "2^64 - 2 lines", -EINVAL, { F(nr_lines, -2ULL) } },
	{ "W = 0", -EINVAL, { F(window_inserts, 0) } },
	{ "W = 1", 0, { F(window_inserts, 1) } },
	{ "W = 2^40 - 1", 0, { F(window_inserts, (1ULL << 40) - 1) } },
	{ "W = 2^40", -EINVAL, { F(window_inserts, 1ULL << 40) } },
	{ "W = 2^64 - 1", -EINVAL, { F(window_inserts, -1ULL) } },
	{ "mode count with T", -EINVAL, { F(window_ns, 1) } },
	{ "mode time", 0, { F(mode, EPF_MODE_TIME), F(window_inserts, 0), F(window_ns, SEC) } },
	{ "mode time, T = 1 ns",
	  0,
	  { F(mode, EPF_MODE_TIME), F(window_inserts, 0), F(window_ns, 1) } },
	{ "mode time, T = 2^62 ns",
	  0,
	  { F(mode, EPF_MODE_TIME), F(window_inserts, 0), F(window_ns, 1ULL << 62) } },
	{ "mode time, T = 2^62 + 1 ns",
	  -EINVAL,
	  { F(mode, EPF_MODE_TIME), F(window_inserts, 0), F(window_ns, (1ULL << 62) + 1) } },
	{ "mode time, T = 2^64 - 1 ns",
	  -EINVAL,
	  { F(mode, EPF_MODE_TIME), F(window_inserts, 0), F(window_ns, -1ULL) } },
	{ "mode time, T = 0", -EINVAL, { F(mode, EPF_MODE_TIME), F(window_inserts, 0) } },
	{ "mode time with W", -EINVAL, { F(mode, EPF_MODE_TIME), F(window_ns, SEC) } },
	{ "mode either", 0, { F(mode, EPF_MODE_EITHER), F(window_ns, SEC) } },
	{ "mode either without T", -EINVAL, { F(mode, EPF_MODE_EITHER) } },
	{ "mode either without W",
	  -EINVAL,
	  { F(mode, EPF_MODE_EITHER), F(window_ns, SEC), F(window_inserts, 0) } },
	{ "mode both", 0, { F(mode, EPF_MODE_BOTH), F(window_ns, SEC) } },
	{ "mode both without T", -EINVAL, { F(mode, EPF_MODE_BOTH) } },
	{ "mode 4", -EINVAL, { F(mode, 4), F(window_ns, SEC) } },
	{ "budget 0", -EINVAL, { F(budget_ppt, 0) } },
	{ "budget and limit of certainty", 0, { F(budget_ppt, EPF_RATE_ONE) } },
	{ "budget above certainty",
	  -EINVAL,
	  { F(budget_ppt, EPF_RATE_ONE + 1), F(limit_ppt, EPF_RATE_ONE + 1) } },
	{ "limit above certainty", -EINVAL, { F(limit_ppt, EPF_RATE_ONE + 1) } },
	{ "limit = budget", 0, { F(budget_ppt, 1), F(limit_ppt, 1) } },
	{ "limit below budget", -EINVAL, { F(budget_ppt, 2), F(limit_ppt, 1) } },
	{ "limit 0", -EINVAL, { F(limit_ppt, 0) } },
};

static void try_shapes(void)
{
	size_t i, j;

	for (i = 0; i < ARRAY_LEN(shapes); i++) {
		struct epf_params p = test_params("mod-shape", 64, 2, 10, 700);

		for (j = 0; j < ARRAY_LEN(shapes[i].changes); j++)
			memcpy((char *)&p + shapes[i].changes[j].off, &shapes[i].changes[j].value,
			       shapes[i].changes[j].bytes);
		test_is(create(&p), shapes[i].want, "%s: %s", shapes[i].claim,
			shapes[i].want ? strerrorname_np(-shapes[i].want) : "taken");
	}
}

static void limit(const char *name, long long value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	snprintf(text, sizeof(text), "%lld", value);
	test_demand(!test_write(path, text));
}

static long create_lines(__u64 nr_lines)
{
	struct epf_params p = test_params("mod-limit", nr_lines, 4, 8, 700);

	return create(&p);
}

#define MIB_LINES ((1u << 20) / 64)

#define LIMIT_POINTS 12
static void try_limits(void)
{
	long long max = test_number(PARAMETERS "max_filters", "");

	test_is(create_lines(1ULL << 31), -E2BIG,
		"2^31 lines are more than half of the memory: E2BIG");
	limit("max_filter_mib", 2);
	test_is(create_lines(MIB_LINES), 0, "below max_filter_mib");
	test_is(create_lines(2 * MIB_LINES), -E2BIG,
		"what belongs to the lines is counted too: E2BIG");
	limit("max_filter_mib", 0);
	limit("max_total_mib", 3);
	close(test_make(&(struct epf_params){ .name = "mod-first",
					      .lines_per_key = 1,
					      .bits_per_key = 5,
					      .nr_lines = 2 * MIB_LINES,
					      .window_inserts = 700,
					      .budget_ppt = 1,
					      .limit_ppt = 1 }));
	test_is(create_lines(MIB_LINES), -ENOSPC, "above max_total_mib: ENOSPC");
	test_is(create_lines(MIB_LINES / 4), 0, "below max_total_mib");
	test_demand(!test_destroy("mod-first", 0));
	test_is(create_lines(2 * MIB_LINES), 0, "what was destroyed counts no more");
	limit("max_total_mib", 0);
	limit("max_filters", test_nr_filters());
	test_is(create_lines(64), -ENOSPC, "above max_filters: ENOSPC");
	limit("max_filters", test_nr_filters() + 1);
	test_is(create_lines(64), 0, "up to max_filters");
	limit("max_filters", test_nr_filters() - 1);
	test_is(create_lines(64), -ENOSPC, "also where there are more already: ENOSPC");
	limit("max_filters", max);
	limit("max_filter_mib", 1 << 20);
	limit("max_total_mib", 1 << 20);
	test_is(create_lines(1ULL << 31), -ENOMEM, "128 GiB on a machine that has less: ENOMEM");
	limit("max_filter_mib", 0);
	limit("max_total_mib", 0);
	test_is(create_lines(MIB_LINES), 0, "afterwards all is as before");
	tap_ok(test_kernel_calm(), "the kernel has not complained");
}

/**
 * struct race - creators against a limit
 * @go: all threads start at once
 * @held: bytes of filters known to exist: added after creation and subtracted before
 *	destruction, so never more than is charged
 * @most: maximum of @held
 * @refused: creations refused by a limit
 * @other: other errors
 */
static struct race {
	pthread_barrier_t go;
	atomic_llong held;
	atomic_llong most;
	atomic_int refused;
	atomic_int other;
} race;

#define CREATORS 8
#define ROUNDS 20
#define RACE_LINES (4 * MIB_LINES) /* takes so long that threads meet */
#define RACE_BYTES (RACE_LINES * 64ll)

static void count_held(long long bytes)
{
	long long now = atomic_fetch_add(&race.held, bytes) + bytes;
	long long most = atomic_load(&race.most);

	while (now > most && !atomic_compare_exchange_weak(&race.most, &most, now))
		;
}

/* Make filters, and destroy every other one. */
static void *creator(void *arg)
{
	struct epf_params p = test_params("", RACE_LINES, 1, 5, 700);
	int i;

	pthread_barrier_wait(&race.go);
	for (i = 0; i < ROUNDS; i++) {
		int err;

		sprintf(p.name, "mod-race-%ld-%d", (long)arg, i);
		err = epf_dev_create(test_dev, &p, NULL, NULL);
		if (err) {
			atomic_fetch_add(err == -ENOSPC ? &race.refused : &race.other, 1);
			continue;
		}
		count_held(RACE_BYTES);
		if (i % 2) {
			atomic_fetch_sub(&race.held, RACE_BYTES);
			test_demand(!test_destroy(p.name, 0));
		}
	}
	return NULL;
}

static void run_race(void)
{
	pthread_t threads[CREATORS];
	long i;

	race.held = race.most = race.refused = race.other = 0;
	test_demand(!pthread_barrier_init(&race.go, NULL, CREATORS));
	for (i = 0; i < CREATORS; i++)
		test_demand(!pthread_create(&threads[i], NULL, creator, (void *)i));
	for (i = 0; i < CREATORS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&race.go);
}

/* Return: the memory that all filters of this test report. */
static __u64 bytes_told(void)
{
	__u64 sum = 0;
	__u32 *ids;
	int nr = epf_dev_list(test_dev, &ids), i, fd;

	test_demand(nr >= 0);
	for (i = 0; i < nr; i++) {
		fd = epf_dev_filter_id(test_dev, ids[i]);
		test_demand(fd >= 0);
		sum += test_info(fd).memory_bytes;
		close(fd);
	}
	free(ids);
	return sum;
}

#define CAP_MIB 64ll
#define CAP_FILTERS 11
#define RACE_POINTS 6
static void try_race(void)
{
	long long max = test_number(PARAMETERS "max_filters", "");

	test_remove_filters();
	test_demand(!test_nr_filters());
	limit("max_total_mib", CAP_MIB);
	run_race();
	tap_ok(race.most <= CAP_MIB << 20 && bytes_told() <= (__u64)CAP_MIB << 20,
	       "%d threads create: never more than max_total_mib", CREATORS);
	tap_ok(race.refused > 0 && !race.other, "%d times ENOSPC, nothing else", race.refused);
	tap_ok(race.most > (CAP_MIB << 20) / 2, "the memory is made use of");
	test_remove_filters();
	limit("max_total_mib", 0);
	limit("max_filters", CAP_FILTERS);
	run_race();
	tap_ok(race.most <= CAP_FILTERS * RACE_BYTES && test_nr_filters() <= CAP_FILTERS,
	       "the same with max_filters: never more than %d", CAP_FILTERS);
	tap_ok(race.refused > 0 && !race.other, "%d times ENOSPC, nothing else", race.refused);
	test_remove_filters();
	limit("max_filters", max);
	limit("max_total_mib", 1);
	test_is(create_lines(MIB_LINES * 3 / 4), 0, "afterwards nothing is charged");
	limit("max_total_mib", 0);
}

int main(void)
{
	test_begin(NAME_POINTS + ARRAY_LEN(shapes) + LIMIT_POINTS + RACE_POINTS);
	try_names();
	try_shapes();
	try_limits();
	try_race();
	return test_end();
}
