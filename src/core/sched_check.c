/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether a member's terms are valid, in themselves and together with the guarantees of the
 * device's other members.
 */
#include "core/sched_parts.h"

static const char *check_alone(const struct sched_terms *terms)
{
        if (terms->cap_ppm == 0 || terms->cap_ppm > SCHED_WHOLE_PPM)
                return "compute";
        if (terms->guarantee_ppm > terms->cap_ppm)
                return "guarantee";
        if (terms->weight == 0 || terms->weight > SCHED_WEIGHT_MAX)
                return "weight";
        if (terms->class > SCHED_CLASS_RT)
                return "priority";
        return NULL;
}

const char *sched_check(const struct sched *sched, uint32_t member, unsigned device,
                        const struct sched_terms *terms)
{
        uint64_t promised = terms->guarantee_ppm;
        const char *field = check_alone(terms);

        if (device >= SCHED_DEVICES)
                return "device";
        if (field)
                return field;
        for (unsigned i = sched->device[device].first; i != NOBODY; i = sched->member[i].next) {
                if (i != member)
                        promised += sched->member[i].terms.guarantee_ppm;
        }
        return promised > SCHED_WHOLE_PPM ? "guarantee" : NULL;
}
