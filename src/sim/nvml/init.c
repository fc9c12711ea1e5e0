/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML's init and shutdown, the checks of every function, and error texts.
 *
 * The first nvmlInit maps the node, creating it if no process lives there, and lists its cards. The
 * mapping stays for good, because another thread may use a handle during the last nvmlShutdown.
 * Calls of init and shutdown are counted. Without a usable node, nvmlInit returns
 * DRIVER_NOT_LOADED.
 */
#include "sim/nvml/give.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/atomic.h"
#include "sim/node/clock.h"

#define TIME_BASE 1000000000LL

static const struct model_spec no_spec;
static const struct nvml_model no_model;

struct nvml_state nvml = {
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .spec = &no_spec,
        .model = &no_model,
};

static _Atomic uint64_t fault_calls[CONFIG_FAULTS];

/* Returns whether `rule` is for `function`, with or without its version suffix. */
static bool fault_names(const char *rule, const char *function)
{
        size_t length = strlen(rule);

        if (strncmp(rule, function, length) != 0)
                return false;
        return function[length] == '\0' ||
               (function[length] == '_' && function[length + 1] == 'v' &&
                strspn(function + length + 2, "0123456789") == strlen(function + length + 2));
}

static nvmlReturn_t fault_find(const char *function)
{
        const struct sim_config *config = config_get();
        nvmlReturn_t result = NVML_SUCCESS;

        for (unsigned i = 0; config && i < config->fault_count; i++) {
                const struct config_fault *fault = &config->faults[i];

                if (!fault_names(fault->name, function))
                        continue;
                uint64_t call = add_relaxed(&fault_calls[i], 1) + 1;
                if (call >= fault->first_call && call - fault->first_call < fault->call_count)
                        result = (nvmlReturn_t)fault->result;
        }
        return result;
}

static void instance_make(struct gpu *card, unsigned index, unsigned unit)
{
        struct gpu *gpu = &nvml.gpu[nvml.gpu_count++];

        *gpu = (struct gpu){ .index = index,
                             .first_unit = unit,
                             .unit_count = 1,
                             .is_instance = true,
                             .card = card };
        memcpy(gpu->uuid, nvml.node->device[unit].uuid, sizeof(gpu->uuid));
}

/* Lists the cards, then their instances. A card is a sequence of units with the same PCI
 * address. */
static void gpus_make(void)
{
        const struct sim_node *node = nvml.node;

        for (unsigned unit = 0; unit < node->device_count; unit++) {
                const struct node_device *device = &node->device[unit];

                if (unit > 0 && device->pci_bus == device[-1].pci_bus) {
                        nvml.gpu[nvml.card_count - 1].unit_count++;
                        continue;
                }
                struct gpu *card = &nvml.gpu[nvml.card_count];
                *card = (struct gpu){ .index = nvml.card_count,
                                      .first_unit = unit,
                                      .unit_count = 1,
                                      .is_divided = device->is_mig != 0,
                                      .card = card };
                memcpy(card->uuid, device->uuid, sizeof(card->uuid));
                /* The UUID of a divided card differs from that of its first instance. */
                card->uuid[15] ^= (unsigned char)(card->is_divided ? 0xff : 0);
                nvml.card_count++;
        }
        nvml.gpu_count = nvml.card_count;
        for (unsigned card = 0; card < nvml.card_count; card++) {
                for (unsigned i = 0; nvml.gpu[card].is_divided && i < nvml.gpu[card].unit_count;
                     i++)
                        instance_make(&nvml.gpu[card], i, nvml.gpu[card].first_unit + i);
        }
}

static nvmlReturn_t node_find(void)
{
        struct timespec wall;

        if (nvml.node)
                return NVML_SUCCESS;
        nvml.config = config_get();
        if (!nvml.config)
                return NVML_ERROR_DRIVER_NOT_LOADED;
        nvml.node = node_open();
        if (!nvml.node) {
                if (errno != EBUSY) /* EBUSY was reported with more details */
                        fprintf(stderr, "aliquot-sim: %s: %s\n", nvml.config->state_dir,
                                strerror(errno));
                return NVML_ERROR_DRIVER_NOT_LOADED;
        }
        nvml.spec = model_spec(nvml.node->model);
        nvml.model = nvml_model(nvml.node->model);
        clock_gettime(CLOCK_REALTIME, &wall);
        nvml.wall_offset_ns = wall.tv_sec * TIME_BASE + wall.tv_nsec - (int64_t)sim_now_ns();
        gpus_make();
        return NVML_SUCCESS;
}

nvmlReturn_t init_as(const char *function)
{
        nvmlReturn_t rc = fault_find(function);

        if (rc != NVML_SUCCESS)
                return rc;
        pthread_mutex_lock(&nvml.lock);
        rc = node_find();
        if (rc == NVML_SUCCESS) {
                nvml.user_count++;
                store_release(&nvml.is_open, true);
        }
        pthread_mutex_unlock(&nvml.lock);
        return rc;
}

nvmlReturn_t nvmlInitWithFlags(unsigned flags)
{
        if (flags & ~(unsigned)(NVML_INIT_FLAG_NO_GPUS | NVML_INIT_FLAG_NO_ATTACH))
                return NVML_ERROR_INVALID_ARGUMENT;
        return init_as(__func__);
}

