/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/base/container.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/text.h"

#define ID_DIGITS 64u
#define JOB_DIGITS 10u
/* name of the folder below which a plain id is that of a pod, not of a container */
#define PODMAN_PODS "libpod_parent"

/* A part of a text. */
struct slice {
        const char *at;
        size_t bytes;
};

static bool is_text(struct slice slice, const char *text)
{
        return slice.bytes == strlen(text) && memcmp(slice.at, text, slice.bytes) == 0;
}

static bool begins(struct slice slice, const char *text)
{
        return slice.bytes >= strlen(text) && memcmp(slice.at, text, strlen(text)) == 0;
}

static struct slice without(struct slice slice, size_t first, size_t last)
{
        return (struct slice){ slice.at + first, slice.bytes - first - last };
}

static bool is_hex(char c)
{
        return text_is_digit(c) || (c >= 'a' && c <= 'f');
}

/* -- One component of a path ------------------------------------------------------------------ */

static bool is_id(struct slice slice)
{
        size_t digits = 0;

        while (digits < slice.bytes && is_hex(slice.at[digits]))
                digits++;
        return slice.bytes == ID_DIGITS && digits == ID_DIGITS;
}

/* Whether the component is the name of an engine followed by an id. Other units of an engine have
 * other names: `libpod-conmon-` is not in the list. */
static bool is_engines(struct slice component, struct slice *ret_id)
{
        static const char *const stems[] = { "libpod-payload-", "libpod-", "docker-",
                                             "cri-containerd-", "crio-",   "nerdctl-" };
        static const char scope[] = ".scope";
        const size_t suffix = sizeof(scope) - 1;
        struct slice rest = component;

        if (rest.bytes > suffix && memcmp(rest.at + rest.bytes - suffix, scope, suffix) == 0)
                rest.bytes -= suffix;
        for (size_t i = 0; i < sizeof(stems) / sizeof(stems[0]); i++) {
                if (!begins(rest, stems[i]) || !is_id(without(rest, strlen(stems[i]), 0)))
                        continue;
                *ret_id = without(rest, strlen(stems[i]), 0);
                return true;
        }
        return false;
}

/* Whether the component is like "kubepods-burstable-pod....slice:cri-containerd:<id>". */
static bool is_colons(struct slice component, struct slice *ret_id)
{
        static const char middle[] = ".slice:cri-containerd:";
        const size_t length = sizeof(middle) - 1;
        struct slice id;

        if (component.bytes <= length + ID_DIGITS)
                return false;
        id = without(component, component.bytes - ID_DIGITS, 0);
        if (memcmp(id.at - length, middle, length) != 0 || !is_id(id))
                return false;
        *ret_id = id;
        return true;
}

/* Whether the component is a job of Slurm. It counts only if a step of the job follows it. */
static bool is_job(struct slice component, struct slice before, struct slice below)
{
        static const char stem[] = "job_";
        const size_t length = sizeof(stem) - 1;
        size_t digits = 0;

        if (!begins(component, stem) || !begins(below, "/step_") || !before.bytes ||
            !memmem(before.at, before.bytes, "slurm", 5))
                return false;
        while (length + digits < component.bytes && text_is_digit(component.at[length + digits]))
                digits++;
        return digits && digits <= JOB_DIGITS && length + digits == component.bytes;
}

/* -- A path ----------------------------------------------------------------------------------- */

/* Returns the component that begins at index `at` of the path. */
static struct slice component_at(struct slice path, size_t at)
{
        const char *slash = memchr(path.at + at, '/', path.bytes - at);

        return (struct slice){ path.at + at,
                               slash ? (size_t)(slash - path.at) - at : path.bytes - at };
}

/* Whether the path has the kernel's form, and no component that leads up. */
static bool is_path(struct slice path)
{
        if (!path.bytes || path.at[0] != '/' || memchr(path.at, '\0', path.bytes))
                return false;
        for (size_t at = 1; at < path.bytes;) {
                const struct slice component = component_at(path, at);

                if (!component.bytes || is_text(component, ".") || is_text(component, ".."))
                        return false;
                at += component.bytes + 1;
        }
        return true;
}

