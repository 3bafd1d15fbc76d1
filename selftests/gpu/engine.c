// SPDX-License-Identifier: GPL-2.0
/*
 * Properties of engine "cuda", with the card that EPF_CUDA_LIBRARY emulates:
 *
 *   its answers equal those of engine scalar, byte by byte, for all shapes, lengths of
 *   keys, numbers of keys around the ends of buffers, and orders of the streams; lines
 *   are copied once for each of their states, and other lines never answer for them; a
 *   journal updates the lines on the card to the same state as on the CPU; an
 *   impossible request gives an errno and a line.
 *
 * usage: engine LIBRARY-OF-ANOTHER-VERSION [CLAIM]
 *
 * With CLAIM only the test points that begin so.
 *
 * Each test point has its own process, because settings are read once.
 */
#include "engine.h"

static const char *wrong_library;
static const char *only = "";

/* ---- claims ---- */

static void set_all(const char *settings)
{
	char *rest = must(strdup(settings ? settings : "")), *word;

	while ((word = strsep(&rest, " ")))
		if (*word)
			putenv(word);
}

void claim(const char *text, law_fn law, const char *settings)
{
	const char *wrong;
	int status;
	pid_t pid;

	if (strncmp(text, only, strlen(only)))
		return;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		setenv("EPF_CUDA_BUFFER", BUFFER, 1);
		set_all(settings);
		wrong = law();
		if (wrong)
			fprintf(stderr, "# %s\n", wrong);
		_exit(wrong != NULL);
	}
	tap_ok(waitpid(pid, &status, 0) == pid && !status, "%s%s%s", text, settings ? ", " : "",
	       settings ? settings : "");
}

/* ---- answers ---- */

/* Insert every other key in one of the last ten epochs. */
static void insert_keys(struct sim *s, const unsigned char *key, __u32 len, __u64 n)
{
	struct epf_hash hash = { { s->key[0], s->key[1] }, 0, { 0 } };
	__u64 i, back;

	for (back = 10; back--;) {
		s->epoch = EPOCH - back;
		for (i = back; i < n; i += 10)
			if (i % 2 || i % 20 == 0)
				sim_insert(s, len ? epf_digest(&hash, key + i * len, len) :
						    epf_get_le64(key + 8 * i));
	}
}

static const char *shape(__u32 parts, __u32 k, __u32 len, __u32 shift)
{
	static const __u64 numbers[] = { 0,   1,   7,   31,  32,  33,  127,
					 128, 129, 255, 256, 257, 385, 1000 };
	const char *wrong = NULL;
	struct epf_view v;
	struct sim s;
	unsigned char *key;
	__u32 i;

	sim_init(&s, 256 * parts, parts, k, 16);
	key = key_bytes(&s, 1000 * (len ? len : 8));
	insert_keys(&s, key + shift, len, 1000);
	v = sim_view(&s);
	for (i = 0; i < sizeof(numbers) / sizeof(*numbers) && !wrong; i++) {
		struct epf_keys keys = { .data = key + shift, .n = numbers[i], .len = len };

		wrong = same(&v, &keys, i % 2);
	}
	epf_view_close(&v);
	free(key);
	sim_free(&s);
	return wrong;
}

const char *shapes(void)
{
	static const struct {
		__u32 parts, k, len, shift;
	} all[] = {
		{ 1, 6, 0, 0 },  { 2, 12, 0, 0 },  { 4, 24, 0, 3 },  { 4, 56, 8, 0 },
		{ 1, 15, 1, 0 }, { 2, 22, 13, 1 }, { 1, 1, 256, 0 }, { 2, 8, 40, 5 },
	};
	const char *wrong = NULL;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(*all) && !wrong; i++)
		wrong = shape(all[i].parts, all[i].k, all[i].len, all[i].shift);
	return wrong;
}

/* With arbitrary words and tags, stale lanes do not match. */
const char *noise(void)
{
	struct epf_keys keys = { .n = MANY };
	const char *wrong;
	struct epf_view v;
	struct sim s;

	sim_init(&s, 512, 2, 10, 0);
	sim_noise(&s, EPOCH);
	keys.data = key_bytes(&s, MANY * 8);
	v = sim_view(&s);
	wrong = same(&v, &keys, true);
	return wrong ? wrong : same(&v, &keys, false);
}

/* ---- once for each state ---- */

