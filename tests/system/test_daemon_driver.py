# SPDX-License-Identifier: Apache-2.0
"""The daemon beside a driver that hangs, and one that names processes by pids which are not the daemon's."""
import pathlib

import pytest

from daemon import Daemon, wait_for
from script import MIB, SUCCESS, Script

CONFIG = "[watch]\ntolerance = 16MiB\n"


# -- A driver that hangs ---------------------------------------------------------------------------

class OnHangingDriver(Daemon):
    """The simulated node by an NVML that can be made to hang, and that has no sensor of temperature."""

    def __init__(self, sim):
        super().__init__(sim, CONFIG)
        self.hang = sim.folder / "hang"

    def words(self, *flags):
        return ["env", f"ALIQUOT_SIM={self.sim.spec}", f"HANGING_NVML={self.hang}",
                f"ALIQUOT_REAL_LIBNVML={self.sim.build.folder / 'tests/programs/nvml/libhanging-nvml.so'}", self.program,
                "--config", self.config, "--runtime-dir", self.sim.runtime, "--state-dir", self.state, *flags]

    def is_known(self):
        return self.get("/v1/processes").json["known"]


def test_a_driver_that_hangs_stops_nothing_else(sim):
    daemon = OnHangingDriver(sim.configure(gpus=2, memory="1GiB")).start()
    daemon.create("a", "512MiB", gpus=["0"])
    wait_for(daemon.is_known)
    assert "celsius" not in daemon.get("/v1/devices").json["devices"][0]
    assert "aliquot_gpu_temperature_celsius{" not in daemon.get("/metrics").text
    daemon.hang.touch()
    wait_for(lambda: not daemon.is_known())
    # It hangs on, and all is as ever: what is known of the cards holds, what is not known is left out.
    daemon.create("b", "256MiB", gpus=["0"])
    first = daemon.get("/v1/devices").json["devices"][0]
    assert first["promised_bytes"] == 768 * MIB and "busy_percent" not in first and "processes" not in first
    assert "aliquot_nvml_up 0\n" in daemon.get("/metrics").text
    with Script(sim, ALIQUOT_SESSION="b") as gpu:
        assert gpu.ready().code(f"alloc 1 {MIB}") == SUCCESS
    daemon.reload(CONFIG)
    wait_for(lambda: "the driver does not answer" in daemon.said())
    daemon.hang.unlink()
    wait_for(daemon.is_known)
    wait_for(lambda: "the driver answers again" in daemon.said())


def test_a_daemon_ends_although_the_driver_hangs(sim):
    daemon = OnHangingDriver(sim).start()
    wait_for(daemon.is_known)
    daemon.hang.touch()
    wait_for(lambda: not daemon.is_known())
    assert daemon.stop() == 0


def test_a_driver_that_hangs_at_the_start_is_waited_for_only_so_long(sim):
    daemon = OnHangingDriver(sim)
    daemon.hang.touch()
    daemon.start()
    refused = daemon.post("/v1/sessions", {"memory": "1MiB"})
    assert refused.status == 409 and refused.json["type"] == "/problems/no-gpu", refused
    daemon.hang.unlink()
    wait_for(lambda: daemon.get("/readyz").status == 200)
    daemon.create("a", "1MiB")


# -- Another PID namespace -------------------------------------------------------------------------

class InAnotherNamespace(OnHangingDriver):
    """A daemon in a container: it cannot know whether the driver names processes by the pids they have there."""

    def words(self, *flags):
        return ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *super().words(*flags)]


def child_of(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]


@pytest.mark.needs("PID namespaces")
def test_in_a_pid_namespace_of_its_own_the_daemon_stops_nobody(sim):
    daemon = InAnotherNamespace(sim.configure(gpus=1, memory="1GiB"))
    daemon.config.write_text(CONFIG + "strangers = kill\nmanaged_cgroups = /\nforged = kill\n")
    daemon.start()
    hold_it = f"{sim.build.program('sim/hold')} 0 {MIB}"
    inside = sim.start(["nsenter", f"--pid=/proc/{daemon.process.pid}/ns/pid_for_children", "--mount=/proc/"
                        f"{child_of(daemon.process.pid)}/ns/mnt", "sh", "-c", hold_it])
    assert inside.stdout.readline().startswith("ready "), inside.stderr.read()
    stranger = next(event for event in daemon.events() if event["type"] == "stranger")
    assert stranger["detail"]["action"] == "report"
    assert inside.poll() is None
