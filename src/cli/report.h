/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the findings of `aliquot doctor` in order: prints each at once as text, or all as one
 * JSON array.
 */
#ifndef ALIQUOT_CLI_REPORT_H
#define ALIQUOT_CLI_REPORT_H

#include <stdbool.h>

#include "common/json_out.h"

enum verdict {
        VERDICT_GOOD,
        VERDICT_NOTE, /* worth knowing, but nothing to repair */
        VERDICT_BAD,  /* programs would not be limited, or would not run */
};

struct report {
        bool is_json;
        bool has_bad;
        struct json_out out;
};

void report_begin(struct report *report, bool is_json);
void report_add(struct report *report, enum verdict verdict, const char *about, const char *format,
                ...) __attribute__((format(printf, 4, 5)));
int report_end(struct report *report);

#endif
