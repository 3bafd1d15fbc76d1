/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The user space side of pure BPF filters: their maps, their lock, and the background work
 * that the module does for its filters: ending epochs, the scan, the estimate. epf/bpf.h
 * describes what is shared with BPF programs.
 *
 * Functions return 0, a number, or a negative errno, and print nothing.
 */
#ifndef EPF_EBPF_H
#define EPF_EBPF_H

#include <stdbool.h>
#include <stddef.h>

#include <epf/bpf_rotate.h>
#include <epf/estimate.h>

/**
 * struct ebpf_limits - values computed from the geometry and limit of the contents
 * @serial: serial of the contents; 0: not computed yet
 * @limited: the contents have a limit
 * @capacity: error of an epoch by its number of keys
 * @cover: table for estimates
 */
struct ebpf_limits {
	__u64 serial;
	bool limited;
	struct epf_capacity capacity;
	struct epf_cover cover;
};

/**
 * struct ebpf_filter - an open filter; for one thread at a time
 * @dir: descriptor of its directory, which is also the filter's descriptor
 * @name: name of the filter, with '.' (the directory's name has ':' instead)
 * @shared: map "table"
 * @cpu: map "cpus"
 * @table: descriptor of "table"
 * @cpus: descriptor of "cpus"
 * @lines: descriptor of "lines"
 * @line_fd: descriptor of the map with the lines of the contents, or -1
 * @line: these lines, mapped, or NULL
 * @line_bytes: their length
 * @line_serial: serial of the contents that @line belongs to
 * @ops: descriptor of the program "ops", or -1
 * @tick: descriptor of the program "tick", or -1
 * @capacity: map "limits" if a timer ends epochs, else NULL
 * @lock_ms: how long ebpf_begin() waits for the lock
 * @limits: limits of the contents
 * @seen_epoch: epoch at the last info
 * @seen_saturations: whether it was saturated at the last info
 * @journals: descriptor of "journals"
 * @journal_head: head of the journal that this descriptor reads, mapped; NULL: none
 * @journal_fd: descriptor of its ring; -1: none
 * @journal_slot: slot that it is of
 * @waiter: descriptor of a map of maps, to wait for programs; -1: not made yet
 * @waited: descriptor of the map in it
 * @snap_pin: number of the snapshot in progress on this descriptor; 0: none
 * @snap_serial: serial of the contents in that snapshot
 * @snap_begin: epoch when that snapshot began
 */
struct ebpf_filter {
	int dir;
	char name[EPF_NAME_LEN];
	struct epf_bpf_filter *shared;
	struct epf_bpf_cpu *cpu;
	int table, cpus, lines, line_fd, ops, tick;
	struct epf_capacity *capacity;
	struct epf_line *line;
	size_t line_bytes;
	__u64 line_serial;
	unsigned int lock_ms;
	struct ebpf_limits limits;
	__u64 seen_epoch;
	__u64 seen_saturations;
	int journals, journal_fd, waiter, waited;
	struct epf_journal_head *journal_head;
	__u32 journal_slot;
	__u64 snap_pin;
	__u64 snap_serial;
	__u64 snap_begin;
};

/* pins.c: directories */

/* "NAME/WHAT" below EPF_BPF_PINS, or without a @what the directory. */
struct ebpf_path {
	char text[96];
};
struct ebpf_path ebpf_path(const char *name, const char *what);
/* May a filter have this name? As the module decides. */
bool ebpf_name_valid(const char name[EPF_NAME_LEN]);
/* Has an ancestor of this process another mount namespace? What is mounted here may then end
 * with this command.
 */
bool ebpf_own_mounts(void) __attribute__((weak));
/* Open EPF_BPF_PINS; creates it and mounts the BPF file system if needed. Return:
 * descriptor; -ENOTSUP: it cannot be mounted, or only where nobody else would find it.
 */
int ebpf_pins_open(void);
#define EBPF_LOCK_MS 5000u /* limit of the wait for a lock */
/* Lock directory @fd; wait for at most @wait_ms. -ETIMEDOUT: it stays locked. */
int ebpf_lock(int fd, unsigned int wait_ms);
void ebpf_unlock(int fd);
/* List the names of all filters; the caller frees them and *@names. Return: how many; a
 * negative errno. The function is NULL if the program was built without the backend.
 */
int ebpf_pins_list(char ***names) __attribute__((weak));

/* token.c: user namespaces. Each function is NULL if the program was built without the
 * backend.
 */

/* Does /sys/fs/bpf give this process a BPF token? All calls that need it carry it. */
bool ebpf_token(void) __attribute__((weak));
/* Is this process in a user namespace other than the initial one? */
bool ebpf_user_namespace(void) __attribute__((weak));
/**
 * ebpf_token_lacks() - what the token does not allow
 * @mark: include what 'attach --action mark' needs
 * @text: options that /sys/fs/bpf should have been mounted with, as mount(8) takes them
 * @room: size of @text
 *
 * Return: false: it allows everything, or it cannot be known.
 */
