# SPDX-License-Identifier: Apache-2.0
"""Doors among other loaded objects: preloads beside ours, plugins, constructors that run before anybody's,
and the driver's own calls, which never meet us. Fake drivers play the driver.
"""
import os

import pytest

from machine import NVML

# What is told apart here is who stands where among loaded objects; the unit tests run sanitized.
if "ALIQUOT_SANITIZER" in os.environ:
    pytest.skip("a sanitizer puts its own dlopen before ours: none of these means anything",
                allow_module_level=True)


PRELOADED = """
#define _GNU_SOURCE
#include <dlfcn.h>
int cuGraphicsMapResources(void);
int cuGraphicsMapResources(void)
{
        int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "cuGraphicsMapResources");
        return next ? next() + 100000 : -1;
}
"""


def test_other_preloads_before_and_after_us(machine, tmp_path):
    """C2: a second interposer finds the next function through RTLD_NEXT on either side of us, no
    recursion and no NULL; so does a third behind it."""
    machine.install("cuda-same")
    first = machine.build.compile_c(tmp_path / "first.so", PRELOADED, "-shared", "-fPIC")
    second = machine.build.compile_c(tmp_path / "second.so", PRELOADED, "-shared", "-fPIC")
    main = machine.build.compile_c(
        tmp_path / "main", """
        #include <dlfcn.h>
        #include <stdio.h>
        int main(void)
        {
                void *h = dlopen("libcuda.so.1", RTLD_NOW);
                int (*direct)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "cuGraphicsMapResources");
                int (*own)(void) = (int (*)(void))dlsym(h, "cuGraphicsMapResources");
                printf("%d %d\\n", own(), direct());
                return 0;
        }
        """)
    us = machine.build.library
    number = int(machine.probe(["open libcuda.so.1", "call cuGraphicsMapResources"], us=False)[1])
    for preload, layers in (([us], 0), ([first, us], 1), ([us, first], 0), ([first, second, us], 2),
                            ([first, us, second], 1)):
        done = machine.run([main], preload=preload)
        assert done.stdout == f"{number} {number + 100000 * layers}\n", (preload, done)
    # Behind us, a caller's "next" is the driver, though the list holds none after it.
    behind = machine.build.compile_c(
        tmp_path / "behind.so", PRELOADED + "int behind(void); int behind(void) { return cuGraphicsMapResources(); }",
        "-shared", "-fPIC", "-Wl,-Bsymbolic")
    asks = machine.build.compile_c(tmp_path / "asks", "#include <stdio.h>\nint behind(void);"
                                   "int main(void) { printf(\"%d\\n\", behind()); return 0; }", behind,
                                   f"-Wl,-rpath,{tmp_path}")
    done = machine.run([asks], preload=[us])
    assert done.stdout == f"{number + 100000}\n", done


def test_a_plugin_that_needs_the_driver(machine, tmp_path):
    """C2: DT_NEEDED in a library opened late, with and without RTLD_DEEPBIND."""
    driver = machine.install("cuda-same")
    plugin = machine.build.compile_c(
        tmp_path / "plugin.so", """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <string.h>
        int cuLaunchKernel(void);
        int cuCtxGetDevice(void);
        int ask(char *object);
        int ask(char *object)
        {
                Dl_info info;
                dladdr((void *)cuLaunchKernel, &info);
                strcpy(object, info.dli_fname);
                return cuCtxGetDevice();
        }
        """, "-shared", "-fPIC", driver)
    main = machine.build.compile_c(
        tmp_path / "main", """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        int main(int argc, char **argv)
        {
                for (int deep = 0; deep < 2; deep++) {
                        char object[4096] = "";
                        void *h = dlopen(argv[1], RTLD_NOW | (deep ? RTLD_DEEPBIND : 0));
                        int (*ask)(char *) = (int (*)(char *))dlsym(h, "ask");
                        printf("%d ", ask(object));
                        printf("%s\\n", object);
                        dlclose(h);
                }
                return 0;
        }
        """)
    number = machine.probe(["open libcuda.so.1", "call cuCtxGetDevice"], us=False)[1]
    done = machine.run([main, plugin], preload=[machine.build.library])
    assert done.stdout == f"{number} {machine.build.library}\n" * 2, done


