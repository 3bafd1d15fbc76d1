#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What people read: the examples of the documentation run, types are right, the example plots."""

import doctest
import importlib
import inspect
import os
import pathlib
import pkgutil
import shutil
import subprocess
import sys
import xml.etree.ElementTree

from common import BUILD, LIBRARY, PYTHON, ROOT, epf, main, optional, tap, temp

EXAMPLE = ROOT / "user/python/examples/error_over_window.py"


def run(*command):
    """Its output and exit status, with this tree's package and library."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(PYTHON), "MYPYPATH": str(PYTHON),
             "PYTHONDONTWRITEBYTECODE": "1", "LD_LIBRARY_PATH": str(LIBRARY.parent)})
    return done.stdout, done.returncode


def modules():
    names = [info.name for info in pkgutil.iter_modules(epf.__path__)]
    return [epf] + [importlib.import_module(f"epf.{name}") for name in names]


def judge(results):
    """A fault unless all of a number of examples have passed."""
    failed = sum(result.failed for result in results)
    ran = sum(result.attempted for result in results)
    return f"{failed} of {ran} examples fail" if failed or ran < 5 else None


def docstrings():
    """the examples of the docstrings run"""
    return judge([doctest.testmod(module) for module in modules()])


def page():
    """the examples of docs/PYTHON.md run"""
    before = os.getcwd()
    os.chdir(temp(""))
    try:
        return judge([doctest.testfile(str(ROOT / "docs/PYTHON.md"), module_relative=False)])
    finally:
        os.chdir(before)


def documented():
    """every name of the package, and every method, has a text"""
    found = [(name, getattr(epf, name)) for name in epf.__all__]
    found = [(name, thing) for name, thing in found if callable(thing)]
    for name, thing in list(found):
        if inspect.isclass(thing):
            found += [(f"{name}.{key}", member) for key, member in vars(thing).items()
                      if callable(member) and not key.startswith("_")]
    bare = [name for name, thing in found if not inspect.getdoc(thing)]
    return f"no text: {bare}" if bare or len(found) < 30 else None


def types():
    """mypy --strict finds nothing in the package and the example, and what it should in calls"""
    if not shutil.which("mypy"):
        raise tap.Skip("no mypy")
    optional("numpy")
    cache = ["--config-file=", f"--cache-dir={temp('mypy')}", "--python-executable=/usr/bin/python3"]
    for what in str(ROOT / "user/python/epf"), str(EXAMPLE), str(ROOT / "selftests/python/typed.py"):
        text, status = run("mypy", "--strict", *cache, what)
        if status:
            return text
    return None


def plot():
    """the example draws an SVG, and its errors are near the planned one"""
    optional("matplotlib")
    picture = temp("error.svg")
    text, status = run(sys.executable, str(EXAMPLE), "-o", picture, "--kind", "lanes", "--keys",
                       "2000", "--steps", "20", "--probes", "20000")
    if status:
        return text
    root = xml.etree.ElementTree.parse(picture).getroot()
    curves = [node for node in root.iter("{http://www.w3.org/2000/svg}path")
              if node.get("clip-path")]
    worst = float(text.split("worst measured ")[1].split(",")[0])
    # The seed and the hash key are fixed.
    if root.tag != "{http://www.w3.org/2000/svg}svg" or len(curves) < 3 or not 0.005 < worst < 0.015:
        return f"{root.tag}, {len(curves)} curves: {text}"
    return None


def installed():
    """make install-python installs the package that was built, and uninstall-python removes it"""
    make = ["make", "-s", "-C", str(ROOT / "user"), f"DESTDIR={temp('root')}", f"BUILD={BUILD}"]
    text, status = run(*make, "install-python")
    found = sorted(pathlib.Path(temp("root")).rglob("epf/*"))
    names = sorted(path.name for path in (BUILD / "user/python/epf").iterdir()
                   if path.is_file())
    if status or [path.name for path in found] != names:
        return f"{text}{found}"
    if found[0].parent.parent.name not in ("dist-packages", "site-packages"):
        return f"{found[0]}"
    text, status = run(*make, "uninstall-python")
    return text if status or list(pathlib.Path(temp("root")).rglob("epf")) else None


main(docstrings, page, documented, types, plot, installed)
