// SPDX-License-Identifier: GPL-2.0
/*
 * hold control|filter|mapping|nothing NAME: for load.sh. Creates a filter, inserts into
 * it, then holds the named object until its standard input ends; with "nothing" it ends
 * at once and leaves the filter. Prints "ready".
 */
#include "epftest.h"

int main(int argc, char **argv)
{
	struct epf_params p;
	char c;
	int fd;

	test_demand(argc == 3);
	test_dev = epf_dev_open();
	test_demand(test_dev >= 0);
	p = test_params(argv[2], 4096, 2, 10, 700);
	fd = test_make(&p);
	test_insert(fd, 1, 0, 5000);
	test_demand(test_count(fd, 1, 4300, 700) == 700);
	if (!strcmp(argv[1], "mapping"))
		test_demand(mmap(NULL, 4096 * 64, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED);
	if (strcmp(argv[1], "filter"))
		close(fd);
	if (strcmp(argv[1], "control"))
		close(test_dev);
	puts("ready");
	fflush(stdout);
	while (strcmp(argv[1], "nothing") && read(0, &c, 1) > 0)
		;
	return 0;
}
