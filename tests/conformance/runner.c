/* SPDX-License-Identifier: MIT */
/*
 * runner.c - runs conformance tables on the simulated host and machine.
 *
 * usage: conformance-runner [--objects] [--layout-32] RULES.md TABLE.txt...
 *        CONFORMANCE_ONLY=NAME  runs the rows of that name alone
 *
 * With --objects through the handles of an embedder, above ex's profile objects. With
 * --layout-32 for callers whose memory has the layout of 32 bits: those of x86, and for
 * rows of x64 those of wow64.
 *
 * Each row is run for each of its versions and word sizes, each create call that the
 * version has, and each alternative of its values. Whatever comes out, memory that is
 * not the call's to write, guards, objects, locks, mappings and interrupts are checked.
 * A case that succeeds is run again with each thing that it asked for made to fail in
 * turn: the status must be one that a rule publishes, nothing may be left, and the same
 * call must succeed afterwards. README.md describes tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "call.h"
#include "step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys of every table, and of those that have a request. */
static const char world_keys[] = "mode privilege restricted host active active1 groups "
                                 "group wow64 lacks layout before";
static const char request_keys[] =
    "call handle process base size bucket buffer n source groupcount array m0 g0 r0 m1 "
    "g1 "
    "r1 affinity 2.process 2.base 2.size 2.bucket 2.n 2.source 2.affinity";
static const char ex_keys[] = "groupcount array m0 g0 r0 m1 g1 r1";
static const char nine_keys[] = "affinity 2.affinity";

static const struct {
    const char *key;
    const char *values;
} choices[] = {
    {"mode", "user kernel"},
    {"privilege", "yes no"},
    {"restricted", "no level check both"},
    {"host", "64 32"},
    {"wow64", "yes no"},
    {"layout", "any host 32"},
    {"call", "any ex nine seven"},
    {"form", "any new old"},
    {"limits", "machine wide"},
};

struct totals {
    size_t rows;
    uint64_t cases;
    uint64_t failed;
    uint64_t injected[CALL_KINDS];
};

static bool objects; /* --objects */
static bool narrow;  /* --layout-32 */
static const struct table_rules *rules;
static const struct world_case *running; /* for a test that dies */

/* ---- Are the rows what they may be? ---- */