const char *once(void)
{
	struct sim s;
	struct epf_view v = filled(&s, 256, 0), w, file;
	struct epf_keys keys = { .data = key_bytes(&s, 800), .n = 100 };

	if (same(&v, &keys, true) || same(&v, &keys, false) || uploads() != 1)
		return "two queries of a view: not one upload";
	w = v; /* a view may be copied */
	if (same(&w, &keys, true) || uploads() != 1)
		return "a copied view is another one";
	w.epoch++;
	if (same(&w, &keys, true) || uploads() != 2)
		return "another epoch of the same lines";
	w.hash.kind = 1;
	keys.len = 7;
	if (same(&w, &keys, true) || uploads() != 3)
		return "another hash of keys";
	keys.len = 0;
	epf_view_close(&w);
	sim_insert(&s, epf_get_le64(keys.data));
	file = sim_view(&s);
	if (same(&file, &keys, true) || uploads() != 4)
		return "the same memory with other lines, as another view";
	file.serial = 0;
	sim_insert(&s, epf_get_le64((const char *)keys.data + 8));
	if (same(&file, &keys, true))
		return "lines of no serial were kept";
	sim_insert(&s, epf_get_le64((const char *)keys.data + 16));
	return same(&file, &keys, true);
}

/* More views than the table keeps, in turns. */
const char *turns(void)
{
	struct sim s[12];
	struct epf_view v[12];
	struct epf_keys keys;
	int i, round;

	for (i = 0; i < 12; i++)
		v[i] = filled(&s[i], 128, (__u64)i);
	keys = (struct epf_keys){ .data = key_bytes(&s[0], 800), .n = 100 };
	for (i = 0; i < 50; i++)
		((__u64 *)(uintptr_t)keys.data)[i] = sim_digest(&s[i % 12], 18, i);
	for (round = 0; round < 3; round++)
		for (i = 0; i < 12; i++)
			if (same(&v[(i * 5 + round) % 12], &keys, true))
				return "another view answers";
	return NULL;
}

/* A card with room for only one of two views. */
const char *little_memory(void)
{
	struct sim s[2];
	struct epf_view v[2] = { filled(&s[0], 512, 0), filled(&s[1], 512, 1) };
	struct epf_keys keys = { .data = key_bytes(&s[0], 800), .n = 100 };
	int i;

	for (i = 0; i < 4; i++)
		if (same(&v[i % 2], &keys, true))
			return "the other one was not dropped";
	return uploads() == 4 ? NULL : "both were kept";
}

static const char *no_memory(void)
{
	struct sim s;
	struct epf_view v = filled(&s, 512, 0);
	struct epf_keys keys = { .data = key_bytes(&s, 800), .n = 100 };
	struct epf_answer a = { .bitmap = must(malloc(100)) };
	struct epf_view small;
	struct sim t;

	if (cuda()->query(&v, &keys, &a) != -ENOMEM)
		return "it fits";
	if (!strstr(epf_engine_why(cuda()), "memory"))
		return epf_engine_why(cuda());
	small = filled(&t, 64, 0);
	return same(&small, &keys, true); /* the view is not to blame for the failure */
}

/* ---- stopping ---- */

static int stop_late(void *ctx, __u64 done, __u64 all)
{
	return !ctx || done >= all / 2;
}

const char *cancelled(void)
{
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	struct epf_keys keys = { .data = key_bytes(&s, MANY * 8), .n = MANY };
	struct epf_answer a = { .bitmap = must(malloc(MANY)), .progress = stop_late };
	int i;

	for (i = 0; i < 2; i++) {
		a.ctx = i ? &s : NULL;
		if (cuda()->query(&v, &keys, &a) != -ECANCELED)
			return "it goes on";
		if (same(&v, &keys, true))
			return "what was under way is in the next answer";
	}
	return uploads() == 1 ? NULL : "copied again";
}

/* ---- the rest of the table ---- */

const char *journals(void)
{
	static const __u64 epochs[] = { 0, 1, 2, 7, 0, 8, 9, 3, 33, 64, 1 };
	const struct epf_cuda_ops *o = ops();
	struct sim s;
	struct epf_line *there = must(calloc(256, sizeof(*there)));
	struct epf_journal_record *r = must(calloc(4096, sizeof(*r)));
	struct epf_cuda_held *held;
	struct epf_cuda_error e;
	__u64 n;
	size_t i;

	filled(&s, 256, 0);
	held = hold(o, &s);
	epf_lanes_scan(&s.f, 0, 256);
	for (i = 0; i < sizeof(epochs) / sizeof(*epochs); i++) {
		n = stream(&s, r, epochs[i], i % 3 ? 40 : 0, i * 1000);
		if (o->apply(held, r, n, s.epoch, &e) || o->fetch(held, there, &e))
			return "apply fails";
		if (memcmp(there, s.f.line, 256 * sizeof(*there)))
			return "lines differ";
	}
	if (o->apply(held, r, 0, s.epoch - 1, &e) != -EINVAL)
		return "epochs may go back";
	o->release(held);
	return NULL;
}

