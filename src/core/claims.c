/* SPDX-License-Identifier: Apache-2.0 */
#include "common/minmax.h"
#include "core/claims.h"

#define MS UINT64_C(1000000)
/* one window: a second, less a margin because polls are not quite on time */
#define WINDOW_NS (900 * MS)
/* tolerated difference, because the meter and the driver are read at different instants */
#define SLACK_NS 500000000
#define CREDIT_MAX (2000 * MS) /* how much metered usage of one window may be shown in the next */
/* maximum of the debt that explains usage */
#define OWED_MAX (60000 * MS)
#define UNEXPLAINED 2u /* what an unexplained window adds to the score */
/* upper bound for every time, so that sums do not overflow */
#define TIME_MAX (UINT64_C(1) << 60)

static int64_t whole(uint64_t ns)
{
        return (int64_t)min_u64(ns, TIME_MAX);
}

static int64_t part(uint64_t ns, uint32_t ppm)
{
        return (int64_t)((double)min_u64(ns, TIME_MAX) * ppm / CLAIMS_WHOLE_PPM);
}

/* Returns by how much a counter rose since the last call, and keeps its value in `before`. A
 * counter that went down counts as not risen. */
static uint64_t rise(uint64_t *before, uint64_t now)
{
        uint64_t ns = now > *before ? now - *before : 0;

        *before = now;
        return min_u64(ns, TIME_MAX);
}

/* Adds `ns` to a balance of unexplained usage. The balance may fall to -saved_ns: metered usage
 * that the driver has not shown yet. */
static void book(int64_t *balance_ns, int64_t ns, uint64_t saved_ns)
{
        *balance_ns += ns;
        if (*balance_ns < -whole(saved_ns))
                *balance_ns = -whole(saved_ns);
        if (*balance_ns > whole(TIME_MAX))
                *balance_ns = whole(TIME_MAX);
}

/* Whether the window leaves usage unexplained. Sets `ret` to the kind of finding. */
static bool weigh_window(struct claim *claim, const struct claims_policy *policy, uint64_t owed_ns,
                         enum claims_why *ret)
{
        int64_t bearable_ns = part(claim->window_ns, policy->tolerance_percent * 10000);
        int64_t shown_ns = whole(claim->shown_ns) - bearable_ns;
        int64_t understated_ns = shown_ns - whole(claim->claimed_ns);
        int64_t above_ns = shown_ns - part(claim->window_ns, claim->cap_ppm);

        book(&claim->understated_ns, understated_ns, min_u64(claim->claimed_ns, CREDIT_MAX));
        book(&claim->above_ns, above_ns, 0);
        if (!claim->is_free)
                claim->above_ns = 0;
        *ret = claim->understated_ns > SLACK_NS ? CLAIMS_UNDERSTATED : CLAIMS_ABOVE_CAP;
        return (understated_ns > 0 && claim->understated_ns > SLACK_NS) ||
               (above_ns > 0 && claim->above_ns > whole(min_u64(owed_ns, OWED_MAX)) + SLACK_NS);
}

/* Counts one window. Returns true if the session is reported from now on and was not before. */
static bool score(struct claim *claim, bool is_unexplained, enum claims_why why)
{
        if (!is_unexplained) {
                claim->score -= claim->score > 0;
                if (claim->is_reported && !claim->score)
                        claim->understated_ns = claim->above_ns = 0;
                claim->is_reported &= claim->score > 0;
                return false;
        }
        claim->score = (unsigned)min_u64(claim->score + UNEXPLAINED, CLAIMS_SCORE_MAX);
        if (claim->is_reported || claim->score < CLAIMS_SCORE_MAX)
                return false;
        claim->is_reported = true;
        claim->why = why;
        claim->told_window_ns = claim->window_ns;
        claim->told_shown_ns = claim->shown_ns;
        claim->told_claimed_ns = claim->claimed_ns;
        return true;
}

static void window_begin(struct claim *claim)
{
        claim->window_ns = claim->shown_ns = claim->claimed_ns = 0;
        claim->is_free = true;
}

bool claims_see(struct claim *claim, const struct claims_policy *policy,
                const struct claims_sight *sight)
{
        bool is_known = claim->is_known, is_unexplained, is_news;
        uint64_t claimed_ns = rise(&claim->busy_ns, sight->busy_ns);
        bool has_leases = rise(&claim->leases, sight->leases) > 0;
        enum claims_why why = CLAIMS_UNDERSTATED;

        if (policy->is_off) {
                *claim = (struct claim){ 0 };
                return false;
        }
        claim->is_known = true;
        if (!is_known || !sight->is_measured) {
                claim->understated_ns = claim->above_ns = 0;
                window_begin(claim);
                return score(claim, false, why);
        }
        claim->shown_ns += min_u64(sight->shown_ns, TIME_MAX);
        claim->claimed_ns += claimed_ns;
        claim->is_free &= sight->is_free && !has_leases;
        /* If the cap changes within a window, the higher cap counts. */
        if (claim->window_ns == 0 || sight->cap_ppm > claim->cap_ppm)
                claim->cap_ppm = sight->cap_ppm;
        claim->window_ns += min_u64(sight->elapsed_ns, TIME_MAX);
        if (claim->window_ns < WINDOW_NS)
                return false;
        is_unexplained = weigh_window(claim, policy, sight->owed_ns, &why);
        is_news = score(claim, is_unexplained, why);
        window_begin(claim);
        return is_news;
}

uint64_t claims_min(uint64_t shown_ns, uint64_t all_ns, uint64_t elapsed_ns)
{
        uint64_t over_ns = all_ns > elapsed_ns ? all_ns - elapsed_ns : 0;

        return shown_ns > over_ns ? shown_ns - over_ns : 0;
}
