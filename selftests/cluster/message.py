# SPDX-License-Identifier: GPL-2.0
"""Messages of a cluster, written from docs/CLUSTER.md, so that a test can send wrong ones."""

import struct

HEAD = struct.Struct("<4sHH2QII Q64s5QII")
CRC_AT, MAGIC, VERSION = HEAD.size - 8, b"EPFC", 1
FIELDS = ("magic", "version", "head", "check0", "check1", "kind", "count", "window", "host",
          "incarnation", "seq", "from", "to", "lost", "crc", "zero")


def table():
    out = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ 0x82F63B78 if i & 1 else i >> 1
        out.append(i)
    return out


TABLE = table()


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xffffffff


def read(data):
    """The fields of a message and its digests."""
    fields = dict(zip(FIELDS, HEAD.unpack_from(data)))
    fields["digests"] = struct.unpack_from(f"<{fields['count']}Q", data, HEAD.size)
    return fields


def write(fields, **other):
    """A message with these fields, with a right checksum unless @other has one."""
    f = {**fields, **other}
    digests = struct.pack(f"<{len(f['digests'])}Q", *f["digests"])
    f["count"] = other.get("count", len(f["digests"]))
    head = HEAD.pack(*(f[name] for name in FIELDS))
    crc = other.get("crc", crc32c(head[:CRC_AT] + head[CRC_AT + 4:] + digests))
    return head[:CRC_AT] + struct.pack("<I", crc) + head[CRC_AT + 4:] + digests
