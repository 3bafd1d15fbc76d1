/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The event loop: one thread that waits for nothing but events and handles one at a
 * time, from the sources in turn. A callback may therefore remove any source, even its
 * own.
 */
#ifndef EPFAGENT_LOOP_H
#define EPFAGENT_LOOP_H

#include <poll.h>

struct loop;

/* Value of @events: wait for nothing, not even POLLHUP and POLLERR. */
#define LOOP_OFF (-1)

/**
 * struct source - a descriptor that events come from
 * @fd: descriptor, owned by the user of the loop
 * @ready: called with POLL* flags
 * @events: events to wait for; set by loop_change() only. POLLHUP and POLLERR are
 *	always reported, except with LOOP_OFF
 */
struct source {
	int fd;
	void (*ready)(struct source *s, short events);
	short events;
};

/* Return: NULL: out of memory. */
struct loop *loop_new(void);
void loop_free(struct loop *loop);

/* Start to wait for @events of @s. Return: 0; -ENOMEM. */
int loop_add(struct loop *loop, struct source *s, short events);
/* Wait for other events. */
void loop_change(struct source *s, short events);
void loop_remove(struct loop *loop, struct source *s);

/**
 * loop_once() - wait for an event and handle it
 * @loop: loop
 * @timeout_ms: limit of the wait; negative: none
 *
 * Return: 0; a negative errno of poll().
 */
int loop_once(struct loop *loop, int timeout_ms);

#endif /* EPFAGENT_LOOP_H */
