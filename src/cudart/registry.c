/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers the images of a program's GPU code, and the host symbols of their kernels and
 * variables. The start-up code that nvcc generates calls these functions.
 *
 * Start-up code runs before main(), so registration only stores its arguments. An image is loaded
 * (cuLibraryLoadData()) when the program first uses a kernel or variable in it. Images are loaded
 * and kernels looked up once, under the lock; the driver does not call back into this library.
 */
#include "cudart/runtime.h"
#include "cudart/hand.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A registered image. */
struct registered_image {
        void *handle;        /* a pointer to this member is the handle that the program gets */
        const void *wrapper; /* nvcc's description of the image */
        CUlibrary library;   /* NULL: not loaded yet */
        struct registered_image *next;
};

/* A kernel or variable of an image. */
struct symbol {
        struct registered_image *image;
        const void *host; /* host function of a kernel, or host variable */
        const char *name; /* name in the image */
        CUkernel kernel;  /* the kernel; NULL: not looked up yet, or a variable */
        struct symbol *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct registered_image *images; /* `lock` guards all three lists */
static struct symbol *kernels;
static struct symbol *variables;

EXPORT void **__cudaRegisterFatBinary(void *wrapper);
EXPORT void **__cudaRegisterFatBinary(void *wrapper)
{
        struct registered_image *image = calloc(1, sizeof(*image));

        if (!image)
                return NULL;
        image->wrapper = wrapper;
        pthread_mutex_lock(&lock);
        image->next = images;
        images = image;
        pthread_mutex_unlock(&lock);
        return &image->handle;
}

EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
EXPORT void __cudaRegisterFatBinaryEnd(void **handle)
{
}

static void symbol_add(struct symbol **list, void **handle, const void *host, const char *name)
{
        struct symbol *symbol = handle ? calloc(1, sizeof(*symbol)) : NULL;

        if (!symbol)
                return;
        symbol->image = (struct registered_image *)handle;
        symbol->host = host;
        symbol->name = name;
        pthread_mutex_lock(&lock);
        symbol->next = *list;
        *list = symbol;
        pthread_mutex_unlock(&lock);
}

EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                   int limit, void *tid, void *bid, void *block, void *grid,
                                   int *warp);
EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                   int limit, void *tid, void *bid, void *block, void *grid,
                                   int *warp)
{
        symbol_add(&kernels, handle, host, name);
}

EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_ext,
                              size_t bytes, int is_constant, int is_global);
EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_ext,
                              size_t bytes, int is_constant, int is_global)
{
        symbol_add(&variables, handle, host, name);
}

/* Registers a managed variable. It is a plain device variable in this library, and the host's
 * pointer to it stays NULL. */
EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                                     int is_ext, size_t bytes, int is_constant, int is_global);
EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                                     int is_ext, size_t bytes, int is_constant, int is_global)
{
        symbol_add(&variables, handle, host, name);
}

/* Prepares the managed variables of an image; a program calls it before it uses one. Returns
 * whether there is a context. */
EXPORT char __cudaInitModule(void **handle);
EXPORT char __cudaInitModule(void **handle)
{
        return runtime_enter(ENTER_CONTEXT) == 0;
}

static void symbols_drop(struct symbol **list, const struct registered_image *image)
{
        while (*list) {
                struct symbol *symbol = *list;

                if (symbol->image != image) {
                        list = &symbol->next;
                        continue;
                }
                *list = symbol->next;
                free(symbol);
        }
}

/* Forgets an image, at exit or in dlclose(). Does not unload the library, since at exit the driver
 * may have ended already. */
EXPORT void __cudaUnregisterFatBinary(void **handle);
EXPORT void __cudaUnregisterFatBinary(void **handle)
{
        struct registered_image *image = (struct registered_image *)handle;

        if (!image)
                return;
        pthread_mutex_lock(&lock);
        for (struct registered_image **at = &images; *at; at = &(*at)->next) {
                if (*at == image) {
                        *at = image->next;
                        break;
                }
        }
        symbols_drop(&kernels, image);
        symbols_drop(&variables, image);
        pthread_mutex_unlock(&lock);
        free(image);
}

/*
 * Loads the image if it is not loaded; the caller holds `lock`. A program may launch a kernel of
 * the image for the first time while it captures a stream, which forbids loading. Since the program
 * did not request the loading, the thread's capture mode is relaxed meanwhile.
 */
static int image_load(struct registered_image *image)
{
        const struct driver *d = &drivers[LEGACY];
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        int rc;

        if (image->library)
                return 0;
        rc = (int)d->cuThreadExchangeStreamCaptureMode(&mode);
        if (rc)
                return rc;
        rc = (int)d->cuLibraryLoadData(&image->library, image->wrapper, NULL, NULL, 0, NULL, NULL,
                                       0);
        d->cuThreadExchangeStreamCaptureMode(&mode);
        return rc;
}

static struct symbol *symbol_find(struct symbol *list, const void *host)
{
        while (list && list->host != host)
                list = list->next;
        return list;
}

int registry_kernel(const void *function, CUkernel *ret)
{
        struct symbol *symbol;
        int rc = 0;

        pthread_mutex_lock(&lock);
        symbol = symbol_find(kernels, function);
        if (!symbol)
                rc = cudaErrorInvalidDeviceFunction;
        else if (!symbol->kernel && !(rc = image_load(symbol->image)))
                rc = (int)drivers[LEGACY].cuLibraryGetKernel(&symbol->kernel,
                                                             symbol->image->library, symbol->name);
        if (!rc)
                *ret = symbol->kernel;
        pthread_mutex_unlock(&lock);
        return rc == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : rc;
}

/* If `function` is no registered host function, it is a kernel's handle if the driver knows it. */
int registry_function(const void *function, CUfunction *ret)
{
        CUkernel kernel;
        int rc = registry_kernel(function, &kernel);

        if (rc == cudaErrorInvalidDeviceFunction && function) {
                const char *name;

                pthread_mutex_lock(&lock);
                bool is_host = symbol_find(kernels, function) != NULL;
                pthread_mutex_unlock(&lock);
                kernel = (CUkernel)function;
                if (is_host || drivers[LEGACY].cuKernelGetName(&name, kernel))
                        return rc;
                rc = 0;
        }
        return rc ? rc : (int)drivers[LEGACY].cuKernelGetFunction(ret, kernel);
}

const void *registry_host_function(CUkernel kernel, const char *name)
{
        const void *host = NULL;

        pthread_mutex_lock(&lock);
        for (const struct symbol *at = kernels; at && !host; at = at->next)
                if (kernel ? at->kernel == kernel : name && strcmp(at->name, name) == 0)
                        host = at->host;
        pthread_mutex_unlock(&lock);
        return host;
}

int registry_variable(const void *host, CUdeviceptr *ret_address, size_t *ret_bytes)
{
        CUlibrary library = NULL;
        const char *name = NULL;
        struct symbol *symbol;
        int rc = cudaErrorInvalidSymbol;

        pthread_mutex_lock(&lock);
        symbol = symbol_find(variables, host);
        if (symbol)
                rc = image_load(symbol->image);
        if (!rc) {
                library = symbol->image->library;
                name = symbol->name;
        }
        pthread_mutex_unlock(&lock);
        if (rc)
                return rc;
        rc = (int)drivers[LEGACY].cuLibraryGetGlobal(ret_address, ret_bytes, library, name);
        return rc == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : rc;
}
