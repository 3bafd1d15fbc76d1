// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The checks of epfctl doctor: what /proc, /sys and /lib say. */
#include "doctor.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

bool doctor_machine(struct machine *m)
{
	struct utsname u;

	memset(m, 0, sizeof(*m));
	if (uname(&u))
		return false;
	snprintf(m->release, sizeof(m->release), "%s", u.release);
	if (sscanf(u.release, "%u.%u", &m->major, &m->minor) != 2)
		return false;
	snprintf(m->modules, sizeof(m->modules), "/lib/modules/%s", m->release);
	return true;
}

bool doctor_file(const char *fmt, const char *arg)
{
	char path[512];

	snprintf(path, sizeof(path), fmt, arg);
	return !access(path, F_OK);
}

/* Find the first line of @path that contains @word. */
bool doctor_line(const char *path, const char *word, char *line, size_t room)
{
	FILE *f = fopen(path, "r");
	bool found = false;

	if (!f)
		return false;
	*line = '\0'; /* of an empty file */
	while (!found && fgets(line, (int)room, f))
		found = strstr(line, word);
	fclose(f);
	line[strcspn(line, "\n")] = '\0';
	return found;
}

/* Record in @seen (bit i: options[i]) what a line of a kernel config enables. */
static void config_line(const char *line, const char *const *options, unsigned int *seen)
{
	unsigned int i;

	for (i = 0; options[i]; i++) {
		size_t n = strlen(options[i]);

		if (!strncmp(line, options[i], n) && line[n] == '=' &&
		    (line[n + 1] == 'y' || line[n + 1] == 'm'))
			*seen |= 1u << i;
	}
}

static FILE *open_config(const struct machine *m)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "/boot/config-%s", m->release);
	f = fopen(path, "r");
	if (f)
		return f;
	snprintf(path, sizeof(path), "%s/build/.config", m->modules);
	return fopen(path, "r");
}

/* The first of @options that this kernel was built without; NULL: none. */
const char *doctor_config(const struct machine *m, const char *const *options, bool *known)
{
	int (*end)(FILE * f) = fclose;
	FILE *f = open_config(m);
	unsigned int seen = 0;
	char line[256];

	if (!f && !access("/proc/config.gz", R_OK)) {
		f = popen("zcat /proc/config.gz 2>/dev/null", "r");
		end = pclose;
	}
	*known = f;
	if (!f)
		return NULL;
	while (fgets(line, sizeof(line), f))
		config_line(line, options, &seen);
	end(f);
	for (; *options; options++, seen >>= 1)
		if (!(seen & 1))
			return *options;
	return NULL;
}

bool doctor_glob(const char *pattern)
{
	glob_t g;
	bool found = !glob(pattern, GLOB_BRACE, NULL, &g);

	globfree(&g);
	return found;
}

/* Does apt know it? @package: only letters that a shell does not interpret. */
static bool doctor_offered(const char *package)
{
	char command[256], line[256] = "";
	FILE *f;

	snprintf(command, sizeof(command), "apt-cache pkgnames %s 2>/dev/null", package);
	f = popen(command, "r");
	if (!f)
		return false;
	while (strcmp(line, package) && fgets(line, sizeof(line), f))
		line[strcspn(line, "\n")] = '\0';
	while (fgetc(f) != EOF) /* or apt-cache reports a broken pipe */
		;
	pclose(f);
	return !strcmp(line, package);
}

bool doctor_has_package(const char *name)
{
	return !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789+-._~")] &&
	       (doctor_file("/var/lib/dpkg/info/%s.list", name) || doctor_offered(name));
}

/* Is there an NVIDIA card, with or without its driver? */
bool doctor_nvidia(void)
{
	bool found = false;
	char line[16];
	size_t i;
	glob_t g;

	if (doctor_glob("/dev/nvidia[0-9]*") || doctor_file("%s", "/dev/dxg"))
		return true; /* dxg: a card of a Windows host */
	if (glob("/sys/bus/pci/devices/*/vendor", 0, NULL, &g))
		return false;
	for (i = 0; i < g.gl_pathc && !found; i++)
		found = doctor_line(g.gl_pathv[i], "0x10de", line, sizeof(line));
	globfree(&g);
	return found;
}

/* Does the kernel refuse modules without a trusted signature? */
bool doctor_wants_signature(void)
{
	char line[128];

	if (doctor_line("/sys/module/module/parameters/sig_enforce", "Y", line, sizeof(line)))
		return true;
	return doctor_line("/sys/kernel/security/lockdown", "[", line, sizeof(line)) &&
	       !strstr(line, "[none]");
}
