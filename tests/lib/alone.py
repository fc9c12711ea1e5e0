# SPDX-License-Identifier: Apache-2.0
"""A program that wants the whole simulated GPU, in a session of its own and in virtual time (programs/compute/load.c).

    got = load_alone(sim, {"device": "1GB/s"}, kind="kernel", ns=200 * US, cap=300_000, seconds=2, settle=300)
    assert abs(got["share"] - 0.3) < 0.005, got

What it got is the simulator's engine time.
"""


def load_alone(sim, node, **arguments):
    """On a node with these settings, to the program's end: what it tells."""
    sim.configure(clock="virtual", **node)
    words = [f"{key}={value}" for key, value in arguments.items()]
    result = sim.run([sim.build.program("compute/load"), *words], preload=True, ALIQUOT_MEMORY="512MiB")
    assert result.rc == 0, result
    return result.json
