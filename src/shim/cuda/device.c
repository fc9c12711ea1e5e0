/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks that show the device to the program: driver start, and the device's name, size and free
 * memory.
 *
 * With a limit, the card is as large as the limit, and free memory is the smaller of what the limit
 * leaves and what the driver has free. If the session may use host memory in place of the card's
 * (spill.h), that memory is added. The driver is always asked first, with the program's own
 * arguments. So the driver answers a wrong argument, and only successful answers are changed.
 */
#include <limits.h>
#include <string.h>

#include "common/atomic.h"
#include "common/minmax.h"
#include "shim/cuda/charge/import.h"
#include "shim/cuda/charge/orphan.h"
#include "shim/cuda/charge/remainder.h"
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/memory/pool.h"
#include "shim/cuda/place/front.h"

/* A broken session is refused already in cuInit: without a context, no call gives the program
 * memory. */
CUresult hook_cuInit(unsigned int flags)
{
        CUresult rc = real.cuInit(flags);

        if (rc != CUDA_SUCCESS)
                return rc;
        return front_start() ? CUDA_SUCCESS : CUDA_ERROR_NOT_PERMITTED;
}

/* Whether the session is broken. If cuInit was refused for that reason, the program gets no
 * device's number, name or size either, although the driver would answer: the driver was
 * initialised before the session was looked for. */
static bool is_refused(void)
{
        return session_state() == SESSION_BROKEN;
}

CUresult hook_cuDeviceGetCount(int *ret)
{
        return is_refused() ? CUDA_ERROR_NOT_PERMITTED : real.cuDeviceGetCount(ret);
}

CUresult hook_cuDeviceGet(CUdevice *ret, int ordinal)
{
        return is_refused() ? CUDA_ERROR_NOT_PERMITTED : real.cuDeviceGet(ret, ordinal);
}

CUresult hook_cuDeviceGetByPCIBusId(CUdevice *ret, const char *bus)
{
        return is_refused() ? CUDA_ERROR_NOT_PERMITTED : real.cuDeviceGetByPCIBusId(ret, bus);
}

/* Sets `card` to what the program is told. False: the driver's answer stands. */
static bool view_card(struct place place, struct charge_card *card)
{
        if (place.row < 0)
                return false;
        meters_refresh(place.row, true);
        orphans_sweep(place.row);
        import_claim(place.row);
        remainder_view(place.row);
        return charge_view(place.row, card);
}

/* Converts a size for the first version of the interface, which has 32-bit sizes. A size that does
 * not fit is reported as the largest possible one. */
static unsigned int narrow(uint64_t bytes)
{
        return (unsigned int)min_u64(bytes, UINT_MAX);
}

CUresult hook_cuMemGetInfo(unsigned int *ret_free, unsigned int *ret_total)
{
        CUresult rc = real.cuMemGetInfo(ret_free, ret_total);
        struct charge_card card;

        if (rc != CUDA_SUCCESS)
                return rc;
        card.free_bytes = ret_free ? *ret_free : 0;
        card.total_bytes = ret_total ? *ret_total : 0;
        if (!view_card(place_here(), &card))
                return rc;
        if (ret_free)
                *ret_free = narrow(card.free_bytes);
        if (ret_total)
                *ret_total = narrow(card.total_bytes);
        return rc;
}

CUresult hook_cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total)
{
        CUresult rc = real.cuMemGetInfo_v2(ret_free, ret_total);
        struct charge_card card;

        if (rc != CUDA_SUCCESS)
                return rc;
        card.free_bytes = ret_free ? *ret_free : 0;
        card.total_bytes = ret_total ? *ret_total : 0;
        if (!view_card(place_here(), &card))
                return rc;
        if (ret_free)
                *ret_free = card.free_bytes;
        if (ret_total)
                *ret_total = card.total_bytes;
        return rc;
}

CUresult hook_cuDeviceTotalMem(unsigned int *ret, CUdevice device)
{
        CUresult rc = is_refused() ? CUDA_ERROR_NOT_PERMITTED : real.cuDeviceTotalMem(ret, device);
        struct charge_card card = { .total_bytes = rc == CUDA_SUCCESS ? *ret : 0 };

        if (rc == CUDA_SUCCESS && view_card(place_of_device(device), &card))
                *ret = narrow(card.total_bytes);
        return rc;
}

CUresult hook_cuDeviceTotalMem_v2(size_t *ret, CUdevice device)
{
        CUresult rc =
                is_refused() ? CUDA_ERROR_NOT_PERMITTED : real.cuDeviceTotalMem_v2(ret, device);
        struct charge_card card = { .total_bytes = rc == CUDA_SUCCESS ? *ret : 0 };

        if (rc == CUDA_SUCCESS && view_card(place_of_device(device), &card))
                *ret = card.total_bytes;
        return rc;
}

/* The name belongs to the session, not to the card: all devices of the session have it. */
CUresult hook_cuDeviceGetName(char *ret, int room, CUdevice device)
{
        CUresult rc =
                is_refused() ? CUDA_ERROR_NOT_PERMITTED : real.cuDeviceGetName(ret, room, device);
        const struct limits_page *limits = session_limits();
        size_t length;

        if (rc != CUDA_SUCCESS || !limits || !limits->device_name[0])
                return rc;
        length = strnlen(limits->device_name, sizeof(limits->device_name) - 1);
        if (length > (size_t)room - 1)
                length = (size_t)room - 1;
        memcpy(ret, limits->device_name, length);
        ret[length] = '\0';
        return rc;
}
