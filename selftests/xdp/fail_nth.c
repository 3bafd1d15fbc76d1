// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into epfctl: the EPF_NTH-th bpf(2) call fails with ENOMEM, as if the kernel
 * had no memory. It then creates the file EPF_STRUCK.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static long raw(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

static int strikes(void)
{
	static int countdown;
	const char *nth = getenv("EPF_NTH"), *struck = getenv("EPF_STRUCK");

	if (!countdown)
		countdown = nth && struck ? atoi(nth) : -1;
	if (countdown < 0 || --countdown)
		return 0;
	countdown = -1;
	close(open(struck, O_WRONLY | O_CREAT, 0600));
	return 1;
}

long syscall(long nr, ...)
{
	long a[6], ret;
	va_list args;
	int i;

	va_start(args, nr);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (nr == SYS_bpf && strikes())
		ret = -ENOMEM;
	else
		ret = raw(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (ret < 0 && ret > -4096) {
		errno = (int)-ret;
		return -1;
	}
	return ret;
}
