// SPDX-License-Identifier: GPL-2.0
/* A library of another version than libepf's. */
#include <epf_cuda.h>

const struct epf_cuda_ops *epf_cuda_ops(void);

const struct epf_cuda_ops *epf_cuda_ops(void)
{
	static const struct epf_cuda_ops ops = {
		.version = EPF_CUDA_VERSION + 1,
		.size = sizeof(ops),
	};

	return &ops;
}
