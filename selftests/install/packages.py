#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The packages of "make deb" on a minimal Debian with a stock kernel. packages.py SUITE
installs, upgrades, removes and purges them there as apt does; DKMS compiles natively,
for the root's kernel. packages.py --build only builds them, and prints their folder. Before it upgrades, it boots that root: Debian 12 with Secure Boot,
where the modules have to be signed (packages_secure.sh); Debian 13 to upgrade and remove
what is in use (packages_guest.sh).

The toolkit of /usr/local/cuda, if it is there, is mounted where the packages are built.

Debian 13 and Secure Boot are tried with EPF_THOROUGH only. Each release has a build of its own, made by whoever
comes first: libnats, MPI and libwiretap have another name in each. All roots are layers (overlayfs) over those of root.sh, in a
mount namespace of our own: what a killed run leaves is the upper folders below
build/install.
"""

import fcntl
import functools
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(TOP / "selftests" / "dedup"))

import lent
import newcomer
import tap
import tour

STATE = TOP / "build" / "install"
HOME = "/home/user/epochfilter"
VERSION = (TOP / "VERSION").read_text().strip()
NEXT = re.sub(r"\d+$", lambda m: str(int(m[0]) + 1), VERSION)
NAMES = ["epochfilter", "epochfilter-dkms", "epochfilter-mpi", "epochfilter-wiretap", "libepf-dev", "libepf1",
         "python3-epf"]
CUDA = pathlib.Path("/usr/local/cuda")
if (CUDA / "bin/nvcc").exists():
    NAMES.insert(1, "epochfilter-cuda")
MODULES = ["epochfilter", "epochfilter_kinds", "xt_epf"]
APT = "apt-get -q -y -o APT::Sandbox::User=root -o DPkg::Use-Pty=0 --no-install-recommends"
# Nothing here installs the packages with debug information.
QUICK = "" if os.environ.get("EPF_THOROUGH") else \
    "env DEB_BUILD_OPTIONS=noautodbgsym CUDA_ARCHS=90 DEB_CFLAGS_APPEND='-O1 -g0'"


def run(*command, **more):
    """Its output; an exception that has it where the command fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **more)
    if done.returncode:
        raise AssertionError(f"exit {done.returncode}: {command}\n{done.stdout[-4000:]}")
    return done.stdout


def deps(purpose, what="--print"):
    return run(TOP / "scripts/deps.sh", what, *purpose.split()).strip()


@functools.cache
def lends():
    """Whether this machine is a Debian 12 that has what the packages and a guest take: then it
    lends its files, in place of the archive. With EPF_THOROUGH mmdebstrap makes all roots.
    """
    if os.environ.get("EPF_THOROUGH") or \
            platform.freedesktop_os_release().get("VERSION_CODENAME") != "bookworm":
        return False
    return set(deps("deb build").split()) <= lent.installed().keys()


def bare(suite, name, packages):
    """A root with these packages, apt and make; what root.sh makes has all that matter."""
    if suite != "bookworm" or not lends():
        return run(HERE / "root.sh", suite, "bare").split()[-1]
    root = STATE / f"lent-{name}"
    lent.make(root, ["apt", "make", *packages],
              r"/kernel/(sound/|drivers/(?!virtio/|char/|net/(tun|veth)\.ko))")
    run(HERE / "root.sh", "--before", root)
    for kernel in root.glob("lib/modules/*"):
        run("depmod", "-b", root, kernel.name)  # DKMS reads there how modules are packed
    return root


