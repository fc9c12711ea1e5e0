/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs and reads the messages on a session's socket. Each side sends one message, then the
 * connection ends.
 *
 *      the joiner   HELLO      its command name, the session that it wants, and a token
 *      the daemon   WELCOME    with two descriptors (SCM_RIGHTS): `limits`, then `slots`
 *                or REFUSED    a code and one sentence
 *
 * The socket is SOCK_SEQPACKET: a message arrives whole or not at all. All numbers are in host byte
 * order, since both ends are on one machine. docs/protocol.md lists every field, and a test
 * compares that page with message.c.
 *
 * Versions: the head of a message never changes, and a newer version of a message only has more
 * fields at its end. So every HELLO, even of a newer version, can be read far enough to answer it.
 * Each side sends the range of versions that it speaks. The daemon chooses the highest common one,
 * or answers REFUSED with MESSAGE_NO_VERSION and its own range in the head. A receiver ignores
 * bytes behind the fields that it knows. A message that is too short for them is malformed.
 *
 * Received bytes are hostile input: call message_read_*() before the first use. These functions
 * read no byte outside the buffer, and the results are terminated, bounded and within range. They
 * use no heap, clock, file or descriptor.
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
#define MESSAGE_MAX 8192u /* bytes of the longest message of any version */

enum message_type { MESSAGE_HELLO = 1, MESSAGE_WELCOME = 2, MESSAGE_REFUSED = 3 };

/* The beginning of every message; the same in all versions. */
struct message_head {
        uint32_t magic;
        uint16_t type;          /* enum message_type */
        uint16_t version;       /* the chosen version; 0 in HELLO, and if none could be chosen */
        uint16_t version_least; /* lowest version that the sender speaks */
        uint16_t version_most;  /* highest version that the sender speaks */
        uint32_t bytes;         /* length of the whole message */
};

struct message_hello {
        struct message_head head;
        /* the session that the joiner expects; all zero: any */
        uint8_t session_id[16];
        char command[MESSAGE_COMMAND_BYTES]; /* name that the joiner gives itself; terminated */
        uint32_t token_at;                   /* offset of the token in the message; 0: no token */
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
        uint32_t page_version;      /* version of the two files (page.h) */
};

enum message_code {
        MESSAGE_NO_VERSION = 1, /* joiner and daemon have no version in common */
        MESSAGE_MALFORMED = 2,
        MESSAGE_NOT_YOURS = 3,     /* the session belongs to another user */
        MESSAGE_BAD_TOKEN = 4,     /* the token is missing or wrong */
        MESSAGE_OTHER_SESSION = 5, /* the socket's session is not the requested one */
        MESSAGE_ENDED = 6,         /* the session can no longer be joined */
        MESSAGE_TOO_MANY = 7,      /* too many joiners now; try again after retry_ms */
        MESSAGE_TROUBLE = 8,       /* the daemon failed */
};

struct message_refused {
        struct message_head head;
        uint32_t code; /* enum message_code */
        /* when to try again, in ms; 0: another try gets the same answer */
        uint32_t retry_ms;
        char reason[MESSAGE_REASON_BYTES]; /* terminated; for display only */
        /* For how many ms from now the joiner may succeed if it tries again every retry_ms; 0:
         * unknown. Older daemons send no such field. */
        uint32_t wait_ms;
};

/* A received HELLO. */
struct message_asked {
        unsigned version; /* the highest version that both sides speak */
        uint8_t session_id[16];
        bool has_session_id;
        /* with '?' for characters that could harm a terminal */
        char command[MESSAGE_COMMAND_BYTES];
        const char *token; /* points into the buffer; not terminated; NULL: none */
        size_t token_bytes;
};

/* What to write into a HELLO. All pointers are borrowed. */
struct message_wish {
        const uint8_t *session_id; /* 16 bytes; NULL: any session */
        const char *command;
        const char *token; /* NULL or "": none */
};

/* Writes a HELLO into a buffer of MESSAGE_MAX bytes and returns its length. A token longer than
 * MESSAGE_TOKEN_MAX is cut. */
size_t message_write_hello(void *buffer, const struct message_wish *wish);
/* Writes a WELCOME of the chosen `version` and returns its length. */
size_t message_write_welcome(struct message_welcome *ret, unsigned version,
                             const uint8_t session_id[16], const char *name, uint32_t flags);
/* Writes a REFUSED and returns its length. `version` is 0 if no version was agreed on. */
size_t message_write_refused(struct message_refused *ret, unsigned version, enum message_code code,
                             uint32_t retry_ms, const char *reason);

/* Reads and checks a HELLO. Returns 0, or the enum message_code to refuse the joiner with, and the
 * reason in `err`. */
int message_read_hello(const void *buffer, size_t bytes, struct message_asked *ret,
                       struct error *err);

/* The daemon's answer to a HELLO; head.type says which of the two. */
union message_answer {
        struct message_head head;
        struct message_welcome welcome;
        struct message_refused refused;
};
/* Reads and checks the daemon's answer. Returns MESSAGE_WELCOME or MESSAGE_REFUSED. -EPROTO: the
 * answer is malformed, or of a version that this build does not speak. */
int message_read_answer(const void *buffer, size_t bytes, union message_answer *ret,
                        struct error *err);

#endif
