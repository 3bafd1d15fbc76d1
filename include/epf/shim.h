/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The platform under the core: types, atomics, bit counts. This is the only file of
 * include/epf/ that tests the platform.
 *
 * Need (every platform supplies these names; the core uses nothing else):
 *
 *   EPF_FN                 linkage of a core function on the packet path
 *   EPF_FN_BIG             linkage of a function that is too big to be copied into each
 *                          caller
 *   EPF_FN_APART           linkage of a function that a verifier reads by itself, once,
 *                          instead of once for each path that leads to it
 *   EPF_FN_RARE            linkage of a rarely called function, which is not copied into
 *                          its callers; where a verifier reads it, the same as EPF_FN
 *   EPF_FN_RARE_APART      the same; where a verifier reads it, the same as EPF_FN_APART
 *   EPF_FN_SPLIT           EPF_FN_APART where the verifier follows mispredicted branches
 *                          (EPF_NO_PERFMON, where EPF_SPLITS is 1), otherwise EPF_FN
 *   EPF_UNROLL             goes before a loop of at most 8 rounds
 *   EPF_UNROLL_VERIFIED    the same, but only for the verifier's sake
 *   EPF_UNROLL_PARTS       goes before a loop over a key's lines whose number may be a
 *                          constant
 *   EPF_UNROLL_VERIFIED_ALL goes before a loop whose number of rounds is a constant only
 *                          for a verifier
 *   EPF_UNROLL_ALL         goes before a loop whose number of rounds is a constant
 *   EPF_VERIFIED           1 where a verifier reads the program, so that each loop needs a
 *                          bound that the verifier sees, and each map lookup may return
 *                          NULL; otherwise 0
 *   EPF_TABLES             1 where tables of functions are possible: in C. C++ before 20 has
 *                          no designated initializers, BPF has no indirect call
 *   epf_load(p)            one untorn 64-bit load, no ordering
 *   epf_load_acquire(p)    the same; later loads and stores stay after it
 *   epf_load_ordered(p)    the same; it is performed only after every earlier epf_or,
 *                          epf_fetch_or, successful epf_cas and epf_load_acquire of this
 *                          thread took effect
 *   epf_load_later(p)      the same; it is performed only after every earlier load of this
 *                          thread. A load whose address depends on it comes after it
 *   epf_store_release(p,v) one untorn 64-bit store, after everything earlier
 *   epf_or(p,v)            atomic OR; ordered only with a later epf_load_ordered(),
 *                          epf_fetch_or() or successful epf_cas()
 *   epf_fetch_or(p,v)      atomic OR, returns the old word, full barrier
 *   epf_fetch_add(p,v)     atomic addition, returns the old word, full barrier
 *   epf_cas(p,&old,new)    compare and swap; on failure *old becomes the word that was
 *                          found, and nothing is ordered; on success it is a full barrier
 *   epf_prefetch(p)        a hint
 *   epf_get_le64(p)        unaligned little-endian load
 *   epf_opaque(v)          v, 32 bits; the compiler forgets where it came from, so it
 *                          cannot read it from there again
 *   epf_is_constant(v)     does the compiler know v? Always false where the compiler cannot
 *                          tell
 *   epf_forget(v)          v, 32 bits; a verifier forgets what it knows of v, so it reads
 *                          the code that follows once, and not once for each value
 *   epf_apart(n)           n is a literal; where a verifier allows no variable offset, the
 *                          compiler does not merge this branch with one that has another n
 *                          or none
 *   epf_blank(p,n)         zeroes n bytes (a constant) that only a mispredicted path reads,
 *                          where a verifier follows such paths
 *   epf_mulhi(a,b)         high 64 bits of the product
 *   epf_mul(a,b,&low)      the same, and the low 64 bits
 *   struct epf_sum         a sum of 64-bit products modulo 2^128
 *   epf_sum_zero(s)        sets the sum to 0
 *   epf_sum_add(s,a,b)     adds a product; a sum takes at most 2^31 of them
 *   epf_sum_low(s)         low 64 bits of the sum
 *   epf_sum_high(s)        high 64 bits
 *   epf_with_bit(v,n)      v | 1 << n mod 64; in one instruction if possible
 *   epf_serial(v)          v, 64 bits; the compiler computes later values from this
 *                          register, and does not compute v again
 *   epf_popcount(v)        set bits of a 64-bit word
 *
 * Where the orderings come from:
 *
 *   kernel  atomic64_fetch_or and cmpxchg are fully ordered by the kernel memory model,
 *           atomic64_or is not. The ordered load adds smp_mb__after_atomic, a compiler
 *           barrier on x86 and a dmb on arm64, and epf_or relies on it.
 *   user    C11: sequentially consistent read-modify-writes and load. On x86 the load is a
 *           plain mov, on arm64 an ldar. There a read-modify-write is ldsetal, casal or a loop
 *           of ldaxr and stlxr: its write precedes the ldar, but a plain load may overtake it.
 *   BPF     __sync builtins. An atomic whose result is used is fully ordered. If the result
 *           is unused, clang emits the unordered form, so an empty asm uses it. epf_or has
 *           no such asm: on arm64 the fence of the ordered load, or the CAS after it, waits
 *           for the OR. Loads and stores are plain, which is enough on x86; epf_bpf_fence()
 *           describes other machines.
 *   CUDA    system-scope atomics and fences, because the CPU may share the memory.
 *
 * A user-space file that defines EPF_PRIVATE before its first include gets plain loads and
 * stores instead, for filters that one thread owns.
 */
