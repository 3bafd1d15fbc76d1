# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bindings.py writes the module from libepf.h.
from typing import Any

ffi: Any
