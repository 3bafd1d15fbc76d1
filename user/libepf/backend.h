/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Backends. A descriptor is served by the module or by a backend in this process
 * that speaks the device's protocol (linux/epochfilter.h). A program links such a
 * backend and adds it; libepf calls the backend for the descriptors that it owns.
 */
#ifndef LIBEPF_BACKEND_H
#define LIBEPF_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Where filters are created and looked for. */
enum epf_backend_choice {
	EPF_BACKEND_AUTO, /* the module's where it is loaded, else the other's;
			     * looked for among both */
	EPF_BACKEND_MODULE,
	EPF_BACKEND_OTHER,
};

/**
 * struct epf_backend - filters that are not the module's
 * @open: what open(EPF_DEVICE) does: a control descriptor, or a negative errno
 * @owns: is @fd one of its descriptors?
 * @call: what ioctl(@fd, @cmd, @arg) does: 0, a descriptor, or a negative errno
 * @map: what mmap(NULL, @bytes, PROT_READ, MAP_SHARED, @fd, @at) does; an error is
 *	MAP_FAILED and errno
 * @wait: what poll(2) for POLLIN and POLLPRI does, for at most @ms; -1: no limit.
 *	Return: events; 0: none; or a negative errno
 * @close: what close(@fd) does
 */
struct epf_backend {
	int (*open)(void);
	bool (*owns)(int fd);
	int (*call)(int fd, unsigned long cmd, void *arg);
	void *(*map)(int fd, size_t bytes, off_t at);
	int (*wait)(int fd, int ms);
	void (*close)(int fd);
};

/* Add the backend, at most one, before any other thread runs. */
void epf_backend_add(const struct epf_backend *b);
void epf_backend_choose(enum epf_backend_choice choice);

/* Does the choice include the module, if @module, or the backend, if @other? */
bool epf_backend_chosen(bool module, bool other);

/* A control descriptor of the chosen backend; see epf_dev_open(). */
int epf_backend_open(void);
/* The same for a choice of this call's own. */
int epf_backend_open_of(enum epf_backend_choice choice);
/* Is @fd the module's? */
bool epf_is_module(int fd);
/* With EPF_BACKEND_AUTO, the second control descriptor beside @dev. -ENOENT: none. */
int epf_backend_second(int dev);
int epf_call(int fd, unsigned long cmd, void *arg);
void *epf_map(int fd, size_t bytes, off_t at);
int epf_wait(int fd, int ms);
void epf_close(int fd);

#endif /* LIBEPF_BACKEND_H */
