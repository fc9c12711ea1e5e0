/* SPDX-License-Identifier: Apache-2.0 */
#include "exec_stage.h"

#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

#include "common/time_authority.h"

struct stage stage;
bool stage_is_tenant;

void stage_ok(CUresult result, const char *call, const char *file, int line)
{
        if (result == CUDA_SUCCESS)
                return;
        print_error("%s answered %d\n", call, (int)result);
        if (stage_is_tenant)
                _exit(1);
        _fail(file, line);
}

static char folder[] = "/tmp/aliquot-sim-exec-XXXXXX";

const char *stage_folder(void)
{
        assert_non_null(mkdtemp(folder));
        return folder;
}

void stage_join(const char *extra)
{
        char text[512];

        snprintf(text, sizeof(text), "gpus=2,memory=1GiB,model=h200,state=%s%s", folder, extra);
        setenv("ALIQUOT_SIM", text, 1);
        unsetenv("CUDA_VISIBLE_DEVICES");
        ok(cuInit(0));
        ok(cuDevicePrimaryCtxRetain(&stage.context, 0));
        ok(cuCtxSetCurrent(stage.context));
        ok(cuModuleLoadData(&stage.module, "aliquot-sim builtin"));
        ok(cuModuleGetFunction(&stage.spin, stage.module, "spin_ns"));
        ok(cuModuleGetFunction(&stage.fill, stage.module, "fill_u32"));
        ok(cuModuleGetFunction(&stage.add, stage.module, "add_u32"));
        ok(cuModuleGetFunction(&stage.copy, stage.module, "copy_u32"));
        ok(cuModuleGetFunction(&stage.checksum, stage.module, "checksum_u32"));
}

void stage_open(const char *extra)
{
        stage_folder();
        stage_join(extra);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
        (void)st;
        (void)type;
        (void)at;
        return remove(path);
}

int stage_open_usual(void **state)
{
        stage_open(",clock=virtual");
        return 0;
}

int stage_close(void **state)
{
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        return 0;
}

time_authority_find aliquot_sim_time_authority;

uint64_t stage_now_ns(void)
{
        return aliquot_sim_time_authority(TIME_AUTHORITY_VERSION)->now_ns();
}

void stage_fill(CUstream stream, CUdeviceptr to, uint32_t value, uint64_t count)
{
        void *params[] = { &to, &value, &count };

        ok(cuLaunchKernel(stage.fill, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
}

void stage_spin(CUstream stream, uint64_t ns)
{
        void *params[] = { &ns };

        ok(cuLaunchKernel(stage.spin, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

CUdeviceptr stage_alloc(size_t bytes)
{
        CUdeviceptr address;

        ok(cuMemAlloc_v2(&address, bytes));
        return address;
}

uint32_t stage_word(CUdeviceptr from, uint64_t index)
{
        uint32_t word;

        ok(cuMemcpyDtoH_v2(&word, from + index * sizeof(word), sizeof(word)));
        return word;
}
