/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs: nodes and their dependencies.
 *
 * A node's *body* says what it does; it owns everything it points to. Nodes are in their graph's
 * list in order of creation. graph_lock guards all graphs of a process, except where the driver
 * itself says that a graph is not thread-safe. Handles stay readable after destruction.
 */
#ifndef ALIQUOT_SIM_GRAPH_GRAPH_H
#define ALIQUOT_SIM_GRAPH_GRAPH_H

#include "abi/cuda.h"
#include "sim/exec/op.h"
#include "sim/node/image.h"

#include <pthread.h>
#include <stdbool.h>

#define GRAPH_MAGIC 0x47726170u
#define NODE_MAGIC_GRAPH 0x4e6f6465u

/* The address of an allocation node: reserved as long as any copy of the node exists. */
struct graph_address {
        _Atomic uint32_t references;
        CUdeviceptr address;
};

struct node_memory {
        CUdeviceptr address;
        struct graph_address *shared; /* of an alloc node: a reference */
        CUdevice device;
        uint64_t bytes;
        CUmemPoolProps properties;
        CUmemAccessDesc *access; /* owned */
        size_t access_count;
};

struct node_batch {
        CUcontext context;
        unsigned count, flags;
        CUstreamBatchMemOpParams *operations; /* owned */
};

struct node_body {
        CUgraphNodeType type;
        CUcontext context; /* in which it runs */
        union {
                struct op_launch *launch; /* owned, with its parameters */
                struct {
                        struct op_copy copy;
                        CUDA_MEMCPY3D asked;
                } copy;
                struct {
                        struct op_set set;
                        CUDA_MEMSET_NODE_PARAMS asked;
                } set;
                struct op_host host;
                CUgraph child; /* owned */
                CUevent event; /* a reference */
                struct node_batch batch;
                struct node_memory memory; /* alloc; of a free node only the address */
        };
};

struct graph_edge {
        CUgraphNode from;
        CUgraphEdgeData data;
};

struct CUgraphNode_st {
        uint32_t magic; /* first; 0 when destroyed */
        CUgraph graph;
        unsigned id;
        struct node_body body;
        struct graph_edge *edges; /* its dependencies; owned */
        size_t edge_count;
        CUgraphNode original;                   /* the node from which it was cloned, or NULL */
        CUgraphNode next;                       /* in the graph, by creation */
        void *param_pointers[IMAGE_MAX_PARAMS]; /* returned by kernel_params_of() */
        CUlaunchAttributeValue attributes[CU_LAUNCH_ATTRIBUTE_MAX];
        bool is_disabled; /* in an executable graph's copy */
};

struct graph_user {
        CUuserObject object;
        unsigned references;
        struct graph_user *next;
};

struct CUgraph_st {
        uint32_t magic; /* GRAPH_MAGIC, first; 0 when destroyed */
        CUgraphNode first, *last;
        size_t node_count;
        unsigned next_id;
        CUgraph original;  /* the graph from which it was cloned */
        CUgraphNode owner; /* the child-graph node to which it belongs, or NULL */
        struct graph_user *users;
        bool is_captured_into; /* by a capture under way */
        CUgraphExec instance;  /* of a graph with memory nodes: the only instance allowed */
};

extern pthread_mutex_t graph_lock;

/* The functions below expect graph_lock to be held, unless they say otherwise. */

CUgraph graph_make(void);
void graph_free(CUgraph graph);
CUgraph graph_copy(CUgraph graph);
CUresult graph_check(CUgraph graph);
CUresult node_check(CUgraphNode node);

/* Copies the body in, deeply. NULL: out of host memory. */
CUgraphNode graph_add(CUgraph graph, const struct graph_edge *edges, size_t count,
                      const struct node_body *body);
void graph_remove(CUgraphNode node);

CUresult node_link(CUgraphNode node, const struct graph_edge *edge);
bool node_unlink(CUgraphNode node, const struct graph_edge *edge);

/* Would this dependency close a circle? */
bool node_reaches(CUgraphNode from, CUgraphNode to);

/* Memory nodes bar cloning, nesting, removal, and a second instantiation. */
bool graph_has_memory(CUgraph graph);

struct graph_address *graph_address_make(CUdevice device, uint64_t bytes, CUresult *ret_error);
void graph_address_release(struct graph_address *shared);

bool body_copy(struct node_body *to, const struct node_body *from);
void body_free(struct node_body *body);

void graph_users_release(CUgraph graph);
bool graph_users_copy(CUgraph to, CUgraph from);

/* Runs the destructors that fell due under the lock; call after unlocking. */
void graph_users_bury(void);

#endif
