// SPDX-License-Identifier: GPL-2.0
/*
 * Long work in steps (libepf/work.h, libepf/mirror.h): no step touches more than
 * EPF_STEP_BYTES of any large mapping, the result equals that of the work done in one
 * go, and work cancelled after any step leaves nothing behind.
 *
 * Large mappings are inaccessible; a fault opens a page, and all pages are closed
 * before each step. So every touched page is counted. The filter lives in this process,
 * behind the ioctls and mappings of the module.
 */
#define EPF_PRIVATE
#include "../locked.h"
#include "../core/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xxhash.h>

#include "audit.h"
#include "query/kinds.h"
#include "mirror.h"
#include "order.h"
#include "work.h"
#include "epf/journal.h"
#include "epf/lanes.h"

#define PAGE 4096u
#define LARGE (4u << 20)
#define LINES 140001u
#define BUCKETS 131072u
#define RECORDS 200000u
#define ORDER 18u
#define RECORDS_AT PAGE
#define REGIONS 16
/* A step may begin and end within a page. */
#define PAGES_MAX (EPF_STEP_BYTES / PAGE + 1)

/* ---- large mappings ---- */

/**
 * struct region - a large mapping of the library
 * @pages: pages touched in this step
 */
static struct region {
	char *at;
	size_t bytes;
	int prot;
	unsigned int pages;
} region[REGIONS];

static struct region *region_of(const void *addr)
{
	const char *p = addr;
	int i;

	for (i = 0; i < REGIONS; i++)
		if (region[i].at && p >= region[i].at && p < region[i].at + region[i].bytes)
			return &region[i];
	return NULL;
}

static unsigned int nr_regions(void)
{
	unsigned int n = 0;
	int i;

	for (i = 0; i < REGIONS; i++)
		n += region[i].at != NULL;
	return n;
}

static void touched(int number, siginfo_t *info, void *context)
{
	struct region *r = region_of(info->si_addr);
	char *page;

	if (!r) {
		signal(number, SIG_DFL);
		return;
	}
	page = r->at + ((char *)info->si_addr - r->at) / PAGE * PAGE;
	r->pages++;
	mprotect(page, PAGE, r->prot);
}

static void protect(bool closed)
{
	int i;

	for (i = 0; i < REGIONS; i++) {
		region[i].pages = 0;
		if (region[i].at)
			mprotect(region[i].at, region[i].bytes,
				 closed ? PROT_NONE : region[i].prot);
	}
}

static unsigned int most_pages(void)
{
	unsigned int most = 0;
	int i;

	for (i = 0; i < REGIONS; i++)
		if (region[i].pages > most)
			most = region[i].pages;
	return most;
}

/* ---- a filter ---- */

/**
 * struct filter - a filter of the module, as the library sees it
 * @fd: descriptor of its lines
 * @line: the lines, mapped
 * @locked: it is a dictionary, with @words and @state
 * @journal: its mapped journal, of @journal_fd
 * @begun: snapshots under way
 * @voids: snapshots that will be invalid when they end
 * @pin_ns: duration of the last snapshot's pin
 */
static struct {
	int fd;
	struct epf_lanes f;
	__u64 epoch;
	struct locked dict;
	struct epf_snap_locked state;
	bool locked;
	void *journal;
	int journal_fd;
	int begun;
	int voids;
	__u64 pin_ns;
} filter;

static struct epf_params params(void)
{
	struct epf_params p = {
		.name = "steps",
		.window_inserts = 7000,
		.budget_ppt = EPF_RATE_ONE / 1000,
		.limit_ppt = EPF_RATE_ONE / 100,
	};

	p.kind = filter.locked ? EPF_KIND_DICT : EPF_KIND_LANES;
	if (!filter.locked) {
		p.nr_lines = LINES;
		p.lines_per_key = 1;
		p.bits_per_key = 7;
	}
	return p;
}

static size_t lines_bytes(void)
{
	return (size_t)LINES * EPF_LINE_BYTES;
}

static size_t words_bytes(void)
{
	return filter.state.words * sizeof(__u64);
}

static struct epf_journal_ring writer(void)
{
	struct epf_journal_ring r = {
		(void *)((char *)filter.journal + EPF_JOURNAL_SHARD_BYTES),
		(void *)((char *)filter.journal + RECORDS_AT),
		(1ULL << ORDER) - 1,
		0,
	};

