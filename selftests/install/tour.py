# SPDX-License-Identifier: GPL-2.0
"""What README and the manuals show, run from installed packages: in a minimal root (packages.py),
in a network namespace and a BPF file system of its own, with filters that are pure BPF. Nothing
of the tree is in the root. A row of SHOWN is a feature, commands of a shell there, and what they
print: lines, each a regular expression. PROGRAMS are tests of other suites that ask the
installed programs in place of those of build/.
"""

import functools
import gzip
import lzma
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile

import newcomer
import ng
import pcap
import tap

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PLACE = "/var/tour"  # in the root
START = 1_000_000_000 * 10**9
KEY = "000102030405060708090a0b0c0d0e0f"
SIZE = "--time 1h --rate 50"
FRAME = newcomer.FRAME
A, B = FRAME, FRAME[:29] + b"\x09" + FRAME[30:]
TOS, MAC = FRAME[:15] + b"\x04" + FRAME[16:], FRAME[:11] + b"\x07" + FRAME[12:]
PACKETS = [pcap.Packet(START + i * 10**9, data) for i, data in enumerate([A, B, A, TOS, B, MAC])]
FILES = {
    "key": KEY.encode(),
    "keys": b"192.0.2.3\nnone\n",
    "day.log": b"".join(b"192.0.2.%d 2001-09-09 01:4%d:00\n" % (i, i) for i in range(6)),
    "flows.nfdump": b"ts,te,sa,da,sp,dp,pr\n2001-01-01 00:00:00,2001-01-01 00:00:00,"
                    b"10.0.0.1,10.0.0.2,1234,53,UDP\n",
    "declared.conf": f"[filter declared]\ntime = 1h\nrate = 50\nrotate = kernel\n"
                     f"key-file = {PLACE}/key\n\n[attach eth0]\nfilter = declared\nkey = flow\n"
                     "action = count\n".encode(),
    "batch": b"create b --window 1000 --rotate kernel\ninsert b 'x y'\ntest b \"x y\"\ndestroy b\n",
    "python.py": b"""
import epf
f = epf.Filter(epf.Plan(window_keys=9000, error=1e-9))
f.insert(["a", "b"])
f.save("python.epf")
s = epf.Snapshot("python.epf")
print(*f.test(["a", "c"]), *s.test(["b", "c"]), s.audit(["a", "b", "c"]).present)
""",
    "send.pl": b"""
my ($frame, $index) = @ARGV;
socket(my $s, 17, 3, 0) or die "socket: $!";  # AF_PACKET, SOCK_RAW
my $to = pack("SniSCCa8", 17, 0x0800, $index, 0, 0, 6, "");
for (1, 2) { send($s, pack("H*", $frame), 0, $to) or die "send: $!" }
""",
}
LOG = "--format csv --separator ' ' --fields 1 --stamp 2,3"

