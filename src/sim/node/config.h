/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of the simulated node, from the text of ALIQUOT_SIM or the file that it names.
 *
 * The text is a list of key=value, parted by commas or line ends; '#' begins a comment. A value of
 * ALIQUOT_SIM that begins with '@' or '/' names such a file. A container that was given a simulated
 * GPU has the file of common/injected.h, and the variable is not read. Every key:
 * docs/simulator-config.md.
 * Bytes take B, KiB..TiB, K..T; times take ns, us, ms, s; rates are bytes a second.
 * The shape of the node (gpus, memory, model, seed, mig) belongs to the process that makes the
 * state folder; the rest is each process's own. Read-only after config_get() first returned.
 */
#ifndef ALIQUOT_SIM_NODE_CONFIG_H
#define ALIQUOT_SIM_NODE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_UNSET UINT64_MAX

#define SIM_DEVICES 16
#define CONFIG_FAULTS 32
#define CONFIG_QUEUES 32

enum sim_model { MODEL_T4, MODEL_A100, MODEL_H200, MODEL_COUNT };

/* fail=NAME:N:CODE[:COUNT]: calls N .. N+COUNT-1 of NAME answer CODE. N counts from 1. */
struct config_fault {
        char name[64];
        uint64_t first_call;
        uint64_t call_count;
        int result;
};

/* The CUDA version that the simulator reports by default. */
#define CONFIG_DRIVER_VERSION 13000

/*
 * grants=real: how much of a card a driver takes for a request (docs/simulator-memory.md). Each
 * rule is a key of its own; with 0 a grant is exactly the request.
 */
struct grant_rules {
        uint64_t slab_bytes;                /* small blocks share slabs of this size */
        uint64_t slab_most_bytes;           /* the largest block that is placed in a slab */
        uint64_t block_step;                /* larger blocks are multiples of this */
        uint64_t array_step;                /* so are arrays */
        uint64_t has_no_array_requirements; /* cuArrayGetMemoryRequirements refuses a plain array */
        uint64_t has_loadable_only; /* modules: their code and variables, not the whole image */
        uint64_t code_within_bytes; /* code of modules that a context has room for */
        uint64_t is_lazy;           /* CUDA_MODULE_LOADING where the environment does not say */
        uint64_t has_stacks;        /* a context grows by stacks and local memory of kernels */
        /* a context gets heap and printf buffer with the first module that needs them */
        uint64_t is_heap_lazy;
        uint64_t graphs_bytes;       /* with the first graph instance of a context */
        uint64_t pools_bytes;        /* with the second growth of a pool in a context */
        uint64_t green_bytes;        /* of a green context, beside its primary context */
        uint64_t is_managed_lazy;    /* managed memory counts once the device has accessed it */
        uint64_t are_graphs_sharing; /* graphs of one stream use the same memory in turns */
};

/* Cost of VMM calls to their caller: an amount for each call, and one for each 2 MiB after the
 * first. */
enum vmm_call { VMM_CREATE, VMM_MAP, VMM_ACCESS, VMM_UNMAP, VMM_RELEASE, VMM_RESERVE, VMM_CALLS };

struct vmm_cost {
        uint64_t call_ns, page_ns;
};

struct sim_config {
        /* Shape of the node. */
        unsigned device_count;
        enum sim_model model;
        uint64_t memory_bytes; /* of each device */
        uint64_t seed;         /* of the UUIDs */
        unsigned mig;          /* instances a device is cut into; 0 = whole devices */
        char state_dir[256];

