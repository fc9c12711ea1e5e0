# SPDX-License-Identifier: Apache-2.0
"""Makes a program of `slots`, with 40 MiB behind it, ends the session, and becomes that program: SOCKET SLOTS NAME.

While it runs the kernel lets nobody write to its file. Ends with 3 where the daemon cut the file before it ran.
"""
import errno
import http.client
import os
import pathlib
import shutil
import socket
import sys

BEHIND = 40 << 20
path, slots, name = sys.argv[1:]
connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(path)
with open(slots, "r+b") as file:
    file.write(pathlib.Path(shutil.which("sleep")).read_bytes())
    file.truncate()
    os.posix_fallocate(file.fileno(), 0, BEHIND)
os.chmod(slots, 0o755)
program = os.open(slots, os.O_RDONLY)
connection.request("DELETE", f"/v1/sessions/{name}")
answer = connection.getresponse()
assert answer.status == 204, answer.read()
print("ready", flush=True)
while True:  # the daemon has it open for a moment more
    try:
        os.execve(program, ["sleep", "infinity"], os.environ)
    except OSError as error:
        if error.errno == errno.ENOEXEC:
            sys.exit(3)
        if error.errno != errno.ETXTBSY:
            raise
