# SPDX-License-Identifier: Apache-2.0
"""Layers, training, loaders, the profiler and NCCL: as much of each as moves memory and processes."""
import multiprocessing
from types import SimpleNamespace

from driver import MIB

from .card import card
from .tensor import Tensor, float32

LAYER_SHAPE = (256, 256)


def conv2d(image, weights, padding=0):
    card().library("cuDNN")
    return image.result(image.shape, lambda: image.value * weights.value * 8 * 9)


def layer(*_, **__):
    return object()


class Sequential:
    def __init__(self, *layers):
        self.layers, self.held = layers, []

    def cuda(self):
        self.held = [Tensor(LAYER_SHAPE, float32, "cuda").fill_(1) for _ in self.layers]
        return self

    def parameters(self):
        return self.held

    def __call__(self, images):
        for parameter in self.held:
            images = parameter.result(LAYER_SHAPE, lambda parameter=parameter: parameter.value * 0.5)
        return images


class SGD:
    def __init__(self, parameters, lr, momentum):
        self.parameters, self.rate = list(parameters), lr * momentum

    def zero_grad(self):
        pass

    def step(self):
        for parameter in self.parameters:
            card().launch()
            parameter.fill_(parameter.value - self.rate)


class CrossEntropyLoss:
    def __call__(self, outputs, labels):
        return outputs.sum()


class Dataset:
    pass


def load(dataset, places, pipe):
    for at in places:
        pipe.send(dataset[at].value)
    pipe.close()


class DataLoader:
    """Each worker sends its share of the numbers."""
    def __init__(self, dataset, batch_size, num_workers, pin_memory, multiprocessing_context):
        context = multiprocessing.get_context(multiprocessing_context)
        self.workers, self.shares = [], []
        for worker in range(num_workers):
            ours, theirs = context.Pipe(duplex=False)
            places = range(worker, len(dataset), num_workers)
            process = context.Process(target=load, args=(dataset, places, theirs))
            process.start()
            self.workers.append(process)
            self.shares.append((ours, len(places)))

    def __iter__(self):
        for pipe, count in self.shares:
            for _ in range(count):
                yield Tensor((1,), float32, None).fill_(pipe.recv())
        for process in self.workers:
            process.join()


class profile:
    def __init__(self, activities):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def key_averages(self):
        return [SimpleNamespace(key="nothing", device_type="DeviceType.CUDA")]


def init_process_group(backend, init_method, world_size, rank):
    card().held = [card().gpu.alloc(4 * MIB) for _ in range(2)]


def all_reduce(tensor):
    card().launch()


def destroy_process_group():
    for block in card().held:
        card().gpu.free(block)
