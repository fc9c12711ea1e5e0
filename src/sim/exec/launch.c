/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's launch calls: each checks its arguments, copies the parameters into the stream's
 * queue, and returns.
 *
 * A launch allocates no memory. In a captured stream, it becomes a kernel node instead.
 */
#include "sim/exec/launch.h"

#include "sim/context/device.h"
#include "sim/context/growth.h"
#include "sim/entries.h"
#include "sim/exec/stream.h"
#include "sim/graph/capture.h"
#include "sim/node/clock.h"
#include "sim/node/config.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_THREADS_MAX 1024
#define GRID_YZ_MAX 65535

CUresult launch_check(CUfunction function, const struct op_launch *shape)
{
        for (int i = 0; i < 3; i++)
                if (!shape->grid[i] || !shape->block[i])
                        return CUDA_ERROR_INVALID_VALUE;
        if (shape->grid[0] > INT32_MAX || shape->grid[1] > GRID_YZ_MAX ||
            shape->grid[2] > GRID_YZ_MAX || shape->block[0] > BLOCK_THREADS_MAX ||
            shape->block[1] > BLOCK_THREADS_MAX || shape->block[2] > 64 ||
            (uint64_t)shape->block[0] * shape->block[1] * shape->block[2] > BLOCK_THREADS_MAX)
                return CUDA_ERROR_INVALID_VALUE;
        if (shape->shared_bytes > (uint32_t)function->max_dynamic_shared_bytes)
                return CUDA_ERROR_INVALID_VALUE;
        return CUDA_SUCCESS;
}

/* Finds the buffer if the program passed its parameters packed; NULL if it passed an array of
 * pointers. */
static CUresult find_packed(CUfunction function, const struct launch_params *params,
                            const void **ret_buffer, size_t *ret_bytes)
{
        const void *buffer = NULL;
        size_t bytes = 0;
        bool has_size = false;

        *ret_buffer = NULL;
        if (params->kernel || !params->extra)
                return params->kernel || !function->param_count ? CUDA_SUCCESS
                                                                : CUDA_ERROR_INVALID_VALUE;
        for (void **at = params->extra; *at != CU_LAUNCH_PARAM_END; at += 2) {
                if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) {
                        buffer = at[1];
                } else if (*at == CU_LAUNCH_PARAM_BUFFER_SIZE) {
                        bytes = *(const size_t *)at[1];
                        has_size = true;
                } else {
                        return CUDA_ERROR_INVALID_VALUE;
                }
        }
        if (!buffer || !has_size || bytes < function->param_bytes || bytes > OP_PARAM_BYTES)
                return CUDA_ERROR_INVALID_VALUE;
        *ret_buffer = buffer;
        *ret_bytes = bytes;
        return CUDA_SUCCESS;
}

CUresult launch_fill(struct op_launch *to, const struct op_launch *shape,
                     const struct launch_params *params)
{
        CUfunction function = shape->function;
        const void *buffer;
        size_t bytes;
        CUresult rc = find_packed(function, params, &buffer, &bytes);

        if (rc != CUDA_SUCCESS)
                return rc;
        *to = *shape;
        to->param_bytes = function->param_bytes;
        if (buffer) {
                memcpy(to->params, buffer, function->param_bytes);
                return CUDA_SUCCESS;
        }
        for (unsigned i = 0; i < function->param_count; i++) {
                if (!params->kernel[i])
                        return CUDA_ERROR_INVALID_VALUE;
                memcpy(to->params + function->param_offset[i], params->kernel[i],
                       function->param_size[i]);
        }
        return CUDA_SUCCESS;
}

static CUresult capture_launch(CUstream stream, const struct op_launch *shape,
                               const struct launch_params *params)
{
        struct node_body body = { .type = CU_GRAPH_NODE_TYPE_KERNEL, .context = stream->context };
        CUresult rc;

        body.launch = malloc(sizeof(*shape) + shape->function->param_bytes);
        if (!body.launch)
                return CUDA_ERROR_OUT_OF_MEMORY;
        rc = launch_fill(body.launch, shape, params);
        if (rc == CUDA_SUCCESS)
                rc = capture_add(stream, &body);
        free(body.launch);
        return rc;
}

/* Checks the parameters before room is taken in the queue, because a command that was begun must be
 * committed. */
static CUresult params_check(CUfunction function, const struct launch_params *params)
{
        const void *buffer;
        size_t bytes;
        CUresult rc = find_packed(function, params, &buffer, &bytes);

        if (rc != CUDA_SUCCESS || buffer)
                return rc;
        for (unsigned i = 0; i < function->param_count; i++)
                if (!params->kernel[i])
                        return CUDA_ERROR_INVALID_VALUE;
        return CUDA_SUCCESS;
}

static CUresult launch_in(CUstream stream, struct op_launch *shape,
                          const struct launch_params *params)
{
        struct op_launch *command;
        CUfunction function;
        CUresult rc = function_of(shape->function, stream->context, &function);

        if (rc != CUDA_SUCCESS)
                return rc;
        shape->function = function;
        rc = launch_check(function, shape);
        if (rc == CUDA_SUCCESS)
                rc = params_check(function, params);
        if (rc != CUDA_SUCCESS)
                return rc;
        if (__builtin_expect(stream_is_capturing(stream), 0))
                return capture_launch(stream, shape, params);
        rc = growth_stack_raise(stream->context, function->local_bytes);
        if (rc != CUDA_SUCCESS)
                return rc;
        sim_spend_call(config_get()->launch_ns);
        command = stream_begin(stream, COMMAND_LAUNCH, sizeof(*command) + function->param_bytes);
        if (!command)
                return CUDA_ERROR_OUT_OF_MEMORY;
        launch_fill(command, shape, params);
        stream_estimate(stream, command, op_launch_estimate_ns(command));
        stream_commit(stream);
        sim_spend(config_get()->launched_ns);
        return CUDA_SUCCESS;
}

