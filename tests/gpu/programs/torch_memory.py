# SPDX-License-Identifier: Apache-2.0
"""PyTorch and device memory.

    torch_memory.py books       a hold after each thing that takes memory
    torch_memory.py oom         fills the card with tensors, hears of it, goes on
    torch_memory.py fragments   many sizes in turns, freed in holes: what expandable segments are for
    torch_memory.py graphs      a captured graph with memory of its own, right and again after an OOM
    torch_memory.py part BYTES  holds so much
    torch_memory.py turns BYTES STEPS   holds so much, and adds and multiplies in rounds, each when it is told to
"""
import sys
import time

import torch

from said import hold, must_be_limited, say, uvm_bytes

MIB = 1 << 20


def block(size):
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def books():
    hold("imported")
    one = torch.zeros(1, device="cuda")
    hold("first tensor", info=torch.cuda.mem_get_info())
    tensor = block(128 * MIB)
    hold("128 MiB", info=torch.cuda.mem_get_info(), reserved=torch.cuda.memory_reserved())
    a = torch.ones(512, 512, device="cuda")
    b = a @ a
    torch.cuda.synchronize()
    hold("cuBLAS", right=float(b[0, 0]) == 512.0, reserved=torch.cuda.memory_reserved())
    image = torch.ones(1, 8, 64, 64, device="cuda")
    weights = torch.ones(8, 8, 3, 3, device="cuda")
    c = torch.nn.functional.conv2d(image, weights, padding=1)
    torch.cuda.synchronize()
    hold("cuDNN", right=float(c[0, 0, 5, 5]) == 72.0, reserved=torch.cuda.memory_reserved())
    del one, tensor, a, b, c, image, weights
    torch.cuda.empty_cache()
    hold("cache emptied", info=torch.cuda.mem_get_info(), reserved=torch.cuda.memory_reserved())


def fill(size):
    """Tensors until there is no more; they, and the error's own words."""
    most = must_be_limited(torch.cuda.mem_get_info()[1], size)
    held = []
    try:
        for _ in range(most):
            held.append(block(size))
            held[-1].fill_(len(held) % 251)
    except torch.OutOfMemoryError as error:
        return held, str(error)
    return held, None


def oom():
    free, total = torch.cuda.mem_get_info()
    say("card", free=free, total=total, backend=torch.cuda.get_allocator_backend(),
        properties=torch.cuda.get_device_properties(0).total_memory)
    held, words = fill(64 * MIB)
    torch.cuda.synchronize()
    hold("out of memory", words=words, blocks=len(held), info=torch.cuda.mem_get_info(),
         reserved=torch.cuda.memory_reserved())
    right = all(int(tensor[-1]) == (at + 1) % 251 for at, tensor in enumerate(held))
    held.pop()
    again = block(64 * MIB)
    again.fill_(7)
    say("went on", right=right, again=int(again[0]) == 7)


def fragments():
    held, words = [], None
    try:
        for turn in range(64):
            held += [block((2 + (turn * step) % 9) * 2 * MIB) for step in (1, 2, 3)]
            held = held[-12:]
    except torch.OutOfMemoryError as error:
        words = str(error)
    held[-1].fill_(9)
    right = int(held[-1][0]) == 9
    hold("fragments", words=words, right=right, allocated=torch.cuda.memory_allocated(),
         reserved=torch.cuda.memory_reserved())


def graphs():
    source = torch.zeros(1024, device="cuda")
    for _ in range(2):  # what is made at the first call must not be captured
        source * 2 + 1
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = source * 2 + 1
    source.fill_(4)
    graph.replay()
    torch.cuda.synchronize()
    hold("replayed", right=float(result[0]) == 9.0)
    held, words = fill(64 * MIB)
    source.fill_(5)
    graph.replay()
    torch.cuda.synchronize()
    say("again", words=words, right=float(result[0]) == 11.0)
    del held


def part(size):
    try:
        tensor = block(int(size))
        tensor.fill_(1)
        hold("holds", got=True)
    except torch.OutOfMemoryError as error:
        hold("holds", got=False, words=str(error))


def turns(size, steps):
    """As turns.py, whose rounds are told of in the same words."""
    a = torch.ones(512, 512, device="cuda")
    torch.cuda.synchronize()
    hold("ready", uvm=uvm_bytes())
    held = [block(int(size) // 8) for _ in range(8)]
    values = list(range(8))
    for tensor, value in zip(held, values):
        tensor.fill_(value)
    wrong, rounds, told = 0, 0, True
    while told:
        began = time.perf_counter()
        wrong += int(held[0][-1]) != values[0]  # waits until it has the card
        say("begins", waited=time.perf_counter() - began)
        for _ in range(int(steps)):
            for tensor in held:
                tensor.add_(1)
        values = [(value + int(steps)) % 256 for value in values]
        wrong += float((a @ a)[0, 0]) != 512.0
        wrong += sum(not int(tensor.min()) == int(tensor.max()) == value for tensor, value in zip(held, values))
        rounds += 1
        say("round", hold=True, number=rounds, seconds=time.perf_counter() - began, wrong=wrong,
            uvm=uvm_bytes(), reserved=torch.cuda.memory_reserved())
        told = sys.stdin.readline()
    say("end", rounds=rounds, wrong=wrong)


if __name__ == "__main__":
    {"books": books, "oom": oom, "fragments": fragments, "graphs": graphs, "part": part,
     "turns": turns}[sys.argv[1]](*sys.argv[2:])
