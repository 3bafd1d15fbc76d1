/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The checks of epfctl doctor. */
#ifndef EPFCTL_DOCTOR_H
#define EPFCTL_DOCTOR_H

#include "cmd.h"

#define DOCTOR_LEN 256 /* of a state, and of a remedy */

/**
 * struct machine - the running kernel
 * @release: as uname -r prints it
 * @major: first number of @release
 * @minor: second number of @release
 * @modules: /lib/modules/RELEASE
 */
struct machine {
	char release[128];
	unsigned int major;
	unsigned int minor;
	char modules[160];
};

/* doctor.c: what /proc, /sys and /lib say */

bool doctor_machine(struct machine *m);
bool doctor_file(const char *fmt, const char *arg);
bool doctor_line(const char *path, const char *word, char *line, size_t room);
const char *doctor_config(const struct machine *m, const char *const *options, bool *known);
bool doctor_glob(const char *pattern);
bool doctor_has_package(const char *name); /* it is installed, or apt knows it */
bool doctor_nvidia(void);
bool doctor_wants_signature(void);

/* doctor_bpf.c: checks, see cmd_doctor.c */

bool ask_bpf_built(const struct machine *m, char *state, char *remedy);
bool ask_bpf_jit(const struct machine *m, char *state, char *remedy);
bool ask_bpf_users(const struct machine *m, char *state, char *remedy);
bool ask_bpf_held(const struct machine *m, char *state, char *remedy);

/* xdp_doctor.c */

bool ask_bpf_attached(const struct machine *m, char *state, char *remedy) __attribute__((weak));

/* declared_show.c */

bool ask_declared(const struct machine *m, char *state, char *remedy) __attribute__((weak));

#endif /* EPFCTL_DOCTOR_H */
