// SPDX-License-Identifier: GPL-2.0
/*
 * Batches: sizes, forms of keys, where results are written, and how far a batch gets
 * before an error. The property of every error: the first "done" keys were processed,
 * and no others.
 */
#include "epftest.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#define MANY 5000u /* keys: several of the chunks in which the module works */

static int filter;

static __u64 inserts(void)
{
	return test_info(filter).stats.inserts;
}

static long run(unsigned long cmd, struct epf_batch *b)
{
	b->size = sizeof(*b);
	return test_ioctl(filter, cmd, b);
}

#define SIZE_POINTS 7
static void try_sizes(void)
{
	__u64 *keys = malloc(EPF_BATCH_MAX * sizeof(*keys));
	struct epf_batch b = test_batch(NULL, 0);
	__u8 *bitmap = malloc(EPF_BATCH_MAX / 8);
	__u64 before = inserts();

	test_demand(keys && bitmap);
	test_draw(keys, 1, 0, EPF_BATCH_MAX);
	b.done = 7;
	b.present = 7;
	tap_ok(!run(EPF_IOC_TEST, &b) && !b.done && !b.present && !run(EPF_IOC_INSERT, &b) &&
		       !run(EPF_IOC_TEST_AND_INSERT, &b),
	       "no keys at all: nothing is read");
	b = test_batch(keys, 1);
	b.bitmap = (uintptr_t)bitmap;
	tap_ok(!run(EPF_IOC_TEST_AND_INSERT, &b) && b.done == 1 && !b.present && !bitmap[0],
	       "one key, new");
	tap_ok(!run(EPF_IOC_TEST_AND_INSERT, &b) && b.done == 1 && b.present == 1 && bitmap[0] == 1,
	       "one key, again");
	b = test_batch(keys, EPF_BATCH_MAX);
	tap_ok(!run(EPF_IOC_INSERT, &b) && b.done == EPF_BATCH_MAX,
	       "EPF_BATCH_MAX keys are inserted");
	b.bitmap = (uintptr_t)bitmap;
	tap_ok(!run(EPF_IOC_TEST, &b) && b.done == EPF_BATCH_MAX && b.present == EPF_BATCH_MAX &&
		       bitmap[EPF_BATCH_MAX / 8 - 1] == 0xff,
	       "and found, to the last");
	b = test_batch(keys, EPF_BATCH_MAX + 1);
	b.done = 7;
	test_is(run(EPF_IOC_INSERT, &b), -E2BIG, "one key more: E2BIG");
	test_is(inserts() - before, EPF_BATCH_MAX + 2, "as many were inserted as batches said");
	free(keys);
	free(bitmap);
}

#define FORM(what, cmd, ...)                                                                \
	do {                                                                                \
		struct epf_batch b = { .count = 2, .keys = (uintptr_t)bytes, __VA_ARGS__ }; \
		test_is(run(cmd, &b), -EINVAL, "%s: EINVAL", what);                         \
	} while (0)

#define FORM_POINTS 9
static void try_forms(void)
{
	static char bytes[1024];
	__u16 lens[2] = { 1, 1 };

	FORM("key length 0 without lens", EPF_IOC_TEST, .key_len = 0);
	FORM("key length 257", EPF_IOC_TEST, .key_len = EPF_KEY_MAX + 1);
	FORM("key length 2^32 - 1", EPF_IOC_INSERT, .key_len = -1);
	FORM("key length and lens", EPF_IOC_TEST, .key_len = 1, .lens = (uintptr_t)lens);
	FORM("digests with a key length", EPF_IOC_TEST, .flags = EPF_BATCH_DIGESTS, .key_len = 8);
	FORM("digests with lens", EPF_IOC_TEST, .flags = EPF_BATCH_DIGESTS,
	     .lens = (uintptr_t)lens);
	FORM("INSERT with a bitmap", EPF_IOC_INSERT, .key_len = 1, .bitmap = (uintptr_t)bytes);
	FORM("INSERT with ages", EPF_IOC_INSERT, .key_len = 1, .ages = (uintptr_t)bytes);
	lens[1] = EPF_KEY_MAX + 1;
	FORM("lens with a 257", EPF_IOC_TEST, .lens = (uintptr_t)lens);
}

