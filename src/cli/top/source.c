/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/source.h"

#include <errno.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/names.h"
#include "cli/options.h"
#include "cli/sweep.h"
#include "cli/top/source_devices.h"
#include "cli/top/source_time.h"
#include "cli/usage.h"
#include "common/atomic.h"
#include "common/text.h"

#define USERS 256u
#define USER_BYTES 33u

struct source_entry {
        char name[PAGE_NAME_BYTES];
        bool is_joined;
        bool is_gone;   /* it was removed after it was listed */
        bool is_ending; /* it is ending and cannot be joined */
        struct store_session session;
        struct maps_file slots;
        struct error broken;
        struct snapshot_process *process; /* owned */
        unsigned count;
};

/* used by one thread, for one read at a time */
static sigjmp_buf cut_short;
static volatile sig_atomic_t is_guarded;

static void on_bus_error(int signal)
{
        if (is_guarded)
                siglongjmp(cut_short, 1);
        sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
}

/* Returns a user's name. Each is looked up only once, because a directory service may be slow; the
 * text stays valid. */
static const char *user_name(uint32_t uid)
{
        static struct {
                uint32_t uid;
                char name[USER_BYTES];
        } known[USERS];
        static unsigned count;
        const struct passwd *entry;
        unsigned at = 0;

        while (at < count && known[at].uid != uid)
                at++;
        if (at < count)
                return known[at].name;
        if (count == USERS)
                return "?";
        entry = getpwuid(uid);
        known[at].uid = uid;
        if (entry && text_is_plain(entry->pw_name))
                snprintf(known[at].name, USER_BYTES, "%s", entry->pw_name);
        else
                snprintf(known[at].name, USER_BYTES, "%u", uid);
        count++;
        return known[at].name;
}

static bool is_same_process(const struct usage_process *a, const struct usage_process *b)
{
        return a->slot == b->slot && a->pid == b->pid && a->start_ticks == b->start_ticks &&
               a->pid_ns_inode == b->pid_ns_inode && a->uid == b->uid;
}

/* Returns whether the process was in the last snapshot, and copies its pid and user from there. If
 * not, they are still to be found. Both lists are in the order of slots. */
static bool is_named(const struct source_entry *entry, unsigned *at,
                     struct snapshot_process *process)
{
        while (*at < entry->count && entry->process[*at].said.slot < process->said.slot)
                ++*at;
        if (*at < entry->count && is_same_process(&entry->process[*at].said, &process->said)) {
                process->pid = entry->process[*at].pid;
                process->user = entry->process[*at].user;
                return true;
        }
        return false;
}

/* Finds the pids and users of processes. Those in other PID namespaces are searched for in /proc,
 * all in one pass. */
static void name_processes(const struct source_entry *entry, struct snapshot_process *process,
                           struct usage_process *said, unsigned count)
{
        unsigned before = 0;
        bool has_looked = false;

        for (unsigned i = 0; i < count; i++) {
                if (is_named(entry, &before, &process[i]))
                        continue;
                if (!has_looked)
                        usage_name(said, count, USAGE_NO_BOUND);
                has_looked = true;
                process[i].pid = said[i].local_pid;
                process[i].user = user_name(said[i].uid);
        }
}

static int read_processes(const struct source *source, struct source_entry *entry)
{
        char path[STORE_PATH_BYTES];
        struct liveness_file file = { path, entry->session.slots_file.device,
                                      entry->session.slots_file.inode };
        struct snapshot_process *process;
        int count = text_put(path, sizeof(path), &entry->broken, "%s/slots", entry->session.path);

        if (count == 0)
                count = usage_list(entry->session.slots, &file, source->scratch, PAGE_SLOTS);
        if (count < 0)
                return fail(&entry->broken, count, "slots: %s", strerror(-count));
        process = calloc((size_t)count + 1, sizeof(*process));
        if (!process)
                return fail(&entry->broken, -ENOMEM, "out of memory");
        for (int i = 0; i < count; i++) {
                process[i].said = source->scratch[i];
                for (unsigned j = 0; j < PAGE_DEVICES; j++)
                        process[i].bytes +=
                                usage_has_row(&entry->session, j) ? process[i].said.bytes[j] : 0;
        }
        name_processes(entry, process, source->scratch, (unsigned)count);
        free(entry->process);
        entry->process = process;
        entry->count = (unsigned)count;
        return 0;
}

static void close_entry(struct source_entry *entry)
{
        if (entry->is_joined)
                store_close(&entry->session);
        entry->is_joined = false;
        free(entry->process);
        entry->process = NULL;
        entry->count = 0;
}

