/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mount paths: those of the driver on this machine, since NVIDIA's device mounts the driver at
 * the same paths in every container, and the two folders in which the loaders of all distributions
 * search by default.
 */
#include "cli/cdi/inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cdi/kept.h"
#include "common/injected.h"
#include "common/text.h"

#define LIBRARY_NAME "libaliquot.so"
#define LIBRARY_PLACE INJECTED_FOLDER "/lib/" LIBRARY_NAME
#define STATE_PLACE INJECTED_FOLDER "/sim"
#define APIS 2u
#define WORDS_BYTES 17000u /* the most that a simulator reads, and one more key */

#if defined(__aarch64__)
#define DEBIAN_FOLDER "/usr/lib/aarch64-linux-gnu"
#else
#define DEBIAN_FOLDER "/usr/lib/x86_64-linux-gnu"
#endif

static const char *const loader_folders[] = { DEBIAN_FOLDER, "/usr/lib64" };
#define LOADER_FOLDERS (sizeof(loader_folders) / sizeof(loader_folders[0]))

/* The two libraries of the driver. */
static const struct {
        const char *api;
        const char *soname;
        const char *unversioned;
} drivers[APIS] = { { "cuda", "libcuda.so.1", "libcuda.so" },
                    { "nvml", "libnvidia-ml.so.1", "libnvidia-ml.so" } };

struct plan {
        const struct inject_about *about;
        struct injection *injection;
        char kept[PATH_MAX];
        char words[WORDS_BYTES]; /* configuration of the simulated GPU */
        char state[PATH_MAX];    /* its state folder; "": the GPU is real */
};

static int add_mount(struct injection *injection, const struct inject_mount *mount,
                     struct error *err)
{
        for (unsigned i = 0; i < injection->count; i++) {
                if (strcmp(injection->mount[i].to, mount->to) == 0)
                        return 0;
        }
        if (injection->count == INJECT_MOUNTS)
                return fail(err, -E2BIG, "more than %u files for a container", INJECT_MOUNTS);
        injection->mount[injection->count++] = *mount;
        return 0;
}

/* Adds the mount of a kept file. `to` may be a folder; `name` is then the file's name in it. */
static int add_kept(const struct plan *plan, const char *file, const char *to, const char *name,
                    struct error *err)
{
        struct inject_mount mount = { .options = INJECT_CODE };
        int rc = text_put(mount.from, PATH_MAX, err, "%s/%s", plan->kept, file);

        if (rc == 0)
                rc = text_put(mount.to, PATH_MAX, err, "%s%s%s", to, name[0] ? "/" : "", name);
        return rc < 0 ? rc : add_mount(plan->injection, &mount, err);
}

/* Adds a facade at each path where a loader searches. */
static int add_facade(const struct plan *plan, unsigned api, const char *found, struct error *err)
{
        const char *soname = drivers[api].soname;
        char real[PATH_MAX] = "", folder[PATH_MAX] = "";
        int rc = 0;

        for (unsigned i = 0; rc == 0 && i < LOADER_FOLDERS; i++) {
                rc = add_kept(plan, soname, loader_folders[i], soname, err);
                /* for a real driver, NVIDIA's device makes this name a link */
                if (rc == 0 && plan->state[0])
                        rc = add_kept(plan, soname, loader_folders[i], drivers[api].unversioned,
                                      err);
        }
        if (rc < 0 || plan->state[0])
                return rc;
        if (!realpath(found, real))
                return fail(err, -errno, "%s: %m", found);
        rc = add_kept(plan, soname, real, "", err);
        text_put(real, PATH_MAX, NULL, "%.*s", (int)(strrchr(found, '/') - found), found);
        if (rc == 0 && realpath(real, folder))
                rc = add_kept(plan, soname, folder, soname, err);
        return rc;
}

/* Mounts the driver itself at the path where its facade looks for it. */
static int add_driver(const struct plan *plan, unsigned api, const char *found, struct error *err)
{
        struct inject_mount mount = { .options = INJECT_CODE };
        int rc;

        if (!realpath(found, mount.from))
                return fail(err, -errno, "%s: %m", found);
        rc = text_put(mount.to, PATH_MAX, err, INJECTED_DRIVER "/%s" INJECTED_REAL,
                      drivers[api].soname);
        return rc < 0 ? rc : add_mount(plan->injection, &mount, err);
}

static int add_facades(const struct plan *plan, struct error *err)
{
        struct doctor_api api;
        int rc = 0;

        for (unsigned i = 0; rc == 0 && i < APIS; i++) {
                if (!library_api(&plan->about->request->library, drivers[i].api, &api) ||
                    !api.library[0])
                        return fail(err, -ENOENT,
                                    "no NVIDIA driver here (%s was not found); install it, or use "
                                    "--sim",
                                    drivers[i].soname);
                rc = add_facade(plan, i, api.library, err);
                if (rc == 0 && !plan->state[0])
                        rc = add_driver(plan, i, api.library, err);
        }
        return rc;
}

