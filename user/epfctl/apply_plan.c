// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The difference between what is declared and what there is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply.h"
#include "attach.h"
#include "create.h"
#include "ebpf/ebpf.h"
#include "pin.h"

const char *const apply_kinds[APPLY_KINDS] = {
	[APPLY_DETACH] = "detach", [APPLY_DESTROY] = "destroy", [APPLY_CREATE] = "create",
	[APPLY_ATTACH] = "attach", [APPLY_PIN] = "pin",
};

static bool apply_plan_no_memory(void)
{
	fail("out of memory");
	return false;
}

/* Add a step, behind those of its kind. @text and @why are copied. */
static struct apply_change *apply_plan_add(struct apply_plan *plan, enum apply_kind kind,
					   const char *name, const char *text, const char *why,
					   const struct declared *d)
{
	struct apply_change *more = realloc(plan->all, (plan->nr + 1) * sizeof(*more));
	struct apply_change new = { .kind = kind, .declared = d };
	size_t at = plan->nr;

	if (!more)
		return apply_plan_no_memory() ? more : NULL;
	plan->all = more;
	new.name = strdup(name);
	new.text = text ? strdup(text) : NULL;
	new.why = why ? strdup(why) : NULL;
	while (at && more[at - 1].kind > kind)
		at--;
	memmove(more + at + 1, more + at, (plan->nr - at) * sizeof(*more));
	more[at] = new;
	plan->nr++;
	if (new.name && !text == !new.text && !why == !new.why)
		return &more[at];
	apply_plan_no_memory();
	return NULL;
}

void apply_plan_free(struct apply_plan *plan)
{
	size_t i;

	for (i = 0; i < plan->nr; i++) {
		free(plan->all[i].name);
		free(plan->all[i].text);
		free(plan->all[i].why);
	}
	free(plan->all);
	memset(plan, 0, sizeof(*plan));
}

static bool has(const struct apply_plan *plan, enum apply_kind kind, const char *name)
{
	size_t i;

	for (i = 0; i < plan->nr; i++)
		if (plan->all[i].kind == kind && !strcmp(plan->all[i].name, name))
			return true;
	return false;
}

/* Filters */

/**
 * struct existing - a filter that exists
 * @info: of it
 * @key: hash key, if @has_key
 * @module: it is the module's
 * @timed: the kernel ends its epochs
 */
struct existing {
	struct epf_info info;
	__u64 key[2];
	bool has_key;
	bool module;
	bool timed;
};

/* Return: 1; 0: there is none; -1: an error is printed. */
static int read_existing(const char *name, struct existing *e)
{
	int filter = open_named(name), err;

	if (filter == -ENOENT)
		return 0;
	if (filter < 0) {
		fail_call(filter, "opening", name);
		return -1;
	}
	err = epf_filter_info(filter, &e->info);
	e->module = epf_is_module(filter);
	e->has_key = !epf_filter_key(filter, e->key);
	epf_close(filter);
	if (err) {
		fail_call(err, "reading", name);
		return -1;
	}
	e->timed = !e->module && ebpf_is_timed(name);
	return 1;
}

static bool same_window(const struct epf_params *a, const struct epf_params *b)
{
	return a->mode == b->mode && a->window_inserts == b->window_inserts &&
	       a->window_ns == b->window_ns;
}

static bool same_size(const struct epf_planned *p, const struct epf_info *info)
{
	const struct epf_params *a = &p->params, *b = &info->params;

	return a->nr_lines == b->nr_lines && a->lines_per_key == b->lines_per_key &&
	       a->bits_per_key == b->bits_per_key &&
	       !memcmp(&p->shape, &info->shape, sizeof(p->shape));
}

