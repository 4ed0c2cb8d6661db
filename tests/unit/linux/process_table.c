/* SPDX-License-Identifier: MIT */
/* table.c - who lives and what is mapped, told from records. */
#include "crafted.h"
#include "fake_ke.h"

#include "cmocka_all.h"

#include "hal/linux/process_table.h"

#include <errno.h>

enum { SHELL = 100, CHILD = 200, OTHER = 300 };

struct world {
    struct _KE_SYSTEM ke;
    struct process_table table;
    struct perf_watcher watcher;
    uint64_t now_ns;
};

static int
setup(void **state)
{
    static struct world world;

    world = (struct world){.watcher.descendants = true, .now_ns = 1000000000};
    process_table_init(&world.table, fake_notify, &world.ke);
    *state = &world;
    return 0;
}

static int
teardown(void **state)
{
    struct world *world = *state;

    process_table_finish(&world->table);
    fake_clear(&world->ke);
    return 0;
}

static void
apply(struct world *world, const struct crafted *crafted)
{
    struct perf_record record;

    assert_int_equal(perf_record_parse(crafted->bytes, crafted->size, &record), 0);
    process_table_apply(&world->table, &record, &world->watcher);
}

static void
map(struct world *world, uint32_t pid, uint64_t base, uint64_t length, uint64_t inode,
    const char *name)
{
    struct crafted crafted;

    craft_mmap2(&crafted, pid, base, length, inode, name, ++world->now_ns);
    apply(world, &crafted);
}

static void
fork_process(struct world *world, uint32_t pid, uint32_t parent)
{
    struct crafted crafted;

    craft_task(&crafted, PERF_RECORD_FORK, pid, parent, pid, ++world->now_ns);
    apply(world, &crafted);
}

static void
clone_thread(struct world *world, uint32_t pid, uint32_t tid)
{
    struct crafted crafted;

    craft_task(&crafted, PERF_RECORD_FORK, pid, pid, tid, ++world->now_ns);
    apply(world, &crafted);
}

static void
exit_thread(struct world *world, uint32_t pid, uint32_t tid)
{
    struct crafted crafted;

    craft_task(&crafted, PERF_RECORD_EXIT, pid, 1, tid, ++world->now_ns);
    apply(world, &crafted);
}

static void
exec(struct world *world, uint32_t pid, const char *name)
{
    struct crafted crafted;

    craft_comm(&crafted, PERF_RECORD_MISC_COMM_EXEC, pid, pid, name, ++world->now_ns);
    apply(world, &crafted);
}

/* What was told, from and with the index-th: kind, pid, base, length. Count is checked
 * too. */
struct expected {
    uint32_t kind;
    uint32_t pid;
    uint64_t base;
    uint64_t length;
};

static void
expect(struct world *world, const struct expected *expected, size_t count)
{
    assert_int_equal(world->ke.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(world->ke.seen[i].kind, expected[i].kind);
        assert_int_equal(world->ke.seen[i].pid, expected[i].pid);
        assert_int_equal(world->ke.seen[i].base, expected[i].base);
        assert_int_equal(world->ke.seen[i].length, expected[i].length);
    }
    fake_clear(&world->ke);
}

#define EXPECT(world, ...)                                \
    expect(world, (const struct expected[]){__VA_ARGS__}, \
           sizeof((const struct expected[]){__VA_ARGS__}) / sizeof(struct expected))

/* A shell that has begun and mapped two things. */
static void
begin_shell(struct world *world)
{
    exec(world, SHELL, "sh");
    map(world, SHELL, 0x10000, 0x4000, 1, "/bin/sh");
    map(world, SHELL, 0x70000, 0x8000, 2, "/lib/libc.so");
    EXPECT(world, {NTPROF_PROCESS_START, SHELL, 0, 0},
           {NTPROF_PROCESS_EXEC, SHELL, 0, 0},
           {NTPROF_IMAGE_MAP, SHELL, 0x10000, 0x4000},
           {NTPROF_IMAGE_MAP, SHELL, 0x70000, 0x8000});
}

