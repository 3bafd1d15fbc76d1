// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ends epochs by a BPF timer. It does everything that user/ebpf/hold.c does in a process,
 * except the estimate. So no process is needed, and none can be killed.
 *
 * A filter has one timer, on any CPU that the kernel chooses. It reads the words of all
 * CPUs, so none is woken for it, and a CPU that goes offline needs no care (no section is
 * on it then, and it counts nothing). User space runs the same program when it wants an
 * epoch to end. The program that has the word "ticking" does the work, any other leaves; so
 * only one at a time writes anything here. A tick is short: it checks busy CPUs 64 times,
 * and scans SCAN_LINES lines.
 *
 * A swap or a restore sets @changing and waits until "ticking" is 0. Then nothing changes
 * until it clears @changing: both sides have a full barrier in between.
 *
 * The grace period is explained in epf_inline.bpf.h, epf_inline_enter().
 */
#include <stdbool.h>

#include "epf_inline.bpf.h"
#include <epf/bpf_rotate.h>

#define MONOTONIC 1 /* CLOCK_MONOTONIC */
#define LOOKS 64u   /* checks of CPUs in a section, per tick */
#define SCAN_LINES 512u
#define WAIT_MAX_NS 250000000ULL /* if only time ends epochs */
#define WAIT_IDLE_NS 10000000ULL /* if insertions do, and there were none */
#define WAIT_WORK_NS 1000000ULL  /* while scan or grace period are in progress */
#define WAIT_MIN_NS 200000ULL
#define LEFT_MAX (1ULL << 36) /* insertions; times WAIT_IDLE_NS is below 2^64 */

struct tick_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tick_timer);
} epf_timer SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, EPF_BPF_SLOTS);
	__type(key, __u32);
	__type(value, struct epf_capacity);
} epf_limits SEC(".maps");

static __always_inline struct epf_bpf_filter *table_of(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&epf_table, &zero);
}

/* Contents of slot @at. It is never NULL, but the verifier does not know. The verifier
 * reads a function that takes @at as an argument by itself, once, and not again for each
 * path that leads to it.
 */
static __always_inline struct epf_bpf_slot *slot_of(__u32 at)
{
	struct epf_bpf_filter *table = table_of();

	if (!table || at >= EPF_BPF_SLOTS)
		return NULL;
	at = epf_opaque(at);
	return &table->slot[at];
}

/* ---- sums over all CPUs ---- */

/**
 * struct sums - see epf/bpf.h
 * @first: word of CPU 0
 * @epoch: epoch of the insertions that CPUs keep
 * @keys: sum
 * @pending: sum
 */
struct sums {
	__u32 first;
	__u64 epoch;
	__u64 keys;
	__u64 pending;
};

static long sum_cpu(__u32 i, void *arg)
{
	struct sums *s = arg;
	__u32 at = s->first + i;
	struct epf_bpf_cpu *cpu = bpf_map_lookup_elem(&epf_cpus, &at);

	if (!cpu)
		return 1;
	s->keys += epf_load(&cpu->keys);
	s->pending += epf_pending_of(epf_load(&cpu->pending), s->epoch);
	return 0;
}

static __always_inline struct sums sum_of(const struct epf_bpf_filter *table, __u32 at)
{
	const struct epf_bpf_slot *s = &table->slot[at];
	struct sums sums = {
		.first = at * table->cpus,
		.epoch = s->state.epoch,
		.keys = s->base_keys,
	};

	bpf_loop(table->cpus, sum_cpu, &sums, 0);
	return sums;
}

/* Insertions of the current epoch. */
static __always_inline __u64 inserts_of(const struct epf_bpf_slot *s, const struct sums *sums)
{
	return epf_count_of(epf_load(&s->state.count), s->state.epoch) + sums->pending;
}

/* ---- the grace period ---- */

struct looks {
	__u32 first, cpu, nr;
};

