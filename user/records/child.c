// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "records/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Why the program did not start: exit statuses of the child. */
#define MISSING 127
#define NOT_STARTED 126

#define STACK_BYTES (2u << 20) /* of each thread */
#define COPY_MAX (4ULL << 30)  /* bytes of a copy */
#define NOTE "note: "
#define COPY_PIECE (128u << 10)

/**
 * struct child - a program at work
 * @program: it
 * @pid: 0: it was waited for
 * @out: its standard output
 * @err: its standard error, which never blocks at either end
 */
struct child {
	const struct child_program *program;
	pid_t pid;
	int out;
	int err;
};

/* No capabilities, nor any after execve() as root. */
static bool drop(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0, 0, 0 } };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !syscall(SYS_capset, &head, none);
}

static bool limit(void)
{
	struct rlimit data = { CHILD_MEMORY, CHILD_MEMORY }, core = { 0, 0 };
	struct rlimit stack = { STACK_BYTES, STACK_BYTES };

	return !setrlimit(RLIMIT_DATA, &data) && !setrlimit(RLIMIT_STACK, &stack) &&
	       !setrlimit(RLIMIT_CORE, &core);
}

/* In the child, where other threads may have held any lock: only functions that are safe in
 * signal handlers, and execvpe(), which in glibc is as well.
 */
