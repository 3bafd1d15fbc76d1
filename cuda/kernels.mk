# SPDX-License-Identifier: GPL-2.0
# Which sources of cuda/ are kernels, for its Makefile and for their tests.

CUDA_KERNELS := insert probe query rotate tally window
