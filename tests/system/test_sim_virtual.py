# SPDX-License-Identifier: Apache-2.0
"""Virtual time (docs/virtual-time.md): what real programs see of it (programs/sim/turns.c) is exact, and the
same however busy the machine is. Times are in nanoseconds, and nothing here measures the machine's.
"""
import os
import signal
import subprocess
import sys
import time

import pytest

from company import Company
from daemon import Daemon
from hang import LONG_HANG_SECONDS as HANG_SECONDS
from stopped import stop

US, MS, S = 10**3, 10**6, 10**9
LAUNCH = 1 * US
MIB = 1 << 20


@pytest.fixture
def turns(sim, build):
    """Starts a scene in virtual time."""
    sim.configure(clock="virtual")
    return lambda *scene, **how: sim.start([build.program("sim/turns"), *scene], **how)


def numbers_of(program):
    out, err = program.communicate(timeout=HANG_SECONDS)
    assert program.returncode == 0 and not err, (out, err)
    return [int(word) for word in out.split()]


@pytest.fixture
def company(sim, turns):
    """Programs that begin together; what each printed, as numbers."""
    def company_run(*scenes, **how):
        sim.configure(begin_with=len(scenes))
        programs = [turns(*scene, **how) for scene in scenes]
        return [numbers_of(program) for program in programs]
    return company_run


@pytest.fixture
def busy_machine():
    """Each processor has more to do than it can, for as long as the test takes."""
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
    yield
    for hog in hogs:
        hog.kill()
        hog.wait()


def test_a_backlog_takes_what_its_kernels_take(company):
    """From the first record to the last, and one launch until the first kernel is there."""
    [[events, host]] = company(["backlog", 100, 2 * MS])
    assert host == 100 * 2 * MS + LAUNCH
    assert abs(events - host) < 100  # cuEventElapsedTime tells milliseconds, in a float


def test_an_event_may_take_its_time(sim, company):
    """The first one of a stream before its kernels begin, and the last one, which is told from that."""
    sim.configure(event="2us")
    [[events, host]] = company(["backlog", 100, 2 * MS])
    assert host == 100 * 2 * MS + 2 * 2 * US
    assert abs(events - (100 * 2 * MS + 2 * US)) < 100


def test_calls_cost_what_a_driver_charges(sim, company):
    """With one word: two records and ten thousand short kernels take the host's time, and the device waits for it."""
    sim.configure(costs="real")
    [[_, host]] = company(["backlog", 10000, 1 * US])
    last_event = 2 * US
    assert host == 2 * 2 * US + 10000 * 3 * US + last_event + 1 * US, host  # and cuEventElapsedTime


def test_the_oracle_tells_flights_beside_engine_time(sim, company):
    """Two programs of one session, 100 kernels of 2 ms each and a wait after each: the engine works for one at a time,
    and one is always in flight, from its call on. By the device's slices of 2 ms they take turns."""
    sim.configure(flights="on", launch="3us")
    said = company(*[["single", 100, 2 * MS]] * 2, ALIQUOT_SESSION="both")
    tag = sim.oracle()["tags"]["both"][0]
    assert tag["busy_ns"] == 200 * 2 * MS
    assert tag["flight_ns"] == max(elapsed for [elapsed] in said), (tag, said)


def test_who_waits_on_the_host_is_not_in_flight(sim, company):
    sim.configure(flights="on", launch="3us", wake="40us")
    [[elapsed]] = company(["single", 100, 20 * US], ALIQUOT_SESSION="slow")
    tag = sim.oracle()["tags"]["slow"][0]
    assert (tag["busy_ns"], tag["flight_ns"], elapsed) == (100 * 20 * US, 100 * 23 * US, 100 * 63 * US)


def test_an_observer_sees_flights_beside_engine_time(sim):
    """What the engine did for a session, it did while the session was in flight. A kernel of 2 ms is a call at least;
    one may lie at the edge of the window."""
    beside = Company(sim, [{}, {}], flights="on", calls="on")
    seen = beside.load(0, kind="kernel", ns=2 * MS, seconds=2).load(1, kind="kernel", ns=2 * MS, seconds=2).observe(2)
    for session in ("s0", "s1"):
        in_flight = seen.in_flight(session, 1, 1.8)
        assert seen.share(session, 1, 1.8) - 0.005 <= in_flight <= 1.001, (in_flight, seen.share(session, 1, 1.8))
        assert seen.calls_a_second(session, 1, 1.8) > 200, seen.calls[session]


