/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts that need assembly, on aarch64: the stub behind the thunks, and the four doors. Each of
 * them continues at another function with the caller's registers and stack unchanged.
 *
 * bind_first is entered with the entry's number in w17. It saves x0-x8 and q0-q7, which are all
 * registers that carry arguments in the AAPCS64, calls bind_entry(), and then branches to the
 * address that bind_entry() returns. (Functions with scalable-vector arguments would need more; no
 * API has any.)
 *
 * The doors end in a branch with x30 unchanged. The loader identifies the caller by that return
 * address: it uses the caller's RUNPATH, and takes RTLD_NEXT relative to the caller.
 */
        .text
        .hidden bind_entry
        .hidden door_dlopen
        .hidden door_dlmopen
        .hidden door_dlsym
        .hidden door_dlvsym

        .globl bind_first
        .hidden bind_first
        .type bind_first, %function
        .balign 16
bind_first:
        .cfi_startproc
        stp x29, x30, [sp, #-224]!
        .cfi_def_cfa_offset 224
        .cfi_offset x29, -224
        .cfi_offset x30, -216
        mov x29, sp
        stp x0, x1, [sp, #16]
        stp x2, x3, [sp, #32]
        stp x4, x5, [sp, #48]
        stp x6, x7, [sp, #64]
        str x8, [sp, #80]
        stp q0, q1, [sp, #96]
        stp q2, q3, [sp, #128]
        stp q4, q5, [sp, #160]
        stp q6, q7, [sp, #192]
        mov w0, w17
        bl bind_entry
        mov x16, x0
        ldp q0, q1, [sp, #96]
        ldp q2, q3, [sp, #128]
        ldp q4, q5, [sp, #160]
        ldp q6, q7, [sp, #192]
        ldr x8, [sp, #80]
        ldp x6, x7, [sp, #64]
        ldp x4, x5, [sp, #48]
        ldp x2, x3, [sp, #32]
        ldp x0, x1, [sp, #16]
        ldp x29, x30, [sp], #224
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        br x16
        .cfi_endproc
        .size bind_first, . - bind_first

/* Builds a struct door_call (doors.h) on the stack and calls \decide, which may change the
 * arguments in it. Jumps to the address that \decide returns. If that is NULL (the C library has no
 * such function), the door itself returns NULL. */
.macro DOOR name, decide
        .globl \name
        .type \name, %function
        .balign 16
\name:
        .cfi_startproc
        hint #34
        sub sp, sp, #64
        .cfi_def_cfa_offset 64
        stp x29, x30, [sp, #48]
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        add x29, sp, #48
        stp x0, x1, [sp]
        stp x2, x3, [sp, #16]
        str x30, [sp, #32]
        mov x0, sp
        bl \decide
        mov x16, x0
        ldp x0, x1, [sp]
        ldp x2, x3, [sp, #16]
        ldp x29, x30, [sp, #48]
        add sp, sp, #64
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        cbz x16, 1f
        br x16
1:      mov x0, xzr
        ret
        .cfi_endproc
        .size \name, . - \name
.endm

DOOR dlopen, door_dlopen
DOOR dlmopen, door_dlmopen
DOOR dlsym, door_dlsym
DOOR dlvsym, door_dlvsym

        .section .note.GNU-stack, "", %progbits
