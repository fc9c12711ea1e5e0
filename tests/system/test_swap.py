# SPDX-License-Identifier: Apache-2.0
"""A session that swaps: its memory leaves the card while it is held, and is back before it goes on. The daemon is played
(lib/keeper.py)."""
import pytest

from keeper import OUT, Keeper, wait
from script import INVALID_VALUE, MIB, OUT_OF_MEMORY, Script

CONTEXT = 16 * MIB
LIMIT = 768 * MIB


@pytest.fixture
def keeper(sim):
    return Keeper(sim, LIMIT)


def test_every_byte_is_back_when_the_program_goes_on(sim, keeper):
    with Script(sim, **keeper.env) as gpu:
        gpu.ready()
        for at, size in enumerate((200, 64, 3, 130)):
            gpu.do(f"alloc {at} {size * MIB}", f"fill {at} {size * MIB} {at}")
        for _ in range(3):
            keeper.hold().give(resident=CONTEXT).await_out(398 * MIB)
            keeper.give().await_out(0).open()
            for at, size in enumerate((200, 64, 3, 130)):
                assert gpu.values(f"wrong {at} {size * MIB} {at}") == [0]
