# SPDX-License-Identifier: Apache-2.0
"""aliquotd where memory is short: of each request, each allocation that its loop makes for it is not there once."""
import http.client
import mmap
import os
import struct
from itertools import count

import pytest

from daemon import Daemon, wait_for

# Counts down at each allocation that the daemon's first thread makes itself, or jansson for it; the one at which
# the count comes to 0 fails, and -1 says so. Libraries of which the daemon says nothing (libevent, SQLite) have theirs.
NO_MEMORY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile int *count;
static long loop;
__attribute__((constructor)) static void begin(void)
{
        int fd = open(getenv("FAILING"), O_RDWR | O_CLOEXEC);
        void *at = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        count = at == MAP_FAILED ? NULL : at;
        close(fd);
        loop = getpid();
}
static int is_daemons(const void *caller)
{
        Dl_info info;
        const char *name = dladdr(caller, &info) ? strrchr(info.dli_fname, '/') : 0;
        return name && (!strcmp(name, "/aliquotd") || !strncmp(name, "/libjansson.so", 14));
}
static int is_over(const void *caller)
{
        if (!count || *count <= 0 || syscall(SYS_gettid) != loop || !is_daemons(caller) || --*count > 0)
                return 0;
        *count = -1;
        errno = ENOMEM;
        return 1;
}
static void *find(const char *name)
{
        return dlsym(RTLD_NEXT, name);
}
void *malloc(size_t bytes)
{
        static void *(*real)(size_t);
        if (!real)
                real = (void *(*)(size_t))find("malloc");
        return is_over(__builtin_return_address(0)) ? 0 : real(bytes);
}
void *realloc(void *old, size_t bytes)
{
        static void *(*real)(void *, size_t);
        if (!real)
                real = (void *(*)(void *, size_t))find("realloc");
        return is_over(__builtin_return_address(0)) ? 0 : real(old, bytes);
}
void *reallocarray(void *old, size_t many, size_t bytes)
{
        static void *(*real)(void *, size_t, size_t);
        if (!real)
                real = (void *(*)(void *, size_t, size_t))find("reallocarray");
        return is_over(__builtin_return_address(0)) ? 0 : real(old, many, bytes);
}
extern void *__libc_calloc(size_t, size_t);
void *calloc(size_t many, size_t bytes)
{
        return is_over(__builtin_return_address(0)) ? 0 : __libc_calloc(many, bytes);
}
"""


class Failing:
    """The daemon with that library; n-th allocations fail."""
    def __init__(self, sim, compile_c):
        library = compile_c("nomemory.so", NO_MEMORY, "-shared", "-fPIC", "-ldl")
        path = sim.folder / "failing"
        path.write_bytes(bytes(4096))
        self.left = mmap.mmap(os.open(path, os.O_RDWR), 4096)
        self.daemon = Daemon(sim).start(LD_PRELOAD=library, FAILING=path)

    def ask(self, nth, method, path, body=None):
        """(answer or None, whether an allocation failed)"""
        self.left[:4] = struct.pack("i", nth)
        try:
            answer = self.daemon.ask(method, path, body)
        except (http.client.HTTPException, ConnectionError):
            answer = None
        left, = struct.unpack("i", self.left[:4])
        self.left[:4] = bytes(4)
        assert self.daemon.process.poll() is None, (method, path, nth, self.daemon.said())
        return answer, left == -1


@pytest.fixture
def failing(two_cards, compile_c):
    return Failing(two_cards, compile_c)


def shape(answer):
    """What is there to read, without its numbers, which change: of JSON each member, of metrics each series."""
    def of(value):
        if isinstance(value, dict):
            return {key: of(member) for key, member in value.items()}
        return [of(member) for member in value] if isinstance(value, list) else type(value)
    if not answer.headers["Content-Type"].startswith("application/json"):
        lines = [line.rsplit(" ", 1)[0] for line in answer.text.splitlines()]
        return [line for line in lines if line[0] != "#" and not line.startswith("aliquot_http_requests")]
    return of(answer.json)


# An answer of its own each time: a text that is kept needs no memory.
READS = ["/v1", "/healthz", "/v1/devices", "/v1/processes", "/v1/sessions?limit={}",
         "/v1/sessions?limit={}&label=a%3Db", "/v1/sessions/s1", "/v1/sessions/s1/processes", "/metrics"]


@pytest.mark.skipif("ALIQUOT_SANITIZER" in os.environ, reason="a sanitizer has an allocator of its own")
@pytest.mark.parametrize("path", READS)
def test_what_is_read_is_whole_or_refused(failing, path):
    for i in range(3):
        failing.daemon.create(f"s{i}", "1MiB", labels={"a": "b"}, weight=200)
    failing.daemon.get(path.format(10))
    whole = shape(failing.daemon.get(path.format(10)))
    for nth in count(1):
        answer, has_failed = failing.ask(nth, "GET", path.format(10 + nth))
        if answer and answer.status < 500:
            assert answer.status == 200 and shape(answer) == whole, (nth, answer)
        if not has_failed:
            break
        assert nth < 500, path
    assert nth > 1 and answer.status == 200, answer


@pytest.mark.skipif("ALIQUOT_SANITIZER" in os.environ, reason="a sanitizer has an allocator of its own")
def test_what_is_asked_for_is_done_whole_or_not(failing):
    """Or it is done and the answer is lost; but never a part of it, and it is never said to be done where it is not."""
    daemon, refusals = failing.daemon, 0
    for nth in count(1):
        wish = {"name": "new", "memory": "1MiB", "weight": 300, "labels": {"x": "y"}}
        answer, made = failing.ask(nth, "POST", "/v1/sessions", wish)
        session = daemon.session("new")
        assert session is None or (session["weight"], session["labels"]) == (300, {"x": "y"}), (nth, session)
        assert not answer or (answer.status == 201 and session) or answer.status >= 500, (nth, answer)

        session = session or daemon.create("new", "1MiB", weight=300, labels={"x": "y"})
        answer, changed = failing.ask(nth, "PATCH", "/v1/sessions/new", {"weight": 400, "labels": {"x": "z"}})
        session = daemon.session("new")
        assert (session["weight"], session["labels"]["x"]) in ((300, "y"), (400, "z")), (nth, session)
        assert not answer or (answer.status == 200 and session["weight"] == 400) or answer.status >= 500, (nth, answer)
        refusals += not answer or answer.status >= 500

        answer, ended = failing.ask(nth, "DELETE", "/v1/sessions/new")
        assert not answer or (answer.status == 204 and not daemon.session("new")) or answer.status >= 500, (nth, answer)
        if daemon.session("new"):
            assert daemon.delete("/v1/sessions/new").status == 204
        wait_for(lambda: daemon.folders() == [], daemon.said)
        if not made and not changed and not ended:
            break
        assert nth < 500
    assert refusals > 3 and daemon.stop() == 0 and "memory" in daemon.said()
