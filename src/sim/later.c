/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/families.h"

void imports_context_close(CUcontext context)
{
}
