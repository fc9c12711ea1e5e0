/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/views.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/findings.h"
#include "cli/presence.h"
#include "cli/ranks.h"
#include "cli/remote.h"
#include "cli/show_json.h"
#include "common/atomic.h"
#include "common/sums.h"
#include "common/text.h"
#include "common/uuid.h"
#include "settings/resolve.h"

uint64_t views_limit_bytes(const struct store_session *session, unsigned row)
{
        return settings_told_bytes(
                load_acquire(shared_word(&session->limits->device[row].limit_bytes)));
}

uint64_t views_host_bytes(const struct store_session *session)
{
        int row = page_host_row(session->limits);

        return row < 0 ? 0 : views_limit_bytes(session, (unsigned)row);
}

uint64_t views_default_bytes(const struct store_session *session)
{
        return settings_told_bytes(
                load_acquire(shared_word(&session->limits->default_limit_bytes)));
}

void views_limit(struct json_out *out, const char *key, uint64_t bytes)
{
        if (bytes == PAGE_UNLIMITED)
                json_out_null(out, key);
        else
                json_out_u64(out, key, bytes);
}

const char *views_uuid(const struct store_session *session, unsigned row, char ret[])
{
        uint8_t uuid[16];

        memcpy(uuid, session->limits->device[row].uuid, sizeof(uuid));
        return uuid_format(uuid, false, ret);
}

struct client_share views_row(const struct store_session *session, unsigned row)
{
        const struct limits_device *device = &session->limits->device[row];
        struct client_share share = { .memory_bytes = views_limit_bytes(session, row),
                                      .card_bytes = device->card_bytes,
                                      .cap_ppm = page_cap_ppm(session->limits, device) };

        views_uuid(session, row, share.uuid);
        return share;
}

/* Prints a percentage; null if it is `usual_ppm`. */
static void put_percent(struct json_out *out, const char *key, uint32_t ppm, uint32_t usual_ppm)
{
        if (ppm == usual_ppm)
                json_out_null(out, key);
        else
                json_out_percent(out, key, ppm);
}

void views_share(struct json_out *out, const struct client_share *share)
{
        json_out_text(out, "uuid", share->uuid);
        views_limit(out, "memory_bytes", share->memory_bytes);
        put_percent(out, "compute_percent", share->cap_ppm, PAGE_WHOLE_PPM);
        put_percent(out, "guarantee_percent", share->guarantee_ppm, 0);
}

void views_process(struct json_out *out, const char *session, const struct client_process *process)
{
        json_out_open(out, NULL, '{');
        json_out_text(out, "session", session);
        if (process->pid)
                json_out_u64(out, "pid", process->pid);
        else
                json_out_null(out, "pid");
        json_out_u64(out, "uid", process->uid);
        json_out_text(out, "command", process->command);
        if (process->cgroup[0])
                json_out_text(out, "cgroup", process->cgroup);
        else
                json_out_null(out, "cgroup");
        json_out_open(out, "devices", '[');
        for (unsigned i = 0; i < process->share_count; i++) {
                json_out_open(out, NULL, '{');
                json_out_text(out, "uuid", process->share[i].uuid);
                json_out_u64(out, "bytes", process->share[i].used_bytes);
                json_out_close(out, '}');
        }
        json_out_close(out, ']');
        json_out_close(out, '}');
}

const char *views_remainder(const struct store_session *session, const struct usage *usage,
                            unsigned row)
{
        if (!usage->holders[row] || session->limits->flags & PAGE_CONTEXT_FREE)
                return NULL;
        return usage->measured[row] == usage->holders[row] ? "measured" : "estimated";
}

struct client_process views_seen_process(const struct store_session *session,
                                         const struct usage_process *process)
{
        struct client_process seen = { .pid = process->local_pid, .uid = process->uid };

        text_put(seen.command, sizeof(seen.command), NULL, "%s", process->command);
        if (seen.pid)
                usage_cgroup(seen.pid, seen.cgroup);
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                struct client_share *share = &seen.share[seen.share_count];

                if (!usage_has_row(session, i))
                        continue;
                views_uuid(session, i, share->uuid);
                share->used_bytes = process->bytes[i];
                seen.share_count++;
        }
        return seen;
}

static void print_rows(const struct store_session *session, const struct usage *usage,
                       struct table *table)
{
        char uuid[UUID_TEXT_BYTES];

        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                const struct limits_device *device = &session->limits->device[i];

                if (!usage_has_row(session, i))
                        continue;
                table_cell(table, "%s", views_uuid(session, i, uuid));
                table_bytes(table, views_limit_bytes(session, i));
                table_bytes(table, usage->used_bytes[i]);
                table_bytes(table, device->card_bytes);
        }
        table_print(table);
}

