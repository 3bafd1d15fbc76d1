/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The benchmark of the card: what its files share. Every number is from this
 * run; a record is one line of JSON, which report.py makes a table of.
 *
 * The rivals are here in their best form, with the core's hashing: classic
 * guarded epochs, and counting in 4 bits.
 */
#ifndef EPF_BENCH_H
#define EPF_BENCH_H

#include "../launch.h"
#include "../kernels.h"

#include <epf/ge.h>
#include <epf/journal.h>

#define MB 1000000ULL
#define BENCH_THREADS 256u /* of a block */

/* ---- run.cu: memory, time, records ---- */

/**
 * struct bench - this run
 * @emulated: sizes are tiny; times tell nothing
 * @room: bytes that filters may take
 * @lines: these bytes: of filters, and what gathers read
 * @keys: digests that are asked for, @nr_keys of them
 * @bitmap: answers
 * @ages: answers, a byte each
 * @count: answers, eight numbers that are added to
 * @sms: multiprocessors; of fewer, grids are for those
 * @stream: of all that is timed
 */
struct bench {
	bool emulated;
	__u64 room;
	void *lines;
	__u64 *keys;
	__u64 nr_keys;
	__u32 *bitmap;
	__u8 *ages;
	unsigned long long *count;
	__u32 sms;
	cudaStream_t stream;
};

extern struct bench bench;

/* Ends the run with one line where @err is an error. */
void must(cudaError_t err, const char *what);
/* Likewise where a law is broken: rates of wrong answers are worth nothing. */
void law(bool good, const char *what);

void *card_memory(__u64 bytes, const char *what);
/* Of filters that are tried: bytes, ascending; 0 is the end. */
const __u64 *sizes(void);
/* Blocks of BENCH_THREADS, as many as run at once, or @n need; @resident: of this
 * kernel, as EPF_RESIDENT() tells. With more of them a second round would leave
 * most of the card idle.
 */
__u32 blocks_for(__u64 n, __u32 resident);

/* Launch @kernel for @n things; as the backend does it for its own. */
#define BENCH_LAUNCH(kernel, n, ...)                                          \
	EPF_LAUNCH(kernel,                                                    \
		   blocks_for(n, EPF_RESIDENT(kernel, BENCH_THREADS)),        \
		   BENCH_THREADS, bench.stream, __VA_ARGS__)

/* Work that is timed: asynchronous on bench.stream. */
typedef cudaError_t (*work_fn)(void *self);

/* Seconds that @work takes; the median of a few, after one that is not timed. */
double seconds_of(work_fn work, void *self);

/* A span of bench.stream, for work that may not be repeated. */
void span_begin(void);
double span_end(void);

/**
 * record() - one line of JSON on standard output
 * @part: what it is about
 * @format: pairs of a key and a value, in the order of the arguments: "s:name
 *	d:keys_per_s": s is a string, d a double
 */
void record(const char *part, const char *format, ...);

/* ---- keys.cu: digests, made on the card ---- */

/* Key @i of @seed; keys of two seeds or numbers are different ones. */
EPF_FN __u64 bench_key(__u64 seed, __u64 i)
{
	return epf_word(seed + i, 1);
}

#define SEED_LIVE 0ULL		  /* inserted: numbers below 2^62 */
#define SEED_ABSENT (1ULL << 62)  /* never inserted */
#define SEED_GATHER (1ULL << 63)

/* @n keys of @seed, from number @first on. */
cudaError_t keys_make(__u64 *to, __u64 seed, __u64 first, __u64 n);
/* @n keys drawn from the @of live ones from @first on. */
cudaError_t keys_draw(__u64 *to, __u64 first, __u64 of, __u64 n);
/* Positions set of lane @i of noise, of all lines: each with chance 3/8. */
EPF_FN __u64 noise_word(__u64 i)
{
	__u64 a = epf_word(i, 1), b = epf_word(i, 2);

	return a & (b | epf_rotl(b, 23)) & ~EPF_TAG_MASK;
}

/* Lines as if in use at @epoch. */
cudaError_t lines_noise(struct epf_line *to, __u64 lines, __u64 epoch);
/* Present keys in an answer for @n, counted on the host. */
__u64 present_in(const __u32 *bitmap, __u64 n);

/* ---- gather.cu: what the memory can do ---- */

/* Lines of @line_bytes a second, at random from the first @bytes of
 * bench.lines: the best of several forms, whose name is told.
 */
