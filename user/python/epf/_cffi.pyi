# SPDX-License-Identifier: GPL-2.0
# bindings.py writes the module from libepf.h.
from typing import Any

ffi: Any
