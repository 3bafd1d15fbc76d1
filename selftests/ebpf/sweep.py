#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Remove what killed tests have left: filters, attachments, and network namespaces whose
names end in the id of a process that no longer exists. drive.h does this for programs in C.

    epftest-WHAT-PID        a filter
    epftPID..., @epftPID... filter of an interface of attach.py, and its pins
    epf-bpf-PID-a           a network namespace of it; epf-load-PID
    rfx-PID, @rPID...       a filter of reflex.py or nf.py, pins of an interface; hooks of
                            netfilter that use it, which keep their namespaces
    epf-rfx-PID-a           a network namespace of theirs
    rfx-PID:web             the cover map of covered.py
"""

import os
import re
import subprocess

PINS = "/sys/fs/bpf/epochfilter"
COVERS = "/sys/fs/bpf/epochfilter-cluster"
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
    """Return entries of a folder whose process no longer exists."""
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


def hooks():
    """Return the names of hooks with a filter whose process no longer exists."""
    try:
        shown = subprocess.run([EPFCTL, "status"], capture_output=True, text=True,
                               check=False).stdout
    except OSError:
        return []
    found = re.findall(r"^(nf:\S+): filter rfx-(\d+)(?:-2)? ", shown, re.M)
    return [name for name, pid in found if dead(pid)]


def main():
    for name in hooks():
        quiet(EPFCTL, "detach", "--hook", name)
    for name in left(NAMESPACES, r"epf-(?:bpf|load|rfx)-(\d+)(?:-[abc])?$"):
        quiet("ip", "netns", "del", name)
    for name in left(os.path.dirname(PINS), r"epftest-.*-(\d+)$"):
        os.unlink(os.path.join(os.path.dirname(PINS), name))  # made by outside.sh
    for name in left(COVERS, r"(?:rfx|epftest-cover)-(\d+)(?:\D|$)"):
        os.unlink(os.path.join(COVERS, name))
    for name in left(PINS, r"@(?:epft(?:est-.*-)?|r)(\d+)(?:\D|$)"):
        try:
            remove(os.path.join(PINS, name))
        except OSError:
            pass  # another test cleans up, too
    for name in left(PINS, r"(?:epftest-(?:.*-)?|epft)(\d+)(?:[bx]\w*)?$") + \
            left(PINS, r"rfx-(\d+)(?:-2)?$"):
        quiet(EPFCTL, "--backend", "bpf", "destroy", "--force", name)


if __name__ == "__main__":
    main()
