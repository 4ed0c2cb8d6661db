/* SPDX-License-Identifier: MIT */
/* NtQueryIntervalProfile and NtSetIntervalProfile. nt.md 4; 14, 9 to 12. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine.h"

#include <string.h>

#define UNTOUCHED 0xA5A5A5A5u

static struct machine machine;

static int
setup(void **state)
{
    machine_open(&machine, NULL);
    *state = &machine;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    machine_close(&machine);
    return 0;
}

static ULONG
read_interval(void)
{
    ULONG value;

    memcpy(&value, host_sim_at(machine.host, MACHINE_INTERVAL, sizeof(value)),
           sizeof(value));
    return value;
}

static ULONG
query(KPROFILE_SOURCE source)
{
    const ULONG untouched = UNTOUCHED;

    machine_write(&machine, MACHINE_INTERVAL, &untouched, sizeof(untouched));
    assert_int_equal(
        ExQueryIntervalProfile(&machine.system, UserMode, source, MACHINE_INTERVAL),
        STATUS_SUCCESS);
    return read_interval();
}

static void
set(KPROFILE_SOURCE source, ULONG interval)
{
    assert_int_equal(ExSetIntervalProfile(&machine.system, UserMode, interval, source),
                     STATUS_SUCCESS);
}

/* A HAL whose intervals have more than 32 bits, and that remembers what it was told. */
static HAL_TABLE wide_table;
static ULONG64 wide_interval;
static KPROFILE_SOURCE told_source;
static ULONG64 told_interval;

static void
query_wide(void *context, KPROFILE_SOURCE source, HAL_SOURCE *information)
{
    (void)context;
    (void)source;
    *information = (HAL_SOURCE){.Supported = TRUE, .Interval = wide_interval};
}

static void
be_told(void *context, KPROFILE_SOURCE source, ULONG64 interval)
{
    (void)context;
    told_source = source;
    told_interval = interval;
}

static void
use_wide_hal(void)
{
    wide_table = *machine.system.Hal.Table;
    wide_table.QuerySource = query_wide;
    wide_table.SetInterval = be_told;
    machine.system.Hal.Table = &wide_table;
}

static void
query__interval_of_more_than_32_bits__the_highest(void **state)
{
    static const struct {
        ULONG64 interval;
        ULONG value;
    } rows[] = {
        {0xFFFFFFFE, 0xFFFFFFFE},  {0xFFFFFFFF, 0xFFFFFFFF}, {0x100000000, 0xFFFFFFFF},
        {0x100000001, 0xFFFFFFFF}, {1ull << 63, 0xFFFFFFFF}, {~0ull, 0xFFFFFFFF},
    };

    (void)state;
    use_wide_hal();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        wide_interval = rows[i].interval;
        assert_int_equal(query(ProfileTotalCycles), rows[i].value);
        assert_int_equal(query(ProfileTime), rows[i].value);
    }
}

/* The core remembers that of alignment fixups, but the HAL has to know it as well. */
static void
set__any_source__hal_is_told(void **state)
{
    static const KPROFILE_SOURCE sources[] = {ProfileTime, ProfileAlignmentFixup,
                                              ProfileTotalCycles, 0x7777};

    (void)state;
    use_wide_hal();
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        set(sources[i], 20000 + (ULONG)i);
        assert_int_equal(told_source, sources[i]);
        assert_int_equal(told_interval, 20000 + i);
    }
}

/* rules: query-unsupported, interval-units */
static void
query__any_source__success_and_0_if_unsupported(void **state)
{
    (void)state;
    assert_int_equal(query(ProfileTime), 10000);
    assert_int_equal(query(ProfileTotalCycles), 0x10000);
    assert_int_equal(query(ProfileTotalIssues), 0x10000);
    assert_int_equal(query(ProfileLoadInstructions), 0);
    assert_int_equal(query(ProfileMaximum), 0);
    assert_int_equal(query(0x10000), 0);
    assert_int_equal(query(0xFFFFFFFF), 0);
    sim_set_supported(machine.sim, ProfileTotalCycles, false);
    assert_int_equal(query(ProfileTotalCycles), 0);
}

