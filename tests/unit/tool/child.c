/* SPDX-License-Identifier: MIT */
/* child.c - how ntprof ends as its command did. */
#include "record/child.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

int __wrap_raise(int number);

/* Called instead of raise: whether this process would leave no core dump. */
int
__wrap_raise(int number)
{
    struct rlimit core;

    _exit(number == SIGABRT && prctl(PR_GET_DUMPABLE) == 0 &&
                  getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0
              ? 0
              : 1);
}

static void
child_pass_on__signal_with_a_core_dump__no_second_dump(void **state)
{
    const struct child child = {.status = SIGABRT};
    const pid_t pid = fork();
    int status;

    (void)state;
    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        _exit(child_pass_on(&child));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_pass_on__signal_with_a_core_dump__no_second_dump),
    };

    return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