bool ebpf_token_lacks(bool mark, char *text, size_t room) __attribute__((weak));

/* make.c: creating and destroying filters */
int ebpf_create(const struct epf_create *args, __u32 *id);
int ebpf_destroy(const char *name, bool force);
/* Initialize inactive slot @slot with empty contents without lines; @key: NULL: random. */
int ebpf_fill_slot(struct ebpf_filter *f, __u32 slot, const struct epf_params *p, const __u64 *key);
/* Create a map that can be in a map of maps: @nr values of @bytes. */
int ebpf_make_inner(const char *name, __u32 bytes, __u64 nr);
/* Create a map of @nr empty lines. Return: descriptor; a negative errno. */
int ebpf_make_lines(__u64 nr);

/* filter.c: open filters */
int ebpf_open(const char *name, struct ebpf_filter **f);
void ebpf_close(struct ebpf_filter *f);
/* The id of a filter is the kernel's id of map "table". */
int ebpf_id(const struct ebpf_filter *f, __u32 *id);
/* Take the lock, and repair what another swap, restore or snapshot left when it was killed.
 * -ENODEV: destroyed; -EUCLEAN: a swap was killed half-way, so the filter can only be destroyed;
 * -ETIMEDOUT: another process has held the lock for @lock_ms.
 */
int ebpf_begin(struct ebpf_filter *f);
void ebpf_end(const struct ebpf_filter *f);
/* snap.c: locks on bytes of the directory, which the kernel releases with the descriptor; @type:
 * F_RDLCK, F_UNLCK.
 */
int ebpf_byte_lock(const struct ebpf_filter *f, __u64 byte, short type);
/* Has another descriptor a lock there? */
bool ebpf_byte_locked(const struct ebpf_filter *f, __u64 byte);
/* journal.c, with the lock held: the contents leave the filter, or it is destroyed. */
int ebpf_journal_over(const struct ebpf_filter *f);
/* Remove the journal of @slot, which no program uses. */
void ebpf_journal_drop(const struct ebpf_filter *f, __u32 slot);
/* Stop reading it, because the descriptor is closed. */
void ebpf_journal_close(struct ebpf_filter *f);
/* snap.c: remove the pin of a snapshot whose process was killed; ebpf_begin() does. */
void ebpf_snap_repair(struct ebpf_filter *f);
/* The active contents. Without the lock the result is only a hint. */
struct epf_bpf_slot *ebpf_slot(const struct ebpf_filter *f);
/* Map the lines of the contents; with the lock held. */
int ebpf_lines(struct ebpf_filter *f, struct epf_lanes *lanes);
int ebpf_limits(struct ebpf_filter *f);
void ebpf_info(struct ebpf_filter *f, struct epf_info *info);
/* Count the "do not know" verdicts of filter @name that were given because nobody ended its
 * epochs; @failed_open includes them. The function is NULL if the program was built without
 * the backend.
 */
int ebpf_overdue(const char *name, __u64 *verdicts) __attribute__((weak));

/* rotate.c: called with the lock held, unless documented otherwise */

/* Keys that all CPUs have counted for slot @slot. */
__u64 ebpf_keys(const struct ebpf_filter *f, __u32 slot);
/* Insertions of the current epoch, and those of them still kept in per-CPU counters. */
__u64 ebpf_inserts(const struct ebpf_filter *f);
__u64 ebpf_pending(const struct ebpf_filter *f);
/* When the epoch ends, as far as time is concerned; monotonic. */
__u64 ebpf_ends_ns(const struct ebpf_filter *f, __u64 now_ns);
bool ebpf_due(const struct ebpf_filter *f, __u64 now_ns);
/* -EBUSY: a snapshot blocks it; -EAGAIN: scan or grace period is not finished. */
int ebpf_rotate(struct ebpf_filter *f, __u64 now_ns);
/* Store the start of the current epoch (epf_state_date()), unless that is done. */
void ebpf_date(struct ebpf_filter *f);
int ebpf_scan(struct ebpf_filter *f);  /* the chunk that is due; takes the lock itself */
int ebpf_grace(struct ebpf_filter *f); /* takes the lock itself, and waits */
int ebpf_estimate(struct ebpf_filter *f);
/* Set the room for keys of measured contents; after ebpf_estimate(). */
void ebpf_measured_room(struct ebpf_filter *f);

/* Wait for all programs that may use the filter now. */
int ebpf_wait_programs(const struct ebpf_filter *f);
/* Contents with a limit fail open until ebpf_resume(). */
void ebpf_suspend(struct ebpf_filter *f);
void ebpf_resume(struct ebpf_filter *f);
/* Add keys of the current epoch that were not counted. */
void ebpf_add_keys(struct ebpf_filter *f, __u64 keys);
/* Likewise, the number that the lines show; also resumes the contents. */
int ebpf_recount(struct ebpf_filter *f);

