// SPDX-License-Identifier: GPL-2.0
/*
 * Mirrors on an emulated card: their lines are copied to the card once, and journal
 * records are applied there. The filter lives in this process, behind the ioctls and
 * mappings that a mirror uses.
 *
 * usage: mirrors, with EPF_CUDA_LIBRARY set
 */
#include "../audit/sim.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include "backend.h"

#define FILTER 1000 /* not a real descriptor */
#define ORDER 12u
#define RECORDS_AT 4096u
#define LINES 512u
#define KEYS 700u

/**
 * struct filter - the filter
 * @s: its lines
 * @journal: its journal, one ring of @order
 * @serial: serial of its journal
 */
static struct {
	struct sim s;
	void *journal;
	__u64 serial;
	__u32 order;
} filter;

static int fake_call(int fd, unsigned long cmd, void *arg);
static void *fake_map(int fd, size_t bytes, off_t offset);
static int fake_munmap(void *at, size_t bytes);
static int fake_open(void);
static void fake_close(int fd);
static int fake_info(struct epf_info *info);

#define epf_call fake_call
#define epf_map fake_map
#define munmap fake_munmap
#define epf_backend_open_of(choice) fake_open()
#define epf_dev_filter_id(dev, id) fake_open()
#define epf_close fake_close
#define epf_filter_info(filter, info) fake_info(info)
#include "../../user/libepf/rings.c"
#include "../../user/libepf/mirror.c"
#undef epf_call
#undef epf_map
#undef munmap
#undef epf_backend_open_of
#undef epf_dev_filter_id
#undef epf_close
#undef epf_filter_info

static struct epf_journal_ring writer(void)
{
	struct epf_journal_ring r = {
		(void *)((char *)filter.journal + EPF_JOURNAL_SHARD_BYTES),
		(void *)((char *)filter.journal + RECORDS_AT),
		(1ULL << filter.order) - 1,
		0,
	};

	return r;
}

static int begin(struct epf_journal_args *a)
{
	struct epf_journal_ring r;

	if (a->flags & EPF_JOURNAL_END)
		return 0;
	a->shards = 1;
	a->records = RECORDS_AT;
	a->bytes = RECORDS_AT + (sizeof(struct epf_journal_record) << a->order);
	a->serial = ++filter.serial;
	filter.order = a->order;
	free(filter.journal);
	filter.journal = must(calloc(1, a->bytes));
	r = writer();
	epf_journal_init(&r);
	return 0;
}

static int fake_call(int fd, unsigned long cmd, void *arg)
{
	struct epf_snap *snap = arg;

	if (fd != FILTER)
		abort();
	if (cmd == EPF_IOC_JOURNAL)
		return begin(arg);
	snap->header.params = filter.s.params;
	memcpy(snap->header.key, filter.s.key, sizeof(filter.s.key));
	snap->header.epoch_begin = snap->header.epoch_end = filter.s.epoch;
	snap->journal = filter.serial;
	snap->now_ns = 1;
	return 0;
}

static void *fake_map(int fd, size_t bytes, off_t offset)
{
	if (fd != FILTER)
		abort();
	return offset ? filter.journal : filter.s.f.line;
}

static int fake_munmap(void *at, size_t bytes)
{
	if (at == filter.journal || at == filter.s.f.line)
		return 0;
	return munmap(at, bytes);
}

static int fake_open(void)
{
	return FILTER;
}

static void fake_close(int fd)
{
	if (fd != FILTER)
		abort();
}

static int fake_info(struct epf_info *info)
{
	info->id = 1;
	return 0;
}

/* ---- what happens to the filter ---- */

static void insert(__u64 digest)
{
	struct epf_journal_ring r = writer();
	struct epf_probe p;
	__u64 lanes = 0, e;
	bool grew = false;

	epf_probe(&filter.s.f, digest, &p);
	e = epf_lanes_insert_into(&filter.s.f, &p, &lanes, &grew);
	epf_journal_put(&r, EPF_JOURNAL_INSERT, e, digest, lanes);
}

static void rotate(void)
{
	struct epf_journal_ring r = writer();

	filter.s.epoch++;
	epf_lanes_scan(&filter.s.f, 0, LINES);
	epf_journal_put(&r, EPF_JOURNAL_ROTATE, filter.s.epoch, 0, 1);
}

static __u64 digest_of(__u64 i)
{
	return epf_word(i, 3);
}

/* Insert keys from @first on, into successive epochs. */
static void stream(__u64 first, __u32 epochs, __u32 each)
{
	__u32 i, e;

	for (e = 0; e <= epochs; e++) {
		for (i = 0; i < each; i++)
			insert(digest_of(first + e * each + i));
		if (e < epochs)
			rotate();
	}
}

