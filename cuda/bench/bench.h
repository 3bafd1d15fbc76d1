/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Benchmark of the card: declarations shared by its files. Every number is
 * measured in this run. A record is one line of JSON; report.py makes tables of
 * them.
 *
 * The baselines are in their best form and use the core's hashing: classic
 * guarded epochs, and counting in 4 bits.
 */
#ifndef EPF_BENCH_H
#define EPF_BENCH_H

#include "../launch.h"
#include "../kernels.h"

#include <epf/ge.h>
#include <epf/journal.h>

#define MB 1000000ULL
#define BENCH_THREADS 256u /* threads of a block */

/* ---- run.cu: memory, time, records ---- */

/**
 * struct bench - state of this run
 * @emulated: sizes are tiny, and times mean nothing
 * @room: bytes that filters may take
 * @lines: these bytes, for filters and for gathers
 * @keys: digests to look up, @nr_keys of them
 * @bitmap: results
 * @ages: results, a byte each
 * @count: results, eight counters that kernels add to
 * @sms: multiprocessors that grids are made for
 * @stream: stream of all timed work
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

/* End the run with one line if @err is an error. */
void must(cudaError_t err, const char *what);
/* End the run likewise if a property does not hold, because rates of wrong
 * results mean nothing.
 */
void law(bool good, const char *what);

void *card_memory(__u64 bytes, const char *what);
/* Return: the sizes of filters to try, in bytes, ascending; 0 is the end. */
const __u64 *sizes(void);
/* Return: the number of blocks of BENCH_THREADS: as many as run at once, or
 * fewer if @n items need fewer. More blocks would leave most of the card idle
 * in a second round.
 * @resident: EPF_RESIDENT() of the kernel.
 */
__u32 blocks_for(__u64 n, __u32 resident);

/* Launch @kernel for @n items, as the backend launches its kernels. */
#define BENCH_LAUNCH(kernel, n, ...)                                                          \
	EPF_LAUNCH(kernel, blocks_for(n, EPF_RESIDENT(kernel, BENCH_THREADS)), BENCH_THREADS, \
		   bench.stream, __VA_ARGS__)

/* Work to be timed, asynchronous on bench.stream. */
typedef cudaError_t (*work_fn)(void *self);

/* Return: seconds that @work takes: the median of a few runs after one untimed run. */
double seconds_of(work_fn work, void *self);

/* Time a span of bench.stream, for work that cannot be repeated. */
void span_begin(void);
double span_end(void);

/**
 * record() - print one line of JSON on standard output
 * @part: subject of the record
 * @format: type and name of each argument in order, as in "s:name d:keys_per_s":
 *	s is a string, d a double
 */
void record(const char *part, const char *format, ...);

/* ---- keys.cu: digests, made on the card ---- */

/* Return: key @i of @seed. Keys of different seeds or numbers differ. */
EPF_FN __u64 bench_key(__u64 seed, __u64 i)
{
	return epf_word(seed + i, 1);
}

#define SEED_LIVE 0ULL           /* inserted: numbers below 2^62 */
#define SEED_ABSENT (1ULL << 62) /* never inserted */
#define SEED_GATHER (1ULL << 63)

/* Make @n keys of @seed, from number @first on. */
cudaError_t keys_make(__u64 *to, __u64 seed, __u64 first, __u64 n);
/* Draw @n keys from the @of live keys from number @first on. */
cudaError_t keys_draw(__u64 *to, __u64 first, __u64 of, __u64 n);
/* Return: the set positions of lane @i of the noise, where @i counts the lanes
 * of all lines. Each position is set with probability 3/8.
 */
EPF_FN __u64 noise_word(__u64 i)
{
	__u64 a = epf_word(i, 1), b = epf_word(i, 2);

	return a & (b | epf_rotl(b, 23)) & ~EPF_TAG_MASK;
}

/* Fill lines with noise, as if they were in use at @epoch. */
cudaError_t lines_noise(struct epf_line *to, __u64 lines, __u64 epoch);
/* Return: present keys in a bitmap of @n keys, counted on the host. */
__u64 present_in(const __u32 *bitmap, __u64 n);

/* ---- gather.cu: speed of the memory ---- */

