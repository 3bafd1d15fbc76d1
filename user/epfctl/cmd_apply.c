// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl apply: make what files declare. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "apply.h"
#include "attach.h"
#include "create.h"
#include "pin.h"

enum {
	OPT_DRY_RUN = OPT_LONG,
	OPT_PRUNE,
	OPT_REPLACE,
	OPT_RESTORE,
	OPT_SAVE,
	OPT_DUE,
	OPT_FOLLOW,
	OPT_STATE
};

/**
 * struct want - the options
 * @dry_run: only print the difference
 * @prune: remove what is not declared
 * @replace: remove what differs, and make it again
 * @restore: fill new filters from saved states
 * @save: save states, and change nothing
 * @due: with @save: only those that are old enough
 * @follow: go on, and make later what cannot be made yet
 * @state: directory of the states
 * @paths: files and directories
 * @nr_paths: how many
 */
struct want {
	bool dry_run;
	bool prune;
	bool replace;
	bool restore;
	bool save;
	bool due;
	bool follow;
	const char *state;
	char **paths;
	int nr_paths;
};

static void print_change(const struct apply_change *c)
{
	printf("%s %s", apply_kinds[c->kind], c->name);
	if (c->text)
		printf(": %s", c->text);
	if (c->why)
		printf(" (%s%s)", c->kind == APPLY_DESTROY ? "differs in " : "", c->why);
	else if (!c->declared)
		printf(" (not declared)");
	putchar('\n');
}

static json_t *change_json(const struct apply_change *c)
{
	json_t *o = json_pack("{ss ss ss* ss* ss* sb}", "change", apply_kinds[c->kind], "name",
			      c->name, "text", c->text, "why", c->why, "where",
			      c->declared ? c->declared->at[0] : NULL, "done", c->done);

	if (c->state.text[0])
		json_object_update_new(o, json_pack("{sb ss}", "restored", c->state.restored,
						    "state", c->state.text));
	if (c->state.restored)
		json_object_set_new(o, "state_age_ns", json_integer((json_int_t)c->state.age_ns));
	return o;
}

static bool does_nothing(const struct apply_plan *plan)
{
	size_t i = 0;

	while (i < plan->nr && plan->all[i].left)
		i++;
	return i == plan->nr;
}

static void apply_report(const struct apply_plan *plan, bool dry_run)
{
	json_t *all;
	size_t i;

	if (out_mode == OUT_TEXT)
		return;
	all = json_array();
	for (i = 0; i < plan->nr; i++)
		if (!plan->all[i].left)
			json_array_append_new(all, change_json(&plan->all[i]));
	out_json(json_pack("{so sI sb}", "changes", all, "unchanged", (json_int_t)plan->same,
			   "dry_run", dry_run));
}

static void apply_print_plan(const struct apply_plan *plan)
{
	size_t i;

	if (out_mode != OUT_TEXT)
		return;
	for (i = 0; i < plan->nr; i++)
		if (!plan->all[i].left)
			print_change(&plan->all[i]);
	if (!plan->nr)
		printf("nothing to do: %zu declared, all there\n", plan->same);
	fflush(stdout);
}

static int apply_destroy(const struct apply_change *c)
{
	int dev = epf_backend_open_of(c->module ? EPF_BACKEND_MODULE : EPF_BACKEND_OTHER);
	int err = dev < 0 ? dev : epf_dev_destroy(dev, c->name, false);

	if (dev >= 0)
		epf_close(dev);
	if (err == -EBUSY)
		return fail_errno(err, "'%s' is in use: 'epfctl show %s' says by how many", c->name,
				  c->name);
	return err && err != -ENOENT ? fail_call(err, "destroying", c->name) : EXIT_YES;
}

static void print_state(const struct apply_change *c)
{
	if (out_mode == OUT_TEXT)
		printf("%s %s: %s\n", c->state.restored ? "restored" : "not restored", c->name,
		       c->state.text);
}

