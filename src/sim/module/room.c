/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what a module takes of its device: its whole image, or with the rule `loadable` only what
 * is loaded.
 *
 * With that rule, the module's variables are a block of their own. Its code shares memory with
 * other code; the first code of a context uses memory that the context has anyway. The heap or the
 * printf buffer is added with the first module that needs it ("The actual memory allocation for the
 * heap occurs when a module is loaded into the context", programming guide, dynamic global memory
 * allocation; assumed to be so for printf).
 */
#include "sim/context/device.h"
#include "sim/context/growth.h"
#include "sim/memory/memory.h"
#include "sim/module/module_internal.h"
#include "sim/node/config.h"

#define STEP_BYTES (UINT64_C(2) << 20)

static unsigned architecture(void)
{
        const struct model_spec *spec = model_spec((enum sim_model)node_get()->model);

        return (unsigned)(spec->capability_major * 10 + spec->capability_minor);
}

static CUresult storage_add(CUmodule module, uint64_t bytes)
{
        unsigned free_place = module->storage[0] ? 1 : 0;

        return bytes ? memory_module_alloc(module->context, bytes, &module->storage[free_place])
                     : CUDA_SUCCESS;
}

/* Returns whether the code fits in the memory that the context has for code; if so, counts it there
 * for good. */
static bool is_code_within(CUcontext context, uint64_t bytes)
{
        uint64_t most = config_get()->grants.code_within_bytes;

        pthread_mutex_lock(&process_lock);
        bool is_within = bytes <= most && context->code_bytes <= most - bytes;
        if (is_within)
                context->code_bytes += bytes;
        pthread_mutex_unlock(&process_lock);
        return is_within;
}

static CUresult buffer_add(CUcontext context, enum growth part, CUlimit limit)
{
        pthread_mutex_lock(&process_lock);
        uint64_t bytes = context->limits[limit];
        pthread_mutex_unlock(&process_lock);
        return growth_raise(context, part, (bytes + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES);
}

CUresult module_room_take(CUmodule module, const struct image *image)
{
        const struct grant_rules *rules = &config_get()->grants;
        struct image_needs needs;
        CUresult rc;

        if (!rules->has_loadable_only)
                return storage_add(module, image_loaded_bytes(image));
        needs = image_needs(image, architecture());
        rc = storage_add(module, needs.variable_bytes);
        if (rc == CUDA_SUCCESS && !is_code_within(module->context, needs.code_bytes))
                rc = storage_add(module, needs.code_bytes);
        if (rc == CUDA_SUCCESS && needs.has_malloc && rules->is_heap_lazy)
                rc = buffer_add(module->context, GROWTH_HEAP, CU_LIMIT_MALLOC_HEAP_SIZE);
        if (rc == CUDA_SUCCESS && needs.has_printf && rules->is_heap_lazy)
                rc = buffer_add(module->context, GROWTH_PRINTF, CU_LIMIT_PRINTF_FIFO_SIZE);
        return rc;
}

void module_room_end(CUmodule module)
{
        for (unsigned i = 0; i < MODULE_BLOCKS; i++) {
                if (module->storage[i])
                        memory_module_free(module->storage[i]);
                module->storage[i] = 0;
        }
}
