/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/charge/plain_frees.h"

#include <stdint.h>

#include "common/atomic.h"

/* Frees of this process. Not inherited: a child of fork() has none of its parent's GPU work. */
static _Atomic int64_t pending_frees;

void plain_note_frees(int more)
{
        add_relaxed(&pending_frees, (int64_t)more);
}

bool plain_frees_are_pending(void)
{
        return load_acquire(&pending_frees) > 0;
}
