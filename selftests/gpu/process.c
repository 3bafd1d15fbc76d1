// SPDX-License-Identifier: GPL-2.0
/*
 * What engine "cuda" guarantees to its process: the thread's device and context and the
 * process's limits stay unchanged, a forked child is refused, memory is not allocated
 * repeatedly, errors carry the runtime's text, and an unusable card differs from one
 * that is not ready yet.
 */
#include "engine.h"

/* A function of the emulation, which has one device per thread. */
static int (*get_device)(int *device);
static int (*set_device)(int device);

/* A function of the driver interface; one context per thread. */
static int (*get_context)(void **context);
static int (*set_context)(void *context);

void *of_card(const char *function)
{
	void *lib = dlopen(getenv("EPF_CUDA_LIBRARY"), RTLD_NOW);

	return must(dlsym(must(lib), function));
}

/* Is device 1, or its context, no longer current? */
static bool moved(void)
{
	void *context;
	int device = -1;

	return get_device(&device) || device != 1 || get_context(&context) || (size_t)context != 2;
}

/* A program that uses a device other than the engine's. */
const char *other_device(void)
{
	const struct epf_cuda_ops *o = ops();
	__u64 *nr = must(calloc(4 * 8 * 64, sizeof(*nr))), found;
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	struct epf_line *there = must(calloc(256, sizeof(*there)));
	struct epf_keys keys = { .data = key_bytes(&s, MANY * 8), .n = MANY };
	struct epf_cuda_keys k = { keys.data, MANY, 0, 0 };
	struct epf_cuda_answer a = { .bitmap = must(calloc(1, MANY)) };
	struct epf_cuda_column *column;
	struct epf_cuda_held *held;
	struct epf_cuda_error e;

	*(void **)&get_device = of_card("cudaGetDevice");
	*(void **)&set_device = of_card("cudaSetDevice");
	*(void **)&get_context = of_card("cuCtxGetCurrent");
	if (same(&v, &keys, true) || set_device(1))
		return "no second device";
	held = hold(o, &s);
	if (moved() || o->load(&k, 0, &column, &e) || moved() || o->query(held, &k, &a, &e) ||
	    moved() || o->query_column(held, column, 0, MANY, &a, &e) || moved() ||
	    o->tally(held, nr, &e) || moved() || o->chance(held, 1, 100, &found, &e) || moved() ||
	    o->apply(held, NULL, 0, s.epoch + 1, &e) || moved() || o->fetch(held, there, &e) ||
	    moved())
		return "a function fails, or the device is another one";
	o->release(held);
	if (moved())
		return "another device after release()";
	o->unload(column);
	return moved() ? "another device after unload()" : same(&v, &keys, true);
}

/* A program with its own context on the card, or without one. */
static const char *own_context(void)
{
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	struct epf_keys keys = { .data = key_bytes(&s, 800), .n = 100 };
	void *own[] = { (void *)77, NULL }, *now;
	int i;

	*(void **)&get_context = of_card("cuCtxGetCurrent");
	*(void **)&set_context = of_card("cuCtxSetCurrent");
	for (i = 0; i < 2; i++) {
		if (set_context(own[i]) || same(&v, &keys, true))
			return "no answer";
		if (get_context(&now) || now != own[i])
			return "it is left with another context";
	}
	return NULL;
}

/* ---- what the process shares with others ---- */

static const char *limit_restored(void)
{
	const struct epf_cuda_ops *o = ops();
	int (*get_limit)(size_t * value, int limit);
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	struct epf_cuda_held *held = hold(o, &s);
	struct epf_cuda_keys keys = { key_bytes(&s, 800), 100, 0, 0 };
	struct epf_cuda_answer a = { .bitmap = must(malloc(100)) };
	struct epf_cuda_error e;
	size_t during = 0, after = 1;

	(void)v;
	*(void **)&get_limit = of_card("cudaDeviceGetLimit");
	if (o->query(held, &keys, &a, &e) || get_limit(&during, 6))
		return "no answer";
	o->release(held);
	if (get_limit(&after, 6) || after)
		return "the process is left with another limit";
	return during == 256 * EPF_LINE_BYTES ? NULL : "the cache keeps nothing";
}

