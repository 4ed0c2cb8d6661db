/* SPDX-License-Identifier: MIT */
/* unwinders.c - what is said of images whose unwind tables cannot be read. */
#include "record/collect/unwinders.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { HIDDEN = 1, LATE = 2 };

static struct unwinders *unwinders;
static unsigned int hidden_asked, late_asked;
static bool other_asks; /* as soon as a lock is free */

int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);

static void
ask(uint32_t image)
{
    const uint64_t place = 0x10;
    struct sym_unwind_answer answer;

    unwinders_ask(unwinders, image, &place, 1, &answer);
    assert_int_equal(answer.count, 1);
}

/* Stands in for another thread, which asks about LATE when HIDDEN has failed. */
int
__wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    const int result = __real_pthread_mutex_unlock(mutex);

    if (other_asks) {
        other_asks = false;
        ask(LATE);
    }
    return result;
}

/* Both cannot be opened; the second time LATE turns out to be no file. */
static bool
find(void *context, uint32_t image, struct unwind_file *file)
{
    (void)context;
    file->way.path = image == HIDDEN ? "/lib/hidden" : "/lib/late";
    if (image == LATE) {
        return ++late_asked > 1;
    }
    other_asks = ++hidden_asked == 2;
    return false;
}

static void
gaps__another_image_fails_meanwhile__why_is_of_the_image_that_has_them(void **state)
{
    struct unwind_gaps gaps;

    (void)state;
    unwinders = unwinders_new(find, NULL, NULL);
    assert_non_null(unwinders);
    ask(HIDDEN);
    gaps = unwinders_gaps(unwinders);
    assert_int_equal(hidden_asked, 2);
    assert_int_equal(late_asked, 2);
    assert_int_equal(gaps.images, 1);
    assert_string_equal(gaps.why, "/lib/hidden: it could not be opened");
    unwinders_delete(unwinders);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            gaps__another_image_fails_meanwhile__why_is_of_the_image_that_has_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
