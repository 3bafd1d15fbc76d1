// SPDX-License-Identifier: GPL-2.0
/*
 * xdp_bench: cost of a packet in xdp_dedup and in the common alternatives, by
 * test runs of the XDP programs themselves. In a guest that counts instructions
 * (selftests/vm/run.sh --icount) the kernel's ns are instructions, and the
 * figures are the same in every run except for timer interrupts. A report; it
 * asserts only that the programs did what the row says.
 *
 * Everything is at its working load before it is measured: the filters hold a
 * window of keys in eight epochs, the LRU table is full, the bloom maps hold a
 * window each.
 *
 *   new     keys never seen
 *   repeat  the same keys again, in the same epoch
 *   older   the same keys once more, an epoch later
 *
 * With -J each filter has a journal with room for all keys, as epfagent makes one to publish
 * them. Nobody reads it, which costs packets the same.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../include/epf/xdp.h"
#include "../../user/libepf/epf.h"
#include "../../user/libepf/rings.h"
#include "peers.h"
#include "peers.skel.h"
#include "xdp_pure.h"

#define PACKETS_MAX 8192 /* packets of one figure */
#define FRAME_MAX 1514
#define JOURNAL_ORDER 20 /* records of a journal: above what all figures insert */
#define RIGHT 0.97       /* share of the packets that must have the row's outcome */
#define SHAPES 3
#define FILTERS (2 * SHAPES) /* the module's, then those that are pure BPF */

enum stage { NEW, REPEAT, OLDER, STAGES };

struct figures {
	double ns[STAGES];
};

/**
 * struct bench - state of the benchmark
 * @peers: programs and maps of the peers
 * @dedup: xdp_dedup as the tool attaches it
 * @bind: programs that give it a filter
 * @dev: device
 * @control: descriptor for filters that are pure BPF
 * @filter: descriptors of the filters, by position in lines_per_key
 * @info: their properties
 * @pure: programs of the filters that are pure BPF
 * @flows: keys of the window
 * @budget: budget of the filters
 * @hash: hash of the filters, enum epf_hash_id
 * @journals: filters have journals
 * @packets: packets of one figure; a small part of an epoch, so that repeats are in
 *	the same epoch
 * @next_key: first key that no packet had yet
 * @next_digest: first digest that no batch had yet
 */
struct bench {
	struct peers_bpf *peers;
	struct bpf_object *dedup;
	struct bpf_object *bind;
	int dev;
	int control;
	int filter[FILTERS];
	struct epf_info info[FILTERS];
	struct pure pure[SHAPES];
	__u32 flows;
	double budget;
	__u8 hash;
	bool journals;
	__u32 packets;
	__u32 next_key;
	__u64 next_digest;
};

static const unsigned int lines_per_key[SHAPES] = { 1, 2, 4 };

/* Return: the programs of filter @which; NULL: it is the module's. */
static const struct pure *pure_of(const struct bench *b, int which)
{
	return which < SHAPES ? NULL : &b->pure[which - SHAPES];
}

static int fail(const char *what, int err)
{
	fprintf(stderr, "xdp_bench: %s: %s\n", what, strerror(err < 0 ? -err : errno));
	return 1;
}

/* ------------------------------------------------------------ filters ---- */

/* Insert @count fresh digests. */
static int fill(struct bench *b, int filter, __u32 count)
{
	__u64 *digests = calloc(count, sizeof(*digests));
	struct epf_batch batch = {
		.size = sizeof(batch),
		.flags = EPF_BATCH_DIGESTS,
		.count = count,
		.keys = (unsigned long)digests,
	};
	__u32 i;
	int err;

	if (!digests)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		__u64 x = b->next_digest += 0x9e3779b97f4a7c15ULL;

		x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL; /* SplitMix64 */
		x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
		digests[i] = x ^ x >> 31;
	}
	err = epf_filter_batch(filter, EPF_IOC_INSERT, &batch);
	free(digests);
	return err;
}

