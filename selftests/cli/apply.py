#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""epfctl apply and export: files declare filters and attachments; what they declare is made
once, and comes back after a boot with the keys that still count. On filters that are pure
BPF, in a BPF file system and a network namespace of their own.
"""

import ctypes
import ctypes.util
import json
import os
import random
import re
import signal
import struct
import subprocess
import time

import own
from own import begin, epf, good, tap

dir = None

BOTH = """# two filters, and a port
[filter seen]
time = 1h
rate = 1000
rotate = kernel

[filter lost]
    window = 10000
    budget = 1e-3        ; not so exact
    first-seen = yes
    strict = no
    rotate = kernel

[attach v0]
filter = seen
no-dispatcher = yes
no-vlan = yes
action = count
"""


# Attached last: what --follow does to the rest of the file is done by then.
AFTER = """
[attach v5]
filter = seen
no-dispatcher = yes
no-vlan = yes
"""


def path(name):
    return os.path.join(dir, name)


def write(text, name="a.conf", mode=0o644):
    with open(path(name), "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(path(name), mode)
    return path(name)


def changes(*args, status=0):
    done = epf("-j", "apply", *args)
    if done.returncode != status:
        raise AssertionError(done)
    return [(c["change"], c["name"]) for c in json.loads(done.stdout)["changes"]]


def clear():
    """Nothing is there any more."""
    good("apply", "--prune", write("", "none.conf"))
    subprocess.run("ip link del v0; ip link del v9; ip link add v0 type veth peer name v1",
                   shell=True, check=True, stderr=subprocess.DEVNULL)


def names():
    return sorted(good("list", "--names").split())


BAD = [
    # a file, what its one error line has, and in which line
    ("x = 1\n", "'x' is in no section", 1),
    ("[filter a]\n", "no settings", 1),
    ("[filter a]\ntime = 1s\n[attach b]\n[filter c]\ntime = 1s\n", "no settings", 3),
    ("[filter a\ntime = 1s\n", "no ']'", 1),
    ("[filter a]\ntime 1s\n", "neither", 2),
    ("[filter a]\n= 1s\n", "no key", 2),
    ("[filter a]\nwindow = 1000\n[filter b]\nwindow = 9\n[filter a]\nwindow = 1000\n",
     r"declared already, at .*:1$", 5),
    ("[filters a]\nwindow = 1\n", "unknown section", 1),
    ("[filter]\nwindow = 1\n", "unknown section", 1),
    ("[filter a b]\nwindow = 1\n", "not a name", 1),
    ("[filter .]\nwindow = 1\n", "not a name", 1),
    ("[filter a]\nwindw = 1000\n", "unknown key 'windw'", 2),
    ("[filter a]\nwin = 1000\n", "unknown key 'win'", 2),
    ("[filter a]\njson = yes\n", "unknown key", 2),
    ("[filter a]\nwindow = 1000\n\n# c\n   budget = 2\n", "--budget '2' is out of range", 5),
    ("[filter a]\nwindow = 1000\nbackend = gpu\n", "auto, module or bpf", 3),
    ("[filter a]\nwindow = 1000\nfirst-seen = perhaps\n", "not yes or no", 3),
    ("[filter a]\ntime = 1s\n", "--rate", 1),
    ("[filter a]\nwindow = 1000\nsave = soon\n", "save 'soon' is not", 3),
    (f"[filter a]\nwindow = 1000\nkey = {'12' * 16}\n", "key-file", 3),
    ("[filter a]\nwindow = 1000\nkey-file = /none\n", "No such file", 3),
    ("[attach v0]\nkey = flow\naction = count\n", "'filter' is missing", 1),
    ("[attach v0]\nfilter = none\n", "no filter 'none'", 1),
    ("[attach v0]\nfilter = a\nkey = flo\n", "--key 'flo'", 3),
    ("[attach v0]\nfilter = a\nhook = nf:input:1\n", "unknown key 'hook'", 3),
    ("[attach v0]\nfilter = a\nfilter\n", "neither", 3),
    ("[attach nf:nowhere:1]\nfilter = a\n", "nf:", 1),
    ("[filter a]\nwindow = 9\nkind = ge:bits=1\n", "segment_bits is missing", 3),
    ("[pin known]\nfilter = a\n", "not an absolute path", 1),
    ("[pin /sys/fs/bpf/p]\nkey = flow\nlearn = yes\n", "'filter' is missing", 1),
    ("[pin /sys/fs/bpf/p]\nkey = flow\nlearn = yes\nfilter = none\n", "no filter 'none'", 1),
    ("[pin /sys/fs/bpf/p]\nfilter = a\nfilter = a\n", "given twice", 3),
    ("[pin /sys/fs/bpf/p]\nfilter = a\nkey = flow\nlern = yes\n", "unknown key 'lern'", 4),
    ("[pin /sys/fs/bpf/p]\nfilter = a\nkey = flow\nrecent = yes\n", "need --unknown", 1),
    (b"\0" * 4096, "NUL", 1),
    (b"\x7fELF\x02\x01\x01\0\0\n", "NUL", 1),
    ("[filter a]\nwindow = 1000\nrotate = kern", "truncated", 3),
    ("[filter a]\nwindow = " + "1" * 1000 + "\n", "longer than", 2),
    ("[filter " + "a" * 100 + "]\nwindow = 1\n", "too long", 1),
    ("#" + "\n" * (1 << 20), "larger than", None),
]


def hostile():
    """Each is one error line that names file and line, and nothing is made."""
    for text, what, line in BAD:
        file = write(text)
        done = epf("apply", file)
        where = f"{file}:{line}: " if line else f"{file}: "
        if done.returncode != 2 or done.stdout or done.stderr.count("\n") != 1 or \
                not re.search(what, done.stderr) or where not in done.stderr:
            return f"{text[:60]!r}: {done}"
    return f"made: {names()}" if names() else None


def untrusted():
    """A file or a directory that others may write, or of another user, is not read."""
    text = "[filter a]\nwindow = 1000\n"
    file = write(text, mode=0o666)
    if epf("apply", file).returncode != 2:
        return "others may write the file"
    os.chmod(file, 0o644)
    os.chown(file, 4242, 0)
    if epf("apply", file).returncode != 2:
        return "another user's file"
    os.unlink(file)
    os.makedirs(path("d"), exist_ok=True)
    write(text, "d/x.conf")
    os.chmod(path("d"), 0o777)
    done = epf("apply", path("d"))
    os.chmod(path("d"), 0o755)
    if done.returncode != 2:
        return "a directory that others may write"
    os.mkfifo(path("d/y.conf"))
    done = epf("apply", path("d"))
    os.unlink(path("d/y.conf"))
    return None if done.returncode == 2 and not names() else f"{done}"


def directory():
    """The files *.conf of a directory, by name; others are not looked at."""
    write("[attach v0]\nfilter = a\nno-dispatcher = yes\nno-vlan = yes\n", "d/b.conf")
    write("[filter a]\nwindow = 1000\nrotate = kernel\n", "d/x.conf")
    for other in (".hidden.conf", "x.conf~", "conf"):
        write("nonsense\n", "d/" + other)
    got = changes(path("d"))
    clear()
    return None if got == [("create", "a"), ("attach", "v0")] else f"{got}"


def idempotent():
    """The difference first; nothing by --dry-run; all of it once; then nothing to do."""
    file = write(BOTH)
    want = [("create", "seen"), ("create", "lost"), ("attach", "v0")]
    if changes("--dry-run", file) != want or names():
        return f"--dry-run: {names()}"
    if changes(file) != want:
        return "not made"
    before = good("-j", "status", "v0"), good("-j", "show", "--backend", "bpf", "lost")
    good("insert", "seen", "k")
    done = epf("apply", file)
    if done.returncode or "nothing to do: 3 declared" not in done.stdout or changes(file):
        return f"the second run: {done}"
    if epf("test", "seen", "k").returncode:
        return "a key is lost"
    program = [json.loads(s)["program"] for s in (before[0], good("-j", "status", "v0"))]
    return None if program[0] == program[1] else "attached again"


def differing():
    """What differs is refused before anything changes, and made again by --replace."""
    clear()
    good("apply", write(BOTH))
    good("insert", "seen", "k")
    file = write(BOTH.replace("1000\n", "3000\n").replace("[filter lost]", "[filter new]"))
    for args in ([], ["--prune"]):
        done = epf("apply", *args, file)
        if done.returncode != 2 or "--replace" not in done.stderr or \
                names() != ["lost", "seen"] or epf("test", "seen", "k").returncode:
            return f"{done}: {names()}"
    got = changes("--replace", file)
    if got != [("detach", "v0"), ("destroy", "seen"), ("create", "seen"), ("create", "new"),
               ("attach", "v0")] or changes(file):
        return f"{got}"
    for old, new in (("action = count", "action = drop"), ("[attach v0]", "[attach v0]\nbytes = 60")):
        text = write(open(file).read().replace(old, new))
        if epf("apply", text).returncode != 2 or \
                changes("--replace", text) != [("detach", "v0"), ("attach", "v0")]:
            return f"another {new}"
    return None


def pruned():
    """Without --prune what is not declared stays; with it, it goes."""
    clear()
    good("apply", write(BOTH + "[filter new]\nwindow = 1000\nrotate = kernel\n"))
    file = write("[filter new]\nwindow = 1000\nrotate = kernel\n")
    if changes(file) or names() != ["lost", "new", "seen"]:
        return f"{names()}"
    got = changes("--prune", file)
    return None if sorted(got) == [("destroy", "lost"), ("destroy", "seen"), ("detach", "v0")] and \
        names() == ["new"] else f"{got}"


def interrupted():
    """A change that fails keeps no other from being made; the next run goes on from there."""
    clear()
    file = write("[attach v8]\nfilter = seen\n" + BOTH.replace("v0", "v9"))
    done = epf("apply", file)
    if done.returncode != 1 or "partly applied: 2 of 4 changes" not in done.stderr or \
            done.stderr.count("no interface") != 2 or names() != ["lost", "seen"]:
        return f"{done}"
    file = write(BOTH.replace("v0", "v9"))
    if changes(file, status=1) != [("attach", "v9")]:
        return "tried again"
    subprocess.run(["ip", "link", "set", "v0", "name", "v9"], check=True)
    got = changes(file)
    good("apply", "--prune", path("none.conf"))
    subprocess.run(["ip", "link", "set", "v9", "name", "v0"], check=True)
    return None if got == [("attach", "v9")] else f"{got}"


def until(what, seconds=10):
    """what() comes true."""
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def attached(name):
    return not epf("status", name).returncode


def link(*words):
    subprocess.run(["ip", "link", *words], check=True)


def follows_quietly():
    """What --follow cannot make without --replace is reported once, until it changes"""
    clear()
    good("apply", write("[filter a]\nwindow = 1000\n[filter b]\nwindow = 1000\n"))
    file = write("[filter a]\nwindow = 2000\n[filter b]\nwindow = 1000\n")
    with begin("apply", "--follow", file) as child:
        time.sleep(6)  # some rounds: after 1 s, 3 s, ...
        write("[filter a]\nwindow = 2000\n[filter b]\nwindow = 2000\n")
        child.send_signal(signal.SIGHUP)
        time.sleep(4)
        child.terminate()
        said = child.communicate()
    clear()
    told = [line for line in said[1].splitlines() if "--replace" in line]
    return None if len(told) == 2 and told[0].startswith("error: 1 of these") and \
        told[1].startswith("error: 2 of these") else f"{said}"


def followed():
    """--follow attaches when an interface comes, also for the second time. What somebody
    detached or destroyed stays away until SIGHUP. An error in a file is no end."""
    clear()
    both = BOTH.replace("v0", "v9") + AFTER
    file = write(both)
    with begin("apply", "--follow", file) as child:
        try:
            if not until(lambda: names() == ["lost", "seen"]):
                return "no filters"
            for _ in range(2):
                link("add", "v9", "type", "veth", "peer", "name", "v8")
                if not until(lambda: attached("v9")):
                    return "not attached"
                link("del", "v9")
            link("add", "v9", "type", "veth", "peer", "name", "v8")
            if not until(lambda: attached("v9")):
                return "not attached for the third time"
            good("detach", "v9")
            good("destroy", "lost")
            link("add", "v5", "type", "veth", "peer", "name", "v4")
            if not until(lambda: attached("v5")):
                return "not attached to another"
            if attached("v9") or names() != ["seen"]:
                return "made again what somebody took away"
            link("del", "v5")
            link("add", "v5", "type", "veth", "peer", "name", "v4")
            if not until(lambda: attached("v5")) or attached("v9") or names() != ["seen"]:
                return "made again in the second round what somebody took away"
            write("[filter seen\n")
            child.send_signal(signal.SIGHUP)
            time.sleep(1.2)
            write(both)
            if not until(lambda: attached("v9") and names() == ["lost", "seen"]):
                return "not made after SIGHUP, and an error"
        finally:
            child.terminate()
            said = child.communicate()
    clear()
    return None if child.returncode == 143 and "no ']'" in said[1] else f"{child.returncode} {said}"


FILTERS = [["--window", "1234"], ["--time", "90s", "--rate", "20k", "--hash", "siphash13"],
           ["--time", "1.5s", "--window", "1M", "--mode", "either", "--budget", "3.3e-5"],
           ["--window", "7777", "--limit", "never", "--first-seen", "--strict"],
           ["--time", "1h", "--lines", "4096", "--lines-per-key", "2", "--bits-per-key", "10"]]
RULE = ["--match", "udp:sport=53,100-200", "--else", "drop", "--if-unknown", "accept",
        "--fragments", "pass", "--within", "3"]
WAYS = [["--key", "packet", "--no-mac", "--bytes", "64", "--vlan-offload", "off", "v0"],
        ["--key", "frame", "--mirror", "--mode", "generic", "--vlan-offload", "off", "v0"],
        ["--no-vlan", "--action", "mark", "--mark", "0x100/0xfff", "v0"],
        ["--key", "peer", "--prefix", "24,64", "--zone", "7", "--action", "count", "v0"],
        ["--key", "peer", "--prefix", "24,64", "--reflexive", "--match", "any", *RULE, "v0"],
        ["--reflexive", "--match", "any", "--ask", "tc", "--else", "mark=0x1/0x3", "v0"],
        ["--admit", "10/20", "--key", "peer", "--new-rate", "1/2", "--if-unknown", "drop", "v0"],
        ["--log-new", "--log-rate", "10/20", "v0"],
        ["--hook", "nf:input:-310:ip", "--in", "v0", "--learn", "--if-new"],
        ["--hook", "nf:output:5", "--if-recent", "drop", *RULE]]


def shown():
    """Of all filters what was chosen."""
    keep = ("name", "kind", "hash", "mode", "refresh", "lines", "lines_per_key", "bits_per_key",
            "window_inserts", "window_ns", "budget", "limit", "rotate", "aligned", "backend")
    return sorted(str({k: f.get(k) for k in keep}) for f in json.loads(good("-j", "list")))


def exported():
    """What is exported says the same of an empty machine, and is nothing to do on this one."""
    tried = 0
    for n, how in enumerate(FILTERS):
        good("create", f"f{n}", *how, "--rotate", "kernel")
    for way in WAYS:
        lone = [] if way[-1] != "v0" or "tc" in way else ["--no-dispatcher"]
        done = epf("attach", "--filter", "f1", *lone, *way)
        if done.returncode:
            print(f"# attach {' '.join(way)}: {done.stderr.strip()}")
            continue
        tried += 1
        text, before = good("export"), shown()
        file = write(text, "e.conf")
        if changes(file):
            return f"{way}: not the same: {good('apply', '--dry-run', file)}{text}"
        clear()
        good("apply", file)
        if sorted(good("export").split("\n\n")) != sorted(text.split("\n\n")) or shown() != before:
            return f"{way}: became\n{good('export')}not\n{text}"
        good("apply", "--prune", write(text[:text.index("[attach")], "e.conf"))
    if tried < 5:
        return f"{tried} ways only"
    one = good("export", "f1")
    if one.count("[") != 1 or "[filter f1]" not in one or epf("export", "none").returncode != 2:
        return one
    clear()
    return None


PINS = """[pin /sys/fs/bpf/known]
filter = f
key = flow
reverse = yes
frags = accept
recent = yes
unknown = drop

