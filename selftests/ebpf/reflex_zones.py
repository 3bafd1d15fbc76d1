# SPDX-License-Identifier: GPL-2.0
"""Keys with a zone, for reflex.py."""

import json
import struct

from reflex_hosts import (IP, IP6, NAME, Attached, Filter, Holder, arrived, net,
                          send_in, send_out)
import pcap  # noqa: E402, of selftests/dedup, which net.py has found


def audited(frames, *options):
    """Return how many of @frames the filter has, by an audit of a capture."""
    path = net.tmp("zone.pcap")
    pcap.Capture(pcap.Packet(n, f) for n, f in enumerate(frames)).save(path)
    done = net.run(net.EPFCTL, "-j", "audit", "--no-agent", *options, NAME, path,
                   check=False)
    return json.loads(done.stdout)["present"] if not done.returncode else done.stderr


def zones(known, *options):
    """A key inserted in a zone is found in that zone only; a filter may have several, and
    offline they are the same.
"""
    queries, answers = known
    half = {"7": slice(100), "65535": slice(100, 200), "263": slice(0), None: slice(0)}
    fault = None
    with Filter(), Holder():
        for zone in "7", "65535":
            with Attached("--zone", zone, *options) as on:
                send_out(queries[half[zone]])
                shown = on.status()["key"]["zone"], net.epfctl("status", net.B).stdout
        keys = json.loads(net.epfctl("-j", "show", NAME).stdout)["keys"]
        why = audited(queries)
        found = [audited(queries, "--key", "flow", "--fragments", "pass", "--zone", z)
                 for z in ("7", "65535", "263")]
        for zone, of in half.items():
            with Attached(*(["--zone", zone] if zone else []), *options) as on:
                passed = [f for kind in (IP, IP6) for f in
                          send_in([f for f in answers if f[12:14] == struct.pack(">H", kind)],
                                  kind)]
                recent = on.side("ask").get("recent", 0)
                fault = fault or net.unlike(**{f"zone {zone}": (
                    (recent, arrived(passed, answers[of])[0]), (len(answers[of]), "as wanted"))})
    return fault or net.unlike(
        status=((shown[0], " --zone 65535 " in shown[1]), (65535, True)),
        keys=((keys["kind"], keys["zone"]), ("packets", None)),
        found=(found, [100, 100, 0]),
        why=("keys include a zone" in str(why), True))
