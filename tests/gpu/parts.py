# SPDX-License-Identifier: Apache-2.0
"""The order of worth, in three parts of nine minutes at most: a card is often lent for no longer. A
part goes on where the one before it stopped (--skip-done), and needs nothing of a later one.

Beside each story the seconds that it is expected to take: on an H200 with 16 processors, as
docs/results/2026-11-26-h200 has it, rounded up. Those of GUESSED have not come to an end there yet.
"""

MINUTES = 9

PARTS = {
    # What our code assumes; turns on a full card; PyTorch within its limit, with its speed; GPU time; books; deaths.
    1: {"contracts": 20, "machine": 1, "limit": 3, "swap": 60, "torch-oom": 6, "torch-async": 7, "torch-metered": 60,
        "torch-graphs": 14, "compute-caps": 55, "compute-pairs": 60, "torch-books": 19, "charges": 12, "replaced": 6,
        "daemon": 3, "successor": 4, "sharing": 3, "compute-full": 70, "compute-native": 10, "compute-switches": 10,
        "sanitizer": 6, "torch-profiler": 18, "torch-same": 37, "compute-waits": 5, "answers": 2, "lookups": 1,
        "doctor": 1, "host-memory": 30},
    # Other ways to launch and to share; PyTorch in every other way.
    2: {"torch-swap": 45, "torch-throughput": 60, "compute-kinds": 55, "compute-change": 20, "compute-weights": 21,
        "torch-expandable": 12, "nccl": 12, "torch-two": 19, "torch-loaders": 18, "compute-lengths": 70,
        "compute-processes": 30, "compute-torch": 30, "triton": 21, "torch-start": 90, "torch-host": 12},
    # Who comes and goes, tools, other frameworks, costs.
    3: {"compute-rt": 70, "costs": 50, "compute-launch": 60, "compute-daemon": 25, "draining": 30, "churn": 9,
        "neighbours": 6, "crowd": 3, "caps": 6, "live": 3, "cupy": 4, "numba": 5, "numba-kernel": 5, "jax": 5,
        "nvidia-smi": 2, "pynvml": 2, "torch-doors": 9, "torch-fragments": 28, "cuda-gdb": 5, "sticky": 3,
        "descriptors": 1, "imports": 3, "pool-ends": 2, "context-start": 15, "no-cuda": 5},
}

GUESSED = {"torch-metered", "torch-graphs", "replaced", "compute-full", "torch-throughput", "compute-lengths",
           "compute-processes", "compute-torch", "torch-start", "compute-rt", "costs", "compute-launch",
           "compute-daemon", "draining", "numba-kernel", "context-start", "no-cuda", "compute-switches",
           "host-memory", "torch-host", "swap", "torch-swap"}

OF = {name: part for part, stories in PARTS.items() for name in stories}
EXPECTED = {name: seconds for stories in PARTS.values() for name, seconds in stories.items()}
PLACE = {name: at for at, name in enumerate(OF)}


def by_worth(entry):
    """Stories of no part (those of tests) come last, by priority."""
    return PLACE.get(entry.name, len(PLACE)), entry.priority
