/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of sequence share (sequence.c): a thread of it, what it has in a context,
 * what it draws, and how it tells what was answered.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "abi/cuda.h"

#define STREAMS 4
#define SIDES 2
#define BLOCKS 6
#define WORDS 4096u /* of the memory of a stream */
#define BLOCK_WORDS 1024u

enum block_kind { BLOCK_NONE, BLOCK_PLAIN, BLOCK_MANAGED, BLOCK_ORDERED, BLOCK_OF_POOL };

/* What a thread has in a context. Memory of a stream is touched in its order alone. */
struct side {
        CUcontext context;
        bool is_shared; /* by all threads: what touches others is left out */
        CUfunction fill, add, spin;
        CUstream stream[STREAMS]; /* the default one, this thread's own default one, two of ours */
        CUevent event, passed, taken;
        CUdeviceptr memory[STREAMS];
        CUdeviceptr words;       /* one a stream */
        uint64_t heard[STREAMS]; /* of host functions */

        CUmemoryPool pool;
        struct {
                enum block_kind kind;
                unsigned at; /* stream that it is used in */
                CUdeviceptr memory;
        } block[BLOCKS];

        CUgraphExec graph;
        unsigned graph_at; /* stream whose memory it touches */
        CUevent captured;  /* recorded in captures only */
};

struct player {
        pthread_t thread;
        unsigned number;
        uint64_t state;
        bool is_alone; /* the others wait until this one's turn is over */
        struct side sides[SIDES];
        struct side *side; /* of the current context */
        FILE *told;
        char *text;
        size_t bytes;
};

/* The calling thread's. */
extern _Thread_local struct player *me;

static inline uint32_t draw(uint32_t below)
{
        me->state = me->state * 6364136223846793005u + 1442695040888963407u;
        return (uint32_t)(me->state >> 33) % below;
}

static inline void note(const char *what, uint64_t value)
{
        fprintf(me->told, "%u %s %llx\n", me->number, what, (unsigned long long)value);
}

static inline CUresult note_answer(const char *call, CUresult rc)
{
        note(call, (uint64_t)rc);
        return rc;
}

/* Makes the call, and tells what it answered. */
#define ASK(call) note_answer(#call, call)

/* -- sequence.c: of the half of a stream's memory, by calls of every kind; told */

CUresult fill(struct side *side, CUstream stream, CUdeviceptr memory);
CUresult add(struct side *side, CUstream stream, CUdeviceptr memory);
CUresult copy(CUstream stream, CUdeviceptr memory);
CUresult call_host(struct side *side, CUstream stream, unsigned at);

/* -- sequence_captures.c */

/* A capture in one of the three modes, of whatever is drawn, and what came of it as a graph. Some
 * are broken on the way, in each of the ways in which that can be done. */
void capture(struct side *side);
void launch_graph(struct side *side);

/* -- sequence_memory.c */

/* A block is taken in some way and written to, or read and given back. */
void change_block(struct side *side);
void change_pool(struct side *side);
void free_blocks(struct side *side);
/* Calls that are refused, whoever makes them. */
void ask_in_vain(struct side *side);
