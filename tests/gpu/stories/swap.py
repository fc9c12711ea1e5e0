# SPDX-License-Identifier: Apache-2.0
"""Sessions that take turns on a card too small for both (docs/swap.md).

What is not theirs of the card is promised to a session that has no program: nothing is taken. Each of the two may
have three quarters of the capacity, and together they never have more of the card than one and a half of it, whatever
goes wrong.
"""
import contextlib
import statistics
import threading
import time

from aliquotd import Daemon
from loads import sessions
from probe import Books
from story import MIB, story

from .daemon import card_of

APART = 32 * MIB
PATIENCE_SECONDS = 20
LOOK_SECONDS, PAUSE_SECONDS = 0.002, 0.05
AWAY_SECONDS = 0.5
ROUNDS, BUSY_ROUNDS, AWAY_ROUNDS = 2, 3, 2
LINK_PART, SPARE_SECONDS = 1.15, 0.03
NO_EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:False"}


class Watch(threading.Thread):
    """Looks at NVML's books and the daemon's all the while: the most that the programs had of the card, and
    [(time, {session: state})]."""
    def __init__(self, t, daemon, names):
        super().__init__(daemon=True)
        self.books, self.aliquotd, self.names = Books(t), daemon, names
        self.before, self.pids = self.books.card(), set()
        self.most, self.most_of_card, self.looks, self.is_over = 0, 0, [], False
        self.start()

    def run(self):
        while not self.is_over:
            each = self.books.processes(self.pids)
            card = self.books.card() - self.before
            self.most_of_card = max(self.most_of_card, card)
            self.most = max(self.most, card if None in each else sum(each))
            with contextlib.suppress(OSError, ValueError):  # it is being killed
                self.looks.append((time.monotonic(), {name: self.told(name)["state"] for name in self.names}))
            time.sleep(LOOK_SECONDS)

    def told(self, name):
        return self.aliquotd.session(name).get("swap") or {"state": None, "out_bytes": 0, "moved_bytes": 0, "holds": 0}

    def end(self):
        self.is_over = True
        self.join()


class Company:
    """The sessions and their programs; `context`: the most that NVML shows of one before it has a block."""
    def __init__(self, t, stack, words, env=None):
        self.t, self.stack, self.words, self.env = t, stack, words, env
        self.daemon = stack.enter_context(Daemon(t))
        card = card_of(t, self.daemon)
        if card["room_bytes"] < 2 * t.capacity:
            t.skip(f"the card has no room for twice the capacity: {card}")
        self.limit = t.capacity * 3 // 4
        terms = {"memory": self.limit, "swap": True}
        rest, *self.names = stack.enter_context(
            sessions(t, self.daemon, [{"memory": card["room_bytes"] - t.capacity}, terms, terms]))
        status, refused = self.daemon.ask("POST", "/v1/sessions", {"name": t.session(), "memory": t.capacity + MIB,
                                                                  "swap": True, "gpus": [card["uuid"]]})
        t.claim("what is left to sessions that swap is the capacity, and not a byte more",
                status == 409 and refused["free_bytes"] == t.capacity, (rest, refused))
        self.watch = Watch(t, self.daemon, self.names)
        stack.callback(self.watch.end)
        self.programs, self.context, self.alone = [], 0, {}

    def start(self, name, *more):
        """Up to its first round; None: no session is on."""
        program = self.stack.enter_context(self.t.start(*self.words, *more, limit=self.limit, door="joined", session=name,
                                                        env=self.env))
        ready = program.until("ready")
        if not ready["with_us"]:
            return None
        self.context = max(self.context, self.t.books.read(program)["taken"])
        self.watch.pids.add(program.pid)
        program.go_on()
        program.until("round")
        self.programs.append(program)
        return program

    def told(self, name):
        return self.watch.told(name)

    def moved(self):
        return sum(self.told(name)["moved_bytes"] for name in self.names)

    def wait(self, what):
        end = time.monotonic() + PATIENCE_SECONDS
        while not what() and time.monotonic() < end:
            time.sleep(LOOK_SECONDS)
        return what()

    def change(self, comer, leaver):
        """The leaver is idle and the comer is told to go on: (bytes moved, seconds from when the leaver does not run
        any more until the comer does)."""
        moved, began = self.moved(), time.monotonic()
        comer.go_on()
        waited, took = comer.until("begins")["waited"], comer.until("round")["seconds"]
        ended = time.monotonic()
        self.alone.setdefault(comer.session, []).append(took - waited)
        looks = [look for look in self.watch.looks if began <= look[0] <= ended]
        left = next((at for at, states in looks if states[leaver.session] != "runs"), None)
        came = next((at for at, states in looks if states[comer.session] == "runs"), None)
        return self.moved() - moved, None if left is None or came is None else max(came - left, 0)

    def end_all(self):
        """To their ends; how each ended."""
        for program in self.programs:
            if program.rc is None:
                program.finish()
        return self.programs


def claim_books(t, company):
    watch, most = company.watch, t.capacity + 2 * company.context
    t.claim("both together never have more of the card than the capacity and their contexts", 0 < watch.most <= most,
            (watch.most, most))
    t.claim("nor does the card lose more than that", watch.most_of_card <= most + APART, (watch.most_of_card, most))
    t.figure("NVML's most of both together, less the capacity", watch.most - t.capacity, "B", at_most=APART)


def claim_bytes(t, programs):
    for program in programs:
        last = program.get("round")
        t.claim(f"{program.session}, {program.pid}: every byte is right after each round", last["wrong"] == 0, last)
        t.claim(f"{program.session}, {program.pid}: none of it is told to be managed memory", not last.get("managed"), last)
        t.figure(f"{program.session}, {program.pid}: mapped of the driver's device for managed memory since it began",
                 last["uvm"] - program.get("ready")["uvm"], "B", at_most=APART)


