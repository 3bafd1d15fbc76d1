// SPDX-License-Identifier: GPL-2.0
/*
 * poll(), one event at a time. There are at most some hundred sources. Each call
 * searches from the source after the one that was handled last.
 */
#include "epfagent/loop.h"

#include <errno.h>
#include <stdlib.h>

/**
 * struct loop - sources
 * @source: @nr sources, with room for @room
 * @poll: argument of poll(), likewise
 * @next: index where the next search begins
 */
struct loop {
	struct source **source;
	struct pollfd *poll;
	size_t nr;
	size_t room;
	size_t next;
};

struct loop *loop_new(void)
{
	return calloc(1, sizeof(struct loop));
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	free(loop->source);
	free(loop->poll);
	free(loop);
}

static int grow(struct loop *loop)
{
	size_t room = 2 * loop->room + 16;
	struct source **source = realloc(loop->source, room * sizeof(*source));
	struct pollfd *poll;

	if (!source)
		return -ENOMEM;
	loop->source = source;
	poll = realloc(loop->poll, room * sizeof(*poll));
	if (!poll)
		return -ENOMEM;
	loop->poll = poll;
	loop->room = room;
	return 0;
}

int loop_add(struct loop *loop, struct source *s, short events)
{
	if (loop->nr == loop->room && grow(loop))
		return -ENOMEM;
	s->events = events;
	loop->source[loop->nr++] = s;
	return 0;
}

void loop_change(struct source *s, short events)
{
	s->events = events;
}

void loop_remove(struct loop *loop, struct source *s)
{
	size_t i;

	for (i = 0; i < loop->nr; i++)
		if (loop->source[i] == s) {
			loop->source[i] = loop->source[--loop->nr];
			return;
		}
}

int loop_once(struct loop *loop, int timeout_ms)
{
	size_t i, n = loop->nr;
	int ret;

	for (i = 0; i < n; i++) {
		const struct source *s = loop->source[i];

		loop->poll[i] = (struct pollfd){
			s->events == LOOP_OFF ? -1 : s->fd, s->events, 0 };
	}
	ret = poll(loop->poll, n, timeout_ms);
	if (ret <= 0)
		return ret && errno != EINTR ? -errno : 0;
	for (i = 0; i < n; i++) {
		size_t at = (loop->next + i) % n;

		if (!loop->poll[at].revents)
			continue;
		loop->next = at + 1;
		loop->source[at]->ready(loop->source[at],
					loop->poll[at].revents);
		break;
	}
	return 0;
}
