// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Settings of a watched directory. */
#include "epfagent/watch_conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "epf/packet.h"
#include "epfagent/conf.h"
#include "common/array.h"
#include "common/error.h"
#include "common/parse.h"
#include "common/pktopts.h"

#define MODE_DEFAULT 0600

/* Options for packet keys; epfctl's functions parse them and print errors. */
static const struct {
	const char *name;
	int opt;
} packet_options[] = {
	{ "key", OPT_KEY },       { "prefix", OPT_PREFIX },       { "scope", OPT_SCOPE },
	{ "zone", OPT_ZONE },     { "fragments", OPT_FRAGMENTS }, { "reverse", OPT_REVERSE },
	{ "errors", OPT_ERRORS },
};

/* The option for packet keys of that name, with a value or without; 0: there is none. */
static int packet_option(const char *name, bool has_value)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(packet_options); i++)
		if (!strcmp(name, packet_options[i].name) &&
		    has_value != (packet_options[i].opt == OPT_REVERSE ||
				  packet_options[i].opt == OPT_ERRORS))
			return packet_options[i].opt;
	return 0;
}

/* Return: false: pkt_option() has printed the error. */
static bool set_packet(struct conf_watch *w, int opt, const char *value)
{
	struct rec_spec *r = &w->request.spec.records;

	r->as_filter = false;
	return pkt_option(&r->pkt, opt, value);
}

/* An option without a value. Return: false: it is not one of these; nothing is printed. */
static bool set_flag(struct conf_watch *w, const char *name)
{
	struct rec_spec *r = &w->request.spec.records;
	int opt = packet_option(name, false);

	if (opt)
		return set_packet(w, opt, NULL); /* never fails without a value */
	if (!strcmp(name, "ages"))
		w->ages = true;
	else if (!strcmp(name, "records"))
		w->records = true;
	else if (!strcmp(name, "absent"))
		w->records = w->request.spec.absent = true;
	else if (!strcmp(name, "digest"))
		r->digest = true;
	else if (!strcmp(name, "hex"))
		r->hex = true;
	else if (!strcmp(name, "header"))
		r->header = true;
	else if (!strcmp(name, "skip-bad"))
		r->skip_bad = true;
	else if (!strcmp(name, "multiline"))
		r->multiline = true;
	else
		return false;
	return true;
}

static bool set_key_len(struct conf_watch *w, const char *what, const char *value)
{
	__u64 n;

	if (!parse_count(what, value, EPF_KEY_MAX, &n))
		return false;
	w->request.spec.key_len = (__u32)n;
	return true;
}

/* One byte, or "tab", since a comma ends an option. */
static bool set_byte(char *to, const char *value)
{
	*to = !strcmp(value, "tab") ? '\t' : value[0];
	return *to && (*to == '\t' || !value[1]);
}

/* Octal. Results must not be executable, and their owner must be able to replace them. */
static bool set_mode(mode_t *to, const char *what, const char *value)
{
	size_t len = strspn(value, "01234567");
	unsigned long mode = strtoul(value, NULL, 8);

	*to = (mode_t)mode;
	if (len && len <= 4 && !value[len] && !(mode & ~0666UL) && (mode & 0600) == 0600)
		return true;
	fail("%s: option 'mode=%s': use an octal number from 600 to 666, such "
	     "as 640",
	     what, value);
	return false;
}

static bool copy_text(char *to, size_t room, const char *value)
{
	snprintf(to, room, "%s", value);
	return strlen(value) < room;
}

static bool set_value(struct conf_watch *w, const char *what, const char *name, const char *value)
{
	struct agent_request *r = &w->request;
	int opt = packet_option(name, true);
	bool good;

	if (opt)
		return set_packet(w, opt, value);
	if (!strcmp(name, "key-len"))
		return set_key_len(w, what, value);
	if (!strcmp(name, "mode"))
		return set_mode(&w->mode, what, value);
	if (!strcmp(name, "group"))
		return conf_find_group(what, value, &w->gid);
	if (!strcmp(name, "keep-time"))
		return parse_ns(what, value, &w->keep.ns);
	if (!strcmp(name, "keep-bytes"))
		return parse_bytes(what, value, &w->keep.bytes);
	if (!strcmp(name, "hook"))
		return hook_conf_words(&w->hook, what, value);
	if (!strcmp(name, "user"))
		return hook_conf_user(&w->hook, what, value);
	if (!strcmp(name, "hook-time"))
		return parse_ns(what, value, &w->hook.time_ns);
	if (!strcmp(name, "format"))
		good = rec_format_named(value, &r->spec.records.format);
	else if (!strcmp(name, "separator"))
		good = set_byte(&r->spec.records.separator, value);
	else if (!strcmp(name, "joint"))
		good = set_byte(&r->spec.records.joint, value);
	else if (!strcmp(name, "engine"))
		good = epf_engine_find(value) && copy_text(r->engine, sizeof(r->engine), value);
	else if (!strcmp(name, "fields"))
		good = copy_text(r->fields, sizeof(r->fields), value);
	else
		good = false;
	if (!good)
		fail("%s: option '%s=%s': unknown option or value", what, name, value);
	return good;
}

