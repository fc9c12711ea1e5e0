/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include "common/clock.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMAGE_BYTES 65536

struct driver driver;

void must(CUresult rc, const char *what)
{
        if (rc == CUDA_SUCCESS)
                return;
        fprintf(stderr, "%s: error %d\n", what, (int)rc);
        exit(1);
}

/* Asked of the object that the driver's code lies in: what dlopen() gave may be who stands before.
 */
static void follow_its_clock(void)
{
        time_authority_find *find = NULL;
        void *object = NULL;
        Dl_info info;

        if (dladdr1((void *)driver.get_device, &info, &object, RTLD_DL_LINKMAP) && object)
                *(void **)&find = dlsym(object, TIME_AUTHORITY_SYMBOL);
        if (find)
                clock_follow(find(TIME_AUTHORITY_VERSION));
}

void driver_open(void)
{
#define DRIVER_ROW(member, name) { #name, &driver.member },
        static const struct {
                const char *name;
                void *slot;
        } wanted[] = { DRIVER_CALLS(DRIVER_ROW) };
        void *library = dlopen("libcuda.so.1", RTLD_NOW);

        if (!library) {
                fprintf(stderr, "%s\n", dlerror());
                exit(1);
        }
        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
                void *found = dlsym(library, wanted[i].name);

                if (!found) {
                        fprintf(stderr, "the driver has no %s\n", wanted[i].name);
                        exit(1);
                }
                memcpy(wanted[i].slot, &found, sizeof(found));
        }
        follow_its_clock();
}

void driver_ready(void)
{
        CUcontext context;

        driver_open();
        must(driver.init(0), "cuInit");
        must(driver.retain(&context, 0), "cuDevicePrimaryCtxRetain");
        must(driver.set_current(context), "cuCtxSetCurrent");
}

CUmodule driver_module(const char *path)
{
        static char image[IMAGE_BYTES];
        FILE *file = fopen(path, "re");
        CUmodule module;
        size_t size;

        if (!file) {
                perror(path);
                exit(1);
        }
        size = fread(image, 1, sizeof(image) - 1, file);
        image[size] = '\0';
        fclose(file);
        must(driver.load(&module, image), "cuModuleLoadData");
        return module;
}
