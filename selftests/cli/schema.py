#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Every JSON value that epfctl prints is as docs/schema/epfctl.json says: no member is
missing, of another type, or not in the schema. On filters that are pure BPF.
"""

import copy
import json
import os
import signal
import socket
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import own  # noqa: E402
from own import begin, epf, good, make, tap  # noqa: E402

try:
    import jsonschema
except ImportError:
    tap.skip_all("needs python3-jsonschema")

FILE = os.environ.get("EPF_SCHEMA", os.path.join(own.ROOT, "docs/schema/epfctl.json"))
# They print nothing on standard output, or no JSON.
SILENT = {"destroy", "clear", "swap", "hold", "detach", "metrics", "batch"}
AGENT = os.environ.get("EPF_AGENT", os.path.join(own.ROOT, "build/user/epfagent"))
dir = None
checked = set()


def closed(node):
    """The schema, but with no members beside those that it names."""
    if isinstance(node, list):
        return [closed(x) for x in node]
    if not isinstance(node, dict):
        return node
    made = {k: closed(v) for k, v in node.items()}
    if "properties" in node and isinstance(node["properties"], dict) and \
            node.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made


with open(FILE) as f:
    OPEN = json.load(f)
CLOSED = closed(OPEN)


def validator(verb, schema):
    return jsonschema.Draft202012Validator({**schema, "$ref": f"#/$defs/{verb}"})


def is_sound(verb, value, schema=CLOSED):
    return validator(verb, schema).is_valid(value)


def spoilt(value):
    """Copies of a value that the schema must refuse: a member more in any object; and
    the whole of another type."""
    yield "text"
    todo = [()]
    while todo:
        at = todo.pop()
        here = value
        for step in at:
            here = here[step]
        if isinstance(here, dict):
            more = copy.deepcopy(value)
            place = more
            for step in at:
                place = place[step]
            place["not in the schema"] = []
            yield more
            todo += [at + (k,) for k in here]
        elif isinstance(here, list) and here:
            todo.append(at + (0,))


def check(verb, value):
    """None, or what is wrong with a value of a verb."""
    checked.add(verb)
    wrong = list(validator(verb, CLOSED).iter_errors(value))
    if wrong:
        deep = min((e for w in wrong for e in (w.context or [w])),
                   key=lambda e: -len(e.absolute_path))
        return f"{verb}: {deep.json_path}: {deep.message[:200]}"
    for bad in spoilt(value):
        if is_sound(verb, bad):
            return f"{verb}: the schema takes {json.dumps(bad)[:300]}"
    return None


def says(*args, verb=None, status=(0,), **more):
    """Each value that a verb prints, by its schema."""
    done = epf("-j", *args, **more)
    if done.returncode not in status or not done.stdout:
        return f"{args}: {done}"
    for line in done.stdout.splitlines():
        fault = check(verb or args[0], json.loads(line))
        if fault:
            return fault
    return None


def path(name):
    return os.path.join(dir, name)


def first(faults):
    return next((f for f in faults if f), None)


def itself():
    jsonschema.Draft202012Validator.check_schema(OPEN)
    verbs = {line.split()[0] for line in good("--help").splitlines()
             if line.startswith("  ") and line[2] not in " -"}
    lacks = verbs - set(OPEN["$defs"]) - SILENT
    if lacks:
        return f"not in the schema: {lacks}"
    told = SILENT & set(OPEN["$defs"])
    return f"silent, but in the schema: {told}" if told else None


def sizes():
    return first([says("plan", "--window", "1M"),
                  says("plan", "--time", "1s", "--rate", "1M"),
                  says("plan", "--time", "1s", "--window", "1M", "--mode", "either"),
                  says("plan", "--window", "1M", "--kind", "apbf"),
                  says("plan", "--window", "1M", "--compare"),
                  says("plan", "--time", "1m", "--rate", "1M", "--cluster", "40"),
                  says("--version", verb="version")])


def filters():
    with open(path("key"), "w", opener=lambda p, f: os.open(p, f, 0o600)) as f:
        f.write("12" * 16)
    timed = ("--time", "1h", "--rate", "10", "--key-file", path("key"))
    faults = [says("create", "f1", "--window", "1000", "--rotate", "kernel"),
              says("create", "f2", *timed, "--first-seen", "--rotate", "process"),
              says("insert", "f1", "a", "b"), says("rotate", "f1"),
              says("list"), says("list", "--names"), says("show", "f1"), says("show", "f2"),
              says("save", "f1", path("f1.epf")), says("show", "--file", path("f1.epf")),
              says("restore", "f3", path("f1.epf")), says("show", "f3")]
    good("create", "f4", *timed, "--first-seen")
    for name in ("f2", "f4"):
        good("save", name, path(name + ".epf"))
    faults.append(says("merge", "-o", path("m.epf"), path("f2.epf"), path("f4.epf")))
    return first(faults)


def answers():
    faults = [says("test", "f1", "a"), says("test", "f1", "a", "no", status=(1,)),
              says("test", "f1", "--format", "hex", "61"),
              says("test", "f1", "--digest", "0123456789abcdef", status=(1,)),
              says("test", "f1", "-", input="\xff\xfe\n", status=(1,)),
              says("test", "f1", "-c", "a", "no", status=(1,))]
    good("insert", "f2", "k")
    for _ in range(own.PATIENCE * 10):
        done = epf("-j", "test", "f2", "k")
        if done.returncode == 3:
            break
        signal.sigtimedwait([], 0.1)
    faults.append(says("test", "f2", "k", status=(3,)))
    faults.append(check("error", own.errors(done.stderr)[0]))
    return first(faults)


def audits():
    with open(path("keys.csv"), "w") as f:
        f.write("".join(f"{k}\n" for k in ("a", "b", "no", "")))
    out = ("--bitmap", path("bits"), "--ages", path("ages"), "--records", path("rec"))
    return first([says("audit", "--no-agent", "--format", "csv", "f1", path("keys.csv")),
                  says("audit", "--no-agent", "--format", "csv", "--probe", "1000", *out,
                       path("f1.epf"), path("keys.csv")),
                  says("audit", "--no-agent", "--format", "csv", "--place", "live", "f1",
                       path("keys.csv"))])


def watches():
    return says("watch", "f1", "-n", "1", "--interval", "10ms")


def packets():
    """Interfaces, hooks, pins, and what they count."""
    subprocess.run(["ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1"],
                   check=True)
    for link in ("v0", "v1"):
        subprocess.run(["ip", "link", "set", link, "up"], check=True)
    rule = ("--key", "flow", "--match", "udp", "--else", "drop", "--if-unknown", "accept",
            "--fragments", "pass", "--within", "3")
    ways = [["--filter", "f1", "--no-vlan"], ["--filter", "f1", "--key", "peer", "--prefix", "24,64"],
            ["--filter", "f1", "--no-vlan", "--action", "mark"],
            ["--filter", "f1", "--reflexive", *rule],
            ["--filter", "f1", "--log-new", "--key", "flow", "--log-rate", "10/20"],
            ["--filter", "f1", "--admit", "10/20", "--key", "peer", "--new-rate",
             "1/2", "--if-unknown", "accept"]]
    tried = 0
    for way in ways:
        done = epf("-j", "attach", *way, "--no-dispatcher", "v0")
        if done.returncode and '"errno"' not in done.stderr:
            return f"{done}"
        if done.returncode:
            print(f"# attach {' '.join(way)}: {done.stderr.strip()}")
            continue
        tried += 1
        fault = check("attach", json.loads(done.stdout)) or says("status", "v0") or \
            says("status")
        good("detach", "v0")
        if fault:
            return fault
    if not tried:
        return "nothing could be attached"
    fault = says("status", "v0", status=(1,))
    done = epf("-j", "attach", "--filter", "f1", "--hook", "nf:input:-310", "--learn",
               "--if-recent", "accept", "--else", "accept", "--if-unknown", "accept",
               "--fragments", "pass", "--key", "flow")
    if done.returncode:
        print(f"# attach --hook: {done.stderr.strip()}")
    else:
        fault = fault or says("status", "nf:input:-310") or says("status")
        good("detach", "nf:input:-310")
    if fault:
        return fault
    fault = says("pin", "f1", "/sys/fs/bpf/m", "--key", "peer", "--recent",
                 "--unknown", "accept") or \
        says("status", "/sys/fs/bpf/m") or says("status")
    if fault:
        return fault
    good("detach", "/sys/fs/bpf/m")
    return None


def declared():
    """What files declare, what becomes of it, and its state."""
    file, state = path("all.conf"), ("--state", path("state"))
    text = good("export", "f1")

    def write(more):
        with open(file, "w") as f:
            f.write(text + "[filter new]\nwindow = 1000\nrotate = kernel\n" + more)
    write("first-seen = yes\n")
    found = [says("export"), says("apply", "--dry-run", file), says("apply", file)]
    write("")
    found += [says("apply", file, status=(2,)), says("apply", "--replace", file),
              says("apply", "--save", *state, file)]
    good("destroy", "new")
    found += [says("apply", "--restore", *state, file), says("apply", file)]
    good("destroy", "new")
    with open(own.hide_settings() + "/all.conf", "w") as f:
        f.write("[pin /sys/fs/bpf/p]\nfilter = f1\nkey = flow\nlearn = yes\n"
                "[attach v7]\nfilter = f1\n[attach nf:input:5]\nfilter = f1\nlearn = yes\n")
    found += [says("status"), says("apply", "--dry-run")]
    return first(found)


def flows():
    """A flow of UDP that v1 sends to v0."""
    done = epf("attach", "--filter", "f1", "--log-new", "--key", "flow", "--no-dispatcher",
               "v0")
    if done.returncode:
        raise tap.Skip(done.stderr.strip())
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind(("v1", 0))
        udp = struct.pack(">HHHH", 1030, 9, 12, 0) + b"data"
        for proto, rest in ((17, udp), (1, b"\x08\0\0\0\0\1\0\1")):
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(rest), 7, 0, 64, proto, 0,
                             bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
            s.send(bytes([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]) + ip + rest)
    fault = says("log", "v0", "--count", "1")
    good("detach", "v0")
    return fault


def captures():
    with open(path("in.pcap"), "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for i in range(4):
            frame = bytes(12) + b"\x08\0" + bytes([0x45]) + bytes([i % 2] * 45)
            f.write(struct.pack("<IIII", 1 + i, 0, len(frame), len(frame)) + frame)
    out = path("out.pcap")
    return first([says("dedup", path("in.pcap"), out),
                  says("dedup", "--removed", path("gone.pcap"), path("in.pcap"), out),
                  says("dedup", "--filter", "--window", "1M", path("in.pcap"), out),
                  says("build", path("b.epf"), "--time", "1h", "--rate", "10",
                       path("in.pcap")),
                  says("test", "--snapshot", path("b.epf"), "k", status=(1,)),
                  says("doctor", status=(0, 1, 2))])


def agents():
    sock = path("agent")
    at = ("--agent", sock)
    os.mkdir(path("watched"))
    with open(path("agent.conf"), "w") as f:  # of a cluster whose filters do not exist
        os.fchmod(f.fileno(), 0o600)
        f.write("[cluster c]\nserver = nats://127.0.0.1:1\nhost = a\nroster = a b\n"
                "filter = none.1\nall = none.2\n")
    child = subprocess.Popen([AGENT, "--config", path("agent.conf"), "--socket", sock, "--watch",
                              f"{path('watched')}=f1"], stderr=subprocess.PIPE, text=True)
    try:
        while "epfagent" not in child.stderr.readline():
            pass
        faults = [says("agent", "status", *at), says("agent", "jobs", *at),
                  says("cluster", "status", *at, status=(3,))]
        with open(path("endless"), "wb") as f:
            f.truncate(1 << 40)
        with begin("audit", *at, "--format", "column", "--digest", path("f1.epf"),
                   path("endless")) as audit:
            for _ in range(own.PATIENCE * 10):
                jobs = json.loads(good("-j", "agent", "jobs", *at))
                if jobs and jobs[0]["running"]:
                    break
                signal.sigtimedwait([], 0.1)
            faults.append(says("agent", "jobs", *at))
            faults.append(says("agent", "cancel", str(jobs[0]["job"]), *at))
            if audit.wait(own.PATIENCE) != 2:
                faults.append("the audit was not cancelled")
        faults.append(says("agent", "status", *at))
        return first(faults)
    finally:
        child.kill()
        child.wait()


def faults():
    """Errors and warnings of many kinds."""
    with open(path("batch"), "w") as f:
        f.write("show none\n")
    runs = [("show", "none"), ("plan", "-W", "x"), ("nothing",), (), ("batch", path("batch")),
            ("show", "--file", path("none")), ("test", "f1", ""), ("--frob",),
            ("agent", "status", "--agent", path("none"))]
    for args in runs:
        why = own.errors(epf("-j", *args).stderr)
        fault = check("error", why[0]) if why else f"{args}: no error"
        if fault:
            return fault
    done = epf("-j", "plan", "--window", "100", "--rate", "1M")
    return first(check("warning", w) for w in own.errors(done.stderr)) if done.stderr else \
        "no warning"


def all_checked():
    lacks = {n for n in OPEN["$defs"] if n in
             {line.split()[0] for line in good("--help").splitlines()
              if line.startswith("  ") and line[2] not in " -"}} - checked
    return f"never checked: {lacks}" if lacks else None


CASES = [
    ("the schema is one, and has every verb that prints JSON", itself),
    ("sizes, versions", sizes),
    ("filters and snapshots", filters),
    ("answers", answers),
    ("audits", audits),
    ("events", watches),
    ("interfaces, hooks and pins", packets),
    ("what files declare", declared),
    ("flows of a log", flows),
    ("captures, and what doctor says", captures),
    ("the agent", agents),
    ("errors and warnings", faults),
    ("every verb was checked", all_checked),
]


def run(folder):
    global dir
    dir = folder
    return tap.run(CASES)


if __name__ == "__main__":
    raise SystemExit(own.main(run))
