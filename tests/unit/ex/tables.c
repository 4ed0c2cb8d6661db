/* SPDX-License-Identifier: MIT */
/* The tables of an embedder: older ones work, and what is missing is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine.h"

#include <string.h>

struct tables {
    struct host_sim *host_sim;
    struct sim *sim;
    KSYSTEM system;
    HOST_TABLE host_table;
    HAL_TABLE hal_table;
    HOST host;
    HAL hal;
};

static void
tables_open(struct tables *tables)
{
    memset(tables, 0, sizeof(*tables));
    tables->host_sim = host_sim_create(NULL);
    tables->sim = sim_create(NULL, &tables->system.Ke);
    tables->host = host_sim_host(tables->host_sim);
    tables->hal = sim_hal(tables->sim);
    tables->host_table = *tables->host.Table;
    tables->hal_table = *tables->hal.Table;
    tables->host.Table = &tables->host_table;
    tables->hal.Table = &tables->hal_table;
}

static void
tables_close(struct tables *tables)
{
    assert_int_equal(host_sim_balance(tables->host_sim).allocations, 0);
    sim_delete(tables->sim);
    host_sim_delete(tables->host_sim);
}

static NTSTATUS
initialize(struct tables *tables)
{
    return ExInitializeSystem(&tables->system, &tables->host, &tables->hal, NULL);
}

/* Sets a function of one of the tables to NULL. */
static void
clear(void *table, size_t offset)
{
    memset((char *)table + offset, 0, sizeof(void *));
}

static void
tables__missing_function__named_and_refused(void **state)
{
    struct tables tables;
    /* Everything from Allocate on is a function. */
    const size_t first = offsetof(HOST_TABLE, Allocate);
    const size_t functions = (sizeof(HOST_TABLE) - first) / sizeof(void *);

    (void)state;
    for (size_t i = 0; i < functions; i++) {
        tables_open(&tables);
        clear(&tables.host_table, first + i * sizeof(void *));
        assert_non_null(ExFindTableFault(&tables.host, &tables.hal));
        assert_int_equal(initialize(&tables), STATUS_INVALID_PARAMETER);
        tables_close(&tables);
    }
    tables_open(&tables);
    tables.host_table.MapPages = NULL;
    assert_string_equal(ExFindTableFault(&tables.host, &tables.hal), "MapPages");
    tables.host_table.MapPages = tables.host_table.LockPages;
    tables.host_table.PageSize = 3000;
    assert_string_equal(ExFindTableFault(&tables.host, &tables.hal), "PageSize");
    tables.host_table.PageSize = 4096;
    tables.hal_table.Flush = NULL;
    assert_string_equal(ExFindTableFault(&tables.host, &tables.hal), "Flush");
    tables.hal_table.Flush = tables.hal_table.Synchronize;
    tables.hal_table.Capabilities |= HAL_COUNTS_ITSELF;
    assert_string_equal(ExFindTableFault(&tables.host, &tables.hal), "Counting");
    assert_int_equal(initialize(&tables), STATUS_INVALID_PARAMETER);
    tables_close(&tables);
}

static void *
allocate_nodes(void *context, ULONG chunk, SIZE_T bytes)
{
    (void)context;
    (void)chunk;
    (void)bytes;
    return NULL;
}

static NTSTATUS
locate_counters(void *context, const ULONG *buffer, ULONG affinity_words,
                const ULONG64 *affinity, ULONG64 *location)
{
    (void)context;
    (void)buffer;
    (void)affinity_words;
    (void)affinity;
    (void)location;
    return STATUS_INSUFFICIENT_RESOURCES;
}

static NTSTATUS
prepare_process(void *context, ULONG64 pid)
{
    (void)context;
    (void)pid;
    return STATUS_INSUFFICIENT_RESOURCES;
}

static void
publish_roots(void *context, ULONG64 pid, const ULONG *roots)
{
    (void)context;
    (void)pid;
    (void)roots;
}

static void
query_hits(void *context, KPROFILE_SOURCE source, ULONG64 *counted, ULONG64 *outside)
{
    (void)context;
    (void)source;
    *counted = 4711;
    *outside = 0;
}

static const HAL_COUNTING counting = {
    .Size = sizeof(HAL_COUNTING),
    .AllocateNodes = allocate_nodes,
    .LocateCounters = locate_counters,
    .PrepareProcess = prepare_process,
    .PublishRoots = publish_roots,
    .QueryHits = query_hits,
};

