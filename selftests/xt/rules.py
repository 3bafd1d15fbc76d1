# SPDX-License-Identifier: GPL-2.0
"""What the suite of the iptables match uses: two network namespaces with a veth pair,
sockets in them, the front ends of iptables, filters, and rules that are given to the kernel
without iptables.
"""

import atexit
import contextlib
import ctypes
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(TOP, "selftests", d) for d in ("dedup", "model", "xdp")]

import netns  # noqa: E402
import tap  # noqa: E402

BUILD = os.path.join(TOP, "build")
EPFCTL = os.environ.get("EPF_CTL", os.path.join(BUILD, "user/epfctl"))
MODULE = os.environ.get("EPF_KO", os.path.join(BUILD, "kmod/epochfilter.ko"))
XT = os.environ.get("EPF_XT_KO", os.path.join(os.path.dirname(MODULE), "xt_epf.ko"))
LIBRARY = os.path.join(BUILD, "user/libxt_epf.so")
NS = os.environ.get("EPF_NS", "xt")
A, B = NS + "-a", NS + "-b"  # namespaces; the rules are in B
DEV = {A: "xta0", B: "xtb0"}
ADDRESS = {(A, 4): "10.77.0.1", (B, 4): "10.77.0.2",
           (A, 6): "fd77::1", (B, 6): "fd77::2"}
FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}
PROC = "/proc/thread-self/net/xt_epf"

TMP = tempfile.mkdtemp(prefix="epf-xt-")
atexit.register(shutil.rmtree, TMP, ignore_errors=True)
libc = ctypes.CDLL(None, use_errno=True)


def enter(ns):
    with open(f"/run/netns/{ns}", "rb") as file:
        netns.setns(file)


def run(*args, ns=None, check=True, **how):
    how.setdefault("timeout", 600)
    with netns.entered(ns) if ns else contextlib.nullcontext():
        done = subprocess.run(list(map(str, args)), capture_output=True, text=True, **how)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(map(str, args))}: exit "
                           f"{done.returncode}: {done.stderr.strip()}")
    return done


def inside(ns, function):
    """Run it in a child, because the network namespace is a property of the thread. Return
    its result."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            enter(ns)
            os.write(writer, json.dumps(function()).encode())
            os._exit(0)
        except BaseException as fault:  # reported by the parent
            print(f"# {ns}: {fault!r}", flush=True)
            os._exit(1)
    os.close(writer)
    with open(reader, "rb") as file:
        text = file.read()
    if os.waitpid(child, 0)[1]:
        raise RuntimeError(f"a child in {ns} failed")
    return json.loads(text)


def opened(ns, *args):
    """A socket of @ns, here."""
    with netns.entered(ns):
        return socket.socket(*args)


def udp(ns, version, port=0):
    sock = opened(ns, FAMILY[version], socket.SOCK_DGRAM)
    sock.bind((ADDRESS[ns, version], port))
    sock.settimeout(0.15)
    return sock


def got(sock):
    """Return the next datagram, or None."""
    try:
        return sock.recv(2048)
    except TimeoutError:
        return None


def forget_net():
    run("ip", "-force", "-b", "-", check=False, input=f"netns del {A}\nnetns del {B}\n")


def make_net():
    forget_net()
    atexit.register(forget_net)
    run("ip", "-b", "-", input=f"netns add {A}\nnetns add {B}\n")
    run("ip", "-n", A, "link", "add", DEV[A], "type", "veth", "peer", "name",
        DEV[B], "netns", B)
    for ns in A, B:
        run("ip", "-b", "-", "-n", ns, input=f"""
            link set lo up
            link set {DEV[ns]} mtu 9000 up
            addr add {ADDRESS[ns, 4]}/24 dev {DEV[ns]}
            addr add {ADDRESS[ns, 6]}/64 dev {DEV[ns]} nodad
            """)


def loaded(name):
    return os.path.isdir(f"/sys/module/{name}")


def require():
    """Skip everything unless this can run; load the modules, make the namespaces."""
    if os.geteuid():
        tap.skip_all("needs root")
    if not loaded("xt_epf") and not os.environ.get("EPF_VM"):
        tap.skip_all("the module is not loaded, and this is no VM")
    for path in EPFCTL, LIBRARY, XT:
        if not os.path.exists(path):
            tap.skip_all(f"{path} is not built")
    run("modprobe", "-a", "nft_compat", "veth", "iptable_filter", "iptable_raw",
        "ip6table_filter", "ip6table_raw", check=False)
    for name, path, way in ("epochfilter", MODULE, "EPF_KO_BROKEN"), \
            ("xt_epf", XT, "EPF_XT_BROKEN"):
        given = [f"broken={os.environ[way]}"] if os.environ.get(way) else []
        if loaded(name):
            continue
        if run("insmod", path, *given, check=False).returncode:
            tap.skip_all(f"{path} does not load")
        if name == "xt_epf":  # other tests unload the module that it needs
            atexit.register(run, "rmmod", name, check=False)
    done = shutil.which("pkg-config") and run(
        "pkg-config", "--variable=xtlibdir", "xtables", check=False)
    system = done and done.stdout.strip() or "/usr/lib/x86_64-linux-gnu/xtables"
    os.environ["XTABLES_LIBDIR"] = f"{os.path.dirname(LIBRARY)}:{system}"
    make_net()


def front_ends():
    """Return (program, IP version) of the front ends that work here."""
    found = []
    for version, name in (4, "iptables"), (6, "ip6tables"):
        for way in "nft", "legacy":
            program = f"{name}-{way}"
            if shutil.which(program) and \
                    not run(program, "-S", ns=B, check=False).returncode:
                found.append((program, version))
    return found


class Rules:
    """Rules of one front end in B, as text; flushed at the end. Each may begin with the
    table: "raw:PREROUTING ...".
