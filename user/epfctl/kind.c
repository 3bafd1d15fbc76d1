// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Kinds of filters: options of plan and create, shapes as text and JSON. */
#include "cmd.h"

#include <stdlib.h>
#include <string.h>

#include "kinds/compare.h"

/* clang-format off */
const char kind_help[] =
"      --kind KIND         lanes (default), ge, gebl, apbf, apbbf, tlbf, dict,\n"
"                          chain, elastic: 'epfctl plan --compare' shows them\n"
"                          side by side. KIND:NAME=NUMBER,... is the shape that\n"
"                          'epfctl plan -j' prints, explicitly\n"
"      --slack SHARE       keys may stay at most this share of the window after\n"
"                          they have left it, 0.2 or 20% (default: any)\n";
/* clang-format on */

/* ------------------------------------------------------------- shapes ---- */

/* A number of struct epf_shape: its name in JSON, and where it is. */
struct number {
	const char *name;
	__u8 off;
	__u8 bytes;
};

/**
 * struct shape_row - how the shape of a kind is shown
 * @text: as text
 * @numbers: as JSON, up to one without a name
 */
struct shape_row {
	void (*text)(char *text, const struct epf_shape *s);
	struct number numbers[8];
};

static void ge_text(char *text, const struct epf_shape *s)
{
	snprintf(text, SHAPE_TEXT, "%u segments of %llu bits, %u bits a key%s", s->ge.epochs + 1,
		 s->ge.segment_bits, s->ge.bits, s->ge.layout ? "" : ", transposed");
}

static void gebl_text(char *text, const struct epf_shape *s)
{
	snprintf(text, SHAPE_TEXT,
		 "%u segments of %llu blocks of %u bits, "
		 "%u bits a key%s",
		 s->gebl.epochs + 1, s->gebl.blocks, s->gebl.block_bits, s->gebl.bits,
		 s->gebl.offsets ? ", double hashing" : "");
}

static void apbf_text(char *text, const struct epf_shape *s)
{
	snprintf(text, SHAPE_TEXT, "%u + %u slices of %llu bits", s->apbf.k, s->apbf.l,
		 s->apbf.slice_bits);
}

static void apbbf_text(char *text, const struct epf_shape *s)
{
	snprintf(text, SHAPE_TEXT,
		 "%u + %u slices of %llu blocks of %u bits, "
		 "%u bits a key in each",
		 s->apbbf.k, s->apbbf.l, s->apbbf.blocks, s->apbbf.block_bits, s->apbbf.bits);
}

static void tlbf_text(char *text, const struct epf_shape *s)
{
	snprintf(text, SHAPE_TEXT,
		 "%u slices a key, %u generations in the "
		 "window, slices of %llu .. %llu words",
		 s->tlbf.k, s->tlbf.l, s->tlbf.words_min, s->tlbf.words_max);
}

static void dict_text(char *text, const struct epf_shape *s)
{
	snprintf(text, SHAPE_TEXT,
		 "%llu buckets of %u lines and %llu more, "
		 "remainders of %u bits, %u generations",
		 s->dict.buckets, s->dict.lines, s->dict.yard, s->dict.rem_bits,
		 s->dict.generations);
}

static void chain_text(char *text, const struct epf_shape *s)
{
	snprintf(text, SHAPE_TEXT,
		 "tables of %llu .. %llu lines, for %u keys "
		 "of 1024 lines and an epoch; %u lines and %u bits a key",
		 s->chain.lines_min, s->chain.lines_max, s->chain.load, s->chain.lines_per_key,
		 s->chain.bits_per_key);
}

static void elastic_text(char *text, const struct epf_shape *s)
{
	snprintf(text, SHAPE_TEXT, "%llu lines of %u bytes, %u epochs", s->elastic.lines,
		 8 * s->elastic.line_words, s->elastic.epochs);
}

#define NUMBER(kind, field)                                         \
	{                                                           \
#field, offsetof(struct epf_shape, kind.field),     \
			sizeof(((struct epf_shape *)0)->kind.field) \
	}

static const struct shape_row rows[EPF_KIND_MAX + 1] = {
	[EPF_KIND_GE] = { ge_text,
			  { NUMBER(ge, segment_bits), NUMBER(ge, epochs), NUMBER(ge, bits),
			    NUMBER(ge, layout) } },
	[EPF_KIND_GEBL] = { gebl_text,
			    { NUMBER(gebl, blocks), NUMBER(gebl, block_bits), NUMBER(gebl, epochs),
			      NUMBER(gebl, bits), NUMBER(gebl, offsets) } },
	[EPF_KIND_APBF] = { apbf_text,
			    { NUMBER(apbf, slice_bits), NUMBER(apbf, k), NUMBER(apbf, l) } },
	[EPF_KIND_APBBF] = { apbbf_text,
			     { NUMBER(apbbf, blocks), NUMBER(apbbf, k), NUMBER(apbbf, l),
			       NUMBER(apbbf, block_bits), NUMBER(apbbf, bits) } },
	[EPF_KIND_TLBF] = { tlbf_text,
			    { NUMBER(tlbf, words_first), NUMBER(tlbf, words_min),
			      NUMBER(tlbf, words_max), NUMBER(tlbf, k), NUMBER(tlbf, l) } },
	[EPF_KIND_DICT] = { dict_text,
			    { NUMBER(dict, buckets), NUMBER(dict, yard), NUMBER(dict, generations),
			      NUMBER(dict, tag_bits), NUMBER(dict, rem_bits), NUMBER(dict, slots),
			      NUMBER(dict, lines) } },
	[EPF_KIND_CHAIN] = { chain_text,
			     { NUMBER(chain, lines_first), NUMBER(chain, lines_min),
			       NUMBER(chain, lines_max), NUMBER(chain, load),
			       NUMBER(chain, lines_per_key), NUMBER(chain, bits_per_key) } },
	[EPF_KIND_ELASTIC] = { elastic_text,
			       { NUMBER(elastic, lines), NUMBER(elastic, line_words),
				 NUMBER(elastic, epochs) } },
};