def claim_end(t, program):
    t.claim(f"{program.session}, {program.pid}: every byte is right at its end", program.rc == 0 and
            program.get("end").get("wrong") == 0, (program.rc, program.get("end"), program.stderr))


def tell_changes(t, company, rates):
    """Each program's first move out pins memory; a later one is to take what the link does."""
    one, two = company.programs
    rows = t.table(("comes in", "moved, B", "s", "the link alone, s"))
    beyond = []
    for number in range(2 * ROUNDS):
        comer, leaver = ((one, two), (two, one))[number % 2]
        moved, seconds = company.change(comer, leaver)
        link = moved / 2 * sum(1 / rates[way] for way in ("DtoH", "HtoD")) if rates else None
        rows.append([comer.session, moved, seconds, link])
        if number >= 2 and seconds is not None and rates:
            beyond.append(seconds - LINK_PART * link - SPARE_SECONDS)
            t.figure("a change of turns, pinned before: seconds beyond 1.15 times what the link takes for its bytes, and "
                     "30 ms", max(beyond), "s", at_most=0, raw=beyond)
    for name in company.names:
        t.claim(f"{name} was held twice and more", company.told(name)["holds"] >= 2, company.told(name))
    t.fact("swap of each", [company.told(name) for name in company.names])
    return all(company.told(name)["holds"] for name in company.names)


def both_busy(t, company):
    """Neither is ever idle; what they take beside what the same rounds took of each while the other was idle."""
    began = time.monotonic()
    for program in company.programs:
        for _ in range(BUSY_ROUNDS):
            program.go_on()
    read_rounds(company.programs, BUSY_ROUNDS)
    serial = BUSY_ROUNDS * sum(map(statistics.median, company.alone.values()))
    t.figure("both busy: time of their rounds together, over one after the other", (time.monotonic() - began) / serial, "x",
             at_most=1.1, raw=[serial, company.alone])


def read_rounds(programs, count):
    for program in programs:
        for _ in range(count):
            program.until("round")


def restart(t, company):
    """One is held and one runs, and there is no daemon."""
    for program in company.programs:
        for _ in range(AWAY_ROUNDS):
            program.go_on()
    is_held = company.wait(lambda: "held" in [company.told(name)["state"] for name in company.names])
    t.claim("one of them is held when the daemon is killed", is_held, company.watch.looks[-1])
    company.daemon.kill()
    time.sleep(AWAY_SECONDS)
    company.daemon.start()
    read_rounds(company.programs, AWAY_ROUNDS)
    t.claim("both went on when the daemon was there again, which knows them as sessions that swap",
            all(company.daemon.session(name)["swap"] for name in company.names))


def bury(t, company):
    """One is killed while its memory is out; another program takes its place."""
    one, two = company.programs
    two.go_on()
    two.until("round")

    def told():
        return company.told(one.session)

    t.claim("one is held, and part of its memory is in the host",
            company.wait(lambda: told()["state"] == "held" and told()["out_bytes"] > 0), told())
    one.kill()
    one.finish()
    t.claim("a dead program's bytes are nobody's, in the host as well",
            company.wait(lambda: company.daemon.used(one.session) == 0 and told()["out_bytes"] == 0), told())
    two.go_on()
    successor = company.start(one.session, 3)
    two.until("round")
    two.go_on()
    successor.go_on()
    read_rounds((two, successor), 1)


def stuck(daemon):
    return sum(value for key, value in daemon.metrics().items() if key.startswith("aliquot_swap_stuck_total"))


@story("swap", "two sessions that do not fit beside each other take turns: every byte right, never more of the card than its "
               "capacity, what a change takes beside the link, the daemon killed meanwhile, and one program killed while its "
               "memory is out", priority=1, seconds=240)
def two_take_turns(t):
    link = t.run("turns.py", "link").get("link")
    t.fact("the link, B/s", link)
    with contextlib.ExitStack() as stack:
        company = Company(t, stack, ("turns.py", "work", t.capacity * 9 // 16, 0.3 if t.is_rehearsal else 1))
        if not all([company.start(name, number) for number, name in enumerate(company.names)]):
            t.claim("the programs are in their sessions", False)
            return
        if not tell_changes(t, company, link):
            return
        both_busy(t, company)
        t.claim("none was stuck", stuck(company.daemon) == 0)
        restart(t, company)
        bury(t, company)
        claim_bytes(t, company.programs)
        for program in company.end_all()[1:]:
            claim_end(t, program)
        t.claim("none was stuck after the daemon's restart", stuck(company.daemon) == 0)
        claim_books(t, company)


@story("torch-swap", "two PyTorch programs that do not fit beside each other, without expandable segments: right results, and "
                     "never more of the card than its capacity", priority=1, seconds=180)
def torch_takes_turns(t):
    t.need_torch()
    with contextlib.ExitStack() as stack:
        company = Company(t, stack, ("torch_memory.py", "turns", t.capacity // 2, 2 if t.is_rehearsal else 100),
                          env=NO_EXPANDABLE)
        if not all([company.start(name) for name in company.names]):
            t.claim("the programs are in their sessions", False)
            return
        if not tell_changes(t, company, None):
            return
        both_busy(t, company)
        t.claim("none was stuck", stuck(company.daemon) == 0)
        claim_bytes(t, company.programs)
        for program in company.end_all():
            claim_end(t, program)
        claim_books(t, company)