	return r;
}

static int do_journal(struct epf_journal_args *a)
{
	struct epf_journal_ring r = writer();

	if (a->flags & EPF_JOURNAL_END)
		return 0;
	a->shards = 1;
	a->records = RECORDS_AT;
	a->bytes = RECORDS_AT + (sizeof(struct epf_journal_record) << ORDER);
	a->serial = 1;
	memset(filter.journal, 0, a->bytes);
	epf_journal_init(&r);
	return 0;
}

static int do_snap(struct epf_snap *s, int more)
{
	filter.begun += more;
	if (more > 0) {
		filter.pin_ns = s->pin_ns;
	} else if (filter.voids) {
		filter.voids--;
		errno = ESTALE;
		return -1;
	}
	memset(&s->header, 0, sizeof(s->header));
	s->header.magic = EPF_SNAP_MAGIC;
	s->header.version = EPF_SNAP_VERSION;
	s->header.header_bytes = sizeof(s->header);
	s->header.params = params();
	s->header.epoch_begin = s->header.epoch_end = filter.epoch;
	s->journal = 1;
	s->now_ns = 1;
	return 0;
}

static int do_read(const struct epf_snap_read *r)
{
	const char *from = r->flags & EPF_SNAP_STATE ? (const char *)&filter.state :
						       (const char *)filter.dict.f.word;

	memcpy((void *)(uintptr_t)r->data, from + r->offset, r->bytes);
	return 0;
}

static int do_info(struct epf_info *info)
{
	info->id = 1;
	info->params = params();
	info->epoch = filter.epoch;
	info->memory_bytes = filter.locked ? words_bytes() : lines_bytes();
	return 0;
}

/* Is it the filter's descriptor, or another one of it? */
static bool is_filter(int fd)
{
	struct stat a, b;

	return filter.fd > 0 && !fstat(fd, &a) && !fstat(filter.fd, &b) && a.st_ino == b.st_ino &&
	       a.st_dev == b.st_dev;
}

/* The device opens as the filter itself. */
int open(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = va_arg(args, int);
	va_end(args);
	if (!strcmp(path, EPF_DEVICE))
		return fcntl(filter.fd, F_DUPFD_CLOEXEC, 0);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int ioctl(int fd, unsigned long cmd, ...)
{
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	if (!is_filter(fd))
		return (int)syscall(SYS_ioctl, fd, cmd, arg);
	switch (cmd) {
	case EPF_IOC_OPEN:
		return fcntl(filter.fd, F_DUPFD_CLOEXEC, 0);
	case EPF_IOC_INFO:
		return do_info(arg);
	case EPF_IOC_SNAP_BEGIN:
		return do_snap(arg, 1);
	case EPF_IOC_SNAP_END:
		return do_snap(arg, -1);
	case EPF_IOC_SNAP_READ:
		return do_read(arg);
	case EPF_IOC_JOURNAL:
		return do_journal(arg);
	}
	errno = ENOTTY;
	return -1;
}

static void *call_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
#ifdef __s390x__ /* takes the address of its arguments */
	unsigned long arg[] = { (unsigned long)at,   bytes,
				(unsigned long)prot, (unsigned long)flags,
				(unsigned long)fd,   (unsigned long)offset };

	return (void *)syscall(SYS_mmap, arg);
#else
	return (void *)syscall(SYS_mmap, at, bytes, prot, flags, fd, offset);
#endif
}

void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	bool journal = offset && is_filter(fd);
	void *map = call_mmap(at, bytes, prot, flags, journal ? filter.journal_fd : fd,
			      journal ? 0 : offset);
	int i;

	for (i = 0; map != MAP_FAILED && bytes >= LARGE && i < REGIONS; i++)
		if (!region[i].at) {
			region[i] = (struct region){ map, bytes, prot, 0 };
			break;
		}
	return map;
}

int munmap(void *at, size_t bytes)
{
	struct region *r = region_of(at);

	if (r && r->at == at)
		r->at = NULL;
	return (int)syscall(SYS_munmap, at, bytes);
}

/* ---- what is done in steps ---- */

/**
 * struct doing - work in steps, and its inputs
 * @work: the work; NULL: a mirror
 * @fd: descriptor of a snapshot
 */
