/* SPDX-License-Identifier: MIT */
/* NtDuplicateObject and NtQueryObject on real memory, in a session of its own on the
 * simulated machine's back end: every status in order, and what a caller's memory holds
 * afterwards. */
#include "api/api.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "guarded.h"

#define SELF NtCurrentProcess()
#define UNTOUCHED ((HANDLE)(uintptr_t)0x5A5A5A58)
#define BAD_HANDLE ((HANDLE)(uintptr_t)0x7FFFFFFC)

static ntprof_session *session;
static unsigned char
    *pages; /* one that can be written, one that can be read, one for nothing */
static size_t page_bytes;
enum { COUNTER_BYTES = 64 };

static ULONG *counters;
static HANDLE profile;

static HANDLE
create_profile(void)
{
    HANDLE handle = NULL;

    assert_int_equal(NtCreateProfileEx(&handle, SELF, (PVOID)(uintptr_t)0x10000, 64, 2,
                                       counters, COUNTER_BYTES, ProfileTime, 0, NULL),
                     STATUS_SUCCESS);
    return handle;
}

static int
setup(void **state)
{
    const ntprof_session_options options = {
        .size = sizeof(options), .backend = "sim", .flags = NTPROF_SESSION_POLLED};

    (void)state;
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    pages = mmap(NULL, 3 * page_bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED ||
        mprotect(pages + page_bytes, page_bytes, PROT_READ) != 0 ||
        mprotect(pages + 2 * page_bytes, page_bytes, PROT_NONE) != 0 ||
        !NT_SUCCESS(ntprof_session_open(&options, &session))) {
        return -1;
    }
    ntprof_session_use(session);
    profile = create_profile();
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    ntprof_session_use(NULL);
    ntprof_session_close(session);
    munmap(pages, 3 * page_bytes);
    return 0;
}

static HANDLE
open_process(pid_t pid, ACCESS_MASK access)
{
    const CLIENT_ID client = {.UniqueProcess = (HANDLE)(uintptr_t)pid};
    HANDLE handle = NULL;

    assert_int_equal(NtOpenProcess(&handle, access, NULL, &client), STATUS_SUCCESS);
    return handle;
}

static OBJECT_BASIC_INFORMATION
basic_of(HANDLE handle)
{
    OBJECT_BASIC_INFORMATION basic;
    ULONG length = 0;

    memset(&basic, 0xEE, sizeof(basic));
    assert_int_equal(
        NtQueryObject(handle, ObjectBasicInformation, &basic, sizeof(basic), &length),
        STATUS_SUCCESS);
    assert_int_equal(length, sizeof(basic));
    return basic;
}

static bool
is_open(HANDLE handle)
{
    ULONG length;
    const NTSTATUS status =
        NtQueryObject(handle, ObjectBasicInformation, NULL, 0, &length);

    assert_true(status == STATUS_INFO_LENGTH_MISMATCH ||
                status == STATUS_INVALID_HANDLE);
    return status == STATUS_INFO_LENGTH_MISMATCH;
}

/* Duplicates the profile within the process. */
static NTSTATUS
duplicate(HANDLE source, HANDLE *target, ACCESS_MASK access, ULONG attributes,
          ULONG options)
{
    return NtDuplicateObject(SELF, source, SELF, target, access, attributes, options);
}

/* ---- NtDuplicateObject ---- */

/* rules: duplicate-handle, close-not-last, close-last-stops */
static void
duplicate__started_profile__goes_on_until_the_last_close(void **state)
{
    HANDLE second = NULL;

    (void)state;
    assert_int_equal(duplicate(profile, &second, 0, 0, DUPLICATE_SAME_ACCESS),
                     STATUS_SUCCESS);
    assert_ptr_not_equal(second, profile);
    assert_int_equal(NtStartProfile(second), STATUS_SUCCESS);
    assert_int_equal(NtStartProfile(profile), STATUS_PROFILING_NOT_STOPPED);
    assert_int_equal(NtClose(profile), STATUS_SUCCESS);
    assert_int_equal(session->system.StartedCount, 1);
    assert_int_equal(NtClose(second), STATUS_SUCCESS);
    assert_int_equal(session->system.StartedCount, 0);
    assert_int_equal(session->system.ProfileCount, 0);
}

