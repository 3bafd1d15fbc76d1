#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What docs/COMPARISON.md says of ipset, nft sets, editcap, BPF maps and of filters, as far
as it can be run here: in a network namespace and a BPF file system of its own. The page
names each case in its column "run". Arguments choose cases.
"""

import errno
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import own  # noqa: E402
from own import begin, epf, good, tap  # noqa: E402
sys.path.insert(0, os.path.join(own.ROOT, "selftests/xdp"))
import bpfobjects  # noqa: E402
import pcap  # noqa: E402

own.lone()
import tool  # noqa: E402 (makes its folder, which an exec would leave behind)

PAGE = os.path.join(own.ROOT, "docs/COMPARISON.md")
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
SECONDS = 2  # of windows and timeouts
# Wang, Feng, Lai and Yu, "Collisions for Hash Functions", ePrint 2004/199: 128 bytes, and
# those whose top bit differs in another message of equal MD5
MD5 = bytes.fromhex(
    "d131dd02c5e6eec4693d9a0698aff95c2fcab58712467eab4004583eb8fb7f89"
    "55ad340609f4b30283e488832571415a085125e8f7cdc99fd91dbdf280373c5b"
    "d8823e3156348f5bae6dacd436c919c6dd53e2b487da03fd02396306d248cda0"
    "e99f33420f577ee8ce54b67080a80d1ec69821bcb6a8839396f9652b6ff72a70")
MD5_DIFFERS = (19, 45, 59, 83, 109, 123)
# enum bpf_cmd of include/uapi/linux/bpf.h
LOOKUP, UPDATE, DELETE, NEXT_KEY, OBJ_GET, POP = 1, 2, 3, 4, 7, 21
ENOTSUPP = 524  # include/linux/errno.h


def run(*args, **more):
    """A finished run of another project's tool."""
    if not shutil.which(args[0], path=PATH):
        raise tap.Skip(f"{args[0]} is not installed")
    return subprocess.run(args, capture_output=True, text=True, timeout=own.PATIENCE,
                          env={**os.environ, "PATH": PATH}, **more)


def do(*args, **more):
    done = run(*args, **more)
    if done.returncode:
        raise AssertionError(done)
    return done.stdout


def possible(*args, **more):
    """The first command of a case, which may lack its kernel module."""
    done = run(*args, **more)
    if done.returncode:
        raise tap.Skip(f"{args[0]}: {(done.stderr or done.stdout).strip().splitlines()[0]}")


def host(n, net=1):
    return f"127.0.{net + n // 250}.{n % 250 + 1}"


def send(addresses):
    """One UDP packet to each, through this namespace's output hook."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        for address in addresses:
            end.sendto(b"x", (address, 9))


def vanishes(there, least):
    """A key that was just inserted is there for @least seconds, and is gone in the end."""
    begun = time.monotonic()
    while there():
        if time.monotonic() > begun + own.PATIENCE:
            return "it never leaves"
        time.sleep(0.05)
    lasted = time.monotonic() - begun
    return None if lasted >= least else f"it is gone after {lasted:.2f} s"


# ipset

def members(name):
    return do("ipset", "list", name).split("Members:\n")[1].split("\n")[:-1]


def ipset_in(name, address):
    return run("ipset", "test", name, address).returncode == 0


def ipset_timeout():
    possible("ipset", "create", "aged", "hash:ip", "timeout", str(SECONDS))
    for n in (1, 2):
        do("ipset", "add", "aged", host(n))
    if sorted(line.split()[0] for line in members("aged")) != [host(1), host(2)]:
        return "the list lacks entries"
    do("ipset", "del", "aged", host(2))
    if ipset_in("aged", host(2)):
        return "a deleted entry is found"
    # seconds, counted down by a clock of jiffies
    return vanishes(lambda: ipset_in("aged", host(1)), SECONDS - 1)


def ipset_full():
    possible("ipset", "create", "four", "hash:ip", "maxelem", "4")
    for n in range(4):
        do("ipset", "add", "four", host(n))
    done = run("ipset", "add", "four", host(4))
    if not done.returncode or "Hash is full" not in done.stderr:
        return f"a fifth entry: {done}"
    return None


def ipset_forceadd():
    """A full set takes a new entry only if the entry's bucket holds one already."""
    possible("ipset", "create", "forced", "hash:ip", "maxelem", "4", "hashsize", "64", "forceadd")
    refused = 0
    for n in range(400):
        refused += run("ipset", "add", "forced", host(n)).returncode != 0
        if n > 100 and 0 < refused < n - 3:
            break
    taken = n + 1 - refused
    if len(members("forced")) > 4 or not 4 < taken <= n:
        return f"of {n + 1} entries {refused} were refused, {len(members('forced'))} are there"
    return None


