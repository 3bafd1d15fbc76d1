// SPDX-License-Identifier: GPL-2.0
/*
 * Audits of filters in the kernel: every engine gives the answers of EPF_IOC_TEST, on
 * the mapping and on a copy, byte by byte, at each of the eight phases of rotation: at
 * the end of an epoch, when the next has just begun, and after the scan. Then in place,
 * on a filter that changes.
 *
 * usage: audit [KEYS]    (10 million over all moments)
 *
 * A snapshot under way stops rotations meanwhile. Keys are new, from the window, and
 * from epochs long gone.
 */
#include "epftest.h"

#include <audit.h>
#include <copy.h>

#include <pthread.h>
#include <stdlib.h>

#define LINES 4096u
#define EPOCH 1500u
#define START 40u          /* an epoch at which tags have wrapped */
#define SPAN_NS (700 * MS) /* window in time */
#define MOMENTS (3 * 8 * 3 + 3 * 8 * 2)
#define ENGINES_MAX EPF_ENGINES_MAX

static const struct {
	__u16 parts, bits;
} shapes[] = {
	{ 1, 5 },
	{ 2, 10 },
	{ 4, 12 },
};

static __u64 n; /* keys at each moment */
static __u64 *digest;
static unsigned char *want_bitmap, *want_ages;
static struct epf_answer got;
/* 32 bytes off cache line boundaries, as in a file */
static char room[LINES * EPF_LINE_BYTES + EPF_LINE_BYTES] __attribute__((aligned(64)));
static char *const copy = room + 32;

/**
 * struct outcome - the results for one filter
 * @wrong: what is wrong, by engine
 * @asked: keys asked, for each engine
 * @present: keys that the kernel reports present
 * @early: moments at which the scan had not ended
 */
struct outcome {
	const char *wrong[ENGINES_MAX];
	__u64 asked, present;
	unsigned int phases, early;
};

static void make_keys(__u64 epoch)
{
	__u64 i;

	for (i = 0; i < n; i++) {
		__u64 r = epf_word(epoch << 32 | i, 3);
		__u64 back = r % 4 ? r / 4 % EPF_LANES : r / 4 % 40;

		digest[i] = test_digest(r % 5 ? epoch - back : 1u << 20, r / 1024 % EPOCH);
	}
}

static void ask_kernel(int fd, struct outcome *o)
{
	struct epf_batch b = test_batch(digest, (__u32)n);

	b.bitmap = (uintptr_t)want_bitmap;
	b.ages = (uintptr_t)want_ages;
	test_demand(!epf_filter_batch(fd, EPF_IOC_TEST, &b));
	o->asked += n;
	o->present += b.present;
}

static void ask_engines(const struct epf_view *v, struct outcome *o, const char *bitmap,
			const char *ages)
{
	struct epf_keys keys = { .data = digest, .n = n };
	const struct epf_engine *e;
	unsigned int i;

	for (i = 0; (e = epf_engine_at(i)); i++) {
		if (!e->usable() || o->wrong[i])
			continue;
		memset(got.ages, 0x55, n);
		if (e->query(v, &keys, &got))
			o->wrong[i] = "error";
		else if (memcmp(got.bitmap, want_bitmap, (n + 7) / 8))
			o->wrong[i] = bitmap;
		else if (memcmp(got.ages, want_ages, n))
			o->wrong[i] = ages;
	}
}

/* Ask all engines while a snapshot is under way. */
static void ask_quiet(int fd, struct outcome *o)
{
	struct epf_view live, view;
	struct epf_info info;

	test_demand(!epf_view_filter(&live, fd, true, &info));
	epf_copy_words(copy, live.lines, LINES * EPF_LINE_BYTES);
	test_demand(!epf_view_init(&view, copy, &info.params, live.hash.key, info.epoch));
	make_keys(info.epoch);
	ask_kernel(fd, o);
	ask_engines(&live, o, "in place: bitmap", "in place: ages");
	ask_engines(&view, o, "copy: bitmap", "copy: ages");
	o->phases |= 1u << info.epoch % 8;
	test_demand(test_info(fd).epoch == info.epoch);
	epf_view_close(&live);
}

