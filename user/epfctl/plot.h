/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pictures for people, drawn by gnuplot. It runs as a program of its own, without a shell and
 * without the user's settings. It gets a script, and all that it draws comes back whole or not
 * at all.
 */
#ifndef EPFCTL_PLOT_H
#define EPFCTL_PLOT_H

#include <stdbool.h>
#include <stdio.h>

/* Does the name end in .svg or .png? If not, prints an error. */
bool plot_named(const char *path);

/* Does gnuplot run? Return: 0, or EXIT_FAIL with an error printed. */
int plot_ready(void);

/**
 * plot_begin() - begin a script
 * @path: of the picture; plot_named() is true of it
 *
 * Return: a stream for the caller's own commands, at the end of those that set terminal and
 * style; NULL: an error is printed.
 */
FILE *plot_begin(const char *path);

/* Write any text as a string of gnuplot, which is valid UTF-8 and substitutes nothing. */
void plot_text(FILE *script, const char *text);

/**
 * plot_draw() - let gnuplot draw a script
 * @script: of plot_begin(); is closed
 * @path: of the picture, for errors
 * @fd: where the picture goes
 *
 * Return: 0, or EXIT_FAIL with an error printed.
 */
int plot_draw(FILE *script, const char *path, int fd);

/* The same into a file, which is replaced whole or not at all. */
int plot_file(FILE *script, const char *path);

#endif /* EPFCTL_PLOT_H */