/* Update by the records of a view, if all of them are available. */
const char *trails(void)
{
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	struct epf_journal_record *r = must(calloc(4096, sizeof(*r)));
	struct epf_delta_log delta_log = { .record = r };
	struct epf_keys keys = { .data = key_bytes(&s, 800), .n = 100 };
	struct epf_gpu_use use;

	v.delta_log = &delta_log;
	if (same(&v, &keys, true) || !delta_log.wanted)
		return "nobody wants records";
	delta_log.nr = stream(&s, r, 3, 50, 7);
	v.version += delta_log.nr;
	v.epoch = s.epoch;
	((__u64 *)(uintptr_t)keys.data)[3] = r[10].value;
	if (same(&v, &keys, true) || uploads() != 1)
		return "not brought on by records";
	epf_gpu_use(&use);
	if (use.records != delta_log.nr)
		return "other records";
	delta_log.first = v.version + 5;
	delta_log.nr = stream(&s, r, 1, 50, 8);
	v.version = delta_log.first + delta_log.nr;
	v.epoch = s.epoch;
	if (same(&v, &keys, true) || uploads() != 2)
		return "records are lacking, and nobody noticed";
	return NULL;
}

const char *columns(void)
{
	const struct epf_cuda_ops *o = ops();
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	struct epf_cuda_held *held = hold(o, &s);
	unsigned char *key = key_bytes(&s, MANY * 8);
	struct epf_cuda_keys keys = { key, MANY, 0, 0 };
	struct epf_cuda_answer a = { .bitmap = must(calloc(1, MANY)), .ages = must(malloc(MANY)) };
	struct epf_cuda_column *column;
	struct epf_cuda_error e;
	struct expected x;
	int i;

	for (i = 0; i < 500; i++)
		memcpy(key + 8 * i, &(__u64){ sim_digest(&s, 15, (__u64)i) }, 8);
	expect(&x, &s, (const __u64 *)(void *)key, MANY);
	if (o->load(&keys, 2, &column, &e))
		return "load fails";
	memset(key, 0, MANY * 8);
	for (i = 0; i < 2; i++) {
		memset(a.bitmap, 0xff, MANY);
		if (o->query_column(held, column, 0, MANY, &a, &e))
			return "query fails";
		if (memcmp(a.bitmap, x.bitmap, MANY / 8) || memcmp(a.ages, x.ages, MANY) ||
		    memcmp(a.ages_of, x.ages_of, sizeof(a.ages_of)))
			return "answers differ";
	}
	if (o->query_column(held, column, 1, MANY, &a, &e) != -EINVAL ||
	    o->query_column(held, column, MANY + 1, 0, &a, &e) != -EINVAL ||
	    o->query_column(held, column, 1, ~0ULL, &a, &e) != -EINVAL)
		return "keys behind its end";
	epf_view_close(&v);
	o->unload(column);
	o->release(held);
	return NULL;
}

#define PIECE 1000u

/* Audit a column, in pieces. */
static const char *audit(const struct epf_view *v, const struct epf_column *c)
{
	const char *data = c->keys.data, *wrong = NULL;
	__u64 first, bytes = c->keys.len ? c->keys.len : 8;

	for (first = 0; first < c->keys.n && !wrong; first += PIECE) {
		struct epf_keys keys = {
			.data = data + first * bytes, .n = PIECE, .len = c->keys.len, .of = c
		};

		if (c->keys.n - first < PIECE)
			keys.n = c->keys.n - first;
		wrong = same(v, &keys, first % 3);
	}
	return wrong;
}

static bool used(__u64 columns, __u64 audits)
{
	struct epf_gpu_use use;

	epf_gpu_use(&use);
	return use.columns == columns && use.column_asks == audits * ((MANY + PIECE - 1) / PIECE);
}

/* Return: a column of whose keys every third is present. */
static struct epf_column column_of(const struct sim *s)
{
	unsigned char *key = key_bytes(s, MANY * 8);
	int i;

	for (i = 0; i < (int)MANY; i += 3)
		memcpy(key + 8 * i, &(__u64){ sim_digest(s, 15, (__u64)i) }, 8);
	return (struct epf_column){ .keys = { key, MANY, 0, NULL }, .serial = epf_view_serial() };
}