        /* Behaviour of this process. */
        int driver_version;      /* as cuDriverGetVersion() returns it */
        uint64_t context_bytes;  /* memory that one context takes of its device */
        uint64_t context_ns;     /* time to make a context, beyond that for its memory */
        uint64_t reserved_bytes; /* NVML's memory of a card beyond memory_bytes */
        uint64_t pool_growth_bytes;
        uint64_t drain_ns;   /* see life.c */
        int multiprocessors; /* of every card; 0: the model's */
        uint64_t switch_ns;  /* between two contexts; the engine does no work meanwhile */
        uint64_t slice_ns;   /* compute time slice between contexts */
        uint64_t alloc_ns;   /* added to every allocation and release */
        uint64_t vmm_ns;     /* every VMM call without a key of its own */
        struct vmm_cost vmm[VMM_CALLS];
        uint64_t vmm_lock_percent; /* of that time, in which no other process is served */
        uint64_t launch_ns;        /* host side of a launch */
        uint64_t launched_ns;      /* and after the device has the launch */
        /* Host time of calls; graph_launch_ns is to graphs what launch_ns is to kernels. */
        uint64_t graph_launch_ns, event_record_ns, event_query_ns, event_elapsed_ns;
        uint64_t stream_query_ns, stream_context_ns, capture_query_ns;
        uint64_t process_list_ns; /* of NVML, in real time */
        uint64_t
                queues; /* hardware queues that a context's streams share; 0: one for each stream */
        uint64_t is_current_needed; /* current=measured: see context/current.h */
        uint64_t is_ended_fatal;    /* ended=crash: see api_ended() */
        bool has_real_costs;  /* costs=real: keys that are not set have the costs of real drivers */
        bool has_real_grants; /* grants=real: keys that are not set follow real drivers */
        struct grant_rules grants;
        uint64_t event_ns;       /* how long a stream takes to pass an event */
        uint64_t event_step_ns;  /* events tell times in multiples of that */
        uint64_t drift_ppm;      /* how much faster than the host's the devices' clock is */
        uint64_t sample_ns;      /* NVML tells shares of processes so often */
        uint64_t utilization_ns; /* periods of the card's utilisation; 0: the last second */
        uint64_t lost_ns;        /* devices are lost this long after cuInit; 0: never */
        uint64_t host_rate;      /* pinned host <-> device, each way; 0 = as fast as memcpy */
        uint64_t pageable_rate;
        uint64_t duplex_percent; /* of host_rate, both directions together */
        uint64_t pin_rate;       /* of pinning host memory; 0: at once */
        uint64_t peer_rate;
        uint64_t device_rate; /* device <-> the same device */
        bool is_ptx_accepted; /* PTX kernels are timed no-ops */
        bool is_fatbin_noop;  /* so are the kernels of a fat binary that `kernels` lacks */
        uint64_t ptx_ns;      /* run time of such a kernel */
        char kernels[256];    /* the ELF module whose kernels replace a fat binary's, or "" */
        bool is_clock_virtual;
        uint64_t wake_ns;        /* virtual time: a thread goes on this much after its wait, */
        uint64_t wake_spread_ns; /* plus up to this much */
        unsigned begin_with;     /* processes that virtual time waits for before it begins */
        bool has_flights;        /* counts how long work is in flight (flights.h) */
        bool has_calls;          /* calls are counted by caller (calls.h) */
        bool is_logging;         /* ALIQUOT_SIM_LOG is set: report on stderr what is not modelled */
        unsigned fault_count;
        struct config_fault faults[CONFIG_FAULTS];
};

/* Parses `text` over the defaults. 0, or -EINVAL with a line in `ret_why` (`why_bytes` long). */
int config_parse(const char *text, struct sim_config *ret, char *ret_why, size_t why_bytes);

/* For config_parse() (config_defaults.c): sets defaults before the text, and dependent values after
 * it. */
void config_begin(struct sim_config *ret);
void config_complete(struct sim_config *config);

/* This process's configuration, parsed once; NULL if it is malformed (reported once on stderr). */
const struct sim_config *config_get(void);

/* The same without the report: for questions before the first call of the driver. */
const struct sim_config *config_peek(void);

/* The text that it was parsed from, a file's included; NULL when it is malformed. */
const char *config_words(void);

#endif
