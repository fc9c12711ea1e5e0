# SPDX-License-Identifier: Apache-2.0
"""Opens event streams and holds them until its input ends: streams.py SOCKET|PORT TARGET COUNT WHO...

WHO is a loopback address to connect from (PORT), or a uid to connect as (SOCKET; root only). Each opens COUNT
streams. Prints "open" once the daemon has answered or ended each; reads everything that comes, so that no
stream is cut off for being slow.
"""
import os
import resource
import selectors
import socket
import sys

where, target, count, *who = sys.argv[1:]
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def connect(one):
    if where.isdigit():
        return socket.create_connection(("127.0.0.1", int(where)), source_address=(one, 0))
    raw = socket.socket(socket.AF_UNIX)
    os.seteuid(int(one))
    try:
        raw.connect(where)
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
    return raw


waiting, selector = set(), selectors.DefaultSelector()
for one in who:
    for _ in range(int(count)):
        raw = connect(one)
        raw.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        selector.register(raw, selectors.EVENT_READ)
        waiting.add(raw)
selector.register(sys.stdin, selectors.EVENT_READ)
print_open = True
while True:
    for key, _ in selector.select():
        if key.fileobj is sys.stdin:
            sys.exit(0)
        try:
            more = key.fileobj.recv(1 << 16)
        except ConnectionError:
            more = b""
        waiting.discard(key.fileobj)
        if not more:
            selector.unregister(key.fileobj)
    if print_open and not waiting:
        print("open", flush=True)
        print_open = False