static struct doing {
	struct epf_work *work;
	struct epf_mirror *mirror;
	struct epf_snap_file file;
	enum epf_snap_fault fault;
	struct epf_view view;
	int fd;
} d;

static void need(int ret)
{
	if (ret) {
		fprintf(stderr, "%s\n", strerror(-ret));
		abort();
	}
}

static int one_step(void)
{
	return d.mirror ? epf_mirror_step(d.mirror) : epf_work_step(d.work);
}

static void stop(void)
{
	if (d.mirror)
		epf_mirror_close(d.mirror);
	epf_work_end(d.work);
	d.mirror = NULL;
	d.work = NULL;
}

/* What exists when a check, a copy or a view begins. */
static void open_checked(void)
{
	need(epf_snap_open_fd(d.fd, &d.file, NULL, NULL, &d.fault));
}

static void begin_check(void)
{
	need(epf_snap_check_begin(d.fd, &d.file, &d.fault, &d.work));
}

static void begin_copy(void)
{
	need(epf_snap_copy_begin(filter.fd, &d.file, &d.work));
}

static void begin_view(void)
{
	need(epf_view_snap_begin(&d.view, &d.file, &d.work));
}

static void begin_settling(void)
{
	need(epf_view_settle_begin(&d.view, &d.work));
}

static void begin_mirror(void)
{
	need(epf_mirror_begin(filter.fd, ORDER, 0, &d.mirror));
}

static bool same_bytes(const void *a, const void *b, size_t bytes)
{
	return !memcmp(a, b, bytes);
}

static bool is_checked(void)
{
	return d.fault == EPF_SNAP_OK && d.file.map;
}

/* For a locked kind the sum covers words, then the state, both in the byte order of files. */
static __u64 sum_of(const char *first, size_t bytes, const struct epf_snap_locked *then,
		    size_t more)
{
	XXH3_state_t *sum = XXH3_createState();
	struct epf_snap_locked state = *then;
	char *words = malloc(bytes);
	__u64 got;

	if (!sum || !words)
		abort();
	epf_order_words(words, first, bytes);
	epf_order_locked(&state, EPF_KIND_DICT);
	XXH3_64bits_reset(sum);
	XXH3_64bits_update(sum, words, bytes);
	XXH3_64bits_update(sum, &state, more);
	free(words);
	got = XXH3_64bits_digest(sum);
	XXH3_freeState(sum);
	return got;
}

static bool is_copied(void)
{
	size_t more = filter.locked ? sizeof(filter.state) : 0;
	size_t bytes = filter.locked ? words_bytes() : lines_bytes();
	const void *from = filter.locked ? (void *)filter.dict.f.word : (void *)filter.f.line;

	return same_bytes((const char *)d.file.lines + more, from, bytes) &&
	       same_bytes(d.file.lines, &filter.state, more) &&
	       d.file.header.lines_xxh3 == sum_of(from, bytes, &filter.state, more);
}

static bool is_locked_view(void)
{
	return d.view.asked && same_bytes(d.view.asked->f.word, filter.dict.f.word, words_bytes());
}

static bool is_mirror(void)
{
	struct epf_view v;

	epf_mirror_view(d.mirror, &v);
	return v.epoch == filter.epoch && same_bytes(v.lines, filter.f.line, lines_bytes());
}

static bool is_settled(void)
{
	return (__u64)d.view.lines % EPF_LINE_BYTES == 0 &&
	       same_bytes(d.view.lines, filter.f.line, lines_bytes());
}

/* Take all steps, one by one. Return: their number; *@most: the most pages touched by
 * one.
 */
static unsigned int steps(unsigned int *most, int *ret)
{
	unsigned int n = 0, pages;

	*most = 0;
	do {
		protect(true);
		*ret = one_step();
		pages = most_pages();
		if (pages > *most)
			*most = pages;
		n++;
	} while (*ret > 0);
	protect(false);
	return n;
}

static void small_steps(const char *what, size_t bytes, bool (*good)(void))
{
	unsigned int most, n;
	int ret;

	n = steps(&most, &ret);
	if (!d.mirror) {
		epf_work_end(d.work);
		d.work = NULL;
	}
	tap_ok(!ret && n >= bytes / EPF_STEP_BYTES && most <= PAGES_MAX && good(),
	       "%s: %d after %u steps, %u pages of one at most", what, ret, n, most);
}