/* rules: duplicate-handle, duplicate-access, handle-generic */
static void
duplicate__access__at_most_the_source_handles(void **state)
{
    static const struct {
        ACCESS_MASK desired;
        NTSTATUS status;
        ACCESS_MASK granted;
    } rows[] = {
        {0, STATUS_SUCCESS, 0},
        {PROFILE_CONTROL, STATUS_SUCCESS, PROFILE_CONTROL},
        {0x00020000, STATUS_ACCESS_DENIED, 0}, /* READ_CONTROL */
        {0x80000000, STATUS_ACCESS_DENIED, 0}, /* generic read: READ_CONTROL too */
        {0x10000000, STATUS_ACCESS_DENIED, 0},
        {PROFILE_ALL_ACCESS, STATUS_ACCESS_DENIED, 0},
        {0x00100001, STATUS_ACCESS_DENIED, 0},         /* SYNCHRONIZE */
        {0x02000000, STATUS_SUCCESS, PROFILE_CONTROL}, /* MAXIMUM_ALLOWED */
        {0xFFFFFFFF, STATUS_ACCESS_DENIED, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        HANDLE target = UNTOUCHED;

        assert_int_equal(duplicate(profile, &target, rows[i].desired, 0, 0),
                         rows[i].status);
        if (NT_SUCCESS(rows[i].status)) {
            assert_int_equal(basic_of(target).GrantedAccess, rows[i].granted);
            assert_int_equal(NtClose(target), STATUS_SUCCESS);
        } else {
            assert_ptr_equal(target, UNTOUCHED);
        }
        assert_int_equal(basic_of(profile).HandleCount, 1);
    }
}

/* rules: duplicate-handle, handle-type */
static void
duplicate__without_profile_control__neither_starts_nor_stops(void **state)
{
    HANDLE weak = NULL;
    HANDLE weaker = UNTOUCHED;

    (void)state;
    assert_int_equal(duplicate(profile, &weak, 0, 0, 0), STATUS_SUCCESS);
    assert_int_equal(NtStartProfile(weak), STATUS_ACCESS_DENIED);
    assert_int_equal(NtStopProfile(weak), STATUS_ACCESS_DENIED);
    assert_int_equal(duplicate(weak, &weaker, PROFILE_CONTROL, 0, 0),
                     STATUS_ACCESS_DENIED);
    assert_ptr_equal(weaker, UNTOUCHED);
    assert_int_equal(NtClose(weak), STATUS_SUCCESS);
}

/* rule: duplicate-handle */
static void
duplicate__attributes__those_given_or_the_sources(void **state)
{
    HANDLE inherited = NULL;
    HANDLE same = NULL;
    HANDLE plain = NULL;

    (void)state;
    assert_int_equal(
        duplicate(profile, &inherited, 0, OBJ_INHERIT, DUPLICATE_SAME_ACCESS),
        STATUS_SUCCESS);
    assert_int_equal(duplicate(inherited, &same, 0, 0, DUPLICATE_SAME_ATTRIBUTES),
                     STATUS_SUCCESS);
    assert_int_equal(
        duplicate(profile, &plain, 0, OBJ_INHERIT, DUPLICATE_SAME_ATTRIBUTES),
        STATUS_SUCCESS);
    assert_int_equal(basic_of(profile).Attributes, 0);
    assert_int_equal(basic_of(inherited).Attributes, OBJ_INHERIT);
    assert_int_equal(basic_of(same).Attributes, OBJ_INHERIT);
    assert_int_equal(basic_of(plain).Attributes, 0);
}

/* rules: duplicate-pseudo, duplicate-process-handle */
static void
duplicate__pseudo_handle__a_real_one_with_all_access(void **state)
{
    HANDLE self = NULL;
    HANDLE second = NULL;

    (void)state;
    assert_int_equal(duplicate(SELF, &self, 0, 0, DUPLICATE_SAME_ACCESS),
                     STATUS_SUCCESS);
    assert_ptr_not_equal(self, SELF);
    assert_int_equal(basic_of(self).GrantedAccess, 0x001FFFFF);
    /* It is a handle of the caller's process like any other. */
    assert_int_equal(
        NtDuplicateObject(self, profile, self, &second, 0, 0, DUPLICATE_SAME_ACCESS),
        STATUS_SUCCESS);
    assert_int_equal(NtClose(self), STATUS_SUCCESS);
    assert_false(is_open(self));
    assert_true(is_open(second));
}

/* rules: duplicate-process, duplicate-process-handle */
static void
duplicate__processes__their_statuses_source_first(void **state)
{
    const HANDLE weak = open_process(getpid(), PROCESS_QUERY_INFORMATION);
    const HANDLE own = open_process(getpid(), PROCESS_DUP_HANDLE);
    const pid_t child = fork();
    HANDLE target = UNTOUCHED;
    HANDLE other;

    (void)state;
    if (child == 0) {
        pause();
        _exit(0);
    }
    other = open_process(child, PROCESS_DUP_HANDLE);
    {
        const struct {
            HANDLE source;
            HANDLE target;
            NTSTATUS status;
        } rows[] = {
            {own, own, STATUS_SUCCESS},
            {NULL, SELF, STATUS_INVALID_HANDLE},
            {SELF, NULL, STATUS_INVALID_HANDLE},
            {BAD_HANDLE, profile, STATUS_INVALID_HANDLE},
            {profile, BAD_HANDLE, STATUS_OBJECT_TYPE_MISMATCH},
            {SELF, profile, STATUS_OBJECT_TYPE_MISMATCH},
            {weak, profile, STATUS_ACCESS_DENIED},
            {SELF, weak, STATUS_ACCESS_DENIED},
            {other, NULL, STATUS_INVALID_HANDLE},
            {other, SELF, STATUS_NOT_SUPPORTED},
            {SELF, other, STATUS_NOT_SUPPORTED},
        };

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            target = UNTOUCHED;
            assert_int_equal(NtDuplicateObject(rows[i].source, profile, rows[i].target,
                                               &target, 0, 0, 0),
                             rows[i].status);
            assert_int_equal(target != UNTOUCHED, NT_SUCCESS(rows[i].status));
        }
        /* A number of the other's, not this process' handle. */
        assert_int_equal(NtDuplicateObject(other, profile, SELF, &target, 0, 0,
                                           DUPLICATE_CLOSE_SOURCE),
                         STATUS_NOT_SUPPORTED);
        assert_true(is_open(profile));
    }
    assert_int_equal(basic_of(profile).HandleCount, 2);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* rules: duplicate-source-handle, duplicate-process */
static void
duplicate__source_handle_not_open__invalid_after_the_processes(void **state)
{
    HANDLE target = UNTOUCHED;

    (void)state;
    assert_int_equal(duplicate(BAD_HANDLE, &target, 0xFFFFFFFF, 0, 0),
                     STATUS_INVALID_HANDLE);
    assert_int_equal(duplicate(NULL, &target, 0, 0, 0), STATUS_INVALID_HANDLE);
    assert_int_equal(NtDuplicateObject(SELF, BAD_HANDLE, profile, &target, 0, 0, 0),
                     STATUS_OBJECT_TYPE_MISMATCH);
    assert_ptr_equal(target, UNTOUCHED);
}

/* rules: duplicate-options, duplicate-pointer */
static void
duplicate__unknown_bits__invalid_after_the_pointer(void **state)
{
    HANDLE target = UNTOUCHED;

    (void)state;
    for (unsigned bit = 3; bit < 32; bit++) {
        assert_int_equal(duplicate(BAD_HANDLE, &target, 0, 0, 1u << bit),
                         STATUS_INVALID_PARAMETER);
    }
    for (unsigned bit = 0; bit < 32; bit++) {
        if (1u << bit != OBJ_INHERIT) {
            assert_int_equal(
                duplicate(BAD_HANDLE, &target, 0, 1u << bit, DUPLICATE_SAME_ATTRIBUTES),
                STATUS_INVALID_PARAMETER);
        }
    }
    assert_ptr_equal(target, UNTOUCHED);
    assert_int_equal(duplicate(profile, NULL, 0, 0x100, 8), STATUS_ACCESS_VIOLATION);
}

/* rule: duplicate-pointer */
static void
duplicate__target_pointer__any_alignment_but_writable(void **state)
{
    HANDLE target;

    (void)state;
    assert_int_equal(duplicate(profile, (HANDLE *)(void *)(pages + 1), 0, 0, 0),
                     STATUS_SUCCESS);
    memcpy(&target, pages + 1, sizeof(target));
    assert_int_equal(NtClose(target), STATUS_SUCCESS);

    assert_int_equal(duplicate(profile, NULL, 0, 0, 0), STATUS_ACCESS_VIOLATION);
    for (size_t at = page_bytes - sizeof(HANDLE) + 1; at <= 3 * page_bytes - 8;
         at += page_bytes - 1) {
        assert_int_equal(duplicate(profile, (HANDLE *)(void *)(pages + at), 0, 0, 0),
                         STATUS_ACCESS_VIOLATION);
    }
    assert_int_equal(duplicate(profile, (HANDLE *)UINTPTR_MAX, 0, 0, 0),
                     STATUS_ACCESS_VIOLATION);
    assert_int_equal(basic_of(profile).HandleCount, 1);
}

/* rule: duplicate-close-source */
static void
duplicate__close_source__closed_although_the_call_fails(void **state)
{
    HANDLE target = UNTOUCHED;
    HANDLE moved = NULL;

    (void)state;
    assert_int_equal(duplicate(profile, &moved, 0, 0,
                               DUPLICATE_CLOSE_SOURCE | DUPLICATE_SAME_ACCESS),
                     STATUS_SUCCESS);
    assert_false(is_open(profile));
    assert_int_equal(basic_of(moved).HandleCount, 1);

    /* Not before the source process is known to be the caller's. */
    assert_int_equal(duplicate(moved, NULL, 0, 0, DUPLICATE_CLOSE_SOURCE),
                     STATUS_ACCESS_VIOLATION);
    assert_int_equal(duplicate(moved, &target, 0, 1, DUPLICATE_CLOSE_SOURCE),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(
        NtDuplicateObject(NULL, moved, SELF, &target, 0, 0, DUPLICATE_CLOSE_SOURCE),
        STATUS_INVALID_HANDLE);
    assert_true(is_open(moved));

    assert_int_equal(NtStartProfile(moved), STATUS_SUCCESS);
    assert_int_equal(
        duplicate(moved, &target, PROFILE_ALL_ACCESS, 0, DUPLICATE_CLOSE_SOURCE),
        STATUS_ACCESS_DENIED);
    assert_ptr_equal(target, UNTOUCHED);
    assert_false(is_open(moved));
    assert_int_equal(session->system.ProfileCount, 0);
    assert_int_equal(session->system.StartedCount, 0);

    moved = create_profile();
    assert_int_equal(
        NtDuplicateObject(SELF, moved, NULL, &target, 0, 0, DUPLICATE_CLOSE_SOURCE),
        STATUS_INVALID_HANDLE);
    assert_false(is_open(moved));
    assert_int_equal(
        duplicate(SELF, &moved, 0, 0, DUPLICATE_CLOSE_SOURCE | DUPLICATE_SAME_ACCESS),
        STATUS_SUCCESS);
}

/* ---- NtQueryObject ---- */

/* rule: query-object-basic */
static void
query_basic__profile_and_process__counts_of_handles_and_references(void **state)
{
    const HANDLE process = open_process(getpid(), PROCESS_QUERY_INFORMATION);
    static const OBJECT_BASIC_INFORMATION nothing;
    OBJECT_BASIC_INFORMATION basic = basic_of(profile);

    (void)state;
    assert_int_equal(basic.Attributes, 0);
    assert_int_equal(basic.GrantedAccess, PROFILE_CONTROL);
    assert_int_equal(basic.HandleCount, 1);
    assert_int_equal(basic.PointerCount, 1);
    assert_int_equal(basic.TypeInfoSize, sizeof(OBJECT_TYPE_INFORMATION) + 16);
    basic.GrantedAccess = basic.HandleCount = basic.PointerCount = basic.TypeInfoSize =
        0;
    assert_memory_equal(&basic, &nothing, sizeof(basic));

    /* The profile refers to its process; no access is needed to ask. */
    basic = basic_of(process);
    assert_int_equal(basic.GrantedAccess, PROCESS_QUERY_INFORMATION);
    assert_int_equal(basic.HandleCount, 1);
    assert_int_equal(basic.PointerCount, 2);
    assert_int_equal(NtClose(profile), STATUS_SUCCESS);
    assert_int_equal(basic_of(process).PointerCount, 1);

    basic = basic_of(SELF);
    assert_int_equal(basic.GrantedAccess, 0x001FFFFF);
    assert_int_equal(basic.HandleCount, 1);
    assert_int_equal(basic.PointerCount, 1);
}

static OBJECT_TYPE_INFORMATION *
type_of(HANDLE handle, ULONG name_bytes)
{
    static union {
        OBJECT_TYPE_INFORMATION type;
        unsigned char bytes[sizeof(OBJECT_TYPE_INFORMATION) + 64];
    } room;
    ULONG length = 0;

    memset(&room, 0xEE, sizeof(room));
    assert_int_equal(
        NtQueryObject(handle, ObjectTypeInformation, &room, sizeof(room), &length),
        STATUS_SUCCESS);
    assert_int_equal(length, sizeof(room.type) + name_bytes + 2);
    for (size_t i = length; i < sizeof(room); i++) {
        assert_int_equal(room.bytes[i], 0xEE);
    }
    assert_int_equal(room.type.TypeName.Length, name_bytes);
    assert_int_equal(room.type.TypeName.MaximumLength, name_bytes + 2);
    assert_ptr_equal(room.type.TypeName.Buffer, room.bytes + sizeof(room.type));
    assert_int_equal(room.type.TypeName.Buffer[name_bytes / 2], 0);
    return &room.type;
}

static void
check_name(const OBJECT_TYPE_INFORMATION *type, const char *name)
{
    for (size_t i = 0; i < strlen(name); i++) {
        assert_int_equal(type->TypeName.Buffer[i], name[i]);
    }
}

/* rules: query-object-type, handle-type, handle-generic */
static void
query_type__profile__as_in_nt(void **state)
{
    const OBJECT_TYPE_INFORMATION *type;
    HANDLE second = NULL;

    (void)state;
    assert_int_equal(duplicate(profile, &second, 0, 0, 0), STATUS_SUCCESS);
    assert_int_equal(NtClose(create_profile()), STATUS_SUCCESS);
    type = type_of(profile, 14);
    check_name(type, "Profile");
    assert_int_equal(type->TotalNumberOfObjects, 1);
    assert_int_equal(type->TotalNumberOfHandles, 2);
    assert_int_equal(type->HighWaterNumberOfObjects, 2);
    assert_int_equal(type->HighWaterNumberOfHandles, 3);
    assert_int_equal(type->InvalidAttributes, 0x100);
    assert_int_equal(type->GenericMapping.GenericRead, 0x00020001);
    assert_int_equal(type->GenericMapping.GenericWrite, 0x00020001);
    assert_int_equal(type->GenericMapping.GenericExecute, 0x00020001);
    assert_int_equal(type->GenericMapping.GenericAll, 0x000F0001);
    assert_int_equal(type->ValidAccessMask, 0x000F0001);
    assert_int_equal(type->SecurityRequired, 0);
    assert_int_equal(type->PoolType, 0);
}

/* rule: query-object-type */
static void
query_type__process__its_own(void **state)
{
    const HANDLE process = open_process(getpid(), 0);
    const OBJECT_TYPE_INFORMATION *const type = type_of(process, 14);

    (void)state;
    check_name(type, "Process");
    assert_int_equal(type->TotalNumberOfObjects, 1);
    assert_int_equal(type->TotalNumberOfHandles, 1);
    assert_int_equal(type->GenericMapping.GenericAll, 0x001FFFFF);
    assert_int_equal(type->ValidAccessMask, 0x001FFFFF);
    check_name(type_of(SELF, 14), "Process");
}

/* rules: query-object-class, query-object-handle */
static void
query__class_then_handle_then_length__in_this_order(void **state)
{
    static const ULONG classes[] = {3, 4, 5, 6, 0xFFFFFFFF};
    ULONG length = 0x5A5A5A5A;

    (void)state;
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        assert_int_equal(NtQueryObject(BAD_HANDLE, classes[i], NULL, 0, &length),
                         STATUS_INVALID_INFO_CLASS);
    }
    assert_int_equal(
        NtQueryObject(BAD_HANDLE, ObjectBasicInformation, NULL, 0, &length),
        STATUS_INVALID_HANDLE);
    assert_int_equal(NtQueryObject(NULL, ObjectTypeInformation, NULL, 0, &length),
                     STATUS_INVALID_HANDLE);
    assert_int_equal(NtQueryObject(NULL, ObjectNameInformation, NULL, 0, &length),
                     STATUS_INVALID_HANDLE);
    assert_int_equal(length, 0x5A5A5A5A);
}

/* rule: query-object-length */
/* rule: query-object-name */
static void
query__name__empty_and_no_more_written(void **state)
{
    OBJECT_NAME_INFORMATION name[2];
    const HANDLE handles[] = {profile, NtCurrentProcess()};

    (void)state;
    for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++) {
        ULONG length = 0;

        memset(name, 0xEE, sizeof(name));
        assert_int_equal(NtQueryObject(handles[i], ObjectNameInformation, name,
                                       sizeof(name), &length),
                         STATUS_SUCCESS);
        assert_int_equal(length, sizeof(name[0]));
        assert_int_equal(name[0].Name.Length, 0);
        assert_int_equal(name[0].Name.MaximumLength, 0);
        assert_null(name[0].Name.Buffer);
        assert_int_equal(name[1].Name.Length, 0xEEEE);
    }
}

