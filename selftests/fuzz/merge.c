// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots of several hosts, merged. Each key that a host has seen within the window before the
 * merged snapshot's time is in it, and a filter restored from it keeps the key for a window after
 * it was seen. With changed headers, what is accepted can be written, opened and asked.
 *
 * Input: window; flags; the time; operations of the hosts, see step().
 */
#include <fcntl.h>
#include <unistd.h>

#include "libepf/merge.c"

#include "libepf/audit.h"
#include "libepf/snap.h"
#include "epf/keydesc.h"
#include "epf/window.h"
#include "fuzz.h"

#define HOSTS 3
#define KEYS 256
#define STEPS 200

enum how {
	TWO_LINES = 1, /* a key */
	LOOSE = 8,
	CHANGED = 16, /* headers */
	NOT_ALIGNED = 32,
	NEAR_ZERO = 64,    /* the time of day */
	NOT_AT_ONCE = 128, /* snapshots */
};

/**
 * struct seen - a key
 * @digest: of it
 * @ns: when it was inserted
 */
struct seen {
	__u64 digest;
	__u64 ns;
};

/**
 * struct hosts - hosts with a filter each, and one clock
 * @nr: how many
 * @window_ns: of the filters
 * @now_ns: the clock
 * @mem: the filters
 * @file: their snapshots
 * @opened: how many of these
 */
struct hosts {
	unsigned int nr;
	__u64 window_ns;
	__u64 now_ns;
	struct epf_mem *mem[HOSTS];
	struct epf_snap_file file[HOSTS];
	unsigned int opened;
};

static char dir[64];
static struct seen key[KEYS];
static unsigned int nr_keys;

static void host_path(char path[96], unsigned int host)
{
	snprintf(path, 96, "%s/%u", dir, host);
}

static void begin(struct hosts *h, __u8 how)
{
	const __u64 hash[2] = { 1, 2 };
	struct epf_params p = { .nr_lines = 128,
				.lines_per_key = how & TWO_LINES ? 2 : 1,
				.bits_per_key = 4,
				.mode = EPF_MODE_TIME,
				.window_ns = h->window_ns,
				.budget_ppt = EPF_RATE_ONE / 1000,
				.limit_ppt = EPF_RATE_ONE,
				.name = "f" };
	unsigned int i;
	int err;

	for (i = 0; i < h->nr; i++) {
		h->mem[i] = epf_mem_new(&p, hash, h->now_ns, &err);
		law(h->mem[i], "a filter");
		law(how & NOT_ALIGNED || !epf_mem_align(h->mem[i]), "it is aligned");
	}
}

/* Time passes, then a host inserts a key or looks at its clock. */
static void step(struct hosts *h, __u8 op)
{
	struct epf_mem *m = h->mem[op % h->nr];

	h->now_ns += (op >> 4) * (h->window_ns / 33 + 1);
	if (op & 8 && nr_keys < KEYS) {
		key[nr_keys] = (struct seen){ epf_word(nr_keys, 3), h->now_ns };
		epf_mem_insert(m, key[nr_keys++].digest, h->now_ns);
	} else if (op & 4) {
		epf_mem_advance(m, h->now_ns);
	}
}

/* Change the header of a snapshot, with right sums. */
static void change(const char *path, struct input *in)
{
	const struct epf_key_desc none = { 0 };
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct epf_snap_header h;
	unsigned int n = take(in) % 6;

	if (fd < 0 || pread(fd, &h, sizeof(h), 0) != sizeof(h))
		abort();
	for (; n; n--) {
		__u8 what = take(in);
		__u64 v = (__u64)take16(in) << take(in) % 48;

		if (what % 6 == 0)
			h.epochs[what / 6 % EPF_EPOCHS].age_ns = v;
		else if (what % 6 == 1)
			h.epochs[what / 6 % EPF_EPOCHS].inserts = v;
		else if (what % 6 == 2)
			h.realtime_ns = v;
		else if (what % 6 == 3)
			h.epoch_begin = h.epoch_end = v;
		else if (what % 6 == 4)
			h.epochs[what / 6 % EPF_EPOCHS].age_ns += v;
		else
			h.params.lines_per_key = (__u16)v;
	}
	h.header_xxh3 = epf_snap_header_sum(&h, &none);
	if (pwrite(fd, &h, sizeof(h), 0) != sizeof(h))
		abort();
	close(fd);
}