/* Keys of every length, at odd addresses, are the digests of their bytes. */
#define KEY_POINTS 3
static void try_keys(void)
{
	const struct epf_hash hash = { .key = { test_key[0], test_key[1] } };
	static __u8 bytes[1 + EPF_KEY_MAX * (EPF_KEY_MAX + 1) / 2];
	__u64 keys[EPF_KEY_MAX];
	__u16 lens[EPF_KEY_MAX];
	struct epf_batch b = {
		.count = EPF_KEY_MAX,
		.keys = (uintptr_t)bytes + 1,
		.lens = (uintptr_t)lens,
	};
	__u32 i, j, off = 1;
	bool same = true;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = epf_word(2, i + 1);
	for (i = 0; i < EPF_KEY_MAX; off += lens[i++]) {
		lens[i] = i + 1;
		keys[i] = epf_digest(&hash, bytes + off, lens[i]);
	}
	test_demand(!run(EPF_IOC_INSERT, &b));
	b = test_batch(keys, EPF_KEY_MAX);
	tap_ok(!run(EPF_IOC_TEST, &b) && b.present == EPF_KEY_MAX,
	       "keys of 1 .. 256 bytes are found by their digests");
	test_demand(!run(EPF_IOC_TEST, &b));
	for (i = 1; i <= EPF_KEY_MAX; i += 51) {
		struct epf_batch k = { .count = 100, .key_len = i, .keys = (uintptr_t)bytes + 3 };
		struct epf_batch d = test_batch(keys, 100);

		for (j = 0; j < 100; j++)
			keys[j] = epf_digest(&hash, bytes + 3 + j * i, i);
		same &= !run(EPF_IOC_INSERT, &d) && !run(EPF_IOC_TEST, &k) && k.present == 100;
	}
	tap_ok(same, "digests are found by their keys");
	b = (struct epf_batch){ .count = EPF_KEY_MAX, .key_len = 4, .keys = (uintptr_t)bytes };
	tap_ok(!run(EPF_IOC_TEST, &b) && !b.present, "other keys are not found");
}

/* @n keys, new and then repeated, have as many answers, and nothing is written behind these. */
static bool answered(struct epf_batch b, __u32 n)
{
	static __u8 bitmap[MANY / 8], ages[MANY];
	bool same = true;
	__u32 round, i;

	b.count = n;
	b.bitmap = (uintptr_t)bitmap;
	b.ages = (uintptr_t)ages;
	for (round = 0; round < 2; round++) {
		memset(bitmap, 0xaa, sizeof(bitmap));
		memset(ages, 0xaa, sizeof(ages));
		same &= !run(EPF_IOC_TEST_AND_INSERT, &b) && b.done == n && b.present == round * n;
		for (i = 0; i < n; i++)
			same &= ages[i] == (round ? 0 : EPF_AGE_ABSENT) &&
				(bitmap[i / 8] >> i % 8 & 1) == round;
		same &= ages[n] == 0xaa && bitmap[(n + 7) / 8] == 0xaa;
	}
	return same;
}

/* Sizes beside those at which a batch gets other memory: a group of digests, a chunk of keys or
 * of bytes.
 */
#define CHUNK_POINTS 3
static void try_chunks(void)
{
	static const __u32 sizes[] = { 1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 511, 512, 513, 1025 };
	const unsigned int nr = sizeof(sizes) / sizeof(sizes[0]);
	static __u64 keys[1025 * EPF_KEY_MAX / 8];
	static __u16 lens[1025];
	struct epf_batch of[CHUNK_POINTS] = {
		{ .flags = EPF_BATCH_DIGESTS, .keys = (uintptr_t)keys },
		{ .key_len = EPF_KEY_MAX, .keys = (uintptr_t)keys },
		{ .lens = (uintptr_t)lens, .keys = (uintptr_t)keys },
	};
	static const char *const forms[] = { "digests", "keys of 256 bytes", "keys of any length" };
	bool same[CHUNK_POINTS] = { true, true, true };
	__u32 i, n, form;

	for (i = 0; i < 1025; i++)
		lens[i] = EPF_KEY_MAX - i % 200;
	for (form = 0; form < CHUNK_POINTS; form++) {
		for (n = 0; n < nr; n++) {
			test_draw(keys, 100 + form * nr + n, 0, sizeof(keys) / sizeof(keys[0]));
			same[form] &= answered(of[form], sizes[n]);
		}
		tap_ok(same[form], "1 to 1025 %s are answered, each", forms[form]);
	}
}

