// SPDX-License-Identifier: GPL-2.0
/*
 * race OBJECT BROKEN-OBJECT: filters that a map holds
 *
 *   - the key of a packet is the same in tc and in XDP, whatever it is made of, and so is
 *     the error for a packet without a key;
 *   - no insertion is lost to a program that interrupts it: two processes of one CPU send
 *     EPF_SENDS packets, whose keys are inserted in process context with softirqs on.
 *     Meanwhile softirqs of that CPU insert the packets of a flood, and look up the sent
 *     packets as they arrive over the loopback device. Receive packet steering brings the
 *     flood from another CPU by interrupts, which end in softirqs;
 *   - BROKEN-OBJECT takes the filter out of a slot of its CPU instead: then some
 *     insertions are lost;
 *   - swapping filters, taking them out of the map and putting them back, destroying them
 *     by force and creating them again does no harm: an insertion succeeds, or there is no
 *     filter;
 *   - when the filter is destroyed by force, or none is held, all calls return ENODEV.
 */
#include <epf/hash.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../core/tap.h"
#include "../params.h"
#include "libepf/epf.h"
#include "race.h"

#define NAME "selftest-race"
#define SENDS 50000u /* three times as many with EPF_THOROUGH */
#define SENDERS 2
#define NOT_RUN 1000000 /* the program did not run */
#define TCX_INGRESS 46  /* BPF_TCX_INGRESS of Linux 6.6 */
#define BETWEEN 20      /* interrupting packets, with fewer of which a run shows nothing */
#define CGROUPS "/tmp/epf-race-cgroups"

/* Epochs end all the time, also by the senders' insertions. */
static const struct epf_params params = { .name = NAME, PARAMS(4096, 2, 14, 70000) };

struct progs {
	struct bpf_object *obj;
	volatile struct race *race;
};

static bool load(struct progs *p, const char *path)
{
	p->obj = bpf_object__open(path);
	if (!p->obj || bpf_object__load(p->obj))
		return false;
	p->race = mmap(NULL, sizeof(struct race), PROT_READ | PROT_WRITE, MAP_SHARED,
		       bpf_object__find_map_fd_by_name(p->obj, ".bss"), 0);
	return p->race != MAP_FAILED;
}

static int prog(const struct progs *p, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(p->obj, name));
}

/* Run @name, on a packet if there are bytes. Return: the result it stored, or NOT_RUN. */
static long run(const struct progs *p, const char *name, const __u8 *data, __u32 len)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err;

	if (len) {
		opts.data_in = data;
		opts.data_size_in = len;
	}
	err = bpf_prog_test_run_opts(prog(p, name), &opts);
	return err ? NOT_RUN : (long)p->race->last;
}

static bool take(const struct progs *p, __u32 id)
{
	p->race->filter = id;
	p->race->got = 0;
	return run(p, "race_take", NULL, 0) != NOT_RUN && p->race->got;
}

/* ------------------------------------------------------ one key in both ---- */

/* Make random Ethernet frame @n: IPv4 or IPv6, tags, a fragment, a protocol, an ICMP
 * error, complete or cut.
 */
static __u32 frame(__u64 n, __u8 *p)
{
	static const __u8 protos[] = { 17, 17, 6, 132, 1, 58, 50, 17 };
	__u64 r = epf_word(n, 2);
	__u32 i, at = 14, len;

	for (i = 0; i < 256; i++)
		p[i] = (__u8)epf_word(n, 3 + i);
	if (r & 1) { /* one tag */
		p[12] = 0x81;
		p[13] = 0;
		at = 18;
	}
	if (r & 2) {
		p[at - 2] = 0x86;
		p[at - 1] = 0xdd;
		p[at] = 0x60;
		p[at + 6] = protos[r >> 2 & 7];
		len = 40 + 120;
		p[at + 4] = 0;
		p[at + 5] = 120;
	} else {
		p[at - 2] = 8;
		p[at - 1] = 0;
		p[at] = 0x45;
		p[at + 6] = 0;
		p[at + 7] = r >> 8 & 7 ? 0 : 9;
		p[at + 9] = protos[r >> 2 & 7];
		len = 20 + 120;
		p[at + 2] = 0;
		p[at + 3] = 140;
	}
	return r >> 12 & 7 ? at + len : at + (__u32)(r >> 16) % len;
}

