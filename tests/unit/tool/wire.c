/* SPDX-License-Identifier: MIT */
/* wire.c - names that come from the other end of a socket, honest and too long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sandbox/wire.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ends - of one socket. */
struct ends {
    struct wire sender;
    struct wire receiver;
    struct string_set sent;
    struct wire_names names;
};

static void
connect_ends(struct ends *ends, uint64_t bytes_left)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    *ends = (struct ends){.names = {.bytes_left = bytes_left}};
    wire_init(&ends->sender, pair[0], NULL, NULL);
    wire_init(&ends->receiver, pair[1], NULL, NULL);
}

static void
disconnect(struct ends *ends)
{
    close(ends->sender.fd);
    close(ends->receiver.fd);
    wire_finish(&ends->sender);
    wire_finish(&ends->receiver);
    string_set_finish(&ends->sent);
    wire_names_finish(&ends->names);
}

static const char *
pass_name(struct ends *ends, const char *text, size_t most)
{
    wire_put_name(&ends->sender, &ends->sent, text);
    wire_send(&ends->sender, -1);
    return wire_get_name(&ends->receiver, &ends->names, most);
}

static void
name__again_and_again__kept_once(void **state)
{
    struct ends ends;
    const char *first;

    (void)state;
    connect_ends(&ends, 1000);
    first = pass_name(&ends, "main", 4);
    assert_string_equal(first, "main");
    assert_string_equal(pass_name(&ends, "work", 4), "work");
    assert_string_equal(pass_name(&ends, "", 4), "");
    assert_ptr_equal(pass_name(&ends, "main", 4), first);
    assert_int_equal(ends.names.count, 2);
    assert_false(ends.receiver.failed);
    disconnect(&ends);
}

/* However much all names may take together. */
static void
name__longer_than_one_may_be__failure(void **state)
{
    struct ends ends;

    (void)state;
    connect_ends(&ends, 1000);
    assert_string_equal(pass_name(&ends, "mains", 4), "");
    assert_true(ends.receiver.failed);
    assert_int_equal(ends.names.count, 0);
    disconnect(&ends);
}

static void
names__more_than_all_may_take__failure(void **state)
{
    struct ends ends;

    (void)state;
    connect_ends(&ends, 50);
    assert_string_equal(pass_name(&ends, "main", 1000), "main");
    assert_string_equal(pass_name(&ends, "work", 1000), "");
    assert_true(ends.receiver.failed);
    assert_int_equal(ends.names.count, 1);
    disconnect(&ends);
}

static void
has_more__two_numbers_sent_together__until_both_are_taken(void **state)
{
    struct ends ends;

    (void)state;
    connect_ends(&ends, 0);
    assert_false(wire_has_more(&ends.receiver));
    wire_put(&ends.sender, 1);
    wire_put(&ends.sender, 2);
    wire_send(&ends.sender, -1);
    assert_int_equal(wire_get(&ends.receiver), 1);
    assert_true(wire_has_more(&ends.receiver));
    assert_int_equal(wire_get(&ends.receiver), 2);
    assert_false(wire_has_more(&ends.receiver));
    disconnect(&ends);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(name__again_and_again__kept_once),
        cmocka_unit_test(name__longer_than_one_may_be__failure),
        cmocka_unit_test(names__more_than_all_may_take__failure),
        cmocka_unit_test(has_more__two_numbers_sent_together__until_both_are_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