/* The card belongs to the parent: a child gets an error, frees what it has, and does no
 * harm.
 */
static const char *in_child(const struct epf_cuda_ops *o, struct epf_cuda_held *held,
			    const struct epf_cuda_keys *keys, struct epf_cuda_answer *a)
{
	struct epf_cuda_devices devices;
	struct epf_cuda_error e = { "" };
	__u64 found;

	if (o->query(held, keys, a, &e) != -ENODEV || !strstr(e.text, "forked"))
		return "the child asks";
	if (o->probe(0, &devices, &e) != -ENODEV || o->chance(held, 1, 1, &found, &e) != -ENODEV)
		return "the child uses the card";
	o->release(held);
	return NULL;
}

static const char *forked(void)
{
	const struct epf_cuda_ops *o = ops();
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	struct epf_cuda_held *held = hold(o, &s);
	struct epf_cuda_keys keys = { key_bytes(&s, 800), 100, 0, 0 };
	struct epf_cuda_answer a = { .bitmap = must(malloc(100)) };
	struct epf_cuda_error e;
	int status;
	pid_t pid;

	(void)v;
	if (o->query(held, &keys, &a, &e))
		return "no answer";
	pid = fork();
	if (!pid)
		_exit(in_child(o, held, &keys, &a) != NULL);
	if (waitpid(pid, &status, 0) != pid || status)
		return "the child uses the card, or dies";
	return o->query(held, &keys, &a, &e) ? "the parent cannot go on" : NULL;
}

/* Memory is not allocated for each batch, because freeing it waits for the card. */
static const char *scratch_stays(void)
{
	const struct epf_cuda_ops *o = ops();
	unsigned long (*mallocs)(void), before = 0;
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	struct epf_journal_record *r = must(calloc(4096, sizeof(*r)));
	__u64 *nr = must(calloc(4 * 8 * 64, sizeof(*nr))), n, found;
	struct epf_cuda_held *held = hold(o, &s);
	struct epf_cuda_error e;
	int i;

	(void)v;
	*(void **)&mallocs = of_card("emu_mallocs");
	for (i = 0; i < 4; i++) {
		if (i == 1)
			before = mallocs();
		n = stream(&s, r, 1, 300 - (__u64)i * 50, (__u64)i * 1000);
		if (o->apply(held, r, n, s.epoch, &e) || o->tally(held, nr, &e) ||
		    o->chance(held, 1, 10, &found, &e))
			return "a function fails";
	}
	return mallocs() == before ? NULL : "it is taken for each";
}

/* ---- pieces ---- */

static int count_pieces(void *ctx, __u64 done, __u64 all)
{
	++*(unsigned int *)ctx;
	return 0;
}

/* A query that would fit one buffer is cut, or else nothing would overlap. */
static const char *pieces(void)
{
	const __u64 numbers[] = { 1, 65536, 65537, 1 << 20 };
	const unsigned int least[] = { 1, 1, 2, 16 };
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	struct epf_answer a = { .bitmap = must(malloc(1 << 17)), .progress = count_pieces };
	const void *key = key_bytes(&s, 8 << 20);
	unsigned int nr, i;

	a.ctx = &nr;
	for (i = 0; i < 4; i++) {
		struct epf_keys keys = { .data = key, .n = numbers[i] };

		nr = 0;
		if (cuda()->query(&v, &keys, &a))
			return epf_engine_why(cuda());
		if (nr != least[i])
			return "other pieces";
	}
	return NULL;
}

/* Pinned keys of the caller, from any offset, are not copied to other pinned memory
 * first; partly pinned keys are.
 */
