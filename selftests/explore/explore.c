// SPDX-License-Identifier: GPL-2.0
/*
 * Explores small cases under every interleaving: the protocols of epf/lanes.h and
 * epf/window.h, the line lock of epf/elastic.h, the ring of epf/journal.h and its
 * reader, the worker's estimate, and the start of epochs. The memory models are sequential
 * consistency and a weak model, in some cases as weak as that of BPF on arm64. Each case
 * also runs with each protection disabled, which some case must notice. With EPF_THOROUGH
 * it also explores the widest case, and the variants that must break nothing.
 *
 * The cases are in cases.c, the properties in laws.c, the memory models in machine.h.
 */
#include "cases.h"
#include "search.h"
#include "trace.h"
#include "../core/tap.h"

#include <stdlib.h>

static const char *const model_name[] = { "SC", "weak" };
static bool deep, thorough;
static const char *only; /* id of a scene, or NULL */

static int usage(FILE *to)
{
	int i;

	fprintf(to, "usage: explore [--deep] [--trace VARIANT] [--only SCENE]\n"
		    "               [--list]\n\n"
		    "  --deep           larger bounds: many minutes, gigabytes\n"
		    "  --trace VARIANT  print an execution that breaks a law\n"
		    "  --only SCENE     one of the cases, and its variants\n"
		    "  --list           the variants\n\n");
	if (to == stdout)
		for (i = 0; i < case_nr_variants; i++)
			printf("  %-15s %s\n", case_variants[i].id, case_variants[i].what);
	return to == stdout ? 0 : 2;
}

/* The scene of @c with L = @parts (for kind elastic: a line of @parts times 64 bytes)
 * that begins with @before.
 */
static struct mc_scene scene_of(const struct case_scene *c, int parts, int before)
{
	struct mc_scene s = c->scene;

	s.parts = (__u8)parts;
	s.before = (enum scene_before)before;
	return s;
}

/* Describe what @parts means in @c. */
static const char *say_parts(const struct case_scene *c, int parts)
{
	static char text[16];

	if (c->scene.elastic)
		snprintf(text, sizeof(text), "%d bytes", 64 * parts);
	else if (c->scene.journal || c->scene.mirror)
		snprintf(text, sizeof(text), "slots=%d", c->scene.journal + c->scene.mirror);
	else
		snprintf(text, sizeof(text), "L=%d", parts);
	return text;
}

static void say_bound(int preemptions, char *to, size_t len)
{
	if (preemptions == SEARCH_ALL)
		to[0] = '\0';
	else
		snprintf(to, len, ", at most %d preemptions", preemptions);
}

/* One result line: @c with L = @parts has all properties in @model. */
static void explore(const struct case_scene *c, int parts, enum mc_model model)
{
	int most = deep ? c->deep : c->preemptions;
	struct search_result r = { .broke = NULL };
	double executions = 0, states = 0;
	struct mc_scene s;
	char bound[64];
	int before;

	for (before = 0; before <= BEFORE_CURRENT && !r.broke; before++) {
		if (!(c->before >> before & 1))
			continue;
		s = scene_of(c, parts, before);
		r = search(&s, model, 0, most);
		executions += r.executions;
		states += (double)r.states;
	}
	say_bound(most, bound, sizeof(bound));
	tap_ok(!r.broke, "%s, %s, %s: %s: %.3g executions, %.0f states%s", c->id,
	       say_parts(c, parts), model_name[model], c->scene.name, executions, states, bound);
	if (r.broke)
		trace_print(&s, &r);
}

static const struct case_scene *find_scene(const char *id)
{
	int i;

	for (i = 0; i < case_nr_scenes; i++)
		if (!strcmp(case_scenes[i].id, id))
			return &case_scenes[i];
	abort();
}

/* Find the execution with the fewest preemptions, at least @p, that violates a property
 * in @v's scene. @s is set to the scene, *@states to the number of states seen.
 */
#define UNBOUNDED 4
static struct search_result hunt(const struct case_variant *v, enum mc_model model, int p,
				 struct mc_scene *s, double *states)
{
	const struct case_scene *c = find_scene(v->in);
	struct search_result r = { .broke = NULL };
	int most = c->preemptions == SEARCH_ALL ? UNBOUNDED : c->preemptions;
	int before, parts;

