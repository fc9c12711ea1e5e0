/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages on a session's socket: one each way, then the connection ends.
 *
 *      the joiner   HELLO      who it says it is, which session it wants, a token
 *      the daemon   WELCOME    with two descriptors (SCM_RIGHTS): `limits`, then `slots`
 *                or REFUSED    a code and one sentence
 *
 * The socket is SOCK_SEQPACKET: a message arrives whole or not at all. All numbers are in host byte
 * order, since both ends are on one machine. docs/protocol.md lists every field, and a test
 * compares it with message.c.
 *
 * Versions: the head is the same in all of them for ever, and a message only grows, at its end. So
 * any HELLO can be read far enough to answer it. Each side sends the range of versions that it
 * speaks; the daemon chooses the highest common one, or answers REFUSED with MESSAGE_NO_VERSION,
 * whose head has its own range. A receiver ignores bytes beyond those it knows; fewer are
 * malformed.
 *
 * Arriving bytes are hostile input: call message_read_*() before the first use. They touch no byte
 * outside the buffer, and their results are terminated, bounded and within range. Pure.
 */
#ifndef ALIQUOT_PROTO_MESSAGE_H
#define ALIQUOT_PROTO_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "proto/page.h"

#define MESSAGE_MAGIC UINT32_C(0x4d514c41) /* "ALQM" */
#define MESSAGE_VERSION_MIN 1u
#define MESSAGE_VERSION_MAX 1u

#define MESSAGE_TOKEN_MAX 4096u
#define MESSAGE_COMMAND_BYTES 32u
#define MESSAGE_REASON_BYTES 192u
#define MESSAGE_DESCRIPTORS 2u
#define MESSAGE_MAX 8192u /* longest message of any version */

enum message_type { MESSAGE_HELLO = 1, MESSAGE_WELCOME = 2, MESSAGE_REFUSED = 3 };

struct message_head {
        uint32_t magic;
        uint16_t type;          /* enum message_type */
        uint16_t version;       /* the chosen one; 0 in HELLO, and if none could be chosen */
        uint16_t version_least; /* range that the sender speaks */
        uint16_t version_most;
        uint32_t bytes; /* of the whole message */
};

struct message_hello {
        struct message_head head;
        uint8_t session_id[16];              /* all zero: any session */
        char command[MESSAGE_COMMAND_BYTES]; /* name that the joiner gives itself; terminated */
        uint32_t token_at;                   /* offset of the token; 0: none */
        uint32_t token_bytes;
};

/* Bits of message_welcome.flags. */
enum message_flags {
        MESSAGE_READ_ONLY_MOUNT = 1, /* `limits` cannot be reopened for writing */
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
        MESSAGE_BAD_TOKEN = 4,     /* missing or wrong */
        MESSAGE_OTHER_SESSION = 5, /* not the session that was asked for */
        MESSAGE_ENDED = 6,         /* the session takes no joiners any more */
        MESSAGE_TOO_MANY = 7,      /* try again after retry_ms */
        MESSAGE_TROUBLE = 8,       /* a failure of the daemon */
};

struct message_refused {
        struct message_head head;
        uint32_t code;                     /* enum message_code */
        uint32_t retry_ms;                 /* 0: another try gets the same answer */
        char reason[MESSAGE_REASON_BYTES]; /* terminated; for display only */
        /* How long from now another try makes sense, if the joiner keeps coming in time; 0:
         * unknown. Older daemons leave it out. */
        uint32_t wait_ms;
};

/* The contents of a HELLO. */
struct message_asked {
        unsigned version; /* the highest common one */
        uint8_t session_id[16];
        bool has_session_id;
        char command[MESSAGE_COMMAND_BYTES]; /* printable */
        const char *token; /* points into the buffer; not terminated; NULL: none */
        size_t token_bytes;
};

/* The contents of a HELLO to be written. All pointers are borrowed. */
struct message_wish {
        const uint8_t *session_id; /* 16 bytes; NULL: any session */
        const char *command;
        const char *token; /* NULL or "": none */
};

/* Writes into a buffer of MESSAGE_MAX bytes and returns the length. The token is at most
 * MESSAGE_TOKEN_MAX. */
size_t message_write_hello(void *buffer, const struct message_wish *wish);
size_t message_write_welcome(struct message_welcome *ret, unsigned version,
                             const uint8_t session_id[16], const char *name, uint32_t flags);
/* `version` is 0 if none was agreed on. */
size_t message_write_refused(struct message_refused *ret, unsigned version, enum message_code code,
                             uint32_t retry_ms, const char *reason);

/* 0, or the enum message_code to refuse with, and the reason in `err`. */
int message_read_hello(const void *buffer, size_t bytes, struct message_asked *ret,
                       struct error *err);

/* The daemon's answer: MESSAGE_WELCOME or MESSAGE_REFUSED; negative (-EPROTO): neither, or a
 * version that this build does not speak. */
union message_answer {
        struct message_head head;
        struct message_welcome welcome;
        struct message_refused refused;
};
int message_read_answer(const void *buffer, size_t bytes, union message_answer *ret,
                        struct error *err);

#endif
