// SPDX-License-Identifier: GPL-2.0
/*
 * Engine "cuda" with several devices, which the emulation has: answers are those of engine
 * scalar, whichever device gives them, also if a device fails in the middle; each device has
 * its part and its own copy of the lines; what cannot be selected is refused with a line.
 *
 * The first kernel of each device in a query waits for those of the others (emu_together()), so
 * each device has pieces on its way when one of them is lost.
 */
#include "engine.h"

#define THREE "EPF_EMU_DEVICES=3 EPF_CUDA_DEVICES=all"

static unsigned long (*kernels)(int device);
static void (*lose)(int device);
static void (*together)(int devices, int lose);

static void find_emulation(void)
{
	*(void **)&kernels = of_card("emu_kernels");
	*(void **)&lose = of_card("emu_lose");
	*(void **)&together = of_card("emu_together");
}

static struct epf_gpu_use used(void)
{
	struct epf_gpu_use use;

	epf_gpu_use(&use);
	return use;
}

/* ---- parts ---- */

/**
 * struct watch - a query that is watched
 * @before: kernels of each device before it
 * @last: keys done at the last call of the progress function
 * @back: the number of keys went back
 */
struct watch {
	unsigned long before[3];
	__u64 last;
	bool back;
};

static void begin_watch(struct watch *w)
{
	int i;

	memset(w, 0, sizeof(*w));
	for (i = 0; i < 3; i++)
		w->before[i] = kernels(i);
}

static int watch_query(void *ctx, __u64 done, __u64 all)
{
	struct watch *w = ctx;

	w->back |= done <= w->last || done > all;
	w->last = done;
	return 0;
}

static const char *watched(const struct watch *w)
{
	int i;

	if (w->back || w->last != MANY)
		return "progress does not end with all keys";
	for (i = 0; i < 3; i++)
		if (kernels(i) == w->before[i])
			return "a device has no part";
	return NULL;
}

/* Few keys are one piece, for which no thread begins. */
static const char *few_keys(void)
{
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	struct epf_keys keys = { .data = key_bytes(&s, 800), .n = 100 };
	const char *wrong;
	struct watch w;
	int i;

	if (same(&v, &keys, false))
		return "answers differ";
	find_emulation();
	begin_watch(&w);
	for (i = 0; i < 5; i++) {
		wrong = same(&v, &keys, i % 2);
		if (wrong)
			return wrong;
	}
	return kernels(1) == w.before[1] && kernels(2) == w.before[2] ? NULL :
									"more than one device";
}

/* ---- a device that fails ---- */

static const char *told_of(int device)
{
	char name[16];

	snprintf(name, sizeof(name), "device %d: ", device);
	if (used().lost != 1)
		return "the count of lost devices";
	return strncmp(epf_engine_why(cuda()), name, strlen(name)) ? epf_engine_why(cuda()) : NULL;
}

/* @x: of engine scalar */
static const char *other_than(const struct epf_answer *a, const struct epf_answer *x)
{
	if (memcmp(a->bitmap, x->bitmap, (MANY + 7) / 8))
		return "bitmaps differ";
	if (a->ages && memcmp(a->ages, x->ages, MANY))
		return "ages differ";
	if (a->present != x->present || memcmp(a->ages_of, x->ages_of, sizeof(x->ages_of)))
		return "counts differ";
	return NULL;
}

/* Every third key is, or was, in the window. */
static void put_known(const struct sim *s, unsigned char *key)
{
	__u64 i;

	for (i = 0; i < MANY; i += 3)
		memcpy(key + 8 * i, &(__u64){ sim_digest(s, 12 + i % 9, i % 100) }, 8);
}

