// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl test: is each key present, absent or unknown? */
#include "cmd.h"
#include "ebpf/calls.h"
#include "test_snapshot.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_INSERT = OPT_KEYS_END, OPT_WITHIN, OPT_SNAPSHOT };

/**
 * struct testing - a running test
 * @name: of the filter, or of the file
 * @is_file: a snapshot file is asked, which is @snapshot
 * @opened: @snapshot is open
 * @filter: descriptor; negative until the first batch, so that invalid keys are
 *	reported first
 * @in: where keys come from
 * @cmd: EPF_IOC_TEST, or EPF_IOC_TEST_AND_INSERT
 * @quiet: do not print a line for every key
 * @counts: print totals at the end
 * @within: the argument of --within, or NULL
 * @limit: this age and greater ones are too old; 0: no age is
 * @info: of the filter, before the test
 * @tested: number of keys
 * @present: number of these that are present
 * @unknown: number of these that a saturated filter or snapshot found
 */
struct testing {
	const char *name;
	bool is_file;
	bool opened;
	struct snapshot snapshot;
	int filter;
	const struct key_input *in;
	unsigned long cmd;
	bool quiet;
	bool counts;
	const char *within;
	__u32 limit;
	struct epf_info info;
	__u64 tested;
	__u64 present;
	__u64 unknown;
	struct meter meter;
};

static void print_hex(const __u8 *key, size_t len)
{
	while (len--)
		printf("%02x", *key++);
}

/* Print bytes that could move the cursor of a terminal as \xNN. */
static void print_safe(const __u8 *key, size_t len)
{
	for (; len--; key++) {
		if (*key < ' ' || *key == 0x7f || *key == '\\')
			printf("\\x%02x", *key);
		else
			putchar(*key);
	}
}

static __u64 digest_at(const __u8 *key)
{
	__u64 digest;

	memcpy(&digest, key, sizeof(digest));
	return digest;
}

static json_t *key_json(const struct testing *t, const __u8 *key, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	json_t *o = json_object();
	char hex[2 * EPF_KEY_MAX];
	json_t *text = NULL;
	size_t i;

	if (t->in->digests) {
		snprintf(hex, sizeof(hex), "%016llx", digest_at(key));
		json_object_set_new(o, "digest", json_string(hex));
		return o;
	}
	if (t->in->format != KEYS_HEX)
		text = json_stringn((const char *)key, len); /* NULL: not UTF-8 */
	for (i = 0; i < len; i++) {
		hex[2 * i] = digits[key[i] >> 4];
		hex[2 * i + 1] = digits[key[i] & 15];
	}
	if (text)
		json_object_set_new(o, "key", text);
	else
		json_object_set_new(o, "hex", json_stringn(hex, 2 * len));
	return o;
}

static void verdict_json(const struct testing *t, const __u8 *key, size_t len, __u8 age)
{
	json_t *o = key_json(t, key, len);

	if (age < EPF_AGE_UNKNOWN) {
		json_object_set_new(o, "present", json_true());
		json_object_set_new(o, "age", json_integer(age));
	} else {
		json_object_set_new(o, "present",
				    age == EPF_AGE_UNKNOWN ? json_null() : json_false());
	}
	out_json(o);
}

static void verdict_text(const struct testing *t, const __u8 *key, size_t len, __u8 age)
{
	if (t->in->digests)
		printf("%016llx", digest_at(key));
	else if (t->in->format == KEYS_HEX)
		print_hex(key, len);
	else
		print_safe(key, len);
	if (age < EPF_AGE_UNKNOWN)
		printf(" present age %u\n", age);
	else
		printf(age == EPF_AGE_UNKNOWN ? " unknown\n" : " absent\n");
}

static void print_batch(const struct testing *t, const struct keys *keys, const __u8 *ages)
{
	const __u8 *key = keys->bytes;
	__u32 i;

	for (i = 0; i < keys->count; key += keys->lens[i++]) {
		if (out_mode == OUT_TEXT)
			verdict_text(t, key, keys->lens[i], ages[i]);
		else
			verdict_json(t, key, keys->lens[i], ages[i]);
	}
	fflush(stdout);
}

