# SPDX-License-Identifier: GPL-2.0
"""A BPF file system of one's own, where nothing of another run or of the machine is met."""

import os
import sys


def own():
    """Start again with it. Called by root; a guest is alone already."""
    if "EPF_OWN_BPFFS" in os.environ or "EPF_VM" in os.environ:
        return
    os.environ["EPF_OWN_BPFFS"] = "1"
    os.execvp("unshare", ["unshare", "-m", "sh", "-c",
                          'mount -t bpf bpf /sys/fs/bpf && exec "$@"', "sh",
                          sys.executable, *sys.argv])
