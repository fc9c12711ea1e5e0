/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads and unloads modules. The steps of a load: check the image; charge its memory to the device;
 * dlopen() it from an anonymous file, so that two loads of the same image share nothing; create a
 * function for each kernel that it declares. If a step fails, the earlier ones are undone. Kernels
 * are looked up by name in the loaded object; if a declared kernel is missing there, the load
 * fails.
 */
#include "sim/module/module.h"

#include "common/scoped.h"
#include "sim/exec/exec.h"
#include "sim/module/module_internal.h"
#include "sim/node/config.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

pthread_mutex_t module_lock = PTHREAD_MUTEX_INITIALIZER;

uint32_t params_layout(unsigned count, const uint32_t *sizes, uint32_t *ret_offsets)
{
        uint32_t at = 0;

        for (unsigned i = 0; i < count; i++) {
                uint32_t align = 1;

                while (align < 16 && align < sizes[i])
                        align *= 2;
                at = (at + align - 1) & ~(align - 1);
                ret_offsets[i] = at;
                at += sizes[i];
        }
        return at;
}

CUresult image_admit(const void *bytes, size_t size, struct image *ret_image)
{
        struct image image;

        if (!bytes)
                return CUDA_ERROR_INVALID_VALUE;
        image = image_read(bytes, size);
        if (image.kind == IMAGE_BAD)
                return CUDA_ERROR_INVALID_IMAGE;
        if (image.kind == IMAGE_FOREIGN)
                return CUDA_ERROR_NO_BINARY_FOR_GPU;
        if (image.kind == IMAGE_PTX && !config_get()->is_ptx_accepted)
                return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
        *ret_image = image;
        return image.kind == IMAGE_FATBIN ? fatbin_admit() : CUDA_SUCCESS;
}

static bool write_all(int fd, const char *bytes, size_t size)
{
        while (size) {
                ssize_t n = write(fd, bytes, size);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return false;
                bytes += n;
                size -= (size_t)n;
        }
        return true;
}

/*
 * Writes a path of the descriptor under /proc that no earlier load has used. The loader would take
 * a known path for the object that it loaded from there, and descriptor numbers are reused.
 */
static void spell_path(int fd, char *path, size_t bytes)
{
        static _Atomic unsigned loads;
        unsigned number = add_relaxed(&loads, 1);
        char steps[2 * 32 + 1] = "";

        for (unsigned i = 0; i < 32; i++)
                memcpy(steps + (size_t)2 * i, number >> i & 1 ? "/." : "//", 3);
        snprintf(path, bytes, "/proc/self%s/fd/%d", steps, fd);
}

static CUresult open_object(const struct image *image, void **ret_object)
{
        scoped_fd int fd = memfd_create("aliquot-sim-module", MFD_CLOEXEC);
        char path[128];
        void *object;

        if (fd < 0 || !write_all(fd, image->bytes, image->size))
                return CUDA_ERROR_OUT_OF_MEMORY;
        spell_path(fd, path, sizeof(path));
        object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!object)
                return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
        *ret_object = object;
        return CUDA_SUCCESS;
}

static kernel_entry entry_of(CUmodule module, const char *name)
{
        if (!name[0] || (module->kind == IMAGE_PTX && !stand_in_has(name)))
                return builtin_noop;
        if (module->kind == IMAGE_BUILTIN)
                return builtin_entry(name);
        return (kernel_entry)dlsym(module->object, name);
}

/* Creates a function. `name` is the kernel's name in the module. */
static CUresult make_function(CUmodule module, const char *name, const struct image_kernel *kernel)
{
        struct CUfunc_st *function = &module->functions[module->function_count];

        function->entry = entry_of(module, kernel->name);
        if (!function->entry)
                return CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;
        function->name = strdup(name);
        if (!function->name)
                return CUDA_ERROR_OUT_OF_MEMORY;
        function->module = module;
        function->context = module->context;
        function->local_bytes = kernel->local_bytes;
        function->param_count = kernel->param_count;
        memcpy(function->param_size, kernel->param_sizes, sizeof(function->param_size));
        function->param_bytes =
                params_layout(kernel->param_count, kernel->param_sizes, function->param_offset);
        function->max_dynamic_shared_bytes = 48 << 10;
        function->carveout = CU_SHAREDMEM_CARVEOUT_DEFAULT;
        function->magic = FUNCTION_MAGIC;
        module->function_count++;
        return function->param_bytes > OP_PARAM_BYTES ? CUDA_ERROR_INVALID_IMAGE : CUDA_SUCCESS;
}

static unsigned count_kernels(const struct image *image)
{
        struct image_kernel kernel;
        size_t cursor = 0;
        unsigned count = 0;

        while (image_next_kernel(image, &cursor, &kernel))
                count++;
        return count;
}

static CUresult make_functions(CUmodule module, const struct image *image)
{
        unsigned count = image->kind == IMAGE_FATBIN ? FATBIN_KERNELS : count_kernels(image);
        struct image_kernel kernel;
        size_t cursor = 0;

        module->functions = calloc(count + 1, sizeof(*module->functions));
        if (!module->functions)
                return CUDA_ERROR_OUT_OF_MEMORY;
        while (image_next_kernel(image, &cursor, &kernel)) {
                CUresult rc = make_function(module, kernel.name, &kernel);

                if (rc != CUDA_SUCCESS)
                        return rc;
        }
        return CUDA_SUCCESS;
}

/* The last GRAVES unloaded modules are kept, so that calls with their handles return an error.
 * Guarded by module_lock. */
#define GRAVES 256
static struct {
        CUmodule module[GRAVES];
        unsigned next;
} graveyard;

