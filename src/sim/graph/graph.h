/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs: nodes and their dependencies.
 *
 * A node's *body* describes what the node does, and owns everything it points to. The nodes of a
 * graph are listed in the order of their creation. graph_lock guards all graphs of a process,
 * except where the driver's manual says that a graph is not thread-safe. Handles stay readable
 * after their objects are destroyed.
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

/* The address of an allocation node. It stays reserved as long as any copy of the node exists. */
struct graph_address {
        _Atomic uint32_t references;
        CUdeviceptr address;
};

struct node_memory {
        CUdeviceptr address;
        struct graph_address *shared; /* a reference, in an alloc node */
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
        CUcontext context; /* the context in which the node runs */
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
                struct node_memory memory; /* of an alloc node; a free node has only the address */
        };
};

struct graph_edge {
        CUgraphNode from;
        CUgraphEdgeData data;
};

struct CUgraphNode_st {
        uint32_t magic; /* NODE_MAGIC_GRAPH, or 0 when destroyed; must be the first field */
        CUgraph graph;
        unsigned id;
        struct node_body body;
        struct graph_edge *edges; /* the node's dependencies; owned */
        size_t edge_count;
        CUgraphNode original; /* the node from which it was cloned, or NULL */
        CUgraphNode next;     /* next node of the graph, in the order of creation */
        void *param_pointers[IMAGE_MAX_PARAMS]; /* pointers that kernel_params_of() returns */
        CUlaunchAttributeValue attributes[CU_LAUNCH_ATTRIBUTE_MAX];
        bool is_disabled; /* used in the copy that an executable graph has */
};

struct graph_user {
        CUuserObject object;
        unsigned references;
        struct graph_user *next;
};

struct CUgraph_st {
        uint32_t magic; /* GRAPH_MAGIC, or 0 when destroyed; must be the first field */
        CUgraphNode first, *last;
        size_t node_count;
        unsigned next_id;
        CUgraph original;  /* the graph from which it was cloned, or NULL */
        CUgraphNode owner; /* the child-graph node to which it belongs, or NULL */
        struct graph_user *users;
        bool is_captured_into; /* a running capture adds nodes to it */
        /* the instance of a graph with memory nodes, which can have only one */
        CUgraphExec instance;
};

extern pthread_mutex_t graph_lock;

/* The caller of the functions below holds graph_lock, unless their comments say otherwise. */

CUgraph graph_make(void);
void graph_free(CUgraph graph);
CUgraph graph_copy(CUgraph graph);
CUresult graph_check(CUgraph graph);
CUresult node_check(CUgraphNode node);

/* Adds a node with a deep copy of the body. NULL: out of host memory. */
CUgraphNode graph_add(CUgraph graph, const struct graph_edge *edges, size_t count,
                      const struct node_body *body);
void graph_remove(CUgraphNode node);

CUresult node_link(CUgraphNode node, const struct graph_edge *edge);
bool node_unlink(CUgraphNode node, const struct graph_edge *edge);

/* Returns whether `to` is `from` or depends on it, directly or through other nodes. */
bool node_reaches(CUgraphNode from, CUgraphNode to);

/* Returns whether the graph has memory nodes. Such a graph cannot be cloned, nested or instantiated
 * twice, and its nodes cannot be removed. */
bool graph_has_memory(CUgraph graph);

struct graph_address *graph_address_make(CUdevice device, uint64_t bytes, CUresult *ret_error);
void graph_address_release(struct graph_address *shared);

bool body_copy(struct node_body *to, const struct node_body *from);
void body_free(struct node_body *body);

void graph_users_release(CUgraph graph);
bool graph_users_copy(CUgraph to, CUgraph from);

/* Runs the destructors that became due while the lock was held. Call it after unlocking. */
void graph_users_bury(void);

#endif
