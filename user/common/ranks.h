/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The processes of one MPI job, which run the same command line. Functions marked
 * "all" are called by every rank, in the same order, and return when all have called
 * them. An error of MPI itself ends the job with a message of MPI.
 *
 * Only epfmpi has them (epfmpi/ranks.c); in other programs they are NULL.
 */
#ifndef EPF_COMMON_RANKS_H
#define EPF_COMMON_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

/**
 * struct ranks - this process among all
 * @rank: its number; rank 0 prints the results and gives files their names
 * @nr: how many there are
 * @on_node: its number among those that share memory with it
 * @nr_on_node: how many those are
 */
struct ranks {
	int rank;
	int nr;
	int on_node;
	int nr_on_node;
};

#define RANKS_WEAK __attribute__((weak))

/* Begin the job: until ranks_speak(), only rank 0 prints errors, because the others find
 * the same ones. All.
 */
const struct ranks *ranks_begin(int *argc, char ***argv) RANKS_WEAK;
/* From here on errors name the rank that prints them. */
void ranks_speak(void) RANKS_WEAK;
/* End the job. All. */
void ranks_end(void) RANKS_WEAK;
/* End the job at once, for all ranks, with an exit status. The rank has printed why. */
void ranks_give_up(int status) RANKS_WEAK __attribute__((noreturn));

/* Has any rank failed? All. */
bool ranks_failed(bool failed) RANKS_WEAK;
/* Give @data of rank 0 to all. All. */
void ranks_tell(void *data, size_t bytes) RANKS_WEAK;
/* Give all parts, @bytes of each rank, to all: @to has room for those of all. All. */
void ranks_gather(void *to, const void *part, size_t bytes) RANKS_WEAK;
/* Replace @words of rank 0 by the sum, or the bitwise OR, of those of all. All. */
void ranks_add(__u64 *words, size_t nr) RANKS_WEAK;
void ranks_or(__u64 *words, size_t nr) RANKS_WEAK;

/**
 * enum ranks_copy - how many copies of the same memory there are
 * @RANKS_COPY_AUTO: to be chosen
 * @RANKS_COPY_SHARED: one for each node
 * @RANKS_COPY_OWN: one for each rank, in huge pages where the kernel has them
 */
enum ranks_copy { RANKS_COPY_AUTO, RANKS_COPY_SHARED, RANKS_COPY_OWN };

/**
 * ranks_copy_choose() - choose copies for a node
 * @asked: the same in all ranks
 * @bytes: of one copy
 *
 * Automatic is a copy for each rank if all those of a node take at most a quarter of the
 * memory that is free, else a shared one. All.
 *
 * Return: shared or own, the same in all ranks of a node.
 */
enum ranks_copy ranks_copy_choose(enum ranks_copy asked, size_t bytes) RANKS_WEAK;

/**
 * ranks_memory() - memory for the same bytes in all ranks
 * @bytes: the same in all ranks
 * @copy: shared or own
 *
 * It is 64-byte aligned; if it is shared, it lives until ranks_end(), else as long as the
 * process. Once in a job. All.
 *
 * Return: NULL: out of memory.
 */
void *ranks_memory(size_t bytes, enum ranks_copy copy) RANKS_WEAK;
/* Give such memory of rank 0 to all ranks, which have it when all have returned. All. */
void ranks_tell_nodes(void *memory, size_t bytes) RANKS_WEAK;

/* 0, 1, 2, ... in order of the calls, whichever rank makes them. */
__u64 ranks_next(void) RANKS_WEAK;
/* Let this process serve the others' ranks_next(); call it often. */
void ranks_serve(void) RANKS_WEAK;

struct ranks_file;

/**
 * ranks_open() - open a file that all write by position
 * @file: result
 * @path: an existing file
 *
 * Return: 0, or -EIO: see ranks_why(). All.
 */
int ranks_open(struct ranks_file **file, const char *path) RANKS_WEAK;
/* Return: 0, or -EIO. */
int ranks_write(struct ranks_file *file, const void *data, size_t bytes, __u64 at) RANKS_WEAK;
/* @bytes: at most 1 GiB. Return: bytes read, fewer at the end of the file; -EIO. */
long long ranks_read(struct ranks_file *file, void *data, size_t bytes, __u64 at) RANKS_WEAK;
/* Close it; what was written is then what other processes read. Return: 0, or -EIO. All. */
int ranks_close(struct ranks_file *file) RANKS_WEAK;
/* What the last of these functions that failed says; one line. */
const char *ranks_why(void) RANKS_WEAK;

#endif /* EPF_COMMON_RANKS_H */
