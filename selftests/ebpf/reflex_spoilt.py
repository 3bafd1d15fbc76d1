# SPDX-License-Identifier: GPL-2.0
"""Ways to make a filter unable to answer, as context managers."""

import reflex_hosts as hosts
from reflex_hosts import NAME, Filter, Holder, net


class Killed:
    """A filter whose holder is killed, and which is then overdue."""

    def __enter__(self):
        self.filter, self.holder = Filter("--window", "100000", "-b", "1e-9"), Holder()
        self.filter.__enter__()
        self.holder.__enter__()
        return self.ruin

    def ruin(self):
        self.holder.__exit__()
        net.run(net.EPFCTL, "insert", NAME, "probe")
        if not net.eventually(lambda: net.run(
                net.EPFCTL, "test", NAME, "probe", check=False).returncode == 3):
            raise RuntimeError("without a holder it knows for ever")

    def __exit__(self, *error):
        self.holder.__exit__()
        self.filter.__exit__(*error)


class Destroyed(Killed):
    def ruin(self):
        net.epfctl("destroy", "--force", NAME)

    def __exit__(self, *error):
        self.holder.__exit__()


class Saturated(Killed):
    """Insert so many keys that its error is above the limit."""

    def __enter__(self):
        self.filter = Filter("--time", "1h", "--rate", "1", "-b", "1e-9")
        self.holder = Holder()
        self.filter.__enter__()
        self.holder.__enter__()
        return self.ruin

    def ruin(self):
        net.run(net.EPFCTL, "insert", NAME, "probe")
        for step in range(40):
            net.run(net.EPFCTL, "insert", NAME, "-",
                    input="".join(f"key {step} {n}\n" for n in range(250)))
            if net.run(net.EPFCTL, "test", NAME, "probe",
                       check=False).returncode == 3:
                return
        raise RuntimeError("it is not saturated")


def ways():
    """Yield the reason why it cannot answer, and what causes it."""
    out = [("saturated", Saturated), ("no_filter", Destroyed)]
    # the module ends epochs itself
    return out if hosts.MODULE else [("overdue", Killed)] + out
