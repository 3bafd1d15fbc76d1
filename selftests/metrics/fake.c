// SPDX-License-Identifier: GPL-2.0
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libepf/epf.h"

#define MANY 1024
#define FDS_MAX 4096

struct filter {
	struct epf_info info;
	int open_err, info_err; /* errors to return instead */
};

static struct filter filters[MANY];
static __u32 nr_filters;
static int dev_err, list_err;
static __u32 id_of_fd[FDS_MAX]; /* one more than the index; 0: none */
static __u64 state = 1;

/* Return: a random number of any magnitude. */
static __u64 any(void)
{
	const char *seed = state == 1 ? getenv("EPF_SEED") : NULL;
	__u64 z;

	if (seed)
		state += strtoull(seed, NULL, 0) << 32;
	z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	z ^= z >> 31;
	return z >> (z & 63);
}

static struct epf_info *add(const char *name)
{
	struct epf_info *i = &filters[nr_filters++].info;

	memset(i, 0, sizeof(*i));
	memcpy(i->params.name, name, strnlen(name, sizeof(i->params.name)));
	i->id = nr_filters;
	return i;
}

static void randomize(struct epf_info *i)
{
	int age;

	i->flags = (__u32)any() & 3;
	i->users = (__u32)any();
	i->params.window_inserts = any() & 1 ? any() : 0;
	i->params.window_ns = any() & 1 ? any() : 0;
	i->params.budget_ppt = any() % (EPF_RATE_ONE + 1);
	i->params.limit_ppt = any() % (EPF_RATE_ONE + 1);
	i->epoch = any();
	i->memory_bytes = any();
	i->covered_inserts = any();
	i->covered_ns = any();
	i->fpr_ppt = any() % (EPF_RATE_ONE + 1);
	i->age_ns = any();
	i->stats = (struct epf_stats){ any(), any(), any(), any(), any(), any(), any(), any() };
	i->slices = any() & 1 ? (__u32)any() : 0;
	i->waits = (__u32)any();
	i->window_epochs = (__u32)any() % 128;
	for (age = 0; age < EPF_EPOCHS; age++) {
		i->epochs[age].epoch = any() % 4;
		i->epochs[age].fill_ppt = any() % (EPF_RATE_ONE + 1);
	}
}

static void case_kinds(void)
{
	char name[EPF_NAME_LEN];
	__u32 kind;

	for (kind = 0; kind <= EPF_KIND_MAX + 1; kind++) {
		snprintf(name, sizeof(name), "kind-%u", kind);
		randomize(add(name));
		filters[kind].info.params.kind = (__u8)kind;
	}
}

static void case_ones(void)
{
	struct epf_info *i = add("");

	memset(i, 0xff, sizeof(*i));
	strcpy(i->params.name, "ones");
}

static void case_many(void)
{
	char name[EPF_NAME_LEN];

	while (nr_filters < MANY) {
		snprintf(name, sizeof(name), "filter.%u_with-a-long.name", nr_filters);
		randomize(add(name));
	}
}

/* Names with all bytes except NUL, and one of full length. */
static void case_names(void)
{
	char name[EPF_NAME_LEN + 1];
	int first, i;

	for (first = 1; first < 256; first += 15) {
		memset(name, 0, sizeof(name));
		snprintf(name, sizeof(name), "%03d-", first);
		for (i = 0; i < 15 && first + i < 256; i++)
			name[4 + i] = (char)(first + i);
		randomize(add(name));
	}
	memset(name, 'x', EPF_NAME_LEN);
	randomize(add(name));
	/* the byte after the name does not end a string */
	filters[nr_filters - 1].info.params.kind = EPF_KIND_CHAIN;
}

static void case_vanishing(void)
{
	case_kinds();
	filters[1].open_err = -ENOENT;
	filters[3].open_err = -ENODEV;
	filters[4].info_err = -ENODEV;
	filters[nr_filters - 1].open_err = -ENOENT;
}