static void bury_module(CUmodule module)
{
        unsigned place = graveyard.next++ % GRAVES;
        CUmodule old = graveyard.module[place];

        graveyard.module[place] = module;
        if (!old)
                return;
        for (unsigned i = 0; i < old->function_count; i++) {
                free((char *)old->functions[i].name);
                free(old->functions[i].legacy);
        }
        free(old->functions);
        free(old);
}

static CUmodule all_modules; /* guarded by module_lock */

static void unlist_module(CUmodule module)
{
        for (CUmodule *at = &all_modules; *at; at = &(*at)->all_next) {
                if (*at == module) {
                        *at = module->all_next;
                        break;
                }
        }
        if (!module->library)
                return;
        for (CUmodule *at = &module->library->modules; *at; at = &(*at)->next) {
                if (*at == module) {
                        *at = module->next;
                        break;
                }
        }
}

/* Unloads a module. The caller holds module_lock. */
static void module_close(CUmodule module)
{
        unlist_module(module);
        module->magic = 0;
        for (unsigned i = 0; i < module->function_count; i++)
                module->functions[i].magic = 0;
        while (module->globals) {
                struct module_global *global = module->globals;

                module->globals = global->next;
                module_global_forget(module, global);
        }
        module_room_end(module);
        if (module->object)
                dlclose(module->object);
        module->object = NULL;
        bury_module(module);
}

CUresult module_load(CUcontext context, const struct image *image, CUmodule *ret_module)
{
        CUmodule module = calloc(1, sizeof(*module));
        struct image code = *image;
        CUresult rc;

        if (!module)
                return CUDA_ERROR_OUT_OF_MEMORY;
        module->context = context;
        module->kind = image->kind;
        rc = module_room_take(module, image);
        if (image->kind == IMAGE_FATBIN || image->kind == IMAGE_PTX)
                code = fatbin_stand_in();
        if (rc == CUDA_SUCCESS && code.kind == IMAGE_ELF)
                rc = open_object(&code, &module->object);
        if (rc == CUDA_SUCCESS)
                rc = make_functions(module, image);
        if (rc != CUDA_SUCCESS) {
                pthread_mutex_lock(&module_lock);
                module_close(module);
                pthread_mutex_unlock(&module_lock);
                return rc;
        }
        module->magic = MODULE_MAGIC;
        pthread_mutex_lock(&module_lock);
        module->all_next = all_modules;
        all_modules = module;
        pthread_mutex_unlock(&module_lock);
        *ret_module = module;
        return CUDA_SUCCESS;
}

CUresult module_check(CUmodule module)
{
        if (!module || module->magic != MODULE_MAGIC)
                return CUDA_ERROR_INVALID_HANDLE;
        return context_check(module->context);
}

CUresult module_unload(CUmodule module)
{
        /* Kernels of the module may still run. */
        exec_context_synchronize(module->context);
        pthread_mutex_lock(&module_lock);
        module_close(module);
        pthread_mutex_unlock(&module_lock);
        return CUDA_SUCCESS;
}

void modules_context_close(CUcontext context)
{
        CUmodule next;

        pthread_mutex_lock(&module_lock);
        for (CUmodule at = all_modules; at; at = next) {
                next = at->all_next;
                if (at->context == context)
                        module_close(at);
        }
        pthread_mutex_unlock(&module_lock);
}

static CUfunction function_named(CUmodule module, const char *name)
{
        for (unsigned i = 0; i < module->function_count; i++)
                if (strcmp(module->functions[i].name, name) == 0)
                        return &module->functions[i];
        return NULL;
}

/* Finds a function of the module, or creates it (for a fat binary). The caller holds
 * module_lock. */
static CUresult find_or_make(CUmodule module, const char *name, CUfunction *ret_function)
{
        CUfunction found = function_named(module, name);
        struct image_kernel kernel;
        CUresult rc;

        if (found) {
                *ret_function = found;
                return CUDA_SUCCESS;
        }
        rc = fatbin_kernel(name, &kernel);
        if (rc == CUDA_SUCCESS && module->function_count == FATBIN_KERNELS)
                rc = CUDA_ERROR_OUT_OF_MEMORY;
        if (rc == CUDA_SUCCESS)
                rc = make_function(module, name, &kernel);
        if (rc == CUDA_SUCCESS)
                *ret_function = &module->functions[module->function_count - 1];
        return rc;
}

CUresult module_find(CUmodule module, const char *name, CUfunction *ret_function)
{
        CUresult rc;

        if (module->kind != IMAGE_FATBIN) {
                CUfunction found = function_named(module, name);

                if (found)
                        *ret_function = found;
                return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
        }
        pthread_mutex_lock(&module_lock);
        rc = find_or_make(module, name, ret_function);
        pthread_mutex_unlock(&module_lock);
        return rc;
}

CUresult file_read(const char *path, void **ret_bytes, size_t *ret_size)
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
        scoped_free char *bytes = NULL;
        struct stat st;
        size_t got = 0;

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                return CUDA_ERROR_FILE_NOT_FOUND;
        bytes = malloc((size_t)st.st_size + 1);
        if (!bytes)
                return CUDA_ERROR_OUT_OF_MEMORY;
        while (got < (size_t)st.st_size) {
                ssize_t n = read(fd, bytes + got, (size_t)st.st_size - got);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return CUDA_ERROR_FILE_NOT_FOUND;
                got += (size_t)n;
        }
        bytes[got] = '\0';
        *ret_bytes = steal_ptr(&bytes);
        *ret_size = got;
        return CUDA_SUCCESS;
}
