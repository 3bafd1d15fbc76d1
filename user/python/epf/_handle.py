# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What filters and snapshots share: closing, and questions."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from epf import _keys
from epf._keys import ArrowArray, ArrowStream, Column, OneKey, PlainKeys
from epf._native import UNKNOWN

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Self = TypeVar("Self", bound="Handle")


class Handle:
    """An object of the library, which is freed when it is closed and no call uses it.

    Every call of a method has a reference of its own to the pointer, and the pointer frees the
    object with the last reference. So a thread may close a handle while others use it: their
    calls end as usual, and later ones raise ValueError.
    """

    _held: Any = None

    def _pointer(self) -> Any:
        held = self._held
        if held is None:
            raise ValueError(f"{type(self).__name__} is closed")
        return held

    @property
    def closed(self) -> bool:
        """Has close() been called?"""
        return self._held is None

    def close(self) -> None:
        """Free what it takes. Closing again does nothing."""
        self._held = None

    def __enter__(self: Self) -> Self:
        self._pointer()
        return self

    def __exit__(self, kind: type[BaseException] | None, raised: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


class Asked(Handle):
    """A set of keys that can be tested."""

    def _test(self, keys: _keys.Keys, time_ns: int | None = None) -> Any:
        raise NotImplementedError

    @overload
    def test(self, keys: NDArray[Any], *, key_len: int | None = ...) -> NDArray[np.uint8]: ...
    @overload
    def test(self, keys: ArrowArray | ArrowStream, *, key_len: int | None = ...) -> bytes: ...
    @overload
    def test(self, keys: Column, *, key_len: int | None = ...) -> NDArray[np.uint8]: ...
    @overload
    def test(self, keys: PlainKeys, *, key_len: int | None = ...) -> bytes: ...

    def test(self, keys: Any, *, key_len: int | None = None) -> Any:
        """The age of each key in epochs, a byte for each key.

        `ABSENT` (255): the key is certainly not in the window. `UNKNOWN` (254): the key is found,
        but the error of the filter is above its limit. The result is a NumPy array for keys of
        NumPy and pandas, else bytes.
        """
        return self._test(_keys.keys_of(keys, key_len))

    def age(self, key: OneKey) -> int | None:
        """The age of one key in epochs, `UNKNOWN`, or None: it is absent."""
        return _keys.first(self._test(_keys.one(key)))

    def __contains__(self, key: OneKey) -> bool:
        """Is this key present? Not if that is unknown."""
        age = self.age(key)
        return age is not None and age != UNKNOWN
