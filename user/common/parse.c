// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Numbers with units. Each error names the option and shows a valid value. */
#include "common/parse.h"

#include "common/array.h"
#include "common/clock.h"
#include "common/error.h"

#include "plan.h"
#include "records/keytext.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "epf/params.h"

struct unit {
	const char *name;
	long double factor;
};

static const struct unit no_unit[] = { { "", 1 }, { 0 } };

static const struct unit count_units[] = {
	{ "", 1 }, { "k", 1e3L }, { "M", 1e6L }, { "G", 1e9L }, { 0 },
};

/* Powers of 1024, as for RAM; only kB, MB, GB and TB are powers of 1000. */
static const struct unit byte_units[] = {
	{ "", 1 },          { "B", 1 },         { "K", 0x1p10L },
	{ "M", 0x1p20L },   { "G", 0x1p30L },   { "T", 0x1p40L },
	{ "KiB", 0x1p10L }, { "MiB", 0x1p20L }, { "GiB", 0x1p30L },
	{ "TiB", 0x1p40L }, { "kB", 1e3L },     { "MB", 1e6L },
	{ "GB", 1e9L },     { "TB", 1e12L },    { 0 },
};

static const struct unit time_units[] = {
	{ "ns", 1 },      { "us", 1e3L },   { "ms", 1e6L },    { "s", 1e9L }, { "m", 60e9L },
	{ "min", 60e9L }, { "h", 3600e9L }, { "d", 86400e9L }, { 0 },
};

static const struct unit rate_units[] = {
	{ "", 1 }, { "%", 1e-2L }, { "ppm", 1e-6L }, { "ppb", 1e-9L }, { 0 },
};

/* Plain decimal with an optional exponent: no hex, no "inf", no sign. */
static bool parse_unit(const char *text, const struct unit *units, long double *value)
{
	char *end;

	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return false;
	if (text[0] == '0' && (text[1] | 0x20) == 'x')
		return false;
	*value = strtold(text, &end);
	if (end == text)
		return false;
	for (; units->name; units++)
		if (!strcasecmp(end, units->name))
			break;
	if (!units->name)
		return false;
	*value *= units->factor;
	return true;
}

/* A whole number from 1 to @max. @example: a valid value, for the error. */
static bool parse_whole(const char *what, const char *text, const struct unit *units,
			const char *example, __u64 max, __u64 *value)
{
	long double v;

	if (!parse_unit(text, units, &v)) {
		fail("%s '%s' is not a number: write %s", what, text, example);
		return false;
	}
	if (v > (long double)max) {
		fail("%s '%s' is too large: at most %llu", what, text, max);
		return false;
	}
	if (v < 1) {
		fail("%s '%s' is too small: at least 1", what, text);
		return false;
	}
	/* 0.000001s is 1000 ns plus a rounding error */
	if (fabsl(v - roundl(v)) > v * 1e-15L) {
		fail("%s '%s' is not whole: write %s", what, text, example);
		return false;
	}
	*value = (__u64)roundl(v);
	return true;
}

bool parse_count(const char *what, const char *text, __u64 max, __u64 *value)
{
	return parse_whole(what, text, count_units, "1000000, 1e6 or 1M", max, value);
}

bool parse_bytes(const char *what, const char *text, __u64 *bytes)
{
	return parse_whole(what, text, byte_units, "64M or 2GiB", 1ULL << 50, bytes);
}

bool parse_ns(const char *what, const char *text, __u64 *ns)
{
	long double v;

	if (parse_unit(text, no_unit, &v)) {
		fail("%s '%s' has no unit: write 10s, 500ms or 1h", what, text);
		return false;
	}
	return parse_whole(what, text, time_units, "10s, 500ms or 1h", EPF_NS_MAX, ns);
}

/* A range that excludes 0 if it begins there. */
static bool parse_rate_of(const char *what, const char *text, double *rate, double least,
			  double most, const char *range)
{
	long double v;

	if (!parse_unit(text, rate_units, &v)) {
		fail("%s '%s' is not a rate: write 1e-4, 0.01%% or 100ppm", what, text);
		return false;
	}
	*rate = (double)v; /* 0 if @v is below the smallest double */
	if (*rate > 0 && *rate >= least && *rate <= most)
		return true;
	fail("%s '%s' is out of range: %s", what, text, range);
	return false;
}

bool parse_rate(const char *what, const char *text, double *rate)
{
	return parse_rate_of(what, text, rate, 0, 1, "over 0, at most 1");
}

bool parse_budget(const char *text, double *rate)
{
	return parse_rate_of("--budget", text, rate, EPF_PLAN_BUDGET_LEAST, EPF_PLAN_BUDGET_MOST,
			     "1e-9 to 0.5");
}

bool parse_pps(const char *what, const char *text, double *pps)
{
	long double v;

	if (parse_unit(text, count_units, &v)) {
		*pps = (double)v;
		if (*pps > 0 && v <= 1e15L)
			return true;
	}
	fail("%s '%s' is not a number per second: write 250000, 1e6 or 1M", what, text);
	return false;
}

bool parse_hash_key(const char *what, const char *text, __u64 key[2])
{
	__u8 bytes[16];

	if (parse_hex(text, strlen(text), bytes, sizeof(bytes)) != 16) {
		fail("%s is not 32 hex digits", what);
		return false;
	}
	key[0] = epf_get_le64(bytes);
	key[1] = epf_get_le64(bytes + 8);
	return true;
}

bool parse_name(const char *name)
{
	if (epf_name_valid(name))
		return true;
	fail("'%s' is not a name: use 1 to %d of A-Z a-z 0-9 . _ - and no "
	     "leading dot",
	     name, EPF_NAME_LEN - 1);
	return false;
}
