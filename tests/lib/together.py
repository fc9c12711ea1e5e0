# SPDX-License-Identifier: Apache-2.0
"""Runs many requests at the same moment; also for the scripts of bench/.

    statuses = together(names, lambda name: daemon.post("/v1/sessions", {"name": name, ...}).status)
"""
import threading


def together(names, ask):
    """{name: result of ask(name)}; all start at the same time."""
    answers, gate = {}, threading.Barrier(len(names))

    def ask_one(name):
        gate.wait()
        answers[name] = ask(name)

    threads = [threading.Thread(target=ask_one, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers
