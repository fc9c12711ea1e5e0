/* SPDX-License-Identifier: Apache-2.0 */
#include "core/watch.h"

#include <string.h>

#include "common/minmax.h"
#include "common/sums.h"

#define CONVICTED 20u /* the score from which a suspect is guilty */
/* added by each poll that finds a stranger: two polls suffice, as there is no ledger to compare
 * with */
#define LOOK_STRANGER 10u
#define LOOK_STILL 5u /* added by a poll if the ledger did not change since the poll before */
/* added by a poll if the ledger changed, or if it is the suspect's first poll */
#define LOOK_MOVED 1u
#define ANSWERED 10u /* maximum score of a session while one of its processes is guilty */

static const uint8_t nobody[16];

static bool is_free(const struct watch_case *one)
{
        return !one->sight.pid && memcmp(one->sight.session, nobody, sizeof(nobody)) == 0;
}

static bool is_about(const struct watch_case *one, const struct watch_sight *sight)
{
        return one->sight.pid == sight->pid && one->sight.start_ticks == sight->start_ticks &&
               memcmp(one->sight.session, sight->session, sizeof(sight->session)) == 0 &&
               (sight->charge == WATCH_STRANGER || one->sight.device == sight->device);
}

static struct watch_file *file_of(struct watch *watch, const struct watch_sight *sight)
{
        return sight->charge == WATCH_STRANGER ? &watch->strangers : &watch->processes;
}

/* Returns what is known of the session with this place and id; NULL: nothing. */
static const struct watch_session *known_session(const struct watch *watch, uint32_t place,
                                                 const uint8_t id[16])
{
        if (place >= watch->entries ||
            memcmp(watch->session[place].id, id, sizeof(watch->session[place].id)) != 0)
                return NULL;
        return &watch->session[place];
}

/* Returns the record of the session's place. If another session was there before, clears it
 * first. */
static struct watch_session *session_at(struct watch *watch, const struct watch_sight *sight)
{
        struct watch_session *session = &watch->session[sight->place];

        if (!known_session(watch, sight->place, sight->session)) {
                *session = (struct watch_session){ 0 };
                memcpy(session->id, sight->session, sizeof(session->id));
        }
        if (sight->place >= watch->entries)
                watch->entries = sight->place + 1;
        return session;
}

static struct watch_case *find_case(struct watch *watch, const struct watch_sight *sight)
{
        struct watch_file *file = file_of(watch, sight);

        if (sight->charge == WATCH_SESSION) {
                if (!known_session(watch, sight->place, sight->session) ||
                    is_free(&watch->session[sight->place].on[sight->share]))
                        return NULL;
                return &watch->session[sight->place].on[sight->share];
        }
        for (unsigned i = 0; i < file->entries; i++) {
                if (!is_free(&file->one[i]) && is_about(&file->one[i], sight))
                        return &file->one[i];
        }
        return NULL;
}

/* Returns the index of a free case for the payer. Returns WATCH_CASES if the payer already has at
 * least as many cases as are free. */
static unsigned find_room(const struct watch_file *file, uint64_t payer)
{
        unsigned own = 0, left = WATCH_CASES - file->entries, room = file->entries;

        for (unsigned i = file->entries; i-- > 0;) {
                if (is_free(&file->one[i])) {
                        left++;
                        room = i;
                } else {
                        own += file->one[i].sight.payer == payer;
                }
        }
        return own < left ? room : WATCH_CASES;
}

static struct watch_case *add_to_file(struct watch_file *file, const struct watch_sight *sight)
{
        unsigned room = find_room(file, sight->payer);

        if (room == WATCH_CASES)
                return NULL;
        if (room == file->entries)
                file->entries++;
        return &file->one[room];
}

static struct watch_case *add_case(struct watch *watch, const struct watch_sight *sight)
{
        struct watch_case *room;

        if (sight->charge == WATCH_SESSION)
                room = &session_at(watch, sight)->on[sight->share];
        else
                room = add_to_file(file_of(watch, sight), sight);
        if (room) {
                *room = (struct watch_case){ .sight = *sight };
                return room;
        }
        watch->left_out++;
        watch->left_out_payer = sight->payer;
        return NULL;
}

