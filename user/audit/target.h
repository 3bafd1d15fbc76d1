/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an audit asks: a snapshot file, or a filter of the kernel, copied first
 * or in place.
 *
 * Functions return 0 or a negative errno unless they say otherwise, and print
 * nothing: what was wrong is one line in struct rec_error.
 */
#ifndef AUDIT_TARGET_H
#define AUDIT_TARGET_H

#include "audit.h"
#include "records.h"
#include "work.h"

enum target_place {
	TARGET_AUTO, /* of a filter: as keys and rights are */
	TARGET_COPY, /* of a filter: its state at one moment; CAP_NET_ADMIN */
	TARGET_LIVE, /* of a filter: its lines as they change */
	TARGET_FILE, /* what a snapshot is; not to be asked for */
};

/**
 * struct target - what is asked
 * @place: where the lines are; never TARGET_AUTO
 * @engine: which one is best for that many keys; NULL: nobody looked
 * @why: why there, and why that one; a phrase
 * @view: to be asked; it refers to what this struct holds
 * @header: of a snapshot or a copy, with its checksums; of a filter in place
 *	what it was when opened: @params, @epoch_begin, @epoch_end, @inserts,
 *	@realtime_ns, no checksums
 * @keyed: the hash key is known: keys can be asked for, not digests alone
 * @saturated: a filter that fails open: its error may be above its limit. Its lines
 *	are asked all the same: a key that is not in them was not inserted
 * @fpr_ppt: of a filter, as the module estimates it
 * @mtime_ns: of a snapshot: when the file was last written
 *
 * The rest is the target's own. Not to be moved while @view is in use.
 */
struct target {
	enum target_place place;
	const struct epf_engine *engine;
	char why[EPF_WHY_LEN];
	struct epf_view view;
	struct epf_snap_header header;
	bool keyed;
	bool saturated;
	__u64 fpr_ppt;
	__u64 mtime_ns;

	struct epf_snap_file file;
	int filter;
	struct epf_work *work;
	unsigned int stage;
	enum epf_snap_fault fault;
};

/**
 * struct target_ask - what is to be opened
 * @name: a path, where there is a '/' in it; else the name or the id of a
 *	filter, else a path
 * @place: of a filter
 * @keys: about so many will be asked for; 0: not known
 * @digests: only digests will be
 * @far: by an engine with memory of its own: no copy is made for it here
 * @threads: as in struct epf_answer
 * @progress: of checking or copying, in bytes; or NULL
 * @ctx: for @progress
 */
struct target_ask {
	const char *name;
	enum target_place place;
	__u64 keys;
	bool digests;
	bool far;
	unsigned int threads;
	epf_progress_fn progress;
	void *ctx;
};

/**
 * target_open() - open it
 * @t: result; closed on failure, and may be closed again
 * @ask: what
 * @e: what is wrong, on failure
 *
 * Without CAP_NET_ADMIN a filter can be asked for digests, in place.
 *
 * Return: 0; -ENOENT: neither a filter nor a file; -EPERM: CAP_NET_ADMIN is
 * needed, for the copy or for the hash key; -EOPNOTSUPP: a kind that cannot be
 * asked so; -EBADMSG: no sound snapshot; -EINVAL: @ask->place does not go with
 * a snapshot; -EBUSY: another snapshot of the filter is under way; -ECANCELED;
 * what the calls to the system say.
 */
int target_open(struct target *t, const struct target_ask *ask,
		struct rec_error *e);

/* Likewise, of a snapshot that is open already: @fd stays the caller's and may
 * be closed at once. @ask->name is for @e.
 */
int target_open_fd(struct target *t, int fd, const struct target_ask *ask,
		   struct rec_error *e);

/**
 * target_peek() - what would be opened, without its lines
 * @t: result: @place and, of a snapshot, @header, which is checked, and
 *	@view.desc; not to be asked
 * @fd: result: the snapshot, to be closed by the caller; -1: it is a filter, or
 *	nothing that this user can see
 * @name: as in struct target_ask
 * @e: what is wrong, on failure
 *
 * Return: as target_open().
 */
int target_peek(struct target *t, int *fd, const char *name,
		struct rec_error *e);

/* Likewise, of a filter that is open already: @filter is the target's from now
 * on, also on failure.
 */
int target_open_filter(struct target *t, int filter,
		       const struct target_ask *ask, struct rec_error *e);

/**
 * target_begin_fd() - as target_open_fd(), in steps
 * @t: result; closed on failure
 * @fd: as there
 * @ask: as there; @progress is not called
 * @e: what is wrong, on failure
 *
 * Return: as target_open_fd(), but that it is to be asked only when
 * target_step() has returned 0.
 */
int target_begin_fd(struct target *t, int fd, const struct target_ask *ask,
		    struct rec_error *e);

/* Likewise as target_open_filter(), of a copy. */
int target_begin_filter(struct target *t, int filter,
			const struct target_ask *ask, struct rec_error *e);

/**
 * target_step() - copy or check some more: see work.h
 * @t: begun; closed on failure
 * @ask: as it was begun
 * @e: what is wrong, on failure
 *
 * Return: 1: there is more; 0: it is open; as target_open().
 */
int target_step(struct target *t, const struct target_ask *ask,
		struct rec_error *e);

/**
 * target_epoch() - the epoch now
 * @t: open
 *
 * To be read when an audit in place has ended: see struct epf_view.
 *
 * Return: the epoch; of a snapshot or a copy always that of the view, likewise
 * where the filter was destroyed meanwhile.
 */
__u64 target_epoch(const struct target *t);

/**
 * target_hide_key() - leave nothing in a header that depends on the hash key
 * @h: header
 *
 * Clears the key and both checksums: the header's covers the key, the lines'
 * covers bits that the key chose. An unkeyed checksum of either is an equation
 * for the key, which whoever reads the output could try keys against.
 */
void target_hide_key(struct epf_snap_header *h);

/* "snapshot", "copy", "live" */
const char *target_place_name(enum target_place place);

void target_close(struct target *t);

#endif /* AUDIT_TARGET_H */
