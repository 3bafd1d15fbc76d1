/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Filters as pure BPF, from user space: their maps, their lock, and what the
 * module does behind packets' backs: ends of epochs, the scan, the estimate.
 * epf/bpf.h tells what is shared with programs.
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
 * struct ebpf_limits - what is computed of the geometry and limit of contents
 * @serial: of these contents; 0: nothing yet
 * @limited: there is a limit
 * @capacity: errors of an epoch by its keys
 * @cover: for estimates
 */
struct ebpf_limits {
	__u64 serial;
	bool limited;
	struct epf_capacity capacity;
	struct epf_cover cover;
};

/**
 * struct ebpf_filter - an open filter; for one thread at a time
 * @dir: descriptor of its directory, which is the filter's
 * @name: likewise, with '.' as names have it
 * @shared: map "table"
 * @cpu: map "cpus"
 * @table: descriptor of "table"
 * @cpus: of "cpus"
 * @lines: of "lines"
 * @line_fd: of the maps of the slots, or -1
 * @line: these, mapped, or NULL
 * @line_serial: which contents that is of
 * @ops: program, or -1
 * @tick: likewise
 * @capacity: map "limits", where a timer ends epochs, or NULL
 * @lock_ms: for how long ebpf_begin() waits
 * @limits: of the contents
 * @seen_epoch: epoch when it was last told
 * @seen_saturations: likewise
 * @snap_pin: number of the snapshot that is under way by this descriptor; 0: none
 * @snap_serial: of which contents
 * @snap_begin: epoch when it began
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
/* Make EPF_BPF_PINS, and mount the BPF file system where nobody has: its descriptor.
 * -ENOTSUP: it cannot be mounted.
 */
int ebpf_pins_open(void);
#define EBPF_LOCK_MS 5000u /* of which a lock is waited for, or else it is reported */
/* Lock @fd, a directory's: wait for at most @wait_ms. -ETIMEDOUT: it stays locked. */
int ebpf_lock(int fd, unsigned int wait_ms);
void ebpf_unlock(int fd);
/* Names of all filters; the caller frees them and *@names. Return: how many. NULL
 * where the program was built without the backend.
 */
int ebpf_pins_list(char ***names) __attribute__((weak));

/* token.c: user namespaces. Each is NULL where the program was built without the
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

/* make.c: beginning and end of filters */
int ebpf_create(const struct epf_create *args, __u32 *id);
int ebpf_destroy(const char *name, bool force);
/* Contents for slot @slot, which is not active, without lines; @key: NULL: random. */
int ebpf_fill_slot(struct ebpf_filter *f, __u32 slot, const struct epf_params *p,
		  const __u64 *key);
/* Descriptor of @nr empty lines. */
int ebpf_make_lines(__u64 nr);

/* filter.c: open ones */
int ebpf_open(const char *name, struct ebpf_filter **f);
void ebpf_close(struct ebpf_filter *f);
/* Id: that of the kernel for map "table". */
int ebpf_id(const struct ebpf_filter *f, __u32 *id);
/* Hold the lock. -ENODEV: destroyed; -EUCLEAN: a swap of it was killed half-way, so
 * that it is good for nothing but to be destroyed; -ETIMEDOUT: another process has kept
 * it for @lock_ms. What is left of a swap or a restore that was killed otherwise is
 * put in order.
 */
int ebpf_begin(struct ebpf_filter *f);
void ebpf_end(const struct ebpf_filter *f);
/* The contents; with the lock held, or as a hint. */
struct epf_bpf_slot *ebpf_slot(const struct ebpf_filter *f);
/* Lines of the contents, mapped, with the lock held. */
int ebpf_lines(struct ebpf_filter *f, struct epf_lanes *lanes);
int ebpf_limits(struct ebpf_filter *f);
void ebpf_info(struct ebpf_filter *f, struct epf_info *info);
/* Verdicts "do not know" of the contents of filter @name, of those in @failed_open, that
 * were given because nobody ended epochs. NULL where the program was built without the
 * backend.
 */
int ebpf_overdue(const char *name, __u64 *verdicts) __attribute__((weak));

/* rotate.c: with the lock held, unless said otherwise */

/* Keys that all CPUs have counted for slot @slot. */
__u64 ebpf_keys(const struct ebpf_filter *f, __u32 slot);
/* Insertions of the current epoch; those of them that CPUs keep. */
__u64 ebpf_inserts(const struct ebpf_filter *f);
__u64 ebpf_pending(const struct ebpf_filter *f);
/* When the epoch ends, as far as time is concerned; monotonic. */
__u64 ebpf_ends_ns(const struct ebpf_filter *f, __u64 now_ns);
bool ebpf_due(const struct ebpf_filter *f, __u64 now_ns);
/* -EBUSY: a snapshot holds it; -EAGAIN: scan or grace period. */
int ebpf_rotate(struct ebpf_filter *f, __u64 now_ns);
int ebpf_scan(struct ebpf_filter *f);	/* of what is due; takes the lock itself */
int ebpf_grace(struct ebpf_filter *f);	/* takes the lock itself, and waits */
int ebpf_estimate(struct ebpf_filter *f);
/* What measured contents may take; after ebpf_estimate(). */
void ebpf_measured_room(struct ebpf_filter *f);

