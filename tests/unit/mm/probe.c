/* SPDX-License-Identifier: MIT */
/* Probes and copies of the caller's memory. docs/behaviour.md, Create. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine.h"
#include "mm/mm.h"

#include <string.h>

/* Four pages: writable, read-only, absent, writable; and the last page of user space.
 */
#define AREA 0x10000000ull
#define HIGHEST 0x7FFFFFFEFFFFull
#define LAST_PAGE (HIGHEST - 0xFFF)

struct fixture {
    struct host_sim *sim;
    HOST host;
    unsigned char *area;
};

static struct fixture fixture;

static int
setup(void **state)
{
    fixture.sim = host_sim_create(NULL);
    fixture.host = host_sim_host(fixture.sim);
    fixture.area = host_sim_map(fixture.sim, AREA, 0x4000);
    assert_non_null(fixture.area);
    assert_non_null(host_sim_map(fixture.sim, LAST_PAGE, 0x1000));
    host_sim_protect(fixture.sim, AREA + 0x1000, 0x1000, HOST_SIM_READ_ONLY);
    host_sim_protect(fixture.sim, AREA + 0x2000, 0x1000, HOST_SIM_ABSENT);
    *state = &fixture;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    host_sim_delete(fixture.sim);
    return 0;
}

struct probe_row {
    ULONG64 address;
    ULONG64 bytes;
    ULONG alignment;
    NTSTATUS write;
    NTSTATUS read; /* alignment and range alone */
};

static const struct probe_row probe_rows[] = {
    {AREA, 4, 4, STATUS_SUCCESS, STATUS_SUCCESS},
    {AREA, 0x1000, 4, STATUS_SUCCESS, STATUS_SUCCESS},
    {AREA, 0x1001, 4, STATUS_ACCESS_VIOLATION, STATUS_SUCCESS},
    {AREA + 0xFFC, 4, 4, STATUS_SUCCESS, STATUS_SUCCESS},
    {AREA + 0xFFD, 4, 1, STATUS_ACCESS_VIOLATION, STATUS_SUCCESS},
    {AREA + 0xFFC, 5, 4, STATUS_ACCESS_VIOLATION, STATUS_SUCCESS},
    {AREA + 0x1000, 1, 1, STATUS_ACCESS_VIOLATION, STATUS_SUCCESS},
    {AREA + 0x2000, 1, 1, STATUS_ACCESS_VIOLATION, STATUS_SUCCESS},
    {AREA + 0x2FFF, 2, 1, STATUS_ACCESS_VIOLATION, STATUS_SUCCESS},
    {AREA + 0x3000, 0x1000, 4, STATUS_SUCCESS, STATUS_SUCCESS},
    {AREA + 0x3000, 0x1001, 4, STATUS_ACCESS_VIOLATION, STATUS_SUCCESS},
    {AREA, 0x4000, 4, STATUS_ACCESS_VIOLATION, STATUS_SUCCESS},
    {AREA - 1, 2, 1, STATUS_ACCESS_VIOLATION, STATUS_SUCCESS},
    {AREA - 4, 4, 4, STATUS_ACCESS_VIOLATION, STATUS_SUCCESS},
    /* alignment, before the range */
    {AREA + 1, 4, 1, STATUS_SUCCESS, STATUS_SUCCESS},
    {AREA + 1, 4, 4, STATUS_DATATYPE_MISALIGNMENT, STATUS_DATATYPE_MISALIGNMENT},
    {AREA + 2, 4, 4, STATUS_DATATYPE_MISALIGNMENT, STATUS_DATATYPE_MISALIGNMENT},
    {AREA + 3, 4, 4, STATUS_DATATYPE_MISALIGNMENT, STATUS_DATATYPE_MISALIGNMENT},
    {AREA + 2, 4, 2, STATUS_SUCCESS, STATUS_SUCCESS},
    {0xFFFF800000000001, 4, 4, STATUS_DATATYPE_MISALIGNMENT,
     STATUS_DATATYPE_MISALIGNMENT},
    /* no bytes: nothing is looked at */
    {AREA + 1, 0, 4, STATUS_SUCCESS, STATUS_SUCCESS},
    {~(ULONG64)0, 0, 4, STATUS_SUCCESS, STATUS_SUCCESS},
    /* the end of user space */
    {LAST_PAGE, 0x1000, 4, STATUS_SUCCESS, STATUS_SUCCESS},
    {LAST_PAGE, 0x1001, 4, STATUS_ACCESS_VIOLATION, STATUS_ACCESS_VIOLATION},
    {HIGHEST, 1, 1, STATUS_SUCCESS, STATUS_SUCCESS},
    {HIGHEST, 2, 1, STATUS_ACCESS_VIOLATION, STATUS_ACCESS_VIOLATION},
    {HIGHEST + 1, 1, 1, STATUS_ACCESS_VIOLATION, STATUS_ACCESS_VIOLATION},
    {HIGHEST + 1, 4, 4, STATUS_ACCESS_VIOLATION, STATUS_ACCESS_VIOLATION},
    {0xFFFF800000000000, 4, 4, STATUS_ACCESS_VIOLATION, STATUS_ACCESS_VIOLATION},
    {0, 4, 4, STATUS_ACCESS_VIOLATION, STATUS_SUCCESS},
    /* sizes that wrap */
    {AREA, ~(ULONG64)0, 4, STATUS_ACCESS_VIOLATION, STATUS_ACCESS_VIOLATION},
    {AREA, ~(ULONG64)0 - AREA + 1, 4, STATUS_ACCESS_VIOLATION, STATUS_ACCESS_VIOLATION},
    {~(ULONG64)3, 8, 4, STATUS_ACCESS_VIOLATION, STATUS_ACCESS_VIOLATION},
};