static void
query__wrong_length__mismatch_and_the_right_one_told(void **state)
{
    static const struct {
        ULONG class;
        ULONG bytes;
        ULONG needed;
        NTSTATUS status;
    } rows[] = {
        {ObjectBasicInformation, 0, 56, STATUS_INFO_LENGTH_MISMATCH},
        {ObjectBasicInformation, 55, 56, STATUS_INFO_LENGTH_MISMATCH},
        {ObjectBasicInformation, 56, 56, STATUS_SUCCESS},
        {ObjectBasicInformation, 57, 56, STATUS_INFO_LENGTH_MISMATCH},
        {ObjectNameInformation, 0, 16, STATUS_INFO_LENGTH_MISMATCH},
        {ObjectNameInformation, 15, 16, STATUS_INFO_LENGTH_MISMATCH},
        {ObjectNameInformation, 16, 16, STATUS_SUCCESS},
        {ObjectNameInformation, 4096, 16, STATUS_SUCCESS},
        {ObjectTypeInformation, 0, sizeof(OBJECT_TYPE_INFORMATION) + 16,
         STATUS_INFO_LENGTH_MISMATCH},
        {ObjectTypeInformation, sizeof(OBJECT_TYPE_INFORMATION) + 15,
         sizeof(OBJECT_TYPE_INFORMATION) + 16, STATUS_INFO_LENGTH_MISMATCH},
        {ObjectTypeInformation, sizeof(OBJECT_TYPE_INFORMATION) + 16,
         sizeof(OBJECT_TYPE_INFORMATION) + 16, STATUS_SUCCESS},
        {ObjectTypeInformation, 4096, sizeof(OBJECT_TYPE_INFORMATION) + 16,
         STATUS_SUCCESS},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ULONG length = 0;

        memset(pages, 0xEE, page_bytes);
        assert_int_equal(
            NtQueryObject(profile, rows[i].class, pages, rows[i].bytes, &length),
            rows[i].status);
        assert_int_equal(length, rows[i].needed);
        if (!NT_SUCCESS(rows[i].status)) {
            for (size_t at = 0; at < page_bytes; at++) {
                assert_int_equal(pages[at], 0xEE);
            }
        }
        assert_int_equal(
            NtQueryObject(profile, rows[i].class, pages, rows[i].bytes, NULL),
            rows[i].status);
    }
}