/* For all programs that may use the filter now. */
int ebpf_wait_programs(const struct ebpf_filter *f);
/* Contents that have a limit are open, until ebpf_resume(). */
void ebpf_suspend(struct ebpf_filter *f);
void ebpf_resume(struct ebpf_filter *f);
/* Keys of the current epoch that its words lack. */
void ebpf_add_keys(struct ebpf_filter *f, __u64 keys);
/* Likewise, as many as the lines show; it is resumed. */
int ebpf_recount(struct ebpf_filter *f);

/* slots.c: with the lock held */
__u32 ebpf_free_slot(const struct ebpf_filter *f);
struct ebpf_path ebpf_lines_path(const struct ebpf_filter *f, __u32 slot);
/* A change begins: lines for the free slot. */
int ebpf_slots_begin(struct ebpf_filter *f, int lines);
/* The change has been made, or not: the slot that is free has no lines any more. */
void ebpf_slots_end(struct ebpf_filter *f);
/* @until of the free slot: what holds for the filter, but @until at the latest: the new
 * contents may have an epoch that ends sooner.
 */
void ebpf_slots_until(struct ebpf_filter *f, __u64 until);
/* After the one who changed it was killed. */
int ebpf_slots_repair(struct ebpf_filter *f);

/* ops.c: the program */
struct bpf_object;
/* Have an object that is not loaded yet use the maps of a filter. */
int ebpf_reuse_maps(struct bpf_object *obj, const char *name);
int ebpf_ops_load(const char *name);
int ebpf_ops_run(struct ebpf_filter *f, struct epf_bpf_ops *ops);

/* hold.c: who ends epochs */

struct ebpf_hold;

/**
 * ebpf_hold_begin() - end the epochs of a filter from now on
 * @name: filter
 * @hold: result
 *
 * Return: 0; -EBUSY: another one does; -EOPNOTSUPP: a timer does. It is started anew if
 * it stands still.
 */
int ebpf_hold_begin(const char *name, struct ebpf_hold **hold);
/* The filter may be destroyed while this one holds it. */
void ebpf_hold_yield(struct ebpf_hold *hold);
/**
 * ebpf_hold_step() - do what is due
 * @hold: filter
 * @wait_ns: set to when to come again at the latest, unless there is an error
 *
 * The filter's lock is not waited for, so that one thread can hold many filters. Other
 * waits, for a grace period and for 1 MiB of the scan, take milliseconds.
 *
 * Return: 0; 1: the filter is locked, and something is left to do; -ETIMEDOUT: it has
 * been locked for EBPF_LOCK_MS, @wait_ns is set nevertheless; -ENODEV: the filter was
 * destroyed.
 */
int ebpf_hold_step(struct ebpf_hold *hold, __u64 *wait_ns);
void ebpf_hold_end(struct ebpf_hold *hold);
/* Jiffies a second. */
int ebpf_rate(struct ebpf_filter *f, __u64 *hz);
/* timer.c: filters whose epochs a BPF timer ends */

bool ebpf_timed(const struct ebpf_filter *f);
/* Likewise, of filter @name. NULL where the program was built without the backend. */
bool ebpf_is_timed(const char *name) __attribute__((weak));
/* -ENOSYS: this kernel has no timers that could. Weak as above. */
int ebpf_timer_possible(void) __attribute__((weak));
/* Maps and program of a filter whose other maps are there. */
int ebpf_timer_load(const char *dir);
int ebpf_timer_start(struct ebpf_filter *f);
/* Has it come within the last second? */
bool ebpf_ticks(const struct ebpf_filter *f);
/* Run its program here: what struct epf_bpf_tick returns. */
int ebpf_tick(struct ebpf_filter *f, enum epf_bpf_tick_op op);
/* Until whoever ticks is done; who comes later sees what was stored before. */
void ebpf_timer_quiet(const struct ebpf_filter *f);
/* -ETIMEDOUT: sections do not end, or somebody changes the filter. */
int ebpf_timer_rotate(struct ebpf_filter *f, __u32 count);
int ebpf_timer_settle(struct ebpf_filter *f);
/* What its program needs to know of the limit of slot @slot. */
int ebpf_timer_limits(struct ebpf_filter *f, __u32 slot);
/* Slot @slot, which no program uses, has the words of another filter, or of a draft: make
 * them this one's, whoever ends its epochs.
 */
int ebpf_timer_adopt(struct ebpf_filter *f, __u32 slot);

/* When a look that is made now is overdue, in jiffies. */
int ebpf_overdue_at(struct ebpf_filter *f, __u64 *jiffies);
/* Does somebody, or the kernel? NULL where the program was built without the backend. */
bool ebpf_held(const char *name) __attribute__((weak));
/* Which process does; 0: none, or it cannot be known. */
int ebpf_holder(const char *name) __attribute__((weak));

#endif /* EPF_EBPF_H */
