// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sections of files as command lines. */
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "common/conffile.h"
#include "create.h"
#include "declared.h"
#include "pin.h"

const char *const declared_names[DECLARED_TYPES] = {
	[DECLARED_FILTER] = "filter",
	[DECLARED_ATTACH] = "attach",
	[DECLARED_PIN] = "pin",
};

static const char *const verbs[DECLARED_TYPES] = {
	[DECLARED_FILTER] = "create",
	[DECLARED_ATTACH] = "attach",
	[DECLARED_PIN] = "pin",
};

static const struct option *const options[DECLARED_TYPES] = {
	[DECLARED_FILTER] = create_longs,
	[DECLARED_ATTACH] = attach_longs,
	[DECLARED_PIN] = pin_longs,
};

static bool declared_no_memory(void)
{
	fail("out of memory");
	return false;
}

/* Append a word that stands at @where. */
static bool push(struct declared *d, const char *word, const char *where)
{
	size_t bytes = (size_t)(d->nr + 2) * sizeof(*d->word);
	char **words = realloc(d->word, bytes);
	char **at = words ? realloc(d->at, bytes) : NULL;

	if (words)
		d->word = words;
	if (!at)
		return declared_no_memory();
	d->at = at;
	words[d->nr] = strdup(word);
	at[d->nr] = strdup(where);
	if (!words[d->nr] || !at[d->nr]) {
		free(words[d->nr]);
		free(at[d->nr]);
		words[d->nr] = at[d->nr] = NULL;
		return declared_no_memory();
	}
	d->nr++;
	words[d->nr] = at[d->nr] = NULL;
	return true;
}

static void declared_drop(struct declared *d)
{
	while (d->nr--) {
		free(d->word[d->nr]);
		free(d->at[d->nr]);
	}
	free(d->word);
	free(d->at);
	free(d->name);
	free(d->filter);
	free(d->filter_at);
}

/* The type and the name of a section "TYPE NAME". Return: DECLARED_TYPES: neither. */
static enum declared_type type_of(const char *section, const char **name)
{
	size_t len = strcspn(section, " \t");
	enum declared_type type;

	for (type = 0; type < DECLARED_TYPES; type++)
		if (strlen(declared_names[type]) == len &&
		    !strncmp(section, declared_names[type], len))
			break;
	*name = section + len + strspn(section + len, " \t");
	return **name ? type : DECLARED_TYPES;
}

/* A hook has several spellings; the one that 'status' prints is its name. */
static char *declared_name_of(enum declared_type type, const char *text)
{
	char hook[XDP_NAME_BYTES];

	if (type == DECLARED_FILTER && !parse_name(text))
		return NULL;
	if (type == DECLARED_ATTACH && nf_is_name(text))
		return nf_name(text, hook) ? strdup(hook) : NULL;
	if (type == DECLARED_PIN && text[0] != '/') {
		fail("'%s' is not an absolute path: give one below " EPF_XDP_BPFFS, text);
		return NULL;
	}
	return strdup(text);
}

static bool begin_section(struct declarations *all, const struct conf_line *line)
{
	struct declared *more = realloc(all->all, (all->nr + 1) * sizeof(*more)), *d;
	struct declared new = { .saves = true };
	const struct declared *other;
	const char *name;

	if (!more)
		return declared_no_memory();
	all->all = more;
	out_at(line->header);
	new.type = type_of(line->section, &name);
	if (new.type == DECLARED_TYPES) {
		fail("unknown section [%s]: use [filter NAME], [attach INTERFACE] or [pin PATH]",
		     line->section);
		return false;
	}
	new.name = declared_name_of(new.type, name);
	if (!new.name)
		return false;
	other = declared_find(all, new.type, new.name);
	if (other) {
		fail("[%s] is declared already, at %s", line->section, other->at[0]);
		free(new.name);
		return false;
	}
	d = &all->all[all->nr++];
	*d = new;
	return push(d, verbs[d->type], line->header);
}

/* 'save' is no option of 'create'. */
static bool take_save(struct declared *d, const char *value)
{
	d->saves = strcmp(value, "no");
	if (!d->saves || !strcmp(value, "yes"))
		return true;
	return parse_ns("save", value, &d->save_ns);
}