/* Return: random lines of @line_bytes per second from the first @bytes of
 * bench.lines: the best of several forms, whose name goes to *@form.
 */
double gather_rate(__u32 line_bytes, __u64 bytes, const char **form);
/* Return: the rate of gathers for this line and size, measured at the first call. */
double ceiling(__u32 line_bytes, __u64 bytes);

/* ---- classic.cu, counting.cu: baselines ---- */

#define GE_EPOCHS 8u /* r */
#define GE_BITS 8u   /* k */
#define CELLS_EPOCHS 7u

/* How a lookup works; all forms give the same result. */
enum ge_form {
	GE_ALL,   /* all positions of all segments */
	GE_EARLY, /* segment by segment, each up to the first position not set */
	GE_WAVE,  /* one position in all segments still possible, then the next */
	GE_CELLS, /* k cells with the bits of all epochs: EPF_GE_TRANSPOSED */
};

/* @f must have GE_BITS and GE_EPOCHS, or CELLS_EPOCHS for GE_CELLS. */
cudaError_t ge_query(const struct epf_ge *f, enum ge_form form, const __u64 *digest, __u64 n,
		     __u32 *bitmap);
cudaError_t ge_insert(const struct epf_ge *f, const __u64 *digest, __u64 n);
/* Like epf_ge_rotate(). */
cudaError_t ge_rotate(struct epf_ge *f);

/**
 * struct counting - 4-bit counters, eight per word, the lowest first: the same
 *	bytes as in user/libepf/kinds/cbf.h
 * @word: (@cells + 7) / 8 words
 */
struct counting {
	__u32 *word;
	__u64 cells;
	__u32 bits;
};

cudaError_t counting_query(const struct counting *f, const __u64 *digest, __u64 n, __u32 *bitmap);
/* @by: 1: insert; -1: delete keys that were inserted.
 */
cudaError_t counting_add(const struct counting *f, const __u64 *digest, __u64 n, int by);

/* ---- filter.cu: comparison of filters ---- */

struct filter;

/**
 * struct kind - a kind of filter in the comparison
 * @name: its name
 * @bits: bits of memory per key of the window
 * @epochs: epochs of the window; 0: keys are deleted when they leave the window
 * @k: positions of a key
 * @lanes: a lanes filter of this project
 * @form: names of the forms of lookup, the default first; NULL: end
 * @make: make an empty filter in bench.lines
 * @insert: insert into the current epoch
 * @rotate: begin the next epoch; NULL: there are no epochs
 * @query: look up keys by form number @form
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
	cudaError_t (*query)(struct filter *f, int form, const __u64 *digest, __u64 n,
			     __u32 *bitmap);
};

#define NR_KINDS 5

/* The first one is lanes at 14 bits. */
extern const struct kind kinds[NR_KINDS];

/**
 * struct filter - a filter under measurement
 * @kind: its kind
 * @window: keys of the window
 * @bytes: memory
 * @epoch_keys: keys of an epoch
 * @left: keys until the current epoch ends
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
/* Insert the next @n keys. Epochs end as in Algorithm 1: before the insertion
 * that exceeds the epoch. Counters delete the keys that are older than the
 * window, so @digest[-window] must exist.
 */
cudaError_t filter_insert(struct filter *f, const __u64 *digest, __u64 n);
/* Return: number of insertions until all epochs are full. */
__u64 filter_full(const struct filter *f);
/* Look up @n live and @n absent keys in all forms and record the rates, and
 * @insert_s, the seconds of all insertions.
 */
void filter_ask(struct filter *f, const char *part, __u64 n, double insert_s);

/* Measure cuco::bloom_filter with the keys of a window, where it is built (CUCO=). */
void cuco_ask(__u64 window) __attribute__((weak)); /* cuco.cu */

/* ---- the parts of a run ---- */

void run_gathers(void); /* gather.cu */
void run_queries(void); /* queries.cu */
void run_rivals(void);  /* filter.cu: at equal bytes and at equal error */
void run_paper(void);   /* paper.cu */
void run_whole(void);   /* whole.cu: fill, fresh keys, epochs */
void run_link(void);    /* link.cu: from the host's memory */

#endif /* EPF_BENCH_H */
