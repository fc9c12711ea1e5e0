# SPDX-License-Identifier: Apache-2.0
"""Changes the labels of its session again and again, each change an event of the audit trail: SOCKET SESSION TIMES."""
import http.client
import json
import socket
import sys

path, name, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(path)
for i in range(times):
    connection.request("PATCH", f"/v1/sessions/{name}", json.dumps({"labels": {"n": str(i)}}),
                       {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read().decode()
    assert answer.status == 200, text
