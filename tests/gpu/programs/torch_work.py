# SPDX-License-Identifier: Apache-2.0
"""PyTorch at work.

    torch_work.py step              a few training steps, deterministic; the parameters' digest
    torch_work.py throughput SECS   training steps a second: eager, as a graph, in two and four streams
    torch_work.py products SECS     matrix products a second, as often as it is told to go on
    torch_work.py start             import torch; torch.zeros(1).cuda()
    torch_work.py loader METHOD     a DataLoader with workers by fork or spawn
    torch_work.py profiler          the profiler sees kernels
    torch_work.py nccl              a group of one rank by NCCL
"""
import hashlib
import os
import sys
import tempfile
import time

import torch

from said import hold, say


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(16 * 32 * 32, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).cuda()


def trainer(batch):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()
    images = torch.randn(batch, 3, 32, 32, device="cuda")
    labels = torch.arange(batch, device="cuda") % 10

    def step():
        optimizer.zero_grad()
        loss = loss_of(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss
    return model, step


def steps():
    torch.use_deterministic_algorithms(True)
    model, step = trainer(64)
    losses = [float(step().detach()) for _ in range(10)]
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().cpu().numpy().tobytes())
    say("trained", losses=[loss.hex() for loss in losses], digest=digest.hexdigest())


def in_streams(count):
    """As many networks, each in a stream of its own, one step after another."""
    streams = [torch.cuda.Stream() for _ in range(count)]
    steps_of = []
    for stream in streams:
        with torch.cuda.stream(stream):
            steps_of.append(trainer(256)[1])

    def step():
        for stream, one in zip(streams, steps_of):
            with torch.cuda.stream(stream):
                one()
    return step


def as_graph():
    _, step = trainer(256)
    warm = torch.cuda.Stream()
    warm.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(warm):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(warm)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def throughput(seconds):
    for kind, make in (("eager", lambda: trainer(256)[1]), ("graph", as_graph), ("two streams", lambda: in_streams(2)),
                       ("four streams", lambda: in_streams(4))):
        step = make()
        for _ in range(20):
            step()
        torch.cuda.synchronize()
        rates, end = [], time.perf_counter() + float(seconds)
        while not rates or time.perf_counter() < end:
            began = time.perf_counter()
            for _ in range(50):
                step()
            torch.cuda.synchronize()
            rates.append(50 / (time.perf_counter() - began))
        rates.sort()
        say("rate", kind=kind, steps_per_second=rates[len(rates) // 2], windows=len(rates))


def products(seconds):
    """The first half second of each count is not of it: a cap may have just changed."""
    left, right = torch.ones(2048, 2048, device="cuda"), torch.ones(2048, 2048, device="cuda")

    def multiply_for(some):
        count, began = 0, time.perf_counter()
        while time.perf_counter() - began < some:
            for _ in range(50):
                _ = left @ right
            torch.cuda.synchronize()
            count += 50
        return count / (time.perf_counter() - began)

    told = True
    while told:
        multiply_for(0.5)
        say("products", hold=True, per_second=multiply_for(float(seconds)))
        told = sys.stdin.readline()


def start():
    torch.zeros(1).cuda()
    say("started")


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, at):
        return torch.tensor(float(at))


def loader(method):
    total = torch.zeros(1, device="cuda")
    batches = torch.utils.data.DataLoader(Numbers(), batch_size=16, num_workers=4, pin_memory=True,
                                          multiprocessing_context=method)
    for batch in batches:
        total += batch.cuda(non_blocking=True).sum()
    hold("loaded", right=float(total[0]) == sum(range(256)))


def profiler():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU,
                                            torch.profiler.ProfilerActivity.CUDA]) as profile:
        a = torch.ones(256, 256, device="cuda")
        (a @ a).sum()
        torch.cuda.synchronize()
    names = sorted({event.key for event in profile.key_averages() if "CUDA" in str(event.device_type)})
    say("profiled", kernels=len(names), names=names[:20])


def nccl():
    rendezvous = tempfile.mktemp()
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    torch.cuda.set_device(0)
    hold("before", tensor=float(torch.zeros(1, device="cuda")[0]))
    torch.distributed.init_process_group("nccl", init_method=f"file://{rendezvous}", world_size=1, rank=0)
    tensor = torch.ones(1 << 20, device="cuda")
    torch.distributed.all_reduce(tensor)
    torch.cuda.synchronize()
    hold("reduced", right=float(tensor[0]) == 1.0)
    torch.distributed.destroy_process_group()
    hold("group ended")


if __name__ == "__main__":
    {"step": steps, "throughput": throughput, "products": products, "start": start, "loader": loader, "profiler": profiler,
     "nccl": nccl}[sys.argv[1]](*sys.argv[2:])