/* slots.c: with the lock held */
__u32 ebpf_free_slot(const struct ebpf_filter *f);
struct ebpf_path ebpf_lines_path(const struct ebpf_filter *f, __u32 slot);
/* Begin a change: give @lines to the free slot. */
int ebpf_slots_begin(struct ebpf_filter *f, int lines);
/* End a change, made or not: take the lines from the free slot. */
void ebpf_slots_end(struct ebpf_filter *f);
/* Set @until of the free slot to that of the active one, but at most to @until, because an
 * epoch of the new contents may end sooner.
 */
void ebpf_slots_until(struct ebpf_filter *f, __u64 until);
/* The programs have left the contents from before: set @began of the new ones to now. */
void ebpf_slots_begun(struct ebpf_filter *f);
/* Finish the change of a process that was killed. */
int ebpf_slots_repair(struct ebpf_filter *f);

/* ops.c: the program */
struct bpf_object;
/* Make an object that is not loaded yet use the maps of a filter. */
int ebpf_reuse_maps(struct bpf_object *obj, const char *name);
/* Likewise its maps of the filter of all of a cluster. */
int ebpf_reuse_all_maps(struct bpf_object *obj, const char *name);
int ebpf_ops_load(const char *name);
int ebpf_ops_run(struct ebpf_filter *f, struct epf_bpf_ops *ops);

/* hold.c: ending epochs by a process. Begin, step and end are NULL if the program was built
 * without the backend.
 */

struct ebpf_hold;

/**
 * ebpf_hold_begin() - end the epochs of a filter from now on
 * @name: filter
 * @hold: result
 *
 * Return: 0; -EBUSY: another process does; -EOPNOTSUPP: a timer does; it is restarted if it
 * has stopped.
 */
int ebpf_hold_begin(const char *name, struct ebpf_hold **hold) __attribute__((weak));
/* Allow the filter to be destroyed while @hold holds it. */
void ebpf_hold_yield(struct ebpf_hold *hold);
/**
 * ebpf_hold_step() - do what is due
 * @hold: filter
 * @wait_ns: set to the time until the next call is due, unless there is an error
 *
 * It does not wait for the filter's lock, so one thread can hold many filters. Other waits,
 * for a grace period and for 1 MiB of the scan, take milliseconds.
 *
 * Return: 0; 1: the filter is locked, and work is left; -ETIMEDOUT: it has been locked for
 * EBPF_LOCK_MS, @wait_ns is set nevertheless; -ENODEV: the filter was destroyed.
 */
int ebpf_hold_step(struct ebpf_hold *hold, __u64 *wait_ns) __attribute__((weak));
void ebpf_hold_end(struct ebpf_hold *hold) __attribute__((weak));
/* The number of jiffies per second. */
int ebpf_rate(struct ebpf_filter *f, __u64 *hz);
/* timer.c: filters whose epochs a BPF timer ends */

bool ebpf_timed(const struct ebpf_filter *f);
/* Likewise for filter @name. NULL if the program was built without the backend. */
bool ebpf_is_timed(const char *name) __attribute__((weak));
/* -ENOSYS: this kernel does not support BPF timers. Weak as above. */
int ebpf_timer_possible(void) __attribute__((weak));
/* Load the timer's maps and program; the filter's other maps must exist. */
int ebpf_timer_load(const char *dir);
int ebpf_timer_start(struct ebpf_filter *f);
/* Has the timer fired within EPF_BPF_HOLD_NS? */
bool ebpf_ticks(const struct ebpf_filter *f);
/* Run the timer's program here. Return: what struct epf_bpf_tick returns. */
int ebpf_tick(struct ebpf_filter *f, enum epf_bpf_tick_op op);
/* Wait for a running tick to end. Later ticks see everything that was stored before. */
void ebpf_timer_quiet(const struct ebpf_filter *f);
/* -ETIMEDOUT: sections do not end, or somebody keeps changing the filter. */
int ebpf_timer_rotate(struct ebpf_filter *f, __u32 count);
int ebpf_timer_settle(struct ebpf_filter *f);
/* Compute what the timer's program needs to know of the limit of slot @slot. */
int ebpf_timer_limits(struct ebpf_filter *f, __u32 slot);
/* Slot @slot, which no program uses, has the words of another filter or of a draft. Adapt
 * them to this filter, whether a process or a timer ends its epochs.
 */
int ebpf_timer_adopt(struct ebpf_filter *f, __u32 slot);

/* When a filter that is looked after now will be overdue, in jiffies. */
int ebpf_overdue_at(struct ebpf_filter *f, __u64 *jiffies);
/* Does a process or the kernel end its epochs? NULL if built without the backend. */
bool ebpf_held(const char *name) __attribute__((weak));
/* Return: the process that does; 0: none, or unknown. */
int ebpf_holder(const char *name) __attribute__((weak));

#endif /* EPF_EBPF_H */
