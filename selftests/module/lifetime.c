// SPDX-License-Identifier: GPL-2.0
/*
 * The lifetime of filters: ids and names, references, refused and forced destruction,
 * and exchanged contents.
 */
#include "epftest.h"

#include <epf/lanes.h>
#include <fcntl.h>
#include <stdlib.h>

#define KEYS 500u

static long destroy_id(__u32 id, __u32 flags)
{
	struct epf_ref_args a = { .size = sizeof(a), .flags = flags, .name.id = id };

	return test_ioctl(test_dev, EPF_IOC_DESTROY, &a);
}

#define NAME_POINTS 8
static void try_names(void)
{
	struct epf_params p = test_params("mod-one", 64, 2, 10, 700);
	__u32 one, two;
	int fd, fd2;

	test_demand(!epf_dev_create(test_dev, &p, NULL, &one));
	strcpy(p.name, "mod-two");
	test_demand(!epf_dev_create(test_dev, &p, NULL, &two));
	tap_ok(one && two > one, "ids grow and are never 0");
	fd = test_open("mod-one");
	fd2 = epf_dev_filter_id(test_dev, one);
	tap_ok(fd >= 0 && fd2 >= 0 && test_info(fd).id == one && test_info(fd2).id == one &&
		       !strcmp(test_info(fd2).params.name, "mod-one"),
	       "a name and an id open the same filter");
	tap_ok(fcntl(fd, F_GETFD) & FD_CLOEXEC, "descriptors are closed on exec");
	test_is(test_info(fd).users, 2, "both descriptors are users");
	close(fd2);
	test_is(destroy_id(one, 0), -EBUSY, "DESTROY of an open filter: EBUSY");
	test_insert(fd, 1, 0, 10);
	tap_ok(test_count(fd, 1, 0, 10) == 10, "which goes on working");
	close(fd);
	test_is(destroy_id(one, 0), 0, "DESTROY by id once it is closed");
	tap_ok(test_open("mod-one") == -ENOENT && epf_dev_filter_id(test_dev, one) == -ENOENT &&
		       destroy_id(one, 0) == -ENOENT && test_open("mod-two") >= 0,
	       "that one is gone, no other");
}

#define KEY_POINTS 3
static void try_keys(void)
{
	struct epf_params p = test_params("mod-key", 64, 2, 10, 700);
	__u64 key[2], other[2];
	int fd = test_make(&p);

	test_demand(!epf_filter_key(fd, key));
	tap_ok(key[0] == test_key[0] && key[1] == test_key[1], "a hash key given is taken");
	close(fd);
	test_demand(!test_destroy(p.name, 0));
	test_demand(!epf_dev_create(test_dev, &p, NULL, NULL));
	fd = test_open(p.name);
	test_demand(!epf_filter_key(fd, key));
	strcpy(p.name, "mod-key-2");
	test_demand(!epf_dev_create(test_dev, &p, NULL, NULL));
	close(fd);
	fd = test_open(p.name);
	test_demand(!epf_filter_key(fd, other));
	tap_ok(key[0] && key[1] && other[0] && other[1], "without one it is random");
	tap_ok(key[0] != other[0] && key[1] != other[1], "and another for each filter");
	close(fd);
}

/* Set positions of the lane of epoch @e in the @lines lines of @fd, all of which the
 * estimate samples.
 */
static __u64 set_positions(int fd, __u64 e, __u64 lines)
{
	const struct epf_line *line = mmap(NULL, lines * sizeof(*line), PROT_READ, MAP_SHARED, fd,
					   0);
	__u64 i, sum = 0;

	test_demand(line != MAP_FAILED);
	for (i = 0; i < lines; i++) {
		__u64 lane = line[i].lane[e & 7];

		if ((lane & EPF_TAG_MASK) == epf_lane_tag(e, e & 7))
			sum += epf_popcount(lane & ~EPF_TAG_MASK);
	}
	munmap((void *)line, lines * sizeof(*line));
	return sum;
}

/* Return: number of epochs whose reported fill is too high or too low. */
static int fills_off(int fd, const struct epf_info *info, __u64 lines)
{
	int age, off = 0;

	for (age = 0; age < EPF_EPOCHS; age++) {
		const struct epf_epoch_info *e = &info->epochs[age];
		__u64 set = set_positions(fd, e->epoch, lines);

		off += !age != !set || e->fill_ppt != set * EPF_RATE_ONE / (lines * EPF_LANE_BITS);
	}
	return off;
}

