#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""How agents and servers know each other: TLS with certificates and the permissions of the example
configuration, nkeys, passwords. A host cannot publish as another one, and secrets that others could
read are refused.
"""

import base64
import binascii
import os
import re
import subprocess
import sys
import tempfile
import time

import hosts as h
import agent as a
import tap

NAMES = ("h0", "h1")
EXAMPLE = os.path.join(h.ROOT, "user/cluster/nats-epochfilter.conf")
TMP = tempfile.TemporaryDirectory()


def path(name):
    return os.path.join(TMP.name, name)


def openssl(*args):
    return subprocess.run(["openssl", *args], check=True, capture_output=True).stdout


def certificates(days=2):
    """Make an authority, and certificates of a server and of hosts."""
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    for ca in ("ca", "other"):
        openssl("req", "-x509", *curve, "-days", str(days), "-subj", f"/CN={ca}", "-keyout",
                path(f"{ca}.key"), "-out", path(f"{ca}.pem"))
    h.write(path("ext"), "subjectAltName=DNS:localhost\n")
    h.write(path("none"), "\n")
    for name in ("server", *NAMES):
        openssl("req", *curve, "-subj", f"/CN={name}", "-keyout", path(f"{name}.key"), "-out",
                path(f"{name}.csr"))
        openssl("x509", "-req", "-in", path(f"{name}.csr"), "-CA", path("ca.pem"), "-CAkey",
                path("ca.key"), "-CAcreateserial", "-days", str(days), "-extfile",
                path("ext" if name == "server" else "none"), "-out", path(f"{name}.pem"))


def tls_keys(name, ca="ca"):
    return (f"tls-ca = {path(ca + '.pem')}\ntls-cert = {path(name + '.pem')}\n"
            f"tls-key = {path(name + '.key')}")


class Cluster:
    """Two hosts and a server, until the end of a 'with'. @in_turn: each joins before the next one
    begins."""

    def __init__(self, dir, server, url, keys, in_turn=False):
        os.mkdir(path(dir))
        self.server, self.nodes, self.in_turn = server, {}, in_turn
        for name in NAMES:
            self.nodes[name] = h.Host(path(dir), name, NAMES, url, more=keys(name))

    def __enter__(self):
        for node in self.nodes.values():
            node.start()
            a.poll(lambda node=node: not self.in_turn or node.ask()[1]["joined"])
        return self.nodes

    def __exit__(self, *_):
        for node in self.nodes.values():
            node.end()
        self.server.stop()


def whole(nodes):
    for node in nodes.values():
        a.poll(node.covered)
    nodes["h1"].insert("a key")
    a.poll(lambda: nodes["h0"].has("a key"))


def example_server(dir):
    """A server with the example configuration, at another place."""
    with open(EXAMPLE, encoding="utf-8") as f:
        text = f.read()
    text = text.replace("/etc/nats/", TMP.name + "/")
    text = re.sub(r"server_name:.*|listen:.*|jetstream \{[^}]*\}", "", text)
    os.mkdir(path(dir))
    return h.Server(path(dir), text)


def evadable():
    """Does this server's verify_and_map have CVE-2026-33248?"""
    said = subprocess.run(["nats-server", "-v"], capture_output=True, text=True, check=True).stdout
    version = tuple(int(n) for n in re.findall(r"\d+", said)[:3])
    return version < (2, 11, 15) or (2, 12, 0) <= version < (2, 12, 6)


def example():
    """The example configuration serves a cluster, and nothing that it denies is tried: h0 makes the
    stream, and others may not. Each host warns once of a server that is too old for it."""
    server = example_server("s1")
    with Cluster("c1", server, f"tls://localhost:{server.port}", tls_keys, in_turn=True) as nodes:
        whole(nodes)
        log = server.log()
        warned = [node.said().count(b"CVE-2026-33248") for node in nodes.values()]
        if warned != [evadable()] * len(nodes):
            return f"warned: {warned}"
        return log if "iolation" in log else None


def nobody_else():
    """With the certificate of h1, an agent that calls itself h0 publishes nothing, and says why."""
    server = example_server("s2")
    with Cluster("c2", server, f"tls://localhost:{server.port}", lambda _: tls_keys("h1")) as nodes:
        a.poll(lambda: re.search(r'Publish Violation.*"epf\.edge\.d\.h0"', server.log()))
        a.poll(lambda: "iolation" in (nodes["h0"].ask()[1]["trouble"] or ""))
        return "joined" if nodes["h0"].ask()[1]["joined"] else None


def renewed():
    """Certificates of another authority take the place of those in use, first in the files of the hosts, then in
    the server, which ends. Before that a file is wrong, and settings are reloaded: the old connection
    stays, and neither is a new incarnation."""
    server = example_server("s6")
    names = ("ca.pem", "server.pem", "server.key", *(f"{n}.{kind}" for n in NAMES for kind in ("pem", "key")))
    old = {name: open(path(name), encoding="utf-8").read() for name in names}
    try:
        with Cluster("c6", server, f"tls://localhost:{server.port}", tls_keys) as nodes:
            whole(nodes)
            ends = nodes["h0"].ask()[1]["certificate_end"]
            h.write(path("h0.key"), "no key\n")
            nodes["h0"].reload()
            a.poll(lambda: b"the old connection is kept" in nodes["h0"].said())
            certificates(days=9)
            nodes["h0"].reload()
            server.stop()
            server.start()
            for node in nodes.values():
                a.poll(lambda node=node: node.ask()[1]["certificate_end"] > ends + 6 * 86400)
            whole(nodes)
            if nodes["h1"].peer("h0")["incarnations"] != 1:
                return f"{nodes['h1'].peer('h0')}"
    finally:
        for name, text in old.items():
            h.write(path(name), text)
    return None


