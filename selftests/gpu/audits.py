#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Audits by engine cuda, from end to end: epfctl and epfagent give the expected bytes
whichever call to the card fails, and report in one line what failed.

They use an emulated card; if EPF_GPU_CARD is the path of libepf_cuda.so, that of the
machine, without the cases in which the card must fail.
"""

import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../agent"))

import agent as a  # noqa: E402
import tap  # noqa: E402

KEYS = 5003
CALLS_MAX = 400
CARD = os.environ.get("EPF_GPU_CARD",
                      os.path.join(a.BUILD, "cuda/libepf_cuda_emu.so"))
EMULATED = "_emu" in os.path.basename(CARD)
WRONG = os.path.join(a.BUILD, "selftests/gpu/wrong.so")
BUFFER = {"EPF_CUDA_BUFFER": "32768"}  # one buffer and a part of another
files = None


def audit(*args, keys="digests", engine="cuda", env=None, library=CARD):
    """Return the finished process of epfctl, and its report if there is one."""
    form = ["--key-len", "12"] if keys == "column" else \
        ["--format", "column", "--digests"]
    for name in ("bitmap.out", "ages.out"):
        if os.path.exists(files.path(name)):
            os.unlink(files.path(name))
    out = subprocess.run(
        [a.EPFCTL, "-j", "audit", "--no-agent", *form, "--engine", engine,
         "--bitmap", files.path("bitmap.out"), "--ages",
         files.path("ages.out"), *args, files.path("snap"), files.path(keys)],
        capture_output=True, timeout=a.PATIENCE,
        env={**os.environ, "EPF_CUDA_LIBRARY": library, **BUFFER, **(env or {})})
    return out, json.loads(out.stdout) if out.returncode == 0 else None


def whole(out, report, fell):
    """Check an audit that should have succeeded. Return None, or what is wrong."""
    lines = out.stderr.count(b"\n")
    if out.returncode or lines != fell:
        return f"exit {out.returncode}, said {out.stderr}"
    work = report["work"]
    if work["fallen_back"] != fell or (work["engine"] == "cuda") == fell:
        return f"work {work}"
    if fell and (b"continuing with" not in out.stderr or "continuing with" not in work["why"]):
        return f"said {out.stderr}, why {work['why']}"
    if not os.path.exists(files.path("bitmap.out")):
        return "no bitmap"
    return files.answered()


def refused(out, *words):
    """Check that there is one line with all the words, and no output file."""
    text = out.stderr.decode()
    if out.returncode != 2 or text.count("\n") != 1 or \
            not all(w in text for w in words) or \
            os.path.exists(files.path("bitmap.out")):
        return f"exit {out.returncode}, said {text!r}"
    return None


def as_scalar():
    for keys in ("digests", "column"):
        for env in ({}, {"EPF_CUDA_BUFFER": "512"}, {"EPF_CUDA_BUFFER": ""},
                    {"EPF_EMU_SEED": "9"}):
            out, got = audit(keys=keys, env=env)
            fault = whole(out, got, False)
            if fault:
                return f"{keys}, {env}: {fault}"
            _, want = audit(keys=keys, engine="scalar", library="")
            for member in ("keys", "present", "ages", "bitmap_xxh3"):
                if got[member] != want[member]:
                    return f"{keys}, {env}: {member}"
    return None


def records():
    """Batches of records are many small queries of one view."""
    out = subprocess.run(
        [a.EPFCTL, "-j", "audit", "--no-agent", "--engine", "cuda", "--format", "csv", "--header",
         "--fields", "key", "--bitmap", files.path("bitmap.out"),
         files.path("snap"), files.path("keys.csv")], capture_output=True,
        env={**os.environ, "EPF_CUDA_LIBRARY": CARD})
    report = json.loads(out.stdout)
    if report["work"]["gpu"]["uploads"] != 1:
        return f"{report['work']}"
    return whole(out, report, False)


def each_call(name, step, least, **env):
    """The Nth call fails, for every N. Some calls do not matter, such as a hint to the
    card, so their failure does not end the loop.
