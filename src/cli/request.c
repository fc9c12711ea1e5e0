/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the flags. Each flag sets the same setting as an ALIQUOT_ variable and takes precedence
 * over it. So this file has the names of the flags, and settings/ parses the values.
 */
#include "cli/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/client_devices.h"
#include "cli/options.h"
#include "cli/presence.h"
#include "common/injected.h"
#include "common/text.h"

enum key {
        KEY_SIM = 0x100,
        KEY_MEMORY,
        KEY_COMPUTE,
        KEY_GUARANTEE,
        KEY_WEIGHT,
        KEY_PRIORITY,
        KEY_GANG,
        KEY_OVERSUBSCRIBE,
        KEY_SWAP,
        KEY_TTL,
        KEY_CONTEXT,
        KEY_DEVICE_NAME,
        KEY_SESSION,
        KEY_GPU,
        KEY_ON_END,
        KEY_LABEL,
};

static const struct {
        enum key key;
        const char *variable;
        const char *flag;
} mirrors[] = {
        { KEY_MEMORY, "ALIQUOT_MEMORY", "--memory" },
        { KEY_COMPUTE, "ALIQUOT_COMPUTE", "--compute" },
        { KEY_GUARANTEE, "ALIQUOT_GUARANTEE", "--guarantee" },
        { KEY_WEIGHT, "ALIQUOT_WEIGHT", "--weight" },
        { KEY_PRIORITY, "ALIQUOT_PRIORITY", "--priority" },
        { KEY_GANG, "ALIQUOT_GANG", "--gang" },
        { KEY_OVERSUBSCRIBE, "ALIQUOT_OVERSUBSCRIBE", "--oversubscribe" },
        { KEY_SWAP, "ALIQUOT_SWAP", "--swap" },
        { KEY_TTL, "ALIQUOT_TTL", "--ttl" },
        { KEY_CONTEXT, "ALIQUOT_CONTEXT", "--context" },
        { KEY_DEVICE_NAME, "ALIQUOT_DEVICE_NAME", "--device-name" },
        { KEY_SESSION, "ALIQUOT_SESSION", "--session" },
        { KEY_GPU, "ALIQUOT_GPU", "--gpu" },
};

#define MIRRORS (sizeof(mirrors) / sizeof(mirrors[0]))
_Static_assert(MIRRORS <= REQUEST_FLAGS, "a place for each");

static void take_flag(struct argp_state *state, unsigned mirror, const char *value)
{
        struct request_flags *flags = state->input;
        unsigned at = 0;

        if (strcmp(value, "--") == 0)
                argp_error(state, "%s: its value is missing before --", mirrors[mirror].flag);
        for (; flags->flag[at].variable; at++) {
                if (strcmp(flags->flag[at].flag, mirrors[mirror].flag) == 0)
                        argp_error(state, "%s %s: given a second time, after %s; keep one",
                                   mirrors[mirror].flag, value, flags->flag[at].value);
        }
        flags->flag[at] =
                (struct settings_flag){ mirrors[mirror].variable, mirrors[mirror].flag, value };
}

static void take_on_end(struct argp_state *state, const char *value)
{
        struct request_flags *flags = state->input;

        if (!text_is_same(value, "deny-new") && !text_is_same(value, "term") &&
            !text_is_same(value, "kill"))
                argp_error(state, "--on-end %s: expected deny-new, term or kill",
                           text_shown(value));
        flags->on_end = value;
}

static void take_label(struct argp_state *state, const char *value)
{
        struct request_flags *flags = state->input;
        const char *equals = strchr(value, '=');

        if (!equals || equals == value)
                argp_error(state, "--label %s: expected KEY=VALUE", text_shown(value));
        if (!text_is_plain(value))
                argp_error(state, "--label %s: expected UTF-8 without control characters",
                           text_shown(value));
        if (flags->label_count == REQUEST_LABELS)
                argp_error(state, "--label %s: more than %u", text_shown(value), REQUEST_LABELS);
        flags->label[flags->label_count++] = value;
}

