// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Plans: from a program's struct to parameters. */
#include "lib.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "epf/window.h"
#include "libepf/kinds/compare.h"

#define PLAN_FIRST LIB_FIRST(libepf_plan, hash_key)
#define SIZE_FIRST LIB_FIRST(libepf_size, slack)
#define FLAGS (LIBEPF_FIRST_SEEN | LIBEPF_EITHER | LIBEPF_BOTH | LIBEPF_ALIGN)

const char *libepf_kind(unsigned int i)
{
	return epf_kind_name(i);
}

static int plan_find_kind(const char *name, __u8 *kind)
{
	unsigned int i;

	for (i = 0; name && libepf_kind(i); i++)
		if (!strcmp(libepf_kind(i), name)) {
			*kind = (__u8)i;
			return 0;
		}
	return name ? lib_fail(-EINVAL, "there is no kind '%.20s' of filters", name) : 0;
}

static bool is_share(double rate)
{
	return rate >= 0 && rate <= 1;
}

static int plan_check(const struct libepf_plan *p)
{
	if (p->flags & ~FLAGS || (p->flags & LIBEPF_EITHER && p->flags & LIBEPF_BOTH))
		return lib_fail(-EINVAL, "unknown flags of a plan, or two that exclude each other");
	if (p->window_keys > EPF_INSERTS_MAX || p->window_ns > LIBEPF_TIME_MAX)
		return lib_fail(-EINVAL, "a window of at most %llu insertions and %llu ns",
				EPF_INSERTS_MAX, (unsigned long long)LIBEPF_TIME_MAX);
	if (!is_share(p->error) || !is_share(p->limit) || !is_share(p->slack) ||
	    !(p->rate >= 0 && p->rate <= 1e12))
		return lib_fail(-EINVAL, "error, limit and slack are 0 to 1, and a rate is at "
					 "most 1e12 a second");
	return 0;
}

/* Aligned epochs are longer, so they hold more keys. */
static int plan_align(const struct libepf_plan *p, struct epf_plan_request *r)
{
	struct epf_window w = { 0 };

	if (r->kind || p->window_keys || epf_window_init(&w, EPF_MODE_TIME, 0, 0, p->window_ns))
		return lib_fail(-EINVAL,
				"aligned epochs need kind lanes and a window of time alone");
	r->pps *= (double)epf_align_pitch(w.epoch_ns) / (double)w.epoch_ns;
	return 0;
}

static const char *plan_fault_text(enum epf_plan_fault fault)
{
	switch (fault) {
	case EPF_PLAN_NO_WINDOW:
		return "a plan needs window_keys or window_ns";
	case EPF_PLAN_TWO_WINDOWS:
		return "two windows need LIBEPF_EITHER or LIBEPF_BOTH";
	case EPF_PLAN_MODE:
		return "LIBEPF_EITHER and LIBEPF_BOTH need two windows";
	case EPF_PLAN_NO_RATE:
		return "a window of time needs the rate of insertions";
	case EPF_PLAN_BUDGET_RANGE:
		return "error is out of range: 1e-9 to 0.5";
	case EPF_PLAN_MEMORY_LEAST:
		return "max_bytes is below that of the smallest filter";
	case EPF_PLAN_FULL:
	case EPF_PLAN_KIND_MEMORY:
		return "max_bytes does not allow this window and error";
	case EPF_PLAN_TOO_MANY:
		return "window and error need more memory than a filter may have";
	case EPF_PLAN_SLACK:
		return "kind lanes keeps keys a seventh of the window longer, which is above "
		       "the slack";
	case EPF_PLAN_LIMIT:
		return "the limit is below the error";
	case EPF_PLAN_KIND_TIME:
		return "this kind has a window of time alone";
	case EPF_PLAN_KIND_RANGE:
		return "error or slack are out of the range of this kind";
	case EPF_PLAN_KIND_FULL:
		return "this kind cannot keep so many keys with this error and slack";
	default:
		return "this plan cannot be sized";
	}
}

static bool no_room(enum epf_plan_fault fault)
{
	return fault == EPF_PLAN_FULL || fault == EPF_PLAN_KIND_MEMORY ||
	       fault == EPF_PLAN_KIND_FULL || fault == EPF_PLAN_SLACK;
}

static int size_plan(const struct libepf_plan *p, struct epf_planned *planned)
{
	struct epf_plan_request r = {
		.window = p->window_keys,
		.time_ns = p->window_ns,
		.pps = p->rate,
		.budget = p->error,
		.limit = p->limit,
		.max_bytes = p->max_bytes,
		.slack = p->slack,
		.mode = p->flags & LIBEPF_BOTH ? EPF_MODE_BOTH : EPF_MODE_EITHER,
		.has_mode = p->flags & (LIBEPF_EITHER | LIBEPF_BOTH),
	};
	enum epf_plan_fault fault;
	int err = plan_find_kind(p->kind, &r.kind);

	if (!err && p->flags & LIBEPF_ALIGN)
		err = plan_align(p, &r);
	if (err)
		return err;
	if (r.kind && p->error &&
	    (p->error < EPF_PLAN_BUDGET_LEAST || p->error > EPF_PLAN_BUDGET_MOST))
		return lib_fail(-EINVAL, "%s", plan_fault_text(EPF_PLAN_BUDGET_RANGE));
	err = epf_plan(&r, planned, &fault);
	if (!fault)
		return 0;
	return lib_fail(no_room(fault) ? -ENOSPC : err, "%s", plan_fault_text(fault));
}

int lib_plan_take(const struct libepf_plan *plan, struct libepf_plan *to)
{
	int err = lib_options(to, sizeof(*to), PLAN_FIRST, plan, true);

	to->size = sizeof(*to);
	return err;
}

int lib_plan(const struct libepf_plan *plan, struct lib_planned *p)
{
	struct epf_params *params = &p->planned.params;
	struct libepf_plan o;
	int err = lib_plan_take(plan, &o);

	memset(p, 0, sizeof(*p));
	if (!err)
		err = plan_check(&o);
	if (!err && o.name)
		err = lib_name(o.name);
	if (!err)
		err = size_plan(&o, &p->planned);
	if (err)
		return err;
	snprintf(params->name, sizeof(params->name), "%s", o.name ? o.name : "libepf");
	params->hash = EPF_HASH_NH;
	params->refresh = o.flags & LIBEPF_FIRST_SEEN ? EPF_FIRST_SEEN : EPF_REFRESH;
	p->align = o.flags & LIBEPF_ALIGN;
	p->has_key = o.hash_key;
	if (p->has_key)
		memcpy(p->key, o.hash_key, sizeof(p->key));
	return 0;
}

int libepf_plan_size(const struct libepf_plan *plan, struct libepf_size *size)
{
	struct lib_planned p;
	struct libepf_size s;
	int err = lib_out(size, SIZE_FIRST);

	if (!err)
		err = lib_plan(plan, &p);
	if (err)
		return err;
	explicit_bzero(p.key, sizeof(p.key));
	s = (struct libepf_size){ .epochs = p.planned.epochs,
				  .bytes = p.planned.bytes,
				  .error = p.planned.fpr,
				  .slack = p.planned.slack };
	lib_give(size, &s, sizeof(s));
	return 0;
}