/* Returns the case at index `at` in the order in which watch_next() handles them: cases of
 * sessions, then of processes, then of strangers. NULL: there are no more. */
static struct watch_case *case_at(struct watch *watch, unsigned at)
{
        unsigned of_sessions = watch->entries * WATCH_SHARES;

        if (at < of_sessions)
                return &watch->session[at / WATCH_SHARES].on[at % WATCH_SHARES];
        at -= of_sessions;
        if (at < watch->processes.entries)
                return &watch->processes.one[at];
        at -= watch->processes.entries;
        return at < watch->strangers.entries ? &watch->strangers.one[at] : NULL;
}

static bool accuses(const struct watch_policy *policy, const struct watch_sight *sight,
                    const struct watch_case *before)
{
        uint64_t explained = sight->ledger_bytes;

        if (sight->charge == WATCH_STRANGER)
                return true;
        if (before && before->sight.ledger_bytes > explained)
                explained = before->sight.ledger_bytes;
        return sight->held_bytes >
               sum_of(explained, product_of(policy->tolerance_bytes,
                                            sight->charge == WATCH_SESSION ? sight->processes : 1));
}

static enum watch_answer answer_to(const struct watch_policy *policy,
                                   const struct watch_sight *sight)
{
        if (sight->charge != WATCH_STRANGER)
                return (enum watch_answer)policy->forged;
        if (policy->strangers != WATCH_IGNORE && !sight->is_managed)
                return WATCH_REPORT;
        return (enum watch_answer)policy->strangers;
}

void watch_begin(struct watch *watch)
{
        struct watch_case *one;

        watch->next = watch->left_out = 0;
        for (unsigned i = 0; (one = case_at(watch, i)); i++)
                one->is_seen = false;
}

bool watch_see(struct watch *watch, const struct watch_policy *policy,
               const struct watch_sight *sight)
{
        struct watch_case *known = find_case(watch, sight);
        bool is_accused = answer_to(policy, sight) != WATCH_IGNORE &&
                          (sight->charge == WATCH_STRANGER || sight->held_bytes != WATCH_NONE) &&
                          accuses(policy, sight, known);
        bool is_still = known && known->sight.ledger_mark == sight->ledger_mark;

        if (!known && is_accused)
                known = add_case(watch, sight);
        if (!known)
                return false;
        known->is_seen = true;
        known->sight = *sight;
        if (!is_accused)
                known->score = 0;
        else if (known->score < CONVICTED)
                known->score += sight->charge == WATCH_STRANGER ? LOOK_STRANGER
                                : is_still                      ? LOOK_STILL
                                                                : LOOK_MOVED;
        if (sight->is_answered && !known->is_told)
                known->score = min_u32(known->score, ANSWERED);
        return known->score >= CONVICTED;
}

static bool is_unknown(const struct watch_session *session)
{
        for (unsigned i = 0; i < WATCH_SHARES; i++) {
                if (!is_free(&session->on[i]))
                        return false;
        }
        return !session->is_clamped;
}

static void drop_free_tail(struct watch_file *file)
{
        while (file->entries && is_free(&file->one[file->entries - 1]))
                file->entries--;
}

void watch_end(struct watch *watch, bool is_whole)
{
        struct watch_case *one;

        for (unsigned i = 0; is_whole && (one = case_at(watch, i)); i++) {
                if (!one->is_seen || (!one->score && !one->is_told))
                        *one = (struct watch_case){ 0 };
        }
        drop_free_tail(&watch->processes);
        drop_free_tail(&watch->strangers);
        while (watch->entries && is_unknown(&watch->session[watch->entries - 1]))
                watch->entries--;
}

/* -- Actions ---------------------------------------------------------------------------------- */

static bool is_suspected(const struct watch *watch, const struct watch_session *session)
{
        for (unsigned i = 0; i < WATCH_SHARES; i++) {
                if (session->on[i].score)
                        return true;
        }
        for (unsigned i = 0; i < watch->processes.entries; i++) {
                const struct watch_case *one = &watch->processes.one[i];

                if (one->score && memcmp(one->sight.session, session->id, sizeof(nobody)) == 0)
                        return true;
        }
        return false;
}

