# SPDX-License-Identifier: GPL-2.0
"""What nf.py uses besides reflex_hosts.py: C, a host behind B, which forwards or bridges
between C and A; and other users' programs at netfilter hooks.

    A a0 ---- b0 B b1 ---- c0 C        A: 198.18.0.1   C: 198.18.0.2, both IPv6, too
"""

import atexit
import ctypes
import json
import os
import socket
import struct

import reflex_hosts as hosts
import reflex_packets as packets
import sweep as killed
from reflex_hosts import net

NS_C, C, B1 = net.NS + "-c", net.DEV + "c0", net.DEV + "b1"
BPF = {"x86_64": 321, "aarch64": 280}  # the system call
BRIDGE, VRF = net.DEV + "br", net.DEV + "vrf"
A4, C4 = "198.18.0.1", "198.18.0.2"
A6, C6 = "2001:db8:2::1", "2001:db8:2::2"
ENDS = ((net.B, net.NS_A, net.A, A4, A6), (B1, NS_C, C, C4, C6))


def in_b(*args, **how):
    return net.in_b(*args, **how)


def shell(ns, text):
    net.run(*net.inside(ns), "sh", "-c", text)


def no_hosts():
    net.run("ip", "netns", "del", NS_C, check=False)


def make_c():
    """Connect C to B. It has no address until join() gives it one."""
    no_hosts()
    atexit.register(no_hosts)
    net.run("ip", "netns", "add", NS_C)
    shell(NS_C, "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6; "
                "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6")
    net.run("ip", "-n", NS_C, "link", "add", C, "type", "veth", "peer", "name", B1,
            "netns", net.NS_B)
    net.run("ip", "-n", NS_C, "link", "set", C, "arp", "off", "up")
    in_b("ip", "link", "set", B1, "arp", "off", "multicast", "off", "up")
    in_b("ethtool", "-K", B1, "rx-vlan-hw-parse", "off", check=False)


class Routed:
    """B forwards. Routes and neighbours are static, so that no host asks for them."""

    def __init__(self, table=()):
        self.table = list(table)

    def __enter__(self):
        shell(net.NS_B, f"echo 1 > /proc/sys/net/ipv4/ip_forward; "
                        f"echo 1 > /proc/sys/net/ipv6/conf/{B1}/addr_gen_mode; "
                        f"echo 0 > /proc/sys/net/ipv6/conf/{B1}/disable_ipv6; "
                        f"echo 1 > /proc/sys/net/ipv6/conf/all/forwarding; "
                        f"echo 0 > /proc/sys/net/ipv4/conf/{B1}/rp_filter; "
                        f"echo 0 > /proc/sys/net/ipv4/conf/all/send_redirects")
        for dev, ns, there, four, six in ENDS:
            for address, bits in (four, "/32"), (six, "/128"):
                in_b("ip", "route", "add", address + bits, "dev", dev, *self.table)
                in_b("ip", "neigh", "replace", address, "lladdr",
                     hosts.mac(ns, there), "dev", dev, "nud", "permanent")
        return self

    def __exit__(self, *error):
        for dev, _, _, four, six in ENDS:
            in_b("ip", "route", "del", four + "/32", "dev", dev, *self.table)
            in_b("ip", "-6", "route", "del", six + "/128", "dev", dev, *self.table)
        shell(net.NS_B, "echo 0 > /proc/sys/net/ipv4/ip_forward; "
                        "echo 0 > /proc/sys/net/ipv6/conf/all/forwarding")


class Bridged:
    """B is a bridge whose packets go through netfilter. One that looks for multicast groups
    joins one itself, and reports it.
    """

    def __enter__(self):
        net.run("modprobe", "br_netfilter", check=False)
        for what in "iptables", "ip6tables":
            path = f"/proc/sys/net/bridge/bridge-nf-call-{what}"
            if net.in_b("test", "-e", path, check=False).returncode:
                raise hosts.tap.Skip("this kernel has no br_netfilter")
            shell(net.NS_B, f"echo 1 > {path}")
        in_b("ip", "link", "add", BRIDGE, "type", "bridge", "mcast_snooping", "0")
        for dev in net.B, B1:
            in_b("ip", "link", "set", dev, "master", BRIDGE)
        in_b("ip", "link", "set", BRIDGE, "up")
        for dev, ns, there, _, _ in ENDS:
            in_b("bridge", "fdb", "replace", hosts.mac(ns, there), "dev", dev, "master",
                 "static")
        return self

    def __exit__(self, *error):
        in_b("ip", "link", "del", BRIDGE)
        restore_b()


