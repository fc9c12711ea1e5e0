/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the daemon's config: each mistake is a whole line of the report, and what is
 * accepted is printed as a file that reads back to the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/address.h"
#include "daemon/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int is_true)
{
        if (!is_true)
                abort();
}

static void read_back(const struct config *config)
{
        static char text[CONFIG_FILE_MAX];
        static struct config again;
        struct config_report report = { 0 };
        FILE *stream = fmemopen(text, sizeof(text), "w");

        must(stream != NULL);
        config_print(stream, config);
        must(fclose(stream) == 0);
        config_init(&again);
        must(config_read_text(&again, "again", text, strlen(text), &report) == 0);
        must(memcmp(&again, config, offsetof(struct config, places)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct config config;
        struct config_report report = { 0 };
        struct address address;
        size_t length;
        int rc;

        if (size > CONFIG_FILE_MAX)
                return 0;
        config_init(&config);
        rc = config_read_text(&config, "a.conf", (const char *)data, size, &report);
        length = strlen(report.text);
        must((rc < 0) == (report.count > 0));
        must(!length || report.text[length - 1] == '\n');
        if (rc < 0)
                return 0;
        must(!config.http_address[0] || address_parse(config.http_address, &address, NULL) == 0);
        must(config.socket_mode <= 0777 && config.policy.ratio_percent >= 100);
        config_check(&config, &report);
        read_back(&config);
        return 0;
}
