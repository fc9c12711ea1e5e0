# SPDX-License-Identifier: Apache-2.0
"""urgent.py SOCKET: an urgent byte to the daemon on connections on which nothing, half a request and a stream of events
stand. Says "ready"."""
import socket
import sys
import time

kept = []
for first in (b"", b"GET /healthz HTTP/1.1\r\n", b"GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n"):
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(sys.argv[1])
    sock.sendall(first)
    time.sleep(0.1)
    sock.send(b"x", socket.MSG_OOB)
    kept.append(sock)
print("ready", flush=True)
sys.stdin.read()
