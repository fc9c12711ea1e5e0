# SPDX-License-Identifier: Apache-2.0
"""Memory of modules: code, and the variables of it that begin as zeros and are in no file."""
import pytest

from script import MIB, OUT_OF_MEMORY, Script

LIMIT = 256 * MIB
SOURCE = """
#include "sim/aliquot_sim.h"
__attribute__((visibility("default"))) char big[100 << 20];
ALIQUOT_SIM_KERNEL(touch, 8) { big[0] = 1; }
"""
WAYS = {"module-file": "end-module", "module-data": "end-module", "library-data": "end-library"}


@pytest.fixture(name="image")
def make_image(compile_c):
    return compile_c("big.so", SOURCE, "-shared", "-fPIC")


@pytest.mark.parametrize("load", WAYS)
def test_variables_of_zeros_are_charged(sim, image, load):
    """A2: a small file with 100 MiB of zeros takes 100 MiB, and is refused a third time."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        before = gpu.ready().look()
        gpu.do(f"{load} 1 {image}")
        books = gpu.look()
        assert books.charged == books.granted > before.charged + 100 * MIB
        gpu.do(f"{load} 2 {image}")
        assert gpu.code(f"{load} 3 {image}") == OUT_OF_MEMORY
        books = gpu.look()
        assert books.charged == books.granted
        assert books.high <= LIMIT
        gpu.do(f"{WAYS[load]} 1", f"{load} 3 {image}", f"{WAYS[load]} 2", f"{WAYS[load]} 3")
        assert gpu.look()[:2] == before[:2]
