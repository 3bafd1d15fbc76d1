# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# For Makefiles that compile for cards: nvcc, and the sources of cuda/ that are
# kernels.

# nvcc's packages install it outside PATH.
NVCC ?= $(or $(shell command -v nvcc),$(wildcard /usr/local/cuda/bin/nvcc),nvcc)

CUDA_KERNELS := insert probe query ready rotate tally