SHOWN = [
    ("doctor finds pure BPF usable", "epfctl doctor",
     ["filters that are pure BPF, without the module: usable", "ok +bpffs .*", "ok +libxdp .*"]),
    ("create with a key file, insert, test, show, list",
     f"epfctl create seen {SIZE} --rotate kernel --key-file key && epfctl insert seen a b &&"
     "epfctl test seen a b; epfctl test seen c; echo $?; epfctl show seen; epfctl list --names",
     ["created seen .*", "a present age 0", "b present age 0", "c absent", "1",
      "  window +time: 60 min, .*", "  counted +2 insertions, .*", "seen"]),
    ("filters of one key file are merged",
     f"epfctl create twin {SIZE} --rotate kernel --key-file key && epfctl save twin twin.epf &&"
     "epfctl save seen seen.epf && epfctl merge --loose -o both.epf twin.epf seen.epf &&"
     "epfctl test --snapshot both.epf a && epfctl destroy twin", ["a present age 0"]),
    ("rotate, save, restore, which tells who has to hold it",
     "epfctl rotate seen && epfctl save seen seen.epf && epfctl restore copy seen.epf &&"
     "{ epfctl test copy a; echo $?; epfctl destroy copy; } 2>&1",
     ["epoch 9", "saved seen: .*", "restored copy: .*",
      "copy is pure BPF: .* until 'epfctl hold copy' runs", "a unknown",
      "error: nobody ends .*'epfctl hold copy'", "3"]),
    ("keys from a stream", "printf 'a\\nc\\n' | epfctl test seen -; echo $?",
     ["a present age 1", "c absent", "1"]),
    ("batch", "epfctl batch batch", ["created b .*", "x y present age 0"]),
    ("errors: a line, or JSON", "epfctl show none 2>&1; epfctl -j show none; echo $?",
     ["error: there is no filter 'none': .*",
      r'\{"error":"there is no filter .*","errno":"ENOENT","verb":"show","status":2\}', "2"]),
    ("help of a verb", "epfctl help merge", ["usage: epfctl merge -o FILE SNAPSHOT .*"]),
    ("apply makes what is declared, and nothing twice",
     "epfctl apply declared.conf && epfctl apply declared.conf && epfctl status eth0",
     ["create declared: .*", "attach eth0: --filter declared --key flow --action count",
      "nothing to do: 2 declared, all there", "eth0: filter declared .*"]),
    ("a repeat is counted where the filter is attached",
     f"perl send.pl {FRAME.hex()} $(cat /sys/class/net/peer0/ifindex) && epfctl -j status eth0",
     [r'.*"recent":\{"verdict":"pass","packets":1,.*']),
    ("states: saved, restored, exported, read again",
     "epfctl insert declared k 2> /dev/null; epfctl apply --save declared.conf && epfctl detach eth0 &&"
     "epfctl destroy declared && epfctl apply --restore declared.conf && epfctl test declared k;"
     "epfctl export > all.conf && epfctl apply --dry-run all.conf",
     ["saved declared: .*", "restored declared: .*", "k present age .*", "nothing to do: .*"]),
    ("build of a log: gzip, xz, zstd",
     f"for end in gz xz zst; do epfctl build $end.epf {SIZE} {LOG} day.log.$end &&"
     "epfctl test --snapshot $end.epf 192.0.2.5 192.0.2.6; echo $?; done",
     ["192.0.2.5 present age 0", "192.0.2.6 absent", "1"] * 3),
    ("build of a capture and of flows", f"epfctl build pcap.epf {SIZE} --key flow in.pcap &&"
     "epfctl build flows.epf --like pcap.epf flows.nfdump && epfctl -j show --file flows.epf &&"
     "epfctl audit pcap.epf flows.nfdump",
     [r'.*"inserts":1.*', "  present +1 of 1 keys, 100%"]),
    ("audit: records, bitmap, ages; by filter",
     "epfctl audit gz.epf keys --format csv -o present -b bits -a ages && cat present &&"
     "od -An -tx1 bits && od -An -tu1 ages && epfctl audit seen keys --format csv -o -",
     ["  present +1 of 2 keys, 50%", "192.0.2.3", " 01", " +0 255"]),
    ("plots ask for gnuplot", "for verb in 'plan --window 1M' 'audit gz.epf keys --format csv'; do "
     "epfctl $verb --plot p.svg; echo $?; done",
     ["error: .*gnuplot is missing: apt install gnuplot-nox", "2"] * 2),
    ("watch prints events", "epfctl rotate seen && epfctl watch seen --plain -n 1 --interval 10ms",
     [".*seen.*"]),
    ("metrics", "epfctl metrics --text", [r'epochfilter_filter_info\{filter="seen",.*']),
    ("python3-epf", "python3 -W error python.py", ["0 255 0 255 2"]),
    ("Python's example", "cd /usr/share/doc/python3-epf/examples && python3 -B error_over_window.py "
     "--kind lanes --keys 1000 --steps 4 --probes 1000 -o p.svg; echo $?",
     ["lanes: planned 0.01, worst measured .*",
      "error: the plot needs matplotlib: apt install python3-matplotlib", "1"]),
    ("manuals and guides: all verbs and functions",
     "for verb in $(epfctl --help | sed -n 's/^  \\([a-z]*\\) .*/\\1/p'); do "
     "zcat /usr/share/man/man8/epfctl.8.gz | grep -q \"epfctl.* $verb\" || { echo no $verb; bad=1; }; done;"
     "for name in $(sed -n 's/^LIBEPF_API .*\\(libepf_[a-z_]*\\)(.*/\\1/p' /usr/include/libepf.h); do "
     "[ -e /usr/share/man/man3/$name.3.gz ] || { echo no $name; bad=1; }; done; [ -z \"$bad\" ] &&"
     "cd /usr/share && ls doc/libepf-dev/LIBRARY.md.gz man/man5/epochfilter.conf.5.gz "
     "man/man8/epfagent.8.gz",
     ["doc/libepf-dev/LIBRARY.md.gz", "man/man5/.*", "man/man8/.*"]),
    ("completion", "bash -c '. /usr/share/bash-completion/completions/epfctl; COMP_CWORD=1; "
     "COMP_WORDS=(epfctl me); _epfctl; echo ${COMPREPLY[*]}; COMP_CWORD=2; "
     "COMP_WORDS=(epfctl show s); _epfctl; echo ${COMPREPLY[*]}'", ["merge metrics", "seen"]),
]

