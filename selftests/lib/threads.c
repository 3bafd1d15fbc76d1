// SPDX-License-Identifier: GPL-2.0
/* Two threads on each handle, as the header allows. Built with -fsanitize=thread, too. */
#include "lib.h"

#include <errno.h>
#include <pthread.h>

#define KEYS 3000u
#define HALVES 2u

/**
 * struct side - one thread
 * @f: filter, @s: snapshot that both have
 * @first: its keys are @first, @first + 2, ..
 * @wrong: what it has seen
 */
struct side {
	struct libepf_filter *f;
	struct libepf_snapshot *s;
	uint64_t first;
	const char *wrong;
};

static void *insert(void *arg)
{
	struct side *side = arg;
	struct libepf_info info = { .size = sizeof(info) };
	uint64_t key = 0, i;
	struct libepf_keys keys = keys_of(&key, 1);

	for (i = 0; i < KEYS; i++) {
		key = HALVES * i + side->first;
		if (libepf_filter_insert(side->f, &keys, LIBEPF_NOW) ||
		    libepf_filter_test(side->f, &keys, LIBEPF_NOW, NULL) != 1)
			side->wrong = "a key is lost";
		if (i % 500 == 0 && libepf_filter_info(side->f, LIBEPF_NOW, &info))
			side->wrong = libepf_error();
	}
	return NULL;
}

static void *look(void *arg)
{
	struct side *side = arg;
	static const char *const engines[] = { "scalar", NULL };
	uint64_t key[KEYS] = { 0 }, i;
	struct libepf_keys keys = keys_of(key, KEYS);
	struct libepf_audit a = { .size = sizeof(a), .threads = 2 };

	for (i = 0; i < KEYS; i++)
		key[i] = HALVES * i + side->first;
	for (i = 0; i < 20; i++) {
		a.engine = engines[i % 2];
		if (libepf_snapshot_audit(side->s, &keys, &a) || a.present != KEYS)
			side->wrong = "an audit loses a key";
	}
	return NULL;
}

/* Each thread has the text of its own error. */
static void *fail(void *arg)
{
	struct side *side = arg;
	struct libepf_snapshot *s;
	unsigned int i;

	for (i = 0; i < 200; i++) {
		libepf_snapshot_open(side->first ? "/one" : "/two", 0, &s);
		if (!strstr(libepf_error(), side->first ? "/one" : "/two"))
			side->wrong = "the error is that of another thread";
	}
	return NULL;
}

static const char *both(struct side side[HALVES], void *(*run)(void *))
{
	pthread_t thread[HALVES];
	unsigned int i;

	for (i = 0; i < HALVES; i++)
		if (pthread_create(&thread[i], NULL, run, &side[i]))
			abort();
	for (i = 0; i < HALVES; i++)
		pthread_join(thread[i], NULL);
	return side[0].wrong ? side[0].wrong : side[1].wrong;
}

static void try_kind(const char *kind)
{
	struct libepf_plan p = {
		.size = sizeof(p),
		.kind = kind,
		.rate = HALVES * KEYS / 60.0,
		.window_ns = UINT64_C(60000000000),
		.limit = 1,
	};
	struct side side[HALVES] = { { .first = 0 }, { .first = 1 } };
	const char *path = temp_path("threads.epf");
	const char *wrong;

	if (libepf_filter_new(&p, LIBEPF_NOW, &side[0].f)) {
		tap_ok(false, "%s: %s", kind, libepf_error());
		return;
	}
	side[1].f = side[0].f;
	wrong = both(side, insert);
	if (!wrong && info_of(side[0].f, LIBEPF_NOW).inserts != (uint64_t)HALVES * KEYS)
		wrong = "insertions are lost";
	if (libepf_filter_save(side[0].f, path, LIBEPF_NOW, LIBEPF_NOW) ||
	    libepf_snapshot_open(path, 0, &side[0].s))
		wrong = libepf_error();
	side[1].s = side[0].s;
	if (!wrong)
		wrong = both(side, look);
	libepf_snapshot_close(side[0].s);
	libepf_filter_free(side[0].f);
	tap_sound(wrong, "%s: two threads insert, test and audit", kind);
}

int main(void)
{
	struct side side[HALVES] = { { .first = 0 }, { .first = 1 } };

	tap_plan(4);
	try_kind("lanes");
	try_kind("ge");
	try_kind("tlbf");
	tap_ok(!both(side, fail), "each thread has its own error");
	temp_gone();
	return tap_end();
}