/* Check the next CPU that has had a section since the epoch began. */
static long look(__u32 i, void *arg)
{
	struct looks *l = arg;
	__u32 at = l->first + l->cpu;
	struct epf_bpf_cpu *cpu = bpf_map_lookup_elem(&epf_cpus, &at);

	if (!cpu || l->cpu >= l->nr)
		return 1;
	if (!epf_load(&cpu->inside))
		l->cpu++;
	return 0;
}

static __always_inline void grace(const struct epf_bpf_filter *table, struct epf_bpf_slot *s,
				  __u32 at)
{
	struct looks l = { .first = at * table->cpus, .nr = table->cpus };
	__u64 e = s->state.epoch;

	if (s->quiet >= e)
		return;
	if (s->grace_epoch != e) {
		s->grace_cpu = 0;
		s->grace_epoch = e;
	}
	l.cpu = (__u32)s->grace_cpu;
	bpf_loop(l.nr + LOOKS, look, &l, 0);
	s->grace_cpu = l.cpu;
	if (l.cpu >= l.nr)
		epf_store_release(&s->quiet, e);
}

/* ---- the scan ---- */

struct scan {
	__u32 slot;
	__u64 first;
	__u64 epoch;
};

static long scan_line(__u32 i, void *arg)
{
	struct scan *scan = arg;
	__u32 slot = scan->slot, n = (__u32)scan->first + i;
	void *lines = bpf_map_lookup_elem(&epf_lines, &slot);
	struct epf_line *line;

	if (!lines)
		return 1;
	line = bpf_map_lookup_elem(lines, &n);
	if (!line)
		return 1;
	epf_lanes_scan_line(line, scan->epoch);
	return 0;
}

/* Scan a part of the chunk that is due. */
EPF_FN_APART int epf_tick_scan(__u32 at)
{
	struct epf_bpf_slot *s = slot_of(at);
	struct scan scan = { .slot = at };
	__u64 first, end, n;

	if (!s || s->state.scanned >= s->state.epoch)
		return 0;
	scan.epoch = s->state.epoch;
	epf_scan_chunk(&s->state, epf_geom_lines(&s->geom), &first, &end);
	scan.first = first + s->scan_at;
	n = end > scan.first ? end - scan.first : 0;
	if (n > SCAN_LINES)
		n = SCAN_LINES;
	bpf_loop((__u32)n, scan_line, &scan, 0);
	s->scanned += n;
	s->scan_at += n;
	if (first + s->scan_at < end)
		return 0;
	s->scan_at = 0;
	s->state.scanned++;
	return 0;
}

/* ---- the end of an epoch ---- */

EPF_FN_APART __u64 epf_tick_share(__u32 at, __u64 keys)
{
	const struct epf_capacity *c = bpf_map_lookup_elem(&epf_limits, &at);

	return c ? epf_capacity_q56(c, keys) : EPF_Q56_ONE;
}

EPF_FN_APART __u64 epf_tick_room(__u32 at)
{
	const struct epf_capacity *c = bpf_map_lookup_elem(&epf_limits, &at);
	const struct epf_bpf_slot *s = slot_of(at);

	return c && s ? epf_bpf_room(s, c) : 0;
}

/* The order of these stores is that of user/ebpf/rotate.c, and matters as much: programs on
 * other CPUs see them one after another.
 */
EPF_FN_APART int epf_tick_rotate(__u32 at, __u64 now_ns)
{
	struct epf_bpf_filter *table = table_of();
	struct epf_bpf_slot *s;
	struct sums before, after;
	bool limited;
	__u64 e;

	if (!table || at >= EPF_BPF_SLOTS)
		return -ENODEV;
	s = &table->slot[at];
	e = s->state.epoch;
	limited = s->params.limit_ppt < EPF_RATE_ONE;
	before = sum_of(table, at);
	__u64 inserts = inserts_of(s, &before);
	epf_state_rotate(&s->state, now_ns);
	epf_bpf_fence();
	epf_state_date(&s->state, bpf_ktime_get_ns());
	s->dated = e + 1;
	s->state.ring[e & 7].inserts = inserts;
	after = sum_of(table, at);
	if (limited)
		s->share[e & 7] = epf_tick_share(at, after.keys - s->keys_before);
	epf_store_release(&s->keys_before, before.keys); /* after the share */
	s->room = limited ? epf_tick_room(at) : EPF_BPF_NO_LIMIT;
	epf_bpf_set_open_at(s, (__u64)table->cpus * (s->keys_step - 1));
	s->rotations++;
	return 1;
}

