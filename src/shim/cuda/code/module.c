/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules and libraries: code and globals on the card, estimated by the size of their image.
 *
 * The driver does not tell what a module takes, and may take it later (lazy loading). The size of
 * the image, or of the part of a fat binary that the device loads, and the zeroed memory that it
 * names, is charged before it is loaded, so that what plainly has no room is refused. Once it is
 * loaded, what NVML shows is charged in its place (remainder.h). Where NVML does not list this
 * process the estimate stays until the module is unloaded or its context goes. A library belongs to
 * no context: its estimate is charged once, to the device that is current when it is loaded.
 */
#include "shim/cuda/place/front.h"
#include "shim/cuda/stream/access.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/cuda/charge/remainder.h"
#include "shim/cuda/charge/reserve.h"
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/measure/measure.h"
#include "shim/cuda/state/code.h"

/* Of the device on which it is loaded, as 90 for 9.0; 0: the driver does not say. */
static unsigned capability_at(struct place place)
{
        int major = 0, minor = 0;

        if (place.row < 0 ||
            real.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                      place.device) != CUDA_SUCCESS ||
            real.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                      place.device) != CUDA_SUCCESS)
                return 0;
        return (unsigned)major * 10 + (unsigned)minor;
}

/* The image in a file. Read rather than mapped: it may shrink meanwhile. */
static uint64_t read_bytes(int fd, uint64_t bytes, unsigned capability)
{
        void *image = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uint64_t loaded = UINT64_MAX, got = 0;
        ssize_t n = 1;

        if (image == MAP_FAILED)
                return loaded;
        while (n > 0 && got < bytes) {
                n = pread(fd, (char *)image + got, bytes - got, (off_t)got);
                got += n > 0 ? (uint64_t)n : 0;
        }
        if (got == bytes)
                loaded = measure_file(image, bytes, capability);
        munmap(image, bytes);
        return loaded;
}

/* 0 when it cannot be told: the driver will say why. */
static uint64_t file_bytes(const char *path, struct place place)
{
        int saved = errno;
        int fd = path && front_is_on() ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
        struct stat status;
        uint64_t bytes = 0;

        if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
                bytes = read_bytes(fd, (uint64_t)status.st_size, capability_at(place));
        if (fd >= 0)
                close(fd);
        errno = saved;
        return bytes;
}

static uint64_t image_bytes(const void *image, struct place place)
{
        return front_is_on() ? measure_image(image, capability_at(place)) : 0;
}

static CUresult reserve_file(struct charge *ret, const char *path)
{
        struct place place = place_here();

        return reserve_at(ret, place, file_bytes(path, place));
}

static CUresult reserve_image(struct charge *ret, const void *image)
{
        struct place place = place_here();

        return reserve_at(ret, place, image_bytes(image, place));
}

static void forget_looked_up(void)
{
        for (unsigned i = 0; i < STATE_LOOKED_UP; i++)
                store_relaxed(&code_state.looked_up[i], 0);
}

static void forget_launched(void)
{
        for (unsigned i = 0; i < STATE_LAUNCHED; i++)
                store_relaxed(&code_state.launched[i], 0);
}

/* Programs look a function up before each launch. */
static bool is_known(uint64_t key)
{
        uint32_t at = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) % STATE_LOOKED_UP;

        return swap_acq_rel(&code_state.looked_up[at], key) == key && key;
}

/* A library may be loaded before anything is on the device: NVML lists this process later. */
static bool keep_estimate(struct charge *estimate, uint64_t key)
{
        bool is_of_context = estimate->owner != 0;

        if (is_of_context && !remainder_is_measured(estimate->device))
                remainder_changed(estimate->device);
        return (!is_of_context || remainder_is_measured(estimate->device)) &&
               remainder_keep_estimate(estimate, key);
}

/* The estimate has said whether there is room. What was taken of it NVML tells. */
static CUresult settle_image(struct charge *charge, CUresult rc, uint64_t key)
{
        int row = charge->device;

        forget_looked_up();
        if (rc == CUDA_SUCCESS && keep_estimate(charge, key))
                return rc;
        settle(charge, rc, SPACE_MODULE, key);
        remainder_changed(row);
        return rc;
}

static CUresult settle_unload(struct charge *taken, CUresult rc, uint64_t key)
{
        settle_free(taken, rc, SPACE_MODULE, key);
        forget_looked_up();
        forget_launched();
        if (rc == CUDA_SUCCESS)
                remainders_changed();
        return rc;
}

CUresult hook_cuModuleLoad(CUmodule *ret, const char *path)
{
        scoped_access const struct credit *access = access_scope();
        struct charge charge;
        unsigned attempt = 0;
        CUresult rc = reserve_file(&charge, path);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuModuleLoad(ret, path);
        while (is_draining(&charge, rc, &attempt));
        return settle_image(&charge, rc, key_at(rc, ret));
}

CUresult hook_cuModuleLoadData(CUmodule *ret, const void *image)
{
        scoped_access const struct credit *access = access_scope();
        struct charge charge;
        unsigned attempt = 0;
        CUresult rc = reserve_image(&charge, image);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuModuleLoadData(ret, image);
        while (is_draining(&charge, rc, &attempt));
        return settle_image(&charge, rc, key_at(rc, ret));
}