def calls_of(sim, tag):
    """By function: how often the program called it, and Aliquot's library."""
    return {name: (by["program"], by["library"]) for name, by in sim.oracle()["calls"].get(tag, {}).items()}


def test_the_oracle_counts_calls_by_function_and_caller(sim, company):
    sim.configure(calls="on")
    company(["backlog", 100, 5 * US], ALIQUOT_SESSION="bare")
    bare = calls_of(sim, "bare")
    assert bare["cuLaunchKernel"] == (100, 0) and bare["cuEventRecord"] == (2, 0) == bare["cuEventCreate"]
    assert not any(library for _, library in bare.values()), bare

    company(["backlog", 100, 5 * US], preload=True, ALIQUOT_MEMORY="64MiB", ALIQUOT_COMPUTE="50", ALIQUOT_SESSION="capped")
    capped = calls_of(sim, "capped")
    assert sum(capped["cuLaunchKernel"]) == 100, capped
    assert all(sum(capped[name]) >= sum(bare[name]) for name in bare), (bare, capped)
    assert sum(library for _, library in capped.values()) > 0, capped


def test_nobody_counts_unless_it_is_asked_for(sim, company):
    company(["backlog", 100, 5 * US], ALIQUOT_SESSION="bare")
    oracle = sim.oracle()
    assert oracle["calls"] == {"": {}, "bare": {}} and oracle["tags"]["bare"][0]["flight_ns"] == 0, oracle


def test_who_is_killed_is_not_in_flight_any_more(sim, turns):
    """What it had under way counts until it was last heard of: here the second of two launches."""
    sim.configure(flights="on", launch="3us")
    program = turns("die", 2 * S, ALIQUOT_SESSION="dead")
    program.communicate(timeout=HANG_SECONDS)
    first, later = (sim.oracle()["tags"]["dead"][0]["flight_ns"] for _ in range(2))
    assert first == later and first < 2 * S, (first, later)


@pytest.mark.parametrize("settings, told", [({}, 50 * MS), ({"drift": 1000}, 50_050 * US), ({"event_step": "40ms"}, (40 * MS, 80 * MS))])
def test_events_are_told_by_the_clock_of_the_device(sim, company, settings, told):
    """Which may go fast, or have a step; what the kernels take by the host's is the same."""
    sim.configure(**settings)
    [[events, host]] = company(["backlog", 50, 1 * MS])
    assert host == 50 * MS + LAUNCH
    if isinstance(told, tuple):
        assert min(abs(events - step) for step in told) < 10
    else:
        assert abs(events - told - LAUNCH) < 100, events


def test_ten_seconds_of_two_programs(company):
    """Each has half: a kernel every 4 ms, from its first launch until it is done with what it had begun."""
    first, second = company(*[["busy", 10 * S, 2 * MS]] * 2)
    for kernels, elapsed in (first, second):
        assert abs(kernels * 4 * MS - elapsed) <= 4 * MS
        assert 10 * S <= elapsed <= 10 * S + 12 * MS


@pytest.fixture
def page(build):
    return lambda name: (build.source / "docs" / name).read_text()


def test_a_program_finds_what_it_had_as_the_page_says(sim, build, page):
    """Not by its own link to the driver: Aliquot's library stands before that."""
    shown = page("simulator-time.md").split("```c\n")[1].split("```")[0]
    assert shown in (build.source / "examples/share.c").read_text(), shown
    sim.configure(clock="virtual")
    result = sim.aliquot("run", f"--sim={sim.spec}", "--memory", "64MiB", "--compute", "30", "--",
                         build.folder / "examples/share", 2, 2000)
    assert result.rc == 0 and abs(float(result.stdout.split()[0]) - 30) < 1, result


