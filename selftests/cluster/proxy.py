# SPDX-License-Identifier: GPL-2.0
"""A proxy between an agent and its server that can fall silent: what comes is read and dropped, and no
connection is closed, as if the other end were gone without a trace.
"""

import socket
import threading

PASS = "pass"            # all bytes
HANDSHAKE = "handshake"  # of the server its first line alone: the TLS handshake has no answer
ANSWER = "answer"        # the handshake passes; what the agent says after it has no answer


class Connection:
    """One connection of the agent, by threads that end when both ends have closed it."""

    def __init__(self, near, port, mode):
        self.near, self.mode = near, mode
        self.far = socket.create_connection(("127.0.0.1", port))
        self.said = self.flights = 0  # of the server: times that it said something; of the agent
        for way in ((self.near, self.far, self.up), (self.far, self.near, self.down)):
            threading.Thread(target=self.carry, args=way, daemon=True).start()

    def up(self):
        """May something of the agent pass? Each flight of a handshake is the answer to one of the
        server, whose first one is a line before it."""
        self.flights = self.said
        return True

    def down(self):
        if self.mode == HANDSHAKE:
            return not self.said
        return self.mode == PASS or self.flights < 2

    def carry(self, source, sink, may):
        try:
            while data := source.recv(1 << 16):
                if may():
                    self.said += source is self.far
                    sink.sendall(data)
        except OSError:
            pass
        if self.mode == PASS:
            self.close()

    def close(self):
        for sock in self.near, self.far:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Proxy:
    def __init__(self, port):
        self.far, self.mode, self.lock = port, PASS, threading.Lock()
        self.all, self.silent = [], 0  # @silent: connections that were made since it is so
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near = self.listener.accept()[0]
            with self.lock:
                self.all.append(Connection(near, self.far, self.mode))
                self.silent += self.mode != PASS

    def become(self, mode):
        """For connections that are made from now on; those that pass bytes end."""
        with self.lock:
            for line in self.all:
                if line.mode == PASS:
                    line.close()
            self.mode, self.silent = mode, 0
