/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's calls on modules and their globals.
 *
 * A global is an object symbol of the loaded ELF object. When a program looks it up, its range is
 * added as device memory until the module is unloaded.
 */
#include "sim/entries.h"
#include "sim/exec/exec.h"
#include "sim/module/module_internal.h"
#include "sim/module/module.h"
#include "sim/node/config.h"

#include "common/environment.h"
#include "common/scoped.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

void module_global_forget(CUmodule module, struct module_global *global)
{
        (void)module;
        module_range_remove(global->address);
        free(global->name);
        free(global);
}

static CUresult global_make(CUmodule module, const char *name, struct module_global **ret_global)
{
        struct module_global *global;
        ElfW(Sym) *symbol = NULL;
        Dl_info info;
        void *address;
        CUresult rc;

        address = module->object ? dlsym(module->object, name) : NULL;
        if (!address || !dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol ||
            ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || info.dli_saddr != address)
                return CUDA_ERROR_NOT_FOUND;
        global = calloc(1, sizeof(*global));
        if (!global)
                return CUDA_ERROR_OUT_OF_MEMORY;
        global->name = strdup(name);
        global->address = (CUdeviceptr)address;
        global->bytes = symbol->st_size;
        rc = module_range_add(module->context, global->address, global->bytes);
        if (rc != CUDA_SUCCESS || !global->name) {
                free(global->name);
                free(global);
                return rc != CUDA_SUCCESS ? rc : CUDA_ERROR_OUT_OF_MEMORY;
        }
        global->next = module->globals;
        module->globals = global;
        *ret_global = global;
        return CUDA_SUCCESS;
}

static CUresult global_find(CUmodule module, const char *name, struct module_global **ret_global)
{
        CUresult rc = CUDA_SUCCESS;
        struct module_global *at;

        pthread_mutex_lock(&module_lock);
        for (at = module->globals; at && strcmp(at->name, name) != 0; at = at->next)
                ;
        if (!at)
                rc = global_make(module, name, &at);
        pthread_mutex_unlock(&module_lock);
        if (rc == CUDA_SUCCESS)
                *ret_global = at;
        return rc;
}

CUresult module_global(CUmodule module, const char *name, CUdeviceptr *ret_address,
                       size_t *ret_bytes)
{
        struct module_global *global;
        CUresult rc = global_find(module, name, &global);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (ret_address)
                *ret_address = global->address;
        if (ret_bytes)
                *ret_bytes = global->bytes;
        return CUDA_SUCCESS;
}

static CUresult load(CUmodule *ret_module, const void *bytes, size_t size)
{
        struct image image;
        CUcontext context;
        CUresult rc = context_require(&context);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_module)
                return CUDA_ERROR_INVALID_VALUE;
        rc = image_admit(bytes, size, &image);
        return rc == CUDA_SUCCESS ? module_load(context, &image, ret_module) : rc;
}

CUresult sim_cuModuleLoad(CUmodule *ret_module, const char *path)
{
        scoped_free void *bytes = NULL;
        size_t size;
        CUresult rc;

        if (!path)
                return CUDA_ERROR_INVALID_VALUE;
        rc = file_read(path, &bytes, &size);
        return rc == CUDA_SUCCESS ? load(ret_module, bytes, size) : rc;
}

CUresult sim_cuModuleLoadData(CUmodule *ret_module, const void *bytes)
{
        return load(ret_module, bytes, 0);
}

/* Handles the options of a compilation, which does not take place: outputs for the sizes of logs
 * get 0. */
static void answer_options(unsigned count, const CUjit_option *options, void **values)
{
        for (unsigned i = 0; options && values && i < count; i++) {
                if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES ||
                    options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
                        values[i] = NULL;
        }
}

CUresult sim_cuModuleLoadDataEx(CUmodule *ret_module, const void *bytes, unsigned int count,
                                CUjit_option *options, void **values)
{
        CUresult rc;

        if (count && (!options || !values))
                return CUDA_ERROR_INVALID_VALUE;
        rc = load(ret_module, bytes, 0);
        if (rc == CUDA_SUCCESS)
                answer_options(count, options, values);
        return rc;
}

CUresult sim_cuModuleUnload(CUmodule module)
{
        CUresult rc = module_check(module);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (module->library)
                return CUDA_ERROR_NOT_PERMITTED;
        rc = exec_capture_check_unsafe();
        return rc == CUDA_SUCCESS ? module_unload(module) : rc;
}

bool module_is_eager(void)
{
        const char *asked = environment_get("CUDA_MODULE_LOADING");

        if (asked && (strcmp(asked, "EAGER") == 0 || strcmp(asked, "LAZY") == 0))
                return asked[0] == 'E';
        return !config_get()->grants.is_lazy;
}

CUresult sim_cuModuleGetLoadingMode(CUmoduleLoadingMode *ret_mode)
{
        *ret_mode = module_is_eager() ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
        return CUDA_SUCCESS;
}

CUresult sim_cuModuleGetFunction(CUfunction *ret_function, CUmodule module, const char *name)
{
        CUresult rc = module_check(module);

        return rc == CUDA_SUCCESS ? module_find(module, name, ret_function) : rc;
}

CUresult sim_cuModuleGetFunctionCount(unsigned int *ret_count, CUmodule module)
{
        CUresult rc = module_check(module);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_count)
                return CUDA_ERROR_INVALID_VALUE;
        *ret_count = module->function_count;
        return CUDA_SUCCESS;
}

CUresult sim_cuModuleEnumerateFunctions(CUfunction *ret_functions, unsigned int count,
                                        CUmodule module)
{
        CUresult rc = module_check(module);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_functions)
                return CUDA_ERROR_INVALID_VALUE;
        for (unsigned i = 0; i < count && i < module->function_count; i++)
                ret_functions[i] = &module->functions[i];
        return CUDA_SUCCESS;
}

CUresult sim_cuModuleGetGlobal_v2(CUdeviceptr *ret_address, size_t *ret_bytes, CUmodule module,
                                  const char *name)
{
        CUresult rc;

        if (!name || (!ret_address && !ret_bytes))
                return CUDA_ERROR_INVALID_VALUE;
        rc = module_check(module);
        return rc == CUDA_SUCCESS ? module_global(module, name, ret_address, ret_bytes) : rc;
}

/* The 32-bit form: fails if the address does not fit. */
CUresult sim_cuModuleGetGlobal(CUdeviceptr_v1 *ret_address, unsigned int *ret_bytes,
                               CUmodule module, const char *name)
{
        CUdeviceptr address = 0;
        size_t bytes = 0;
        CUresult rc = sim_cuModuleGetGlobal_v2(&address, &bytes, module, name);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (address > UINT32_MAX || bytes > UINT32_MAX)
                return CUDA_ERROR_NOT_SUPPORTED;
        if (ret_address)
                *ret_address = (CUdeviceptr_v1)address;
        if (ret_bytes)
                *ret_bytes = (unsigned int)bytes;
        return CUDA_SUCCESS;
}
