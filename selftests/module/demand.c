// SPDX-License-Identifier: GPL-2.0
/*
 * demand create|lanes|snapshot|destroy NAME: for on_demand.sh. Creates a filter of kind
 * ge, or of lanes, and inserts into it; or begins a snapshot of the filter, destroys the
 * filter by force, and holds the snapshot until its standard input ends; or destroys it.
 * Prints "ready", or the error of the call.
 */
#include "epftest.h"

#include <string.h>

static long create(const char *name, __u32 kind)
{
	struct epf_create c = { .size = sizeof(c) };

	c.params = test_locked_params(name, kind, 700);
	c.shape.ge.segment_bits = 1 << 14;
	c.shape.ge.epochs = 5;
	c.shape.ge.bits = 10;
	if (kind == EPF_KIND_LANES) {
		c.params = test_params(name, 1024, 2, 10, 700);
		memset(&c.shape, 0, sizeof(c.shape));
	}
	return test_ioctl(test_dev, EPF_IOC_CREATE, &c);
}

static void use(const char *name)
{
	int fd = test_open(name);

	test_demand(fd >= 0);
	test_insert(fd, 1, 0, 300);
	test_demand(test_count(fd, 1, 0, 300) == 300);
	close(fd);
}

static long begin(const char *name)
{
	int fd = test_open(name);
	long err = fd < 0 ? fd : test_snap_begin(fd, EPF_PIN_MAX_NS, NULL);

	return err ? err : test_destroy(name, EPF_DESTROY_FORCE);
}

int main(int argc, char **argv)
{
	const char *what = argc == 3 ? argv[1] : "";
	bool lanes = !strcmp(what, "lanes"), makes = lanes || !strcmp(what, "create");
	bool holds = !strcmp(what, "snapshot");
	long err;
	char c;

	test_demand(argc == 3);
	test_dev = epf_dev_open();
	test_demand(test_dev >= 0);
	if (makes)
		err = create(argv[2], lanes ? EPF_KIND_LANES : EPF_KIND_GE);
	else
		err = holds ? begin(argv[2]) : test_destroy(argv[2], 0);
	if (err >= 0 && makes)
		use(argv[2]);
	puts(err < 0 ? strerror(-err) : "ready");
	fflush(stdout);
	while (holds && err >= 0 && read(0, &c, 1) > 0)
		;
	return err < 0;
}
