// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* When a step of a job ends before all its keys are looked up. */
#include "jobs/job.h"

#include "common/clock.h"

static bool pace_stopped(const int *word)
{
	return word && __atomic_load_n(word, __ATOMIC_RELAXED);
}

bool job_pace_over(const struct job_pace *pace)
{
	return pace && (pace_stopped(pace->stop[0]) || pace_stopped(pace->stop[1]) ||
			(pace->until_ns && now_ns() >= pace->until_ns));
}