static int apply_create(const struct want *w, struct apply_change *c)
{
	struct settings kept = declared_begin(c->declared);
	struct epf_planned planned;
	struct create_request r;
	__u64 key[2];
	bool module;
	__u32 id;
	int ret = EXIT_FAIL;

	if (create_parse(c->declared->nr, c->declared->word, &r) &&
	    create_plan(&r, c->name, &planned)) {
		memcpy(key, r.key, sizeof(key));
		ret = create_planned(&r, &planned, &id, &module);
	}
	if (!ret && w->restore && c->declared->saves) {
		state_restore(c->name, w->state, r.has_key ? key : NULL, &c->state);
		print_state(c);
	}
	explicit_bzero(key, sizeof(key));
	declared_end(&kept);
	return ret;
}

static int apply_attach(const struct apply_change *c)
{
	struct settings kept = declared_begin(c->declared);
	struct xdp_want want;
	int ret = EXIT_FAIL;

	if (attach_parse(c->declared->nr, c->declared->word, &want))
		ret = attach_run(&want);
	declared_end(&kept);
	return ret;
}

static int apply_pin(const struct apply_change *c)
{
	struct settings kept = declared_begin(c->declared);
	char name[EPF_NAME_LEN];
	struct pin_request want;
	int ret = EXIT_FAIL;

	if (pin_parse(c->declared->nr, c->declared->word, &want))
		ret = pin_run(&want, name);
	declared_end(&kept);
	return ret;
}

static int apply_detach(const struct apply_change *c)
{
	if (!pin_is_path(c->name))
		return detach_run(c->name);
	return pin_remove(c->name) ? EXIT_FAIL : EXIT_YES;
}

static int apply_make(const struct want *w, struct apply_change *c)
{
	switch (c->kind) {
	case APPLY_DETACH:
		return apply_detach(c);
	case APPLY_DESTROY:
		return apply_destroy(c);
	case APPLY_CREATE:
		return apply_create(w, c);
	case APPLY_ATTACH:
		return apply_attach(c);
	default:
		return apply_pin(c);
	}
}

/* Make the changes in their order, and go on after one that fails, so that what does not need
 * it is there. The next 'apply' goes on from there.
 */
static int apply_make_all(const struct want *w, struct apply_plan *plan)
{
	size_t i, nr = 0, failed = 0;

	for (i = 0; i < plan->nr; i++) {
		if (plan->all[i].left)
			continue;
		nr++;
		plan->all[i].done = !interrupted && !apply_make(w, &plan->all[i]);
		failed += !plan->all[i].done;
	}
	if (!failed)
		return EXIT_YES;
	warn("partly applied: %zu of %zu changes are made, and stay", nr - failed, nr);
	return interrupted ? fail("stopped") : EXIT_ABSENT;
}

/* @open: what is still to be made, for the next round; NULL: there is none. @all: this round is
 * not only for that.
 */
static int apply_declared(const struct want *w, const struct declarations *d,
			  struct apply_open *open, bool all)
{
	struct apply_plan plan;
	int ret = EXIT_FAIL;

	if (apply_plan(&plan, d, w->prune)) {
		if (!all)
			apply_open_choose(open, &plan);
		if (all || !does_nothing(&plan))
			apply_print_plan(&plan);
		if (all && plan.replaced && !w->replace && !w->dry_run)
			fail("%zu of these exist and differ, and would have to be made again: give "
			     "--replace; nothing is changed",
			     plan.replaced);
		else
			ret = w->dry_run ? EXIT_YES : apply_make_all(w, &plan);
		if (all || !does_nothing(&plan))
			apply_report(&plan, w->dry_run);
		if (open && ret != EXIT_FAIL && !apply_open_note(open, &plan))
			ret = EXIT_FAIL;
	}
	apply_plan_free(&plan);
	return ret;
}

