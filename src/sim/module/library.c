/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries and their kernels: modules that belong to no context.
 *
 * A library keeps a copy of its image. In each context that launches one of its kernels, or looks
 * up one of its functions or globals, the image is then loaded as a module.
 */
#include "sim/entries.h"
#include "sim/exec/exec.h"
#include "sim/module/module_internal.h"
#include "sim/module/module.h"
#include "sim/node/config.h"

#include "common/scoped.h"

#include <stdlib.h>
#include <string.h>

static CUresult library_check(CUlibrary library)
{
        return library && library->magic == LIBRARY_MAGIC ? CUDA_SUCCESS
                                                          : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult kernel_check(CUkernel kernel)
{
        return kernel && kernel->magic == KERNEL_MAGIC ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Returns the library's module in a context, loaded if needed. */
static CUresult module_in(CUlibrary library, CUcontext context, CUmodule *ret_module)
{
        struct image image;
        CUmodule at, made;
        CUresult rc;

        pthread_mutex_lock(&module_lock);
        for (at = library->modules; at && at->context != context; at = at->next)
                ;
        pthread_mutex_unlock(&module_lock);
        if (at) {
                *ret_module = at;
                return CUDA_SUCCESS;
        }
        image = image_read(library->image, library->image_bytes);
        rc = module_load(context, &image, &made);
        if (rc != CUDA_SUCCESS)
                return rc;
        made->library = library;
        pthread_mutex_lock(&module_lock);
        made->next = library->modules;
        library->modules = made;
        pthread_mutex_unlock(&module_lock);
        *ret_module = made;
        return CUDA_SUCCESS;
}

CUresult function_of(CUfunction handle, CUcontext context, CUfunction *ret_function)
{
        CUkernel kernel = (CUkernel)handle;
        CUmodule module;
        CUresult rc;

        if (!handle)
                return CUDA_ERROR_INVALID_HANDLE;
        if (handle->magic == FUNCTION_MAGIC) {
                if (context && handle->context != context)
                        return CUDA_ERROR_INVALID_HANDLE;
                *ret_function = handle;
                return CUDA_SUCCESS;
        }
        rc = kernel_check(kernel);
        if (rc == CUDA_SUCCESS && !context)
                rc = context_require(&context);
        if (rc == CUDA_SUCCESS)
                rc = module_in(kernel->library, context, &module);
        if (rc != CUDA_SUCCESS)
                return rc;
        if (module->kind == IMAGE_FATBIN)
                return module_find(module, kernel->facts.name, ret_function);
        *ret_function = &module->functions[kernel->index];
        return CUDA_SUCCESS;
}

static void make_kernel(CUlibrary library, const struct image_kernel *facts)
{
        CUkernel kernel = &library->kernels[library->kernel_count];

        kernel->magic = KERNEL_MAGIC;
        kernel->library = library;
        kernel->index = library->kernel_count++;
        kernel->facts = *facts;
        params_layout(facts->param_count, facts->param_sizes, kernel->param_offset);
}

static CUresult make_kernels(CUlibrary library, const struct image *image)
{
        struct image_kernel facts;
        size_t cursor = 0;
        unsigned count = image->kind == IMAGE_FATBIN ? FATBIN_KERNELS : 0;

        while (image_next_kernel(image, &cursor, &facts))
                count++;
        library->kind = image->kind;
        library->kernels = calloc(count + 1, sizeof(*library->kernels));
        if (!library->kernels)
                return CUDA_ERROR_OUT_OF_MEMORY;
        cursor = 0;
        while (library->kernel_count < count && image_next_kernel(image, &cursor, &facts))
                make_kernel(library, &facts);
        return CUDA_SUCCESS;
}

/* The last GRAVES unloaded libraries are kept, so that calls with their handles return an error, as
 * for modules (module.c). Guarded by module_lock. */
#define GRAVES 256

static void bury_library(CUlibrary library)
{
        static struct {
                CUlibrary library[GRAVES];
                unsigned next;
        } graveyard;
        unsigned place;
        CUlibrary old;

        pthread_mutex_lock(&module_lock);
        place = graveyard.next++ % GRAVES;
        old = graveyard.library[place];
        graveyard.library[place] = library;
        pthread_mutex_unlock(&module_lock);
        if (old)
                free(old->kernels);
        free(old);
}

static void library_end(CUlibrary library)
{
        library->magic = 0;
        for (unsigned i = 0; i < library->kernel_count; i++)
                library->kernels[i].magic = 0;
        while (library->modules)
                module_unload(library->modules);
        free(library->image);
        library->image = NULL;
        bury_library(library);
}

/* With eager loading, loads the library at once in the current context. In other contexts it is
 * loaded when first used, which is later than on hardware. With grants=plain every library is
 * loaded when it is first used. */
static CUresult load_early(CUlibrary library)
{
        CUcontext context = context_current();
        CUmodule module;

        if (!module_is_eager() || !config_get()->has_real_grants || !context)
                return CUDA_SUCCESS;
        return module_in(library, context, &module);
}

static CUresult library_load(CUlibrary *ret_library, const void *bytes, size_t size)
{
        struct image image;
        CUlibrary library;
        CUresult rc;

        if (!ret_library)
                return CUDA_ERROR_INVALID_VALUE;
        rc = image_admit(bytes, size, &image);
        if (rc != CUDA_SUCCESS)
                return rc;
        library = calloc(1, sizeof(*library));
        if (!library)
                return CUDA_ERROR_OUT_OF_MEMORY;
        library->image = malloc(image.size + 1);
        if (!library->image) {
                free(library);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        memcpy(library->image, image.bytes, image.size);
        ((char *)library->image)[image.size] = '\0';
        library->image_bytes = image.size;
        image.bytes = library->image;
        rc = make_kernels(library, &image);
        if (rc != CUDA_SUCCESS) {
                free(library->image);
                free(library);
                return rc;
        }
        library->magic = LIBRARY_MAGIC;
        rc = load_early(library);
        if (rc != CUDA_SUCCESS) {
                library_end(library);
                return rc;
        }
        *ret_library = library;
        return CUDA_SUCCESS;
}

CUresult sim_cuLibraryLoadData(CUlibrary *ret_library, const void *bytes, CUjit_option *jit_options,
                               void **jit_values, unsigned int jit_count, CUlibraryOption *options,
                               void **values, unsigned int count)
{
        if ((jit_count && !jit_options) || (count && !options))
                return CUDA_ERROR_INVALID_VALUE;
        return library_load(ret_library, bytes, 0);
}

CUresult sim_cuLibraryLoadFromFile(CUlibrary *ret_library, const char *path,
                                   CUjit_option *jit_options, void **jit_values,
                                   unsigned int jit_count, CUlibraryOption *options, void **values,
                                   unsigned int count)
{
        scoped_free void *bytes = NULL;
        size_t size;
        CUresult rc;

        if (!path || (jit_count && !jit_options) || (count && !options))
                return CUDA_ERROR_INVALID_VALUE;
        rc = file_read(path, &bytes, &size);
        return rc == CUDA_SUCCESS ? library_load(ret_library, bytes, size) : rc;
}

CUresult sim_cuLibraryUnload(CUlibrary library)
{
        CUresult rc = library_check(library);

        if (rc == CUDA_SUCCESS)
                rc = exec_capture_check_unsafe();
        if (rc != CUDA_SUCCESS)
                return rc;
        library_end(library);
        return CUDA_SUCCESS;
}

static CUkernel kernel_named(CUlibrary library, const char *name)
{
        for (unsigned i = 0; i < library->kernel_count; i++)
                if (strcmp(library->kernels[i].facts.name, name) == 0)
                        return &library->kernels[i];
        return NULL;
}

/* Finds a kernel of a fat binary, or creates it. The caller holds module_lock. */
static CUresult find_or_make(CUlibrary library, const char *name, CUkernel *ret_kernel)
{
        CUkernel found = kernel_named(library, name);
        struct image_kernel facts;
        CUresult rc;

        if (found) {
                *ret_kernel = found;
                return CUDA_SUCCESS;
        }
        rc = fatbin_kernel(name, &facts);
        if (rc != CUDA_SUCCESS)
                return rc;
        if (library->kernel_count == FATBIN_KERNELS || strlen(name) >= sizeof(facts.name))
                return CUDA_ERROR_OUT_OF_MEMORY;
        memcpy(facts.name, name, strlen(name) + 1);
        make_kernel(library, &facts);
        *ret_kernel = &library->kernels[library->kernel_count - 1];
        return CUDA_SUCCESS;
}

CUresult sim_cuLibraryGetKernel(CUkernel *ret_kernel, CUlibrary library, const char *name)
{
        CUresult rc = library_check(library);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_kernel || !name)
                return CUDA_ERROR_INVALID_VALUE;
        if (library->kind != IMAGE_FATBIN) {
                CUkernel found = kernel_named(library, name);

                if (found)
                        *ret_kernel = found;
                return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
        }
        pthread_mutex_lock(&module_lock);
        rc = find_or_make(library, name, ret_kernel);
        pthread_mutex_unlock(&module_lock);
        return rc;
}

CUresult sim_cuLibraryGetKernelCount(unsigned int *ret_count, CUlibrary library)
{
        CUresult rc = library_check(library);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_count)
                return CUDA_ERROR_INVALID_VALUE;
        *ret_count = library->kernel_count;
        return CUDA_SUCCESS;
}

CUresult sim_cuLibraryEnumerateKernels(CUkernel *ret_kernels, unsigned int count, CUlibrary library)
{
        CUresult rc = library_check(library);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_kernels)
                return CUDA_ERROR_INVALID_VALUE;
        for (unsigned i = 0; i < count && i < library->kernel_count; i++)
                ret_kernels[i] = &library->kernels[i];
        return CUDA_SUCCESS;
}

