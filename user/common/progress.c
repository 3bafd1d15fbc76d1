// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Progress of long work on stderr, and signals that stop it. */
#include "common/progress.h"

#include "common/clock.h"
#include "common/output.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#define QUIET_NS NS_PER_SEC       /* shorter work shows nothing */
#define EVERY_NS (NS_PER_SEC / 5) /* on a terminal; else once a second */

bool progress_forced;
volatile int interrupted;

/* A signal may come right before a call that blocks, and a call may be repeated after
 * EINTR. So the alarm interrupts again every second until the process ends.
 */
static void on_signal(int signal)
{
	if (signal != SIGALRM)
		interrupted = signal;
	alarm(1);
}

void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	sigaction(SIGALRM, &sa, NULL);
	/* a write above the limit of file sizes then fails with EFBIG */
	sa.sa_handler = SIG_IGN;
	sigaction(SIGXFSZ, &sa, NULL);
}

/* Print whole seconds, which do not flicker. */
static struct text fmt_left(double seconds)
{
	struct text t = { "days" };
	unsigned int s;

	if (seconds > 359999)
		return t;
	s = (unsigned int)seconds + 1;
	if (s < 60)
		snprintf(t.s, sizeof(t.s), "%u s", s);
	else if (s < 3600)
		snprintf(t.s, sizeof(t.s), "%u:%02u min", s / 60, s % 60);
	else
		snprintf(t.s, sizeof(t.s), "%u:%02u h", s / 3600, s / 60 % 60);
	return t;
}

static void progress_show(const struct meter *m, __u64 done, __u64 all)
{
	const char *end = isatty(STDERR_FILENO) ? "" : "\n";
	const char *begin = isatty(STDERR_FILENO) ? "\r\033[K" : "";
	double seconds = (double)(now_ns() - m->start_ns) / NS_PER_SEC;
	double rate = (double)(done - m->first) / seconds;

	fprintf(stderr, "%s%s: ", begin, m->what);
	if (m->unit)
		fprintf(stderr, "%llu %s", done, m->unit);
	else
		fprintf(stderr, "%s", fmt_bytes(done).s);
	if (all)
		fprintf(stderr, ", %.0f%%", 100.0 * (double)done / (double)all);
	if (m->unit)
		fprintf(stderr, ", %.3g/s", rate);
	else
		fprintf(stderr, ", %s/s", fmt_bytes((__u64)rate).s);
	if (all > done && rate > 0)
		fprintf(stderr, ", %s left", fmt_left((double)(all - done) / rate).s);
	fprintf(stderr, "%s", end);
}

int meter_update(void *meter, __u64 done, __u64 all)
{
	struct meter *m = meter;
	bool tty = isatty(STDERR_FILENO);
	__u64 now = now_ns();

	if (!m->start_ns) {
		m->start_ns = now;
		m->first = done;
	}
	if ((tty || progress_forced) && now - m->start_ns >= QUIET_NS &&
	    now - m->shown_ns >= (tty ? EVERY_NS : NS_PER_SEC)) {
		m->shown_ns = now;
		m->shown = true;
		progress_show(m, done, all);
	}
	return interrupted;
}

void meter_end(struct meter *m)
{
	if (m->shown && isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	m->shown = false;
}