/* A query in which each of three devices has a part; @lost: which is lost meanwhile, or -1. */
static const char *query_together(int lost, bool ages)
{
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	unsigned char *key = key_bytes(&s, MANY * 8);
	struct epf_keys keys = { .data = key, .n = MANY };
	struct epf_answer x = { .bitmap = must(calloc(1, MANY)), .ages = must(malloc(MANY)) };
	struct epf_answer a = { .bitmap = must(calloc(1, MANY)), .progress = watch_query };
	const char *wrong;
	struct watch w;

	put_known(&s, key);
	a.ages = ages ? must(malloc(MANY)) : NULL;
	if (epf_engine_at(0)->query(&v, &keys, &x) || same(&v, &keys, false))
		return "no answer";
	begin_watch(&w);
	a.ctx = &w;
	together(3, lost);
	if (cuda()->query(&v, &keys, &a))
		return epf_engine_why(cuda());
	wrong = other_than(&a, &x);
	if (!wrong && lost >= 0)
		wrong = told_of(lost);
	else if (!wrong)
		wrong = watched(&w);
	return wrong ? wrong : same(&v, &keys, ages);
}

static const char *each_has_a_part(void)
{
	const char *wrong;

	find_emulation();
	wrong = query_together(-1, true);
	if (wrong)
		return wrong;
	return used().devices == 3 && !used().lost ? NULL : "other counts of devices";
}

static const char *lost_in_query(int device, bool ages)
{
	const char *wrong;

	find_emulation();
	wrong = query_together(device, ages);
	return wrong ? wrong : told_of(device);
}

static const char *first_lost(void)
{
	return lost_in_query(0, true);
}

static const char *other_lost(void)
{
	return lost_in_query(2, false);
}

/* Whichever call of device @device is its last, the answers are right. */
static const char *lost_at(int device, int call, const struct epf_view *v,
			   const struct epf_keys *keys)
{
	char number[16];
	const char *wrong;
	int i;

	snprintf(number, sizeof(number), "%d", call);
	setenv("EPF_EMU_LOST", number, 1);
	snprintf(number, sizeof(number), "%d", device);
	setenv("EPF_EMU_FAULTY", number, 1);
	if (!cuda()->usable())
		return strstr(epf_engine_why(cuda()), "busy") ? NULL : epf_engine_why(cuda());
	for (i = 0; i < 200 && !used().lost; i++) {
		wrong = same(v, keys, i % 2);
		if (wrong)
			return wrong;
	}
	return told_of(device);
}

