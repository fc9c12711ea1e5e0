/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate before every launch. The hot path spends a credit (shim/credit.h) and jumps to the
 * driver; the slow path is a passage:
 *
 *      struct passage passage;
 *
 *      passage_begin(&passage, &way);                  // waits here while the gate is shut
 *      return passage_end(&passage, real.cuLaunchKernel(...));
 *
 * In a stream that is being captured nothing is asked, waited for or recorded. The driver's answers
 * are the program's; what of ours fails is not told to anybody.
 */
#ifndef ALIQUOT_SHIM_CUDA_LAUNCH_H
#define ALIQUOT_SHIM_CUDA_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "shim/cost.h"
#include "shim/credit.h"
#include "shim/cuda/front.h"
#include "shim/cuda/lane.h"

/* Where work goes. */
struct way {
        CUstream stream;  /* with the default stream spelt out */
        uint64_t key;     /* as credits have it; KEY_NEVER: none is wanted */
        uint64_t what;    /* kernel, graph or kind of batch (shim/cost.h); 0: a fill, a copy */
        bool is_compound; /* a graph, a batch: much in one launch, always measured alone */
};

#define KEY_NEVER UINT64_MAX

struct passage {
        struct lane *lane; /* NULL: nothing is counted */
        bool is_held;
        bool ends;     /* a marker comes after */
        bool is_alone; /* as after each of its burst */
        bool is_first; /* the one before it found the stream idle */
        bool is_drawn; /* so, and this launch was picked at random */
        uint64_t key;
        uint64_t context;
        uint64_t piece_ns;
        uint32_t pieces; /* granted, this one included */
        uint32_t turn;
        uint64_t gate_seen;
        uint64_t what; /* is measured on its own account; 0: as one of many */
        bool is_compound;
        bool is_unknown;
        bool is_any_work; /* let into a stream in which nothing can begin: whatever it is */
};

void passage_begin(struct passage *ret, const struct way *way);

/* `stream` with the default stream spelt out. */
static inline void passage_begin_graph(struct passage *ret, CUgraphExec exec, CUstream stream)
{
        struct way way = { stream, KEY_NEVER, key_of(exec), true };

        passage_begin(ret, &way);
}

/* `rc` is the driver's answer, and what is returned. */
CUresult passage_end(struct passage *passage, CUresult rc);

/* The entry points' two families: what stream 0 is. */
static inline struct way way_of(CUstream stream, CUfunction what)
{
        return (struct way){ stream ? stream : CU_STREAM_LEGACY, key_of(stream), key_of(what),
                             false };
}

static inline struct way way_of_per_thread(CUstream stream, CUfunction what)
{
        CUstream spelt = stream ? stream : CU_STREAM_PER_THREAD;

        return (struct way){ spelt, key_of(spelt), key_of(what), false };
}

/* The hook of a launch: `way` is an expression of its parameters, cheap, and without effect. */
#define LAUNCH_HOOK(symbol, way_expression, parameters, arguments)                  \
        static __attribute__((noinline, cold)) CUresult slow_##symbol parameters    \
        {                                                                           \
                struct way way = (way_expression);                                  \
                struct passage passage;                                             \
                                                                                    \
                passage_begin(&passage, &way);                                      \
                return passage_end(&passage, real.symbol arguments);                \
        }                                                                           \
                                                                                    \
        CUresult hook_##symbol parameters                                           \
        {                                                                           \
                bool is_paid = credit_spend(&credit_here, (way_expression).key,     \
                                            cost_doubt((way_expression).what));     \
                __typeof__(real.symbol) launch =                                    \
                        __builtin_expect(is_paid, 1) ? real.symbol : slow_##symbol; \
                                                                                    \
                return launch arguments;                                            \
        }

#endif
