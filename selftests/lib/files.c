// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots by the public header: every engine and way of passing keys gives one answer, and a
 * merge has the keys of all files.
 */
#include "lib.h"

#include <errno.h>

#define KEYS 30000u
#define SOURCES 3u
#define WALL 1700000000000000000u

static uint64_t key[2 * KEYS];
static uint16_t lens[2 * KEYS];
static uint8_t first[2 * KEYS], ages[2 * KEYS];

static struct libepf_plan plan_of(void)
{
	return (struct libepf_plan){ .size = sizeof(struct libepf_plan),
				     .rate = 8.0 * KEYS,
				     .window_ns = 1000000000,
				     .hash_key = HASH_KEY };
}

/* Keys @from .. @from + @n - 1, evenly in @ns, in a file. */
static const char *save(const char *name, size_t from, size_t n, uint64_t ns)
{
	const char *path = temp_path(name);
	struct libepf_plan p = plan_of();
	struct libepf_filter *f;
	size_t i;

	if (libepf_filter_new(&p, 0, &f))
		abort();
	for (i = 0; i < n; i++) {
		struct libepf_keys keys = keys_of(&key[from + i], 1);

		libepf_filter_insert(f, &keys, ns * i / n);
	}
	if (libepf_filter_save(f, path, ns, WALL))
		abort();
	libepf_filter_free(f);
	return path;
}

/* Does an audit by @engine say what @first has? */
static const char *compare(const struct libepf_snapshot *s, const char *engine, unsigned int way)
{
	struct libepf_keys keys = keys_of(key, 2 * KEYS);
	static uint8_t bitmap[2 * KEYS / 8];
	static uint64_t ages_of[LIBEPF_AGES];
	struct libepf_audit a = {
		.size = sizeof(a),
		.engine = engine,
		.threads = 1 + way,
		.ages = ages,
		.bitmap = bitmap,
		.ages_of = ages_of,
	};
	uint64_t present = 0, i;

	if (way % 2) {
		keys.lens = lens;
		keys.len = 0;
	}
	memset(ages, 7, sizeof(ages));
	if (libepf_snapshot_audit(s, &keys, &a))
		return libepf_error();
	for (i = 0; i < 2 * KEYS; i++)
		if ((bitmap[i / 8] >> i % 8 & 1) != (ages[i] != LIBEPF_AGE_ABSENT))
			return "bitmap and ages differ";
	for (i = 0; i < LIBEPF_AGES; i++)
		present += ages_of[i];
	if (present != a.present || (engine && strcmp(a.used, engine)))
		return "the histogram or the engine is wrong";
	return memcmp(first, ages, sizeof(ages)) ? "ages differ" : NULL;
}

static const char *engines(void)
{
	const char *path = save("engines.epf", 0, KEYS, 1200000000), *name, *wrong = NULL;
	struct libepf_keys all = keys_of(key, 2 * KEYS);
	struct libepf_snapshot *s;
	unsigned int copy, way, i;

	for (copy = 0; copy < 2; copy++) {
		if (libepf_snapshot_open(path, copy ? LIBEPF_SNAPSHOT_COPY : 0, &s))
			return libepf_error();
		if (!copy && libepf_snapshot_test(s, &all, first) < KEYS / 2)
			wrong = "a snapshot loses keys";
		for (i = 0; (name = libepf_engine(i)) && !wrong; i++)
			for (way = 0; way < 4 && !wrong; way++)
				wrong = compare(s, name, way);
		if (!wrong)
			wrong = compare(s, NULL, 0);
		if (!wrong && i < 2)
			wrong = "there are fewer than two engines";
		libepf_snapshot_close(s);
	}
	return wrong;
}

static int stop(void *context, uint64_t done, uint64_t all)
{
	*(unsigned int *)context += done <= all;
	return 1;
}

static const char *cancelled(void)
{
	const char *path = save("cancel.epf", 0, 10, 1000);
	struct libepf_keys all = keys_of(key, 2 * KEYS);
	unsigned int calls = 0;
	struct libepf_audit a = {
		.size = sizeof(a), .threads = 1, .progress = stop, .context = &calls
	};
	struct libepf_merge m = {
		.size = sizeof(m), .flags = LIBEPF_MERGE_LOOSE, .progress = stop, .context = &calls
	};
	struct libepf_snapshot *s;
	int audited, merged;

	if (libepf_snapshot_open(path, 0, &s))
		return libepf_error();
	audited = libepf_snapshot_audit(s, &all, &a);
	libepf_snapshot_close(s);
	merged = libepf_merge(&path, 1, temp_path("none.epf"), &m);
	if (audited != -ECANCELED || merged != -ECANCELED || calls != 2)
		return "progress does not end the work";
	return access(temp_path("none.epf"), F_OK) ? NULL : "a merge that was ended leaves a file";
}

static const char *merged(void)
{
	struct libepf_merge m = { .size = sizeof(m), .flags = LIBEPF_MERGE_LOOSE, .limit = 0.5 };
	struct libepf_info info = { .size = sizeof(info) };
	const char *path[SOURCES], *out = temp_path("merged.epf"), *wrong = NULL;
	struct libepf_keys inserted = keys_of(key, KEYS), others = keys_of(key + KEYS, KEYS);
	char kept[SOURCES][128];
	struct libepf_snapshot *s;
	unsigned int i;

	for (i = 0; i < SOURCES; i++) {
		snprintf(kept[i], sizeof(kept[i]), "%s",
			 save("part", i * KEYS / SOURCES, KEYS / SOURCES, 900000000 + i * 10));
		path[i] = kept[i];
		snprintf(kept[i] + strlen(kept[i]), 8, ".%u", i);
		if (rename(temp_path("part"), path[i]))
			abort();
	}
	if (libepf_merge(path, SOURCES, out, &m) || libepf_snapshot_open(out, 0, &s))
		return libepf_error();
	if (libepf_snapshot_test(s, &inserted, NULL) != KEYS)
		wrong = "a merge loses a key";
	if (libepf_snapshot_test(s, &others, NULL) > 60)
		wrong = "a merge has keys that nobody inserted";
	if (libepf_snapshot_info(s, &info) || info.inserts != KEYS || m.inserts != KEYS ||
	    info.limit != 0.5 || m.error <= 0 || m.error > 1e-3)
		wrong = "insertions, limit or error of a merge are wrong";
	libepf_snapshot_close(s);
	return wrong;
}

static void check(const char *what, const char *(*run)(void))
{
	const char *wrong;
	long printed;

	silent_begin();
	wrong = run();
	printed = silent_end();
	tap_ok(!wrong && !printed, "%s%s%s", what, wrong || printed ? ": " : "",
	       wrong   ? wrong :
	       printed ? "the library prints" :
			 "");
}

int main(void)
{
	unsigned int i;

	for (i = 0; i < 2 * KEYS; i++) {
		key[i] = i;
		lens[i] = sizeof(key[i]);
	}
	tap_plan(3);
	check("all engines, with one length and with lengths, in place and copied", engines);
	check("progress ends audits and merges", cancelled);
	check("a merge has the keys of all files", merged);
	temp_gone();
	return tap_end();
}