static CUresult launch(bool is_per_thread, CUstream handle, struct op_launch *shape,
                       const struct launch_params *params)
{
        CUstream stream;
        CUresult rc = stream_resolve_work(handle, is_per_thread, &stream);

        return rc == CUDA_SUCCESS ? launch_in(stream, shape, params) : rc;
}

#define SHAPE(is_cooperative_)                                                         \
        {                                                                              \
                .function = function, .grid = { gx, gy, gz }, .block = { bx, by, bz }, \
                .shared_bytes = shared, .is_cooperative = (is_cooperative_)            \
        }

CUresult sim_cuLaunchKernel(bool is_per_thread, CUfunction function, unsigned gx, unsigned gy,
                            unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                            CUstream stream, void **params, void **extra)
{
        struct op_launch shape = SHAPE(false);
        struct launch_params given = { params, extra };

        return launch(is_per_thread, stream, &shape, &given);
}

/* Checks that all blocks fit on the device at once: as many on each multiprocessor as occupancy
 * allows. */
static CUresult cooperative_check(const struct op_launch *shape)
{
        const struct model_spec *model = model_spec((enum sim_model)node_get()->model);
        uint64_t threads = (uint64_t)shape->block[0] * shape->block[1] * shape->block[2];
        uint64_t blocks = (uint64_t)shape->grid[0] * shape->grid[1] * shape->grid[2];
        uint64_t resident;

        if (!threads || !blocks)
                return CUDA_ERROR_INVALID_VALUE;
        resident = (uint64_t)model->threads_per_multiprocessor / threads;
        if (resident > (uint64_t)model->blocks_per_multiprocessor)
                resident = (uint64_t)model->blocks_per_multiprocessor;
        return blocks > resident * (uint64_t)model_multiprocessors(model)
                       ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
                       : CUDA_SUCCESS;
}

CUresult sim_cuLaunchCooperativeKernel(bool is_per_thread, CUfunction function, unsigned gx,
                                       unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                       unsigned bz, unsigned shared, CUstream stream, void **params)
{
        struct op_launch shape = SHAPE(true);
        struct launch_params given = { params, NULL };
        CUresult rc = cooperative_check(&shape);

        return rc == CUDA_SUCCESS ? launch(is_per_thread, stream, &shape, &given) : rc;
}

/* Applies an attribute that has an effect in the model; others tune hardware that is not
 * modelled. */
static CUresult attribute_take(const CUlaunchAttribute *attribute, struct op_launch *shape,
                               CUevent *ret_event)
{
        switch (attribute->id) {
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
                shape->is_cooperative = attribute->value.cooperative != 0;
                return CUDA_SUCCESS;
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
                *ret_event = attribute->value.programmaticEvent.event;
                return CUDA_SUCCESS;
        case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
                *ret_event = attribute->value.launchCompletionEvent.event;
                return CUDA_SUCCESS;
        default:
                return attribute->id < CU_LAUNCH_ATTRIBUTE_MAX ? CUDA_SUCCESS
                                                               : CUDA_ERROR_INVALID_VALUE;
        }
}

CUresult sim_cuLaunchKernelEx(bool is_per_thread, const CUlaunchConfig *config, CUfunction function,
                              void **params, void **extra)
{
        struct launch_params given = { params, extra };
        struct op_launch shape;
        CUevent event = NULL;
        CUresult rc;

        if (!config || (config->numAttrs && !config->attrs))
                return CUDA_ERROR_INVALID_VALUE;
        shape = (struct op_launch){
                .function = function,
                .grid = { config->gridDimX, config->gridDimY, config->gridDimZ },
                .block = { config->blockDimX, config->blockDimY, config->blockDimZ },
                .shared_bytes = config->sharedMemBytes,
        };
        for (unsigned i = 0; i < config->numAttrs; i++) {
                rc = attribute_take(&config->attrs[i], &shape, &event);
                if (rc != CUDA_SUCCESS)
                        return rc;
        }
        rc = shape.is_cooperative ? cooperative_check(&shape) : CUDA_SUCCESS;
        if (rc == CUDA_SUCCESS)
                rc = launch(is_per_thread, config->hStream, &shape, &given);
        /* The launch's event is recorded when the whole kernel has ended, so it may be late but
         * never early. */
        if (rc == CUDA_SUCCESS && event)
                rc = is_per_thread ? cuEventRecord_ptsz(event, config->hStream)
                                   : cuEventRecord(event, config->hStream);
        return rc;
}

CUresult sim_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *list, unsigned int count,
                                                  unsigned int flags)
{
        CUresult rc = CUDA_SUCCESS;

        if (!list || !count || flags & ~3u)
                return CUDA_ERROR_INVALID_VALUE;
        for (unsigned i = 0; i < count; i++) {
                if (!list[i].hStream || list[i].hStream == CU_STREAM_LEGACY ||
                    list[i].hStream == CU_STREAM_PER_THREAD)
                        return CUDA_ERROR_INVALID_HANDLE;
        }
        for (unsigned i = 0; i < count && rc == CUDA_SUCCESS; i++)
                rc = sim_cuLaunchCooperativeKernel(
                        false, list[i].function, list[i].gridDimX, list[i].gridDimY,
                        list[i].gridDimZ, list[i].blockDimX, list[i].blockDimY, list[i].blockDimZ,
                        list[i].sharedMemBytes, list[i].hStream, list[i].kernelParams);
        return rc;
}
