// SPDX-License-Identifier: GPL-2.0
/*
 * digest OBJECT FRAMES FIRST [--without-perfmon]: packet digests by a BPF program
 * (bpf/epf_packet.bpf.h) equal those of the core in this process. Digest or error is the
 * same for the frames of the known answers under all options, cut off at every length, in
 * one buffer and in two cut anywhere, and with bytes changed; for the frames of FRAMES
 * (selftests/model/stacks.py); and for packets of the maximum length. FIRST is first.bpf.o.
 * --without-perfmon: load the program with CAP_BPF and CAP_NET_ADMIN only. If a kernel
 * before 6.18 refuses that, load it with all capabilities; if that fails too, skip.
 */
#include <epf/kat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/mman.h>

#include "../core/tap.h"
#include "digest.h"
#include "two_caps.h"

#define XDP_LEAST 14   /* BPF_PROG_TEST_RUN accepts no shorter frame */
#define XDP_READ 65535 /* reach of bpf_xdp_load_bytes() */
#define FRAME_MAX 70000
#define INSNS_MAX 100000 /* limit of instructions that the verifier processes */
#define ARG_BARE "--without-perfmon"

/* Valid options: all for keys of frames and packets, and of flows in packet order; for
 * other keys and flags some links and prefixes.
 */
static struct epf_pkt_opts option[2048];
static unsigned int options;

static int prog = -1;
static volatile struct digest_shared *shared;
static __u32 first;                            /* bytes in the first buffer of a test run */
static struct epf_hash hash[EPF_HASH_MAX + 1]; /* one of each kind */
static __u8 room[2 * FRAME_MAX];

static struct {
	unsigned int frames, digests, bad;
} tally;

static __u64 drawn;

static __u32 draw(__u32 below)
{
	return (__u32)(epf_word(0x5eed + tap_seed(), (__u32)++drawn) % below);
}

static bool is_listed(const struct epf_pkt_opts *o, __u32 most)
{
	__u32 flags = o->flags & ~(EPF_PKT_NONIP_FRAME | EPF_PKT_PASS_CONTROL);

	if (epf_pkt_opts_check(o) || (o->flags & EPF_PKT_MARK) ||
	    !(o->flags & EPF_PKT_ZONE) != !EPF_PKT_ZONE_OF(o->max_bytes))
		return false;
	if (o->key < EPF_PKT_FLOW || (o->key == EPF_PKT_FLOW && !flags))
		return true;
	return !o->link ? !o->max_bytes || (flags / 16 + most) % 4 == 0 :
			  (flags / 16 + o->key + o->link + most) % 16 == 0;
}

static void list_options(void)
{
	/* clang-format off */
	static const __u32 most[] = { 0, 1, 13, 38, 60, 70, 128, 1000,
				      EPF_PKT_PREFIX(24, 64), EPF_PKT_PREFIX(8, 65),
				      EPF_PKT_PREFIX(31, 127), EPF_PKT_PREFIX(32, 9),
				      EPF_PKT_IN_ZONE(77), EPF_PKT_IN_ZONE(65535) +
				      EPF_PKT_PREFIX(24, 64) };
	/* clang-format on */
	struct epf_pkt_opts o;
	__u32 i, key, link, flags;

	for (key = 0; key < EPF_PKT_KEYS; key++)
		for (link = 0; link <= EPF_LINK_SLL2; link++)
			for (flags = 0; flags <= EPF_PKT_MASK; flags++)
				for (i = 0; i < EPF_KAT_LEN(most); i++) {
					o.key = (__u8)key;
					o.link = (__u8)link;
					o.flags = (__u16)flags;
					o.max_bytes = most[i];
					if (is_listed(&o, i) && options < EPF_KAT_LEN(option))
						option[options++] = o;
				}
}

/* In XDP there is no mark, and the interface is the one that received the packet. */
static int by_core(const struct epf_hash *h, const struct epf_pkt_opts *o, const __u8 *frame,
		   __u32 len, __u64 *digest)
{
	struct epf_pkt_scope scope = { shared->iface, 0 };
	struct epf_seg seg = { frame, len };
	struct epf_pkt pkt = { &seg, 1, len };

	if (epf_pkt_opts_check(o) || (o->flags & EPF_PKT_MARK))
		return -EINVAL;
	return epf_pkt_digest_in(h, &pkt, o, &scope, digest);
}