/* List what differs, with a comma before each. */
static void differences(const struct create_request *w, const struct epf_planned *p,
			const struct existing *e, FILE *out)
{
	const struct epf_params *a = &p->params, *b = &e->info.params;
	bool aligned = e->info.flags & EPF_INFO_ALIGNED;

	if (a->kind != b->kind)
		fputs(", kind", out);
	if (!same_window(a, b))
		fputs(", window", out);
	if (a->kind == b->kind && !same_size(p, &e->info))
		fputs(", size", out);
	if (a->budget_ppt != b->budget_ppt)
		fputs(", budget", out);
	if (a->limit_ppt != b->limit_ppt)
		fputs(", limit", out);
	if (a->hash != b->hash)
		fputs(", hash", out);
	if (a->refresh != b->refresh)
		fputs(", first-seen", out);
	if (w->align != aligned)
		fputs(", align", out);
	if (w->rotate != ROTATE_ANY && (w->rotate == ROTATE_KERNEL) != e->timed)
		fputs(", rotate", out);
	if (w->has_key && e->has_key && memcmp(w->key, e->key, sizeof(w->key)))
		fputs(", key-file", out);
}

/* The size of a filter that is to be made. */
static const char *size_text(const struct epf_planned *p, char text[64])
{
	snprintf(text, 64, "%s", fmt_bytes(p->bytes).s);
	return text;
}

static bool create_step(struct apply_plan *plan, const struct declared *d,
			const struct epf_planned *p, const struct existing *e, const char *why)
{
	struct apply_change *gone;
	char text[64];

	if (why) {
		gone = apply_plan_add(plan, APPLY_DESTROY, d->name, NULL, why, d);
		if (!gone)
			return false;
		gone->module = e->module;
		plan->replaced++;
	}
	return apply_plan_add(plan, APPLY_CREATE, d->name, size_text(p, text), NULL, d);
}

/* Compare a declared filter; @w and @p say what it is. */
static bool compare_filter(struct apply_plan *plan, const struct declared *d,
			   const struct create_request *w, const struct epf_planned *p)
{
	struct existing e = { .module = false };
	char *why = NULL;
	FILE *out;
	size_t len;
	int there = read_existing(d->name, &e);
	bool good = there >= 0;

	if (there <= 0)
		return good && create_step(plan, d, p, NULL, NULL);
	out = open_memstream(&why, &len);
	if (!out)
		return apply_plan_no_memory();
	differences(w, p, &e, out);
	if (fclose(out)) {
		free(why);
		return apply_plan_no_memory();
	}
	if (len)
		good = create_step(plan, d, p, &e, why + 2);
	else
		plan->same++;
	free(why);
	explicit_bzero(e.key, sizeof(e.key));
	return good;
}

static bool plan_filter(struct apply_plan *plan, const struct declared *d)
{
	struct settings kept = declared_begin(d);
	struct epf_planned planned;
	struct create_request w;
	bool good = create_parse(d->nr, d->word, &w) && create_plan(&w, d->name, &planned);

	if (good && d->saves && d->save_ns && planned.params.window_ns &&
	    d->save_ns > planned.params.window_ns)
		warn("'save' is longer than the window: what is saved is too old to be restored");
	good = good && compare_filter(plan, d, &w, &planned);
	explicit_bzero(w.key, sizeof(w.key));
	declared_end(&kept);
	return good;
}

/* Attachments */

/* Does it stay? @why: room for the reason why not. */
static bool apply_plan_stays(const struct apply_plan *plan, struct attached *is,
			     struct attach_words *want, const char *text, char *why, size_t room)
{
	char *now;
	bool same;

	if (!is->live) {
		snprintf(why, room, "its program is gone");
		return false;
	}
	if (has(plan, APPLY_DESTROY, is->filter)) {
		snprintf(why, room, "its filter is replaced");
		return false;
	}
	attach_concede(&is->words, want);
	now = attach_text(&is->words);
	same = now && !strcmp(now, text);
	snprintf(why, room, "it is %s", now ?: "unknown");
	free(now);
	return same;
}

