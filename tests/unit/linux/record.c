/* SPDX-License-Identifier: MIT */
/* record.c - the reader of the kernel's records, given good and impossible bytes. */
#include "crafted.h"

#include "cmocka_all.h"

#include <errno.h>

static void
parse__mmap2__all_members(void **state)
{
    struct crafted crafted;
    struct perf_record record;

    (void)state;
    craft_mmap2(&crafted, 42, 0x7000, 0x2000, 99, "/lib/a.so", 123456);
    assert_int_equal(perf_record_parse(crafted.bytes, crafted.size, &record), 0);
    assert_int_equal(record.type, PERF_RECORD_MMAP2);
    assert_int_equal(record.pid, 42);
    assert_int_equal(record.base, 0x7000);
    assert_int_equal(record.length, 0x2000);
    assert_int_equal(record.file_offset, 0x1000);
    assert_int_equal(record.device_major, 8);
    assert_int_equal(record.device_minor, 1);
    assert_int_equal(record.inode, 99);
    assert_int_equal(record.inode_generation, 7);
    assert_int_equal(record.time_ns, 123456);
    assert_int_equal(record.id, 1);
    assert_string_equal(record.name, "/lib/a.so");
}

static void
parse__build_id_in_place_of_inode__not_taken_for_one(void **state)
{
    struct crafted crafted;
    struct perf_record record;

    (void)state;
    craft_mmap2(&crafted, 42, 0x7000, 0x2000, 99, "/lib/a.so", 1);
    ((struct perf_event_header *)crafted.bytes)->misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
    assert_int_equal(perf_record_parse(crafted.bytes, crafted.size, &record), 0);
    assert_int_equal(record.inode, 0);
    assert_int_equal(record.device_major, 0);
}

static void
parse__name_without_end__refused(void **state)
{
    struct crafted crafted;
    struct perf_record record = {.pid = 77};

    (void)state;
    craft_begin(&crafted, PERF_RECORD_COMM, 0);
    craft_u32(&crafted, 1);
    craft_u32(&crafted, 1);
    craft_bytes(&crafted, "abcdefgh", 8);
    craft_end(&crafted, 1, 1, 1, 1);
    assert_int_equal(perf_record_parse(crafted.bytes, crafted.size, &record), -EBADMSG);
    assert_int_equal(record.pid, 77);

    /* The end must not be found in the trailer, nor a name of no bytes at all be read.
     */
    craft_begin(&crafted, PERF_RECORD_COMM, 0);
    craft_u32(&crafted, 1);
    craft_u32(&crafted, 1);
    craft_end(&crafted, 0, 0, 0, 0);
    assert_int_equal(perf_record_parse(crafted.bytes, crafted.size, &record), -EBADMSG);
    assert_int_equal(record.pid, 77);
}

static void
parse__every_type_cut_short__refused(void **state)
{
    static const uint32_t types[] = {
        PERF_RECORD_MMAP2,    PERF_RECORD_COMM,       PERF_RECORD_FORK,
        PERF_RECORD_EXIT,     PERF_RECORD_LOST,       PERF_RECORD_LOST_SAMPLES,
        PERF_RECORD_THROTTLE, PERF_RECORD_UNTHROTTLE,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct crafted crafted;
        struct perf_record record = {.pid = 77};

        craft_begin(&crafted, types[i], 0);
        craft_end(&crafted, 1, 1, 1, 1);
        assert_int_equal(perf_record_parse(crafted.bytes, crafted.size, &record),
                         -EBADMSG);
        for (size_t size = 8; size < 32; size += 8) {
            assert_int_equal(perf_record_parse(crafted.bytes, size, &record), -EBADMSG);
        }
        assert_int_equal(record.pid, 77);
    }
}

