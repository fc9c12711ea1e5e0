# SPDX-License-Identifier: Apache-2.0
"""The daemon: who is admitted, what its programs see of changes, deaths and restarts, and what it tells."""
import contextlib
import time

from aliquotd import Daemon
from story import MIB, story

SIZE = 256 * MIB
PATIENCE_SECONDS = 20
SETTLED = ("id", "name", "owner", "version", "created_at", "expires_at", "labels")


def create(daemon, name, memory, card):
    return daemon.ask("POST", "/v1/sessions", {"name": name, "memory": memory, "gpus": [card]})


def card_of(t, daemon):
    """What the daemon says of the card under check."""
    listed = daemon.ask("GET", "/v1/devices")[1]["devices"]
    found = [device for device in listed if device["uuid"] == t.books.nvml.uuid]
    if not found:
        t.skip(f"the daemon has no whole card of that UUID here: {listed}")
    return found[0]


def admit(t, daemon):
    """Two sessions, of which the second takes all that the first leaves of the card."""
    card = card_of(t, daemon)
    rest = card["room_bytes"] - t.capacity
    answers = [create(daemon, name, memory, card["uuid"]) for name, memory in (("one", t.capacity), ("two", rest))]
    t.claim("two are admitted", [status for status, _ in answers] == [201, 201], answers)
    status, refused = create(daemon, "three", MIB, card["uuid"])
    t.claim("a third is refused, with what is free", status == 409 and refused["free_bytes"] == 0, refused)
    t.claim("the card is as large as NVML says", card["memory_bytes"] == t.books.nvml.memory().total, card)


def look(program):
    """What the program sees now."""
    program.go_on()
    return program.until("follows")


def change(t, daemon, program):
    for limit in (t.capacity // 2, t.capacity):
        status, answer = daemon.ask("PATCH", "/v1/sessions/one", {"memory": limit})
        seen = look(program)
        t.claim(f"a limit of {limit} bytes is seen by who runs", status == 200 and seen["total"] ==
                seen["device_total"] == limit, (answer, seen))
    status, answer = daemon.ask("PATCH", "/v1/sessions/one", {"memory": t.capacity + MIB})
    t.claim("more than there is, is refused and changes nothing", status == 409 and
            look(program)["total"] == t.capacity, answer)


def compare(t, daemon, programs):
    """The daemon's books, the ledger as the command reads it, and NVML's."""
    rows = t.table(("session", "daemon", "ledger", "NVML's process"))
    for program in programs:
        held, ledger = daemon.holders(program.session), t.books.ledger(program.session)
        t.claim(f"{program.session}: the daemon lists its program and what it is charged",
                held == {program.pid: ledger} and ledger == daemon.used(program.session) >= SIZE, (held, ledger))
        seen = t.books.process(program.pid)
        rows.append([program.session, held.get(program.pid, 0), ledger, seen])
        if seen is not None:
            t.figure(f"{program.session}: NVML's bytes of the process less the ledger's", seen - ledger, "B",
                     at_most=32 * MIB)


def scrape(t, daemon, programs):
    """Soon after a start: cards are looked at then, and each half minute."""
    metrics, uuid = daemon.metrics(), t.books.nvml.uuid
    t.fact("metrics", metrics)
    for program in programs:
        used = [value for key, value in metrics.items()
                if key.startswith("aliquot_session_memory_used_bytes") and f'session="{program.session}"' in key]
        t.claim(f"{program.session}: /metrics says what the ledger has", used == [t.books.ledger(program.session)], used)
    told = [value for key, value in metrics.items() if key.startswith("aliquot_gpu_memory_used_bytes") and uuid in key]
    t.claim("/metrics has the card's used bytes, and they are no less than what was taken", len(told) == 1 and
            told[0] >= 2 * SIZE, told)


def restart(t, daemon, programs):
    """While one churns and the others look on."""
    before = [{key: daemon.session(program.session)[key] for key in SETTLED} for program in programs]
    times = []
    with t.start("limits.py", "churn", limit=t.capacity, door="joined", session="one", settle=False) as churn:
        churn.until("churns")
        for _ in range(t.rounds):
            daemon.kill()
            totals = [look(program)["total"] for program in programs]
            times.append(daemon.start())
            t.claim("programs see their limits while it is away and after it",
                    totals == [look(program)["total"] for program in programs], totals)
            after = [{key: daemon.session(program.session)[key] for key in SETTLED} for program in programs]
            t.claim("sessions are what they were", before == after, (before, after))
        t.claim("who takes and gives back all the while has noticed nothing", churn.process.poll() is None, churn.stderr)
        t.figure("killed and started again, until it answers", max(times), "s", raw=times)
        bury(t, daemon, churn)


def bury(t, daemon, program):
    """Seconds until a killed program's bytes are off the daemon's books, by asking it again and again.
    They count from the end of the process: until then the driver takes its memory apart."""
    killed = time.monotonic()
    program.kill()
    began = time.monotonic()
    t.figure("a killed program is gone after", began - killed, "s")
    while program.pid in daemon.holders("one") and time.monotonic() - began < PATIENCE_SECONDS:
        pass
    t.figure("a dead program's bytes are back in the ledger after", time.monotonic() - began, "s", at_most=0.01)
    held = daemon.holders("one")
    t.claim("the dead one holds nothing, the living what they did", program.pid not in held and
            sum(held.values()) == daemon.used("one"), held)


@story("daemon", "aliquotd on this driver: two sessions admitted and a third refused, a limit changed under its program, the "
                 "daemon killed and started again under them, a dead program's bytes back, its figures beside NVML's",
       priority=1, seconds=240)
def the_daemon(t):
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(Daemon(t))
        admit(t, daemon)
        programs = [stack.enter_context(t.start("limits.py", "follow", SIZE, limit=t.capacity, door="joined", session=name))
                    for name in ("one", "two")]
        for program in programs:
            program.until("follows")
        compare(t, daemon, programs)
        change(t, daemon, programs[0])
        restart(t, daemon, programs)
        scrape(t, daemon, programs)
        for program in programs:
            t.claim(f"{program.session}: its program ends well", program.finish().rc == 0, program.stderr)
            status, answer = daemon.ask("DELETE", f"/v1/sessions/{program.session}")
            t.claim(f"{program.session} is released", status == 204, answer)
        t.claim("it ends when it is told to", daemon.stop() == 0, daemon.log.read_text(encoding="utf-8")[-500:])
