# SPDX-License-Identifier: Apache-2.0
"""What tools that only look are shown: nvidia-smi and pynvml see the limit as the card."""
import csv
import subprocess

from story import MIB, reason_of, story

FIELDS = ("memory.total", "memory.used", "memory.free", "memory.reserved", "name", "uuid", "pci.bus_id",
          "driver_version")


def smi(t, tool, session=None):
    words = [tool, f"--id={t.books.nvml.uuid}", f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits"]
    if session:
        words = [t.aliquot, "run", "--session", session, "--memory", str(t.capacity), "--", *words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0 or not done.stdout.strip():
        return None, f"ended with {done.returncode}: {(done.stdout + done.stderr)[-300:]}"
    return dict(zip(FIELDS, (word.strip() for word in next(csv.reader(done.stdout.splitlines()))))), ""


@story("nvidia-smi", "nvidia-smi under a limit: the memory is the session's, all else the driver's",
       priority=2)
def nvidia_smi_sees_the_limit(t):
    tool = t.need_tool("nvidia-smi", "/usr/local/nvidia/bin/nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi")
    alone, why = smi(t, tool)
    if not alone:
        t.skip(f"nvidia-smi fails without Aliquot as well: {why}")
    with t.start("limits.py", "bytes", limit=t.capacity) as program:
        program.until("report")
        ours, why = smi(t, tool, program.session)
        charged = t.books.ledger(program.session)
        if t.claim("it runs with Aliquot", ours, why):
            t.claim("total is the limit", int(ours["memory.total"]) == t.capacity // MIB, ours)
            t.claim("used is what the session holds", abs(int(ours["memory.used"]) - charged / MIB) <= 1,
                    (ours, charged))
            for field in ("name", "uuid", "pci.bus_id", "driver_version"):
                t.claim(f"{field} is the driver's", ours[field] == alone[field], (ours, alone))
    t.fact("without Aliquot", alone)
    t.fact("with Aliquot", ours)


@story("pynvml", "pynvml under a limit: memory by both versions, and the session's own processes",
       priority=2)
def pynvml_sees_the_limit(t):
    t.need("pynvml")
    alone = t.run("pynvml_views.py", t.books.nvml.uuid)
    if alone.rc != 0:
        t.skip(reason_of(alone))
    with t.start("limits.py", "bytes", limit=t.capacity) as program:
        program.until("report")
        ours = t.run("pynvml_views.py", t.books.nvml.uuid, limit=t.capacity, session=program.session)
        charged, holder = t.books.ledger(program.session), program.pid
    seen, bare = ours.get("views"), alone.get("views")
    if not t.claim("it ends well", ours.rc == 0, ours.stderr):
        return
    t.claim("total is the limit", seen["total"] == seen["total_v2"] == t.capacity, seen)
    t.claim("used and free are the session's",
            seen["used"] == charged and seen["free"] == t.capacity - charged, (seen, charged))
    t.claim("the session's process is listed with its charge",
            seen["processes"].get(str(holder)) == charged, seen)
    t.claim("nobody else is", set(seen["processes"]) == {str(holder)}, seen)
    for field in ("name", "uuid", "count"):
        t.claim(f"{field} is the driver's", seen[field] == bare[field], (seen, bare))
