/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The platform under the core: types, atomics, bit counts. The only file of
 * include/epf/ that tests the platform.
 *
 * Need (every platform supplies these names; nothing else may be used):
 *
 *   EPF_FN                 linkage of a core function on a packet's way
 *   EPF_FN_BIG             linkage of one too big to be copied into each caller
 *   EPF_FN_APART           linkage of one that a verifier is to read by itself,
 *                          once, and not again for each way that leads to it
 *   EPF_FN_RARE            linkage of one that is seldom called, so not copied into its
 *                          callers; where a verifier reads it, as EPF_FN
 *   EPF_FN_RARE_APART      the same; where a verifier reads it, as EPF_FN_APART
 *   EPF_FN_SPLIT           as EPF_FN_APART where a verifier follows mispredicted branches
 *                          (EPF_NO_PERFMON; there EPF_SPLITS is 1), else as EPF_FN
 *   EPF_UNROLL             before a loop of at most 8 rounds
 *   EPF_UNROLL_VERIFIED    the same, for the verifier's sake alone
 *   EPF_UNROLL_PARTS       before a loop over a key's lines, if their number may be a
 *                          constant: likewise
 *   EPF_UNROLL_VERIFIED_ALL  before one whose number of rounds is a constant for a
 *                          verifier alone
 *   EPF_UNROLL_ALL         before a loop whose number of rounds is a constant: likewise
 *   EPF_VERIFIED           1 where a verifier reads the program: each loop needs a
 *                          bound that it sees, and what is looked up may be NULL;
 *                          else 0
 *   epf_load(p)            one untorn 64-bit load, no ordering
 *   epf_load_acquire(p)    the same; later loads and stores stay after it
 *   epf_load_ordered(p)    the same; performed only after every earlier epf_or,
 *                          epf_fetch_or, successful epf_cas and
 *                          epf_load_acquire of this thread took effect
 *   epf_store_release(p,v) one untorn 64-bit store, after everything earlier
 *   epf_or(p,v)            atomic OR; not ordered with what is around it, but for
 *                          epf_load_ordered() behind it, epf_fetch_or() and
 *                          successful epf_cas()
 *   epf_fetch_or(p,v)      atomic OR, returns the old word, full barrier
 *   epf_fetch_add(p,v)     atomic addition, returns the old word, full barrier
 *   epf_cas(p,&old,new)    compare and swap; on failure *old is the word
 *                          found and nothing is ordered; on success a full
 *                          barrier
 *   epf_prefetch(p)        a hint
 *   epf_get_le64(p)        unaligned little-endian load
 *   epf_opaque(v)          v, 32 bits; the compiler forgets where it came from,
 *                          so that it cannot read it from there again
 *   epf_is_constant(v)     does the compiler know v? Always false where it does not tell
 *   epf_forget(v)          v, 32 bits; a verifier forgets what it knows of it, so that it
 *                          reads what follows once, and not for each value
 *   epf_apart(n)           n, a literal: where a verifier allows no variable offset, the
 *                          compiler does not merge this branch with one that has another
 *                          n or none
 *   epf_blank(p,n)         zeroes n bytes, a constant, that are read on a path which a CPU
 *                          takes only in prediction, where a verifier follows those
 *   epf_mulhi(a,b)         high 64 bits of the product
 *   epf_mul(a,b,&low)      the same, and the low 64 bits
 *   struct epf_sum         a sum of 64-bit products modulo 2^128
 *   epf_sum_zero(s)        0
 *   epf_sum_add(s,a,b)     add a product; at most 2^31 of them
 *   epf_sum_low(s)         the sum, low 64 bits
 *   epf_sum_high(s)        high 64 bits
 *   epf_with_bit(v,n)      v | 1 << n mod 64; in one instruction if possible
 *   epf_serial(v)          v, 64 bits; what is made of it is made of this register, and
 *                          not anew of what it was made of
 *   epf_popcount(v)        set bits of a 64-bit word
 *
 * Where the orderings come from:
 *
 *   kernel  atomic64_fetch_or and cmpxchg are fully ordered by the kernel
 *           memory model, atomic64_or is not; the ordered load adds
 *           smp_mb__after_atomic, a compiler barrier on x86 and a dmb on arm64,
 *           which is what epf_or relies on.
 *   user    C11: sequentially consistent read-modify-writes and load. On x86
 *           the load is a plain mov, on arm64 an ldar.
 *   BPF     __sync builtins: atomics whose result is used are fully ordered;
 *           without a use clang emits the unordered form, hence the empty asm
 *           that uses it, but in epf_or: on arm64 the fence of the ordered load,
 *           or the CAS behind it, is what it waits for. Loads and stores are plain:
 *           on x86 that is enough; see epf_bpf_fence() for other machines.
 *   CUDA    system-scope atomics and fences, because the CPU may share the
 *           memory.
 *
 * A user-space file that defines EPF_PRIVATE before its first include gets
 * plain loads and stores instead: for filters that one thread owns.
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
#pragma clang diagnostic ignored "-Wpass-failed" /* the number is no constant */
#define EPF_VERIFIED 1
#define EPF_ASSERT(cond, name) _Static_assert(cond, name)
#ifndef NULL
#define NULL ((void *)0)
#endif
#define memcpy __builtin_memcpy
#define memset __builtin_memset

