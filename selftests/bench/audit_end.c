// SPDX-License-Identifier: GPL-2.0
/*
 * audit_end: epfctl audit from end to end on digests in a file, compared with
 * the bare engine on the same mapped file and snapshot. A report; it asserts
 * only that both give the same bitmap.
 *
 * usage: audit_end EPFCTL DIRECTORY [M_DIGESTS [MIB]]    (100 70)
 *
 * It makes the files in DIRECTORY and removes them at the end; they are in the
 * page cache. The engine has the snapshot in memory in the form that
 * epf_audit_choose() prefers. epfctl begins from nothing: it checks and counts
 * the snapshot and writes the bitmap.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include <audit.h>
#include <snap.h>

#include "../clock.h"
#include "../median.h"

#define RUNS 3
#define EPOCH 43 /* any */
#define CHUNK (1u << 16)

static char snapshot[PATH_MAX], digests[PATH_MAX], bitmap[PATH_MAX];

static void need(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "error: %s\n", what);
	exit(2);
}

/* As in audit_bench: three of eight positions set. */
static __u64 word(__u64 n)
{
	__u64 a = epf_word(n, 1), b = epf_word(n, 2);

	return (a & (b | epf_rotl(b, 23)) & ~EPF_TAG_MASK) | epf_lane_tag(EPOCH, n % EPF_LANES);
}

/* An epf_snap_fill_fn. @ctx: MiB. */
static int fill(void *ctx, int fd, struct epf_snap_header *h)
{
	static const struct epf_key_desc unknown;
	static __u64 chunk[CHUNK];
	__u64 words = *(const __u64 *)ctx << 20 >> 3;
	XXH3_state_t *sum = XXH3_createState();
	__u64 at, i;

	need(sum != NULL, "no memory");
	XXH3_64bits_reset(sum);
	epf_snap_describe(h, &unknown);
	for (at = 0; at < words; at += CHUNK) {
		for (i = 0; i < CHUNK; i++)
			chunk[i] = word(at + i);
		need(!epf_snap_put(fd, sum, chunk, sizeof(chunk), h->header_bytes + at * 8),
		     "the snapshot cannot be written");
	}
	*h = (struct epf_snap_header){
		.magic = EPF_SNAP_MAGIC,
		.version = EPF_SNAP_VERSION,
		.header_bytes = sizeof(*h),
		.epoch_begin = EPOCH,
		.epoch_end = EPOCH,
		.lines_xxh3 = XXH3_64bits_digest(sum),
		.params = { .name = "bench",
			    .lines_per_key = 1,
			    .bits_per_key = 5,
			    .nr_lines = words / EPF_LANES,
			    .window_inserts = words,
			    .budget_ppt = EPF_RATE_ONE,
			    .limit_ppt = EPF_RATE_ONE },
	};
	XXH3_freeState(sum);
	return epf_snap_finish(fd, h, &unknown);
}

static void make_files(__u64 n, __u64 mib)
{
	static __u64 chunk[CHUNK];
	FILE *f = fopen(digests, "w");
	__u64 at, i;

	need(!epf_snap_write(snapshot, fill, &mib, NULL), "no snapshot");
	need(f != NULL, "the digests cannot be written");
	for (at = 0; at < n; at += CHUNK) {
		for (i = 0; i < CHUNK; i++)
			chunk[i] = epf_word(at + i, 3);
		need(fwrite(chunk, sizeof(chunk), 1, f) == 1, "the digests cannot be written");
	}
	need(!fclose(f), "the digests cannot be written");
}

/* Return: keys per second. */
static double bare(const struct epf_column *c, const struct epf_view *v, const struct epf_engine *e,
		   struct epf_answer *a)
{
	double t = wall_s();

	need(!e->query(v, &c->keys, a), "the engine does not answer");
	return (double)c->keys.n / (wall_s() - t);
}

static double whole(const char *epfctl, __u64 n)
{
	double t = wall_s();
	pid_t pid = fork();
	int status;

	if (!pid) {
		need(freopen("/dev/null", "w", stdout) != NULL, "no /dev/null");
		execl(epfctl, epfctl, "audit", snapshot, digests, "--format", "column", "--digests",
		      "--no-agent", "-b", bitmap, NULL);
		_exit(127);
	}
	need(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "epfctl audit failed");
	return (double)n / (wall_s() - t);
}

static void same(const struct epf_answer *a, size_t bytes)
{
	int fd = open(bitmap, O_RDONLY);
	char *got = malloc(bytes);

	need(fd >= 0 && got && read(fd, got, bytes) == (ssize_t)bytes &&
		     XXH3_64bits(got, bytes) == a->bitmap_xxh3,
	     "bitmaps differ");
	free(got);
	close(fd);
}

static void compare(const char *epfctl, __u64 mib)
{
	double engine[RUNS], tool[RUNS], ratio[RUNS];
	struct epf_answer a = { 0 };
	enum epf_snap_fault fault;
	struct epf_snap_file file;
	struct epf_column c;
	struct epf_choice choice;
	struct epf_view v;
	int r;

	need(!epf_snap_open(snapshot, &file, NULL, NULL, &fault) && !epf_view_snap(&v, &file) &&
		     !epf_column_open(&c, digests, 0),
	     "the files cannot be opened");
	epf_audit_choose(&choice, &v, c.keys.n, true, 0, NULL);
	need(!choice.settle || !epf_view_settle(&v), "no memory");
	a.bitmap = calloc(1, c.keys.n / 8);
	need(a.bitmap != NULL, "no memory");
	for (r = 0; r < RUNS; r++) {
		engine[r] = bare(&c, &v, choice.engine, &a);
		tool[r] = whole(epfctl, c.keys.n);
		ratio[r] = tool[r] / engine[r];
		same(&a, c.keys.n / 8);
	}
	median(engine, RUNS);
	median(tool, RUNS);
	median(ratio, RUNS);
	printf("%4llu MiB  %llu M digests  bare %s %6.1f M keys/s  epfctl audit %6.1f M keys/s  ratio %4.2f\n",
	       mib, c.keys.n / 1000000, choice.engine->name, engine[RUNS / 2] / 1e6,
	       tool[RUNS / 2] / 1e6, ratio[RUNS / 2]);
}

int main(int argc, char **argv)
{
	__u64 n = argc > 3 ? strtoull(argv[3], NULL, 10) : 100;
	__u64 mib = argc > 4 ? strtoull(argv[4], NULL, 10) : 70;
	struct rusage use;

	need(argc > 2 && n && mib, "usage: audit_end EPFCTL DIRECTORY "
				   "[M_DIGESTS [MIB]]");
	snprintf(snapshot, sizeof(snapshot), "%s/end.epf", argv[2]);
	snprintf(digests, sizeof(digests), "%s/end.digests", argv[2]);
	snprintf(bitmap, sizeof(bitmap), "%s/end.bitmap", argv[2]);
	make_files(n * 1000000 / CHUNK * CHUNK + CHUNK, mib);
	compare(argv[1], mib);
	getrusage(RUSAGE_CHILDREN, &use);
	printf("%4llu MiB  epfctl's peak resident memory, with what it has mapped: %ld MiB\n", mib,
	       use.ru_maxrss >> 10);
	unlink(snapshot);
	unlink(digests);
	unlink(bitmap);
	return 0;
}
