#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Attach and detach: beside other programs, with every possible refusal, and without
leftovers.
"""

import functools
import json
import os
import signal
import subprocess
import time

import bpfobjects
import net
import pcap
import tap
from traffic import udp_frame

OTHER = os.path.join(net.BUILT, "counter.bpf.o")
THOROUGH = os.environ.get("EPF_THOROUGH")
FRAMES = [udp_frame(n % 100) for n in range(300)]


def bpftool(*args):
    return json.loads(net.run("bpftool", "-j", *args).stdout)


def ours():
    """Our programs and maps in the kernel, and all links."""
    names = ("xdp_dedup", "xdp_dedup_mark", "epf_bind", "epf_unbind",
             "tc_mark", "epf_slot", "epf_conf", "xdp_dedu.rodata")
    return [n for n in bpfobjects.names(bpfobjects.PROG, bpfobjects.MAP) if n in names] + \
        [f"link of type {t}" for t in bpfobjects.link_types()]


def left():
    """What is there of ours; empty once the kernel has freed it."""
    out = ours()
    if os.path.exists(net.PINS):
        out += [os.path.join(net.PINS, d) for d in os.listdir(net.PINS)]
    if os.path.isdir("/sys/fs/bpf/xdp"):
        out += [d for d in os.listdir("/sys/fs/bpf/xdp")
                if d.startswith("dispatch-")]
    out += net.in_b("ip", "link", "show", net.B).stdout.count("xdp") * ["xdp"]
    return out


def nothing_left():
    return None if net.eventually(lambda: not left()) else \
        f"left behind: {left()}"


def users(name=net.FILTER):
    return json.loads(net.epfctl("-j", "show", name).stdout)["users"]


def attach_refused(text, *args, **how):
    return net.refused(text, "attach", net.B, "--filter", net.FILTER, *args,
                   **how)


def detach_cleans(*options):
    with net.Filter():
        with net.Attached(*options):
            held = users()
            net.send(FRAMES)
        free = users()
    return net.unlike(held=(held > 0, True), given_back=(free, 0))


def other(command, *args):
    return net.in_b("xdp-loader", command, *args)


class Other:
    """counter.bpf.o on B, beside our program, attached by xdp-loader."""

    def __init__(self, mode="native"):
        self.mode = mode

    def __enter__(self):
        net.in_b("xdp-loader", "load", "-m",
                 {"generic": "skb"}.get(self.mode, self.mode), net.B, OTHER)
        return self

    def __exit__(self, *error):
        net.in_b("xdp-loader", "unload", net.B, "--all", check=False)

    def count(self):
        values = bpftool("map", "dump", "name", "epf_other")
        return sum(cpu["value"] for cpu in
                   values[0]["formatted"]["values"])


def beside(mode, prio, after_ours, before):
    """Of 300 frames 200 are repeats; the program that runs first sees all."""
    with net.Filter():
        if before:
            with Other(mode) as other, \
                    net.Attached("--mode", mode, "--prio", prio) as on:
                got = net.through(FRAMES)
                seen, counters = other.count(), on.counters()
        else:
            with net.Attached("--mode", mode, "--prio", prio) as on:
                with Other(mode) as other:
                    got = net.through(FRAMES)
                    seen, counters = other.count(), on.counters()
    return net.unlike(passed=(got, FRAMES[:100]),
                      other=(seen, 100 if after_ours else 300),
                      ours=(counters, {"absent": 100, "recent": 200}))


def auto_joins():
    """If the other programs run in generic mode, ours does too."""
    with net.Filter(), Other("generic"), net.Attached() as on:
        got, mode = net.through(FRAMES), on.status()["mode"]
    return net.unlike(mode=(mode, "generic"), passed=(len(got), 100))


def other_stays():
    """Detaching our program leaves the other one running, and the reverse."""
    with net.Filter(), Other() as other:
        with net.Attached():
            net.send(FRAMES)
        got = net.through(FRAMES)
        seen = other.count()
        with net.Attached() as on:
            net.in_b("xdp-loader", "unload", net.B, "--all", check=False)
            gone = on.status()["attached"]
    return net.unlike(passed=(len(got), 300), other=(seen > 300, True),
                      noticed=(gone, False))


def xdp_filter_beside():
    """xdp-filter of xdp-tools drops what it is configured to drop; our program drops the
    repeats."""
    frames = FRAMES + [f[:14] + bytes([0x45]) + f[15:26] +
                       bytes([203, 0, 113, 5]) + f[30:] for f in FRAMES[:50]]
    net.in_b("xdp-filter", "load", "-m", "native", net.B)
    try:
        net.in_b("xdp-filter", "ip", "-m", "src", "203.0.113.5")
        with net.Filter(), net.Attached("--prio", 60) as on:
            got = net.through(frames)
            counters = on.counters()
    finally:
        net.in_b("xdp-filter", "unload", net.B)
    return net.unlike(passed=(len(got), 100),
                      ours=(counters, {"absent": 100, "recent": 200}))


def alone_refused():
    """Programs that cannot share the interface are named, and stay."""
    net.in_b("ip", "link", "set", net.B, "xdp", "obj", OTHER, "sec",
             "xdp.frags")
    try:
        with net.Filter():
            fault = net.refused("does not share the interface", "attach", net.B,
                            "--filter", net.FILTER) or \
                net.refused("already has an XDP program", "attach", net.B,
                        "--filter", net.FILTER, "--no-dispatcher")
        stays = "xdp" in net.in_b("ip", "link", "show", net.B).stdout
    finally:
        net.in_b("ip", "link", "set", net.B, "xdp", "off")
    return fault or net.unlike(stays=(stays, True))


def twice():
    with net.Filter(), net.Attached():
        fault = net.refused("has duplicate removal already", "attach", net.B,
                        "--filter", net.FILTER)
        net.send(FRAMES)
    return fault


def no_interface():
    with net.Filter():
        return net.refused("there is no interface 'nope0'", "attach", "nope0",
                       "--filter", net.FILTER)


def no_filter():
    return attach_refused("there is no filter")


def bad_options():
    for text, options in (
            ("--no-mac goes with --key packet", ["--key", "flow",
                                                "--no-mac"]),
            ("--no-vlan goes with", ["--key", "flow", "--no-vlan"]),
            ("--nonip frame goes with", ["--key", "packet", "--nonip",
                                         "frame"]),
            ("--nonip frame needs --mirror", ["--key", "flow", "--nonip",
                                                  "frame"]),
            ("repeat on purpose: give --mirror", ["--key", "frame"]),
            ("--vlan-offload 'on': only off", ["--vlan-offload", "on"]),
            ("--bytes goes with --key frame and packet", ["--key", "flow", "--bytes", "64"]),
            ("--bytes", ["--bytes", "0"]),
            ("not frame, packet, flow, conversation", ["--key", "mac"]),
            ("--prefix goes with", ["--key", "flow", "--prefix", "24"]),
            ("--prefix '33'", ["--key", "peer", "--prefix", "33"]),
            ("--reverse does not go", ["--reverse"]),
            ("--scope mark: packets do not", ["--key", "flow", "--scope",
                                             "mark,vlan"]),
            ("--scope 'x'", ["--key", "flow", "--scope", "x"]),
            ("--fragments 'x': not id", ["--key", "flow", "--fragments", "x"]),
            ("not drop, count or mark", ["--action", "pass"]),
            ("not auto, native or generic", ["--mode", "hw"]),
            ("--mark goes with", ["--mark", "5"]),
            ("--mark 'x'", ["--action", "mark", "--mark", "x"]),
            ("exclude each other", ["--prio", "5", "--no-dispatcher"]),
            ("--prio", ["--prio", "0"])):
        fault = net.refused(text, "attach", net.B, "--filter", "none", *options)
        if fault:
            return fault
    return net.refused("nothing is attached to", "detach", net.B)


def as_nobody():
    """An ordinary user gets one line, too. The device node is made accessible, so that the
    attempt gets as far as BPF.
