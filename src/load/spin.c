/* SPDX-License-Identifier: Apache-2.0 */
#include "load/spin.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "common/atomic.h"

#define SIM_MODULE "aliquot-sim builtin"
#define SIM_KERNEL "spin_ns"
#define PTX_KERNEL "spin"
#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number
#define RING_TEXT TEXT(SPIN_RING)
#define STAMP_TEXT TEXT(SPIN_STAMP_BYTES)

_Static_assert((SPIN_RING & (SPIN_RING - 1)) == 0, "kernels are counted modulo 2^32");
_Static_assert(sizeof(struct spin_stamp) == SPIN_STAMP_BYTES, "as the kernel has it");
_Static_assert(offsetof(struct spin_stamp, begin_ns) == 0, "as the kernel has it");
_Static_assert(offsetof(struct spin_stamp, end_ns) == 8, "as the kernel has it");
_Static_assert(offsetof(struct spin_stamp, number) == 16, "as the kernel has it");

/* PTX that works with every driver since CUDA 9, and on every device since Maxwell. */
const char spin_ptx[] =
        ".version 6.0\n"
        ".target sm_50\n"
        ".address_size 64\n"
        ".visible .entry spin(.param .u64 ns, .param .u64 stamps, .param .u64 count)\n"
        "{\n"
        "        .reg .pred %again;\n"
        "        .reg .b32 %number, %at;\n"
        "        .reg .b64 %ns, %stamps, %count, %begin, %end, %spent, %place;\n"
        "        mov.u64 %begin, %globaltimer;\n"
        "        ld.param.u64 %ns, [ns];\n"
        "        ld.param.u64 %stamps, [stamps];\n"
        "        ld.param.u64 %count, [count];\n"
        "AGAIN:\n"
        "        mov.u64 %end, %globaltimer;\n"
        "        sub.u64 %spent, %end, %begin;\n"
        "        setp.lt.u64 %again, %spent, %ns;\n"
        "        @%again bra AGAIN;\n"
        "        atom.global.add.u32 %number, [%count], 1;\n"
        "        rem.u32 %at, %number, " RING_TEXT ";\n"
        "        mul.wide.u32 %place, %at, " STAMP_TEXT ";\n"
        "        add.u64 %place, %stamps, %place;\n"
        "        st.volatile.global.u64 [%place], %begin;\n"
        "        st.volatile.global.u32 [%place+16], %number;\n"
        "        membar.sys;\n"
        "        st.volatile.global.u64 [%place+8], %end;\n"
        "        ret;\n"
        "}\n";

#define CHECK(call, err) driver_check(call, #call, err)

static int open_simulated(struct spin *spin, struct error *err)
{
        CUmodule module;
        int rc;

        spin->judge = LOAD_JUDGE_ENGINE;
        rc = CHECK(cuModuleLoadData(&module, SIM_MODULE), err);
        if (rc == 0)
                rc = CHECK(cuModuleGetFunction(&spin->function, module, SIM_KERNEL), err);
        return rc;
}

/* Allocates the ring into which kernels write their stamps. */
static int open_stamps(struct spin *spin, struct error *err)
{
        void *ring;
        int rc = CHECK(
                cuMemHostAlloc(&ring, SPIN_RING * sizeof(*spin->stamp), CU_MEMHOSTALLOC_DEVICEMAP),
                err);

        if (rc < 0)
                return rc;
        memset(ring, 0, SPIN_RING * sizeof(*spin->stamp));
        spin->stamp = ring;
        return CHECK(cuMemHostGetDevicePointer_v2(&spin->stamps, ring, 0), err);
}

static int open_count(struct spin *spin, struct error *err)
{
        int rc = CHECK(cuMemAlloc_v2(&spin->count, sizeof(uint32_t)), err);

        return rc == 0 ? CHECK(cuMemsetD32_v2(spin->count, 0, 1), err) : rc;
}

static int open_real(struct spin *spin, struct error *err)
{
        CUmodule module;
        int rc;

        spin->judge = LOAD_JUDGE_STAMPS;
        rc = CHECK(cuModuleLoadData(&module, spin_ptx), err);
        if (rc == 0)
                rc = CHECK(cuModuleGetFunction(&spin->function, module, PTX_KERNEL), err);
        if (rc == 0)
                rc = open_stamps(spin, err);
        if (rc == 0)
                rc = open_count(spin, err);
        spin->params[1] = &spin->stamps;
        spin->params[2] = &spin->count;
        return rc;
}

int spin_open(struct spin *spin, uint64_t ns, struct error *err)
{
        int rc;

        *spin = (struct spin){ .ns = ns, .params = { &spin->ns } };
        rc = CHECK(cuDeviceGetUuid(&spin->uuid, 0), err);
        if (rc < 0)
                return rc;
        spin->engine = driver_find_busy();
        return spin->engine ? open_simulated(spin, err) : open_real(spin, err);
}

/* Adds the intervals of new stamps to busy_ns. The stamps are roughly in the order of their ends,
 * so overlapping intervals count once. If the kernels are a whole ring ahead, older stamps are
 * lost: -EOVERFLOW. */
static int read_stamps(struct spin *spin, struct error *err)
{
        for (;;) {
                struct spin_stamp *stamp = &spin->stamp[spin->next % SPIN_RING];
                uint64_t end_ns = load_acquire(&stamp->end_ns), begin_ns = stamp->begin_ns;

                if (!end_ns)
                        return 0;
                if (stamp->number != spin->next)
                        return fail(err, -EOVERFLOW,
                                    "more than %d kernels ended between two looks at their times",
                                    SPIN_RING);
                if (begin_ns < spin->until_ns)
                        begin_ns = spin->until_ns;
                if (end_ns > begin_ns) {
                        spin->busy_ns += end_ns - begin_ns;
                        spin->until_ns = end_ns;
                }
                store_release(&stamp->end_ns, 0);
                spin->next++;
        }
}

int spin_busy_ns(struct spin *spin, uint64_t *ret, struct error *err)
{
        int rc = spin->engine ? 0 : read_stamps(spin, err);

        *ret = spin->engine ? spin->engine((const unsigned char *)&spin->uuid) : spin->busy_ns;
        return rc;
}
