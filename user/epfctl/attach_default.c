// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What 'attach' does if no filter is named: it makes a filter with the name of the
 * interface, and starts a process that ends its epochs. 'detach' removes what nothing else
 * uses.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "ebpf/ebpf.h"
#include "xdp.h"

#define DEFAULT_NS NS_PER_SEC
#define DEFAULT_PPS 1e6
#define WAIT_MS 2000 /* until the kernel frees programs, or a process ends */
#define MAPS_MAX 64  /* maps of one program; the verifier's own limit */

static bool attach_default_exists(int dev, const char *name)
{
	int filter = epf_dev_find(dev, name);

	if (filter < 0)
		return false;
	epf_close(filter);
	return true;
}

static int attach_default_create(int dev, struct xdp_want *want)
{
	struct epf_plan_request p = { .time_ns = DEFAULT_NS, .pps = DEFAULT_PPS };
	struct epf_planned plan;
	struct epf_create_opts opts = { .size = sizeof(opts), .shape = &plan.shape };
	int err;

	if (!rotate_possible(want->rotate, !want->bpf))
		return -EOPNOTSUPP;
	if (want->bpf && !caps_ok("creating a filter that is pure BPF", CAPS_PROGRAMS))
		return -EPERM;
	if (!plan_geometry(&p, &plan))
		return -EINVAL;
	xdp_obj_quiet();
	snprintf(plan.params.name, sizeof(plan.params.name), "%s", want->filter);
	plan.params.hash = EPF_HASH_NH;
	plan.params.refresh = EPF_REFRESH;
	err = rotate_create(dev, &plan.params, &opts, &want->rotate, &want->id);
	if (err)
		fail_limits(err, "creating a filter", NULL, true, plan.bytes);
	else
		want->made = true;
	return err;
}

/* Does the existing filter fit @want->rotate? If not, prints an error. */
static bool rotates_so(const struct xdp_want *want)
{
	bool timed = want->bpf && ebpf_is_timed(want->filter);

	if (want->rotate == ROTATE_ANY || timed == (want->rotate == ROTATE_KERNEL))
		return true;
	fail("there is a filter '%s' already, whose epochs %s: leave --rotate "
	     "out, or destroy the filter",
	     want->filter, timed ? "the kernel ends" : "the kernel does not end");
	return false;
}

int default_filter(struct xdp_want *want)
{
	int dev, err = 0;

	if (!parse_name(want->ifname))
		return -EINVAL;
	dev = open_device();
	if (dev < 0)
		return dev;
	want->filter = want->ifname;
	want->bpf = !epf_is_module(dev);
	if (!attach_default_exists(dev, want->filter))
		err = attach_default_create(dev, want);
	else if (!rotates_so(want))
		err = -EEXIST;
	epf_close(dev);
	return err;
}

/* Runs in the child. It leaves the network namespace, which it would keep alive. */
static void become_holder(const char *name, int out)
{
	int null = open("/dev/null", O_RDONLY);
	int net = open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC);

	setsid();
	if (net >= 0)
		setns(net, CLONE_NEWNET);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	if (!chdir("/"))
		execl("/proc/self/exe", "epfctl", "hold", name, NULL);
	_exit(127);
}

/* Read the first line that the child prints, which says whether it holds the filter.
 * Return: 1: it does; 0: another process, such as epfagent, was faster; -1: it failed.
 */