static bool
has_word(const char *words, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = strstr(words, word); at != NULL; at = strstr(at + 1, word)) {
        if ((at == words || at[-1] == ' ') &&
            (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

static bool
is_key(const struct call *call, const char *key)
{
    return has_word(world_keys, key) || has_word(call->keys, key) ||
           ((call->flags & CALL_REQUEST) != 0 && has_word(request_keys, key));
}

static void
check_choice(struct table *table, int line, const struct table_pair *pair)
{
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        const uint64_t count = value_alternatives(pair->value);

        for (uint64_t k = 0; strcmp(choices[i].key, pair->key) == 0 && k < count; k++) {
            char text[VALUE_MOST_CHARS];

            value_alternative(pair->value, k, text);
            if (!has_word(choices[i].values, text)) {
                table_complain(table, line, "%s is one of %s", pair->key,
                               choices[i].values);
            }
        }
    }
}

static void
check_pairs(struct table *table, int line, const struct call *call,
            const struct table_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        const struct table_pair *const pair = &pairs->items[i];

        if (!is_key(call, pair->key)) {
            table_complain(table, line, "no such key: %s", pair->key);
        }
        if (strcmp(pair->key, "before") != 0 && value_alternatives(pair->value) == 0) {
            table_complain(table, line, "no list of values: %s", pair->value);
        }
        check_choice(table, line, pair);
    }
}

/* What one form of create has must not be given to another, where it would mean
 * nothing. */
static void
check_form(struct table *table, const struct table_row *row)
{
    const char *const form = table_find(&row->inputs, "call");
    const char *const wow64 = table_find(&row->inputs, "wow64");

    for (size_t i = 0; i < row->inputs.count; i++) {
        const char *const key = row->inputs.items[i].key;

        if (has_word(ex_keys, key) && (form == NULL || strcmp(form, "ex") != 0)) {
            table_complain(table, row->line, "%s needs call=ex", key);
        }
        if (has_word(nine_keys, key) && (form == NULL || strcmp(form, "nine") != 0)) {
            table_complain(table, row->line, "%s needs call=nine", key);
        }
    }
    if (wow64 != NULL && row->abis != TABLE_X64) {
        table_complain(table, row->line, "wow64 needs x64");
    }
}

static void
check_row(struct table *table, const struct call *call, const struct table_row *row)
{
    NTSTATUS status;

    check_pairs(table, row->line, call, &row->inputs);
    check_form(table, row);
    if ((call->flags & CALL_HIT) == 0 && !step_status(row->status, &status)) {
        table_complain(table, row->line, "no such status: %s", row->status);
    }
    for (size_t i = 0; i < row->rules.count; i++) {
        if (!table_has_rule(rules, row->rules.items[i])) {
            table_complain(table, row->line, "no such rule: %s", row->rules.items[i]);
        }
    }
}

static const struct call *
check_table(struct table *table)
{
    const struct call *const call = call_find(table->call);

    if (call == NULL) {
        table_complain(table, 1, "no such call: %s", table->call);
        return NULL;
    }
    check_pairs(table, 1, call, &table->defaults);
    for (size_t i = 0; i < table->row_count; i++) {
        check_row(table, call, &table->rows[i]);
    }
    return call;
}

/* ---- One run of a case ---- */

/* What is made to fail: the nth call of a kind. */
struct injection {
    const struct call_failure *failure; /* NULL: nothing */
    uint64_t nth;
};

struct result {
    bool succeeded;
    uint64_t calls[CALL_KINDS]; /* that the call under test made */
};

static uint64_t
calls_of(struct world *world, int kind)
{
    return kind == CALL_HAL_START
               ? sim_start_calls(world->machine.sim)
               : host_sim_calls(world->machine.host, (enum host_sim_call)kind);
}

static void
inject(struct world *world, const struct injection *injection)
{
    const struct call_failure *const failure = injection->failure;

    if (failure == NULL) {
        return;
    }
    snprintf(world->note, sizeof(world->note), " with %s failing (%u)",
             call_kind_names[failure->kind], (unsigned)injection->nth);
    if (failure->kind == CALL_HAL_START) {
        sim_fail_start(world->machine.sim, injection->nth, failure->cause);
        return;
    }
    if (failure->cause != 0) {
        host_sim_set_failure(world->machine.host, (enum host_sim_call)failure->kind,
                             failure->cause);
    }
    host_sim_fail(world->machine.host, (enum host_sim_call)failure->kind,
                  injection->nth, false);
}

static void
run_before(struct world *world)
{
    const char *text = world_text(world, "before");

    while (text != NULL && strcmp(text, "none") != 0) {
        const char *const end = strchr(text, ';');
        char step[256];

        snprintf(step, sizeof(step), "%.*s",
                 end != NULL ? (int)(end - text) : (int)strlen(text), text);
        step_run(world, step);
        text = end != NULL ? end + 1 : NULL;
    }
}

/* A call that fails changes nothing: but a halt stops all that was started,
 * DUPLICATE_CLOSE_SOURCE closes, and the length that a query needs is told. */
static void
check_failed(struct world *world, const struct call *call,
             const struct call_arguments *arguments)
{
    struct world_range length = {arguments->return_length, sizeof(ULONG)};
    const bool tells = strcmp(call->name, "query_object") == 0;

    world_check_memory(world, &length, tells ? 1 : 0);
    if (world_has_halted(world)) {
        const struct world_balance now = world_balance(world);

        if (now.started != 0 || now.locks != 0 || now.hal_started != 0) {
            world_fail(world, "halted, and not all is stopped");
        }
    } else if ((arguments->duplicate.Options & DUPLICATE_CLOSE_SOURCE) == 0) {
        world_check_balance(world);
    }
}

static void
check_succeeded(struct world *world, const struct call *call,
                const struct call_arguments *arguments)
{
    struct world_range ranges[3];
    size_t range_count = call->outputs(arguments, ranges);

    if ((call->flags & CALL_HIT) != 0) {
        /* Of the counters each is looked at by itself (counts=); what is behind them is
         * here. */
        ranges[0] =
            (struct world_range){world->buffers[0], world->buffer_bytes[0] / 4 * 4};
        ranges[1] =
            (struct world_range){world->buffers[1], world->buffer_bytes[1] / 4 * 4};
        range_count = 2;
    }
    world_check_memory(world, ranges, range_count);
    if (call->check != NULL) {
        call->check(world, arguments);
    }
}

static void
run_effects(struct world *world)
{
    const struct table_words *const effects = &world->test->row->effects;

    for (size_t i = 0; i < effects->count; i++) {
        step_run(world, effects->items[i]);
    }
}

/* What a row's step fails@KIND asked for and the call did not come to fails nothing
 * later. */
static void
end_failures(struct world *world)
{
    host_sim_clear_failures(world->machine.host);
    sim_fail_start(world->machine.sim, 0, STATUS_SUCCESS);
}

/* The call that was made to fail works now, as if nothing had been. */
static void
try_again(struct world *world, const struct call *call,
          struct call_arguments *arguments)
{
    NTSTATUS status;

    end_failures(world);
    world_remember(world);
    status = call->make(world, arguments);
    if (strcmp(call_outcome(call, arguments, status), world->test->row->status) != 0) {
        world_fail(world, "%s when tried again", step_status_name(status));
        return;
    }
    check_succeeded(world, call, arguments);
    run_effects(world);
}

static void
run_injected(struct world *world, const struct call *call,
             struct call_arguments *arguments, const struct injection *injection)
{
    const NTSTATUS status = call->make(world, arguments);
    const NTSTATUS expected = injection->failure->status;

    if (status != expected) {
        world_fail(world, "%s instead of %s (%s)", step_status_name(status),
                   step_status_name(expected), injection->failure->rules);
    }
    check_failed(world, call, arguments);
    if (world->failures == 0 &&
        (arguments->duplicate.Options & DUPLICATE_CLOSE_SOURCE) == 0) {
        try_again(world, call, arguments);
    }
}

/* What a failed create is explained by must be what one of the row's rules is about. */
static void
check_explained(struct world *world, NTSTATUS status)
{
    static const char *const subjects[][5] = {
        [EX_CHECK_NONE] = {NULL},
        [EX_CHECK_PARAMETER_WIDTH] = {"create-32-bit-parameters",
                                      "create-affinity-width"},
        [EX_CHECK_BUFFER_SIZE] = {"create-buffer-size-zero"},
        [EX_CHECK_SEGMENT_BUFFER] = {"create-segment-short-buffer"},
        [EX_CHECK_BUCKET] = {"create-bucket-range", "create-segment-none"},
        [EX_CHECK_SEGMENT_BUCKET] = {"create-segment"},
        [EX_CHECK_COUNTERS] = {"create-buffer-too-small", "create-buffer-partial",
                               "create-segment-rounding"},
        [EX_CHECK_REGION] = {"create-region"},
        [EX_CHECK_SOURCE] = {"create-source"},
        [EX_CHECK_HANDLE_ADDRESS] = {"create-handle-pointer"},
        [EX_CHECK_BUFFER_ADDRESS] = {"create-buffer-pointer",
                                     "create-buffer-alignment"},
        [EX_CHECK_ARRAY_ADDRESS] = {"create-affinity-pointer",
                                    "create-affinity-alignment"},
        [EX_CHECK_AFFINITY] = {"create-affinity", "create-wow64-affinity"},
        [EX_CHECK_PROCESS] = {"create-process", "handle-", "create-no-memory"},
        [EX_CHECK_SEGMENT_PROCESS] = {"create-segment-global"},
        [EX_CHECK_PRIVILEGE] = {"create-global", "create-rights-unknown",
                                "create-kernel-space"},
        [EX_CHECK_KERNEL_SPACE] = {"create-restricted", "create-kernel-space",
                                   "create-rights-unknown"},
        [EX_CHECK_GLOBAL_KERNEL_SPACE] = {"create-restricted", "create-kernel-space",
                                          "create-rights-unknown"},
        [EX_CHECK_RESOURCES] = {"create-no-memory", "create-handle-fault"},
    };
    const struct table_words *const named = &world->test->row->rules;
    const EX_CHECK check = world->machine.system.FailedCheck;

    if (status == STATUS_SYSTEM_SHUTDOWN || status == STATUS_INVALID_SYSTEM_SERVICE) {
        if (check != EX_CHECK_NONE) {
            world_fail(world, "explained by check %d", (int)check);
        }
        return;
    }
    for (size_t i = 0; i < 5 && subjects[check][i] != NULL; i++) {
        for (size_t k = 0; k < named->count; k++) {
            if (strncmp(named->items[k], subjects[check][i],
                        strlen(subjects[check][i])) == 0) {
                return;
            }
        }
    }
    world_fail(world, "explained by check %d, which no rule of the row is about",
               (int)check);
}

static void
run_plain(struct world *world, const struct call *call,
          struct call_arguments *arguments, struct result *result)
{
    const char *const expected = world->test->row->status;
    const char *outcome;
    NTSTATUS status;

    for (int kind = 0; kind < CALL_KINDS; kind++) {
        result->calls[kind] = calls_of(world, kind);
    }
    status = call->make(world, arguments);
    for (int kind = 0; kind < CALL_KINDS; kind++) {
        result->calls[kind] = calls_of(world, kind) - result->calls[kind];
    }
    end_failures(world);
    outcome = call_outcome(call, arguments, status);
    if (strcmp(outcome, expected) != 0) {
        world_fail(world, "%s instead of %s", outcome, expected);
        return;
    }
    result->succeeded = NT_SUCCESS(status) && (call->flags & CALL_HIT) == 0;
    if (NT_SUCCESS(status)) {
        check_succeeded(world, call, arguments);
    } else {
        check_failed(world, call, arguments);
        if (strcmp(call->name, "create") == 0) {
            check_explained(world, status);
        }
    }
    run_effects(world);
}

/* Returns whether nothing was wrong. */
static bool
run_case(const struct world_case *test, const struct call *call,
         const struct injection *injection, struct result *result)
{
    struct world world;
    struct call_arguments arguments = {0};

    running = test;
    world_open(&world, test);
    if ((call->flags & CALL_PREPARES) != 0) {
        world_prepare(&world);
    }
    call->gather(&world, &arguments);
    run_before(&world);
    world_apply_rights(&world);
    world_remember(&world);
    if (world.failures == 0) {
        inject(&world, injection);
        if (injection->failure != NULL) {
            run_injected(&world, call, &arguments, injection);
        } else {
            run_plain(&world, call, &arguments, result);
        }
    }
    world_close(&world);
    running = NULL;
    return world.failures == 0;
}

/* ---- All runs of a case ---- */

/* After the first 64 of a kind, which only an array of a thousand groups needs, each
 * 64th and the last. */
static uint64_t
next_to_fail(uint64_t nth, uint64_t calls)
{
    const uint64_t next = nth < 64 ? nth + 1 : nth + 64;

    return next > calls && nth < calls ? calls : next;
}

/* Each call of one kind fails in turn, with each status that it may have: the first
 * such call with all of them, the others with one after the other. */
static bool
run_failures_of(const struct world_case *test, const struct call *call, int kind,
                uint64_t calls, struct totals *totals)
{
    size_t statuses = 0;

    while (call_failure(call, kind, statuses) != NULL) {
        statuses++;
    }
    if (calls != 0 && statuses == 0) {
        printf("%s:%d: %s: no rule says what a failure of %s is\n",
               test->row->table->path, test->row->line, test->row->name,
               call_kind_names[kind]);
        return false;
    }
    for (uint64_t nth = 1; nth <= calls; nth = next_to_fail(nth, calls)) {
        for (size_t i = 0; i < statuses; i++) {
            const struct injection injection = {call_failure(call, kind, i), nth};

            if (nth > 1 && nth % statuses != i) {
                continue;
            }
            totals->injected[kind]++;
            if (!run_case(test, call, &injection, NULL)) {
                return false;
            }
        }
    }
    return true;
}

static void
run_all_of(const struct world_case *test, const struct call *call,
           struct totals *totals)
{
    static const struct injection none;
    struct result result = {0};
    bool good = run_case(test, call, &none, &result);

    totals->cases++;
    for (int kind = 0; kind < CALL_KINDS && good && result.succeeded; kind++) {
        good = run_failures_of(test, call, kind, result.calls[kind], totals);
    }
    totals->failed += !good;
}

/* ---- All cases of a row ---- */

/* The index-th combination of alternatives; false if there is none. */
static bool
choose_inputs(struct world_case *test, uint64_t index)
{
    const struct table_pairs *const pairs = &test->row->inputs;

    test->input_count = 0;
    for (size_t i = 0; i < pairs->count; i++) {
        const struct table_pair *const pair = &pairs->items[i];
        const bool steps = strcmp(pair->key, "before") == 0;
        const uint64_t count = steps ? 1 : value_alternatives(pair->value);

        if (count > 1 || (!steps && strstr(pair->value, "..") != NULL)) {
            test->inputs[test->input_count].key = pair->key;
            value_alternative(pair->value, index % count,
                              test->inputs[test->input_count++].value);
        }
        index /= count;
    }
    return index == 0;
}

/* The versions that have a form of create; -1: no version lacks it. */
static bool
version_has_form(int version, enum world_form form)
{
    const uint32_t number = table_versions[version].number;

    switch (form) {
    case WORLD_SEVEN:
        return number == 310 || number == 350;
    case WORLD_NINE:
        return number != 310 && number != 350;
    default:
        return number == 0 || number >= 601;
    }
}

/* Does the row ask for this form in this version? */
static bool
wants_form(const struct table_row *row, const struct call *call, int version,
           enum world_form form)
{
    static const char *const names[] = {"ex", "nine", "seven"};
    const char *const asked = table_find(&row->inputs, "call");

    if (asked != NULL && strcmp(asked, "any") != 0) {
        return strcmp(asked, names[form]) == 0;
    }
    if ((call->flags & CALL_EVERY_FORM) == 0) {
        /* The newest that the version has. */
        for (int newer = WORLD_EX; newer < (int)form; newer++) {
            if (version_has_form(version, (enum world_form)newer)) {
                return false;
            }
        }
    }
    return version_has_form(version, form);
}

static void
run_combinations(struct world_case *test, const struct call *call,
                 struct totals *totals)
{
    for (uint64_t index = 0; choose_inputs(test, index); index++) {
        run_all_of(test, call, totals);
    }
}

/* NTPROF_TEST_VERSIONS: one, for sanitizers, to which versions are alike; all, in make
 * check-long; unset: of each run of versions in a row the first and the last, between
 * which nothing changes by the row's own words. */
static bool
wants_version(const struct table_row *row, int version, bool is_first)
{
    const char *const wanted = getenv("NTPROF_TEST_VERSIONS");
    const uint32_t neighbours = UINT32_C(1) << version >> 1 | UINT32_C(2) << version;

    if ((row->versions >> version & 1) == 0) {
        return false;
    }
    if (wanted != NULL && strcmp(wanted, "all") == 0) {
        return true;
    }
    if (wanted != NULL && strcmp(wanted, "one") == 0) {
        return is_first;
    }
    return (row->versions & neighbours) != neighbours;
}

/* Affinities of x64's own callers are not those of wow64's. */
static bool
has_such_callers(const struct table_row *row, const struct world_case *test)
{
    const char *const layout = table_find(&row->inputs, "layout");

    if (layout != NULL && strcmp(layout, "any") != 0) {
        return strcmp(layout, test->narrow ? "32" : "host") == 0;
    }
    return !test->narrow || test->abi == TABLE_X86 ||
           table_find(&row->inputs, "wow64") != NULL ||
           (table_find(&row->inputs, "affinity") == NULL &&
            table_find(&row->inputs, "2.affinity") == NULL);
}

static void
run_row(struct table *table, const struct table_row *row, const struct call *call,
        struct totals *totals)
{
    const uint64_t before = totals->cases;

    for (int version = TABLE_VERSIONS; version-- > 0;) {
        if (!wants_version(row, version, totals->cases == before)) {
            continue;
        }
        for (unsigned abi = TABLE_X64; abi <= TABLE_X86; abi++) {
            for (int form = WORLD_EX; form <= WORLD_SEVEN; form++) {
                struct world_case test = {.row = row,
                                          .version = version,
                                          .abi = abi,
                                          .objects = objects,
                                          .narrow = narrow,
                                          .form = (enum world_form)form};

                if ((row->abis & abi) != 0 && has_such_callers(row, &test) &&
                    wants_form(row, call, version, test.form)) {
                    run_combinations(&test, call, totals);
                }
            }
        }
    }
    totals->rows++;
    if (totals->cases == before && !narrow &&
        table_find(&row->inputs, "layout") == NULL) {
        table_complain(table, row->line, "%s: a row without a case", row->name);
        totals->failed++;
    }
}

/* ---- Tables ---- */

static void
print_totals(const char *path, const struct totals *totals)
{
    uint64_t injected = 0;

    for (int kind = 0; kind < CALL_KINDS; kind++) {
        injected += totals->injected[kind];
    }
    printf("%s: %zu rows, %llu cases, %llu failed; %llu failures injected", path,
           totals->rows, (unsigned long long)totals->cases,
           (unsigned long long)totals->failed, (unsigned long long)injected);
    for (int kind = 0; kind < CALL_KINDS; kind++) {
        if (totals->injected[kind] != 0) {
            printf(" %s %llu", call_kind_names[kind],
                   (unsigned long long)totals->injected[kind]);
        }
    }
    putchar('\n');
}

static bool
run_table(const char *path)
{
    const char *const only = getenv("CONFORMANCE_ONLY");
    struct table table;
    struct totals totals = {0};
    const struct call *const call =
        table_read(&table, path) ? check_table(&table) : NULL;

    for (size_t i = 0; call != NULL && table.faults == 0 && i < table.row_count; i++) {
        if (only == NULL || strcmp(only, table.rows[i].name) == 0) {
            run_row(&table, &table.rows[i], call, &totals);
        }
    }
    print_totals(path, &totals);
    table_free(&table);
    return call != NULL && table.faults == 0 && totals.failed == 0 && totals.rows != 0;
}

static void
name_running_case(void)
{
    if (running != NULL) {
        printf("%s:%d: %s [%s]: the run ended here\n", running->row->table->path,
               running->row->line, running->row->name,
               table_versions[running->version].name);
    }
}

static bool
check_failure_rules(void)
{
    bool good = true;

    for (size_t i = 0; call_failure_at(i) != NULL; i++) {
        char text[128];
        char *rest = NULL;

        snprintf(text, sizeof(text), "%s", call_failure_at(i)->rules);
        for (char *id = strtok_r(text, " ", &rest); id != NULL;
             id = strtok_r(NULL, " ", &rest)) {
            if (!table_has_rule(rules, id)) {
                printf("call.c: no such rule: %s\n", id);
                good = false;
            }
        }
    }
    return good;
}

int
main(int argc, char **argv)
{
    struct table_rules read_rules;
    bool good;

    while (argc > 1 && argv[1][0] == '-') {
        objects = objects || strcmp(argv[1], "--objects") == 0;
        narrow = narrow || strcmp(argv[1], "--layout-32") == 0;
        argv[1] = argv[0];
        argc--;
        argv++;
    }
    if (argc < 3) {
        fputs("usage: conformance-runner [--objects] [--layout-32] RULES.md "
              "TABLE.txt...\n",
              stderr);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    good = table_read_rules(&read_rules, argv[1]);
    rules = &read_rules;
    atexit(name_running_case);
    good = good && check_failure_rules();
    for (int i = 2; i < argc && read_rules.ids.count != 0; i++) {
        good = run_table(argv[i]) && good;
    }
    table_free_rules(&read_rules);
    return good ? 0 : 1;
}
