// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * epfagent: audits for clients. There are two main threads: the event loop, which
 * owns all sockets, directories and settings, and the scheduler's worker, which owns
 * all running audits. sched.h is the interface between them. Other threads receive
 * messages (pool.h), serve the metrics (http.h), end epochs of filters (hold.h) and work for
 * clusters (cluster/live.h).
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "ebpf/calls.h"
#include "epfagent/clusters.h"
#include "epfagent/conf.h"
#include "epfagent/control.h"
#include "epfagent/hold.h"
#include "epfagent/http.h"
#include "epfagent/listen.h"
#include "epfagent/sched.h"
#include "epfagent/server.h"
#include "epfagent/watch.h"
#include "common/clock.h"
#include "common/error.h"
#include "libepf/backend.h"

/* Descriptors of a client (connection, files, copies), and of everything else. */
#define FDS_CLIENT (1 + AGENT_FDS + 2)
#define FDS_OTHER 512

/**
 * struct agent - the state of the process
 * @conf: settings
 * @argc: of the program, for reloading
 * @argv: of the program
 * @stats: counters
 * @loop: event loop
 * @wake: eventfd: the worker has made progress
 * @own_socket: the socket is ours and must be unlinked
 * @module_only: EPF_BACKEND is "module"
 */
struct agent {
	struct conf conf;
	int argc;
	char **argv;
	struct agent_stats stats;
	sd_event *loop;
	int wake;
	struct cache *cache;
	struct sched *sched;
	struct server *server;
	struct watches *watches;
	struct clusters *clusters;
	struct metrics *metrics;
	struct holds *holds;
	bool own_socket;
	bool module_only;
};

static struct agent agent;

/* Audits that ended */

/* Log the end of a client's audit; watch.c logs those of watched files. */
static void main_log_end(struct task *t)
{
	const struct job_state *s = task_state(t);
	const char *what = t->request.filter[0] ? t->request.filter : "a snapshot";

	if (t->ret)
		warn("user %u, process %d: %s: %s", t->uid, (int)t->pid, what,
		     t->error.text[0] ? t->error.text : strerror(-t->ret));
	else
		log_info("user %u, process %d: %s: %llu keys, %llu present, by %s", t->uid,
			 (int)t->pid, what, s->mark.keys, s->mark.present, s->engine->name);
}

static void take_ended(void)
{
	struct task *t;

	while ((t = sched_take(agent.sched))) {
		if (t->uid == TASK_NOBODY) {
			watches_ended(agent.watches, t);
			continue;
		}
		main_log_end(t);
		server_ended(agent.server, t);
	}
}

static int woken(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	eventfd_t unused;

	(void)source;
	(void)events;
	(void)arg;
	eventfd_read(fd, &unused);
	server_progress(agent.server);
	take_ended();
	return 0;
}

/* Signals */

static bool differ(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* Raise the limit so that descriptors suffice for all clients. Return: whether they do. */
static bool raise_limit(const struct conf *conf)
{
	rlim_t need = FDS_OTHER + FDS_CLIENT * conf->clients;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return true;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur >= need)
		return true;
	fail("%llu clients may need %llu descriptors, but the limit is %llu: "
	     "raise it, or lower 'clients'",
	     conf->clients, (unsigned long long)need, (unsigned long long)limit.rlim_cur);
	return false;
}

/* Notifications do nothing if systemd did not start the agent. */
static int reload(sd_event_source *source, const struct signalfd_siginfo *info, void *arg)
{
	struct timespec now = epf_clock_after(0);
	struct conf new;

	(void)source;
	(void)info;
	(void)arg;
	/* systemd needs the time to distinguish this reload from an earlier one */
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld",
		   now.tv_sec * 1000000LL + now.tv_nsec / 1000);
	if (conf_load(&new, agent.argc, agent.argv) && raise_limit(&new)) {
		struct conf old = agent.conf;

		if (differ(old.socket, new.socket) || differ(old.group, new.group) ||
		    differ(old.metrics, new.metrics) ||
		    memcmp(&old.hold, &new.hold, sizeof(old.hold)))
			warn("changes of socket, group, metrics and hold need a "
			     "restart");
		agent.conf = new;
		cache_limit(agent.cache, &agent.conf.cache);
		sched_limit(agent.sched, &agent.conf.sched);
		watches_set(agent.watches, &agent.conf);
		clusters_set(agent.clusters, &agent.conf);
		conf_free(&old);
		log_info("settings reloaded");
	} else {
		conf_free(&new);
		warn("settings not changed");
	}
	sd_notify(0, "READY=1");
	return 0;
}

/* Call it before any other thread starts: threads inherit the blocked signals. They stay
 * blocked, so a second SIGTERM does not interrupt the end.
 */
static int open_signals(void)
{
	sigset_t set;
	int ret;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* write() fails with EFBIG */
	signal(SIGIO, SIG_IGN);   /* of a lease, see watch.c */
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	ret = sd_event_add_signal(agent.loop, NULL, SIGHUP, reload, NULL);
	/* without a function, a signal ends the loop */
	if (ret >= 0)
		ret = sd_event_add_signal(agent.loop, NULL, SIGTERM, NULL, NULL);
	if (ret >= 0)
		ret = sd_event_add_signal(agent.loop, NULL, SIGINT, NULL, NULL);
	return ret;
}

/* Start in this order, end in reverse */

/* All sources have the same priority: sd-event dispatches one event at a time, first the
 * one that has been pending for longest (pending_prioq_compare(), sd-event.c). So a source
 * waits for at most one event of each other source, and a callback may free any source.
 */
