/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said over a session's socket: one message each way, then the connection is over.
 *
 *      the joiner   HELLO      who it says it is, which session it wants, a token
 *      the daemon   WELCOME    with two descriptors (SCM_RIGHTS): `limits`, then `slots`
 *                or REFUSED    a code and one sentence
 *
 * The socket is SOCK_SEQPACKET: a message comes whole or not at all. All numbers are in host byte
 * order, for both ends are on one machine; docs/protocol.md has every field, and a test compares it
 * with message.c.
 *
 * Versions: the head is the same in all of them for ever, and each message only grows, at its end.
 * So any HELLO can be read far enough to answer it. Both sides say the range that they speak; the
 * daemon chooses the highest that is in both, or answers REFUSED with MESSAGE_NO_VERSION, whose
 * head says its own range. Who receives more bytes than it knows of leaves them; fewer is no
 * message.
 *
 * What arrives is hostile input: message_read_*() before the first use. They never touch a byte
 * outside the buffer, and what they return is terminated, bounded and within range. Pure.
 */
#ifndef ALIQUOT_PROTO_MESSAGE_H
#define ALIQUOT_PROTO_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "proto/page.h"

#define MESSAGE_MAGIC UINT32_C(0x4d514c41) /* "ALQM" */
#define MESSAGE_VERSION_LEAST 1u
#define MESSAGE_VERSION_MOST 1u

#define MESSAGE_TOKEN_MOST 4096u
#define MESSAGE_COMMAND_BYTES 32u
#define MESSAGE_REASON_BYTES 192u
#define MESSAGE_DESCRIPTORS 2u
#define MESSAGE_MOST 8192u /* of any message in any version */

enum message_type { MESSAGE_HELLO = 1, MESSAGE_WELCOME = 2, MESSAGE_REFUSED = 3 };

struct message_head {
        uint32_t magic;
        uint16_t type;          /* enum message_type */
        uint16_t version;       /* that was chosen; 0 in HELLO, and where none could be */
        uint16_t version_least; /* that the sender speaks */
        uint16_t version_most;
        uint32_t bytes; /* of the whole message */
};

struct message_hello {
        struct message_head head;
        uint8_t session_id[16];              /* all zero: whichever it is */
        char command[MESSAGE_COMMAND_BYTES]; /* the joiner's own word; terminated */
        uint32_t token_at;                   /* where the token begins; 0: none */
        uint32_t token_bytes;
};

/* Bits of message_welcome.flags. */
enum message_flags {
        MESSAGE_READ_ONLY_MOUNT = 1, /* no way of opening `limits` again lets one write */
};

struct message_welcome {
        struct message_head head;
        uint8_t session_id[16];
        char name[PAGE_NAME_BYTES]; /* terminated */
        uint32_t flags;             /* enum message_flags */
        uint32_t page_version;      /* version of the files that come with it */
};

enum message_code {
        MESSAGE_NO_VERSION = 1, /* no version in common */
        MESSAGE_MALFORMED = 2,
        MESSAGE_NOT_YOURS = 3,     /* the session is another user's */
        MESSAGE_BAD_TOKEN = 4,     /* none, or a wrong one */
        MESSAGE_OTHER_SESSION = 5, /* not the one that was asked for */
        MESSAGE_ENDED = 6,         /* nobody joins any more */
        MESSAGE_TOO_MANY = 7,      /* come again in retry_ms */
        MESSAGE_TROUBLE = 8,       /* the daemon's own */
};

struct message_refused {
        struct message_head head;
        uint32_t code;                     /* enum message_code */
        uint32_t retry_ms;                 /* 0: the answer will be the same */
        char reason[MESSAGE_REASON_BYTES]; /* terminated; not for deciding */
        /* For so long from now on there is hope, if the joiner comes again in time; 0: nothing is
         * said. Older daemons leave it out. */
        uint32_t wait_ms;
};

/* A HELLO as it was understood. */
struct message_asked {
        unsigned version; /* the highest in common */
        uint8_t session_id[16];
        bool has_session_id;
        char command[MESSAGE_COMMAND_BYTES]; /* printable */
        const char *token;                   /* into the buffer; not terminated; NULL: none */
        size_t token_bytes;
};

/* What to say in a HELLO. All borrowed. */
struct message_wish {
        const uint8_t *session_id; /* 16 bytes; NULL: whichever it is */
        const char *command;
        const char *token; /* NULL or "": none */
};

/* Into a buffer of MESSAGE_MOST bytes; the length. The token is at most MESSAGE_TOKEN_MOST. */
size_t message_write_hello(void *buffer, const struct message_wish *wish);
size_t message_write_welcome(struct message_welcome *ret, unsigned version,
                             const uint8_t session_id[16], const char *name, uint32_t flags);
/* `version` 0 where none was agreed on. */
size_t message_write_refused(struct message_refused *ret, unsigned version, enum message_code code,
                             uint32_t retry_ms, const char *reason);

/* 0, or the enum message_code to refuse with, and why in `err`. */
int message_read_hello(const void *buffer, size_t bytes, struct message_asked *ret,
                       struct error *err);

/* The daemon's answer: MESSAGE_WELCOME or MESSAGE_REFUSED; negative (-EPROTO) when it is neither,
 * or of a version that we do not speak. */
union message_answer {
        struct message_head head;
        struct message_welcome welcome;
        struct message_refused refused;
};
int message_read_answer(const void *buffer, size_t bytes, union message_answer *ret,
                        struct error *err);

#endif