double gather_rate(__u32 line_bytes, __u64 bytes, const char **form);
/* The rate that gathers of this line and size had; measured when first asked. */
double ceiling(__u32 line_bytes, __u64 bytes);

/* ---- classic.cu, counting.cu: rivals ---- */

#define GE_EPOCHS 8u /* r */
#define GE_BITS 8u   /* k */
#define CELLS_EPOCHS 7u

/* How an answer is found; all give the same. */
enum ge_form {
	GE_ALL,	  /* every probe of every segment */
	GE_EARLY, /* segment by segment, until one position is not set */
	GE_WAVE,  /* one position of all segments that are left, then the next */
	GE_CELLS, /* k cells, each of all epochs: EPF_GE_TRANSPOSED */
};

/* @f: its shape has GE_BITS and GE_EPOCHS; for GE_CELLS, CELLS_EPOCHS. */
cudaError_t ge_query(const struct epf_ge *f, enum ge_form form,
		     const __u64 *digest, __u64 n, __u32 *bitmap);
cudaError_t ge_insert(const struct epf_ge *f, const __u64 *digest, __u64 n);
/* As epf_ge_rotate(). */
cudaError_t ge_rotate(struct epf_ge *f);

/**
 * struct counting - 4-bit counters, eight a word, the lowest first: the bytes
 *	that user/libepf/kinds/cbf.h has
 * @word: (@cells + 7) / 8 words
 */
struct counting {
	__u32 *word;
	__u64 cells;
	__u32 bits;
};

cudaError_t counting_query(const struct counting *f, const __u64 *digest,
			   __u64 n, __u32 *bitmap);
/* @by: 1: insert; -1: delete what was inserted. */
cudaError_t counting_add(const struct counting *f, const __u64 *digest,
			 __u64 n, int by);

/* ---- filter.cu: filters side by side ---- */

struct filter;

/**
 * struct kind - of the filters that are compared
 * @name: of it
 * @bits: memory for a key of the window
 * @epochs: that make the window; 0: keys are deleted when they leave it
 * @k: positions of a key
 * @lanes: it is ours
 * @form: ways to ask, of which the first is asked where one will do; NULL: end
 * @make: empty, in bench.lines
 * @insert: into the current epoch
 * @rotate: the next epoch begins; NULL: there are none
 * @query: in the way numbered @form
 */
struct kind {
	const char *name;
	double bits;
	__u32 epochs;
	__u32 k;
	bool lanes;
	const char *form[4];
	void (*make)(struct filter *f);
	cudaError_t (*insert)(struct filter *f, const __u64 *digest, __u64 n);
	cudaError_t (*rotate)(struct filter *f);
	cudaError_t (*query)(struct filter *f, int form, const __u64 *digest,
			     __u64 n, __u32 *bitmap);
};

#define NR_KINDS 5

/* Lanes at 14 bits first. */
extern const struct kind kinds[NR_KINDS];

/**
 * struct filter - one that is filled and asked
 * @kind: of it
 * @window: keys
 * @bytes: of memory
 * @epoch_keys: of an epoch
 * @left: keys until the current one ends
 * @inserted: keys so far
 */
struct filter {
	const struct kind *kind;
	__u64 window;
	__u64 bytes;
	__u64 epoch_keys;
	__u64 left;
	__u64 inserted;
	union {
		struct epf_cu_lines lanes;
		struct epf_ge ge;
		struct counting counting;
	};
};

void filter_make(struct filter *f, const struct kind *kind, __u64 window);
/* The next @n keys, which end epochs as Algorithm 1 says: before the insertion
 * that is one too many. What is older than the window by then is deleted from
 * counters, for which @digest[-window] has to be there.
 */
cudaError_t filter_insert(struct filter *f, const __u64 *digest, __u64 n);
/* Insertions until all epochs are full. */
__u64 filter_full(const struct filter *f);
/* Ask in all ways for @n live keys and @n absent ones, and record it, with
 * @insert_s seconds for all insertions.
 */
void filter_ask(struct filter *f, const char *part, __u64 n, double insert_s);

/* ---- the parts of a run ---- */

void run_gathers(void);	 /* gather.cu */
void run_queries(void);	 /* queries.cu */
void run_rivals(void);	 /* filter.cu: at equal bytes and at equal error */
void run_paper(void);	 /* paper.cu */
void run_whole(void);	 /* whole.cu: fill, fresh keys, epochs */
void run_link(void);	 /* link.cu: from the host's memory */

#endif /* EPF_BENCH_H */