/* Parses "any" and "any=2". False: it is neither. */
static bool take_any(struct argp_state *state, const char *value)
{
        struct request_flags *flags = state->input;
        unsigned count = 1;
        char rest;

        if (strcmp(value, "any") != 0 && sscanf(value, "any=%2u%c", &count, &rest) != 1)
                return false;
        if (count < 1 || count > PAGE_DEVICES)
                argp_error(state, "--gpu %s: expected any, or any=1 to any=%u", text_shown(value),
                           PAGE_DEVICES);
        flags->any_gpus = count;
        return true;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
        struct request_flags *flags = state->input;

        switch (key) {
        case ARGP_KEY_INIT:
                if (state->child_inputs)
                        state->child_inputs[0] = flags;
                return 0;
        case KEY_SIM:
                flags->is_sim = true;
                flags->sim_spec = value;
                return 0;
        case KEY_ON_END:
                take_on_end(state, value);
                return 0;
        case KEY_LABEL:
                take_label(state, value);
                return 0;
        case KEY_GPU:
                if (take_any(state, value))
                        return 0;
                break;
        default:
                break;
        }
        for (unsigned i = 0; i < MIRRORS; i++) {
                if ((int)mirrors[i].key == key) {
                        take_flag(state, i, value ? value : "1");
                        return 0;
                }
        }
        return ARGP_ERR_UNKNOWN;
}

static const struct argp_option sim_options[] = {
        { "sim", KEY_SIM, "SPEC", OPTION_ARG_OPTIONAL,
          "Simulated GPUs: gpus=2,memory=16GiB,model=h200", 0 },
        { 0 },
};

/* Options that are fixed when a session is created. `set` knows them too, to refuse them with a
 * reason, but does not list them in its help. */
#define MADE_OPTIONS(flags)                                       \
        {                                                         \
                "context",                                        \
                KEY_CONTEXT,                                      \
                "charge|free",                                    \
                flags,                                            \
                "Charge contexts or not (default: charge)",       \
                0                                                 \
        },                                                        \
                { "device-name",                                  \
                  KEY_DEVICE_NAME,                                \
                  "TEXT",                                         \
                  flags,                                          \
                  "Name of the card that programs see",           \
                  0 },                                            \
                { "oversubscribe",                                \
                  KEY_OVERSUBSCRIBE,                              \
                  "SIZE",                                         \
                  OPTION_ARG_OPTIONAL | (flags),                  \
                  "Use the host's memory where the card is full", \
                  0 },                                            \
                { "swap",                                         \
                  KEY_SWAP,                                       \
                  "yes|no",                                       \
                  OPTION_ARG_OPTIONAL | (flags),                  \
                  "Take turns on a full card (needs a daemon)",   \
                  0 },                                            \
        {                                                         \
                0                                                 \
        }

static const struct argp_option made_options[] = { MADE_OPTIONS(0) };
static const struct argp_option fixed_options[] = { MADE_OPTIONS(OPTION_HIDDEN) };

static const struct argp_option limits_options[] = {
        { "memory", KEY_MEMORY, "SIZE", 0, "4GiB of each GPU, or 0=4GiB,GPU-3f=25%", 0 },
        { "compute", KEY_COMPUTE, "PCT", 0, "At most 30% of a GPU's time, or 0=30,GPU-3f=50", 0 },
        { "guarantee", KEY_GUARANTEE, "PCT", 0, "At least PCT of a GPU's time (needs a daemon)",
          0 },
        { "weight", KEY_WEIGHT, "N", 0, "Relative share of what is left (default: 100)", 0 },
        { "priority", KEY_PRIORITY, "WORD", 0, "Class: rt goes before normal, normal before batch",
          0 },
        { "gang", KEY_GANG, "NAME", 0, "Sessions of one NAME run at the same time", 0 },
        { 0 },
};

static const struct argp_option life_options[] = {
        { "ttl", KEY_TTL, "TIME", 0, "End the session after 30m, 2h, ...; or none", 0 },
        { "on-end", KEY_ON_END, "WORD", 0, "At the end of the TTL: deny-new, term or kill", 0 },
        { "label", KEY_LABEL, "KEY=VALUE", 0, "Attach a label to the session", 0 },
        { 0 },
};

static const struct argp_option session_options[] = {
        { "session", KEY_SESSION, "NAME", 0, "Join or make this session (default: a new one)", 0 },
        { 0 },
};

static const struct argp_option gpu_options[] = {
        { "gpu", KEY_GPU, "SEL,...", 0, "GPUs by index or UUID prefix, or any[=N]", 0 },
        { 0 },
};

