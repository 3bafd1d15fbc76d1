#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The iptables match: its verdicts, whatever happens to its filter; its keys equal those of
the core; no rule leaves anything behind.
"""

import errno
import functools
import json
import mmap
import os
import re
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import rules  # noqa: E402
from rules import A, B, ADDRESS, Filter, Rules, run  # noqa: E402
import frames  # noqa: E402
import packets  # noqa: E402
import tap  # noqa: E402

UDP = "-p udp -m epf --name peers --key flow"
LEARN = f"OUTPUT {UDP} --learn"
ASK = f"INPUT {UDP} --reverse --recent --unknown"
FEW = 100  # packets


def unlike(**pairs):
    for name, (got, wanted) in pairs.items():
        if got != wanted:
            return f"{name}: {got}, wanted {wanted}"
    return None


def flow(version, proto, source, dest, sport, dport):
    """Return the key of a flow, as flow.h describes it."""
    return bytes([version, proto]) + struct.pack(">HH", sport, dport) + \
        b"".join(socket.inet_pton(rules.FAMILY[version], a) for a in (source, dest))


def errors_of(version):
    kind = "icmpv6 --icmpv6-type" if version == 6 else "icmp --icmp-type"
    rule = f"INPUT -p {kind} destination-unreachable"
    return (f"{rule} -m epf --name peers --key flow --reverse --errors --recent "
            "--unknown drop -j ACCEPT", f"{rule} -j DROP")


def reflexive(program, version):
    """Only peers to which a query went are let in, and ICMP errors about it; others are
    not, not even from the next port.
"""
    with Filter("peers"), Rules(program, LEARN, f"{ASK} drop -j ACCEPT",
                                "INPUT -p udp -j DROP", *errors_of(version)), \
            rules.udp(A, version, 53) as server, \
            rules.udp(A, version, 54) as stranger, \
            rules.udp(B, version, 4000) as client:
        me, it = ADDRESS[B, version], ADDRESS[A, version]
        server.sendto(b"early", (me, 4000))
        early = rules.got(client)
        client.sendto(b"query", (it, 53))
        asked = rules.got(server)
        server.sendto(b"answer", (me, 4000))
        answer = rules.got(client)
        stranger.sendto(b"spoofed", (me, 4000))
        spoofed = rules.got(client)
        client.connect((it, 9))  # no socket listens there
        client.send(b"query")
        try:
            error = rules.got(client)
        except ConnectionRefusedError:
            error = "refused"
        told = rules.counters("peers")
    return unlike(early=(early, None), asked=(asked, b"query"),
                  answer=(answer, b"answer"), spoofed=(spoofed, None),
                  error=(error, "refused"),
                  told=(told, {"rules": 3, "recent": 2, "absent": 2, "learnt": 2}))


def survives(program, version, verdict, make_unknown, reason, **filter_):
    """A packet that the filter cannot answer for gets the given verdict, and is counted."""
    with Filter("peers", *filter_.get("options", ())) as peers, \
            Rules(program, LEARN, f"{ASK} {verdict} {filter_.get('rule', '')} -j ACCEPT",
                  "INPUT -p udp -j DROP"), \
            rules.udp(A, version, 53) as server, rules.udp(B, version, 4000) as client:
        client.sendto(b"query", (ADDRESS[A, version], 53))
        rules.got(server)
        make_unknown(peers)
        server.sendto(b"answer", (ADDRESS[B, version], 4000))
        answer = rules.got(client)
        told = rules.counters("peers")
        fault = unlike(
            answer=(answer, b"answer" if verdict == "accept" else None),
            told=(told, {"rules": 2, "learnt": 1, reason: 1}))
        if reason == "no_filter":
            run(rules.EPFCTL, "create", "peers", "-W", 100)  # recreated for the cleanup
        return fault


def gone(_):
    run(rules.EPFCTL, "destroy", "--force", "peers")


def saturated(peers):
    run(rules.EPFCTL, "insert", "peers", *range(5000))
    if not peers.show()["saturated"]:
        raise RuntimeError("not saturated")


def untimed(_):
    run(rules.EPFCTL, "create", "other", "-W", 100)
    run(rules.EPFCTL, "swap", "peers", "other")
    run(rules.EPFCTL, "destroy", "other")


def times(program, version):
    """With epochs of 100 s, a key at most two epochs old was inserted within 150 s."""
    key = flow(version, 17, ADDRESS[B, version], ADDRESS[A, version], 4000, 53)
    with Filter("peers"), rules.udp(B, version, 4000) as client, \
            Rules(program, f"OUTPUT {UDP} --recent --within 150s --unknown drop"):
        run(rules.EPFCTL, "insert", "peers", "--format", "hex", key.hex())
        for _ in range(5):
            client.sendto(b"query", (ADDRESS[A, version], 53))
            run(rules.EPFCTL, "rotate", "peers")
        told = rules.counters("peers")
    return unlike(told=(told, {"rules": 1, "recent": 3, "absent": 2}))


SMALL = ("--time", "700s", "--rate", 1, "--lines", 68, "--lines-per-key", 4,
         "--bits-per-key", 16, "-b", "1e-6")


def learns_on(program, version):
    """A saturated filter cannot tell whether the packet is new, so it is inserted."""
    with Filter("peers", *SMALL) as peers, rules.udp(B, version, 4000) as client, \
            Rules(program, f"OUTPUT {UDP} --new --learn-new --unknown drop"):
        client.sendto(b"query", (ADDRESS[A, version], 53))
        saturated(peers)
        before = peers.show()["stats"]["inserts"]
        client.sendto(b"query", (ADDRESS[A, version], 53))
        after = peers.show()["stats"]["inserts"]
        told = rules.counters("peers")
    return unlike(inserted=(after - before, 1),
                  told=(told, {"rules": 1, "absent": 1, "saturated": 1}))


def later_rules(program, version):
    """After its filter is gone other rules can be changed, and the same rule can be added
    again; without such rules the name is gone.
