# SPDX-License-Identifier: GPL-2.0
# What Makefiles have to know that compile for cards: nvcc, and which sources of
# cuda/ are kernels.

# Its packages put it where no PATH looks.
NVCC ?= $(or $(shell command -v nvcc),$(wildcard /usr/local/cuda/bin/nvcc),nvcc)

CUDA_KERNELS := insert probe query ready rotate tally