/* The program digests the frame after @skip bytes. */
static int by_bpf(const struct epf_hash *h, const struct epf_pkt_opts *o, const __u8 *frame,
		  __u32 len, __u32 skip, __u64 *digest)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = len);
	int err;

	if (skip) {
		memcpy(room + skip, frame, len);
		run.data_in = room;
		run.data_size_in += skip;
	}
	memcpy((void *)&shared->hash, h, sizeof(*h));
	memcpy((void *)&shared->opts, o, sizeof(*o));
	shared->skip = skip;
	shared->ret = 1;
	err = bpf_prog_test_run_opts(prog, &run);
	*digest = shared->digest;
	return err ? err : (int)shared->ret;
}

/* Compare one frame, in one buffer (as far as it fits) and, if @at is not 0 and inside
 * the frame, in two: the first ends at byte @at.
 */
static void ask(const struct epf_pkt_opts *o, const __u8 *frame, __u32 len, __u32 at)
{
	const struct epf_hash *h = &hash[tally.frames % 3];
	__u32 skip = at && at < len ? first - at : 0;
	__u64 want = 0, got = 0;
	int err = by_core(h, o, frame, len, &want);
	int ret = by_bpf(h, o, frame, len, skip, &got);

	tally.frames++;
	tally.digests += !err;
	if (ret == err && (err || got == want))
		return;
	if (tally.bad++ < 5)
		printf("# %u bytes at %u, key %u link %u flags %u max %u: %d %llx, core %d %llx\n",
		       len, at, o->key, o->link, o->flags, o->max_bytes, ret, got, err, want);
}

static void begin(void)
{
	memset(&tally, 0, sizeof(tally));
}

static void end(const char *what)
{
	tap_ok(!tally.bad && tally.digests > 100, "%s: %u frames, %u digests, %u refused", what,
	       tally.frames, tally.digests, tally.frames - tally.digests);
}

/* Return: vector @i, unless it has the frame of the previous one. */
static const struct epf_kat_pkt *vector(__u32 i)
{
	const struct epf_kat_pkt *v = &epf_kat_pkt[i];

	if (v->len < XDP_LEAST || (i && v[-1].at == v->at))
		return NULL;
	return v;
}

/* Return: in a guest of "make check" each frame has every fourth option and length, elsewhere
 * all.
 */
static __u32 stride(void)
{
	return getenv("EPF_VM") && !getenv("EPF_KERNELS") && !getenv("EPF_THOROUGH") ? 4 : 1;
}

static void all_options(void)
{
	const __u32 step = stride();
	const struct epf_kat_pkt *v;
	__u32 i, k;

	begin();
	for (i = 0; i < EPF_KAT_LEN(epf_kat_pkt); i++) {
		v = vector(i);
		for (k = i % step; v && k < options; k += step)
			ask(&option[k], epf_kat_frame + v->at, v->len, 0);
	}
	end("frames of the vectors, all options");
}

/* Each frame with its own link type and some other options. */
static void all_lengths(void)
{
	const __u32 step = stride();
	const struct epf_kat_pkt *v;
	__u32 i, k = 0, len;

	begin();
	for (i = 0; i < EPF_KAT_LEN(epf_kat_pkt); i++) {
		v = &epf_kat_pkt[i];
		for (len = XDP_LEAST + i % step; len <= v->len; len += step, k++) {
			struct epf_pkt_opts o = { v->key, v->link, v->flags, v->max_bytes };

			ask(&o, epf_kat_frame + v->at, len, XDP_LEAST + k % 83);
			ask(&option[k * 7 % options], epf_kat_frame + v->at, len,
			    k % 2 ? XDP_LEAST + k % 89 : 0);
		}
	}
	end("cut off at every length, in two buffers");
}

