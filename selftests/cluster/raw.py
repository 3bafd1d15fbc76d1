# SPDX-License-Identifier: GPL-2.0
"""A client of NATS that speaks the protocol by hand, so that it can send what the agent
never would.
"""

import json
import socket
import ssl

import keys


class Connection:
    """A connection to the broker, by TLS with a client certificate if @tls names one (CA,
    certificate, key), and by nkey if @nkey is (folder, name, public key)."""

    def __init__(self, address, tls=None, nkey=None, timeout=60):
        self.socket = socket.create_connection(address, timeout)
        self.rest = b""
        self.headers = b""  # of the last message
        info = json.loads(self.line().partition(b" ")[2])
        if tls:
            context = ssl.create_default_context(cafile=tls[0])
            context.load_cert_chain(*tls[1:])
            self.socket = context.wrap_socket(self.socket, server_hostname=address[0])
        say = {"verbose": False, "pedantic": False, "headers": True, "lang": "test",
               "version": "1", "no_responders": True}
        if nkey:
            dir, name, public = nkey
            say.update(nkey=public, sig=keys.sign(dir, name, info["nonce"].encode()))
        self.send(b"CONNECT " + json.dumps(say).encode() + b"\r\n")
        self.inboxes = 0
        self.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def more(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError("the broker hung up")
        self.rest += data

    def line(self):
        while b"\r\n" not in self.rest:
            self.more()
        line, _, self.rest = self.rest.partition(b"\r\n")
        return line

    def exactly(self, n):
        while len(self.rest) < n + 2:
            self.more()
        data, self.rest = self.rest[:n], self.rest[n + 2:]
        return data

    def receive(self):
        """The next message as (subject, reply, data), or "PONG"."""
        while True:
            words = self.line().split()
            kind = words[0].upper() if words else b""
            if kind == b"PING":
                self.send(b"PONG\r\n")
            elif kind == b"PONG":
                return "PONG"
            elif kind == b"-ERR":
                raise ConnectionError(b" ".join(words[1:]).decode())
            elif kind in (b"MSG", b"HMSG"):
                return self.message(kind, words)

    def message(self, kind, words):
        sizes = 2 if kind == b"HMSG" else 1
        numbers = [int(w) for w in words[-sizes:]]
        reply = words[3].decode() if len(words) == 4 + sizes else None
        data = self.exactly(numbers[-1])
        self.headers = data[:numbers[0]] if sizes == 2 else b""
        return words[1].decode(), reply, data[numbers[0]:] if sizes == 2 else data

    def flush(self):
        """Wait until the broker has taken all that was sent. A refusal is an exception."""
        self.send(b"PING\r\n")
        while self.receive() != "PONG":
            pass

    def publish(self, subject, data, reply="", **headers):
        """@headers: with '_' for '-'."""
        head = "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in headers.items())
        head = f"NATS/1.0\r\n{head}\r\n".encode() if headers else b""
        sizes = f"{len(head)} {len(head + data)}" if headers else f"{len(data)}"
        self.send(f"{'HPUB' if headers else 'PUB'} {subject} {reply} {sizes}\r\n".encode() + head +
                  data + b"\r\n")

    def subscribe(self, subject, sid=1):
        self.send(f"SUB {subject} {sid}\r\n".encode())
        self.flush()

    def request(self, subject, data=b""):
        """Publish, and return the answer as JSON."""
        self.inboxes += 1
        inbox = f"_INBOX.test.{self.inboxes}"
        self.subscribe(inbox, 1000 + self.inboxes)
        self.publish(subject, data, inbox)
        while True:
            got = self.receive()
            if got != "PONG" and got[0] == inbox:
                return json.loads(got[2]) if got[2] else {}
