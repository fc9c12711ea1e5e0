# SPDX-License-Identifier: Apache-2.0
"""watchers.py SOCKET: subscribes to the daemon's events and has its own end watched by so many that the kernel works for
milliseconds whenever the daemon reads a byte of it. Sends bytes until the connection ends, ten seconds at most, then
connects anew. Says "ready" then, and "refused" or "answered" when the new one has ended or was heard."""
import os
import resource
import select
import socket
import sys
import time

EPOLLS, DUPLICATES = 200, 1000
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))


def connect(request):
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(sys.argv[1])
    sock.sendall(request)
    return sock


def send_until_it_ends(sock):
    until = time.monotonic() + 10
    sock.settimeout(1)
    try:
        while time.monotonic() < until:
            sock.send(b"x")
    except OSError:
        pass
    print("ready", flush=True)


sock = connect(b"GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
watched = [os.dup(sock.fileno()) for _ in range(DUPLICATES)]
watching = [select.epoll() for _ in range(EPOLLS)]
for epoll in watching:
    for number in watched:
        epoll.register(number, select.EPOLLPRI)
send_until_it_ends(sock)
try:
    heard = connect(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").recv(1)
except OSError:
    heard = b""
print("answered" if heard else "refused", flush=True)
sys.stdin.read()
