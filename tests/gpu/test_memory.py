# SPDX-License-Identifier: Apache-2.0
"""A memory limit on real hardware: what a program gets, and what it and nvidia-smi see."""
import re

LIMIT = "2GiB"
LIMIT_MIB = 2048


def test_a_program_within_its_limit_runs_and_is_right(gpu_run, build):
    done = gpu_run([build.aliquot, "run", "--memory", LIMIT, "--",
                    build.folder / "examples/tenant", "inside", "work", "512", "3"])
    assert done.rc == 0, done


def test_a_program_that_grows_is_stopped_at_its_limit(gpu_run, build):
    """The next step would pass the limit: out of memory, said by the driver's own code."""
    done = gpu_run([build.aliquot, "run", "--memory", LIMIT, "--",
                    build.folder / "examples/tenant", "greedy", "grow", "256", "100"])
    assert done.rc == 3, done


def test_nvidia_smi_shows_the_limit_as_the_card(gpu_run, build, real_nvidia_smi):
    query = [real_nvidia_smi, "--query-gpu=memory.total,memory.used", "--format=csv,noheader,nounits"]
    done = gpu_run([build.aliquot, "run", "--memory", LIMIT, "--", *query])
    assert done.rc == 0, done
    total, used = map(int, re.findall(r"\d+", done.stdout.splitlines()[0]))
    assert (total, used) == (LIMIT_MIB, 0), done