/* Cancel before the first step, after one step, after two, ... */
static void ended(const char *what, void (*begin)(void))
{
	unsigned int before = nr_regions(), n, i;
	bool left = false;
	int ret = 1;

	for (n = 0; ret > 0; n++) {
		begin();
		ret = 1;
		for (i = 0; i < n && ret > 0; i++)
			ret = one_step();
		if (ret <= 0)
			break;
		stop();
		left |= nr_regions() != before || filter.begun;
	}
	stop();
	tap_ok(n > 2 && !left && !ret && !filter.begun,
	       "%s: ended after any of %u steps it leaves nothing", what, n);
}

static void close_all(void)
{
	epf_view_close(&d.view);
	epf_snap_close(&d.file);
	memset(&d.view, 0, sizeof(d.view));
}

/* ---- the claims ---- */

#define WORK_POINTS 2
static void claim(const char *what, size_t bytes, void (*begin)(void), bool (*good)(void))
{
	begin();
	small_steps(what, bytes, good);
	stop();
}

/* Save the filter to a file. */
static void save(void)
{
	const char *in = getenv("TMPDIR");
	char path[256];

	snprintf(path, sizeof(path), "%s/epf-steps.XXXXXX", in ? in : "/tmp");
	close(mkstemp(path));
	need(epf_snap_save(filter.fd, path, NULL, NULL, NULL));
	d.fd = open(path, O_RDONLY);
	unlink(path);
}

#define FILTER_POINTS (2 * WORK_POINTS)
static void of_filter(const char *kind, size_t bytes)
{
	char what[64];

	save();
	snprintf(what, sizeof(what), "a snapshot of %s checked", kind);
	ended(what, begin_check);
	close_all();
	claim(what, bytes, begin_check, is_checked);
	close_all();
	snprintf(what, sizeof(what), "a copy of %s", kind);
	ended(what, begin_copy);
	close_all();
	claim(what, bytes, begin_copy, is_copied);
	close_all();
}

/* An epf_progress_fn called when all words are copied. */
static int count_copies(void *ctx, __u64 done, __u64 all)
{
	*(int *)ctx += done == all;
	return 0;
}

#define VOID_POINTS 2
static void of_voids(void)
{
	unsigned int before = nr_regions();
	int ret, copies = 0;

	filter.voids = 1;
	ret = epf_snap_copy(filter.fd, &d.file, count_copies, &copies);
	tap_ok(!ret && copies == 2 && filter.pin_ns == EPF_PIN_MAX_NS && is_copied(),
	       "an invalid copy is made again, with the longest pin");
	close_all();
	filter.voids = 2;
	copies = 0;
	ret = epf_snap_copy(filter.fd, &d.file, count_copies, &copies);
	tap_ok(ret == -ESTALE && copies == 2 && !filter.begun && !filter.voids &&
		       nr_regions() == before,
	       "but not a third time: %d after %d copies", ret, copies);
}

#define VIEW_POINTS WORK_POINTS
static void of_view(void)
{
	open_checked();
	ended("a view of dict", begin_view);
	epf_view_close(&d.view);
	claim("a view of dict", words_bytes(), begin_view, is_locked_view);
	close_all();
}

static void unsettle(void)
{
	close_all();
	open_checked();
	need(epf_view_snap(&d.view, &d.file));
}

static void unsettle_and_begin(void)
{
	unsettle();
	begin_settling();
}

#define SETTLE_POINTS WORK_POINTS
static void of_settling(void)
{
	unsettle();
	ended("settling", unsettle_and_begin);
	unsettle();
	claim("settling", lines_bytes(), begin_settling, is_settled);
	close_all();
}

static void put(__u64 kind, __u64 value, __u64 more)
{
	struct epf_journal_ring r = writer();

	epf_journal_put(&r, kind, filter.epoch, value, more);
}

static void insert(__u64 digest)
{
	struct epf_probe p;
	__u64 lanes = 0;
	bool grew = false;

	epf_probe(&filter.f, digest, &p);
	epf_lanes_insert_into(&filter.f, &p, &lanes, &grew);
	put(EPF_JOURNAL_INSERT, digest, lanes);
}

