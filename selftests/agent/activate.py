# SPDX-License-Identifier: GPL-2.0
"""activate.py EPFAGENT: act as its service manager. Exit status 0: the agent took the
socket, and reported that it was ready, when it reloaded, that it is alive, and when it
stopped.
"""

import json
import os
import signal
import socket
import sys
import tempfile


def run(agent, dir):
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(os.path.join(dir, "notify"))
    notify.settimeout(600)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(os.path.join(dir, "sock"))
    listener.listen()

    def hand_over():
        os.dup2(listener.fileno(), 3)
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1",
                          WATCHDOG_PID=str(os.getpid()), WATCHDOG_USEC="200000",
                          NOTIFY_SOCKET=os.path.join(dir, "notify"))
        os.execv(agent, [agent, "--config", "/dev/null"])

    def told():
        while (text := notify.recv(4096)) == b"WATCHDOG=1":
            pass
        return text
    pid = os.fork()
    if pid == 0:
        hand_over()
    said = [told()]
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(os.path.join(dir, "sock"))
    client.send(b'{"op": "ping"}')
    pong = json.loads(client.recv(16384))
    alive = [notify.recv(4096), notify.recv(4096)]
    os.kill(pid, signal.SIGHUP)
    said += [told(), told()]
    os.kill(pid, signal.SIGTERM)
    said.append(told())
    status = os.waitpid(pid, 0)[1]
    good = [b"READY=1", b"RELOADING=1", b"READY=1", b"STOPPING=1"]
    if "version" not in pong or status or alive != [b"WATCHDOG=1"] * 2 or \
            [s.split(b"\n")[0] for s in said] != good or \
            not os.path.exists(os.path.join(dir, "sock")):
        print(pong, status, said)
        return 1
    return 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as dir:
        sys.exit(run(sys.argv[1], dir))
