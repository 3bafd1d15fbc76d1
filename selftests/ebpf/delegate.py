#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run a command as root of a user namespace that has a delegated BPF file system.

usage: delegate.py CMDS MAPS PROGS ATTACHS COMMAND [ARG]...

The four are masks, as hexadecimal numbers, of what the BPF file system delegates
(enum bpf_cmd, bpf_map_type, bpf_prog_type, bpf_attach_type of linux/bpf.h): 0 is
nothing. The command has a user, a mount and a network namespace of its own; its root
is user 1000 outside.

A file system belongs to the user namespace that opened it, and only root outside may
delegate: so the child opens it, the parent sets it up, and the child mounts it.
Needs root. Exit: that of the command, or 125 with a line that names the step that failed.
"""

import ctypes
import os
import socket
import sys

UID = 1000
CLONE = {"user": 0x10000000, "mount": 0x20000, "network": 0x40000000}
MOVE_MOUNT, FSOPEN, FSCONFIG, FSMOUNT = 429, 430, 431, 432
SET_STRING, CREATE = 1, 6
AT_FDCWD, EMPTY_PATH = -100, 4
MS_REC_PRIVATE = 0x44000

libc = ctypes.CDLL(None, use_errno=True)


def check(ret, step):
    if ret < 0:
        sys.stderr.write(f"{step}: {os.strerror(ctypes.get_errno())}\n")
        sys.stderr.flush()
        os._exit(125)
    return ret


def call(step, nr, *args):
    return check(libc.syscall(ctypes.c_long(nr), *args), step)


def setting(fs, key, value):
    call(f"fsconfig {key}={value}", FSCONFIG, fs, SET_STRING, key.encode(), value.encode(), 0)


def send(sock, fd):
    socket.send_fds(sock, [b"x"], [fd])


def receive(sock):
    fds = socket.recv_fds(sock, 1, 1)[1]
    if not fds:
        os._exit(125)  # the other process has printed the reason
    return fds[0]


def inside(sock, command):
    os.setgroups([])
    os.setresgid(UID, UID, UID)
    os.setresuid(UID, UID, UID)
    check(libc.unshare(sum(CLONE.values())), "unshare")
    sock.send(b"x")
    sock.recv(1)
    check(libc.mount(b"none", b"/", None, MS_REC_PRIVATE, None), "mount --make-rprivate")
    send(sock, call("fsopen", FSOPEN, b"bpf", 0))
    mount = receive(sock)
    call("move_mount", MOVE_MOUNT, mount, b"", AT_FDCWD, b"/sys/fs/bpf", EMPTY_PATH)
    os.close(mount)
    sock.close()
    os.execvp(command[0], command)


def outside(sock, pid, masks):
    if not sock.recv(1):
        return
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {UID} 1"), ("gid_map", f"0 {UID} 1")):
        with open(f"/proc/{pid}/{name}", "w", encoding="ascii") as file:
            file.write(text)
    sock.send(b"x")
    fs = receive(sock)
    for name, mask in zip(("cmds", "maps", "progs", "attachs"), masks):
        if int(mask, 16):
            setting(fs, f"delegate_{name}", mask)
    call("fsconfig", FSCONFIG, fs, CREATE, None, None, 0)
    send(sock, call("fsmount", FSMOUNT, fs, 0, 0))


def main(argv):
    masks, command = argv[1:5], argv[5:]
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if not pid:
        ours.close()
        inside(theirs, command)
    theirs.close()
    outside(ours, pid, masks)
    ours.close()
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


if __name__ == "__main__":
    main(sys.argv)
