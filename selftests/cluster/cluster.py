# SPDX-License-Identifier: GPL-2.0
"""A cluster on this machine: hosts, a broker, the oracle of all insertions, and the law
that is checked with every answer.
"""

import atexit
import json
import os
import re
import select
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "dedup"))

import broker  # noqa: E402
import host  # noqa: E402
import lan  # noqa: E402
import raw  # noqa: E402
import tap  # noqa: E402
from exact import Oracle  # noqa: E402

NAME = "test"
CHAOS = "chaos"  # a client that may do anything
EXAMPLE = os.path.join(host.ROOT, "user/cluster/nats-epochfilter.conf")
WINDOW, LAG = 10, 2  # seconds
BROKER = 200  # number of its node
# seconds until a test gives up
PATIENCE = int(os.environ.get("EPF_PATIENCE", 600))


def require():
    """Skip everything unless a cluster can be made here."""
    if os.geteuid():
        tap.skip_all("needs root")
    if not os.path.exists(broker.SERVER):
        tap.skip_all("no nats-server: apt-get install nats-server")
    for tool in "openssl", "ethtool":
        if not shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
            tap.skip_all(f"no {tool}: apt-get install {tool}")
    for path in host.AGENT, host.EPFCTL, host.LIBRARY:
        if not os.path.exists(path):
            tap.skip_all(f"{path} is not built")
    if "libnats" not in lan.run("ldd", host.AGENT).stdout:
        tap.skip_all("epfagent is built without libnats")
    try:
        host.library()
        lan.make()
    except (ImportError, OSError, RuntimeError) as why:
        tap.skip_all(f"no cluster here: {why}")


