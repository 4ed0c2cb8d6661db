/* SPDX-License-Identifier: MIT */
/* record.c - the reader of the kernel's records, given good and impossible bytes. */
#include "crafted.h"

#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>

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

/* ---- samples ---- */

static const struct perf_sample_layout selector_layout = {.registers =
                                                              PERF_SELECTOR_REGISTERS};

static const struct perf_sample *
sample_of(const struct crafted *crafted)
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
        struct perf_sample_parts parts;
        uint64_t offset = 77;

        craft_sample_registers(&crafted, rows[i].misc, rows[i].abi, 0x1234, rows[i].cs);
        assert_int_equal(
            perf_sample_parse(sample_of(&crafted), &selector_layout, &parts), 0);
        assert_int_equal(perf_record_time(crafted.bytes, crafted.size), 3);
        assert_int_equal(perf_sample_selector(sample_of(&crafted), &selector_layout,
                                              &parts, &offset),
                         rows[i].selector);
        assert_int_equal(offset, rows[i].selector != 0 ? 0x1234 : 0);
    }
}

/* Other registers are not taken for the code segment. */
static void
sample__other_layouts__no_selector(void **state)
{
    static const struct craft_parts rows[] = {
        {.abi = 0},
        {.layout = {.registers = 17}, .abi = PERF_SAMPLE_REGS_ABI_64},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct crafted crafted;
        struct perf_sample_parts parts;
        uint64_t offset = 77;

        craft_sample_parts(&crafted, 1, 3, &rows[i]);
        assert_int_equal(
            perf_sample_parse(sample_of(&crafted), &rows[i].layout, &parts), 0);
        assert_int_equal(
            perf_sample_selector(sample_of(&crafted), &rows[i].layout, &parts, &offset),
            0);
        assert_int_equal(offset, 0);
    }
}

/* The combinations of fields, each with nothing, something and as odd as it may be. */
static const struct craft_parts crafted_parts[] = {
    {.abi = 0},
    {.layout = {.chain = true}, .chain_count = 0},
    {.layout = {.chain = true}, .chain_count = 5},
    {.layout = {.registers = 2}, .abi = 0},
    {.layout = {.registers = 17}, .abi = PERF_SAMPLE_REGS_ABI_64},
    {.layout = {.registers = 33}, .abi = UINT64_MAX},
    {.layout = {.stack = true}, .asked = 0},
    {.layout = {.stack = true}, .asked = 64, .read = 64},
    {.layout = {.stack = true}, .asked = 13, .read = 5},
    {.layout = {.chain = true, .registers = 17}, .chain_count = 2, .abi = 1},
    {.layout = {.chain = true, .stack = true}, .chain_count = 1, .asked = 4, .read = 4},
    {.layout = {.registers = 17, .stack = true}, .abi = 2, .asked = 16, .read = 0},
    {.layout = {.registers = 17, .stack = true}, .abi = 0, .asked = 0},
    {.layout = {.chain = true, .registers = 17, .stack = true},
     .chain_count = 3,
     .abi = 2,
     .asked = 100,
     .read = 99},
};

enum { CRAFTED = sizeof(crafted_parts) / sizeof(crafted_parts[0]) };

static void
sample__every_order_of_fields__all_parts(void **state)
{
    (void)state;
    for (size_t i = 0; i < CRAFTED; i++) {
        const struct craft_parts *const made = &crafted_parts[i];
        const bool registers = made->layout.registers != 0 && made->abi != 0;
        struct crafted crafted;
        struct perf_sample_parts parts;

        craft_sample_parts(&crafted, 1, 3, made);
        assert_int_equal(perf_sample_parse(sample_of(&crafted), &made->layout, &parts),
                         0);
        assert_int_equal(parts.chain_count, made->chain_count);
        for (size_t n = 0; n < parts.chain_count; n++) {
            assert_int_equal(parts.chain[n], 200 + n);
        }
        assert_int_equal(parts.abi, made->abi);
        assert_true((parts.registers != NULL) == registers);
        for (size_t n = 0; registers && n < made->layout.registers; n++) {
            assert_int_equal(parts.registers[n], 100 + n);
        }
        assert_int_equal(parts.stack_asked, made->asked);
        assert_int_equal(parts.stack_bytes, made->read);
        assert_true((parts.stack != NULL) == (made->asked != 0));
        if (parts.stack != NULL) {
            assert_int_equal(((const uint8_t *)parts.stack)[made->asked - 1], 0x5A);
        }
    }
}

/* In memory of exactly that size, so that a sanitizer sees what is read behind it. */
static void
sample__any_other_size__refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < CRAFTED; i++) {
        struct crafted crafted;

        memset(&crafted, 0, sizeof(crafted));
        craft_sample_parts(&crafted, 1, 3, &crafted_parts[i]);
        for (size_t size = sizeof(struct perf_sample); size < crafted.size + 20;
             size++) {
            struct perf_sample_parts parts = {.abi = 77};
            uint8_t *const copy = malloc(size);

            assert_non_null(copy);
            craft_size(&crafted, size);
            memcpy(copy, crafted.bytes, size);
            assert_int_equal(
                perf_sample_parse((const void *)copy, &crafted_parts[i].layout, &parts),
                size == crafted.size ? 0 : -EBADMSG);
            assert_true(size == crafted.size || parts.abi == 77);
            free(copy);
        }
    }
}

static void
sample__counts_beyond_its_end__refused(void **state)
{
    static const uint64_t counts[] = {6,
                                      (uint64_t)1 << 61,
                                      ((uint64_t)1 << 61) + 5,
                                      UINT64_MAX / 8,
                                      UINT64_MAX - 7,
                                      UINT64_MAX};
    static const struct craft_parts chain = {.layout = {.chain = true},
                                             .chain_count = 5};
    static const struct craft_parts stack = {
        .layout = {.stack = true}, .asked = 5, .read = 5};

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct perf_sample_parts parts;
        struct crafted crafted;

        craft_sample_parts(&crafted, 1, 3, &chain);
        memcpy(crafted.bytes + sizeof(struct perf_sample), &counts[i], 8);
        assert_int_equal(perf_sample_parse(sample_of(&crafted), &chain.layout, &parts),
                         -EBADMSG);
        craft_sample_parts(&crafted, 1, 3, &stack);
        memcpy(crafted.bytes + sizeof(struct perf_sample), &counts[i], 8);
        assert_int_equal(perf_sample_parse(sample_of(&crafted), &stack.layout, &parts),
                         -EBADMSG);
        /* More bytes read than there are. */
        craft_sample_parts(&crafted, 1, 3, &stack);
        memcpy(crafted.bytes + crafted.size - 8, &counts[i], 8);
        assert_int_equal(perf_sample_parse(sample_of(&crafted), &stack.layout, &parts),
                         -EBADMSG);
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
        cmocka_unit_test(sample__other_layouts__no_selector),
        cmocka_unit_test(sample__every_order_of_fields__all_parts),
        cmocka_unit_test(sample__any_other_size__refused),
        cmocka_unit_test(sample__counts_beyond_its_end__refused),
    };

    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