/* Returns whether the folder still has the files that are mapped, with their full size. */
static bool is_current(const struct source_entry *entry)
{
        char path[STORE_PATH_BYTES];
        struct stat st;

        return store_is_current(&entry->session) &&
               text_put(path, sizeof(path), NULL, "%s/slots", entry->session.path) == 0 &&
               lstat(path, &st) == 0 && (uint64_t)st.st_ino == entry->session.slots_file.inode &&
               (uint64_t)st.st_dev == entry->session.slots_file.device &&
               (uint64_t)st.st_size >= sizeof(struct slots_page);
}

static void read_entry(struct source *source, struct source_entry *entry)
{
        int rc = 0;

        entry->broken = (struct error){ 0 };
        entry->is_gone = entry->is_ending = false;
        if (entry->is_joined && !is_current(entry))
                close_entry(entry);
        if (!entry->is_joined) {
                rc = store_join(&source->store, entry->name, false, &entry->session,
                                &entry->broken);
                entry->is_joined = rc == 0;
                entry->slots = (struct maps_file){ 0 };
                if (entry->is_joined)
                        maps_find(entry->session.slots, &entry->slots);
                entry->is_gone = rc == -ENOENT;
                entry->is_ending = rc == -EBUSY;
        }
        if (rc == 0)
                read_processes(source, entry);
}

/* Calls `act`, protected against SIGBUS, which the next access raises if a mapped file was
 * truncated. */
static void guarded(struct source *source, struct source_entry *entry,
                    void (*act)(struct source *, struct source_entry *))
{
        if (sigsetjmp(cut_short, 0) == 0) {
                is_guarded = 1;
                act(source, entry);
        } else {
                close_entry(entry);
                fail(&entry->broken, -EIO, "its files were cut short");
        }
        is_guarded = 0;
}

static void fill_share(const struct source_entry *entry, unsigned row, struct snapshot_share *ret)
{
        const struct limits_device *device = &entry->session.limits->device[row];

        *ret = (struct snapshot_share){ .row = row,
                                        .device = -1,
                                        .card_bytes = device->card_bytes,
                                        .limit_bytes =
                                                load_acquire(shared_word(&device->limit_bytes)) };
        memcpy(ret->uuid, device->uuid, sizeof(ret->uuid));
        source_time_read(&entry->session, row, &ret->time);
        for (unsigned i = 0; i < entry->count; i++)
                ret->used_bytes += entry->process[i].said.bytes[row];
}

/* Returns whether a share is the session's. In a daemon's session, a GPU that is not granted has a
 * limit of one byte. */
static bool is_granted(const struct limits_page *page, const struct snapshot_share *share)
{
        return page->owner != PAGE_OWNER_DAEMON || share->limit_bytes > SETTINGS_NOTHING_BYTES ||
               share->used_bytes > 0;
}

static void fill_session(struct source *source, struct source_entry *entry)
{
        struct snapshot *snapshot = &source->snapshot;
        struct snapshot_session *session = &snapshot->session[snapshot->session_count];
        const struct limits_page *page = entry->session.limits;

        *session = (struct snapshot_session){ .slots = entry->slots, .left_seconds = -1 };
        memcpy(session->name, entry->name, sizeof(session->name));
        if (entry->broken.code < 0)
                return;
        session->is_held = load_acquire(shared_half(&page->gate)) != 0;
        session->is_daemons = page->owner == PAGE_OWNER_DAEMON;
        session->default_limit_bytes = load_acquire(shared_word(&page->default_limit_bytes));
        session->process_count = entry->count;
        session->process = entry->process;
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                struct snapshot_share *share = &session->share[session->share_count];

                if (!usage_has_row(&entry->session, i))
                        continue;
                fill_share(entry, i, share);
                if (!is_granted(page, share))
                        continue;
                session->used_bytes += share->used_bytes;
                session->share_count++;
        }
}

/* Returns whether the pages belong to another user, or are closed because the session is ending. */
static bool is_closed(const struct source_entry *entry)
{
        return entry->broken.code == -EACCES || entry->broken.code == -EPERM || entry->is_ending;
}

static void tell_broken(const struct error *why, char *ret, size_t bytes)
{
        char text[128];

        if (why->code == -EACCES || why->code == -EPERM)
                text_put(ret, bytes, NULL, "another user's: see aliquot show");
        else
                text_put(ret, bytes, NULL, "broken: %s", text_quote(why->text, text, sizeof(text)));
}

