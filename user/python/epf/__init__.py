# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Filters that tell whether a key was seen inside a sliding window.

A key inserted inside the window is always found. A key that was never inserted is found with a
small probability, which the program chooses.

>>> import epf
>>> with epf.Filter(epf.Plan(window_keys=1_000_000, error=1e-4)) as seen:
...     seen.insert(["192.0.2.7", "192.0.2.9"])
...     "192.0.2.7" in seen, "198.51.100.1" in seen
(True, False)

`Filter` is in the memory of the program, `KernelFilter` in the kernel, `Snapshot` in a file.
`kernel_filters()` lists the filters of the kernel, and a `Hold` ends the epochs of one.
`docs/PYTHON.md` (Debian: /usr/share/doc/python3-epf) tells which keys they take.
"""

from epf._device import DeviceArray
from epf._filter import Filter
from epf._kernel import Hold, KernelFilter, kernel_filters
from epf._native import ABSENT, KEY_MAX, UNKNOWN, ArgumentError, Error
from epf._plan import Info, Plan, Size, engines, kinds, plan_size, version
from epf._snapshot import Audit, Merged, Snapshot, merge

__version__ = version()

__all__ = ["ABSENT", "KEY_MAX", "UNKNOWN", "ArgumentError", "Audit", "DeviceArray", "Error", "Filter", "Hold", "Info",
           "KernelFilter", "Merged", "Plan", "Size", "Snapshot", "engines", "kernel_filters", "kinds",
           "merge", "plan_size", "version"]
