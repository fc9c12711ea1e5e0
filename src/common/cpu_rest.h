/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the processor that the thread spins on a word. Call it between two reads of the word.
 */
#ifndef ALIQUOT_COMMON_CPU_REST_H
#define ALIQUOT_COMMON_CPU_REST_H

#if defined(__x86_64__)
static inline void cpu_rest(void)
{
        __builtin_ia32_pause();
}
#elif defined(__aarch64__)
static inline void cpu_rest(void)
{
        __asm__ volatile("yield");
}
#else
static inline void cpu_rest(void)
{
}
#endif

#endif