# Options of dedup, and the packets that are left.
DEDUPS = [
    ("-D 100", [0, 1, 3, 5]), ("-d", [0, 1, 3, 5]), ("-w 2500ms", [0, 1, 3, 4, 5]),
    ("-d -I 12", [0, 1, 3]), ("-d --mask tos", [0, 1, 5]), ("-D 100 --filter", [0, 1, 3, 5]),
    (f"-d -A {START // 10**9 + 1} -B {START // 10**9 + 4}", [1, 2, 3]),
]
EXAMPLES = {
    "recent": ("printf 'a\\nb\\na\\n' | ./recent", ["a", "b"]),
    "allow": ("./allow clients 192.0.2.1 && ./allow clients 192.0.2.1 && epfctl destroy clients",
              ["1 addresses, 0 of them .*", "1 addresses, 1 of them .*"]),
    "audit": ("printf '192.0.2.3\\nnone\\n' > audited && ./audit gz.epf audited", ["192.0.2.3 age 0"]),
}
AGENT = f"""
until_says() {{
	n=0
	until epfctl -j agent $1 2> /dev/null | grep -q "$2"; do
		n=$((n + 1)); [ $n -lt 3000 ] || return; sleep 0.1
	done
}}
until_says status uptime && epfctl create held {SIZE} --rotate process && until_says status '"held":true' || exit
epfctl insert held a && epfctl test held a
python3 -c 'import urllib.request as u; print(u.urlopen("http://127.0.0.1:9464/metrics").read().decode())'
epfctl save held held.epf && truncate -s 1T vast
epfctl audit held.epf vast --key-len 8 --agent /run/epochfilter/agent.sock 2>&1 &
until_says jobs '"job"'
epfctl agent jobs && epfctl agent cancel $(epfctl -j agent jobs | sed 's/.*"job":\\([0-9]*\\).*/\\1/')
wait $! || echo $?
"""
AGENT_SAYS = ["a present age 0", r'epochfilter_filter_info\{filter="held",.*',
              "epochfilter_agent_filters_held 1", r"JOB +USER .*", r"1 +root .*\(snapshot\)",
              "error: vast: the audit was cancelled", "2"]
# Tests of other suites that take the tool from EPF_CTL. Those of the second list take longer.
PROGRAMS = ["cli/schema.py", "cli/watch.py"]
MORE = ["cli/script.py", "cli/apply.py", "cli/merge.sh", "dedup/test_formats.py", "dedup/test_views.py",
        "dedup/test_errors.py", "records/build.py"]
# A program in a mount namespace, with a BPF file system that it shares with the root.
ALONE = """
    mount -t bpf bpf /sys/fs/bpf
    mount --bind /sys/fs/bpf "$0/sys/fs/bpf"
    mount --bind "$1" "$0$1"
    shift
    exec "$@"
"""
UNITS = "/lib/systemd/system"


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def lacks(said, wanted):
    """None if lines of @said are as @wanted, in this order; others may be in between."""
    lines = iter(said.splitlines())
    for pattern in wanted:
        if not any(re.fullmatch(pattern, line) for line in lines):
            return f"no line '{pattern}' in its place:\n{said}"
    return None


