# SPDX-License-Identifier: GPL-2.0
"""A root file system of copies: of packages that this machine has installed, and of those they
depend on. What no package of the list needs is missing there, as it is after mmdebstrap,
which takes ten times the CPU time to unpack the same files.
"""

import itertools
import os
import pathlib
import re
import shutil
import subprocess

INFO = pathlib.Path("/var/lib/dpkg/info")


def installed():
    """The stanzas of dpkg's status by the names of packages and by those that they provide."""
    stanzas = {}
    for stanza in pathlib.Path("/var/lib/dpkg/status").read_text().split("\n\n"):
        fields = dict(re.findall(r"^([A-Z][\w-]*): (.*)$", stanza, re.M))
        if fields.get("Status", "").endswith(" installed"):
            fields["stanza"] = stanza
            for name in [fields["Package"]] + names_of(fields.get("Provides", "")):
                stanzas.setdefault(name, []).append(fields)
    return stanzas


def names_of(depends):
    return re.findall(r"(?:^|[,|]) *([a-z0-9][a-z0-9.+-]*)", depends)


def closure(wanted):
    """What @wanted and the essential packages depend on, of alternatives the first that is there."""
    there, found = installed(), {}
    todo = list(wanted) + [name for name, of in there.items() if of[0].get("Essential") == "yes"]
    while todo:
        fields = there[todo.pop()][0]
        if fields["Package"] in found:
            continue
        found[fields["Package"]] = fields
        for group in f"{fields.get('Depends', '')},{fields.get('Pre-Depends', '')}".split(","):
            todo += [name for name in names_of(group) if name in there][:1]
    return found


def files(fields):
    """The paths that a package has; INFO has its list with or without its architecture."""
    name = fields["Package"]
    lists = INFO / f"{name}.list", INFO / f"{name}:{fields['Architecture']}.list"
    return next(path for path in lists if path.exists()).read_text().splitlines()


def chosen():
    """Links that update-alternatives has made."""
    yield from (entry.path for entry in os.scandir("/etc/alternatives") if entry.is_symlink())
    for folder in "/usr/bin", "/usr/sbin":
        yield from (entry.path for entry in os.scandir(folder) if entry.is_symlink() and
                    os.readlink(entry.path).startswith("/etc/alternatives/"))


def database(found):
    """The files of dpkg's that tell of the packages."""
    yield from ("/var/lib/dpkg/diversions", "/var/lib/dpkg/triggers/File", str(INFO / "format"))
    for fields in found.values():
        yield from map(str, INFO.glob(f"{fields['Package']}[.:]*"))


def settings():
    """What no package has: PAM's common files, the archive and the way to it."""
    yield "/etc/hosts"
    yield from map(str, pathlib.Path("/etc/pam.d").glob("common-*"))
    yield from map(str, pathlib.Path("/etc/apt").rglob("*"))
    yield from (entry.path for entry in os.scandir("/var/lib/apt/lists")
                if entry.is_file() and entry.name != "lock")


def copy(paths, root):
    """Copy files, links and folders, without what is in these."""
    there = {os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
             for path in paths if os.path.lexists(path)}
    names = "\0".join(path[1:] for path in sorted(there) if path[1:] not in ("", ".")).encode()
    packed = ["tar", "-C", "/", "-c", "--no-recursion", "--null", "-T", "-"]
    with subprocess.Popen(packed, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as tar:
        with subprocess.Popen(["tar", "-C", root, "-x"], stdin=tar.stdout) as out:
            tar.stdin.write(names)
            tar.stdin.close()
    if tar.returncode or out.returncode:
        raise RuntimeError(f"{root} is incomplete")


def make(root, wanted, without=r"/$"):
    """Make @root anew. @wanted: names of packages. @without: files that are left out."""
    root, found = str(root), closure(wanted)
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    packed = (path for fields in found.values() for path in files(fields)
              if not re.search(without, path))
    # The links /bin and /lib come from a script of usrmerge's.
    merged = (entry.path for entry in os.scandir("/") if entry.is_symlink())
    copy(itertools.chain(merged, packed, chosen(), database(found), settings()), root)
    pathlib.Path(f"{root}/var/lib/dpkg/status").write_text(
        "\n\n".join(fields["stanza"] for fields in found.values()) + "\n")
    for name, line in ("passwd", "user:x:1000:1000::/home/user:/bin/sh"), ("group", "user:x:1000:"):
        master = pathlib.Path(f"/usr/share/base-passwd/{name}.master").read_text()
        pathlib.Path(f"{root}/etc/{name}").write_text(f"{master}{line}\n")
    shutil.copy("/etc/resolv.conf", f"{root}/etc")  # it may be a symbolic link
    subprocess.run(["ldconfig", "-r", root], check=True)
