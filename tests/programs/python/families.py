# SPDX-License-Identifier: Apache-2.0
"""Python programs of several processes, as people write them, each holding memory of one card.

    families.py pool fork|spawn|forkserver    multiprocessing, the master leaves the card alone
    families.py thread clean|used ROUNDS      os.fork() from a thread while others work
    families.py prefork clean|used            a master that forks workers, replaces one that dies
    families.py chain DEPTH                   subprocesses of subprocesses

Prints "PID MIB" for each process that holds MIB (its context apart), then "held"; goes on when a
line comes in, and ends by itself. Anything that must not be is an AssertionError.
"""
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

from gpu import MIB, NOT_INITIALIZED, OUT_OF_MEMORY, SUCCESS, Gpu

WORKERS = 4
EACH_MIB = 40
LEFT_MIB = 32  # of 256 with four workers and their contexts of 16
MASTER_MIB = 100


def say(*words):
    print(*words, flush=True)


def hold(mib):
    gpu = Gpu()
    assert gpu.begin() == SUCCESS and gpu.alloc(mib * MIB) == SUCCESS
    return gpu


def held():
    say("held")
    assert sys.stdin.readline()


# multiprocessing

def pool_worker(pipe):
    gpu = hold(EACH_MIB)
    pipe.send(os.getpid())
    for size in iter(pipe.recv, None):
        pipe.send(gpu.alloc(size))
    assert gpu.free() == SUCCESS


def pool(method):
    context = multiprocessing.get_context(method)
    workers = []
    for _ in range(WORKERS):
        ours, theirs = context.Pipe()
        process = context.Process(target=pool_worker, args=(theirs,))
        process.start()
        workers.append((process, ours))
    for process, pipe in workers:
        assert pipe.recv() == process.pid
        say(process.pid, EACH_MIB)
    held()
    for _, pipe in workers:
        pipe.send(LEFT_MIB * MIB + 1)
        assert pipe.recv() == OUT_OF_MEMORY
    first, second = workers[0][1], workers[1][1]
    first.send(LEFT_MIB * MIB)
    assert first.recv() == SUCCESS
    second.send(1)
    assert second.recv() == OUT_OF_MEMORY
    for process, pipe in workers:
        pipe.send(None)
        process.join()
        assert process.exitcode == 0


# os.fork() in a thread

def fork_and_wait(child):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            child()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0


def child_of_clean():
    gpu = hold(1)
    assert gpu.free() == SUCCESS


def child_of_used(gpu):
    assert gpu.alloc(MIB) == NOT_INITIALIZED and gpu.free() == NOT_INITIALIZED


def churn(gpu, is_over):
    assert gpu.use() == SUCCESS
    mine = Gpu()
    while not is_over.is_set():
        assert mine.alloc(MIB) == SUCCESS and mine.free() == SUCCESS


def thread(how, rounds):
    is_over = threading.Event()
    gpu = hold(MASTER_MIB) if how == "used" else Gpu()
    others = [threading.Thread(target=churn, args=(gpu, is_over)) for _ in range(3)]
    child = child_of_clean if how == "clean" else lambda: child_of_used(gpu)
    failures = []

    def run():
        try:
            for _ in range(int(rounds)):
                fork_and_wait(child)
        except AssertionError as error:
            failures.append(error)

    forker = threading.Thread(target=run)
    for each in (others if how == "used" else []) + [forker]:
        each.start()
    forker.join()
    is_over.set()
    for each in others if how == "used" else []:
        each.join()
    assert not failures
    if how == "used":
        say(os.getpid(), MASTER_MIB)
    held()


# A server with workers

def prefork_worker(how, gpu, ready):
    if how == "used":
        assert gpu.alloc(MIB) == NOT_INITIALIZED
        os.execv(sys.executable, [sys.executable, __file__, "worker", str(ready)])
    worker(ready)


def worker(ready):
    hold(30)
    os.write(int(ready), b"%d\n" % os.getpid())
    signal.pause()


def prefork(how):
    gpu = hold(MASTER_MIB - 60) if how == "used" else Gpu()
    readable, ready = os.pipe()
    os.set_inheritable(ready, True)
    lines = os.fdopen(readable)

    def start():
        pid = os.fork()
        if pid == 0:
            try:
                prefork_worker(how, gpu, ready)
            finally:
                os._exit(1)
        assert int(lines.readline()) == pid
        return pid

    pids = [start() for _ in range(3)]
    for _ in range(10):  # one dies as it likes, another takes its place
        os.kill(pids[0], signal.SIGKILL)
        os.waitpid(pids.pop(0), 0)
        pids.append(start())
    for pid in pids:
        say(pid, 30)
    if how == "used":
        say(os.getpid(), MASTER_MIB - 60)
    held()
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)


def chain(depth):
    gpu = hold(20)
    say(os.getpid(), 20)
    if int(depth) > 1:
        subprocess.run([sys.executable, __file__, "chain", str(int(depth) - 1)], check=True)
    else:
        held()
    assert gpu.free() == SUCCESS


if __name__ == "__main__":
    story, *arguments = sys.argv[1:]
    {"pool": pool, "thread": thread, "prefork": prefork, "worker": worker,
     "chain": chain}[story](*arguments)