/* A round of apply_follow(), and all there is without --follow. */
static int apply_files(void *ctx, struct apply_open *open, bool all)
{
	const struct want *w = ctx;
	int lock = w->dry_run ? -1 : state_lock(w->state), ret = EXIT_FAIL;
	struct declarations d;

	if (declared_read(&d, w->paths, w->nr_paths))
		ret = apply_declared(w, &d, open, all);
	declared_free(&d);
	if (lock >= 0)
		close(lock);
	return ret;
}

static int save_files(const struct want *w)
{
	struct declarations d;
	int ret = EXIT_FAIL;

	if (declared_read(&d, w->paths, w->nr_paths))
		ret = state_save(&d, w->state, w->due);
	declared_free(&d);
	return ret;
}

static const struct option longs[] = {
	{ "dry-run", no_argument, NULL, OPT_DRY_RUN },
	{ "prune", no_argument, NULL, OPT_PRUNE },
	{ "replace", no_argument, NULL, OPT_REPLACE },
	{ "restore", no_argument, NULL, OPT_RESTORE },
	{ "save", no_argument, NULL, OPT_SAVE },
	{ "due", no_argument, NULL, OPT_DUE },
	{ "follow", no_argument, NULL, OPT_FOLLOW },
	{ "state", required_argument, NULL, OPT_STATE },
	{ 0 },
};

static const struct spec spec = {
	.usage = "apply [options] [FILE | DIRECTORY]...",
	/* clang-format off */
	.help =
"Make the filters, attachments and pins that files declare (default: the files\n"
"*.conf of " DECLARED_DIR ", see epochfilter.conf(5)). First\n"
"the difference to what is there is printed; a second run has nothing to do.\n"
"      --dry-run    only print the difference\n"
"      --prune      remove filters, attachments and pins that are not declared\n"
"      --replace    remove what exists and differs, and make it again: its keys\n"
"                   and counters are lost. Without it such a difference is an\n"
"                   error, and nothing is changed\n"
"      --restore    fill filters that are made from their saved states, unless\n"
"                   these are older than the window\n"
"      --save       save the states of the declared filters, and change nothing\n"
"      --due        with --save: only those whose state is old enough\n"
"      --follow     go on: make what could not be made when it can be, and attach\n"
"                   again to interfaces that come back\n"
"      --state DIR  directory of the states (" STATE_DIR ")\n"
"exit status: 0 all is as declared, 1 partly: some changes failed, or a filter\n"
"that was to be saved does not exist, which errors say, 2 failure\n",
	/* clang-format on */
	.shorts = "",
	.longs = longs,
};

static bool apply_take_option(struct want *w, int opt)
{
	bool *const flags[] = { &w->dry_run, &w->prune, &w->replace, &w->restore,
				&w->save,    &w->due,   &w->follow };

	if (opt == OPT_STATE)
		w->state = optarg;
	else if (opt >= OPT_DRY_RUN && opt <= OPT_FOLLOW)
		*flags[opt - OPT_DRY_RUN] = true;
	else
		return false;
	return true;
}

static bool options_ok(const struct want *w)
{
	if (w->save && (w->dry_run || w->prune || w->replace || w->restore || w->follow))
		fail("--save goes with --due and --state only");
	else if (w->due && !w->save)
		fail("--due goes with --save only");
	else if (w->follow && (w->dry_run || w->prune || w->replace))
		fail("--follow goes with --restore and --state only");
	else
		return true;
	return false;
}

int cmd_apply(int argc, char **argv)
{
	struct want w = { .state = STATE_DIR };
	int opt;

	while ((opt = next_option(argc, argv, &spec)) >= 0)
		if (!apply_take_option(&w, opt))
			return EXIT_FAIL;
	if (!options_ok(&w))
		return EXIT_FAIL;
	w.paths = argv + optind;
	w.nr_paths = argc - optind;
	catch_signals();
	if (xdp_obj_quiet)
		xdp_obj_quiet();
	if (w.save)
		return save_files(&w);
	return w.follow ? apply_follow(apply_files, &w) : apply_files(&w, NULL, true);
}
