/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/code/module.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/cuda/charge/remainder.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/measure/measure.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/state/code.h"
#include "shim/cuda/stream/access.h"

/* Returns the compute capability of the place's device, as 90 for 9.0. 0: unknown. */
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

/* Measures the image in a file. The file is read, not mapped, because it may shrink meanwhile. */
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

/* Measures the image in a file. 0: unknown, and the driver will report the error. */
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

static uint64_t code_bytes(struct code_source source, struct place place)
{
        if (source.path)
                return file_bytes(source.path, place);
        return front_is_on() ? measure_image(source.image, capability_at(place)) : 0;
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

/* Whether `key` was looked up before, and notes it. Programs look a function up before each launch,
 * so most lookups are repeated ones. */
static bool is_known(uint64_t key)
{
        uint32_t at = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) % STATE_LOOKED_UP;

        return swap_acq_rel(&code_state.looked_up[at], key) == key && key;
}

/* Hands the estimate to the remainder. False: NVML does not list this process, so the caller keeps
 * the estimate. A library may be loaded before this process has anything on the device, so NVML may
 * list the process only later. */
static bool keep_estimate(struct charge *estimate, uint64_t key)
{
        bool is_of_context = estimate->owner != 0;

        if (is_of_context && !remainder_is_measured(estimate->device))
                remainder_changed(estimate->device);
        return (!is_of_context || remainder_is_measured(estimate->device)) &&
               remainder_keep_estimate(estimate, key);
}

struct charged_call module_begin(struct out ret, struct code_source source)
{
        struct place place;

        access_begin();
        place = place_here();
        return charged_call_begin(place, ret, code_bytes(source, place));
}

/* Settles a load. The estimate was only needed to find out whether there is room: NVML reports what
 * the driver took. */
static void settle_image(struct charged_call *call)
{
        int row = call->charge.device;

        forget_looked_up();
        if (call->rc == CUDA_SUCCESS && keep_estimate(&call->charge, charged_call_key(call)))
                return;
        charged_call_settle(call, SPACE_MODULE);
        remainder_changed(row);
}

CUresult module_end(struct charged_call *call)
{
        if (call->is_called)
                settle_image(call);
        return access_end(call->rc);
}

/* Returns the place of a library. It may be loaded without a usable context; then it is charged to
 * the first device. */
static struct place place_of_library(void)
{
        struct place place = place_here();

        return place.answer == CUDA_ERROR_INVALID_CONTEXT ||
                               place.answer == CUDA_ERROR_CONTEXT_IS_DESTROYED
                       ? place_of_device(0)
                       : place;
}

struct charged_call library_begin(struct out ret, struct code_source source)
{
        struct place place;

        access_begin();
        place = place_of_library();
        return charged_call_begin(place, ret, code_bytes(source, place));
}

/* A library belongs to no context. */
CUresult library_end(struct charged_call *call)
{
        call->charge.owner = 0;
        return module_end(call);
}

struct code_unload code_unload_begin(const void *handle)
{
        struct code_unload unload = { .key = key_of(handle) };

        access_begin();
        charge_take(&unload.taken, SPACE_MODULE, unload.key);
        return unload;
}

CUresult code_unload_end(struct code_unload *unload, CUresult rc)
{
        settle_free(&unload->taken, rc, SPACE_MODULE, unload->key);
        forget_looked_up();
        forget_launched();
        if (rc == CUDA_SUCCESS)
                remainders_changed();
        return access_end(rc);
}

/* Looks at NVML after the first lookup of `key`: the driver takes memory for lazily loaded code at
 * the first lookup, or at the first launch (kernel.c). */
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

struct out code_lookup_begin(struct out ret)
{
        access_begin();
        return ret;
}

CUresult code_lookup_end(const struct out *ret, CUresult rc)
{
        if (rc == CUDA_SUCCESS)
                look_behind(out_key(*ret));
        return access_end(rc);
}
