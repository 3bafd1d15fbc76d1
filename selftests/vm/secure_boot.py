#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""usage: secure_boot.py CERTIFICATE.der VARIABLES.fd

Writes a variable store for OVMF in which Secure Boot is on, with Microsoft's keys, and the
certificate is enrolled as a machine-owner key: what MokManager does after "mokutil
--import" and a reboot. The store is Debian's (package ovmf) with one more variable,
MokList, which shim hands to the kernel.

Format: UEFI PI 1.7, volume 3, 3.2.1 (firmware volume); MdeModulePkg's
VariableFormat.h of edk2 (AUTHENTICATED_VARIABLE_HEADER); UEFI 2.10, 32.4.1
(EFI_SIGNATURE_LIST).
"""

import pathlib
import struct
import sys
import uuid

ENROLLED = pathlib.Path("/usr/share/OVMF/OVMF_VARS_4M.ms.fd")
STORE = uuid.UUID("aaf32c78-947b-439a-a180-2e144ec37792") # of authenticated variables
STORE_HEADER = 28
VARIABLE = struct.Struct("<HBBIQ16sIII16s")
START, ADDED = 0x55aa, 0x3f
BOOT_SERVICES_NON_VOLATILE = 3
SHIM_LOCK = uuid.UUID("605dab50-e046-4300-abb6-3dd810dd8b23")
X509 = uuid.UUID("a5c059a1-94e4-4aa7-87b5-ab155c2bf072")


def end_of(store):
    """Where the first variable goes that is not there yet."""
    at, = struct.unpack_from("<H", store, 48) # the volume header's length
    if uuid.UUID(bytes_le=bytes(store[at:at + 16])) != STORE:
        raise ValueError(f"{ENROLLED}: no store of authenticated variables")
    at += STORE_HEADER
    while struct.unpack_from("<H", store, at)[0] == START:
        *_, name_size, data_size, _ = VARIABLE.unpack_from(store, at)
        at = (at + VARIABLE.size + name_size + data_size + 3) & ~3
    return at


def signature_list(certificate):
    signature = uuid.uuid5(SHIM_LOCK, "owner").bytes_le + certificate
    return X509.bytes_le + struct.pack("<III", 28 + len(signature), 0, len(signature)) + signature


def add(store, name, vendor, data):
    name = (name + "\0").encode("utf-16le")
    record = VARIABLE.pack(START, ADDED, 0, BOOT_SERVICES_NON_VOLATILE, 0, bytes(16), 0, len(name),
                           len(data), vendor.bytes_le) + name + data
    at = end_of(store)
    if set(store[at:at + len(record)]) != {0xff}:
        raise ValueError(f"{ENROLLED}: no room for {len(record)} bytes")
    store[at:at + len(record)] = record


def main(certificate, variables):
    store = bytearray(ENROLLED.read_bytes())
    add(store, "MokList", SHIM_LOCK, signature_list(pathlib.Path(certificate).read_bytes()))
    pathlib.Path(variables).write_bytes(store)


if __name__ == "__main__":
    main(*sys.argv[1:])
