// SPDX-License-Identifier: GPL-2.0
/*
 * Filters of the kernel by the public header: pure BPF on this machine, those of the module
 * where it is loaded. A backend that is not there is a skip.
 */
#include "lib.h"

#include <errno.h>

#define NAME "lib_selftest"
#define KEYS 20000u

static uint64_t key[KEYS];
static uint8_t age[KEYS];

/* All keys may come in one of the eight epochs. */
static struct libepf_plan plan_of(void)
{
	return (struct libepf_plan){ .size = sizeof(struct libepf_plan),
				     .rate = 8 * KEYS / 60.0,
				     .window_ns = UINT64_C(60000000000),
				     .hash_key = HASH_KEY };
}

static const char *insert_and_test(struct libepf_kernel *k)
{
	struct libepf_keys half = keys_of(key, KEYS / 2), all = keys_of(key, KEYS);
	unsigned int i;

	if (libepf_kernel_insert(k, &half))
		return libepf_error();
	if (libepf_kernel_test(k, &all, age) < KEYS / 2)
		return "a key is lost";
	for (i = 0; i < KEYS / 2; i++)
		if (age[i] >= LIBEPF_AGES)
			return "a key inserted is absent or not known";
	if (libepf_kernel_test_and_insert(k, &all, age) > KEYS / 2 + 50)
		return "keys never inserted are present";
	return libepf_kernel_test(k, &all, NULL) == KEYS ? NULL : "a key is lost";
}

static const char *lengths(struct libepf_kernel *k)
{
	static const char text[] = "a"
				   "bcd"
				   "efghijkl";
	uint16_t lens[] = { 1, 3, 8 };
	struct libepf_keys keys = { text, lens, 3, 0 }, one = { "bcd", NULL, 1, 3 };

	if (libepf_kernel_insert(k, &keys))
		return libepf_error();
	return libepf_kernel_test(k, &one, NULL) == 1 ? NULL : "a key of three bytes is lost";
}

static const char *inform(struct libepf_kernel *k, uint32_t backend)
{
	struct libepf_info info = { .size = sizeof(info) };

	if (libepf_kernel_info(k, &info))
		return libepf_error();
	if (strcmp(info.name, NAME) || strcmp(info.kind, "lanes") ||
	    strcmp(info.keys, "text or bytes"))
		return "name, kind or keys are wrong";
	if (!(info.flags & LIBEPF_INFO_BPF) != (backend == LIBEPF_BACKEND_MODULE))
		return "the backend is wrong";
	return info.inserts >= KEYS && info.epochs == 7 ? NULL : "the counts are wrong";
}

/* A file, a copy in memory, a filter in memory of the same keys, and a restored filter say
 * the same.
 */
static const char *copies(struct libepf_kernel *k)
{
	struct libepf_keys all = keys_of(key, KEYS);
	const char *path = temp_path("kernel.epf"), *wrong = NULL;
	struct libepf_snapshot *file, *memory;

	if (libepf_kernel_save(k, path) || libepf_snapshot_open(path, 0, &file))
		return libepf_error();
	if (libepf_snapshot_take(k, &memory)) {
		libepf_snapshot_close(file);
		return libepf_error();
	}
	if (libepf_snapshot_test(file, &all, NULL) != KEYS ||
	    libepf_snapshot_test(memory, &all, NULL) != KEYS)
		wrong = "a snapshot loses a key";
	libepf_snapshot_close(file);
	libepf_snapshot_close(memory);
	if (!wrong && (libepf_kernel_clear(k) || libepf_kernel_test(k, &all, NULL) > 50))
		wrong = "a cleared filter has keys";
	if (!wrong && libepf_kernel_restore(k, path))
		return libepf_error();
	if (!wrong && libepf_kernel_test(k, &all, NULL) != KEYS)
		wrong = "a restored filter loses a key";
	return wrong;
}

/* The kernel goes on with a filter that was in memory. */
static const char *adopt(struct libepf_kernel *k)
{
	struct libepf_keys all = keys_of(key, KEYS);
	const char *path = temp_path("memory.epf");
	struct libepf_plan p = plan_of();
	struct libepf_filter *f;
	int err;

	if (libepf_filter_new(&p, LIBEPF_NOW, &f))
		return libepf_error();
	err = libepf_filter_insert(f, &all, LIBEPF_NOW) ||
	      libepf_filter_save(f, path, LIBEPF_NOW, LIBEPF_NOW) || libepf_kernel_clear(k) ||
	      libepf_kernel_restore(k, path);
	libepf_filter_free(f);
	if (err)
		return libepf_error();
	return libepf_kernel_test(k, &all, NULL) == KEYS ? NULL : "the kernel loses a key";
}

#define PARTS 7

static void run(uint32_t backend, const char *what)
{
	const struct libepf_kernel_options o = {
		.size = sizeof(o),
		.backend = backend,
		.flags = LIBEPF_KERNEL_TIMER,
	};
	const char *wrong[PARTS] = { NULL };
	struct libepf_kernel *k, *again;
	struct libepf_plan p = plan_of();
	long printed;
	int i;

	silent_begin();
	if (libepf_kernel_create(NAME, &p, &o, &k)) {
		silent_end();
		for (i = 0; i < PARTS; i++)
			tap_ok(true, "%s # SKIP %s", what, libepf_error());
		return;
	}
	if (libepf_kernel_create(NAME, &p, &o, NULL) != -EEXIST)
		wrong[0] = "a name is taken twice";
	if (libepf_kernel_open(NAME, LIBEPF_BACKEND_ANY, &again))
		wrong[0] = libepf_error();
	wrong[1] = insert_and_test(again);
	wrong[2] = lengths(k);
	wrong[3] = inform(k, backend);
	wrong[4] = copies(k);
	wrong[5] = adopt(k);
	libepf_kernel_close(k);
	libepf_kernel_close(again);
	if (libepf_kernel_destroy(NAME, backend, 0) ||
	    libepf_kernel_open(NAME, backend, &k) != -ENOENT)
		wrong[6] = libepf_error();
	printed = silent_end();
	for (i = 0; i < PARTS; i++)
		tap_ok(!wrong[i] && !printed, "%s, part %d: %s", what, i + 1,
		       wrong[i] ? wrong[i] :
		       printed  ? "the library prints" :
				  "as documented");
}

int main(void)
{
	unsigned int i;

	for (i = 0; i < KEYS; i++)
		key[i] = i;
	tap_plan(2 * PARTS);
	run(LIBEPF_BACKEND_BPF, "pure BPF");
	run(LIBEPF_BACKEND_MODULE, "the module");
	temp_gone();
	return tap_end();
}
