// SPDX-License-Identifier: GPL-2.0
/*
 * Every allocation of every call fails in turn, and so does every copy from and
 * to its caller: the n-th one of the call, for n = 1, 2, ... until the call
 * needs fewer. Lines of a table are asked for in two ways, huge pages and small
 * ones: so, for what makes tables, once more with all from the n-th on that come
 * from slabs. A call that fails says ENOMEM or EFAULT and has changed nothing
 * but what the ABI says; one that does without has done all of its work. Nothing
 * stays allocated. So it is with the worker of a fluid kind, whose failures
 * nobody is told of: no key of the window is lost, and what it wanted it gets
 * the next time.
 *
 * Needs a kernel with fault injection (docs/TESTING.md): fail-nth of a thread
 * counts down in this thread only, and what comes after it fails where
 * make-it-fail is set.
 */
#include "../owned.h"
#include "epftest.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>

#define FAIL_NTH "/proc/thread-self/fail-nth"
#define MAKE_IT_FAIL "/proc/thread-self/make-it-fail"
#define DEBUG "/sys/kernel/debug/"
#define PARAMETERS "/sys/module/epochfilter/parameters/"
#define KEYS 300u
#define N_MAX 2000
/* A call does not allocate as often each time: so many without a fault. */
#define ENOUGH 10
#define LINES 1024u
#define IMAGE_LINES 4096u
#define L 7u /* epochs of a window */
#define WORKERS 256u

static int fail_nth;	      /* FAIL_NTH, open: opening it allocates */
static int make_it_fail;      /* likewise */
static int filter;	      /* "mod-faults": KEYS keys of stream 1 */
static struct epf_restore image; /* KEYS keys of stream 2, other lines */

/* All kinds of faults, quietly. Return: false: not here. */
static bool arm(void)
{
	static const char *const kinds[] = { "failslab", "fail_page_alloc",
					     "fail_usercopy" };
	char path[128];
	size_t i;

	fail_nth = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	make_it_fail = open(MAKE_IT_FAIL, O_RDWR | O_CLOEXEC);
	if (fail_nth < 0 || make_it_fail < 0)
		return false;
	for (i = 0; i < ARRAY_LEN(kinds); i++) {
		snprintf(path, sizeof(path), DEBUG "%s/verbose", kinds[i]);
		test_write(path, "0");
	}
	test_write(DEBUG "fail_page_alloc/ignore-gfp-highmem", "N");
	test_write(DEBUG "fail_page_alloc/min-order", "0");
	test_write(DEBUG "failslab/times", "-1");
	test_write(DEBUG "failslab/task-filter", "Y");
	return !test_write(DEBUG "failslab/ignore-gfp-wait", "N") &&
	       !test_write(DEBUG "fail_page_alloc/ignore-gfp-wait", "N") &&
	       !test_write(DEBUG "failslab/probability", "100");
}

static bool put_number(int fd, int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	return pwrite(fd, text, len, 0) == len;
}

/* Disarm. Return: whether the fault has struck. This reads and writes through
 * copies that may be struck instead.
 */
static bool struck(void)
{
	char text[16] = "";
	bool yes;

	yes = pread(fail_nth, text, sizeof(text) - 1, 0) > 0 && !atoi(text);
	while (!put_number(make_it_fail, 0))
		;
	while (!put_number(fail_nth, 0))
		;
	return yes;
}

/**
 * struct call - what is to fail
 * @name: for claims
 * @prepare: bring about what it needs
 * @fn: does it. Return: 0 or more, or -errno
 * @kept: it gave @err: nothing has changed but what the ABI says
 * @undo: it gave @ret without failure, and did its work; all is as before
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
	(void)ret;
}

static bool has_own_keys(long err)
{
	struct epf_info info = test_info(filter);

	(void)err;
	return test_count(filter, 1, 0, KEYS) == KEYS &&
	       info.params.nr_lines == LINES &&
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

/* Of a window of @span_ns, where the kind is fluid; slices for L generations. */
static long create_owned(const char *name, __u32 kind, __u64 span_ns)
{
	struct epf_params p = test_owned_params(name, kind, 700);
	struct epf_shape s = owned_shape(kind);

	if (kind == EPF_KIND_TLBF) {
		s.tlbf = (struct epf_shape_tlbf){ .words_first = 1024,
						  .words_min = 1024,
						  .words_max = 1 << 16,
						  .k = 5, .l = L };
	} else if (kind == EPF_KIND_CHAIN) {
		s.chain = (struct epf_shape_chain){ .lines_first = 64,
						    .lines_min = 64,
						    .lines_max = 1 << 14,
						    .load = 1024,
						    .lines_per_key = 2,
						    .bits_per_key = 10 };
	}
	if (kind == EPF_KIND_TLBF || kind == EPF_KIND_CHAIN) {
		p.mode = EPF_MODE_TIME;
		p.window_inserts = 0;
		p.window_ns = span_ns;
	}
	return epf_dev_create_kind(test_dev, &p, &s, test_key, NULL);
}