/* ---- what is told of it ---- */

static struct epf_gpu_use used(void)
{
	struct epf_gpu_use use;

	epf_gpu_use(&use);
	return use;
}

/* Follow, and let the card answer: the same as the filter's own answers. */
static const char *asked(struct epf_mirror *m, __u64 first)
{
	static __u64 digest[KEYS];
	static unsigned char bitmap[KEYS / 8 + 1], ages[KEYS];
	struct epf_answer a = { .bitmap = bitmap, .ages = ages };
	struct epf_keys keys = { .data = digest, .n = KEYS };
	const struct epf_engine *cuda = epf_engine_find("cuda");
	struct expected x;
	struct epf_view v;
	const char *wrong;
	__u64 i;

	if (epf_mirror_follow(m) < 0)
		return "it cannot be followed";
	epf_mirror_view(m, &v);
	for (i = 0; i < KEYS; i++)
		digest[i] = digest_of(first + i);
	if (cuda->query(&v, &keys, &a))
		return epf_engine_why(cuda);
	expect(&x, &filter.s, digest, KEYS);
	wrong = differs(&x, &a);
	expect_free(&x);
	return wrong;
}

static void claim(const char *wrong, const char *text)
{
	tap_sound(wrong, "%s", text);
}

/* Many updates of a few records. */
static void brought_on(struct epf_mirror *m)
{
	static const __u32 epochs[] = { 0, 1, 3, 0, 7, 8, 2, 20, 1 };
	const char *wrong = NULL;
	__u64 first = 1000, before = used().uploads;
	size_t i;

	for (i = 0; i < sizeof(epochs) / sizeof(*epochs) && !wrong; i++) {
		stream(first, epochs[i], 10);
		wrong = asked(m, first);
		first += 400;
	}
	claim(wrong, "answers of lines that are brought on");
	tap_ok(used().uploads == before && used().records > 400,
	       "and they are not copied again: %llu records", used().records);
}

/* More records than are worth keeping: a quarter of the lines' bytes. */
static void too_many(struct epf_mirror *m)
{
	__u64 before = used().uploads;

	stream(9000, 1, 300);
	claim(asked(m, 9000), "answers after many insertions");
	tap_ok(used().uploads == before + 1, "for which lines are copied again");
	stream(9600, 1, 30);
	claim(asked(m, 9500), "and after some more");
	tap_ok(used().uploads == before + 1, "for which they are not");
}

static void renewed(struct epf_mirror *m)
{
	__u64 before = used().uploads;

	stream(20000, 0, 5000); /* the journal wraps */
	tap_ok(epf_mirror_follow(m) == -EOVERFLOW && !epf_mirror_renew(m),
	       "a mirror that is behind is renewed");
	claim(asked(m, 24500), "and its lines are other ones to the card");
	tap_ok(used().uploads == before + 1, "which are copied there");
}

/* Keys that are not digests are hashed with the filter's hash, whichever it is. */
static void hashed(struct epf_mirror *m, __u32 hash)
{
	struct epf_hash want = { .kind = hash };
	struct epf_view v;

	memcpy(want.key, filter.s.key, sizeof(want.key));
	filter.s.params.hash = hash;
	if (epf_mirror_renew(m))
		abort();
	epf_mirror_view(m, &v);
	tap_ok(epf_digest(&v.hash, "a key", 5) == epf_digest(&want, "a key", 5),
	       "keys are hashed by SipHash-%s", want.kind ? "2-4" : "1-3");
}

int main(void)
{
	struct epf_mirror *m;
	const char *wrong;
	__u64 i;

	if (!epf_engine_find("cuda")->usable()) {
		tap_skip_all(epf_engine_why(epf_engine_find("cuda")));
		return TAP_SKIPPED;
	}
	tap_plan(2 + 2 + 4 + 3 + 2);
	sim_init(&filter.s, LINES, 2, 12, 0);
	for (i = 0; i < 200; i++)
		sim_insert(&filter.s, digest_of(i));
	if (epf_mirror_open(FILTER, ORDER, 0, &m))
		return 1;
	wrong = asked(m, 0);
	claim(wrong ? wrong : asked(m, 0), "answers of a mirror's lines");
	tap_ok(used().uploads == 1 && used().reuses == 1, "two audits of it copy them once");
	brought_on(m);
	too_many(m);
	renewed(m);
	hashed(m, EPF_HASH_SIPHASH24);
	hashed(m, EPF_HASH_SIPHASH13);
	epf_mirror_close(m);
	return tap_end();
}
