// SPDX-License-Identifier: GPL-2.0
/*
 * kfunc == ioctl == offline, bit by bit: one random sequence of tests, inserts, packets
 * and rotations goes to three filters of one kind, shape and hash key, one by BPF
 * programs, one by ioctl, one in this process. After every operation verdict and age
 * are equal, and so are digests and refusals of packets. If the first filter has a
 * journal, its mirror equals it at every rotation.
 *
 * The window is small, so epochs also end by themselves, which the kernel does
 * a moment later: the test waits for that.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../core/tap.h"
#include "../mirrored.h"
#include "libepf/epf.h"
#include "../locked.h"
#include "../params.h"
#include "parity.h"

#define WINDOW 700
#define KEYS 1500 /* so that there are repeats of every age, and forgotten keys */
#define STEPS 6000
#define WAIT_MS 5000
#define FRAMES 400
#define FRAME_MAX 20000

static const __u64 hash_key[2] = { 0x0123456789abcdef, 0xfedcba9876543210 };

/**
 * struct three - the filters
 * @dev: device
 * @ioctl: descriptor of the first
 * @kfunc: descriptor of the second, for its state only
 * @mirror: of the second, or NULL
 * @mem: the third, of kind lanes; for a locked kind used for digests only
 * @locked: the third, of a locked kind, with memory
 * @key: program for keys and digests
 * @packet: program for packets
 * @hold: program that gives @packet its filter
 * @shared: their memory
 * @first_seen: repeats are not inserted
 * @inserts: insertions counted in the current epoch
 * @epoch_inserts: insertions that end an epoch
 * @epoch: current epoch
 * @ages: how often a key of each age was found
 */
struct three {
	int dev;
	int ioctl;
	int kfunc;
	struct epf_mirror *mirror;
	struct epf_mem *mem;
	struct locked locked;
	int key;
	int packet;
	int hold;
	volatile struct parity *shared;
	bool first_seen;
	unsigned int inserts;
	unsigned int epoch_inserts;
	__u64 epoch;
	unsigned int ages[EPF_AGE_ABSENT];
};

static __u64 seed;