void shape_text(char text[SHAPE_TEXT], __u8 kind, const struct epf_shape *s)
{
	if (kind <= EPF_KIND_MAX && rows[kind].text)
		rows[kind].text(text, s);
	else
		snprintf(text, SHAPE_TEXT, "unknown kind %u", kind);
}

static __u64 number_of(const struct epf_shape *s, const struct number *n)
{
	const char *at = (const char *)s + n->off;

	return n->bytes == sizeof(__u64) ? *(const __u64 *)at : *(const __u32 *)at;
}

json_t *shape_json(__u8 kind, const struct epf_shape *s)
{
	json_t *all = json_object();
	const struct number *n;

	if (kind <= EPF_KIND_MAX)
		for (n = rows[kind].numbers; n->name; n++)
			json_object_set_new(all, n->name,
					    json_integer((json_int_t)number_of(s, n)));
	return all;
}

/* ------------------------------------------------------------ parsing ---- */

static const struct number *number_named(const struct number *all, const char *name)
{
	while (all->name && strcmp(all->name, name))
		all++;
	return all->name ? all : NULL;
}

static void set_number(struct epf_shape *s, const struct number *n, __u64 value)
{
	char *at = (char *)s + n->off;
	__u32 small = (__u32)value;

	if (n->bytes == sizeof(value))
		memcpy(at, &value, sizeof(value));
	else
		memcpy(at, &small, sizeof(small));
}

/* Take "NAME=NUMBER"; @seen has a bit for each number that was taken. */
static bool kind_take_number(struct epf_plan_request *p, char *text, unsigned int *seen)
{
	const struct number *all = rows[p->kind].numbers, *n;
	const char *kind = epf_kind_name(p->kind);
	char *value = strchr(text, '='), what[64];
	__u64 v = 0;

	if (value)
		*value++ = 0;
	n = value ? number_named(all, text) : NULL;
	if (!n || *seen & 1u << (n - all)) {
		fail("--kind %s: '%s' is %s", kind, text,
		     n ? "there twice" : "not NAME=NUMBER with a number of its shape");
		return false;
	}
	*seen |= 1u << (n - all);
	snprintf(what, sizeof(what), "--kind %s: %s", kind, n->name);
	if (strcmp(value, "0") &&
	    !parse_count(what, value, n->bytes == sizeof(v) ? 1ULL << 62 : 0xffffffffU, &v))
		return false;
	set_number(&p->shape, n, v);
	return true;
}

/* Take "NAME=NUMBER,...", all numbers of the kind. */
static bool take_shape(struct epf_plan_request *p, const char *text)
{
	const struct number *all = rows[p->kind].numbers, *n;
	char *copy = strdup(text), *rest = copy, *one;
	unsigned int seen = 0;
	bool good = copy;

	if (!copy)
		fail("out of memory");
	while (good && (one = strsep(&rest, ",")))
		good = kind_take_number(p, one, &seen);
	for (n = all; good && n->name; n++) {
		good = seen & 1u << (n - all);
		if (!good)
			fail("--kind %s: %s is missing", epf_kind_name(p->kind), n->name);
	}
	free(copy);
	p->has_shape = good;
	return good;
}

static bool parse_kind(struct epf_plan_request *p, const char *arg)
{
	size_t len = strcspn(arg, ":");
	unsigned int k;

	p->has_shape = false;
	memset(&p->shape, 0, sizeof(p->shape));
	for (k = 0; k <= EPF_KIND_MAX; k++) {
		const char *name = epf_kind_name(k);

		if (strlen(name) != len || strncmp(arg, name, len))
			continue;
		p->kind = (__u8)k;
		return !arg[len] || take_shape(p, arg + len + 1);
	}
	fail("--kind '%s' is none of lanes, ge, gebl, apbf, apbbf, tlbf, dict, "
	     "chain, elastic",
	     arg);
	return false;
}

bool kind_option(struct epf_plan_request *p, int opt, const char *arg)
{
	if (opt == OPT_KIND)
		return parse_kind(p, arg);
	if (opt == OPT_SLACK)
		return parse_rate("--slack", arg, &p->slack);
	return plan_option(p, opt, arg);
}

void kind_put(FILE *out, __u8 kind, const struct epf_shape *s)
{
	const struct number *n = rows[kind].numbers;
	char sign = ':';

	fputs(epf_kind_name(kind), out);
	for (; n->name; n++, sign = ',')
		fprintf(out, "%c%s=%llu", sign, n->name, number_of(s, n));
}
