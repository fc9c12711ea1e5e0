# SPDX-License-Identifier: Apache-2.0
"""A daemon that gives the answers that a test sets, for answers that the real one does not give on
demand.

    with FakeDaemon(sim, [(409, {"type": "/problems/busy", "detail": "..."}), HANG]) as fake:
        cli("rm", "s")
    assert fake.heard[0].method == "DELETE"

The answers are given in turn, the last one repeatedly: (status, JSON or text), CLOSE, or HANG.
"""
import json
import os
import socketserver
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler

CLOSE, HANG = "close", "hang"


@dataclass
class Heard:
    method: str
    path: str
    headers: dict
    body: str


class FakeDaemon:
    def __init__(self, sim, answers):
        self.answers, self.heard, self.over = list(answers), [], threading.Event()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                fake.heard.append(Heard(self.command, self.path, dict(self.headers), body))
                self.say(fake.answers.pop(0) if len(fake.answers) > 1 else fake.answers[0])

            def say(self, answer):
                self.close_connection = True
                if answer == HANG:
                    fake.over.wait()
                if answer in (HANG, CLOSE):
                    return
                status, said = answer
                text = said if isinstance(said, str) else json.dumps(said)
                self.send_response(status)
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST = do_PATCH = do_DELETE = answer

            def address_string(self):
                return "socket"

            def log_message(self, *_):
                pass

        class Server(socketserver.ThreadingUnixStreamServer):
            daemon_threads = True

        self.server = Server(str(sim.runtime / "aliquotd.sock"), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
        os.unlink(self.server.server_address)  # as a daemon that shuts down properly does
