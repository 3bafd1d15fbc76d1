// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mapped files that shrink. A read behind the new end of the file is a SIGBUS, in whichever
 * thread reads. The handler puts a page of zeros there, so the thread goes on, all clean up as
 * after any error, and no answer is used.
 */
#include "common/torn.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_bytes;

/* Written by the thread that faults, read by the one that waits for it: its end, or that of
 * its work, orders the two.
 */
static volatile sig_atomic_t torn;

/* mmap() is a bare system call, so it is safe here. BUS_ADRERR is given for mapped files only; any
 * other SIGBUS ends the process when this returns.
 */
static void on_bus(int signal_nr, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr & ~(uintptr_t)(page_bytes - 1);
	int err = errno;

	(void)context;
	if (info->si_code == BUS_ADRERR &&
	    mmap((void *)at, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != MAP_FAILED) {
		torn = 1;
	} else {
		signal(signal_nr, SIG_DFL);
		raise(signal_nr);
	}
	errno = err;
}

void catch_torn(void)
{
	struct sigaction sa = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };

	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	sigaction(SIGBUS, &sa, NULL);
}

bool torn_file(void)
{
	return torn;
}
