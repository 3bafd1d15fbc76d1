// SPDX-License-Identifier: GPL-2.0
/*
 * Every allocation of every call fails in turn, and so does every copy from and to its
 * caller: the n-th one of the call, for n = 1, 2, ... until the call needs fewer. Lines
 * of an instance are allocated in two ways, with huge pages and small ones, so calls
 * that create instances run once more with all slab allocations from the n-th on
 * failing. A call that fails returns ENOMEM or EFAULT and has changed only what the ABI
 * says; a call that copes with the failure has done all of its work. No memory leaks.
 * The same holds for snapshots of each locked kind and filters made from them, and for
 * the worker of a resizable kind, whose failures are not reported: no key of the window
 * is lost, and the worker gets its memory on the next attempt.
 *
 * Needs a kernel with fault injection (docs/TESTING.md): fail-nth of a thread counts
 * down in this thread only, and later allocations fail if make-it-fail is set.
 */
#include "../locked.h"
#include "inject.h"

#include "copy.h"
#include "kinds/compare.h"

#define PARAMETERS "/sys/module/epochfilter/parameters/"
#define KEYS 300u
#define N_MAX 2000
/* Successive calls may differ in their allocations, so this many calls without a fault
 * end the loop.
 */
#define ENOUGH 10
#define LINES 1024u
#define IMAGE_LINES 4096u
#define L 7u                /* epochs of a window, also in locked_shape() for tlbf and chain */
#define LOCKED_WORDS 65536u /* words of a snapshot, at most */

static int filter;                      /* "mod-faults": KEYS keys of stream 1 */
static struct epf_restore image;        /* KEYS keys of stream 2, other lines */
static __u32 locked_kind;               /* the kind under test */
static int locked;                      /* "mod-faults-locked": KEYS keys of stream 1 */
static struct epf_restore locked_image; /* snapshot of that kind: stream 2 */
/* The state of a locked kind, followed by its memory. */
static union copy {
	struct epf_snap_locked s;
	__u64 words[sizeof(struct epf_snap_locked) / sizeof(__u64) + LOCKED_WORDS];
} copy;

/**
 * struct call - a call that has to fail
 * @name: its name in test names
 * @prepare: create what it needs
 * @fn: makes the call. Return: 0 or more, or -errno
 * @kept: after the error @err: has only what the ABI says changed?
 * @undo: after the success @ret: did the call do its work? Restores the previous state
 */
struct call {
	const char *name;
	void (*prepare)(void);
	long (*fn)(void);
	bool (*kept)(long err);
	void (*undo)(long ret);
};

static void no_prepare(void)
{
}

static void no_undo(long ret)
{
}

static bool has_own_keys(long err)
{
	struct epf_info info = test_info(filter);

	return test_count(filter, 1, 0, KEYS) == KEYS && info.params.nr_lines == LINES &&
	       !(info.flags & EPF_INFO_PINNED) && info.users == 1;
}

static void renew(void)
{
	test_demand(!epf_filter_clear(filter));
	test_insert(filter, 1, 0, KEYS);
}

static long call_create(void)
{
	struct epf_params p = test_params("mod-faults-new", 64, 2, 10, 700);

	return epf_dev_create(test_dev, &p, NULL, NULL);
}

/* Create a filter; with a window of @span_ns, if the kind is resizable. */
static long create_locked(const char *name, __u32 kind, __u64 span_ns)
{
	struct epf_params p = test_locked_params(name, kind, 700);
	struct epf_shape s = locked_shape(kind);
	const struct epf_create_opts o = { .size = sizeof(o), .shape = &s, .key = test_key };

	if (locked_is_resizable(kind))
		test_set_span(&p, span_ns);
	return epf_dev_create_opts(test_dev, &p, &o, NULL);
}

