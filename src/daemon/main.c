/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's main program: starts its parts in order, and stops them in reverse order.
 *
 * Only one daemon serves a runtime folder (runtime_lock.h). SIGTERM and SIGINT end the daemon and
 * leave every program running. SIGHUP makes it read config and token again and list the GPUs again.
 * It ends by itself with status 1 if the runtime folder is deleted, moved or replaced
 * (runtime_place.h).
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/machine_clock.h"
#include "common/output.h"
#include "common/text.h"
#include "daemon/api/api.h"
#include "daemon/base/descriptors.h"
#include "daemon/base/json_memory.h"
#include "daemon/base/owner_log.h"
#include "daemon/base/sink.h"
#include "daemon/notify.h"
#include "daemon/options.h"
#include "daemon/runtime_lock.h"
#include "daemon/runtime_place.h"
#include "daemon/schedule/scheduler.h"
#include "daemon/swap/swapper.h"
#include "daemon/start_check.h"
#include "daemon/tenant/tenant.h"
#include "machine/installation.h"

#define TRIM_SECONDS 10 /* time between two checks of the audit trail's length */
/* while there is more to delete than one call deletes, deleting takes 1/11 of the time: each wait
 * is this many times the length of the call before */
#define TRIM_SHARE 10u
#define PLACE_SECONDS 1 /* time between two checks of the runtime folder and the socket */
#define EMPTY_LOOK_USEC 200000
#define EMPTY_LOOKS 300u /* how many checks (one minute) to wait for the first session */
#define DAY_NS (UINT64_C(86400) * 1000000000)

/* Index of events[]. EVENT_EMPTY is only used with --until-empty. */
enum { EVENT_TERM, EVENT_INT, EVENT_RELOAD, EVENT_TRIM, EVENT_EMPTY, EVENT_PLACE, EVENTS };

static struct {
        struct options options;
        struct config config;
        struct token token;
        struct installation own;
        struct store store;
        struct event_base *base;
        struct sink *sink;
        struct database *database;
        struct node *node;
        struct tenants *tenants;
        struct scheduler *scheduler;
        struct swapper *swapper;
        struct http_api *api;
        struct http *http;
        struct runtime_place runtime;
        struct event *events[EVENTS];
        unsigned idle; /* number of checks that found no session yet */
        int status;    /* exit status of the process */
} self;

/* -- Config and token ------------------------------------------------------------------------- */

/* Prints each line of the report, without a prefix for --check-config. */
static void print_report(const struct config_report *report)
{
        const char *prefix = self.options.must_check_config ? "" : "aliquotd: ";

        for (const char *line = report->text, *end; (end = strchr(line, '\n')); line = end + 1)
                fprintf(stderr, "%s%.*s\n", prefix, (int)(end - line), line);
}

static void start_log(void)
{
        const struct log_config log = { .level = self.config.log_level, .program = "aliquotd" };

        log_start(&log);
}

/* Reads config and token again. False: the new config is invalid, and the old one remains in
 * force. */
static bool reload(void)
{
        static struct config_report report;
        struct config fresh;
        struct token token;
        struct error err = { 0 };

        report = (struct config_report){ 0 };
        if (options_config(&self.options, &fresh, &report) < 0) {
                print_report(&report);
                log_tell("aliquotd: the config is as before");
                return false;
        }
        config_reload(&self.config, &fresh, &report);
        print_report(&report);
        start_log();
        if (start_read_token(&self.config, &token, &err) < 0) {
                log_tell("aliquotd: %s; the token is as before", err.text);
        } else {
                token_wipe(&self.token);
                self.token = token;
        }
        token_wipe(&token);
        return true;
}

static void apply_policy(void)
{
        const struct sessions_event event = { .type = SESSIONS_POLICY,
                                              .policy = self.config.policy,
                                              .rules = &self.config.rules };
        struct sessions_actions actions;
        struct error err = { 0 };

        if (node_step(self.node, &event, "daemon", &actions, &err) < 0 ||
            actions.answer != SESSIONS_YES)
                log_tell("aliquotd: the policy is as before");
        swapper_rule(self.swapper, &self.config.swap);
}

static void reload_tenants(void)
{
        struct error err = { 0 };

        if (tenants_reload(self.tenants, &err) < 0)
                log_tell("aliquotd: %s; the token of joins is as before", err.text);
}

/* -- Signals and timers ----------------------------------------------------------------------- */

static void on_end(evutil_socket_t number, short what, void *context)
{
        log_line(LOG_INFO, "ending; programs go on under their limits");
        event_base_loopbreak(self.base);
}

static void on_reload(evutil_socket_t number, short what, void *context)
{
        bool is_new;

        notify("RELOADING=1");
        is_new = reload();
        if (is_new)
                apply_policy();
        reload_tenants();
        node_look_again(self.node);
        if (is_new)
                log_line(LOG_INFO, "config read again");
        notify("READY=1");
}

