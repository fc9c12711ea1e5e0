# SPDX-License-Identifier: Apache-2.0
"""GPU Slice's stress scene: twenty tenants at once want a tenth of the card each."""
import pathlib
import sys
import time

from aliquotd import PATIENCE_SECONDS, begun, daemon
from report import Report

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tests/lib"))
from together import together  # noqa: E402 (the path comes first)

TENANTS, FIT = 20, 10
TENTH = 100 << 20
SPEC = "gpus=1,memory=1000MiB,model=h200"

report = Report("stress", f"{TENANTS} tenants at once ask aliquotd for a tenth of one simulated card each; whoever is admitted "
                          "starts a program that holds memory. Then the programs are killed, the sessions released, and "
                          "as many ask again")


def ask_all(node, round_):
    """{name: status of the answer}; all ask at the same moment."""
    return together([f"{round_}-{number:02}" for number in range(TENANTS)],
                    lambda name: node.client().say("POST", "/v1/sessions", {"name": name, "memory": TENTH})[0])


def count(statuses, status):
    return sum(one == status for one in statuses.values())


def wait_until_nothing_is_promised(node):
    end = time.monotonic() + PATIENCE_SECONDS
    while node.client().ask("GET", "/v1/devices")["devices"][0]["promised_bytes"]:
        assert time.monotonic() < end
        time.sleep(0.01)


with daemon(SPEC) as node:
    card, = node.uuids()
    first = ask_all(node, "first")
    admitted = [name for name, status in first.items() if status == 201]
    for program in [begun(node.program(name, "hold", 1, uuid=card)) for name in admitted]:
        program.kill()
        program.wait()
    for name in admitted:
        node.client().ask("DELETE", f"/v1/sessions/{name}?force=true")
    wait_until_nothing_is_promised(node)
    again = ask_all(node, "again")
counts = {"success": count(first, 201), "denied": count(first, 409),
          "recovery_ok": count(again, 201) == FIT and count(again, 409) == TENANTS - FIT}
report.row("admitted", counts["success"], "", None, "GPU Slice 10", counts)
report.row("denied", counts["denied"], "", None, "GPU Slice 10")
report.row("not admitted again when all were killed and released", FIT - count(again, 201), "", 0, "GPU Slice 0")
report.finish()
assert counts == {"success": FIT, "denied": TENANTS - FIT, "recovery_ok": True}, counts
