// SPDX-License-Identifier: GPL-2.0
/*
 * steps_bench: instructions of an operation of the core, natively. A child
 * performs it a number of times and is single-stepped (ptrace); the
 * instructions of an empty loop are subtracted. So the figures depend on the
 * compiler alone and are the same in every run. Built without vector
 * instructions, like the kernel. A report; it asserts nothing.
 *
 * The filter is planned for a window of KEYS at an error of 1e-4, and all its
 * epochs are full.
 *
 *   new     probe, test and insertion of keys never seen
 *   repeat  the same for keys of the current epoch
 *   test    probe and test of keys never seen
 *
 * usage: steps_bench
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <epf.h>
#include <epf/packet.h>
#include <epf/window.h>

#define KEYS 70000
#define TIMES 100
#define FRAME_MAX 1500

struct work;
typedef __u64 (*op_fn)(const struct work *w, __u64 digest);

/**
 * struct work - work of the child
 * @op: operation
 * @first: number of the first digest
 * @bytes: bytes of a key or a packet
 * @hash: keyed hash
 * @lanes: filter
 * @epoch: its epoch
 */
struct work {
	op_fn op;
	__u64 first;
	__u32 bytes;
	struct epf_hash hash;
	struct epf_lanes lanes;
	__u64 epoch;
};

static volatile __u64 sink;

static __u64 nth(__u64 n)
{
	return epf_word(n, 1); /* a bijection */
}

/* As in the module, constant L makes the compiler unroll the parts. */
static inline __attribute__((always_inline)) int ask(const struct work *w, __u64 digest,
						     __u32 parts, bool test)
{
	struct epf_lanes lanes = w->lanes;
	struct epf_probe p;
	__u64 e;

	lanes.geom.parts = (__u16)parts;
	epf_probe(&lanes, digest, &p);
	return test ? epf_lanes_test(&lanes, &p) : epf_lanes_test_and_insert(&lanes, &p, false, &e);
}

#define OP static __attribute__((noinline)) __u64

/* clang-format off */
OP sight_1(const struct work *w, __u64 d) { return (__u64)ask(w, d, 1, false); }
OP sight_2(const struct work *w, __u64 d) { return (__u64)ask(w, d, 2, false); }
OP sight_4(const struct work *w, __u64 d) { return (__u64)ask(w, d, 4, false); }
OP test_1(const struct work *w, __u64 d) { return (__u64)ask(w, d, 1, true); }
OP test_2(const struct work *w, __u64 d) { return (__u64)ask(w, d, 2, true); }
OP test_4(const struct work *w, __u64 d) { return (__u64)ask(w, d, 4, true); }
/* clang-format on */

OP nothing(const struct work *w, __u64 d)
{
	return d;
}

static __u8 frame[FRAME_MAX] = {
	/* Ethernet, IPv4, UDP, zeros */
	2, 0, 0, 0,  0,  1, 2, 0,  0, 0, 0, 2,  8, 0, 0x45, 0, 0, 0, 0,
	0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,    4, 1, 0, 53,
};

OP packet_key(const struct work *w, __u64 d)
{
	const struct epf_pkt_opts o = { EPF_PKT_PACKET, EPF_LINK_ETHER, EPF_PKT_PASS_CONTROL, 0 };

	epf_packet_plain(&w->hash, frame, w->bytes, &o, &d);
	return d;
}

OP digest(const struct work *w, __u64 d)
{
	return epf_digest(&w->hash, frame, w->bytes);
}

/* Return: instructions of a child that performs @w TIMES times. */
static long steps(const struct work *w)
{
	long n = 0;
	int status;
	pid_t child = fork();
	__u64 i;

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		for (i = 0; i < TIMES; i++)
			sink = w->op(w, nth(w->first + i));
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	for (; WIFSTOPPED(status); n++)
		if (ptrace(PTRACE_SINGLESTEP, child, 0, 0) || waitpid(child, &status, 0) != child)
			return -1;
	return n;
}

/* Return: instructions of one @op. */
static double cost(const struct work *w, op_fn op)
{
	struct work some = *w, none = *w;
	long n, of_loop;

	some.op = op;
	none.op = nothing;
	n = steps(&some);
	of_loop = steps(&none);
	if (n < 0 || of_loop < 0) {
		perror("steps_bench: ptrace");
		exit(1);
	}
	return (double)(n - of_loop) / TIMES;
}

/* Fill the filter with the keys below 8 * KEYS; the first ones are those of the
 * current epoch.
 */
static void fill(struct work *w, __u32 parts, op_fn sight)
{
	struct epf_size_req req = { KEYS, 1e-4, 0, parts };
	struct epf_size size;
	__u64 e, i;

	if (epf_size(&req, &size) ||
	    epf_geom_init(&w->lanes.geom, size.nr_lines, parts, size.bits_per_key)) {
		fprintf(stderr, "steps_bench: no plan\n");
		exit(1);
	}
	w->lanes.line = aligned_alloc(EPF_LINE_BYTES, size.nr_lines * EPF_LINE_BYTES);
	if (!w->lanes.line)
		exit(1);
	w->lanes.epoch = &w->epoch;
	memset(w->lanes.line, 0, size.nr_lines * EPF_LINE_BYTES);
	for (e = 0; e < EPF_LANES; e++)
		for (w->epoch = EPF_EPOCH_FIRST + e, i = 0; i < KEYS / 7; i++)
			sight(w, nth(i + (EPF_LANES - 1 - e) * KEYS));
}

static void lanes_row(__u32 parts, op_fn sight, op_fn test)
{
	struct work w = { .first = 0 };
	double repeat;

	fill(&w, parts, sight);
	repeat = cost(&w, sight);
	w.first = 1ULL << 40; /* never seen, because children have their own memory */
	printf("  %u lines a key          %7.0f %7.0f %7.0f\n", parts, cost(&w, sight), repeat,
	       cost(&w, test));
	free(w.lanes.line);
}

static void hash_row(const char *name, __u32 kind, op_fn op)
{
	static const __u32 bytes[] = { 14, 64, 128, 192, 512, 1500 };
	struct work w = { .first = 0 };
	size_t i;

	epf_hash_init(&w.hash, 1, 2, kind);
	printf("  %-22s", name);
	for (i = 0; i < sizeof(bytes) / sizeof(*bytes); i++) {
		w.bytes = bytes[i];
		frame[16] = (__u8)((w.bytes - 14) >> 8);
		frame[17] = (__u8)(w.bytes - 14);
		if (op == packet_key && w.bytes < 64)
			printf(" %7s", "-");
		else
			printf(" %7.0f", cost(&w, op));
	}
	printf("\n");
}

int main(void)
{
	printf("filter                       new  repeat    test\n");
	lanes_row(1, sight_1, test_1);
	lanes_row(2, sight_2, test_2);
	lanes_row(4, sight_4, test_4);
	printf("bytes                         14      64     128     192     512    1500\n");
	hash_row("digest, nh", EPF_HASH_NH, digest);
	hash_row("digest, siphash13", EPF_HASH_SIPHASH13, digest);
	hash_row("digest, siphash24", EPF_HASH_SIPHASH24, digest);
	hash_row("packet key, nh", EPF_HASH_NH, packet_key);
	hash_row("packet key, siphash13", EPF_HASH_SIPHASH13, packet_key);
	return 0;
}