static int create(struct bench *b, int which, struct epf_params *p)
{
	int dev = which < SHAPES ? b->dev : b->control, err;
	struct epf_size_req req = {
		.keys_per_window = b->flows,
		.budget = b->budget,
		.lines_per_key = lines_per_key[which % SHAPES],
	};
	struct epf_size size;
	__u32 id;

	err = epf_size(&req, &size);
	if (err)
		return err;
	p->nr_lines = size.nr_lines;
	p->lines_per_key = size.lines_per_key;
	p->bits_per_key = size.bits_per_key;
	err = epf_dev_create(dev, p, NULL, &id);
	if (!err)
		b->filter[which] = epf_dev_filter_id(dev, id);
	return err;
}

/* Insert a window in seven epochs, and one more epoch that is nearly full. */
static int make_filter(struct bench *b, int which, const char *dir)
{
	struct epf_params p = {
		.window_inserts = b->flows,
		.budget_ppt = b->budget * 1e12,
		.limit_ppt = EPF_RATE_ONE,
		.hash = b->hash,
	};
	int err, e;

	snprintf(p.name, sizeof(p.name), "bench-%d", which);
	err = create(b, which, &p);
	if (!err && which >= SHAPES)
		err = pure_load(&b->pure[which - SHAPES], dir, p.name);
	for (e = 0; e < 7 && !err; e++)
		err = fill(b, b->filter[which], (b->flows + 6) / 7);
	if (!err && b->journals)
		err = epf_rings_get(b->filter[which], JOURNAL_ORDER, 1,
				    &(struct epf_rings *){ NULL });
	return err ?: epf_filter_info(b->filter[which], &b->info[which]);
}

static int run_bind(int prog, struct epf_xdp_bind *arg)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = arg, .ctx_size_in = sizeof(*arg));
	int err = bpf_prog_test_run_opts(prog, &opts);

	return err ?: (int)opts.retval;
}

/* Give the programs filter @which and the key of the packets. */
static int bind_filter(struct bench *b, int which, __u8 key)
{
	struct bpf_program *bind = bpf_object__find_program_by_name(b->bind, "epf_bind");
	struct epf_xdp_bind arg = {
		.id = b->info[which].id,
		.opts = { .key = key, .flags = EPF_PKT_PASS_CONTROL },
	};

	if (pure_of(b, which))
		return pure_key(pure_of(b, which), key);
	return run_bind(bpf_program__fd(bind), &arg);
}

/* ----------------------------------------------------------- programs ---- */

static struct bpf_object *load(const char *path, int slot)
{
	struct bpf_object *obj = bpf_object__open_file(path, NULL);
	struct bpf_program *prog;
	struct bpf_map *map;

	if (!obj)
		return NULL;
	map = bpf_object__find_map_by_name(obj, "epf_slot");
	if (slot >= 0 && bpf_map__reuse_fd(map, slot))
		return NULL;
	prog = bpf_object__find_program_by_name(obj, "xdp_dedup");
	if (prog) /* as the tool loads it, like the peers */
		bpf_program__set_flags(prog, BPF_F_XDP_HAS_FRAGS);
	return bpf_object__load(obj) ? NULL : obj;
}

/* Return: the slot map of filter @which; the peers count in the module's. */
static int slot_of(const struct bench *b, int which)
{
	if (pure_of(b, which))
		return pure_slot(pure_of(b, which));
	return bpf_object__find_map_fd_by_name(b->dedup, "epf_slot");
}

static int load_all(struct bench *b, const char *dir)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/xdp_dedup.bpf.o", dir);
	b->dedup = load(path, -1);
	if (!b->dedup)
		return fail(path, 0);
	snprintf(path, sizeof(path), "%s/epf_bind.bpf.o", dir);
	b->bind = load(path, slot_of(b, 0));
	if (!b->bind)
		return fail(path, 0);
	b->peers = peers_bpf__open();
	if (!b->peers)
		return fail("peers.bpf.o", 0);
	bpf_map__reuse_fd(b->peers->maps.epf_slot, slot_of(b, 0));
	bpf_map__set_max_entries(b->peers->maps.lru, b->flows);
	bpf_map__set_max_entries(b->peers->maps.bloom0, b->flows);
	bpf_map__set_max_entries(b->peers->maps.bloom1, b->flows);
	return peers_bpf__load(b->peers) ? fail("loading the peers", 0) : 0;
}