	*states = 0;
	for (p = p < most ? p : most; p <= most; p++)
		for (before = 0; before <= BEFORE_CURRENT; before++) {
			if (!(c->before >> before & 1))
				continue;
			parts = c->parts & -c->parts;
			*s = scene_of(c, parts, before);
			r = search(s, model, v->out, p == UNBOUNDED ? SEARCH_ALL : p);
			*states += (double)r.states;
			if (r.broke)
				return r;
		}
	return r;
}

/* One result line: the effect of @v in @model. */
static void judge(const struct case_variant *v, enum mc_model model)
{
	bool breaks = v->fate == FATE_SC || (v->fate == FATE_WEAK && model == MC_WEAK);
	struct search_result r;
	struct mc_scene s;
	double states;

	r = hunt(v, model, breaks ? 0 : UNBOUNDED, &s, &states);
	if (breaks)
		tap_ok(r.broke, "caught, %s: %s: in '%s', %d steps: %s", model_name[model], v->what,
		       v->in, r.steps, r.broke ? r.broke : "not");
	else
		tap_ok(!r.broke, "breaks no law, %s: %s: in '%s', %.0f states", model_name[model],
		       v->what, v->in, states);
	if (r.broke && !breaks)
		trace_print(&s, &r);
}

static int trace_variant(const char *id)
{
	enum mc_model model;
	struct search_result r;
	struct mc_scene s;
	double states;
	int i;

	for (i = 0; i < case_nr_variants; i++)
		if (!strcmp(case_variants[i].id, id))
			break;
	if (i == case_nr_variants)
		return usage(stderr);
	for (model = MC_SC; model <= MC_WEAK; model++) {
		r = hunt(&case_variants[i], model, 0, &s, &states);
		if (!r.broke)
			continue;
		printf("# %s: %s; memory model: %s\n", id, case_variants[i].what,
		       model_name[model]);
		trace_print(&s, &r);
		return 0;
	}
	printf("# %s: %s: breaks no law\n", id, case_variants[i].what);
	return 1;
}

static bool wanted(const char *scene)
{
	return !only || !strcmp(only, scene);
}

static bool wanted_parts(const struct case_scene *c, int parts)
{
	return (c->parts & ~(thorough ? 0 : c->thorough)) & parts && wanted(c->id);
}

/* Searches that find nothing are as long as those of the cases themselves. */
static bool tried(const struct case_variant *v)
{
	return wanted(v->in) && (v->fate != FATE_NONE || thorough);
}

static int nr_claims(void)
{
	int i, parts, n = 0;

	for (i = 0; i < case_nr_variants; i++)
		n += tried(&case_variants[i]) ? 2 : 0;
	for (i = 0; i < case_nr_scenes; i++)
		for (parts = 1; parts <= 4; parts *= 2)
			n += wanted_parts(&case_scenes[i], parts) ? 2 : 0;
	return n;
}

static int run_all(void)
{
	enum mc_model model;
	int i, parts;

	tap_plan(nr_claims());
	for (i = 0; i < case_nr_scenes; i++)
		for (parts = 1; parts <= 4; parts *= 2)
			for (model = MC_SC; model <= MC_WEAK; model++)
				if (wanted_parts(&case_scenes[i], parts))
					explore(&case_scenes[i], parts, model);
	for (i = 0; i < case_nr_variants; i++)
		for (model = MC_SC; model <= MC_WEAK; model++)
			if (tried(&case_variants[i]))
				judge(&case_variants[i], model);
	return tap_end();
}

int main(int argc, char **argv)
{
	int i;

	thorough = getenv("EPF_THOROUGH") != NULL;
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--deep"))
			deep = thorough = true;
		else if (!strcmp(argv[i], "--trace") && i + 1 < argc)
			return trace_variant(argv[i + 1]);
		else if (!strcmp(argv[i], "--only") && i + 1 < argc)
			only = argv[++i];
		else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "--list"))
			return usage(stdout);
		else
			return usage(stderr);
	}
	return run_all();
}
