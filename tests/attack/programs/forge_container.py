# SPDX-License-Identifier: Apache-2.0
"""DOOR PROCS LEADER: moves itself to the control group of PROCS, asks at DOOR, and says the answer. LEADER "exits": its first
thread has exited by then, so that /proc/PID/cgroup tells nothing of version 1."""
import pathlib
import sys
import time

sys.path.append(str(pathlib.Path(__file__).parents[2] / "lib"))
import joiner  # pylint: disable=wrong-import-position
import leaderless  # pylint: disable=wrong-import-position

door, procs, leader = sys.argv[1:]


def ask():
    peer = joiner.connect(door)
    peer.send(joiner.hello())
    answer = joiner.hear(peer)
    print("no answer" if answer is None else answer.name if answer.type == joiner.WELCOME else f"{answer.code} {answer.reason}",
          flush=True)
    time.sleep(1000)


pathlib.Path(procs).write_text("0", encoding="ascii")
if leader == "exits":
    leaderless.run(ask)
ask()