struct set_row {
    KPROFILE_SOURCE source;
    ULONG wanted;
    ULONG effective;
};

static const struct set_row set_rows[] = {
    {ProfileTime, 0, 1221},
    {ProfileTime, 1, 1221},
    {ProfileTime, 1220, 1221},
    {ProfileTime, 1221, 1221},
    {ProfileTime, 1222, 1222},
    {ProfileTime, 9999999, 9999999},
    {ProfileTime, 10000000, 10000000},
    {ProfileTime, 10000001, 10000000},
    {ProfileTime, 0xFFFFFFFF, 10000000},
    {ProfileTotalCycles, 0, 0x1000},
    {ProfileTotalCycles, 0xFFF, 0x1000},
    {ProfileTotalCycles, 0x1000, 0x1000},
    {ProfileTotalCycles, 0x1001, 0x1001},
    {ProfileTotalCycles, 0x10000, 0x10000},
    /* unsupported: success, and still unsupported */
    {ProfileLoadInstructions, 0x2000, 0},
    {ProfileMaximum, 0x2000, 0},
    {0xFFFFFFFF, 0x2000, 0},
};

/* rules: set-always-succeeds, set-clamps, query-in-effect */
static void
set__with_privilege__always_succeeds_clamped(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(set_rows) / sizeof(set_rows[0]); i++) {
        const struct set_row *const row = &set_rows[i];

        set(row->source, row->wanted);
        if (query(row->source) != row->effective) {
            fail_msg("row %zu: %u", i, (unsigned)query(row->source));
        }
    }
}

static void
set__one_source__others_keep_theirs(void **state)
{
    (void)state;
    set(ProfileTime, 5000);
    assert_int_equal(query(ProfileTime), 5000);
    assert_int_equal(query(ProfileTotalCycles), 0x10000);
    set(ProfileTotalCycles, 0x4000);
    assert_int_equal(query(ProfileTime), 5000);
    assert_int_equal(query(ProfileTotalCycles), 0x4000);
}

/* rule: set-privilege */
static void
set__without_privilege__refused_nothing_set(void **state)
{
    static const KPROFILE_SOURCE sources[] = {ProfileTime, ProfileAlignmentFixup,
                                              ProfileTotalCycles, ProfileMaximum};

    (void)state;
    host_sim_set_privilege(machine.host, false);
    for (size_t i = 0; i < 4; i++) {
        const ULONG before = query(sources[i]);

        assert_int_equal(
            ExSetIntervalProfile(&machine.system, UserMode, 0x5555, sources[i]),
            STATUS_PRIVILEGE_NOT_HELD);
        assert_int_equal(query(sources[i]), before);
    }
    assert_int_equal(
        ExSetIntervalProfile(&machine.system, KernelMode, 0x5555, ProfileTime),
        STATUS_SUCCESS);
    assert_int_equal(query(ProfileTime), 0x5555);
}

/* Only remembered: the last value set, whatever it was; 0 if none ever was. */
/* rule: query-alignment-fixup */
static void
alignment_fixup__any_value__remembered_as_it_is(void **state)
{
    (void)state;
    assert_int_equal(query(ProfileAlignmentFixup), 0);
    set(ProfileAlignmentFixup, 7);
    assert_int_equal(query(ProfileAlignmentFixup), 7);
    set(ProfileAlignmentFixup, 0xFFFFFFFF);
    assert_int_equal(query(ProfileAlignmentFixup), 0xFFFFFFFF);
    set(ProfileAlignmentFixup, 0);
    assert_int_equal(query(ProfileAlignmentFixup), 0);
    sim_set_supported(machine.sim, ProfileAlignmentFixup, false);
    set(ProfileAlignmentFixup, 9);
    assert_int_equal(query(ProfileAlignmentFixup), 9);
}

