# SPDX-License-Identifier: Apache-2.0
"""Makes sessions, keeps something of each, and ends them, until one is refused: SOCKET FOLDER HOW.

FOLDER has the sessions. HOW is "write" (a descriptor of `slots` to write by), "map" (`slots` is mapped to read, without
a descriptor), "path" (a descriptor of `limits` that opens nothing) or "nothing", which ends after 400 rounds. It prints
how many it made and the last answer, and keeps what it has.
"""
import http.client
import json
import mmap
import os
import pathlib
import resource
import socket
import sys

ROUNDS = 400 if sys.argv[3] == "nothing" else 2000
KEEPS = {
    "write": lambda session: os.open(session / "slots", os.O_RDWR),
    "path": lambda session: os.open(session / "limits", os.O_PATH),
    "nothing": lambda session: None,
}


def map_slots(session):
    with open(session / "slots", "rb") as slots:
        return mmap.mmap(slots.fileno(), 4096, prot=mmap.PROT_READ)


keep = KEEPS.get(sys.argv[3], map_slots)
connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


def ask(method, target, body=None):
    connection.request(method, target, body and json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, answer.read().decode().strip()


kept, made, refusal = [], 0, ""
while made < ROUNDS:
    name = f"kept-{made}"
    status, refusal = ask("POST", "/v1/sessions", {"name": name, "memory": "4KiB"})
    if status != 201:
        break
    kept.append(keep(pathlib.Path(sys.argv[2]) / name))
    assert ask("DELETE", f"/v1/sessions/{name}")[0] == 204
    made += 1
print("ready", made, refusal, sep="\n", flush=True)
sys.stdin.read()
