/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules, libraries and functions.
 *
 * A module belongs to a context: its image is loaded (an ELF object through dlopen, a separate copy
 * for each load) and counted for the device, and its kernels become functions. A library belongs to
 * no context: it keeps the image, and loads it as a module in each context that uses one of its
 * kernels. A CUkernel may be passed wherever the driver takes a CUfunction; function_of()
 * distinguishes them. The handle of an unloaded module or library fails its check, until many later
 * ones have been unloaded and its memory is freed.
 */
#ifndef ALIQUOT_SIM_MODULE_MODULE_H
#define ALIQUOT_SIM_MODULE_MODULE_H

#include "abi/cuda.h"
#include "sim/aliquot_sim.h"
#include "sim/context/context.h"
#include "sim/exec/op.h"
#include "sim/node/image.h"

#define MODULE_MAGIC 0x4d6f6475u
#define FUNCTION_MAGIC 0x46756e63u
#define LIBRARY_MAGIC 0x4c696272u
#define KERNEL_MAGIC 0x4b65726eu

typedef void (*kernel_entry)(const struct aliquot_sim_launch *launch, void *const *params);

/* The launch state that cuFuncSetBlockShape and cuParamSet* set, for cuLaunch. */
struct legacy_launch {
        uint32_t block[3];
        uint32_t shared_bytes;
        uint32_t param_bytes;
        unsigned char params[OP_PARAM_BYTES];
};

struct CUfunc_st {
        uint32_t magic; /* FUNCTION_MAGIC; must be the first field */
        unsigned param_count;
        uint32_t param_bytes;
        uint32_t param_offset[IMAGE_MAX_PARAMS];
        uint32_t param_size[IMAGE_MAX_PARAMS];
        kernel_entry entry;
        CUmodule module;
        CUcontext context;
        const char *name;
        int max_dynamic_shared_bytes;
        int carveout;
        int cluster[3]; /* required size of clusters: width, height, depth; 0 = not required */
        int is_nonportable_cluster_allowed, cluster_policy;
        CUfunc_cache cache_config;
        uint64_t local_bytes;         /* local memory of each thread */
        struct legacy_launch *legacy; /* NULL until one of those calls is made */
        /* engine time of the last launch; written by the threads of streams */
        _Atomic uint64_t took_ns;
};

#define MODULE_BLOCKS 2

struct module_global {
        char *name;
        CUdeviceptr address;
        uint64_t bytes;
        struct module_global *next;
};

struct CUmod_st {
        uint32_t magic;
        CUcontext context;
        CUlibrary library; /* the library that loaded it, or NULL */
        enum image_kind kind;
        void *object;                       /* handle of dlopen(), or NULL */
        CUdeviceptr storage[MODULE_BLOCKS]; /* memory on the device; 0: none (room.c) */
        unsigned function_count;
        struct CUfunc_st *functions;
        /* variables that the program has looked up; guarded by module_lock */
        struct module_global *globals;
        struct CUmod_st *next;     /* next module of the same library; guarded by module_lock */
        struct CUmod_st *all_next; /* next module of the process; guarded by module_lock */
};

struct CUkern_st {
        uint32_t magic;
        CUlibrary library;
        unsigned index; /* index of its function in every module of the library */
        struct image_kernel facts;
        uint32_t param_offset[IMAGE_MAX_PARAMS];
};

struct CUlib_st {
        uint32_t magic;
        enum image_kind kind;
        void *image; /* the library's own copy */
        size_t image_bytes;
        unsigned kernel_count;
        struct CUkern_st *kernels;
        CUmodule modules; /* one for each context that uses the library; guarded by module_lock */
};

/* Computes the offsets of parameters, each aligned to its size, as a compiler does. Returns the
 * total size. */
uint32_t params_layout(unsigned count, const uint32_t *sizes, uint32_t *ret_offsets);

/* Reads an image and checks that it can be loaded. `size` 0: unknown. */
CUresult image_admit(const void *bytes, size_t size, struct image *ret_image);

CUresult module_load(CUcontext context, const struct image *image, CUmodule *ret_module);
CUresult module_unload(CUmodule module);
CUresult module_check(CUmodule module);

/* Unloads the modules of a context that ends. None of its work runs any more. */
void modules_context_close(CUcontext context);
CUresult module_find(CUmodule module, const char *name, CUfunction *ret_function);
/* Returns address and size of a variable of the module; either output may be NULL. */
CUresult module_global(CUmodule module, const char *name, CUdeviceptr *ret_address,
                       size_t *ret_bytes);
CUresult file_read(const char *path, void **ret_bytes, size_t *ret_size);

/* Returns the function that a CUfunction or CUkernel means in `context` (NULL: any context, for
 * queries of attributes). */
CUresult function_of(CUfunction handle, CUcontext context, CUfunction *ret_function);

/* Fat binaries (fatbin.c). Their kernels cannot be listed, so a kernel is created when the program
 * looks it up: from the module of the setting kernels=, or as a no-op. */
#define FATBIN_KERNELS 1024 /* maximum number of kernels for one image */

/* Checks that the module of kernels= or no-ops can replace a fat binary. If not, reports once on
 * stderr what is missing. */
CUresult fatbin_admit(void);

/* Returns the image of kernels=, which stays valid; of kind IMAGE_BAD if there is none. */
struct image fatbin_stand_in(void);

/* Returns whether the module of kernels= has a kernel of exactly this name, which then also
 * replaces a PTX kernel. */
bool stand_in_has(const char *name);

/* Returns the properties of the kernel that replaces `name`. The field `name` is that of the
 * replacing kernel; empty for a no-op. */
CUresult fatbin_kernel(const char *name, struct image_kernel *ret_kernel);

/* Built-in kernels, and the no-op for PTX kernels (builtin.c). */
kernel_entry builtin_entry(const char *name);
bool builtin_is(kernel_entry entry);
extern const kernel_entry builtin_noop;

/* Returns whether `entry` is the built-in kernel whose only parameter is its run time. */
bool builtin_is_spin(kernel_entry entry);

#endif
