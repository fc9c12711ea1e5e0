# SPDX-License-Identifier: Apache-2.0
"""A stand-in for JAX in rehearsals: three quarters of what the card shows as free, ahead of all else."""
import functools
from types import SimpleNamespace

from holding import Block, card


@functools.cache
def devices():
    size = card().info()[0] * 3 // 4
    return [SimpleNamespace(platform="gpu", block=Block(size, MemoryError),
                            memory_stats=lambda: {"bytes_limit": size})]
