/* SPDX-License-Identifier: MIT */
/* sender.c - a sender whose store does not answer when the agent ends. */
#include "daemon/sender.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define URL "sqlite:/nowhere/profiles.db"

static int go[2];
static int seen[2];

struct store *__wrap_store_open_stoppable(const char *url, bool write_it,
                                          const struct store_stop *stop,
                                          struct pprof_error *error);

/* A store that answers when it may, and then still needs what it was opened with. */
struct store *
__wrap_store_open_stoppable(const char *url, bool write_it,
                            const struct store_stop *stop, struct pprof_error *error)
{
    char byte;

    (void)write_it;
    (void)stop;
    (void)!read(go[0], &byte, 1);
    byte = (char)(strcmp(url, URL) == 0);
    snprintf(error->text, sizeof(error->text), "no answer");
    (void)!write(seen[1], &byte, 1);
    return NULL;
}

static void
stop__store_does_not_answer__texts_of_the_settings_may_be_freed(void **state)
{
    static struct sender sender; /* it is still used when the test ends */
    static struct spool spool;
    char *const url = strdup(URL);
    char *const host = strdup("here");
    char byte = 0;

    (void)state;
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(seen), 0);
    assert_int_equal(sender_start(&sender, &spool, url, host), 0);
    assert_false(sender_stop(&sender));
    memset(url, 'x', strlen(url));
    free(url);
    free(host);
    assert_int_equal(write(go[1], "x", 1), 1);
    assert_int_equal(read(seen[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            stop__store_does_not_answer__texts_of_the_settings_may_be_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
