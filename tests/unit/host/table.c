/* SPDX-License-Identifier: MIT */
/* The table itself: complete, and its limits those of this process. */
#include "fixture.h"

static void
create__two_hosts__complete_and_independent(void **state)
{
    HOST second;

    (void)state;
    assert_int_equal(host_linux_create(&second), STATUS_SUCCESS);
    assert_ptr_not_equal(second.Context, host.Context);
    assert_int_equal(second.Table->Size, sizeof(HOST_TABLE));
    assert_int_equal(second.Table->PageSize, page());
    for (const void *const *member = (const void *const *)&second.Table->Allocate;
         member < (const void *const *)(second.Table + 1); member++) {
        assert_non_null(*member);
    }
    host_linux_delete(&second);
    assert_null(second.Context);
    assert_null(second.Table);
    host_linux_delete(&second);
    assert_int_not_equal(host.Table->GroupCount(host.Context), 0);
}

static bool
can_map(uintptr_t address)
{
    void *made = mmap((void *)address, page(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (made == MAP_FAILED) {
        return errno == EEXIST;
    }
    munmap(made, page());
    return made == (void *)address;
}

/* Memory can be right below the limit, and none is above it. */
static void
limits__pages_on_both_sides__only_the_lower_can_be_mapped(void **state)
{
    const ULONG64 highest = host.Table->HighestUserAddress;
    const uintptr_t last_page = (uintptr_t)highest & ~(uintptr_t)(page() - 1);

    (void)state;
    assert_true(highest < host.Table->SystemRangeStart);
    assert_int_equal((highest + 1) % page(), 0);
#if defined(__x86_64__)
    assert_true(can_map(last_page));
    assert_false(can_map(last_page + page()));
#else
    /* Kernels with fewer address bits have nothing there; the limit may only be too
     * high. */
    assert_false(can_map(last_page + page()));
#endif
}

static void
limits__stack_and_text__below(void **state)
{
    FILE *const maps = fopen("/proc/self/maps", "re");
    char line[5000];
    int local;

    (void)state;
    assert_true((uintptr_t)&local <= host.Table->HighestUserAddress);
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps) != NULL) {
        unsigned long long start;
        unsigned long long end;

        assert_int_equal(sscanf(line, "%llx-%llx", &start, &end), 2);
        /* But the vsyscall page of x86-64, which is the kernel's. */
        assert_true(end - 1 <= host.Table->HighestUserAddress ||
                    start >= host.Table->SystemRangeStart);
    }
    fclose(maps);
}

static void
status__errors__the_documented_ones(void **state)
{
    (void)state;
    assert_int_equal(host_status(0), STATUS_SUCCESS);
    assert_int_equal(host_status(-EFAULT), STATUS_ACCESS_VIOLATION);
    assert_int_equal(host_status(-EAGAIN), STATUS_WORKING_SET_QUOTA);
    assert_int_equal(host_status(-EACCES), STATUS_ACCESS_DENIED);
    assert_int_equal(host_status(-EPERM), STATUS_ACCESS_DENIED);
    assert_int_equal(host_status(-ESRCH), STATUS_INVALID_CID);
    assert_int_equal(host_status(-ENOMEM), STATUS_INSUFFICIENT_RESOURCES);
    assert_int_equal(host_status(-EMFILE), STATUS_INSUFFICIENT_RESOURCES);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        host_test(create__two_hosts__complete_and_independent),
        host_test(limits__pages_on_both_sides__only_the_lower_can_be_mapped),
        host_test(limits__stack_and_text__below),
        host_test(status__errors__the_documented_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
