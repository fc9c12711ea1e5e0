/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/config_keys.h"

#include <string.h>

#define KI (UINT64_C(1) << 10)
#define MI (UINT64_C(1) << 20)
#define TI (UINT64_C(1) << 40)
#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)
#define YEAR (365 * DAY)

#define LIVE true
#define RESTART false
/* Arguments: section, name, type, field, default, minimum, maximum, whether a reload applies it,
 * help text, and for CONFIG_WORD the permitted values. */
#define KEY(of, called, kind, member, normal, low, high, is_live, text, ...)                       \
        {                                                                                          \
                .section = of, .name = called, .type = CONFIG_##kind,                              \
                .offset = offsetof(struct config, member),                                         \
                .bytes = sizeof(((struct config *)0)->member), .standard = normal, .least = low,   \
                .most = high, .is_reloadable = is_live, .meaning = text, .words = { __VA_ARGS__ }, \
        }

const struct config_key config_keys[] = {
        KEY("daemon", "runtime_dir", FOLDER, runtime_dir, "", 0, 0, RESTART,
            "Sessions and the socket; empty: /run/aliquot or what ALIQUOT_RUNTIME_DIR's rules "
            "give"),
        KEY("daemon", "state_dir", FOLDER, state_dir, "", 0, 0, RESTART,
            "The database; empty: /var/lib/aliquot, or ~/.local/state/aliquot of a user's daemon"),
        KEY("daemon", "log", WORD, log_level, "info", 0, 0, LIVE,
            "Level of the messages on standard error", "off", "error", "warn", "info", "debug"),

        KEY("http", "address", ADDRESS, http_address, "", 0, 0, RESTART,
            "TCP address besides the socket; empty: none. Anyone who connects reads all sessions, "
            "unless token_required"),
        KEY("http", "allow_remote", SWITCH, is_remote_allowed, "no", 0, 0, RESTART,
            "Let the address be one that other machines reach (there is no encryption)"),
        KEY("http", "token_file", FILE, token_file, "", 0, 0, LIVE,
            "Secret of administrators over TCP; empty: none, TCP only reads"),
        KEY("http", "token_required", SWITCH, is_token_required, "no", 0, 0, LIVE,
            "yes: without the token nothing can be read over TCP either; no: anyone who connects "
            "reads "
            "all sessions"),
        KEY("http", "max_connections", NUMBER, connections_max, "512", 1, 65536, LIVE,
            "Open connections of all peers together"),
        KEY("http", "max_peer_connections", NUMBER, peer_connections_max, "128", 1, 65536, LIVE,
            "Open connections of one peer (a user, or an address)"),
        KEY("http", "rate", NUMBER, rate_per_second, "0", 0, 1000000, LIVE,
            "Requests a second of one peer; 0: any number"),
        KEY("http", "burst", NUMBER, rate_burst, "200", 1, 1000000, LIVE,
            "Requests of one peer that may come at once before the rate counts"),
        KEY("http", "max_body", SIZE, body_bytes_max, "64KiB", KI, 16 * MI, LIVE,
            "The largest body of a request"),
        KEY("http", "max_header", SIZE, header_bytes_max, "16KiB", KI, MI, LIVE,
            "The largest head of a request"),
        KEY("http", "request_timeout", TIME, request_timeout_ns, "10s", 100 * MS, HOUR, LIVE,
            "Time from a request's first byte to its last, and time for its answer"),
        KEY("http", "idle_timeout", TIME, idle_timeout_ns, "1m", SECOND, DAY, LIVE,
            "Time between two requests of one connection"),

        KEY("socket", "mode", MODE, socket_mode, "0600", 0600, 0777, RESTART,
            "Users who may connect to the socket; each of them but root sees and changes only "
            "their own sessions"),
        KEY("socket", "group", TEXT, socket_group, "", 0, 0, RESTART,
            "The socket's group, by name or number; empty: the daemon's own"),

        KEY("join", "token_file", FILE, join_token_file, "", 0, 0, LIVE,
            "Secret of programs that join sessions by their sockets, not that of http; empty: "
            "none"),
        KEY("join", "token_required", SWITCH, is_join_token_required, "no", 0, 0, LIVE,
            "yes: a join by socket needs the token; no: none is needed, and a wrong one is "
            "refused"),
        KEY("join", "max_connections", NUMBER, join_connections_max, "512", 1, 65536, LIVE,
            "Connections to sessions' sockets that have said nothing yet; the oldest makes room"),
        KEY("join", "max_session_connections", NUMBER, join_session_connections_max, "128", 1,
            65536, LIVE, "The same of one session"),
        KEY("join", "rate", NUMBER, join_rate_per_second, "1000", 0, 1000000, LIVE,
            "Joins by socket a second of one session; 0: any number"),
        KEY("join", "burst", NUMBER, join_rate_burst, "4096", 1, 1000000, LIVE,
            "Joins of one session that may come at once before the rate counts"),
        KEY("join", "timeout", TIME, join_timeout_ns, "2s", 100 * MS, HOUR, LIVE,
            "Time from a connection to its message"),

        KEY("profiles", "names", PROFILES, profiles, "", 0, 0, LIVE,
            "Shares that containers are given, by a door each; others are added by the API"),
        KEY("profiles", "wait", TIME, profiles_wait_ns, "none", 0, DAY, LIVE,
            "How long the first program of a container waits for room on a full card; none: it is "
            "refused at once"),
        KEY("profiles", "max_connections", NUMBER, door_connections_max, "256", 1, 65536, LIVE,
            "Connections to all doors that have not got their answer; the oldest makes room"),

        KEY("admission", "overcommit", WORD, policy.overcommit, "strict", 0, 0, LIVE,
            "How much memory of a card may be promised: all there is, a ratio of it, or any amount",
            "strict", "ratio", "none"),
        KEY("admission", "ratio", PERCENT, policy.ratio_percent, "100%", 100, 10000, LIVE,
            "With overcommit = ratio: the most memory to promise, of the card's"),
        KEY("admission", "reserve", SIZE, policy.reserve_bytes, "0", 0, TI, LIVE,
            "Memory of each card that is promised to nobody, beside what the card keeps for "
            "itself"),
        KEY("admission", "choice", WORD, policy.choice, "best-fit", 0, 0, LIVE,
            "The card of a session that names none: the least room that is enough, or the most",
            "best-fit", "least-loaded"),
        KEY("admission", "ttl", TIME, policy.ttl_ns, "none", 0, 10 * YEAR, LIVE,
            "TTL of a session that asks for none; none: admission.ttl_most"),
        KEY("admission", "ttl_most", TIME, policy.ttl_max_ns, "none", 0, 10 * YEAR, LIVE,
            "The longest TTL that a session may ask for"),
        KEY("admission", "on_end", WORD, policy.ending, "deny-new", 0, 0, LIVE,
            "What happens to programs whose session has ended: no more memory, SIGTERM, SIGKILL",
            "deny-new", "term", "kill"),
        KEY("admission", "grace", TIME, policy.grace_ns, "10s", 0, DAY, LIVE,
            "With on_end = term: time from SIGTERM to SIGKILL"),
        KEY("admission", "sessions_per_owner", NUMBER, policy.owner_max, "64", 0, SESSIONS_MAX,
            LIVE,
            "The most sessions of one user; root and the daemon's own user may have any number. 0: "
            "no "
            "limit"),
        KEY("admission", "context_free", SWITCH, may_all_free_contexts, "no", 0, 0, LIVE,
            "All users may create sessions whose contexts are not charged; no: administrators "
            "only"),

        KEY("default", "swap", SWITCH, is_swap_default, "no", 0, 0, LIVE,
            "A session of one GPU that says nothing of swap takes turns of memory, and programs "
            "with the library and no setting get such a session each"),

        KEY("swap", "mode", WORD, swap.mode, "auto", 0, 0, LIVE,
            "Sessions that swap: as many at a time as fit, or one; parallel: no turn ends by the "
            "clock",
            "auto", "serial", "parallel"),
        KEY("swap", "turn", TIME, swap.turn_ns, "none", 0, HOUR, LIVE,
            "Length of a turn of memory; none: by the cost of a change"),
        KEY("swap", "stuck", WORD, kills_stuck, "wait", 0, 0, LIVE,
            "Programs of a session that has not given its memory back for 10 s: waited for, or "
            "sent SIGKILL",
            "wait", "kill"),

        KEY("watch", "strangers", WORD, watch.strangers, "report", 0, 0, LIVE,
            "What happens to programs of no session that use a GPU; signals in managed_cgroups "
            "only",
            "ignore", "report", "term", "kill"),
        KEY("watch", "managed_cgroups", CGROUPS, managed_cgroups, "", 0, 0, LIVE,
            "Cgroups in which strangers may be sent signals, with the cgroups below them"),
        KEY("watch", "forged", WORD, watch.forged, "clamp", 0, 0, LIVE,
            "Action on a process that holds more memory than its ledger says; clamp: no new memory",
            "ignore", "report", "term", "kill", "clamp"),
        KEY("watch", "tolerance", SIZE, watch.tolerance_bytes, "1GiB", 0, TI, LIVE,
            "Memory that a process may hold of a GPU beyond its ledger: contexts, code, the "
            "driver's own"),

        KEY("watch", "claims", WORD, claims.is_off, "report", 0, 0, LIVE,
            "Report sessions that use a GPU for longer than they say, or than their cap allows",
            "report", "off"),
        KEY("watch", "claims_tolerance", PERCENT, claims.tolerance_percent, "10%", 1, 100, LIVE,
            "Part of a GPU's time that the driver may show beyond what a session says"),

        KEY("compute", "leases", SWITCH, has_leases, "yes", 0, 0, RESTART,
            "yes: sessions that want one GPU at once take turns; no: each only keeps its own cap"),

        KEY("metrics", "sessions", SWITCH, has_session_metrics, "no", 0, 0, LIVE,
            "Metrics of each session, under its name (one series each)"),

        KEY("audit", "keep_days", NUMBER, audit_days, "90", 0, 36500, LIVE,
            "Days for which the audit trail is kept; 0: for ever"),
        KEY("audit", "keep_rows", NUMBER, audit_rows, "100000", 0, 1000000000, LIVE,
            "Events that the audit trail keeps; 0: any number"),
};

const size_t config_key_count = sizeof(config_keys) / sizeof(config_keys[0]);

const struct config_key *config_key_find(const char *section, const char *name)
{
        for (size_t i = 0; i < config_key_count; i++) {
                if (strcmp(config_keys[i].section, section) == 0 &&
                    strcmp(config_keys[i].name, name) == 0)
                        return &config_keys[i];
        }
        return NULL;
}

const char *config_key_now(const struct config_key *key, const char *word)
{
        static const struct {
                const char *section, *name, *word, *now;
        } former[] = {
                { "watch", "claims", "clamp", "report" },
                { "watch", "claims", "term", "report" },
                { "watch", "claims", "kill", "report" },
                { "watch", "claims", "ignore", "off" },
        };

        for (size_t i = 0; i < sizeof(former) / sizeof(former[0]); i++) {
                if (strcmp(former[i].section, key->section) == 0 &&
                    strcmp(former[i].name, key->name) == 0 && strcmp(former[i].word, word) == 0)
                        return former[i].now;
        }
        return NULL;
}
