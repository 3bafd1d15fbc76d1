// SPDX-License-Identifier: GPL-2.0
/*
 * Digests of packets whose options and bytes change while the digest runs, as BPF
 * programs and user space can change them while the module's functions run.
 *
 * Watched: every access of a digest to the page of the options, or of the packet,
 * traps. In the first run the change happens before the first access, then before the
 * second, and so on to the last. The outcome must be that of the options before or
 * after the change. Nothing beyond the packet may be read: an inaccessible page follows
 * it. This needs single steps of the CPU, so x86 only.
 *
 * Raced: a thread changes single bytes, and the outcome must belong to one of the
 * option sets that these bytes form. Also built with sanitizers.
 *
 * With IN_PLACE the options are used in place, without a copy. Then outcomes may belong
 * to options that nobody set, but memory accesses stay in bounds (argument "bounds").
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for the registers of a signal context */
#endif
#include <epf/packet.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "tap.h"

#define PAGE 4096
#define RACES 300000

static const struct epf_hash hash = { { 0x0123456789abcdef, 42 }, 0, { 0 } };

/* The result of a digest. */
struct outcome {
	int err;
	__u64 digest;
};

/* The options, in a page of their own. */
static union {
	volatile __u64 word;
	volatile __u8 byte[8];
	struct epf_pkt_opts opts;
} * shared;

/* The packet, at the end of a page. */
static __u8 *frame;
static __u32 frame_len;

static struct epf_pkt frame_pkt(struct epf_seg *seg)
{
	struct epf_pkt pkt = { seg, 1, frame_len };

	seg->data = frame;
	seg->len = frame_len;
	return pkt;
}

static struct outcome digest_of(const struct epf_pkt_opts *o)
{
	struct outcome out = { 0, 0 };
	struct epf_seg seg;
	struct epf_pkt pkt = frame_pkt(&seg);

	out.err = epf_pkt_opts_check(o);
	if (!out.err)
		out.err = epf_pkt_digest(&hash, &pkt, o, &out.digest);
	return out;
}

/* Digest the packet as the module does. */
static __attribute__((noinline)) struct outcome call(void)
{
#ifdef IN_PLACE
	return digest_of(&shared->opts);
#else
	struct epf_pkt_opts o = epf_pkt_opts_read(&shared->opts);

	return digest_of(&o);
#endif
}

static bool same(struct outcome a, struct outcome b)
{
	return a.err == b.err && (a.err || a.digest == b.digest);
}

static __u64 word_of(struct epf_pkt_opts o)
{
	__u64 word;

	memcpy(&word, &o, sizeof(word));
	return word;
}

static struct outcome outcome_of(__u64 word)
{
	struct epf_pkt_opts o;

	memcpy(&o, &word, sizeof(o));
	return digest_of(&o);
}

/* ------------------------------------------------------------- frames ---- */

static void put16(__u8 *p, __u32 v)
{
	p[0] = (__u8)(v >> 8);
	p[1] = (__u8)v;
}

/* Make a frame of @len bytes; @l3 of them precede an IPv4 datagram, which is the rest. */
static void make_frame(__u8 *room, __u32 len, __u32 l3)
{
	__u32 i;

	frame = room + PAGE - len;
	frame_len = len;
	for (i = 0; i < len; i++)
		frame[i] = (__u8)(i * 29 + len);
	frame[l3] = 0x45;
	put16(frame + l3 + 2, len - l3);
	put16(frame + l3 + 6, 0);
	frame[l3 + 9] = 17;
	if (l3)
		put16(frame + l3 - 2, EPF_ETH_IP4);
}

/* Make it an ICMP error; the datagram that it carries ends at the end of the frame. */
static void carry(__u32 l3)
{
	frame[l3 + 9] = 1;
	frame[l3 + 20] = 3;
	frame[l3 + 28] = 0x45;
	put16(frame + l3 + 30, frame_len - l3 - 28);
	put16(frame + l3 + 34, 0);
	frame[l3 + 37] = 17;
}

#define CARRYING 3

/* Make a bare IP packet, an Ethernet frame, one with as many tags as are parsed, or an
 * ICMP error.
 */
static void make_frames(__u8 *room, int which)
{
	static const __u32 l3[] = { 0, 14, 14 + 4 * EPF_VLAN_MAX, 14 };
	__u32 i;

	make_frame(room, 90, l3[which]);
	for (i = 14; i < l3[which]; i += 4)
		put16(frame + i - 2, 0x8100);
	if (which == CARRYING)
		carry(14);
}

/* Map two pages, each followed by an inaccessible one. */
static __u8 *make_room(void)
{
	__u8 *room = mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (room == MAP_FAILED || mprotect(room, PAGE, PROT_READ | PROT_WRITE) ||
	    mprotect(room + 2 * PAGE, PAGE, PROT_READ | PROT_WRITE))
		exit(1);
	shared = (void *)(room + 2 * PAGE);
	return room;
}