def ipset_packets():
    """The target SET keeps the hash at the size it has: 64 buckets of 2."""
    possible("ipset", "create", "learnt", "hash:ip", "hashsize", "64", "bucketsize", "2", "maxelem",
             "65536", "timeout", "600")
    possible("iptables", "-w", "-A", "OUTPUT", "-p", "udp", "-j", "SET", "--add-set", "learnt", "dst")
    send(host(n) for n in range(2000))
    do("iptables", "-w", "-F", "OUTPUT")
    got = len(members("learnt"))
    return None if got == 128 else f"{got} of 2000 addresses were learnt"


def ipset_bitmap():
    possible("ipset", "create", "map", "bitmap:ip", "range", "10.0.0.0/16", "timeout", "600")
    done = run("ipset", "create", "more", "bitmap:ip", "range", "10.0.0.0/15")
    return None if "exceeds the size limit" in done.stderr else f"131,072 addresses: {done}"


# nft sets

def table(name, of_set):
    """A set that each UDP packet updates by its destination; then it asks the set."""
    possible("nft", "add", "table", "ip", name)
    do("nft", "-f", "-", input=f"""table ip {name} {{
        set seen {{
            type ipv4_addr; flags dynamic; {of_set}
        }}
        chain out {{
            type filter hook output priority 0
            meta l4proto udp update @seen {{ ip daddr }} counter comment "updated"
            meta l4proto udp counter comment "passed on"
            meta l4proto udp ip daddr @seen counter comment "found"
        }}
    }}""")


def counts(name):
    """Packets, by comment."""
    text = do("nft", "list", "table", "ip", name)
    return {what: int(n) for n, what in re.findall(r'packets (\d+) .*comment "(.*)"', text)}


def nft_in(name, address):
    return run("nft", "get", "element", "ip", name, "seen", f"{{ {address} }}").returncode == 0


def nft_timeout():
    table("aged", f"timeout {SECONDS}s; size 100")
    send([host(1), host(2)])
    if not nft_in("aged", host(1)) or not nft_in("aged", host(2)):
        return "what was sent is not there"
    do("nft", "delete", "element", "ip", "aged", "seen", f"{{ {host(2)} }}")
    if nft_in("aged", host(2)):
        return "a deleted element is found"
    return vanishes(lambda: nft_in("aged", host(1)), SECONDS - 1)


def nft_full():
    """The rest of the updating rule is left out, the packet goes on, and nothing counts it."""
    table("four", "timeout 10m; size 4")
    send(host(n) for n in (0, 1, 2, 3, 4, 5, 0))
    want = {"updated": 5, "passed on": 7, "found": 5}
    if counts("four") != want:
        return f"{counts('four')}, not {want}"
    if nft_in("four", host(4)) or not nft_in("four", host(3)):
        return "it did not keep the first four"
    done = run("nft", "add", "element", "ip", "four", "seen", f"{{ {host(4)} }}")
    return None if "Too many open files in system" in done.stderr else f"by command: {done}"


def nft_expired():
    """Until the collector comes, expired elements keep their room."""
    table("stale", "timeout 1s; gc-interval 1h; size 4")
    send(host(n) for n in range(4))
    fault = vanishes(lambda: any(nft_in("stale", host(n)) for n in range(4)), 0)
    send([host(4)])
    if not fault and (nft_in("stale", host(4)) or counts("stale")["updated"] != 4):
        fault = "it takes a fifth one"
    return fault