/* Return: packets counted with @outcome in slot map @slot. */
static __u64 counted(int slot, enum epf_outcome outcome)
{
	int cpus = libbpf_num_possible_cpus();
	struct epf_xdp_slot *slots = calloc((size_t)cpus, sizeof(*slots));
	__u32 zero = 0;
	__u64 sum = 0;
	int i;

	bpf_map_lookup_elem(slot, &zero, slots);
	for (i = 0; i < cpus; i++)
		sum += slots[i].counts.by[0][outcome].packets;
	free(slots);
	return sum;
}

/* ------------------------------------------------------- measurements ---- */

/* Make a packet of Ethernet, IPv4, UDP and zeros. */
static void make_frame(unsigned char *frame, __u32 len)
{
	static const unsigned char head[] = {
		2, 0, 0, 0,  0,  1, 2, 0,  0, 0, 0, 2,  8, 0, 0x45, 0, 0, 0, 0,
		0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,    4, 1, 0, 53,
	};

	memset(frame, 0, len);
	memcpy(frame, head, sizeof(head));
	frame[16] = (unsigned char)((len - 14) >> 8);
	frame[17] = (unsigned char)(len - 14);
}

/* Run @packets packets with the keys from @base on. Return: ns per packet, or
 * negative.
 */
static double run(struct bench *b, __u32 base, __u32 packets, __u32 len)
{
	unsigned char frame[FRAME_MAX], out[FRAME_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = len, .data_out = out,
		    .data_size_out = sizeof(out), .repeat = (int)packets);
	int err;

	make_frame(frame, len);
	b->peers->bss->peers.base = base;
	b->peers->bss->peers.mask = ~0u;
	b->peers->bss->peers.next = 0;
	err = bpf_prog_test_run_opts(bpf_program__fd(b->peers->progs.vary), &opts);
	return err ? (double)err : (double)opts.duration;
}

static int choose(struct bench *b, int prog)
{
	__u32 zero = 0;

	return bpf_map_update_elem(bpf_map__fd(b->peers->maps.jump), &zero, &prog, BPF_ANY);
}

/* Measure one figure; @want is the outcome of nearly all packets. */
static int measure(struct bench *b, int which, __u32 base, __u32 len, enum epf_outcome want,
		   double *ns)
{
	const struct pure *pure = pure_of(b, which);
	int slot = slot_of(b, which), err = pure ? pure_settle(pure) : 0;
	__u64 before = counted(slot, want);
	double share;

	if (err)
		return fail("ending epochs", err);
	*ns = run(b, base, b->packets, len);
	if (*ns < 0)
		return fail("test run", (int)*ns);
	share = (double)(counted(slot, want) - before) / b->packets;
	if (share > RIGHT)
		return 0;
	fprintf(stderr, "xdp_bench: %.3f of the packets went the wrong way\n", 1 - share);
	return 1;
}

/* Advance by an epoch: filter @which, or the bloom maps if negative. */
static int pass_epoch(struct bench *b, int which)
{
	__u64 epoch;

	b->peers->bss->peers.current ^= 1;
	return which < 0 ? 0 : epf_filter_rotate(b->filter[which], 1, &epoch);
}

static int measure_all(struct bench *b, int which, __u32 len, struct figures *f)
{
	__u32 base = b->next_key;
	int err;

	b->next_key += b->packets;
	err = measure(b, which, base, len, EPF_OUT_ABSENT, &f->ns[NEW]);
	if (!err)
		err = measure(b, which, base, len, EPF_OUT_RECENT, &f->ns[REPEAT]);
	if (!err)
		err = pass_epoch(b, which);
	if (!err)
		err = measure(b, which, base, len, EPF_OUT_RECENT, &f->ns[OLDER]);
	if (!err && which >= 0) /* refill what the rotation has emptied */
		err = fill(b, b->filter[which], (b->flows + 6) / 7);
	return err;
}

