/* SPDX-License-Identifier: MIT */
/* NT's doubly linked list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rtl/list.h"

struct item {
    int number;
    LIST_ENTRY links;
};

/* Both directions must tell the same. */
static void
check_list(const LIST_ENTRY *head, const int *numbers, size_t count)
{
    const LIST_ENTRY *entry = head->Flink;

    for (size_t i = 0; i < count; i++) {
        assert_int_equal(CONTAINING_RECORD(entry, struct item, links)->number,
                         numbers[i]);
        assert_ptr_equal(entry->Flink->Blink, entry);
        entry = entry->Flink;
    }
    assert_ptr_equal(entry, head);
    entry = head->Blink;
    for (size_t i = count; i > 0; i--) {
        assert_int_equal(CONTAINING_RECORD(entry, struct item, links)->number,
                         numbers[i - 1]);
        entry = entry->Blink;
    }
    assert_ptr_equal(entry, head);
}

static void
list__initialised__empty(void **state)
{
    LIST_ENTRY head;

    (void)state;
    InitializeListHead(&head);
    assert_true(IsListEmpty(&head));
    check_list(&head, NULL, 0);
}

static void
list__insert_tail__keeps_order(void **state)
{
    struct item items[] = {{.number = 7}, {.number = 8}, {.number = 9}};
    LIST_ENTRY head;

    (void)state;
    InitializeListHead(&head);
    for (size_t i = 0; i < 3; i++) {
        InsertTailList(&head, &items[i].links);
        assert_false(IsListEmpty(&head));
    }
    check_list(&head, (const int[]){7, 8, 9}, 3);
}

static void
list__remove_first_middle_last_only__rest_linked(void **state)
{
    struct item items[] = {{.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
    LIST_ENTRY head;

    (void)state;
    InitializeListHead(&head);
    for (size_t i = 0; i < 4; i++) {
        InsertTailList(&head, &items[i].links);
    }
    RemoveEntryList(&items[1].links);
    check_list(&head, (const int[]){1, 3, 4}, 3);
    RemoveEntryList(&items[0].links);
    check_list(&head, (const int[]){3, 4}, 2);
    RemoveEntryList(&items[3].links);
    check_list(&head, (const int[]){3}, 1);
    RemoveEntryList(&items[2].links);
    assert_true(IsListEmpty(&head));
    check_list(&head, NULL, 0);
}

static void
list__removed_entry__can_be_inserted_again(void **state)
{
    struct item items[] = {{.number = 1}, {.number = 2}};
    LIST_ENTRY head;

    (void)state;
    InitializeListHead(&head);
    InsertTailList(&head, &items[0].links);
    InsertTailList(&head, &items[1].links);
    RemoveEntryList(&items[0].links);
    InsertTailList(&head, &items[0].links);
    check_list(&head, (const int[]){2, 1}, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list__initialised__empty),
        cmocka_unit_test(list__insert_tail__keeps_order),
        cmocka_unit_test(list__remove_first_middle_last_only__rest_linked),
        cmocka_unit_test(list__removed_entry__can_be_inserted_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
