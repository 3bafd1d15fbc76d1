/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs own.bpf.c and own.c share. */
#ifndef EPF_OWN_H
#define EPF_OWN_H

#define OWN_NONE (-77777) /* the program was not asked */

enum own_op { OWN_TEST, OWN_INSERT, OWN_TEST_AND_INSERT, OWN_INSERT_NEW };

#endif /* EPF_OWN_H */
