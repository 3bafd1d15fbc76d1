// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Journals: beginning, taking over, waiting, ending. Programs write the records
 * (bpf/epf_inline.bpf.h).
 *
 * A journal belongs to the contents of a filter: @journal of their slot says that there is
 * one, "journals" has the map of its ring, which is pinned so that it outlives its reader.
 * The two change with the filter's lock held, and all programs are waited for between any two
 * changes, whoever made the first:
 *
 *   begin  wait; map; word; wait
 *   end    over; word; wait; map
 *
 * So a section never sees the word of one ring and the map of another. After the second wait
 * of "begin" every insertion that begins is recorded.
 *
 * The reader has a lock on a byte of the filter's directory, which the kernel releases with its
 * descriptor. A journal without such a lock is that of a reader that has gone, and the next
 * one goes on with it.
 *
 * When contents leave a filter, @over is stored first, then what makes programs use others.
 * An insertion that is in no journal has seen the second, so a reader that looks for it later
 * sees the first.
 */
#include "calls.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <epf/journal.h>

#define READER_BYTE (1ULL << 62)  /* no snapshot has this number */
#define ELEMENTS_MAX (1ULL << 28) /* of 32 bytes: 8 GiB */

static __u32 active_slot(const struct ebpf_filter *f)
{
	return (__u32)(ebpf_slot(f) - f->shared->slot);
}

static struct ebpf_path journal_pin_of(const struct ebpf_filter *f, __u32 slot)
{
	return ebpf_path(f->name, slot ? "journal1" : "journal0");
}

static size_t bytes_of(__u64 word)
{
	return (EPF_BPF_JOURNAL_FIRST(EPF_BPF_JOURNAL_SHARDS(word)) +
		(1ULL << (EPF_BPF_JOURNAL_ORDER(word) + EPF_BPF_JOURNAL_SHARDS(word)))) *
	       EPF_BPF_JOURNAL_BYTES;
}