def nft_size():
    table("any", "timeout 10m")
    text = do("nft", "list", "set", "ip", "any", "seen")
    return None if re.search(r"\bsize 65535\b", text) else text


# editcap

def capture(name, kinds=30):
    """2,000 packets of @kinds contents, one a ms since 1000 s."""
    rng = tap.drawn(7)
    packets = [pcap.Packet(10**12 + i * 10**6, b"%012d%028d" % (rng.randint(0, 9), rng.randint(0, kinds)))
               for i in range(2000)]
    return pcap.Capture(packets, link=pcap.USER0).save(tool.tmp(name))


def same(theirs, ours):
    """The same packets stay, some are removed."""
    path = capture("drawn.pcap")
    left = tool.editcap(path, *theirs).packets
    if len(left) in (0, 2000):
        return f"editcap {theirs} leaves {len(left)}"
    return None if left == tool.dedup(path, *ours)[0].packets else \
        f"editcap {theirs} is not dedup {ours}"


def editcap_window():
    return same(("-D", 5), ("-D", 4)) or same(("-d",), ("-D", 4)) or same(("-D", 6), ("-d",)) or \
        same(("-w", "0.004"), ("-w", "0.004"))


def editcap_options():
    return same(("-D", 5, "-I", 12), ("-D", 4, "--ignore", 12)) or \
        same(("-D", 5, "-A", "1000.5", "-B", "1001.25"), ("-D", 4, "-A", "1000.5", "-B", "1001.25"))


def editcap_limit():
    path = capture("drawn.pcap")
    done = run("editcap", "-D", "1000001", path, tool.tmp("out.pcap"))
    if not done.returncode or "between 0 and 1000000" not in done.stderr:
        return f"{done}"
    tool.dedup(path, "-D", 1000001)
    return None


def editcap_md5():
    other = bytearray(MD5)
    for at in MD5_DIFFERS:
        other[at] ^= 0x80
    packets = [pcap.Packet(0, MD5), pcap.Packet(0, bytes(other))]
    path = pcap.Capture(packets, link=pcap.USER0).save(tool.tmp("md5.pcap"))
    left = [len(tool.editcap(path, "-D", 5).packets),
            len(tool.dedup(path, "-D", 4)[0].packets)]
    return None if left == [1, 2] else f"of two different packets {left} are left"


# BPF maps

class Map:
    """A map that bpftool made, by bpf(2): bpftool 7.1 cannot ask a bloom filter about a
    value of the user's choice.
    """

    def __init__(self, name, kind, key, entries):
        path = f"/sys/fs/bpf/{name}"
        possible("bpftool", "map", "create", path, "type", kind, "key", str(key), "value", "4", "entries",
                 str(entries), "name", name)
        self.key = key
        at = bpfobjects.ctypes.create_string_buffer(path.encode())
        self.fd = self.call(OBJ_GET, "=QII", bpfobjects.ctypes.addressof(at), 0, 0)

    @staticmethod
    def call(command, layout, *values):
        return bpfobjects.bpf(command, struct.pack(layout, *values))[0]

    def error(self, command, n):
        """What the command on key @n says, or 0; a bloom filter has it as the value."""
        number = bpfobjects.ctypes.create_string_buffer(struct.pack("=I", n), 4)
        room = bpfobjects.ctypes.create_string_buffer(4)
        at = [bpfobjects.ctypes.addressof(b) for b in (number, room)]
        key, value = at if self.key else (0, at[0])
        try:
            self.call(command, "=IxxxxQQQ", self.fd, key, 0 if command == DELETE else value, 0)
        except OSError as why:
            return why.errno
        return 0


def bloom():
    """Found for good; no deletion, no list."""
    filter = Map("bloom", "bloom_filter", 0, 100)
    if filter.error(LOOKUP, 7) != errno.ENOENT or filter.error(UPDATE, 7) or filter.error(LOOKUP, 7):
        return "it does not find what was pushed, or more"
    for command, what in (DELETE, "deletes"), (POP, "pops"), (NEXT_KEY, "lists"):
        if filter.error(command, 7) not in (errno.EOPNOTSUPP, ENOTSUPP):
            return f"it {what}: {filter.error(command, 7)}"
    time.sleep(1)
    return "it forgets" if filter.error(LOOKUP, 7) else None


