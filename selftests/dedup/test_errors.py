#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0
"""epfctl dedup when something is wrong: exit status 2, one line that names the file or
option, no output file, no temporary file, and existing files untouched.
"""

import functools
import gzip
import os
import resource
import shutil
import signal
import stat
import subprocess
import time

import pcap
import tap
import tool
from tap import Skip

BOX = tool.tmp("box")
NOBODY = 65534


def capture(link=pcap.EN10MB, count=2000):
    return pcap.Capture((pcap.Packet(i * 1000, b"%060d" % (i // 2))
                         for i in range(count)), link)


def fresh_box():
    """Make an empty folder that anybody may write to, with one valid capture."""
    shutil.rmtree(BOX, ignore_errors=True)
    os.mkdir(BOX)
    os.chmod(BOX, 0o777)
    os.chmod(tool.folder(), 0o755)
    capture().save(box("in.pcap"))


def box(name):
    return os.path.join(BOX, name)


def put(name, data):
    with open(box(name), "wb") as f:
        f.write(data)
    return box(name)


def get(name):
    with open(box(name), "rb") as f:
        return f.read()


def refused(run, left, *words, status=2):
    """@left: contents of the folder before the run."""
    text = run.stderr.decode()
    begin = '{"error":"' if "-j" in run.args else "error: "
    if run.returncode != status:
        return f"exit status {run.returncode}: {text}"
    if text.count("\n") != 1 or not text.startswith(begin):
        return f"not one line of error: {text!r}"
    missing = [w for w in words if w not in text]
    if missing:
        return f"{missing} is not in {text!r}"
    if sorted(os.listdir(BOX)) != left:
        return f"left behind: {sorted(os.listdir(BOX))}, before: {left}"
    return None


def bad(args, *words, **how):
    """The command fails, whether OUT is new or exists; an existing OUT is unchanged."""
    left = sorted(os.listdir(BOX))
    fault = refused(tool.epfctl("dedup", *args, **how), left, *words)
    if fault or box("out.pcap") not in args:
        return fault
    put("out.pcap", b"precious")
    left = sorted(os.listdir(BOX))
    fault = refused(tool.epfctl("dedup", *args, **how), left, *words)
    return fault or (None if get("out.pcap") == b"precious" else "overwritten")


def input_case(name, data, *words):
    fresh_box()
    return bad([put(name, data), box("out.pcap")], name, *words)


def whole():
    return capture().save(tool.tmp("whole.pcap")) and \
        open(tool.tmp("whole.pcap"), "rb").read()


def whole_ng():
    return capture().save_ng(tool.tmp("whole.pcapng")) and \
        open(tool.tmp("whole.pcapng"), "rb").read()


def missing_input():
    fresh_box()
    return bad([box("absent.pcap"), box("out.pcap")], "absent.pcap", "No such")


def input_folder():
    fresh_box()
    return bad([BOX, box("out.pcap")], "directory")


def unreadable():
    fresh_box()
    os.chmod(box("in.pcap"), 0)
    return bad([box("in.pcap"), box("out.pcap")], "in.pcap", "denied",
               **as_nobody())


def as_nobody():
    """Run as an ordinary user, with a copy of the tool that this user can reach."""
    if os.geteuid():
        return {}
    copy = tool.tmp("epfctl")
    shutil.copy(tool.EPFCTL, copy)
    os.chmod(copy, 0o755)
    return {"user": NOBODY, "group": NOBODY, "extra_groups": [],
            "executable": copy, "cwd": "/"}


def unprivileged():
    fresh_box()
    run = tool.epfctl("dedup", box("in.pcap"), box("out.pcap"), **as_nobody())
    if run.returncode:
        return run.stderr.decode()
    return None if len(pcap.load(box("out.pcap")).packets) == 1000 else "wrong"


def file_modes():
    """A new file gets the mode of the umask; an existing one keeps its mode."""
    fresh_box()
    for before, want in (None, 0o640), (0o600, 0o600):
        if before:
            os.chmod(put("out.pcap", b""), before)
        tool.epfctl("dedup", box("in.pcap"), box("out.pcap"), umask=0o027)
        mode = stat.S_IMODE(os.stat(box("out.pcap")).st_mode)
        if mode != want:
            return f"{mode:o}, not {want:o}"
        os.unlink(box("out.pcap"))
    return None


def truncated(data, name):
    """Cut the input at any byte: an error, or with --keep-going the packets before."""
    full = pcap.load(box("in.pcap")).packets
    for cut in (len(data) - 1, len(data) // 2, len(data) // 2 + 7, 300):
        if name.endswith("pcap") and (cut - 24) % 76 == 0:
            continue
        fault = input_case(name, data[:cut], "damaged after packet",
                           "--keep-going")
        if fault:
            return f"cut at {cut}: {fault}"
        run = tool.epfctl("dedup", "--keep-going", box(name), box("out.pcap"))
        if run.returncode or b"damaged after packet" not in run.stderr:
            return f"cut at {cut}, --keep-going: {run}"
        got = pcap.load(box("out.pcap")).packets
        if not got or got != full[:2 * len(got):2]:
            return f"cut at {cut}: {len(got)} packets kept, or others"
    return None


def truncated_pcap():
    fresh_box()
    return truncated(whole(), "cut.pcap")


def truncated_pcapng():
    fresh_box()
    return truncated(whole_ng(), "cut.pcapng")


def damaged_length():
    """A record that claims 2 GiB."""
    data = bytearray(whole())
    data[24 + 76 * 10 + 8:24 + 76 * 10 + 12] = b"\xff\xff\xff\x7f"
    return input_case("bad.pcap", bytes(data), "damaged after packet 10")


def link_type(key, link, name):
    fresh_box()
    capture(link).save(box("odd.pcap"))
    fault = bad(["--key", key, box("odd.pcap"), box("out.pcap")],
                f"link type {link}", name, "--key frame")
    if fault:
        return fault
    run = tool.epfctl("dedup", box("odd.pcap"), box("out.pcap"))
    return run.stderr.decode() if run.returncode else None


def output_folder_absent():
    fresh_box()
    return bad([box("in.pcap"), box("absent/out.pcap")], "absent/out.pcap",
               "No such")


def output_is_folder():
    fresh_box()
    os.mkdir(box("folder"))
    return bad([box("in.pcap"), box("folder")], "folder", "directory")


def output_folder_closed():
    fresh_box()
    how = as_nobody()
    os.chmod(BOX, 0o555)
    return bad([box("in.pcap"), box("new.pcap")], "new.pcap", "denied", **how)


def output_read_only():
    fresh_box()
    os.chmod(put("kept.pcap", b"precious"), 0o444)
    fault = bad([box("in.pcap"), box("kept.pcap")], "kept.pcap", "denied",
                **as_nobody())
    return fault or (None if get("kept.pcap") == b"precious" else "gone")


def dev_full():
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full")
    fresh_box()
    return bad([box("in.pcap"), "/dev/full"], "/dev/full", "No space") or \
        bad(["--removed", "/dev/full", box("in.pcap"), box("out.pcap")],
            "/dev/full", "No space")


def dev_null():
    """The target is written to, not replaced."""
    fresh_box()
    run = tool.epfctl("dedup", box("in.pcap"), "/dev/null")
    if run.returncode:
        return run.stderr.decode()
    return None if stat.S_ISCHR(os.stat("/dev/null").st_mode) else "replaced"


def disk_full(limit):
    """Reach the limit on file size, in the middle and at the very end."""
    def set_limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    fresh_box()
    capture(count=60000).save(box("in.pcap"))
    return bad([box("in.pcap"), box("out.pcap")], "out.pcap", "large",
               preexec_fn=set_limit)


def same_file():
    fresh_box()
    before = get("in.pcap")
    os.symlink("in.pcap", box("symlink.pcap"))
    os.link(box("in.pcap"), box("hardlink.pcap"))
    for name in "in.pcap", "symlink.pcap", "hardlink.pcap":
        for args in ([box("in.pcap"), box(name)],
                     ["--removed", box(name), box("in.pcap"), box("new")]):
            fault = bad(args, "in.pcap", "another name")
            if fault:
                return fault
    return None if get("in.pcap") == before else "overwritten"


def same_outputs():
    fresh_box()
    os.mkdir(box("sub"))
    return bad(["--removed", box("sub/../twice"), box("in.pcap"),
                box("twice")], "different names")


def through_symlink():
    """If OUT is a link, its target is replaced and the link stays."""
    fresh_box()
    put("target.pcap", b"")
    os.symlink("target.pcap", box("link.pcap"))
    run = tool.epfctl("dedup", box("in.pcap"), box("link.pcap"))
    if run.returncode or not os.path.islink(box("link.pcap")):
        return f"{run}"
    return None if len(pcap.load(box("target.pcap")).packets) == 1000 \
        else "not there"


def option_case(words, *args):
    fresh_box()
    return bad([*args, box("in.pcap"), box("out.pcap")], *words)


def huge_on_pipe():
    """The size of a file bounds the window; a pipe has no size."""
    fresh_box()
    with open(box("in.pcap"), "rb") as f:
        data = f.read()
    return bad(["-D", "99999999999", "-", box("out.pcap")], "1e+11",
               input=data)


def interrupted(number):
    """A signal arrives while the tool waits for more input from a pipe: the outputs have what came
    before it.
    """
    fresh_box()
    left = sorted(os.listdir(BOX))
    run = subprocess.Popen([tool.EPFCTL, "dedup", "--removed", box("rm.pcap"),
                            "-", box("out.pcap")], stdin=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    run.stdin.write(whole()[:100000])
    run.stdin.flush()
    for _ in range(6000):
        if len(os.listdir(BOX)) == len(left) + 2:
            break
        time.sleep(.05)
    else:
        return "no temporary files appear"
    time.sleep(.1)
    run.send_signal(number)
    try:
        run.stderr_text = run.communicate(timeout=300)[1]
    except subprocess.TimeoutExpired:
        run.kill()
        return "it does not stop"
    done = subprocess.CompletedProcess([], run.returncode, b"",
                                       run.stderr_text)
    kept, repeats = pcap.load(box("out.pcap")).packets, pcap.load(box("rm.pcap")).packets
    want = pcap.load(box("in.pcap")).packets[:(100000 - 24) // 76]
    if kept != want[::2] or repeats != want[1::2]:
        return f"{len(kept)} and {len(repeats)} of {len(want)} packets"
    return refused(done, sorted(left + ["out.pcap", "rm.pcap"]), "interrupted after packet 1315", "out.pcap",
                   status=128 + number)


def interrupted_file():
    """A signal while a file is read leaves nothing, since it can be read again."""
    fresh_box()
    left = sorted(os.listdir(BOX))
    # the output is a pipe that nobody reads: the tool waits in the middle of the file
    run = subprocess.Popen([tool.EPFCTL, "dedup", "--removed", box("rm.pcap"), put_twice(), "-"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(6000):
        if len(os.listdir(BOX)) == len(left) + 1:
            break
        time.sleep(.05)
    time.sleep(.3)
    run.send_signal(signal.SIGTERM)
    run.wait(timeout=300)
    done = subprocess.CompletedProcess([], run.returncode, b"", run.stderr.read())
    return refused(done, left, "interrupted: - is not written", status=128 + signal.SIGTERM)


def put_twice():
    """A capture without repeats that is longer than a pipe and a buffer hold."""
    path = tool.tmp("long.pcap")
    return pcap.Capture([pcap.Packet(i * 1000, b"%0600d" % i) for i in range(4000)]).save(path)


def cut_pipe():
    """A pipe that ends inside a packet: an error, and the outputs have what came before."""
    for name, data in ("pcap", whole()), ("pcapng", whole_ng()):
        for packed in (lambda d: d), gzip.compress:
            fresh_box()
            left = sorted(os.listdir(BOX))
            cut = packed(data)[:-30] if packed is gzip.compress else data[:-5]
            run = tool.epfctl("dedup", "-", box("out.pcap"), input=cut)
            kept = pcap.load(box("out.pcap")).packets
            if not kept or kept != pcap.load(box("in.pcap")).packets[:2 * len(kept):2]:
                return f"{name}: {len(kept)} packets"
            if packed is not gzip.compress and len(kept) != 1000:
                return f"{name}: {len(kept)} packets"
            fault = refused(run, sorted(left + ["out.pcap"]), "damaged after packet", "what came before")
            if fault:
                return f"{name}: {fault}"
    return None


def broken_pipe():
    """The reader of its output is gone: an error, and no file is left."""
    fresh_box()
    capture(count=60000).save(box("in.pcap"))
    left = sorted(os.listdir(BOX))
    read, write = os.pipe()
    os.close(read)
    run = subprocess.run([tool.EPFCTL, "dedup", "--removed", box("rm.pcap"),
                          box("in.pcap"), "-"], stdout=write,
                         stderr=subprocess.PIPE, check=False)
    os.close(write)
    return refused(run, left, "pipe")


OPTIONS = [  # text of the error, options
    (("-D", "at least 1"), "-D", "0"),
    (("-D", "-1"), "-D", "-1"),
    (("-D", "many"), "-D", "many"),
    (("-D", "not whole"), "-D", "1.5"),
    (("-D", "too large"), "-D", "99999999999999999999"),
    (("-w",), "-w", "0"),
    (("-w", "soon"), "-w", "soon"),
    (("-D and -w",), "-D", "5", "-w", "5"),
    (("--rate", "-w"), "--rate", "5"),
    (("--rate",), "-w", "1", "--rate", "0"),
    (("--budget",), "--budget", "0"),
    (("--budget", "1e-9"), "--budget", "1e-10"),
    (("--budget",), "--budget", "0.7"),
    (("--memory",), "--memory", "64"),
    (("--memory",), "--memory", "4K"),
    (("--memory",), "-w", "1", "--memory", "4K"),
    (("--key", "mac"), "--key", "mac"),
    (("--key packet",), "--no-mac"),
    (("--key packet",), "--key", "flow", "--no-vlan"),
    (("--key flow",), "--nonip", "frame"),
    (("--nonip", "drop"), "--key", "flow", "--nonip", "drop"),
    (("--bytes",), "--key", "flow", "--bytes", "5"),
    (("--bytes",), "--bytes", "0"),
    (("--action", "mark"), "--action", "mark"),
    (("--removed",), "--action", "count", "--removed", "x"),
    (("--exact", "--filter"), "--exact", "--filter"),
    (("--exact", "--memory", "2000 packets", "192 KiB"),
     "--exact", "--memory", "191K"),
    (("--memory",), "--memory", "16K", "-w", "1s", "--exact"),
    (("--format", "erf"), "--format", "erf"),
    (("--nonsense",), "--nonsense"),
]


def operand_cases():
    fresh_box()
    for args in [], [box("in.pcap")], [box("in.pcap"), box("out.pcap"), "x"]:
        fault = refused(tool.epfctl("dedup", *args),
                        sorted(os.listdir(BOX)), "argument")
        if fault:
            return fault
    return bad(["-j", box("in.pcap"), "-"], "standard output") or \
        bad(["--removed", "-", box("in.pcap"), "-"], "standard output") or \
        bad(["--filter", "-w", "1", "-", box("out.pcap")], "--rate",
            stdin=subprocess.DEVNULL)


def fifo():
    fresh_box()
    capture(count=100).save(box("in.pcap"))
    os.mkfifo(box("fifo"))
    left = sorted(os.listdir(BOX))
    end = os.open(box("fifo"), os.O_RDWR)
    os.write(end, get("in.pcap"))
    run = tool.epfctl("dedup", "--filter", "-w", "1", box("fifo"),
                      box("out.pcap"))
    os.close(end)
    return refused(run, left, "--rate")


def help_text():
    run = tool.epfctl("dedup", "--help")
    return None if run.returncode == 0 and b"--keep-going" in run.stdout \
        else f"{run}"


def cases():
    bind = functools.partial
    out = [
        ("input absent", missing_input),
        ("input is a folder", input_folder),
        ("input may not be read", unreadable),
        ("input empty", bind(input_case, "void.pcap", b"", "empty")),
        ("input is text", bind(input_case, "text.pcap", b"hello, world\n" * 9,
                               "not a readable capture")),
        ("input of three bytes", bind(input_case, "three.pcap", b"\xd4\xc3\xb2",
                                      "not a readable capture")),
        ("input ends in the header", lambda: input_case(
            "head.pcap", whole()[:17], "not a readable capture")),
        ("input is compressed twice", lambda: input_case(
            "zipped.pcap", gzip.compress(gzip.compress(whole())), "compressed twice")),
        ("compressed input is cut off", lambda: input_case(
            "cut.pcap", gzip.compress(whole())[:-9], "cut off")),
        ("input cut off: pcap", truncated_pcap),
        ("input cut off: pcapng", truncated_pcapng),
        ("input with a false length", damaged_length),
        ("output's folder absent", output_folder_absent),
        ("output is a folder", output_is_folder),
        ("output's folder may not be written", output_folder_closed),
        ("output is read-only", output_read_only),
        ("/dev/full", dev_full),
        ("/dev/null is written to", dev_null),
        ("disk full in the middle", bind(disk_full, 1 << 20)),
        ("disk full at the end", bind(disk_full, 24 + 76 * 30000 - 1)),
        ("IN and OUT, or IN and --removed, are one file", same_file),
        ("OUT and --removed are one file", same_outputs),
        ("OUT is a link", through_symlink),
        ("modes of files", file_modes),
        ("operands", operand_cases),
        ("-w on a pipe without --rate", fifo),
        ("-D 99999999999 on a pipe", huge_on_pipe),
        ("ctrl-C", bind(interrupted, signal.SIGINT)),
        ("SIGTERM", bind(interrupted, signal.SIGTERM)),
        ("SIGTERM, of a file", interrupted_file), ("a pipe that is cut off", cut_pipe),
        ("broken pipe", broken_pipe),
        ("unprivileged user", unprivileged),
        ("--help", help_text),
    ]
    for key in "packet", "flow":
        for link, name in (pcap.USER0, "unknown"), (105, "IEEE802_11"), \
                (220, "USB"), (4000, "unknown"):
            out.append((f"--key {key} on link type {link}",
                        bind(link_type, key, link, name)))
    return out + [(" ".join(args), bind(option_case, words, *args))
                  for words, *args in OPTIONS]


if __name__ == "__main__":
    tool.need_epfctl()
    tap.main(tap.chosen(cases()))
