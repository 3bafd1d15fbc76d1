/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operations that differ between kernel versions, 6.1 to 7.2. Only this file tests the version.
 * Where a macro marks a change, that is tested instead, because stable trees backport changes.
 */
#ifndef EPF_COMPAT_H
#define EPF_COMPAT_H

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/cfi.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/version.h>

#ifndef CONFIG_64BIT
#error "epochfilter needs a 64-bit kernel: lanes are 64-bit atomic words"
#endif

/* 6.3 introduced the tag of kfuncs. */
#ifndef __bpf_kfunc
#define __bpf_kfunc __used noinline
#endif

/* 6.7 introduced the brackets around kfunc definitions. */
#ifndef __bpf_kfunc_start_defs
#define __bpf_kfunc_start_defs()                                     \
	__diag_push();                                               \
	__diag_ignore_all("-Wmissing-declarations", "BTF declares"); \
	__diag_ignore_all("-Wmissing-prototypes", "BTF declares")
#define __bpf_kfunc_end_defs() __diag_pop()
#endif

/* 6.9: sets of kfuncs carry a flag; sets without it are rejected. */
#ifndef BTF_KFUNCS_START
#define BTF_KFUNCS_START(name) BTF_SET8_START(name)
#define BTF_KFUNCS_END(name) BTF_SET8_END(name)
#endif

/* 7.0: every kfunc has trusted arguments, and the flag is gone. */
#ifndef KF_TRUSTED_ARGS
#define KF_TRUSTED_ARGS 0
#endif

/* 6.4 (and stable trees): destructors are called through pointers only; CFI must not seal them. */
#ifndef CFI_NOSEAL
#define CFI_NOSEAL(x)
#endif

/* 6.5: a filter of the set can check who loads a program. Older kernels need no check: BPF tokens
 * came with 6.9, callbacks of programs in process context with 6.10.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define EPF_KFUNC_FILTER(fn) .filter = fn,
#else
#define EPF_KFUNC_FILTER(fn)
#endif

/* 6.4: netfilter programs exist, and programs on cgroups and sockets may call kernel functions.
 * @set: for socket filters; @skb_set: for programs whose context is a socket buffer that begins at
 * its network header; @nf_set: for netfilter programs.
 */
static inline int epf_register_sockets(const struct btf_kfunc_id_set *set,
				       const struct btf_kfunc_id_set *skb_set,
				       const struct btf_kfunc_id_set *nf_set)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	int err = register_btf_kfunc_id_set(BPF_PROG_TYPE_NETFILTER, nf_set);

	err = err ?: register_btf_kfunc_id_set(BPF_PROG_TYPE_CGROUP_SKB, skb_set);
	return err ?: register_btf_kfunc_id_set(BPF_PROG_TYPE_SOCKET_FILTER, set);
#else
	return 0;
#endif
}

/* 6.13: the namespace of a symbol is a string literal. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define EPF_EXPORT(sym) EXPORT_SYMBOL_NS_GPL(sym, "EPOCHFILTER")
#define EPF_IMPORT() MODULE_IMPORT_NS("EPOCHFILTER")
#else
#define EPF_EXPORT(sym) EXPORT_SYMBOL_NS_GPL(sym, EPOCHFILTER)
#define EPF_IMPORT() MODULE_IMPORT_NS(EPOCHFILTER)
#endif

/* How hard vmalloc tries before it fails, without the OOM killer. 6.19 alone, as first released,
 * warns about __GFP_RETRY_MAYFAIL there and ignores it.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0) && LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
#define EPF_VMALLOC_HARD __GFP_NORETRY
#else
#define EPF_VMALLOC_HARD __GFP_RETRY_MAYFAIL
#endif

/* 6.9: programs may pass a map to a kernel function (suffix __map). Return: where the first value
 * of array @map has its first reference with destructor @dtor, or NULL.
 */
static inline void *epf_map_reference(const struct bpf_map *map, void (*dtor)(void *))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	const struct btf_record *fields = map->record;
	u32 i;

	if (map->map_type != BPF_MAP_TYPE_ARRAY || IS_ERR_OR_NULL(fields))
		return NULL;
	for (i = 0; i < fields->cnt; i++)
		if (fields->fields[i].type == BPF_KPTR_REF && fields->fields[i].kptr.dtor == dtor)
			return container_of(map, struct bpf_array, map)->value +
			       fields->fields[i].offset;
#endif
	return NULL;
}

/* 6.13: one call sets clock, mode and callback of a timer. */
static inline void epf_timer_setup(struct hrtimer *timer,
				   enum hrtimer_restart (*fn)(struct hrtimer *))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, fn, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	timer->function = fn;
#endif
}

/* 6.3: the flags of a mapping are written through functions. Faults insert page numbers (memory.c),
 * which are not counted as memory of the process.
 */
static inline void epf_vma_seal_readonly(struct vm_area_struct *vma)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP | VM_PFNMAP, VM_MAYWRITE | VM_MAYEXEC);
#else
	vma->vm_flags |= VM_DONTEXPAND | VM_DONTDUMP | VM_PFNMAP;
	vma->vm_flags &= ~(VM_MAYWRITE | VM_MAYEXEC);
#endif
}

/* Does the module have BTF, which its kfuncs need? */
static inline bool epf_module_has_btf(const struct module *mod)
{
#ifdef CONFIG_DEBUG_INFO_BTF_MODULES
	return mod->btf_data_size;
#else
	return false;
#endif
}

#endif /* EPF_COMPAT_H */