static bool test_open_file(struct testing *t)
{
	__u64 ns;

	if (!t->opened)
		t->opened = snapshot_open(&t->snapshot, t->name, &t->info);
	return t->opened &&
	       (!t->within || parse_within(t->within, &t->info.params, &t->limit, &ns));
}

static bool test_open(struct testing *t)
{
	__u64 ns;
	int err;

	if (t->is_file)
		return test_open_file(t);
	if (t->filter >= 0)
		return true;
	t->filter = open_filter(t->name);
	if (t->filter < 0)
		return false;
	err = epf_filter_info(t->filter, &t->info);
	if (err && t->within) {
		fail_call(err, "reading", t->name);
		return false;
	}
	if (t->within && !parse_within(t->within, &t->info.params, &t->limit, &ns))
		return false;
	if (!err && t->cmd == EPF_IOC_TEST_AND_INSERT)
		keys_describe(t->filter, t->name, &t->info, t->in->digests);
	return true;
}

/* A module that does not know EPF_BATCH_UNKNOWN reports saturation for the whole batch.
 * Then all keys that it calls absent may be unknown.
 */
static int test_ask(const struct testing *t, const struct keys *keys, struct epf_batch *b,
		    __u8 *ages)
{
	int err;
	__u32 i;

	if (t->is_file) {
		b->done = b->count;
		return snapshot_ask(&t->snapshot, keys, ages, &b->present);
	}
	err = epf_filter_batch(t->filter, t->cmd, b);

	if (err != -EINVAL || b->done)
		return err;
	b->flags &= ~EPF_BATCH_UNKNOWN;
	err = epf_filter_batch(t->filter, t->cmd, b);
	if (b->flags & EPF_BATCH_SATURATED)
		for (i = 0; i < b->done; i++)
			if (ages[i] == EPF_AGE_ABSENT)
				ages[i] = EPF_AGE_UNKNOWN;
	return err;
}

/* Make keys that are too old absent. */
static void forget_old(const struct testing *t, struct epf_batch *b, __u8 *ages)
{
	__u32 i;

	if (!t->limit)
		return;
	for (i = 0; i < b->done; i++)
		if (ages[i] < EPF_AGE_UNKNOWN && ages[i] >= t->limit) {
			ages[i] = EPF_AGE_ABSENT;
			b->present--;
		}
}

static __u64 count_unknown(const __u8 *ages, __u32 nr)
{
	__u64 unknown = 0;

	while (nr--)
		unknown += ages[nr] == EPF_AGE_UNKNOWN;
	return unknown;
}

static int test_batch(void *ctx, const struct keys *keys)
{
	struct testing *t = ctx;
	struct epf_batch b = {
		.flags = EPF_BATCH_UNKNOWN | (keys->digests ? EPF_BATCH_DIGESTS : 0),
		.count = keys->count,
		.keys = (__u64)(uintptr_t)keys->bytes,
		.lens = keys->digests ? 0 : (__u64)(uintptr_t)keys->lens,
	};
	__u8 *ages;
	int err;

	if (!test_open(t))
		return EXIT_FAIL;
	if (t->cmd == EPF_IOC_TEST)
		keys_check(t->name, &t->info, keys, t->in->format);
	ages = malloc(keys->count);
	if (!ages)
		return fail("out of memory");
	b.ages = (__u64)(uintptr_t)ages;
	err = test_ask(t, keys, &b, ages);
	forget_old(t, &b, ages);
	if (!err && !t->quiet)
		print_batch(t, keys, ages);
	t->tested += b.done;
	t->present += b.present;
	t->unknown += count_unknown(ages, b.done);
	free(ages);
	if (err)
		return fail_call(err, t->cmd == EPF_IOC_TEST ? "testing keys" : "inserting keys",
				 NULL);
	meter_update(&t->meter, t->tested, 0);
	return 0;
}

static void test_print_counts(const struct testing *t)
{
	__u64 absent = t->tested - t->present - t->unknown;

	if (out_mode == OUT_TEXT)
		printf("%llu present, %llu absent, %llu unknown\n", t->present, absent, t->unknown);
	else
		out_json(json_pack("{sI sI sI}", "present", (json_int_t)t->present, "absent",
				   (json_int_t)absent, "unknown", (json_int_t)t->unknown));
}