#ifndef EPF_SHIM_H
#define EPF_SHIM_H

#if defined(__KERNEL__) /* ------------------------------------ kernel ---- */

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/prefetch.h>
#include <linux/string.h>
#include <linux/types.h>
#if __has_include(<linux/unaligned.h>)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#define EPF_FN static __always_inline
#define EPF_FN_BIG static __maybe_unused
#define EPF_FN_APART EPF_FN
#define EPF_FN_RARE static noinline __maybe_unused
#define EPF_FN_RARE_APART EPF_FN_RARE
#define EPF_UNROLL _Pragma("GCC unroll 8")
#define EPF_ASSERT(cond, name) static_assert(cond, name)

EPF_FN __u64 epf_load(const __u64 *p)
{
	return READ_ONCE(*p);
}

EPF_FN __u64 epf_load_acquire(const __u64 *p)
{
	return smp_load_acquire(p);
}

EPF_FN __u64 epf_load_ordered(const __u64 *p)
{
	smp_mb__after_atomic();
	return READ_ONCE(*p);
}

EPF_FN __u64 epf_load_later(const __u64 *p)
{
	smp_rmb();
	return READ_ONCE(*p);
}

EPF_FN void epf_store_release(__u64 *p, __u64 v)
{
	smp_store_release(p, v);
}

EPF_FN void epf_or(__u64 *p, __u64 v)
{
	atomic64_or(v, (atomic64_t *)p);
}

EPF_FN __u64 epf_fetch_or(__u64 *p, __u64 v)
{
	return atomic64_fetch_or(v, (atomic64_t *)p);
}

EPF_FN __u64 epf_fetch_add(__u64 *p, __u64 v)
{
	return atomic64_fetch_add(v, (atomic64_t *)p);
}

EPF_FN bool epf_cas(__u64 *p, __u64 *old, __u64 v)
{
	return atomic64_try_cmpxchg((atomic64_t *)p, (s64 *)old, v);
}

EPF_FN void epf_prefetch(const void *p)
{
	prefetch(p);
}

EPF_FN __u64 epf_get_le64(const void *p)
{
	return get_unaligned_le64(p);
}

EPF_FN __u64 epf_mulhi(__u64 a, __u64 b)
{
	return mul_u64_u64_shr(a, b, 64);
}

EPF_FN __u32 epf_popcount(__u64 v)
{
	return hweight64(v);
}

#else /* ------------------------------------------ not the kernel ---- */

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#if defined(__bpf__) /* ------------------------------------------ BPF ---- */

#include <linux/errno.h>
#include <stdbool.h>