"""
    with Filter("peers"), Rules(program, LEARN) as rule:
        gone(None)
        rule.add("INPUT -p tcp -j ACCEPT")
        rule.add(f"{ASK} accept -j ACCEPT")
        told = rules.counters("peers")
        run(program, "-F", ns=B)
        late = rule.add(LEARN, check=False).returncode
        run(rules.EPFCTL, "create", "peers", "-W", 100)  # recreated for the cleanup
    return unlike(told=(told, {"rules": 2}), late=(late != 0, True))


def holds(program, version):
    """A rule holds its filter, and the modules."""
    with Filter("peers") as peers:
        free = peers.show()["users"]
        with Rules(program, LEARN):
            held = run(rules.EPFCTL, "destroy", "peers", check=False)
            users = peers.show()["users"]
            unload = [run("rmmod", m, check=False).returncode
                      for m in ("xt_epf", "epochfilter")]
        after = peers.show()["users"]
    return unlike(refused=(held.returncode, 2), lines=(held.stderr.count("\n"), 1),
                  unload=(unload, [1, 1]), users=(users - free, 1), after=(after, free))


def asks(program, version):
    """recent, new, insert, insert if new: the results by the age of each."""
    def rule(name, what):
        return f"OUTPUT -p udp --dport 53 -m epf --name {name} --key flow {what}"
    with Filter("refreshed", "-W", 700), Filter("once", "-W", 700), \
            Filter("tested", "-W", 700), rules.udp(B, version, 4000) as client, \
            Rules(program,
                  rule("refreshed", "--new --learn --unknown drop"),
                  rule("once", "--new --learn-new --unknown drop"),
                  rule("once", "--recent --within 1 --unknown drop"),
                  rule("tested", "--recent --unknown accept")):
        for _ in range(4):
            client.sendto(b"query", (ADDRESS[A, version], 53))
            for name in "refreshed", "once":
                run(rules.EPFCTL, "rotate", name)
        told = {n: rules.counters(n) for n in ("refreshed", "once", "tested")}
        key = flow(version, 17, ADDRESS[B, version], ADDRESS[A, version], 4000, 53)
        ages = {n: run(rules.EPFCTL, "test", n, "--format", "hex", key.hex(),
                       check=False).stdout.split("\t")[-1].strip()
                for n in ("refreshed", "once", "tested")}
    return unlike(
        refreshed=(told["refreshed"], {"rules": 1, "recent": 3, "absent": 1}),
        once=(told["once"], {"rules": 2, "recent": 3 + 2, "absent": 1 + 2}),
        tested=(told["tested"], {"rules": 1, "absent": 4})) or \
        (None if ages["refreshed"] != ages["once"] else f"ages: {ages}")


KINDS = {
    "flow": (packets.FLOW, 0, 0),
    "flow --reverse --errors": (packets.FLOW, packets.REVERSE | packets.ERRORS, 0),
    "flow --errors --frags drop": (packets.FLOW, packets.ERRORS | packets.FIRST, 0),
    "conversation --errors": (packets.CONVERSATION, packets.ERRORS, 0),
    "peer --prefix 17,50": (packets.PEER, 0, 17 | 50 << 8),
    "peer --reverse --zone 7": (packets.PEER, packets.REVERSE | packets.ZONE, 7 << 16),
    "peer-port --frags accept": (packets.PEER_PORT, packets.FIRST, 0),
}


def sums(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def acceptable(frame):
    """Return the IP packet of a frame if the kernel lets it reach PREROUTING, else None."""
    kind, data = int.from_bytes(frame[12:14], "big"), frame[14:]
    if kind == 0x86dd and len(data) >= 40 and data[0] >> 4 == 6:
        length = int.from_bytes(data[4:6], "big")
        if data[6] == 0 or length + 40 > len(data):
            return None  # hop-by-hop options are checked
        return data
    if kind != 0x0800 or len(data) < 20 or data[0] >> 4 != 4:
        return None
    header, total = 4 * (data[0] & 15), int.from_bytes(data[2:4], "big")
    if header < 20 or total < header or total > len(data):
        return None
    data = data[:10] + b"\0\0" + data[12:]
    return data[:10] + struct.pack(">H", sums(data[:header])) + data[12:]


def longer(data, by):
    """Return it with so many more bytes at its end."""
    if data[0] >> 4 == 6:
        return data[:4] + struct.pack(
            ">H", int.from_bytes(data[4:6], "big") + by) + data[6:] + bytes(by)
    total = int.from_bytes(data[2:4], "big") + by
    data = data[:2] + struct.pack(">H", total) + data[4:]
    return acceptable(bytes(12) + b"\x08\0" + data + bytes(by))


@functools.cache
def traffic():
    """Return IP packets of every sort: as frames have them; and long ones, which arrive in
    a buffer of a header's length, and pages.