def snoop(packet):
    """A packet as a record of a capture of snoop (RFC 1761)."""
    data = packet.data + bytes(-len(packet.data) % 4)
    return struct.pack(">6I", len(packet.data), len(packet.data), 24 + len(data), 0,
                       packet.ns // 10**9, packet.ns % 10**9 // 1000) + data


class Tour:
    """A root of packages.py with the packages, in which commands run."""

    def __init__(self, root):
        self.root, self.net = root, str(root.top / "net")
        self.place = root.path / PLACE[1:]
        open(self.net, "w").close()
        self.do("unshare", f"--net={self.net}", "ip", "link", "add", "eth0", "type", "veth",
                "peer", "name", "peer0")
        self.inside = ["nsenter", f"--net={self.net}"]
        for name in "lo", "eth0", "peer0":
            self.do(*self.inside, "ip", "link", "set", name, "up")
        self.mount("-t", "sysfs", "sysfs", "sys")
        self.place.mkdir()
        # A file system whose files the agent takes; an overlay is none.
        self.mount("-t", "tmpfs", "tmpfs", PLACE[1:])
        self.do("mount", "-t", "bpf", "bpf", "/sys/fs/bpf")
        self.mount("--bind", "/sys/fs/bpf", "sys/fs/bpf")
        for name, data in FILES.items():
            (self.place / name).write_bytes(data)
        (self.place / "key").chmod(0o600)
        self.inputs()

    def inputs(self):
        log = FILES["day.log"]
        (self.place / "day.log.gz").write_bytes(gzip.compress(log))
        (self.place / "day.log.xz").write_bytes(lzma.compress(log))
        self.do("zstd", "-q", self.place / "day.log")
        pcap.Capture(PACKETS).save(self.place / "in.pcap")
        ng.save_numbered(self.place / "in.pcapng", PACKETS)
        (self.place / "in.snoop").write_bytes(struct.pack(">8sII", b"snoop", 2, 4) + b"".join(map(snoop, PACKETS)))

    @staticmethod
    def do(*command):
        subprocess.run(command, check=True)

    def mount(self, *words):
        self.do(*self.inside, "mount", *words[:-1], self.root.path / words[-1])
        self.root.mounts.insert(0, words[-1])

    def command(self, text):
        """What runs @text in the root, by a shell there."""
        return [*self.inside, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
                "LANG=C.UTF-8", "EPF_BACKEND=bpf", "chroot", self.root.path, "/bin/sh", "-c",
                f"cd {PLACE}; {text}"]

    def shows(self, text, wanted):
        done = run(*self.command(text))
        return lacks(done.stdout, wanted) or (done.returncode and f"exit {done.returncode}: {done.stdout}")

    def dedup(self):
        """dedup: every option leaves the packets that it should, of pcap, of pcapng, in a pipe"""
        for options, left in DEDUPS:
            fault = self.shows(f"epfctl dedup {options} in.pcap out.pcap &&"
                               f"epfctl dedup {options} in.pcapng out.pcapng &&"
                               f"cat in.pcap | epfctl dedup {options} - - > piped.pcap", [])
            stamps = [PACKETS[i].ns for i in left]
            got = [ng.numbers(self.place / "out.pcapng")] + [
                [p.ns for p in pcap.load(self.place / name).packets] for name in ("out.pcap", "piped.pcap")]
            if fault or got != [left, stamps, stamps]:
                return fault or f"{options}: {got}"
        return None

    def wiretap(self):
        """dedup of a capture in a format of Wireshark, by epochfilter-wiretap"""
        options, left = DEDUPS[0]
        fault = self.shows(f"epfctl dedup {options} in.snoop snoop.pcap", [])
        got = fault or [p.ns for p in pcap.load(self.place / "snoop.pcap").packets]
        return None if got == [PACKETS[i].ns for i in left] else f"{got}"

    def examples(self):
        """libepf-dev: its examples are built by pkg-config, and run"""
        self.root.install("gcc libc6-dev pkg-config")
        for name, (text, wanted) in EXAMPLES.items():
            fault = self.shows(f"cc -Wall -Werror /usr/share/epochfilter/examples/{name}.c "
                               f"$(pkg-config --cflags --libs libepf) -o {name} && {text}", wanted)
            if fault:
                return fault
        return None

    def agent(self):
        """epfagent holds filters, serves metrics, shows audits and cancels one"""
        agent = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *self.command(
            "mkdir -p /run/epochfilter && exec epfagent --metrics 127.0.0.1:9464")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return self.shows(AGENT, AGENT_SAYS)
        finally:
            agent.kill()
            agent.wait()

    def units(self):
        """systemd finds nothing wrong with the units"""
        units = [os.path.basename(path) for path in self.root.run(
            f"dpkg -L epochfilter | grep -E '^(/usr)?{UNITS}/'").split()]
        if (self.root.path / "usr/bin/systemd-analyze").exists():
            done = run("chroot", self.root.path, "systemd-analyze", "verify", "--man=no", *units)
        else:
            done = self.verified_outside(units)
        return done.stdout or (done.returncode and "failed") or None

    def verified_outside(self, units):
        """By systemd of this machine, with its units."""
        if not shutil.which("systemd-analyze"):
            raise tap.Skip("no systemd-analyze")
        self.mount("-t", "overlay", "-o", f"lowerdir={self.root.path}{UNITS}:{UNITS}", "overlay", UNITS[1:])
        return run("systemd-analyze", "verify", "--man=no", f"--root={self.root.path}", *units)

    def program(self, name):
        """A test of another suite, with the installed tool and without the filters of the tour."""
        stand_in = self.root.top / "epfctl"
        stand_in.write_text(f"#!/bin/sh\nexec /usr/sbin/chroot {self.root.path} /bin/sh -c "
                            "'cd \"$0\" 2> /dev/null; exec \"$@\"' \"$PWD\" /usr/bin/${0##*/} \"$@\"\n")
        stand_in.chmod(0o755)
        shutil.copy(stand_in, self.root.top / "epfagent")
        temporary = tempfile.gettempdir()
        os.makedirs(f"{self.root.path}{temporary}", exist_ok=True)
        environment = {**os.environ, "EPF_THOROUGH": "", "EPF_ALONE": "1", "EPF_BACKEND": "bpf",
                       "EPF_CTL": str(stand_in), "EPF_AGENT": str(self.root.top / "epfagent"),
                       "EPF_SCHEMA": f"{self.root.path}/usr/share/epochfilter/epfctl.json",
                       "EPF_TOOL_ROOT": str(self.root.path)}
        done = run(*self.inside, "unshare", "--mount", "sh", "-ec", ALONE, self.root.path, temporary,
                   TOP / "selftests" / name, env=environment)
        if done.returncode == 4:
            raise tap.Skip(done.stdout.splitlines()[-1])
        return done.returncode and done.stdout

    def draws(self):
        """with gnuplot, plan and audit draw"""
        self.root.install("gnuplot-nox")
        return self.shows("epfctl plan --window 1M --plot plan.svg &&"
                          "epfctl audit gz.epf keys --format csv --plot audit.svg &&"
                          "for name in plan audit; do head -c 5 $name.svg; echo; done",
                          ["<[?]xml"] * 2)


def without_btf():
    raise tap.Skip("this kernel has no BTF")


def cases(begin):
    """For packages.py. begin() gives the Tour; it is called when the first case runs."""
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        return [("what README and the manuals show", without_btf)]
    begin = functools.cache(begin)
    thorough = bool(os.environ.get("EPF_THOROUGH"))
    own = [Tour.dedup, Tour.wiretap, Tour.examples, Tour.agent, Tour.units] + [Tour.draws] * thorough
    return [(what, functools.partial(lambda *row: begin().shows(*row), text, wanted))
            for what, text, wanted in SHOWN] + \
        [(case.__doc__, functools.partial(lambda case: case(begin()), case)) for case in own] + \
        [(f"{name}, with the installed tool", functools.partial(lambda name: begin().program(name), name))
         for name in PROGRAMS + MORE * thorough]