"""
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    mode = os.stat("/dev/epochfilter").st_mode & 0o777

    def tries(*verb):
        done = net.run(*net.inside(net.NS_B), *nobody, net.EPFCTL, *verb,
                       check=False)
        if done.returncode == 2 and done.stderr.startswith("error: ") and \
                len(done.stderr.splitlines()) == 1:
            return None
        return f"{verb}: exit {done.returncode}: {done.stderr}"

    with net.Filter():
        os.chmod("/dev/epochfilter", 0o666)
        try:
            fault = tries("attach", net.B, "--filter", net.FILTER)
            with net.Attached():
                fault = fault or tries("status") or \
                    tries("status", net.B) or tries("detach", net.B)
        finally:
            os.chmod("/dev/epochfilter", mode)
    return fault


def without_bpf_right():
    """CAP_NET_ADMIN alone does not load programs."""
    with net.Filter():
        done = net.run(*net.inside(net.NS_B), "setpriv",
                       "--bounding-set=-all,+net_admin,+dac_override",
                       "--inh-caps=-all,+net_admin,+dac_override", net.EPFCTL,
                       "attach", net.B, "--filter", net.FILTER, check=False)
    good = done.returncode == 2 and "run as root" in done.stderr
    return None if good else \
        f"exit {done.returncode}: {done.stderr}"


def without_bpffs():
    with net.Filter():
        done = net.run(*net.inside(net.NS_B), "unshare", "-m", "sh", "-c",
                       f"umount /sys/fs/bpf; exec {net.EPFCTL} attach "
                       f"{net.B} --filter {net.FILTER}", check=False)
    good = done.returncode == 2 and "no BPF file system" in done.stderr
    return None if good else \
        f"exit {done.returncode}: {done.stderr}"


def destroy_busy():
    """A filter in use cannot be destroyed, nor the module unloaded."""
    with net.Filter():
        with net.Attached():
            fault = net.refused("is attached to", "destroy", net.FILTER)
            unload = net.run("rmmod", "epochfilter", check=False)
            net.send(FRAMES)
        if unload.returncode == 0:
            return "the module was unloaded under a program"
    return fault


def destroy_forced():
    """Without its filter the program passes everything, and reports it."""
    net.epfctl("create", net.FILTER, "-W", 1000)
    with net.Attached() as on:
        net.send(FRAMES)
        net.epfctl("destroy", "--force", net.FILTER)
        got = net.through(FRAMES)
        counters = on.counters()
        named = on.status().get("filter")
    return net.unlike(passed=(len(got), 300), named=(named, None),
                      counters=(counters, {"absent": 100, "recent": 200,
                                           "no_filter": 300}))


def swapped():
    """A program continues with the contents swapped in under its filter's name."""
    with net.Filter(), net.Filter("-W", 1000, name="xdp-other"):
        with net.Attached() as on:
            net.send(FRAMES)
            net.epfctl("swap", net.FILTER, "xdp-other")
            got = net.through(FRAMES)
            counters = on.counters()
    return net.unlike(passed=(len(got), 100),
                      counters=(counters, {"absent": 200, "recent": 400}))