/* ------------------------------------------------------------ watched ---- */

/**
 * struct watch - an inaccessible page, and the change made at one of its accesses
 * @page: every access to it traps, and is then executed as a single step
 * @touched: number of accesses so far
 * @at: the change is made before this access
 * @to: options after the change
 * @byte: byte of the frame that changes; NULL: only the options change
 * @value: its value after the change
 */
static volatile struct {
	__u8 *page;
	__u32 touched;
	__u32 at;
	__u64 to;
	__u8 *byte;
	__u8 value;
} watch;

#if defined(__x86_64__)
#define CAN_WATCH true
#define TRAP_FLAG 0x100

static void touch(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	if (((size_t)info->si_addr & ~(PAGE - 1ul)) != (size_t)watch.page) {
		signal(sig, SIG_DFL); /* the access faults again, and ends the program */
		return;
	}
	mprotect(watch.page, PAGE, PROT_READ | PROT_WRITE);
	if (++watch.touched == watch.at) {
		shared->word = watch.to;
		if (watch.byte)
			*watch.byte = watch.value;
	}
	u->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void touched(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	mprotect(watch.page, PAGE, PROT_NONE);
	u->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static void catch_touches(void)
{
	struct sigaction on = { .sa_sigaction = touch, .sa_flags = SA_SIGINFO };
	struct sigaction off = { .sa_sigaction = touched, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &on, NULL);
	sigaction(SIGTRAP, &off, NULL);
}
#else
#define CAN_WATCH false
static void catch_touches(void)
{
}
#endif

static struct outcome watched_call(void)
{
	struct outcome out;

	watch.touched = 0;
	mprotect(watch.page, PAGE, PROT_NONE);
	out = call();
	mprotect(watch.page, PAGE, PROT_READ | PROT_WRITE);
	return out;
}

/* Change from @from to @to before each access in turn. Return: number of accesses of a
 * call; 0: some outcome belonged to neither, unless @any accepts all.
 */
static __u32 at_each_access(__u64 from, __u64 to, bool any)
{
	struct outcome a = outcome_of(from), b = outcome_of(to), got;
	__u8 was = watch.byte ? *watch.byte : 0;

	watch.to = to;
	for (watch.at = 1;; watch.at++) {
		shared->word = from;
		if (watch.byte)
			*watch.byte = was;
		got = watched_call();
		if (watch.touched < watch.at)
			return watch.at - 1;
		if (!any && !same(got, a) && !same(got, b))
			break;
	}
	printf("# access %u: %d %llx, not %d %llx nor %d %llx\n", watch.at, got.err, got.digest,
	       a.err, a.digest, b.err, b.digest);
	return 0;
}

#define OPTS(...) word_of((struct epf_pkt_opts){ __VA_ARGS__ })
#define PAIRS 6

/* Each pair of options tempts a racy digest into an error: to strip headers that are
 * not there, to use an unchecked length, to mix fields of two options in one digest.
 */
static __u64 pair(int i, bool second)
{
	switch (i * 2 + second) {
	case 0:
		return OPTS(EPF_PKT_PACKET, EPF_LINK_IP, 0, 0);
	case 1:
		return OPTS(EPF_PKT_PACKET, EPF_LINK_ETHER, 0, 0);
	case 2:
		return OPTS(EPF_PKT_PACKET, EPF_LINK_ETHER, EPF_PKT_NO_MAC, 0);
	case 3:
		return OPTS(EPF_PKT_PACKET, EPF_LINK_SLL, 0, 0);
	case 4:
		return OPTS(EPF_PKT_FLOW, EPF_LINK_SLL2, EPF_PKT_NONIP_FRAME, 0);
	case 5:
		return OPTS(EPF_PKT_FRAME, EPF_LINK_ETHER, 0, 0);
	case 6:
		return OPTS(EPF_PKT_PACKET, EPF_LINK_ETHER, EPF_PKT_NO_VLAN, 0);
	case 8:
		return OPTS(EPF_PKT_PEER, EPF_LINK_ETHER, EPF_PKT_ERRORS, EPF_PKT_PREFIX(8, 127));
	case 9:
		return OPTS(EPF_PKT_CONVERSATION, EPF_LINK_ETHER, EPF_PKT_VLAN, 0);
	case 10:
		return OPTS(EPF_PKT_PEER_PORT, EPF_LINK_IP, EPF_PKT_REVERSE | EPF_PKT_ERRORS, 0);
	case 11:
		return OPTS(EPF_PKT_FLOW, EPF_LINK_IP, EPF_PKT_FIRST, 0);
	default:
		return OPTS(9, EPF_LINK_ETHER, 0xffff, 0);
	}
}

static const char *const frames[] = { "IP", "Ethernet", "four tags", "ICMP error" };
#define FRAMES 4

static void watch_options(__u8 *room, int which, bool any)
{
	__u32 nr = 1, most = 0;
	int i;

	make_frames(room, which);
	watch.page = (__u8 *)shared;
	for (i = 0; i < PAIRS * 2 && nr; i++) {
		nr = at_each_access(pair(i / 2, i % 2), pair(i / 2, !(i % 2)), any);
		most = nr > most ? nr : most;
	}
	tap_ok(nr, "%s: options that change before any access, of %u at most", frames[which], most);
}

/* Change lengths of headers and datagrams to their extremes; @l3: offset of the outer
 * datagram, or of the carried one.
 */
static void watch_lengths(__u8 *room, int which, __u64 opts, __u32 l3)
{
	static const __u8 at[] = { 0, 2, 3 };
	__u32 most = 0, nr, i;

	watch.page = room;
	for (i = 0; i < sizeof(at); i++) {
		make_frames(room, which);
		watch.byte = frame + l3 + at[i];
		watch.value = at[i] ? 0xff : 0x4f;
		nr = at_each_access(opts, opts, true);
		most = nr > most ? nr : most;
	}
	watch.byte = NULL;
	tap_ok(most, "%s, lengths that change before any access, of %u at most", frames[which],
	       most);
}

#define WATCH_POINTS (FRAMES + 3)
static void watched(__u8 *room, bool any)
{
	int i;

	if (!CAN_WATCH) {
		for (i = 0; i < WATCH_POINTS; i++)
			tap_ok(true, "watched # SKIP not on this processor");
		return;
	}
	catch_touches();
	for (i = 0; i < FRAMES; i++)
		watch_options(room, i, any);
	watch_lengths(room, 1, OPTS(EPF_PKT_PACKET, EPF_LINK_ETHER, 0, 0), 14);
	watch_lengths(room, CARRYING, OPTS(EPF_PKT_FLOW, EPF_LINK_ETHER, EPF_PKT_ERRORS, 0), 14);
	watch_lengths(room, CARRYING, OPTS(EPF_PKT_FLOW, EPF_LINK_ETHER, EPF_PKT_ERRORS, 0), 42);
}

/* -------------------------------------------------------------- raced ---- */

/* Two values each for key, link, flags and the maximum length, which is also a prefix. */
static const __u8 values[8][2] = {
	{ EPF_PKT_PACKET, EPF_PKT_PEER },
	{ EPF_LINK_ETHER, EPF_LINK_IP },
	{ 0, EPF_PKT_PASS_CONTROL | EPF_PKT_ERRORS },
	{ 0, 0 },
	{ 0, 24 },
};
#define STATES 32

static bool raced_end;

static __u64 state(__u32 n)
{
	__u8 byte[8];
	__u64 word;
	int i;

	for (i = 0; i < 8; i++)
		byte[i] = values[i][n >> i & 1];
	memcpy(&word, byte, sizeof(word));
	return word;
}

static void *change_bytes(void *arg)
{
	__u64 n = 0;

	while (!__atomic_load_n(&raced_end, __ATOMIC_RELAXED)) {
		__u64 word = epf_word(++n, 1);
		__u32 i = word >> 8 & 7;

		shared->byte[i] = values[i][word & 1];
	}
	return NULL;
}

static bool one_of(struct outcome got, const struct outcome *can)
{
	int i;

	for (i = 0; i < STATES; i++)
		if (same(got, can[i]))
			return true;
	return false;
}

static void raced(__u8 *room, int which)
{
	struct outcome can[STATES];
	__u32 i, met[2] = { 0, 0 };
	bool good = true;
	pthread_t thread;

	make_frames(room, which);
	for (i = 0; i < STATES; i++)
		can[i] = outcome_of(state(i));
	shared->word = state(0);
	__atomic_store_n(&raced_end, false, __ATOMIC_RELAXED);
	if (pthread_create(&thread, NULL, change_bytes, NULL))
		exit(1);
	for (i = 0; i < RACES && good; i++) {
		struct outcome got = call();

		good = one_of(got, can);
		met[!!got.err]++;
	}
	__atomic_store_n(&raced_end, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	tap_ok(good, "%s: bytes of the options change: %u digests, %u errors", frames[which],
	       met[0], met[1]);
}

int main(int argc, char **argv)
{
	bool bounds = argc > 1 && !strcmp(argv[1], "bounds");
	__u8 *room = make_room();
	int i;

	tap_plan(WATCH_POINTS + (bounds ? 0 : FRAMES));
	watched(room, bounds);
	for (i = 0; i < FRAMES && !bounds; i++)
		raced(room, i);
	return tap_end();
}
