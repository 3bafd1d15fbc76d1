# SPDX-License-Identifier: GPL-2.0
"""Certificates and nkeys of a test cluster, made by openssl."""

import base64
import os
import subprocess

from lan import run

SEED, USER = 18 << 3, 20 << 3  # prefix bytes of nkeys: "S" and "U"
DAYS = "30"


def crc16(data):
    """CRC-16/XMODEM."""
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xffff
    return crc


def text(raw):
    """An nkey as text: base32 of the bytes and their CRC, without padding."""
    return base64.b32encode(raw + crc16(raw).to_bytes(2, "little")).decode().rstrip("=")


def last_32(*words):
    """The key at the end of what openssl writes in DER."""
    return subprocess.run(["openssl", *words, "-outform", "DER"], check=True,
                          capture_output=True).stdout[-32:]


def nkey(dir, name):
    """Make an nkey of a user. Return its public part; the file NAME.nk has the seed and the
    public part, one a line."""
    pem = os.path.join(dir, f"{name}.ed25519")
    run("openssl", "genpkey", "-algorithm", "ed25519", "-out", pem)
    seed, public = last_32("pkey", "-in", pem), last_32("pkey", "-in", pem, "-pubout")
    path = os.path.join(dir, f"{name}.nk")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as f:
        f.write(text(bytes([SEED | USER >> 5, (USER & 31) << 3]) + seed) + "\n" +
                text(bytes([USER]) + public) + "\n")
    return text(bytes([USER]) + public)


def sign(dir, name, data):
    """The signature of an nkey made by nkey(), as the server wants it."""
    pem, nonce, out = (os.path.join(dir, f"{name}.{end}") for end in ("ed25519", "nonce", "sig"))
    with open(nonce, "wb") as f:
        f.write(data)
    run("openssl", "pkeyutl", "-sign", "-inkey", pem, "-rawin", "-in", nonce, "-out", out)
    with open(out, "rb") as f:
        return base64.urlsafe_b64encode(f.read()).decode().rstrip("=")


def authority(dir, name="ca"):
    """A certificate authority: NAME.pem, NAME.key."""
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
        "-nodes", "-days", DAYS, "-subj", f"/CN={name}", "-keyout", f"{dir}/{name}.key",
        "-out", f"{dir}/{name}.pem")


def certificate(dir, name, address, ca="ca"):
    """NAME.pem and NAME.key for a host with this address and name, signed by @ca."""
    request, options = f"{dir}/{name}.csr", f"{dir}/{name}.ext"
    with open(options, "w") as f:
        f.write(f"subjectAltName=IP:{address},DNS:{name}\n")
    run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-subj", f"/CN={name}", "-keyout", f"{dir}/{name}.key", "-out", request)
    run("openssl", "x509", "-req", "-in", request, "-CA", f"{dir}/{ca}.pem", "-CAkey",
        f"{dir}/{ca}.key", "-CAcreateserial", "-days", DAYS, "-extfile", options, "-out",
        f"{dir}/{name}.pem")