class InVrf(Routed):
    """B forwards within a VRF that has both of its interfaces."""

    def __init__(self):
        super().__init__(("table", "77"))

    def __enter__(self):
        net.run("modprobe", "vrf", check=False)
        made = in_b("ip", "link", "add", VRF, "type", "vrf", "table", "77", check=False)
        if made.returncode:
            raise hosts.tap.Skip("this kernel has no VRF")
        in_b("ip", "link", "set", VRF, "up")
        for dev in net.B, B1:
            in_b("ip", "link", "set", dev, "master", VRF)
        restore_b()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        in_b("ip", "link", "del", VRF)
        restore_b()


def restore_b():
    """Restore what B loses with a master, or by joining one: IPv6 addresses, neighbours."""
    in_b("ip", "addr", "replace", hosts.B6 + "/64", "dev", net.B, "nodad")
    for address in hosts.A4, hosts.A6:
        in_b("ip", "neigh", "replace", address, "lladdr", hosts.mac(net.NS_A, net.A),
             "dev", net.B, "nud", "permanent")


class Local:
    """B has C's addresses itself, so packets for C are for B."""

    def __enter__(self):
        in_b("ip", "link", "set", "lo", "up")
        shell(net.NS_B, "echo 0 > /proc/sys/net/ipv6/conf/lo/disable_ipv6")
        in_b("ip", "addr", "add", C4 + "/32", "dev", "lo")
        in_b("ip", "addr", "add", C6 + "/128", "dev", "lo", "nodad")
        for address, bits in (A4, "/32"), (A6, "/128"):
            in_b("ip", "route", "add", address + bits, "dev", net.B)
            in_b("ip", "neigh", "replace", address, "lladdr",
                 hosts.mac(net.NS_A, net.A), "dev", net.B, "nud", "permanent")
        return self

    def __exit__(self, *error):
        in_b("ip", "addr", "del", C4 + "/32", "dev", "lo")
        in_b("ip", "addr", "del", C6 + "/128", "dev", "lo")
        in_b("ip", "route", "del", A4 + "/32", "dev", net.B)
        in_b("ip", "-6", "route", "del", A6 + "/128", "dev", net.B)


def reaches_hooks(frame):
    """Does the IP layer accept it? Written from ip_rcv_core() and ip6_rcv_core(): a packet
    that is cut or has an inconsistent IP header never reaches a hook.
"""
    kind, ip = frame[12:14], frame[14:]
    if kind == b"\x86\xdd":
        return len(ip) >= 40 and ip[0] >> 4 == 6 and \
            len(ip) >= 40 + struct.unpack(">H", ip[4:6])[0]
    if kind != b"\x08\x00" or len(ip) < 20 or ip[0] >> 4 != 4:
        return False
    head, total = 4 * (ip[0] & 15), struct.unpack(">H", ip[2:4])[0]
    return 20 <= head <= total <= len(ip) and not packets.checksum(ip[:head])


def reassembled(frame):
    """Is it a fragment, which hooks after reassembly do not see?"""
    ip = frame[14:]
    if ip[0] >> 4 == 4:
        return bool(struct.unpack(">H", ip[6:8])[0] & 0x3FFF)
    return ip[6] == 44


def same(packet):
    """Return a network packet without the fields that forwarding changes."""
    if packet[0] >> 4 == 6:
        return packet[:7] + b"\0" + packet[8:]
    return packet[:8] + b"\0" + packet[9:10] + b"\0\0" + packet[12:]


def fence(out):
    """Return a packet of a protocol without ports, which no rule of the tests matches."""
    hosts.fences += 1
    src, dst = (packets.B, packets.A) if out else (packets.A, packets.B)
    return packets.ip4(253, struct.pack(">I", hosts.fences) * 4, src[4], dst[4])


def cross(frames, out, mac_b):
    """Put the network packets of @frames on the wire, at C if they go out, else at A.
    Return those that come out at the other end, as same() gives them.
"""
    near, far = ((NS_C, C), (net.NS_A, net.A)) if out else ((net.NS_A, net.A), (NS_C, C))
    ends = bytes.fromhex(mac_b.replace(":", "")) + bytes.fromhex(
        hosts.mac(*near).replace(":", ""))
    got = []
    with hosts.raw(*near, 0) as tx, hosts.raw(*far, hosts.ALL) as rx:
        for at in range(0, len(frames), hosts.BURST):
            last = fence(out)
            for packet in [f[14:] for f in frames[at:at + hosts.BURST]] + [last]:
                kind = b"\x86\xdd" if packet[0] >> 4 == 6 else b"\x08\x00"
                tx.send(ends + kind + packet)
            while True:
                packet = same(rx.recv(65536)[14:])
                if packet == same(last):
                    break
                got.append(packet)
    return got