static void changed(void)
{
	__u8 frame[512];
	__u32 n, i, len, frames = 60000 / stride();

	begin();
	for (n = 0; n < frames; n++) {
		const struct epf_kat_pkt *v = &epf_kat_pkt[draw(EPF_KAT_LEN(epf_kat_pkt))];
		struct epf_pkt_opts o = { v->key, v->link, v->flags, v->max_bytes };

		len = v->len - (draw(4) ? 0 : draw(v->len + 1u));
		if (len < XDP_LEAST)
			continue;
		memcpy(frame, epf_kat_frame + v->at, len);
		for (i = 1 + draw(3); i; i--)
			frame[draw(len)] ^= 1u << draw(8);
		ask(draw(4) ? &o : &option[draw(options)], frame, len,
		    draw(2) ? XDP_LEAST + draw(80) : 0);
	}
	end("bits changed");
}

/* A record of FRAMES, followed by the frame. */
struct record {
	struct epf_pkt_opts opts;
	__u32 len;
	__u32 err;
	__u64 digest;
};

static void of_stacks(const char *path)
{
	static __u8 frame[1 << 14];
	FILE *f = fopen(path, "r");
	struct record r;

	begin();
	while (f && fread(&r, sizeof(r), 1, f) == 1 && r.len <= sizeof(frame) &&
	       fread(frame, 1, r.len, f) == r.len)
		if (r.len >= XDP_LEAST) {
			ask(&r.opts, frame, r.len, 0);
			ask(&r.opts, frame, r.len, XDP_LEAST + tally.frames % 83);
		}
	tap_ok(f && feof(f), "all frames of the file are read");
	end("frames of every stack");
}

/* Make an IPv4 or IPv6 packet of @len bytes in total. */
static void make_long(__u8 *f, __u32 len, bool six)
{
	__u32 i, body = len - (six ? 54 : 14);

	for (i = 0; i < len; i++)
		f[i] = (__u8)(i * 29 + (i >> 8) + len);
	f[12] = six ? 0x86 : 0x08;
	f[13] = six ? 0xdd : 0;
	f[14] = six ? 0x60 : 0x45;
	f[six ? 18 : 16] = (__u8)(body >> 8);
	f[six ? 19 : 17] = (__u8)body;
	f[20] = f[21] = six ? 17 : 0;
}

static void long_packets(void)
{
	static const __u32 lens[] = { 1500, 1514, 3500, 4096, 8192, 9000, 9014, 16384, XDP_READ };
	static __u8 f[FRAME_MAX];
	const __u32 step = stride();
	__u32 i, k, len;

	begin();
	for (i = 0; i < 1000 + EPF_KAT_LEN(lens); i++) {
		len = i < 1000 ? 54 + i : lens[i - 1000];
		make_long(f, len, i & 1);
		for (k = 0; k < 16; k++)
			ask(&option[(i + k * 17) % options], f, len,
			    k & 1 ? XDP_LEAST + (i + k) % 200 : 0);
	}
	for (i = 0; i < EPF_KAT_LEN(lens); i++)
		for (k = i % step; k < options; k += step) {
			make_long(f, lens[i], k & 1);
			ask(&option[k], f, lens[i], 0);
		}
	end("packets of 54 to 65,535 bytes");
}

/* A key with bytes that cannot be read is an error of its own, never a wrong digest. */
static void too_long(void)
{
	struct epf_pkt_opts o = { EPF_PKT_FRAME, EPF_LINK_ETHER, 0, 0 };
	static __u8 f[FRAME_MAX];
	const struct epf_hash *h;
	__u64 got, want;
	bool good = true;
	__u32 len;
	int err;

	make_long(f, XDP_READ, false);
	for (len = XDP_READ - 8; len < XDP_READ + 300; len++) {
		h = &hash[len % 3];
		err = by_bpf(h, &o, f, len, 0, &got);
		by_core(h, &o, f, len, &want);
		good &= err ? err == -EMSGSIZE && len > XDP_READ : got == want;
	}
	good &= err == -EMSGSIZE;
	for (o.max_bytes = 1000; o.key <= EPF_PKT_PACKET; o.key++)
		good &= !by_bpf(h, &o, f, FRAME_MAX, 0, &got) &&
			!by_core(h, &o, f, FRAME_MAX, &want) && got == want;
	tap_ok(good, "bytes behind 65,535 are refused, where the key takes them");
}