@pytest.mark.parametrize("words", [[], [1], [0, 2000], [-1, 2000], ["nan", 2000], [1, 0], [1, -5], [1, "long"]], ids=str)
def test_share_called_wrong_says_how(sim, build, words):
    result = sim.run([build.folder / "examples/share", *words])
    assert (result.rc, result.stdout, result.stderr) == (2, "", "share SECONDS KERNEL_US, both above 0\n"), result


def test_programs_beside_a_daemon_as_the_page_says(sim, page, build):
    Daemon(sim)  # skips where none was built
    words, told = page("virtual-time.md").split("**Your own programs beside a daemon.**")[1].split("```\n")[1:4:2]
    # Where there is no root, no other daemon, and no waiting by the clock.
    script = words.replace("clock=virtual", f"clock=virtual,state={sim.state}") \
        .replace("sleep 1", 'until [ -S "$ALIQUOT_RUNTIME_DIR/aliquotd.sock" ]; do sleep 0.1; done') \
        .replace("2000 &", "2000 & online=$!") \
        .replace("aliquotd &", f"aliquotd --state-dir {sim.folder}/state & daemon=$!")
    folders = ":".join(str(build.folder / folder) for folder in ("examples", "src/cli", "src/daemon"))
    result = sim.run(["bash", "-ec", f"{script}wait $online; kill $daemon; wait"], PATH=f"{folders}:{os.environ['PATH']}",
                     LD_LIBRARY_PATH=None, ALIQUOT_REAL_LIBCUDA=None, ALIQUOT_REAL_LIBNVML=None)
    assert result.rc == 0, result
    seen, expected = ([float(line.split()[0]) for line in sorted(text.splitlines())] for text in (result.stdout, told))
    assert len(seen) == 2 and all(abs(a - b) < 1 for a, b in zip(seen, expected)), (result, told)


def test_a_switch_between_contexts_takes_its_time(sim, company):
    """From the one to the other, each time; who computes alone, or again, waits for none."""
    sim.configure(switch="100us")
    assert company(["single", 100, 2 * MS]) == [[100 * (LAUNCH + 2 * MS)]]
    for kernels, elapsed in company(*[["busy", 10 * S, 2 * MS]] * 2):
        assert abs(kernels * 4200 * US - elapsed) <= 5 * MS


def test_kernels_of_all_lengths_get_the_same_share(company):
    """Slices are what is dealt out, so far as a program has work: two of its kernels at a time."""
    lengths = [2 * MS, 5 * MS, 11 * MS, 40 * MS]
    said = company(*[["busy", 20 * S, length] for length in lengths])
    for length, (kernels, elapsed) in zip(lengths, said):
        assert abs(kernels * length / elapsed - 1 / 4) < 0.005, said


MIXED = [["busy", 3 * S, 300 * US], ["busy", 3 * S, 2 * MS], ["busy", 2 * S, 7 * MS], ["backlog", 50, 3 * MS]]


def test_every_run_is_the_same(company):
    assert company(*MIXED) == company(*MIXED) == company(*MIXED)


def test_a_busy_machine_changes_nothing(company, request):
    alone = company(*MIXED)
    request.getfixturevalue("busy_machine")
    assert company(*MIXED) == alone


def test_who_polls_lets_time_pass(company):
    """A look is a microsecond: one for each of the kernel's, and one for its launch."""
    [[looks, elapsed]] = company(["poll", 5 * MS])
    assert looks == 5 * MS // US + 1
    assert elapsed == 5 * MS + LAUNCH + 2 * US


def test_polling_programs_share_as_others_do(company):
    """The kernels are over at 7 slices and 8, and each is seen with the next look."""
    first, second = company(["poll", 8 * MS], ["poll", 8 * MS])
    assert 14 * MS <= first[1] <= 14 * MS + 10 * US
    assert 16 * MS <= second[1] <= 16 * MS + 10 * US


def test_threads_of_one_program_compute_at_once(company):
    """Their streams overlap, and none begins before its first launch."""
    [[elapsed]] = company(["threads", 4, 1 * MS])
    assert elapsed >= 10 * MS


def test_a_program_that_spins_on_memory_ends(company):
    [[elapsed]] = company(["spin", 5 * MS])
    assert elapsed >= 5 * MS


