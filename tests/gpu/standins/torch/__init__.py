# SPDX-License-Identifier: Apache-2.0
"""A stand-in for PyTorch in rehearsals on the simulated GPU: the names that programs/torch_*.py use,
over the driver calls that PyTorch's allocators and streams make.

A tensor has one value in all its elements: enough to see that memory is there and right. Nothing is
computed on the card: a result is filled in, behind a launch.
"""
from types import SimpleNamespace

from . import work
from .allocator import OutOfMemoryError
from .card import Stream, card
from .tensor import Graph, Tensor, capture, float32, uint8

__all__ = ["OutOfMemoryError", "Tensor", "float32", "uint8"]


def empty(*shape, dtype=float32, device=None):
    return Tensor(shape, dtype, device)


def zeros(*shape, device=None):
    return Tensor(shape, float32, device).fill_(0)


def ones(*shape, device=None):
    return Tensor(shape, float32, device).fill_(1)


def randn(*shape, device=None):
    return Tensor(shape, float32, device).fill_(0.5)


def arange(count, device=None):
    return Tensor((count,), float32, device).fill_(0)


def tensor(value):
    return Tensor((1,), float32, None).fill_(value)


def manual_seed(_):
    pass


def use_deterministic_algorithms(_):
    pass


def mem_get_info():
    return card().gpu.info()


def get_device_properties(_):
    return SimpleNamespace(total_memory=card().device_total())


cuda = SimpleNamespace(
    mem_get_info=mem_get_info, get_device_properties=get_device_properties,
    synchronize=lambda: card().gpu.sync(), empty_cache=lambda: card().allocator.empty(),
    memory_reserved=lambda: card().allocator.reserved, set_device=lambda _: card(),
    get_allocator_backend=lambda: card().allocator.backend,
    memory_allocated=lambda: card().allocator.allocated, CUDAGraph=Graph, graph=capture, Stream=Stream,
    current_stream=Stream, stream=lambda stream: card().using(stream))
nn = SimpleNamespace(Sequential=work.Sequential, Conv2d=work.layer, Linear=work.layer,
                     ReLU=work.layer, Flatten=work.layer, CrossEntropyLoss=work.CrossEntropyLoss,
                     functional=SimpleNamespace(conv2d=work.conv2d))
optim = SimpleNamespace(SGD=work.SGD)
utils = SimpleNamespace(data=SimpleNamespace(Dataset=work.Dataset, DataLoader=work.DataLoader))
profiler = SimpleNamespace(profile=work.profile, ProfilerActivity=SimpleNamespace(CPU=0, CUDA=1))
distributed = SimpleNamespace(init_process_group=work.init_process_group, all_reduce=work.all_reduce,
                              destroy_process_group=work.destroy_process_group)
