/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot complete WORD...: prints the possible completions of the last word, one per line. The
 * completion scripts of all shells call this command, so they are always up to date.
 */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/cards.h"
#include "cli/client_profiles.h"
#include "cli/names.h"
#include "cli/options.h"
#include "cli/presence.h"
#include "cli/request.h"
#include "cli/sorts.h"

static void offer(const char *candidate, const char *typed)
{
        if (strncmp(candidate, typed, strlen(typed)) == 0)
                puts(candidate);
}

static void offer_commands(const char *typed)
{
        for (const struct command *command = commands; command->name; command++) {
                if (!command->is_hidden)
                        offer(command->name, typed);
        }
}

static void offer_options(const struct argp *argp, const char *typed)
{
        const struct argp_option *option = argp->options;
        const struct argp_child *child = argp->children;
        char text[64];

        for (; option && option->name; option++) {
                if (option->flags & OPTION_HIDDEN)
                        continue;
                snprintf(text, sizeof(text), "--%s", option->name);
                offer(text, typed);
        }
        for (; child && child->argp; child++)
                offer_options(child->argp, typed);
}

static void offer_sessions(const char *typed)
{
        struct store store;
        struct names names;

        if (options_find_store(&store, NULL) < 0 || names_read(&store, &names, NULL) < 0)
                return;
        for (size_t i = 0; i < names.count; i++)
                offer(names.at[i], typed);
        names_free(&names);
}

static void offer_gpus(const char *typed)
{
        static struct cli_request request;
        char text[UUID_TEXT_BYTES];

        request.is_of_node = true;
        if (request_open_driver(&(struct request_flags){ 0 }, &request, NULL) < 0 ||
            request_cards(&request, NULL) < 0)
                return;
        for (unsigned i = 0; i < request.cards.count; i++) {
                const struct card *card = &request.cards.card[i];

                snprintf(text, sizeof(text), "%u", card->index);
                if (!card->is_instance)
                        offer(text, typed);
                offer(uuid_format(card->uuid, card->is_instance, text), typed);
        }
        offer("any", typed);
}

static void offer_value(const char *option, const char *typed)
{
        if (strcmp(option, "--gpu") == 0)
                offer_gpus(typed);
        else if (strcmp(option, "--session") == 0)
                offer_sessions(typed);
        else if (strcmp(option, "--context") == 0) {
                offer("charge", typed);
                offer("free", typed);
        } else if (strcmp(option, "--on-end") == 0) {
                offer("deny-new", typed);
                offer("term", typed);
                offer("kill", typed);
        } else if (strcmp(option, "--sort") == 0) {
                for (unsigned i = 0; i < SORT_KEYS; i++)
                        offer(sort_names[i], typed);
        }
}

static void offer_shares(const char *typed)
{
        struct client_profile *profile = NULL;
        struct store store;
        size_t count = 0;

        if (options_find_store(&store, NULL) < 0 || presence_look(&store) != PRESENCE_LISTENS ||
            client_profiles(&store, &profile, &count, NULL) < 0)
                return;
        for (size_t i = 0; i < count; i++)
                offer(profile[i].name, typed);
        free(profile);
}

static void offer_cdi(int argc, char **argv)
{
        static const char *const verbs[] = { "add", "enable", "generate", "ls", "rm" };
        const char *typed = argv[argc - 1];

        for (unsigned i = 0; argc == 3 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
                offer(verbs[i], typed);
        if (argc > 3 && (strcmp(argv[2], "rm") == 0 || strcmp(argv[2], "generate") == 0))
                offer_shares(typed);
}

/* Offers the words that may come first in the arguments of some subcommands. */
static void offer_verbs(const struct command *command, int argc, char **argv)
{
        const char *typed = argv[argc - 1];

        if (strcmp(command->name, "help") == 0)
                offer_commands(typed);
        if (strcmp(command->name, "bench") == 0 && argc == 3)
                offer("share", typed);
        if (strcmp(command->name, "policy") == 0 && argc == 3) {
                offer("show", typed);
                offer("check", typed);
        }
        if (strcmp(command->name, "cdi") == 0 && typed[0] != '-' &&
            !options_takes_value(&argp_cdi, argv[argc - 2]))
                offer_cdi(argc, argv);
}

int command_complete(int argc, char **argv)
{
        static const char *const of_sessions[] = { "show", "set", "renew", "rm", "ps", "events" };
        const struct command *command = argc > 2 ? command_find(argv[1]) : NULL;
        const char *typed = argc > 1 ? argv[argc - 1] : "";

        if (argc < 3)
                offer_commands(typed);
        if (!command)
                return STATUS_YES;
        offer_verbs(command, argc, argv);
        if (!command->argp)
                return STATUS_YES;
        if (options_takes_value(command->argp, argv[argc - 2]))
                offer_value(argv[argc - 2], typed);
        else if (typed[0] == '-')
                offer_options(command->argp, typed);
        for (unsigned i = 0; i < sizeof(of_sessions) / sizeof(of_sessions[0]); i++) {
                if (strcmp(command->name, of_sessions[i]) == 0 && typed[0] != '-' &&
                    !options_takes_value(command->argp, argv[argc - 2]))
                        offer_sessions(typed);
        }
        return STATUS_YES;
}
