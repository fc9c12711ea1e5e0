# SPDX-License-Identifier: Apache-2.0
"""A program under check, with a limit or without one, and what it says.

Programs of programs/ say "@ {json}" lines (programs/said.py), and stop at a *hold* until they are
told to go on: the moment to read the books. Everything else that they print is kept for reports only.

    how: limit    bytes, or None: the program meets the bare driver
         door     "run" (aliquot run), "preload" (the environment alone), "facade" (LD_LIBRARY_PATH),
                  "joined" (the environment, into a session that a daemon has made with that limit)
         compute  its cap on GPU time, in percent (not "joined": there it is the daemon's to say)
         session  its name; default: one of its own
         env      further variables
         wrap     words to put before the command (a debugger)
         settle   wait until the card has forgotten the story's earlier programs (default: yes)

seconds: from its start to its end, as seen from outside.
"""
import json
import os
import signal
import subprocess
import tempfile
import time

TAIL = 4000


class Ended(Exception):
    """A program was over before it said what its story waits for."""


class Program:
    def __init__(self, teller, command, *, limit=None, door="run", compute=None, session=None, env=None,
                 wrap=(), settle=True):
        self.teller, self.compute, self.limit, self.session = teller, compute, limit, session or teller.session()
        self.said, self.other, self.seconds = [], [], None
        command = [str(word) for word in (*wrap, *command)]
        variables = {**os.environ, **(env or {})}
        if limit is not None:
            command = self.limited(teller, command, variables, door)
        self.record = {"command": " ".join(command), "door": door if limit is not None else "none",
                       "env": env or {}, "rc": None, "stderr": ""}
        teller.result["programs"].append(self.record)
        teller.save()
        self.errors = tempfile.TemporaryFile(mode="w+", errors="replace", dir=teller.scratch)
        if settle:
            teller.books.settle(teller.ended)
        self.card_before, self.ended = teller.books.card(), teller.ended
        self.began = time.perf_counter()
        self.process = subprocess.Popen(command, env=variables, cwd=teller.scratch, text=True,
                                        errors="replace", stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors)

    def limited(self, teller, command, variables, door):
        """The command to start, with `variables` changed as the door wants it."""
        if door == "run":
            cap = ["--compute", str(self.compute)] if self.compute else []
            return [str(teller.aliquot), "run", "--session", self.session, "--memory",
                    str(self.limit), *cap, "--", *command]
        variables["ALIQUOT_SESSION"] = self.session
        if door != "joined":
            variables["ALIQUOT_MEMORY"] = str(self.limit)
            if self.compute:
                variables["ALIQUOT_COMPUTE"] = str(self.compute)
        if door in ("preload", "joined"):
            variables["LD_PRELOAD"] = str(teller.library)
        else:
            older = variables.get("LD_LIBRARY_PATH")
            variables["LD_LIBRARY_PATH"] = str(teller.shims) + (f":{older}" if older else "")
        return command

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.kill() if error[0] else self.finish()
        self.finish()

    @property
    def pid(self):
        """The program's own, as it said: aliquot run and debuggers stay before it."""
        return self.said[-1]["pid"] if self.said else self.process.pid

    @property
    def stderr(self):
        self.errors.seek(0)
        return self.errors.read()

    def read(self):
        """The next thing said, None at the end."""
        for line in self.process.stdout:
            if line.startswith("@ "):
                self.said.append(json.loads(line[2:]))
                return self.said[-1]
            self.other.append(line.rstrip("\n"))
        return None

    def until(self, at):
        """Reads up to what is said at `at`; Ended if the program is over before."""
        while True:
            said = self.read()
            if said is None:
                self.finish()
                raise Ended(f"{self.record['command']} ended with {self.rc} before {at!r}: "
                            f"{self.stderr[-TAIL:]}")
            if said["at"] == at:
                return said

    def holds(self):
        """Each hold, one by one; the program goes on when the next is asked for."""
        for said in iter(self.read, None):
            if said.get("hold"):
                yield said
                self.go_on()

    def go_on(self):
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it is over: the next read says so

    def kill(self):
        """The program alone, as the kernel or a user would; what started it ends by itself."""
        os.kill(self.pid, signal.SIGKILL)
        self.process.wait()

    def finish(self):
        """To its end, whatever it still holds at. Gives itself."""
        if not self.process.stdin.closed:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        while self.read() is not None:
            pass
        self.record["rc"] = self.process.wait()
        if self.limit is not None and self.said and not any(said.get("with_us") for said in self.said):
            self.teller.claim("the program is in a session", False, self.record["command"])
        self.seconds = self.seconds or time.perf_counter() - self.began
        self.ended.add(self.pid)
        self.record["stderr"] = self.stderr[-TAIL:]
        return self

    @property
    def rc(self):
        return self.process.returncode

    def get(self, at):
        """What was said there, the last time; {} if it never was."""
        return next((said for said in reversed(self.said) if said["at"] == at), {})
