/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charges memory that is shared with other processes by legacy handles or pool pointers, or that
 * comes from outside CUDA.
 *
 * Opening a handle takes no new memory, so the driver is asked for the size afterwards. If the
 * limit has no room for that size, the memory is closed again and the program gets out-of-memory.
 * import.h says in which process the memory is charged. The size of external memory (Vulkan,
 * OpenGL, other descriptors) is what the program states at the import; it is charged to the current
 * device. A second import of the same memory that states a larger size is charged the difference.
 */
#ifndef ALIQUOT_SHIM_CUDA_MEMORY_IPC_H
#define ALIQUOT_SHIM_CUDA_MEMORY_IPC_H

#include "abi/cuda.h"

/* Opens a handle for the hooks of both versions of cuIpcOpenMemHandle, which gen-api makes from
 * cuda.api. `driver` is the driver's function. */
CUresult ipc_open(__typeof__(&cuIpcOpenMemHandle) driver, CUdeviceptr *ret, CUipcMemHandle handle,
                  unsigned int flags);

#endif