static const struct epf_pkt_opts kinds[] = {
	{ EPF_PKT_FRAME, EPF_LINK_ETHER, 0, 0 },
	{ EPF_PKT_FRAME, EPF_LINK_ETHER, 0, 40 },
	{ EPF_PKT_PACKET, EPF_LINK_ETHER, 0, 0 },
	{ EPF_PKT_PACKET, EPF_LINK_ETHER, EPF_PKT_NO_MAC | EPF_PKT_NO_VLAN, 64 },
	{ EPF_PKT_FLOW, EPF_LINK_ETHER, 0, 0 },
	{ EPF_PKT_FLOW, EPF_LINK_ETHER, EPF_PKT_PASS_CONTROL, 0 },
	{ EPF_PKT_FLOW, EPF_LINK_ETHER, EPF_PKT_REVERSE | EPF_PKT_ERRORS | EPF_PKT_FIRST, 0 },
	{ EPF_PKT_CONVERSATION, EPF_LINK_ETHER, EPF_PKT_ERRORS, 0 },
	{ EPF_PKT_PEER, EPF_LINK_ETHER, EPF_PKT_REVERSE, EPF_PKT_PREFIX(24, 64) },
	{ EPF_PKT_PEER_PORT, EPF_LINK_ETHER, EPF_PKT_FIRST, 0 },
	{ 99, EPF_LINK_ETHER, 0, 0 },
};

/* XDP finds what tc has inserted. For a packet without a key all three return the same.
 * The kernel runs no tc program on an IP packet that is shorter than its header.
 */
static bool same(const struct progs *p, const __u8 *data, __u32 len)
{
	long asked = run(p, "same_ask_tc", data, len);
	long learnt = run(p, "same_learn", data, len);
	long found = run(p, "same_ask", data, len);

	bool good = learnt ? asked == learnt && found == learnt : asked >= 0 && found > 0;

	if (learnt == NOT_RUN && len < 18 + 40)
		return true;
	if (!good)
		printf("# %u bytes, key %u, flags %#x: tc %ld, %ld, XDP %ld\n", len,
		       p->race->opts.key, p->race->opts.flags, asked, learnt, found);
	return good;
}

static void same_keys(const struct progs *p)
{
	unsigned int k, n, with = 0, bad = 0;
	__u8 data[256];

	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (n = 0; n < 300; n++) {
			__u32 len = frame(tap_seed() + 1000 * k + n, data);

			if (len < 14)
				continue;
			*(struct epf_pkt_opts *)&p->race->opts = kinds[k];
			bad += !same(p, data, len);
			with += p->race->last > 0;
		}
	tap_ok(!bad && with > 500,
	       "tc and XDP make the same keys: %u packets differ, "
	       "%u have a key",
	       bad, with);
}

/* ------------------------------------------------------------- the race ---- */

static int on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

static bool say(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) > 0;

	close(fd);
	return good;
}

static int udp_from(__u16 port)
{
	struct sockaddr_in me = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int sock = socket(AF_INET, SOCK_DGRAM, 0), one = 1;

	setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(sock, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	return bind(sock, (struct sockaddr *)&me, sizeof(me)) ? -1 : sock;
}

/* Send to 127.X.Y.1, from @first on: one flow for each. */
static bool send_all(int sock, __u32 first, __u32 count)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	__u32 n;

	for (n = first; n < first + count; n++) {
		to.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (n & 0xffff) * 256);
		to.sin_port = htons(9 + (n >> 16));
		if (sendto(sock, "?", 1, 0, (struct sockaddr *)&to, sizeof(to)) != 1)
			return false;
	}
	return true;
}

/* Send from the cgroup of the program, on CPU 0. */
static pid_t sender(__u32 first, __u32 count)
{
	pid_t pid = fork();
	int sock;

	if (pid)
		return pid;
	/* use _exit(), because the parent restores the settings */
	if (on_cpu(0) || !say(CGROUPS "/race/cgroup.procs", "0"))
		_exit(1);
	sock = udp_from(RACE_PORT); /* a socket belongs to the cgroup of its creator */
	_exit(sock < 0 || !send_all(sock, first, count));
}

static pid_t flood(void)
{
	pid_t pid = fork();
	int sock;

	if (pid)
		return pid;
	sock = udp_from(RACE_PORT + 1);
	if (sock < 0 || on_cpu(1))
		_exit(1);
	for (;;)
		send_all(sock, 0, 60000);
}