/* Advance the epoch as if every line had been scanned in time. */
static void rotate(void)
{
	filter.epoch++;
	epf_lanes_scan(&filter.f, 0, LINES);
	put(EPF_JOURNAL_ROTATE, 0, 1);
}

/* A step reads few of many records, whatever they do to the lines. */
static void follow_claim(const char *what, size_t bytes)
{
	unsigned int n = 0;
	int ret;

	need(epf_mirror_follow_begin(d.mirror));
	do {
		ret = epf_mirror_step(d.mirror);
		n++;
	} while (ret > 0);
	tap_ok(!ret && n >= bytes / EPF_STEP_BYTES && is_mirror(), "%s: %d after %u steps", what,
	       ret, n);
}

/* A record is not there: its writer is interrupted; or it is lost. */
static void missing_record(void)
{
	struct epf_journal_ring r = writer();
	bool waits;

	r.shard->next++;
	need(epf_mirror_follow_begin(d.mirror));
	waits = epf_mirror_step(d.mirror) == 1 && epf_mirror_step(d.mirror) == 1;
	r.shard->lost++;
	tap_ok(waits && epf_mirror_step(d.mirror) == -EOVERFLOW,
	       "a record that is not there yet is waited for, one that is lost is not");
}

#define MIRROR_POINTS (WORK_POINTS + 3)
static void of_mirror(void)
{
	__u64 i;

	ended("a mirror", begin_mirror);
	begin_mirror();
	small_steps("a mirror", lines_bytes(), is_mirror);
	for (i = 0; i < RECORDS; i++)
		insert(epf_word(i, 5));
	follow_claim("insertions followed", (size_t)RECORDS * sizeof(struct epf_journal_record));
	for (i = 0; i < 32; i++)
		rotate();
	need(epf_mirror_follow_begin(d.mirror));
	small_steps("ends of epochs followed", 2 * lines_bytes(), is_mirror);
	missing_record();
	stop();
}

/* ---- beginning ---- */

static void make_lines(void)
{
	__u64 words = (__u64)LINES * EPF_LANES, i, *word;

	filter.fd = memfd_create("lines", MFD_CLOEXEC);
	filter.journal_fd = memfd_create("journal", MFD_CLOEXEC);
	if (ftruncate(filter.fd, (off_t)lines_bytes()) ||
	    ftruncate(filter.journal_fd, RECORDS_AT + (32 << ORDER)))
		abort();
	filter.f.line = call_mmap(NULL, lines_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED,
				  filter.fd, 0);
	filter.journal = call_mmap(NULL, RECORDS_AT + (32 << ORDER), PROT_READ | PROT_WRITE,
				   MAP_SHARED, filter.journal_fd, 0);
	filter.f.epoch = &filter.epoch;
	filter.epoch = 20;
	if (epf_geom_init(&filter.f.geom, LINES, 1, 7))
		abort();
	word = filter.f.line->lane;
	for (i = 0; i < words; i++)
		word[i] = (epf_word(i, 1) & ~EPF_TAG_MASK) |
			  epf_lane_tag(filter.epoch, (__u32)i % EPF_LANES);
}

static void make_dict(void)
{
	struct epf_shape shape = locked_shape(EPF_KIND_DICT);

	shape.dict.buckets = BUCKETS;
	shape.dict.yard = 1000;
	if (!locked_init(&filter.dict, EPF_KIND_DICT, &shape))
		abort();
	filter.state.size = sizeof(filter.state);
	filter.state.shape = shape;
	filter.state.epoch = filter.epoch;
	epf_dict_save(&filter.dict.f.dict, &filter.state);
}

int main(void)
{
	struct sigaction act = { .sa_sigaction = touched, .sa_flags = SA_SIGINFO };

	tap_plan(2 * FILTER_POINTS + VOID_POINTS + VIEW_POINTS + SETTLE_POINTS + MIRROR_POINTS);
	sigaction(SIGSEGV, &act, NULL);
	make_lines();
	make_dict();
	filter.locked = true;
	of_filter("dict", words_bytes());
	of_voids();
	of_view();
	close(d.fd);
	filter.locked = false;
	of_filter("lanes", lines_bytes());
	of_settling();
	of_mirror();
	return tap_end();
}