static void on_trim(evutil_socket_t fd, short what, void *context)
{
        uint64_t kept_ns = self.config.audit_days * DAY_NS;
        uint64_t now_ns = node_now_ns();
        uint64_t began_ns = clock_machine_ns(), wait_ns = 0;
        struct timeval wait = { .tv_sec = TRIM_SECONDS };
        struct error err = { 0 };
        int rc = database_trim(self.database, kept_ns && kept_ns < now_ns ? now_ns - kept_ns : 0,
                               self.config.audit_rows, &err);

        if (rc < 0)
                log_line(LOG_WARN, "the audit trail could not be trimmed: %s", err.text);
        if (rc == (int)DATABASE_TRIM_ROWS) {
                wait_ns = (clock_machine_ns() - began_ns) * TRIM_SHARE;
                wait = (struct timeval){ .tv_sec = (time_t)(wait_ns / CLOCK_SECOND_NS),
                                         .tv_usec =
                                                 (suseconds_t)(wait_ns % CLOCK_SECOND_NS / 1000) };
        }
        event_add(self.events[EVENT_TRIM], &wait);
}

/* Ends the daemon when it has no session (--until-empty). Requests and this function run in one
 * thread, so every session that was granted is counted here. */
static void on_look(evutil_socket_t fd, short what, void *context)
{
        if (node_sessions(self.node)->count)
                return;
        if (!node_counts(self.node)->admitted && ++self.idle < EMPTY_LOOKS)
                return;
        log_line(LOG_INFO, "ending; there is no session");
        event_base_loopbreak(self.base);
}

static int add_empty_look(struct error *err)
{
        const struct timeval every = { .tv_usec = EMPTY_LOOK_USEC };

        if (!self.options.is_until_empty)
                return 0;
        self.events[EVENT_EMPTY] = event_new(self.base, -1, EV_PERSIST, on_look, NULL);
        if (!self.events[EVENT_EMPTY] || event_add(self.events[EVENT_EMPTY], &every) < 0)
                return fail(err, -ENOMEM, "out of memory");
        return 0;
}

/* Checks that the runtime folder is unchanged, and ends the daemon otherwise. It does not create
 * the folder again, because that would lose the programs that run in the old one. */
static void on_place(evutil_socket_t fd, short what, void *context)
{
        struct error err = { 0 };

        if (runtime_place_look(&self.runtime, &err) == 0) {
                http_look(self.http);
                return;
        }
        log_tell("aliquotd: %s, so this daemon ends; programs that run go on under their limits, "
                 "uncounted. Started again, it makes its sessions anew",
                 err.text);
        self.status = 1;
        event_base_loopbreak(self.base);
}

static int watch_place(struct error *err)
{
        const struct timeval every = { .tv_sec = PLACE_SECONDS };
        int rc = runtime_place_note(self.store.path, &self.runtime, err);

        if (rc < 0)
                return rc;
        self.events[EVENT_PLACE] = event_new(self.base, -1, EV_PERSIST, on_place, NULL);
        if (!self.events[EVENT_PLACE] || event_add(self.events[EVENT_PLACE], &every) < 0)
                return fail(err, -ENOMEM, "out of memory");
        return 0;
}

static int add_events(struct error *err)
{
        const struct timeval trim = { .tv_sec = TRIM_SECONDS };

        self.events[EVENT_TERM] = evsignal_new(self.base, SIGTERM, on_end, NULL);
        self.events[EVENT_INT] = evsignal_new(self.base, SIGINT, on_end, NULL);
        self.events[EVENT_RELOAD] = evsignal_new(self.base, SIGHUP, on_reload, NULL);
        self.events[EVENT_TRIM] = event_new(self.base, -1, 0, on_trim, NULL);
        for (unsigned i = EVENT_TERM; i <= EVENT_TRIM; i++) {
                if (!self.events[i] ||
                    event_add(self.events[i], i == EVENT_TRIM ? &trim : NULL) < 0)
                        return fail(err, -ENOMEM, "out of memory");
        }
        signal(SIGPIPE, SIG_IGN);
        /* otherwise a child's pid could be reused before the daemon waits for it */
        signal(SIGCHLD, SIG_DFL);
        return add_empty_look(err);
}

/* -- Folders ---------------------------------------------------------------------------------- */

static int find_runtime(struct error *err)
{
        int rc = start_find_runtime(&self.config, true, &self.store, err);

        return rc < 0 ? rc : runtime_lock_take(self.store.path, err);
}

