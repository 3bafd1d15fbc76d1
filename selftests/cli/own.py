# SPDX-License-Identifier: GPL-2.0
"""What the Python programs of this directory share: epfctl on filters that are pure
BPF, in a BPF file system and a network namespace of their own.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EPFCTL = os.environ.get("EPF_CTL", os.path.join(ROOT, "build/user/epfctl"))
NOSYNC = os.path.join(os.environ.get("BUILD", os.path.join(ROOT, "build")), "selftests/cli/nosync.so")
# the root directory of the tool, if it has another than the test
TOOL_ROOT = os.environ.get("EPF_TOOL_ROOT", "")
# seconds until a test gives up
PATIENCE = int(os.environ.get("EPF_PATIENCE", 300))
# what is tested; only watch.py tries the module's filters, too, in a guest
BPF = os.environ.get("EPF_BACKEND") != "module" or "EPF_ALONE" not in os.environ
sys.path.insert(0, os.path.join(ROOT, "selftests/dedup"))
import tap  # noqa: E402


def command(*args):
    return [EPFCTL, *args]


def epf(*args, input="", **more):
    """A finished run of epfctl; bytes as Latin-1."""
    return subprocess.run(command(*args), input=input, capture_output=True,
                          encoding="latin-1", timeout=PATIENCE, **more)


def good(*args, **more):
    done = epf(*args, **more)
    if done.returncode:
        raise AssertionError(done)
    return done.stdout


def begin(*args, **more):
    return subprocess.Popen(command(*args), stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            encoding="latin-1", **more)


def make(name, *args):
    """A filter whose epochs the kernel ends, so that it knows its keys."""
    good("create", name, "--window", "100000", *args)


def lone():
    """Start again where nothing else of this machine is met."""
    if os.geteuid():
        tap.skip_all("needs root")
    if not os.access(EPFCTL, os.X_OK):
        tap.skip_all("epfctl is not built")
    if "EPF_ALONE" in os.environ:
        return
    os.environ["EPF_ALONE"] = "1"
    os.environ["EPF_BACKEND"] = "bpf"
    os.execvp("unshare", ["unshare", "-mn", "sh", "-c",
                          'mount -t bpf bpf /sys/fs/bpf && ip link set lo up && exec "$@"',
                          "sh", sys.executable, *sys.argv])


def hide_settings():
    """An empty /etc/epochfilter/filters.d for the tool, in this mount namespace only. Return its path."""
    subprocess.run(["sh", "-ec", """
        [ -d "$0/etc/epochfilter" ] || {
            mount -t tmpfs tmpfs /mnt
            mkdir /mnt/up /mnt/work
            mount -t overlay -o lowerdir=/etc,upperdir=/mnt/up,workdir=/mnt/work overlay /etc
            mkdir /etc/epochfilter
        }
        mount -t tmpfs tmpfs "$0/etc/epochfilter"
        mkdir "$0/etc/epochfilter/filters.d"
        """, TOOL_ROOT], check=True)
    return f"{TOOL_ROOT}/etc/epochfilter/filters.d"


def main(run):
    """run(folder) with TAP. Returns an exit status."""
    lone()
    if not BPF:
        return run(None)
    made = epf("create", "some", "--window", "1000", "--rotate", "kernel")
    if made.returncode:
        tap.skip_all(f"no BPF timer here: {made.stderr.strip()}")
    good("destroy", "some")
    dir = tempfile.mkdtemp()
    try:
        return run(dir)
    finally:
        shutil.rmtree(dir)


def errors(text):
    """Of a run with -j: objects, one a line."""
    return [json.loads(line) for line in text.splitlines()]
