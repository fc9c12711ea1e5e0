/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of the simulated node, from the text of the variable ALIQUOT_SIM or of a file.
 *
 * The text is a list of key=value, separated by commas or line ends; '#' begins a comment. If the
 * value of ALIQUOT_SIM begins with '@' or '/', it is the path of a file with the text. In a
 * container that was given a simulated GPU, the text is in the file of common/injected.h, and the
 * variable is not read. docs/simulator-config.md describes every key.
 *
 * Bytes have the units B, KiB to TiB, K to T; times ns, us, ms, s; rates are bytes per second.
 *
 * The shape of the node (gpus, memory, model, seed, mig) is set by the process that creates the
 * state folder; all other keys apply only to the process that reads them. Read-only once
 * config_get() has returned.
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

/* fail=NAME:N:CODE[:COUNT]: calls N to N+COUNT-1 of function NAME return CODE. N counts from 1. */
struct config_fault {
        char name[64];
        uint64_t first_call;
        uint64_t call_count;
        int result;
};

/* The CUDA version that the simulator reports by default. */
#define CONFIG_DRIVER_VERSION 13000

/*
 * grants=real: how much memory of a card a driver takes for a request (docs/simulator-memory.md).
 * Each field is a rule with a key of its own; if all are 0, each request takes exactly the
 * requested size.
 */
struct grant_rules {
        uint64_t slab_bytes;     /* small allocations share slabs of this size */
        uint64_t slab_max_bytes; /* the largest allocation that is placed in a slab */
        uint64_t block_step;     /* larger allocations are rounded up to multiples of this */
        uint64_t array_step;     /* arrays are rounded up to multiples of this */
        /* if set, cuArrayGetMemoryRequirements returns an error for a plain array */
        uint64_t has_no_array_requirements;
        /* if set, a module takes memory for its code and variables only, not for the whole image */
        uint64_t has_loadable_only;
        /* size of the code of modules for which a context has room without more memory */
        uint64_t code_within_bytes;
        /* if set, modules load lazily unless CUDA_MODULE_LOADING says otherwise */
        uint64_t is_lazy;
        /* if set, a context grows by the stacks and the local memory of kernels */
        uint64_t has_stacks;
        /* if set, a context gets its heap and printf buffer with the first module that needs
         * them */
        uint64_t is_heap_lazy;
        uint64_t graphs_bytes; /* memory that a context takes with its first graph instance */
        /* memory that a context takes with the second growth of a memory pool */
        uint64_t pools_bytes;
        uint64_t green_bytes; /* memory of a green context, in addition to its primary context */
        /* if set, managed memory counts only after the device has accessed it */
        uint64_t is_managed_lazy;
        /* if set, graphs launched in one stream share memory, because they run one after the
         * other */
        uint64_t are_graphs_sharing;
};

/* Time that a VMM call takes its caller: `call_ns` for each call, and `page_ns` for each 2 MiB
 * after the first. */
enum vmm_call { VMM_CREATE, VMM_MAP, VMM_ACCESS, VMM_UNMAP, VMM_RELEASE, VMM_RESERVE, VMM_CALLS };

struct vmm_cost {
        uint64_t call_ns, page_ns;
};

struct sim_config {
        /* Shape of the node. */
        unsigned device_count;
        enum sim_model model;
        uint64_t memory_bytes; /* memory of each device */
        uint64_t seed;         /* seed of the devices' UUIDs */
        unsigned mig;          /* number of MIG instances per device; 0: whole devices */
        char state_dir[256];

