// SPDX-License-Identifier: GPL-2.0
/*
 * steps: prints the addresses of the instructions of calls that packets make, and of the end of an
 * epoch, "CALL ADDRESS" for each. The calls are those of the module's objects, which steps.sh links in; a child makes
 * them, and this process lets it go on by one instruction at a time. Of equal calls the one
 * with the median number of instructions counts.
 */
#include <asm/prctl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINES 59776u
#define KEYS 142857u /* of an epoch, for an error of 1e-4 */
#define EPOCHS 8u
#define TIMES 31u
#define STEPS 4096u
#define FRAME 60u
#define CPU_AT 1024u /* where the counters of a CPU are in its area */

struct sizes {
	uint64_t table, filter, xdp, map;
};

struct opts {
	uint8_t key, link;
	uint16_t flags;
	uint32_t max_bytes;
};

extern void steps_sizes(struct sizes *s);
extern void steps_filter(void *table, void *filter, void *lines, uint64_t nr_lines, void *cpu);
extern void steps_map(void *map, void *filter);
extern void steps_epoch(void *table, uint64_t e);
extern void steps_limit(void *table, uint32_t cpus);
extern void steps_look(void *table);
extern void epf_table_end_epoch(void *table, uint64_t now_ns);
extern void steps_packet(void *xdp, void *data, uint64_t bytes);
extern int bpf_epf_xdp_test_and_insert(void *filter, void *xdp, const void *opts, uint32_t bytes);
extern int bpf_epf_xdp_test_and_insert_held(void *map, void *xdp, const void *opts, uint32_t bytes);

enum { FLOW = 2, PACKET = 1 }; /* enum epf_pkt_key */
enum { OWN, HELD, ROTATION, LOOK };

static const struct call {
	const char *name;
	uint8_t key;
	uint8_t how;
	uint8_t cpus;
} calls[] = {
	/* of each two the second one repeats the keys of the first */
	{ "flow-new", FLOW, OWN, 0 },
	{ "flow-repeated", FLOW, OWN, 0 },
	{ "packet-new", PACKET, OWN, 0 },
	{ "packet-repeated", PACKET, OWN, 0 },
	{ "held-flow-new", FLOW, HELD, 0 },
	{ "held-flow-repeated", FLOW, HELD, 0 },
	{ "held-packet-new", PACKET, HELD, 0 },
	{ "held-packet-repeated", PACKET, HELD, 0 },
	/* the same with many possible CPUs */
	{ "rotation-2-cpus", 0, ROTATION, 2 },
	{ "rotation-64-cpus", 0, ROTATION, 64 },
	{ "look-2-cpus", 0, LOOK, 2 },
	{ "look-64-cpus", 0, LOOK, 64 },
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

/* Stops the child: the parent reads the two numbers from its registers, and counts the instructions
 * from here to steps_end().
 */
__attribute__((noinline)) void steps_begin(unsigned long call, unsigned long time)
{
	__asm__ volatile("int3" : : "D"(call), "S"(time) : "memory");
}

__attribute__((noinline)) void steps_end(void)
{
	__asm__ volatile("" : : : "memory");
}

/* What the objects reach by the segment register: the counters of the CPU, and the canary. Then
 * those of the other CPUs.
 */
static uint8_t cpu_area[8192] __attribute__((aligned(4096)));
static uint8_t frame[64];

/* A UDP packet over IPv4, whose flow is number @n. */
static void packet(uint32_t n)
{
	static const uint8_t head[] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 46 };
	uint16_t port = (uint16_t)(n * 2654435761u);

	memset(frame, 0, sizeof(frame));
	memcpy(frame, head, sizeof(head));
	frame[22] = 64;
	frame[23] = 17;
	memcpy(frame + 26, &n, sizeof(n));
	frame[26] = 10;
	memcpy(frame + 30, "\x0a\x01\x02\x03", 4);
	memcpy(frame + 34, &port, sizeof(port));
	frame[37] = 53;
	frame[39] = 26;
}

static void *zeroed(uint64_t bytes)
{
	void *memory = aligned_alloc(4096, (bytes + 4095) & ~4095ULL);

	if (!memory)
		exit(2);
	return memset(memory, 0, (bytes + 4095) & ~4095ULL);
}

static void ask(void *filter, void *xdp, uint8_t key, uint32_t n)
{
	const struct opts o = { .key = key };

	packet(n);
	if (bpf_epf_xdp_test_and_insert(filter, xdp, &o, sizeof(o)) < 0)
		exit(3);
}

/* The kernel's: which CPUs are possible, and where their counters are. */
unsigned long __per_cpu_offset[8192];
unsigned long __cpu_possible_mask[8192 / 64];
unsigned int nr_cpu_ids;

