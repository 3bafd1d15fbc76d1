// SPDX-License-Identifier: GPL-2.0
/*
 * Property: kernels give the same lines as the core, bit by bit: insertions and
 * rotations, journals, emptied lanes, counts.
 *
 * usage: lines [--few]    (--few: a tenth)
 */
#include "cards.h"

#include <epf/journal.h>

#define EPOCHS 73 /* 8 .. 80 */
#define LAST (EPF_EPOCH_FIRST + EPOCHS - 1)

static unsigned int every = 1; /* one of this many cases is tried */
static unsigned int nr_cases;

static bool skipped(void)
{
	return nr_cases++ % every;
}

static size_t bytes_of(const struct sim *s)
{
	return epf_geom_lines(&s->f.geom) * EPF_LINE_BYTES;
}

/* Return: other lines of the same shape, of exactly so many bytes. */
static struct epf_line *more_lines(const struct sim *s, bool copy)
{
	struct epf_line *line = must(aligned_alloc(EPF_LINE_BYTES, bytes_of(s)));

	if (copy)
		memcpy(line, s->f.line, bytes_of(s));
	else
		memset(line, 0, bytes_of(s));
	return line;
}

/* Are the lines equal after the core has emptied stale lanes? */
static bool equal_settled(const struct sim *s, const struct epf_line *line)
{
	struct epf_lanes f = s->f;
	bool equal;

	f.line = more_lines(s, true);
	epf_lanes_scan(&f, 0, epf_geom_lines(&f.geom));
	equal = !memcmp(f.line, line, bytes_of(s));
	free(f.line);
	return equal;
}

/* ------------------------------------------ insertions, rotations ---- */

/* Make the epoch's keys, of @len bytes or digests, at @key; insert them into the core
 * too.
 */
static void make_keys(struct sim *s, struct epf_cu_keys *k, unsigned char *key)
{
	__u64 i, d;

	for (i = 0; i < k->n * k->len; i++)
		key[i] = (unsigned char)epf_word(s->epoch * 1000003 + i, 5);
	for (i = 0; i < k->n; i++) {
		d = k->len ? epf_digest(&k->hash, key + i * k->len, k->len) :
			     sim_digest(s, s->epoch, i);
		if (!k->len)
			memcpy(key + i * 8, &d, 8);
		sim_insert(s, d);
	}
}

/* One epoch: cleared where it begins, then filled. */
static const char *replay_epoch(struct sim *s, struct epf_cu_lines *f)
{
	static const __u32 lens[] = { 0, 13, 8, 0, 21 };
	__u32 len = lens[s->epoch % 5];
	/* at times an epoch without keys */
	__u64 n = s->epoch % 7 == 3 ? 0 : s->per_epoch + s->epoch % 3;
	unsigned char *key = must(malloc(n * (len ? len : 8) + !n));
	struct epf_cu_keys k = cards_keys(s, key, n, len);
	cudaError_t err;

	make_keys(s, &k, key);
	err = epf_cu_clear(f, s->epoch, NULL);
	f->epoch = s->epoch;
	if (!err)
		err = epf_cu_insert(f, &k, s->epoch, NULL);
	free(key);
	if (s->epoch % 16 == 0) /* in the core, too: a tag matches again after 32 epochs */
		epf_lanes_scan(&s->f, 0, epf_geom_lines(&s->f.geom));
	if (err)
		return "error";
	return equal_settled(s, f->line) ? NULL : "other lines";
}

static void claim_replay(unsigned int shape)
{
	const char *wrong = NULL;
	struct epf_cu_lines f;
	struct sim s;

	if (skipped())
		return;
	cards_init(&s, shape, 65);
	f = cards_lines(&s);
	f.line = more_lines(&s, false);
	for (; s.epoch <= LAST && !wrong; s.epoch++)
		wrong = replay_epoch(&s, &f);
	free(f.line);
	sim_free(&s);
	tap_sound(wrong, "L=%u k=%u: insertions and rotations, epochs 8 to 80", shapes[shape].parts,
		  shapes[shape].k);
}

