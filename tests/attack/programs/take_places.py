# SPDX-License-Identifier: Apache-2.0
"""Makes sessions of 4 KiB until one is refused, and prints how many it has and the answer: SOCKET."""
import http.client
import json
import socket
import sys

connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(sys.argv[1])
made = 0
while True:
    connection.request("POST", "/v1/sessions", json.dumps({"name": f"taken-{made}", "memory": "4KiB"}),
                       {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read().decode()
    if answer.status != 201:
        break
    made += 1
print(made, answer.status, text)