/* The filter must be declared or exist. What it is decides how far --within reaches. */
static bool has_filter(const struct declarations *all, const char *name, bool *there)
{
	int filter;

	*there = false;
	if (!name) {
		fail("'filter' is missing: the name of a filter that is declared or exists");
		return false;
	}
	filter = open_named(name);
	*there = filter >= 0;
	if (filter >= 0)
		epf_close(filter);
	if (*there || declared_find(all, DECLARED_FILTER, name))
		return true;
	fail("there is no filter '%s', and none is declared", name);
	return false;
}

/* Attach or pin again what exists and cannot stay. */
static bool again(struct apply_plan *plan, enum apply_kind kind, const struct declared *d,
		  const char *text, const char *why, bool gone)
{
	struct apply_change *c = apply_plan_add(plan, APPLY_DETACH, d->name, NULL, why, d);

	if (c)
		c->gone = gone;
	c = c ? apply_plan_add(plan, kind, d->name, text, NULL, d) : NULL;
	if (c)
		c->gone = gone;
	return c;
}

static bool attach_step(struct apply_plan *plan, const struct declared *d, struct xdp_want *want,
			bool there)
{
	char name[XDP_NAME_BYTES], why[1024], *text;
	struct attached *is = calloc(1, sizeof(*is));
	struct attach_words words;
	bool good = is, same;
	int err;

	if (there && !has(plan, APPLY_DESTROY, want->filter) && !attach_find(want))
		good = false;
	snprintf(name, sizeof(name), "%s", d->name);
	words = attach_wanted(want);
	text = good ? attach_text(&words) : NULL;
	err = good ? attached_read(name, is) : -ENOENT;
	same = text && !err && apply_plan_stays(plan, is, &words, text, why, sizeof(why));
	if (!text)
		good = false;
	else if (err && err != -ENOENT)
		good = !fail_errno(-err, "reading what is attached to '%s': %m", name);
	else if (same)
		plan->same++;
	else if (err == -ENOENT)
		good = apply_plan_add(plan, APPLY_ATTACH, name, text, NULL, d);
	else
		good = again(plan, APPLY_ATTACH, d, text, why, !is->live);
	if (good && !same && !err && is->live && !has(plan, APPLY_DESTROY, is->filter))
		plan->replaced++;
	free(text);
	free(is);
	return good;
}

static bool plan_attach(struct apply_plan *plan, const struct declarations *all,
			const struct declared *d)
{
	struct settings kept = declared_begin(d);
	struct xdp_want want;
	bool there;
	bool good = attach_parse(d->nr, d->word, &want) && has_filter(all, want.filter, &there) &&
		    attach_step(plan, d, &want, there);

	declared_end(&kept);
	return good;
}

/* Pins */

/* Return: 0; -ENOENT: nothing of 'pin' is at @path; another error. Prints none. */
static int pinned_at(const char *path, char filter[EPF_NAME_LEN], char **text)
{
	char name[XDP_NAME_BYTES];

	*text = NULL;
	return pin_find(path, name) ?: pin_options(name, filter, text);
}

static bool pin_step(struct apply_plan *plan, const struct declared *d, const char *text)
{
	char filter[EPF_NAME_LEN], why[1024], *now;
	int err = pinned_at(d->name, filter, &now);
	bool anew = !err && has(plan, APPLY_DESTROY, filter), good = true;

	if (err == -ENOENT)
		return apply_plan_add(plan, APPLY_PIN, d->name, text, NULL, d);
	if (err)
		return !fail_errno(-err, "reading what is pinned at %s: %m", d->name);
	snprintf(why, sizeof(why), "it is %s", filter[0] ? now : "of a filter that is gone");
	if (!anew && !strcmp(now, text))
		plan->same++;
	else
		good = again(plan, APPLY_PIN, d, text, anew ? "its filter is replaced" : why,
			     false);
	plan->replaced += !anew && strcmp(now, text);
	free(now);
	return good;
}

