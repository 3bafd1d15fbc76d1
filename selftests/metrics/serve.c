// SPDX-License-Identifier: GPL-2.0
/*
 * usage: serve LISTEN [CASE]
 *
 * Runs an endpoint until the end of standard input, and prints its address. CASE: which
 * simulated filters exist, if built with fake.c. On standard input 's' sends a signal,
 * which the main thread blocks until a 'u' comes. EPF_HEAD_MS and
 * EPF_REQUEST_MS: time limits of a request's head and of its rest.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "epfagent/http.h"
#include "fake.h"

bool fake_case(const char *name) __attribute__((weak));

static void on_signal(int signal)
{
	const char *text = gettid() == getpid() ? "main\n" : "elsewhere\n";

	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		_exit(1);
}

/* In place of the C library's: a descriptor that is closed may have become another one. */
int shutdown(int fd, int how)
{
	int ret = (int)syscall(SYS_shutdown, fd, how);

	if (ret && (errno == EBADF || errno == ENOTSOCK)) {
		fprintf(stderr, "error: a descriptor that is closed was shut down\n");
		_exit(1);
	}
	return ret;
}

int main(int argc, char **argv)
{
	struct agent_stats stats = {
		.audits_done = 3, .keys_asked = 1000, .keys_present = 10, .clients = 1
	};
	struct metrics_conf conf = { .stats = &stats };
	struct sigaction sa = { .sa_handler = on_signal };
	struct rec_error e = { "" };
	struct metrics *m;
	sigset_t usr1;
	int byte;

	if (argc < 2 || (argc > 2 && !(fake_case && fake_case(argv[2]))))
		return 2;
	conf.listen = argv[1];
	if (getenv("EPF_HEAD_MS"))
		conf.head_ms = (unsigned int)atoi(getenv("EPF_HEAD_MS"));
	if (getenv("EPF_REQUEST_MS"))
		conf.request_ms = (unsigned int)atoi(getenv("EPF_REQUEST_MS"));
	sigaction(SIGUSR1, &sa, NULL);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	if (metrics_start(&m, &conf, &e)) {
		fprintf(stderr, "error: %s\n", e.text);
		return 1;
	}
	printf("%s\n", metrics_where(m));
	fflush(stdout);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	while ((byte = getchar()) != EOF) {
		if (byte == 's')
			kill(getpid(), SIGUSR1);
		pthread_sigmask(byte == 'u' ? SIG_UNBLOCK : SIG_BLOCK, &usr1, NULL);
	}
	metrics_stop(m);
	return 0;
}