def bloom_full():
    """Fifty times its entries: no error, and it finds what was never pushed."""
    filter = Map("small", "bloom_filter", 0, 4)
    refused = sum(filter.error(UPDATE, n) != 0 for n in range(200))
    found = sum(filter.error(LOOKUP, 10**6 + n) == 0 for n in range(200))
    return f"{refused} refused, {found} found" if refused or found < 150 else None


def lru():
    """A full map takes each key and forgets others, however young; keys can be deleted."""
    kept = Map("lru", "lru_hash", 4, 16)
    refused = sum(kept.error(UPDATE, n) != 0 for n in range(300))
    left = [n for n in range(300) if not kept.error(LOOKUP, n)]
    if refused or not 0 < len(left) <= 16:
        return f"{refused} refused, {len(left)} left"
    if kept.error(DELETE, left[0]) or kept.error(LOOKUP, left[0]) != errno.ENOENT:
        return "it does not delete"
    return None


# Filters, which are pure BPF

def held(name, *args):
    good("create", name, *args, "--rotate", "process")
    holder = begin("hold", name)
    holder.stdout.readline()
    return holder


def end(holder, name):
    holder.terminate()
    holder.communicate(timeout=own.PATIENCE)
    good("destroy", name)


def answers(name, keys):
    """{answer: how many keys have it}"""
    done = epf("-j", "test", name, "-c", "-", input="".join(f"{key}\n" for key in keys))
    return json.loads(done.stdout)


def ours_full():
    """Ten times its keys: no inserted key is absent, none is present, and the filter says
    and counts that it does not know.
    """
    holder = held("full", "--time", "10m", "--rate", "2", "--budget", "1e-6")
    try:
        good("insert", "full", "-", input="".join(f"key {n}\n" for n in range(12000)))
        inserted = answers("full", [f"key {n}" for n in range(12000)])
        never = answers("full", [f"other {n}" for n in range(4000)])
        shown = json.loads(good("-j", "show", "full"))
    finally:
        end(holder, "full")
    if inserted["unknown"] != 12000 or never["present"]:
        return f"inserted: {inserted}, never inserted: {never}"
    told = inserted["unknown"] + never["unknown"]
    if not shown["saturated"] or shown["stats"]["failed_open"] != told:
        return f"{told} unknown: {shown}"
    return None


def ours_timeout():
    """Found in the whole window, and gone after it; no verb deletes or lists a key."""
    holder = held("aged", "--time", f"{SECONDS}s", "--rate", "1000", "--budget", "1e-6")
    try:
        good("insert", "aged", "a")
        fault = vanishes(lambda: not epf("test", "aged", "a", "-q").returncode, SECONDS - 0.2)
        deleted = epf("delete", "aged", "a")
    finally:
        end(holder, "aged")
    return fault or ("unknown verb" not in deleted.stderr and f"{deleted}")


CASES = (ipset_timeout, ipset_full, ipset_forceadd, ipset_packets, ipset_bitmap,
         nft_timeout, nft_full, nft_expired, nft_size,
         editcap_window, editcap_options, editcap_limit, editcap_md5,
         bloom, bloom_full, lru, ours_full, ours_timeout)


def named():
    """The column "run" of the page has these cases and no others."""
    with open(PAGE, encoding="utf-8") as page:
        told = re.findall(r"\| `([a-z0-9_]+)` \|$", page.read(), re.M)
    cases = [case.__name__ for case in CASES]
    return None if sorted(told) == sorted(cases) else f"the page has {told}, the test {cases}"


def main():
    cases = [(case.__name__, case) for case in CASES]
    return tap.run(tap.chosen(cases + [("the page names these cases", named)]))


if __name__ == "__main__":
    sys.exit(main())
