# SPDX-License-Identifier: GPL-2.0
"""What type checkers say of calls: pages.py checks this file, and nobody runs it."""

from __future__ import annotations

import array
import mmap
import pathlib
from datetime import timedelta
from typing import Optional, Tuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import epf


class ArrowColumn:
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        raise NotImplementedError


def filters(packed: mmap.mmap, column: ArrowColumn) -> None:
    with epf.Filter(epf.Plan(window=timedelta(minutes=1), rate=10), time_ns=0) as seen:
        assert_type(seen, epf.Filter)
        assert_type(seen.test(np.arange(3)), NDArray[np.uint8])
        assert_type(seen.test(["a", "b"], time_ns=1), bytes)
        assert_type(seen.test(array.array("Q", [1])), bytes)
        assert_type(seen.test(packed, key_len=8), bytes)
        assert_type(seen.test(column), bytes)
        assert_type(seen.test_and_insert(str(i) for i in range(3)), bytes)
        assert_type(seen.age("a"), Optional[int])
        assert_type(seen.add(7), bool)
        assert_type(seen.info().memory_bytes, int)
        seen.insert(np.zeros((3, 8), np.uint8))
        seen.insert({"a", "b"})
        seen.save(pathlib.Path("file"))
        seen.restore(pathlib.Path("file"), same=True)


def others() -> None:
    snapshot = epf.Snapshot("file")
    assert_type(snapshot.audit(np.arange(3)), epf.Audit[NDArray[np.uint8]])
    assert_type(snapshot.audit([1, 2], progress=lambda done, every: None).ages, Optional[bytes])
    assert_type(epf.merge([pathlib.Path("a"), b"b"], "out").error, float)
    assert_type(epf.kinds(), Tuple[str, ...])
    made = epf.KernelFilter.create("name", epf.Plan(window_keys=5), backend="bpf", timer=True)
    assert_type(made.snapshot().test(np.arange(3)), NDArray[np.uint8])
    assert_type(next(epf.kernel_filters(backend="bpf")).id, int)
    with epf.Hold("name") as hold:
        assert_type(hold, epf.Hold)
        assert_type(hold.step(), float)


# Each of these lines is an error. The comments would be reported as unused if one were none.
epf.Filter(epf.Plan(window_keys="1000"))  # type: ignore
epf.Filter(epf.Plan(window_keys=5)).test(1.5)  # type: ignore
epf.Filter(epf.Plan(window_keys=5)).insert(None)  # type: ignore
epf.Filter(epf.Plan(window_keys=5), 0)  # type: ignore
epf.KernelFilter("name", backend="rust")  # type: ignore
epf.Plan(window_keys=5, ends="never")  # type: ignore
epf.Hold(7)  # type: ignore
epf.Snapshot("file").insert("a")  # type: ignore
"a" in epf.Plan(window_keys=5)  # type: ignore