        /* Behaviour of this process. */
        int driver_version;     /* the version that cuDriverGetVersion() returns */
        uint64_t context_bytes; /* device memory that one context takes */
        uint64_t context_ns;    /* time to create a context, without the time for its memory */
        /* memory of a card that NVML reports in addition to memory_bytes */
        uint64_t reserved_bytes;
        uint64_t pool_growth_bytes;
        uint64_t drain_ns;   /* see life.c */
        int multiprocessors; /* multiprocessors of every card; 0: as the model has */
        /* time of a switch between two contexts, in which the engine does no work */
        uint64_t switch_ns;
        uint64_t slice_ns; /* time slice of the compute engine, when several contexts have work */
        uint64_t alloc_ns; /* additional time of every allocation and release */
        uint64_t vmm_ns;   /* time of every VMM call without a key of its own */
        struct vmm_cost vmm[VMM_CALLS];
        /* part of a VMM call's time in which the driver serves no other process */
        uint64_t vmm_lock_percent;
        uint64_t launch_ns;   /* host time of a launch, before the device has it */
        uint64_t launched_ns; /* host time of a launch, after the device has it */
        /* Host time of calls. graph_launch_ns is the equivalent of launch_ns for graphs. */
        uint64_t graph_launch_ns, event_record_ns, event_query_ns, event_elapsed_ns;
        uint64_t stream_query_ns, stream_context_ns, capture_query_ns;
        uint64_t process_list_ns; /* real time that NVML takes to list processes */
        /* number of hardware queues that the streams of a context share; 0: one for each stream */
        uint64_t queues;
        /* current=measured: which calls need a current context, see context/current.h */
        uint64_t is_current_needed;
        /* ended=crash: a handle of an object that has ended crashes the program, see api_ended() */
        uint64_t is_ended_fatal;
        bool has_real_costs; /* costs=real: keys that are not set have the costs of real drivers */
        /* grants=real: keys that are not set follow the rules of real drivers */
        bool has_real_grants;
        struct grant_rules grants;
        uint64_t event_ns;      /* how long a stream takes to process an event record */
        uint64_t event_step_ns; /* event times are multiples of this */
        /* how much faster the devices' clock is than the host's, in parts per million */
        uint64_t drift_ppm;
        uint64_t sample_ns; /* period in which NVML updates the utilisation of processes */
        /* period in which NVML updates the utilisation of a card; 0: always the last second */
        uint64_t utilization_ns;
        uint64_t lost_ns; /* time after cuInit at which the devices are lost; 0: never */
        /* copies between pinned host memory and a device, in each direction; 0: as fast as
         * memcpy */
        uint64_t host_rate;
        uint64_t pageable_rate;
        uint64_t duplex_percent; /* rate of both directions together, in percent of host_rate */
        uint64_t pin_rate;       /* rate of pinning host memory; 0: takes no time */
        uint64_t peer_rate;
        uint64_t device_rate; /* copies within a device */
        bool is_ptx_accepted; /* PTX kernels are accepted; they only take time */
        bool is_fatbin_noop;  /* kernels of a fat binary that are not in `kernels` only take time */
        uint64_t ptx_ns;      /* run time of such a PTX or fat-binary kernel */
        /* path of the ELF module whose kernels replace those of fat binaries, or "" */
        char kernels[256];
        bool is_clock_virtual;
        uint64_t wake_ns;        /* virtual time: minimum delay of a thread after its wait */
        uint64_t wake_spread_ns; /* virtual time: a random delay up to this is added to wake_ns */
        unsigned begin_with; /* number of processes for which virtual time waits before it begins */
        bool has_flights;    /* count how long work is in flight (flights.h) */
        bool has_calls;      /* count calls by caller (calls.h) */
        bool is_logging;     /* ALIQUOT_SIM_LOG is set: report on stderr what is not modelled */
        unsigned fault_count;
        struct config_fault faults[CONFIG_FAULTS];
};

/* Parses `text` over the defaults. Returns 0, or -EINVAL with one line in `ret_why` (`why_bytes`
 * long) that gives the reason. */
int config_parse(const char *text, struct sim_config *ret, char *ret_why, size_t why_bytes);

/* The two ends of config_parse() (config_defaults.c): config_begin() sets the defaults before the
 * text is parsed, config_complete() sets the dependent values afterwards. */
void config_begin(struct sim_config *ret);
void config_complete(struct sim_config *config);

/* Returns this process's configuration, which is parsed once. NULL if the text is malformed, which
 * is reported once on stderr. */
const struct sim_config *config_get(void);

/* Like config_get(), without the report: for code that runs before the first call of the driver. */
const struct sim_config *config_peek(void);

/* Returns the text that was parsed (of the variable or of the file). NULL if it is malformed. */
const char *config_words(void);

#endif