def test_a_program_that_sleeps_by_the_machines_clock_ends(company):
    napping, other = company(["nap", 1 * S, 2 * MS], ["busy", 1 * S, 2 * MS])
    assert napping[1] >= 1 * S and other[1] >= 1 * S


def test_a_program_that_is_killed_holds_nobody_up(turns):
    """Killed wherever it happens to be: at its turn, waiting, or on the way."""
    for _ in range(5):
        victim, other = turns("stay", 2 * MS), turns("stay", 3 * MS)
        for program in (victim, other):
            assert program.stdout.readline() == "ready\n"
        victim.kill()
        victim.wait(HANG_SECONDS)
        kernels, elapsed = numbers_of(turns("busy", 20 * S, 2 * MS))
        assert elapsed >= 20 * S and abs(kernels * 2 * MS / elapsed - 1 / 2) < 0.01
        other.kill()
        other.wait(HANG_SECONDS)


def test_the_dead_get_no_slices_beside_who_never_needs_a_whole_one(sim, turns):
    """Whoever waits for each kernel leaves the engine each time: not to somebody who is gone."""
    sim.configure(begin_with=2)
    living, victim = turns("single", 1000, 200 * US), turns("die", 60 * S)
    [elapsed] = numbers_of(living)
    assert victim.wait(HANG_SECONDS) == -signal.SIGKILL
    assert 200 * MS <= elapsed < 300 * MS, elapsed


def test_a_program_that_is_stopped_holds_nobody_up(turns):
    """Its turn goes to the others, and the engine is theirs once what it had queued is done."""
    stopped = turns("stop", 2 * MS)
    os.waitid(os.P_PID, stopped.pid, os.WSTOPPED)
    kernels, elapsed = numbers_of(turns("busy", 10 * S, 2 * MS))
    assert elapsed >= 10 * S and kernels * 2 * MS / elapsed > 0.99
    stopped.send_signal(signal.SIGCONT)
    assert stopped.wait(HANG_SECONDS) == 0


def test_what_a_stopped_program_had_queued_is_done_meanwhile(turns):
    """200 ms of kernels, beside another that has half of the engine until they are over and then all of it."""
    stopped = turns("away", 100, 2 * MS)
    os.waitid(os.P_PID, stopped.pid, os.WSTOPPED)
    kernels, elapsed = numbers_of(turns("busy", 1 * S, 2 * MS))
    assert abs(kernels * 2 * MS - (elapsed - 200 * MS)) < 20 * MS, (kernels, elapsed)
    stopped.send_signal(signal.SIGCONT)
    assert 200 * MS <= numbers_of(stopped)[0] < 420 * MS


def test_a_program_that_is_stopped_at_any_moment_holds_nobody_up(sim, turns):
    """Also in the one in which it decides whose turn is next, or hands the engine on."""
    sim.configure(begin_with=2)
    stopped, other = turns("stay", 30 * US), turns("stay", 50 * US)
    for program in (stopped, other):
        assert program.stdout.readline() == "ready\n"
    for moment in range(40):
        time.sleep(moment * 37 % 20 / 10**4)
        stop(stopped.pid)
        kernels, elapsed = numbers_of(turns("busy", 20 * MS, 2 * MS))
        assert elapsed >= 20 * MS and kernels >= 4, (moment, kernels, elapsed)
        stopped.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("wake", [50 * US, 1 * MS])
def test_who_has_waited_goes_on_late(sim, company, wake):
    """Once for each kernel that it waits for, and the kernel itself is not late."""
    sim.configure(wake=f"{wake}ns")
    assert company(["single", 100, 2 * MS]) == [[100 * (LAUNCH + 2 * MS + wake)]]


def test_who_never_waits_is_never_late(sim, company):
    """Launches, and looks at an event, which cost time and are no waits."""
    sim.configure(wake="1ms")
    [[looks, elapsed]] = company(["poll", 5 * MS])
    assert looks == 5 * MS // US + 1
    assert elapsed == 5 * MS + LAUNCH + 2 * US


