/* SPDX-License-Identifier: MIT */
/* stack_socket.c - what is left behind where a socket cannot be made, and connections
 * that hold their taker up. */
#include "record/collect/stack_socket.h"

#include "base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static size_t
count_entries(const char *folder)
{
    DIR *const opened = opendir(folder);
    const struct dirent *entry;
    size_t count = 0;

    assert_non_null(opened);
    while ((entry = readdir(opened)) != NULL) {
        count += entry->d_name[0] != '.';
    }
    closedir(opened);
    return count;
}

/* Each of the descriptors that it needs is once the first one that has no room. */
static void
open__few_descriptors__no_folder_is_left(void **state)
{
    char folder[] = "/tmp/ntprof-test-XXXXXX";
    struct rlimit all;
    bool opened = false;
    int lowest;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
    lowest = dup(STDERR_FILENO);
    assert_true(lowest >= 0);
    close(lowest);
    for (int room = 0; !opened && room < 16; room++) {
        const struct rlimit few = {.rlim_cur = (rlim_t)(lowest + room),
                                   .rlim_max = all.rlim_max};
        struct stack_socket socket;
        int result;

        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        result = stack_socket_open(&socket);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
        opened = result == 0;
        assert_true(result <= 0);
        assert_int_equal(count_entries(folder), 0);
        if (opened) {
            stack_socket_close(&socket);
        }
    }
    assert_true(opened);
    assert_int_equal(rmdir(folder), 0);
}

/* Return a TCP socket whose close waits for so long, as its peer reads nothing. */
static int
make_lingering(int seconds)
{
    const struct linger linger = {1, seconds};
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    const int listening = socket(AF_INET, SOCK_STREAM, 0);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    static const char bytes[65536];

    assert_int_equal(bind(listening, (const struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &length), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, length), 0);
    assert_true(accept(listening, NULL, NULL) >= 0); /* stays open */
    while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
    }
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
    return fd;
}

/* Send a byte, and a descriptor, which is closed here. */
static void
hand_over(int connected, int fd)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec data = {.iov_base = control, .iov_len = 1};
    const struct msghdr message = {.msg_iov = &data,
                                   .msg_iovlen = 1,
                                   .msg_control = control,
                                   .msg_controllen = sizeof(control)};
    struct cmsghdr *const header = (struct cmsghdr *)control;

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    assert_int_equal(sendmsg(connected, &message, 0), 1);
    close(fd);
}

static int
connect_to(const struct stack_socket *to)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", to->place);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)),
                     0);
    return fd;
}

/* The second message is never received: the kernel closes its descriptor when the
 * connection is closed. */
static void
take__unread_socket_that_lingers__limited_time(void **state)
{
    const uint64_t begin_ns = clock_now_ns();
    struct stack_socket socket;
    uint32_t pid;
    int connected;
    int fd = -1;

    (void)state;
    assert_int_equal(stack_socket_open(&socket), 0);
    connected = connect_to(&socket);
    hand_over(connected, open("/dev/null", O_RDONLY));
    assert_true(stack_socket_take(&socket, &fd, &pid));
    assert_true(fd >= 0);
    assert_int_equal(pid, getpid());
    close(fd);
    close(connected);
    connected = connect_to(&socket);
    hand_over(connected, open("/dev/null", O_RDONLY));
    hand_over(connected, make_lingering(120));
    assert_true(stack_socket_take(&socket, &fd, &pid));
    assert_int_equal(fd, -1);
    assert_true(clock_now_ns() - begin_ns < 60 * CLOCK_SECOND_NS);
    assert_false(stack_socket_take(&socket, &fd, &pid));
    stack_socket_close(&socket);
    close(connected);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open__few_descriptors__no_folder_is_left),
        cmocka_unit_test(take__unread_socket_that_lingers__limited_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