/* Save and open all. Return: whether each could be opened. */
static bool save_all(struct hosts *h, struct input *in, __u8 how)
{
	enum epf_snap_fault fault;
	struct epf_snap_header header;
	char path[96];
	unsigned int i;
	bool good = true;

	for (i = 0; i < h->nr; i++) {
		if (how & NOT_AT_ONCE)
			h->now_ns += h->window_ns / 21 + 1;
		epf_mem_advance(h->mem[i], h->now_ns);
		const struct epf_save_opts at = { .now_ns = h->now_ns, .wall_ns = h->now_ns };

		host_path(path, i);
		law(!epf_mem_save(h->mem[i], &at, path, &header), "it is saved");
		if (how & CHANGED)
			change(path, in);
		good &= !epf_snap_open(path, &h->file[i], NULL, NULL, &fault);
		law(good || how & CHANGED, "what was saved can be opened");
	}
	return good;
}

static bool has(const struct epf_snap_file *f, __u64 digest)
{
	unsigned char age, bitmap = 0;
	struct epf_keys keys = { .data = &digest, .n = 1 };
	struct epf_answer a = { .bitmap = &bitmap, .ages = &age, .threads = 1 };
	struct epf_view v;

	law(!epf_view_snap(&v, f), "it can be asked");
	law(!epf_engine_find("scalar")->query(&v, &keys, &a), "and answers");
	epf_view_close(&v);
	return bitmap & 1;
}

static int by_time(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

static void judge(const struct epf_snap_file *f, __u64 window_ns)
{
	__u64 now = f->header.realtime_ns;
	struct epf_mem *m;
	unsigned int i;
	int err;

	for (i = 0; i < nr_keys; i++)
		if (key[i].ns + window_ns > now)
			law(has(f, key[i].digest), "a key of the window is in the merged snapshot");
	m = epf_mem_load(f, now, &err);
	law(m, "the merged snapshot can be restored");
	qsort(key, nr_keys, sizeof(key[0]), by_time);
	for (i = 0; i < nr_keys; i++)
		if (key[i].ns + window_ns > now)
			law(epf_mem_test(m, key[i].digest, key[i].ns + window_ns - 1),
			    "restored, a key stays for a window after it was seen");
	epf_mem_free(m);
}

static void merge(struct hosts *h, __u8 how)
{
	struct epf_merge merge = { .file = h->file, .nr = h->nr, .loose = how & LOOSE };
	enum epf_merge_fault why = epf_merge_plan(&merge);
	enum epf_snap_fault fault;
	struct epf_snap_file out;
	char path[96];
	bool saved;

	law(how & (CHANGED | NOT_ALIGNED) || !why || why == EPF_MERGE_TWICE,
	    "aligned snapshots can be merged");
	law(merge.which < h->nr && merge.with < h->nr, "the fault is in one of them");
	if (why)
		return;
	host_path(path, HOSTS);
	law(!epf_merge_save(&merge, path, &saved) && saved, "what can be merged is written");
	law(merge.fpr >= 0 && merge.fpr <= 1.0000001, "a probability");
	law(!epf_snap_open(path, &out, NULL, NULL, &fault), "and can be opened");
	if (how & CHANGED)
		has(&out, 1);
	else
		judge(&out, h->window_ns);
	epf_snap_close(&out);
	unlink(path);
}

static void end(struct hosts *h)
{
	char path[96];
	unsigned int i;

	for (i = 0; i < h->nr; i++) {
		epf_snap_close(&h->file[i]);
		epf_mem_free(h->mem[i]);
		host_path(path, i);
		unlink(path);
	}
}

static void remove_dir(void)
{
	rmdir(dir);
}

int LLVMFuzzerTestOneInput(const __u8 *data, size_t size)
{
	static const __u64 windows[] = { 1000000000ULL, 7000,      600000000000ULL, 8,
					 999999937ULL,  1ULL << 40 };
	struct input in = { data, size };
	__u64 window_ns = windows[take(&in) % 6];
	__u8 how = take(&in);
	struct hosts h = { .nr = 1 + (how >> 1) % HOSTS, .window_ns = window_ns };
	unsigned int i;

	if (!dir[0]) {
		make_dir(dir);
		atexit(remove_dir);
	}
	nr_keys = 0;
	h.now_ns = how & NEAR_ZERO ? take(&in) * (window_ns / 50 + 1) :
				     1700000000000000000ULL + take16(&in) * (window_ns / 1000 + 1);
	begin(&h, how);
	for (i = 0; i < STEPS && in.left > (how & CHANGED ? 24 : 0); i++)
		step(&h, take(&in));
	if (save_all(&h, &in, how))
		merge(&h, how);
	end(&h);
	return 0;
}