"""
    made = {acceptable(f) for link, f, _ in frames.all_frames() + frames.flow_frames()
            if link == packets.ETHER}
    made = sorted(made - {None})
    return made, [longer(m, 5000) for m in made if len(m) < 200]


def send_all(short, long):
    """@long: everything after the first bytes is in pages (struct virtio_net_hdr)."""
    link = run("ip", "-n", B, "-br", "link", "show", rules.DEV[B]).stdout
    macs = bytes.fromhex(link.split()[2].replace(":", "")) + bytes(6)
    with rules.opened(A, socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
        sock.setsockopt(263, 15, 1)  # SOL_PACKET, PACKET_VNET_HDR
        sock.bind((rules.DEV[A], 0))
        for data in short + long:
            kind = b"\x86\xdd" if data[0] >> 4 == 6 else b"\x08\0"
            head = struct.pack("<BBHHHH", 0, 0, 1 if data in long else 0, 0, 0, 0)
            sock.send(head + macs + kind + data)
    time.sleep(0.3)


def expected(all_, key, flags, max_bytes):
    """Return keys, and how many packets have each outcome."""
    keys, told = set(), {"rules": 2}
    names = {packets.Truncated: "truncated", packets.Malformed: "malformed",
             packets.Fragment: "fragment"}
    for data in all_:
        try:
            keys.add(packets.canonical(data, key, packets.IP, flags, max_bytes))
            outcome = "learnt"
        except tuple(names) as fault:
            outcome = names[type(fault)]
        told[outcome] = told.get(outcome, 0) + 1
    return keys, told


def parity():
    """Every packet has the key of the model, also from pages: inserted keys are found by
    the model's bytes, and there are no other outcomes.
