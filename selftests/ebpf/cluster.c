// SPDX-License-Identifier: GPL-2.0
/*
 * cluster [DEDUP [OWN]]: the packet path of a cluster, with the program xdp_dedup of object
 * DEDUP (that of pure BPF filters) and the programs of OWN (own_cluster.bpf.c) on a local
 * filter and a filter of all. Every combination of what the two
 * filters and the cover say has the verdict that is written here, and no packet enters the
 * filter of all. The words are set by this program, so nothing depends on time but the one
 * claim that a promise ends by itself; that one holds on any machine.
 */
#include <dirent.h>
#include <epf.h>
#include <epf/cluster.h>
#include <epf/xdp.h>
#include <limits.h>

#include "../params.h"
#include "backend.h"
#include "cluster/cover_map.h"
#include "drive.h"
#include "own_cluster.h"

#define NONE EPF_OUTCOMES

/* A loaded program, with the map of its counters. */
struct prog {
	struct bpf_object *obj;
	int fd, slot;
};

static char local_name[EPF_NAME_LEN], all_name[EPF_NAME_LEN], other_name[EPF_NAME_LEN],
	foreign_name[EPF_NAME_LEN];
static const char *cluster = "epftest-cluster";
static struct ebpf_filter *local, *all;
static struct epf_cluster_cover *cover;
static int cover_fd;
static struct prog judge, to_local, to_all;
static const char *object, *own_object;

/* ---- filters ---- */

static int make_filter(char name[EPF_NAME_LEN], const char *what, __u64 key)
{
	struct epf_create c = {
		.params = drive_params(16384, 4096, EPF_RATE_ONE),
		.flags = EPF_CREATE_KEY,
		.key = { key, 2 },
	};

	drive_name(name, what);
	strcpy(c.params.name, name);
	return ebpf_create(&c, &c.id);
}

/* Nobody ends its epochs, and that does not matter. */
static void fresh(struct ebpf_filter *f)
{
	epf_store_release(&ebpf_slot(f)->until, ~0ULL);
	epf_store_release(&ebpf_slot(f)->open_at, ~0ULL);
}

static int make_filters(void)
{
	return make_filter(local_name, "local", 1)             ?:
		       make_filter(all_name, "all", 1)         ?:
		       make_filter(other_name, "other", 1)     ?:
		       make_filter(foreign_name, "foreign", 3) ?:
		       ebpf_open(local_name, &local)           ?:
								 ebpf_open(all_name, &all);
}

/* ---- programs ---- */

static int make_slot(void)
{
	int cpus = libbpf_num_possible_cpus(), i;
	int fd = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "epf_slot", sizeof(__u32),
				sizeof(struct epf_xdp_slot), 1, NULL);
	struct epf_xdp_slot *values = calloc((size_t)cpus, sizeof(*values));
	__u32 zero = 0;

	for (i = 0; values && i < cpus; i++)
		values[i].opts.key = EPF_PKT_FLOW;
	if (fd < 0 || !values || bpf_map_update_elem(fd, &zero, values, BPF_ANY))
		fd = -1;
	free(values);
	return fd;
}

static int use_cluster(struct bpf_object *obj)
{
	const __u32 yes = 1;

	return ebpf_reuse_all_maps(obj, all_name) ?:
		       bpf_map__reuse_fd(bpf_object__find_map_by_name(obj, "epf_cover"), cover_fd) ?:
		       bpf_map__set_initial_value(bpf_object__find_map_by_name(obj,
									       ".rodata.cluster"),
						  &yes, sizeof(yes));
}

