# SPDX-License-Identifier: Apache-2.0
"""The daemon is killed and started again while 200 programs take and give back memory."""
import json
import statistics
import subprocess
import time

from aliquotd import PATIENCE_SECONDS, SIMULATED, begun, daemon
from report import Report
from stage import BUILD

SESSIONS, PROGRAMS, RESTARTS = 50, 4, 10
NAP_US = 2000
AWAY_SECONDS = 0.3
LIST_SECONDS = 0.2  # longer than a list of sessions is kept (docs/api.md)

report = Report("restart", f"{SESSIONS * PROGRAMS} programs in {SESSIONS} sessions on 4 simulated GPUs, each with an allocation "
                           f"or a release of up to 64 KiB every {NAP_US // 1000} ms; aliquotd is killed (SIGKILL) and started "
                           f"again {RESTARTS} times, and away for {AWAY_SECONDS} s each time. Then all stand still, and what "
                           "the daemon says of each session is compared with what the simulator's own books granted to it")


def stand_still(programs):
    """Calls and errors of all."""
    for program in programs:
        program.stdin.write("\n")
        program.stdin.flush()
    told = [list(map(int, program.stdout.readline().split())) for program in programs]
    return [sum(column) for column in zip(*told)]


def granted(node):
    """{session: bytes}, by the simulator."""
    env = {"ALIQUOT_SIM": node.spec, "LD_LIBRARY_PATH": str(SIMULATED)}
    done = subprocess.run([BUILD / "src/sim/aliquot-sim-oracle"], env=env, check=True, capture_output=True, text=True)
    return {name: sum(card["current_bytes"] for card in cards) for name, cards in json.loads(done.stdout)["tags"].items()}


def charged(node):
    """{session: bytes}, by the daemon."""
    listed = node.client().ask("GET", "/v1/sessions?limit=1000")["sessions"]
    return {one["name"]: sum(device["used_bytes"] for device in one["devices"]) for one in listed}


def restart(node):
    """Ms from its start until it answers."""
    node.kill()
    time.sleep(AWAY_SECONDS)
    began = time.perf_counter()
    node.start()
    took = (time.perf_counter() - began) * 1e3
    time.sleep(AWAY_SECONDS)
    return took


with daemon("gpus=4,memory=8GiB,model=h200,context=1MiB") as node:
    for number in range(SESSIONS):
        node.client().ask("POST", "/v1/sessions", {"name": f"s{number:02}", "memory": "256MiB", "gpus": [str(number % 4)]})
    programs = [begun(node.program(f"s{number:02}", "work", PROGRAMS, NAP_US, visible=str(number % 4)))
                for number in range(SESSIONS)]
    times = [restart(node) for _ in range(RESTARTS)]
    calls, errors = stand_still(programs)
    time.sleep(LIST_SECONDS)
    ledger, books = charged(node), granted(node)
    drift = sum(abs(bytes_ - books.get(name, 0)) for name, bytes_ in ledger.items())
    for program in programs:
        program.stdin.close()
    ended = [program.wait(PATIENCE_SECONDS) for program in programs]
assert len(ledger) == SESSIONS and sum(ledger.values()) > 0
report.row(f"errors of {SESSIONS * PROGRAMS} programs in {calls} calls", errors + sum(map(bool, ended)), "", 0,
           "nvshare: every client exits")
report.row(f"drift of {sum(ledger.values())} bytes charged", drift, "B", 0, "", {"ledger": ledger, "simulator": books})
report.row("from its start until it answers, median", statistics.median(times), "ms", None, "", times)
report.finish()
