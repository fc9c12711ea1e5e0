/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gangs: sessions of one owner that have the same gang name have their turns together. A session of
 * several GPUs forms a gang with itself, because its program waits for all of them.
 *
 * The core identifies gangs by number. A gang keeps its number while it has a session, and no two
 * gangs have the same number.
 */
#include <string.h>

#include "daemon/schedule/members.h"

static bool is_same(const struct seat *a, const struct seat *b)
{
        return a->owner_uid == b->owner_uid && strcmp(a->gang, b->gang) == 0;
}

static bool is_used(const struct members *self, uint32_t number)
{
        for (unsigned i = 0; i < self->entries; i++) {
                if (self->seated[i].seat && self->seated[i].gang == number)
                        return true;
        }
        return number == 0;
}

uint32_t gangs_number(struct members *self, const struct seat *seat)
{
        if (!seat->gang[0] && seat->share_count < 2)
                return 0;
        for (unsigned i = 0; i < self->entries && seat->gang[0]; i++) {
                const struct seat *other = self->seated[i].seat;

                if (other && other != seat && is_same(seat, other))
                        return self->seated[i].gang;
        }
        do {
                self->gangs++;
        } while (is_used(self, self->gangs)); /* the number may wrap around after 2^32 gangs */
        return self->gangs;
}