"""
    fell = well = 0
    for n in range(1, CALLS_MAX, step):
        out, report = audit(env={name: str(n), **env})
        if out.returncode and (b"no GPU" in out.stderr or
                               b"the GPU cannot be used" in out.stderr):
            fault = refused(out, "engine cuda", "leave out --engine")
        elif report and report["work"]["engine"] == "cuda":
            fault = whole(out, report, False)
            well += 1
            if not fault and well * step > 20:
                return f"only {fell} fell" if fell < least else None
        else:
            fell += 1
            well = 0
            fault = whole(out, report, True)
        if fault:
            return f"{name}={n}: {fault}"
    return "there is no end to calls"


def little_memory():
    out, report = audit(env={"EPF_EMU_MEMORY": "1000"})
    if b"out of memory" not in out.stderr:
        return f"said {out.stderr}"
    return whole(out, report, True)


def no_card():
    env = {"EPF_EMU_DEVICES": "0"}
    out, _ = audit(env=env)
    fault = refused(out, "engine cuda", "no CUDA-capable device",
                    "leave out --engine")
    if fault:
        return fault
    out, report = audit(engine="auto", env=env)
    return f"said {out.stderr}" if out.returncode or out.stderr else \
        files.answered()


def other_version():
    out, _ = audit(library=WRONG)
    return refused(out, "another version", "install both")


def no_library():
    out, _ = audit(library="/nonexistent.so")
    return refused(out, "/nonexistent.so", "leave out --engine")


def probing():
    out, report = audit("--probe", "20000")
    if out.returncode or out.stderr or report["asked"]["met"]["keys"] != 20000:
        return f"{out}"
    return files.answered()


def lost_probing():
    out, report = audit("--probe", "20000", env={"EPF_EMU_LOST": "60"})
    if out.returncode or not out.stderr:
        return f"{out}"
    return files.answered()


def doctor():
    def line(**env):
        out = subprocess.run([a.EPFCTL, "-j", "doctor"], capture_output=True,
                             env={**os.environ, **env})
        report = json.loads(out.stdout)
        return next(c for c in report["checks"] if c["check"] == "GPU")
    there = line(EPF_CUDA_LIBRARY=CARD)
    if not there["ok"] or ("emulated card" in there["state"]) != EMULATED:
        return f"{there}"
    if not EMULATED:
        return None
    away = line(EPF_CUDA_LIBRARY=CARD, EPF_EMU_DEVICES="0")
    return f"{away}" if away["ok"] or "CPU" not in away["remedy"] else None


def ask(agent, engine="cuda"):
    message, fds = files.request("digests", ("bitmap", "ages"), engine=engine)
    with a.Client(agent) as c:
        answer = c.audit(message, fds)
    files.close()
    return answer


def warm():
    """Audits of a cached snapshot and cached keys: the lines are copied once, the keys for
    the first audit and once more to stay."""
    with a.Agent(files.dir, env={"EPF_CUDA_LIBRARY": CARD, **BUFFER},
                 name="warm") as agent:
        if "cuda" not in agent.status()["engines"]:
            return f"status {agent.status()}"
        for _ in range(3):
            answer = ask(agent)
            if not answer or "done" not in answer:
                return f"answered {answer}"
            if answer["done"]["engine"] != "cuda" or files.answered():
                return f"{answer['done']}"
        s = agent.status()
        if s["gpu_uploads"] != 1 or s["gpu_reuses"] < 2 or \
                s["gpu_columns"] != 1 or s["gpu_column_asks"] < 2:
            return f"status {s}"
    return None


def lost_by_agent():
    """The card fails during the second audit; all later ones use the CPU."""
    with a.Agent(files.dir, env={"EPF_CUDA_LIBRARY": CARD, **BUFFER,
                                 "EPF_EMU_LOST": "90"}, name="lost") as agent:
        fell = 0
        for _ in range(8):
            answer = ask(agent)
            if "done" not in answer:
                break
            if files.answered():
                return files.answered()
            fell += "fallen" in answer["done"]
        if fell != 1 or "engine cuda" not in answer["error"]:
            return f"fell {fell} times, then {answer}"
        if agent.status()["audits_fallen_back"] != 1:
            return f"status {agent.status()}"
        agent.wait_log(rb"^warning: engine cuda: .* continuing with ")
        out = subprocess.run(
            [a.EPFCTL, "-j", "audit", "--agent", agent.path, "--digests",
             "--format", "column", files.path("snap"), files.path("digests")],
            capture_output=True)
        if out.returncode or out.stderr:
            return f"auto: {out}"
    return None


def fallen_by_agent():
    """The client reports in a line what happened to the agent's card."""
    os.unlink(files.path("ages.out"))
    with a.Agent(files.dir, env={"EPF_CUDA_LIBRARY": CARD,
                                 "EPF_EMU_FAIL": "40", **BUFFER},
                 name="fallen") as agent:
        out = subprocess.run(
            [a.EPFCTL, "-j", "audit", "--agent", agent.path, "--digests",
             "--format", "column", "--engine", "cuda", files.path("snap"),
             files.path("digests"), "--bitmap", files.path("bitmap.out")],
            capture_output=True)
        return whole(out, json.loads(out.stdout), True)


THREE = {"EPF_EMU_DEVICES": "3", "EPF_CUDA_BUFFER": "2048"}


