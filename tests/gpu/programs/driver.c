/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include "load/loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMAGE_BYTES 65536
#define LINE_BYTES 4352 /* of a path, and more */

struct driver driver;

void must(CUresult rc, const char *what)
{
        if (rc == CUDA_SUCCESS)
                return;
        fprintf(stderr, "%s: error %d\n", what, (int)rc);
        exit(1);
}

void driver_open(void)
{
#define DRIVER_ROW(member, name) { #name, &driver.member },
        static const struct loader_row wanted[] = { DRIVER_CALLS(DRIVER_ROW) };
        struct error err;

        if (loader_open(wanted, sizeof(wanted) / sizeof(wanted[0]), &err) == 0)
                return;
        fprintf(stderr, "%s\n", err.text);
        exit(1);
}

const char *driver_is_with_us(void)
{
        static const char page[] = "/slots\n";
        const char *found = "false";
        char line[LINE_BYTES];
        FILE *maps = fopen("/proc/self/maps", "re");

        while (maps && fgets(line, sizeof(line), maps)) {
                size_t length = strlen(line);

                if (length >= strlen(page) && strcmp(line + length - strlen(page), page) == 0)
                        found = "true";
        }
        if (maps)
                fclose(maps);
        return found;
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