#define EPF_FN static inline __attribute__((always_inline, unused))
#define EPF_FN_BIG static __attribute__((unused))
#define EPF_FN_APART __attribute__((weak, noinline))
#define EPF_FN_RARE EPF_FN
#define EPF_FN_RARE_APART EPF_FN_APART
#ifdef EPF_NO_PERFMON
#define EPF_FN_SPLIT EPF_FN_APART
#define EPF_SPLITS 1
#endif
#define EPF_UNROLL _Pragma("unroll 8")
#define EPF_UNROLL_VERIFIED EPF_UNROLL
#define EPF_UNROLL_PARTS _Pragma("clang loop unroll(full)")
#define EPF_UNROLL_ALL EPF_UNROLL_PARTS
#define EPF_UNROLL_VERIFIED_ALL EPF_UNROLL_ALL
#pragma clang diagnostic ignored "-Wpass-failed" /* the number of rounds may be no constant */
#define EPF_VERIFIED 1
#define EPF_ASSERT(cond, name) _Static_assert(cond, name)
#ifndef NULL
#define NULL ((void *)0)
#endif
#define memcpy __builtin_memcpy
#define memset __builtin_memset

/* Earlier stores take effect, and earlier loads are performed, before anything that
 * follows.
 *
 * x86: an empty asm keeps the compiler from reordering. Every atomic is a LOCK instruction
 * and therefore a fence, and loads are not reordered with loads (Intel SDM, volume 3,
 * section 9.2).
 *
 * Other machines, with -D__TARGET_ARCH_arm64 or without any such definition: one more
 * atomic, on a word of the stack, so that CPUs do not compete for a cache line. On arm64
 * the kernel translates it to LDADDAL, and the atomics below to LDSETAL and CASAL. Such an
 * instruction orders what precedes it with what follows it (Arm ARM, DDI 0487, B2.3,
 * "Barrier-ordered-before"; herd's aarch64.cat: po; [A]; amo; [L]; po). The model has
 * ordered the instruction's own write with what follows it only since 2022 ([range([A];
 * amo; [L])]; po). Before that, a plain load could be performed before the write of an
 * LDSETAL right before it, which is why O2 of lanes.h needs an atomic between the two
 * (explore: bpf-order). Without the large system extensions the kernel emits LDXR, STLXR
 * and DMB ISH, which is a fence by itself.
 */
EPF_FN void epf_bpf_fence(void)
{
#ifdef __TARGET_ARCH_x86
	__asm__ volatile("" ::: "memory");
#else
	__u64 word = 0, old = __sync_fetch_and_add(&word, 1);

	__asm__ volatile("" ::"r"(old), "r"(&word) : "memory");
#endif
}

EPF_FN __u64 epf_load(const __u64 *p)
{
	return *(const volatile __u64 *)p;
}

/* arm64: later loads may overtake this one, except loads whose address depends on it, and
 * except epf_load_ordered(), which has a fence first. That is all that lanes.h needs
 * (explore: the scenes bpf-*).
 */
EPF_FN __u64 epf_load_acquire(const __u64 *p)
{
	__u64 v = *(const volatile __u64 *)p;

	__asm__ volatile("" ::: "memory");
	return v;
}

EPF_FN __u64 epf_load_ordered(const __u64 *p)
{
	epf_bpf_fence();
	return *(const volatile __u64 *)p;
}

EPF_FN __u64 epf_load_later(const __u64 *p)
{
	epf_bpf_fence();
	return *(const volatile __u64 *)p;
}

EPF_FN void epf_store_release(__u64 *p, __u64 v)
{
	epf_bpf_fence();
	*(volatile __u64 *)p = v;
}

EPF_FN void epf_or(__u64 *p, __u64 v)
{
	__sync_fetch_and_or(p, v);
}

EPF_FN __u64 epf_fetch_or(__u64 *p, __u64 v)
{
	__u64 old = __sync_fetch_and_or(p, v);

	__asm__ volatile("" ::"r"(old));
	return old;
}

EPF_FN __u64 epf_fetch_add(__u64 *p, __u64 v)
{
	__u64 old = __sync_fetch_and_add(p, v);

	__asm__ volatile("" ::"r"(old));
	return old;
}