#define CREATE(kind)							      \
static long call_##kind(void)						      \
{									      \
	return create_owned("mod-faults-new", EPF_KIND_##kind, 3600 * SEC);   \
}
CREATE(GE)
CREATE(GEBL)
CREATE(APBF)
CREATE(APBBF)
CREATE(TLBF)
CREATE(DICT)
CREATE(CHAIN)

static bool none_made(long err)
{
	(void)err;
	return test_open("mod-faults-new") == -ENOENT;
}

static void undo_create(long ret)
{
	(void)ret;
	test_demand(!test_destroy("mod-faults-new", 0));
}

static long call_restore(void)
{
	return test_ioctl(filter, EPF_IOC_RESTORE, &image);
}

static void undo_restore(long ret)
{
	(void)ret;
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
	struct epf_list l = { .size = sizeof(l), .ids = (uintptr_t)ids,
			      .count = ARRAY_LEN(ids) };

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

/* What it did before it met a bad pointer stays done. */
static bool kept_insert(long err)
{
	bool good = has_own_keys(err) &&
		    (err == -EFAULT || !test_count(filter, 3, 0, 1));

	renew();
	return good;
}

static void undo_insert(long ret)
{
	(void)ret;
	test_demand(test_count(filter, 3, 0, 1) == 1);
	renew();
}

static long call_rotate(void)
{
	return epf_filter_rotate(filter, 1, NULL);
}

static void undo_rotate(long ret)
{
	(void)ret;
	renew();
}

static long call_begin(void)
{
	struct epf_snap s = { .size = sizeof(s), .pin_ns = SEC };

	return test_ioctl(filter, EPF_IOC_SNAP_BEGIN, &s);
}

static long call_end(void)
{
	struct epf_snap s = { .size = sizeof(s) };

	return test_ioctl(filter, EPF_IOC_SNAP_END, &s);
}

static void prepare_end(void)
{
	test_demand(!call_begin());
}

static void undo_begin(long ret)
{
	(void)ret;
	test_demand(!call_end());
}

/* Ended, or still to be ended. */
static bool kept_end(long err)
{
	call_end();
	return has_own_keys(err);
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

	(void)err;
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
	{ "mmap", no_prepare, call_map, has_own_keys, no_undo },
	{ "DESTROY", prepare_destroy, call_destroy, still_there, no_undo },
};

/* Faults met: the call failed, or did without. */
struct tally {
	int failed;
	int absorbed;
};

static bool makes_table(const struct call *c)
{
	return c->undo == undo_create || c->undo == undo_restore;
}

/* Return: whether all went as it should; @on: where all after it fail too. */
static bool every_fault(const struct call *c, bool on, struct tally *t)
{
	int n, since = 0; /* the last fault that was met */
	bool met;
	long ret;

	c->prepare(); /* once without, so that this program needs no more */
	ret = c->fn();
	test_demand(ret >= 0);
	c->undo(ret);
	for (n = 1; since < ENOUGH && n < N_MAX; n++) {
		c->prepare();
		test_demand(put_number(make_it_fail, on) &&
			    put_number(fail_nth, n));
		ret = c->fn();
		met = struck();
		since = met ? 0 : since + 1;
		if (ret >= 0)
			c->undo(ret);
		t->failed += met && ret < 0;
		t->absorbed += met && ret >= 0;
		if (ret < 0 && (!met || (ret != -ENOMEM && ret != -EFAULT) ||
				!c->kept(ret))) {
			printf("# fault %d%s: %s\n", n, on ? " and on" : "",
			       strerror(-ret));
			return false;
		}
	}
	return n < N_MAX;
}

/* The kernel's workers, of which one serves ours. */
static struct worker {
	int fail_nth, make_it_fail;
} workers[WORKERS];
static size_t nr_workers;

static int open_of(const char *pid, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	return open(path, O_RDWR | O_CLOEXEC);
}

static bool is_worker(const char *pid)
{
	char name[32] = "";
	int fd = open_of(pid, "comm");

	if (fd < 0)
		return false;
	(void)!read(fd, name, sizeof(name) - 1);
	close(fd);
	return !strncmp(name, "kworker/u", 9);
}

static void arm_workers(int n)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	struct worker w;

	test_demand(dir);
	while ((d = readdir(dir)) && nr_workers < WORKERS) {
		if (atoi(d->d_name) <= 0 || !is_worker(d->d_name))
			continue;
		w.fail_nth = open_of(d->d_name, "fail-nth");
		w.make_it_fail = open_of(d->d_name, "make-it-fail");
		put_number(w.fail_nth, n); /* it may have ended */
		put_number(w.make_it_fail, 1);
		workers[nr_workers++] = w;
	}
	closedir(dir);
}

/* Disarm. Return: whether one of them has met its fault. */
static bool workers_struck(void)
{
	bool yes = false;

	while (nr_workers) {
		struct worker *w = &workers[--nr_workers];
		char text[16] = "";

		put_number(w->make_it_fail, 0);
		yes |= pread(w->fail_nth, text, sizeof(text) - 1, 0) > 0 &&
		       !atoi(text);
		put_number(w->fail_nth, 0);
		close(w->make_it_fail);
		close(w->fail_nth);
	}
	return yes;
}

/* Keys of epoch @n, which is over, are of stream 100 + n: those of the window
 * are all there.
 */
static bool window_kept(int fd, int n)
{
	int first = n > (int)L - 2 ? n - (int)L + 2 : 1;

	for (; first <= n; first++)
		if (test_count(fd, 100 + first, 0, KEYS) != KEYS)
			return false;
	return true;
}

/* The n-th allocation of the worker, and all after it, fail in the n-th epoch.
 * Return: whether it went as it should; it got what it wanted in the end.
 */
static bool every_worker_fault(__u32 kind, struct tally *t)
{
	int n, since = 0, fd;
	__u64 bytes, waits = 0;
	struct epf_info info;

	test_demand(!create_owned("mod-faults-worker", kind, 3600 * SEC));
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

/* Areas of our module; those destroyed are freed a little later. */
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

static __u32 nr_filters(void)
{
	struct epf_list l = { .size = sizeof(l) };

	test_demand(!test_ioctl(test_dev, EPF_IOC_LIST, &l));
	return l.count;
}

static __u64 bytes_of(const char *name)
{
	int fd = test_open(name);
	__u64 bytes = test_info(fd).memory_bytes;

	close(fd);
	return bytes;
}

/* All memory that may be had can be had, to the page. */
static bool nothing_charged(void)
{
	struct epf_params p = test_params("mod-faults-new", 64, 1, 5, 700);
	__u64 room = 1 << 20, more;
	long ret;

	test_demand(!epf_dev_create(test_dev, &p, NULL, NULL));
	more = bytes_of("mod-faults-new") - 64 * 64; /* than the lines */
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
	struct epf_params p = test_params("mod-faults-3", IMAGE_LINES, 2, 10,
					  7000);
	struct epf_snap s = { .size = sizeof(s), .pin_ns = SEC };
	int fd = test_make(&p);
	void *at, *lines = malloc(IMAGE_LINES * 64);

	test_insert(fd, 2, 0, KEYS);
	test_demand(!test_ioctl(fd, EPF_IOC_SNAP_BEGIN, &s));
	at = mmap(NULL, IMAGE_LINES * 64, PROT_READ, MAP_SHARED, fd, 0);
	test_demand(lines && at != MAP_FAILED);
	memcpy(lines, at, IMAGE_LINES * 64);
	s.pin_ns = 0;
	test_demand(!test_ioctl(fd, EPF_IOC_SNAP_END, &s));
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

int main(void)
{
	struct tally worker[2] = { { 0, 0 }, { 0, 0 } };
	int before, all = 0;
	__u32 filters;
	size_t i;

	test_open_device();
	if (!arm()) {
		tap_skip_all("this kernel has no fault injection: " FAIL_NTH);
		return TAP_SKIPPED;
	}
	tap_plan(ARRAY_LEN(calls) + 6);
	make_image();
	filter = test_make_plain("mod-faults", 700);
	close(test_make_plain("mod-faults-2", 700));
	test_insert(filter, 1, 0, KEYS);
	test_demand(!mlockall(MCL_CURRENT));
	test_sleep(SEC); /* what make_image() destroyed is freed */
	filters = nr_filters();
	before = areas();
	for (i = 0; i < ARRAY_LEN(calls); i++) {
		struct tally t = { 0, 0 };
		bool good = every_fault(&calls[i], false, &t);

		if (makes_table(&calls[i]))
			good = every_fault(&calls[i], true, &t) && good;
		tell(calls[i].name, good, &t);
		all += t.failed + t.absorbed;
	}
	tell("worker of tlbf", every_worker_fault(EPF_KIND_TLBF, &worker[0]),
	     &worker[0]);
	tell("worker of chain", every_worker_fault(EPF_KIND_CHAIN, &worker[1]),
	     &worker[1]);
	tap_ok(all > 20, "%d faults met a call", all);
	test_is(nr_filters(), filters, "no filter more and none less");
	tap_ok(test_wait(areas_are, &before) && nothing_charged(),
	       "no memory more and none less");
	tap_ok(test_kernel_calm(), "the kernel has not complained");
	return test_end();
}