#define ANSWER_POINTS 6
static void try_answers(void)
{
	__u64 keys[13];
	__u8 bitmap[4], ages[16];
	struct epf_batch b = test_batch(keys, 13);

	test_draw(keys, 3, 0, 13);
	keys[5] = keys[2];
	b.bitmap = (uintptr_t)bitmap;
	b.ages = (uintptr_t)ages;
	memset(bitmap, 0xaa, sizeof(bitmap));
	memset(ages, 0xaa, sizeof(ages));
	test_demand(!run(EPF_IOC_TEST_AND_INSERT, &b));
	tap_ok(b.present == 1 && bitmap[0] == 1 << 5 && !bitmap[1],
	       "in order: a repeat inside the batch is present");
	tap_ok(ages[5] == 0 && ages[2] == EPF_AGE_ABSENT && ages[12] == EPF_AGE_ABSENT,
	       "its age is 0, others are absent");
	tap_ok(bitmap[2] == 0xaa && ages[13] == 0xaa, "nothing is written behind the answers");
	b.ages = 0;
	tap_ok(!run(EPF_IOC_TEST, &b) && b.present == 13 && bitmap[0] == 0xff && bitmap[1] == 0x1f,
	       "the bitmap alone");
	test_demand(!epf_filter_rotate(filter, 3, NULL));
	b.ages = (uintptr_t)ages;
	b.bitmap = 0;
	tap_ok(!run(EPF_IOC_TEST, &b) && b.present == 13 && ages[0] == 3 && ages[12] == 3,
	       "the ages alone");
	b.ages = 0;
	tap_ok(!run(EPF_IOC_TEST, &b) && b.present == 13, "neither");
}

/* The property: the first "done" of the @count keys of stream @s are present, and no
 * others.
 */
static bool exact(const struct epf_batch *b, __u64 before, __u64 s)
{
	bool good = inserts() - before == b->done && test_count(filter, s, 0, b->done) == b->done &&
		    test_count(filter, s, b->done, MANY - b->done) == 0;

	if (!good)
		printf("# done %u, inserted %llu\n", b->done, inserts() - before);
	return good;
}

/* Place @n objects of @bytes at the guard page so that only @fit of them are
 * accessible.
 */
static void *half(size_t fit, size_t bytes)
{
	static char *room;

	if (!room)
		room = test_guarded(64);
	return room + 64 * PAGE - fit * bytes;
}

#define FAULT_POINTS 11
static void try_faults(void)
{
	const __u32 fit = 3001;
	__u64 keys[MANY], *partial = half(fit, 8);
	__u64 before = inserts();
	struct epf_batch b = test_batch(NULL, 3);
	long ret;

	tap_ok(run(EPF_IOC_INSERT, &b) == -EFAULT && !b.done, "keys at NULL: EFAULT, none done");
	b = test_batch((void *)-4096L, 3);
	tap_ok(run(EPF_IOC_TEST, &b) == -EFAULT && !b.done,
	       "keys in the kernel: EFAULT, none done");
	b = test_batch((void *)-8L, MANY);
	tap_ok(run(EPF_IOC_TEST, &b) == -EFAULT && !b.done,
	       "keys round the end of memory: EFAULT, none done");
	test_is(inserts(), before, "nothing was inserted");

	test_draw(partial, 4, 0, fit);
	b = test_batch(partial, MANY);
	test_is(run(EPF_IOC_INSERT, &b), -EFAULT, "3001 of 5000 keys are readable: EFAULT");
	tap_ok(b.done && b.done <= fit && exact(&b, before, 4),
	       "what was done was inserted, and no more");

	test_draw(keys, 5, 0, MANY);
	b = test_batch(keys, MANY);
	b.bitmap = (uintptr_t)half(fit / 8, 1);
	before = inserts();
	ret = run(EPF_IOC_TEST_AND_INSERT, &b);
	tap_ok(ret == -EFAULT && b.done >= fit / 8 * 8 - 512 && exact(&b, before, 5),
	       "a bitmap too short: EFAULT, likewise");
	test_draw(keys, 6, 0, MANY);
	b = test_batch(keys, MANY);
	b.ages = (uintptr_t)half(fit, 1);
	before = inserts();
	ret = run(EPF_IOC_TEST_AND_INSERT, &b);
	tap_ok(ret == -EFAULT && exact(&b, before, 6), "ages too short: EFAULT, likewise");

	b = (struct epf_batch){ .count = MANY,
				.keys = (uintptr_t)keys,
				.lens = (uintptr_t)half(0, 2) };
	before = inserts();
	tap_ok(run(EPF_IOC_INSERT, &b) == -EFAULT && !b.done && inserts() == before,
	       "lens at nowhere: EFAULT, none done");
	b.lens = 8;
	test_is(run(EPF_IOC_INSERT, &b), -EFAULT, "lens at 8: EFAULT");
	b = test_batch(keys, 8);
	b.bitmap = 8;
	test_is(run(EPF_IOC_TEST, &b), -EFAULT, "a bitmap at 8: EFAULT");
}

