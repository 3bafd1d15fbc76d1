// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Watched directories. */
#include "epfagent/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "records/rec_error.h"
#include "epfagent/fs.h"
#include "epfagent/result.h"
#include "epfagent/timer.h"
#include "common/error.h"
#include "common/output.h"
#include "common/parse.h"

#define EVENTS (IN_CLOSE_WRITE | IN_MOVED_TO)
/* Limit of waiting names; beyond it the directory is scanned again. */
#define NAMES_MAX 65536u
/* Names of a scanned directory that are read at once, and names that are tried in one
 * turn of the event loop.
 */
#define SCAN_NAMES 256u
#define TURN_NAMES 1024u
#define LATER_USEC 10000000
/* Old results are looked for each minute, in steps. */
#define KEEP_USEC 60000000
#define KEEP_STEP_USEC 1000
/* Limit of files of a directory that are being written; beyond it the directory is
 * scanned again.
 */
#define WRITTEN_MAX 1024u

struct name {
	STAILQ_ENTRY(name) link;
	char text[];
};

/**
 * struct watch - a directory
 * @source: its inotify events
 * @all: all watches
 * @link: in @all->list
 * @conf: settings; NULL: leave the directory when @task has ended
 * @path: path of the directory
 * @dir: descriptor of the directory, locked
 * @names: names that may have to be audited
 * @nr_names: how many
 * @scan: scan in progress, or NULL
 * @rescan: scan again from the start, because names were lost
 * @later: likewise when the timer fires, because a file has no verdict yet
 * @written: names to try again when the timer fires, because somebody is writing
 * @task: audit in progress, or NULL
 * @result: result of @task
 * @filter: for @result, because settings may change during the audit
 * @hook: program that runs after the last audit; no other audit begins meanwhile
 * @keep: pass through old results in progress
 */
struct watch {
	sd_event_source *source;
	struct watches *all;
	TAILQ_ENTRY(watch) link;
	const struct conf_watch *conf;
	char *path;
	int dir;
	STAILQ_HEAD(, name) names;
	unsigned int nr_names;
	DIR *scan;
	bool rescan;
	bool later;
	STAILQ_HEAD(, name) written;
	struct task *task;
	struct result result;
	char *filter;
	struct hook_run hook;
	struct keep keep;
};

/**
 * struct watches - all watches
 * @more: running if a directory has names that were not tried in its turn. It is no
 *	deferred source, because sd-event dispatches one that is enabled again before
 *	everything else: it is pending since it was created
 * @timer: for watches with @later set or names in @written
 * @keeper: for the results that are kept
 */
struct watches {
	sd_event_source *more;
	sd_event_source *timer;
	sd_event_source *keeper;
	struct watches_conf c;
	TAILQ_HEAD(, watch) list;
	bool quiet;
};

/* Names */

static void watch_add_name(struct watch *w, const char *text)
{
	struct name *n;

	if (!result_wanted(text) || w->rescan)
		return;
	n = w->nr_names < NAMES_MAX ? malloc(sizeof(*n) + strlen(text) + 1) : NULL;
	if (!n) {
		w->rescan = true;
		return;
	}
	strcpy(n->text, text);
	STAILQ_INSERT_TAIL(&w->names, n, link);
	w->nr_names++;
}

/* A running timer is not restarted, or a busy directory would postpone it forever. */
static void set_timer(struct watch *w)
{
	timer_start(w->all->timer, LATER_USEC);
}

/* Try files without a verdict again after LATER_USEC. */
static void try_later(struct watch *w)
{
	w->later = true;
	set_timer(w);
}

/* Try a file that somebody has open for writing again after LATER_USEC. The event of its
 * close is not enough: the kernel sends it before it removes the writer
 * (fsnotify_close() and put_file_access() of __fput(), fs/file_table.c), and to another
 * directory if the writer used a link there.
 */