class Cluster:
    """@size hosts with running agents, until the end of a 'with'. @env: variables of an agent;
    @ahead: seconds that its clocks are ahead, each by number of host; @nkeys: hosts log in by
    them, else by their certificates; @more: settings for the section [cluster], by name."""

    def __init__(self, size, roster=None, window=WINDOW, lag=LAG, env=None, ahead=None,
                 kind=host.Host, rate=20000, nkeys=False, **more):
        self.dir = tempfile.mkdtemp(prefix="epf-cluster-")
        atexit.register(shutil.rmtree, self.dir, ignore_errors=True)
        self.window, self.lag, self.more = window, lag, more
        self.names = [f"h{i}" for i in range(size)]
        self.roster = roster or self.names
        self.oracle = Oracle(window, lag)
        self.random = tap.drawn(size)
        self.env, self.kind, self.rate = env or {}, kind, rate
        self.said = {"present": 0, "absent": 0, "unknown": 0, "foreign": 0}
        self.ahead, self.nkeys = ahead or {}, nkeys
        self.hosts, self.pids, self.next_key = [], {}, 1
        self.node = lan.Node(BROKER, broker.Broker)
        self.authority = broker.Authority(self.dir, self.node.address)
        self._make_hosts()

    def _make_hosts(self):
        with open(os.open(self.path("hash.key"), os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            f.write("000102030405060708090a0b0c0d0e0f\n")
        for i, name in enumerate(self.names):
            node = lan.Node(i, lambda node, name=name: self.kind(node, self.path(name), NAME))
            self.hosts.append(node)
            node.ask("create", *self.shape())
        for i, name in enumerate([*self.roster, CHAOS]):
            self.authority.add(name, f"{lan.NET}.{i + 1}")

    def shape(self):
        return ("-T", f"{self.window}s", "--rate", self.rate, "-b", "1e-9", "--key-file",
                self.path("hash.key"))

    def path(self, name):
        return os.path.join(self.dir, name)

    def __enter__(self):
        try:
            self.start_broker()
            for i in range(len(self.hosts)):
                self.start_agent(i)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error):
        if error[0]:
            self.tell()
        self.close()

    def close(self):
        for node in [*self.hosts, self.node]:
            node.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def tell(self):
        """Print what the agents do and say, all connections, and the last lines of all logs, as
        comments."""
        for i, node in enumerate(self.hosts):
            for line in [*node.ask("threads"), *node.ask("connections")]:
                print(f"# {self.names[i]}: {line}")
            if node.ask("running"):
                print(f"# {self.names[i]}: {json.dumps(self.status(i))}")
        for line in self.node.ask("connections"):
            print(f"# broker: {line}")
        logs = [(n, self.path(f"{n}/agent.log")) for n in self.names]
        for name, path in [*logs, ("broker", self.path("broker.log"))]:
            if os.path.exists(path):
                with open(path, errors="replace") as f:
                    for line in f.read().splitlines()[-12:]:
                        print(f"# {name}: {line}")

    # The broker

    def start_broker(self, **more):
        with open(self.path("broker.conf"), "w") as f:
            f.write(self.broker_settings(**more))
        self.node.ask("start", self.path("broker.conf"), self.path("broker.log"))

    def broker_settings(self, memory="4GB"):
        """The example that is installed, with the hosts and files of this cluster."""
        with open(EXAMPLE) as f:
            text = f.read()
        user = re.search(r"\t\t\{\n.*?\n\t\t\}\n", text, re.S)[0]
        users = [user.replace("h0", name) for name in self.roster]
        users.append(re.sub(r"publish: \[.*?\]", 'publish: ">"', user.replace("h0", CHAOS), flags=re.S))
        text = re.sub(r"(users: \[\n).*?(\n\t\]\n)", lambda m: m[1] + self.login("".join(users)) + m[2],
                      text, flags=re.S)
        for old, new in (("/var/lib/nats", self.path("store")), ("2GB", memory), (".edge.", f".{NAME}."),
                         ("epf-edge", f"epf-{NAME}"), ("/etc/nats/server", self.path("broker")),
                         ("/etc/nats/ca.pem", self.path("ca.pem")),
                         ("verify_and_map", "verify" if self.nkeys else "verify_and_map"),
                         ("_INBOX_chaos.>", ">")):
            text = text.replace(old, new)
        return text

    def login(self, users):
        """Hosts are known by their certificates, or by nkeys."""
        if self.nkeys:
            users = re.sub(r'user: "CN=(\w+)"', lambda m: f"nkey: {self.authority.publics[m[1]]}", users)
        return users

    def ask_server(self, node, what, **of):
        """A request to the API of streams of a server. A stream that is not there is deleted."""
        with raw.Connection((node.address, broker.PORT), self.authority.tls(CHAOS)) as line:
            told = line.request(f"$JS.API.STREAM.{what}", json.dumps(of).encode())
        if "error" in told and (told["error"]["code"] != 404 or not what.startswith("DELETE")):
            raise RuntimeError(f"{what}: {told['error']}")

    def make_stream(self, node, **of):
        """One with the settings that agents want, except for @of."""
        ask = {"name": f"epf-{NAME}", "storage": "memory", "discard": "old",
               "max_age": 4 * self.window * 10**9, "max_bytes": 64 << 20, "num_replicas": 1,
               "retention": "limits", "max_consumers": -1, "max_msgs": -1, **of}
        self.ask_server(node, f"CREATE.{ask['name']}", **ask)

    # The agents

    def settings(self, i, **other):
        name = self.names[i]
        local, all = host.filters(i)
        pairs = {
            "server": f"tls://{self.node.address}:{broker.PORT}", "host": name,
            "roster": " ".join(self.roster), "filter": local, "all": all,
            "lag": f"{self.lag}s", "stream-bytes": "64MiB", "tls-ca": self.path("ca.pem"),
            "tls-cert": self.path(f"{name}.pem"), "tls-key": self.path(f"{name}.key"),
            **({"nkey": self.path(f"{name}.nk")} if self.nkeys else {}), **self.more, **other}
        return f"[cluster {NAME}]\n" + "".join(f"{k} = {v}\n" for k, v in pairs.items())

    def start_agent(self, i, **settings):
        """@settings: in place of the usual ones."""
        self.pids[i] = self.hosts[i].ask("start", self.settings(i, **settings), self.env.get(i),
                                         self.ahead.get(i, 0))

    def status(self, i):
        """What the agent of host i says about the cluster."""
        return self.hosts[i].ask("message", {"op": "cluster"})["cluster"]

    # What the hosts do

    def each(self, *args, of=None):
        """Ask all hosts at the same time. Return their answers."""
        hosts = self.hosts if of is None else [self.hosts[i] for i in of]
        for node in hosts:
            node.begin(*args)
        return [node.end() for node in hosts]

    def fresh(self, count):
        self.next_key += count
        return list(range(self.next_key - count, self.next_key))

    def insert(self, counts):
        """Host i inserts counts[i] new keys, all hosts at the same time."""
        for node, count in zip(self.hosts, counts):
            node.begin("insert", self.fresh(count))
        for i, node in enumerate(self.hosts):
            for key, before, after in node.end():
                self.oracle.insert(i, key, before, after)

    def asked(self, i, count):
        """Keys for a query of host i: of others, old enough that it must know them, and such
        as nobody inserted."""
        keys = self.oracle.foreign(i, time.monotonic_ns(), self.window, self.lag)
        return [*self.random.sample(keys, min(count, len(keys))),
                *(self.random.getrandbits(48) | 1 << 60 for _ in range(4))]

    def query(self, count=24):
        """All hosts ask. Return the first fault of their answers."""
        for i, node in enumerate(self.hosts):
            node.begin("query", self.asked(i, count))
        faults = []
        for i, node in enumerate(self.hosts):
            answers = node.end()
            self.count(answers)
            faults += self.oracle.judge(i, answers)
        return faults[0] if faults else None

    def count(self, answers):
        for key, verdict, _, _ in answers:
            self.said[verdict] += 1
            self.said["foreign"] += verdict == "present" and key < 1 << 60

    def round(self, inserts=8):
        """Everyone inserts, then everyone asks. Return a fault."""
        self.insert([self.random.randrange(inserts + 1) for _ in self.hosts])
        fault = self.query()
        self.oracle.forget(time.monotonic_ns())
        return fault

    def go_on(self, until, what="it"):
        """Rounds until it is true. Return a fault of the law, or that it does not happen."""
        end = time.monotonic() + PATIENCE
        while True:
            fault = self.round()
            if fault or until():
                return fault
            if time.monotonic() > end:
                self.tell()
                return f"{what} does not happen in {PATIENCE} s"
            select.select([], [], [], 0.1)

    def covered(self, of=None):
        return all(self.each("covered", of=of))

    def until_covered(self, of=None):
        return self.go_on(lambda: self.covered(of), "full coverage")

    def for_seconds(self, seconds):
        """Rounds for a while. Return a fault of the law."""
        end = time.monotonic() + seconds
        return self.go_on(lambda: time.monotonic() > end)

    def until_answers(self, more=20):
        """Rounds until so many more keys of others were present, and so many were absent."""
        goal = {k: self.said[k] + more for k in ("foreign", "absent")}
        return self.go_on(lambda: all(self.said[k] >= goal[k] for k in goal), "an answer")
