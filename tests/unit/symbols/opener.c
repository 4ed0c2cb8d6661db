/* SPDX-License-Identifier: MIT */
/* opener.c - requests of a reader that was taken over: what they may cost together. */
#include "fixture.h"

#include "base/clock.h"
#include "sandbox/wire.h"
#include "symbols/border/protocol.h"
#include "symbols/client/opener.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static struct wire command;
static struct wire reader;

static int
open_wires(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    wire_init(&command, ends[0], NULL, NULL);
    wire_init(&reader, ends[1], NULL, NULL);
    return 0;
}

static int
close_wires(void **state)
{
    (void)state;
    close(command.fd);
    close(reader.fd);
    wire_finish(&command);
    wire_finish(&reader);
    return 0;
}

/* Ask for a file, or for unpacked sections. Whether that is answered, by ENOENT. */
static bool
ask(struct opener *opener, uint64_t reply)
{
    wire_put(&reader, 0);
    if (reply == REPLY_OPEN) {
        wire_put_text(&reader, "/no such file");
    } else {
        wire_put(&reader, 0);
        wire_put(&reader, 4096);
    }
    wire_send(&reader, -1);
    if (!opener_answer(opener, &command, reply)) {
        return false;
    }
    assert_int_equal(wire_get(&reader), (uint64_t)-ENOENT);
    assert_false(opener->late);
    return true;
}

static void
unpacking__too_long_for_one_answer__ends_it(void **state)
{
    struct opener opener = {.fd = -1, .root = "", .path = "x", .last_fd = -1};

    (void)state;
    opener.unpacked_ns = 10 * CLOCK_SECOND_NS - 1;
    assert_true(ask(&opener, REPLY_UNPACKED));
    opener.unpacked_ns++;
    assert_false(ask(&opener, REPLY_UNPACKED));
    assert_true(opener.late);
}

/* Each request is counted, however often it is refused. */
static void
requests__too_long_together__end_it(void **state)
{
    static const uint64_t replies[] = {REPLY_OPEN, REPLY_UNPACKED};

    (void)state;
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        struct opener opener = {.fd = -1, .root = "", .path = "x", .last_fd = -1};

        assert_true(ask(&opener, replies[i]));
        assert_true(opener.asked_ns > 0);
        opener.asked_ns = 30 * CLOCK_SECOND_NS - 1;
        assert_true(ask(&opener, replies[i]));
        assert_true(opener.asked_ns >= 30 * CLOCK_SECOND_NS);
        assert_false(ask(&opener, replies[i]));
        assert_true(opener.late);
        (void)close_wires(state);
        (void)open_wires(state);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unpacking__too_long_for_one_answer__ends_it,
                                        open_wires, close_wires),
        cmocka_unit_test_setup_teardown(requests__too_long_together__end_it, open_wires,
                                        close_wires),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
