# SPDX-License-Identifier: Apache-2.0
"""A file system too small for the simulated card (in many containers /dev/shm has 64 MiB): what can be had works, and
what cannot is an error of the driver with a line that says why, never a signal. On a tmpfs of the test's own.
"""
import pytest

import place

MIB = 1 << 20
OUT_OF_MEMORY, OPERATING_SYSTEM = 2, 304


@pytest.fixture
def small(sim, build):
    """Runs a program of which only it, and what it starts, has a state folder of that size."""
    place.need("user namespaces")
    script = f'mount -t tmpfs -o mode=700,size="$1" x {sim.state} && shift && exec "$@"'

    def small_run(size, command, **how):
        return sim.run(["unshare", "-rm", "sh", "-c", script, "sh", size, *build.command(command)], **how)
    return small_run


@pytest.fixture(scope="session")
def eater(build, tmp_path_factory):
    """Takes BYTES of a card, and fills them; with a file to write, only after that file has taken all room. Prints what
    the driver answers to each."""
    return build.compile_c(tmp_path_factory.mktemp("eater") / "eater", r"""
        #include <fcntl.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        #include "abi/cuda.h"

        static void fill_disk(const char *path)
        {
                static char block[65536];
                int fd = open(path, O_WRONLY | O_CREAT, 0600);

                while (write(fd, block, sizeof(block)) > 0)
                        ;
        }

        int main(int argc, char **argv)
        {
                size_t bytes = strtoull(argv[1], NULL, 10);
                CUcontext context;
                CUdeviceptr block, other;
                CUresult rc = cuInit(0);

                printf("init %d\n", rc);
                if (rc || cuCtxCreate_v2(&context, 0, 0) || cuMemAlloc_v2(&block, bytes))
                        return 0;
                if (argc > 2)
                        fill_disk(argv[2]);
                rc = cuMemsetD8_v2(block, 1, bytes);
                printf("fill %d\n", rc ? rc : cuCtxSynchronize());
                printf("then %d\n", cuMemAlloc_v2(&other, 512));
                return 0;
        }
        """, "-L", build.driver, "-l:libcuda.so.1")


def test_a_card_may_be_larger_than_the_folder(sim, small, eater):
    """Its memory then lies elsewhere, and all of it can be used."""
    sim.configure(memory="256MiB")
    result = small("4m", [eater, 200 * MIB])
    assert result.stdout.split() == ["init", "0", "fill", "0", "then", "0"], result
    assert result.stderr == "" and result.rc == 0


def test_memory_that_lies_elsewhere_cannot_be_shared(sim, small, run, compile_c, build):
    """And it is said why."""
    program = compile_c("share", r"""
        #include <stdio.h>
        #include "abi/cuda.h"

        int main(void)
        {
                CUipcMemHandle handle;
                CUcontext context;
                CUdeviceptr block;

                if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuMemAlloc_v2(&block, 4096))
                        return 1;
                printf("%d\n", cuIpcGetMemHandle(&handle, block));
                return 0;
        }
        """, "-L", build.driver, "-l:libcuda.so.1")
    sim.configure(memory="256MiB")
    assert run([program]).stdout == "0\n"
    result = small("4m", [program])
    line, = result.stderr.splitlines()
    assert result.stdout not in ("", "0\n") and str(sim.state) in line and "too small" in line, result


@pytest.mark.parametrize("settings", ({}, {"clock": "virtual"}))
def test_a_folder_without_room_for_the_node(sim, small, eater, settings):
    sim.configure(**settings)
    result = small("256k", [eater, MIB])
    assert result.stdout.split() == ["init", str(OPERATING_SYSTEM)], result
    line, = result.stderr.splitlines()
    assert str(sim.state) in line and "No space left" in line and "state=" in line, line


def test_a_folder_that_becomes_full(sim, small, eater):
    """It had room for all of the card when the program began. What has no room is out of memory, and the context is
    of no use from then on, as after any fault of a kernel."""
    sim.configure(memory="64MiB")
    result = small("80m", [eater, 48 * MIB, sim.state / "filler"])
    assert result.stdout.split() == ["init", "0", "fill", str(OUT_OF_MEMORY), "then", str(OUT_OF_MEMORY)], result
    line, = result.stderr.splitlines()
    assert str(sim.state) in line and "full" in line, line


def test_a_folder_that_is_full_for_the_next_program(sim, small, eater, build):
    """One is there: another finds the node, and no room for itself."""
    sim.configure(memory="64MiB")
    script = r'''
        cd "$3" && mkfifo input
        "$1" 0 4096 <>input >said &
        until grep -q ready said; do sleep 0.1; done
        cat /dev/zero >filler 2>&1
        "$2" 4096
        kill $!'''
    result = small("80m", ["sh", "-c", script, "sh", build.program("sim/hold"), eater, sim.state])
    assert result.stdout.split() == ["init", str(OPERATING_SYSTEM)], result
