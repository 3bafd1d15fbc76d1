/* SPDX-License-Identifier: GPL-2.0 */
/* Pure BPF filters for options.c, if an input selects them. */
#ifndef FUZZ_OPTIONS_PURE_H
#define FUZZ_OPTIONS_PURE_H

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "libepf/backend.h"

/* Filters are pure BPF. */
static bool pure;

static int pure_open(void)
{
	return -ENOENT;
}

static bool pure_owns(int fd)
{
	return pure && fd >= 0;
}

static int pure_call(int fd, unsigned long cmd, void *arg)
{
	return -EOPNOTSUPP;
}

static int pure_wait(int fd, int ms)
{
	return 0;
}

static void pure_close(int fd)
{
	close(fd);
}

static const struct epf_backend pure_backend = {
	.open = pure_open,
	.owns = pure_owns,
	.call = pure_call,
	.wait = pure_wait,
	.close = pure_close,
};

#endif /* FUZZ_OPTIONS_PURE_H */