/* --------------------------------------------------------- journals ---- */

struct journal {
	struct epf_journal_record *record;
	__u64 n;
};

static void put(struct journal *j, __u64 kind, __u64 epoch, __u64 value, __u64 more)
{
	struct epf_journal_record *r = &j->record[j->n];

	r->seq = (j->n + 4096) << EPF_JOURNAL_KIND_BITS | kind;
	r->epoch = epoch;
	r->value = value;
	r->more = more;
	j->n++;
}

/* An insertion during which @back epochs ended has its key in the lanes of all of them:
 * it is in time for the first ones, and @s is at the last.
 */
static void insert_late(struct sim *s, struct journal *j, __u64 digest, __u64 back)
{
	__u64 now = s->epoch, lanes = 0;
	struct epf_probe p;
	bool grew = false;

	epf_probe(&s->f, digest, &p);
	for (s->epoch = now - back; s->epoch <= now; s->epoch++)
		epf_lanes_insert_into(&s->f, &p, &lanes, &grew);
	s->epoch = now;
	put(j, EPF_JOURNAL_INSERT, now, digest, lanes);
}

/* Record everything in epoch @s->epoch. Late insertions do not go back to a lane that
 * has been reused since.
 */
static void record_epoch(struct sim *s, struct journal *j)
{
	__u32 n;

	put(j, EPF_JOURNAL_ROTATE, s->epoch, 0xdeadbeef, ~0ULL);
	for (n = 0; n < s->per_epoch; n++) {
		__u64 back = n % 5 ? 0 : n % 7;

		if (s->epoch - EPF_EPOCH_FIRST < back)
			back = 0;
		insert_late(s, j, sim_digest(s, s->epoch, n), back);
	}
	put(j, EPF_JOURNAL_BUSY, s->epoch, sim_digest(s, s->epoch, 77), 0xff);
	put(j, EPF_JOURNAL_NONE, s->epoch, sim_digest(s, s->epoch, 78), 0xff);
}

static void shuffle(struct journal *j)
{
	struct epf_journal_record r;
	__u64 i, with;

	for (i = j->n; i-- > 1;) {
		with = epf_word(i, 3) % (i + 1);
		r = j->record[i];
		j->record[i] = j->record[with];
		j->record[with] = r;
	}
}

/* Apply the @nr epochs up to @last, all at once and in any order. */
static const char *applied(unsigned int shape, __u64 last, __u64 nr)
{
	struct journal j = { .n = 0 };
	struct epf_cu_lines f;
	const char *wrong = NULL;
	struct sim s;
	void *exact;

	cards_init(&s, shape, 65);
	s.epoch = last - nr < EPF_EPOCH_FIRST ? EPF_EPOCH_FIRST : last - nr;
	j.record = must(malloc((nr + 1) * (s.per_epoch + 3) * sizeof(*j.record)));
	for (; s.epoch <= last; s.epoch++)
		record_epoch(&s, &j);
	s.epoch = last;
	shuffle(&j);
	exact = must(malloc(j.n * sizeof(*j.record)));
	memcpy(exact, j.record, j.n * sizeof(*j.record));
	f = cards_lines(&s);
	f.line = more_lines(&s, false);
	if (epf_cu_apply(&f, exact, j.n, NULL))
		wrong = "error";
	else if (!equal_settled(&s, f.line))
		wrong = "other lines";
	free(exact);
	free(j.record);
	free(f.line);
	sim_free(&s);
	return wrong;
}

static void claim_journals(void)
{
	const char *wrong = NULL;
	unsigned int shape;
	__u64 epoch;

	for (shape = 0; shape < SHAPES; shape += 2)
		for (epoch = EPF_EPOCH_FIRST; epoch <= LAST; epoch += 5)
			if (!wrong && !skipped())
				wrong = applied(shape, epoch, 3 + epoch % 11);
	tap_sound(wrong, "journals of 3 to 13 epochs, in any order");
}