/* Finds the outermost component that is a container's. *ret_path is the path up to its end. */
static bool find_container(struct slice path, struct slice *ret_id, struct slice *ret_path)
{
        struct slice parent = { path.at, 0 };

        for (size_t at = 1; at < path.bytes; at += parent.bytes + 1) {
                const struct slice component = component_at(path, at);
                const size_t end = at + component.bytes;
                const struct slice before = { path.at, at };

                *ret_id = component;
                *ret_path = (struct slice){ path.at, end };
                if ((is_id(component) && !is_text(parent, PODMAN_PODS)) ||
                    is_job(component, before, without(path, end, 0)) ||
                    is_engines(component, ret_id) || is_colons(component, ret_id))
                        return true;
                parent = component;
        }
        return false;
}

/* -- All lines -------------------------------------------------------------------------------- */

/* Splits a line such as "7:cpu,cpuacct:/docker/...". The path may have colons. */
static bool split_line(struct slice line, struct slice *ret_controllers, struct slice *ret_path)
{
        const char *first = memchr(line.at, ':', line.bytes);
        const char *second;

        if (!first)
                return false;
        second = memchr(first + 1, ':', line.bytes - (size_t)(first + 1 - line.at));
        if (!second)
                return false;
        *ret_controllers = (struct slice){ first + 1, (size_t)(second - first - 1) };
        *ret_path = without(line, (size_t)(second + 1 - line.at), 0);
        return is_path(*ret_path);
}

/* Adds a matching line; the line of version 2 becomes the first. */
static int add_line(struct container *ret, struct slice controllers, struct slice path,
                    struct error *err)
{
        unsigned at = ret->count;

        if (at == CONTAINER_LINES)
                return fail(err, -EPROTO, "more control groups than there are hierarchies");
        if (!controllers.bytes) {
                ret->line[at] = ret->line[0];
                at = 0;
        }
        ret->line[at] =
                (struct container_line){ controllers.at, controllers.bytes, path.at, path.bytes };
        ret->count++;
        return 0;
}

static int take_line(struct slice line, struct container *ret, struct error *err)
{
        struct slice controllers, path, own, id;

        if (!split_line(line, &controllers, &path))
                return fail(err, -EPROTO, "its control groups cannot be told from here");
        if (!find_container(path, &id, &own))
                return 0;
        if (ret->id[0] && !is_text(id, ret->id))
                return fail(err, -EPROTO, "its control groups name two containers, %s and %.*s",
                            ret->id, (int)id.bytes, id.at);
        memcpy(ret->id, id.at, id.bytes);
        return add_line(ret, controllers, own, err);
}

/* Takes the next line from the text; false at its end. */
static bool next_line(struct slice *text, struct slice *ret)
{
        const char *newline = text->bytes ? memchr(text->at, '\n', text->bytes) : NULL;

        *ret = (struct slice){ text->at, newline ? (size_t)(newline - text->at) : text->bytes };
        if (!text->bytes)
                return false;
        *text = without(*text, ret->bytes + (newline != NULL), 0);
        return true;
}

int container_read(const char *text, size_t bytes, struct container *ret, struct error *err)
{
        struct slice rest = { text, bytes }, line;
        struct container container = { 0 };

        while (next_line(&rest, &line)) {
                int rc = take_line(line, &container, err);

                if (rc < 0)
                        return rc;
        }
        if (!container.count)
                return fail(err, -ESRCH, "it is in no container that is known here");
        *ret = container;
        return 0;
}

bool container_may_exit(const char *text, size_t bytes)
{
        struct slice rest = { text, bytes }, line, controllers, path;
        bool is_any = false;

        while (next_line(&rest, &line)) {
                if (!split_line(line, &controllers, &path) || !controllers.bytes)
                        continue;
                if (path.bytes > 1)
                        return false;
                is_any = true;
        }
        return is_any;
}
