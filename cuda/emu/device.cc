// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The emulation's device: one block at a time, its threads as fibers of the
 * host thread that runs the kernel. See emu.h.
 *
 * Only one fiber runs at a time, until it has to wait or pauses. A fiber that
 * ends its kernel waits for the next block, so each lives as long as its host
 * thread.
 */
#include "emu.h"
#include "fiber.h"

#include <stdio.h>

enum fiber_state {
	FIBER_READY,
	FIBER_IN_WARP, /* waits for other threads of its warp */
	FIBER_IN_BLOCK,
	FIBER_DONE,
};

/**
 * struct fiber - a thread of the block
 * @here: its place in block and grid
 * @stack: its own stack
 * @state: a running fiber is FIBER_READY
 * @value: what it contributes to a warp operation
 * @from: the thread of the warp whose value it asks for
 * @result: what the operation returns
 */
struct fiber {
	struct emu_place here;
	fiber_context context;
	char *stack;
	void *fake; /* state of the sanitizer */
	enum fiber_state state;
	unsigned long long value;
	unsigned int from;
	unsigned long long result;
};

/**
 * struct meeting - a warp operation under way
 * @came: bit mask of threads that wait; 0: there is no operation
 */
struct meeting {
	enum emu_meeting what;
	unsigned int mask;
	unsigned int came;
};

/**
 * struct warp - the operations of a warp; their masks do not overlap
 * @of: by the lowest thread of their masks
 * @begun: bit mask of those that are under way
 */
struct warp {
	struct meeting of[EMU_WARP];
	unsigned int begun;
};

/**
 * struct card - state of a host thread that runs kernels
 * @runs: kernels so far; the order differs in each
 * @ready: numbers of the fibers that may run, except the running one
 * @in_block: number of fibers that wait for the block
 * @now: the running fiber; NULL: the host thread, on its own stack
 * @left: the fiber that ran before it, or NULL likewise
 * @home, @fake, @bottom, @bytes: the host thread's stack
 */
struct card {
	struct fiber fiber[EMU_THREADS_MAX];
	struct warp warp[EMU_THREADS_MAX / EMU_WARP];
	unsigned int ready[EMU_THREADS_MAX];
	unsigned int nr_ready, nr_done, in_block, threads;
	const std::function<void()> *kernel;
	unsigned long long random, runs;
	struct fiber *now, *left;
	fiber_context home;
	void *fake;
	const void *bottom;
	size_t bytes;
};

struct owner {
	struct card *card;
	~owner()
	{
		unsigned int i;

		for (i = 0; card && i < EMU_THREADS_MAX; i++)
			if (card->fiber[i].stack)
				fiber_stack_free(card->fiber[i].stack);
		free(card);
	}
};

static thread_local struct owner mine;
static unsigned long long seed;

static const char *const meeting_name[] = { "ballot", "shuffle", "syncwarp" };

void emu_seed(unsigned long long s)
{
	__atomic_store_n(&seed, s, __ATOMIC_RELAXED);
}

/* Xorshift (Marsaglia, "Xorshift RNGs", 2003); @below is small. */
static unsigned int draw(struct card *c, unsigned int below)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return (unsigned int)((c->random >> 32) * below >> 32);
}

/* ---- switching ---- */

/* Finish a switch, on the stack of the fiber that runs now. */
static void arrive(struct card *c)
{
	const void *bottom = NULL;
	size_t bytes = 0;

	__sanitizer_finish_switch_fiber(c->now ? c->now->fake : c->fake, &bottom, &bytes);
	if (!c->left) {
		c->bottom = bottom;
		c->bytes = bytes;
	}
}

static void go(struct card *c, struct fiber *to)
{
	struct fiber *from = c->now;

	if (to == from)
		return;
	c->left = from;
	c->now = to;
	__sanitizer_start_switch_fiber(from ? &from->fake : &c->fake, to ? to->stack : c->bottom,
				       to ? (size_t)FIBER_STACK : c->bytes);
	emu_exchange(from ? &from->context : &c->home, to ? &to->context : &c->home);
	arrive(c);
}

__attribute__((noreturn)) static void die(const struct fiber *f, const char *what,
					  unsigned int mask, const char *why, unsigned int lanes)
{
	fprintf(stderr, "emu: block %u, warp %u: %s of lanes %08x: %s %08x\n", f->here.block.x,
		f->here.thread.x / EMU_WARP, what, mask, why, lanes);
	abort();
}

/* No fiber can run: report the operation that will never complete, and abort. */
__attribute__((noreturn)) static void die_waiting(const struct card *c)
{
	unsigned int i;

	for (i = 0; i < c->threads / EMU_WARP; i++) {
		const struct warp *w = &c->warp[i];
		const struct meeting *m = &w->of[w->begun ? __builtin_ctz(w->begun) : 0];

		if (w->begun)
			die(&c->fiber[i * EMU_WARP], meeting_name[m->what], m->mask,
			    "these never came:", m->mask & ~m->came);
	}
	fprintf(stderr, "emu: block %u: syncthreads of %u threads: %u came\n",
		c->fiber[0].here.block.x, c->threads, c->in_block);
	abort();
}

/* Switch to another fiber. The running fiber has set what it waits for. */
static void go_on(struct card *c)
{
	unsigned int i, next;

	if (!c->nr_ready && c->nr_done < c->threads)
		die_waiting(c);
	if (!c->nr_ready) {
		go(c, NULL);
		return;
	}
	i = draw(c, c->nr_ready);
	next = c->ready[i];
	c->ready[i] = c->ready[--c->nr_ready];
	go(c, &c->fiber[next]);
}