static void add_session(struct source *source, struct source_entry *entry)
{
        struct snapshot *snapshot = &source->snapshot;
        struct snapshot_session *session = &snapshot->session[snapshot->session_count];
        const struct client_session *told = source_terms_find(&source->terms, entry->name);

        if (entry->is_gone || (entry->is_ending && !told))
                return;
        guarded(source, entry, fill_session);
        if (entry->broken.code < 0) {
                session->process_count = session->share_count = 0;
                session->used_bytes = 0;
        }
        if (told)
                source_terms_fill(&source->terms, told, session);
        if (told && is_closed(entry))
                source_terms_fill_figures(&source->terms, told, session);
        else if (entry->broken.code < 0)
                tell_broken(&entry->broken, session->broken, sizeof(session->broken));
        for (unsigned i = 0; i < session->share_count; i++)
                source_devices_add(snapshot, &session->share[i]);
        snapshot->session_count++;
}

/* Keeps the entries whose names are listed, adds one for each new name, and drops the others. */
static int keep_entries(struct source *source, const struct names *names, struct error *err)
{
        struct source_entry *kept = calloc(names->count + 1, sizeof(*kept));
        struct snapshot_session *session = calloc(names->count + 1, sizeof(*session));
        size_t old = 0;

        if (!kept || !session) {
                free(kept);
                free(session);
                return fail(err, -ENOMEM, "out of memory");
        }
        for (size_t i = 0; i < names->count; i++) {
                while (old < source->count && strcmp(source->entry[old].name, names->at[i]) < 0)
                        close_entry(&source->entry[old++]);
                if (old < source->count && strcmp(source->entry[old].name, names->at[i]) == 0)
                        kept[i] = source->entry[old++];
                else
                        memcpy(kept[i].name, names->at[i], PAGE_NAME_BYTES);
        }
        while (old < source->count)
                close_entry(&source->entry[old++]);
        free(source->entry);
        free(source->snapshot.session);
        source->entry = kept;
        source->count = names->count;
        source->snapshot.session = session;
        return 0;
}

/* Lists the names of the sessions. If only the daemon can list them, it has already been asked. */
static int read_names(struct source *source, struct names *names, struct error *err)
{
        if (names_can_be_listed(&source->store))
                return names_read(&source->store, names, err);
        if (source->terms.waits_long && source->terms.is_away)
                return fail(err, CLIENT_AWAY,
                            "only a daemon can list the sessions of %s, and none answers",
                            source->store.path);
        return source_terms_names(&source->terms, names) < 0 ? fail(err, -ENOMEM, "out of memory")
                                                             : 0;
}

static int find_sessions(struct source *source, struct names *names, struct error *err)
{
        int rc = 0;

        if (!source->store.path[0])
                rc = options_find_store(&source->store, err);
        if (rc == -ENOENT)
                return 0;
        if (rc < 0)
                return rc;
        source_terms_read(&source->terms, &source->store);
        return read_names(source, names, err);
}

static bool has_daemons(const struct snapshot *snapshot)
{
        for (size_t i = 0; i < snapshot->session_count; i++) {
                if (snapshot->session[i].is_daemons)
                        return true;
        }
        return false;
}

int source_open(struct source *source, const struct request_flags *flags, struct error *err)
{
        struct sigaction action = { .sa_handler = on_bus_error, .sa_flags = SA_NODEFER };
        int rc = source_devices_open(source, flags, err);

        if (rc < 0)
                return rc;
        source->terms.wants_devices = !source->has_driver;
        source->scratch = calloc(PAGE_SLOTS, sizeof(*source->scratch));
        if (!source->scratch)
                return fail(err, -ENOMEM, "out of memory");
        sigaction(SIGBUS, &action, NULL);
        if (options_find_store(&source->store, NULL) == 0)
                sweep_all(&source->store);
        else
                source->store.path[0] = '\0';
        return 0;
}

int source_read(struct source *source, const struct snapshot **ret, struct error *err)
{
        struct names names = { 0 };
        int rc = find_sessions(source, &names, err);

        if (rc == 0)
                rc = keep_entries(source, &names, err);
        names_free(&names);
        if (rc < 0)
                return rc;
        source_devices_read(source, &source->snapshot);
        source->snapshot.session_count = 0;
        for (size_t i = 0; i < source->count; i++) {
                guarded(source, &source->entry[i], read_entry);
                add_session(source, &source->entry[i]);
        }
        source->snapshot.is_silent = source_terms_is_silent(
                &source->terms, has_daemons(&source->snapshot), &source->snapshot.silent_seconds);
        snapshot_judge(&source->snapshot);
        *ret = &source->snapshot;
        return 0;
}

void source_close(struct source *source)
{
        for (size_t i = 0; i < source->count; i++)
                close_entry(&source->entry[i]);
        free(source->entry);
        free(source->snapshot.session);
        free(source->scratch);
        source_terms_close(&source->terms);
        source_devices_close(source);
        *source = (struct source){ 0 };
}
