/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs that print what this process does not read itself: nfdump for files of nfcapd,
 * epf-wiretap for captures. They run without a shell, without capabilities, with bounded
 * memory and with nothing open but the file and two pipes. A stream has their output in
 * place of the file.
 */
#ifndef RECORDS_CHILD_H
#define RECORDS_CHILD_H

#include <stdbool.h>
#include <stddef.h>

#include "records/rec_error.h"
#include "records/stream.h"

/* Limit of the memory of a child. */
#define CHILD_MEMORY (256u << 20)
/* The path by which the child opens the file, whatever its name is. */
#define CHILD_FILE "/proc/self/fd/0"

struct child;

/**
 * struct child_program - what runs
 * @name: name in messages
 * @argv: path, or a name to be looked for in PATH, and arguments
 * @missing: error text if it is not installed
 */
struct child_program {
	const char *name;
	char *const *argv;
	const char *missing;
};

/**
 * struct child_file - what it reads
 * @fd: the file
 * @stream: its content; replaced by the output of the child
 * @head: bytes of the content that were already read
 * @len: how many
 * @may_copy: if the child cannot open the file itself, because it is a pipe, compressed or
 *	not open to this user, copy it into an unnamed file
 * @stop: a word that ends the copy when it is not 0, or NULL
 */
struct child_file {
	int fd;
	struct stream **stream;
	const void *head;
	size_t len;
	bool may_copy;
	const volatile int *stop;
};

/**
 * child_start() - read what a program prints about a file
 * @c: result, to be closed after the stream; set on failure as well
 * @p: the program, which must outlive @c
 * @f: the file
 * @e: set to the error text on failure
 *
 * The end of the stream is an error of it (-EBADMSG) if the program fails or has printed
 * anything on its standard error.
 *
 * Return: 0; -EOPNOTSUPP: it needs a copy; -E2BIG: too long to be copied; -ENOMEM; another
 * negative errno.
 */
int child_start(struct child **c, const struct child_program *p, const struct child_file *f,
		struct rec_error *e);

/* End it, if it still runs. @c may be NULL. */
void child_close(struct child *c);

#endif /* RECORDS_CHILD_H */
