/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which terms make sense: by themselves, and beside what others on the device were promised.
 */
#include "core/sched_parts.h"

static const char *check_alone(const struct sched_terms *terms)
{
        if (terms->cap_ppm == 0 || terms->cap_ppm > SCHED_WHOLE_PPM)
                return "compute";
        if (terms->guarantee_ppm > terms->cap_ppm)
                return "guarantee";
        if (terms->weight == 0 || terms->weight > SCHED_WEIGHT_MOST)
                return "weight";
        if (terms->class > SCHED_CLASS_RT)
                return "priority";
        return NULL;
}

const char *sched_check(const struct sched *sched, uint16_t member, unsigned device,
                        const struct sched_terms *terms)
{
        uint64_t promised = terms->guarantee_ppm;
        const char *field = check_alone(terms);

        if (device >= SCHED_DEVICES)
                return "device";
        for (unsigned i = 0; !field && i < SCHED_MEMBERS; i++) {
                const struct sched_member *other = &sched->member[i];

                if (i != member && other->mode != SCHED_MODE_NONE && other->device == device)
                        promised += other->terms.guarantee_ppm;
                if (promised > SCHED_WHOLE_PPM)
                        field = "guarantee";
        }
        return field;
}
