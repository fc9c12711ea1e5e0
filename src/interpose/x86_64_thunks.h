/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thunks for x86-64: one macro a class, one line a symbol in the generated thunks.S.
 *
 * A thunk touches no argument register and no stack: it only ever jumps, so any signature passes.
 * %r11 is free at a function's entry in the psABI. Each is padded to THUNK_BYTES (api.h), each
 * slot begins as a stub that says its number to bind_first.
 */
#if defined(__CET__)
#include <cet.h>
#endif

.macro THUNKS_BEGIN.text.balign 32.globl thunk_first.hidden thunk_first thunk_first
    :.section.data.rel.real,
        "aw",
        @progbits.balign 64.globl real.hidden real real
    :.text.hidden gate_word.hidden bind_first.hidden gate_shut
             .endm

             .macro THUNKS_END.section.data.rel.real.type real,
        @object.size real, .- real.section.note.GNU - stack, "",
        @progbits
                .endm

                .macro THUNK_OPEN name.balign 32.globl \name.type \name,
        @function
\name : endbr64.endm

                 .macro THUNK_CLOSE entry,
        name.size \name, .- \name.section.text.first, "ax",
        @progbits.balign 16 first_\name
    : endbr64 pushq $\entry jmp bind_first.section.data.rel.real.quad first_\name.text
              .endm

              .macro PASS entry,
        name, api THUNK_OPEN \name jmp *real + 8 *\entry(% rip) THUNK_CLOSE \entry, \name.endm

                                                                                            .macro
                                                                                    GATE entry,
        name, api THUNK_OPEN \name movq gate_word(% rip), % r11 cmpl $0,
        (% r11) jne shut_\name jmp *real + 8 *\entry(% rip) THUNK_CLOSE \entry, \name.section.text
                                                                                        .first,
        "ax",
        @progbits shut_\name : pushq $\entry jmp gate_shut.text
                                       .endm

                                       .macro HOOK entry,
        name,
        api THUNK_OPEN \name.hidden hook_\name jmp hook_\name THUNK_CLOSE \entry, \name.endm

                                                                                          .macro
                                                                                  REFUSE entry,
        name, api THUNK_OPEN \name.hidden refuse_\api jmp refuse_\api THUNK_CLOSE \entry, \name.endm
