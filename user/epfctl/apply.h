/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* 'apply': the difference between what is declared and what there is, and what undoes it. */
#ifndef EPFCTL_APPLY_H
#define EPFCTL_APPLY_H

#include "declared.h"

/* In the order in which they are made. */
enum apply_kind {
	APPLY_DETACH, /* also what is pinned */
	APPLY_DESTROY,
	APPLY_CREATE,
	APPLY_ATTACH,
	APPLY_PIN,
	APPLY_KINDS
};
/* Their names; for messages, and as verbs of epfctl. */
extern const char *const apply_kinds[APPLY_KINDS];

/**
 * struct state_told - what became of a saved state
 * @restored: the filter has it
 * @future: it is not used because it is from the future by the clock
 * @age_ns: if so, its age
 * @text: what it is, or why it is not used
 */
struct state_told {
	bool restored;
	bool future;
	__u64 age_ns;
	char text[320];
};

/**
 * struct apply_change - one step
 * @kind: what it does
 * @name: filter, interface, hook or path of a pin
 * @text: the options; NULL: it has none
 * @why: why the thing that exists cannot stay; NULL: it is not declared, or is not there
 * @declared: its section; NULL: it is not declared
 * @module: with APPLY_DESTROY: the filter is the module's
 * @gone: with APPLY_DETACH and the APPLY_ATTACH after it: what was attached went with its
 *	interface, and was not detached by anybody
 * @left: it is not to be done now
 * @done: it was done
 * @state: with APPLY_CREATE: what became of the saved state; no text: nothing was tried
 */
struct apply_change {
	enum apply_kind kind;
	char *name;
	char *text;
	char *why;
	const struct declared *declared;
	bool module;
	bool gone;
	bool left;
	bool done;
	struct state_told state;
};

/**
 * struct apply_plan - all steps
 * @all: the steps, by kind
 * @nr: how many
 * @same: sections that are so already
 * @replaced: things that exist and differ, so that their contents or counters are lost
 */
struct apply_plan {
	struct apply_change *all;
	size_t nr;
	size_t same;
	size_t replaced;
};

/**
 * apply_plan() - compute the difference; changes nothing
 * @plan: result; must be freed also after an error
 * @d: what is declared
 * @prune: what is not declared goes
 *
 * Return: false: an error is printed.
 */
bool apply_plan(struct apply_plan *plan, const struct declarations *d, bool prune);
void apply_plan_free(struct apply_plan *plan);

/* apply_follow.c: what could not be made is made later */

/**
 * struct apply_open - what is still to be made
 * @all: "create NAME", "attach NAME" or "pin PATH"; NULL after the last one
 */
struct apply_open {
	char **all;
};

/**
 * apply_follow() - apply again and again, until a signal comes
 * @round: applies; with @open not NULL only what apply_open_choose() chooses. It sets @open
 *	by apply_open_note(). Return: exit status
 * @ctx: for @round
 *
 * A round of everything comes first and after SIGHUP. Further rounds follow each change of
 * an interface, and while something could not be made: after a second, and each time twice
 * as long, up to five minutes. No round follows within a second of the last one.
 *
 * Return: exit status of the first round if nothing can be waited for; else EXIT_FAIL, and
 * @interrupted is set.
 */
int apply_follow(int (*round)(void *ctx, struct apply_open *open, bool all), void *ctx);

/* Choose what is to be made in a further round: what could not be made before, and what went
 * with its interface. What somebody destroyed or detached since is left alone, and so is what
 * differs. An interface that is not there is not tried.
 */
void apply_open_choose(const struct apply_open *open, struct apply_plan *plan);
/* What the round did not make becomes @open. Return: false: out of memory, printed. */
bool apply_open_note(struct apply_open *open, const struct apply_plan *plan);
void apply_open_free(struct apply_open *open);

/* apply_state.c: the state of declared filters in files, which outlives a boot */

#define STATE_DIR "/var/lib/epochfilter"

/**
 * state_save() - save the declared filters
 * @d: declarations
 * @dir: directory; each filter has a file NAME.epf
 * @due: only those whose file is old enough
 *
 * Return: exit status; EXIT_ABSENT: a declared filter does not exist.
 */
int state_save(const struct declarations *d, const char *dir, bool due);
/* Fill filter @name, which is new and empty, from its file, unless that is of no use. @key:
 * the declared hash key, or NULL. A state from the future is kept under another name, since
 * the next save replaces the file.
 */
void state_restore(const char *name, const char *dir, const __u64 *key, struct state_told *told);

/* Wait until no other process makes or saves declared filters: a filter that is made, and not
 * filled yet, must not be saved. Return: descriptor that keeps others out; -1: there is no
 * @dir, or it may not be read.
 */
int state_lock(const char *dir);

#endif /* EPFCTL_APPLY_H */