static void *map_ring(int fd, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Map the head of the ring of @slot. Return: NULL and errno. */
static struct epf_journal_head *map_head(const struct ebpf_filter *f, __u32 slot)
{
	int fd = bpf_obj_get(journal_pin_of(f, slot).text);
	struct epf_journal_head *head;

	if (fd < 0)
		return NULL;
	head = map_ring(fd, sizeof(*head));
	close(fd);
	return head;
}

int ebpf_journal_over(const struct ebpf_filter *f)
{
	struct epf_journal_head *head;

	if (!epf_load(&ebpf_slot(f)->journal))
		return 0;
	head = map_head(f, active_slot(f));
	if (!head)
		return -errno;
	epf_store_release(&head->over, 1);
	munmap(head, sizeof(*head));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return 0;
}

void ebpf_journal_drop(const struct ebpf_filter *f, __u32 slot)
{
	epf_store_release(&f->shared->slot[slot].journal, 0);
	unlink(journal_pin_of(f, slot).text);
	bpf_map_delete_elem(f->journals, &slot); /* fails if there is none */
}

/* ---- beginning ---- */

static int make_ring(__u64 elements)
{
	return ebpf_make_inner("epf_journal", EPF_BPF_JOURNAL_BYTES, elements);
}

/* Return: descriptor of an empty ring. */
static int new_ring(__u64 word)
{
	__u32 shards = 1u << EPF_BPF_JOURNAL_SHARDS(word), i;
	struct epf_journal_ring r = { .mask = (1ULL << EPF_BPF_JOURNAL_ORDER(word)) - 1 };
	int fd = make_ring(bytes_of(word) / EPF_BPF_JOURNAL_BYTES);
	size_t bytes = (1 + (size_t)shards) * EPF_JOURNAL_SHARD_BYTES;
	char *at = fd < 0 ? NULL : map_ring(fd, bytes);
	int ret;

	if (!at) {
		ret = fd < 0 ? fd : -errno;
		if (fd >= 0)
			close(fd);
		return ret;
	}
	for (i = 0; i < shards; i++) {
		r.shard = (void *)(at + (1 + (size_t)i) * EPF_JOURNAL_SHARD_BYTES);
		epf_journal_init(&r);
	}
	munmap(at, bytes);
	return fd;
}

static int set_word(struct ebpf_filter *f, __u64 word)
{
	struct epf_bpf_slot *s = ebpf_slot(f);

	if (getrandom(&s->journal_serial, sizeof(__u64), 0) != sizeof(__u64))
		return -errno;
	s->journal_serial |= 1; /* never 0 */
	s->unrecorded = 0;
	epf_store_release(&s->journal, word);
	return ebpf_wait_programs(f);
}

/* Put an empty ring into the filter, which has none. */
static int new_journal(struct ebpf_filter *f, __u64 word)
{
	__u32 slot = active_slot(f);
	int fd, ret = ebpf_wait_programs(f);

	if (ret)
		return ret;
	unlink(journal_pin_of(f, slot).text);
	fd = new_ring(word);
	if (fd < 0)
		return fd;
	if (bpf_obj_pin(fd, journal_pin_of(f, slot).text) ||
	    bpf_map_update_elem(f->journals, &slot, &fd, BPF_ANY))
		ret = -errno;
	close(fd);
	ret = ret ?: set_word(f, word);
	if (ret)
		ebpf_journal_drop(f, slot);
	return ret;
}

static __u32 log2_up(__u32 n)
{
	__u32 order = 0;

	while (1u << order < n)
		order++;
	return order;
}

/* The geometry that @a asks for. Return: 0; -EINVAL; -E2BIG. */
static int word_of(const struct ebpf_filter *f, const struct epf_journal_args *a, __u64 *word)
{
	__u32 shards = a->shards ? a->shards : 1u << log2_up(f->shared->cpus);

	if (!a->shards && shards > EPF_JOURNAL_SHARDS_MAX)
		shards = EPF_JOURNAL_SHARDS_MAX;
	if (!a->order || a->order > EPF_JOURNAL_ORDER_MAX || shards & (shards - 1) ||
	    shards > EPF_JOURNAL_SHARDS_MAX)
		return -EINVAL;
	*word = EPF_BPF_JOURNAL((__u64)a->order, (__u64)log2_up(shards));
	return bytes_of(*word) / EPF_BPF_JOURNAL_BYTES > ELEMENTS_MAX ? -E2BIG : 0;
}

/* A journal that goes on: that of a reader that has gone. */
static bool goes_on(const struct ebpf_filter *f)
{
	struct epf_journal_head *head;
	bool on;

	if (!ebpf_slot(f)->journal)
		return false;
	head = map_head(f, active_slot(f));
	on = head && !epf_load_acquire(&head->over);
	if (head)
		munmap(head, sizeof(*head));
	return on;
}

static int journal_take(struct ebpf_filter *f, struct epf_journal_args *a)
{
	const struct epf_bpf_slot *s = ebpf_slot(f);
	int fd = bpf_obj_get(journal_pin_of(f, active_slot(f)).text);
	int ret = fd < 0 ? -errno : ebpf_byte_lock(f, READER_BYTE, F_RDLCK);

	if (!ret) {
		f->journal_head = map_ring(fd, sizeof(*f->journal_head));
		ret = f->journal_head ? 0 : -errno;
	}
	if (ret) {
		if (fd >= 0)
			close(fd);
		return ret;
	}
	f->journal_fd = fd;
	f->journal_slot = active_slot(f);
	a->order = EPF_BPF_JOURNAL_ORDER(s->journal);
	a->shards = 1u << EPF_BPF_JOURNAL_SHARDS(s->journal);
	a->bytes = bytes_of(s->journal);
	a->records = (__u64)EPF_BPF_JOURNAL_FIRST(EPF_BPF_JOURNAL_SHARDS(s->journal)) *
		     EPF_BPF_JOURNAL_BYTES;
	a->serial = s->journal_serial;
	return 0;
}

/* With the lock held. */
static int begin_locked(struct ebpf_filter *f, struct epf_journal_args *a, __u64 word)
{
	int ret = 0;

	if (ebpf_byte_locked(f, READER_BYTE))
		return -EBUSY;
	if (goes_on(f)) {
		ret = ebpf_wait_programs(f); /* or whoever began it was killed before that */
	} else {
		ebpf_journal_drop(f, active_slot(f));
		ret = new_journal(f, word);
	}
	return ret ?: journal_take(f, a);
}

static int journal_begin(struct ebpf_filter *f, struct epf_journal_args *a)
{
	__u64 word;
	int ret = f->journal_head ? -EBUSY : word_of(f, a, &word);

	ret = ret ?: ebpf_begin(f);
	if (ret)
		return ret;
	ret = begin_locked(f, a, word);
	ebpf_end(f);
	return ret;
}

/* ---- waiting, ending ---- */

/* A map of maps of this process's own: writing it waits for all programs, without the filter's
 * lock.
 */
static int make_waiter(struct ebpf_filter *f)
{
	LIBBPF_OPTS(bpf_map_create_opts, o);
	int ret = 0;

	f->waited = make_ring(1);
	if (f->waited < 0)
		return f->waited;
	o.inner_map_fd = (__u32)f->waited;
	f->waiter = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "epf_wait", sizeof(__u32),
				   sizeof(__u32), 1, &o);
	if (f->waiter < 0) {
		ret = -errno;
		close(f->waited);
		f->waited = -1;
	}
	return ret;
}