static bool open_events(void)
{
	int ret = sd_event_new(&agent.loop);

	if (ret >= 0)
		ret = open_signals();
	agent.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ret >= 0)
		ret = agent.wake < 0 ?
			      -errno :
			      sd_event_add_io(agent.loop, NULL, agent.wake, EPOLLIN, woken, NULL);
	if (ret >= 0)
		ret = sd_event_set_watchdog(agent.loop, true);
	if (ret < 0)
		fail("cannot start: %s", strerror(-ret));
	return ret >= 0;
}

static bool open_worker(void)
{
	int ret = -ENOMEM;

	agent.cache = cache_new(&agent.conf.cache, &agent.stats);
	if (agent.cache)
		ret = sched_start(&agent.sched, &agent.conf.sched, agent.cache, &agent.stats,
				  agent.wake);
	if (ret)
		fail("cannot start: %s", strerror(-ret));
	return !ret;
}

/* Those that are configured begin later: when the epochs of their filters are ended. */
static bool open_clusters(void)
{
	agent.clusters = clusters_new(agent.loop);
	agent.stats.clusters = clusters_stats;
	agent.stats.clusters_of = agent.clusters;
	if (!agent.clusters)
		fail("out of memory");
	return agent.clusters;
}

static bool open_server(void)
{
	struct server_conf c = {
		&agent.conf, agent.sched, &agent.stats, &agent.holds, agent.clusters, agent.loop, -1
	};

	c.listener = listen_open(&agent.conf, &agent.own_socket);
	if (c.listener < 0)
		return false;
	if (!server_new(&agent.server, &c))
		return true;
	if (agent.own_socket)
		unlink(agent.conf.socket);
	fail("out of memory");
	return false;
}

static bool open_watches(void)
{
	struct watches_conf c = { agent.sched, &agent.stats, agent.loop };

	agent.watches = watches_new(&c);
	if (!agent.watches) {
		fail("out of memory");
		return false;
	}
	watches_set(agent.watches, &agent.conf);
	return true;
}

static bool open_metrics(void)
{
	struct metrics_conf c = { .listen = agent.conf.metrics, .stats = &agent.stats };
	struct rec_error e;

	if (!c.listen)
		return true;
	if (!metrics_start) {
		fail("metrics: this epfagent was built without libmicrohttpd");
		return false;
	}
	if (!metrics_start(&agent.metrics, &c, &e))
		return true;
	fail("metrics: %s", e.text);
	return false;
}

/* EPF_BACKEND chooses the backend, as for epfctl. */
static bool choose_filters(void)
{
	static const char *const names[] = { "auto", "module", "bpf" };
	const char *name = getenv("EPF_BACKEND");
	size_t i;

	if (ebpf_backend_add)
		ebpf_backend_add();
	for (i = 0; name && i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]))
			continue;
		epf_backend_choose((enum epf_backend_choice)i);
		agent.module_only = i == EPF_BACKEND_MODULE;
		return true;
	}
	if (name)
		fail("EPF_BACKEND must be auto, module or bpf, not '%s'", name);
	return !name;
}

/* A failure is only a warning: everything else works without it. */
static bool open_holds(void)
{
	int ret;

	if (agent.conf.hold.which == HOLD_NONE || agent.module_only || !holds_start)
		return true;
	ret = holds_start(&agent.holds, &agent.conf.hold, &agent.stats);
	if (ret)
		warn("cannot end the epochs of pure BPF filters: %s", strerror(-ret));
	return true;
}

/* Log the GPU. This also loads the driver, so no client has to wait for that. */
static void tell_gpu(void)
{
	char text[EPF_WHY_LEN];

	if (epf_gpu_there(text))
		log_info("GPU: %s", text);
}

static bool main_run(void)
{
	int ret;

	tell_gpu();
	clusters_set(agent.clusters, &agent.conf);

	sd_notify(0, "READY=1");
	log_info("epfagent %s at %s", EPF_VERSION, agent.conf.socket);
	ret = sd_event_loop(agent.loop);
	if (ret < 0)
		fail("event loop: %s", strerror(-ret));
	sd_notify(0, "STOPPING=1");
	return ret >= 0;
}

/* Stop new work first, then end running audits, then free everything. */
static void main_close_all(void)
{
	if (agent.watches)
		watches_quiet(agent.watches);
	if (agent.clusters)
		clusters_set(agent.clusters, NULL);
	if (agent.sched) {
		sched_stop(agent.sched);
		take_ended();
	}
	if (agent.metrics)
		metrics_stop(agent.metrics);
	if (agent.watches)
		watches_free(agent.watches);
	if (agent.server && agent.own_socket)
		unlink(agent.conf.socket);
	if (agent.sched)
		sched_free(agent.sched);
	if (agent.cache)
		cache_free(agent.cache);
	if (agent.holds)
		holds_stop(agent.holds);
	clusters_free(agent.clusters);
	sd_event_unref(agent.loop);
	conf_free(&agent.conf);
}

/* The process holds copies of filters and their hash keys: prevent core dumps, and
 * access by processes without CAP_SYS_PTRACE.
 */
static void hide_memory(void)
{
	if (!geteuid())
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int main(int argc, char **argv)
{
	bool good;

	hide_memory();
	agent.argc = argc;
	agent.argv = argv;
	agent.stats.start_ns = epf_wall_ns();
	out_levels();
	out_notes(control_note);
	good = conf_load(&agent.conf, argc, argv) && raise_limit(&agent.conf) && choose_filters() &&
	       open_events() && open_worker() && open_clusters() && open_server() && open_holds() &&
	       open_watches() && open_metrics();
	good = good && main_run();
	main_close_all();
	return good ? 0 : EXIT_FAIL;
}
