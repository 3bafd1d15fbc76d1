/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scenes: what each thread does, on which keys, and the initial state.
 */
#ifndef EPF_EXPLORE_SCENE_H
#define EPF_EXPLORE_SCENE_H

#include "machine.h"

/* What a thread does. */
enum scene_act {
	ACT_INSERT,        /* @n times, keys @key and up */
	ACT_SIGHT,         /* test-and-insert */
	ACT_SIGHT_FIRST,   /* the same, present keys are not inserted */
	ACT_TEST,          /* of kind elastic: @n times */
	ACT_ROTATE,        /* @n times */
	ACT_ROTATE_FULL,   /* the same, if enough was counted */
	ACT_COUNT,         /* insert and count, as one CPU with a batch of @batch */
	ACT_COUNT_SHARED,  /* the same, the CPU shared with other threads */
	ACT_COUNT_ROTATE,  /* insert, count, and end a full epoch */
	ACT_SCAN,          /* with the lock held */
	ACT_WRAP,          /* 24 rotations and a scan in between */
	ACT_TURN,          /* @n rotations, a scan before the first and the last */
	ACT_TICK,          /* the same by a timer, which checks for open sections */
	ACT_REPLACE,       /* give filter 0 a new table, free the old one */
	ACT_SWAP,          /* filters 0 and 1 */
	ACT_FILTER_INSERT, /* into filter @n */
	ACT_FILTER_TEST,
	ACT_COME_ROUND, /* kind elastic: a stamp repeats; insert key @key */
	ACT_PUT,        /* a journal: write @n keys, @key and up */
	ACT_FOLLOW,     /* a journal: read @n records; then await, and read all others */
	ACT_PUT_NEW,    /* the same of one key, if it was not there */
	ACT_TAIL,       /* wait for those who write, then read what is there */
	ACT_MIRROR,     /* copy the lines and follow, as ACT_FOLLOW */
	ACT_MIRROR_NEW, /* the same, and begin the journal */
	ACT_ESTIMATE,   /* estimate how full the lanes are */
	ACT_SINCE,      /* test, then ask since when all is retained; @n: in a section */
	ACT_CHANGE,     /* give filter 0 other contents */
};

/**
 * struct scene_role - one thread
 * @act: what it does
 * @key: key that it uses
 * @n: how often it does it, or the number of a filter
 * @batch: insertions that a CPU keeps
 * @await: threads whose end it awaits first, as bits
 */
struct scene_role {
	enum scene_act act;
	__u8 key, n, batch, await;
};

/* Contents of the lanes at the beginning, in epoch SCENE_EPOCH. */
enum scene_before {
	BEFORE_EMPTY,
	BEFORE_STALE,   /* key SCENE_OLD of eight and more epochs ago; for kind
			 * elastic: in the oldest epoch of the window
			 */
	BEFORE_CURRENT, /* also of the current epoch; for kind elastic: in a line
			 * so full that the next insertion narrows remainders
			 */
};
#define SCENE_EPOCH 16
#define SCENE_OLD 6 /* key */

/**
 * struct mc_scene - a case
 * @name: description
 * @parts: L
 * @before: see there
 * @grace: sections and grace periods take part; without them the scene has at most seven
 *	rotations, so that no grace period would have to be waited for
 * @full: insertions that end an epoch, for ACT_ROTATE_FULL and so on
 * @elastic: epoch in which a scene of kind elastic begins (the line is swept at the end
 *	of epoch 255); 0: lanes
 * @journal: slots of the journal's ring: 1 or 2; 0: no journal
 * @mirror: the same for a journal of lanes
 * @role: threads
 * @bpf: runs in BPF on arm64, except threads that rotate or scan
 * @dates: there is a clock, and epochs have their starts
 */
struct mc_scene {
	const char *name;
	__u8 parts;
	enum scene_before before;
	bool grace;
	__u8 full;
	struct scene_role role[MC_THREADS];
	__u8 threads;
	__u16 elastic;
	__u8 journal;
	__u8 mirror;
	bool bpf;
	bool dates;
};

int scene_threads(const struct mc_scene *s);
void scene_set_up(const struct mc_scene *s);
void scene_thread(int t);
__u64 scene_mask(int key);
unsigned int scene_awaited(const struct mc_scene *s);
int scene_sights(const struct mc_scene *s);
bool scene_rotates(int t);
bool scene_asks_since(int t);
bool scene_swaps(const struct mc_scene *s);
bool scene_estimates(const struct mc_scene *s);
struct epf_lanes scene_lanes(int table);
struct epf_probe scene_probe(struct epf_line *line, int key);
__u64 scene_insert(int table, int key, __u64 *lanes);
void scene_enter(void);
void scene_leave(void);
bool scene_lock(bool waiting);
bool scene_after(const struct mc_scene *s, int t, int earlier);

#endif /* EPF_EXPLORE_SCENE_H */
