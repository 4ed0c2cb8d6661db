/* SPDX-License-Identifier: MIT */
/* program.c - numbers for programs. */
#include "record/collect/program.h"

#include <stdlib.h>
#include <string.h>

void
program_set_finish(struct program_set *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        program_set_free(set, i);
    }
    set->count = 0;
}

/* Find the number of a program by its name and unit. Returns false if the set
 * does not have it. */
static bool
look_up(const struct program_set *set, const char *name, const char *unit,
        uint32_t *number)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const struct program *const program = &set->items[i];

        if (program->name != NULL && strcmp(program->name, name) == 0 &&
            strcmp(program->unit, unit) == 0) {
            *number = i;
            return true;
        }
    }
    return false;
}

/* Return the lowest free number; at least set->max if there is none. */
static uint32_t
find_free(const struct program_set *set)
{
    uint32_t number = 0;

    while (number < set->count && set->items[number].name != NULL) {
        number++;
    }
    return number;
}

bool
program_set_find(struct program_set *set, const char *name, const char *unit,
                 uint32_t *number)
{
    struct program added = {0};

    if (look_up(set, name, unit, number)) {
        return true;
    }
    *number = find_free(set);
    if (*number >= set->max) {
        name = "[other]";
        unit = "";
        if (look_up(set, name, unit, number)) {
            return true;
        }
        *number = set->max;
    }
    added.name = strdup(name);
    added.unit = strdup(unit);
    if (added.name == NULL || added.unit == NULL) {
        free(added.name);
        free(added.unit);
        return false;
    }
    set->items[*number] = added;
    set->count = *number < set->count ? set->count : *number + 1;
    return true;
}

void
program_set_free(struct program_set *set, uint32_t number)
{
    struct program *const program = &set->items[number];

    free(program->name);
    free(program->unit);
    *program = (struct program){0};
}