/* ---------------------------------------------------------- emptied ---- */

static const char *settled(unsigned int shape, __u64 epoch)
{
	struct epf_cu_lines f;
	const char *wrong = NULL;
	struct sim s;

	cards_init(&s, shape, 67 + epoch % 3 * 400); /* up to a few rounds of the grid */
	sim_noise(&s, epoch);
	memset(s.f.line, 0, 5 * EPF_LINE_BYTES); /* also zeros, whose tag is 0 */
	f = cards_lines(&s);
	f.line = more_lines(&s, true);
	if (epf_cu_settle(&f, NULL))
		wrong = "error";
	else if (!equal_settled(&s, f.line))
		wrong = "other lines";
	free(f.line);
	sim_free(&s);
	return wrong;
}

static const char *cleared(unsigned int shape, __u64 epoch)
{
	struct epf_cu_lines f;
	const char *wrong = NULL;
	struct sim s;
	__u64 i;

	cards_init(&s, shape, 67);
	sim_noise(&s, epoch - 1);
	f = cards_lines(&s);
	f.line = more_lines(&s, true);
	f.epoch = epoch < EPF_EPOCH_FIRST + 1 ? epoch : epoch - 1;
	if (epf_cu_clear(&f, epoch, NULL))
		wrong = "error";
	for (i = 0; i < epf_geom_lines(&s.f.geom); i++)
		s.f.line[i].lane[epoch % 8] = 0;
	if (!wrong && memcmp(s.f.line, f.line, bytes_of(&s)))
		wrong = "other lines";
	free(f.line);
	sim_free(&s);
	return wrong;
}

static void claim_emptied(void)
{
	const char *settle = NULL, *clear = NULL;
	__u64 e;

	for (e = EPF_EPOCH_FIRST; e <= LAST; e++) {
		if (skipped())
			continue;
		if (!settle)
			settle = settled(e % SHAPES, e);
		if (!clear)
			clear = cleared(e % SHAPES, e);
	}
	tap_sound(settle, "stale lanes are emptied, of any words");
	tap_sound(clear, "one lane is emptied, no other");
}

/* ---------------------------------------------------------- counted ---- */

/* Count bit by bit. */
static void count(const struct sim *s, unsigned long long *nr)
{
	__u64 i;
	__u32 l, bit, set;

	for (i = 0; i < s->params.nr_lines; i++)
		for (l = 0; l < EPF_LANES; l++) {
			__u64 v = s->f.line[i].lane[l];
			__u64 e = s->epoch - (s->epoch - l) % 8;

			for (set = 0, bit = 0; bit < 62; bit++)
				set += v >> 62 == e / 8 % 4 ? v >> bit & 1 : 0;
			nr[(i / s->f.geom.part_lines * 8 + l) * 63 + set]++;
		}
}

/* Compare with libepf's own count. */
static bool as_estimated(const struct sim *s, const unsigned long long *nr)
{
	struct epf_view v = sim_view(s);
	struct epf_estimate e;
	__u32 age, part, set;

	if (epf_view_estimate(&v, 1, &e))
		return false;
	for (age = 0; age < EPF_LANES; age++) {
		__u32 l = (s->epoch - age) & 7;

		for (part = 0; part < s->f.geom.parts; part++)
			for (set = 0; set < 63; set++) {
				__u32 i = (part * 8 + l) * 63 + set;

				e.bits_of[age] -= set * (nr[i] - i);
			}
		if (e.bits_of[age])
			return false;
	}
	return true;
}