const char *audited_again(void)
{
	struct sim s;
	struct epf_view v = filled(&s, 256, 0), w;
	struct epf_column c = column_of(&s), other = column_of(&s);
	const char *wrong = audit(&v, &c);

	if (wrong || !used(0, 0))
		return wrong ? wrong : "what is asked for once is kept";
	wrong = audit(&v, &c);
	if (wrong || !used(1, 1))
		return wrong ? wrong : "what is asked for twice is not kept";
	w = sim_view(&s); /* other lines, the same keys */
	other.serial = 0;
	wrong = audit(&w, &c) ? "other lines" : audit(&v, &other);
	if (wrong || !used(1, 2))
		return wrong ? wrong : "keys of another column";
	c.keys.len = 8; /* the same bytes as other keys */
	wrong = audit(&v, &c) ? "other keys" : audit(&v, &c);
	if (wrong || !used(2, 3))
		return wrong ? wrong : "keys and digests are one";
	c.keys.len = 0;
	epf_column_forget(c.serial);
	wrong = audit(&v, &c);
	return wrong || used(2, 3) ? wrong : "what was forgotten is there";
}

/* Two filters, only one of which fits beside the column. */
static const char *without_room(void)
{
	struct sim s[2];
	struct epf_view v[2] = { filled(&s[0], 512, 0), filled(&s[1], 512, 1) };
	struct epf_column c = column_of(&s[0]);
	struct epf_gpu_use use;
	const char *wrong = NULL;
	int i;

	for (i = 0; i < 6 && !wrong; i++)
		wrong = audit(&v[i % 2], &c);
	epf_gpu_use(&use);
	return wrong || use.columns < 2 ? wrong : "it is tried again and again";
}

/* Estimates from what is on the card equal those of the CPU. */
const char *estimates(void)
{
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	struct epf_keys keys = { .data = key_bytes(&s, 800), .n = 100 };
	struct epf_estimate here, there;
	struct epf_met m[2];
	const __u64 seed = 77;
	const struct epf_probe_opts o = {
		.size = sizeof(o), .threads = 1, .keys = 5000, .seed = &seed
	};

	sim_noise(&s, 20);
	v = sim_view(&s);
	if (epf_view_estimate(&v, 1, &here) || same(&v, &keys, true) ||
	    epf_view_estimate(&v, 1, &there))
		return "no estimate";
	if (memcmp(&here, &there, sizeof(here)))
		return "estimates differ";
	if (epf_view_probe(&v, epf_engine_at(0), &o, &m[0]) ||
	    epf_view_probe(&v, cuda(), &o, &m[1]))
		return "no probe";
	return m[0].found == m[1].found && m[1].engine == cuda() && m[0].found ?
		       NULL :
		       "other keys are found";
}

/* ---- what cannot be ---- */

static const char *absurd(void)
{
	const struct epf_cuda_ops *o = ops();
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	struct epf_cuda_held *held = hold(o, &s);
	struct epf_cuda_lines lines = { v.lines, s.f.geom, { { 0 }, 0, { 0 } }, 20 };
	struct epf_cuda_answer a = { .bitmap = must(malloc(8)) };
	struct epf_cuda_keys keys[] = {
		{ s.f.line, ~0ULL, 0, 0 },        { s.f.line, 1ULL << 61, 8, 0 },
		{ s.f.line, 1ULL << 60, 256, 0 }, { s.f.line, 1, 257, 0 },
		{ s.f.line, 1, ~0u, 0 },          { NULL, 1, 0, 0 },
	};
	struct epf_cuda_column *column;
	struct epf_cuda_held *none;
	struct epf_cuda_error e;
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (o->query(held, &keys[i], &a, &e) != -EINVAL ||
		    o->load(&keys[i], 0, &column, &e) != -EINVAL || column)
			return "keys that cannot be";
	keys[0].n = 1ULL << 40;
	if (o->load(&keys[0], 0, &column, &e) != -ENOMEM || column)
		return "more keys than a card has memory for";
	lines.geom.part_lines = EPF_PART_LINES_MAX;
	if (o->hold(&lines, 0, &none, &e) != -ENOMEM || none || !*e.text)
		return "more lines than a card has memory for";
	lines.geom.part_lines = ~0ULL / 2;
	if (o->hold(&lines, 0, &none, &e) != -EINVAL)
		return "more lines than a filter has";
	lines.geom = s.f.geom;
	lines.geom.parts = 3;
	if (o->hold(&lines, 0, &none, &e) != -EINVAL)
		return "three parts";
	lines.geom = s.f.geom;
	lines.epoch = 7;
	return o->hold(&lines, 0, &none, &e) == -EINVAL ? NULL : "epoch 7";
}

