// SPDX-License-Identifier: GPL-2.0
/*
 * The machine: memory, threads, grace periods. See machine.h.
 */
#include "machine.h"
#include "laws.h"
#include "scene.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct mc_machine mc;
struct mc_world mc_world;
struct mc_noted mc_noted;
__u32 mc_tag_shift = EPF_LANE_BITS;

static struct mc_answer logs[MC_THREADS][MC_LOG];

/* The thread whose function is replayed over its log. -1: none, and memory accesses are
 * plain. The function runs on a stack of its own.
 */
#define STACK_BYTES 65536
#define STACK_CLEAN 8192 /* upper bound of what a function uses, in bytes */

static struct {
	int thread;
	int at;
	jmp_buf in, out;
	char *base; /* bottom of the stack: the frame of replay_main */
	char *top;  /* of the part that a function uses */
} replay = { .thread = -1 };

static char stack[STACK_BYTES] __attribute__((aligned(64)));

/* The finalizer of SplitMix64. */
__u64 mc_mix(__u64 x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static __u64 hash_bytes(__u64 h, const void *p, size_t len)
{
	return mc_mix(h ^ XXH3_64bits(p, len));
}

static void die(const char *what)
{
	fprintf(stderr, "explore: too small: %s\n", what);
	exit(2);
}

/* ---- words ---- */

long mc_word(const void *p)
{
	return (const __u64 *)p - (const __u64 *)&mc_world;
}

static __u64 *plain(long word)
{
	return (__u64 *)&mc_world + word;
}

bool mc_is_count(long word)
{
	return word == mc_word(&mc_world.table[0].state.count) ||
	       word == mc_word(&mc_world.table[1].state.count);
}

/* Is it of the ring of a table of lanes? */
bool mc_in_ring(long word)
{
	long at = word - mc_word(mc_world.table[0].state.ring);
	long size = sizeof(struct mc_table) / sizeof(__u64);
	long ring = sizeof(mc_world.table[0].state.ring) / (sizeof(__u64));

	return at >= 0 && at < MC_TABLES * size && at % size < ring;
}

/* Do the properties read this word, even if only one thread accesses it? */
static bool watched(int word)
{
	int size = sizeof(struct mc_table) / sizeof(__u64);

	if (!mc.scene->elastic && mc_in_ring(word))
		return mc.scene->dates;
	return word < MC_TABLES * size && !mc_is_count(word);
}

/* Note that thread @t uses @word. A word that is written and not private to a thread is
 * shared; accesses to other words are no steps.
 */
static void note_use(int word, int t, bool writes)
{
	mc.users[word] |= 1 << t;
	mc.written[word] |= writes;
	if (mc.word_id[word] >= 0 || !mc.written[word])
		return;
	if (!watched(word) && !(mc.users[word] & (mc.users[word] - 1)))
		return;
	if (mc.nr_words == MC_WORDS)
		die("MC_WORDS");
	mc.word_id[word] = mc.nr_words;
	mc.word_at[mc.nr_words++] = word;
	mc.reshape = true;
}

__u64 mc_newest(const __u64 *p)
{
	int id = mc.word_id[mc_word(p)];

	if (id < 0)
		return *((const __u64 *)&mc.first + mc_word(p));
	return mc.value[id][mc.nr_values[id] - 1].value;
}

__u64 *mc_epoch_word(int table)
{
	return mc.scene->elastic ? &mc_world.elastic.f.phase : &mc_world.table[table].state.epoch;
}

static int epoch_id(int table)
{
	return mc.word_id[mc_word(mc_epoch_word(table))];
}

int mc_epoch_index(int table)
{
	int id = epoch_id(table);

	return id < 0 ? 0 : mc.nr_values[id] - 1;
}

__u64 mc_epoch_value(int table, int index)
{
	int id = epoch_id(table);

	return id < 0 ? mc_newest(mc_epoch_word(table)) : mc.value[id][index].value;
}

/* The table of which @word is the epoch; -1: none. */
int mc_epoch_of(long word)
{
	int table;

	for (table = 0; table < MC_TABLES; table++)
		if (word == mc_word(mc_epoch_word(table)))
			return table;
	return -1;
}

/* ---- views ---- */

static void join_epochs(struct mc_know *to, const struct mc_know *from)
{
	int i;

	for (i = 0; i < MC_TABLES; i++)
		if (to->epoch[i] < from->epoch[i])
			to->epoch[i] = from->epoch[i];
}

static void join(struct mc_know *to, const struct mc_know *from)
{
	int i;

	for (i = 0; i < MC_WORDS; i++)
		if (to->at[i] < from->at[i])
			to->at[i] = from->at[i];
	join_epochs(to, from);
}

static void epochs_now(struct mc_know *k)
{
	int i;

	for (i = 0; i < MC_TABLES; i++)
		k->epoch[i] = (__u8)mc_epoch_index(i);
}

/* Give the view of thread @t to @to; the next function takes it over from @from. */
static void join_from(struct mc_know *to, int t)
{
	if (mc.model != MC_SC)
		join(to, &mc.thread[t].know);
}

static void join_to(int t, const struct mc_know *from)
{
	if (mc.model != MC_SC)
		join(&mc.thread[t].know, from);
}

/* ---- the core's primitives, as steps ---- */

static void remember(const struct mc_op *op, const struct mc_answer *a)
{
	if (op->kind == MC_STORE)
		*plain(op->word) = op->value;
	else if (op->kind == MC_OR)
		*plain(op->word) = a->value | op->value;
	else if (op->kind == MC_ADD)
		*plain(op->word) = a->value + op->value;
	else if (op->kind == MC_CAS && a->good)
		*plain(op->word) = op->value;
}

/* An access to a word that only this thread needs. */
static struct mc_answer private_step(const struct mc_op *op)
{
	struct mc_answer a = { *plain(op->word), true };

	if (op->kind == MC_CAS)
		a.good = a.value == op->old;
	remember(op, &a);
	return a;
}

/* The function has reached a step that is not in its log. What it does from here on
 * depends on its stack, on the registers that a call preserves, and on its private
 * words. The hash of these identifies its state.
 */
static void pause_at(const struct mc_op *op)
{
	struct mc_thread *t = &mc.thread[replay.thread];
	const char *low = (const char *)__builtin_frame_address(0);
	jmp_buf registers;

	t->op = *op;
	_setjmp(registers);
	t->hash = hash_bytes((__u64)op->kind, registers[0].__jmpbuf, sizeof(registers[0].__jmpbuf));
	t->hash = hash_bytes(t->hash, low, (size_t)(replay.base - low));
	t->hash = hash_bytes(t->hash, &mc_noted, sizeof(mc_noted));
	t->hash = hash_bytes(t->hash, &mc_world, sizeof(mc_world));
	_longjmp(replay.out, 1);
}

static struct mc_answer step(const struct mc_op *op)
{
	struct mc_thread *t = &mc.thread[replay.thread];
	const struct mc_answer *a;

	if (op->kind <= MC_CAS) {
		note_use(op->word, replay.thread, op->kind >= MC_STORE);
		if (mc.word_id[op->word] < 0)
			return private_step(op);
	}
	if (replay.at == t->log)
		pause_at(op);
	a = &logs[replay.thread][replay.at++];
	if (op->kind <= MC_CAS)
		remember(op, a);
	return *a;
}

/* The thread whose function runs; -1: none, and memory accesses are plain. */
int mc_running(void)
{
	return replay.thread;
}

/* Is the word on the function's own stack? */
static bool on_stack(long word)
{
	const char *p = (const char *)plain(word);

	return p >= stack && p < stack + STACK_BYTES;
}

/**
 * mc_access() - access a word; a step if a thread runs and the word is shared memory
 * @op: MC_LOAD .. MC_CAS
 */
struct mc_answer mc_access(const struct mc_op *op)
{
	if (replay.thread < 0 || on_stack(op->word))
		return private_step(op);
	if (op->word < 0 || op->word >= MC_WORLD_WORDS)
		die("struct mc_world");
	return step(op);
}

/* ---- other steps of the threads' programs ---- */

__u64 mc_do(enum mc_kind kind, __u64 value)
{
	struct mc_op op = { .kind = kind, .value = value, .where = "" };

	return step(&op).value;
}

void mc_note(enum mc_note note, int key, int table, int verdict, __u64 e)
{
	struct mc_op op = {
		.kind = MC_NOTE,
		.value = note,
		.old = e,
		.key = key,
		.table = table,
		.verdict = verdict,
		.where = "",
	};

	step(&op);
}

static __attribute__((noinline)) void replay_mark(void)
{
	replay.top = (char *)__builtin_frame_address(0);
}

/* The bottom of the stack on which functions run. */
static void replay_main(void)
{
	replay.base = (char *)__builtin_frame_address(0);
	replay_mark();
	if (_setjmp(replay.in)) {
		scene_thread(replay.thread);
		mc.thread[replay.thread].over = true;
	}
	_longjmp(replay.out, 1);
}

static void replay_init(void)
{
	static ucontext_t context;

	getcontext(&context);
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = sizeof(stack);
	makecontext(&context, replay_main, 0);
	if (_setjmp(replay.out) == 0)
		setcontext(&context);
}

/* Find the next step of thread @t. */
static void look_ahead(int t)
{
	if (!replay.top)
		replay_init();
	replay.thread = t;
	replay.at = 0;
	memset(&mc_noted, 0, sizeof(mc_noted));
	mc_world = mc.first;
	mc.thread[t].hash = 0;
	memset(replay.top - STACK_CLEAN, 0, STACK_CLEAN);
	if (_setjmp(replay.out) == 0)
		_longjmp(replay.in, 1);
	replay.thread = -1;
}

/* ---- steps ---- */

/**
 * mc_begin() - set up the state before the first step of mc.scene
 */
void mc_begin(void)
{
	int i, t;

	mc.broke = NULL;
	mc.reshape = false;
	mc.hash = 0;
	memset(&mc.sync, 0, sizeof(mc.sync));
	memset(&mc.ghost, 0, sizeof(mc.ghost));
	memset(mc.thread, 0, sizeof(mc.thread));
	for (i = 0; i < mc.nr_words; i++) {
		mc.nr_values[i] = 1;
		memset(&mc.value[i][0], 0, sizeof(mc.value[i][0]));
		mc.value[i][0].value = *((const __u64 *)&mc.first + mc.word_at[i]);
	}
	mc.awaited = scene_awaited(mc.scene);
	for (t = 0; t < scene_threads(mc.scene); t++)
		look_ahead(t);
	for (; t < MC_THREADS; t++)
		mc.thread[t].over = true;
}

static bool grace_over(int slot)
{
	int i;

	for (i = 0; i < MC_THREADS; i++)
		if (mc.sync.waits[slot][i] && mc.sync.waits[slot][i] == mc.thread[i].section)
			return false;
	return true;
}

/* Can thread @t take its next step? */
bool mc_enabled(int t)
{
	const struct mc_thread *th = &mc.thread[t];
	__u8 choice[MC_VALUES + 1];
	int i;

	if (th->over)
		return false;
	switch (th->op.kind) {
	case MC_LOAD:
	case MC_ACQUIRE:
		return !th->op.without || mc_choices(t, choice);
	case MC_LOCK:
		return !mc.sync.holder;
	case MC_GRACE_WAIT:
		return grace_over((int)th->op.value);
	case MC_AWAIT:
		for (i = 0; i < MC_THREADS; i++)
			if (th->op.value >> i & 1 && !mc.thread[i].over)
				return false;
		return true;
	default:
		return true;
	}
}

/* Index of the oldest value that the load of thread @t may return. */
static int oldest(const struct mc_thread *t, int id)
{
	int table = mc_epoch_of(t->op.word);
	int first = t->know.at[id];

	if (t->op.kind == MC_ORDERED && t->op.order && table >= 0 && first < t->know.epoch[table])
		first = t->know.epoch[table];
	if (t->op.depends && first < t->dated.at[id])
		first = t->dated.at[id];
	if (t->op.later && first < t->loaded.at[id])
		first = t->loaded.at[id];
	return first;
}

/**
 * mc_choices() - list what the next step of an enabled thread may return
 * @t: thread
 * @choice: set
 *
 * Return: number of choices.
 */
int mc_choices(int t, __u8 choice[MC_VALUES + 1])
{
	const struct mc_thread *th = &mc.thread[t];
	int id, last, i, n = 0;

	if (th->op.kind > MC_CAS || th->op.kind == MC_STORE || th->op.kind == MC_OR ||
	    th->op.kind == MC_ADD) {
		choice[0] = MC_SUCCESS;
		return 1;
	}
	id = mc.word_id[th->op.word];
	last = mc.nr_values[id] - 1;
	if (th->op.kind == MC_CAS && mc.value[id][last].value == th->op.old)
		choice[n++] = MC_SUCCESS;
	if (mc.model == MC_SC && n)
		return n;
	for (i = mc.model == MC_SC ? last : oldest(th, id); i <= last; i++)
		if (th->op.kind == MC_CAS ? mc.value[id][i].value != th->op.old :
					    !(mc.value[id][i].value & th->op.without))
			choice[n++] = (__u8)i;
	return n;
}

static void load_in_bpf(struct mc_thread *t, const struct mc_value *v)
{
	join_epochs(&t->know, &v->know);
	if (mc_epoch_of(t->op.word) >= 0 && !(mc.out & MC_RLX_BEGIN))
		t->dated = v->know;
}

/* By a thread that calls epf_state_since(), where loads depend on the epoch and the table. */
static void load_dated(struct mc_thread *t, const struct mc_value *v)
{
	join(&t->loaded, &v->know);
	if (t->op.later)
		join(&t->know, &t->loaded);
	if (mc_epoch_of(t->op.word) >= 0 || t->op.word == mc_word(&mc_world.handle[0]))
		join(&t->dated, &v->know);
}

static struct mc_answer do_load(int t, int id, int index)
{
	struct mc_thread *th = &mc.thread[t];
	const struct mc_value *v = &mc.value[id][index];
	struct mc_answer a = { v->value, th->op.kind != MC_CAS };

	law_load(th->op.word, a.value);
	if (mc.model == MC_SC)
		return a;
	th->know.at[id] = (__u8)index;
	if (th->op.kind == MC_ACQUIRE && th->op.order)
		join(&th->know, &v->know);
	else if (mc.scene->bpf && !scene_asks_since(t))
		load_in_bpf(th, v);
	if (scene_asks_since(t))
		load_dated(th, v);
	return a;
}

static void append(int id, __u64 value, const struct mc_know *know)
{
	int n = mc.nr_values[id];
	struct mc_value *v = &mc.value[id][n];

	if (n == MC_VALUES)
		die("MC_VALUES");
	memset(v, 0, sizeof(*v));
	v->value = value;
	if (mc.model != MC_SC)
		v->know = *know;
	mc.nr_values[id]++;
	mc.hash += hash_bytes((__u64)id << 32 | n, v, sizeof(*v));
}

/* The new value of the word. */
static __u64 written(const struct mc_op *op, __u64 old)
{
	if (op->kind == MC_OR)
		return old | op->value;
	return op->kind == MC_ADD ? old + op->value : op->value;
}

static struct mc_answer do_write(int t, int id)
{
	struct mc_thread *th = &mc.thread[t];
	int last = mc.nr_values[id] - 1;
	const struct mc_value *old = &mc.value[id][last];
	struct mc_answer a = { old->value, true };
	bool rmw = th->op.kind != MC_STORE;
	struct mc_know know;

	if (rmw && th->op.order)
		join_to(t, &old->know);
	if (mc.model != MC_SC)
		th->know.at[id] = (__u8)(last + 1);
	if (th->op.order) {
		know = th->know;
	} else {
		memset(&know, 0, sizeof(know));
		know.at[id] = th->know.at[id];
	}
	if (rmw)
		join(&know, &old->know); /* a release sequence continues */
	if (rmw || !mc.scene->elastic)
		epochs_now(&know);
	append(id, written(&th->op, a.value), &know);
	if (rmw && (th->op.order || th->op.awaited) && mc.model != MC_SC)
		epochs_now(&th->know);
	return a;
}

static struct mc_answer do_memory(int t, __u8 choice)
{
	struct mc_thread *th = &mc.thread[t];
	int id = mc.word_id[th->op.word];

	law_access(th->op.word);
	if (choice != MC_SUCCESS)
		return do_load(t, id, choice);
	return do_write(t, id);
}

static void start_grace(int slot)
{
	int i;

	for (i = 0; i < MC_THREADS; i++)
		mc.sync.waits[slot][i] = mc.thread[i].section;
}

static bool take_lock(int t)
{
	if (mc.sync.holder)
		return false;
	mc.sync.holder = (__u8)(t + 1);
	join_to(t, &mc.sync.unlocked);
	return true;
}

static struct mc_answer do_section(int t)
{
	struct mc_thread *th = &mc.thread[t];
	int slot = (int)th->op.value;
	struct mc_answer a = { 0, true };

	switch (th->op.kind) {
	case MC_ENTER:
		th->section = ++th->sections;
		join_to(t, &mc.sync.started);
		break;
	case MC_LEAVE:
		th->section = 0;
		join_from(&mc.sync.left, t);
		break;
	case MC_GRACE_START:
		start_grace(slot);
		join_from(&mc.sync.started, t);
		break;
	default:
		a.value = grace_over(slot);
		if (a.value)
			join_to(t, &mc.sync.left);
		break;
	}
	return a;
}

/* From now on all accesses to @table are steps. */
static void free_table(int t, int table)
{
	int word = mc_word(&mc_world.table[table]);
	int end = mc_word(&mc_world.table[table] + 1);

	mc.sync.freed |= 1 << table;
	for (; word < end; word++)
		if (mc.users[word] & ~(1 << t))
			note_use(word, t, true);
}

static struct mc_answer do_other(int t)
{
	const struct mc_op *op = &mc.thread[t].op;
	struct mc_answer a = { 0, true };
	int i;

	switch (op->kind) {
	case MC_LOCK:
	case MC_TRYLOCK:
		a.value = take_lock(t);
		if (a.value)
			a.value = mc_epoch_value(0, mc_epoch_index(0));
		break;
	case MC_UNLOCK:
		mc.sync.holder = 0;
		join_from(&mc.sync.unlocked, t);
		break;
	case MC_AWAIT:
		for (i = 0; i < MC_THREADS; i++)
			if (op->value >> i & 1)
				join_to(t, &mc.thread[i].know);
		break;
	case MC_FENCE:
		join_to(t, &mc.sync.fenced);
		join_from(&mc.sync.fenced, t);
		break;
	case MC_NOTE:
		a.value = op->value == MC_STARTS;
		law_note(t, op);
		break;
	case MC_FREE:
		free_table(t, (int)op->value);
		break;
	default:
		return do_section(t);
	}
	return a;
}

/**
 * mc_step() - take the next step of a thread
 * @t: enabled
 * @choice: one of mc_choices()
 *
 * Return: the result of the step.
 */
struct mc_answer mc_step(int t, __u8 choice)
{
	struct mc_thread *th = &mc.thread[t];
	bool memory = th->op.kind <= MC_CAS;
	struct mc_answer a = memory ? do_memory(t, choice) : do_other(t);

	if (th->log == MC_LOG)
		die("MC_LOG");
	logs[t][th->log++] = a;
	if (memory && choice == MC_SUCCESS)
		law_write(th->op.word);
	look_ahead(t);
	return a;
}

void mc_save(int t, struct mc_saved *s)
{
	const struct mc_thread *th = &mc.thread[t];

	s->thread = *th;
	s->sync = mc.sync;
	s->ghost = mc.ghost;
	s->hash = mc.hash;
	if (th->op.kind <= MC_CAS)
		s->nr_values = mc.nr_values[mc.word_id[th->op.word]];
}

void mc_undo(int t, const struct mc_saved *s)
{
	mc.thread[t] = s->thread;
	mc.sync = s->sync;
	mc.ghost = s->ghost;
	mc.hash = s->hash;
	if (s->thread.op.kind <= MC_CAS)
		mc.nr_values[mc.word_id[s->thread.op.word]] = s->nr_values;
}

/* Steps that need not be delayed: other threads can only do more after them. */
static bool is_eager(const struct mc_op *op)
{
	return op->kind == MC_LEAVE || op->kind == MC_UNLOCK ||
	       (op->kind == MC_NOTE && op->value != MC_STARTS);
}

/**
 * mc_goes_on() - must thread @t take the next step, too?
 * @t: thread that took a step
 * @done: kind of that step
 *
 * In MC_WEAK a load may return old values, so it may as well be performed later: right
 * before the thread's next write, note or end. No other thread needs to run in between.
 */
bool mc_goes_on(int t, enum mc_kind done)
{
	const struct mc_thread *th = &mc.thread[t];

	if (th->over)
		return false;
	if (is_eager(&th->op) || done == MC_AWAIT)
		return true;
	if (done == MC_NOTE)
		return logs[t][th->log - 1].value;
	return mc.model != MC_SC && done <= MC_ORDERED;
}

/* Hash of everything that future steps and properties depend on. */
__u64 mc_fingerprint(void)
{
	__u64 h = hash_bytes(mc.hash, &mc.sync, sizeof(mc.sync));
	int t;

	h = hash_bytes(h, &mc.ghost, sizeof(mc.ghost));
	for (t = 0; t < MC_THREADS; t++) {
		const struct mc_thread *th = &mc.thread[t];

		h = mc_mix(h ^ th->hash) + th->over;
		if (!th->over || mc.awaited >> t & 1)
			h = hash_bytes(h, &th->know, sizeof(th->know) + 2);
		if (mc.scene->bpf || mc.scene->dates)
			h = hash_bytes(h, &th->dated, sizeof(th->dated));
		if (mc.scene->dates)
			h = hash_bytes(h, &th->loaded, sizeof(th->loaded));
	}
	return h;
}
