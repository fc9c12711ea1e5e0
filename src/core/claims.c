/* SPDX-License-Identifier: Apache-2.0 */
#include "core/claims.h"

#include <string.h>

#define MS UINT64_C(1000000)
#define WINDOW_NS (900 * MS)    /* a second; looks are not quite on time */
#define SLACK_NS 500000000      /* measured late, and read at another instant */
#define CREDIT_MOST (2000 * MS) /* what a window claims may be shown in the next */
#define SILENCE_NS (5000 * MS)  /* nothing in flight is waited for longer */
#define SETTLE_NS (30000 * MS)  /* the same of what nobody measures */
#define OWED_MOST (60000 * MS)  /* no more is believed: kernels so long are told of anyway */
#define BEYOND_NS 100000000     /* charged when it has come to so much */
#define ACCUSED 2u              /* what a window adds to the score, and takes from it */
#define EXPLAINED 1u
#define CONVICTED 6u
#define HONEST_STEP (1000 * MS) /* what a window is worth */
#define TIME_MOST (UINT64_C(1) << 60)

static const uint8_t nobody[16];

static bool is_free(const struct claims_case *one)
{
        return memcmp(one->session, nobody, sizeof(nobody)) == 0;
}

static struct claims_case *find(struct claims *claims, const uint8_t session[16], unsigned share)
{
        for (unsigned i = 0; i < claims->places; i++) {
                struct claims_case *one = &claims->file[i];

                if (one->share == share && !is_free(one) &&
                    memcmp(one->session, session, sizeof(one->session)) == 0)
                        return one;
        }
        return NULL;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

/* But for its doublings. */
static bool is_over(const struct claims_case *one)
{
        return one->is_absent && !one->is_guilty && !one->is_clamped &&
               one->honest_ns >= CLAIMS_HONEST_NS;
}

/* NULL: none. */
static struct claims_case *find_room(struct claims *claims)
{
        for (unsigned i = 0; i < CLAIMS_CASES; i++) {
                if (is_free(&claims->file[i]))
                        return &claims->file[i];
        }
        for (unsigned i = 0; i < CLAIMS_CASES; i++) {
                if (is_over(&claims->file[i]))
                        return &claims->file[i];
        }
        return NULL;
}

/* Its account begins with what it says now; one without a cap may not have been measured. */
static void add(struct claims *claims, const struct claims_sight *sight)
{
        struct claims_case *one = find_room(claims);

        if (!one)
                return;
        *one = (struct claims_case){ .share = sight->share,
                                     .is_seen = true,
                                     .is_free = true,
                                     .leases = sight->leases,
                                     .is_settling = sight->cap_ppm >= CLAIMS_WHOLE_PPM,
                                     .cap_ppm = sight->cap_ppm,
                                     .busy_ns = sight->busy_ns,
                                     .held_ns = sight->held_ns };
        memcpy(one->session, sight->session, sizeof(one->session));
        if (one >= &claims->file[claims->places])
                claims->places = (unsigned)(one - claims->file) + 1;
}

/* What a counter rose; one that went back is none, and goes on from where it is. */
static uint64_t rise(uint64_t *before, uint64_t now)
{
        uint64_t ns = now > *before ? now - *before : 0;

        *before = now;
        return least_of(ns, TIME_MOST);
}

static int64_t whole(uint64_t ns)
{
        return (int64_t)least_of(ns, TIME_MOST);
}

static int64_t part(uint64_t ns, uint32_t ppm)
{
        return (int64_t)((double)least_of(ns, TIME_MOST) * ppm / CLAIMS_WHOLE_PPM);
}

/* A balance: what is claimed and not shown counts in the next window and no longer, and what is
 * owed stays within what any clock counts. */
static void book(int64_t *balance_ns, int64_t ns, int64_t saved_most_ns)
{
        *balance_ns += ns;
        if (*balance_ns < -saved_most_ns)
                *balance_ns = -saved_most_ns;
        if (*balance_ns > whole(TIME_MOST))
                *balance_ns = whole(TIME_MOST);
}

/* -- A window --------------------------------------------------------------------------------- */

static void window_begin(struct claims_case *one)
{
        one->window_ns = one->shown_ns = one->claimed_ns = one->granted_ns = 0;
        one->is_free = true;
}

static void account_begin(struct claims_case *one)
{
        one->understated_ns = one->above_ns = one->beyond_ns = 0;
        one->silent_ns = 0;
        one->score = 0;
        one->honest_ns = 0;
}

static void convict(struct claims_case *one)
{
        one->is_guilty = true;
        one->why = one->understated_ns > SLACK_NS ? CLAIMS_UNDERSTATED : CLAIMS_ABOVE_CAP;
        one->charge_ns = (uint64_t)(one->understated_ns > 0 ? one->understated_ns : 0);
        one->charge_beyond_ns = 0;
        one->beyond_ns = 0;
        one->told_window_ns = one->window_ns;
        one->told_shown_ns = one->shown_ns;
        one->told_claimed_ns = one->claimed_ns;
}

/* What it owes is its own word. A bucket that is gone by forgives nothing, so what is above comes
 * to no more than that. */
static bool is_owed(const struct claims_case *one)
{
        return one->above_ns <= whole(least_of(one->owed_ns, OWED_MOST)) + SLACK_NS;
}

/* Whether the window accuses; what it adds to both balances. */
static bool weigh(struct claims_case *one, const struct claims_policy *policy)
{
        int64_t bearable_ns = part(one->window_ns, policy->tolerance_percent * 10000);
        int64_t shown_ns = whole(one->shown_ns) - bearable_ns;
        int64_t understated_ns = shown_ns - whole(one->claimed_ns);
        int64_t above_ns = shown_ns - part(one->window_ns, one->cap_ppm);

        book(&one->understated_ns, understated_ns, whole(least_of(one->claimed_ns, CREDIT_MOST)));
        book(&one->above_ns, above_ns, 0);
        if (!one->is_free)
                one->above_ns = 0;
        return (understated_ns > 0 && one->understated_ns > SLACK_NS) ||
               (above_ns > 0 && !is_owed(one));
}

static bool is_excused(struct claims_case *one)
{
        if (one->is_in_flight && one->claimed_ns == 0)
                one->silent_ns += one->window_ns;
        else
                one->silent_ns = 0;
        return one->silent_ns > 0 && one->silent_ns <= SILENCE_NS;
}

/* On end, until it is no longer guilty. */
static uint64_t honest_needed(const struct claims_case *one)
{
        unsigned doublings = one->is_clamped && one->clamps > 1 ? one->clamps - 1 : 0;

        return CLAIMS_HONEST_NS << doublings;
}

static void accuse(struct claims_case *one)
{
        one->honest_ns = one->spotless_ns = 0;
        one->score += one->score < CONVICTED ? ACCUSED : 0;
        if (one->score >= CONVICTED && !one->is_guilty)
                convict(one);
}

static void acquit(struct claims_case *one)
{
        if (one->is_guilty) {
                account_begin(one);
                one->honest_ns = CLAIMS_HONEST_NS;
                one->spotless_ns = 0;
        }
        one->is_guilty = one->is_told = one->is_termed = one->is_killed = false;
}

/* While it is believed, so not by what a clamp asks for anyway. */
static void forgive(struct claims_case *one, uint64_t ns)
{
        if (!one->clamps || one->is_guilty)
                return;
        one->spotless_ns += ns;
        if (one->spotless_ns < CLAIMS_FORGIVEN_NS)
                return;
        one->clamps--;
        one->spotless_ns = 0;
}

static void judge(struct claims_case *one, bool is_accused, bool has_excuse)
{
        uint64_t ns = least_of(one->window_ns, HONEST_STEP);

        if (is_accused && !has_excuse)
                accuse(one);
        if (is_accused)
                return;
        one->score -= one->score ? EXPLAINED : 0;
        forgive(one, ns);
        one->honest_ns = least_of(one->honest_ns + ns, CLAIMS_HONEST_NS << CLAIMS_DOUBLINGS);
        if (one->honest_ns >= honest_needed(one))
                acquit(one);
}

/* Beyond what the scheduler saw it hold, while it is believed in nothing else. */
static void find_beyond(struct claims_case *one)
{
        if (!one->is_clamped)
                return;
        book(&one->beyond_ns, whole(one->shown_ns) - whole(one->granted_ns),
             whole(least_of(one->granted_ns, CREDIT_MOST)));
        if (one->beyond_ns <= BEYOND_NS)
                return;
        one->charge_ns += (uint64_t)one->beyond_ns;
        one->charge_beyond_ns += (uint64_t)one->beyond_ns;
        one->beyond_ns = 0;
}

static void window_end(struct claims_case *one, const struct claims_policy *policy)
{
        bool is_accused = weigh(one, policy), has_excuse = is_excused(one);

        find_beyond(one);
        if (one->is_settling) {
                one->settled_ns += one->window_ns;
                one->is_settling = (one->understated_ns > 0 || one->above_ns > 0) &&
                                   one->settled_ns < SETTLE_NS;
                account_begin(one);
        } else {
                judge(one, is_accused, has_excuse);
        }
        window_begin(one);
}

static void pass(struct claims_case *one, const struct claims_policy *policy, uint64_t elapsed_ns)
{
        one->window_ns += least_of(elapsed_ns, TIME_MOST);
        if (one->window_ns >= WINDOW_NS)
                window_end(one, policy);
}

/* -- A look ----------------------------------------------------------------------------------- */

void claims_begin(struct claims *claims)
{
        claims->next = 0;
        for (unsigned i = 0; i < claims->places; i++)
                claims->file[i].is_seen = false;
}

void claims_see(struct claims *claims, const struct claims_policy *policy,
                const struct claims_sight *sight)
{
        struct claims_case *one = find(claims, sight->session, sight->share);
        uint64_t claimed_ns, granted_ns;

        if (!one) {
                add(claims, sight);
                return;
        }
        one->is_seen = true;
        one->is_absent = false;
        claimed_ns = rise(&one->busy_ns, sight->busy_ns);
        granted_ns = rise(&one->held_ns, sight->held_ns);
        if (!sight->is_measured) {
                account_begin(one);
                one->is_settling = sight->cap_ppm >= CLAIMS_WHOLE_PPM;
                one->settled_ns = 0;
                window_begin(one);
                one->cap_ppm = sight->cap_ppm;
                return;
        }
        one->shown_ns += least_of(sight->shown_ns, TIME_MOST);
        one->claimed_ns += claimed_ns;
        one->granted_ns += granted_ns;
        one->owed_ns = sight->owed_ns;
        one->is_free &= sight->is_free && sight->leases == one->leases;
        one->leases = sight->leases;
        one->is_in_flight = sight->is_in_flight;
        /* In a window in which it was changed, the higher one. */
        if (one->window_ns == 0 || sight->cap_ppm > one->cap_ppm)
                one->cap_ppm = sight->cap_ppm;
        pass(one, policy, sight->elapsed_ns);
}

void claims_end(struct claims *claims, const struct claims_policy *policy, uint64_t elapsed_ns)
{
        for (unsigned i = 0; i < claims->places; i++) {
                struct claims_case *one = &claims->file[i];

                if (is_free(one) || one->is_seen)
                        continue;
                one->is_absent = true;
                one->is_in_flight = false;
                pass(one, policy, elapsed_ns);
                if (is_over(one) && !one->clamps)
                        *one = (struct claims_case){ 0 };
        }
        while (claims->places && is_free(&claims->file[claims->places - 1]))
                claims->places--;
}

/* -- What comes of it ------------------------------------------------------------------------- */

static bool give(struct claims_action *ret, enum claims_action_type type, enum watch_answer answer,
                 const struct claims_case *one)
{
        *ret = (struct claims_action){ .type = type,
                                       .answer = answer,
                                       .share = one->share,
                                       .why = one->why,
                                       .window_ns = one->told_window_ns,
                                       .shown_ns = one->told_shown_ns,
                                       .claimed_ns = one->told_claimed_ns };
        memcpy(ret->session, one->session, sizeof(ret->session));
        return true;
}

static bool clamp(struct claims_case *one, struct claims_action *ret)
{
        if (!one->is_clamped) {
                one->is_clamped = true;
                one->clamps += one->clamps <= CLAIMS_DOUBLINGS;
                return give(ret, CLAIMS_CLAMP, WATCH_CLAMP, one);
        }
        if (!one->charge_ns)
                return false;
        give(ret, CLAIMS_CHARGE, WATCH_CLAMP, one);
        ret->ns = one->charge_ns;
        ret->beyond_ns = one->charge_beyond_ns;
        one->charge_ns = one->charge_beyond_ns = 0;
        return true;
}

static bool terminate(struct claims_case *one, const struct claims_policy *policy, uint64_t now_ns,
                      struct claims_action *ret)
{
        if (policy->answer == WATCH_TERM && !one->is_termed) {
                one->is_termed = true;
                one->termed_ns = now_ns;
                return give(ret, CLAIMS_SIGTERM, WATCH_TERM, one);
        }
        if (one->is_killed ||
            (policy->answer == WATCH_TERM && now_ns - one->termed_ns < policy->grace_ns))
                return false;
        one->is_killed = true;
        return give(ret, CLAIMS_SIGKILL, (enum watch_answer)policy->answer, one);
}

/* The next thing to do about one; false: nothing is left. */
static bool answer(struct claims_case *one, const struct claims_policy *policy, uint64_t now_ns,
                   struct claims_action *ret)
{
        enum watch_answer answer = (enum watch_answer)policy->answer;