"""
    short, long = traffic()
    names = {f"key{i}": kind for i, kind in enumerate(KINDS)}
    made = []
    try:
        for name in names:
            run(rules.EPFCTL, "create", name, *rules.SHAPE)
            made.append(name)
        text = "*raw\n" + "".join(
            f"-A PREROUTING -i {rules.DEV[B]} -m epf --name {name} --key {kind} "
            "--learn\n" for name, kind in names.items()) + "COMMIT\n"
        run("iptables-nft-restore", ns=B, input=text)
        run("ip6tables-nft-restore", ns=B, input=text)
        send_all(short, long)
        for name, kind in names.items():
            keys, told = expected(short + long, *KINDS[kind])
            seen = rules.counters(name)
            there = Filter(name).present(sorted(keys))
            # neighbour discovery and the like may add packets
            more = {k: seen.get(k, 0) - v for k, v in told.items()}
            extra = more.pop("learnt")
            if there != len(keys) or any(more.values()) or not 0 <= extra < 20:
                return f"{kind}: {there} of {len(keys)} keys, {seen}, wanted {told}"
    finally:
        for program in "iptables-nft", "ip6tables-nft":
            run(program, "-t", "raw", "-F", ns=B)
        for name in made:
            run(rules.EPFCTL, "destroy", "--force", name)
    print(f"# {len(short)} packets, {len(long)} of them in pages too, "
          f"{len(KINDS)} kinds of key")
    return None


def saved(program, version):
    """Saved and restored rules are the same, and so is a rule that is deleted."""
    texts = [
        "OUTPUT -m epf --name peers --key flow --learn",
        "INPUT -m epf --name peers --key flow --reverse --errors --frags accept "
        "--recent --within 10s --unknown accept",
        "INPUT -m epf --name peers --key peer --prefix 24,64 --new --within 254 "
        "--learn-new --unknown drop --if-malformed pass",
        "FORWARD -m epf --name peers --key conversation --new --learn --unknown drop",
        "INPUT -m epf --name peers --key peer-port --frags drop --recent --within 1500ms "
        "--unknown drop -j ACCEPT",
        "INPUT -m epf --name peers --key flow --zone 0 --frags drop --learn",
        "INPUT -m epf --name peers --key peer --prefix 24,128 --zone 65535 --learn",
    ]
    def now():  # without the counters of chains, because IPv6 sends packets by itself
        lines = run(f"{program}-save", "-t", "filter", ns=B).stdout.splitlines()
        return [re.sub(r" \[\d+:\d+\]$", "", l) for l in lines if not l.startswith("#")]
    with Filter("peers"), Rules(program, *texts):
        first = now()
        listed = run(program, "-L", "-v", "-n", ns=B).stdout.count(" epf --name peers")
        run(program, "-F", ns=B)
        run(f"{program}-restore", ns=B, input="\n".join(first) + "\n")
        second = now()
        for text in texts:
            run(program, "-D", *text.split(), ns=B)
        left = rules.counters("peers")
    missing = [t for t in texts if not any(t in line for line in first)]
    return unlike(missing=(missing, []), listed=(listed, len(texts)),
                  restored=(second, first), left=(left, None))


WRONG = [
    ("--key flow --recent --unknown accept", "--name"),
    ("--name peers --recent --unknown accept", "--key"),
    ("--name peers --key frame --recent --unknown accept", "not flow, conversation"),
    ("--name ../x --key flow --learn", "not the name of a filter"),
    ("--name peers --key flow", "--recent, --new or --learn"),
    ("--name peers --key flow --recent", "--unknown accept (recent) or drop (new)"),
    ("--name peers --key flow --recent --unknown maybe", "not accept or drop"),
    ("--name peers --key flow --recent --new --unknown accept", "--recent"),
    ("--name peers --key flow --learn --learn-new", "--learn"),
    ("--name peers --key flow --learn-new", "--learn-new goes with"),
    ("--name peers --key flow --learn --within 2", "--within goes with"),
    ("--name peers --key flow --learn --zone 65536", "--zone '65536'"),
    ("--name peers --key flow --learn --zone x", "--zone 'x'"),
    ("--name peers --key flow --learn --unknown drop", "--unknown and --if-malformed go"),
    ("--name peers --key flow --learn --if-malformed drop", "--unknown and --if-malformed go"),
    ("--name peers --key flow --recent --unknown drop --if-malformed id", "not pass or drop"),
    ("--name peers --key flow --recent --unknown drop --within 0", "--within '0'"),
    ("--name peers --key flow --recent --unknown drop --within 255", "--within '255'"),
    ("--name peers --key flow --recent --unknown drop --within 3w", "--within '3w'"),
    ("--name peers --key flow --prefix 24 --learn", "--prefix goes with"),
    ("--name peers --key peer --prefix 7 --learn", "--prefix '7'"),
    ("--name peers --key conversation --reverse --learn", "has both directions"),
    ("--name peers --key peer --frags drop --learn", "uses no ports"),
    ("--name peers --key flow --frags maybe --learn", "not id, accept or drop"),
]


def wrong(program, version):
    """Contradictory options are refused in a line that names them."""
    with Filter("peers"):
        for text, says in WRONG:
            done = run(program, "-A", "INPUT", "-m", "epf", *text.split(), ns=B,
                       check=False)
            lines = [l for l in done.stderr.splitlines() if l and not l.startswith("Try ")]
            if done.returncode != 2 or len(lines) != 1 or says not in lines[0]:
                return f"{text}: exit {done.returncode}, {done.stderr}"
        return unlike(left=(rules.counters("peers"), None))


def refused(program, version):
    """Errors that only the kernel detects are one line of its log."""
    cases = [
        ("--name nobody --key flow --learn", "no filter 'nobody'"),
        ("--name peers --key flow --recent --within 80s --unknown drop",
         "longer than its window"),
        ("--name count --key flow --recent --within 8s --unknown drop",
         "no epochs of fixed duration"),
    ]
    with Filter("peers", "-T", "70s", "--rate", 10), Filter("count", "-W", 100):
        for text, says in cases:
            run("dmesg", "-C")
            done = run(program, "-A", "INPUT", "-m", "epf", *text.split(), ns=B,
                       check=False)
            told = run("dmesg").stdout
            if not done.returncode or says not in told or told.count("xt_epf:") != 1:
                return f"{text}: exit {done.returncode}, {done.stderr}, {told}"
    return None


def lesser():
    """Root of a user namespace gets no filter by its name."""
    with Filter("peers"):
        done = run("unshare", "-Urn", "iptables-nft", "-A", "INPUT", "-m", "epf",
                   "--name", "peers", "--key", "flow", "--learn", check=False)
        own = run("unshare", "-Urn", "iptables-nft", "-A", "INPUT", "-p", "udp",
                  check=False)
    if own.returncode:
        raise tap.Skip(f"no rules in a user namespace here: {own.stderr.strip()}")
    return unlike(status=(done.returncode, 4),
                  why=("Operation not permitted" in done.stderr, True))


def raw():
    """The kernel refuses what iptables would not send: wrong sizes, numbers out of range,
    contradictions; and accepts what it would.
