/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any lines as an environment, met by a machine of four GPUs: refused with one line, or understood
 * to the same canonical text when that is read again; and no GPU ends with a limit of zero or
 * above its card.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "settings/resolve.h"
#include "settings/settings.h"

#define VARIABLES 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int is_true)
{
        if (!is_true)
                abort();
}

static struct settings_gpus machine(void)
{
        struct settings_gpus gpus = { .count = 4 };

        for (int i = 0; i < 4; i++) {
                memset(gpus.gpu[i].uuid, 0x30 + i, 16);
                gpus.gpu[i].card_bytes = UINT64_C(16) << 30;
        }
        gpus.gpu[3].is_instance = true;
        return gpus;
}

static void meet(const struct settings *settings)
{
        struct settings_gpus gpus = machine();
        struct settings_selection picked;
        struct settings_limits limits;

        if (settings->gpu[0] && settings_select(settings->gpu, &gpus, &picked, NULL) == 0)
                must(picked.count >= 1 && picked.count <= 4);
        if (settings_resolve(settings, &gpus, &limits, NULL) < 0)
                return;
        must(limits.count == 4);
        for (unsigned i = 0; i < limits.count; i++) {
                uint64_t bytes = limits.device[i].limit_bytes;

                must(bytes && (bytes == PAGE_UNLIMITED || bytes <= gpus.gpu[i].card_bytes));
        }
}

/* What was asked, said in our own words, is the same wish. */
static void read_back(const struct settings *settings, const char *canonical)
{
        char memory[SETTINGS_CANONICAL_BYTES + 32];
        char compute[SETTINGS_CANONICAL_BYTES + 32];
        char host[SETTINGS_CANONICAL_BYTES + 32];
        char again[SETTINGS_CANONICAL_BYTES];
        char *environment[] = { memory, compute, host, NULL };
        const char *cap = strstr(canonical, ";compute=");
        struct settings parsed;

        if (!settings->memory.count || settings->device_name[0] || settings->is_context_free)
                return;
        snprintf(memory, sizeof(memory), "ALIQUOT_MEMORY=%.*s",
                 (int)strcspn(canonical + strlen("memory="), ";"), canonical + strlen("memory="));
        snprintf(compute, sizeof(compute), "ALIQUOT_COMPUTE=%.*s",
                 cap ? (int)strcspn(cap + strlen(";compute="), ";") : 4,
                 cap ? cap + strlen(";compute=") : "none");
        if (settings->host_bytes == SETTINGS_HOST_SPARE)
                snprintf(host, sizeof(host), "ALIQUOT_OVERSUBSCRIBE=yes");
        else
                snprintf(host, sizeof(host), "ALIQUOT_OVERSUBSCRIBE=%lluB",
                         (unsigned long long)settings->host_bytes);
        if (!settings->host_bytes)
                environment[2] = NULL;
        must(settings_read(&parsed, environment, NULL) == 0);
        must(settings_canonical(&parsed, again, NULL) == 0);
        must(strcmp(again, canonical) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = malloc(size + 1);
        char *environment[VARIABLES + 1] = { NULL };
        char canonical[SETTINGS_CANONICAL_BYTES], name[PAGE_NAME_BYTES];
        struct settings settings;
        struct error err = { 0 };
        unsigned count = 0;

        memcpy(text, data, size);
        text[size] = '\0';
        for (char *line = strtok(text, "\n"); line && count < VARIABLES; line = strtok(NULL, "\n"))
                environment[count++] = line;
        if (settings_read(&settings, environment, &err) < 0) {
                must(err.code < 0 && err.text[0] && !strchr(err.text, '\n'));
        } else if (settings_canonical(&settings, canonical, NULL) == 0) {
                must(settings_name(&settings, 1000, name, NULL) == 0);
                must(settings_check_name("", name, NULL) == 0);
                meet(&settings);
                read_back(&settings, canonical);
        }
        free(text);
        return 0;
}