static void
exec__unknown_process__starts(void **state)
{
    struct world *world = *state;

    exec(world, SHELL, "a-name");
    assert_string_equal(world->ke.seen[1].name, "a-name");
    EXPECT(world, {NTPROF_PROCESS_START, SHELL, 0, 0},
           {NTPROF_PROCESS_EXEC, SHELL, 0, 0});
    assert_non_null(process_table_find(&world->table, SHELL));
}

static void
records__of_unknown_processes__nothing_told(void **state)
{
    struct world *world = *state;
    struct crafted crafted;

    map(world, OTHER, 0x1000, 0x1000, 1, "x");
    exit_thread(world, OTHER, OTHER);
    clone_thread(world, OTHER, OTHER + 1);
    fork_process(world, CHILD, OTHER);
    craft_comm(&crafted, 0, OTHER, OTHER, "name", 1);
    apply(world, &crafted);
    /* The kernel's own mappings come with pid -1. */
    map(world, UINT32_MAX, 0xFFFFFFFF81000000, 0x1000, 0, "[kernel]");
    assert_int_equal(world->ke.count, 0);
    assert_int_equal(world->table.by_pid.count, 0);
}

static void
fork__child__begins_with_the_parents_mappings(void **state)
{
    struct world *world = *state;

    begin_shell(world);
    fork_process(world, CHILD, SHELL);
    assert_int_equal(world->ke.seen[0].parent_pid, SHELL);
    assert_string_equal(world->ke.seen[0].name, "sh");
    EXPECT(world, {NTPROF_PROCESS_START, CHILD, 0, 0},
           {NTPROF_IMAGE_MAP, CHILD, 0x10000, 0x4000},
           {NTPROF_IMAGE_MAP, CHILD, 0x70000, 0x8000});

    /* From here on each has its own. */
    map(world, SHELL, 0x90000, 0x1000, 3, "/lib/new.so");
    EXPECT(world, {NTPROF_IMAGE_MAP, SHELL, 0x90000, 0x1000});
    exec(world, CHILD, "true");
    EXPECT(world, {NTPROF_IMAGE_UNMAP, CHILD, 0x10000, 0x4000},
           {NTPROF_IMAGE_UNMAP, CHILD, 0x70000, 0x8000},
           {NTPROF_PROCESS_EXEC, CHILD, 0, 0});
    exit_thread(world, CHILD, CHILD);
    EXPECT(world, {NTPROF_PROCESS_EXIT, CHILD, 0, 0});
    exit_thread(world, SHELL, SHELL);
    EXPECT(world, {NTPROF_IMAGE_UNMAP, SHELL, 0x10000, 0x4000},
           {NTPROF_IMAGE_UNMAP, SHELL, 0x70000, 0x8000},
           {NTPROF_IMAGE_UNMAP, SHELL, 0x90000, 0x1000},
           {NTPROF_PROCESS_EXIT, SHELL, 0, 0});
}

static void
fork__cover_without_descendants__child_not_told(void **state)
{
    struct world *world = *state;

    world->watcher.descendants = false;
    begin_shell(world);
    fork_process(world, CHILD, SHELL);
    assert_int_equal(world->ke.count, 0);
    assert_null(process_table_find(&world->table, CHILD));
}

static void
fork__told_by_two_events__told_once(void **state)
{
    struct world *world = *state;

    begin_shell(world);
    fork_process(world, CHILD, SHELL);
    fake_clear(&world->ke);
    fork_process(world, CHILD, SHELL);
    assert_int_equal(world->ke.count, 0);
}

