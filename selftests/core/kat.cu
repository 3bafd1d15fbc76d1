// SPDX-License-Identifier: GPL-2.0
/*
 * Known answers in CUDA: on the host as nvcc compiles it and, if there is a GPU, on the
 * device, where one thread runs all the vectors.
 */
#ifdef __CUDA_ARCH__
#define EPF_KAT_TABLE static __device__ const
#else
#define EPF_KAT_TABLE static const
#endif
#include <epf/kat.h>

#include "tap.h"

__device__ struct epf_line device_lines[EPF_KAT_LINES];
__device__ struct epf_kat device_kat;
static struct epf_line host_lines[EPF_KAT_LINES];

__global__ void kat_kernel(void)
{
	epf_kat_run(&device_kat, device_lines);
}

static void claim(const char *side, const struct epf_kat *kat)
{
	__u32 i;

	for (i = 0; i < EPF_KAT_SECTIONS; i++)
		if (kat->fold[i].bad)
			printf("# %s: %s: first wrong result: %u\n", side, epf_kat_name(i),
			       kat->fold[i].bad);
	tap_ok(kat->total == EPF_KAT_TOTAL, "cuda %s: digest %016llx", side, kat->total);
}

/* Return: a CUDA runtime error, or cudaSuccess after filling @kat. */
static cudaError_t run_device(struct epf_kat *kat)
{
	cudaError_t err;

	kat_kernel<<<1, 1>>>();
	err = cudaDeviceSynchronize();
	if (err == cudaSuccess)
		err = cudaMemcpyFromSymbol(kat, device_kat, sizeof(*kat));
	return err;
}

int main(void)
{
	struct epf_kat kat;
	cudaError_t err;
	int gpus = 0;

	tap_plan(2);
	epf_kat_run(&kat, host_lines);
	claim("host", &kat);
	err = cudaGetDeviceCount(&gpus);
	if (err != cudaSuccess || !gpus) {
		tap_count++;
		printf("ok 2 - cuda device # SKIP no GPU: %s\n", cudaGetErrorString(err));
		return tap_end();
	}
	err = run_device(&kat);
	if (err == cudaSuccess)
		claim("device", &kat);
	else
		tap_ok(false, "cuda device: %s", cudaGetErrorString(err));
	return tap_end();
}
