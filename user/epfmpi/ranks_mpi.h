/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of ranks.h by MPI share. */
#ifndef EPFMPI_RANKS_MPI_H
#define EPFMPI_RANKS_MPI_H

#include <mpi.h>
#include <stddef.h>

/**
 * struct ranks_comms - groups of ranks
 * @node: those of this node
 * @leaders: the first rank of each node; MPI_COMM_NULL in the others
 */
struct ranks_comms {
	MPI_Comm node;
	MPI_Comm leaders;
};

extern struct ranks_comms comms;

/* ranks.c: give @data of the first rank of @to to all its ranks. */
void ranks_tell_comm(void *data, size_t bytes, MPI_Comm to);
/* memory.c: free what the ranks share. All. */
void ranks_memory_end(void);

#endif /* EPFMPI_RANKS_MPI_H */
