/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of all variables that configure a session, ours and those of other systems. From it
 * this file answers which variables set limits, which are refused in a privileged program, and
 * which unknown names are probably misspellings.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "common/minmax.h"
#include "common/text.h"
#include "settings/front_ends.h"
#include "settings/reading.h"

#define FRONT_END(variable)                                 \
        {                                                   \
                variable, .is_kept = true, .is_whole = true \
        }

/* All known variables; ours are first, which find_meant() relies on. */
static const struct setting_name {
        const char *text;
        bool limits;       /* sets a limit, or names a session, which has limits */
        bool is_indexed;   /* NAME_0, NAME_1, ... each set the value for one GPU */
        bool may_be_empty; /* an empty value is allowed, and sets nothing */
        /* stays in the environment of a command's child: sets no limit, or only the runtime
         * folder */
        bool is_kept;
        bool is_whole; /* a longer name that begins with this one is no misspelling of it */
} names[] = {
        { "ALIQUOT_MEMORY", .limits = true },
        { "ALIQUOT_SESSION", .limits = true },
        { "ALIQUOT_GPU", .limits = true },
        { "ALIQUOT_COMPUTE", .limits = true },
        { "ALIQUOT_GUARANTEE" },
        { "ALIQUOT_WEIGHT" },
        { "ALIQUOT_PRIORITY" },
        { "ALIQUOT_GANG" },
        { "ALIQUOT_OVERSUBSCRIBE" },
        { "ALIQUOT_SWAP" },
        { "ALIQUOT_TTL" },
        { "ALIQUOT_CONTEXT" },
        { "ALIQUOT_DEVICE_NAME" },
        { "ALIQUOT_SESSION_SOCKET", .limits = true },
        { "ALIQUOT_JOIN_TOKEN", .is_kept = true, .is_whole = true },
        { "ALIQUOT_RUNTIME_DIR", .is_kept = true, .is_whole = true },
        { "ALIQUOT_LOG", .is_kept = true, .is_whole = true },
        { "ALIQUOT_LOG_FILE", .is_kept = true, .is_whole = true },
        { "ALIQUOT_SIM", .is_kept = true, .is_whole = true },
        FRONT_END_VARIABLES,
        { "TENSOR_FUSION_CUDA_MEM_LIMIT", .limits = true },
        { "TENSOR_FUSION_CUDA_UP_LIMIT", .limits = true },
        { "VCUDA_MEMORY_LIMIT", .limits = true },
        { "VCUDA_DEVICE_NAME" },
        { "XPUSHARE_GPU_MEMORY_LIMIT", .limits = true },
        { "XPUSHARE_ENABLE_SINGLE_OVERSUB" },
        { "NVSHARE_ENABLE_SINGLE_OVERSUB" },
        { "CUDA_DEVICE_MEMORY_LIMIT", .limits = true, .is_indexed = true },
        { "CUDA_DEVICE_SM_LIMIT", .limits = true, .is_indexed = true },
        { "CUDA_OVERSUBSCRIBE" },
        { "CUDA_TASK_PRIORITY" },
        { "CUDA_DISABLE_CONTROL" },
        { "CUDA_MEM_LIMIT", .limits = true, .is_indexed = true, .may_be_empty = true },
        { "CUDA_MEM_RATIO", .is_indexed = true },
        { "CUDA_MEM_OVERSOLD", .is_indexed = true },
        { "CUDA_CORE_LIMIT", .limits = true, .is_indexed = true, .may_be_empty = true },
        { "CUDA_CORE_SOFT_LIMIT", .is_indexed = true, .may_be_empty = true },
        { "DISABLE_VGPU_CONTROL" },
        { "DISABLE_GPU_LIMITER" },
        { "GPUSLICE_SESSION", .limits = true },
        { "GPUSLICE_IPC_SOCK", .limits = true, .is_kept = true },
        { "GPUSLICE_DEFAULT_TTL" },
};

#define NAME_COUNT (sizeof(names) / sizeof(names[0]))
#define OURS "aliquot_" /* text_begins() ignores case, so this matches ALIQUOT_ too */
#define OURS_BYTES (sizeof(OURS) - 1)

/* Whether `text`, without "=value", is the name or, for an indexed variable, NAME_... */
static bool is_named(const struct setting_name *name, const char *text)
{
        size_t length = strlen(name->text);

        return strncmp(text, name->text, length) == 0 &&
               (!text[length] || (name->is_indexed && text[length] == '_'));
}

static const struct setting_name *find_name(const char *text)
{
        for (size_t i = 0; i < NAME_COUNT; i++) {
                if (is_named(&names[i], text))
                        return &names[i];
        }
        return NULL;
}

bool settings_is_limit_variable(const char *name)
{
        const struct setting_name *found = find_name(name);

        return found && !found->is_kept;
}