/* @held: a process or the kernel ends its epochs */
static int tell_unknown(const struct testing *t, bool held)
{
	if (t->is_file)
		return fail_as(EXIT_UNKNOWN,
			       "%s does not know %llu of the keys, because its error of %s is "
			       "above its limit of %s: make it again of a larger filter",
			       t->name, t->unknown, fmt_ppt(t->snapshot.fpr_ppt).s,
			       fmt_ppt(t->info.params.limit_ppt).s);
	if (held)
		return fail_as(EXIT_UNKNOWN,
			       "'%s' is saturated and does not know %llu of "
			       "the keys: enlarge it, or shorten its window ('epfctl show "
			       "%s')",
			       t->name, t->unknown, t->name);
	return fail_as(EXIT_UNKNOWN,
		       "nobody ends the epochs of '%s', so it does not know "
		       "%llu of the keys: run 'epfctl hold %s'",
		       t->name, t->unknown, t->name);
}

static int test(struct testing *t)
{
	int ret = EXIT_FAIL;
	bool held;

	if (t->is_file || parse_name(t->name))
		ret = keys_read(t->in, test_batch, t);
	meter_end(&t->meter);
	if (!ret && !test_open(t)) /* no keys at all */
		ret = EXIT_FAIL;
	held = t->is_file || epf_is_module(t->filter) || ebpf_held(t->name);
	if (t->filter >= 0)
		epf_close(t->filter);
	if (t->opened)
		snapshot_close(&t->snapshot);
	if (ret)
		return ret;
	if (t->counts)
		test_print_counts(t);
	if (t->unknown)
		return tell_unknown(t, held);
	return t->present == t->tested ? EXIT_YES : EXIT_ABSENT;
}

int cmd_test(int argc, char **argv)
{
	static const struct option longs[] = {
		KEYS_LONGS,
		{ "quiet", no_argument, NULL, 'q' },
		{ "counts", no_argument, NULL, 'c' },
		{ "insert", no_argument, NULL, OPT_INSERT },
		{ "within", required_argument, NULL, OPT_WITHIN },
		{ "snapshot", required_argument, NULL, OPT_SNAPSHOT },
		{ 0 },
	};
	static char help[1280];
	static const struct spec spec = {
		.usage = "test (NAME | --snapshot FILE) [options] [KEY ... | -]",
		.help = help,
		.shorts = KEYS_SHORTS "qc",
		.longs = longs,
	};
	const char *files[KEY_FILES_MAX];
	struct key_input in = { .files = files };
	struct testing t = {
		.filter = -1,
		.in = &in,
		.cmd = EPF_IOC_TEST,
		.meter = { .what = "testing", .unit = "keys" },
	};
	bool good = true;
	int opt;

	/* clang-format off */
	snprintf(help, sizeof(help), "%s%s", keys_help,
"      --snapshot FILE   look the keys up in a snapshot file\n"
"      --insert          insert each key after its verdict\n"
"      --within N|DURATION  keys that were inserted longer ago are absent: N\n"
"                        epochs, or a duration, which is rounded up to epochs\n"
"  -q, --quiet           print nothing; the exit status is the answer\n"
"  -c, --counts          print totals in place of a line for every key\n"
"exit status: 0 all present, 1 some definitely absent, 2 failure, 3 some not\n"
"known, because the filter is saturated or nobody holds it\n");
	/* clang-format on */
	while (good && (opt = next_option(argc, argv, &spec)) >= 0) {
		if (opt == 'q' || opt == 'c')
			t.quiet = true;
		else if (opt == OPT_INSERT)
			t.cmd = EPF_IOC_TEST_AND_INSERT;
		else if (opt == OPT_WITHIN)
			t.within = optarg;
		else if (opt == OPT_SNAPSHOT)
			t.name = optarg;
		else
			good = keys_option(&in, opt, optarg);
		t.counts |= opt == 'c';
	}
	t.is_file = t.name;
	if (!good || !operands(argc, argv, !t.is_file, argc, &spec))
		return EXIT_FAIL;
	if (t.is_file && t.cmd == EPF_IOC_TEST_AND_INSERT)
		return fail("--snapshot does not go with --insert: a snapshot "
			    "never changes");
	if (!t.is_file)
		t.name = argv[optind++];
	in.args = argv + optind;
	in.nr_args = argc - optind;
	return test(&t);
}
