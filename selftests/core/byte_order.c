// SPDX-License-Identifier: GPL-2.0
/*
 * A snapshot file is little-endian. A big-endian machine refuses to write one, leaves no
 * file, and refuses to read one.
 */
#include <epf.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../params.h"
#include "tap.h"

#define LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

static const __u64 hash_key[2] = { 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL };
static char path[] = "/tmp/epf-order-XXXXXX";

static struct epf_mem *make(void)
{
	struct epf_params p = { .name = "order", PARAMS(64, 1, 5, 70) };
	int err;
	struct epf_mem *m = epf_mem_new(&p, hash_key, 0, &err);

	if (!m)
		abort();
	return m;
}

/* Magic, version, and the number of lines, as their bytes are in the file. */
static bool is_little(void)
{
	static const char magic[8] = "EEPFSNP", lines[8] = { 64 };
	char head[sizeof(struct epf_snap_header)];
	size_t at = offsetof(struct epf_snap_header, params) +
		    offsetof(struct epf_params, nr_lines);
	FILE *f = fopen(path, "r");
	bool good = f && fread(head, 1, sizeof(head), f) == sizeof(head) &&
		    !memcmp(head, magic, sizeof(magic)) &&
		    head[offsetof(struct epf_snap_header, version)] &&
		    !memcmp(head + at, lines, sizeof(lines));

	if (f)
		fclose(f);
	return good;
}

static void try_file(struct epf_mem *m)
{
	const struct epf_save_opts opts = {
		.now_ns = 1,
		.wall_ns = 1,
		.desc = { .kind = EPF_KEYS_UNKNOWN },
	};
	struct epf_snap_file file;
	enum epf_snap_fault fault;
	int saved, opened;

	unlink(path);
	saved = epf_mem_save(m, &opts, path, NULL);
	tap_ok(saved == (LITTLE ? 0 : -EOPNOTSUPP), "a snapshot is written, or refused: %d", saved);
	tap_ok(LITTLE ? is_little() : access(path, F_OK) != 0, "it is little-endian, or not there");
	if (!LITTLE)
		fclose(fopen(path, "w"));
	opened = epf_snap_open(path, &file, NULL, NULL, &fault);
	tap_ok(LITTLE ? !opened : opened == -EBADMSG && fault == EPF_SNAP_BYTE_ORDER,
	       "it is read, or refused: %d, %s", opened, epf_snap_fault_text(fault));
	if (!opened)
		epf_snap_close(&file);
	unlink(path);
}

int main(void)
{
	struct epf_mem *m = make();
	int fd = mkstemp(path);

	if (fd < 0)
		abort();
	close(fd);
	tap_plan(3);
	try_file(m);
	epf_mem_free(m);
	return tap_end();
}
