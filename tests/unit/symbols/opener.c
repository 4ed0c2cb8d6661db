/* SPDX-License-Identifier: MIT */
/* opener.c - requests of a reader that was taken over: what they may cost together. */
#include "fixture.h"

#include "base/clock.h"
#include "base/time_limit.h"
#include "sandbox/wire.h"
#include "symbols/border/protocol.h"
#include "symbols/client/opener.h"

#include <errno.h>
#include <limits.h>
#include <sys/socket.h>
#include <unistd.h>

static uint64_t closed_key;

void __wrap_time_limit_close(uint64_t key, int fd);

void
__wrap_time_limit_close(uint64_t key, int fd)
{
    closed_key = key;
    close(fd);
}

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

/* Ask for a file, unpacked sections or a download. Whether that is answered, by ENOENT.
 */
static bool
ask(struct opener *opener, uint64_t reply)
{
    if (reply == REPLY_OPEN) {
        wire_put(&reader, 0);
        wire_put_text(&reader, "/no such file");
    } else if (reply == REPLY_UNPACKED) {
        wire_put(&reader, 0);
        wire_put(&reader, 0);
        wire_put(&reader, 4096);
    } else {
        wire_put_bytes(&reader, "build-id", 8);
    }
    wire_send(&reader, -1);
    if (!opener_answer(opener, &command, reply)) {
        return false;
    }
    assert_int_equal(wire_get(&reader), (uint64_t)-ENOENT);
    if (reply == REPLY_DOWNLOAD) {
        assert_string_equal(wire_get_text(&reader, PATH_MAX), "");
    }
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
    static const uint64_t replies[] = {REPLY_OPEN, REPLY_UNPACKED, REPLY_DOWNLOAD};

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

/* Have a program opened and sent, which the opener keeps. */
static void
have_opened(struct opener *opener, const char *path)
{
    wire_put(&reader, 0);
    wire_put_text(&reader, path);
    wire_send(&reader, -1);
    assert_true(opener_answer(opener, &command, REPLY_OPEN));
    assert_int_equal(wire_get(&reader), 0);
    close(wire_take_fd(&reader));
    assert_true(opener->last_fd >= 0);
}

/* Two paths of one file, whose keys differ. */
static void
kept_file__closed_after_another_was_opened__by_its_own_key(void **state)
{
    struct opener opener = {
        .fd = -1, .root = "", .path = "x", .cache = "/none", .last_fd = -1};
    char path[PATH_MAX + 1] = "/";
    uint64_t first_key;
    uint64_t second_key;

    (void)state;
    assert_non_null(realpath("/proc/self/exe", path + 1));
    have_opened(&opener, path + 1);
    first_key = opener.key;
    have_opened(&opener, path);
    assert_int_not_equal(opener.key, first_key);
    second_key = opener.key;
    assert_int_equal(closed_key, first_key);
    assert_true(ask(&opener, REPLY_OPEN));
    opener_close_last(&opener);
    assert_int_equal(closed_key, second_key);
    assert_int_not_equal(closed_key, opener.key);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unpacking__too_long_for_one_answer__ends_it,
                                        open_wires, close_wires),
        cmocka_unit_test_setup_teardown(
            kept_file__closed_after_another_was_opened__by_its_own_key, open_wires,
            close_wires),
        cmocka_unit_test_setup_teardown(requests__too_long_together__end_it, open_wires,
                                        close_wires),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
