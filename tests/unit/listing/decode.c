/* SPDX-License-Identifier: MIT */
/* Bytes to instructions: what both decoders do with bytes that they do not know, and
 * where jumps lead. */
#include "fixture.h"

#include "view/listing/decode.h"

#include <elf.h>
#include <stdio.h>

enum { STEPS_MAX = 64 };

struct steps {
    struct decoded items[STEPS_MAX];
    char texts[STEPS_MAX][64];
    size_t count;
};

static bool
take(void *context, const struct decoded *decoded)
{
    struct steps *steps = context;

    assert_true(steps->count < STEPS_MAX);
    steps->items[steps->count] = *decoded;
    snprintf(steps->texts[steps->count], sizeof(steps->texts[0]), "%s",
             decoded->text == NULL ? "" : decoded->text);
    steps->count++;
    return true;
}

static void
assert_step(const struct steps *steps, size_t index, uint64_t address, uint32_t size,
            const char *text, bool uncertain)
{
    assert_true(index < steps->count);
    assert_int_equal(steps->items[index].address, address);
    assert_int_equal(steps->items[index].size, size);
    assert_string_equal(steps->texts[index], text);
    assert_int_equal(steps->items[index].uncertain, uncertain);
}

/* Each byte is in one step, from first to last. */
static void
assert_whole(const struct steps *steps, const struct decode_code *code)
{
    uint64_t at = code->address;

    for (size_t i = 0; i < steps->count; i++) {
        assert_int_equal(steps->items[i].address, at);
        assert_true(steps->items[i].size > 0);
        at += steps->items[i].size;
    }
    assert_int_equal(at, code->address + code->size);
}

static const struct sym_code x86 = {EM_X86_64, true, false};

/* push; "06" is none; nop; nop (a line starts here); ret */
static const unsigned char odd_bytes[] = {0x55, 0x06, 0x90, 0x90, 0xc3};
static const uint64_t odd_starts[] = {0x1000, 0x1003};

static struct decode_code
odd_code(void)
{
    return (struct decode_code){.kind = x86,
                                .bytes = odd_bytes,
                                .size = sizeof(odd_bytes),
                                .address = 0x1000,
                                .starts = odd_starts,
                                .start_count = 2};
}

static void
decode_or_skip(const struct decode_code *code, struct steps *steps)
{
    char why[200];
    const enum decode_result result =
        decode_by_capstone(code, take, steps, why, sizeof(why));

    if (result == DECODE_ABSENT) {
        skip();
    }
    assert_int_equal(result, DECODE_DONE);
}

static void
unknown_bytes__before_a_sync__uncertain_until_it(void **state)
{
    const struct decode_code code = odd_code();
    struct steps steps = {.count = 0};

    (void)state;
    decode_or_skip(&code, &steps);
    assert_step(&steps, 0, 0x1000, 1, "pushq %rbp", false);
    assert_step(&steps, 1, 0x1001, 1, "", false);
    assert_step(&steps, 2, 0x1002, 1, "nop", true);
    assert_step(&steps, 3, 0x1003, 1, "nop", false);
    assert_step(&steps, 4, 0x1004, 1, "retq", false);
    assert_whole(&steps, &code);
}

static void
objdump__same_bytes__same_steps(void **state)
{
    const struct decode_code code = odd_code();
    struct steps steps = {.count = 0};
    char why[200];

    (void)state;
    assert_true(decode_by_objdump(&code, take, &steps, why, sizeof(why)));
    assert_step(&steps, 0, 0x1000, 1, "push %rbp", false);
    assert_step(&steps, 1, 0x1001, 1, "", false);
    assert_step(&steps, 2, 0x1002, 1, "nop", true);
    assert_step(&steps, 3, 0x1003, 1, "nop", false);
    assert_step(&steps, 4, 0x1004, 1, "ret", false);
    assert_whole(&steps, &code);
}

static void
objdump__not_there__told(void **state)
{
    struct decode_code code = odd_code();
    struct steps steps = {.count = 0};
    char why[200];

    (void)state;
    code.objdump = "/nonexistent/objdump; touch x";
    assert_false(decode_by_objdump(&code, take, &steps, why, sizeof(why)));
    assert_non_null(strstr(why, "cannot start"));
    assert_int_equal(steps.count, 0);
    code.objdump = "/bin/false";
    assert_false(decode_by_objdump(&code, take, &steps, why, sizeof(why)));
    assert_non_null(strstr(why, "/bin/false failed: it did not"));
    code.objdump = NULL;
    code.kind.machine = 0x7777;
    assert_false(decode_by_objdump(&code, take, &steps, why, sizeof(why)));
    assert_non_null(strstr(why, "machine 30583"));
}

