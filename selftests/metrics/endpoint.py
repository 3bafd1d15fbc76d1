# SPDX-License-Identifier: GPL-2.0
"""An endpoint that runs in the background, and requests to it."""

import contextlib
import http.client
import os
import socket
import subprocess
import time

import common

LIMIT_S = int(os.environ.get("EPF_LIMIT", 600))  # longer than anything here takes
PAUSE_S = .8  # a client that is slower may be disconnected


class Endpoint:
    """Run serve, or serve_fake with a case; where is the address that it prints."""

    def __init__(self, listen, case=None):
        program = "serve_fake" if case else "serve"
        self.process = subprocess.Popen(
            [os.path.join(common.BIN, program), listen] + ([case] if case else []),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.where = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate(timeout=LIMIT_S)

    def stop(self):
        """Return the exit status and its error output."""
        errors = self.process.communicate(timeout=LIMIT_S)[1]
        return self.process.returncode, errors

    def address(self):
        """HOST:PORT"""
        return self.where.split("/")[2]

    def socket(self, *option):
        """A connection, by TCP perhaps with an option of setsockopt()."""
        if self.where.startswith("/"):
            s = socket.socket(socket.AF_UNIX)
            s.connect(self.where)
        else:
            host, port = self.address().rsplit(":", 1)
            s = socket.socket(socket.AF_INET6 if "[" in host else socket.AF_INET)
            if option:
                s.setsockopt(*option)
            s.connect((host.strip("[]"), int(port)))
        s.settimeout(LIMIT_S)
        return s

    def ask(self, path="/metrics", method="GET", body=None, **headers):
        """Return status, headers, body. Try three times, for a client that is disconnected
        because the machine stalled; but not for a silent endpoint.
"""
        for _ in range(2):
            begin = time.monotonic()
            try:
                return self.ask_once(path, method, body, headers)
            except (http.client.HTTPException, ConnectionError):
                if time.monotonic() - begin < PAUSE_S:
                    raise
        return self.ask_once(path, method, body, headers)

    def ask_until_answered(self):
        """For an endpoint with a request limit so short that any request may be cut off.
        Fail after LIMIT_S of silence, and if it has ended."""
        while self.process.poll() is None:
            with contextlib.suppress(http.client.HTTPException, ConnectionError):
                return self.ask_once("/metrics", "GET", None, {})
        raise AssertionError("the endpoint has ended")

    def ask_once(self, path, method, body, headers):
        c = http.client.HTTPConnection("localhost", timeout=LIMIT_S)
        c.sock = self.socket()
        c.request(method, path, body, headers)
        answer = c.getresponse()
        got = answer.status, answer.headers, answer.read()
        c.close()
        return got