CUresult hook_cuModuleLoadDataEx(CUmodule *ret, const void *image, unsigned int count,
                                 CUjit_option *options, void **values)
{
        scoped_access const struct credit *access = access_scope();
        struct charge charge;
        unsigned attempt = 0;
        CUresult rc = reserve_image(&charge, image);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuModuleLoadDataEx(ret, image, count, options, values);
        while (is_draining(&charge, rc, &attempt));
        return settle_image(&charge, rc, key_at(rc, ret));
}

CUresult hook_cuModuleLoadFatBinary(CUmodule *ret, const void *image)
{
        scoped_access const struct credit *access = access_scope();
        struct charge charge;
        unsigned attempt = 0;
        CUresult rc = reserve_image(&charge, image);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuModuleLoadFatBinary(ret, image);
        while (is_draining(&charge, rc, &attempt));
        return settle_image(&charge, rc, key_at(rc, ret));
}

CUresult hook_cuModuleUnload(CUmodule module)
{
        scoped_access const struct credit *access = access_scope();
        struct charge taken;

        charge_take(&taken, SPACE_MODULE, key_of(module));
        return settle_unload(&taken, real.cuModuleUnload(module), key_of(module));
}

/* A library may be loaded without a context that lives: it is then the first device's. */
static struct place place_of_library(void)
{
        struct place place = place_here();

        return place.answer == CUDA_ERROR_INVALID_CONTEXT ||
                               place.answer == CUDA_ERROR_CONTEXT_IS_DESTROYED
                       ? place_of_device(0)
                       : place;
}

/* The vendor's own options decide how the image is held, not how large it is. */
CUresult hook_cuLibraryLoadData(CUlibrary *ret, const void *image, CUjit_option *jit_options,
                                void **jit_values, unsigned int jit_count, CUlibraryOption *options,
                                void **values, unsigned int count)
{
        scoped_access const struct credit *access = access_scope();
        struct place place = place_of_library();
        struct charge charge;
        unsigned attempt = 0;
        CUresult rc = reserve_at(&charge, place, image_bytes(image, place));

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuLibraryLoadData(ret, image, jit_options, jit_values, jit_count, options,
                                            values, count);
        while (is_draining(&charge, rc, &attempt));
        charge.owner = 0;
        return settle_image(&charge, rc, key_at(rc, ret));
}

CUresult hook_cuLibraryLoadFromFile(CUlibrary *ret, const char *path, CUjit_option *jit_options,
                                    void **jit_values, unsigned int jit_count,
                                    CUlibraryOption *options, void **values, unsigned int count)
{
        scoped_access const struct credit *access = access_scope();
        struct place place = place_of_library();
        struct charge charge;
        unsigned attempt = 0;
        CUresult rc = reserve_at(&charge, place, file_bytes(path, place));

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuLibraryLoadFromFile(ret, path, jit_options, jit_values, jit_count,
                                                options, values, count);
        while (is_draining(&charge, rc, &attempt));
        charge.owner = 0;
        return settle_image(&charge, rc, key_at(rc, ret));
}

CUresult hook_cuLibraryUnload(CUlibrary library)
{
        scoped_access const struct credit *access = access_scope();
        struct charge taken;

        charge_take(&taken, SPACE_MODULE, key_of(library));
        return settle_unload(&taken, real.cuLibraryUnload(library), key_of(library));
}

/* What is loaded lazily is taken when it is first asked for; or by a launch (kernel.c). */
static void look_behind(uint64_t key)
{
        int row;

        if (is_known(key))
                return;
        row = place_here().row;
        if (row < 0)
                remainders_changed();
        else if (remainder_is_measured(row))
                remainder_changed(row);
}

/* `key`: of what was found. */
static CUresult looked_up(CUresult rc, uint64_t key)
{
        if (rc == CUDA_SUCCESS)
                look_behind(key);
        return rc;
}

CUresult hook_cuModuleGetFunction(CUfunction *ret, CUmodule module, const char *name)
{
        scoped_access const struct credit *access = access_scope();
        CUresult rc = real.cuModuleGetFunction(ret, module, name);

        return looked_up(rc, key_at(rc, ret));
}

CUresult hook_cuKernelGetFunction(CUfunction *ret, CUkernel kernel)
{
        scoped_access const struct credit *access = access_scope();
        CUresult rc = real.cuKernelGetFunction(ret, kernel);

        return looked_up(rc, key_at(rc, ret));
}

CUresult hook_cuLibraryGetModule(CUmodule *ret, CUlibrary library)
{
        scoped_access const struct credit *access = access_scope();
        CUresult rc = real.cuLibraryGetModule(ret, library);

        return looked_up(rc, key_at(rc, ret));
}

CUresult hook_cuLibraryGetGlobal(CUdeviceptr *ret, size_t *ret_bytes, CUlibrary library,
                                 const char *name)
{
        scoped_access const struct credit *access = access_scope();
        CUresult rc = real.cuLibraryGetGlobal(ret, ret_bytes, library, name);

        return looked_up(rc, key_at(rc, ret));
}

CUresult hook_cuFuncLoad(CUfunction function)
{
        scoped_access const struct credit *access = access_scope();
        CUresult rc = real.cuFuncLoad(function);

        return looked_up(rc, key_of(function));
}