/* xdp_dedup on filter @name; @clustered: it also asks the filter of all. */
static int load_prog(struct prog *p, const char *name, bool clustered)
{
	struct bpf_program *prog;
	int err;

	p->obj = bpf_object__open(object);
	p->slot = make_slot();
	if (!p->obj || p->slot < 0)
		return -errno;
	prog = bpf_object__find_program_by_name(p->obj, "xdp_dedup");
	err = bpf_map__reuse_fd(bpf_object__find_map_by_name(p->obj, "epf_slot"), p->slot) ?:
		      ebpf_reuse_maps(p->obj, name)                                        ?:
		      (clustered ? use_cluster(p->obj) : 0)                                ?:
		      bpf_object__load(p->obj);
	p->fd = bpf_program__fd(prog);
	return err;
}

/* ---- packets ---- */

/* UDP from port @n. */
static void fill_packet(__u8 packet[64], __u32 n)
{
	static const __u8 head[] = { 2,  0, 0, 0, 0, 1,  2,  0, 0, 0,  0, 2, 8, 0,  0x45, 0, 0,
				     50, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0,    0, 2 };

	memset(packet, 0, 64);
	memcpy(packet, head, sizeof(head));
	packet[34] = (__u8)(n >> 8);
	packet[35] = (__u8)n;
	packet[37] = 53;
	packet[29] = (__u8)(n >> 16);
}

static void read_counts(const struct prog *p, __u64 sum[EPF_OUTCOMES])
{
	int cpus = libbpf_num_possible_cpus(), i, j;
	struct epf_xdp_slot *values = calloc((size_t)cpus, sizeof(*values));
	__u32 zero = 0;

	memset(sum, 0, EPF_OUTCOMES * sizeof(*sum));
	if (values && !bpf_map_lookup_elem(p->slot, &zero, values))
		for (i = 0; i < cpus; i++)
			for (j = 0; j < EPF_OUTCOMES; j++)
				sum[j] += values[i].counts.by[0][j].packets;
	free(values);
}

/* Send packet @n. Return: enum epf_outcome; NONE: it was not counted once. */
static int sent(const struct prog *p, __u32 n)
{
	__u64 before[EPF_OUTCOMES], after[EPF_OUTCOMES];
	__u8 packet[64];
	LIBBPF_OPTS(bpf_test_run_opts, t, .data_in = packet, .data_size_in = sizeof(packet),
		    .repeat = 1);
	int i, found = NONE, nr = 0;

	fill_packet(packet, n);
	read_counts(p, before);
	while (bpf_prog_test_run_opts(p->fd, &t))
		if (errno != EINTR && errno != EAGAIN)
			return NONE;
	read_counts(p, after);
	for (i = 0; i < EPF_OUTCOMES; i++)
		if (after[i] != before[i]) {
			found = i;
			nr += (int)(after[i] - before[i]);
		}
	return nr == 1 ? found : NONE;
}

/* ---- the rule alone ---- */

/* Every verdict of either filter, and both states of the cover. */
static void check_rule(void)
{
	static const int verdicts[] = { 0, 1, 8, -ENOSPC, -ETIME, -ENODEV, -EBUSY, -EINVAL };
	bool good = true;
	size_t i, j;

	for (i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++)
		for (j = 0; j < sizeof(verdicts) / sizeof(verdicts[0]); j++) {
			int own = verdicts[i], its = verdicts[j];
			bool found = its > 0 || its == -ENOSPC || its == -ETIME;
			int open = found ? its : -EHOSTUNREACH;

			good &= epf_cluster_verdict(own, its, false) == (own ? own : open);
			good &= epf_cluster_verdict(own, its, true) == (own ? own : its ? open : 0);
		}
	tap_ok(good, "the rule: a local answer holds; otherwise present is present, and absent "
		     "is absent only if covered");
}

/* ---- every case ---- */

enum local_state { LOCAL_ABSENT, LOCAL_PRESENT, LOCAL_SATURATED, LOCAL_OVERDUE, LOCAL_STATES };
enum all_state {
	ALL_ABSENT,
	ALL_PRESENT,
	ALL_SATURATED,
	ALL_OVERDUE,
	ALL_GONE,
	ALL_OTHER_KEY,
	ALL_OTHER_CONTENTS,
	ALL_STATES
};
enum cover_state { COVERED, EXPIRED, WITHDRAWN, COVERS };