"""
    bad = {
        "short": (rules.info()[:-8], None), "long": (rules.info() + bytes(8), None),
        "size beyond the entry": (rules.info(), 4096), "size 0": (rules.info(), 0),
        "name without an end": (rules.info(name=b"x" * 32), None),
        "no name": (rules.info(name=b""), None), "dots": (rules.info(name=b".x"), None),
        "key frame": (rules.info(key=0), None), "key packet": (rules.info(key=1), None),
        "key 6": (rules.info(key=6), None), "key 255": (rules.info(key=255), None),
        "link": (rules.info(link=0), None), "prefix": (rules.info(max_bytes=24), None),
        "prefix 7": (rules.info(key=rules.PEER, max_bytes=7), None),
        "flags": (rules.info(flags=0x8000), None),
        "control": (rules.info(flags=8), None), "iface": (rules.info(flags=256), None),
        "zone unasked": (rules.info(max_bytes=1 << 16), None),
        "zone and mark": (rules.info(flags=512 | rules.ZONE), None),
        "reverse conversation": (rules.info(key=3, flags=rules.REVERSE), None),
        "ask": (rules.info(ask=3), None), "learn": (rules.info(learn=3), None),
        "nothing": (rules.info(ask=0, unknown=0), None),
        "learn new alone": (rules.info(ask=0, learn=2, unknown=0), None),
        "unknown unsaid": (rules.info(unknown=0), None),
        "unknown": (rules.info(unknown=3), None),
        "unknown unasked": (rules.info(ask=0, learn=1), None),
        "malformed": (rules.info(malformed=3), None),
        "malformed unasked": (rules.info(ask=0, learn=1, unknown=0, malformed=1), None),
        "reserved": (rules.info(reserved=1), None),
        "within": (rules.info(within=255), None),
        "two withins": (rules.info(within=1, within_ns=1), None),
        "within unasked": (rules.info(ask=0, learn=1, unknown=0, within=1), None),
        "fragments unsaid": (rules.info(flags=rules.FIRST), None),
        "fragments": (rules.info(flags=rules.FIRST, fragments=3), None),
        "fragments of ids": (rules.info(fragments=1), None),
    }
    good = {
        "plain": rules.info(), "padding set": rules.info()[:-8] + b"\xff" * 8,
        "within": rules.info(within=254), "learn": rules.info(ask=0, learn=1, unknown=0),
        "fragments": rules.info(flags=rules.FIRST, fragments=2),
        "malformed": rules.info(malformed=1),
        "zone": rules.info(flags=rules.ZONE, max_bytes=65535 << 16),
    }
    if run("iptables-legacy", "-S", ns=B, check=False).returncode:
        raise tap.Skip("no iptables-legacy in this kernel")
    with Filter("xt-raw"):
        got = {n: rules.set_legacy(*d) for n, d in bad.items()}
        taken = {n: rules.set_legacy(d) for n, d in good.items()}
        run("iptables-legacy", "-F", ns=B)
    return unlike(refused=({n: e for n, e in got.items() if e != errno.EINVAL}, {}),
                  taken=({n: e for n, e in taken.items() if e}, {}))


def sent_under_flood(nr):
    """A process sends while another CPU floods the softirqs of its CPU. Return: the keys of
    what it sent.
