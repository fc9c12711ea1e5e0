/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node with a session "a" and the sockets of its sessions, and who joins by one. Daemon and
 * joiner are this one process, which turns the loop between what they say.
 */
#ifndef TESTS_UNIT_DAEMON_TENANT_FIXTURE_H
#define TESTS_UNIT_DAEMON_TENANT_FIXTURE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/text.h"
#include "daemon/tenant/tenant_parts.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)
#define TURNS 2000 /* of a millisecond: a bound on hangs */

static struct store store;
static struct config config;
static struct event_base *base;
static struct sink *sink;
static struct database *database;
static struct node *node;
static struct tenants *tenants;
static const uint8_t gpu[16] = { 7 };

/* What a joiner was answered. */
static union message_answer answer;
static int limits = -1, slots = -1;

/* -- The stage -------------------------------------------------------------------------------- */

/* What arrived is queued in one turn of the loop, and served in the next. */
static inline void turn(void)
{
        event_base_loop(base, EVLOOP_NONBLOCK);
        event_base_loop(base, EVLOOP_NONBLOCK);
}

static inline void open_tenants(void)
{
        const struct tenants_options options = { base, sink, node, &config };
        struct error err = { 0 };

        if (tenants_start(&tenants, &options, &err) < 0)
                fail_msg("%s", err.text);
}

static inline void step(const struct sessions_event *event)
{
        static struct sessions_actions actions;
        struct error err = { 0 };

        if (node_step(node, event, "test", &actions, &err) < 0 || actions.answer != SESSIONS_YES)
                fail_msg("%d %s", actions.answer, err.text);
}

static inline void create_for(const char *name, uint32_t owner_uid)
{
        struct sessions_one session = {
                .id = { 1 }, .owner_uid = owner_uid, .weight = 100, .share_count = 1
        };

        memcpy(session.id + 1, name, strlen(name));
        memcpy(session.share[0].uuid, gpu, sizeof(gpu));
        session.share[0].memory_bytes = GIB / 16;
        text_put(session.name, sizeof(session.name), NULL, "%s", name);
        step(&(struct sessions_event){
                .type = SESSIONS_CREATE, .name = session.name, .session = &session });
}

static inline void create(const char *name)
{
        create_for(name, geteuid());
}

static inline int raise_stage(void **state)
{
        struct node_options options = { .store = &store,
                                        .policy = &config.policy,
                                        .nvml = "/no/such/library" };
        struct sessions_event here = { .type = SESSIONS_GPU_HERE };
        char path[DATABASE_PATH_BYTES];
        struct error err = { 0 };

        strcpy(store.path, "/dev/shm/aliquot-test-XXXXXX");
        assert_non_null(mkdtemp(store.path));
        snprintf(path, sizeof(path), "%.64s/" DATABASE_FILE, store.path);
        config_init(&config);
        config.policy.owner_max = 0; /* a crowd's sessions are one user's */
        base = event_base_new();
        if (sink_start(&sink, base, &err) < 0)
                fail_msg("%s", err.text);
        if (database_open(path, true, &database, &err) < 0)
                fail_msg("%s", err.text);
        options.base = base;
        options.database = database;
        if (node_open(&node, &options, &err) < 0)
                fail_msg("%s", err.text);
        memcpy(here.gpu.uuid, gpu, sizeof(gpu));
        here.gpu.card_bytes = 16 * GIB;
        step(&here);
        create("a");
        open_tenants();
        return 0;
}

static inline void drop_descriptors(void)
{
        if (limits >= 0)
                close(limits);
        if (slots >= 0)
                close(slots);
        limits = slots = -1;
}

static inline int strike_stage(void **state)
{
        char command[STORE_PATH_BYTES + 16];

        drop_descriptors();
        unsetenv("GPUSLICE_IPC_TOKEN");
        tenants_stop(tenants);
        tenants = NULL;
        sink_stop(sink);
        node_close(node);
        database_close(database);
        event_base_free(base);
        snprintf(command, sizeof(command), "rm -rf '%s'", store.path);
        return system(command);
}

/* -- A joiner --------------------------------------------------------------------------------- */

static inline struct sockaddr_un address_of(const char *name)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        snprintf(address.sun_path, sizeof(address.sun_path), "%.64s/sessions/%s/socket", store.path,
                 name);
        return address;
}

/* Negative errno: nobody is there. */
static inline int connect_to(const char *name)
{
        const struct sockaddr_un address = address_of(name);
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
                return fd;
        close(fd);
        return -errno;
}

/* -1 when the connection ended without an answer, 0 when it did not end; else its type. */
static inline int hear(int fd)
{
        char message[MESSAGE_MAX], control[CMSG_SPACE(2 * sizeof(int))] = { 0 };
        struct iovec part = { message, sizeof(message) };
        struct msghdr header = { .msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof(control) };
        ssize_t got = -1;
        const struct cmsghdr *rights;

        for (unsigned i = 0; got < 0 && i < TURNS; i++) {
                turn();
                got = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
                if (got < 0 && errno != EAGAIN)
                        return -1;
                if (got < 0)
                        usleep(1000);
        }
        if (got <= 0)
                return got < 0 ? 0 : -1;
        drop_descriptors();
        rights = CMSG_FIRSTHDR(&header);
        if (rights) {
                memcpy(&limits, CMSG_DATA(rights), sizeof(int));
                memcpy(&slots, CMSG_DATA(rights) + sizeof(int), sizeof(int));
        }
        return message_read_answer(message, (size_t)got, &answer, NULL);
}

static inline int say(const char *name, const void *message, size_t bytes)
{
        int fd = connect_to(name);
        int type;

        assert_true(fd >= 0);
        assert_int_equal(send(fd, message, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
        type = hear(fd);
        close(fd);
        return type;
}

static inline int join_with(const char *name, const struct message_wish *wish)
{
        char message[MESSAGE_MAX];

        return say(name, message, message_write_hello(message, wish));
}

static inline int join(const char *name)
{
        return join_with(name, &(struct message_wish){ .command = "test" });
}

#define story(test) cmocka_unit_test_setup_teardown(test, raise_stage, strike_stage)

#endif