class Root:
    """A layer over a bare root, or over what is @below. What is written is in self.upper."""

    def __init__(self, suite, name, packages=(), below=None):
        self.below = below or bare(suite, name, packages)
        self.top = STATE / f"layer-{suite}-{name}"
        self.upper, self.path = self.top / "upper", self.top / "root"
        shutil.rmtree(self.top, ignore_errors=True)
        for part in "upper", "work", "root":
            (self.top / part).mkdir(parents=True)
        run("mount", "-t", "overlay", "-o", f"lowerdir={self.below},upperdir={self.upper},"
            f"workdir={self.top}/work", "overlay", self.path)
        run("mount", "-t", "proc", "proc", self.path / "proc")
        run("mount", "--bind", "/dev", self.path / "dev")
        self.mounts = ["dev", "proc", ""]

    def bind(self, folder):
        """Show a folder of this machine at the same place, to be read."""
        place = self.path / str(folder)[1:]
        place.mkdir(parents=True)
        run("mount", "--bind", "-o", "ro", folder.resolve(), place)
        self.mounts.insert(0, place)

    def run(self, command):
        return run("chroot", self.path, "/bin/sh", "-c", command, cwd="/", env={
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"})

    def install(self, packages):
        self.run(f"{APT} install {packages}")

    def kernel(self):
        return next((self.path / "lib/modules").iterdir()).name

    def modules(self):
        """Those that DKMS has installed, by name: their version and signer."""
        folder = f"/lib/modules/{self.kernel()}/updates/dkms"
        return {name: tuple(self.run(f"modinfo -F {field} {folder}/{name}.ko*").strip()
                            for field in ("version", "signer")) for name in MODULES}

    def traces(self):
        """Files of ours, and what dpkg and getent know."""
        found = [str(path.relative_to(self.upper)) for path in self.upper.rglob("*")
                 if re.search(r"epf|epochfilter", path.name) and os.path.lexists(
                     self.path / path.relative_to(self.upper))
                 and not str(path.relative_to(self.upper)).startswith("debs")]
        return found + self.run(
            "dpkg-query -W -f '${Status} ${Package}\\n' 'epochfilter*' 2> /dev/null |"
            "grep -v 'unknown ok not-installed' || true; getent group epochfilter || true"
        ).splitlines()

    def remove(self):
        for part in self.mounts:
            run("umount", self.path / part)
        shutil.rmtree(self.top)


def tree_digest():
    """Of how they are built, and of all files that root.sh copies, but for the tests, which no package has."""
    digest = hashlib.sha256(repr([NAMES, QUICK]).encode())
    names = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--",
                ".", ":!selftests", cwd=TOP)
    for name in sorted(filter(None, names.split("\0"))):
        path = TOP / name
        digest.update(name.encode() + b"\0" + (path.read_bytes() if path.is_file() else b""))
    return digest.hexdigest()


def later(deb, where):
    """The package of the version that comes next: the same but for its number."""
    tree = where / "tree"
    run("dpkg-deb", "-R", deb, tree)
    (tree / "DEBIAN/md5sums").unlink()
    for path in list(tree.glob("DEBIAN/*")) + list(tree.glob("usr/src/*/VERSION")) + list(
            tree.glob("usr/src/*/dkms.conf")):
        path.write_text(path.read_text().replace(VERSION, NEXT))
    for path in tree.glob("usr/src/*"):
        path.rename(path.with_name(path.name.replace(VERSION, NEXT)))
    run("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", tree, where)
    shutil.rmtree(tree)


def build_root(release):
    """Where the packages are built, and the command of an ordinary user that does it."""
    if release != "bookworm" or not lends():
        return Root(release, "build"), "su user -c 'sudo make deps FOR=deb && make deb'"
    return Root("bookworm", "build", deps("deb").split()), "setpriv --reuid=user --regid=user " \
        "--clear-groups sh -c 'HOME=/home/user; make deps FOR=deb && make deb'"


def build(release, debs):
    """An ordinary user builds the packages, in a root that has no other packages than they name."""
    root, command = build_root(release)
    run(HERE / "root.sh", "--tree", root.path)
    if "epochfilter-cuda" in NAMES:
        root.bind(CUDA)
    root.run(f"cd {HOME} && {QUICK} {command}")
    shutil.rmtree(debs, ignore_errors=True)
    shutil.copytree(root.path / HOME[1:] / "build/deb", debs)
    root.remove()


@functools.cache
def packages(release="bookworm"):
    """The folder of the packages of this tree, as it is when this is called first."""
    name = "debs" if release == "bookworm" else f"debs-{release}"
    debs, digest = STATE / name, tree_digest()
    STATE.mkdir(parents=True, exist_ok=True)
    with open(STATE / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = STATE / f"{name}.stamp"
        if not stamp.exists() or stamp.read_text() != digest:
            if hasattr(packages, "failed"):
                raise AssertionError("the packages could not be built")
            packages.failed = True
            stamp.unlink(missing_ok=True)
            build(release, debs)
            (debs / "next").mkdir()
            for name in NAMES:
                later(*debs.glob(f"{name}_*.deb"), debs / "next")
            stamp.write_text(digest)
    return debs


def misses(debs):
    names = sorted(path.name.split("_")[0] for path in debs.glob("*.deb") if "dbgsym" not in path.name)
    return None if names == NAMES else f"built: {names}"


def builds():
    """An ordinary user builds them in a bare root of this release, with what Build-Depends names."""
    return misses(packages(suite))


def lintian():
    """lintian finds nothing that debian/*.lintian-overrides does not explain."""
    if not shutil.which("lintian"):
        raise tap.Skip("lintian is missing: scripts/deps.sh deb")
    changes = next(packages().glob("*.changes"))
    return run("lintian", "--allow-root", "--fail-on", "none", changes).strip() or None


def installs():
    """apt installs tool and modules; DKMS signs all three; the agent is not enabled."""
    global root
    kernel = deps("", "--kernel")
    root = Root(suite, "installed", [f"linux-image-{kernel}", f"linux-headers-{kernel}"])
    shutil.copytree(packages(suite), root.path / "debs")
    root.install(" ".join(f"/debs/{name}_*.deb" for name in NAMES))
    told = root.run("epfctl --version; getent group epochfilter; "
                    "ls /etc/systemd/system/*.wants/epfagent* 2> /dev/null || true").splitlines()
    if told[0] != f"epfctl {VERSION}" or not told[1].startswith("epochfilter:") or told[2:]:
        return f"installed: {told}"
    wanted = (VERSION, "DKMS module signing key")
    if set(root.modules().values()) != {wanted}:
        return f"modules: {root.modules()}, wanted {wanted}"
    return None


def clusters():
    """The agent has live clusters: it is linked with libnats and libisal, and the package depends on them."""
    needs = root.run("ldd $(command -v epfagent)")
    depends = root.run("dpkg-query -W -f '${Depends}' epochfilter")
    lacks = [name for name, text in (("libnats.so", needs), ("libisal.so", needs), ("libnats3", depends),
                                     ("libisal2", depends)) if name not in text]
    return f"without {lacks}: {needs}{depends}" if lacks or "not found" in needs else None


def python():
    """python3-epf works with the library's package alone, compiled and without a warning."""
    folder = "usr/lib/python3/dist-packages/epf"
    told = root.run("cd /tmp && python3 -W error -c 'import epf; f = epf.Filter(epf.Plan(window_keys=9000));"
                    "f.insert([1, b\"x\"]); print(epf.version(), *f.test([1, 2, \"x\"]), epf.__file__)'")
    if told != f"{VERSION} 0 255 0 /{folder}/__init__.py\n":
        return told
    return None if list(root.path.glob(f"{folder}/__pycache__/*.pyc")) else "not compiled"


def mpi():
    """epochfilter-mpi brings the MPI that starts its ranks."""
    told = root.run("UCX_LOG_LEVEL=fatal mpirun --allow-run-as-root --oversubscribe -n 2 epfmpi --version 2> /dev/null")
    return None if told == f"epfmpi {VERSION}\n" else told


def card():
    """epochfilter-cuda has the engine, which is a library, and the drop-in; without a card an audit says so in one line."""
    if "epochfilter-cuda" not in NAMES:
        raise tap.Skip(f"no {CUDA}/bin/nvcc")
    files = [line for line in root.run("dpkg -L epochfilter-cuda").splitlines()
             if (root.path / line[1:]).is_file() and "/usr/share/" not in line]
    if sorted(files) != ["/usr/lib/epochfilter/libepf_cuda.so",
                         "/usr/lib/systemd/system/epfagent.service.d/gpu.conf",
                         "/usr/lib/x86_64-linux-gnu/libepf_cuda.so.1"]:
        return f"files: {files}"
    said = root.run("cd /tmp && printf '1 a\\n' > log && epfctl build x.epf --time 1h --rate 10 --format csv "
                    "--separator ' ' --fields 2 --stamp 1 log > /dev/null && "
                    "{ epfctl audit x.epf log --format csv --separator ' ' --fields 2 --engine cuda || "
                    "echo $?; } 2>&1; rm x.epf log")
    right = re.fullmatch(r"error: log: engine cuda: the GPU cannot be used: [^\n]+\n2\n", said)
    return None if right else said


def toured():
    """What README and the manuals show is tried in a layer over what is installed, and leaves nothing there."""
    return tour.Tour(Root(suite, "tour", below=f"{root.upper}:{root.below}"))


def upgrades():
    """An upgrade replaces the modules, and keeps an edited agent.conf and the group.

    DKMS compiles the new ones with EPF_THOROUGH only, as it did the first.
    """
    thorough = bool(os.environ.get("EPF_THOROUGH"))
    if not thorough:
        (root.path / "etc/dkms/no-autoinstall").touch()
    conf = root.path / "etc/epochfilter/agent.conf"
    conf.write_text("hold = no\n")
    group = root.run("getent group epochfilter")
    root.install("/debs/next/*.deb")
    if conf.read_text() != "hold = no\n" or root.run("getent group epochfilter") != group:
        return "agent.conf or the group has changed"
    if thorough and {version for version, _ in root.modules().values()} != {NEXT}:
        return f"modules: {root.modules()}, wanted {NEXT}"
    left = list(root.path.glob(f"var/lib/dkms/epochfilter/{VERSION}"))
    if not thorough:
        left += root.path.glob("lib/modules/*/updates/dkms/*.ko*")
    return f"of the old version: {left}" if left else None


def removes():
    """A removal leaves agent.conf, the group and no module."""
    root.run(f"{APT} remove {' '.join(NAMES)}")
    if not (root.path / "etc/epochfilter/agent.conf").exists():
        return "agent.conf is gone"
    left = [path for path in root.traces() if path.endswith((".ko", ".ko.xz")) or "bin/" in path]
    return f"left: {left}" if left else None


def purges():
    """Purging leaves nothing, also of what the agent kept."""
    (root.path / "var/lib/epochfilter").mkdir()
    root.run("dpkg --purge " + " ".join(NAMES))
    return "\n".join(root.traces()) or None


def guest(script, *options, **more):
    """What the script says in a guest that boots the root, unless all is right."""
    done = subprocess.run(
        [TOP / "selftests/vm/run.sh", "--root", root.path, "--timeout", "1800", *options, "--",
         HERE / script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, **more})
    return None if done.returncode == 0 else f"exit {done.returncode}\n{done.stdout}"


def survives():
    """In a guest README's commands work; an upgrade and a removal keep filters in use."""
    readme = "\n".join(line.removeprefix("sudo ") for line in newcomer.block()
                       if "make" not in line and "doctor" not in line)
    return guest("packages_guest.sh", EPF_README=readme, EPF_FRAME=newcomer.FRAME.hex())


def secure():
    """With Secure Boot the modules load once the key of DKMS is enrolled, else none."""
    return guest("packages_secure.sh", "--secure-boot", root.path / "var/lib/dkms/mok.pub")


def needs():
    """apt can install together all that scripts/deps.sh names for this release; what is only fetched comes"""
    root = Root(suite, "needs")
    run(HERE / "root.sh", "--tree", root.path)
    root.run(f"cd {HOME} && {APT} --simulate install $(scripts/deps.sh --print all debug cross)")
    query = root.path / "usr/local/bin/dpkg-query"  # tells that all is installed
    query.write_text("#!/bin/sh\nshift 3\nprintf 'installed %s\\n' \"$@\"\n")
    query.chmod(0o755)
    root.run(f"cd {HOME} && scripts/deps.sh --install all")
    root.remove()


def main():
    if os.geteuid() or not shutil.which("mmdebstrap"):
        print("1..0 # SKIP needs root and mmdebstrap")
        sys.exit(4)
    if suite == "trixie" and not os.environ.get("EPF_THOROUGH"):
        print("1..0 # SKIP with EPF_THOROUGH only")
        sys.exit(4)
    if "EPF_NAMESPACE" not in os.environ:
        os.environ["EPF_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private",
                              sys.executable, __file__, suite])
    if suite == "--build":
        print(packages())
        return
    more = {"bookworm": [lintian, secure, upgrades], "trixie": [survives]}[suite]
    if not lends():  # a lent root has no lists of the archive
        more.insert(0, needs)
    if not os.environ.get("EPF_THOROUGH"):
        more = [case for case in more if case != secure]
    first, last = ([(case.__doc__.splitlines()[0], case) for case in cases]
                   for cases in ([builds, installs, clusters, python, mpi, card], more + [removes, purges]))
    tap.main(first + tour.cases(toured) + last)


if __name__ == "__main__":
    suite = sys.argv[1]
    main()