const struct argp request_sim_argp = { .options = sim_options, .parser = parse };
static const struct argp made_argp = { .options = made_options, .parser = parse };
static const struct argp fixed_argp = { .options = fixed_options, .parser = parse };
static const struct argp_child made_children[] = { { &made_argp, 0, NULL, 0 }, { 0 } };
static const struct argp_child fixed_children[] = { { &fixed_argp, 0, NULL, 0 }, { 0 } };

const struct argp request_limits_argp = { .options = limits_options,
                                          .parser = parse,
                                          .children = made_children };
const struct argp request_change_argp = { .options = limits_options,
                                          .parser = parse,
                                          .children = fixed_children };
const struct argp request_session_argp = { .options = session_options, .parser = parse };
const struct argp request_gpu_argp = { .options = gpu_options, .parser = parse };
const struct argp request_life_argp = { .options = life_options, .parser = parse };

static const char *wish_but_time(const struct request_flags *flags)
{
        if (flags->on_end)
                return "--on-end";
        if (flags->label_count)
                return "--label";
        return flags->any_gpus ? "--gpu any" : NULL;
}

static const char *rank_wish(const struct settings_rank *rank)
{
        if (rank->has_guarantee)
                return "--guarantee";
        if (rank->weight)
                return "--weight";
        if (rank->priority[0])
                return "--priority";
        return rank->has_gang ? "--gang" : NULL;
}

const char *request_daemon_wish(const struct request_flags *flags,
                                const struct cli_request *request)
{
        const char *rank = rank_wish(&request->settings.rank);

        if (request->settings.ttl_ns)
                return "--ttl";
        if (request->settings.swaps)
                return "--swap";
        return rank ? rank : wish_but_time(flags);
}

const char *request_daemon_asked(const struct request_flags *flags,
                                 const struct cli_request *request)
{
        static const char *const asked[] = { "--ttl", "--guarantee", "--weight", "--priority",
                                             "--gang" };

        for (unsigned i = 0; flags->flag[i].variable; i++) {
                for (unsigned j = request->settings.ttl_ns ? 0 : 1; j < 5; j++) {
                        if (strcmp(flags->flag[i].flag, asked[j]) == 0)
                                return asked[j];
                }
        }
        return wish_but_time(flags);
}

int request_read(const struct request_flags *flags, bool flags_only, struct cli_request *ret,
                 struct error *err)
{
        ret->is_daemons_choice = flags->any_gpus > 0;
        if (injected_has(INJECTED_SELF))
                return fail(err, -EPERM,
                            "programs of this container are in its share (" INJECTED_SELF
                            "), and in no other session; start them without this command");
        return settings_read_flags(&ret->settings, flags_only ? NULL : environ, flags->flag, err);
}

static int set_variable(const char *name, const char *value, struct error *err)
{
        return setenv(name, value, 1) < 0 ? fail(err, -errno, "%s: %m", name) : 0;
}

/* Sets the variables that select the simulator. The program inherits this process's environment, so
 * they are not in the list of exports. */
static int choose_sim(const struct request_flags *flags, const struct installation *own,
                      struct error *err)
{
        const char *spec = flags->sim_spec ? flags->sim_spec : getenv("ALIQUOT_SIM");
        int rc;

        if (!own->sim_nvml[0] || !own->sim_cuda[0])
                return fail(err, -ENOENT,
                            "--sim: the simulated GPU is not installed beside %s; install it again",
                            own->library);
        rc = set_variable("ALIQUOT_SIM", spec ? spec : "", err);
        if (rc == 0)
                rc = set_variable("ALIQUOT_REAL_LIBCUDA", own->sim_cuda, err);
        if (rc == 0)
                rc = set_variable("ALIQUOT_REAL_LIBNVML", own->sim_nvml, err);
        return rc;
}

int request_open_driver(const struct request_flags *flags, struct cli_request *request,
                        struct error *err)
{
        /* ALIQUOT_SIM means the same as --sim, but a driver given in ALIQUOT_REAL_LIBNVML takes
         * precedence over it. */
        bool is_sim = flags->is_sim || (getenv("ALIQUOT_SIM") && !getenv("ALIQUOT_REAL_LIBNVML"));
        int rc = installation_find(&request->own, err);

        if (rc == 0 && is_sim)
                rc = choose_sim(flags, &request->own, err);
        request->is_sim = is_sim;
        return rc < 0 ? rc : library_load(&request->own, &request->library, err);
}