static int open_database(struct error *err)
{
        char folder[CONFIG_PATH_BYTES], path[DATABASE_PATH_BYTES], aside[DATABASE_PATH_BYTES];
        int rc = options_state_dir(&self.config, folder, err);

        if (rc == 0)
                rc = text_put(path, sizeof(path), err, "%s/" DATABASE_FILE, folder);
        if (rc == 0 && self.options.must_reset_database) {
                rc = database_put_aside(path, aside, err);
                if (rc == 0 && aside[0])
                        log_tell("aliquotd: the database is kept as %s", aside);
        }
        if (rc == 0)
                rc = database_open(path, true, &self.database, err);
        return rc < 0 ? rc : database_settle(self.database, self.store.path, err);
}

/* -- Start and end ---------------------------------------------------------------------------- */

/* Finds NVML, as a name that dlopen() takes. */
static int find_nvml(const char **ret, struct error *err)
{
        const char *named = getenv("ALIQUOT_REAL_LIBNVML");
        int rc;

        if (!self.options.is_simulated) {
                *ret = named && named[0] ? named : "libnvidia-ml.so.1";
                return 0;
        }
        rc = installation_find(&self.own, err);
        if (rc < 0)
                return rc;
        if (!self.own.sim_nvml[0])
                return fail(err, -ENOENT, "--sim: the simulated GPU is not installed beside %s",
                            self.own.program);
        if (self.options.sim[0] && setenv("ALIQUOT_SIM", self.options.sim, 1) < 0)
                return fail(err, -errno, "--sim: %m");
        *ret = self.own.sim_nvml;
        return 0;
}

/* Makes the daemon's clock follow the time of a simulated GPU, if it keeps its own time. The
 * library stays loaded. */
static void follow_time(const char *nvml)
{
        void *library = dlopen(nvml, RTLD_NOW | RTLD_LOCAL);
        time_authority_find *find =
                library ? (time_authority_find *)dlsym(library, TIME_AUTHORITY_SYMBOL) : NULL;

        if (find)
                clock_follow(find(TIME_AUTHORITY_VERSION));
}

static int start_node(struct error *err)
{
        struct node_options options = { .base = self.base,
                                        .store = &self.store,
                                        .database = self.database,
                                        .policy = &self.config.policy,
                                        .rules = &self.config.rules,
                                        .is_temporary = self.options.is_until_empty,
                                        .is_simulated = self.options.is_simulated,
                                        .watch = &self.config.watch,
                                        .claims = &self.config.claims,
                                        .managed_cgroups = self.config.managed_cgroups };
        int rc = find_nvml(&options.nvml, err);

        if (rc < 0)
                return rc;
        if (self.options.is_simulated)
                follow_time(options.nvml);
        return node_open(&self.node, &options, err);
}

static int start_tenants(struct error *err)
{
        const struct tenants_options options = {
                .base = self.base,
                .sink = self.sink,
                .node = self.node,
                .config = &self.config,
                .admit = http_admit,
        };

        return tenants_start(&self.tenants, &options, err);
}

static unsigned swaps_max(void)
{
        return descriptors_max(SESSIONS_MAX, DESCRIPTORS_SWAPS);
}

static void on_folder(const struct sessions_one *session, bool is_there, void *context)
{
        static struct owner_log log = OWNER_LOG_TROUBLE;
        unsigned seats_max = descriptors_max(SESSIONS_MAX, DESCRIPTORS_SEATS);
        struct error err = { 0 };

        node_swap(self.node, session, is_there, swaps_max());
        if (!is_there)
                scheduler_drop(self.scheduler, session->id);
        else if (scheduler_put(self.scheduler, session, seats_max, &err) < 0)
                owner_log(&log, sessions_payer(session), LOG_WARN,
                          "session %s goes by its own cap alone: %s", session->name, err.text);
}

static int start_scheduler(struct error *err)
{
        const struct sessions *all = node_sessions(self.node);
        int rc = scheduler_start(&self.scheduler, &self.store, self.config.has_leases, err);

        if (rc == 0)
                rc = swapper_start(&self.swapper, &self.store, err);
        if (rc == 0)
                swapper_rule(self.swapper, &self.config.swap);
        if (rc == 0 && node_use_swapper(self.node, self.swapper, &self.config.kills_stuck) < 0)
                rc = fail(err, -ENOMEM, "out of memory");
        if (rc < 0)
                return rc;
        node_watch_folders(self.node, on_folder, self.scheduler);
        node_use_scheduler(self.node, self.scheduler);
        for (unsigned i = 0; i < all->entries; i++) {
                if (all->session[i].state == SESSIONS_OPEN)
                        on_folder(&all->session[i], true, NULL);
                else if (all->session[i].state != SESSIONS_FREE)
                        /* Programs of an ending session may still run, and need turns to do so. */
                        node_swap(self.node, &all->session[i], true, swaps_max());
        }
        return 0;
}

