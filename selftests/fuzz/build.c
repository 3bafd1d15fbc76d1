// SPDX-License-Identifier: GPL-2.0
/*
 * 'epfctl build' of files of records, packed or not, whole or damaged. Each record that another
 * reading of the file gives is inserted, or left out for a reason; each key of the window is in
 * the snapshot; a failure leaves nothing.
 *
 * Input: options, see take_ask(), in four bytes; the rest is the file, see pack.h.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "epfctl/build.c"

#include "libepf/audit.h"
#include "out_dir.h"
#include "pack.h"
#include "sink.h"

#define FILE_MAX 8192
#define MOST (1u << 16) /* records */
#define SEC 1000000000ULL

/* Replaces the tool's function (ld --wrap), because signals are for libFuzzer. */
void __wrap_catch_signals(void);
void __wrap_catch_signals(void)
{
}

static struct stamped all[MOST];
static unsigned int nr_all;

static void take_ask(struct input *in, struct build_ask *ask)
{
	static const char *const fields[] = { NULL, "2", "2,3", "a" };
	static const char *const forms[] = { NULL, "s", "ms", "us", "ns", "%Y-%m-%d %H:%M:%S" };
	__u8 a = take(in), b = take(in), c = take(in), d = take(in);
	struct rec_spec *s = &ask->records;
	bool text;

	s->format = a % 7 == REC_COLUMN ? REC_AUTO : a % 7;
	text = s->format == REC_CSV || s->format == REC_JSON;
	s->stamps = true;
	s->pkt.key = EPF_PKT_FLOW;
	s->as_filter = b & 1;
	s->skip_bad = b & 2;
	ask->keep_going = b & 4;
	ask->first_seen = b & 8;
	ask->align = b & 16;
	ask->force = c & 32;
	ask->until_ns = b & 32 ? 1000 * SEC : 0;
	ask->nr_files = b & 64 ? 2 : 1;
	s->header = s->format == REC_CSV && b & 128;
	ask->hash = c % 3;
	ask->plan_request.time_ns = c & 8 ? SEC : 600 * SEC;
	ask->plan_request.pps = c & 16 ? 100 : 1;
	ask->plan_request.budget = 1e-3;
	if (!text)
		return;
	s->fields = fields[d & 3];
	s->digest = d & 4;
	s->stamp = s->format == REC_JSON || s->header ? "t" : "1";
	s->stamp_form = forms[(d >> 3) % 6];
}

/* All records, by the readers but without the order that build puts them in. */
static void read_all(const struct build_ask *ask, const struct epf_hash *hash, int fd)
{
	static struct rec_batch b;
	struct rec_source *s;
	struct rec_error e;
	unsigned int i;
	int err;

	nr_all = 0;
	lseek(fd, 0, SEEK_SET);
	law(!rec_open(&s, fd, &ask->records, hash, &e), "what was read can be read again");
	while (!(err = rec_next(s, &b, &e)) && !b.end)
		for (i = 0; i < b.n && nr_all < MOST; i++)
			all[nr_all++] = (struct stamped){ b.ns[i], b.digest[i] };
	law(!err || ask->keep_going, "damage is an error");
	rec_close(s);
}

static void all_present(const struct epf_snap_file *f, __u64 from, __u64 to)
{
	static unsigned char ages[MOST], bitmap[MOST / 8];
	static __u64 digests[MOST];
	struct epf_keys keys = { .data = digests };
	struct epf_answer a = { .bitmap = bitmap, .ages = ages, .threads = 1 };
	struct epf_view v;
	unsigned int i;

	for (i = 0; i < nr_all; i++)
		if (all[i].ns >= from && all[i].ns <= to)
			digests[keys.n++] = all[i].digest;
	if (!keys.n)
		return;
	law(!epf_view_snap(&v, f), "it can be asked");
	law(!epf_engine_find("scalar")->query(&v, &keys, &a), "and answers");
	for (i = 0; i < keys.n; i++)
		law(bitmap[i / 8] >> (i % 8) & 1, "a key of the window is there");
	epf_view_close(&v);
}

static void judge(const struct build_ask *ask, const struct build_result *r, int fd)
{
	__u64 after = 0, window;
	enum epf_snap_fault fault;
	struct epf_snap_file f;
	struct epf_hash hash;
	unsigned int i;

	law(!epf_snap_open(ask->out, &f, NULL, NULL, &fault), "what was written is a snapshot");
	epf_hash_init(&hash, f.header.key[0], f.header.key[1], f.header.params.hash);
	window = f.header.params.window_ns;
	read_all(ask, &hash, fd);
	law(r->count.records == nr_all, "records are counted");
	law(r->inserted + r->expired + r->after == nr_all,
	    "each record is inserted, too old or too late");
	for (i = 0; i < nr_all; i++)
		after += ask->until_ns && all[i].ns > ask->until_ns;
	law(!ask->until_ns || after == r->after, "later records are left out");
	if (!ask->first_seen)
		all_present(&f, r->end_ns > window ? r->end_ns - window : 0, r->end_ns);
	epf_snap_close(&f);
}

static int file_of(char file_path[32], const __u8 *bytes, size_t n)
{
	int fd = memfd_create("records", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
	snprintf(file_path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const __u8 *data, size_t size)
{
	static __u8 bytes[4 * FILE_MAX];
	struct input in = { data, size };
	char path[2][32], out[80], *files[2] = { path[0], path[1] };
	struct build_ask ask = { .files = files, .name = "f", .out = out };
	struct build_result r = { 0 };
	int fd[2], ret;
	size_t n;

	if (size > FILE_MAX)
		return 0;
	if (!dir[0]) {
		begin_dir();
		setenv("EPF_WIRETAP", "/nowhere", 1);
	}
	snprintf(out, sizeof(out), "%s/out", dir);
	take_ask(&in, &ask);
	fd[1] = file_of(path[1], in.p, in.left);
	n = pack_rest(&in, bytes, sizeof(bytes));
	fd[0] = file_of(path[0], bytes, n);
	sink_clear();
	ret = build_run(&ask, &r);
	law(!ret || ret == EXIT_FAIL || ret == EXIT_ABSENT, "done, failed or above the limit");
	law(ret != EXIT_ABSENT || (!ask.force && build_saturated(&r)), "only above the limit");
	law(ret || ask.force || !build_saturated(&r), "above the limit only by --force");
	law(!ret == !sink_failed(), "a failure prints an error, and only that");
	if (ret)
		law(!entries(), "a failure leaves nothing");
	else if (ask.nr_files == 1)
		judge(&ask, &r, fd[0]);
	unlink(out);
	law(!entries(), "nothing else is written");
	close(fd[0]);
	close(fd[1]);
	return 0;
}
