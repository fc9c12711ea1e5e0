/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How to write a kernel for the simulated GPU. Installed; needs nothing but the C library.
 *
 * A module is an ELF shared object. A kernel in it is a host function, called once a launch (the
 * whole grid, not once a thread), on a thread of the simulated driver:
 *
 *      ALIQUOT_SIM_KERNEL(scale, sizeof(uint64_t), sizeof(float), sizeof(uint64_t))
 *      {
 *              uint64_t count = *(const uint64_t *)params[2];
 *              float *data = launch->services->memory(launch, *(const uint64_t *)params[0],
 *                                                     count * sizeof(float), 1);
 *              ...
 *              launch->services->spend_ns(launch, 5000);
 *      }
 *
 * Build with `cc -shared -fPIC`. Variables with default visibility are the module's globals. Device
 * addresses are valid host addresses as long as they are mapped; memory() says whether they are,
 * and raises the sticky error of a real kernel if they are not. Without spend_ns() a kernel takes
 * the time that its host function took.
 */
#ifndef ALIQUOT_SIM_ALIQUOT_SIM_H
#define ALIQUOT_SIM_ALIQUOT_SIM_H

#include <stddef.h>
#include <stdint.h>

#define ALIQUOT_SIM_ABI 1
#define ALIQUOT_SIM_MAX_PARAMS 24
#define ALIQUOT_SIM_NOTE_TYPE 1

struct aliquot_sim_launch;

struct aliquot_sim_services {
        uint32_t struct_size;
        /* The simulator's clock in ns: real or virtual time, as configured. */
        uint64_t (*now_ns)(const struct aliquot_sim_launch *launch);
        /* Occupies the device for `ns` of device time. The engine is time-sliced with other
         * contexts. */
        void (*spend_ns)(const struct aliquot_sim_launch *launch, uint64_t ns);
        /* Returns a pointer to the bytes at a device address. NULL, after raising "illegal
         * address", if any byte is unmapped or, with `is_written`, read-only. */
        void *(*memory)(const struct aliquot_sim_launch *launch, uint64_t address, uint64_t bytes,
                        int is_written);
        /* Ends the launch with a driver error (a CUresult), which is sticky as on hardware. The
         * kernel must return after this call. */
        void (*fail)(const struct aliquot_sim_launch *launch, int result);
};

struct aliquot_sim_launch {
        uint32_t struct_size;
        int32_t device;
        uint32_t grid[3];
        uint32_t block[3];
        uint32_t shared_bytes;
        uint32_t is_cooperative;
        const struct aliquot_sim_services *services;
        void *driver; /* private to the simulated driver */
};

/* What the loader reads: one note for each kernel, in section .note.aliquot. */
struct aliquot_sim_note {
        uint32_t owner_size; /* sizeof(owner): 8 */
        uint32_t body_size;
        uint32_t type;
        char owner[8]; /* "Aliquot" */
        uint32_t abi;
        uint32_t param_count;
        uint32_t param_sizes[ALIQUOT_SIM_MAX_PARAMS];
        char kernel[128];
};

#define ALIQUOT_SIM_COUNT(...) (sizeof((uint32_t[]){ 0, ##__VA_ARGS__ }) / sizeof(uint32_t) - 1)

#ifdef __cplusplus
#define ALIQUOT_SIM_EXTERN extern "C"
#else
#define ALIQUOT_SIM_EXTERN
#endif

/* Declares kernel `name` with the sizes of its parameters, and begins the definition of its
 * function. */
#define ALIQUOT_SIM_KERNEL(name, ...)                                                             \
        ALIQUOT_SIM_EXTERN __attribute__((visibility("default"))) void name(                      \
                const struct aliquot_sim_launch *launch, void *const *params);                    \
        static const struct aliquot_sim_note aliquot_sim_note_##name                              \
                __attribute__((section(".note.aliquot"), used, aligned(4))) = {                   \
                        8,                                                                        \
                        sizeof(struct aliquot_sim_note) - offsetof(struct aliquot_sim_note, abi), \
                        ALIQUOT_SIM_NOTE_TYPE,                                                    \
                        "Aliquot",                                                                \
                        ALIQUOT_SIM_ABI,                                                          \
                        ALIQUOT_SIM_COUNT(__VA_ARGS__),                                           \
                        { __VA_ARGS__ },                                                          \
                        #name                                                                     \
                };                                                                                \
        void name(const struct aliquot_sim_launch *launch, void *const *params)

#endif
