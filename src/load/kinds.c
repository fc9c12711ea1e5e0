/* SPDX-License-Identifier: Apache-2.0 */
#include "load/kinds.h"

#include <string.h>

#include "proto/load.h"

#define STEP 20u

static unsigned blocks(const struct kinds_work *work)
{
        return work->blocks ? work->blocks : 1;
}

static CUresult launch_in(struct kinds_work *work, CUstream stream)
{
        return cuLaunchKernel(work->function, blocks(work), 1, 1, 1, 1, 1, 0, stream, work->params,
                              NULL);
}

static CUresult launch_kernel(struct kinds_work *work)
{
        return launch_in(work, work->stream[0]);
}

static CUresult launch_ex(struct kinds_work *work)
{
        CUlaunchConfig config = { .gridDimX = blocks(work),
                                  .gridDimY = 1,
                                  .gridDimZ = 1,
                                  .blockDimX = 1,
                                  .blockDimY = 1,
                                  .blockDimZ = 1,
                                  .hStream = work->stream[0] };

        return cuLaunchKernelEx(&config, work->function, work->params, NULL);
}

static CUresult launch_cooperative(struct kinds_work *work)
{
        return cuLaunchCooperativeKernel(work->function, blocks(work), 1, 1, 1, 1, 1, 0,
                                         work->stream[0], work->params);
}

static CUresult launch_graph(struct kinds_work *work)
{
        return cuGraphLaunch(work->graph, work->stream[0]);
}

static CUresult launch_sync(struct kinds_work *work)
{
        CUresult rc = launch_kernel(work);

        return rc == CUDA_SUCCESS ? cuStreamSynchronize(work->stream[0]) : rc;
}

static CUresult launch_poll(struct kinds_work *work)
{
        CUresult rc = launch_kernel(work);

        if (rc != CUDA_SUCCESS)
                return rc;
        while ((rc = cuStreamQuery(work->stream[0])) == CUDA_ERROR_NOT_READY)
                ;
        return rc;
}

static CUresult launch_step(struct kinds_work *work)
{
        CUresult rc = launch_kernel(work);

        return rc == CUDA_SUCCESS && work->launches % STEP == STEP - 1 ? cuCtxSynchronize() : rc;
}

static CUresult launch_streams(struct kinds_work *work)
{
        return launch_in(work, work->stream[work->launches % KINDS_STREAMS]);
}

static const struct {
        const char *name;
        kinds_launch *launch;
} kinds[] = {
#define X(name) { #name, launch_##name },
        LOAD_KINDS(X)
#undef X
};

kinds_launch *kinds_find(const char *name)
{
        for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
                if (strcmp(kinds[i].name, name) == 0)
                        return kinds[i].launch;
        }
        return NULL;
}

static CUresult make_graph(struct kinds_work *work)
{
        CUgraph captured;
        CUresult rc = cuStreamBeginCapture_v2(work->stream[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);

        for (unsigned i = 0; rc == CUDA_SUCCESS && i < KINDS_GRAPH_NODES; i++)
                rc = launch_kernel(work);
        if (rc == CUDA_SUCCESS)
                rc = cuStreamEndCapture(work->stream[0], &captured);
        return rc == CUDA_SUCCESS ? cuGraphInstantiateWithFlags(&work->graph, captured, 0) : rc;
}

CUresult kinds_prepare(struct kinds_work *work, const char *kind)
{
        CUresult rc = CUDA_SUCCESS;

        for (unsigned i = 0; rc == CUDA_SUCCESS && i < KINDS_STREAMS; i++)
                rc = cuStreamCreate(&work->stream[i], CU_STREAM_NON_BLOCKING);
        return rc == CUDA_SUCCESS && kinds_find(kind) == launch_graph ? make_graph(work) : rc;
}
