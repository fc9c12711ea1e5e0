/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random things to ask of the sessions, as the model and as the core are told them.
 */
#ifndef ALIQUOT_TEST_SESSIONS_ASKS_H
#define ALIQUOT_TEST_SESSIONS_ASKS_H

#include "core/sessions.h"
#include "sessions_model.h"

#define ASK_SECOND UINT64_C(1000000000)
#define ASK_GIB (UINT64_C(1) << 30)

/* The same sequence everywhere. */
unsigned any_of(unsigned count);
bool one_in(unsigned count);

/* Of the model's numbers; the text holds until the next call. */
const char *name_of(unsigned at);
void uuid_of(unsigned gpu, uint8_t ret[16]);

struct model_ask ask_any(enum sessions_event_type type);

/* `event` points into `one`. */
void ask_event(enum sessions_event_type type, const struct model_ask *ask, bool is_busy,
               struct sessions_event *event, struct sessions_one *one);

#endif
