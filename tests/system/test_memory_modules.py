# SPDX-License-Identifier: Apache-2.0
"""Memory of modules: code, and the variables of it that begin as zeros and are in no file."""
import struct

import pytest

from script import KIB, MIB, OUT_OF_MEMORY, Script

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


LZ4, ZSTANDARD = 0x2000, 0x8000
PTX, CUBIN = 1, 2
PART = 96 * KIB
HOPPER = "h200"


def fat_binary(*parts):
    """Parts are: kind, architecture, flags, uncompressed size. Each has PART bytes in the file."""
    body = b"".join(struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, PART, 0, 0, 0, 0, architecture, 0, 0, flags, 0, unpacked)
                    + bytes(PART) for kind, architecture, flags, unpacked in parts)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


FAT = {
    "machine-code": ([(CUBIN, 80, 0, 0), (CUBIN, 90, 0, 0), (PTX, 90, 0, 0), (CUBIN, 100, 0, 0)], PART),
    "compressed": ([(CUBIN, 80, 0, 0), (CUBIN, 90, ZSTANDARD, 5 * MIB), (PTX, 100, 0, 0)], 5 * MIB),
    "text": ([(CUBIN, 80, 0, 0), (PTX, 70, LZ4, 3 * MIB), (PTX, 80, LZ4, 4 * MIB), (CUBIN, 100, 0, 0)], 4 * MIB),
}
FAT_WAYS = {"module-file": "end-module", "module-data": "end-module", "module-fat": "end-module",
            "library-data": "end-library", "library-file": "end-library"}


@pytest.fixture(name="hopper")
def make_hopper(sim):
    """Its NVML lists nobody, so what is charged is what is estimated."""
    return sim.configure(model=HOPPER, grants="real", fatbin="noop", context=f"{16 * MIB}")


@pytest.mark.parametrize("load", FAT_WAYS)
@pytest.mark.parametrize("kind", FAT)
def test_of_a_fat_binary_the_part_for_the_device_is_charged(hopper, tmp_path, kind, load):
    parts, loaded = FAT[kind]
    path = tmp_path / "fat"
    path.write_bytes(fat_binary(*parts))
    with Script(hopper, ALIQUOT_MEMORY="256MiB", ALIQUOT_REAL_LIBNVML="/none") as gpu:
        before = gpu.ready().look().charged
        gpu.do(f"{load} 1 {path}")
        assert gpu.look().charged == before + loaded
        gpu.do(f"{FAT_WAYS[load]} 1")
        assert gpu.look().charged == before


@pytest.mark.parametrize("load", FAT_WAYS)
def test_a_fat_binary_whose_part_has_no_room_is_refused(hopper, tmp_path, load):
    path = tmp_path / "fat"
    path.write_bytes(fat_binary((CUBIN, 80, 0, 0), (CUBIN, 90, ZSTANDARD, 20 * MIB)))
    with Script(hopper, ALIQUOT_MEMORY=str(32 * MIB)) as gpu:
        gpu.ready()
        assert gpu.code(f"{load} 1 {path}") == OUT_OF_MEMORY
