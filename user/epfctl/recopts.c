// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "recopts.h"

#include <string.h>

#include "cmd.h"

static bool take_format(struct rec_spec *r, const char *arg)
{
	if (rec_format_named(arg, &r->format))
		return true;
	fail("--format '%s' is none of auto, column, csv, json, nfdump, ipfix, "
	     "pcap",
	     arg);
	return false;
}

static bool take_char(const char *what, const char *arg, char *value)
{
	*value = !strcmp(arg, "\\t") ? '\t' : arg[0];
	if (*value && (!arg[1] || *value == '\t'))
		return true;
	fail("%s '%s' is not one character", what, arg);
	return false;
}

bool rec_option(struct rec_spec *r, int opt, const char *arg)
{
	switch (opt) {
	case 'F':
		return take_format(r, arg);
	case OPT_FIELDS:
		r->fields = arg;
		return true;
	case OPT_SEPARATOR:
		return take_char("--separator", arg, &r->separator);
	case OPT_JOINT:
		return take_char("--joint", arg, &r->joint);
	case OPT_HEADER:
		r->header = true;
		return true;
	case OPT_HEX:
		r->hex = true;
		return true;
	case OPT_SKIP_BAD:
		r->skip_bad = true;
		return true;
	case OPT_MULTILINE:
		r->multiline = true;
		return true;
	}
	return pkt_option(&r->pkt, opt, arg);
}