#define CREATE(kind)                                                                 \
	static long call_##kind(void)                                                \
	{                                                                            \
		return create_locked("mod-faults-new", EPF_KIND_##kind, 3600 * SEC); \
	}
CREATE(GE)
CREATE(GEBL)
CREATE(APBF)
CREATE(APBBF)
CREATE(TLBF)
CREATE(DICT)
CREATE(CHAIN)
CREATE(ELASTIC)

static bool none_made(long err)
{
	return test_open("mod-faults-new") == -ENOENT;
}

static void undo_create(long ret)
{
	test_demand(!test_destroy("mod-faults-new", 0));
}

static long call_restore(void)
{
	return test_ioctl(filter, EPF_IOC_RESTORE, &image);
}

static void undo_restore(long ret)
{
	test_demand(test_count(filter, 2, 0, KEYS) == KEYS);
	close(filter);
	filter = test_make_plain("mod-faults", 700);
	test_insert(filter, 1, 0, KEYS);
}

static long call_swap(void)
{
	return epf_dev_swap(test_dev, "mod-faults", "mod-faults-2");
}

static void undo_swap(long ret)
{
	test_demand(!ret && !test_count(filter, 1, 0, KEYS) && !call_swap());
}

static long call_open(void)
{
	return test_open("mod-faults");
}

static void undo_open(long ret)
{
	close(ret);
}

static long call_list(void)
{
	__u32 ids[16];
	struct epf_list l = { .size = sizeof(l), .ids = (uintptr_t)ids, .count = ARRAY_LEN(ids) };

	return test_ioctl(test_dev, EPF_IOC_LIST, &l);
}

static long call_info(void)
{
	struct epf_info i = { .size = sizeof(i) };

	return test_ioctl(filter, EPF_IOC_INFO, &i);
}

static long call_test(void)
{
	return test_count(filter, 1, 0, KEYS);
}

static void undo_test(long ret)
{
	test_demand(ret == KEYS);
}

static long call_insert(void)
{
	return test_digests(filter, EPF_IOC_INSERT, 3, 0, 1);
}

/* Keys inserted before it met an invalid pointer stay inserted. */
static bool kept_insert(long err)
{
	bool good = has_own_keys(err) && (err == -EFAULT || !test_count(filter, 3, 0, 1));

	renew();
	return good;
}

static void undo_insert(long ret)
{
	test_demand(test_count(filter, 3, 0, 1) == 1);
	renew();
}

static long call_rotate(void)
{
	return epf_filter_rotate(filter, 1, NULL);
}

static void undo_rotate(long ret)
{
	renew();
}

static long call_begin(void)
{
	return test_snap_begin(filter, SEC, NULL);
}

static long call_end(void)
{
	return test_snap_end(filter, NULL);
}

static void prepare_end(void)
{
	test_demand(!call_begin());
}

static void undo_begin(long ret)
{
	test_demand(!call_end());
}

/* The snapshot has ended, or can still be ended. */
static bool kept_end(long err)
{
	call_end();
	return has_own_keys(err);
}

static long journal(__u32 flags)
{
	struct epf_journal_args a = { .size = sizeof(a), .flags = flags };

	if (!flags)
		a.order = 8;
	return test_ioctl(filter, EPF_IOC_JOURNAL, &a);
}

static long call_journal(void)
{
	return journal(0);
}

static bool kept_journal(long err)
{
	return journal(EPF_JOURNAL_END) == -EINVAL && has_own_keys(err);
}

static void undo_journal(long ret)
{
	test_demand(test_info(filter).flags & EPF_INFO_JOURNAL);
	test_demand(!journal(EPF_JOURNAL_END));
}

static long call_map(void)
{
	void *at = mmap(NULL, LINES * 64, PROT_READ, MAP_SHARED, filter, 0);

	if (at == MAP_FAILED)
		return -errno;
	munmap(at, LINES * 64);
	return 0;
}

static void prepare_destroy(void)
{
	long ret = call_create();

	test_demand(!ret || ret == -EEXIST);
}

static long call_destroy(void)
{
	return test_destroy("mod-faults-new", 0);
}

static bool still_there(long err)
{
	int fd = test_open("mod-faults-new");

	close(fd);
	return fd >= 0;
}

static const struct call calls[] = {
	{ "CREATE", no_prepare, call_create, none_made, undo_create },
	{ "CREATE ge", no_prepare, call_GE, none_made, undo_create },
	{ "CREATE gebl", no_prepare, call_GEBL, none_made, undo_create },
	{ "CREATE apbf", no_prepare, call_APBF, none_made, undo_create },
	{ "CREATE apbbf", no_prepare, call_APBBF, none_made, undo_create },
	{ "CREATE tlbf", no_prepare, call_TLBF, none_made, undo_create },
	{ "CREATE dict", no_prepare, call_DICT, none_made, undo_create },
	{ "CREATE chain", no_prepare, call_CHAIN, none_made, undo_create },
	{ "CREATE elastic", no_prepare, call_ELASTIC, none_made, undo_create },
	{ "RESTORE", no_prepare, call_restore, has_own_keys, undo_restore },
	{ "SWAP", no_prepare, call_swap, has_own_keys, undo_swap },
	{ "OPEN", no_prepare, call_open, has_own_keys, undo_open },
	{ "LIST", no_prepare, call_list, has_own_keys, no_undo },
	{ "INFO", no_prepare, call_info, has_own_keys, no_undo },
	{ "TEST", no_prepare, call_test, has_own_keys, undo_test },
	{ "INSERT", no_prepare, call_insert, kept_insert, undo_insert },
	{ "ROTATE", no_prepare, call_rotate, has_own_keys, undo_rotate },
	{ "SNAP_BEGIN", no_prepare, call_begin, has_own_keys, undo_begin },
	{ "SNAP_END", prepare_end, call_end, kept_end, no_undo },
	{ "JOURNAL", no_prepare, call_journal, kept_journal, undo_journal },
	{ "mmap", no_prepare, call_map, has_own_keys, no_undo },
	{ "DESTROY", prepare_destroy, call_destroy, still_there, no_undo },
};

/* ------------------------------------------- snapshots of locked kinds ---- */

/* Keys of other streams may be false positives, because shapes are small. */
static bool locked_keeps(__u64 stream)
{
	return test_count(locked, stream, 0, KEYS) == KEYS &&
	       test_count(locked, 3 - stream, 0, KEYS) < KEYS;
}

static bool locked_has_keys(long err)
{
	struct epf_info info = test_info(locked);

	return locked_keeps(1) && info.params.kind == locked_kind &&
	       !(info.flags & EPF_INFO_PINNED) && info.users == 1;
}

static int make_locked(__u64 stream)
{
	int fd;

	test_demand(!create_locked("mod-faults-locked", locked_kind, 3600 * SEC));
	fd = test_open("mod-faults-locked");
	test_insert(fd, stream, 0, KEYS);
	return fd;
}

static void end_locked(void)
{
	close(locked);
	test_demand(!test_destroy("mod-faults-locked", 0));
}

static long read_state(void)
{
	return test_snap_read(locked, EPF_SNAP_STATE, 0, sizeof(copy.s), &copy.s);
}

/* Read all of the memory; the state has been read. */
static long read_memory(void)
{
	return test_snap_read(locked, 0, 0, copy.s.words * sizeof(__u64),
			      copy.words + sizeof(copy.s) / sizeof(__u64));
}

static long locked_begin(void)
{
	return test_snap_begin(locked, EPF_PIN_MAX_NS, NULL);
}

static long locked_end(void)
{
	return test_snap_end(locked, NULL);
}

static void begin_locked(void)
{
	test_demand(!locked_begin() && !read_state());
	test_demand(copy.s.words <= LOCKED_WORDS);
}

static void undo_locked_begin(long ret)
{
	test_demand(!locked_end());
}

/* The snapshot has ended, or can still be ended. */
static bool kept_locked_end(long err)
{
	locked_end();
	return locked_has_keys(err);
}

/* The snapshot can go on. */
static bool kept_read(long err)
{
	return !read_state() && !read_memory() && !locked_end() && locked_has_keys(err);
}

static long restore_locked(void)
{
	return test_ioctl(locked, EPF_IOC_RESTORE, &locked_image);
}

static void undo_restore_locked(long ret)
{
	test_demand(locked_keeps(2));
	end_locked();
	locked = make_locked(1);
}

static const struct call locked_calls[] = {
	{ "SNAP_BEGIN", no_prepare, locked_begin, locked_has_keys, undo_locked_begin },
	{ "READ of the state", begin_locked, read_state, kept_read, undo_locked_begin },
	{ "READ of memory", begin_locked, read_memory, kept_read, undo_locked_begin },
	{ "SNAP_END", begin_locked, locked_end, kept_locked_end, no_undo },
	{ "RESTORE", no_prepare, restore_locked, locked_has_keys, undo_restore_locked },
};

/* Make a snapshot of a filter of @locked_kind. */
static void make_locked_image(void)
{
	static union copy kept;
	struct epf_snap s;

	locked = make_locked(2);
	begin_locked();
	test_demand(!read_memory());
	test_demand(!test_snap_end(locked, &s));
	end_locked();
	kept = copy;
	locked_image.size = sizeof(locked_image);
	locked_image.header = s.header;
	locked_image.lines = (uintptr_t)&kept;
}

/* ------------------------------------------------------ every fault ---- */

/* Faults met: the call failed, or coped. */
struct tally {
	int failed;
	int absorbed;
};

static bool makes_table(const struct call *c)
{
	return c->undo == undo_create || c->undo == undo_restore ||
	       c->undo == undo_restore_locked || c->undo == undo_journal;
}

/* Return: did all go as it should? @on: all later allocations fail too. */
static bool every_fault(const struct call *c, bool on, struct tally *t)
{
	int n, since = 0; /* calls since the last fault */
	bool met;
	long ret;

	c->prepare(); /* once without faults, as a warm-up */
	ret = c->fn();
	test_demand(ret >= 0);
	c->undo(ret);
	for (n = 1; since < ENOUGH && n < N_MAX; n++) {
		c->prepare();
		test_demand(put_number(make_it_fail, on) && put_number(fail_nth, n));
		ret = c->fn();
		met = struck();
		since = met ? 0 : since + 1;
		if (ret >= 0)
			c->undo(ret);
		t->failed += met && ret < 0;
		t->absorbed += met && ret >= 0;
		if (ret < 0 && (!met || (ret != -ENOMEM && ret != -EFAULT) || !c->kept(ret))) {
			printf("# fault %d%s: %s\n", n, on ? " and on" : "", strerror(-ret));
			return false;
		}
	}
	return n < N_MAX;
}

/* The keys of an ended epoch @n are of stream 100 + n. Are those of the window all
 * present?
 */
static bool window_kept(int fd, int n)
{
	int first = n > (int)L - 2 ? n - (int)L + 2 : 1;

	for (; first <= n; first++)
		if (test_count(fd, 100 + first, 0, KEYS) != KEYS)
			return false;
	return true;
}

/* Make the n-th allocation of the worker, and all after it, fail in the n-th epoch.
 * Return: did all go as it should, and did the worker get its memory in the end?
 */
static bool every_worker_fault(__u32 kind, struct tally *t)
{
	int n, since = 0, fd;
	__u64 bytes, waits = 0;
	struct epf_info info;

	test_demand(!create_locked("mod-faults-worker", kind, 3600 * SEC));
	fd = test_open("mod-faults-worker");
	bytes = test_info(fd).memory_bytes;
	for (n = 1; since < ENOUGH && n < N_MAX; n++) {
		arm_workers(n);
		test_insert(fd, 100 + n, 0, KEYS);
		test_demand(!epf_filter_rotate(fd, 1, NULL));
		since = workers_struck() ? 0 : since + 1;
		info = test_info(fd);
		t->failed += info.waits != waits;
		t->absorbed += info.waits == waits && !since;
		waits = info.waits;
		if (!window_kept(fd, n)) {
			printf("# fault %d: keys are lost\n", n);
			break;
		}
	}
	info = test_info(fd);
	close(fd);
	test_demand(!test_destroy("mod-faults-worker", 0));
	return since == ENOUGH && t->failed && info.memory_bytes > bytes;
}

/* Return: the areas of this module; those of destroyed filters are freed a little
 * later.
 */
static int areas(void)
{
	FILE *file = fopen("/proc/vmallocinfo", "re");
	char line[512];
	int nr = 0;

	test_demand(file);
	while (fgets(line, sizeof(line), file))
		nr += strstr(line, "[epochfilter]") != NULL;
	fclose(file);
	return nr;
}

static bool areas_are(void *arg)
{
	return areas() == *(int *)arg;
}

static __u64 bytes_of(const char *name)
{
	int fd = test_open(name);
	__u64 bytes = test_info(fd).memory_bytes;

	close(fd);
	return bytes;
}

/* All memory up to the limit can be allocated, to the page. */
static bool nothing_charged(void)
{
	struct epf_params p = test_params("mod-faults-new", 64, 1, 5, 700);
	__u64 room = 1 << 20, more;
	long ret;

	test_demand(!epf_dev_create(test_dev, &p, NULL, NULL));
	more = bytes_of("mod-faults-new") - 64 * 64; /* in addition to the lines */
	test_demand(!test_destroy("mod-faults-new", 0));
	room -= bytes_of("mod-faults") + bytes_of("mod-faults-2") + more;
	p.nr_lines = room / PAGE * PAGE / 64;
	test_demand(!test_write(PARAMETERS "max_total_mib", "1"));
	ret = epf_dev_create(test_dev, &p, NULL, NULL);
	test_demand(!test_write(PARAMETERS "max_total_mib", "0"));
	return !ret && !test_destroy("mod-faults-new", 0);
}

static void make_image(void)
{
	struct epf_params p = test_params("mod-faults-3", IMAGE_LINES, 2, 10, 7000);
	int fd = test_make(&p);
	struct epf_snap s;
	void *at, *lines = malloc(IMAGE_LINES * 64);

	test_insert(fd, 2, 0, KEYS);
	test_demand(!test_snap_begin(fd, SEC, NULL));
	at = mmap(NULL, IMAGE_LINES * 64, PROT_READ, MAP_SHARED, fd, 0);
	test_demand(lines && at != MAP_FAILED);
	epf_copy_words(lines, at, IMAGE_LINES * 64);
	test_demand(!test_snap_end(fd, &s));
	munmap(at, IMAGE_LINES * 64);
	close(fd);
	test_demand(!test_destroy("mod-faults-3", 0));
	image.size = sizeof(image);
	image.header = s.header;
	image.lines = (uintptr_t)lines;
}

static void tell(const char *name, bool good, const struct tally *t)
{
	tap_ok(good, "%s: %d faults: failed %d times, did without %d", name,
	       t->failed + t->absorbed, t->failed, t->absorbed);
}

/* Return: number of faults met. */
static int meet(const char *of, const struct call *c)
{
	struct tally t = { 0, 0 };
	bool good = every_fault(c, false, &t);
	char name[64];

	if (makes_table(c))
		good = every_fault(c, true, &t) && good;
	snprintf(name, sizeof(name), "%s%s", of, c->name);
	tell(name, good, &t);
	return t.failed + t.absorbed;
}

static int meet_locked(__u32 kind)
{
	char of[32];
	int all = 0;
	size_t i;

	locked_kind = kind;
	make_locked_image();
	locked = make_locked(1);
	snprintf(of, sizeof(of), "%s: ", epf_kind_name(kind));
	for (i = 0; i < ARRAY_LEN(locked_calls); i++)
		all += meet(of, &locked_calls[i]);
	end_locked();
	return all;
}

int main(void)
{
	struct tally worker[2] = { { 0, 0 }, { 0, 0 } };
	int before, all = 0;
	__u32 filters, kind;
	size_t i;

	test_open_device();
	if (!arm()) {
		tap_skip_all("this kernel has no fault injection: " FAIL_NTH);
		return TAP_SKIPPED;
	}
	tap_plan(ARRAY_LEN(calls) + EPF_KIND_MAX * ARRAY_LEN(locked_calls) + 6);
	make_image();
	filter = test_make_plain("mod-faults", 700);
	close(test_make_plain("mod-faults-2", 700));
	test_insert(filter, 1, 0, KEYS);
	test_demand(!mlockall(MCL_CURRENT));
	test_sleep(SEC); /* the memory that make_image() destroyed is freed */
	filters = test_nr_filters();
	before = areas();
	for (i = 0; i < ARRAY_LEN(calls); i++)
		all += meet("", &calls[i]);
	for (kind = 1; kind <= EPF_KIND_MAX; kind++)
		all += meet_locked(kind);
	tell("worker of tlbf", every_worker_fault(EPF_KIND_TLBF, &worker[0]), &worker[0]);
	tell("worker of chain", every_worker_fault(EPF_KIND_CHAIN, &worker[1]), &worker[1]);
	tap_ok(all > 20, "%d faults met a call", all);
	test_is(test_nr_filters(), filters, "no filter more and none less");
	tap_ok(test_wait(areas_are, &before) && nothing_charged(), "no memory more and none less");
	tap_ok(test_kernel_calm(), "the kernel has not complained");
	return test_end();
}
