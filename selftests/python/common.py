# SPDX-License-Identifier: GPL-2.0
"""What the programs of this directory share: the package of this tree, TAP, temporary files.

EPF_PYTHON names another folder with the package.
"""

import ctypes
import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD") or ROOT / "build")
PYTHON = pathlib.Path(os.environ.get("EPF_PYTHON") or BUILD / "user/python")
LIBRARY = BUILD / "user/libepf.so.1"

sys.dont_write_bytecode = True
sys.path[:0] = [str(PYTHON), str(ROOT / "selftests/dedup")]

import tap

if not (PYTHON / "epf/_cffi.py").exists() or not LIBRARY.exists():
    tap.skip_all("not built: make -C user python")
try:
    import _cffi_backend
except ImportError:
    tap.skip_all("no python3-cffi-backend")

# dlopen("libepf.so.1") then finds the library that is loaded.
ctypes.CDLL(str(LIBRARY))

import epf

HASH_KEY = b"0123456789abcdef"
folder = tempfile.TemporaryDirectory(prefix="epf_python.")


def temp(name):
    """A path in a folder that is removed at the end."""
    return os.path.join(folder.name, name)


def plan(**more):
    """A plan of 1000 keys, with known false positives."""
    return epf.Plan(**{"window_keys": 1000, "error": 1e-6, "hash_key": HASH_KEY, **more})


def optional(name):
    """An optional module, or a skip."""
    try:
        return __import__(name)
    except ImportError:
        raise tap.Skip(f"no python3-{name}") from None


def raises(kind, call, *words):
    """A fault unless @call raises @kind, with all words in its text."""
    try:
        got = call()
    except kind as raised:
        missing = [word for word in words if word not in str(raised)]
        return f"not in '{raised}': {missing}" if missing else None
    except Exception as raised:
        return f"{type(raised).__name__} in place of {kind.__name__}: {raised}"
    return f"{kind.__name__} is not raised, but returned: {got!r}"


def first_fault(*faults):
    return next((fault for fault in faults if fault), None)


def main(*cases):
    """Run functions, each named by the first line of its text."""
    tap.main(tap.chosen([(case.__doc__.splitlines()[0], case) for case in cases]))