static void unsound_options(void)
{
	struct epf_pkt_opts o;
	__u32 n;

	begin();
	for (n = 0; n < 20000; n++) {
		o.key = (__u8)draw(draw(4) ? EPF_PKT_KEYS + 1 : 256);
		o.link = (__u8)draw(draw(4) ? 5 : 256);
		o.flags = (__u16)(draw(4) ? 1u << draw(12) | 1u << draw(12) :
					    draw(2) * draw(65536));
		o.max_bytes = draw(2) ? draw(100) << 8 * draw(3) : 0;
		ask(&o, epf_kat_frame, epf_kat_pkt[0].len, 0);
	}
	end("options, sound or not");
}

static void verified(const struct bpf_program *p)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	int err = bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &len);

	tap_ok(!err && info.verified_insns < INSNS_MAX, "%s: %u instructions verified, %u bytes",
	       bpf_program__name(p), info.verified_insns, info.jited_prog_len);
}

/* Return: the loaded object, or NULL. */
static struct bpf_object *load_object(const char *path, int *err)
{
	struct bpf_object *obj = bpf_object__open(path);

	*err = obj ? bpf_object__load(obj) : -errno;
	if (!*err)
		return obj;
	bpf_object__close(obj);
	return NULL;
}

static struct bpf_object *load_bare(const char *path, int *err)
{
	struct bpf_object *obj;
	struct caps all;

	*err = -EPERM;
	if (!two_caps_leave(&all))
		return NULL;
	obj = load_object(path, err);
	if (!two_caps_restore(&all))
		exit(1);
	return obj;
}

/* Return: 0, or a negative errno. */
static int load(const char *path, bool bare)
{
	struct bpf_object *obj;
	struct bpf_map *bss;
	int err;

	obj = bare ? load_bare(path, &err) : load_object(path, &err);
	if (!obj && bare && two_caps_may_fail()) {
		printf("# this kernel refuses it without CAP_PERFMON\n");
		obj = load_object(path, &err);
	}
	if (!obj)
		return err;
	prog = bpf_program__fd(bpf_object__find_program_by_name(obj, "digest"));
	bss = bpf_object__find_map_by_name(obj, ".bss");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(bss),
		      0);
	tap_plan(10);
	verified(bpf_object__find_program_by_name(obj, "digest"));
	return shared == MAP_FAILED ? -errno : 0;
}

/* Find out how much of a large frame a test run puts into the first buffer, and which
 * interface its packets come from.
 */
static void learn_first(const char *path)
{
	static const __u8 large[8192];
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = large, .data_size_in = sizeof(large));
	struct bpf_object *obj;
	__u64 digest;
	int err;

	by_bpf(&hash[0], &option[0], large, XDP_LEAST, 0, &digest);
	obj = load_object(path, &err);
	if (!obj)
		return;
	bpf_prog_test_run_opts(bpf_program__fd(bpf_object__find_program_by_name(obj, "first")),
			       &run);
	first = run.retval;
	bpf_object__close(obj);
}

int main(int argc, char **argv)
{
	bool bare = argc == 5 && !strcmp(argv[4], ARG_BARE);
	__u32 i;
	int err;

	if (argc != 4 + bare)
		return 2;
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	list_options();
	err = load(argv[1], bare);
	if (err == -EPERM || err == -ENOSYS) {
		tap_skip_all("loading BPF programs is not permitted");
		return TAP_SKIPPED;
	}
	if (err && bare && two_caps_may_fail()) {
		tap_skip_all("this kernel's verifier refuses this form");
		return TAP_SKIPPED;
	}
	if (err) {
		tap_plan(1);
		tap_ok(false, "the verifier accepts the program: %d", err);
		return 1;
	}
	for (i = 0; i <= EPF_HASH_MAX; i++)
		epf_hash_init(&hash[i], 0x0123456789abcdef, 42, i);
	learn_first(argv[3]);
	tap_ok(first > 256 && first < 8192 && shared->iface && options > 900 &&
		       options < EPF_KAT_LEN(option),
	       "the first buffer has %u bytes; %u options", first, options);
	all_options();
	all_lengths();
	changed();
	of_stacks(argv[2]);
	long_packets();
	too_long();
	unsound_options();
	return tap_end();
}
