# SPDX-License-Identifier: Apache-2.0
"""Has COUNT descriptors of an epoll that watches COUNT others: to read what /proc tells of each takes long.

    costly_descriptors.py COUNT
"""
import os
import select
import sys

count = int(sys.argv[1])
pipe, _ = os.pipe()
epoll = select.epoll()
watched = [os.dup(pipe) for _ in range(count)]
for descriptor in watched:
    epoll.register(descriptor, select.EPOLLIN)
for descriptor in watched:
    os.close(descriptor)  # watched still, as the pipe is open
copies = [os.dup(epoll.fileno()) for _ in range(count)]
print("ready", flush=True)
sys.stdin.read()