#define PREEMPT "/sys/kernel/debug/sched/preempt"
#define BACKLOG "/proc/sys/net/core/netdev_max_backlog"
#define STEER "/sys/class/net/lo/queues/rx-0/rps_cpus"

/* The kernel's settings before the test: "none (voluntary) full", and a number. */
static char preempt[64], backlog[32];

static void ask_setting(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, room - 1);

	text[n > 0 ? n : 0] = 0;
	close(fd);
}

static void settle(void)
{
	char *from = strchr(preempt, '(');

	if (from) {
		from[strcspn(from, ")")] = 0;
		say(PREEMPT, from + 1);
	}
	say(STEER, "0");
	say(BACKLOG, backlog);
	rmdir(CGROUPS "/race");
	umount(CGROUPS);
	rmdir(CGROUPS);
}

/* Where possible, let processes preempt one another inside a program, too. */
static bool steer(void)
{
	mount("none", "/sys/kernel/debug", "debugfs", 0, NULL);
	ask_setting(PREEMPT, preempt, sizeof(preempt));
	ask_setting(BACKLOG, backlog, sizeof(backlog));
	atexit(settle);
	say(PREEMPT, "full");
	return system("ip link set lo up") == 0 && say(STEER, "1") && say(BACKLOG, "20000");
}

static bool make_cgroup(void)
{
	mkdir(CGROUPS, 0700);
	mount("none", CGROUPS, "cgroup2", 0, NULL);
	return !mkdir(CGROUPS "/race", 0700) || errno == EEXIST;
}

static bool ended(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && !status;
}

/* Send with the programs attached. Return: was all sent? */
static bool send_raced(__u32 sends)
{
	pid_t pids[SENDERS], noise = flood();
	bool good = noise > 0;
	int i;

	for (i = 0; i < SENDERS; i++)
		pids[i] = sender((__u32)i * sends / SENDERS, sends / SENDERS);
	for (i = 0; i < SENDERS; i++)
		good &= ended(pids[i]);
	kill(noise, SIGKILL);
	waitpid(noise, NULL, 0);
	return good;
}

static bool race(const struct progs *p, __u32 sends)
{
	int cgroup = open(CGROUPS "/race", O_RDONLY | O_DIRECTORY);
	int out = bpf_link_create(prog(p, "race_send"), cgroup, BPF_CGROUP_INET_EGRESS, NULL);
	int in = bpf_link_create(prog(p, "race_come"), (int)if_nametoindex("lo"),
				 (enum bpf_attach_type)TCX_INGRESS, NULL);
	bool good = out >= 0 && in >= 0 && send_raced(sends);

	printf("# learnt %llu lost %llu found %llu missed %llu, flood %llu lost %llu, "
	       "between %llu\n",
	       p->race->learnt, p->race->lost, p->race->found, p->race->missed, p->race->flood,
	       p->race->flood_lost, p->race->between);
	close(out);
	close(in);
	close(cgroup);
	return good;
}

/* With threaded softirqs only the scheduler decides whether they interrupt. */
#define SOFTIRQ_THREADS " # SKIP softirqs are threads here (PREEMPT_RT)"

static bool between_enough(const volatile struct race *r)
{
	struct utsname kernel;

	uname(&kernel);
	return r->between >= BETWEEN || strstr(kernel.version, "PREEMPT_RT");
}

static void race_held(const struct progs *p, __u32 sends)
{
	volatile struct race *r = p->race;
	const struct epf_pkt_opts flow = { EPF_PKT_FLOW, EPF_LINK_ETHER, 0, 0 };
	const struct epf_pkt_opts ip = { EPF_PKT_FLOW, EPF_LINK_IP, 0, 0 };
	bool good;

	*(struct epf_pkt_opts *)&r->opts = flow;
	*(struct epf_pkt_opts *)&r->ip_opts = ip;
	good = race(p, sends);
	tap_ok(good && r->learnt == sends && !r->lost,
	       "%llu packets that processes sent are learnt", r->learnt);
	tap_ok(good && r->found > sends / 2 && !r->missed,
	       "those that come in are found: %llu, not: %llu", r->found, r->missed);
	tap_ok(good && r->flood && !r->flood_lost, "%llu packets of a flood are learnt", r->flood);
	tap_ok(between_enough(r), "%llu packets came in between%s", r->between,
	       r->between >= BETWEEN ? "" : SOFTIRQ_THREADS);
}