static const char *other_version(void)
{
	return not_there(wrong_library, "another version");
}

static const char *no_library(void)
{
	return not_there("/nonexistent.so", "/nonexistent.so");
}

static const char *no_card(void)
{
	return not_there(getenv("EPF_CUDA_LIBRARY"), "no CUDA-capable device");
}

/* "auto" chooses it when its rates are better, and never for few keys. */
static const char *chosen(void)
{
	struct epf_rates rates[EPF_ENGINES_MAX] = { { 1e6, 1e9, 1e6 } };
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	static struct epf_choice c;
	unsigned int i = 0;

	while (epf_engine_at(i) != cuda())
		i++;
	rates[i] = (struct epf_rates){ 0, 1e6, 1e9 };
	epf_audit_choose(&c, &v, 10000, false, 1, rates);
	if (epf_engine_far(c.engine))
		return "too few, and it is taken";
	epf_audit_choose(&c, &v, 10000000, false, 1, rates);
	if (!epf_engine_far(c.engine) || !c.settle)
		return c.why;
	epf_audit_choose(&c, &v, 10000000, true, 1, NULL);
	if (epf_engine_far(c.engine))
		return "nobody measured, and it is taken";
	cuda()->rates(cuda(), &v, 1, &rates[i]);
	return rates[i].here == 0 && rates[i].carry > 0 && rates[i].there > 0 ?
		       NULL :
		       "its rates cannot be measured";
}

/* ---- copies ---- */

/* Copy in chunks so small that each copy has more than one. */
static const char *copied(const char *threads)
{
	const char *wrong;

	setenv("EPF_CUDA_THREADS", threads, 1);
	setenv("EPF_CUDA_CHUNK", "64", 1);
	wrong = shapes();
	if (!wrong)
		wrong = journals();
	return wrong ? wrong : columns();
}

static const char *copied_alone(void)
{
	return copied("1");
}

static const char *copied_by_many(void)
{
	return copied("5");
}

int main(int argc, char **argv)
{
	static const char *const seeds[] = {
		"EPF_EMU_SEED=1", "EPF_EMU_SEED=2", "EPF_EMU_SEED=3",
		"EPF_EMU_SEED=4", "EPF_EMU_SEED=5",
	};
	size_t i;

	if (argc < 2 || !getenv("EPF_CUDA_LIBRARY"))
		return 2;
	wrong_library = argv[1];
	if (argc > 2)
		only = argv[2];
	tap_plan(argc > 2 ? 0 : 2 + 2 * 5 + 3 + 18 + PROCESS_CLAIMS + DEVICES_CLAIMS);
	claim("answers are scalar's", shapes, NULL);
	claim("also with other buffers", shapes, "EPF_CUDA_BUFFER=1");
	for (i = 0; i < 5; i++) {
		claim("of any words", noise, seeds[i]);
		claim("nothing is left of what was stopped", cancelled, seeds[i]);
	}
	claim("lines are copied once for each state", once, NULL);
	claim("views in turns", turns, NULL);
	claim("a card with little memory", little_memory, "EPF_EMU_MEMORY=60000");
	claim("a card with too little", no_memory, "EPF_EMU_MEMORY=20000");
	claim("a cache with little room", once, "EPF_EMU_L2=20000");
	claim("journals bring lines on", journals, NULL);
	claim("in other orders", journals, seeds[1]);
	claim("records bring a view's lines on", trails, NULL);
	claim("columns stay on the card", columns, NULL);
	claim("in other orders", columns, seeds[2]);
	claim("copies by the caller alone", copied_alone, NULL);
	claim("copies by many threads", copied_by_many, NULL);
	claim("a column that is audited again stays", audited_again, NULL);
	claim("but where room is needed", without_room, "EPF_EMU_MEMORY=62000");
	claim("estimates, and keys made there", estimates, NULL);
	claim("absurd sizes", absurd, NULL);
	claim("when it is taken", chosen, NULL);
	claim("a library of another version", other_version, NULL);
	claim("no library", no_library, NULL);
	claim("a file that is none", no_library, NULL);
	claim("no card", no_card, "EPF_EMU_DEVICES=0");
	claim_process();
	claim_devices();
	return tap_end();
}
