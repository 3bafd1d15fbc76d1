/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process that dies at a certain step: before a store that others see, or a call
 * that changes a filter.
 *
 * user/ebpf is built with -fsanitize=thread for this, whose calls before each store
 * are those of death.c: they count, and end the process at the one that is asked for.
 */
#ifndef EPF_DEATH_H
#define EPF_DEATH_H

#include "drive.h"

/**
 * struct death - what happens at steps
 * @counts: steps are counted
 * @steps: so far
 * @at: it dies at this one; 0: at none
 * @meanwhile: called at each, with what is stored to, or NULL
 * @copies: called before more than 4 KiB are copied
 * @asked: set when a grace period is asked for
 * @alone: no program runs, so a grace period is over at once; but nothing is written
 * @halt: who asks for a grace period is stopped first
 */
struct death {
	bool counts;
	__u64 steps;
	__u64 at;
	void (*meanwhile)(const void *at);
	void (*copies)(void);
	__u64 *asked;
	bool alone;
	bool halt;
};
extern struct death death;

/* @act in a child that dies at its @n-th step. Return: it did. */
bool dies(int (*act)(void), __u64 n);
/* Let a section go on (drive_hold()) some time after a grace period was asked for. */
pid_t death_release(struct drive *d);
/* A page that children share. */
void *death_page(void);

#endif /* EPF_DEATH_H */
