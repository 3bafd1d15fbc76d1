// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The devices that the engine uses: one, or several. With several, a thread each works
 * for every device but the first, which the caller's thread serves. A device that fails
 * is not used again, and the others go on. The lock of engine.cu protects all of it;
 * while threads work, each touches the state of its own device only.
 */
#include "engine.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

static struct card cards[EPF_CUDA_DEVICES];
static __u32 nr_cards = 1; /* device 0, unless cards_use() selects others */

/**
 * struct turn - work for a device
 * @card: the device
 * @ret: result of the work
 * @e: the error, if it failed
 * @begun: it has a thread of its own
 */
struct turn {
	struct card *card;
	card_fn work;
	void *ctx;
	int ret;
	struct epf_cuda_error e;
	pthread_t thread;
	bool begun;
};

__u32 cards_index(const struct card *c)
{
	return (__u32)(c - cards);
}

/* Has the device itself failed, and not only this request? */
static bool is_fault(int ret)
{
	return ret == -EIO || ret == -ENODEV;
}

/* With several devices an error says which one it is of. */
static void name_device(const struct card *c, struct epf_cuda_error *e)
{
	const struct epf_cuda_error was = *e;

	if (nr_cards > 1)
		card_wrong(e, 0, "device %d: %.140s", c->device, was.text);
}

int cards_on(struct card *c, card_fn work, void *ctx, struct epf_cuda_error *e)
{
	struct borrowed theirs;
	cudaError_t err = card_borrow(&theirs, c->device);
	int ret = 0;

	if (err && !c->broken)
		ret = card_fails(e, err, "the GPU cannot be used");
	if (!ret)
		ret = work(c, ctx, e);
	card_return(&theirs, c->device);
	if (!ret)
		return 0;
	if (!c->broken)
		name_device(c, e);
	if (is_fault(ret) && (c->begun || nr_cards > 1) && !c->broken) {
		c->broken = true;
		c->why = *e;
	}
	return ret;
}

/* ---- which ---- */

static int count_devices(int *nr, struct epf_cuda_error *e)
{
	cudaError_t err = cudaGetDeviceCount(nr);

	if (!err && !*nr)
		err = cudaErrorNoDevice;
	if (*nr > (int)EPF_CUDA_DEVICES)
		*nr = EPF_CUDA_DEVICES;
	return err ? card_fails(e, err, "no GPU") : 0;
}

int cards_use(__u32 devices, struct epf_cuda_error *e)
{
	int nr = 1, ret = 0;
	__u32 i;

	if (devices)
		ret = count_devices(&nr, e);
	if (ret)
		return ret;
	if (!devices || devices == EPF_CUDA_ALL)
		devices = (__u32)((1ULL << nr) - 1);
	nr_cards = 0;
	for (i = 0; devices >> i; i++) {
		if (!(devices >> i & 1))
			continue;
		if (i >= (__u32)nr)
			return card_wrong(e, -ENODEV, "there is no device %u: the last is %d", i,
					  nr - 1);
		cards[nr_cards++].device = (int)i;
	}
	return 0;
}

__u32 cards_nr(void)
{
	return nr_cards;
}

struct card *cards_at(__u32 i)
{
	return &cards[i];
}

__u32 cards_lost(struct epf_cuda_error *e)
{
	__u32 i, nr = 0;

	for (i = 0; i < nr_cards; i++)
		if (cards[i].broken) {
			*e = cards[i].why;
			nr++;
		}
	return nr;
}

/* ---- work ---- */

static void *take_turn(void *arg)
{
	struct turn *t = (struct turn *)arg;

	t->ret = cards_on(t->card, t->work, t->ctx, &t->e);
	return NULL;
}

/* Fill @turn with up to @most devices that have not failed. Return: how many. */
static __u32 find_turns(struct turn *turn, __u64 most, card_fn work, void *ctx)
{
	__u32 i, nr = 0;

	for (i = 0; i < nr_cards && nr < most; i++) {
		struct turn *t = &turn[nr];

		if (cards[i].broken)
			continue;
		memset(t, 0, sizeof(*t));
		t->card = &cards[i];
		t->work = work;
		t->ctx = ctx;
		nr++;
	}
	return nr;
}

/* If no thread can be had, the caller's does that work as well. */
static void run_turns(struct turn *turn, __u32 nr)
{
	__u32 i;

	for (i = 1; i < nr; i++)
		turn[i].begun = !pthread_create(&turn[i].thread, NULL, take_turn, &turn[i]);
	take_turn(&turn[0]);
	for (i = 1; i < nr; i++)
		if (turn[i].begun)
			pthread_join(turn[i].thread, NULL);
		else
			take_turn(&turn[i]);
}

/* The result of all: an error of the request if there is one, a fault only if no device
 * is left.
 */
static int judge(const struct turn *turn, __u32 nr, struct epf_cuda_error *e)
{
	const struct turn *wrong = NULL;
	bool well = false;
	__u32 i;

	for (i = 0; i < nr; i++) {
		const struct turn *t = &turn[i];

		well |= !t->ret;
		if (t->ret && (!wrong || (is_fault(wrong->ret) && !is_fault(t->ret))))
			wrong = t;
	}
	if (!wrong || (well && is_fault(wrong->ret)))
		return 0;
	*e = wrong->e;
	return wrong->ret;
}

/* What broke the last device. */
static int none_left(struct epf_cuda_error *e)
{
	*e = cards[nr_cards - 1].why;
	return -EIO;
}

int cards_run(__u64 most, card_fn work, void *ctx, struct epf_cuda_error *e)
{
	struct turn turn[EPF_CUDA_DEVICES];
	struct epf_cuda_error why;
	__u32 lost, nr;
	int ret;

	do {
		lost = cards_lost(&why);
		nr = find_turns(turn, most, work, ctx);
		if (!nr)
			return none_left(e);
		run_turns(turn, nr);
		ret = judge(turn, nr, e);
	} while (is_fault(ret) && cards_lost(&why) > lost && cards_lost(&why) < nr_cards);
	return ret;
}