static bool scanned(void *arg)
{
	struct epf_info i = test_info(*(int *)arg);

	return i.stats.scanned >= (i.epoch - EPF_EPOCH_FIRST) * (LINES / 16);
}

static __u64 ask(int fd, struct outcome *o)
{
	struct epf_snap s;

	test_demand(!test_snap_begin(fd, EPF_PIN_MAX_NS, NULL));
	ask_quiet(fd, o);
	test_demand(!test_snap_end(fd, &s));
	return s.header.epoch_end;
}

/* End the epoch by its last key. Insert more if a CPU on which this thread has run
 * still holds back some counts.
 */
static void end_epoch(int fd, __u64 e)
{
	int i;

	for (i = 0; i < 256 && test_info(fd).epoch == e; i++)
		test_insert(fd, e, EPOCH - 1, 1);
	test_demand(test_wait_epoch(fd, e + 1));
}

static void by_count(int fd, struct outcome *o)
{
	int phase;

	for (phase = 0; phase < 8; phase++) {
		__u64 e = test_info(fd).epoch;

		test_insert(fd, e, 0, EPOCH - 1);
		test_demand(ask(fd, o) == e);
		end_epoch(fd, e);
		o->early += !scanned(&fd);
		test_demand(ask(fd, o) == e + 1);
		test_demand(test_wait(scanned, &fd));
		ask(fd, o);
	}
}

/* The clock ends epochs, except while a snapshot is under way. */
static void by_time(int fd, struct outcome *o)
{
	struct epf_snap s;

	while (o->phases != 0xff) {
		__u64 e;

		test_demand(!test_snap_begin(fd, EPF_PIN_MAX_NS, NULL));
		e = test_info(fd).epoch;
		test_insert(fd, e, 0, EPOCH);
		o->early += !scanned(&fd);
		ask_quiet(fd, o);
		while (test_info(fd).epochs[0].age_ns < SPAN_NS / 7)
			test_sleep(MS);
		ask_quiet(fd, o); /* the snapshot ended, and another begins */
		test_demand(!test_snap_end(fd, &s));
		test_demand(s.header.epoch_end == e && test_wait_epoch(fd, e + 1));
	}
}

static int make(unsigned int shape, __u32 mode)
{
	struct epf_params p = test_params("mod-audit", LINES, shapes[shape].parts,
					  shapes[shape].bits, 0);
	int fd;

	p.mode = (__u8)mode;
	if (mode == EPF_MODE_COUNT)
		p.window_inserts = EPOCH * EPF_LIVE_EPOCHS;
	else
		p.window_ns = SPAN_NS;
	fd = test_make(&p);
	while (test_info(fd).epoch < START) {
		test_insert(fd, test_info(fd).epoch, 0, EPOCH / 2);
		test_demand(!epf_filter_rotate(fd, 1, NULL));
	}
	return fd;
}

static void claim(const struct outcome *o, const char *mode, __u32 parts)
{
	const struct epf_engine *e;
	unsigned int i, asked = 0, wrong = 0;

	for (i = 0; (e = epf_engine_at(i)); i++) {
		asked += e->usable();
		wrong += !!o->wrong[i];
		if (o->wrong[i])
			printf("# %s: %s\n", e->name, o->wrong[i]);
	}
	tap_ok(!wrong && asked >= 2, "L=%u, %s: %u engines give what the kernel gives, %llu keys",
	       parts, mode, asked, o->asked);
	tap_ok(o->phases == 0xff && o->present > o->asked / 4 && o->present < o->asked * 3 / 4,
	       "at all phases; %llu present; the scan under way %u times", o->present, o->early);
}

static void quiet(unsigned int shape, __u32 mode)
{
	struct outcome o = { .asked = 0 };
	int fd = make(shape, mode);

	if (mode == EPF_MODE_COUNT)
		by_count(fd, &o);
	else
		by_time(fd, &o);
	close(fd);
	claim(&o, mode == EPF_MODE_COUNT ? "count" : "time", shapes[shape].parts);
}