/* SplitMix64; any generator would do, but this one is the same everywhere. */
static __u64 draw(void)
{
	__u64 x = seed += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static __u32 below(__u32 n)
{
	return (__u32)(draw() % n);
}

static const struct epf_params lanes = { PARAMS(1024, 1, 5, WINDOW) };

/* Let the programs work on filter @id from now on; 0: on none. */
static bool hold(struct three *t, __u32 id)
{
	t->shared->filter = id;
	return !bpf_prog_test_run_opts(t->hold, NULL);
}

/* Make the third filter: of lanes, or next to one for digests. */
static bool setup_offline(struct three *t, const struct epf_params *p,
			  const struct epf_shape *shape)
{
	__u32 epochs = p->kind ? locked_epochs(p->kind, shape) : 7;
	int err;

	t->mem = epf_mem_new(p->kind ? &lanes : p, hash_key, 0, &err);
	t->epoch_inserts = (WINDOW + epochs - 1) / epochs;
	return t->mem && (!p->kind || locked_init(&t->locked, p->kind, shape));
}

static bool setup_filters(struct three *t, struct epf_params *p, const struct epf_shape *shape)
{
	const struct epf_create_opts o = { .size = sizeof(o), .shape = shape, .key = hash_key };
	__u32 id[2];

	t->first_seen = p->refresh == EPF_FIRST_SEEN;
	strcpy(p->name, "parity-ioctl");
	if (epf_dev_create_opts(t->dev, p, &o, &id[0]))
		return false;
	strcpy(p->name, "parity-kfunc");
	if (epf_dev_create_opts(t->dev, p, &o, &id[1]))
		return false;
	t->ioctl = epf_dev_filter_id(t->dev, id[0]);
	t->kfunc = epf_dev_filter_id(t->dev, id[1]);
	if (!hold(t, id[1]))
		return false;
	t->inserts = 0;
	t->epoch = 8;
	memset(t->ages, 0, sizeof(t->ages));
	return t->ioctl >= 0 && t->kfunc >= 0 && setup_offline(t, p, shape);
}

/* Is the mirror, if there is one, equal to its filter? */
static bool mirrors(struct three *t)
{
	struct mirrored d;

	if (!t->mirror || mirrored_equal(t->kfunc, t->mirror, &d))
		return true;
	mirrored_tell(&d);
	return false;
}

static void drop_filters(struct three *t)
{
	epf_mirror_close(t->mirror);
	t->mirror = NULL;
	hold(t, 0);
	close(t->ioctl);
	close(t->kfunc);
	epf_dev_destroy(t->dev, "parity-ioctl", false);
	epf_dev_destroy(t->dev, "parity-kfunc", false);
	epf_mem_free(t->mem);
	t->mem = NULL;
	locked_free(&t->locked);
}

static bool epoch_is(int filter, __u64 epoch)
{
	struct epf_info info = { 0 };
	int ms;

	for (ms = 0; ms < WAIT_MS; ms++) {
		if (epf_filter_info(filter, &info))
			return false;
		if (info.epoch >= epoch)
			break;
		usleep(1000);
	}
	if (info.epoch == epoch)
		return true;
	printf("# epoch %llu of the kernel, %llu expected\n", info.epoch, epoch);
	return false;
}

static bool offline_epoch_is(const struct three *t, __u64 epoch)
{
	struct epf_info info;

	if (t->locked.f.word)
		return true; /* it has no mirror */
	epf_mem_info(t->mem, 0, &info);
	if (info.epoch == epoch)
		return true;
	printf("# epoch %llu offline, %llu expected\n", info.epoch, epoch);
	return false;
}

/* End the epoch in all three. */
static bool next_epoch(struct three *t)
{
	t->inserts = 0;
	t->epoch++;
	if (t->locked.f.word)
		locked_rotate(&t->locked);
	return offline_epoch_is(t, t->epoch) && epoch_is(t->ioctl, t->epoch) &&
	       epoch_is(t->kfunc, t->epoch);
}

static bool rotate_all(struct three *t)
{
	__u64 epoch;

	if (!t->locked.f.word)
		epf_mem_rotate(t->mem, 0);
	return mirrors(t) && !epf_filter_rotate(t->ioctl, 1, &epoch) &&
	       !epf_filter_rotate(t->kfunc, 1, &epoch) && next_epoch(t);
}

/* Return: verdict, 0 for an insert, or a negative errno. */
static int by_ioctl(struct three *t, __u32 op, const void *key, __u32 len, bool digest)
{
	static const unsigned long cmds[PARITY_OPS] = {
		EPF_IOC_TEST,
		EPF_IOC_INSERT,
		EPF_IOC_TEST_AND_INSERT,
	};
	__u8 bit = 0, age = EPF_AGE_ABSENT;
	struct epf_batch b = {
		.size = sizeof(b),
		.flags = digest ? EPF_BATCH_DIGESTS : 0,
		.count = 1,
		.key_len = digest ? 0 : len,
		.keys = (unsigned long)key,
	};
	int err;

	if (op != PARITY_INSERT) {
		b.bitmap = (unsigned long)&bit;
		b.ages = (unsigned long)&age;
	}
	err = epf_filter_batch(t->ioctl, cmds[op], &b);
	if (err)
		return err;
	if (b.present != bit || b.done != 1 || !bit != (age == EPF_AGE_ABSENT))
		return -EREMOTEIO;
	return bit ? 1 + age : 0;
}

static int by_kfunc(int prog, void *packet, __u32 len, const struct three *t)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet, .data_size_in = len);
	int err = bpf_prog_test_run_opts(prog, &opts);

	return err ? err : (int)t->shared->ret;
}

static int offline_locked(struct three *t, __u32 op, __u64 digest)
{
	int verdict = op == PARITY_INSERT ? 0 : locked_test(&t->locked, digest);

	if (op == PARITY_INSERT || (op == PARITY_TEST_AND_INSERT && !(verdict && t->first_seen)))
		locked_insert(&t->locked, digest);
	return verdict;
}