/* Requests the GPUs of the daemon. False: no daemon serves, or it does not report them. */
static bool ask_daemon(struct cards *ret)
{
        static struct client_device device[SETTINGS_GPUS];
        struct store store;
        int count;

        if (!client_is_built || options_find_store(&store, NULL) < 0 ||
            presence_look(&store) != PRESENCE_LISTENS)
                return false;
        count = client_devices(&store, 0, device, NULL);
        if (count < 0)
                return false;
        *ret = (struct cards){ .count = (unsigned)count };
        for (int i = 0; i < count; i++)
                ret->card[i] = device[i].card;
        return true;
}

int request_cards(struct cli_request *request, struct error *err)
{
        bool is_named = request->is_sim || getenv("ALIQUOT_REAL_LIBNVML");
        int rc;

        if (request->is_of_node && !is_named && ask_daemon(&request->cards))
                return 0;
        rc = library_cards(&request->library, &request->cards, err);

        if (rc == 0 || !request->is_sim)
                return rc;
        return fail(err, rc,
                    "--sim=%s: the simulated GPU does not start, see above; expected such as "
                    "gpus=2,memory=16GiB,model=h200",
                    text_shown(getenv("ALIQUOT_SIM")));
}

static int read_cards(struct cli_request *request, struct error *err)
{
        struct doctor_api cuda;
        int rc = request_cards(request, err);

        if (rc == 0) {
                request->has_cards = true;
                cards_as_gpus(&request->cards, &request->gpus);
                return 0;
        }
        /* a container may have the driver without NVML: limits for all GPUs still work */
        if (rc == -ENOENT && (request->may_lack_driver ||
                              (library_api(&request->library, "cuda", &cuda) && cuda.is_open))) {
                request->gpus.count = -1;
                return 0;
        }
        return rc;
}

/* Checks the selection against CUDA_VISIBLE_DEVICES of this process: only those GPUs can be made
 * visible to a program. */
static int check_visible(const struct cli_request *request, struct error *err)
{
        const char *visible = getenv("CUDA_VISIBLE_DEVICES");
        struct settings_selection outer;
        unsigned shared = 0;

        if (!visible)
                return 0;
        if (settings_select(visible, &request->gpus, &outer, NULL) == 0) {
                for (unsigned i = 0; i < request->selection.count; i++) {
                        for (unsigned j = 0; j < outer.count; j++)
                                shared += request->selection.at[i] == outer.at[j];
                }
        }
        if (shared == request->selection.count)
                return 0;
        return fail(err, -EINVAL,
                    "CUDA_VISIBLE_DEVICES=%s shows other GPUs; unset it, or choose among those",
                    text_shown(visible));
}

static int select_gpus(struct cli_request *request, struct error *err)
{
        const char *wanted = request->settings.gpu;
        int rc;

        if (!wanted[0])
                return 0;
        if (!request->has_cards)
                return fail(err, -ENODEV, "--gpu %s: the GPUs of this machine cannot be listed",
                            text_shown(wanted));
        rc = settings_select(wanted, &request->gpus, &request->selection, err);
        if (rc == 0)
                rc = check_visible(request, err);
        return rc < 0 ? wrap(err, "--gpu %s", text_shown(wanted)) : 0;
}

int request_resolve(struct cli_request *request, struct error *err)
{
        int rc = read_cards(request, err);

        if (rc == 0 && !request->is_daemons_choice)
                rc = settings_resolve(&request->settings, &request->gpus, &request->limits, err);
        if (rc == 0)
                rc = select_gpus(request, err);
        if (rc == 0 && !request->is_daemons_choice)
                rc = settings_check_selected(&request->settings, &request->gpus,
                                             &request->selection, &request->limits, err);
        return rc;
}

bool request_selects(const struct cli_request *request, const uint8_t uuid[16])
{
        for (unsigned i = 0; i < request->selection.count; i++) {
                if (memcmp(request->gpus.gpu[request->selection.at[i]].uuid, uuid, 16) == 0)
                        return true;
        }
        return false;
}

void request_bound(struct cli_request *request)
{
        struct settings_limits *limits = &request->limits;

        if (!request->selection.count)
                return;
        for (unsigned i = 0; i < limits->count; i++) {
                if (!request_selects(request, limits->device[i].uuid))
                        limits->device[i].limit_bytes = SETTINGS_NOTHING_BYTES;
        }
        limits->default_bytes = SETTINGS_NOTHING_BYTES;
        limits->default_micro_percent = 0;
}
