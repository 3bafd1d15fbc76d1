# SPDX-License-Identifier: GPL-2.0
"""The broker of a test cluster: nats-server in a node of its own, with TLS, client
certificates and an nkey for each host.
"""

import os
import shutil
import signal
import socket
import subprocess

import keys
import lan

PORT = 4222
SERVER = shutil.which("nats-server") or "/usr/sbin/nats-server"


class Broker(lan.Actor):
    """Runs in the node."""

    def __init__(self, node):
        super().__init__(node)
        self.server = None

    def start(self, config, log):
        with open(log, "ab") as out:
            self.server = subprocess.Popen([SERVER, "-c", config], stdout=out, stderr=out,
                                           preexec_fn=lan.die_with_parent)
        self.wait_port()
        return self.server.pid

    def running(self):
        return self.server is not None and self.server.poll() is None

    def pid(self):
        return self.server and self.server.pid

    def wait_port(self):
        while self.server.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", PORT), 5).close()
                return
            except OSError:
                pass
        raise RuntimeError(f"nats-server: exit {self.server.returncode}")

    def close(self):
        if self.server:
            self.server.kill()
            self.server.wait()

    def signal(self, number):
        self.server.send_signal(number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            self.server.wait()


class Authority:
    """Keys and certificates in a folder: of the broker, and of each name that is asked."""

    def __init__(self, dir, address):
        self.dir, self.publics = dir, {}
        keys.authority(dir)
        keys.certificate(dir, "broker", address)

    def path(self, name):
        return os.path.join(self.dir, name)

    def add(self, name, address):
        keys.certificate(self.dir, name, address)
        self.publics[name] = keys.nkey(self.dir, name)

    def tls(self, name):
        return self.path("ca.pem"), self.path(f"{name}.pem"), self.path(f"{name}.key")

    def nkey(self, name):
        return self.dir, name, self.publics[name]