static int journal_sync(struct ebpf_filter *f)
{
	__u32 zero = 0;
	int ret = f->journal_head ? 0 : -EINVAL;

	if (!ret && f->waiter < 0)
		ret = make_waiter(f);
	if (!ret && bpf_map_update_elem(f->waiter, &zero, &f->waited, BPF_ANY))
		ret = -errno;
	if (!ret)
		epf_store_release(&f->journal_head->unrecorded,
				  epf_load(&f->shared->slot[f->journal_slot].unrecorded));
	return ret;
}

static void forget(struct ebpf_filter *f)
{
	munmap(f->journal_head, sizeof(*f->journal_head));
	close(f->journal_fd);
	f->journal_head = NULL;
	f->journal_fd = -1;
}

void ebpf_journal_close(struct ebpf_filter *f)
{
	if (f->journal_head)
		forget(f);
	if (f->waiter >= 0) {
		close(f->waiter);
		close(f->waited);
	}
}

/* With the lock held. The contents may have others by now, whose journal is not this one. */
static int end_locked(struct ebpf_filter *f)
{
	struct epf_bpf_slot *s = ebpf_slot(f);
	int ret = 0;

	if (active_slot(f) == f->journal_slot && s->journal && !epf_load(&f->journal_head->over)) {
		epf_store_release(&f->journal_head->over, 1);
		epf_store_release(&s->journal, 0);
		ret = ebpf_wait_programs(f);
		if (!ret)
			ebpf_journal_drop(f, f->journal_slot);
	}
	return ret;
}

static int journal_end(struct ebpf_filter *f)
{
	int ret = f->journal_head ? ebpf_begin(f) : -EINVAL;

	if (ret == -EINVAL)
		return ret;
	if (!ret) {
		ret = end_locked(f);
		ebpf_end(f);
	}
	ebpf_byte_lock(f, READER_BYTE, F_UNLCK);
	forget(f);
	return ret;
}

int ebpf_journal(struct ebpf_filter *f, struct epf_journal_args *a)
{
	if (a->flags & ~EPF_JOURNAL_MASK || a->bytes || a->records || a->serial)
		return -EINVAL;
	if (!a->flags)
		return journal_begin(f, a);
	if (a->order || a->shards)
		return -EINVAL;
	if (a->flags == EPF_JOURNAL_SYNC)
		return journal_sync(f);
	return a->flags == EPF_JOURNAL_END ? journal_end(f) : -EINVAL;
}