#define INFO_POINTS 8
static void try_info(void)
{
	struct epf_params p = test_params("mod-info", 96, 2, 8, 700);
	__u64 now = test_now();
	struct epf_info i;
	int fd;

	p.budget_ppt = 5;
	p.limit_ppt = EPF_RATE_ONE / 7; /* a limit that a few keys do not reach */
	fd = test_make(&p);
	i = test_info(fd);
	tap_ok(!memcmp(&i.params, &p, sizeof(p)), "parameters are as they were given");
	tap_ok(i.epoch == i.epochs[0].epoch && !i.epochs[1].epoch && !i.epochs[7].epoch &&
		       !i.flags && i.users == 1,
	       "a new filter has one epoch");
	tap_ok(i.memory_bytes >= 96 * 64 && i.memory_bytes < 3 * PAGE + 8192,
	       "96 lines take %llu bytes in all", i.memory_bytes);
	test_sleep(20 * MS);
	i = test_info(fd);
	tap_ok(i.age_ns >= 20 * MS && i.age_ns < test_now() - now && i.covered_ns == i.age_ns &&
		       i.epochs[0].age_ns == i.age_ns,
	       "its age grows, and all of it is covered");
	test_insert(fd, 1, 0, 50);
	test_count(fd, 1, 0, 60);
	i = test_info(fd);
	tap_ok(i.stats.inserts == 50 && i.stats.hits + i.stats.misses == 60 && i.stats.hits >= 50 &&
		       i.epochs[0].inserts == 50,
	       "insertions and verdicts are counted");
	test_insert(fd, 1, 0, 700);
	i = test_info(fd);
	tap_ok(i.epochs[1].inserts == 100 && i.epochs[7].inserts == 100 &&
		       i.epochs[0].inserts == 50 && i.epoch == i.epochs[7].epoch + 7 &&
		       i.stats.rotations == 7 && i.covered_inserts == 750 &&
		       i.covered_ns == i.age_ns,
	       "epochs come youngest first, the window is covered");
	test_demand(!epf_filter_rotate(fd, 1, NULL)); /* this makes a new estimate */
	i = test_info(fd);
	tap_ok(i.covered_inserts == 650 && i.covered_ns == i.epochs[7].age_ns &&
		       i.covered_ns < i.age_ns,
	       "what has left it is not covered any more");
	test_is(fills_off(fd, &i, 96), 0, "each epoch is as full as it is");
	close(fd);
}

#define FORCE_POINTS 6
static void try_force(void)
{
	struct epf_rotate_args r = { .size = sizeof(r), .count = 1 };
	struct epf_key_args k = { .size = sizeof(k) };
	struct epf_info i = { .size = sizeof(i) };
	int fd = test_make_plain("mod-force", 700);
	__u32 id = test_info(fd).id;
	int fd2;

	test_insert(fd, 1, 0, KEYS);
	test_is(test_destroy("mod-force", 0), -EBUSY, "held: EBUSY");
	test_is(test_destroy("mod-force", EPF_DESTROY_FORCE), 0, "by force");
	tap_ok(test_count(fd, 1, 0, 1) == -ENODEV &&
		       test_digests(fd, EPF_IOC_INSERT, 1, 0, 1) == -ENODEV &&
		       test_digests(fd, EPF_IOC_TEST_AND_INSERT, 1, 0, 1) == -ENODEV,
	       "batches: ENODEV");
	tap_ok(test_ioctl(fd, EPF_IOC_INFO, &i) == -ENODEV &&
		       test_ioctl(fd, EPF_IOC_ROTATE, &r) == -ENODEV &&
		       test_ioctl(fd, EPF_IOC_CLEAR, NULL) == -ENODEV &&
		       test_ioctl(fd, EPF_IOC_KEY, &k) == -ENODEV,
	       "INFO, ROTATE, CLEAR, KEY: ENODEV");
	fd2 = test_make_plain("mod-force", 700);
	tap_ok(test_info(fd2).id > id && !test_count(fd2, 1, 0, KEYS) &&
		       test_count(fd, 1, 0, 1) == -ENODEV,
	       "the name is free for another, with another id");
	close(fd);
	test_insert(fd2, 1, 0, KEYS);
	test_is(test_count(fd2, 1, 0, KEYS), KEYS,
		"which does not mind the end of the old descriptor");
	close(fd2);
}

