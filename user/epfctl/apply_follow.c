// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Declared filters and attachments that cannot be made yet, or whose interface went, are made
 * when they can be.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "apply.h"
#include "nf.h"

#define WAIT_LEAST_NS NS_PER_SEC
#define WAIT_MOST_NS (300 * NS_PER_SEC)

static volatile sig_atomic_t hung_up;

static void on_hangup(int signal)
{
	(void)signal;
	hung_up = 1;
}

/* What is still to be made */

static bool is_made(const struct apply_change *c)
{
	return c->kind >= APPLY_CREATE;
}

static char *apply_follow_label(const struct apply_change *c)
{
	char *text;

	return asprintf(&text, "%s %s", apply_kinds[c->kind], c->name) < 0 ? NULL : text;
}

static bool is_open(const struct apply_open *open, const struct apply_change *c)
{
	char *text = apply_follow_label(c), **i;
	bool found = false;

	for (i = open->all; text && i && *i && !found; i++)
		found = !strcmp(*i, text);
	free(text);
	return found;
}

static bool apply_follow_chosen(const struct apply_open *open, const struct apply_change *c)
{
	switch (c->kind) {
	case APPLY_CREATE:
	case APPLY_PIN:
		return is_open(open, c);
	case APPLY_DETACH:
	case APPLY_ATTACH:
		return (c->gone || (c->kind == APPLY_ATTACH && is_open(open, c))) &&
		       (nf_is_name(c->name) || if_nametoindex(c->name));
	default:
		return false;
	}
}

void apply_open_choose(const struct apply_open *open, struct apply_plan *plan)
{
	size_t i;

	for (i = 0; i < plan->nr; i++)
		plan->all[i].left = !apply_follow_chosen(open, &plan->all[i]);
}

/* A change that was left alone stays open if it was so. */
bool apply_open_note(struct apply_open *open, const struct apply_plan *plan)
{
	struct apply_open next = { calloc(plan->nr + 1, sizeof(*next.all)) };
	size_t i, nr = 0;
	bool good = next.all;

	for (i = 0; good && i < plan->nr; i++) {
		const struct apply_change *c = &plan->all[i];

		if (!is_made(c) || c->done || (c->left && !is_open(open, c)))
			continue;
		next.all[nr] = apply_follow_label(c);
		good = next.all[nr++];
	}
	apply_open_free(open);
	*open = next;
	if (!good)
		fail("out of memory");
	return good;
}

void apply_open_free(struct apply_open *open)
{
	char **i;

	for (i = open->all; i && *i; i++)
		free(*i);
	free(open->all);
	open->all = NULL;
}

/* Waiting */

/* Return: descriptor that is readable after a change of an interface; -1: printed. */
static int open_links(void)
{
	const struct sockaddr_nl here = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd >= 0 && !bind(fd, (const struct sockaddr *)&here, sizeof(here)))
		return fd;
	fail_errno(errno, "listening to changes of interfaces: %m");
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Only that there was a change counts, so that lost messages (ENOBUFS) do no harm. */
static void drain(int fd)
{
	char text[8192];

	while (recv(fd, text, sizeof(text), 0) >= 0 || errno == ENOBUFS)
		;
}

/* Wait for a change of an interface, SIGHUP or another signal, at most @ns; 0: for ever. */
static bool changed(int links, __u64 ns)
{
	const struct timespec most = { .tv_sec = (time_t)(ns / NS_PER_SEC),
				       .tv_nsec = (long)(ns % NS_PER_SEC) };
	struct pollfd p = { .fd = links, .events = POLLIN };
	sigset_t block, old;
	bool got;

	/* A signal that comes before ppoll() ends it at once. */
	sigfillset(&block);
	sigprocmask(SIG_BLOCK, &block, &old);
	got = !interrupted && !hung_up && ppoll(&p, 1, ns ? &most : NULL, &old) > 0;
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (got)
		drain(links);
	return got;
}

static void pause_least(void)
{
	const struct timespec least = { .tv_sec = WAIT_LEAST_NS / NS_PER_SEC };

	if (!interrupted && !hung_up)
		nanosleep(&least, NULL);
}

/* What a round has printed, and how it ended. */
struct said {
	char *text[2];
	int ret;
};

static void said_free(struct said *s)
{
	free(s->text[0]);
	free(s->text[1]);
}

static bool said_again(const struct said *s, const struct said *last)
{
	return s->ret && s->ret == last->ret && last->text[0] && last->text[1] &&
	       !strcmp(s->text[0], last->text[0]) && !strcmp(s->text[1], last->text[1]);
}

/* A round that fails exactly as the one before prints nothing. */
static int round_once(int (*round)(void *ctx, struct apply_open *open, bool all), void *ctx,
		      struct apply_open *open, bool all, struct said *last)
{
	FILE *own[2] = { stdout, stderr };
	struct said said = { .ret = 0 };
	size_t len[2];
	FILE *out = open_memstream(&said.text[0], &len[0]);
	FILE *err = open_memstream(&said.text[1], &len[1]);

	if (out && err) {
		stdout = out;
		stderr = err;
	}
	said.ret = round(ctx, open, all);
	stdout = own[0];
	stderr = own[1];
	if (out)
		fclose(out);
	if (err)
		fclose(err);
	if (out && err && !said_again(&said, last)) {
		fputs(said.text[0], stdout);
		fflush(stdout);
		fputs(said.text[1], stderr);
	}
	said_free(last);
	*last = said;
	return said.ret;
}

int apply_follow(int (*round)(void *ctx, struct apply_open *open, bool all), void *ctx)
{
	const struct sigaction sa = { .sa_handler = on_hangup };
	struct apply_open open = { NULL };
	struct said last = { .ret = 0 };
	__u64 wait_ns = WAIT_LEAST_NS;
	int links = open_links(), ret;
	bool all;

	if (links < 0)
		return EXIT_FAIL;
	sigaction(SIGHUP, &sa, NULL);
	ret = round_once(round, ctx, &open, true, &last);
	while (!interrupted) {
		bool waits = ret || (open.all && *open.all);

		fflush(stdout);
		if (changed(links, waits ? wait_ns : 0))
			wait_ns = WAIT_LEAST_NS;
		else if (wait_ns < WAIT_MOST_NS)
			wait_ns = 2 * wait_ns < WAIT_MOST_NS ? 2 * wait_ns : WAIT_MOST_NS;
		pause_least();
		drain(links);
		if (interrupted)
			break;
		if (hung_up)
			wait_ns = WAIT_LEAST_NS;
		all = hung_up || ret == EXIT_FAIL;
		hung_up = 0;
		ret = round_once(round, ctx, &open, all, &last);
	}
	said_free(&last);
	apply_open_free(&open);
	close(links);
	return EXIT_FAIL;
}