/* rule: query-object-pointers */
static void
query__pointers__information_then_length_before_all_else(void **state)
{
    const ptrdiff_t page = (ptrdiff_t)page_bytes;
    const struct {
        ptrdiff_t information; /* in pages; -1: NULL */
        ULONG bytes;
        ptrdiff_t length;
        NTSTATUS status;
    } rows[] = {
        {-1, 1, -1, STATUS_ACCESS_VIOLATION},
        {2, 56, page + 2, STATUS_DATATYPE_MISALIGNMENT},
        {page, 56, page + 2, STATUS_ACCESS_VIOLATION},
        {2 * page, 56, -1, STATUS_ACCESS_VIOLATION},
        {page - 52, 56, -1, STATUS_ACCESS_VIOLATION},
        {0, (ULONG)page + 1, -1, STATUS_ACCESS_VIOLATION},
        {0, 0xFFFFFFFF, -1, STATUS_ACCESS_VIOLATION},
        {0, 56, 61, STATUS_DATATYPE_MISALIGNMENT},
        {0, 56, page, STATUS_ACCESS_VIOLATION},
        {0, 56, 2 * page, STATUS_ACCESS_VIOLATION},
        /* No bytes, no probe; and now the class is looked at. */
        {3, 0, -1, STATUS_INVALID_INFO_CLASS},
        {0, 56, 60, STATUS_INVALID_INFO_CLASS},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *const information =
            rows[i].information < 0 ? NULL : pages + rows[i].information;
        ULONG *const length =
            rows[i].length < 0 ? NULL : (ULONG *)(void *)(pages + rows[i].length);

        assert_int_equal(
            NtQueryObject(BAD_HANDLE, 77, information, rows[i].bytes, length),
            rows[i].status);
    }
}

