# SPDX-License-Identifier: Apache-2.0
"""screen.py SECONDS PATTERN COMMAND...: what a command draws on a terminal of 100 columns, 30 lines.

Waits until a line of the screen matches the pattern, or for the seconds; then ends the command and
prints the screen as it stood. Exit status 1: the pattern never came.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

import pyte

COLUMNS, LINES = 100, 30


def start(command):
    """The command behind a terminal, and our end of it. Lines come as Unicode, not by switching
    to a character set that pyte does not have."""
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        os.environ.update(TERM="xterm-256color", NCURSES_NO_UTF8_ACS="1")
        os.execvp(command[0], command)
    return child, terminal


def watch(terminal, pattern, deadline):
    """The screen, and whether the pattern came; a screen counts once nothing more is drawn for now."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                stream.feed(os.read(terminal, 1 << 16))
            except OSError:  # the command has ended
                return screen.display, any(map(pattern.search, screen.display))
        elif any(map(pattern.search, screen.display)):
            return screen.display, True
    return screen.display, False


def main():
    seconds, pattern, *command = sys.argv[1:]
    child, terminal = start(command)
    lines, found = watch(terminal, re.compile(pattern), time.monotonic() + float(seconds))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print("\n".join(line.rstrip() for line in lines).rstrip())
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
