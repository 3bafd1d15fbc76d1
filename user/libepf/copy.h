/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies of lines that change during the copy: each word is loaded whole, once.
 * memcpy() promises neither.
 */
#ifndef LIBEPF_COPY_H
#define LIBEPF_COPY_H

#include <stddef.h>

/**
 * epf_copy_words() - copy lines that will be read soon
 * @to: 8-byte aligned
 * @from: likewise
 * @bytes: a multiple of 64
 */
void epf_copy_words(void *to, const void *from, size_t bytes);

/* The same past the caches, for copies that do not fit into them. @to and @from
 * are 16-byte aligned.
 */
void epf_copy_away(void *to, const void *from, size_t bytes);

#endif /* LIBEPF_COPY_H */