def test_a_late_wake_up_costs_nothing_while_another_computes(sim, company):
    """Two programs that wait for each kernel of 2 ms keep the device busy while each is at most so late; from then on
    each has one as often as it can launch one."""
    sim.configure(wake="1ms")
    [[first], [second]] = company(*[["single", 100, 2 * MS]] * 2)
    assert second == 200 * 2 * MS + LAUNCH + 1 * MS
    assert second - first == 2 * MS
    sim.configure(wake="3ms")
    for [elapsed] in company(*[["single", 100, 2 * MS]] * 2):
        assert 100 * (LAUNCH + 5 * MS) <= elapsed <= 100 * (LAUNCH + 5 * MS) + 2 * MS


def test_late_wake_ups_are_spread_and_the_same_in_every_run(sim, company):
    """Half of the spread on average."""
    sim.configure(wake="1ms", wake_spread="2ms")
    said = [company(["single", 500, 1 * MS]) for _ in range(2)]
    assert said[0] == said[1]
    late = said[0][0][0] / 500 - LAUNCH - 1 * MS
    assert abs(late - 2 * MS) < 0.1 * MS, late


@pytest.mark.parametrize("wake", [100 * US, 1 * MS])
def test_a_hand_over_is_late_by_the_wake_ups_in_it(sim, wake):
    """Of two sessions without caps, in turns of 8 ms: nothing more is lost of each than the wake-up of the daemon and that
    of the program whose gate it opens, and both lose alike."""
    company = Company(sim, [{}, {}], wake=f"{wake}ns")
    for at in range(2):
        company.load(at, kind="kernel", ns=200 * US, seconds=4)
    seen = company.observe(4)
    first, second = (seen.share(f"s{at}", 0.5, 3.9) for at in range(2))
    assert abs(first - second) < 0.01, (first, second)
    assert first + second > 8 * MS / (8 * MS + 2 * wake) - 0.01, (first, second)


@pytest.mark.parametrize("terms", [({}, {}), ({"compute": 30}, {"compute": 60})], ids=["no caps", "30 and 60"])
@pytest.mark.parametrize("wake_ms, least", [(2, 0.25), (3, 0.1), (5, 0.005)])
def test_who_wakes_up_later_than_a_turn_lasts_has_turns_all_the_same(sim, wake_ms, least, terms):
    """It is expected later the next time; it would else find its gate closed again for ever. Two milliseconds are in
    flight at most beside a neighbour, so each wake-up that is late costs some."""
    company = Company(sim, list(terms), wake=f"{wake_ms}ms")
    for at in range(2):
        company.load(at, kind="kernel", ns=200 * US, seconds=2)
    seen = company.observe(2)
    assert min(seen.share(f"s{at}", 0.5, 1.9) for at in range(2)) > least


@pytest.mark.parametrize("door", ["preload", "shims"])
def test_behind_the_library_time_is_the_same(company, door):
    session = {"ALIQUOT_MEMORY": "512MiB", door: True}
    assert company(*MIXED, **session) == company(*MIXED)


def test_the_library_waits_in_virtual_time(sim, build, turns):
    """For a card that still drains: in steps of 5 ms, which no clock of the machine would tell exactly."""
    sim.configure(memory="256MiB", context="4MiB", draining="1900ms")
    how = {"preload": True, "ALIQUOT_MEMORY": "240MiB"}
    dead = sim.start([build.program("sim/hold"), 0, 200 * MIB], **how)
    assert dead.stdout.readline().startswith("ready")
    dead.kill()
    dead.wait(HANG_SECONDS)
    [waited] = numbers_of(turns("alloc", 200 * MIB, **how))
    assert waited > 0 and waited % (5 * MS) == 0


def test_time_begins_without_who_does_not_come(sim, turns):
    """After a while of the machine's time, and it says so."""
    sim.configure(begin_with=2)
    out, err = turns("backlog", 10, 1 * MS).communicate(timeout=HANG_SECONDS)
    assert out and "begins with 1 processes of 2" in err