struct address_row {
    uint64_t address;
    NTSTATUS status;
};

static const struct address_row address_rows[] = {
    {MACHINE_INTERVAL + 4, STATUS_SUCCESS},
    {MACHINE_INTERVAL + 1, STATUS_DATATYPE_MISALIGNMENT},
    {MACHINE_INTERVAL + 2, STATUS_DATATYPE_MISALIGNMENT},
    {MACHINE_INTERVAL + 3, STATUS_DATATYPE_MISALIGNMENT},
    {MACHINE_SCRATCH + MACHINE_SCRATCH_BYTES - 4, STATUS_SUCCESS},
    {MACHINE_SCRATCH + MACHINE_SCRATCH_BYTES, STATUS_ACCESS_VIOLATION},
    {0, STATUS_ACCESS_VIOLATION},
    {0x7FFFFFFF0000, STATUS_ACCESS_VIOLATION},
    {0xFFFF800000000000, STATUS_ACCESS_VIOLATION},
    {0xFFFFFFFFFFFFFFFC, STATUS_ACCESS_VIOLATION},
};

/* rules: query-pointer, query-alignment */
static void
query__address__aligned_writable_user_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(address_rows) / sizeof(address_rows[0]); i++) {
        const NTSTATUS status = ExQueryIntervalProfile(
            &machine.system, UserMode, ProfileTime, address_rows[i].address);

        if (status != address_rows[i].status) {
            fail_msg("row %zu: %08x", i, (unsigned)status);
        }
    }
    host_sim_protect(machine.host, MACHINE_INTERVAL, 1, HOST_SIM_READ_ONLY);
    assert_int_equal(ExQueryIntervalProfile(&machine.system, UserMode, ProfileTime,
                                            MACHINE_INTERVAL),
                     STATUS_ACCESS_VIOLATION);
}

/* As published: GC-q. */
/* rule: query-late-fault */
static void
query__memory_vanishes_after_probe__success_untouched(void **state)
{
    const ULONG untouched = UNTOUCHED;

    (void)state;
    machine_write(&machine, MACHINE_INTERVAL, &untouched, sizeof(untouched));
    host_sim_fail(machine.host, HOST_SIM_COPY_TO_CALLER, 1, false);
    assert_int_equal(ExQueryIntervalProfile(&machine.system, UserMode, ProfileTime,
                                            MACHINE_INTERVAL),
                     STATUS_SUCCESS);
    assert_int_equal(read_interval(), UNTOUCHED);
}

static void
query__kernel_mode__own_address(void **state)
{
    ULONG interval = UNTOUCHED;

    (void)state;
    assert_int_equal(ExQueryIntervalProfile(&machine.system, KernelMode, ProfileTime,
                                            (ULONG_PTR)&interval),
                     STATUS_SUCCESS);
    assert_int_equal(interval, 10000);
}

/* rule: query-no-privilege */
static void
query__without_rights__no_privilege_needed(void **state)
{
    (void)state;
    host_sim_set_privilege(machine.host, false);
    host_sim_set_restricted(machine.host, HOST_RESTRICTED_BY_ACCESS_CHECK);
    assert_int_equal(query(ProfileTime), 10000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(query__interval_of_more_than_32_bits__the_highest),
        TEST(set__any_source__hal_is_told),
        TEST(query__any_source__success_and_0_if_unsupported),
        TEST(set__with_privilege__always_succeeds_clamped),
        TEST(set__one_source__others_keep_theirs),
        TEST(set__without_privilege__refused_nothing_set),
        TEST(alignment_fixup__any_value__remembered_as_it_is),
        TEST(query__address__aligned_writable_user_memory),
        TEST(query__memory_vanishes_after_probe__success_untouched),
        TEST(query__kernel_mode__own_address),
        TEST(query__without_rights__no_privilege_needed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
