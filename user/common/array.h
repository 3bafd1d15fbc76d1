/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef EPF_COMMON_ARRAY_H
#define EPF_COMMON_ARRAY_H

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif /* EPF_COMMON_ARRAY_H */
