/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See memory_stage.h.
 */
#include "memory_stage.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char state_dir[64];
static struct oracle *oracle;

void stage_open(const char *spec, const char *tag)
{
        char text[512];

        strcpy(state_dir, "/tmp/aliquot-sim-test-XXXXXX");
        assert_non_null(mkdtemp(state_dir));
        snprintf(text, sizeof(text), "state=%s,%s", state_dir, spec);
        setenv("ALIQUOT_SIM", text, 1);
        setenv("ALIQUOT_SESSION", tag, 1);
        unsetenv("CUDA_VISIBLE_DEVICES");
}

int stage_close(void **state)
{
        DIR *folder = opendir(state_dir);

        oracle_close(oracle);
        oracle = NULL;
        for (struct dirent *entry; folder && (entry = readdir(folder));) {
                if (entry->d_name[0] != '.')
                        unlinkat(dirfd(folder), entry->d_name, 0);
        }
        if (folder)
                closedir(folder);
        rmdir(state_dir);
        return 0;
}

const char *stage_dir(void)
{
        return state_dir;
}

CUcontext stage_context(void)
{
        CUcontext context;

        assert_ok(cuInit(0));
        assert_ok(cuCtxCreate_v2(&context, 0, 0));
        return context;
}

static struct oracle *the_oracle(void)
{
        if (!oracle)
                oracle = oracle_open(state_dir);
        assert_non_null(oracle);
        return oracle;
}

uint64_t stage_granted(unsigned device, enum family family)
{
        struct oracle_figures figures;
        uint64_t families[FAMILY_COUNT];

        assert_true(oracle_process(the_oracle(), getpid(), device, &figures, families));
        return families[family];
}

uint64_t stage_tag_current(const char *tag, unsigned device)
{
        struct oracle_figures figures;

        oracle_tag(the_oracle(), tag, device, &figures);
        return figures.current_bytes;
}

uint64_t stage_tag_high(const char *tag, unsigned device)
{
        struct oracle_figures figures;

        oracle_tag(the_oracle(), tag, device, &figures);
        return figures.high_bytes;
}

uint64_t stage_device_current(unsigned device)
{
        struct oracle_figures figures;

        oracle_device(the_oracle(), device, &figures);
        return figures.current_bytes;
}

uint64_t stage_device_settles(unsigned device, uint64_t expected_bytes)
{
        for (unsigned i = 0; i < 10000; i++) {
                if (stage_device_current(device) == expected_bytes)
                        break;
                nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        }
        return stage_device_current(device);
}
