// SPDX-License-Identifier: GPL-2.0
/*
 * To be preloaded. EPF_NODE=N: each N ranks in succession believe to be on a node of their own.
 * EPF_MEMINFO=FILE is read in place of /proc/meminfo.
 * EPF_DIE kills this rank at a chosen call of MPI, as a failing machine would.
 * WHAT:N is the first rank that does it for the N-th time, where WHAT is "unit",
 * when it takes a unit, or "write", when half of what it should write is in the file.
 * EPF_TORN=FILE is truncated by half when a unit is taken for the second time.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static void tear(void)
{
	static int calls;
	const char *torn = getenv("EPF_TORN");
	struct stat st;

	if (torn && ++calls == 2 && (stat(torn, &st) || truncate(torn, st.st_size / 2)))
		abort();
}

int MPI_Fetch_and_op(const void *from, void *to, MPI_Datatype type, int rank, MPI_Aint at,
		     MPI_Op op, MPI_Win win)
{
	if (dies_at("unit"))
		raise(SIGKILL);
	tear();
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

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *new)
{
	const char *ranks = getenv("EPF_NODE");
	int rank, ret = PMPI_Comm_split_type(comm, type, key, info, new);

	if (ret || !ranks)
		return ret;
	PMPI_Comm_free(new);
	PMPI_Comm_rank(comm, &rank);
	return PMPI_Comm_split(comm, rank / atoi(ranks), key, new);
}

FILE *fopen(const char *path, const char *mode)
{
	FILE *(*real)(const char *, const char *) = dlsym(RTLD_NEXT, "fopen");
	const char *meminfo = getenv("EPF_MEMINFO");

	return real(meminfo && !strcmp(path, "/proc/meminfo") ? meminfo : path, mode);
}
