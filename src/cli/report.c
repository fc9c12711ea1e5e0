/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/scoped.h"
#include "common/text.h"

static const char *const words[] = {
        [VERDICT_GOOD] = "ok",
        [VERDICT_NOTE] = "note",
        [VERDICT_BAD] = "BAD",
};

static const char *const json_words[] = {
        [VERDICT_GOOD] = "ok",
        [VERDICT_NOTE] = "note",
        [VERDICT_BAD] = "bad",
};

void report_begin(struct report *report, bool is_json)
{
        *report = (struct report){ .is_json = is_json, .out.stream = stdout };
        if (is_json)
                json_out_open(&report->out, NULL, '[');
}

void report_add(struct report *report, enum verdict verdict, const char *about, const char *format,
                ...)
{
        scoped_free char *text = NULL;
        va_list args;

        va_start(args, format);
        if (vasprintf(&text, format, args) < 0)
                text = NULL;
        va_end(args);
        if (!text)
                return;
        report->has_bad |= verdict == VERDICT_BAD;
        if (!report->is_json) {
                text_hide(text); /* names and paths may be chosen by the examined process */
                printf("%-4s  %-12s  %s\n", words[verdict], about, text);
                return;
        }
        json_out_open(&report->out, NULL, '{');
        json_out_text(&report->out, "about", about);
        json_out_text(&report->out, "verdict", json_words[verdict]);
        json_out_text(&report->out, "text", text);
        json_out_close(&report->out, '}');
}

int report_end(struct report *report)
{
        if (!report->is_json)
                return 0;
        json_out_close(&report->out, ']');
        return json_out_end(&report->out);
}