static void
tables__counting__missing_function_named_size_read(void **state)
{
    static const struct {
        size_t offset;
        const char *name;
    } functions[] = {
        {offsetof(HAL_COUNTING, AllocateNodes), "AllocateNodes"},
        {offsetof(HAL_COUNTING, LocateCounters), "LocateCounters"},
        {offsetof(HAL_COUNTING, PrepareProcess), "PrepareProcess"},
        {offsetof(HAL_COUNTING, PublishRoots), "PublishRoots"},
        {offsetof(HAL_COUNTING, QueryHits), "QueryHits"},
    };
    HAL_COUNTING own = counting;
    struct tables tables;
    KE_STATISTICS statistics;

    (void)state;
    tables_open(&tables);
    tables.hal_table.Capabilities |= HAL_COUNTS_ITSELF;
    tables.hal_table.Counting = &own;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        own = counting;
        clear(&own, functions[i].offset);
        assert_string_equal(ExFindTableFault(&tables.host, &tables.hal),
                            functions[i].name);
        assert_int_equal(initialize(&tables), STATUS_INVALID_PARAMETER);
    }
    own = counting;
    own.Size = offsetof(HAL_COUNTING, QueryHits);
    assert_string_equal(ExFindTableFault(&tables.host, &tables.hal), "QueryHits");
    own.Size = 0; /* nothing but the size */
    assert_string_equal(ExFindTableFault(&tables.host, &tables.hal), "AllocateNodes");

    /* It is copied, as the others are. */
    own = counting;
    assert_int_equal(initialize(&tables), STATUS_SUCCESS);
    memset(&own, 0xA5, sizeof(own));
    ExQueryStatistics(&tables.system, ProfileTime, &statistics);
    assert_int_equal(statistics.Counted, 4711);
    ExFinishSystem(&tables.system);
    tables_close(&tables);
}

static void
tables__size__members_beyond_it_are_not_read(void **state)
{
    struct tables tables;

    (void)state;
    /* Of a version before Counting, with other things behind it. */
    tables_open(&tables);
    tables.hal_table.Size = offsetof(HAL_TABLE, Counting);
    memset(&tables.hal_table.Counting, 0xA5, sizeof(tables.hal_table.Counting));
    assert_null(ExFindTableFault(&tables.host, &tables.hal));
    assert_int_equal(initialize(&tables), STATUS_SUCCESS);
    ExFinishSystem(&tables.system);
    tables_close(&tables);

    /* Too old for a function that there must be. */
    tables_open(&tables);
    tables.host_table.Size = offsetof(HOST_TABLE, CurrentGroup);
    assert_string_equal(ExFindTableFault(&tables.host, &tables.hal), "CurrentGroup");
    tables.host_table.Size = 0;
    assert_string_equal(ExFindTableFault(&tables.host, &tables.hal), "PageSize");
    assert_int_equal(initialize(&tables), STATUS_INVALID_PARAMETER);
    tables_close(&tables);

    /* Of a later version. */
    tables_open(&tables);
    tables.hal_table.Size += 64;
    tables.host_table.Size += 64;
    assert_int_equal(initialize(&tables), STATUS_SUCCESS);
    ExFinishSystem(&tables.system);
    tables_close(&tables);
}

static void
tables__no_functions_for_user_mode__user_calls_not_supported(void **state)
{
    EX_CREATE_PROFILE request = machine_request();
    struct tables tables;
    ULONG counters[16] = {0};
    HANDLE handle;

    (void)state;
    tables_open(&tables);
    tables.host_table.ProbeForWrite = NULL;
    tables.host_table.CopyFromCaller = NULL;
    tables.host_table.CopyToCaller = NULL;
    tables.host_table.CheckSystemProfilePrivilege = NULL;
    tables.host_table.CheckRestrictedCaller = NULL;
    assert_int_equal(initialize(&tables), STATUS_SUCCESS);
    assert_int_equal(ExCreateProfileEx(&tables.system, UserMode, &request),
                     STATUS_NOT_SUPPORTED);
    assert_int_equal(
        ExQueryIntervalProfile(&tables.system, UserMode, ProfileTime, MACHINE_INTERVAL),
        STATUS_NOT_SUPPORTED);
    assert_int_equal(ExSetIntervalProfile(&tables.system, UserMode, 5000, ProfileTime),
                     STATUS_NOT_SUPPORTED);
    request.ProfileHandle = (ULONG_PTR)&handle;
    request.Buffer = (ULONG_PTR)counters;
    assert_int_equal(ExCreateProfileEx(&tables.system, KernelMode, &request),
                     STATUS_SUCCESS);
    ExFinishSystem(&tables.system);
    tables_close(&tables);
}

static void
tables__no_functions_of_processes__every_number_is_one(void **state)
{
    struct tables tables;
    HANDLE handle;

    (void)state;
    tables_open(&tables);
    tables.host_table.OpenProcess = NULL;
    tables.host_table.CloseProcess = NULL;
    tables.host_table.CheckProcessAccess = NULL;
    tables.host_table.IsProcessGone = NULL;
    assert_int_equal(initialize(&tables), STATUS_SUCCESS);
    assert_int_equal(ExOpenProcess(&tables.system, KernelMode, (ULONG_PTR)&handle,
                                   PROCESS_QUERY_INFORMATION, 4711),
                     STATUS_SUCCESS);
    assert_int_equal(ExOpenProcess(&tables.system, KernelMode, (ULONG_PTR)&handle,
                                   PROCESS_QUERY_INFORMATION, 0),
                     STATUS_INVALID_CID);
    ExFinishSystem(&tables.system);
    tables_close(&tables);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables__missing_function__named_and_refused),
        cmocka_unit_test(tables__counting__missing_function_named_size_read),
        cmocka_unit_test(tables__size__members_beyond_it_are_not_read),
        cmocka_unit_test(tables__no_functions_for_user_mode__user_calls_not_supported),
        cmocka_unit_test(tables__no_functions_of_processes__every_number_is_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
