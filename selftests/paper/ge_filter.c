// SPDX-License-Identifier: GPL-2.0
/* The structures that the guarded epoch paper compares, with equal memory. */
#define EPF_PRIVATE

#include "ge.h"

const char *const structure_file[] = { "cbf", "sbf", "ge4", "ge8", "gebl8", "gebl8_distinct" };
const char *const structure_name[] = {
	"Counting BF (4-bit)",
	"Stable BF",
	"GE r=4",
	"GE r=8",
	"Blocked GE r=8",
	"Blocked GE r=8 distinct offsets",
};

/* Parameters of the stable filter: see the notes of its rows. */
enum { SBF_BITS = 3, SBF_DECREMENTS = 54, SBF_MAX = 14 };
enum { BLOCK_BITS = 256, COUNTER_BITS = 4 };

unsigned int structure_epochs(enum structure kind)
{
	return !is_guarded(kind) ? 0 : kind == GE4 ? 4 : 8;
}

/* k = round(s/l ln 2), so that half of the bits are set when an epoch ends. */
static __u32 half_full(double positions, double keys, __u32 most)
{
	double k = round(M_LN2 * positions / keys);

	return (__u32)fmin(fmax(k, 1), most);
}

static void *zeroed(__u64 words)
{
	__u64 *word = words ? aligned_alloc(64, words * sizeof(*word)) : NULL;

	if (!word) {
		fprintf(stderr, "ge: no memory for a filter\n");
		exit(1);
	}
	return memset(word, 0, words * sizeof(*word));
}

static void make_ge(struct filter *f, double segment, __u32 layout)
{
	struct epf_ge_shape s = {
		.segment_bits = (__u64)segment,
		.epochs = structure_epochs(f->kind),
		.bits = half_full(segment, (double)f->epoch_keys, EPF_GE_BITS_MAX),
		.layout = layout,
	};

	f->word = zeroed(epf_ge_words(&s));
	f->ge.word = f->word;
	epf_ge_init(&f->ge, &s);
}

static void make_gebl(struct filter *f, double segment)
{
	struct epf_gebl_shape s = {
		.blocks = (__u64)(segment / BLOCK_BITS),
		.block_bits = BLOCK_BITS,
		.epochs = structure_epochs(f->kind),
		.bits = half_full(segment, (double)f->epoch_keys, EPF_GEBL_BITS_MAX),
		.offsets = f->kind == DISTINCT ? EPF_GEBL_DISTINCT : EPF_GEBL_DOUBLE,
	};

	f->word = zeroed(epf_gebl_words(&s));
	f->gebl.word = f->word;
	epf_gebl_init(&f->gebl, &s);
}

static void make_baseline(struct filter *f, __u64 window, __u64 cells)
{
	struct epf_cbf_shape cbf = { cells, window, half_full((double)cells, (double)window, 64) };
	struct epf_sbf_shape sbf = { cells, SBF_BITS, SBF_DECREMENTS, SBF_MAX };
	int ret = f->kind == CBF ? epf_cbf_init(&f->cbf, &cbf) : epf_sbf_init(&f->sbf, &sbf);

	if (ret) {
		fprintf(stderr, "ge: no baseline: %s\n", strerror(-ret));
		exit(1);
	}
}

void filter_make(struct filter *f, enum structure kind, __u64 window, double bits, __u32 layout)
{
	unsigned int r = structure_epochs(kind);
	double memory = bits * (double)window;
	double segment = floor(memory / (r + 1));

	memset(f, 0, sizeof(*f));
	f->kind = kind;
	if (!is_guarded(kind)) {
		make_baseline(f, window, (__u64)(memory / COUNTER_BITS));
		return;
	}
	f->epoch_keys = (window + r - 1) / r;
	f->left = f->epoch_keys;
	if (kind == GE4 || kind == GE8)
		make_ge(f, segment, layout);
	else
		make_gebl(f, segment);
}

void filter_free(struct filter *f)
{
	if (f->kind == CBF)
		epf_cbf_free(&f->cbf);
	else if (f->kind == SBF)
		epf_sbf_free(&f->sbf);
	free(f->word);
}

static void rotate(struct filter *f)
{
	if (f->kind == GE4 || f->kind == GE8)
		epf_ge_rotate(&f->ge);
	else
		epf_gebl_rotate(&f->gebl);
	f->left = f->epoch_keys;
}

void filter_insert(struct filter *f, __u64 digest)
{
	if (is_guarded(f->kind)) {
		if (!f->left)
			rotate(f);
		f->left--;
	}
	switch (f->kind) {
	case CBF:
		epf_cbf_insert(&f->cbf, digest);
		break;
	case SBF:
		epf_sbf_insert(&f->sbf, digest);
		break;
	case GE4:
	case GE8:
		epf_ge_insert(&f->ge, digest);
		break;
	default:
		epf_gebl_insert(&f->gebl, digest);
	}
}

bool filter_test(const struct filter *f, __u64 digest)
{
	switch (f->kind) {
	case CBF:
		return epf_cbf_test(&f->cbf, digest);
	case SBF:
		return epf_sbf_test(&f->sbf, digest);
	case GE4:
	case GE8:
		return epf_ge_test(&f->ge, digest) != EPF_ABSENT;
	default:
		return epf_gebl_test(&f->gebl, digest) != EPF_ABSENT;
	}
}

double filter_fpr(const struct filter *f, __u64 window)
{
	double keys = (double)f->epoch_keys;

	switch (f->kind) {
	case CBF:
		return epf_cbf_fpr(&f->cbf.shape, (double)window);
	case SBF:
		return epf_sbf_fpr(&f->sbf.shape);
	case GE4:
	case GE8:
		return epf_ge_fpr(&f->ge.shape, keys, keys);
	default:
		return epf_gebl_fpr(&f->gebl.shape, keys, keys);
	}
}

const char *filter_settings(const struct filter *f, char *text, size_t size)
{
	switch (f->kind) {
	case CBF:
		snprintf(text, size, "inferred: k=%u; %llu counters", f->cbf.shape.bits,
			 f->cbf.shape.cells);
		break;
	case SBF:
		snprintf(
			text, size,
			"inferred; not the only ones that fit: 4-bit cells; K=%u P=%u Max=%u; %llu cells",
			f->sbf.shape.bits, f->sbf.shape.decrements, f->sbf.shape.max,
			f->sbf.shape.cells);
		break;
	case GE4:
	case GE8:
		snprintf(text, size, "inferred: k=%u = round(s/l ln 2); s=%llu l=%llu",
			 f->ge.shape.bits, f->ge.shape.segment_bits, f->epoch_keys);
		break;
	default:
		snprintf(text, size, "%s: B=%u k=%u; %llu blocks; %s",
			 f->kind == DISTINCT ? "ours" : "inferred", f->gebl.shape.block_bits,
			 f->gebl.shape.bits, f->gebl.shape.blocks,
			 f->kind == DISTINCT ? "distinct offsets" :
					       "double hashing inside the block");
	}
	return text;
}
