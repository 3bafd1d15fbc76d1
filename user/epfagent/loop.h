/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The event loop: one thread, which never waits for anything but events, and
 * handles one at a time, sources in turn. So whoever is called may remove any
 * source, its own too.
 */
#ifndef EPFAGENT_LOOP_H
#define EPFAGENT_LOOP_H

#include <poll.h>

struct loop;

/* Events: none at all. */
#define LOOP_OFF (-1)

/**
 * struct source - a descriptor that events come from
 * @fd: of it; the owner's
 * @ready: called with POLL*
 * @events: waited for; the loop's, see loop_change(). POLLHUP and POLLERR come
 *	in any case, but for LOOP_OFF
 */
struct source {
	int fd;
	void (*ready)(struct source *s, short events);
	short events;
};

/* Return: NULL: no memory. */
struct loop *loop_new(void);
void loop_free(struct loop *loop);

/* Begin to wait for @events of @s. Return: 0 or -ENOMEM. */
int loop_add(struct loop *loop, struct source *s, short events);
/* Wait for others. */
void loop_change(struct source *s, short events);
void loop_remove(struct loop *loop, struct source *s);

/**
 * loop_once() - wait for an event and handle it
 * @loop: loop
 * @timeout_ms: at most; negative: without end
 *
 * Return: 0; a negative errno of poll().
 */
int loop_once(struct loop *loop, int timeout_ms);

#endif /* EPFAGENT_LOOP_H */