"""

    def __init__(self, program, *rules):
        self.program, self.rules = program, rules

    def __enter__(self):
        for rule in self.rules:
            self.add(rule)
        return self

    def add(self, rule, how="-A", **more):
        table, colon, rest = rule.partition(":")
        if not colon or " " in table:
            table, rest = "filter", rule
        return run(self.program, "-t", table, how, *rest.split(), ns=B, **more)

    def __exit__(self, *error):
        for table in "filter", "raw":
            run(self.program, "-t", table, "-F", ns=B)


# With the number of lines that "epfctl plan" gives, whose calculation takes long in a guest.
SHAPE = ("--time", "700s", "--rate", 100, "--lines", 11368, "--lines-per-key", 4,
         "--bits-per-key", 24, "-b", "1e-9")


class Filter:
    def __init__(self, name, *options):
        self.name = name
        self.options = options or SHAPE

    def __enter__(self):
        run(EPFCTL, "create", self.name, *self.options,
            *([] if "--rotate" in self.options else ["--rotate", "process"]))
        return self

    def __exit__(self, *error):
        run(EPFCTL, "destroy", self.name, *(["--force"] if error[0] else []),
            check=not error[0])

    def show(self):
        return json.loads(run(EPFCTL, "-j", "show", self.name).stdout)

    def present(self, keys):
        """Return how many of these keys the filter has."""
        path = os.path.join(TMP, "keys")
        with open(path, "w", encoding="ascii") as file:
            file.writelines(key.hex() + "\n" for key in keys)
        text = run(EPFCTL, "-j", "test", "-c", "--format", "hex", "-f", path,
                   self.name, check=False).stdout
        return json.loads(text)["present"]


def counters(name):
    """Numbers of /proc/net/xt_epf about a filter, without the zeros; or None."""
    with netns.entered(B), open(PROC, encoding="ascii") as file:
        text = file.read()
    for line in text.splitlines():
        words = line.split()
        if words[0] == name:
            pairs = zip(words[1::2], map(int, words[2::2]))
            return {k: v for k, v in pairs if v and k != "id"}
    return None


# The fields of struct xt_epf_info of linux/epochfilter_xt.h.
FLOW, CONVERSATION, PEER, PEER_PORT = 2, 3, 4, 5
LINK_IP = 1
REVERSE, FIRST, ZONE = 16, 64, 1024


def info(name=b"xt-raw", key=FLOW, link=LINK_IP, flags=0, max_bytes=0, within_ns=0,
         within=0, ask=1, learn=0, unknown=1, fragments=0, malformed=0, reserved=0):
    return struct.pack("<32sBBHIQHBBBBBBQ", name, key, link, flags, max_bytes,
                       within_ns, within, malformed, reserved, ask, learn, unknown,
                       fragments, 0)


def legacy_rule(data, size, nr_old):
    """Return the table "filter" with one rule in chain INPUT that has this match."""
    pad = bytes(-len(data) % 8)
    size = 32 + len(data) + len(pad) if size is None else size
    match = struct.pack("<H29sB", size, b"epf", 0) + data + pad
    accept = struct.pack("<H29sBi4x", 40, b"", 0, -2)
    error = struct.pack("<H29sB30s2x", 64, b"ERROR", 0, b"ERROR")

    def entry(match, target):
        offset = 112 + len(match)
        return bytes(84) + struct.pack("<IHHI", 0, offset, offset + len(target), 0) + \
            bytes(16) + match + target

    entries = [entry(match, accept)] + [entry(b"", accept)] * 3 + [entry(b"", error)]
    at = [sum(map(len, entries[:i])) for i in range(len(entries))]
    hooks = struct.pack("<5I", 0, 0, at[2], at[3], 0)
    floors = struct.pack("<5I", 0, at[1], at[2], at[3], 0)
    text = b"".join(entries)
    old = ctypes.create_string_buffer(16 * nr_old)
    head = struct.pack("<32sIII", b"filter", 0xe, len(entries), len(text)) + hooks + \
        floors + struct.pack("<IQ", nr_old, ctypes.addressof(old))
    return head + text, old


def set_legacy(data, size=None):
    """Give it to the kernel in B as iptables-legacy would. Return 0 or an errno."""
    with opened(B, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as sock:
        told = ctypes.create_string_buffer(b"filter", 84)
        length = ctypes.c_uint(84)
        if libc.getsockopt(sock.fileno(), socket.IPPROTO_IP, 64, told,
                           ctypes.byref(length)):  # IPT_SO_GET_INFO
            return ctypes.get_errno()
        # after name and hooks: the number of entries
        blob, _old = legacy_rule(data, size, struct.unpack_from("<I", told, 76)[0])
        try:
            sock.setsockopt(socket.IPPROTO_IP, 64, blob)  # IPT_SO_SET_REPLACE
        except OSError as fault:
            return fault.errno
    return 0
