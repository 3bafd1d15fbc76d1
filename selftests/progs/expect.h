/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The result that verifier.c expects for a program, stated in the program:
 *
 *   FAILS("text")  must be refused, and the verifier's last words have the
 *                  text; where kernels word it differently, the texts are split
 *                  by '|'
 *   RUNS           must load, and return RAN when run
 *   neither        must load
 */
#ifndef EPF_EXPECT_H
#define EPF_EXPECT_H

#define RAN 77

#define EXPECT_TAG "epf_fails:"
#define RUNS_TAG "epf_runs"
#define FAILS(text) __attribute__((btf_decl_tag(EXPECT_TAG text)))
#define RUNS __attribute__((btf_decl_tag(RUNS_TAG)))

/* The verifier's messages about */
#define LEAK "Unreleased reference|would lead to reference leak"
#define NOT_A_FILTER                                   \
	"must point to scalar, or struct with scalar|" \
	"must be referenced or trusted"
#define NOT_TO_RELEASE NOT_A_FILTER "|expects referenced PTR_TO_BTF_ID"
#define NOT_A_MAP                                         \
	"pointer in R1 is|must be referenced or trusted|" \
	"expected pointer to STRUCT bpf_map"
#define BAD_MEMORY "memory, len pair leads to invalid memory access"

#endif /* EPF_EXPECT_H */
