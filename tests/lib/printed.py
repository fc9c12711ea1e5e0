# SPDX-License-Identifier: Apache-2.0
"""The output of a program on a terminal without input.

    text = printed(["aliquot", "ls"], columns=80, env=env)
"""
import fcntl
import os
import struct
import subprocess
import termios
import tty

import place
from hang import HANG_SECONDS


def printed(words, *, columns=0, env=None):
    """As bytes, after a successful end; 0 columns: the terminal reports no width."""
    place.need("terminals")
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24 if columns else 0, columns, 0, 0))
    with subprocess.Popen([str(word) for word in words], env=env, stdin=subprocess.DEVNULL, stdout=theirs) as process:
        os.close(theirs)
        text = b""
        try:
            while more := os.read(ours, 65536):
                text += more
        except OSError:  # the other end is closed
            pass
        assert process.wait(HANG_SECONDS) == 0
    os.close(ours)
    return text
