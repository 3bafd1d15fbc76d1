// SPDX-License-Identifier: GPL-2.0
/* For own.c: sleepable programs with a filter. Each must be refused. */
#include <linux/bpf.h>

#include <epf.bpf.h>

static __always_inline int ask(void)
{
	__u32 key = 1;

	epf_key_test_and_insert(&key, sizeof(key));
	return 0;
}

SEC("syscall")
int sleep_syscall(void *ctx)
{
	return ask();
}

SEC("fentry.s/__x64_sys_getpgid")
int sleep_fentry(void *ctx)
{
	return ask();
}

SEC("lsm.s/file_open")
int sleep_lsm(void *ctx)
{
	return ask();
}

SEC("uprobe.s")
int sleep_uprobe(void *ctx)
{
	return ask();
}

char _license[] SEC("license") = "GPL";