/* The verb's option of that name; NULL: an error is printed. */
static const struct option *option_of(const struct declared *d, const char *name)
{
	static const struct option backend = { "backend", required_argument, NULL, OPT_BACKEND };
	const struct option *o = options[d->type];

	if (d->type == DECLARED_FILTER && !strcmp(name, "key")) {
		fail("a hash key is a secret: put it into a file, and give 'key-file'");
		return NULL;
	}
	if (!strcmp(name, "backend"))
		return &backend;
	for (; o->name; o++)
		if (!strcmp(name, o->name) && strcmp(name, "hook"))
			return o;
	fail("unknown key '%s': the keys of [%s] are the options of 'epfctl %s'", name,
	     declared_names[d->type], verbs[d->type]);
	return NULL;
}

/* The filter is an operand of 'pin'. */
static bool take_filter(struct declared *d, const struct conf_line *line)
{
	if (d->filter) {
		fail("'filter' is given twice");
		return false;
	}
	d->filter = strdup(line->value);
	d->filter_at = strdup(line->where);
	return (d->filter && d->filter_at) || declared_no_memory();
}

static bool declared_take_option(struct declared *d, const struct conf_line *line)
{
	const struct option *o = option_of(d, line->name);
	char word[512];

	if (!o)
		return false;
	if (o->has_arg) {
		snprintf(word, sizeof(word), "--%s=%s", line->name, line->value);
		return push(d, word, line->where);
	}
	snprintf(word, sizeof(word), "--%s", line->name);
	if (!strcmp(line->value, "yes"))
		return push(d, word, line->where);
	if (strcmp(line->value, "no"))
		fail("%s '%s': not yes or no", line->name, line->value);
	return !strcmp(line->value, "no");
}

static bool declared_take_line(void *ctx, const struct conf_line *line)
{
	struct declarations *all = ctx;
	struct declared *d;
	bool good = true;

	if (!line->nr) {
		out_at(line->where);
		fail("'%s' is in no section", line->name);
		return false;
	}
	/* each file counts from 1 */
	if (line->nr != all->section || !all->nr ||
	    strcmp(all->all[all->nr - 1].at[0], line->header))
		good = begin_section(all, line);
	all->section = line->nr;
	d = &all->all[all->nr - !!all->nr];
	out_at(line->where);
	if (good && d->type == DECLARED_FILTER && !strcmp(line->name, "save"))
		good = take_save(d, line->value);
	else if (good && d->type == DECLARED_PIN && !strcmp(line->name, "filter"))
		good = take_filter(d, line);
	else if (good)
		good = declared_take_option(d, line);
	if (good)
		out_at(NULL);
	return good;
}

/* The operands come last, so that getopt does not move words. */
static bool end_words(struct declared *d)
{
	if (d->type == DECLARED_ATTACH && nf_is_name(d->name)) {
		char word[XDP_NAME_BYTES + 8];

		snprintf(word, sizeof(word), "--hook=%s", d->name);
		return push(d, word, d->at[0]);
	}
	if (d->type == DECLARED_PIN && !d->filter) {
		out_at(d->at[0]);
		fail("'filter' is missing: the name of a filter that is declared or exists");
		return false;
	}
	return push(d, "--", d->at[0]) && (!d->filter || push(d, d->filter, d->filter_at)) &&
	       push(d, d->name, d->at[0]);
}

bool declared_read(struct declarations *d, char **paths, int nr_paths)
{
	static char dir[] = DECLARED_DIR;
	char *usual[] = { dir };
	bool good = true;
	size_t n;
	int i;

	memset(d, 0, sizeof(*d));
	for (i = 0; good && i < (nr_paths ?: 1); i++)
		good = conffile_read_all((nr_paths ? paths : usual)[i], declared_take_line, d);
	for (n = 0; good && n < d->nr; n++)
		good = end_words(&d->all[n]);
	out_at(NULL);
	return good;
}

void declared_free(struct declarations *d)
{
	while (d->nr)
		declared_drop(&d->all[--d->nr]);
	free(d->all);
	d->all = NULL;
}

const struct declared *declared_find(const struct declarations *d, enum declared_type type,
				     const char *name)
{
	size_t i;

	for (i = 0; i < d->nr; i++)
		if (d->all[i].type == type && !strcmp(d->all[i].name, name))
			return &d->all[i];
	return NULL;
}

struct settings declared_begin(const struct declared *d)
{
	const struct settings kept = settings_begin();

	options_from(d->at);
	out_at(d->at[0]);
	return kept;
}

void declared_end(const struct settings *s)
{
	options_from(NULL);
	out_at(NULL);
	settings_restore(s);
}
