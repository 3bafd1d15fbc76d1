// SPDX-License-Identifier: GPL-2.0
/*
 * Files of records of any format. The records do not depend on the sizes of reads; no
 * call does much more work than REC_WORK; skip_bad does not change the records read
 * before an error; an error is one line, and permanent.
 *
 * Input: format; how, see take_spec(); bytes that come at a time; the rest is
 * the file, see pack.h.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "epf/keydesc.h"

#include "pack.h"

static ssize_t piece(int fd, void *to, size_t room);

#define read piece
#include "records/stream.c"
#undef read
#include "records/records.c"

#define FILE_MAX 16384

static size_t piece_bytes;

/* Work for a line, a packet or a template, which is not divided. */
#define REC_LAST (2u << 20)

static ssize_t piece(int fd, void *to, size_t room)
{
	return read(fd, to, room < piece_bytes ? room : piece_bytes);
}

/**
 * struct got - the result of reading
 * @err: of the first call that failed, or 0
 * @count: counts at the end
 * @sum: sum of digests, bytes and stamps of all records, in order
 */
struct got {
	int err;
	struct rec_count count;
	__u64 sum;
};

#define ODD 35 /* of a byte / 7 */

/* Options that may not go together. */
static void take_odd(struct input *in, struct rec_spec *spec)
{
	static const char *const fields[] = {
		"0", "1,,2", "65537", "1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8", "a", "a..b", NULL, "1"
	};
	static const char *const forms[] = { NULL, "s", "no", "%" };
	__u8 a = take(in), b = take(in), c = take(in);

	spec->fields = fields[a & 7];
	spec->digest = a & 8;
	spec->hex = a & 16;
	spec->header = a & 32;
	spec->stamps = a & 64;
	spec->as_filter = a & 128;
	spec->stamp = b & 1 ? fields[b >> 1 & 7] : NULL;
	spec->stamp_form = b & 1 ? forms[b >> 4 & 3] : NULL;
	spec->separator = b & 64 ? '"' : b & 128 ? ';' : 0;
	spec->multiline = b & 128;
	spec->pkt.key = c % 8;
	spec->pkt.flags = (__u16)(c / 8) << 3;
	spec->part.from = c & 1 ? 3 : 0;
	spec->window_max = c & 2 ? 1 << 16 : 0;
}

/* Take only options that matter for a format, so that no input is wasted. */
static void take_spec(struct input *in, struct rec_spec *spec)
{
	static const char *const fields[] = { NULL, "1", "2,1", "a,b.c" };
	__u8 first = take(in), how = take(in);
	enum rec_format format = first % 7;

	memset(spec, 0, sizeof(*spec));
	spec->format = format == REC_COLUMN ? REC_AUTO : format;
	spec->skip_bad = how & 8;
	spec->pkt.key = EPF_PKT_FLOW;
	if (first / 7 == ODD) {
		spec->format = format;
		take_odd(in, spec);
		return;
	}
	if (spec->format == REC_PCAP)
		spec->pkt.key = (how >> 6) % 3;
	spec->stamps = spec->format >= REC_NFDUMP && how & 16;
	if (spec->format != REC_CSV && spec->format != REC_JSON)
		return;
	spec->fields = fields[how & 3];
	spec->hex = how & 4;
	spec->digest = (how & 0x14) == 0x10;
	spec->header = spec->format == REC_CSV && how & 32;
	spec->multiline = spec->format == REC_CSV && spec->fields && how & 64;
}

static void add(struct got *g, const struct rec_spec *spec, const struct rec_batch *b)
{
	unsigned int i;

	for (i = 0; i < b->n; i++) {
		const struct epf_hash h = { { g->sum, b->digest[i] }, 0, { 0 } };

		g->sum = epf_digest(&h, b->raw[i].data, (__u32)b->raw[i].len) +
			 (spec->stamps ? b->ns[i] : 0);
	}
}

static void judge(int err, const struct rec_error *e)
{
	const char *c = e->text;

	law(err < 0 && *c, "an error is told");
	for (; *c; c++)
		law((*c >= ' ' && *c != 0x7f) || *c < 0, "in one line");
}

static void read_all(struct rec_source *source, const struct rec_spec *spec, struct got *g)
{
	static struct rec_batch batch;
	struct rec_error e = { "" };
	__u64 n = 0, work = 0;

	while (!(g->err = rec_next(source, &batch, &e)) && !batch.end) {
		law(batch.n <= REC_BATCH, "a batch is no larger than that");
		law(rec_count(source).work - work <= REC_WORK + REC_LAST,
		    "a call ends with its budget");
		work = rec_count(source).work;
		add(g, spec, &batch);
		n += batch.n;
	}
	g->count = rec_count(source);
	law(g->count.records == n, "records are counted");
	if (g->err) {
		judge(g->err, &e);
		law(rec_next(source, &batch, &e) == g->err, "an error stays");
	}
}

/* What a reader tells about itself. */
static void describe(const struct rec_source *source, const struct rec_spec *spec)
{
	enum rec_format format = rec_source_format(source), again;
	struct epf_key_desc desc = rec_source_desc(source);

	law(rec_format_named(rec_format_name(format), &again) && again == format,
	    "a format has a name");
	law(spec->format == REC_AUTO || format == spec->format, "the format that was asked for");
	law(!epf_key_desc_check(&desc), "its keys can be described");
	law(!rec_prologue(source).len || rec_prologue(source).data, "a prologue, or none");
	rec_note(source);
}

static struct got read_file(int fd, const struct rec_spec *spec, size_t pieces)
{
	const struct epf_hash hash = { { 5, 6 }, 0, { 0 } };
	struct rec_error e = { "" };
	struct got g = { .err = 0 };
	struct rec_source *source;

	lseek(fd, 0, SEEK_SET);
	piece_bytes = pieces;
	g.err = rec_open(&source, fd, spec, &hash, &e);
	law(!g.err == !!source, "a reader, or an error");
	if (g.err) {
		judge(g.err, &e);
		return g;
	}
	describe(source, spec);
	read_all(source, spec, &g);
	rec_close(source);
	return g;
}

static bool same(const struct got *a, const struct got *b)
{
	return a->err == b->err && a->sum == b->sum && a->count.records == b->count.records &&
	       a->count.keyless == b->count.keyless && a->count.bad == b->count.bad &&
	       (a->err || a->count.bytes == b->count.bytes);
}

int LLVMFuzzerTestOneInput(const __u8 *data, size_t size)
{
	static int fd = -1;
	static __u8 file[4 * FILE_MAX];
	struct input in = { data, size };
	struct got whole, part, other;
	struct rec_spec spec;
	size_t pieces, n;

	if (size > FILE_MAX)
		return 0;
	if (fd < 0)
		fd = memfd_create("records", 0);
	take_spec(&in, &spec);
	pieces = take(&in) + 1u;
	n = pack_rest(&in, file, sizeof(file));
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, file, n, 0) != (ssize_t)n)
		abort();
	whole = read_file(fd, &spec, 1 << 24);
	part = read_file(fd, &spec, pieces);
	law(same(&whole, &part), "pieces do not matter");
	spec.skip_bad = !spec.skip_bad;
	other = read_file(fd, &spec, 1 << 24);
	if (!whole.count.bad && !other.count.bad && (spec.skip_bad ? !whole.err : !other.err))
		law(same(&whole, &other), "without bad records skip_bad changes nothing");
	return 0;
}