static void
fork__pid_used_again__old_one_ends_first(void **state)
{
    struct world *world = *state;

    begin_shell(world);
    fork_process(world, CHILD, SHELL);
    fake_clear(&world->ke);
    /* Its end was lost. */
    world->now_ns += 1000000000;
    fork_process(world, CHILD, SHELL);
    EXPECT(world, {NTPROF_IMAGE_UNMAP, CHILD, 0x10000, 0x4000},
           {NTPROF_IMAGE_UNMAP, CHILD, 0x70000, 0x8000},
           {NTPROF_PROCESS_EXIT, CHILD, 0, 0}, {NTPROF_PROCESS_START, CHILD, 0, 0},
           {NTPROF_IMAGE_MAP, CHILD, 0x10000, 0x4000},
           {NTPROF_IMAGE_MAP, CHILD, 0x70000, 0x8000});
}

static void
exit__main_thread_first__process_lives_on(void **state)
{
    struct world *world = *state;

    begin_shell(world);
    clone_thread(world, SHELL, 101);
    clone_thread(world, SHELL, 102);
    exit_thread(world, SHELL, SHELL);
    exit_thread(world, SHELL, 102);
    exit_thread(world, SHELL, 102); /* told twice */
    assert_int_equal(world->ke.count, 0);
    exit_thread(world, SHELL, 101);
    assert_int_equal(fake_count(&world->ke, NTPROF_PROCESS_EXIT, SHELL), 1);
    assert_int_equal(world->table.by_pid.count, 0);
}

static void
exec__by_another_thread__one_thread_left(void **state)
{
    struct world *world = *state;

    begin_shell(world);
    clone_thread(world, SHELL, 101);
    clone_thread(world, SHELL, 102);
    /* The kernel ends the main thread's task and gives its number to 101. */
    exit_thread(world, SHELL, 102);
    exit_thread(world, SHELL, SHELL);
    fake_clear(&world->ke);
    exec(world, SHELL, "new");
    assert_int_equal(fake_count(&world->ke, NTPROF_PROCESS_EXEC, SHELL), 1);
    assert_int_equal(process_table_find(&world->table, SHELL)->threads.count, 1);
    exit_thread(world, SHELL, SHELL);
    assert_int_equal(fake_count(&world->ke, NTPROF_PROCESS_EXIT, SHELL), 1);
}

static void
threads__storm__all_forgotten(void **state)
{
    struct world *world = *state;

    begin_shell(world);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 5000; i++) {
            clone_thread(world, SHELL, 1000 + i);
        }
        for (uint32_t i = 0; i < 5000; i++) {
            exit_thread(world, SHELL, 1000 + (i * 7) % 5000);
        }
        assert_int_equal(process_table_find(&world->table, SHELL)->threads.count, 1);
    }
    assert_int_equal(world->ke.count, 0);
}

static void
comm__main_thread_only__name_told(void **state)
{
    struct world *world = *state;
    struct crafted crafted;

    begin_shell(world);
    craft_comm(&crafted, 0, SHELL, SHELL, "renamed", 5);
    apply(world, &crafted);
    assert_int_equal(world->ke.seen[0].kind, NTPROF_PROCESS_NAME);
    assert_string_equal(world->ke.seen[0].name, "renamed");
    craft_comm(&crafted, 0, SHELL, 101, "thread", 5);
    apply(world, &crafted);
    craft_comm(&crafted, 0, SHELL, SHELL, "renamed", 5);
    apply(world, &crafted);
    assert_int_equal(world->ke.count, 1);
}

/* New mappings over [0x10000, 0x14000) and [0x70000, 0x78000): what goes, what is left.
 */
