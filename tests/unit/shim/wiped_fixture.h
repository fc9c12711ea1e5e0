/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a forked child finds wiped what is to be: an emulator may not know the advice. */
#ifndef TESTS_UNIT_SHIM_WIPED_FIXTURE_H
#define TESTS_UNIT_SHIM_WIPED_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* Whether MADV_WIPEONFORK does what it says, by which a child knows that it owns nothing. */
static inline bool a_child_is_wiped(void)
{
        char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int status = -1;
        pid_t pid;

        assert_ptr_not_equal(page, MAP_FAILED);
        madvise(page, 4096, MADV_WIPEONFORK);
        *page = 1;
        pid = fork();
        if (pid == 0)
                _exit(*page);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        munmap(page, 4096);
        return status == 0;
}

#endif