static const char *lost_anywhere(void)
{
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	struct epf_keys keys = { .data = key_bytes(&s, MANY * 8), .n = MANY };
	const char *wrong;
	int call, status;
	pid_t pid;

	for (call = 1; call < 160; call += 3) {
		pid = fork();
		if (!pid) {
			wrong = lost_at(call % 3, call, &v, &keys);
			if (wrong)
				fprintf(stderr, "# call %d: %s\n", call, wrong);
			_exit(wrong != NULL);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			return "a device is lost, and the answers are wrong, or nobody is told";
	}
	return NULL;
}

static const char *all_lost(void)
{
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	struct epf_keys keys = { .data = key_bytes(&s, MANY * 8), .n = MANY };
	struct epf_answer a = { .bitmap = must(malloc(MANY)) };
	int i;

	if (same(&v, &keys, true))
		return "no answer";
	find_emulation();
	for (i = 0; i < 3; i++) {
		if (!cuda()->usable())
			return "unusable too early";
		lose(i);
		if (!cuda()->query(&v, &keys, &a) != (i < 2))
			return "the last device decides";
	}
	return cuda()->usable() ? "still usable" : NULL;
}

/* ---- copies ---- */

/* Lines of each device are brought on: the next one answers when one is lost. */
static const char *copies(void)
{
	const struct epf_cuda_ops *o = ops();
	struct sim s;
	struct epf_line *there = must(calloc(256, sizeof(*there)));
	struct epf_journal_record *r = must(calloc(4096, sizeof(*r)));
	struct epf_cuda_held *held;
	struct epf_cuda_error e;
	__u64 n, i;

	filled(&s, 256, 0);
	held = hold(o, &s);
	epf_lanes_scan(&s.f, 0, 256);
	find_emulation();
	for (i = 0; i < 3; i++) {
		n = stream(&s, r, i, 40, i * 1000);
		if (o->apply(held, r, n, s.epoch, &e) || o->fetch(held, there, &e))
			return "apply fails";
		if (memcmp(there, s.f.line, 256 * sizeof(*there)))
			return "lines of a device differ";
		lose((int)i);
	}
	if (o->lost(&e) != 2) /* nobody has used the third since */
		return "the count of lost devices";
	o->release(held);
	return NULL;
}

/* ---- what is selected ---- */

static const char *no_such_device(void)
{
	return not_there(getenv("EPF_CUDA_LIBRARY"), "there is no device 3: the last is 2");
}

static const char *not_a_list(void)
{
	static const char *const lists[] = { "",
					     "0,",
					     ",0",
					     "0,0",
					     "-1",
					     "16",
					     "ALL",
					     "all,0",
					     "0 1",
					     "0x1",
					     "99999999999999999999" };
	size_t i;

	for (i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if (epf_gpu_devices(lists[i]) != -EINVAL)
			return lists[i];
	return not_there(getenv("EPF_CUDA_LIBRARY"), "EPF_CUDA_DEVICES is '1,1'");
}

/* A call takes precedence over the environment. */
static const char *named(void)
{
	static char text[EPF_WHY_LEN];

	if (epf_gpu_devices("2,0"))
		return "not taken";
	if (!epf_gpu_there(text))
		return text;
	return strstr(text, "(device 0, the first of 2)") ? NULL : "not named";
}

static const char *device_unfit(void)
{
	return not_there(getenv("EPF_CUDA_LIBRARY"), "device 1: no GPU: CUDA-capable device(s)");
}

static const char *only_one(void)
{
	static char text[EPF_WHY_LEN];
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	struct epf_keys keys = { .data = key_bytes(&s, MANY * 8), .n = MANY };
	const char *wrong = same(&v, &keys, true);

	find_emulation();
	if (wrong || kernels(1) || kernels(2))
		return wrong ? wrong : "others are used";
	if (!epf_gpu_there(text) || strstr(text, "device"))
		return text;
	return used().devices == 1 ? NULL : "the count of devices";
}

static const char *second_alone(void)
{
	struct sim s;
	struct epf_view v = filled(&s, 256, 0);
	struct epf_keys keys = { .data = key_bytes(&s, MANY * 8), .n = MANY };
	const char *wrong = same(&v, &keys, true);

	find_emulation();
	return wrong ? wrong : kernels(0) || !kernels(1) ? "another device is used" : NULL;
}

void claim_devices(void)
{
	claim("several devices: answers are scalar's", shapes, THREE);
	claim("several devices: of any words", noise, THREE " EPF_EMU_SEED=2");
	claim("several devices: of any words", noise, THREE " EPF_EMU_SEED=3");
	claim("several devices: two of three", noise, "EPF_EMU_DEVICES=3 EPF_CUDA_DEVICES=2,0");
	claim("several devices: each has a part", each_has_a_part, THREE);
	claim("several devices: few keys are for one", few_keys, THREE);
	claim("several devices: what was stopped", cancelled, THREE);
	claim("several devices: once for each state", once, THREE);
	claim("several devices: views in turns", turns, THREE);
	claim("several devices: little memory on each", little_memory,
	      THREE " EPF_EMU_MEMORY=60000");
	claim("several devices: journals", journals, THREE);
	claim("several devices: records of a view", trails, THREE);
	claim("several devices: columns", columns, THREE);
	claim("several devices: a column audited again", audited_again, THREE);
	claim("several devices: estimates", estimates, THREE);
	claim("several devices: a caller's other device", other_device, THREE);
	claim("several devices: each has its copy", copies, THREE);
	claim("the first device is lost", first_lost, THREE);
	claim("another device is lost", other_lost, THREE);
	claim("a device is lost at any call", lost_anywhere, THREE);
	claim("all devices are lost", all_lost, THREE);
	claim("no such device", no_such_device, "EPF_EMU_DEVICES=3 EPF_CUDA_DEVICES=0,3");
	claim("no list of devices", not_a_list, "EPF_EMU_DEVICES=3 EPF_CUDA_DEVICES=1,1");
	claim("devices named by a call", named, "EPF_EMU_DEVICES=3 EPF_CUDA_DEVICES=1");
	claim("a device that cannot be used", device_unfit,
	      THREE " EPF_EMU_UNFIT=46 EPF_EMU_FAULTY=1");
	claim("one device unless more are named", only_one, "EPF_EMU_DEVICES=3");
	claim("the second device alone", second_alone, "EPF_EMU_DEVICES=3 EPF_CUDA_DEVICES=1");
}