def several():
    """Devices named by an option, and by the environment, give the bytes of one."""
    fault = None
    for args, env, nr in ((("--devices", "all"), {}, 3), (("--devices", "2,0"), {}, 2),
                          ((), {"EPF_CUDA_DEVICES": "all"}, 3),
                          (("--devices", "1"), {"EPF_CUDA_DEVICES": "all"}, 1), ((), {}, 1)):
        out, report = audit(*args, env={**THREE, **env})
        fault = fault or whole(out, report, False)
        if not fault and (report["work"]["gpu"]["devices"], report["work"]["gpu"]["devices_lost"]) != (nr, 0):
            fault = f"{report['work']}"
        if fault:
            return f"{args}, {env}: {fault}"
    return None


def several_refused():
    """Devices that do not exist, no numbers, and what does not go together."""
    faults = [refused(audit(*args, engine=engine, env={**THREE, **env})[0], *words)
              for args, engine, env, words in (
        (("--devices", "0,3"), "cuda", {}, ("there is no device 3: the last is 2", "leave out --engine")),
        (("--devices", "0,0"), "cuda", {}, ("--devices '0,0'", "different numbers")),
        (("--devices", "all"), "scalar", {}, ("--devices goes with --engine cuda",)),
        (("--devices", "all"), "auto", {}, ("--devices goes with --engine cuda",)),
        ((), "cuda", {"EPF_CUDA_DEVICES": "one"}, ("EPF_CUDA_DEVICES is 'one'",)),
        (("--devices", "all"), "cuda", {"EPF_EMU_UNFIT": "46", "EPF_EMU_FAULTY": "2"},
         ("device 2: ", "busy or unavailable")))]
    return "\n".join(filter(None, faults)) or None


def several_lost():
    """One of three devices is lost at some call: one line, the same bytes, the engine stays."""
    lost = 0
    for n in range(1, CALLS_MAX, 7):
        device = str(n % 3)
        out, report = audit("--devices", "all", env={**THREE, "EPF_EMU_LOST": str(n), "EPF_EMU_FAULTY": device})
        if out.returncode:
            fault = refused(out, f"device {device}: ")
        elif not report["work"]["gpu"]["devices_lost"]:
            return whole(out, report, False) or (f"only {lost} were lost" if lost < 3 else None)
        else:
            lost += 1
            fault = files.answered()
            if report["work"]["engine"] != "cuda" or not report["work"]["fallen_back"]:
                fault = f"{report['work']}"
            if out.stderr.count(b"\n") != 1 or f"device {device}: ".encode() not in out.stderr or \
                    b"; the other devices continue" not in out.stderr:
                fault = f"said {out.stderr}"
        if fault:
            return f"EPF_EMU_LOST={n}: {fault}"
    return "there is no end to calls"


def several_by_agent():
    """The agent uses the devices of its environment, and says so."""
    with a.Agent(files.dir, env={"EPF_CUDA_LIBRARY": CARD, **THREE, "EPF_CUDA_DEVICES": "0,2"},
                 name="several") as agent:
        agent.wait_log(rb"GPU: .*the first of 2")
        answer = ask(agent)
        if "done" not in answer or answer["done"]["engine"] != "cuda" or files.answered():
            return f"{answer}"
        s = agent.status()
        out = subprocess.run([a.EPFCTL, "audit", "--agent", agent.path, "--devices", "all", "--engine", "cuda",
                              "--digests", "--format", "column", files.path("snap"), files.path("digests")],
                             capture_output=True)
        if out.returncode != 2 or b"EPF_CUDA_DEVICES in the agent's" not in out.stderr:
            return f"said {out.stderr}"
    return None if (s["gpu_devices"], s["gpu_devices_lost"], s["gpu_uploads"]) == (2, 0, 1) else f"status {s}"


CASES = [
    ("answers are scalar's", as_scalar),
    ("records in batches, of lines that are copied once", records),
    ("a library of another version", other_version),
    ("no library", no_library),
    ("--probe", probing),
    ("doctor tells of the card", doctor),
    ("the agent copies lines once for two audits", warm),
]
FAILING = [
    ("each call fails in turn", lambda: each_call("EPF_EMU_FAIL", 1, 40)),
    ("each third for want of memory, which is then there",
     lambda: each_call("EPF_EMU_FAIL", 3, 0, EPF_EMU_ERROR="2")),
    ("the card is lost at each fourth call",
     lambda: each_call("EPF_EMU_LOST", 4, 10)),
    ("a card with little memory", little_memory),
    ("no card", no_card),
    ("a card that is lost during --probe", lost_probing),
    ("the agent loses its card", lost_by_agent),
    ("and its client says so", fallen_by_agent),
    ("several devices give the bytes of one", several),
    ("devices that cannot be selected are refused with a line", several_refused),
    ("one of several devices is lost, and the others continue", several_lost),
    ("the agent has several devices", several_by_agent),
]


def run(made):
    global files
    files = made
    time.sleep(2.1)  # files that have just changed are not cached
    return tap.run(CASES + (FAILING if EMULATED else []))


if __name__ == "__main__":
    if not os.path.exists(CARD):
        tap.skip_all("no C++ compiler")
    raise SystemExit(a.main(KEYS, run))
