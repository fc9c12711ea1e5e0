# SPDX-License-Identifier: Apache-2.0
"""A program's stream capture is not lost by what Aliquot's library does in other threads. NVIDIA's manual of
cuThreadExchangeStreamCaptureMode: beside a global capture a thread that has not relaxed its mode may make no call that is potentially unsafe."""
import pytest

# release: so that there are markers in the stream; launch: the thread stands at the gate when the capture begins
CAP = {"release": 500000, "allocate": 0, "create": 0, "launch": 100000}
# allocate, create: what the pool has, and not as much again
LIMIT = {"release": "512MiB", "allocate": "56MiB", "create": "56MiB", "launch": "512MiB"}


@pytest.mark.parametrize("what", LIMIT)
def test_a_capture_survives_what_another_thread_may_do(sim, build, what):
    """The release of a primary context with kernels under way; an allocation for which a pool
    grows beyond the limit, which is undone; one for which a pool must give back what it does not use;
    launches that wait for the cap."""
    sim.configure(context=0, pool_growth="32MiB")
    program = build.program("compute/bystander")
    bare = sim.run([program, 0, what])
    capped = sim.run([program, CAP[what], what], preload=True, ALIQUOT_MEMORY=LIMIT[what])
    assert (bare.rc, bare.stdout) == (0, "0 0\n"), bare
    assert (capped.rc, capped.stdout[-2:]) == (0, "0\n"), capped
