// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots: begin blocks rotation, end describes the copy, restore brings it back
 * completely or not at all.
 */
#include "epftest.h"

#include <copy.h>
#include <epf/lanes.h>

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define LINES 1024u
#define BYTES (LINES * 64ul)
#define WINDOW 700u
#define EPOCH (WINDOW / 7)
#define KEYS 2000u

/* A copy, with two more pages after its end. */
static struct epf_snap_header header;
static char *lines;

static void copy_lines(int fd)
{
	void *at = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);

	test_demand(at != MAP_FAILED);
	epf_copy_words(lines, at, BYTES);
	munmap(at, BYTES);
}

/* Return: how often this thread has waited for anything. */
static long waits(void)
{
	struct rusage u;

	test_demand(!getrusage(RUSAGE_THREAD, &u));
	return u.ru_nvcsw;
}

#define PIN_POINTS 16
static void try_pin(int fd, int fd2)
{
	__u64 e = test_info(fd).epoch;
	struct epf_info info;
	long waited;

	test_is(test_snap_end(fd, NULL), -EINVAL, "END without BEGIN: EINVAL");
	test_is(test_snap_begin(fd, EPF_PIN_MAX_NS, NULL), 0, "BEGIN");
	tap_ok(test_pinned(fd) && test_pinned(fd2), "EPF_IOC_INFO says pinned");
	test_is(test_snap_begin(fd, SEC, NULL), -EBUSY, "BEGIN again: EBUSY");
	test_is(test_snap_begin(fd2, SEC, NULL), -EBUSY, "BEGIN on another descriptor: EBUSY");
	test_is(test_snap_end(fd2, NULL), -EINVAL, "END on another descriptor: EINVAL");
	test_is(epf_filter_rotate(fd, 1, NULL), -EBUSY, "ROTATE: EBUSY");
	test_is(epf_filter_clear(fd2), -EBUSY, "CLEAR: EBUSY");
	waited = waits();
	test_insert(fd, 1, 0, KEYS);
	test_is(waits(), waited, "no insertion waits for the snapshot");
	info = test_info(fd);
	tap_ok(info.epoch == e && info.epochs[0].inserts == KEYS,
	       "three windows of insertions stay in one epoch");
	test_is(info.stats.delayed, 1, "a rotation is delayed, once");
	test_is(test_count(fd, 1, 0, KEYS), KEYS, "all are found");
	test_is(test_snap_end(fd, NULL), 0, "END");
	tap_ok(!test_pinned(fd), "EPF_IOC_INFO says so");
	tap_ok(test_wait_epoch(fd, e + 1), "the delayed rotation takes place");
	test_is(test_info(fd).epoch, e + 1, "one only");
}

#define LET_GO_POINTS 7
static void try_let_go(int fd, int fd2)
{
	__u64 e = test_info(fd).epoch;
	int fd3 = test_open("mod-snap");
	struct epf_snap s;

	test_demand(!test_snap_begin(fd3, EPF_PIN_MAX_NS, NULL));
	test_insert(fd, 2, 0, EPOCH);
	test_is(test_info(fd).epoch, e, "pinned");
	close(fd3);
	tap_ok(!test_pinned(fd) && test_wait_epoch(fd, e + 1),
	       "closing the descriptor ends the snapshot");
	test_is(test_snap_begin(fd, 100 * MS, NULL), 0, "another can begin, for 100 ms");
	test_insert(fd2, 2, EPOCH, EPOCH);
	tap_ok(test_wait(test_unpinned, &fd), "the pin comes to its end by itself");
	tap_ok(test_wait_epoch(fd, e + 2), "and the rotation takes place");
	test_is(test_snap_begin(fd2, EPF_PIN_MAX_NS, NULL), 0,
		"then another descriptor may begin one");
	test_demand(!test_snap_end(fd2, NULL));
	tap_ok(!test_snap_end(fd, &s) && s.header.epoch_begin == e + 1 &&
		       s.header.epoch_end >= e + 2,
	       "the first goes on all the same, and says that rotation came between");
}

