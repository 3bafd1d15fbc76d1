#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The law of law.py for eight hosts and all faults (make check-cluster)."""

import cluster
import faults
import law

if __name__ == "__main__":
    cluster.require()
    raise SystemExit(law.run(8, faults.ALL))
