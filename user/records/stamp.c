// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "records/stamp.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_SEC 1000000000ULL
#define NS_END (1ULL << 62)
#define STAMP_BYTES 64 /* longer text is no stamp */

/* The length of a unit in ns; 0: it is none. */
static __u64 stamp_unit_of(const char *form)
{
	static const struct {
		const char *name;
		__u64 ns;
	} units[] = { { "s", NS_PER_SEC }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 } };
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(form, units[i].name))
			return units[i].ns;
	return 0;
}

bool stamp_form_ok(const char *form)
{
	return stamp_unit_of(form) || strchr(form, '%');
}

/* A fraction, "." or "," and digits, of @unit. Moves @text behind it. */
static __u64 stamp_fraction(const char **text, __u64 unit)
{
	const char *c = *text;
	__u64 ns = 0;

	if ((*c != '.' && *c != ',') || !isdigit((unsigned char)c[1]))
		return 0;
	for (c++; isdigit((unsigned char)*c); c++) {
		ns += (__u64)(*c - '0') * unit / 10;
		unit /= 10;
	}
	*text = c;
	return ns;
}

static bool stamp_number(const char *text, __u64 unit, __u64 *ns)
{
	__u64 n = 0;

	if (!isdigit((unsigned char)*text))
		return false;
	for (; isdigit((unsigned char)*text); text++) {
		n = 10 * n + (__u64)(*text - '0');
		if (n >= NS_END / unit)
			return false;
	}
	*ns = n * unit + stamp_fraction(&text, unit);
	return !*text;
}

/* @zoned: @tm has a zone, else it is local time. */
static bool of_tm(struct tm *tm, bool zoned, __u64 *ns)
{
	long east = tm->tm_gmtoff;
	time_t t;

	tm->tm_isdst = -1;
	t = zoned ? timegm(tm) - east : mktime(tm);
	if (t < 0 || (__u64)t >= NS_END / NS_PER_SEC)
		return false;
	*ns = (__u64)t * NS_PER_SEC;
	return true;
}

static bool formatted(const char *text, const char *form, __u64 *ns)
{
	struct tm tm = { 0 };
	const char *end = strptime(text, form, &tm);

	return end && !*end && of_tm(&tm, strstr(form, "%z"), ns);
}

static bool iso(const char *text, __u64 *ns)
{
	struct tm tm = { 0 };
	__u64 part;
	bool zoned;

	text = strptime(text, "%Y-%m-%d", &tm);
	if (!text || (*text != ' ' && *text != 'T'))
		return false;
	text = strptime(text + 1, "%H:%M:%S", &tm);
	if (!text)
		return false;
	part = stamp_fraction(&text, NS_PER_SEC);
	zoned = *text;
	if (zoned)
		text = strptime(text, "%z", &tm);
	if (!text || *text || !of_tm(&tm, zoned, ns))
		return false;
	*ns += part;
	return true;
}

static bool records_stamp_parse(const char *text, const char *form, __u64 *ns)
{
	if (!form)
		return stamp_number(text, NS_PER_SEC, ns) || iso(text, ns) ||
		       formatted(text, "%d/%b/%Y:%H:%M:%S %z", ns);
	return stamp_unit_of(form) ? stamp_number(text, stamp_unit_of(form), ns) :
				     formatted(text, form, ns);
}

bool stamp_parse(const char *text, size_t len, const char *form, __u64 *ns)
{
	char copy[STAMP_BYTES];

	while (len && strchr(" [", *text) && *text)
		text++, len--;
	while (len && strchr(" ]", text[len - 1]) && text[len - 1])
		len--;
	if (!len || len >= sizeof(copy) || memchr(text, 0, len))
		return false;
	memcpy(copy, text, len);
	copy[len] = 0;
	return records_stamp_parse(copy, form, ns) && *ns && *ns < NS_END;
}