#define HEADER_POINTS 7
static void try_header(int fd)
{
	struct epf_info info;
	struct timespec now;
	struct epf_snap s;
	__u64 inserts = 0;
	int i;

	test_insert(fd, 3, 0, KEYS);
	test_demand(!test_snap_begin(fd, EPF_PIN_MAX_NS, NULL));
	copy_lines(fd);
	info = test_info(fd);
	test_demand(!test_snap_end(fd, &s));
	header = s.header;
	clock_gettime(CLOCK_REALTIME, &now);
	tap_ok(header.magic == EPF_SNAP_MAGIC && header.version == EPF_SNAP_VERSION &&
		       header.header_bytes == sizeof(header),
	       "header: magic, version, size");
	tap_ok(!memcmp(&header.params, &info.params, sizeof(info.params)) &&
		       !strcmp(header.params.name, "mod-snap"),
	       "header: parameters and name");
	tap_ok(!memcmp(header.key, test_key, sizeof(test_key)), "header: hash key");
	tap_ok(header.epoch_begin == info.epoch && header.epoch_end == info.epoch,
	       "header: epochs");
	test_is(header.inserts, info.stats.inserts, "header: insertions");
	for (i = 0; i < EPF_EPOCHS; i++) {
		const struct epf_epoch_info *e = &info.epochs[i];

		inserts += header.epochs[e->epoch & 7].inserts != e->inserts;
		inserts += header.epochs[e->epoch & 7].age_ns < e->age_ns;
	}
	test_is(inserts, 0, "header: epochs by their number modulo 8");
	tap_ok(now.tv_sec * SEC + now.tv_nsec - header.realtime_ns < 60 * SEC &&
		       !header.lines_xxh3 && !header.header_xxh3,
	       "header: time of day; sums are left to user space");
}

static bool described(int fd, struct epf_key_desc want)
{
	struct epf_info info = test_info(fd);

	return !memcmp(&info.desc, &want, sizeof(want));
}

static int describe_as(int fd, __u8 kind, __u8 key, __u16 flags, __u32 bytes)
{
	struct epf_key_desc desc = { kind, key, flags, bytes };

	return epf_filter_describe(fd, &desc);
}

/* A restored filter reports the same description of its keys as the original;
 * descriptions that fit no key are refused.
 */
#define DESC_POINTS 14
static void try_desc(void)
{
	const struct epf_key_desc unknown = { 0 }, flow = { 2, 2, 4, 0 },
				  mixed = { EPF_KEYS_MIXED, 0, 0, 0 };
	struct epf_params p = test_params("mod-desc", 64, 2, 10, 700);
	struct epf_params q = test_params("mod-desc-2", 64, 2, 10, 700);
	struct epf_snap s;
	struct epf_restore r = { .size = sizeof(r) };
	struct epf_key_desc got = { 0 };
	int fd = test_make(&p), other = test_make(&q);

	tap_ok(described(fd, unknown), "at first nobody has said what keys are");
	test_is(describe_as(fd, 6, 0, 0, 0), -EINVAL, "kind 6: EINVAL");
	test_is(describe_as(fd, 1, 0, 0, 1), -EINVAL, "bytes with options: EINVAL");
	test_is(describe_as(fd, 2, EPF_PKT_KEYS, 0, 0), -EINVAL, "no such packet key: EINVAL");
	test_is(describe_as(fd, 2, 0, 1, 0), -EINVAL, "frames without MAC: EINVAL");
	tap_ok(described(fd, unknown), "and that has left nothing");
	test_is(describe_as(fd, 2, 2, 4, 0), 0, "keys of flows");
	test_demand(!epf_filter_describe(fd, &got));
	tap_ok(described(fd, flow) && !memcmp(&got, &flow, sizeof(flow)),
	       "so INFO says, and asking changes nothing");
	test_demand(!epf_filter_clear(fd));
	test_demand(!test_snap_begin(fd, SEC, NULL));
	test_demand(!test_snap_end(fd, &s));
	tap_ok(!memcmp(&s.desc, &flow, sizeof(flow)),
	       "also when the filter was cleared, and of a snapshot");
	r.header = s.header;
	r.header.epoch_begin = r.header.epoch_end;
	r.lines = (uintptr_t)lines;
	r.desc.kind = 77;
	test_is(test_ioctl(other, EPF_IOC_RESTORE, &r), -EBADMSG,
		"RESTORE: keys of kind 77: EBADMSG");
	r.desc = s.desc;
	test_demand(!test_ioctl(other, EPF_IOC_RESTORE, &r));
	tap_ok(described(other, flow), "RESTORE takes it along");
	test_is(describe_as(fd, 1, 0, 0, 0), 0, "other keys come");
	tap_ok(described(fd, mixed), "then they are of several kinds");
	test_demand(!epf_dev_swap(test_dev, "mod-desc", "mod-desc-2"));
	tap_ok(described(fd, flow) && described(other, mixed), "swap exchanges it");
	close(fd);
	close(other);
	test_destroy("mod-desc", 0);
	test_destroy("mod-desc-2", 0);
}

/* Ages of all keys in use and of some others. */
struct answers {
	__u8 age[KEYS * 4];
};

