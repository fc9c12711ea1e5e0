# SPDX-License-Identifier: Apache-2.0
"""The fixtures of ../conftest.py, on the machine's own driver instead of the simulator."""
import functools
import os
import shutil

import pytest

REAL_DRIVER = {"ALIQUOT_SIM": None, "ALIQUOT_REAL_LIBCUDA": None, "ALIQUOT_REAL_LIBNVML": None,
               "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH")}


@pytest.fixture
def gpu_run(sim):
    """`run` of ../conftest.py: private runtime folder, real driver."""
    return functools.partial(sim.run, **REAL_DRIVER)


@pytest.fixture
def real_nvidia_smi():
    """The driver's own, not the one that the simulator's tests fetch."""
    path = shutil.which("nvidia-smi")
    if not path:
        pytest.skip("the driver is installed without nvidia-smi")
    return path