/* --------------------------------------------------------- it moves ---- */

#define BATCH 64u
#define LOG 8192u
#define BACK 512u /* number of recent batches that are asked for */
#define AUDITS 60

/**
 * Keys, and the epochs before and after their insertion.
 */
struct batch {
	__u64 low, high;
};

static struct batch batches[LOG];
static __u64 batches_done;
static bool stop;

static void *insert(void *arg)
{
	int fd = *(int *)arg;
	__u64 i;

	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		struct batch *b = &batches[i % LOG];

		b->low = test_info(fd).epoch;
		test_insert(fd, 1, i * BATCH, BATCH);
		b->high = test_info(fd).epoch;
		__atomic_store_n(&batches_done, i + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

struct moved {
	__u64 lost, wrong, asked;
	unsigned int audits;
};

/* Judge one key by the property of struct epf_view: the audit begins at @e and ends at
 * @f.
 */
static void judge(const struct batch *b, unsigned char age, __u64 e, __u64 f, struct moved *m)
{
	m->asked++;
	if (age == EPF_AGE_ABSENT)
		m->lost += f - b->low < EPF_LANES;
	else if (b->high <= e && f < e + 25)
		/* a false positive may give a younger age, never an older one */
		m->wrong += e - age < b->low && b->low + 7 >= f;
}

static void audit_moving(int fd, const struct epf_engine *engine, struct moved *m)
{
	struct epf_keys keys = { .data = digest, .n = BACK * BATCH };
	__u64 done = __atomic_load_n(&batches_done, __ATOMIC_ACQUIRE);
	__u64 first = done < BACK ? 0 : done - BACK, i, f;
	struct epf_view v;

	if (done < BACK)
		return;
	test_demand(!epf_view_filter(&v, fd, false, NULL));
	test_draw(digest, 1, first * BATCH, keys.n);
	test_demand(!engine->query(&v, &keys, &got));
	f = test_info(fd).epoch;
	for (i = 0; i < keys.n; i++)
		judge(&batches[(first + i / BATCH) % LOG], got.ages[i], v.epoch, f, m);
	test_demand(__atomic_load_n(&batches_done, __ATOMIC_ACQUIRE) < first + LOG);
	m->audits += f > v.epoch;
	epf_view_close(&v);
}

static void moving(void)
{
	__u64 end = test_now() + PATIENCE_NS;
	const struct epf_engine *e;
	struct moved m = { 0 };
	int fd = make(1, EPF_MODE_COUNT);
	pthread_t thread;
	unsigned int i;

	test_demand(!pthread_create(&thread, NULL, insert, &fd));
	while (m.audits < AUDITS && test_now() < end)
		for (i = 0; (e = epf_engine_at(i)); i++)
			if (e->usable())
				audit_moving(fd, e, &m);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	close(fd);
	tap_ok(m.audits >= AUDITS && !m.lost && !m.wrong,
	       "in place while keys come: %u audits with rotations, %llu keys, %llu lost, %llu of a wrong age",
	       m.audits, m.asked, m.lost, m.wrong);
}

int main(int argc, char **argv)
{
	unsigned int shape;

	n = (argc > 1 ? strtoull(argv[1], NULL, 10) : test_rounds(1000000, 10000000)) / MOMENTS + 1;
	test_begin(2 * 6 + 2);
	digest = calloc(n + BACK * BATCH, sizeof(*digest));
	want_bitmap = calloc(n / 8 + 1, 1);
	want_ages = calloc(n, 1);
	got.bitmap = calloc(n + BACK * BATCH, 1);
	got.ages = calloc(n + BACK * BATCH, 1);
	test_demand(digest && want_bitmap && want_ages && got.bitmap && got.ages);
	for (shape = 0; shape < ARRAY_LEN(shapes); shape++) {
		quiet(shape, EPF_MODE_COUNT);
		quiet(shape, EPF_MODE_TIME);
	}
	moving();
	tap_ok(test_kernel_calm(), "the kernel has not complained");
	return test_end();
}