static struct answers answers(int fd)
{
	static __u64 keys[KEYS * 4];
	struct answers a;
	struct epf_batch b = test_batch(keys, KEYS * 4);
	__u32 i;

	b.ages = (uintptr_t)a.age;
	for (i = 0; i < b.count; i++)
		keys[i] = test_digest(1 + i / KEYS, i % KEYS);
	test_demand(!test_ioctl(fd, EPF_IOC_TEST, &b));
	return a;
}

static bool same_answers(int fd, const struct answers *want)
{
	struct answers got = answers(fd);

	return !memcmp(&got, want, sizeof(got));
}

#define RESTORE_POINTS 11
static void try_restore(int fd)
{
	struct epf_params p = test_params("mod-snap-new", 64, 1, 3, 10);
	struct answers want = answers(fd);
	struct epf_info old = test_info(fd), info;
	__u64 key[2];
	int new;

	p.hash = EPF_HASH_SIPHASH24;
	new = test_make(&p);
	test_insert(new, 5, 0, 3);
	test_is(test_restore(new, &header, lines), 0, "RESTORE into a filter of another shape");
	info = test_info(new);
	tap_ok(same_answers(new, &want), "all answers and ages are equal");
	strcpy(old.params.name, p.name);
	tap_ok(!memcmp(&info.params, &old.params, sizeof(p)),
	       "parameters are the snapshot's, the name its own");
	test_demand(!epf_filter_key(new, key));
	tap_ok(key[0] == test_key[0] && key[1] == test_key[1], "the hash key is the snapshot's");
	tap_ok(info.epoch == old.epoch && info.stats.inserts == old.stats.inserts &&
		       info.covered_inserts == old.covered_inserts &&
		       info.covered_ns >= header.epochs[(info.epoch - 7) & 7].age_ns,
	       "so are epoch, insertions and what is covered");
	test_is(test_count(new, 5, 0, 3), 0, "what it held before is gone");

	test_insert(new, 6, 0, WINDOW - 1);
	tap_ok(test_count(new, 3, KEYS - 1, 1) == 1 &&
		       test_count(new, 6, 0, WINDOW - 1) == WINDOW - 1,
	       "a window later the youngest key is still found");
	test_insert(new, 7, 0, 8 * EPOCH);
	test_is(test_count(new, 3, 0, KEYS), 0, "then all are forgotten");

	test_insert(fd, 4, 0, KEYS);
	test_demand(!same_answers(fd, &want));
	test_is(test_restore(fd, &header, lines), 0, "RESTORE into the same filter");
	tap_ok(same_answers(fd, &want), "all answers and ages are as then");
	test_is(test_info(fd).stats.inserts, old.stats.inserts, "and insertions");
	close(new);
}

/* A snapshot dated 31 epochs after its oldest keys: its lanes are stale then, but their
 * tags match again at the next epoch.
 */
#define STALE_POINTS 3
static void try_stale(void)
{
	int fd = test_make_plain("mod-stale", WINDOW);
	struct epf_snap s;
	long found = 0;
	int i;

	test_insert(fd, 3, 0, WINDOW);
	test_demand(!test_snap_begin(fd, SEC, NULL));
	copy_lines(fd);
	test_demand(!test_snap_end(fd, &s));
	s.header.epoch_begin = s.header.epoch_end = EPF_EPOCH_FIRST + 31;
	test_is(test_restore(fd, &s.header, lines), 0, "RESTORE with stale lanes");
	test_is(test_count(fd, 3, 0, WINDOW), 0, "their keys are forgotten");
	for (i = 0; i < 32; i++) {
		test_demand(!epf_filter_rotate(fd, 1, NULL));
		found += test_count(fd, 3, 0, WINDOW);
	}
	test_is(found, 0, "and do not come back in 32 epochs");
	close(fd);
}

static void bad_magic(struct epf_snap_header *h)
{
	h->magic ^= 1;
}

static void bad_version(struct epf_snap_header *h)
{
	h->version++;
}

static void bad_bytes(struct epf_snap_header *h)
{
	h->header_bytes -= 8;
}

static void bad_parts(struct epf_snap_header *h)
{
	h->params.lines_per_key = 3;
}

static void bad_bits(struct epf_snap_header *h)
{
	h->params.bits_per_key = 0;
}

static void bad_lines(struct epf_snap_header *h)
{
	h->params.nr_lines = 1ULL << 63;
}

static void bad_window(struct epf_snap_header *h)
{
	h->params.window_inserts = 0;
}

static void bad_budget(struct epf_snap_header *h)
{
	h->params.limit_ppt = 0;
}

