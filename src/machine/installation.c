/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout, installed tree or build folder, is the one that has libaliquot.so. Paths are relative
 * to the running program, so an installed tree can be moved, and a build folder needs no setting.
 */
#include "machine/installation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"

/* Where the files are, relative to the running program's folder. */
struct installation_layout {
        const char *library; /* libaliquot.so */
        /* folders of the simulator, its libcuda.so.1's first */
        const char *sim[INSTALLATION_SIM_FOLDERS];
        const char *daemon, *load, *plot;
};

static const struct installation_layout layouts[] = {
        { PLACE_LIBDIR "/aliquot/libaliquot.so",
          { PLACE_LIBDIR "/aliquot/sim" },
          "aliquotd",
          PLACE_LIBDIR "/aliquot/bench/aliquot-load",
          PLACE_LIBDIR "/aliquot/bench/aliquot-plot" },
        { "../shim/libaliquot.so",
          { "../sim/driver", "../cudart/so12", "../cudart/so13" },
          "../daemon/aliquotd",
          "../load/aliquot-load",
          "../plot/aliquot-plot" },
};

static int own_folder(struct installation *own, char ret[PATH_MAX], struct error *err)
{
        ssize_t length = readlink("/proc/self/exe", own->program, sizeof(own->program) - 1);
        char *slash;

        if (length < 0)
                return fail(err, -errno, "/proc/self/exe: %m; mount /proc");
        own->program[length] = '\0';
        memcpy(ret, own->program, (size_t)length + 1);
        slash = strrchr(ret, '/');
        *(slash ? slash : ret) = '\0';
        return 0;
}

/* Writes the absolute path without links of folder/relative + name to `ret`. False, and "": there
 * is no such file. */
static bool settle(char ret[PATH_MAX], const char *folder, const char *relative, const char *name)
{
        char path[PATH_MAX];

        if (text_put(path, sizeof(path), NULL, "%s/%s%s", folder, relative, name) < 0 ||
            !realpath(path, ret)) {
                ret[0] = '\0';
                return false;
        }
        return true;
}

int installation_find(struct installation *ret, struct error *err)
{
        const unsigned count = sizeof(layouts) / sizeof(layouts[0]);
        static struct installation own;
        char folder[PATH_MAX];
        unsigned at = 0;
        int rc = own_folder(&own, folder, err);

        if (rc < 0)
                return rc;
        while (at < count && !settle(own.library, folder, layouts[at].library, ""))
                at++;
        if (at == count)
                return fail(err, -ENOENT,
                            "libaliquot.so is neither in %s/%s nor beside the command; install "
                            "it again",
                            folder, layouts[0].library);
        for (unsigned i = 0; i < INSTALLATION_SIM_FOLDERS && layouts[at].sim[i]; i++)
                settle(own.sim_folder[i], folder, layouts[at].sim[i], "");
        settle(own.sim_cuda, folder, layouts[at].sim[0], "/libcuda.so.1");
        settle(own.sim_nvml, folder, layouts[at].sim[0], "/libnvidia-ml.so.1");
        settle(own.daemon, folder, layouts[at].daemon, "");
        settle(own.load, folder, layouts[at].load, "");
        settle(own.plot, folder, layouts[at].plot, "");
        *ret = own;
        return 0;
}