def send_local(frames):
    """B sends the network packets of @frames itself, with their headers unchanged."""
    four = hosts.in_ns(net.NS_B, lambda: socket.socket(
        socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW))
    six = hosts.in_ns(net.NS_B, lambda: socket.socket(
        socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW))
    with four, six:
        for frame in frames:
            if frame[14] >> 4 == 6:
                six.sendto(frame[14:], (A6, 0))
            else:
                four.sendto(frame[14:], (A4, 0))


class Counted:
    """An nft rule at a hook, which counts the packets that get that far."""

    def __init__(self, hook, prio):
        self.table = f"epf_{hook}"
        in_b("nft", f"table inet {self.table} {{\ncounter seen {{ }}\nchain c {{\ntype filter "
                    f"hook {hook} priority {prio}; policy accept; counter name seen\n}}\n}}")

    def packets(self):
        listed = json.loads(in_b("nft", "-j", "list", "counters", "table", "inet",
                                 self.table).stdout)
        return [c["counter"]["packets"] for c in listed["nftables"] if "counter" in c][0]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        in_b("nft", "delete", "table", "inet", self.table)


def bpf(cmd, attr):
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(BPF[os.uname().machine], cmd,
                      ctypes.create_string_buffer(attr, len(attr)), len(attr))
    if fd < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return fd


def load(code):
    """Load a netfilter program with these instructions."""
    insns, gpl = ctypes.create_string_buffer(code, len(code)), \
        ctypes.create_string_buffer(b"GPL")
    return bpf(5, struct.pack("=IIQQIIQII16sII", 32, len(code) // 8,
                              ctypes.addressof(insns), ctypes.addressof(gpl), 0, 0, 0, 0, 0,
                              b"foreign", 0, 45))


class Foreign:
    """Another user's BPF program at an IPv4 hook, which accepts all packets."""

    def __init__(self, hook, prio):
        prog = load(struct.pack("=BBhiBBhi", 0xB7, 0, 0, 1, 0x95, 0, 0, 0))
        attr = struct.pack("=IIIIIIiI", prog, 0, 45, 0, 2, hook, prio, 0)
        self.link = hosts.in_ns(net.NS_B, lambda: bpf(28, attr))
        os.close(prog)

    def there(self):
        with open(f"/proc/self/fdinfo/{self.link}", encoding="ascii") as info:
            return "netfilter" in info.read()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        os.close(self.link)


class At:
    """A filter of the tests at a hook."""

    def __init__(self, hook, *options, filter=hosts.NAME, ns=net.NS_B):
        self.hook, self.options, self.filter, self.ns = hook, options, filter, ns

    def __enter__(self):
        net.epfctl("attach", "--hook", self.hook, "--filter", self.filter,
                   *self.options, ns=self.ns)
        return self

    def __exit__(self, *error):
        net.epfctl("detach", "--hook", self.hook, ns=self.ns)

    def status(self):
        return json.loads(net.epfctl("-j", "status", self.hook, ns=self.ns,
                                     check=False).stdout)

    def counts(self):
        """Return packets by reason, without zeros."""
        return {name: c["packets"] for name, c in self.status()["counters"].items()
                if c["packets"]}


def pins():
    try:
        found = os.listdir(net.PINS)
    except FileNotFoundError:  # it goes with the last pin
        return []
    own = os.stat(f"/run/netns/{net.NS_B}").st_ino
    return [d for d in found if d.endswith(f"@{own}") or d in (hosts.NAME, hosts.TWIN)]


def nothing_left():
    shown = [l for l in net.epfctl("status", check=False).stdout.splitlines()
             if l.startswith("nf:") and "@" not in l.split()[0]]
    there = pins() + shown
    return f"left behind: {there}" if there else None


def drop_pins():
    """Remove pins in our network namespace that no attachment owns: left by an earlier
    epfctl in a namespace that had the number which ours has now.
"""
    for name in pins():
        if name.startswith("@@"):
            killed.remove(os.path.join(net.PINS, name))


def sweep():
    for name in net.epfctl("status", check=False).stdout.splitlines():
        if name.startswith("nf:") and "@" not in name.split()[0]:
            net.epfctl("detach", "--hook", name.split(": ")[0], check=False)
    drop_pins()
    in_b("nft", "flush", "ruleset", check=False)
    hosts.sweep()
