# SPDX-License-Identifier: Apache-2.0
"""SOCKET CONNECTIONS COUNT METHOD TARGET BODY: sends so many requests on each of so many connections without waiting
for an answer, says "ready", and then reads until all are answered; it prints how many. In BODY, @ is a size of memory
that no other of these requests says."""
import socket
import sys

PAGE = 4096
path, connections, count, method, target, body = sys.argv[1:]
connections, count = int(connections), int(count)


def request(number):
    said = body.replace("@", str((16 + number) * PAGE))
    return (f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(said)}\r\n\r\n{said}").encode()


sockets = []
for first in range(0, connections * count, count):
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(path)
    sock.sendall(b"".join(map(request, range(first, first + count))))
    sockets.append(sock)
print("ready", flush=True)
for sock in sockets:
    heard = b""
    while heard.count(b"HTTP/1.1 2") < count:
        part = sock.recv(1 << 16)
        assert part, heard
        heard += part
print(connections * count, flush=True)