static const char *const local_names[] = { "absent", "present", "saturated", "overdue" };
static const char *const all_names[] = { "absent", "present",   "saturated",     "overdue",
					 "gone",   "other key", "other contents" };
static const char *const cover_names[] = { "covered", "expired", "withdrawn" };

/* What must be counted. */
static int due(enum local_state own, enum all_state its, enum cover_state covers)
{
	static const int of_local[] = { NONE, EPF_OUT_RECENT, EPF_OUT_SATURATED, EPF_OUT_OVERDUE };
	static const int of_all[] = { NONE,
				      EPF_OUT_RECENT,
				      EPF_OUT_SATURATED,
				      EPF_OUT_OVERDUE,
				      EPF_OUT_UNCOVERED,
				      EPF_OUT_UNCOVERED,
				      EPF_OUT_UNCOVERED };

	if (own != LOCAL_ABSENT)
		return of_local[own];
	if (its != ALL_ABSENT)
		return of_all[its];
	return covers == COVERED ? EPF_OUT_ABSENT : EPF_OUT_UNCOVERED;
}

static bool set_local(enum local_state own, __u32 n)
{
	fresh(local);
	if (own != LOCAL_ABSENT && sent(&to_local, n) != EPF_OUT_ABSENT)
		return false;
	if (own == LOCAL_SATURATED)
		epf_store_release(&ebpf_slot(local)->open_at, 0);
	if (own == LOCAL_OVERDUE)
		epf_store_release(&ebpf_slot(local)->until, 0);
	return true;
}

/* Undone by the next call, with @on false. */
static bool set_all(enum all_state its, __u32 n, bool on)
{
	bool inserted = its == ALL_PRESENT || its == ALL_SATURATED || its == ALL_OVERDUE;

	fresh(all);
	if (on && inserted && sent(&to_all, n) != EPF_OUT_ABSENT)
		return false;
	if (on && its == ALL_SATURATED)
		epf_store_release(&ebpf_slot(all)->open_at, 0);
	if (on && its == ALL_OVERDUE)
		epf_store_release(&ebpf_slot(all)->until, 0);
	if (its == ALL_GONE)
		all->shared->gone = on;
	if (its == ALL_OTHER_KEY)
		ebpf_slot(all)->hash.key[1] ^= 1;
	if (its == ALL_OTHER_CONTENTS)
		ebpf_slot(all)->serial ^= 2;
	return true;
}

static void set_cover(enum cover_state covers)
{
	static const __u64 until[] = { ~0ULL, 1, 0 };

	cover_map_promise(cover, until[covers]);
}

/* Insertions and lookups of the filter of all. */
static void all_counts(__u64 *inserts, __u64 *asked)
{
	struct epf_bpf_cpu *c = &all->cpu[(__u64)all->shared->active * all->shared->cpus];
	__u32 i;

	*inserts = *asked = 0;
	for (i = 0; i < all->shared->cpus; i++) {
		*inserts += c[i].inserts;
		*asked += c[i].absent + c[i].present + c[i].open + c[i].overdue;
	}
}

static bool try_case(enum local_state own, enum all_state its, enum cover_state covers)
{
	static __u32 n;
	__u64 inserts, asked, inserts_after, asked_after;
	int want = due(own, its, covers), got;
	bool good = set_local(own, ++n) && set_all(its, n, true);
	bool asks = own == LOCAL_ABSENT && its != ALL_GONE && its != ALL_OTHER_KEY;

	set_cover(covers);
	all_counts(&inserts, &asked);
	got = sent(&judge, n);
	all_counts(&inserts_after, &asked_after);
	set_all(its, n, false);
	fresh(local);
	if (good && got == want && inserts == inserts_after && asked_after - asked == asks)
		return true;
	printf("# local %s, all %s, %s: outcome %d, not %d; %llu lookups, %llu insertions\n",
	       local_names[own], all_names[its], cover_names[covers], got, want,
	       asked_after - asked, inserts_after - inserts);
	return false;
}

