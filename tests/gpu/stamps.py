# SPDX-License-Identifier: Apache-2.0
"""What a card did and when, by the time stamps that its kernels wrote (programs/stamps.ptx).

    one = Stamps.read(file)                 # the kernels of one program
    mine, other = divide([one, another])    # where both were on the card each has half
    mine.share(begin, end)                  # part of that time in which the card was its own
    mine.windows(begin, end, 10**9)         # the same of each second, a tenth of it apart

Times are ns of the card's own clock, which all programs share.
"""
import array
import bisect
import itertools

WORDS = 3  # of an entry: begin, end, and the multiprocessor below the result


class Stamps:
    def __init__(self, segments, kernels=(), processors=()):
        """segments: (begin, end, weight), one after the other."""
        self.segments, self.kernels, self.processors = segments, kernels, set(processors)
        self.begins = [segment[0] for segment in segments]
        self.sums = [0, *itertools.accumulate((end - begin) * weight for begin, end, weight in segments)]

    @classmethod
    def read(cls, file):
        words = array.array("Q")
        words.frombytes(file.read_bytes())
        kernels = sorted(zip(words[0::WORDS], words[1::WORDS]))
        return cls.of(kernels, (word & 0xffffffff for word in words[2::WORDS]))

    @classmethod
    def of(cls, kernels, processors=()):
        """Kernels may overlap, as in two streams: that time counts once."""
        return cls([(begin, end, 1) for begin, end in union(kernels)], kernels, processors)

    @property
    def first(self):
        return self.segments[0][0]

    @property
    def last(self):
        return self.segments[-1][1]

    def up_to(self, time):
        at = bisect.bisect_right(self.begins, time)
        if at == 0:
            return 0
        begin, end, weight = self.segments[at - 1]
        return self.sums[at - 1] + (min(time, end) - begin) * weight

    def busy(self, begin, end):
        return self.up_to(end) - self.up_to(begin)

    def share(self, begin, end):
        return self.busy(begin, end) / (end - begin)

    def windows(self, begin, end, width, step=None):
        step = step or width // 10
        return [self.share(at, at + width) for at in range(int(begin), int(end - width) + 1, int(step))]


def union(kernels):
    """Intervals in order, as those that touch or overlap are one."""
    whole = []
    for begin, end in kernels:
        if whole and begin <= whole[-1][1]:
            whole[-1][1] = max(whole[-1][1], end)
        else:
            whole.append([begin, end])
    return whole


def divide(logs):
    """The same programs, with a k-th of the time for each while k of them had a kernel on the card."""
    turns = sorted((time, change, at) for at, log in enumerate(logs)
                   for begin, end, _ in log.segments for time, change in ((begin, 1), (end, -1)))
    parts, on, since = [[] for _ in logs], set(), 0
    for time, change, at in turns:
        if time > since:
            for one in on:
                parts[one].append((since, time, 1 / len(on)))
        since = time
        (on.add if change > 0 else on.discard)(at)
    return [Stamps(part, log.kernels, log.processors) for part, log in zip(parts, logs)]


def overlap(logs, begin, end):
    """Part of the time in which more than one had a kernel on the card."""
    return sum(log.share(begin, end) for log in logs) - Stamps.of(
        sorted((one, other) for log in logs for one, other, _ in log.segments)).share(begin, end)
