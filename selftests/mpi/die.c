// SPDX-License-Identifier: GPL-2.0
/*
 * To be preloaded: kills this rank at a chosen call of MPI, as a failing machine would.
 * EPF_DIE=WHAT:N, the first rank that does it for the N-th time, where WHAT is "unit",
 * when it takes a unit, or "write", when half of what it should write is in the file.
 */
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool dies_at(const char *what)
{
	static int calls;
	const char *said = getenv("EPF_DIE");
	char wanted[8];
	int n;

	if (!said || sscanf(said, "%7[a-z]:%d", wanted, &n) != 2)
		return false;
	return !strcmp(what, wanted) && ++calls == n;
}

int MPI_Fetch_and_op(const void *from, void *to, MPI_Datatype type, int rank, MPI_Aint at,
		     MPI_Op op, MPI_Win win)
{
	if (dies_at("unit"))
		raise(SIGKILL);
	return PMPI_Fetch_and_op(from, to, type, rank, at, op, win);
}

int MPI_File_write_at(MPI_File file, MPI_Offset at, const void *data, int n, MPI_Datatype type,
		      MPI_Status *status)
{
	if (dies_at("write")) {
		PMPI_File_write_at(file, at, data, n / 2, type, status);
		raise(SIGKILL);
	}
	return PMPI_File_write_at(file, at, data, n, type, status);
}