static int offline(struct three *t, __u32 op, __u64 digest)
{
	if (t->locked.f.word)
		return offline_locked(t, op, digest);
	if (op == PARITY_TEST)
		return epf_mem_test(t->mem, digest, 0);
	if (op == PARITY_TEST_AND_INSERT)
		return epf_mem_test_and_insert(t->mem, digest, 0);
	epf_mem_insert(t->mem, digest, 0);
	return 0;
}

/* The three answers are @a, @b and @c; count them, and end the epoch if it is full. */
static bool agree(struct three *t, __u32 op, int a, int b, int c)
{
	if (a != b || b != c) {
		printf("# op %u at epoch %llu: ioctl %d, kfunc %d, offline %d\n", op, t->epoch, a,
		       b, c);
		return false;
	}
	if (a > 0)
		t->ages[a - 1]++;
	if (op == PARITY_TEST || (op == PARITY_TEST_AND_INSERT && a && t->first_seen))
		return true;
	return ++t->inserts < t->epoch_inserts || next_epoch(t);
}

/* Make key number @n; its length depends on the number, over the whole range. */
static __u32 make_key(__u8 key[EPF_KEY_MAX], __u32 n)
{
	__u32 i, len = 1 + n * 31 % EPF_KEY_MAX;

	for (i = 0; i < len; i++)
		key[i] = (__u8)((n >> (i % 4 * 8)) + i * 7);
	return len;
}

static bool step_key(struct three *t)
{
	__u32 op = below(PARITY_OPS), len;
	bool digest = below(2);
	__u8 key[EPF_KEY_MAX];
	int a, b, c;
	__u64 d;

	len = make_key(key, below(KEYS));
	d = epf_mem_digest(t->mem, key, len);
	t->shared->op = op;
	t->shared->by_digest = digest;
	t->shared->digest = digest ? d : 0;
	t->shared->len = len;
	memcpy((void *)t->shared->key, key, len);
	a = by_ioctl(t, op, digest ? (void *)&d : key, len, digest);
	b = by_kfunc(t->key, NULL, 0, t);
	c = offline(t, op, d);
	if (t->shared->digest != d) {
		printf("# digest %llx, offline %llx\n", t->shared->digest, d);
		return false;
	}
	return agree(t, op, a, b, c);
}

static void put16(__u8 *p, __u32 v)
{
	p[0] = (__u8)(v >> 8);
	p[1] = (__u8)v;
}

/* Make an IPv4 or IPv6 packet with UDP, at times with tags, errors, or cut off. */
static __u32 make_frame(__u8 *f, __u32 n)
{
	__u64 was = seed;
	__u32 len, l3 = 14, i;
	bool six;

	seed = n;
	len = below(8) ? 60 + below(1400) : 60 + below(FRAME_MAX - 60);
	for (i = 0; i < len; i++)
		f[i] = (__u8)draw();
	six = below(2);
	if (!below(4)) {
		put16(f + 12, 0x8100);
		l3 = 18;
	}
	put16(f + l3 - 2, below(8) ? (six ? 0x86dd : 0x0800) : 0x0806);
	f[l3] = six ? 0x60 : 0x45;
	if (six) {
		put16(f + l3 + 4, len - l3 < 40 ? 0 : len - l3 - 40);
		f[l3 + 6] = below(4) ? 17 : (__u8)below(256);
	} else {
		put16(f + l3 + 2, len - l3);
		put16(f + l3 + 6, below(4) ? 0x4000 : below(65536));
		f[l3 + 9] = below(4) ? 17 : (__u8)below(256);
	}
	if (!below(5))
		f[l3 + below(8)] ^= (__u8)(1 << below(8));
	if (!below(8))
		len = 14 + below(len - 14);
	seed = was;
	return len;
}

