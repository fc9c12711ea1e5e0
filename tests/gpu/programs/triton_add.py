# SPDX-License-Identifier: Apache-2.0
"""A Triton kernel on PyTorch's tensors."""
import torch
import triton
import triton.language as tl

from said import hold

COUNT, BLOCK = 1 << 20, 1024


@triton.jit
def add(left, right, to, count, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    inside = at < count
    tl.store(to + at, tl.load(left + at, mask=inside) + tl.load(right + at, mask=inside), mask=inside)


def main():
    left, right = torch.ones(COUNT, device="cuda"), torch.ones(COUNT, device="cuda")
    to = torch.empty(COUNT, device="cuda")
    add[(COUNT // BLOCK,)](left, right, to, COUNT, block=BLOCK)
    torch.cuda.synchronize()
    hold("added", right=float(to[0]) == 2.0 and float(to[-1]) == 2.0)


main()
