// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Text whose lines are keys, by the same rule as for 'epfctl insert': only a newline
 * ends a line.
 */
#include "records/reader.h"

static int text_open(struct rec_source *s, struct rec_error *e)
{
	struct rec_raw line;

	return s->spec.header ? rec_first_line(s, &line, e) : 0;
}

static int text_take(struct rec_source *s, struct rec_batch *b, struct rec_error *e)
{
	struct rec_raw line;
	int ret = 0;

	while (rec_goes_on(s, b) && (ret = rec_line(s, &line, e)) > 0) {
		struct rec_raw key = line;

		if (((const char *)key.data)[key.len - 1] == '\n')
			key.len--;
		ret = rec_key(s, b, line, &key, e);
		if (ret)
			break;
	}
	return ret;
}

const struct rec_reader rec_text = {
	.open = text_open,
	.take = text_take,
};