def interface_gone(*options):
    """The namespace is removed while a program is attached: everything can be cleaned up."""
    with net.Filter():
        net.epfctl("attach", net.B, "--filter", net.FILTER, *options)
        net.in_b("ip", "link", "del", net.B)
        time.sleep(0.2)
        states = json.loads(net.epfctl("-j", "status").stdout)
        before = os.stat(f"/run/netns/{net.NS_B}").st_ino
        net.make_net()
        # The kernel frees namespaces later, so the new one seldom has another number.
        if os.stat(f"/run/netns/{net.NS_B}").st_ino != before:
            net.epfctl("detach", f"{net.B}@{before}")
        fault = net.unlike(attached=([s["attached"] for s in states],
                                     [False]))
        with net.Attached(*options) as on: # takes over the leftovers
            net.send(FRAMES)
            counters = on.counters()
        fault = fault or net.unlike(
            counters=(counters, {"absent": 100, "recent": 200}),
            given_back=(users(), 0))
    return fault


def detach_gone():
    with net.Filter():
        net.epfctl("attach", net.B, "--filter", net.FILTER)
        net.in_b("ip", "link", "del", net.B)
        net.epfctl("detach", net.B)
        free = users()
    net.make_net()
    return net.unlike(given_back=(free, 0))


def same_name_elsewhere():
    """Interfaces of the same name in two namespaces are different interfaces."""
    net.run("ip", "-n", net.NS_A, "link", "add", "twin0", "type", "dummy")
    net.in_b("ip", "link", "add", "twin0", "type", "dummy")
    with net.Filter():
        with net.Attached(dev="twin0", ns=net.NS_A), \
                net.Attached(dev="twin0", ns=net.NS_B):
            seen = [(s["interface"].split("@")[0], s["here"]) for s in
                    json.loads(net.epfctl("-j", "status").stdout)]
            pins = len(os.listdir(net.PINS))
    for ns in net.NS_A, net.NS_B:
        net.run("ip", "-n", ns, "link", "del", "twin0")
    return net.unlike(pins=(pins, 2), names=(
        sorted(seen), [("twin0", False), ("twin0", True)]))