/* What was written before takes effect, and what was loaded before was current,
 * before anything that follows.
 *
 * x86: the compiler is kept from reordering. Every atomic is a LOCK instruction
 * and so a fence, and loads are not reordered with loads (Intel SDM, volume 3,
 * section 9.2).
 *
 * Others, with -D__TARGET_ARCH_arm64 or without any such definition: one more
 * atomic, on a word of the stack, so that no CPUs compete for a line. On arm64 the
 * kernel makes LDADDAL of it, and LDSETAL and CASAL of those below. Such an
 * instruction orders what precedes it with what follows it (Arm ARM, DDI 0487,
 * B2.3, "Barrier-ordered-before"; herd's aarch64.cat: po; [A]; amo; [L]; po). That
 * its own write is ordered with what follows it, too, the model says only since
 * 2022 ([range([A]; amo; [L])]; po): before, a plain load could be performed before
 * the write of an LDSETAL right before it, which is why O2 of lanes.h needs an
 * atomic between the two (explore: bpf-order). Without the large system extensions the
 * kernel emits LDXR, STLXR and DMB ISH, which is a fence by itself.
 */
EPF_FN void epf_bpf_fence(void)
{
#ifdef __TARGET_ARCH_x86
	__asm__ volatile("" ::: "memory");
#else
	__u64 word = 0, old = __sync_fetch_and_add(&word, 1);

	__asm__ volatile("" :: "r"(old), "r"(&word) : "memory");
#endif
}

EPF_FN __u64 epf_load(const __u64 *p)
{
	return *(const volatile __u64 *)p;
}

/* arm64: later loads may overtake this one, but for those whose address depends on it,
 * and for epf_load_ordered(), whose fence lies between. That is all that lanes.h needs
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

	__asm__ volatile("" :: "r"(old));
	return old;
}

EPF_FN __u64 epf_fetch_add(__u64 *p, __u64 v)
{
	__u64 old = __sync_fetch_and_add(p, v);

	__asm__ volatile("" :: "r"(old));
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
	v -= v >> 1 & 0x5555555555555555ULL; /* no loop: none is bounded */
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
#elif defined(__CUDACC__) /* host side: neither pragma passes nvcc and gcc */
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
	(void)old; /* nobody changed it */
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
	return __atomic_compare_exchange_n(p, old, v, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
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
	memcpy(&v, p, sizeof(v)); /* one load, where shifts may become eight */
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
	__asm__("btsq %1, %0" : "+r"(v) : "r"(n) : "cc"); /* gcc makes three */
	return v;
#else
	return v | 1ULL << (n & 63);
#endif
}

/* Not by __int128: gcc aligns the stack for that in every caller. */
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
/* low + mid * 2^32 + high * 2^64: carries are left for the end, where they take no branch */
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

	__asm__("%0 = %1" : "=w"(low) : "w"((__u32)v)); /* clang 14 makes two shifts */
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
		: "+r"(s->low), "+r"(s->high), "+a"(a) : "r"(b) : "rdx", "cc");
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

/* BPF: verifiers do not follow what four bytes of the stack are that do not begin at a
 * multiple of eight, unless they are 0. Needed only by those that follow mispredicted
 * branches, for which EPF_NO_PERFMON stands.
 */
EPF_FN __u32 epf_forget(__u32 v)
{
#if defined(__bpf__) && defined(EPF_NO_PERFMON)
	__u64 stack, x = (__u64)v + 1;

	__asm__ volatile("*(u32 *)(%1 + 4) = %0\n\t"
			 "%0 = *(u32 *)(%1 + 4)"
			 : "+r"(x) : "r"(&stack));
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
