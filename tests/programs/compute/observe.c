/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands beside the programs of several sessions, in no session itself: notes what the simulator's
 * engines spent on each, and does something to one at a moment of the node's time.
 *
 *      observe every=US seconds=S [AT:patch:SESSION:JSON | AT:stop:SESSION | AT:cont:SESSION |
 *                                  AT:kill:SESSION]...
 *
 * AT is in ms since the beginning, and does not go back from one to the next. patch changes a
 * session's terms by the daemon's API and waits for its answer; the others are signals to all of
 * its processes, or to process N where SESSION is @N, and waited for until they have stopped or
 * died. Prints one object: `at_ns`, since the beginning; `busy_ns` by session then, a list for each
 * device, and likewise `flight_ns`, how long it had work in flight (with flights=on); `calls` by
 * session, how often Aliquot's library and the programs had called the driver (with calls=on);
 * `done_ns`, when each thing was done.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "abi/cuda.h"
#include "common/atomic.h"
#include "common/clock.h"
#include "sim/node/node.h"
#include "simtime.h"
#include "watch.h"

#define MS_NS UINT64_C(1000000)
#define LOOKS 20000
#define DEEDS 64
#define SESSIONS 16

static struct {
        uint64_t every_ns, length_ns;
        unsigned deeds;
        char *deed[DEEDS];
} asked = { .every_ns = 10 * MS_NS, .length_ns = 1000 * MS_NS };

static struct {
        unsigned looks, sessions, done;
        uint64_t at_ns[LOOKS], done_ns[DEEDS];
        uint32_t tag[SESSIONS];
        uint64_t busy_ns[SESSIONS][SIM_DEVICES][LOOKS];
        uint64_t flight_ns[SESSIONS][SIM_DEVICES][LOOKS];
        uint64_t calls[SESSIONS][CALLER_COUNT][LOOKS];
} noted;

/* Of each row what was last seen, and of each session what the rows had that are others' now. */
static struct {
        int32_t pid;
        uint32_t tag;
        uint64_t busy_ns[SIM_DEVICES];
} last[NODE_PROCESSES];
static uint64_t gone_ns[SESSIONS][SIM_DEVICES];

static const struct sim_node *node;
static uint64_t begun_ns;

static uint64_t since_ns(void)
{
        return clock_now_ns() - begun_ns;
}

/* -- Looks ------------------------------------------------------------------------------------ */

static bool is_session(const struct node_row *row)
{
        return load_relaxed(&row->state) != ROW_FREE && row->tag < NODE_TAGS &&
               node->tag[row->tag].name[0];
}

static unsigned session_of(uint32_t tag)
{
        unsigned i = 0;

        while (i < noted.sessions && noted.tag[i] != tag)
                i++;
        if (i == SESSIONS)
                exit(3);
        if (i == noted.sessions)
                noted.tag[noted.sessions++] = tag;
        return i;
}

static void bury(unsigned i)
{
        for (unsigned device = 0; last[i].pid && device < node->device_count; device++)
                gone_ns[session_of(last[i].tag)][device] += last[i].busy_ns[device];
        memset(&last[i], 0, sizeof(last[i]));
}

static void look_at(unsigned i, unsigned at)
{
        const struct node_row *row = &node->row[i];

        if (!is_session(row) || row->pid != last[i].pid)
                bury(i);
        if (!is_session(row))
                return;
        last[i].pid = row->pid;
        last[i].tag = row->tag;
        for (unsigned device = 0; device < node->device_count; device++) {
                last[i].busy_ns[device] =
                        load_relaxed(&node->meter[i][device][ENGINE_COMPUTE].total_ns);
                noted.busy_ns[session_of(row->tag)][device][at] += last[i].busy_ns[device];
        }
}

static void count_calls(unsigned session, unsigned at)
{
        uint32_t tag = noted.tag[session];

        for (unsigned call = 1; call < NODE_CALLS && node->call_name[call][0]; call++) {
                for (unsigned caller = 0; caller < CALLER_COUNT; caller++)
                        noted.calls[session][caller][at] +=
                                load_relaxed(&node->calls[tag][call][caller]);
        }
}

static void look(void)
{
        unsigned at = noted.looks;

        if (at == LOOKS)
                return;
        noted.at_ns[at] = since_ns();
        for (unsigned i = 0; i < NODE_PROCESSES && i < load_relaxed(&node->row_high); i++)
                look_at(i, at);
        for (unsigned session = 0; session < noted.sessions; session++) {
                const struct node_tag *tag = &node->tag[noted.tag[session]];

                for (unsigned device = 0; device < node->device_count; device++) {
                        noted.busy_ns[session][device][at] += gone_ns[session][device];
                        noted.flight_ns[session][device][at] =
                                flight_ns(&tag->column[device].flight, clock_now_ns());
                }
                count_calls(session, at);
        }
        noted.looks++;
}

/* -- Deeds ------------------------------------------------------------------------------------ */

/* With open eyes: who sleeps where the simulator cannot see it is passed over by its time. */
static void patch(const char *session, const char *body)
{
        struct sockaddr_un to = { .sun_family = AF_UNIX };
        char request[1024], answer[64] = { 0 };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int bytes = snprintf(request, sizeof(request),
                             "PATCH /v1/sessions/%s HTTP/1.1\r\nHost: localhost\r\n"
                             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                             session, strlen(body), body);

        snprintf(to.sun_path, sizeof(to.sun_path), "%s/aliquotd.sock",
                 getenv("ALIQUOT_RUNTIME_DIR"));
        if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
            write(fd, request, (size_t)bytes) != bytes)
                exit(3);
        fcntl(fd, F_SETFL, O_NONBLOCK);
        while (read(fd, answer, sizeof(answer) - 1) <= 0)
                sched_yield();
        close(fd);
        if (strncmp(answer, "HTTP/1.1 200", 12) == 0)
                return;
        fprintf(stderr, "PATCH %s %s: %s\n", session, body, answer);
        exit(1);
}