"""
    if os.cpu_count() < 2:
        raise tap.Skip("needs two CPUs")
    me, it = ADDRESS[B, 4], ADDRESS[A, 4]
    flooded = mmap.mmap(-1, 8)
    rules.inside(B, lambda: rps(rules.DEV[B]))
    flooder = os.fork()
    if not flooder:
        os.sched_setaffinity(0, {1})
        flood(me, flooded)
    os.sched_setaffinity(0, {0})
    with rules.udp(B, 4, 4000) as client:
        for port in range(nr):
            if not port % FEW:
                until_flooded(flooded)
            client.sendto(b"query", (it, 10000 + port))
    os.sched_setaffinity(0, range(os.cpu_count()))
    os.kill(flooder, 9)
    os.waitpid(flooder, 0)
    time.sleep(0.3)
    return [flow(4, 17, me, it, 4000, 10000 + port) for port in range(nr)]


def race():
    """Each packet that a process sends is inserted, and each insertion is counted."""
    nr = 6000 if os.environ.get("EPF_THOROUGH") else 1500
    with Filter("peers", "-W", 10000000, "-b", "1e-9") as peers, \
            Rules("iptables-nft", LEARN, f"raw:PREROUTING {UDP} --learn"):
        there = peers.present(sent_under_flood(nr))
        told = rules.counters("peers")
        inserted = peers.show()["stats"]["inserts"]
    print(f"# {nr} sent, {told['learnt'] - nr} of the flood")
    return unlike(learnt=(there, nr), counted=(inserted, told["learnt"]),
                  outcomes=(set(told), {"rules", "learnt"}),
                  flooded=(told["learnt"] > nr + nr // 20, True))


def rps(dev):
    """CPU 0 receives incoming packets. A mount of sysfs shows the devices of the namespace
    that it was made in.