static const char *pinned_keys(void)
{
	int (*pin)(void *p, size_t bytes, unsigned int flags);
	const char *wrong = NULL;
	unsigned char *key;
	struct epf_view v;
	struct sim s;
	__u32 i;

	sim_init(&s, 256, 1, 6, 0);
	s.epoch = EPOCH;
	key = key_bytes(&s, 2 * MANY * 8);
	for (i = 0; i < MANY; i++)
		sim_insert(&s, epf_get_le64(key + 16 * i + i % 3));
	v = sim_view(&s);
	*(void **)&pin = of_card("cudaHostRegister");
	if (pin(key, MANY * 8, 0))
		return "not pinned";
	for (i = 0; i < 3 && !wrong; i++) {
		struct epf_keys in = { .data = key + i, .n = MANY - 1 };
		struct epf_keys half = { .data = key + i, .n = MANY + 1 };

		wrong = same(&v, &in, i % 2);
		if (!wrong)
			wrong = same(&v, &half, i % 2);
	}
	return wrong;
}

/* A card that reports only at first use that it is unusable. */
static const char *unfit(void)
{
	return not_there(getenv("EPF_CUDA_LIBRARY"), "busy or unavailable");
}

/* It is tried again when asked for later, but not before some time has passed. */
static const char *ready_later(void)
{
	int i;

	setenv("EPF_CUDA_RETRY_MS", "100000000", 1);
	for (i = 0; i < 10; i++)
		if (cuda()->usable())
			return "probed too early";
	return strstr(epf_engine_why(cuda()), "not ready yet") ? NULL : epf_engine_why(cuda());
}

static const char *ready_again(void)
{
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	struct epf_keys keys = { .data = key_bytes(&s, 800), .n = 100 };
	int i;

	setenv("EPF_CUDA_RETRY_MS", "0", 1);
	for (i = 0; i < 10 && !cuda()->usable(); i++)
		;
	return i == 0 ? "usable at once" : i == 10 ? "never" : same(&v, &keys, true);
}

enum end { TOLD, SILENT, NOT_REACHED, PASSED };

/* Return: the message of apply() when its call @nr fails. */
static enum end fail_call(int nr, struct sim *s)
{
	const struct epf_cuda_ops *o;
	struct epf_cuda_lines lines = { s->f.line, s->f.geom, { { 0 }, 0, { 0 } }, s->epoch };
	struct epf_cuda_held *held;
	struct epf_cuda_error e = { "" };
	char text[16];

	snprintf(text, sizeof(text), "%d", nr);
	setenv("EPF_EMU_FAIL", text, 1);
	o = ops();
	if (o->hold(&lines, 0, &held, &e))
		return NOT_REACHED;
	if (!o->apply(held, NULL, 0, s->epoch, &e))
		return PASSED;
	return strstr(e.text, "uncorrectable") ? TOLD : SILENT;
}

/* Whichever call of apply() fails, the text is the runtime's. */
static const char *told(void)
{
	int nr, status, reached = 0;
	struct epf_view v;
	struct sim s;
	pid_t pid;

	v = filled(&s, 256, 0);
	(void)v;
	for (nr = 1; nr < 200; nr++) {
		pid = fork();
		if (!pid)
			_exit(fail_call(nr, &s));
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) == SILENT)
			return "a call fails, and its error is not told";
		if (WEXITSTATUS(status) == PASSED && reached)
			return NULL; /* after the last call */
		reached += WEXITSTATUS(status) == TOLD;
	}
	return "no call of apply() fails";
}

void claim_process(void)
{
	claim("a caller's other device", other_device, "EPF_EMU_DEVICES=2");
	claim("a caller's own context", own_context, NULL);
	claim("a limit of the process", limit_restored, NULL);
	claim("a forked child", forked, NULL);
	claim("scratch stays on the card", scratch_stays, NULL);
	claim("a question is cut into pieces", pieces, "EPF_CUDA_BUFFER=33554432");
	claim("keys in pinned memory", pinned_keys, NULL);
	claim("the runtime's own words", told, "EPF_EMU_ERROR=214");
	claim("a card that cannot be used", unfit, "EPF_EMU_UNFIT=46");
	claim("a card that is not ready waits", ready_later, "EPF_EMU_NOT_READY=1");
	claim("and is used when it is", ready_again, "EPF_EMU_NOT_READY=3");
}
