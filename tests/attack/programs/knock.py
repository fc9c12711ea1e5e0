# SPDX-License-Identifier: Apache-2.0
"""FOLDER COUNT TIMES: connects so many times to the socket of each of the sessions 0, 1, ... in FOLDER, says a byte and
closes the connection. Says "ready"."""
import socket
import sys

folder, count, times = sys.argv[1:]
for _ in range(int(times)):
    for name in range(int(count)):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
            peer.connect(f"{folder}/{name}/socket")
            peer.send(b"x")
print("ready", flush=True)
sys.stdin.read()