static const char *cap_text(uint32_t cap_ppm, char ret[SIZE_TEXT_BYTES])
{
        return size_canonical(&(struct size){ 0, cap_ppm * MICRO_PERCENT_A_PPM }, ret);
}

/* Prints weight, class, gang and guarantee if they are not the defaults. */
static void print_rank(const struct client_session *terms)
{
        uint32_t guarantee_ppm = terms->share_count ? terms->share[0].guarantee_ppm : 0;
        char percent[SIZE_TEXT_BYTES];

        if (guarantee_ppm)
                printf("guarantee  %s\n", cap_text(guarantee_ppm, percent));
        if (terms->weight && terms->weight != RANK_USUAL_WEIGHT)
                printf("weight     %u\n", terms->weight);
        if (terms->priority[0] && strcmp(terms->priority, "normal") != 0)
                printf("priority   %s\n", terms->priority);
        if (terms->gang[0])
                printf("gang       %s\n", terms->gang);
}

/* Prints further fields from the daemon that created the session. */
static void print_terms(const struct client_session *terms)
{
        char label[sizeof(terms->label[0])];

        if (strcmp(terms->state, "open") != 0)
                printf("state      %s, with %s\n", terms->state, terms->on_end);
        else if (terms->expires_at[0])
                printf("ends       %s, then %s\n", terms->expires_at, terms->on_end);
        print_rank(terms);
        findings_print(terms);
        for (unsigned i = 0; i < terms->label_count; i++) {
                snprintf(label, sizeof(label), "%s", terms->label[i]);
                text_hide(label);
                printf("label      %s\n", label);
        }
}

static uint32_t cap_ppm_of(const struct store_session *session, unsigned row)
{
        return page_cap_ppm(session->limits, &session->limits->device[row]);
}

static void print_caps(const struct store_session *session)
{
        char uuid[UUID_TEXT_BYTES], cap[SIZE_TEXT_BYTES];

        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                if (usage_has_row(session, i) && cap_ppm_of(session, i) != PAGE_WHOLE_PPM)
                        printf("compute    at most %s of %s\n",
                               cap_text(cap_ppm_of(session, i), cap), views_uuid(session, i, uuid));
        }
}

static void print_remainders(const struct store_session *session, const struct usage *usage)
{
        char uuid[UUID_TEXT_BYTES];

        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                const char *known = views_remainder(session, usage, i);
                char some[64] = "";

                if (!usage_has_row(session, i) || !known)
                        continue;
                if (usage->measured[i] && usage->measured[i] < usage->holders[i])
                        snprintf(some, sizeof(some), " for %u of %u processes",
                                 usage->holders[i] - usage->measured[i], usage->holders[i]);
                printf("driver     extra memory %s%s on %s\n", known, some,
                       views_uuid(session, i, uuid));
        }
}

/* Without a daemon, uses the session's row: a session that swaps has one GPU, and only one row in
 * use. */
bool views_swap(const struct store_session *session, const struct usage *usage,
                const struct client_session *terms, struct client_swap *ret)
{
        if (terms) {
                *ret = terms->swap;
                return terms->swaps;
        }
        if (!(session->limits->flags & PAGE_SWAPS))
                return false;
        *ret = (struct client_swap){
                .resident_bytes = difference_of(usage->total_bytes, usage->host_bytes),
                .out_bytes = usage->host_bytes,
                .pinned_bytes = difference_of(usage->total_bytes, usage->swap_bytes),
        };
        return true;
}

static void print_swap(const struct client_swap *swap)
{
        char resident[SIZE_TEXT_BYTES], out[SIZE_TEXT_BYTES];
        char now[DURATION_TEXT_BYTES], all[DURATION_TEXT_BYTES];

        printf("swap       %s on the card, %s in the host",
               size_format(swap->resident_bytes, resident), size_format(swap->out_bytes, out));
        if (swap->state[0])
                printf("; %s%s%s; %" PRIu64 " hold%s, %s in all", swap->state,
                       swap->hold_ns ? " for " : "",
                       swap->hold_ns ? duration_format(swap->hold_ns, now) : "", swap->holds,
                       swap->holds == 1 ? "" : "s", duration_format(swap->held_ns, all));
        if (swap->rules.mode[0] && strcmp(swap->rules.mode, "auto") != 0)
                printf("; %s mode", swap->rules.mode);
        if (swap->rules.turn_ns)
                printf("; turns of %g s", (double)swap->rules.turn_ns / 1e9);
        putchar('\n');
}

static void print_host(uint64_t limit_bytes, uint64_t used_bytes)
{
        char used[SIZE_TEXT_BYTES], limit[SIZE_TEXT_BYTES];

        if (limit_bytes)
                printf("host       %s used of %s, in place of the cards' memory\n",
                       size_format(used_bytes, used), size_format(limit_bytes, limit));
}

