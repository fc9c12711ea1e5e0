/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the session, once: reads the settings, finds the runtime folder, joins or creates the
 * session, publishes it. A program without settings gets a session from a daemon that shares its
 * card (docs/swap-node.md), if there is one.
 *
 * One thread finds the session while others wait for the state to change. That thread's process is
 * recorded, so that a child forked meanwhile does not wait for a thread that it does not have. A
 * call from inside the lister gets SESSION_UNKNOWN (pass it on), because it would otherwise wait
 * for itself. Everything is written before the state is released and never changes after, so
 * readers need no lock. No heap; no descriptor stays open except that of socket.h.
 */
#include "shim/session.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/environment.h"
#include "common/error.h"
#include "common/injected.h"
#include "common/log.h"
#include "common/text.h"
#include "common/uuid.h"
#include "settings/settings.h"
#include "shim/charge.h"
#include "shim/initial.h"
#include "shim/share.h"
#include "shim/socket.h"
#include "store/store.h"

#define JOIN_ATTEMPTS 200 /* waits 2 s in all for a session that is being removed */
#define JOIN_PAUSE_NS 10000000
#define START_PAUSE_NS 50000

static struct {
        /* enum session_state; released once, by the thread that finds the session */
        _Atomic int state;
        /* pid << 32 | tid of the thread that finds the session; 0: none yet */
        _Atomic uint64_t starter;
        _Atomic bool told_row; /* the line about a GPU without a row was written */
        _Atomic bool told_end; /* the line about the session's end was written */

        /* Only the thread that finds the session uses these fields until `state` is released;
         * read-only after that. */
        struct settings settings;
        struct settings_gpus gpus;
        bool has_gpus; /* the lister was called */
        struct store_session session;
        struct liveness_file slots_file;
        char slots_path[STORE_PATH_BYTES];
} self;

/* Writes one line to standard error, and to the log if that is another file. */
static void log_refusal(const char *what)
{
        log_tell("aliquot: %s; GPU calls are refused", what);
        if (self.settings.log.path[0])
                log_line(LOG_ERROR, "%s", what);
}

/* Returns the GPUs in the driver's order. Calls the lister at most once. */
static const struct settings_gpus *list_gpus(session_gpu_lister *lister)
{
        static struct session_gpu found[SETTINGS_GPUS];
        int count;

        if (self.has_gpus)
                return &self.gpus;
        count = lister ? lister(found, SETTINGS_GPUS) : -ENODEV;
        if (count > SETTINGS_GPUS)
                count = SETTINGS_GPUS;
        for (int i = 0; i < count; i++) {
                struct settings_gpu *gpu = &self.gpus.gpu[i];

                memcpy(gpu->uuid, found[i].uuid, sizeof(gpu->uuid));
                gpu->card_bytes = found[i].card_bytes;
                gpu->is_instance = found[i].is_instance;
        }
        self.gpus.count = count;
        self.has_gpus = true;
        return &self.gpus;
}

/* Checks that the GPU of the settings is the one that the program sees. CUDA_VISIBLE_DEVICES
 * decides that before the program starts, so a running program cannot be given another GPU. */
static int check_gpu(struct error *err)
{
        const char *wanted = self.settings.gpu;
        const char *visible = environment_get_restriction("CUDA_VISIBLE_DEVICES");

        if (!wanted[0] || (visible && strcmp(visible, wanted) == 0))
                return 0;
        return fail(err, -EINVAL,
                    "ALIQUOT_GPU=%s: a running program cannot be given other GPUs; start it with "
                    "aliquot run, or set CUDA_VISIBLE_DEVICES to the same",
                    text_shown(wanted));
}

/* Whether the settings have limits for a session, not only its name. */
static bool has_wishes(void)
{
        const struct settings *settings = &self.settings;

        return settings->memory.count || settings->compute.count || settings->device_name[0] ||
               settings->host_bytes || settings->is_context_free;
}

static void pause_ns(long nanoseconds)
{
        const struct timespec pause = { .tv_nsec = nanoseconds };

        nanosleep(&pause, NULL);
}

/* What is needed to create a session, and to compare the settings with an existing one. */
struct session_wish {
        struct store store;
        struct store_request request;
        char name[PAGE_NAME_BYTES];
        char canonical[SETTINGS_CANONICAL_BYTES];
        struct settings_limits limits;
};

