// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "dedup_survey.h"

#include <string.h>

#include <epf/window.h>

void survey_begin(struct survey *s, __u64 epoch_ns)
{
	memset(s, 0, sizeof(*s));
	s->each = 1;
	s->epoch_ns = epoch_ns;
	s->clock.reach_ns = EPF_EPOCHS * epoch_ns;
}

/* The count is exact, because the epochs of the filter begin at time 0 and follow each
 * other without gaps (mem.c).
 */
static void dedup_survey_count_insert(struct survey *s)
{
	__u64 epoch = s->clock.now_ns / s->epoch_ns;

	if (epoch != s->epoch)
		s->here = 0;
	s->epoch = epoch;
	s->here++;
	if (s->here > s->busiest)
		s->busiest = s->here;
}

/* Join each two stretches. */
static void halve(struct survey *s)
{
	__u32 i;

	s->stretches /= 2;
	s->each *= 2;
	for (i = 0; i < s->stretches; i++) {
		__u64 *least = &s->least[2 * i], *most = &s->most[2 * i];

		s->least[i] = least[0] < least[1] ? least[0] : least[1];
		s->most[i] = most[0] > most[1] ? most[0] : most[1];
	}
}

static void stretch(struct survey *s, __u64 ns)
{
	__u32 i;

	if (s->packets == s->each * SURVEY_STRETCHES)
		halve(s);
	i = (__u32)(s->packets / s->each);
	if (i == s->stretches) {
		s->stretches++;
		s->least[i] = s->most[i] = ns;
	}
	if (ns < s->least[i])
		s->least[i] = ns;
	if (ns > s->most[i])
		s->most[i] = ns;
}

void survey_packet(struct survey *s, __u64 ns)
{
	stretch(s, ns);
	s->packets++;
	if (!s->epoch_ns)
		return;
	if (clock_settles(&s->clock, ns))
		dedup_survey_count_insert(s);
	if (!clock_jumps(&s->clock, ns))
		dedup_survey_count_insert(s);
}

void survey_end(struct survey *s)
{
	__u32 i;

	for (i = s->stretches; i-- > 1;)
		if (s->least[i] < s->least[i - 1])
			s->least[i - 1] = s->least[i];
}

__u64 survey_oldest(const struct survey *s, __u64 i)
{
	__u64 n = i / s->each;

	if (!s->stretches)
		return 0;
	return s->least[n < s->stretches ? n : s->stretches - 1];
}

static bool may_be_held(const struct survey *s, __u32 i, __u32 at, __u64 reach_ns)
{
	return s->most[i] >= s->least[at] || s->least[at] - s->most[i] <= reach_ns;
}

__u64 survey_held(const struct survey *s, __u64 reach_ns)
{
	__u64 most = 0;
	__u32 i, at;

	for (at = 0; at < s->stretches; at++) {
		__u64 held = 0;

		for (i = 0; i <= at; i++)
			held += may_be_held(s, i, at, reach_ns);
		most = held > most ? held : most;
	}
	return most * s->each < s->packets ? most * s->each : s->packets;
}