static void
map__over_others__pieces_stay(void **state)
{
    static const struct {
        uint64_t base;
        uint64_t length;
        struct expected expected[6];
        size_t count;
    } rows[] = {
        /* all of one */
        {0x10000, 0x4000, {{NTPROF_IMAGE_UNMAP, SHELL, 0x10000, 0x4000}}, 1},
        /* the middle */
        {0x11000,
         0x1000,
         {{NTPROF_IMAGE_UNMAP, SHELL, 0x10000, 0x4000},
          {NTPROF_IMAGE_MAP, SHELL, 0x10000, 0x1000},
          {NTPROF_IMAGE_MAP, SHELL, 0x12000, 0x2000}},
         3},
        /* the beginning, and before it */
        {0xF000,
         0x2000,
         {{NTPROF_IMAGE_UNMAP, SHELL, 0x10000, 0x4000},
          {NTPROF_IMAGE_MAP, SHELL, 0x11000, 0x3000}},
         2},
        /* the end, and behind it */
        {0x13000,
         0x2000,
         {{NTPROF_IMAGE_UNMAP, SHELL, 0x10000, 0x4000},
          {NTPROF_IMAGE_MAP, SHELL, 0x10000, 0x3000}},
         2},
        /* both, and the hole between */
        {0x12000,
         0x60000,
         {{NTPROF_IMAGE_UNMAP, SHELL, 0x10000, 0x4000},
          {NTPROF_IMAGE_MAP, SHELL, 0x10000, 0x2000},
          {NTPROF_IMAGE_UNMAP, SHELL, 0x70000, 0x8000},
          {NTPROF_IMAGE_MAP, SHELL, 0x72000, 0x6000}},
         4},
        /* touching both sides of the hole only */
        {0x14000, 0x5C000, {{0, 0, 0, 0}}, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct expected expected[6];
        struct world *world;

        setup(state);
        world = *state;
        begin_shell(world);
        memcpy(expected, rows[i].expected, sizeof(expected));
        expected[rows[i].count] =
            (struct expected){NTPROF_IMAGE_MAP, SHELL, rows[i].base, rows[i].length};
        map(world, SHELL, rows[i].base, rows[i].length, 9, "/lib/over.so");
        expect(world, expected, rows[i].count + 1);
        if (i + 1 < sizeof(rows) / sizeof(rows[0])) {
            teardown(state);
        }
    }
}

static void
map__piece_behind__keeps_its_place_in_the_file(void **state)
{
    struct world *world = *state;
    const struct perf_process *process;

    begin_shell(world);
    map(world, SHELL, 0x11000, 0x1000, 9, "/lib/over.so");
    process = process_table_find(&world->table, SHELL);
    assert_int_equal(process->mappings.count, 4);
    assert_int_equal(process->mappings.items[0].file_offset, 0x1000);
    assert_int_equal(process->mappings.items[2].base, 0x12000);
    assert_int_equal(process->mappings.items[2].file_offset, 0x3000);
}

static void
map__the_very_same__nothing_told(void **state)
{
    struct world *world = *state;

    begin_shell(world);
    map(world, SHELL, 0x10000, 0x4000, 1, "/bin/sh");
    assert_int_equal(world->ke.count, 0);
    /* Another file in the same place is another matter. */
    map(world, SHELL, 0x10000, 0x4000, 11, "/bin/sh");
    EXPECT(world, {NTPROF_IMAGE_UNMAP, SHELL, 0x10000, 0x4000},
           {NTPROF_IMAGE_MAP, SHELL, 0x10000, 0x4000});
}

static void
map__no_inode__anonymous(void **state)
{
    struct world *world = *state;

    begin_shell(world);
    map(world, SHELL, 0x200000, 0x1000, 0, "//anon");
    assert_int_equal(world->ke.seen[0].flags, NTPROF_IMAGE_ANONYMOUS);
    map(world, SHELL, 0x300000, 0x1000, 5, "/memfd:jit (deleted)");
    assert_int_equal(world->ke.seen[1].flags, 0);
}

static void
map__data__ignored(void **state)
{
    struct world *world = *state;
    struct crafted crafted;

    begin_shell(world);
    craft_mmap2(&crafted, SHELL, 0x10000, 0x1000, 3, "/data", 5);
    ((struct perf_event_header *)crafted.bytes)->misc |= PERF_RECORD_MISC_MMAP_DATA;
    apply(world, &crafted);
    assert_int_equal(world->ke.count, 0);
}

static void
attach__known_process__cover_added_nothing_told(void **state)
{
    struct world *world = *state;
    struct perf_watcher other = {.descendants = false};
    struct perf_mappings none = {0};
    const uint32_t tid = SHELL;
    const struct perf_found found = {
        .pid = SHELL, .name = "sh", .tids = &tid, .tid_count = 1, .mappings = &none};

    begin_shell(world);
    assert_int_equal(process_table_attach(&world->table, &found, 1, &other), -EEXIST);
    assert_int_equal(world->ke.count, 0);
    assert_int_equal(process_table_find(&world->table, SHELL)->watcher_count, 2);
    fork_process(world, CHILD, SHELL);
    /* The child has only the one that goes on to descendants. */
    assert_int_equal(process_table_find(&world->table, CHILD)->watcher_count, 1);
}

static struct perf_mapping
mapping(uint64_t base, uint64_t length, uint64_t inode, const char *name)
{
    return (struct perf_mapping){
        .base = base,
        .length = length,
        .file_offset = 0x1000,
        /* As /proc tells it: without the generation. */
        .image = perf_image_create(name, 8, 1, inode, 0),
    };
}

static void
resync__after_a_loss__only_what_changed_is_told(void **state)
{
    struct world *world = *state;
    struct perf_mappings now = {0};
    const uint32_t tids[] = {SHELL, 105};
    const struct perf_found found = {
        .name = "sh", .tids = tids, .tid_count = 2, .mappings = &now};

    begin_shell(world);
    clone_thread(world, SHELL, 101);
    perf_mappings_insert(&now, mapping(0x70000, 0x8000, 2, "/lib/libc.so"));
    perf_mappings_insert(&now, mapping(0xA0000, 0x1000, 4, "/lib/new.so"));
    process_table_resync(&world->table, process_table_find(&world->table, SHELL),
                         &found, world->now_ns);
    EXPECT(world, {NTPROF_IMAGE_UNMAP, SHELL, 0x10000, 0x4000},
           {NTPROF_IMAGE_MAP, SHELL, 0xA0000, 0x1000});
    assert_int_equal(now.count, 0);
    exit_thread(world, SHELL, SHELL);
    assert_int_equal(world->ke.count, 0);
    exit_thread(world, SHELL, 105);
    assert_int_equal(fake_count(&world->ke, NTPROF_PROCESS_EXIT, SHELL), 1);
}

#define VSYSCALL UINT64_C(0xffffffffff600000)

/* The records of its exec were lost. */
static void
resync__other_name_and_mappings__exec(void **state)
{
    struct world *world = *state;
    struct perf_mappings now = {0};
    const uint32_t tids[] = {SHELL};
    const struct perf_found found = {
        .name = "cc1", .tids = tids, .tid_count = 1, .mappings = &now};

    begin_shell(world);
    map(world, SHELL, VSYSCALL, 0x1000, 0, "[vsyscall]");
    world->ke.count = 0;
    perf_mappings_insert(&now, mapping(0xA0000, 0x1000, 4, "/lib/cc1"));
    perf_mappings_insert(&now, mapping(VSYSCALL, 0x1000, 0, "[vsyscall]"));
    process_table_resync(&world->table, process_table_find(&world->table, SHELL),
                         &found, world->now_ns);
    assert_string_equal(world->ke.seen[2].name, "cc1");
    EXPECT(world, {NTPROF_IMAGE_UNMAP, SHELL, 0x70000, 0x8000},
           {NTPROF_IMAGE_UNMAP, SHELL, 0x10000, 0x4000},
           {NTPROF_PROCESS_EXEC, SHELL, 0, 0},
           {NTPROF_IMAGE_MAP, SHELL, 0xA0000, 0x1000});
}

/* The kernel's threads have no mappings, and names that change with their work. */
static void
resync__other_name_without_mappings__nothing(void **state)
{
    struct world *world = *state;
    struct perf_mappings now = {0};
    const uint32_t tids[] = {SHELL};
    const struct perf_found found = {
        .name = "kworker/0:1-events", .tids = tids, .tid_count = 1, .mappings = &now};

    exec(world, SHELL, "kworker/0:1");
    world->ke.count = 0;
    process_table_resync(&world->table, process_table_find(&world->table, SHELL),
                         &found, world->now_ns);
    assert_int_equal(world->ke.count, 0);
}

static void
resync__other_name_only__name(void **state)
{
    struct world *world = *state;
    struct perf_mappings now = {0};
    const uint32_t tids[] = {SHELL};
    const struct perf_found found = {
        .name = "renamed", .tids = tids, .tid_count = 1, .mappings = &now};

    begin_shell(world);
    perf_mappings_insert(&now, mapping(0x10000, 0x4000, 1, "/bin/sh"));
    perf_mappings_insert(&now, mapping(0x70000, 0x8000, 2, "/lib/libc.so"));
    process_table_resync(&world->table, process_table_find(&world->table, SHELL),
                         &found, world->now_ns);
    assert_string_equal(world->ke.seen[0].name, "renamed");
    EXPECT(world, {NTPROF_PROCESS_NAME, SHELL, 0, 0});
}

/* The shell has 0x10000 to 0x14000 and 0x70000 to 0x78000. */
static void
add_unreported__code_moved__what_has_it_and_what_is_free_is_added(void **state)
{
    struct world *world = *state;
    struct perf_mappings now = {0};
    struct perf_process *shell;

    begin_shell(world);
    shell = process_table_find(&world->table, SHELL);
    perf_mappings_insert(&now, mapping(0x12000, 0x4000, 3, "/bin/moved"));
    perf_mappings_insert(&now, mapping(0x70000, 0x1000, 4, "/lib/later.so"));
    perf_mappings_insert(&now, mapping(0xA0000, 0x1000, 5, "/lib/free.so"));
    process_table_add_unreported(&world->table, shell, &now, 0x15000, world->now_ns);
    EXPECT(world, {NTPROF_IMAGE_UNMAP, SHELL, 0x10000, 0x4000},
           {NTPROF_IMAGE_MAP, SHELL, 0x10000, 0x2000},
           {NTPROF_IMAGE_MAP, SHELL, 0x12000, 0x4000},
           {NTPROF_IMAGE_MAP, SHELL, 0xA0000, 0x1000});
    assert_int_equal(now.count, 0);
    assert_ptr_equal(perf_mappings_find(&shell->mappings, 0x16000), NULL);
    assert_int_equal(perf_mappings_find(&shell->mappings, 0x15FFF)->base, 0x12000);
    assert_ptr_equal(perf_mappings_find(&shell->mappings, UINT64_MAX), NULL);
}

/* ---- all processes ---- */

/* As the records of a watch of all come: they have no watcher. */
static void
watch_all(struct world *world)
{
    world->table.all = true;
    world->watcher.descendants = false;
}

static void
apply_uncovered(struct world *world, const struct crafted *crafted)
{
    struct perf_record record;

    assert_int_equal(perf_record_parse(crafted->bytes, crafted->size, &record), 0);
    process_table_apply(&world->table, &record, NULL);
}

static void
all__parent_not_known__child_begins_without_mappings(void **state)
{
    struct world *world = *state;

    watch_all(world);
    fork_process(world, CHILD, OTHER);
    assert_int_equal(world->ke.seen[0].parent_pid, OTHER);
    map(world, CHILD, 0x10000, 0x1000, 1, "/bin/a");
    fork_process(world, SHELL, CHILD);
    exit_thread(world, CHILD, CHILD);
    EXPECT(world, {NTPROF_PROCESS_START, CHILD, 0, 0},
           {NTPROF_IMAGE_MAP, CHILD, 0x10000, 0x1000},
           {NTPROF_PROCESS_START, SHELL, 0, 0},
           {NTPROF_IMAGE_MAP, SHELL, 0x10000, 0x1000},
           {NTPROF_IMAGE_UNMAP, CHILD, 0x10000, 0x1000},
           {NTPROF_PROCESS_EXIT, CHILD, 0, 0});
    assert_int_equal(process_table_find(&world->table, SHELL)->watcher_count, 0);
}

static void
all__program_of_an_unknown_process__starts_without_a_cover(void **state)
{
    struct world *world = *state;
    struct crafted crafted;

    watch_all(world);
    craft_comm(&crafted, PERF_RECORD_MISC_COMM_EXEC, SHELL, SHELL, "sh", 5);
    apply_uncovered(world, &crafted);
    EXPECT(world, {NTPROF_PROCESS_START, SHELL, 0, 0},
           {NTPROF_PROCESS_EXEC, SHELL, 0, 0});
    assert_int_equal(process_table_find(&world->table, SHELL)->watcher_count, 0);
}

/* 0 and -1 are what the kernel says of whom the session's pid namespace does not have.
 */
static void
all__numbers_of_nobody__nothing_told(void **state)
{
    static const uint32_t nobody[] = {0, UINT32_MAX};
    struct world *world = *state;
    struct crafted crafted;

    watch_all(world);
    for (size_t i = 0; i < 2; i++) {
        fork_process(world, nobody[i], OTHER);
        map(world, nobody[i], 0x10000, 0x1000, 1, "/bin/a");
        exit_thread(world, nobody[i], nobody[i]);
        craft_comm(&crafted, PERF_RECORD_MISC_COMM_EXEC, nobody[i], nobody[i], "a", 5);
        apply_uncovered(world, &crafted);
    }
    assert_int_equal(world->ke.count, 0);
    assert_int_equal(world->table.by_pid.count, 0);
    /* One whose parent is out of the namespace is somebody. */
    fork_process(world, CHILD, 0);
    EXPECT(world, {NTPROF_PROCESS_START, CHILD, 0, 0});
}

static void
attach__records_older_than_the_reading__change_nothing(void **state)
{
    struct world *world = *state;
    struct perf_mappings mappings = {0};
    const uint32_t tids[] = {SHELL, 105};
    const struct perf_found found = {.pid = SHELL,
                                     .name = "sh",
                                     .tids = tids,
                                     .tid_count = 2,
                                     .mappings = &mappings,
                                     .read_ns = world->now_ns + 100};

    watch_all(world);
    perf_mappings_insert(&mappings, mapping(0x10000, 0x4000, 1, "/bin/sh"));
    assert_int_equal(process_table_attach(&world->table, &found, 7, NULL), 0);
    assert_int_equal(world->ke.seen[0].time_ns, 7);
    EXPECT(world, {NTPROF_PROCESS_START, SHELL, 0, 0},
           {NTPROF_IMAGE_MAP, SHELL, 0x10000, 0x4000});

    fork_process(world, SHELL, OTHER);
    fork_process(world, SHELL, OTHER); /* told by two events */
    exec(world, SHELL, "sh");
    map(world, SHELL, 0x10000, 0x1000, 9, "/bin/before");
    assert_int_equal(world->ke.count, 0);

    /* A thread's end was seen while it ended, and is an end whenever it was. */
    exit_thread(world, SHELL, 105);
    world->now_ns += 100;
    map(world, SHELL, 0x70000, 0x1000, 2, "/lib/libc.so");
    EXPECT(world, {NTPROF_IMAGE_MAP, SHELL, 0x70000, 0x1000});
    exit_thread(world, SHELL, SHELL);
    assert_int_equal(fake_count(&world->ke, NTPROF_PROCESS_EXIT, SHELL), 1);
}

/* A child is watched on its own, and its parent with descendants: when the record of
 * its birth is delivered, /proc has shown it already. */
static void
fork__delivered_after_the_reading__has_the_watchers_of_its_parent(void **state)
{
    struct world *world = *state;
    struct perf_watcher other = {.descendants = false};
    struct perf_mappings none = {0};
    const uint32_t tid = CHILD;
    struct perf_found found = {
        .pid = CHILD, .name = "sh", .tids = &tid, .tid_count = 1, .mappings = &none};
    struct perf_process *process;

    begin_shell(world);
    found.read_ns = world->now_ns + 100;
    assert_int_equal(process_table_attach(&world->table, &found, 7, &other), 0);
    EXPECT(world, {NTPROF_PROCESS_START, CHILD, 0, 0});
    fork_process(world, CHILD, SHELL);
    fork_process(world, CHILD, SHELL); /* told by two events */
    assert_int_equal(world->ke.count, 0);
    process = process_table_find(&world->table, CHILD);
    assert_int_equal(process->watcher_count, 2);
    assert_int_equal(process->parent_pid, SHELL);

    /* The birth of one that had the number long before. */
    process->parent_pid = 0;
    process->read_ns = world->now_ns + UINT64_C(2000000000);
    fork_process(world, CHILD, SHELL);
    assert_int_equal(process->parent_pid, 0);
    assert_int_equal(world->ke.count, 0);
}

/* Its creator was held up between the moment that it could be seen and that of telling
 * it. */
static void
fork__told_after_the_reading__is_the_same_process(void **state)
{
    struct world *world = *state;
    struct perf_mappings mappings = {0};
    const uint32_t tid = CHILD;
    const struct perf_found found = {.pid = CHILD,
                                     .name = "sh",
                                     .tids = &tid,
                                     .tid_count = 1,
                                     .mappings = &mappings,
                                     .read_ns = world->now_ns};

    watch_all(world);
    assert_int_equal(process_table_attach(&world->table, &found, 7, NULL), 0);
    EXPECT(world, {NTPROF_PROCESS_START, CHILD, 0, 0});
    world->now_ns += 5000000;
    fork_process(world, CHILD, SHELL);
    fork_process(world, CHILD, SHELL); /* told by two events */
    assert_int_equal(world->ke.count, 0);

    /* Another one, whose number it has: its end was lost. */
    world->now_ns += 10000000;
    fork_process(world, CHILD, SHELL);
    EXPECT(world, {NTPROF_PROCESS_EXIT, CHILD, 0, 0},
           {NTPROF_PROCESS_START, CHILD, 0, 0});
}

#define table_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        table_test(exec__unknown_process__starts),
        table_test(records__of_unknown_processes__nothing_told),
        table_test(fork__child__begins_with_the_parents_mappings),
        table_test(fork__cover_without_descendants__child_not_told),
        table_test(fork__told_by_two_events__told_once),
        table_test(fork__pid_used_again__old_one_ends_first),
        table_test(exit__main_thread_first__process_lives_on),
        table_test(exec__by_another_thread__one_thread_left),
        table_test(threads__storm__all_forgotten),
        table_test(comm__main_thread_only__name_told),
        table_test(map__over_others__pieces_stay),
        table_test(map__piece_behind__keeps_its_place_in_the_file),
        table_test(map__the_very_same__nothing_told),
        table_test(map__no_inode__anonymous),
        table_test(map__data__ignored),
        table_test(attach__known_process__cover_added_nothing_told),
        table_test(resync__after_a_loss__only_what_changed_is_told),
        table_test(resync__other_name_and_mappings__exec),
        table_test(resync__other_name_only__name),
        table_test(resync__other_name_without_mappings__nothing),
        table_test(add_unreported__code_moved__what_has_it_and_what_is_free_is_added),
        table_test(all__parent_not_known__child_begins_without_mappings),
        table_test(all__program_of_an_unknown_process__starts_without_a_cover),
        table_test(all__numbers_of_nobody__nothing_told),
        table_test(attach__records_older_than_the_reading__change_nothing),
        table_test(fork__delivered_after_the_reading__has_the_watchers_of_its_parent),
        table_test(fork__told_after_the_reading__is_the_same_process),
    };

    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
