/* SPDX-License-Identifier: Apache-2.0 */
/* Of a unit test only the story that UNIT_STORY names: tools/mutants puts a fault in for one of
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

__attribute__((constructor)) static void choose_story(void)
{
        const char *story = getenv("UNIT_STORY");

        if (story)
                cmocka_set_test_filter(story);
}
