# SPDX-License-Identifier: GPL-2.0
"""A live cluster on this machine: NATS servers on the loopback interface, and hosts, each with an
agent, two pure BPF filters and a BPF file system of its own.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "selftests", d) for d in ("agent", "dedup")]

import agent as a  # noqa: E402
import tap  # noqa: E402

KEY = "00112233445566778899aabbccddeeff"
WINDOW_S = 5
LAG_MS = 1000


def needs():
    """Return why this machine cannot run a cluster, or None."""
    if os.geteuid():
        return "needs root"
    if not shutil.which("nats-server", path=os.environ.get("PATH", "") + ":/usr/sbin"):
        return "no nats-server: scripts/deps.sh test"
    said = subprocess.run(["ldd", a.AGENT], capture_output=True, text=True).stdout
    if "libnats" not in said:
        return "epfagent was built without libnats"
    probe = subprocess.run(["unshare", "--mount", "mount", "-t", "bpf", "bpf", "/sys/fs/bpf"],
                           capture_output=True, text=True)
    return f"no BPF file system: {probe.stderr}" if probe.returncode else None


def write(path, text, mode=0o600):
    with open(path, "w", encoding="utf-8") as f:
        os.fchmod(f.fileno(), mode)
        f.write(text)


class Server:
    """A nats-server with streams in memory."""

    def __init__(self, dir, more=""):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.dir = os.path.join(dir, f"nats{self.port}")
        os.mkdir(self.dir)
        self.path = os.path.join(self.dir, "conf")
        write(self.path, f'server_name: "s{self.port}"\nlisten: "127.0.0.1:{self.port}"\n'
              f'jetstream {{ store_dir: "{self.dir}", max_memory_store: 256MB }}\n{more}\n')
        self.process = None
        self.start()

    def start(self):
        env = {**os.environ, "PATH": os.environ.get("PATH", "") + ":/usr/sbin"}
        self.process = subprocess.Popen(
            ["nats-server", "-c", self.path, "-l", os.path.join(self.dir, "log")], env=env)

        def there():
            with socket.socket() as s:
                return not s.connect_ex(("127.0.0.1", self.port))
        a.poll(there)

    def stop(self, number=signal.SIGKILL):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(a.PATIENCE)

    def log(self):
        with open(os.path.join(self.dir, "log"), encoding="utf-8") as f:
            return f.read()


class Host:
    """A host of a cluster. Its agent is not started."""

    def __init__(self, dir, name, roster, url, more="", key=KEY, window=WINDOW_S):
        self.name, self.agent = name, None
        self.dir = os.path.join(dir, name)
        os.mkdir(self.dir)
        self.space = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c",
             "mount -t bpf bpf /sys/fs/bpf && echo ready && exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.space.stdout.readline() != b"ready\n":
            raise AssertionError("no BPF file system")
        write(self.path("key"), key + "\n")
        self.section = (f"[cluster edge]\nserver = {url}\nhost = {name}\n"
                        f"roster = {' '.join(roster)}\nfilter = local\nall = all\n"
                        f"lag = {LAG_MS}ms\nstream-bytes = 64MiB\n{more}\n")
        self.configure(self.section)
        for filter in ("local", "all"):
            self.epfctl("create", filter, "--time", f"{window}s", "--rate", "10k", "--budget", "1e-6",
                        "--key-file", self.path("key"))

    def path(self, name):
        return os.path.join(self.dir, name)

    def configure(self, section):
        write(self.path("agent.conf"), section)

    def inside(self, *args):
        return ["nsenter", f"--mount=/proc/{self.space.pid}/ns/mnt", *args]

    def epfctl(self, *args, status=0):
        done = subprocess.run(self.inside(a.EPFCTL, *args), capture_output=True, text=True,
                              env={**os.environ, "EPF_BACKEND": "bpf"}, timeout=a.PATIENCE)
        if status is not None and done.returncode != status:
            raise AssertionError(f"{self.name}: {args}: {done}")
        return done

    def start(self, env=None):
        """@env: variables of the agent."""
        self.log = open(self.path("log"), "w+b")
        self.agent = subprocess.Popen(
            self.inside(a.AGENT, "--config", self.path("agent.conf"), "--socket", self.path("sock")),
            stderr=self.log, env={**os.environ, "EPF_BACKEND": "bpf", **(env or {})})
        a.poll(lambda: b"\nepfagent " in b"\n" + self.said())

    def said(self):
        return os.pread(self.log.fileno(), 1 << 20, 0)

    def send(self, number):
        self.agent.send_signal(number)

    def stop(self, number=signal.SIGTERM):
        """Return its exit status."""
        if not self.agent or self.agent.poll() is not None:
            return None
        self.agent.send_signal(number)
        if number != signal.SIGKILL:
            self.agent.send_signal(signal.SIGCONT)
        return self.agent.wait(a.PATIENCE)

    def reload(self):
        before = self.said().count(b"settings")
        self.agent.send_signal(signal.SIGHUP)
        a.poll(lambda: self.said().count(b"settings") > before)

    def ask(self):
        """Return (exit status, the cluster as epfctl tells it, or None)."""
        done = self.epfctl("-j", "cluster", "status", "edge", "--agent", self.path("sock"),
                           status=None)
        return done.returncode, json.loads(done.stdout)[0] if done.stdout else None

    def peer(self, name):
        cluster = self.ask()[1]
        return next((h for h in (cluster or {"hosts": []})["hosts"] if h["host"] == name), None)

    def covered(self):
        return self.ask()[0] == 0

    def insert(self, *keys):
        self.epfctl("insert", "local", *keys)

    def has(self, key):
        """Is the key in the filter of all?"""
        return self.epfctl("test", "all", key, status=None).returncode == 0

    def promise_ns(self):
        """The word of the cover map."""
        raw = subprocess.run(self.inside("bpftool", "-j", "map", "dump", "pinned",
                                         "/sys/fs/bpf/epochfilter-cluster/edge"),
                             capture_output=True, text=True, check=True).stdout
        value = bytes(int(b, 16) for b in json.loads(raw)[0]["value"])
        return int.from_bytes(value[8:16], "little")

    def end(self):
        self.stop(signal.SIGKILL)
        self.space.stdin.close()
        self.space.wait(a.PATIENCE)
