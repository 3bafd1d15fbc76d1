// SPDX-License-Identifier: GPL-2.0
/*
 * usage: flood OBJECT INTERFACE MAC DESTINATION KEY=VALUE...
 *
 * Send UDP packets through INTERFACE, an end of a veth of this network namespace, to
 * DESTINATION behind the other end, whose address is MAC. Frames are made by
 * flood.bpf.c (BPF_F_TEST_XDP_LIVE_FRAMES), so that making them costs little.
 *
 *   count=N      so many packets
 *   source=A     first source address, sources=N: how many (a power of two)
 *   shuffle=0    sources in order; else in an order that looks random
 *   sport=N      source port; 0, the default: a different one for each packet
 *   port=N       first destination port, ports=N: how many take turns
 *
 * Prints JSON: the nanoseconds of CPU that a packet took, for each PIECE of packets:
 * making it, and all that the receiving end does with it, which is in the softirq of
 * this thread or of its CPU's ksoftirqd. (Kernels that account for softirqs apart,
 * CONFIG_IRQ_TIME_ACCOUNTING, leave most of it out.)
 */
#define _GNU_SOURCE /* CPU affinity */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "flood.h"

#define PIECE 65536u

struct flood {
	struct flood_shared shared;
	__u8 frame[FLOOD_BYTES];
	__u32 count;
	int prog, data;
	char softirqs[64]; /* schedstat of ksoftirqd, or "" */
};

static void die(const char *what, int err)
{
	fprintf(stderr, "flood: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(2);
}

static void load(struct flood *f, const char *path)
{
	struct bpf_object *obj = bpf_object__open_file(path, NULL);
	int err;

	if (!obj)
		die(path, errno);
	err = bpf_object__load(obj);
	if (err)
		die("loading", err);
	f->prog = bpf_program__fd(bpf_object__find_program_by_name(obj, "flood"));
	f->data = bpf_object__find_map_fd_by_name(obj, ".bss");
}

static __u32 address(const char *text)
{
	struct in_addr a;

	if (inet_pton(AF_INET, text, &a) != 1)
		die(text, EINVAL);
	return a.s_addr;
}

/* All but what flood.bpf.c writes. UDP without checksum. */
static void fill(struct flood *f, const char *mac, const char *destination)
{
	/* clang-format off */
	static const __u8 head[42] = {
		0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 8, 0, /* Ethernet */
		0x45, 0, 0, FLOOD_BYTES - 14, 0, 0, 0x40, 0, 64, 17, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, /* IPv4 */
		0, 0, 0, 0, 0, FLOOD_BYTES - 34, 0, 0, /* UDP */
	};
	/* clang-format on */
	const struct ether_addr *to = ether_aton(mac);
	__u32 ip = address(destination);

	if (!to)
		die(mac, EINVAL);
	memcpy(f->frame, head, sizeof(head));
	memcpy(f->frame, to, sizeof(*to));
	memcpy(f->frame + 30, &ip, sizeof(ip));
}

static void set(struct flood *f, const char *option)
{
	const char *value = strchr(option, '=');
	size_t len = value ? (size_t)(value++ - option) : 0;
	__u32 n = value ? (__u32)strtoul(value, NULL, 10) : 0;

	if (len == 5 && !strncmp(option, "count", len))
		f->count = n;
	else if (len == 6 && !strncmp(option, "source", len))
		f->shared.source = ntohl(address(value));
	else if (len == 7 && !strncmp(option, "sources", len))
		f->shared.mask = n - 1;
	else if (len == 7 && !strncmp(option, "shuffle", len))
		f->shared.shuffle = n;
	else if (len == 5 && !strncmp(option, "sport", len))
		f->shared.source_port = n;
	else if (len == 4 && !strncmp(option, "port", len))
		f->shared.port = n;
	else if (len == 5 && !strncmp(option, "ports", len))
		f->shared.ports = n;
	else
		die(option, EINVAL);
}

static bool is_softirqs(const char *pid, const char *want)
{
	char path[300], comm[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fgets(comm, sizeof(comm), f))
		comm[strcspn(comm, "\n")] = 0;
	fclose(f);
	return !strcmp(comm, want);
}

/* Stay on one CPU, and find the thread that takes over its softirqs. */
static void settle(struct flood *f)
{
	int cpu = sched_getcpu();
	const struct dirent *entry;
	char want[32];
	cpu_set_t one;
	DIR *proc;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	snprintf(want, sizeof(want), "ksoftirqd/%d", cpu);
	proc = opendir("/proc");
	while (proc && (entry = readdir(proc)))
		if (isdigit(entry->d_name[0]) && is_softirqs(entry->d_name, want))
			snprintf(f->softirqs, sizeof(f->softirqs), "/proc/%.20s/schedstat",
				 entry->d_name);
	if (proc)
		closedir(proc);
}

/* Return: CPU time so far, of this thread and of ksoftirqd, in ns. */
static double cpu_time(const struct flood *f)
{
	unsigned long long ran = 0;
	struct timespec t;
	FILE *stat;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	stat = f->softirqs[0] ? fopen(f->softirqs, "r") : NULL;
	if (stat) {
		if (fscanf(stat, "%llu", &ran) != 1)
			ran = 0;
		fclose(stat);
	}
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec + (double)ran;
}

static void run(struct flood *f)
{
	LIBBPF_OPTS(bpf_test_run_opts, t, .data_in = f->frame, .data_size_in = sizeof(f->frame),
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES);
	__u32 zero = 0, done, nr;
	double before;

	if (bpf_map_update_elem(f->data, &zero, &f->shared, BPF_ANY))
		die("the program's data", errno);
	printf("{\"packets\": %u, \"ns\": [", f->count);
	for (done = 0; done < f->count; done += nr) {
		nr = f->count - done < PIECE ? f->count - done : PIECE;
		t.repeat = (int)nr;
		before = cpu_time(f);
		if (bpf_prog_test_run_opts(f->prog, &t))
			die("BPF_PROG_TEST_RUN over live frames", errno);
		printf("%s%.1f", done ? ", " : "", (cpu_time(f) - before) / nr);
	}
	printf("]}\n");
}

int main(int argc, char **argv)
{
	struct flood f = { .shared = { .ports = 1, .shuffle = 1 } };
	int i;

	if (argc < 5) {
		fprintf(stderr, "usage: flood OBJECT INTERFACE MAC DESTINATION KEY=VALUE...\n");
		return 2;
	}
	f.shared.ifindex = if_nametoindex(argv[2]);
	if (!f.shared.ifindex)
		die(argv[2], errno);
	fill(&f, argv[3], argv[4]);
	for (i = 5; i < argc; i++)
		set(&f, argv[i]);
	load(&f, argv[1]);
	settle(&f);
	run(&f);
	return 0;
}
