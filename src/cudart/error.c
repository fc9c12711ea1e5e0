/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of the runtime's errors, and their texts, most of which are made from the names.
 */
#include "cudart/runtime.h"

#include <ctype.h>
#include <pthread.h>
#include <string.h>

#define ERROR(name, number, text) { #name, number, text },

static const struct {
        const char *name;
        int number;
        const char *text;
} errors[] = {
#include "cudart/errors.inc"
};

#define ERRORS (sizeof(errors) / sizeof(errors[0]))

static char words[ERRORS][64];

/* Makes the texts of errors that have none: "cudaErrorInvalidDevice" becomes "invalid device". */
static void words_make(void)
{
        for (size_t i = 0; i < ERRORS; i++) {
                const char *from = errors[i].name + (i ? strlen("cudaError") : strlen("cuda"));
                char *to = words[i];

                for (; *from && to < words[i] + sizeof(words[i]) - 2; from++) {
                        if (isupper((unsigned char)*from) && to > words[i] &&
                            islower((unsigned char)from[-1]))
                                *to++ = ' ';
                        *to++ = (char)tolower((unsigned char)*from);
                }
        }
}

EXPORT const char *cudaGetErrorName(cudaError_t error);
EXPORT const char *cudaGetErrorName(cudaError_t error)
{
        for (size_t i = 0; i < ERRORS; i++)
                if (errors[i].number == error)
                        return errors[i].name;
        return "unrecognized error code";
}

EXPORT const char *cudaGetErrorString(cudaError_t error);
EXPORT const char *cudaGetErrorString(cudaError_t error)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        pthread_once(&once, words_make);
        for (size_t i = 0; i < ERRORS; i++)
                if (errors[i].number == error)
                        return errors[i].text ? errors[i].text : words[i];
        return "unrecognized error code";
}
