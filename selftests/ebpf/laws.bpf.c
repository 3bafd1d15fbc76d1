// SPDX-License-Identifier: GPL-2.0
/*
 * A worker of laws.c: each packet inserts a new key into a pure BPF filter, then looks
 * up LAWS_JUDGED of its keys that must still be in the window, among them the oldest.
 *
 * A ticket is drawn before each insertion. So of the insertions that the filter counts
 * after a key's, all have later tickets except those under way, one for each worker.
 * While fewer than @window tickets have been drawn since a key's, the key is in the
 * window.
 *
 * On worker @nap_worker every @nap_every-th compare-and-swap of a lane or a count is
 * preceded by a pause, which makes a long section.
 */
#include <epf/shim.h>

static __attribute__((noinline)) void nap(void);

#define epf_cas(p, old, v) (nap(), epf_cas(p, old, v))

#include "../../bpf/epf_inline.bpf.h"
#include "laws.h"

/* Set by user space: see above. @floor: keys with tickets up to it are not judged;
 * @hold: a section pauses there (laws.h) until it is 0, after it has added to @held.
 */
__u64 window;
__u64 floor_ticket;
__u32 nap_worker, nap_every, nap_rounds;
__u64 hold, held, left;

__u64 tickets;
struct laws_worker workers[LAWS_WORKERS];

/* The first missed key, for the message. */
__u64 missed_key, missed_ticket, missed_now, missed_epoch;

static __u64 naps;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LAWS_RING *LAWS_WORKERS);
	__type(key, __u32);
	__type(value, struct laws_key);
} ring SEC(".maps");

#define once(v) (*(volatile __typeof__(v) *)&(v))

static long nothing(__u32 i, void *arg)
{
	return 0;
}

/* Wait until released, or for some 4 million rounds. */
static long held_back(__u32 i, void *arg)
{
	bpf_loop(64, nothing, NULL, 0);
	return !once(hold);
}

static void hold_here(void)
{
	epf_fetch_add(&held, 1);
	bpf_loop(1 << 22, held_back, NULL, 0);
	epf_fetch_add(&left, 1);
}

static void nap(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	if (cpu != nap_worker)
		return;
	if (once(hold) == LAWS_HOLD_CAS)
		hold_here();
	if (nap_every && !(naps++ % nap_every))
		bpf_loop(nap_rounds, nothing, NULL, 0);
}

static struct laws_key *key_of(__u32 worker, __u64 n)
{
	__u32 at = worker * LAWS_RING + (__u32)(n & (LAWS_RING - 1));

	return bpf_map_lookup_elem(&ring, &at);
}

static __u64 digest_of(__u32 worker, __u64 n)
{
	return epf_word(((__u64)worker + 1) << 48 | n, 1);
}

/* Has key @n left the window, or is it not to be judged? */
EPF_FN_APART int passed(__u32 worker, __u64 n)
{
	struct laws_key *key = key_of(worker, n);

	return !key || !key->ticket || once(tickets) - key->ticket >= window - LAWS_WORKERS;
}

static void insert(struct laws_worker *me, __u32 worker, __u32 at, __u64 serial)
{
	__u64 n = me->keys, ticket = epf_fetch_add(&tickets, 1) + 1;
	struct laws_key *key = key_of(worker, n);
	int verdict;

	if (!key)
		return;
	verdict = epf_inline_test_and_insert(digest_of(worker, n), at);
	key->ticket = verdict > 0 || verdict == -ENODEV ? 0 : ticket;
	key->serial = serial;
	me->repeats += verdict && verdict != -ENODEV;
	me->refused += verdict == -ENODEV;
	me->keys = n + 1;
}

static void missed(struct laws_worker *me, const struct laws_key *key, __u64 n, __u64 now,
		   __u64 epoch)
{
	if (!me->missed++) {
		missed_key = n;
		missed_ticket = key->ticket;
		missed_now = now;
		missed_epoch = epoch;
	}
}

/* Judge key @n of the worker. */
static void judge(struct laws_worker *me, __u32 worker, __u32 at, __u64 n,
		  const struct epf_bpf_slot *slot)
{
	struct laws_key *key = key_of(worker, n);
	__u64 until = epf_load(&slot->until), now;
	int verdict;

	if (!key)
		return;
	verdict = epf_inline_test(digest_of(worker, n), at);
	now = once(tickets); /* the test comes first, and so do rotations and clears */
	if (!key->ticket || key->ticket <= once(floor_ticket) || key->serial != slot->serial ||
	    now - key->ticket >= window - LAWS_WORKERS)
		return;
	me->judged++;
	if (!verdict)
		missed(me, key, n, now, epf_load(&slot->state.epoch));
	if (verdict < 0)
		me->unknown++;
	if (verdict == -ETIME && bpf_jiffies64() < until)
		me->wrong++;
}

SEC("xdp")
int laws(struct xdp_md *ctx)
{
	__u32 *given = (void *)(long)ctx->data, worker, at, i;
	struct laws_worker *me;
	struct epf_bpf_slot *slot;
	__u64 n;

	if ((void *)(given + 1) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	worker = *given;
	if (worker >= LAWS_WORKERS)
		return XDP_ABORTED;
	me = &workers[worker];
	at = epf_inline_slot(&slot);
	if (at == EPF_BPF_SLOTS) {
		me->refused++;
		return XDP_PASS;
	}
	if (once(hold) == LAWS_HOLD_SLOT)
		hold_here();
	insert(me, worker, at, slot->serial);
	for (i = 0; i < 8 && me->oldest < me->keys; i++, me->oldest++)
		if (!passed(worker, me->oldest))
			break;
	for (i = 0; i < LAWS_JUDGED; i++) {
		n = me->oldest + (me->keys - me->oldest) * i / LAWS_JUDGED;
		if (n < me->keys)
			judge(me, worker, at, n, slot);
	}
	return XDP_PASS;
}

/* Return: how many of 64 keys that were never inserted are reported present. */
__u64 false_positives, absents;

static long ask(__u32 i, void *arg)
{
	__u32 at = *(__u32 *)arg;
	int verdict = epf_inline_test(epf_word(0xabUL << 56 | absents++, 1), at);

	false_positives += verdict > 0;
	return 0;
}

SEC("xdp")
int laws_absent(struct xdp_md *ctx)
{
	struct epf_bpf_slot *slot;
	__u32 at = epf_inline_slot(&slot);

	if (at == EPF_BPF_SLOTS)
		return XDP_ABORTED;
	bpf_loop(64, ask, &at, 0);
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