static void check_cases(enum local_state own)
{
	bool good = true;
	int its, covers;

	for (its = 0; its < ALL_STATES; its++)
		for (covers = 0; covers < COVERS; covers++)
			good &= try_case(own, (enum all_state)its, (enum cover_state)covers);
	tap_ok(good, "local %s: every state of the filter of all and of the cover",
	       local_names[own]);
}

/* ---- a user's own programs ---- */

static int load_own(struct prog *p, const char *name)
{
	struct bpf_program *prog;
	int err;

	p->obj = bpf_object__open(own_object);
	if (!p->obj)
		return -errno;
	err = ebpf_reuse_maps(p->obj, local_name)           ?:
		      ebpf_reuse_all_maps(p->obj, all_name) ?:
		      bpf_map__reuse_fd(bpf_object__find_map_by_name(p->obj, "epf_cover"), cover_fd) ?:
		      bpf_object__load(p->obj);
	prog = bpf_object__find_program_by_name(p->obj, name);
	p->fd = prog ? bpf_program__fd(prog) : -1;
	p->slot = bpf_object__find_map_fd_by_name(p->obj, ".bss");
	return err;
}

/* Return: the verdict about packet @n, or key @n; INT_MIN: none. */
static int own_verdict(const struct prog *p, __u32 n, bool inserts)
{
	struct own_cluster own = { .verdict = INT_MIN, .inserts = inserts, .key = n };
	__u8 packet[64];
	LIBBPF_OPTS(bpf_test_run_opts, t, .data_in = packet, .data_size_in = sizeof(packet),
		    .repeat = 1);
	__u32 zero = 0;

	fill_packet(packet, n);
	if (bpf_map_update_elem(p->slot, &zero, &own, BPF_ANY))
		return INT_MIN;
	while (bpf_prog_test_run_opts(p->fd, &t))
		if (errno != EINTR && errno != EAGAIN)
			return INT_MIN;
	return bpf_map_lookup_elem(p->slot, &zero, &own) ? INT_MIN : own.verdict;
}

/* Neither filter has @n. */
static bool try_own(const struct prog *p, __u32 n, bool covered)
{
	int absent = covered ? 0 : -EHOSTUNREACH;

	set_cover(covered ? COVERED : WITHDRAWN);
	return own_verdict(p, n, false) == absent && own_verdict(p, n, false) == absent &&
	       own_verdict(p, n, true) == absent && own_verdict(p, n, true) == 1 &&
	       own_verdict(p, n, false) == 1;
}

static void check_own(const char *name)
{
	struct prog p;
	bool good = !load_own(&p, name);

	fresh(local);
	fresh(all);
	good = good && try_own(&p, 1 << 20, true) && try_own(&p, (1 << 20) + 1, false);
	if (good && strstr(name, "packet"))
		good = sent(&to_all, (1 << 20) + 2) == EPF_OUT_ABSENT &&
		       own_verdict(&p, (1 << 20) + 2, false) == 1;
	bpf_object__close(p.obj);
	tap_ok(good, "%s of epf.bpf.h: absent if covered, present on either host", name);
}

/* ---- time ---- */

static __u64 monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (__u64)t.tv_sec * 1000000000ULL + (__u64)t.tv_nsec;
}

#define PROMISE_NS 20000000ULL

/* A packet that is over before the promise ends is new; one that begins after it is not. One
 * in between may be either.
 */
