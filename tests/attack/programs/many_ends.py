# SPDX-License-Identifier: Apache-2.0
"""SOCKET RUNTIME N SECONDS HOLD: N sessions that end by SIGKILL at one instant. With HOLD 1, a socket's queue has a lock
on the `slots` of each, and no process does."""
import array
import fcntl
import http.client
import json
import os
import socket
import struct
import sys
import time

F_OFD_SETLK = 37
A_QUEUE = 200  # descriptors: the kernel bounds what one socket has in flight

path, runtime, most, seconds, must_hold = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5] == "1"
connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(path)
pairs = []
end = time.time() + seconds


def hold(slots):
    descriptor = os.open(slots, os.O_RDWR)
    fcntl.fcntl(descriptor, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
    pairs[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))])
    os.close(descriptor)


for at in range(most):
    if at % A_QUEUE == 0:
        pairs.append(socket.socketpair())
        pairs[-1][0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    left = max(1, int((end - time.time()) * 1000))
    connection.request("POST", "/v1/sessions", json.dumps(
        {"name": f"end-{at}", "memory": "4KiB", "ttl": f"{left}ms", "on_end": "kill"}),
        {"Content-Type": "application/json"})
    answer = connection.getresponse()
    told = answer.read()
    assert answer.status == 201, (answer.status, told)
    if must_hold:
        hold(f"{runtime}/sessions/end-{at}/slots")
print("ready", flush=True)
sys.stdin.read()