static void draw_opts(struct epf_pkt_opts *o)
{
	memset(o, 0, sizeof(*o));
	o->key = (__u8)below(EPF_PKT_KEYS);
	if (o->key == EPF_PKT_PACKET)
		o->flags = (__u16)below(4);
	else if (o->key == EPF_PKT_FLOW)
		o->flags = below(2) ? EPF_PKT_NONIP_FRAME : 0;
	if (o->key < EPF_PKT_FLOW && below(2))
		o->max_bytes = 1 + below(200);
	if (o->key >= EPF_PKT_PEER && below(2))
		o->max_bytes = EPF_PKT_PREFIX(8 + below(25), 8 + below(121));
	if (!(o->flags & EPF_PKT_NONIP_FRAME) && below(2))
		o->flags |= EPF_PKT_PASS_CONTROL;
	if (o->key >= EPF_PKT_FLOW && !(o->flags & EPF_PKT_NONIP_FRAME))
		o->flags |= below(EPF_PKT_IFACE / EPF_PKT_REVERSE) * EPF_PKT_REVERSE;
	if (o->key >= EPF_PKT_FLOW && !(o->flags & EPF_PKT_NONIP_FRAME) && !below(4)) {
		o->flags |= EPF_PKT_ZONE;
		o->max_bytes += EPF_PKT_IN_ZONE(below(3) * 32767);
	}
	if (o->key == EPF_PKT_CONVERSATION)
		o->flags &= (__u16)~EPF_PKT_REVERSE;
	if (o->key == EPF_PKT_PEER)
		o->flags &= (__u16)~EPF_PKT_FIRST;
	if (!below(8)) /* also invalid options: both flags above for plain flows */
		o->flags ^= (__u16)(1 << (below(2) ? 2 + below(2) : below(8)));
}

/**
 * struct tally - results for packets
 * @verdicts: packets with a verdict
 * @refused: packets without one
 * @wrong: packets with invalid options
 * @split: packets in more than one buffer
 */
struct tally {
	unsigned int verdicts;
	unsigned int refused;
	unsigned int wrong;
	unsigned int split;
};

static bool step_packet(struct three *t, struct tally *tally)
{
	static __u8 frame[FRAME_MAX];
	__u32 len = make_frame(frame, below(FRAMES));
	struct epf_pkt_opts opts;
	__u64 digest = 0;
	int err, a, b;

	draw_opts(&opts);
	memcpy((void *)&t->shared->opts, &opts, sizeof(opts));
	err = epf_mem_pkt_digest(t->mem, frame, len, &opts, &digest);
	b = by_kfunc(t->packet, frame, len, t);
	tally->split += len > 4096;
	if (err) {
		tally->refused++;
		tally->wrong += err == -EINVAL;
		if (b != err)
			printf("# %u bytes, key %u: kfunc %d, offline %d\n", len, opts.key, b, err);
		return b == err;
	}
	tally->verdicts++;
	if (t->shared->digest != digest) {
		printf("# %u bytes, key %u: digest %llx, offline %llx\n", len, opts.key,
		       t->shared->digest, digest);
		return false;
	}
	a = by_ioctl(t, PARITY_TEST_AND_INSERT, &digest, 0, true);
	return agree(t, PARITY_TEST_AND_INSERT, a, b, offline(t, PARITY_TEST_AND_INSERT, digest));
}

/* Lanes have eight ages; locked kinds have as many as epochs. */
static bool every_age(const struct three *t)
{
	unsigned int i, ages = 0;
	unsigned int want = t->locked.f.word ? t->locked.epochs : 8;

	for (i = 0; i < EPF_AGE_ABSENT; i++)
		ages += t->ages[i] > 0;
	if (ages < want)
		printf("# only %u of %u ages were met\n", ages, want);
	return ages >= want;
}

static bool keep_journal(struct three *t)
{
	return !epf_mirror_open(t->kfunc, 14, 0, &t->mirror);
}

static void run_keys(struct three *t, struct epf_params *p, bool journal)
{
	bool good = setup_filters(t, p, NULL) && (!journal || keep_journal(t));
	int i;

	seed = p->lines_per_key * 4 + p->hash * 2 + p->refresh;
	for (i = 0; good && i < STEPS; i++)
		good = below(997) ? step_key(t) : rotate_all(t);
	good = good && every_age(t) && mirrors(t);
	tap_ok(good, "keys and digests: L=%u, %s, %s%s: %d steps, %llu epochs", p->lines_per_key,
	       p->hash ? "SipHash-2-4" : "SipHash-1-3", t->first_seen ? "first-seen" : "refresh",
	       journal ? ", a journal" : "", i, t->epoch - 8);
	drop_filters(t);
}