bool fake_case(const char *name)
{
	nr_filters = 0;
	if (!strcmp(name, "kinds"))
		case_kinds();
	else if (!strcmp(name, "zeros"))
		add("zeros");
	else if (!strcmp(name, "ones"))
		case_ones();
	else if (!strcmp(name, "many"))
		case_many();
	else if (!strcmp(name, "names"))
		case_names();
	else if (!strcmp(name, "vanishing"))
		case_vanishing();
	else if (!strcmp(name, "away"))
		dev_err = -ENOENT;
	else if (!strcmp(name, "closed"))
		dev_err = -EACCES;
	else if (!strcmp(name, "no_descriptor"))
		dev_err = -EMFILE;
	else if (!strcmp(name, "no_list"))
		list_err = -ENOMEM;
	else if (!strcmp(name, "no_filter"))
		case_kinds(), filters[2].open_err = -EMFILE;
	else if (!strcmp(name, "no_info"))
		case_kinds(), filters[2].info_err = -EFAULT;
	else
		return !strcmp(name, "none");
	return true;
}

static void print_epochs(const struct epf_info *i)
{
	int age;

	printf(", \"fill\": [");
	for (age = 0; age < EPF_EPOCHS; age++)
		printf("%s[%llu, %llu]", age ? ", " : "", i->epochs[age].epoch,
		       i->epochs[age].fill_ppt);
	printf("]}");
}

static void print_filter(const struct epf_info *i)
{
	const struct epf_stats *s = &i->stats;
	size_t at;

	printf("{\"name\": \"");
	for (at = 0; at < EPF_NAME_LEN && i->params.name[at]; at++)
		printf("%02x", (unsigned char)i->params.name[at]);
	printf("\", \"id\": %u, \"kind\": %u, \"flags\": %u, \"users\": %u, "
	       "\"window_inserts\": %llu, \"window_ns\": %llu, "
	       "\"budget_ppt\": %llu, \"limit_ppt\": %llu, \"epoch\": %llu, "
	       "\"memory_bytes\": %llu, \"covered_inserts\": %llu, "
	       "\"covered_ns\": %llu, \"fpr_ppt\": %llu, \"age_ns\": %llu, "
	       "\"slices\": %u, \"waits\": %u, \"window_epochs\": %u",
	       i->id, i->params.kind, i->flags, i->users, i->params.window_inserts,
	       i->params.window_ns, i->params.budget_ppt, i->params.limit_ppt, i->epoch,
	       i->memory_bytes, i->covered_inserts, i->covered_ns, i->fpr_ppt, i->age_ns, i->slices,
	       i->waits, i->window_epochs);
	printf(", \"inserts\": %llu, \"hits\": %llu, \"misses\": %llu, "
	       "\"rotations\": %llu, \"delayed\": %llu, \"saturations\": %llu, "
	       "\"failed_open\": %llu, \"scanned\": %llu",
	       s->inserts, s->hits, s->misses, s->rotations, s->delayed, s->saturations,
	       s->failed_open, s->scanned);
	print_epochs(i);
}

void fake_print(void)
{
	const char *comma = "";
	__u32 i;

	printf("[");
	for (i = 0; i < nr_filters; i++) {
		if (filters[i].open_err || filters[i].info_err)
			continue;
		printf("%s\n", comma);
		print_filter(&filters[i].info);
		comma = ",";
	}
	printf("]\n");
}

int fake_open_filters(void)
{
	int fd, open = 0;

	for (fd = 0; fd < FDS_MAX; fd++)
		open += id_of_fd[fd] && fcntl(fd, F_GETFD) >= 0;
	return open;
}

/* The functions of libepf, for the case. */

int epf_dev_open(void)
{
	return dev_err ? dev_err : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int epf_dev_list(int dev, __u32 **ids)
{
	__u32 i;

	*ids = NULL;
	if (list_err)
		return list_err;
	*ids = calloc(nr_filters + 1, sizeof(**ids));
	for (i = 0; i < nr_filters; i++)
		(*ids)[i] = i + 1;
	return (int)nr_filters;
}

int epf_dev_filter_id(int dev, __u32 id)
{
	int fd;

	if (filters[id - 1].open_err)
		return filters[id - 1].open_err;
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fd >= FDS_MAX)
		return -EMFILE;
	id_of_fd[fd] = id;
	return fd;
}

int epf_filter_info(int filter, struct epf_info *info)
{
	const struct filter *f = &filters[id_of_fd[filter] - 1];

	*info = f->info;
	return f->info_err;
}