/* A filter that programs take out of a slot: losses are as likely to be noticed as
 * packets interrupt.
 */
static void race_slot(const struct progs *p, __u32 sends, __u32 id)
{
	volatile struct race *r = p->race;
	bool good = take(p, id) && race(p, sends);
	bool lost = r->lost || r->missed || r->flood_lost;

	tap_ok(good && (lost || (r->between < BETWEEN && between_enough(r))),
	       "taken out of a slot of its CPU, some are lost%s", lost ? "" : SOFTIRQ_THREADS);
	take(p, 0);
}

/* Do to the filter whatever can be done, again and again. */
static pid_t meddler(const struct progs *p, int dev)
{
	struct epf_params other = params, again = params;
	pid_t pid = fork();
	__u32 id;

	if (pid)
		return pid;
	strcpy(other.name, NAME "-2");
	for (;;) {
		take(p, 0);
		epf_dev_destroy(dev, NAME, true);
		usleep(2000); /* packets come while there is none */
		if (epf_dev_create(dev, &again, NULL, &id) || !take(p, id) ||
		    epf_dev_create(dev, &other, NULL, &id) || epf_dev_swap(dev, NAME, other.name) ||
		    epf_dev_swap(dev, NAME, other.name) || !take(p, id) ||
		    epf_dev_destroy(dev, other.name, true))
			_exit(1);
	}
}

static void meddled(const struct progs *p, int dev, __u32 sends)
{
	volatile struct race *r = p->race;
	pid_t pid = meddler(p, dev);
	__u64 lost = r->lost + r->flood_lost;
	bool good = race(p, sends);
	int more = 10;

	while (good && !r->gone && more--)
		good = race(p, sends);
	/* it must still run, because nothing has failed */
	good &= !waitpid(pid, NULL, WNOHANG) && !kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	tap_ok(good && r->gone && r->lost + r->flood_lost == lost,
	       "swapped, taken out, put in, destroyed and made meanwhile: %llu found no "
	       "filter",
	       r->gone);
	epf_dev_destroy(dev, NAME "-2", true);
	epf_dev_destroy(dev, NAME, true);
}

static void gone(const struct progs *p, int dev)
{
	static const char *const names[] = { "same_learn", "same_ask_tc", "same_ask" };
	static const char *const why[] = { "destroyed", "not held" };
	__u8 data[256];
	int i, j;

	__u32 id;

	if (epf_dev_create(dev, &params, NULL, &id) || !take(p, id) ||
	    epf_dev_destroy(dev, NAME, true))
		exit(1);
	frame(4, data);
	*(struct epf_pkt_opts *)&p->race->opts = kinds[0];
	for (i = 0; i < 2; i++) {
		for (j = 0; j < 3; j++)
			if (run(p, names[j], data, 100) != -ENODEV)
				break;
		tap_ok(j == 3, "%s: ENODEV", why[i]);
		take(p, 0);
	}
}

int main(int argc, char **argv)
{
	const char *wanted = getenv("EPF_SENDS");
	__u32 sends = getenv("EPF_THOROUGH") ? 3 * SENDS : SENDS, id = 0;
	int dev = epf_dev_open();
	struct progs held, slot;

	if (dev < 0 || argc != 3) {
		tap_skip_all("no " EPF_DEVICE ": the module is not loaded");
		return TAP_SKIPPED;
	}
	if (wanted)
		sends = (__u32)strtoul(wanted, NULL, 10);
	if (!getenv("EPF_VERBOSE"))
		libbpf_set_print(NULL);
	tap_plan(1 + 1 + 4 + 1 + 1 + 2);
	if (!tap_ok(steer() && make_cgroup() && load(&held, argv[1]) && load(&slot, argv[2]) &&
			    !epf_dev_create(dev, &params, NULL, &id) && take(&held, id),
		    "programs, a filter and a cgroup"))
		return tap_end();
	same_keys(&held);
	race_held(&held, sends);
	race_slot(&slot, sends / 3, id);
	meddled(&held, dev, sends / 3);
	gone(&held, dev);
	return tap_end();
}
