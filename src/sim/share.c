/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/share.h"

void share_settle(struct node *node)
{
        (void)node;
}