static void stop_scheduler(void)
{
        if (!self.scheduler)
                return;
        node_use_scheduler(self.node, NULL);
        node_leave_folders(self.node, self.scheduler);
        scheduler_stop(self.scheduler);
        node_use_swapper(self.node, NULL, NULL);
        swapper_stop(self.swapper);
}

static int listen_tcp(struct error *err)
{
        struct address address;
        unsigned port;
        int rc;

        if (!self.config.http_address[0])
                return 0;
        rc = address_parse(self.config.http_address, &address, err);
        if (rc == 0)
                rc = http_listen_tcp(self.http, &address, &port, err);
        if (rc == 0)
                log_line(LOG_INFO, "listening on %s, port %u", self.config.http_address, port);
        return rc;
}

static int start_http(struct error *err)
{
        const struct api_options api = {
                .scheduler = self.scheduler,
                .swapper = self.swapper,
                .base = self.base,
                .node = self.node,
                .tenants = self.tenants,
                .config = &self.config,
                .token = &self.token,
        };
        struct http_options http = { .base = self.base,
                                     .sink = self.sink,
                                     .config = &self.config,
                                     .handler = api_handle,
                                     .done = api_done };
        char path[STORE_PATH_BYTES + sizeof(START_SOCKET_FILE)];
        int rc = api_start(&self.api, &api, err);

        if (rc < 0)
                return rc;
        http.context = self.api;
        rc = http_start(&self.http, &http, err);
        if (rc < 0)
                return rc;
        api_set_http(self.api, self.http);
        snprintf(path, sizeof(path), "%s/" START_SOCKET_FILE, self.store.path);
        rc = http_listen_unix(self.http, path, err);
        return rc < 0 ? rc : listen_tcp(err);
}

/* Creates the event loop. With this flag, changes of epoll registrations are collected until the
 * next wait, so an answer that is sent at once needs no system call for its registration. The flag
 * requires that no descriptor in the loop has a duplicate. */
static struct event_base *new_base(void)
{
        struct event_config *config = event_config_new();
        struct event_base *base = NULL;

        if (config && event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST) == 0)
                base = event_base_new_with_config(config);
        if (config)
                event_config_free(config);
        return base;
}

static int start_daemon(struct error *err)
{
        int rc = find_runtime(err);

        if (rc == 0)
                rc = start_read_token(&self.config, &self.token, err);
        if (rc == 0)
                rc = open_database(err);
        if (rc < 0)
                return rc;
        self.base = new_base();
        if (!self.base)
                return fail(err, -ENOMEM, "no event loop");
        rc = add_events(err);
        if (rc == 0)
                rc = sink_start(&self.sink, self.base, err);
        if (rc == 0)
                rc = start_node(err);
        if (rc == 0)
                rc = start_tenants(err);
        if (rc == 0)
                rc = start_scheduler(err);
        if (rc == 0)
                rc = start_http(err);
        return rc < 0 ? rc : watch_place(err);
}

static void end_daemon(void)
{
        http_stop(self.http);
        api_stop(self.api);
        stop_scheduler();
        tenants_stop(self.tenants);
        sink_stop(self.sink);
        node_close(self.node);
        for (unsigned i = 0; i < EVENTS; i++) {
                if (self.events[i])
                        event_free(self.events[i]);
        }
        if (self.base)
                event_base_free(self.base);
        database_close(self.database);
        token_wipe(&self.token);
        libevent_global_shutdown();
}

/* Checks everything for which a start would fail, even if the config has mistakes. */
static int check_config(struct config_report *report)
{
        static struct config config;
        int rc = options_read(&self.options, &config, report);

        if (start_check(&config, report) < 0)
                rc = -EINVAL;
        if (rc == 0)
                self.config = config;
        return rc;
}

int main(int argc, char **argv)
{
        static struct config_report report;
        struct error err = { 0 };
        int rc;

        output_watch("aliquotd");
        json_memory_watch();
        options_parse(argc, argv, &self.options);
        rc = self.options.must_check_config ? check_config(&report)
                                            : options_config(&self.options, &self.config, &report);
        print_report(&report);
        if (rc < 0)
                return OPTIONS_WRONG;
        if (self.options.must_print_config)
                config_print(stdout, &self.config);
        if (self.options.must_print_config || self.options.must_check_config)
                return 0;
        umask(077);
        start_log();
        descriptors_raise();
        rc = start_daemon(&err);
        if (rc < 0) {
                log_tell("aliquotd: %s", err.text);
                end_daemon();
                return 1;
        }
        log_line(LOG_INFO, "serving %s", self.store.path);
        start_warn_unused(&self.config, &self.store);
        notify("READY=1");
        event_base_dispatch(self.base);
        notify("STOPPING=1");
        end_daemon();
        return self.status;
}
