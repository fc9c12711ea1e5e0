# SPDX-License-Identifier: Apache-2.0
"""Shares of GPU time. The judge is the card's own clock, as the kernels read it at their begin and
end (stamps.py), not our meter. What each program launches is work of a fixed size."""
import itertools
import os
import statistics
import time

from aliquotd import Daemon
from loads import IMAGE, MS, US, Load, S, jain, native, own_node, percentile, play, row, sessions
from program import Program
from stamps import overlap
from story import HERE, story

PEERS = {(30, 70): "46/54", (30, 60): "31/51", (25, 75): "25/54", (10, 90): "1:6 to 1:8"}


def length(ns):
    return f"{ns // MS} ms" if ns >= MS else f"{ns // US} us"


def seconds_of(t, most, work_ns=0):
    """Virtual ones are exact: a rehearsal needs fewer, but many pieces of work, as the last one may be owed."""
    return min(most, max(4, 500 * work_ns // S)) if t.is_rehearsal else most


def told(t, columns):
    return t.table((*columns, "on the card, %", "asked for, %", "delivered, %", "error, points", "worst second off by, points"))


def tell(rows, got, percent, *names):
    worst = max((abs(window - percent) for window in got.windows()), default=abs(got.percent - percent))
    rows.append([*names, round(got.on_card, 3), percent, round(got.percent, 3), round(got.percent - percent, 3), round(worst, 3)])
    return abs(got.percent - percent), worst


def sweep(t, kind, ns, caps, seconds, most, most_second):
    """Each cap with a program of its own; the mean error, and the worst second."""
    rows, errors, least = told(t, ("kind", "kernels")), [], []
    for cap in caps:
        with row(t, f"{kind}, {length(ns)}, {cap} %"):
            got, = play(t, [Load(kind, ns, compute=cap)], seconds)
            errors.append(tell(rows, got, cap, kind, length(ns)))
            least.append(got.percent / cap)
            t.save()
    if not errors:
        return
    what = f"{kind}, {length(ns)}, caps {caps[0]} to {caps[-1]} %"
    t.figure(f"{what}: mean error", statistics.mean(error for error, _ in errors), "points", at_most=most)
    t.figure(f"{what}: worst second", max(worst for _, worst in errors), "points", at_most=most_second)
    t.figure(f"{what}: least part of its quota delivered", min(least), "x", at_least=0.97)


@story("compute-native", "what kernels do to the card without Aliquot: what they fill, and how two programs share it",
       priority=1, seconds=60)
def without_us(t):
    for ns in (20 * US, 200 * US, 2 * MS, 20 * MS):
        with row(t, f"kernels of {length(ns)}"):
            facts = native(t, "kernel", ns)
            t.figure(f"kernels of {length(ns)}: part of the time that they fill", facts["full"], "x")
            t.figure(f"kernels of {length(ns)}: length by their stamps, median", facts["kernel_ns"], "ns")
    with row(t, "two programs without Aliquot"):
        alone, = play(t, [Load("kernel", 200 * US, is_free=True)], seconds_of(t, 2))
        one, other = play(t, [Load("kernel", 200 * US, is_free=True) for _ in range(2)], seconds_of(t, 3))
        t.figure("two programs without Aliquot: each has", [round(one.percent, 2), round(other.percent, 2)], "%")
        # A kernel that is interrupted stands on the card by its stamps, so kernels done are counted here.
        t.figure("two programs without Aliquot: kernels a second together, of one alone",
                 100 * (one.work + other.work) / alone.work, "%", raw=[alone.work, one.work, other.work])
        tell_turns(t, "two programs without Aliquot", one.stamps, other.stamps)


def tell_turns(t, what, one, other):
    """How long one had the card, and then nobody, before the other came, again and again."""
    kernels = sorted([(begin, end, 0) for begin, end in one.kernels] + [(begin, end, 1) for begin, end in other.kernels])
    since, lengths, gaps = kernels[0][0], [], []
    for (_, end, before), (begin, _, who) in itertools.pairwise(kernels):
        if who != before:
            lengths.append(end - since)
            gaps.append(begin - end)
            since = begin
    t.figure(f"{what}: one has the card for, median", statistics.median(lengths or [0]) / US, "us", raw=lengths[:200])
    t.figure(f"{what}: between the last kernel of one and the first of the other, median", statistics.median(gaps or [0]) / US,
             "us", raw=gaps[:200])


@story("compute-switches", "what the card itself takes to go from one process to another, without Aliquot: the least gap that "
                           "a change of turns can have", priority=1, seconds=60)
def between_processes(t):
    steps = int(200 * US * native(t, "kernel", 200 * US)["rate"])
    done = t.run("switches.py", IMAGE, steps, 20 if t.is_rehearsal else 1000)
    t.claim("it ends well", done.rc == 0, done.stderr)
    for said in done.said:
        for what in ("gaps", "waited"):
            ordered = sorted(said[what])
            for part in (0.1, 0.5, 0.9):
                t.figure(f"{said['way']}: {'gap between kernels' if what == 'gaps' else 'host waited beyond the kernel'}, "
                         f"{part:.0%} are shorter", percentile(ordered, part) / US, "us", raw=ordered[::10])


@story("compute-caps", "caps of 10 to 90 %, each with a program alone on the card, kernels of 200 us",
       priority=1, seconds=110)
def caps_alone(t):
    sweep(t, "kernel", 200 * US, range(10, 100, 10), seconds_of(t, 5), 0.5, 2)


@story("compute-lengths", "caps on kernels of 20 us, 2 ms and 20 ms", priority=1, seconds=150)
def every_length(t):
    for ns, seconds, most, most_second in ((20 * US, 4, 0.5, 2), (2 * MS, 4, 0.5, 2), (20 * MS, 10, 1, 8)):
        sweep(t, "kernel", ns, (20, 50, 80), seconds_of(t, seconds), most, most_second)


@story("compute-kinds", "a cap of 30 % on graphs, cooperative launches, Ex, two streams, loops that wait for each "
                        "launch", priority=1, seconds=110)
def every_way_to_launch(t):
    rows = told(t, ("kind", "kernels"))
    for kind, ns in (("graph", 20 * US), ("graph", 2 * MS), ("cooperative", 200 * US), ("ex", 200 * US),
                     ("streams", 200 * US), ("sync", 200 * US), ("sync", 2 * MS), ("sync", 20 * US)):
        with row(t, f"{kind}, {length(ns)}"):
            work_ns = 10 * ns if kind == "graph" else ns
            got, = play(t, [Load(kind, ns, compute=30)], seconds_of(t, max(4, 500 * work_ns // S), work_ns))
            error, _ = tell(rows, got, 30, kind, length(ns))
            t.figure(f"{kind}, {length(ns)}, 30 %: error", error, "points", at_most=1)


@story("compute-processes", "one, four and eight processes of a session have its cap together", priority=2, seconds=60)
def processes_share_a_cap(t):
    for count in (1, 4, 8):
        with row(t, f"{count} processes"):
            session = t.session()
            got = play(t, [Load("kernel", 200 * US, compute=40, session=session) for _ in range(count)], seconds_of(t, 4))
            t.figure(f"{count} processes under 40 %: error of their sum", abs(sum(one.percent for one in got) - 40),
                     "points", at_most=2, raw=[one.percent for one in got])


@story("compute-pairs", "two sessions of a daemon with caps, both wanting the whole card", priority=1, seconds=180)
def pairs(t):
    own_node(t, 2)
    with Daemon(t) as daemon:
        rows = told(t, ("pair", "kernels"))
        for caps in PEERS:
            for ns in (200 * US, 2 * MS):
                with row(t, f"{caps}, {length(ns)}"), sessions(t, daemon, [{"compute": cap} for cap in caps]) as names:
                    tell_pair(t, rows, caps, ns, play(t, [Load("kernel", ns, session=name) for name in names],
                                                      10 if t.is_rehearsal else 6, has_node=True))
        passed = {key: value for key, value in daemon.metrics().items() if "handover" in key or "yield" in key}
        t.fact("hand-overs by the daemon", passed)


def tell_pair(t, rows, caps, ns, got):
    what = f"{caps[0]}/{caps[1]}, kernels of {length(ns)}"
    errors = [tell(rows, one, cap, "/".join(map(str, caps)), length(ns))[0] for one, cap in zip(got, caps)]
    t.figure(f"{what}: worst error (others: {PEERS[caps]})", max(errors), "points", at_most=1,
             raw=[one.percent for one in got])
    t.figure(f"{what}: ratio off by", 100 * abs(got[1].percent / got[0].percent / (caps[1] / caps[0]) - 1), "%",
             at_most=max(3, 50 / min(caps)))  # half a point of the smaller one
    tell_turns(t, what, *(one.stamps for one in got))
    t.figure(f"{what}: time in which both had a kernel on the card",
             100 * overlap([one.stamps for one in got], got[0].begin, got[0].end), "%")


@story("compute-weights", "four sessions of weights 1 to 4, kernels of 20 us to 20 ms", priority=1, seconds=60)
def weights(t):
    own_node(t, 4)
    lengths, shares = (20 * MS, 2 * MS, 200 * US, 20 * US), (100, 200, 300, 400)
    with Daemon(t) as daemon, sessions(t, daemon, [{"weight": weight} for weight in shares]) as names:
        got = play(t, [Load("kernel", ns, session=name) for ns, name in zip(lengths, names)], 12, has_node=True)
        by_weight = [one.percent / weight for one, weight in zip(got, shares)]
        t.figure("four of weights 1:2:3:4: Jain's index of share by weight", jain(by_weight), "", at_least=0.999,
                 raw=[one.percent for one in got])
        t.figure("the four together", sum(one.percent for one in got), "%", at_least=98.5)


@story("compute-full", "two sessions without caps do as much together as one alone; one alone as much as without Aliquot",
       priority=1, seconds=120)
def nothing_is_lost(t):
    own_node(t, 2)
    with Daemon(t) as daemon:
        for ns in (200 * US, 2 * MS):
            with row(t, f"two without caps, {length(ns)}"), sessions(t, daemon, [{}, {}]) as names:
                got = play(t, [Load("kernel", ns, session=name) for name in names], seconds_of(t, 6), has_node=True)
                t.figure(f"two without caps, {length(ns)}: together, of one alone without Aliquot",
                         sum(one.percent for one in got), "%", at_least=98.5, raw=[one.percent for one in got])
                t.figure(f"two without caps, {length(ns)}: furthest from a half",
                         max(abs(one.percent - 50) for one in got), "points", at_most=1)
                tell_turns(t, f"two without caps, {length(ns)}", *(one.stamps for one in got))
    with row(t, "alone"):
        compare_alone(t, "alone under a limit on memory", lambda: Load("kernel", 20 * US))
    own_node(t, 1)
    with row(t, "alone, measured"), Daemon(t) as daemon, sessions(t, daemon, [{"guarantee": 50}]) as names:
        compare_alone(t, "alone with a guarantee, which is measured", lambda: Load("kernel", 20 * US, session=names[0]),
                      has_node=True)


def compare_alone(t, what, load, **how):
    def measure(limit):
        return play(t, [load() if limit else Load("kernel", 20 * US, is_free=True)], 1 if t.is_rehearsal else 2, **how)[0].work

    t.compare(f"kernels of 20 us a second, {what}", "1/s", *t.pairs(measure, 2 if t.is_rehearsal else 3), at_least=0.995)


@story("compute-rt", "an rt session that wants the card at random times, a fifth of it, beside batch", priority=1,
       seconds=150)
def rt_beside_batch(t):
    seconds = 12
    for ns in (10 * MS, 2 * MS):
        with row(t, f"requests of {length(ns)}"):
            alone, = play(t, [Load("ask", ns, is_free=True)], seconds)
            own_node(t, 2)
            with Daemon(t) as daemon, sessions(t, daemon, [{"priority": "rt"}, {"priority": "batch"}]) as names:
                beside, batch = play(t, [Load("ask", ns, session=names[0]),
                                         Load("kernel", 500 * US, session=names[1])], seconds, has_node=True)
            tell_rt(t, ns, alone, beside, batch)


def tell_rt(t, ns, alone, beside, batch):
    first, second = ([answer for answer, _ in one.waits] for one in (alone, beside))
    t.figure(f"requests of {length(ns)}: p99 of {len(second)} by that alone", percentile(second, 0.99) /
             percentile(first, 0.99), "x", at_most=1.10 if ns == 10 * MS else None, raw=[first[:2000], second[:2000]])
    usual = statistics.median(run for _, run in alone.waits)
    late = [run - usual for _, run in beside.waits]
    t.figure(f"requests of {length(ns)}: later than alone once launched (batch has kernels of 500 us), p50",
             percentile(late, 0.5) / MS, "ms")
    t.figure(f"requests of {length(ns)}: later than alone once launched, p99", percentile(late, 0.99) / MS, "ms",
             at_most=0.7, raw=late[:2000])
    t.figure(f"requests of {length(ns)}: batch has", batch.percent, "%")


@story("compute-change", "a cap changed while its program runs; a neighbour who comes", priority=1, seconds=90)
def a_cap_changes(t):
    for before, after in ((20, 80), (80, 20)):
        with row(t, f"{before} to {after} %"):
            tell_change(t, before, after)
    own_node(t, 2)
    with Daemon(t) as daemon:
        for what, terms, most in (("with guarantees of 50 %", {"guarantee": 50}, 2), ("with nothing promised", {}, None)):
            with row(t, f"a neighbour comes, {what}"), sessions(t, daemon, [terms, terms]) as names:
                loads = [Load("kernel", 200 * US, session=names[0]), Load("kernel", 200 * US, session=names[1], wait=1)]
                tell_neighbour(t, what, most, *play(t, loads, 3, has_node=True))


def tell_change(t, before, after):
    """When windows of 50 ms first come near the new cap, and the mean of the second that follows. A single
    window is no judge: on a card such windows vary by 4 points around a cap that is kept."""
    session = t.session()
    command = f"1:env -u LD_PRELOAD {t.aliquot} set {session} --compute {after}"
    got, = play(t, [Load("kernel", 200 * US, compute=before, session=session, then=command)], 2)
    width, step, near = 50 * MS, 5 * MS, 5
    shares = [100 * share / got.full for share in got.stamps.windows(got.begin, got.stamps.last, width, step)]
    old = max((at for at, share in enumerate(shares) if abs(share - before) <= near), default=len(shares))
    new = next((at for at in range(old, len(shares)) if abs(shares[at] - after) <= near), len(shares))
    begin = got.begin + new * step
    if not t.claim(f"{before} to {after} %: the old cap is seen, and a second of the new one",
                   begin + S <= got.stamps.last, shares[-1:]):
        return
    t.figure(f"{before} to {after} %: from the last window of 50 ms at the old cap to the first at the new one",
             (new - old) * step / MS, "ms", at_most=100, raw=[round(share, 2) for share in shares[max(old - 20, 0):old + 60]])
    t.figure(f"{before} to {after} %: the second after it, off the new cap by",
             abs(100 * got.stamps.share(begin, begin + S) / got.full - after), "points", at_most=2)


def tell_neighbour(t, what, most, first, second):
    came = second.stamps.first
    for name, one in (("who was there", first), ("who came", second)):
        share = 100 * one.stamps.share(came + 50 * MS, came + 550 * MS) / one.full
        t.figure(f"a neighbour comes, {what}: {name} has, from 50 ms after, over half a second, off a half by",
                 abs(share - 50), "points", at_most=most, raw=share)


@story("compute-waits", "what runs waits for what stands before the gate: a spinning consumer, a persistent kernel",
       priority=1, seconds=120)
def no_deadlock(t):
    for scene, count in (("consumer", 40), ("persistent", 40)):
        for cap in (None, 20, 90):
            with row(t, f"{scene}, cap {cap}"):
                own_node(t, 1)
                how = {"limit": t.capacity // 4, "compute": cap} if cap else {}
                done = Program(t, [t.home / "bin/waits", HERE / "programs/stamps.ptx", scene, count], settle=False,
                               **how).finish()
                said = done.get("done")
                t.claim(f"{scene}, cap {cap}: it ends, and nobody gave up", done.rc == 0 and said.get("gave_up") is False,
                        (said, done.stderr))
                t.figure(f"{scene}, cap {cap}: seconds", said.get("seconds"), "s")


@story("compute-launch", "nanoseconds added to a launch: with a limit on memory alone, with a cap that leaves credit, "
                         "in a session of a daemon; each beside the bare driver", priority=2, seconds=100)
def what_a_launch_costs(t):
    def measure(limit, **how):
        how = {"door": "preload", **how} if limit else {}
        done = Program(t, [t.home / "bin/costs", 0, t.batches], limit=limit, settle=False, **how).finish()
        if done.rc != 0:
            raise ValueError(done.stderr)
        return {name: float(ns) for name, ns in map(str.split, done.other) if name.startswith("launch")}

    for what, how in (("no cap", {}), ("a cap of 90 %", {"compute": 90})):
        with row(t, what):
            tell_launch(t, what, *t.pairs(lambda limit, how=how: measure(limit, **how), t.few_rounds))
    with row(t, "alone in a daemon's session"), Daemon(t) as daemon, sessions(t, daemon, [{}]) as names:
        tell_launch(t, "alone in a daemon's session", *t.pairs(lambda limit: measure(limit, session=names[0], door="joined"), t.few_rounds))


def tell_launch(t, what, alone, ours):
    for name, most in (("launch", None), ("launch-p50", 5), ("launch-p99", 20)):
        added = [o[name] - a[name] for a, o in zip(alone, ours)]
        t.figure(f"{what}: {name}, without Aliquot", statistics.median(a[name] for a in alone), "ns")
        t.figure(f"{what}: {name}, added: median of {len(added)} pairs", statistics.median(added), "ns", at_most=most,
                 raw=added)


@story("compute-daemon", "what the daemon takes of a processor while eight sessions are busy", priority=2, seconds=60)
def the_daemons_own_time(t):
    own_node(t, 8)
    with Daemon(t) as daemon, sessions(t, daemon, [{} for _ in range(8)]) as names:
        before, began = cpu_seconds(daemon.process.pid), time.monotonic()
        got = play(t, [Load("kernel", 200 * US, session=name) for name in names], seconds_of(t, 8), has_node=True)
        used = cpu_seconds(daemon.process.pid) - before
        t.figure("the daemon's part of a core", 100 * used / (time.monotonic() - began), "%", at_most=1)
        t.figure("eight sessions together", sum(one.percent for one in got), "%", at_least=98.5)


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@story("compute-torch", "PyTorch's matrix products under caps of 75, 50 and 25 %, changed while it runs", priority=1,
       seconds=120)
def torch_under_caps(t):
    t.need_torch()
    with t.start("torch_work.py", "products", 0.2 if t.is_rehearsal else 3, limit=t.capacity) as program:
        free = program.until("products")["per_second"]
        for cap in (75, 50, 25):
            t.books.command("set", program.session, "--compute", str(cap))
            program.go_on()
            share = 100 * program.until("products")["per_second"] / free
            t.figure(f"a cap of {cap} %: products a second, of those without a cap", share, "%", raw=free)
            t.figure(f"a cap of {cap} %: error", abs(share - cap), "points", at_most=1)
        t.claim("it ends well", program.finish().rc == 0, program.stderr)