static const char *tallied(unsigned int shape, __u64 epoch)
{
	unsigned long long *nr = must(malloc(EPF_CU_TALLY * sizeof(*nr)));
	unsigned long long *want = must(malloc(EPF_CU_TALLY * sizeof(*nr)));
	struct epf_cu_lines f;
	const char *wrong = NULL;
	struct sim s;
	unsigned int i;

	cards_init(&s, shape, 64 + epoch % 400);
	cards_fill(&s, epoch, epoch % 2);
	for (i = 0; i < EPF_CU_TALLY; i++)
		nr[i] = want[i] = i;
	count(&s, want);
	f = cards_lines(&s);
	if (epf_cu_tally(&f, nr, NULL))
		wrong = "error";
	else if (memcmp(nr, want, EPF_CU_TALLY * sizeof(*nr)))
		wrong = "other numbers";
	else if (!as_estimated(&s, nr))
		wrong = "not what libepf counts";
	free(nr);
	free(want);
	sim_free(&s);
	return wrong;
}

static void claim_tally(void)
{
	const char *wrong = NULL;
	unsigned int shape;
	__u64 e;

	for (shape = 0; shape < SHAPES; shape++)
		for (e = EPF_EPOCH_FIRST + shape; e <= LAST; e += 6)
			if (!wrong && !skipped())
				wrong = tallied(shape, e);
	tap_sound(wrong, "lanes by part, place and positions");
}

/* ----------------------------------------------------------- errors ---- */

static bool all_refuse(struct epf_cu_lines f, const struct epf_cu_keys *k)
{
	struct epf_journal_record r = { 0 };
	unsigned long long nr[EPF_CU_TALLY];

	return epf_cu_clear(&f, 20, NULL) == cudaErrorInvalidValue &&
	       epf_cu_settle(&f, NULL) == cudaErrorInvalidValue &&
	       epf_cu_insert(&f, k, 20, NULL) == cudaErrorInvalidValue &&
	       epf_cu_apply(&f, &r, 1, NULL) == cudaErrorInvalidValue &&
	       epf_cu_tally(&f, nr, NULL) == cudaErrorInvalidValue;
}

static bool insert_refuses(const struct epf_cu_lines *f, const struct epf_cu_keys *k, __u64 epoch)
{
	return epf_cu_insert(f, k, epoch, NULL) == cudaErrorInvalidValue;
}

static void claim_errors(void)
{
	__u64 digest = 1;
	struct epf_cu_lines f, bad;
	struct epf_cu_keys k, none = { NULL, 0, 0, { { 0 }, 0, { 0 } } };
	struct sim s;

	cards_init(&s, 5, 65);
	s.epoch = 20;
	f = cards_lines(&s);
	k = cards_keys(&s, &digest, 1, 0);
	bad = f;
	bad.line = NULL;
	tap_ok(all_refuse(bad, &k), "no lines: invalid value");
	bad = f;
	bad.geom.parts = 0;
	tap_ok(all_refuse(bad, &k), "no shape: invalid value");
	tap_ok(insert_refuses(&f, &k, 21) && insert_refuses(&f, &k, 12) &&
		       insert_refuses(&f, &k, 7),
	       "into an epoch that is not retained: invalid value");
	tap_ok(epf_cu_clear(&f, 7, NULL) == cudaErrorInvalidValue &&
		       epf_cu_tally(&f, NULL, NULL) == cudaErrorInvalidValue &&
		       epf_cu_apply(&f, NULL, 1, NULL) == cudaErrorInvalidValue,
	       "no epoch, no counters, no records: invalid value");
	tap_ok(!epf_cu_insert(&f, &none, 20, NULL) && !epf_cu_apply(&f, NULL, 0, NULL) &&
		       equal_settled(&s, f.line),
	       "no keys, no records: nothing");
	sim_free(&s);
}

int main(int argc, char **argv)
{
	unsigned int shape;

	if (argc > 1 && !strcmp(argv[1], "--few"))
		every = 5;
	tap_plan((int)((SHAPES + every - 1) / every) + 4 + 5);
	for (shape = 0; shape < SHAPES; shape++)
		claim_replay(shape);
	claim_journals();
	claim_emptied();
	claim_tally();
	claim_errors();
	return tap_end();
}