static void print_people(const struct store_session *session, const struct usage *usage,
                         const struct client_session *terms)
{
        const struct limits_page *page = session->limits;
        struct table table = { .titles = VIEWS_TITLES };
        char made[SETTINGS_CANONICAL_BYTES];
        struct client_swap swap;

        printf("session    %s\n", page->name);
        printf("created    with %s\n", settings_shown(page->created_as, made, sizeof(made)));
        printf("folder     %s\n", session->path);
        printf("processes  %u\n", usage->count);
        if (page->device_name[0])
                printf("card name  %s\n", page->device_name);
        if (page->flags & PAGE_CONTEXT_FREE)
                printf("contexts   not charged\n");
        if (views_swap(session, usage, terms, &swap))
                print_swap(&swap);
        else
                print_host(views_host_bytes(session), usage->host_bytes);
        print_caps(session);
        print_remainders(session, usage);
        if (terms)
                print_terms(terms);
        putchar('\n');
        print_rows(session, usage, &table);
}

static int show_pages(const struct store *store, const struct store_session *session, bool is_json,
                      struct error *err)
{
        static struct client_session terms;
        const struct client_session *said = NULL;
        struct usage usage;
        int rc = usage_read(session, &usage, err);

        if (rc < 0)
                return rc;
        /* The session can be shown without the daemon, so a silent daemon is not waited for a
         * second time. */
        if (session->limits->owner == PAGE_OWNER_DAEMON &&
            presence_look(store) == PRESENCE_LISTENS &&
            client_show(store, session->limits->name, &terms, NULL) == 0)
                said = &terms;
        if (!is_json && !said && session->limits->owner == PAGE_OWNER_DAEMON)
                remote_tell_silence(store);
        if (!is_json)
                print_people(session, &usage, said);
        else if (show_json(&(struct seen){ session, &usage, said }) < 0)
                rc = fail(err, -EIO, "standard output: %m");
        usage_free(&usage);
        return rc;
}

/* -- A session whose pages belong to another user, or are closed ------------------------------ */

static void print_shares(const struct client_session *terms, struct table *table)
{
        for (unsigned i = 0; i < terms->share_count; i++) {
                table_cell(table, "%s", terms->share[i].uuid);
                table_bytes(table, terms->share[i].memory_bytes);
                table_bytes(table, terms->share[i].used_bytes);
                if (terms->share[i].card_bytes)
                        table_bytes(table, terms->share[i].card_bytes);
                else
                        table_cell(table, "?"); /* its GPU is not present */
        }
        table_print(table);
}

static int show_foreign(const struct client_session *terms, bool is_json, struct error *err)
{
        struct table table = { .titles = VIEWS_TITLES };

        if (is_json)
                return show_json(&(struct seen){ .terms = terms }) < 0
                               ? fail(err, -EIO, "standard output: %m")
                               : 0;
        printf("session    %s\n", terms->name);
        printf("user       %u\n", terms->owner);
        printf("processes  %u\n", terms->processes);
        if (terms->is_context_free)
                printf("contexts   not charged\n");
        if (terms->swaps)
                print_swap(&terms->swap);
        else
                print_host(terms->host_bytes, terms->host_used_bytes);
        print_terms(terms);
        putchar('\n');
        print_shares(terms, &table);
        return 0;
}

/* Opens the pages of a session. Returns 0, or 1 if they are closed to this user and the daemon has
 * reported the session instead. */
static int find_session(const struct store *store, const char *name, struct store_session *ret,
                        struct client_session *ret_terms, struct error *err)
{
        int rc = store_join(store, name, false, ret, err);
        int asked;

        /* a daemon may know a session whose folder was removed */
        if (!remote_can_tell(store, rc == -ENOENT ? -EACCES : rc))
                return rc;
        asked = client_show(store, name, ret_terms, rc == -ENOENT ? err : NULL);
        /* for another user's session the daemon answers that it does not exist */
        return asked == 0 ? 1 : asked == -ENOENT ? asked : rc;
}

int views_named(const struct store *store, const char *name, bool is_json, struct error *err)
{
        static struct client_session terms;
        struct store_session session;
        int rc = find_session(store, name, &session, &terms, err);

        if (rc > 0)
                return show_foreign(&terms, is_json, err);
        if (rc == 0) {
                rc = show_pages(store, &session, is_json, err);
                store_close(&session);
        }
        return rc;
}

int views_rows(const struct store *store, const char *name, struct table *table, struct error *err)
{
        static struct client_session terms;
        struct store_session session;
        struct usage usage;
        int rc = find_session(store, name, &session, &terms, err);

        if (rc > 0)
                print_shares(&terms, table);
        if (rc != 0)
                return rc < 0 ? rc : 0;
        rc = usage_read(&session, &usage, err);
        if (rc == 0) {
                print_rows(&session, &usage, table);
                usage_free(&usage);
        }
        store_close(&session);
        return rc;
}