static void check_deadline(void)
{
	__u64 until = monotonic() + PROMISE_NS, began, ended;
	__u32 n = 1 << 16, late = 0;
	bool good = true;
	int got;

	fresh(local);
	fresh(all);
	cover_map_promise(cover, until);
	while (good && late < 3) {
		began = monotonic();
		got = sent(&judge, n++);
		ended = monotonic();
		if (ended < until)
			good = got == EPF_OUT_ABSENT;
		else if (began >= until)
			good = got == EPF_OUT_UNCOVERED && ++late;
		else
			good = got == EPF_OUT_ABSENT || got == EPF_OUT_UNCOVERED;
		drive_sleep(PROMISE_NS / 16);
	}
	tap_ok(good, "a promise that nobody renews ends at its time");
}

/* ---- contents that are replaced ---- */

static bool swap(const char *a, const char *b)
{
	struct epf_swap args = { .size = sizeof(args) };

	strcpy(args.a.name, a);
	strcpy(args.b.name, b);
	return !ebpf_swap(&args);
}

/* Both numbers are new to either filter. */
static void check_swap(void)
{
	bool good;

	set_cover(COVERED);
	good = swap(all_name, other_name);
	fresh(all);
	good = good && sent(&judge, 1 << 17) == EPF_OUT_UNCOVERED && swap(all_name, other_name);
	fresh(all);
	good = good && sent(&judge, (1 << 17) + 1) == EPF_OUT_ABSENT;
	tap_ok(good, "a filter of all that is swapped does not know what is absent, until it "
		     "has its contents again");

	good = swap(local_name, foreign_name);
	fresh(local);
	good = good && sent(&judge, (1 << 17) + 2) == EPF_OUT_UNCOVERED &&
	       swap(local_name, foreign_name);
	fresh(local);
	tap_ok(good, "nor is it asked for a local filter with another key");
}

/* ---- contents that are lost ---- */

#define EPOCH_NS 1000000000000ULL /* far longer than this test */
#define LOST_WINDOW (EPF_LIVE_EPOCHS * EPOCH_NS)

/* Let all epochs of @f have ended on time: the current one is half over. */
static void grow_old(struct ebpf_filter *f)
{
	struct epf_bpf_slot *s = ebpf_slot(f);
	__u64 now = monotonic(), age;

	for (age = 0; age < EPF_LANES; age++)
		s->state.ring[(s->state.epoch - age) & 7].start_ns = now - age * EPOCH_NS -
								     EPOCH_NS / 2;
	s->began = now - 100 * EPOCH_NS;
	fresh(f);
}

/* The agent has noticed other contents, or there are none. */
static void grow_both(void)
{
	grow_old(local);
	grow_old(all);
	cover->serial = ebpf_slot(all)->serial;
}

static struct epf_restore lost_snapshot;

/* Contents of now, without any key. */
static bool lost_save(struct ebpf_filter *f)
{
	struct epf_snap snap = { .size = sizeof(snap), .pin_ns = EPF_PIN_MAX_NS };
	struct epf_lanes lanes;
	int ret = ebpf_snap_begin(f, &snap) ?: ebpf_lines(f, &lanes);

	free((void *)(uintptr_t)lost_snapshot.lines);
	lost_snapshot.lines = ret ? 0 : (__u64)(uintptr_t)calloc(1, f->line_bytes);
	snap.pin_ns = 0;
	ret = ret ?: ebpf_snap_end(f, &snap);
	lost_snapshot.header = snap.header;
	lost_snapshot.desc = snap.desc;
	return !ret && lost_snapshot.lines;
}

/* Each of these takes packet @n, which @to inserts, from filter @f. */
static bool lose_oldest(struct ebpf_filter *f, const struct prog *to, __u32 n)
{
	__u32 same = n + (1 << 10);
	bool good = sent(to, n) == EPF_OUT_ABSENT && sent(to, same) == EPF_OUT_ABSENT &&
		    !ebpf_rotate_now(f, EPF_LIVE_EPOCHS, NULL);

	grow_both(); /* both are of the oldest epoch, which began a window and a half epoch ago */
	return good && sent(&judge, same) == EPF_OUT_RECENT && !ebpf_rotate_now(f, 1, NULL);
}

