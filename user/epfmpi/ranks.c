// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ranks, by MPI. The counter of ranks_next() is a word of rank 0, which ranks increase by
 * one-sided access; a network without such access needs rank 0 to enter MPI now and then,
 * which is what ranks_serve() is for.
 */
#include "common/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "ranks_mpi.h"

/* MPI counts in int; pieces of a power of two keep memory aligned. */
#define PIECE_BYTES ((size_t)1 << 30)
/* MPI waits without sleeping, and a rank that waits so takes a CPU from one that works. */
#define NAP_FIRST_NS 20000 /* then twice as long each time, */
#define NAP_MOST_NS 640000 /* up to this */

static struct ranks self;
struct ranks_comms comms;
static MPI_Win counter;
static int saved_stderr = -1;
static char at_rank[32];
static char why[MPI_MAX_ERROR_STRING];

struct ranks_file {
	MPI_File file;
};

/* Of the other ranks nobody wants results, nor the errors that rank 0 prints as well. */
static void hush(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	saved_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	if (null >= 0 && saved_stderr >= 0)
		dup2(null, STDERR_FILENO);
	if (null >= 0)
		dup2(null, STDOUT_FILENO);
	if (null >= 0)
		close(null);
}

void ranks_speak(void)
{
	out_at(at_rank);
	if (saved_stderr < 0)
		return;
	fflush(stderr);
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	saved_stderr = -1;
}

static void find_nodes(void)
{
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, self.rank, MPI_INFO_NULL,
			    &comms.node);
	MPI_Comm_rank(comms.node, &self.on_node);
	MPI_Comm_size(comms.node, &self.nr_on_node);
	MPI_Comm_split(MPI_COMM_WORLD, self.on_node ? MPI_UNDEFINED : 0, self.rank, &comms.leaders);
}

static void make_counter(void)
{
	__u64 *word;

	MPI_Win_allocate(self.rank ? 0 : sizeof(*word), sizeof(*word), MPI_INFO_NULL,
			 MPI_COMM_WORLD, &word, &counter);
	MPI_Win_lock_all(0, counter);
	if (!self.rank) {
		*word = 0;
		MPI_Win_sync(counter);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

const struct ranks *ranks_begin(int *argc, char ***argv)
{
	int level;

	/* Open MPI: where it waits without sleeping, it lets others run */
	setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
	MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &self.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &self.nr);
	snprintf(at_rank, sizeof(at_rank), "rank %d", self.rank);
	if (self.rank)
		hush();
	find_nodes();
	make_counter();
	return &self;
}

void ranks_end(void)
{
	MPI_Win_unlock_all(counter);
	MPI_Win_free(&counter);
	ranks_memory_end();
	if (comms.leaders != MPI_COMM_NULL)
		MPI_Comm_free(&comms.leaders);
	MPI_Comm_free(&comms.node);
	MPI_Finalize();
}

void ranks_give_up(int status)
{
	fflush(NULL);
	MPI_Abort(MPI_COMM_WORLD, status);
	abort(); /* MPI_Abort() does not return */
}

static void sleep_until_done(MPI_Request *request)
{
	struct timespec nap = { .tv_nsec = NAP_FIRST_NS };
	int done;

	for (;;) {
		MPI_Test(request, &done, MPI_STATUS_IGNORE);
		if (done)
			return;
		nanosleep(&nap, NULL);
		if (nap.tv_nsec < NAP_MOST_NS)
			nap.tv_nsec *= 2;
	}
}

bool ranks_failed(bool failed)
{
	int mine = failed, any;
	MPI_Request request;

	MPI_Iallreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
	sleep_until_done(&request);
	return any;
}

void ranks_tell_comm(void *data, size_t bytes, MPI_Comm to)
{
	size_t at, n;

	for (at = 0; at < bytes; at += n) {
		n = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
		MPI_Bcast((char *)data + at, (int)n, MPI_BYTE, 0, to);
	}
}

void ranks_tell(void *data, size_t bytes)
{
	ranks_tell_comm(data, bytes, MPI_COMM_WORLD);
}

void ranks_gather(void *to, const void *part, size_t bytes)
{
	MPI_Allgather(part, (int)bytes, MPI_BYTE, to, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void reduce(__u64 *words, size_t nr, MPI_Op op)
{
	size_t at, n;

	for (at = 0; at < nr; at += n) {
		n = nr - at < PIECE_BYTES / 8 ? nr - at : PIECE_BYTES / 8;
		MPI_Reduce(self.rank ? words + at : MPI_IN_PLACE, self.rank ? NULL : words + at,
			   (int)n, MPI_UINT64_T, op, 0, MPI_COMM_WORLD);
	}
}

void ranks_add(__u64 *words, size_t nr)
{
	reduce(words, nr, MPI_SUM);
}

void ranks_or(__u64 *words, size_t nr)
{
	reduce(words, nr, MPI_BOR);
}

__u64 ranks_next(void)
{
	__u64 one = 1, got;

	MPI_Fetch_and_op(&one, &got, MPI_UINT64_T, 0, 0, MPI_SUM, counter);
	MPI_Win_flush(0, counter);
	return got;
}

void ranks_serve(void)
{
	int there;

	MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
}

static int file_failed(int err)
{
	int len;

	MPI_Error_string(err, why, &len);
	why[strcspn(why, "\n")] = '\0';
	return -EIO;
}

const char *ranks_why(void)
{
	return why;
}

int ranks_open(struct ranks_file **file, const char *path)
{
	struct ranks_file *f = malloc(sizeof(*f));
	int err;

	*file = NULL;
	if (ranks_failed(!f)) {
		free(f);
		snprintf(why, sizeof(why), "out of memory");
		return -EIO;
	}
	err = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &f->file);
	if (err) {
		free(f);
		return file_failed(err);
	}
	*file = f;
	return 0;
}

int ranks_write(struct ranks_file *file, const void *data, size_t bytes, __u64 at)
{
	size_t done, n;
	int err;

	for (done = 0; done < bytes; done += n) {
		n = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
		err = MPI_File_write_at(file->file, (MPI_Offset)(at + done),
					(const char *)data + done, (int)n, MPI_BYTE,
					MPI_STATUS_IGNORE);
		if (err)
			return file_failed(err);
	}
	return 0;
}

long long ranks_read(struct ranks_file *file, void *data, size_t bytes, __u64 at)
{
	MPI_Status status;
	int err, n;

	err = MPI_File_read_at(file->file, (MPI_Offset)at, data, (int)bytes, MPI_BYTE, &status);
	if (err)
		return file_failed(err);
	MPI_Get_count(&status, MPI_BYTE, &n);
	return n;
}

int ranks_close(struct ranks_file *file)
{
	int err = MPI_File_sync(file->file);
	int closed = MPI_File_close(&file->file);

	free(file);
	return err || closed ? file_failed(err ? err : closed) : 0;
}
