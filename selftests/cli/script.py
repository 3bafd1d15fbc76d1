#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""epfctl in scripts: batches, keys that are streamed, errors as JSON, help, and Ctrl-C.
On filters that are pure BPF.
"""

import json
import os
import random
import resource
import select
import shlex
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import own  # noqa: E402
from own import begin, epf, good, make, tap  # noqa: E402

LINE_MAX = 65536
WORDS_MAX = 4096
NAMES = "abcdefgh"
dir = None


def path(name):
    return os.path.join(dir, name)


def batch(text, *options, at="-"):
    """A batch of a file, or of standard input."""
    if at == "-":
        return epf("batch", *options, "-", input=text)
    with open(path(at), "w", encoding="latin-1") as f:
        f.write(text)
    return epf("batch", *options, path(at))


def line_of(done):
    """The first error is one line, with the place of its command."""
    first = done.stderr.splitlines()[0]
    if not first.startswith("error: "):
        return first
    at = first[len("error: "):].split(": ")[0]
    return at.rsplit(":", 1)[-1]


# Batches

def runs_all():
    text = "# two keys\ncreate b1 --window 1000 --rotate kernel\n\n" \
           "  insert\tb1 'a b' \"c\\\"d\" e\\ f  # not a key\n" \
           "test b1 'a b' 'c\"d' 'e f'\ntest b1 -q \\\n  'a b'\ndestroy b1\n"
    for at in ("-", "commands"):
        done = batch(text, at=at)
        if done.returncode or done.stderr or done.stdout.count(" present age 0\n") != 3:
            return f"{at}: {done}"
    return None


def quotes():
    """Words as the model has them: each becomes a key, and comes back."""
    make("q")
    r = tap.drawn(7)
    letters = "ab '\"\\#\t=$*;~!(){}"
    keys = ["".join(r.choice(letters) for _ in range(r.randrange(1, 9)))
            for _ in range(200)]
    text = ""
    for key in keys:
        way = r.randrange(3)
        if way == 0:
            word = shlex.quote(key)
        elif way == 1:
            word = '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
        else:
            word = "".join("\\" + c for c in key)
        text += f"-j test --insert q -- {word}\n"
    for word, key in (('"a\\b"', "a\\b"), ("'a\\b'", "a\\b"), ("a'b'\"c\"", "abc"),
                      ("a#b", "a#b"), ("x\\\ny", "xy"), ('"x\\\ny"', "xy")):
        text += f"-j test --insert q {word} # a comment\n"
        keys.append(key)
    done = batch(text)
    got = [json.loads(line)["key"] for line in done.stdout.splitlines()]
    good("destroy", "q")
    if done.returncode not in (0, 1) or got != keys:
        return f"{[(w, g) for w, g in zip(keys, got) if w != g][:3]}, {done.stderr}"
    return None


def stops():
    make("s")
    text = "insert s a\nshow nothing\ninsert s b\n"
    done = batch(text, at="stops")
    if done.returncode != 2 or len(done.stderr.splitlines()) != 1 or \
            not done.stderr.startswith(f"error: {path('stops')}:2: there is no filter"):
        return f"{done}"
    if epf("test", "s", "b").returncode != 1:
        return "it went on"
    done = batch(text, "--force")
    if done.returncode != 2 or line_of(done) != "2":
        return f"with --force: {done}"
    good("test", "s", "a", "b")
    good("destroy", "s")
    return None


def answers():
    """'absent' and 'unknown' are answers: the batch goes on, and ends with the most
    important status."""
    make("x")
    good("create", "nobody", "--window", "1000", "--rotate", "process")
    good("insert", "nobody", "k")
    for text, want in (("test x a\nlist --names\n", 1), ("list --names\n", 0),
                       ("test x a\ntest nobody k\n", 3), ("test nobody k\ntest x a\n", 3),
                       ("test x a\nshow none\n", 2)):
        for _ in range(own.PATIENCE * 10):
            done = batch(text)
            if "nobody" not in text or done.returncode == want:
                break
            select.select([], [], [], 0.1)
        if done.returncode != want:
            return f"{text!r}: {done}, wanted {want}"
    good("destroy", "x")
    good("destroy", "nobody")
    return None


def own_options():
    """Options of a command are its own; those of the batch are for all."""
    make("o")
    done = batch("-j list --names\nlist --names\nlist -j --names\n--backend module list\n"
                 "list --names\n", "--force")
    if done.stdout != '["o"]\no\n["o"]\no\n' or "\n" in done.stderr[:-1]:
        return f"{done}"
    done = batch("list --names\nshow none\n", "-j", "--force")
    why = own.errors(done.stderr)
    if done.stdout != '["o"]\n' or len(why) != 1 or why[0]["at"] != "standard input:2" or \
            why[0]["verb"] != "show":
        return f"with -j: {done}"
    good("destroy", "o")
    return None


def hostile():
    """Each is one error with its line, and the next line runs."""
    many = "x " * WORDS_MAX
    bad = ["insert h 'a", 'insert h "a', "insert h a\0b", "# a\0b", "x" * (LINE_MAX + 1),
           "test h " + many + "x x", "insert h '" + "x" * LINE_MAX + "'",
           "batch /dev/null", "batch -", "help batch extra", "insert h -", "\xff\x1b[2J",
           "--frob list", "list --frob", "show", "''", "insert h ''"]
    make("h")
    for line in bad:
        done = batch(f"\n{line}\ninsert h after\n", "--force")
        text = done.stderr
        if done.returncode != 2 or line_of(done) != "2" or text.count("\n") != 1 or \
                any(ord(c) < 32 and c != "\n" for c in text):
            return f"{line[:40]!r}: {done.returncode} {text[:200]!r}"
        if epf("test", "h", "after").returncode:
            return f"{line[:40]!r}: the next line did not run"
        good("clear", "h")
    for end in ("insert h \\", "insert h 'a"):
        if line_of(batch(f"list --names\n{end}")) != "2":
            return f"a file that ends with {end!r}"
    longest = "insert h " + " ".join("x" * 250 for _ in range(200))
    if batch(longest + "\n").returncode or batch("test h " + many[:8000]).returncode != 1:
        return "a long line that is allowed"
    good("destroy", "h")
    if batch("").returncode or batch("\n#\n \\\n\n").returncode:
        return "a batch of nothing"
    done = epf("batch", path("none"))
    return None if done.returncode == 2 and "No such file" in done.stderr else f"{done}"


def rubbish():
    """Any bytes: no crash, and no message of more than one line for each line."""
    r = tap.drawn(8)
    for _ in range(60):
        text = "".join(r.choice("ab'\"\\# \n\t\0-jtest list\x7f\xff") for _ in range(300))
        done = batch(text, "--force")
        if done.returncode not in (0, 1, 2, 3) or \
                done.stderr.count("\n") > text.count("\n") + 1:
            return f"{text!r}: {done}"
    return None


def bounded():
    """A thousand commands, and each verb many times, with few descriptors."""
    make("d")
    good("save", "d", path("d.epf"))
    round = f"insert d a b\ntest d a\nshow d\nlist\nsave d {path('d2.epf')}\n" \
            f"show --file {path('d.epf')}\nshow none\nrotate d\nmetrics\nplan -W 1\n"
    few = (48, 48)
    done = subprocess.run(own.command("batch", "--force", "-"), input=round * 100,
                          capture_output=True, text=True, preexec_fn=lambda:
                          resource.setrlimit(resource.RLIMIT_NOFILE, few))
    good("destroy", "d")
    if done.returncode != 2 or done.stderr.count("\n") != 100 or \
            done.stderr.count("there is no filter 'none'") != 100:
        return f"{done.returncode}: {done.stderr[-300:]}"
    return None


def help_within():
    done = batch("help test\ntest --help\n--help\nlist -h\n")
    return None if not done.returncode and not done.stderr and \
        done.stdout.count("usage: epfctl test") == 2 and "verbs:" in done.stdout and \
        "usage: epfctl list" in done.stdout else f"{done}"


# Keys that are streamed

def replies(child, lines):
    """What it answers while its input stays open."""
    child.stdin.write(lines)
    child.stdin.flush()
    got = b""
    while got.count(b"\n") < lines.count("\n"):
        if not select.select([child.stdout], [], [], own.PATIENCE)[0]:
            raise AssertionError(f"no answer to {lines!r}, after {got}")
        got += os.read(child.stdout.fileno(), 65536)
    return got.decode().splitlines()


def streams():
    """Each answer comes before the next key, in every format."""
    make("t")
    good("insert", "t", "yes")
    digest = format(0x1234, "016x")
    cases = ((("test", "t", "-"), "yes", "no"),
             (("test", "t", "--format", "hex", "-"), "yes".encode().hex(), "00ff"),
             (("test", "t", "--format", "json", "-"), '{"key": "yes"}', '"no"'),
             (("-j", "test", "t", "-"), "yes", "no"),
             (("test", "t", "--insert", "-"), "yes", "no"),
             (("test", "t", "--digest", "-"), None, digest))
    for args, yes, no in cases:
        with begin(*args, bufsize=1) as child:
            for _ in range(3):
                if yes and "true" not in (said := replies(child, yes + "\n")[0]) and \
                        " present" not in said:
                    return f"{args}: {said!r}"
                said = replies(child, no + "\n")[0]
                if "--insert" not in args and "absent" not in said and "false" not in said:
                    return f"{args}: {said!r}"
            if len(replies(child, (no + "\n") * 5)) != 5:
                return f"{args}: not five"
            child.stdin.close()
            if child.wait(own.PATIENCE) not in (0, 1) or child.stderr.read():
                return f"{args}: its end"
    good("destroy", "t")
    return None


def inserts_streamed():
    """A key is there before the next line comes."""
    make("i")
    with begin("insert", "i", "-", bufsize=1) as child:
        for key in ("k1", "k2"):
            child.stdin.write(key + "\n")
            child.stdin.flush()
            for _ in range(own.PATIENCE * 10):
                if not epf("test", "i", key).returncode:
                    break
                select.select([], [], [], 0.1)
            else:
                return f"{key} is not there"
        child.stdin.close()
        status = child.wait(own.PATIENCE)
    good("destroy", "i")
    return None if not status else f"exit status {status}"


def in_blocks():
    """Keys from a file are answered in few writes: each is a message here."""
    nr = 100000
    make("m")
    with open(path("many"), "w") as f:
        f.writelines(f"{i}\n" for i in range(nr))
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with open(path("many")) as keys, \
            subprocess.Popen(own.command("test", "m", "-"), stdin=keys, stdout=theirs):
        theirs.close()
        messages = list(iter(lambda: ours.recv(1 << 20), b""))
    ours.close()
    good("destroy", "m")
    answers = sum(m.count(b"\n") for m in messages)
    return None if answers == nr and len(messages) * 100 < nr else \
        f"{answers} answers in {len(messages)} writes"


# Errors, help

def json_errors():
    cases = ((("show", "none"), "ENOENT", "show", 2), (("frobnicate",), None, None, 2),
             (("plan", "-W", "ten"), None, "plan", 2),
             (("show", "--file", path("none")), "ENOENT", "show", 2),
             (("batch", path("none")), "ENOENT", "batch", 2),
             (("test", "none", "x"), "ENOENT", "test", 2))
    for args, errno, verb, status in cases:
        for option in ("-j", "-p"):
            done = epf(option, *args)
            why = own.errors(done.stderr)
            if done.stdout or len(why) != 1 or done.returncode != status or \
                    (why[0].get("errno"), why[0].get("verb"), why[0]["status"]) != \
                    (errno, verb, status) or not why[0]["error"]:
                return f"{option} {args}: {done}"
    good("create", "u", "--window", "1000", "--rotate", "process")
    good("insert", "u", "k")
    for _ in range(own.PATIENCE * 10):
        done = epf("-j", "test", "u", "k")
        if done.returncode == 3:
            break
        select.select([], [], [], 0.1)
    good("destroy", "u")
    if done.returncode != 3 or own.errors(done.stderr)[0]["status"] != 3:
        return f"not known: {done}"
    return None


def version():
    told = json.loads(good("-j", "--version"))
    return None if told["json"] == 1 and good("--version") == f"epfctl {told['version']}\n" \
        else f"{told}"


def helps():
    """help VERB is VERB --help, for every verb."""
    verbs = [line.split()[0] for line in good("--help").splitlines()
             if line.startswith("  ") and not line.lstrip().startswith("-")
             and line[2] != " "]
    if len(verbs) < 25 or "batch" not in verbs or "agent" not in verbs:
        return f"verbs {verbs}"
    for verb in verbs:
        if good("help", verb) != good(verb, "--help") or \
                not good("help", verb).startswith(f"usage: epfctl {verb}"):
            return f"help {verb}"
    # two edits anywhere are mended, three are not
    for wrong, near in (("bacth", "batch"), ("tset", "test"), ("agnet", "agent"),
                        ("mtrcs", "metrics"), ("abmetrics", "metrics"), ("metricsab", "metrics"),
                        ("xetricx", "metrics"), ("metricsabc", None), ("abcmetrics", None),
                        ("mtrc", None), ("xetrixx", None), ("x" * 99, None)):
        want = f"did you mean '{near}'" if near else "'epfctl --help' lists them"
        for args in ((wrong,), ("help", wrong)):
            done = epf(*args)
            if done.returncode != 2 or want not in done.stderr:
                return f"{args}: {done}"
    return None


# Ctrl-C

def interrupt(args, ready, number=signal.SIGINT, feed=""):
    """Status and standard error of a run that gets a signal once ready() or its output
    says that it works."""
    with begin(*args, bufsize=1) as child:
        if feed:
            child.stdin.write(feed)
            child.stdin.flush()
        for _ in range(own.PATIENCE * 20):
            if ready(child):
                break
            select.select([], [], [], 0.05)
        child.send_signal(number)
        status = child.wait(own.PATIENCE)
        return status, child.stderr.read()


def waits(child):
    """It sleeps in a system call, with its signals caught."""
    with open(f"/proc/{child.pid}/status") as f:
        fields = dict(line.split(":", 1) for line in f)
    caught = int(fields["SigCgt"], 16) >> (signal.SIGINT - 1) & 1
    return caught and fields["State"].split()[0] == "S"


def ends_with_130():
    make("c")
    good("create", "held", "--window", "1000", "--rotate", "process")
    runs = {"watch": ["watch", "c"], "test -": ["test", "c", "-"],
            "insert -": ["insert", "c", "-"], "hold": ["hold", "held"],
            "batch -": ["batch", "-"], "watch in a batch": ["batch", path("b")],
            "test as JSON": ["-j", "test", "c", "-"],
            "audit": ["audit", "--no-agent", "--format", "csv", "--bitmap", path("bits"),
                      "c", "-"]}
    with open(path("b"), "w") as f:
        f.write("watch c\ninsert c after\n")
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143),
                           (signal.SIGHUP, 129)):
        for name, args in runs.items():
            if number != signal.SIGINT and name not in ("watch", "batch -"):
                continue
            got, err = interrupt(args, waits, number)
            if got != status:
                return f"{name}: exit status {got}, {err!r}"
            if "-j" in args and own.errors(err)[0]["status"] != status:
                return f"{name}: {err!r}"
    left = sorted(set(os.listdir(dir)) - {"b"} - known)
    if left:
        return f"files left: {left}"
    if epf("test", "c", "after").returncode != 1:
        return "the batch went on"
    good("destroy", "c")
    good("destroy", "held", "--force")
    return None


def no_partial_file():
    """save, dedup and audit, killed by SIGINT in the middle of their work."""
    good("create", "big", "--window", "30M", "--rotate", "kernel")
    for _ in range(5):
        with begin("save", "big", path("big.epf")) as child:
            select.select([], [], [], 0.02 * random.random())
            child.send_signal(signal.SIGINT)
            status = child.wait(own.PATIENCE)
        left = [n for n in os.listdir(dir) if n.startswith("big.epf") or n.startswith(".")]
        if status in (130, -signal.SIGINT) and left:
            return f"save: {status}, left {left}"
        if status == 0 and left != ["big.epf"]:
            return f"save: {status}, left {left}"
        if status not in (0, 130, -signal.SIGINT):
            return f"save: {status}"
        if left:
            os.unlink(path("big.epf"))
    good("destroy", "big")
    return None


CASES = [
    ("a batch runs its commands, of a file and of standard input", runs_all),
    ("quotes give each key as it is", quotes),
    ("a batch stops at the first error, and goes on with --force", stops),
    ("absent and unknown do not stop a batch, and give its status", answers),
    ("options of a command end with it", own_options),
    ("bad lines are one error each", hostile),
    ("random bytes as a batch", rubbish),
    ("a thousand commands keep no descriptor", bounded),
    ("help within a batch", help_within),
    ("keys are answered as they come, in every format", streams),
    ("keys are inserted as they come", inserts_streamed),
    ("many keys from a file", in_blocks),
    ("errors as JSON have errno, verb and status", json_errors),
    ("the version as JSON", version),
    ("help VERB is VERB --help, and errors of spelling are mended", helps),
    ("Ctrl-C ends each verb that waits with 130", ends_with_130),
    ("Ctrl-C leaves no partial file", no_partial_file),
]
known = {"commands", "stops", "d.epf", "d2.epf", "many"}


def run(folder):
    global dir
    dir = folder
    names = set(sys.argv[1:])
    return tap.run([c for c in CASES if not names or c[0] in names])


if __name__ == "__main__":
    raise SystemExit(own.main(run))
