# SPDX-License-Identifier: GPL-2.0
"""Programs, maps and links of the kernel, by name or type. bpftool, which has a program of
its own loaded to look for their processes, takes long in an emulated guest.
"""

import ctypes
import errno
import os
import struct

BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
OBJ_GET_INFO_BY_FD = 15
# commands NEXT_ID and FD_BY_ID; where struct bpf_prog_info or bpf_map_info has the name
PROG, MAP, LINK = (11, 13, 64), (12, 14, 24), (31, 30, None)
LINK_NETFILTER = 10


def bpf(command, attributes):
    """Return: what the call returns, and the attributes as it leaves them."""
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    got = libc.syscall(BPF, command, buffer, len(attributes))
    if got < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return got, buffer.raw


def absent(why):
    """EAGAIN: a link that another process is just making, of which the kernel says "not yet"."""
    if why.errno not in (errno.ENOENT, errno.EAGAIN):
        raise why


def numbers(kind):
    last = 0
    while True:
        try:
            last, = struct.unpack_from("=4xI", bpf(kind[0], struct.pack("=III", last, 0, 0))[1])
        except OSError as why:
            return absent(why)
        yield last


def infos(kind):
    """The first bytes of what the kernel says of each; without what goes away meanwhile."""
    for number in numbers(kind):
        try:
            fd = bpf(kind[1], struct.pack("=III", number, 0, 0))[0]
        except OSError as why:
            absent(why)
            continue
        info = ctypes.create_string_buffer(80)
        bpf(OBJ_GET_INFO_BY_FD, struct.pack("=IIQ", fd, len(info), ctypes.addressof(info)))
        os.close(fd)
        yield info.raw


def names(*kinds):
    return [info[kind[2]:kind[2] + 16].split(b"\0")[0].decode() for kind in kinds
            for info in infos(kind)]


def link_types():
    return [struct.unpack_from("=I", info)[0] for info in infos(LINK)]