static bool lose_all(struct ebpf_filter *f, const struct prog *to, __u32 n)
{
	return sent(to, n) == EPF_OUT_ABSENT && !ebpf_rotate_now(f, EPF_LANES, NULL);
}

static bool lose_by_swap(struct ebpf_filter *f, const struct prog *to, __u32 n)
{
	return sent(to, n) == EPF_OUT_ABSENT && swap(f->name, other_name);
}

static bool lose_in_between(struct ebpf_filter *f, const struct prog *to, __u32 n)
{
	bool good = swap(f->name, other_name);

	fresh(f);
	return good && sent(to, n) == EPF_OUT_ABSENT && swap(f->name, other_name);
}

static bool lose_by_restore(struct ebpf_filter *f, const struct prog *to, __u32 n)
{
	return lost_save(f) && sent(to, n) == EPF_OUT_ABSENT && !ebpf_restore(f, &lost_snapshot);
}

static const struct lost {
	bool (*lose)(struct ebpf_filter *f, const struct prog *to, __u32 n);
	const char *what;
} losses[] = {
	{ lose_oldest, "ended one epoch early" },
	{ lose_all, "cleared it" },
	{ lose_by_swap, "swapped it" },
	{ lose_in_between, "swapped it forth and back, with the key in between" },
	{ lose_by_restore, "restored an older snapshot" },
};

/* No agent looks, and the promise stands. A key that was in filter @f is lost. */
static bool try_loss(const struct lost *lost, struct ebpf_filter *f, const struct prog *to)
{
	static __u32 n = 1 << 21;
	int got, control, again;
	bool good;

	n += 3;
	grow_both();
	control = sent(&judge, n + 1);
	good = lost->lose(f, to, n);
	cover->serial = ebpf_slot(all)->serial;
	fresh(f);
	got = sent(&judge, n);
	grow_both();
	again = sent(&judge, n + 2);
	if (good && control == EPF_OUT_ABSENT && got == EPF_OUT_UNCOVERED &&
	    again == EPF_OUT_ABSENT)
		return true;
	printf("# %s of %s: %d; before: %d; outcome %d; a window later: %d\n", lost->what, f->name,
	       good, control, got, again);
	return false;
}

static void check_lost(void)
{
	__u64 window = cover->window_ns;
	size_t i;

	set_cover(COVERED);
	cover->window_ns = LOST_WINDOW;
	for (i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		bool own = try_loss(&losses[i], local, &to_local);
		bool its = try_loss(&losses[i], all, &to_all);

		tap_ok(own && its,
		       "absent is not known for a window after somebody %s, of either filter",
		       losses[i].what);
	}
	cover->window_ns = window;
	cover->serial = ebpf_slot(all)->serial;
}

static void check_destroyed(void)
{
	bool good = !ebpf_destroy(all_name, true);

	set_cover(COVERED);
	tap_ok(good && sent(&judge, 1 << 18) == EPF_OUT_UNCOVERED,
	       "a filter of all that is destroyed does not know what is absent");
}

/* ---- the map ---- */

static __u32 id_of(int fd)
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

/* The agent restarts: with the same filters, then with another one. */
static void check_renewed(const struct epf_cluster_cover *of)
{
	struct epf_cluster_cover other = *of, *again;
	__u32 id = id_of(cover_fd);
	bool good;
	int fd;

	set_cover(COVERED);
	good = !cover_map_open(cluster, of, &again, &fd);
	if (good) {
		good = id_of(fd) == id && again->until_ns == ~0ULL;
		cover_map_close(again, fd);
	}
	tap_ok(good, "a restarted agent has the same map, with its promise");

	other.serial++;
	good = !cover_map_open(cluster, &other, &again, &fd);
	if (good) {
		good = id_of(fd) != id && !again->until_ns && !cover->until_ns;
		cover_map_promise(again, ~0ULL);
		good &= sent(&judge, 1 << 19) == EPF_OUT_UNCOVERED;
		cover_map_close(again, fd);
	}
	tap_ok(good, "with other contents it makes another map, and programs of the first know "
		     "nothing");
}

