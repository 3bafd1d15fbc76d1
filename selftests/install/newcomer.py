#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""README's first block of commands as a newcomer types them, on a minimal Debian with a
stock kernel: the last one before the detach must report a dropped duplicate. newcomer.py
SUITE makes the root file system, has an ordinary user build there, boots it, and has the
same user run the block.

The first line begins with steps that are slow under emulation: installing packages and
compiling. The same user runs these in the same root before it boots; the guest runs the
line's other commands. With EPF_THOROUGH only: packages.py builds and installs on the same
root of Debian 12.
"""

import fcntl
import json
import os
import pathlib
import platform
import re
import shutil
import socket
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(TOP / "selftests" / "dedup"))

import tap

HOME = "/home/user/epochfilter"
BEFORE_BOOT = ["sudo make deps FOR=build", "make -j4"] # root.sh runs the first of these
IN_ROOT = "mount -t proc proc $0/proc && mount --bind /dev $0/dev && " \
    "exec chroot $0 su - user -c \"cd epochfilter && $1\""
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454ca, 2, 0x1000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
FRAME = bytes.fromhex(
    "020000000001020000000002080045000020000100004011f9c80a0000010a000002"
    "04d20035000c0000") + b"once"


def block():
    """Return the commands of README's section "Use", up to the first detach, without comments."""
    text = (TOP / "README.md").read_text()
    lines = []
    for line in text.split("\n## Use\n", 1)[1].splitlines():
        command = re.sub(r"\s+# .*", "", line).strip()
        if line.startswith("    "):
            lines.append(command)
        if " detach " in line:
            return lines
    raise AssertionError("README's section 'Use' detaches nothing")


def user(command):
    return subprocess.run(["su", "-", "user", "-c", f"cd {HOME} && {command}"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)


def fault(command, wanted=0):
    """Return the output of @command if it did not exit with @wanted."""
    done = user(command)
    if done.returncode != wanted:
        return f"exit {done.returncode}: {command}\n{done.stdout}"
    return None


class Eth0:
    """An interface of that name; the test writes the frames that it receives."""

    def __init__(self):
        subprocess.run(["modprobe", "tun"], check=True)
        self.fd = os.open("/dev/net/tun", os.O_RDWR)
        request = struct.pack("16sH22x", b"eth0", IFF_TAP | IFF_NO_PI)
        fcntl.ioctl(self.fd, TUNSETIFF, request)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            got = fcntl.ioctl(s, SIOCGIFFLAGS, struct.pack("16s24x", b"eth0"))
            flags, = struct.unpack_from("H", got, 16)
            fcntl.ioctl(s, SIOCSIFFLAGS,
                        struct.pack("16sH22x", b"eth0", flags | IFF_UP))

    def receive(self, frame):
        os.write(self.fd, frame)


def installs_by_itself(first):
    """Without dkms the built module is installed, and one line says so."""
    done = user(first)
    if done.returncode:
        return f"exit {done.returncode}: {first}\n{done.stdout}"
    errors = [l for l in done.stdout.splitlines() if "error" in l.lower()]
    if errors:
        return f"it went well and says: {errors}"
    said = [l for l in done.stdout.splitlines() if "dkms" in l]
    if len(said) != 1 or "later kernels go without" not in said[0]:
        return f"what is lost without dkms is not said once:\n{done.stdout}"
    return None


def doctor_advises_nothing_done():
    """After everything is installed and loaded, doctor advises neither make nor modprobe."""
    done = user("sudo epfctl doctor")
    advice = [l for l in done.stdout.splitlines()
              if "make" in l.split() or "modprobe" in l]
    if done.returncode or advice:
        return f"exit {done.returncode}:\n{done.stdout}"
    return None


def drops_the_duplicate(lines):
    """The block's other lines; a frame arrives twice before the status."""
    for line in lines:
        if " status " in line:
            net.receive(FRAME)
            net.receive(FRAME)
            told = json.loads(subprocess.run(["epfctl", "-j", "status", "eth0"], check=True,
                                             stdout=subprocess.PIPE).stdout)
            if told["counters"]["recent"]["packets"] != 1:
                return f"one frame of two was to be dropped: {told}"
        why = fault(line)
        if why:
            return why
    return None


def uninstalls():
    """make uninstall leaves neither module nor tool."""
    why = fault("sudo epfctl destroy repeats && sudo make uninstall")
    if why:
        return why
    left = shutil.which("epfctl") or list(
        pathlib.Path("/lib/modules").glob("*/updates/*epf*.ko")) + list(
            pathlib.Path("/lib/modules").glob("*/updates/epochfilter*.ko"))
    return f"left behind: {left}" if left else None


def in_guest():
    global net
    first, *rest = block()
    commands = first.split(" && ")
    if shutil.which("dkms") or commands[:2] != BEFORE_BOOT:
        raise AssertionError("not the root or the README that this test knows")
    with open("/etc/hosts", "a") as hosts: # sudo looks up the host's name
        hosts.write(f"127.0.1.1 {os.uname().nodename}\n")
    net = Eth0()
    cases = [
        (f"README: {first}", lambda: installs_by_itself(" && ".join(commands[2:]))),
        ("doctor advises nothing that was just done", doctor_advises_nothing_done),
        ("README's next lines drop a duplicate", lambda: drops_the_duplicate(rest)),
    ]
    if platform.freedesktop_os_release()["VERSION_CODENAME"] != "bookworm":
        cases.append(("make uninstall leaves nothing", uninstalls))
    tap.main(cases)


def in_root(root, command):
    """Run @command as the ordinary user, in @root, natively."""
    return subprocess.run(["unshare", "--mount", "--propagation", "private",
                           "sh", "-c", IN_ROOT, root, command],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def refuses_without_headers(root):
    """Before @root boots, it has no headers of the running kernel: make install-module must fail
    and name them.
"""
    command = f"sudo make install-module PREFIX={HOME}/build/prefix SRCDIR={HOME}/build/src"
    done = in_root(root, command)
    if done.returncode and f"apt install linux-headers-{os.uname().release}" in done.stdout:
        return None
    return f"exit {done.returncode}: {command}\n{done.stdout[-2000:]}"


def fail(what, why):
    print("\n".join("# " + line for line in why.splitlines()))
    print(f"1..1\nnot ok 1 - {what}")
    sys.exit(1)


def main(suite):
    if os.geteuid() or not shutil.which("mmdebstrap"):
        print("1..0 # SKIP needs root and mmdebstrap")
        sys.exit(4)
    if not os.environ.get("EPF_THOROUGH"):
        print("1..0 # SKIP with EPF_THOROUGH only; install/packages_bookworm installs in its place")
        sys.exit(4)
    made = subprocess.run([HERE / "root.sh", suite], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if made.returncode:
        fail(f"a minimal root of {suite}", made.stdout[-4000:])
    root = made.stdout.split()[-1]
    built = in_root(root, BEFORE_BOOT[1])
    if built.returncode:
        fail(f"{suite}: an ordinary user runs make", built.stdout[-4000:])
    why = refuses_without_headers(root)
    if why:
        fail("make install-module without headers fails and names their package", why)
    os.execv(TOP / "selftests/vm/run.sh", ["run.sh", "--root", root, "--timeout", "3600", "--",
                                           f"{HOME}/selftests/install/newcomer.py"])


if __name__ == "__main__":
    if os.environ.get("EPF_VM"):
        in_guest()
    else:
        main(sys.argv[1])