static void try_when_written(struct watch *w, const char *text)
{
	unsigned int nr = 0;
	struct name *n;

	STAILQ_FOREACH(n, &w->written, link)
	if (!strcmp(n->text, text) || ++nr == WRITTEN_MAX)
		break;
	if (n && nr < WRITTEN_MAX)
		return;
	n = n ? NULL : malloc(sizeof(*n) + strlen(text) + 1);
	if (!n) {
		try_later(w);
		return;
	}
	strcpy(n->text, text);
	STAILQ_INSERT_TAIL(&w->written, n, link);
	set_timer(w);
}

static void take_written(struct watch *w)
{
	struct name *n;

	STAILQ_FOREACH(n, &w->written, link)
	w->nr_names++;
	STAILQ_CONCAT(&w->names, &w->written);
}

static struct name *take_name(struct watch *w)
{
	struct name *n = STAILQ_FIRST(&w->names);

	if (n) {
		STAILQ_REMOVE_HEAD(&w->names, link);
		w->nr_names--;
	}
	return n;
}

static void begin_scan(struct watch *w)
{
	int fd = openat(w->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	w->scan = fd < 0 ? NULL : fdopendir(fd);
	w->rescan = false;
	if (w->scan)
		return;
	warn("%s: %s", w->path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void end_scan(struct watch *w)
{
	if (w->scan)
		closedir(w->scan);
	w->scan = NULL;
}

/* Only called while no names wait, so none is lost for lack of room. */
static void scan_some(struct watch *w)
{
	struct dirent *d = NULL;
	unsigned int i;

	for (i = 0; i < SCAN_NAMES && (d = readdir(w->scan)); i++)
		watch_add_name(w, d->d_name);
	if (!d)
		end_scan(w);
}

/* Audits */

static int watch_ended(struct task *t, int ret)
{
	struct watch *w = t->end_ctx;
	const int part[RESULT_PARTS] = { t->fd[AGENT_BITMAP], t->fd[AGENT_AGES],
					 t->fd[AGENT_RECORDS] };

	return result_finish(&w->result, part, t, ret);
}

/* Does somebody have the file open for writing? If a lease fails for another reason, the
 * file counts as finished.
 */
static bool being_written(int fd)
{
	if (fcntl(fd, F_SETLEASE, F_RDLCK))
		return errno == EAGAIN;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return false;
}

/* Return: descriptor of a file that must be audited; -1: none, or not now. */
static int open_input(struct watch *w, const char *name)
{
	struct stat *st = &w->result.before;
	int fd;

	if (fstatat(w->dir, name, st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st->st_mode) ||
	    result_there(w->dir, name, st))
		return -1;
	fd = openat(w->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
			try_later(w);
		warn("%s/%s: %s", w->path, name, strerror(errno));
		return -1;
	}
	if (!fstat(fd, st) && S_ISREG(st->st_mode)) {
		if (!being_written(fd))
			return fd;
		try_when_written(w, name);
	}
	close(fd);
	return -1;
}

static int open_target(struct watch *w, struct task *t)
{
	const char *target = w->conf->target;
	int fd;

	if (!strchr(target, '/')) {
		strcpy(t->request.filter, target); /* parse_name() checked the length */
		return 0;
	}
	fd = open(target, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return rec_error_set(&t->error, -errno, "%s: %s", target, strerror(errno));
	t->fd[AGENT_SNAPSHOT] = fd;
	t->request.snapshot = AGENT_SNAPSHOT;
	return 0;
}

static void request(struct watch *w, struct task *t, const int *part)
{
	struct agent_request *r = &t->request;

	*r = w->conf->request;
	r->spec.records.fields = r->fields[0] ? r->fields : NULL;
	r->spec.keys_fd = AGENT_KEYS;
	r->spec.bitmap_fd = AGENT_BITMAP;
	r->spec.ages_fd = part[RESULT_AGES] < 0 ? -1 : AGENT_AGES;
	r->spec.records_fd = part[RESULT_RECORDS] < 0 ? -1 : AGENT_RECORDS;
	r->snapshot = -1;
	t->fd[AGENT_BITMAP] = part[RESULT_BITMAP];
	t->fd[AGENT_AGES] = part[RESULT_AGES];
	t->fd[AGENT_RECORDS] = part[RESULT_RECORDS];
	t->uid = TASK_NOBODY;
	t->owner = t->end_ctx = w;
	t->end = watch_ended;
}

/* Takes over @input: the task owns it, or it is closed. */
static void watch_begin(struct watch *w, int input)
{
	int part[RESULT_PARTS] = { -1, -1, -1 };
	struct task *t = task_new();
	int ret = t ? result_open(&w->result, part) : -ENOMEM;

	if (ret) {
		fail("%s/%s: cannot create the result: %s", w->path, w->result.name,
		     strerror(-ret));
		close(input);
		task_free(t);
		try_later(w);
		return;
	}
	t->fd[AGENT_KEYS] = input;
	request(w, t, part);
	ret = open_target(w, t);
	if (!ret)
		ret = sched_add(w->all->c.sched, t);
	if (!ret) {
		w->task = t;
		return;
	}
	/* rare, and only one small file is synced: done in the event loop */
	fail("%s/%s: %s", w->path, w->result.name, t->error.text);
	result_finish(&w->result, part, t, ret);
	if (w->result.later)
		try_later(w);
	task_free(t);
}

static void try_name(struct watch *w, const char *name)
{
	struct result *r = &w->result;
	int input;

	memset(r, 0, sizeof(*r));
	input = open_input(w, name);
	if (input < 0)
		return;
	free(w->filter);
	w->filter = strdup(w->conf->target);
	if (!w->filter) {
		close(input);
		try_later(w);
		return;
	}
	strcpy(r->name, name);
	r->dir = w->dir;
	r->filter = w->filter;
	r->mode = w->conf->mode;
	r->gid = w->conf->gid;
	r->part[RESULT_BITMAP] = true;
	r->part[RESULT_AGES] = w->conf->ages;
	r->part[RESULT_RECORDS] = w->conf->records;
	watch_begin(w, input);
}

static void next(struct watch *w)
{
	unsigned int left = TURN_NAMES;

	while (!w->task && !hook_is_running(&w->hook) && w->conf && !w->all->quiet) {
		struct name *n = left ? take_name(w) : NULL;

		if (!left--) {
			timer_start(w->all->more, 0);
			break;
		}
		if (n)
			try_name(w, n->text);
		else if (w->scan)
			scan_some(w);
		else if (w->rescan)
			begin_scan(w);
		else
			break;
		free(n);
	}
}

static int watch_go_on(sd_event_source *timer, uint64_t usec, void *arg)
{
	struct watches *all = arg;
	struct watch *w;

	(void)timer;
	(void)usec;
	TAILQ_FOREACH(w, &all->list, link)
	next(w);
	return 0;
}

static int try_again(sd_event_source *timer, uint64_t usec, void *arg)
{
	struct watches *all = arg;
	struct watch *w;

	(void)timer;
	(void)usec;
	TAILQ_FOREACH(w, &all->list, link)
	{
		w->rescan |= w->later;
		w->later = false;
		take_written(w);
		next(w);
	}
	return 0;
}

/* Events */

/* All directories share one queue, so an overflow concerns all of them. */
static int watch_heed(sd_event_source *source, const struct inotify_event *e, void *arg)
{
	struct watch *w = arg;

	(void)source;
	if (e->mask & IN_Q_OVERFLOW)
		w->rescan = true;
	else if (e->mask & IN_IGNORED)
		warn("%s: the directory is gone", w->path);
	else if (e->len && !(e->mask & IN_ISDIR))
		watch_add_name(w, e->name);
	next(w);
	return 0;
}

/* Directories */

static void leave(struct watch *w)
{
	struct name *n;

	hook_kill(&w->hook);
	keep_end(&w->keep);
	take_written(w);
	while ((n = take_name(w)))
		free(n);
	end_scan(w);
	sd_event_source_disable_unref(w->source);
	if (w->dir >= 0)
		close(w->dir);
	TAILQ_REMOVE(&w->all->list, w, link);
	free(w->filter);
	free(w->path);
	free(w);
}

static int open_dir(struct watch *w)
{
	int ret;

	w->dir = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->dir < 0)
		return -errno;
	if (!fs_taken(w->dir))
		return -EOPNOTSUPP;
	if (flock(w->dir, LOCK_EX | LOCK_NB))
		return -errno;
	/* watch the open directory, whatever is at its path now */
	ret = sd_event_add_inotify_fd(w->all->c.loop, &w->source, w->dir, EVENTS, watch_heed, w);
	return ret < 0 ? ret : 0;
}

static void watch_enter(struct watches *all, const struct conf_watch *conf)
{
	struct watch *w = calloc(1, sizeof(*w));
	int ret = -ENOMEM;

	if (w) {
		w->all = all;
		w->conf = conf;
		w->dir = -1;
		STAILQ_INIT(&w->names);
		STAILQ_INIT(&w->written);
		TAILQ_INSERT_TAIL(&all->list, w, link);
		w->path = strdup(conf->dir);
		ret = w->path ? open_dir(w) : -ENOMEM;
	}
	if (!ret) {
		w->rescan = true;
		return;
	}
	if (ret == -EWOULDBLOCK)
		fail("%s: another agent is watching it", conf->dir);
	else if (ret == -EOPNOTSUPP)
		fail("%s: the agent does not support this file system", conf->dir);
	else
		fail("%s: %s", conf->dir, strerror(-ret));
	if (w)
		leave(w);
}

/* Is the watched directory still at its path? */
static bool in_place(const struct watch *w)
{
	struct stat here, there;

	return !fstat(w->dir, &here) && !stat(w->path, &there) && here.st_dev == there.st_dev &&
	       here.st_ino == there.st_ino;
}

/* A directory that was removed or replaced is left, as if it had no settings. */
static struct watch *watch_find(struct watches *all, const char *dir)
{
	struct watch *w;

	TAILQ_FOREACH(w, &all->list, link)
	if (!strcmp(w->path, dir) && in_place(w))
		return w;
	return NULL;
}

/* Leave directories that have no settings any more. */
static void leave_old(struct watches *all)
{
	struct watch *w = TAILQ_FIRST(&all->list), *after;

	for (; w; w = after) {
		after = TAILQ_NEXT(w, link);
		if (!w->conf && !w->task && !hook_is_running(&w->hook))
			leave(w);
	}
}

void watches_set(struct watches *all, const struct conf *conf)
{
	struct watch *w;
	unsigned int i;

	TAILQ_FOREACH(w, &all->list, link)
	w->conf = NULL;
	for (i = 0; i < conf->nr_watches; i++) {
		w = watch_find(all, conf->watches[i].dir);
		if (w && w->conf) {
			fail("%s: configured twice", w->path);
		} else if (w) {
			w->conf = &conf->watches[i];
			w->rescan = true;
		} else {
			watch_enter(all, &conf->watches[i]);
		}
	}
	leave_old(all);
	TAILQ_FOREACH(w, &all->list, link)
	next(w);
	sd_event_source_set_enabled(all->keeper, SD_EVENT_OFF); /* it may wait for its minute */
	timer_start(all->keeper, 0);
}

/* Results that are kept */

static bool watch_keeps(const struct watch *w)
{
	return w->conf && (w->conf->keep.ns || w->conf->keep.bytes);
}

/* Return: there is more to do soon. */
static bool keep_some(struct watch *w)
{
	unsigned int removed;
	bool more = keep_step(&w->keep, w->dir, &w->conf->keep, w->task ? w->result.name : NULL,
			      &removed);

	if (removed)
		log_info("%s: results of %u files removed", w->path, removed);
	return more;
}

static int keep_all(sd_event_source *timer, uint64_t usec, void *arg)
{
	struct watches *all = arg;
	bool more = false, any = false;
	struct watch *w;

	(void)timer;
	(void)usec;
	TAILQ_FOREACH(w, &all->list, link)
	{
		if (!watch_keeps(w))
			continue;
		any = true;
		more |= keep_some(w);
	}
	if (any)
		timer_start(timer, more ? KEEP_STEP_USEC : KEEP_USEC);
	return 0;
}

/* Hooks */

static void go_on_after(struct watch *w)
{
	if (w->conf)
		next(w);
	else
		leave(w);
}

static void hook_ended(void *ctx, const char *fault)
{
	struct watch *w = ctx;

	if (fault)
		warn("%s/%s: the hook %s", w->path, w->result.name, fault);
	go_on_after(w);
}

/* Return: it runs, and its end goes on. */
static bool run_hook(struct watch *w)
{
	char path[PATH_MAX + NAME_MAX + 16];
	int ret;

	if (!w->conf || !w->conf->hook.nr_words || w->all->quiet)
		return false;
	snprintf(path, sizeof(path), "%s/%s.audit.json", w->path, w->result.name);
	w->hook.end = hook_ended;
	w->hook.ctx = w;
	ret = hook_start(&w->hook, w->all->c.loop, &w->conf->hook, path);
	if (ret)
		warn("%s/%s: the hook cannot be started: %s", w->path, w->result.name,
		     strerror(-ret));
	return !ret;
}

static void watch_log_end(const struct watch *w, struct task *t)
{
	const struct job_state *s = task_state(t);

	if (t->ret)
		warn("%s/%s: %s: %s", w->path, w->result.name, w->filter,
		     t->error.text[0] ? t->error.text : strerror(-t->ret));
	else
		log_info("%s/%s: %s: %llu keys, %llu present, by %s", w->path, w->result.name,
			 w->filter, s->mark.keys, s->mark.present, s->engine->name);
}

json_t *watch_file_json(const struct task *t)
{
	const struct watch *w = t->owner;
	char path[PATH_MAX + NAME_MAX + 2];

	snprintf(path, sizeof(path), "%s/%s", w->path, w->result.name);
	return json_path(path);
}

void watches_ended(struct watches *all, struct task *t)
{
	struct watch *w = t->owner;
	bool done = !w->result.later && t->ret != -ECANCELED && t->ret != -EAGAIN;

	if (w->result.later)
		try_later(w);
	else if (done)
		stats_add(&all->c.stats->files_done, 1);
	watch_log_end(w, t);
	task_free(t);
	w->task = NULL;
	if (w->result.again)
		watch_add_name(w, w->result.name);
	if (!done || !run_hook(w))
		go_on_after(w);
}

struct watches *watches_new(const struct watches_conf *c)
{
	struct watches *all = calloc(1, sizeof(*all));

	if (!all)
		return NULL;
	all->c = *c;
	TAILQ_INIT(&all->list);
	if (timer_new(&all->more, c->loop, watch_go_on, all) >= 0 &&
	    timer_new(&all->timer, c->loop, try_again, all) >= 0 &&
	    timer_new(&all->keeper, c->loop, keep_all, all) >= 0)
		return all;
	watches_free(all);
	return NULL;
}

void watches_quiet(struct watches *all)
{
	all->quiet = true;
}

void watches_free(struct watches *all)
{
	while (!TAILQ_EMPTY(&all->list))
		leave(TAILQ_FIRST(&all->list));
	sd_event_source_disable_unref(all->more);
	sd_event_source_disable_unref(all->timer);
	sd_event_source_disable_unref(all->keeper);
	free(all);
}