static int has_begun(int in, const char *name)
{
	char text[256] = "";
	size_t len = 0;
	ssize_t n;

	while (!strchr(text, '\n') && len < sizeof(text) - 1) {
		n = read(in, text + len, sizeof(text) - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
		text[len] = 0;
	}
	if (!strncmp(text, "holding", 7))
		return 1;
	if (ebpf_held(name))
		return 0;
	text[strcspn(text, "\n")] = 0;
	fail("starting 'epfctl hold': %s", *text ? text : "it ended");
	return -1;
}

int default_holder(struct xdp_want *want)
{
	int pipes[2], begun;
	pid_t pid;

	if (!want->bpf || ebpf_held(want->filter))
		return 0;
	fflush(NULL);
	if (pipe2(pipes, O_CLOEXEC) || (pid = fork()) < 0)
		return fail_errno(errno, "starting 'epfctl hold': %m");
	if (!pid)
		become_holder(want->filter, pipes[1]);
	close(pipes[1]);
	begun = has_begun(pipes[0], want->filter);
	close(pipes[0]);
	want->holder = begun > 0 ? (__u32)pid : 0;
	return begun < 0 ? -ECHILD : 0;
}

void default_show(const struct xdp_want *want)
{
	if (want->made)
		printf("  created filter '%s': the last second of up to 1M "
		       "packets/s, false drops at most 1 in 10,000\n",
		       want->filter);
	if (want->made && want->rotate == ROTATE_KERNEL)
		printf("  the kernel ends its epochs\n");
	if (want->holder)
		printf("  process %u ends its epochs; after 'kill %u' repeats "
		       "pass until 'epfctl hold %s'\n",
		       want->holder, want->holder, want->filter);
	printf("  'epfctl status %s' shows its counters, 'epfctl detach %s' "
	       "ends it\n",
	       want->ifname, want->ifname);
}

static bool uses_map(__u32 prog, __u32 map)
{
	__u32 ids[MAPS_MAX], len = sizeof(struct bpf_prog_info), i;
	struct bpf_prog_info info = {
		.nr_map_ids = MAPS_MAX,
		.map_ids = (__u64)(unsigned long)ids,
	};
	int fd = bpf_prog_get_fd_by_id(prog);
	bool uses = false;

	if (fd < 0)
		return false;
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		info.nr_map_ids = 0;
	for (i = 0; i < info.nr_map_ids && i < MAPS_MAX; i++)
		uses |= ids[i] == map;
	close(fd);
	return uses;
}

/* Is the filter's table in no programs but its own, "ops", and that of a timer? libxdp keeps
 * the program that it detached until this process ends.
 */
static bool unused(const struct epf_xdp_conf *conf)
{
	char ifname[XDP_NAME_BYTES];
	__u32 prog = 0;
	int nr = ebpf_is_timed(conf->filter) ? -2 : -1;

	if (xdp_uses(conf->id, true, ifname))
		return false;
	/* Without CAP_SYS_ADMIN the kernel does not list programs. */
	while (!bpf_prog_get_next_id(prog, &prog))
		nr += prog != conf->prog_id && uses_map(prog, conf->id);
	return nr <= 0;
}

/* Wait until @done() of @conf. Return: false: it did not happen in time. */
static bool wait_for(bool (*done)(const struct epf_xdp_conf *conf), const struct epf_xdp_conf *conf)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int i;

	for (i = 0; i < WAIT_MS; i++) {
		if (done(conf))
			return true;
		nanosleep(&ms, NULL);
	}
	return done(conf);
}

static bool attach_default_let_go(const struct epf_xdp_conf *conf)
{
	return !ebpf_held(conf->filter);
}

/* Is @pid still the process that was started, not a later one with its number? */
static bool is_holder(__u32 pid, const char *name)
{
	char path[32], got[EPF_NAME_LEN + 16] = "", want[EPF_NAME_LEN + 16];
	int fd, len;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, got, sizeof(got));
	close(fd);
	len = snprintf(want, sizeof(want), "epfctl%chold%c%s", 0, 0, name);
	return n == len + 1 && !memcmp(got, want, (size_t)n);
}

static void end_holder(const struct epf_xdp_conf *conf)
{
	if (!conf->holder || !is_holder(conf->holder, conf->filter))
		return;
	kill((pid_t)conf->holder, SIGTERM);
	wait_for(attach_default_let_go, conf);
}

/* Is the filter of that name the one that was made? */
static bool same(int dev, const struct epf_xdp_conf *conf)
{
	int filter = epf_dev_find(dev, conf->filter);
	struct epf_info info;
	bool is;

	if (filter < 0)
		return false;
	is = !epf_filter_info(filter, &info) && info.id == conf->id &&
	     epf_is_module(filter) == (conf->backend == EPF_XDP_MODULE);
	epf_close(filter);
	return is;
}

static void attach_default_destroy(const struct epf_xdp_conf *conf)
{
	int dev = epf_dev_open(), err = 0;

	if (dev < 0)
		return;
	if (same(dev, conf))
		err = epf_dev_destroy(dev, conf->filter, false);
	epf_close(dev);
	if (err == -EBUSY)
		warn("the filter '%s' stays, because others use it", conf->filter);
	else if (err)
		warn("the filter '%s' stays: %s", conf->filter, strerror(-err));
}

void default_undo(const struct epf_xdp_conf *conf)
{
	if (!conf->made && !conf->holder)
		return;
	if (conf->backend == EPF_XDP_BPF && !wait_for(unused, conf)) {
		warn("the filter '%s' and the process that ends its epochs stay, because other "
		     "programs use the filter",
		     conf->filter);
		return;
	}
	end_holder(conf);
	if (conf->made)
		attach_default_destroy(conf);
}
