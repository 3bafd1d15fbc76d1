// SPDX-License-Identifier: GPL-2.0
/*
 * Section aged: the tables and figures of Shtul, Baquero and Almeida,
 * "Age-Partitioned Bloom Filters", 2020.
 *
 * usage: aged [--quick] OUTDIR
 */
#include "aged.h"

struct paper paper;
int nr_filters = FILTERS_MAX;

int main(int argc, char **argv)
{
	paper = paper_begin("aged", argc, argv);
	if (paper.quick)
		nr_filters = 8;
	tables();
	measured();
	figures();
	settling();
	repeats();
	return paper_end(&paper);
}
