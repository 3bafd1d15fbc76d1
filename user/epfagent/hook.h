/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The program that a watched directory starts after each audit. It runs without a shell, with
 * the path of the verdict as its last argument, one at a time for each directory, in a session
 * of its own that is killed when its time is over.
 */
#ifndef EPFAGENT_HOOK_H
#define EPFAGENT_HOOK_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#define HOOK_WORDS 16
#define HOOK_GROUPS 64

/**
 * struct hook_conf - settings
 * @text: its words are @word
 * @word: program and arguments
 * @nr_words: how many; 0: there is no hook
 * @other: it runs as another user
 * @uid: that one
 * @gid: his group
 * @groups: his groups
 * @nr_groups: how many
 * @time_ns: how long it may run; 0: a minute
 */
struct hook_conf {
	char *text;
	char *word[HOOK_WORDS];
	unsigned int nr_words;
	bool other;
	uid_t uid;
	gid_t gid;
	gid_t groups[HOOK_GROUPS];
	int nr_groups;
	__u64 time_ns;
};

/* Settings, which print errors that begin with @what. */
bool hook_conf_words(struct hook_conf *c, const char *what, const char *text);
bool hook_conf_user(struct hook_conf *c, const char *what, const char *user);
void hook_conf_free(struct hook_conf *c);

/**
 * struct hook - a program that may be running; zeros: it is not
 * @pid: process and session; 0: none
 * @pidfd: of it
 * @ended: readable @pidfd
 * @late: its time is over
 * @was_late: it was killed for that
 */
struct hook {
	pid_t pid;
	int pidfd;
	sd_event_source *ended;
	sd_event_source *late;
	bool was_late;
};

/* Called when it has ended, with one line if something went wrong, else NULL. */
typedef void (*hook_end_fn)(void *ctx, const char *fault);

/* Start it. Return: 0, and @end will be called; a negative errno. @end and @ctx are kept in the
 * caller's struct hook_run.
 */
struct hook_run {
	struct hook hook;
	hook_end_fn end;
	void *ctx;
};
int hook_start(struct hook_run *r, sd_event *loop, const struct hook_conf *c, const char *path);

static inline bool hook_is_running(const struct hook_run *r)
{
	return r->hook.pid;
}

/* Kill what runs; @end is not called. */
void hook_kill(struct hook_run *r);

#endif /* EPFAGENT_HOOK_H */
