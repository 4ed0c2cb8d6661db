/* SPDX-License-Identifier: MIT */
#include "fake_ke.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static USHORT
one_group(void *context)
{
    (void)context;
    return 1;
}

static KAFFINITY
active_processors(void *context, USHORT group)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);

    (void)context;
    assert(group == 0 && count > 0);
    return count < 64 ? ((KAFFINITY)1 << count) - 1 : ~(KAFFINITY)0;
}

const HAL_PROCESSORS fake_processors = {.GroupCount = one_group,
                                        .ActiveProcessors = active_processors};

void
fake_pause(void *context, ULONG64 wait_ns)
{
    const struct timespec wait = {.tv_nsec = (long)wait_ns};

    (void)context;
    nanosleep(&wait, NULL);
}

static struct seen *
add(struct _KE_SYSTEM *ke)
{
    if (ke->count == ke->capacity) {
        ke->capacity = ke->capacity == 0 ? 256 : ke->capacity * 2;
        ke->seen = realloc(ke->seen, ke->capacity * sizeof(*ke->seen));
        assert(ke->seen != NULL);
    }
    ke->seen[ke->count] = (struct seen){0};
    return &ke->seen[ke->count++];
}

ULONG
KeProfileInterruptWithSource(struct _KE_SYSTEM *ke, const KE_HIT *hit)
{
    struct seen *seen = add(ke);

    seen->pid = (uint32_t)hit->ProcessId;
    seen->hit = *hit;
    return 0;
}

void
fake_notify(void *context, const ntprof_notification *notification)
{
    struct _KE_SYSTEM *ke = context;
    struct seen *seen = add(ke);

    seen->kind = notification->kind;
    seen->pid = notification->pid;
    seen->time_ns = notification->time_ns;
    seen->base = notification->base;
    seen->length = notification->length;
    seen->parent_pid = notification->parent_pid;
    seen->flags = notification->image_flags;
    seen->count = notification->count;
    snprintf(seen->name, sizeof(seen->name), "%s", notification->name);
    if (ke->react != NULL) {
        const struct seen copy = *seen;

        ke->react(ke, &copy);
    }
}

size_t
fake_hits(const struct _KE_SYSTEM *ke, KPROFILE_SOURCE source, uint32_t pid)
{
    size_t hits = 0;

    for (size_t i = 0; i < ke->count; i++) {
        hits += ke->seen[i].kind == 0 && ke->seen[i].hit.Source == source &&
                (pid == 0 || ke->seen[i].pid == pid);
    }
    return hits;
}

size_t
fake_count(const struct _KE_SYSTEM *ke, uint32_t kind, uint32_t pid)
{
    size_t count = 0;

    for (size_t i = 0; i < ke->count; i++) {
        count += ke->seen[i].kind == kind && (pid == 0 || ke->seen[i].pid == pid);
    }
    return count;
}

void
fake_clear(struct _KE_SYSTEM *ke)
{
    free(ke->seen);
    ke->seen = NULL;
    ke->count = 0;
    ke->capacity = 0;
}
