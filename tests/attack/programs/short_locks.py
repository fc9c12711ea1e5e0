# SPDX-License-Identifier: Apache-2.0
"""SOCKET FOLDER COUNT LOCKS: COUNT sessions, the `slots` of each saying that every slot was taken, with LOCKS locks of one
byte: a look at one takes long enough to matter and too short to be noted. Says "ready", and waits."""
import fcntl
import http.client
import json
import os
import pathlib
import socket
import struct
import sys

F_OFD_SETLK = 37
HIGH, SLOTS = 64, 4096  # src/proto/page.h: struct slots_page
path, folder, count, locks = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(path)
held = []
for i in range(count):
    connection.request("POST", "/v1/sessions", json.dumps({"name": f"short-{i}", "memory": "4KiB"}),
                       {"Content-Type": "application/json"})
    answer = connection.getresponse()
    told = answer.read()
    assert answer.status == 201, (answer.status, told)
    held.append(os.open(folder / f"short-{i}" / "slots", os.O_RDWR))
    os.pwrite(held[-1], struct.pack("<I", SLOTS), HIGH)
    for k in range(locks):
        fcntl.fcntl(held[-1], F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 4 * k, 1, 0))
print("ready", flush=True)
sys.stdin.read()
