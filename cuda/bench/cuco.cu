// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * NVIDIA's cuco::bloom_filter beside ours, where cuCollections is (make bench-gpu CUCO=DIRECTORY).
 * It has no window: its keys stay for ever, so it is as if all epochs were one. Lookups are
 * compared at equal bytes and with the keys of a window; blocks and positions are its defaults,
 * 256 bits and 8.
 */
#include <cuco/bloom_filter.cuh>

#include "bench.h"

#include <vector>

#define BITS_A_KEY 14 /* as lanes at equal bytes */
#define POSITIONS 8

using bloom = cuco::bloom_filter<__u64>;

struct looking {
	bloom *filter;
	__u64 n;
};

static cudaError_t look(void *self)
{
	const struct looking *l = (const struct looking *)self;

	l->filter->contains_async(bench.keys, bench.keys + l->n, (bool *)bench.ages,
				  cuda::stream_ref{ bench.stream });
	return cudaGetLastError();
}

/* Return: seconds to look up @l->n keys of bench.keys; *@found is how many are present. */
static double time_look(struct looking *l, __u64 *found)
{
	std::vector<__u8> got(l->n);
	double s = seconds_of(look, l);
	__u64 i;

	must(cudaMemcpyAsync(got.data(), bench.ages, l->n, cudaMemcpyDeviceToHost, bench.stream),
	     "answers");
	must(cudaStreamSynchronize(bench.stream), "answers");
	for (i = 0, *found = 0; i < l->n; i++)
		*found += got[i];
	return s;
}

static double insert_all(bloom *filter, __u64 window)
{
	__u64 at, n;
	double s = 0;

	for (at = 0; at < window; at += n) {
		n = window - at < bench.nr_keys ? window - at : bench.nr_keys;
		must(keys_make(bench.keys, SEED_LIVE, at, n), "keys");
		span_begin();
		filter->add_async(bench.keys, bench.keys + n, cuda::stream_ref{ bench.stream });
		s += span_end();
	}
	must(cudaGetLastError(), "insertions");
	return s;
}

void cuco_ask(__u64 window)
{
	const __u64 block = bloom::words_per_block * sizeof(bloom::word_type);
	const __u64 blocks = window * BITS_A_KEY / 8 / block;
	bloom filter{ blocks, {}, {}, {}, cuda::stream_ref{ bench.stream } };
	struct looking l = { &filter, bench.nr_keys / 2 };
	double insert_s = insert_all(&filter, window), n = (double)l.n, live_s, absent_s;
	__u64 found, wrong;

	must(keys_draw(bench.keys, 0, window, l.n), "keys");
	live_s = time_look(&l, &found);
	must(keys_make(bench.keys, SEED_ABSENT, 0, l.n), "keys");
	absent_s = time_look(&l, &wrong);
	record("rivals",
	       "s:name s:form d:window d:bits_a_key d:k d:bytes d:inserted d:insert_s d:live_per_s d:absent_per_s d:both_per_s d:missing d:error",
	       "cuco, no window", "bools", (double)window, (double)BITS_A_KEY, (double)POSITIONS,
	       (double)(blocks * block), (double)window, insert_s, n / live_s, n / absent_s,
	       2 * n / (live_s + absent_s), n - (double)found, (double)wrong / n);
	law(found == l.n, "cuco has all of its keys");
}