static int resolve_limits(struct session_wish *wish, session_gpu_lister *lister, struct error *err)
{
        const struct settings *settings = &self.settings;
        const struct settings_gpus *gpus = list_gpus(lister);
        struct settings_selection selection = { 0 };
        int rc = settings_resolve(settings, gpus, &wish->limits, err);

        if (rc == 0 && settings->gpu[0] && gpus->count >= 0)
                rc = settings_select(settings->gpu, gpus, &selection, err);
        if (rc == 0)
                rc = settings_check_selected(settings, gpus, &selection, &wish->limits, err);
        wish->request.limits = rc < 0 ? NULL : &wish->limits;
        return rc;
}

static int create_session(struct session_wish *wish, session_gpu_lister *lister, struct error *err)
{
        int rc;

        if (!has_wishes() && store_is_fresh_name(wish->name))
                return fail(err, -ENOENT,
                            "session %s has ended: it was that of one aliquot run, whose time was "
                            "over or which somebody removed; start the program with a new aliquot "
                            "run",
                            wish->name);
        if (!has_wishes())
                return fail(err, -ENOENT,
                            "%s=%s: there is no such session in %s, and no limit to make it with; "
                            "use aliquot create, or set ALIQUOT_MEMORY",
                            self.settings.session_origin, wish->name, wish->store.path);
        rc = resolve_limits(wish, lister, err);
        return rc < 0 ? rc : store_create(&wish->store, &wish->request, &self.session, err);
}

static int check_joined(struct session_wish *wish, session_gpu_lister *lister, struct error *err)
{
        const char *made = self.session.limits->created_as;

        if (!has_wishes())
                return 0;
        /* If the text of the limits differs, compares what they mean on this machine. */
        if (strncmp(made, wish->canonical, sizeof(wish->canonical)) != 0)
                resolve_limits(wish, lister, NULL);
        return store_check_same(&self.session, &wish->request, err);
}

/* Joins a daemon's session through its socket. For a session whose folder is closed to this
 * process or lacks files: its daemon belongs to another user, or this is a container that has
 * only the socket. Returns `rc` if there is no socket. */
