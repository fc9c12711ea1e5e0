/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main function of aliquot, with the list of its commands.
 */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "common/json_out.h"
#include "common/output.h"
#include "common/text.h"

const struct command commands[] = {
        { "run", NULL, "run a program whose GPU memory is limited", command_run, &argp_run, false },
        { "env", NULL, "print the environment that run would give", command_env, &argp_env, false },
        { "gpus", NULL, "list the GPUs and the limits of sessions on them", command_gpus,
          &argp_gpus, false },
        { "ls", NULL, "list the sessions", command_ls, &argp_ls, false },
        { "ps", NULL, "list the processes, and what each holds", command_ps, &argp_ps, false },
        { "show", "status", "show a session", command_show, &argp_show, false },
        { "top", NULL, "watch GPUs, sessions and processes", command_top, &argp_top, false },
        { "create", "allocate", "make a session", command_create, &argp_create, false },
        { "set", NULL, "change the limits of a session", command_set, &argp_set, false },
        { "renew", NULL, "start the TTL of a session again", command_renew, &argp_renew, false },
        { "rm", "release", "remove a session", command_rm, &argp_rm, false },
        { "events", NULL, "follow what the daemon does", command_events, &argp_events, false },
        { "policy", NULL, "show the policy for users", command_policy, &argp_policy, false },
        { "cdi", NULL, "give shares of GPUs to containers", command_cdi, &argp_cdi, false },
        { "doctor", NULL, "check whether limits would hold here", command_doctor, &argp_doctor,
          false },
        { "bench", NULL, "measure and draw the GPU time of sessions", command_bench, &argp_bench,
          false },
        { "help", NULL, "show this", command_help, NULL, false },
        { "version", NULL, "show the version", command_version, NULL, false },
        { "probe", NULL, "", command_probe, NULL, true },
        { "complete", NULL, "", command_complete, NULL, true },
        { 0 },
};

int command_fail(const char *name, int status, const struct error *err)
{
        fprintf(stderr, "aliquot %s: %s\n", name, err->text);
        return status == STATUS_NO && err->code == CLIENT_AWAY ? STATUS_AWAY : status;
}

const struct command *command_find(const char *name)
{
        for (const struct command *command = commands; command->name; command++) {
                if (strcmp(command->name, name) == 0 ||
                    (command->alias && strcmp(command->alias, name) == 0))
                        return command;
        }
        return NULL;
}

static void print_json(void)
{
        struct json_out out = { .stream = stdout };

        json_out_open(&out, NULL, '[');
        for (const struct command *command = commands; command->name; command++) {
                if (command->is_hidden)
                        continue;
                json_out_open(&out, NULL, '{');
                json_out_text(&out, "name", command->name);
                json_out_text(&out, "alias", command->alias);
                json_out_text(&out, "summary", command->summary);
                json_out_close(&out, '}');
        }
        json_out_close(&out, ']');
        json_out_end(&out);
}

static void print_list(FILE *stream)
{
        fputs("Usage: aliquot COMMAND [OPTION...]\n\n", stream);
        for (const struct command *command = commands; command->name; command++) {
                if (!command->is_hidden)
                        fprintf(stream, "  %-9s %s\n", command->name, command->summary);
        }
        fputs("\nTry: aliquot run --memory 4GiB -- python3 train.py\n"
              "aliquot COMMAND --help, or man aliquot, say more.\n",
              stream);
}

/* Starts the command with the argument "aliquot NAME" as argv[0], which its messages use. */
static int start_command(const struct command *command, int argc, char **argv)
{
        static char name[64];

        snprintf(name, sizeof(name), "aliquot %s", command->name);
        argv[0] = name;
        return command->run(argc, argv);
}

int command_help(int argc, char **argv)
{
        const struct command *command;

        if (argc < 2) {
                print_list(stdout);
                return STATUS_YES;
        }
        if (strcmp(argv[1], "--json") == 0) {
                print_json();
                return STATUS_YES;
        }
        command = command_find(argv[1]);
        if (!command) {
                fprintf(stderr, "aliquot help: there is no command %s; see aliquot help\n",
                        text_shown(argv[1]));
                return STATUS_WRONG;
        }
        return start_command(command, 2, (char *[]){ NULL, (char *)"--help", NULL });
}

int command_version(int argc, char **argv)
{
        struct json_out out = { .stream = stdout };

        if (argc < 2 || strcmp(argv[1], "--json") != 0) {
                puts("aliquot " ALIQUOT_VERSION);
                return STATUS_YES;
        }
        json_out_open(&out, NULL, '{');
        json_out_text(&out, "version", ALIQUOT_VERSION);
        json_out_close(&out, '}');
        return json_out_end(&out) < 0 ? STATUS_NO : STATUS_YES;
}

int main(int argc, char **argv)
{
        const struct command *command;

        output_watch("aliquot");
        if (argc < 2) {
                print_list(stderr);
                return STATUS_WRONG;
        }
        if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
                return command_help(1, argv);
        if (strcmp(argv[1], "--version") == 0)
                return command_version(1, argv);
        command = command_find(argv[1]);
        if (!command) {
                fprintf(stderr, "aliquot: there is no command %s; see aliquot help\n",
                        text_shown(argv[1]));
                return STATUS_WRONG;
        }
        return start_command(command, argc - 1, argv + 1);
}