EPF_FN bool epf_cas(__u64 *p, __u64 *old, __u64 v)
{
	__u64 want = *old;

	*old = __sync_val_compare_and_swap(p, want, v);
	return *old == want;
}

EPF_FN void epf_prefetch(const void *p)
{
	(void)p;
}

EPF_FN __u64 epf_mulhi(__u64 a, __u64 b)
{
	__u64 al = (__u32)a, ah = a >> 32, bl = (__u32)b, bh = b >> 32;
	__u64 mid = ah * bl + (al * bl >> 32);
	__u64 low = al * bh + (__u32)mid;

	return ah * bh + (mid >> 32) + (low >> 32);
}

EPF_FN __u32 epf_popcount(__u64 v)
{
	v -= v >> 1 & 0x5555555555555555ULL; /* no loop, because no loop is bounded here */
	v = (v & 0x3333333333333333ULL) + (v >> 2 & 0x3333333333333333ULL);
	v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (__u32)(v * 0x0101010101010101ULL >> 56);
}

#else /* ---------------------------------------- C, C++ and CUDA ---- */

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#ifdef __CUDACC__
#define EPF_FN static __host__ __device__ __forceinline__
#define EPF_FN_BIG static __host__ __device__ __attribute__((unused))
#define EPF_FN_RARE EPF_FN_BIG
#else
#define EPF_FN static inline __attribute__((always_inline, unused))
#define EPF_FN_BIG static __attribute__((unused))
#define EPF_FN_RARE static __attribute__((noinline, unused))
#endif
#define EPF_FN_APART EPF_FN
#define EPF_FN_RARE_APART EPF_FN_RARE
#if defined(__CUDA_ARCH__)
#define EPF_UNROLL _Pragma("unroll 8")
#elif defined(__CUDACC__) /* host side: no pragma suits both nvcc and gcc */
#define EPF_UNROLL
#else
#define EPF_UNROLL _Pragma("GCC unroll 8")
#endif
#ifdef __cplusplus
#define EPF_ASSERT(cond, name) static_assert(cond, name)
#else
#define EPF_ASSERT(cond, name) _Static_assert(cond, name)
#endif

#ifdef __CUDA_ARCH__ /* ------------------------------------ device ---- */

EPF_FN __u64 epf_load(const __u64 *p)
{
	return *(const volatile __u64 *)p;
}

EPF_FN __u64 epf_load_acquire(const __u64 *p)
{
	__u64 v = *(const volatile __u64 *)p;

	__threadfence_system();
	return v;
}

EPF_FN __u64 epf_load_ordered(const __u64 *p)
{
	__threadfence_system();
	return *(const volatile __u64 *)p;
}

EPF_FN __u64 epf_load_later(const __u64 *p)
{
	__threadfence_system();
	return *(const volatile __u64 *)p;
}

EPF_FN void epf_store_release(__u64 *p, __u64 v)
{
	__threadfence_system();
	*(volatile __u64 *)p = v;
}

EPF_FN __u64 epf_fetch_or(__u64 *p, __u64 v)
{
	__u64 old;

	__threadfence_system();
	old = atomicOr_system(p, v);
	__threadfence_system();
	return old;
}

EPF_FN __u64 epf_fetch_add(__u64 *p, __u64 v)
{
	__u64 old;

	__threadfence_system();
	old = atomicAdd_system(p, v);
	__threadfence_system();
	return old;
}

EPF_FN bool epf_cas(__u64 *p, __u64 *old, __u64 v)
{
	__u64 want = *old;

	__threadfence_system();
	*old = atomicCAS_system(p, want, v);
	__threadfence_system();
	return *old == want;
}

EPF_FN void epf_prefetch(const void *p)
{
	(void)p;
}

EPF_FN __u64 epf_mulhi(__u64 a, __u64 b)
{
	return __umul64hi(a, b);
}

EPF_FN __u32 epf_popcount(__u64 v)
{
	return __popcll(v);
}

#elif defined(EPF_PRIVATE) /* ------------------- host, one thread ---- */

EPF_FN __u64 epf_load(const __u64 *p)
{
	return *p;
}

EPF_FN __u64 epf_load_acquire(const __u64 *p)
{
	return *p;
}

