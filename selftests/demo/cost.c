// SPDX-License-Identifier: GPL-2.0
/*
 * usage: cost OBJECT FILTER WINDOW
 *
 * Measure ns for each packet with BPF_PROG_TEST_RUN: new packets, and all of them
 * once more. The filter has to be pure BPF and held. Prints JSON. The number is the
 * best of ROUNDS, as other programs only make it larger.
 *
 * Packets are run in pieces with pauses, in which the filter's epochs can end.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cost.h"

#define PINS "/sys/fs/bpf/epochfilter/"
#define PIECE 5000
#define PAUSE_US 1000
#define ROUNDS 2

static const struct subject {
	const char *program, *map;
	int maps;
	const char *what;
} subjects[] = {
	{ "null", NULL, 0, "a program that only writes a number" },
	{ "digest", NULL, 0, "and makes the packet's digest" },
	{ "filter", NULL, 0, "this filter" },
	{ "lru_hash", "lru", 1, "LRU hash map, given our digest" },
	{ "bloom", "bloom0", 2, "two BPF bloom filters, likewise" },
};

static void die(const char *what, int err)
{
	fprintf(stderr, "cost: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(2);
}

static void reuse(struct bpf_object *obj, const char *map, const char *filter, const char *pin)
{
	char path[128];
	int fd, err;

	snprintf(path, sizeof(path), PINS "%s/%s", filter, pin);
	fd = bpf_obj_get(path);
	if (fd < 0)
		die(path, errno);
	err = bpf_map__reuse_fd(bpf_object__find_map_by_name(obj, map), fd);
	if (err)
		die(map, err);
	close(fd);
}

static struct bpf_object *load(const char *path, const char *filter, __u32 window)
{
	static const char *const sized[] = { "lru", "bloom0", "bloom1" };
	struct bpf_object *obj = bpf_object__open_file(path, NULL);
	size_t i;
	int err;

	if (!obj)
		die(path, errno);
	reuse(obj, "epf_table", filter, "table");
	reuse(obj, "epf_lines", filter, "lines");
	reuse(obj, "epf_cpus", filter, "cpus");
	for (i = 0; i < sizeof(sized) / sizeof(sized[0]); i++)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(obj, sized[i]), window);
	err = bpf_object__load(obj);
	if (err)
		die("loading", err);
	return obj;
}

/* UDP from 192.0.2.1 to 198.51.100.2. */
/* clang-format off */
static const __u8 head[42] = {
	2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, /* Ethernet */
	0x45, 0, 0, 50, 0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1,
	198, 51, 100, 2, /* IPv4 */
	4, 0, 16, 0, 0, 30, 0, 0, /* UDP */
};
/* clang-format on */

/* @nr packets from number @first on. Return: ns for each. */
static double run(int prog, int data, __u64 first, __u32 nr, __u64 *found)
{
	struct cost_shared s = { .next = first, .opts.key = EPF_PKT_PACKET };
	__u8 packet[COST_BYTES] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, t, .data_in = packet, .data_size_in = sizeof(packet));
	double ns = 0;
	__u32 zero = 0, done;

	memcpy(packet, head, sizeof(head));
	bpf_map_update_elem(data, &zero, &s, BPF_ANY);
	for (done = 0; done < nr; done += (__u32)t.repeat) {
		t.repeat = nr - done < PIECE ? (int)(nr - done) : PIECE;
		if (bpf_prog_test_run_opts(prog, &t))
			die("BPF_PROG_TEST_RUN", errno);
		if (t.retval != 2) /* XDP_PASS */
			die("a packet without digest", EPROTO);
		ns += (double)t.duration * t.repeat;
		usleep(PAUSE_US);
	}
	bpf_map_lookup_elem(data, &zero, &s);
	*found = s.found;
	return ns / nr;
}

static unsigned long long memory(int map)
{
	unsigned long long bytes = 0;
	char path[64], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", map);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "memlock: %llu", &bytes);
	if (f)
		fclose(f);
	return bytes;
}

static void measure(struct bpf_object *obj, const struct subject *s, __u32 window)
{
	int prog = bpf_program__fd(bpf_object__find_program_by_name(obj, s->program));
	int data = bpf_object__find_map_fd_by_name(obj, ".bss");
	double new = 0, repeat = 0, ns;
	__u64 found = 0, round;

	for (round = 0; round < ROUNDS; round++) {
		ns = run(prog, data, round << 32, window, &found);
		new = !round || ns < new ? ns : new;
		ns = run(prog, data, round << 32, window, &found);
		repeat = !round || ns < repeat ? ns : repeat;
	}
	printf("{\"subject\": \"%s\", \"what\": \"%s\", \"bytes\": %llu, "
	       "\"new\": %.1f, \"repeat\": %.1f, \"found\": %llu}",
	       s->program, s->what,
	       s->map ? (unsigned long long)s->maps *
				memory(bpf_object__find_map_fd_by_name(obj, s->map)) :
			0,
	       new, repeat, (unsigned long long)found);
}

int main(int argc, char **argv)
{
	__u32 window = argc == 4 ? (__u32)strtoul(argv[3], NULL, 10) : 0;
	struct bpf_object *obj;
	size_t i;

	if (!window) {
		fprintf(stderr, "usage: cost OBJECT FILTER WINDOW\n");
		return 2;
	}
	obj = load(argv[1], argv[2], window);
	printf("{\"packets\": %u, \"ns\": [", window / 2);
	for (i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
		printf("%s\n", i ? "," : "");
		measure(obj, &subjects[i], window / 2);
	}
	printf("]}\n");
	bpf_object__close(obj);
	return 0;
}
