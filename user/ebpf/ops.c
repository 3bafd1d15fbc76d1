// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tests and insertions from user space run in a BPF program, because grace periods wait for
 * programs. User space never inserts directly: no grace period would wait for it.
 */
#include "ebpf.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/* EPF_BPF_OUT, set by the Makefile, is where the objects were built. */
__asm__(".pushsection .rodata\n"
	".balign 8\nepf_ops_start:\n"
	".incbin \"" EPF_BPF_OUT "/epf_ops.bpf.o\"\nepf_ops_end:\n"
	".popsection\n");
/* Hidden: on arm64 ld gives both symbols one entry of the GOT, so the object would be empty. */
extern const char __attribute__((visibility("hidden"))) epf_ops_start[], epf_ops_end[];

static int reuse(struct bpf_object *obj, const char *map, const char *name, const char *what)
{
	struct bpf_map *m = bpf_object__find_map_by_name(obj, map);
	int fd = bpf_obj_get(ebpf_path(name, what).text);
	int ret;

	if (fd < 0)
		return -errno;
	ret = m ? bpf_map__reuse_fd(m, fd) : -ENOENT;
	close(fd);
	return ret;
}

int ebpf_reuse_maps(struct bpf_object *obj, const char *name)
{
	int err = reuse(obj, "epf_table", name, "table");

	if (!err)
		err = reuse(obj, "epf_lines", name, "lines");
	if (!err)
		err = reuse(obj, "epf_cpus", name, "cpus");
	return err ? err : reuse(obj, "epf_journals", name, "journals");
}

int ebpf_reuse_all_maps(struct bpf_object *obj, const char *name)
{
	int err = reuse(obj, "epf_all_table", name, "table");

	if (!err)
		err = reuse(obj, "epf_all_lines", name, "lines");
	return err ? err : reuse(obj, "epf_all_cpus", name, "cpus");
}

int ebpf_ops_load(const char *name)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "epf_ops");
	struct bpf_object *obj = bpf_object__open_mem(epf_ops_start,
						      (size_t)(epf_ops_end - epf_ops_start), &opts);
	struct bpf_program *prog;
	int ret;

	if (!obj)
		return -errno;
	ret = ebpf_reuse_maps(obj, name);
	if (!ret)
		ret = bpf_object__load(obj);
	prog = bpf_object__find_program_by_name(obj, "epf_ops");
	if (!ret)
		ret = prog ? dup(bpf_program__fd(prog)) : -ENOENT;
	bpf_object__close(obj);
	return ret;
}

int ebpf_ops_run(struct ebpf_filter *f, struct epf_bpf_ops *ops)
{
	__u32 bytes =
		(__u32)(offsetof(struct epf_bpf_ops, word) + ops->count * sizeof(ops->word[0]));
	LIBBPF_OPTS(bpf_test_run_opts, t, .data_in = ops, .data_size_in = bytes, .data_out = ops,
		    .data_size_out = bytes, .repeat = 1);

	if (f->ops < 0)
		f->ops = bpf_obj_get(ebpf_path(f->name, "ops").text);
	if (f->ops < 0)
		return -errno;
	while (bpf_prog_test_run_opts(f->ops, &t))
		if (errno != EINTR && errno != EAGAIN)
			return -errno;
	if (ops->op == EPF_BPF_STALE)
		return -EAGAIN;
	if (t.retval == 2) /* XDP_PASS: success */
		return 0;
	return f->shared->gone ? -ENODEV : -EUCLEAN; /* see ebpf_begin() */
}