/* ------------------------------------------------------------- report ---- */

enum subject { NULL_PROG, LRU, BLOOM, OURS, SUBJECTS = OURS + FILTERS };

static const struct kind {
	const char *name;
	__u8 key;
	__u32 len;
} kinds[] = {
	{ "flow", EPF_PKT_FLOW, 64 },
	{ "packet", EPF_PKT_PACKET, 64 },
	{ "packet", EPF_PKT_PACKET, 512 },
	{ "packet", EPF_PKT_PACKET, 1500 },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const char *const subject_names[SUBJECTS] = {
	"null",     "lru",          "bloom",        "ours L=1",     "ours L=2",
	"ours L=4", "pure BPF L=1", "pure BPF L=2", "pure BPF L=4",
};

static int subject_prog(const struct bench *b, int subject, __u8 key)
{
	bool flow = key == EPF_PKT_FLOW;

	if (subject >= OURS + SHAPES)
		return pure_prog(pure_of(b, subject - OURS));
	switch (subject) {
	case NULL_PROG:
		return bpf_program__fd(b->peers->progs.null);
	case LRU:
		return bpf_program__fd(flow ? b->peers->progs.lru_flow :
					      b->peers->progs.lru_packet);
	case BLOOM:
		return bpf_program__fd(flow ? b->peers->progs.bloom_flow :
					      b->peers->progs.bloom_packet);
	}
	return bpf_program__fd(bpf_object__find_program_by_name(b->dedup, "xdp_dedup"));
}

static int measure_subject(struct bench *b, const struct kind *kind, int subject, struct figures *f)
{
	int which = subject < OURS ? 0 : subject - OURS;
	/* clang-format off */
	int err = bind_filter(b, which, kind->key) ?:
		  choose(b, subject_prog(b, subject, kind->key));
	/* clang-format on */

	if (err)
		return fail("binding", err);
	if (subject == NULL_PROG) {
		f->ns[NEW] = run(b, 0, b->packets, kind->len);
		f->ns[REPEAT] = f->ns[OLDER] = f->ns[NEW];
		return f->ns[NEW] < 0;
	}
	return measure_all(b, subject < OURS ? -1 : which, kind->len, f);
}

/* Fill the LRU table, and both bloom maps to their load. */
static int load_peers(struct bench *b)
{
	const struct kind *flow = &kinds[0];
	int map;

	if (choose(b, subject_prog(b, LRU, flow->key)) ||
	    run(b, 0, b->flows + b->flows / 8, flow->len) < 0)
		return fail("filling the LRU table", 0);
	for (map = 0; map < 2; map++) {
		b->peers->bss->peers.current = (__u32)map;
		if (choose(b, subject_prog(b, BLOOM, flow->key)) ||
		    run(b, (__u32)map << 31, b->flows / 2, flow->len) < 0)
			return fail("filling the bloom maps", 0);
	}
	b->next_key = 1u << 30;
	return 0;
}

/* The measured shapes; '*' is the default plan. */
static void print_filters(const struct bench *b)
{
	struct epf_size_req req = {
		.keys_per_window = b->flows,
		.budget = b->budget,
	};
	struct epf_size planned;
	int i;

	epf_size(&req, &planned);
	printf("Window %u flows, budget %g\n", b->flows, b->budget);
	for (i = 0; i < FILTERS; i++) {
		const struct epf_params *p = &b->info[i].params;

		printf("  %-12s%s %8.2f MiB, %u bits a key\n", subject_names[OURS + i],
		       p->lines_per_key == planned.lines_per_key ? "*" : " ",
		       (double)b->info[i].memory_bytes / (1 << 20), p->bits_per_key);
	}
}

static void print_kind(const struct kind *kind, const struct figures *f)
{
	int s;

	printf("\n%6s key, %4u bytes       %9s %9s %9s   less null, to LRU's\n", kind->name,
	       kind->len, "new", "repeat", "older");
	for (s = 0; s < SUBJECTS; s++) {
		int stage;

		printf("  %-22s", subject_names[s]);
		for (stage = 0; stage < STAGES; stage++)
			printf(" %9.0f", f[s].ns[stage]);
		printf("  ");
		for (stage = 0; s != NULL_PROG && stage < STAGES; stage++)
			printf(" %6.2f", (f[s].ns[stage] - f[0].ns[stage]) /
						 (f[LRU].ns[stage] - f[0].ns[stage]));
		printf("\n");
	}
}

static void json_kind(FILE *out, const struct kind *kind, const struct figures *f, bool first)
{
	int s;

	for (s = 0; s < SUBJECTS; s++)
		fprintf(out,
			"%s\n  {\"key\": \"%s\", \"bytes\": %u, "
			"\"subject\": \"%s\", \"new\": %.0f, "
			"\"repeat\": %.0f, \"older\": %.0f}",
			first && !s ? "" : ",", kind->name, kind->len, subject_names[s],
			f[s].ns[NEW], f[s].ns[REPEAT], f[s].ns[OLDER]);
}

/* Measure all kinds, or those of one key. */
static int report(struct bench *b, const char *key, FILE *json)
{
	struct figures f[SUBJECTS];
	bool first = true;
	unsigned int k;
	int s;

	fprintf(json, "{\"window\": %u, \"budget\": %g, \"memory_bytes\": {", b->flows, b->budget);
	for (s = 0; s < FILTERS; s++)
		fprintf(json, "%s\"%s\": %llu", s ? ", " : "", subject_names[OURS + s],
			b->info[s].memory_bytes);
	fprintf(json, "}, \"figures\": [");
	for (k = 0; k < KINDS; k++) {
		if (key && strcmp(key, kinds[k].name))
			continue;
		for (s = 0; s < SUBJECTS; s++)
			if (measure_subject(b, &kinds[k], s, &f[s]))
				return 1;
		print_kind(&kinds[k], f);
		json_kind(json, &kinds[k], f, first);
		first = false;
	}
	fprintf(json, "\n]}\n");
	return fclose(json) ? fail("writing the JSON file", 0) : 0;
}

int main(int argc, char **argv)
{
	struct bench b = { .flows = PEERS_FLOWS, .budget = 1e-4, .hash = EPF_HASH_NH };
	const char *json = "/dev/null", *key = NULL;
	FILE *out;
	int opt, i, err;

	while ((opt = getopt(argc, argv, "n:b:k:j:JS")) != -1) {
		if (opt == 'n')
			b.flows = (__u32)strtoul(optarg, NULL, 10);
		else if (opt == 'b')
			b.budget = atof(optarg);
		else if (opt == 'j')
			json = optarg;
		else if (opt == 'k')
			key = optarg;
		else if (opt == 'J')
			b.journals = true;
		else if (opt == 'S')
			b.hash = EPF_HASH_SIPHASH13;
		else
			argc = 0;
	}
	if (argc != optind + 1 || b.flows < 10000) {
		fprintf(stderr,
			"usage: xdp_bench [-n FLOWS] [-b BUDGET] "
			"[-k flow|packet] [-j JSON_FILE] [-J: with journals] [-S: --hash siphash13] "
			"DIRECTORY\n");
		return 2;
	}
	out = fopen(json, "w");
	if (!out)
		return fail(json, 0);
	b.packets = b.flows / 28 < PACKETS_MAX ? b.flows / 28 : PACKETS_MAX;
	if (load_all(&b, argv[optind]))
		return 1;
	b.peers->bss->peers.window_ns = 3600000000000ULL;
	b.dev = epf_dev_open();
	if (b.dev < 0)
		return fail(EPF_DEVICE, b.dev);
	err = pure_control(&b.control);
	if (err)
		return fail("pure BPF", err);
	for (i = 0; i < FILTERS; i++) {
		err = make_filter(&b, i, argv[optind]);
		if (err)
			return fail("making a filter", err);
	}
	print_filters(&b);
	return load_peers(&b) || report(&b, key, out);
}