static bool give_action(struct watch_action *ret, enum watch_action_type type,
                        enum watch_answer answer, const struct watch_case *one)
{
        *ret = (struct watch_action){ .type = type, .answer = answer, .sight = one->sight };
        return true;
}

static bool clamp(struct watch *watch, const struct watch_case *one, struct watch_action *ret)
{
        struct watch_session *session = session_at(watch, &one->sight);

        if (session->is_clamped)
                return false;
        session->is_clamped = true;
        return give_action(ret, WATCH_SHUT, WATCH_CLAMP, one);
}

static bool terminate(struct watch_case *one, const struct watch_policy *policy, uint64_t now_ns,
                      struct watch_action *ret)
{
        if (!one->is_termed) {
                one->is_termed = true;
                one->termed_ns = now_ns;
                return give_action(ret, WATCH_SIGTERM, WATCH_TERM, one);
        }
        if (one->is_killed || now_ns - one->termed_ns < policy->grace_ns)
                return false;
        one->is_killed = true;
        return give_action(ret, WATCH_SIGKILL, WATCH_TERM, one);
}

/* Sets `ret` to the next action about a guilty case. Returns false if none is left. */
static bool next_answer(struct watch *watch, struct watch_case *one,
                        const struct watch_policy *policy, uint64_t now_ns,
                        struct watch_action *ret)
{
        enum watch_answer answer = answer_to(policy, &one->sight);

        if (!one->is_seen || one->score < CONVICTED)
                return false;
        if (!one->is_told) {
                one->is_told = true;
                return give_action(ret, WATCH_TELL, answer, one);
        }
        if (answer == WATCH_CLAMP)
                return clamp(watch, one, ret);
        if (answer == WATCH_TERM)
                return terminate(one, policy, now_ns, ret);
        if (answer != WATCH_KILL || one->is_killed)
                return false;
        one->is_killed = true;
        return give_action(ret, WATCH_SIGKILL, answer, one);
}

static bool open_next(struct watch *watch, const struct watch_policy *policy,
                      struct watch_action *ret)
{
        for (unsigned i = 0; i < watch->entries; i++) {
                struct watch_session *one = &watch->session[i];

                if (!one->is_clamped || (policy->forged == WATCH_CLAMP && is_suspected(watch, one)))
                        continue;
                one->is_clamped = false;
                *ret = (struct watch_action){ .type = WATCH_OPEN,
                                              .answer = WATCH_CLAMP,
                                              .sight.place = i };
                memcpy(ret->sight.session, one->id, sizeof(one->id));
                return true;
        }
        return false;
}

bool watch_next(struct watch *watch, const struct watch_policy *policy, uint64_t now_ns,
                struct watch_action *ret)
{
        struct watch_case *one;

        for (; (one = case_at(watch, watch->next)); watch->next++) {
                if (next_answer(watch, one, policy, now_ns, ret))
                        return true;
        }
        return open_next(watch, policy, ret);
}

/* -- Queries ---------------------------------------------------------------------------------- */

bool watch_is_close(const struct watch *watch)
{
        struct watch *all = (struct watch *)(uintptr_t)watch; /* case_at() does not change it */
        const struct watch_case *one;

        for (unsigned i = 0; (one = case_at(all, i)); i++) {
                if (one->score > 0 && one->score < CONVICTED && !one->sight.is_answered)
                        return true;
        }
        return false;
}

bool watch_knows(const struct watch *watch, uint32_t place, const uint8_t session[16])
{
        const struct watch_session *known = known_session(watch, place, session);

        for (unsigned i = 0; known && i < WATCH_SHARES; i++) {
                if (!is_free(&known->on[i]))
                        return true;
        }
        for (unsigned i = 0; i < watch->processes.entries; i++) {
                if (memcmp(watch->processes.one[i].sight.session, session, sizeof(nobody)) == 0)
                        return true;
        }
        return false;
}

bool watch_is_clamped(const struct watch *watch, uint32_t place, const uint8_t session[16])
{
        const struct watch_session *known = known_session(watch, place, session);

        return known && known->is_clamped;
}

void watch_untold(struct watch *watch, const struct watch_sight *sight)
{
        struct watch_case *known = find_case(watch, sight);

        if (known)
                known->is_told = known->is_seen = false;
}
