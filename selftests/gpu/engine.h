/* SPDX-License-Identifier: GPL-2.0 */
/* What the sources of the program "engine" share: see engine.c. */
#ifndef GPU_ENGINE_H
#define GPU_ENGINE_H

#include "../audit/sim.h"

#include <dlfcn.h>
#include <epf_cuda.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUFFER "1024" /* bytes: 128 digests */
#define MANY 3000u
#define EPOCH 43u

/* engine.c: laws that hold for several devices, too */
const char *shapes(void);
const char *noise(void);
const char *once(void);
const char *turns(void);
const char *little_memory(void);
const char *cancelled(void);
const char *journals(void);
const char *trails(void);
const char *columns(void);
const char *audited_again(void);
const char *estimates(void);

/* process.c */
#define PROCESS_CLAIMS 11u
void claim_process(void);
const char *other_device(void);
void *of_card(const char *function);

/* devices.c */
#define DEVICES_CLAIMS 27u
void claim_devices(void);

/* ---- claims ---- */

/* Return: what is wrong, or NULL. */
typedef const char *(*law_fn)(void);

static inline const struct epf_engine *cuda(void)
{
	return epf_engine_find("cuda");
}

/* Check @law in a process of its own. @settings: NAME=VALUE with spaces between, or NULL. */
void claim(const char *text, law_fn law, const char *settings);

static inline unsigned char *key_bytes(const struct sim *s, size_t bytes)
{
	unsigned char *p = must(malloc(bytes + 16));
	size_t i;

	for (i = 0; i < bytes + 16; i++)
		p[i] = (unsigned char)epf_word(s->seed + i, 5);
	return p;
}

static inline const char *same(const struct epf_view *v, const struct epf_keys *keys, bool ages)
{
	size_t bytes = (keys->n + 7) / 8;
	struct epf_answer a[2] = { { .bitmap = must(calloc(1, bytes + 1)),
				     .ages = must(calloc(1, keys->n + 1)) },
				   { .bitmap = must(calloc(1, bytes + 1)),
				     .ages = ages ? must(calloc(1, keys->n + 1)) : NULL } };
	const char *wrong = NULL;

	a[1].bitmap[bytes] = 0x5a;
	if (epf_engine_at(0)->query(v, keys, &a[0]))
		wrong = "scalar fails";
	else if (cuda()->query(v, keys, &a[1]))
		wrong = epf_engine_why(cuda());
	else if (memcmp(a[0].bitmap, a[1].bitmap, bytes))
		wrong = "bitmaps differ";
	else if (a[1].bitmap[bytes] != 0x5a)
		wrong = "written behind the bitmap";
	else if (ages && memcmp(a[0].ages, a[1].ages, keys->n))
		wrong = "ages differ";
	else if (a[0].present != a[1].present ||
		 memcmp(a[0].ages_of, a[1].ages_of, sizeof(a[0].ages_of)))
		wrong = "counts differ";
	else if (a[0].bitmap_xxh3 != a[1].bitmap_xxh3)
		wrong = "checksums differ";
	free(a[0].bitmap);
	free(a[1].bitmap);
	free(a[0].ages);
	free(a[1].ages);
	return wrong;
}

static inline __u64 uploads(void)
{
	struct epf_gpu_use use;

	epf_gpu_use(&use);
	return use.uploads;
}

static inline struct epf_view filled(struct sim *s, __u64 lines, __u64 seed)
{
	sim_init(s, lines, 1, 6, 0);
	s->seed += seed;
	s->per_epoch = 100;
	sim_stream(s, 20);
	return sim_view(s);
}

static inline const struct epf_cuda_ops *ops(void)
{
	void *lib = dlopen(getenv("EPF_CUDA_LIBRARY"), RTLD_NOW);
	epf_cuda_ops_fn get;

	*(void **)&get = dlsym(must(lib), EPF_CUDA_SYMBOL);
	if (getenv("EPF_CUDA_DEVICES"))
		must((void *)(uintptr_t)cuda()->usable()); /* selects them */
	return must((void *)(uintptr_t)get());
}

static inline struct epf_cuda_held *hold(const struct epf_cuda_ops *o, const struct sim *s)
{
	struct epf_cuda_lines lines = {
		s->f.line, s->f.geom, { { s->key[0], s->key[1] }, 0, { 0 } }, s->epoch
	};
	struct epf_cuda_held *held;
	struct epf_cuda_error e;

	if (o->hold(&lines, 0, &held, &e)) {
		fprintf(stderr, "# %s\n", e.text);
		abort();
	}
	return held;
}

/* Insert into the simulation, and record the insertion as the module does. */
static inline void record(struct sim *s, struct epf_journal_record *r, __u64 digest)
{
	struct epf_probe p;
	bool grew = false;

	memset(r, 0, sizeof(*r));
	epf_probe(&s->f, digest, &p);
	r->epoch = epf_lanes_insert_into(&s->f, &p, &r->more, &grew);
	r->value = digest;
	r->seq = 4 | EPF_JOURNAL_INSERT;
}

/* Advance some epochs; ends of epochs are recorded, and stale lanes emptied. */
static inline __u64 stream(struct sim *s, struct epf_journal_record *r, __u64 epochs, __u64 each,
			   __u64 seed)
{
	__u64 n = 0, i, j;

	for (i = 0; i <= epochs; i++) {
		for (j = 0; j < each; j++, n++)
			record(s, &r[n], epf_word(seed + n, 2));
		if (i == epochs)
			break;
		s->epoch++;
		epf_lanes_scan(&s->f, 0, s->params.nr_lines);
		memset(&r[n], 0, sizeof(*r));
		r[n].epoch = s->epoch;
		r[n++].seq = 4 | EPF_JOURNAL_ROTATE;
	}
	return n;
}

static inline const char *not_there(const char *library, const char *why)
{
	setenv("EPF_CUDA_LIBRARY", library, 1);
	if (cuda()->usable())
		return "usable";
	if (epf_engine_far(epf_engine_near()))
		return "it is said to be near";
	return strstr(epf_engine_why(cuda()), why) ? NULL : epf_engine_why(cuda());
}

#endif /* GPU_ENGINE_H */