static void make_ready(struct card *c, struct fiber *f)
{
	f->state = FIBER_READY;
	c->ready[c->nr_ready++] = (unsigned int)(f - c->fiber);
}

static void wait(struct card *c, enum fiber_state why)
{
	c->now->state = why;
	go_on(c);
}

void emu_pause(void)
{
	struct card *c = mine.card;

	if (!c || !c->now || draw(c, 4))
		return;
	make_ready(c, c->now);
	go_on(c);
}

/* ---- meeting ---- */

const struct emu_place *emu_here(void)
{
	return &mine.card->now->here;
}

/* All threads have arrived: compute the results. @first is thread 0 of the warp. */
static void conclude(struct card *c, struct meeting *w, struct fiber *first)
{
	unsigned long long votes = 0;
	unsigned int i;

	for (i = 0; i < EMU_WARP; i++)
		if (w->mask >> i & 1)
			votes |= (unsigned long long)(first[i].value != 0) << i;
	for (i = 0; i < EMU_WARP; i++) {
		struct fiber *f = &first[i];

		if (!(w->mask >> i & 1))
			continue;
		if (w->what == EMU_SHUFFLE && !(w->mask >> f->from & 1))
			die(f, "shuffle", w->mask, "asked is", 1u << f->from);
		f->result = w->what == EMU_BALLOT ? votes : first[f->from].value;
		if (f->state == FIBER_IN_WARP)
			make_ready(c, f);
	}
	w->came = 0;
}

/* Return: the operation of @mask, which this thread begins or joins. */
static struct meeting *meeting_of(struct warp *w, const struct fiber *f, enum emu_meeting what,
				  unsigned int mask)
{
	unsigned int first = (unsigned int)__builtin_ctz(mask), others, i;

	for (others = w->begun; others; others &= others - 1) {
		i = (unsigned int)__builtin_ctz(others);
		if (w->of[i].mask != mask && w->of[i].mask & mask)
			die(f, meeting_name[what], mask, "others have", w->of[i].mask);
	}
	w->begun |= 1u << first;
	return &w->of[first];
}

unsigned long long emu_meet(enum emu_meeting what, unsigned int mask, unsigned long long value,
			    unsigned int from)
{
	struct card *c = mine.card;
	struct fiber *f = c->now;
	unsigned int lane = f->here.thread.x % EMU_WARP;
	struct warp *warp = &c->warp[f->here.thread.x / EMU_WARP];
	struct meeting *w;

	if (!(mask >> lane & 1))
		die(f, meeting_name[what], mask, "not of them is", 1u << lane);
	w = meeting_of(warp, f, what, mask);
	if (w->came && w->what != what)
		die(f, meeting_name[what], mask, "at something else are", w->came);
	w->what = what;
	w->mask = mask;
	w->came |= 1u << lane;
	f->value = value;
	f->from = from;
	if (w->came == mask) {
		warp->begun &= ~(mask & -mask);
		conclude(c, w, f - lane);
	} else {
		wait(c, FIBER_IN_WARP);
	}
	return f->result;
}

void emu_meet_block(void)
{
	struct card *c = mine.card;
	unsigned int i;

	if (++c->in_block < c->threads) {
		wait(c, FIBER_IN_BLOCK);
		return;
	}
	c->in_block = 0;
	for (i = 0; i < c->threads; i++)
		if (&c->fiber[i] != c->now)
			make_ready(c, &c->fiber[i]);
	emu_pause();
}

/* ---- running ---- */

static void enter(void)
{
	struct card *c = mine.card;

	arrive(c);
	for (;;) {
		(*c->kernel)();
		c->nr_done++;
		wait(c, FIBER_DONE);
	}
}

static struct card *card_of_thread(void)
{
	if (!mine.card)
		mine.card = (struct card *)calloc(1, sizeof(*mine.card));
	if (!mine.card)
		abort();
	return mine.card;
}

static void place(struct fiber *f, unsigned int thread, unsigned int threads, unsigned int block,
		  unsigned int blocks)
{
	f->here.thread = { thread, 0, 0 };
	f->here.block = { block, 0, 0 };
	f->here.block_dim = { threads, 1, 1 };
	f->here.grid_dim = { blocks, 1, 1 };
	if (f->stack)
		return;
	f->stack = fiber_stack();
	fiber_prepare(&f->context, f->stack, FIBER_STACK, enter);
}

static void run_block(struct card *c, unsigned int block, unsigned int blocks)
{
	unsigned int i;

	memset(c->warp, 0, sizeof(c->warp));
	c->nr_ready = c->nr_done = c->in_block = 0;
	for (i = 0; i < c->threads; i++) {
		place(&c->fiber[i], i, c->threads, block, blocks);
		make_ready(c, &c->fiber[i]);
	}
	go_on(c);
}

void emu_run(unsigned int blocks, unsigned int threads, const std::function<void()> &kernel)
{
	struct card *c = card_of_thread();
	unsigned int first, i;

	if (!blocks || !threads || threads % EMU_WARP || threads > EMU_THREADS_MAX || c->now) {
		fprintf(stderr, "emu: %u blocks of %u threads\n", blocks, threads);
		abort();
	}
	c->kernel = &kernel;
	c->threads = threads;
	c->random = (__atomic_load_n(&seed, __ATOMIC_RELAXED) + ++c->runs) * 0x9e3779b97f4a7c15ULL |
		    1; /* xorshift never leaves zero */
	first = draw(c, blocks);
	for (i = 0; i < blocks; i++)
		run_block(c, (first + i) % blocks, blocks);
}