EPF_FN_APART int epf_tick_due(__u32 at, __u64 inserts, __u64 now_ns)
{
	const struct epf_bpf_slot *s = slot_of(at);
	struct epf_window w;

	if (!s)
		return 0;
	w = epf_bpf_window(s);
	return epf_window_due(&w, inserts, now_ns - s->state.ring[s->state.epoch & 7].start_ns);
}

/* Set the time from which the timer is overdue. */
EPF_FN_APART int epf_tick_set_until(__u32 at, __u64 now_ns)
{
	const struct epf_bpf_filter *table = table_of();
	struct epf_bpf_slot *s = slot_of(at);
	__u64 ends = now_ns, more;
	struct epf_window w;

	if (!table || !s)
		return 0;
	w = epf_bpf_window(s);
	if (w.mode == EPF_MODE_TIME)
		ends = s->state.ring[s->state.epoch & 7].start_ns + w.epoch_ns;
	if ((__s64)(ends - now_ns) < 0)
		ends = now_ns;
	if (s->pin_until_ns > ends)
		ends = s->pin_until_ns;
	more = ends - now_ns + EPF_BPF_HOLD_NS;
	epf_store_release(&s->until, bpf_jiffies64() + more / 1000000 * table->hz / 1000 + 1);
	return 0;
}

/* ---- when to come again ---- */

/* Half of the time to the epoch's end, at the pace since the last check. */
static __always_inline __u64 until_full(const struct epf_bpf_slot *s, __u64 length, __u64 inserts,
					__u64 now_ns)
{
	__u64 left = inserts < length ? length - inserts : 0;
	__u64 ns = now_ns - s->look_ns;

	if (s->look_epoch != s->state.epoch || inserts <= s->look_inserts || left > LEFT_MAX)
		return WAIT_IDLE_NS;
	if (ns > WAIT_IDLE_NS)
		ns = WAIT_IDLE_NS;
	left = left * ns / (inserts - s->look_inserts) / 2;
	return left < WAIT_IDLE_NS ? left : WAIT_IDLE_NS;
}

EPF_FN_APART __u64 epf_tick_wait(__u32 at, __u64 inserts, __u64 now_ns)
{
	struct epf_bpf_slot *s = slot_of(at);
	__u64 ends, full, wait = WAIT_MAX_NS;
	struct epf_window w;

	if (!s)
		return wait;
	w = epf_bpf_window(s);
	ends = s->state.ring[s->state.epoch & 7].start_ns + w.epoch_ns;
	if (w.mode != EPF_MODE_COUNT)
		wait = ends > now_ns ? ends - now_ns : 0;
	if (w.mode != EPF_MODE_TIME) {
		full = until_full(s, w.epoch_inserts, inserts, now_ns);
		wait = wait < full ? wait : full;
	}
	s->look_ns = now_ns;
	s->look_epoch = s->state.epoch;
	s->look_inserts = inserts;
	if ((s->quiet < s->state.epoch || s->state.scanned < s->state.epoch) && wait > WAIT_WORK_NS)
		wait = WAIT_WORK_NS;
	wait = wait < WAIT_MAX_NS ? wait : WAIT_MAX_NS;
	return wait > WAIT_MIN_NS ? wait : WAIT_MIN_NS;
}

/* ---- a tick ---- */

