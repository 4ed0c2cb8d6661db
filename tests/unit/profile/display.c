/* SPDX-License-Identifier: MIT */
#include "profile/display.h"
#include "fixture.h"

static const struct profile_image work_image = {.path = "/usr/lib/libwork.so.1",
                                                .build_id = ""};

static void
assert_displayed(const struct profile_function *function, enum display_detail detail,
                 const char *expected)
{
    struct buffer out = {0};

    display_function(function, &work_image, detail, &out);
    assert_string_equal(buffer_text(&out), expected);
    buffer_finish(&out);
}

static void
display_function__cpp__without_types_and_parameters(void **state)
{
    static const struct {
        const char *name, *shown;
    } rows[] = {
        {"work(int)", "work"},
        {"Engine<long, std::greater<long> >::run(int) const",
         "Engine<long, std::greater<long> >::run"},
        {"void std::sort<int*>(int*, int*)", "std::sort<int*>"},
        {"unsigned long hash<std::pair<int, char> >(std::pair<int, char> const&)",
         "hash<std::pair<int, char> >"},
        {"std::vector<int, std::allocator<int> > make<int>()", "make<int>"},
        {"Foo::operator()(int) const", "Foo::operator()"},
        {"Foo::operator()() const", "Foo::operator()"},
        {"bool operator< <int>(Box<int> const&, Box<int> const&)", "operator< <int>"},
        {"std::ostream& operator<< <char>(std::ostream&, char)", "operator<< <char>"},
        {"Foo::operator->() const", "Foo::operator->"},
        {"Foo::operator>>=(int)", "Foo::operator>>="},
        {"Foo::operator unsigned long() const", "Foo::operator unsigned long"},
        {"operator new(unsigned long)", "operator new"},
        {"operator delete[](void*)", "operator delete[]"},
        {"operator\"\" _kb(unsigned long long)", "operator\"\" _kb"},
        {"unsigned long n::operator\"\" _kb<(char)49>()",
         "n::operator\"\" _kb<(char)49>"},
        {"n::operator\"\" _kb(unsigned long long)::{lambda(int)#1}::operator()(int) "
         "const",
         "n::operator\"\" _kb(unsigned long long)::{lambda(int)#1}::operator()"},
        {"(anonymous namespace)::run(char const*)", "(anonymous namespace)::run"},
        {"void (anonymous namespace)::run<int>(int)",
         "(anonymous namespace)::run<int>"},
        {"run(int)::{lambda(int)#1}::operator()(int) const",
         "run(int)::{lambda(int)#1}::operator()"},
        {"Foo::bar() const::{lambda()#1}::operator()() const",
         "Foo::bar() const::{lambda()#1}::operator()"},
        {"std::function<void (int)>::operator()(int) const",
         "std::function<void (int)>::operator()"},
        {"std::string::append[abi:cxx11](char) &", "std::string::append[abi:cxx11]"},
        {"void work<int>(int) [clone .constprop.0]", "work<int>"},
        {"non-virtual thunk to Foo::bar()", "non-virtual thunk to Foo::bar"},
        {"TLS init function for counter", "TLS init function for counter"},
        {"vtable for Foo", "vtable for Foo"},
        {"decltype (a+b) add<int>(int, int)", "add<int>"},
        {"damaged(int", "damaged(int"},
        {"damaged>)(int)", "damaged>)(int)"},
        {"operatorless(int)", "operatorless"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct profile_function function = {
            .name = rows[i].name, .system_name = "_Zx", .file = "", .definition = ""};

        assert_displayed(&function, DISPLAY_SHORT, rows[i].shown);
        assert_displayed(&function, DISPLAY_FULL, rows[i].name);
    }
}

static void
display_function__not_demangled__whole(void **state)
{
    static const char *const names[] = {
        "LFoo;::bar(I)V",
        "main.(*Tree).Walk",
        "JS:*parse /srv/a.js:10:20",
        "Jitted::Method(int)",
        "_start",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct profile_function function = {
            .name = names[i], .system_name = names[i], .file = "", .definition = ""};

        assert_displayed(&function, DISPLAY_SHORT, names[i]);
    }
}

static void
display_function__no_name__its_image_and_address(void **state)
{
    const struct profile_function bounds = {.name = "",
                                            .system_name = "",
                                            .file = "",
                                            .definition = "",
                                            .has_address = true,
                                            .address = 0x4970};
    const struct profile_function nothing = {
        .name = "", .system_name = "", .file = "", .definition = ""};

    (void)state;
    assert_displayed(&bounds, DISPLAY_SHORT, "libwork.so.1!0x4970");
    assert_displayed(&nothing, DISPLAY_FULL, "[no symbols] in libwork.so.1");
}

static void
display_shorten__template_arguments__in_their_middle(void **state)
{
    static const struct {
        const char *name;
        size_t columns;
        const char *shown;
    } rows[] = {
        {"short<int>", 10, "short<int>"},
        {"sort<vector<int>, less<int> >", 19, "sort<vecto...int> >"},
        {"sort<aaaaaaaaaaaa>::run<bbbbbbbbbb>", 24, "sort<...>::run<bbb...bb>"},
        {"operator<< <aaaaaaaaaaaaaaaa>", 20, "operator<< <aa...aa>"},
        {"a_name_without_any_arguments", 11, "a_na...ents"},
        {"(anonymous namespace)::Work::run (a.cc:10)", 27,
         "(a...)::Work::run (a.cc:10)"},
        {"x", 0, "..."},
        {"sort<\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa4\xc3\xb6\xc3\xbc>", 11,
         "sort<\xc3\xa4...\xc3\xbc>"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buffer out = {0};

        display_shorten(rows[i].name, rows[i].columns, &out);
        assert_string_equal(buffer_text(&out), rows[i].shown);
        assert_int_equal(display_is_cut(rows[i].shown, rows[i].name),
                         strcmp(rows[i].shown, rows[i].name) != 0);
        buffer_finish(&out);
    }
}

static void
tell_apart__names_that_read_alike__what_differs_is_added(void **state)
{
    const struct profile_function functions[] = {
        {.name = "f(int)", .system_name = "_Z1fi", .file = "", .definition = ""},
        {.name = "f(double)", .system_name = "_Z1fd", .file = "", .definition = ""},
        {.name = "help",
         .system_name = "help",
         .file = "/src/a.c",
         .start_line = 3,
         .definition = ""},
        {.name = "help",
         .system_name = "help",
         .file = "/src/x.inc",
         .start_line = 9,
         .definition = "/src/b.c"},
        {.name = "part",
         .system_name = "part",
         .file = "",
         .definition = "",
         .has_address = true,
         .address = 0x10},
        {.name = "part",
         .system_name = "part",
         .file = "",
         .definition = "",
         .has_address = true,
         .address = 0x20},
        {.name = "alone(int)",
         .system_name = "_Z5alonei",
         .file = "/src/a.c",
         .definition = ""},
    };
    const char *const expected[] = {"f(int)",       "f(double)",   "help (a.c:3)",
                                    "help (b.c:9)", "part (0x10)", "part (0x20)",
                                    "alone"};
    struct display_name names[8] = {{0}};

    (void)state;
    for (uint32_t i = 0; i < 7; i++) {
        names[i] = (struct display_name){
            .function = &functions[i], .image = &work_image, .identity = 10 + i};
    }
    names[7] = names[2]; /* the same function in another row */
    assert_true(display_tell_apart(names, 8));
    for (size_t i = 0; i < 7; i++) {
        assert_displayed(&functions[i], names[i].detail, expected[i]);
    }
    assert_int_equal(names[7].detail, names[2].detail);
}

static void
tell_apart__images_differ__nothing_is_added(void **state)
{
    const struct profile_image other = {.path = "/bin/other", .build_id = ""};
    const struct profile_function main_function = {
        .name = "main", .system_name = "main", .file = "a.c", .definition = ""};
    struct display_name names[] = {
        {.function = &main_function, .image = &work_image, .identity = 1},
        {.function = &main_function, .image = &other, .identity = 2},
    };

    (void)state;
    assert_true(display_tell_apart(names, 2));
    assert_int_equal(names[0].detail, DISPLAY_SHORT);
    assert_int_equal(names[1].detail, DISPLAY_SHORT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(display_function__cpp__without_types_and_parameters),
        cmocka_unit_test(display_function__not_demangled__whole),
        cmocka_unit_test(display_function__no_name__its_image_and_address),
        cmocka_unit_test(display_shorten__template_arguments__in_their_middle),
        cmocka_unit_test(tell_apart__names_that_read_alike__what_differs_is_added),
        cmocka_unit_test(tell_apart__images_differ__nothing_is_added),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