        if (one->is_clamped && (!one->is_guilty || answer != WATCH_CLAMP)) {
                one->is_clamped = false;
                one->charge_ns = one->charge_beyond_ns = 0;
                return give(ret, CLAIMS_RELEASE, WATCH_CLAMP, one);
        }
        if (is_free(one) || !one->is_guilty || answer == WATCH_IGNORE)
                return false;
        if (!one->is_told) {
                one->is_told = true;
                return give(ret, CLAIMS_TELL, answer, one);
        }
        if (answer == WATCH_CLAMP)
                return clamp(one, ret);
        return (answer == WATCH_TERM || answer == WATCH_KILL) && one->is_seen &&
               terminate(one, policy, now_ns, ret);
}

bool claims_next(struct claims *claims, const struct claims_policy *policy, uint64_t now_ns,
                 struct claims_action *ret)
{
        for (; claims->next < claims->places; claims->next++) {
                if (answer(&claims->file[claims->next], policy, now_ns, ret))
                        return true;
        }
        return false;
}

/* -- For who asks ----------------------------------------------------------------------------- */

void claims_untold(struct claims *claims, const uint8_t session[16], unsigned share)
{
        struct claims_case *one = find(claims, session, share);

        if (one)
                one->is_told = false;
}

bool claims_clamp(const struct claims *claims, const uint8_t session[16], unsigned share,
                  struct claims_clamp *ret)
{
        const struct claims_case *one = find((struct claims *)(uintptr_t)claims, session, share);
        uint64_t needed_ns, had_ns;

        if (!one || !one->is_clamped)
                return false;
        needed_ns = honest_needed(one);
        had_ns = one->honest_ns + least_of(one->window_ns, HONEST_STEP);
        *ret = (struct claims_clamp){ .why = one->why,
                                      .times = one->clamps,
                                      .left_ns = needed_ns > had_ns ? needed_ns - had_ns : 0,
                                      .window_ns = one->told_window_ns,
                                      .shown_ns = one->told_shown_ns,
                                      .claimed_ns = one->told_claimed_ns };
        return true;
}

void claims_forget(struct claims *claims, const uint8_t session[16])
{
        for (unsigned i = 0; i < claims->places; i++) {
                if (memcmp(claims->file[i].session, session, sizeof(nobody)) == 0)
                        claims->file[i] = (struct claims_case){ 0 };
        }
}

uint64_t claims_least(uint64_t shown_ns, uint64_t all_ns, uint64_t elapsed_ns)
{
        uint64_t over_ns = all_ns > elapsed_ns ? all_ns - elapsed_ns : 0;

        return shown_ns > over_ns ? shown_ns - over_ns : 0;
}