/* Mounts the simulated driver where a real one would be: a program that is linked with the driver
 * needs one there before anything is preloaded. */
static int add_simulated_driver(const struct plan *plan, struct error *err)
{
        char kept[PATH_MAX];
        int rc = 0;

        for (unsigned i = 0; rc == 0 && i < APIS; i++) {
                rc = text_put(kept, sizeof(kept), err, "driver/%s" INJECTED_REAL,
                              drivers[i].soname);
                for (unsigned at = 0; rc == 0 && at < LOADER_FOLDERS; at++)
                        rc = add_kept(plan, kept, loader_folders[at], drivers[i].soname, err);
        }
        return rc;
}

static int add_preload(const struct plan *plan, struct error *err)
{
        int rc = add_kept(plan, LIBRARY_NAME, LIBRARY_PLACE, "", err);

        if (rc == 0)
                rc = add_kept(plan, "ld.so.preload", "/etc/ld.so.preload", "", err);
        return rc < 0 || !plan->state[0] ? rc : add_simulated_driver(plan, err);
}

static int add_simulator(const struct plan *plan, struct error *err)
{
        struct inject_mount state = { .to = STATE_PLACE, .options = INJECT_STATE };
        int rc = add_kept(plan, "driver", INJECTED_DRIVER, "", err);

        if (!realpath(plan->state, state.from))
                return fail(err, -errno, "%s: %m", plan->state);
        return rc < 0 ? rc : add_mount(plan->injection, &state, err);
}

/* Gets configuration and state folder from the simulated driver. Does nothing for a real one. */
static int ask_simulator(struct plan *plan, struct error *err)
{
        const char *(*words)(void);
        const char *(*state)(void);
        struct doctor_api api;

        if (!plan->about->request->is_sim)
                return 0;
        if (!library_api(&plan->about->request->library, "nvml", &api) || !api.handle)
                return fail(err, -ENOENT, "the simulated GPU is not installed");
        words = (const char *(*)(void))dlsym(api.handle, "aliquot_sim_words");
        state = (const char *(*)(void))dlsym(api.handle, "aliquot_sim_state");
        if (!words || !state || !words() || !state())
                return fail(err, -EINVAL, "--sim: %s says not what it is like; see above",
                            api.library);
        if (!realpath(state(), plan->state))
                return fail(err, -errno, "the state folder of the simulated GPU, %s: %m", state());
        return text_put(plan->words, sizeof(plan->words), err, "%s\nstate=" STATE_PLACE "\n",
                        words());
}

/* Creates the folder with all of Aliquot's files that any container may need, so that one folder
 * stands for one version. */
static int keep_files(struct plan *plan, struct error *err)
{
        const struct installation *own = &plan->about->request->own;
        char shim[APIS][PATH_MAX];
        const struct kept_file files[] = {
                { .name = LIBRARY_NAME, .source = own->library },
                { .name = drivers[0].soname, .source = shim[0] },
                { .name = drivers[1].soname, .source = shim[1] },
                { .name = "ld.so.preload", .text = LIBRARY_PLACE "\n" },
                { .name = "driver/libcuda.so.1" INJECTED_REAL, .source = own->sim_cuda },
                { .name = "driver/libnvidia-ml.so.1" INJECTED_REAL, .source = own->sim_nvml },
                { .name = "driver/simulator", .text = plan->words },
        };
        const unsigned of_simulator = 3, all = sizeof(files) / sizeof(files[0]);
        int folder = (int)(strrchr(own->library, '/') - own->library);
        int rc = 0;

        for (unsigned i = 0; rc == 0 && i < APIS; i++)
                rc = text_put(shim[i], PATH_MAX, err, "%.*s/shims/%s", folder, own->library,
                              drivers[i].soname);
        return rc < 0 ? rc
                      : kept_make(plan->about->libraries, files,
                                  plan->state[0] ? all : all - of_simulator, plan->kept, err);
}

int inject_plan(const struct inject_about *about, struct injection *ret, struct error *err)
{
        static struct plan plan;
        int rc;

        *ret = (struct injection){ 0 };
        plan = (struct plan){ .about = about, .injection = ret };
        rc = ask_simulator(&plan, err);
        if (rc == 0)
                rc = keep_files(&plan, err);
        if (rc == 0)
                rc = about->is_preload ? add_preload(&plan, err) : add_facades(&plan, err);
        return rc < 0 || !plan.state[0] ? rc : add_simulator(&plan, err);
}
