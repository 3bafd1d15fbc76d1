/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Timers of the event loop that fire once each time they are started. */
#ifndef EPFAGENT_TIMER_H
#define EPFAGENT_TIMER_H

#include <systemd/sd-event.h>

/* When to try again after descriptors, threads or memory ran out. */
#define TIMER_RETRY_USEC 1000000

/* Create a timer that is not running. Return: 0; a negative errno: -ENOMEM, -EMFILE. */
int timer_new(sd_event_source **timer, sd_event *loop, sd_event_time_handler_t fired, void *arg);

/* Start a timer, unless it is running already. After the loop has ended, it does nothing. */
void timer_start(sd_event_source *timer, uint64_t usec);

static inline int timer_is_running(sd_event_source *timer)
{
	return sd_event_source_get_enabled(timer, NULL) > 0;
}

#endif /* EPFAGENT_TIMER_H */