static CUresult current_module(CUlibrary library, CUmodule *ret_module)
{
        CUcontext context;
        CUresult rc = library_check(library);

        if (rc == CUDA_SUCCESS)
                rc = context_require(&context);
        return rc == CUDA_SUCCESS ? module_in(library, context, ret_module) : rc;
}

CUresult sim_cuLibraryGetModule(CUmodule *ret_module, CUlibrary library)
{
        return ret_module ? current_module(library, ret_module) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuLibraryGetGlobal(CUdeviceptr *ret_address, size_t *ret_bytes, CUlibrary library,
                                const char *name)
{
        CUmodule module;
        CUresult rc;

        if (!name || (!ret_address && !ret_bytes))
                return CUDA_ERROR_INVALID_VALUE;
        rc = current_module(library, &module);
        return rc == CUDA_SUCCESS ? module_global(module, name, ret_address, ret_bytes) : rc;
}

/* Managed variables are not modelled: no library has one. */
CUresult sim_cuLibraryGetManaged(CUdeviceptr *ret_address, size_t *ret_bytes, CUlibrary library,
                                 const char *name)
{
        CUresult rc = library_check(library);

        if (rc != CUDA_SUCCESS)
                return rc;
        return name && (ret_address || ret_bytes) ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuKernelGetFunction(CUfunction *ret_function, CUkernel kernel)
{
        CUcontext context;
        CUresult rc = kernel_check(kernel);

        if (rc == CUDA_SUCCESS && !ret_function)
                rc = CUDA_ERROR_INVALID_VALUE;
        if (rc == CUDA_SUCCESS)
                rc = context_require(&context);
        return rc == CUDA_SUCCESS ? function_of((CUfunction)kernel, context, ret_function) : rc;
}

CUresult sim_cuKernelGetLibrary(CUlibrary *ret_library, CUkernel kernel)
{
        CUresult rc = kernel_check(kernel);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_library)
                return CUDA_ERROR_INVALID_VALUE;
        *ret_library = kernel->library;
        return CUDA_SUCCESS;
}

CUresult sim_cuKernelGetName(const char **ret_name, CUkernel kernel)
{
        CUresult rc = kernel_check(kernel);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_name)
                return CUDA_ERROR_INVALID_VALUE;
        *ret_name = kernel->facts.name;
        return CUDA_SUCCESS;
}

CUresult sim_cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *ret_offset,
                                  size_t *ret_size)
{
        CUresult rc = kernel_check(kernel);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_offset || index >= kernel->facts.param_count)
                return CUDA_ERROR_INVALID_VALUE;
        *ret_offset = kernel->param_offset[index];
        if (ret_size)
                *ret_size = kernel->facts.param_sizes[index];
        return CUDA_SUCCESS;
}