unsigned long _find_next_bit(const unsigned long *word, unsigned long end, unsigned long bit)
{
	while (bit < end && !(word[bit / 64] >> bit % 64 & 1))
		bit++;
	return bit;
}

static void set_cpus(void *table, uint32_t cpus)
{
	uint32_t i;

	memset(cpu_area + CPU_AT, 0, sizeof(cpu_area) - CPU_AT);
	nr_cpu_ids = cpus;
	__cpu_possible_mask[0] = ~0UL >> (64 - cpus);
	for (i = 0; i < cpus; i++)
		__per_cpu_offset[i] = (uintptr_t)cpu_area + 64UL * i;
	steps_limit(table, cpus);
}

static void measure_table(void *table, unsigned long c)
{
	unsigned long i;

	set_cpus(table, calls[c].cpus);
	for (i = 0; i < TIMES; i++) {
		epf_table_end_epoch(table, 1);
		steps_begin(c, i);
		if (calls[c].how == ROTATION)
			epf_table_end_epoch(table, 1);
		else
			steps_look(table);
		steps_end();
	}
}

static void measure(void *filter, void *map, void *xdp, unsigned long c, uint32_t first)
{
	const struct opts o = { .key = calls[c].key };
	unsigned long i;

	for (i = 0; i < TIMES; i++) {
		packet(first + (uint32_t)i);
		steps_begin(c, i);
		if (calls[c].how == HELD)
			bpf_epf_xdp_test_and_insert_held(map, xdp, &o, sizeof(o));
		else
			bpf_epf_xdp_test_and_insert(filter, xdp, &o, sizeof(o));
		steps_end();
	}
}

static void child(void)
{
	void *table, *filter, *map, *xdp;
	uint32_t n = 0, first;
	struct sizes s;
	uint64_t e;

	steps_sizes(&s);
	table = zeroed(s.table);
	filter = zeroed(s.filter);
	xdp = zeroed(s.xdp);
	map = zeroed(s.map);
	steps_map(map, filter);
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, cpu_area))
		exit(2);
	steps_filter(table, filter, zeroed(LINES * 64ULL), LINES, (void *)(uintptr_t)CPU_AT);
	steps_packet(xdp, frame, FRAME);
	for (e = EPOCHS; e <= 2 * EPOCHS; e++) { /* the last one, by half */
		steps_epoch(table, e);
		for (first = n; n < first + (e < 2 * EPOCHS ? KEYS : KEYS / 2); n++)
			ask(filter, xdp, FLOW, n);
	}
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		exit(4);
	raise(SIGSTOP);
	for (first = n, e = 0; e < CALLS; e++)
		if (calls[e].cpus)
			measure_table(table, e);
		else
			measure(filter, map, xdp, e, first + (uint32_t)e / 2 * TIMES);
	exit(0);
}

static uint64_t steps[CALLS][TIMES][STEPS];
static uint32_t lens[CALLS][TIMES];

static int follow(pid_t pid)
{
	struct user_regs_struct r;
	unsigned long c = 0, t = 0;
	int status, inside = 0;

	for (;;) {
		if (waitpid(pid, &status, 0) != pid)
			return 2;
		if (!WIFSTOPPED(status))
			return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
		if (WSTOPSIG(status) != SIGSTOP && WSTOPSIG(status) != SIGTRAP)
			return 2;
		ptrace(PTRACE_GETREGS, pid, NULL, &r);
		if (r.rip == (uintptr_t)steps_end) {
			inside = 0;
		} else if (inside && lens[c][t] < STEPS) {
			steps[c][t][lens[c][t]++] = r.rip;
		} else if (!inside && WSTOPSIG(status) == SIGTRAP) {
			inside = r.rdi < CALLS && r.rsi < TIMES;
			c = r.rdi;
			t = r.rsi;
		}
		ptrace(inside ? PTRACE_SINGLESTEP : PTRACE_CONT, pid, NULL, NULL);
	}
}

static uint32_t median(const uint32_t *len)
{
	uint32_t i, k, below, same;

	for (i = 0; i < TIMES; i++) {
		for (k = below = same = 0; k < TIMES; k++) {
			below += len[k] < len[i];
			same += len[k] == len[i];
		}
		if (below <= TIMES / 2 && below + same > TIMES / 2)
			return i;
	}
	return 0;
}

int main(void)
{
	uint32_t c, i, m;
	pid_t pid = fork();
	int ret;

	if (!pid)
		child();
	ret = pid < 0 ? 2 : follow(pid);
	for (c = 0; c < CALLS && !ret; c++)
		for (m = median(lens[c]), i = 0; i < lens[c][m]; i++)
			printf("%s 0x%016llx\n", calls[c].name, (unsigned long long)steps[c][m][i]);
	return ret;
}
