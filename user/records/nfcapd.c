// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Files of nfcapd, which nfdump prints. */
#include "records/reader.h"

#include <string.h>

/* The columns of FORMAT. */
#define HEADER "ts,td,sa,da,sp,dp,pr,ipkt,ibyt\n"

/* Times are in seconds since 1970, since a local time can be ambiguous. The end is computed
 * from the duration, because the %ter of nfdump 1.7.1 is wrong.
 */
#define FORMAT "fmt:%tsr,%tds,%sa,%da,%sp,%dp,%pr,%pkt,%byt"

static char name[] = "nfdump", from[] = "-r", path[] = CHILD_FILE, quiet[] = "-q", plain[] = "-N",
	    whole[] = "-6", conf[] = "-C", none[] = "none", form[] = "-o", format[] = FORMAT;
static char *const argv[] = {
	name, from, path, quiet, plain, whole, conf, none, form, format, NULL
};

static const struct child_program nfdump = { name, argv, REC_NFCAPD_ADVICE };

int nfcapd_start(struct rec_source *s, struct rec_error *e)
{
	struct rec_input *in = &s->in;
	int ret = rec_input_child(s, &nfdump, e);

	if (ret)
		return ret;
	in->aligned = true;
	in->end = strlen(HEADER);
	memcpy(in->buf, HEADER, in->end);
	ret = rec_input_more(in); /* is there an nfdump at all? */
	return ret ? rec_input_failed(in, ret, e) : 0;
}