[pin /sys/fs/bpf/learn]
filter = f
key = peer
prefix = 24,128
learn = yes

"""
FOR_PINS = "[filter f]\nwindow = 1000\nrotate = kernel\n"
KNOWN, LEARN = "/sys/fs/bpf/known", "/sys/fs/bpf/learn"


def pinned():
    """Pins are made once, exported as declared, made again with their filter or by --replace,
    shown if they are missing, and removed by --prune."""
    clear()
    file = write(FOR_PINS + PINS)
    if changes(file) != [("create", "f"), ("pin", KNOWN), ("pin", LEARN)] or changes(file):
        return "not made once"
    if good("export", LEARN, KNOWN) != PINS:
        return good("export")
    program = os.stat(KNOWN).st_ino
    other = write(FOR_PINS + PINS.replace("drop", "accept"))
    if epf("apply", other).returncode != 2 or os.stat(KNOWN).st_ino != program:
        return "another rule is not refused"
    if changes("--replace", other) != [("detach", KNOWN), ("pin", KNOWN)] or changes(other):
        return "not made again"
    got = changes("--replace", write((FOR_PINS + PINS).replace("1000", "9999")))
    if got != [("detach", KNOWN), ("detach", LEARN), ("destroy", "f"), ("create", "f"),
               ("pin", KNOWN), ("pin", LEARN)]:
        return f"with its filter: {got}"
    os.unlink(KNOWN)
    if changes(path("a.conf")) != [("pin", KNOWN)]:
        return "what was removed by hand"
    deep = "/sys/fs/bpf/" + "d" * 40
    os.mkdir(deep)
    good("pin", "f", deep + "/p", "--key", "flow", "--learn")
    done = epf("export")
    good("detach", deep + "/p")
    os.rmdir(deep)
    if done.returncode != 1 or f"# [pin {deep}/p]\n# is left out: " not in done.stdout:
        return f"{done}"
    got = changes("--prune", write(FOR_PINS.replace("1000", "9999")))
    clear()
    return None if sorted(got) == [("detach", KNOWN), ("detach", LEARN)] and \
        not os.path.exists(LEARN) else f"{got}"


def missing():
    """status -j has what is declared and not there, with its line and the reason."""
    def lacks():
        return [s for s in json.loads(good("-j", "status")) if not s["attached"]]

    here = "/etc/epochfilter/filters.d/all.conf"
    file = own.hide_settings() + "/all.conf"
    with open(file, "w") as f:
        f.write(FOR_PINS + PINS + "[attach v0]\nfilter = f\nno-dispatcher = yes\nno-vlan = yes\n"
                "[attach v7]\nfilter = f\n[attach nf:input:5]\nfilter = f\nlearn = yes\n")
    hint = "'epfctl apply' makes it, or says why not"
    want = [("pin", KNOWN, 4, hint), ("pin", LEARN, 12, hint), ("interface", "v0", 18, hint),
            ("interface", "v7", 22, "there is no such interface"),
            ("hook", "nf:input:5", 24, hint)]
    if lacks() != [{w[0]: w[1], "attached": False, "declared": f"{here}:{w[2]}", "why": w[3]}
                   for w in want]:
        return f"{lacks()}"
    epf("apply")
    there = lacks()
    os.unlink(file)
    clear()
    return None if [s.get("interface") for s in there] == ["v7"] else f"{there}"


def key_files():
    """A key comes from a file that others cannot read, or from a credential."""
    secret = write("ab" * 16 + "\n", "secret", 0o600)
    file = write(f"[filter a]\nwindow = 1000\nrotate = kernel\nkey-file = {secret}\n")
    good("apply", file)
    good("create", "b", "--window", "1000", "--rotate", "kernel", "--key-file", secret)
    for way in (["--key", "ab" * 16], ["--key=" + "ab" * 16]):
        done = epf("create", "c", "--window", "1000", *way)
        if done.returncode != 2 or "--key-file" not in done.stderr or "abab" in done.stderr:
            return f"a key as argument: {done}"
    for name in "ab":
        good("save", name, path(name))
    keys = [open(path(n), "rb").read(256).find(b"\xab" * 16) for n in "ab"]
    if keys[0] < 0 or changes(file):
        return f"keys at {keys}"
    write("cd" * 16 + "\n", "secret", 0o600)
    if "key-file" not in epf("apply", "--dry-run", file).stdout:
        return "another key is not noticed"
    os.chmod(secret, 0o640)
    done = epf("apply", file)
    if done.returncode != 2 or "chmod 600" not in done.stderr:
        return f"others may read it: {done}"
    for text in ("ab" * 15, "ab" * 17, "", "xy" * 16):
        write(text, "secret", 0o600)
        done = epf("apply", file)
        if done.returncode != 2 or "32 hex digits" not in done.stderr or text and text in done.stderr:
            return f"{text}: {done}"
    write("ab" * 16, "secret", 0o600)
    write("[filter a]\nwindow = 1000\nrotate = kernel\nkey-file = secret\n")
    done = epf("-j", "apply", file, env={**os.environ, "CREDENTIALS_DIRECTORY": dir})
    clear()
    return None if not done.returncode and not json.loads(done.stdout)["changes"] else f"{done}"


# A part of a window that began after this machine was started, at most a minute.
with open("/proc/uptime") as uptime:
    PART = min(60, max(1, int(float(uptime.read().split()[0]) / 75))) * 10**9
MINUTE = 60 * 10**9
STATE = (f"[filter t]\ntime = {70 * PART}ns\nrate = 1000\nrotate = kernel\n"
         "[filter n]\nwindow = 5000\nrotate = kernel\n"
         "[filter no]\nwindow = 5000\nrotate = kernel\nsave = no\n")


def state(*args):
    return ["--state", path("state"), *args]


def aged(name, ns, boot=None):
    """Its saved state is as if saved @ns ago, or in another boot."""
    file = path(f"state/{name}.boot")
    with open(file) as f:
        words = f.read().split()
    words[0] = boot or words[0]
    words[1] = str(int(words[1]) - ns)
    with open(file, "w") as f:
        f.write(" ".join(words) + "\n")


def restored(file):
    """Everything is destroyed and declared again. Return: what was said of each state."""
    clear()
    done = json.loads(good("-j", "apply", "--restore", *state(), file))
    return {c["name"]: c for c in done["changes"]}


def saved(file, *keys):
    good("apply", file)
    for name in ("t", "n", "no"):
        good("insert", name, *keys)
    return json.loads(good("-j", "apply", "--save", *state(), file))["saved"]


def comes_back():
    """Keys of the last save are there again, and time has gone on meanwhile."""
    file = write(STATE)
    if saved(file, "x", "y") != ["t", "n"]:
        return "not saved"
    if json.loads(good("-j", "apply", "--save", "--due", *state(), file))["saved"]:
        return "saved again at once"
    said = restored(file)
    if not said["t"]["restored"] or not said["n"]["restored"] or "restored" in said["no"]:
        return f"{said}"
    for name, status in (("t", 0), ("n", 0), ("no", 1)):
        if epf("test", name, "x", "y").returncode != status:
            return f"keys of {name}"
    for gap in (5, 15, 35, 65):
        clear()
        good("apply", file)
        good("insert", "t", "x")
        good("apply", "--save", *state(), file)
        aged("t", gap * PART)
        said = restored(file)["t"]
        age = json.loads(good("-j", "test", "t", "x"))
        if not said["restored"] or epf("test", "t", "x").returncode or \
                age["age"] != gap // 10 or \
                not gap * PART <= said["state_age_ns"] < (gap + 5) * PART:
            return f"{gap} of 70: {said} {age}"
        if epf("-j", "apply", "--restore", *state(), file).returncode:
            return "a second run"
    return None


def too_old():
    """A state that is older than its window is not used, and a line says its age."""
    file = write(STATE)
    saved(file, "x")
    for name in "tn":
        aged(name, 71 * PART)
    clear()
    done = epf("apply", "--restore", *state(), file)
    if done.returncode or not re.search(
            r"^not restored t: saved \S+ \S+ ago, which is longer than its window of \S+ \S+$",
            done.stdout, re.M):
        return f"{done}"
    if epf("test", "t", "x").returncode != 1 or epf("test", "n", "x").returncode:
        return "the wrong keys are there"
    clear()
    saved(file, "x")
    aged("t", 0, boot="another-boot")
    said = restored(file)["t"]
    if said["restored"]:
        return f"of another boot, before this one began: {said}"
    return None


def useless():
    """Damaged, of other parameters, of another key: not used, said, and the filter is there."""
    file = write(STATE)
    clear()
    saved(file, "x")
    with open(path("state/t.epf"), "r+b") as f:
        f.truncate(os.path.getsize(path("state/t.epf")) - 100)
    said = restored(file)
    if said["t"]["restored"] or not said["n"]["restored"]:
        return f"cut: {said}"
    saved(file, "x")
    other = write(STATE.replace("5000", "6000"))
    said = restored(other)
    if said["n"]["restored"] or "other parameters" not in said["n"]["state"]:
        return f"other parameters: {said}"
    secret = write("ab" * 16 + "\n", "secret", 0o600)
    other = write(STATE.replace("[filter n]\n", f"[filter n]\nkey-file = {secret}\n"))
    said = restored(other)
    if said["n"]["restored"] or saved(other, "z") != ["t", "n"]:
        return f"another key: {said}"
    said = restored(other)
    return None if said["n"]["restored"] and not epf("test", "n", "z").returncode else f"{said}"


def put_ahead(name, ns):
    """The saved state is one of a clock that was @ns ahead (struct epf_snap_header)."""
    xxh3 = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0").XXH3_64bits
    xxh3.restype, xxh3.argtypes = ctypes.c_uint64, (ctypes.c_char_p, ctypes.c_size_t)
    with open(path(f"state/{name}.epf"), "r+b") as f:
        size, = struct.unpack_from("<I", f.read(16), 12)
        f.seek(0)
        header = bytearray(f.read(size))
        with open(path(f"state/{name}.boot")) as boot:
            wall = int(boot.read().split()[2])
        at = header.index(struct.pack("<Q", wall))
        check = at + 8 + 8 * 16 + 8
        struct.pack_into("<Q", header, at, wall + ns)
        struct.pack_into("<Q", header, check, 0)
        struct.pack_into("<Q", header, check, xxh3(bytes(header), size))
        f.seek(0)
        f.write(header)


def from_future():
    """A state whose clock is ahead is not used, and kept; the clock of the boot that saved it
    counts, whatever is done to the wall clock. One line says it."""
    file = write(STATE)
    saved(file, "x")
    put_ahead("n", 60 * MINUTE)
    put_ahead("t", 60 * MINUTE)
    with open(path("state/t.boot")) as f:
        words = f.read().split()
    words[2] = str(int(words[2]) + 60 * MINUTE)  # the clock was set back since
    with open(path("state/t.boot"), "w") as f:
        f.write(" ".join(words) + "\n")
    said = restored(file)
    if said["n"]["restored"] or "future" not in said["n"]["state"] or not said["t"]["restored"]:
        return f"{said}"
    good("apply", "--save", *state(), file)
    again = re.search(r"'epfctl (restore --existing n \S+)'", said["n"]["state"])
    if not again or "\n" in said["n"]["state"]:
        return f"{said}"
    good(*again.group(1).split())
    return None if not epf("test", "n", "x").returncode else "the kept state is useless"


def partly_saved():
    """A declared filter that is not there keeps no other from being saved."""
    file = write(STATE)
    saved(file, "x")
    good("destroy", "t")
    os.unlink(path("state/n.epf"))
    done = epf("-j", "apply", "--save", *state(), file)
    return None if done.returncode == 1 and json.loads(done.stdout)["saved"] == ["n"] and \
        os.path.exists(path("state/t.epf")) else f"{done}"


def unsynced():
    """A state is saved when both of its files are on the disk."""
    file = write(STATE)
    saved(file, "x")
    wrong = []
    for name in "t.epf", "t.boot":
        done = epf("apply", "--save", *state(), file, env={
            **os.environ, "LD_PRELOAD": own.NOSYNC, "EPF_SYNC_FAILS": name})
        if done.returncode != 2 or "Input/output error" not in done.stderr:
            wrong.append(f"{name} is not synced: {done}")
    return "; ".join(wrong) or None


def slow():
    """The age of a state counts from its moment, however long its file takes to be on the disk."""
    file = write(STATE)
    saved(file, "x")
    good("apply", "--save", *state(), file, env={
        **os.environ, "LD_PRELOAD": own.NOSYNC, "EPF_SYNC_LASTS": "t.epf"})
    with open(path("state/t.boot")) as f:
        boot, wall = map(int, f.read().split()[1:])
    began = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return None if abs(wall - boot - began) < 5 * 10**8 else f"later by {began - wall + boot} ns"


def killed():
    """Killed while it saves, at any moment: the file is whole, and not older than the last
    save that ended."""
    clear()
    file = write("[filter n]\nwindow = 2M\nrotate = kernel\n")
    good("apply", file)
    good("apply", "--save", *state(), file)
    began = time.monotonic()
    good("apply", "--save", *state(), file)
    whole = time.monotonic() - began
    done = found = kills = 0
    for n in range(1, 200):
        good("insert", "n", str(n))
        with begin("apply", "--save", *state(), file) as child:
            try:
                child.wait(random.uniform(0, 1.3 * whole))
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
                kills += 1
            if not child.wait():
                done = n
        found = json.loads(good("-j", "show", "--file", path("state/n.epf")))["inserts"]
        if not done <= found <= n:
            return f"{found} insertions, {done} were saved"
        if n >= 20 and kills >= 8 and done:
            break
    print(f"# {kills} of {n} saves were killed; the last that ended was {done}, found {found}")
    if kills < 8 or not done:
        return "not killed, or never done"
    clear()
    good("apply", "--restore", *state(), file)
    return None if not epf("test", "n", "1", str(found)).returncode else "keys are lost"


CASES = [
    ("what no file may be is one error with its line, and nothing is made", hostile),
    ("files that others may write are not read", untrusted),
    ("a directory of files", directory),
    ("what is declared is made once", idempotent),
    ("what differs is made again only by --replace", differing),
    ("--prune removes what is not declared", pruned),
    ("after a failure the next run goes on", interrupted),
    ("what cannot be made yet is made later", followed),
    ("what fails in each round is reported once", follows_quietly),
    ("what is exported makes the same again", exported),
    ("pins are declared, too", pinned),
    ("status -j tells what is missing", missing),
    ("hash keys come from files", key_files),
    ("a saved state comes back, aged by the time between", comes_back),
    ("what is older than its window does not", too_old),
    ("nor what is damaged or of another filter", useless),
    ("nor what is from the future, which is kept", from_future),
    ("what is missing keeps nothing else from being saved", partly_saved),
    ("a save syncs all its files", unsynced),
    ("a save that lasts does not make its state younger", slow),
    ("a save that is killed leaves a whole file", killed),
]


def run(at):
    global dir
    dir = at
    clear()
    os.makedirs(path("d"))
    return tap.run(tap.chosen(CASES))


if __name__ == "__main__":
    raise SystemExit(own.main(run))
