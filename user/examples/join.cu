// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How many rows of a column on the GPU have a key that is not in a snapshot?
 *
 *	nvcc -std=c++17 join.cu -o join $(pkg-config --cflags --libs libepf_cuda)
 *	./join SNAPSHOT
 */
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <epf_ref.cuh>
#include <libepf_cuda.h>
#include <stdio.h>

namespace cg = cooperative_groups;

__global__ void join(epf_ref seen, const unsigned long long *key, unsigned n, unsigned *left)
{
	auto tile = cg::tiled_partition<4>(cg::this_thread_block());
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	auto digest = seen.digest(&key[i < n ? i : n - 1], sizeof(*key));

	if (!seen.contains(tile, digest) && i < n)
		atomicAdd(left, 1u);
}

int main(int argc, char **argv)
{
	const unsigned n = 1 << 18;
	struct libepf_lines lines = { sizeof(lines) };
	struct libepf_snapshot *snapshot;
	struct libepf_cuda *filter;
	unsigned long long *key;
	unsigned *left;
	epf_ref seen;

	if (argc != 2 || libepf_snapshot_open(argv[1], 0, &snapshot) ||
	    libepf_snapshot_lines(snapshot, &lines))
		return fprintf(stderr, "join: %s\n", libepf_error()), 1;
	if (libepf_cuda_load(&lines, NULL, 0, &filter) ||
	    libepf_cuda_ref(filter, 0, &seen, sizeof(seen)))
		return fprintf(stderr, "join: %s\n", libepf_cuda_error()), 1;
	cudaMallocManaged((void **)&key, n * sizeof(*key));
	cudaMallocManaged((void **)&left, sizeof(*left));
	for (unsigned i = 0; i < n; i++)
		key[i] = i;
	*left = 0;
	join<<<(n + 255) / 256, 256>>>(seen, key, n, left);
	printf("%s: ", cudaGetErrorString(cudaDeviceSynchronize()));
	printf("%u of %u rows stay\n", *left, n);
	libepf_cuda_free(filter);
	libepf_snapshot_close(snapshot);
	return 0;
}