/* Modifies @text. The value of "fields" contains commas, so it must be the last option. */
static bool set_options(struct conf_watch *w, const char *what, char *text)
{
	while (text && *text) {
		char *end = strncmp(text, "fields=", 7) ? strchr(text, ',') : NULL;
		char *value;

		if (end)
			*end++ = 0;
		value = strchr(text, '=');
		if (value) {
			*value++ = 0;
			if (!set_value(w, what, text, value))
				return false;
		} else if (!set_flag(w, text)) {
			fail("%s: unknown option '%s'", what, text);
			return false;
		}
		text = end;
	}
	return true;
}

static bool check(struct conf_watch *w, const char *what)
{
	struct rec_spec *r = &w->request.spec.records;

	if (w->dir[0] != '/') {
		fail("%s: '%s' is not an absolute path", what, w->dir);
		return false;
	}
	if (!strchr(w->target, '/') && !parse_name(w->target))
		return false;
	if (!w->hook.nr_words && (w->hook.other || w->hook.time_ns)) {
		fail("%s: 'user' and 'hook-time' are of a 'hook', which is missing", what);
		return false;
	}
	if (w->records && r->format == REC_COLUMN) {
		fail("%s: a column has no records: set 'format'", what);
		return false;
	}
	return pkt_options_ok(&r->pkt, EPF_PKT_VLAN);
}

/* Find the next @end without a backslash before it, or the NUL. */
static const char *next_bare(const char *text, char end)
{
	for (; *text && *text != end; text++)
		if (*text == '\\' && text[1])
			text++;
	return text;
}

/* Copy text without its escaping backslashes. */
static char *unquote(const char *from, const char *end)
{
	char *text = malloc((size_t)(end - from) + 1), *to = text;

	if (!text)
		return NULL;
	for (; from < end; from++) {
		if (*from == '\\' && from + 1 < end)
			from++;
		*to++ = *from;
	}
	*to = 0;
	return text;
}

static void watch_conf_defaults(struct conf_watch *w)
{
	struct rec_spec *r = &w->request.spec.records;

	w->mode = MODE_DEFAULT;
	w->gid = (gid_t)-1;
	r->format = REC_COLUMN;
	r->pkt.key = EPF_PKT_FLOW;
	r->as_filter = true;
}

bool watch_conf_begin(struct conf_watch *w, const char *section)
{
	watch_conf_defaults(w);
	w->section = strdup(section);
	if (!w->section)
		fail("out of memory");
	return w->section;
}

static bool set_once(char **to, const char *name, const char *value)
{
	if (*to || !*value) {
		fail("'%s' is %s", name, *to ? "given twice" : "empty");
		return false;
	}
	*to = strdup(value);
	if (!*to)
		fail("out of memory");
	return *to;
}

bool watch_conf_set(struct conf_watch *w, const char *name, const char *value)
{
	struct conf_watch scratch = { .dir = NULL };

	if (!strcmp(name, "dir"))
		return set_once(&w->dir, name, value);
	if (!strcmp(name, "filter"))
		return set_once(&w->target, name, value);
	if (!set_flag(&scratch, name))
		return set_value(w, name, name, value);
	if (!strcmp(value, "yes"))
		return set_flag(w, name);
	if (strcmp(value, "no"))
		fail("%s '%s': not yes or no", name, value);
	return !strcmp(value, "no");
}

bool watch_conf_end(struct conf_watch *w)
{
	if (w->dir && w->target)
		return check(w, "watch");
	fail("a watched directory needs 'dir' and 'filter'");
	return false;
}

bool watch_conf_parse(struct conf_watch *w, const char *what, const char *text)
{
	const char *filter = next_bare(text, '=');
	const char *options = *filter ? next_bare(filter + 1, ':') : filter;
	char *rest;
	bool good;

	if (filter == text || !*filter || options == filter + 1) {
		fail("%s '%s': use DIR=FILTER or DIR=FILTER:OPTIONS, with '\\' "
		     "before a '=' or ':' in a path",
		     what, text);
		return false;
	}
	watch_conf_defaults(w);
	w->dir = unquote(text, filter);
	w->target = unquote(filter + 1, options);
	rest = strdup(*options ? options + 1 : "");
	if (!w->dir || !w->target || !rest) {
		fail("out of memory");
		free(rest);
		return false;
	}
	good = set_options(w, what, rest) && check(w, what);
	free(rest);
	return good;
}

void watch_conf_free(struct conf_watch *w)
{
	free(w->section);
	free(w->dir);
	free(w->target);
	hook_conf_free(&w->hook);
}
