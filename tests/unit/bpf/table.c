/* SPDX-License-Identifier: MIT */
/* table.c - the table of processes, without a kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hal/bpf/table.h"

#include <stdlib.h>

enum {
    PLACES =
        BPF_PROCESSES_MASK + 1, /* of the table: numbers so far apart fall together */
    CHOICES = BPF_PROBES
};

static const ULONG some_roots[KI_TREES] = {2, 0};
static const ULONG no_roots[KI_TREES] = {0, 0};

static int
setup(void **state)
{
    struct bpf_table *const table = calloc(1, sizeof(*table));
    union bpf_shared *const shared = calloc(1, sizeof(*shared));

    if (table == NULL || shared == NULL || bpf_table_init(table, shared) < 0) {
        return -1;
    }
    *state = table;
    return 0;
}

static int
teardown(void **state)
{
    struct bpf_table *const table = *state;

    free(table->processes);
    bpf_table_finish(table);
    free(table);
    return 0;
}

/* As the program looks: it cannot see what is taken. */
static const struct bpf_process *
find_as_program(const struct bpf_table *table, uint32_t pid)
{
    for (uint32_t probe = 0; probe < BPF_PROBES; probe++) {
        const struct bpf_process *const process =
            &table->processes[bpf_table_entry(pid, probe)];

        if (process->pid == pid) {
            return process;
        }
        if (process->pid == 0) {
            return NULL;
        }
    }
    return NULL;
}

static void
take__twice__the_same_entry(void **state)
{
    struct bpf_table *const table = *state;
    struct bpf_process *const process = bpf_table_take(table, 77);

    assert_non_null(process);
    assert_ptr_equal(bpf_table_take(table, 77), process);
    assert_int_equal(table->count, 1);
    bpf_table_publish(table, process, some_roots);
    assert_ptr_equal(find_as_program(table, 77), process);
    assert_int_equal(process->roots[0], 2);
}

static void
publish__no_roots__the_entry_is_free_and_others_are_found(void **state)
{
    struct bpf_table *const table = *state;
    struct bpf_process *processes[3];

    for (uint32_t i = 0; i < 3; i++) {
        processes[i] = bpf_table_take(table, 5 + i * PLACES);
        assert_non_null(processes[i]);
        bpf_table_publish(table, processes[i], some_roots);
    }
    bpf_table_publish(table, processes[1], no_roots);
    assert_int_equal(table->count, 2);
    assert_null(bpf_table_find(table, 5 + PLACES));
    assert_ptr_equal(find_as_program(table, 5 + 2 * PLACES), processes[2]);
    /* The next that hashes there gets it, and is found. */
    assert_ptr_equal(bpf_table_take(table, 5 + 9 * PLACES), processes[1]);
    assert_ptr_equal(find_as_program(table, 5 + 9 * PLACES), processes[1]);
    assert_ptr_equal(find_as_program(table, 5 + 2 * PLACES), processes[2]);
}

static void
take__all_entries_others__none(void **state)
{
    struct bpf_table *const table = *state;

    for (uint32_t i = 0; i < CHOICES; i++) {
        assert_non_null(bpf_table_take(table, 9 + i * PLACES));
    }
    assert_null(bpf_table_take(table, 9 + CHOICES * PLACES));
    assert_int_equal(table->count, CHOICES);
    assert_non_null(bpf_table_take(table, 10));
}

/* As of processes that were forked one after the other, at times that are as many
 * processes apart as there are entries. */
static void
take__runs_of_numbers_that_fall_together__all_have_entries(void **state)
{
    enum { RUNS = 8, RUN = 4000 };
    struct bpf_table *const table = *state;

    for (uint32_t i = 0; i < RUNS * RUN; i++) {
        const uint32_t pid = 1000 + i / RUN * PLACES + i % RUN;
        struct bpf_process *const process = bpf_table_take(table, pid);

        assert_non_null(process);
        assert_ptr_equal(find_as_program(table, pid), process);
    }
}

static void
take__every_number_below_the_size__all_at_their_own(void **state)
{
    struct bpf_table *const table = *state;

    for (uint32_t pid = 1; pid < PLACES; pid++) {
        assert_ptr_equal(bpf_table_take(table, pid),
                         &table->processes[bpf_table_entry(pid, 0)]);
    }
}

/* An entry before its own has become free: a second one there would be a process
 * twice. */
static void
take__in_the_table__stays_there(void **state)
{
    struct bpf_table *const table = *state;
    struct bpf_process *const first = bpf_table_take(table, 5);
    struct bpf_process *const second = bpf_table_take(table, 5 + PLACES);

    bpf_table_publish(table, first, some_roots);
    bpf_table_publish(table, second, some_roots);
    bpf_table_publish(table, first, no_roots);
    assert_ptr_equal(bpf_table_take(table, 5 + PLACES), second);
    assert_ptr_equal(find_as_program(table, 5 + PLACES), second);
    assert_ptr_equal(bpf_table_take(table, 5), first);
}

static void
taken__those_that_processes_have__each_once(void **state)
{
    struct bpf_table *const table = *state;
    struct bpf_process *const first = bpf_table_take(table, 100);
    struct bpf_process *const gone = bpf_table_take(table, 150);
    struct bpf_process *const second = bpf_table_take(table, 200);

    bpf_table_publish(table, first, some_roots);
    bpf_table_publish(table, gone, no_roots);
    gone->ended = BPF_ENDED;
    assert_int_equal(table->count, 2);
    assert_ptr_equal(&table->processes[table->listed[0]], first);
    assert_ptr_equal(&table->processes[table->listed[1]], second);
    bpf_table_publish(table, first, no_roots);
    assert_int_equal(table->count, 1);
    assert_ptr_equal(&table->processes[table->listed[0]], second);
    /* The next process in the entry has not ended. */
    assert_ptr_equal(bpf_table_take(table, 150), gone);
    assert_int_equal(gone->ended, BPF_RUNNING);
    assert_ptr_equal(&table->processes[table->listed[1]], gone);
    bpf_table_publish(table, gone, no_roots);
    bpf_table_publish(table, second, no_roots);
    assert_int_equal(table->count, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(take__twice__the_same_entry, setup, teardown),
        cmocka_unit_test_setup_teardown(
            publish__no_roots__the_entry_is_free_and_others_are_found, setup, teardown),
        cmocka_unit_test_setup_teardown(take__all_entries_others__none, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            take__runs_of_numbers_that_fall_together__all_have_entries, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            take__every_number_below_the_size__all_at_their_own, setup, teardown),
        cmocka_unit_test_setup_teardown(take__in_the_table__stays_there, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(taken__those_that_processes_have__each_once,
                                        setup, teardown),
    };

    return cmocka_run_group_tests_name("bpf table", tests, NULL, NULL);
}
