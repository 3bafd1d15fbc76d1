/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process that dies at a given step: before a store that other processes see, or
 * before a call that changes a filter.
 *
 * For this user/ebpf is built with -fsanitize=thread, whose calls before each store go
 * to death.c. They count, and end the process at the requested one.
 */
#ifndef EPF_DEATH_H
#define EPF_DEATH_H

#include "drive.h"

/**
 * struct death - what happens at each step
 * @counts: count steps
 * @steps: steps so far
 * @at: step at which the process dies; 0: none
 * @meanwhile: called at each step, with the address of the store, or NULL
 * @copies: called before a copy of more than 4 KiB
 * @asked: set when a grace period begins
 * @alone: no program runs, so grace periods end at once; the field itself is not
 *   written
 * @halt: stop the process before it waits for a grace period
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

/* Run @act in a child that dies at its @n-th step. Return: did it die? */
bool dies(int (*act)(void), __u64 n);
/* Let a section continue (drive_hold()) some time after a grace period was requested. */
pid_t death_release(struct drive *d);
/* Return: a page that children share. */
void *death_page(void);

#endif /* EPF_DEATH_H */