/* 0: it is gone. */
static char state_of(int32_t pid)
{
        char path[64], text[256] = "";
        const char *end;
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        file = fopen(path, "re");
        if (!file)
                return 0;
        end = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
        fclose(file);
        return end ? end[2] : 0;
}

static bool has_threads(int32_t pid)
{
        char path[64];
        struct stat status;

        snprintf(path, sizeof(path), "/proc/%d/task", pid);
        return stat(path, &status) == 0 && status.st_nlink > 3;
}

/* The kernel takes its time, most of all on a busy machine; meanwhile the simulator's stands. */
static void await_effect(int32_t pid, int number)
{
        if (number == SIGSTOP) {
                while (state_of(pid) != 'T')
                        sched_yield();
        }
        if (number == SIGKILL) {
                while (state_of(pid) && (state_of(pid) != 'Z' || has_threads(pid)))
                        sched_yield();
        }
}

static bool signal_process(int32_t pid, int number)
{
        if (kill(pid, number) < 0)
                return false;
        await_effect(pid, number);
        return true;
}

static void send_signal(const char *session, int number)
{
        unsigned sent = session[0] == '@' && signal_process(atoi(session + 1), number);

        for (unsigned i = 0; i < NODE_PROCESSES && i < load_relaxed(&node->row_high); i++) {
                const struct node_row *row = &node->row[i];

                if (load_relaxed(&row->state) != ROW_LIVE || !is_session(row) ||
                    strcmp(node->tag[row->tag].name, session) != 0)
                        continue;
                sent += signal_process(row->pid, number);
        }
        if (!sent) {
                fprintf(stderr, "nobody of %s to send signal %d to\n", session, number);
                exit(1);
        }
}

static void act(const char *deed)
{
        char kind[8], session[32];
        int json = 0;

        sscanf(deed, "%*u:%7[^:]:%31[^:]:%n", kind, session, &json);
        if (strcmp(kind, "patch") == 0 && json)
                patch(session, deed + json);
        else if (strcmp(kind, "stop") == 0)
                send_signal(session, SIGSTOP);
        else if (strcmp(kind, "cont") == 0)
                send_signal(session, SIGCONT);
        else if (strcmp(kind, "kill") == 0)
                send_signal(session, SIGKILL);
        else
                exit(2);
        noted.done_ns[noted.done++] = since_ns();
}

/* The next look or the next deed, whichever comes first. */
static void go_on(uint64_t look_ns)
{
        while (noted.done < asked.deeds) {
                uint64_t at_ns = strtoull(asked.deed[noted.done], NULL, 10) * MS_NS;

                if (at_ns > look_ns)
                        break;
                if (at_ns > since_ns())
                        clock_sleep_ns(at_ns - since_ns());
                act(asked.deed[noted.done]);
        }
        if (look_ns > since_ns())
                clock_sleep_ns(look_ns - since_ns());
        look();
}

/* -- The whole -------------------------------------------------------------------------------- */

static void print_list(const uint64_t *list, unsigned count)
{
        printf("[");
        for (unsigned i = 0; i < count; i++)
                printf("%s%llu", i ? ", " : "", (unsigned long long)list[i]);
        printf("]");
}

/* Of each session `count` lists; `stride` is how many there are room for. */
static void print_sessions(const char *name, const uint64_t *lists, unsigned count, unsigned stride)
{
        printf(", \"%s\": {", name);
        for (unsigned i = 0; i < noted.sessions; i++) {
                printf("%s\"%s\": [", i ? ", " : "", node->tag[noted.tag[i]].name);
                for (unsigned list = 0; list < count; list++) {
                        printf("%s", list ? ", " : "");
                        print_list(lists + (size_t)(i * stride + list) * LOOKS, noted.looks);
                }
                printf("]");
        }
        printf("}");
}

static void print(void)
{
        printf("{\"at_ns\": ");
        print_list(noted.at_ns, noted.looks);
        printf(", \"done_ns\": ");
        print_list(noted.done_ns, noted.done);
        print_sessions("busy_ns", noted.busy_ns[0][0], node->device_count, SIM_DEVICES);
        print_sessions("flight_ns", noted.flight_ns[0][0], node->device_count, SIM_DEVICES);
        print_sessions("calls", noted.calls[0][0], CALLER_COUNT, CALLER_COUNT);
        printf("}\n");
}

static void read_argument(char *argument)
{
        if (strncmp(argument, "every=", 6) == 0)
                asked.every_ns = strtoull(argument + 6, NULL, 10) * 1000;
        else if (strncmp(argument, "seconds=", 8) == 0)
                asked.length_ns = (uint64_t)(strtod(argument + 8, NULL) * 1e9);
        else if (asked.deeds < DEEDS)
                asked.deed[asked.deeds++] = argument;
}

int main(int argc, char **argv)
{
        for (int i = 1; i < argc; i++)
                read_argument(argv[i]);
        OK(cuInit(0));
        node = watch_node();
        simtime_follow();
        clock_join(TIME_FOREGROUND);
        begun_ns = clock_now_ns();
        for (uint64_t at_ns = 0; at_ns <= asked.length_ns; at_ns += asked.every_ns)
                go_on(at_ns);
        print();
        return 0;
}
