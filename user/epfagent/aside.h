/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What may take as long as some user likes, done by threads beside the event
 * loop. A file's close() may wait for its file system, which may be a program
 * of the user's, a socket's for a peer that never reads; and whoever receives a
 * message with descriptors, or drops one unread, may be the last to close them.
 *
 * One thread an errand, at most; whoever hands errands over bounds them.
 */
#ifndef EPFAGENT_ASIDE_H
#define EPFAGENT_ASIDE_H

#include <stdbool.h>
#include <sys/queue.h>

#include "epfagent/loop.h"

struct aside;

/**
 * struct errand - something to be done
 * @link: aside.c's
 * @work: in a thread of its own; has the errand until it returns
 * @done: then, in the event loop
 */
struct errand {
	STAILQ_ENTRY(errand) link;
	void (*work)(struct errand *e);
	void (*done)(struct errand *e);
};

/* For as long as the process is there, as its threads may be. Return: NULL: no
 * memory, no descriptor.
 */
struct aside *aside_new(struct loop *loop);

/* Where no thread can be had the errand waits for one that another has done with,
 * or for aside_retry().
 */
void aside_run(struct aside *a, struct errand *e);

/* Are threads missing that aside_retry() should try to have? */
bool aside_is_short(const struct aside *a);
void aside_retry(struct aside *a);

#endif /* EPFAGENT_ASIDE_H */