def mistakes():
    """Each usual mistake of the settings has a line of its own in the log, once, however often it is tried."""
    server = example_server("s7")
    tls, keys, ca = f"tls://localhost:{server.port}", tls_keys("h0"), f"tls-ca = {path('ca.pem')}"
    h.write(path("mode"), "", 0o644)
    table = (
        ("wants TLS", tls.replace("tls:", "nats:"), ""),
        ("tls-ca is not set", tls, ""),
        ("tls-ca has not signed", tls, tls_keys("h0", "other")),
        ("another name than the URL", tls.replace("localhost", "127.0.0.1"), keys),
        ("may want tls-cert", tls, ca),
        ("no user of the server", tls, tls_keys("server")),
        ("no server answers", "tls://localhost:1", keys),
        ("does not resolve", "tls://no.such.invalid:4222", keys),
        ("key values mismatch", tls, keys.replace("h0.key", "h1.key")),
        ("others can read", tls, keys.replace("h0.key", "mode")),
        ("No such file", tls, keys.replace("h0.key", "missing")),
    )
    os.mkdir(path("c7"))
    node = h.Host(path("c7"), "h0", NAMES, "URL", more="KEYS")
    try:
        for words, url, keys in table:
            node.configure(node.section.replace("URL", url).replace("KEYS", keys))
            at = len(node.said()) if node.agent else 0
            if node.agent:
                node.reload()
            else:
                node.start()
            a.poll(lambda words=words: words in ((node.ask()[1] or {}).get("trouble") or ""))
            time.sleep(.8)  # two more attempts
            lines = [line for line in node.said()[at:].decode().splitlines() if "not connected" in line]
            if len(lines) != 1 or sum(other in lines[0] for other, _, _ in table) != 1:
                return f"{words}: {lines}"
    finally:
        node.end()
        server.stop()
    return None


def wrong_authority():
    """A server whose certificate another authority signed, or of another name, is none."""
    server = example_server("s3")
    with Cluster("c3", server, f"tls://localhost:{server.port}",
                 lambda n: tls_keys(n, "other")) as nodes:
        a.poll(lambda: (nodes["h0"].ask()[1]["trouble"] or "starting") != "starting")
        if nodes["h0"].ask()[1]["joined"]:
            return "joined with the wrong authority"
        nodes["h1"].configure(nodes["h1"].section.replace("other.pem", "ca.pem")
                              .replace("localhost", "127.0.0.1"))
        nodes["h1"].reload()
        a.poll(lambda: (nodes["h1"].ask()[1]["trouble"] or "starting") != "starting")
        return "joined under another name" if nodes["h1"].ask()[1]["joined"] else None


def nkey():
    """Return (seed, public key) of a user as text."""
    pem = path("ed25519.pem")
    openssl("genpkey", "-algorithm", "ed25519", "-out", pem)
    seed = openssl("pkey", "-in", pem, "-outform", "DER")[-32:]
    public = openssl("pkey", "-in", pem, "-pubout", "-outform", "DER")[-32:]

    def text(raw):
        raw += binascii.crc_hqx(raw, 0).to_bytes(2, "little")
        return base64.b32encode(raw).decode().rstrip("=")
    user = 20 << 3
    return text(bytes([18 << 3 | user >> 5, (user & 31) << 3]) + seed), text(bytes([user]) + public)


def nkeys():
    users = ""
    for name in NAMES:
        seed, public = nkey()
        h.write(path(f"{name}.nk"), f"{seed}\n{public}\n")
        users += f"{{ nkey: {public} }}\n"
    os.mkdir(path("s4"))
    server = h.Server(path("s4"), f"authorization {{ users: [ {users} ] }}")
    with Cluster("c4", server, f"nats://127.0.0.1:{server.port}",
                 lambda n: f"nkey = {path(n + '.nk')}") as nodes:
        whole(nodes)
        return "warned" if any(b"CVE" in node.said() for node in nodes.values()) else None


def passwords():
    """The right password; a wrong one; one that others can read."""
    h.write(path("right"), "user:pass word\n")
    h.write(path("wrong"), "user:other\n")
    h.write(path("open"), "user:pass word\n", 0o644)
    os.mkdir(path("s5"))
    server = h.Server(path("s5"), 'authorization { user: "user", password: "pass word" }')
    with Cluster("c5", server, f"nats://127.0.0.1:{server.port}",
                 lambda n: f"password = {path('right')}") as nodes:
        whole(nodes)
        node = nodes["h1"]
        for name, why in (("wrong", ""), ("open", "others can read")):
            node.configure(node.section.replace(path("right"), path(name)))
            node.reload()
            a.poll(lambda: (node.ask()[1] or {"trouble": None})["trouble"]
                   not in (None, "starting"))
            c = node.ask()[1]
            if c["joined"] or why not in c["trouble"] or "pass word" in str(c):
                return f"{name}: {c}"
    return None


def main():
    reason = h.needs()
    if reason:
        print(f"TAP version 13\n1..0 # SKIP {reason}")
        return 4
    certificates()
    return tap.run(tap.chosen([
        ("the example configuration serves a cluster", example),
        ("a host cannot publish as another one", nobody_else),
        ("a renewed certificate, of another authority", renewed),
        (mistakes.__doc__, mistakes),
        ("another authority, or another name of the server", wrong_authority),
        ("nkeys", nkeys),
        ("passwords", passwords),
    ]))


if __name__ == "__main__":
    sys.exit(main())