static void
probe__table__status(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(probe_rows) / sizeof(probe_rows[0]); i++) {
        const struct probe_row *const row = &probe_rows[i];
        const NTSTATUS write =
            MmProbeForWrite(&fixture.host, row->address, row->bytes, row->alignment);
        const NTSTATUS read =
            MmProbeForRead(&fixture.host, row->address, row->bytes, row->alignment);

        if (write != row->write || read != row->read) {
            fail_msg("row %zu: write %08x, read %08x", i, (unsigned)write,
                     (unsigned)read);
        }
    }
}

static void
probe__writable_memory__unchanged(void **state)
{
    unsigned char before[0x1000];

    (void)state;
    for (size_t i = 0; i < sizeof(before); i++) {
        fixture.area[i] = (unsigned char)(i * 7);
    }
    memcpy(before, fixture.area, sizeof(before));
    assert_int_equal(MmProbeForWrite(&fixture.host, AREA, 0x1000, 4), STATUS_SUCCESS);
    assert_memory_equal(fixture.area, before, sizeof(before));
}

static void
probe__range_outside_user_space__host_not_asked(void **state)
{
    const uint64_t before = host_sim_calls(fixture.sim, HOST_SIM_ANY_CALL);

    (void)state;
    (void)MmProbeForWrite(&fixture.host, HIGHEST, 2, 1);
    (void)MmProbeForWrite(&fixture.host, AREA + 1, 4, 4);
    (void)MmProbeForRead(&fixture.host, AREA, 4, 4);
    assert_int_equal(host_sim_calls(fixture.sim, HOST_SIM_ANY_CALL), before);
}

static void
copy__whole_range_good__bytes_moved(void **state)
{
    char text[] = "0123456789";

    (void)state;
    assert_int_equal(MmCopyToCaller(&fixture.host, AREA + 0xFF0, text, 10),
                     STATUS_SUCCESS);
    assert_memory_equal(fixture.area + 0xFF0, "0123456789", 10);
    memcpy(fixture.area + 0xFFC, "abcdefgh", 8);
    assert_int_equal(MmCopyFromCaller(&fixture.host, text, AREA + 0xFFC, 8),
                     STATUS_SUCCESS);
    assert_string_equal(text, "abcdefgh89");
}

static void
copy__fault_anywhere__violation_nothing_moved(void **state)
{
    static const ULONG64 bad_to[] = {AREA + 0xFFD,       AREA + 0x1000,  AREA + 0x2FFD,
                                     HIGHEST - 2,        HIGHEST + 1,    0,
                                     0xFFFF800000000000, ~(ULONG64)0 - 1};
    static const ULONG64 bad_from[] = {AREA + 0x1FFD,  AREA + 0x2000, AREA + 0x2FFD,
                                       HIGHEST - 2,    HIGHEST + 1,   0,
                                       ~(ULONG64)0 - 1};
    unsigned char before[0x4000];
    char text[] = "wxyz";

    (void)state;
    memcpy(before, fixture.area, sizeof(before));
    for (size_t i = 0; i < sizeof(bad_to) / sizeof(bad_to[0]); i++) {
        assert_int_equal(MmCopyToCaller(&fixture.host, bad_to[i], "1234", 4),
                         STATUS_ACCESS_VIOLATION);
    }
    for (size_t i = 0; i < sizeof(bad_from) / sizeof(bad_from[0]); i++) {
        assert_int_equal(MmCopyFromCaller(&fixture.host, text, bad_from[i], 4),
                         STATUS_ACCESS_VIOLATION);
    }
    assert_memory_equal(fixture.area, before, sizeof(before));
    assert_string_equal(text, "wxyz");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(probe__table__status),
        TEST(probe__writable_memory__unchanged),
        TEST(probe__range_outside_user_space__host_not_asked),
        TEST(copy__whole_range_good__bytes_moved),
        TEST(copy__fault_anywhere__violation_nothing_moved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
