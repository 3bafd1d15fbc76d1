// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See timer.h. */
#include "epfagent/timer.h"

#include "libepf/clock.h"

/* Without an accuracy of 1 us, sd-event delays timers by up to 250 ms. */
int timer_new(sd_event_source **timer, sd_event *loop, sd_event_time_handler_t fired, void *arg)
{
	int ret = sd_event_add_time(loop, timer, EPF_CLOCK_OWN, UINT64_MAX, 1, fired, arg);

	return ret < 0 ? ret : sd_event_source_set_enabled(*timer, SD_EVENT_OFF);
}

/* Both calls allocate nothing: they fail only after the loop has ended. */
void timer_start(sd_event_source *timer, uint64_t usec)
{
	if (timer_is_running(timer))
		return;
	sd_event_source_set_time_relative(timer, usec);
	sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}