static void
parse__range_of_nothing_or_wrapping__refused(void **state)
{
    static const struct {
        uint64_t base;
        uint64_t length;
        int result;
    } rows[] = {
        {0x1000, 0, -EBADMSG},
        {UINT64_MAX - 0xFFF, 0x1000, -EBADMSG},
        {0x1000, UINT64_MAX, -EBADMSG},
        {UINT64_MAX - 0x1000, 0x1000, 0},
        {0, UINT64_MAX, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct crafted crafted;
        struct perf_record record;

        craft_mmap2(&crafted, 1, rows[i].base, rows[i].length, 1, "x", 1);
        assert_int_equal(perf_record_parse(crafted.bytes, crafted.size, &record),
                         rows[i].result);
    }
}

static void
parse__unknown_type__of_no_interest(void **state)
{
    struct crafted crafted;
    struct perf_record record;

    (void)state;
    craft_begin(&crafted, 4711, 0);
    craft_end(&crafted, 1, 1, 1, 1);
    assert_int_equal(perf_record_parse(crafted.bytes, crafted.size, &record), -ENOTSUP);
}

static void
parse__lost_and_throttle__numbers(void **state)
{
    struct crafted crafted;
    struct perf_record record;

    (void)state;
    craft_begin(&crafted, PERF_RECORD_LOST, 0);
    craft_u64(&crafted, 5);
    craft_u64(&crafted, 1234);
    craft_end(&crafted, 1, 1, 9, 6);
    assert_int_equal(perf_record_parse(crafted.bytes, crafted.size, &record), 0);
    assert_int_equal(record.count, 1234);
    assert_int_equal(record.id, 6);

    craft_begin(&crafted, PERF_RECORD_THROTTLE, 0);
    craft_u64(&crafted, 8);
    craft_u64(&crafted, 5);
    craft_u64(&crafted, 55);
    craft_end(&crafted, 1, 1, 9, 6);
    assert_int_equal(perf_record_parse(crafted.bytes, crafted.size, &record), 0);
    assert_int_equal(record.stream_id, 55);
    assert_int_equal(record.time_ns, 9);
}

static void
time__sample_and_others__where_it_lies(void **state)
{
    struct crafted crafted;

    (void)state;
    craft_sample(&crafted, 1, 2, 333);
    assert_int_equal(perf_record_time(crafted.bytes, crafted.size), 333);
    assert_int_equal(perf_record_time(crafted.bytes, 32), 0);
    craft_comm(&crafted, 0, 1, 1, "name", 444);
    assert_int_equal(perf_record_time(crafted.bytes, crafted.size), 444);
    assert_int_equal(perf_record_time(crafted.bytes, 24), 0);
}

static const struct perf_event_header *
header_of(const struct crafted *crafted)
{
    return (const void *)crafted->bytes;
}

/* rule: hit-segment */
static void
sample__registers__selector_and_offset_of_user_mode_alone(void **state)
{
    static const struct {
        uint16_t misc;
        uint64_t abi;
        uint64_t cs;
        uint32_t selector;
    } rows[] = {
        {PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_64, 0x33, 0x33},
        {PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_32, 0x0F, 0x0F},
        {PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_32, 0xFFFFFFFFABCD0017, 0x17},
        {PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP, PERF_SAMPLE_REGS_ABI_32,
         0x0F, 0x0F},
        {PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_NONE, 0x33, 0},
        {PERF_RECORD_MISC_KERNEL, PERF_SAMPLE_REGS_ABI_64, 0x33, 0},
        {PERF_RECORD_MISC_GUEST_USER, PERF_SAMPLE_REGS_ABI_64, 0x33, 0},
        {PERF_RECORD_MISC_CPUMODE_UNKNOWN, PERF_SAMPLE_REGS_ABI_64, 0x33, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct crafted crafted;
        uint64_t offset = 77;

        craft_sample_registers(&crafted, rows[i].misc, rows[i].abi, 0x1234, rows[i].cs);
        assert_true(perf_sample_is_whole(header_of(&crafted)));
        assert_int_equal(perf_record_time(crafted.bytes, crafted.size), 3);
        assert_int_equal(perf_sample_selector(header_of(&crafted), &offset),
                         rows[i].selector);
        assert_int_equal(offset, rows[i].selector != 0 ? 0x1234 : 0);
    }
}

static void
sample__without_registers__whole_and_tells_no_selector(void **state)
{
    struct crafted crafted;
    uint64_t offset = 77;

    (void)state;
    craft_sample(&crafted, 1, 2, 3);
    /* What lies behind it is another record's. */
    memset(crafted.bytes + crafted.size, 0x33, 64);
    assert_true(perf_sample_is_whole(header_of(&crafted)));
    assert_int_equal(perf_sample_selector(header_of(&crafted), &offset), 0);
    assert_int_equal(offset, 0);
}

static void
sample__size_that_contradicts_its_registers__not_whole(void **state)
{
    static const uint64_t abis[] = {PERF_SAMPLE_REGS_ABI_NONE, PERF_SAMPLE_REGS_ABI_32,
                                    PERF_SAMPLE_REGS_ABI_64, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(abis) / sizeof(abis[0]); i++) {
        const size_t with_registers = i == 0 ? 48 : 64;
        struct crafted crafted;

        craft_sample_registers(&crafted, PERF_RECORD_MISC_USER, abis[i], 1, 0x33);
        memset(crafted.bytes + crafted.size, 0, 64);
        for (size_t size = 8; size <= 128; size += 8) {
            craft_size(&crafted, size);
            assert_int_equal(perf_sample_is_whole(header_of(&crafted)),
                             size == 40 || size == with_registers);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse__mmap2__all_members),
        cmocka_unit_test(parse__build_id_in_place_of_inode__not_taken_for_one),
        cmocka_unit_test(parse__name_without_end__refused),
        cmocka_unit_test(parse__every_type_cut_short__refused),
        cmocka_unit_test(parse__range_of_nothing_or_wrapping__refused),
        cmocka_unit_test(parse__unknown_type__of_no_interest),
        cmocka_unit_test(parse__lost_and_throttle__numbers),
        cmocka_unit_test(time__sample_and_others__where_it_lies),
        cmocka_unit_test(sample__registers__selector_and_offset_of_user_mode_alone),
        cmocka_unit_test(sample__without_registers__whole_and_tells_no_selector),
        cmocka_unit_test(sample__size_that_contradicts_its_registers__not_whole),
    };

    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