/* One of the @count lengths is invalid. */
static long bad_length(struct epf_batch *b, __u32 count, __u32 at, __u16 len)
{
	static __u8 bytes[MANY * 8];
	__u16 lens[MANY];
	__u32 i;

	for (i = 0; i < count; i++)
		lens[i] = 8;
	lens[at] = len;
	*b = (struct epf_batch){ .count = count,
				 .keys = (uintptr_t)bytes,
				 .lens = (uintptr_t)lens };
	return run(EPF_IOC_INSERT, b);
}

#define LENS_POINTS 3
static void try_lens(void)
{
	__u64 before = inserts();
	struct epf_batch b;

	tap_ok(bad_length(&b, 20, 10, 0) == -EINVAL && !b.done && inserts() == before,
	       "a length 0 in the middle: EINVAL, nothing inserted");
	tap_ok(bad_length(&b, 20, 19, 257) == -EINVAL && !b.done && inserts() == before,
	       "a length 257 at the end: EINVAL, nothing inserted");
	tap_ok(bad_length(&b, MANY, MANY - 5, 0) == -EINVAL && b.done <= MANY - 5 &&
		       inserts() == before + b.done,
	       "a length 0 far behind: EINVAL, what was done was inserted");
}

/* Flags that an earlier batch left in the struct do not affect the next one. */
#define FLAG_POINTS 5
static void try_flags(void)
{
	static const unsigned long cmds[] = { EPF_IOC_TEST, EPF_IOC_INSERT,
					      EPF_IOC_TEST_AND_INSERT };
	static const char *const names[] = { "TEST", "INSERT", "TEST_AND_INSERT" };
	__u64 keys[8];
	struct epf_batch b;
	long ret;
	__u32 i;

	test_draw(keys, 8, 0, ARRAY_LEN(keys));
	for (i = 0; i < ARRAY_LEN(cmds); i++) {
		b = test_batch(keys, ARRAY_LEN(keys));
		b.flags |= EPF_BATCH_SATURATED;
		ret = run(cmds[i], &b);
		tap_ok(!ret && b.done == ARRAY_LEN(keys) && b.flags == EPF_BATCH_DIGESTS,
		       "%s of a filter that answers takes SATURATED back", names[i]);
	}
	b = test_batch(NULL, 3);
	b.flags |= EPF_BATCH_SATURATED;
	ret = run(EPF_IOC_TEST, &b);
	tap_ok(ret == -EFAULT && b.flags == EPF_BATCH_DIGESTS, "also where the batch fails");
	b = test_batch(keys, ARRAY_LEN(keys));
	b.flags |= EPF_BATCH_SATURATED;
	ret = epf_filter_batch(filter, EPF_IOC_TEST, &b);
	tap_ok(!ret && b.present == ARRAY_LEN(keys) && b.flags == EPF_BATCH_DIGESTS,
	       "and in libepf");
}

static void nothing(int sig)
{
}

/* Signals arrive all the time; sooner or later one interrupts a batch. */
#define SIGNAL_POINTS 2
static void try_signals(void)
{
	const struct itimerval every = { { 0, 20000 }, { 0, 20000 } };
	const struct itimerval never = {};
	struct sigaction act = { .sa_handler = nothing };
	__u64 *keys = malloc(EPF_BATCH_MAX * sizeof(*keys));
	struct epf_batch b;
	__u64 before;
	long ret = 0;
	int i;

	test_demand(keys && !sigaction(SIGALRM, &act, NULL));
	test_draw(keys, 7, 0, EPF_BATCH_MAX);
	setitimer(ITIMER_REAL, &every, NULL);
	for (i = 0; i < 100 && !ret; i++) {
		b = test_batch(keys, EPF_BATCH_MAX);
		before = inserts();
		ret = run(EPF_IOC_INSERT, &b);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	test_is(ret, -EINTR, "a signal ends a batch: EINTR");
	tap_ok(b.done && b.done < EPF_BATCH_MAX && b.done % 8 == 0 && inserts() - before == b.done,
	       "what was done is a multiple of 8 and was inserted");
	free(keys);
}

int main(void)
{
	struct epf_params p = test_params("mod-batch", 1 << 17, 2, 16, 1ULL << 40 >> 1);

	test_begin(SIZE_POINTS + FORM_POINTS + KEY_POINTS + ANSWER_POINTS + FAULT_POINTS +
		   LENS_POINTS + FLAG_POINTS + SIGNAL_POINTS + CHUNK_POINTS);
	filter = test_make(&p);
	try_sizes();
	try_forms();
	close(filter); /* make it anew and empty, so that absent keys are reported absent */
	filter = test_make(&p);
	try_keys();
	try_answers();
	try_faults();
	try_lens();
	try_flags();
	try_signals();
	try_chunks();
	return test_end();
}