static bool plan_pin(struct apply_plan *plan, const struct declarations *all,
		     const struct declared *d)
{
	struct settings kept = declared_begin(d);
	struct pin_request want;
	char *text = NULL;
	bool there;
	bool good = pin_parse(d->nr, d->word, &want) && has_filter(all, want.filter, &there);

	if (good) {
		text = pin_text(want.filter, &want.rule);
		good = text ? pin_step(plan, d, text) : apply_plan_no_memory();
	}
	free(text);
	declared_end(&kept);
	return good;
}

/* What is not declared */

/* Is the program of record @name pinned where a section says? */
static bool pin_declared(const struct declarations *d, const char *name)
{
	char found[XDP_NAME_BYTES];
	size_t i;

	for (i = 0; i < d->nr; i++)
		if (d->all[i].type == DECLARED_PIN && !pin_find(d->all[i].name, found) &&
		    !strcmp(found, name))
			return true;
	return false;
}

/* A program that is not where it was pinned is nobody's. */
static bool prune_pin(struct apply_plan *plan, const struct declarations *d, const char *name)
{
	char path[PATH_MAX];

	if (pin_declared(d, name) || !pin_there(name, path))
		return true;
	return apply_plan_add(plan, APPLY_DETACH, path, NULL, NULL, NULL);
}

static bool prune_attached(struct apply_plan *plan, const struct declarations *d)
{
	bool good = true;
	char **names;
	size_t i;
	int err = xdp_pin_list(&names);

	if (err)
		good = !fail_errno(-err, "listing attachments: %m");
	for (i = 0; names && names[i]; i++) {
		if (good && pin_is_name(names[i]))
			good = prune_pin(plan, d, names[i]);
		else if (good && !strchr(names[i], '@') &&
			 !declared_find(d, DECLARED_ATTACH, names[i]))
			good = apply_plan_add(plan, APPLY_DETACH, names[i], NULL, NULL, NULL);
		free(names[i]);
	}
	free(names);
	return good;
}

static bool prune_in(struct apply_plan *plan, const struct declarations *d, int dev)
{
	__u32 *ids = NULL;
	int nr = epf_dev_list(dev, &ids), i;
	bool good = nr >= 0 || !fail_call(nr, "listing filters", NULL);

	for (i = 0; good && i < nr; i++) {
		struct apply_change *gone;
		struct epf_info info;
		int filter = epf_dev_filter_id(dev, ids[i]);

		if (filter < 0)
			continue; /* destroyed in the meantime */
		info.params.name[0] = 0;
		epf_filter_info(filter, &info);
		epf_close(filter);
		if (!info.params.name[0] || declared_find(d, DECLARED_FILTER, info.params.name))
			continue;
		gone = apply_plan_add(plan, APPLY_DESTROY, info.params.name, NULL, NULL, NULL);
		if (gone)
			gone->module = epf_is_module(dev);
		good = gone;
	}
	free(ids);
	return good;
}

static bool prune_filters(struct apply_plan *plan, const struct declarations *d)
{
	int dev = open_device(), second;
	bool good = dev >= 0 && prune_in(plan, d, dev);

	second = good ? epf_backend_second(dev) : -ENOENT;
	if (second >= 0) {
		good = prune_in(plan, d, second);
		epf_close(second);
	}
	if (dev >= 0)
		epf_close(dev);
	return good;
}

bool apply_plan(struct apply_plan *plan, const struct declarations *d, bool prune)
{
	bool good = true;
	size_t i;

	memset(plan, 0, sizeof(*plan));
	for (i = 0; good && i < d->nr; i++)
		if (d->all[i].type == DECLARED_FILTER)
			good = plan_filter(plan, &d->all[i]);
	for (i = 0; good && i < d->nr; i++)
		if (d->all[i].type == DECLARED_ATTACH)
			good = plan_attach(plan, d, &d->all[i]);
	for (i = 0; good && i < d->nr; i++)
		if (d->all[i].type == DECLARED_PIN)
			good = plan_pin(plan, d, &d->all[i]);
	if (good && prune)
		good = prune_attached(plan, d) && prune_filters(plan, d);
	return good;
}
