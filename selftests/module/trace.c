// SPDX-License-Identifier: GPL-2.0
/* Tracepoints: they exist, they fire, and they report the right numbers. */
#include "epftest.h"

#include <stdlib.h>

#define TRACING "/sys/kernel/tracing/"
#define EVENTS TRACING "events/epochfilter/"

static const char *const names[] = { "epf_create", "epf_destroy", "epf_rotate", "epf_saturate" };

/* Return: the last line of the trace that contains @text, or "". */
static const char *traced(const char *text)
{
	static char found[512];
	FILE *file = fopen(TRACING "trace", "re");
	char line[512];

	test_demand(file);
	found[0] = 0;
	while (fgets(line, sizeof(line), file))
		if (line[0] != '#' && strstr(line, text))
			strcpy(found, line);
	fclose(file);
	return found;
}

static bool says(const char *event, const char *format, ...)
{
	char text[256], at[64];
	const char *line;
	va_list args;

	snprintf(at, sizeof(at), ": %s: ", event);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	line = traced(at);
	if (strstr(line, text))
		return true;
	printf("# wanted %s, got %s\n", text, line[0] ? line : "nothing");
	return false;
}

static void try_events(void)
{
	struct epf_params p = test_params("mod-trace", 64, 2, 8, 1 << 20);
	struct epf_info info;
	int fd;

	p.limit_ppt = EPF_RATE_ONE / 1000;
	fd = test_make(&p);
	info = test_info(fd);
	tap_ok(says("epf_create", "id=%u kind=0 nr_lines=64 bytes=%llu", info.id,
		    info.memory_bytes),
	       "epf_create tells id and size");
	test_insert(fd, 1, 0, 100);
	test_demand(!epf_filter_rotate(fd, 1, NULL));
	tap_ok(says("epf_rotate", "id=%u epoch=%llu inserts=", info.id, info.epoch + 1),
	       "epf_rotate tells the new epoch");
	test_insert(fd, 2, 0, 20000);
	test_demand(test_wait(test_saturated, &fd));
	tap_ok(says("epf_saturate", "id=%u saturated=1 fpr_ppt=", info.id) &&
		       says("epf_saturate", "limit_ppt=%llu", p.limit_ppt),
	       "epf_saturate tells the estimate and the limit");
	test_demand(!epf_filter_clear(fd));
	tap_ok(says("epf_saturate", "id=%u saturated=0", info.id), "and recovery");
	test_demand(!test_destroy("mod-trace", EPF_DESTROY_FORCE));
	tap_ok(says("epf_destroy", "id=%u held=1", info.id), "epf_destroy tells that it was held");
	close(fd);
	fd = test_make(&p);
	info = test_info(fd);
	close(fd);
	test_demand(!test_destroy("mod-trace", 0));
	tap_ok(says("epf_destroy", "id=%u held=0", info.id), "or that not");
}

#define EVENT_POINTS 6

static bool rotation_told(int fd, __u64 inserts)
{
	struct epf_info info = test_info(fd);

	test_insert(fd, 1, 0, inserts);
	test_demand(!epf_filter_rotate(fd, 1, NULL));
	return says("epf_rotate", "id=%u epoch=%llu inserts=%llu ", info.id, info.epoch + 1,
		    inserts);
}

/* Contents from another filter are traced under this filter's name. */
#define SWAP_POINTS 2
static void try_swap(void)
{
	int a = test_make_plain("mod-trace", 700);
	int b = test_make_plain("mod-trace-2", 700);

	test_demand(!epf_dev_swap(test_dev, "mod-trace", "mod-trace-2"));
	tap_ok(rotation_told(a, 37), "after a swap epf_rotate tells the id of the filter");
	tap_ok(rotation_told(b, 38), "and of the other");
	close(a);
	close(b);
}

int main(void)
{
	char path[128];
	size_t i;

	test_begin(ARRAY_LEN(names) + EVENT_POINTS + SWAP_POINTS);
	for (i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), EVENTS "%s/format", names[i]);
		tap_ok(!access(path, R_OK), "tracepoint %s", names[i]);
	}
	test_demand(!test_write(TRACING "trace", "\n"));
	test_demand(!test_write(EVENTS "enable", "1"));
	try_events();
	try_swap();
	test_write(EVENTS "enable", "0");
	return test_end();
}