EPF_FN __u64 epf_load_ordered(const __u64 *p)
{
	return *p;
}

EPF_FN __u64 epf_load_later(const __u64 *p)
{
	return *p;
}

EPF_FN void epf_store_release(__u64 *p, __u64 v)
{
	*p = v;
}

EPF_FN __u64 epf_fetch_or(__u64 *p, __u64 v)
{
	__u64 old = *p;

	*p = old | v;
	return old;
}

EPF_FN __u64 epf_fetch_add(__u64 *p, __u64 v)
{
	__u64 old = *p;

	*p = old + v;
	return old;
}

EPF_FN bool epf_cas(__u64 *p, __u64 *old, __u64 v)
{
	(void)old; /* no other thread changes it */
	*p = v;
	return true;
}

#else /* ------------------------------------------- host, C or C++ ---- */

EPF_FN __u64 epf_load(const __u64 *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

EPF_FN __u64 epf_load_acquire(const __u64 *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

EPF_FN __u64 epf_load_ordered(const __u64 *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

EPF_FN __u64 epf_load_later(const __u64 *p)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

EPF_FN void epf_store_release(__u64 *p, __u64 v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

EPF_FN __u64 epf_fetch_or(__u64 *p, __u64 v)
{
	return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);
}

EPF_FN __u64 epf_fetch_add(__u64 *p, __u64 v)
{
	return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}

EPF_FN bool epf_cas(__u64 *p, __u64 *old, __u64 v)
{
	return __atomic_compare_exchange_n(p, old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

#endif /* device, one thread, or host */

#ifndef __CUDA_ARCH__

EPF_FN void epf_prefetch(const void *p)
{
	__builtin_prefetch(p);
}

EPF_FN __u64 epf_mulhi(__u64 a, __u64 b)
{
	return (__u64)(__extension__((unsigned __int128)a * b) >> 64);
}

EPF_FN __u32 epf_popcount(__u64 v)
{
	return (__u32)__builtin_popcountll(v);
}

#endif /* host */
#endif /* BPF or C, C++ and CUDA */

EPF_FN __u64 epf_get_le64(const void *p)
{
	__u64 v;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(&v, p, sizeof(v)); /* one load; shifts may become eight */
#else
	const __u8 *b = (const __u8 *)p;
	int i;

	for (v = 0, i = 7; i >= 0; i--)
		v = v << 8 | b[i];
#endif
	return v;
}

#endif /* kernel or not */

#if !defined(__KERNEL__) && !defined(__bpf__)
EPF_FN void epf_or(__u64 *p, __u64 v)
{
	epf_fetch_or(p, v);
}
#endif

#if !defined(__cplusplus) && !defined(__bpf__)
#define EPF_TABLES 1
#else
#define EPF_TABLES 0
#endif
#ifndef EPF_VERIFIED
#define EPF_VERIFIED 0
#endif
#ifndef EPF_UNROLL_VERIFIED
#define EPF_UNROLL_VERIFIED
#define EPF_UNROLL_VERIFIED_ALL
#endif
#ifdef __CUDACC__
#define epf_is_constant(v) false
#else
#define epf_is_constant(v) __builtin_constant_p(v)
#endif
#ifndef EPF_FN_SPLIT
#define EPF_FN_SPLIT EPF_FN
#define EPF_SPLITS 0
#endif
#ifndef EPF_UNROLL_PARTS
#define EPF_UNROLL_PARTS EPF_UNROLL
#define EPF_UNROLL_ALL EPF_UNROLL
#endif

EPF_FN __u64 epf_with_bit(__u64 v, __u64 n)
{
#if defined(__x86_64__) && !defined(__CUDA_ARCH__)
	__asm__("btsq %1, %0" : "+r"(v) : "r"(n) : "cc"); /* gcc emits three instructions */
	return v;
#else
	return v | 1ULL << (n & 63);
#endif
}

/* This does not use __int128: gcc would align the stack for it in every caller. */
EPF_FN __u64 epf_mul(__u64 a, __u64 b, __u64 *low)
{
#if defined(__x86_64__) && !defined(__CUDA_ARCH__)
	__asm__("mulq %2" : "+a"(a), "=d"(b) : "r"(b) : "cc");
	*low = a;
	return b;
#else
	*low = a * b;
	return epf_mulhi(a, b);
#endif
}

EPF_FN __u64 epf_serial(__u64 v)
{
#ifndef __CUDA_ARCH__
	__asm__("" : "+r"(v));
#endif
	return v;
}

#if defined(__bpf__)
/* The sum is low + mid * 2^32 + high * 2^64. Carries are added at the end, where they take
 * no branch.
 */
struct epf_sum {
	__u64 low;
	__u64 mid;
	__u64 high;
};

EPF_FN void epf_sum_zero(struct epf_sum *s)
{
	s->low = 0;
	s->mid = 0;
	s->high = 0;
}

EPF_FN __u64 epf_low_half(__u64 v)
{
	__u32 low;

	__asm__("%0 = %1" : "=w"(low) : "w"((__u32)v)); /* clang 14 emits two shifts */
	return low;
}

EPF_FN void epf_sum_add(struct epf_sum *s, __u64 a, __u64 b)
{
	__u64 al = epf_low_half(a), ah = a >> 32;
	__u64 bl = epf_low_half(b), bh = b >> 32;
	__u64 low = al * bl, mid1 = al * bh, mid2 = ah * bl;

	s->low += epf_low_half(low);
	s->mid += (low >> 32) + epf_low_half(mid1) + epf_low_half(mid2);
	s->high += ah * bh + (mid1 >> 32) + (mid2 >> 32);
}

EPF_FN __u64 epf_sum_low(const struct epf_sum *s)
{
	return s->low + (s->mid << 32);
}

EPF_FN __u64 epf_sum_high(const struct epf_sum *s)
{
	return s->high + ((s->mid + (s->low >> 32)) >> 32);
}

#else

struct epf_sum {
	__u64 low;
	__u64 high;
};

EPF_FN void epf_sum_zero(struct epf_sum *s)
{
	s->low = 0;
	s->high = 0;
}

EPF_FN void epf_sum_add(struct epf_sum *s, __u64 a, __u64 b)
{
#if defined(__x86_64__) && !defined(__CUDA_ARCH__)
	__asm__("mulq %3\n\taddq %%rax, %0\n\tadcq %%rdx, %1"
		: "+r"(s->low), "+r"(s->high), "+a"(a)
		: "r"(b)
		: "rdx", "cc");
#else
	__u64 low, high = epf_mul(a, b, &low);

	s->low += low;
	s->high += high + (s->low < low);
#endif
}

EPF_FN __u64 epf_sum_low(const struct epf_sum *s)
{
	return s->low;
}

EPF_FN __u64 epf_sum_high(const struct epf_sum *s)
{
	return s->high;
}

#endif /* BPF or not */

EPF_FN __u32 epf_opaque(__u32 v)
{
	__asm__ __volatile__("" : "+r"(v));
	return v;
}

/* BPF: a verifier does not track the value of four bytes of the stack that do not begin at
 * a multiple of eight, unless they are 0. Only verifiers that follow mispredicted branches
 * (EPF_NO_PERFMON) need this.
 */
EPF_FN __u32 epf_forget(__u32 v)
{
#if defined(__bpf__) && defined(EPF_NO_PERFMON)
	__u64 stack, x = (__u64)v + 1;

	__asm__ volatile("*(u32 *)(%1 + 4) = %0\n\t"
			 "%0 = *(u32 *)(%1 + 4)"
			 : "+r"(x)
			 : "r"(&stack));
	return (__u32)x - 1;
#else
	return v;
#endif
}

#if defined(__bpf__) && defined(EPF_NO_PERFMON)
#define epf_apart(n) __asm__ volatile("" ::"i"(n) : "memory")
#else
#define epf_apart(n) ((void)0)
#endif

EPF_FN void epf_blank(void *p, __u32 n)
{
#ifdef EPF_NO_PERFMON
	memset(p, 0, n);
#else
	(void)p;
	(void)n;
#endif
}

EPF_FN __u64 epf_rotl(__u64 v, __u32 n)
{
	return v << n | v >> (64 - n);
}

#endif /* EPF_SHIM_H */
