// SPDX-License-Identifier: GPL-2.0
/* Section ge of the page: see ge.h. */
#define EPF_PRIVATE

#include "ge.h"

int main(int argc, char **argv)
{
	struct paper p = paper_begin("ge", argc, argv);

	ge_table(&p);
	ge_log(&p);
	ge_closed(&p);
	ge_laws(&p);
	ge_scale(&p);
	return paper_end(&p);
}
