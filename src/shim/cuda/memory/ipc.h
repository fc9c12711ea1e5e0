/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory shared with other processes by legacy handles, by pool pointers, or from outside CUDA.
 *
 * Opening takes no new memory, so the size is asked of the driver afterwards; if the limit has no
 * room for it, the memory is closed again and the program hears out-of-memory. import.h says when
 * it is charged at all. External memory (Vulkan, OpenGL, other descriptors) is as large as the
 * program says when it imports it, and is charged to the current device; a second import of the
 * same memory that says more is charged the difference.
 */
#ifndef ALIQUOT_SHIM_CUDA_MEMORY_IPC_H
#define ALIQUOT_SHIM_CUDA_MEMORY_IPC_H

#include "abi/cuda.h"

/* The hook of each version of the call, which cuda.api makes. */
CUresult ipc_open(__typeof__(&cuIpcOpenMemHandle) driver, CUdeviceptr *ret, CUipcMemHandle handle,
                  unsigned int flags);

#endif