static int join_found_socket(struct session_wish *wish, int rc, struct error *err)
{
        char path[STORE_PATH_BYTES + PAGE_NAME_BYTES + 32];
        struct stat st;

        if (text_put(path, sizeof(path), NULL, "%s/sessions/%s/socket", wish->store.path,
                     wish->name) < 0 ||
            stat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
                return rc;
        return socket_join(path, true, &self.settings, &self.session, err);
}

static int join_session(struct session_wish *wish, struct error *err)
{
        int rc = store_join(&wish->store, wish->name, false, &self.session, err);

        /* If the settings give no name, the default name is used, and any user may have created
         * a session with it. So that session is joined only through its files, which must be the
         * user's own: through a socket, root would join any user's session. */
        if (!self.settings.session[0])
                return rc;
        if (rc == -EACCES || rc == -EPERM || rc == -EROFS || rc == -EPROTO)
                rc = join_found_socket(wish, rc, err);
        return rc;
}

/* Decides what to do after a join that failed with `rc`, and creates the session if it does not
 * exist. Returns 0 to join again, or the final error. */
static int make_joinable(struct session_wish *wish, int rc, session_gpu_lister *lister,
                         struct error *err)
{
        /* Another version of Aliquot left the session. A process that would create it replaces
         * it, unless it is in use. */
        if (rc == -EPROTO && has_wishes() &&
            store_remove(&wish->store, wish->name, false, NULL) == 0)
                return 0;
        if (rc == -ENOENT) {
                rc = create_session(wish, lister, err);
                /* it is joined read-only, whoever created it */
                if (rc == 0)
                        store_close(&self.session);
                if (rc == 0 || rc == -EEXIST)
                        return 0;
        }
        if (rc != -EBUSY)
                return rc;
        pause_ns(JOIN_PAUSE_NS);
        return 0;
}

static int join_or_create(struct session_wish *wish, session_gpu_lister *lister, struct error *err)
{
        for (unsigned attempt = 0;; attempt++) {
                int rc = join_session(wish, err);

                if (rc == 0)
                        return check_joined(wish, lister, err);
                if (attempt == JOIN_ATTEMPTS)
                        return rc;
                rc = make_joinable(wish, rc, lister, err);
                if (rc < 0)
                        return rc;
        }
}

static int enter_folder(struct session_wish *wish, session_gpu_lister *lister, struct error *err)
{
        const struct settings *settings = &self.settings;
        int rc = settings_name(settings, geteuid(), wish->name, err);

        if (rc == 0)
                rc = store_find(&wish->store, settings->runtime_dir, true, err);
        /* a session of a daemon may exist in a folder that cannot be written */
        if (rc == -EROFS && settings->session[0])
                rc = store_find(&wish->store, settings->runtime_dir, false, err);
        return rc < 0 ? rc : join_or_create(wish, lister, err);
}

/* Joins the session of the socket that the settings name, and no other. */
static int enter_socket(struct session_wish *wish, session_gpu_lister *lister, struct error *err)
{
        const struct settings *settings = &self.settings;
        int rc = socket_join(settings->socket, false, settings, &self.session, err);

        if (rc < 0)
                return rc;
        memcpy(wish->name, self.session.limits->name, sizeof(wish->name));
        if (settings->session[0] && strcmp(settings->session, wish->name) != 0)
                return fail(err, -EEXIST,
                            "%s=%s: the socket %s is that of session %s; keep one of the two",
                            settings->session_origin, settings->session, settings->socket,
                            wish->name);
        return check_joined(wish, lister, err);
}

/* Sets what readers need of a joined session besides its pages. */
static int publish_session(struct error *err)
{
        int rc = text_put(self.slots_path, sizeof(self.slots_path), err, "%s%s", self.session.path,
                          socket_kept() ? "" : "/slots");

        if (rc < 0)
                return rc;
        self.slots_file = (struct liveness_file){ self.slots_path, self.session.slots_file.device,
                                                  self.session.slots_file.inode, socket_kept() };
        log_line(LOG_INFO, "session %s in %s, made as %s", self.session.limits->name,
                 self.session.path, self.session.limits->created_as);
        return 0;
}

static int enter_with_settings(session_gpu_lister *lister, struct error *err)
{
        const struct settings *settings = &self.settings;
        static struct session_wish wish;
        int rc = settings_canonical(settings, wish.canonical, err);

        if (rc < 0)
                return rc;
        wish.request = (struct store_request){
                .name = wish.name,
                .created_as = wish.canonical,
                .device_name = settings->device_name,
                .flags = settings->is_context_free ? PAGE_CONTEXT_FREE : 0,
        };
        rc = settings->socket[0] ? enter_socket(&wish, lister, err)
                                 : enter_folder(&wish, lister, err);
        return rc < 0 ? rc : publish_session(err);
}

/* Gets a session from a daemon that shares its card. If the program asked for that with
 * ALIQUOT_SWAP alone, it is refused if there is none. If it asked for nothing and the session
 * cannot be joined, one line is written, and calls pass through. */
static enum session_state enter_share(void)
{
        bool is_asked = self.settings.swaps;
        struct error err = { 0 };
        int rc = environment_is_privileged() ? -EPERM : share_find(&self.settings, &err);

        if (rc < 0 && !is_asked)
                return SESSION_NONE;
        if (rc == 0)
                rc = share_join(&self.settings, &self.session, &err);
        if (rc == 0)
                rc = publish_session(&err);
        if (rc == 0)
                return SESSION_ACTIVE;
        if (is_asked)
                log_refusal(err.text);
        else
                log_tell("aliquot: %s; GPU calls are passed on, and the card is not shared",
                         err.text);
        return is_asked ? SESSION_BROKEN : SESSION_NONE;
}

static int read_environment(char *const *environment, struct error *err)
{
        return environment_is_privileged() ? settings_check_privileged(environment, err)
                                           : settings_read(&self.settings, environment, err);
}

/* Reads the settings. Programs in a container with a given socket use that session. Otherwise
 * the environment with which the program was started counts, even if the program has cleared or
 * changed it since. Only if that has no settings, the present environment is read. */
static int read_settings(struct error *err)
{
        char *const *initial;
        int rc;

        if (injected_has(INJECTED_SELF)) {
                settings_read_given(&self.settings, INJECTED_SOCKET,
                                    environment_is_privileged() ? NULL : environment_all());
                return 0;
        }
        initial = initial_environment();
        rc = initial ? read_environment(initial, err) : 0;
        initial_free();
        if (rc < 0 || self.settings.is_asked || self.settings.gpu[0])
                return rc;
        return read_environment(environment_all(), err);
}

static enum session_state find_out(session_gpu_lister *lister)
{
        struct error err = { 0 };
        enum session_state state;
        int saved = errno;
        int rc = read_settings(&err);

        if (rc == 0) {
                log_start(&self.settings.log);
                rc = check_gpu(&err);
        }
        if (rc == 0 && (!self.settings.is_asked || self.settings.swaps)) {
                /* Logged because it may surprise: a shell that takes VCUDA_MEMORY_LIMIT=(...)
                 * for an array does not pass it on. */
                if (!self.settings.is_asked)
                        log_line(LOG_INFO, "the environment asks for no limit");
                state = enter_share();
                errno = saved;
                return state;
        }
        if (rc == 0)
                rc = enter_with_settings(lister, &err);
        if (rc < 0)
                log_refusal(err.text);
        errno = saved;
        return rc < 0 ? SESSION_BROKEN : SESSION_ACTIVE;
}

/* Whether this thread is to find the session. `ret_is_nested`: this thread is finding it
 * already. */
static bool become_starter(uint64_t me, bool *ret_is_nested)
{
        uint64_t starter = load_acquire(&self.starter);

        *ret_is_nested = starter == me;
        /* no thread has begun, or a thread of the parent process has */
        if (starter == 0 || starter >> 32 != me >> 32)
                return cas_acq_rel(&self.starter, &starter, me);
        return false;
}

static enum session_state start_session(session_gpu_lister *lister)
{
        uint64_t me = (uint64_t)(uint32_t)getpid() << 32 | (uint32_t)syscall(SYS_gettid);

        for (;;) {
                enum session_state state = (enum session_state)load_acquire(&self.state);
                bool is_nested;

                if (state != SESSION_UNKNOWN)
                        return state;
                if (become_starter(me, &is_nested)) {
                        state = find_out(lister);
                        store_release(&self.state, (int)state);
                        return state;
                }
                if (is_nested)
                        return SESSION_UNKNOWN;
                pause_ns(START_PAUSE_NS);
        }
}

enum session_state session_start(session_gpu_lister *lister)
{
        enum session_state state = (enum session_state)load_acquire(&self.state);
        int cancel_state;

        if (state != SESSION_UNKNOWN)
                return state;
        /* If a thread were cancelled in an open() of ours, the others would wait for ever. */
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
        state = start_session(lister);
        pthread_setcancelstate(cancel_state, NULL);
        return state;
}

enum session_state session_state(void)
{
        return (enum session_state)load_acquire(&self.state);
}

int session_find_device(const uint8_t uuid[16])
{
        return session_state() == SESSION_ACTIVE ? store_find_row(&self.session, uuid) : -1;
}

int session_device(const uint8_t uuid[16], uint64_t card_bytes)
{
        struct error err;
        int saved = errno;
        int row;

        switch (session_state()) {
        case SESSION_ACTIVE:
                break;
        case SESSION_BROKEN:
                return SESSION_NO_ROW;
        default:
                return CHARGE_NO_DEVICE;
        }
        row = store_claim_row(&self.session, uuid, card_bytes, &err);
        if (row < 0 && log_once(&self.told_row))
                log_refusal(err.text);
        errno = saved;
        return row < 0 ? SESSION_NO_ROW : row;
}

/* `removed` alone does not show an end: a remover that only checks clears it again. Limits that
 * were set to nothing stay so. */
void session_tell_if_ended(int row)
{
        const struct limits_page *page = session_limits();

        if (!page || row < 0 || row >= (int)PAGE_DEVICES || store_is_current(&self.session) ||
            load_acquire(shared_word(&page->device[row].limit_bytes)) > SETTINGS_NOTHING_BYTES ||
            !log_once(&self.told_end))
                return;
        log_tell("aliquot: session %s has ended, and gets no new memory", page->name);
}

const struct limits_page *session_limits(void)
{
        return session_state() == SESSION_ACTIVE ? self.session.limits : NULL;
}

struct slots_page *session_slots(void)
{
        return session_state() == SESSION_ACTIVE ? self.session.slots : NULL;
}

const struct liveness_file *session_slots_file(void)
{
        return session_state() == SESSION_ACTIVE ? &self.slots_file : NULL;
}
