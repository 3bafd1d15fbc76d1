/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Progress of long work on standard error, and the signals that stop it. */
#ifndef EPF_COMMON_PROGRESS_H
#define EPF_COMMON_PROGRESS_H

#include <stdbool.h>

#include <linux/types.h>

/* --progress: show progress even if stderr is not a terminal */
extern bool progress_forced;

/**
 * struct meter - progress of one piece of work
 * @what: "saving"
 * @unit: "keys", or NULL for bytes
 *
 * The other members are private. Progress is shown after one second, at most
 * five times per second, if stderr is a terminal or --progress is given.
 */
struct meter {
	const char *what;
	const char *unit;
	__u64 start_ns;
	__u64 first;
	__u64 shown_ns;
	bool shown;
};

/* An epf_progress_fn. @all: 0: unknown. Return: non-zero: stop, a signal arrived. */
int meter_update(void *meter, __u64 done, __u64 all);
/* Clear the line. */
void meter_end(struct meter *m);

/* From here on SIGINT, SIGTERM and SIGHUP set interrupted to their number instead
 * of ending the process.
 */
void catch_signals(void);
extern volatile int interrupted;

#endif /* EPF_COMMON_PROGRESS_H */
