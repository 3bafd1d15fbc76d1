/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies of lines that change meanwhile: each word is loaded in one piece, once.
 * memcpy() promises neither.
 */
#ifndef LIBEPF_COPY_H
#define LIBEPF_COPY_H

#include <stddef.h>

/**
 * epf_copy_words() - copy lines that will be looked at soon
 * @to: 8-byte aligned
 * @from: likewise
 * @bytes: a multiple of 64
 */
void epf_copy_words(void *to, const void *from, size_t bytes);

/* Likewise, past the caches: for copies that they have no room for. Both are
 * 16-byte aligned.
 */
void epf_copy_away(void *to, const void *from, size_t bytes);

#endif /* LIBEPF_COPY_H */
