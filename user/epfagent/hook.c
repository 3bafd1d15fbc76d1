// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The program that runs after an audit. */
#include "epfagent/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"

#define TIME_NS (60 * NS_PER_SEC)
#define NOT_STARTED 127

/* Settings */

static bool __attribute__((format(printf, 1, 0))) hook_refused(const char *fmt, const char *what)
{
	fail(fmt, what);
	return false;
}

bool hook_conf_words(struct hook_conf *c, const char *what, const char *text)
{
	char *word, *rest;

	free(c->text);
	c->nr_words = 0;
	c->text = strdup(text);
	if (!c->text)
		return hook_refused("%s: out of memory", what);
	for (word = strtok_r(c->text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
		if (c->nr_words == HOOK_WORDS)
			return hook_refused("%s: a hook has too many words", what);
		c->word[c->nr_words++] = word;
	}
	if (c->nr_words && c->word[0][0] == '/')
		return true;
	fail("%s: '%s' is not the absolute path of a program", what, text);
	return false;
}

bool hook_conf_user(struct hook_conf *c, const char *what, const char *user)
{
	const struct passwd *pw = getpwnam(user);

	if (!pw) {
		fail("%s '%s': there is no such user", what, user);
		return false;
	}
	c->other = true;
	c->uid = pw->pw_uid;
	c->gid = pw->pw_gid;
	c->nr_groups = HOOK_GROUPS;
	if (getgrouplist(user, pw->pw_gid, c->groups, &c->nr_groups) >= 0)
		return true;
	fail("%s '%s': more than %d groups", what, user, HOOK_GROUPS);
	return false;
}

void hook_conf_free(struct hook_conf *c)
{
	free(c->text);
	c->text = NULL;
}

/* Running */

/* The system calls themselves: those of libc would change all threads of the agent. */
static bool become(const struct hook_conf *c)
{
	return !c->other || (!syscall(SYS_setgroups, c->nr_groups, c->groups) &&
			     !syscall(SYS_setresgid, c->gid, c->gid, c->gid) &&
			     !syscall(SYS_setresuid, c->uid, c->uid, c->uid));
}

/* In the child, where other threads of the agent may have held any lock: only functions that
 * are safe in signal handlers.
 */
static void hook_run_command(const struct hook_conf *c, char **words)
{
	static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", lang[] = "LC_ALL=C.UTF-8";
	char *const env[] = { path, lang, NULL };
	sigset_t none;
	int null = open("/dev/null", O_RDWR);

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setsid();
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
	    syscall(SYS_close_range, 3U, ~0U, 0U) || chdir("/") || !become(c))
		_exit(NOT_STARTED);
	execve(words[0], words, env);
	_exit(NOT_STARTED);
}

static void clear(struct hook *h)
{
	sd_event_source_disable_unref(h->ended);
	sd_event_source_disable_unref(h->late);
	if (h->pidfd >= 0)
		close(h->pidfd);
	memset(h, 0, sizeof(*h));
	h->pidfd = -1;
}

static const char *hook_fault_of(const struct hook *h, int status, char *text, size_t room)
{
	if (h->was_late)
		snprintf(text, room, "was killed: its time is over");
	else if (WIFSIGNALED(status))
		snprintf(text, room, "was ended by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status) == NOT_STARTED)
		snprintf(text, room, "could not be started: exit status 127");
	else if (WEXITSTATUS(status))
		snprintf(text, room, "failed: exit status %d", WEXITSTATUS(status));
	else
		return NULL;
	return text;
}

static int on_end(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct hook_run *r = arg;
	const char *fault;
	char text[64];
	int status;

	(void)source;
	(void)fd;
	(void)events;
	if (waitpid(r->hook.pid, &status, WNOHANG) <= 0)
		return 0;
	kill(-r->hook.pid, SIGKILL); /* what it has started and left */
	fault = hook_fault_of(&r->hook, status, text, sizeof(text));
	clear(&r->hook);
	r->end(r->ctx, fault);
	return 0;
}

static int on_late(sd_event_source *source, uint64_t usec, void *arg)
{
	struct hook_run *r = arg;

	(void)source;
	(void)usec;
	r->hook.was_late = true;
	kill(-r->hook.pid, SIGKILL);
	kill(r->hook.pid, SIGKILL); /* it may not have its session yet */
	return 0;
}

void hook_kill(struct hook_run *r)
{
	if (!r->hook.pid)
		return;
	kill(-r->hook.pid, SIGKILL);
	kill(r->hook.pid, SIGKILL);
	waitpid(r->hook.pid, NULL, 0);
	clear(&r->hook);
}

int hook_start(struct hook_run *r, sd_event *loop, const struct hook_conf *c, const char *path)
{
	__u64 time_ns = c->time_ns ?: TIME_NS;
	char *words[HOOK_WORDS + 2] = { NULL };
	struct hook *h = &r->hook;
	int ret;

	memset(h, 0, sizeof(*h));
	memcpy(words, c->word, c->nr_words * sizeof(*words));
	words[c->nr_words] = (char *)(uintptr_t)path;
	h->pidfd = -1;
	h->pid = fork();
	if (!h->pid)
		hook_run_command(c, words);
	if (h->pid < 0) {
		h->pid = 0;
		return -errno;
	}
	h->pidfd = (int)syscall(SYS_pidfd_open, h->pid, 0);
	ret = h->pidfd < 0 ? -errno :
			     sd_event_add_io(loop, &h->ended, h->pidfd, EPOLLIN, on_end, r);
	if (ret >= 0)
		ret = sd_event_add_time_relative(loop, &h->late, EPF_CLOCK_OWN, time_ns / 1000, 0,
						 on_late, r);
	if (ret >= 0)
		return 0;
	hook_kill(r);
	return ret;
}