def test_both_libraries_offer_the_time_and_a_real_clock_offers_none(sim, compile_c):
    """As common/time_authority.h has it; which symbol tells the shim and the daemon."""
    program = compile_c("offer", r"""
        #include <dlfcn.h>
        #include <stdio.h>
        #include "common/time_authority.h"

        int main(int argc, char **argv)
        {
                for (int i = 1; i < argc; i++) {
                        time_authority_find *find = (time_authority_find *)dlsym(
                                dlopen(argv[i], RTLD_NOW), TIME_AUTHORITY_SYMBOL);
                        const struct time_authority *time = find(TIME_AUTHORITY_VERSION);

                        if (find(TIME_AUTHORITY_VERSION + 1))
                                return 1;
                        if (!time) {
                                puts("real");
                                continue;
                        }
                        uint64_t before_ns = time->now_ns();

                        time->join(TIME_FOREGROUND);
                        before_ns = time->now_ns();
                        time->sleep_until(before_ns + 3600000000000);
                        printf("%llu\n", (unsigned long long)(time->now_ns() - before_ns));
                }
                return 0;
        }
        """, "-ldl")
    both = [program, "libcuda.so.1", "libnvidia-ml.so.1"]
    assert sim.run(both).stdout == "real\nreal\n"
    sim.configure(clock="virtual")
    assert sim.run(both).stdout == f"{3600 * S}\n" * 2


@pytest.mark.parametrize("wake", [0, 1])
def test_a_servant_and_a_program_pass_a_word_on_time(sim, build, compile_c, wake):
    """As the daemon and the library do, by common/clock.h: one serves in the background and takes 1 ms for each
    answer, the other asks a hundred times and waits at most 10 ms, which never pass. Where who waits goes on
    late, each is so once a round, and the servant's sleep is, too."""
    program = compile_c("post", r"""
        #include <dlfcn.h>
        #include <fcntl.h>
        #include <stdio.h>
        #include <string.h>
        #include <sys/mman.h>
        #include <unistd.h>
        #include "common/atomic.h"
        #include "common/clock.h"

        #define MS_NS 1000000
        #define ROUNDS 100

        static _Atomic uint32_t *asked, *answered;

        static int serve(void)
        {
                clock_join(TIME_BACKGROUND);
                puts("ready");
                fflush(stdout);
                for (uint32_t i = 0; i < ROUNDS; i++) {
                        while (load_acquire(asked) == i)
                                clock_wait(asked, i, CLOCK_NEVER);
                        clock_sleep_ns(MS_NS);
                        store_release(answered, i + 1);
                        clock_wake(answered, 1);
                }
                return 0;
        }

        static int ask(void)
        {
                uint64_t start_ns;

                clock_join(TIME_FOREGROUND);
                start_ns = clock_now_ns();
                for (uint32_t i = 0; i < ROUNDS; i++) {
                        uint64_t deadline_ns = clock_now_ns() + 10 * MS_NS;

                        store_release(asked, i + 1);
                        clock_wake(asked, 1);
                        while (load_acquire(answered) == i)
                                if (!clock_wait(answered, i, deadline_ns))
                                        return 1;
                }
                printf("%llu\n", (unsigned long long)(clock_now_ns() - start_ns));
                start_ns = clock_now_ns();
                while (clock_wait(answered, ROUNDS, start_ns + 10 * MS_NS))
                        ;
                printf("%llu\n", (unsigned long long)(clock_now_ns() - start_ns));
                return 0;
        }

        int main(int argc, char **argv)
        {
                int fd = open(argv[2], O_RDWR | O_CREAT, 0600);
                void *driver = dlopen("libnvidia-ml.so.1", RTLD_NOW);
                time_authority_find *find = (time_authority_find *)dlsym(driver, TIME_AUTHORITY_SYMBOL);

                if (ftruncate(fd, 4096) < 0)
                        return 2;
                asked = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
                answered = asked + 16;
                clock_follow(find(TIME_AUTHORITY_VERSION));
                return strcmp(argv[1], "serve") == 0 ? serve() : ask();
        }
        """, build.source / "src/common/clock.c", build.source / "src/common/time_namespace.c", "-ldl")
    sim.configure(clock="virtual", wake=f"{wake}ms")
    page = sim.folder / "page"
    servant = sim.start([program, "serve", page])
    assert servant.stdout.readline() == "ready\n"
    asker = sim.start([program, "ask", page])
    assert numbers_of(asker) == [100 * (1 + 3 * wake) * MS, (10 + wake) * MS]
    assert servant.wait(HANG_SECONDS) == 0
