/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User objects: objects of the program that live as long as the graphs that refer to them.
 *
 * The destructor runs when the last reference is released, and never with a lock held.
 */
#include "sim/entries.h"
#include "sim/graph/graph.h"

#include "common/atomic.h"

#include <stdlib.h>

#define USER_MAGIC 0x55736572u

struct CUuserObject_st {
        uint32_t magic;
        _Atomic uint32_t references;
        CUhostFn destroy;
        void *argument;
        CUuserObject next; /* next object that waits for its destructor */
};

/* Objects whose last reference was released while graph_lock was held. */
static __thread CUuserObject doomed __attribute__((tls_model("initial-exec")));

static CUresult user_check(CUuserObject object)
{
        return object && object->magic == USER_MAGIC ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void drop_references(CUuserObject object, unsigned count)
{
        if (add_acq_rel(&object->references, (uint32_t)-count) != count)
                return;
        object->next = doomed;
        doomed = object;
}

void graph_users_bury(void)
{
        while (doomed) {
                CUuserObject object = doomed;

                doomed = object->next;
                object->magic = 0;
                object->destroy(object->argument);
                free(object);
        }
}

void graph_users_release(CUgraph graph)
{
        while (graph->users) {
                struct graph_user *user = graph->users;

                graph->users = user->next;
                drop_references(user->object, user->references);
                free(user);
        }
}

bool graph_users_copy(CUgraph to, CUgraph from)
{
        for (struct graph_user *user = from->users; user; user = user->next) {
                struct graph_user *copy = malloc(sizeof(*copy));

                if (!copy)
                        return false;
                *copy = *user;
                add_relaxed(&copy->object->references, copy->references);
                copy->next = to->users;
                to->users = copy;
        }
        return true;
}

CUresult sim_cuUserObjectCreate(CUuserObject *ret_object, void *argument, CUhostFn destroy,
                                unsigned int references, unsigned int flags)
{
        CUuserObject object;

        if (!ret_object || !destroy || !references || references > INT32_MAX ||
            flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
                return CUDA_ERROR_INVALID_VALUE;
        object = malloc(sizeof(*object));
        if (!object)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *object = (struct CUuserObject_st){ USER_MAGIC, references, destroy, argument, NULL };
        *ret_object = object;
        return CUDA_SUCCESS;
}

CUresult sim_cuUserObjectRetain(CUuserObject object, unsigned int count)
{
        CUresult rc = user_check(object);

        if (rc != CUDA_SUCCESS || !count || count > INT32_MAX)
                return CUDA_ERROR_INVALID_VALUE;
        add_relaxed(&object->references, count);
        return CUDA_SUCCESS;
}

CUresult sim_cuUserObjectRelease(CUuserObject object, unsigned int count)
{
        CUresult rc = user_check(object);

        if (rc != CUDA_SUCCESS || !count || count > load_acquire(&object->references))
                return CUDA_ERROR_INVALID_VALUE;
        drop_references(object, count);
        graph_users_bury();
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                     unsigned int flags)
{
        struct graph_user *user;
        CUresult rc;

        pthread_mutex_lock(&graph_lock);
        rc = graph_check(graph);
        if (rc == CUDA_SUCCESS)
                rc = user_check(object);
        if (rc == CUDA_SUCCESS &&
            (!count || count > INT32_MAX || flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE))
                rc = CUDA_ERROR_INVALID_VALUE;
        user = rc == CUDA_SUCCESS ? malloc(sizeof(*user)) : NULL;
        if (user) {
                *user = (struct graph_user){ object, count, graph->users };
                graph->users = user;
                if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
                        add_relaxed(&object->references, count);
        }
        pthread_mutex_unlock(&graph_lock);
        return rc == CUDA_SUCCESS && !user ? CUDA_ERROR_OUT_OF_MEMORY : rc;
}

CUresult sim_cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
        CUresult rc;

        pthread_mutex_lock(&graph_lock);
        rc = graph_check(graph);
        if (rc == CUDA_SUCCESS)
                rc = user_check(object);
        if (rc == CUDA_SUCCESS) {
                rc = CUDA_ERROR_INVALID_VALUE;
                for (struct graph_user **at = &graph->users; *at; at = &(*at)->next) {
                        struct graph_user *user = *at;

                        if (user->object != object || user->references < count || !count)
                                continue;
                        user->references -= count;
                        drop_references(object, count);
                        if (!user->references) {
                                *at = user->next;
                                free(user);
                        }
                        rc = CUDA_SUCCESS;
                        break;
                }
        }
        pthread_mutex_unlock(&graph_lock);
        graph_users_bury();
        return rc;
}
