#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Files on overlayfs: the agent accepts them by a mount that it sees itself, and refuses those
of a mount that a user has made in namespaces of their own.

The mounts are in a mount namespace of this process, so they are gone with it.
"""

import ctypes
import os
import shutil
import socket

import agent as a
import tap

KEYS = 3001
NEWNS, NEWUSER, PRIVATE = 0x20000, 0x10000000, 0x4000 | 1 << 18
libc = ctypes.CDLL(None, use_errno=True)
files = None


def check(ret):
    if ret:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mount(source, target, kind, flags, options):
    check(libc.mount(*(x and x.encode() for x in (source, target, kind)),
                     ctypes.c_ulong(flags), options and options.encode()))


def overlay(name, more=""):
    """Return the path of an overlay that has the keys and the snapshot."""
    paths = [files.path(name + end) for end in ("", ".lower", ".upper", ".work")]
    for path in paths:
        os.mkdir(path)
    for source in ("digests", "snap"):
        shutil.copy(files.path(source), paths[1])
    mount("overlay", paths[0], "overlay", 0,
          f"lowerdir={paths[1]},upperdir={paths[2]},workdir={paths[3]}{more}")
    return paths[0]


def begin():
    """A mount namespace of this process. Skip where it cannot have one."""
    try:
        check(libc.unshare(NEWNS))
        mount(None, "/", None, PRIVATE, None)
        return overlay("own")
    except OSError as error:
        tap.skip_all(f"no overlayfs in a mount namespace: {error}")


def opened(dir, bitmap="bitmap.out"):
    """The files of an audit in the folder: keys, snapshot, bitmap."""
    return [os.open(os.path.join(dir, name), flags, 0o600)
            for name, flags in (("digests", os.O_RDONLY), ("snap", os.O_RDONLY),
                                (bitmap, os.O_RDWR | os.O_CREAT))]


def audit(fds):
    message = {"op": "audit", "fds": ["keys", "snapshot", "bitmap"],
               "records": {"format": "column"}}
    with a.Client(agent) as c:
        answer = c.audit(message, fds)
    for fd in fds:
        os.close(fd)
    return answer


def seen():
    answer = audit(opened(own))
    with open(os.path.join(own, "bitmap.out"), "rb") as f:
        right = f.read() == files.read("bitmap")
    return None if "done" in answer and right else f"answered {answer}"


def from_namespace(flags):
    """Descriptors of files of an overlay that a process has made in new namespaces."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    child = os.fork()
    if not child:
        try:
            check(libc.unshare(NEWNS | flags))
            if flags:
                for name, text in (("uid_map", b"0 0 1"), ("setgroups", b"deny"),
                                   ("gid_map", b"0 0 1")):
                    a.write("/proc/self/" + name, text)
            fds = opened(overlay(f"other{flags}", ",userxattr" if flags else ""), "b.out")
            socket.send_fds(theirs, [b"x"], fds)
        except OSError as error:
            theirs.send(str(error).encode())
        finally:
            os._exit(0)
    said, fds, _, _ = socket.recv_fds(ours, 100, 3)
    os.waitpid(child, 0)
    if not fds:
        raise tap.Skip(said.decode())
    return fds


def refused(flags):
    fds = from_namespace(flags)
    for place in range(3):
        mixed = opened(own)
        os.dup2(fds[place], mixed[place])
        answer = audit(mixed)
        if answer.get("errno") != 95 or "overlayfs" not in answer["error"]:
            return f"{place}: answered {answer}"
    for fd in fds:
        os.close(fd)
    return None


def unseen():
    return refused(0)


def of_user():
    return refused(NEWUSER)


CASES = [
    ("a mount that the agent sees", seen),
    ("a mount of another namespace", unseen),
    ("a mount that a user has made", of_user),
]


def run(made):
    global files, agent, own
    files = made
    own = begin()
    try:
        with a.Agent(files.dir) as agent:
            return tap.run(a.chosen(CASES))
    finally:
        check(libc.umount2(own.encode(), 0))


if __name__ == "__main__":
    raise SystemExit(a.main(KEYS, run))