def test_calls_before_any_constructor_of_ours(machine, tmp_path):
    """A dependency's constructor opens the driver and calls it before our own would have run."""
    machine.install("cuda-same")
    early = machine.build.compile_c(
        tmp_path / "libearly.so", """
        #include <dlfcn.h>
        int early_linked, early_opened;
        int cuCtxGetDevice(void);
        #pragma weak cuCtxGetDevice
        __attribute__((constructor)) static void start(void)
        {
                void *h = dlopen("libcuda.so.1", RTLD_NOW);
                early_opened = ((int (*)(void))dlsym(h, "cuCtxGetDevice"))();
                early_linked = cuCtxGetDevice();
        }
        """, "-shared", "-fPIC")
    main = machine.build.compile_c(
        tmp_path / "main", "#include <stdio.h>\nextern int early_linked, early_opened;"
        "int main(void) { printf(\"%d %d\\n\", early_opened, early_linked); return 0; }",
        early, f"-Wl,-rpath,{tmp_path}")
    number = machine.probe(["open libcuda.so.1", "call cuCtxGetDevice"], us=False)[1]
    done = machine.run([main], preload=[machine.build.library])
    assert done.stdout == f"{number} {number}\n", done


def test_a_driver_whose_constructor_looks_for_itself(machine, tmp_path):
    """The driver's own constructor calls dlopen and its own exports while we are opening it."""
    machine.build.compile_c(
        machine.drivers / "libcuda.so.1", """
        #include <dlfcn.h>
        int cuCtxGetDevice(void);
        static int seen;
        int cuCtxGetDevice(void) { return seen; }
        __attribute__((constructor)) static void start(void)
        {
                void *h = dlopen("libcuda.so.1", RTLD_NOW);
                seen = h && dlsym(h, "cuCtxGetDevice") ? 5 : 6;
                if (cuCtxGetDevice() != seen) seen = 7;
        }
        """, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-Wl,-Bsymbolic")
    assert machine.probe(["open libcuda.so.1", "call cuCtxGetDevice"])[1] == "5"


def test_the_driver_gets_the_real_neighbour(machine):
    """What the real libraries open is theirs: neither our view nor our limits are for them."""
    machine.build.compile_c(
        machine.drivers / "libcuda.so.1", """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <string.h>
        int cuCtxGetDevice(void);
        int cuCtxGetDevice(void)
        {
                void *h = dlopen("libnvidia-ml.so.1", RTLD_NOW);
                void *f = h ? dlsym(h, "nvmlErrorString") : 0;
                Dl_info info;
                return f && dladdr(f, &info) && strstr(info.dli_fname, "driver/libnvidia-ml") ? 5 : 6;
        }
        """, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
    machine.install("nvml", "libnvidia-ml.so.1")
    assert machine.probe(["open libcuda.so.1", "call cuCtxGetDevice"])[1] == "5"


def test_nvml_calls_itself_not_us(machine):
    """The real NVML reaches its own exports by name, through the loader: they must stay its own."""
    machine.build.compile_c(
        machine.drivers / "libnvidia-ml.so.1", """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <string.h>
        const char *nvmlErrorString(int code);
        const char *nvmlErrorString(int code) { return "real"; }
        int nvmlUnitGetCount(void);
        int nvmlUnitGetCount(void)
        {
                Dl_info info;
                return dladdr((void *)nvmlErrorString, &info) && strstr(info.dli_fname, "driver/") ? 5 : 6;
        }
        """, "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1")
    assert machine.probe(["open libnvidia-ml.so.1", "call nvmlUnitGetCount"])[1] == "5"
