# SPDX-License-Identifier: Apache-2.0
"""Folders on overlayfs, as a container's own files are. The kernel maps the file below the overlay, so a lock does not
outlast its descriptor there, and a mapping does not show that its process lives."""
import pytest

from cli import UNSET
from daemon import Daemon

MIB = 1 << 20

pytestmark = pytest.mark.needs("mount namespaces")


@pytest.fixture
def overlaid(sim):
    """overlaid(folder, *words): the command that runs these words where that folder is on overlayfs."""
    lower, upper, work = (sim.folder / name for name in ("lower", "upper", "work"))
    for folder in (lower, upper, work):
        folder.mkdir(mode=0o700)
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"

    def overlaid_words(folder, *words):
        script = f'mount -t overlay -o {options} x {folder} && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", script, "sh", *words]
    return overlaid_words


def test_a_runtime_folder_is_refused(cli, sim, overlaid):
    """The programs of a session would count as dead, and their memory as free. The command, the library and the daemon
    refuse it."""
    refused = sim.run(overlaid(sim.runtime, *cli.words("run", "--memory", "1MiB", "--", "true")))
    assert (refused.rc, refused.stdout) == (125, ""), refused
    assert all(word in refused.stderr for word in ("aliquot run: ", "on overlayfs", str(sim.runtime), "ALIQUOT_RUNTIME_DIR")), refused
    script = sim.build.program("hooks/script")
    preloaded = sim.run(overlaid(sim.runtime, "sh", "-c", 'LD_PRELOAD=$0 exec "$@"', sim.build.library, script),
                        stdin="init\ncontext 0 0\n", ALIQUOT_MEMORY="256MiB")
    assert preloaded.stdout.split()[-1] != "0" and "on overlayfs" in preloaded.stderr, preloaded
    served = sim.run(overlaid(sim.runtime, *Daemon(sim).words()), ALIQUOT_SIM=None)
    assert served.rc != 0 and "on overlayfs" in served.stderr, served


def test_a_usual_runtime_folder_is_passed_by(cli, sim, overlaid):
    """As /run of a container is: the next one of the usual folders serves."""
    usual = sim.folder / "usual"
    usual.mkdir(mode=0o700)
    created = sim.run(overlaid("/run", *cli.words("create", "s", "--memory", "64MiB")),
                      ALIQUOT_RUNTIME_DIR=None, XDG_RUNTIME_DIR=usual, **UNSET)
    assert created.rc == 0 and (usual / "aliquot/sessions/s").is_dir(), created


@pytest.mark.parametrize("descriptors", [4096, 256])
def test_a_simulated_node_is_known_to_be_in_use(sim, build, overlaid, descriptors):
    """There a descriptor carries the lock, also where the limit of descriptors is low."""
    hold = ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh", build.program("sim/hold"), "0", str(MIB)]
    inside = sim.start(overlaid(sim.state, *hold))
    assert inside.stdout.readline().startswith("ready")
    of_another_version = ["sh", "-c", f'printf more >>{sim.state}/node && exec "$0"', build.program("sim/nvml-list")]
    refused = sim.run(["nsenter", "--target", str(inside.pid), "--mount", *of_another_version])
    assert refused.rc == 1 and "another version" in refused.stderr, refused
