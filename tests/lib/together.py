# SPDX-License-Identifier: Apache-2.0
"""Many who want something at the same moment; for the scripts of bench/ as well.

    statuses = together(names, lambda name: daemon.post("/v1/sessions", {"name": name, ...}).status)
"""
import threading


def together(names, ask):
    """{name: what ask(name) gave}: none begins before all are there."""
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