static void run_packets(struct three *t, struct epf_params *p, bool journal)
{
	bool good = setup_filters(t, p, NULL) && (!journal || keep_journal(t));
	struct tally n = { 0 };
	int i;

	seed = 1000 + p->lines_per_key;
	for (i = 0; good && i < STEPS / 2; i++)
		good = below(499) ? step_packet(t, &n) : rotate_all(t);
	tap_ok(good && n.refused > 50 && n.wrong > 50 && n.split > 50 && t->ages[0] && mirrors(t),
	       "packets: L=%u%s: %u verdicts, %u refused alike, %u for their options, %u of many buffers",
	       p->lines_per_key, journal ? ", a journal" : "", n.verdicts, n.refused, n.wrong,
	       n.split);
	drop_filters(t);
}

static void run_kind(struct three *t, __u8 kind, bool first_seen)
{
	struct epf_shape shape = locked_shape(kind);
	struct epf_params p = lanes;
	bool good;
	int i;

	p.kind = kind;
	p.refresh = first_seen ? EPF_FIRST_SEEN : EPF_REFRESH;
	p.nr_lines = 0;
	p.lines_per_key = 0;
	p.bits_per_key = 0;
	good = setup_filters(t, &p, &shape);
	seed = 2000 + kind;
	for (i = 0; good && i < STEPS / 3; i++)
		good = below(499) ? step_key(t) : rotate_all(t);
	good = good && every_age(t);
	tap_ok(good, "keys and digests: kind %u, %s: %d steps, %llu epochs", kind,
	       first_seen ? "first-seen" : "refresh", i, t->epoch - 8);
	drop_filters(t);
}

/* One, two, and four lines per key: each with either hash and either refresh mode, and
 * with and without a journal.
 */
static void run_all(struct three *t)
{
	__u32 kinds[EPF_KIND_MAX], nr = locked_fixed_kinds(kinds), i;

	for (i = 0; i < 12; i++) {
		struct epf_params p = lanes;

		p.lines_per_key = (__u16)(1 << i / 4);
		p.bits_per_key = (__u16)((8 - p.lines_per_key) * p.lines_per_key);
		p.hash = i % 4 == 1;
		p.refresh = i % 4 == 2;
		if (i % 4 < 3)
			run_keys(t, &p, false);
		else
			run_packets(t, &p, false);
		if (i % 4 == 1 || i % 4 == 2)
			run_keys(t, &p, true);
		else if (i % 4 == 3)
			run_packets(t, &p, true);
	}
	for (i = 0; i < nr; i++)
		run_kind(t, (__u8)kinds[i], i % 2);
}

static bool load(struct three *t, const char *path)
{
	struct bpf_object *obj = bpf_object__open(path);
	int bss;

	if (!obj || bpf_object__load(obj))
		return false;
	t->key = bpf_program__fd(bpf_object__find_program_by_name(obj, "parity_key"));
	t->packet = bpf_program__fd(bpf_object__find_program_by_name(obj, "parity_packet"));
	t->hold = bpf_program__fd(bpf_object__find_program_by_name(obj, "parity_hold"));
	bss = bpf_map__fd(bpf_object__find_map_by_name(obj, ".bss"));
	t->shared = mmap(NULL, sizeof(*t->shared), PROT_READ | PROT_WRITE, MAP_SHARED, bss, 0);
	return t->shared != MAP_FAILED;
}

int main(int argc, char **argv)
{
	struct three t = { .dev = epf_dev_open() };
	__u32 kinds[EPF_KIND_MAX];

	if (t.dev < 0) {
		tap_skip_all("no " EPF_DEVICE ": the module is not loaded");
		return TAP_SKIPPED;
	}
	tap_plan((int)(22 + locked_fixed_kinds(kinds)));
	if (tap_ok(load(&t, argc > 1 ? argv[1] : "parity.bpf.o"), "the programs load"))
		run_all(&t);
	return tap_end();
}