bool names_may_be_empty(const char *name)
{
        const struct setting_name *found = find_name(name);

        return found && found->may_be_empty;
}

int settings_check_privileged(char *const *environment, struct error *err)
{
        for (char *const *at = environment; at && *at; at++) {
                size_t length = strcspn(*at, "=");
                char name[64] = "";
                const struct setting_name *found;

                if (!(*at)[length] || length >= sizeof(name))
                        continue;
                memcpy(name, *at, length);
                found = find_name(name);
                if (found && found->limits && ((*at)[length + 1] || !found->may_be_empty))
                        return fail(err, -EPERM,
                                    "%s: this program has more rights than the user who started it "
                                    "(setuid, setgid or file capabilities), and takes no limit "
                                    "from that user's environment",
                                    found->text);
        }
        return typos_check(&(struct reading){ .environment = environment, .is_privileged = true },
                           err);
}

#define WORD_BYTES 24u

static char upper(char c)
{
        c = text_lower(c);
        return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* Returns how many letters must be inserted, dropped, replaced or swapped with a neighbour to turn
 * `a` into `b`. Both must be shorter than WORD_BYTES. */
static unsigned distance(const char *a, const char *b)
{
        unsigned table[WORD_BYTES][WORD_BYTES];
        unsigned rows = (unsigned)strlen(a);
        unsigned columns = (unsigned)strlen(b);

        for (unsigned i = 0; i <= rows; i++) {
                for (unsigned j = 0; j <= columns; j++) {
                        if (!i || !j) {
                                table[i][j] = i + j;
                                continue;
                        }
                        table[i][j] = min_u32(min_u32(table[i - 1][j], table[i][j - 1]) + 1,
                                              table[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                table[i][j] = min_u32(table[i][j], table[i - 2][j - 2] + 1);
                }
        }
        return table[rows][columns];
}

#define NO_SLIP UINT_MAX

/* Returns the distance from `word` to the name without its ALIQUOT_, if `word` is probably a
 * misspelling, such as MEM, MEMORY_LIMIT or MEMROY for MEMORY. NO_SLIP: it is not. */
static unsigned slip(const char *word, const struct setting_name *name)
{
        const char *meant = name->text + OURS_BYTES;
        unsigned length = (unsigned)strlen(word), whole = (unsigned)strlen(meant);
        unsigned far = length < WORD_BYTES ? distance(word, meant) : NO_SLIP - 1;
        bool is_part = length >= 3 && (length < whole || !name->is_whole) &&
                       strncmp(word, meant, min_u32(length, whole)) == 0;

        return is_part || far <= (whole <= 4 ? 1u : 2u) ? far : NO_SLIP;
}

/* Returns the one of our names that is nearest to `word`, the first if several are equally near;
 * NULL: none is close. */
static const struct setting_name *find_meant(const char *word)
{
        const struct setting_name *meant = NULL;
        unsigned nearest = NO_SLIP;

        for (size_t i = 0; i < NAME_COUNT && text_begins(names[i].text, OURS); i++) {
                unsigned far = slip(word, &names[i]);

                if (far >= nearest)
                        continue;
                nearest = far;
                meant = &names[i];
        }
        return meant;
}

static int refuse_name(const char *name, const struct setting_name *meant, struct error *err)
{
        return fail(err, -EINVAL, "%s is not a setting; did you mean %s", text_shown(name),
                    meant->text);
}

#define OUR_NAME_BYTES (OURS_BYTES + WORD_BYTES + 1)

/* Returns the name that was probably intended by an environment entry that begins with ALIQUOT_, in
 * any case, and writes the given name to `ret_name`. NULL: the name is known, or close to none. */
static const struct setting_name *find_slip(const char *entry, char ret_name[OUR_NAME_BYTES])
{
        char word[WORD_BYTES + 1] = "";
        size_t length = min_u32((unsigned)strcspn(entry, "="), OUR_NAME_BYTES - 1);

        memset(ret_name, 0, OUR_NAME_BYTES);
        memcpy(ret_name, entry, length);
        for (size_t i = OURS_BYTES; i < length; i++)
                word[i - OURS_BYTES] = upper(ret_name[i]);
        return find_name(ret_name) ? NULL : find_meant(word);
}

/* Refuses a misspelled name of ours. A privileged program reads none of the variables with is_kept,
 * so it accepts a misspelling of those. */
static int check_our_name(const char *entry, bool is_privileged, struct error *err)
{
        char name[OUR_NAME_BYTES];
        const struct setting_name *meant = find_slip(entry, name);

        return meant && !(meant->is_kept && is_privileged) ? refuse_name(name, meant, err) : 0;
}

int typos_check_folder(const struct reading *reading, struct error *err)
{
        char name[OUR_NAME_BYTES];

        for (char *const *at = reading->environment; at && *at; at++) {
                const struct setting_name *meant =
                        text_begins(*at, OURS) ? find_slip(*at, name) : NULL;

                if (meant && strcmp(meant->text, "ALIQUOT_RUNTIME_DIR") == 0)
                        return refuse_name(name, meant, err);
        }
        return 0;
}

/* -- Other names: at most two slips from a limit's name ---------------------------------------- */

#define LONGEST_NAME_BYTES 32u /* with the terminating NUL */
#define SLIPS_MAX 2u

/* Whether at most `slips` letters inserted, dropped, replaced or swapped make the names equal. */
static bool is_within(const char *a, const char *b, unsigned slips)
{
        while (*a && *a == *b)
                a++, b++;
        if (!*a && !*b)
                return true;
        if (!slips--)
                return false;
        return (*a && is_within(a + 1, b, slips)) || (*b && is_within(a, b + 1, slips)) ||
               (*a && *b && is_within(a + 1, b + 1, slips)) ||
               (*a && *b && a[0] == b[1] && a[1] == b[0] && is_within(a + 2, b + 2, slips));
}

/* Parts of names that are spelled in several ways: `said` (in any case) is replaced by `as` before
 * names are compared. */
static const struct folding {
        const char *said, *as;
} foldings[] = { { "memory", "MEM" }, { "gpu_", "" }, { "nvshare_", "XPUSHARE_" } };

/* Returns the folding whose `said` the name begins with; NULL: none. */
static const struct folding *find_folding(const char *name, size_t length)
{
        for (size_t i = 0; i < sizeof(foldings) / sizeof(foldings[0]); i++) {
                if (strlen(foldings[i].said) <= length && text_begins(name, foldings[i].said))
                        return &foldings[i];
        }
        return NULL;
}

/* Writes the name in capitals, with the foldings applied and without its GPU index. False: the
 * result is longer than any known name. */
static bool fold(const char *name, size_t length, char ret[LONGEST_NAME_BYTES])
{
        size_t used = 0, index = length;

        while (index && text_is_digit(name[index - 1]))
                index--;
        if (index && index < length && name[index - 1] == '_')
                length = index - 1;
        for (size_t i = 0; i < length;) {
                const struct folding *folding = find_folding(name + i, length - i);
                const char letter[] = { upper(name[i]), '\0' };
                const char *as = folding ? folding->as : letter;
                size_t bytes = strlen(as);

                if (used + bytes >= LONGEST_NAME_BYTES)
                        return false;
                memcpy(ret + used, as, bytes);
                used += bytes;
                i += folding ? strlen(folding->said) : 1;
        }
        ret[used] = '\0';
        return true;
}

/* The folded names of all limit variables, made once for all entries of an environment. */
struct folded_names {
        char text[NAME_COUNT][LONGEST_NAME_BYTES]; /* "": the variable is not a limit */
};

static void fold_names(struct folded_names *ret)
{
        for (size_t i = 0; i < NAME_COUNT; i++) {
                /* cppcheck-suppress uninitvar ; fold() writes it */
                if (!names[i].limits || !fold(names[i].text, strlen(names[i].text), ret->text[i]))
                        ret->text[i][0] = '\0';
        }
}

/* Returns the limit variable whose folded name is nearest, the first if several are equally near;
 * NULL: none is close. */
static const struct setting_name *find_near(const char *folded, const struct folded_names *limits)
{
        const struct setting_name *near = NULL;
        size_t length = strlen(folded);
        unsigned slips = SLIPS_MAX + 1;

        for (size_t i = 0; i < NAME_COUNT && slips; i++) {
                size_t other = strlen(limits->text[i]);

                if (!other || length > other + SLIPS_MAX || other > length + SLIPS_MAX)
                        continue;
                for (; slips && is_within(folded, limits->text[i], slips - 1); slips--)
                        near = &names[i];
        }
        return near;
}

static int check_other_name(const char *entry, const struct folded_names *limits, struct error *err)
{
        size_t length = strcspn(entry, "=");
        char name[LONGEST_NAME_BYTES + 32] = "";
        char folded[LONGEST_NAME_BYTES];
        const struct setting_name *meant;

        if (length >= sizeof(name) || !fold(entry, length, folded))
                return 0;
        memcpy(name, entry, length);
        if (find_name(name))
                return 0;
        meant = find_near(folded, limits);
        return meant ? refuse_name(name, meant, err) : 0;
}

int typos_check(const struct reading *reading, struct error *err)
{
        struct folded_names limits;
        int rc = 0;

        fold_names(&limits);
        for (char *const *at = reading->environment; rc == 0 && at && *at; at++)
                rc = text_begins(*at, OURS) ? check_our_name(*at, reading->is_privileged, err)
                                            : check_other_name(*at, &limits, err);
        return rc;
}
