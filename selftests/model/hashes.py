# SPDX-License-Identifier: GPL-2.0
"""Digests of the reference model.

SipHash-c-d as printed in Aumasson and Bernstein, "SipHash: a fast short-input
PRF", INDOCRYPT 2012, section 2; NH as in Black, Halevi, Krawczyk, Krovetz and
Rogaway, "UMAC", CRYPTO 1999, section 4, with words of 64 bits; and the SplitMix64
output function of Steele, Lea and Flood, OOPSLA 2014, with Stafford's variant 13
mixer.
"""

M64 = (1 << 64) - 1


def rotl(x, n):
    return ((x << n) | (x >> (64 - n))) & M64


def sipround(v0, v1, v2, v3):
    v0 = (v0 + v1) & M64
    v1 = rotl(v1, 13) ^ v0
    v0 = rotl(v0, 32)
    v2 = (v2 + v3) & M64
    v3 = rotl(v3, 16) ^ v2
    v0 = (v0 + v3) & M64
    v3 = rotl(v3, 21) ^ v0
    v2 = (v2 + v1) & M64
    v1 = rotl(v1, 17) ^ v2
    v2 = rotl(v2, 32)
    return v0, v1, v2, v3


def sip_words(key, words, c, d):
    """SipHash from section 2.2 on, after the message is converted to words."""
    k0, k1 = key
    v = (k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D,
         k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573)
    for m in words:
        v = v[0], v[1], v[2], v[3] ^ m
        for _ in range(c):
            v = sipround(*v)
        v = v[0] ^ m, v[1], v[2], v[3]
    v = v[0], v[1], v[2] ^ 0xFF, v[3]
    for _ in range(d):
        v = sipround(*v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def words_of(octets):
    return [int.from_bytes(octets[at:at + 8], "little")
            for at in range(0, len(octets), 8)]


def siphash(key, message, c, d):
    """key: pair of 64-bit words; message: bytes."""
    # Section 2.2: zero bytes up to seven modulo eight, then the length's byte.
    padded = message + bytes(-(len(message) + 1) % 8)
    padded += bytes([len(message) % 256])
    return sip_words(key, words_of(padded), c, d)


def nh(words, keys, bits):
    """NH of an even number of words of the given size, with as many key words."""
    sums = [(m + k) % 2**bits for m, k in zip(words, keys)]
    return sum(a * b for a, b in zip(sums[::2], sums[1::2])) % 2**(2 * bits)


def nh_digest(key, message):
    """docs/theory/nh.md"""
    if len(message) <= 64:
        return siphash(key, message, 1, 3)
    keys = [sip_words(key, [254 << 56 | i], 1, 3) for i in range(64)]
    text = []
    for at in range(0, len(message), 512):
        block = message[at:at + 512]
        block += bytes(-len(block) % 16)
        total = nh(words_of(block), keys, 64)
        text += [total % 2**64, total >> 64]
    return sip_words(key, text + [255 << 56 | len(message)], 1, 3)


SIPHASH13, SIPHASH24, NH = range(3)


def digest(key, kind, message):
    if kind == NH:
        return nh_digest(key, message)
    return siphash(key, message, 2, 4) if kind == SIPHASH24 else \
        siphash(key, message, 1, 3)


def splitmix(seed, i):
    """The i-th output (from 1) of SplitMix64 started with seed."""
    z = (seed + i * 0x9E3779B97F4A7C15) & M64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
    return z ^ (z >> 31)


def word(seed, i):
    """Word 0 of a digest's stream is the digest, the rest is SplitMix64."""
    return splitmix(seed, i) if i else seed
