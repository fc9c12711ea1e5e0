/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts that need assembly, on x86-64: the stub behind the thunks, and the four doors. Each of
 * them continues at another function with the caller's registers and stack unchanged.
 *
 * bind_first is entered with the entry's number pushed. It saves every register that can carry an
 * argument, calls bind_entry(), and then jumps to the address that bind_entry() returns. xsave
 * saves the whole vector registers, since an AVX argument must survive and the C library's own
 * functions use wide registers. A machine or emulator without xsave uses fxsave.
 *
 * The doors end in a jump, never a call. The loader identifies the caller by the return address: it
 * uses the caller's RUNPATH, and takes RTLD_NEXT relative to the caller.
 */
#if defined(__CET__)
#include <cet.h>
#endif

#define STATE_COMPONENTS 0xe6 /* SSE, AVX, and the three of AVX-512 */
/* bytes of these components in xsave's standard format, with its header */
#define STATE_BYTES 2752
#define XSAVE_HEADER 512

        .text
        .hidden bind_entry
        .hidden door_dlopen
        .hidden door_dlmopen
        .hidden door_dlsym
        .hidden door_dlvsym

        .section .bss
        .type vector_means, @object
        .size vector_means, 1
vector_means:                 /* 0: not yet known, 1: xsave, 2: fxsave */
        .zero 1

        .text
        .type ask_vector_means, @function
ask_vector_means:             /* keeps all registers but %rax */
        .cfi_startproc
        pushq %rbx
        .cfi_adjust_cfa_offset 8
        pushq %rcx
        .cfi_adjust_cfa_offset 8
        pushq %rdx
        .cfi_adjust_cfa_offset 8
        movl $1, %eax
        cpuid
        btl $27, %ecx         /* OSXSAVE: the system supports xsave */
        setnc %al
        incb %al
        movb %al, vector_means(%rip)
        popq %rdx
        .cfi_adjust_cfa_offset -8
        popq %rcx
        .cfi_adjust_cfa_offset -8
        popq %rbx
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size ask_vector_means, . - ask_vector_means

/* On entry 0(%rsp) is the number and 8(%rsp) the return address. */
        .globl bind_first
        .hidden bind_first
        .type bind_first, @function
        .balign 16
bind_first:
        .cfi_startproc
        .cfi_adjust_cfa_offset 8
        pushq %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbp, -24
        movq %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq %rdi
        pushq %rsi
        pushq %rdx
        pushq %rcx
        pushq %r8
        pushq %r9
        pushq %r10
        pushq %rax            /* %al has the number of vector registers of a variadic call */
        subq $STATE_BYTES, %rsp
        andq $-64, %rsp
        cmpb $0, vector_means(%rip)
        jne 1f
        call ask_vector_means
1:      cmpb $1, vector_means(%rip)
        jne 2f
        xorl %eax, %eax
        movl $8, %ecx
        leaq XSAVE_HEADER(%rsp), %rdi
        rep stosq
        xorl %edx, %edx
        movl $STATE_COMPONENTS, %eax
        xsave64 (%rsp)
        jmp 3f
2:      fxsave64 (%rsp)
3:      movl 8(%rbp), %edi
        call bind_entry
        movq %rax, %r11
        cmpb $1, vector_means(%rip)
        jne 4f
        xorl %edx, %edx
        movl $STATE_COMPONENTS, %eax
        xrstor64 (%rsp)
        jmp 5f
4:      fxrstor64 (%rsp)
5:      leaq -64(%rbp), %rsp
        popq %rax
        popq %r10
        popq %r9
        popq %r8
        popq %rcx
        popq %rdx
        popq %rsi
        popq %rdi
        popq %rbp
        .cfi_def_cfa %rsp, 16
        .cfi_restore %rbp
        leaq 8(%rsp), %rsp
        .cfi_adjust_cfa_offset -8
        jmp *%r11
        .cfi_endproc
        .size bind_first, . - bind_first

/* Builds a struct door_call (doors.h) on the stack and calls \decide, which may change the
 * arguments in it. Jumps to the address that \decide returns. If that is NULL (the C library has no
 * such function), the door itself returns NULL. */
.macro DOOR name, decide
        .globl \name
        .type \name, @function
        .balign 16
\name:
        .cfi_startproc
        endbr64
        movq (%rsp), %rax
        pushq %rax
        .cfi_adjust_cfa_offset 8
        pushq %rcx
        .cfi_adjust_cfa_offset 8
        pushq %rdx
        .cfi_adjust_cfa_offset 8
        pushq %rsi
        .cfi_adjust_cfa_offset 8
        pushq %rdi
        .cfi_adjust_cfa_offset 8
        movq %rsp, %rdi
        call \decide
        popq %rdi
        .cfi_adjust_cfa_offset -8
        popq %rsi
        .cfi_adjust_cfa_offset -8
        popq %rdx
        .cfi_adjust_cfa_offset -8
        popq %rcx
        .cfi_adjust_cfa_offset -8
        leaq 8(%rsp), %rsp
        .cfi_adjust_cfa_offset -8
        testq %rax, %rax
        je 1f
        jmp *%rax
1:      ret
        .cfi_endproc
        .size \name, . - \name
.endm

DOOR dlopen, door_dlopen
DOOR dlmopen, door_dlmopen
DOOR dlsym, door_dlsym
DOOR dlvsym, door_dlvsym

        .section .note.GNU-stack, "", @progbits
