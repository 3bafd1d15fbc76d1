/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the two halves of fuzz_ioctl share: fuzz_args.c makes the arguments,
 * fuzz_ioctl.c the calls.
 */
#ifndef EPF_FUZZ_H
#define EPF_FUZZ_H

#include "epftest.h"

#include <pthread.h>

#define FUZZ_FDS 32 /* filter descriptors that all threads share */
#define FUZZ_MAPS 8 /* mappings of each thread */
#define FUZZ_DATA_PAGES 4
#define FUZZ_IMAGE_PAGES 64

union fuzz_args {
	struct {
		__u32 size;
		__u32 flags;
	} head;
	struct epf_create create;
	struct epf_ref_args ref;
	struct epf_list list;
	struct epf_swap swap;
	struct epf_info info;
	struct epf_batch batch;
	struct epf_rotate_args rotate;
	struct epf_key_args key;
	struct epf_snap snap;
	struct epf_snap_read read;
	struct epf_restore restore;
	struct epf_journal_args journal;
	struct epf_describe describe;
	char bytes[PAGE];
};

struct fuzz_map {
	char *at;
	size_t bytes;
};

/**
 * struct fuzzer - one thread
 * @rng: its own random sequence
 * @plain: the thread has no capabilities
 * @args: a page, followed by an inaccessible one
 * @data: keys, lengths and answers; followed by an inaccessible page
 * @maps: mappings of lines
 */
struct fuzzer {
	pthread_t id;
	__u64 rng;
	bool plain;
	char *args;
	char *data;
	struct fuzz_map maps[FUZZ_MAPS];
};

/**
 * struct fuzz_command - one ioctl
 * @name: its name in the report
 * @cmd: number
 * @size: of its struct
 * @weight: its share of all calls
 * @control: it is called on the device
 * @fill: set valid arguments
 */
struct fuzz_command {
	const char *name;
	unsigned long cmd;
	size_t size;
	unsigned int weight;
	bool control;
	void (*fill)(struct fuzzer *f, union fuzz_args *a);
};

extern const struct fuzz_command fuzz_commands[];
extern const size_t fuzz_nr_commands;

/* Targets for pointers: */
extern char *fuzz_shifting; /* two pages that are unmapped, mapped and changed */
extern char *fuzz_readonly; /* a page, followed by an inaccessible one */
extern char *fuzz_image;    /* a snapshot that can be restored */
/* The header of some snapshot; torn at times, because several threads write it. */
extern struct epf_snap_header fuzz_header;

static inline __u64 fuzz_draw(struct fuzzer *f, __u64 sides)
{
	return epf_word(++f->rng, 1) % sides;
}

/* fuzz_args.c: */
const struct fuzz_command *fuzz_draw_command(struct fuzzer *f);
__u64 fuzz_hostile(struct fuzzer *f);
void fuzz_fill(struct fuzzer *f, const struct fuzz_command *c, bool odd, union fuzz_args *a);

#endif /* EPF_FUZZ_H */
