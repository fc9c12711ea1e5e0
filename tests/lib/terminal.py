# SPDX-License-Identifier: Apache-2.0
"""aliquot top on terminals of a test's own (tmux).

    top = Tops(cli)
    terminal = top("--sort=name", columns=120)
    screen = terminal.wait(r"^>[+] train")
    terminal.press("Enter")
    top.close()
"""
import re
import subprocess
import time

import pytest

import place
from cli import UNSET
from hang import HANG_SECONDS


class Terminal:
    """A tmux of the test's own that runs aliquot top."""
    def __init__(self, sim, number, words, columns, rows, **variables):
        self.socket = sim.folder / f"tmux-{number}"
        # tmux passes its environment to the program; it does not start without a UTF-8 locale.
        self.env = {**sim.env(**UNSET), "LC_ALL": "C.UTF-8"}
        given = [f"{key}={value}" for key, value in {"LC_ALL": "C.UTF-8", **variables}.items()]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", rows, "env", *given, *words)

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-S", self.socket, *map(str, words)], env=self.env, capture_output=True,
                              text=True, timeout=HANG_SECONDS, check=False)
        return done.stdout if done.returncode == 0 else None

    def press(self, *keys):
        for key in keys:
            self.tmux("send-keys", key)

    def type(self, text):
        self.tmux("send-keys", "-l", "--", text)

    def screen(self, *how):
        return self.tmux("capture-pane", "-p", *how) or ""

    def wait(self, pattern, sessions=None):
        """The screen once it shows the pattern, and these sessions if given: an earlier one may be
        half drawn."""
        deadline = time.monotonic() + HANG_SECONDS
        while time.monotonic() < deadline:
            text = self.screen()
            if re.search(pattern, text, re.MULTILINE) and sessions in (None, names(text)):
                return text
            time.sleep(0.05)
        raise AssertionError(f"{pattern!r} {sessions or ''} never came:\n{text}")

    def has_ended(self):
        """The program's end closes its terminal, and so ends the tmux server."""
        deadline = time.monotonic() + HANG_SECONDS
        while self.tmux("has-session") is not None and time.monotonic() < deadline:
            time.sleep(0.05)
        return self.tmux("has-session") is None

    def close(self):
        self.tmux("kill-server")


class Tops:
    """The terminals that a test has opened."""
    def __init__(self, cli):
        place.need("tmux")
        if "not built" in cli("top", sim=False).stderr:
            pytest.skip("this build has no ncurses")
        self.cli = cli
        self.opened = []

    def __call__(self, *arguments, columns=80, rows=24, **variables):
        sim = self.cli.sim
        words = [str(sim.build.aliquot), "top", f"--sim={sim.spec}", "--interval=100ms", *arguments]
        self.opened.append(Terminal(sim, len(self.opened), words, columns, rows, **variables))
        return self.opened[-1]

    def close(self):
        for terminal in self.opened:
            terminal.close()


def names(screen):
    """The sessions, from top to bottom."""
    return re.findall(r"^.[+-] (\S+)", screen, re.MULTILINE)