static long swap(const char *a, const char *b)
{
	return epf_dev_swap(test_dev, a, b);
}

#define SWAP_POINTS 11
static void try_swap(void)
{
	struct epf_params p = test_params("mod-swap-b", 256, 1, 7, 1 << 20);
	int a = test_make_plain("mod-swap-a", 1 << 20), b;
	struct epf_info ia, ib, na, nb;
	__u64 ka[2], kb[2], key[2];

	p.hash = EPF_HASH_SIPHASH24;
	close(test_make(&p)); /* with the same hash key */
	test_demand(!test_destroy(p.name, 0));
	test_demand(!epf_dev_create(test_dev, &p, NULL, NULL));
	b = test_open(p.name);
	test_insert(a, 1, 0, KEYS);
	test_insert(b, 2, 0, 100);
	test_demand(!epf_filter_rotate(b, 2, NULL));
	ia = test_info(a);
	ib = test_info(b);
	test_demand(!epf_filter_key(a, ka) && !epf_filter_key(b, kb));
	test_is(swap("mod-swap-a", "mod-swap-b"), 0, "SWAP of two open filters");
	na = test_info(a);
	nb = test_info(b);
	tap_ok(na.id == ia.id && nb.id == ib.id && !strcmp(na.params.name, "mod-swap-a") &&
		       !strcmp(nb.params.name, "mod-swap-b"),
	       "names and ids stay");
	tap_ok(na.params.nr_lines == 256 && na.params.hash == p.hash && nb.params.nr_lines == 1024,
	       "parameters are exchanged");
	tap_ok(na.epoch == ib.epoch && nb.epoch == ia.epoch && na.stats.inserts == 100 &&
		       nb.stats.inserts == KEYS && na.stats.rotations == 2,
	       "so are epochs and statistics");
	test_demand(!epf_filter_key(a, key));
	tap_ok(key[0] == kb[0] && key[1] == kb[1], "so are hash keys");
	tap_ok(test_count(b, 1, 0, KEYS) == KEYS && test_count(a, 2, 0, 100) == 100 &&
		       test_count(a, 1, 0, KEYS) < KEYS / 2,
	       "descriptors from before find what was exchanged");
	test_demand(!swap("mod-swap-b", "mod-swap-a"));
	tap_ok(test_count(a, 1, 0, KEYS) == KEYS && test_info(a).params.nr_lines == 1024,
	       "and back");
	test_is(swap("mod-swap-a", "mod-swap-a"), -EINVAL, "SWAP with itself: EINVAL");
	test_is(swap("mod-swap-a", "mod-none"), -ENOENT, "SWAP with nobody: ENOENT");
	test_is(swap("mod/swap", "mod-swap-a"), -EINVAL, "SWAP with a bad name: EINVAL");
	test_is(test_count(a, 1, 0, KEYS), KEYS, "those change nothing");
	close(a);
	close(b);
}

/* State of the window that the swap preserves: the window of a continues in b. */
#define WINDOW_POINTS 2
static void try_swap_window(void)
{
	int a = test_make_plain("mod-swap-a", 700);
	int b = test_make_plain("mod-swap-b", 70000);

	test_insert(a, 1, 0, 350);
	test_demand(!swap("mod-swap-a", "mod-swap-b"));
	test_insert(b, 1, 350, 350);
	test_is(test_count(b, 1, 0, 700), 700, "the window goes on where the contents are");
	test_insert(b, 2, 0, 800);
	test_is(test_count(b, 1, 0, 700), 0, "and comes to its end there");
	close(a);
	close(b);
}

int main(void)
{
	test_begin(NAME_POINTS + KEY_POINTS + INFO_POINTS + FORCE_POINTS + SWAP_POINTS +
		   WINDOW_POINTS);
	try_names();
	try_keys();
	try_info();
	try_force();
	try_swap();
	try_swap_window();
	return test_end();
}