/* A name behind the structure that is cut off by the end of memory. */
static void
query_type__at_the_end_of_memory__fits_or_faults(void **state)
{
    const ULONG bytes = sizeof(OBJECT_TYPE_INFORMATION) + 16;
    unsigned char *const last = pages + page_bytes - bytes;
    ULONG length = 0;

    (void)state;
    assert_int_equal(
        NtQueryObject(profile, ObjectTypeInformation, last, bytes, &length),
        STATUS_SUCCESS);
    assert_int_equal(
        NtQueryObject(profile, ObjectTypeInformation, last + 8, bytes, &length),
        STATUS_ACCESS_VIOLATION);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(duplicate__started_profile__goes_on_until_the_last_close),
        TEST(duplicate__access__at_most_the_source_handles),
        TEST(duplicate__without_profile_control__neither_starts_nor_stops),
        TEST(duplicate__attributes__those_given_or_the_sources),
        TEST(duplicate__pseudo_handle__a_real_one_with_all_access),
        TEST(duplicate__processes__their_statuses_source_first),
        TEST(duplicate__source_handle_not_open__invalid_after_the_processes),
        TEST(duplicate__unknown_bits__invalid_after_the_pointer),
        TEST(duplicate__target_pointer__any_alignment_but_writable),
        TEST(duplicate__close_source__closed_although_the_call_fails),
        TEST(query_basic__profile_and_process__counts_of_handles_and_references),
        TEST(query_type__profile__as_in_nt),
        TEST(query_type__process__its_own),
        TEST(query__class_then_handle_then_length__in_this_order),
        TEST(query__name__empty_and_no_more_written),
        TEST(query__wrong_length__mismatch_and_the_right_one_told),
        TEST(query__pointers__information_then_length_before_all_else),
        TEST(query_type__at_the_end_of_memory__fits_or_faults),
    };

    counters = guarded_counters(COUNTER_BYTES / sizeof(ULONG));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
