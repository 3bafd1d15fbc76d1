/* SPDX-License-Identifier: GPL-2.0 */
/* 'apply': the difference between what is declared and what there is, and what undoes it. */
#ifndef EPFCTL_APPLY_H
#define EPFCTL_APPLY_H

#include "declared.h"

/* In the order in which they are made. */
enum apply_kind { APPLY_DETACH, APPLY_DESTROY, APPLY_CREATE, APPLY_ATTACH, APPLY_KINDS };

/**
 * struct state_told - what became of a saved state
 * @restored: the filter has it
 * @age_ns: if so, its age
 * @text: what it is, or why it is not used
 */
struct state_told {
	bool restored;
	__u64 age_ns;
	char text[320];
};

/**
 * struct apply_change - one step
 * @kind: what it does
 * @name: filter, interface or hook
 * @text: the options; NULL: it has none
 * @why: why the thing that exists cannot stay; NULL: it is not declared, or is not there
 * @declared: its section; NULL: it is not declared
 * @module: with APPLY_DESTROY: the filter is the module's
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

/* apply_state.c: the state of declared filters in files, which outlives a boot */

#define STATE_DIR "/var/lib/epochfilter"

/**
 * state_save() - save the declared filters
 * @d: declarations
 * @dir: directory; each filter has a file NAME.epf
 * @due: only those whose file is old enough
 *
 * Return: exit status.
 */
int state_save(const struct declarations *d, const char *dir, bool due);
/* Fill filter @name, which is new and empty, from its file, unless that is of no use. @key:
 * the declared hash key, or NULL.
 */
void state_restore(const char *name, const char *dir, const __u64 *key, struct state_told *told);

#endif /* EPFCTL_APPLY_H */