static void check_removed(void)
{
	struct epf_cluster_cover *map;
	int fd;

	tap_ok(!cover_map_remove(cluster) && cover_map_remove(cluster) == -ENOENT &&
		       cover_map_open(cluster, NULL, &map, &fd) == -ENOENT &&
		       cover_map_open("a/b", NULL, &map, &fd) == -EINVAL &&
		       cover_map_open("", NULL, &map, &fd) == -EINVAL,
	       "a map that was removed is gone; names are those of filters");
}

static void check_pairs(void)
{
	struct epf_cluster_cover of;

	tap_ok(cover_map_of(local_name, local_name, &of) == -EINVAL &&
		       cover_map_of(local_name, foreign_name, &of) == -EKEYREJECTED &&
		       cover_map_of(local_name, "epftest-none", &of) == -ENOENT,
	       "a cluster needs two filters with one key");
}

/* ---- all of it ---- */

static int begin(struct epf_cluster_cover *of)
{
	int err = make_filters();

	if (!err)
		err = cover_map_of(local_name, all_name, of) ?:
			      cover_map_open(cluster, of, &cover, &cover_fd);
	return err                                     ? err :
	       load_prog(&judge, local_name, true)     ?:
	       load_prog(&to_local, local_name, false) ?:
							 load_prog(&to_all, all_name, false);
}

static void end(void)
{
	cover_map_remove(cluster);
	ebpf_destroy(local_name, true);
	ebpf_destroy(all_name, true);
	ebpf_destroy(other_name, true);
	ebpf_destroy(foreign_name, true);
}

/* Remove the maps of killed tests, whose process no longer exists. */
static void sweep_covers(void)
{
	DIR *dir = opendir(EPF_CLUSTER_PINS);
	const struct dirent *d;

	while (dir && (d = readdir(dir))) {
		const char *pid = strrchr(d->d_name, '-');

		if (!strncmp(d->d_name, DRIVE_PREFIX, strlen(DRIVE_PREFIX)) && pid &&
		    kill(atoi(pid + 1), 0) && errno == ESRCH)
			unlinkat(dirfd(dir), d->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return level == LIBBPF_WARN ? vprintf(fmt, ap) : 0;
}

int main(int argc, char **argv)
{
	struct epf_cluster_cover of;
	static char name[EPF_NAME_LEN];
	int own, err;

	if (ebpf_pins_open() < 0) {
		tap_skip_all("there is no BPF file system, or no right to use it");
		return TAP_SKIPPED;
	}
	object = argc > 1 ? argv[1] : EPF_BPF_OUT "/xdp_dedup_inline.bpf.o";
	own_object = argc > 2 ? argv[2] : OWN_CLUSTER;
	drive_name(name, "cover");
	cluster = name;
	drive_sweep();
	sweep_covers();
	libbpf_set_print(quiet);
	epf_backend_choose(EPF_BACKEND_OTHER);
	ebpf_backend_add();
	tap_plan(11 + LOCAL_STATES + sizeof(losses) / sizeof(losses[0]));
	err = begin(&of);
	if (err) {
		printf("Bail out! %s\n", strerror(-err));
		end();
		return 1;
	}
	check_rule();
	for (own = 0; own < LOCAL_STATES; own++)
		check_cases((enum local_state)own);
	check_own("own_cluster_key");
	check_own("own_cluster_packet");
	check_deadline();
	check_swap();
	check_lost();
	check_pairs();
	cover_map_of(local_name, all_name, &of); /* restored since */
	check_renewed(&of);
	check_removed();
	check_destroyed();
	end();
	return tap_end();
}