nvmlReturn_t nvmlShutdown(void)
{
        nvmlReturn_t rc = NVML_ERROR_UNINITIALIZED;

        pthread_mutex_lock(&nvml.lock);
        if (nvml.user_count > 0) {
                nvml.user_count--;
                store_release(&nvml.is_open, nvml.user_count > 0);
                rc = NVML_SUCCESS;
        }
        pthread_mutex_unlock(&nvml.lock);
        return rc;
}

nvmlReturn_t nvml_enter(const char *function)
{
        if (!load_acquire(&nvml.is_open))
                return NVML_ERROR_UNINITIALIZED;
        return nvml.config->fault_count ? fault_find(function) : NVML_SUCCESS;
}

nvmlReturn_t nvml_find_gpu(nvmlDevice_t handle, const struct gpu **ret_gpu)
{
        uintptr_t offset = (uintptr_t)handle - (uintptr_t)nvml.gpu;

        if (offset % sizeof(struct gpu) != 0 || offset / sizeof(struct gpu) >= nvml.gpu_count)
                return NVML_ERROR_INVALID_ARGUMENT;
        const struct gpu *gpu = &nvml.gpu[offset / sizeof(struct gpu)];
        if (gpu_is_lost(gpu))
                return NVML_ERROR_GPU_IS_LOST;
        *ret_gpu = gpu;
        return NVML_SUCCESS;
}

nvmlReturn_t nvml_enter_gpu(const char *function, nvmlDevice_t handle, const void *out,
                            const struct gpu **ret_gpu)
{
        nvmlReturn_t rc = nvml_enter(function);

        if (rc != NVML_SUCCESS)
                return rc;
        return out ? nvml_find_gpu(handle, ret_gpu) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvml_enter_card(const char *function, nvmlDevice_t handle, const void *out,
                             const struct gpu **ret_gpu)
{
        nvmlReturn_t rc = nvml_enter_gpu(function, handle, out, ret_gpu);

        return rc == NVML_SUCCESS && (*ret_gpu)->is_instance ? NVML_ERROR_NOT_SUPPORTED : rc;
}

nvmlReturn_t text_copy(const char *text, char *ret, unsigned length)
{
        size_t size = strlen(text) + 1;

        if (size > length)
                return NVML_ERROR_INSUFFICIENT_SIZE;
        memcpy(ret, text, size);
        return NVML_SUCCESS;
}

uint64_t wall_us(uint64_t now_ns)
{
        return ((uint64_t)((int64_t)now_ns + nvml.wall_offset_ns)) / 1000;
}

uint64_t wall_to_sim_ns(uint64_t timestamp_us)
{
        int64_t ns = (int64_t)(timestamp_us * 1000) - nvml.wall_offset_ns;

        return ns > 0 ? (uint64_t)ns : 0;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
        static const char *const texts[] = {
                [NVML_SUCCESS] = "Success",
                [NVML_ERROR_UNINITIALIZED] = "Uninitialized",
                [NVML_ERROR_INVALID_ARGUMENT] = "Invalid Argument",
                [NVML_ERROR_NOT_SUPPORTED] = "Not Supported",
                [NVML_ERROR_NO_PERMISSION] = "Insufficient Permissions",
                [NVML_ERROR_ALREADY_INITIALIZED] = "Already Initialized",
                [NVML_ERROR_NOT_FOUND] = "Not Found",
                [NVML_ERROR_INSUFFICIENT_SIZE] = "Insufficient Size",
                [NVML_ERROR_INSUFFICIENT_POWER] = "Insufficient External Power",
                [NVML_ERROR_DRIVER_NOT_LOADED] = "Driver Not Loaded",
                [NVML_ERROR_TIMEOUT] = "Timeout",
                [NVML_ERROR_IRQ_ISSUE] = "Interrupt Request Issue",
                [NVML_ERROR_LIBRARY_NOT_FOUND] = "NVML Shared Library Not Found",
                [NVML_ERROR_FUNCTION_NOT_FOUND] = "Function Not Found",
                [NVML_ERROR_CORRUPTED_INFOROM] = "Corrupted infoROM",
                [NVML_ERROR_GPU_IS_LOST] = "GPU is lost",
                [NVML_ERROR_RESET_REQUIRED] = "GPU requires reset",
                [NVML_ERROR_OPERATING_SYSTEM] = "GPU access blocked by the operating system",
                [NVML_ERROR_LIB_RM_VERSION_MISMATCH] = "Driver/library version mismatch",
                [NVML_ERROR_IN_USE] = "In use by another client",
                [NVML_ERROR_MEMORY] = "Insufficient Memory",
                [NVML_ERROR_NO_DATA] = "No data",
                [NVML_ERROR_VGPU_ECC_NOT_SUPPORTED] = "vGPU not supported with ECC",
                [NVML_ERROR_INSUFFICIENT_RESOURCES] = "Insufficient resources",
                [NVML_ERROR_FREQ_NOT_SUPPORTED] = "Requested frequency not supported",
                [NVML_ERROR_ARGUMENT_VERSION_MISMATCH] = "Argument version mismatch",
                [NVML_ERROR_DEPRECATED] = "Deprecated",
                [NVML_ERROR_NOT_READY] = "Not ready",
                [NVML_ERROR_GPU_NOT_FOUND] = "GPU not found",
                [NVML_ERROR_INVALID_STATE] = "Invalid state",
                [NVML_ERROR_RESET_TYPE_NOT_SUPPORTED] = "Reset type not supported",
        };
        unsigned index = (unsigned)result;

        if (index < sizeof(texts) / sizeof(texts[0]) && texts[index])
                return texts[index];
        return "Unknown Error";
}
