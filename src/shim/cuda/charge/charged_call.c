/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/charge/charged_call.h"

#include <string.h>

struct charged_call charged_call_begin(struct place place, struct out ret, uint64_t bytes)
{
        struct charged_call call = { .place = place, .ret = ret };

        call.rc = reserve_at(&call.charge, place, bytes);
        return call;
}

uint64_t out_key(struct out ret)
{
        uint64_t key = 0;
        uint32_t short_key = 0;

        if (!ret.at)
                return 0;
        if (ret.bytes == sizeof(key)) {
                memcpy(&key, ret.at, sizeof(key));
                return key;
        }
        memcpy(&short_key, ret.at, sizeof(short_key));
        return short_key;
}

bool charged_call_correct(struct charged_call *call, uint64_t bytes)
{
        if (!call->charge.bytes)
                return true;
        if (bytes <= call->charge.bytes) {
                charge_trim(&call->charge, bytes);
                return true;
        }
        charge_drop(&call->charge);
        call->rc = reserve_at(&call->charge, call->place, bytes);
        return call->rc == CUDA_SUCCESS;
}

CUresult charged_call_settle(struct charged_call *call, enum charge_space space)
{
        return call->is_called ? settle(&call->charge, call->rc, space, charged_call_key(call))
                               : call->rc;
}
