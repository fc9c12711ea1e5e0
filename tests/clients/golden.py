# SPDX-License-Identifier: Apache-2.0
"""Golden screens: tests/clients/screens/NAME.txt, what a tool draws of a given share, to the letter.

What varies from run to run is overwritten with the words below before a screen is compared or
written; all else must stay. After a change that is meant, one command writes all of them anew:

    ALIQUOT_WRITE_SCREENS=1 tools/test --suite clients
"""
import os
import pathlib
import re

SCREENS = pathlib.Path(__file__).parent / "screens"

VARIES = (
    # nvidia-smi: the date, above its screen and in -q; the release of the series 535.
    (r"^\w{3} \w{3} +\d+ [\d:]{8} \d{4}$", "DATE"),
    (r"(?<=^Timestamp {33}: ).*$", "DATE"),
    (r"(?<=NVIDIA-SMI 535)\.[.\d]{6}", ".RELEAS"),
    # nvtop: pid, user, and what the process takes of the host, in the columns of its table.
    (r"^ +PID +USER +DEV", " PID USER DEV"),
    (r"^ +\d+ +\S+ +(\d+ +\w+ +\S+ +\S+ +\S+) +\d+% +\d+MiB +(.*)$", r" PID USER \1 CPU HOST \2"),
)


def mask(screen):
    for pattern, word in VARIES:
        screen = re.sub(pattern, word, screen, flags=re.MULTILINE)
    return screen


def expect_screen(name, screen):
    path = SCREENS / f"{name}.txt"
    screen = mask("".join(line.rstrip() + "\n" for line in screen.splitlines()))
    if os.environ.get("ALIQUOT_WRITE_SCREENS"):
        path.write_text(screen, encoding="utf-8")
    assert screen == path.read_text(encoding="utf-8")