def vlan_device():
    """A name with a dot, and a driver without XDP: auto takes generic."""
    dev = net.B + ".5"
    net.in_b("ip", "link", "add", "link", net.B, "name", dev, "type", "vlan",
             "id", "5")
    net.in_b("ip", "link", "set", dev, "arp", "off", "up")
    tagged = [f[:12] + b"\x81\x00\x00\x05" + f[12:] for f in FRAMES]
    try:
        with net.Filter():
            fault = net.refused("not supported", "attach", dev, "--mode",
                            "native", "--filter", net.FILTER)
            with net.Attached(dev=dev) as on, net.Capturing(dev) as got:
                net.send(tagged)
                net.eventually(lambda: sum(on.counters().values()) == 300)
                mode, counters = on.status()["mode"], on.counters()
    finally:
        net.in_b("ip", "link", "del", dev)
    return fault or net.unlike(
        mode=(mode, "generic"), passed=(got.frames, FRAMES[:100]),
        counters=(counters, {"absent": 100, "recent": 200}))


def under_traffic(*options):
    """Attach and detach while packets flow: each time all references are released, and only
    repeats are lost.
"""
    path = pcap.Capture([pcap.Packet(0, udp_frame(n)) for n in
                         range(4000)]).save(net.tmp("flood.pcap"))
    with net.Filter("-W", 100000000, "--lines", 65536, "--lines-per-key", 1,
                    "--bits-per-key", 4, "--limit", "never"):
        flood = subprocess.Popen(
            [*net.inside(net.NS_A), "sh", "-c",
             f"while :; do {net.BUILT}/pcapsend {net.A} {path}; done"],
            stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            for _ in range(8 if THOROUGH else 2):
                with net.Attached(*options) as on:
                    net.eventually(on.counters)
                    counters = on.counters()
                held = users()
                if held or not counters or set(counters) - {"absent", "recent"}:
                    return f"{held} references after {counters}"
        finally:
            os.killpg(flood.pid, signal.SIGTERM)
            flood.wait()


def status_codes():
    none = net.epfctl("status", net.B, check=False)
    with net.Filter(), net.Attached("--key", "packet", "--no-mac", "--bytes",
                                    "64", "--prio", "7", "--mirror") as on:
        text = net.epfctl("status").stdout
        state = on.status()
        everything = json.loads(net.epfctl("-j", "status").stdout)
    return net.unlike(
        none=(none.returncode, 1), text=(
            f"{net.B}: filter {net.FILTER}, key packet --no-mac --bytes 64 "
            "--mirror, drop, native mode, prio 7" in text, True),
        key=(state["key"], {"key": "packet", "mac": False, "vlan": True,
                            "nonip": "pass", "bytes": 64}),
        all=(everything, [state]))


def says_so():
    """attach reports in one line what it did, and with -j the same as status."""
    with net.Filter():
        text = net.epfctl("attach", net.B, "--filter", net.FILTER)
        shown = net.epfctl("status").stdout.splitlines()
        net.epfctl("detach", net.B)
        told = json.loads(net.epfctl("-j", "attach", net.B, "--filter",
                                     net.FILTER).stdout)
        state = json.loads(net.epfctl("-j", "status", net.B).stdout)
        net.epfctl("detach", net.B)
    return net.unlike(
        text=(text.stdout.splitlines() + [text.stderr], [shown[0], ""]),
        key=(", key packet, drop, native mode" in text.stdout, True),
        json=(told, state), mirror=(state["mirror"], False),
        vlan_tags=(state["vlan_tags"], "counted"),
        nothing=({c["packets"] for c in state["counters"].values()}, {0}))


def flow_warned():
    """It is allowed, with one line that says what it means."""
    with net.Filter():
        done = net.epfctl("attach", net.B, "--filter", net.FILTER, "--key",
                          "flow")
        net.epfctl("detach", net.B)
    return net.unlike(told=(
        "one packet of a flow" in done.stderr, True))


BOTH = ["rx-vlan-offload", "rx-vlan-stag-hw-parse"]


def offload_refused():
    """VLAN tags that the card strips cannot be part of the key: one line says what to do.
    Keys without tags are unaffected.
"""
    net.vlan_offload(True)
    try:
        with net.Filter():
            for how in ([], ["--mode", "generic"], ["--no-mac"],
                        ["--key", "frame", "--mirror"]):
                fault = net.refused(f"ethtool -K {net.B} rxvlan off", "attach",
                                net.B, "--filter", net.FILTER, *how)
                if fault:
                    return f"{how}: {fault}"
            doctor = " ".join(net.epfctl("doctor", check=False).stdout.split())
            if f"{net.B} takes them off" not in doctor:
                return f"doctor does not say it: {doctor}"
            for how in (["--no-vlan"], ["--key", "flow"]):
                with net.Attached(*how) as on:
                    tags = on.status()["vlan_tags"]
                if tags != "ignored" or net.vlan_offloads() != BOTH:
                    return f"{how}: {tags}, {net.vlan_offloads()}"
    finally:
        net.vlan_offload(False)


def offload_off(*options):
    """Stripping is switched off for the attachment, and on again at detach by any process.
    status reports if it is switched on meanwhile.
"""
    net.vlan_offload(True)
    try:
        with net.Filter():
            with net.Attached("--vlan-offload", "off", *options) as on:
                during, tags = net.vlan_offloads(), on.status()["vlan_tags"]
                text = net.epfctl("status").stdout
                net.vlan_offload(True)
                hidden = on.status()["vlan_tags"]
                warned = net.epfctl("status").stdout
            after = net.vlan_offloads()
    finally:
        net.vlan_offload(False)
    return net.unlike(
        during=(during, []), tags=(tags, "counted"), after=(after, BOTH),
        told=("--vlan-offload off, drop" in text, True),
        hidden=(hidden, "hidden"),
        warned=("the card takes VLAN tags off" in warned, True))


def offload_half():
    """Only what was on is switched on again; after a failure at once."""
    net.in_b("ethtool", "-K", net.B, "rx-vlan-stag-hw-parse", "on")
    try:
        with net.Filter():
            with net.Attached("--vlan-offload", "off"):
                during = net.vlan_offloads()
            after = net.vlan_offloads()
            net.in_b("ip", "link", "set", net.B, "xdp", "obj", OTHER, "sec",
                     "xdp.frags")
            fault = net.refused("does not share the interface", "attach", net.B, "--filter",
                            net.FILTER, "--vlan-offload", "off")
            failed = net.vlan_offloads()
            net.in_b("ip", "link", "set", net.B, "xdp", "off")
    finally:
        net.vlan_offload(False)
    return fault or net.unlike(during=(during, []), after=(after, BOTH[1:]),
                               failed=(failed, BOTH[1:]))


def two_vlans(mode, *options):
    """Equal frames of two VLANs, on devices that leave the tag to the card, which here is
    told to write it into the packet: two packets, or one.
"""
    ids = 5, 6
    net.run("ip", "netns", "exec", net.NS_A, "ethtool", "-K", net.A, "txvlan",
            "off")
    for n in ids:
        net.run("ip", "-n", net.NS_A, "link", "add", "link", net.A, "name",
                f"v{n}", "type", "vlan", "id", n)
        net.run("ip", "-n", net.NS_A, "link", "set", f"v{n}", "arp", "off",
                "up")
    frame = udp_frame(1)
    path = pcap.Capture([pcap.Packet(0, frame)]).save(net.tmp("vlan.pcap"))
    try:
        with net.Filter(), net.Attached("--mode", mode, *options) as on:
            for n in (*ids, *ids):
                net.run(*net.inside(net.NS_A), os.path.join(
                    net.BUILT, "pcapsend"), f"v{n}", path)
            net.eventually(lambda: sum(on.counters().values()) == 4)
            return on.counters()
    finally:
        for n in ids:
            net.run("ip", "-n", net.NS_A, "link", "del", f"v{n}")
        net.run("ip", "netns", "exec", net.NS_A, "ethtool", "-K", net.A,
                "txvlan", "on")


def vlans_told_apart():
    net.vlan_offload(True)
    try:
        for mode in "native", "generic":
            fault = net.unlike(apart=(two_vlans(mode, "--vlan-offload", "off"),
                                      {"absent": 2, "recent": 2}))
            if not fault and (mode == "native" or THOROUGH):
                fault = net.unlike(alike=(two_vlans(mode, "--no-vlan"),
                                          {"absent": 1, "recent": 3}))
            if fault:
                return f"{mode}: {fault}"
    finally:
        net.vlan_offload(False)


def unload():
    """Programs release the module a moment after they are detached."""
    def removed():
        net.run("rmmod", "epochfilter_kinds", check=False)
        return not net.run("rmmod", "epochfilter", check=False).returncode

    if not net.eventually(removed):
        raise RuntimeError("the module cannot be unloaded")


def without_btf():
    """A module without BTF: attach says so."""
    bare = net.tmp("epochfilter.ko")
    if net.run("objcopy", "--remove-section=.BTF", net.MODULE, bare,
               check=False).returncode:
        raise tap.Skip("objcopy cannot take the BTF away")
    unload()
    net.run("insmod", bare)
    try:
        with net.Filter():
            return attach_refused("without BTF")
    finally:
        unload()
        net.run("insmod", net.MODULE)


def without_module():
    unload()
    try:
        return attach_refused("modprobe epochfilter")
    finally:
        net.run("insmod", net.MODULE)


def cases():
    of, out = functools.partial, []
    for how in ([], ["--no-dispatcher"], ["--mode", "generic"],
                ["--action", "mark", "--no-dispatcher"]):
        out.append((f"detach leaves nothing {' '.join(how)}".strip(),
                    of(detach_cleans, *how)))
    for mode in ("native", "generic") if THOROUGH else ("native",):
        out += [
            (f"{mode}: beside a program that runs first",
             of(beside, mode, 90, False, True)),
            (f"{mode}: beside a program that runs after",
             of(beside, mode, 10, True, False)),
        ]
    if THOROUGH:
        out += [
            ("the interface goes away, without a dispatcher",
             of(interface_gone, "--no-dispatcher")),
            ("attach and detach under traffic, generic",
             of(under_traffic, "--mode", "generic", "--no-dispatcher")),
            ("VLAN offload off, generic", of(offload_off, "--mode", "generic")),
        ]
    return out + [
        ("auto: beside programs in generic mode", auto_joins),
        ("the other program stays", other_stays),
        ("beside xdp-filter", xdp_filter_beside),
        ("a program without dispatcher is left alone", alone_refused),
        ("refused: attached already", twice),
        ("refused: no such interface", no_interface),
        ("refused: no such filter", no_filter),
        ("refused: options that do not go together", bad_options),
        ("refused: an ordinary user", as_nobody),
        ("refused: without the right to load programs", without_bpf_right),
        ("refused: no BPF file system", without_bpffs),
        ("destroy and unload are refused while attached", destroy_busy),
        ("destroyed by force: everything passes", destroy_forced),
        ("swap under a program", swapped),
        ("the interface goes away", interface_gone),
        ("detach after the interface is gone", detach_gone),
        ("attach and detach under traffic", under_traffic),
        ("one name in two namespaces", same_name_elsewhere),
        ("a VLAN device", vlan_device),
        ("status", status_codes),
        ("attach says what it did", says_so),
        ("dropping by flow is warned of", flow_warned),
        ("refused: the card takes VLAN tags off", offload_refused),
        ("VLAN offload off, native", of(offload_off, "--mode", "native")),
        ("VLAN offload, one of two, and after a failure", offload_half),
        ("equal frames of two VLANs are two", vlans_told_apart),
        ("refused: a module without BTF", without_btf),
        ("refused: no module", without_module),
    ]


if __name__ == "__main__":
    net.require()
    net.make_net()
    tap.main(cases(), after=nothing_left)
