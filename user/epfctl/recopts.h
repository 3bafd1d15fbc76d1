/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options for records, the same ones for audit and build. */
#ifndef EPFCTL_RECOPTS_H
#define EPFCTL_RECOPTS_H

#include "common/pktopts.h"
#include "records/records.h"

enum {
	OPT_FIELDS = OPT_PKT_END,
	OPT_HEADER,
	OPT_SEPARATOR,
	OPT_JOINT,
	OPT_HEX,
	OPT_SKIP_BAD,
	OPT_MULTILINE,
	OPT_REC_END,
};
#define REC_SHORTS "F:"
#define REC_LONGS                                                        \
	{ "format", required_argument, NULL, 'F' },                      \
		{ "fields", required_argument, NULL, OPT_FIELDS },       \
		{ "header", no_argument, NULL, OPT_HEADER },             \
		{ "separator", required_argument, NULL, OPT_SEPARATOR }, \
		{ "joint", required_argument, NULL, OPT_JOINT },         \
		{ "hex", no_argument, NULL, OPT_HEX },                   \
		{ "skip-bad", no_argument, NULL, OPT_SKIP_BAD },         \
	{                                                                \
		"multiline", no_argument, NULL, OPT_MULTILINE            \
	}
/* Without the formats, which differ. */
#define REC_HELP                                                                            \
	"  --fields LIST       csv: numbers from 1, or names with --header; json: names;\n" \
	"                      they are joined to one key (default: the whole line)\n"      \
	"  --header            csv: the first line names the fields\n"                      \
	"  --separator C       csv: the character between fields (default: a comma)\n"      \
	"  --joint C           the character between the fields of a key (default: a\n"     \
	"                      comma)\n"                                                    \
	"  --hex               csv, json: fields are hex bytes\n"                           \
	"  --multiline         csv by comma: a quoted field may have ends of lines\n"       \
	"  --skip-bad          skip records that cannot be read, and count them\n"

/* Like plan_option(); also takes the options of packet keys. */
bool rec_option(struct rec_spec *r, int opt, const char *arg);

#endif /* EPFCTL_RECOPTS_H */