static void child_run(const struct child_program *p, int file, int out, int err, char *const env[])
{
	sigset_t empty;

	sigemptyset(&empty);
	sigprocmask(SIG_SETMASK, &empty, NULL);
	signal(SIGPIPE, SIG_DFL);
	setsid(); /* Ctrl-C is for the parent */
	if (dup2(file, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0 ||
	    syscall(SYS_close_range, 3U, ~0U, 0U) || !limit() || !drop())
		_exit(NOT_STARTED);
	execvpe(p->argv[0], p->argv, env);
	_exit(errno == ENOENT ? MISSING : NOT_STARTED);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* dup2() must not overwrite what it still needs, so no descriptor is below 3. */
static int above_std(int fd)
{
	int high;

	if (fd < 0 || fd > 2)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	close(fd);
	return high;
}

static bool open_pipe(int end[2], int flags)
{
	if (pipe2(end, O_CLOEXEC | flags))
		return false;
	end[0] = above_std(end[0]);
	end[1] = above_std(end[1]);
	return end[0] >= 0 && end[1] >= 0;
}

/* The environment: where programs are, and the C locale. @path has room for the former. */
static int spawn(struct child *c, int file, char *path)
{
	static char lang[] = "LC_ALL=C";
	char *const env[] = { path, lang, NULL };
	int out[2] = { -1, -1 }, err[2] = { -1, -1 };
	int ret = 0;

	if (!open_pipe(out, 0) || !open_pipe(err, O_NONBLOCK))
		ret = -errno;
	else if ((c->pid = fork()) < 0)
		ret = -errno;
	if (!ret && !c->pid)
		child_run(c->program, file, out[1], err[1], env);
	if (ret)
		c->pid = 0;
	c->out = out[0];
	c->err = err[0];
	close_fd(out[1]);
	close_fd(err[1]);
	return ret;
}

static int child_start_program(struct child *c, int file)
{
	const char *dirs = getenv("PATH");
	char *path;
	int ret;

	if (asprintf(&path, "PATH=%s", dirs ? dirs : "/usr/local/bin:/usr/bin:/bin") < 0)
		return -ENOMEM;
	ret = spawn(c, file, path);
	free(path);
	return ret;
}

/* Return: 0; a negative errno. */
static int copy_all(const struct child_file *f, FILE *to, struct rec_error *e)
{
	static const char too_long[] = "more than 4 GiB in a pipe or compressed: give the "
				       "file, unpacked";
	char *piece = malloc(COPY_PIECE);
	bool ok = piece && fwrite(f->head, 1, f->len, to) == f->len;
	__u64 bytes = f->len;
	ssize_t n = 0;

	while (ok && bytes <= COPY_MAX && !(f->stop && *f->stop) &&
	       (n = stream_read(*f->stream, piece, COPY_PIECE)) > 0) {
		ok = fwrite(piece, 1, (size_t)n, to) == (size_t)n;
		bytes += (__u64)n;
	}
	free(piece);
	if (n < 0)
		return rec_error_set(e, (int)n, "%s", stream_why(*f->stream));
	if (f->stop && *f->stop)
		return rec_error_set(e, -EINTR, "interrupted");
	if (bytes > COPY_MAX)
		return rec_error_set(e, -E2BIG, "%s", too_long);
	if (!ok || fflush(to))
		return rec_error_set(e, -EIO, "cannot copy it into /tmp: %s", strerror(errno));
	return 0;
}

/* Return: a descriptor of a copy without a name; a negative errno. */
static int copied(const struct child_file *f, struct rec_error *e)
{
	FILE *copy = tmpfile();
	int fd, ret;

	if (!copy)
		return rec_error_set(e, -errno, "cannot make a file in /tmp: %s", strerror(errno));
	ret = copy_all(f, copy, e);
	fd = fcntl(fileno(copy), F_DUPFD_CLOEXEC, 3);
	if (!ret && fd < 0)
		ret = rec_error_set(e, -errno, "%s", strerror(errno));
	fclose(copy);
	if (!ret)
		return fd;
	close_fd(fd);
	return ret;
}

/* The child opens the file by a path to the descriptor, and needs the right to do so.
 * Return: a descriptor of the same file; -1: it has to be copied.
 */
static int direct(const struct child_file *f)
{
	char path[32];
	struct stat st;

	if (stream_packed(*f->stream) || fstat(f->fd, &st) || !S_ISREG(st.st_mode))
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	return above_std(open(path, O_RDONLY | O_CLOEXEC));
}

static int file_of(const struct child *c, const struct child_file *f, struct rec_error *e)
{
	int fd = direct(f);

	if (fd >= 0 || f->may_copy)
		return fd >= 0 ? fd : copied(f, e);
	return rec_error_set(e, -EOPNOTSUPP, "%s would need a copy of the file: use --no-agent",
			     c->program->name);
}

/* Return: the wait status, or a negative errno. */
static int child_await(struct child *c)
{
	int status, ret;

	do
		ret = waitpid(c->pid, &status, 0);
	while (ret < 0 && errno == EINTR);
	c->pid = 0;
	return ret < 0 ? -errno : status;
}

/* The first line on its standard error; "": it was silent. */
static void complaint(const struct child *c, char *text, size_t room)
{
	ssize_t n = read(c->err, text, room - 1);
	size_t i, len;

	text[n > 0 ? n : 0] = 0;
	len = strspn(text, "\r\n");
	memmove(text, text + len, strlen(text + len) + 1);
	text[strcspn(text, "\r\n")] = 0;
	for (i = 0; text[i]; i++)
		if (text[i] < ' ' || text[i] == 0x7f)
			text[i] = '?';
}

/* Take a note as the text that the stream keeps. Return: whether it is one. */
static bool is_note(const char *text, char *why, size_t room)
{
	bool note = !strncmp(text, NOTE, strlen(NOTE));

	if (note)
		snprintf(why, room, "%s", text + strlen(NOTE));
	return note;
}

/* As the end of a stream. nfdump exits with 0 after damage, and says so on standard error
 * only.
 */
static int child_end(void *ctx, char *why, size_t room)
{
	struct child *c = ctx;
	const char *name = c->program->name;
	int status = child_await(c);
	char text[128];

	complaint(c, text, sizeof(text));
	if (!status && (!*text || is_note(text, why, room)))
		return 0;
	if (status < 0)
		snprintf(why, room, "cannot learn how %s ended: %s", name, strerror(-status));
	else if (WIFSIGNALED(status))
		snprintf(why, room, "%s was ended by signal %d", name, WTERMSIG(status));
	else if (WEXITSTATUS(status) == MISSING)
		snprintf(why, room, "%s", c->program->missing);
	else if (WEXITSTATUS(status) == NOT_STARTED)
		snprintf(why, room, "%s could not be started", name);
	else if (*text)
		snprintf(why, room, "%s: %s", name, text);
	else
		snprintf(why, room, "%s failed with exit status %d", name, WEXITSTATUS(status));
	return -EBADMSG;
}

/* The stream has what the child prints. */
static int take_over(struct child *c, struct stream **stream)
{
	struct stream *s = stream_open(c->out, STREAM_WINDOW_LEAST);

	if (!s)
		return -ENOMEM;
	stream_on_end(s, child_end, c);
	stream_close(*stream);
	*stream = s;
	return 0;
}

int child_start(struct child **child, const struct child_program *p, const struct child_file *f,
		struct rec_error *e)
{
	struct child *c = *child = malloc(sizeof(*c));
	int file, ret;

	if (!c)
		return rec_error_set(e, -ENOMEM, "out of memory");
	*c = (struct child){ .program = p, .out = -1, .err = -1 };
	file = file_of(c, f, e);
	if (file < 0)
		return file;
	ret = child_start_program(c, file);
	close(file);
	if (!ret)
		ret = take_over(c, f->stream);
	return ret ? rec_error_set(e, ret, "cannot run %s: %s", p->name, strerror(-ret)) : 0;
}

void child_close(struct child *c)
{
	if (!c)
		return;
	if (c->pid) {
		kill(c->pid, SIGKILL);
		child_await(c);
	}
	close_fd(c->out);
	close_fd(c->err);
	free(c);
}