static void
misread_instructions__of_capstone__not_told_as_others(void **state)
{
    /* rdpid %rax; tpause %eax; rdseed %eax; mfence: the first two were named after the
     * last two. */
    static const unsigned char bytes[] = {0xf3, 0x0f, 0xc7, 0xf8, 0x66, 0x0f, 0xae,
                                          0xf0, 0x0f, 0xc7, 0xf8, 0x0f, 0xae, 0xf0};
    static const uint64_t starts[] = {0, 4, 8, 11};
    const struct decode_code code = {.kind = x86,
                                     .bytes = bytes,
                                     .size = sizeof(bytes),
                                     .starts = starts,
                                     .start_count = 4};
    struct steps steps = {.count = 0};

    (void)state;
    decode_or_skip(&code, &steps);
    assert_whole(&steps, &code);
    for (size_t i = 0; i < steps.count; i++) {
        if (steps.items[i].address < 8 && !steps.items[i].uncertain) {
            assert_null(strstr(steps.texts[i], "rdseed"));
            assert_null(strstr(steps.texts[i], "mfence"));
        }
    }
    assert_step(&steps, steps.count - 2, 8, 3, "rdseedl %eax", false);
    assert_step(&steps, steps.count - 1, 11, 3, "mfence", false);
}

static void
objdump_text__lines_of_other_kinds__passed_over(void **state)
{
    struct decode_code code = odd_code();
    char text[] = "\n"
                  "/proc/self/fd/3:     file format binary\n"
                  "0000000000001000 <.data>:\n"
                  "    1000:\t55                   \tpush   %rbp  \n"
                  "    1000:\t55                   \tpush   %rbp\n"
                  "    ffff:\t55                   \tpush   %rbp\n"
                  "    1001:\t06                   \t(bad)\n"
                  "    1002:\n"
                  "    1002:\t90 90 90 90 90 90 90 \tnop\n"
                  "    1002:\t90                   \tnop\n"
                  "10000000000000000000000000:\t90\tnop\n";
    struct steps steps = {.count = 0};

    (void)state;
    assert_true(decode_objdump_text(&code, text, strlen(text), take, &steps));
    assert_step(&steps, 0, 0x1000, 1, "push %rbp", false);
    assert_step(&steps, 1, 0x1001, 1, "", false);
    assert_step(&steps, 2, 0x1002, 1, "nop", true);
    /* What it did not tell is not known. */
    assert_step(&steps, 3, 0x1003, 2, "", false);
    assert_whole(&steps, &code);
}

static bool
take_one(void *context, const struct decoded *decoded)
{
    (void)decoded;
    ++*(size_t *)context;
    return false;
}

static void
taker__ends_it__no_more_steps(void **state)
{
    const struct decode_code code = odd_code();
    size_t count = 0;
    char why[200];

    (void)state;
    assert_false(decode_by_objdump(&code, take_one, &count, why, sizeof(why)));
    assert_string_equal(why, "");
    assert_int_equal(count, 1);
}

static void
jumps__of_either_syntax__lead_to_addresses(void **state)
{
    static const struct sym_code arm = {EM_AARCH64, true, false};
    static const struct {
        const struct sym_code *kind;
        const char *text;
        bool has_target, is_call;
        uint64_t target;
    } table[] = {
        {&x86, "jmp 0x401136", true, false, 0x401136},
        {&x86, "jne 0x10 ", false, false, 0},
        {&x86, "bnd jmp 0x10", true, false, 0x10},
        {&x86, "jne,pn 0x10", true, false, 0x10},
        {&x86, "callq 0x1030", true, true, 0x1030},
        {&x86, "call 0x1030", true, true, 0x1030},
        {&x86, "loop 0x12", true, false, 0x12},
        {&x86, "notrack jmpq *%rax", false, false, 0},
        {&x86, "jmpq *0x2fe2(%rip)", false, false, 0},
        {&x86, "jmp qword ptr [rip + 0x2fe2]", false, false, 0},
        {&x86, "jmp *0x10", false, false, 0},
        {&x86, "movl $0x10, %eax", false, false, 0},
        {&x86, "jmp 0x", false, false, 0},
        {&x86, "jmp 0x11111111111111111111", false, false, 0},
        {&x86, "", false, false, 0},
        {&x86, "bnd ", false, false, 0},
        {&arm, "b.ne #0x401136", true, false, 0x401136},
        {&arm, "cbz x0, #0x40", true, false, 0x40},
        {&arm, "tbnz w1, #3, 0x44", true, false, 0x44},
        {&arm, "bl 0x80", true, true, 0x80},
        {&arm, "blr x3", false, false, 0},
        {&arm, "bic x0, x1, #0x3", false, false, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const struct decode_jump jump = decode_find_jump(table[i].kind, table[i].text);

        assert_int_equal(jump.has_target, table[i].has_target);
        assert_int_equal(jump.is_call, table[i].is_call);
        assert_int_equal(jump.target, table[i].target);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_bytes__before_a_sync__uncertain_until_it),
        cmocka_unit_test(objdump__same_bytes__same_steps),
        cmocka_unit_test(objdump__not_there__told),
        cmocka_unit_test(misread_instructions__of_capstone__not_told_as_others),
        cmocka_unit_test(objdump_text__lines_of_other_kinds__passed_over),
        cmocka_unit_test(taker__ends_it__no_more_steps),
        cmocka_unit_test(jumps__of_either_syntax__lead_to_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
