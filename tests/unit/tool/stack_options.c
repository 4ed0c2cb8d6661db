/* SPDX-License-Identifier: MIT */
/* Command lines with -g, on machines whose stacks are walked and on others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/message.h"
#include "record/record_options.h"
#include "record/record_rows.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool possible;

/* Called in place of stack_walk_possible. */
bool __wrap_stack_walk_possible(void);

bool
__wrap_stack_walk_possible(void)
{
    return possible;
}

static const struct options_syntax options_syntax = {
    .command = "run",
    .words_max = 8,
    .program = true,
    .groups = {{record_stack_rows, 0}},
};
static const struct record_syntax syntax = {.options = &options_syntax};

/* Read a command line with -g. said: what standard error gets. */
static bool
take(struct record_options *options, char *said, size_t size)
{
    char *words[] = {"run", "-g", "true", NULL};
    FILE *const file = tmpfile();
    const int before = dup(STDERR_FILENO);
    int exit_status = 0;
    bool taken;
    size_t length;

    assert_non_null(file);
    assert_true(before >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    taken = record_options_take(options, &syntax, 3, words, &exit_status);
    fflush(stderr);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    rewind(file);
    length = fread(said, 1, size - 1, file);
    said[length] = '\0';
    fclose(file);
    assert_int_equal(exit_status, CMD_FAILED);
    return taken;
}

static void
stacks__no_walk_on_this_machine__refused_with_the_reason(void **state)
{
    struct record_options options;
    char said[256];

    (void)state;
    possible = false;
    assert_false(take(&options, said, sizeof(said)));
    assert_string_equal(said, "ntprof: run: -g: no call stacks are recorded on this "
                              "machine, only on x86-64 and arm64\n");
    record_options_finish(&options);
}

static void
stacks__machine_is_walked__taken_with_defaults(void **state)
{
    struct record_options options;
    char said[256];

    (void)state;
    possible = true;
    assert_true(take(&options, said, sizeof(said)));
    assert_string_equal(said, "");
    assert_true(options.stacks);
    assert_int_equal(options.stack_bytes, 16384);
    record_options_finish(&options);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks__no_walk_on_this_machine__refused_with_the_reason),
        cmocka_unit_test(stacks__machine_is_walked__taken_with_defaults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
