/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include <stdio.h>
#include <string.h>

/* What went wrong in the kill at hand; NULL so far. */
static const char *wrong;

enum company company_of(const char *word)
{
        static const char *const words[] = { "alone", "last", "first" };
        enum company company = ALONE;

        while (company < COMPANIES && strcmp(word, words[company]) != 0)
                company++;
        return company;
}

void expect(bool is_so, const char *rule)
{
        if (!is_so && !wrong)
                wrong = rule;
}

bool is_any_broken(void)
{
        return wrong != NULL;
}

unsigned scene_run(const struct stage *stage, const struct scene *scene, enum company company)
{
        static struct path path;
        static const char *const names[] = { "alone", "peer goes on last", "peer goes on first" };
        struct cast cast = { .company = company };
        unsigned i, kills = 0;

        stage->start(&cast, scene);
        path_record(&path, &cast.victim);
        stage->end(&cast);
        for (i = 0; i < path.length && !wrong; i += stage->every) {
                kills++;
                stage->start(&cast, scene);
                expect(traced_run_to(&cast.victim, path.at[i].pc, path.at[i].visit),
                       "the victim took another way");
                stage->end(&cast);
        }
        printf("%-22s %-20s %5u kill points%s%s\n", scene->name, names[company], kills,
               wrong ? ": " : "", wrong ? wrong : "");
        fflush(stdout);
        return kills;
}

void scene_report(unsigned points)
{
        printf("%u kill points: %s\n", points, wrong ? wrong : "the ledger is exact after each");
}
