/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of nfcapd, which nfdump prints. It runs as a child, without capabilities, with
 * bounded memory and with nothing open but the file and two pipes; the readers get its
 * lines in place of the file.
 */
#ifndef RECORDS_NFCAPD_H
#define RECORDS_NFCAPD_H

#include <stdbool.h>
#include <stddef.h>

#include "records/rec_error.h"

struct rec_source;
struct rec_input;
struct nfcapd;

/* The functions are NULL where this was left out of the build. */

/**
 * nfcapd_start() - let nfdump read the input
 * @s: source whose input begins like a file of nfcapd; it then has nfdump's lines,
 *	behind a header
 * @e: set to the error text on failure
 *
 * What nfdump cannot open itself, such as a pipe or compressed data, is copied into an
 * unnamed file first.
 *
 * Return: 0; -EOPNOTSUPP: @s->spec.nfcapd forbids it; -E2BIG: too long to be copied;
 * -ENOMEM; another negative errno.
 */
int nfcapd_start(struct rec_source *s, struct rec_error *e) __attribute__((weak));

/**
 * nfcapd_end() - nfdump has closed its output: how did it end?
 * @in: the input
 * @e: set to the error text if it failed or complained
 *
 * Return: 0; -EBADMSG.
 */
int nfcapd_end(struct rec_input *in, struct rec_error *e) __attribute__((weak));

/* Remove the blanks by which nfdump aligns columns. Return: bytes that are left. */
size_t nfcapd_squeeze(char *text, size_t len) __attribute__((weak));

/* End nfdump, if it still runs. @c may be NULL. */
void nfcapd_close(struct nfcapd *c) __attribute__((weak));

#endif /* RECORDS_NFCAPD_H */
