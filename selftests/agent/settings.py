#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Each setting of agent.conf with a value that it cannot have: one error, in one line, which
begins with FILE:LINE, once. What a whole section lacks is an error of the section's line.
"""

import re
import resource
import subprocess

import agent as a
import tap

# setting, values that it cannot have
GLOBAL = {
    "allow-uid": ["no such user"], "allow-gid": ["no such group"], "memory": ["much"],
    "fresh": ["soon"], "mirror": ["a/b", "", "a:99"], "hold": ["a/b", ""], "jobs": ["x"],
    "jobs-per-user": ["0"], "clients": ["4097"], "clients-per-user": ["x"], "step": ["x"],
    "threads": ["x"],
    "watch": ["x", "a=f", "/a=.f", "/a=f:prefix=8", "/a=f:key=x", "/a=f:none",
              "/a=f:none=1", "/a=f:records", "/a=f:user=root", "/a=f:scope=iface,key=flow"],
    "none": ["1"],
}
WATCH = {
    "dir": [""], "filter": [""], "key-len": ["x"], "mode": ["777"],
    "group": ["no such group"], "keep-time": ["x"], "keep-bytes": ["x"], "hook": ["x"],
    "user": ["no such user"], "hook-time": ["x"], "format": ["x"], "separator": ["xy"],
    "joint": ["xy"], "engine": ["x"], "fields": ["x" * 2000], "key": ["x"],
    "prefix": ["x"], "scope": ["x"], "zone": ["x"], "fragments": ["x"], "reverse": ["x"],
    "errors": ["x"], "ages": ["x"], "records": ["x"], "absent": ["x"], "digest": ["x"],
    "hex": ["x"], "header": ["x"], "skip-bad": ["x"], "multiline": ["x"], "none": ["1"],
}
CLUSTER = {
    "server": ["x " * 99, "nats://user:secret@host"], "host": ["a/b", ""], "filter": ["a/b", ""],
    "all": ["a/b", ""], "lag": ["x", "1ms"], "peer-rate": ["x"], "buffer": ["x", "1"],
    "stream-bytes": ["x", "1"], "journal": ["99"], "threads": ["x"], "subject": [""],
    "tls-ca": [""], "tls-cert": [""], "tls-key": [""], "nkey": [""], "credentials": [""],
    "password": [""], "none": ["1"],
}
SOUND = "[cluster c]\nserver = s\nroster = a b\nhost = a\nfilter = f\nall = g\n"
# text, line of the error
WHOLE = {
    "a section of no type": ("\n[other]\nx = 1\n", 2),
    "a cluster without a name": ("[cluster ]\nlag = 1s\n", 1),
    "a cluster with a long name": (f"[cluster {'x' * 40}]\nlag = 1s\n", 1),
    "a cluster with a name of other letters": ("[cluster a.b]\nlag = 1s\n", 1),
    "a cluster twice": (SOUND + SOUND, 7),
    "a cluster that lacks its filters": ("\n[cluster c]\nlag = 1s\n", 2),
    "one host twice": (SOUND.replace("a b", "a a"), 1),
    "a host that is none": (SOUND.replace("a b", "a b/c"), 1),
    "a host that is not in the roster": (SOUND.replace("host = a", "host = c"), 1),
    "a certificate alone": (SOUND + "tls-cert = x\n", 1),
    "two logins": (SOUND + "nkey = x\npassword = y\n", 1),
    "a password in clear": (SOUND + "password = x\nserver = nats://127.0.0.1 nats://a\n", 1),
    "a number twice": ("memory = 1MiB\njobs = 1\nmemory = 2MiB\n", 3),
    "a lag twice": (SOUND + "lag = 1s\nlag = 2s\n", 8),
    "a mode twice": ("[watch w]\ndir = /a\nmode = 640\nmode = 600\n", 4),
    "a watch twice": ("[watch w]\ndir = /a\nfilter = f\n" * 2, 4),
    "a watch without a filter": ("\n\n[watch w]\ndir = /a\n", 3),
    "a watch of a relative path": ("[watch w]\ndir = a\nfilter = f\n", 1),
    "a watch with no name of a filter": ("\n[watch w]\ndir = /a\nfilter = a b\n", 2),
    "a watch whose options do not fit": (
        "\n[watch w]\ndir = /a\nfilter = f\nformat = pcap\nprefix = 8\n", 2),
    "that watch before another section": (
        "[watch w]\ndir = /a\nfilter = f\nformat = pcap\nprefix = 8\n" + SOUND, 1),
    "a line that is none, behind one that is": ("jobs = 1\njobs\n", 2),
    "a section without settings, behind one": (SOUND + "[watch w]\n", 7),
}
# setting, the last value that is taken, the first that is not
GLOBAL_LIMITS = [
    ("jobs", 65536, 65537), ("jobs-per-user", 65536, 65537), ("clients", 4096, 4097),
    ("clients-per-user", 4096, 4097), ("step", 1 << 40, (1 << 40) + 1), ("threads", 1024, 1025),
    ("memory", 1 << 50, (1 << 50) + 1), ("allow-uid", 0xfffffffe, 0xffffffff),
    ("allow-gid", 0xfffffffe, 0xffffffff), ("mirror", "a:24", "a:25"),
    ("mirror", "a" * 31, "a" * 32), ("hold", "a" * 31, "a" * 32),
]
WATCH_LIMITS = [
    ("key-len", 256, 257), ("mode", "0666", "0667"), ("mode", "600", "577"), ("mode", "0600", "00600"),
]
CLUSTER_LIMITS = [
    ("host", "a" * 63, "a" * 64), ("filter", "a" * 31, "a" * 32), ("all", "a" * 31, "a" * 32),
    ("lag", "200ms", "199999us"), ("peer-rate", 1 << 40, (1 << 40) + 1),
    ("buffer", 1 << 20, (1 << 20) - 1), ("stream-bytes", 1 << 20, (1 << 20) - 1),
    ("journal", 24, 25), ("threads", 32, 33),
]
# so many are taken; what is one, by number
LISTS = [
    (32, "allow-uid = {0}\n"), (32, "allow-gid = {0}\n"), (16, "mirror = m{0}\n"),
    (64, "hold = h{0}\n"), (16, "watch = /w{0}=f\n"), (16, "[watch w{0}]\ndir = /w{0}\nfilter = f\n"),
    (4, SOUND.replace("[cluster c]", "[cluster c{0}]")),
    (8, "server = s{0}\n"), (256, "roster = h{0}\n"),
]
files = None


def agent(text):
    """Return how an agent ends that has this configuration."""
    conf = files.path("agent.conf")
    a.write(conf, text)
    return subprocess.run([a.AGENT, "--config", conf, "--socket", files.path("none")],
                          capture_output=True, text=True, timeout=a.PATIENCE)


def one_error(text, line):
    """Return None, or what is wrong."""
    conf = files.path("agent.conf")
    ran = agent(text)
    said = ran.stderr
    if ran.returncode == 2 and re.fullmatch(r"error: [^\n]+\n", said) and \
            said.startswith(f"error: {conf}:{line}: ") and said.count(conf) == 1 and \
            "secret" not in said:
        return None
    return f"{text!r:.200}: line {line}, but {ran}"


def each(head, settings):
    faults = (one_error(f"{head}{name} = {value}\n", head.count("\n") + 1)
              for name, values in settings.items() for value in values)
    return next(filter(None, faults), None)


def both_sides(head, taken, refused):
    """The error is that of a line behind @taken, and of the first line of @refused."""
    return one_error(f"{head}{taken}none = 1\n", (head + taken).count("\n") + 1) or \
        one_error(head + refused, head.count("\n") + 1)


def limits(head, settings):
    return next(filter(None, (both_sides(head, f"{name} = {last}\n", f"{name} = {first}\n")
                              for name, last, first in settings)), None)


def lists():
    """Lists take as many as they may have, and not one more."""
    for most, entry in LISTS:
        head = "[cluster c]\n" if entry.startswith(("server", "roster")) else ""
        fault = both_sides(head + "".join(map(entry.format, range(most))), "", entry.format(most))
        if fault:
            return fault
    return None


def size():
    """The file may have 1 MiB, and no byte more."""
    most = (1 << 20) - len("none = 1\n")
    more = agent("\n" * (most + 1) + "none = 1\n")
    return one_error("\n" * most + "none = 1\n", most + 1) or \
        (f"one more: {more}"[:200] if more.returncode != 2 or "'none'" in more.stderr else None)


def devices():
    """A file that never ends is refused, and one that is not there; /dev/null is an empty one."""
    for path, why in (("/dev/zero", "not a regular file"), (files.path("gone"), "No such file")):
        done = subprocess.run([a.AGENT, "--config", path, "--socket", files.path("none/none")],
                              capture_output=True, text=True, timeout=a.PATIENCE, preexec_fn=lambda:
                              resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)))
        if done.returncode != 2 or not re.search(f"{path}: .*{why}", done.stderr):
            return f"{done}"
    return None


def controls():
    """Control characters in a line of the log are '?', in UTF-8 and alone; letters stay."""
    conf = files.path("agent.conf")
    with open(conf, "wb") as f:
        f.write("ä\u0085€\x1b".encode() + b"\x9b\x85\xc0 = 1\n")
    done = subprocess.run([a.AGENT, "--config", conf], capture_output=True, timeout=a.PATIENCE)
    want = "'ä".encode() + b"??" + "€".encode() + b"???\xc0'"
    return None if want in done.stderr else f"{done.stderr}"


def wholes():
    return next(filter(None, (one_error(*w) for w in WHOLE.values())), None)


def all_known():
    """The agent has no setting that is not here."""
    told = subprocess.run([a.AGENT, "--help"], capture_output=True, text=True).stdout
    names = set(re.findall(r"^  --([a-z-]+) ", told, re.M))
    texts = {"socket", "group", "metrics"}  # any text is taken
    missing = names - texts - set(GLOBAL)
    return f"not tried: {missing}" if missing or len(names) < 10 else None


CASES = [
    ("settings of the agent", lambda: each("", GLOBAL)),
    ("settings of a watched directory", lambda: each("# x\n[watch w]\n", WATCH)),
    ("settings of a cluster", lambda: each("# x\n[cluster c]\n", CLUSTER)),
    ("settings behind sound ones", lambda: each("jobs = 1\nclients = 1\n", GLOBAL)),
    ("limits of the agent", lambda: limits("", GLOBAL_LIMITS)),
    ("limits of a watched directory", lambda: limits("[watch w]\n", WATCH_LIMITS)),
    ("limits of a cluster", lambda: limits("[cluster c]\n", CLUSTER_LIMITS)),
    (lists.__doc__, lists),
    ("sections as a whole", wholes),
    (size.__doc__, size),
    (devices.__doc__, devices),
    (controls.__doc__, controls),
    ("every setting that --help lists is tried", all_known),
]


def run(made):
    global files
    files = made
    return tap.run(a.chosen(CASES))


if __name__ == "__main__":
    raise SystemExit(a.main(100, run))