"""
    rules.libc.unshare(0x00020000)  # CLONE_NEWNS
    run("mount", "--make-rprivate", "/")
    run("mount", "-t", "sysfs", "sysfs", "/mnt")
    with open(f"/mnt/class/net/{dev}/queues/rx-0/rps_cpus", "w",
              encoding="ascii") as file:
        file.write("1")


def until_flooded(flooded):
    """As many packets again as are sent until the next call; the machine may be busy."""
    before, = struct.unpack("Q", flooded[:])
    while struct.unpack("Q", flooded[:])[0] < before + FEW:
        time.sleep(0.001)


def flood(me, flooded):
    rules.enter(A)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        port = 0
        while True:
            sock.sendto(b"flood", (me, 20000 + port % 40000))
            port += 1
            flooded[:] = struct.pack("Q", port)


def cycles(program, version, nr=250):
    """Rules come and go, and leave nothing: no use count, no reference, no module."""
    rule = "-p udp -m epf --name peers --key flow --learn"
    text = f"*filter\n-A OUTPUT {rule}\nCOMMIT\n*filter\n-D OUTPUT {rule}\nCOMMIT\n"
    with Filter("peers") as peers:
        free = peers.show()["users"]
        run(f"{program}-restore", "-n", ns=B, input=nr * text)
        left = rules.counters("peers")
        users = peers.show()["users"]
    return unlike(left=(left, None), users=(users, free), module=(module_users(), 0))


def module_users():
    with open("/sys/module/xt_epf/refcnt", encoding="ascii") as file:
        return int(file.read())


def namespace_ends():
    """The same for the rules of a namespace that ends."""
    with Filter("peers") as peers:
        free = peers.show()["users"]
        run("ip", "netns", "add", "xt-c")
        for program, _ in rules.front_ends():
            run("ip", "netns", "exec", "xt-c", program, "-A", "INPUT", "-m", "epf",
                "--name", "peers", "--key", "flow", "--learn")
        held = peers.show()["users"]
        run("ip", "netns", "del", "xt-c")
        end = time.monotonic() + 60
        while peers.show()["users"] != free and time.monotonic() < end:
            time.sleep(0.1)
        after = peers.show()["users"]
    return unlike(held=(held, free + 1), after=(after, free), module=(module_users(), 0))


def status():
    """epfctl shows what the rules of its network namespace use."""
    with Filter("peers"), Rules("iptables-nft", LEARN, f"{ASK} drop"), \
            rules.udp(B, 4, 4000) as client:
        client.sendto(b"query", (ADDRESS[A, 4], 53))
        told = json.loads(run(rules.EPFCTL, "-j", "status", ns=B).stdout)
        text = run(rules.EPFCTL, "status", ns=B).stdout
        here = json.loads(run(rules.EPFCTL, "-j", "status").stdout)
        keys = json.loads(run(rules.EPFCTL, "-j", "show", "peers").stdout)["keys"]
        pin = run(rules.EPFCTL, "pin", "peers", "/sys/fs/bpf/xt", "--key", "flow",
                  "--learn", check=False)
    return unlike(
        here=(here, []), nr=(len(told), 1), hook=(told[0]["hook"], "iptables"),
        filter=(told[0]["filter"], "peers"), rules=(told[0]["rules"], 2),
        inserted=(told[0]["counters"]["learnt"], {"packets": 1}),
        text=(" ".join(text.split()), "iptables: filter peers, 2 rules learnt 1 packets"),
        keys=((keys["kind"], keys["key"]), ("packets", "flow")),
        pin=((pin.returncode, "'-m epf --name peers'" in pin.stderr), (2, True)))


def of(case, *args, **more):
    return functools.partial(case, *args, **more)


def in_full():
    return os.environ.get("EPF_THOROUGH") or os.environ.get("EPF_KERNELS")


def is_in_part():
    """A kernel of which "make check" asks what only it can change: not that of most guests."""
    return not in_full() and not os.uname().release.startswith("6.12.")


def of_kernel(ends):
    for end in ends:
        yield f"{end[0]}: answers and ICMP errors come in, nothing else", of(reflexive, *end)
    yield f"{ends[0][0]}: 250 times added and deleted, nothing is left", of(cycles, *ends[0])
    yield "keys are those of the model, in pages too", parity
    yield "rules of wrong sizes and numbers are refused by the kernel", raw
    yield "learning is never lost to a softirq of the same CPU", race
    yield "a network namespace ends with rules in it", namespace_ends


def cases():
    ends = rules.front_ends()
    if not ends:
        tap.skip_all("no iptables that works here")
    if is_in_part():
        yield from of_kernel(ends)
        return
    for end in ends:
        yield f"{end[0]}: answers and ICMP errors come in, nothing else", of(reflexive, *end)
        yield f"{end[0]}: saved, restored, deleted", of(saved, *end)
    for end in ends if in_full() else ends[::3]:
        yield f"{end[0]}: 250 times added and deleted, nothing is left", of(cycles, *end)
    four = [end for end in ends if end[1] == 4]
    for end in four:
        yield f"{end[0]}: a rule holds its filter and the modules", of(holds, *end)
        yield f"{end[0]}: destroyed by force: the said verdict, counted", \
            of(survives, *end, "accept", gone, "no_filter")
        yield f"{end[0]}: rules beside one of a filter that is gone", of(later_rules, *end)
    for end in four[:1]:
        yield "destroyed by force: --unknown drop", of(survives, *end, "drop", gone, "no_filter")
        for verdict in ("accept", "drop") if in_full() else ("accept",):
            yield f"saturated: --unknown {verdict}", \
                of(survives, *end, verdict, saturated, "saturated", options=SMALL)
            yield f"contents without times: --unknown {verdict}", \
                of(survives, *end, verdict, untimed, "untimed", rule="--within 10s")
        yield "a time is so many epochs", of(times, *end)
        yield "saturated: learning goes on", of(learns_on, *end)
        yield "wrong options are named in one line", of(wrong, *end)
        yield "what the kernel refuses it tells in one line", of(refused, *end)
    yield "recent, new, learn, learn-new, within", of(asks, *ends[-1])
    yield "keys are those of the model, in pages too", parity
    yield "root of a user namespace gets no filter", lesser
    yield "rules of wrong sizes and numbers are refused by the kernel", raw
    yield "learning is never lost to a softirq of the same CPU", race
    yield "epfctl status tells what rules use, show what their keys are", status
    yield "a network namespace ends with rules in it", namespace_ends


if __name__ == "__main__":
    rules.require()
    tap.main(tap.chosen(list(cases())))