/* End the epoch if it may end. Return: see struct epf_bpf_tick. */
static __always_inline int end_epoch(struct epf_bpf_slot *s, __u32 at, __u64 now_ns)
{
	int ret = epf_bpf_may_rotate(s, now_ns);

	if (!ret)
		return epf_tick_rotate(at, now_ns);
	epf_bpf_delayed(s);
	return ret;
}

static __always_inline void tell_open(struct epf_bpf_slot *s)
{
	__u64 open = epf_load(&s->keys) >= epf_load(&s->open_at);

	s->saturations += open && !s->open;
	s->open = open;
}

/* The caller holds the word "ticking". */
static __always_inline int work(struct epf_bpf_filter *table, __u32 at, bool end)
{
	struct epf_bpf_slot *s = &table->slot[at];
	__u64 now_ns = bpf_ktime_get_ns();
	struct sums sums;
	__u64 inserts;
	int ret = 0;

	grace(table, s, at);
	sums = sum_of(table, at);
	inserts = inserts_of(s, &sums);
	if (end || epf_tick_due(at, inserts, now_ns))
		ret = end_epoch(s, at, now_ns);
	epf_tick_scan(at);
	epf_tick_set_until(at, now_ns);
	if (ret == 1)
		inserts = 0;
	tell_open(s);
	table->ticked_ns = now_ns;
	table->wait_ns = epf_tick_wait(at, inserts, now_ns);
	return ret;
}

EPF_FN_APART int epf_tick_locked(__u32 end)
{
	struct epf_bpf_filter *table = table_of();
	__u32 at;

	if (!table || *(volatile __u32 *)&table->gone)
		return -ENODEV;
	table->wait_ns = WAIT_IDLE_NS;
	if (*(volatile __u32 *)&table->changing || *(volatile __u32 *)&table->half)
		return -EALREADY;
	at = *(volatile __u32 *)&table->active;
	if (at >= EPF_BPF_SLOTS)
		return -ENODEV;
	return work(table, at, end);
}

EPF_FN_APART int epf_tick_step(__u32 end)
{
	struct epf_bpf_filter *table = table_of();
	__u64 nobody = 0;
	int ret;

	if (!table)
		return -ENODEV;
	if (!epf_cas(&table->ticking, &nobody, 1))
		return -EALREADY;
	ret = epf_tick_locked(end);
	epf_store_release(&table->ticking, 0);
	return ret;
}

static int fire(void *map, __u32 *key, struct tick_timer *v)
{
	struct epf_bpf_filter *table = table_of();
	__u64 wait;

	if (!table)
		return 0;
	if (epf_tick_step(0) == -ENODEV)
		return 0;
	wait = table->wait_ns;
	bpf_timer_start(&v->timer, wait ?: WAIT_MIN_NS, 0);
	return 0;
}

static __always_inline int start(void)
{
	__u32 zero = 0;
	struct tick_timer *v = bpf_map_lookup_elem(&epf_timer, &zero);

	if (!v)
		return -ENODEV;
	bpf_timer_init(&v->timer, &epf_timer, MONOTONIC); /* or it is already */
	return bpf_timer_set_callback(&v->timer, fire) ?: bpf_timer_start(&v->timer, 0, 0);
}

static __always_inline int stop(void)
{
	__u32 zero = 0;
	struct tick_timer *v = bpf_map_lookup_elem(&epf_timer, &zero);

	return v ? bpf_timer_cancel(&v->timer) : -ENODEV;
}

SEC("xdp")
int epf_tick(struct xdp_md *ctx)
{
	struct epf_bpf_tick *tick = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	__u32 op;
	int ret;

	if ((void *)(tick + 1) > end)
		return XDP_ABORTED;
	op = tick->op;
	if (op == EPF_BPF_TICK_START)
		ret = start();
	else if (op == EPF_BPF_TICK_STOP)
		ret = stop();
	else
		ret = epf_tick_step(op == EPF_BPF_TICK_END);
	tick->ret = ret;
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
