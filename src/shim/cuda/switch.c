/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls after which a thread's streams are not what they were: its credit ends, and the next launch
 * looks where it is.
 */
#include "shim/credit.h"
#include "shim/cuda/front.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/real.h"

/* Many programs make the same context current before every call. */
static void stop_in(CUcontext context)
{
        if (credit_here.context != key_of(context))
                credit_stop(&credit_here);
}

CUresult hook_cuCtxSetCurrent(CUcontext context)
{
        stop_in(context);
        return real.cuCtxSetCurrent(context);
}

CUresult hook_cuCtxPushCurrent(CUcontext context)
{
        stop_in(context);
        return real.cuCtxPushCurrent(context);
}

CUresult hook_cuCtxPushCurrent_v2(CUcontext context)
{
        stop_in(context);
        return real.cuCtxPushCurrent_v2(context);
}

CUresult hook_cuCtxPopCurrent(CUcontext *ret)
{
        credit_stop(&credit_here);
        return real.cuCtxPopCurrent(ret);
}

CUresult hook_cuCtxPopCurrent_v2(CUcontext *ret)
{
        credit_stop(&credit_here);
        return real.cuCtxPopCurrent_v2(ret);
}

CUresult hook_cuStreamBeginCapture(CUstream stream)
{
        credit_stop(&credit_here);
        return real.cuStreamBeginCapture(stream);
}

CUresult hook_cuStreamBeginCapture_ptsz(CUstream stream)
{
        credit_stop(&credit_here);
        return real.cuStreamBeginCapture_ptsz(stream);
}

CUresult hook_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
        credit_stop(&credit_here);
        return real.cuStreamBeginCapture_v2(stream, mode);
}

CUresult hook_cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode)
{
        credit_stop(&credit_here);
        return real.cuStreamBeginCapture_v2_ptsz(stream, mode);
}

CUresult hook_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                          const CUgraphNode *dependencies,
                                          const CUgraphEdgeData *data, size_t count,
                                          CUstreamCaptureMode mode)
{
        credit_stop(&credit_here);
        return real.cuStreamBeginCaptureToGraph(stream, graph, dependencies, data, count, mode);
}

CUresult hook_cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph,
                                               const CUgraphNode *dependencies,
                                               const CUgraphEdgeData *data, size_t count,
                                               CUstreamCaptureMode mode)
{
        credit_stop(&credit_here);
        return real.cuStreamBeginCaptureToGraph_ptsz(stream, graph, dependencies, data, count,
                                                     mode);
}

CUresult hook_cuStreamBeginRecaptureToGraph(CUstream stream, CUstreamCaptureMode mode,
                                            CUgraph graph, CUgraphRecaptureCallback differs,
                                            void *data)
{
        credit_stop(&credit_here);
        return real.cuStreamBeginRecaptureToGraph(stream, mode, graph, differs, data);
}

CUresult hook_cuStreamBeginRecaptureToGraph_ptsz(CUstream stream, CUstreamCaptureMode mode,
                                                 CUgraph graph, CUgraphRecaptureCallback differs,
                                                 void *data)
{
        credit_stop(&credit_here);
        return real.cuStreamBeginRecaptureToGraph_ptsz(stream, mode, graph, differs, data);
}
