// SPDX-License-Identifier: GPL-2.0
/*
 * Every operation, and every error half-way, 300 times (a thousand with EPF_THOROUGH): all
 * memory is released. WARM_UP rounds first fill the caches that stay. A leak of one page
 * per round is detected. Each round also has a filter of a locked kind of at least
 * LOCKED_BYTES, so that a leak of one kind is detected.
 */
#include "epftest.h"

#define ROUNDS test_rounds(300, 1000)
#define WARM_UP 100
#define LINES 256u
#define KEYS 600u
#define LOCKED_BYTES (64u << 10)

static char *guarded;

static void fail_batches(int fd)
{
	struct epf_batch b = { .size = sizeof(b), .flags = EPF_BATCH_DIGESTS, .count = KEYS };

	b.keys = (uintptr_t)guarded + PAGE - 64;
	test_demand(test_ioctl(fd, EPF_IOC_TEST, &b) == -EFAULT);
	b.keys = (uintptr_t)guarded;
	b.bitmap = (uintptr_t)guarded + PAGE;
	test_demand(test_ioctl(fd, EPF_IOC_TEST_AND_INSERT, &b) == -EFAULT);
}

static void copy(int fd)
{
	struct epf_snap s;
	void *at;

	test_demand(!test_snap_begin(fd, SEC, NULL));
	test_demand(test_snap_begin(fd, SEC, NULL) == -EBUSY);
	at = mmap(NULL, LINES * 64, PROT_READ, MAP_SHARED, fd, 0);
	test_demand(at != MAP_FAILED);
	test_demand(mmap(NULL, LINES * 64 + PAGE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
	test_demand(!test_snap_end(fd, &s));
	test_demand(test_restore(fd, &s.header, guarded) == -EFAULT);
	test_demand(!test_restore(fd, &s.header, at));
	munmap(at, LINES * 64);
}

/* End journals while they are mapped, and let the close of the descriptor end others. */
static void keep_journals(int fd, const char *name)
{
	struct epf_journal_args a = { .size = sizeof(a), .order = 7, .shards = 1 };
	struct epf_journal_args end = { .size = sizeof(end), .flags = EPF_JOURNAL_END };
	int other = test_open(name);
	void *at;

	test_demand(!test_ioctl(fd, EPF_IOC_JOURNAL, &a));
	at = mmap(NULL, a.bytes, PROT_READ, MAP_SHARED, fd, EPF_MMAP_JOURNAL);
	test_demand(at != MAP_FAILED && !test_ioctl(fd, EPF_IOC_JOURNAL, &end));
	a.bytes = a.records = a.serial = 0;
	test_demand(!test_ioctl(other, EPF_IOC_JOURNAL, &a));
	test_insert(fd, 7, 0, 20);
	close(other);
	munmap(at, a.bytes);
}

static void create_fails(const struct epf_params *p)
{
	struct epf_create *c = (void *)(guarded + PAGE - sizeof(*c) + 8);

	test_demand(epf_dev_create(test_dev, p, NULL, NULL) == -EEXIST);
	test_demand(test_ioctl(test_dev, EPF_IOC_CREATE, c) < 0);
}

static const struct shape {
	__u32 kind;
	struct epf_shape shape;
} shapes[] = {
	{ EPF_KIND_GE, { .ge = { .segment_bits = LOCKED_BYTES, .epochs = 5, .bits = 6 } } },
	{ EPF_KIND_GEBL,
	  { .gebl = { .blocks = LOCKED_BYTES / 128, .block_bits = 256, .epochs = 3, .bits = 6 } } },
	{ EPF_KIND_APBF, { .apbf = { .slice_bits = LOCKED_BYTES, .k = 4, .l = 4 } } },
	{ EPF_KIND_APBBF,
	  { .apbbf = { .blocks = LOCKED_BYTES / 256,
		       .k = 4,
		       .l = 4,
		       .block_bits = 256,
		       .bits = 2 } } },
	{ EPF_KIND_TLBF,
	  { .tlbf = { .words_first = LOCKED_BYTES / 32,
		      .words_min = LOCKED_BYTES / 32,
		      .words_max = LOCKED_BYTES / 8,
		      .k = 4,
		      .l = 4 } } },
	{ EPF_KIND_DICT,
	  { .dict = { .buckets = LOCKED_BYTES / 64,
		      .yard = 10,
		      .generations = 5,
		      .tag_bits = 3,
		      .rem_bits = 30,
		      .slots = 8,
		      .lines = 1 } } },
	{ EPF_KIND_CHAIN,
	  { .chain = { .lines_first = LOCKED_BYTES / 64,
		       .lines_min = 64,
		       .lines_max = LOCKED_BYTES / 16,
		       .load = 128,
		       .lines_per_key = 2,
		       .bits_per_key = 10 } } },
	{ EPF_KIND_ELASTIC,
	  { .elastic = { .lines = LOCKED_BYTES / 64, .line_words = 8, .epochs = 5 } } },
};

/* Its worker allocates and frees, or empties, memory before it is destroyed. */
static void round_of_locked(int i)
{
	const struct shape *s = &shapes[i % ARRAY_LEN(shapes)];
	struct epf_params p = test_locked_params("mod-leak", s->kind, 1000);
	struct epf_shape bad = s->shape;
	const struct epf_create_opts o = { .size = sizeof(o), .shape = &bad, .key = test_key };
	int fd;

	bad.all[7] = 1;
	if (test_is_resizable(s->kind))
		test_set_span(&p, 10 * MS);
	test_demand(epf_dev_create_opts(test_dev, &p, &o, NULL) == -EINVAL);
	fd = test_make_kind(&p, &s->shape);
	test_demand(test_info(fd).memory_bytes >= LOCKED_BYTES);
	test_insert(fd, i, 0, KEYS);
	test_demand(!epf_filter_rotate(fd, 2, NULL));
	if (i % 2)
		test_demand(!test_destroy(p.name, EPF_DESTROY_FORCE));
	close(fd);
	if (i % 2 == 0)
		test_demand(!test_destroy(p.name, 0));
}

static void round_of_all(int i)
{
	struct epf_params p = test_params("mod-leak", LINES, 2, 10, 1000);
	int fd = test_make(&p);

	test_insert(fd, i, 0, KEYS);
	test_demand(test_count(fd, i, 0, KEYS) == KEYS);
	fail_batches(fd);
	copy(fd);
	keep_journals(fd, p.name);
	create_fails(&p);
	if (i % 2)
		test_demand(!test_destroy(p.name, EPF_DESTROY_FORCE));
	close(fd);
	if (i % 2 == 0)
		test_demand(!test_destroy(p.name, 0));
}

/* Return: available memory, without what the kernel frees on demand. */
static long long available(void)
{
	test_demand(!test_write("/proc/sys/vm/drop_caches", "3"));
	return test_number("/proc/meminfo", "MemAvailable:");
}

static bool back(void *arg)
{
	return *(long long *)arg - available() < (long long)ROUNDS * 4;
}

static void rounds(int n)
{
	int i;

	for (i = 0; i < n; i++) {
		round_of_all(i);
		round_of_locked(i);
	}
}

/* A page leaked in each round is missing after every ROUNDS of them, but other memory
 * that the machine takes meanwhile is not.
 */
static bool keeps_memory(long long *before)
{
	*before = available();
	rounds(ROUNDS);
	return test_wait(back, before);
}

int main(void)
{
	long long before;
	bool kept = false;
	int i;

	test_begin(1);
	guarded = test_guarded(1);
	rounds(WARM_UP);
	test_sleep(SEC);
	for (i = 0; i < 4 && !kept; i++)
		kept = keeps_memory(&before);
	tap_ok(kept, "%d rounds of everything: memory available %lld -> %lld KiB", ROUNDS, before,
	       available());
	return test_end();
}
