#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Remove what tests left here that were killed: filters, what was attached, and
network namespaces whose names end in the number of a process that is gone. drive.h
does it for programs in C.

    epftest-WHAT-PID        a filter
    epftPID..., @epftPID... filter of an interface of attach.py, and its pins
    epf-bpf-PID-a           a network namespace of it; epf-load-PID
"""

import os
import re
import subprocess

PINS = "/sys/fs/bpf/epochfilter"
NAMESPACES = "/run/netns"
EPFCTL = os.environ.get("EPFCTL", os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../../build/user/epfctl"))


def dead(pid):
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


def left(folder, pattern):
    """Entries of a folder whose process is gone."""
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, PermissionError):
        return []
    found = ((name, re.match(pattern, name)) for name in names)
    return [name for name, match in found if match and dead(match[1])]


def remove(folder):
    for path, dirs, files in os.walk(folder, topdown=False):
        for name in files:
            os.unlink(os.path.join(path, name))
        for name in dirs:
            os.rmdir(os.path.join(path, name))
    os.rmdir(folder)


def quiet(*args):
    subprocess.run(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=False)


def main():
    for name in left(NAMESPACES, r"epf-(?:bpf|load)-(\d+)(?:-[ab])?$"):
        quiet("ip", "netns", "del", name)
    for name in left(os.path.dirname(PINS), r"epftest-.*-(\d+)$"):
        os.unlink(os.path.join(os.path.dirname(PINS), name))  # by outside.sh
    for name in left(PINS, r"@epft(?:est-.*-)?(\d+)(?:\D|$)"):
        try:
            remove(os.path.join(PINS, name))
        except OSError:
            pass  # another test sweeps, too
    for name in left(PINS, r"(?:epftest-(?:.*-)?|epft)(\d+)(?:[bx]\w*)?$"):
        quiet(EPFCTL, "--backend", "bpf", "destroy", "--force", name)


if __name__ == "__main__":
    main()