static void bad_epochs(struct epf_snap_header *h)
{
	h->epoch_begin = h->epoch_end + 1;
}

static void bad_first_epoch(struct epf_snap_header *h)
{
	h->epoch_begin = 0;
}

static void bad_last_epoch(struct epf_snap_header *h)
{
	h->epoch_end = -1ULL;
}

static void bad_inserts(struct epf_snap_header *h)
{
	h->epochs[3].inserts = 1ULL << 40;
}

static void bad_age(struct epf_snap_header *h)
{
	h->epochs[3].age_ns = -1ULL;
}

static void bad_kind(struct epf_snap_header *h)
{
	h->params.kind = 255;
}

static void too_large(struct epf_snap_header *h)
{
	h->params.nr_lines = 1ULL << 31;
	h->params.lines_per_key = 4;
	h->params.bits_per_key = 16;
}

static const struct {
	const char *claim;
	void (*spoil)(struct epf_snap_header *h);
	int want;
} spoils[] = {
	{ "another magic", bad_magic, -EBADMSG },
	{ "another version", bad_version, -EBADMSG },
	{ "another header size", bad_bytes, -EBADMSG },
	{ "L = 3", bad_parts, -EBADMSG },
	{ "k = 0", bad_bits, -EBADMSG },
	{ "2^63 lines", bad_lines, -EBADMSG },
	{ "W = 0", bad_window, -EBADMSG },
	{ "limit 0", bad_budget, -EBADMSG },
	{ "epochs the wrong way round", bad_epochs, -EBADMSG },
	{ "an epoch before the first", bad_first_epoch, -EBADMSG },
	{ "epoch 2^64 - 1", bad_last_epoch, -EBADMSG },
	{ "2^40 insertions in an epoch", bad_inserts, -EBADMSG },
	{ "an epoch as old as time", bad_age, -EBADMSG },
	{ "kind 255", bad_kind, -EOPNOTSUPP },
	{ "more lines than the limit", too_large, -E2BIG },
};

#define REFUSE_POINTS (ARRAY_LEN(spoils) + 6)
static void try_refuse(int fd)
{
	struct answers want = answers(fd);
	struct epf_info old = test_info(fd), info;
	struct epf_snap_header h;
	size_t i;

	for (i = 0; i < ARRAY_LEN(spoils); i++) {
		h = header;
		spoils[i].spoil(&h);
		test_is(test_restore(fd, &h, lines), spoils[i].want, "RESTORE: %s: %s",
			spoils[i].claim, strerrorname_np(-spoils[i].want));
	}
	test_is(test_restore(fd, &header, NULL), -EFAULT, "RESTORE from NULL: EFAULT");
	test_is(test_restore(fd, &header, lines + PAGE), -EFAULT,
		"RESTORE from less than all lines: EFAULT");
	test_is(test_restore(fd, &header, (void *)-4096L), -EFAULT,
		"RESTORE from the kernel: EFAULT");
	tap_ok(same_answers(fd, &want), "the old contents have stayed");
	info = test_info(fd);
	tap_ok(info.epoch == old.epoch && info.stats.inserts == old.stats.inserts,
	       "and the old counts");
	h = header;
	h.lines_xxh3 = h.header_xxh3 = 1;
	test_is(test_restore(fd, &h, lines), 0, "the sums are left to user space");
}

#define FORCE_POINTS 4
static void try_force(int fd, int fd2)
{
	test_demand(!test_snap_begin(fd, EPF_PIN_MAX_NS, NULL));
	test_is(test_destroy("mod-snap", EPF_DESTROY_FORCE), 0,
		"destroyed by force while a snapshot is under way");
	test_is(test_snap_begin(fd2, SEC, NULL), -ENODEV, "BEGIN: ENODEV");
	test_is(test_restore(fd2, &header, lines), -ENODEV, "RESTORE: ENODEV");
	close(fd);
	close(fd2);
	tap_ok(test_kernel_calm(), "the kernel has not complained");
}

int main(void)
{
	char *room;
	int fd, fd2;

	test_begin(PIN_POINTS + LET_GO_POINTS + HEADER_POINTS + RESTORE_POINTS + STALE_POINTS +
		   DESC_POINTS + REFUSE_POINTS + FORCE_POINTS);
	room = test_guarded(BYTES / PAGE);
	lines = room;
	fd = test_make_plain("mod-snap", WINDOW);
	fd2 = test_open("mod-snap");
	try_pin(fd, fd2);
	try_let_go(fd, fd2);
	try_stale();
	try_desc();
	try_header(fd);
	try_restore(fd);
	try_refuse(fd);
	try_force(fd, fd2);
	return test_end();
}
